//! What the operations of a segment do: reads, writes, loads and stores, in the order of their
//! steps.

use super::access::Extent;
use super::copies::Copying;
use super::data::{Data, Thread};
use super::fast_path::FastKind;
use super::memory::{PAGE, PageIndex};
use super::operation::{Operation, OperationKind};
use super::origin::{Origin, Packed};
use super::place::PlaceCode;
use super::reads::Read;
use super::register_window::{OneRead, ReadSet, RegisterRead};
use super::repeated_reads::Met;
use super::saves::{Load, Met as SaveMet, Store};
use super::segment::Segment;
use super::shadow::{Cell, access, access_id};
use super::stacks::{Waiting, Waits};
use super::{Communication, Output};
use crate::event::RegSpan;
use crate::id::{CallId, FunctionId};

/// What a run of a block says beside its template.
#[derive(Clone, Copy)]
pub struct RunValues<'a> {
    /// Sequence number of its first step.
    pub seq: u64,
    pub addresses: &'a [u64],
    /// Of the same accesses; empty if the trace has none.
    pub values: &'a [Option<u64>],
}

impl RunValues<'_> {
    fn value(&self, op: &Operation) -> Option<u64> {
        self.values.get(op.mem as usize).copied().flatten()
    }
}

/// The threads and what they share.
pub struct Machine<O> {
    pub threads: Vec<Thread>,
    pub data: Data<O>,
    pub waits: Waits,
    copying: Copying,
    /// Registers, with their steps, that the segment's loads gave their old writers again.
    restored: Vec<(u32, RegSpan)>,
}

impl<O: Output> Machine<O> {
    pub fn new(data: Data<O>) -> Machine<O> {
        Machine {
            threads: Vec::new(),
            data,
            waits: Waits::default(),
            copying: Copying::default(),
            restored: Vec::new(),
        }
    }

    /// Registers that a load of thread `t` may restore.
    #[inline]
    pub fn restorable(&self, t: usize) -> u64 {
        let thread = &self.threads[t];
        let own = thread.calls.top().map_or(0, |top| top.payload.save_mask);
        own | if thread.levels.is_empty() { 0 } else { self.data.switches.mask() }
    }

    /// Thread `t` runs a segment.
    #[inline]
    pub fn segment(&mut self, t: usize, segment: &mut Segment, run: &RunValues) {
        self.accesses(t, segment, run);
        if !self.data.scratch.rows.is_empty() {
            self.data.hand_out_rows();
        }
    }

    fn accesses(&mut self, t: usize, segment: &mut Segment, run: &RunValues) {
        let thread = &self.threads[t];
        let Some(call) = thread.calls.top().map(|top| top.call) else {
            segment.count += 1;
            return;
        };
        let segment = match thread.contexts.last() {
            Some(live) => segment.run_as(live.actor, &mut self.data.sums),
            None => segment,
        };
        segment.count += 1;
        if segment.static_transfers != 0 {
            self.inside(t, segment, call, run);
        }
        self.restored.clear();
        let copies = segment.copies;
        // Reads are taken out of the operations where actors are functions, else they come first.
        debug_assert!(segment.read_first == 0 || segment.reads.is_empty());
        if copies {
            self.copying.clear();
        }
        // Of what is recent no row is given.
        if copies || self.data.gives_all() {
            self.data.settle(&mut self.threads[t]);
        }
        if segment.read_first == 0 {
            self.read_registers(t, segment, call);
        } else {
            self.read_by_instructions(t, segment, call, run.seq);
        }
        if !segment.quick.is_empty() {
            debug_assert_eq!(segment.quick.len(), segment.operations.len() - segment.read_first);
            debug_assert!(!copies, "what copies is gone through step by step");
            if self.data.options.gives_instances() {
                self.memory::<true>(t, segment, call, run);
            } else {
                self.memory::<false>(t, segment, call, run);
            }
            return self.write_registers(t, segment, call, run.seq);
        }
        let Segment { operations, read_first, read_set, met, .. } = segment;
        for op in &mut operations[*read_first..] {
            let seq = run.seq + u64::from(op.step);
            match op.kind {
                OperationKind::Read { .. } => self.read(t, op, call, seq),
                OperationKind::Write { .. } => self.write(t, op, call, seq),
                OperationKind::Load { .. } => self.load(t, op, call, copies, run),
                OperationKind::Store { .. } => {
                    self.store(t, (op, &mut *read_set, &mut *met), call, copies, run);
                }
            }
            if self.data.saves.has_met() {
                self.settle(t, seq);
            }
        }
        self.write_registers(t, segment, call, run.seq);
    }

