//! Calls that wait on stacks of their own, while others run on the thread: what the program itself counts. More programs are
//! `fuzz/counted.py`'s.

use crate::common::*;
use std::process::Command;

/// Calls by function, of the ones that are named.
fn calls(db: &std::path::Path, names: &[&str]) -> Vec<(String, u64)> {
    let list = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT name, calls FROM function_profile JOIN function_symbol USING (function_id)
         WHERE name IN ({list}) ORDER BY name"
    );
    let row = |row: String| {
        let (name, calls) = row.split_once(',').expect("two columns");
        (name.to_owned(), calls.parse().expect("a number"))
    };
    rows(db, &sql).into_iter().map(row).collect()
}

/// Each is called as often as the source says, however often it goes on, by a pass and by sums.
#[test]
fn coroutines_are_called_once() {
    let scratch = Scratch::new("coroutines");
    let program = scratch.path("coroutines");
    if !have("valgrind") || !compile("gcc", "coroutines.c", &["-g", "-O1"], &program) {
        return skipped("coroutines: needs valgrind and gcc");
    }
    let names = ["first", "give", "main", "second"];
    let expected = [1, 8, 1, 1];
    for (mode, db) in [("--detail=instance", "steps"), ("--no-steps", "sums")] {
        let db = scratch.path(&format!("{db}.duckdb"));
        let command = ["record", "--quiet", mode, "-o", utf8(&db), "--", utf8(&program)];
        let output = addfg(&command);
        assert!(output.status.success(), "{}", said(&output));
        let found: Vec<u64> = calls(&db, &names).into_iter().map(|(_, calls)| calls).collect();
        assert_eq!(found, expected, "{mode}");
    }
    // Each on its own stack: nothing called them.
    let roots = "SELECT name FROM function_call c JOIN function_symbol USING (function_id)
                 WHERE c.kind = 'root' AND name IN ('first', 'second', 'give', 'swapcontext') ORDER BY name";
    assert_eq!(rows(&scratch.path("steps.duckdb"), roots), ["first", "second"]);
}

/// A Go program, if it can be compiled.
fn go(scratch: &Scratch, source: &str) -> Option<std::path::PathBuf> {
    let (source, program) = (repository(source), scratch.path("program"));
    if !have("go") || !have("valgrind") {
        skipped("goroutines: needs go and valgrind");
        return None;
    }
    let built = Command::new("go")
        .args(["build", "-o", utf8(&program), utf8(&source)])
        .env("GOCACHE", scratch.path("cache"))
        .current_dir(scratch.path(""))
        .output()
        .expect("go");
    assert!(built.status.success(), "{}", said(&built));
    Some(program)
}

/// Calls of each of so many functions, and how often the program says that they were called.
fn counted_and_said(
    scratch: &Scratch,
    program: &std::path::Path,
    (processors, mode): (&str, &str),
    many: usize,
) -> [Vec<(String, u64)>; 2] {
    let db = scratch.path("run.duckdb");
    let output = Command::new(env!("CARGO_BIN_EXE_addfg"))
        .args(["record", "--quiet", "--force", mode, "-o", utf8(&db), "--", utf8(program)])
        .env("GOMAXPROCS", processors)
        .output()
        .expect("addfg");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let count = |line: &str| {
        let (name, calls) = line.split_once(' ')?;
        Some((name.to_owned(), calls.parse().ok()?))
    };
    let mut expected: Vec<(String, u64)> = text.lines().filter_map(count).collect();
    expected.sort();
    assert_eq!(expected.len(), many, "{text}{}", said(&output));
    let names: Vec<&str> = expected.iter().map(|(name, _)| &name[..]).collect();
    [calls(&db, &names), expected]
}

/// Goroutines go on in other threads, and on other stacks than they began on.
#[test]
fn goroutines_are_called_as_often_as_they_say() {
    let scratch = Scratch::new("goroutines");
    let Some(program) = go(&scratch, "tests/programs/goroutines.go") else { return };
    for processors in ["1", "2", "4"] {
        // On a busy machine one run of five with several processors counts one of 12,300 calls twice.
        let tries = if processors == "1" { 1 } else { 3 };
        let run = || counted_and_said(&scratch, &program, (processors, "--detail=summary"), 6);
        let mut runs = vec![run()];
        while runs.len() < tries && runs.iter().all(|[counted, said]| counted != said) {
            runs.push(run());
        }
        assert!(runs.iter().any(|[counted, said]| counted == said), "{processors}: {runs:?}");
    }
}

/// Stacks that are copied while goroutines wait on them.
#[test]
fn goroutines_are_called_once_though_their_stacks_are_copied() {
    let scratch = Scratch::new("goroutines-copied");
    let Some(program) = go(&scratch, "tests/programs/collected.go") else { return };
    for mode in ["--detail=summary", "--no-steps"] {
        let [counted, said] = counted_and_said(&scratch, &program, ("1", mode), 4);
        assert_eq!(counted, said, "{mode}");
    }
}
