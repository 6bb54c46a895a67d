//! Shadow storage: for every byte of memory and of the registers, who wrote it last and who has
//! read that since.
//!
//! Bytes are kept in words of [`WORD`] bytes while all of a word's bytes agree, and split into one
//! cell a byte on demand; a write that covers a whole word joins it again.

use super::calls::CallSet;
use super::origin::{Packed, StackSide};
use crate::event::RegSpan;
use crate::id::{AccessRef, ActorId, CallId, Seq};
use rustc_hash::FxHashMap;

/// Bytes of a word: four, because 4-byte objects are as common as pointers and a pointer is but two
/// words.
pub const WORD: u64 = 4;

/// A write access in 64 bits: `seq << 16 | ordinal` of a step's, 0 for none, [`KERNEL_WRITE`] and a
/// number for one of the kernel's.
pub type AccessId = u64;

/// Marks the writes that no step made.
pub const KERNEL_WRITE: AccessId = 1 << 63;

/// Marks writes of registers whose step is not known, as nothing asks for it: see
/// [`RegisterWindow`](super::register_window::RegisterWindow).
pub const RECENT_WRITE: AccessId = 1 << 62;

#[inline]
pub fn access_id(seq: u64, ordinal: u16) -> AccessId {
    debug_assert!(seq << 16 >> 16 == seq && seq << 16 < RECENT_WRITE, "step {seq} fits no access");
    seq << 16 | u64::from(ordinal)
}

/// The access of a step.
#[inline]
pub fn access(id: AccessId) -> Option<AccessRef> {
    if id >= RECENT_WRITE {
        return None;
    }
    let seq = Seq::new(id >> 16)?;
    Some(AccessRef { seq, ordinal: (id & 0xffff) as u16 })
}

/// State of one byte, or of a word whose bytes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The last write; 0 if there was none.
    pub write: AccessId,
    /// Call instance of the last write, or its source if no step made it.
    pub call: Packed,
    /// Who wrote last, with [`Cell::SLOT`] and [`Cell::SAVE`]; [`Cell::SPLIT`] marks a split word.
    pub actor: u32,
    /// The call instance that read this version last, 0 if none, with [`Cell::MORE`] if live
    /// earlier ones stand in [`Readers`].
    pub reader: u32,
    /// Function pair that counted this cell's address last (an index, 0 if none); outlives
    /// versions.
    pub pair: u32,
}

impl Cell {
    pub const EMPTY: Cell = Cell { write: 0, call: Packed::NONE, actor: 0, reader: 0, pair: 0 };
    /// Not a dead write if unread: a return address, a save, what a copy or the kernel wrote.
    pub const SLOT: u32 = 1 << 31;
    /// Written by a save: look it up before reading.
    pub const SAVE: u32 = 1 << 30;
    /// In `actor`: this word is split, `write` is the index of its bytes.
    pub const SPLIT: u32 = u32::MAX;
    /// In `reader`: there are more readers.
    pub const MORE: u32 = 1 << 31;
    const ACTOR: u32 = !(Cell::SLOT | Cell::SAVE);

    /// A version that a step writes.
    #[inline]
    pub fn written(write: AccessId, call: CallId, actor: ActorId) -> Cell {
        debug_assert!(write != 0, "0 is no write");
        debug_assert!(actor.get() & !Cell::ACTOR == 0, "an actor has no bit of a mark");
        Cell { write, call: Packed::step(call), actor: actor.get(), reader: 0, pair: 0 }
    }

    #[inline]
    pub fn is_written(&self) -> bool {
        self.write != 0
    }

    /// Written by a save that may be live.
    #[inline]
    pub fn is_saved(&self) -> bool {
        self.actor & Cell::SAVE != 0 && self.write != 0
    }

    #[inline]
    pub fn is_split(&self) -> bool {
        self.actor == Cell::SPLIT
    }

    /// Its last write, if a step or the kernel made one, is dead if it ends now.
    #[inline]
    fn is_unread(&self) -> bool {
        self.reader == 0 && self.write != 0
    }

    /// Another version may take its place without more: it is not split, no save, and has no readers
    /// in [`Readers`].
    #[inline]
    pub fn is_plain(&self) -> bool {
        // A split word has all bits of `actor` set.
        self.actor & Cell::SAVE == 0 && self.reader & Cell::MORE == 0
    }

