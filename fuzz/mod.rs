//! Fuzzing on a stable compiler: mutated inputs of our own into every reader. `cargo test` runs some
//! thousands of inputs, `fuzz/run.sh INPUTS` as many as are asked for, and prints the table
//! of docs/reliability.md. An input that panics or takes too long is kept in
//! `target/tmp/fuzz/`; it then becomes a named test.

mod differential;
mod faults;
mod mutate;
mod state;
mod strangers;
mod targets;
mod whole;

use crate::common::program::Random;
use state::Figures;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Inputs of all targets together where nobody asks for another number.
const FEW: u64 = 4000;
/// What takes longer of the processor hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// And what takes longer at all: the machine may have other work.
const DEADLINE: Duration = Duration::from_secs(300);
/// Memory of the process, in bytes, above which an input is noted.
const MEMORY: u64 = 1 << 30;

fn asked() -> u64 {
    let asked = std::env::var("ADDFG_FUZZ").ok().and_then(|n| n.parse().ok());
    asked.unwrap_or(FEW)
}

fn seed() -> u64 {
    std::env::var("ADDFG_FUZZ_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn keep(target: &Target, kind: &str, input: &[u8]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    std::fs::create_dir_all(&folder).expect("a folder for what was found");
    let path = folder.join(format!("{}-{}-{hash:016x}", target.name, kind.replace('/', "_")));
    std::fs::write(&path, input).expect("keeps the input");
    eprintln!("{}: {kind}: {}", target.name, path.display());
}

/// What this process and those that it waited for took of the processor.
fn processor_time() -> Duration {
    let time = |who| {
        // SAFETY: zeros are valid, and the call fills the structure.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut used);
            used
        };
        let duration = |t: libc::timeval| {
            Duration::new(t.tv_sec.unsigned_abs(), t.tv_usec.unsigned_abs() as u32 * 1000)
        };
        duration(used.ru_utime) + duration(used.ru_stime)
    };
    time(libc::RUSAGE_SELF) + time(libc::RUSAGE_CHILDREN)
}

fn resident() -> u64 {
    memory_stats::memory_stats().map_or(0, |found| found.physical_mem as u64)
}

/// Panics of any thread, which a build may turn into an error.
static PANICS: AtomicU64 = AtomicU64::new(0);

fn count_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

/// Input number so much of a target: the corpus itself comes first. Each has a seed of its own, so that a run
/// goes on anywhere.
fn input(target: &Target, corpus: &targets::Corpus, number: u64) -> (String, Vec<u8>) {
    let mut random = Random::new(seed() ^ (target.name.len() as u64) << 48 ^ number << 8);
    for _ in 0..4 {
        random.next();
    }
    let (name, from) = &corpus[random.below(corpus.len() as u64) as usize];
    let other = &corpus[random.below(corpus.len() as u64) as usize].1;
    match corpus.get(usize::try_from(number).unwrap_or(usize::MAX)) {
        Some((name, whole)) => (name.clone(), whole.clone()),
        None => (name.clone(), mutate::mutate(from, other, &mut random)),
    }
}

/// Goes on with a target until it has had so many inputs.
fn run(target: &Target, inputs: u64) -> Figures {
    count_panics();
    let corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    let mut figures = Figures::load(target.name, seed());
    let (mut began, mut base) = (Instant::now(), figures.took);
    while figures.inputs < inputs && !state::is_late() {
        let (name, input) = input(target, &corpus, figures.inputs);
        let (start, panics) = (Instant::now(), PANICS.load(Ordering::Relaxed));
        let before = processor_time();
        let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(&name, &input)));
        let took = processor_time() - before;
        figures.inputs += 1;
        figures.slowest = figures.slowest.max(took);
        if ran.is_err() || PANICS.load(Ordering::Relaxed) > panics {
            figures.panics += 1;
            keep(target, &format!("panic-{name}"), &input);
        }
        if took > PATIENCE || start.elapsed() > DEADLINE {
            figures.hangs += 1;
            keep(target, &format!("hang-{name}"), &input);
        }
        if figures.inputs.is_multiple_of(64) && resident() > MEMORY {
            figures.large += 1;
            keep(target, &format!("memory-{name}"), &input);
        }
        if began.elapsed() > Duration::from_secs(2) {
            base += began.elapsed();
            began = Instant::now();
            figures.took = base;
            figures.save(target.name, seed());
        }
    }
    figures.took = base + began.elapsed();
    figures.save(target.name, seed());
    figures
}

fn row(target: &Target, f: &Figures) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {:.2} s | {:.0} |",
        target.name,
        f.inputs,
        f.panics,
        f.hangs,
        f.large,
        f.slowest.as_secs_f64(),
        f.inputs as f64 / f.took.as_secs_f64().max(1e-9)
    )
}

/// Gives a target an input that was kept, whose name says of what it was made.
fn run_kept(path: &Path) {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = TARGETS.iter().find(|target| file.starts_with(&format!("{}-", target.name)));
    let target = target.expect("the name begins with that of a target");
    let of = file[target.name.len() + 1..].split_once('-').map_or("", |(_kind, rest)| rest);
    let name = of.rsplit_once('-').map_or(of, |(name, _hash)| name);
    let before = processor_time();
    (target.run)(name, &std::fs::read(path).expect("the input"));
    println!("{file}: {:.2} s", (processor_time() - before).as_secs_f64());
}

/// Every target; `ADDFG_FUZZ_TARGET` names one, `ADDFG_FUZZ_INPUT` a file that was kept.
#[test]
fn mutated_inputs() {
    if let Some(path) = std::env::var_os("ADDFG_FUZZ_INPUT") {
        return run_kept(Path::new(&path));
    }
    let only = std::env::var("ADDFG_FUZZ_TARGET").ok();
    println!("| target | inputs | panics | over 10 s | over 1 GiB | slowest | inputs a second |");
    println!("|---|---|---|---|---|---|---|");
    let mut bad = Vec::new();
    for target in TARGETS.iter().filter(|t| only.as_ref().is_none_or(|name| name == t.name)) {
        let figures = run(target, (asked() * target.share / 1000).max(target.least()));
        println!("{}", row(target, &figures));
        if figures.panics + figures.hangs > 0 {
            bad.push(target.name);
        }
    }
    assert!(bad.is_empty(), "{bad:?}: the inputs are in target/tmp/fuzz");
}
