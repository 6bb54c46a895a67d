//! What `addfg verify` does: the derived levels once more, by the SQL of `queries/derive`, against
//! what the build stored.
//!
//! The run is gone through in windows, three times: for the call instances, for the saved
//! registers, and for the communications with their sums. From window to window goes what the
//! writes before it left in each byte, and which versions of bytes call instances that still live
//! have read, so that each window alone gives exactly its rows. Memory is that of a window; what
//! grows with the program or its calls lies in temporary tables, which DuckDB spills.

use super::compare::{Verdict, compare};
use super::derive::{CALLS, COMPACT, DATA, EVENTS, SAVES, Walk, run_all};
use super::tables;
use duckdb::Connection;

/// Steps of a window, unless another number is asked for.
pub const WINDOW: i64 = 1 << 19;

/// Steps up to which a second thread costs more than it takes over: there are hundreds of
/// statements, each of which would be cut into tasks.
const SHORT: i64 = 1 << 16;

/// How far a verification is, in steps that were gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

/// Calls whose entry or exit is missing, at most: each takes `middle/event_pair` once more.
const MOST_MISFITS: i64 = 2000;

/// Why a database leaves nothing to verify.
pub fn not_applicable(connection: &Connection) -> duckdb::Result<Option<String>> {
    let detail: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Ok(Some(format!("detail {detail} keeps no low level: build with --detail pairs")));
    }
    let sql = "SELECT count(*) > 0 FROM meta WHERE key = ?";
    if connection.query_row(sql, [crate::store::sqlite::LEFT_OUT_KEY], |r| r.get(0))? {
        return Ok(Some(format!(
            "no low level to derive from: {}",
            crate::store::open::why_no_steps(connection)?
        )));
    }
    let through: Option<String> =
        connection
            .query_row("SELECT max(value) FROM meta WHERE key = 'through'", [], |r| r.get(0))?;
    if let Some(through) = through {
        return Ok(Some(format!(
            "built with --through {through}, which the SQL does not know: build without it"
        )));
    }
    let processes = "SELECT count(*) > 1 FROM process";
    if connection.query_row(processes, [], |r| r.get(0))? {
        return Ok(Some("the trace has several processes, and the SQL one memory".into()));
    }
    let gap = "SELECT count(*) > 0 FROM mapping WHERE kind = 'gap'";
    if connection.query_row(gap, [], |r| r.get(0))? {
        return Ok(Some("the trace has gaps, which the SQL does not know".into()));
    }
    let copies = "SELECT count(*) > 0 FROM mapping WHERE kind = 'copy'";
    if connection.query_row(copies, [], |r| r.get(0))? {
        return Ok(Some(
            "bytes were copied through a file that is mapped, which the SQL does not know".into(),
        ));
    }
    let tasks = "SELECT count(*) > 0 FROM meta WHERE key = 'task_switches' AND value IS NOT NULL";
    if connection.query_row(tasks, [], |r| r.get(0))? {
        return Ok(Some(
            "control went to other tasks or stacks, which the SQL does not know".into(),
        ));
    }
    let kept = "SELECT count(*) > 0 FROM signal_event WHERE kind = 'entry' AND number IS NOT NULL AND EXISTS (FROM meta WHERE key = 'isa' AND value = 'arm')";
    if connection.query_row(kept, [], |r| r.get(0))? {
        return Ok(Some(
            "the processor keeps registers at exceptions, which the SQL does not know".into(),
        ));
    }
    let signals = "SELECT count(*) > 0 FROM signal_event WHERE kind = 'ended'";
    if connection.query_row(signals, [], |r| r.get(0))? {
        return Ok(Some(
            "the kernel keeps registers for handlers of signals, which the SQL does not know"
                .into(),
        ));
    }
    if has_events(connection)? {
        let chained = "SELECT count(*) FROM diagnostic WHERE code = 'xray-chained'";
        if connection.query_row(chained, [], |r| r.get::<_, i64>(0))? > 0 {
            return Ok(Some(
                "its tail exits name the first function of a chain of tail calls, which the SQL does not know".into(),
            ));
        }
        let misfits = "SELECT count(*) FROM function_call WHERE kind = 'gap' OR ending = 'unwound'";
        let misfits: i64 = connection.query_row(misfits, [], |r| r.get(0))?;
        return Ok((misfits > MOST_MISFITS).then(|| {
            format!("{misfits} calls lack an entry or exit; the SQL takes {MOST_MISFITS} at most: record with larger buffers")
        }));
    }
    let steps: i64 = connection.query_row("SELECT count(*) FROM block_run", [], |r| r.get(0))?;
    if steps == 0 {
        return Ok(Some(
            "the trace has no steps: what is in the tables comes from it as it is".into(),
        ));
    }
    // Only DCFG has blocks whose instructions are not known, and steps that each thread counts for
    // itself.
    let known =
        "SELECT count(*) FROM block_run WHERE block_id NOT IN (SELECT block_id FROM block_step)";
    let dcfg = "SELECT count(*) > 0 FROM meta WHERE key = 'dcfg_version'";
    if !connection.query_row(dcfg, [], |r| r.get(0))? {
        return Ok(None);
    }
    if connection.query_row(known, [], |r| r.get::<_, i64>(0))? > 0 {
        return Ok(Some(
            "steps are known by block only, and the SQL needs instructions: give the program, --elf FILE".into(),
        ));
    }
    let threads = "SELECT count(DISTINCT thread_id) FROM block_run";
    Ok((connection.query_row(threads, [], |r| r.get::<_, i64>(0))? > 1)
        .then(|| "each thread counts its own steps, and the SQL needs one order of all".into()))
}

