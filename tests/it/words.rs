//! The pages are in plain English: `.ci/words.py` finds nothing in them, and finds what it should.

use crate::common::*;
use std::os::unix::fs::PermissionsExt;
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

/// `-h` of a command shows what is common, `--help` everything.
#[test]
fn short_help_is_short() {
    let commands = printed(&addfg(&["--help"]));
    let commands = commands.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands.iter().filter(|name| **name != "help") {
        let short = printed(&addfg(&[command, "-h"]));
        assert!(short.lines().count() <= 30, "{command}: {short}");
    }
}

/// A page that breaks each rule once: the linter names its line and rule, and nothing else.
#[test]
fn the_linter_finds_each_rule_once() {
    let scratch = Scratch::new("words");
    let (fine, long, wide) = (["w"; 25].join(" "), ["w"; 26].join(" "), "w".repeat(121));
    let page = format!(
        "# What is a heading?\n\n{fine}. {fine}!\n\n{long}.\n\nA stub is no function.\n\n{wide}\n\n\
         What it costs is written here.\n\n- one\n- two\n- three\n- four\n- five\n- six\n- seven\n\n\
         one\ntwo\nthree\nfour\nfive\nsix\nseven\n\n\
         ```\n{wide} is no text, beside code\n```\n\n`is no`: [a](beside) ![is no](picture)\n\n\
         | a | {long} |\n|---|---|\n| {wide} | c |\n"
    );
    let path = scratch.write("page.md", page);
    let Some(ran) = linter(&[utf8(&path)]) else { return };
    let found: Vec<String> = printed(&ran)
        .lines()
        .map(|line| line.strip_prefix(&format!("{}:", path.display())).expect(line).to_owned())
        .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let expected = ["5 sentence", "7 phrase", "9 line", "11 what", "21 paragraph", "35 sentence"];
    assert_eq!(found, expected);
    assert_eq!(ran.status.code(), Some(1));
}

/// An option that no page has is found in the help of its command; `--help` is not asked for.
#[test]
fn the_linter_finds_an_option_without_a_page() {
    let scratch = Scratch::new("options");
    let help = "#!/bin/sh\n\
                if [ \"$1\" = --help ]; then echo '  go  Goes'; exit; fi\n\
                echo '      --top <N>    Most rows'\n\
                echo '      --nowhere    In no page'\n\
                echo '  -h, --help       Print help'\n";
    let program = scratch.write("program", help);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let Some(ran) = linter(&["--program", utf8(&program)]) else { return };
    let found = "addfg go: option: --nowhere is in no page of docs and not in README.md\n";
    assert_eq!(printed(&ran), found);
    assert_eq!(ran.status.code(), Some(1));
}
