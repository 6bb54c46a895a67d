//! Sums over the whole run: by pair of functions, by pair of instructions, by function and by call
//! edge.

use super::memory::PAGE;
use super::origin::Packed;
use super::place::PlaceCode;
use super::stack::{CallKind, Ended};
use crate::id::{FunctionId, InstructionId};
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// Sums of a function pair by place; see the figures of `docs/semantics.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairSums {
    pub bytes: u64,
    pub unique: u64,
    pub transfers: u64,
    pub addresses: u64,
}

/// Sums of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSums {
    pub calls: u64,
    pub steps_self: u64,
    pub steps_total: u64,
    pub written_bytes: u64,
    pub dead_bytes: u64,
}

/// Calls of a caller and a callee by kind, with the steps of the callee's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallEdge {
    pub caller: Option<FunctionId>,
    pub callee: FunctionId,
    pub kind: CallKind,
    pub calls: u64,
    pub steps: u64,
}

/// A pair of functions.
struct Pair {
    /// Function or source.
    writer: Packed,
    /// Function, or the kernel by the name of what it did with the bytes.
    reader: Packed,
    /// Its sums by place: index of the newest.
    sums: u32,
}

/// Sums of a pair at a place.
struct PlaceSums {
    place: PlaceCode,
    /// Index of the next one of the same pair.
    next: u32,
    sums: PairSums,
}

/// No more sums.
const LAST: u32 = u32::MAX;

/// Index of a [`Pair`], from 1.
pub type PairIndex = u32;

/// Sums of an instruction pair by place.
#[derive(Clone, Copy, Debug)]
pub struct InstructionEdge {
    /// Instruction or source.
    pub writer: Packed,
    pub reader: InstructionId,
    pub place: PlaceCode,
    /// The pair of their functions.
    pub pair: PairIndex,
    pub bytes: u64,
    pub transfers: u64,
}

/// The last two edges that a reading operation met, the last first: mostly its next is one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeHint([u32; 2]);

/// Where addresses that pairs shared are marked.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Number of the page, or of one beyond all of memory's for registers.
    page: u64,
}

impl Mark {
    /// Of the page of memory that begins at `base`.
    #[inline]
    pub fn memory(base: u64) -> Mark {
        Mark { page: base / PAGE }
    }

    /// Of a thread's registers, threads counted from 0.
    #[inline]
    pub fn registers(thread: usize) -> Mark {
        Mark { page: 1 << 63 | (thread as u64) << 2 }
    }
}

/// Bytes of a line, of which a bit each is kept in a word.
const LINE: u64 = 64;
/// Lines of a page that are kept without a bitmap of all of it.
const FEW: usize = 3;

/// What a function pair shared of a page: a range of its bytes, or more, for which there is a
/// [`TouchedPage`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shared(u32);

impl Shared {
    const PAGE: u32 = 1 << 31;
    const OFFSET: u32 = PAGE.trailing_zeros();

    /// Bytes `first..=last` of the page.
    #[inline]
    fn range(first: u32, last: u32) -> Shared {
        Shared(first << Shared::OFFSET | last)
    }

    fn page(index: u32) -> Shared {
        Shared(Shared::PAGE | index)
    }

    /// Index of the [`TouchedPage`], or the range.
    #[inline]
    fn get(self) -> Result<u32, (u32, u32)> {
        if self.0 & Shared::PAGE != 0 {
            Ok(self.0 & !Shared::PAGE)
        } else {
            Err((self.0 >> Shared::OFFSET, self.0 & (PAGE as u32 - 1)))
        }
    }
}

/// Addresses of a page that a function pair shared: some lines, or all of the page.
struct TouchedPage {
    lines: [u8; FEW],
    used: u8,
    /// Index of the bitmap, where there are more lines.
    whole: Option<NonZeroU32>,
    masks: [u64; FEW],
}

/// Addresses that function pairs shared: a bit a byte. Most pairs share a variable or an argument:
/// one range of a page, kept in the index; some lines are kept for the others, and a whole page
/// only where it is more.
struct Touched {
    /// By pair and page number, in 32-bit words: of a bucket 16 bytes, not 24.
    index: FxHashMap<[u32; 3], Shared>,
    pages: Vec<TouchedPage>,
    whole: Vec<[u64; (PAGE / LINE) as usize]>,
    /// Direct-mapped cache of the index: (pair, page number, what is shared); there is no pair 0.
    cache: Box<[(PairIndex, u64, Shared); 1024]>,
}

impl Default for Touched {
    fn default() -> Touched {
        Touched {
            index: FxHashMap::default(),
            pages: Vec::new(),
            whole: Vec::new(),
            cache: Box::new([(0, 0, Shared(0)); 1024]),
        }
    }
}

