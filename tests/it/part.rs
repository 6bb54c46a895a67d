//! `rows --functions` and `--range`: steps and communications of a part of the run, everything else of all.

use crate::common::*;
use duckdb::Connection;
use std::path::Path;

/// Rows of a query over the databases `part` and `whole`.
fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |r| r.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// Rows of either query that the other does not give as often.
fn different(connection: &Connection, a: &str, b: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM (({a} EXCEPT ALL {b}) UNION ALL ({b} EXCEPT ALL {a}))",
        a = format_args!("(FROM ({a}))"),
        b = format_args!("(FROM ({b}))"),
    );
    count(connection, &sql)
}

/// Two databases, by name.
fn attached(databases: [(&Path, &str); 2]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    for (db, name) in databases {
        let attach = format!("ATTACH '{}' AS {name} (READ_ONLY)", utf8(db));
        connection.execute_batch(&attach).unwrap();
    }
    connection
}

/// Makes rows of a part of an example, and compares them with what `inside` (of a step `seq`) takes of the
/// whole.
fn compare(name: &str, more: &[&str], inside: &str) {
    let scratch = Scratch::new("part");
    let [log, elf] = example_files(name);
    let (whole, part) = (example(name, "pairs"), scratch.path("part.duckdb"));
    load(&log, &elf, &part, &["--detail", "summary"]);
    ok(&[&["rows", "-q", utf8(&part)], more].concat());
    let connection = attached([(&part, "part"), (&whole, "whole")]);
    let all = "function_call control_flow dataflow_row function_edge instruction_edge call_edge function_edge_folded saved_register instruction";
    for table in all.split(' ') {
        let [a, b] = ["part", "whole"].map(|db| format!("SELECT * FROM {db}.{table}"));
        assert_eq!(different(&connection, &a, &b), 0, "{table}");
    }
    let communications = |db: &str, seq: &str| {
        format!(
            "SELECT read_seq AS seq, write_back, address, k.* EXCLUDE (kind_id)
             FROM {db}.communication_row JOIN {db}.communication_kind k USING (kind_id) WHERE {seq}"
        )
    };
    let kept = count(&connection, "SELECT count(*) FROM part.communication_row");
    let of_all = count(&connection, "SELECT count(*) FROM whole.communication_row");
    assert!(kept > 0 && kept < of_all, "{kept} of {of_all}");
    let [a, b] = [("part", "true"), ("whole", inside)].map(|(db, seq)| communications(db, seq));
    assert_eq!(different(&connection, &a, &b), 0, "{more:?}: communications");
    // Runs of which some step is inside.
    let steps = "SELECT block_id, count(*) AS steps FROM whole.block_step GROUP BY ALL";
    let runs = format!(
        "SELECT start_seq, block_id, address FROM whole.block_run JOIN ({steps}) USING (block_id)
         WHERE EXISTS (FROM range(start_seq, start_seq + steps) s(seq) WHERE {inside})"
    );
    let kept = "SELECT start_seq, block_id, address FROM part.block_run";
    assert_eq!(different(&connection, kept, &runs), 0, "{more:?}: runs");
    // What rows are not of, the packed run has.
    let answer = |db: &Path| printed(&addfg(&["cut", utf8(db), "main", "--format", "csv"]));
    assert_eq!(answer(&part), answer(&whole));
    let text = ok(&["verify", utf8(&part)]);
    assert!(text.contains("equal") && !text.contains("DIFFERENT"), "{text}");
}

/// Steps while an instance of a function is alive.
fn inside(function: &str) -> String {
    format!(
        "EXISTS (FROM whole.function_call c JOIN whole.function_symbol s USING (function_id)
                 WHERE s.name = '{function}' AND seq BETWEEN c.call_seq AND c.return_seq)"
    )
}

#[test]
fn what_runs_inside_a_function_is_kept() {
    compare("fir", &["--functions", "fir"], &inside("fir"));
    let function = "stbi__jpeg_decode_block";
    compare("jpeg", &["--functions", function], &inside(function));
}

#[test]
fn steps_of_a_range_are_kept() {
    compare("fir", &["--range", "100..900"], "seq BETWEEN 100 AND 900");
    compare("jpeg", &["--range", "50000..99999999"], "seq >= 50000");
}

#[test]
fn a_part_is_refused_where_there_is_none() {
    let scratch = Scratch::new("no-part");
    let [log, elf] = example_files("fir");
    let db = scratch.path("db.duckdb");
    load(&log, &elf, &db, &[]);
    let before = std::fs::read(&db).unwrap();
    for (more, words) in [
        (["--functions", "no_such_function"], "no_such_function"),
        (["--range", "9..1"], "9 is behind 1"),
        (["--range", "10"], "write FIRST..LAST"),
        (["--range", "a..1"], "`a`: invalid digit"),
    ] {
        refused(&[&["rows", utf8(&db)], &more[..]].concat(), &[words]);
        assert!(before == std::fs::read(&db).unwrap(), "{more:?} changed it");
    }
    load(&log, &elf, &db, &["--no-steps"]);
    refused(&["rows", utf8(&db)], &["no packed run", "--no-steps"]);
    let wet = repository("tests/formats/wet/good-limited.wet");
    build(&db, &[&wet], &["--force"]);
    refused(&["rows", utf8(&db), "--range", "1..2"], &["no packed run"]);
}

/// What `addfg prepare` stores.
const ANSWERS: [&str; 10] = [
    "object_use",
    "memory_traffic",
    "memory_moment",
    "memory_page",
    "memory_reuse",
    "executed_loop",
    "loop_dependence",
    "critical_path",
    "critical_function",
    "critical_call",
];

