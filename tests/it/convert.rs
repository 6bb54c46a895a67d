//! `addfg convert`: the database of the converted stream is that of the log, row by row, for every fixture
//! of every step format; a Giano-style log has the same calls and flows.

use crate::common::*;
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, Isa, RunBatch, StepBatch};
use addfg::internals::trace::input::Input;
use addfg::internals::trace::stream::{HEADER, PIECE_HEADER, Stream, piece_length};
use addfg::internals::trace::{Context, Listener, Sink, StepFormat, TraceError};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Tables that say something of the file itself.
const OF_THE_FILE: [&str; 2] = ["input", "diagnostic"];

/// Fixtures of step formats: format, log, the ELF that ran, a layout.
fn fixtures() -> Vec<(String, PathBuf, Option<PathBuf>, Option<String>)> {
    let mut found = Vec::new();
    for format in ["lackey", "qemu", "execlog", "giano", "tarmac", "spike", "gem5", "layout"] {
        let folder = repository(&format!("tests/formats/{format}"));
        let mut logs: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("fixtures")
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
            .collect();
        logs.sort();
        for log in logs {
            let name = log.file_stem().expect("name").to_string_lossy().into_owned();
            let layout = (format == "layout").then(|| {
                let word = name.rsplit('-').next().unwrap_or_default().to_owned();
                let file = repository(&format!("tests/formats/layout/{word}.toml"));
                if file.exists() { utf8(&file).to_owned() } else { word }
            });
            let isa = match (format, &*name) {
                ("lackey", _) | ("qemu", "good-x86_64") => Some("x86_64"),
                ("spike" | "gem5", _) | ("qemu", "good-riscv64") => Some("riscv64"),
                ("layout", n) if ["sail", "renode", "dynamorio"].iter().any(|w| n.ends_with(w)) => {
                    Some("riscv64")
                }
                ("tarmac", n) if n.contains("es") || n.contains("arm") => Some("arm"),
                ("qemu", n) if n.ends_with("-arm") => Some("arm"),
                _ => None,
            };
            let elf = isa.map(|isa| repository(&format!("tests/formats/elf/{isa}")));
            found.push((format.to_owned(), log, elf, layout));
        }
    }
    found
}

fn run(arguments: &[&str], elf: Option<&Path>) -> Output {
    let mut command = command(arguments);
    if let Some(elf) = elf {
        command.args(["--elf", utf8(elf)]);
    }
    command.output().expect("addfg runs")
}

/// The rows of all tables of a database, without those that say something of its input's file.
fn all_rows(db: &Path) -> Vec<(String, Vec<String>)> {
    let tables = rows(db, "SELECT table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY 1");
    let mut all = Vec::new();
    for table in tables {
        if !OF_THE_FILE.contains(&&*table) {
            let mut list = rows(db, &format!("SELECT * FROM {table}"));
            list.sort();
            all.push((table, list));
        }
    }
    all
}

fn build(log: &Path, elf: Option<&Path>, layout: Option<&str>, db: &Path, detail: &str) -> Output {
    let mut arguments =
        vec!["build", utf8(log), "-o", utf8(db), "--force", "--force-elf", "--detail", detail];
    if let Some(layout) = layout {
        arguments.extend(["--layout", layout]);
    }
    run(&arguments, elf)
}

/// Converts a log and builds both; false if the log is refused.
fn same(log: &Path, elf: Option<&Path>, layout: Option<&str>, scratch: &Scratch) -> bool {
    let (direct, through) = (scratch.path("direct.duckdb"), scratch.path("through.duckdb"));
    let stream = scratch.path("log.stream.zst");
    let mut arguments = vec!["convert", utf8(log), "-o", utf8(&stream), "--force"];
    if let Some(layout) = layout {
        arguments.extend(["--layout", layout]);
    }
    let converted = run(&arguments, elf);
    let built = build(log, elf, layout, &direct, "full");
    if built.status.code() == Some(2) {
        assert_eq!(converted.status.code(), Some(2), "{}: {}", log.display(), said(&converted));
        return false;
    }
    assert!(converted.status.code() < Some(2), "{}: {}", log.display(), said(&converted));
    let again = build(&stream, elf, None, &through, "full");
    assert_eq!(
        again.status.code(),
        built.status.code(),
        "{}: {}\n{}",
        log.display(),
        said(&again),
        said(&built)
    );
    for ((table, expected), (other, found)) in all_rows(&direct).into_iter().zip(all_rows(&through))
    {
        assert_eq!(table, other);
        let differ = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert_eq!(differ, None, "{}: {table}", log.display());
        assert_eq!(expected.len(), found.len(), "{}: {table}", log.display());
    }
    let carried = "SELECT carries_accesses, carries_values, carries_time, carries_threads, carries_kernel_stores FROM input";
    assert_eq!(rows(&through, carried), rows(&direct, carried), "{}", log.display());
    true
}

#[test]
fn a_converted_log_gives_the_same_database() {
    let scratch = Scratch::new("convert");
    let mut done = std::collections::BTreeMap::<String, usize>::new();
    for (format, log, elf, layout) in fixtures() {
        if same(&log, elf.as_deref(), layout.as_deref(), &scratch) {
            *done.entry(format).or_default() += 1;
        }
    }
    assert_eq!(done.len(), 8, "each format has a log that is converted: {done:?}");
}

