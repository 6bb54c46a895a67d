//! What each chunk of a packed run needs of what was before it (`run_state`), found by one pass over
//! the run: from then on a question goes through the chunks that it is about, in any order.

use super::error::BuildError;
use super::events::EventRows;
use super::options::Detail;
use super::packed::{self, Run, each_chunk};
use super::unpacked::Replayed;
use crate::analysis::live_in::LiveIn;
use crate::analysis::pass::Pass;
use crate::analysis::shadow::Cell;
use crate::analysis::state::State;
use crate::analysis::{
    Call, Communication, Flow, FoldedCall, Interval, Late, Output, SavedRegister,
};
use crate::event::{BlockDef, Event, RunBatch};
use crate::id::{ActorId, FunctionId};
use crate::store::StoreError;
use crate::store::chunk::Runs;
use crate::store::run_state::{Ended, Meets, pack_state};
use crate::store::table::fill;
use crate::store::tables::RunState;
use duckdb::Connection;
use std::collections::BTreeSet;

/// Keeps the rows that began before a chunk.
#[derive(Default)]
struct Before {
    calls: u32,
    intervals: u32,
    seq: u64,
    ended: Ended,
}

impl Output for Before {
    fn communication(&mut self, _: Communication) {}
    fn late(&mut self, late: Late) {
        if late.row.read.seq.get() < self.seq {
            self.ended.late.push(late);
        }
    }
    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        if row.call.get() <= self.calls {
            self.ended.calls.push((row, bytes_in.unwrap_or(0)));
        }
    }
    fn interval(&mut self, row: Interval) {
        if row.interval.get() <= self.intervals {
            self.ended.intervals.push(row);
        }
    }
    fn saved_register(&mut self, row: SavedRegister) {
        if row.save.seq.get() < self.seq {
            self.ended.saves.push(row);
        }
    }
    fn flow(&mut self, _: Flow) {}
    fn folded_call(&mut self, row: FoldedCall) {
        if row.call.get() <= self.calls {
            self.ended.folded.push(row);
        }
    }
}

/// Whether there is nothing to make: the run is not packed, or it is done.
pub fn are_made(connection: &Connection) -> Result<bool, BuildError> {
    let sql = "SELECT (SELECT count(*) FROM run_state) = (SELECT count(*) FROM run_chunk)";
    Ok(!packed::is_packed(connection)? || connection.query_row(sql, [], |r| r.get(0))?)
}

/// Makes them, in a database that is open to be written.
pub fn make(connection: &Connection) -> Result<(), BuildError> {
    let states = find(connection)?;
    connection.execute_batch("BEGIN; DELETE FROM run_state;")?;
    let done = fill(connection, states.iter().map(Found::row));
    let end = if done.is_ok() { "COMMIT; CHECKPOINT;" } else { "ROLLBACK;" };
    let ended = connection.execute_batch(end);
    done?;
    Ok(ended?)
}

/// A row of `run_state`.
struct Found {
    first: u64,
    state: Vec<u8>,
    ended: Vec<u8>,
    meets: Vec<u8>,
}

impl Found {
    fn row(&self) -> RunState<'_> {
        RunState {
            first_seq: self.first,
            state: &self.state,
            ended: &self.ended,
            meets: &self.meets,
        }
    }
}

