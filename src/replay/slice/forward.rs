//! Where a value goes.

use super::found::{Bounds, Criterion, MOST_BYTES, Slice, SliceStep, Source, Why};
use crate::id::{InstructionId, ProcessId};
use crate::replay::cell::{Bytes, Cell, Space};
use crate::replay::code::Code;
use crate::replay::error::ReplayError;
use crate::replay::outside::Change;
use crate::replay::resolve::{Step, What};
use crate::replay::saves::StoreId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What a byte depends on.
#[derive(Clone, Copy)]
struct Dependence {
    /// Its writer; None: it held the bytes of the criterion from the beginning.
    writer: Option<InstructionId>,
    depth: u32,
}

/// Bytes of memory that the criterion names.
#[derive(Clone, Copy)]
struct Target {
    address: u64,
    bytes: u64,
}

impl Target {
    fn contains(self, cell: Cell) -> bool {
        !cell.space.is_register() && cell.address.wrapping_sub(self.address) < self.bytes
    }

    fn overlaps(self, bytes: Bytes) -> bool {
        let Cell { space, address } = bytes.first;
        !space.is_register()
            && address < self.address.saturating_add(self.bytes)
            && address.saturating_add(bytes.size.into()) > self.address
    }
}

struct Forward<'a> {
    slice: Slice,
    bounds: Bounds,
    /// Bytes that depend on the criterion.
    affected: FxHashMap<Cell, Dependence>,
    /// By save: bytes of its register that did before it.
    kept: FxHashMap<StoreId, Vec<(Cell, Dependence)>>,
    target: Option<Target>,
    /// The criterion's step.
    criterion: Option<i64>,
    /// All of a line's first execution belongs to the criterion.
    still: Option<&'a BTreeSet<InstructionId>>,
}

impl Forward<'_> {
    fn step(&mut self, step: &Step) -> bool {
        self.still = self.still.filter(|which| which.contains(&step.instruction));
        for (save, bytes) in step.saves {
            let held = bytes.cells().filter_map(|c| Some((c, *self.affected.get(&c)?)));
            let held: Vec<(Cell, Dependence)> = held.collect();
            if !held.is_empty() {
                self.kept.insert(*save, held);
            }
        }
        let reason = self.reason(step);
        if let Some((depth, why)) = reason {
            let Step { seq, instruction, call, .. } = *step;
            let joined = SliceStep { seq, instruction, call, depth, why };
            self.slice.join(joined, self.bounds.limit);
        }
        self.writes(step, reason.map(|r| r.0));
        self.outside(step);
        self.still.is_some() || !self.affected.is_empty() || !self.kept.is_empty()
    }

    /// Why a step is in the slice, and how far from the criterion.
    fn reason(&mut self, step: &Step) -> Option<(u32, Why)> {
        let begins = self.still.is_some() || self.criterion == Some(step.seq);
        let mut reason = begins.then_some((0, Why::Criterion));
        for effect in step.effects.iter().filter(|e| e.what == What::Read) {
            if self.affected.is_empty() {
                break;
            }
            for cell in effect.bytes.cells() {
                let Some(&Dependence { writer, depth }) = self.affected.get(&cell) else {
                    continue;
                };
                if depth >= self.bounds.depth {
                    continue;
                }
                if reason.is_none_or(|(nearest, _)| nearest > depth + 1) {
                    reason = Some((depth + 1, Why::Data));
                }
                if let Some(writer) = writer {
                    self.slice.edge(Source::Instruction(writer), step.instruction, cell);
                }
            }
        }
        let mut writes = step.effects.iter().filter(|e| e.what != What::Read);
        if self.target.is_some_and(|target| writes.any(|e| target.overlaps(e.bytes))) {
            reason = Some((0, Why::Criterion));
        }
        reason
    }

    /// What a step writes depends on the criterion if the step does.
    fn writes(&mut self, step: &Step, depth: Option<u32>) {
        for effect in step.effects {
            match effect.what {
                What::Read => {}
                What::Write => {
                    for cell in effect.bytes.cells() {
                        let inside = |target: Target| depth != Some(0) || target.contains(cell);
                        match depth.filter(|_| self.target.is_none_or(inside)) {
                            Some(depth) => {
                                let writer = Some(step.instruction);
                                self.affected.insert(cell, Dependence { writer, depth });
                            }
                            None => {
                                self.affected.remove(&cell);
                            }
                        }
                    }
                }
                What::Restore { save, is_last } => {
                    for cell in effect.bytes.cells() {
                        self.affected.remove(&cell);
                    }
                    let kept = if is_last {
                        self.kept.remove(&save)
                    } else {
                        self.kept.get(&save).cloned()
                    };
                    self.affected.extend(kept.into_iter().flatten());
                }
            }
        }
    }
}

