//! What a chunk reads of what some functions wrote before it, found by looking at its accesses: where none
//! of the functions runs in it, that is all that it has to do with them, and most chunks that a rarely
//! called function has to do with are such.

use super::alone::Chunk;
use super::{packed, states};
use crate::analysis::origin::Origin;
use crate::analysis::shadow::{Cell, access};
use crate::analysis::state::State;
use crate::analysis::{Call, Communication};
use crate::event::{BlockDef, Event, MemShape, RegSpan};
use crate::id::{AccessRef, CallId, FunctionId, Seq, ThreadId};
use crate::store::chunk::Runs;
use crate::store::run_code::RunCode;
use rustc_hash::{FxHashMap, FxHashSet};

/// Calls, with the bytes that they read of others.
pub type Calls = Vec<(Call, u64)>;

/// Steps that follow one another, of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub first: u64,
    /// None: of none that matters.
    pub call: Option<CallId>,
    pub function: FunctionId,
    pub thread: ThreadId,
}

/// What comes of a chunk.
pub struct Crossings {
    /// That begin and end in it, in the order of their ids.
    pub calls: Calls,
    /// In their order, of all steps that have to do with the communications.
    pub stretches: Vec<Stretch>,
    /// Between calls, of which one is of the functions, or may be.
    pub communications: Vec<Communication>,
    /// Steps of before, with their functions.
    pub before: FxHashMap<u64, FunctionId>,
}

/// Whose communications are wanted, by function.
pub(super) struct Whose {
    /// Functions whose calls they are of.
    pub of: Vec<bool>,
    /// Of these, stubs matter where they are called by the others.
    pub is_stub: Vec<bool>,
    /// Those that are no stubs, and those whose code may run in their calls.
    pub with_what_follows: Vec<bool>,
    /// Functions whose code may run in calls of others.
    pub is_entered: Vec<bool>,
}

impl Whose {
    /// Of nobody: for the calls.
    pub fn nobody(functions: usize) -> Whose {
        let (none, all) = (vec![false; functions], vec![true; functions]);
        Whose { of: none.clone(), is_stub: none, with_what_follows: all.clone(), is_entered: all }
    }

    /// Whether a look may be enough: no call that matters runs in a chunk.
    pub fn is_away(&self, chunk: &Chunk, state: &State) -> bool {
        let runs = |list: &[bool]| chunk.meets.runs.iter().any(|function| is_in(list, *function));
        !runs(&self.with_what_follows)
            && (!runs(&self.is_stub)
                || !state.frames().any(|frame| is_in(&self.of, frame.function)))
    }
}

pub(super) fn is_in(list: &[bool], function: FunctionId) -> bool {
    list.get(function.index()).copied().unwrap_or(false)
}

/// Bytes that are looked up at once.
const LINE: u64 = 64;

/// Bytes of one version, at most.
const MOST: u64 = 1 << 16;

/// By number of a line, for each byte: a place among the writers, from 1.
type Lines = FxHashMap<u64, Box<[u32; LINE as usize]>>;

/// Bytes of memory whose last writers matter.
struct Watched {
    lines: Lines,
    /// Whether a line may be watched, by its number in short.
    may_be: Box<[u64; 1024]>,
    /// Each with whether what reads it simply reads it: it is no save and no return address.
    writers: Vec<(AccessRef, bool)>,
}

impl Watched {
    fn short(line: u64) -> (usize, u64) {
        let short = (line ^ line >> 16) as usize;
        (short >> 6 & 1023, 1 << (short & 63))
    }

    #[inline]
    fn may_have(&self, line: u64) -> bool {
        let (at, bit) = Watched::short(line);
        self.may_be[at] & bit != 0
    }

    /// Whether some of these bytes may be watched.
    #[inline]
    fn may_meet(&self, address: u64, bytes: u64) -> bool {
        let (mut line, last) = (address / LINE, address.saturating_add(bytes.max(1) - 1) / LINE);
        loop {
            if self.may_have(line) {
                return true;
            }
            if line >= last {
                return false;
            }
            line += 1;
        }
    }

