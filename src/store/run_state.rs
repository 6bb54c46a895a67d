//! States of the pass at the beginnings of chunks (`run_state`), with what else a question wants to
//! know of a chunk before it goes through it.
//!
//! Each part is a zstd frame with a checksum; all numbers are LEB128.

use super::frame;
use super::numbers::{ChunkError, Section, put, put_list, put_option, unzigzag, zigzag};
use super::pieces;
use super::run_code::{FLOWS, one, put_one};
use super::run_events::{event, put_event};
use super::source;
use super::tables::RunState;
use crate::analysis::block::Last;
use crate::analysis::forks::{Forked, ForkedThread};
use crate::analysis::levels::{Handler, Interrupted, Kept, Levels};
use crate::analysis::memory::Version;
use crate::analysis::origin::{Origin, Packed};
use crate::analysis::outlived::Left;
use crate::analysis::saves::Store;
use crate::analysis::shadow::Cell;
use crate::analysis::stack::{Call, CallKind, Ending, Interval, Point};
use crate::analysis::stacks::Running;
use crate::analysis::state::{FrameState, SaveState, State, TaskState, ThreadState, WaitingState};
use crate::analysis::transfer::{End, Previous};
use crate::analysis::{Communication, FoldedCall, Late, SavedRegister, Source, StackSide};
use crate::event::{Event, RegSpan};
use crate::id::{AccessRef, ActorId, CallId, FunctionId, InstructionId, IntervalId, Seq, ThreadId};

/// Changes whenever it reads differently.
const VERSION: u64 = 5;

/// What is kept of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Meets`].
    Meets,
    /// [`Ended`].
    Ended,
    /// [`pack_events`].
    Events,
    /// [`State`]; of a chunk that has none nothing is kept.
    State,
}

impl Part {
    /// In the order in which they are stored: those that a question reads of all chunks first.
    pub const ALL: [Part; 4] = [Part::Meets, Part::Ended, Part::Events, Part::State];

    fn name(self) -> &'static str {
        match self {
            Part::Meets => "meets",
            Part::Ended => "ended",
            Part::Events => "events",
            Part::State => "state",
        }
    }

    /// The rows of a chunk's.
    pub fn rows(self, first_seq: u64, data: &[u8]) -> impl Iterator<Item = RunState<'_>> {
        let part = self.name();
        pieces::pieces(data).map(move |(piece, data)| RunState { first_seq, part, piece, data })
    }

    /// Those of all chunks that have it, by first step.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn all(self, source: &dyn source::Source) -> duckdb::Result<Vec<(u64, Vec<u8>)>> {
        let part = self.name();
        let sql = format!(
            "SELECT first_seq, data FROM run_state WHERE part = '{part}' ORDER BY first_seq, piece"
        );
        pieces::joined(source, &sql, &[])
    }

    /// That of one chunk.
    ///
    /// # Errors
    /// As [`Part::of_chunks`].
    pub fn of(self, source: &dyn source::Source, first: u64) -> duckdb::Result<Vec<u8>> {
        let found = self.of_chunks(source, &[first])?.pop();
        found.ok_or(duckdb::Error::QueryReturnedNoRows)
    }

    /// Those of the chunks with these first steps, in order.
    ///
    /// # Errors
    /// Where the database cannot be read, or does not have one.
    pub fn of_chunks(
        self,
        source: &dyn source::Source,
        firsts: &[u64],
    ) -> duckdb::Result<Vec<Vec<u8>>> {
        let (Some(first), Some(last)) = (firsts.first(), firsts.last()) else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "SELECT first_seq, data FROM run_state WHERE part = '{}' AND first_seq BETWEEN ? AND ?
             ORDER BY first_seq, piece",
            self.name()
        );
        let mut found = pieces::joined(source, &sql, &[*first, *last])?;
        found.retain(|(of, _)| firsts.binary_search(of).is_ok());
        let all = found.len() == firsts.len();
        let found = found.into_iter().map(|(_, data)| data).collect();
        if all { Ok(found) } else { Err(duckdb::Error::QueryReturnedNoRows) }
    }

    /// Whether it is of this version.
    pub fn is_read(self, data: &[u8]) -> bool {
        frame::unpack(data).is_ok_and(|bytes| begin(&mut Section(&bytes)).is_ok())
    }
}

/// Rows that end in a chunk and began before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// With the bytes that others wrote and they read.
    pub calls: Vec<(Call, u64)>,
    pub intervals: Vec<Interval>,
    pub saves: Vec<SavedRegister>,
    pub folded: Vec<FoldedCall>,
    /// Read before the chunk, and known in it.
    pub late: Vec<Late>,
}

