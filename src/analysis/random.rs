//! Random programs, made by hand and run every way that the pass has: at each detail, with and without
//! superblocks, in batches of any length. Sums are the same every way; with literal saves they, and
//! the rows, are those of a list that says of each byte who wrote it last.

use super::access::SaveRule;
use super::in_context::FlowEnd;
use super::pass::{FrameSlot, Pass, Processor};
use super::place::PlaceCode;
use super::*;
use crate::event::{
    BlockDef, BlockStep, Event, InsnDef, KernelAccess, MemShape, RunBatch, RunEnd, SystemCall,
};
use crate::id::{CallId, InstructionId, StackId};
use crate::isa::{ControlFlow, Decoded, Expr, FlowKind, MemOperand, RegAccess};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub(super) const FUNCTIONS: usize = 6;
/// The last one is a stub where the program has one.
pub(super) const STUB: usize = FUNCTIONS - 1;
/// Bytes of the register file: general registers, then two vectors.
pub(super) const REGISTERS: u16 = 160;
pub(super) const SP: RegSpan = RegSpan { offset: 32, size: 8 };
/// Across two pages.
pub(super) const DATA: u64 = 0x5fd0;

/// Where an access goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Push,
    Pop,
    /// Of the frame.
    Own(u64),
    /// Of a frame that there is, or was: of any thread.
    Any(u64),
    Data,
}

#[derive(Clone)]
pub(super) struct Insn {
    pub address: u64,
    pub decoded: Decoded,
    pub places: Vec<Place>,
}

/// Numbers below what is asked for, the same each time: for tests that need no more.
pub(super) fn below(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |n| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    }
}

#[derive(Clone)]
pub(super) struct Code {
    pub insns: Vec<Insn>,
    pub blocks: Vec<Vec<u32>>,
    /// Blocks of each function.
    pub functions: Vec<std::ops::Range<usize>>,
    pub has_stub: bool,
    pub setting: Setting,
}

/// What only wild runs have ([`super::wild`]).
#[derive(Clone, Default)]
pub(super) struct Setting {
    pub processor: Option<Processor>,
    pub sections: Vec<super::place::SectionRange>,
    /// Of the mappings, in their order.
    pub placed: Vec<Vec<super::place::SectionRange>>,
    pub through: Option<usize>,
    pub kept: Option<usize>,
    /// The trace does not say which operand an access is of.
    pub matched: bool,
    /// Instructions whose condition fails.
    pub failed: Vec<u32>,
    pub first_sp: bool,
    /// Bytes of each frame below the return address.
    pub frame: u64,
}

impl CodeMap for Code {
    fn function_at(&mut self, address: u64) -> FunctionId {
        FunctionId::at((address >> 8) as usize - 1)
    }
    fn entry(&self, function: FunctionId) -> Option<u64> {
        Some((function.index() as u64 + 1) << 8)
    }
    fn is_stub(&self, function: FunctionId) -> bool {
        self.has_stub && function.index() == STUB
    }
    fn is_through(&self, function: FunctionId) -> bool {
        self.setting.through == Some(function.index())
    }
    fn is_kept(&self, function: FunctionId) -> bool {
        self.setting.kept == Some(function.index())
    }
}

/// A part of a register, or all of it.
pub(super) fn span(random: &mut Random) -> RegSpan {
    if random.chance(12) {
        let (offset, size) = [(0, 16), (0, 4), (0, 8), (8, 8), (4, 4)][random.below(5) as usize];
        return RegSpan { offset: 128 + 16 * random.below(2) as u16 + offset, size };
    }
    let register = [0, 1, 2, 3, 5, 6, 15][random.below(7) as usize] * 8;
    let (offset, size) =
        [(0, 8), (0, 8), (0, 8), (0, 4), (0, 2), (0, 1), (1, 1), (4, 4)][random.below(8) as usize];
    RegSpan { offset: register + offset, size }
}

fn spans(random: &mut Random, most: u64) -> Vec<RegAccess> {
    let mut list: Vec<RegSpan> = Vec::new();
    for _ in 0..random.below(most + 1) {
        let new = span(random);
        if list.iter().all(|old| !old.overlaps(new)) {
            list.push(new);
        }
    }
    accesses(list)
}

pub(super) fn accesses(mut list: Vec<RegSpan>) -> Vec<RegAccess> {
    list.sort();
    list.into_iter().map(|span| RegAccess { span, control: span == SP }).collect()
}

pub(super) fn operand(
    is_write: bool,
    size: u32,
    on_stack: bool,
    data: Option<RegSpan>,
) -> MemOperand {
    MemOperand {
        stack_relative: on_stack,
        data_register: data,
        ..MemOperand::plain(is_write, size, Expr::Unknown)
    }
}

pub(super) fn plain(kind: FlowKind) -> Decoded {
    let flow =
        ControlFlow { kind, target: None, conditional: kind == FlowKind::Jump, repeats: false };
    Decoded { flow, ..Decoded::unknown(4) }
}

pub(super) fn push(register: RegSpan) -> (Decoded, Vec<Place>) {
    let memory = vec![operand(true, 8, true, Some(register))];
    let reads = accesses(vec![register, SP]);
    (
        Decoded { reads, writes: accesses(vec![SP]), memory, ..plain(FlowKind::Next) },
        vec![Place::Push],
    )
}

fn pop(register: RegSpan) -> (Decoded, Vec<Place>) {
    let memory = vec![operand(false, 8, true, Some(register))];
    let writes = accesses(vec![register, SP]);
    (
        Decoded { writes, reads: accesses(vec![SP]), memory, ..plain(FlowKind::Next) },
        vec![Place::Pop],
    )
}

/// An instruction in the middle.
fn middle(random: &mut Random) -> (Decoded, Vec<Place>) {
    let mut decoded = plain(FlowKind::Next);
    let (mut places, mut reads, mut writes) = (Vec::new(), spans(random, 2), spans(random, 2));
    let size = [1, 2, 4, 8, 8, 8, 16][random.below(7) as usize];
    let own =
        |random: &mut Random| Place::Own(8 * random.below(3) + random.below(2) * random.below(5));
    match random.below(8) {
        // A plain load or store of a register, in the frame or elsewhere.
        kind @ (0 | 1) => {
            let register = span(random);
            let is_write = kind == 0;
            let stack = random.chance(50);
            decoded.memory.push(operand(is_write, register.size.into(), stack, Some(register)));
            places.push(if stack { own(random) } else { Place::Data });
            let list = if is_write { &mut reads } else { &mut writes };
            list.retain(|old| !old.span.overlaps(register));
            list.push(RegAccess { span: register, control: false });
            list.sort_by_key(|a| a.span);
        }
        2 => {
            decoded.memory.push(operand(false, size, false, None));
            places.push(Place::Data);
        }
        3 => {
            decoded.memory.push(operand(true, size, false, None));
            places.push(Place::Data);
        }
        // Both.
        4 => {
            decoded.memory =
                vec![operand(false, size, false, None), operand(true, size, true, None)];
            places = vec![Place::Data, own(random)];
        }
        _ => {}
    }
    (Decoded { reads, writes, ..decoded }, places)
}

impl Code {
    /// Adds a function of these blocks, whose accesses are of data.
    pub(super) fn add_function(&mut self, blocks: impl IntoIterator<Item = Vec<Decoded>>) {
        let (first, mut at) = (self.blocks.len(), 0x100 * (self.functions.len() as u64 + 1));
        for list in blocks {
            let mut block = Vec::new();
            for decoded in list {
                block.push(self.insns.len() as u32);
                let places = decoded.memory.iter().map(|_| Place::Data).collect();
                self.insns.push(Insn { address: at, decoded, places });
                at += 4;
            }
            self.blocks.push(block);
        }
        self.functions.push(first..self.blocks.len());
    }