/// Any program that opens the file gets an error where rows are not there, and never an empty answer.
#[test]
fn other_programs_are_told_that_rows_are_missing() {
    let scratch = Scratch::new("plain");
    let views = [
        "function_call",
        "control_flow",
        "saved_register",
        "dataflow",
        "instruction_edge",
        "folded_call",
        "thread_event",
        "system_call",
        "system_call_access",
        "mapping",
        "allocation",
        "signal_event",
        "marker",
        "top_call",
        "top_dataflow",
        "top_call_edge",
        "communication",
        "opcode_line",
        "data_access",
        "steps(1, 5)",
        "accesses(1, 5)",
    ];
    let forms = ["FROM {}", "SELECT count(*) FROM {}", "SELECT 1 WHERE EXISTS (FROM {})"];
    let answers = |db: &Path, views: &[&str]| -> Vec<Result<(), String>> {
        let config = duckdb::Config::default().access_mode(duckdb::AccessMode::ReadOnly).unwrap();
        let connection = Connection::open_with_flags(db, config).unwrap();
        let ask = |sql: String| {
            let mut statement = connection.prepare(&sql).map_err(|e| e.to_string())?;
            let mut rows = statement.query([]).map_err(|e| e.to_string())?;
            while rows.next().map_err(|e| e.to_string())?.is_some() {}
            Ok(())
        };
        let all = forms.iter().flat_map(|form| views.iter().map(|view| form.replace("{}", view)));
        all.map(ask).collect()
    };
    let db = scratch.copy(&example("fir", "summary"), "plain.duckdb");
    for answer in answers(&db, &views) {
        let error = answer.expect_err("it has no rows");
        for way in ["addfg rows DB makes them", "addfg sql DB", "addfg.duckdb_extension"] {
            assert!(error.contains(way), "{error}");
        }
    }
    // What is found in the whole run is there when it is stored, whether there are rows or not.
    for (answered, whole) in [(&db, "summary"), (&example("fir", "rows"), "rows")] {
        for answer in answers(answered, &ANSWERS) {
            let error = answer.expect_err(whole);
            assert!(error.contains("addfg prepare DB"), "{error}");
        }
    }
    // Names that nobody sees in a statement of `addfg sql`, which makes rows of those that it sees.
    for sql in ["FROM query_table('communication')", "FROM query('FROM function_call')"] {
        refused(&["sql", utf8(&db), sql], &["addfg rows DB makes them"]);
    }
    refused(&["sql", utf8(&db), "--write", "FROM dataflow"], &["addfg rows DB makes them"]);
    let calls = ok(&["sql", utf8(&db), "SELECT count(*) FROM function_call", "--format", "csv"]);
    assert_eq!(
        calls.lines().nth(1),
        Some(rows(&example("fir", "rows"), "SELECT count(*) FROM function_call")[0].as_str())
    );
    // Calls that are there are given, steps that are not are asked for in vain.
    let (calls, steps) = views.split_at(16);
    let instance = example("fir", "instance");
    assert!(answers(&instance, calls).iter().all(Result::is_ok));
    assert!(answers(&instance, steps).iter().all(Result::is_err));
    ok(&["rows", "-q", utf8(&db), "--level", "middle"]);
    assert!(answers(&db, &views[..17]).iter().all(Result::is_ok));
    assert!(answers(&db, &views[17..]).iter().all(Result::is_err));
    ok(&["rows", "-q", utf8(&db), "--range", "5..9"]);
    assert!(answers(&db, &views).iter().all(Result::is_ok));
    // Nobody kept what is missing here, but of system calls.
    let kept = |view: &&str| view.starts_with("system_call");
    let (kept, missing): (Vec<&str>, Vec<&str>) = views.iter().partition(|view| kept(view));
    assert!(answers(&example("fir", "sums"), &kept).iter().all(Result::is_ok));
    for answer in answers(&example("fir", "sums"), &missing) {
        let error = answer.expect_err("it has no rows");
        assert!(error.contains("sums only") && error.contains("--no-steps"), "{error}");
    }
}

/// What a build makes where nobody said what: all rows of a short run, with the run beside them.
#[test]
fn a_short_run_has_its_rows() {
    let scratch = Scratch::new("default");
    let [log, elf] = example_files("jpeg");
    let (default, pairs) = (scratch.path("default.duckdb"), example("jpeg", "rows"));
    load(&log, &elf, &default, &[]);
    let connection = attached([(&default, "made"), (&pairs, "pairs")]);
    let sql = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'pairs'
               AND table_name NOT LIKE 'run_%' AND table_name NOT IN ('communication_row', 'communication_kind')";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |r| r.get::<_, String>(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).chain(["communication".into()]).collect();
    assert!(names.len() > 60);
    for name in names {
        let [a, b] = ["made", "pairs"].map(|db| format!("SELECT * FROM {db}.{name}"));
        assert_eq!(different(&connection, &a, &b), 0, "{name}");
    }
    let text = ok(&["verify", utf8(&default)]);
    let (runs, held) = ("SELECT count(*) FROM block_run", "run_chunk            equal     ");
    assert!(text.contains(&format!("{held}{} runs", rows(&default, runs)[0])), "{text}");
    change(
        &default,
        "UPDATE block_run SET thread_id = 2 WHERE start_seq = (SELECT min(start_seq) FROM block_run)",
    );
    let output = addfg(&["verify", utf8(&default)]);
    assert!(
        printed(&output).contains("1 only in run_chunk, first at step 1"),
        "{}",
        printed(&output)
    );
    // Without the run only sums.
    load(&log, &elf, &default, &["--no-steps"]);
    let sql = "SELECT value, (SELECT count(*) FROM run_chunk), (SELECT count(*) FROM function_call) FROM meta WHERE key = 'detail'";
    assert_eq!(rows(&default, sql), ["summary,0,0"]);
}
