//! Which functions use which objects, against programs whose traffic is known.

use crate::common::*;
use crate::record::record;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Rows as text: object, function, then all figures.
fn listed(db: &Path) -> Vec<Vec<String>> {
    let text = ok(&["objects", utf8(db), "--format", "csv", "--limit", "0"]);
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn traffic_is_that_of_the_source() {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let scratch = Scratch::new("objects");
    let (program, db) = (scratch.path("objects"), scratch.path("objects.duckdb"));
    let source = repository("tests/programs/objects.c");
    let gcc = ["-O1", "-g", "-o", utf8(&program), utf8(&source)];
    assert!(Command::new("gcc").args(gcc).status().expect("gcc").success());
    let output = record(&["-o", utf8(&db), "-q"], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let rows = listed(&db);
    // Reads, read bytes, writes, written bytes, unique and dead bytes.
    let known = [
        ("table", "fill", "0 0 64 256 256 64"),
        ("table", "sum", "64 256 0 0 192 0"),
        ("scratch", "waste", "0 0 64 128 64 128"),
        ("result", "main", "0 0 1 4 4 4"),
        ("(heap)", "send", "0 0 100000 100000 100000 10000"),
        ("(heap)", "receive", "90000 90000 0 0 90000 0"),
    ];
    for (object, function, figures) in known {
        let mut of = rows.iter().filter(|row| row[0] == object && row[3] == function);
        let row = of.next().unwrap_or_else(|| panic!("{object} {function}: {rows:?}"));
        assert_eq!(row[4..10].join(" "), figures, "{object} {function}");
        assert!(of.next().is_none(), "{object} {function}");
    }
}

/// What each function does with each field: reads, read bytes, writes, written bytes, distinct and dead
/// bytes.
const FIELDS: [(&str, &str, &str, &str); 19] = [
    ("sprite", "position.x", "move", "0 0 10 40 4 36"),
    ("sprite", "position.y", "move", "0 0 20 80 4 76"),
    ("sprite", "position.x", "place", "7 28 0 0 4 0"),
    ("sprite", "position.y", "place", "1 4 0 0 4 0"),
    ("sprite", "size.width", "shape", "0 0 1 2 2 2"),
    ("sprite", "corners[].x", "shape", "0 0 2 8 8 0"),
    ("sprite", "corners[].y", "shape", "0 0 1 4 4 4"),
    ("sprite", "colour.whole|colour.bytes", "shape", "0 0 1 4 4 3"),
    ("sprite", "weight", "shape", "0 0 1 8 8 8"),
    ("sprite", "corners[].x", "look", "2 8 0 0 8 0"),
    ("sprite", "colour.whole|colour.bytes", "look", "1 1 0 0 1 0"),
    ("sprite", "", "move", "0 0 30 120 8 112"),
    ("sprite", "", "shape", "0 0 6 26 26 17"),
    ("pixels", "[].red", "paint", "0 0 100 100 100 70"),
    ("pixels", "[].blue", "paint", "0 0 50 50 50 20"),
    ("pixels", "[].red", "sum", "30 30 0 0 30 0"),
    ("pixels", "[].blue", "sum", "30 30 0 0 30 0"),
    ("pixels", "", "sum", "60 60 0 0 60 0"),
    ("pair", "used", "main", "1 4 1 4 4 0"),
];

fn fields_of(db: &Path, what: &str) {
    let text = ok(&["objects", utf8(db), "--fields", "--format", "csv", "--limit", "0"]);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of_program = |row: &&Vec<&str>| ["sprite", "pixels", "pair"].contains(&row[0]);
    for (object, field, function, figures) in FIELDS {
        let is = |row: &&Vec<&str>| [row[0], row[1], row[4]] == [object, field, function];
        let found: Vec<_> = rows.iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{what}: {object} {field} {function}: {found:?}");
        assert_eq!(found[0][5..11].join(" "), figures, "{what}: {object} {field} {function}");
    }
    // Nothing but these, and whole objects, was touched.
    let fields = rows.iter().filter(of_program).filter(|row| !row[1].is_empty());
    assert_eq!(fields.count(), FIELDS.iter().filter(|known| !known.1.is_empty()).count(), "{what}");
}

#[test]
fn traffic_of_fields_is_that_of_the_source() {
    if !have("gcc") {
        return;
    }
    let scratch = Scratch::new("fields");
    let (program, db) = (scratch.path("fields"), scratch.path("fields.duckdb"));
    let source = repository("tests/programs/fields.c");
    let gcc = ["-O1", "-g", "-static", "-o", utf8(&program), utf8(&source)];
    assert!(Command::new("gcc").args(gcc).status().expect("gcc").success());
    if have("valgrind") && have("pkg-config") {
        let output = record(&["-o", utf8(&db), "-q"], &[utf8(&program)]);
        assert!(output.status.success(), "{}", said(&output));
        fields_of(&db, "record");
    }
    if have("qemu-x86_64") {
        let log = scratch.path("fields.log");
        let ran = qemu("qemu-x86_64", &program, &log);
        assert!(ran.status.success(), "{ran:?}");
        load(&log, &program, &db, &[]);
        fields_of(&db, "qemu");
        ok(&["prepare", utf8(&db)]);
        fields_of(&db, "prepared");
    }
}

/// By variable all functions together are what `memory` has.
#[test]
fn functions_add_up_to_the_memory_profile() {
    for name in ["fir", "jpeg"] {
        let db = example(name, "pairs");
        let mut sums: BTreeMap<String, [u64; 5]> = BTreeMap::new();
        for row in listed(&db) {
            let sum = sums.entry(row[0].clone()).or_default();
            for (to, column) in sum.iter_mut().zip([4, 5, 6, 7, 9]) {
                *to += row[column].parse::<u64>().unwrap_or(0);
            }
        }
        let text = ok(&["memory", utf8(&db), "--format", "csv"]);
        let mut compared = 0;
        for line in text.lines().skip(1) {
            let row: Vec<&str> = line.split(',').collect();
            let expected = [1, 2, 4, 5, 6].map(|column| row[column].parse::<u64>().unwrap_or(0));
            assert_eq!(sums.get(row[0]), Some(&expected), "{name}: {}", row[0]);
            compared += 1;
        }
        assert_eq!(compared, sums.len(), "{name}");
    }
}
