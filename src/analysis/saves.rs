//! The live saves of registers and what each of them keeps; [`super::restores`] says what the pass
//! does with them.
//!
//! A save's own read of its register counts late, if at all: when it is exposed. So a live save
//! keeps a copy of the register's cells as they were. A save that is exposed, or whose bytes are all
//! overwritten, can be neither restored nor exposed any more and is dropped: so an instance that
//! lives long, as the loop of an interpreter does, has no more of them than its frame has room for.

use super::shadow::{AccessId, Cell, Registers};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId, Seq};
use std::collections::VecDeque;

/// Bytes of a register as they were when saved.
#[derive(Clone, Debug)]
pub struct Piece {
    pub(super) span: RegSpan,
    pub(super) cell: Cell,
    /// Store of the save of the same version that was pending before.
    pub(super) pending: AccessId,
    pub(super) readers: Vec<u32>,
    /// The saving instance had read this version when it saved.
    pub(super) seen: bool,
}

impl Piece {
    /// Takes in the piece behind it, if it is the same but for its place.
    pub(super) fn goes_on(&mut self, next: &Piece) -> bool {
        let same = next.span.offset == self.span.offset + self.span.size
            && Cell { pair: 0, ..next.cell } == Cell { pair: 0, ..self.cell }
            && (next.pending, next.seen) == (self.pending, self.seen)
            && self.readers.is_empty()
            && next.readers.is_empty();
        if same {
            self.span.size += next.span.size;
        }
        same
    }
}

/// A store that may be a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    pub call: CallId,
    pub register: RegSpan,
    pub address: u64,
    pub access: AccessId,
    /// Ordinal of its read of the register.
    pub read: u16,
    pub actor: ActorId,
    pub value: Option<u64>,
    /// Its step is kept.
    pub kept: bool,
    /// It lies in the frame of its instance, which ends with it.
    pub framed: bool,
    /// Of a handler that saves what it interrupted: number of that exception, else 0.
    pub across: u64,
    /// The process that this one was forked from has made it: what it read counts there.
    pub inherited: bool,
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
pub struct Save {
    pub(super) store: Store,
    pub(super) pieces: Vec<Piece>,
    /// Bytes of the saved version that the saving instance read otherwise after the save.
    pub(super) read_otherwise: u64,
    pub(super) restores: u32,
    pub(super) last_restore: Option<Seq>,
    pub(super) exposed: Option<Seq>,
    /// Bytes that stand where it stored them.
    pub(super) left: u16,
}

/// What an access does to a live save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// It reads some of its bytes, and is no restore.
    Read,
    /// It overwrites the last of them.
    Overwritten,
}

impl Save {
    /// Bit of a byte of the register in `read_otherwise`.
    pub(super) fn bit(&self, byte: u16) -> u64 {
        1 << (byte - self.store.register.offset).min(63)
    }
}

/// The live saves by their stores, in the order of these, which is that of time: a save mostly ends
/// before those that began before it.
#[derive(Default)]
pub struct ByStore {
    /// (store, save), [`ByStore::ENDED`] if it has ended.
    list: Vec<(AccessId, u32)>,
    ended: usize,
}

impl ByStore {
    const ENDED: u32 = u32::MAX;
    /// So many may have ended without leaving the list.
    const SPARE: usize = 64;

    #[inline]
    pub fn get(&self, store: AccessId) -> Option<u32> {
        self.place(store).ok().map(|place| self.list[place].1).filter(|&save| save != Self::ENDED)
    }

    #[inline]
    fn place(&self, store: AccessId) -> Result<usize, usize> {
        match self.list.last() {
            Some(last) if last.0 == store => Ok(self.list.len() - 1),
            Some(last) if last.0 > store => self.list.binary_search_by_key(&store, |live| live.0),
            _ => Err(self.list.len()),
        }
    }

    /// A store is a save once.
    fn insert(&mut self, store: AccessId, save: u32) {
        let (Ok(place) | Err(place)) = self.place(store);
        self.list.insert(place, (store, save));
    }

    pub fn remove(&mut self, store: AccessId) {
        let Ok(place) = self.place(store) else { return };
        self.ended +=
            usize::from(std::mem::replace(&mut self.list[place].1, Self::ENDED) != Self::ENDED);
        while self.list.pop_if(|(_, save)| *save == Self::ENDED).is_some() {
            self.ended -= 1;
        }
        if self.ended > self.list.len() / 2 + Self::SPARE {
            self.list.retain(|(_, save)| *save != Self::ENDED);
            self.ended = 0;
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.list.len() - self.ended
    }
}

/// The live saves.
#[derive(Default)]
pub struct Saves {
    pub(super) list: Vec<Save>,
    pub(super) free: Vec<u32>,
    pub(super) by_store: ByStore,
    /// Those that the current access is the end of.
    met: VecDeque<(u32, Met)>,
    /// A store that no live save has made.
    other: AccessId,
}

impl Saves {
    /// Something other than a restore read what `store` wrote.
    pub fn read(&mut self, store: AccessId) {
        if let Some(save) = self.by_store.get(store) {
            self.met.push_back((save, Met::Read));
        }
    }