    /// Whether an instance other than the last reader has not read it yet, for all that the cell
    /// tells: those that have ended do not read again.
    #[inline]
    pub fn is_first_read(&self, ended: &CallSet) -> bool {
        CallId::new(self.reader)
            .is_none_or(|last| self.reader & Cell::MORE == 0 && ended.contains(last))
    }

    /// Whose write is dead if it is not read.
    #[inline]
    pub fn dead_writer(&self) -> Option<ActorId> {
        if self.actor & Cell::SLOT != 0 { None } else { ActorId::new(self.actor & Cell::ACTOR) }
    }

    /// Actor or source of the last write; where there was none, `side` of the first stack pointer.
    #[inline]
    pub fn actor(&self, side: StackSide) -> Packed {
        if self.write == 0 {
            Packed::initial(side)
        } else if self.call.is_step() {
            Packed::raw(self.actor & Cell::ACTOR)
        } else {
            self.call
        }
    }

    /// Call instance or source of the last write.
    #[inline]
    pub fn writer(&self, side: StackSide) -> Packed {
        if self.write == 0 { Packed::initial(side) } else { self.call }
    }

    /// The same version, not read by anybody.
    pub fn unread(self) -> Cell {
        Cell { reader: 0, pair: 0, ..self }
    }
}

/// The live instances that have read a version before the last one that did, which may be among
/// them, by the key of its byte or word.
#[derive(Default)]
pub struct Readers(FxHashMap<u64, Vec<u32>>);

impl Readers {
    /// Notes that `call` read this version; true if it had not before. `alive` tells whether an
    /// instance is still live: only those can read again.
    #[inline]
    pub fn note(
        &mut self,
        cell: &mut Cell,
        key: u64,
        call: CallId,
        alive: &impl Fn(CallId) -> bool,
    ) -> bool {
        let last = cell.reader & !Cell::MORE;
        if last == call.get() {
            return false;
        }
        if last == 0 {
            cell.reader = call.get();
            return true;
        }
        self.note_other(cell, key, call.get(), &|c| CallId::new(c).is_some_and(alive))
    }

    #[cold]
    fn note_other(
        &mut self,
        cell: &mut Cell,
        key: u64,
        call: u32,
        alive: &impl Fn(u32) -> bool,
    ) -> bool {
        let last = cell.reader & !Cell::MORE;
        let mut more = cell.reader & Cell::MORE;
        debug_assert!(!cell.is_split(), "a split word has no readers");
        if more != 0 {
            let list = self.0.entry(key).or_default();
            debug_assert!(list.is_sorted(), "readers are searched by their order");
            let known = list.binary_search(&call).is_ok();
            add_reader(list, last, alive);
            if known {
                // It stays in the list, and is the last one as well: it most likely reads again.
                cell.reader = call | more;
                return false;
            }
        } else if alive(last) {
            self.0.entry(key).or_default().push(last);
            more = Cell::MORE;
        }
        cell.reader = call | more;
        true
    }

    /// Whether `call` has read this version.
    pub fn has_read(&self, cell: &Cell, key: u64, call: CallId) -> bool {
        cell.reader & !Cell::MORE == call.get()
            || (cell.reader & Cell::MORE != 0
                && self.0.get(&key).is_some_and(|l| l.binary_search(&call.get()).is_ok()))
    }

    /// Those before the last one.
    pub fn of(&self, cell: &Cell, key: u64) -> Vec<u32> {
        if cell.reader & Cell::MORE == 0 {
            Vec::new()
        } else {
            self.0.get(&key).cloned().unwrap_or_default()
        }
    }

    /// Of a version that has just begun, and has none.
    pub fn set(&mut self, key: u64, list: Vec<u32>) {
        debug_assert!(list.is_sorted(), "readers are searched by their order");
        if !list.is_empty() {
            self.0.insert(key, list);
        }
    }

    /// A version ends.
    #[inline]
    fn forget(&mut self, cell: &Cell, key: u64) {
        if cell.reader & Cell::MORE != 0 {
            self.0.remove(&key);
        }
    }
}

/// Adds a reader to a list in order of ids. Those that have ended go when it would grow: it costs
/// the same for each reader, however deep the calls are nested.
fn add_reader(list: &mut Vec<u32>, reader: u32, alive: &impl Fn(u32) -> bool) {
    if !alive(reader) {
        return;
    }
    if list.len() == list.capacity() {
        list.retain(|&c| alive(c));
        list.reserve(list.len().max(4));
    }
    if let Err(place) = list.binary_search(&reader) {
        list.insert(place, reader);
    }
}

