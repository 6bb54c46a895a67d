//! What a slice begins with and what it is made of.

use crate::id::{CallId, InstructionId, ProcessId, ThreadId};
use crate::replay::cell::{Cell, Space};
use crate::replay::places::When;
use crate::replay::resolve::Step;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a slice begins with.
#[derive(Clone, Debug)]
pub enum Criterion {
    /// What a step reads (backwards) or writes (forwards).
    Step(i64),
    /// The last (backwards) or first (forwards) execution of any of these instructions.
    Instructions(BTreeSet<InstructionId>),
    /// Bytes of memory of a process: what they hold at the end, or what their first writers gave them.
    Memory { process: ProcessId, address: u64, bytes: u64 },
}

/// One execution of some instructions, all of which is the criterion: the steps of them that one call makes one after the other,
/// whatever it calls in between. Steps come in either order of the run, the first one of them.
pub(super) struct Execution<'a> {
    which: &'a BTreeSet<InstructionId>,
    of: Option<(ThreadId, Option<CallId>)>,
}

/// What a step is to an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Of,
    /// Another thread's, or one of what it calls.
    Beside,
    /// It is over.
    Over,
}

impl<'a> Execution<'a> {
    pub(super) fn new(which: &'a BTreeSet<InstructionId>) -> Execution<'a> {
        Execution { which, of: None }
    }

    pub(super) fn part(&mut self, step: &Step) -> Part {
        let (thread, call) = *self.of.get_or_insert((step.thread, step.call));
        match step.call {
            _ if step.thread != thread => Part::Beside,
            other if other == call && self.which.contains(&step.instruction) => Part::Of,
            // Calls have numbers in the order in which they begin: of one thread those that it makes have greater ones.
            Some(other) if call.is_some_and(|call| other > call) => Part::Beside,
            _ => Part::Over,
        }
    }
}

/// Bytes of memory that a criterion names at most.
pub(super) const MOST_BYTES: u64 = 1 << 24;

/// Bounds of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Communications from the criterion at most.
    pub depth: u32,
    /// Steps to list at most.
    pub limit: usize,
    /// So many steps of the run from the criterion, a slice that has as many steps as are listed is left.
    pub far: i64,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceEdge {
    pub memory: u64,
    pub register: u64,
    /// One of the bytes of memory, and when it was accessed.
    pub place: Option<(When, u64)>,
}

impl SliceEdge {
    /// Adjacent bytes from a cell on, at a step.
    fn add(&mut self, cell: Cell, bytes: u64, seq: i64) {
        match cell.space {
            Space::Register(_) => self.register += bytes,
            Space::Memory(process) => {
                let address = cell.address;
                if self.place.is_none_or(|(_, known)| address < known) {
                    self.place = Some((When { process, seq }, address));
                }
                self.memory += bytes;
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Slice {
    /// The nearest to the criterion, in the order in which they were met.
    pub steps: Vec<SliceStep>,
    /// All of them, up to where it was left.
    pub count: u64,
    /// The last step of the run that was looked at, where the slice may go on behind it.
    pub left_at: Option<i64>,
    pub instructions: BTreeMap<InstructionId, SliceInstruction>,
    /// From writer to reader.
    pub data: BTreeMap<(Source, InstructionId), SliceEdge>,
    /// From a writer to what the kernel did with the bytes, by name.
    pub sinks: BTreeMap<(InstructionId, Rc<str>), SliceEdge>,
    /// From what no instruction is to memory that the criterion names.
    pub criterion_sources: BTreeMap<Source, SliceEdge>,
    /// From bytes that the criterion names to what the kernel did with them, by name.
    pub criterion_sinks: BTreeMap<Rc<str>, SliceEdge>,
    /// From the instruction that decides to the one that it lets run.
    pub control: BTreeSet<(InstructionId, InstructionId)>,
}

/// A slice while it is found: what almost every step adds to is kept in lists.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) slice: Slice,
    /// By instruction; of no steps: it is not in the slice.
    instructions: Vec<Option<SliceInstruction>>,
    /// Where the edge from one instruction to another is in `edges`.
    places: FxHashMap<(InstructionId, InstructionId), usize>,
    edges: Vec<SliceEdge>,
    /// Edges that were added to, by [`recent`]: most often the same again.
    recent: Vec<Option<((InstructionId, InstructionId), usize)>>,
}

/// Edges that are remembered at most.
const RECENT: usize = 1 << 12;

fn recent(from: InstructionId, to: InstructionId) -> usize {
    let mixed = from.get().wrapping_mul(0x9e37_79b1) ^ to.get().wrapping_mul(0x85eb_ca6b);
    // Below 2^12.
    (mixed >> 20) as usize % RECENT
}

impl Gathered {
    pub(super) fn join(&mut self, step: SliceStep, limit: usize) {
        self.slice.count += 1;
        if self.slice.steps.len() < limit {
            self.slice.steps.push(step);
        }
        let at = step.instruction.index();
        if at >= self.instructions.len() {
            // Replay knows all instructions: they are as few as memory can hold.
            self.instructions.resize(at + 1, None);
        }
        let new = SliceInstruction { steps: 0, depth: step.depth, first: step.seq, last: step.seq };
        let sum = self.instructions[at].get_or_insert(new);
        sum.steps += 1;
        sum.depth = sum.depth.min(step.depth);
        sum.first = sum.first.min(step.seq);
        sum.last = sum.last.max(step.seq);
    }

    /// Leaves the slice at a step, where that is far from the criterion and there is enough to list. Gives
    /// whether it does.
    #[inline]
    pub(super) fn leaves(&mut self, bounds: Bounds, seq: i64, criterion: i64) -> bool {
        let far = seq.abs_diff(criterion) >= bounds.far.unsigned_abs();
        if far && self.slice.steps.len() >= bounds.limit {
            self.slice.left_at = Some(seq);
        }
        self.slice.left_at.is_some()
    }

    /// Adjacent bytes that one instruction wrote and another reads, and a step of one of them.
    #[inline]
    pub(super) fn edge(
        &mut self,
        (from, to): (InstructionId, InstructionId),
        first: Cell,
        bytes: u64,
        seq: i64,
    ) {
        let (key, slot) = ((from, to), recent(from, to));
        let at = match self.recent.get(slot) {
            Some(&Some((known, at))) if known == key => at,
            _ => self.place(key, slot),
        };
        self.edges[at].add(first, bytes, seq);
    }

    fn place(&mut self, key: (InstructionId, InstructionId), slot: usize) -> usize {
        let edges = &mut self.edges;
        let at = *self.places.entry(key).or_insert_with(|| {
            edges.push(SliceEdge::default());
            edges.len() - 1
        });
        self.recent.resize(RECENT, None);
        self.recent[slot] = Some((key, at));
        at
    }

    /// A byte that no instruction wrote, and a step at which it is there.
    pub(super) fn outside(&mut self, from: Source, to: InstructionId, cell: Cell, seq: i64) {
        self.slice.data.entry((from, to)).or_default().add(cell, 1, seq);
    }

    /// A byte that the criterion names and no instruction wrote.
    pub(super) fn criterion_source(&mut self, from: Source, cell: Cell, seq: i64) {
        self.slice.criterion_sources.entry(from).or_default().add(cell, 1, seq);
    }

    /// A byte that the criterion names and no instruction wrote, and that the kernel takes.
    pub(super) fn criterion_sink(&mut self, to: &Rc<str>, cell: Cell, seq: i64) {
        self.slice.criterion_sinks.entry(to.clone()).or_default().add(cell, 1, seq);
    }

    pub(super) fn sink(&mut self, from: InstructionId, to: &Rc<str>, cell: Cell, seq: i64) {
        self.slice.sinks.entry((from, to.clone())).or_default().add(cell, 1, seq);
    }

    pub(super) fn finish(self) -> Slice {
        let Gathered { mut slice, instructions, places, edges, .. } = self;
        let known = (0..).map(InstructionId::at).zip(instructions);
        slice.instructions.extend(known.filter_map(|(id, sum)| Some((id, sum?))));
        let edge = |((from, to), at): (_, usize)| ((Source::Instruction(from), to), edges[at]);
        slice.data.extend(places.into_iter().map(edge));
        slice
    }
}
