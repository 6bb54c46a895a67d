//! Exceptions of which a trace tells: the step before one and the step behind its return belong
//! together, whatever ran in between. And the stacks of tasks: a handler may go back to another one
//! than it interrupted.

use super::activation::Activation;
use super::call_end::CallEnd;
use super::data::{Data, Thread};
use super::levels::{Fit, Handler, Interrupted, Kept, Levels, Task};
use super::operations::Machine;
use super::origin::{Packed, Sources};
use super::shadow::{Cell, KERNEL_WRITE, Registers, WORD};
use super::stack::{Arrival, Ending, Frame, Point, Stack};
use super::transfer::{Back, Previous, unwinds_to};
use super::{Handed, Output, Registers as Handing};
use crate::event::{ExceptionEntry, Keeps, RegSpan};
use crate::id::{FunctionId, Seq, ThreadId};
use crate::isa::FlowKind;

impl<O: Output> Data<O> {
    /// What registers hold, a word of the frame each.
    fn keep(
        &mut self,
        registers: &mut Registers,
        spans: &[(u64, RegSpan)],
        told: &Told,
    ) -> Vec<Kept> {
        if !spans.is_empty() {
            let (number, spans) = (told.number, spans.iter().map(|(_, span)| *span).collect());
            self.hand(told, Handing::Kept { number, spans });
        }
        let mut kept = Vec::new();
        for &(word, span) in spans {
            registers.visit_pending(span, |readers, span, cell, pending| {
                let readers = readers.of(cell, span.offset.into());
                kept.push(Kept { word, span, cell: *cell, readers, pending });
            });
        }
        kept
    }

    /// Tells of what becomes of registers beside the steps.
    fn hand(&mut self, told: &Told, what: Handing) {
        self.output.handed(Handed { thread: told.thread, seq: told.seq, what });
    }

    /// The processor writes a register.
    fn give_link(&mut self, registers: &mut Registers, link: RegSpan, told: &Told) {
        self.kernel_writes += 1;
        self.give_word(registers, link, told);
    }

    /// The processor's last write is of these bytes.
    fn give_word(&mut self, registers: &mut Registers, word: RegSpan, told: &Told) {
        self.hand(told, Handing::Given { span: word });
        let write = KERNEL_WRITE | self.kernel_writes;
        let source = Packed::named(Sources::OF_FRAMES);
        registers.write(word, Cell { write, call: source, actor: Cell::SLOT, ..Cell::EMPTY });
    }

    /// The trace, or a process, ends: tasks that wait do, too.
    pub fn end_tasks(&mut self, levels: &mut Levels, registers: &mut Registers) {
        for mut task in std::mem::take(&mut levels.waiting) {
            let contexts = &mut task.contexts;
            task.calls.end_all(&mut CallEnd { data: self, registers, contexts });
        }
        self.end_switches();
        levels.forget();
    }

    /// A task that begins has what somebody has stored in its frame, or what the processor finds there.
    fn begin_registers(
        &mut self,
        registers: &mut Registers,
        kept: &[Kept],
        frame: Option<u64>,
        told: &Told,
    ) {
        let mut given = None;
        for kept in kept {
            if self.load_stored(registers, kept, frame, told) {
                continue;
            }
            // A word is one write, in however many pieces its bytes were kept.
            if given.replace(kept.word) != Some(kept.word) {
                self.kernel_writes += 1;
            }
            self.give_word(registers, kept.span, told);
        }
    }

    /// A register has what somebody has stored in its place of the frame, if anybody has.
    fn load_stored(
        &mut self,
        registers: &mut Registers,
        kept: &Kept,
        frame: Option<u64>,
        told: &Told,
    ) -> bool {
        let Some(frame) = frame else { return false };
        let Kept { word, span, .. } = kept;
        let source = Packed::named(Sources::OF_FRAMES);
        let at = frame.wrapping_add(WORD * word).wrapping_add(span.offset as u64 % WORD);
        let stored = self.memory.byte(at);
        if !stored.is_written() || stored.call == source {
            return false;
        }
        self.hand(told, Handing::Loaded { span: *span, address: at });
        let actor = stored.actor & !Cell::SAVE | Cell::SLOT;
        registers.write(*span, Cell { actor, reader: 0, pair: 0, ..stored });
        true
    }