/// What a chunk has to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meets {
    /// Functions that run in it.
    pub runs: Vec<FunctionId>,
    /// Functions that wrote before it what another call reads in it.
    pub reads: Vec<FunctionId>,
    /// Before it: calls, mappings with sections, processes.
    pub calls: u32,
    pub mapped: u32,
    pub processes: u32,
    /// Of what is allocated in it: the last step before, address, bytes.
    pub allocated: Vec<(u64, u64, u64)>,
}

fn begin(from: &mut Section) -> Result<(), ChunkError> {
    match from.number()? {
        VERSION => Ok(()),
        other => Err(ChunkError::Version(other)),
    }
}

/// An id that is not 0.
fn id<T>(from: &mut Section, of: impl Fn(u32) -> Option<T>) -> Result<T, ChunkError> {
    of(from.id()?).ok_or(ChunkError::Damaged("an id is 0"))
}

/// One that may be missing.
fn maybe<T>(from: &mut Section, of: impl Fn(u32) -> Option<T>) -> Result<Option<T>, ChunkError> {
    Ok(of(from.id()?))
}

fn seq(from: &mut Section) -> Result<Seq, ChunkError> {
    Seq::new(from.number()?).ok_or(ChunkError::Damaged("a step is 0"))
}

fn put_span(out: &mut Vec<u8>, span: RegSpan) {
    put(out, span.offset.into());
    put(out, span.size.into());
}

fn short(from: &mut Section) -> Result<u16, ChunkError> {
    u16::try_from(from.number()?).map_err(|_| ChunkError::Damaged("a number is too large"))
}

fn span(from: &mut Section) -> Result<RegSpan, ChunkError> {
    Ok(RegSpan { offset: short(from)?, size: short(from)? })
}

fn put_point(out: &mut Vec<u8>, point: Point) {
    put(out, point.seq.map_or(0, Seq::get));
    put_option(out, point.time, put);
}

fn point(from: &mut Section) -> Result<Point, ChunkError> {
    Ok(Point { seq: Seq::new(from.number()?), time: from.option(Section::number)? })
}

/// Cells one behind the other: neighbours are of writes and calls that are near.
#[derive(Default)]
struct Cells {
    write: u64,
    call: u64,
    actor: u64,
}

impl Cells {
    fn put(&mut self, out: &mut Vec<u8>, cell: &Cell) {
        let (call, actor) = (u64::from(cell.call.number()), u64::from(cell.actor));
        // The marks of an actor would make it a large number.
        let actor = actor.rotate_left(2) & 0xffff_ffff | actor >> 30;
        for (last, now) in
            [(&mut self.write, cell.write), (&mut self.call, call), (&mut self.actor, actor)]
        {
            put(out, zigzag(now.wrapping_sub(*last)));
            *last = now;
        }
    }

    fn next(&mut self, from: &mut Section) -> Result<Cell, ChunkError> {
        for last in [&mut self.write, &mut self.call, &mut self.actor] {
            *last = last.wrapping_add(unzigzag(from.number()?));
        }
        let number = |n: u64| u32::try_from(n).map_err(|_| ChunkError::Damaged("a writer"));
        let (call, actor) = (Packed::raw(number(self.call)?), number(self.actor)?.rotate_right(2));
        if actor == Cell::SPLIT || self.write == 0 {
            return Err(ChunkError::Damaged("a writer"));
        }
        Ok(Cell { write: self.write, call, actor, reader: 0, pair: 0 })
    }
}

fn put_token(out: &mut Vec<u8>, token: End) {
    match token {
        End::Never => out.push(0),
        End::Exception => out.push(1),
        End::Return { address, slot } => {
            out.push(2);
            put(out, address);
            put_option(out, slot, put);
        }
        End::Resume(places) => {
            out.push(3);
            places.iter().for_each(|place| put(out, *place));
        }
    }
}

fn token(from: &mut Section) -> Result<End, ChunkError> {
    Ok(match from.byte()? {
        0 => End::Never,
        1 => End::Exception,
        2 => End::Return { address: from.number()?, slot: from.option(Section::number)? },
        3 => End::Resume([from.number()?, from.number()?, from.number()?]),
        _ => return Err(ChunkError::Damaged("the end of an instance")),
    })
}

/// A cell of a saved register may be of nobody.
fn put_saved(out: &mut Vec<u8>, cell: &Cell) {
    put(out, cell.write);
    put(out, cell.call.number().into());
    put(out, cell.actor.into());
}

