//! Databases that a stranger made: nothing in them is run, and no other file is read or written.

use crate::common::*;
use duckdb::Connection;
use std::path::{Path, PathBuf};

const SECRET: &str = "the contents of another file";

/// A database that was built, changed by these statements; `$F` is the scratch folder.
fn changed(scratch: &Scratch, name: &str, statements: &str) -> PathBuf {
    let db = scratch.copy(&example("fir", "pairs"), name);
    let folder = utf8(&scratch.0).to_owned();
    let connection = Connection::open(&db).expect("opens");
    connection.execute_batch(&statements.replace("$F", &folder)).expect(statements);
    connection.close().expect("closes");
    db
}

/// Files of a folder with their contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> =
        paths.map(|p| (p.clone(), std::fs::read(p).unwrap_or_default())).collect();
    files.sort();
    files
}

/// What a hostile file may define in place of what addfg makes, and what is said of it.
const HOSTILE: [(&str, &str); 9] = [
    ("DROP VIEW call_graph; CREATE VIEW call_graph AS SELECT content AS caller FROM read_text('$F/secret')", "view call_graph"),
    ("ALTER TABLE meta RENAME TO m2; CREATE VIEW meta AS SELECT key, CASE WHEN key = 'isa' THEN (SELECT content FROM read_text('$F/secret'))
      ELSE value END AS value FROM m2", "no table meta"),
    ("ALTER TABLE input RENAME TO i2; CREATE VIEW input AS SELECT * REPLACE ((SELECT content FROM read_text('$F/secret')) AS path) FROM i2",
     "table input"),
    ("CREATE VIEW logs AS FROM enable_logging(storage = 'file', storage_path = '$F/log')", "view logs"),
    ("CREATE VIEW profile AS FROM enable_profiling(format = 'json', save_location = '$F/profile.json')", "view profile"),
    ("CREATE SCHEMA own; CREATE TABLE own.t (a INTEGER, b INTEGER GENERATED ALWAYS AS (a + 1))", "own.t"),
    ("CREATE SEQUENCE s", "sequence s"),
    ("CREATE TYPE mood AS ENUM ('x')", "type mood"),
    // Macros go before DuckDB's functions of their names, operators too: these hide the view.
    ("CREATE VIEW hidden AS SELECT 1; CREATE MACRO duckdb_views() AS TABLE
      SELECT 'main' AS schema_name, '' AS view_name, '' AS sql, '' AS database_name, true AS internal, true AS temporary;
      CREATE MACRO duckdb_tables() AS TABLE SELECT 'main' AS schema_name, 'meta' AS table_name, '' AS sql,
      '' AS database_name, false AS internal, false AS temporary
      FROM enable_logging(storage = 'file', storage_path = '$F/log'); CREATE MACRO current_database() AS 'system';
      CREATE MACRO \"||\"(a, b) AS 'table meta'", "view hidden"),
];

#[test]
fn a_database_with_other_views_is_refused_and_reaches_no_file() {
    for (i, (statements, named)) in HOSTILE.iter().enumerate() {
        let scratch = Scratch::new("foreign");
        scratch.write("secret", SECRET);
        let db = changed(&scratch, &format!("evil{i}.duckdb"), statements);
        let (db, page) = (utf8(&db), scratch.path("page.html"));
        let before = contents(&scratch.0);
        for command in [
            &["info", db][..],
            &["graph", db],
            &["calls", db],
            &["report", db, "-o", utf8(&page)],
            &["export", db, "--to", "csv", "-o", utf8(&scratch.path("out"))],
            &["sql", db, "SELECT 1"],
            &["diff", utf8(&example("fir", "pairs")), db],
        ]
        .into_iter()
        // All commands open databases by one function: each with the first file, some with each.
        .step_by(if i == 0 { 1 } else { 3 })
        {
            if *named == "no table meta" {
                refused(command, &["none of addfg"]);
                continue;
            }
            refused(command, &[named, "--trust"]);
            let output = addfg(&[command, &["--trust"]].concat());
            assert!(output.status.code().is_some(), "{command:?}");
            let all = printed(&output) + &said(&output);
            assert!(!all.contains(SECRET), "{command:?}: {all}");
            let _ = std::fs::remove_dir_all(scratch.path("out"));
            let written = std::fs::read(&page).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&written).contains(SECRET));
            let _ = std::fs::remove_file(&page);
        }
        assert!(contents(&scratch.0) == before, "{statements}");
    }
}