    /// Registers have again what they had, or what somebody has stored in the frame since.
    pub(super) fn put_back(
        &mut self,
        registers: &mut Registers,
        kept: &[Kept],
        frame: Option<u64>,
        told: &Told,
    ) {
        for kept in kept {
            if self.load_stored(registers, kept, frame, told) {
                continue;
            }
            let Kept { span, cell, readers, pending, .. } = kept;
            let mut same = true;
            registers.visit(*span, |_, _, _, c| same &= c.write == cell.write);
            if same {
                continue;
            }
            if told.number != 0 {
                self.hand(told, Handing::Back { number: told.number, span: *span });
            }
            registers.write(*span, Cell { reader: 0, ..*cell });
            if *pending != 0 && self.saves.by_store.get(*pending).is_some() {
                registers.set_pending(*span, *pending);
            }
            registers.visit(*span, |list, key, _, now| {
                now.reader = cell.reader;
                list.set(key, readers.clone());
            });
        }
    }
}

/// Of whose registers something is told, when, and of which exception or signal; 0: of none.
pub(super) struct Told {
    pub thread: ThreadId,
    pub seq: u64,
    pub number: u64,
}

/// Handlers of signals that are kept in mind for each thread: those that control leaves by a jump never end.
const MOST_SIGNALS: usize = 16;

impl<O: Output> Machine<O> {
    /// A signal is delivered: the kernel keeps all registers, and gives the handler some.
    pub fn deliver_signal(&mut self, t: usize, given: &[RegSpan], seq: u64) {
        let number = self.data.switches.next_number();
        let thread = &mut self.threads[t];
        self.data.settle(thread);
        let told = Told { thread: thread.calls.thread(), seq, number };
        // A register file has fewer bytes.
        let size = thread.registers.bytes().min(usize::from(u16::MAX)) as u16;
        let kept =
            self.data.keep(&mut thread.registers, &[(0, RegSpan { offset: 0, size })], &told);
        let gone = match thread.signals.len() {
            MOST_SIGNALS => thread.signals.pop_front(),
            _ => None,
        };
        thread.signals.push_back((number, kept));
        for &span in given {
            self.data.hand(&told, Handing::Unwritten { span });
            thread.registers.write(span, Cell::EMPTY);
        }
        if let Some((number, _)) = gone {
            self.data.hand(&told, Handing::Done { number });
        }
    }

    /// Its handler has ended: the kernel gives them back.
    pub fn end_signal(&mut self, t: usize, seq: u64) {
        let thread = &mut self.threads[t];
        let Some((number, kept)) = thread.signals.pop_back() else { return };
        self.data.settle(thread);
        thread.registers.forget_noted();
        let told = Told { thread: thread.calls.thread(), seq, number };
        self.data.put_back(&mut thread.registers, &kept, None, &told);
        self.data.hand(&told, Handing::Done { number });
    }

    /// An exception is taken, for which the processor keeps these registers.
    /// `link`: the register that it gives the handler the way back in.
    /// `there`: the function of what it interrupts, if that is known.
    pub fn enter(
        &mut self,
        entry: &ExceptionEntry,
        spans: &[(u64, RegSpan)],
        link: Option<RegSpan>,
        (there, at): (Option<FunctionId>, Point),
    ) {
        // Only a processor that keeps a frame goes from one handler to the next: elsewhere a handler has gone back,
        // maybe to another task, which is what this one interrupts.
        let chains = matches!(entry.keeps, Keeps::Frame | Keeps::LongFrame);
        if let Some(resume) = entry.resume.filter(|_| !chains)
            && self.threads[entry.thread as usize].levels.is_changed()
        {
            self.change_level(entry.thread as usize, (resume, there), at);
        }
        let number = self.data.switches.next_number();
        let thread = &mut self.threads[entry.thread as usize];
        self.data.settle(thread);
        let seq = at.seq.map_or(0, Seq::get);
        let told = Told { thread: thread.calls.thread(), seq, number };
        // The next one where another has ended: what it kept is kept, the handler's are in the registers.
        let kept = match &mut thread.levels.resumed {
            Some(interrupted) => {
                interrupted.settle(&mut thread.registers, self.data.switches.next_number());
                std::mem::take(&mut interrupted.kept)
            }
            None => self.data.keep(&mut thread.registers, spans, &told),
        };
        if !spans.is_empty()
            && let Some(link) = link
        {
            self.data.give_link(&mut thread.registers, link, &told);
        }
        // What the handler before has left in its own registers is not known.
        if entry.keeps == Keeps::Fast {
            for (_, own) in spans {
                self.data.give_word(&mut thread.registers, *own, &told);
            }
        }
        thread.levels.enter(entry, thread.previous.take(), kept, number);
    }

