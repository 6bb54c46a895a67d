//! What the kernel does to memory: see "System calls" in `docs/semantics.md`.

use super::data::Data;
use super::flows::{self, FlowPlace};
use super::memory::{Memory, PAGE, Piece};
use super::origin::{Packed, StackSide};
use super::place::PlaceCode;
use super::shadow::{AccessId, Cell, KERNEL_WRITE};
use super::sums::Mark;
use super::{Flow, Output};
use crate::event::{ImageMap, KernelAccess};
use rustc_hash::FxHashMap;

/// What one system call took of one writer.
#[derive(Default)]
struct Taken {
    /// Function of the writer, or its source.
    function: Option<Packed>,
    bytes: u64,
    transfers: u64,
}

impl<O: Output> Data<O> {
    /// The kernel reads or writes memory. Saves that it exposes are noted.
    pub fn kernel_access(&mut self, access: &KernelAccess) {
        let source = self.sources.number(access.source.as_deref());
        if access.is_write {
            self.kernel_writes += 1;
            let write = KERNEL_WRITE | self.kernel_writes;
            // Nobody wrote for nothing if it is not read.
            let new = Cell { write, call: Packed::named(source), actor: Cell::SLOT, ..Cell::EMPTY };
            self.each_piece(access, |data, piece| {
                data.write_memory(piece.page, (piece.address, piece.len), new);
            });
        } else {
            self.kernel_read(access, Packed::named(source));
        }
    }

    /// What stood in memory is not known any more.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|n| address.saturating_add(n)) else { return };
        for page in self.memory.touched(address, last) {
            let base = self.memory.base(page);
            let (from, to) = (address.max(base), last.min(base + (PAGE - 1)));
            self.write_memory(page, (from, to - from + 1), Cell::EMPTY);
        }
    }

    /// A file or new memory is mapped.
    pub fn map(&mut self, map: &ImageMap) {
        self.map_memory(map.address, map.bytes, map.file().is_some());
    }

    fn map_memory(&mut self, address: u64, bytes: u64, file: bool) {
        self.forget(address, bytes);
        if let Some(more) = bytes.checked_sub(1) {
            self.memory.map(address, address.saturating_add(more), file);
        }
    }

    /// Nothing lies there any more.
    pub fn unmap(&mut self, address: u64, bytes: u64) {
        self.forget(address, bytes);
        if let Some(more) = bytes.checked_sub(1) {
            self.memory.unmap(address, address.saturating_add(more));
        }
    }

    /// Memory lies elsewhere from here on; who wrote its bytes has written them there.
    pub fn move_memory(&mut self, from: u64, to: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|n| from.saturating_add(n)) else { return };
        self.map_memory(to, bytes, false);
        let mut versions = Vec::new();
        for page in self.memory.touched(from, last) {
            let base = self.memory.base(page);
            let start = from.max(base);
            let len = last.min(base + (PAGE - 1)) - start + 1;
            let (pools, words) = self.memory.shadow(page);
            pools.visit(words, base, start - base, len, |_, address, n, cell| {
                if cell.is_written() {
                    versions.push((address, n, cell.unread()));
                }
            });
        }
        for (address, n, cell) in versions {
            let there = to.wrapping_add(address - from);
            let page = self.memory.mark(&mut 0, (there, 1), false);
            self.saves.copy(cell.write, n);
            self.write_memory(page, (there, n), Cell { actor: cell.actor | Cell::SLOT, ..cell });
        }
        self.unmap(from, bytes);
    }

    fn each_piece(&mut self, access: &KernelAccess, mut f: impl FnMut(&mut Self, Piece)) {
        let mut pieces = Vec::new();
        self.memory.pieces(access.address, access.bytes, |memory: &mut Memory, piece| {
            memory.mark(&mut 0, (piece.address, 1), false);
            pieces.push(piece);
        });
        pieces.into_iter().for_each(|piece| f(self, piece));
    }

    /// Every system call reads as an instance of its own: all that it takes is unique.
    fn kernel_read(&mut self, access: &KernelAccess, sink: Packed) {
        let mut taken: FxHashMap<(Packed, PlaceCode), Taken> = FxHashMap::default();
        let mut fed_by: Vec<(AccessId, PlaceCode, StackSide)> = Vec::new();
        let first_sp = self.first_sp.unwrap_or(u64::MAX);
        self.each_piece(access, |data, piece| {
            let place = PlaceCode::of(data.memory.place(piece.page, piece.address));
            let (base, mark) = (piece.base(), Mark::memory(piece.base()));
            let (sums, saves) = (&mut data.sums, &mut data.saves);
            let (pools, words) = data.memory.shadow(piece.page);
            pools.visit(words, base, piece.start(), piece.len, |_, address, n, cell| {
                let above = place.is_region() && address >= first_sp;
                let side = if above { StackSide::Above } else { StackSide::Below };
                let function = sums.function(cell.actor(side));
                let entry = taken.entry((cell.writer(side), place)).or_default();
                entry.function = Some(function);
                entry.bytes += n;
                let version = (cell.write, place, side);
                if fed_by.last() != Some(&version) && !fed_by.contains(&version) {
                    fed_by.push(version);
                    entry.transfers += 1;
                }
                let pair = sums.pair(function, sink, place);
                sums.touch(pair, place, mark, address - base, n);
                if cell.is_saved() {
                    saves.read(cell.write);
                }
                cell.actor |= if cell.is_written() { Cell::SLOT } else { 0 };
            });
        });
        let mut taken: Vec<_> = taken.into_iter().collect();
        taken.sort_unstable_by_key(|(key, _)| *key);
        for ((writer, place), Taken { function, bytes, transfers }) in taken {
            let Some(function) = function else { continue };
            let sums = self.sums.functions(function, sink, place);
            sums.bytes += bytes;
            sums.unique += bytes;
            sums.transfers += transfers;
            if self.options.gives_instances() {
                self.kernel_flow((writer, function, sink), place, (bytes, transfers));
            }
        }
    }

    fn kernel_flow(
        &mut self,
        (writer, function, sink): (Packed, Packed, Packed),
        place: PlaceCode,
        (bytes, transfers): (u64, u64),
    ) {
        let place = flows::canonical(&mut self.memory, place, writer);
        let place = self.hand_out.number(FlowPlace { place, source: writer.source() });
        let row = Flow {
            writer: flows::writer(writer, function),
            reader: None,
            reader_function: sink.origin(),
            place,
            // Other system calls have the same key.
            part: true,
            bytes,
            unique: bytes,
            transfers,
        };
        self.output.flow(row);
    }
}