    pub(super) fn new(random: &mut Random) -> Code {
        let mut code = Code {
            insns: Vec::new(),
            blocks: Vec::new(),
            functions: Vec::new(),
            has_stub: random.chance(60),
            setting: Setting::default(),
        };
        for f in 0..FUNCTIONS {
            let first = code.blocks.len();
            let mut at = 0x100 * (f as u64 + 1);
            let saved: Vec<RegSpan> = [0, 3, 5]
                .into_iter()
                .filter(|_| random.chance(40))
                .map(|r| RegSpan { offset: 8 * r, size: 8 })
                .collect();
            let count = if f == STUB { 1 } else { 3 + random.below(3) };
            for b in 0..count {
                let mut list: Vec<(Decoded, Vec<Place>)> = Vec::new();
                if b == 0 && f != STUB {
                    list.extend(saved.iter().map(|r| push(*r)));
                }
                list.extend((0..1 + random.below(5)).map(|_| middle(random)));
                let last = match random.below(6) {
                    _ if b + 1 == count => {
                        if f != STUB {
                            for register in saved.iter().rev() {
                                list.push(pop(*register));
                                // What was restored is read before the block ends.
                                if random.chance(40) {
                                    let reads = accesses(vec![*register]);
                                    let read = Decoded { reads, ..plain(FlowKind::Next) };
                                    list.push((read, Vec::new()));
                                }
                            }
                        }
                        if f == STUB || random.chance(20) {
                            FlowKind::Jump
                        } else {
                            FlowKind::Return
                        }
                    }
                    0 | 1 => FlowKind::Call,
                    2 | 3 => FlowKind::Jump,
                    4 => FlowKind::Syscall,
                    _ => FlowKind::Next,
                };
                let mut end = plain(last);
                let mut places = Vec::new();
                if last == FlowKind::Jump && b + 1 == count {
                    end.flow.conditional = false;
                }
                if matches!(last, FlowKind::Call | FlowKind::Return) {
                    let is_write = last == FlowKind::Call;
                    end.memory =
                        vec![MemOperand { control: !is_write, ..operand(is_write, 8, true, None) }];
                    (end.reads, end.writes) = (accesses(vec![SP]), accesses(vec![SP]));
                    places.push(if is_write { Place::Push } else { Place::Pop });
                }
                list.push((end, places));
                let mut block = Vec::new();
                for (decoded, places) in list {
                    block.push(code.insns.len() as u32);
                    code.insns.push(Insn { address: at, decoded, places });
                    at += 4;
                }
                code.blocks.push(block);
            }
            assert!(at <= 0x100 * (f as u64 + 2), "a function has its page");
            code.functions.push(first..code.blocks.len());
        }
        code
    }

    fn function_of(&self, block: usize) -> usize {
        self.functions.iter().position(|range| range.contains(&block)).expect("a function")
    }
}

/// What ran: blocks with their threads and addresses, and events before some of them.
#[derive(Clone, Default)]
pub(super) struct Run {
    pub block: Vec<u32>,
    pub thread: Vec<u32>,
    pub addresses: Vec<Vec<u64>>,
    pub events: Vec<(u32, Event)>,
    /// Stack pointer behind each run.
    pub sp: Vec<u64>,
    /// Wild runs have these; else they are empty.
    pub values: Vec<Vec<Option<u64>>>,
    pub time: Vec<Vec<u64>>,
    pub end: Vec<RunEnd>,
    /// Where memory was moved to last, never the same place.
    moved: u64,
    /// Where a part of a stack was moved or copied to last.
    stack_moved: u64,
    /// The trace has values.
    has_values: bool,
    /// Slots of the return addresses of the last calls.
    called: Vec<u64>,
    /// Of each run: the instance that it is of, from 0 in the order in which they begin.
    instance: Vec<usize>,
    /// Of each instance: function, kind, ending, parent.
    instances: Vec<(usize, CallKind, Ending, Option<usize>)>,
    /// Of each instance: the slot of its return address, where its frame ends.
    tops: Vec<Option<u64>>,
    /// Of each instance: the first step behind its end.
    ended: Vec<Option<usize>>,
    /// Steps so far.
    steps: usize,
}

struct Frame {
    instance: usize,
    /// Block behind the call, and slot of the return address.
    back: usize,
    slot: u64,
}

struct Thread {
    sp: u64,
    block: usize,
    frames: Vec<Frame>,
    pending: Pending,
}

/// What the last step did to control, which the next one shows.
#[derive(Clone, Copy)]
enum Pending {
    Nothing,
    Call {
        to: usize,
        kind: CallKind,
        back: usize,
        slot: u64,
    },
    /// To the frame below this one.
    Return(usize),
    /// The same, but not to where it called.
    Back(usize),
    Tail(usize),
}

impl Run {
    fn begin(
        &mut self,
        function: usize,
        kind: CallKind,
        parent: Option<usize>,
        top: Option<u64>,
    ) -> usize {
        self.instances.push((function, kind, Ending::Open, parent));
        self.tops.push(top);
        self.ended.push(None);
        self.instances.len() - 1
    }

    pub(super) fn new(
        code: &Code,
        random: &mut Random,
        runs: usize,
        threads: usize,
        kernel: bool,
    ) -> Run {
        Run::with_values(code, random, runs, threads, kernel, false)
    }

    /// `has_values`: of most accesses it is known what they load or store.
    pub(super) fn with_values(
        code: &Code,
        random: &mut Random,
        runs: usize,
        threads: usize,
        kernel: bool,
        has_values: bool,
    ) -> Run {
        let mut run = Run { has_values, ..Run::default() };
        let mut all: Vec<Option<Thread>> = (0..threads).map(|_| None).collect();
        let mut t = 0;
        for _ in 0..runs {
            if random.chance(8) {
                t = random.below(threads as u64) as usize;
            }
            let thread = all[t].get_or_insert_with(|| {
                let instance = run.begin(0, CallKind::Root, None, None);
                let sp = 0x7000_0f40 + 0x10_0000 * t as u64;
                Thread {
                    sp,
                    block: 0,
                    frames: vec![Frame { instance, back: 0, slot: u64::MAX }],
                    pending: Pending::Nothing,
                }
            });
            let mut was_system_call = false;
            run.step(code, random, t, thread, &mut was_system_call);
            if kernel && was_system_call {
                run.kernel(random, t, thread.sp);
            }
        }
        run
    }

