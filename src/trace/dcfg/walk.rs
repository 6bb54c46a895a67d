//! From edges in order of execution to call instances, intervals, runs of blocks, loop instances
//! and iterations.

use super::graph::{Edge, EdgeKind, NodeKind, Process};
use crate::analysis::stack::Point;
use crate::analysis::{Call, CallKind, Ending, Interval, LoopInstance};
use crate::id::{CallId, FunctionId, InstructionId, IntervalId, Seq, ThreadId};
use rustc_hash::FxHashMap;

/// What the walk must know of code, and where its rows go.
pub trait Take {
    /// Function (id from 1) of a node's code, and whether it is a stub. Called at each node's first
    /// execution in this order.
    fn function(&mut self, node: u32) -> (u32, bool);
    /// Instruction id of the node's last instruction.
    fn last_instruction(&mut self, node: u32) -> Option<u32>;
    fn call(&mut self, row: Call);
    fn interval(&mut self, row: Interval);
    fn run(&mut self, thread: u32, seq: u64, node: u32);
    fn loop_instance(&mut self, row: LoopInstance);
    /// A header's step in the loop instance of this number.
    fn iteration(&mut self, loop_instance: u32, iteration: u64, seq: u64);
}

/// Numbers that go on over all threads and processes, and sums.
#[derive(Default)]
pub struct Counters {
    calls: u32,
    intervals: u32,
    loop_instances: u32,
    /// By function id.
    instances: Vec<u32>,
    /// By function id: calls, own steps, steps with those of callees (outermost instances only).
    pub functions: Vec<(u64, u64, u64)>,
    /// By caller, callee and kind: calls, steps.
    pub call_edges: FxHashMap<(u32, u32, CallKind), (u64, u64)>,
    pub steps: u64,
}

impl Counters {
    pub fn calls(&self) -> u32 {
        self.calls
    }
}

struct Frame {
    call: u32,
    function: u32,
    instance: u32,
    kind: CallKind,
    /// Where a return goes to; None if the writer did not say how long the calling block is.
    token: Option<u64>,
    /// Entered by a call: some return ends it.
    called: bool,
    /// Entered by a system call, interrupt or fault.
    trapped: bool,
    tail_of: u32,
    caller_function: u32,
    call_insn: Option<u32>,
    call_seq: u64,
    steps_self: u64,
    steps_below: u64,
    outermost: bool,
    /// How many of `loops` are of its callers.
    loop_base: usize,
}

struct LiveLoop {
    number: u32,
    instance: u32,
    instance_of_loop: u32,
    start_seq: u64,
    iterations: u64,
}

/// One thread of a process.
pub struct Walk<'a, T> {
    process: &'a Process,
    counters: &'a mut Counters,
    /// Instances of each loop so far.
    loop_instances: &'a mut [u32],
    /// Node behind a call block, for blocks whose length is not known.
    bypass: &'a FxHashMap<u32, u32>,
    pub take: &'a mut T,
    /// Id of the thread, from 0.
    thread: u32,
    /// Steps before the next one.
    seq: u64,
    stack: Vec<Frame>,
    loops: Vec<LiveLoop>,
    live: FxHashMap<u32, u32>,
    interval: u32,
    interval_start: u64,
    /// What leads to the next block: the kind of the edge and where it comes from.
    pending: Option<(EdgeKind, u32)>,
    /// Where the last edge leads to.
    target: Option<u32>,
    /// Edges that do not begin where the one before ends.
    pub jumps: u64,
    /// Edges that the graph does not have.
    pub unknown: u64,
}

impl<'a, T: Take> Walk<'a, T> {
    pub fn new(
        process: &'a Process,
        thread: u32,
        counters: &'a mut Counters,
        loop_instances: &'a mut [u32],
        bypass: &'a FxHashMap<u32, u32>,
        take: &'a mut T,
    ) -> Self {
        Walk {
            process,
            counters,
            loop_instances,
            bypass,
            take,
            thread,
            seq: 0,
            stack: Vec::new(),
            loops: Vec::new(),
            live: FxHashMap::default(),
            interval: 0,
            interval_start: 0,
            pending: None,
            target: None,
            jumps: 0,
            unknown: 0,
        }
    }

    /// Instructions of the thread so far.
    pub fn steps(&self) -> u64 {
        self.seq
    }

