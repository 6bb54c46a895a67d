//! What each chunk of a packed run needs of what was before it (`run_state`), found by one pass over
//! the run: from then on a question goes through the chunks that it is about, in any order.

use super::error::BuildError;
use super::options::Detail;
use super::packed::{self, Run, Wanted, each_chunk, each_seen};
use super::unpacked::Replayed;
use crate::analysis::live_in::LiveIn;
use crate::analysis::origin::Origin;
use crate::analysis::pass::Pass;
use crate::analysis::shadow::{Cell, access};
use crate::analysis::state::State;
use crate::analysis::{
    Call, Communication, Flow, FoldedCall, Interval, Late, Output, SavedRegister,
};
use crate::event::{BlockDef, Event, RunBatch};
use crate::id::{ActorId, FunctionId, InstructionId};
use crate::store::StoreError;
use crate::store::chunk::Runs;
use crate::store::run_state::{Ended, Meets, Part, pack_events, pack_state, unpack_events};
use crate::store::table::{Destination, fill};
use duckdb::Connection;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Keeps the rows that began before a chunk, and which steps before it are read.
#[derive(Default)]
struct Before {
    calls: u32,
    intervals: u32,
    seq: u64,
    ended: Ended,
    /// Steps.
    read: FxHashSet<u64>,
}

