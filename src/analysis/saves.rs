//! Saved registers: what a save keeps, what a restore gives back, and what happens when something
//! else reads what was saved. See "Saved registers" in `docs/semantics.md`.
//!
//! A save's own read of its register counts late, if at all: when it is exposed. So a live save
//! keeps a copy of the register's cells as they were.

use super::block;
use super::data::{Data, Thread};
use super::flows::FlowHint;
use super::mutation::Mutation;
use super::origin::{Origin, Packed, Source, StackSide};
use super::place::PlaceCode;
use super::shadow::{AccessId, Cell, Registers, access};
use super::sums::EdgeHint;
use super::{Communication, Output, SavedRegister};
use crate::event::RegSpan;
use crate::id::{CallId, InstructionId, Seq};
use rustc_hash::FxHashMap;

/// Bytes of the stack below an instance's frame top that count as its frame.
const FRAME_REACH: u64 = 8 << 20;

/// Bytes of a register as they were when saved.
#[derive(Clone, Debug)]
struct Piece {
    span: RegSpan,
    cell: Cell,
    /// Store of the save of the same version that was pending before.
    pending: AccessId,
    readers: Vec<u32>,
    /// The saving instance had read this version when it saved.
    seen: bool,
}

/// A store that may be a save.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub call: CallId,
    pub register: RegSpan,
    pub address: u64,
    pub access: AccessId,
    /// Ordinal of its read of the register.
    pub read: u16,
    pub insn: InstructionId,
    pub value: Option<u64>,
}

/// A load that may be a restore.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub call: CallId,
    pub register: RegSpan,
    pub address: u64,
    pub seq: u64,
    pub value: Option<u64>,
}

/// A live save.
struct Save {
    store: Store,
    pieces: Vec<Piece>,
    /// Bytes of the saved version that the saving instance read otherwise after the save.
    read_otherwise: u64,
    restores: u32,
    last_restore: Option<Seq>,
    exposed: Option<Seq>,
}

impl Save {
    /// Bit of a byte of the register in `read_otherwise`.
    fn bit(&self, byte: u16) -> u64 {
        1 << (byte - self.store.register.offset).min(63)
    }
}

/// The live saves.
#[derive(Default)]
pub struct Saves {
    list: Vec<Save>,
    free: Vec<u32>,
    by_store: FxHashMap<AccessId, u32>,
    /// Those whose bytes the current access has read.
    read: Vec<u32>,
}

impl Saves {
    /// Something other than a restore read what `store` wrote.
    pub fn read(&mut self, store: AccessId) {
        if let Some(&save) = self.by_store.get(&store) {
            self.read.push(save);
        }
    }

    /// Whether the access before exposes any save.
    #[inline]
    pub fn exposes(&self) -> bool {
        !self.read.is_empty()
    }

    /// The saves whose bytes the access before has read.
    pub fn take_read(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.read)
    }

    /// The instance of a save that step `seq` exposes; None if it was exposed before.
    pub fn mark_exposed(&mut self, save: u32, seq: u64) -> Option<CallId> {
        let save = &mut self.list[save as usize];
        if save.exposed.is_some() {
            return None;
        }
        save.exposed = Seq::new(seq);
        Some(save.store.call)
    }

    /// Room for the pieces of the save that is added next.
    fn spare_pieces(&mut self) -> Vec<Piece> {
        let next = self.free.last().map(|&i| &mut self.list[i as usize].pieces);
        let mut pieces = next.map(std::mem::take).unwrap_or_default();
        pieces.clear();
        pieces
    }

    fn add(&mut self, save: Save) -> u32 {
        let store = save.store.access;
        let index = match self.free.pop() {
            Some(i) => {
                self.list[i as usize] = save;
                i
            }
            None => {
                self.list.push(save);
                self.list.len() as u32 - 1
            }
        };
        self.by_store.insert(store, index);
        index
    }

    /// An ordinary read by `call` of a register that it has saved: the save's own read would be no
    /// first one.
    #[inline(never)]
    pub fn note_pending_read(&mut self, registers: &Registers, call: CallId, span: RegSpan) {
        let pending = registers.pending(span);
        // Mostly all bytes are of one save: (store, index of the save).
        let mut last = (0, 0);
        for (byte, &store) in (span.offset..).zip(pending) {
            let mut store = store;
            // Saves of the same version, innermost instance first.
            while store != 0 {
                if last.0 != store {
                    let Some(&index) = self.by_store.get(&store) else { break };
                    last = (store, index);
                }
                let save = &mut self.list[last.1 as usize];
                if save.store.call == call {
                    save.read_otherwise |= save.bit(byte);
                }
                let piece = save.pieces.iter().find(|p| holds(p.span, byte));
                store = piece.map_or(0, |p| p.pending);
            }
        }
    }
}

