//! Logs of simulators: Spike's genuine ones against what their program does, Tarmac's against counts
//! by a script that knows nothing of addfg, every line of Arm's collection of dialects.

use crate::common::*;
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, Isa, RunBatch, StepBatch};
use addfg::internals::trace::input::Input;
use addfg::internals::trace::{Context, Listener, STEP_FORMATS, Sink, TraceError};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A database of a genuine log, if it is there; with what the build said.
fn built(scratch: &Scratch, log: &str, elf: &str) -> Option<(PathBuf, String)> {
    let (log, elf) = (elsewhere(log)?, elsewhere(elf)?);
    let db = scratch.path("log.duckdb");
    let output = command(&["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"])
        .output()
        .expect("addfg runs");
    // Without registers what a load accesses is not known: said, and in the exit code.
    let unknown = said(&output).contains("cannot compute what");
    assert_eq!(
        output.status.code(),
        Some(i32::from(unknown)),
        "{}: {}",
        log.display(),
        said(&output)
    );
    Some((db, said(&output)))
}

/// Calls of each function of Spike's sample, in alphabetical order.
const CALLS: [&str; 9] = [
    "ask,3",
    "emit,24",
    "fir,24",
    "handle,27",
    "main,1",
    "monitor,3",
    "sample,24",
    "sensor,24",
    "total,1",
];

fn calls(db: &Path) -> Vec<String> {
    rows(
        db,
        "SELECT function, calls FROM flat_profile
         WHERE function IN ('ask','emit','fir','handle','main','monitor','sample','sensor','total') ORDER BY 1",
    )
}

#[test]
fn spike_gives_what_its_program_does() {
    let scratch = Scratch::new("spike");
    for log in ["both", "both-p2", "commits", "steps"] {
        let name = format!("spike/{log}.log.xz");
        let Some((db, said)) = built(&scratch, &name, "spike/filter.elf") else { return };
        assert_eq!(said.contains("cannot compute what"), log == "steps", "{said}");
        assert_eq!(calls(&db), CALLS, "{log}");
        let handler =
            "SELECT c.kind, count(*) FROM function_call c JOIN function_symbol f USING (function_id)
                       WHERE f.name = 'trap_entry' GROUP BY 1";
        assert_eq!(rows(&db, handler), ["signal,27"], "{log}");
        let broken =
            "SELECT count(*) FROM function_call c JOIN function_symbol f USING (function_id)
                      WHERE f.name IN ('fir','emit','ask','total') AND c.ending <> 'return'";
        assert_eq!(rows(&db, broken), ["0"], "{log}");
        if log == "steps" {
            continue;
        }
        // The main loop asks `head` again and again: what matters goes through the arrays.
        let flows = "SELECT v.name, sum(c.bytes) FROM communication c
                     JOIN variable v ON c.space = 'memory' AND c.address BETWEEN v.address AND v.address + v.size - 1
                     WHERE c.write_seq IS NOT NULL AND v.name IN ('ring', 'result') GROUP BY 1 ORDER BY 1";
        assert_eq!(rows(&db, flows), ["result,192", "ring,96"], "{log}");
        let between = "SELECT count(*) FROM function_dataflow
                       WHERE via = 'global' AND (writer, reader) IN (('sample','main'), ('emit','total'))";
        assert_eq!(rows(&db, between), ["2"], "{log}");
        let history = "SELECT count(*) FROM function_dataflow WHERE writer = 'fir' AND reader = 'fir' AND via = 'global'";
        assert_eq!(rows(&db, history), ["1"], "{log}");
        let saved = "SELECT count(*) FROM function_dataflow WHERE writer = 'trap_entry' AND reader IN ('main','fir','emit','ask','total')";
        assert_eq!(rows(&db, saved), ["0"], "{log}");
    }
}

