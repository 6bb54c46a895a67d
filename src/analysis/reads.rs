//! What a data read does: its bytes' last writers, by version, go into the sums, the flows of the
//! reading instance and the rows of communications.

use super::access::Extent;
use super::data::{Data, Thread};
use super::memory::{PAGE, PageIndex};
use super::operation::Operation;
use super::origin::{Packed, StackSide};
use super::place::PlaceCode;
use super::read_part::Part;
use super::register_window::RegisterRead;
use super::repeated_reads::{Hints, Met, share};
use super::shadow::{AccessId, Cell, Words, access};
use super::sums::{Mark, PairIndex, Sums};
use super::{Communication, Output};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId};

/// A data read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub call: CallId,
    pub access: AccessId,
    pub actor: ActorId,
    pub extent: Extent,
}

#[derive(Clone, Copy, Debug)]
enum Space {
    Memory(PageIndex),
    Register,
}

/// Bytes that lie in one page or register file.
#[derive(Clone, Copy)]
struct Bytes {
    space: Space,
    place: PlaceCode,
    /// Address of offset 0.
    base: u64,
    mark: Mark,
    /// Offset in the page or register file.
    start: u64,
    len: u64,
}

impl Bytes {
    #[inline]
    fn memory((page, place): (PageIndex, PlaceCode), address: u64, len: u64) -> Bytes {
        let (space, base) = (Space::Memory(page), address - address % PAGE);
        Bytes { space, place, base, mark: Mark::memory(base), start: address - base, len }
    }

    /// A pair of functions shares them.
    fn touch(&self, pair: PairIndex, sums: &mut Sums) {
        sums.touch(pair, self.place, self.mark, self.start, self.len);
    }
}

/// Cells and pools of bytes: of memory or of a thread.
macro_rules! shadow {
    ($data:expr, $thread:expr, $space:expr) => {
        match $space {
            Space::Memory(page) => $data.memory.shadow(page),
            Space::Register => $thread.registers.shadow(),
        }
    };
}

impl<O: Output> Data<O> {
    /// A data read of register bytes.
    #[inline]
    pub fn read_register(
        &mut self,
        thread: &mut Thread,
        span: RegSpan,
        read: Read,
        hints: &mut Hints,
    ) {
        if thread.registers.is_to_note(span) {
            self.saves.note_pending_read(&thread.registers, read.call, span);
            thread.registers.set_noted(span);
        }
        let bytes = Bytes {
            space: Space::Register,
            place: PlaceCode::REGISTER,
            base: 0,
            mark: thread.mark,
            start: u64::from(span.offset),
            len: u64::from(span.size),
        };
        match read.extent {
            Extent::Whole => self.read_whole(thread, &bytes, &read, hints),
            _ => self.read_other(thread, &bytes, &read, hints),
        }
    }

    /// A read of one whole access, mostly of what the operation read before.
    #[inline(always)]
    fn read_whole(&mut self, thread: &mut Thread, bytes: &Bytes, read: &Read, hints: &mut Hints) {
        let (pools, words) = shadow!(self, thread, bytes.space);
        if let Some(cells) = pools.whole(words, bytes.start, bytes.len)
            && let Some(again) = hints.read_again(
                cells,
                (bytes.base + bytes.start, bytes.place),
                (read.call, &self.ended),
                |pair| bytes.touch(pair, &mut self.sums),
            )
        {
            self.read_again(thread, bytes, read, again, hints);
            return;
        }
        self.read_other(thread, bytes, read, hints);
    }

    /// A data read of register bytes of which only the function's sums are asked.
    #[inline(always)]
    pub fn read_for_sums(
        &mut self,
        thread: &mut Thread,
        RegisterRead { span, extent, words }: RegisterRead,
        (call, actor): (CallId, ActorId),
        met: &mut Met,
    ) {
        if extent == Extent::Whole
            && let Some(cells) = thread.registers.quiet(span, words)
            && met.read(cells, span, (call, &self.ended, thread.mark), &mut self.sums)
        {
            return;
        }
        let read = Read { call, access: 0, actor, extent };
        self.read_other_for_sums(thread, span, read, met);
    }

