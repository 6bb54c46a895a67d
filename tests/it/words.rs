//! The pages are in plain English: `.ci/words.py` finds nothing in them, and finds what it should.

use crate::common::*;
use std::process::{Command, Output};

/// Runs the linter, if there is Python.
fn linter(arguments: &[&str]) -> Option<Output> {
    have("python3").then(|| {
        Command::new("python3")
            .arg(repository(".ci/words.py"))
            .args(arguments)
            .output()
            .expect("python3 runs")
    })
}

/// Each page of the linter's list keeps the rules, and each option of the help is in some page.
#[test]
fn pages_keep_the_rules_of_words() {
    let Some(ran) = linter(&["--program", env!("CARGO_BIN_EXE_addfg")]) else { return };
    assert_eq!(ran.status.code(), Some(0), "{}{}", printed(&ran), said(&ran));
}

/// A page that breaks each rule once: the linter names its line and rule, and nothing else.
#[test]
fn the_linter_finds_each_rule_once() {
    let scratch = Scratch::new("words");
    let long = ["word"; 26].join(" ");
    let fine = ["word"; 25].join(" ");
    let wide = "w".repeat(121);
    let page = format!(
        "# What is a heading?\n\n{fine}. {fine}!\n\n{long}.\n\nA stub is no function.\n\n{wide}\n\n\
         What it costs is written here.\n\n- one\n- two\n- three\n- four\n- five\n- six\n- seven\n\n\
         one\ntwo\nthree\nfour\nfive\nsix\nseven\n\n\
         ```\n{wide} is no text, beside code\n```\n\n`is no`: [a](beside) ![is no](picture)\n\n\
         | a | {long} |\n|---|---|\n| {} | c |\n",
        format!("{fine}. ").repeat(8)
    );
    let path = scratch.write("page.md", page);
    let Some(ran) = linter(&[utf8(&path)]) else { return };
    let found: Vec<String> = printed(&ran)
        .lines()
        .map(|line| line.strip_prefix(&format!("{}:", path.display())).expect(line).to_owned())
        .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        found,
        ["5 line", "5 sentence", "7 phrase", "9 line", "11 what", "21 paragraph", "34 sentence"]
    );
    assert_eq!(ran.status.code(), Some(1));
}