/// Cells of one access, the bytes of each, and where their readers are.
pub type Whole<'a> = (&'a mut [Cell], u64, &'a mut Readers);

/// Split words and readers: of all pages of memory, or of a thread's registers.
#[derive(Default)]
pub struct Pools {
    split: Vec<[Cell; WORD as usize]>,
    free: Vec<u32>,
    readers: Readers,
}

impl Pools {
    fn split(&mut self, cell: &mut Cell, key: u64) -> usize {
        if cell.actor == Cell::SPLIT {
            return cell.write as usize;
        }
        let bytes = [*cell; WORD as usize];
        if cell.reader & Cell::MORE != 0
            && let Some(list) = self.readers.0.remove(&key)
        {
            for i in 0..WORD {
                self.readers.0.insert(key + i, list.clone());
            }
        }
        let index = match self.free.pop() {
            Some(i) => {
                self.split[i as usize] = bytes;
                i as usize
            }
            None => {
                self.split.push(bytes);
                self.split.len() - 1
            }
        };
        *cell = Cell { write: index as u64, actor: Cell::SPLIT, ..Cell::EMPTY };
        index
    }

    /// The cell of a byte of a word.
    pub fn byte(&self, word: &Cell, byte: u64) -> Cell {
        if word.actor == Cell::SPLIT {
            self.split[word.write as usize][byte as usize]
        } else {
            *word
        }
    }

    /// The cells of `[start, start + len)` if they may be read there without splitting: whole
    /// words, or bytes of a split word.
    #[inline(always)]
    pub fn whole<'a>(
        &'a mut self,
        words: &'a mut [Cell],
        start: u64,
        len: u64,
    ) -> Option<Whole<'a>> {
        if start.is_multiple_of(WORD) && len.is_multiple_of(WORD) {
            let (from, to) = (start / WORD, (start + len) / WORD);
            let cells = words.get_mut(from as usize..to as usize)?;
            return Some((cells, WORD, &mut self.readers));
        }
        let (word, byte) = (&words[(start / WORD) as usize], start % WORD);
        if word.actor != Cell::SPLIT {
            return None;
        }
        let bytes = &mut self.split[word.write as usize];
        let cells = bytes.get_mut(byte as usize..(byte + len) as usize)?;
        Some((cells, 1, &mut self.readers))
    }

    /// Visits the cells of `[start, start + len)` (offsets in `words`, `base` is the key of offset
    /// 0) as (readers, key, length, cell). Words that are covered in part are split first, so that
    /// the visitor may change what it sees.
    #[inline]
    pub fn visit(
        &mut self,
        words: &mut [Cell],
        base: u64,
        start: u64,
        len: u64,
        mut f: impl FnMut(&mut Readers, u64, u64, &mut Cell),
    ) {
        let mut at = start;
        let end = start + len;
        while at < end {
            let low = at % WORD;
            let high = (end - (at - low)).min(WORD);
            let cell = &mut words[(at / WORD) as usize];
            let word_key = base.wrapping_add(at - low);
            if low == 0 && high == WORD && cell.actor != Cell::SPLIT {
                f(&mut self.readers, word_key, WORD, cell);
            } else {
                let slot = self.split(cell, word_key);
                for i in low..high {
                    f(&mut self.readers, word_key + i, 1, &mut self.split[slot][i as usize]);
                }
            }
            at += high - low;
        }
    }

    /// Makes `[start, start + len)` a new version. `dead` is told of unread bytes that it replaces.
    #[inline]
    pub fn write(
        &mut self,
        words: &mut [Cell],
        base: u64,
        start: u64,
        len: u64,
        new: Cell,
        mut dead: impl FnMut(&Cell, u64),
    ) {
        debug_assert!(!new.is_split(), "a version is of a word or a byte");
        debug_assert!(base.is_multiple_of(WORD), "words are aligned");
        let mut at = start;
        let end = start + len;
        while at < end {
            let low = at % WORD;
            let high = (end - (at - low)).min(WORD);
            let cell = &mut words[(at / WORD) as usize];
            let word_key = base.wrapping_add(at - low);
            if low == 0 && high == WORD {
                self.write_word(cell, word_key, new, &mut dead);
            } else {
                self.write_bytes(cell, word_key, low..high, new, &mut dead);
            }
            at += high - low;
        }
    }

    #[inline]
    fn write_word(
        &mut self,
        cell: &mut Cell,
        key: u64,
        new: Cell,
        dead: &mut impl FnMut(&Cell, u64),
    ) {
        if cell.actor != Cell::SPLIT {
            if cell.is_unread() {
                dead(cell, WORD);
            } else {
                self.readers.forget(cell, key);
            }
            *cell = Cell { pair: cell.pair, ..new };
            return;
        }
        let slot = cell.write as usize;
        for i in 0..WORD {
            let byte = self.split[slot][i as usize];
            if byte.is_unread() {
                dead(&byte, 1);
            }
            self.readers.forget(&byte, key + i);
        }
        debug_assert!(self.free.last() != Some(&(slot as u32)), "a split word is given back once");
        // The pair is a cache; keep it only where the bytes agree.
        let pair = self.split[slot][0].pair;
        let agree = self.split[slot].iter().all(|b| b.pair == pair);
        self.free.push(slot as u32);
        *cell = Cell { pair: if agree { pair } else { 0 }, ..new };
    }

    #[inline]
    fn write_bytes(
        &mut self,
        cell: &mut Cell,
        key: u64,
        bytes: std::ops::Range<u64>,
        new: Cell,
        dead: &mut impl FnMut(&Cell, u64),
    ) {
        let slot = self.split(cell, key);
        for i in bytes {
            let byte = self.split[slot][i as usize];
            if byte.is_unread() {
                dead(&byte, 1);
            }
            self.readers.forget(&byte, key + i);
            self.split[slot][i as usize] = Cell { pair: byte.pair, ..new };
        }
    }

    /// Visits every written and unread cell, for the dead bytes at the end.
    pub fn unread(&self, words: &[Cell], mut f: impl FnMut(&Cell, u64)) {
        for cell in words {
            if cell.actor == Cell::SPLIT {
                self.split[cell.write as usize]
                    .iter()
                    .filter(|byte| byte.is_unread())
                    .for_each(|byte| f(byte, 1));
            } else if cell.is_unread() {
                f(cell, WORD);
            }
        }
    }
}

