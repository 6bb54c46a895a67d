//! One pass over the runs of a trace: call instances, intervals, last writers, saved registers, and
//! the sums by instance, function pair and instruction pair. The rules are those of
//! `docs/semantics.md`.

use super::block::{self, AccessPlace, Met, OpKind, Prepared};
use super::shadow::{Cell, Memory, PAGE, PageKind, Place, Pools, SectionRange, WORD};
use super::superblock::{Id, Superblocks};
use super::*;
use crate::event::{BlockDef, InsnDef, MemShape, RegSpan, RunBatch, RunEnd};
use crate::isa::{Decoded, FlowKind};
use rustc_hash::FxHashMap;

/// What of the rows is asked for; sums by function and instruction are always made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Registers saved and restored count as ordinary accesses.
    pub literal_saves: bool,
    /// Rows of `communication`.
    pub communications: bool,
    /// Also those inside one call instance.
    pub local_communications: bool,
    /// Rows of calls, intervals, saves and dataflow between instances.
    pub instances: bool,
    /// A rule to leave out.
    pub mutation: Option<Mutation>,
    /// Times that a block must follow another before both are taken as one; no result depends on
    /// it.
    pub superblock_after: u32,
}

/// A rule of `docs/semantics.md` that the pass can leave out, so that a test can see that the SQL
/// finds it out.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A call to the next instruction is none.
    CallToNext,
    Tails,
    /// A return ends the frames above the one that it goes to.
    Unwinding,
    /// A return goes to the frame of its slot, not only of its address.
    Slots,
    Signals,
    SignalEnds,
    StubKinds,
    /// An interval begins where control comes back.
    Intervals,
    /// What a return loads is no data.
    ReturnLoads,
    /// A write of some bytes of a word leaves the others.
    PartialWrites,
    Saves,
    /// A store of what the instance wrote itself is no save.
    OwnStores,
    Restores,
    /// A restore gives back the writers from before the save.
    OldWriters,
    Exposure,
    /// Registers handed on inside a block.
    Inside,
    /// A block is cut where a restore may feed what comes behind it.
    Cuts,
    /// Unique bytes count once per reading instance.
    Unique,
    /// Two parts of a write that one access reads are one transfer.
    Transfers,
    Addresses,
}

impl Mutation {
    pub const ALL: [Mutation; 20] = [
        Mutation::CallToNext,
        Mutation::Tails,
        Mutation::Unwinding,
        Mutation::Slots,
        Mutation::Signals,
        Mutation::SignalEnds,
        Mutation::StubKinds,
        Mutation::Intervals,
        Mutation::ReturnLoads,
        Mutation::PartialWrites,
        Mutation::Saves,
        Mutation::OwnStores,
        Mutation::Restores,
        Mutation::OldWriters,
        Mutation::Exposure,
        Mutation::Inside,
        Mutation::Cuts,
        Mutation::Unique,
        Mutation::Transfers,
        Mutation::Addresses,
    ];
}

/// Register space, section or region of an address, as a number: the part of `via` that is known
/// while streaming.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceCode(pub u32);

impl PlaceCode {
    pub const REGISTER: PlaceCode = PlaceCode(0);
    const REGION: u32 = 1 << 30;
    fn is_region(self) -> bool {
        self.0 >= PlaceCode::REGION
    }
    pub fn of(place: Place) -> PlaceCode {
        match place {
            Place::Section(s) => PlaceCode(1 + s),
            Place::Region(r) => PlaceCode(PlaceCode::REGION + r),
        }
    }
    /// None: register.
    pub fn place(self) -> Option<Place> {
        match self.0 {
            0 => None,
            c if c >= PlaceCode::REGION => Some(Place::Region(c - PlaceCode::REGION)),
            c => Some(Place::Section(c - 1)),
        }
    }
}

/// Steps of a trace among which its first stack pointer is looked for.
const FIRST_SP_STEPS: u64 = 1 << 20;
/// Bytes of the stack below an instance's frame top that count as its frame.
const FRAME_REACH: u64 = 8 << 20;
/// Writers that are no instance, in `FlowEntry::writer`.
const NOBODY_ABOVE: u32 = u32::MAX;
const NOBODY_BELOW: u32 = u32::MAX - 1;
/// Entries of a live instance's flows above which they are handed out early.
const FLOWS_MAX: usize = 1 << 16;

/// Sums of a function pair by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub bytes: u64,
    pub unique: u64,
    pub transfers: u64,
    pub addresses: u64,
}

/// A side of a pair: a function, or nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    Function(u32),
    None { above: bool },
}

#[derive(Clone, Copy, Debug)]
struct FlowEntry {
    writer: u32,
    /// Function of the writer; meaningless for nobody.
    function: u32,
    place: PlaceCode,
    bytes: u64,
    unique: u64,
    transfers: u64,
}

/// Flows into one live instance: few, so a list; a map from its sixteenth entry on.
#[derive(Default)]
struct Flows {
    list: Vec<FlowEntry>,
    map: FxHashMap<(u32, PlaceCode), u32>,
}

impl Flows {
    const LINEAR: usize = 16;

    /// Sets `hint` to the flow from `writer`, which it mostly is already.
    #[inline]
    fn entry(
        &mut self,
        hint: &mut u32,
        writer: u32,
        place: PlaceCode,
        function: impl FnOnce() -> u32,
    ) -> &mut FlowEntry {
        match self.list.get(*hint as usize) {
            Some(e) if e.writer == writer && e.place == place => {}
            _ => *hint = self.look_up(writer, place, function) as u32,
        }
        &mut self.list[*hint as usize]
    }

    #[inline(never)]
    fn look_up(&mut self, writer: u32, place: PlaceCode, function: impl FnOnce() -> u32) -> usize {
        let found = if self.list.len() <= Flows::LINEAR {
            self.list.iter().position(|e| e.writer == writer && e.place == place)
        } else {
            self.map.get(&(writer, place)).map(|&i| i as usize)
        };
        found.unwrap_or_else(|| {
            self.list.push(FlowEntry {
                writer,
                function: function(),
                place,
                bytes: 0,
                unique: 0,
                transfers: 0,
            });
            let new = self.list.len() - 1;
            if new == Flows::LINEAR {
                self.map.extend(
                    self.list.iter().enumerate().map(|(i, e)| ((e.writer, e.place), i as u32)),
                );
            } else if new > Flows::LINEAR {
                self.map.insert((writer, place), new as u32);
            }
            new
        })
    }

    fn clear(&mut self) {
        self.list.clear();
        if !self.map.is_empty() {
            self.map.clear();
        }
    }
}

/// A live call instance.
struct Frame {
    call: u32,
    function: u32,
    instance: u32,
    tail_of: u32,
    kind: CallKind,
    /// Return address and slot of the token; None for root and signal.
    token: Option<(u64, Option<u64>)>,
    frame_top: Option<u64>,
    /// Addresses at which an interrupted instance goes on; empty if this is no signal.
    interrupted: Vec<u64>,
    call_seq: u64,
    call_time: Option<u64>,
    call_insn: Option<u32>,
    caller_function: u32,
    steps_self: u64,
    steps_below: u64,
    bytes_in: u64,
    /// No ancestor of the same function is live.
    outermost: bool,
    flows: Flows,
    /// Some of the flows were handed out before its end.
    flowed: bool,
    /// Live saves, and a mask of their registers.
    saves: Vec<u32>,
    save_mask: u64,
}

/// Bytes of a register as they were when saved.
#[derive(Clone, Debug)]
struct Piece {
    offset: u16,
    len: u16,
    cell: Cell,
    pending: AccessId,
    readers: Vec<u32>,
    /// The saving instance had read this version when it saved.
    seen: bool,
}

/// Notes `call` as a reader of the bytes of `mine` in copies of the same version.
fn note_piece_reader(pieces: &mut Vec<Piece>, mine: &Piece, call: u32) {
    let (from, to) = (mine.offset, mine.offset + mine.len);
    let mut i = 0;
    while i < pieces.len() {
        let piece = &mut pieces[i];
        let end = piece.offset + piece.len;
        if piece.cell.write != mine.cell.write || end <= from || piece.offset >= to {
            i += 1;
        } else if piece.offset < from || end > to {
            // Cut it where it goes beyond; the parts are looked at again.
            let at = if piece.offset < from { from } else { to };
            let mut rest = piece.clone();
            piece.len = at - piece.offset;
            (rest.offset, rest.len) = (at, end - at);
            pieces.insert(i + 1, rest);
        } else {
            let last = piece.cell.reader & !Cell::MORE;
            if last == 0 {
                piece.cell.reader = call;
            } else if last != call && !piece.readers.contains(&call) {
                piece.readers.push(last);
                piece.cell.reader = call | Cell::MORE;
            }
            i += 1;
        }
    }
}

/// A live save.
struct Save {
    call: u32,
    register: RegSpan,
    address: u64,
    store: AccessId,
    read_ordinal: u16,
    insn: u32,
    value: Option<u64>,
    pieces: Vec<Piece>,
    /// Bytes of the saved version that the saving instance read otherwise after the save.
    read_otherwise: u64,
    restores: u32,
    restore_seq: u64,
    exposed_seq: u64,
}

use super::shadow::AccessId;

fn access_id(seq: u64, ordinal: u16) -> AccessId {
    seq << 16 | ordinal as u64
}

/// Registers and call stack of a thread.
struct Thread {
    id: u32,
    registers: Vec<Cell>,
    /// Per register byte: store of the live save of its version, 0 if none.
    pending: Vec<AccessId>,
    /// Per register word: whether `pending` may have anything there.
    pending_words: Vec<bool>,
    stack: Vec<Frame>,
    /// How many live frames have this return address in their token.
    returns: FxHashMap<u64, u32>,
    /// Live instances by function.
    live: FxHashMap<u32, u32>,
    previous: Option<Previous>,
    interval: u32,
    interval_start: u64,
    interval_time: Option<u64>,
    last_seq: u64,
    last_time: Option<u64>,
    steps: u64,
}

