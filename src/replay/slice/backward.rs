//! Where a value came from.

use super::found::{Bounds, Criterion, MOST_BYTES, Slice, SliceStep, Source, Why};
use crate::id::{CallId, InstructionId, ProcessId, ThreadId};
use crate::replay::cell::{Cell, Space};
use crate::replay::code::Code;
use crate::replay::control::ControlFlow;
use crate::replay::error::ReplayError;
use crate::replay::outside::Change;
use crate::replay::places::Places;
use crate::replay::resolve::{BackSteps, Flags, Step, What};
use crate::replay::saves::StoreId;
use crate::replay::written::WriteIndex;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Who wants to know, and how many communications from the criterion it is.
#[derive(Clone, Copy)]
struct Reader {
    instruction: InstructionId,
    depth: u32,
}

/// Who wants a byte; nobody where the criterion itself does.
type Wanted = Vec<Reader>;

/// What decides that steps of the slice run.
struct Decisions<'a> {
    flow: &'a ControlFlow,
    /// By call instance: blocks whose running was decided there.
    undecided: FxHashMap<CallId, BTreeMap<usize, Reader>>,
    /// By thread: what ran in an instance because the instruction that called it did.
    called: FxHashMap<ThreadId, Reader>,
    /// First steps of call instances.
    begins: FxHashMap<CallId, i64>,
}

impl<'a> Decisions<'a> {
    fn new(flow: &'a ControlFlow, connection: &Connection) -> Result<Decisions<'a>, ReplayError> {
        let mut begins = FxHashMap::default();
        let sql = include_str!("../../../queries/report/replay_begins.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            begins.insert(r.get(0)?, r.get(1)?);
        }
        let (undecided, called) = (FxHashMap::default(), FxHashMap::default());
        Ok(Decisions { flow, undecided, called, begins })
    }

    /// Tells `take` of what a step decides.
    fn decide(&mut self, step: &Step, mut take: impl FnMut(Reader)) {
        if let Some(reader) = self.called.remove(&step.thread) {
            take(reader);
        }
        let Some(block) = self.flow.block_of(step.instruction) else { return };
        if self.flow.blocks[block].instructions.last() != Some(&step.instruction) {
            return;
        }
        let Some(list) = step.call.and_then(|call| self.undecided.get_mut(&call)) else { return };
        list.retain(|&other, reader| {
            let decides = self.flow.control.contains(&(block, other));
            if decides {
                take(*reader);
            }
            !decides
        });
    }

    /// A step of the slice wants to know what decided that it ran.
    fn ask(&mut self, step: &Step, reader: Reader) {
        let Some((call, block)) = step.call.zip(self.flow.block_of(step.instruction)) else {
            return;
        };
        let nearest = self.undecided.entry(call).or_default().entry(block).or_insert(reader);
        if reader.depth < nearest.depth {
            *nearest = reader;
        }
    }

    /// Before the first step of an instance: what nothing inside decided, the call did.
    fn leave(&mut self, step: &Step) {
        let Some(call) = step.call.filter(|call| self.begins.get(call) == Some(&step.seq)) else {
            return;
        };
        let left = self.undecided.remove(&call).unwrap_or_default();
        if let Some(&nearest) = left.values().min_by_key(|reader| reader.depth) {
            self.called.insert(step.thread, nearest);
        }
    }

    fn is_empty(&self) -> bool {
        self.called.is_empty() && self.undecided.values().all(BTreeMap::is_empty)
    }
}

struct Backward<'a> {
    slice: Slice,
    places: &'a Places,
    bounds: Bounds,
    wanted: FxHashMap<Cell, Wanted>,
    /// By save: wants of the register that it saved; they go on before it.
    asleep: FxHashMap<StoreId, Vec<(Cell, Wanted)>>,
    decisions: Option<Decisions<'a>>,
    /// The criterion's step.
    criterion: Option<i64>,
    /// All of a line's last execution belongs to the criterion.
    still: Option<&'a BTreeSet<InstructionId>>,
    /// Which windows of the run wrote what, where that is stored.
    written: Option<WriteIndex>,
}

