//! Fuzzing on a stable compiler: mutated inputs of our own into every reader. `cargo test` runs some
//! thousands of inputs, `fuzz/run.sh INPUTS` as many as are asked for, and prints the table
//! of docs/reliability.md. An input that panics or takes too long is kept in
//! `target/tmp/fuzz/`; it then becomes a named test.

mod differential;
mod faults;
mod mutate;
mod targets;

use crate::common::program::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Inputs of all targets together where nobody asks for another number.
const FEW: u64 = 4000;
/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// Memory of the process, in bytes, above which an input is noted.
const MEMORY: u64 = 1 << 30;

/// What was met with a target.
#[derive(Debug, Default)]
struct Figures {
    inputs: u64,
    panics: u64,
    hangs: u64,
    /// Inputs with which the process came to have more than [`MEMORY`].
    large: u64,
    slowest: Duration,
    took: Duration,
}

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
    let path = folder.join(format!("{}-{kind}-{hash:016x}", target.name));
    std::fs::write(&path, input).expect("keeps the input");
    eprintln!("{}: {kind}: {}", target.name, path.display());
}

fn resident() -> u64 {
    memory_stats::memory_stats().map_or(0, |found| found.physical_mem as u64)
}

fn run(target: &Target, inputs: u64) -> Figures {
    let corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    let mut random = Random::new(seed() ^ target.name.len() as u64);
    let mut figures = Figures { inputs, ..Figures::default() };
    let began = Instant::now();
    for number in 0..inputs {
        let (name, input) = &corpus[random.below(corpus.len() as u64) as usize];
        let other = &corpus[random.below(corpus.len() as u64) as usize].1;
        // The corpus itself comes first.
        let input = match corpus.get(number as usize) {
            Some((_, whole)) => whole.clone(),
            None => mutate::mutate(input, other, &mut random),
        };
        let start = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(name, &input)));
        let took = start.elapsed();
        figures.slowest = figures.slowest.max(took);
        if ran.is_err() {
            figures.panics += 1;
            keep(target, "panic", &input);
        }
        if took > PATIENCE {
            figures.hangs += 1;
            keep(target, "hang", &input);
        }
        if number % 64 == 0 && resident() > MEMORY {
            figures.large += 1;
            keep(target, "memory", &input);
        }
    }
    figures.took = began.elapsed();
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

/// Every target; `ADDFG_FUZZ_TARGET` names one.
#[test]
fn mutated_inputs() {
    let only = std::env::var("ADDFG_FUZZ_TARGET").ok();
    println!("| target | inputs | panics | over 10 s | over 1 GiB | slowest | inputs a second |");
    println!("|---|---|---|---|---|---|---|");
    let mut bad = Vec::new();
    for target in TARGETS.iter().filter(|t| only.as_ref().is_none_or(|name| name == t.name)) {
        let figures = run(target, (asked() * target.share / 1000).max(1));
        println!("{}", row(target, &figures));
        if figures.panics + figures.hangs > 0 {
            bad.push(target.name);
        }
    }
    assert!(bad.is_empty(), "{bad:?}: the inputs are in target/tmp/fuzz");
}