impl Thread {
    /// Whether a live save may be pending for any byte of a register.
    #[inline]
    fn is_pending(&self, span: RegSpan) -> bool {
        self.pending_words[span.offset as usize / WORD as usize..]
            .iter()
            .take(words(span))
            .any(|p| *p)
    }
    fn set_pending(&mut self, span: RegSpan, value: bool) {
        self.pending_words[span.offset as usize / WORD as usize..]
            .iter_mut()
            .take(words(span))
            .for_each(|p| *p = value);
    }
}

/// Words that the bytes of a register lie in.
fn words(span: RegSpan) -> usize {
    let (first, end) = (span.offset as u64, (span.offset + span.size) as u64);
    (end.div_ceil(WORD) - first / WORD) as usize
}

/// The step before, as far as the next one depends on it.
#[derive(Clone, Copy)]
struct Previous {
    last: block::Last,
    slot: Option<u64>,
    end: Option<RunEnd>,
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

/// An executed instruction.
#[derive(Clone, Debug)]
pub struct Insn {
    pub def: InsnDef,
    pub decoded: Decoded,
    pub function: u32,
}

/// Addresses that a function pair shared: per page a bit a byte.
struct Touched {
    index: FxHashMap<(u32, u64), u32>,
    pages: Vec<[u64; (PAGE / 64) as usize]>,
    /// Direct-mapped cache of the index: (pair, page number, page); there is no pair 0.
    cache: Box<[(u32, u64, u32); 1024]>,
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
    /// Sets the bytes, which lie in one page; gives how many were new.
    fn set(&mut self, pair: u32, address: u64, len: u64) -> u64 {
        let number = address / PAGE;
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
        let (mut at, end, mut new) = (address % PAGE, address % PAGE + len, 0);
        while at < end {
            let n = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - n)) << (at % 64);
            let word = &mut bits[(at / 64) as usize];
            new += (mask & !*word).count_ones() as u64;
            *word |= mask;
            at += n;
        }
        new
    }
}

/// Key of register bytes among addresses of pairs: threads' registers lie in pages of their own
/// beyond all memory pages.
fn register_key(thread: u32, offset: u64) -> u64 {
    (1 << 63 | (thread as u64) << 14) + offset
}

struct Pair {
    writer: Side,
    reader: u32,
    sums: Vec<(PlaceCode, Sums)>,
}

#[derive(Default)]
struct Pairs {
    index: FxHashMap<(Side, u32), u32>,
    list: Vec<Pair>,
    touched: Touched,
}

impl Pairs {
    /// Index from 1.
    fn pair(&mut self, writer: Side, reader: u32) -> u32 {
        let list = &mut self.list;
        *self.index.entry((writer, reader)).or_insert_with(|| {
            list.push(Pair { writer, reader, sums: Vec::new() });
            list.len() as u32
        })
    }
    fn sums(&mut self, pair: u32, place: PlaceCode) -> &mut Sums {
        let sums = &mut self.list[pair as usize - 1].sums;
        let i = match sums.iter().position(|(p, _)| *p == place) {
            Some(i) => i,
            None => {
                sums.push((place, Sums::default()));
                sums.len() - 1
            }
        };
        &mut sums[i].1
    }
}

/// Sums of an instruction pair by place, with the pair of their functions.
#[derive(Clone, Copy)]
struct InsnEdge {
    writer: u32,
    reader: u32,
    place: PlaceCode,
    /// Index of the function pair.
    pair: u32,
    bytes: u64,
    transfers: u64,
}

/// Sums by instruction pair. A reading operation remembers its last two edges, of which mostly one
/// is its next: the hash is for the rest.
struct InsnEdges {
    index: FxHashMap<(u32, u32, u32), u32>,
    /// The first one is nobody's.
    list: Vec<InsnEdge>,
}

impl InsnEdges {
    fn new() -> InsnEdges {
        let nobody = InsnEdge {
            writer: u32::MAX,
            reader: u32::MAX,
            place: PlaceCode(u32::MAX),
            pair: 0,
            bytes: 0,
            transfers: 0,
        };
        InsnEdges { index: FxHashMap::default(), list: vec![nobody] }
    }
    /// Sets the first hint to the edge from `writer` ([`NO_INSN`] and [`NO_INSN_ABOVE`] included).
    #[inline]
    fn find(
        &mut self,
        hints: &mut [u32; 2],
        writer: u32,
        reader: u32,
        place: PlaceCode,
        pairs: &mut Pairs,
        insns: &[Insn],
    ) -> &mut InsnEdge {
        let list = &self.list;
        let is = |i: u32| {
            let edge = &list[i as usize];
            edge.writer == writer && edge.place == place && edge.reader == reader
        };
        if !is(hints[0]) {
            let found = if is(hints[1]) {
                hints[1]
            } else {
                self.look_up(writer, reader, place, pairs, insns)
            };
            *hints = [found, hints[0]];
        }
        &mut self.list[hints[0] as usize]
    }
    #[inline(never)]
    fn look_up(
        &mut self,
        writer: u32,
        reader: u32,
        place: PlaceCode,
        pairs: &mut Pairs,
        insns: &[Insn],
    ) -> u32 {
        let list = &mut self.list;
        *self.index.entry((writer, reader, place.0)).or_insert_with(|| {
            let side = match writer {
                NO_INSN => Side::None { above: false },
                NO_INSN_ABOVE => Side::None { above: true },
                _ => Side::Function(insns[writer as usize].function),
            };
            let pair = pairs.pair(side, insns[reader as usize].function);
            list.push(InsnEdge { writer, reader, place, pair, bytes: 0, transfers: 0 });
            list.len() as u32 - 1
        })
    }
}

/// Writer instruction of bytes that no step wrote.
pub const NO_INSN: u32 = Cell::SLOT - 2;
const NO_INSN_ABOVE: u32 = Cell::SLOT - 1;

/// The part of a read that one write fed.
struct Part {
    cell: Cell,
    address: u64,
    len: u64,
    unique: u64,
    pair: u32,
    above: bool,
}

/// What a number of [`Flow::place`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowPlace {
    /// A section that stands for all of its `via`, or for all of its name if nobody wrote; a region
    /// as it was known then.
    pub place: PlaceCode,
    /// No step wrote; whether at or above the first stack pointer.
    pub nobody: Option<bool>,
}

/// Hands out the flows into an instance.
#[derive(Default)]
struct HandOut {
    /// Scratch.
    rows: Vec<FlowEntry>,
    numbers: FxHashMap<FlowPlace, u32>,
    places: Vec<FlowPlace>,
    last: Option<(FlowPlace, u32)>,
}

impl HandOut {
    fn number(&mut self, place: FlowPlace) -> u32 {
        if let Some((last, number)) = self.last
            && last == place
        {
            return number;
        }
        let places = &mut self.places;
        let number = *self.numbers.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u32 - 1
        });
        self.last = Some((place, number));
        number
    }

    /// Adds the flows to the function pairs and, with `rows`, gives them out by instance, those
    /// together that surely are of the same `via`. Of two regions that is not known before the end.
    fn flows(
        &mut self,
        frame: &mut Frame,
        output: &mut impl Output,
        pairs: &mut Pairs,
        memory: &mut Memory,
        rows: bool,
    ) {
        for e in &frame.flows.list {
            frame.bytes_in += if e.writer == frame.call { 0 } else { e.bytes };
            let side = match e.writer {
                NOBODY_ABOVE => Side::None { above: true },
                NOBODY_BELOW => Side::None { above: false },
                _ => Side::Function(e.function),
            };
            let pair = pairs.pair(side, frame.function);
            let sums = pairs.sums(pair, e.place);
            sums.bytes += e.bytes;
            sums.unique += e.unique;
            sums.transfers += e.transfers;
        }
        if rows {
            let mut list = std::mem::take(&mut self.rows);
            list.clear();
            list.extend(frame.flows.list.iter().map(|e| {
                let place = match e.place.place() {
                    Some(Place::Section(s)) if e.writer < NOBODY_BELOW => {
                        PlaceCode::of(Place::Section(memory.via(s)))
                    }
                    Some(Place::Region(r)) => PlaceCode::of(Place::Region(memory.regions.find(r))),
                    _ => e.place,
                };
                FlowEntry { place, ..*e }
            }));
            list.sort_unstable_by_key(|e| (e.writer, e.place));
            list.dedup_by(|next, e| {
                let same = next.writer == e.writer && next.place == e.place;
                if same {
                    e.bytes += next.bytes;
                    e.unique += next.unique;
                    e.transfers += next.transfers;
                }
                same
            });
            for group in list.chunk_by(|a, b| {
                a.writer == b.writer || a.writer >= NOBODY_BELOW && b.writer >= NOBODY_BELOW
            }) {
                let several = group.iter().filter(|e| e.place.is_region()).count() > 1;
                for e in group {
                    let (writer, nobody) = match e.writer {
                        NOBODY_ABOVE => (Writer::None { above: true }, Some(true)),
                        NOBODY_BELOW => (Writer::None { above: false }, Some(false)),
                        call => (Writer::Call { call, function: e.function }, None),
                    };
                    output.flow(Flow {
                        writer,
                        reader: frame.call,
                        reader_function: frame.function,
                        place: self.number(FlowPlace { place: e.place, nobody }),
                        part: frame.flowed || (several && e.place.is_region()),
                        bytes: e.bytes,
                        unique: e.unique,
                        transfers: e.transfers,
                    });
                }
            }
            self.rows = list;
        }
        frame.flows.clear();
    }
}

/// Where bytes lie that are read or written: the words, and how their offsets relate to addresses
/// and keys.
enum Space {
    Memory { page: u32 },
    Register,
}