    /// `bytes` of what `store` wrote, which may have been a save, are overwritten.
    pub fn overwrite(&mut self, store: AccessId, bytes: u64) {
        if store == self.other {
            return;
        }
        let Some(index) = self.by_store.get(store) else {
            self.other = store;
            return;
        };
        let save = &mut self.list[index as usize];
        save.left = save.left.saturating_sub(bytes as u16);
        if save.left == 0 {
            self.met.push_back((index, Met::Overwritten));
        }
    }

    /// `bytes` of what `store` wrote, which may have been a save, stand elsewhere, too.
    pub fn copy(&mut self, store: AccessId, bytes: u64) {
        if let Some(index) = self.by_store.get(store) {
            let save = &mut self.list[index as usize];
            save.left = save.left.saturating_add(bytes as u16);
        }
    }

    /// Whether the access before was the end of a save.
    #[inline]
    pub fn has_met(&self) -> bool {
        !self.met.is_empty()
    }

    /// The next save that the access before was the end of.
    pub fn next_met(&mut self) -> Option<(u32, Met)> {
        loop {
            let (save, met) = self.met.pop_front()?;
            // An access may read it in several parts.
            if self.is_live(save) {
                return Some((save, met));
            }
        }
    }

    fn is_live(&self, save: u32) -> bool {
        self.by_store.get(self.list[save as usize].store.access) == Some(save)
    }

    /// The instance of a save.
    pub fn call(&self, save: u32) -> CallId {
        self.list[save as usize].store.call
    }

    /// Room for the pieces of the save that is added next.
    pub(super) fn spare_pieces(&mut self) -> Vec<Piece> {
        let next = self.free.last().map(|&i| &mut self.list[i as usize].pieces);
        let mut pieces = next.map_or_else(|| Vec::with_capacity(1), std::mem::take);
        pieces.clear();
        pieces
    }