/// Finds them by a pass over the run.
fn find(connection: &Connection) -> Result<Vec<Found>, BuildError> {
    let Run { code, literal, threads, steps, .. } = Run::read(connection)?;
    let insns: Vec<FunctionId> = code.insns.iter().map(|insn| insn.function).collect();
    let options = packed::options(literal, Detail::Instance);
    let inside = BTreeSet::new();
    let mut replayed = Replayed::new(code, threads, options, &inside, Before::default(), false);
    let mut events = EventRows::new(|_| (), true);
    let mut blocks: Vec<Option<u32>> = vec![None; threads];
    let mut found: Vec<Found> = Vec::new();
    let mut ends: Vec<Ended> = Vec::new();
    each_chunk(connection, |first, runs| {
        let damaged = |source| BuildError::Chunk { first, source };
        let io = |source| StoreError::Io { path: "run_state".to_owned(), source };
        let used = replayed.used;
        let (mut needed, runs_in) = look(&runs, &replayed.pass.defs, &insns);
        let state = replayed.pass.state(&mut needed, runs_in.iter().copied(), &blocks);
        let meets = Meets {
            reads: state.as_ref().map(|state| writers(state, &insns)).unwrap_or_default(),
            runs: runs_in,
            calls: replayed.pass.machine.data.numbers.calls(),
            system_calls: events.counted().0,
            mapped: used.mapped as u32,
            processes: used.processes as u32,
            allocated: allocated(&runs, first + steps_of(&runs, &replayed.pass.defs) - 1),
        };
        let intervals = replayed.pass.machine.data.numbers.intervals();
        let output = replayed.pass.output();
        ends.extend((!found.is_empty()).then(|| std::mem::take(&mut output.ended)));
        output.calls = meets.calls;
        (output.intervals, output.seq) = (intervals, first);
        found.push(Found {
            first,
            state: match state {
                Some(state) => pack_state(&state).map_err(io)?,
                None => Vec::new(),
            },
            ended: Vec::new(),
            meets: meets.pack().map_err(io)?,
        });
        for (&thread, &block) in runs.thread.iter().zip(&runs.block) {
            if let Some(last) = blocks.get_mut(thread as usize) {
                *last = Some(block);
            }
        }
        runs.events.iter().for_each(|(_, event)| events.add(event, 0));
        let mut push = |pass: &mut Pass<_, Before>, batch: &RunBatch| pass.push(batch);
        replayed.chunk(runs, &mut push).map_err(damaged)?;
        packed::tell(first, steps);
        Ok(())
    })?;
    // What is alive at the end of the run ends in no chunk, whether it began in the last one or before.
    let output = replayed.pass.output();
    (output.calls, output.intervals, output.seq) = (u32::MAX, u32::MAX, u64::MAX);
    replayed.pass.finish();
    ends.push(std::mem::take(&mut replayed.pass.output().ended));
    for (found, ended) in found.iter_mut().zip(ends) {
        let io = |source| StoreError::Io { path: "run_state".to_owned(), source };
        found.ended = ended.pack().map_err(io)?;
    }
    packed::tell(steps, steps);
    Ok(found)
}

/// What a chunk reads, and the functions that run in it.
fn look(runs: &Runs, defs: &[BlockDef], insns: &[FunctionId]) -> (LiveIn, Vec<FunctionId>) {
    let (mut needed, mut blocks) = (LiveIn::default(), BTreeSet::new());
    let mut events = runs.events.iter().peekable();
    for run in 0..runs.start.len() {
        while let Some((_, event)) = events.next_if(|(at, _)| *at <= run) {
            needed.event(event);
        }
        if let Some(def) = defs.get(runs.block[run] as usize) {
            needed.run(def, runs.addresses(run));
            blocks.insert(runs.block[run]);
        }
    }
    events.for_each(|(_, event)| needed.event(event));
    let steps = blocks.iter().flat_map(|&block| &defs[block as usize].steps);
    let functions: BTreeSet<FunctionId> = steps.map(|s| insns[s.insn as usize]).collect();
    (needed, functions.into_iter().collect())
}

fn steps_of(runs: &Runs, defs: &[BlockDef]) -> u64 {
    let steps = |block: &u32| defs.get(*block as usize).map_or(0, |def| def.steps.len() as u64);
    runs.block.iter().map(steps).sum()
}

/// Functions whose writes a chunk may read of before.
fn writers(state: &State, insns: &[FunctionId]) -> Vec<FunctionId> {
    let all = cells(state).filter_map(|cell| function(cell, insns));
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The function of the step that wrote a cell.
pub(super) fn function(cell: &Cell, insns: &[FunctionId]) -> Option<FunctionId> {
    let actor = cell.actor(crate::analysis::StackSide::Below).writer::<ActorId>()?;
    insns.get(actor.index()).copied()
}

/// All cells of a state.
pub(super) fn cells(state: &State) -> impl Iterator<Item = &Cell> {
    let frames = state.threads.iter().flat_map(|thread| &thread.frames);
    let pieces = frames.flat_map(|frame| &frame.saves).flat_map(|save| &save.pieces);
    let registers = state.threads.iter().flat_map(|thread| &thread.registers);
    let memory = state.memory.iter().map(|(.., cell)| cell);
    memory.chain(registers.map(|(_, cell)| cell)).chain(pieces.map(|(_, cell, _)| cell))
}

/// What is allocated in a chunk, whose last step is `last`.
fn allocated(runs: &Runs, last: u64) -> Vec<(u64, u64, u64)> {
    let seq = |at: usize| runs.start.get(at).map_or(last, |start| start - 1);
    let allocated = runs.events.iter().filter_map(|(at, event)| match event {
        Event::Allocation(of) => Some((seq(*at), of.address, of.bytes)),
        _ => None,
    });
    allocated.collect()
}