fn saved(from: &mut Section) -> Result<Cell, ChunkError> {
    let (write, call, actor) = (from.number()?, Packed::raw(from.id()?), from.id()?);
    if actor == Cell::SPLIT {
        return Err(ChunkError::Damaged("a writer"));
    }
    Ok(Cell { write, call, actor, reader: 0, pair: 0 })
}

fn put_store(out: &mut Vec<u8>, store: &Store) {
    let Store { call, register, address, access, read, actor, value, across, .. } = *store;
    put(out, call.get().into());
    put_span(out, register);
    for number in [address, access, read.into(), actor.get().into(), across] {
        put(out, number);
    }
    put_option(out, value, put);
    let flags = [store.framed, store.kept, store.inherited];
    out.push((0..).zip(flags).fold(0, |all, (bit, flag)| all | u8::from(flag) << bit));
}

fn store(from: &mut Section) -> Result<Store, ChunkError> {
    let (call, register) = (id(from, CallId::new)?, span(from)?);
    let (address, access, read) = (from.number()?, from.number()?, short(from)?);
    let (actor, across) = (id(from, ActorId::new)?, from.number()?);
    let (value, flags) = (from.option(Section::number)?, from.byte()?);
    let [framed, kept, inherited] = [1, 2, 4].map(|bit| flags & bit != 0);
    Ok(Store {
        call,
        register,
        address,
        access,
        read,
        actor,
        value,
        kept,
        framed,
        across,
        inherited,
    })
}

fn put_save(out: &mut Vec<u8>, save: &SaveState) {
    put_store(out, &save.store);
    put_list(out, &save.pieces, |out, (span, cell, pending)| {
        put_span(out, *span);
        put_saved(out, cell);
        put(out, *pending);
    });
    put(out, save.left.into());
}

fn save(from: &mut Section) -> Result<SaveState, ChunkError> {
    let store = store(from)?;
    let pieces = from.list(|from| Ok((span(from)?, saved(from)?, from.number()?)))?;
    Ok(SaveState { store, pieces, left: short(from)? })
}

fn put_instance(out: &mut Vec<u8>, frame: &FrameState) {
    put(out, frame.call.get().into());
    put(out, frame.function.get().into());
    put_token(out, frame.token);
    put_list(out, &frame.saves, put_save);
}

fn instance(from: &mut Section) -> Result<FrameState, ChunkError> {
    Ok(FrameState {
        call: id(from, CallId::new)?,
        function: id(from, FunctionId::new)?,
        token: token(from)?,
        saves: from.list(save)?,
    })
}

fn put_pair(out: &mut Vec<u8>, (low, high): (u64, u64)) {
    put(out, low);
    put(out, high);
}

fn pair(from: &mut Section) -> Result<(u64, u64), ChunkError> {
    Ok((from.number()?, from.number()?))
}

fn put_waiting(out: &mut Vec<u8>, of: &WaitingState) {
    put(out, of.thread.get().into());
    put_list(out, &of.frames, put_instance);
    put_pair(out, (of.left, of.base));
    put_option(out, of.elsewhere, put_pair);
}

fn waiting(from: &mut Section) -> Result<WaitingState, ChunkError> {
    let (thread, frames) = (id(from, ThreadId::new)?, from.list(instance)?);
    let (left, base) = pair(from)?;
    Ok(WaitingState { thread, frames, left, base, elsewhere: from.option(pair)? })
}