    /// Loads and stores, most of which are quick; `FLOWS`: those between instances are asked for, too.
    #[inline]
    fn memory<const FLOWS: bool>(
        &mut self,
        t: usize,
        segment: &mut Segment,
        call: CallId,
        run: &RunValues,
    ) {
        let Segment { operations, read_first, quick, read_set, met, runs_as, .. } = segment;
        let mut saves = self.restorable(t);
        let rows = self.data.options.gives_communications() && self.data.kept.now();
        let is_quick = !self.data.gives_all();
        for (op, quick) in operations[*read_first..].iter_mut().zip(quick) {
            debug_assert!(
                !self.data.saves.has_met(),
                "saves that ended are settled before the next operation"
            );
            let (thread, data) = (&mut self.threads[t], &mut self.data);
            let address = run.addresses[usize::from(quick.mem)];
            let done = match quick.kind {
                FastKind::Load | FastKind::LoadRegister | FastKind::StoreRegister if !is_quick => {
                    false
                }
                FastKind::Load | FastKind::LoadRegister => {
                    let Data { memory, sums, ended, .. } = data;
                    let top = if FLOWS { thread.calls.top_mut() } else { None };
                    let flows = top.map(|top| (&mut top.payload.flows, rows));
                    quick.load((memory, sums), address, (call, ended), saves, flows)
                }
                FastKind::Store => {
                    let new = quick.written(run.seq, call);
                    quick.store(&mut data.memory, address, new, &mut data.sums)
                }
                // What the instance has written itself is nothing that it saves.
                FastKind::StoreRegister => {
                    let read = op.register.and_then(OneRead::new);
                    let own = read.filter(|read| thread.recent.has_all(read));
                    let set = (*runs_as, &mut *read_set);
                    own.is_some_and(|read| {
                        if !FLOWS {
                            return data.read_recent(t, thread, &read, set);
                        }
                        let is_recent = data.read_recent_flow(t, thread, &read, set);
                        let writer = thread.writers.actor(read.first()).get();
                        if is_recent && !quick.again.read_register(writer) {
                            quick.give(op);
                            op.read_recent(read.span(), &thread.writers, &mut data.sums);
                            quick.take(op);
                        }
                        is_recent
                    }) && {
                        let new = quick.written(run.seq, call);
                        quick.store(&mut data.memory, address, new, &mut data.sums)
                            || data.store_any(op, address, new)
                    }
                }
                FastKind::Control => quick.control(&mut data.memory, address),
                FastKind::Other => false,
            };
            if !done {
                quick.give(op);
                match op.kind {
                    OperationKind::Load { .. } => self.load(t, op, call, false, run),
                    _ => self.store(t, (op, &mut *read_set, &mut *met), call, false, run),
                }
                quick.take(op);
                saves = self.restorable(t);
            }
            if self.data.saves.has_met() {
                self.settle(t, run.seq + u64::from(op.step));
                saves = self.restorable(t);
            }
        }
    }

    /// The reads that are not among the operations.
    #[inline]
    fn read_registers(&mut self, t: usize, segment: &mut Segment, call: CallId) {
        let (thread, data, actor) = (&mut self.threads[t], &mut self.data, segment.actor());
        let Segment { reads, in_set, read_set, met, runs_as, .. } = segment;
        let (set, others) = reads.split_at(*in_set);
        debug_assert!(
            set.iter().all(|read| read.extent == Extent::Whole),
            "a set is of whole accesses"
        );
        if !set.is_empty() {
            if read_set.read_all(&mut thread.recent) {
                if !read_set.is_touched(t, None) {
                    set.iter().for_each(|read| data.touch_own(thread, *runs_as, read.span));
                }
            } else {
                for (i, read) in set.iter().enumerate() {
                    let one = read_set.get(i);
                    if !data.read_recent(t, thread, &one, (*runs_as, read_set)) {
                        data.read_for_sums(thread, *read, (call, actor), met);
                    }
                }
            }
        }
        for read in others {
            if thread.recent.has(read.span) {
                data.settle(thread);
            }
            data.read_for_sums(thread, *read, (call, actor), met);
        }
    }

