//! What the kernel does to memory: see "System calls" in `docs/semantics.md`.

use super::data::Data;
use super::flows::{self, FlowPlace};
use super::forks::ForkedThread;
use super::memory::{Memory, PAGE, Piece, Version};
use super::origin::{Packed, Sources, StackSide};
use super::place::PlaceCode;
use super::saves::Store;
use super::shadow::{AccessId, Cell, KERNEL_WRITE};
use super::sums::Mark;
use super::{Flow, Output};
use crate::event::{ImageMap, KernelAccess};
use rustc_hash::{FxHashMap, FxHashSet};

/// On which side of the first stack pointer a byte lies.
fn side(place: PlaceCode, address: u64, first_sp: u64) -> StackSide {
    if place.is_region() && address >= first_sp { StackSide::Above } else { StackSide::Below }
}

/// What one system call takes, gathered over its bytes.
struct Taking {
    sink: Packed,
    all: FxHashMap<(Packed, PlaceCode), Taken>,
    /// Versions that it has been fed by.
    fed_by: FxHashSet<(AccessId, PlaceCode, StackSide)>,
}

impl Taking {
    fn add(
        &mut self,
        (function, writer): (Packed, Packed),
        (place, side): (PlaceCode, StackSide),
        write: AccessId,
        bytes: u64,
    ) {
        let entry = self.all.entry((writer, place)).or_default();
        entry.function = Some(function);
        entry.bytes += bytes;
        // A write is one transfer, wherever its bytes lie; what nobody wrote is one of each section, and of all
        // regions, as for the program's reads.
        let version = match (write, place.is_region()) {
            (0, false) => (0, place, side),
            (0, true) => (0, PlaceCode::REGISTER, side),
            _ => (write, PlaceCode::REGISTER, StackSide::Below),
        };
        entry.transfers += u64::from(self.fed_by.insert(version));
    }
}

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
            self.fill(access.address, access.bytes, new);
        } else {
            self.kernel_read(access, Packed::named(source));
        }
    }

    /// All bytes of a range get one writer.
    fn fill(&mut self, address: u64, bytes: u64, new: Cell) {
        for (address, bytes) in self.memory.fill(address, bytes, new) {
            let mut pieces = Vec::new();
            self.memory.pieces(address, bytes, |memory: &mut Memory, piece| {
                memory.mark(&mut 0, (piece.address, 1), false);
                pieces.push(piece);
            });
            for piece in pieces {
                self.write_memory(piece.page, (piece.address, piece.len), new);
            }
        }
    }

    /// What stood in memory is not known any more.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|n| address.saturating_add(n)) else { return };
        self.memory.unfill(address, last);
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
        // What was not read may still be read there: it is dead nowhere but there.
        let versions = self.versions(from, bytes, |cell| {
            let there =
                Cell { actor: cell.actor | if cell.reader == 0 { 0 } else { Cell::SLOT }, ..*cell };
            cell.actor |= Cell::SLOT;
            there
        });
        self.map_memory(to, bytes, false);
        self.put(versions, from, to);
        self.unmap(from, bytes);
    }

    /// Bytes are at another place, too; who wrote them has written them there.
    pub fn copy_memory(&mut self, from: u64, to: u64, bytes: u64) {
        let versions = self.versions(from, bytes, Data::<O>::copy_of);
        self.forget(to, bytes);
        self.put(versions, from, to);
    }

    /// The process's memory as it is now is what another one begins with, and so is what its thread has.
    pub fn fork(&mut self, pid: u64, thread: Option<ForkedThread>) {
        let versions = self.versions(0, u64::MAX, Data::<O>::copy_of);
        self.forks.keep(pid, versions, thread);
    }

    /// Memory is what the parent left; if that is not known, these ranges of it were written by it.
    pub fn inherit(&mut self, pid: u64, ranges: &[(u64, u64)]) {
        if let Some((versions, thread)) = self.forks.take(pid) {
            self.forks.begins = thread;
            return self.put(versions, 0, 0);
        }
        let source = Packed::named(self.sources.number(Some(Sources::INHERITED)));
        self.kernel_writes += 1;
        let write = KERNEL_WRITE | self.kernel_writes;
        let new = Cell { write, call: source, actor: Cell::SLOT, ..Cell::EMPTY };
        ranges.iter().for_each(|&(address, bytes)| self.fill(address, bytes, new));
    }

    /// What a store has left in memory, which a forked process has as it was, is a save there, too.
    pub fn is_saved(&mut self, store: &Store) {
        let bytes = store.register.size.into();
        self.versions(store.address, bytes, |cell| {
            if cell.write == store.access {
                cell.actor |= Cell::SAVE | Cell::SLOT;
            }
            *cell
        });
    }

    /// A copy of a version, which is never dead.
    fn copy_of(cell: &mut Cell) -> Cell {
        Cell { actor: cell.actor | Cell::SLOT, ..*cell }
    }

    /// What is known of a range, in order within pages; `there` gives what a version is elsewhere.
    fn versions(
        &mut self,
        from: u64,
        bytes: u64,
        there: impl Fn(&mut Cell) -> Cell,
    ) -> Vec<Version> {
        let Some(last) = bytes.checked_sub(1).map(|n| from.saturating_add(n)) else {
            return Vec::new();
        };
        let mut versions = self.memory.filled_within(from, last);
        versions.retain(|(.., cell)| cell.is_written());
        for page in self.memory.touched(from, last) {
            let base = self.memory.base(page);
            let start = from.max(base);
            let len = last.min(base + (PAGE - 1)) - start + 1;
            let (pools, words) = self.memory.shadow(page);
            pools.visit(words, base, start - base, len, |_, address, n, cell| {
                if cell.is_written() {
                    versions.push((address, n, there(cell).unread()));
                }
            });
        }
        versions
    }

    /// Bytes that lay from `from` on lie from `to` on.
    fn put(&mut self, versions: Vec<Version>, from: u64, to: u64) {
        for (address, n, cell) in versions {
            let there = to.wrapping_add(address.wrapping_sub(from));
            self.saves.copy(cell.write, n);
            self.fill(there, n, cell);
        }
    }

    /// Every system call reads as an instance of its own: all that it takes is unique.
    fn kernel_read(&mut self, access: &KernelAccess, sink: Packed) {
        let mut taken = Taking { sink, all: FxHashMap::default(), fed_by: FxHashSet::default() };
        // No range goes beyond the last address.
        let (mut address, mut left) = (access.address, access.bytes);
        left = left.min((u64::MAX - address).saturating_add(1));
        // What nobody has touched is gone through as what was filled.
        self.memory.touch_all(address, left);
        while left > 0 {
            let len = match self.memory.stretch(address, left) {
                Some((place, len, cell)) => {
                    self.take_filled(&mut taken, (address, len), place, cell);
                    len
                }
                None => self.take_piece(&mut taken, address, left),
            };
            address = address.wrapping_add(len);
            left -= len;
        }
        let taken = taken.all;
        let mut taken: Vec<_> = taken.into_iter().collect();
        taken.sort_unstable_by_key(|(key, _)| *key);
        for ((writer, place), Taken { function, bytes, transfers }) in taken {
            let Some(function) = function else { continue };
            let sums = self.sums.functions(function, sink, place);
            sums.bytes += bytes;
            sums.unique += bytes;
            sums.transfers += transfers;
            if self.options.gives_instances() {
                let (ends, sums) = ((writer, function, sink), (bytes, transfers));
                self.stubs.read_by_kernel(ends, place, sums);
                self.by_context.read_by_kernel(ends, place, sums);
                self.kernel_flow(ends, place, sums);
            }
        }
    }

    /// The kernel reads bytes that were filled at once.
    fn take_filled(
        &mut self,
        taken: &mut Taking,
        (address, len): (u64, u64),
        place: PlaceCode,
        cell: Cell,
    ) {
        let side = side(place, address, self.first_sp.unwrap_or(u64::MAX));
        let function = self.sums.summed(cell.actor(side));
        taken.add((function, cell.writer(side)), (place, side), cell.write, len);
        let pair = self.sums.pair(function, taken.sink, place);
        self.sums.touch_range(pair, place, address, len);
    }

    /// The kernel reads bytes of one page and place; gives how many of `left`.
    fn take_piece(&mut self, taken: &mut Taking, address: u64, left: u64) -> u64 {
        let page = self.memory.page(address);
        let (_, len) = self.memory.reach(page, address, left);
        self.memory.mark(&mut 0, (address, 1), false);
        let piece = Piece { page, address, len };
        let place = PlaceCode::of(self.memory.place(page, address));
        let first_sp = self.first_sp.unwrap_or(u64::MAX);
        let (base, mark) = (piece.base(), Mark::memory(piece.base()));
        let (sums, saves) = (&mut self.sums, &mut self.saves);
        let (pools, words) = self.memory.shadow(page);
        pools.visit(words, base, piece.start(), len, |_, address, n, cell| {
            let side = side(place, address, first_sp);
            let function = sums.summed(cell.actor(side));
            taken.add((function, cell.writer(side)), (place, side), cell.write, n);
            let pair = sums.pair(function, taken.sink, place);
            sums.touch(pair, place, mark, address - base, n);
            if cell.is_saved() {
                saves.read(cell.write);
            }
            cell.actor |= if cell.is_written() { Cell::SLOT } else { 0 };
        });
        len
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
