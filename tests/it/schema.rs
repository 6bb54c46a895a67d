//! The empty database that builds begin with is what the statements of `schema/` make.

use crate::common::*;
use addfg::internals::store::catalog::lines;
use addfg::internals::store::{EMPTY, writer};
use duckdb::{AccessMode, Config, Connection};
use std::path::Path;

/// All that a catalog says of a database, a line a row.
fn catalog(path: &Path) -> Vec<String> {
    let config = Config::default().access_mode(AccessMode::ReadOnly).expect("a setting");
    let connection = Connection::open_with_flags(path, config).expect("opens");
    let mut lines = Vec::new();
    for sql in [
        "SELECT table_name, sql, comment, estimated_size FROM duckdb_tables() ORDER BY table_oid",
        "SELECT view_name, sql, comment FROM duckdb_views() WHERE NOT internal ORDER BY view_oid",
        "SELECT table_name, column_index, column_name, data_type, is_nullable, column_default, comment
         FROM duckdb_columns() WHERE NOT internal ORDER BY table_oid, column_index",
        "SELECT table_name, constraint_index, constraint_text FROM duckdb_constraints()
         ORDER BY table_oid, constraint_index",
        "SELECT function_name, parameters, macro_definition, comment FROM duckdb_functions()
         WHERE NOT internal ORDER BY function_oid",
        "SELECT table_name, index_name, sql FROM duckdb_indexes() ORDER BY index_oid",
        "SELECT block_size FROM pragma_database_size()",
        "SELECT tags FROM duckdb_databases() WHERE NOT internal",
    ] {
        let mut statement = connection.prepare(&format!("SELECT row::VARCHAR FROM ({sql}) row")).expect(sql);
        let rows = statement.query_map([], |r| r.get::<_, String>(0)).expect(sql);
        lines.extend(rows.map(|r| r.expect(sql)));
    }
    lines
}

/// After a change of `schema/`, this writes both files and docs/schema.md anew.
const WRITE: &str = "ADDFG_WRITE_EMPTY=1 cargo test --release --test it schema";

/// What opening a database compares.
fn defined(path: &Path) -> String {
    let config = Config::default().access_mode(AccessMode::ReadOnly).expect("a setting");
    let connection = Connection::open_with_flags(path, config).expect("opens");
    lines(&connection, "made").expect("tables and views")
}

#[test]
fn the_empty_database_is_current() {
    let scratch = Scratch::new("schema");
    let (made, kept) = (scratch.path("made.duckdb"), scratch.path("kept.duckdb"));
    writer::make_empty(&made).expect("an empty database");
    if std::env::var_os("ADDFG_WRITE_EMPTY").is_some() {
        let bytes = zstd::encode_all(&*std::fs::read(&made).unwrap(), 19).expect("compresses");
        std::fs::write(repository("src/store/empty.duckdb.zst"), &bytes).expect("writes");
        std::fs::write(repository("src/store/catalog.txt"), defined(&made)).expect("writes");
        println!("src/store/empty.duckdb.zst has {} bytes", bytes.len());
        return;
    }
    let listed = std::fs::read_to_string(repository("src/store/catalog.txt")).unwrap();
    assert!(listed == defined(&made), "src/store/catalog.txt is of another schema: {WRITE}");
    std::fs::write(&kept, zstd::decode_all(EMPTY).expect("decompresses")).unwrap();
    let (made, kept) = (catalog(&made), catalog(&kept));
    assert!(made.len() > 600, "{} lines", made.len());
    let differs = made.iter().zip(&kept).find(|(a, b)| a != b);
    let what = "src/store/empty.duckdb.zst is of another schema";
    assert!(differs.is_none() && made.len() == kept.len(), "{what}: {WRITE}\n{differs:?}");
}