    /// The register reads that are the first of the operations.
    #[inline]
    fn read_by_instructions(&mut self, t: usize, segment: &mut Segment, call: CallId, seq: u64) {
        let Segment { operations, read_first, in_set, read_set, function, .. } = segment;
        let (set, others) = operations[..*read_first].split_at_mut(*in_set);
        let (thread, data) = (&mut self.threads[t], &mut self.data);
        if data.gives_all() {
            for op in &mut operations[..*read_first] {
                self.read(t, op, call, seq + u64::from(op.step));
            }
            return;
        }
        let unique = read_set.unique();
        if !set.is_empty() && read_set.read_all(&mut thread.recent) {
            if !read_set.is_touched(t, None) {
                set.iter()
                    .filter_map(|op| op.register)
                    .for_each(|span| data.touch_own(thread, *function, span));
            }
            if let Some(top) = thread.calls.top_mut() {
                let (bytes, transfers) = read_set.once();
                let flow = top.payload.flows.own((call, *function));
                flow.add(bytes, read_set.unique() - unique, transfers);
            }
            for (i, op) in set.iter_mut().enumerate() {
                op.read_recent(read_set.get(i).span(), &thread.writers, &mut data.sums);
            }
        } else {
            for (i, op) in set.iter_mut().enumerate() {
                let one = read_set.get(i);
                let thread = &mut self.threads[t];
                if self.data.read_recent_flow(t, thread, &one, (*function, read_set)) {
                    op.read_recent(one.span(), &thread.writers, &mut self.data.sums);
                } else if !self.data.read_one_version(thread, op, one.span(), call) {
                    self.read(t, op, call, seq + u64::from(op.step));
                }
            }
        }
        for op in others {
            let thread = &mut self.threads[t];
            if op.register.is_some_and(|span| thread.recent.has(span)) {
                self.data.settle(thread);
            }
            self.read(t, op, call, seq + u64::from(op.step));
        }
    }

    /// The writes that are not among the operations.
    #[inline]
    fn write_registers(&mut self, t: usize, segment: &Segment, call: CallId, seq: u64) {
        let mut rest = &segment.writes[..];
        if let Some((in_set, set)) = &segment.write_set
            && self.restored.is_empty()
            && !self.data.gives_all()
        {
            if !self.threads[t].recent.write_all(set) {
                self.data.settle(&mut self.threads[t]);
                self.threads[t].recent.write_all(set);
            }
            if self.data.options.gives_instances() {
                let writers = &mut self.threads[t].writers;
                rest[..*in_set].iter().for_each(|write| writers.set(write, seq));
            }
            rest = &rest[*in_set..];
        } else if segment.write_set.is_some() || !self.threads[t].recent.is_empty() {
            self.data.settle(&mut self.threads[t]);
        }
        for write in rest {
            if write.loaded && self.is_restored(write.step, write.span) {
                continue;
            }
            let id = access_id(seq + u64::from(write.step), write.ordinal);
            let reader = if write.seen { call.get() } else { 0 };
            let new = Cell { reader, ..Cell::written(id, call, write.actor) };
            // Some bytes of it may be recent.
            if self.threads[t].recent.has(write.span) {
                self.data.settle(&mut self.threads[t]);
            }
            self.threads[t].registers.write(write.span, new);
        }
    }

    /// What the registers hand on inside the segment, the same each time.
    #[inline]
    fn inside(&mut self, t: usize, segment: &mut Segment, call: CallId, run: &RunValues) {
        // Each thread has registers of its own.
        if segment.threads.insert(t) {
            self.data.touch_inside(&self.threads[t], segment);
        }
        if !self.data.options.gives_instances() {
            return;
        }
        let Some(frame) = self.threads[t].calls.top_mut() else { return };
        let flow = frame.payload.flows.own((call, frame.function));
        flow.add(segment.static_bytes, segment.static_unique, segment.static_transfers);
        if self.data.gives_all() {
            self.data.give_inside(segment, run.seq);
        }
    }

    #[inline]
    fn read(&mut self, t: usize, op: &mut Operation, call: CallId, seq: u64) {
        let Some(span) = op.register else { return };
        let OperationKind::Read { extent } = op.kind else { return };
        let read = Read { call, access: access_id(seq, op.ordinal), actor: op.actor, extent };
        self.data.read_register(&mut self.threads[t], span, read, &mut op.hints);
    }

    #[inline]
    fn write(&mut self, t: usize, op: &Operation, call: CallId, seq: u64) {
        let (Some(span), OperationKind::Write { loaded, seen }) = (op.register, op.kind) else {
            return;
        };
        // Of a register that is written again in part, the rest is left.
        if loaded && self.is_restored(op.step, span) {
            return;
        }
        let reader = if seen { call.get() } else { 0 };
        let new = Cell { reader, ..Cell::written(access_id(seq, op.ordinal), call, op.actor) };
        let registers = &mut self.threads[t].registers;
        registers.write(span, new);
        self.copying.fill_low(registers, span);
    }

