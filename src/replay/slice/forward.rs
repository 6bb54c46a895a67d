//! Where a value goes.

use super::found::{
    Bounds, Criterion, Execution, Gathered, MOST_BYTES, Part, Slice, SliceStep, Why,
};
use super::storage::{Copied, Known, Storage};
use crate::id::InstructionId;
use crate::replay::cell::{Bytes, Cell, Space};
use crate::replay::code::Code;
use crate::replay::error::ReplayError;
use crate::replay::handed::{Forked, Handed};
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
    /// By number of an exception or signal: bytes of registers that did then.
    at_exceptions: FxHashMap<u64, Vec<(Cell, Dependence)>>,
    /// By number of a process that has been made: of its memory and registers as it begins.
    at_forks: FxHashMap<u64, Copied<Dependence>>,
    target: Option<Target>,
    /// The criterion's step.
    criterion: Option<i64>,
    /// The first step that is looked at.
    start: i64,
    /// All of a line's first execution belongs to the criterion.
    still: Option<Execution<'a>>,
}

/// Why a step is in the slice.
struct Reason {
    /// How far from the criterion.
    joins: Option<(u32, Why)>,
    /// How far what it reads is.
    data: Option<u32>,
}

impl Forward<'_> {
    fn step(&mut self, step: &Step) -> bool {
        let part = self.still.as_mut().map(|still| still.part(step));
        if part == Some(Part::Over) {
            self.still = None;
        }
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
        let begins = part == Some(Part::Of) || self.criterion == Some(step.seq);
        let reason = self.reason(step, begins);
        if let Some((depth, why)) = reason.joins {
            let Step { seq, instruction, call, .. } = *step;
            let joined = SliceStep { seq, instruction, call, depth, why };
            self.slice.join(joined, self.bounds.limit);
        }
        // Beside the bytes that the criterion names, a step that writes them gives what it reads.
        let depth = if self.target.is_some() { reason.data } else { reason.joins.map(|r| r.0) };
        self.writes(step, depth);
        step.forked.iter().for_each(|forked| self.forked(forked));
        self.outside(step);
        step.handed.iter().for_each(|handed| self.handed(handed));
        let goes_on = self.still.is_some()
            || self.affected.len() > 0
            || !self.kept.is_empty()
            || !self.at_exceptions.is_empty()
            || !self.at_forks.is_empty();
        goes_on && !self.slice.leaves(self.bounds, step.seq, self.start)
    }

    fn reason(&mut self, step: &Step, begins: bool) -> Reason {
        let mut data: Option<u32> = None;
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
                data = Some(data.map_or(depth + 1, |nearest| nearest.min(depth + 1)));
                if let Dependence::Written { by, .. } = *dependence {
                    let pair = (by, step.instruction);
                    slice.edge(pair, Cell { space, address }, 1, step.seq);
                }
            });
        }
        let mut writes = step.effects.iter().filter(|e| e.what != What::Read);
        let begins =
            begins || self.target.is_some_and(|target| writes.any(|e| target.overlaps(e.bytes)));
        let joins =
            if begins { Some((0, Why::Criterion)) } else { data.map(|depth| (depth, Why::Data)) };
        Reason { joins, data }
    }

    /// What a step writes depends on the criterion if the step does; and the bytes that the criterion names, whoever writes them.
    fn writes(&mut self, step: &Step, depth: Option<u32>) {
        for effect in step.effects {
            match effect.what {
                What::Read => {}
                What::Write => {
                    let named = self.target.filter(|target| target.overlaps(effect.bytes));
                    if depth.is_none() && named.is_none() {
                        self.affected
                            .look(effect.bytes, |_, dependence| *dependence = Dependence::None);
                        continue;
                    }
                    let (by, space) = (step.instruction, effect.bytes.first.space);
                    self.affected.visit(effect.bytes, |address, dependence| {
                        let cell = Cell { space, address };
                        let is_named = named.is_some_and(|target| target.contains(cell));
                        let depth = if is_named { Some(0) } else { depth };
                        *dependence = match depth {
                            Some(depth) => Dependence::Written { by, depth },
                            None => Dependence::None,
                        };
                    });
                }
                What::Restore { save, is_last } => {
                    self.affected
                        .look(effect.bytes, |_, dependence| *dependence = Dependence::None);
                    let kept = if is_last {
                        self.kept.remove(&save)
                    } else {
                        self.kept.get(&save).cloned()
                    };
                    // A forked process gives back what its parent has saved.
                    let space = effect.bytes.first.space;
                    for (first, held) in kept.into_iter().flatten() {
                        let first = Cell { space, ..first };
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
                    let cell = Cell { space, address };
                    match *dependence {
                        Dependence::Written { by, depth } if depth < bounds.depth => {
                            slice.sink(by, sink, cell, step.seq);
                        }
                        Dependence::Criterion if bounds.depth > 0 => {
                            slice.criterion_sink(sink, cell, step.seq);
                        }
                        _ => {}
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

    /// A process begins with what its parent has when it makes it.
    fn forked(&mut self, forked: &Forked) {
        let &Forked { number, begins, process, thread } = forked;
        if !begins {
            let copied = self.affected.copy(process, thread);
            if !copied.is_empty() {
                self.at_forks.insert(number, copied);
            }
        } else if let Some(copied) = self.at_forks.remove(&number) {
            for space in forked.spaces() {
                self.affected.each_known(space, |_, known| *known = Dependence::None);
            }
            self.affected.put(process, thread, copied);
        }
    }

    /// What becomes of registers beside the steps.
    fn handed(&mut self, handed: &Handed) {
        let affected = &mut self.affected;
        match handed {
            Handed::Kept { number, registers } => {
                let mut held = Vec::new();
                for bytes in registers {
                    let space = bytes.first.space;
                    affected.look(*bytes, |address, dependence| {
                        if dependence.is_known() {
                            held.push((Cell { space, address }, *dependence));
                        }
                    });
                }
                if !held.is_empty() {
                    self.at_exceptions.insert(*number, held);
                }
            }
            Handed::Back { number, registers } => {
                affected.look(*registers, |_, dependence| *dependence = Dependence::None);
                let held = self.at_exceptions.get(number).into_iter().flatten();
                for &(first, held) in held.filter(|(cell, _)| registers.contains(*cell)) {
                    affected.visit(Bytes { first, size: 1 }, |_, now| *now = held);
                }
            }
            Handed::Done { number } => {
                self.at_exceptions.remove(number);
            }
            &Handed::Loaded { registers, from } => {
                affected.look(registers, |_, dependence| *dependence = Dependence::None);
                let mut held = Vec::new();
                affected.look(Bytes { first: from, ..registers }, |address, dependence| {
                    held.push((address.wrapping_sub(from.address), *dependence));
                });
                for (at, dependence) in held.into_iter().filter(|(_, of)| of.is_known()) {
                    let Cell { space, address } = registers.first;
                    let first = Cell { space, address: address + at };
                    affected.visit(Bytes { first, size: 1 }, |_, now| *now = dependence);
                }
            }
            Handed::Left { save, registers, memory } => {
                for &(cell, held) in self.kept.get(save).into_iter().flatten() {
                    let at = cell.address.wrapping_sub(registers.first.address);
                    let Cell { space, address } = memory.first;
                    let first = Cell { space, address: address.wrapping_add(at) };
                    affected.visit(Bytes { first, size: 1 }, |_, now| *now = held);
                }
            }
            Handed::Given { registers } | Handed::Unwritten { registers } => {
                affected.look(*registers, |_, dependence| *dependence = Dependence::None);
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
        at_exceptions: FxHashMap::default(),
        at_forks: FxHashMap::default(),
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
            found.still = Some(Execution::new(which));
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