impl Forward<'_> {
    /// What happens to bytes beside the steps.
    fn outside(&mut self, step: &Step) {
        for outside in step.outside {
            let cells = outside.cells_of(&self.affected);
            match &outside.change {
                Change::Read(sink) => {
                    for cell in cells {
                        if let Some(&Dependence { writer: Some(writer), depth }) =
                            self.affected.get(&cell)
                            && depth < self.bounds.depth
                        {
                            self.slice.sink(writer, sink, cell);
                        }
                    }
                }
                Change::Write(_) | Change::New | Change::Gap => {
                    // Of the bytes that the criterion names the kernel is a writer as any.
                    let named = |cell: &Cell| self.target.is_some_and(|t| t.contains(*cell));
                    let (named, other): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(named);
                    for cell in other {
                        self.affected.remove(&cell);
                    }
                    for cell in named {
                        self.affected.insert(cell, Dependence { writer: None, depth: 0 });
                    }
                }
                &Change::Move { to } => {
                    let moved = cells.into_iter().filter_map(|cell| {
                        let address = cell.address.wrapping_sub(outside.address).wrapping_add(to);
                        Some((Cell { address, ..cell }, self.affected.remove(&cell)?))
                    });
                    let moved: Vec<(Cell, Dependence)> = moved.collect();
                    for cell in outside.moved_cells_of(&self.affected, to) {
                        self.affected.remove(&cell);
                    }
                    self.affected.extend(moved);
                }
            }
        }
    }
}

/// The first execution of any of some instructions.
fn first_of(
    code: &Code,
    connection: &Connection,
    which: &BTreeSet<InstructionId>,
) -> Result<Option<i64>, ReplayError> {
    let mut found = None;
    code.flow(connection, (code.first, code.last), |piece| {
        let first = piece.steps().find(|&s| which.contains(&piece.block.instructions[s]));
        found = first.map(|s| piece.seq(s));
        found.is_none()
    })?;
    Ok(found)
}

/// Where a value goes. None: the criterion did not run.
pub fn forward(
    code: &Code,
    connection: &Connection,
    criterion: &Criterion,
    bounds: Bounds,
) -> Result<Option<Slice>, ReplayError> {
    let mut found = Forward {
        slice: Slice::default(),
        bounds,
        affected: FxHashMap::default(),
        kept: FxHashMap::default(),
        target: None,
        criterion: None,
        still: None,
    };
    let start = match criterion {
        Criterion::Step(seq) => {
            found.criterion = Some(*seq);
            Some(*seq)
        }
        Criterion::Instructions(which) => {
            found.still = Some(which);
            found.criterion = first_of(code, connection, which)?;
            found.criterion
        }
        Criterion::Memory { address, bytes } => {
            let (address, bytes) = (*address, (*bytes).min(MOST_BYTES));
            found.target = Some(Target { address, bytes });
            let space = Space::Memory(ProcessId::FIRST);
            for i in 0..bytes {
                let cell = Cell { space, address: address.wrapping_add(i) };
                found.affected.insert(cell, Dependence { writer: None, depth: 0 });
            }
            Some(code.first)
        }
    };
    let Some(start) = start.filter(|seq| (code.first..=code.last).contains(seq)) else {
        return Ok(None);
    };
    code.steps(connection, (start, code.last), |step| found.step(step))?;
    Ok(Some(found.slice))
}
