//! Random programs: the streaming pass, the SQL of queries/derive and a naive model give the same;
//! and a pass that leaves out any one rule is found out.

use crate::common::program::{Program, Random, Step, naive};
use crate::common::{Scratch, contexts_agree, example, rows, stream, top_agrees};
use addfg::analysis::Mutation;
use addfg::load::{Detail, ElfInput, Options, load as build};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the log of a random run and its ELF file.
fn record(scratch: &Scratch, seed: u64, steps: usize, threads: usize) -> (Program, Vec<Step>) {
    let mut random = Random::new(seed);
    let program = Program::new(&mut random);
    let (log, list) = program.run(&mut random, steps, threads);
    std::fs::write(scratch.path("log"), log).unwrap();
    std::fs::write(scratch.path("elf"), program.elf()).unwrap();

    (program, list)
}

/// Writes a run of a program that uses parts of registers and vectors, as a recording with what the kernel
/// did, and its ELF file.
fn record_kernel(scratch: &Scratch, seed: u64, steps: usize, threads: usize) {
    let mut random = Random::new(seed);
    let program = Program::wide(&mut random);
    let (_, list) = program.run(&mut random, steps, threads);
    let events = stream::kernel(&list, &mut random);
    std::fs::write(scratch.path("log"), stream::stream(&list, &events)).unwrap();
    std::fs::write(scratch.path("elf"), program.elf()).unwrap();
}

fn options(
    scratch: &Scratch,
    detail: Detail,
    literal_saves: bool,
    mutation: Option<Mutation>,
) -> Options {
    Options {
        traces: vec![scratch.path("log")],
        elfs: vec![ElfInput { path: scratch.path("elf"), bias: None }],
        output: scratch.path("db"),
        format: None,
        layout: None,
        detail,
        literal_saves,
        part: addfg::load::Part::default(),
        through: Vec::new(),
        allocators: Vec::new(),
        devices: Vec::new(),
        strict: true,
        force: true,
        force_elf: false,
        memory_limit: 0,
        jobs: 1,
        mutation,
        // A random program is short.
        superblock_after: Some(1),
    }
}

/// The tables that the SQL finds different, gone through in windows of so many steps, with a few
/// rows.
fn differences(db: &Path, window: i64) -> Vec<String> {
    let connection = addfg::store::open::open(db, false).unwrap();
    assert_eq!(addfg::query::not_applicable(&connection).unwrap(), None);
    let verdicts = addfg::query::verify(&connection, window, &mut |_| {}).unwrap();
    assert!(verdicts.len() >= 8);
    verdicts
        .into_iter()
        .filter(|v| !v.holds())
        .map(|v| format!("{}: {:#?}", v.table, v.examples))
        .collect()
}

/// What every detail sums up.
fn sums(db: &Path) -> Vec<String> {
    let tables = ["function_edge", "function_profile", "call_edge", "call_stack", "stack_profile"];
    let rows_of = |table: &&str| {
        rows(db, &format!("SELECT '{table}', t::VARCHAR FROM {table} t ORDER BY ALL"))
    };
    tables.iter().flat_map(rows_of).collect()
}

