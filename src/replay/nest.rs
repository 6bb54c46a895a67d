//! The loops that each thread is in while the run is gone through.

use super::bytes::ByteMap;
use super::code::Code;
use super::control::ControlFlow;
use super::error::ReplayError;
use super::resolve::Step;
use crate::id::{BlockId, CallId, FunctionId, InstructionId, ThreadId};
use crate::load::history::Caller;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Iterations whose begin is remembered; what is further back is far.
const REMEMBERED: usize = 1 << 16;

/// Different sets of loops that are told apart.
const SETS: usize = 1 << 16;

/// A loop that is being run.
pub struct LiveLoop {
    pub number: usize,
    /// The loops around it, by [`Sets`]; None: of too many sets.
    pub around: Option<u32>,
    /// Seq of the first step in it since it was entered.
    pub entered: i64,
    /// Seqs of the header's steps that began the last iterations, the current one last.
    begins: VecDeque<i64>,
}

impl LiveLoop {
    /// How many iterations ago a step of this run of the loop was.
    pub fn distance(&self, seq: i64) -> usize {
        // Mostly the one before.
        let near = self.begins.iter().rev().take(4).position(|begin| *begin <= seq);
        near.unwrap_or_else(|| {
            self.begins.len() - self.begins.partition_point(|begin| *begin <= seq)
        })
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

/// Numbers of the sets of loops that threads are in. A recursion is in the same loops again and again, so
/// there are few.
#[derive(Default)]
struct Sets {
    /// From 1; 0 is empty.
    numbers: FxHashMap<BTreeSet<usize>, u32>,
    /// By a set and a loop more.
    with: FxHashMap<(u32, usize), u32>,
    list: Vec<BTreeSet<usize>>,
}

impl Sets {
    /// The set of a loop and those around it.
    fn with(&mut self, around: Option<u32>, number: usize) -> Option<u32> {
        let around = around?;
        if let Some(known) = self.with.get(&(around, number)) {
            return Some(*known);
        }
        let at = (around as usize).checked_sub(1);
        let mut set = at.map(|at| self.list[at].clone()).unwrap_or_default();
        set.insert(number);
        let found = match self.numbers.get(&set) {
            Some(known) => *known,
            None if self.list.len() == SETS => return None,
            None => {
                self.list.push(set.clone());
                let new = self.list.len() as u32;
                self.numbers.insert(set, new);
                new
            }
        };
        self.with.insert((around, number), found);
        Some(found)
    }
}

/// A call instance that is alive.
#[derive(Clone, Copy)]
struct Live {
    call: Option<CallId>,
    /// How many of `loops` are of its callers.
    base: usize,
    /// How many are of what its handler, or that of a caller, has interrupted: it is in none of them.
    interrupted: usize,
}

/// Loops that a thread is in.
#[derive(Default)]
struct Nest {
    /// The outermost instance of the stack that these are of.
    outermost: Option<CallId>,
    frames: Vec<Live>,
    /// Callers' before callees': each was entered after the iteration of the one before began.
    loops: Vec<LiveLoop>,
}

impl Nest {
    /// How many of the loops are of what was interrupted.
    fn interrupted(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.interrupted)
    }
}

/// The loops of all threads; those of the thread of the current step are asked for.
pub struct Nests<'a> {
    flow: &'a ControlFlow,
    /// By number of the call instance.
    callers: ByteMap<Option<Caller>, 1024>,
    /// Of calls that go on from one chunk into another.
    going_on: FxHashMap<CallId, Caller>,
    /// By number of the loop: whether anybody asks for it.
    matters: Vec<bool>,
    /// How many of those threads are in.
    live: usize,
    /// By instruction: the block that begins with it.
    leader: Vec<Option<usize>>,
    /// By block of the code: whether it has one that is in a loop that matters.
    enters: Vec<bool>,
    /// By thread.
    nests: Vec<Nest>,
    /// By outermost instance: those of tasks and stacks that wait.
    waiting: FxHashMap<CallId, Nest>,
    sets: Sets,
    thread: ThreadId,
}

