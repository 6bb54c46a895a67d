//! Tables and views as files of their own, written by DuckDB, which streams them.

use super::error::ExportError;
use super::options::Options;
use super::rows::each;
use crate::query::is_prepared;
use crate::store::{KNOWS_WHAT_IS_MISSING, SAYS_WHAT_IS_MISSING};
use duckdb::Connection;
use std::collections::BTreeSet;
use std::path::Path;

/// Views that unpack every step or access of the run: only on demand.
const LARGE: [&str; 2] = ["opcode_line", "data_access"];
/// How communications and dataflow are stored, beside tables `..._row` of views; the views `communication`
/// and `dataflow` say the same in plain columns.
const PACKED: [&str; 2] = ["communication_kind", "place"];

/// Tables and views to write.
fn names(connection: &Connection, options: &Options) -> Result<Vec<String>, ExportError> {
    let mut all = Vec::new();
    let sql = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary
               UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY 1";
    each::<ExportError>(connection, sql, &[], |r| {
        all.push(r.get::<_, String>(0)?);
        Ok(())
    })?;
    let views: BTreeSet<String> = all.iter().cloned().collect();
    let is_stored = |name: &str| {
        PACKED.contains(&name) || name.strip_suffix("_row").is_some_and(|n| views.contains(n))
    };
    let mut known = all.clone();
    known.retain(|n| !is_stored(n) && !n.starts_with("lacks_"));
    if options.tables.is_empty() {
        let unprepared = unprepared(connection)?;
        known.retain(|n| !LARGE.contains(&n.as_str()) && !unprepared.contains(n));
        return Ok(known);
    }
    for name in &options.tables {
        if !all.contains(name) {
            return Err(ExportError::NoTable { name: name.clone(), known: known.join(", ") });
        }
    }
    connection.execute_batch(SAYS_WHAT_IS_MISSING)?;
    let there = options.tables.iter().try_for_each(|name| {
        let sql = format!("SELECT 1 FROM \"{}\" LIMIT 1", name.replace('"', "\"\""));
        let found = connection.prepare(&sql).and_then(|mut s| s.query([])?.next().map(drop));
        found.map_err(|why| ExportError::Missing { name: name.clone(), why })
    });
    connection.execute_batch(KNOWS_WHAT_IS_MISSING)?;
    there.map(|()| options.tables.clone())
}

/// Views of answers that take the whole run, where they are not stored: they are no tables to export.
pub fn unprepared(connection: &Connection) -> duckdb::Result<BTreeSet<String>> {
    if is_prepared(connection)? {
        return Ok(BTreeSet::new());
    }
    let sql = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary AND contains(sql, 'lacks_answers')
               AND view_name <> 'lacks_answers'";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |r| r.get(0))?.collect()
}

/// Writes each table or view with COPY. `wide`: what sums of 128 bits are written as.
fn copy(
    connection: &Connection,
    options: &Options,
    folder: &Path,
    ending: &str,
    how: &str,
    wide: Option<&str>,
) -> Result<(), ExportError> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for name in names(connection, options)? {
        let path = folder.join(format!("{}.{ending}", name.replace(['/', '\\'], "_")));
        let path = path.display().to_string().replace('\'', "''");
        let mut from = quoted(&name);
        let wide_columns =
            if wide.is_some() { wide_columns(connection, &from)? } else { Vec::new() };
        if let (Some(wide), false) = (wide, wide_columns.is_empty()) {
            let casts: Vec<_> = wide_columns
                .iter()
                .map(|c| format!("CAST({0} AS {wide}) AS {0}", quoted(c)))
                .collect();
            from = format!("(SELECT * REPLACE ({}) FROM {from})", casts.join(", "));
        }
        connection.execute_batch(&format!("COPY {from} TO '{path}' ({how})"))?;
    }
    Ok(())
}

/// Columns of 128 bits of a table or view.
fn wide_columns(connection: &Connection, table: &str) -> Result<Vec<String>, ExportError> {
    let mut columns = Vec::new();
    let sql = format!("SELECT column_name, column_type FROM (DESCRIBE FROM {table})");
    each::<ExportError>(connection, &sql, &[], |r| {
        if matches!(r.get_ref(1)?.as_str().unwrap_or_default(), "HUGEINT" | "UHUGEINT") {
            columns.push(r.get(0)?);
        }
        Ok(())
    })?;
    Ok(columns)
}

/// RFC 4180 with a header; NULL is an empty field, the empty string is `""`.
pub fn csv(connection: &Connection, options: &Options, folder: &Path) -> Result<(), ExportError> {
    copy(connection, options, folder, "csv", "FORMAT csv, HEADER true", None)
}

/// Parquet has no integers of 128 bits, and DuckDB would write them as DOUBLE, which is not exact
/// beyond 2^53: they become decimals. A sum beyond 38 digits is an error.
pub fn parquet(
    connection: &Connection,
    options: &Options,
    folder: &Path,
) -> Result<(), ExportError> {
    copy(
        connection,
        options,
        folder,
        "parquet",
        "FORMAT parquet, COMPRESSION zstd",
        Some("DECIMAL(38, 0)"),
    )
}