/// Genuine logs: exceptions, interrupts, two processors, failed conditions, instruction sets in turn.
#[test]
fn genuine_logs_give_the_same_database() {
    let scratch = Scratch::new("convert-genuine");
    for (log, elf) in [
        ("spike/both-p2.log.xz", "spike/filter.elf"),
        ("tarmac/calculator-aarch32-fastmodel.tarmac", "tarmac/calculator-aarch32.elf"),
        ("tarmac/calculator-aarch64-gem5.tarmac", "tarmac/calculator-aarch64.elf"),
        ("qemu-system/fw.log.xz", "qemu-system/fw.elf"),
        ("qemu-system/smp.log.xz", "qemu-system/smp.elf"),
        ("qemu-system/v.log.xz", "qemu-system/v.elf"),
        ("qemu-system/a.log.xz", "qemu-system/a.elf"),
        ("qemu/dexec-7.2-thumb.log", "qemu/demo-thumb.elf"),
        ("qemu/dexec-short-7.2-rv64.log", "qemu/demo-rv64.elf"),
        ("qemu/execlog-9.x-regs-arm.synth.log", "qemu/demo-arm.elf"),
        ("lackey/lackey-demo-x86_64.log", "lackey/demo-x86_64.elf"),
    ] {
        let (Some(log), Some(elf)) = (elsewhere(log), elsewhere(elf)) else { continue };
        assert!(same(&log, Some(&elf), None, &scratch), "{}", log.display());
    }
}

/// A Giano-style log of a log has its calls and the bytes between its functions.
#[test]
fn a_giano_style_log_gives_the_same_flow() {
    let scratch = Scratch::new("convert-giano");
    for (log, elf) in [
        ("spike/good.log", "riscv64"),
        ("spike/good-harts.log", "riscv64"),
        ("tarmac/good-es.log", "arm"),
        ("gem5/good.log", "riscv64"),
        ("lackey/good.log", "x86_64"),
        ("qemu/good-arm.log", "arm"),
    ] {
        let log = repository(&format!("tests/formats/{log}"));
        let elf = repository(&format!("tests/formats/elf/{elf}"));
        let giano = scratch.path("log.giano");
        let converted = run(&["convert", utf8(&log), "-o", utf8(&giano), "--force"], Some(&elf));
        assert!(converted.status.success(), "{}: {}", log.display(), said(&converted));
        let (direct, through) = (scratch.path("direct.duckdb"), scratch.path("through.duckdb"));
        build(&log, Some(&elf), None, &direct, "full");
        let again = build(&giano, Some(&elf), None, &through, "full");
        assert!(again.status.success(), "{}: {}", log.display(), said(&again));
        for query in [
            "SELECT caller, callee, calls, kind FROM call_graph ORDER BY ALL",
            "SELECT writer, reader, via, bytes FROM function_dataflow ORDER BY ALL",
            "SELECT space, is_write, count(*), sum(size) FROM data_access WHERE space = 'memory' GROUP BY ALL ORDER BY ALL",
        ] {
            assert_eq!(rows(&through, query), rows(&direct, query), "{}: {query}", log.display());
        }
    }
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let scratch = Scratch::new("convert-refused");
    let out = scratch.path("x.stream");
    let log = repository("tests/formats/spike/good.log");
    let elf = repository("tests/formats/elf/riscv64");
    let arguments = ["convert", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&out)];
    ok(&arguments);
    refused(&arguments, &["exists"]);
    let other = scratch.path("y.stream");
    refused(&["convert", utf8(&out), "-o", utf8(&other)], &["already a stream"]);
    let tables = repository("tests/formats/wet/good-comprehensive.wet");
    refused(&["convert", utf8(&tables), "-o", utf8(&other)], &["no steps"]);
    assert!(!other.exists());
}

/// How many runs are read, and the problems.
#[derive(Default)]
struct Gather {
    runs: usize,
    problems: Vec<&'static str>,
}

impl Listener for Gather {
    fn diagnostic(&mut self, problem: Diagnostic) {
        self.problems.push(problem.code);
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Gather {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, _: &mut StepBatch) -> Result<(), TraceError> {
        unreachable!("a stream has runs")
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.runs += batch.block.len();
        *batch = RunBatch::default();
        Ok(())
    }
}

fn read(bytes: &[u8]) -> (bool, Gather) {
    let mut gather = Gather::default();
    let context = Context { isa: None, layout: None, jobs: 1 };
    let input = Input::from_bytes("stream", bytes);
    let good = input.and_then(|input| Stream.read(input, &context, &mut gather)).is_ok();
    (good, gather)
}

/// Makes the checksums of all pieces right.
fn summed(bytes: &mut [u8]) {
    let mut at = HEADER;
    while let Some(header) = bytes.get(at..at + PIECE_HEADER) {
        let length = piece_length(header.try_into().expect("a header"));
        let end = at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(bytes.len());
        let sum = crc32fast::hash(&bytes[at + 8..end]);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}

/// A converted stream that is cut says so; one of which any byte is another one ends without a panic.
#[test]
fn a_cut_or_damaged_stream_is_said() {
    for name in ["good-converted", "good-converted-traps"] {
        let path = repository(&format!("tests/formats/stream/{name}.stream"));
        let whole = std::fs::read(path).expect("fixture");
        let (good, expected) = read(&whole);
        assert!(
            good && expected.runs > 3 && expected.problems.is_empty(),
            "{:?}",
            expected.problems
        );
        for cut in 0..whole.len() {
            let (good, gather) = read(&whole[..cut]);
            assert!(!good || !gather.problems.is_empty(), "{name} cut at {cut}");
        }
        let mut damaged = 0;
        for at in HEADER..whole.len() {
            for bits in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= bits;
                let (good, gather) = read(&bytes);
                assert!(!good || !gather.problems.is_empty(), "{name}: {at} is another one");
                summed(&mut bytes);
                let (good, gather) = read(&bytes);
                damaged += usize::from(!good || !gather.problems.is_empty());
            }
        }
        assert!(damaged > 0);
    }
}