impl Touched {
    /// Sets `len` bytes from `start` on, which lie in one page; gives how many were new.
    #[inline]
    fn set(&mut self, pair: PairIndex, mark: Mark, start: u64, len: u64) -> u64 {
        let number = mark.page + start / PAGE;
        let first = (start % PAGE) as u32;
        let last = first + len as u32 - 1;
        let slot = &self.cache[Touched::slot(pair, number)];
        let shared = if (slot.0, slot.1) == (pair, number) {
            slot.2
        } else {
            let key = Touched::key(pair, number);
            let Some(&known) = self.index.get(&key) else {
                self.put(pair, number, Shared::range(first, last));
                return len;
            };
            self.cache[Touched::slot(pair, number)] = (pair, number, known);
            known
        };
        match shared.get() {
            Ok(page) => self.set_page(page, first, last),
            Err((low, high)) if first >= low && last <= high => 0,
            Err((low, high)) => self.widen(pair, number, (low, high), (first, last)),
        }
    }

    fn slot(pair: PairIndex, number: u64) -> usize {
        (pair.wrapping_mul(61) as usize ^ number as usize) & 1023
    }

    fn key(pair: PairIndex, number: u64) -> [u32; 3] {
        [pair, (number >> 32) as u32, number as u32]
    }

    fn put(&mut self, pair: PairIndex, number: u64, shared: Shared) {
        self.index.insert(Touched::key(pair, number), shared);
        self.cache[Touched::slot(pair, number)] = (pair, number, shared);
    }

    /// More than the range that was shared so far.
    #[cold]
    fn widen(&mut self, pair: PairIndex, number: u64, old: (u32, u32), new: (u32, u32)) -> u64 {
        if new.0 <= old.1 + 1 && old.0 <= new.1 + 1 {
            let (first, last) = (old.0.min(new.0), old.1.max(new.1));
            self.put(pair, number, Shared::range(first, last));
            return u64::from((last - first) - (old.1 - old.0));
        }
        let page = self.pages.len() as u32;
        self.pages.push(TouchedPage { lines: [0; FEW], used: 0, whole: None, masks: [0; FEW] });
        self.put(pair, number, Shared::page(page));
        self.set_page(page, old.0, old.1);
        self.set_page(page, new.0, new.1)
    }

    /// Sets bytes `first..=last`; gives how many were new.
    fn set_page(&mut self, page: u32, first: u32, last: u32) -> u64 {
        let (mut at, end, mut new) = (u64::from(first), u64::from(last) + 1, 0);
        while at < end {
            let n = (LINE - at % LINE).min(end - at);
            let mask = (u64::MAX >> (LINE - n)) << (at % LINE);
            let word = self.line(page, (at / LINE) as u8);
            new += u64::from((mask & !*word).count_ones());
            *word |= mask;
            at += n;
        }
        new
    }

    /// The bits of a line.
    #[inline]
    fn line(&mut self, page: u32, line: u8) -> &mut u64 {
        let page = &mut self.pages[page as usize];
        if let Some(whole) = page.whole {
            return &mut self.whole[whole.get() as usize - 1][line as usize];
        }
        let used = page.used as usize;
        if let Some(known) = page.lines[..used].iter().position(|l| *l == line) {
            return &mut page.masks[known];
        }
        if used < FEW {
            page.lines[used] = line;
            page.used += 1;
            return &mut page.masks[used];
        }
        let mut all = [0; (PAGE / LINE) as usize];
        for (line, mask) in page.lines.iter().zip(page.masks) {
            all[*line as usize] = mask;
        }
        self.whole.push(all);
        page.whole = NonZeroU32::new(self.whole.len() as u32);
        let last = self.whole.len() - 1;
        &mut self.whole[last][line as usize]
    }
}

/// The sums of a pass.
pub struct Sums {
    /// Function of each instruction.
    function_of: Vec<FunctionId>,
    /// By function.
    pub functions: Vec<FunctionSums>,
    pair_index: FxHashMap<(Packed, Packed), PairIndex>,
    pairs: Vec<Pair>,
    place_sums: Vec<PlaceSums>,
    touched: Touched,
    edge_index: FxHashMap<(Packed, InstructionId, PlaceCode), u32>,
    /// The first one is nobody's.
    edges: Vec<InstructionEdge>,
    calls: FxHashMap<(Option<FunctionId>, FunctionId, CallKind), (u64, u64)>,
}

impl Default for Sums {
    fn default() -> Sums {
        let nobody = InstructionEdge {
            writer: Packed::NONE,
            reader: InstructionId::FIRST,
            place: PlaceCode::REGISTER,
            pair: 0,
            bytes: 0,
            transfers: 0,
        };
        Sums {
            function_of: Vec::new(),
            functions: Vec::new(),
            pair_index: FxHashMap::default(),
            pairs: Vec::new(),
            place_sums: Vec::new(),
            touched: Touched::default(),
            edge_index: FxHashMap::default(),
            edges: vec![nobody],
            calls: FxHashMap::default(),
        }
    }
}

impl Sums {
    /// The next instruction of the dictionary is of `function`.
    pub fn add_instruction(&mut self, function: FunctionId) {
        if self.functions.len() <= function.index() {
            self.functions.resize(function.index() + 1, FunctionSums::default());
        }
        self.function_of.push(function);
    }

