//! What the recorders of a tree of processes sum is what the pass makes of the recording of the same run.

use crate::common::{Scratch, command, have, said, utf8};
use crate::sums::{SAME, compared_with, differences, program, rows, same_rows, tables};

/// Tables that are compared of several processes.
const ALL: usize = 6;

fn agree(scratch: &Scratch, run: &[&str]) {
    let output = compared_with(scratch, run, &["--follow"], "");
    assert_eq!(differences(&output), [""; 0], "{run:?}");
    assert_eq!(tables(&output), ALL, "{run:?}: {}", said(&output));
    let several = "SELECT count(*) FROM process";
    assert_ne!(rows(&scratch.path("run.duckdb"), several), ["1"], "{run:?}");
}

/// Forked ones have their parent's memory, those of an `exec` begin anew, and threads stay behind.
#[test]
fn processes_agree() {
    let programs: [(&str, &[&str]); 8] = [
        ("forks.c", &[]),
        ("forks.c", &["in a thread"]),
        ("family.c", &[]),
        ("inherited.c", &[]),
        ("forked_threads.c", &[]),
        ("tree.c", &[]),
        ("execs.c", &["exit 3"]),
        ("reopened.c", &["5", "f"]),
    ];
    for (name, arguments) in programs {
        let scratch = Scratch::new("sums-processes");
        let Some(program) = program(&scratch, name) else { return };
        agree(&scratch, &[&[utf8(&program)], arguments].concat());
    }
}

/// Several run at a time, and one is left behind by all of its parents.
#[test]
fn processes_of_a_shell_agree() {
    if !have("valgrind") || !have("pkg-config") || !have("gcc") {
        return;
    }
    let scratch = Scratch::new("sums-shell");
    for script in [
        "seq 1 30 | sort -r | grep 1 | wc -l",
        "(sleep 0.3; echo late) & exit 0",
        "x=$(echo abc | tr a-c x-z); (cd /; for i in 1 2 3; do (echo $x $i & wait) done) | cat",
    ] {
        agree(&scratch, &["sh", "-c", script]);
    }
}

/// All tables are those of a recording but for what docs/sums.md names.
#[test]
fn a_database_of_several_processes_is_that_of_the_recording() {
    let scratch = Scratch::new("sums-processes-database");
    let Some(program) = program(&scratch, "inherited.c") else { return };
    let own = [
        "SELECT i.process_id, i.address, f.name, i.line, i.executions FROM instruction i
         JOIN function_symbol f USING (function_id) WHERE i.executions > 0 ORDER BY ALL",
        "SELECT process_id, path FROM image ORDER BY ALL",
    ];
    let others = ["FROM instruction", "addresses", "FROM section"];
    let same = SAME.iter().filter(|sql| !others.iter().any(|of| sql.contains(of)));
    let cut = |sql: &&str| sql.replace(" e.addresses,", "").replace(", addresses", "");
    let without: Vec<String> =
        SAME.iter().filter(|sql| sql.contains("addresses")).map(cut).collect();
    assert!(without.len() > 1 && without.iter().all(|sql| !sql.contains("addresses")));
    let all = same.copied().chain(own).chain(without.iter().map(String::as_str));
    same_rows(&scratch, &program, "inherited.c", &["--follow"], all);
}

/// Of a process that is killed there are no sums, which is said; the others are there.
#[test]
fn a_killed_process_is_said() {
    if !have("valgrind") || !have("pkg-config") || !have("gcc") {
        return;
    }
    let scratch = Scratch::new("sums-killed");
    let db = scratch.path("run.duckdb");
    let script = "sleep 100 & kill -9 $!; wait";
    let all = ["record", "-q", "--no-steps", "--follow", "-o", utf8(&db), "--", "sh", "-c", script];
    let output = command(&all).output().expect("addfg runs");
    assert!(
        said(&output).contains("processes sent nothing: they were killed"),
        "{}",
        said(&output)
    );
    // 137 is the killed one's, that the shell does not hand on.
    assert_eq!(output.status.code(), Some(1));
    // It may be killed before it becomes `sleep`, or behind.
    assert_ne!(rows(&db, "SELECT count(*) FROM process"), ["1"]);
    assert_ne!(rows(&db, "SELECT sum(steps) FROM thread"), ["0"]);
}

/// What a process did since it could not become another program is missed, too.
#[test]
fn a_process_that_is_killed_behind_an_exec_that_failed_is_said() {
    let scratch = Scratch::new("sums-no-exec");
    let Some(program) = program(&scratch, "no_exec.c") else { return };
    let db = scratch.path("run.duckdb");
    let all = ["record", "-q", "--no-steps", "--follow", "-o", utf8(&db), "--", utf8(&program)];
    let output = command(&all).output().expect("addfg runs");
    assert!(
        said(&output).contains("1 of 2 processes sent nothing: they were killed"),
        "{}",
        said(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}

/// There is room for the names of files in each process.
#[test]
fn each_process_has_names_of_its_own() {
    if !have("valgrind") || !have("pkg-config") || !have("gcc") {
        return;
    }
    let scratch = Scratch::new("sums-names");
    for folder in ["a", "b"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
        for i in 0..1_200 {
            std::fs::write(scratch.path(&format!("{folder}/{folder}{i}")), "x").unwrap();
        }
    }
    let (db, script) = (scratch.path("run.duckdb"), "md5sum a/* > one; md5sum b/* > other");
    let all = ["record", "-q", "--no-steps", "--follow", "-o", utf8(&db), "--", "sh", "-c", script];
    let output = command(&all).current_dir(&scratch.0).output().expect("addfg runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let files =
        "SELECT count(DISTINCT writer) FROM function_dataflow WHERE writer LIKE '<read: _%>'
        AND (writer LIKE '<read: a%' OR writer LIKE '<read: b%')";
    assert_eq!(rows(&db, files), ["2400"]);
}

/// Snapshots and looks are of one process.
#[test]
fn snapshots_of_several_processes_are_refused() {
    for option in ["--live", "--at-markers"] {
        let all = ["record", "--no-steps", "--follow", option, "--", "true"];
        let output = command(&all).output().expect("addfg runs");
        assert!(said(&output).contains("cannot be used with"), "{option}: {}", said(&output));
    }
}

/// A process that addfg cannot be reached from is said: it is not in the sums.
#[test]
fn a_process_out_of_reach_is_said() {
    let scratch = Scratch::new("sums-apart");
    let Some(program) = program(&scratch, "apart.c") else { return };
    // SAFETY: it gives a number.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let db = scratch.path("run.duckdb");
    let all = ["record", "-q", "--no-steps", "--follow", "-o", utf8(&db), "--", utf8(&program)];
    let output = command(&all).output().expect("addfg runs");
    assert!(said(&output).contains("is not in the sums"), "{}", said(&output));
    assert_eq!(rows(&db, "SELECT count(*) FROM process"), ["1"]);
}