/// The pass. Push batches in order, then take the sums with [`Pass::finish`].
pub struct Pass<C, O> {
    pub code: C,
    pub output: O,
    options: Options,
    pub insns: Vec<Insn>,
    pub blocks: Vec<Prepared>,
    pub defs: Vec<BlockDef>,
    superblocks: Superblocks,
    threads: Vec<Thread>,
    thread_index: FxHashMap<u32, usize>,
    memory: Memory,
    pools: Pools,
    saves: Vec<Save>,
    free_saves: Vec<u32>,
    /// Live saves by the id of their store.
    save_index: FxHashMap<AccessId, u32>,
    /// Scratch, so that nothing is allocated per record.
    parts: Vec<Part>,
    /// Writes that fed the current read; of no step (0) by which nobody it is.
    sources: Vec<(AccessId, PlaceCode, bool)>,
    restored: Vec<(u32, RegSpan)>,
    /// Versions that a copying function has loaded, with their lengths, and the part of a register
    /// that they are to go to.
    gathered: Vec<(u64, Cell)>,
    copy_low: Option<RegSpan>,
    /// Rows of an access that crosses a page.
    held: Vec<Communication>,
    crossing: bool,
    spare_frames: Vec<(Flows, Vec<u32>)>,
    next_call: u32,
    next_interval: u32,
    instances: Vec<u32>,
    functions: Vec<FunctionSums>,
    pairs: Pairs,
    insn_edges: InsnEdges,
    hand_out: HandOut,
    call_edges: FxHashMap<(u32, u32, CallKind), (u64, u64)>,
    /// First stack pointer of the first thread.
    first_sp: Option<u64>,
    /// Steps that were searched for it.
    searched: u64,
    register_bytes: usize,
    /// Link-register instruction set: the slot of a token is the stack pointer.
    sp_tokens: bool,
    seq: u64,
    signals: u64,
}

/// What is left when the trace has ended.
pub struct Summary {
    pub functions: Vec<FunctionSums>,
    pub pairs: Vec<(Side, u32, PlaceCode, Sums)>,
    /// (writer instruction or [`NO_INSN`] with `above`, reader instruction, place, bytes,
    /// transfers)
    pub insn_edges: Vec<(u32, bool, u32, PlaceCode, u64, u64)>,
    /// (caller function or 0, callee function, kind, calls, steps of the callees' instances)
    pub call_edges: Vec<(u32, u32, CallKind, u64, u64)>,
    /// (first address, last address, region root, stack) of each maximal range of touched pages
    /// outside of sections.
    pub regions: Vec<(u64, u64, bool)>,
    /// Per region number of [`PlaceCode`]: whether it is stack.
    pub region_is_stack: Vec<bool>,
    /// By number of [`Flow::place`].
    pub flow_places: Vec<FlowPlace>,
    pub first_sp: Option<u64>,
    pub steps: u64,
    pub threads: Vec<(u32, u64)>,
    pub calls: u32,
    pub intervals: u32,
    pub signals: u64,
    pub pages: usize,
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// `sections` sorted by address; `register_bytes` is the size of a thread's register file;
    /// `sp_tokens` for instruction sets with a link register.
    pub fn new(
        code: C,
        output: O,
        options: Options,
        sections: Vec<SectionRange>,
        register_bytes: usize,
        sp_tokens: bool,
    ) -> Self {
        Pass {
            code,
            output,
            options,
            insns: Vec::new(),
            blocks: Vec::new(),
            defs: Vec::new(),
            superblocks: Superblocks::new(options.superblock_after),
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            memory: Memory::new(sections),
            pools: Pools::new(options.mutation == Some(Mutation::PartialWrites)),
            saves: Vec::new(),
            free_saves: Vec::new(),
            save_index: FxHashMap::default(),
            parts: Vec::new(),
            sources: Vec::new(),
            restored: Vec::new(),
            gathered: Vec::new(),
            copy_low: None,
            held: Vec::new(),
            crossing: false,
            spare_frames: Vec::new(),
            next_call: 1,
            next_interval: 1,
            instances: Vec::new(),
            functions: Vec::new(),
            pairs: Pairs::default(),
            insn_edges: InsnEdges::new(),
            hand_out: HandOut::default(),
            call_edges: FxHashMap::default(),
            first_sp: None,
            searched: 0,
            register_bytes,
            sp_tokens,
            seq: 1,
            signals: 0,
        }
    }

    /// Sequence number of the next step.
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    /// Adds an instruction to the dictionary; its id is the number of those before it.
    pub fn add_insn(&mut self, def: InsnDef, decoded: Decoded) {
        let function = self.code.function_at(def.address);
        let f = function as usize;
        if self.functions.len() <= f {
            self.functions.resize(f + 1, FunctionSums::default());
            self.instances.resize(f + 1, 0);
        }
        self.insns.push(Insn { def, decoded, function });
    }

    /// Adds a block; its accesses without operand are matched with the decoder's.
    pub fn add_block(&mut self, mut def: BlockDef) {
        let mut at = 0;
        for step in &def.steps {
            let shapes = &mut def.mem[at..at + step.mem as usize];
            at += step.mem as usize;
            if shapes.iter().any(|s| s.operand == MemShape::NO_OPERAND) {
                block::match_operands(&self.insns[step.insn as usize].decoded, shapes);
            }
        }
        self.blocks.push(self.prepare(&def));
        self.defs.push(def);
    }

    fn prepare(&self, def: &BlockDef) -> Prepared {
        let (insns, code) = (&self.insns, &self.code);
        block::prepare(
            def,
            &|i| &insns[i as usize].decoded,
            &|i| insns[i as usize].def.address,
            &|i| insns[i as usize].function,
            &|i| code.is_through(insns[i as usize].function),
            self.options.literal_saves,
        )
    }

    /// Makes a superblock of `id` and the block `next` behind it, unless control may leave the call
    /// instance in between.
    #[cold]
    fn join(&mut self, id: Id, next: u32) {
        // Their order would depend on where a batch ends.
        if self.options.local_communications {
            return;
        }
        let before = match id {
            Id::Block(b) => &self.blocks[b as usize],
            Id::Superblock(s) => &self.superblocks.prepared[s as usize],
        };
        let Some(members) = self.superblocks.members(id, next, before, &self.blocks[next as usize])
        else {
            return;
        };
        let defs = || members.iter().map(|&m| &self.defs[m as usize]);
        let def = BlockDef {
            steps: defs().flat_map(|d| d.steps.iter().copied()).collect(),
            mem: defs().flat_map(|d| d.mem.iter().copied()).collect(),
        };
        let prepared = self.prepare(&def);
        self.superblocks.join(id, members, prepared);
    }

    fn prepared(&mut self, id: Id) -> &mut Prepared {
        match id {
            Id::Block(b) => &mut self.blocks[b as usize],
            Id::Superblock(s) => &mut self.superblocks.prepared[s as usize],
        }
    }

    /// Looks for the stack pointer before the first stack-relative access of the trace's first
    /// thread, in runs that have not been pushed. On which side of it an unwritten byte of the
    /// stack lies must not depend on when the byte is read: so this comes before the first push.
    /// Returns whether the search is over: found, or not among the first [`FIRST_SP_STEPS`].
    pub fn find_first_sp(&mut self, batch: &RunBatch) -> bool {
        let thread = |i: usize| batch.thread.get(i).copied().unwrap_or(0);
        if self.threads.is_empty() && !batch.block.is_empty() {
            self.thread(thread(0));
        }
        let mut addresses = &batch.addresses[..];
        for (i, &b) in batch.block.iter().enumerate() {
            if self.first_sp.is_some() || self.searched >= FIRST_SP_STEPS {
                return true;
            }
            let block = &self.blocks[b as usize];
            let (here, rest) = addresses.split_at(block.mem as usize);
            addresses = rest;
            let start = self.searched;
            self.searched += block.steps as u64;
            if thread(i) != self.threads[0].id {
                continue;
            }
            let (def, insns, mut found) = (&self.defs[b as usize], &self.insns, None);
            let decoded = |i: u32| &insns[i as usize].decoded;
            block::accesses(def, decoded, |a| {
                if found.is_none()
                    && a.stack_relative
                    && let AccessPlace::Memory(m) = a.place
                    && start + (a.step as u64) < FIRST_SP_STEPS
                {
                    let insn = decoded(def.steps[a.step as usize].insn);
                    let push =
                        a.is_write && insn.writes.iter().any(|w| w.control && w.span.size >= 4);
                    found =
                        Some(here[m as usize].wrapping_add(if push { a.size as u64 } else { 0 }));
                }
            });
            self.first_sp = found;
        }
        self.first_sp.is_some() || self.searched >= FIRST_SP_STEPS
    }

    /// Takes the runs of a batch whose definitions have been added.
    pub fn push(&mut self, batch: &RunBatch) {
        let mut addresses = &batch.addresses[..];
        let mut values = &batch.values[..];
        let mut time = &batch.time[..];
        let mut i = 0;
        while i < batch.block.len() {
            let found = self.superblocks.longest(batch, i);
            let block = self.prepared(found.id);
            let (mem, steps) = (block.mem as usize, block.steps as usize);
            let (here, rest) = addresses.split_at(mem);
            addresses = rest;
            let known = if values.is_empty() {
                &[]
            } else {
                let (v, rest) = values.split_at(mem);
                values = rest;
                v
            };
            let times = if time.is_empty() {
                &[]
            } else {
                let (t, rest) = time.split_at(steps);
                time = rest;
                t
            };
            let thread = batch.thread.get(i).copied().unwrap_or(0);
            i += found.runs;
            self.run(thread, found.id, here, known, times, batch.end.get(i - 1).copied());
            if found.hot {
                self.join(found.id, batch.block[i]);
            }
        }
    }

    fn thread(&mut self, id: u32) -> usize {
        if let Some(t) = self.threads.first()
            && t.id == id
        {
            return 0;
        }
        if let Some(&t) = self.thread_index.get(&id) {
            return t;
        }
        self.threads.push(Thread {
            id,
            registers: vec![Cell::EMPTY; self.register_bytes.div_ceil(WORD as usize)],
            pending: vec![0; self.register_bytes.next_multiple_of(WORD as usize)],
            pending_words: vec![false; self.register_bytes.div_ceil(WORD as usize)],
            stack: Vec::new(),
            returns: FxHashMap::default(),
            live: FxHashMap::default(),
            previous: None,
            interval: 0,
            interval_start: 0,
            interval_time: None,
            last_seq: 0,
            last_time: None,
            steps: 0,
        });
        self.thread_index.insert(id, self.threads.len() - 1);
        self.threads.len() - 1
    }

