//! The streaming pass against the SQL of queries/derive, on real recordings; and verify against a
//! database that was tampered with.

use crate::common::*;
use std::path::Path;
use std::process::Command;

/// Builds and verifies; every line of verify must say equal.
fn verify(name: &str, log: &Path, elf: &Path, scratch: &Scratch, more: &[&str]) {
    let db = scratch.path("a.duckdb");
    let (log, elf, out) = (log.to_str().unwrap(), elf.to_str().unwrap(), db.to_str().unwrap());
    ok(&[&["build", log, "--elf", elf, "-o", out, "--force", "--quiet"], more].concat());
    let text = ok(&["verify", out]);
    assert_eq!(text.lines().filter(|l| l.contains(" equal ")).count(), 8, "{name}: {text}");
    assert!(text.starts_with("function_call"), "{name}: {text}");
}

#[test]
fn shipped_recordings() {
    let scratch = Scratch::new("verify-shipped");
    let (log, elf) = (repository("examples/fir/fir.log.xz"), repository("examples/fir/fir"));
    verify("fir", &log, &elf, &scratch, &[]);
    verify("fir full", &log, &elf, &scratch, &["--detail", "full"]);
    verify("fir literal", &log, &elf, &scratch, &["--saves", "literal", "--detail", "full"]);
    let (log, elf) = (repository("examples/jpeg/jpeg.log.xz"), repository("examples/jpeg/jpeg"));
    verify("jpeg", &log, &elf, &scratch, &[]);
    verify("jpeg literal", &log, &elf, &scratch, &["--saves", "literal"]);
}

#[test]
fn recorded_programs() {
    let scratch = Scratch::new("verify-recorded");
    for (program, flags) in [("longjmp", &["-O1"][..]), ("tail", &["-O2"]), ("strings", &["-O2"])] {
        let (elf, log) = (scratch.path("program"), scratch.path("log"));
        if have("valgrind") && compile("gcc", &format!("{program}.c"), flags, &elf) {
            lackey(&elf, &log);
            verify(program, &log, &elf, &scratch, &[]);
        }
    }
    for (compiler, emulator) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
        ("gcc", "qemu-x86_64"),
    ] {
        let (elf, log) = (scratch.path("program"), scratch.path("log"));
        // With a C library on one of them: hundreds of thousands of steps.
        let (program, flags) = if emulator == "qemu-arm" {
            ("conditional.c", &["-O2"][..])
        } else {
            ("bare.c", &BARE[..])
        };
        if have(emulator) && compile(compiler, program, flags, &elf) {
            let arguments = ["-singlestep", "-d", "nochain,cpu,in_asm", "-D"];
            Command::new(emulator).args(arguments).arg(&log).arg(&elf).output().expect("qemu runs");
            verify(emulator, &log, &elf, &scratch, &[]);
        }
    }
}

/// Every log of tests/formats: the good ones load, of the others what can be read, and verify holds
/// for all.
#[test]
fn fixtures_of_every_format() {
    let scratch = Scratch::new("verify-fixtures");
    let db = scratch.path("a.duckdb");
    let mut logs: Vec<_> = ["lackey", "qemu", "execlog", "giano", "layout"]
        .iter()
        .flat_map(|format| {
            std::fs::read_dir(repository(&format!("tests/formats/{format}"))).unwrap()
        })
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "log"))
        .collect();
    logs.sort();
    assert!(logs.len() >= 20);
    for log in logs {
        let (path, name) = (log.to_str().unwrap(), log.file_name().unwrap().to_str().unwrap());
        let elf = |isa: &str| {
            vec![
                "--elf".to_owned(),
                repository(&format!("tests/formats/elf/{isa}")).display().to_string(),
            ]
        };
        let more = match log.parent().unwrap().file_name().unwrap().to_str().unwrap() {
            "lackey" => elf("x86_64"),
            "execlog" | "giano" => elf("arm"),
            "layout" => {
                let layout = if name.contains("columns") { "columns" } else { "pattern" };
                let layout = repository(&format!("tests/formats/layout/{layout}.toml"))
                    .display()
                    .to_string();
                [elf("riscv64"), vec!["--layout".into(), layout]].concat()
            }
            _ => Vec::new(),
        };
        let fixed = ["build", path, "-o", db.to_str().unwrap(), "--force", "--detail", "full"];
        let arguments: Vec<&str> =
            fixed.into_iter().chain(more.iter().map(String::as_str)).collect();
        let output = addfg(&arguments);
        let wanted = if name.starts_with("good") { 0 } else { 1 };
        assert_eq!(
            output.status.code(),
            Some(wanted),
            "{path}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = ok(&["verify", db.to_str().unwrap()]);
        assert_eq!(text.lines().filter(|l| l.contains(" equal ")).count(), 8, "{path}: {text}");
    }
}

#[test]
fn a_changed_database_is_told() {
    let scratch = Scratch::new("verify-changed");
    let db = scratch.path("a.duckdb");
    let (log, elf) = (repository("examples/fir/fir.log.xz"), repository("examples/fir/fir"));
    let path = db.to_str().unwrap();
    for change in [
        "DELETE FROM communication_row WHERE read_seq = (SELECT min(read_seq) FROM communication_row)",
        "UPDATE dataflow_row SET unique_bytes = unique_bytes + 1 WHERE reader_call_id = 5",
        "UPDATE function_edge SET addresses = addresses - 1 WHERE via = 'constant'",
        "UPDATE control_flow SET end_seq = end_seq + 1 WHERE interval_id = 2",
        "UPDATE instruction_edge SET bytes = bytes + 1 WHERE bytes = (SELECT max(bytes) FROM instruction_edge)",
        "UPDATE call_edge SET calls = 6 WHERE calls = 5",
        "UPDATE function_call SET steps_total = 1 WHERE call_id = 1",
        "DELETE FROM saved_register WHERE save_seq = (SELECT min(save_seq) FROM saved_register)",
    ] {
        ok(&[
            "build",
            log.to_str().unwrap(),
            "--elf",
            elf.to_str().unwrap(),
            "-o",
            path,
            "--force",
            "--quiet",
        ]);
        ok(&["sql", path, change, "--write"]);
        let output = addfg(&["verify", path]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{change}: {text}");
        assert!(text.contains("DIFFERENT"), "{change}: {text}");
    }
}
