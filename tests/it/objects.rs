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
    assert!(!rows.iter().any(|row| row[0] == "(heap)"));
    // Reads, read bytes, writes, written bytes, unique and dead bytes.
    let known = [
        ("table", "fill", "0 0 64 256 256 64"),
        ("table", "sum", "64 256 0 0 192 0"),
        ("scratch", "waste", "0 0 64 128 64 128"),
        ("result", "main", "0 0 1 4 4 4"),
        ("(malloc by main objects.c:37)", "send", "0 0 100000 100000 100000 10000"),
        ("(malloc by main objects.c:37)", "receive", "90000 90000 0 0 90000 0"),
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

/// What is asked for in `tests/programs/heap.c`, by place: times and bytes, all and at most at a time.
const ASKED: [(&str, &str, &str, [u64; 3]); 6] = [
    ("malloc", "build", "heap.c:16", [20, 320, 320]),
    ("calloc", "table", "heap.c:42", [1, 200, 200]),
    ("malloc", "grow", "heap.c:57", [1, 100, 100]),
    ("realloc", "grow", "heap.c:59", [1, 300, 300]),
    ("malloc", "again", "heap.c:75", [10, 640, 64]),
    ("posix_memalign", "main", "heap.c:96", [1, 1000, 1000]),
];

/// What each function does with it: the figures of [`FIELDS`]. Of the 100 bytes of `grow` those that are
/// read are read where they were moved to, and those that are not die there.
const HEAP: [(&str, &str, &str); 11] = [
    ("(malloc by build heap.c:16)", "build", "0 0 40 240 240 0"),
    ("(malloc by build heap.c:16)", "sum", "40 240 0 0 240 0"),
    ("(malloc by build heap.c:16)", "drop", "20 160 0 0 160 0"),
    ("(calloc by table heap.c:42)", "table", "0 0 60 240 120 120"),
    ("(calloc by table heap.c:42)", "look", "40 160 0 0 160 0"),
    ("(malloc by grow heap.c:57)", "grow", "0 0 100 100 100 0"),
    ("(realloc by grow heap.c:59)", "grow", "0 0 200 200 200 150"),
    ("(realloc by grow heap.c:59)", "half", "150 150 0 0 150 0"),
    // Memory that is given again is another object's.
    ("(malloc by again heap.c:75)", "again", "10 40 20 80 80 40"),
    ("(posix_memalign by main heap.c:96)", "main", "0 0 1 8 8 8"),
    // Nothing else of the program is on the heap.
    ("(not allocated)", "main", ""),
];

fn heap_of(db: &Path, what: &str) {
    let text = ok(&["memory", utf8(db), "--show", "allocations", "--format", "csv"]);
    let sites: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    for (allocator, function, line, asked) in ASKED {
        let is = |row: &&Vec<&str>| row[..3] == [function, line, allocator];
        let row = sites.iter().find(is).unwrap_or_else(|| panic!("{what}: {line}: {text}"));
        let asked = asked.map(|n| n.to_string()).join(" ");
        assert_eq!(row[3..6].join(" "), asked, "{what}: {line}");
    }
    assert_eq!(sites.iter().filter(|row| row[1].starts_with("heap.c:")).count(), ASKED.len());
    let rows = listed(db);
    for (object, function, figures) in HEAP {
        let mut of = rows.iter().filter(|row| row[0] == object && row[3] == function);
        let found = of.next().map_or(String::new(), |row| row[4..10].join(" "));
        assert_eq!(found, figures, "{what}: {object} {function}");
    }
    let of_program = rows.iter().filter(|row| row[0].contains("heap.c:")).count();
    assert_eq!(of_program, HEAP.len() - 1, "{what}");
    // What a place is given is used as `memory` has it, too.
    for row in sites.iter().filter(|row| row[1].starts_with("heap.c:")) {
        let object = format!("({} by {} {})", row[2], row[0], row[1]);
        for (of_site, of_object) in [(6, 5), (7, 7), (8, 9)] {
            let all = rows.iter().filter(|of| of[0] == object);
            let sum: u64 = all.map(|of| of[of_object].parse::<u64>().unwrap()).sum();
            assert_eq!(sum.to_string(), row[of_site], "{what}: {object}");
        }
    }
}

#[test]
fn traffic_of_allocations_is_that_of_the_source() {
    if !have("gcc") {
        return;
    }
    let scratch = Scratch::new("heap");
    let (program, db) = (scratch.path("heap"), scratch.path("heap.duckdb"));
    let source = repository("tests/programs/heap.c");
    make("gcc", &source, &["-O1", "-g", "-static"], &program);
    if have("valgrind") && have("pkg-config") {
        let stream = scratch.path("heap.stream");
        let options = ["-o", utf8(&db), "--keep", utf8(&stream), "-q"];
        let output = record(&options, &[utf8(&program)]);
        assert!(output.status.success(), "{}", said(&output));
        heap_of(&db, "record");
        parts(&stream, &program, &db);
    } else {
        println!("the recorder is not installed: only QEMU's log is looked at");
    }
    if have("qemu-x86_64") {
        let log = scratch.path("heap.log");
        let ran = qemu("qemu-x86_64", &program, &log);
        assert!(ran.status.success(), "{ran:?}");
        load(&log, &program, &db, &[]);
        heap_of(&db, "qemu");
    }
    ok(&["prepare", utf8(&db)]);
    heap_of(&db, "prepared");
}

/// Two parts of a run know all its allocations, and have the traffic of the whole between them; with the packed run
/// each has that of the whole.
fn parts(stream: &Path, program: &Path, whole: &Path) {
    let steps: u64 = rows(whole, "SELECT max(seq) FROM opcode_line")[0].parse().unwrap();
    let traffic = |db: &Path| {
        let text = ok(&["memory", utf8(db), "--show", "allocations", "--format", "csv"]);
        let mut sites: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for line in text.lines().filter(|line| line.contains("heap.c:")) {
            let row: Vec<&str> = line.split(',').collect();
            let sum = sites.entry(row[..6].join(" ")).or_default();
            *sum = [6, 7].map(|column| row[column].parse::<u64>().unwrap());
        }
        sites
    };
    let all = traffic(whole);
    let part = whole.with_extension("part");
    load(stream, program, &part, &[]);
    // In the middle of what `grow` does, where a run of a block ends: runs are kept whole.
    let sql = "SELECT max(start_seq) - 1 FROM block_run, function_call JOIN function_symbol USING (function_id)
               WHERE name = 'grow' AND start_seq < call_seq + 300";
    let middle: u64 = rows(whole, sql)[0].parse().unwrap();
    for range in [format!("1..{middle}"), format!("{}..{steps}", middle + 1)] {
        ok(&["rows", "-q", utf8(&part), "--range", &range]);
        assert_eq!(traffic(&part), all);
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
