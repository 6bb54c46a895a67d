//! Random programs: the streaming pass, the SQL of queries/derive and a naive model give the same.

use crate::common::program::naive;
use crate::common::{Scratch, contexts_agree, example, rows, top_agrees};
use crate::guard::{differences, options, record, record_kernel};
use addfg::internals::load::{Detail, load as build};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// What every detail sums up.
fn sums(db: &Path) -> Vec<String> {
    let tables = [
        "function_edge",
        "function_profile",
        "call_edge",
        "call_stack",
        "stack_profile",
        "stack_edge",
    ];
    let rows_of = |table: &&str| {
        rows(db, &format!("SELECT '{table}', t::VARCHAR FROM {table} t ORDER BY ALL"))
    };
    tables.iter().flat_map(rows_of).collect()
}

fn check(seed: u64, steps: usize, threads: usize) {
    let scratch = Scratch::new(&format!("property-{seed}-{steps}-{threads}"));
    let (program, list) = record(&scratch.0, seed, steps, threads);
    let db = scratch.path("db");
    // `summary` adds up functions where the others add up instructions and instances.
    let summaries = [false, true].map(|literal| {
        build(&options(&scratch.0, Detail::Summary, literal), &mut |_| false).unwrap();
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
        build(&options(&scratch.0, detail, literal), &mut |_| false).unwrap();
        let found = differences(&db, window);
        let case =
            format!("seed {seed}, {steps} steps, {threads} threads, {detail:?}, literal {literal}");
        assert!(found.is_empty(), "{case}: {}", found.join("\n"));
        assert_eq!(sums(&db), summaries[usize::from(literal)], "{case}");
    }
    let connection = addfg::internals::store::open::open(&db, false).unwrap();
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
    record_kernel(&scratch.0, seed, steps, threads);
    let db = scratch.path("db");
    for literal in [false, true] {
        let at = |detail| {
            build(&options(&scratch.0, detail, literal), &mut |_| false).unwrap();
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

/// Leaves the log and the ELF file of one run: [KERNEL=1] SEED=1 STEPS=100 THREADS=1 FOLDER=... cargo test
/// --test it property -- --ignored leave
#[test]
#[ignore = "for looking at what failed"]
fn leave_files() {
    let number = |name: &str| std::env::var(name).unwrap().parse().unwrap();
    let folder = std::mem::ManuallyDrop::new(Scratch(std::env::var("FOLDER").unwrap().into()));
    let (seed, steps, threads) =
        (number("SEED"), number("STEPS") as usize, number("THREADS") as usize);
    if std::env::var_os("KERNEL").is_some() {
        return record_kernel(&folder.0, seed, steps, threads);
    }
    record(&folder.0, seed, steps, threads);
}