    fn without(&self, rule: Mutation) -> bool {
        self.options.mutation == Some(rule)
    }

    fn run(
        &mut self,
        thread: u32,
        id: Id,
        addresses: &[u64],
        values: &[Option<u64>],
        times: &[u64],
        end: Option<RunEnd>,
    ) {
        let t = self.thread(thread);
        let seq = self.seq;
        let block = self.prepared(id);
        let (steps, last, first_address, function) =
            (block.steps, block.last, block.first_address, block.segments[0].function);
        self.transfer(t, seq, first_address, function, times.first().copied());
        let save_mask = self.threads[t].stack.last().map_or(0, |f| f.save_mask);
        let cut = self.options.mutation != Some(Mutation::Cuts);
        let block = self.prepared(id);
        let careful = block.hazard_mask != 0
            && cut
            && (block.always_careful || block.hazard_mask & save_mask != 0);
        // Taken out while it runs, so that the rest of `self` can be changed.
        let mut segments =
            std::mem::take(if careful { &mut block.careful } else { &mut block.segments });
        for (i, segment) in segments.iter_mut().enumerate() {
            let at = seq + segment.first_step as u64;
            if i > 0 {
                // What ends here ended with the segment before.
                let state = &mut self.threads[t];
                state.last_seq = at - 1;
                state.last_time = (segment.first_step as usize)
                    .checked_sub(1)
                    .and_then(|s| times.get(s))
                    .copied();
                self.fall_into(
                    t,
                    at,
                    segment.function,
                    times.get(segment.first_step as usize).copied(),
                );
            }
            segment.count += 1;
            self.segment(t, seq, segment, addresses, values);
        }
        let block = self.prepared(id);
        *(if careful { &mut block.careful } else { &mut block.segments }) = segments;
        let state = &mut self.threads[t];
        state.previous = Some(Previous {
            last,
            slot: last.slot.and_then(|s| addresses.get(s as usize).copied()),
            end,
        });
        state.last_seq = seq + steps as u64 - 1;
        state.last_time = times.last().copied();
        state.steps += steps as u64;
        self.seq += steps as u64;
    }

    // ---- call instances ----

    /// Rules 1 to 6: what the step at `address` in `function` does to the thread's call stack.
    fn transfer(&mut self, t: usize, seq: u64, address: u64, function: u32, time: Option<u64>) {
        let Some(Previous { last, slot, end }) = self.threads[t].previous else {
            self.push_frame(
                t,
                seq,
                time,
                function,
                CallKind::Root,
                None,
                None,
                None,
                Vec::new(),
                0,
            );
            return;
        };
        let slot = if self.sp_tokens { end.and_then(|e| e.sp) } else { slot };
        // 1
        let called_next = last.kind == FlowKind::Call && self.without(Mutation::CallToNext);
        if (address == last.next && !called_next) || (last.repeats && address == last.address) {
            self.fall_into(t, seq, function, time);
            return;
        }
        let linked = end.is_some_and(|e| e.linked);
        // 2
        if last.executed && (last.kind == FlowKind::Call || (last.kind == FlowKind::Jump && linked))
        {
            let token = (last.next, slot);
            let stub = self.code.is_stub(function) && !self.without(Mutation::StubKinds);
            let kind = if stub { CallKind::Stub } else { CallKind::Call };
            let caller = self.threads[t].stack.last().map_or(0, |f| f.function);
            self.push_frame(
                t,
                seq,
                time,
                function,
                kind,
                Some(token),
                slot,
                Some(last.insn),
                Vec::new(),
                caller,
            );
            return;
        }
        // 3
        if last.executed && last.kind.returns() && self.threads[t].returns.contains_key(&address) {
            let (any_slot, stack) = (self.without(Mutation::Slots), &self.threads[t].stack);
            let same = |s: Option<u64>| s.is_none() || slot.is_none() || s == slot || any_slot;
            let found =
                stack.iter().rposition(|f| f.token.is_some_and(|(a, s)| a == address && same(s)));
            let found =
                found.filter(|d| d + 1 == stack.len() || !self.without(Mutation::Unwinding));
            if let Some(depth) = found {
                self.unwind_to(t, depth);
                self.pop_frame(t, Ending::Return);
                if !self.without(Mutation::Intervals) {
                    self.resume(t, seq, time);
                }
                self.fall_into(t, seq, function, time);
                return;
            }
        }
        // 4
        let jumps = match last.kind {
            FlowKind::Jump | FlowKind::Call | FlowKind::Return | FlowKind::ExceptionReturn => {
                last.executed && last.target.is_none_or(|a| a == address)
            }
            FlowKind::Unknown => true,
            FlowKind::Next | FlowKind::Syscall | FlowKind::Trap => false,
        };
        if jumps || self.without(Mutation::Signals) {
            self.fall_into(t, seq, function, time);
            return;
        }
        // 5
        let found = self.threads[t].stack.iter().rposition(|f| f.interrupted.contains(&address));
        match found.filter(|_| !self.without(Mutation::SignalEnds)) {
            Some(depth) => {
                self.unwind_to(t, depth);
                self.pop_frame(t, Ending::Return);
                self.resume(t, seq, time);
                self.fall_into(t, seq, function, time);
            }
            None => {
                let mut successors = vec![last.next];
                match last.target {
                    Some(target) if last.executed && last.kind != FlowKind::Next => {
                        if !last.conditional {
                            successors.clear();
                        }
                        successors.push(target);
                    }
                    _ => {}
                }
                self.signals += 1;
                let caller = self.threads[t].stack.last().map_or(0, |f| f.function);
                self.push_frame(
                    t,
                    seq,
                    time,
                    function,
                    CallKind::Signal,
                    None,
                    None,
                    None,
                    successors,
                    caller,
                );
            }
        }
    }

    /// Rule 6: a tail instance if `function` is not that of the current instance.
    #[inline]
    fn fall_into(&mut self, t: usize, seq: u64, function: u32, time: Option<u64>) {
        let Some(top) = self.threads[t].stack.last() else { return };
        if top.function == function || self.without(Mutation::Tails) {
            return;
        }
        let (token, frame_top, tail_of, caller) =
            (top.token, top.frame_top, top.call, top.caller_function);
        let interrupted = self.threads[t]
            .stack
            .last_mut()
            .map(|f| std::mem::take(&mut f.interrupted))
            .unwrap_or_default();
        self.pop_frame(t, Ending::Tail);
        self.push_frame(
            t,
            seq,
            time,
            function,
            CallKind::Tail,
            token,
            frame_top,
            None,
            interrupted,
            caller,
        );
        if let Some(f) = self.threads[t].stack.last_mut() {
            f.tail_of = tail_of;
        }
    }

    /// Ends the frames above `depth`.
    fn unwind_to(&mut self, t: usize, depth: usize) {
        while self.threads[t].stack.len() > depth + 1 {
            self.pop_frame(t, Ending::Unwound);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn push_frame(
        &mut self,
        t: usize,
        seq: u64,
        time: Option<u64>,
        function: u32,
        kind: CallKind,
        token: Option<(u64, Option<u64>)>,
        frame_top: Option<u64>,
        call_insn: Option<u32>,
        interrupted: Vec<u64>,
        caller_function: u32,
    ) {
        self.close_interval(t);
        let call = self.next_call;
        self.next_call += 1;
        self.instances[function as usize] += 1;
        let instance = self.instances[function as usize];
        let (flows, saves) = self.spare_frames.pop().unwrap_or_default();
        let state = &mut self.threads[t];
        let live = state.live.entry(function).or_insert(0);
        *live += 1;
        let outermost = *live == 1;
        if let Some((address, _)) = token {
            *state.returns.entry(address).or_insert(0) += 1;
        }
        state.stack.push(Frame {
            call,
            function,
            instance,
            tail_of: 0,
            kind,
            token,
            frame_top,
            interrupted,
            call_seq: seq,
            call_time: time,
            call_insn,
            caller_function,
            steps_self: 0,
            steps_below: 0,
            bytes_in: 0,
            outermost,
            flows,
            flowed: false,
            saves,
            save_mask: 0,
        });
        self.resume(t, seq, time);
    }

    /// Begins an interval of the instance on top.
    fn resume(&mut self, t: usize, seq: u64, time: Option<u64>) {
        let state = &mut self.threads[t];
        state.interval = self.next_interval;
        self.next_interval += 1;
        state.interval_start = seq;
        state.interval_time = time;
    }

    /// Ends the interval of the instance on top, unless it is empty.
    fn close_interval(&mut self, t: usize) {
        let state = &mut self.threads[t];
        if state.interval == 0 {
            return;
        }
        let Some(frame) = state.stack.last() else { return };
        if state.interval_start > state.last_seq {
            // Nothing ran in it: control came back and left at once. Its number is used by what
            // follows.
            self.next_interval = state.interval;
            state.interval = 0;
            return;
        }
        if self.options.instances {
            self.output.interval(Interval {
                interval: state.interval,
                thread: state.id,
                call: frame.call,
                function: frame.function,
                start_seq: state.interval_start,
                end_seq: state.last_seq,
                start_time: state.interval_time,
                end_time: state.last_time,
            });
        }
        state.interval = 0;
    }

    fn pop_frame(&mut self, t: usize, ending: Ending) {
        self.close_interval(t);
        let state = &mut self.threads[t];
        let Some(mut frame) = state.stack.pop() else { return };
        if let Some((address, _)) = frame.token
            && let Some(count) = state.returns.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                state.returns.remove(&address);
            }
        }
        if let Some(live) = state.live.get_mut(&frame.function) {
            *live -= 1;
        }
        let total = frame.steps_self + frame.steps_below;
        let parent = state.stack.last_mut().map_or(0, |p| {
            p.steps_below += total;
            p.call
        });
        let (id, depth, return_seq, return_time) =
            (state.id, state.stack.len() as u32, state.last_seq, state.last_time);
        // The newest first: what is pending goes back to the one before it.
        while let Some(i) = frame.saves.pop() {
            self.end_save(t, i);
        }
        let sums = &mut self.functions[frame.function as usize];
        sums.calls += 1;
        sums.steps_self += frame.steps_self;
        if frame.outermost {
            sums.steps_total += total;
        }
        let edge =
            self.call_edges.entry((frame.caller_function, frame.function, frame.kind)).or_default();
        edge.0 += 1;
        edge.1 += total;
        self.hand_out.flows(
            &mut frame,
            &mut self.output,
            &mut self.pairs,
            &mut self.memory,
            self.options.instances,
        );
        if self.options.instances {
            self.output.call(Call {
                call: frame.call,
                function: frame.function,
                instance: frame.instance,
                parent,
                tail_of: frame.tail_of,
                thread: id,
                depth,
                kind: frame.kind,
                ending,
                call_seq: frame.call_seq,
                return_seq: return_seq.max(frame.call_seq),
                call_time: frame.call_time,
                return_time,
                call_insn: frame.call_insn,
                steps_self: frame.steps_self,
                steps_total: total,
                bytes_in: Some(frame.bytes_in),
            });
        }
        self.spare_frames.push((frame.flows, frame.saves));
    }

