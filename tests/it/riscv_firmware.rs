//! The firmware of `examples/firmware-riscv`: a timer interrupt, a UART and memories, on a machine of 32 and of
//! 64 bits, recorded and from a log.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MACHINE: &str = "-M virt -bios none -display none -monitor none -serial stdio";
const UART: &str = "uart=0x10000000+0x100";

/// The firmware, if it can be compiled and run.
fn firmware(scratch: &Scratch, bits: &str) -> Option<PathBuf> {
    if !have("riscv64-linux-gnu-gcc") || !have(&format!("qemu-system-riscv{bits}")) {
        return None;
    }
    let elf = scratch.path(&format!("fw{bits}.elf"));
    let mut build = Command::new(repository("examples/firmware-riscv/build.sh"));
    let output = build.arg(&elf).arg(bits).output().expect("a shell");
    assert!(output.status.success(), "{}", said(&output));
    Some(elf)
}

fn samples() -> Stdio {
    let path = repository("examples/firmware-riscv/samples.txt");
    std::fs::File::open(path).expect("samples").into()
}

/// What is the same in each run, whenever interrupts come: 49 bytes go in, 45 out, 16 samples between.
fn is_right(db: &Path) {
    let calls = "SELECT f.name, count(*) FROM function_call c JOIN function_symbol f USING (function_id)
        WHERE f.name IN ('receive', 'read_sample', 'filter', 'send_number', 'send') GROUP BY 1 ORDER BY 1";
    let expected = ["filter,16", "read_sample,17", "receive,49", "send,45", "send_number,16"];
    assert_eq!(rows(db, calls), expected);
    let handler =
        "SELECT DISTINCT c.kind FROM function_call c JOIN function_symbol f USING (function_id)
        WHERE f.name = 'timer'";
    assert_eq!(rows(db, handler), ["signal"]);
    let broken = "SELECT count(*) FROM function_call c JOIN function_symbol f USING (function_id)
        WHERE f.name IN ('receive', 'filter', 'send') AND c.ending <> 'return'";
    assert_eq!(rows(db, broken), ["0"]);
    let uart = "SELECT reader FROM function_dataflow WHERE writer = '<device uart>' ORDER BY 1";
    assert_eq!(rows(db, uart), ["poll", "send"]);
    let out = "SELECT writer, bytes FROM function_dataflow WHERE reader = '<device uart>'";
    assert_eq!(rows(db, out), ["send,45"]);
    // The handler interrupts others and gives them nothing but the ring, and what it has received.
    let given = "SELECT DISTINCT reader FROM function_dataflow WHERE writer IN ('timer', 'poll')
        AND reader NOT IN ('timer', 'poll', 'wait_for_tick') ORDER BY 1";
    assert_eq!(rows(db, given), ["receive"]);
    // Only the ring and the samples are in the TCM.
    let traffic =
        ok(&["sql", utf8(db), "@range_traffic", "0x80100000", "0x80103fff", "--format", "csv"]);
    let mut names: Vec<&str> =
        traffic.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["filter", "poll", "receive"], "{traffic}");
    assert!(traffic.contains("\npoll,1,0,0,49,49\n"), "{traffic}");
    assert!(traffic.contains("\nreceive,1,49,49,0,0\n"), "{traffic}");
}

#[test]
fn a_recorded_firmware_has_its_device_and_memories() {
    let scratch = Scratch::new("riscv-recorded");
    for bits in ["32", "64"] {
        let Some(elf) = firmware(&scratch, bits) else { return };
        let name = format!("qemu-system-riscv{bits}");
        if !crate::emulators::takes_plugins(&name) {
            return;
        }
        let db = scratch.path("fw.duckdb");
        let qemu = format!("{name} {MACHINE} -kernel");
        let map = scratch.path(&format!("fw{bits}.elf.map"));
        let mut arguments = vec!["record", "-o", utf8(&db), "--force", "--qemu", &qemu];
        arguments.extend(["--device", UART, "--memory-map", utf8(&map)]);
        let mut command = command(&arguments);
        let output = command.args(["--", utf8(&elf)]).stdin(samples()).output().expect("runs");
        assert!(output.status.success(), "{}", said(&output));
        assert!(printed(&output).starts_with("4\n7\n9\n"), "{}", printed(&output));
        is_right(&db);
        let picture = ok(&["graph", utf8(&db), "-o", "-", "--format", "json"]);
        assert!(picture.contains("device uart"), "{picture}");
        // The linker's memories, by name: what is in the TCM, and nothing but that.
        let traffic = ok(&["sql", utf8(&db), "@memory_traffic", "0", "--format", "csv"]);
        let tcm: Vec<&str> =
            traffic.lines().filter(|line| line.starts_with("TCM,memory,")).collect();
        assert!(tcm.contains(&"TCM,memory,poll,1,0,0,49,49,49"), "{traffic}");
        assert!(tcm.contains(&"TCM,memory,receive,1,49,49,0,0,49"), "{traffic}");
        assert_eq!(tcm.len(), 3, "{traffic}");
        assert!(traffic.contains("\nuart,device,send,1,"), "{traffic}");
        let constants = traffic.lines().filter(|line| line.starts_with("ROM,"));
        assert!(
            constants.clone().count() > 0
                && constants.clone().all(|line| line.contains(",filter,")),
            "{traffic}"
        );
        let drawn = ok(&["graph", utf8(&db), "--by-memory", "--format", "dot"]);
        assert!(
            ["SRAM", "TCM", "ROM", "uart"]
                .iter()
                .all(|name| drawn.contains(&format!("<B>{name}</B>"))),
            "{drawn}"
        );
    }
}