/// Why a step joins, and how far from the criterion: the nearest reason.
#[derive(Clone, Copy, Default)]
struct Reason(Option<(u32, Why)>);

impl Reason {
    fn join(&mut self, depth: u32, why: Why) {
        if self.0.is_none_or(|(nearest, _)| depth < nearest) {
            self.0 = Some((depth, why));
        }
    }
}

/// Wanted bytes above which it is not worth while to look for a window that wrote none of them.
const MANY: usize = 1 << 12;

impl BackSteps for Backward<'_> {
    /// What matters is the criterion, what wrote wanted bytes of memory, and the saves of wanted registers.
    /// Registers are written everywhere, and what decides that steps ran is.
    fn next(&mut self, to: i64) -> Result<i64, ReplayError> {
        let Some(index) = &self.written else { return Ok(to) };
        let is_in = |cell: &Cell| cell.space.is_register();
        if self.decisions.is_some()
            || self.still.is_some()
            || self.criterion.is_some_and(|criterion| criterion <= to)
            || self.wanted.len() + self.asleep.len() > MANY
            || self.wanted.keys().any(is_in)
        {
            return Ok(to);
        }
        let saved = self.asleep.keys().map(|save| save.seq).filter(|seq| *seq <= to).max();
        let written = index.last(to, self.wanted.keys());
        Ok(saved.max(written).unwrap_or(-1))
    }

    fn step(&mut self, step: &Step) -> bool {
        self.outside(step);
        self.still = self.still.filter(|which| which.contains(&step.instruction));
        let mut reason = Reason::default();
        if self.still.is_some() || self.criterion == Some(step.seq) {
            reason.join(0, Why::Criterion);
        }
        self.writes(step, &mut reason);
        if let Some(decisions) = &mut self.decisions {
            let control = &mut self.slice.control;
            decisions.decide(step, |reader| {
                control.insert((step.instruction, reader.instruction));
                reason.join(reader.depth + 1, Why::Control);
            });
        }
        if let Some((depth, why)) = reason.0 {
            let Step { seq, instruction, call, .. } = *step;
            let joined = SliceStep { seq, instruction, call, depth, why };
            self.slice.join(joined, self.bounds.limit);
            if depth < self.bounds.depth {
                self.want(step, depth);
            }
        }
        if let Some(decisions) = &mut self.decisions {
            decisions.leave(step);
        }
        for (save, _) in step.saves {
            for (cell, readers) in self.asleep.remove(save).into_iter().flatten() {
                self.wanted.entry(cell).or_default().extend(readers);
            }
        }
        self.goes_on()
    }
}

