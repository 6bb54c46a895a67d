//! Chunks as they ran: runs of blocks, the call instances that these are of, and who wrote what they read.
//! For questions that go along all steps, each chunk alone.

use super::alone::{Chunk, Goes, resume};
use super::error::BuildError;
use super::options::Detail;
use super::packed::{self, Run};
use super::states;
use super::unpacked::Replayed;
use crate::analysis::origin::Origin;
use crate::analysis::pass::Pass;
use crate::analysis::shadow::{Cell, access};
use crate::analysis::stack::CallKind;
use crate::analysis::state::State;
use crate::analysis::{
    Call, Communication, Flow, FoldedCall, Interval, Late, Options, Output, SavedRegister,
};
use crate::event::{Event, RunBatch};
use crate::id::{CallId, FunctionId, InstructionId, Seq};
use crate::store::chunk::{ChunkError, Runs};
use crate::store::run_state::unpack_state;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Adjacent bytes that an access read and one access, or none, wrote.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Steps of the chunk before it.
    pub step: u32,
    pub ordinal: u16,
    pub is_register: bool,
    pub address: u64,
    pub bytes: u32,
    /// The step that wrote them, and its instruction; None: nobody did, or who did does not matter.
    pub write: Option<Seq>,
    pub writer: Option<InstructionId>,
}

/// Who began a call instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub call: CallId,
    /// It called nothing, but was interrupted: what began is the handler of a signal or an exception.
    pub interrupted: bool,
}

impl Caller {
    pub fn of(row: &Call) -> Option<Caller> {
        Some(Caller { call: row.parent?, interrupted: row.kind == CallKind::Signal })
    }
}

/// What happened in a chunk.
#[derive(Default)]
pub struct History {
    pub runs: Runs,
    /// All that have steps of it, by thread in order.
    pub intervals: Vec<Interval>,
    /// Callers of the calls that begin and end in it.
    pub callers: Vec<(CallId, Caller)>,
    /// By step, then ordinal; empty unless asked for.
    pub reads: Vec<Read>,
}

/// What goes on into other chunks.
pub(super) struct GoingOn {
    /// By chunk: those that began before it or end behind it.
    intervals: Vec<Vec<Interval>>,
    /// In the order of their reads.
    late: Vec<Communication>,
}

impl GoingOn {
    pub fn new<'a>(
        chunks: &[Chunk],
        intervals: impl Iterator<Item = &'a Interval>,
        late: impl Iterator<Item = &'a Late>,
    ) -> GoingOn {
        let mut of_chunks = vec![Vec::new(); chunks.len()];
        for interval in intervals {
            let [first, last] = [interval.start, interval.end].map(|at| at.seq.map_or(0, Seq::get));
            let from = chunks.partition_point(|chunk| chunk.last < first);
            let met = chunks.iter().zip(&mut of_chunks).skip(from);
            let met = met.take_while(|(chunk, _)| chunk.first <= last);
            met.for_each(|(_, list)| list.push(*interval));
        }
        let mut late: Vec<Communication> = late.map(|late| late.row).collect();
        late.sort_by_key(|row| row.read);
        GoingOn { intervals: of_chunks, late }
    }

    fn late(&self, chunk: &Chunk) -> &[Communication] {
        let from = self.late.partition_point(|row| row.read.seq.get() < chunk.first);
        let to = self.late.partition_point(|row| row.read.seq.get() <= chunk.last);
        &self.late[from..to.max(from)]
    }
}

/// Takes what the pass finds in a chunk.
#[derive(Default)]
struct Found {
    first: u64,
    /// Begun before it.
    begun: (u32, u32),
    intervals: Vec<Interval>,
    callers: Vec<(CallId, Caller)>,
    communications: Vec<Communication>,
}

impl Output for Found {
    fn communication(&mut self, row: Communication) {
        // What is read before is known beside, see `run_state.ended`.
        if row.read.seq.get() >= self.first {
            self.communications.push(row);
        }
    }
    fn call(&mut self, row: Call, _: Option<u64>) {
        if row.call.get() > self.begun.0 {
            self.callers.extend(Caller::of(&row).map(|caller| (row.call, caller)));
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

/// Goes through chunks.
pub(super) struct Historian<'a> {
    replayed: Replayed<Found>,
    run: &'a Run,
    chunks: &'a [Chunk],
    going_on: &'a GoingOn,
    with_reads: bool,
    /// Some functions hand on what others wrote, whenever that was (`--through`).
    copies: bool,
}

impl Historian<'_> {
    /// `reads`: those while instances of these functions are alive are wanted. Who wrote before the first of them
    /// began may not be known.
    pub fn new<'a>(
        (run, chunks): (&'a Run, &'a [Chunk]),
        going_on: &'a GoingOn,
        reads: Option<&BTreeSet<FunctionId>>,
    ) -> Historian<'a> {
        let detail = if reads.is_some() { Detail::Full } else { Detail::Instance };
        let options = packed::without_sums(run.literal, detail);
        // They are sorted here.
        let options = Options { any_order: true, ..options };
        let (code, output, nobody) = (run.code.clone(), Found::default(), BTreeSet::new());
        let inside = reads.unwrap_or(&nobody);
        let replayed = Replayed::new(code, run.threads, options, inside, output, true);
        let copies = run.code.functions.iter().any(|function| function.through);
        Historian { replayed, run, chunks, going_on, with_reads: reads.is_some(), copies }
    }

    /// The instructions of the steps.
    fn steps(&self, runs: &Runs) -> Result<Vec<InstructionId>, ChunkError> {
        let mut steps = Vec::with_capacity(crate::store::chunk::STEPS as usize);
        for &block in &runs.block {
            let block = self.run.code.blocks.get(block as usize);
            let block = block.ok_or(ChunkError::Damaged("a block that the code does not have"))?;
            steps.extend(block.steps.iter().map(|step| InstructionId::at(step.insn as usize)));
        }
        Ok(steps)
    }
}

