//! Finds single communications in a part of the run.

use crate::query::places_of_memory;
use duckdb::{Connection, params};

/// Steps of the first window; each next one is twice as long, up to [`LAST_WINDOW`].
const FIRST_WINDOW: i64 = 1 << 20;
const LAST_WINDOW: i64 = 1 << 22;

/// The temporary tables that communications are found with.
pub struct Search<'c> {
    pub connection: &'c Connection,
    /// With those of a function to itself.
    pub inside: bool,
    /// Steps of the longest block.
    longest: i64,
}

impl<'c> Search<'c> {
    pub fn begin(
        connection: &'c Connection,
        instance: Option<i32>,
        inside: bool,
    ) -> duckdb::Result<Self> {
        // DuckDB takes the read side for smaller than it is, and would compare each row with each.
        connection.execute_batch(
            "SET asof_loop_join_threshold = 0;
             CREATE OR REPLACE TEMP TABLE found (read_seq BIGINT, read_ordinal USMALLINT, write_seq BIGINT, is_register BOOLEAN,
                 address UBIGINT, bytes UINTEGER, read_instruction_id INTEGER, reader_function_id INTEGER, write_instruction_id INTEGER,
                 writer_function_id INTEGER);
             CREATE OR REPLACE TEMP TABLE writer_run (start_seq BIGINT, block_id INTEGER);
             CREATE OR REPLACE TEMP TABLE reader_interval (thread_id INTEGER, start_seq BIGINT, end_seq BIGINT)",
        )?;
        connection.execute_batch(&format!(
            "CREATE OR REPLACE TEMP TABLE memory_place AS {};
             CREATE OR REPLACE TEMP TABLE end_step AS {}",
            places_of_memory(connection)?,
            include_str!("../../../queries/report/flows_steps.sql")
        ))?;
        let longest = connection.query_row(
            "SELECT coalesce(max(value::BIGINT), 1) FROM meta WHERE key = 'longest_block'",
            [],
            |r| r.get(0),
        )?;
        connection.execute(
            &format!(
                "INSERT INTO reader_interval {}",
                include_str!("../../../queries/report/flows_intervals.sql")
            ),
            [instance],
        )?;
        Ok(Search { connection, inside, longest })
    }

    /// Takes the runs of writers up to a step.
    pub fn take_writers(&self, last: i64) -> duckdb::Result<()> {
        let insert = format!(
            "INSERT INTO writer_run {}",
            include_str!("../../../queries/report/flows_writers.sql")
        );
        self.connection.execute_batch("DELETE FROM writer_run")?;
        self.connection.execute(&insert, [last])?;
        Ok(())
    }

    /// Finds so many of a part of the run at most; gives how many are left to find.
    pub fn windows(&self, (first, last): (i64, i64), limit: i64) -> duckdb::Result<i64> {
        let Search { connection, inside, longest } = *self;
        let mut window = connection.prepare(&format!(
            "INSERT INTO found {}",
            include_str!("../../../queries/report/flows_window.sql")
        ))?;
        let (mut from, mut length, mut left) = (first, FIRST_WINDOW, limit);
        while from <= last && left > 0 {
            let to = last.min(from.saturating_add(length - 1));
            let rows = window.execute(params![from, to, inside, left, longest])?;
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
        Ok(left)
    }
}
