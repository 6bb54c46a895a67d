//! One pass over the runs of a trace, by the rules of `docs/semantics.md`: for each run, what
//! control did before it ([`Pass::transfer`]), then what its accesses do, segment by segment
//! ([`super::operations`]).

use super::access::{self, AccessPlace, Insn};
use super::block::Prepared;
use super::call_end::CallEnd;
use super::data::{Activation, Data, Thread};
use super::interleaving::Interleaving;
use super::noted::Noted;
use super::operations::{Machine, RunValues};
use super::place::SectionRange;
use super::segment::Order;
use super::shadow::Registers;
use super::stack::{Arrival, CallKind, Frame, Point, Transfer};
use super::superblock::{Superblocks, Unit};
use super::transfer::{End, Previous, classify, resumes};
use super::{CodeMap, Options, Output, RecordedRange};
use crate::event::{
    BlockDef, EventSink, ExceptionEntry, ImageMap, InsnDef, Keeps, MemShape, NamedRange, RegSpan,
    RunBatch, RunEnd, SystemCall,
};
use crate::id::{FunctionId, Seq, ThreadId};
use crate::isa::{Decoded, FlowKind};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Steps of a trace among which its first stack pointer is looked for.
const FIRST_SP_STEPS: u64 = 1 << 20;

/// What a frame's return is told by beside its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSlot {
    /// The address of the slot that holds the return address, of so many bytes.
    ReturnSlot { bytes: u64 },
    /// The stack pointer: instruction sets with a link register.
    StackPointer,
}

/// What the pass must know of the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Size of a thread's register file.
    pub register_bytes: usize,
    pub slot: FrameSlot,
    /// The register with the way back, if it has one.
    pub link: Option<RegSpan>,
    /// What it keeps at exceptions in a frame, and in a long one, with their words there.
    pub frame: Vec<(u64, RegSpan)>,
    pub long: Vec<(u64, RegSpan)>,
    /// What fast interrupts have of their own.
    pub fast: Vec<(u64, RegSpan)>,
    /// What the kernel gives handlers of signals.
    pub given: Vec<RegSpan>,
}

/// The pass. Add definitions, push batches in order, then take the sums with [`Pass::finish`].
pub struct Pass<C, O> {
    pub code: C,
    pub insns: Vec<Insn>,
    pub blocks: Vec<Prepared>,
    pub defs: Vec<BlockDef>,
    pub(super) superblocks: Superblocks,
    /// Threads, memory and the output: what the runs change.
    pub machine: Machine<O>,
    processor: Processor,
    /// Steps that were searched for the first stack pointer.
    searched: u64,
    /// The first thread of the process.
    first_thread: u32,
    /// Of the next step.
    pub(super) seq: u64,
    pub(super) signals: u64,
    /// Sections of mappings that are to be pushed, in their order.
    to_place: VecDeque<Vec<SectionRange>>,
    pub interleaving: Interleaving,
    /// Functions by address, of the first so many instructions: for those where control went back to and did not run.
    known: FxHashMap<u64, FunctionId>,
    known_insns: usize,
    /// By block.
    noted: Vec<Noted>,
    events_noted: u32,
}

/// The rest of a batch's columns.
struct Columns<'a> {
    addresses: &'a [u64],
    values: &'a [Option<u64>],
    time: &'a [u64],
}

/// Takes `n` from the front of a column, which may be empty as a whole.
fn take<'a, T>(column: &mut &'a [T], n: usize) -> &'a [T] {
    if column.is_empty() {
        return &[];
    }
    let (here, rest) = column.split_at(n);
    *column = rest;
    here
}

/// A run of a block, or of several as one.
struct Run<'a> {
    unit: Unit,
    addresses: &'a [u64],
    values: &'a [Option<u64>],
    /// One per step, or empty.
    times: &'a [u64],
    end: Option<RunEnd>,
}