    /// Runs a block of a thread, and finds the next one.
    fn step(
        &mut self,
        code: &Code,
        random: &mut Random,
        t: usize,
        thread: &mut Thread,
        system_call: &mut bool,
    ) {
        self.arrive(thread, code.setting.frame);
        let block = thread.block;
        let mut addresses = Vec::new();
        for insn in &code.blocks[block] {
            for (place, operand) in code.insns[*insn as usize]
                .places
                .iter()
                .zip(&code.insns[*insn as usize].decoded.memory)
            {
                addresses.push(match place {
                    Place::Push => {
                        thread.sp -= 8;
                        thread.sp
                    }
                    Place::Pop => {
                        thread.sp += 8;
                        thread.sp - 8
                    }
                    Place::Own(offset) => thread.sp - 24 + offset,
                    Place::Any(offset) => {
                        let recent = self.called.len().min(6) as u64;
                        let back = random.below(recent + 1) as usize;
                        let slot = self.called.iter().rev().nth(back).copied();
                        slot.map_or(thread.sp, |slot| slot - code.setting.frame) + offset - 24
                    }
                    Place::Data if self.stack_moved != 0 && random.chance(8) => {
                        self.stack_moved + 4 * random.below(14)
                    }
                    Place::Data if self.moved != 0 && random.chance(15) => {
                        self.moved + random.below(40)
                    }
                    Place::Data => DATA + random.below(96 - u64::from(operand.size)),
                });
            }
        }
        let instance = thread.frames.last().expect("a root").instance;
        self.steps += code.blocks[block].len();
        self.block.push(block as u32);
        self.thread.push(t as u32);
        self.instance.push(instance);
        let function = code.function_of(block);
        let last = &code.insns[*code.blocks[block].last().expect("an instruction") as usize];
        let range = &code.functions[function];
        let next = block + 1;
        *system_call = last.decoded.flow.kind == FlowKind::Syscall;
        match last.decoded.flow.kind {
            FlowKind::Call => {
                let down = (function + 1 + random.below(2) as usize).min(FUNCTIONS - 1);
                let to =
                    if random.chance(10) { random.below(FUNCTIONS as u64) as usize } else { down };
                // A call of what follows would be none.
                let to = if code.functions[to].start == next { (to + 1) % FUNCTIONS } else { to };
                let stub = code.has_stub && to == STUB;
                let kind = if stub { CallKind::Stub } else { CallKind::Call };
                thread.pending = Pending::Call { to, kind, back: next, slot: thread.sp };
                thread.block = code.functions[to].start;
            }
            FlowKind::Return => {
                // Now and then several at once.
                let mut at = thread.frames.len() - 1;
                while at > 1 && random.chance(6) {
                    at -= 1;
                }
                if at == 0 {
                    // Nothing called: it goes on with another function, which takes its place.
                    Run::tail(code, random, thread);
                } else if let Some(block) =
                    random.chance(5).then(|| self.inside(code, random, thread, at)).flatten()
                {
                    let slot = thread.frames[at].slot;
                    (thread.block, thread.pending) = (block, Pending::Back(at));
                    thread.sp = slot + 8;
                    *addresses.last_mut().expect("the slot") = slot;
                } else {
                    let slot = thread.frames[at].slot;
                    thread.block = thread.frames[at].back;
                    thread.pending = Pending::Return(at);
                    // The return loads the slot that it goes back by.
                    thread.sp = slot + 8;
                    *addresses.last_mut().expect("the slot") = slot;
                }
            }
            FlowKind::Jump if next == range.end => Run::tail(code, random, thread),
            FlowKind::Jump if random.chance(60) => {
                thread.block = range.start + random.below(range.len() as u64) as usize;
                // Not back to the pushes, which would need no end.
                thread.block = thread.block.max((range.start + 1).min(range.end - 1));
            }
            _ => thread.block = next,
        }
        if self.has_values {
            let value = |_| match random.below(20) {
                0 => None,
                1 => Some(1),
                _ => Some(0),
            };
            self.values.push(addresses.iter().map(value).collect());
        }
        self.addresses.push(addresses);
        let called = u64::from(last.decoded.flow.kind == FlowKind::Call);
        self.sp.push(thread.sp + 8 * called);
    }

    /// A block of the function below a frame, neither its first nor that behind the call; none: control is in that
    /// function.
    fn inside(
        &self,
        code: &Code,
        random: &mut Random,
        thread: &Thread,
        at: usize,
    ) -> Option<usize> {
        let function = |at: usize| self.instances[thread.frames[at].instance].0;
        let own = function(at - 1);
        let range = code.functions[own].start + 1..code.functions[own].end;
        let block = range.start + random.below(range.len().max(1) as u64) as usize;
        let is_there = range.contains(&block) && block != thread.frames[at].back;
        (is_there && own != function(thread.frames.len() - 1)).then_some(block)
    }

    /// A jump to another function.
    fn tail(code: &Code, random: &mut Random, thread: &mut Thread) {
        let to = random.below((FUNCTIONS - 1) as u64) as usize;
        thread.block = code.functions[to].start;
        thread.pending = Pending::Tail(to);
    }

    /// The thread goes on where its last step led to.
    fn arrive(&mut self, thread: &mut Thread, frame: u64) {
        let top = thread.frames.last_mut().expect("a root");
        let pending = std::mem::replace(&mut thread.pending, Pending::Nothing);
        match pending {
            Pending::Nothing => {}
            Pending::Call { to, kind, back, slot } => {
                let instance = self.begin(to, kind, Some(top.instance), Some(slot));
                thread.frames.push(Frame { instance, back, slot });
                thread.sp -= frame;
                self.called.push(slot);
            }
            Pending::Return(at) | Pending::Back(at) => {
                let returns = matches!(pending, Pending::Return(_));
                for (i, frame) in thread.frames.drain(at..).enumerate() {
                    let returns = i == 0 && returns;
                    let ending = if returns { Ending::Return } else { Ending::Unwound };
                    self.instances[frame.instance].2 = ending;
                    self.ended[frame.instance] = Some(self.steps + 1);
                }
            }
            Pending::Tail(to) => {
                let (old, _, _, parent) = self.instances[top.instance];
                if to != old {
                    self.instances[top.instance].2 = Ending::Tail;
                    self.ended[top.instance] = Some(self.steps + 1);
                    let inherited = self.tops[top.instance];
                    top.instance = self.begin(to, CallKind::Tail, parent, inherited);
                }
            }
        }
    }

    /// What the kernel does before the next run.
    fn kernel(&mut self, random: &mut Random, t: usize, sp: u64) {
        let at = self.block.len() as u32;
        let range = |random: &mut Random| match random.below(4) {
            0 => (sp - 40, random.below(70)),
            1 if self.moved != 0 => (self.moved + random.below(40), random.below(20)),
            _ => (DATA + random.below(60), random.below(60)),
        };
        let event = match random.below(16) {
            0 => Event::MemoryFresh { address: 0x5000, bytes: 0x1000 },
            kind @ 1..4 => {
                let to = self.moved.max(0x9000) + 0x1000;
                self.moved = to;
                match kind {
                    1 => Event::MemoryCopy { from: 0x5000, to, bytes: 0x1000 },
                    _ => Event::MemoryMove { from: 0x6000, to, bytes: 0x1000 },
                }
            }
            4 => Event::ImageUnmap { address: 0x6000, bytes: 0x1000 },
            // What lies around the stack pointer, with the saves there.
            kind @ (5 | 6) if self.has_values => {
                let (from, bytes) = ((sp - 32) & !15, 64);
                self.moved = self.moved.max(0x9000) + 0x1000;
                let to = self.moved + (from & 0x7f0);
                self.stack_moved = to;
                match kind {
                    5 => Event::MemoryCopy { from, to, bytes },
                    _ => Event::MemoryMove { from, to, bytes },
                }
            }
            _ => {
                let accesses = (0..1 + random.below(2)).map(|_| {
                    let (address, bytes) = range(random);
                    let source =
                        [None, Some("<read: a>"), Some("<read: b>")][random.below(3) as usize];
                    KernelAccess {
                        is_write: random.chance(50),
                        address,
                        bytes,
                        source: source.map(Into::into),
                    }
                });
                let accesses = accesses.collect();
                Event::SystemCall(Box::new(SystemCall {
                    thread: t as u32,
                    accesses,
                    ..SystemCall::default()
                }))
            }
        };
        self.events.push((at, event));
    }
}

#[derive(Default)]
pub(super) struct Rows {
    pub communications: Vec<Communication>,
    pub flows: Vec<Flow>,
    pub calls: Vec<Call>,
    pub bytes_in: Vec<Option<u64>>,
    pub saved: Vec<SavedRegister>,
    pub intervals: Vec<Interval>,
    pub folded: Vec<FoldedCall>,
    pub late: Vec<Late>,
}

impl Rows {
    pub(super) fn clear(&mut self) {
        *self = Rows::default();
    }
}

impl Output for Rows {
    fn communication(&mut self, row: Communication) {
        self.communications.push(row);
    }
    fn late(&mut self, row: Late) {
        self.late.push(row);
    }
    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        self.calls.push(row);
        self.bytes_in.push(bytes_in);
    }
    fn interval(&mut self, row: Interval) {
        self.intervals.push(row);
    }
    fn saved_register(&mut self, row: SavedRegister) {
        self.saved.push(row);
    }
    fn flow(&mut self, row: Flow) {
        self.flows.push(row);
    }
    fn folded_call(&mut self, row: FoldedCall) {
        self.folded.push(row);
    }
}

