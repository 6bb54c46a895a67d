//! The export to SQLite: nothing is lost, every report query gives the same on both engines, every
//! view command opens it.

use crate::common::*;
use addfg::internals::store::open::Trust;
use duckdb::types::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A value as text that both engines agree on: unsigned numbers as their two's complement, whole
/// ones without a fraction.
fn duck(value: Value) -> String {
    let real = |x: f64| if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.9}") };
    match value {
        Value::Null => "NULL".into(),
        Value::Boolean(b) => i64::from(b).to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::HugeInt(n) => n.to_string(),
        Value::UTinyInt(n) => n.to_string(),
        Value::USmallInt(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::UBigInt(n) => (n as i64).to_string(),
        Value::Float(x) => real(x.into()),
        Value::Double(x) => real(x),
        Value::Decimal(d) => real(d.to_string().parse().expect("decimal")),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(bytes) => format!("{bytes:02x?}"),
        other => panic!("{other:?}"),
    }
}

fn lite(value: rusqlite::types::ValueRef) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => "NULL".into(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => duck(Value::Double(x)),
        // Integers beyond 64 bits.
        ValueRef::Text(text) if text.len() > 18 && text.iter().all(u8::is_ascii_digit) => {
            String::from_utf8_lossy(text).into_owned()
        }
        ValueRef::Text(text) => format!("'{}'", std::str::from_utf8(text).expect("UTF-8")),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
    }
}

fn duck_rows(connection: &duckdb::Connection, sql: &str, parameters: &[Value]) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let mut rows = statement
        .query(duckdb::params_from_iter(parameters.iter().cloned()))
        .unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let columns = rows.as_ref().map_or(0, |s| s.column_count());
    let mut all = Vec::new();
    while let Some(row) = rows.next().expect("row") {
        all.push(
            (0..columns).map(|i| duck(row.get(i).expect("value"))).collect::<Vec<_>>().join(" | "),
        );
    }
    all
}

fn lite_rows(connection: &rusqlite::Connection, sql: &str, parameters: &[Value]) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    for (i, value) in parameters.iter().enumerate() {
        let at =
            statement.parameter_index(&format!("${}", i + 1)).expect("parameters").unwrap_or(i + 1);
        match value {
            Value::Null => statement.raw_bind_parameter(at, rusqlite::types::Null),
            Value::Boolean(b) => statement.raw_bind_parameter(at, b),
            Value::BigInt(n) => statement.raw_bind_parameter(at, n),
            Value::UBigInt(n) => statement.raw_bind_parameter(at, *n as i64),
            Value::Text(text) => statement.raw_bind_parameter(at, text),
            other => panic!("{other:?}"),
        }
        .expect("parameter");
    }
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap_or_else(|e| panic!("{e}\n{sql}")) {
        all.push(
            (0..columns)
                .map(|i| lite(row.get_ref(i).expect("value")))
                .collect::<Vec<_>>()
                .join(" | "),
        );
    }
    all
}

