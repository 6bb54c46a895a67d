//! `build --through`: what copying functions copy keeps its producer.

use crate::common::*;
use std::path::Path;
use std::process::Command;

const MEMORY: &str = "SELECT writer, sum(bytes) FROM function_dataflow WHERE reader = 'consume' AND via <> 'register' GROUP BY ALL ORDER BY ALL";

fn load(log: &Path, elf: &Path, db: &Path, through: &[&str]) {
    let [log, elf, db] = [log, elf, db].map(|p| p.to_str().unwrap());
    ok(&[&["build", log, "--elf", elf, "-o", db, "--force", "--quiet"], through].concat());
}

#[test]
fn copies_keep_their_producer() {
    let scratch = Scratch::new("through");
    let (elf, log, db) = (scratch.path("copies"), scratch.path("log"), scratch.path("db"));
    let mut recorded = 0;
    for (compiler, emulator) in [
        ("gcc", "valgrind"),
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ] {
        if !have(emulator)
            || !compile(compiler, "copies.c", &["-O1", "-fno-tree-loop-distribute-patterns"], &elf)
        {
            continue;
        }
        if emulator == "valgrind" {
            lackey(&elf, &log);
        } else {
            let arguments = ["-singlestep", "-d", "nochain,cpu,in_asm", "-D"];
            Command::new(emulator).args(arguments).arg(&log).arg(&elf).output().expect("qemu runs");
        }
        recorded += 1;
        load(&log, &elf, &db, &["--through", "copy_bytes,copy_words,copy_moves"]);
        let found = rows(&db, MEMORY);
        // The C library's copy is still one.
        assert!(found.iter().any(|r| r == "produce,192"), "{emulator}: {found:?}");
        assert!(!found.iter().any(|r| r.starts_with("copy_")), "{emulator}: {found:?}");
        assert_eq!(found.len(), 2, "{emulator}: {found:?}");
        if emulator == "valgrind" {
            load(&log, &elf, &db, &["--through", "copy_bytes,copy_words,copy_moves,memcpy"]);
            assert_eq!(rows(&db, MEMORY), ["produce,256"]);
            let text = ok(&["verify", db.to_str().unwrap()]);
            assert!(text.contains("--through copy_bytes"), "{text}");
            load(&log, &elf, &db, &[]);
            let found = rows(&db, MEMORY);
            assert!(
                found.len() == 4 && found.iter().filter(|r| r.starts_with("copy_")).count() == 3,
                "{found:?}"
            );
        }
    }
    if recorded > 0 {
        let arguments = [
            "build",
            log.to_str().unwrap(),
            "--elf",
            elf.to_str().unwrap(),
            "-o",
            db.to_str().unwrap(),
            "--force",
        ];
        let output = addfg(&[&arguments[..], &["--through", "no_such_function"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no function has that name"));
    }
}