impl Output for Before {
    fn communication(&mut self, row: Communication) {
        if let Origin::Step(write) = row.write
            && write.seq.get() < self.seq
            && row.read.seq.get() >= self.seq
        {
            self.read.insert(write.seq.get());
        }
    }
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
    if !packed::is_packed(connection)? {
        return Ok(true);
    }
    // All are stored at once, by this addfg or one before.
    let sql = "SELECT max(first_seq) FROM run_chunk";
    let last: Option<u64> = connection.query_row(sql, [], |r| r.get(0))?;
    match Part::Meets.of(connection, last.unwrap_or(0)) {
        Ok(data) => Ok(Part::Meets.is_read(&data)),
        Err(duckdb::Error::QueryReturnedNoRows) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Chunks from which on a question that does not touch all of them is worth a pass over all.
const MANY: u64 = 20;

/// Whether a question about parts of the run, for which a build of this detail has the rows, would be
/// answered sooner with them.
pub fn are_wanted(connection: &Connection, detail: Detail) -> Result<bool, BuildError> {
    if !packed::lacks(connection, &Wanted::all(detail))? {
        return Ok(false);
    }
    let sql = "SELECT count(*) FROM run_chunk";
    let chunks: u64 = connection.query_row(sql, [], |r| r.get(0))?;
    Ok(chunks > MANY && !are_made(connection)?)
}

/// Makes them, in a database that is open to be written.
pub fn make(connection: &Connection) -> Result<(), BuildError> {
    find(connection)?.store(connection)
}

/// What is to be stored of the chunks of a run.
pub struct States {
    chunks: Vec<Found>,
    /// By function: bytes that it wrote for nothing.
    dead: Vec<u64>,
}

impl States {
    /// Stores them in a database that is open to be written.
    ///
    /// # Errors
    /// Where it cannot be; then it is as it was.
    pub fn store(&self, connection: &Connection) -> Result<(), BuildError> {
        connection.execute_batch("BEGIN; DELETE FROM run_state;")?;
        let done = self.fill(connection).and_then(|()| self.tell_dead(connection));
        let end = if done.is_ok() { "COMMIT; CHECKPOINT;" } else { "ROLLBACK;" };
        let ended = connection.execute_batch(end);
        done?;
        Ok(ended?)
    }

    /// Adds their rows to a table `run_state`.
    ///
    /// # Errors
    /// Where it takes none.
    pub fn fill<'c>(&self, into: impl Into<Destination<'c>>) -> Result<(), StoreError> {
        let rows = Part::ALL.into_iter().flat_map(|part| {
            self.chunks.iter().flat_map(move |found| part.rows(found.first, found.part(part)))
        });
        fill(into, rows)
    }

    /// Tells which bytes were written for nothing, where the recorder of the sums did not.
    fn tell_dead(&self, connection: &Connection) -> Result<(), StoreError> {
        let sql = "UPDATE function_profile SET dead_bytes = ? WHERE function_id = ? AND dead_bytes IS NULL";
        let mut statement = connection.prepare(sql)?;
        for (function, bytes) in self.dead.iter().enumerate() {
            statement.execute([*bytes, FunctionId::at(function).get().into()])?;
        }
        Ok(())
    }
}

/// What `run_state` has of a chunk.
struct Found {
    first: u64,
    state: Vec<u8>,
    ended: Vec<u8>,
    events: Vec<u8>,
    meets: Vec<u8>,
}

impl Found {
    fn part(&self, part: Part) -> &[u8] {
        match part {
            Part::Meets => &self.meets,
            Part::Ended => &self.ended,
            Part::Events => &self.events,
            Part::State => &self.state,
        }
    }
}

/// What is known of a chunk before it is gone through.
struct Begun {
    first: u64,
    state: Vec<u8>,
    events: Vec<u8>,
    meets: Meets,
    /// Steps of before that the state has, with their functions.
    known: Vec<(u64, FunctionId)>,
}

/// Finds them by a pass over the run.
///
/// # Errors
/// Where the database is damaged.
pub fn find(connection: &Connection) -> Result<States, BuildError> {
    let Run { code, literal, threads, steps, .. } = Run::read(connection)?;
    let insns: Vec<FunctionId> = code.insns.iter().map(|insn| insn.function).collect();
    // With communications: they tell what is read.
    let options = packed::without_sums(literal, Detail::Pairs);
    let inside = BTreeSet::new();
    let mut replayed = Replayed::new(code, threads, options, &inside, Before::default(), false);
    let (mut begun, mut ends): (Vec<Begun>, Vec<Ended>) = (Vec::new(), Vec::new());
    let defs = replayed.pass.defs.clone();
    let seen = |runs: &Runs| look(runs, &defs, &insns);
    each_seen(connection, seen, |first, runs, seen| {
        let damaged = |source| BuildError::Chunk { first, source };
        let next = begin(&mut replayed, first, &runs, seen, &insns)?;
        let intervals = replayed.pass.machine.data.numbers.intervals();
        let output = replayed.pass.output();
        if let Some(last) = begun.last_mut() {
            ends.push(output.end(last));
        }
        (output.calls, output.intervals, output.seq) = (next.meets.calls, intervals, first);
        begun.push(next);
        let mut push = |pass: &mut Pass<_, Before>, batch: &RunBatch| pass.push(batch);
        replayed.chunk(runs, &mut push).map_err(damaged)?;
        packed::tell(first, steps);
        Ok(())
    })?;
    // What is alive at the end of the run ends in no chunk, whether it began in the last one or before.
    let output = replayed.pass.output();
    if let Some(last) = begun.last_mut() {
        output.read_in(last);
    }
    (output.calls, output.intervals, output.seq) = (u32::MAX, u32::MAX, u64::MAX);
    let summary = replayed.pass.finish();
    ends.push(std::mem::take(&mut replayed.pass.output().ended));
    // What is read of before, and known later.
    for late in ends.iter().flat_map(|ended| &ended.late) {
        let at = begun.partition_point(|chunk| chunk.first <= late.row.read.seq.get());
        if let (Some(chunk), Some(writer)) = (at.checked_sub(1), late.writer) {
            add(&mut begun[chunk].meets.reads, writer);
        }
    }
    let found = begun.into_iter().zip(ends).map(|(chunk, ended)| {
        let Begun { first, state, events, meets, .. } = chunk;
        let (ended, meets) = (ended.pack().map_err(io)?, meets.pack().map_err(io)?);
        Ok(Found { first, state, ended, events, meets })
    });
    let found = found.collect::<Result<Vec<_>, StoreError>>()?;
    packed::tell(steps, steps);
    let dead = summary.functions.iter().map(|function| function.dead_bytes).collect();
    Ok(States { chunks: found, dead })
}

fn io(source: std::io::Error) -> StoreError {
    StoreError::Io { path: "run_state".to_owned(), source }
}

/// Adds to a list in order.
fn add(list: &mut Vec<FunctionId>, function: FunctionId) {
    if let Err(at) = list.binary_search(&function) {
        list.insert(at, function);
    }
}

impl Before {
    /// A chunk has ended.
    fn end(&mut self, chunk: &mut Begun) -> Ended {
        self.read_in(chunk);
        std::mem::take(&mut self.ended)
    }