/// The fixture of hostile names and stubs with what lies at the end of the address space.
fn fixture(scratch: &Scratch) -> PathBuf {
    let db = scratch.copy(&small(), "small.duckdb");
    let connection = duckdb::Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "INSERT INTO variable VALUES (1, 'last', 'char', 1, 1, 3, 18446744073709551615, 1), (2, 'half', '', 1, 1, 4, 9223372036854775808, 8),
                                         (3, 'below', NULL, 1, NULL, NULL, 9223372036854775807, 1);
             INSERT INTO instruction VALUES
                 (1, 1, 1, 18446744071562067968, '\\x00\\xFF'::BLOB, 'call', 2, 1, 1, 7, 'call', 18446744071562068000, false, false, 3),
                 (2, 1, 1, 4096, NULL, NULL, 4, 2, 2, NULL, 'next', NULL, true, false, 9223372036854775807);
             INSERT INTO instruction_edge_row VALUES (1, 2, 1, 'heap', 8, 1), (NULL, 1, 8, 'stack', 16, 2);
             INSERT INTO communication_kind VALUES (1, 1, 0, false, 8), (2, 0, NULL, true, 4);
             INSERT INTO communication_row VALUES (9, 3, 1, 18446744073709551608), (9, NULL, 2, 0);
             INSERT INTO control_flow_row SELECT call_id, 1, call_id, function_id, call_seq, return_seq, 18446744073709551615, NULL
             FROM function_call;
             INSERT INTO diagnostic VALUES ('error', 'damaged', 'a <b> \"c\"', 2, 'log:3', 'none');
             INSERT INTO meta VALUES ('cycle_frequency', '1000');
             INSERT INTO function_time VALUES
                 (1, 3, 1, 2, 3, 3, 3, 6, 6, 6), (2, 1, 4, 9, 9, 9, 9, 9, NULL, 170141183460469231731687303715884105727);
             INSERT INTO dependence VALUES ('data', 1, 2, 1, 1, 7), ('control', 0, 1, 2, 2, 3), (NULL, NULL, NULL, 1, 1, 1);
             INSERT INTO dependence_edge VALUES ('data', 2, 1, 5), ('control', 1, 2, 3);
             INSERT INTO instruction_value VALUES (2, 1, 18446744073709551615, NULL), (1, 2, NULL, 'ff00');
             INSERT INTO basic_block (basic_block_id, kind, number, function_id, address, file_id, line, executions) VALUES
                 (1, 'block', 4, 1, 18446744073709551600, 1, 7, 3), (2, 'block', 5, 2, 18446744073709551600, NULL, NULL, 2);
             INSERT INTO cfg_edge VALUES (1, 7, 1, 1, 2, 'branch', 'X', 3), (2, 8, 1, 1, 1, 'bypass', NULL, 0), (3, 9, 1, 2, 1, 'return', NULL, 2);
             INSERT INTO cfg_edge_thread VALUES (1, 1, 3);
             INSERT INTO loop VALUES (1, NULL, 1, 1, NULL, 0, 1, 3, 12), (2, NULL, 2, 2, 1, 1, NULL, NULL, NULL);
             INSERT INTO loop_block VALUES (1, 1, true), (1, 2, false), (2, 2, true);
             INSERT INTO path_function VALUES (2, 18446744073709551615, true, 'x:1');
             INSERT INTO path_block VALUES (1, 2, 0, 'entry', 1), (2, 2, 1, 'block', 2);
             INSERT INTO path_edge VALUES (1, 2, 1, 2, false, 18446744073709551615, 3, NULL, NULL, NULL, 4);
             INSERT INTO path_block_line VALUES (1, 1, 7), (2, 1, 7), (2, 2, 8);
             INSERT INTO path_frame VALUES (1, 3, 2, 1, 7, 4, 1, false, 0, NULL, NULL);
             INSERT INTO executed_path VALUES (1, 1, 1, 'finished', 1, 3, NULL, 1, false), (2, 1, 2, 'current', 1, NULL, NULL, NULL, NULL);
             INSERT INTO executed_path_block VALUES (1, 1, 1), (1, 2, 2), (2, 1, 2);",
        )
        .expect("rows");
    db
}

/// The fixture and its export.
fn hostile(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let (db, sqlite) = (fixture(scratch), scratch.path("small.sqlite"));
    let calls = "INSERT INTO system_call_row VALUES (1, 50, 1, 0, 'read', 8);
         INSERT INTO system_call_access_row VALUES (1, 0, true, 18446744073709551608, 8, '<read: a>'), (1, 1, false, 4096, 1, NULL);
         INSERT INTO allocation_row VALUES (NULL, 1, 'allocate', 18446744073709551600, 15), (50, 1, 'reallocate', 8192, 7),
             (50, 1, 'free', 8192, NULL);
         INSERT INTO mapping_row VALUES (50, 1, 'move', 4096, 4096, NULL, 8192, NULL);
         INSERT INTO variable_field VALUES (1, '[].position.x', 4, 8, 16), (1, 'a|b', 0, 4, NULL);
         INSERT INTO inlined_call VALUES (1, 'twice_outer', 1, NULL, NULL, NULL), (2, 'inner', 1, 1, 1, 7);
         INSERT INTO inlined_instruction SELECT min(instruction_id), 2 FROM instruction";
    duckdb::Connection::open(&db).and_then(|db| db.execute_batch(calls)).expect("events");
    to_sqlite(&db, &sqlite);
    (db, sqlite)
}

