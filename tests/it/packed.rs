//! At detail `instance` the run is packed (`run_chunk`), and what goes through it answers as it does
//! at `pairs`, where the run has rows.

use crate::common::*;
use std::path::{Path, PathBuf};

/// Commands that go through the run, with their arguments behind the database.
fn asked(middle: i64) -> Vec<Vec<String>> {
    let at = middle.to_string();
    let words = [
        "loops --format csv",
        "loops --dependences --format csv",
        "critical --format csv",
        "memory --format csv",
        "objects --format csv",
        "slice --at {} --backward --limit 0 --format csv",
        "slice --at {} --forward --limit 0 --format csv",
        "graph --strategy bottom-up --format json",
        "graph --level block --show calls,jumps,data --format json",
        "graph --level loop --format json",
    ];
    words.iter().map(|line| line.split(' ').map(|word| word.replace("{}", &at)).collect()).collect()
}

/// What a command says: output, or the error of one that cannot be asked of this run.
fn answer(db: &Path, words: &[String]) -> (Option<i32>, String, String) {
    let mut arguments = vec![words[0].as_str(), utf8(db)];
    arguments.extend(words[1..].iter().map(String::as_str));
    let output = addfg(&arguments);
    (output.status.code(), printed(&output), said(&output))
}

/// Compares the answers of two databases of one run.
fn compare(packed: &Path, rows_of: &Path) {
    let kept = "SELECT (SELECT count(*) FROM block_run), (SELECT count(*) FROM run_chunk) > 0";
    assert_eq!(rows(packed, kept), ["0,true"], "{}", packed.display());
    assert!(rows(rows_of, kept)[0].ends_with(",false"));
    let steps: i64 = rows(rows_of, "SELECT count(*) FROM opcode_line")[0].parse().unwrap();
    let mut answered = 0;
    for words in asked(steps / 2) {
        let (a, b) = (answer(packed, &words), answer(rows_of, &words));
        assert!(a.0 == b.0 && a.1 == b.1, "{words:?}\n{}\n{}\n{}\n{}", a.2, b.2, a.1, b.1);
        answered += usize::from(a.0 == Some(0) && a.1.lines().count() > 1);
    }
    assert!(answered >= 6, "{answered} answers");
}

/// What the page holds of memory and objects.
#[test]
fn the_page_has_the_same_memory() {
    let [packed, rows_of] = ["instance", "pairs"].map(|detail| {
        let page = addfg::report::data(&open(&example("jpeg", detail)), &Default::default());
        let page = page.unwrap();
        [page["memory"].clone(), page["objects"].clone(), page["loops"].clone()]
    });
    assert!(packed[1]["all"].as_u64() > Some(5), "{}", packed[1]);
    assert_eq!(packed, rows_of);
}

#[test]
fn the_examples_answer_packed_as_they_do_with_rows() {
    for name in ["fir", "jpeg"] {
        compare(&example(name, "instance"), &example(name, "pairs"));
    }
}

/// Values of registers, a clock and several threads or tasks are in the chunks, too.
#[test]
fn what_logs_tell_of_each_step_is_kept() {
    let scratch = Scratch::new("packed-logs");
    let mut compared = 0;
    let logs = [
        "giano/good-after.log",
        "giano/good-before.log",
        "qemu/good-arm.log",
        "qemu/good-riscv64.log",
        "qemu/good-x86_64.log",
        "execlog/good.log",
    ];
    for log in logs {
        let path = repository("tests/formats").join(log);
        let made = |detail: &str| -> Option<PathBuf> {
            let db = scratch.path(&format!("{}-{detail}.duckdb", log.replace('/', "-")));
            let (code, _) = build(&db, &[&path], &["--detail", detail]);
            (code != 2).then_some(db)
        };
        if let (Some(packed), Some(rows_of)) = (made("instance"), made("pairs")) {
            let moments = |db: &Path| {
                let connection = open(db);
                let code = addfg::replay::code::Code::open(&connection).unwrap().with_values();
                let mut all = Vec::new();
                let range = (0, i64::MAX);
                code.forwards(&connection, range, |piece| {
                    all.push(format!(
                        "{} {:?} {:?} {:?} {:?} {:?}",
                        piece.start_seq,
                        piece.thread,
                        piece.call,
                        piece.block_id,
                        piece.address,
                        piece.value
                    ));
                    Ok(true)
                })
                .unwrap();
                all
            };
            assert_eq!(moments(&packed), moments(&rows_of), "{log}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared} logs");
}

/// Threads, system calls, files and moved memory.
#[test]
fn recorded_programs_answer_packed_as_they_do_with_rows() {
    if !have("valgrind") || !have("gcc") {
        return skipped("recorded programs, packed: needs valgrind and gcc");
    }
    let scratch = Scratch::new("packed-recorded");
    for (source, flags) in [("threads.c", &["-pthread"][..]), ("remap.c", &[]), ("signal.c", &[])] {
        let program = scratch.path(source.trim_end_matches(".c"));
        let path = repository(&format!("tests/programs/{source}"));
        make("gcc", &path, &[&["-g", "-O1"], flags].concat(), &program);
        let (stream, first) = (scratch.path("run.stream"), scratch.path("first.duckdb"));
        let record =
            ["record", "--force", "-q", "--detail", "instance", "--keep", utf8(&stream), "-o"];
        let output = addfg(&[&record[..], &[utf8(&first), "--", utf8(&program)]].concat());
        assert_ne!(output.status.code(), Some(2), "{}", said(&output));
        let made = |detail: &str| {
            let db = scratch.path(&format!("{source}-{detail}.duckdb"));
            build(&db, &[&stream], &["--detail", detail]);
            db
        };
        compare(&made("instance"), &made("pairs"));
    }
}

/// Damage is named with its place, and a chunk that is missing is no other run.
#[test]
fn a_damaged_chunk_is_an_error() {
    let scratch = Scratch::new("packed-damaged");
    let db = scratch.copy(&example("fir", "instance"), "fir.duckdb");
    change(&db, "UPDATE run_chunk SET data = data[1:20]");
    refused(&["loops", utf8(&db)], &["run_chunk at step 1"]);
}
