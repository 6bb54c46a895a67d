//! Every communication from one function to another.
//!
//! What function a step is of takes a look-up by range, which DuckDB does by sorting (ASOF). So
//! that this stays small, `dataflow` says first which part of the run has what is wanted, and that
//! part is gone through in windows until there is enough.

use super::ViewError;
use super::listing::{Listing, id};
use super::report;
use crate::graph::{Facts, GraphError};
use crate::id::FunctionId;
use duckdb::types::Value;
use duckdb::{Connection, params};

/// From which function to which, and of which of the latter's instances (None: all).
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub writer: FunctionId,
    pub reader: FunctionId,
    pub instance: Option<i32>,
}

/// Whether the trace has dependences between instances instead of communications.
pub fn has_dependences(connection: &Connection) -> duckdb::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM dependence_edge", [], |r| r.get(0))
}

/// Sums by pair of instructions, the largest first.
pub fn grouped(connection: &Connection, pair: Pair, limit: i64) -> Result<Listing, ViewError> {
    if Facts::find(connection)?.only_functions {
        return Err(GraphError::OnlyFunctions.into());
    }
    let sql = if has_dependences(connection)? {
        report!("flows_dependence_group")
    } else {
        report!("flows_group")
    };
    Ok(pair.listing(sql, limit))
}

/// Single dependences.
pub fn dependences(connection: &Connection, pair: Pair, limit: i64) -> Result<Listing, ViewError> {
    let any: bool =
        connection.query_row("SELECT count(*) > 0 FROM dependence", [], |r| r.get(0))?;
    if any {
        Ok(pair.listing(report!("flows_dependence"), limit))
    } else {
        Err(ViewError::NoDependences)
    }
}

/// Communications in the order of the reads.
pub struct Found {
    pub listing: Listing,
    /// How many transfers there are in all.
    pub transfers: i64,
}

/// Single communications.
pub fn communications(connection: &Connection, pair: Pair, limit: i64) -> Result<Found, ViewError> {
    let detail: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Err(ViewError::NoCommunications { detail });
    }
    if pair.writer == pair.reader && detail != "full" {
        return Err(ViewError::NoneInside { detail });
    }
    let sql = "SELECT count(*) > 0 FROM (FROM block_run LIMIT 1)";
    if !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? {
        let why = crate::store::open::why_no_steps(connection)?;
        return Err(ViewError::NoSteps { why });
    }
    let transfers = find(connection, pair, limit)?;
    Ok(Found { listing: Listing::new(report!("flows"), []), transfers })
}

impl Pair {
    fn listing(self, sql: &str, limit: i64) -> Listing {
        Listing::new(sql, [id(self.writer), id(self.reader), Value::BigInt(limit)])
    }
}

/// Steps of the first window; each next one is twice as long, up to [`LAST_WINDOW`].
const FIRST_WINDOW: i64 = 1 << 20;
const LAST_WINDOW: i64 = 1 << 22;

/// Fills the temporary table `found` with the first `limit` communications in the order of the
/// reads and gives how many transfers there are in all.
fn find(connection: &Connection, pair: Pair, limit: i64) -> duckdb::Result<i64> {
    let Pair { writer, reader, instance } = pair;
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
        let rows = window.execute(params![from, to, writer, reader, left, longest])?;
        left -= i64::try_from(rows).unwrap_or(left);
        from = to.saturating_add(1);
        if rows == 0 {
            // Reads are as far from each other as their numbers say, which may be very far.
            let sql = "SELECT min(read_seq) FROM communication_row WHERE read_seq > ?";
            let next: Option<i64> = connection.query_row(sql, [to], |r| r.get(0))?;
            let Some(next) = next else { break };
            from = next;
        }
        length = (2 * length).min(LAST_WINDOW);
    }
    Ok(transfers.unwrap_or(0))
}