impl Backward<'_> {
    /// Wanted bytes that no step made.
    fn outside(&mut self, step: &Step) {
        for outside in step.outside.iter().rev() {
            let source = match &outside.change {
                Change::Read(_) => continue,
                Change::Write(name) => Some(Source::Kernel(name.clone())),
                Change::New | Change::Gap => None,
                &Change::Move { to } => {
                    let moved = outside.moved_cells_of(&self.wanted, to);
                    let moved = moved.into_iter().filter_map(|cell| {
                        let address = cell.address.wrapping_sub(to).wrapping_add(outside.address);
                        Some((Cell { address, ..cell }, self.wanted.remove(&cell)?))
                    });
                    let moved: Vec<(Cell, Wanted)> = moved.collect();
                    self.wanted.extend(moved);
                    continue;
                }
            };
            for cell in outside.cells_of(&self.wanted) {
                let readers = self.wanted.remove(&cell).unwrap_or_default();
                let source = source.clone().unwrap_or_else(|| unwritten(self.places, cell));
                self.found(&source, &readers, cell);
            }
        }
    }

    /// Bytes that no instruction of the run made.
    fn found(&mut self, source: &Source, readers: &[Reader], cell: Cell) {
        for reader in readers {
            self.slice.edge(source.clone(), reader.instruction, cell);
        }
    }

    /// Whether anything is left to be found.
    fn goes_on(&self) -> bool {
        self.still.is_some()
            || !self.wanted.is_empty()
            || !self.asleep.is_empty()
            || self.decisions.as_ref().is_some_and(|d| !d.is_empty())
    }

    /// Bytes that a step made and that are wanted.
    fn writes(&mut self, step: &Step, reason: &mut Reason) {
        for effect in step.effects.iter().rev().filter(|e| e.what != What::Read) {
            for cell in effect.bytes.cells() {
                let Some(readers) = self.wanted.remove(&cell) else { continue };
                if let What::Restore { save, .. } = effect.what {
                    self.asleep.entry(save).or_default().push((cell, readers));
                    continue;
                }
                if readers.is_empty() {
                    reason.join(0, Why::Criterion);
                }
                for reader in readers {
                    let from = Source::Instruction(step.instruction);
                    self.slice.edge(from, reader.instruction, cell);
                    reason.join(reader.depth + 1, Why::Data);
                }
            }
        }
    }

    /// What a step of the slice reads is wanted.
    fn want(&mut self, step: &Step, depth: u32) {
        let instruction = step.instruction;
        for effect in step.effects.iter().filter(|e| e.what == What::Read) {
            for cell in effect.bytes.cells() {
                let readers = self.wanted.entry(cell).or_default();
                match readers.iter_mut().find(|r| r.instruction == instruction) {
                    Some(reader) => reader.depth = reader.depth.min(depth),
                    None => readers.push(Reader { instruction, depth }),
                }
            }
        }
        if let Some(decisions) = &mut self.decisions {
            decisions.ask(step, Reader { instruction, depth });
        }
    }
}

/// The pseudo-function of a byte that no step wrote.
fn unwritten(places: &Places, cell: Cell) -> Source {
    Source::Unwritten(places.at(cell.space.is_register(), cell.address).1)
}

/// The last execution of any of some instructions.
fn last_of(
    code: &Code,
    connection: &Connection,
    which: &BTreeSet<InstructionId>,
) -> Result<Option<i64>, ReplayError> {
    let mut found = None;
    code.backwards(connection, (code.first, code.last), |piece| {
        let last = piece.steps().rev().find(|&s| which.contains(&piece.block.instructions[s]));
        found = last.map(|s| piece.seq(s));
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// Where a value came from; with control flow also through what decided that steps ran. None: the
/// criterion did not run.
pub fn backward(
    code: &Code,
    connection: &Connection,
    places: &Places,
    criterion: &Criterion,
    control: Option<&ControlFlow>,
    bounds: Bounds,
) -> Result<Option<Slice>, ReplayError> {
    let mut found = Backward {
        slice: Slice::default(),
        places,
        bounds,
        wanted: FxHashMap::default(),
        asleep: FxHashMap::default(),
        decisions: control.map(|flow| Decisions::new(flow, connection)).transpose()?,
        criterion: None,
        still: None,
        written: WriteIndex::read(connection)?,
    };
    let start = match criterion {
        Criterion::Step(seq) => {
            found.criterion = Some(*seq);
            Some(*seq)
        }
        Criterion::Instructions(which) => {
            found.still = Some(which);
            found.criterion = last_of(code, connection, which)?;
            found.criterion
        }
        Criterion::Memory { address, bytes } => {
            let space = Space::Memory(ProcessId::FIRST);
            for i in 0..(*bytes).min(MOST_BYTES) {
                let cell = Cell { space, address: address.wrapping_add(i) };
                found.wanted.insert(cell, Vec::new());
            }
            Some(code.last)
        }
    };
    let Some(start) = start.filter(|seq| (code.first..=code.last).contains(seq)) else {
        return Ok(None);
    };
    // With control dependences, what a branch compares comes to it through the flags.
    let flags = if control.is_some() { Flags::Followed } else { Flags::Ignored };
    code.steps_back(connection, (code.first, start), flags, &mut found)?;
    for (cell, readers) in std::mem::take(&mut found.wanted) {
        found.found(&unwritten(places, cell), &readers, cell);
    }
    Ok(Some(found.slice))
}
