//! Where a value came from.

use super::found::{
    Bounds, Criterion, Execution, Gathered, MOST_BYTES, Part, Slice, SliceStep, Source, Why,
};
use super::storage::{Known, Storage};
use crate::analysis::origin::Sources;
use crate::id::{CallId, InstructionId, ThreadId};
use crate::replay::cell::{Bytes, Cell, Space};
use crate::replay::code::Code;
use crate::replay::control::ControlFlow;
use crate::replay::error::ReplayError;
use crate::replay::handed::{Forked, Handed};
use crate::replay::outside::{Change, Outside};
use crate::replay::places::Places;
use crate::replay::resolve::{BackSteps, Flags, Step, What};
use crate::replay::saves::StoreId;
use crate::replay::written::{WriteIndex, Writes};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Who wants to know, and how many communications from the criterion it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reader {
    instruction: InstructionId,
    depth: u32,
}

/// Who wants a byte. One is what there almost always is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Want {
    #[default]
    Nobody,
    /// The criterion itself.
    Criterion,
    One(Reader),
    /// A list of [`Lists`], which nobody else has.
    Several(u32),
}

impl Known for Want {
    fn is_known(self) -> bool {
        self != Want::Nobody
    }
}

/// Lists of several who want a byte.
#[derive(Default)]
struct Lists {
    lists: Vec<Vec<Reader>>,
    /// Those that nobody has.
    free: Vec<u32>,
}

impl Lists {
    fn several(&mut self, readers: &[Reader]) -> Want {
        let at = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            // A list for a byte of memory at most.
            (self.lists.len() - 1) as u32
        });
        self.lists[at as usize].extend_from_slice(readers);
        Want::Several(at)
    }

    /// Tells `take` of those who want a byte, which nobody does any more.
    #[inline]
    fn each(&mut self, want: Want, mut take: impl FnMut(Reader)) {
        match want {
            Want::Nobody | Want::Criterion => {}
            Want::One(reader) => take(reader),
            Want::Several(at) => {
                self.lists[at as usize].drain(..).for_each(take);
                self.free.push(at);
            }
        }
    }

    /// An instruction wants a byte, too: the nearest time that it does counts.
    #[inline]
    fn want(&mut self, want: &mut Want, reader: Reader) {
        let near = |known: &mut Reader| known.depth = known.depth.min(reader.depth);
        match want {
            Want::Nobody | Want::Criterion => *want = Want::One(reader),
            Want::One(known) if known.instruction == reader.instruction => near(known),
            Want::One(known) => *want = self.several(&[*known, reader]),
            Want::Several(at) => {
                let list = &mut self.lists[*at as usize];
                match list.iter_mut().find(|known| known.instruction == reader.instruction) {
                    Some(known) => near(known),
                    None => list.push(reader),
                }
            }
        }
    }

    /// Those who wanted a register behind its save want it before it, too.
    fn join(&mut self, want: &mut Want, woken: Want) {
        match (*want, woken) {
            (Want::Nobody | Want::Criterion, Want::Nobody) => {}
            (Want::Nobody | Want::Criterion, _) => *want = woken,
            (known, _) => {
                let mut all = Vec::new();
                self.each(known, |reader| all.push(reader));
                self.each(woken, |reader| all.push(reader));
                *want = match all[..] {
                    [reader] => Want::One(reader),
                    _ => self.several(&all),
                };
            }
        }
    }
}

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

    /// Before the first step of a process, which is `first` in a thread: what nothing in it decided.
    fn leave_process(&mut self, thread: ThreadId, first: i64) -> Option<Reader> {
        let Decisions { undecided, called, begins, .. } = self;
        let mut nearest = called.remove(&thread);
        undecided.retain(|call, blocks| {
            let stays = begins.get(call) != Some(&first);
            if !stays {
                let all = blocks.values().copied().chain(nearest);
                nearest = all.min_by_key(|reader| reader.depth);
            }
            stays
        });
        nearest
    }

    fn is_empty(&self) -> bool {
        self.called.is_empty() && self.undecided.values().all(BTreeMap::is_empty)
    }
}

