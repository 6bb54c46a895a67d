//! Where a value goes.

use super::found::{Bounds, Criterion, Gathered, MOST_BYTES, Slice, SliceStep, Why};
use super::storage::{Known, Storage};
use crate::id::InstructionId;
use crate::replay::cell::{Bytes, Cell, Space};
use crate::replay::code::Code;
use crate::replay::error::ReplayError;
use crate::replay::outside::{Change, Outside};
use crate::replay::resolve::{Step, What};
use crate::replay::saves::StoreId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What a byte depends on.
#[derive(Clone, Copy, Default)]
enum Dependence {
    /// Nothing of the criterion.
    #[default]
    None,
    /// It held the bytes of the criterion from the beginning.
    Criterion,
    Written {
        by: InstructionId,
        depth: u32,
    },
}

impl Dependence {
    fn depth(self) -> Option<u32> {
        match self {
            Dependence::None => None,
            Dependence::Criterion => Some(0),
            Dependence::Written { depth, .. } => Some(depth),
        }
    }
}

impl Known for Dependence {
    fn is_known(self) -> bool {
        self.depth().is_some()
    }
}

/// Bytes of memory that the criterion names.
#[derive(Clone, Copy)]
struct Target {
    space: Space,
    address: u64,
    bytes: u64,
}

impl Target {
    fn contains(self, cell: Cell) -> bool {
        cell.space == self.space && cell.address.wrapping_sub(self.address) < self.bytes
    }

    fn overlaps(self, bytes: Bytes) -> bool {
        let Cell { space, address } = bytes.first;
        space == self.space
            && address < self.address.saturating_add(self.bytes)
            && address.saturating_add(bytes.size.into()) > self.address
    }
}

struct Forward<'a> {
    slice: Gathered,
    bounds: Bounds,
    /// Bytes that depend on the criterion.
    affected: Storage<Dependence>,
    /// By save: bytes of its register that did before it.
    kept: FxHashMap<StoreId, Vec<(Cell, Dependence)>>,
    target: Option<Target>,
    /// The criterion's step.
    criterion: Option<i64>,
    /// The first step that is looked at.
    start: i64,
    /// All of a line's first execution belongs to the criterion.
    still: Option<&'a BTreeSet<InstructionId>>,
}

impl Forward<'_> {
    fn step(&mut self, step: &Step) -> bool {
        self.still = self.still.filter(|which| which.contains(&step.instruction));
        for (save, bytes) in step.saves {
            let (mut held, space) = (Vec::new(), bytes.first.space);
            self.affected.look(*bytes, |address, dependence| {
                if dependence.is_known() {
                    held.push((Cell { space, address }, *dependence));
                }
            });
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
        let goes_on = self.still.is_some() || self.affected.len() > 0 || !self.kept.is_empty();
        goes_on && !self.slice.leaves(self.bounds, step.seq, self.start)
    }

    /// Why a step is in the slice, and how far from the criterion.
    fn reason(&mut self, step: &Step) -> Option<(u32, Why)> {
        let begins = self.still.is_some() || self.criterion == Some(step.seq);
        let mut reason = begins.then_some((0, Why::Criterion));
        for effect in step.effects.iter().filter(|e| e.what == What::Read) {
            let Forward { slice, affected, bounds, .. } = self;
            if affected.len() == 0 {
                break;
            }
            let space = effect.bytes.first.space;
            affected.look(effect.bytes, |address, dependence| {
                let Some(depth) = dependence.depth().filter(|depth| *depth < bounds.depth) else {
                    return;
                };
                if reason.is_none_or(|(nearest, _)| nearest > depth + 1) {
                    reason = Some((depth + 1, Why::Data));
                }
                if let Dependence::Written { by, .. } = *dependence {
                    let pair = (by, step.instruction);
                    slice.edge(pair, Cell { space, address }, 1, step.seq);
                }
            });
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
                What::Write => match depth {
                    Some(depth) => {
                        let (space, target) = (effect.bytes.first.space, self.target);
                        self.affected.visit(effect.bytes, |address, dependence| {
                            let cell = Cell { space, address };
                            let inside = |target: Target| depth > 0 || target.contains(cell);
                            let written = Dependence::Written { by: step.instruction, depth };
                            let depends = target.is_none_or(inside);
                            *dependence = if depends { written } else { Dependence::None };
                        });
                    }
                    None => {
                        self.affected
                            .look(effect.bytes, |_, dependence| *dependence = Dependence::None);
                    }
                },
                What::Restore { save, is_last } => {
                    self.affected
                        .look(effect.bytes, |_, dependence| *dependence = Dependence::None);
                    let kept = if is_last {
                        self.kept.remove(&save)
                    } else {
                        self.kept.get(&save).cloned()
                    };
                    for (first, held) in kept.into_iter().flatten() {
                        self.affected.visit(Bytes { first, size: 1 }, |_, now| *now = held);
                    }
                }
            }
        }
    }
}

