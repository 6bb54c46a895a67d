//! Random programs that know their own data flow (`tests/programs/knows.c`): what addfg says of a run is
//! what the program counted in the same run, byte for byte.
//!
//! `ADDFG_SEEDS=1000` or `ADDFG_SEEDS=200..300` runs other seeds than the few of each test run;
//! `ADDFG_SHRINK=1` looks for the operations that a failure needs.

use crate::common::{
    Scratch, command, compile as cross, have, rows, said, seeds, shared, skipped, utf8,
};
use crate::emulators::takes_plugins;
use crate::record::record;
use crate::stream;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How the program is compiled, by the seed: every kind of code.
const KINDS: [&[&str]; 5] =
    [&["-O0"], &["-O1"], &["-O2", "-static"], &["-O3", "-mavx2"], &["-Os", "-static"]];

/// Loops over bytes stay in their functions: no calls of memset and memcpy.
const ALWAYS: [&str; 3] = ["-g", "-pthread", "-fno-tree-loop-distribute-patterns"];

/// Compiler, emulator and its options, flags.
type Target = (&'static str, &'static str, &'static [&'static str]);

const ARM: Target = ("arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]);
const THUMB: Target =
    ("arm-linux-gnueabi-gcc", "qemu-arm", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"]);
const AARCH64: Target = ("aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu cortex-a72", &[]);
const RISCV: Target = ("riscv64-linux-gnu-gcc", "qemu-riscv64", &["-msmall-data-limit=0"]);

/// (writer, reader) and the bytes.
type Flows = BTreeMap<(String, String), u64>;

/// What the program says at its end.
struct Report {
    threads: u64,
    operations: u64,
    flows: Flows,
}

/// All reports of a run's processes.
fn report(folder: &Path, unwritten: &str) -> Report {
    let mut report = Report { threads: 0, operations: 0, flows: Flows::new() };
    for entry in std::fs::read_dir(folder).expect("folder").flatten() {
        if !entry.file_name().to_string_lossy().starts_with("report") {
            continue;
        }
        for line in std::fs::read_to_string(entry.path()).expect("a report").lines() {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["run", threads, operations] => {
                    report.threads = number(threads);
                    report.operations = number(operations);
                }
                ["expect", writer, reader, bytes] => {
                    let writer = if *writer == *"<uninitialised>" { unwritten } else { writer };
                    let pair = (writer.to_owned(), reader.to_owned());
                    *report.flows.entry(pair).or_default() += number(bytes);
                }
                _ => panic!("{line}"),
            }
        }
    }
    assert!(report.threads > 0, "no report of the program itself");
    report
}

/// Names that say more than the program can know, or that are not the same everywhere.
fn plain_name(name: &str) -> String {
    let verb = name.split(": ").next().unwrap_or(name);
    if name.contains("eventfd") || name.contains("anon_inode") {
        return format!("{verb}: eventfd>");
    }
    // Memory of no file that a person knows.
    if name.starts_with("<mmap: memfd:") || name.starts_with("<mmap: zero") {
        return "<uninitialised>".to_owned();
    }
    if name.contains("memfd:") {
        return format!("{verb}: memfd>");
    }
    // Sections are said to be of the image or of a file.
    match name.split_once(" .tags") {
        Some((_, section)) => format!("<image .tags{section}"),
        None => name.to_owned(),
    }
}

/// A function of `knows.h`.
fn is_of(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn reads(name: &str) -> bool {
    is_of(name, &["r_", "c_", "handler_r_"])
}

/// The kernel takes it to where the program looks: not its report.
fn takes(name: &str) -> bool {
    is_of(name, &["<write: ", "<send: "])
        && !["stdout", "stderr", "report"].iter().any(|other| name.contains(other))
}

/// Whose bytes a reader counts: the rest (its counters, its stack, constants) is its own business.
fn is_counted(writer: &str) -> bool {
    let own = [" .", "<kernel>", "<stack start>", "<initial registers>"];
    is_of(writer, &["w_", "c_", "handler_w_", "child_w", "pack_", "fill_file"])
        || writer.starts_with("<image .tags")
        || writer.starts_with('<') && !own.iter().any(|text| writer.contains(text))
}

/// What addfg says of memory, of those pairs that the program counts.
fn recorded(db: &Path) -> Flows {
    let sql = "SELECT sum(bytes)::BIGINT, reader, writer FROM function_dataflow
               WHERE via <> 'register' GROUP BY ALL";
    let mut flows = Flows::new();
    for row in rows(db, sql) {
        let [bytes, reader, writer] = row.splitn(3, ',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let (writer, reader) = (plain_name(writer), plain_name(reader));
        if takes(&reader) || reads(&reader) && is_counted(&writer) && writer != reader {
            *flows.entry((writer, reader)).or_default() += bytes.parse::<u64>().expect("a number");
        }
    }
    flows
}

/// Lines for what is not the same.
fn differences(expected: &Flows, found: &Flows) -> Vec<String> {
    let pairs: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let bytes = |flows: &Flows, pair| flows.get(pair).copied().unwrap_or(0);
    pairs
        .into_iter()
        // What a copier finds of its own is its own business, too.
        .filter(|(writer, reader)| writer != reader)
        .filter(|pair| bytes(expected, pair) != bytes(found, pair))
        .map(|pair| {
            let (known, said) = (bytes(expected, pair), bytes(found, pair));
            format!("  {} -> {}: the program counted {known}, addfg {said}", pair.0, pair.1)
        })
        .collect()
}

/// How a program is run: recorded with these options, in this mode.
struct How<'a> {
    options: &'a [&'a str],
    mode: &'a str,
    /// Whose bytes are those of memory that nobody wrote: where not all is told that the kernel
    /// writes, it may have.
    unwritten: &'a str,
}

/// Whether a recording is good. That a child could write to the program's shared memory is said, with an
/// exit code of its own; none does.
fn is_good(output: &Output) -> bool {
    let said = said(output);
    let shares = |line: &str| line.contains("memory is shared with others");
    let mut errors = said.lines().filter(|line| line.contains("error:"));
    output.status.success() || output.status.code() == Some(1) && errors.all(shares)
}

/// The report of a run and what differs from it.
fn run(program: &Path, seed: u64, how: &How, operations: Option<&str>) -> (Report, Vec<String>) {
    let scratch = Scratch::new(&format!("knows-{seed}"));
    let (db, folder) = (scratch.path("k.duckdb"), scratch.path("files"));
    std::fs::create_dir(&folder).expect("folder");
    let number = seed.to_string();
    let mut arguments = vec![utf8(program), &number, utf8(&folder), how.mode];
    arguments.extend(operations);
    let options = [&["--detail", "summary", "-o", utf8(&db)], how.options].concat();
    let output = record(&options, &arguments);
    if !is_good(&output) {
        return (Report { threads: 1, operations: 0, flows: Flows::new() }, vec![said(&output)]);
    }
    let report = report(&folder, how.unwritten);
    let differ = differences(&report.flows, &recorded(&db));
    (report, differ)
}

/// `1,2,3`
fn list(operations: &[u64]) -> String {
    operations.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// The operations without which a failure is none: pieces are left out as long as it stays one.
fn shrink(program: &Path, seed: u64, how: &How, count: u64) -> Vec<u64> {
    let mut kept: Vec<u64> = (0..count).collect();
    let mut piece = kept.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        while from < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(from..(from + piece).min(kept.len()));
            // None at all would be all.
            let still =
                !run(program, seed, how, Some(&format!("9999,{}", list(&fewer)))).1.is_empty();
            if still {
                kept = fewer;
            } else {
                from += piece;
            }
        }
        piece /= 2;
    }
    kept
}