    /// A data read of a whole register that gives no row, if it is one version that a step wrote and
    /// no other live instance has read since `call` did.
    #[inline]
    pub fn read_one_version(
        &mut self,
        thread: &mut Thread,
        op: &mut Operation,
        span: RegSpan,
        call: CallId,
    ) -> bool {
        let Some(frame) = thread.calls.top_mut() else { return false };
        let flows = &mut frame.payload.flows;
        let Some(cells) = thread.registers.quiet(span, Words::new(span)) else { return false };
        let Some((&first, rest)) = cells.split_first() else { return false };
        // A split word has all bits of `actor` set.
        let one = first.actor & Cell::SAVE == 0
            && first.is_written()
            && first.call.is_step()
            && rest
                .iter()
                .all(|c| (c.write, c.actor, c.reader) == (first.write, first.actor, first.reader));
        let gives_row = self.options.gives_communications() && first.call != Packed::step(call);
        let is_first = first.reader & !Cell::MORE != call.get();
        if !one
            || gives_row
            || flows.is_nearly_full()
            || is_first && !first.is_first_read(&self.ended)
        {
            return false;
        }
        let (size, place) = (u64::from(span.size), PlaceCode::REGISTER);
        let writer = first.actor(StackSide::Below);
        let hints = &mut op.hints;
        if !hints.again.read_register(first.actor) {
            hints.read_other_register(size, first.actor, (writer, op.actor), &mut self.sums);
        }
        if is_first {
            cells.iter_mut().for_each(|c| c.reader = call.get());
        }
        let pair = hints.edge.pair();
        if cells.iter().any(|c| c.pair != pair) {
            share(cells, pair, (span, thread.mark), &mut self.sums);
        }
        let function = || self.sums.function(writer);
        let flow = flows.entry(&mut hints.flow, first.call, place, function);
        flow.add(size, if is_first { size } else { 0 }, 1);
        true
    }

    #[inline(never)]
    fn read_other_for_sums(
        &mut self,
        thread: &mut Thread,
        span: RegSpan,
        read: Read,
        met: &mut Met,
    ) {
        let hints = &mut Hints::default();
        self.read_register(thread, span, read, hints);
        met.note(hints, &mut self.sums);
    }

    /// The operation has read again what it read before.
    #[inline]
    fn read_again(
        &mut self,
        thread: &mut Thread,
        bytes: &Bytes,
        read: &Read,
        (cell, unique): (Cell, u64),
        hints: &mut Hints,
    ) {
        if self.options.gives_instances() {
            let (address, len) = (bytes.base + bytes.start, bytes.len);
            let (side, edge) = (StackSide::Below, hints.edge.last());
            let part = Part { cell, side, address, len, unique, edge };
            self.count_flow(thread, &part, true, read, bytes.place, hints);
            self.give(&part, read, bytes.space);
        }
    }

    /// The operation reads something else than before.
    #[inline(never)]
    fn read_other(&mut self, thread: &mut Thread, bytes: &Bytes, read: &Read, hints: &mut Hints) {
        hints.flush(bytes.len, &mut self.sums);
        if read.extent != Extent::Whole || !self.read_version(thread, bytes, read, hints) {
            self.read_parts(thread, bytes, read, hints);
        }
    }

    /// A data read of memory; `page` is that of its first byte.
    #[inline]
    pub fn read_memory(
        &mut self,
        thread: &mut Thread,
        page: PageIndex,
        (address, size): (u64, u64),
        read: Read,
        hints: &mut Hints,
    ) {
        let (place, len) = self.memory.reach(page, address, size);
        if len < size {
            self.read_across(thread, (address, size), read, hints);
            return;
        }
        let bytes = Bytes::memory((page, place), address, size);
        self.read_whole(thread, &bytes, &read, hints);
    }

    /// A read of several pages or places: in pieces, one of each, which are one access; what one
    /// write fed on both sides is one communication.
    #[cold]
    fn read_across(
        &mut self,
        thread: &mut Thread,
        (address, size): (u64, u64),
        read: Read,
        hints: &mut Hints,
    ) {
        hints.flush(size, &mut self.sums);
        self.scratch.crossing = true;
        let (mut at, mut left) = (address, size);
        while left > 0 {
            let page = self.memory.page(at);
            let (place, len) = self.memory.reach(page, at, left);
            let bytes = Bytes::memory((page, place), at, len);
            let extent = if at == address { Extent::First } else { Extent::More };
            let read = Read { extent, ..read };
            self.read_parts(thread, &bytes, &read, hints);
            at = at.wrapping_add(len);
            left -= len;
        }
        self.scratch.crossing = false;
        let held = &mut self.scratch.held;
        held.dedup_by(|(next_write, next), (write, row)| {
            let goes_on = next_write == write
                && next.address == row.address.wrapping_add(u64::from(row.bytes));
            if goes_on {
                row.bytes += next.bytes;
            }
            goes_on
        });
        self.scratch.rows.extend(held.drain(..).map(|(_, row)| (row.read, row)));
    }

