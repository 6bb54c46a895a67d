//! From edges in order of execution to call instances, intervals, runs of blocks, loop instances
//! and iterations.

use super::loops::{Loops, Owner, Visit};
use super::sink::{Counters, Take};
use crate::analysis::CallKind;
use crate::analysis::stack::{
    self, Arrival, Ended, Ending, Interval, Ledger, Numbers, Point, Stack, Transfer,
};
use crate::id::{Seq, ThreadId};
use crate::trace::dcfg::graph::{Edge, EdgeKind, Node, NodeKind, Process, sum};
use rustc_hash::FxHashMap;

/// How an instance was entered, by which its end is recognised.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Where a return goes to; None if the writer did not say how long the calling block is.
    back_to: Option<u64>,
    /// By a call: some return ends it.
    called: bool,
    /// By a system call, interrupt or fault.
    trapped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Address(u64),
    Trap,
}

impl stack::Token for Entry {
    type Key = Key;
    fn keys(&self) -> [Option<Key>; 3] {
        [self.back_to.map(Key::Address), self.trapped.then_some(Key::Trap), None]
    }
}

/// Takes what the stack of a thread makes.
struct Clerk<'a, T> {
    counters: &'a mut Counters,
    take: &'a mut T,
    loops: Loops<'a>,
    /// Steps before the next one.
    seq: u64,
}

impl<T: Take> Ledger<usize> for Clerk<'_, T> {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.counters.numbers
    }

    fn interval(&mut self, row: Interval) {
        self.take.interval(row);
    }

    fn end(&mut self, ended: Ended, base: &mut usize) {
        let owner = Owner { call: ended.row.call, base: *base };
        self.loops.leave(*base, owner, self.seq, self.take);
        self.counters.add(&ended);
        self.take.call(ended.row);
    }
}

/// One thread of a process.
pub struct Walk<'a, T> {
    process: &'a Process,
    /// Node behind a call block, for blocks whose length is not known.
    bypass: &'a FxHashMap<u32, u32>,
    /// With how many of the running loops are of the callers of each instance.
    stack: Stack<Entry, usize>,
    clerk: Clerk<'a, T>,
    /// What leads to the next block: the kind of the edge and where it comes from.
    pending: Option<(EdgeKind, u32)>,
    /// Where the last edge leads to.
    target: Option<u32>,
    /// Edges that do not begin where the one before ends.
    pub jumps: u64,
    /// Edges that the graph does not have.
    pub unknown: u64,
}

fn point(seq: u64) -> Point {
    Point { seq: Seq::new(seq), time: None }
}

impl<'a, T: Take> Walk<'a, T> {
    pub fn new(
        process: &'a Process,
        thread: ThreadId,
        counters: &'a mut Counters,
        bypass: &'a FxHashMap<u32, u32>,
        take: &'a mut T,
    ) -> Self {
        let loops = Loops::new(&process.loops, thread);
        Walk {
            process,
            bypass,
            stack: Stack::new(thread),
            clerk: Clerk { counters, take, loops, seq: 0 },
            pending: None,
            target: None,
            jumps: 0,
            unknown: 0,
        }
    }

    /// Instructions of the thread so far.
    pub fn steps(&self) -> u64 {
        self.clerk.seq
    }

    /// What ran since then is not known: the next block is at `seq` steps, in an instance of its
    /// own.
    pub fn gap(&mut self, seq: u64) {
        self.finish();
        self.clerk.seq = seq;
        self.pending = None;
        self.target = None;
    }

    /// Ends what is alive.
    pub fn finish(&mut self) {
        self.stack.end_all(&mut self.clerk);
    }