/// A register that consists of whole words, all of one group of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    first: u16,
    /// 0 if it does not.
    len: u16,
    /// A bit each, in the group.
    mask: u64,
}

impl Words {
    pub fn new(span: RegSpan) -> Words {
        let word = WORD as u16;
        let (first, len) = (span.offset / word, span.size / word);
        let whole = (span.offset | span.size).is_multiple_of(word);
        if !whole || len == 0 || first % 64 + len > 64 {
            return Words { first, len: 0, mask: 0 };
        }
        Words { first, len, mask: (u64::MAX >> (64 - len)) << (first % 64) }
    }
}

/// The registers of a thread.
pub struct Registers {
    cells: Vec<Cell>,
    pools: Pools,
    /// Per byte: store of the live save of its version, 0 if none.
    pending: Vec<AccessId>,
    /// A bit a word: `pending` may have anything there.
    pending_words: Vec<u64>,
    /// A bit a word: the saves in `pending` know that the instance on top has read it.
    noted_words: Vec<u64>,
}

impl Registers {
    /// A register file of so many bytes.
    pub fn new(bytes: usize) -> Registers {
        Registers {
            cells: vec![Cell::EMPTY; bytes.div_ceil(WORD as usize)],
            pools: Pools::default(),
            pending: vec![0; bytes.next_multiple_of(WORD as usize)],
            pending_words: vec![0; bytes.div_ceil(64 * WORD as usize) + 1],
            noted_words: vec![0; bytes.div_ceil(64 * WORD as usize) + 1],
        }
    }

    /// Bytes of the register file, in whole words.
    pub fn bytes(&self) -> usize {
        self.pending.len()
    }

    #[inline]
    pub fn shadow(&mut self) -> (&mut Pools, &mut [Cell]) {
        (&mut self.pools, &mut self.cells)
    }

    /// Visits the cells of a register as (readers, offset, length, cell).
    #[inline]
    pub fn visit(&mut self, span: RegSpan, f: impl FnMut(&mut Readers, u64, u64, &mut Cell)) {
        let (start, len) = (u64::from(span.offset), u64::from(span.size));
        self.pools.visit(&mut self.cells, 0, start, len, f);
    }

