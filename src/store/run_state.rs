//! States of the pass at the beginnings of chunks (`run_state`), with what else a question wants to
//! know of a chunk before it goes through it.
//!
//! Each part is a zstd frame with a checksum; all numbers are LEB128.

use super::frame;
use super::numbers::{ChunkError, Section, put, put_list, put_option, unzigzag, zigzag};
use super::pieces;
use super::run_events::{event, put_event};
use super::source;
use super::tables::RunState;
use crate::analysis::origin::{Origin, Packed};
use crate::analysis::saves::Store;
use crate::analysis::shadow::Cell;
use crate::analysis::stack::{Call, CallKind, Ending, Interval, Point};
use crate::analysis::stacks::Running;
use crate::analysis::state::{Before, FrameState, SaveState, State, ThreadState, WaitingState};
use crate::analysis::transfer::End;
use crate::analysis::{Communication, FoldedCall, Late, SavedRegister, Source, StackSide};
use crate::event::{Event, RegSpan};
use crate::id::{AccessRef, ActorId, CallId, FunctionId, InstructionId, IntervalId, Seq, ThreadId};

/// Changes whenever it reads differently.
const VERSION: u64 = 3;

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

fn put_save(out: &mut Vec<u8>, save: &SaveState) {
    let Store { call, register, address, access, read, actor, value, kept, framed, across } =
        save.store;
    put(out, call.get().into());
    put_span(out, register);
    for number in [address, access, read.into(), actor.get().into(), across] {
        put(out, number);
    }
    put_option(out, value, put);
    out.push(u8::from(kept) << 1 | u8::from(framed));
    put_list(out, &save.pieces, |out, (span, cell, pending)| {
        put_span(out, *span);
        put_saved(out, cell);
        put(out, *pending);
    });
    put(out, save.left.into());
}

fn save(from: &mut Section) -> Result<SaveState, ChunkError> {
    let (call, register) = (id(from, CallId::new)?, span(from)?);
    let (address, access, read) = (from.number()?, from.number()?, short(from)?);
    let (actor, across) = (id(from, ActorId::new)?, from.number()?);
    let (value, flags) = (from.option(Section::number)?, from.byte()?);
    let (kept, framed) = (flags & 2 != 0, flags & 1 != 0);
    let store = Store { call, register, address, access, read, actor, value, kept, framed, across };
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

fn put_thread(out: &mut Vec<u8>, thread: &ThreadState) {
    put_list(out, &thread.frames, put_instance);
    put(out, thread.interval.map_or(0, IntervalId::get).into());
    put_point(out, thread.last);
    put_option(out, thread.previous, |out, before| {
        put(out, before.block.into());
        put_option(out, before.slot, put);
        let flag = |is: bool, bit: u8| u8::from(is) << bit;
        out.push(flag(before.called, 2) | flag(before.linked, 1) | flag(before.links, 0));
    });
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
}

fn thread(from: &mut Section) -> Result<ThreadState, ChunkError> {
    let frames = from.list(instance)?;
    let interval = maybe(from, IntervalId::new)?;
    let last = point(from)?;
    let previous = from.option(|from| {
        let (block, slot) = (from.id()?, from.option(Section::number)?);
        let flags = from.byte()?;
        let flag = |bit: u8| flags >> bit & 1 != 0;
        Ok(Before { block, slot, linked: flag(1), links: flag(0), called: flag(2) })
    })?;
    let mut cells = Cells::default();
    let registers = from.list(|from| Ok((span(from)?, cells.next(from)?)))?;
    let pending = from.list(|from| Ok((span(from)?, from.number()?)))?;
    let (moved, above) = (from.option(pair)?, from.list(pair)?);
    let (base, away) = (from.option(Section::number)?, from.option(Section::number)?);
    let running = Running { moved, above, base, away, switches: 0 };
    Ok(ThreadState { frames, interval, last, previous, registers, pending, running })
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
    let (mut at, mut cells) = (0u64, Cells::default());
    put_list(out, &state.memory, |out, (address, len, cell)| {
        put(out, address.wrapping_sub(at));
        put(out, *len);
        at = address.wrapping_add(*len);
        cells.put(out, cell);
    });
    put_list(out, &state.threads, put_thread);
    put_list(out, &state.waits, put_waiting);
    frame::pack(out)
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
    let (mut at, mut cells) = (0u64, Cells::default());
    let memory = from.list(|from| {
        let (address, len) = (at.wrapping_add(from.number()?), from.number()?);
        at = address.wrapping_add(len);
        Ok((address, len, cells.next(from)?))
    })?;
    let (threads, waits) = (from.list(thread)?, from.list(waiting)?);
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
    })
}

const KINDS: [CallKind; 6] = [
    CallKind::Call,
    CallKind::Tail,
    CallKind::Signal,
    CallKind::Root,
    CallKind::Stub,
    CallKind::Gap,
];
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
    let kind = KINDS.get(usize::from(from.byte()?)).copied();
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
