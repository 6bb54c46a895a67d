//! Slices: where a value came from, and where it goes, step by step through memory, registers and
//! control dependences.
//!
//! Backwards the run is gone through from the criterion to its beginning with the cells that are
//! still wanted; forwards, to its end with the cells that are affected. Both take memory by the
//! cells, not by the run. Saved registers keep their producer.

use super::control::ControlFlow;
use super::{Code, Piece, Place, Places, ReplayError};
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a slice begins with.
#[derive(Clone, Debug)]
pub enum Criterion {
    /// What a step reads (backwards) or writes (forwards).
    Step(i64),
    /// The last (backwards) or first (forwards) execution of any of these instructions.
    Instructions(BTreeSet<i32>),
    /// Bytes of memory: what they hold at the end, or what their first writers gave them.
    Memory { address: u64, bytes: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    Criterion,
    Data,
    Control,
}

impl Why {
    pub fn name(self) -> &'static str {
        ["criterion", "data", "control"][self as usize]
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SliceStep {
    pub seq: i64,
    pub instruction: i32,
    pub call: i32,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Instruction(i32),
    /// A pseudo-function: [`Places::name`].
    Unwritten(usize),
}

/// Bytes from one instruction to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct SliceEdge {
    pub memory: u64,
    pub register: u64,
    /// One of the bytes of memory.
    pub address: u64,
}

#[derive(Debug, Default)]
pub struct Slice {
    /// The nearest to the criterion, in the order in which they were met.
    pub steps: Vec<SliceStep>,
    /// All of them.
    pub count: u64,
    pub instructions: BTreeMap<i32, SliceInstruction>,
    /// From writer to reader.
    pub data: BTreeMap<(Source, i32), SliceEdge>,
    /// From the instruction that decides to the one that it lets run.
    pub control: BTreeSet<(i32, i32)>,
}

impl Slice {
    fn join(&mut self, step: SliceStep, limit: usize) {
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

    fn edge(&mut self, from: Source, to: i32, (owner, address): Cell) {
        let sum = self.data.entry((from, to)).or_default();
        if owner > 0 {
            sum.register += 1;
        } else {
            sum.memory += 1;
            sum.address = if sum.memory == 1 { address } else { sum.address.min(address) };
        }
    }
}

/// One byte: thread (0 for memory), address.
type Cell = (i32, u64);

fn cells(piece: &Piece, access: &super::BlockAccess) -> Option<(bool, Cell)> {
    match access.place {
        Place::Register(address) => Some((true, (piece.thread.max(0) + 1, address.into()))),
        Place::Memory(index) => Some((false, (0, *piece.address.get(index as usize)?))),
    }
}

fn plus((owner, address): Cell, offset: u32) -> Cell {
    (owner, address.wrapping_add(offset.into()))
}

struct Save {
    seq: i64,
    restore: Option<i64>,
    register: u32,
    bytes: u32,
    exposed: bool,
}

/// Saves by their own step and by that of their restore.
struct Saves {
    list: Vec<Save>,
    by_save: FxHashMap<i64, Vec<usize>>,
    by_restore: FxHashMap<i64, usize>,
}

fn saves(connection: &Connection, first: i64, last: i64) -> Result<Saves, ReplayError> {
    let mut saves =
        Saves { list: Vec::new(), by_save: FxHashMap::default(), by_restore: FxHashMap::default() };
    let mut statement =
        connection.prepare(include_str!("../../queries/report/replay_saves.sql"))?;
    let mut rows = statement.query(params![first, last])?;
    while let Some(r) = rows.next()? {
        let save = Save {
            seq: r.get(0)?,
            restore: r.get(6)?,
            register: r.get(3)?,
            bytes: r.get(4)?,
            exposed: r.get::<_, Option<i64>>(8)?.is_some(),
        };
        saves.by_save.entry(save.seq).or_default().push(saves.list.len());
        if let Some(restore) = save.restore {
            saves.by_restore.insert(restore, saves.list.len());
        }
        saves.list.push(save);
    }
    Ok(saves)
}

impl Saves {
    /// A read that counts for nothing: of the register in a save's step, of the slot in its
    /// restore's.
    fn hides(&self, seq: i64, access: &super::BlockAccess) -> bool {
        match access.place {
            Place::Register(address) => self.by_save.get(&seq).into_iter().flatten().any(|&s| {
                let save = &self.list[s];
                !save.exposed
                    && address >= save.register
                    && address + access.size <= save.register + save.bytes
            }),
            Place::Memory(_) => self
                .by_restore
                .get(&seq)
                .is_some_and(|&s| access.data_register == Some(self.list[s].register)),
        }
    }