/// All that a pass gives, sorted, as text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    pub functions: Vec<String>,
    pub flows: Vec<String>,
    pub call_edges: Vec<String>,
    pub stubs: Vec<String>,
    pub folded: Vec<String>,
    pub contexts: Vec<String>,
    pub in_contexts: Vec<String>,
    pub instruction_flows: Vec<String>,
    pub calls: Vec<String>,
    pub dataflow: Vec<String>,
    pub saved: Vec<String>,
    pub intervals: Vec<String>,
    pub communications: Vec<String>,
}

pub(super) fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

/// A writer's or reader's name.
pub(super) fn name<T: std::fmt::Debug>(origin: &Origin<T>, sources: &origin::Sources) -> String {
    match origin {
        Origin::Step(step) => format!("{step:?}"),
        Origin::Source(Source::Named(source)) => sources.name(*source).to_owned(),
        Origin::Source(other) => format!("{other:?}"),
    }
}

pub(super) fn via(place: PlaceCode) -> &'static str {
    if place == PlaceCode::REGISTER { "register" } else { "memory" }
}

/// A pass that knows the instructions, after so many mappings of the run.
pub(super) fn pass_without_blocks(
    code: &Code,
    options: Options,
    mapped: usize,
) -> Pass<Code, Rows> {
    let processor = code.setting.processor.clone().unwrap_or(Processor {
        fast: Vec::new(),
        given: Vec::new(),
        register_bytes: REGISTERS.into(),
        slot: FrameSlot::ReturnSlot { bytes: 8 },
        link: None,
        frame: Vec::new(),
        long: Vec::new(),
    });
    let sections = code.setting.sections.clone();
    let mut pass = Pass::new(code.clone(), Rows::default(), options, sections, processor);
    let placed = code.setting.placed.iter().skip(mapped);
    placed.for_each(|sections| pass.place_when_mapped(sections.clone()));
    if code.setting.kept.is_some() {
        pass.kept().only_inside();
    }
    for insn in &code.insns {
        pass.add_insn(
            InsnDef { address: insn.address, ..InsnDef::default() },
            insn.decoded.clone(),
        );
    }
    pass
}

/// A pass that knows the code.
pub(super) fn pass_over(code: &Code, options: Options) -> Pass<Code, Rows> {
    let mut pass = pass_without_blocks(code, options, 0);
    for block in &code.blocks {
        let memory = |i: &u32| &code.insns[*i as usize].decoded.memory;
        let executed = |i: &u32| !code.setting.failed.contains(i);
        let step =
            |i: &u32| BlockStep { insn: *i, executed: executed(i), mem: memory(i).len() as u16 };
        let shapes = block.iter().flat_map(|i| memory(i).iter().zip(0..));
        let shape = |(m, operand): (&MemOperand, u8)| MemShape {
            is_write: m.is_write,
            size: m.size,
            operand: if code.setting.matched { MemShape::NO_OPERAND } else { operand },
        };
        pass.add_block(BlockDef {
            steps: block.iter().map(step).collect(),
            mem: shapes.map(shape).collect(),
        });
    }
    pass
}

impl Run {
    /// Takes out `size` runs from `at` on, or events if `at` is behind the runs.
    pub(super) fn cut(&mut self, at: usize, size: usize) {
        fn take<T>(list: &mut Vec<T>, at: usize, size: usize) {
            let (at, to) = (at.min(list.len()), (at + size).min(list.len()));
            list.drain(at..to);
        }
        if let Some(at) = at.checked_sub(self.block.len()) {
            return take(&mut self.events, at, size);
        }
        take(&mut self.block, at, size);
        take(&mut self.thread, at, size);
        take(&mut self.addresses, at, size);
        take(&mut self.values, at, size);
        take(&mut self.time, at, size);
        take(&mut self.end, at, size);
        for (before, _) in &mut self.events {
            *before -= (*before).saturating_sub(at as u32).min(size as u32);
        }
    }

    /// The runs of a batch, without events.
    fn batch(&self, from: usize, to: usize) -> RunBatch {
        RunBatch {
            block: self.block[from..to].to_vec(),
            thread: self.thread[from..to].to_vec(),
            addresses: self.addresses[from..to].concat(),
            values: self.values.get(from..to).map(|v| v.concat()).unwrap_or_default(),
            time: self.time.get(from..to).map(|v| v.concat()).unwrap_or_default(),
            end: self.end.get(from..to).map(<[_]>::to_vec).unwrap_or_default(),
            ..RunBatch::default()
        }
    }
}

/// What a pass gives of a run, and which runs it keeps.
pub(super) fn ran(
    code: &Code,
    run: &Run,
    options: Options,
    batch: usize,
) -> (Summary, Rows, Vec<bool>) {
    let mut pass = pass_over(code, options);
    let kept = push_runs(&mut pass, code, run, 0..run.block.len(), batch);
    let summary = pass.finish();
    let rows = std::mem::take(pass.output());
    // Saves that are exposed give rows of reads before, and rows inside segments come before the others of these.
    if options.saves == SaveRule::Literal && options.details == Details::Crossing {
        assert!(rows.communications.is_sorted_by_key(|row| row.read), "rows come in order");
    }
    parts_are_told(&summary, &rows);
    exposed_reads_are_told(options.details, &rows);
    late_rows_are_told(code, options.details, &rows);
    (summary, rows, kept)
}

/// Of each byte of a save that was exposed it is told late who wrote it.
fn exposed_reads_are_told(details: Details, rows: &Rows) {
    let mut told: HashMap<(Seq, u64), u64> = HashMap::new();
    for late in &rows.late {
        for byte in late.row.address..late.row.address + u64::from(late.row.bytes) {
            *told.entry((late.row.read.seq, byte)).or_default() += 1;
        }
    }
    let exposed = rows.saved.iter().filter(|save| save.exposed.is_some());
    for save in exposed.filter(|_| details > Details::Sums) {
        for byte in save.register.bytes() {
            let times = told.remove(&(save.save.seq, byte.into()));
            assert_eq!(times, Some(1), "{save:?}: byte {byte}");
        }
    }
    assert!(told.is_empty(), "{told:?}");
}

/// What is known late are rows, of the details that ask for them.
fn late_rows_are_told(code: &Code, details: Details, rows: &Rows) {
    // Of what is not kept, there is no row.
    if code.setting.kept.is_some() || details < Details::Crossing {
        return;
    }
    let given: std::collections::HashSet<String> =
        rows.communications.iter().map(|row| format!("{row:?}")).collect();
    for late in &rows.late {
        let asked = details == Details::Local || !late.is_local;
        assert_eq!(given.contains(&format!("{:?}", late.row)), asked, "{late:?}");
    }
}

/// Rows of one key, where the places of all are known in the end, are parts.
fn parts_are_told(summary: &Summary, rows: &Rows) {
    let mut keys: HashMap<_, (usize, bool)> = HashMap::new();
    for flow in &rows.flows {
        let place = summary.flow_places[flow.place as usize];
        let is_stack = match place.place.place() {
            place::Place::Region(region) => Some(summary.region_is_stack[region as usize]),
            _ => None,
        };
        // Regions of one kind are told apart by nothing.
        let place = is_stack.is_none().then_some(place);
        let key = format!("{:?} {:?} {:?}", flow.writer, flow.reader, flow.reader_function);
        let known = keys.entry((key, place, is_stack)).or_insert((0, true));
        *known = (known.0 + 1, known.1 && flow.part);
    }
    for (key, (rows, all_are_parts)) in keys {
        assert!(rows == 1 || all_are_parts, "{rows} rows of {key:?}");
    }
}