struct Backward<'a> {
    code: &'a Code,
    connection: &'a Connection,
    slice: Gathered,
    places: &'a Places,
    bounds: Bounds,
    wanted: Storage<Want>,
    lists: Lists,
    /// By save: wants of the register that it saved; they go on before it.
    asleep: FxHashMap<StoreId, Vec<(Cell, Want)>>,
    /// By number of an exception or signal: wants of registers that were kept then.
    at_exceptions: FxHashMap<u64, Vec<(Cell, Want)>>,
    /// By number of a process that has begun: wants of its memory and registers, by their addresses.
    at_forks: FxHashMap<u64, [Vec<(u64, Want)>; 2]>,
    /// By that number: what ran there because the process was made.
    decided_by_fork: FxHashMap<u64, Reader>,
    decisions: Option<Decisions<'a>>,
    /// The criterion's step.
    criterion: Option<i64>,
    /// The last step that is looked at.
    start: i64,
    /// All of a line's last execution belongs to the criterion.
    still: Option<Execution<'a>>,
    /// Which windows of the run wrote what, where that is stored.
    written: Option<WriteIndex>,
    /// Else the packed run, looked through.
    writes: Option<Writes<'a>>,
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
        if self.decisions.is_some()
            || self.still.is_some()
            || self.criterion.is_some_and(|criterion| criterion <= to)
            || self.wanted.len() + self.asleep.len() > MANY
            || self.wanted.in_registers() > 0
            || !self.at_exceptions.is_empty()
        {
            return Ok(to);
        }
        // Where processes are made or begin, wants become others'.
        let forks = self.code.forks(self.connection)?;
        let fork = forks[..forks.partition_point(|(seq, _)| *seq <= to)].last();
        let saved = self.asleep.keys().map(|save| save.seq).filter(|seq| *seq <= to).max();
        let saved = saved.max(fork.map(|(seq, _)| *seq));
        let written = match (&self.written, &self.writes) {
            (Some(index), _) => index.last(to, self.wanted.addresses()),
            (None, Some(writes)) => writes.last(to, self.wanted.addresses())?,
            (None, None) => return Ok(to),
        };
        Ok(saved.max(written).unwrap_or(-1))
    }

    fn step(&mut self, step: &Step) -> bool {
        step.handed.iter().rev().for_each(|handed| self.handed(step.seq + 1, handed));
        self.outside(step);
        step.forked.iter().rev().for_each(|forked| self.forked(step.seq, forked));
        let part = self.still.as_mut().map(|still| still.part(step));
        if part == Some(Part::Over) {
            self.still = None;
        }
        let mut reason = Reason::default();
        if part == Some(Part::Of) || self.criterion == Some(step.seq) {
            reason.join(0, Why::Criterion);
        }
        self.writes(step, &mut reason);
        if let Some(decisions) = &mut self.decisions {
            let control = &mut self.slice.slice.control;
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
        for (save, bytes) in step.saves {
            for (first, woken) in self.asleep.remove(save).into_iter().flatten() {
                // What a forked process gives back its parent has saved.
                let (lists, first) = (&mut self.lists, Cell { space: bytes.first.space, ..first });
                self.wanted.visit(Bytes { first, size: 1 }, |_, want| lists.join(want, woken));
            }
        }
        self.goes_on() && !self.slice.leaves(self.bounds, step.seq, self.start)
    }
}