impl Run<'_> {
    /// Step `step` of it, whose first has sequence number `seq`.
    #[inline]
    fn point(&self, seq: u64, step: u32) -> Point {
        let time = self.times.get(step as usize).copied();
        Point { seq: Seq::new(seq + u64::from(step)), time }
    }
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// `sections` sorted by address.
    pub fn new(
        code: C,
        output: O,
        options: Options,
        sections: Vec<SectionRange>,
        processor: Processor,
    ) -> Self {
        Pass {
            code,
            insns: Vec::new(),
            blocks: Vec::new(),
            defs: Vec::new(),
            superblocks: Superblocks::new(options.superblock_after),
            machine: Machine::new(Data::new(output, options, sections)),
            processor,
            searched: 0,
            first_thread: 0,
            seq: 1,
            signals: 0,
            interleaving: Interleaving::default(),
            to_place: VecDeque::new(),
            known: FxHashMap::default(),
            known_insns: 0,
            noted: Vec::new(),
            events_noted: 0,
        }
    }

    /// What is left of a pass that has ended: all that was for runs only is gone.
    pub fn into_code(self) -> (C, Vec<Insn>, Vec<BlockDef>) {
        (self.code, self.insns, self.defs)
    }

    pub fn output(&mut self) -> &mut O {
        &mut self.machine.data.output
    }

    /// Where steps and communications are kept.
    pub fn kept(&mut self) -> &mut RecordedRange {
        &mut self.machine.data.kept
    }

    /// By run of the batch that was pushed last: whether some of it is kept. Empty where all is.
    pub fn kept_runs(&self) -> &[bool] {
        self.machine.data.kept.runs()
    }

    /// Sections, disjoint, with the numbers that follow: what the first mapping is of that has not
    /// been pushed and that was not told of. It is to be called for each.
    pub fn place_when_mapped(&mut self, sections: Vec<SectionRange>) {
        self.to_place.push_back(sections);
    }

    /// None of the mappings that are to come has been told of.
    #[cfg(test)]
    pub(super) fn forget_placed(&mut self) {
        self.to_place.clear();
    }

    /// What is pushed from here on is of another process, whose first stack pointer is to be found.
    /// `first_thread`: the number of the thread that appears first in it.
    pub fn next_process(&mut self, first_thread: u32) {
        let data = &mut self.machine.data;
        let found = data.first_sp.take();
        data.trace_first_sp = data.trace_first_sp.or(found);
        (self.searched, self.first_thread) = (0, first_thread);
    }

    /// The first stack pointer of the process, if it is known.
    pub fn first_stack_pointer(&self) -> Option<u64> {
        self.machine.data.first_sp
    }

    /// Says what [`Pass::find_first_sp`] found in a pass before.
    pub fn set_first_stack_pointer(&mut self, address: Option<u64>) {
        self.machine.data.first_sp = address;
    }

    /// The instruction set has a link register.
    #[inline]
    fn links(&self) -> bool {
        self.processor.slot == FrameSlot::StackPointer
    }

    /// Size of a thread's register file.
    pub(super) fn register_bytes(&self) -> usize {
        self.processor.register_bytes
    }

    pub(super) fn set_next_seq(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// Sequence number of the next step.
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    // ---- code ----

    /// Adds an instruction to the dictionary; its id is the number of those before it.
    pub fn add_insn(&mut self, def: InsnDef, decoded: Decoded) {
        if decoded.flow.kind == FlowKind::Syscall {
            self.interleaving.system_call(def.address.wrapping_add(decoded.size.into()));
        }
        let function = self.code.function_at(def.address);
        let copies = self.code.is_through(function);
        self.machine.data.sums.add_instruction(function);
        self.machine.data.stubs.add(function, self.code.is_stub(function));
        self.machine.data.kept.add(function, self.code.is_kept(function));
        self.insns.push(Insn { def, decoded, function, copies });
    }

    /// Adds a block; its accesses without operand are matched with the decoder's.
    pub fn add_block(&mut self, mut def: BlockDef) {
        let mut at = 0;
        for step in &def.steps {
            let shapes = &mut def.mem[at..at + step.mem as usize];
            at += step.mem as usize;
            if shapes.iter().any(|s| s.operand == MemShape::NO_OPERAND) {
                access::match_operands(&self.insns[step.insn as usize].decoded, shapes);
            }
        }
        let block = self.prepare(&def);
        self.look(&block);
        self.blocks.push(block);
        self.defs.push(def);
    }

    /// The same for a block that may never run: [`Pass::need`] comes before its first run.
    pub fn add_block_later(&mut self, def: BlockDef) {
        self.blocks.push(Prepared::later());
        self.defs.push(def);
    }

    /// A block that was added so is going to run.
    #[inline]
    pub fn need(&mut self, block: u32) {
        let is_later = self.blocks.get(block as usize).is_some_and(|block| block.steps == 0);
        if is_later {
            let block = block as usize;
            let prepared = self.prepare(&self.defs[block]);
            self.look(&prepared);
            self.blocks[block] = prepared;
        }
    }

    /// A block may run. Where actors are functions, that of a stub tells what it is merged into.
    fn look(&mut self, block: &Prepared) {
        if self.machine.data.options.gives_instances() {
            self.machine.data.stubs.look(block);
        }
    }

    fn prepare(&self, def: &BlockDef) -> Prepared {
        Prepared::new(def, &self.insns, self.machine.data.options.purpose())
    }

    /// Makes a superblock of `unit` and the block `next` behind it, unless control may leave the
    /// call instance in between.
    #[cold]
    fn join(&mut self, unit: Unit, next: u32) {
        if self.machine.data.options.order() == Order::AsMade {
            return;
        }
        let (before, after) = (self.prepared(unit), &self.blocks[next as usize]);
        let (blocks, links) = ((before, after), self.links());
        let enters = self.code.entry(after.segments[0].function);
        let enters = enters.is_none_or(|entry| entry == after.first_address);
        let Some(members) = self.superblocks.members(unit, next, blocks, links || !enters) else {
            return;
        };
        let defs = || members.iter().map(|&m| &self.defs[m as usize]);
        let def = BlockDef {
            steps: defs().flat_map(|d| d.steps.iter().copied()).collect(),
            mem: defs().flat_map(|d| d.mem.iter().copied()).collect(),
        };
        let prepared = self.prepare(&def);
        self.superblocks.join(unit, members, prepared);
    }

    #[inline]
    fn prepared(&self, unit: Unit) -> &Prepared {
        match unit {
            Unit::Block(b) => &self.blocks[b as usize],
            Unit::Superblock(s) => &self.superblocks.prepared[s as usize],
        }
    }

    /// Looks for the stack pointer before the first stack-relative access of the process's first
    /// thread, in runs that have not been pushed. On which side of it an unwritten byte of the
    /// stack lies must not depend on when the byte is read: so this comes before the first push.
    /// Returns whether the search is over: found, or not among the first [`FIRST_SP_STEPS`].
    pub fn find_first_sp(&mut self, batch: &RunBatch) -> bool {
        let mut addresses = &batch.addresses[..];
        for (i, &b) in batch.block.iter().enumerate() {
            if self.machine.data.first_sp.is_some() || self.searched >= FIRST_SP_STEPS {
                return true;
            }
            let block = &self.blocks[b as usize];
            let here = take(&mut addresses, block.mem as usize);
            let start = self.searched;
            self.searched += u64::from(block.steps);
            // The first thread is the one that appears first.
            if batch.thread.get(i).is_none_or(|t| *t == self.first_thread) {
                let found = self.first_sp_in(b, here, FIRST_SP_STEPS - start);
                self.machine.data.first_sp = found;
            }
        }
        self.machine.data.first_sp.is_some() || self.searched >= FIRST_SP_STEPS
    }

    /// The stack pointer before the first stack-relative access among the first `limit` steps of a
    /// run.
    fn first_sp_in(&self, block: u32, addresses: &[u64], limit: u64) -> Option<u64> {
        let (def, mut found) = (&self.defs[block as usize], None);
        let decoded = |i: u32| &self.insns[i as usize].decoded;
        access::accesses(def, decoded, |a| {
            if found.is_none()
                && a.stack_relative
                && let AccessPlace::Memory(m) = a.place
                && u64::from(a.step) < limit
            {
                let insn = decoded(def.steps[a.step as usize].insn);
                let push = a.is_write && insn.writes.iter().any(|w| w.control && w.span.size >= 4);
                let below = if push { u64::from(a.size) } else { 0 };
                found = Some(addresses[m as usize].wrapping_add(below));
            }
        });
        found
    }

    // ---- runs ----

    /// Takes the runs of a batch whose definitions have been added, and its events. Threads are
    /// numbered from 0 in order of their first appearance.
    pub fn push(&mut self, batch: &RunBatch) {
        let mut rest =
            Columns { addresses: &batch.addresses, values: &batch.values, time: &batch.time };
        let mut events = batch.events.iter().peekable();
        self.machine.data.kept.begin();
        let one_thread = batch.thread.windows(2).all(|pair| pair[0] == pair[1]);
        let alike = one_thread && batch.end.iter().all(|end| !end.linked);
        let mut i = 0;
        loop {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= i) {
                event.tell(self);
            }
            if i >= batch.block.len() {
                return;
            }
            let next_event = events.peek().map_or(usize::MAX, |(at, _)| *at as usize);
            let thread = batch.thread.get(i).map_or(0, |t| *t as usize);
            let of = self.machine.threads.get(thread);
            // Any jump may be the one behind a move of the stack pointer.
            let moved = of.is_some_and(|thread| thread.running.has_moved());
            let end = match moved || self.machine.data.forks.begins.is_some() {
                true => i + 1,
                false => next_event.min(batch.block.len()),
            };
            let found = self.superblocks.longest(batch, i, end, alike);
            let block = self.prepared(found.unit);
            let (mem, steps) = (block.mem as usize, block.steps as usize);
            if thread >= self.machine.threads.len() {
                self.add_threads(thread);
            }
            i += found.runs;
            let run = Run {
                unit: found.unit,
                addresses: self.machine.data.memory.take_addresses(&mut rest.addresses, mem),
                values: take(&mut rest.values, mem),
                times: take(&mut rest.time, steps),
                end: batch.end.get(i - 1).copied(),
            };
            let kept = self.run(thread, &run);
            self.machine.data.kept.add_runs(found.runs, kept);
            if found.hot {
                self.join(found.unit, batch.block[i]);
            }
        }
    }

    /// Takes the runs of a batch instead of [`Pass::push`], and its events. What the pass gives at its end of calls and of
    /// data is then that of the runs that were pushed; steps, executions, regions and threads are those of all.
    pub fn note(&mut self, batch: &RunBatch) {
        let new = self.noted.len()..self.blocks.len();
        self.noted.extend(new.map(|block| Noted::new(&self.defs[block], &self.insns)));
        let mut addresses = &batch.addresses[..];
        let mut events = batch.events.iter().peekable();
        // Mappings come with events, some before the runs that they stand behind.
        self.events_noted += u32::from(!batch.events.is_empty());
        let mut i = 0;
        loop {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= i) {
                event.tell(self);
                self.events_noted = self.events_noted.wrapping_add(1);
            }
            if i >= batch.block.len() {
                return;
            }
            let next_event = events.peek().map_or(usize::MAX, |(at, _)| *at as usize);
            let mut end = batch.block.len().min(next_event);
            if let Some(threads) = batch.thread.get(i..end) {
                end = i + threads.iter().take_while(|thread| **thread == threads[0]).count();
            }
            let thread = batch.thread.get(i).map_or(0, |thread| *thread as usize);
            self.note_runs(thread, &batch.block[i..end], &mut addresses);
            i = end;
        }
    }

    /// Runs of one thread without events between them.
    fn note_runs(&mut self, thread: usize, runs: &[u32], addresses: &mut &[u64]) {
        if thread >= self.machine.threads.len() {
            self.add_threads(thread);
        }
        let memory = &mut self.machine.data.memory;
        let mut steps = 0;
        for &number in runs {
            let noted = &mut self.noted[number as usize];
            let (here, rest) = addresses.split_at(noted.addresses as usize);
            *addresses = rest;
            noted.run(memory, here, self.events_noted);
            steps += u64::from(noted.steps);
        }
        self.machine.threads[thread].steps += steps;
        self.seq += steps;
    }

    /// How often a block ran in what was noted.
    pub(super) fn noted_runs(&self, block: usize) -> u64 {
        self.noted.get(block).map_or(0, |noted| noted.runs)
    }

    /// The function of an address, if it has been met.
    #[cold]
    fn known_function(&mut self, address: u64) -> Option<FunctionId> {
        let new = &self.insns[self.known_insns..];
        self.known.extend(new.iter().map(|insn| (insn.def.address, insn.function)));
        self.known_insns = self.insns.len();
        self.known.get(&address).copied()
    }

    /// Makes the threads up to this one.
    #[cold]
    fn add_threads(&mut self, thread: usize) {
        let threads = &mut self.machine.threads;
        while threads.len() <= thread {
            let id = ThreadId::at(threads.len());
            let bytes = self.processor.register_bytes;
            threads.push(Thread::new(id, bytes));
        }
    }

    /// Gives whether some of it is of what is kept.
    fn run(&mut self, t: usize, run: &Run) -> bool {
        let seq = self.seq;
        let block = self.prepared(run.unit);
        let (steps, last) = (block.steps, block.last);
        let (address, function) = (block.first_address, block.segments[0].function);
        let called = self.transfer(t, address, Arrival { function, at: run.point(seq, 0) });
        let top = self.machine.threads[t].calls.top().map(|top| top.call);

        let values = RunValues { seq, addresses: run.addresses, values: run.values };
        let saved = self.machine.restorable(t);
        let block = match run.unit {
            Unit::Block(b) => &mut self.blocks[b as usize],
            Unit::Superblock(s) => &mut self.superblocks.prepared[s as usize],
        };
        let segments = block.segments_for(saved);
        let (part, mut kept) = (!self.machine.data.kept.is_everywhere(), false);
        for (i, segment) in segments.iter_mut().enumerate() {
            let (first, end) = (segment.first_step, segment.first_step + segment.steps);
            if i > 0 {
                let (function, at) = (segment.function, run.point(seq, first));
                self.machine.arrive(t, Arrival { function, at });
            }
            if part {
                let (calls, data) = (&self.machine.threads[t].calls, &mut self.machine.data);
                kept |= data.kept.segment(t, |function| calls.live(function));
            }
            if self.machine.data.kept.follows() {
                self.machine.segment(t, segment, &values);
            }
            let at = run.point(seq, end - 1);
            self.machine.threads[t].calls.ran(u64::from(segment.steps), at);
        }

        let slot = match self.processor.slot {
            FrameSlot::ReturnSlot { .. } => {
                last.slot.and_then(|s| run.addresses.get(s as usize).copied())
            }
            FrameSlot::StackPointer => run.end.and_then(|e| e.sp),
        };
        let links = self.links();
        let thread = &mut self.machine.threads[t];
        let linked = run.end.is_some_and(|e| e.linked);
        let called = called && thread.calls.top().map(|top| top.call) == top;
        thread.previous = Some(Previous { last, slot, linked, links, called });
        thread.steps += u64::from(steps);
        self.seq += u64::from(steps);
        kept
    }

    /// What control did between the thread's last step and the one at `address`. Gives whether the instance
    /// that is on top then began with a call, and control was nowhere else since.
    #[inline]
    fn transfer(&mut self, t: usize, address: u64, here: Arrival) -> bool {
        let stub = self.code.is_stub(here.function);
        let kind = if stub { CallKind::Stub } else { CallKind::Call };
        if self.machine.threads[t].levels.is_changed() {
            self.machine.change_level(t, (address, Some(here.function)), here.at);
        } else if self.machine.has_tasks(t) {
            self.machine.correct_task(t, address, here);
        }
        if self.machine.data.forks.begins.is_some() {
            self.machine.begin_forked(t, here.at);
        }
        let thread = &mut self.machine.threads[t];
        let transfer = match &thread.previous {
            _ if thread.levels.enters() => Transfer::Signal { token: End::Exception },
            Some(_) if thread.running.has_moved() => {
                let entry = self.code.entry(here.function);
                let popped = match self.processor.slot {
                    FrameSlot::ReturnSlot { bytes } => bytes,
                    FrameSlot::StackPointer => 0,
                };
                self.machine.transfer_behind_move(t, (address, here), entry, kind, popped)
            }
            Some(previous) => {
                let (to, code) = ((address, here.function), &self.code);
                let entry = || code.entry(here.function);
                classify(previous, to, entry, kind, &mut thread.calls)
            }
            None => Transfer::None,
        };
        let thread = &mut self.machine.threads[t];
        match transfer {
            Transfer::Signal { .. } => {
                self.signals += 1;
                self.interleaving.arrive(address, here.at.seq);
            }
            // Ways back from exceptions are known to end.
            Transfer::Return { depth }
                if matches!(thread.calls.frames()[depth].token, End::Resume(_)) =>
            {
                if let Some(previous) = thread.previous.as_ref().filter(|p| !p.last.kind.returns())
                {
                    let [_, successors @ ..] = resumes(&previous.last);
                    self.interleaving.leave(&successors);
                }
            }
            _ => {}
        }
        if thread.running.was_elsewhere()
            && let Some(Previous { last, slot: Some(slot), .. }) = thread.previous
            && last.kind == FlowKind::Return
        {
            thread.running.returns(slot, transfer != Transfer::None, &thread.calls);
        }
        let before = thread.calls.top().map(|top| top.call);
        let (is_call, goes_on) = match transfer {
            Transfer::Call { .. } => (true, false),
            Transfer::None => (false, thread.previous.as_ref().is_some_and(|p| p.called)),
            _ => (false, false),
        };
        self.machine.transfer(t, transfer, here);
        let Thread { levels, calls, .. } = &mut self.machine.threads[t];
        if !levels.is_empty() {
            levels.arrived(calls);
        }
        is_call || goes_on && calls.top().map(|top| top.call) == before
    }
}

