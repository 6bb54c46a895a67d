//! What loads and stores do nearly every time, where that gives no row of communication: a load reads
//! again what it read before, a store begins a version where nothing is to be kept of the old one.
//! That takes some fifty instructions and half a line of the cache; for anything else the operation
//! is gone through as everywhere, which changes nothing of what it counts.

use super::access::mask;
use super::calls::CallSet;
use super::flows::{FlowHint, Flows};
use super::memory::{Here, Memory, PageIndex};
use super::operation::{Operation, OperationKind};
use super::origin::{Packed, StackSide};
use super::repeated_reads::RepeatedRead;
use super::shadow::{AccessId, Cell, Whole, access_id};
use super::sums::{Mark, PairIndex, Sums};
use crate::id::{ActorId, CallId};

/// The part of a memory operation that is needed each time.
#[derive(Clone, Copy, Debug)]
pub struct FastPath {
    /// Index among the run's addresses.
    pub mem: u16,
    step: u16,
    ordinal: u8,
    size: u8,
    pub kind: FastKind,
    /// Bit of the register that it may restore, [`FastPath::STACK`], [`FastPath::RETURN_ADDRESS`].
    flags: u8,
    page: PageIndex,
    pub actor: ActorId,
    /// Pair of what was read last.
    pair: PairIndex,
    flow: FlowHint,
    pub again: RepeatedRead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastKind {
    Load,
    /// It may be a restore.
    LoadRegister,
    Store,
    /// It may be a save, and reads the register that it stores.
    StoreRegister,
    /// Of where a return goes to.
    Control,
    /// Never quick.
    Other,
}

impl FastPath {
    /// It is stack relative.
    const STACK: u8 = 1 << 7;
    /// A call stores where it is to go on.
    const RETURN_ADDRESS: u8 = 1 << 6;

    pub fn new(op: &Operation) -> FastPath {
        let small = || -> Option<((u16, u16), (u8, u8))> {
            let (mem, step) = (op.mem.try_into().ok()?, op.step.try_into().ok()?);
            Some(((mem, step), (op.ordinal.try_into().ok()?, op.size.try_into().ok()?)))
        };
        let ((mem, step), (ordinal, size)) = small().unwrap_or_default();
        let kind = match (op.kind, op.register) {
            _ if size == 0 => FastKind::Other,
            (OperationKind::Load { control: false }, None) => FastKind::Load,
            (OperationKind::Load { control: false }, Some(_)) => FastKind::LoadRegister,
            (OperationKind::Store { .. }, None) => FastKind::Store,
            (OperationKind::Store { .. }, Some(_)) => FastKind::StoreRegister,
            (OperationKind::Load { control: true }, _) => FastKind::Control,
            _ => FastKind::Other,
        };
        let register = op.register.map_or(0, |register| mask(register).trailing_zeros() as u8);
        let address = if op.is_return_address { FastPath::RETURN_ADDRESS } else { 0 };
        FastPath {
            mem,
            step,
            ordinal,
            size,
            kind,
            flags: register | address | if op.stack_relative { FastPath::STACK } else { 0 },
            page: op.hints.page,
            actor: op.actor,
            pair: op.hints.edge.pair(),
            flow: op.hints.flow,
            again: op.hints.again,
        }
    }

    /// The access in a run whose first step is `seq`.
    #[inline]
    pub fn access(&self, seq: u64) -> AccessId {
        access_id(seq + u64::from(self.step), self.ordinal.into())
    }

    /// The version that it writes in such a run, in an instance.
    #[inline]
    pub fn written(&self, seq: u64, call: CallId) -> Cell {
        let cell = Cell::written(self.access(seq), call, self.actor);
        match self.flags & FastPath::RETURN_ADDRESS {
            0 => cell,
            _ => Cell { actor: cell.actor | Cell::SLOT, ..cell },
        }
    }

    /// Hands on what it has counted and met.
    #[inline]
    pub fn give(&self, op: &mut Operation) {
        op.hints.page = self.page;
        op.hints.again = self.again;
    }

    /// Takes what the operation has counted and met.
    #[inline]
    pub fn take(&mut self, op: &Operation) {
        self.page = op.hints.page;
        self.pair = op.hints.edge.pair();
        self.flow = op.hints.flow;
        self.again = op.hints.again;
    }

    #[inline(always)]
    fn look<'a>(&mut self, memory: &'a mut Memory, address: u64) -> Option<Here<'a>> {
        memory.look(&mut self.page, (address, self.size.into()), self.flags & FastPath::STACK != 0)
    }

    /// A load that is no restore. `saved`: registers that the instance has saved; `flows`: those
    /// into it, if they are asked for, and whether reads of what others wrote give rows: they are
    /// not quick then.
    #[inline(always)]
    pub fn load(
        &mut self,
        (memory, sums): (&mut Memory, &mut Sums),
        address: u64,
        (call, ended): (CallId, &CallSet),
        saved: u64,
        flows: Option<(&mut Flows, bool)>,
    ) -> bool {
        if self.kind == FastKind::LoadRegister && saved >> (self.flags & 63) & 1 != 0 {
            return false;
        }
        let (size, pair) = (u64::from(self.size), self.pair);
        let Some(here) = self.look(memory, address) else { return false };
        let place = here.place;
        let (mark, start) = (Mark::memory(address), u64::from(here.offset));
        let Some(cells) = here.cells(size) else { return false };
        let Some((flows, rows)) = flows else {
            let touch = || sums.touch(pair, place, mark, start, size);
            return self.again.read_again(cells, address, (place, pair), (call, ended), touch);
        };
        let Some((&first, rest)) = cells.0.split_first() else { return false };
        // What no instance or source wrote has none here.
        let of_one = rest.iter().all(|cell| cell.call == first.call);
        let gives_row = rows && first.call != Packed::step(call);
        if !of_one || gives_row || flows.is_nearly_full() || !self.again.is_again(cells.0, place) {
            return false;
        }
        let writer = first.writer(StackSide::Below);
        let function = || sums.function(first.actor(StackSide::Below));
        let flow = flows.entry(&mut self.flow, writer, place, function);
        let before = self.again.counted();
        let touch = || sums.touch(pair, place, mark, start, size);
        self.again.count(cells, address, pair, (call, ended), touch);
        let now = self.again.counted();
        flow.add(size, (now.0 - before.0).into(), (now.1 - before.1).into());
        true
    }

    /// A load of where a return goes to, which counts for nothing but `via`.
    #[inline(always)]
    pub fn control(&mut self, memory: &mut Memory, address: u64) -> bool {
        self.look(memory, address).is_some()
    }

    /// A store that is no save.
    #[inline(always)]
    pub fn store(&mut self, memory: &mut Memory, address: u64, new: Cell, sums: &mut Sums) -> bool {
        let size = u64::from(self.size);
        let Some(here) = self.look(memory, address) else { return false };
        let Some((cells, unit, _)) = here.cells(size) else { return false };
        if cells.iter().any(|cell| !cell.is_plain()) {
            return false;
        }
        for cell in cells {
            if cell.reader == 0 {
                sums.replaced(cell, unit);
            }
            *cell = Cell { pair: cell.pair, ..new };
        }
        true
    }
}

impl<'a> Here<'a> {
    /// The cells of an access that begins here, if it needs no splitting.
    #[inline(always)]
    fn cells(self, size: u64) -> Option<Whole<'a>> {
        self.pools.whole(&mut self.words[..], self.offset.into(), size)
    }
}
