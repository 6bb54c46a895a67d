//! The table functions of `addfg sql`, `addfg_steps` and others, against the views where the database has rows.

use crate::common::*;
use std::path::Path;

/// As the program answers.
fn rows(db: &Path, sql: &str) -> Vec<String> {
    ok(&["sql", utf8(db), sql, "--format", "csv"]).lines().skip(1).map(str::to_owned).collect()
}

/// How many rows a relation has, and a sum over what they hold.
fn sum(db: &Path, relation: &str) -> String {
    let sql = format!("SELECT count(*), coalesce(sum(hash(t)), 0) FROM ({relation}) t");
    rows(db, &sql).join("\n")
}

const STEPS: &str = "seq, thread_id, time, instruction_id, executed";
const ACCESSES: &str = "seq, ordinal, is_write, space, address, size, value, is_control, is_stack_relative, data_register, thread_id";
const COMMUNICATIONS: &str =
    "write_seq, write_ordinal, read_seq, read_ordinal, space, address, bytes";

fn of(function: Option<&str>, seq: &str) -> String {
    function.map_or(String::new(), |name| {
        format!(
            " AND {seq} IN (SELECT seq FROM opcode_line JOIN instruction USING (instruction_id)
                           JOIN function_symbol USING (function_id) WHERE name = '{name}')"
        )
    })
}

fn argument(of: Option<&str>) -> String {
    of.map_or("NULL".to_owned(), |name| format!("'{name}'"))
}

/// Asks a packed run, and the same run with rows, by functions; and the rows themselves.
fn agree(scratch: &Scratch, packed: &Path, stored: &Path) {
    // Without what parts of the run need, each statement finds it first.
    let calls = |db| sum(db, "FROM calls_of(NULL)");
    assert_eq!(calls(packed), calls(stored), "{}", packed.display());
    let packed = &scratch.copy(packed, "prepared.duckdb");
    ok(&["prepare", utf8(packed), "--quiet"]);
    let total: i64 = rows(stored, "SELECT max(seq) FROM opcode_line")[0].parse().unwrap();
    let bounds = [
        (None, None),
        (Some(1), Some(1)),
        (Some(total / 3), Some(2 * total / 3)),
        (Some(total - 4), None),
    ];
    let bounds = [
        &bounds[..],
        &[(None, Some(7)), (Some(total + 1), None), (Some(9), Some(3)), (Some(-5), Some(2))],
    ];
    for (first, last) in bounds.concat() {
        let number = |n: Option<i64>| n.map_or("NULL".to_owned(), |n| n.to_string());
        let arguments = format!("({}, {})", number(first), number(last));
        let within = format!("seq BETWEEN {} AND {}", first.unwrap_or(0), last.unwrap_or(i64::MAX));
        for (function, short, view, columns) in [
            ("addfg_steps", "steps", "opcode_line", STEPS),
            ("addfg_accesses", "accesses", "data_access", ACCESSES),
        ] {
            let wanted = sum(stored, &format!("SELECT {columns} FROM {view} WHERE {within}"));
            for db in [packed, stored] {
                let found = sum(db, &format!("SELECT {columns} FROM {function}{arguments}"));
                assert_eq!(found, wanted, "{}: {function}{arguments}", db.display());
            }
            if first.is_some() && last.is_some() {
                let found = sum(packed, &format!("SELECT {columns} FROM {short}{arguments}"));
                assert_eq!(found, wanted, "{short}{arguments}");
            }
        }
    }
    let top = rows(
        stored,
        "SELECT f.name FROM function_profile JOIN function_symbol f USING (function_id) WHERE f.kind <> 'pseudo' ORDER BY steps_self DESC, 1 LIMIT 2",
    );
    let names: Vec<Option<&str>> =
        top.iter().map(|name| Some(name.as_str())).chain([None]).collect();
    for writer in &names {
        for reader in &names {
            let rows = format!(
                "SELECT {COMMUNICATIONS} FROM communication WHERE true{}{}",
                of(*writer, "write_seq"),
                of(*reader, "read_seq")
            );
            let wanted = sum(stored, &rows);
            let arguments = format!("({}, {})", argument(*writer), argument(*reader));
            for db in [packed, stored] {
                for function in ["addfg_communications", "communications"] {
                    let asked = format!("SELECT {COMMUNICATIONS} FROM {function}{arguments}");
                    assert_eq!(sum(db, &asked), wanted, "{}: {asked}", db.display());
                }
                let of = format!("{}, {}", argument(*writer), argument(*reader));
                let asked = format!(
                    "SELECT {COMMUNICATIONS} FROM addfg_communications({of}, first := {}, last := {})",
                    total / 3,
                    2 * total / 3
                );
                let part =
                    format!("{rows} AND read_seq BETWEEN {} AND {}", total / 3, 2 * total / 3);
                assert_eq!(sum(db, &asked), sum(stored, &part), "{}: {asked}", db.display());
            }
        }
        let calls = writer.map_or(String::new(), |name| {
            format!(" WHERE function_id IN (SELECT function_id FROM function_symbol WHERE name = '{name}')")
        });
        let wanted = sum(stored, &format!("SELECT * FROM function_call{calls}"));
        for db in [packed, stored] {
            for function in ["addfg_calls_of", "calls_of"] {
                let asked = format!("SELECT * FROM {function}({})", argument(*writer));
                assert_eq!(sum(db, &asked), wanted, "{}: {asked}", db.display());
            }
        }
    }
}

