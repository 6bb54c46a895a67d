//! What the calls of some functions exchange with others, chunk by chunk: for questions that add it up,
//! and need no rows of it.

use super::alone::{Chunk, Goes, resume, steps_before};
use super::calls;
use super::error::BuildError;
use super::glance::{Calls, Crossings, Glance, Stretch, Whose, is_in};
use super::options::Detail;
use super::packed::{self, Run};
use super::turns::{OfThread, Turns};
use super::unpacked::Replayed;
use crate::analysis::origin::Origin;
use crate::analysis::pass::Pass;
use crate::analysis::state::State;
use crate::analysis::{Call, Communication, Flow, FoldedCall, Interval, Output, SavedRegister};
use crate::event::RunBatch;
use crate::id::{FunctionId, ThreadId};
use crate::store::chunk::Runs;
use crate::store::run_state::unpack_state;
use crate::store::table::{Destination, fill};
use crate::store::tables::FunctionCall;
use duckdb::Connection;
use std::collections::BTreeSet;

/// Takes what the pass finds in a chunk.
#[derive(Default)]
struct Found {
    first: u64,
    /// Begun before it.
    begun: (u32, u32),
    calls: Calls,
    intervals: Vec<Interval>,
    communications: Vec<Communication>,
}

impl Output for Found {
    fn communication(&mut self, row: Communication) {
        // What is read before is known beside, see `run_state.ended`.
        if row.read.seq.get() >= self.first {
            self.communications.push(row);
        }
    }
    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        if row.call.get() > self.begun.0 {
            self.calls.push((row, bytes_in.unwrap_or(0)));
        }
    }
    fn interval(&mut self, row: Interval) {
        if row.interval.get() > self.begun.1 {
            self.intervals.push(row);
        }
    }
    fn saved_register(&mut self, _: SavedRegister) {}
    fn flow(&mut self, _: Flow) {}
    fn folded_call(&mut self, _: FoldedCall) {}
}

/// Adds rows of calls to the temporary table.
///
/// # Errors
/// Where it takes none.
pub fn add_calls<'a>(
    connection: &Connection,
    calls: impl Iterator<Item = &'a (Call, u64)>,
) -> Result<(), BuildError> {
    let row = |&(ref call, bytes_in): &(Call, u64)| FunctionCall {
        bytes_in: Some(bytes_in),
        ..calls::with_steps(call)
    };
    Ok(fill(Destination::temporary(connection), calls.map(row))?)
}

/// Goes through chunks.
pub(super) struct Crosser<'a> {
    replayed: Replayed<Found>,
    run: &'a Run,
    whose: &'a Whose,
    /// Intervals that go on into other chunks, in the order of their starts.
    going_on: &'a [Interval],
}