    fn add(&mut self, address: u64, bytes: u64, writer: (AccessRef, bool)) {
        self.writers.push(writer);
        let number = self.writers.len() as u32;
        for at in (0..bytes).map(|i| address.wrapping_add(i)) {
            let line = at / LINE;
            let (place, bit) = Watched::short(line);
            self.may_be[place] |= bit;
            let cells = self.lines.entry(line).or_insert_with(|| Box::new([0; LINE as usize]));
            cells[(at % LINE) as usize] = number;
        }
    }
}

/// The watched bytes among these: each with its writer's number, which may be changed.
fn each(lines: &mut Lines, address: u64, bytes: u64, mut take: impl FnMut(u64, &mut u32)) {
    for at in (0..bytes).map(|i| address.wrapping_add(i)) {
        if let Some(cells) = lines.get_mut(&(at / LINE)) {
            take(at, &mut cells[(at % LINE) as usize]);
        }
    }
}

/// What does not change from chunk to chunk.
pub(super) struct Glance<'a> {
    pub code: &'a RunCode,
    pub whose: &'a Whose,
}

impl Glance<'_> {
    /// None: it takes more than a look.
    pub fn chunk(&self, state: &State, runs: &Runs, functions: &[FunctionId]) -> Option<Crossings> {
        let (of, code) = (&self.whose.of, &self.whose.with_what_follows);
        let is_of = |cell: &Cell| {
            let function = states::function(cell, functions);
            function.is_some_and(|function| is_in(of, function) || is_in(code, function))
        };
        // The next step may get registers back that were kept, or those that a forked process begins with.
        if state.may_switch() || state.begins.is_some() {
            return None;
        }
        let saves = || state.frames().flat_map(|frame| &frame.saves);
        if saves().flat_map(|save| &save.pieces).any(|(_, cell, _)| is_of(cell)) {
            return None;
        }
        let registers = state.threads.iter().flat_map(|thread| &thread.registers);
        let watched: Vec<RegSpan> =
            registers.filter(|(_, cell)| is_of(cell)).map(|(span, _)| *span).collect();
        if !watched.is_empty() && self.reads_registers(runs, &watched) {
            return None;
        }
        let mut memory = Watched {
            lines: FxHashMap::default(),
            may_be: Box::new([0; 1024]),
            writers: Vec::new(),
        };
        for (address, bytes, cell) in state.memory.iter().filter(|(.., cell)| is_of(cell)) {
            // No instruction writes as much at once.
            if *bytes > MOST {
                return None;
            }
            let plain = cell.actor & (Cell::SAVE | Cell::SLOT) == 0;
            memory.add(*address, *bytes, (access(cell.write)?, plain));
        }
        let stores = saves().map(|save| &save.store);
        for store in stores.chain(state.left.iter().map(|left| &left.store)) {
            let (address, bytes) = (store.address, u64::from(store.register.size));
            each(&mut memory.lines, address, bytes, |_, number| {
                if let Some(writer) = memory.writers.get_mut((*number as usize).wrapping_sub(1)) {
                    writer.1 = false;
                }
            });
        }
        if !runs.events.iter().all(|(_, event)| is_harmless(&memory, event)) {
            return None;
        }
        let mut found = Found { glance: self, memory, reads: Vec::new() };
        for run in 0..runs.start.len() {
            found.run(runs, run)?;
        }
        Some(found.crossings())
    }

    /// Whether a block of the chunk reads some of these registers.
    fn reads_registers(&self, runs: &Runs, watched: &[RegSpan]) -> bool {
        let blocks: FxHashSet<u32> = runs.block.iter().copied().collect();
        let meets = |a: &RegSpan, b: &RegSpan| {
            u32::from(a.offset) < u32::from(b.offset) + u32::from(b.size)
                && u32::from(b.offset) < u32::from(a.offset) + u32::from(a.size)
        };
        let defs = blocks.iter().filter_map(|&block| self.code.blocks.get(block as usize));
        defs.flat_map(|def| &def.steps).any(|step| {
            let reads = &self.code.insns[step.insn as usize].decoded.reads;
            reads.iter().any(|read| watched.iter().any(|span| meets(&read.span, span)))
        })
    }
}

/// Whether an event changes nothing of who wrote these bytes, and does not read them.
fn is_harmless(memory: &Watched, event: &Event) -> bool {
    match event {
        Event::SystemCall(call) => {
            let meets =
                |bytes: u64, address| bytes > LINE * 1024 || memory.may_meet(address, bytes);
            !call.accesses.iter().any(|access| meets(access.bytes, access.address))
        }
        Event::ThreadEnd { .. } | Event::Marker { .. } => true,
        event => packed::is_of_heap(event),
    }
}