    /// What ran since then is not known: the next block is at `seq` steps, in an instance of its
    /// own.
    pub fn gap(&mut self, seq: u64) {
        self.unwind_to(0);
        self.seq = seq;
        self.pending = None;
        self.target = None;
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
            self.run(source, node.instructions, node.address, node.inner_loop);
        }
        // A block without instructions does not hide how control got to it.
        if runs || self.pending.is_none_or(|p| p.0.is_inside()) || !kind.is_inside() {
            self.pending = Some((kind, source));
        }
    }

    fn run(&mut self, node: u32, instructions: u64, address: u64, inner_loop: Option<u32>) {
        let seq = self.seq + 1;
        let (function, stub) = self.take.function(node);
        if !matches!(
            self.pending,
            Some((
                EdgeKind::Branch | EdgeKind::FallThrough | EdgeKind::Repeat | EdgeKind::Bypass,
                _
            ))
        ) || self.stack.is_empty()
        {
            self.transfer(seq, function, stub, address);
        }
        if self.stack.last().is_some_and(|f| f.function != function) {
            self.tail(seq, function);
        }
        let base = self.stack.last().map_or(0, |f| f.loop_base);
        let known =
            if self.loops.len() > base { self.loops.last().map(|l| l.number) } else { None };
        if known != inner_loop
            || inner_loop.is_some_and(|l| self.process.loops[l as usize].header == node)
        {
            self.enter_loops(node, inner_loop, base, seq);
        }
        self.take.run(self.thread, seq, node);
        self.seq += instructions;
        self.counters.steps += instructions;
        if let Some(frame) = self.stack.last_mut() {
            frame.steps_self += instructions;
        }
    }

    /// What the last edge does to the call stack.
    fn transfer(&mut self, seq: u64, function: u32, stub: bool, address: u64) {
        match self.pending {
            // Nothing is known of what was before: a thread's first step, or the first behind a
            // gap.
            None => {
                let kind = if self.seq == 0 { CallKind::Root } else { CallKind::Gap };
                self.push(seq, function, kind, None, None);
            }
            Some((EdgeKind::Call, from)) => {
                let node = &self.process.nodes[from as usize];
                let behind = || Some(self.process.nodes[*self.bypass.get(&from)? as usize].address);
                let token = if node.size > 0 {
                    Some(node.address.wrapping_add(node.size))
                } else {
                    behind()
                };
                let kind = if stub { CallKind::Stub } else { CallKind::Call };
                let insn = self.take.last_instruction(from);
                self.push(seq, function, kind, token, insn);
                if let Some(frame) = self.stack.last_mut() {
                    frame.called = true;
                }
            }
            Some((EdgeKind::Trap, _)) => {
                self.push(seq, function, CallKind::Signal, None, None);
                if let Some(frame) = self.stack.last_mut() {
                    frame.trapped = true;
                }
            }
            Some((EdgeKind::Return, _)) => {
                let token = self.stack.iter().rposition(|f| f.token == Some(address));
                // Without a token only the newest call can be meant.
                let top = self
                    .stack
                    .len()
                    .checked_sub(1)
                    .filter(|&t| self.stack[t].called && self.stack[t].token.is_none());
                if let Some(depth) = token.or(top) {
                    self.return_from(depth, seq);
                }
            }
            Some((EdgeKind::TrapReturn, _)) => {
                if let Some(depth) = self.stack.iter().rposition(|f| f.trapped) {
                    self.return_from(depth, seq);
                }
            }
            _ => {}
        }
        if self.stack.is_empty() {
            let kind = if self.seq == 0 { CallKind::Root } else { CallKind::Gap };
            self.push(seq, function, kind, None, None);
        }
    }

    fn return_from(&mut self, depth: usize, seq: u64) {
        self.unwind_to(depth + 1);
        self.pop(Ending::Return);
        self.resume(seq);
    }

    /// Ends the frames above the first `keep`; with 0, at the end of what is known, all are alive.
    fn unwind_to(&mut self, keep: usize) {
        while self.stack.len() > keep {
            self.pop(if keep == 0 { Ending::Open } else { Ending::Unwound });
        }
    }

    fn tail(&mut self, seq: u64, function: u32) {
        let Some(top) = self.stack.last() else { return };
        let (token, called, trapped, tail_of, caller) =
            (top.token, top.called, top.trapped, top.call, top.caller_function);
        self.pop(Ending::Tail);
        self.push(seq, function, CallKind::Tail, token, None);
        if let Some(frame) = self.stack.last_mut() {
            (frame.called, frame.trapped, frame.tail_of, frame.caller_function) =
                (called, trapped, tail_of, caller);
        }
    }

    fn push(
        &mut self,
        seq: u64,
        function: u32,
        kind: CallKind,
        token: Option<u64>,
        call_insn: Option<u32>,
    ) {
        self.close_interval();
        let counters = &mut *self.counters;
        counters.calls += 1;
        let f = function as usize;
        if counters.instances.len() <= f {
            counters.instances.resize(f + 1, 0);
            counters.functions.resize(f + 1, (0, 0, 0));
        }
        counters.instances[f] += 1;
        let live = self.live.entry(function).or_insert(0);
        *live += 1;
        self.stack.push(Frame {
            call: counters.calls,
            function,
            instance: counters.instances[f],
            kind,
            token,
            called: false,
            trapped: false,
            tail_of: 0,
            caller_function: self.stack.last().map_or(0, |p| p.function),
            call_insn,
            call_seq: seq,
            steps_self: 0,
            steps_below: 0,
            outermost: *live == 1,
            loop_base: self.loops.len(),
        });
        self.resume(seq);
    }

    fn pop(&mut self, ending: Ending) {
        self.close_interval();
        let Some(frame) = self.stack.pop() else { return };
        self.close_loops(frame.loop_base, frame.loop_base, frame.call);
        if let Some(live) = self.live.get_mut(&frame.function) {
            *live -= 1;
        }
        let total = frame.steps_self + frame.steps_below;
        let parent = self.stack.last_mut().map_or(0, |p| {
            p.steps_below += total;
            p.call
        });
        let sums = &mut self.counters.functions[frame.function as usize];
        sums.0 += 1;
        sums.1 += frame.steps_self;
        if frame.outermost {
            sums.2 += total;
        }
        let edge = self
            .counters
            .call_edges
            .entry((frame.caller_function, frame.function, frame.kind))
            .or_default();
        edge.0 += 1;
        edge.1 += total;
        let point = |seq| Point { seq: Seq::new(seq), time: None };
        let (Some(call), Some(function)) =
            (CallId::new(frame.call), FunctionId::new(frame.function))
        else {
            return;
        };
        self.take.call(Call {
            call,
            function,
            instance: frame.instance,
            parent: CallId::new(parent),
            tail_of: CallId::new(frame.tail_of),
            thread: ThreadId::at(self.thread as usize),
            depth: self.stack.len() as u32,
            kind: frame.kind,
            ending,
            begin: point(frame.call_seq),
            end: point(self.seq.max(frame.call_seq)),
            site: frame.call_insn.map(|i| InstructionId::at(i as usize)),
            steps_self: frame.steps_self,
            steps_total: total,
        });
    }

    fn resume(&mut self, seq: u64) {
        self.counters.intervals += 1;
        self.interval = self.counters.intervals;
        self.interval_start = seq;
    }

    /// Ends the interval of the instance on top, unless nothing ran in it: then its number is used
    /// by what follows.
    fn close_interval(&mut self) {
        let Some(frame) = self.stack.last().filter(|_| self.interval > 0) else { return };
        if self.interval_start > self.seq {
            self.counters.intervals = self.interval - 1;
        } else {
            let point = |seq| Point { seq: Seq::new(seq), time: None };
            if let (Some(interval), Some(call), Some(function)) = (
                IntervalId::new(self.interval),
                CallId::new(frame.call),
                FunctionId::new(frame.function),
            ) {
                self.take.interval(Interval {
                    interval,
                    thread: ThreadId::at(self.thread as usize),
                    call,
                    function,
                    start: point(self.interval_start),
                    end: point(self.seq),
                });
            }
        }
        self.interval = 0;
    }

    /// Leaves the loops that the node is not in, enters those that it is in, and counts iterations.
    /// `base`: the first loop of the instance on top.
    fn enter_loops(&mut self, node: u32, inner_loop: Option<u32>, base: usize, seq: u64) {
        let all = &self.process.loops;
        // The node's loops, the innermost first, are few: as deep as they are nested.
        let within = |number: u32| {
            let mut at = inner_loop;
            while let Some(n) = at {
                if n == number {
                    return true;
                }
                at = all[n as usize].parent;
            }
            false
        };
        let keep = self.loops[base..]
            .iter()
            .rposition(|l| within(l.number))
            .map_or(base, |i| base + i + 1);
        let call = self.stack.last().map_or(0, |f| f.call);
        self.close_loops(keep, base, call);
        let known = if keep > base { self.loops.last().map(|l| l.number) } else { None };
        let mut new = Vec::new();
        let mut at = inner_loop;
        while let Some(n) = at
            && Some(n) != known
        {
            new.push(n);
            at = all[n as usize].parent;
        }
        for number in new.into_iter().rev() {
            self.counters.loop_instances += 1;
            let count = &mut self.loop_instances[number as usize];
            *count += 1;
            let (instance, instance_of_loop) = (self.counters.loop_instances, *count);
            self.loops.push(LiveLoop {
                number,
                instance,
                instance_of_loop,
                start_seq: seq,
                iterations: 0,
            });
        }
        if self.loops.len() > base
            && let Some(l) = self.loops.last_mut()
            && all[l.number as usize].header == node
        {
            l.iterations += 1;
            self.take.iteration(l.instance, l.iterations, seq);
        }
    }

    fn close_loops(&mut self, keep: usize, base: usize, call: u32) {
        while self.loops.len() > keep {
            let Some(l) = self.loops.pop() else { return };
            let parent = if self.loops.len() > base {
                self.loops.last().map_or(0, |p| p.instance)
            } else {
                0
            };
            self.take.loop_instance(LoopInstance {
                loop_instance: l.instance,
                number: l.number,
                instance: l.instance_of_loop,
                call,
                parent,
                thread: self.thread,
                start_seq: l.start_seq,
                end_seq: self.seq,
                iterations: l.iterations,
            });
        }
    }

    /// Ends what is alive.
    pub fn finish(&mut self) {
        self.unwind_to(0);
    }
}