    /// A load of this step gave the register its old writers again.
    #[inline]
    fn is_restored(&self, step: u32, span: RegSpan) -> bool {
        self.restored.iter().any(|&(s, r)| s == step && r.contains(span))
    }

    #[inline]
    fn load(&mut self, t: usize, op: &mut Operation, call: CallId, copies: bool, run: &RunValues) {
        let (thread, data) = (&mut self.threads[t], &mut self.data);
        let address = run.addresses[op.mem as usize];
        let seq = run.seq + u64::from(op.step);
        let page = &mut op.hints.page;
        let page = data.memory.mark(page, (address, op.size), op.stack_relative);
        let control = op.kind == OperationKind::Load { control: true };
        if control {
            return;
        }
        let value = run.value(op);
        let gives_back = |register| Load { call, register, address, seq, value };
        let old = (copies && data.copy_load(thread, &mut self.copying, op, address))
            || (!data.saves_are_literal()
                && op.register.is_some_and(|r| data.restore(thread, &gives_back(r))));
        if old {
            self.restored.extend(op.register.map(|r| (op.step, r)));
            return;
        }
        let access = access_id(seq, op.ordinal);
        let read = Read { call, access, actor: op.actor, extent: Extent::Whole };
        data.read_memory(thread, page, (address, op.size.into()), read, &mut op.hints);
    }

    #[inline]
    fn store(
        &mut self,
        t: usize,
        (op, read_set, met): (&mut Operation, &mut ReadSet, &mut Met),
        call: CallId,
        copies: bool,
        run: &RunValues,
    ) {
        let (thread, data) = (&mut self.threads[t], &mut self.data);
        let address = run.addresses[op.mem as usize];
        let seq = run.seq + u64::from(op.step);
        let page = &mut op.hints.page;
        let page = data.memory.mark(page, (address, op.size), op.stack_relative);
        if copies && data.copy_store(thread, &mut self.copying, op, address) {
            return;
        }
        let access = access_id(seq, op.ordinal);
        let mut new = Cell::written(access, call, op.actor);
        if op.is_return_address {
            new.actor |= Cell::SLOT;
        }
        if let (Some(register), OperationKind::Store { read }) = (op.register, op.kind) {
            let (actor, value) = (op.actor, run.value(op));
            let kept = data.kept.now();
            let mut store = Store {
                call,
                register,
                address,
                access,
                read,
                actor,
                value,
                kept,
                framed: false,
                across: 0,
                inherited: false,
            };
            // Of what was alive before a part of the run, contexts are not known.
            let own = || thread.calls.top().map_or(FunctionId::FIRST, |top| top.function);
            let function = thread.contexts.last().map_or_else(own, |live| live.actor);
            if data.is_save(thread, &mut store, op.stack_relative) {
                data.save(thread, store);
                new.actor |= Cell::SAVE | Cell::SLOT;
            } else {
                let extent = Extent::Whole;
                let (one, set) = (OneRead::new(register), (function, read_set));
                if data.options.gives_instances() {
                    if one.is_some_and(|one| data.read_recent_flow(t, thread, &one, set)) {
                        op.read_recent(register, &thread.writers, &mut data.sums);
                    } else {
                        let read = Read { call, access: access_id(seq, read), actor, extent };
                        data.read_register(thread, register, read, &mut op.hints);
                    }
                } else if !one.is_some_and(|one| data.read_recent(t, thread, &one, set)) {
                    let read = RegisterRead::new(register, extent);
                    data.read_for_sums(thread, read, (call, actor), met);
                }
            }
        }
        data.write_memory(page, (address, op.size.into()), new);
    }

    /// The access before, of thread `t` or of the kernel, was the end of live saves.
    #[inline(never)]
    pub fn settle(&mut self, t: usize, seq: u64) {
        while let Some((save, met)) = self.data.saves.next_met() {
            let call = self.data.saves.call(save);
            let lives_in = |t: &usize| {
                self.threads.get(*t).is_some_and(|thread| thread.calls.find(call).is_some())
            };
            let owner = std::iter::once(t).chain(0..self.threads.len()).find(lives_in);
            match owner {
                Some(owner) => self.data.met(&mut self.threads[owner], save, met, seq),
                None => self.settle_waiting(save, met, seq),
            }
        }
    }