fn holds(span: RegSpan, byte: u16) -> bool {
    span.offset <= byte && byte < span.offset + span.size
}

/// Notes `call` as a reader of the bytes of `mine` in copies of the same version.
fn note_piece_reader(pieces: &mut Vec<Piece>, mine: &Piece, call: u32) {
    let (from, to) = (mine.span.offset, mine.span.offset + mine.span.size);
    let mut i = 0;
    while i < pieces.len() {
        let piece = &mut pieces[i];
        let start = piece.span.offset;
        let end = start + piece.span.size;
        if piece.cell.write != mine.cell.write || end <= from || start >= to {
            i += 1;
        } else if start < from || end > to {
            // Cut it where it goes beyond; the parts are looked at again.
            let at = if start < from { from } else { to };
            let mut rest = piece.clone();
            piece.span.size = at - start;
            rest.span = RegSpan { offset: at, size: end - at };
            pieces.insert(i + 1, rest);
        } else {
            let last = piece.cell.reader & !Cell::MORE;
            if last == 0 {
                piece.cell.reader = call;
            } else if last != call && piece.readers.binary_search(&call).is_err() {
                let place = piece.readers.partition_point(|&c| c < last);
                piece.readers.insert(place, last);
                piece.cell.reader = call | Cell::MORE;
            }
            i += 1;
        }
    }
}

impl<O: Output> Data<O> {
    /// The store is a save: data of a register that another instance wrote, into the instance's own
    /// frame.
    pub fn is_save(&self, thread: &mut Thread, store: &Store, stack_relative: bool) -> bool {
        !self.saves_are_literal()
            && in_frame(thread, store.address, u64::from(store.register.size), stack_relative)
            && (is_foreign(&mut thread.registers, store.call, store.register)
                || self.without(Mutation::OwnStores))
            && !self.without(Mutation::Saves)
    }

    /// Keeps what the register holds.
    pub fn save(&mut self, thread: &mut Thread, store: Store) {
        let (register, call) = (store.register, store.call);
        let mut pieces = self.saves.spare_pieces();
        thread.registers.visit_pending(register, |readers, span, cell, pending| {
            let key = u64::from(span.offset);
            pieces.push(Piece {
                span,
                cell: *cell,
                pending,
                readers: readers.of(cell, key),
                seen: readers.has_read(cell, key, call),
            });
        });
        thread.registers.set_pending(register, store.access);
        let save = Save {
            store,
            pieces,
            read_otherwise: 0,
            restores: 0,
            last_restore: None,
            exposed: None,
        };
        let index = self.saves.add(save);
        if let Some(frame) = thread.calls.top_mut() {
            frame.payload.saves.push(index);
            frame.payload.save_mask |= block::mask(register);
        }
    }

    /// Whether this load is a restore; if so the register has its old writers again.
    pub fn restore(&mut self, thread: &mut Thread, load: &Load) -> bool {
        let Some(frame) = thread.calls.top() else { return false };
        let maybe = frame.payload.save_mask & block::mask(load.register) != 0;
        if !maybe || self.without(Mutation::Restores) {
            return false;
        }
        let Some(index) = self.restored_save(load) else { return false };
        if !self.without(Mutation::OldWriters) {
            let pieces = std::mem::take(&mut self.saves.list[index as usize].pieces);
            for piece in &pieces {
                self.give_back(&mut thread.registers, index, piece, load.call);
            }
            self.saves.list[index as usize].pieces = pieces;
        }
        let save = &mut self.saves.list[index as usize];
        save.restores += 1;
        save.last_restore = Seq::new(load.seq);
        true
    }

