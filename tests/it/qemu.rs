//! The same program on several instruction sets and by several recorders has the same memory
//! dataflow.

use crate::common::*;
use std::path::Path;
use std::process::Command;

/// Literal pools (.text, .got) are the compiler's, not the program's.
const EDGES: &str = "SELECT writer, reader, via, sum(bytes), sum(transfers) FROM function_dataflow
                     WHERE via IN ('global', 'constant') AND writer NOT IN ('<image .got>', '<image .text>') GROUP BY ALL ORDER BY ALL";

fn load(log: &Path, elf: &Path, scratch: &Scratch) -> Vec<String> {
    let db = scratch.path("a.duckdb");
    let (log, elf, out) = (log.to_str().unwrap(), elf.to_str().unwrap(), db.to_str().unwrap());
    ok(&["build", log, "--elf", elf, "-o", out, "--force"]);
    let odd = rows(
        &db,
        "SELECT kind, ending, count(*) FROM function_call WHERE kind = 'signal' OR ending = 'unwound' GROUP BY ALL",
    );
    assert!(odd.is_empty(), "{log}: {odd:?}");
    assert!(rows(&db, "SELECT * FROM diagnostic WHERE severity = 'error'").is_empty());
    rows(&db, EDGES)
}

fn qemu(program: &str, elf: &Path, log: &Path) {
    let output = Command::new(program)
        .args(["-singlestep", "-d", "nochain,cpu,in_asm", "-D"])
        .arg(log)
        .arg(elf)
        .output();
    output.expect("qemu runs");
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
    let folder = repository("../shared/data/qemu");
    if !folder.exists() {
        println!("skipped: there are no shared samples here");
        return;
    }
    let scratch = Scratch::new("execlog");
    for (isa, logs) in [
        (
            "arm",
            &["dexec-7.2-arm.log", "execlog-7.2-arm.log", "execlog-9.x-regs-arm.synth.log"][..],
        ),
        ("thumb", &["dexec-7.2-thumb.log", "execlog-7.2-thumb.log"]),
        ("rv64", &["execlog-7.2-rv64.log", "execlog-9.x-regs-rv64.synth.log"]),
    ] {
        let elf = folder.join(format!("demo-{isa}.elf"));
        let found: Vec<_> =
            logs.iter().map(|log| load(&folder.join(log), &elf, &scratch)).collect();
        assert!(!found[0].is_empty());
        for edges in &found {
            assert_eq!(edges, &found[0], "{isa}");
        }
    }
    // A recording without singlestep-exact dumps is refused, not guessed at.
    let lackey = repository("../shared/data/lackey/lackey-demo-x86_64.log");
    let elf = folder.join("demo-x86_64.elf");
    assert_eq!(
        load(&lackey, &elf, &scratch),
        load(&folder.join("execlog-7.2-x86_64.log"), &elf, &scratch)
    );
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
            let unknown = rows(
                &scratch.path("a.duckdb"),
                "SELECT code, count, message FROM diagnostic WHERE code = 'address-unknown'",
            );
            println!("{emulator} {program}: {} edges, {unknown:?}", edges.len());
        }
    }
}
