//! Reports of the command line: `sql`, `flows`, opening, help.

use crate::common::*;
use std::path::Path;

fn fir() -> String {
    utf8(&example("fir", "pairs")).to_owned()
}

const TYPES: &str = "SELECT 18446744073709551615::UBIGINT AS u, NULL AS n, '' AS e, '\\x00\\xff'::BLOB AS b, [1, NULL, 3] AS l,
    170141183460469231731687303715884105727::HUGEINT AS h, 'a\"b,' || chr(10) || chr(27) || '[31m' AS t, 1.50::DECIMAL(5, 2) AS d,
    {'x': 1, 'y': 'z'} AS s, TIMESTAMP '2024-02-29 23:59:58.5' AS ts, DATE '1969-12-31' AS day, true AS yes, 0.1::DOUBLE AS f";

#[test]
fn every_type_in_every_format() {
    let db = fir();
    let show = |format: &str| ok(&["sql", &db, TYPES, "--format", format]);
    insta::assert_snapshot!("types_csv", show("csv"));
    insta::assert_snapshot!("types_json", show("json"));
    insta::assert_snapshot!("types_table", show("table"));
    assert_eq!(ok(&["sql", &db, "SELECT 1 AS x WHERE false", "--format", "json"]), "[]\n");
}

#[test]
fn sql_is_read_only_unless_told_otherwise() {
    let scratch = Scratch::new("write");
    let db = scratch.copy(Path::new(&fir()), "fir.duckdb");
    let db = utf8(&db);
    refused(&["sql", db, "DELETE FROM instruction"], &["read-only"]);
    ok(&["sql", db, "CREATE TABLE mine (x INTEGER)", "--write"]);
    let file = scratch.path("query.sql");
    std::fs::write(&file, "INSERT INTO mine VALUES (1); SELECT count(*) AS n FROM mine").unwrap();
    assert_eq!(
        ok(&["sql", db, "-f", file.to_str().unwrap(), "--write", "--format", "csv"]),
        "n\n1\n"
    );
}

#[test]
fn every_communication_between_two_functions() {
    let db = fir();
    let flows = |arguments: &[&str]| {
        let mut all = vec!["flows", &db];
        all.extend(arguments);
        ok(&all)
    };
    insta::assert_snapshot!("flows", flows(&["produce", "fir", "--instance", "2"]));
    insta::assert_snapshot!("flows_sum", flows(&["produce", "fir", "--sum"]));
    insta::assert_snapshot!(
        "flows_unwritten",
        flows(&["<image .rodata>", "fir", "--limit", "4", "--format", "csv"])
    );
    // Every pair has as many bytes as the function level says.
    let edges = rows(
        Path::new(&db),
        "SELECT writer, reader, sum(bytes) FROM function_dataflow WHERE writer <> reader GROUP BY ALL ORDER BY ALL",
    );
    assert!(edges.len() > 5);
    for edge in edges {
        let [writer, reader, bytes] = edge.split(',').collect::<Vec<_>>()[..] else {
            panic!("{edge}")
        };
        let listed = flows(&[writer, reader, "--limit", "0", "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let sum: u64 =
            listed.as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum.to_string(), bytes, "{writer} to {reader}");
    }
    let bare = example("fir", "rows");
    refused(&["flows", utf8(&bare), "fir", "fir"], &["--detail full"]);
}

#[test]
fn what_is_no_database_is_refused_with_a_remedy() {
    let scratch = Scratch::new("open");
    let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    std::fs::write(scratch.path("text"), "==1== Lackey\n").unwrap();
    let make = |name: &str, sql: &str| {
        duckdb::Connection::open(scratch.path(name)).unwrap().execute_batch(sql).unwrap();
    };
    make("other", "CREATE TABLE t (x INTEGER)");
    make(
        "newer",
        "CREATE TABLE meta (key VARCHAR, value VARCHAR); INSERT INTO meta VALUES ('schema_version', '999')",
    );
    make(
        "older",
        "CREATE TABLE meta (key VARCHAR, value VARCHAR); INSERT INTO meta VALUES ('schema_version', '0')",
    );
    std::fs::write(scratch.path("damaged"), [&[0; 8], &b"DUCK"[..], &[7; 9000]].concat()).unwrap();
    for (name, says) in [
        ("missing", "addfg build TRACE"),
        ("", "is a folder"),
        ("text", "is neither a DuckDB nor a SQLite database"),
        ("other", "none of addfg"),
        ("newer", "newer addfg"),
        ("older", "build it again"),
        ("damaged", "cannot be opened"),
    ] {
        refused(&["info", &path(name)], &[says]);
    }
    let db = fir();
    refused(&["graph", &db, "--format", "dot", "-o", &db], &["-o names the picture"]);
}

#[test]
fn help() {
    // A program that trycmd does not find is ignored, not missed.
    let program = Path::new(env!("CARGO_BIN_EXE_addfg")).to_owned();
    trycmd::TestCases::new().register_bin("addfg", program).case("tests/cli/*.trycmd");
}

#[test]
fn nobody_reading_any_more_is_no_error() {
    let db = example("fir", "pairs");
    for arguments in [&["info"][..], &["sql", "FROM opcode_line, range(100)"], &["graph"]] {
        let (name, more) = arguments.split_first().expect("a command");
        let mut command = command(&[&[name, utf8(&db)], more].concat());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("addfg runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("addfg ends");
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""), "{arguments:?}");
    }
}
