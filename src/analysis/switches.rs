//! Switches of tasks by software: a handler stores the registers of what it interrupted, and another
//! instance of it loads them back when that goes on. No instance does both, so what is stored keeps its
//! writers, wherever it lies, as what a copying function hands on does. See "Saved registers" in
//! `docs/semantics.md`.

use super::data::{Data, Thread};
use super::exceptions::Told;
use super::outlived::Left;
use super::saves::{Load, Store};
use super::shadow::{Cell, access};
use super::{Handed, Output, Registers, SavedRegister};
use crate::id::{Seq, ThreadId};

impl<O: Output> Data<O> {
    /// What a save has stored is its register's from here on, as if nobody had moved it.
    pub fn leave_behind(&mut self, left: Left, (thread, seq): (ThreadId, u64)) {
        let Store { address, register, access: stored, .. } = left.store;
        let bytes = 0..u64::from(register.size);
        if bytes.clone().any(|i| self.memory.byte(address.wrapping_add(i)).write != stored) {
            self.give_row(&left);
            return;
        }
        for kept in left.kept.iter().filter(|kept| kept.cell.is_written()) {
            let at = left.place(kept.span);
            // It is no dead write of its producer.
            let actor = kept.cell.actor & !Cell::SAVE | Cell::SLOT;
            let page = self.memory.page(at);
            let copy = Cell { actor, ..kept.cell.unread() };
            self.write_memory(page, (at, kept.span.size.into()), copy);
        }
        if let Some(store) = access(stored) {
            let what = Registers::Left { span: register, store, address };
            self.output.handed(Handed { thread, seq, what });
        }
        self.switches.outlived += 1;
        self.switches.mask |= super::access::mask(register);
        if let Some(before) = self.switches.left.insert(address, left) {
            self.give_row(&before);
        }
    }

    /// Whether a handler's load gives a register what another instance has saved there.
    #[cold]
    pub fn restore_across(&mut self, thread: &mut Thread, load: &Load) -> bool {
        let Some(left) = self.switches.left.get(&load.address) else { return false };
        let values = (load.value, left.store.value);
        let agree = !matches!(values, (Some(now), Some(then)) if now != then);
        if !agree || left.store.register != load.register || !left.is_intact(&mut self.memory) {
            return false;
        }
        let Some(mut left) = self.switches.left.remove(&load.address) else { return false };
        self.settle(thread);
        let told = Told { thread: thread.calls.thread(), seq: load.seq, number: 0 };
        self.put_back(&mut thread.registers, &left.kept, None, &told);
        if let Some(store) = access(left.store.access) {
            let what = Registers::Restored { span: load.register, store };
            self.output.handed(Handed { thread: told.thread, seq: load.seq, what });
        }
        left.restores += 1;
        left.last_restore = Seq::new(load.seq);
        if let Some(interrupted) = thread.levels.open.last_mut() {
            interrupted.take(left.store.across);
        }
        self.switches.left.insert(load.address, left);
        true
    }

    /// The trace, or a process, ends.
    pub fn end_switches(&mut self) {
        for left in std::mem::take(&mut self.switches.left).into_values() {
            self.give_row(&left);
        }
    }

    fn give_row(&mut self, left: &Left) {
        let Store { call, register, address, .. } = left.store;
        if self.options.gives_instances()
            && let Some(save) = access(left.store.access)
        {
            let (restores, last_restore, exposed) = (left.restores, left.last_restore, None);
            self.output.saved_register(SavedRegister {
                call,
                save,
                register,
                address,
                restores,
                last_restore,
                exposed,
            });
        }
    }
}