/// Pushes some runs, with the events before each of them and, where they are the last, behind; gives which are kept.
pub(super) fn push_runs(
    pass: &mut Pass<Code, Rows>,
    code: &Code,
    run: &Run,
    range: std::ops::Range<usize>,
    batch: usize,
) -> Vec<bool> {
    let all = run.block.len();
    let begins = |at: usize| {
        let here = run.events.iter().filter(|e| e.0 as usize == at);
        here.map(|e| &e.1).any(|e| *e == Event::ProcessStart)
    };
    let mut cuts: Vec<usize> = range.clone().step_by(batch.min(all.max(1))).collect();
    cuts.extend(range.clone().filter(|&at| at > 0 && begins(at)));
    cuts.sort_unstable();
    cuts.dedup();
    let events = run.events.iter().skip_while(|e| (e.0 as usize) < range.start);
    let (mut events, mut kept) = (events.peekable(), Vec::new());
    for (i, &from) in cuts.iter().enumerate() {
        let to = cuts.get(i + 1).copied().unwrap_or(range.end);
        let batch = run.batch(from, to);
        let begins = from > 0 && begins(from);
        if begins {
            pass.next_process(run.thread[from]);
        }
        if code.setting.first_sp && (from == 0 || begins) {
            pass.find_first_sp(&run.batch(from, all));
        }
        let mut here = Vec::new();
        while let Some((at, event)) = events.next_if(|e| (e.0 as usize) < to || to == all) {
            here.push((at - from as u32, event.clone()));
        }
        pass.push(&RunBatch { events: here, ..batch });
        kept.extend(pass.kept_runs());
    }
    kept
}

pub(super) fn given(code: &Code, run: &Run, options: Options, batch: usize) -> Given {
    let (summary, rows, _) = ran(code, run, options, batch);
    described(&summary, &rows)
}

/// Who shared data with whom, each as a chain of functions, by place.
type ByChains = BTreeMap<(String, String, &'static str), [u64; 3]>;

fn in_contexts(summary: &Summary) -> Vec<String> {
    by_chains(summary).iter().map(|row| format!("{row:?}")).collect()
}

fn by_chains(summary: &Summary) -> ByChains {
    let contexts = summary.contexts.contexts();
    let end = |(origin, context): FlowEnd| {
        let chain = |id: StackId| {
            let mut list: Vec<usize> =
                std::iter::successors(Some(id), |id| contexts.get(*id).parent)
                    .map(|id| contexts.get(id).function.index())
                    .collect();
            list.reverse();
            straight(list)
        };
        match (origin, context) {
            (Origin::Step(function), Some(context)) => {
                assert_eq!(function, contexts.get(context).function);
                format!("{:?}", chain(context))
            }
            _ => name(&origin, &summary.sources),
        }
    };
    let mut found = ByChains::new();
    for flow in &summary.context_flows {
        let key = (end(flow.writer), end(flow.reader), via(flow.place));
        let (sum, s) = (found.entry(key).or_default(), flow.sums);
        *sum = [sum[0] + s.bytes, sum[1] + s.unique, sum[2] + s.transfers];
    }
    found
}

/// A chain of calls in which each function is but once: where it was called last.
fn straight(chain: Vec<usize>) -> Vec<usize> {
    chain.into_iter().fold(Vec::new(), |mut last, function| {
        last.retain(|known| *known != function);
        last.push(function);
        last
    })
}

/// Sums and rows as text.
pub(super) fn described(summary: &Summary, rows: &Rows) -> Given {
    let names = &summary.sources;
    // By place the same, whatever regions it was in.
    let mut flows: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for f in &summary.function_flows {
        let key =
            format!("{} -> {} {}", name(&f.writer, names), name(&f.reader, names), via(f.place));
        let (sum, s) = (flows.entry(key).or_default(), f.sums);
        *sum = [sum[0] + s.bytes, sum[1] + s.unique, sum[2] + s.transfers, sum[3] + s.addresses];
    }
    let mut instruction_flows: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for f in &summary.instruction_flows {
        let key = format!("{} -> {:?} {}", name(&f.writer, names), f.reader, via(f.place));
        let sum = instruction_flows.entry(key).or_default();
        *sum = [sum[0] + f.bytes, sum[1] + f.transfers];
    }
    let mut dataflow: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for f in &rows.flows {
        let place = summary.flow_places[f.place as usize].place;
        let writer = match &f.writer {
            Origin::Step((call, _)) => format!("{call:?}"),
            Origin::Source(source) => name(&Origin::<()>::Source(*source), names),
        };
        let reader = match f.reader {
            Some(call) => format!("{call:?}"),
            None => name(&f.reader_function, names),
        };
        let sum = dataflow.entry(format!("{writer} -> {reader} {}", via(place))).or_default();
        *sum = [sum[0] + f.bytes, sum[1] + f.unique, sum[2] + f.transfers];
    }
    let stub_flow = |f: &summary::FunctionFlow| {
        let sums = f.sums;
        format!(
            "{} -> {} {} {} {}",
            name(&f.writer, names),
            name(&f.reader, names),
            via(f.place),
            sums.bytes,
            sums.transfers
        )
    };
    let text = |c: &Communication| {
        let write = name(&c.write, names);
        format!("{write} -> {:?} {} {:x} {}", c.read, c.is_register, c.address, c.bytes)
    };
    Given {
        functions: summary
            .functions
            .iter()
            .enumerate()
            .map(|(i, f)| format!("{i} {f:?}"))
            .collect(),
        flows: flows.iter().map(|(key, sums)| format!("{key} {sums:?}")).collect(),
        call_edges: sorted(summary.call_edges.iter().map(|e| format!("{e:?}"))),
        stubs: sorted(
            summary
                .stub_flows
                .iter()
                .map(stub_flow)
                .chain(summary.stub_calls.iter().map(|c| format!("{c:?}")))
                .chain(summary.stubs.iter().map(|s| format!("{s:?}")))
                .chain(summary.merged_steps.iter().map(|s| format!("{s:?}"))),
        ),
        folded: sorted(rows.folded.iter().map(|f| format!("{f:?}"))),
        in_contexts: in_contexts(summary),
        contexts: vec![
            format!("{:?} {:?} {:?}", summary.steps, summary.threads, summary.calls),
            format!("{:?} {:?}", summary.intervals, summary.first_sp),
        ],
        instruction_flows: instruction_flows
            .iter()
            .map(|(key, sums)| format!("{key} {sums:?}"))
            .collect(),
        calls: {
            let mut calls = rows.calls.clone();
            calls.sort_by_key(|c| c.call);
            calls.iter().map(|c| format!("{c:?}")).collect()
        },
        dataflow: dataflow.iter().map(|(key, sums)| format!("{key} {sums:?}")).collect(),
        saved: sorted(rows.saved.iter().map(|s| format!("{s:?}"))),
        intervals: sorted(rows.intervals.iter().map(|i| format!("{i:?}"))),
        communications: sorted(rows.communications.iter().map(text)),
    }
}

pub(super) fn options(saves: SaveRule, details: Details, superblock_after: u32) -> Options {
    Options { saves, details, superblock_after, sums: true, any_order: false }
}

pub(super) fn same(case: &str, what: &str, one: &[String], other: &[String]) {
    let differ = one.iter().zip(other).find(|(a, b)| a != b);
    assert!(one == other, "{case}: {what}: {} and {} lines: {differ:?}", one.len(), other.len());
}

/// Every way gives the same sums, and each detail what it adds to the one before.
pub(super) fn ways_agree(case: &str, code: &Code, run: &Run, saves: SaveRule) -> Given {
    let plain = |details| given(code, run, options(saves, details, u32::MAX), usize::MAX / 2);
    let local = plain(Details::Local);
    for details in [Details::Sums, Details::Instances, Details::Crossing, Details::Local] {
        for (superblock_after, batch) in [(u32::MAX, 7), (1, usize::MAX / 2), (1, 150), (3, 1000)] {
            let case = format!("{case}, {details:?}, {superblock_after}, {batch}");
            let found = given(code, run, options(saves, details, superblock_after), batch);
            same(&case, "functions", &found.functions, &local.functions);
            same(&case, "flows", &found.flows, &local.flows);
            same(&case, "call edges", &found.call_edges, &local.call_edges);
            same(&case, "stubs", &found.stubs, &local.stubs);
            same(&case, "in contexts", &found.in_contexts, &local.in_contexts);
            same(&case, "steps", &found.contexts[..1], &local.contexts[..1]);
            if details == Details::Sums {
                continue;
            }
            same(&case, "folded", &found.folded, &local.folded);
            same(&case, "steps", &found.contexts, &local.contexts);
            same(&case, "instructions", &found.instruction_flows, &local.instruction_flows);
            same(&case, "calls", &found.calls, &local.calls);
            same(&case, "dataflow", &found.dataflow, &local.dataflow);
            same(&case, "saved", &found.saved, &local.saved);
            same(&case, "intervals", &found.intervals, &local.intervals);
            match details {
                Details::Local => same(&case, "rows", &found.communications, &local.communications),
                Details::Crossing => {
                    let all: BTreeSet<_> = local.communications.iter().collect();
                    assert!(
                        found.communications.iter().all(|row| all.contains(row)),
                        "{case}: rows"
                    );
                }
                _ => assert!(found.communications.is_empty(), "{case}: rows"),
            }
        }
    }
    local
}

// ---- the list ----

/// A write, or what the kernel wrote.
#[derive(Clone, Debug, PartialEq)]
struct Write {
    /// Step and ordinal; of the kernel: its number.
    id: (usize, u16),
    by: Result<(usize, u32), String>,
    /// Read by somebody, or not to be read.
    read: bool,
}

/// What was counted by the list.
#[derive(Default)]
struct List {
    last: HashMap<(usize, u64), usize>,
    writes: Vec<Write>,
    /// Versions of bytes that somebody has read, or that are not to be read.
    seen: BTreeSet<(usize, (usize, u64))>,
    /// Versions of bytes that an instance has read; the kernel does not read again.
    read: BTreeSet<(usize, (usize, u64), usize)>,
    flows: BTreeMap<String, [u64; 4]>,
    addresses: BTreeSet<(String, (usize, u64))>,
    instruction_flows: BTreeMap<String, [u64; 2]>,
    dataflow: BTreeMap<String, [u64; 3]>,
    communications: Vec<String>,
    dead: BTreeMap<usize, u64>,
    saves: Vec<Saved>,
}

/// A save of a register.
struct Saved {
    instance: usize,
    thread: usize,
    register: RegSpan,
    address: u64,
    value: Option<u64>,
    /// Its store.
    write: usize,
    /// Who wrote the register's bytes before.
    before: Vec<(u64, usize)>,
    /// Its read of the register.
    by: (Access, usize, usize, u32),
    restores: u32,
    last_restore: Option<usize>,
    exposed: Option<usize>,
}

/// Step and ordinal.
type Access = (usize, u16);

const MEMORY: usize = usize::MAX;

impl List {
    /// Writes bytes of a space: memory, or a thread's registers.
    fn write(
        &mut self,
        space: usize,
        from: u64,
        size: u64,
        write: Write,
        functions: &dyn Fn(usize) -> usize,
    ) {
        for byte in from..from + size {
            self.end(space, byte, functions);
            self.last.insert((space, byte), self.writes.len());
        }
        self.writes.push(write);
        // Versions of a byte, not of a write, are dead or not.
    }

    /// What a byte holds is gone.
    fn end(&mut self, space: usize, byte: u64, functions: &dyn Fn(usize) -> usize) {
        let Some(last) = self.last.remove(&(space, byte)) else { return };
        let write = &self.writes[last];
        let unread = !self.seen.contains(&(last, (space, byte)));
        if let (Ok((instance, _)), true) = (&write.by, space == MEMORY && unread && !write.read) {
            *self.dead.entry(functions(*instance)).or_default() += 1;
        }
    }
}

struct Reader<'a> {
    /// Step and ordinal, instance, function, instruction; None: the kernel, with the sink's name.
    by: Result<(Access, usize, usize, u32), &'a str>,
}