impl Crosser<'_> {
    pub fn new<'a>(run: &'a Run, whose: &'a Whose, going_on: &'a [Interval]) -> Crosser<'a> {
        let (options, inside) = (packed::without_sums(run.literal, Detail::Pairs), BTreeSet::new());
        let (code, output) = (run.code.clone(), Found::default());
        let replayed = Replayed::new(code, run.threads, options, &inside, output, true);
        Crosser { replayed, run, whose, going_on }
    }

    /// The intervals of a chunk, in the order of their starts; those that its threads are in first.
    fn intervals(&mut self, chunk: &Chunk, state: &State) -> Vec<Stretch> {
        let mut all = Vec::new();
        for (i, thread) in state.threads.iter().enumerate() {
            if let Some(frame) = thread.frames.last() {
                let (first, thread) = (chunk.first, ThreadId::at(i));
                let (call, function) = (Some(frame.call), frame.function);
                all.push(Stretch { first, call, function, thread });
            }
        }
        let first = |interval: &Interval| interval.start.seq.map_or(0, |seq| seq.get());
        let from = self.going_on.partition_point(|interval| first(interval) < chunk.first);
        let going_on = self.going_on[from..].iter();
        let going_on = going_on.take_while(|interval| first(interval) <= chunk.last);
        let own = std::mem::take(&mut self.replayed.pass.output().intervals);
        let begun = own.iter().chain(going_on).map(|interval| Stretch {
            first: first(interval),
            call: Some(interval.call),
            function: interval.function,
            thread: interval.thread,
        });
        all.extend(begun);
        all.sort_by_key(|stretch| stretch.first);
        all
    }

    /// Keeps the communications of which an end may be of the functions.
    fn keep(&self, chunk: &Chunk, stretches: &[Stretch], rows: &mut Vec<Communication>) {
        // As many as were unpacked, whatever the database says of the chunk.
        let steps = (self.replayed.pass.next_seq() - chunk.first) as usize;
        let mut is_of = vec![false; steps];
        let place = |seq: u64| ((seq.saturating_sub(chunk.first)) as usize).min(steps);
        let mut stretches = stretches.iter().peekable();
        while let Some(stretch) = stretches.next() {
            if is_in(&self.whose.of, stretch.function) {
                let end = stretches.peek().map_or(steps, |next| place(next.first));
                is_of[place(stretch.first).min(end)..end].fill(true);
            }
        }
        let is_of = |seq: u64| is_of.get((seq - chunk.first) as usize).copied().unwrap_or(false);
        rows.retain(|row| {
            is_of(row.read.seq.get())
                || match row.write {
                    // Whose step before the chunk it is, who knows all calls says.
                    Origin::Step(write) => write.seq.get() < chunk.first || is_of(write.seq.get()),
                    Origin::Source(_) => false,
                }
        });
    }
}

impl Goes for Crosser<'_> {
    type Made = Crossings;

    fn chunk(
        &mut self,
        chunk: &Chunk,
        state: &[u8],
        runs: Runs,
        functions: &[FunctionId],
    ) -> Result<Crossings, BuildError> {
        let damaged = |source| BuildError::Chunk { first: chunk.first, source };
        let state = unpack_state(state).map_err(damaged)?;
        if self.whose.is_away(chunk, &state) {
            let glance = Glance { code: &self.run.code, whose: self.whose };
            if let Some(made) = glance.chunk(&state, &runs, functions) {
                return Ok(made);
            }
        }
        resume(&mut self.replayed, chunk, &state).map_err(damaged)?;
        let output = self.replayed.pass.output();
        (output.first, output.begun) = (chunk.first, (state.calls, state.intervals));
        let turns = turns(&runs);
        let mut push = |pass: &mut Pass<_, Found>, batch: &RunBatch| pass.push(batch);
        self.replayed.chunk(runs, &mut push).map_err(damaged)?;
        let intervals = self.intervals(chunk, &state);
        let is_one = intervals.iter().all(|interval| interval.thread == intervals[0].thread);
        let stretches = if is_one { intervals } else { turns.cut(&intervals) };
        let output = self.replayed.pass.output();
        let mut calls = std::mem::take(&mut output.calls);
        calls.sort_unstable_by_key(|(call, _)| call.call);
        let mut communications = std::mem::take(&mut output.communications);
        self.keep(chunk, &stretches, &mut communications);
        let before = steps_before(&state, functions, None);
        Ok(Crossings { calls, stretches, communications, before })
    }
}

/// Where the run goes on in another thread.
fn turns(runs: &Runs) -> Turns<u64> {
    let mut turns = Turns::default();
    for (&start, &thread) in runs.start.iter().zip(&runs.thread) {
        turns.add(start, ThreadId::at(thread as usize));
    }
    turns
}

impl OfThread for Stretch {
    type Step = u64;
    fn thread(&self) -> ThreadId {
        self.thread
    }
    fn first(&self) -> u64 {
        self.first
    }
    fn from(self, first: u64) -> Stretch {
        Stretch { first, ..self }
    }
}
