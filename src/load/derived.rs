//! What is derived from the other tables when they are filled: for views, with SQL.

use crate::store::writer::FLOW_PART;
use crate::store::{NEAR_FLOWS, StoreError, TOP_CALLS};
use duckdb::Connection;

/// Of tables that are not committed DuckDB takes the number of rows for 0 and would join the wrong
/// way round: all is written so that the right side is the small one.
const SETTINGS: &str = "SET disabled_optimizers = 'join_order,build_side_probe_side';";

/// Call instances from which on a second thread gains more than it costs to cut every statement
/// into tasks.
const MANY_CALLS: u64 = 10_000;

/// Parts of flows that are added up at a time. Measured: 140 M parts, three to a pair, take 24 s in
/// 64 MB so; all at once they fail in 64 MB and in 256, and 14 M take twice as long.
const PARTS_AT_ONCE: u64 = 500_000;

/// Ranges of readers whose parts are counted.
const READER_RANGES: u64 = 4096;

/// Memory that DuckDB may take for what is derived. Most of it goes through rows in their order or
/// waits on disk, beside the database; what is joined of stub instances does not.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Call instances.
    calls: u64,
    /// Bytes that are wanted.
    wanted: u64,
    /// Bytes that the build may take.
    limit: u64,
}

impl Budget {
    const LEAST: u64 = 64 << 20;

    /// Where SQL merges stubs. Measured: 10 M calls, a third of them of stubs, fail in 64 MB and run
    /// in 384.
    pub fn of_calls(calls: u64, limit: u64) -> Budget {
        Budget { calls, wanted: calls.saturating_mul(48), limit }
    }

    /// Where the pass has merged so many of them. Measured: of 4.6 M merged ones 0.8 M into the
    /// largest calls, with 67 M flows, take 20 s in 64 MB, which is 4 in 100.
    pub fn of_pass((calls, merged): (u64, u64), limit: u64) -> Budget {
        Budget { calls, wanted: merged.saturating_mul(12), limit }
    }

    fn bytes(self) -> u64 {
        (Budget::LEAST.saturating_add(self.wanted)).min(self.limit / 2).max(Budget::LEAST)
    }
}

/// Fills what is derived from the other tables for views, of a database with few calls.
pub fn derived(connection: &Connection) -> Result<(), StoreError> {
    derived_within(connection, Budget::of_calls(0, u64::MAX))
}

/// The same for any number of calls.
pub fn derived_within(connection: &Connection, budget: Budget) -> Result<(), StoreError> {
    set(connection, budget)?;
    for (table, sql) in FOLDED {
        execute(connection, table, &format!("INSERT INTO {table} {sql}"))?;
    }
    derived_of_pass(connection, budget)
}

/// The rest, where the pass has merged stubs into their callers.
pub fn derived_of_pass(connection: &Connection, budget: Budget) -> Result<(), StoreError> {
    set(connection, budget)?;
    largest(connection)?;
    Ok(connection.execute_batch("RESET disabled_optimizers; SET threads = 1;")?)
}

/// The same and sums of flows, where the tables are of a database that is not being built.
pub fn of_rows(connection: &Connection) -> Result<(), StoreError> {
    whole_flows_by(connection, PARTS_AT_ONCE)?;
    largest(connection)
}

/// Adds up the flows of which the pass has given out parts.
pub fn whole_flows(connection: &Connection, budget: Budget) -> Result<(), StoreError> {
    set(connection, budget)?;
    whole_flows_by(connection, PARTS_AT_ONCE)
}

/// The same, so many parts at a time: those of all of a long run would not fit, as DuckDB writes the
/// groups of an aggregate to disk only in more memory than it has here.
fn whole_flows_by(connection: &Connection, at_once: u64) -> Result<(), StoreError> {
    for readers in ranges_of_readers(connection, at_once)? {
        let pieces = readers.parts.div_ceil(at_once);
        for piece in 0..pieces {
            let of = format!(
                "f.reader_call_id BETWEEN {} AND {} AND coalesce(f.writer_call_id, 0) % {pieces} = {piece}",
                readers.first, readers.last,
            );
            execute(connection, FLOW_PART, &WHOLE_FLOWS.replace("$1", &of))?;
        }
    }
    Ok(())
}