fn check(seed: u64, steps: usize, threads: usize) {
    let scratch = Scratch::new(&format!("property-{seed}-{steps}-{threads}"));
    let (program, list) = record(&scratch, seed, steps, threads);
    let db = scratch.path("db");
    // `summary` adds up functions where the others add up instructions and instances.
    let summaries = [false, true].map(|literal| {
        build(&options(&scratch, Detail::Summary, literal, None), &mut |_| false).unwrap();
        sums(&db)
    });
    // In several windows and in one: each detail and each way of saves is gone through both ways.
    let (several, one) = (i64::try_from(steps / 3).unwrap().max(700), i64::from(u32::MAX));
    for (detail, literal, window) in [
        (Detail::Pairs, false, several),
        (Detail::Full, false, one),
        (Detail::Full, true, several),
        (Detail::Pairs, true, one),
    ] {
        build(&options(&scratch, detail, literal, None), &mut |_| false).unwrap();
        let found = differences(&db, window);
        let case =
            format!("seed {seed}, {steps} steps, {threads} threads, {detail:?}, literal {literal}");
        assert!(found.is_empty(), "{case}: {}", found.join("\n"));
        assert_eq!(sums(&db), summaries[usize::from(literal)], "{case}");
    }
    let connection = addfg::store::open::open(&db, false).unwrap();
    [3, 30].into_iter().for_each(|top| top_agrees(&connection, top));
    contexts_agree(&connection);
    let sql = "SELECT w.name, r.name, sum(e.bytes)::BIGINT FROM function_edge e
               JOIN function_symbol w ON w.function_id = e.writer_function_id JOIN function_symbol r ON r.function_id = e.reader_function_id
               WHERE e.via <> 'register' AND w.kind <> 'pseudo' GROUP BY ALL";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |r: &duckdb::Row| Ok(((r.get(0)?, r.get(1)?), r.get::<_, i64>(2)? as u64));
    let stored: BTreeMap<(String, String), u64> =
        statement.query_map([], row).unwrap().map(Result::unwrap).collect();
    assert_eq!(stored, naive(&program, &list), "seed {seed}, {steps} steps, {threads} threads");
}

/// Runs that the SQL agrees with, at every detail: what is stored of them.
fn check_kernel(seed: u64, steps: usize, threads: usize) {
    let scratch = Scratch::new(&format!("kernel-{seed}-{steps}-{threads}"));
    record_kernel(&scratch, seed, steps, threads);
    let db = scratch.path("db");
    for literal in [false, true] {
        let at = |detail| {
            build(&options(&scratch, detail, literal, None), &mut |_| false).unwrap();
            sums(&db)
        };
        let [summary, instance, full, pairs] =
            [Detail::Summary, Detail::Instance, Detail::Full, Detail::Pairs].map(at);
        let case = format!("seed {seed}, {steps} steps, {threads} threads, literal {literal}");
        assert_eq!(summary, instance, "{case}: instance");
        assert_eq!(summary, full, "{case}: full");
        assert_eq!(summary, pairs, "{case}: pairs");
        let found = differences(&db, i64::try_from(steps / 2).unwrap().max(700));
        assert!(found.is_empty(), "{case}: {}", found.join("\n"));
    }
}

#[test]
fn what_the_kernel_does_and_parts_of_registers_are_the_same_at_all_details() {
    for seed in 0..u64::from(cases()).div_ceil(3) {
        check_kernel(seed, 300 + 700 * (seed as usize % 4), 1 + seed as usize % 3);
    }
}

/// A program with more registers, strings and calls than random ones have.
#[test]
fn a_summary_has_the_sums_of_all_details() {
    let [summary, instance, pairs] =
        ["summary", "instance", "pairs"].map(|detail| sums(&example("jpeg", detail)));
    assert!(summary.len() > 100);
    assert_eq!(summary, instance);
    assert_eq!(summary, pairs);
}

/// Few, unless PROPTEST_CASES says otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn random_programs(seed in any::<u64>(), steps in 1usize..3000, threads in 1usize..4) {
        check(seed, steps, threads);
    }
}

/// Unwritten bytes of the stack are read before and after the trace's first stack-relative access.
#[test]
fn the_side_of_the_first_stack_pointer_is_the_same_at_any_time() {
    check(10252845525445132127, 2714, 2);
}

/// A saved register is restored and its low byte written in the same block.
#[test]
fn part_of_a_restored_register_is_written() {
    check(5879051752348431070, 1885, 2);
}

/// One read has bytes that no step wrote on both sides of the first stack pointer, with written
/// ones between.
#[test]
fn one_read_of_two_pseudo_functions() {
    check(14385574431842095439, 2555, 3);
}

#[test]
fn one_long_run() {
    check(1, 12_000, 3);
}