/// Inclusive steps that exceed the run, and whether that may be: those of calls in a recursion do, for
/// they are nested in others; those of a function or of one call do not.
pub fn inclusive(connection: &Connection) -> duckdb::Result<Vec<(String, bool)>> {
    let sql = "WITH run AS (SELECT sum(steps_self)::BIGINT AS steps FROM function_profile)
        SELECT 'calls of ' || f.name || ' by ' || coalesce(c.name, '<unknown>') || ' have ' || e.steps || ' inclusive steps, the run ' || run.steps AS line, true
        FROM call_edge e JOIN function_symbol f ON f.function_id = e.callee_function_id
        LEFT JOIN function_symbol c ON c.function_id = e.caller_function_id, run WHERE e.steps > run.steps
        UNION ALL
        SELECT 'function ' || f.name || ' has ' || p.steps_total || ' inclusive steps, the run ' || run.steps, false
        FROM function_profile p JOIN function_symbol f USING (function_id), run WHERE p.steps_total > run.steps
        UNION ALL
        SELECT 'call ' || c.call_id || ' has ' || c.steps_total || ' inclusive steps, the run ' || run.steps, false
        FROM function_call c, run WHERE c.steps_total > run.steps
        ORDER BY ALL";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Whether the low level is entries and exits of functions.
fn has_events(connection: &Connection) -> duckdb::Result<bool> {
    connection.query_row("SELECT EXISTS (FROM call_event_row)", [], |r| r.get(0))
}

/// The run in windows.
struct Run<'a> {
    connection: &'a Connection,
    first: i64,
    /// Behind the last step.
    end: i64,
    /// Steps of a window at least.
    window: i64,
    done: u64,
    take: &'a mut dyn FnMut(Progress),
}