/// Readers of adjacent ids, and how many parts they have.
struct Readers {
    first: u64,
    /// Inclusive.
    last: u64,
    parts: u64,
}

/// All readers in ranges that have at most `at_once` parts, but where a few readers have more.
fn ranges_of_readers(connection: &Connection, at_once: u64) -> Result<Vec<Readers>, StoreError> {
    let sql = format!(
        "WITH width AS (SELECT max(reader_call_id) // {READER_RANGES} + 1 AS width FROM {FLOW_PART})
         SELECT reader_call_id // width AS range, min(width), count(*) FROM {FLOW_PART}, width
         GROUP BY range ORDER BY range"
    );
    let mut statement = connection.prepare(&sql)?;
    let found = statement.query_map([], |row| {
        let (range, width, parts): (u64, u64, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Readers { first: range * width, last: (range + 1) * width - 1, parts })
    })?;
    let mut ranges: Vec<Readers> = Vec::new();
    for next in found {
        let next = next?;
        match ranges.last_mut() {
            Some(before) if before.parts + next.parts <= at_once => {
                (before.last, before.parts) = (next.last, before.parts + next.parts);
            }
            _ => ranges.push(next),
        }
    }
    Ok(ranges)
}

fn set(connection: &Connection, budget: Budget) -> Result<(), StoreError> {
    room(connection, budget)?;
    Ok(connection.execute_batch(SETTINGS)?)
}

/// Gives DuckDB the memory, and threads as there are calls.
pub fn room(connection: &Connection, budget: Budget) -> Result<(), StoreError> {
    let bytes = budget.bytes();
    let threads = if budget.calls < MANY_CALLS { 1 } else { 2 };
    let sql = format!("SET threads = {threads}; SET memory_limit = '{bytes}B';");
    Ok(connection.execute_batch(&sql)?)
}

/// Runs statements that fill a table.
fn execute(connection: &Connection, table: &'static str, sql: &str) -> Result<(), StoreError> {
    connection.execute_batch(sql).map_err(|source| StoreError::Derive { table, source })
}

/// Fills `top_call`, `top_dataflow` and `top_call_edge` with what the view of instances asks of all
/// call instances.
fn largest(connection: &Connection) -> Result<(), StoreError> {
    macro_rules! report {
        ($name:literal) => {
            include_str!(concat!("../../queries/report/", $name, ".sql"))
                .trim_end()
                .trim_end_matches(';')
        };
    }
    if connection
        .query_row("SELECT count(*) = 0 FROM (FROM function_call LIMIT 1)", [], |r| r.get(0))?
    {
        return Ok(());
    }
    let sql = format!(
        "CREATE TEMP TABLE merged_function AS SELECT DISTINCT function_id FROM folded_call;
         CREATE TEMP TABLE largest AS {top};
         CREATE TEMP TABLE near AS
             SELECT call_id::BIGINT AS node, 0 AS distance FROM largest
             UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
         -- Only those: of all of them joins would take more memory than the pass.
         CREATE TEMP TABLE merged AS
             SELECT call_id, into_call_id, steps_self FROM folded_call
             WHERE into_call_id <> call_id AND into_call_id IN (SELECT call_id FROM largest);
         CREATE TEMP VIEW instance_call AS {call};
         INSERT INTO top_call_row SELECT c.*, l.share FROM ({calls}) c JOIN largest l USING (call_id) ORDER BY l.share DESC, call_id;
         {NEAR_FLOWS}
         INSERT INTO top_dataflow_row
             SELECT writer, reader, via, bytes, unique_bytes, transfers FROM ({data}) ORDER BY writer, reader, via;
         INSERT INTO top_call_edge_row SELECT caller, callee, calls, steps FROM ({edges}) ORDER BY caller, callee;
         DROP VIEW instance_call; DROP TABLE near_part; DROP TABLE near_read; DROP TABLE near_written; DROP TABLE near;
         DROP TABLE largest; DROP TABLE merged; DROP TABLE merged_function;",
        top = report!("instance_top").replace("$1", &TOP_CALLS.to_string()),
        call = report!("instance_call"),
        calls = report!("instance_self"),
        data = report!("instance_data"),
        edges = report!("instance_calls"),
    );
    execute(connection, "top_call_row", &sql)
}