impl<O: Output> Machine<O> {
    #[inline]
    fn transfer(&mut self, t: usize, transfer: Transfer<End>, here: Arrival) {
        let thread = &mut self.threads[t];
        let goes_on = |top: &Frame<End, Activation>| top.function == here.function;
        if transfer != Transfer::None || !thread.calls.top().is_some_and(goes_on) {
            self.data.settle(thread);
            thread.registers.forget_noted();
        }
        let Thread { calls, registers, contexts, .. } = thread;
        calls.transfer(transfer, here, &mut CallEnd { data: &mut self.data, registers, contexts });
    }

    /// Control goes on into a segment, maybe of another function.
    #[inline]
    fn arrive(&mut self, t: usize, here: Arrival) {
        self.transfer(t, Transfer::None, here);
    }

    /// Ends what is alive.
    pub(super) fn end(&mut self) {
        for thread in &mut self.threads {
            self.data.settle(thread);
            let Thread { calls, registers, contexts, levels, signals, .. } = thread;
            calls.end_all(&mut CallEnd { data: &mut self.data, registers, contexts });
            self.data.end_tasks(levels, registers);
            signals.clear();
        }
        self.end_stacks();
    }
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// An event, most likely of this thread, may have been the end of saves.
    fn settle(&mut self, thread: usize) {
        self.machine.settle(thread, self.seq.saturating_sub(1).max(1));
        self.machine.data.hand_out_rows();
    }
}