/// Runs all seeds of a program that a seed chooses; all that differs is said, then it fails.
fn all(what: &str, seeds: &[u64], how: &How, program: impl Fn(u64) -> PathBuf) {
    let (mut failed, mut threaded, mut pairs) = (Vec::new(), 0, 0);
    for &seed in seeds {
        let program = program(seed);
        let (report, differ) = run(&program, seed, how, None);
        threaded += usize::from(report.threads > 1);
        pairs += report.flows.len();
        if differ.is_empty() {
            continue;
        }
        println!("{what}, seed {seed} ({}):\n{}", utf8(&program), differ.join("\n"));
        failed.push(seed);
        if std::env::var_os("ADDFG_SHRINK").is_some() {
            let kept = shrink(&program, seed, how, report.operations);
            let (_, differ) = run(&program, seed, how, Some(&format!("9999,{}", list(&kept))));
            println!("with the operations {}:\n{}", list(&kept), differ.join("\n"));
        }
    }
    println!("{what}: {} seeds, {threaded} with threads, {pairs} pairs of functions", seeds.len());
    assert!(failed.is_empty(), "{what}: {} of {} seeds: {failed:?}", failed.len(), seeds.len());
    assert!(seeds.len() < 20 || 2 * threaded > seeds.len(), "{threaded} of {}", seeds.len());
}

