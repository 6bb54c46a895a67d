//! Reads of what the same operation read before: the most frequent thing that a program does, so it
//! costs a comparison of cells and a count, which is added to the sums when something else is read.

use super::calls::CallSet;
use super::flows::FlowHint;
use super::memory::PageIndex;
use super::origin::Packed;
use super::place::PlaceCode;
use super::shadow::{Cell, Whole};
use super::sums::{EdgeHint, EdgeIndex, Mark, PairIndex, Sums};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId, FunctionId};

/// What the pass met at an operation last, and so most likely meets next: it saves a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub edge: EdgeHint,
    pub flow: FlowHint,
    pub page: PageIndex,
    pub again: RepeatedRead,
}

/// What an operation read whole the last time, and how often since its sums were added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedRead {
    /// [`Cell::actor`] of a step's write that is no save, or of what nobody has written in a
    /// section; [`RepeatedRead::OTHER`] if it was anything else.
    actor: u32,
    place: PlaceCode,
    times: u32,
    unique: u32,
    /// Versions read beyond one each time.
    more: u32,
}

/// Times after which they are added up, so that nothing overflows: an access has at most a page.
const MOST: u32 = 1 << 19;

impl Default for RepeatedRead {
    fn default() -> RepeatedRead {
        RepeatedRead {
            actor: RepeatedRead::OTHER,
            place: PlaceCode::REGISTER,
            times: 0,
            unique: 0,
            more: 0,
        }
    }
}

impl RepeatedRead {
    /// The actor of no cell.
    const OTHER: u32 = Cell::SAVE;

    /// Whether these cells at this place are by the writer that the operation met last, in as many
    /// versions as it may be, whoever has read them; counts them then. `pair`: of that writer;
    /// `touch` is told if another pair has counted the cells' addresses since.
    #[inline(always)]
    pub fn read_again(
        &mut self,
        cells: Whole,
        address: u64,
        (place, pair): (PlaceCode, PairIndex),
        reader: (CallId, &CallSet),
        touch: impl FnOnce(),
    ) -> bool {
        let again = self.is_again(cells.0, place);
        if again {
            self.count(cells, address, pair, reader, touch);
        }
        again
    }

    /// Whether these cells at this place are by the writer that the operation met last.
    #[inline(always)]
    pub fn is_again(&self, cells: &[Cell], place: PlaceCode) -> bool {
        place == self.place && cells.iter().all(|c| c.actor == self.actor) && self.times < MOST
    }

    /// Counts cells that [`RepeatedRead::is_again`] is true of.
    #[inline(always)]
    pub fn count(
        &mut self,
        (cells, unit, readers): Whole,
        address: u64,
        pair: PairIndex,
        (call, ended): (CallId, &CallSet),
        touch: impl FnOnce(),
    ) {
        debug_assert!(cells.iter().all(|c| !c.is_split() && c.actor == self.actor), "see is_again");
        let (mut unique, mut touched) = (0, true);
        for (cell, key) in cells.iter_mut().zip((address..).step_by(unit as usize)) {
            if cell.reader & !Cell::MORE != call.get() {
                if cell.is_first_read(ended) {
                    cell.reader = call.get();
                    unique += unit as u32;
                } else if readers.note(cell, key, call, &|c| !ended.contains(c)) {
                    unique += unit as u32;
                }
            }
            touched &= cell.pair == pair;
            cell.pair = pair;
        }
        if !touched {
            touch();
        }
        self.times += 1;
        self.unique += unique;
        self.more += versions(cells) - 1;
    }
}

impl RepeatedRead {
    /// Whether an operation reads a register's bytes of the writer that it met last, one version of
    /// them; counts them then.
    #[inline(always)]
    pub fn read_register(&mut self, actor: u32) -> bool {
        let known = self.actor == actor && self.place == PlaceCode::REGISTER && self.times < MOST;
        self.times += u32::from(known);
        known
    }

    /// Unique bytes and versions that were counted.
    #[inline(always)]
    pub fn counted(&self) -> (u32, u32) {
        (self.unique, self.times + self.more)
    }
}

/// How many versions there are in some cells.
#[inline(always)]
fn versions(cells: &[Cell]) -> u32 {
    let mut versions = 1;
    for (i, pair) in cells.windows(2).enumerate() {
        let [before, cell] = pair else { continue };
        if cell.write != before.write && cells[..i].iter().all(|c| c.write != cell.write) {
            versions += 1;
        }
    }
    versions
}

impl Hints {
    /// See [`RepeatedRead::read_again`]; of one version, which it gives with the bytes of it that the call
    /// had not read yet.
    #[inline(always)]
    pub fn read_again(
        &mut self,
        cells: Whole,
        (address, place): (u64, PlaceCode),
        reader: (CallId, &CallSet),
        touch: impl FnOnce(PairIndex),
    ) -> Option<(Cell, u64)> {
        let first = *cells.0.first()?;
        let one = cells.0.iter().all(|c| (c.write, c.actor) == (first.write, first.actor));
        let (pair, before) = (self.edge.pair(), self.again.unique);
        let known =
            one && self.again.read_again(cells, address, (place, pair), reader, || touch(pair));
        known.then(|| (first, u64::from(self.again.unique - before)))
    }

