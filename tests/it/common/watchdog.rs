//! Ends programs that hang: a test that waits for one fails and has a name then, instead of all tests waiting for ever.

use std::collections::HashMap;
use std::sync::Once;
use std::time::{Duration, Instant};

/// No program of a test takes a tenth of this.
const LIMIT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_secs(20);

/// Watches what this process starts, from the first call on.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(std::thread::spawn(look)));
}

fn look() {
    let mut since: HashMap<(u32, String), Instant> = HashMap::new();
    loop {
        let all = processes();
        let own = all.iter().filter(|of| of.parent == std::process::id());
        since = own
            .map(|of| (of.id, of.started.clone()))
            .map(|key| (since.get(&key).copied().unwrap_or_else(Instant::now), key))
            .map(|(first, key)| (key, first))
            .collect();
        for ((id, _), _) in since.iter().filter(|(_, first)| first.elapsed() > LIMIT) {
            eprintln!("process {id} has run for {LIMIT:?}, and is ended: {}", command(*id));
            end(*id, &all);
        }
        std::thread::sleep(LOOK);
    }
}

/// A process with all that it started, the youngest first: a program that waits for another one would go on.
fn end(id: u32, all: &[Process]) {
    for child in all.iter().filter(|of| of.parent == id) {
        end(child.id, all);
    }
    let _ = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
}

struct Process {
    id: u32,
    parent: u32,
    /// In ticks since the machine started: numbers of processes are used again.
    started: String,
}

/// None where there is no /proc.
fn processes() -> Vec<Process> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let one = |name: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        // Its second field is a name in brackets, of any characters.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let (parent, started) = (fields.get(1)?.parse().ok()?, (*fields.get(19)?).to_owned());
        Some(Process { id: name.parse().ok()?, parent, started })
    };
    folders.filter_map(|folder| one(folder.file_name().to_str()?)).collect()
}

fn command(id: u32) -> String {
    let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}