impl<C: CodeMap, O: Output> EventSink for Pass<C, O> {
    fn process_start(&mut self) {
        self.machine.end();
        self.machine.data.forks.begins = None;
        self.machine.data.unmap(0, u64::MAX);
    }

    fn gap(&mut self) {
        self.machine.end();
        self.machine.data.forget(0, u64::MAX);
        self.machine.data.forks.begins = None;
        for thread in &mut self.machine.threads {
            thread.registers = Registers::new(self.processor.register_bytes);
            thread.previous = None;
            thread.levels.forget();
        }
    }

    fn system_call(&mut self, call: &SystemCall) {
        for access in &call.accesses {
            self.machine.data.kernel_access(access);
            self.settle(call.thread as usize);
        }
    }

    fn signal_delivered(&mut self, thread: u32, _: u32) {
        // One may come before the first step of a forked process.
        if self.machine.data.forks.begins.is_some() {
            self.add_threads(thread as usize);
            let at = Point { seq: Seq::new(self.seq), time: None };
            self.machine.begin_forked(thread as usize, at);
        }
        if (thread as usize) < self.machine.threads.len() {
            self.machine.deliver_signal(thread as usize, &self.processor.given, self.seq);
        }
    }

    fn signal_ended(&mut self, thread: u32) {
        if (thread as usize) < self.machine.threads.len() {
            self.machine.end_signal(thread as usize, self.seq);
        }
    }

