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

/// Spike's own log of a program with Zcmp, whose codes are those of doubles.
const PUSHES: &str = "\
core 0: 0x80000000 (0x00003117) auipc sp, 0x3
core 0: 3 0x80000000 (0x00003117) x2 0x80003000
core 0: 0x80000004 (0x00010113) mv sp, sp
core 0: 3 0x80000004 (0x00010113) x2 0x80003000
core 0: 0x80000008 (0x11100413) li s0, 273
core 0: 3 0x80000008 (0x11100413) x8 0x00000111
core 0: 0x8000000c (0x22200493) li s1, 546
core 0: 3 0x8000000c (0x22200493) x9 0x00000222
core 0: 0x80000010 (0x00002809) c.jal pc + 18
core 0: 3 0x80000010 (0x2809) x1 0x80000012
core 0: 0x80000022 (0x0000b862) cm.push {ra, s0-s1}, -16
core 0: 3 0x80000022 (0xb862) x2 0x80002ff0 mem 0x80002ffc 0x00000222 mem 0x80002ff8 0x00000111 mem 0x80002ff4 0x80000012
core 0: 0x80000024 (0x0000842a) c.mv s0, a0
core 0: 3 0x80000024 (0x842a) x8 0x00000000
core 0: 0x80000026 (0x00002021) c.jal pc + 8
core 0: 3 0x80000026 (0x2021) x1 0x80000028
core 0: 0x8000002e (0x0000b862) cm.push {ra, s0-s1}, -16
core 0: 3 0x8000002e (0xb862) x2 0x80002fe0 mem 0x80002fec 0x00000222 mem 0x80002fe8 0x00000000 mem 0x80002fe4 0x80000028
core 0: 0x80000030 (0x00002019) c.jal pc + 6
core 0: 3 0x80000030 (0x2019) x1 0x80000032
core 0: 0x80000036 (0x00008082) ret
core 0: 3 0x80000036 (0x8082)
core 0: 0x80000032 (0x0000ba62) cm.pop {ra, s0-s1}, 16
core 0: 3 0x80000032 (0xba62) x1 0x80000028 x2 0x80002ff0 x8 0x00000000 x9 0x00000222 mem 0x80002fec mem 0x80002fe8 mem 0x80002fe4
core 0: 0x80000034 (0x00008082) ret
core 0: 3 0x80000034 (0x8082)
core 0: 0x80000028 (0x00002019) c.jal pc + 6
core 0: 3 0x80000028 (0x2019) x1 0x8000002a
core 0: 0x8000002e (0x0000b862) cm.push {ra, s0-s1}, -16
core 0: 3 0x8000002e (0xb862) x2 0x80002fe0 mem 0x80002fec 0x00000222 mem 0x80002fe8 0x00000000 mem 0x80002fe4 0x8000002a
core 0: 0x80000030 (0x00002019) c.jal pc + 6
core 0: 3 0x80000030 (0x2019) x1 0x80000032
core 0: 0x80000036 (0x00008082) ret
core 0: 3 0x80000036 (0x8082)
core 0: 0x80000032 (0x0000ba62) cm.pop {ra, s0-s1}, 16
core 0: 3 0x80000032 (0xba62) x1 0x8000002a x2 0x80002ff0 x8 0x00000000 x9 0x00000222 mem 0x80002fec mem 0x80002fe8 mem 0x80002fe4
core 0: 0x80000034 (0x00008082) ret
core 0: 3 0x80000034 (0x8082)
core 0: 0x8000002a (0x00008522) c.mv a0, s0
core 0: 3 0x8000002a (0x8522) x10 0x00000000
core 0: 0x8000002c (0x0000be62) cm.popret {ra, s0-s1}, 16
core 0: 3 0x8000002c (0xbe62) x1 0x80000012 x2 0x80003000 x8 0x00000111 x9 0x00000222 mem 0x80002ffc mem 0x80002ff8 mem 0x80002ff4
core 0: 0x80000012 (0x00001297) auipc t0, 0x1
core 0: 3 0x80000012 (0x00001297) x5 0x80001012
core 0: 0x80000016 (0xfee28293) addi t0, t0, -18
core 0: 3 0x80000016 (0xfee28293) x5 0x80001000
core 0: 0x8000001a (0x00004305) c.li t1, 1
core 0: 3 0x8000001a (0x4305) x6 0x00000001
core 0: 0x8000001c (0x0062a023) sw t1, 0(t0)
core 0: 3 0x8000001c (0x0062a023) mem 0x80001000 0x00000001
core 0: 0x80000020 (0x0000a001) c.j pc + 0
core 0: 3 0x80000020 (0xa001)
";