/// Without a name of QEMU's and without `--device`, it is named by its address, the same in each run.
#[test]
fn a_device_without_a_name_has_its_address() {
    let scratch = Scratch::new("riscv-nameless");
    let Some(elf) = firmware(&scratch, "32") else { return };
    if !crate::emulators::takes_plugins("qemu-system-riscv32") {
        return;
    }
    let db = scratch.path("fw.duckdb");
    let qemu = format!("qemu-system-riscv32 {MACHINE} -kernel");
    let arguments = ["record", "-o", utf8(&db), "--qemu", &qemu, "--", utf8(&elf)];
    let output = command(&arguments).stdin(samples()).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    let devices = "SELECT writer FROM function_dataflow WHERE reader = 'poll' AND via = 'mmio'";
    assert_eq!(rows(&db, devices), ["<device 0x10000000>"]);
}

#[test]
fn a_log_of_the_firmware_gives_the_same() {
    let scratch = Scratch::new("riscv-log");
    for bits in ["32", "64"] {
        let Some(elf) = firmware(&scratch, bits) else { return };
        let log = scratch.path("fw.log");
        let mut qemu = Command::new(format!("qemu-system-riscv{bits}"));
        qemu.args(MACHINE.split(' ')).args(["-singlestep", "-d", "nochain,cpu,in_asm,int,exec"]);
        let output = qemu.arg("-D").arg(&log).arg("-kernel").arg(&elf).stdin(samples()).output();
        let output = output.expect("QEMU runs");
        assert!(output.status.success(), "{}", said(&output));
        let db = scratch.path("fw.duckdb");
        ok(&[
            "build",
            utf8(&log),
            "--elf",
            utf8(&elf),
            "-o",
            utf8(&db),
            "--force",
            "--device",
            UART,
        ]);
        is_right(&db);
    }
}

/// A trap that is taken right behind `mret`, when a handler has gone back to another task, interrupts that one.
#[test]
fn a_trap_behind_the_way_back_is_of_the_next_task() {
    let scratch = Scratch::new("chained");
    if !have("riscv64-linux-gnu-gcc") || !have("qemu-system-riscv64") {
        return skipped("chained traps: needs riscv64-linux-gnu-gcc and qemu-system-riscv64");
    }
    let folder = repository("tests/programs/interrupts");
    let (elf, db) = (scratch.path("chained.elf"), scratch.path("chained.duckdb"));
    let built = Command::new("riscv64-linux-gnu-gcc")
        .args([
            "-march=rv64ima_zicsr",
            "-mabi=lp64",
            "-mcmodel=medany",
            "-O1",
            "-g",
            "-nostdlib",
            "-ffreestanding",
        ])
        .args([
            "-static",
            "-fno-pie",
            "-no-pie",
            "-mno-relax",
            "-msmall-data-limit=0",
            "-fno-tree-loop-distribute-patterns",
        ])
        .args(["-Wl,--build-id=none", "-Wl,-e,_start", "-T", utf8(&folder.join("chained.ld"))])
        .args(["-o", utf8(&elf), utf8(&folder.join("chained.c"))])
        .output()
        .expect("a compiler");
    assert!(built.status.success(), "{}", said(&built));
    let emulator = format!("qemu-system-riscv64 {MACHINE} -kernel");
    let record = ["record", "--quiet", "-o", utf8(&db), "--qemu", &emulator, "--", utf8(&elf)];
    let output = addfg(&record);
    if said(&output).contains("unknown option") {
        return skipped("chained traps: QEMU was built without plugins");
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut expected: Vec<String> =
        text.lines().map(|line| line.trim().replace(' ', ",")).filter(|l| !l.is_empty()).collect();
    expected.sort();
    assert_eq!(expected.len(), 6, "{text}");
    let calls = "SELECT name, calls FROM function_profile JOIN function_symbol USING (function_id)
        WHERE name SIMILAR TO '[fg][0-2]' ORDER BY 1";
    assert_eq!(rows(&db, calls), expected);
}
