//! Where a recorder tells that the stack pointer was given another value
//! ([`Event::StackPointer`](crate::event::Event::StackPointer)), a return or an indirect jump behind it may go on in calls that
//! wait on another stack. Rule 8 of "Control transfers" in `docs/semantics.md`.

use super::Output;
use super::call_end::CallEnd;
use super::data::{Data, Thread};
use super::operations::Machine;
use super::recorded_range::RecordedRange;
use super::shadow::Registers;
use super::stack::{Arrival, CallKind, Ending, Frame, Point, Stack, Transfer};
use super::stacks::{Copied, Running, Waiting, goes_on, highest_elsewhere, relocate};
use super::transfer::{End, classify};
use crate::isa::FlowKind;
use std::cmp::Reverse;

/// So much more than its slot may be popped with a frame: arguments, and what was aligned.
const POPPED: u64 = 256;

impl Waiting {
    /// Another stack has its memory.
    fn end<O: Output>(mut self, data: &mut Data<O>, registers: &mut Registers, at: Point) {
        let contexts = &mut self.contexts;
        self.calls.end(0, Ending::Unwound, at, &mut CallEnd { data, registers, contexts });
    }
}

impl<O: Output> Machine<O> {
    /// What control did to the step at `address`, where the stack pointer has moved before. `entry`: of the function there.
    /// `popped`: by a return, beside its frame.
    #[cold]
    pub fn transfer_behind_move(
        &mut self,
        t: usize,
        (address, here): (u64, Arrival),
        entry: Option<u64>,
        kind: CallKind,
        popped: u64,
    ) -> Transfer<End> {
        let Thread { calls, running, previous, .. } = &mut self.threads[t];
        let (Some((before, behind)), Some(last)) = (running.moved, *previous) else {
            return Transfer::None;
        };
        let there = (address, here.function);
        let classified = classify(&last, there, || entry, kind, calls);
        let anywhere = match last.last.kind {
            FlowKind::Return => true,
            FlowKind::Jump | FlowKind::Unknown => last.last.target.is_none(),
            _ => false,
        };
        let is_call = matches!(classified, Transfer::Call { .. });
        let matters = is_call || anywhere && last.last.executed;
        if !matters || last.last.falls_to(address) {
            return classified;
        }
        running.moved = None;
        let above = std::mem::take(&mut running.above);
        let slot = last.slot.filter(|_| last.last.kind == FlowKind::Return);
        let pointer = slot.unwrap_or(behind);
        let own = (running.away.unwrap_or(before), running.base(calls, before));
        let called = if slot.is_some() { pointer } else { pointer.wrapping_sub(popped) };
        let to = Copied { there, slot: called, above: &above };
        let is_own = (own.0..=own.1).contains(&pointer);
        if is_call {
            // What is called runs on another stack, and comes back.
            running.away = if is_own { None } else { running.away.or(Some(before)) };
            return classified;
        }
        if !matches!(classified, Transfer::Return { .. }) {
            let stands = to.of(calls, own).map_or(0, |(fits, _)| fits);
            self.release(t, pointer, (to, stands));
        }
        let Thread { calls, running, .. } = &mut self.threads[t];
        let waiting = self.waits.of(pointer);
        // What waited where a stack was copied to.
        let mut over = None;
        let stays = match classified {
            Transfer::Return { .. } => true,
            // Of recursive instances the newest goes on, as without a move.
            Transfer::Unwind { depth } => {
                let is_there = goes_on(calls, &last, there, entry, pointer).is_some();
                let at = waiting.and_then(|(left, _)| self.waits.all.get_mut(&left));
                let waits = at.is_some_and(|of| {
                    goes_on(&mut of.calls, &last, there, entry, pointer).is_some()
                });
                let is_elsewhere = !is_there && !is_own && !waits;
                let found = self.waits.copied(to).filter(|_| is_elsewhere);
                let copied = found.is_some_and(|(fits, ..)| fits > to.fits(calls, depth));
                if is_elsewhere
                    && !copied
                    && let Some(by) = relocate(calls, own, depth, to.slot)
                {
                    running.base = Some(own.1.wrapping_add(by));
                    running.away = None;
                    over = waiting.and_then(|(left, _)| self.waits.remove(left));
                }
                is_there || !waits && !copied
            }
            _ => {
                let frames = calls.frames();
                let top = frames.last();
                let popped = top.and_then(|top| top.token.frame_top());
                let pops = popped
                    .is_some_and(|own| (before..=own.saturating_add(POPPED)).contains(&pointer));
                let is_slot = frames.iter().any(|frame| frame.token.frame_top() == Some(pointer));
                let is_there = top.is_some_and(|top| top.function == here.function);
                pops || waiting.is_none() && (is_slot || is_there)
            }
        };
        if stays {
            running.away = running.away.filter(|_| !is_own);
            if let Some(of) = over {
                of.end(&mut self.data, &mut self.threads[t].registers, here.at);
            }
            return classified;
        }
        self.go_to(t, (here, to), (before, pointer), entry)
    }