/// Pushes and pops are known by what the log says of them: its text, or what they wrote. Calls return, and what is saved is no data.
#[test]
fn pushes_of_registers_are_no_doubles() {
    if !have("riscv64-linux-gnu-gcc") {
        return;
    }
    let scratch = Scratch::new("zcmp");
    // The code is that of the log.
    let mut code: std::collections::BTreeMap<u64, String> = Default::default();
    for line in PUSHES.lines().filter(|line| line.starts_with("core 0: 3 ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let digits = words[4].trim_matches(['(', ')']).trim_start_matches("0x");
        let at = u64::from_str_radix(words[3].trim_start_matches("0x"), 16).unwrap();
        code.insert(at, format!(".{}byte 0x{digits}", digits.len() / 2));
    }
    let functions =
        [(0x8000_0000u64, "_start"), (0x8000_0022, "f"), (0x8000_002e, "g"), (0x8000_0036, "h")];
    let mut source = String::from(".option norelax\n");
    for (at, bytes) in &code {
        for (_, name) in functions.iter().filter(|(address, _)| address == at) {
            source += &format!(".globl {name}\n.type {name},@function\n{name}:\n");
        }
        source += &format!(".org {:#x}\n{bytes}\n", at - 0x8000_0000);
    }
    let (source, elf) = (scratch.write("z.s", source), scratch.path("z"));
    let gcc = Command::new("riscv64-linux-gnu-gcc")
        .args([
            "-march=rv32imac",
            "-mabi=ilp32",
            "-nostdlib",
            "-static",
            "-Wl,-Ttext=0x80000000,-m,elf32lriscv",
        ])
        .args(["-o", utf8(&elf), utf8(&source)])
        .status();
    assert!(gcc.unwrap().success());
    let commits: Vec<&str> = PUSHES.lines().filter(|line| line.starts_with("core 0: 3 ")).collect();
    for log in [PUSHES.to_owned(), commits.join("\n") + "\n"] {
        let (log, db) = (scratch.write("z.log", log), scratch.path("z.duckdb"));
        let output =
            addfg(&["build", "-q", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"]);
        assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
        let sql = "SELECT s.name, c.kind, ending, count(*) FROM function_call c JOIN function_symbol s USING (function_id) GROUP BY ALL ORDER BY 1";
        let expected =
            ["_start,root,open,1", "f,call,return,1", "g,call,return,2", "h,call,return,2"];
        assert_eq!(rows(&db, sql), expected);
        // s0 and s1 are saved and given back; what f leaves in s0 is its own.
        let sql = "SELECT writer, reader, bytes FROM function_dataflow WHERE writer IN ('_start', 'f', 'g') AND writer <> reader ORDER BY ALL";
        assert_eq!(rows(&db, sql), Vec::<String>::new());
        let texts = rows(&db, "SELECT text FROM instruction WHERE address = 2147483682");
        assert_eq!(texts, ["\"cm.push {ra, s0-s1}, -16\""]);
    }
}

/// gem5 has a load of each two registers, without sizes.
#[test]
fn a_load_of_two_registers_is_two() {
    if !have("arm-linux-gnueabi-gcc") {
        return;
    }
    let scratch = Scratch::new("pairs");
    let source = scratch.write(
        "pairs.s",
        ".syntax unified\n.arm\n.globl _start\n.type _start,%function\n_start: mov r0,#0x20000000\n bl wa\n bl wb\n bl rd\n1: b 1b\n.size _start,.-_start\n\
         .type wa,%function\nwa: str r1,[r0]\n bx lr\n.size wa,.-wa\n.type wb,%function\nwb: str r1,[r0,#4]\n bx lr\n.size wb,.-wb\n\
         .type rd,%function\nrd: ldm r0,{r2,r3,r4}\n bx lr\n.size rd,.-rd\n",
    );
    let elf = scratch.path("pairs");
    let gcc = Command::new("arm-linux-gnueabi-gcc")
        .args([
            "-march=armv5t",
            "-nostdlib",
            "-static",
            "-Wl,--build-id=none,-Ttext=0x8000",
            "-o",
            utf8(&elf),
            utf8(&source),
        ])
        .status();
    assert!(gcc.unwrap().success());
    let line = |tick: u32, at: u32, micro: &str, text: &str, rest: &str| {
        format!("{tick:>7}: system.cpu: A0 T0 : {at:#x}{micro} : {text} : {rest}\n")
    };
    let log = [
        line(0, 0x8000, "", "mov r0, #536870912", "IntAlu : D=0x0000000020000000"),
        line(500, 0x8004, "", "bl 0x8014", "IntAlu : D=0x0000000000008008"),
        line(1000, 0x8014, "", "str r1, [r0]", "MemWrite : D=0x0000000000000000 A=0x20000000"),
        line(1500, 0x8018, "", "bx lr", "IntAlu :"),
        line(2000, 0x8008, "", "bl 0x801c", "IntAlu : D=0x000000000000800c"),
        line(2500, 0x801c, "", "str r1, [r0, #4]", "MemWrite : D=0x0000000000000000 A=0x20000004"),
        line(3000, 0x8020, "", "bx lr", "IntAlu :"),
        line(3500, 0x800c, "", "bl 0x8024", "IntAlu : D=0x0000000000008010"),
        "   4000: system.cpu: A0 T0 : 0x8024 : ldmia r0, {r2, r3, r4}\n".to_owned(),
        line(
            4000,
            0x8024,
            ". 0",
            "ldr2_uop r2,r3, [r0, #0]",
            "MemRead : D=0x0000000000000000 A=0x20000000",
        ),
        line(
            4000,
            0x8024,
            ". 1",
            "ldr_uop r4, [r0, #8]",
            "MemRead : D=0x0000000000000000 A=0x20000008",
        ),
        line(4500, 0x8028, "", "bx lr", "IntAlu :"),
        line(5000, 0x8010, "", "b 0x8010", "IntAlu :"),
    ]
    .concat();
    let (log, db) = (scratch.write("pairs.log", log), scratch.path("pairs.duckdb"));
    let output = addfg(&["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db)]);
    assert!(output.status.success(), "{}", said(&output));
    let sql = "SELECT printf('%x', d.address), d.size FROM data_access d JOIN opcode_line USING (seq) JOIN instruction i USING (instruction_id)
               WHERE i.address = 32804 AND d.space = 'memory' AND NOT is_write ORDER BY 1";
    let found = rows(&db, sql);
    assert_eq!(found, ["20000000,4", "20000004,4", "20000008,4"]);
    let sql = "SELECT writer, bytes FROM function_dataflow WHERE reader = 'rd' AND writer LIKE 'w%' ORDER BY 1";
    assert_eq!(rows(&db, sql), ["wa,4", "wb,4"]);
}

/// Code and data of a firmware lie far apart, and another file between them.
#[test]
fn another_file_may_lie_between_code_and_data() {
    let compiler = "riscv64-linux-gnu-gcc";
    if !have(compiler) {
        return;
    }
    let scratch = Scratch::new("between");
    let elf = |name: &str, code: &str, (text, data): (u64, u64)| {
        let source = format!(
            ".option norelax\n.globl {name}\n.type {name},@function\n{name}:\n{code}\n.size {name}, .-{name}\n.data\n.globl {name}_data\n{name}_data: .4byte 1\n"
        );
        let (source, elf) = (scratch.write(&format!("{name}.s"), source), scratch.path(name));
        let gcc = Command::new(compiler)
            .args(["-nostdlib", "-static", "-Wl,--build-id=none,-N", &format!("-Wl,-e,{name}")])
            .args([format!("-Wl,-Ttext={text:#x}"), format!("-Wl,-Tdata={data:#x}")])
            .args(["-o", utf8(&elf), utf8(&source)])
            .status();
        assert!(gcc.unwrap().success());
        elf
    };
    let boot = elf("boot", ".4byte 0x000080ef\n.4byte 0x0000006f", (0x8000_0000, 0x9000_0000));
    let app = elf("app", ".4byte 0x00150513\n.4byte 0x00008067", (0x8000_8000, 0x9000_0400));
    let log = "core   0: 3 0x0000000080000000 (0x000080ef) x1 0x0000000080000004\n\
               core   0: 3 0x0000000080008000 (0x00150513) x10 0x0000000000000001\n\
               core   0: 3 0x0000000080008004 (0x00008067)\n\
               core   0: 3 0x0000000080000004 (0x0000006f)\n";
    let (log, db) = (scratch.write("run.log", log), scratch.path("run.duckdb"));
    for files in [[&boot, &app], [&app, &boot]] {
        let elf = files.map(|file| ["--elf", utf8(file)]).concat();
        ok(&[&["build", "-q", utf8(&log), "-o", utf8(&db), "--force"], &elf[..]].concat());
        let sql = "SELECT name, calls FROM function_profile JOIN function_symbol USING (function_id) WHERE calls > 0 ORDER BY 1";
        assert_eq!(rows(&db, sql), ["app,1", "boot,1"]);
    }
}

/// Instructions that the decoder does not know are those of the file, and write what the log says.
#[test]
fn unknown_instructions_write_what_the_log_says() {
    let compiler = "riscv64-linux-gnu-gcc";
    if !have(compiler) {
        return;
    }
    let scratch = Scratch::new("unknown");
    // `czero.nez t0, a0, a1`, twenty times.
    let code =
        ".globl _start\n.type _start,@function\n_start:\n.rept 20\n.4byte 0x0eb572b3\n.endr\n";
    let (source, elf) = (scratch.write("unknown.s", code), scratch.path("unknown"));
    let gcc = Command::new(compiler)
        .args(["-nostdlib", "-static", "-Wl,--build-id=none,-Ttext=0x80000000"])
        .args(["-o", utf8(&elf), utf8(&source)])
        .status();
    assert!(gcc.unwrap().success());
    let line =
        |i: u64| format!("core   0: 3 {:#018x} (0x0eb572b3) x5  {i:#018x}\n", 0x8000_0000 + 4 * i);
    let log = scratch.write("unknown.log", (0..20).map(line).collect::<String>());
    let db = scratch.path("unknown.duckdb");
    let output = addfg(&["build", "-q", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db)]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("cannot decode"), "{}", said(&output));
    let sql = "SELECT r.name, is_write, count(*) FROM data_access d JOIN register r ON r.address = d.address AND d.space = 'register' GROUP BY ALL";
    assert_eq!(rows(&db, sql), ["x5,true,20"]);
}
