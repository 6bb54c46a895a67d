//! Finds single communications in a part of the run.

use crate::id::{FunctionId, InstructionId, ProcessId, ThreadId};
use crate::query::each;
use crate::replay::crossing::Unwritten;
use crate::replay::{Places, When, places};
use crate::views::ViewError;
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Steps of the first window; each next one is twice as long, up to [`LAST_WINDOW`].
const FIRST_WINDOW: i64 = 1 << 20;
const LAST_WINDOW: i64 = 1 << 22;

/// The temporary tables that communications are found with.
pub struct Search<'c> {
    pub connection: &'c Connection,
    /// Of a single reading function: one call of it.
    pub instance: Option<i32>,
    /// With those of a function to itself.
    pub inside: bool,
    /// Steps of the longest block.
    longest: i64,
    places: Places,
    /// None: only functions wrote what is wanted.
    sources: Option<RefCell<Sources>>,
}

/// The sources among the writers, which stand for what no step wrote.
struct Sources {
    /// By name.
    wanted: FxHashMap<String, FunctionId>,
    unwritten: Unwritten,
    processes: FxHashMap<ThreadId, ProcessId>,
}

impl Sources {
    fn read(connection: &Connection) -> Result<Option<Sources>, ViewError> {
        let sql =
            "SELECT name, function_id FROM function_symbol JOIN writer_function USING (function_id)
                   WHERE kind = 'pseudo'";
        let mut wanted = FxHashMap::default();
        each(connection, sql, &[], |r| {
            wanted.insert(r.get(0)?, r.get(1)?);
            Ok(())
        })?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut processes = FxHashMap::default();
        each(connection, "SELECT thread_id, process_id FROM thread", &[], |r| {
            processes.insert(r.get(0)?, r.get(1)?);
            Ok(())
        })?;
        let unwritten = Unwritten::read(connection)?;
        Ok(Some(Sources { wanted, unwritten, processes }))
    }

    /// Fills `source_read` with what of `window_read` comes from them. Windows come in the order of the run.
    fn find(&mut self, connection: &Connection, places: &Places) -> Result<(), ViewError> {
        let Sources { wanted, unwritten, processes } = self;
        let mut found = connection.appender_to_catalog_and_db("source_read", "temp", "main")?;
        let sql = "SELECT read_seq, read_ordinal, is_register, address, bytes, read_instruction_id, reader_function_id, thread_id
                   FROM window_read WHERE write_seq IS NULL ORDER BY read_seq";
        each(connection, sql, &[], |r| {
            let (seq, ordinal, register): (i64, u16, bool) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let (address, bytes): (u64, u32) = (r.get(3)?, r.get(4)?);
            let (instruction, function): (InstructionId, FunctionId) = (r.get(5)?, r.get(6)?);
            let process = processes.get(&r.get(7)?).copied().unwrap_or(ProcessId::FIRST);
            unwritten.go_to(seq);
            let moment = (!register).then_some(When { process, seq });
            for part in unwritten.parts(places, moment, (address, bytes.into())) {
                if let Some(source) = wanted.get(part.name) {
                    let (none, bytes) = (None::<i64>, u32::try_from(part.bytes).unwrap_or(bytes));
                    found.append_row(params![
                        seq,
                        ordinal,
                        none,
                        register,
                        part.address,
                        bytes,
                        instruction,
                        function,
                        none,
                        source
                    ])?;
                }
            }
            Ok(())
        })?;
        Ok(found.flush()?)
    }
}

impl<'c> Search<'c> {
    pub fn begin(
        connection: &'c Connection,
        instance: Option<i32>,
        inside: bool,
    ) -> Result<Self, ViewError> {
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
            "CREATE OR REPLACE TEMP TABLE window_read (read_seq BIGINT, read_ordinal USMALLINT, write_seq BIGINT, is_register BOOLEAN,
                 address UBIGINT, bytes UINTEGER, read_instruction_id INTEGER, reader_function_id INTEGER, thread_id INTEGER);
             CREATE OR REPLACE TEMP TABLE source_read AS FROM found;
             CREATE OR REPLACE TEMP TABLE end_step AS {}",
            include_str!("../../../queries/report/flows_steps.sql")
        ))?;
        let longest = connection.query_row(
            "SELECT coalesce(max(value::BIGINT), 1) FROM meta WHERE key = 'longest_block'",
            [],
            |r| r.get(0),
        )?;
        let sources = Sources::read(connection)?.map(RefCell::new);
        let places = places(connection)?;
        let search = Search { connection, instance, inside, longest, places, sources };
        search.take_readers()?;
        Ok(search)
    }

    /// Takes the intervals in which reads count, of those that there are rows of.
    pub fn take_readers(&self) -> duckdb::Result<()> {
        let insert = format!(
            "INSERT INTO reader_interval {}",
            include_str!("../../../queries/report/flows_intervals.sql")
        );
        self.connection.execute_batch("DELETE FROM reader_interval")?;
        self.connection.execute(&insert, [self.instance])?;
        Ok(())
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

    /// Fills the temporary table `found_place`: what the memory is that was found.
    pub fn place(&self) -> Result<(), ViewError> {
        self.connection.execute_batch(
            "CREATE OR REPLACE TEMP TABLE found_place (read_seq BIGINT, address UBIGINT, via VARCHAR, variable_id INTEGER)",
        )?;
        let mut placed =
            self.connection.appender_to_catalog_and_db("found_place", "temp", "main")?;
        let sql = "SELECT DISTINCT read_seq, found.address, process_id FROM found
                   JOIN instruction ON instruction_id = read_instruction_id WHERE NOT is_register";
        each(self.connection, sql, &[], |r| {
            let (seq, address): (i64, u64) = (r.get(0)?, r.get(1)?);
            let process = r.get::<_, Option<ProcessId>>(2)?.unwrap_or(ProcessId::FIRST);
            let at = self.places.at(When { process, seq }, address);
            let variable = at.variable.and_then(|v| self.places.variables().get(v)).map(|v| v.id);
            placed.append_row(params![seq, address, at.via, variable])
        })?;
        Ok(placed.flush()?)
    }

    /// Finds so many of a part of the run at most; gives how many are left to find.
    pub fn windows(&self, (first, last): (i64, i64), limit: i64) -> Result<i64, ViewError> {
        let Search { connection, inside, longest, .. } = *self;
        let mut reads = connection.prepare(&format!(
            "INSERT INTO window_read {}",
            include_str!("../../../queries/report/flows_reads.sql")
        ))?;
        let mut window = connection.prepare(&format!(
            "INSERT INTO found {}",
            include_str!("../../../queries/report/flows_window.sql")
        ))?;
        let (mut from, mut length, mut left) = (first, FIRST_WINDOW, limit);
        while from <= last && left > 0 {
            let to = last.min(from.saturating_add(length - 1));
            connection.execute_batch("DELETE FROM window_read; DELETE FROM source_read")?;
            reads.execute(params![from, to, longest])?;
            if let Some(sources) = &self.sources {
                sources.borrow_mut().find(connection, &self.places)?;
            }
            let rows = window.execute(params![inside, left])?;
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