    /// The save that a load restores: every byte must be that of one live save of this register at
    /// this address.
    fn restored_save(&mut self, load: &Load) -> Option<u32> {
        let first = self.memory.byte(load.address);
        let index = *self.saves.by_store.get(&first.write).filter(|_| first.is_saved())?;
        let Save { store, exposed, .. } = &self.saves.list[index as usize];
        let values_agree =
            load.value.is_none() || store.value.is_none() || load.value == store.value;
        let same = store.call == load.call
            && store.register == load.register
            && store.address == load.address
            && exposed.is_none()
            && values_agree;
        let all = same
            && (1..u64::from(load.register.size)).all(|i| {
                let cell = self.memory.byte(load.address.wrapping_add(i));
                cell.is_saved() && cell.write == first.write
            });
        all.then_some(index)
    }

    /// Gives bytes of a register the writers and readers that they had before a save.
    fn give_back(&self, registers: &mut Registers, index: u32, piece: &Piece, call: CallId) {
        let save = &self.saves.list[index as usize];
        // Already the same version? Then nothing was in between but readers, who are to be kept.
        let mut same = true;
        registers.visit(piece.span, |_, _, _, c| same &= c.write == piece.cell.write);
        if same {
            return;
        }
        // Bytes that the instance has read since the save apart from those that it has not.
        let otherwise = |byte: u16| save.read_otherwise & save.bit(byte) != 0;
        let end = piece.span.offset + piece.span.size;
        let mut from = piece.span.offset;
        while from < end {
            let read = otherwise(from);
            let to = (from..end).find(|&b| otherwise(b) != read).unwrap_or(end);
            let span = RegSpan { offset: from, size: to - from };
            registers.write(span, Cell { reader: 0, ..piece.cell });
            registers.set_pending(span, save.store.access);
            registers.visit(span, |readers, key, _, cell| {
                cell.reader = piece.cell.reader;
                readers.set(key, piece.readers.clone());
                if read {
                    readers.note(cell, key, call, &|_| true);
                }
            });
            from = to;
        }
    }

    /// Something other than a restore has read what a save of an instance of `owner` stored: now
    /// the save's read of the register counts.
    #[cold]
    pub fn expose(&mut self, owner: &mut Thread, index: u32) {
        let store = self.saves.list[index as usize].store;
        let Some(depth) = owner.calls.find(store.call) else { return };
        let pieces = std::mem::take(&mut self.saves.list[index as usize].pieces);
        let mut fed_by: Vec<AccessId> = Vec::new();
        let mut rows: Vec<(Cell, Communication)> = Vec::new();
        for piece in &pieces {
            let first = !fed_by.contains(&piece.cell.write);
            fed_by.push(piece.cell.write);
            self.count_exposed(owner, depth, index, piece, first);
            match rows.last_mut() {
                Some((cell, row)) if cell.write == piece.cell.write => {
                    row.bytes += u32::from(piece.span.size);
                }
                _ => rows.extend(exposed_row(&store, piece).map(|row| (piece.cell, row))),
            }
        }
        let (all, own) = (self.gives_local(), Packed::step(store.call));
        let asked = |cell: &Cell| all || cell.writer(StackSide::Below) != own;
        if self.options.gives_communications() {
            let rows = rows.into_iter().filter(|(cell, _)| asked(cell));
            rows.for_each(|(_, row)| self.output.communication(row));
        }
        self.note_exposed(owner, depth, &pieces);
        self.saves.list[index as usize].pieces = pieces;
        let activation = &mut owner.calls.frame_mut(depth).payload;
        let list = &self.saves.list;
        let live = activation.saves.iter().map(|&i| &list[i as usize]);
        activation.save_mask =
            live.filter(|s| s.exposed.is_none()).fold(0, |m, s| m | block::mask(s.store.register));
    }

