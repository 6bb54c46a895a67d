//! Whole builds of hostile recordings, at every detail, with a limit of memory: mutated ones, and ones whose
//! events have numbers at which things go wrong (ranges of 2^32 bytes and more, threads that were not begun,
//! mappings over mappings).

use super::mutate::edge;
use super::targets::{Corpus, files, summed};
use crate::common::program::{MEMORY, Program, Random};
use crate::common::{Scratch, repository, stream};
use addfg::internals::load::{Detail, ElfInput, Options, load};

/// What a build may take more than the process has.
const MORE: u64 = 192 << 20;

/// Recordings, and seeds of them.
pub fn corpus() -> Corpus {
    let mut all = files("stream", |_| true);
    for seed in 0..40_u64 {
        let name = if seed % 4 == 0 { "run" } else { "wild" };
        all.push((format!("{name} {seed}"), seed.to_le_bytes().to_vec()));
    }
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let program = Program::wide(&mut random);
        let (_, steps) = program.run(&mut random, 120, 2);
        let events = stream::kernel(&steps, &mut random);
        all.push((format!("stream {seed}"), stream::stream(&steps, &events)));
    }
    all
}

fn hash(input: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// A recording of which an input is the seed, and the program's ELF file.
fn recording(name: &str, input: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
    if !name.starts_with("wild") && !name.starts_with("run") {
        return (summed(input), None);
    }
    let mut random = Random::new(hash(input));
    let program = Program::wide(&mut random);
    let length = 20 + random.below(200) as usize;
    let (_, steps) = program.run(&mut random, length, 1 + length % 3);
    let mut events = stream::kernel(&steps, &mut random);
    if name.starts_with("wild") {
        for at in 0..steps.len() {
            if random.chance(12) {
                events.push((at, wild(&mut random)));
            }
        }
        events.sort_by_key(|event| event.0);
    }
    (stream::stream(&steps, &events), Some(program.elf()))
}

/// Some events with payloads of any kind.
fn wild(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=random.below(3) {
        let kind = random.below(31) as u8;
        let mut numbers = Vec::new();
        for _ in 0..random.below(7) {
            numbers.push(match random.below(5) {
                0 => random.below(5),
                1 => MEMORY[random.below(2) as usize] + random.below(100),
                2 => (MEMORY[1] & !0xfff) + 0x1000 * random.below(3),
                3 => 1 << (20 + random.below(20)),
                _ => edge(random),
            });
        }
        let text = random.chance(50).then_some(["", "a.txt", "pipe", "/dev/zero"]);
        let text = text.map(|all| all[random.below(4) as usize]);
        stream::event(&mut out, kind, &numbers, text);
    }
    out
}

/// Builds; that it fails is all right.
pub fn run(name: &str, input: &[u8]) {
    let number = hash(input);
    let (bytes, elf) = recording(name, input);
    let scratch = Scratch::new("whole-builds");
    let mut options = Options::new(scratch.path("db"));
    options.traces = vec![scratch.write("log", bytes)];
    let elf = elf.map(|elf| scratch.write("elf", elf));
    let elf = elf.unwrap_or_else(|| repository("examples/fir/fir"));
    options.elfs = vec![ElfInput { path: elf, bias: None }];
    options.format = Some("stream".into());
    options.detail = Detail::ALL.get(number as usize % (Detail::ALL.len() + 1)).copied();
    options.literal_saves = number >> 8 & 1 != 0;
    options.superblock_after = (number >> 9 & 1 != 0).then_some(1);
    options.strict = number >> 10 & 7 == 0;
    options.force_elf = true;
    options.force = true;
    let limit = super::resident() + MORE;
    options.memory_limit = limit;
    // The peak begins again.
    let again = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let built = load(&options, &mut |_| false);
    if std::env::var_os("ADDFG_FUZZ_INPUT").is_some() {
        println!("{:?}", built.map(|_| ()));
    }
    let peak = peak();
    assert!(!again || peak <= limit + limit / 4, "{peak} bytes for a limit of {limit}");
}

/// The most memory that the process had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