#[test]
fn tarmac_counts_are_those_of_a_script() {
    if !have("python3") || !have("readelf") {
        return;
    }
    let scratch = Scratch::new("tarmac");
    for (log, elf) in [
        ("calculator-aarch32-fastmodel.tarmac", "calculator-aarch32.elf"),
        ("calculator-aarch64-gem5.tarmac", "calculator-aarch64.elf"),
    ] {
        let (log, elf) = (format!("tarmac/{log}"), format!("tarmac/{elf}"));
        let Some((db, _)) = built(&scratch, &log, &elf) else { return };
        let (Some(trace), Some(program)) = (elsewhere(&log), elsewhere(&elf)) else { return };
        let symbols = Command::new("readelf").args(["-sW", utf8(&program)]).output().expect("runs");
        let symbols = scratch.write("symbols", symbols.stdout);
        let script = repository("tests/it/simulators/count.py");
        let output = Command::new("python3")
            .args([utf8(&script), utf8(&trace), utf8(&symbols)])
            .output()
            .expect("python3 runs");
        assert!(output.status.success(), "{}", said(&output));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut lines = text.lines().map(|line| line.replace(' ', ","));
        let sums = "SELECT count(*) FILTER (NOT is_write), sum(size) FILTER (NOT is_write), count(*) FILTER (is_write), sum(size) FILTER (is_write) FROM data_access WHERE space = 'memory'";
        assert_eq!(rows(&db, sums), [lines.next().expect("counts")], "{log}");
        let graph = "SELECT c.address, f.address, e.calls FROM call_edge e
                     JOIN function_symbol c ON c.function_id = e.caller_function_id
                     JOIN function_symbol f ON f.function_id = e.callee_function_id WHERE e.kind = 'call'";
        let mut expected: Vec<String> = lines.collect();
        expected.sort();
        let mut found = rows(&db, graph);
        found.sort();
        assert_eq!(found, expected, "{log}");
    }
}