impl List {
    /// What is known of bytes: each with its last write.
    fn versions(&self, space: usize, from: u64, size: u64) -> Vec<(u64, usize)> {
        let known = |byte| self.last.get(&(space, byte)).map(|&write| (byte, write));
        (from..from + size).filter_map(known).collect()
    }

    /// Any other read than a restore. `now`: the step, or that before what the kernel does.
    fn read(&mut self, space: usize, from: u64, size: u64, now: usize, reader: Reader, run: &Run) {
        let versions = self.versions(space, from, size);
        self.feed(space, &versions, &reader, run);
        if space != MEMORY {
            return;
        }
        for i in 0..self.saves.len() {
            let save = &mut self.saves[i];
            let lives = save.exposed.is_none() && run.lives(save.instance, now);
            if !lives || versions.iter().all(|(_, write)| *write != save.write) {
                continue;
            }
            save.exposed = Some(now);
            let (thread, by, before) = (save.thread, Ok(save.by), save.before.clone());
            self.feed(thread, &before, &Reader { by }, run);
        }
    }

    /// Counts what versions of bytes feed.
    fn feed(&mut self, space: usize, versions: &[(u64, usize)], reader: &Reader, run: &Run) {
        let is_register = space != MEMORY;
        let via = if is_register { "register" } else { "memory" };
        let mut met: BTreeSet<usize> = BTreeSet::new();
        // (write, first byte, bytes) of the pieces.
        let mut pieces: Vec<(usize, u64, u64)> = Vec::new();
        for &(byte, last) in versions {
            match pieces.last_mut() {
                Some((write, at, n)) if *write == last && *at + *n == byte => *n += 1,
                _ => pieces.push((last, byte, 1)),
            }
            self.seen.insert((last, (space, byte)));
            let write = &self.writes[last];
            let transfer = u64::from(met.insert(last));
            let (writer, writer_call, writer_insn) = match &write.by {
                Ok((instance, insn)) => {
                    let function = run.instances[*instance].0;
                    (
                        format!("{:?}", FunctionId::at(function)),
                        format!("{:?}", CallId::at(*instance)),
                        format!("{:?}", InstructionId::at(*insn as usize)),
                    )
                }
                Err(source) => (source.clone(), source.clone(), source.clone()),
            };
            let (key, call_key, first) = match &reader.by {
                Ok((_, instance, function, _)) => (
                    format!("{writer} -> {:?} {via}", FunctionId::at(*function)),
                    format!("{writer_call} -> {:?} {via}", CallId::at(*instance)),
                    self.read.insert((*instance, (space, byte), last)),
                ),
                Err(sink) => (
                    format!("{writer} -> {sink} {via}"),
                    format!("{writer_call} -> {sink} {via}"),
                    true,
                ),
            };
            let first = u64::from(first);
            let address = u64::from(self.addresses.insert((key.clone(), (space, byte))));
            let sum = self.flows.entry(key).or_default();
            *sum = [sum[0] + 1, sum[1] + first, sum[2] + transfer, sum[3] + address];
            let sum = self.dataflow.entry(call_key).or_default();
            *sum = [sum[0] + 1, sum[1] + first, sum[2] + transfer];
            if let Ok((_, _, _, insn)) = &reader.by {
                let key = format!("{writer_insn} -> {:?} {via}", InstructionId::at(*insn as usize));
                let sum = self.instruction_flows.entry(key).or_default();
                *sum = [sum[0] + 1, sum[1] + transfer];
            }
        }
        let Ok((id, ..)) = reader.by else { return };
        for (write, at, n) in pieces {
            let text = match &self.writes[write].by {
                Ok(_) => format!("{:?}", access(self.writes[write].id)),
                Err(source) => source.clone(),
            };
            self.communications
                .push(format!("{text} -> {:?} {is_register} {at:x} {n}", access(id)));
        }
    }

