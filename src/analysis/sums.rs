//! Sums over the whole run: by pair of functions, by pair of instructions, by function and by call
//! edge.

use super::in_context;
use super::memory::PAGE;
use super::origin::Packed;
use super::place::PlaceCode;
use super::shadow::Cell;
use super::stack::{CallKind, Ended};
use crate::id::{ActorId, FunctionId};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
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

impl CallEdge {
    /// Edges in order, from their keys, calls and steps.
    pub fn list(sums: impl Iterator<Item = (CallKey, u64, u64)>) -> Vec<CallEdge> {
        let edge = |((caller, callee, kind), calls, steps)| CallEdge {
            caller,
            callee,
            kind,
            calls,
            steps,
        };
        let mut edges: Vec<CallEdge> = sums.map(edge).collect();
        edges.sort_unstable();
        edges
    }
}

/// What data flow is added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actors {
    Functions,
    /// And by functions.
    Instructions,
}

/// Sums of a pair of functions at a place.
struct FunctionEdge {
    /// Function or source.
    writer: Packed,
    /// Function, or the kernel by the name of what it did with the bytes.
    reader: Packed,
    place: PlaceCode,
    /// Index of the next one of the same pair.
    next: u32,
    sums: PairSums,
}

/// No more edges.
const LAST: u32 = u32::MAX;

/// A pair of functions: index of its first [`FunctionEdge`], from 1.
pub type PairIndex = u32;

/// Sums of an instruction pair by place.
#[derive(Clone, Copy, Debug)]
pub struct InstructionEdge {
    /// Instruction or source.
    pub writer: Packed,
    pub reader: ActorId,
    pub place: PlaceCode,
    /// The pair of their functions.
    pub pair: PairIndex,
    pub bytes: u64,
    pub transfers: u64,
}

/// Sums by actors: index of a [`FunctionEdge`] or [`InstructionEdge`], with the pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeIndex {
    edge: u32,
    pub pair: PairIndex,
}

/// The last two edges that a reading operation met, the last first: mostly its next is one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeHint([EdgeIndex; 2]);

impl EdgeHint {
    #[inline]
    pub fn last(&self) -> EdgeIndex {
        self.0[0]
    }

    #[inline]
    pub fn pair(&self) -> PairIndex {
        self.0[0].pair
    }
}

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
/// Whole pages from which on a run of them is kept as one.
const LONG_RUN: u64 = 16;
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
    /// Runs of pages that a pair shared as a whole and at once, which are not in the index: the last page, by pair and
    /// first one.
    long: BTreeMap<(PairIndex, u64), u64>,
    /// Direct-mapped cache of the index: (pair, page number, what is shared); there is no pair 0.
    cache: Box<[(PairIndex, u64, Shared); 1024]>,
}