/// What a reader says.
#[derive(Default)]
struct Told {
    steps: usize,
    problems: Vec<(&'static str, String)>,
}

impl Listener for Told {
    fn diagnostic(&mut self, problem: Diagnostic) {
        self.problems.push((problem.code, problem.message));
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Told {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.steps += batch.len();
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Each line by itself, as in the collection's own test: it is a line of the format.
#[test]
fn every_dialect_of_tarmac_is_understood() {
    let Some(path) = elsewhere("tarmac/dialects.txt") else { return };
    let Some(tarmac) = STEP_FORMATS.iter().find(|f| f.name() == "tarmac") else { return };
    let text = std::fs::read_to_string(path).expect("reads");
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        for (isa, step) in [
            (Isa::Arm, "0 clk IT (0) 00000004 e3a00005 A svc_s : MOV"),
            (Isa::Aarch64, "0 clk IT (0) 00000004 d2a00200 O EL3h_s : MOV"),
        ] {
            let log = format!("{step}\n{line}\n{step}\n");
            let mut told = Told::default();
            let context = Context { isa: Some(isa), layout: None, jobs: 1 };
            let input = Input::from_bytes("line", log.as_bytes()).expect("an input");
            tarmac.read(input, &context, &mut told).expect("reads");
            // Lines that name a step that is not in the log, or are of the other instruction set, say so.
            let unknown = |code: &str| code == "malformed-line" || code == "truncated";
            let bad: Vec<_> = told.problems.iter().filter(|(code, _)| unknown(code)).collect();
            assert!(bad.is_empty(), "{line}: {bad:?}");
            assert!(told.steps >= 2, "{line}");
        }
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// Lines of gem5 and of Spike of several versions, as far as they have addresses.
#[test]
fn excerpts_of_others_are_read() {
    for (file, format, isa, steps, codes) in [
        ("gem5-exec-riscv.log", "gem5", Isa::Riscv64, 24, &[][..]),
        ("gem5-exec-variants.log", "gem5", Isa::Riscv64, 4, &["symbol-instead-of-address"]),
        ("spike-l-and-log-commits.log", "spike", Isa::Riscv64, 16, &[]),
        ("spike-l-compressed.log", "spike", Isa::Riscv64, 5, &[]),
        ("spike-commit-other-versions.log", "spike", Isa::Riscv64, 5, &["malformed-part"]),
    ] {
        let Some(path) = elsewhere(&format!("sim-excerpts/{file}")) else { continue };
        let Some(reader) = STEP_FORMATS.iter().find(|f| f.name() == format) else { continue };
        let mut told = Told::default();
        let context = Context { isa: Some(isa), layout: None, jobs: 1 };
        let input = Input::open(&path).expect("opens");
        assert!(reader.sniff(input.head()), "{file}");
        reader.read(input, &context, &mut told).expect("reads");
        let all: Vec<_> = told.problems.iter().map(|(code, _)| *code).collect();
        let worse = all.iter().filter(|code| **code != "value-without-register");
        let mut worse: Vec<_> = worse.copied().collect();
        worse.dedup();
        assert_eq!(worse, codes, "{file}: {:?}", told.problems);
        assert!(told.steps >= steps, "{file}: {}", told.steps);
    }
}

/// One program in the logs of seven simulators: the same calls, and the same bytes between them.
#[test]
fn every_simulator_gives_the_same_flow() {
    let scratch = Scratch::new("simulators");
    for (log, layout, elf, times) in [
        ("spike/good", "", "riscv64", 1),
        ("spike/good-commits", "", "riscv64", 1),
        ("spike/good-harts", "", "riscv64", 2),
        ("gem5/good", "", "riscv64", 1),
        ("tarmac/good-es", "", "arm", 1),
        ("layout/good-sail", "sail", "riscv64", 1),
        ("layout/good-renode", "renode", "riscv64", 1),
        ("layout/good-dynamorio", "dynamorio", "riscv64", 1),
    ] {
        let trace = repository(&format!("tests/formats/{log}.log"));
        let elf = repository(&format!("tests/formats/elf/{elf}"));
        let db = scratch.path("log.duckdb");
        let mut arguments =
            vec!["build", utf8(&trace), "--elf", utf8(&elf), "-o", utf8(&db), "--force"];
        if !layout.is_empty() {
            arguments.extend(["--layout", layout]);
        }
        ok(&arguments);
        let flow = "SELECT bytes FROM function_dataflow WHERE (writer, reader, via) = ('produce', 'consume', 'global')";
        assert_eq!(rows(&db, flow), [(8 * times).to_string()], "{log}");
        let calls =
            "SELECT caller, callee, calls FROM call_graph WHERE kind = 'call' ORDER BY callee";
        let expected = [format!("entry,consume,{times}"), format!("entry,produce,{times}")];
        assert_eq!(rows(&db, calls), expected, "{log}");
    }
}

/// A line of 10 MB is one damaged line: what is before and behind it is read.
#[test]
fn a_line_of_ten_megabytes_is_one_problem() {
    for (name, isa) in [("tarmac", None), ("spike", None), ("gem5", Some(Isa::Riscv64))] {
        let Some(format) = STEP_FORMATS.iter().find(|f| f.name() == name) else { continue };
        let good = repository(&format!("tests/formats/{name}/good.log"));
        let good = std::fs::read(good).expect("reads");
        let read = |text: &[u8]| {
            let mut told = Told::default();
            let context = Context { isa, layout: None, jobs: 1 };
            let input = Input::from_bytes("log", text).expect("an input");
            format.read(input, &context, &mut told).expect("reads");
            told
        };
        let once = read(&good).steps;
        let seven = b"7".repeat(10 << 20);
        let long = [&good[..], &seven[..], &b"\n"[..], &good[..]].concat();
        let told = read(&long);
        assert_eq!(told.steps, 2 * once, "{name}");
        let codes: Vec<_> = told.problems.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["malformed-line"], "{name}");
    }
}

/// A dump of QEMU's as a line of Tenet's: the registers that have changed, the address, and behind it an access.
fn tenet(log: &str, upper: bool) -> String {
    let (mut before, mut out) = (std::collections::BTreeMap::new(), String::new());
    for dump in log.split("\nRAX=").skip(1) {
        let dump =
            format!("RAX={}", &dump[..dump.find("RFL=").expect("a dump")]).replace(" =", "=");
        let mut line = String::new();
        for (name, value) in dump.split_whitespace().filter_map(|word| word.split_once('=')) {
            if name == "RIP" {
                line += &format!("RIP=0x{value}");
            } else if before.insert(name.to_owned(), value.to_owned()).as_deref() != Some(value) {
                line += &format!("{name}=0x{},", value.trim_start_matches('0'));
            }
        }
        out += &if upper { line.replace("0x", "") } else { line.to_lowercase() };
        out += if out.len() % 2 == 0 { ",mr=0x10:00,mw=0x20:ff\n" } else { "\n" };
    }
    out
}

/// Tenet's lines have what QEMU's dumps have: the same accesses, calls and data flow come out.
#[test]
fn tenet_gives_what_the_registers_give() {
    let scratch = Scratch::new("tenet");
    let elf = repository("tests/formats/elf/x86_64");
    let log = repository("tests/formats/qemu/good-x86_64.log");
    let qemu = scratch.path("qemu.duckdb");
    load(&log, &elf, &qemu, &[]);
    let text = std::fs::read_to_string(&log).expect("a log");
    for upper in [false, true] {
        let trace = scratch.write(
            "trace.0.log",
            tenet(&text, upper).replace("=0x,", "=0x0,").replace("=,", "=0,"),
        );
        let db = scratch.path("tenet.duckdb");
        load(&trace, &elf, &db, &["--layout", "tenet"]);
        for table in ["data_access", "function_dataflow", "call_graph", "opcode_line"] {
            let columns = if table == "data_access" { "* EXCLUDE (value)" } else { "*" };
            let space = if table == "data_access" { "WHERE space = 'memory'" } else { "" };
            let sql = format!("SELECT {columns} FROM {table} {space} ORDER BY ALL");
            assert_eq!(rows(&db, &sql), rows(&qemu, &sql), "{table}");
            assert!(!rows(&db, &sql).is_empty());
        }
    }
}