    /// Adds what a piece of an exposed save fed to the sums and flows. `first`: it is a transfer of
    /// its own.
    fn count_exposed(
        &mut self,
        owner: &mut Thread,
        depth: usize,
        index: u32,
        piece: &Piece,
        first: bool,
    ) {
        let save = &self.saves.list[index as usize];
        let (cell, span, call) = (&piece.cell, piece.span, save.store.call);
        let read_before = |b: &u16| piece.seen || save.read_otherwise & save.bit(*b) != 0;
        let bytes = span.offset..span.offset + span.size;
        let unique = bytes.filter(|b| !read_before(b)).count() as u64;
        let (place, insn, len) = (PlaceCode::REGISTER, save.store.insn, u64::from(span.size));
        // If the version is still there, the instance has read it now.
        owner.registers.visit(span, |readers, key, _, c| {
            if c.write == cell.write {
                readers.note(c, key, call, &|_| true);
            }
        });
        let writer = cell.instruction(StackSide::Below);
        let writer_function = self.sums.function(writer);
        let frame = owner.calls.frame_mut(depth);
        let pair = self.sums.pair(writer_function, Packed::step(frame.function));
        self.sums.touch(pair, place, owner.mark, u64::from(span.offset), len);
        let flows = &mut frame.payload.flows;
        let hint = &mut FlowHint::default();
        let flow = flows.entry(hint, cell.writer(StackSide::Below), place, || writer_function);
        flow.bytes += len;
        flow.unique += unique;
        flow.transfers += u64::from(first);
        let edge = self.sums.edge(&mut EdgeHint::default(), writer, insn, place);
        edge.bytes += len;
        edge.transfers += u64::from(first);
    }

    /// What an exposed save is to others of the same versions: its instance has read them.
    fn note_exposed(&mut self, owner: &Thread, depth: usize, pieces: &[Piece]) {
        let frames = owner.calls.frames();
        // Other saves of the same version by this instance would be no first read of it any more.
        for &other in &frames[depth].payload.saves {
            let save = &mut self.saves.list[other as usize];
            let mut read = 0;
            for mine in pieces {
                for piece in save.pieces.iter().filter(|p| p.cell.write == mine.cell.write) {
                    let bytes = mine.span.offset..mine.span.offset + mine.span.size;
                    let both = bytes.filter(|&b| holds(piece.span, b));
                    read |= both.fold(0, |m, b| m | save.bit(b));
                }
            }
            save.read_otherwise |= read;
        }
        // What instances below it have saved of the same version since then was read by this one
        // before: they give it back so.
        let call = frames[depth].call.get();
        for &other in frames[depth + 1..].iter().flat_map(|f| &f.payload.saves) {
            for mine in pieces {
                note_piece_reader(&mut self.saves.list[other as usize].pieces, mine, call);
            }
        }
    }

    /// The instance of a save ends.
    pub fn end_save(&mut self, registers: &mut Registers, index: u32) {
        let save = &self.saves.list[index as usize];
        let store = &save.store;
        for piece in &save.pieces {
            registers.end_pending(piece.span, store.access, piece.pending);
        }
        self.saves.by_store.remove(&store.access);
        if self.options.gives_instances()
            && let Some(at) = access(store.access)
        {
            self.output.saved_register(SavedRegister {
                call: store.call,
                save: at,
                register: store.register,
                address: store.address,
                restores: save.restores,
                last_restore: save.last_restore,
                exposed: save.exposed,
            });
        }
        self.saves.free.push(index);
    }
}

/// The communication to the read of an exposed save.
fn exposed_row(store: &Store, piece: &Piece) -> Option<Communication> {
    Some(Communication {
        write: match access(piece.cell.write) {
            Some(write) => Origin::Step(write),
            None => Origin::Source(Source::Initial(StackSide::Below)),
        },
        read: access(store.access & !0xffff | u64::from(store.read))?,
        is_register: true,
        address: piece.span.offset.into(),
        bytes: piece.span.size.into(),
    })
}

fn in_frame(thread: &Thread, address: u64, size: u64, stack_relative: bool) -> bool {
    match thread.calls.top().and_then(|f| f.token.frame_top()) {
        Some(top) => {
            address < top
                && address.saturating_add(size) <= top
                && address >= top.saturating_sub(FRAME_REACH)
        }
        None => stack_relative,
    }
}

/// Every byte of the register was last written by another instance than `call`, or never.
fn is_foreign(registers: &mut Registers, call: CallId, span: RegSpan) -> bool {
    let mut foreign = true;
    registers.visit(span, |_, _, _, cell| {
        foreign &= !cell.is_written() || cell.call != Packed::step(call);
    });
    foreign
}
