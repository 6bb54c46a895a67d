//! System calls and semihosting of logs with registers: what the kernel or the host read and wrote.

use crate::common::*;
use std::path::Path;
use std::process::{Command, Stdio};

const FLAGS: [&str; 10] = [
    "-O1",
    "-fno-inline",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-pie",
    "-no-pie",
    "-fno-stack-protector",
    "-Wl,-e,entry",
    "-Wl,--build-id=none",
];

/// A log of QEMU's user mode with all registers, of a program that is given `text`; what it printed.
fn log(
    compiler: &str,
    emulator: &str,
    options: &[&str],
    text: &str,
    log: &Path,
    elf: &Path,
) -> Option<String> {
    if !have(compiler) || !have(emulator) {
        return None;
    }
    let built = Command::new(compiler)
        .args(FLAGS)
        .args(options)
        .arg(repository("tests/programs/hosted.c"))
        .arg("-o")
        .arg(elf)
        .output()
        .expect("a compiler");
    assert!(built.status.success(), "{compiler}: {}", said(&built));
    let scratch = log.with_extension("in");
    std::fs::write(&scratch, text).expect("writes");
    let output = Command::new(emulator)
        .args(["-singlestep", "-d", "nochain,cpu,in_asm", "-D", utf8(log), utf8(elf)])
        .stdin(Stdio::from(std::fs::File::open(scratch).expect("opens")))
        .output()
        .expect("QEMU runs");
    Some(printed(&output))
}

const SOURCES: &str = "SELECT writer, reader, bytes FROM function_dataflow
    WHERE writer LIKE '<read%' OR reader LIKE '<write:%' ORDER BY ALL";

#[test]
fn system_calls_of_a_log_have_their_data() {
    let scratch = Scratch::new("hosted-linux");
    for (compiler, emulator, options) in [
        ("gcc", "qemu-x86_64", &["-mgeneral-regs-only"][..]),
        ("arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]),
        ("arm-linux-gnueabi-gcc", "qemu-arm", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"]),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", &["-mgeneral-regs-only"]),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", &[]),
    ] {
        let (trace, elf) = (scratch.path("run.log"), scratch.path("run"));
        let Some(printed) = log(compiler, emulator, options, "HELLO", &trace, &elf) else {
            continue;
        };
        assert_eq!(printed, "hello", "{emulator} {options:?}");
        let db = scratch.path("run.duckdb");
        let output =
            command(&["build", utf8(&trace), "--elf", utf8(&elf), "-o", utf8(&db), "--force"])
                .output()
                .expect("addfg runs");
        assert!(output.status.success(), "{emulator} {options:?}: {}", said(&output));
        let flow = ["<read: stdin>,change,5", "change,<write: stdout>,5"];
        assert_eq!(rows(&db, SOURCES), flow, "{emulator} {options:?}: {}", said(&output));
        let calls = "SELECT name, result FROM system_call ORDER BY 1";
        let writes = if emulator == "qemu-x86_64" { "write,5" } else { "writev,5" };
        assert_eq!(rows(&db, calls), ["read,5", writes], "{emulator} {options:?}");
    }
}

#[test]
fn semihosting_of_a_log_has_its_data() {
    let scratch = Scratch::new("hosted-semihosting");
    for (compiler, emulator, options) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm", &["-marm", "-DHOST"][..]),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", &["-DHOST"]),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", &["-DHOST"]),
    ] {
        let (trace, elf) = (scratch.path("run.log"), scratch.path("run"));
        let Some(printed) = log(compiler, emulator, options, "HELLO", &trace, &elf) else {
            continue;
        };
        assert_eq!(printed, "hello", "{emulator}");
        let db = scratch.path("run.duckdb");
        let output =
            command(&["build", utf8(&trace), "--elf", utf8(&elf), "-o", utf8(&db), "--force"])
                .output()
                .expect("addfg runs");
        assert!(output.status.success(), "{emulator}: {}", said(&output));
        let flow = "SELECT regexp_replace(writer, '[0-9]+', 'N'), regexp_replace(reader, '[0-9]+', 'N'), bytes
            FROM function_dataflow WHERE writer LIKE '<read%' OR reader LIKE '<write:%' ORDER BY ALL";
        let expected = ["<read: handle N>,change,5", "change,<write: handle N>,5"];
        assert_eq!(rows(&db, flow), expected, "{emulator}: {}", said(&output));
    }
}