/// The program in all its kinds; None, said why, where it cannot be recorded here.
fn programs() -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    Some(shared("knows", |folder| {
        std::fs::create_dir(folder).expect("folder");
        for (kind, flags) in KINDS.iter().enumerate() {
            let to = folder.join(format!("knows-{kind}"));
            stream::compile("knows.c", &[&ALWAYS, *flags].concat(), &to);
        }
    }))
}

fn of_seed(folder: &Path, seed: u64) -> PathBuf {
    folder.join(format!("knows-{}", seed % KINDS.len() as u64))
}

#[test]
fn programs_know_what_addfg_says() {
    let Some(folder) = programs() else { return };
    let how = How { options: &[], mode: "all", unwritten: "<uninitialised>" };
    all("valgrind", &seeds(24), &how, |seed| of_seed(&folder, seed));
}

/// What a child inherits is whose it was.
#[test]
fn families_know_what_addfg_says() {
    let Some(folder) = programs() else { return };
    let how = How { options: &["--follow"], mode: "follow", unwritten: "<uninitialised>" };
    all("valgrind --follow", &seeds(8), &how, |seed| of_seed(&folder, seed));
}

/// The same on another processor.
fn emulated((compiler, emulator, flags): Target, few: u64) {
    let scratch = Scratch::new("knows-qemu");
    let program = scratch.path("knows");
    let name = emulator.split(' ').next().unwrap_or(emulator);
    let flags = [&ALWAYS, &["-O2", "-static"][..], flags].concat();
    if !have("gcc") || !have(name) || !cross(compiler, "knows.c", &flags, &program) {
        return;
    }
    if !plugins(emulator, &program) {
        return skipped(&format!("{emulator} was built without plugins"));
    }
    let how = How { options: &["--qemu", emulator], mode: "plain", unwritten: "<input>" };
    all(&[&[emulator], &flags[..]].concat().join(" "), &seeds(few), &how, |_| program.clone());
}

fn plugins(emulator: &str, program: &Path) -> bool {
    let scratch = Scratch::new("knows-plugins");
    let output =
        command(&["record", "-o", utf8(&scratch.path("k.duckdb")), "--qemu", emulator, "--"])
            .arg(program)
            .env("XDG_CACHE_HOME", scratch.path("cache"))
            .output()
            .expect("addfg runs");
    !said(&output).contains("unknown option") && takes_plugins(emulator)
}

#[test]
fn programs_of_arm_know_what_addfg_says() {
    emulated(ARM, 6);
}

#[test]
fn programs_of_thumb_know_what_addfg_says() {
    emulated(THUMB, 6);
}

#[test]
fn programs_of_aarch64_know_what_addfg_says() {
    emulated(AARCH64, 6);
}

#[test]
fn programs_of_riscv_know_what_addfg_says() {
    emulated(RISCV, 6);
}

