//! The loops that each thread is in while the run is gone through.

use super::bytes::ByteMap;
use super::code::Code;
use super::control::ControlFlow;
use super::error::ReplayError;
use super::resolve::Step;
use crate::id::{CallId, ThreadId};
use duckdb::Connection;
use std::collections::VecDeque;

/// Iterations whose begin is remembered; what is further back is far.
const REMEMBERED: usize = 1 << 16;

/// A loop that is being run.
pub struct LiveLoop {
    pub number: usize,
    /// Seq of the first step in it since it was entered.
    pub entered: i64,
    /// Seqs of the header's steps that began the last iterations, the current one last.
    begins: VecDeque<i64>,
}

impl LiveLoop {
    /// How many iterations ago a step of this run of the loop was.
    pub fn distance(&self, seq: i64) -> usize {
        self.begins.len() - self.begins.partition_point(|begin| *begin <= seq)
    }

    /// Whether a step was before the current iteration.
    pub fn is_earlier(&self, seq: i64) -> bool {
        self.begins.back().is_some_and(|begin| seq < *begin)
    }

    fn begin(&mut self, seq: i64) {
        if self.begins.len() == REMEMBERED {
            self.begins.pop_front();
        }
        self.begins.push_back(seq);
    }
}

/// Loops that a thread is in.
#[derive(Default)]
struct Nest {
    /// Call instance, and how many of `loops` are of its callers.
    frames: Vec<(Option<CallId>, usize)>,
    /// Callers' before callees': each was entered after the iteration of the one before began.
    loops: Vec<LiveLoop>,
}

/// The loops of all threads; those of the thread of the current step are asked for.
pub struct Nests<'a> {
    flow: &'a ControlFlow,
    /// By number of the call instance.
    parents: ByteMap<Option<CallId>, 1024>,
    /// By instruction: the block that begins with it.
    leader: Vec<Option<usize>>,
    /// By thread.
    nests: Vec<Nest>,
    thread: ThreadId,
}

impl<'a> Nests<'a> {
    pub fn new(
        code: &Code,
        connection: &Connection,
        flow: &'a ControlFlow,
    ) -> Result<Nests<'a>, ReplayError> {
        let mut parents = ByteMap::default();
        let sql = include_str!("../../queries/report/replay_parents.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let call: CallId = r.get(0)?;
            *parents.value(call.index() as u64) = Some(r.get(1)?);
        }
        let mut leader = vec![None; code.instructions()];
        for (number, block) in flow.blocks.iter().enumerate() {
            leader[block.instructions[0].index()] = Some(number);
        }
        Ok(Nests { flow, parents, leader, nests: Vec::new(), thread: ThreadId::FIRST })
    }

    /// Before a step.
    pub fn begin(&mut self, step: &Step) {
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

    /// The loops that the thread is in and that had been entered at a step, outer ones first.
    pub fn since(&self, seq: i64) -> &[LiveLoop] {
        let loops = self.nests.get(self.thread.index()).map_or(&[][..], |nest| &nest.loops);
        &loops[..loops.partition_point(|l| l.entered <= seq)]
    }

    /// Back to a caller, or from one into a new instance.
    fn follow(&mut self, call: Option<CallId>) {
        let nest = &mut self.nests[self.thread.index()];
        if nest.frames.last().is_some_and(|f| f.0 == call) {
            return;
        }
        let parent = call.and_then(|c| self.parents.get(c.index() as u64));
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
                l.begin(seq);
            }
            return;
        }
        let mut new = Vec::new();
        let mut at = inner;
        while let Some(number) = at
            && at != known
        {
            new.push(LiveLoop { number, entered: seq, begins: VecDeque::from([seq]) });
            at = self.flow.loops[number].parent;
        }
        nest.loops.extend(new.into_iter().rev());
    }
}
