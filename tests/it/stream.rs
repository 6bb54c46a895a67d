//! addfg's own recordings: what the recorder for valgrind writes against lackey's log of the same
//! program, and damage of every kind.

use crate::common::program::{Program, Random};
use crate::common::{
    Scratch, addfg, example, have, ok, repository, rows, said, seeds, shared, stream, utf8,
};
use crate::verify;
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{BlockDef, Carries, InsnDef, Isa, RunBatch, StepBatch};
use addfg::internals::trace::input::Input;
use addfg::internals::trace::stream::Stream;
use addfg::internals::trace::{Context, Listener, Sink, StepFormat, TraceError, detect};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(repository("tests/formats/stream").join(name)).expect("fixture")
}

/// (thread, instruction's address, its accesses) of each step.
type Step = (u32, u64, Vec<(bool, u64, u32)>);

#[derive(Default)]
struct Gather {
    insns: Vec<InsnDef>,
    blocks: Vec<BlockDef>,
    steps: Vec<Step>,
    problems: Vec<&'static str>,
}

impl Listener for Gather {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.problems.push(diagnostic.code);
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Gather {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        assert!(carries.threads && isa == Some(Isa::X86_64));
        Ok(())
    }
    fn steps(&mut self, _: &mut StepBatch) -> Result<(), TraceError> {
        unreachable!("a stream has runs")
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.insns.append(&mut batch.new_insns);
        self.blocks.append(&mut batch.new_blocks);
        let mut addresses = batch.addresses.iter();
        for (&block, &thread) in batch.block.iter().zip(&batch.thread) {
            let block = &self.blocks[block as usize];
            let mut shapes = block.mem.iter();
            for step in &block.steps {
                let accesses = shapes.by_ref().take(step.mem.into());
                let accesses =
                    accesses.map(|s| (s.is_write, *addresses.next().expect("address"), s.size));
                let address = self.insns[step.insn as usize].address;
                self.steps.push((thread, address, accesses.collect()));
            }
        }
        assert!(addresses.next().is_none());
        *batch = RunBatch::default();
        Ok(())
    }
}

fn read(bytes: &[u8]) -> (Gather, Result<(), TraceError>) {
    let mut gather = Gather::default();
    let context = Context { isa: None, layout: None, jobs: 1 };
    let result = Input::from_bytes("test", bytes)
        .and_then(|input| Stream.read(input, &context, &mut gather));
    (gather, result)
}

#[test]
fn a_stream_is_recognised_and_read() {
    let good = fixture("good.stream");
    let input = Input::from_bytes("good", &good).expect("input");
    assert_eq!(detect(&input, None).map(|f| f.format().name()).ok(), Some("stream"));
    let (gathered, result) = read(&good);
    assert!(result.is_ok() && gathered.problems.is_empty(), "{:?}", gathered.problems);
    // callgrind counts as many instructions of examples/fir/fir.
    assert_eq!(gathered.steps.len(), rows_of_fir());
    assert_eq!(read(&fixture("truncated.stream")).0.problems, ["truncated"]);
    assert_eq!(read(&fixture("damaged.stream")).0.problems, ["damaged-piece"]);
}

/// What the reader that was written from the document alone says between the steps. Its steps are
/// those of the reader in Rust. None, said why, without Python.
pub fn second_reader(stream: &Path) -> Option<Vec<String>> {
    if !have("python3") {
        return None;
    }
    let script = repository("recorders/stream/dump.py");
    let output = Command::new("python3").arg(script).arg(stream).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let hex = |digits: &str| u64::from_str_radix(digits, 16).expect("an address");
    let (mut steps, mut events) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(event) = line.strip_prefix("# ") {
            events.push(event.to_owned());
            continue;
        }
        let (address, size) = line[3..].split_once(',').expect("an address and a size");
        match &line[..3] {
            "I  " => steps.push((hex(address), Vec::new())),
            kind => {
                let access = (kind == " S ", hex(address), size.parse().expect("a size"));
                steps.last_mut().expect("a step").1.push(access);
            }
        }
    }
    let (gathered, result) = read(&std::fs::read(stream).expect("stream"));
    assert!(result.is_ok() && gathered.problems.is_empty(), "{:?}", gathered.problems);
    let ours: Vec<_> = gathered.steps.into_iter().map(|(_, at, accesses)| (at, accesses)).collect();
    assert_eq!(steps.len(), ours.len());
    let other = steps.iter().zip(&ours).position(|(a, b)| a != b);
    assert_eq!(other.map(|at| (&steps[at], &ours[at])), None, "step {other:?}");
    Some(events)
}

