//! The loops that a thread is running.

use super::sink::{Counters, Take};
use crate::id::{CallId, LoopId, ThreadId};
use crate::store::tables::LoopInstance;
use crate::trace::dcfg::graph::Loop;

/// A loop that is being run.
struct Running {
    /// In the process.
    index: u32,
    id: LoopId,
    /// Number among all instances, and among those of the loop.
    instance: u32,
    instance_of_loop: u32,
    start_seq: u64,
    iterations: u64,
}

/// A call instance, and how many of the running loops are of its callers.
#[derive(Clone, Copy)]
pub struct Owner {
    pub call: CallId,
    pub base: usize,
}

/// A node that is about to run.
#[derive(Clone, Copy)]
pub struct Visit {
    pub node: u32,
    pub inner_loop: Option<u32>,
    pub seq: u64,
}

/// The running loops of a thread, outermost first.
pub struct Loops<'a> {
    all: &'a [Loop],
    thread: ThreadId,
    running: Vec<Running>,
}

impl<'a> Loops<'a> {
    /// `all` are the process's.
    pub fn new(all: &'a [Loop], thread: ThreadId) -> Self {
        Loops { all, thread, running: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// The innermost loop above `base`.
    fn innermost(&self, base: usize) -> Option<u32> {
        self.running[base..].last().map(|l| l.index)
    }

    /// Whether a node changes anything: it is in other loops, or its loop begins anew.
    #[inline]
    pub fn changes(&self, visit: Visit, base: usize) -> bool {
        self.innermost(base) != visit.inner_loop
            || visit.inner_loop.is_some_and(|l| self.all[l as usize].header == visit.node)
    }

    /// Leaves the loops that the node is not in, enters those that it is in, and counts iterations.
    pub fn visit(
        &mut self,
        visit: Visit,
        owner: Owner,
        counters: &mut Counters,
        take: &mut impl Take,
    ) {
        let all = self.all;
        // The node's loops, the innermost first, are few: as deep as they are nested.
        let loops =
            |inner: Option<u32>| std::iter::successors(inner, |&index| all[index as usize].parent);
        let within = |index: u32| loops(visit.inner_loop).any(|l| l == index);
        let keep = self.running[owner.base..]
            .iter()
            .rposition(|l| within(l.index))
            .map_or(owner.base, |i| owner.base + i + 1);
        self.leave(keep, owner, visit.seq - 1, take);
        let known = self.innermost(owner.base);
        let new: Vec<u32> =
            loops(visit.inner_loop).take_while(|&index| Some(index) != known).collect();
        for index in new.into_iter().rev() {
            let id = take.loop_id(index);
            let (instance, instance_of_loop) = counters.loop_instance(id);
            let (start_seq, iterations) = (visit.seq, 0);
            self.running.push(Running {
                index,
                id,
                instance,
                instance_of_loop,
                start_seq,
                iterations,
            });
        }
        if let Some(l) = self.running[owner.base..].last_mut()
            && all[l.index as usize].header == visit.node
        {
            l.iterations += 1;
            take.iteration(l.instance, l.iterations, visit.seq);
        }
    }

    /// Leaves all but the first `keep`, which ended with step `end_seq`.
    pub fn leave(&mut self, keep: usize, owner: Owner, end_seq: u64, take: &mut impl Take) {
        while self.running.len() > keep
            && let Some(l) = self.running.pop()
        {
            take.loop_instance(LoopInstance {
                loop_instance_id: l.instance,
                loop_id: l.id,
                instance: l.instance_of_loop,
                call_id: owner.call,
                parent_instance_id: self.running[owner.base..].last().map(|p| p.instance),
                thread_id: self.thread,
                start_seq: l.start_seq,
                end_seq,
                iterations: l.iterations,
            });
        }
    }
}
