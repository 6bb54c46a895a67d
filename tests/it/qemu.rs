//! The same program on several instruction sets and by several recorders has the same memory
//! dataflow.

use crate::common::{self, *};
use std::path::Path;

/// Literal pools (.text, .got) are the compiler's, not the program's.
const EDGES: &str = "SELECT writer, reader, via, sum(bytes), sum(transfers) FROM function_dataflow
                     WHERE via IN ('global', 'constant') AND writer NOT IN ('<image .got>', '<image .text>') GROUP BY ALL ORDER BY ALL";

fn load(log: &Path, elf: &Path, scratch: &Scratch) -> Vec<String> {
    let db = scratch.path("a.duckdb");
    common::load(log, elf, &db, &[]);
    let odd = rows(
        &db,
        "SELECT kind, ending, count(*) FROM function_call WHERE kind = 'signal' OR ending = 'unwound' GROUP BY ALL",
    );
    assert!(odd.is_empty(), "{}: {odd:?}", log.display());
    assert!(rows(&db, "SELECT * FROM diagnostic WHERE severity = 'error'").is_empty());
    rows(&db, EDGES)
}

#[test]
fn one_program_on_five_instruction_sets() {
    let scratch = Scratch::new("qemu");
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, compiler, emulator, more) in [
        ("x86-64", "gcc", "qemu-x86_64", &[][..]),
        ("arm", "arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]),
        (
            "thumb",
            "arm-linux-gnueabi-gcc",
            "qemu-arm",
            &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"],
        ),
        ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64", &[]),
        ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64", &["-msmall-data-limit=0"]),
    ] {
        let (elf, log) = (scratch.path(name), scratch.path(&format!("{name}.log")));
        if !have(emulator) || !compile(compiler, "bare.c", &[&BARE[..], more].concat(), &elf) {
            continue;
        }
        qemu(emulator, &elf, &log);
        found.push((name, load(&log, &elf, &scratch)));
    }
    let (elf, log) = (scratch.path("lackey"), scratch.path("lackey.log"));
    if have("valgrind") && compile("gcc", "bare.c", &BARE, &elf) {
        lackey(&elf, &log);
        found.push(("lackey", load(&log, &elf, &scratch)));
    }
    for (name, edges) in &found {
        assert!(edges.len() >= 4, "{name}: {edges:?}");
        assert_eq!(edges, &found[0].1, "{name} against {}", found[0].0);
    }
    println!(
        "equal on {:?}: {:?}",
        found.iter().map(|f| f.0).collect::<Vec<_>>(),
        found.first().map(|f| &f.1)
    );
}

#[test]
fn execlog_equals_register_logs() {
    let data = |name: &str| repository("tests/data").join(name);
    let scratch = Scratch::new("execlog");
    for (isa, logs) in [
        ("arm", &["dexec-7.2-arm", "execlog-7.2-arm", "execlog-9.x-regs-arm.synth"][..]),
        ("thumb", &["dexec-7.2-thumb", "execlog-7.2-thumb"]),
        ("rv64", &["execlog-7.2-rv64", "execlog-9.x-regs-rv64.synth"]),
    ] {
        let elf = repository(&format!("tests/data/demo/demo-{isa}.elf"));
        let edges = |log| load(&data(&format!("qemu/{log}.log.xz")), &elf, &scratch);
        let found: Vec<_> = logs.iter().map(edges).collect();
        assert!(!found[0].is_empty());
        for edges in &found {
            assert_eq!(edges, &found[0], "{isa}");
        }
    }
    let elf = data("demo/demo-x86_64.elf");
    assert_eq!(
        load(&data("lackey/lackey-demo-x86_64.log"), &elf, &scratch),
        load(&data("qemu/execlog-7.2-x86_64.log.xz"), &elf, &scratch)
    );
}

/// Without the registers there is nothing to know of the accesses by: calls are there, the rest is said.
#[test]
fn logs_without_registers_have_calls_only() {
    let data = |name: &str| repository("tests/data").join(name);
    for isa in ["rv64", "x86_64"] {
        let scratch = Scratch::new(&format!("qemu-short-{isa}"));
        let log = repository(&format!("tests/data/qemu/dexec-short-7.2-{isa}.log.xz"));
        let (code, error, db) = build_in(&scratch, &[&log], &[]);
        assert!(code == 2 && error.contains("give the program with --elf"), "{code}: {error}");
        assert!(!db.exists());
        let elf = data(&format!("demo/demo-{isa}.elf"));
        let (code, error, db) = build_in(&scratch, &[&log], &["--elf", utf8(&elf)]);
        assert!(code == 1 && error.contains("cannot compute what"), "{code}: {error}");
        let calls = "SELECT caller, callee, calls FROM call_graph WHERE kind = 'call' ORDER BY ALL";
        let found = rows(&db, calls);
        let full = data(&format!("qemu/execlog-7.2-{isa}.log.xz"));
        let (_, _, db) = build_in(&scratch, &[&full], &["--elf", utf8(&elf)]);
        assert_eq!(found, rows(&db, calls), "{isa}");
        assert!(found.len() > 3, "{found:?}");
    }
}

/// Conditional stores, several registers at once, write-back, exclusives: QEMU's register logs on
/// each instruction set load without a problem, and every call returns.
#[test]
fn conditional_and_atomic_programs() {
    let scratch = Scratch::new("conditional");
    for (compiler, emulator) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
        ("gcc", "qemu-x86_64"),
    ] {
        for program in ["conditional.c", "atomics.c"] {
            let (elf, log) = (scratch.path("program"), scratch.path("log"));
            if !have(emulator) || !compile(compiler, program, &["-O2"], &elf) {
                continue;
            }
            qemu(emulator, &elf, &log);
            let edges = load(&log, &elf, &scratch);
            assert!(!edges.is_empty(), "{emulator} {program}");
            // The program's own edges and instances hold at every byte.
            let db = scratch.path("a.duckdb");
            let problems = rows(&db, "SELECT code, count, message FROM diagnostic");
            assert_eq!(problems, [""; 0], "{emulator} {program}");
            let main = "SELECT count(*), min(ending), max(ending) FROM function_call JOIN function_symbol s USING (function_id) WHERE s.name = 'main'";
            assert_eq!(rows(&db, main), ["1,return,return"], "{emulator} {program}");
        }
    }
}