/// What a macro of addfg's says is what addfg says, also where the file has another one.
#[test]
fn macros_are_those_of_the_schema() {
    let scratch = Scratch::new("foreign-macro");
    let other =
        "DROP MACRO TABLE steps; CREATE MACRO steps(lo, hi) AS TABLE SELECT 'made up' AS seq";
    let db = changed(&scratch, "db.duckdb", other);
    let steps = |db| ok(&["sql", utf8(db), "FROM steps(1, 5)"]);
    assert_eq!(steps(&db), steps(&example("fir", "pairs")));
}

#[test]
fn views_of_ones_own_are_shown_on_demand() {
    let scratch = Scratch::new("own-view");
    let db =
        changed(&scratch, "db.duckdb", "CREATE VIEW mine AS SELECT count(*) AS n FROM call_graph");
    refused(&["sql", utf8(&db), "FROM mine"], &["addfg makes no view mine", "--trust"]);
    assert!(ok(&["sql", utf8(&db), "FROM mine", "--trust"]).contains('n'));
    assert_eq!(
        ok(&["graph", utf8(&db), "--trust"]),
        ok(&["graph", utf8(&example("fir", "pairs"))])
    );
}

/// Statements that write, read or change something outside the query.
const OUTSIDE: [&str; 16] = [
    "COPY (SELECT 1) TO '$F/out.csv'",
    "COPY (SELECT 1) TO '$F/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '$F/all'",
    "ATTACH '$F/new.duckdb' AS n",
    "FROM read_text('$F/secret')",
    "FROM read_csv('$F/secret', header = false)",
    "FROM '$F/secret.csv'",
    "FROM glob('$F/*')",
    "INSTALL httpfs",
    "LOAD '$F/secret'",
    "CREATE PERSISTENT SECRET s (TYPE http)",
    "SET temp_directory = '$F/tmp'",
    "SET log_query_path = '$F/log'",
    "CALL enable_logging(storage = 'file', storage_path = '$F/log')",
    "CALL enable_profiling(format = 'json', save_location = '$F/profile.json')",
    "SET lock_configuration = false",
];

#[test]
fn sql_writes_and_reads_no_other_file() {
    let scratch = Scratch::new("sql-outside");
    scratch.write("secret", SECRET);
    scratch.write("secret.csv", "a\n1\n");
    let db = scratch.copy(&example("fir", "pairs"), "db.duckdb");
    let before = contents(&scratch.0);
    for sql in OUTSIDE {
        let sql = sql.replace("$F", utf8(&scratch.0));
        for more in [&[][..], &["--trust"]] {
            let output = addfg(&[&["sql", utf8(&db), &sql], more].concat());
            let all = printed(&output) + &said(&output);
            assert!(!all.contains(SECRET), "{sql}: {all}");
        }
    }
    for sql in ["DELETE FROM meta", "CREATE TABLE t (a INTEGER)", "DROP VIEW call_graph"] {
        refused(&["sql", utf8(&db), sql], &["read-only"]);
    }
    assert!(contents(&scratch.0) == before);
    let out = scratch.path("out.csv");
    let copy = format!("COPY (SELECT 1 AS one) TO '{}'", utf8(&out));
    ok(&["sql", utf8(&db), &copy, "--files"]);
    assert_eq!(std::fs::read_to_string(out).unwrap(), "one\n1\n");
}

/// Statements that would write a file, or change more than the query; `$T` is what they name.
const WRITING: [&str; 26] = [
    "COPY (SELECT 42 AS x) TO '$T' (FORMAT csv, USE_TMP_FILE false)",
    "COPY (SELECT 'x'::BLOB) TO '$T' (FORMAT blob)",
    "COPY meta TO '$T'",
    "COPY (SELECT 1) TO '$T' (FORMAT parquet, USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '$T' (FORMAT json, PER_THREAD_OUTPUT true, OVERWRITE_OR_IGNORE true)",
    "/* SELECT */ COPY (SELECT 1) TO '$T' (USE_TMP_FILE false)",
    "SELECT 1; COPY (SELECT 1) TO '$T' (USE_TMP_FILE false); SELECT 2",
    "SELECT 1 -- ;\n; COPY (SELECT 1) TO '$T' (USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '$T' (USE_TMP_FILE false)",
    "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '$T' (USE_TMP_FILE false)",
    "PREPARE p AS COPY (SELECT 1) TO '$T' (USE_TMP_FILE false); EXECUTE p",
    "BEGIN; COPY (SELECT 1) TO '$T' (USE_TMP_FILE false); COMMIT",
    "EXPORT DATABASE '$T'",
    "ATTACH '$T' AS n",
    "ATTACH '$T' AS n (READ_WRITE)",
    "COPY FROM DATABASE db TO memory",
    "CALL enable_logging(level = 'trace', storage = 'file', storage_path = '$T'); SELECT 1",
    "CALL enable_logging(level = 'trace', storage = 'file', storage_path = '$T', storage_normalize = false); SELECT 1",
    "FROM system.main.enable_logging(level = 'trace', storage = 'file', storage_path = '$T'); SELECT 1",
    "FROM query('FROM enable_' || 'logging(level = ''trace'', storage_path = ''$T'')'); SELECT 1",
    "CREATE TEMP VIEW v AS FROM enable_logging(level = 'trace', storage_path = '$T'); FROM v; SELECT 1",
    "CREATE TEMP MACRO m() AS TABLE FROM enable_logging(level = 'trace', storage_path = '$T'); FROM m(); SELECT 1",
    "CALL enable_profiling(format = 'json', save_location = '$T'); SELECT 1",
    "PRAGMA enable_profiling = 'json'; PRAGMA profiling_output = '$T'; SELECT 1",
    "SET temp_directory = '$T'; SELECT 1",
    "PRAGMA import_database('$T')",
];