fn put_flags<const N: usize>(out: &mut Vec<u8>, flags: [bool; N]) {
    out.push(flags.iter().fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
}

/// As many as there are, the first in the highest bit.
fn flags<const N: usize>(from: &mut Section) -> Result<[bool; N], ChunkError> {
    let byte = from.byte()?;
    Ok(std::array::from_fn(|i| byte >> (N - 1 - i) & 1 != 0))
}

fn put_previous(out: &mut Vec<u8>, previous: Previous) {
    let Previous { last, slot, linked, links, called } = previous;
    put(out, last.address);
    put(out, last.next.wrapping_sub(last.address));
    put_one(out, &FLOWS, &last.kind);
    put_option(out, last.target, put);
    put(out, last.insn.get().into());
    put_option(out, last.slot, |out, slot| put(out, slot.into()));
    put_option(out, slot, put);
    put_flags(out, [last.conditional, last.repeats, last.executed, linked, links, called]);
}

fn previous(from: &mut Section) -> Result<Previous, ChunkError> {
    let (address, size) = (from.number()?, from.number()?);
    let (kind, target) = (one(from, &FLOWS)?, from.option(Section::number)?);
    let (insn, index) = (id(from, InstructionId::new)?, from.option(Section::id)?);
    let slot = from.option(Section::number)?;
    let [conditional, repeats, executed, linked, links, called] = flags(from)?;
    let next = address.wrapping_add(size);
    let last =
        Last { address, next, kind, target, conditional, repeats, executed, insn, slot: index };
    Ok(Previous { last, slot, linked, links, called })
}

fn put_kept(out: &mut Vec<u8>, kept: &Kept) {
    put(out, kept.word);
    put_span(out, kept.span);
    put_saved(out, &kept.cell);
    put(out, kept.pending);
}

fn kept(from: &mut Section) -> Result<Kept, ChunkError> {
    let (word, span) = (from.number()?, span(from)?);
    let (cell, pending) = (saved(from)?, from.number()?);
    Ok(Kept { word, span, cell, readers: Vec::new(), pending })
}

fn put_handler(out: &mut Vec<u8>, handler: Handler) {
    let (depth, call) = match handler {
        Handler::None => (0, 0),
        Handler::Next => (1, 0),
        Handler::Begun(depth, call) => (depth, call.get()),
    };
    put(out, call.into());
    put(out, depth as u64);
}

fn handler(from: &mut Section) -> Result<Handler, ChunkError> {
    let (call, depth) = (maybe(from, CallId::new)?, from.count()?);
    Ok(match (call, depth) {
        (Some(call), depth) => Handler::Begun(depth, call),
        (None, 0) => Handler::None,
        (None, _) => Handler::Next,
    })
}

fn put_interrupted(out: &mut Vec<u8>, of: &Interrupted) {
    put_option(out, of.previous, put_previous);
    put_handler(out, of.handler);
    put_option(out, of.resume, put);
    put_option(out, of.frame, put);
    put_list(out, &of.kept, put_kept);
    put(out, of.number);
    put(out, of.task);
    put_flags(out, [of.restored]);
    put_list(out, &of.saved, |out, (span, store)| {
        put_span(out, *span);
        put(out, *store);
    });
}

fn interrupted(from: &mut Section) -> Result<Interrupted, ChunkError> {
    let (previous, handler) = (from.option(previous)?, handler(from)?);
    let (resume, frame) = (from.option(Section::number)?, from.option(Section::number)?);
    let kept = from.list(kept)?;
    let (number, task, [restored]) = (from.number()?, from.number()?, flags(from)?);
    let saved = from.list(|from| Ok((span(from)?, from.number()?)))?;
    Ok(Interrupted { previous, handler, resume, frame, kept, number, task, restored, saved })
}

fn put_levels(out: &mut Vec<u8>, levels: &Levels<TaskState>) {
    put_list(out, &levels.open, put_interrupted);
    put_handler(out, levels.handler);
    put_option(out, levels.ended, |out, depth| put(out, depth as u64));
    put_option(out, levels.resumed.as_ref(), put_interrupted);
    put_option(out, levels.frame, put);
    put_flags(out, [levels.by_kernel]);
    put_list(out, &levels.waiting, |out, task| {
        put_list(out, &task.frames, put_instance);
        put_list(out, &task.open, put_interrupted);
        put_interrupted(out, &task.interrupted);
    });
    put_option(out, levels.taken_for.as_ref(), put_interrupted);
}

fn levels(from: &mut Section) -> Result<Levels<TaskState>, ChunkError> {
    let (open, handler) = (from.list(interrupted)?, handler(from)?);
    let (ended, resumed) = (from.option(Section::count)?, from.option(interrupted)?);
    let (frame, [by_kernel]) = (from.option(Section::number)?, flags(from)?);
    let waiting = from.list(|from| {
        let (frames, open) = (from.list(instance)?, from.list(interrupted)?);
        Ok(TaskState { frames, open, interrupted: interrupted(from)? })
    })?;
    let taken_for = from.option(interrupted)?;
    let irregular = 0;
    Ok(Levels { open, handler, ended, resumed, frame, by_kernel, waiting, taken_for, irregular })
}

fn put_left(out: &mut Vec<u8>, left: &Left) {
    put_store(out, &left.store);
    put_list(out, &left.kept, put_kept);
}

fn left(from: &mut Section) -> Result<Left, ChunkError> {
    Ok(Left { store: store(from)?, kept: from.list(kept)?, restores: 0, last_restore: None })
}

/// Of memory, from the last one on.
fn put_versions(out: &mut Vec<u8>, versions: &[Version]) {
    let (mut at, mut cells) = (0u64, Cells::default());
    put_list(out, versions, |out, (address, len, cell)| {
        put(out, address.wrapping_sub(at));
        put(out, *len);
        at = address.wrapping_add(*len);
        cells.put(out, cell);
    });
}

fn versions(from: &mut Section) -> Result<Vec<Version>, ChunkError> {
    let (mut at, mut cells) = (0u64, Cells::default());
    from.list(|from| {
        let (address, len) = (at.wrapping_add(from.number()?), from.number()?);
        at = address.wrapping_add(len);
        Ok((address, len, cells.next(from)?))
    })
}

fn put_thread(out: &mut Vec<u8>, thread: &ThreadState) {
    put_list(out, &thread.frames, put_instance);
    put(out, thread.interval.map_or(0, IntervalId::get).into());
    put_point(out, thread.last);
    put_option(out, thread.previous, put_previous);
    let mut cells = Cells::default();
    put_list(out, &thread.registers, |out, (span, cell)| {
        put_span(out, *span);
        cells.put(out, cell);
    });
    put_list(out, &thread.pending, |out, (span, store)| {
        put_span(out, *span);
        put(out, *store);
    });
    put_option(out, thread.running.moved, put_pair);
    put_list(out, &thread.running.above, |out, pair| put_pair(out, *pair));
    put_option(out, thread.running.base, put);
    put_option(out, thread.running.away, put);
    put_levels(out, &thread.levels);
    put_list(out, &thread.signals, |out, (number, kept)| {
        put(out, *number);
        put_list(out, kept, put_kept);
    });
}

fn thread(from: &mut Section) -> Result<ThreadState, ChunkError> {
    let frames = from.list(instance)?;
    let interval = maybe(from, IntervalId::new)?;
    let last = point(from)?;
    let previous = from.option(previous)?;
    let mut cells = Cells::default();
    let registers = from.list(|from| Ok((span(from)?, cells.next(from)?)))?;
    let pending = from.list(|from| Ok((span(from)?, from.number()?)))?;
    let (moved, above) = (from.option(pair)?, from.list(pair)?);
    let (base, away) = (from.option(Section::number)?, from.option(Section::number)?);
    let running = Running { moved, above, base, away, switches: 0 };
    let (levels, signals) =
        (levels(from)?, from.list(|from| Ok((from.number()?, from.list(kept)?)))?);
    Ok(ThreadState {
        frames,
        interval,
        last,
        previous,
        registers,
        pending,
        running,
        levels,
        signals,
    })
}

/// Packs the events of a chunk but for allocations, each with the last step before it.
///
/// # Errors
/// Where zstd fails.
pub fn pack_events(events: &[(u64, Event)]) -> std::io::Result<Vec<u8>> {
    let out = &mut Vec::new();
    put(out, VERSION);
    let mut last = 0u64;
    put_list(out, events, |out, (seq, event)| {
        put(out, seq.wrapping_sub(last));
        last = *seq;
        put_event(out, event);
    });
    frame::pack(out)
}

/// Unpacks them.
///
/// # Errors
/// Where they are damaged or of a later addfg.
pub fn unpack_events(data: &[u8]) -> Result<Vec<(u64, Event)>, ChunkError> {
    let bytes = frame::unpack(data)?;
    let from = &mut Section(&bytes);
    begin(from)?;
    let mut last = 0u64;
    from.list(|from| {
        last = last.wrapping_add(from.number()?);
        Ok((last, event(from)?))
    })
}

/// Packs a state.
///
/// # Errors
/// Where zstd fails.
pub fn pack_state(state: &State) -> std::io::Result<Vec<u8>> {
    let out = &mut Vec::new();
    put(out, VERSION);
    for number in [state.calls.into(), state.intervals.into(), state.kernel_writes] {
        put(out, number);
    }
    put_option(out, state.first_sp, put);
    put_list(out, &state.instances, |out, (function, n)| {
        put(out, function.get().into());
        put(out, (*n).into());
    });
    put_list(out, &state.owned, |out, (first, last, number)| {
        put(out, *first);
        put(out, last - first);
        put(out, (*number).into());
    });
    put_versions(out, &state.memory);
    put_list(out, &state.threads, put_thread);
    put_list(out, &state.waits, put_waiting);
    put(out, state.exceptions);
    put_list(out, &state.left, put_left);
    put_list(out, &state.forks, |out, fork| {
        put(out, fork.pid);
        put_versions(out, &fork.memory);
        put_option(out, fork.thread.as_ref(), put_forked);
    });
    put_option(out, state.begins.as_ref(), put_forked);
    frame::pack(out)
}

fn put_forked(out: &mut Vec<u8>, thread: &ForkedThread) {
    put_thread(out, thread);
}

fn forked(from: &mut Section) -> Result<ForkedThread, ChunkError> {
    Ok(Box::new(thread(from)?))
}

/// Unpacks a state.
///
/// # Errors
/// Where it is damaged or of a later addfg.
pub fn unpack_state(data: &[u8]) -> Result<State, ChunkError> {
    let bytes = frame::unpack(data)?;
    let from = &mut Section(&bytes);
    begin(from)?;
    let (calls, intervals, kernel_writes) = (from.id()?, from.id()?, from.number()?);
    let first_sp = from.option(Section::number)?;
    let instances = from.list(|from| Ok((id(from, FunctionId::new)?, from.id()?)))?;
    let owned = from.list(|from| {
        let (first, more) = (from.number()?, from.number()?);
        Ok((first, first.saturating_add(more), from.id()?))
    })?;
    let memory = versions(from)?;
    let (threads, waits) = (from.list(thread)?, from.list(waiting)?);
    let (exceptions, left) = (from.number()?, from.list(left)?);
    let forks = from.list(|from| {
        let (pid, memory) = (from.number()?, versions(from)?);
        Ok(Forked { pid, memory, thread: from.option(forked)? })
    })?;
    let begins = from.option(forked)?;
    Ok(State {
        calls,
        intervals,
        instances,
        kernel_writes,
        first_sp,
        owned,
        memory,
        threads,
        waits,
        exceptions,
        left,
        forks,
        begins,
    })
}

const ENDINGS: [Ending; 4] = [Ending::Return, Ending::Tail, Ending::Unwound, Ending::Open];

fn put_call(out: &mut Vec<u8>, (call, bytes_in): &(Call, u64)) {
    for number in [
        call.call.get(),
        call.function.get(),
        call.instance,
        call.parent.map_or(0, CallId::get),
        call.tail_of.map_or(0, CallId::get),
        call.thread.get(),
        call.depth,
        call.site.map_or(0, InstructionId::get),
    ] {
        put(out, number.into());
    }
    out.push(call.kind as u8);
    out.push(call.ending as u8);
    put_point(out, call.begin);
    put_point(out, call.end);
    for number in [call.steps_self, call.steps_total, *bytes_in] {
        put(out, number);
    }
}

fn call(from: &mut Section) -> Result<(Call, u64), ChunkError> {
    let damaged = ChunkError::Damaged("a call");
    let (call, function, instance) =
        (id(from, CallId::new)?, id(from, FunctionId::new)?, from.id()?);
    let (parent, tail_of) = (maybe(from, CallId::new)?, maybe(from, CallId::new)?);
    let (thread, depth) = (id(from, ThreadId::new)?, from.id()?);
    let site = maybe(from, InstructionId::new)?;
    let kind = CallKind::ALL.get(usize::from(from.byte()?)).copied();
    let ending = ENDINGS.get(usize::from(from.byte()?)).copied();
    let (Some(kind), Some(ending)) = (kind, ending) else { return Err(damaged) };
    let (begin, end) = (point(from)?, point(from)?);
    let (steps_self, steps_total) = (from.number()?, from.number()?);
    let row = Call {
        call,
        function,
        instance,
        parent,
        tail_of,
        thread,
        depth,
        kind,
        ending,
        begin,
        end,
        site,
        steps_self,
        steps_total,
    };
    Ok((row, from.number()?))
}

fn put_interval(out: &mut Vec<u8>, row: &Interval) {
    for number in [row.interval.get(), row.thread.get(), row.call.get(), row.function.get()] {
        put(out, number.into());
    }
    put_point(out, row.start);
    put_point(out, row.end);
}

fn interval(from: &mut Section) -> Result<Interval, ChunkError> {
    Ok(Interval {
        interval: id(from, IntervalId::new)?,
        thread: id(from, ThreadId::new)?,
        call: id(from, CallId::new)?,
        function: id(from, FunctionId::new)?,
        start: point(from)?,
        end: point(from)?,
    })
}

fn put_saved_register(out: &mut Vec<u8>, row: &SavedRegister) {
    put(out, row.call.get().into());
    put(out, row.save.seq.get());
    put(out, row.save.ordinal.into());
    put_span(out, row.register);
    put(out, row.address);
    put(out, row.restores.into());
    put(out, row.last_restore.map_or(0, Seq::get));
    put(out, row.exposed.map_or(0, Seq::get));
}

fn saved_register(from: &mut Section) -> Result<SavedRegister, ChunkError> {
    Ok(SavedRegister {
        call: id(from, CallId::new)?,
        save: AccessRef { seq: seq(from)?, ordinal: short(from)? },
        register: span(from)?,
        address: from.number()?,
        restores: from.id()?,
        last_restore: Seq::new(from.number()?),
        exposed: Seq::new(from.number()?),
    })
}

fn put_folded(out: &mut Vec<u8>, row: &FoldedCall) {
    let FoldedCall { call, function, into, into_function, steps_self } = *row;
    for number in [call.get(), function.get(), into.get(), into_function.get()] {
        put(out, number.into());
    }
    put(out, steps_self);
}

fn folded(from: &mut Section) -> Result<FoldedCall, ChunkError> {
    Ok(FoldedCall {
        call: id(from, CallId::new)?,
        function: id(from, FunctionId::new)?,
        into: id(from, CallId::new)?,
        into_function: id(from, FunctionId::new)?,
        steps_self: from.number()?,
    })
}

fn put_access(out: &mut Vec<u8>, access: AccessRef) {
    put(out, access.seq.get());
    put(out, access.ordinal.into());
}

fn access(from: &mut Section) -> Result<AccessRef, ChunkError> {
    Ok(AccessRef { seq: seq(from)?, ordinal: short(from)? })
}

fn put_late(out: &mut Vec<u8>, late: &Late) {
    let Late { row, reader, writer, is_local } = late;
    put_access(out, row.read);
    let write = match row.write {
        Origin::Step(write) => Some(write),
        Origin::Source(_) => None,
    };
    put_option(out, write, put_access);
    out.push(u8::from(row.is_register) << 1 | u8::from(*is_local));
    put(out, row.address);
    put(out, row.bytes.into());
    put(out, reader.get().into());
    put(out, writer.map_or(0, FunctionId::get).into());
}

fn late(from: &mut Section) -> Result<Late, ChunkError> {
    let (read, write) = (access(from)?, from.option(access)?);
    let flags = from.byte()?;
    // Rows do not tell sources apart.
    let source = Origin::Source(Source::Initial(StackSide::Below));
    let row = Communication {
        write: write.map_or(source, Origin::Step),
        read,
        is_register: flags & 2 != 0,
        address: from.number()?,
        bytes: from.id()?,
    };
    let (reader, writer) = (id(from, FunctionId::new)?, maybe(from, FunctionId::new)?);
    Ok(Late { row, reader, writer, is_local: flags & 1 != 0 })
}

impl Ended {
    /// Packs them.
    ///
    /// # Errors
    /// Where zstd fails.
    pub fn pack(&self) -> std::io::Result<Vec<u8>> {
        let out = &mut Vec::new();
        put(out, VERSION);
        put_list(out, &self.calls, put_call);
        put_list(out, &self.intervals, put_interval);
        put_list(out, &self.saves, put_saved_register);
        put_list(out, &self.folded, put_folded);
        put_list(out, &self.late, put_late);
        frame::pack(out)
    }

    /// Unpacks them.
    ///
    /// # Errors
    /// Where they are damaged or of a later addfg.
    pub fn unpack(data: &[u8]) -> Result<Ended, ChunkError> {
        let bytes = frame::unpack(data)?;
        let from = &mut Section(&bytes);
        begin(from)?;
        Ok(Ended {
            calls: from.list(call)?,
            intervals: from.list(interval)?,
            saves: from.list(saved_register)?,
            folded: from.list(folded)?,
            late: from.list(late)?,
        })
    }
}

fn put_functions(out: &mut Vec<u8>, functions: &[FunctionId]) {
    let mut last = 0;
    put_list(out, functions, |out, function| {
        put(out, u64::from(function.get()) - last);
        last = function.get().into();
    });
}

fn functions(from: &mut Section) -> Result<Vec<FunctionId>, ChunkError> {
    let mut last = 0u32;
    from.list(|from| {
        last = last.saturating_add(from.id()?);
        FunctionId::new(last).ok_or(ChunkError::Damaged("a function is 0"))
    })
}

impl Meets {
    /// Packs it. Functions are in order.
    ///
    /// # Errors
    /// Where zstd fails.
    pub fn pack(&self) -> std::io::Result<Vec<u8>> {
        let out = &mut Vec::new();
        put(out, VERSION);
        put_functions(out, &self.runs);
        put_functions(out, &self.reads);
        for number in [self.calls, self.mapped, self.processes] {
            put(out, number.into());
        }
        let mut last = (0u64, 0u64);
        put_list(out, &self.allocated, |out, (seq, address, bytes)| {
            put(out, seq.wrapping_sub(last.0));
            put(out, zigzag(address.wrapping_sub(last.1)));
            put(out, *bytes);
            last = (*seq, *address);
        });
        frame::pack(out)
    }

    /// Unpacks it.
    ///
    /// # Errors
    /// Where it is damaged or of a later addfg.
    pub fn unpack(data: &[u8]) -> Result<Meets, ChunkError> {
        let bytes = frame::unpack(data)?;
        let from = &mut Section(&bytes);
        begin(from)?;
        let (runs, reads) = (functions(from)?, functions(from)?);
        let calls = from.id()?;
        let (mapped, processes) = (from.id()?, from.id()?);
        let mut last = (0u64, 0u64);
        let allocated = from.list(|from| {
            last.0 = last.0.wrapping_add(from.number()?);
            last.1 = last.1.wrapping_add(unzigzag(from.number()?));
            Ok((last.0, last.1, from.number()?))
        })?;
        Ok(Meets { runs, reads, calls, mapped, processes, allocated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::FlowKind;

    fn cell(write: u64) -> Cell {
        Cell { write, call: Packed::step(CallId::FIRST), actor: 1, reader: 0, pair: 0 }
    }

    fn store_at(address: u64) -> Store {
        Store {
            call: CallId::FIRST,
            register: RegSpan { offset: 8, size: 8 },
            address,
            access: 1 << 16,
            read: 2,
            actor: ActorId::FIRST,
            value: Some(address),
            kept: true,
            framed: false,
            across: 3,
            inherited: true,
        }
    }

    fn step(address: u64) -> Previous {
        let last = Last {
            address,
            next: address + 4,
            kind: FlowKind::ExceptionReturn,
            target: Some(0x80),
            conditional: true,
            repeats: false,
            executed: true,
            insn: InstructionId::FIRST,
            slot: Some(1),
        };
        Previous { last, slot: None, linked: false, links: true, called: false }
    }

    fn interrupted_at(address: u64, handler: Handler) -> Interrupted {
        let kept = [cell(7), Cell::EMPTY].map(|cell| Kept {
            word: 5,
            span: RegSpan { offset: 16, size: 4 },
            cell,
            readers: Vec::new(),
            pending: 9,
        });
        Interrupted {
            previous: Some(step(address)),
            handler,
            resume: Some(address + 4),
            frame: Some(0x7000),
            kept: kept.into(),
            number: 4,
            task: 5,
            restored: true,
            saved: vec![(RegSpan { offset: 0, size: 2 }, 6)],
        }
    }

    /// What is packed is what comes out, and a part of it is damaged.
    #[test]
    fn a_state_comes_out_as_it_was_packed() {
        let save = SaveState {
            store: store_at(0x6000),
            pieces: vec![(RegSpan { offset: 8, size: 4 }, cell(3), 0)],
            left: 4,
        };
        let frame = FrameState {
            call: CallId::FIRST,
            function: FunctionId::FIRST,
            token: End::Resume([1, 2, 3]),
            saves: vec![save],
        };
        let kept = interrupted_at(0, Handler::None).kept;
        let (open, begun) =
            (interrupted_at(0x100, Handler::Next), Handler::Begun(0, CallId::FIRST));
        let task = TaskState {
            frames: vec![frame.clone()],
            open: vec![open.clone()],
            interrupted: interrupted_at(0x200, begun),
        };
        let levels = Levels {
            open: vec![open, Interrupted::default()],
            handler: begun,
            ended: Some(2),
            resumed: Some(interrupted_at(0x300, Handler::None)),
            frame: Some(0x7100),
            by_kernel: true,
            waiting: vec![task],
            taken_for: Some(Interrupted::default()),
            irregular: 0,
        };
        let thread = ThreadState {
            frames: vec![frame],
            previous: Some(step(0x400)),
            registers: vec![(RegSpan { offset: 0, size: 8 }, cell(2))],
            pending: vec![(RegSpan { offset: 0, size: 8 }, 8)],
            levels,
            signals: vec![(12, kept.clone()), (13, Vec::new())],
            ..ThreadState::default()
        };
        let versions = vec![(0x1000, 8, cell(1)), (0x2000, 4, cell(5))];
        let forked = |pid, memory, thread: Option<ThreadState>| Forked {
            pid,
            memory,
            thread: thread.map(Box::new),
        };
        let state = State {
            calls: 9,
            memory: versions.clone(),
            exceptions: 11,
            left: vec![Left { store: store_at(0x5000), kept, restores: 0, last_restore: None }],
            forks: vec![forked(77, versions, Some(thread.clone())), forked(78, Vec::new(), None)],
            threads: vec![thread.clone(), ThreadState::default()],
            begins: Some(Box::new(thread)),
            ..State::default()
        };
        let packed = pack_state(&state).expect("packed");
        assert_eq!(unpack_state(&packed).expect("unpacked"), state);
        let bytes = frame::unpack(&packed).expect("a frame");
        for end in 0..bytes.len() {
            let part = frame::pack(&bytes[..end]).expect("packed");
            assert!(unpack_state(&part).is_err(), "of {end} bytes");
        }
    }
}
