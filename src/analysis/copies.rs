//! Copying functions (`--through`): versions move with their writers, nothing is read or written.

use super::Output;
use super::data::{Data, Thread};
use super::operation::{Copied, Operation};
use super::shadow::{Cell, Registers};
use crate::event::RegSpan;

/// Versions that a copying function has loaded, with their lengths, and the part of a register that
/// they are to go to.
#[derive(Default)]
pub struct Copying {
    gathered: Vec<(u64, Cell)>,
    low: Option<RegSpan>,
}

impl Copying {
    pub fn clear(&mut self) {
        self.gathered.clear();
        self.low = None;
    }

    /// False if a save or nobody wrote some of what was gathered, which makes it an ordinary
    /// access.
    fn check(&mut self) -> bool {
        let known = |c: &Cell| c.is_written() && c.actor & Cell::SAVE == 0;
        let all = self.gathered.iter().all(|(_, c)| known(c));
        if !all {
            self.gathered.clear();
        }
        all
    }

    fn gather(&mut self, registers: &mut Registers, span: RegSpan) -> bool {
        registers.visit(span, |_, _, n, cell| self.gathered.push((n, *cell)));
        self.check()
    }

    fn scatter(&mut self, registers: &mut Registers, span: RegSpan) {
        let mut offset = span.offset;
        for (n, cell) in self.gathered.drain(..) {
            registers.write(RegSpan { offset, size: n as u16 }, cell.unread());
            offset += n as u16;
        }
    }

    /// A write of a register that a copying load has filled the low part of.
    pub fn fill_low(&mut self, registers: &mut Registers, written: RegSpan) {
        if let Some(low) = self.low.take_if(|low| low.offset == written.offset) {
            self.scatter(registers, low);
        }
    }
}

impl<O: Output> Data<O> {
    /// A load of a copying function that hands on what it loads: true if it is no read. Its
    /// register, if it fills one, has the versions then.
    pub fn copy_load(
        &mut self,
        thread: &mut Thread,
        copying: &mut Copying,
        op: &Operation,
        address: u64,
    ) -> bool {
        if op.register.is_none() && op.copy == Copied::Nothing {
            return false;
        }
        self.memory.pieces(address, u64::from(op.size), |memory, piece| {
            let (pools, words) = memory.shadow(piece.page);
            let gathered = &mut copying.gathered;
            pools.visit(words, piece.base(), piece.start(), piece.len, |_, _, n, cell| {
                gathered.push((n, *cell));
            });
        });
        if !copying.check() {
            return false;
        }
        if let Some(register) = op.register {
            copying.scatter(&mut thread.registers, register);
        }
        copying.low = if let Copied::Low(low) = op.copy { Some(low) } else { None };
        true
    }

    /// A store of a copying function that hands on what was loaded: true if it is no write.
    pub fn copy_store(
        &mut self,
        thread: &mut Thread,
        copying: &mut Copying,
        op: &Operation,
        address: u64,
    ) -> bool {
        let gathered = match op.register {
            Some(register) => copying.gather(&mut thread.registers, register),
            None => op.copy == Copied::Move && !copying.gathered.is_empty(),
        };
        if !gathered {
            return false;
        }
        let mut at = address;
        for (n, cell) in copying.gathered.drain(..) {
            // A copy is no dead write of its producer.
            let copy = Cell { actor: cell.actor | Cell::SLOT, ..cell.unread() };
            let page = self.memory.page(at);
            self.write_memory(page, (at, n), copy);
            at = at.wrapping_add(n);
        }
        true
    }
}