impl Default for Touched {
    fn default() -> Touched {
        Touched {
            index: FxHashMap::default(),
            pages: Vec::new(),
            whole: Vec::new(),
            long: BTreeMap::new(),
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
                if self.is_long(pair, number) {
                    self.put(pair, number, Shared::range(0, PAGE as u32 - 1));
                    return 0;
                }
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

    fn is_long(&self, pair: PairIndex, number: u64) -> bool {
        let before = || self.long.range((pair, 0)..=(pair, number)).next_back();
        !self.long.is_empty() && before().is_some_and(|(_, last)| number <= *last)
    }

    /// Sets pages `first..=last` as a whole; gives how many bytes were new.
    fn set_pages(&mut self, pair: PairIndex, first: u64, last: u64) -> u64 {
        let mut gaps = Vec::new();
        let mut at = first;
        let before = self.long.range((pair, 0)..(pair, first)).next_back();
        let within = self.long.range((pair, first)..=(pair, last));
        for (&(_, from), &to) in before.into_iter().chain(within) {
            if at < from {
                gaps.push((at, from - 1));
            }
            at = at.max(to + 1);
        }
        if at <= last {
            gaps.push((at, last));
        }
        gaps.into_iter().map(|(from, to)| self.fill_gap(pair, from, to)).sum()
    }

    /// Sets pages that are in no long run; those of the index stay there.
    fn fill_gap(&mut self, pair: PairIndex, first: u64, last: u64) -> u64 {
        let inside = |key: &[u32; 3]| {
            let number = u64::from(key[1]) << 32 | u64::from(key[2]);
            (key[0] == pair && (first..=last).contains(&number)).then_some(number)
        };
        let mut known: Vec<u64> = if last - first < self.index.len() as u64 {
            let in_index = |number: &u64| self.index.contains_key(&Touched::key(pair, *number));
            (first..=last).filter(in_index).collect()
        } else {
            self.index.keys().filter_map(inside).collect()
        };
        known.sort_unstable();
        let (mut new, mut at) = (0, first);
        for number in known {
            new += self.set(pair, Mark { page: number }, 0, PAGE);
            new += self.add_long(pair, at, number);
            at = number + 1;
        }
        new + self.add_long(pair, at, last + 1)
    }

    fn add_long(&mut self, pair: PairIndex, first: u64, end: u64) -> u64 {
        if first < end {
            self.long.insert((pair, first), end - 1);
        }
        (end - first) * PAGE
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

/// Writer, reader, place, and what one gave the other there.
pub type Pair = (Packed, Packed, PlaceCode, PairSums);

/// Each once.
fn added_up(mut pairs: Vec<Pair>) -> Vec<Pair> {
    let key = |&(writer, reader, place, _): &Pair| (writer, reader, place);
    pairs.sort_by_key(key);
    pairs.dedup_by(|next, pair| {
        let same = key(next) == key(pair);
        if same {
            pair.3.bytes += next.3.bytes;
            pair.3.unique += next.3.unique;
            pair.3.addresses += next.3.addresses;
            pair.3.transfers += next.3.transfers;
        }
        same
    });
    pairs
}

/// The sums of a pass.
pub struct Sums {
    actors: Actors,
    /// Whether anybody wants them. Else all is added to nobody's.
    wanted: bool,
    /// Function of each instruction.
    function_of: Vec<FunctionId>,
    /// Functions in their contexts: the actors, where these are functions.
    pub in_contexts: in_context::Actors,
    /// By function.
    pub functions: Vec<FunctionSums>,
    /// By writer, reader and, where places are pairs of their own, place.
    pairs: FxHashMap<(Packed, Packed, Option<PlaceCode>), PairIndex>,
    /// Edges of functions in contexts.
    edges_in_contexts: FxHashMap<(Packed, Packed, PlaceCode), u32>,
    /// The first one is nobody's.
    function_edges: Vec<FunctionEdge>,
    touched: Touched,
    instruction_index: FxHashMap<(Packed, ActorId, PlaceCode), u32>,
    /// The first one is nobody's.
    instruction_edges: Vec<InstructionEdge>,
    call_index: FxHashMap<CallKey, u32>,
    calls: Vec<(CallKey, u64, u64)>,
    /// Direct-mapped cache of the edges between functions.
    last_edges: Box<[(EdgeKey, EdgeIndex); EDGES_CACHED]>,
    /// Direct-mapped cache of the index, by callee.
    last_calls: Box<[u32; 1024]>,
}

/// Writer, reader and place.
type EdgeKey = (Packed, ActorId, PlaceCode);

const EDGES_CACHED: usize = 2048;

/// Caller, callee and kind.
pub type CallKey = (Option<FunctionId>, FunctionId, CallKind);

impl Sums {
    pub fn new(actors: Actors, wanted: bool) -> Sums {
        let nobody = FunctionEdge {
            writer: Packed::NONE,
            reader: Packed::NONE,
            place: PlaceCode::REGISTER,
            next: LAST,
            sums: PairSums::default(),
        };
        let nothing = InstructionEdge {
            writer: Packed::NONE,
            reader: ActorId::FIRST,
            place: PlaceCode::REGISTER,
            pair: 0,
            bytes: 0,
            transfers: 0,
        };
        Sums {
            actors,
            wanted,
            function_of: Vec::new(),
            in_contexts: in_context::Actors::default(),
            functions: Vec::new(),
            pairs: FxHashMap::default(),
            edges_in_contexts: FxHashMap::default(),
            function_edges: vec![nobody],
            touched: Touched::default(),
            instruction_index: FxHashMap::default(),
            instruction_edges: vec![nothing],
            call_index: FxHashMap::default(),
            calls: Vec::new(),
            last_edges: Box::new(
                [((Packed::NONE, ActorId::FIRST, PlaceCode::REGISTER), EdgeIndex::default());
                    EDGES_CACHED],
            ),
            last_calls: Box::new([0; 1024]),
        }
    }

    /// The next instruction of the dictionary is of `function`.
    pub fn add_instruction(&mut self, function: FunctionId) {
        if self.functions.len() <= function.index() {
            self.functions.resize(function.index() + 1, FunctionSums::default());
        }
        self.function_of.push(function);
    }

    #[inline]
    fn function_of(&self, actor: ActorId) -> FunctionId {
        match self.actors {
            Actors::Functions => self.plain(FunctionId::at(actor.index())),
            Actors::Instructions => self.function_of[actor.index()],
        }
    }

    /// The function itself, of an actor among functions.
    #[inline]
    fn plain(&self, actor: FunctionId) -> FunctionId {
        self.in_contexts.get(actor).function
    }

    /// The same of a writer or reader.
    fn plain_end(&self, end: Packed) -> Packed {
        end.writer().map_or(end, |function| Packed::step(self.plain(function)))
    }

    /// As what sums count an actor or a source: where actors are functions as it is.
    #[inline]
    pub fn summed(&self, writer: Packed) -> Packed {
        match self.actors {
            Actors::Functions => writer,
            Actors::Instructions => self.function(writer),
        }
    }

    /// Function of an actor; a source as it is.
    #[inline]
    pub fn function(&self, writer: Packed) -> Packed {
        match writer.writer::<ActorId>() {
            Some(actor) => Packed::step(self.function_of(actor)),
            None => writer,
        }
    }

    /// The edge between two functions at a place. Functions in contexts have edges of their own, and are one pair.
    fn function_edge(&mut self, writer: Packed, reader: Packed, place: PlaceCode) -> EdgeIndex {
        if !self.wanted {
            return EdgeIndex::default();
        }
        let new = self.function_edges.len() as u32;
        // What no step wrote in a section is that section's: two files at one address are two pairs.
        let apart = writer.is_initial() && !place.is_region() && place != PlaceCode::REGISTER;
        let (from, to) = (self.plain_end(writer), self.plain_end(reader));
        let key = (from, to, apart.then_some(place));
        let pair = *self.pairs.entry(key).or_insert(new);
        // Those of one pair may be thousands.
        let is_plain = (from, to) == (writer, reader);
        if !is_plain && let Some(&edge) = self.edges_in_contexts.get(&(writer, reader, place)) {
            return EdgeIndex { edge, pair };
        }
        let is = |edge: &FunctionEdge| {
            is_plain && (edge.writer, edge.reader, edge.place) == (writer, reader, place)
        };
        if !is_plain {
            self.edges_in_contexts.insert((writer, reader, place), new);
        }
        let next = match self.function_edges.get_mut(pair as usize) {
            Some(first) if is(first) => return EdgeIndex { edge: pair, pair },
            Some(_) if !is_plain => LAST,
            Some(first) => {
                let next = first.next;
                let mut at = next;
                while at != LAST {
                    let edge = &self.function_edges[at as usize];
                    if is(edge) {
                        return EdgeIndex { edge: at, pair };
                    }
                    at = edge.next;
                }
                self.function_edges[pair as usize].next = new;
                next
            }
            None => LAST,
        };
        let sums = PairSums::default();
        self.function_edges.push(FunctionEdge { writer, reader, place, next, sums });
        EdgeIndex { edge: new, pair }
    }

    /// The pair of two functions that share something at a place.
    pub fn pair(&mut self, writer: Packed, reader: Packed, place: PlaceCode) -> PairIndex {
        self.function_edge(writer, reader, place).pair
    }

    /// The sums of two functions at a place.
    pub fn functions(&mut self, writer: Packed, reader: Packed, place: PlaceCode) -> &mut PairSums {
        let edge = self.function_edge(writer, reader, place).edge;
        &mut self.function_edges[edge as usize].sums
    }

    /// Drops what only the run needs, which is more than the sums.
    pub fn close(&mut self) {
        self.touched = Touched::default();
        self.pairs = FxHashMap::default();
        self.edges_in_contexts = FxHashMap::default();
        self.instruction_index = FxHashMap::default();
    }

    /// The sums of all pairs, as (writer, reader, place, sums).
    pub fn all_pairs(&self) -> Vec<Pair> {
        let edges = self.function_edges.iter().skip(1);
        let pairs = edges
            .map(|e| (self.plain_end(e.writer), self.plain_end(e.reader), e.place, e.sums))
            .collect();
        added_up(pairs)
    }

    /// Bytes and transfers of edges that have to do with stubs, as those of what these are merged into. None
    /// where actors are instructions.
    pub fn merged_pairs(&self, is_stub: impl Fn(FunctionId) -> bool) -> Vec<Pair> {
        let ends = |e: &FunctionEdge| {
            [e.writer, e.reader]
                .map(|end| (end, end.writer().map(|actor| self.in_contexts.get(actor))))
        };
        let of_functions = (self.actors == Actors::Functions).then_some(&self.function_edges);
        let edges = of_functions.into_iter().flatten().skip(1).filter_map(|e| {
            let of_stub =
                ends(e).iter().any(|(_, actor)| actor.is_some_and(|a| is_stub(a.function)));
            let into = ends(e).map(|(end, actor)| actor.map_or(end, |a| Packed::step(a.into)));
            let sums = PairSums { unique: 0, addresses: 0, ..e.sums };
            of_stub.then_some((into[0], into[1], e.place, sums))
        });
        added_up(edges.collect())
    }

    /// The sums of all pairs of functions as they are, in their contexts.
    pub fn pairs_in_contexts(&self) -> impl Iterator<Item = Pair> + '_ {
        self.function_edges.iter().skip(1).map(|e| (e.writer, e.reader, e.place, e.sums))
    }

    /// Counts the addresses of `len` bytes from `start` on, which lie in one page, that the pair
    /// has not shared before.
    #[inline]
    pub fn touch(&mut self, pair: PairIndex, place: PlaceCode, mark: Mark, start: u64, len: u64) {
        if !self.wanted {
            return;
        }
        let new = self.touched.set(pair, mark, start, len);
        if new != 0 {
            self.add_addresses(pair, place, new);
        }
    }

    /// What a pair shares of a range of memory, which is one place.
    pub fn touch_range(&mut self, pair: PairIndex, place: PlaceCode, address: u64, len: u64) {
        let (mut at, mut left) = (address, if self.wanted { len } else { 0 });
        while left > 0 {
            let whole = left / PAGE;
            let n = if at.is_multiple_of(PAGE) && whole >= LONG_RUN {
                let page = at / PAGE;
                let new = self.touched.set_pages(pair, page, page + whole - 1);
                if new != 0 {
                    self.add_addresses(pair, place, new);
                }
                whole * PAGE
            } else {
                let n = left.min(PAGE - at % PAGE);
                self.touch(pair, place, Mark::memory(at - at % PAGE), at % PAGE, n);
                n
            };
            at = at.wrapping_add(n);
            left -= n;
        }
    }

    #[inline(never)]
    fn add_addresses(&mut self, pair: PairIndex, place: PlaceCode, new: u64) {
        let FunctionEdge { writer, reader, place: first, .. } = self.function_edges[pair as usize];
        let edge =
            if first == place { pair } else { self.function_edge(writer, reader, place).edge };
        self.function_edges[edge as usize].sums.addresses += new;
    }

    /// The edge from `writer`; the hint is set to it.
    #[inline]
    pub fn edge(
        &mut self,
        hint: &mut EdgeHint,
        writer: Packed,
        reader: ActorId,
        place: PlaceCode,
    ) -> EdgeIndex {
        if !self.wanted {
            return EdgeIndex::default();
        }
        let is = |known: EdgeIndex| match self.actors {
            Actors::Functions => {
                let edge = &self.function_edges[known.edge as usize];
                (edge.writer, edge.place, edge.reader) == (writer, place, Packed::step(reader))
            }
            Actors::Instructions => {
                let edge = &self.instruction_edges[known.edge as usize];
                (edge.writer, edge.place, edge.reader) == (writer, place, reader)
            }
        };
        let [last, before] = hint.0;
        if is(last) {
            return last;
        }
        let found = if is(before) { before } else { self.look_up(writer, reader, place) };
        hint.0 = [found, last];
        found
    }

    /// Key and place in the cache of edges.
    #[inline]
    fn slot(writer: Packed, reader: ActorId, place: PlaceCode) -> (EdgeKey, usize) {
        let key = (writer, reader, place);
        (key, FxBuildHasher.hash_one(key) as usize % EDGES_CACHED)
    }

    #[inline(never)]
    fn look_up(&mut self, writer: Packed, reader: ActorId, place: PlaceCode) -> EdgeIndex {
        if self.actors == Actors::Functions {
            let (key, slot) = Sums::slot(writer, reader, place);
            let known = self.last_edges[slot];
            if known.0 == key {
                return known.1;
            }
            let edge = self.function_edge(writer, Packed::step(reader), place);
            self.last_edges[slot] = (key, edge);
            return edge;
        }
        if let Some(&edge) = self.instruction_index.get(&(writer, reader, place)) {
            return EdgeIndex { edge, pair: self.instruction_edges[edge as usize].pair };
        }
        let function = Packed::step(self.function_of(reader));
        let pair = self.pair(self.function(writer), function, place);
        let edge = self.instruction_edges.len() as u32;
        let new = InstructionEdge { writer, reader, place, pair, bytes: 0, transfers: 0 };
        self.instruction_edges.push(new);
        self.instruction_index.insert((writer, reader, place), edge);
        EdgeIndex { edge, pair }
    }

    /// Adds to an edge. Those of instructions have no unique bytes; those of functions get all
    /// their sums so where [`Actors`] are functions.
    #[inline]
    pub fn add(&mut self, edge: EdgeIndex, bytes: u64, unique: u64, transfers: u64) {
        match self.actors {
            Actors::Functions => {
                let sums = &mut self.function_edges[edge.edge as usize].sums;
                sums.bytes += bytes;
                sums.unique += unique;
                sums.transfers += transfers;
            }
            Actors::Instructions => {
                let sums = &mut self.instruction_edges[edge.edge as usize];
                sums.bytes += bytes;
                sums.transfers += transfers;
            }
        }
    }

    /// The edges between instructions, which are gone then.
    pub fn take_instruction_edges(&mut self) -> impl Iterator<Item = InstructionEdge> {
        std::mem::take(&mut self.instruction_edges).into_iter().skip(1)
    }

    /// Bytes that were written for nothing.
    #[inline]
    pub fn dead(&mut self, writer: ActorId, bytes: u64) {
        let function = self.function_of(writer);
        self.functions[function.index()].dead_bytes += bytes;
    }

    /// A version that nobody has read, of this many bytes, is replaced.
    #[inline(never)]
    pub fn replaced(&mut self, cell: &Cell, bytes: u64) {
        if let Some(writer) = cell.dead_writer().filter(|_| cell.is_written()) {
            self.dead(writer, bytes);
        }
    }

    /// A call instance has ended.
    pub fn end(&mut self, ended: &Ended) {
        if !self.wanted {
            return;
        }
        let call = &ended.row;
        let sums = &mut self.functions[call.function.index()];
        sums.calls += 1;
        sums.steps_self += call.steps_self;
        if ended.outermost {
            sums.steps_total += call.steps_total;
        }
        let key = (ended.caller, call.function, call.kind);
        let last = &mut self.last_calls[call.function.index() % 1024];
        if self.calls.get(*last as usize).is_none_or(|(known, ..)| *known != key) {
            *last = *self.call_index.entry(key).or_insert_with(|| {
                self.calls.push((key, 0, 0));
                self.calls.len() as u32 - 1
            });
        }
        let (_, calls, steps) = &mut self.calls[*last as usize];
        *calls += 1;
        *steps += call.steps_total;
    }

    pub fn call_edges(&self) -> Vec<CallEdge> {
        CallEdge::list(self.calls.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Each byte once, whether pages come as runs or one by one.
    #[test]
    fn touched_bytes_are_those_of_a_set() {
        let mut below = crate::analysis::random::below(7);
        for _ in 0..40 {
            let mut touched = Touched::default();
            let mut model = vec![vec![false; 18 * PAGE as usize]; 3];
            for _ in 0..30 {
                let pair = 1 + below(2) as PairIndex;
                let (first, pages) = (below(12), 1 + below(6));
                // Far up, too.
                let base = (pair as u64 - 1) << 34;
                let (new, range) = if below(2) == 0 {
                    let range = first * PAGE..(first + pages) * PAGE;
                    (touched.set_pages(pair, base + first, base + first + pages - 1), range)
                } else {
                    let start = below(PAGE - 1);
                    let len = 1 + below(PAGE - start);
                    let range = first * PAGE + start..first * PAGE + start + len;
                    (touched.set(pair, Mark { page: base + first }, start, len), range)
                };
                let here = &mut model[pair as usize][range.start as usize..range.end as usize];
                let expected = here.iter().filter(|is| !**is).count();
                here.fill(true);
                assert_eq!(new, expected as u64);
            }
        }
    }

    /// Registers of threads and pages of memory are apart, however large a register file is; and of lines of a page, each
    /// byte counts once.
    #[test]
    fn bytes_of_registers_and_of_pages_are_apart() {
        let mut below = crate::analysis::random::below(11);
        for _ in 0..40 {
            let (mut touched, mut model) = (Touched::default(), BTreeSet::new());
            for _ in 0..120 {
                let pair = 1 + below(2) as PairIndex;
                let of = below(6);
                let (mark, start, len) = match of {
                    // Up to four pages of each thread's.
                    0..3 => {
                        let start = below(4 * PAGE - 8);
                        let len = 1 + below((PAGE - start % PAGE).min(8));
                        (Mark::registers(of as usize), start, len)
                    }
                    // Pages near the first.
                    _ => {
                        let start = below(40) * 100;
                        (Mark::memory((of - 3) * PAGE), start, 1 + below((PAGE - start).min(200)))
                    }
                };
                let new = touched.set(pair, mark, start, len);
                let expected =
                    (start..start + len).filter(|at| model.insert((pair, of, *at))).count();
                assert_eq!(new, expected as u64);
            }
        }
    }

    /// A range counts each of its bytes once, whatever parts of it were counted before: of a page, of many, from anywhere.
    #[test]
    fn a_range_is_as_all_its_bytes() {
        let mut below = crate::analysis::random::below(5);
        for _ in 0..8 {
            let mut sums = Sums::new(Actors::Functions, true);
            let (writer, place) = (Packed::step(FunctionId::FIRST), PlaceCode::REGISTER);
            sums.add_instruction(FunctionId::FIRST);
            let pair = sums.pair(writer, writer, place);
            let (mut model, mut expected) = (vec![false; (60 * PAGE) as usize], 0);
            for _ in 0..12 {
                let mut from = below(40 * PAGE);
                let mut len = below(20 * PAGE);
                if below(3) > 0 {
                    from -= from % PAGE;
                }
                if below(3) > 0 {
                    len = LONG_RUN * PAGE + below(3) * PAGE - below(2);
                }
                sums.touch_range(pair, place, from, len);
                let here = &mut model[from as usize..(from + len) as usize];
                expected += here.iter().filter(|is| !**is).count() as u64;
                here.fill(true);
                let found: u64 = sums.all_pairs().iter().map(|(.., sums)| sums.addresses).sum();
                assert_eq!(found, expected);
            }
        }
    }
}