    /// Whether a store of a register is a save.
    fn is_save(
        &self,
        run: &Run,
        m: &MemOperand,
        address: u64,
        (t, instance): (usize, usize),
    ) -> bool {
        let Some(register) = m.data_register else { return false };
        let end = address + u64::from(m.size);
        let framed = match run.tops[instance] {
            Some(top) => end <= top && address + (8 << 20) >= top,
            None => m.stack_relative,
        };
        let own = |write: usize| matches!(self.writes[write].by, Ok((by, _)) if by == instance);
        let written = self.versions(t, register.offset.into(), register.size.into());
        framed && !written.iter().any(|(_, write)| own(*write))
    }

    /// The save that a load restores.
    fn restored(
        &self,
        m: &MemOperand,
        address: u64,
        value: Option<u64>,
        instance: usize,
    ) -> Option<usize> {
        let register = m.data_register?;
        let found = self.versions(MEMORY, address, m.size.into());
        let is = |save: &Saved| {
            let same =
                (save.instance, save.register, save.address) == (instance, register, address);
            let agree = value.is_none() || save.value.is_none() || value == save.value;
            let all = found.len() == m.size as usize && found.iter().all(|v| v.1 == save.write);
            same && agree && all && save.exposed.is_none()
        };
        self.saves.iter().position(is)
    }

    /// The rows of the saves.
    fn saved(&self) -> Vec<String> {
        let seq = |step: Option<usize>| step.and_then(|step| Seq::new(step as u64));
        let row = |save: &Saved| {
            let row = SavedRegister {
                call: CallId::at(save.instance),
                save: access(self.writes[save.write].id),
                register: save.register,
                address: save.address,
                restores: save.restores,
                last_restore: seq(save.last_restore),
                exposed: seq(save.exposed),
            };
            format!("{row:?}")
        };
        sorted(self.saves.iter().map(row))
    }
}

fn access((seq, ordinal): Access) -> AccessRef {
    AccessRef { seq: Seq::new(seq as u64).expect("a step"), ordinal }
}

impl Run {
    /// Whether an instance lives at a step.
    fn lives(&self, instance: usize, now: usize) -> bool {
        self.ended[instance].is_none_or(|end| now < end)
    }
}

/// What the list says of a run.
fn list(code: &Code, run: &Run, saves: SaveRule) -> List {
    let mut list = List::default();
    let functions = |instance: usize| run.instances[instance].0;
    let (mut seq, mut kernel) = (0, 0);
    let mut events = run.events.iter().peekable();
    for at in 0..=run.block.len() {
        while let Some((_, event)) = events.next_if(|e| e.0 as usize == at) {
            list.event(event, run, seq, &mut kernel, &functions);
        }
        let Some(&block) = run.block.get(at) else { break };
        let (t, instance) = (run.thread[at] as usize, run.instance[at]);
        let values = run.values.get(at).into_iter().flatten().copied();
        let values = values.chain(std::iter::repeat(None));
        let mut accesses = run.addresses[at].iter().copied().zip(values);
        for &i in &code.blocks[block as usize] {
            seq += 1;
            let decoded = &code.insns[i as usize].decoded;
            let here: Vec<_> = decoded.memory.iter().zip(accesses.by_ref()).collect();
            let is_save = |m: &MemOperand, address| {
                let of = (t, instance);
                saves == SaveRule::Transparent && m.is_write && list.is_save(run, m, address, of)
            };
            let saved = here.iter().find(|(m, (address, _))| is_save(m, *address));
            let saved = saved.and_then(|(m, _)| m.data_register);
            let mut restored = None;
            let mut ordinal = 0;
            let mut next = || {
                ordinal += 1;
                (seq, ordinal - 1)
            };
            let returns = decoded.flow.kind == FlowKind::Return;
            let calls = decoded.flow.kind == FlowKind::Call;
            let mut save_by = None;
            for read in &decoded.reads {
                let by = (next(), instance, functions(instance), i);
                if saved == Some(read.span) {
                    save_by = Some(by);
                } else if !read.control {
                    let RegSpan { offset, size } = read.span;
                    list.read(t, offset.into(), size.into(), seq, Reader { by: Ok(by) }, run);
                }
            }
            for (m, (address, value)) in here {
                let id = next();
                if m.is_write {
                    let save = save_by.filter(|_| saved == m.data_register);
                    if let (Some(by), Some(register)) = (save, saved) {
                        list.saves.push(Saved {
                            instance,
                            thread: t,
                            register,
                            address,
                            value,
                            write: list.writes.len(),
                            before: list.versions(t, register.offset.into(), register.size.into()),
                            by,
                            restores: 0,
                            last_restore: None,
                            exposed: None,
                        });
                    }
                    let read = calls || save.is_some();
                    let write = Write { id, by: Ok((instance, i)), read };
                    list.write(MEMORY, address, m.size.into(), write, &functions);
                } else if let Some(save) = list.restored(m, address, value, instance) {
                    let save = &mut list.saves[save];
                    save.restores += 1;
                    save.last_restore = Some(seq);
                    restored = Some(save.register);
                    let RegSpan { offset, size } = save.register;
                    let before = save.before.clone();
                    for byte in u64::from(offset)..u64::from(offset + size) {
                        list.last.remove(&(t, byte));
                    }
                    list.last.extend(before.into_iter().map(|(byte, write)| ((t, byte), write)));
                } else if !returns {
                    let by = Ok((id, instance, functions(instance), i));
                    list.read(MEMORY, address, m.size.into(), seq, Reader { by }, run);
                }
            }
            for write in &decoded.writes {
                let id = next();
                if !write.control && restored.is_none_or(|register| !register.contains(write.span))
                {
                    let by = Ok((instance, i));
                    let new = Write { id, by, read: true };
                    list.write(
                        t,
                        write.span.offset.into(),
                        write.span.size.into(),
                        new,
                        &functions,
                    );
                }
            }
        }
    }
    let left: Vec<(usize, u64)> = list.last.keys().copied().collect();
    left.into_iter().for_each(|(space, byte)| list.end(space, byte, &functions));
    list
}

