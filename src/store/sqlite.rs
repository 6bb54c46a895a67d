//! The middle and high level in SQLite: written by `addfg export --to sqlite`, read back into
//! DuckDB by every command.
//!
//! Tables and columns have the same names and types as in DuckDB; SQLite takes the types as
//! affinities. Its integers are signed: unsigned ones of 2^63 and above are stored as their two's
//! complement, which `printf('0x%x', address)` shows as it is.

use super::{EMPTY, SCHEMA};
use duckdb::Connection;
use duckdb::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Int64Array, StringArray, UInt64Array,
};
use duckdb::types::ValueRef;
use rusqlite::types::ValueRef as Sqlite;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Tables of the low level, which an export leaves out: the steps and their accesses.
pub const LEFT_OUT: [&str; 7] =
    ["block_run", "block_step", "block_access", "run_chunk", "run_piece", "run_state", "run_code"];
/// Key of `meta` that says so.
pub const LEFT_OUT_KEY: &str = "low_level";

/// Rows that are read or written at a time.
const BATCH: usize = super::table::BATCH;

#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    #[error("SQLite")]
    Sqlite(#[from] rusqlite::Error),
    #[error("database")]
    Duckdb(#[from] duckdb::Error),
    #[error("database")]
    Arrow(#[from] duckdb::arrow::error::ArrowError),
    #[error("a file for the schema")]
    Io(#[from] std::io::Error),
    #[error("column {column} of table {table} has a value that is not a {type_name}: {value}")]
    Value { table: String, column: String, type_name: String, value: String },
}

/// Whether a file is a SQLite database, by its first bytes.
pub fn is_sqlite(path: &Path) -> bool {
    let mut head = [0; 16];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok()
        && head == *b"SQLite format 3\0"
}

/// A column and its type in DuckDB.
struct Column {
    name: String,
    type_name: String,
    nullable: bool,
    comment: Option<String>,
}

/// Tables of a catalog of DuckDB with their columns, those left out excepted.
fn tables(connection: &Connection, catalog: &str) -> duckdb::Result<Vec<(String, Vec<Column>)>> {
    let mut statement = connection.prepare(
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
         WHERE database_name = ? AND schema_name = 'main' AND NOT internal
           AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary)
         ORDER BY table_name, column_index",
    )?;
    let mut rows = statement.query([catalog])?;
    let mut tables: Vec<(String, Vec<Column>)> = Vec::new();
    while let Some(r) = rows.next()? {
        let table: String = r.get(0)?;
        if LEFT_OUT.contains(&table.as_str()) {
            continue;
        }
        if tables.last().is_none_or(|t| t.0 != table) {
            tables.push((table, Vec::new()));
        }
        let column = Column {
            name: r.get(1)?,
            type_name: r.get(2)?,
            nullable: r.get(3)?,
            comment: r.get(4)?,
        };
        if let Some(last) = tables.last_mut() {
            last.1.push(column);
        }
    }
    Ok(tables)
}

/// The views of the schema that do not need what is left out, as statements.
pub fn views() -> impl Iterator<Item = String> {
    let all = SCHEMA
        .iter()
        .flat_map(|s| s.split("CREATE VIEW ").skip(1))
        .filter_map(|s| s.split_once(";\n").map(|s| s.0));
    // What is missing is said when an export is made.
    let kept = all.filter(|s| !s.starts_with("lacks_") && !LEFT_OUT.iter().any(|t| s.contains(t)));
    kept.map(|s| {
        let mut text = s.to_owned();
        while let Some(at) = text.find("WHERE NOT EXISTS (SELECT 1 FROM lacks_") {
            let end = text[at..].find(" WHERE no)").map_or(text.len(), |to| at + to + 10);
            text.replace_range(at..end, "");
        }
        text
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn kind(type_name: &str) -> Kind {
    match type_name {
        "UBIGINT" => Kind::Unsigned,
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" => {
            Kind::Integer
        }
        "BOOLEAN" => Kind::Boolean,
        "BLOB" => Kind::Blob,
        _ => Kind::Text,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Integer,
    Boolean,
    Blob,
    /// Also what SQLite has no type for, as DuckDB writes it.
    Text,
}

/// Writes all tables but those of the low level, and the views, into a new file.
pub fn write(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let catalog: String = connection.query_row("SELECT current_database()", [], |r| r.get(0))?;
    let mut sqlite = rusqlite::Connection::open(path)?;
    // The file gets its name when it is complete: nothing to roll back.
    sqlite.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;",
    )?;
    let transaction = sqlite.transaction()?;
    transaction.execute_batch(
        "CREATE TABLE column_comment (table_name VARCHAR NOT NULL, column_name VARCHAR NOT NULL, type VARCHAR NOT NULL, comment VARCHAR)",
    )?;
    for (table, columns) in tables(connection, &catalog)? {
        let list: Vec<String> = columns
            .iter()
            .map(|c| {
                // With a type of numbers SQLite would make a float of an integer beyond 64 bits.
                let type_name = if c.type_name == "HUGEINT" { "" } else { c.type_name.as_str() };
                format!(
                    "{} {type_name}{}",
                    quoted(&c.name),
                    if c.nullable { "" } else { " NOT NULL" }
                )
            })
            .collect();
        transaction.execute_batch(&format!(
            "CREATE TABLE {} ({})",
            quoted(&table),
            list.join(", ")
        ))?;
        let mut comments =
            transaction.prepare_cached("INSERT INTO column_comment VALUES (?, ?, ?, ?)")?;
        for c in &columns {
            comments.execute(rusqlite::params![table, c.name, c.type_name, c.comment])?;
        }
        let marks = vec!["?"; columns.len()].join(", ");
        let mut insert =
            transaction.prepare(&format!("INSERT INTO {} VALUES ({marks})", quoted(&table)))?;
        let select: Vec<String> = columns
            .iter()
            .map(|c| match (kind(&c.type_name), c.type_name.as_str()) {
                (Kind::Text, "VARCHAR") | (Kind::Unsigned | Kind::Blob, _) => quoted(&c.name),
                (Kind::Text, _) => format!("CAST({} AS VARCHAR)", quoted(&c.name)),
                _ => format!("CAST({} AS BIGINT)", quoted(&c.name)),
            })
            .collect();
        let select = format!("SELECT {} FROM {}", select.join(", "), quoted(&table));
        let end: i64 = connection.query_row(
            &format!("SELECT coalesce(max(rowid) + 1, 0) FROM {}", quoted(&table)),
            [],
            |r| r.get(0),
        )?;
        let mut window = connection
            .prepare(&format!("{select} WHERE rowid >= ? AND rowid < ? ORDER BY rowid"))?;
        for first in (0..end).step_by(BATCH) {
            let mut rows = window.query([first, first + BATCH as i64])?;
            while let Some(row) = rows.next()? {
                for (i, column) in columns.iter().enumerate() {
                    let at = i + 1;
                    match row.get_ref(i)? {
                        ValueRef::Null => insert.raw_bind_parameter(at, rusqlite::types::Null)?,
                        ValueRef::BigInt(n) => insert.raw_bind_parameter(at, n)?,
                        ValueRef::UBigInt(n) => insert.raw_bind_parameter(at, n as i64)?,
                        ValueRef::Text(text) => {
                            let text = String::from_utf8_lossy(text);
                            match text.parse::<i64>() {
                                Ok(n) if column.type_name == "HUGEINT" => {
                                    insert.raw_bind_parameter(at, n)?;
                                }
                                _ => insert.raw_bind_parameter(at, text)?,
                            }
                        }
                        ValueRef::Blob(bytes) => insert.raw_bind_parameter(at, bytes)?,
                        other => {
                            return Err(SqliteError::Value {
                                table,
                                column: column.name.clone(),
                                type_name: column.type_name.clone(),
                                value: format!("{other:?}"),
                            });
                        }
                    }
                }
                insert.raw_execute()?;
            }
        }
    }
    for view in views() {
        transaction.execute_batch(&format!("CREATE VIEW {view}"))?;
    }
    let says = "left out by export --to sqlite";
    transaction.execute("DELETE FROM meta WHERE key = ?", [LEFT_OUT_KEY])?;
    transaction.execute("INSERT INTO meta VALUES (?, ?)", [LEFT_OUT_KEY, says])?;
    transaction.commit()?;
    sqlite.close().map_err(|(_, e)| e)?;
    Ok(())
}

/// The schema version that a SQLite file names; None where it is none of addfg.
pub fn version(path: &Path) -> Option<String> {
    let sqlite =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .ok()?;
    // Of a table: a view may be anything.
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'";
    sqlite.query_row(sql, [], |_| Ok(())).ok()?;
    sqlite.query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |r| r.get(0)).ok()
}

/// Values of one column on their way from SQLite to DuckDB.
enum Values {
    Unsigned(Vec<Option<u64>>),
    Integer(Vec<Option<i64>>),
    Boolean(Vec<Option<bool>>),
    Blob(Vec<Option<Vec<u8>>>),
    Text(Vec<Option<String>>),
}

impl Values {
    fn new(kind: Kind) -> Values {
        match kind {
            Kind::Unsigned => Values::Unsigned(Vec::new()),
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Blob => Values::Blob(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        }
    }

    /// Whether the value is one of this type.
    fn push(&mut self, value: Sqlite) -> bool {
        match (self, value) {
            (Values::Unsigned(v), Sqlite::Null) => v.push(None),
            (Values::Integer(v), Sqlite::Null) => v.push(None),
            (Values::Boolean(v), Sqlite::Null) => v.push(None),
            (Values::Blob(v), Sqlite::Null) => v.push(None),
            (Values::Text(v), Sqlite::Null) => v.push(None),
            (Values::Unsigned(v), Sqlite::Integer(n)) => v.push(Some(n as u64)),
            (Values::Integer(v), Sqlite::Integer(n)) => v.push(Some(n)),
            (Values::Boolean(v), Sqlite::Integer(n @ (0 | 1))) => v.push(Some(n == 1)),
            (Values::Blob(v), Sqlite::Blob(bytes)) => v.push(Some(bytes.to_vec())),
            (Values::Text(v), Sqlite::Text(text)) => {
                v.push(Some(String::from_utf8_lossy(text).into_owned()));
            }
            // Wide integers, which SQLite keeps as its own where they fit.
            (Values::Text(v), Sqlite::Integer(n)) => v.push(Some(n.to_string())),
            (Values::Text(v), Sqlite::Real(x)) => v.push(Some(x.to_string())),
            _ => return false,
        }
        true
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Values::Unsigned(v) => Arc::new(UInt64Array::from(std::mem::take(v))),
            Values::Integer(v) => Arc::new(Int64Array::from(std::mem::take(v))),
            Values::Boolean(v) => Arc::new(BooleanArray::from(std::mem::take(v))),
            Values::Blob(v) => Arc::new(BinaryArray::from_iter(std::mem::take(v))),
            Values::Text(v) => Arc::new(StringArray::from(std::mem::take(v))),
        }
    }
}

/// Makes the schema in a catalog of DuckDB: a copy, for its statements would take longer than all
/// the rest of a small file.
fn copy_empty(connection: &Connection, catalog: &str) -> Result<(), SqliteError> {
    let mut empty = tempfile::NamedTempFile::new()?;
    empty.write_all(&zstd::decode_all(EMPTY)?)?;
    Ok(connection.execute_batch(&format!(
        "ATTACH '{}' AS empty_schema (READ_ONLY); COPY FROM DATABASE empty_schema TO {} (SCHEMA);
         DETACH empty_schema;",
        empty.path().display().to_string().replace('\'', "''"),
        quoted(catalog)
    ))?)
}

/// Makes the schema in a catalog of DuckDB and fills it from a SQLite file. What the file has
/// beside addfg's tables is not looked at.
pub fn read(connection: &Connection, catalog: &str, path: &Path) -> Result<(), SqliteError> {
    copy_empty(connection, catalog)?;
    let sqlite =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    for (table, columns) in tables(connection, catalog)? {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?";
        if sqlite.query_row(sql, [&table], |r| r.get::<_, i64>(0))? == 0 {
            continue;
        }
        // In backticks: what SQLite does not know between double quotes, it takes for a text.
        let list: Vec<String> =
            columns.iter().map(|c| format!("`{}`", c.name.replace('`', "``"))).collect();
        let mut statement = sqlite.prepare(&format!(
            "SELECT {} FROM {} ORDER BY rowid",
            list.join(", "),
            quoted(&table)
        ))?;
        let mut rows = statement.query([])?;
        let mut values: Vec<Values> =
            columns.iter().map(|c| Values::new(kind(&c.type_name))).collect();
        let mut appender = connection.appender_to_catalog_and_db(&table, catalog, "main")?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            for (i, column) in columns.iter().enumerate() {
                let value = row.get_ref(i)?;
                if !values[i].push(value) {
                    return Err(SqliteError::Value {
                        table,
                        column: column.name.clone(),
                        type_name: column.type_name.clone(),
                        value: crate::text::shorten(&format!("{value:?}"), 60),
                    });
                }
            }
            count += 1;
            if count % BATCH == 0 {
                appender.append_record_batch(super::table::record_batch(
                    values.iter_mut().map(Values::take).collect(),
                )?)?;
            }
        }
        if count % BATCH > 0 {
            appender.append_record_batch(super::table::record_batch(
                values.iter_mut().map(Values::take).collect(),
            )?)?;
        }
        // An appender loses its errors when dropped.
        appender.flush()?;
    }
    Ok(())
}