#[test]
fn a_second_reader_reads_the_same() {
    let stream = repository("tests/formats/stream/good.stream");
    let Some(events) = second_reader(&stream) else { return };
    let kinds: Vec<&str> = events.iter().filter_map(|e| e.split(' ').next()).collect();
    assert!(kinds.contains(&"process") && kinds.last() == Some(&"end"), "{kinds:?}");
}

/// Steps of the shipped recording of the same program by lackey.
fn rows_of_fir() -> usize {
    let sql = "SELECT count(*) FROM opcode_line";
    rows(&example("fir", "pairs"), sql)[0].parse().expect("a number")
}

#[test]
fn a_cut_stream_gives_what_stands_before_the_cut() {
    let good = fixture("good.stream");
    let (whole, _) = read(&good);
    for end in 0..good.len() {
        let (part, result) = read(&good[..end]);
        assert!(result.is_err() || part.problems == ["truncated"], "cut at {end}");
        assert!(whole.steps.starts_with(&part.steps), "cut at {end}");
    }
}

#[test]
fn no_flipped_bit_goes_unseen() {
    let good = fixture("good.stream");
    let (whole, _) = read(&good);
    for at in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let (part, result) = read(&bytes);
        // Three bytes of the file's header mean nothing yet.
        let spare = (13..16).contains(&(at / 8));
        let seen = result.is_err() || !part.problems.is_empty();
        assert!(seen != spare, "bit {at}");
        assert!(whole.steps.starts_with(&part.steps), "bit {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Payloads with a right checksum that are nonsense.
    #[test]
    fn nonsense_is_no_panic(pieces in prop::collection::vec((1u8..4, 0u8..2, prop::collection::vec(0u8..20, 0..60)), 1..6)) {
        let mut bytes = b"addfg\r\n\x1a\x01\x00\x3e\x00\x40\x00\x00\x00".to_vec();
        for (kind, flags, payload) in pieces {
            let mut head = vec![kind, flags, 0, 0];
            head.extend_from_slice(&(payload.len() as u32).to_le_bytes());
            head.extend_from_slice(&[0; 16]);
            head.extend_from_slice(&payload);
            bytes.extend_from_slice(b"ADFG");
            bytes.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
            bytes.extend_from_slice(&head);
        }
        let _ = read(&bytes);
    }
}

/// Numbers that no system gives end the reading with what they are; what stands before them is built.
#[test]
fn numbers_that_no_system_has_are_told() {
    let scratch = Scratch::new("stream-numbers");
    let mut random = Random::new(5);
    let program = Program::wide(&mut random);
    let (_, steps) = program.run(&mut random, 40, 1);
    let db = scratch.path("db");
    let elf = scratch.write("elf", program.elf());
    for (kind, numbers, text, what) in [
        (1, &[0][..], None, "thread 0:"),
        (2, &[0, 0], None, "thread 0:"),
        (2, &[1 << 32, 0], None, "4294967296, where numbers have 32 bits"),
        (1, &[1 << 63], None, "9223372036854775808, where numbers have 32 bits"),
        (15, &[1 << 63], Some("x"), "process 9223372036854775808:"),
    ] {
        // Behind another one of the same kind, which may have been the first.
        let mut records = Vec::new();
        stream::event(&mut records, 2, &[7, 1], None);
        stream::event(&mut records, kind, numbers, text);
        let log = scratch.write("log", stream::stream(&steps, &[(20, records)]));
        let output = addfg(&["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{what} {text}");
        assert!(text.contains(what) && text.contains("record again"), "{what} {text}");
        assert_eq!(rows(&db, "SELECT sum(steps)::BIGINT FROM thread"), ["21"], "{what}");
    }
    let mut twice = Vec::new();
    stream::event(&mut twice, 2, &[7, 1], None);
    let events = [(3, twice.clone()), (5, twice)];
    let log = scratch.write("log", stream::stream(&steps, &events));
    let output = addfg(&["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("thread 7: numbers of threads count"), "{}", said(&output));
}

/// The recorder, compiled once; None, said why, where that cannot be done here.
pub fn recorder() -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    // lackey runs from the same folder, so that the program's environment is the same.
    let tool = "lackey-amd64-linux";
    let lackey =
        ["/usr/libexec/valgrind", "/usr/lib/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind"]
            .into_iter()
            .map(|folder| Path::new(folder).join(tool))
            .find(|path| path.exists());
    let Some(lackey) = lackey else {
        println!("skipped: valgrind's tools are in none of the folders where they mostly are");
        return None;
    };
    Some(shared("recorder", |to| {
        // As addfg itself: sources of another folder.
        let named = std::env::var_os("ADDFG_RECORDERS").map(PathBuf::from);
        let script = named.unwrap_or_else(|| repository("recorders")).join("valgrind/build.sh");
        let output = Command::new(script).arg(to).output().expect("sh");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::os::unix::fs::symlink(lackey, to.join(tool)).expect("link");
    }))
}

/// With loads that nobody needs, as addfg's recorder has them.
const LACKEY: [&str; 3] =
    ["--tool=lackey", "--trace-mem=yes", "--vex-iropt-register-updates=allregs-at-each-insn"];

fn valgrind(recorder: &Path, arguments: &[&str], program: &Path) {
    let mut command = Command::new("valgrind");
    command.env_clear().env("VALGRIND_LIB", recorder).env("PATH", "/usr/bin:/bin");
    command.args(["-q", "--vex-guest-chase=no"]).args(arguments).arg(program);
    let output = command.output().expect("valgrind");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

pub fn compile(source: &str, flags: &[&str], to: &Path) {
    let source = repository("tests/programs").join(source);
    let output = Command::new("gcc").args(flags).arg(source).arg("-o").arg(to).output();
    let output = output.expect("gcc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The tables of a static program without system calls in between equal those of lackey's log,
/// with what differs for a reason: lackey lists a store that was not done.
#[test]
fn the_recorder_records_what_lackey_does() {
    let scratch = Scratch::new("stream-lackey");
    let Some(recorder) = recorder() else { return };
    for flags in [&["-O1", "-g", "-static"][..], &["-O3", "-mavx2", "-g", "-static"]] {
        let program = scratch.path("program");
        compile("recorded.c", flags, &program);
        let (stream, log) = (scratch.path("a.stream"), scratch.path("a.log"));
        let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
        let to = format!("--stream={}", text(&stream));
        valgrind(&recorder, &["--tool=addfg", &to], &program);
        let to = format!("--log-file={}", text(&log));
        valgrind(&recorder, &[&LACKEY[..], &[to.as_str()]].concat(), &program);
        let build = |trace: &Path| {
            let database = trace.with_extension("duckdb");
            let (trace, elf) = (text(trace), text(&program));
            ok(&[
                "build",
                &trace,
                "--elf",
                &elf,
                "--detail",
                "full",
                "--force",
                "-o",
                &text(&database),
            ]);
            database
        };
        let databases = [build(&stream), build(&log)];
        let skip = "is_write AND address = (SELECT address FROM variable WHERE name = 'failed')";
        for query in [
            "SELECT count(*), sum(hash(seq, instruction_id)) FROM opcode_line".to_owned(),
            format!(
                "SELECT count(*), sum(hash(seq, is_write, address, size)) FROM data_access
                 WHERE space = 'memory' AND NOT ({skip})"
            ),
            "SELECT count(*), sum(hash(f)) FROM (SELECT writer, reader, via, bytes, unique_bytes,
             addresses, transfers FROM function_dataflow) f"
                .to_owned(),
            "SELECT count(*), sum(hash(c)) FROM (SELECT call_id, function_id, parent_call_id, kind,
             ending, call_seq, return_seq FROM function_call) c"
                .to_owned(),
        ] {
            let [ours, lackeys] = databases.each_ref().map(|d| rows(d, &query));
            assert_eq!(ours, lackeys, "{flags:?}: {query}");
        }
    }
}

/// A step, or an access of the step before, as lackey prints them: what it loads and stores is two accesses. Lackey
/// lists the load of a locked instruction twice.
fn of_lackey(log: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in log.lines() {
        match line.strip_prefix(" M ") {
            Some(at) => {
                lines.pop_if(|last| *last == format!(" L {at}"));
                lines.extend([format!(" L {at}"), format!(" S {at}")]);
            }
            None if line.starts_with("I ")
                || line.starts_with(" L ")
                || line.starts_with(" S ") =>
            {
                lines.push(line.to_owned());
            }
            None => (),
        }
    }
    lines
}

/// Random programs (`tests/programs/wild.py`): each step and access, in their order.
#[test]
fn random_programs_are_recorded_as_lackey_does() {
    let scratch = Scratch::new("stream-wild");
    let Some(recorder) = recorder() else { return };
    if !crate::sums::makes_wild() {
        return;
    }
    for seed in crate::common::seeds(6) {
        // Lackey lists a store that was not done; what comes by a timer comes elsewhere.
        crate::sums::wild(&scratch, seed, &["jumps", "memory"]);
        let (source, program) = (scratch.path("wild.s"), scratch.path("wild"));
        let text = std::fs::read_to_string(&source).expect("assembly");
        std::fs::write(&source, text.replace("lock cmpxchg %", "mov %")).expect("written");
        let mut gcc = Command::new("gcc");
        gcc.args(["-nostdlib", "-static", "-no-pie", "-o"]).arg(&program).arg(&source);
        assert!(gcc.status().expect("gcc").success());
        let (stream, log) = (scratch.path("a.stream"), scratch.path("a.log"));
        valgrind(&recorder, &["--tool=addfg", &format!("--stream={}", utf8(&stream))], &program);
        let to = format!("--log-file={}", utf8(&log));
        valgrind(&recorder, &[&LACKEY[..], &[to.as_str()]].concat(), &program);
        if second_reader(&stream).is_none() {
            return;
        }
        let script = repository("recorders/stream/dump.py");
        let told = Command::new("python3").arg(script).arg(&stream).output().expect("python3");
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let ours: Vec<&str> = told.lines().filter(|line| !line.starts_with('#')).collect();
        let theirs = of_lackey(&std::fs::read_to_string(&log).expect("log"));
        let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!((differs, ours.len()), (None, theirs.len()), "seed {seed}");
        assert!(ours.len() > 100);
    }
}

/// Blocks that a fault leaves in the middle have the steps and accesses up to there, whatever stands before and behind
/// (`tests/programs/faulting.py` knows each).
#[test]
fn what_faults_leave_in_the_middle_is_all_there_is() {
    let scratch = Scratch::new("stream-faulting");
    let Some(recorder) = recorder() else { return };
    if !have("python3") {
        return;
    }
    let [source, program, stream, steps] =
        ["faulting.s", "faulting", "a.stream", "steps"].map(|name| scratch.path(name));
    let python = |script: &str| {
        let mut python = Command::new("python3");
        python.arg(repository(script));
        python
    };
    for seed in seeds(4) {
        let seed = seed.to_string();
        let text = python("tests/programs/faulting.py").arg(&seed).output().expect("python3");
        std::fs::write(&source, text.stdout).expect("written");
        let mut gcc = Command::new("gcc");
        gcc.args(["-nostdlib", "-static", "-no-pie", "-o"]).arg(&program).arg(&source);
        assert!(gcc.status().expect("gcc").success(), "seed {seed}");
        valgrind(&recorder, &["--tool=addfg", &format!("--stream={}", utf8(&stream))], &program);
        let text = python("recorders/stream/dump.py").arg(&stream).output().expect("python3");
        std::fs::write(&steps, text.stdout).expect("written");
        let mut model = python("tests/programs/faulting.py");
        let steps = std::fs::File::open(&steps).expect("steps");
        let output = model.arg(&seed).arg(&program).stdin(steps).output().expect("python3");
        assert!(output.status.success(), "seed {seed}: {}", said(&output));
    }
}

/// Each thread's steps are its own: as many as it would make alone.
#[test]
fn threads_are_told_apart() {
    let scratch = Scratch::new("stream-threads");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("threads");
    compile("two_threads.c", &["-O1", "-g", "-static", "-pthread"], &program);
    let stream = scratch.path("a.stream");
    let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
    let to = format!("--stream={}", text(&stream));
    valgrind(&recorder, &["--tool=addfg", &to], &program);
    let database = scratch.path("a.duckdb");
    ok(&["build", &text(&stream), "--elf", &text(&program), "-o", &text(&database)]);
    let threads = rows(&database, "SELECT count(*) FROM thread");
    assert_eq!(threads, ["3"]);
    // `work` runs in each of the two, called by what starts threads, and hands its array to `main`.
    let calls = "SELECT count(*), count(DISTINCT thread_id) FROM function_call JOIN function_symbol
                 USING (function_id) WHERE name = 'work'";
    assert_eq!(rows(&database, calls), ["2,2"]);
    let flows = "SELECT bytes FROM function_dataflow
                 WHERE writer = 'work' AND reader = 'main' AND via = 'global'";
    assert_eq!(rows(&database, flows), ["800"]);
    // The program was given: its header is of what is mapped, as where only the trace names it.
    verify::equal("threads", &database);
    let alone = scratch.path("alone.duckdb");
    ok(&["build", &text(&stream), "-o", &text(&alone)]);
    let flows =
        "SELECT writer, reader, via, bytes, unique_bytes FROM function_dataflow ORDER BY ALL";
    assert_eq!(rows(&database, flows), rows(&alone, flows));
}

/// What a file's bytes were read by, and what went to standard output, have their names.
#[test]
fn what_the_kernel_reads_and_writes_is_named() {
    let scratch = Scratch::new("stream-kernel");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("words");
    compile("words.c", &["-O1", "-g", "-static"], &program);
    let (words, stream) = (scratch.path("words.txt"), scratch.path("a.stream"));
    std::fs::write(&words, "how many words are these, please\n").expect("words.txt");
    let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
    let to = format!("--stream={}", text(&stream));
    let mut command = Command::new("valgrind");
    command.env("VALGRIND_LIB", &recorder).args(["-q", "--vex-guest-chase=no", "--tool=addfg"]);
    let output = command.arg(to).arg(&program).arg(&words).output().expect("valgrind");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6\n");
    let database = scratch.path("a.duckdb");
    ok(&["build", &text(&stream), "--elf", &text(&program), "-o", &text(&database)]);
    let query =
        "SELECT writer || ' -> ' || reader, sum(bytes), sum(addresses) FROM function_dataflow
                 WHERE writer = '<read: words.txt>' OR reader = '<write: stdout>'
                 GROUP BY ALL ORDER BY ALL";
    // Each byte of the file is looked at once; two characters are written, by `show`.
    let expected = ["<read: words.txt> -> count,33,33", "show -> <write: stdout>,2,2"];
    assert_eq!(rows(&database, query), expected);
}

/// A timer's handler twice in a row, in a stream that is cut into pieces anywhere.
#[test]
fn exceptions_are_the_same_wherever_a_piece_ends() {
    use crate::common::stream::{difference, event, piece};
    let scratch = Scratch::new("stream-exceptions");
    let mut definitions = Vec::new();
    // Two instructions of a program, the handler's, and one more of the program.
    let nop = [0x13, 0, 0, 0];
    let mret = [0x73, 0, 0x20, 0x30];
    for (address, code) in
        [(0x1000, vec![nop, nop]), (0x2000, vec![nop, mret]), (0x1008, vec![nop])]
    {
        definitions.extend([1, code.len() as u8, 0x84]);
        difference(&mut definitions, address, 0);
        definitions.extend(code[0]);
        for more in &code[1..] {
            definitions.push(4);
            definitions.extend(more);
        }
        definitions.push(0);
    }
    for (block, steps) in [(0, 2), (1, 2), (2, 1)] {
        definitions.extend([2, block, steps, 0]);
    }
    let taken = |resume: u64| {
        let text = format!(
            "riscv_cpu_do_interrupt: hart:0, async:1, cause:0000000000000007, epc:{resume:#x}, desc=m_timer"
        );
        let mut out = Vec::new();
        event(&mut out, 28, &[1], Some(&text));
        event(&mut out, 28, &[1], Some(""));
        out
    };
    let run = |path: u8| vec![path + 3];
    // (records, steps)
    let mut records = vec![(vec![1, 1, 1, 1], 0), (run(0), 2)];
    let resume = 0x1008;
    records.extend([(taken(resume), 0), (run(1), 2), (taken(resume), 0), (run(1), 2), (run(2), 1)]);
    let mut all = Vec::new();
    for cut in 0..=records.len() {
        let mut stream = b"addfg\r\n\x1a\x01\0\xf3\0\x40\x02\0\0".to_vec();
        piece(&mut stream, 1, (0, 0), &definitions);
        let mut before = 0;
        for part in [&records[..cut], &records[cut..]] {
            let steps = part.iter().map(|(_, steps)| steps).sum();
            let payload: Vec<u8> = part.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
            piece(&mut stream, 2, (before, steps), &payload);
            before += steps;
        }
        piece(&mut stream, 3, (before, 0), &[0, records.len() as u8]);
        let file = scratch.write("cut.stream", stream);
        let db = scratch.path("cut.duckdb");
        ok(&[
            "build",
            "-q",
            file.to_str().expect("UTF-8"),
            "-o",
            db.to_str().expect("UTF-8"),
            "--force",
        ]);
        let calls = "SELECT parent_call_id, kind, call_seq, return_seq, ending FROM function_call ORDER BY call_id";
        all.push(rows(&db, calls));
        let signals = rows(&db, "SELECT count(*) FROM function_call WHERE kind = 'signal'");
        assert_eq!(signals, ["2"], "{cut}: {:?}", all.last());
        assert_eq!(all[0], all[cut], "{cut}");
    }
}