    #[inline]
    pub fn function_of(&self, instruction: InstructionId) -> FunctionId {
        self.function_of[instruction.index()]
    }

    /// Function of an instruction; a source as it is.
    #[inline]
    pub fn function(&self, writer: Packed) -> Packed {
        match writer.writer::<InstructionId>() {
            Some(instruction) => Packed::step(self.function_of(instruction)),
            None => writer,
        }
    }

    pub fn pair(&mut self, writer: Packed, reader: Packed) -> PairIndex {
        let pairs = &mut self.pairs;
        *self.pair_index.entry((writer, reader)).or_insert_with(|| {
            pairs.push(Pair { writer, reader, sums: LAST });
            pairs.len() as PairIndex
        })
    }

    pub fn of_pair(&mut self, pair: PairIndex, place: PlaceCode) -> &mut PairSums {
        let pair = &mut self.pairs[pair as usize - 1];
        let mut at = pair.sums;
        while at != LAST && self.place_sums[at as usize].place != place {
            at = self.place_sums[at as usize].next;
        }
        if at == LAST {
            let (next, sums) = (pair.sums, PairSums::default());
            at = self.place_sums.len() as u32;
            pair.sums = at;
            self.place_sums.push(PlaceSums { place, next, sums });
        }
        &mut self.place_sums[at as usize].sums
    }

    /// Drops what only the run needs, which is more than the sums.
    pub fn close(&mut self) {
        self.touched = Touched::default();
        self.pair_index = FxHashMap::default();
        self.edge_index = FxHashMap::default();
    }

    /// The sums of all pairs, as (writer, reader, place, sums).
    pub fn all_pairs(&self) -> impl Iterator<Item = (Packed, Packed, PlaceCode, PairSums)> + '_ {
        self.pairs.iter().flat_map(|pair| {
            let at = |at: u32| self.place_sums.get(at as usize);
            let all = std::iter::successors(at(pair.sums), move |s| at(s.next));
            all.map(|s| (pair.writer, pair.reader, s.place, s.sums))
        })
    }

    /// Counts the addresses of `len` bytes from `start` on, which lie in one page, that the pair
    /// has not shared before.
    #[inline]
    pub fn touch(&mut self, pair: PairIndex, place: PlaceCode, mark: Mark, start: u64, len: u64) {
        let new = self.touched.set(pair, mark, start, len);
        if new != 0 {
            self.of_pair(pair, place).addresses += new;
        }
    }

    /// The edge from `writer`; the hint is set to it.
    #[inline]
    pub fn edge(
        &mut self,
        hint: &mut EdgeHint,
        writer: Packed,
        reader: InstructionId,
        place: PlaceCode,
    ) -> &mut InstructionEdge {
        let edges = &self.edges;
        let is = |i: u32| {
            let edge = &edges[i as usize];
            edge.writer == writer && edge.place == place && edge.reader == reader
        };
        if !is(hint.0[0]) {
            let found = if is(hint.0[1]) { hint.0[1] } else { self.look_up(writer, reader, place) };
            hint.0 = [found, hint.0[0]];
        }
        &mut self.edges[hint.0[0] as usize]
    }

    #[inline(never)]
    fn look_up(&mut self, writer: Packed, reader: InstructionId, place: PlaceCode) -> u32 {
        if let Some(&known) = self.edge_index.get(&(writer, reader, place)) {
            return known;
        }
        let function = Packed::step(self.function_of(reader));
        let pair = self.pair(self.function(writer), function);
        let new = self.edges.len() as u32;
        self.edges.push(InstructionEdge { writer, reader, place, pair, bytes: 0, transfers: 0 });
        self.edge_index.insert((writer, reader, place), new);
        new
    }

    /// The edges, which are gone then.
    pub fn take_edges(&mut self) -> impl Iterator<Item = InstructionEdge> {
        std::mem::take(&mut self.edges).into_iter().skip(1)
    }

    /// Bytes that an instruction wrote for nothing.
    #[inline]
    pub fn dead(&mut self, writer: InstructionId, bytes: u64) {
        let function = self.function_of(writer);
        self.functions[function.index()].dead_bytes += bytes;
    }

    /// A call instance has ended.
    pub fn end(&mut self, ended: &Ended) {
        let call = &ended.row;
        let sums = &mut self.functions[call.function.index()];
        sums.calls += 1;
        sums.steps_self += call.steps_self;
        if ended.outermost {
            sums.steps_total += call.steps_total;
        }
        let edge = self.calls.entry((ended.caller, call.function, call.kind)).or_default();
        edge.0 += 1;
        edge.1 += call.steps_total;
    }

    pub fn call_edges(&self) -> Vec<CallEdge> {
        let edge = |(&(caller, callee, kind), &(calls, steps)): (&_, &_)| CallEdge {
            caller,
            callee,
            kind,
            calls,
            steps,
        };
        let mut edges: Vec<CallEdge> = self.calls.iter().map(edge).collect();
        edges.sort_unstable();
        edges
    }
}
