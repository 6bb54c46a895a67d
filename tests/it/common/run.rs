//! The program, run as a process.

use super::close_last;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The program with arguments.
pub fn command(arguments: &[&str]) -> Command {
    close_last();
    let mut command = Command::new(env!("CARGO_BIN_EXE_addfg"));
    command.args(arguments);
    command
}

/// Runs the program.
pub fn addfg(arguments: &[&str]) -> Output {
    command(arguments).output().expect("addfg runs")
}

/// Runs the program with these bytes in a pipe as its standard input.
pub fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("addfg runs");
    let mut pipe = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        // The program may end before it has read all.
        scope.spawn(move || drop(pipe.write_all(input)));
        child.wait_with_output().expect("addfg ends")
    })
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the program and expects exit code 0; gives what it printed.
pub fn ok(arguments: &[&str]) -> String {
    let output = addfg(arguments);
    let (code, error) = (output.status.code(), said(&output));
    assert_eq!(code, Some(0), "addfg {arguments:?}: {error}{}", printed(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs the program and expects that it refuses, saying certain words; gives all that it said.
pub fn refused(arguments: &[&str], words: &[&str]) -> String {
    let output = addfg(arguments);
    let error = said(&output);
    assert_eq!(output.status.code(), Some(2), "addfg {arguments:?}: {error}{}", printed(&output));
    for word in words {
        assert!(error.contains(word), "addfg {arguments:?}: {word:?} is not in {error}");
    }
    error
}
