//! What the recorder sums while a program runs is what the pass makes of the recording of the same run: each row of
//! function_profile, call_edge, stack_profile and function_dataflow.

use crate::common::{Scratch, command, have, ok, repository, said, utf8};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A program of tests/programs; None, said why, where it cannot be recorded here.
fn program(scratch: &Scratch, name: &str) -> Option<PathBuf> {
    let runs_here = cfg!(target_arch = "x86_64") && have("valgrind") && have("pkg-config");
    let compiler = if name.ends_with(".cc") { "g++" } else { "gcc" };
    if !runs_here || !have(compiler) {
        return None;
    }
    let (source, to) = (repository(&format!("tests/programs/{name}")), scratch.path("program"));
    let mut compile = Command::new(compiler);
    compile
        .args(["-O1", "-g", "-w", "-pthread"])
        .arg(source)
        .arg("-o")
        .arg(&to)
        .args(["-ldl", "-lm"]);
    assert!(compile.status().expect("compiler").success(), "{name}");
    Some(to)
}

/// Records with sums, and compares.
fn compared(scratch: &Scratch, run: &[&str]) -> Output {
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums"));
    let to = ["--force", "-o", utf8(&db), "--sums", utf8(&sums), "--check-sums"];
    let all = [&["record", "-q", "--detail", "summary"], &to[..], &["--"], run].concat();
    // Some programs make files where they are run.
    command(&all).current_dir(&scratch.0).output().expect("addfg runs")
}

/// Lines that say that something differs, or is not exact.
fn differences(output: &Output) -> Vec<String> {
    let is_equal = |line: &&str| line.contains(", 0 differ;");
    said(output).lines().filter(|line| !is_equal(line)).map(str::to_owned).collect()
}

fn agrees(name: &str, arguments: &[&str]) {
    let scratch = Scratch::new("sums");
    let Some(program) = program(&scratch, name) else { return };
    let run = [&[utf8(&program)], arguments].concat();
    let output = compared(&scratch, &run);
    assert_eq!(differences(&output), [""; 0], "{name}");
    let tables = said(&output).lines().filter(|line| line.contains(" rows equal")).count();
    assert_eq!(tables, 4, "{name}: {}", said(&output));
}

/// Saves and restores of registers at each depth of a recursion.
#[test]
fn recursion_agrees() {
    agrees("recursion.c", &[]);
}

#[test]
fn tail_calls_and_jumps_out_of_functions_agree() {
    agrees("tail.c", &[]);
    agrees("longjmp.c", &[]);
}

/// Vectors, x87 registers of ten bytes, parts of registers.
#[test]
fn parts_of_registers_agree() {
    agrees("floats.c", &[]);
    agrees("strings.c", &[]);
}

#[test]
fn threads_agree() {
    agrees("threads.c", &[]);
    agrees("two_threads.c", &[]);
}

#[test]
fn handlers_of_signals_agree() {
    agrees("signal.c", &[]);
}

#[test]
fn stacks_of_their_own_agree() {
    agrees("coroutines.c", &[]);
}

/// Unwinding leaves functions without a return.
#[test]
fn exceptions_agree() {
    agrees("exceptions.cc", &[]);
}

#[test]
fn code_that_comes_and_goes_agrees() {
    agrees("jit.c", &[]);
    agrees("unload.c", &[]);
}

/// A load that remembers a file meets another one at the same address.
#[test]
fn files_at_one_address_agree() {
    agrees("two_files.c", &[]);
}

/// What cannot be summed exactly is said, and the command fails.
#[test]
fn what_is_not_exact_is_said() {
    let scratch = Scratch::new("sums-fault");
    let Some(program) = program(&scratch, "fault.c") else { return };
    let output = compared(&scratch, &[utf8(&program)]);
    let said = differences(&output).join("\n");
    assert!(said.contains("the sums are not exact:") && said.contains("faults"), "{said}");
    assert!(!output.status.success());
}

/// The text has all four kinds of rows, with names.
#[test]
fn sums_are_written_as_text() {
    let scratch = Scratch::new("sums-text");
    let Some(program) = program(&scratch, "recursion.c") else { return };
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums"));
    let to = ["-o", utf8(&db), "--sums", utf8(&sums), "--", utf8(&program)];
    ok(&[&["record", "-q", "--detail", "summary"], &to[..]].concat());
    let text = std::fs::read_to_string(&sums).expect("sums");
    for kind in ["flow", "function", "call", "context"] {
        let of_main = |line: &&str| line.starts_with(kind) && line.contains("main");
        assert!(text.lines().any(|line| of_main(&line)), "{kind}");
    }
    assert!(!text.contains("problem\t"), "{text:.200}");
}