impl List {
    fn event(
        &mut self,
        event: &Event,
        run: &Run,
        now: usize,
        kernel: &mut usize,
        functions: &dyn Fn(usize) -> usize,
    ) {
        let pages = |list: &List, from: u64, bytes: u64| -> Vec<u64> {
            let mut all: Vec<u64> = list
                .last
                .keys()
                .filter(|k| k.0 == MEMORY && k.1 >= from && k.1 < from + bytes)
                .map(|k| k.1)
                .collect();
            all.sort_unstable();
            all
        };
        match event {
            Event::SystemCall(call) => {
                for access in &call.accesses {
                    let source = access.source.as_deref().unwrap_or("<kernel>");
                    if access.is_write {
                        *kernel += 1;
                        let write =
                            Write { id: (*kernel, 0), by: Err(source.to_owned()), read: true };
                        self.write(MEMORY, access.address, access.bytes, write, functions);
                    } else {
                        let reader = Reader { by: Err(source) };
                        self.read(MEMORY, access.address, access.bytes, now, reader, run);
                    }
                }
            }
            Event::MemoryFresh { address, bytes } | Event::ImageUnmap { address, bytes } => {
                for byte in pages(self, *address, *bytes) {
                    self.end(MEMORY, byte, functions);
                }
            }
            Event::MemoryCopy { from, to, bytes } => {
                for byte in pages(self, *from, *bytes) {
                    // A copy is never dead.
                    let write = self.last[&(MEMORY, byte)];
                    self.last.insert((MEMORY, byte - from + to), write);
                    self.seen.insert((write, (MEMORY, byte - from + to)));
                }
            }
            Event::MemoryMove { from, to, bytes } => {
                let moved: Vec<(u64, usize)> = pages(self, *from, *bytes)
                    .into_iter()
                    .map(|byte| (byte, self.last[&(MEMORY, byte)]))
                    .collect();
                for byte in pages(self, *to, *bytes) {
                    self.end(MEMORY, byte, functions);
                }
                for (byte, write) in moved {
                    self.last.remove(&(MEMORY, byte));
                    self.last.insert((MEMORY, byte - from + to), write);
                    // Who has read it here may not read it there, but it is not dead.
                    if self.seen.contains(&(write, (MEMORY, byte))) {
                        self.seen.insert((write, (MEMORY, byte - from + to)));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Rows whose writer is no unwritten byte.
fn known(lines: &[String]) -> Vec<String> {
    lines.iter().filter(|line| !line.starts_with("Initial")).cloned().collect()
}

/// The pass gives what the list says, and calls are those that were made.
pub(super) fn list_agrees(case: &str, code: &Code, run: &Run, saves: SaveRule, found: &Given) {
    let list = list(code, run, saves);
    same(case, "list: saves", &found.saved, &list.saved());
    let four = |map: &BTreeMap<String, [u64; 4]>| {
        map.iter().map(|(k, v)| format!("{k} {v:?}")).collect::<Vec<_>>()
    };
    same(case, "list: flows", &known(&found.flows), &four(&list.flows));
    let three = list.dataflow.iter().map(|(k, v)| format!("{k} {v:?}")).collect::<Vec<_>>();
    same(case, "list: dataflow", &known(&found.dataflow), &three);
    let two = list.instruction_flows.iter().map(|(k, v)| format!("{k} {v:?}")).collect::<Vec<_>>();
    same(case, "list: instructions", &known(&found.instruction_flows), &two);
    same(
        case,
        "list: rows",
        &known(&found.communications),
        &sorted(list.communications.iter().cloned()),
    );
    let made = run.instances.iter().enumerate().map(|(i, (function, kind, ending, parent))| {
        let parent = parent.map(CallId::at);
        format!(
            "{:?} {:?} {kind:?} {ending:?} {parent:?}",
            CallId::at(i),
            FunctionId::at(*function)
        )
    });
    let made: Vec<String> = made.collect();
    let calls = given_calls(code, run);
    same(case, "calls", &calls, &made);
    let dead = |i: usize| list.dead.get(&i).copied().unwrap_or(0);
    for (i, line) in found.functions.iter().enumerate() {
        let expected = format!("dead_bytes: {} }}", dead(i));
        assert!(line.ends_with(&expected), "{case}: function {i}: {line}: {expected}");
    }
}

/// Contexts are the chains of functions that called, with their calls and steps; stubs are their callers'.
fn contexts_agree(case: &str, code: &Code, run: &Run) {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let mut expected: BTreeMap<Vec<usize>, (u64, u64)> = BTreeMap::new();
    for &(function, _, _, parent) in &run.instances {
        let above = parent.map(|parent| chains[parent].clone());
        let chain = match above {
            Some(above) if code.is_stub(FunctionId::at(function)) => above,
            above => {
                let chain = [above.unwrap_or_default(), vec![function]].concat();
                expected.entry(chain.clone()).or_default().0 += 1;
                chain
            }
        };
        chains.push(chain);
    }
    for (block, instance) in run.block.iter().zip(&run.instance) {
        let steps = code.blocks[*block as usize].len() as u64;
        expected.get_mut(&chains[*instance]).expect("a context").1 += steps;
    }
    let (summary, rows, _) = {
        let options = options(SaveRule::Literal, Details::Instances, u32::MAX);
        ran(code, run, options, usize::MAX / 2)
    };
    // By the chains that instances have, from the rows between these.
    let mut flows = ByChains::new();
    for flow in &rows.flows {
        let chain = |call: CallId| format!("{:?}", straight(chains[call.index()].clone()));
        let writer = match flow.writer {
            Origin::Step((call, _)) => chain(call),
            Origin::Source(source) => name(&Origin::<()>::Source(source), &summary.sources),
        };
        let reader = flow.reader.map(chain);
        let reader = reader.unwrap_or_else(|| name(&flow.reader_function, &summary.sources));
        let place = summary.flow_places[flow.place as usize].place;
        let sum = flows.entry((writer, reader, via(place))).or_default();
        *sum = [sum[0] + flow.bytes, sum[1] + flow.unique, sum[2] + flow.transfers];
    }
    for (details, after) in [(Details::Sums, 1), (Details::Local, u32::MAX)] {
        let options = options(SaveRule::Literal, details, after);
        let (summary, ..) = ran(code, run, options, usize::MAX / 2);
        assert_eq!(by_chains(&summary), flows, "{case} {details:?}: data by context");
        let contexts = summary.contexts.contexts();
        let chain = |id: StackId| {
            let list = std::iter::successors(Some(id), |id| contexts.get(*id).parent);
            let mut list: Vec<usize> = list.map(|id| contexts.get(id).function.index()).collect();
            list.reverse();
            assert_eq!(list.len(), contexts.get(id).depth as usize + 1, "{case}: depth");
            list
        };
        let figures =
            contexts.iter().map(|(id, c)| (chain(id), (c.figures.calls, c.figures.steps_self)));
        let found: BTreeMap<_, _> = figures.collect();
        assert_eq!(found, expected, "{case} {details:?}: contexts");
        assert_eq!((contexts.iter().count(), summary.contexts.left_out()), (expected.len(), 0));
    }
}

fn given_calls(code: &Code, run: &Run) -> Vec<String> {
    let found =
        given(code, run, options(SaveRule::Literal, Details::Instances, u32::MAX), usize::MAX / 2);
    // `Call { call: .., function: .., ... }`, in the order of their numbers.
    let field = |line: &str, name: &str| {
        let at = line.find(&format!("{name}: ")).expect("a field") + name.len() + 2;
        let mut depth = 0;
        let end = line[at..].find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0 && (c == ',' || c == ' ')
        });
        line[at..at + end.expect("an end")].to_owned()
    };
    let row = |line: &String| {
        ["call", "function", "kind", "ending", "parent"].map(|name| field(line, name)).join(" ")
    };
    found.calls.iter().map(row).collect()
}

fn made(seed: u64) -> (Code, Run) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let code = Code::new(&mut random);
    let threads = 1 + (seed % 3) as usize;
    let (runs, kernel) = (150 + random_length(seed), seed % 2 == 1);
    let run = Run::with_values(&code, &mut random, runs, threads, kernel, seed % 3 != 2);
    (code, run)
}

fn check(seed: u64) {
    let (code, run) = made(seed);
    let case = format!("seed {seed}");
    for saves in [SaveRule::Literal, SaveRule::Transparent] {
        let found = ways_agree(&case, &code, &run, saves);
        list_agrees(&format!("{case}, {saves:?}"), &code, &run, saves, &found);
    }
    contexts_agree(&case, &code, &run);
}

fn random_length(seed: u64) -> usize {
    [0, 100, 400, 1500][seed as usize % 4]
}

#[test]
fn every_way_gives_what_a_list_of_bytes_says() {
    seeds(12).for_each(check);
}

/// `ADDFG_RANDOM`: so many seeds, or these (`A..B`).
pub(super) fn seeds(few: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("ADDFG_RANDOM").unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().ok();
    match asked.split_once("..") {
        Some((from, to)) => number(from).unwrap_or(0)..number(to).unwrap_or(few),
        None => 0..number(&asked).unwrap_or(few),
    }
}