    /// Another thread may have left the stack with an address, or one that was copied there since, by a call on another one, which
    /// goes on there: that stack waits. `own`: how much stands there of the stack that runs.
    fn release(&mut self, t: usize, pointer: u64, (to, own): (Copied, usize)) {
        if self.waits.of(pointer).is_some() {
            return;
        }
        let is_left = |thread: &&mut Thread| thread.running.away.is_some();
        let others = self.threads.iter_mut().enumerate().filter(|(other, _)| *other != t);
        let mut others: Vec<&mut Thread> =
            others.map(|(_, thread)| thread).filter(is_left).collect();
        let range = |thread: &Thread| {
            let away = thread.running.away.unwrap_or(0);
            (away, thread.running.base(&thread.calls, away))
        };
        let holds = |thread: &&mut Thread| {
            let (away, base) = range(thread);
            (away..=base).contains(&pointer)
        };
        let copied = || {
            let least = self.waits.copied(to).map_or(own, |(fits, ..)| fits.max(own));
            let fits = |thread: &Thread| to.of(&thread.calls, range(thread)).map_or(0, |of| of.0);
            let all = others.iter().enumerate().map(|(i, thread)| (fits(thread), Reverse(i)));
            all.max().filter(|(fits, _)| *fits > least).map(|(_, Reverse(i))| i)
        };
        let Some(found) = others.iter().position(holds).or_else(copied) else { return };
        let (away, base) = range(others[found]);
        let Thread { calls, contexts, running, .. } = &mut *others[found];
        let elsewhere = |frame: &Frame<End, _>| {
            frame.token.frame_top().is_some_and(|slot| !(away..=base).contains(&slot))
        };
        let Some(count) = calls.frames().iter().position(elsewhere) else { return };
        let inner = contexts.split_off(count.min(contexts.len()));
        let contexts = std::mem::replace(contexts, inner);
        let calls = calls.take_outermost(count);
        (running.base, running.away) = (None, None);
        let of = Waiting { calls, contexts, base, elsewhere: None, number: 0 };
        self.waits.insert(away, of);
        self.note_kept_of_waiting();
    }

    /// Stacks wait, or go on: whether something is kept of those that wait.
    pub fn note_kept_of_waiting(&mut self) {
        let waits = &self.waits.all;
        let is_inside = |of: &Waiting, kept: &RecordedRange| kept.is_inside(|f| of.calls.live(f));
        self.data.kept.note_waiting(|kept| waits.values().any(|of| is_inside(of, kept)));
    }

