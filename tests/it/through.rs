//! `build --through`: what copying functions copy keeps its producer.

use crate::common::*;

const MEMORY: &str = "SELECT writer, sum(bytes) FROM function_dataflow WHERE reader = 'consume' AND via <> 'register' GROUP BY ALL ORDER BY ALL";

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
            qemu(emulator, &elf, &log);
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
            let text = ok(&["verify", utf8(&db)]);
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
        let more = ["--force", "--elf", utf8(&elf), "--through", "no_such_function"];
        let (code, error) = build(&db, &[&log], &more);
        assert!(code == 2 && error.contains("no function has that name"), "{error}");
    }
}