    /// Takes the next edge: its source runs, then control goes to its target. An index behind the
    /// process's edges is an unknown edge.
    #[inline]
    pub fn edge(&mut self, edge: u32) {
        let process = self.process;
        let Some(&Edge { source, target, kind, .. }) = process.edges.get(edge as usize) else {
            self.unknown += 1;
            self.target = None;
            self.pending = self.pending.map(|(_, from)| (EdgeKind::Unknown, from));
            return;
        };
        if self.target.is_some_and(|t| t != source) {
            self.jumps += 1;
            self.pending = Some((EdgeKind::Unknown, source));
        }
        self.target = Some(target);
        let node = &process.nodes[source as usize];
        let runs = node.kind == NodeKind::Block && node.instructions > 0;
        if runs {
            self.run(source, node);
        }
        // A block without instructions does not hide how control got to it.
        if runs || self.pending.is_none_or(|p| p.0.is_inside()) || !kind.is_inside() {
            self.pending = Some((kind, source));
        }
    }

    fn run(&mut self, number: u32, node: &Node) {
        let seq = self.clerk.seq + 1;
        let (function, stub) = self.clerk.take.function(number);
        let here = Arrival { function, at: point(seq) };
        let calls = self.clerk.counters.numbers.calls();
        match self.pending {
            Some((
                EdgeKind::Branch | EdgeKind::FallThrough | EdgeKind::Repeat | EdgeKind::Bypass,
                _,
            )) => {}
            Some((kind, from)) => self.transfer(kind, from, here, stub, node.address),
            None => {}
        }
        if self.stack.top().is_none() {
            // Nothing is known of what was before.
            let begin = if self.clerk.seq == 0 { Transfer::None } else { Transfer::Gap };
            self.stack.transfer(begin, here, &mut self.clerk);
        } else {
            self.stack.arrive(here, &mut self.clerk);
        }
        let running = self.clerk.loops.len();
        let Some(top) = self.stack.top_mut() else { return };
        if self.clerk.counters.numbers.calls() > calls {
            top.payload = running;
        }
        let visit = Visit { node: number, inner_loop: node.inner_loop, seq };
        let owner = Owner { call: top.call, base: top.payload };
        let Clerk { counters, take, loops, .. } = &mut self.clerk;
        if loops.changes(visit, owner.base) {
            loops.visit(visit, owner, counters, *take);
        }
        take.run(self.stack.thread(), seq, number);
        self.clerk.seq = sum([self.clerk.seq, node.instructions]);
        self.clerk.counters.steps = sum([self.clerk.counters.steps, node.instructions]);
        self.stack.ran(node.instructions, point(self.clerk.seq));
    }

    /// What an edge of this kind does to the call stack.
    fn transfer(&mut self, kind: EdgeKind, from: u32, here: Arrival, stub: bool, address: u64) {
        let ends = match kind {
            EdgeKind::Call => {
                let node = &self.process.nodes[from as usize];
                let behind = || Some(self.process.nodes[*self.bypass.get(&from)? as usize].address);
                let back_to = match node.size {
                    0 => behind(),
                    size => Some(node.address.wrapping_add(size)),
                };
                let kind = if stub { CallKind::Stub } else { CallKind::Call };
                let site = self.clerk.take.last_instruction(from);
                let token = Entry { back_to, called: true, trapped: false };
                let call = Transfer::Call { kind, token, site };
                return self.stack.transfer(call, here, &mut self.clerk);
            }
            EdgeKind::Trap => {
                let token = Entry { back_to: None, called: false, trapped: true };
                return self.stack.transfer(Transfer::Signal { token }, here, &mut self.clerk);
            }
            EdgeKind::Return => self.stack.newest(Key::Address(address), |_| true).or_else(|| {
                // Without an address only the newest call can be meant.
                let top = self.stack.top()?.token;
                (top.called && top.back_to.is_none()).then(|| self.stack.frames().len() - 1)
            }),
            EdgeKind::TrapReturn => self.stack.newest(Key::Trap, |_| true),
            _ => None,
        };
        if let Some(depth) = ends {
            self.stack.end(depth, Ending::Return, here.at, &mut self.clerk);
        }
    }
}

/// By node: the one that a bypass edge leads to.
pub fn bypasses(process: &Process) -> FxHashMap<u32, u32> {
    process
        .edges
        .iter()
        .filter(|e| e.kind == EdgeKind::Bypass)
        .map(|e| (e.source, e.target))
        .collect()
}
