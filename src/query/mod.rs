//! Loads, orders and runs the SQL of `queries/derive`: the definition of what the streaming pass
//! computes.

mod compare;
mod derive;
pub mod live;
mod problems;
mod tables;
mod verify;

pub use problems::problems;
pub use verify::{WINDOW, inclusive, not_applicable, verify};

use duckdb::{Connection, Row, ToSql};

/// What the cost of a call is counted in. Where it is ticks, the connection has from here on
/// temporary views that put them into the place of steps, so that reports need not tell the two
/// apart.
pub fn unit(connection: &Connection) -> duckdb::Result<&'static str> {
    let ticks: bool =
        connection.query_row("SELECT EXISTS (FROM function_time)", [], |r| r.get(0))?;
    if !ticks {
        return Ok("steps");
    }
    let sql = "SELECT NOT EXISTS (FROM duckdb_views() WHERE temporary AND view_name = 'edge_ticks'), current_database()";
    let (first, name): (bool, String) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if first {
        let name = format!("\"{}\"", name.replace('"', "\"\""));
        connection
            .execute_batch(&include_str!("../../queries/report/ticks.sql").replace("$db", &name))?;
    }
    Ok("ticks")
}

/// A query's rows, each given to `take`.
pub fn each(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    mut take: impl FnMut(&Row) -> duckdb::Result<()>,
) -> duckdb::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// Whether the answers that take the whole run are stored (`addfg prepare`).
pub fn is_prepared(connection: &Connection) -> duckdb::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM meta WHERE key = 'prepared'";
    connection.query_row(sql, [], |r| r.get(0))
}

/// Whether the rows are of a part of the steps only (`addfg rows --range`). Where the packed run is not
/// there, as in an export to SQLite, what is counted over all steps cannot be told then.
pub fn keeps_part(connection: &Connection) -> duckdb::Result<bool> {
    let sql = "SELECT count(value) > 0 FROM meta WHERE key IN ('pairs_in', 'range')";
    connection.query_row(sql, [], |r| r.get(0))
}
