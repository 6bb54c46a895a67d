//! Rows of what is exported: those of a query, and those of a table in windows.

use duckdb::{Connection, Row, ToSql};

/// A query's rows, each given to `take`. The result is kept in memory: for what does not grow with
/// the run.
pub fn each<E: From<duckdb::Error>>(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    mut take: impl FnMut(&Row) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// Rows of a table that are fetched at a time: a few row groups.
const WINDOW: i64 = 4 * 122_880;

/// A table's rows in the order in which they are stored, a window at a time.
pub fn rows<E: From<duckdb::Error>>(
    connection: &Connection,
    table: &str,
    columns: &str,
    mut take: impl FnMut(&Row) -> Result<(), E>,
) -> Result<(), E> {
    let end: i64 = connection.query_row(
        &format!("SELECT coalesce(max(rowid) + 1, 0) FROM {table}"),
        [],
        |r| r.get(0),
    )?;
    let mut statement = connection.prepare(&format!(
        "SELECT {columns} FROM {table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid"
    ))?;
    let mut first = 0;
    while first < end {
        let mut window = statement.query([first, first + WINDOW])?;
        while let Some(row) = window.next()? {
            take(row)?;
        }
        first += WINDOW;
    }
    Ok(())
}