    /// A handler has ended.
    pub fn leave(&mut self, t: usize, frame: Option<u64>) {
        let Thread { levels, previous, .. } = &mut self.threads[t];
        levels.leave(frame, previous);
    }

    /// Exceptions have ended before the step of a thread at `address`: their handlers do, and what
    /// goes on is what they interrupted, or another task.
    #[cold]
    pub fn change_level(
        &mut self,
        t: usize,
        (address, function): (u64, Option<FunctionId>),
        at: Point,
    ) {
        let thread = &mut self.threads[t];
        self.data.settle(thread);
        thread.registers.forget_noted();
        let Thread { calls, registers, contexts, levels, .. } = thread;
        let (mut resumed, frame) = (levels.resumed.take(), levels.frame.take());
        let seq = at.seq.map_or(0, Seq::get);
        let number = resumed.as_ref().map_or(0, |interrupted| interrupted.number);
        let told = Told { thread: calls.thread(), seq, number };
        if let Some(interrupted) = &mut resumed {
            interrupted.settle(registers, self.data.switches.next_number());
            self.data.put_back(registers, &interrupted.kept, interrupted.frame, &told);
        }
        let same =
            resumed.as_ref().is_none_or(|i| levels.goes_on(i, frame, (address, function), calls));
        self.data.switches.leaves = !same;
        let mut ender = CallEnd { data: &mut self.data, registers, contexts };
        if let Some(depth) = levels.ended.take().filter(|&d| d < calls.frames().len()) {
            calls.end(depth, Ending::Return, at, &mut ender);
        }
        self.data.switches.leaves = false;
        let Some(interrupted) = resumed else { return };
        // One that has not begun yet is no task.
        if levels.enters() {
            return;
        }
        if !same {
            match self.switch(t, &interrupted, frame, (address, function), at) {
                true => self.try_again(t, address),
                false => self.threads[t].previous = None,
            }
            return;
        }
        self.data.hand(&told, Handing::Done { number: told.number });
        self.threads[t].levels.taken_for = Some(interrupted);
        self.try_again(t, address);
    }

    /// The step that was interrupted may be tried again.
    fn try_again(&mut self, t: usize, address: u64) {
        let previous = &mut self.threads[t].previous;
        *previous = previous.take().filter(|Previous { last, .. }| {
            address != last.address || last.falls_to(address) || last.jumps_to(address)
        });
    }

    /// A return that ends no instance, but one of a task that waits: that task it is that went on
    /// behind the last exception, at a place where both were interrupted.
    #[cold]
    pub fn correct_task(&mut self, t: usize, address: u64, here: Arrival) {
        let Thread { calls, levels, previous, .. } = &mut self.threads[t];
        let returns = |p: &&Previous| p.last.executed && p.last.kind == FlowKind::Return;
        let Some(last) = previous.as_ref().filter(returns) else { return };
        if levels.handler != Handler::None {
            return;
        }
        // Its own frames hold the stack pointer that it goes back to.
        if last.slot.is_some() && unwinds_to(last, here.function, calls.frames()).is_some() {
            return;
        }
        let back = Back::Return(address);
        if calls.newest(back, |_| true).is_some() {
            return;
        }
        let mut waiting = levels.waiting.iter_mut();
        let found = waiting.position(|task| task.calls.newest(back, |_| true).is_some());
        let (Some(i), Some(interrupted)) = (found, levels.taken_for.take()) else { return };
        self.data.settle(&mut self.threads[t]);
        let Thread { calls, registers, contexts, levels, .. } = &mut self.threads[t];
        calls.park(&mut CallEnd { data: &mut self.data, registers, contexts });
        let mut task = levels.waiting.remove(i);
        std::mem::swap(calls, &mut task.calls);
        std::mem::swap(contexts, &mut task.contexts);
        std::mem::swap(&mut levels.open, &mut task.open);
        levels.irregular += 1;
        levels.waiting.push(Task { interrupted, ..task });
        calls.unpark(here.at, &mut CallEnd { data: &mut self.data, registers, contexts });
    }

