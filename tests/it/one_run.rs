//! Several files of one build are of one run, or they are refused.

use crate::common::*;
use crate::record::record;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"addfg\r\n\x1a";

/// A stream of each of these, and the programs.
fn streams(scratch: &Scratch) -> Option<[[PathBuf; 2]; 2]> {
    let tools = ["valgrind", "gcc", "pkg-config"];
    let of = |name: &str| {
        let (program, stream) = (scratch.path(name), scratch.path(&format!("{name}.stream")));
        make("gcc", &repository(&format!("tests/programs/{name}.c")), &["-O1"], &program);
        let db = scratch.path("kept.duckdb");
        let options = ["-q", "--force", "-o", utf8(&db), "--keep", utf8(&stream)];
        let output = record(&options, &[utf8(&program)]);
        assert!(stream.exists(), "{}", said(&output));
        [program, stream]
    };
    tools.iter().all(|tool| have(tool)).then(|| [of("heap"), of("recursion")])
}

#[test]
fn streams_of_two_programs_are_refused() {
    let scratch = Scratch::new("two-streams");
    let Some([[_, heap], [_, recursion]]) = streams(&scratch) else { return };
    let db = scratch.path("both.duckdb");
    for order in [[&heap, &recursion], [&recursion, &heap]] {
        let files = order.map(|path| utf8(path));
        let said = refused(
            &[&["build"], &files[..], &["-q", "-o", utf8(&db)]].concat(),
            &["not of the same run", "build a database of each", "/heap (process "],
        );
        for file in files {
            let program = Path::new(file).with_extension("");
            let of = format!("{file} is of {} (process", utf8(&program));
            assert!(said.contains(&of), "{of}: {said}");
        }
    }
    // One recording twice, under another name, would count twice.
    let link = scratch.path("link.stream");
    std::fs::hard_link(&heap, &link).expect("link");
    for again in [&heap, &link] {
        refused(&["build", utf8(&heap), utf8(again), "-q", "-o", utf8(&db)], &["are one file"]);
    }
    assert!(!db.exists());
    ok(&["build", utf8(&heap), utf8(&recursion), "--force-elf", "-q", "-o", utf8(&db)]);
}

/// What is asked of databases to be the same.
fn flows(db: &Path) -> Vec<String> {
    rows(
        db,
        "SELECT writer, reader, via, bytes, unique_bytes, transfers FROM function_dataflow ORDER BY ALL",
    )
}

/// The streams of a family, one a file as valgrind's recorder leaves them, are what they are in one file.
#[test]
fn streams_of_a_family_are_one_run() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("family-streams");
    let program = scratch.path("family");
    make("gcc", &repository("tests/programs/family.c"), &["-O1"], &program);
    let (whole, kept) = (scratch.path("whole.duckdb"), scratch.path("family.stream"));
    let options = ["-q", "--follow", "-o", utf8(&whole), "--keep", utf8(&kept)];
    record(&options, &[utf8(&program)]);
    let bytes = std::fs::read(&kept).expect("stream");
    let at: Vec<usize> = memchr::memmem::find_iter(&bytes, MAGIC).collect();
    assert!(at.len() > 2, "{at:?}");
    let ends = at.iter().skip(1).copied().chain([bytes.len()]);
    let files = at.iter().zip(ends).enumerate();
    let files: Vec<_> = files
        .map(|(i, (from, to))| scratch.write(&format!("stream.{}", i + 1), &bytes[*from..to]))
        .collect();
    let files: Vec<&str> = files.iter().map(|path| utf8(path)).collect();
    let apart = scratch.path("apart.duckdb");
    addfg(&[&["build"], &files[..], &["-q", "-o", utf8(&apart)]].concat());
    assert_eq!(flows(&apart), flows(&whole));
    let processes = "SELECT count(*) FROM process";
    assert_eq!(rows(&apart, processes), rows(&whole, processes));
}

#[test]
fn logs_of_two_programs_are_refused() {
    let one = recording("heap.c", "gcc", &["-O1"]);
    let other = recording("recursion.c", "gcc", &["-O1"]);
    let (Some([elf, log]), Some([other_elf, other_log])) = (one, other) else { return };
    let scratch = Scratch::new("two-logs");
    let db = scratch.path("both.duckdb");
    let build = |logs: [&Path; 2], elfs: &[&Path], words: &[&str]| {
        let mut arguments = vec!["build", utf8(logs[0]), utf8(logs[1]), "-q", "-o", utf8(&db)];
        arguments.extend(elfs.iter().flat_map(|elf| ["--elf", utf8(elf)]));
        refused(&arguments, &[words, &["not of the same run", "build a database of each"]].concat())
    };
    // Their heads say which programs they are of.
    let named = build([&log, &other_log], &[&elf], &["heap", "recursion", "process"]);
    assert!(named.contains(utf8(&log)) && named.contains(utf8(&other_log)), "{named}");
    // Without heads their code does.
    let headless = |log: &Path, name: &str| {
        let text = std::fs::read_to_string(log).expect("log");
        let lines = text.lines().filter(|line| !line.starts_with("=="));
        scratch.write(name, lines.map(|line| format!("{line}\n")).collect::<String>())
    };
    let (log, other_log) = (headless(&log, "heap.log"), headless(&other_log, "recursion.log"));
    let found = build([&log, &other_log], &[&elf], &["recursion.log", "instructions"]);
    assert!(found.contains("heap.log is of the ELF files' program"), "{found}");
    build([&other_log, &log], &[&elf, &other_elf], &["heap.log", "recursion.log"]);

    // Pieces of one are one run.
    let text = std::fs::read_to_string(&log).expect("log");
    let cuts: Vec<usize> = text.match_indices("\nI").map(|(at, _)| at + 1).collect();
    let [first, second] = [1, 2].map(|third| cuts[cuts.len() * third / 3]);
    let pieces = [&text[..first], &text[first..second], &text[second..]];
    let pieces: Vec<_> = pieces
        .iter()
        .enumerate()
        .map(|(i, piece)| scratch.write(&format!("piece{i}"), piece))
        .collect();
    let pieces: Vec<&str> = pieces.iter().map(|path| utf8(path)).collect();
    let (cut, whole) = (scratch.path("cut.duckdb"), scratch.path("whole.duckdb"));
    ok(&[&["build"], &pieces[..], &["--elf", utf8(&elf), "-q", "-o", utf8(&cut)]].concat());
    ok(&["build", utf8(&log), "--elf", utf8(&elf), "-q", "-o", utf8(&whole)]);
    assert_eq!(flows(&cut), flows(&whole));
}