    /// Visits the cells of a register as (readers, bytes, cell, store of the live save of the first
    /// byte's version).
    pub fn visit_pending(
        &mut self,
        span: RegSpan,
        mut f: impl FnMut(&mut Readers, RegSpan, &mut Cell, AccessId),
    ) {
        let (start, len, pending) = (u64::from(span.offset), u64::from(span.size), &self.pending);
        self.pools.visit(&mut self.cells, 0, start, len, |readers, offset, n, cell| {
            let span = RegSpan { offset: offset as u16, size: n as u16 };
            f(readers, span, cell, pending[offset as usize]);
        });
    }

    /// The cells of a register that consists of whole words.
    #[inline]
    pub fn aligned(&mut self, span: RegSpan) -> Option<&mut [Cell]> {
        let aligned = (u64::from(span.offset) | u64::from(span.size)).is_multiple_of(WORD);
        if aligned { self.cells.get_mut(words(span)) } else { None }
    }

    /// What whole words hold, if it is one version without readers in [`Readers`] that no live save
    /// has.
    pub fn one_version(&mut self, span: RegSpan) -> Option<Cell> {
        if self.is_pending(span) {
            return None;
        }
        let cells = self.aligned(span)?;
        let first = *cells.first()?;
        let same = |c: &Cell| Cell { pair: 0, ..*c } == Cell { pair: 0, ..first };
        let one = first.actor != Cell::SPLIT && first.reader & Cell::MORE == 0;
        (one && cells.iter().all(same)).then_some(first)
    }

    #[inline]
    pub fn write(&mut self, span: RegSpan, new: Cell) {
        let (start, size) = (u64::from(span.offset), u64::from(span.size));
        let aligned = start % WORD == 0 && size % WORD == 0;
        let simple = aligned && {
            let words = (start / WORD) as usize..((start + size) / WORD) as usize;
            let cells = &mut self.cells[words];
            // Neither split nor with readers in the pool.
            let simple = cells.iter().all(|c| c.actor != Cell::SPLIT && c.reader & Cell::MORE == 0);
            if simple {
                cells.iter_mut().for_each(|c| *c = Cell { pair: c.pair, ..new });
            }
            simple
        };
        if !simple {
            self.pools.write(&mut self.cells, 0, start, size, new, |_, _| {});
        }
        if self.is_pending(span) {
            self.pending[bytes(span)].fill(0);
            if aligned {
                words(span).for_each(|w| self.pending_words[w / 64] &= !(1 << (w % 64)));
            }
        }
    }

    /// Makes both words of the general register at `offset` new versions, or parts of one.
    #[inline(always)]
    pub fn write_words(&mut self, offset: usize, [low, high]: [Cell; 2]) {
        debug_assert!(offset.is_multiple_of(2 * WORD as usize), "general registers are aligned");
        let word = offset / WORD as usize;
        let bits = 3 << (word % 64);
        let simple = |c: &Cell| c.actor != Cell::SPLIT && c.reader & Cell::MORE == 0;
        match self.cells.get_mut(word..word + 2) {
            Some([a, b]) if simple(a) && simple(b) => {
                *a = Cell { pair: a.pair, ..low };
                *b = Cell { pair: b.pair, ..high };
                if self.pending_words[word / 64] & bits != 0 {
                    self.pending[offset..offset + 2 * WORD as usize].fill(0);
                    self.pending_words[word / 64] &= !bits;
                }
            }
            _ => {
                let span = |offset: usize| RegSpan { offset: offset as u16, size: WORD as u16 };
                self.write(span(offset), low);
                self.write(span(offset + WORD as usize), high);
            }
        }
    }

    /// Whether a live save may be pending for any byte of a register.
    #[inline]
    fn is_pending(&self, span: RegSpan) -> bool {
        self.any_pending(span, |word| self.pending_words[word])
    }

    /// The cells of a register of whole words, or of bytes of one word, if no save is to know that
    /// the instance on top has read it. `words`: of the same register.
    #[inline(always)]
    pub fn quiet(&mut self, span: RegSpan, words: Words) -> Option<&mut [Cell]> {
        if words.len == 0 {
            return self.quiet_bytes(span);
        }
        let (group, first) = (usize::from(words.first) / 64, usize::from(words.first));
        let to_note = self.pending_words.get(group)? & !self.noted_words.get(group)? & words.mask;
        match to_note {
            0 => self.cells.get_mut(first..first + usize::from(words.len)),
            _ => None,
        }
    }