#[test]
fn every_table_comes_back_as_it_was() {
    let scratch = Scratch::new("sqlite-tables");
    for (db, sqlite) in [hostile(&scratch), (example("fir", "pairs"), example_sqlite("fir"))] {
        let (before, after) = (open(&db), open(&sqlite));
        let stock = rusqlite::Connection::open(&sqlite).expect("SQLite");
        let tables = duck_rows(
            &before,
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1",
            &[],
        );
        assert!(tables.len() > 25, "{tables:?}");
        for table in tables {
            let table = table.trim_matches('\'');
            let sql = format!("SELECT * FROM {table}");
            if addfg::internals::store::sqlite::LEFT_OUT.contains(&table) {
                assert_eq!(duck_rows(&after, &format!("SELECT count(*) FROM {table}"), &[]), ["0"]);
                continue;
            }
            let rows = duck_rows(&before, &sql, &[]);
            let mut left = rows.clone();
            if table == "meta" {
                left.push("'low_level' | 'left out by export --to sqlite'".into());
            }
            assert_eq!(left, lite_rows(&stock, &sql, &[]), "{table} in SQLite");
            assert_eq!(left, duck_rows(&after, &sql, &[]), "{table} read back");
        }
        let mut views = 0;
        for view in addfg::internals::store::sqlite::views() {
            let name = view.split_whitespace().next().expect("name");
            let sql = format!("SELECT * FROM {name}");
            let (mut a, mut b) = (duck_rows(&before, &sql, &[]), lite_rows(&stock, &sql, &[]));
            a.sort();
            b.sort();
            assert_eq!(a, b, "{name}");
            views += 1;
        }
        assert!(views >= 6);
    }
}

#[test]
fn addresses_at_the_end_of_the_address_space_survive() {
    let scratch = Scratch::new("sqlite-addresses");
    let (_, sqlite) = hostile(&scratch);
    let stock = rusqlite::Connection::open(&sqlite).expect("SQLite");
    assert_eq!(
        lite_rows(
            &stock,
            "SELECT name, printf('0x%x', address) FROM variable ORDER BY variable_id",
            &[]
        ),
        [
            "'last' | '0xffffffffffffffff'",
            "'half' | '0x8000000000000000'",
            "'below' | '0x7fffffffffffffff'"
        ]
    );
    assert_eq!(
        rows(&sqlite, "SELECT name, address, size FROM variable ORDER BY address"),
        [
            "below,9223372036854775807,1",
            "half,9223372036854775808,8",
            "last,18446744073709551615,1"
        ]
    );
    assert_eq!(
        rows(&sqlite, "SELECT max(address), max(target) FROM instruction"),
        ["18446744071562067968,18446744071562068000"]
    );
    // What columns are, in SQLite, too.
    let comment = "SELECT type, comment FROM column_comment WHERE table_name = 'variable' AND column_name = 'address'";
    assert_eq!(lite_rows(&stock, comment, &[]), ["'UBIGINT' | 'Run-time address'"]);
}

/// Temporary tables and views that queries need, in words of both engines.
const NEEDS: &str = "
    CREATE TEMP TABLE call_partner AS
        SELECT reader_call_id AS call_id, true AS reads, writer_function_id AS other, bytes FROM dataflow UNION ALL
        SELECT writer_call_id, false, reader_function_id, bytes FROM dataflow WHERE writer_call_id IS NOT NULL;
    CREATE TEMP TABLE merged AS SELECT call_id, into_call_id, steps_self FROM folded_call WHERE into_call_id <> call_id;
    CREATE TEMP TABLE merged_function AS SELECT DISTINCT function_id FROM folded_call;
    CREATE TEMP TABLE near AS SELECT CAST(call_id AS BIGINT) AS node, 0 AS distance FROM function_call
        WHERE call_id IN (3, 4, 8) AND call_id NOT IN (SELECT call_id FROM merged) UNION ALL SELECT -function_id, 1 FROM function_symbol
        WHERE kind = 'pseudo';
    CREATE TEMP TABLE group_of AS SELECT call_id, CAST(1 + call_id % 3 AS BIGINT) AS node FROM function_call;
    CREATE TEMP TABLE expanded AS SELECT function_id FROM function_symbol WHERE function_id IN (1, 2, 5);
    CREATE TEMP TABLE part AS SELECT instruction_id, CAST(4294967296 + instruction_id - instruction_id % 3 AS BIGINT) AS node FROM instruction
        WHERE function_id IN (SELECT function_id FROM expanded);
    CREATE TEMP TABLE function_group AS SELECT function_id, 2 AS node, 'pair' AS name FROM function_symbol WHERE function_id IN (2, 4);
    CREATE TEMP TABLE writer_function AS SELECT function_id FROM function_symbol WHERE function_id IN (1, 3, 4, 6);
    CREATE TEMP TABLE reader_function AS SELECT function_id FROM function_symbol WHERE function_id IN (2, 4, 5, 7);
    CREATE TEMP TABLE allocated AS SELECT return_seq AS seq FROM function_call WHERE call_id % 2 = 0;
    CREATE TEMP TABLE all_parts AS SELECT instruction_id, node FROM part WHERE instruction_id % 2 = 0;";

