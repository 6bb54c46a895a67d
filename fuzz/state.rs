//! What was met with a target, kept in a file so that the next run goes on there (`ADDFG_FUZZ_STATE`: a folder).

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub inputs: u64,
    pub panics: u64,
    pub hangs: u64,
    /// Inputs with which the process came to have more than it may.
    pub large: u64,
    pub slowest: Duration,
    pub took: Duration,
}

fn path(target: &str, seed: u64) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("ADDFG_FUZZ_STATE")?);
    std::fs::create_dir_all(&folder).expect("a folder for the state");
    Some(folder.join(format!("{}-{seed}", target.replace(' ', "-"))))
}

/// Whether the time is over (`ADDFG_FUZZ_SECONDS`).
pub fn is_late() -> bool {
    static ENDS: LazyLock<Option<Instant>> = LazyLock::new(|| {
        let seconds = std::env::var("ADDFG_FUZZ_SECONDS").ok()?.parse().ok()?;
        Some(Instant::now() + Duration::from_secs(seconds))
    });
    ENDS.is_some_and(|ends| Instant::now() > ends)
}

impl Figures {
    /// Those of the runs before with this seed.
    pub fn load(target: &str, seed: u64) -> Figures {
        let text = path(target, seed).and_then(|path| std::fs::read_to_string(path).ok());
        let numbers: Vec<u64> =
            text.iter().flat_map(|t| t.split_whitespace()).filter_map(|n| n.parse().ok()).collect();
        let &[inputs, panics, hangs, large, slowest, took] = &numbers[..] else {
            return Figures::default();
        };
        let [slowest, took] = [slowest, took].map(Duration::from_micros);
        Figures { inputs, panics, hangs, large, slowest, took }
    }

    pub fn save(&self, target: &str, seed: u64) {
        let Some(path) = path(target, seed) else { return };
        let [slowest, took] = [self.slowest, self.took].map(|time| time.as_micros());
        let Figures { inputs, panics, hangs, large, .. } = self;
        let text = format!("{inputs} {panics} {hangs} {large} {slowest} {took}\n");
        // A run that is ended leaves the old figures or the new ones.
        let new = path.with_extension("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).expect("writes");
    }
}
