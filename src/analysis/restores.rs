//! Saved registers: what a save keeps, what a restore gives back, and what happens when something
//! else reads what was saved. See "Saved registers" in `docs/semantics.md`.

use super::access::mask;
use super::data::{Data, Thread};
use super::flows::FlowHint;
use super::levels::Handler;
use super::origin::{Origin, Packed, Source, StackSide};
use super::outlived::Left;
use super::place::PlaceCode;
use super::saves::{Load, Met, Piece, Save, Store, holds, note_piece_reader, pass_on};
use super::shadow::{AccessId, Cell, Registers, access};
use super::sums::EdgeHint;
use super::{Communication, Late, Output, SavedRegister};
use crate::event::RegSpan;
use crate::id::{AccessRef, CallId, Seq, ThreadId};

/// Bytes of the stack below an instance's frame top that count as its frame.
const FRAME_REACH: u64 = 8 << 20;

impl<O: Output> Data<O> {
    /// The store is a save: data of a register that another instance wrote, into the instance's own
    /// frame.
    ///
    /// Or a handler stores what it interrupted, wherever that is: another instance may restore it.
    pub fn is_save(&self, thread: &mut Thread, store: &mut Store, stack_relative: bool) -> bool {
        if self.saves_are_literal() || thread.recent.has(store.register) {
            return false;
        }
        let (address, size) = (store.address, u64::from(store.register.size));
        store.framed = in_frame(thread, address, size, stack_relative);
        let is_save = (store.framed || !thread.levels.is_empty())
            && is_foreign(&mut thread.registers, store.call, store.register);
        if is_save && !thread.levels.is_empty() {
            store.across = saved_from(thread, store);
        }
        is_save && (store.framed || store.across != 0)
    }

    /// Keeps what the register holds.
    pub fn save(&mut self, thread: &mut Thread, store: Store) {
        let (register, call) = (store.register, store.call);
        let mut pieces = self.saves.spare_pieces();
        pieces.extend(thread.registers.one_version(register).map(|cell| Piece {
            span: register,
            cell,
            pending: 0,
            readers: Vec::new(),
            seen: cell.reader == call.get(),
        }));
        if pieces.is_empty() {
            self.find_pieces(thread, register, call, &mut pieces);
        }
        thread.registers.set_pending(register, store.access);
        // What lies in the frame may be given up with it.
        if store.across != 0
            && !store.framed
            && let Some(interrupted) = thread.levels.open.last_mut()
        {
            interrupted.saved.clear();
            interrupted.saved.extend(pieces.iter().map(|piece| (piece.span, piece.cell.write)));
        }
        let save = Save {
            store,
            pieces,
            read_otherwise: 0,
            restores: 0,
            last_restore: None,
            exposed: None,
            left: store.register.size,
        };
        let index = self.saves.add(save);
        if let Some(frame) = thread.calls.top_mut() {
            frame.payload.saves.push(index);
            frame.payload.save_mask |= mask(register);
        }
    }

    /// What a register holds, piece by piece.
    fn find_pieces(
        &self,
        thread: &mut Thread,
        register: RegSpan,
        call: CallId,
        pieces: &mut Vec<Piece>,
    ) {
        thread.registers.visit_pending(register, |readers, span, cell, pending| {
            let key = u64::from(span.offset);
            let readers = (readers.of(cell, key), readers.has_read(cell, key, call));
            let piece = Piece { span, cell: *cell, pending, readers: readers.0, seen: readers.1 };
            // Mostly all words of a register are of one version.
            if !pieces.last_mut().is_some_and(|last| last.goes_on(&piece)) {
                pieces.push(piece);
            }
        });
    }

    /// Whether this load is a restore; if so the register has its old writers again.
    pub fn restore(&mut self, thread: &mut Thread, load: &Load) -> bool {
        let Some(frame) = thread.calls.top() else { return false };
        let own = frame.payload.save_mask & mask(load.register) != 0;
        let own = if own { self.restored_save(load) } else { None };
        let Some(index) = own else {
            // Only a handler gives back what others have saved.
            return !thread.levels.is_empty() && self.restore_across(thread, load);
        };
        self.settle(thread);
        let Store { across, framed, .. } = self.saves.list[index as usize].store;
        if across != 0
            && !framed
            && let Some(interrupted) = thread.levels.open.last_mut()
        {
            interrupted.take(across);
        }
        let pieces = std::mem::take(&mut self.saves.list[index as usize].pieces);
        for piece in &pieces {
            self.give_back(&mut thread.registers, index, piece, load.call);
        }
        self.saves.list[index as usize].pieces = pieces;
        self.set_pending_since(thread, index);
        let save = &mut self.saves.list[index as usize];
        save.restores += 1;
        save.last_restore = Seq::new(load.seq);
        true
    }