    /// The operation reads something else, of `size` bytes before: what was counted goes into the
    /// sums.
    #[inline]
    pub fn flush(&mut self, size: u64, sums: &mut Sums) {
        let RepeatedRead { times, unique, more, .. } = std::mem::take(&mut self.again);
        if times > 0 {
            let transfers = u64::from(times) + u64::from(more);
            sums.add(self.edge.last(), u64::from(times) * size, unique.into(), transfers);
        }
    }

    /// The operation has read one version whole: `cell`, by the writer of its last edge.
    #[inline]
    pub fn read_first(&mut self, cell: &Cell, place: PlaceCode) {
        let actor_says_all = match cell.is_written() {
            true => cell.call.is_step() && !cell.is_saved(),
            false => !place.is_region(),
        };
        let actor = if actor_says_all { cell.actor } else { RepeatedRead::OTHER };
        self.again = RepeatedRead { actor, place, ..RepeatedRead::default() };
    }
}

impl Hints {
    /// An operation of `reader` reads a register's bytes of another writer than before: `size`
    /// bytes, one version. `actor`: of their [`Cell`].
    #[inline(never)]
    pub fn read_other_register(
        &mut self,
        size: u64,
        actor: u32,
        (writer, reader): (Packed, ActorId),
        sums: &mut Sums,
    ) {
        self.flush(size, sums);
        let edge = sums.edge(&mut self.edge, writer, reader, PlaceCode::REGISTER);
        sums.add(edge, size, 0, 1);
        self.again = RepeatedRead { actor, place: PlaceCode::REGISTER, ..RepeatedRead::default() };
    }
}

/// Bytes of registers that the reads of a segment had of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Source {
    /// [`Cell::actor`] of the function's writes.
    actor: u32,
    /// 0 if it is not known yet.
    edge: EdgeIndex,
    times: u32,
    bytes: u64,
    unique: u64,
}

impl Source {
    fn flush(&mut self, sums: &mut Sums) {
        if self.times > 0 {
            sums.add(self.edge, self.bytes, self.unique, self.times.into());
            *self = Source { actor: self.actor, edge: self.edge, ..Source::default() };
        }
    }
}

/// A pair of functions shares a register, the cells of which another one has counted since.
#[inline(never)]
pub fn share(cells: &mut [Cell], pair: PairIndex, (span, mark): (RegSpan, Mark), sums: &mut Sums) {
    debug_assert!(pair != 0 && cells.iter().all(|c| !c.is_split()));
    cells.iter_mut().for_each(|c| c.pair = pair);
    sums.touch(pair, PlaceCode::REGISTER, mark, span.offset.into(), span.size.into());
}

/// The functions that a segment's register reads met: its own, and the last other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met([Source; 2]);

impl Met {
    pub fn new(own: FunctionId) -> Met {
        Met([Source { actor: own.get(), ..Source::default() }, Source::default()])
    }

    /// Whether the cells of a register are one version that one of both functions wrote and no other
    /// live instance has read since `call` did; counts them then.
    #[inline(always)]
    pub fn read(
        &mut self,
        cells: &mut [Cell],
        span: RegSpan,
        (call, ended, mark): (CallId, &CallSet, Mark),
        sums: &mut Sums,
    ) -> bool {
        let [own, other] = &mut self.0;
        let Some((&first, rest)) = cells.split_first() else { return false };
        let source = if first.actor == own.actor { own } else { other };
        let known = first.actor == source.actor
            && source.edge.pair != 0
            && source.times < MOST
            && match rest {
                [] => true,
                [second] => *second == first,
                rest => rest.iter().all(|c| *c == first),
            };
        if !known {
            return false;
        }
        let size = u64::from(span.size);
        if first.reader & !Cell::MORE != call.get() {
            if !first.is_first_read(ended) {
                return false;
            }
            cells.iter_mut().for_each(|c| c.reader = call.get());
            source.unique += size;
        }
        if first.pair != source.edge.pair {
            share(cells, source.edge.pair, (span, mark), sums);
        }
        source.times += 1;
        source.bytes += size;
        true
    }

    /// An operation with these hints has read something else.
    pub fn note(&mut self, hints: &Hints, sums: &mut Sums) {
        let RepeatedRead { actor, .. } = hints.again;
        if actor == RepeatedRead::OTHER {
            return;
        }
        let [own, other] = &mut self.0;
        if actor == own.actor {
            own.edge = hints.edge.last();
        } else {
            other.flush(sums);
            *other = Source { actor, edge: hints.edge.last(), ..Source::default() };
        }
    }

    /// What was counted goes into the sums.
    pub fn flush(&mut self, sums: &mut Sums) {
        self.0.iter_mut().for_each(|source| source.flush(sums));
    }
}