/// Flows of which parts were given out that turned out to be of the same `via`, of the readers `$1`.
const WHOLE_FLOWS: &str = "
    INSERT INTO dataflow_row
    SELECT f.writer_call_id, f.reader_call_id, f.writer_function_id, f.reader_function_id, min(f.place_id), sum(f.bytes),
           sum(f.unique_bytes), sum(f.transfers)
    FROM flow_part f JOIN place p USING (place_id)
    WHERE $1
    GROUP BY f.writer_call_id, f.reader_call_id, f.writer_function_id, f.reader_function_id, p.via, p.function_id
    ORDER BY ALL;";

/// Tables that have stubs merged into their callers, in the order in which each has what it reads.
pub const FOLDED: [(&str, &str); 4] = [
    ("folded_call_row", include_str!("../../queries/derive/middle/folded_call.sql")),
    ("function_edge_folded", include_str!("../../queries/derive/high/function_edge_folded.sql")),
    ("call_edge_folded", include_str!("../../queries/derive/high/call_edge_folded.sql")),
    (
        "function_profile_folded",
        include_str!("../../queries/derive/high/function_profile_folded.sql"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EMPTY;

    /// Readers with one part, with many, and one with more than are taken at a time: each pair of
    /// instances has one row by `via`, with the sums that they had as parts.
    #[test]
    fn parts_of_flows_are_added_up_in_any_pieces() {
        let rows = |at_once: u64| -> Vec<[i64; 6]> {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("parts.duckdb");
            std::fs::write(&path, zstd::decode_all(EMPTY).unwrap()).unwrap();
            let connection = Connection::open(&path).unwrap();
            connection
                .execute_batch(
                    "INSERT INTO place VALUES (1, 'heap', NULL), (2, 'heap', NULL), (3, 'stack', NULL);
                     CREATE TABLE flow_part AS FROM dataflow_row LIMIT 0;
                     INSERT INTO flow_part
                     SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE i // 6 % 97 + 1 END,
                            CASE WHEN i % 2 = 0 THEN 9000 ELSE i // 4 + 1 END, 1, 2, i % 3 + 1, i % 64, i % 32, 1
                     FROM range(20000) t(i);",
                )
                .unwrap();
            whole_flows_by(&connection, at_once).unwrap();
            let sql = "SELECT coalesce(writer_call_id, 0), reader_call_id, place_id, bytes, unique_bytes, transfers
                       FROM dataflow_row ORDER BY ALL";
            let mut statement = connection.prepare(sql).unwrap();
            let row = |r: &duckdb::Row| {
                Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?])
            };
            statement.query_map([], row).unwrap().map(|r| r.unwrap()).collect()
        };
        let whole = rows(u64::MAX);
        let transfers: i64 = whole.iter().map(|r| r[5]).sum();
        assert_eq!(transfers, 20000);
        // Places 1 and 2 are one `via`.
        let mut pairs: Vec<[i64; 3]> = whole.iter().map(|r| [r[0], r[1], r[2].max(2)]).collect();
        pairs.sort();
        pairs.dedup();
        assert_eq!(pairs.len(), whole.len());
        for at_once in [100, 5000] {
            assert_eq!(rows(at_once), whole);
        }
    }
}