    /// Control goes on on another stack: what it does there.
    fn go_to(
        &mut self,
        t: usize,
        (here, to): (Arrival, Copied),
        (before, pointer): (u64, u64),
        entry: Option<u64>,
    ) -> Transfer<End> {
        self.data.settle(&mut self.threads[t]);
        let Thread { calls, registers, contexts, running, previous, .. } = &mut self.threads[t];
        let (data, waits) = (&mut self.data, &mut self.waits);
        registers.forget_noted();
        calls.park(&mut CallEnd { data, registers, contexts });
        let last = previous.as_mut().map(|last| {
            last.called = false;
            *last
        });
        let there @ (address, _) = to.there;
        let goes_in = |of: Option<&mut Waiting>| {
            let (of, last) = of.zip(last)?;
            goes_on(&mut of.calls, &last, there, entry, pointer)
        };
        let mut found = waits.of(pointer);
        let mut goes = found.and_then(|(left, _)| goes_in(waits.all.get_mut(&left)));
        if goes.is_none()
            && entry != Some(address)
            && let Some((_, left, depth)) = waits.copied(to)
            && let Some(of) = waits.all.get_mut(&left)
            && let Some(by) = relocate(&mut of.calls, (left, of.base), depth, to.slot)
            && by != 0
        {
            of.base = of.base.wrapping_add(by);
            goes = goes_in(Some(of));
            found = Some((left, false));
        }
        let mut next = found.and_then(|(left, _)| waits.remove(left));
        // All there is popped, and a function begins: another one has its memory now.
        let is_over = |of: &Waiting| {
            let tops = of.calls.frames().iter().filter_map(|frame| frame.token.frame_top());
            of.base == pointer || entry == Some(address) && tops.max() < Some(pointer)
        };
        let mut away = found.filter(|(_, elsewhere)| *elsewhere).map(|(left, _)| left);
        if let Some(of) = next.take_if(|of| goes.is_none() && is_over(of)) {
            of.end(data, registers, here.at);
            away = None;
        }
        let left = running.away.unwrap_or(before);
        let base = running.base(calls, left);
        let elsewhere =
            running.away.map(|_| (before, highest_elsewhere(calls, (left, base), before)));
        running.away = away;
        running.switches += 1;
        let thread = calls.thread();
        let next = next.unwrap_or_else(|| Waiting {
            calls: Stack::new(thread),
            contexts: Vec::new(),
            base: pointer,
            elsewhere: None,
            number: 0,
        });
        running.base = Some(next.base);
        let waiting = Waiting {
            calls: std::mem::replace(calls, next.calls),
            contexts: std::mem::replace(contexts, next.contexts),
            base,
            elsewhere,
            number: 0,
        };
        if let Some(gone) = waits.insert(left, waiting) {
            gone.end(data, registers, here.at);
        }
        calls.run_in(thread);
        let mut ender = CallEnd { data, registers, contexts };
        let popped =
            |frame: &Frame<End, _>| frame.token.frame_top().is_some_and(|own| own < pointer);
        let over = match goes {
            Some(_) => 0,
            None => calls.frames().iter().rev().take_while(|frame| popped(frame)).count(),
        };
        match calls.frames().len() - over {
            depth if over > 0 => calls.end(depth, Ending::Unwound, here.at, &mut ender),
            _ => calls.unpark(here.at, &mut ender),
        }
        self.note_kept_of_waiting();
        goes.unwrap_or(Transfer::None)
    }

    /// The trace, or a process, ends: calls that wait do, too.
    pub fn end_stacks(&mut self) {
        let waits = std::mem::take(&mut self.waits);
        for thread in &mut self.threads {
            let switches = thread.running.switches;
            thread.running = Running { switches, ..Running::default() };
        }
        for mut of in waits.all.into_values() {
            let thread = of.calls.thread().index();
            let Some(Thread { registers, .. }) = self.threads.get_mut(thread) else { continue };
            let contexts = &mut of.contexts;
            of.calls.end_all(&mut CallEnd { data: &mut self.data, registers, contexts });
        }
    }
}
