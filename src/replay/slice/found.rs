//! What a slice begins with and what it is made of.

use crate::id::{CallId, InstructionId};
use crate::replay::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a slice begins with.
#[derive(Clone, Debug)]
pub enum Criterion {
    /// What a step reads (backwards) or writes (forwards).
    Step(i64),
    /// The last (backwards) or first (forwards) execution of any of these instructions.
    Instructions(BTreeSet<InstructionId>),
    /// Bytes of memory: what they hold at the end, or what their first writers gave them.
    Memory { address: u64, bytes: u64 },
}

/// Bytes of memory that a criterion names at most.
pub(super) const MOST_BYTES: u64 = 1 << 24;

/// Bounds of a slice: communications from the criterion at most, steps to list at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub depth: u32,
    pub limit: usize,
}

/// Why a step is in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    Criterion,
    Data,
    Control,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Why::Criterion => "criterion",
            Why::Data => "data",
            Why::Control => "control",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SliceStep {
    pub seq: i64,
    pub instruction: InstructionId,
    pub call: Option<CallId>,
    /// Communications from the criterion.
    pub depth: u32,
    pub why: Why,
}

/// Sums of the steps of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct SliceInstruction {
    pub steps: u64,
    /// Of the nearest.
    pub depth: u32,
    pub first: i64,
    pub last: i64,
}

/// Where an edge of the slice comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Instruction(InstructionId),
    /// A pseudo-function: [`crate::replay::Places::name`].
    Unwritten(usize),
    /// What the kernel wrote, by name.
    Kernel(Rc<str>),
}

/// Bytes from one instruction to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct SliceEdge {
    pub memory: u64,
    pub register: u64,
    /// One of the bytes of memory.
    pub address: u64,
}

impl SliceEdge {
    fn add(&mut self, cell: Cell) {
        if cell.space.is_register() {
            self.register += 1;
        } else {
            self.memory += 1;
            let address = cell.address;
            self.address = if self.memory == 1 { address } else { self.address.min(address) };
        }
    }
}

#[derive(Debug, Default)]
pub struct Slice {
    /// The nearest to the criterion, in the order in which they were met.
    pub steps: Vec<SliceStep>,
    /// All of them.
    pub count: u64,
    pub instructions: BTreeMap<InstructionId, SliceInstruction>,
    /// From writer to reader.
    pub data: BTreeMap<(Source, InstructionId), SliceEdge>,
    /// From a writer to what the kernel did with the bytes, by name.
    pub sinks: BTreeMap<(InstructionId, Rc<str>), SliceEdge>,
    /// From the instruction that decides to the one that it lets run.
    pub control: BTreeSet<(InstructionId, InstructionId)>,
}

impl Slice {
    pub(super) fn join(&mut self, step: SliceStep, limit: usize) {
        self.count += 1;
        if self.steps.len() < limit {
            self.steps.push(step);
        }
        let new = SliceInstruction { steps: 0, depth: step.depth, first: step.seq, last: step.seq };
        let sum = self.instructions.entry(step.instruction).or_insert(new);
        sum.steps += 1;
        sum.depth = sum.depth.min(step.depth);
        sum.first = sum.first.min(step.seq);
        sum.last = sum.last.max(step.seq);
    }

    pub(super) fn edge(&mut self, from: Source, to: InstructionId, cell: Cell) {
        self.data.entry((from, to)).or_default().add(cell);
    }

    pub(super) fn sink(&mut self, from: InstructionId, to: &Rc<str>, cell: Cell) {
        self.sinks.entry((from, to.clone())).or_default().add(cell);
    }
}