    #[inline(never)]
    fn quiet_bytes(&mut self, span: RegSpan) -> Option<&mut [Cell]> {
        let (word, byte) = (span.offset / WORD as u16, span.offset % WORD as u16);
        if span.size == 0 || byte + span.size > WORD as u16 || self.is_to_note(span) {
            return None;
        }
        let key = u64::from(word) * WORD;
        let split = self.pools.split(self.cells.get_mut(usize::from(word))?, key);
        self.pools.split[split].get_mut(byte.into()..(byte + span.size).into())
    }

    /// Whether a live save may be pending for any byte of a register, which is to know that the
    /// instance on top has read it.
    #[inline]
    pub fn is_to_note(&self, span: RegSpan) -> bool {
        self.any_pending(span, |word| self.pending_words[word] & !self.noted_words[word])
    }

    /// Whether any bit of a register's words is set, of those that `bits` gives.
    #[inline(always)]
    fn any_pending(&self, span: RegSpan, bits: impl Fn(usize) -> u64) -> bool {
        let first = usize::from(span.offset) / WORD as usize;
        let last = (usize::from(span.offset) + usize::from(span.size.max(1)) - 1) / WORD as usize;
        if first / 64 == last / 64 {
            return bits(first / 64) & (u64::MAX >> (63 - (last - first))) << (first % 64) != 0;
        }
        (first / 64..=last / 64).any(|group| bits(group) != 0)
    }

    /// The saves in [`Registers::pending`] know that the instance on top has read a register.
    pub fn set_noted(&mut self, span: RegSpan) {
        // Whole words only.
        let (first, end) =
            (span.offset.div_ceil(4) as usize, (span.offset + span.size) as usize / 4);
        (first..end).for_each(|w| self.noted_words[w / 64] |= 1 << (w % 64));
    }

    /// Another instance is on top.
    #[inline]
    pub fn forget_noted(&mut self) {
        self.noted_words.fill(0);
    }

    /// The live saves of the version of each byte of a register, 0 for none.
    pub fn pending(&self, span: RegSpan) -> &[AccessId] {
        &self.pending[bytes(span)]
    }

    /// `store` saved the version of these bytes.
    #[inline]
    pub fn set_pending(&mut self, span: RegSpan, store: AccessId) {
        self.pending[bytes(span)].fill(store);
        for w in words(span) {
            self.pending_words[w / 64] |= 1 << (w % 64);
            self.noted_words[w / 64] &= !(1 << (w % 64));
        }
    }

    /// The save of `store` has ended: these bytes have the one before.
    pub fn end_pending(&mut self, span: RegSpan, store: AccessId, before: AccessId) {
        self.pending[bytes(span)].iter_mut().filter(|p| **p == store).for_each(|p| *p = before);
    }
}

fn bytes(span: RegSpan) -> std::ops::Range<usize> {
    span.offset as usize..(span.offset + span.size) as usize
}