    fn exception_entry(&mut self, entry: &ExceptionEntry) {
        let thread = entry.thread as usize;
        if thread >= self.machine.threads.len() {
            self.add_threads(thread);
        }
        // Behind a handler that has gone back: most exceptions interrupt what runs.
        let is_changed = self.machine.threads[thread].levels.is_changed();
        let resume = entry.resume.filter(|_| is_changed);
        let there = resume.and_then(|address| self.known_function(address));
        let at = Point { seq: Seq::new(self.seq), time: None };
        let link = self.processor.link.map(|link| (0, link));
        let spans = match entry.keeps {
            Keeps::None => &[],
            Keeps::Link => link.as_slice(),
            Keeps::Frame => &self.processor.frame[..],
            Keeps::LongFrame => &self.processor.long[..],
            Keeps::Fast => &self.processor.fast[..],
        };
        self.machine.enter(entry, spans, self.processor.link, (there, at));
    }

    fn exception_return(&mut self, thread: u32, frame: Option<u64>) {
        if (thread as usize) < self.machine.threads.len() {
            self.machine.leave(thread as usize, frame);
        }
    }

    fn stack_pointer(&mut self, thread: u32, to: (u64, u64), above: &[(u64, u64)]) {
        if let Some(thread) = self.machine.threads.get_mut(thread as usize) {
            thread.running.moves(to, above);
        }
    }

