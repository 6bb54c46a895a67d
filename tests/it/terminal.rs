//! What addfg does at a terminal: a pager, a prompt. `script` makes one.

use crate::common::*;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs the program at a terminal with these lines typed; gives what the terminal shows.
fn at_terminal(scratch: &Scratch, words: &str, pager: &str, typed: &str) -> String {
    let mut child = Command::new("script")
        .args(["-qec", &format!("{} {words}", env!("CARGO_BIN_EXE_addfg")), "/dev/null"])
        .env("HOME", &scratch.0)
        .env_remove("XDG_STATE_HOME")
        .env_remove("ADDFG_PAGER")
        .env("PAGER", pager)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut input = child.stdin.take().expect("piped");
    // As a person types: what comes before a prompt is there is not read.
    for line in typed.lines() {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }
    // The end of the input would end the terminal before the program.
    let shown = std::thread::scope(|scope| {
        let process = child.id();
        let waits = scope.spawn(|| child.wait_with_output().expect("ends"));
        for _ in 0..1500 {
            if waits.is_finished() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        drop(input);
        if !waits.is_finished() {
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        waits.join().expect("ends")
    });
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn tables_go_through_the_pager() {
    if !have("script") {
        return;
    }
    let scratch = Scratch::new("pager");
    let db = example("fir", "pairs");
    let info = format!("info {}", utf8(&db));
    let paged = at_terminal(&scratch, &info, "sed s/^/paged:/", "");
    assert!(paged.contains("paged:Inputs"), "{paged}");
    for pager in ["cat", "", "no-such-pager"] {
        let plain = at_terminal(&scratch, &info, pager, "");
        assert!(plain.contains("Inputs") && !plain.contains("paged:"), "{pager}: {plain}");
    }
    // What is written for programs is not.
    let picture =
        at_terminal(&scratch, &format!("graph {} --format dot", utf8(&db)), "sed s/^/paged:/", "");
    assert!(picture.contains("digraph") && !picture.contains("paged:"));
}

#[test]
fn sql_without_a_query_is_a_prompt() {
    if !have("script") {
        return;
    }
    let scratch = Scratch::new("prompt");
    let db = example("fir", "pairs");
    let typed = "SELECT 6 * 7 AS\nanswer;\n@hot_functions 1\n.columns call_graph\nSELECT nonsense;\n.nonsense\nquit\n";
    let shown = at_terminal(&scratch, &format!("sql {}", utf8(&db)), "", typed);
    for words in
        ["42", "steps_self", "callee", "nonsense\" was not found", "not a command", "Tab completes"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let history = scratch.path(".local/state/addfg/sql_history");
    let history = std::fs::read_to_string(history).expect("a history");
    assert!(history.contains("SELECT 6 * 7") && history.contains("@hot_functions 1"), "{history}");
}

/// Of a pipe it is not known how long it is: what was read is shown.
#[test]
fn builds_from_a_pipe_say_how_far_they_are() {
    if !have("script") {
        return;
    }
    let scratch = Scratch::new("pipe");
    let [log, elf] = example_files("jpeg");
    let db = scratch.path("pipe.duckdb");
    let piped = format!(
        "cat {} | {} build - --elf {} -o {}",
        utf8(&log),
        env!("CARGO_BIN_EXE_addfg"),
        utf8(&elf),
        utf8(&db)
    );
    let output = Command::new("script")
        .args(["-qec", &format!("sh -c '{piped}'"), "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("237506 steps"), "{shown}");
    assert!(shown.contains("iB read, "), "{shown}");
}