/// What the SQL reads, and what it is held against. None of the first is the pass's own.
fn read_and_stored(db: &Path) -> (Vec<(i64, Option<String>)>, Vec<(i64, Option<String>)>) {
    let connection = addfg::store::open::open(db, false).unwrap();
    let digest = |table: &str| {
        let sql = format!("SELECT count(*), sum(hash(t))::VARCHAR FROM {table} t");
        connection.query_row(&sql, [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap()
    };
    let read = READ.iter().map(|table| digest(table)).collect();
    (read, addfg::query::stored(&connection).unwrap())
}

/// Tables that `queries/derive` reads to verify.
const READ: [&str; 13] = [
    "block_run",
    "block_step",
    "block_access",
    "instruction",
    "function_symbol",
    "image",
    "section",
    "region",
    "mapping",
    "system_call",
    "system_call_access",
    "thread",
    "meta",
];

/// The SQL is asked once a program: of the same steps it gives the same, so that a pass is found
/// out by it where it stores anything else than the whole one, which the SQL agrees with.
#[test]
fn a_pass_without_any_one_rule_is_found_out() {
    let scratch = Scratch::new("mutation");
    let db = scratch.path("db");
    let mut left = Mutation::ALL.to_vec();
    // Not every program has what a rule is about.
    for seed in 1..9 {
        if left.is_empty() {
            break;
        }
        record(&scratch, seed, 2500, 2);
        build(&options(&scratch, Detail::Full, false, None), &mut |_| false).unwrap();
        assert_eq!(differences(&db, i64::from(u32::MAX)), [""; 0], "seed {seed}");
        let (read, stored) = read_and_stored(&db);
        left.retain(|mutation| {
            let options = options(&scratch, Detail::Full, false, Some(*mutation));
            build(&options, &mut |_| false).unwrap();
            let (same, other) = read_and_stored(&db);
            assert_eq!(same, read, "{mutation:?}, seed {seed}: other steps");
            other == stored
        });
    }
    assert!(left.is_empty(), "not found out: {left:?}");
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
    let scratch = Scratch::new(&format!("guard-{}", std::process::id()));
    let db = scratch.path("db");
    let mut lines = Vec::new();
    for (seed, steps, threads) in [(1, 700, 2), (2, 1500, 1), (3, 2500, 3), (4, 2500, 2)] {
        for kernel in [false, true] {
            match kernel {
                true => record_kernel(&scratch, seed, steps, threads),
                false => drop(record(&scratch, seed, steps, threads)),
            }
            for detail in [Detail::Summary, Detail::Pairs, Detail::Instance, Detail::Full] {
                for literal in [false, true] {
                    let case = format!("{seed} {kernel} {detail:?} {literal}");
                    build(&options(&scratch, detail, literal, None), &mut |_| false).unwrap();
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
    let connection = addfg::store::open::open(db, false).unwrap();
    let digest = |table: &&str| {
        let sql =
            format!("SELECT count(*) || ':' || coalesce(sum(hash(t))::VARCHAR, '') FROM {table} t");
        connection.query_row(&sql, [], |r| r.get::<_, String>(0)).unwrap()
    };
    GIVEN.iter().map(digest).collect::<Vec<_>>().join(" ")
}

/// Tables of what the pass gives.
const GIVEN: [&str; 14] = [
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
    "folded_call",
    "function_edge_folded",
    "call_edge_folded",
];

/// Leaves the log and the ELF file of one run: SEED=1 STEPS=100 THREADS=1 FOLDER=... cargo test
/// --test it property -- --ignored leave
#[test]
#[ignore = "for looking at what failed"]
fn leave_files() {
    let number = |name: &str| std::env::var(name).unwrap().parse().unwrap();
    let folder = std::mem::ManuallyDrop::new(Scratch(std::env::var("FOLDER").unwrap().into()));
    record(&folder, number("SEED"), number("STEPS") as usize, number("THREADS") as usize);
}