    /// The save that a load restores: every byte must be that of one live save of this register at
    /// this address.
    fn restored_save(&mut self, load: &Load) -> Option<u32> {
        let size = u64::from(load.register.size);
        let of_one =
            |cells: &[Cell]| cells.iter().all(|c| c.is_saved() && c.write == cells[0].write);
        // Mostly it is so, or the first word tells that it is not.
        let words = self.memory.words(load.address, size).filter(|cells| !cells[0].is_split());
        let (first, whole) = match words {
            Some(cells) => (cells[0], of_one(cells)),
            None => (self.memory.byte(load.address), false),
        };
        let index = self.saves.by_store.get(first.write).filter(|_| first.is_saved())?;
        let store = &self.saves.list[index as usize].store;
        let values_agree =
            load.value.is_none() || store.value.is_none() || load.value == store.value;
        let same = store.call == load.call
            && store.register == load.register
            && store.address == load.address
            && values_agree;
        let all = same
            && (whole
                || (1..size).all(|i| {
                    let cell = self.memory.byte(load.address.wrapping_add(i));
                    cell.is_saved() && cell.write == first.write
                }));
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
        if piece.readers.is_empty() && save.read_otherwise == 0 {
            registers.write(piece.span, piece.cell);
            registers.set_pending(piece.span, save.store.access);
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

    /// What the instance has saved of the same versions since: these saves are to know, too, that it
    /// reads what it was given back.
    fn set_pending_since(&self, thread: &mut Thread, index: u32) {
        let Thread { calls, registers, .. } = thread;
        let saves = calls.top().map_or(&[][..], |top| &top.payload.saves);
        let Some(place) = saves.iter().rposition(|&i| i == index) else { return };
        let given = &self.saves.list[index as usize];
        for &since in &saves[place + 1..] {
            let save = &self.saves.list[since as usize];
            let pairs =
                given.pieces.iter().flat_map(|old| save.pieces.iter().map(move |new| (old, new)));
            for (old, new) in pairs.filter(|(old, new)| old.cell.write == new.cell.write) {
                let offset = old.span.offset.max(new.span.offset);
                let end = old.span.end().min(new.span.end());
                if offset < end {
                    let both = RegSpan { offset, size: end - offset };
                    registers.set_pending(both, save.store.access);
                }
            }
        }
    }

    /// The access at `seq` was the end of a save of an instance of `owner`.
    pub fn met(&mut self, owner: &mut Thread, index: u32, met: Met, seq: u64) {
        let Some(depth) = owner.calls.find(self.saves.call(index)) else { return };
        if met == Met::Read && !self.saves.list[index as usize].store.inherited {
            self.saves.list[index as usize].exposed = Seq::new(seq);
            self.expose(owner, depth, index, seq);
        }
        self.drop_save(owner, depth, index);
    }

    /// Something other than a restore has read what a save stored, the step `seq`: now the save's read
    /// of the register counts.
    #[cold]
    fn expose(&mut self, owner: &mut Thread, depth: usize, index: u32, seq: u64) {
        let store = self.saves.list[index as usize].store;
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
        let reader = owner.calls.frames()[depth].function;
        for (cell, row) in rows.iter().filter(|_| self.options.gives_instances()) {
            let writer = self.sums.function(cell.actor(StackSide::Below)).writer();
            let is_local = cell.writer(StackSide::Below) == own;
            self.output.late(Late { row: *row, reader, writer, is_local });
        }
        let asked = |cell: &Cell| all || cell.writer(StackSide::Below) != own;
        if self.options.gives_communications() && store.kept {
            let rows = rows.into_iter().filter(|(cell, _)| asked(cell));
            let known = Seq::new(seq).map(|seq| AccessRef { seq, ordinal: u16::MAX });
            self.scratch.rows.extend(rows.map(|(_, row)| (known.unwrap_or(row.read), row)));
        }
        self.note_exposed(owner, depth, &pieces);
        self.saves.list[index as usize].pieces = pieces;
    }

    /// A save ends before its instance, which is at `depth` of its thread's stack.
    fn drop_save(&mut self, owner: &mut Thread, depth: usize, index: u32) {
        let activation = &mut owner.calls.frame_mut(depth).payload;
        let Some(place) = activation.saves.iter().rposition(|&i| i == index) else { return };
        activation.saves.remove(place);
        let live = activation.saves.iter().map(|&i| &self.saves.list[i as usize]);
        activation.save_mask = live.fold(0, |m, s| m | mask(s.store.register));
        // What was pending before it is so for the saves behind it: of this instance, and of those
        // that it has called since; of any registers that have bytes of it.
        let pieces = std::mem::take(&mut self.saves.list[index as usize].pieces);
        let store = self.saves.list[index as usize].store;
        let mut place = place;
        for frame in &owner.calls.frames()[depth..] {
            let saves = &frame.payload.saves[place.min(frame.payload.saves.len())..];
            place = 0;
            for &behind in saves {
                pass_on(&mut self.saves.list[behind as usize].pieces, &pieces, store.access);
            }
        }
        self.saves.list[index as usize].pieces = pieces;
        self.end_save(&mut owner.registers, index, None);
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
        let (place, reader, len) = (PlaceCode::REGISTER, save.store.actor, u64::from(span.size));
        // If the version is still there, the instance has read it now.
        owner.registers.visit(span, |readers, key, _, c| {
            if c.write == cell.write {
                readers.note(c, key, call, &|_| true);
            }
        });
        let writer = cell.actor(StackSide::Below);
        let edge = self.sums.edge(&mut EdgeHint::default(), writer, reader, place);
        self.sums.touch(edge.pair, place, owner.mark, u64::from(span.offset), len);
        self.sums.add(edge, len, unique, u64::from(first));
        if !self.options.gives_instances() {
            return;
        }
        let (writer_function, hint) = (self.sums.function(writer), &mut FlowHint::default());
        let flows = &mut owner.calls.frame_mut(depth).payload.flows;
        let flow = flows.entry(hint, cell.writer(StackSide::Below), place, || writer_function);
        flow.bytes += len;
        flow.unique += unique;
        flow.transfers += u64::from(first);
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

    /// A save ends; `stays`: what it stored is there for others, from a step on.
    pub fn end_save(
        &mut self,
        registers: &mut Registers,
        index: u32,
        stays: Option<(ThreadId, u64)>,
    ) {
        let save = &self.saves.list[index as usize];
        let store = save.store;
        for piece in &save.pieces {
            registers.end_pending(piece.span, store.access, piece.pending);
        }
        let left = stays.filter(|_| store.across != 0).map(|from| (Left::of(save), from));
        self.saves.by_store.remove(store.access);
        if let Some((left, from)) = left {
            self.leave_behind(left, from);
            self.saves.free.push(index);
            return;
        }
        let save = &self.saves.list[index as usize];
        // One that the parent made has a row there; here only what gives a register back from it.
        let is_told = !store.inherited || save.restores > 0;
        if self.options.gives_instances()
            && is_told
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

/// Number of the exception at which a handler saves, if it was taken after all that is saved was
/// written; of its callees only outside of their frames.
fn saved_from(thread: &mut Thread, store: &Store) -> u64 {
    let Thread { calls, registers, levels, .. } = thread;
    let Handler::Begun(depth, first) = levels.handler else { return 0 };
    let mut before = !store.framed || depth + 1 == calls.frames().len();
    registers.visit(store.register, |_, _, _, cell| {
        let writer = cell.call.writer::<CallId>();
        before &= !cell.is_written() || writer.is_none_or(|call| call < first);
    });
    levels.open.last().filter(|_| before).map_or(0, |interrupted| interrupted.task)
}

/// Every byte of the register was last written by another instance than `call`, or never.
fn is_foreign(registers: &mut Registers, call: CallId, span: RegSpan) -> bool {
    let mut foreign = true;
    registers.visit(span, |_, _, _, cell| {
        foreign &= !cell.is_written() || cell.call != Packed::step(call);
    });
    foreign
}
