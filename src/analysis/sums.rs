//! Sums over the whole run: by pair of functions, by pair of instructions, by function and by call
//! edge.

use super::memory::PAGE;
use super::origin::Packed;
use super::place::PlaceCode;
use super::stack::{CallKind, Ended};
use crate::id::{FunctionId, InstructionId};
use rustc_hash::FxHashMap;

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

/// A pair of functions, with its sums by place.
pub struct Pair {
    /// Function or source.
    pub writer: Packed,
    /// Function, or the kernel by the name of what it did with the bytes.
    pub reader: Packed,
    pub sums: Vec<(PlaceCode, PairSums)>,
}

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

/// Addresses that a function pair shared: per page a bit a byte.
struct Touched {
    index: FxHashMap<(PairIndex, u64), u32>,
    pages: Vec<[u64; (PAGE / 64) as usize]>,
    /// Direct-mapped cache of the index: (pair, page number, page); there is no pair 0.
    cache: Box<[(PairIndex, u64, u32); 1024]>,
}

impl Default for Touched {
    fn default() -> Touched {
        Touched {
            index: FxHashMap::default(),
            pages: Vec::new(),
            cache: Box::new([(0, 0, 0); 1024]),
        }
    }
}

impl Touched {
    /// Sets `len` bytes from `start` on, which lie in one page; gives how many were new.
    fn set(&mut self, pair: PairIndex, mark: Mark, start: u64, len: u64) -> u64 {
        let number = mark.page + start / PAGE;
        let slot = &mut self.cache[(pair.wrapping_mul(61) as usize ^ number as usize) & 1023];
        if (slot.0, slot.1) != (pair, number) {
            let pages = &mut self.pages;
            let page = *self.index.entry((pair, number)).or_insert_with(|| {
                pages.push([0; (PAGE / 64) as usize]);
                pages.len() as u32 - 1
            });
            *slot = (pair, number, page);
        }
        let bits = &mut self.pages[slot.2 as usize];
        let (mut at, end, mut new) = (start % PAGE, start % PAGE + len, 0);
        while at < end {
            let n = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - n)) << (at % 64);
            let word = &mut bits[(at / 64) as usize];
            new += u64::from((mask & !*word).count_ones());
            *word |= mask;
            at += n;
        }
        new
    }
}

/// The sums of a pass.
pub struct Sums {
    /// Function of each instruction.
    function_of: Vec<FunctionId>,
    /// By function.
    pub functions: Vec<FunctionSums>,
    pair_index: FxHashMap<(Packed, Packed), PairIndex>,
    pub pairs: Vec<Pair>,
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
            pairs.push(Pair { writer, reader, sums: Vec::new() });
            pairs.len() as PairIndex
        })
    }

    pub fn of_pair(&mut self, pair: PairIndex, place: PlaceCode) -> &mut PairSums {
        let sums = &mut self.pairs[pair as usize - 1].sums;
        let i = sums.iter().position(|(p, _)| *p == place).unwrap_or_else(|| {
            sums.push((place, PairSums::default()));
            sums.len() - 1
        });
        &mut sums[i].1
    }

    /// Counts the addresses of `len` bytes from `start` on, which lie in one page, that the pair has
    /// not shared before.
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

    pub fn edges(&self) -> &[InstructionEdge] {
        &self.edges[1..]
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
