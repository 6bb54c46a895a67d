//! The streaming pass against the SQL of queries/derive, on real recordings; and verify against a
//! database that was tampered with.

use crate::common::{self, *};
use std::path::Path;

/// Every table that can be derived is as it was stored.
pub fn equal(name: &str, db: &Path) {
    let connection = open(db);
    assert_eq!(addfg::internals::query::not_applicable(&connection).unwrap(), None, "{name}");
    let verdicts =
        addfg::internals::query::verify(&connection, addfg::internals::query::WINDOW, &mut |_| {})
            .unwrap();
    assert_eq!(verdicts.len(), 13, "{name}");
    for v in verdicts {
        assert!(v.holds(), "{name}: {}: {:#?}", v.table, v.examples);
    }
}

/// Builds and verifies.
fn verify(name: &str, log: &Path, elf: &Path, scratch: &Scratch, more: &[&str]) {
    let db = scratch.path("a.duckdb");
    load(log, elf, &db, more);
    equal(name, &db);
}

#[test]
fn shipped_recordings() {
    let scratch = Scratch::new("verify-shipped");
    for name in ["fir", "jpeg"] {
        equal(name, &example(name, "pairs"));
        equal(&format!("{name} full"), &example(name, "full"));
    }
    let text = ok(&["verify", utf8(&example("fir", "pairs"))]);
    // Thirteen tables, and the packed run with its rows.
    assert_eq!(text.lines().filter(|l| l.contains(" equal ")).count(), 14, "{text}");
    assert!(text.starts_with("function_call"), "{text}");
    let [log, elf] = example_files("fir");
    verify("fir literal", &log, &elf, &scratch, &["--saves", "literal", "--detail", "full"]);
    let [log, elf] = example_files("jpeg");
    verify("jpeg literal", &log, &elf, &scratch, &["--saves", "literal"]);
}

#[test]
fn recorded_programs() {
    let scratch = Scratch::new("verify-recorded");
    for (program, flags) in [("longjmp", &["-O1"][..]), ("tail", &["-O2"]), ("strings", &["-O2"])] {
        if let Some([elf, log]) = recording(&format!("{program}.c"), "gcc", flags) {
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
            qemu(emulator, &elf, &log);
            verify(emulator, &log, &elf, &scratch, &[]);
        }
    }
}

/// Every log of tests/formats: the good ones load, of the others what can be read, and verify holds
/// for all.
#[test]
fn fixtures_of_every_format() {
    let scratch = Scratch::new("verify-fixtures");
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
            // Of simulators whose layouts come with addfg: tests/it/formats.rs has them.
            "layout" if !name.contains("columns") && !name.contains("pattern") => continue,
            "layout" => {
                let layout = if name.contains("columns") { "columns" } else { "pattern" };
                let layout = repository(&format!("tests/formats/layout/{layout}.toml"))
                    .display()
                    .to_string();
                [elf("riscv64"), vec!["--layout".into(), layout]].concat()
            }
            _ => Vec::new(),
        };
        let mut arguments = vec!["--detail", "full"];
        arguments.extend(more.iter().map(String::as_str));
        let (code, error, db) = build_in(&scratch, &[&log], &arguments);
        assert_eq!(code, i32::from(!name.starts_with("good")), "{path}: {error}");
        equal(path, &db);
    }
}

/// A call that was made before the log told the stack pointer returns where it is known.
#[test]
fn a_call_without_stack_pointer_returns_with_one() {
    let scratch = Scratch::new("verify-late");
    let log = scratch.path("late.log");
    let lines = [
        r#"0, 0x1000, 0xeb000002, "bl #0x1010", lr -> 0x00001004"#,
        r#"0, 0x1010, 0xe92d4010, "push {r4, lr}", store, 0x40800958, store, 0x4080095c, sp -> 0x40800958"#,
        r#"0, 0x1014, 0xe8bd8010, "pop {r4, pc}", load, 0x40800958, load, 0x4080095c, r4 -> 0x00000000, sp -> 0x40800960"#,
        r#"0, 0x1004, 0xe1a00000, "nop""#,
    ];
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let (_, error, db) = build_in(&scratch, &[&log], &[]);
    equal(&error, &db);
    let sql = "SELECT ending FROM function_call WHERE call_seq = 2";
    let ending: String = open(&db).query_row(sql, [], |r| r.get(0)).unwrap();
    assert_eq!(ending, "return");
}

#[test]
fn a_changed_database_is_told() {
    let scratch = Scratch::new("verify-changed");
    for change in [
        "DELETE FROM communication_row WHERE read_seq = (SELECT min(read_seq) FROM communication_row)",
        "UPDATE dataflow_row SET unique_bytes = unique_bytes + 1 WHERE reader_call_id = 5",
        "UPDATE function_edge SET addresses = addresses - 1 WHERE via = 'constant'",
        "UPDATE control_flow_row SET end_seq = end_seq + 1 WHERE interval_id = 2",
        "UPDATE instruction_edge_row SET bytes = bytes + 1 WHERE bytes = (SELECT max(bytes) FROM instruction_edge)",
        "UPDATE call_edge SET calls = 6 WHERE calls = 5",
        "UPDATE function_call_row SET steps_total = 1 WHERE call_id = 1",
        "UPDATE stack_edge SET transfers = transfers + 1 WHERE bytes = (SELECT max(bytes) FROM stack_edge)",
        "DELETE FROM saved_register_row WHERE save_seq = (SELECT min(save_seq) FROM saved_register)",
    ] {
        let db = scratch.copy(&example("fir", "pairs"), "changed.duckdb");
        common::change(&db, change);
        let output = addfg(&["verify", utf8(&db)]);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(1), "{change}: {text}");
        assert!(text.contains("DIFFERENT"), "{change}: {text}");
    }
}

/// Calls that are nested in each other count for each; where a run began nobody calls.
#[test]
fn inclusive_steps_that_exceed_the_run_are_said() {
    let scratch = Scratch::new("verify-inclusive");
    for (more, severity, callee) in
        [(&[][..], "warning", "_start"), (&["-DPLAIN"], "info", "once_more")]
    {
        let flags = [&BARE[..], more].concat();
        let Some([elf, log]) = recording("again.c", "gcc", &flags) else { return };
        let db = scratch.path("again.duckdb");
        load(&log, &elf, &db, &[]);
        let said =
            rows(&db, "SELECT severity, message FROM diagnostic WHERE code = 'inclusive-steps'");
        let expected = format!("{severity},calls of {callee} by once_more have ");
        assert!(said.len() == 1 && said[0].replace('"', "").starts_with(&expected), "{said:?}");
        let text = ok(&["verify", utf8(&db)]);
        let note = format!("inclusive steps      note      calls of {callee} by once_more have ");
        assert!(text.contains(&note), "{text}");
        // More than all of the run is of no function.
        ok(&["sql", utf8(&db), "UPDATE function_profile SET steps_total = 1000000", "--write"]);
        let output = command(&["verify", utf8(&db)]).output().expect("addfg runs");
        assert_eq!(output.status.code(), Some(1), "{}", common::said(&output));
        assert!(printed(&output).contains("IMPOSSIBLE function"), "{}", printed(&output));
    }
    let db = example("fir", "pairs");
    assert!(!ok(&["verify", utf8(&db)]).contains("inclusive"));
}
