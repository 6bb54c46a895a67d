//! Random runs, built at every detail, and what the SQL says of them. Nothing but [`crate::common`]'s programs is
//! needed here: fuzz/mutants.py compiles this file by itself.

use crate::common::program::{Program, Random, Step};
use crate::common::stream;
use addfg::internals::load::{Detail, ElfInput, Options, load as build};
use std::path::Path;

/// Writes the log of a random run and its ELF file.
pub fn record(folder: &Path, seed: u64, steps: usize, threads: usize) -> (Program, Vec<Step>) {
    let mut random = Random::new(seed);
    let program = Program::new(&mut random);
    let (log, list) = program.run(&mut random, steps, threads);
    std::fs::write(folder.join("log"), log).unwrap();
    std::fs::write(folder.join("elf"), program.elf()).unwrap();

    (program, list)
}

/// Writes a run of a program that uses parts of registers and vectors, as a recording with what the kernel
/// did, and its ELF file.
pub fn record_kernel(folder: &Path, seed: u64, steps: usize, threads: usize) {
    let mut random = Random::new(seed);
    let program = Program::wide(&mut random);
    let (_, list) = program.run(&mut random, steps, threads);
    let events = stream::kernel(&list, &mut random);
    std::fs::write(folder.join("log"), stream::stream(&list, &events)).unwrap();
    std::fs::write(folder.join("elf"), program.elf()).unwrap();
}

pub fn options(folder: &Path, detail: Detail, literal_saves: bool) -> Options {
    Options {
        traces: vec![folder.join("log")],
        elfs: vec![ElfInput { path: folder.join("elf"), bias: None }],
        detail: Some(detail),
        literal_saves,
        strict: true,
        force: true,
        // A random program is short.
        superblock_after: Some(1),
        chunk_steps: Some(100),
        ..Options::new(folder.join("db"))
    }
}

/// The tables that the SQL finds different, gone through in windows of so many steps, with a few
/// rows.
pub fn differences(db: &Path, window: i64) -> Vec<String> {
    let connection = addfg::internals::store::open::open(db, false).unwrap();
    assert_eq!(addfg::internals::query::not_applicable(&connection).unwrap(), None);
    let verdicts = addfg::internals::query::verify(&connection, window, &mut |_| {}).unwrap();
    assert!(verdicts.len() >= 8);
    verdicts
        .into_iter()
        .filter(|v| !v.holds())
        .map(|v| format!("{}: {:#?}", v.table, v.examples))
        .collect()
}

/// Random runs at every detail against what was stored of them by a pass that the SQL agreed with
/// (`ADDFG_GUARD`: a file of digests, which is made where there is none): fuzz/mutants.py asks it of
/// each mutant. Ends at the first difference.
#[test]
#[ignore = "run by fuzz/mutants.py"]
fn guard() {
    let Ok(path) = std::env::var("ADDFG_GUARD") else { return };
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let mut known = known.lines();
    let is_new = !Path::new(&path).exists();
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let db = folder.join("db");
    let mut lines = Vec::new();
    for (seed, steps, threads) in [(1, 700, 2), (2, 1500, 1), (3, 2500, 3), (4, 2500, 2)] {
        for kernel in [false, true] {
            match kernel {
                true => record_kernel(folder, seed, steps, threads),
                false => drop(record(folder, seed, steps, threads)),
            }
            for detail in [Detail::Summary, Detail::Pairs, Detail::Instance, Detail::Full] {
                for literal in [false, true] {
                    let case = format!("{seed} {kernel} {detail:?} {literal}");
                    build(&options(folder, detail, literal), &mut |_| false).unwrap();
                    if is_new && matches!(detail, Detail::Pairs | Detail::Full) {
                        assert_eq!(differences(&db, i64::from(u32::MAX)), [""; 0], "{case}");
                    }
                    let line = format!("{case} {}", fingerprint(&db));
                    if !is_new {
                        assert_eq!(Some(line.as_str()), known.next(), "{case}");
                    }
                    lines.push(line);
                }
            }
        }
    }
    if is_new {
        std::fs::write(&path, lines.join("\n")).unwrap();
    }
}

/// Of all that the pass gives.
fn fingerprint(db: &Path) -> String {
    let connection = addfg::internals::store::open::open(db, false).unwrap();
    let digest = |table: &&str| {
        let sql =
            format!("SELECT count(*) || ':' || coalesce(sum(hash(t))::VARCHAR, '') FROM {table} t");
        connection.query_row(&sql, [], |r| r.get::<_, String>(0)).unwrap()
    };
    GIVEN.iter().map(digest).collect::<Vec<_>>().join(" ")
}

/// Tables of what the pass gives.
const GIVEN: [&str; 15] = [
    "communication",
    "function_call",
    "control_flow",
    "saved_register",
    "dataflow",
    "function_edge",
    "function_profile",
    "call_edge",
    "instruction_edge",
    "call_stack",
    "stack_profile",
    "stack_edge",
    "folded_call",
    "function_edge_folded",
    "call_edge_folded",
];