    /// Whether tasks wait in a thread.
    #[inline]
    pub fn has_tasks(&self, t: usize) -> bool {
        !self.threads[t].levels.waiting.is_empty()
    }

    /// Takes a task that another thread has left: it runs in this one from now on.
    fn taken_elsewhere(&mut self, t: usize, is_it: impl Fn(&Task) -> bool) -> Option<Task> {
        let id = self.threads[t].calls.thread();
        let mut others = self.threads.iter_mut().map(|thread| &mut thread.levels.waiting);
        let mut task = others.find_map(|waiting| {
            let at = waiting.iter().position(&is_it)?;
            Some(waiting.remove(at))
        })?;
        task.calls.run_in(id);
        Some(task)
    }

    /// Control goes to another task, if there is one that waits for it, or it begins there: whether it
    /// does.
    fn switch(
        &mut self,
        t: usize,
        interrupted: &Interrupted,
        frame: Option<u64>,
        there: (u64, Option<FunctionId>),
        at: Point,
    ) -> bool {
        let Thread { calls, levels, .. } = &mut self.threads[t];
        let id = calls.thread();
        let by_frame = |task: &Task| frame.is_some() && task.interrupted.frame == frame;
        // Whose registers are there is known.
        let known = interrupted.restored && interrupted.task != interrupted.number;
        let by_registers = |task: &Task| known && task.interrupted.number == interrupted.task;
        let found = levels.waiting.iter().position(by_frame);
        let found = found.or_else(|| levels.waiting.iter().position(by_registers)).or_else(|| {
            let told = |task: &Task| known || frame.is_some() && task.interrupted.frame.is_some();
            let waiting = levels.waiting.iter_mut().enumerate().filter(|(_, task)| !told(task));
            let fits = waiting.map(|(i, task)| (task.fits(there), i));
            // Of equals the one that has waited longest.
            fits.rev().max_by_key(|(fit, _)| *fit).filter(|(fit, _)| *fit > Fit::No).map(|(_, i)| i)
        });
        // Another processor may have left it.
        let moved = match found {
            None => self.taken_elsewhere(t, |task| by_frame(task) || by_registers(task)),
            Some(_) => None,
        };
        let Thread { calls, registers, contexts, levels, previous, .. } = &mut self.threads[t];
        // A handler may have made the function that it interrupted go on elsewhere.
        let is_there = |top: &Frame<_, _>| there.1 == Some(top.function);
        if found.is_none() && moved.is_none() && !known && calls.top().is_some_and(is_there) {
            return false;
        }
        calls.park(&mut CallEnd { data: &mut self.data, registers, contexts });
        let goes_on = found.is_some() || moved.is_some();
        let next = moved.or_else(|| found.map(|i| levels.waiting.remove(i)));
        let number = next.as_ref().map_or(0, |task| task.interrupted.number);
        let told = Told { thread: id, seq: at.seq.map_or(0, Seq::get), number };
        match &next {
            Some(task) => {
                self.data.put_back(registers, &task.interrupted.kept, frame, &told);
                self.data.hand(&told, Handing::Done { number });
            }
            None => self.data.begin_registers(registers, &interrupted.kept, frame, &told),
        }
        let mut task = next.unwrap_or_else(|| Task {
            calls: Stack::<_, Activation>::new(id),
            contexts: Vec::new(),
            open: Vec::new(),
            interrupted: Interrupted::default(),
        });
        std::mem::swap(calls, &mut task.calls);
        std::mem::swap(contexts, &mut task.contexts);
        std::mem::swap(&mut levels.open, &mut task.open);
        // Behind the handler's last step the stack pointer is as behind the task's.
        let slot = previous.as_ref().and_then(|last| last.slot);
        *previous = task.interrupted.previous.map(|p| Previous { slot, ..p });
        levels.handler = task.interrupted.handler;
        levels.irregular += 1;
        let before = std::mem::replace(&mut task.interrupted, interrupted.clone());
        levels.taken_for = goes_on.then_some(before);
        levels.waiting.push(task);
        calls.unpark(at, &mut CallEnd { data: &mut self.data, registers, contexts });
        true
    }
}
