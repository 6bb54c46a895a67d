//! README.md and the tutorials are true: each of their commands runs, each of their pictures is one that a script
//! makes, and the pages are a site without dead links.

use crate::common::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Commands that are not run here, by how they begin, and why.
const NOT_RUN: [(&str, &str); 1] =
    [("./setup.sh", "changes the checkout, and has been run: this test was built")];

/// The lines of the blocks of shell commands, and the commands of the table of questions.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut inside, mut questions) = (false, false);
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            "| question | command |" => questions = true,
            "" => questions = false,
            line if inside => found.push(line.to_owned()),
            line if questions => {
                let cell = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
                let command = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
                found.extend(command.map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

/// What the shell says to a command; it ends with 0.
fn run(scratch: &Scratch, command: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_addfg")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args(["-c", command])
        .current_dir(&scratch.0)
        .env("PATH", &path)
        .env("ADDFG_RECORDERS", repository("recorders"))
        .output()
        .expect("sh runs");
    assert_eq!(ran.status.code(), Some(0), "{command}: {}", said(&ran));
    ran
}

/// The commands of the tutorials, in their order, and the figures that their lines begin with.
#[test]
fn the_tutorials_run() {
    let arm = ["arm-none-eabi-gcc", "arm-linux-gnueabi-gcc"].iter().any(|name| installed(name));
    for name in ["split", "buffers", "value", "firmware"] {
        if name == "value" && !["valgrind", "pkg-config", "gcc"].iter().all(|tool| have(tool))
            || name == "firmware" && !(have("qemu-system-arm") && arm)
            || !have("dot")
        {
            continue;
        }
        let scratch = Scratch::new("tutorial");
        std::os::unix::fs::symlink(repository("examples"), scratch.path("examples")).unwrap();
        let page = repository(&format!("docs/tutorial-{name}.md"));
        let text = std::fs::read_to_string(page).unwrap();
        let found = commands(&text);
        assert!(found.len() > 4, "{found:?}");
        let said: String = found.iter().map(|command| printed(&run(&scratch, command))).collect();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in match name {
            "split" => {
                &["77.5 % of 236.9 k steps, 58.1 % less time", "4.9 KiB cross, in 9 calls"][..]
            }
            "buffers" => &["unchanged_bytes_in 112", "input[3]", "0x4c09530"],
            "value" => &["601", "orders[1]+9", "orders.c:10"],
            _ => &["uart_receive", "read_number"],
        } {
            assert!(said.contains(word), "{name}: {word}: {said}");
        }
    }
}

/// The pages as a site: each is in its list, and no link leads nowhere.
#[test]
fn the_pages_are_a_site() {
    let Some(python) = crate::python::python("mkdocs") else { return };
    let scratch = Scratch::new("site");
    let made = Command::new(python)
        .args(["-m", "mkdocs", "build", "--strict", "-d", utf8(&scratch.path("site"))])
        .current_dir(repository(""))
        .output()
        .expect("python runs");
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let list = std::fs::read_to_string(repository("mkdocs.yml")).unwrap();
    for entry in std::fs::read_dir(repository("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".md") || list.contains(&format!(": {name}\n")), "{name}");
    }
}

#[test]
fn every_command_runs() {
    if !["valgrind", "pkg-config", "gcc", "bzip2", "dot"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("readme");
    scratch.write("text.txt", "to be or not to be, that is the question\n".repeat(100));
    std::os::unix::fs::symlink(repository("examples"), scratch.path("examples")).unwrap();
    let text = std::fs::read_to_string(repository("README.md")).unwrap();
    let mut not_run = BTreeSet::new();
    for command in commands(&text) {
        if let Some((begin, _)) = NOT_RUN.iter().find(|n| command.starts_with(n.0)) {
            not_run.insert(*begin);
            continue;
        }
        let ran = run(&scratch, &command);
        let words: Vec<&str> = command.split_whitespace().collect();
        if let Some(at) = words.iter().position(|w| *w == "-o") {
            assert!(scratch.path(words[at + 1]).exists(), "{command} made no {}", words[at + 1]);
        } else if !command.starts_with("addfg build") && !command.contains('>') {
            assert!(ran.stdout.len() + ran.stderr.len() > 40, "{command} says nothing");
        }
    }
    assert_eq!(not_run.len(), NOT_RUN.len(), "only {not_run:?} of NOT_RUN are in README.md");
}

/// Each row of the table of questions has a command that is run.
#[test]
fn every_question_has_a_command() {
    let text = std::fs::read_to_string(repository("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains("? | ")).count();
    let table = commands(&text).len() - commands(&text.replace("| question | command |", "")).len();
    assert!(rows > 20, "{rows} questions");
    assert_eq!(table, rows, "commands in the table of questions");
}

/// What continuous integration runs is the command of README, and no other.
#[test]
fn the_test_command_is_that_of_continuous_integration() {
    let read = |name: &str| std::fs::read_to_string(repository(name)).unwrap();
    let of_readme: Vec<String> =
        commands(&read("README.md")).into_iter().filter(|c| c.contains("cargo test")).collect();
    let [command] = &of_readme[..] else { panic!("one test command, not {of_readme:?}") };
    assert_eq!(read(".ci/run").lines().last(), Some(command.as_str()));
    assert!(command.starts_with("./setup.sh --tests && "), "{command}");
}

/// Without the tools and without the right to install them, `./setup.sh` names them in one line.
#[test]
fn setup_says_in_one_line_what_is_missing() {
    let scratch = Scratch::new("setup");
    std::fs::copy(repository("setup.sh"), scratch.path("setup.sh")).unwrap();
    let bin = scratch.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for tool in ["sh", "dirname", "tr", "paste", "sed", "ls", "mkdir", "cat", "gcc", "g++"] {
        let Some(at) = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(tool))
            .find(|file| file.is_file())
        else {
            return skipped(&format!("setup.sh without tools: no {tool} here"));
        };
        std::os::unix::fs::symlink(at, bin.join(tool)).unwrap();
    }
    // Nobody who may install.
    scratch.write("bin/id", "#!/bin/sh\necho 1000\n");
    let chmod = Command::new("chmod").arg("+x").arg(bin.join("id")).status();
    assert!(chmod.expect("chmod").success());
    let library = scratch.path("duckdb");
    std::fs::create_dir(&library).unwrap();
    scratch.write("duckdb/libduckdb.so", "");
    let ran = Command::new(bin.join("sh"))
        .arg("setup.sh")
        .current_dir(&scratch.0)
        .env_clear()
        .envs([("PATH", &bin), ("HOME", &scratch.0), ("DUCKDB_LIB_DIR", &library)])
        .output()
        .expect("sh runs");
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let text = said(&ran);
    let missing: Vec<&str> = text.lines().filter(|l| l.contains("apt install")).collect();
    assert_eq!(
        missing,
        [
            "setup.sh: missing: valgrind (to record), pkg-config (to record), graphviz (for pictures); \
          apt install valgrind pkg-config graphviz"
        ]
    );
    assert!(printed(&ran).contains("DuckDB: "), "{}", printed(&ran));
    assert!(scratch.path(".cargo/config.toml").is_file());
}

/// Each picture that a page shows exists and is named in a script that makes it; none lies about.
#[test]
fn every_picture_is_made_by_a_script() {
    let read = |name: &str| std::fs::read_to_string(repository(name)).unwrap();
    let scripts = read("docs/pictures.sh") + &read("docs/report.sh");
    let mut pages = vec![("README.md".to_owned(), read("README.md"))];
    for entry in std::fs::read_dir(repository("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            pages.push((name.clone(), read(&format!("docs/{name}"))));
        }
    }
    let mut shown = BTreeSet::new();
    for (page, text) in &pages {
        for part in text.split("images/").skip(1) {
            let Some((name, _)) = part.split_once([')', '`']) else { continue };
            assert!(repository("docs/images").join(name).is_file(), "{page}: no {name}");
            // Screenshots are taken by a function of their script, with the rest of the name.
            let stem = name.trim_start_matches("report-").trim_end_matches(".png");
            let made = scripts.contains(&format!("$images/{name}"))
                || name.starts_with("report-") && scripts.contains(&format!("shoot {stem} "));
            assert!(made, "{page}: no script makes {name}");
            shown.insert(name.to_owned());
        }
    }
    for entry in std::fs::read_dir(repository("docs/images")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(shown.contains(&name), "no page shows docs/images/{name}");
    }
}