    // ---- data ----

    fn segment(
        &mut self,
        t: usize,
        run_seq: u64,
        segment: &mut block::Segment,
        addresses: &[u64],
        values: &[Option<u64>],
    ) {
        let register_place = PlaceCode::REGISTER;
        let Some(frame) = self.threads[t].stack.last_mut() else { return };
        frame.steps_self += segment.steps as u64;
        let (call, function) = (frame.call, frame.function);
        if segment.static_transfers != 0 && self.options.mutation != Some(Mutation::Inside) {
            let entry = frame.flows.entry(&mut 0, call, register_place, || function);
            entry.bytes += segment.static_bytes;
            entry.unique += segment.static_unique;
            entry.transfers += segment.static_transfers;
            // Each thread has registers of its own. From the 64th on nobody remembers.
            let thread = 1u64.checked_shl(t as u32).unwrap_or(0);
            if segment.threads & thread == 0 {
                segment.threads |= thread;
                self.static_addresses(t, function, segment);
            }
            if self.options.local_communications {
                for s in &segment.statics {
                    self.output.communication(Communication {
                        write: access_id(run_seq + s.write_step as u64, s.write_ordinal),
                        read: access_id(run_seq + s.read_step as u64, s.read_ordinal),
                        is_register: true,
                        address: s.address as u64,
                        bytes: s.bytes as u32,
                    });
                }
            }
        }
        self.restored.clear();
        self.gathered.clear();
        self.copy_low = None;
        for op in &mut segment.ops {
            let at = run_seq + op.step as u64;
            match op.kind {
                OpKind::Read => {
                    let Some(span) = op.register else { continue };
                    self.read_register(
                        t,
                        call,
                        span,
                        access_id(at, op.ordinal),
                        op.insn,
                        op.flag,
                        &mut op.met,
                    );
                }
                OpKind::Write => {
                    let Some(span) = op.register else { continue };
                    // Of a register that is written again in part, the rest is left.
                    if op.flag
                        && self.restored.iter().any(|&(s, r)| s == op.step && r.contains(span))
                    {
                        continue;
                    }
                    let reader = if op.seen { call } else { 0 };
                    let new = Cell {
                        write: access_id(at, op.ordinal),
                        call,
                        insn: op.insn,
                        reader,
                        pair: 0,
                    };
                    self.write_registers(t, span, new);
                    if let Some(low) = self.copy_low.take_if(|low| low.offset == span.offset) {
                        self.scatter_register(t, low);
                    }
                }
                OpKind::Load => {
                    let address = addresses[op.mem as usize];
                    let page = self.touch(address, op.size, op.stack_relative);
                    if op.flag && !self.without(Mutation::ReturnLoads) {
                        continue;
                    }
                    if segment.through
                        && (op.register.is_some() || op.low.is_some() || op.moves)
                        && self.gather_memory(address, op.size as u64)
                    {
                        if let Some(register) = op.register {
                            self.scatter_register(t, register);
                            self.restored.push((op.step, register));
                        }
                        self.copy_low = op.low;
                        continue;
                    }
                    if let Some(register) = op.register.filter(|_| !self.options.literal_saves) {
                        let value = values.get(op.mem as usize).copied().flatten();
                        if self.restore(t, call, register, address, at, value) {
                            self.restored.push((op.step, register));
                            continue;
                        }
                    }
                    self.read_memory(
                        t,
                        page,
                        address,
                        op.size as u64,
                        access_id(at, op.ordinal),
                        op.insn,
                        &mut op.met,
                    );
                }
                OpKind::Store => {
                    let address = addresses[op.mem as usize];
                    let page = self.touch(address, op.size, op.stack_relative);
                    let mut insn = op.insn;
                    if segment.through {
                        let gathered = match op.register {
                            Some(register) => self.gather_register(t, register),
                            None => op.moves && !self.gathered.is_empty(),
                        };
                        if gathered {
                            self.scatter_memory(address);
                            continue;
                        }
                    }
                    if let Some(register) = op.register {
                        if !self.options.literal_saves
                            && self.in_frame(t, address, op.size as u64, op.stack_relative)
                            && (self.is_foreign(t, call, register)
                                || self.without(Mutation::OwnStores))
                            && !self.without(Mutation::Saves)
                        {
                            let value = values.get(op.mem as usize).copied().flatten();
                            self.save(
                                t,
                                call,
                                register,
                                address,
                                access_id(at, op.ordinal),
                                op.read_ordinal,
                                op.insn,
                                value,
                            );
                            insn |= Cell::SAVE | Cell::SLOT;
                        } else {
                            let read = access_id(at, op.read_ordinal);
                            self.read_register(
                                t,
                                call,
                                register,
                                read,
                                op.insn,
                                false,
                                &mut op.met,
                            );
                        }
                    }
                    let new =
                        Cell { write: access_id(at, op.ordinal), call, insn, reader: 0, pair: 0 };
                    self.write_memory(page, address, op.size as u64, new);
                }
            }
        }
    }

    // ---- copies of copying functions (--through): versions move with their writers, nothing is
    // read or written ----

    /// Takes the versions of memory bytes; false if a save or nobody wrote some, which makes it an
    /// ordinary read.
    fn gather_memory(&mut self, address: u64, size: u64) -> bool {
        self.gathered.clear();
        let (mut at, mut left) = (address, size);
        while left > 0 {
            let len = left.min(PAGE - at % PAGE);
            let page = self.memory.page(at);
            let gathered = &mut self.gathered;
            let words = &mut self.memory.get_mut(page).cells[..];
            self.pools.visit(words, at - at % PAGE, at % PAGE, len, |_, _, n, cell| {
                gathered.push((n, *cell))
            });
            at = at.wrapping_add(len);
            left -= len;
        }
        self.check_gathered()
    }

    fn gather_register(&mut self, t: usize, span: RegSpan) -> bool {
        self.gathered.clear();
        let thread = &mut self.threads[t];
        let (key, gathered) = (register_key(thread.id, 0), &mut self.gathered);
        let (start, len) = (span.offset as u64, span.size as u64);
        self.pools.visit(&mut thread.registers, key, start, len, |_, _, n, cell| {
            gathered.push((n, *cell))
        });
        self.check_gathered()
    }

    fn check_gathered(&mut self) -> bool {
        let known = self.gathered.iter().all(|(_, c)| c.write != 0 && c.insn & Cell::SAVE == 0);
        if !known {
            self.gathered.clear();
        }
        known
    }

    fn scatter_register(&mut self, t: usize, span: RegSpan) {
        let mut offset = span.offset;
        for (n, cell) in std::mem::take(&mut self.gathered) {
            let new = Cell { reader: 0, pair: 0, ..cell };
            self.write_registers(t, RegSpan { offset, size: n as u16 }, new);
            offset += n as u16;
        }
    }

    fn scatter_memory(&mut self, address: u64) {
        let mut at = address;
        for (n, cell) in std::mem::take(&mut self.gathered) {
            let page = self.memory.page(at);
            // A copy is no dead write of its producer.
            self.write_memory(
                page,
                at,
                n,
                Cell { insn: cell.insn | Cell::SLOT, reader: 0, pair: 0, ..cell },
            );
            at = at.wrapping_add(n);
        }
    }

    /// First time that a segment runs in a thread: the register bytes that it hands to itself.
    #[cold]
    fn static_addresses(&mut self, t: usize, function: u32, segment: &block::Segment) {
        let pair = self.pairs.pair(Side::Function(function), function);
        let id = self.threads[t].id;
        for s in &segment.statics {
            let new =
                self.pairs.touched.set(pair, register_key(id, s.address as u64), s.bytes as u64);
            self.pairs.sums(pair, PlaceCode::REGISTER).addresses += new;
        }
    }

    /// Marks the pages of an access, which is what `via` needs to know; gives the first.
    #[inline]
    fn touch(&mut self, address: u64, size: u32, stack_relative: bool) -> u32 {
        let page = self.memory.page(address);
        self.memory.mark(page, address, stack_relative);
        let last = address.wrapping_add(size.max(1) as u64 - 1);
        if last / PAGE != address / PAGE {
            let page = self.memory.page(last);
            self.memory.mark(page, last, stack_relative);
        }
        page
    }