impl Goes for Historian<'_> {
    type Made = History;

    fn chunk(
        &mut self,
        chunk: &Chunk,
        state: &[u8],
        runs: Runs,
        _: &[FunctionId],
    ) -> Result<History, BuildError> {
        let damaged = |source| BuildError::Chunk { first: chunk.first, source };
        let state = unpack_state(state).map_err(damaged)?;
        resume(&mut self.replayed, chunk, &state).map_err(damaged)?;
        let steps = if self.with_reads { self.steps(&runs) } else { Ok(Vec::new()) };
        let steps = steps.map_err(damaged)?;
        let pass = &mut self.replayed.pass;
        // Where a handler goes back to may depend on what it has done to registers.
        match self.copies || state.may_switch() || runs.events.iter().any(is_exception) {
            true => pass.kept().follow_all(),
            false => pass.follow_calls_only_outside(),
        }
        let output = pass.output();
        (output.first, output.begun) = (chunk.first, (state.calls, state.intervals));
        let mut push = |pass: &mut Pass<_, Found>, batch: &RunBatch| pass.push(batch);
        self.replayed.chunk(runs.clone(), &mut push).map_err(damaged)?;
        let output = self.replayed.pass.output();
        let mut intervals = std::mem::take(&mut output.intervals);
        let at = self.chunks.partition_point(|of| of.first < chunk.first);
        intervals.extend(self.going_on.intervals.get(at).into_iter().flatten());
        intervals.sort_unstable_by_key(|interval| (interval.thread, interval.start.seq));
        let callers = std::mem::take(&mut output.callers);
        let rows = output.communications.iter().chain(self.going_on.late(chunk));
        let reads = if self.with_reads { reads(chunk, &state, &steps, rows) } else { Vec::new() };
        output.communications.clear();
        Ok(History { runs, intervals, callers, reads })
    }
}

fn is_exception((_, event): &(usize, Event)) -> bool {
    matches!(event, Event::ExceptionEntry(_) | Event::ExceptionReturn { .. })
}

/// Communications in the order of their reads, with the instructions that wrote.
fn reads<'a>(
    chunk: &Chunk,
    state: &State,
    steps: &[InstructionId],
    rows: impl Iterator<Item = &'a Communication> + Clone,
) -> Vec<Read> {
    let before = |cell: &Cell| Some((access(cell.write)?.seq, states::instruction(cell)?));
    let before: FxHashMap<Seq, InstructionId> = state.cells().filter_map(before).collect();
    let step = |seq: Seq| seq.get().checked_sub(chunk.first).map(|step| step as usize);
    // Most are in order but for some of each block: sorted by counting those of each step.
    let rows = rows.filter_map(|row| Some((row, step(row.read.seq).filter(|s| *s < steps.len())?)));
    let mut begins = vec![0; steps.len() + 1];
    rows.clone().for_each(|(_, step)| begins[step + 1] += 1);
    (0..steps.len()).for_each(|step| begins[step + 1] += begins[step]);
    let nothing = Read {
        step: 0,
        ordinal: 0,
        is_register: false,
        address: 0,
        bytes: 0,
        write: None,
        writer: None,
    };
    let mut reads = vec![nothing; begins[steps.len()]];
    let mut next = begins.clone();
    for (row, at) in rows {
        let write = match row.write {
            Origin::Step(write) => Some(write.seq),
            Origin::Source(_) => None,
        };
        let writer = write.and_then(|seq| match step(seq) {
            Some(step) => steps.get(step).copied(),
            None => before.get(&seq).copied(),
        });
        let &Communication { read, is_register, address, bytes, .. } = row;
        let (step, ordinal) = (at as u32, read.ordinal);
        reads[next[at]] = Read { step, ordinal, is_register, address, bytes, write, writer };
        next[at] += 1;
    }
    for pair in begins.windows(2) {
        let of_step = &mut reads[pair[0]..pair[1]];
        if !of_step.is_sorted_by_key(|read| read.ordinal) {
            of_step.sort_by_key(|read| read.ordinal);
        }
    }
    reads
}