#[test]
fn functions_give_what_the_views_have() {
    let scratch = Scratch::new("functions");
    for name in ["fir", "jpeg"] {
        agree(&scratch, &example(name, "summary"), &example(name, "rows"));
    }
}

/// Threads, system calls and signals.
#[test]
fn functions_give_what_the_views_have_of_recorded_programs() {
    if !have("valgrind") || !have("gcc") {
        return skipped("table functions of recorded programs: needs valgrind and gcc");
    }
    let scratch = Scratch::new("functions-recorded");
    for (source, flags) in [("threads.c", &["-pthread"][..]), ("signal.c", &[])] {
        let program = scratch.path("program");
        let path = repository(&format!("tests/programs/{source}"));
        make("gcc", &path, &[&["-g", "-O1"], flags].concat(), &program);
        let stream = scratch.path("run.stream");
        let record = ["record", "--force", "-q", "--keep", utf8(&stream), "-o"];
        let first = scratch.path("first.duckdb");
        let output = addfg(&[&record[..], &[utf8(&first), "--", utf8(&program)]].concat());
        assert_ne!(output.status.code(), Some(2), "{}", said(&output));
        let made = |detail: &str| {
            let db = scratch.path(&format!("{source}-{detail}.duckdb"));
            build(&db, &[&stream], &kept(detail));
            db
        };
        agree(&scratch, &made("summary"), &made("rows"));
    }
}

#[test]
fn columns_are_left_out_and_rows_are_counted() {
    let db = example("jpeg", "summary");
    let number = |sql: &str| rows(&db, sql)[0].clone();
    let steps = number("SELECT max(last_seq) FROM run_chunk");
    assert_eq!(number("SELECT count(*) FROM addfg_steps(NULL, NULL)"), steps);
    assert_eq!(
        number("SELECT count(*) FROM (SELECT DISTINCT seq FROM addfg_steps(NULL, NULL))"),
        steps
    );
    let joined = "SELECT sum(a.size) FROM addfg_accesses(NULL, NULL) a JOIN addfg_steps(NULL, NULL) s USING (seq)";
    assert_eq!(number(joined), number("SELECT sum(size) FROM addfg_accesses(1, NULL)"));
    // Whoever wants no more rows ends the threads that make them.
    assert_eq!(rows(&db, "SELECT space FROM addfg_accesses(NULL, NULL) LIMIT 3").len(), 3);
    assert_eq!(
        number("SELECT count(*) FROM addfg_accesses(5, 5) WHERE is_write"),
        number("SELECT count(*) FILTER (is_write) FROM addfg_accesses(5, 5)")
    );
}

#[test]
fn arguments_that_mean_nothing_are_told() {
    let db = example("jpeg", "summary");
    for (sql, text) in [
        ("FROM communications('nobody', NULL)", "no function has the name nobody"),
        ("FROM calls_of('')", "no function has the name"),
        ("FROM communications('<input>', NULL)", "has what comes from outside"),
        ("FROM addfg_steps(1, 2, database := 'other')", "addfg sql has one only"),
        ("FROM addfg_steps(1)", "addfg_steps"),
    ] {
        let output = addfg(&["sql", utf8(&db), sql]);
        assert_eq!(output.status.code(), Some(2), "{sql}: {}", said(&output));
        assert!(said(&output).contains(text), "{sql}: {}", said(&output));
    }
}