impl Backward<'_> {
    /// Wanted bytes that no step made.
    fn outside(&mut self, step: &Step) {
        for outside in step.outside.iter().rev() {
            let source = match &outside.change {
                Change::Read(_) => continue,
                Change::Write(name) => Some(Source::Kernel(name.clone())),
                Change::New => None,
                Change::Gap => {
                    self.unwritten(step.seq + 1);
                    continue;
                }
                &Change::Move { to } | &Change::Copy { to } => {
                    let moved = self.taken(outside, to);
                    let lists = &mut self.lists;
                    let space = outside.space();
                    for (cell, woken) in moved {
                        let address = cell.address.wrapping_sub(to).wrapping_add(outside.address);
                        let first = Cell { space, address };
                        // Of what is copied the source may be wanted, too.
                        self.wanted
                            .visit(Bytes { first, size: 1 }, |_, want| lists.join(want, woken));
                    }
                    continue;
                }
            };
            for (cell, want) in self.taken(outside, outside.address) {
                // It was read behind this.
                let (places, seq) = (self.places, step.seq + 1);
                let source = || source.clone().unwrap_or_else(|| unwritten(places, cell, seq));
                let slice = &mut self.slice;
                if want == Want::Criterion {
                    slice.criterion_source(source(), cell, seq);
                }
                self.lists
                    .each(want, |reader| slice.outside(source(), reader.instruction, cell, seq));
            }
        }
    }

    /// What is wanted of a process that begins is wanted of its parent, as that was when it made it.
    fn forked(&mut self, seq: i64, forked: &Forked) {
        let &Forked { number, begins, thread, .. } = forked;
        if let Some(decisions) = &mut self.decisions {
            if begins {
                let left = decisions.leave_process(thread, seq + 1);
                self.decided_by_fork.extend(left.map(|reader| (number, reader)));
            } else if let Some(reader) = self.decided_by_fork.remove(&number) {
                decisions.called.insert(thread, reader);
            }
        }
        let wanted = &mut self.wanted;
        if begins {
            let taken = forked.spaces().map(|space| {
                let mut taken = Vec::new();
                wanted.each_known(space, |at, want| taken.push((at, std::mem::take(want))));
                taken
            });
            if taken.iter().any(|taken| !taken.is_empty()) {
                self.at_forks.insert(number, taken);
            }
            return;
        }
        let woken = self.at_forks.remove(&number).unwrap_or_default();
        for (space, woken) in forked.spaces().into_iter().zip(woken) {
            for (address, woken) in woken {
                let (lists, first) = (&mut self.lists, Cell { space, address });
                wanted.visit(Bytes { first, size: 1 }, |_, want| lists.join(want, woken));
            }
        }
    }

    /// What became of wanted registers before a step.
    fn handed(&mut self, seq: i64, handed: &Handed) {
        match handed {
            Handed::Kept { number, .. } => {
                for (first, woken) in self.at_exceptions.remove(number).into_iter().flatten() {
                    let lists = &mut self.lists;
                    self.wanted.visit(Bytes { first, size: 1 }, |_, want| lists.join(want, woken));
                }
            }
            Handed::Back { number, registers } => {
                let taken = self.taken_bytes(*registers);
                if !taken.is_empty() {
                    self.at_exceptions.entry(*number).or_default().extend(taken);
                }
            }
            Handed::Done { .. } => {}
            &Handed::Loaded { registers, from } => {
                for (cell, woken) in self.taken_bytes(registers) {
                    let at = cell.address.wrapping_sub(registers.first.address);
                    let first = Cell { address: from.address.wrapping_add(at), ..from };
                    let lists = &mut self.lists;
                    self.wanted.visit(Bytes { first, size: 1 }, |_, want| lists.join(want, woken));
                }
            }
            Handed::Left { save, registers, memory } => {
                let taken = self.taken_bytes(*memory).into_iter().map(|(cell, want)| {
                    let at = cell.address.wrapping_sub(memory.first.address);
                    (Cell { address: registers.first.address + at, ..registers.first }, want)
                });
                let taken: Vec<_> = taken.collect();
                if !taken.is_empty() {
                    self.asleep.entry(*save).or_default().extend(taken);
                }
            }
            Handed::Given { registers } | Handed::Unwritten { registers } => {
                for (cell, want) in self.taken_bytes(*registers) {
                    let (slice, places) = (&mut self.slice, self.places);
                    let source = || match handed {
                        Handed::Given { .. } => Source::Kernel(Sources::FRAME.into()),
                        _ => unwritten(places, cell, seq),
                    };
                    if want == Want::Criterion {
                        slice.criterion_source(source(), cell, seq);
                    }
                    self.lists.each(want, |reader| {
                        slice.outside(source(), reader.instruction, cell, seq);
                    });
                }
            }
        }
    }

    /// Takes the wants of bytes.
    fn taken_bytes(&mut self, bytes: Bytes) -> Vec<(Cell, Want)> {
        let (mut taken, space) = (Vec::new(), bytes.first.space);
        self.wanted.known_parts(bytes, |first, part, count| {
            for (at, want) in part.iter_mut().enumerate().filter(|(_, want)| want.is_known()) {
                let cell = Cell { space, address: first + at as u64 };
                taken.push((cell, std::mem::take(want)));
                *count -= 1;
            }
        });
        taken
    }

    /// Takes the wants of as many bytes of memory as something happens to, from an address on.
    fn taken(&mut self, outside: &Outside, first: u64) -> Vec<(Cell, Want)> {
        let mut taken = Vec::new();
        let (space, last) = (outside.space(), first.saturating_add(outside.last - outside.address));
        self.wanted.range(outside.process, (first, last), |address, want| {
            if want.is_known() {
                taken.push((Cell { space, address }, std::mem::take(want)));
            }
        });
        taken
    }

    /// No instruction before a step made what is still wanted.
    fn unwritten(&mut self, seq: i64) {
        let Backward { slice, places, lists, wanted, .. } = self;
        wanted.all(|cell, want| {
            if *want == Want::Criterion {
                slice.criterion_source(unwritten(places, cell, seq), cell, seq);
            }
            lists.each(std::mem::take(want), |reader| {
                let source = unwritten(places, cell, seq);
                slice.outside(source, reader.instruction, cell, seq);
            });
        });
    }

    /// Whether anything is left to be found.
    fn goes_on(&self) -> bool {
        self.still.is_some()
            || self.wanted.len() > 0
            || !self.asleep.is_empty()
            || !self.at_exceptions.is_empty()
            || !self.at_forks.is_empty()
            || !self.decided_by_fork.is_empty()
            || self.decisions.as_ref().is_some_and(|d| !d.is_empty())
    }

    /// Bytes that a step made and that are wanted.
    fn writes(&mut self, step: &Step, reason: &mut Reason) {
        let Backward { slice, lists, wanted, asleep, .. } = self;
        for effect in step.effects.iter().rev().filter(|e| e.what != What::Read) {
            let space = effect.bytes.first.space;
            wanted.known_parts(effect.bytes, |first, part, count| {
                let mut at = 0;
                while let Some(&want) = part.get(at) {
                    // A list is one byte's, so that the bytes of a run are wanted by one at most.
                    let run = part[at..].iter().take_while(|other| **other == want).count();
                    let bytes = at..at + run;
                    at += run;
                    if !want.is_known() {
                        continue;
                    }
                    part[bytes.clone()].fill(Want::Nobody);
                    *count -= run;
                    let cell = |at: usize| Cell { space, address: first + at as u64 };
                    if let What::Restore { save, .. } = effect.what {
                        let asleep = asleep.entry(save).or_default();
                        asleep.extend(bytes.map(|at| (cell(at), want)));
                        continue;
                    }
                    if want == Want::Criterion {
                        reason.join(0, Why::Criterion);
                    }
                    lists.each(want, |reader| {
                        let from = cell(bytes.start);
                        let pair = (step.instruction, reader.instruction);
                        slice.edge(pair, from, run as u64, step.seq);
                        reason.join(reader.depth + 1, Why::Data);
                    });
                }
            });
        }
    }

    /// What a step of the slice reads is wanted.
    fn want(&mut self, step: &Step, depth: u32) {
        let reader = Reader { instruction: step.instruction, depth };
        let Backward { lists, wanted, .. } = self;
        for effect in step.effects.iter().filter(|e| e.what == What::Read) {
            wanted.parts(effect.bytes, |_, part, count| {
                for want in part {
                    *count += usize::from(!want.is_known());
                    lists.want(want, reader);
                }
            });
        }
        if let Some(decisions) = &mut self.decisions {
            decisions.ask(step, reader);
        }
    }
}