    /// What nearly every data read is: whole words, or bytes of a split word, that one write made
    /// which is no save. False if it is anything else; then nothing has changed.
    #[inline]
    fn read_version(
        &mut self,
        thread: &mut Thread,
        bytes: &Bytes,
        read: &Read,
        hints: &mut Hints,
    ) -> bool {
        let &Bytes { space, place, base, start, len, .. } = bytes;
        let (pools, words) = shadow!(self, thread, space);
        let Some((cells, unit, _)) = pools.whole(words, start, len) else { return false };
        let first = cells[0];
        // A split word has all bits of `actor` set.
        if first.actor & Cell::SAVE != 0
            || cells.iter().any(|c| c.write != first.write || c.actor != first.actor)
        {
            return false;
        }
        let side = match side(self.first_sp, bytes) {
            _ if first.is_written() => StackSide::Below,
            Some(side) => side,
            None => return false,
        };
        let edge = self.sums.edge(&mut hints.edge, first.actor(side), read.actor, place);
        let pair = edge.pair;
        let call = read.call.get();
        let (mut unique, mut others, mut uncounted) = (0, false, false);
        for cell in cells.iter_mut() {
            if cell.reader & !Cell::MORE != call {
                if cell.is_first_read(&self.ended) {
                    cell.reader = call;
                    unique += unit;
                } else {
                    others = true;
                }
            }
            uncounted |= cell.pair != pair;
            cell.pair = pair;
        }
        if uncounted {
            bytes.touch(pair, &mut self.sums);
        }
        if others {
            unique += self.note_other_readers(thread, bytes, read.call);
        }
        self.sums.add(edge, len, unique, 1);
        hints.read_first(&first, place);
        if self.options.gives_instances() {
            let part = Part { cell: first, side, address: base + start, len, unique, edge };
            self.count_flow(thread, &part, true, read, place, hints);
            self.give(&part, read, space);
        }
        true
    }

    /// Notes the reader of words that other instances have read before; gives the bytes that it had
    /// not read yet.
    #[inline(never)]
    fn note_other_readers(&mut self, thread: &mut Thread, bytes: &Bytes, call: CallId) -> u64 {
        let (pools, words) = shadow!(self, thread, bytes.space);
        let ended = &self.ended;
        let mut unique = 0;
        pools.visit(words, bytes.base, bytes.start, bytes.len, |readers, key, n, cell| {
            if readers.note(cell, key, call, &|c| !ended.contains(c)) {
                unique += n;
            }
        });
        unique
    }

    /// A data read of bytes that several writes may have made.
    fn read_parts(&mut self, thread: &mut Thread, bytes: &Bytes, read: &Read, hints: &mut Hints) {
        let mut parts = std::mem::take(&mut self.scratch.parts);
        parts.clear();
        self.find_parts(thread, bytes, read, hints, &mut parts);
        if read.extent != Extent::More {
            self.scratch.fed_by.clear();
        }
        let many = read.extent != Extent::Whole || parts.len() > 1;
        for part in &parts {
            let first = !many || self.is_first(part, bytes.place);
            self.sums.add(part.edge, part.len, part.unique, u64::from(first));
            if self.options.gives_instances() {
                self.count_flow(thread, part, first, read, bytes.place, hints);
                self.give(part, read, bytes.space);
            }
        }
        if let [first, rest @ ..] = &parts[..]
            && !many_writers(first, rest)
            && read.extent == Extent::Whole
        {
            hints.read_first(&first.cell, bytes.place);
        }
        let saved = parts.iter().filter(|p| p.cell.is_saved());
        saved.for_each(|p| self.saves.read(p.cell.write));
        self.scratch.parts = parts;
    }

