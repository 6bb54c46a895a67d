//! Every communication from one function to another.
//!
//! What function a step is of takes a look-up by range, which DuckDB does by sorting (ASOF). So
//! that this stays small, `dataflow` says first which part of the run has what is wanted, and that
//! part is gone through in windows until there is enough.

use duckdb::{Connection, params};

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../queries/report/", $name, ".sql"))
    };
}

/// The rows of [`find`], to be queried after it.
pub const FOUND: &str = report!("flows");
/// Sums by pair of instructions, for parameters writer, reader, limit.
pub const GROUPED: &str = report!("flows_group");

/// Dependences of traces that have those, single and by pair of instructions, for the same
/// parameters.
pub const DEPENDENCES: &str = report!("flows_dependence");
pub const DEPENDENCES_GROUPED: &str = report!("flows_dependence_group");

/// Steps of the first window; each next one is twice as long, up to [`LAST_WINDOW`].
const FIRST_WINDOW: i64 = 1 << 20;
const LAST_WINDOW: i64 = 1 << 22;

/// Fills the temporary table `found` with the first `limit` communications in the order of the
/// reads and gives how many transfers there are in all. `instance`: of the reader, None for all.
pub fn find(
    connection: &Connection,
    writer: i32,
    reader: i32,
    instance: Option<i32>,
    limit: i64,
) -> duckdb::Result<i64> {
    // DuckDB takes the read side for smaller than it is, and would compare each row with each.
    connection.execute_batch(
        "SET asof_loop_join_threshold = 0;
         CREATE OR REPLACE TEMP TABLE found (read_seq BIGINT, read_ordinal USMALLINT, write_seq BIGINT, is_register BOOLEAN,
             address UBIGINT, bytes UINTEGER, read_instruction_id INTEGER, write_instruction_id INTEGER);
         CREATE OR REPLACE TEMP TABLE writer_run (start_seq BIGINT, block_id INTEGER);
         CREATE OR REPLACE TEMP TABLE reader_interval (thread_id INTEGER, start_seq BIGINT, end_seq BIGINT)",
    )?;
    let (first, last, transfers): (Option<i64>, Option<i64>, Option<i64>) = connection.query_row(
        report!("flows_bounds"),
        params![writer, reader, instance, limit],
        |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
    )?;
    connection.execute_batch(&format!(
        "CREATE OR REPLACE TEMP TABLE place AS {}",
        report!("flows_places")
    ))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(0) };
    let longest: i64 = connection.query_row(
        "SELECT coalesce(max(value::BIGINT), 1) FROM meta WHERE key = 'longest_block'",
        [],
        |r| r.get(0),
    )?;
    connection.execute(
        &format!("INSERT INTO writer_run {}", report!("flows_writers")),
        params![writer, last],
    )?;
    connection.execute(
        &format!("INSERT INTO reader_interval {}", report!("flows_intervals")),
        params![reader, instance],
    )?;
    let mut window =
        connection.prepare(&format!("INSERT INTO found {}", report!("flows_window")))?;
    let (mut from, mut length, mut left) = (first, FIRST_WINDOW, limit);
    while from <= last && left > 0 {
        let to = last.min(from.saturating_add(length - 1));
        left -= window.execute(params![from, to, writer, reader, left, longest])? as i64;
        from = to.saturating_add(1);
        length = (2 * length).min(LAST_WINDOW);
    }
    Ok(transfers.unwrap_or(0))
}
