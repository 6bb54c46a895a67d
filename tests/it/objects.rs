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
