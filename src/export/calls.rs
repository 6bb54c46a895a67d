//! The calls of the run in the order in which they began and ended.

use super::error::ExportError;
use super::rows::rows;
use crate::graph::{Stubs, prepare_merged};
use crate::id::{CallId, FunctionId, ThreadId};
use duckdb::Connection;

/// A call instance, stubs merged into their callers.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub call_id: CallId,
    pub function_id: FunctionId,
    pub instance: i32,
    /// Instance that called it.
    pub caller: Option<CallId>,
    pub thread_id: ThreadId,
    /// Where on the axis it begins and ends (exclusive), callees included.
    pub first: i64,
    pub last: i64,
    /// Cost of itself: steps, or ticks.
    pub own: i64,
}

/// What cost and place on the axis are measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Executed instructions; the axis is `seq`.
    Steps,
    /// Ticks of the trace's clock, from the first call on.
    Ticks,
}

/// Makes the temporary table `export_call`: what [`walk`] reads.
pub fn prepare(
    connection: &Connection,
    format: &'static str,
    stubs: Stubs,
) -> Result<Unit, ExportError> {
    prepare_merged(connection, stubs)?;
    let sql = "SELECT count(call_seq) > 0, count(call_time) > 0 FROM function_call";
    let (steps, ticks): (bool, bool) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let (unit, query) = match (steps, ticks) {
        (true, _) => (Unit::Steps, include_str!("../../queries/report/export_calls.sql")),
        (_, true) => (Unit::Ticks, include_str!("../../queries/report/export_timed_calls.sql")),
        _ => return Err(ExportError::NoCost { format }),
    };
    connection.execute_batch(&format!("CREATE OR REPLACE TEMP TABLE export_call AS {query}"))?;
    Ok(unit)
}

/// What happens on the way through the calls of a thread. Calls nest: each lies within the one that
/// was open when it began and behind the end of the one before it.
pub enum Event<'a> {
    /// A call begins.
    Open(&'a Call),
    /// The call that began last of those that are open ends.
    Close(&'a Call),
}

struct Walk<'a> {
    stack: Vec<Call>,
    now: i64,
    take: &'a mut dyn FnMut(Event) -> Result<(), ExportError>,
}

impl Walk<'_> {
    /// Ends calls until `depth` are open.
    fn close(&mut self, depth: usize) -> Result<(), ExportError> {
        while self.stack.len() > depth
            && let Some(call) = self.stack.pop()
        {
            self.now = call.last;
            (self.take)(Event::Close(&call))?;
        }
        Ok(())
    }
}

/// Goes through the calls, thread by thread. Needs [`prepare`].
pub fn walk(
    connection: &Connection,
    take: &mut dyn FnMut(Event) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut walk = Walk { stack: Vec::new(), now: i64::MIN, take };
    let mut thread = None;
    rows(
        connection,
        "export_call",
        "call_id, function_id, instance, caller, thread_id, first, last, own",
        |r| -> Result<(), ExportError> {
            let mut call = Call {
                call_id: r.get(0)?,
                function_id: r.get(1)?,
                instance: r.get(2)?,
                caller: r.get(3)?,
                thread_id: r.get(4)?,
                first: r.get::<_, Option<i64>>(5)?.unwrap_or(0),
                last: r.get::<_, Option<i64>>(6)?.unwrap_or(0),
                own: r.get::<_, Option<i64>>(7)?.unwrap_or(0),
            };
            if thread != Some(call.thread_id) {
                walk.close(0)?;
                thread = Some(call.thread_id);
                walk.now = i64::MIN;
            }
            // A caller that is not open is one of another thread: a root here.
            let depth = call
                .caller
                .and_then(|c| walk.stack.iter().rposition(|s| s.call_id == c))
                .map_or(0, |at| at + 1);
            walk.close(depth)?;
            // Clocks of real traces go back now and then.
            let end = walk.stack.last().map_or(i64::MAX, |s| s.last);
            call.first = call.first.max(walk.now).min(end);
            call.last = call.last.clamp(call.first, end);
            walk.now = call.first;
            (walk.take)(Event::Open(&call))?;
            walk.stack.push(call);
            Ok(())
        },
    )?;
    walk.close(0)
}