impl Run<'_> {
    /// Goes through the run once; `each` is called behind every window with its number from 1.
    fn walk(
        &mut self,
        walk: &Walk,
        mut each: impl FnMut(&Connection, u32) -> duckdb::Result<()>,
    ) -> duckdb::Result<()> {
        run_all(self.connection, walk.before)?;
        let (mut low, mut number) = (self.first, 0);
        while low < self.end {
            // It ends where a run of a block begins, so that none is cut in two, and where memory is
            // moved.
            let sql = "SELECT coalesce(min(start_seq), ?) FROM block_run
                       WHERE start_seq >= ? OR start_seq > (SELECT min(seq) FROM mapping WHERE kind = 'move' AND seq >= ?)";
            let least = low.saturating_add(self.window);
            let high: i64 = self.connection.query_row(sql, [self.end, least, low], |r| r.get(0))?;
            self.connection.execute_batch(&format!(
                "SET VARIABLE lo = {low}::BIGINT; SET VARIABLE hi = {high}::BIGINT"
            ))?;
            run_all(self.connection, walk.window)?;
            number += 1;
            each(self.connection, number)?;
            self.done = self.done.saturating_add(high.abs_diff(low));
            let total = self.end.abs_diff(self.first).saturating_mul(3);
            (self.take)(Progress { done: self.done, total });
            low = high;
        }
        run_all(self.connection, walk.behind)
    }
}

/// Recomputes the derived levels in temporary tables and compares them as multisets.
///
/// `window`: steps of which the accesses are in memory at a time ([`WINDOW`]).
pub fn verify(
    connection: &Connection,
    window: i64,
    take: &mut dyn FnMut(Progress),
) -> duckdb::Result<Vec<Verdict>> {
    if has_events(connection)? {
        run_all(connection, &EVENTS)?;
        return tables::of_events().iter().map(|t| compare(connection, t)).collect();
    }
    // The order of rows is none of a multiset's, and to keep it takes memory.
    connection.execute_batch("SET preserve_insertion_order = false")?;
    let bounds = "SELECT min(start_seq), max(start_seq + steps) FROM block_run
                  JOIN (SELECT block_id, count(*) AS steps FROM block_step GROUP BY ALL) USING (block_id)";
    let (first, end): (i64, i64) =
        connection.query_row(bounds, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if end.saturating_sub(first) < SHORT {
        connection.execute_batch("SET threads = 1")?;
    }
    connection.execute_batch(&format!("SET VARIABLE first = {first}::BIGINT"))?;
    let mut run = Run { connection, first, end, window: window.max(1), done: 0, take };
    run.walk(&CALLS, |_, _| Ok(()))?;
    run.walk(&SAVES, |_, _| Ok(()))?;
    // Detail `pairs` keeps what crosses call instances, `full` every communication.
    connection.execute_batch(
        "SET VARIABLE every = (SELECT value = 'full' FROM meta WHERE key = 'detail')",
    )?;
    let table = tables::communication();
    let mut communication = Verdict::new(table.name);
    run.walk(&DATA, |connection, number| {
        communication.add(compare(connection, &table)?);
        // Twice as many windows each time, so that all of it costs little more than the last.
        if number.is_power_of_two() { COMPACT.run(connection) } else { Ok(()) }
    })?;
    // Rows of no step of the run.
    let all: i64 = connection.query_row("SELECT count(*) FROM communication", [], |r| r.get(0))?;
    communication.extra += all - communication.equal - communication.extra;
    let mut verdicts = vec![communication];
    let tables = tables::of_windows().into_iter().chain(tables::of_calls());
    for table in tables.chain(tables::of_stubs()).chain([tables::of_contexts()]) {
        verdicts.push(compare(connection, &table)?);
    }
    verdicts.sort_by_key(|v| ORDER.iter().position(|name| *name == v.table));
    Ok(verdicts)
}

/// The order in which tables are told of: from calls to sums.
const ORDER: [&str; 13] = [
    "function_call",
    "saved_register",
    "communication",
    "control_flow",
    "dataflow",
    "function_edge",
    "instruction_edge",
    "call_edge",
    "folded_call",
    "function_edge_folded",
    "call_edge_folded",
    "function_profile_folded",
    "stack_edge",
];