/// The pseudo-function of a byte that no step wrote and that a step reads.
fn unwritten(places: &Places, cell: Cell, seq: i64) -> Source {
    Source::Unwritten(places.of(cell, seq).unwritten)
}

/// The last execution of any of some instructions.
fn last_of(
    code: &Code,
    connection: &Connection,
    which: &BTreeSet<InstructionId>,
) -> Result<Option<i64>, ReplayError> {
    let mut found = None;
    for range in code.ranges_of(which).into_iter().rev() {
        code.backwards(connection, range, |piece| {
            let last = piece.steps().rev().find(|&s| which.contains(&piece.block.instructions[s]));
            found = last.map(|s| piece.seq(s));
            Ok(found.is_none())
        })?;
        if found.is_some() {
            break;
        }
    }
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
        code,
        connection,
        slice: Gathered::default(),
        places,
        bounds,
        wanted: Storage::default(),
        lists: Lists::default(),
        asleep: FxHashMap::default(),
        at_exceptions: FxHashMap::default(),
        at_forks: FxHashMap::default(),
        decided_by_fork: FxHashMap::default(),
        decisions: control.map(|flow| Decisions::new(flow, connection)).transpose()?,
        criterion: None,
        start: code.last,
        still: None,
        written: WriteIndex::read(connection)?,
        writes: Writes::open(code, connection)?,
    };
    let start = match criterion {
        Criterion::Step(seq) => {
            found.criterion = Some(*seq);
            Some(*seq)
        }
        Criterion::Instructions(which) => {
            found.still = Some(Execution::new(which));
            found.criterion = last_of(code, connection, which)?;
            found.criterion
        }
        Criterion::Memory { process, address, bytes } => {
            let first = Cell { space: Space::Memory(*process), address: *address };
            // No more than fits.
            let size = (*bytes).min(MOST_BYTES) as u32;
            found.wanted.visit(Bytes { first, size }, |_, want| *want = Want::Criterion);
            Some(code.last)
        }
    };
    let Some(start) = start.filter(|seq| (code.first..=code.last).contains(seq)) else {
        return Ok(None);
    };
    // With control dependences, what a branch compares comes to it through the flags.
    let flags = if control.is_some() { Flags::Followed } else { Flags::Ignored };
    found.start = start;
    code.steps_back(connection, (code.first, start), flags, &mut found)?;
    if found.slice.slice.left_at.is_none() {
        found.unwritten(code.first);
    }
    Ok(Some(found.slice.finish()))
}