impl<'a> Nests<'a> {
    /// `of`: whether loops of a function matter.
    pub fn new(
        code: &Code,
        flow: &'a ControlFlow,
        of: impl Fn(Option<FunctionId>) -> bool,
    ) -> Nests<'a> {
        let mut leader = vec![None; code.instructions()];
        for (number, block) in flow.blocks.iter().enumerate() {
            leader[block.instructions[0].index()] = Some(number);
        }
        let matters: Vec<bool> = flow.loops.iter().map(|l| of(l.function)).collect();
        let enters = |id: &InstructionId| {
            let block = leader.get(id.index()).copied().flatten();
            let inner = block.and_then(|block| flow.loop_of[block]);
            std::iter::successors(inner, |number| flow.loops[*number].parent).any(|l| matters[l])
        };
        let enters = code.blocks().iter().map(|block| block.instructions.iter().any(enters));
        let enters = enters.collect();
        Nests {
            flow,
            callers: ByteMap::default(),
            going_on: FxHashMap::default(),
            matters,
            live: 0,
            leader,
            enters,
            nests: Vec::new(),
            waiting: FxHashMap::default(),
            sets: Sets::default(),
            thread: ThreadId::FIRST,
        }
    }

    /// Has the callers of all calls.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn with_all_callers(mut self, connection: &Connection) -> Result<Nests<'a>, ReplayError> {
        let sql = include_str!("../../queries/report/replay_parents.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let call: CallId = r.get(0)?;
            let caller = Caller { call: r.get(1)?, interrupted: r.get(2)? };
            *self.callers.value(call.index() as u64) = Some(caller);
        }
        Ok(self)
    }

    /// The callers of calls that go on from one chunk into another.
    pub fn with_callers(self, going_on: FxHashMap<CallId, Caller>) -> Nests<'a> {
        Nests { going_on, ..self }
    }

    /// A chunk begins, with the callers of the calls that begin and end in it.
    pub fn begin_chunk(&mut self, callers: impl Iterator<Item = (CallId, Caller)>) {
        self.callers = ByteMap::default();
        callers.for_each(|(of, by)| *self.callers.value(of.index() as u64) = Some(by));
    }

    /// Whether anybody asks for a loop.
    pub fn matters(&self, number: usize) -> bool {
        self.matters[number]
    }

    /// Whether a loop that matters may be entered in a run of a block.
    pub fn may_enter(&self, block: BlockId) -> bool {
        self.enters.get(block.index()).copied().unwrap_or(true)
    }

    /// Whether a thread is in a loop that matters.
    pub fn is_in_some(&self) -> bool {
        self.live > 0
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
        let Some(nest) = self.nests.get(self.thread.index()) else { return &[] };
        let loops = &nest.loops[nest.interrupted()..];
        &loops[..loops.partition_point(|l| l.entered <= seq)]
    }

    /// Back to a caller, or from one into a new instance.
    fn follow(&mut self, call: Option<CallId>) {
        let nest = &mut self.nests[self.thread.index()];
        if nest.frames.last().is_some_and(|f| f.call == call) {
            return;
        }
        let own = |call: CallId| self.callers.get(call.index() as u64);
        let caller_of = |call: CallId| own(call).or_else(|| self.going_on.get(&call).copied());
        let caller = call.and_then(caller_of);
        let parent = caller.map(|caller| caller.call);
        let find = |nest: &Nest| {
            nest.frames.iter().rposition(|f| f.call == call || f.call == parent && parent.is_some())
        };
        let mut known = find(nest);
        // A caller begins before what it calls, whatever a database says.
        let earlier = |of: &CallId| Some(caller_of(*of)?.call).filter(|caller| caller < of);
        let outermost = |of: CallId| std::iter::successors(Some(of), earlier).last();
        if known.is_none()
            && let Some(there) = call.and_then(outermost)
            && let Some(here) = nest.outermost
            && here != there
        {
            // Another task goes on, or another stack, or one begins.
            let next = self.waiting.remove(&there).unwrap_or_default();
            let before = std::mem::replace(nest, next);
            if !before.loops.is_empty() {
                self.waiting.insert(here, before);
            }
            known = find(nest);
        }
        let keep = known.map_or(0, |k| k + 1);
        if let Some(first_gone) = nest.frames.get(keep) {
            let gone = nest.loops.drain(first_gone.base..);
            self.live -= gone.filter(|l| self.matters[l.number]).count();
        }
        nest.frames.truncate(keep);
        if nest.frames.last().is_none_or(|f| f.call != call) {
            let base = nest.loops.len();
            let interrupts = caller.is_some_and(|caller| caller.interrupted);
            let interrupted = if interrupts { base } else { nest.interrupted() };
            if nest.frames.is_empty() {
                nest.outermost = call.and_then(outermost);
            }
            nest.frames.push(Live { call, base, interrupted });
        }
    }

    /// Before the first step of a block: which loops it is in.
    fn enter(&mut self, seq: i64, block: usize) {
        let nest = &mut self.nests[self.thread.index()];
        let base = nest.frames.last().map_or(0, |f| f.base);
        let holds = |l: &LiveLoop| self.flow.loops[l.number].blocks.contains(&block);
        while nest.loops.len() > base
            && let Some(gone) = nest.loops.pop_if(|l| !holds(l))
        {
            self.live -= usize::from(self.matters[gone.number]);
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
            new.push(number);
            at = self.flow.loops[number].parent;
        }
        let innermost = nest.loops[nest.interrupted()..].last().map(|l| (l.around, l.number));
        let mut around =
            innermost.map_or(Some(0), |(around, number)| self.sets.with(around, number));
        for number in new.into_iter().rev() {
            let begins = VecDeque::from([seq]);
            nest.loops.push(LiveLoop { number, around, entered: seq, begins });
            self.live += usize::from(self.matters[number]);
            around = self.sets.with(around, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SETS, Sets};

    #[test]
    fn sets_are_told_apart_by_their_loops() {
        let mut sets = Sets::default();
        let mut of = |list: &[usize]| list.iter().try_fold(0, |set, l| sets.with(Some(set), *l));
        assert_eq!(of(&[]), Some(0));
        assert_eq!(of(&[3, 5]), of(&[5, 3]));
        assert_eq!(of(&[3, 5, 3, 5, 3]), of(&[5, 3]));
        let others = [of(&[]), of(&[3]), of(&[5]), of(&[3, 5]), of(&[3, 5, 7])];
        let different: std::collections::BTreeSet<_> = others.into_iter().collect();
        assert_eq!(different.len(), others.len());
        // Of too many none more is told apart, and those that are known stay.
        (0..SETS).for_each(|i| _ = of(&[100 + i]));
        assert_eq!((of(&[99]), of(&[99, 3])), (None, None));
        assert_eq!(of(&[3, 5]), others[3]);
    }
}