/// What to ask of a query: a set of parameters is the n-th value of each.
fn values(name: &str) -> Vec<Value> {
    let number = |list: &[i64]| list.iter().map(|&n| Value::BigInt(n)).collect();
    let text = |list: &[&str]| list.iter().map(|&t| Value::Text(t.into())).collect();
    match name {
        "function" => vec![Value::BigInt(2), Value::Null, Value::BigInt(5)],
        "instance" => vec![Value::Null, Value::BigInt(1), Value::BigInt(2)],
        "limit" | "top" => number(&[1000, 3, 1]),
        "call" => number(&[1, 5, 3, 8]),
        "first" => number(&[1, 20, 0]),
        "last" => number(&[100, 60, 2_000_000_000]),
        "seconds" => vec![Value::Boolean(false), Value::Boolean(true)],
        "data" => vec![Value::Boolean(true), Value::Boolean(true), Value::Boolean(false)],
        "inside" => vec![Value::Boolean(true), Value::Boolean(false), Value::Boolean(true)],
        "calls" => vec![Value::Boolean(true), Value::Boolean(false), Value::Boolean(true)],
        "text" => text(&[
            "main",
            "B",
            "a.c:twice",
            "_ZN2ns1fEi",
            "ns::f",
            "/src/lib/b.c:ns::f",
            "fir.c:fir",
            "input",
            "twice",
            "",
        ]),
        "pattern" => text(&["f*", "*.c", "fir.c:?ir", "/src/a.c", "nothing"]),
        "address" => vec![
            Value::UBigInt(4100),
            Value::UBigInt(18_446_744_071_562_067_968),
            Value::UBigInt(4096),
        ],
        "file" => text(&["a.c", "/src/a.c", "fir.c"]),
        "line" => number(&[7, 7, 20]),
        "weight" => text(&["steps", "bytes"]),
        other => panic!("no value for parameter {other}"),
    }
}