    pub(super) fn add(&mut self, save: Save) -> u32 {
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
        // Of a process that was forked it may have been looked for.
        if self.other == store {
            self.other = 0;
        }
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
                    let Some(index) = self.by_store.get(store) else { break };
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

pub(super) fn holds(span: RegSpan, byte: u16) -> bool {
    span.offset <= byte && byte < span.offset + span.size
}

/// A save of these pieces ends: what was pending before it is so for pieces of a save behind it.
pub(super) fn pass_on(behind: &mut Vec<Piece>, ended: &[Piece], store: AccessId) {
    let mut i = 0;
    while i < behind.len() {
        let piece = &mut behind[i];
        i += 1;
        let mine = ended.iter().find(|p| holds(p.span, piece.span.offset));
        let Some(mine) = mine.filter(|_| piece.pending == store) else { continue };
        piece.pending = mine.pending;
        if mine.span.end() < piece.span.end() {
            // It goes on behind that; the rest is looked at again.
            let mut rest = piece.clone();
            let (offset, end) = (mine.span.end(), piece.span.end());
            piece.span.size = offset - piece.span.offset;
            (rest.span, rest.pending) = (RegSpan { offset, size: end - offset }, store);
            behind.insert(i, rest);
        }
    }
}

/// Notes `call` as a reader of the bytes of `mine` in copies of the same version.
pub(super) fn note_piece_reader(pieces: &mut Vec<Piece>, mine: &Piece, call: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Whatever ends first: it finds what a map of the live ones has.
    #[test]
    fn by_store_has_what_is_live() {
        let (mut saves, mut model) = (ByStore::default(), BTreeMap::new());
        let mut random = 1u64;
        for store in 1..5000 {
            saves.insert(store, store as u32);
            model.insert(store, store as u32);
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Mostly the newest ends, now and then any; later mostly the oldest does.
            let ends = match (random >> 40) % 4 {
                0 => None,
                2 | 3 if store / 500 % 2 == 1 => model.keys().copied().next(),
                1 => model.keys().copied().nth((random >> 50) as usize % model.len()),
                _ => model.keys().copied().last(),
            };
            if let Some(ended) = ends {
                model.remove(&ended);
                saves.remove(ended);
            }
            saves.remove(ends.unwrap_or(store + 1));
            assert_eq!(saves.len(), model.len());
            assert!(saves.list.len() <= 2 * saves.len() + 2 * ByStore::SPARE + 2);
        }
        for store in 0..5001 {
            assert_eq!(saves.get(store), model.get(&store).copied());
        }
    }

    /// What was pending before a save that ends is so for the save behind it, byte by byte.
    #[test]
    fn what_was_pending_is_so_again() {
        const STORE: AccessId = 100;
        let mut below = crate::analysis::random::below(1);
        // Adjacent pieces from a byte on.
        let pieces =
            |below: &mut dyn FnMut(u64) -> u64, from: u16, end: u16, stores: &[AccessId]| {
                let (mut pieces, mut at) = (Vec::new(), from);
                while at < end {
                    let n = (1 + below(6) as u16).min(end - at);
                    pieces.push(Piece {
                        span: RegSpan { offset: at, size: n },
                        cell: Cell::EMPTY,
                        pending: stores[below(stores.len() as u64) as usize],
                        readers: Vec::new(),
                        seen: false,
                    });
                    at += n;
                }
                pieces
            };
        let bytes = |pieces: &[Piece]| -> Vec<(u16, AccessId)> {
            let each = |p: &Piece| {
                (p.span.offset..p.span.end()).map(|at| (at, p.pending)).collect::<Vec<_>>()
            };
            pieces.iter().flat_map(each).collect()
        };
        for _ in 0..500 {
            let (from, end) = (below(6) as u16, 10 + below(6) as u16);
            let ended = pieces(&mut below, from, end, &[1, 2, 3]);
            let before = bytes(&ended);
            // Of other bytes it was another save.
            let mut behind = pieces(&mut below, 0, from, &[4, 5]);
            behind.extend(pieces(&mut below, from, end, &[STORE, STORE, 6]));
            behind.extend(pieces(&mut below, end, 20, &[4, 5]));
            let expected: Vec<_> = bytes(&behind)
                .into_iter()
                .map(|(at, pending)| match pending {
                    STORE => before[usize::from(at - from)],
                    other => (at, other),
                })
                .collect();
            pass_on(&mut behind, &ended, STORE);
            assert_eq!(bytes(&behind), expected);
        }
    }

    /// A reader is noted for the bytes of a version that both have, byte by byte.
    #[test]
    fn readers_of_pieces_are_those_of_their_bytes() {
        let mut below = crate::analysis::random::below(1);
        let piece = |offset: u16, size: u16, write: u64| Piece {
            span: RegSpan { offset, size },
            cell: Cell { write, ..Cell::EMPTY },
            pending: 0,
            readers: Vec::new(),
            seen: false,
        };
        for _ in 0..300 {
            // Versions of 16 bytes, in pieces of what is adjacent.
            let (mut pieces, mut at) = (Vec::new(), 0);
            let mut model: Vec<(u64, Vec<u32>)> = Vec::new();
            while at < 16 {
                let (n, write) = ((1 + below(8) as u16).min(16 - at), 1 + below(2));
                pieces.push(piece(at, n, write));
                model.extend((0..n).map(|_| (write, Vec::new())));
                at += n;
            }
            for _ in 0..12 {
                let offset = below(16) as u16;
                let size = 1 + below(u64::from(16 - offset)) as u16;
                let (mine, call) = (piece(offset, size, 1 + below(2)), 1 + below(6) as u32);
                note_piece_reader(&mut pieces, &mine, call);
                for byte in offset..offset + size {
                    let (write, readers) = &mut model[usize::from(byte)];
                    if *write == mine.cell.write {
                        readers.retain(|r| *r != call);
                        readers.push(call);
                    }
                }
            }
            let mut at = 0;
            for piece in &pieces {
                assert_eq!(piece.span.offset, at);
                at += piece.span.size;
                for byte in piece.span.offset..at {
                    let (write, readers) = &model[usize::from(byte)];
                    assert_eq!(piece.cell.write, *write);
                    // The last one, if it was not known; all of them in any case.
                    let last = piece.cell.reader & !Cell::MORE;
                    let mut all = piece.readers.clone();
                    assert!(all.is_sorted());
                    assert_eq!(!all.is_empty(), piece.cell.reader & Cell::MORE != 0);
                    all.extend(Some(last).filter(|last| *last != 0));
                    all.sort_unstable();
                    all.dedup();
                    let mut expected = readers.clone();
                    expected.sort_unstable();
                    assert_eq!(all, expected);
                }
            }
            assert_eq!(at, 16);
        }
    }
}