/// Each of them, with each file that DuckDB lets a read-only connection write, and others; no file
/// is made, changed or gone, and the program ends as it should.
#[test]
fn sql_that_only_reads_changes_no_file() {
    let scratch = Scratch::new("sql-reads");
    let db = scratch.copy(&example("fir", "pairs"), "db.csv");
    let lake = scratch.path("lake");
    ok(&["collect", utf8(&example("fir", "instance")), "-o", utf8(&lake)]);
    let sqlite = scratch.copy(&example_sqlite("fir"), "db.sqlite");
    std::os::unix::fs::symlink(&db, scratch.path("link")).unwrap();
    std::fs::hard_link(&db, scratch.path("hard")).unwrap();
    let all = || {
        let files = |folder: &Path| contents(folder);
        (files(&scratch.0), files(&lake), files(&lake.join("_runs")))
    };
    let before = all();
    for (asked, targets) in [
        (&db, &["db.csv", "db.csv.wal", "db.csv.tmp/x.csv", "link", "hard", "new.csv"][..]),
        (&lake, &["lake/_schema.json", "lake/x.csv", "lake/_runs/x", "db.csv"]),
        (&sqlite, &["db.sqlite", "new.csv"]),
    ] {
        for (i, sql) in WRITING.iter().enumerate() {
            // Each statement with some of the files, each file with many statements.
            for (_, target) in targets.iter().enumerate().filter(|(n, _)| i < 2 || n % 3 == i % 3) {
                let sql = sql.replace("$T", utf8(&scratch.path(target)));
                let output = addfg(&["sql", utf8(asked), &sql]);
                assert_eq!(output.status.code(), Some(2), "{sql}: {}", said(&output));
                assert!(!said(&output).contains("terminate"), "{sql}: {}", said(&output));
            }
        }
        assert!(all() == before, "{asked:?}");
    }
    // By a relative name, too, as in the folder of the database.
    let mut there = command(&["sql", "db.csv", "COPY (SELECT 1) TO 'db.csv' (USE_TMP_FILE false)"]);
    assert_eq!(there.current_dir(&scratch.0).output().unwrap().status.code(), Some(2));
    assert!(all() == before);
}

/// Who may do all may not ask for threads that cannot be had: DuckDB began them without end.
#[test]
fn threads_are_as_many_as_a_machine_has() {
    let scratch = Scratch::new("sql-threads");
    let db = scratch.copy(&example("fir", "pairs"), "db.duckdb");
    for sql in [
        "SET threads = 100000",
        "set global Threads to '100000'",
        "PRAGMA threads=100000",
        "SELECT 1; /* more */ SET worker_threads = 4000; SELECT 2",
        "SET external_threads = 1000000000",
        "SET threads = 0",
    ] {
        for more in ["--write", "--files"] {
            refused(&["sql", more, utf8(&db), sql], &["threads cannot be had", "256"]);
        }
    }
    ok(&["sql", "--write", utf8(&db), "SET threads = 2; SELECT 1"]);
}