/// Every report query runs on both engines with equal rows, or says that it is DuckDB's alone, and
/// is.
#[test]
fn report_queries_agree() {
    let scratch = Scratch::new("sqlite-queries");
    let folder = repository("queries/report");
    let mut queries: BTreeMap<String, String> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("queries") {
        let path = entry.expect("entry").path();
        queries.insert(
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            std::fs::read_to_string(&path).unwrap(),
        );
    }
    // How often a query gave rows.
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let prepared = |name: &str| {
        let db = scratch.copy(&example(name, "pairs"), &format!("{name}.duckdb"));
        ok(&["prepare", utf8(&db), "--quiet"]);
        let sqlite = scratch.path(&format!("{name}.sqlite"));
        to_sqlite(&db, &sqlite);
        (db, sqlite)
    };
    let [fir, jpeg] = ["fir", "jpeg"].map(prepared);
    for (db, sqlite) in [hostile(&scratch), fir, jpeg] {
        let engine = open(&db);
        let other = rusqlite::Connection::open(&sqlite).expect("SQLite");
        other
            .execute(
                "DELETE FROM meta WHERE key = ?",
                [addfg::internals::store::sqlite::LEFT_OUT_KEY],
            )
            .expect("meta");
        engine.execute_batch(NEEDS).expect("temporary tables");
        other.execute_batch(NEEDS).expect("temporary tables");
        for name in ["instance_flow", "instance_call"] {
            let sql = format!("CREATE TEMP VIEW {name} AS {}", queries[name]);
            engine.execute_batch(&sql).expect(name);
            other.execute_batch(&sql).expect(name);
        }
        for (table, name) in [
            ("export_call", "export_calls"),
            ("near_call", "instance_self"),
            ("near_part", "near_part"),
            ("near_flow", "near_flow"),
            ("near_read", "near_read"),
            ("near_written", "near_written"),
        ] {
            let calls = format!("CREATE TEMP TABLE {table} AS {}", queries[name]);
            engine.execute_batch(&calls).expect(name);
            other.execute_batch(&calls).expect(name);
        }
        let path = db.display();
        for (name, sql) in &queries {
            if let Some(reason) = sql.lines().find_map(|l| l.strip_prefix("-- duckdb-only: ")) {
                assert!(reason.len() > 8, "{name}: say why");
                assert!(
                    other.prepare(sql).is_err(),
                    "{name} runs on SQLite: it is not DuckDB's alone"
                );
                continue;
            }
            if name == "diff" {
                continue;
            }
            let parameters: Vec<&str> = sql
                .lines()
                .filter_map(|l| l.strip_prefix("-- param "))
                .map(|l| l.split(' ').next().unwrap())
                .collect();
            let sets = parameters.iter().map(|p| values(p).len()).max().unwrap_or(1);
            for set in 0..sets {
                let chosen: Vec<Value> = parameters
                    .iter()
                    .map(|p| {
                        let values = values(p);
                        values[set % values.len()].clone()
                    })
                    .collect();
                let (mut a, mut b) =
                    (duck_rows(&engine, sql, &chosen), lite_rows(&other, sql, &chosen));
                // The engines put NULL at other ends.
                a.sort();
                b.sort();
                *seen.entry(name.as_str()).or_default() += usize::from(!a.is_empty());
                assert_eq!(a, b, "{name} with {chosen:?} on {path}");
            }
        }
    }
    // The programs of these databases have no run-time system: names.rs has some that do.
    let rare = [
        "html_call_time",
        "export_timed_calls",
        "export_call_edges",
        "start_up",
        "instruction_call_sites",
        "html_thread_data",
        // It asks for calls that are not there, as only in rows of some chunks (packed.rs).
        "flows_callers",
    ];
    let never: Vec<&str> = seen
        .into_iter()
        .filter(|(name, rows)| *rows == 0 && !rare.contains(name))
        .map(|(name, _)| name)
        .collect();
    assert!(never.is_empty(), "{never:?} never gave a row: they were not tested");
}

#[test]
fn differences_of_two_databases_agree() {
    let (one, two) = (example("fir", "pairs"), example("jpeg", "pairs"));
    let (one_lite, two_lite) = (example_sqlite("fir"), example_sqlite("jpeg"));
    let sql = std::fs::read_to_string(repository("queries/report/diff.sql")).unwrap();
    let engine = addfg::internals::store::open::open_both(&one, &two, Trust::Schema).unwrap();
    let other = rusqlite::Connection::open(&one_lite).unwrap();
    other.execute_batch(&format!("ATTACH '{}' AS other", two_lite.display())).unwrap();
    let (mut a, mut b) = (duck_rows(&engine, &sql, &[]), lite_rows(&other, &sql, &[]));
    a.sort();
    b.sort();
    assert!(a.len() > 50);
    assert_eq!(a, b);
    let text = |p: &PathBuf| p.to_str().unwrap().to_owned();
    let whole = ok(&["diff", &text(&one), &text(&two), "--limit", "0"]);
    for (x, y) in [(&one, &two_lite), (&one_lite, &two), (&one_lite, &two_lite)] {
        assert_eq!(ok(&["diff", &text(x), &text(y), "--limit", "0"]), whole);
    }
}