    fn image_map(&mut self, map: &ImageMap) {
        self.machine.data.map(map);
        let sections = self.to_place.pop_front().unwrap_or_default();
        self.machine.data.memory.add_sections(sections);
        self.settle(0);
    }

    fn device(&mut self, _: &NamedRange) {
        let sections = self.to_place.pop_front().unwrap_or_default();
        self.machine.data.memory.add_sections(sections);
        self.settle(0);
    }

    fn image_unmap(&mut self, address: u64, bytes: u64) {
        self.machine.data.unmap(address, bytes);
        self.settle(0);
    }

    fn memory_move(&mut self, from: u64, to: u64, bytes: u64) {
        self.machine.data.move_memory(from, to, bytes);
        self.settle(0);
    }

    fn memory_copy(&mut self, from: u64, to: u64, bytes: u64) {
        self.machine.data.copy_memory(from, to, bytes);
        self.settle(0);
    }

    fn memory_fresh(&mut self, address: u64, bytes: u64) {
        self.machine.data.forget(address, bytes);
        self.settle(0);
    }

    fn fork(&mut self, pid: u64) {
        self.machine.fork(pid, self.seq);
    }

    fn inherit(&mut self, pid: u64, ranges: &[(u64, u64)]) {
        self.machine.data.inherit(pid, ranges);
        self.settle(0);
    }
}
