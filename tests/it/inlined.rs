//! Functions that the compiler inlined: which call of the source each instruction is of, and the
//! level that takes them apart.

use crate::common::*;
use crate::record::record;
use addfg::internals::graph::{Level, NodeKind, Selection, load};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Inlined calls: name, function, what it is within, file:line.
const CALLS: &str = "SELECT c.name, f.name, coalesce(p.name, '-'), s.name || ':' || c.line FROM inlined_call c
    JOIN function_symbol f USING (function_id) LEFT JOIN inlined_call p ON p.inlined_call_id = c.parent_inlined_call_id
    JOIN source_name s ON s.file_id = c.file_id ORDER BY c.inlined_call_id";

/// Firmware whose `main` calls `sh` twice in line 13 of m.c, which is one; readelf says which addresses are of it.
#[test]
fn instructions_are_of_the_calls_that_dwarf_says() {
    let (scratch, data) = (Scratch::new("inlined-firmware"), repository("tests/data/qemu-system"));
    let db = scratch.path("fw.duckdb");
    super::common::load(&data.join("fw.log.xz"), &data.join("fw.elf"), &db, &[]);
    assert_eq!(rows(&db, CALLS), ["sh,main,-,m.c:13"]);
    let outside =
        "SELECT count(*) FROM instruction i LEFT JOIN inlined_instruction n USING (instruction_id)
        WHERE (i.address BETWEEN 276 AND 295) <> (n.inlined_call_id IS NOT NULL)";
    assert_eq!(rows(&db, outside), ["0"]);
}

/// Steps of the parts of a function by name.
fn parts(db: &Path, function: &str) -> BTreeMap<String, i64> {
    let everything = Selection {
        level: Level::Inlined,
        top: 10_000,
        min_bytes: Some(0),
        ..Selection::default()
    };
    let graph = load(&open(db), &everything).expect("a graph");
    let own = graph.graph.node_weights().filter(|n| n.function.as_deref() == Some(function));
    own.map(|n| {
        let is_inlined = n.kind == NodeKind::Inlined;
        assert_eq!(is_inlined, n.name != "(its own code)", "{}", n.name);
        (n.name.clone(), n.steps_self.unwrap_or(0))
    })
    .collect()
}

#[test]
fn a_function_comes_apart_into_what_was_inlined() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("inlined");
    let (program, db) = (scratch.path("inlined"), scratch.path("inlined.duckdb"));
    let source = repository("tests/programs/inlined.c");
    let gcc = ["-O1", "-g", "-o", utf8(&program), utf8(&source)];
    assert!(Command::new("gcc").args(gcc).status().expect("gcc").success());
    let output = record(&["-o", utf8(&db), "-q"], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let calls = rows(&db, CALLS);
    for call in
        ["both,sum,-,inlined.c:11", "square,sum,both,inlined.c:6", "square,main,-,inlined.c:17"]
    {
        assert!(calls.iter().any(|found| found == call), "{call}: {calls:?}");
    }
    let parts = parts(&db, "sum");
    assert_eq!(parts.keys().collect::<Vec<_>>(), ["(its own code)", "both", "square"]);
    // Two multiplications in each of 64 rounds.
    assert!(parts["square"] >= 128 && parts["both"] >= 64, "{parts:?}");
    let steps = rows(&db, "SELECT steps_self FROM flat_profile WHERE function = 'sum'");
    assert_eq!(steps, [parts.values().sum::<i64>().to_string()]);
    let listed = ok(&["sql", utf8(&db), "@inlined", "0", "--format", "csv"]);
    assert!(listed.contains("square,sum,1,"), "{listed}");
    // Who asks for one hears where it is.
    for command in [["instances", utf8(&db), "square"], ["cut", utf8(&db), "square"]] {
        refused(&command, &["no function is named `square`", "it was inlined into `main`, `sum`"]);
    }
    let dot =
        ok(&["graph", utf8(&db), "--expand", "sum", "--inside", "inlined", "--top", "100000"]);
    assert!(dot.contains("called at inlined.c:6"), "{dot}");
}

/// A function is of the file that it stands in, though the code of another one is inlined where it begins.
#[test]
fn a_function_is_of_its_own_file() {
    let scratch = Scratch::new("inlined-file");
    if !have("gcc") || !have("valgrind") {
        return skipped("files of functions: needs gcc and valgrind");
    }
    let (header, source, program) =
        (scratch.path("of.h"), scratch.path("of.c"), scratch.path("of"));
    std::fs::write(&header, "static inline int add(volatile int *at) { return *at += 3; }\n")
        .unwrap();
    let text = "#include \"of.h\"\nint all;\n__attribute__((noinline)) int sum(void) { return add(&all) + 1; }\n\
                int main(void) { int s = 0; for (int i = 0; i < 9; i++) s += sum(); return s == 0; }\n";
    std::fs::write(&source, text).unwrap();
    make("gcc", &source, &["-g", "-O2"], &program);
    let db = scratch.path("of.duckdb");
    let output = addfg(&["record", "-q", "-o", utf8(&db), "--", utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let files = "SELECT f.name, parse_filename(path), owner FROM function_symbol f JOIN source_file USING (file_id)
                 WHERE f.name IN ('sum', 'main') ORDER BY 1";
    assert_eq!(rows(&db, files), ["main,of.c,program", "sum,of.c,program"]);
}
