//! `addfg prepare`: what it stores is what the commands find by going through the run.

use crate::common::*;
use std::path::Path;

/// Everything that is stored, in every form.
const ASKED: [&[&str]; 11] = [
    &["memory", "--limit", "0"],
    &["memory", "--show", "time"],
    &["memory", "--show", "reuse"],
    &["objects", "--fields", "--limit", "0"],
    &["critical", "--limit", "0"],
    &["critical", "--calls", "--limit", "0"],
    &["critical", "--weight", "bytes", "--limit", "0"],
    &["critical", "--weight", "bytes", "--calls", "--limit", "0"],
    &["loops", "--limit", "0"],
    &["loops", "--limit", "0", "--quick"],
    &["loops", "--limit", "0", "--dependences"],
];

fn asked(db: &Path) -> Vec<String> {
    let ask =
        |words: &&[&str]| ok(&[&[words[0], utf8(db), "--format", "csv"], &words[1..]].concat());
    ASKED.iter().map(ask).collect()
}

#[test]
fn what_is_stored_is_what_is_found() {
    let scratch = Scratch::new("prepare");
    for name in ["fir", "jpeg"] {
        let db = scratch.copy(&example(name, "pairs"), name);
        let before = asked(&db);
        assert!(before.iter().all(|text| text.lines().count() > 1), "{name}: {before:?}");
        for round in ["once", "again"] {
            ok(&["prepare", utf8(&db)]);
            assert_eq!(asked(&db), before, "{name}, {round}");
        }
        // The picture and the page have it, too.
        let picture = |db: &Path| ok(&["memory", utf8(db), "-o", utf8(&scratch.path("m.svg"))]);
        picture(&db);
        let drawn = std::fs::read_to_string(scratch.path("m.svg")).unwrap();
        picture(&example(name, "pairs"));
        assert_eq!(drawn, std::fs::read_to_string(scratch.path("m.svg")).unwrap(), "{name}");
        // For SQL, and in an export without the steps.
        assert_eq!(rows(&db, "SELECT weight FROM critical_path ORDER BY 1"), ["bytes", "steps"]);
        let loops = rows(&db, "SELECT count(*) FROM executed_loop WHERE steps > 0");
        assert_ne!(loops, ["0"]);
        let sqlite = scratch.path("export.sqlite");
        to_sqlite(&db, &sqlite);
        for (words, text) in ASKED.iter().zip(&before) {
            // The names of calls are asked with a list.
            if words[0] != "critical" {
                let of = [&[words[0], utf8(&sqlite), "--format", "csv"], &words[1..]].concat();
                assert_eq!(&ok(&of), text, "{name}: {words:?} of SQLite");
            }
        }
    }
}

/// Slices pass over windows that wrote nothing they want: they find the same.
#[test]
fn slices_are_the_same() {
    let scratch = Scratch::new("prepare-slices");
    for name in ["fir", "jpeg"] {
        let whole = example(name, "pairs");
        let db = scratch.copy(&whole, name);
        ok(&["prepare", utf8(&db)]);
        let last = rows(&whole, "SELECT max(end_seq) FROM control_flow");
        let last: i64 = last[0].parse().unwrap();
        let mut passed = 0;
        for at in 1..=12 {
            let step = (last * at / 12).to_string();
            for depth in ["0", "1", "3", "8", "1000000"] {
                let more = ["--at", &step, "--depth", depth, "--limit", "0", "--format", "csv"];
                let slice = |db: &Path| ok(&[&["slice", utf8(db), "--group"], &more[..]].concat());
                let found = slice(&db);
                assert_eq!(found, slice(&whole), "{name} at {step}, depth {depth}");
                passed += usize::from(found.lines().count() > 2);
            }
        }
        assert!(passed > 12, "{name}: {passed}");
    }
}

#[test]
fn a_build_prepares_on_request() {
    let scratch = Scratch::new("prepare-build");
    let [log, elf] = example_files("fir");
    let db = scratch.path("fir.duckdb");
    load(&log, &elf, &db, &["--prepare"]);
    assert_eq!(rows(&db, "SELECT count(*) FROM meta WHERE key = 'prepared'"), ["1"]);
    assert_eq!(asked(&db), asked(&example("fir", "pairs")));
    let told = refused(&["prepare", utf8(&example("fir", "sums"))], &["--no-steps"]);
    assert!(!told.is_empty());
}