/// Of a run that is too long to make rows for a statement, these views read the chunks.
#[test]
fn views_of_long_runs_read_the_chunks() {
    if !have("valgrind") || !have("gcc") {
        return skipped("views of long runs: needs valgrind and gcc");
    }
    let scratch = Scratch::new("functions-long");
    let (source, program, db) =
        (scratch.path("long.c"), scratch.path("long"), scratch.path("long.duckdb"));
    let text = "static volatile int cell;
                static int next(int i) { return i + 1; }
                static void writes(int n) { for (int i = 0; i < n; i = next(i)) cell = i; }
                int main(void) { writes(3000000); return 0; }";
    std::fs::write(&source, text).expect("writes");
    make("gcc", &source, &["-g", "-O1", "-fno-inline", "-static"], &program);
    ok(&["record", "-q", "-o", utf8(&db), "--", utf8(&program)]);
    let number = |sql: &str| rows(&db, sql)[0].clone();
    let steps = number("SELECT max(last_seq) FROM run_chunk");
    assert!(steps.parse::<u64>().unwrap() > 20_000_000, "{steps}");
    assert_eq!(number("SELECT count(*) FROM opcode_line"), steps);
    let written =
        "SELECT count(*) AS n FROM data_access WHERE space = 'memory' AND is_write AND size = 4
                   GROUP BY address ORDER BY n DESC LIMIT 1";
    assert_eq!(number(written), "3000000");
    // Each `i` is read by what makes the next one.
    let reads = "SELECT count(*) FROM communication JOIN opcode_line ON seq = read_seq
                 JOIN instruction USING (instruction_id) JOIN function_symbol f USING (function_id)
                 WHERE f.name = 'next' AND space = 'register' AND bytes = 4";
    assert_eq!(number(reads), "3000000");
    let output = addfg(&["sql", utf8(&db), "FROM block_run"]);
    assert!(said(&output).contains("`block_run` has no rows here"), "{}", said(&output));
    let stored = scratch.copy(&db, "rows.duckdb");
    ok(&["rows", utf8(&stored), "-q"]);
    bounds_spare_chunks(&db, &stored, steps.parse().unwrap());
}

/// Conditions on steps give what a database with rows gives, and sooner than conditions that nobody understands
/// (`abs(seq)`).
fn bounds_spare_chunks(db: &Path, stored: &Path, steps: u64) {
    let (a, b) = (steps / 3, steps / 3 + 300_000);
    let within = format!("BETWEEN {a} AND {b}");
    let near = format!("SELECT seq FROM opcode_line WHERE seq {within} AND thread_id = 1");
    let statements = [
        format!(
            "SELECT count(*), sum(hash(t)) FROM (SELECT * FROM opcode_line WHERE seq {within}) t"
        ),
        format!(
            "SELECT count(*), sum(hash(t)) FROM (SELECT * FROM data_access WHERE seq > {a} AND seq <= {b} AND space = 'memory') t"
        ),
        format!(
            "SELECT count(*), sum(hash(t)) FROM (SELECT * FROM communication WHERE read_seq {within}) t"
        ),
        format!(
            "SELECT count(*), min(seq), max(seq) FROM opcode_line WHERE seq = {a} OR seq = {b} OR (seq < 9 AND executed)"
        ),
        format!("SELECT count(*), sum(seq) FROM ({near}) JOIN data_access USING (seq)"),
        format!(
            "SELECT count(*), sum(a.address) FROM data_access a JOIN opcode_line o USING (seq) WHERE o.seq = {b}"
        ),
        format!("SELECT count(*) FROM opcode_line o(a, seq) WHERE seq = 1 AND abs(a) {within}"),
        "SELECT count(*) FROM (SELECT thread_id AS seq FROM opcode_line) WHERE seq = 1".to_owned(),
        format!(
            "SELECT count(*) FROM data_access WHERE seq {within} AND space <> 'it''s) OR (seq = 5'"
        ),
        "SELECT count(*) FROM opcode_line WHERE seq < 5 UNION ALL SELECT count(*) FROM opcode_line"
            .to_owned(),
        format!(
            "SELECT count(*) FROM (VALUES (1), ({a})) v(seq) LEFT JOIN opcode_line o ON o.seq = v.seq AND o.seq {within}"
        ),
        format!("SELECT count(*) FROM opcode_line WHERE seq > {b} AND seq < {a}"),
        format!("SELECT count(*) FROM opcode_line WHERE seq > -5 AND seq < {}", u64::MAX),
        // A view of one's own stays.
        "CREATE OR REPLACE TEMP VIEW data_access AS FROM addfg_accesses(1, 9); SELECT count(*) FROM data_access WHERE seq < 5; SELECT count(*), max(seq) FROM data_access".to_owned(),
        // The views are as before for the statement behind.
        format!(
            "CREATE TEMP TABLE few AS FROM opcode_line WHERE seq {within}; SELECT (SELECT count(*) FROM few), count(*) FROM opcode_line"
        ),
    ];
    for statement in &statements {
        let found = rows(db, statement);
        assert_eq!(found, rows(stored, statement), "{statement}");
        assert!(!found.is_empty(), "{statement}");
    }
    let time = |statement: &str| {
        let begun = std::time::Instant::now();
        rows(db, statement);
        begun.elapsed()
    };
    let hidden = time(
        &statements[1].replace("WHERE seq", "WHERE abs(seq)").replace("AND seq", "AND abs(seq)"),
    );
    let plain = time(&statements[1]);
    assert!(3 * plain < 2 * hidden, "{plain:?} with bounds, {hidden:?} without");
}
