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
        let mut frames = state.threads.iter().flat_map(|thread| &thread.frames);
        !runs(&self.with_what_follows)
            && (!runs(&self.is_stub) || !frames.any(|frame| is_in(&self.of, frame.function)))
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
        let saves = || state.threads.iter().flat_map(|t| &t.frames).flat_map(|f| &f.saves);
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
        for save in saves() {
            let (address, bytes) = (save.store.address, u64::from(save.store.register.size));
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
