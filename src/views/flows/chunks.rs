//! Communications of a packed run from one set of functions to another: a few chunks at a time, of
//! those in which the readers run and may read what the writers wrote, until there are enough.

use super::search::Search;
use crate::id::{CallId, FunctionId};
use crate::load::packed::Wanted;
use crate::load::parts::Parts;
use crate::views::ViewError;
use duckdb::{Connection, params};
use std::collections::BTreeSet;

/// Chunks that are gone through before it is asked whether there is enough.
const TOGETHER: usize = 4;

/// Fills the temporary table `found` with the first `limit` that some steps read, in the order of the reads, and
/// gives how many transfers there are in the whole run; None: of one call, that is not known.
pub fn find(
    search: &Search,
    (writers, readers): (&BTreeSet<FunctionId>, &BTreeSet<FunctionId>),
    steps: (i64, i64),
    limit: i64,
    (parts, wanted): &(Parts, Wanted),
) -> Result<Option<i64>, ViewError> {
    let Search { connection, instance, inside, .. } = *search;
    let steps = match (instance, readers.first()) {
        (Some(number), Some(reader)) => {
            let own = of_call(connection, (*reader, number), (parts, wanted))?;
            (steps.0.max(own.0), steps.1.min(own.1))
        }
        _ => steps,
    };
    let mut left = limit;
    let mut all = parts.of_ends(writers, readers);
    let within = parts.of_steps(steps.0.max(0).cast_unsigned(), steps.1.max(0).cast_unsigned());
    all.retain(|at| within.contains(at) && steps.0 <= steps.1);
    let (mut rest, mut together) = (&all[..], TOGETHER);
    while left > 0 && !rest.is_empty() {
        let (chunks, more) = rest.split_at(together.min(rest.len()));
        // What has found little so far goes on for long.
        (rest, together) = (more, 2 * together);
        parts.ensure(connection, wanted, chunks.iter().copied())?;
        if instance.is_some() {
            search.take_readers()?;
        }
        let bounds = |at: &usize| &parts.chunks()[*at];
        let (Some(first), Some(last)) = (chunks.first().map(bounds), chunks.last().map(bounds))
        else {
            break;
        };
        // A number of a step is less than a column holds.
        let range = (first.first.cast_signed().max(steps.0), last.last.cast_signed().min(steps.1));
        let enough = if writers.is_disjoint(readers) { left } else { i64::MAX };
        let written = places(connection, parts, WRITTEN, params![range.0, range.1, enough])?;
        parts.ensure_runs(connection, wanted, written)?;
        search.take_writers(range.1)?;
        left = search.windows(range, left)?;
    }
    allocations(connection, parts, wanted)?;
    if instance.is_some() {
        return Ok(None);
    }
    Ok(Some(connection.query_row(TRANSFERS, [inside], |r| r.get(0))?))
}

/// First and last step of a call, by its number among those of its function; of none, none.
fn of_call(
    connection: &Connection,
    (function, number): (FunctionId, i32),
    (parts, wanted): (&Parts, &Wanted),
) -> Result<(i64, i64), ViewError> {
    const NONE: (i64, i64) = (0, -1);
    let found = || -> duckdb::Result<Option<(i64, i64)>> {
        // What goes on from one chunk into another is known from the start.
        let sql =
            "SELECT call_seq, return_seq FROM function_call WHERE function_id = ? AND instance = ?";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query(params![function, number])?;
        rows.next()?.map(|r| Ok((r.get(0)?, r.get(1)?))).transpose()
    };
    if let Some(steps) = found()? {
        return Ok(steps);
    }
    let number = u32::try_from(number).unwrap_or(0);
    let begins = parts.of_instance(connection, function, number)?;
    parts.ensure(connection, wanted, begins)?;
    Ok(found()?.unwrap_or(NONE))
}

/// Steps that wrote what is read first in a part of the run. Reads of one step belong together.
const WRITTEN: &str = "WITH c AS (SELECT read_seq, write_back FROM communication_row
                                  WHERE read_seq BETWEEN $1 AND $2 AND write_back IS NOT NULL)
    SELECT DISTINCT read_seq - write_back FROM c
    WHERE read_seq <= coalesce((SELECT max(read_seq) FROM (SELECT read_seq FROM c ORDER BY read_seq LIMIT $3)), 0)";

/// All transfers, as the sums have them.
const TRANSFERS: &str = "SELECT coalesce(sum(transfers), 0)::BIGINT FROM function_edge
    WHERE writer_function_id IN (SELECT function_id FROM writer_function)
      AND reader_function_id IN (SELECT function_id FROM reader_function)
      AND ($1 OR writer_function_id <> reader_function_id)";

/// The chunks of some steps.
fn places(
    connection: &Connection,
    parts: &Parts,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
) -> Result<BTreeSet<usize>, ViewError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    let mut places = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let seq: u64 = row.get(0)?;
        places.extend(parts.of_steps(seq, seq));
    }
    Ok(places)
}

/// What was found in memory, which may have been allocated.
const IN_MEMORY: &str = "SELECT DISTINCT read_seq, address FROM found WHERE NOT is_register";

/// The calls that allocated what was found, with who called them.
fn allocations(connection: &Connection, parts: &Parts, wanted: &Wanted) -> Result<(), ViewError> {
    let mut statement = connection.prepare(IN_MEMORY)?;
    let found = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let reads = found.collect::<duckdb::Result<Vec<(u64, u64)>>>()?;
    let allocated = parts.ensure_allocations(connection, &reads)?;
    connection.execute_batch("CREATE OR REPLACE TEMP TABLE allocated (seq BIGINT)")?;
    let mut insert = connection.prepare("INSERT INTO allocated VALUES (?)")?;
    allocated.iter().try_for_each(|seq| insert.execute([seq]).map(drop))?;
    let chunks: BTreeSet<usize> = allocated.iter().flat_map(|&s| parts.of_steps(s, s)).collect();
    parts.ensure(connection, wanted, chunks)?;
    loop {
        // A call that was replaced may have ended in a chunk before.
        let sql = include_str!("../../../queries/report/flows_callers.sql");
        let mut statement = connection.prepare(sql)?;
        let missing = statement.query_map([], |r| r.get(0))?;
        let missing = missing.collect::<duckdb::Result<Vec<CallId>>>()?;
        let chunks: BTreeSet<usize> = missing.iter().map(|call| parts.of_call(*call)).collect();
        if !parts.ensure(connection, wanted, chunks)? {
            return Ok(());
        }
    }
}