    /// The same of a save whose instance is of a task or on a stack that waits.
    #[cold]
    fn settle_waiting(&mut self, save: u32, met: SaveMet, seq: u64) {
        let call = self.data.saves.call(save);
        for thread in &mut self.threads {
            let mut waiting = thread.levels.waiting.iter();
            let Some(i) = waiting.position(|task| task.calls.find(call).is_some()) else {
                continue;
            };
            std::mem::swap(&mut thread.calls, &mut thread.levels.waiting[i].calls);
            self.data.met(thread, save, met, seq);
            std::mem::swap(&mut thread.calls, &mut thread.levels.waiting[i].calls);
            return;
        }
        let has = |of: &&mut Waiting| of.calls.find(call).is_some();
        let Some(of) = self.waits.all.values_mut().find(has) else { return };
        // Its registers are of the thread that ran it last.
        if let Some(thread) = self.threads.get_mut(of.calls.thread().index()) {
            std::mem::swap(&mut thread.calls, &mut of.calls);
            self.data.met(thread, save, met, seq);
            std::mem::swap(&mut thread.calls, &mut of.calls);
        }
    }
}

impl<O: Output> Data<O> {
    /// A read of a register, if what it finds is recent.
    #[inline(always)]
    fn read_recent(
        &mut self,
        t: usize,
        thread: &mut Thread,
        read: &OneRead,
        (function, set): (FunctionId, &mut ReadSet),
    ) -> bool {
        if set.read(&mut thread.recent, read) {
            if !set.is_touched(t, Some(read)) {
                self.touch_own(thread, function, read.span());
            }
            return true;
        }
        if thread.recent.has_some(read) {
            self.settle(thread);
        }
        false
    }

    /// The same, with the flow of the instance to itself.
    #[inline(never)]
    fn read_recent_flow(
        &mut self,
        t: usize,
        thread: &mut Thread,
        read: &OneRead,
        (function, set): (FunctionId, &mut ReadSet),
    ) -> bool {
        let unique = set.unique();
        let is_recent = self.read_recent(t, thread, read, (function, set));
        if is_recent && let Some(top) = thread.calls.top_mut() {
            let flow = top.payload.flows.own((top.call, function));
            flow.add(read.span().size.into(), set.unique() - unique, 1);
        }
        is_recent
    }

    /// A function hands itself a register.
    #[cold]
    fn touch_own(&mut self, thread: &Thread, function: FunctionId, span: RegSpan) {
        let function = Packed::step(function);
        let pair = self.sums.pair(function, function, PlaceCode::REGISTER);
        let (start, len) = (u64::from(span.offset), u64::from(span.size));
        self.sums.touch(pair, PlaceCode::REGISTER, thread.mark, start, len);
    }

    /// First time that a segment runs in a thread: the register bytes that it hands to itself.
    #[cold]
    fn touch_inside(&mut self, thread: &Thread, segment: &Segment) {
        segment.statics.iter().for_each(|s| self.touch_own(thread, segment.runs_as, s.register));
    }

    fn give_inside(&mut self, segment: &Segment, run_seq: u64) {
        for s in &segment.statics {
            let write = access(access_id(run_seq + u64::from(s.write_step), s.write_ordinal));
            let read = access(access_id(run_seq + u64::from(s.read_step), s.read_ordinal));
            let (Some(write), Some(read)) = (write, read) else { continue };
            self.output.communication(Communication {
                write: Origin::Step(write),
                read,
                is_register: true,
                address: s.register.offset.into(),
                bytes: s.register.size.into(),
            });
        }
    }

    /// A store of a version. True.
    #[inline(never)]
    fn store_any(&mut self, op: &mut Operation, address: u64, new: Cell) -> bool {
        let page = &mut op.hints.page;
        let page = self.memory.mark(page, (address, op.size), op.stack_relative);
        self.write_memory(page, (address, op.size.into()), new);
        true
    }

    /// Bytes of memory are a new version; `page` is that of the first.
    #[inline]
    pub fn write_memory(&mut self, page: PageIndex, (address, size): (u64, u64), new: Cell) {
        let (mut at, mut left, mut page) = (address, size, page);
        debug_assert!(size > 0, "an access has bytes");
        loop {
            let len = left.min(PAGE - at % PAGE);
            let base = at - at % PAGE;
            let (sums, saves) = (&mut self.sums, &mut self.saves);
            let (pools, words) = self.memory.shadow(page);
            pools.write(words, base, at % PAGE, len, new, |cell, n| {
                if let Some(writer) = cell.dead_writer() {
                    sums.dead(writer, n);
                } else if cell.is_saved() {
                    saves.overwrite(cell.write, n);
                }
            });
            left -= len;
            if left == 0 {
                return;
            }
            at = at.wrapping_add(len);
            page = self.memory.page(at);
        }
    }
}
