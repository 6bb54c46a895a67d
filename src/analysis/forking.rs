//! A thread makes a process, and that one goes on where it stood: rules in "Events" of `docs/semantics.md`.

use super::Output;
use super::access::mask;
use super::call_end::CallEnd;
use super::data::Thread;
use super::levels::Levels;
use super::operations::Machine;
use super::stack::{Arrival, CallKind, Point};
use super::state::{live_save, thread_state};
use super::thread_state::{FrameState, ThreadState};
use crate::id::Seq;

impl<O: Output> Machine<O> {
    /// A process is made, by the thread that ran the step before `seq`.
    pub fn fork(&mut self, pid: u64, seq: u64) {
        let Machine { threads, data, .. } = self;
        let before = Seq::new(seq.saturating_sub(1));
        let ran = |thread: &&mut Thread| thread.calls.last().seq == before;
        let thread = threads.iter_mut().find(ran).filter(|_| before.is_some()).map(|thread| {
            data.settle(thread);
            let mut state = ThreadState {
                interval: None,
                last: Point::default(),
                levels: Levels::default(),
                signals: Vec::new(),
                ..thread_state(thread, &data.saves)
            };
            for save in state.frames.iter_mut().flat_map(|frame| &mut frame.saves) {
                (save.store.inherited, save.store.across) = (true, 0);
            }
            Box::new(state)
        });
        data.fork(pid, thread);
    }

    /// A forked process runs its first step, in a thread: it goes on where its parent's stood.
    #[cold]
    pub fn begin_forked(&mut self, t: usize, at: Point) {
        let Machine { threads, data, .. } = self;
        let Some(state) = data.forks.begins.take() else { return };
        let thread = &mut threads[t];
        if thread.previous.is_some() {
            return;
        }
        for (span, cell) in &state.registers {
            thread.registers.write(*span, *cell);
        }
        for (span, store) in &state.pending {
            thread.registers.set_pending(*span, *store);
        }
        let Thread { calls, registers, contexts, .. } = thread;
        for FrameState { function, token, saves, .. } in state.frames {
            let is_stub = data.stubs.is_stub(function);
            let kind = if is_stub { CallKind::Stub } else { CallKind::Fork };
            let mut ledger = CallEnd { data: &mut *data, registers, contexts };
            calls.fork(kind, token, Arrival { function, at }, &mut ledger);
            let Some(top) = calls.top_mut() else { continue };
            for mut save in saves {
                save.store.call = top.call;
                data.is_saved(&save.store);
                top.payload.save_mask |= mask(save.store.register);
                top.payload.saves.push(data.saves.add(live_save(&save)));
            }
        }
        thread.previous = state.previous;
        thread.running = state.running;
    }
}
