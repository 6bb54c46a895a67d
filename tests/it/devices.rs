//! Devices: what is stored there goes to them, what is loaded comes from them, whatever was stored
//! before. The firmware of `examples/firmware` handles each of its 49 input bytes once, and prints 48.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MACHINE: &str = "-M mps2-an385 -display none -monitor none -serial stdio -semihosting";

/// The firmware, if it can be compiled and run.
fn firmware(scratch: &Scratch) -> Option<PathBuf> {
    if !have("arm-linux-gnueabi-gcc") || !have("qemu-system-arm") {
        return None;
    }
    let elf = scratch.path("fw.elf");
    let mut build = Command::new(repository("examples/firmware/build.sh"));
    let output = build.arg(&elf).output().expect("a shell");
    assert!(output.status.success(), "{}", said(&output));
    Some(elf)
}

fn numbers() -> Stdio {
    std::fs::File::open(repository("examples/firmware/numbers.txt")).expect("numbers").into()
}

/// Data that goes to and from the UART.
fn uart(db: &Path, name: &str) -> Vec<String> {
    let sql = format!(
        "SELECT writer, reader, via, bytes FROM function_dataflow
         WHERE '<device {name}>' IN (writer, reader) ORDER BY ALL"
    );
    rows(db, &sql)
}

fn expected(name: &str) -> Vec<String> {
    vec![
        format!("<device {name}>,receive,mmio,196"),
        format!("<device {name}>,send,mmio,192"),
        format!("<device {name}>,uart_receive,mmio,196"),
        format!("main,<device {name}>,mmio,8"),
        format!("send,<device {name}>,mmio,192"),
        format!("uart_receive,<device {name}>,mmio,196"),
    ]
}

/// Boxes of the picture by their role.
fn boxes(db: &Path) -> Vec<(String, String)> {
    let json = ok(&["graph", utf8(db), "-o", "-", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let all = value["nodes"].as_array().expect("boxes");
    let word = |of: &serde_json::Value, key: &str| of[key].as_str().unwrap_or("").to_owned();
    all.iter().map(|of| (word(of, "kind"), word(of, "name"))).collect()
}

#[test]
fn a_uart_is_a_device_and_handlers_are_boxes() {
    let scratch = Scratch::new("devices-recorded");
    let Some(elf) = firmware(&scratch) else { return };
    for detail in ["summary", "pairs"] {
        let db = scratch.path(&format!("{detail}.duckdb"));
        let qemu = format!("qemu-system-arm {MACHINE} -kernel");
        let arguments =
            ["record", "--detail", detail, "-o", utf8(&db), "--qemu", &qemu, "--", utf8(&elf)];
        let output = command(&arguments).stdin(numbers()).output().expect("addfg runs");
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(uart(&db, "uart"), expected("uart"), "{detail}");
        let dead = "SELECT dead_bytes FROM flat_profile WHERE function = 'send'";
        assert_eq!(rows(&db, dead), ["0"], "{detail}");
        let kinds = "SELECT DISTINCT name FROM system_call";
        let kinds = if detail == "summary" { rows(&db, kinds) } else { Vec::new() };
        assert!(kinds.is_empty(), "{kinds:?}");
        let boxes = boxes(&db);
        for (role, name) in [
            ("function", "uart_receive"),
            ("function", "systick"),
            ("function", "pendsv"),
            ("source", "device uart"),
            ("sink", "device uart"),
        ] {
            assert!(boxes.contains(&(role.into(), name.into())), "{detail}: {name}: {boxes:?}");
        }
    }
}

#[test]
fn a_log_has_the_devices_of_the_address_map_or_those_that_are_given() {
    let scratch = Scratch::new("devices-log");
    let Some(elf) = firmware(&scratch) else { return };
    let log = scratch.path("fw.log");
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(MACHINE.split(' ')).args(["-singlestep", "-d", "nochain,cpu,in_asm,int,exec"]);
    let output = qemu.arg("-D").arg(&log).arg("-kernel").arg(&elf).stdin(numbers()).output();
    let output = output.expect("QEMU runs");
    if !output.status.success() {
        return skipped(&format!("devices of a log: {}", said(&output)));
    }
    let db = scratch.path("fw.duckdb");
    let build = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force"];
    ok(&build);
    assert_eq!(uart(&db, "0x40004000"), expected("0x40004000"));
    ok(&[&build[..], &["--device", "console=0x40004000+0x1000"]].concat());
    assert_eq!(uart(&db, "console"), expected("console"));
    let places = "SELECT DISTINCT via FROM function_dataflow WHERE writer LIKE '<device%'";
    assert_eq!(rows(&db, places), ["mmio"]);
}

#[test]
fn what_is_no_device_is_said() {
    for (wrong, part) in [
        ("uart", "has no name: write NAME=FIRST..LAST or NAME=FIRST+SIZE"),
        ("uart=1", "has no range: write NAME=FIRST..LAST or NAME=FIRST+SIZE"),
        ("uart=0x+4", "invalid number `0x`"),
        ("=1+2", "has no name"),
        ("uart=1+0", "is empty"),
        ("u=0xffffffffffffffff+2", "ends behind the last address"),
    ] {
        let output = command(&["build", "x.log", "--device", wrong]).output().expect("addfg runs");
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(said(&output).contains(part), "{}", said(&output));
    }
}