    /// The functions whose steps it read.
    fn read_in(&mut self, chunk: &mut Begun) {
        let known = std::mem::take(&mut chunk.known).into_iter();
        let read = known.filter(|(seq, _)| self.read.contains(seq)).map(|(_, function)| function);
        chunk.meets.reads = read.collect::<BTreeSet<_>>().into_iter().collect();
        self.read.clear();
    }
}

/// Looks at a chunk that is gone through next.
fn begin(
    replayed: &mut Replayed<Before>,
    first: u64,
    runs: &Runs,
    (mut needed, mut runs_in): (LiveIn, Vec<FunctionId>),
    insns: &[FunctionId],
) -> Result<Begun, StoreError> {
    let used = replayed.used;
    // What a forked process has instances of from its beginning has to do with it, too.
    let forked = replayed.pass.forked(&needed);
    forked.into_iter().for_each(|function| add(&mut runs_in, function));
    let state = replayed.pass.state(&mut needed, runs_in.iter().copied());
    let last = first + steps_of(runs, &replayed.pass.defs) - 1;
    let meets = Meets {
        reads: Vec::new(),
        runs: runs_in,
        calls: replayed.pass.machine.data.numbers.calls(),
        mapped: used.mapped as u32,
        processes: used.processes as u32,
        allocated: allocated(runs, last),
    };
    let events: Vec<(u64, Event)> =
        others(runs, last).map(|(seq, event)| (seq, event.clone())).collect();
    let step = |cell: &Cell| Some((access(cell.write)?.seq.get(), function(cell, insns)?));
    Ok(Begun {
        first,
        known: state.iter().flat_map(State::cells).filter_map(step).collect(),
        state: state.map_or_else(|| Ok(Vec::new()), |state| pack_state(&state)).map_err(io)?,
        events: pack_events(&events).map_err(io)?,
        meets,
    })
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

/// The function of the step that wrote a cell.
pub(super) fn function(cell: &Cell, insns: &[FunctionId]) -> Option<FunctionId> {
    let actor = cell.actor(crate::analysis::StackSide::Below).writer::<ActorId>()?;
    insns.get(actor.index()).copied()
}

/// The instruction of that step, where the pass tells instructions apart.
pub(super) fn instruction(cell: &Cell) -> Option<InstructionId> {
    let actor = cell.actor(crate::analysis::StackSide::Below).writer::<ActorId>()?;
    Some(InstructionId::at(actor.index()))
}

/// The last step before each event of a chunk, whose last step is `last`.
fn events(runs: &Runs, last: u64) -> impl Iterator<Item = (u64, &Event)> {
    let seq = move |at: usize| runs.start.get(at).map_or(last, |start| start - 1);
    runs.events.iter().map(move |(at, event)| (seq(*at), event))
}

/// Gives each event of the run but for those of the heap, with the last step before it.
pub(super) fn each_event(
    connection: &Connection,
    mut take: impl FnMut(u64, &Event),
) -> Result<(), BuildError> {
    if are_made(connection)? {
        for (first, data) in Part::Events.all(connection)? {
            let events = unpack_events(&data);
            let events = events.map_err(|source| BuildError::Chunk { first, source })?;
            events.iter().for_each(|(seq, event)| take(*seq, event));
        }
        return Ok(());
    }
    let mut statement = connection.prepare("SELECT last_seq FROM run_chunk ORDER BY first_seq")?;
    let last = statement.query_map([], |r| r.get(0))?.collect::<duckdb::Result<Vec<u64>>>()?;
    let mut last = last.into_iter();
    each_chunk(connection, |_, runs| {
        others(&runs, last.next().unwrap_or(0)).for_each(|(seq, event)| take(seq, event));
        Ok(())
    })
}

/// What is allocated in a chunk.
fn allocated(runs: &Runs, last: u64) -> Vec<(u64, u64, u64)> {
    let allocated = events(runs, last).filter_map(|(seq, event)| match event {
        Event::Allocation(of) => Some((seq, of.address, of.bytes)),
        _ => None,
    });
    allocated.collect()
}

/// Whether anything is.
pub(super) fn allocates(runs: &Runs) -> bool {
    runs.events.iter().any(|(_, event)| matches!(event, Event::Allocation(_)))
}

/// The others.
fn others(runs: &Runs, last: u64) -> impl Iterator<Item = (u64, &Event)> {
    events(runs, last).filter(|(_, event)| !packed::is_of_heap(event))
}