    /// A data read of register bytes.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn read_register(
        &mut self,
        t: usize,
        call: u32,
        span: RegSpan,
        read: AccessId,
        insn: u32,
        more: bool,
        met: &mut Met,
    ) {
        if self.threads[t].is_pending(span) {
            self.note_pending_read(t, call, span);
        }
        let (start, len) = (span.offset as u64, span.size as u64);
        if more
            || !self.read_words(
                t,
                &Space::Register,
                start,
                len,
                PlaceCode::REGISTER,
                read,
                insn,
                met,
            )
        {
            self.read(t, Space::Register, start, len, read, insn, more, met);
        }
    }

    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn read_memory(
        &mut self,
        t: usize,
        page: u32,
        address: u64,
        size: u64,
        read: AccessId,
        insn: u32,
        met: &mut Met,
    ) {
        let offset = address % PAGE;
        if offset + size > PAGE {
            self.read_across(t, address, size, read, insn, met);
            return;
        }
        let place = PlaceCode::of(self.memory.place(page, address));
        if !self.read_words(t, &Space::Memory { page }, offset, size, place, read, insn, met) {
            self.read(t, Space::Memory { page }, offset, size, read, insn, false, met);
        }
    }

    /// A read that crosses a page: in pieces, one a page, which are one access; what one write fed
    /// on both sides is one communication.
    #[cold]
    fn read_across(
        &mut self,
        t: usize,
        address: u64,
        size: u64,
        read: AccessId,
        insn: u32,
        met: &mut Met,
    ) {
        self.crossing = true;
        let (mut at, mut left, mut more) = (address, size, false);
        while left > 0 {
            let len = left.min(PAGE - at % PAGE);
            let page = self.memory.page(at);
            self.read(t, Space::Memory { page }, at % PAGE, len, read, insn, more, met);
            more = true;
            at = at.wrapping_add(len);
            left -= len;
        }
        self.crossing = false;
        let mut held = std::mem::take(&mut self.held);
        held.dedup_by(|next, row| {
            let goes_on = next.write == row.write
                && next.address == row.address.wrapping_add(row.bytes as u64);
            if goes_on {
                row.bytes += next.bytes;
            }
            goes_on
        });
        held.drain(..).for_each(|row| self.output.communication(row));
        self.held = held;
    }

    /// What nearly every data read is: whole words, or bytes of a split word, that one write made
    /// which is no save. False if it is anything else; then nothing has changed.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn read_words(
        &mut self,
        t: usize,
        space: &Space,
        start: u64,
        len: u64,
        place: PlaceCode,
        read: AccessId,
        insn: u32,
        met: &mut Met,
    ) -> bool {
        let thread = &mut self.threads[t];
        let id = thread.id;
        let Some(frame) = thread.stack.last_mut() else { return false };
        let (is_register, base, words) = match space {
            Space::Memory { page } => {
                (false, self.memory.number(*page) * PAGE, &mut self.memory.get_mut(*page).cells[..])
            }
            Space::Register => (true, 0, &mut thread.registers[..]),
        };
        let (cells, unit) = if start.is_multiple_of(WORD) && len.is_multiple_of(WORD) {
            match words.get_mut((start / WORD) as usize..((start + len) / WORD) as usize) {
                Some(words) => (words, WORD),
                None => return false,
            }
        } else {
            match self.pools.split_bytes(&words[(start / WORD) as usize], start % WORD, len) {
                Some(bytes) => (bytes, 1),
                None => return false,
            }
        };
        let first = cells[0];
        // A split word has all bits of `insn` set.
        if first.insn & Cell::SAVE != 0
            || cells.iter().any(|c| c.write != first.write || c.insn != first.insn)
        {
            return false;
        }
        let call = frame.call;
        let (writer, writer_call) = if first.write != 0 {
            (first.writer_insn(), first.call)
        } else {
            let from = base + start;
            let first_sp = self.first_sp.unwrap_or(u64::MAX);
            if !place.is_region() || from + len <= first_sp {
                (NO_INSN, NOBODY_BELOW)
            } else if from >= first_sp {
                (NO_INSN_ABOVE, NOBODY_ABOVE)
            } else {
                return false;
            }
        };
        let edge =
            self.insn_edges.find(&mut met.edges, writer, insn, place, &mut self.pairs, &self.insns);
        edge.bytes += len;
        edge.transfers += 1;
        let pair = edge.pair;
        let mut unique = 0;
        let mut others = false;
        let mut uncounted = false;
        for cell in cells.iter_mut() {
            if cell.reader == 0 {
                cell.reader = call;
                unique += unit;
            } else {
                others |= cell.reader & !Cell::MORE != call;
            }
            uncounted |= cell.pair != pair;
            cell.pair = pair;
        }
        if uncounted {
            let key = if is_register { register_key(id, 0) } else { base };
            let new = self.pairs.touched.set(pair, key + start, len);
            if new != 0 && !self.without(Mutation::Addresses) {
                self.pairs.sums(pair, place).addresses += new;
            }
        }
        if others {
            unique += self.note_other_readers(t, space, start, len, call);
            if self.without(Mutation::Unique) {
                unique = len;
            }
        }
        let Some(frame) = self.threads[t].stack.last_mut() else { return true };
        let insns = &self.insns;
        let flow = frame.flows.entry(&mut met.flow, writer_call, place, || {
            insns.get(writer as usize).map_or(0, |i| i.function)
        });
        flow.bytes += len;
        flow.unique += unique;
        flow.transfers += 1;
        if frame.flows.list.len() > FLOWS_MAX {
            frame.flowed = true;
            self.hand_out.flows(
                frame,
                &mut self.output,
                &mut self.pairs,
                &mut self.memory,
                self.options.instances,
            );
        }
        if self.options.communications && (self.options.local_communications || writer_call != call)
        {
            let address = base + start;
            self.output.communication(Communication {
                write: first.write,
                read,
                is_register,
                address,
                bytes: len as u32,
            });
        }
        true
    }

    /// Notes `call` as reader of words that other instances have read before; gives the bytes that
    /// it had not read yet.
    #[inline(never)]
    fn note_other_readers(
        &mut self,
        t: usize,
        space: &Space,
        start: u64,
        len: u64,
        call: u32,
    ) -> u64 {
        let (before, rest) = self.threads.split_at_mut(t);
        let Some((this, after)) = rest.split_first_mut() else { return 0 };
        let stack = &this.stack;
        let alive = |c: u32| {
            let live = |s: &Vec<Frame>| s.binary_search_by_key(&c, |f| f.call).is_ok();
            live(stack) || before.iter().chain(after.iter()).any(|t| live(&t.stack))
        };
        let (key, words): (u64, &mut [Cell]) = match space {
            Space::Memory { page } => {
                (self.memory.number(*page) * PAGE, &mut self.memory.get_mut(*page).cells[..])
            }
            Space::Register => (register_key(this.id, 0), &mut this.registers),
        };
        let mut unique = 0;
        self.pools.visit(words, key, start, len, |pools, k, n, cell| {
            if pools.note_reader(cell, k, call, &alive) {
                unique += n;
            }
        });
        unique
    }

    /// A data read of bytes that lie in one page or register file. `more`: goes on with the access
    /// of the call before.
    #[allow(clippy::too_many_arguments)]
    fn read(
        &mut self,
        t: usize,
        space: Space,
        start: u64,
        len: u64,
        read: AccessId,
        insn: u32,
        more: bool,
        met: &mut Met,
    ) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        let thread = &self.threads[t];
        let Some(frame) = thread.stack.last() else { return };
        let call = frame.call;
        let (is_register, base, key, place) = match space {
            Space::Memory { page } => {
                let number = self.memory.number(page);
                (
                    false,
                    number * PAGE,
                    number * PAGE,
                    PlaceCode::of(self.memory.place(page, number * PAGE + start)),
                )
            }
            Space::Register => (true, 0, register_key(thread.id, 0), PlaceCode::REGISTER),
        };
        let mut exposed = false;
        {
            let first_sp = self.first_sp.unwrap_or(u64::MAX);
            let pairs = &mut self.pairs;
            let insns = &self.insns;
            let edges = &mut self.insn_edges;
            let (pools, threads) = (&mut self.pools, &mut self.threads);
            let (before, rest) = threads.split_at_mut(t);
            let (this, after) = rest.split_at_mut(1);
            let this = &mut this[0];
            let stack = &this.stack;
            let alive = |c: u32| {
                let live = |s: &Vec<Frame>| s.binary_search_by_key(&c, |f| f.call).is_ok();
                live(stack) || before.iter().chain(after.iter()).any(|t| live(&t.stack))
            };
            let words: &mut [Cell] = match space {
                Space::Memory { page } => &mut self.memory.get_mut(page).cells[..],
                Space::Register => &mut this.registers,
            };
            pools.visit(words, key, start, len, |pools, k, n, cell| {
                let address = k - key + base;
                let unique = if pools.note_reader(cell, k, call, &alive) { n } else { 0 };
                exposed |= cell.insn & Cell::SAVE != 0 && cell.write != 0;
                let above = cell.write == 0 && place.is_region() && address >= first_sp;
                let part = match parts.last_mut() {
                    Some(p) if p.cell.write == cell.write && p.above == above => {
                        p.len += n;
                        p.unique += unique;
                        p
                    }
                    _ => {
                        let writer = match cell.write {
                            0 if above => NO_INSN_ABOVE,
                            0 => NO_INSN,
                            _ => cell.writer_insn(),
                        };
                        let pair =
                            edges.find(&mut met.edges, writer, insn, place, pairs, insns).pair;
                        parts.push(Part { cell: *cell, address, len: n, unique, pair, above });
                        let last = parts.len() - 1;
                        &mut parts[last]
                    }
                };
                if cell.pair != part.pair {
                    cell.pair = part.pair;
                    let new = pairs.touched.set(part.pair, k, n);
                    if new != 0 {
                        pairs.sums(part.pair, place).addresses += new;
                    }
                }
            });
        }
        if !more {
            self.sources.clear();
        }
        let many = self.crossing || more || parts.len() > 1;
        for part in &parts {
            // The pages of one access outside of the sections are of one region.
            let of = if part.cell.write == 0 && !place.is_region() {
                place
            } else {
                PlaceCode::REGISTER
            };
            let source = (part.cell.write, of, part.above);
            let first =
                !many || !self.sources.contains(&source) || self.without(Mutation::Transfers);
            if many {
                self.sources.push(source);
            }
            let (writer, writer_insn) = match part.cell.write {
                0 if part.above => (NOBODY_ABOVE, NO_INSN_ABOVE),
                0 => (NOBODY_BELOW, NO_INSN),
                _ => (part.cell.call, part.cell.writer_insn()),
            };
            let Some(frame) = self.threads[t].stack.last_mut() else { break };
            let insns = &self.insns;
            let entry = frame.flows.entry(&mut met.flow, writer, place, || {
                insns.get(writer_insn as usize).map_or(0, |i| i.function)
            });
            entry.bytes += part.len;
            entry.unique += part.unique;
            entry.transfers += first as u64;
            if frame.flows.list.len() > FLOWS_MAX {
                frame.flowed = true;
                self.hand_out.flows(
                    frame,
                    &mut self.output,
                    &mut self.pairs,
                    &mut self.memory,
                    self.options.instances,
                );
            }
            let edge = self.insn_edges.find(
                &mut met.edges,
                writer_insn,
                insn,
                place,
                &mut self.pairs,
                &self.insns,
            );
            edge.bytes += part.len;
            edge.transfers += first as u64;
            if self.options.communications && (self.options.local_communications || writer != call)
            {
                let row = Communication {
                    write: part.cell.write,
                    read,
                    is_register,
                    address: part.address,
                    bytes: part.len as u32,
                };
                if self.crossing {
                    self.held.push(row);
                } else {
                    self.output.communication(row);
                }
            }
        }
        if exposed && !self.without(Mutation::Exposure) {
            for part in &parts {
                if part.cell.insn & Cell::SAVE != 0
                    && let Some(&save) = self.save_index.get(&part.cell.write)
                {
                    self.expose(t, save, read >> 16);
                }
            }
        }
        self.parts = parts;
    }

    #[inline]
    fn write_memory(&mut self, page: u32, address: u64, size: u64, new: Cell) {
        let (mut at, mut left, mut page) = (address, size, page);
        let insns = &self.insns;
        let functions = &mut self.functions;
        loop {
            let len = left.min(PAGE - at % PAGE);
            let base = at - at % PAGE;
            let words = &mut self.memory.get_mut(page).cells[..];
            self.pools.write(words, base, at % PAGE, len, new, |cell, n| {
                if cell.insn & Cell::SLOT == 0 {
                    functions[insns[cell.writer_insn() as usize].function as usize].dead_bytes += n;
                }
            });
            left -= len;
            if left == 0 {
                return;
            }
            at = at.wrapping_add(len);
            page = self.memory.page(at);
        }
    }

    #[inline]
    fn write_registers(&mut self, t: usize, span: RegSpan, new: Cell) {
        let thread = &mut self.threads[t];
        let (start, size) = (span.offset as u64, span.size as u64);
        let simple = start % WORD == 0 && size % WORD == 0 && {
            let cells =
                &mut thread.registers[(start / WORD) as usize..((start + size) / WORD) as usize];
            // Neither split nor with readers in the pool.
            let simple = cells.iter().all(|c| c.insn != Cell::SPLIT && c.reader & Cell::MORE == 0);
            if simple {
                cells.iter_mut().for_each(|c| *c = Cell { pair: c.pair, ..new });
            }
            simple
        };
        if !simple {
            let key = register_key(thread.id, 0);
            self.pools.write(&mut thread.registers, key, start, size, new, |_, _| {});
        }
        if thread.is_pending(span) {
            thread.pending[span.offset as usize..(span.offset + span.size) as usize].fill(0);
            if span.offset as u64 % WORD == 0 && span.size as u64 % WORD == 0 {
                thread.set_pending(span, false);
            }
        }
    }

    // ---- saved registers ----

    fn in_frame(&self, t: usize, address: u64, size: u64, stack_relative: bool) -> bool {
        match self.threads[t].stack.last().and_then(|f| f.frame_top) {
            Some(top) => {
                address < top
                    && address.saturating_add(size) <= top
                    && address >= top.saturating_sub(FRAME_REACH)
            }
            None => stack_relative,
        }
    }

    /// Every byte of the register was last written by another instance than `call`, or never.
    fn is_foreign(&mut self, t: usize, call: u32, span: RegSpan) -> bool {
        let thread = &mut self.threads[t];
        let mut foreign = true;
        let key = register_key(thread.id, 0);
        self.pools.visit(
            &mut thread.registers,
            key,
            span.offset as u64,
            span.size as u64,
            |_, _, _, cell| {
                foreign &= cell.write == 0 || cell.call != call;
            },
        );
        foreign
    }

    #[allow(clippy::too_many_arguments)]
    fn save(
        &mut self,
        t: usize,
        call: u32,
        register: RegSpan,
        address: u64,
        store: AccessId,
        read_ordinal: u16,
        insn: u32,
        value: Option<u64>,
    ) {
        let index = match self.free_saves.pop() {
            Some(i) => i,
            None => {
                self.saves.push(Save {
                    call,
                    register,
                    address,
                    store,
                    read_ordinal,
                    insn,
                    value,
                    pieces: Vec::new(),
                    read_otherwise: 0,
                    restores: 0,
                    restore_seq: 0,
                    exposed_seq: 0,
                });
                self.saves.len() as u32 - 1
            }
        };
        let thread = &mut self.threads[t];
        let save = &mut self.saves[index as usize];
        let mut pieces = std::mem::take(&mut save.pieces);
        pieces.clear();
        let key = register_key(thread.id, 0);
        let pending = &thread.pending;
        self.pools.visit(
            &mut thread.registers,
            key,
            register.offset as u64,
            register.size as u64,
            |pools, k, n, cell| {
                let offset = (k - key) as u16;
                pieces.push(Piece {
                    offset,
                    len: n as u16,
                    cell: *cell,
                    pending: pending[offset as usize],
                    readers: pools.readers_of(cell, k),
                    seen: pools.has_read(cell, k, call),
                });
            },
        );
        thread.pending[register.offset as usize..(register.offset + register.size) as usize]
            .fill(store);
        *save = Save {
            call,
            register,
            address,
            store,
            read_ordinal,
            insn,
            value,
            pieces,
            read_otherwise: 0,
            restores: 0,
            restore_seq: 0,
            exposed_seq: 0,
        };
        self.save_index.insert(store, index);
        thread.set_pending(register, true);
        if let Some(frame) = thread.stack.last_mut() {
            frame.saves.push(index);
            frame.save_mask |= block::mask(register);
        }
    }

    /// Whether this load is a restore; if so the register has its old writers again.
    fn restore(
        &mut self,
        t: usize,
        call: u32,
        register: RegSpan,
        address: u64,
        seq: u64,
        value: Option<u64>,
    ) -> bool {
        let Some(frame) = self.threads[t].stack.last() else { return false };
        if frame.save_mask & block::mask(register) == 0 || self.without(Mutation::Restores) {
            return false;
        }
        // Every byte must be that of one live save of this register at this address.
        let page = self.memory.page(address);
        let Some(store) = self.version(page, address % PAGE) else { return false };
        let Some(&index) = self.save_index.get(&store) else { return false };
        let save = &self.saves[index as usize];
        let values_agree = value.is_none() || save.value.is_none() || value == save.value;
        if save.call != call
            || save.register != register
            || save.address != address
            || save.exposed_seq != 0
            || !values_agree
        {
            return false;
        }
        for i in 0..register.size as u64 {
            let at = address.wrapping_add(i);
            let page = self.memory.page(at);
            if self.version(page, at % PAGE) != Some(store) {
                return false;
            }
        }
        let pieces = std::mem::take(&mut self.saves[index as usize].pieces);
        let read_otherwise = self.saves[index as usize].read_otherwise;
        let key = register_key(self.threads[t].id, 0);
        // Already the same version? Then nothing was in between but readers, who are to be kept.
        for piece in &pieces {
            let same = {
                let thread = &mut self.threads[t];
                let mut same = true;
                self.pools.visit(
                    &mut thread.registers,
                    key,
                    piece.offset as u64,
                    piece.len as u64,
                    |_, _, _, c| {
                        same &= c.write == piece.cell.write;
                    },
                );
                same
            };
            if same || self.without(Mutation::OldWriters) {
                continue;
            }
            // Bytes that the instance has read since the save apart from those that it has not.
            let otherwise =
                |offset: u16| read_otherwise >> (offset - register.offset).min(63) & 1 != 0;
            let end = piece.offset + piece.len;
            let mut from = piece.offset;
            while from < end {
                let read = otherwise(from);
                let to = (from..end).find(|&b| otherwise(b) != read).unwrap_or(end);
                let span = RegSpan { offset: from, size: to - from };
                self.write_registers(t, span, Cell { reader: 0, ..piece.cell });
                let thread = &mut self.threads[t];
                thread.pending[from as usize..to as usize].fill(store);
                thread.set_pending(span, true);
                self.pools.visit(
                    &mut thread.registers,
                    key,
                    from as u64,
                    (to - from) as u64,
                    |pools, k, _, cell| {
                        cell.reader = piece.cell.reader;
                        pools.set_readers(k, piece.readers.clone());
                        if read {
                            pools.note_reader(cell, k, call, &|_| true);
                        }
                    },
                );
                from = to;
            }
        }
        let save = &mut self.saves[index as usize];
        save.pieces = pieces;
        save.restores += 1;
        save.restore_seq = seq;
        true
    }

    /// The write that made the version of a byte of memory.
    fn version(&mut self, page: u32, offset: u64) -> Option<AccessId> {
        let cell = self.memory.get(page).cells[(offset / WORD) as usize];
        let cell = self.pools.byte(&cell, offset % WORD);
        (cell.insn & Cell::SAVE != 0 && cell.write != 0).then_some(cell.write)
    }

    /// An ordinary read by `call` of a register that it has saved: the save's own read would be no
    /// first one.
    #[inline(never)]
    fn note_pending_read(&mut self, t: usize, call: u32, span: RegSpan) {
        let pending = &self.threads[t].pending;
        // Mostly all bytes are of one save: (store, index of the save).
        let mut last = (0, 0);
        for b in span.offset..span.offset + span.size {
            let mut p = pending[b as usize];
            // Saves of the same version, innermost instance first.
            while p != 0 {
                if last.0 != p {
                    let Some(&index) = self.save_index.get(&p) else { break };
                    last = (p, index);
                }
                let save = &mut self.saves[last.1 as usize];
                if save.call == call {
                    save.read_otherwise |= 1 << (b - save.register.offset).min(63);
                }
                p = save
                    .pieces
                    .iter()
                    .find(|x| x.offset <= b && b < x.offset + x.len)
                    .map_or(0, |x| x.pending);
            }
        }
    }

    /// Something other than a restore reads what a save stored: now the save's read of the register
    /// counts.
    #[cold]
    fn expose(&mut self, reader_thread: usize, index: u32, seq: u64) {
        if self.saves[index as usize].exposed_seq != 0 {
            return;
        }
        self.saves[index as usize].exposed_seq = seq;
        let call = self.saves[index as usize].call;
        let find = |s: &Vec<Frame>| s.binary_search_by_key(&call, |f| f.call).ok();
        let place = match find(&self.threads[reader_thread].stack) {
            Some(f) => Some((reader_thread, f)),
            None => {
                self.threads.iter().enumerate().find_map(|(t, s)| find(&s.stack).map(|f| (t, f)))
            }
        };
        let Some((t, f)) = place else { return };
        let pieces = std::mem::take(&mut self.saves[index as usize].pieces);
        let save = &self.saves[index as usize];
        let (register, read_otherwise) = (save.register, save.read_otherwise);
        let read = (save.store & !0xffff) | save.read_ordinal as u64;
        let insn = save.insn;
        let id = self.threads[t].id;
        let key = register_key(id, 0);
        let function = self.threads[t].stack[f].function;
        let mut sources: Vec<AccessId> = Vec::new();
        let mut rows: Vec<(Communication, u32)> = Vec::new();
        for piece in &pieces {
            let cell = &piece.cell;
            let bit = (piece.offset - register.offset).min(63);
            let mut unique = 0;
            for i in 0..piece.len {
                let read_before = piece.seen || read_otherwise >> (bit + i).min(63) & 1 != 0;
                unique += !read_before as u64;
            }
            // If the version is still there, the instance has read it now.
            let thread = &mut self.threads[t];
            self.pools.visit(
                &mut thread.registers,
                key,
                piece.offset as u64,
                piece.len as u64,
                |pools, k, _, c| {
                    if c.write == cell.write {
                        pools.note_reader(c, k, call, &|_| true);
                    }
                },
            );
            let (side, writer, writer_insn, writer_function) = if cell.write == 0 {
                (Side::None { above: false }, NOBODY_BELOW, NO_INSN, 0)
            } else {
                let i = cell.writer_insn();
                let function = self.insns[i as usize].function;
                (Side::Function(function), cell.call, i, function)
            };
            let pair = self.pairs.pair(side, function);
            let new = self.pairs.touched.set(
                pair,
                register_key(id, piece.offset as u64),
                piece.len as u64,
            );
            self.pairs.sums(pair, PlaceCode::REGISTER).addresses += new;
            let first = !sources.contains(&cell.write);
            sources.push(cell.write);
            let flows = &mut self.threads[t].stack[f].flows;
            let entry = flows.entry(&mut 0, writer, PlaceCode::REGISTER, || writer_function);
            entry.bytes += piece.len as u64;
            entry.unique += unique;
            entry.transfers += first as u64;
            let register = PlaceCode::REGISTER;
            let edge = self.insn_edges.find(
                &mut [0; 2],
                writer_insn,
                insn,
                register,
                &mut self.pairs,
                &self.insns,
            );
            edge.bytes += piece.len as u64;
            edge.transfers += first as u64;
            match rows.last_mut() {
                Some((row, _)) if row.write == cell.write => row.bytes += piece.len as u32,
                _ => rows.push((
                    Communication {
                        write: cell.write,
                        read,
                        is_register: true,
                        address: piece.offset as u64,
                        bytes: piece.len as u32,
                    },
                    writer,
                )),
            }
        }
        if self.options.communications {
            for (row, writer) in rows {
                if self.options.local_communications || writer != call {
                    self.output.communication(row);
                }
            }
        }
        // Other saves of the same version by this instance would be no first read of it any more.
        for &other in &self.threads[t].stack[f].saves {
            let save = &mut self.saves[other as usize];
            for mine in &pieces {
                for piece in save.pieces.iter().filter(|p| p.cell.write == mine.cell.write) {
                    let from = piece.offset.max(mine.offset);
                    for b in from..(piece.offset + piece.len).min(mine.offset + mine.len) {
                        save.read_otherwise |= 1 << (b - save.register.offset).min(63);
                    }
                }
            }
        }
        // What instances below it have saved of the same version since then was read by this one
        // before: they give it back so.
        for frame in &self.threads[t].stack[f + 1..] {
            for &other in &frame.saves {
                for mine in &pieces {
                    note_piece_reader(&mut self.saves[other as usize].pieces, mine, call);
                }
            }
        }
        self.saves[index as usize].pieces = pieces;
        let frame = &mut self.threads[t].stack[f];
        let saves = &self.saves;
        frame.save_mask = frame
            .saves
            .iter()
            .map(|&i| &saves[i as usize])
            .filter(|s| s.exposed_seq == 0)
            .fold(0, |m, s| m | block::mask(s.register));
    }

    fn end_save(&mut self, t: usize, index: u32) {
        let save = &self.saves[index as usize];
        let thread = &mut self.threads[t];
        for piece in &save.pieces {
            for p in &mut thread.pending[piece.offset as usize..(piece.offset + piece.len) as usize]
            {
                if *p == save.store {
                    *p = piece.pending;
                }
            }
        }
        self.save_index.remove(&save.store);
        if self.options.instances {
            self.output.saved_register(SavedRegister {
                call: save.call,
                save: save.store,
                register: save.register.offset,
                bytes: save.register.size,
                address: save.address,
                restore_seq: save.restore_seq,
                restores: save.restores,
                exposed_seq: save.exposed_seq,
            });
        }
        self.free_saves.push(index);
    }

    // ---- end ----

    /// Ends what is alive and gives the sums.
    pub fn finish(&mut self) -> Summary {
        for t in 0..self.threads.len() {
            while !self.threads[t].stack.is_empty() {
                self.pop_frame(t, Ending::Open);
            }
        }
        for block in self.blocks.iter().chain(&self.superblocks.prepared) {
            for segment in block.segments.iter().chain(&block.careful).filter(|s| s.count > 0) {
                self.functions[segment.function as usize].written_bytes +=
                    segment.stored_bytes * segment.count;
                for s in &segment.statics {
                    let register = PlaceCode::REGISTER;
                    let edges = &mut self.insn_edges;
                    let edge = edges.find(
                        &mut [0; 2],
                        s.write_insn,
                        s.read_insn,
                        register,
                        &mut self.pairs,
                        &self.insns,
                    );
                    edge.bytes += s.bytes as u64 * segment.count;
                    edge.transfers += s.first as u64 * segment.count;
                }
            }
        }
        for (_, page) in self.memory.pages() {
            let (insns, functions) = (&self.insns, &mut self.functions);
            self.pools.unread(&page.cells[..], |cell, n| {
                if cell.insn & Cell::SLOT == 0 {
                    functions[insns[cell.writer_insn() as usize].function as usize].dead_bytes += n;
                }
            });
        }
        let pairs = self
            .pairs
            .list
            .iter()
            .flat_map(|p| p.sums.iter().map(|&(place, sums)| (p.writer, p.reader, place, sums)))
            .filter(|p| p.3.bytes > 0)
            .collect();
        let insn_edges = self.insn_edges.list[1..]
            .iter()
            .map(|e| {
                let (writer, above) =
                    if e.writer == NO_INSN_ABOVE { (NO_INSN, true) } else { (e.writer, false) };
                (writer, above, e.reader, e.place, e.bytes, e.transfers)
            })
            .collect();
        let call_edges = self
            .call_edges
            .iter()
            .map(|(&(a, b, k), &(calls, steps))| (a, b, k, calls, steps))
            .collect();
        let mut pages: Vec<(u64, bool)> = Vec::new();
        let numbered: Vec<(u64, PageKind)> =
            self.memory.pages().map(|(n, p)| (n, p.kind)).collect();
        for (number, kind) in numbered {
            if let PageKind::Region(r) | PageKind::Image { region: Some(r), .. } = kind {
                pages.push((number, self.memory.regions.is_stack(r)));
            }
        }
        pages.sort_unstable();
        let mut regions: Vec<(u64, u64, bool)> = Vec::new();
        for (number, stack) in pages {
            let (first, last) = (number * PAGE, number * PAGE + (PAGE - 1));
            match regions.last_mut() {
                Some(r) if r.1 == first.wrapping_sub(1) => r.1 = last,
                _ => regions.push((first, last, stack)),
            }
        }
        let region_is_stack = (0..self.memory.regions.len() as u32)
            .map(|r| self.memory.regions.is_stack(r))
            .collect();
        Summary {
            functions: std::mem::take(&mut self.functions),
            pairs,
            insn_edges,
            call_edges,
            regions,
            region_is_stack,
            flow_places: std::mem::take(&mut self.hand_out.places),
            first_sp: self.first_sp,
            steps: self.seq - 1,
            threads: self.threads.iter().map(|t| (t.id, t.steps)).collect(),
            calls: self.next_call - 1,
            intervals: self.next_interval - 1,
            signals: self.signals,
            pages: self.memory.page_count(),
        }
    }

    /// Values of register writes that each run of block `b` has.
    pub fn register_values(&self, b: u32) -> usize {
        self.blocks[b as usize].register_values
    }

    /// Executions of each block.
    pub fn block_counts(&self) -> Vec<u64> {
        let count = |b: &Prepared| b.segments[0].count + b.careful.first().map_or(0, |s| s.count);
        let mut counts: Vec<u64> = self.blocks.iter().map(count).collect();
        for (members, superblock) in self.superblocks.iter() {
            members.iter().for_each(|&m| counts[m as usize] += count(superblock));
        }
        counts
    }
}