/// Words that the bytes of a register lie in.
#[inline]
fn words(span: RegSpan) -> std::ops::Range<usize> {
    let (first, end) = (span.offset as u64, (span.offset + span.size) as u64);
    (first / WORD) as usize..end.div_ceil(WORD) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers, and what is known of each of their bytes and words.
    struct Model {
        registers: Registers,
        /// By byte.
        versions: Vec<(AccessId, AccessId)>,
        /// By word: a save may be pending, and the instance on top is known to have read it.
        pending: Vec<bool>,
        noted: Vec<bool>,
    }

    impl Model {
        const BYTES: usize = 600;

        fn new() -> Model {
            let words = Model::BYTES / WORD as usize;
            Model {
                registers: Registers::new(Model::BYTES),
                versions: vec![(0, 0); Model::BYTES],
                pending: vec![false; words],
                noted: vec![false; words],
            }
        }

        fn wrote(&mut self, span: RegSpan, write: AccessId) {
            let may_be_pending = self.pending[words(span)].iter().any(|is| *is);
            for byte in bytes(span) {
                self.versions[byte] =
                    (write, if may_be_pending { 0 } else { self.versions[byte].1 });
            }
            // Bits of whole words only are taken back.
            if (span.offset | span.size).is_multiple_of(WORD as u16) {
                self.pending[words(span)].fill(false);
            }
        }

        fn check(&mut self, span: RegSpan) {
            let mut found = Vec::new();
            self.registers.visit(span, |_, _, n, cell| {
                found.extend(std::iter::repeat_n(cell.write, n as usize));
            });
            let versions = || self.versions[bytes(span)].iter();
            assert_eq!(found, versions().map(|v| v.0).collect::<Vec<_>>(), "{span:?}");
            let pending: Vec<_> = versions().map(|v| v.1).collect();
            assert_eq!(self.registers.pending(span), pending, "{span:?}");
            let to_note = words(span).any(|w| self.pending[w] && !self.noted[w]);
            let is_one_group = words(span).start / 64 == (words(span).end - 1) / 64;
            let is_to_note = self.registers.is_to_note(span);
            // Registers in two groups may be told of when others of these are.
            assert!(is_to_note == to_note || is_to_note && !is_one_group, "{span:?}");
            let is_pending = self.registers.is_pending(span);
            let may_be = words(span).any(|w| self.pending[w]);
            assert!(is_pending == may_be || is_pending && !is_one_group, "{span:?}");
            let aligned = (span.offset | span.size).is_multiple_of(WORD as u16);
            assert_eq!(self.registers.aligned(span).is_some(), aligned);
            let one = self.registers.one_version(span).map(|cell| cell.write);
            let first = self.versions[usize::from(span.offset)].0;
            let same = self.versions[bytes(span)].iter().all(|v| v.0 == first);
            // Split words may hold one version, too.
            assert!(one.is_none_or(|write| write == first && same && aligned && !is_pending));
            let quiet = Words::new(span);
            let bytes_of_a_word = span.offset % WORD as u16 + span.size <= WORD as u16;
            let whole = aligned && is_one_group;
            let found = self.registers.quiet(span, quiet);
            assert_eq!(found.is_some(), !to_note && (whole || bytes_of_a_word), "{span:?}");
            if let Some(cells) = found {
                let unit = if whole { WORD as usize } else { 1 };
                assert_eq!(cells.len() * unit, usize::from(span.size));
                let each: Vec<_> = cells.iter().map(|c| c.write).collect();
                let expected: Vec<_> =
                    self.versions[bytes(span)].iter().step_by(unit).map(|v| v.0).collect();
                if cells.iter().all(|c| !c.is_split()) {
                    assert_eq!(each, expected);
                }
            }
        }
    }

    #[test]
    fn registers_are_as_all_their_bytes() {
        let mut below = crate::analysis::random::below(1);
        for _ in 0..150 {
            let mut model = Model::new();
            for write in 1..100 {
                // Mostly near the place where a group of words ends.
                let base = [0, 216, 488][below(3) as usize];
                let (offset, size) = match below(3) {
                    0 => (base + below(80), 1 + below(20)),
                    1 => (base + 4 * below(20), 4 * (1 + below(5))),
                    _ => (base + 8 * below(10), 8),
                };
                let span = RegSpan { offset: offset as u16, size: size as u16 };
                let cell = |write| Cell { write, ..Cell::EMPTY };
                match below(9) {
                    0 | 1 => {
                        model.registers.write(span, cell(write));
                        model.wrote(span, write);
                    }
                    2 => {
                        let at = offset / 8 * 8;
                        model.registers.write_words(at as usize, [cell(write), cell(write + 1000)]);
                        let word = |offset: u64| RegSpan { offset: offset as u16, size: 4 };
                        model.wrote(word(at), write);
                        model.wrote(word(at + 4), write + 1000);
                    }
                    3 | 4 => {
                        model.registers.set_pending(span, write);
                        bytes(span).for_each(|byte| model.versions[byte].1 = write);
                        model.pending[words(span)].fill(true);
                        model.noted[words(span)].fill(false);
                    }
                    5 => {
                        let store = model.versions[offset as usize].1;
                        model.registers.end_pending(span, store, write);
                        let known = model.versions[bytes(span)].iter_mut();
                        known.filter(|v| v.1 == store).for_each(|v| v.1 = write);
                        // Where nothing was pending nothing ends.
                        if store == 0 {
                            model.registers.set_pending(span, write);
                            bytes(span).for_each(|byte| model.versions[byte].1 = write);
                            model.pending[words(span)].fill(true);
                            model.noted[words(span)].fill(false);
                        }
                    }
                    6 => {
                        model.registers.set_noted(span);
                        let end = (offset + size) / WORD;
                        (offset.div_ceil(WORD)..end).for_each(|w| model.noted[w as usize] = true);
                    }
                    7 if below(4) == 0 => {
                        model.registers.forget_noted();
                        model.noted.fill(false);
                    }
                    _ => {}
                }
                model.check(span);
                let near = RegSpan { offset: (base + below(80)) as u16, size: 1 + below(9) as u16 };
                model.check(near);
            }
        }
    }

    /// Of two words that are written at once a save may be pending for one.
    #[test]
    fn nothing_is_pending_of_words_that_are_written() {
        for word in 0..134 {
            let mut registers = Registers::new(Model::BYTES);
            registers.set_pending(RegSpan { offset: 4 * word, size: 4 }, 5);
            let both = RegSpan { offset: 8 * (word / 2), size: 8 };
            registers.write_words(both.offset.into(), [Cell::EMPTY; 2]);
            assert!(!registers.is_pending(both) && registers.pending(both) == [0; 8], "{word}");
        }
    }

    /// Whoever has read a register reads it again where another save is pending.
    #[test]
    fn each_save_is_to_be_noted() {
        for word in 0..134 {
            let (mut registers, span) =
                (Registers::new(Model::BYTES), RegSpan { offset: 4 * word, size: 4 });
            registers.set_pending(span, 5);
            registers.set_noted(span);
            assert!(!registers.is_to_note(span), "{word}");
            registers.set_pending(span, 6);
            assert!(registers.is_to_note(span), "{word}");
        }
    }

    /// Wherever saves are pending: whoever reads a byte of these words is to note it, and nobody else but in registers
    /// that lie in two groups of words.
    #[test]
    fn what_is_to_note_is_what_is_pending() {
        let word = |w: usize| RegSpan { offset: w as u16 * WORD as u16, size: WORD as u16 };
        for (first, second) in (0..134).flat_map(|w| [(w, w), (w, 0), (w, 64)]) {
            let mut registers = Registers::new(Model::BYTES);
            [first, second].into_iter().for_each(|w| registers.set_pending(word(w), 5));
            for offset in 0..540 {
                for size in [1, 3, 8, 16] {
                    let span = RegSpan { offset, size };
                    let words = words(span);
                    let expected = words.contains(&first) || words.contains(&second);
                    let found = registers.is_to_note(span);
                    let is_one_group = words.start / 64 == (words.end - 1) / 64;
                    assert!(
                        found == expected || found && !is_one_group,
                        "{first} {second} {span:?}"
                    );
                }
            }
        }
    }

    /// Nothing of readers is lost where words are split and joined: a list of each byte's readers says the same.
    #[test]
    fn readers_are_those_of_each_byte() {
        let mut below = crate::analysis::random::below(1);
        const BYTES: usize = 32;
        for _ in 0..60 {
            let mut registers = Registers::new(BYTES);
            let mut model: Vec<(AccessId, Vec<u32>)> = vec![(0, Vec::new()); BYTES];
            for write in 1..200 {
                let offset = below(BYTES as u64 - 8);
                let span = RegSpan { offset: offset as u16, size: 1 + below(8) as u16 };
                if below(4) == 0 {
                    registers.write(span, Cell { write, ..Cell::EMPTY });
                    bytes(span).for_each(|byte| model[byte] = (write, Vec::new()));
                    continue;
                }
                let call = 1 + below(5) as u32;
                registers.visit(span, |readers, key, n, cell| {
                    let call = CallId::new(call).expect("not 0");
                    for byte in key..key + n {
                        let known = model[byte as usize].1.contains(&call.get());
                        assert_eq!(readers.has_read(cell, key, call), known);
                    }
                    let known = model[key as usize].1.contains(&call.get());
                    assert_eq!(readers.note(cell, key, call, &|_| true), !known);
                    for byte in key..key + n {
                        let list = &mut model[byte as usize].1;
                        if !known {
                            list.push(call.get());
                        }
                        let mut found = readers.of(cell, key);
                        assert!(found.is_sorted());
                        found.push(cell.reader & !Cell::MORE);
                        found.sort_unstable();
                        found.dedup();
                        let mut expected = list.clone();
                        expected.sort_unstable();
                        assert_eq!(found, expected);
                    }
                });
            }
        }
    }
}