/// A byte that is loaded is the one last stored there, or delivered.
#[test]
fn what_these_programs_load_was_stored_or_delivered() {
    let (Some(folder), Some(recorder)) = (programs(), stream::recorder()) else { return };
    let mut failed = Vec::new();
    for seed in seeds(10) {
        let scratch = Scratch::new("knows-check");
        let mut valgrind = Command::new("valgrind");
        valgrind.env("VALGRIND_LIB", &recorder).args([
            "-q",
            "--vex-guest-chase=no",
            "--tool=addfg",
        ]);
        valgrind.args(["--check=yes", "--stream=/dev/null"]).arg(of_seed(&folder, seed));
        let output = valgrind.arg(seed.to_string()).arg(&scratch.0).output().expect("valgrind");
        let said = said(&output);
        // One line for each process.
        let mut counts = said.lines().filter(|line| line.contains(" loads, "));
        let none = |line: &str| line.ends_with(" loads, 0 differ");
        let held = counts.by_ref().next().is_some_and(none) && counts.all(none);
        if !output.status.success() || !held {
            println!("seed {seed}: {:?}: {said}", output.status);
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// System calls that move bytes.
const CALLS: [&str; 16] = [
    "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2",
    "pwritev2", "recvfrom", "sendto", "recvmsg", "sendmsg", "recvmmsg", "sendmmsg",
];

/// How often a call gave this, by its name: -1 for all errors.
type Results = BTreeMap<(String, i64), u64>;

/// Name and result of a line of strace's: `12 read(...) = 3`, `12 <... read resumed>...) = 3`.
fn of_strace(line: &str) -> Option<(String, i64)> {
    let (_, call) = line.trim_start().split_once(' ')?;
    let call = call.trim_start();
    let name = match call.strip_prefix("<... ") {
        Some(resumed) => resumed.split(' ').next()?,
        None => call.split('(').next()?,
    };
    let result = call.rsplit_once(" = ")?.1.split(' ').next()?.parse().ok()?;
    CALLS.contains(&name).then(|| (name.to_owned(), result))
}

fn straced(program: &Path, seed: u64, log: &Path) -> Option<(Results, Report)> {
    let scratch = Scratch::new("knows-straced");
    let ran = Command::new("strace")
        .args(["-f", "-e", &format!("trace={}", CALLS.join(",")), "-o", utf8(log), utf8(program)])
        .args([&seed.to_string(), utf8(&scratch.0), "still"])
        .output();
    ran.is_ok_and(|output| output.status.success()).then(|| {
        let mut results = Results::new();
        for line in std::fs::read_to_string(log).expect("log").lines() {
            if let Some(call) = of_strace(line) {
                *results.entry(call).or_default() += 1;
            }
        }
        (results, report(&scratch.0, ""))
    })
}

/// Calls with their results, and so their bytes, of ten programs with threads.
#[test]
fn system_calls_of_threads_are_straces() {
    if !have("strace") {
        return;
    }
    let Some(folder) = programs() else { return };
    // Static, for valgrind gives a dynamic program one library more to read; it forks no child.
    let program = folder.join("knows-2");
    let (mut threaded, mut failed) = (0, Vec::new());
    for seed in 0.. {
        let scratch = Scratch::new("knows-strace");
        let Some((theirs, report)) = straced(&program, seed, &scratch.path("log")) else {
            return skipped("strace may not trace here");
        };
        if report.threads == 1 {
            continue;
        }
        let (db, files) = (scratch.path("k.duckdb"), scratch.path("files"));
        std::fs::create_dir(&files).expect("folder");
        let number = seed.to_string();
        let arguments = [utf8(&program), &number, utf8(&files), "still"];
        let output = record(&["--detail", "pairs", "-o", utf8(&db)], &arguments);
        assert!(is_good(&output), "seed {seed}: {}", said(&output));
        // Errors are minus their numbers, as the program sees them.
        let sql = "SELECT name, CASE WHEN result > 2::HUGEINT ** 63 THEN -1 ELSE result END,
                   count(*) FROM system_call GROUP BY ALL";
        let mut ours = Results::new();
        for row in rows(&db, sql) {
            let [name, result, n] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
            if let (true, Ok(result)) = (CALLS.contains(&name), result.parse()) {
                ours.insert((name.to_owned(), result), n.parse().expect("a number"));
            }
        }
        let calls: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        let differ = calls.into_iter().filter(|call| theirs.get(call) != ours.get(call));
        let differ: Vec<_> = differ.map(|c| (c, theirs.get(c), ours.get(c))).collect();
        if !differ.is_empty() {
            println!("seed {seed}: strace's and ours: {differ:?}");
            failed.push(seed);
        }
        threaded += 1;
        if threaded == 10 {
            break;
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