impl Forward<'_> {
    /// What happens to bytes beside the steps.
    fn outside(&mut self, step: &Step) {
        for outside in step.outside {
            let Forward { slice, bounds, affected, target, .. } = self;
            let (process, space) = (outside.process, outside.space());
            let range = (outside.address, outside.last);
            // Of the bytes that the criterion names the kernel is a writer as any.
            let forget = |cell: Cell, dependence: &mut Dependence| {
                let named = target.is_some_and(|target| target.contains(cell));
                *dependence = match *dependence {
                    Dependence::None => Dependence::None,
                    _ if named => Dependence::Criterion,
                    _ => Dependence::None,
                };
            };
            match &outside.change {
                Change::Read(sink) => affected.range(process, range, |address, dependence| {
                    if let Dependence::Written { by, depth } = *dependence
                        && depth < bounds.depth
                    {
                        slice.sink(by, sink, Cell { space, address }, step.seq);
                    }
                }),
                Change::Write(_) | Change::New => {
                    affected.range(process, range, |address, dependence| {
                        forget(Cell { space, address }, dependence);
                    });
                }
                Change::Gap => affected.all(forget),
                &Change::Move { to } | &Change::Copy { to } => self.moved(outside, to),
            }
        }
    }

    /// Bytes of memory are at another address.
    fn moved(&mut self, outside: &Outside, to: u64) {
        let &Outside { address: first, last, process, .. } = outside;
        let mut moved = Vec::new();
        let stays = matches!(outside.change, Change::Copy { .. });
        self.affected.range(process, (first, last), |address, dependence| {
            let held = if stays { *dependence } else { std::mem::take(dependence) };
            moved.push((address.wrapping_sub(first).wrapping_add(to), held));
        });
        let end = to.saturating_add(last - first);
        self.affected.range(process, (to, end), |_, dependence| *dependence = Dependence::None);
        for (address, dependence) in moved.into_iter().filter(|(_, of)| of.is_known()) {
            let first = Cell { space: outside.space(), address };
            self.affected.visit(Bytes { first, size: 1 }, |_, now| *now = dependence);
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
    for range in code.ranges_of(which) {
        code.flow(connection, range, |piece| {
            let first = piece.steps().find(|&s| which.contains(&piece.block.instructions[s]));
            found = first.map(|s| piece.seq(s));
            found.is_none()
        })?;
        if found.is_some() {
            break;
        }
    }
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
        slice: Gathered::default(),
        bounds,
        affected: Storage::default(),
        kept: FxHashMap::default(),
        target: None,
        criterion: None,
        start: code.first,
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
        Criterion::Memory { process, address, bytes } => {
            let (address, bytes) = (*address, (*bytes).min(MOST_BYTES));
            let space = Space::Memory(*process);
            found.target = Some(Target { space, address, bytes });
            // No more than fits.
            let all = Bytes { first: Cell { space, address }, size: bytes as u32 };
            found.affected.visit(all, |_, dependence| *dependence = Dependence::Criterion);
            Some(code.first)
        }
    };
    let Some(start) = start.filter(|seq| (code.first..=code.last).contains(seq)) else {
        return Ok(None);
    };
    found.start = start;
    code.steps(connection, (start, code.last), |step| found.step(step))?;
    Ok(Some(found.slice.finish()))
}
