//! Which dataflow a loop carries from one iteration to a later one.

use super::code::Code;
use super::control::ControlFlow;
use super::error::ReplayError;
use super::resolve::Step;
use super::writers::{Communication, Observer, observe};
use crate::id::{CallId, InstructionId, ThreadId};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes that go from one iteration of a loop to a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedBytes {
    pub memory: i64,
    pub register: i64,
}

/// By writing instruction, reading instruction and loop.
pub type Carried = BTreeMap<(InstructionId, InstructionId, usize), CarriedBytes>;

/// A loop that is being run.
struct LiveLoop {
    number: usize,
    /// Seq of the first step in it since it was entered.
    entered: i64,
    /// Seq of the header's step that began the iteration.
    iteration: i64,
}

/// Loops that a thread is in.
#[derive(Default)]
struct Nest {
    /// Call instance, and how many of `loops` are of its callers.
    frames: Vec<(Option<CallId>, usize)>,
    /// Callers' before callees': each was entered after the iteration of the one before began.
    loops: Vec<LiveLoop>,
}

struct Carrier<'a> {
    flow: &'a ControlFlow,
    /// By call instance.
    parents: Vec<Option<CallId>>,
    /// By instruction: the block that begins with it.
    leader: Vec<Option<usize>>,
    /// By thread.
    nests: Vec<Nest>,
    thread: ThreadId,
    sums: FxHashMap<(InstructionId, InstructionId, usize), CarriedBytes>,
}

impl Observer for Carrier<'_> {
    fn begin(&mut self, step: &Step) {
        self.thread = step.thread;
        if self.nests.len() <= step.thread.index() {
            self.nests.resize_with(step.thread.index() + 1, Nest::default);
        }
        self.follow(step.call);
        let block = self.leader.get(step.instruction.index()).copied().flatten();
        if let Some(block) = block {
            self.enter(step.seq, block);
        }
    }

    fn communication(&mut self, c: &Communication) {
        let Some(write) = c.write else { return };
        let Some(nest) = self.nests.get(self.thread.index()) else { return };
        let at = nest.loops.partition_point(|l| l.entered <= write.access.seq);
        let Some(found) = at.checked_sub(1).and_then(|i| nest.loops.get(i)) else { return };
        if write.access.seq < found.iteration && write.access.thread == c.read.thread {
            let pair = (write.access.instruction, c.read.instruction, found.number);
            let sum = self.sums.entry(pair).or_default();
            let register = c.bytes.first.space.is_register();
            *(if register { &mut sum.register } else { &mut sum.memory }) +=
                i64::from(c.bytes.size);
        }
    }
}

impl Carrier<'_> {
    /// Back to a caller, or from one into a new instance.
    fn follow(&mut self, call: Option<CallId>) {
        let nest = &mut self.nests[self.thread.index()];
        if nest.frames.last().is_some_and(|f| f.0 == call) {
            return;
        }
        let parent = call.and_then(|c| self.parents.get(c.index()).copied().flatten());
        let known = nest.frames.iter().rposition(|f| f.0 == call || f.0 == parent);
        let keep = known.map_or(0, |k| k + 1);
        if let Some(first_gone) = nest.frames.get(keep) {
            nest.loops.truncate(first_gone.1);
        }
        nest.frames.truncate(keep);
        if nest.frames.last().is_none_or(|f| f.0 != call) {
            nest.frames.push((call, nest.loops.len()));
        }
    }

    /// Before the first step of a block: which loops it is in.
    fn enter(&mut self, seq: i64, block: usize) {
        let nest = &mut self.nests[self.thread.index()];
        let base = nest.frames.last().map_or(0, |f| f.1);
        let holds = |l: &LiveLoop| self.flow.loops[l.number].blocks.contains(&block);
        while nest.loops.len() > base && nest.loops.last().is_some_and(|l| !holds(l)) {
            nest.loops.pop();
        }
        let known = (nest.loops.len() > base).then(|| nest.loops.last().map(|l| l.number));
        let (known, inner) = (known.flatten(), self.flow.loop_of[block]);
        if inner == known {
            if let Some(l) = nest.loops.last_mut()
                && known.is_some_and(|n| self.flow.loops[n].header == block)
            {
                l.iteration = seq;
            }
            return;
        }
        let mut new = Vec::new();
        let mut at = inner;
        while let Some(number) = at
            && at != known
        {
            new.push(LiveLoop { number, entered: seq, iteration: seq });
            at = self.flow.loops[number].parent;
        }
        nest.loops.extend(new.into_iter().rev());
    }
}

/// Dataflow from one iteration of a loop to a later one: the write lies after the loop was entered
/// and before the iteration of the read began. At most one loop carries a communication; writes and
/// reads of functions called in the loop count.
pub fn carried(
    code: &Code,
    connection: &Connection,
    flow: &ControlFlow,
) -> Result<Carried, ReplayError> {
    let mut parents = vec![None; code.calls()];
    let sql = include_str!("../../queries/report/replay_parents.sql");
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let call: CallId = r.get(0)?;
        if let Some(parent) = parents.get_mut(call.index()) {
            *parent = Some(r.get(1)?);
        }
    }
    let mut leader = vec![None; code.instructions()];
    for (number, block) in flow.blocks.iter().enumerate() {
        leader[block.instructions[0].index()] = Some(number);
    }
    let (nests, sums, thread) = (Vec::new(), FxHashMap::default(), ThreadId::FIRST);
    let mut carrier = Carrier { flow, parents, leader, nests, thread, sums };
    observe(code, connection, code.last, &mut carrier)?;
    Ok(carrier.sums.into_iter().collect())
}