/// Every view command gives the same as from the DuckDB file, or says why it needs that.
#[test]
fn every_view_command_opens_it() {
    let (db, sqlite) = (example("fir", "pairs"), example_sqlite("fir"));
    let same: &[&str] = &[
        "graph",
        "graph --format json",
        "graph --format graphml",
        "graph --format flamegraph",
        "graph --level instance",
        "graph --level instance --focus fir#2",
        "graph --level instruction --focus fir",
        "graph --level line",
        "graph --level context",
        "graph --level file",
        "graph --level image",
        "graph --level thread",
        "graph --focus fir#2",
        "graph --stubs show",
        "graph --expand fir",
        "flows produce fir --sum",
        "flows produce,filter fir,multiply --sum",
        "calls",
        "calls fir",
        "calls --tree",
        "calls --functions",
        "calls --timeline",
        "instances fir",
        "matrix",
        "memory --show functions",
        "memory --show functions --group core=fir,multiply",
        "export --to callgrind -o -",
        "export --to chrome -o -",
    ];
    let run = |database: &Path, command: &str| {
        let mut words = command.split(' ');
        let mut arguments = vec![words.next().unwrap(), database.to_str().unwrap()];
        arguments.extend(words);
        addfg(&arguments)
    };
    for command in same {
        let (a, b) = (run(&db, command), run(&sqlite, command));
        assert!(a.status.success() && !a.stdout.is_empty(), "{command}");
        assert_eq!(
            String::from_utf8_lossy(&a.stdout),
            String::from_utf8_lossy(&b.stdout),
            "{command}: {b:?}"
        );
    }
    let only_duckdb = [
        "graph --level step --focus fir#2",
        "graph --level block",
        "graph --level loop",
        "graph --strategy bottom-up",
        "flows produce fir",
        "slice --at output",
        "loops",
        "memory",
        "critical",
    ];
    for command in only_duckdb {
        assert!(run(&db, command).status.success(), "{command}");
        let output = run(&sqlite, command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {error}");
        assert!(error.contains("use the DuckDB file"), "{command}: {error}");
    }
    let verify = run(&sqlite, "verify");
    assert!(String::from_utf8_lossy(&verify.stdout).contains("use the DuckDB file"));
    assert!(
        String::from_utf8_lossy(&run(&sqlite, "info --all").stdout).contains("left out by export")
    );
    refused(&["sql", utf8(&sqlite), "DELETE FROM meta", "--write"], &["only reads"]);
}

#[test]
fn what_is_no_export_is_refused() {
    let scratch = Scratch::new("sqlite-open");
    let make = |name: &str, sql: &str| {
        let path = scratch.path(name);
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    };
    let of = |version: u32| {
        format!(
            "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('schema_version', '{version}');"
        )
    };
    let version = of(addfg::internals::store::SCHEMA_VERSION);
    let text = |sql: &str| format!("{version} {sql}");
    let cases = [
        (make("other", "CREATE TABLE t (x)"), "none of addfg"),
        (make("newer", &of(999)), "newer addfg"),
        (make("column", &text("CREATE TABLE thread (thread_id)")), "no such column"),
        (
            make(
                "type",
                &text(
                    "CREATE TABLE process (process_id, pid, name); INSERT INTO process VALUES ('one', 1, 2)",
                ),
            ),
            "process_id of table process",
        ),
        (
            make(
                "range",
                &text(
                    "CREATE TABLE process (process_id, pid, name); INSERT INTO process VALUES (99999999999, 1, 'x')",
                ),
            ),
            "cannot be opened",
        ),
        (
            make(
                "null",
                &text(
                    "CREATE TABLE process (process_id, pid, name); INSERT INTO process VALUES (NULL, 1, 'x')",
                ),
            ),
            "cannot be opened",
        ),
    ];
    for (path, says) in cases {
        refused(&["info", utf8(&path)], &[says]);
    }
    // Damaged in the middle.
    let mut bytes = std::fs::read(example_sqlite("fir")).unwrap();
    let half = bytes.len() / 2;
    bytes[half..half + 20_000].fill(0x5a);
    let sqlite = scratch.write("damaged.sqlite", &bytes);
    let output = addfg(&["graph", utf8(&sqlite)]);
    assert_ne!(output.status.code(), Some(101), "{}", String::from_utf8_lossy(&output.stderr));
}