/// What is found in a chunk.
struct Found<'a> {
    glance: &'a Glance<'a>,
    memory: Watched,
    /// With the reader's function and thread.
    reads: Vec<(Communication, FunctionId, ThreadId)>,
}

impl Found<'_> {
    fn run(&mut self, runs: &Runs, run: usize) -> Option<()> {
        let def = self.glance.code.blocks.get(runs.block[run] as usize)?;
        let addresses = runs.addresses(run);
        if addresses.len() != def.mem.len() {
            return None;
        }
        for (i, (shape, &address)) in def.mem.iter().zip(addresses).enumerate() {
            if self.memory.may_meet(address, shape.size.into()) {
                let thread = ThreadId::at(runs.thread[run] as usize);
                self.access(def, i, shape, (address, runs.start[run], thread))?;
            }
        }
        Some(())
    }

    /// An access that may meet bytes that are watched: of a run of a block that begins with a step.
    fn access(
        &mut self,
        def: &BlockDef,
        i: usize,
        shape: &MemShape,
        (address, start, thread): (u64, u64, ThreadId),
    ) -> Option<()> {
        let mut parts: Vec<(u64, u64, u32)> = Vec::new();
        each(&mut self.memory.lines, address, shape.size.into(), |at, number| {
            if shape.is_write {
                *number = 0;
                return;
            }
            match parts.last_mut() {
                _ if *number == 0 => {}
                Some((from, bytes, of)) if *of == *number && *from + *bytes == at => *bytes += 1,
                _ => parts.push((at, 1, *number)),
            }
        });
        if parts.is_empty() {
            return Some(());
        }
        let mut accesses = 0;
        let (step, of) = (0..).zip(&def.steps).find(|(_, step)| {
            accesses += usize::from(step.mem);
            i < accesses
        })?;
        let insn = self.glance.code.insns.get(of.insn as usize)?;
        let operand = insn.decoded.memory.get(usize::from(shape.operand));
        let is_control = operand.is_some_and(|operand| operand.control);
        if is_control || insn.copies || is_in(&self.glance.whose.is_entered, insn.function) {
            return None;
        }
        let read = AccessRef { seq: Seq::new(start + step)?, ordinal: 0 };
        for (address, bytes, number) in parts {
            let (writer, plain) = *self.memory.writers.get(number as usize - 1)?;
            if !plain {
                return None;
            }
            let (write, bytes) = (Origin::Step(writer), bytes as u32);
            let row = Communication { write, read, is_register: false, address, bytes };
            self.reads.push((row, insn.function, thread));
        }
        Some(())
    }

    fn crossings(self) -> Crossings {
        let mut stretches: Vec<Stretch> = Vec::new();
        for &(row, function, thread) in &self.reads {
            let first = row.read.seq.get();
            stretches.push(Stretch { first, call: None, function, thread });
        }
        stretches
            .dedup_by(|next, last| (next.function, next.thread) == (last.function, last.thread));
        let communications = self.reads.into_iter().map(|(row, ..)| row).collect();
        Crossings { calls: Vec::new(), stretches, communications, before: FxHashMap::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::analysis::access::Insn;
    use crate::analysis::state::{FrameState, SaveState, ThreadState};
    use crate::event::{BlockStep, InsnDef, Isa, KernelAccess, SystemCall};
    use crate::id::InstructionId;
    use crate::isa::{Decoded, Expr, MemOperand, RegAccess};
    use crate::store::run_code::FunctionTraits;

    /// Instructions: of function 1, of function 2 (a load, a store, a load of a return address, a read of a register),
    /// of function 3, in whose code others may run. Each is a block, but for the last: a load and a store in one step.
    fn code() -> RunCode {
        let insn = |at: usize, function: usize, memory: Vec<MemOperand>, reads: Vec<RegAccess>| {
            let def = InsnDef { address: 16 * at as u64, size: 4, ..InsnDef::default() };
            let decoded = Decoded { memory, reads, ..Decoded::unknown(4) };
            Insn { def, decoded, function: FunctionId::at(function), copies: false }
        };
        let operand = |is_write, size| MemOperand::plain(is_write, size, Expr::Unknown);
        let control = MemOperand { control: true, ..operand(false, 8) };
        let register = RegAccess { span: RegSpan { offset: 4, size: 4 }, control: false };
        let both = vec![operand(false, 8), operand(true, 8)];
        let shape = |operand: u8, of: &MemOperand| MemShape {
            is_write: of.is_write,
            size: of.size,
            operand,
        };
        let insns = vec![
            insn(0, 0, Vec::new(), Vec::new()),
            insn(1, 1, vec![operand(false, 8)], Vec::new()),
            insn(2, 1, vec![operand(true, 4)], Vec::new()),
            insn(3, 1, vec![control], Vec::new()),
            insn(4, 1, Vec::new(), vec![register]),
            insn(5, 2, vec![operand(false, 8)], Vec::new()),
            insn(6, 1, both, Vec::new()),
        ];
        let block = |(i, insn): (usize, &Insn)| {
            let all = &insn.decoded.memory;
            let mem: Vec<MemShape> = (0..).zip(all).map(|(at, of)| shape(at, of)).collect();
            let step = BlockStep { insn: i as u32, executed: true, mem: mem.len() as u16 };
            // A step before it that accesses nothing.
            let steps = vec![BlockStep { insn: 0, executed: true, mem: 0 }, step];
            BlockDef { steps, mem }
        };
        let blocks = insns.iter().enumerate().map(block).collect();
        RunCode {
            isa: Isa::X86_64,
            sections: Vec::new(),
            placed: Vec::new(),
            names: Vec::new(),
            first_stack_pointers: vec![None],
            first_threads: Vec::new(),
            functions: vec![FunctionTraits { stub: false, through: false, entry: None }; 3],
            insns,
            blocks,
        }
    }

    /// A version that the first instruction wrote.
    fn cell(seq: u64, ordinal: u64) -> Cell {
        let call = CallId::new(7).expect("not 0");
        Cell::written(seq << 16 | ordinal, call, InstructionId::FIRST.into())
    }

    /// Bytes from 0x1000 on: 8 of step 5, 8 of step 6.
    fn state() -> State {
        let memory = vec![(0x1000, 8, cell(5, 0)), (0x1008, 8, cell(6, 1))];
        let threads = vec![ThreadState::default()];
        State { memory, threads, ..State::default() }
    }

    /// From step 101 on: blocks with the addresses of their accesses.
    fn runs(of: &[(u32, &[u64])]) -> Runs {
        let mut runs = Runs::default();
        runs.address_at.push(0);
        for (i, (block, addresses)) in of.iter().enumerate() {
            runs.start.push(101 + 2 * i as u64);
            runs.thread.push(0);
            runs.block.push(*block);
            runs.address.extend(*addresses);
            runs.address_at.push(runs.address.len());
        }
        runs
    }

    /// Reading and writing steps, address and bytes; None: a look is not enough.
    fn seen(state: &State, runs: &Runs) -> Option<Vec<(u64, u64, u64, u32)>> {
        let code = code();
        let functions: Vec<FunctionId> = code.insns.iter().map(|insn| insn.function).collect();
        let whose = Whose {
            of: vec![true, false, false],
            is_stub: vec![false; 3],
            with_what_follows: vec![true, false, false],
            is_entered: vec![false, false, true],
        };
        let found = Glance { code: &code, whose: &whose }.chunk(state, runs, &functions)?;
        let row = |row: &Communication| match row.write {
            Origin::Step(write) => (row.read.seq.get(), write.seq.get(), row.address, row.bytes),
            Origin::Source(_) => panic!("a source"),
        };
        let of_two = |s: &Stretch| s.function == FunctionId::at(1) && s.call.is_none();
        assert!(found.calls.is_empty() && found.stretches.iter().all(of_two));
        Some(found.communications.iter().map(row).collect())
    }

    #[test]
    fn reads_have_the_writers_that_the_chunk_began_with() {
        let of = |of: &[(u32, &[u64])]| seen(&state(), &runs(of));
        assert_eq!(of(&[]), Some(vec![]));
        // The second step of a block reads; two versions are two communications; what nobody wrote is none.
        assert_eq!(of(&[(1, &[0x1000])]), Some(vec![(102, 5, 0x1000, 8)]));
        let two = vec![(104, 5, 0x1004, 4), (104, 6, 0x1008, 4)];
        assert_eq!(of(&[(0, &[]), (1, &[0x1004])]), Some(two));
        assert_eq!(of(&[(1, &[0xffc]), (1, &[0x1010])]), Some(vec![(102, 5, 0x1000, 4)]));
        assert_eq!(of(&[(1, &[0x2000]), (1, &[0xff8])]), Some(vec![]));
        // What is overwritten is another's; a step reads before it writes.
        let rest = vec![(104, 5, 0x1000, 2), (104, 5, 0x1006, 2)];
        assert_eq!(of(&[(2, &[0x1002]), (1, &[0x1000])]), Some(rest));
        let first = vec![(102, 5, 0x1000, 8)];
        assert_eq!(of(&[(6, &[0x1000, 0x1000]), (1, &[0x1000])]), Some(first));
    }

    #[test]
    fn what_is_more_than_a_read_takes_a_pass() {
        let of = |state: &State, of: &[(u32, &[u64])]| seen(state, &runs(of));
        // A return address, and code that may run in a call of another function: where they meet such bytes.
        for block in [3, 5] {
            assert_eq!(of(&state(), &[(block, &[0x1000])]), None);
            assert_eq!(of(&state(), &[(block, &[0x1010])]), Some(vec![]));
        }
        // Registers that hold what the function wrote, where they are read.
        let mut held = state();
        held.threads[0].registers = vec![(RegSpan { offset: 0, size: 8 }, cell(9, 0))];
        assert_eq!(of(&held, &[(4, &[])]), None);
        assert_eq!(of(&held, &[(1, &[0x1010])]), Some(vec![]));
        held.threads[0].registers[0].0 = RegSpan { offset: 8, size: 8 };
        assert_eq!(of(&held, &[(4, &[])]), Some(vec![]));
        // A save whose slot is read, and one of what the function wrote.
        let mut slot = state();
        slot.memory[0].2.actor |= Cell::SAVE;
        assert_eq!(of(&slot, &[(1, &[0x1000])]), None);
        assert_eq!(of(&slot, &[(1, &[0x1008])]), Some(vec![(102, 6, 0x1008, 8)]));
        let register = RegSpan { offset: 0, size: 4 };
        let store = crate::analysis::saves::Store {
            call: CallId::FIRST,
            register,
            address: 0x1008,
            access: 1,
            read: 0,
            actor: InstructionId::FIRST.into(),
            value: None,
            kept: false,
            framed: false,
            across: 0,
            inherited: false,
        };
        let save = |pieces| SaveState { store, pieces, left: 0 };
        let with = |save| {
            let (call, function) = (CallId::FIRST, FunctionId::at(1));
            let token = crate::analysis::transfer::End::Exception;
            let frame = FrameState { call, function, token, saves: vec![save] };
            let mut state = state();
            state.threads[0].frames = vec![frame];
            state
        };
        assert_eq!(of(&with(save(Vec::new())), &[(1, &[0x1008])]), None);
        assert_eq!(of(&with(save(Vec::new())), &[(1, &[0x1000])]), Some(vec![(102, 5, 0x1000, 8)]));
        assert_eq!(of(&with(save(vec![(register, cell(9, 0), 1)])), &[]), None);
    }

    #[test]
    fn the_kernel_takes_a_pass_where_it_meets_such_bytes() {
        let with = |event: Event| {
            let mut runs = runs(&[]);
            runs.events.push((0, event));
            seen(&state(), &runs)
        };
        let call = |address, bytes, is_write| {
            let accesses = vec![KernelAccess { is_write, address, bytes, source: None }];
            Event::SystemCall(Box::new(SystemCall { accesses, ..SystemCall::default() }))
        };
        for is_write in [false, true] {
            assert_eq!(with(call(0x100f, 1, is_write)), None);
            assert_eq!(with(call(0x2000, 64, is_write)), Some(vec![]));
            assert_eq!(with(call(0x2000, u64::MAX, is_write)), None);
        }
        assert_eq!(with(Event::ImageUnmap { address: 0x1000, bytes: 16 }), None);
        assert_eq!(with(Event::Free { thread: 0, address: 0x1000 }), Some(vec![]));
    }
}