/// What a program gives to the console of Spike through `tohost`, one character a store; QEMU has that machine, too.
#[test]
fn a_console_behind_tohost_has_its_data() {
    let (compiler, emulator) = ("riscv64-linux-gnu-gcc", "qemu-system-riscv64");
    if !have(compiler) || !have(emulator) {
        return;
    }
    let scratch = Scratch::new("hosted-console");
    let (trace, elf, db) =
        (scratch.path("run.log"), scratch.path("run"), scratch.path("run.duckdb"));
    let script = format!("-T{}", utf8(&repository("tests/programs/htif.ld")));
    let flags = [
        "-O1",
        "-nostdlib",
        "-static",
        "-ffreestanding",
        "-fno-pic",
        "-mcmodel=medany",
        "-DCONSOLE",
    ];
    let built = Command::new(compiler)
        .args(flags)
        .args(["-march=rv64gc", "-mabi=lp64d", "-Wl,--build-id=none", &script, "-o", utf8(&elf)])
        .arg(repository("tests/programs/htif.c"))
        .output()
        .expect("a compiler");
    assert!(built.status.success(), "{}", said(&built));
    let help = Command::new(emulator).arg("-help").output().expect("QEMU runs");
    let new = printed(&help).contains("one-insn-per-tb");
    let single: &[&str] =
        if new { &["-accel", "tcg,one-insn-per-tb=on"] } else { &["-singlestep"] };
    let output = Command::new(emulator)
        .args(["-M", "spike", "-bios", "none", "-display", "none", "-monitor", "none"])
        .args(single)
        .args(["-serial", "stdio", "-d", "nochain,cpu,in_asm"])
        .args(["-D", utf8(&trace), "-kernel", utf8(&elf)])
        .stdin(Stdio::null())
        .output()
        .expect("QEMU runs");
    assert_eq!(printed(&output), "hello\n", "{}", said(&output));
    ok(&["build", utf8(&trace), "--elf", utf8(&elf), "-o", utf8(&db)]);
    assert_eq!(rows(&db, SOURCES), ["put,<write: console>,6"]);
}

/// A call into code that the log has is none of a system outside of it.
#[test]
fn a_handler_in_the_log_is_no_system_outside() {
    let scratch = Scratch::new("hosted-handler");
    for (log, elf) in
        [("spike/both.log.xz", "spike/filter.elf"), ("qemu-system/a.log.xz", "qemu-system/a.elf")]
    {
        let (Some(log), Some(elf)) = (elsewhere(log), elsewhere(elf)) else { continue };
        let db = scratch.path("run.duckdb");
        ok(&["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"]);
        assert_eq!(rows(&db, "SELECT count(*) FROM system_call"), ["0"], "{}", log.display());
    }
}

/// Logs that Spike made of `tests/programs/htif.c`, which asks for sixteen bytes of standard input and gets eight
/// (`spike --isa=rv64gc -l --log-commits --log=rv64.log rv64`, `--isa=rv32imac`; made with
/// `-march=... -mcmodel=medany -O1 -nostdlib -nostartfiles -static -ffreestanding -fno-pic -no-pie -T htif.ld`).
/// It printed `HELLO WO!`: eight bytes by `write`, the last and a line feed by the console.
#[test]
fn proxied_calls_of_spike_have_their_data() {
    let scratch = Scratch::new("hosted-proxied");
    // `<read>`: the results, which the host leaves in memory.
    let expected = [
        "<read: stdin>,shout,8",
        "<read>,host,8",
        "put,<write: console>,2",
        "shout,<write: stdout>,8",
    ];
    for name in ["rv64", "rv32"] {
        let (log, elf) =
            (format!("tests/data/htif/{name}.log.zst"), format!("tests/data/htif/{name}"));
        let packed = std::fs::read(repository(&log)).expect("the log");
        let whole = zstd::decode_all(&packed[..]).expect("unpacks");
        let whole = String::from_utf8(whole).expect("text");
        // Both lines of a step, and the commits alone: those have the privilege before the address.
        let is_commit = |line: &&str| line.as_bytes().get(10..11).is_some_and(|c| c != b"0");
        let commits: Vec<&str> = whole.lines().filter(is_commit).collect();
        assert!(commits.len() > 20_000 && commits.len() < whole.lines().count());
        for (way, text) in [("both", whole.clone()), ("commits", commits.join("\n") + "\n")] {
            let trace = scratch.write(&format!("{name}-{way}.log"), text);
            let db = scratch.path(&format!("{name}-{way}.duckdb"));
            ok(&["build", utf8(&trace), "--elf", utf8(&repository(&elf)), "-o", utf8(&db)]);
            assert_eq!(rows(&db, SOURCES), expected, "{name} {way}");
            let calls = rows(&db, "SELECT name, result FROM system_call ORDER BY ALL");
            assert_eq!(calls, ["read,8", "write,8", "writec,", "writec,"], "{name} {way}");
        }
    }
}
