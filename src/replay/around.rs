//! The chunks of a packed run in which functions of a set are open, each gone through alone, on as many
//! processors as there are. What the calls in them did is put together in the order of the run; no rows of
//! it are made.

use super::code::{Code, Fetch};
use super::control::{ControlFlow, Transitions, Walk};
use super::dependences::{Gatherer, LoopDependences};
use super::error::ReplayError;
use super::nest::Nests;
use super::places::Places;
use super::writers::Shown;
use crate::id::{CallId, FunctionId, InstructionId};
use crate::load::history::Caller;
use crate::load::packed::Wanted;
use crate::load::parts::Parts;
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Where functions of a set are open.
pub struct Around<'a> {
    connection: &'a Connection,
    parts: Parts,
    code: Code,
    /// In order: where some are not of them, none of the set is open before those that follow.
    chunks: Vec<usize>,
    /// The set, and functions in whose instances its code runs.
    open: BTreeSet<FunctionId>,
    /// Calls that go on from one chunk into another, each with its last step.
    ends: FxHashMap<CallId, u64>,
    /// Callers of those.
    callers: FxHashMap<CallId, Caller>,
}

impl<'a> Around<'a> {
    /// None: the run is not packed, has no states, or all rows are there.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn open(connection: &'a Connection) -> Result<Option<Around<'a>>, ReplayError> {
        let Some(parts) = Parts::without_rows(connection, &Wanted::calls())? else {
            return Ok(None);
        };
        let code = Code::open_steps(connection)?;
        let calls = || parts.ended().iter().flat_map(|ended| &ended.calls).map(|(call, _)| call);
        let ends = calls().map(|call| (call.call, call.end.seq.map_or(0, |seq| seq.get())));
        let ends = ends.collect();
        let callers = calls().filter_map(|call| Some((call.call, Caller::of(call)?))).collect();
        Ok(Some(Around {
            connection,
            parts,
            code,
            chunks: Vec::new(),
            open: BTreeSet::new(),
            ends,
            callers,
        }))
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    /// How often control went where in the chunks in which functions of a set are open. They are looked for:
    /// code of one function may run in an instance of another one, which may go on behind them.
    ///
    /// # Errors
    /// Where a chunk or a state is damaged.
    pub fn transitions(&mut self, set: &BTreeSet<FunctionId>) -> Result<Transitions, ReplayError> {
        let mut open = set.clone();
        loop {
            let ranges = self.parts.around(self.connection, &open)?;
            self.chunks = ranges.into_iter().flatten().collect();
            let (found, callers) = self.walk(&open)?;
            let before = open.len();
            open.extend(callers);
            if open.len() == before {
                self.open = open;
                return Ok(found);
            }
        }
    }

    /// Goes along the steps: transitions, and functions in whose instances code of a set runs.
    fn walk(
        &self,
        set: &BTreeSet<FunctionId>,
    ) -> Result<(Transitions, BTreeSet<FunctionId>), ReplayError> {
        let is_of = |id: &InstructionId| {
            let function = self.code.instruction(*id).function;
            function.is_some_and(|function| set.contains(&function))
        };
        let blocks = self.code.blocks().iter().map(|block| block.instructions.iter().any(is_of));
        let blocks: Vec<bool> = blocks.collect();
        let (mut walk, mut callers) = (Walk::default(), BTreeSet::new());
        self.parts.histories(self.connection, None, &self.chunks, |at, history| {
            let mut calls: FxHashSet<CallId> = FxHashSet::default();
            let of = (&history, Fetch::Flow);
            self.code.history(
                of,
                &mut walk,
                |_, _| false,
                |walk, piece| {
                    walk.piece(piece);
                    if let Some(call) = piece.call
                        && blocks[piece.block_id.index()]
                        && piece.instructions().iter().any(is_of)
                    {
                        calls.insert(call);
                    }
                    Ok(())
                },
            )?;
            let inside = history.intervals.iter().filter(|of| calls.contains(&of.call));
            callers.extend(inside.map(|interval| interval.function));
            let last = self.parts.chunks()[at].last;
            walk.end_calls(|call| self.ends.get(&call).is_some_and(|end| *end > last));
            Ok::<_, ReplayError>(())
        })?;
        Ok((walk.transitions(&self.code)?, callers))
    }

    /// What the iterations of some loops in these chunks have to do with one another.
    ///
    /// # Errors
    /// Where a chunk or a state is damaged.
    pub fn dependences(
        &self,
        flow: &ControlFlow,
        places: &Places,
        of: impl Fn(Option<FunctionId>) -> bool,
    ) -> Result<BTreeMap<usize, LoopDependences>, ReplayError> {
        let nests = Nests::new(&self.code, flow, of).with_callers(self.callers.clone());
        let mut gatherer = Gatherer::new(&self.code, self.connection, nests, places)?;
        let mut shown = Shown::default();
        self.parts.histories(self.connection, Some(&self.open), &self.chunks, |_, history| {
            gatherer.begin_chunk(history.callers.iter().copied());
            shown.history(&self.code, &history, &mut gatherer)
        })?;
        Ok(gatherer.found())
    }
}