/// What changes the session for the worse, or is no query at all.
#[test]
fn sql_sets_only_what_its_own_queries_set() {
    let db = example("fir", "pairs");
    for sql in [
        "SET threads = 100000",
        "SET GLOBAL threads TO '100000'",
        "PRAGMA threads = 100000",
        "SET external_threads = 2",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET allowed_paths = ['/']",
        "SET enable_logging = true",
        "SET log_query_path = '/tmp/x'",
        "SET custom_extension_repository = '/tmp'",
        "RESET temp_directory",
        "CALL enable_peg_parser()",
        "FROM enable_peg_parser()",
        "INSTALL httpfs",
        "LOAD '/tmp/x'",
        "UPDATE EXTENSIONS",
        "CREATE SECRET s (TYPE http)",
        "CREATE PERSISTENT SECRET s (TYPE http)",
        "DETACH db",
        "CHECKPOINT",
        "FORCE CHECKPOINT",
        "VACUUM",
    ] {
        let error = refused(&["sql", utf8(&db), sql], &[]);
        assert!(error.starts_with("addfg: "), "{sql}: {error}");
    }
    for sql in [
        "SET threads = 2; SELECT 1 AS a",
        "SET memory_limit = '100MB'; SELECT 1 AS a",
        "SET VARIABLE x = 1; SELECT getvariable('x') AS a",
        "WITH x AS (SELECT 1 AS a) FROM x",
        "CREATE TEMP TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); DELETE FROM t WHERE a = 2; FROM t",
        "SELECT '; COPY x TO ''y'' ;' <> '' AS b, 1 AS a; -- ; and no more",
        "CREATE TEMP MACRO m(x) AS x; SELECT m(1) AS a",
    ] {
        let rows = ok(&["sql", utf8(&db), sql, "--format", "csv"]);
        assert!(rows.ends_with("1\n"), "{sql}: {rows}");
    }
    for sql in [
        "EXPLAIN ANALYZE FROM meta",
        "DESCRIBE meta",
        "SUMMARIZE meta",
        "SHOW TABLES",
        "PRAGMA table_info('meta')",
        "PIVOT meta ON key USING count(*)",
    ] {
        ok(&["sql", utf8(&db), sql]);
    }
    assert_eq!(ok(&["sql", utf8(&db), "COPY (SELECT 1 AS a) TO '/dev/stdout'"]), "a\n1\n");
}

/// With --files a query writes other files, but not the database that it was not allowed to.
#[test]
fn files_are_not_the_database() {
    let scratch = Scratch::new("sql-files");
    let db = scratch.copy(&example("fir", "pairs"), "db.duckdb");
    std::os::unix::fs::symlink(&db, scratch.path("link")).unwrap();
    let before = std::fs::read(&db).unwrap();
    for target in ["db.duckdb", "link", "db.duckdb.wal", "./db.duckdb", "db.duckdb.tmp/x"] {
        let target = scratch.path(target);
        let sql = format!("COPY (SELECT 1) TO '{}' (USE_TMP_FILE false)", utf8(&target));
        refused(&["sql", utf8(&db), &sql, "--files"], &["into the database"]);
        refused(&["sql", utf8(&db), &format!("SELECT 1; {sql}"), "--files"], &["--write"]);
    }
    assert!(std::fs::read(&db).unwrap() == before);
    assert!(!scratch.path("db.duckdb.wal").exists());
}

/// A macro of a stranger goes before DuckDB's functions, in addfg's own queries, too: it must not write
/// the database either, whatever that is called and from wherever it is asked.
#[test]
fn a_macro_of_a_stranger_writes_no_file() {
    let scratch = Scratch::new("foreign-macro-writes");
    let log = |path: &str| {
        format!(
            "(SELECT count(*) FROM system.main.enable_logging(level = 'trace', storage_path = '{path}', storage_normalize = false))"
        )
    };
    for path in ["db.csv", "$F/db.csv", "db.csv.tmp/x.csv", "new.csv"] {
        let body = log(&path.replace("$F", utf8(&scratch.0)));
        let names = ["max", "sum", "contains", "concat", "printf", "regexp_replace"];
        let macros = names.map(|name| format!("CREATE MACRO {name}(x) AS {body}"));
        let db = changed(&scratch, "db.csv", &macros.join(";"));
        let before = contents(&scratch.0);
        for arguments in [
            &["info", "db.csv"][..],
            &["memory", "db.csv"],
            &["objects", "db.csv"],
            &["loops", "db.csv"],
            &["critical", "db.csv"],
            &["calls", "db.csv"],
            &["diff", "db.csv", utf8(&example("fir", "pairs"))],
            &["diff", utf8(&example("fir", "pairs")), "db.csv"],
            &["sql", "db.csv", "SELECT max(1)"],
            &["sql", "db.csv", "@tables"],
        ] {
            let output = command(arguments).current_dir(&scratch.0).output().expect("addfg runs");
            assert!(output.status.code().is_some(), "{arguments:?}");
            assert!(contents(&scratch.0) == before, "{path} {arguments:?}: {}", said(&output));
        }
        std::fs::remove_file(db).unwrap();
    }
}