    /// The save whose register a step's write gives back.
    fn given_back(&self, seq: i64, access: &super::BlockAccess) -> Option<&Save> {
        let save = &self.list[*self.by_restore.get(&seq)?];
        (access.place == Place::Register(save.register) && access.size == save.bytes)
            .then_some(save)
    }
}

/// The last execution of an instruction up to `last`.
fn last_of(
    code: &Code,
    connection: &Connection,
    which: &BTreeSet<i32>,
    last: i64,
) -> Result<Option<i64>, ReplayError> {
    let mut found = None;
    code.backwards(connection, (code.first, last), |piece| {
        found = (piece.first_step..piece.end_step)
            .rev()
            .find(|&s| which.contains(&piece.block.instructions[s]))
            .map(|s| piece.seq(s));
        found.is_none()
    })?;
    Ok(found)
}

fn first_of(
    code: &Code,
    connection: &Connection,
    which: &BTreeSet<i32>,
) -> Result<Option<i64>, ReplayError> {
    let mut found = None;
    code.flow(connection, (code.first, code.last), |piece| {
        found = (piece.first_step..piece.end_step)
            .find(|&s| which.contains(&piece.block.instructions[s]))
            .map(|s| piece.seq(s));
        found.is_none()
    })?;
    Ok(found)
}

/// Bounds of a slice: communications from the criterion at most, steps to list at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub depth: u32,
    pub limit: usize,
}

/// Who wants a byte: instruction, depth.
type Wanted = Vec<(i32, u32)>;

/// Where a value came from.
pub fn backward(
    code: &Code,
    connection: &Connection,
    places: &Places,
    criterion: &Criterion,
    control: Option<&ControlFlow>,
    bounds: Bounds,
) -> Result<Option<Slice>, ReplayError> {
    let mut slice = Slice::default();
    let mut wanted: FxHashMap<Cell, Wanted> = FxHashMap::default();
    let start = match criterion {
        Criterion::Step(seq) => *seq,
        Criterion::Instructions(which) => match last_of(code, connection, which, code.last)? {
            Some(seq) => seq,
            None => return Ok(None),
        },
        Criterion::Memory { address, bytes } => {
            for i in 0..(*bytes).min(1 << 24) {
                wanted.insert((0, address.wrapping_add(i)), Vec::new());
            }
            code.last
        }
    };
    if start < code.first || start > code.last {
        return Ok(None);
    }
    let is_step = !matches!(criterion, Criterion::Memory { .. });
    let saves = saves(connection, code.first, start)?;
    // Wants of a register that was saved and restored: they go on before the save.
    let mut asleep: FxHashMap<i64, Vec<(Cell, Wanted)>> = FxHashMap::default();
    // By call instance: blocks whose running was decided there, with who wants to know.
    let mut undecided: FxHashMap<i32, BTreeMap<u32, (i32, u32)>> = FxHashMap::default();
    // The call instruction of an instance whose running decides, by thread.
    let mut caller: FxHashMap<i32, (i32, u32)> = FxHashMap::default();
    let mut begins: FxHashMap<i32, i64> = FxHashMap::default();
    if control.is_some() {
        let mut statement =
            connection.prepare(include_str!("../../queries/report/replay_begins.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            begins.insert(r.get(0)?, r.get(1)?);
        }
    }
    // All of a line's last execution belongs to the criterion.
    let mut still = match criterion {
        Criterion::Instructions(which) => Some(which),
        _ => None,
    };
    code.backwards(connection, (code.first, start), |piece| {
        for step in (piece.first_step..piece.end_step).rev() {
            let (seq, instruction) = (piece.seq(step), piece.block.instructions[step]);
            still = still.filter(|which| which.contains(&instruction));
            let mut why =
                (still.is_some() || (is_step && seq == start)).then_some((0, Why::Criterion));
            let join = |why: &mut Option<(u32, Why)>, depth: u32, reason| {
                *why =
                    Some(why.map_or((depth, reason), |w| {
                        if depth < w.0 { (depth, reason) } else { w }
                    }));
            };
            for access in piece.block.accesses_of(step).iter().rev().filter(|a| a.is_write) {
                let Some((is_register, cell)) = cells(piece, access) else { continue };
                if access.is_control && is_register && !(control.is_some() && code.is_flags(access))
                {
                    continue;
                }
                let save = saves.given_back(seq, access).map(|s| s.seq);
                for i in 0..access.size {
                    let Some(readers) = wanted.remove(&plus(cell, i)) else { continue };
                    if let Some(save) = save {
                        asleep.entry(save).or_default().push((plus(cell, i), readers));
                        continue;
                    }
                    if readers.is_empty() {
                        join(&mut why, 0, Why::Criterion);
                    }
                    for (reader, depth) in readers {
                        slice.edge(Source::Instruction(instruction), reader, plus(cell, i));
                        join(&mut why, depth + 1, Why::Data);
                    }
                }
            }
            if let Some(flow) = control {
                if let Some((reader, depth)) = caller.remove(&piece.thread) {
                    slice.control.insert((instruction, reader));
                    join(&mut why, depth + 1, Why::Control);
                }
                let block = flow.block_of.get(instruction as usize).copied().flatten();
                let ends = block
                    .filter(|&b| flow.blocks[b as usize].instructions.last() == Some(&instruction));
                if let (Some(block), Some(list)) = (ends, undecided.get_mut(&piece.call)) {
                    list.retain(|&b, &mut (reader, depth)| {
                        let decides = flow.control.contains(&(block as usize, b as usize));
                        if decides {
                            slice.control.insert((instruction, reader));
                            join(&mut why, depth + 1, Why::Control);
                        }
                        !decides
                    });
                }
            }
            if let Some((depth, reason)) = why {
                slice.join(
                    SliceStep { seq, instruction, call: piece.call, depth, why: reason },
                    bounds.limit,
                );
                if depth < bounds.depth {
                    // With control dependences, what a branch compares comes to it through the
                    // flags.
                    let counts = |a: &&super::BlockAccess| {
                        !a.is_write && (!a.is_control || control.is_some() && code.is_flags(a))
                    };
                    for access in piece.block.accesses_of(step).iter().filter(counts) {
                        if saves.hides(seq, access) {
                            continue;
                        }
                        let Some((_, cell)) = cells(piece, access) else { continue };
                        for i in 0..access.size {
                            let readers = wanted.entry(plus(cell, i)).or_default();
                            match readers.iter_mut().find(|r| r.0 == instruction) {
                                Some(r) => r.1 = r.1.min(depth),
                                None => readers.push((instruction, depth)),
                            }
                        }
                    }
                    if let Some(flow) = control
                        && let Some(block) =
                            flow.block_of.get(instruction as usize).copied().flatten()
                    {
                        let entry = undecided
                            .entry(piece.call)
                            .or_default()
                            .entry(block)
                            .or_insert((instruction, depth));
                        if depth < entry.1 {
                            *entry = (instruction, depth);
                        }
                    }
                }
            }
            if control.is_some() && begins.get(&piece.call) == Some(&seq) {
                // What nothing inside decided, the call did.
                if let Some(list) = undecided.remove(&piece.call)
                    && let Some(&nearest) = list.values().min_by_key(|v| v.1)
                {
                    caller.insert(piece.thread, nearest);
                }
            }
            for (cell, readers) in asleep.remove(&seq).into_iter().flatten() {
                wanted.entry(cell).or_default().extend(readers);
            }
        }
        still.is_some()
            || !wanted.is_empty()
            || !asleep.is_empty()
            || undecided.values().any(|l| !l.is_empty())
            || !caller.is_empty()
    })?;
    for ((owner, address), readers) in wanted {
        let (_, unwritten) = places.at(owner > 0, address);
        for (reader, _) in readers {
            slice.edge(Source::Unwritten(unwritten), reader, (owner, address));
        }
    }
    Ok(Some(slice))
}

/// Where a value goes.
pub fn forward(
    code: &Code,
    connection: &Connection,
    criterion: &Criterion,
    bounds: Bounds,
) -> Result<Option<Slice>, ReplayError> {
    let mut slice = Slice::default();
    // Bytes that depend on the criterion: the instruction that wrote them, and its depth.
    let mut affected: FxHashMap<Cell, (i32, u32)> = FxHashMap::default();
    let mut target: Option<(u64, u64)> = None;
    let start = match criterion {
        Criterion::Step(seq) => *seq,
        Criterion::Instructions(which) => match first_of(code, connection, which)? {
            Some(seq) => seq,
            None => return Ok(None),
        },
        Criterion::Memory { address, bytes } => {
            target = Some((*address, (*bytes).min(1 << 24)));
            for i in 0..(*bytes).min(1 << 24) {
                affected.insert((0, address.wrapping_add(i)), (0, 0));
            }
            code.first
        }
    };
    if start < code.first || start > code.last {
        return Ok(None);
    }
    let saves = saves(connection, code.first, code.last)?;
    let mut kept: FxHashMap<i64, Vec<(Cell, (i32, u32))>> = FxHashMap::default();
    let mut still = match criterion {
        Criterion::Instructions(which) => Some(which),
        _ => None,
    };
    code.forwards(connection, (start, code.last), |piece| {
        for step in piece.first_step..piece.end_step {
            let (seq, instruction) = (piece.seq(step), piece.block.instructions[step]);
            let accesses = piece.block.accesses_of(step);
            still = still.filter(|which| which.contains(&instruction));
            let mut depth = (still.is_some() || (target.is_none() && seq == start)).then_some(0);
            let mut why = Why::Criterion;
            for &s in saves.by_save.get(&seq).into_iter().flatten() {
                let save = &saves.list[s];
                if save.restore.is_some() {
                    let cell = (piece.thread.max(0) + 1, u64::from(save.register));
                    let held = (0..save.bytes)
                        .filter_map(|i| affected.get(&plus(cell, i)).map(|a| (plus(cell, i), *a)));
                    kept.insert(seq, held.collect());
                }
            }
            for access in accesses.iter().filter(|a| !a.is_write && !a.is_control) {
                let Some((_, cell)) = cells(piece, access) else { continue };
                if affected.is_empty() || saves.hides(seq, access) {
                    continue;
                }
                for i in 0..access.size {
                    if let Some(&(writer, at)) = affected.get(&plus(cell, i))
                        && at < bounds.depth
                    {
                        if depth.is_none_or(|d| d > at + 1) {
                            depth = Some(at + 1);
                            why = Why::Data;
                        }
                        if writer > 0 {
                            slice.edge(Source::Instruction(writer), instruction, plus(cell, i));
                        }
                    }
                }
            }
            if let Some((address, bytes)) = target
                && accesses.iter().filter(|a| a.is_write).any(|a| {
                    cells(piece, a).is_some_and(|(r, c)| {
                        !r && c.1 < address.saturating_add(bytes)
                            && c.1.saturating_add(a.size.into()) > address
                    })
                })
            {
                depth = Some(0);
                why = Why::Criterion;
            }
            if let Some(depth) = depth {
                slice.join(
                    SliceStep { seq, instruction, call: piece.call, depth, why },
                    bounds.limit,
                );
            }
            for access in accesses.iter().filter(|a| a.is_write) {
                let Some((is_register, cell)) = cells(piece, access) else { continue };
                if access.is_control && is_register {
                    continue;
                }
                let given = saves.given_back(seq, access).map(|s| s.seq);
                for i in 0..access.size {
                    let inside = target.is_none_or(|(a, n)| {
                        depth != Some(0) || (!is_register && plus(cell, i).1.wrapping_sub(a) < n)
                    });
                    match depth {
                        Some(d) if given.is_none() && inside => {
                            affected.insert(plus(cell, i), (instruction, d))
                        }
                        _ => affected.remove(&plus(cell, i)),
                    };
                }
                if let Some(save) = given {
                    affected.extend(kept.remove(&save).into_iter().flatten());
                }
            }
        }
        still.is_some() || !affected.is_empty() || !kept.is_empty()
    })?;
    Ok(Some(slice))
}