    /// The parts of a read, each of one version, with the bytes that the instance had not read; the
    /// cells know their reader and pair then.
    fn find_parts(
        &mut self,
        thread: &mut Thread,
        bytes: &Bytes,
        read: &Read,
        hints: &mut Hints,
        parts: &mut Vec<Part>,
    ) {
        let &Bytes { space, place, base, mark, start, len } = bytes;
        let first_sp = self.first_sp.unwrap_or(u64::MAX);
        let (pools, words) = shadow!(self, thread, space);
        let (sums, ended) = (&mut self.sums, &self.ended);
        pools.visit(words, base, start, len, |readers, address, n, cell| {
            let new = readers.note(cell, address, read.call, &|c| !ended.contains(c));
            let unique = if new { n } else { 0 };
            let above = !cell.is_written() && place.is_region() && address >= first_sp;
            let side = if above { StackSide::Above } else { StackSide::Below };
            let part = match parts.last_mut() {
                Some(p) if p.cell.write == cell.write && p.side == side => {
                    p.len += n;
                    p.unique += unique;
                    p
                }
                _ => {
                    let writer = cell.actor(side);
                    let edge = sums.edge(&mut hints.edge, writer, read.actor, place);
                    parts.push(Part { cell: *cell, side, address, len: n, unique, edge });
                    let last = parts.len() - 1;
                    &mut parts[last]
                }
            };
            if cell.pair != part.edge.pair {
                cell.pair = part.edge.pair;
                sums.touch(part.edge.pair, place, mark, address - base, n);
            }
        });
    }

    /// The access has not read anything of this write before.
    fn is_first(&mut self, part: &Part, place: PlaceCode) -> bool {
        // The pages of one access outside of the sections are of one region.
        let of =
            if part.cell.is_written() || place.is_region() { PlaceCode::REGISTER } else { place };
        let source = (part.cell.write, of, part.side);
        let first = !self.scratch.fed_by.contains(&source);
        self.scratch.fed_by.push(source);
        first
    }

    /// Adds a part to the flows into the reading instance. `first`: it is a transfer of its own.
    #[inline]
    fn count_flow(
        &mut self,
        thread: &mut Thread,
        part: &Part,
        first: bool,
        read: &Read,
        place: PlaceCode,
        hints: &mut Hints,
    ) {
        let Some(frame) = thread.calls.top_mut() else { return };
        let (sums, writer) = (&self.sums, part.cell.actor(part.side));
        let activation = &mut frame.payload;
        let flow =
            activation.flows.entry(&mut hints.flow, part.writer(), place, || sums.function(writer));
        flow.bytes += part.len;
        flow.unique += part.unique;
        flow.transfers += u64::from(first);
        if activation.flows.is_full() {
            let (reader, flows) = ((read.call, frame.function), &mut activation.flows);
            let (sums, memory) = (&mut self.sums, &mut self.memory);
            self.stubs.read(reader, flows);
            self.by_context.read(reader.0, flows);
            activation.bytes_in +=
                self.hand_out.part(flows, reader, sums, memory, &mut self.output);
        }
    }

    /// Gives a row of communication, if it is asked for.
    #[inline]
    fn give(&mut self, part: &Part, read: &Read, space: Space) {
        let is_local = part.writer() == Packed::step(read.call);
        let asked = self.options.gives_communications() && self.kept.now();
        if !asked || (is_local && !self.gives_local()) {
            return;
        }
        let Some(reader) = access(read.access) else { return };
        let row = Communication {
            write: part.origin(),
            read: reader,
            is_register: matches!(space, Space::Register),
            address: part.address,
            bytes: part.len as u32,
        };
        if self.scratch.crossing {
            self.scratch.held.push((part.cell.write, row));
        } else {
            self.scratch.rows.push((row.read, row));
        }
    }

    /// Hands out the rows of the segment that ran, in the order in which they were known: it is the
    /// same wherever a segment ends.
    pub fn hand_out_rows(&mut self) {
        let rows = &mut self.scratch.rows;
        if !rows.is_sorted_by_key(|(known, _)| *known) {
            rows.sort_by_key(|(known, _)| *known);
        }
        rows.drain(..).for_each(|(_, row)| self.output.communication(row));
    }
}

/// Not all parts of a read are by one writer.
fn many_writers(first: &Part, rest: &[Part]) -> bool {
    rest.iter().any(|p| p.cell.actor != first.cell.actor || p.edge != first.edge)
}

/// On which side of the first stack pointer unwritten bytes lie; None if on both.
#[inline]
fn side(first_sp: Option<u64>, bytes: &Bytes) -> Option<StackSide> {
    let first_sp = first_sp.unwrap_or(u64::MAX);
    let from = bytes.base.wrapping_add(bytes.start);
    if !bytes.place.is_region() || from.saturating_add(bytes.len) <= first_sp {
        Some(StackSide::Below)
    } else if from >= first_sp {
        Some(StackSide::Above)
    } else {
        None
    }
}
