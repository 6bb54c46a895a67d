//! Logs of QEMU's with several processors that do not say whose each dump is: found, and said. Those of one processor are not taken
//! for such, whatever interrupts it.

use crate::common::*;
use std::path::Path;
use std::process::Command;

/// Compiler and flags, program, emulator and its machine.
type Machine = (&'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const MACHINES: [Machine; 3] = [
    (
        "aarch64-linux-gnu-gcc",
        &["-Wl,-Ttext=0x40080000"],
        "processors-aarch64.s",
        &["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-semihosting"],
    ),
    (
        "arm-linux-gnueabi-gcc",
        &["-Wl,-Ttext=0x40010000"],
        "processors-arm.s",
        &["qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15", "-semihosting"],
    ),
    (
        "riscv64-linux-gnu-gcc",
        &["-Wl,-Ttext=0x80000000"],
        "processors-riscv64.s",
        &["qemu-system-riscv64", "-M", "virt", "-bios", "none"],
    ),
];

/// Times that the log was found to be of several.
fn found(scratch: &Scratch, log: &Path, elf: &Path) -> u64 {
    let (code, error, db) = build_in(scratch, &[log], &["--elf", utf8(elf)]);
    // By the registers: that control goes back and forth is another sign, which not every run shows.
    let sql = "SELECT coalesce(sum(count), 0) FROM diagnostic
               WHERE code = 'threads-not-told-apart' AND severity = 'error' AND message LIKE '%no step wrote%'";
    let times: u64 = rows(&db, sql).concat().parse().expect("a number");
    assert!(times == 0 || code == 1 && error.contains("as if they were one"), "{error}");
    times
}

/// Runs a machine with so many processors, an instruction a block.
fn run(machine: &[&str], processors: &str, words: &str, elf: &Path, log: &Path) {
    let help = Command::new(machine[0]).arg("-h").output().expect("QEMU runs");
    let new = printed(&help).contains("one-insn-per-tb");
    let single: &[&str] =
        if new { &["-accel", "tcg,one-insn-per-tb=on"] } else { &["-singlestep"] };
    let mut qemu = Command::new(machine[0]);
    qemu.args(&machine[1..]).args(single).args(["-smp", processors, "-nographic", "-d", words]);
    let output = qemu.arg("-D").arg(log).arg("-kernel").arg(elf).output().expect("QEMU runs");
    assert!(output.status.success(), "{}", said(&output));
}

/// Whether two processors are found. How often they alternate is the emulator's and the scheduler's to say.
fn are_found(scratch: &Scratch, machine: &[&str], elf: &Path, log: &Path) -> bool {
    (0..5).any(|_| {
        run(machine, "2", "nochain,cpu,in_asm", elf, log);
        found(scratch, log, elf) > 0
    })
}

/// Registers of the programs, and those for them that signals and exceptions change, too.
const FEW: [&[(&str, &str)]; 3] = [
    // 0x20026 is a number for the emulator, not a register.
    &[("0x20026", "131110"), ("x20", "x2"), ("x19", "x1"), ("x21", "x29"), ("x9", "x0")],
    &[("r5", "r2"), ("r4", "r1"), ("r6", "r3")],
    &[("s4", "a2"), ("s3", "a1"), ("s5", "a0"), ("t0", "a0")],
];

#[test]
fn processors_that_differ_in_few_registers_are_found() {
    let scratch = Scratch::new("processors-few");
    let (elf, log) = (scratch.path("fw"), scratch.path("log"));
    for ((compiler, flags, program, machine), few) in MACHINES.into_iter().zip(FEW) {
        if !have(machine[0]) || !have(compiler) {
            continue;
        }
        let text = std::fs::read_to_string(repository(&format!("tests/programs/{program}")));
        let replaced = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
        let source = few.iter().fold(text.expect("a program"), replaced);
        let source = scratch.write("few.s", &source);
        make(
            compiler,
            &source,
            &[flags, &["-static", "-nostdlib", "-Wl,--build-id=none"]].concat(),
            &elf,
        );
        assert!(are_found(&scratch, machine, &elf, &log), "{program}");
        run(machine, "1", "nochain,cpu,in_asm", &elf, &log);
        assert_eq!(found(&scratch, &log, &elf), 0, "{program}");
    }
}

#[test]
fn two_processors_in_a_log_that_does_not_say_so_are_found() {
    let scratch = Scratch::new("processors");
    let (elf, log) = (scratch.path("fw"), scratch.path("log"));
    for (compiler, flags, program, machine) in MACHINES {
        let flags = [flags, &["-nostdlib", "-Wl,--build-id=none"]].concat();
        if !have(machine[0]) || !compile(compiler, program, &flags, &elf) {
            continue;
        }
        assert!(are_found(&scratch, machine, &elf, &log), "{program}");
        run(machine, "1", "nochain,cpu,in_asm", &elf, &log);
        assert_eq!(found(&scratch, &log, &elf), 0, "{program}");
        run(machine, "2", "nochain,cpu,in_asm,exec", &elf, &log);
        assert_eq!(found(&scratch, &log, &elf), 0, "{program}");
    }
}

/// They take turns four times, once when they differ in nothing but the link register.
#[test]
fn two_processors_of_a_genuine_log_are_found() {
    let scratch = Scratch::new("processors-genuine");
    let Some(genuine) = elsewhere("qemu-system/smp.log.xz") else { return };
    let elf = genuine.with_file_name("smp.elf");
    let Ok(output) = Command::new("xz").arg("-dc").arg(&genuine).output() else { return };
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("a text");
    let silent: String =
        text.lines().filter(|line| !line.starts_with("Trace")).flat_map(|l| [l, "\n"]).collect();
    assert!(silent.len() < text.len());
    let log = scratch.write("silent.log", &silent);
    assert!(found(&scratch, &log, &elf) >= 2);
    assert_eq!(found(&scratch, &genuine, &elf), 0);
}

/// Signals, system calls, jumps out of calls and switches of stacks on one processor.
#[test]
fn one_processor_is_not_taken_for_several() {
    let scratch = Scratch::new("processors-one");
    let (elf, log) = (scratch.path("app"), scratch.path("log"));
    for (compiler, emulator) in [
        ("gcc", "qemu-x86_64"),
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ] {
        for program in ["signal.c", "coroutines.c", "longjmp.c"] {
            if have(emulator) && compile(compiler, program, &["-O1", "-w"], &elf) {
                qemu(emulator, &elf, &log);
                assert_eq!(found(&scratch, &log, &elf), 0, "{emulator} {program}");
            }
        }
    }
}

/// Exceptions of ARM's M profile change registers by themselves.
#[test]
fn exceptions_of_one_processor_are_not_another_one() {
    let scratch = Scratch::new("processors-exceptions");
    let (elf, log) = (scratch.path("fw"), scratch.path("log"));
    let machine = ["qemu-system-arm", "-M", "lm3s6965evb", "-semihosting"];
    if have(machine[0]) && compile("arm-linux-gnueabi-gcc", "firmware.c", &FIRMWARE, &elf) {
        run(&machine, "1", "nochain,cpu,in_asm", &elf, &log);
        assert_eq!(found(&scratch, &log, &elf), 0);
    }
    let Some(genuine) = elsewhere("qemu-system/fw.log.xz") else { return };
    let elf = genuine.with_file_name("fw.elf");
    if elf.exists() {
        assert_eq!(found(&scratch, &genuine, &elf), 0);
    }
}
