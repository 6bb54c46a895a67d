//! Calls of allocation functions in the order in which they begin.

use crate::id::{CallId, FunctionId, InstructionId, ThreadId};
use crate::replay::error::ReplayError;
use crate::replay::window::WINDOW;
use duckdb::{Connection, params};
use std::collections::VecDeque;

/// A row of `allocation_calls.sql`.
pub(super) struct Call {
    pub(super) call: CallId,
    pub(super) function: FunctionId,
    pub(super) thread: ThreadId,
    pub(super) tail_of: Option<CallId>,
    pub(super) kind: CallKind,
    pub(super) ending: Ending,
    pub(super) first: i64,
    pub(super) last: i64,
    /// The instruction that calls.
    pub(super) caller: Option<InstructionId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Signal,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Returns,
    /// Another call goes on for it.
    Tail,
    Other,
}

/// Calls, fetched for some steps at a time.
pub(super) struct Calls<'a> {
    connection: &'a Connection,
    /// Ids of the functions, with commas between them.
    functions: String,
    /// First step whose calls are not fetched.
    fetched: i64,
    waiting: VecDeque<Call>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(connection: &'a Connection, functions: String, first: i64) -> Calls<'a> {
        Calls { connection, functions, fetched: first, waiting: VecDeque::new() }
    }

    /// The first step of the next call, if that begins up to a step.
    pub(super) fn peek(&mut self, seq: i64) -> Result<Option<i64>, ReplayError> {
        while self.fetched <= seq && self.waiting.is_empty() {
            let next = self.fetched.saturating_add(WINDOW);
            self.fetch(next - 1)?;
            self.fetched = next;
        }
        Ok(self.waiting.front().map(|call| call.first).filter(|&first| first <= seq))
    }

    pub(super) fn next(&mut self) -> Option<Call> {
        self.waiting.pop_front()
    }

    fn fetch(&mut self, last: i64) -> Result<(), ReplayError> {
        let sql = include_str!("../../../queries/report/allocation_calls.sql");
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.fetched, last, self.functions])?;
        while let Some(r) = rows.next()? {
            let (signal, returns, tail) = (r.get(4)?, r.get(5)?, r.get(6)?);
            self.waiting.push_back(Call {
                call: r.get(0)?,
                function: r.get(1)?,
                thread: r.get(2)?,
                tail_of: r.get(3)?,
                kind: if signal { CallKind::Signal } else { CallKind::Other },
                ending: match (returns, tail) {
                    (true, _) => Ending::Returns,
                    (_, true) => Ending::Tail,
                    _ => Ending::Other,
                },
                first: r.get(7)?,
                last: r.get(8)?,
                caller: r.get(9)?,
            });
        }
        Ok(())
    }
}
