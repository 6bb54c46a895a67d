//! Rows of some chunks of a packed run: each chunk is gone through alone, from the state that the pass
//! has there, on as many processors as there are. What began before a chunk and ends in it or later is
//! known beside (`run_state.ended`).

use super::alone::{Chunk, Goes, resume, steps_before};
use super::crossings::Crosser;
use super::error::BuildError;
use super::events::EventRows;
use super::glance::{Calls, Crossings, Whose};
use super::handed::Finder;
use super::history::{GoingOn, Historian, History};
use super::options::Detail;
use super::packed::{self, LowRows, PART, Run, Wanted, one_chunk};
use super::pass::Send;
use super::rows::{Begun, Ends, PassRows};
use super::runs::RunRows;
use super::states;
use super::unpacked::Replayed;
use crate::analysis::access::Insn;
use crate::analysis::state::{FrameState, State};
use crate::analysis::{Handed, Interval, Late, Output, pass::Pass};
use crate::event::RunBatch;
use crate::id::{CallId, FunctionId, Seq, ThreadId};
use crate::isa::decoded::FlowKind;
use crate::store::chunk::{ChunkError, Runs};
use crate::store::pieces;
use crate::store::processes::Processes;
use crate::store::run_code::RunCode;
use crate::store::run_state::{Ended, Meets, Part, unpack_state};
use crate::store::source::{self, Cells, Kind, Source};
use crate::store::table::{Batch, Destination, Tables, fill};
use crate::store::tables::Allocation;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// The chunks of a run, and of which of them there are temporary rows.
pub struct Parts {
    of: Packed,
    /// See [`followers`]; found when a question about a set asks.
    followers: OnceCell<BTreeMap<FunctionId, BTreeSet<FunctionId>>>,
    made: RefCell<BTreeSet<usize>>,
    /// Of which there are runs only.
    with_runs: RefCell<BTreeSet<usize>>,
    /// Goes through chunks that are asked for one by one.
    worker: RefCell<Option<Worker<'static>>>,
    /// Workers so far.
    workers: AtomicUsize,
}

/// As many numbers of kinds are apart that a worker gives: no question has so many workers.
const APART: u32 = 1 << 16;

/// A run of which each chunk has a state.
pub(super) struct Packed {
    pub chunks: Vec<Chunk>,
    pub run: Run,
    /// Of each instruction.
    pub functions: Vec<FunctionId>,
    /// Of each chunk what ends in it and began before; of what is alive at the end of the run, the last.
    pub ended: Vec<Ended>,
}

impl Packed {
    /// None: some chunks have none that this addfg reads.
    pub fn read(source: &dyn Source) -> Result<Option<Packed>, BuildError> {
        let sql = "SELECT first_seq, last_seq, EXISTS (FROM run_state s WHERE s.first_seq = c.first_seq AND part = 'state')
                   FROM run_chunk c ORDER BY first_seq";
        let found = source::all(source, sql, &[Kind::UBigInt, Kind::UBigInt, Kind::Boolean])?;
        let mut columns = found.columns.into_iter().map(|column| column.cells);
        let (
            Some(Cells::UBigInt(firsts)),
            Some(Cells::UBigInt(lasts)),
            Some(Cells::Boolean(alone)),
        ) = (columns.next(), columns.next(), columns.next())
        else {
            return Ok(None);
        };
        let mut chunks = Vec::new();
        let mut all = Part::Meets.all(source)?.into_iter();
        for ((first, last), alone) in firsts.into_iter().zip(lasts).zip(alone) {
            let Some((_, meets)) = all.find(|(of, _)| alone && *of == first) else {
                return Ok(None);
            };
            let meets = match Meets::unpack(&meets) {
                // Another addfg made them: they are as good as none.
                Err(ChunkError::Version(_)) => return Ok(None),
                found => found.map_err(|source| BuildError::Chunk { first, source })?,
            };
            chunks.push(Chunk { first, last, meets });
        }
        let run = Run::read(source)?;
        let functions = run.code.insns.iter().map(|insn| insn.function).collect();
        let mut ended = Vec::new();
        for (first, data) in Part::Ended.all(source)? {
            ended.push(Ended::unpack(&data).map_err(|source| BuildError::Chunk { first, source })?);
        }
        Ok(Some(Packed { chunks, run, functions, ended }))
    }
}

/// Rows of what began in one chunk and ended in another one.
pub(super) fn begun(ended: &[Ended], code: &RunCode, wanted: &Wanted) -> Vec<Batch> {
    let batches = Sunk::default();
    let mut output = PassRows::new(sink(&batches), 0..=u64::MAX).number_kinds(1, APART);
    let (rows, local) = (wanted.detail >= Detail::Pairs, wanted.detail == Detail::Full);
    let ends = wanted.ends.clone().map(|ends| ends.with_stubs(code));
    let is_wanted = |late: &Late| {
        let has_ends = |ends: &Ends| ends.have(late.reader, late.writer);
        rows && (local || !late.is_local) && ends.as_ref().is_none_or(has_ends)
    };
    for Ended { calls, intervals, saves, folded, late } in ended {
        let late = late.iter().filter(|late| is_wanted(late));
        late.for_each(|late| output.communication(late.row));
        calls.iter().for_each(|(row, bytes_in)| output.call(*row, Some(*bytes_in)));
        intervals.iter().for_each(|row| output.interval(*row));
        saves.iter().for_each(|row| output.saved_register(*row));
        folded.iter().for_each(|row| output.folded_call(*row));
    }
    output.finish();
    batches.take()
}

impl Parts {
    /// The chunks of a run, if each has a state and its rows are not there.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn open(connection: &Connection, wanted: &Wanted) -> Result<Option<Parts>, BuildError> {
        let Some(parts) = Parts::without_rows(connection, wanted)? else { return Ok(None) };
        parts.add_begun(connection, wanted)?;
        Ok(Some(parts))
    }

    /// The same with the rows of events only, for [`Parts::crossings`].
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn without_rows(
        connection: &Connection,
        wanted: &Wanted,
    ) -> Result<Option<Parts>, BuildError> {
        if !packed::lacks(connection, wanted)? || !wanted.inside.is_empty() {
            return Ok(None);
        }
        match Packed::read(connection)? {
            Some(of) => Parts::begin(connection, of, wanted).map(Some),
            None => Ok(None),
        }
    }

    fn begin(connection: &Connection, of: Packed, wanted: &Wanted) -> Result<Parts, BuildError> {
        packed::begin_temporary(connection, wanted.detail, PART)?;
        add_events(connection)?;
        Ok(Parts {
            of,
            followers: OnceCell::new(),
            made: RefCell::default(),
            with_runs: RefCell::default(),
            worker: RefCell::default(),
            // The first is who gives what is known from the start.
            workers: AtomicUsize::new(1),
        })
    }

    /// Adds the rows of what began in one chunk and ended in another one.
    fn add_begun(&self, connection: &Connection, wanted: &Wanted) -> Result<(), BuildError> {
        append(connection, begun(&self.of.ended, &self.of.run.code, wanted))
    }

    pub fn chunks(&self) -> &[Chunk] {
        &self.of.chunks
    }

    /// Places of the chunks that have some of these steps.
    pub fn of_steps(&self, first: u64, last: u64) -> Range<usize> {
        let from = self.of.chunks.partition_point(|chunk| chunk.last < first);
        from..self.of.chunks.partition_point(|chunk| chunk.first <= last).max(from)
    }

    /// Place of the chunk in which a call begins.
    pub fn of_call(&self, call: CallId) -> usize {
        self.of.chunks.partition_point(|chunk| chunk.meets.calls < call.get()).saturating_sub(1)
    }

    /// Place of the chunk in which a call begins that ends in the same one, by its number among those of its
    /// function, from 1.
    ///
    /// # Errors
    /// Where a state is damaged.
    pub fn of_instance(
        &self,
        connection: &Connection,
        function: FunctionId,
        number: u32,
    ) -> Result<Option<usize>, BuildError> {
        let runs = |at: &usize| self.of.chunks[*at].meets.runs.contains(&function);
        let all: Vec<usize> = (0..self.of.chunks.len()).filter(runs).collect();
        // States tell how many there were before, of the functions that run next.
        let (mut low, mut high) = (0, all.len());
        while low < high {
            let middle = low.midpoint(high);
            let state = self.unpacked_state(connection, all[middle])?;
            let before = state.instances.iter().find(|(of, _)| *of == function);
            if before.map_or(0, |(_, so_far)| *so_far) < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1).map(|at| all[at]))
    }

    /// Sees to it that there are the rows of some chunks. Gives whether some were not there.
    ///
    /// # Errors
    /// Where a chunk or its state is damaged.
    pub fn ensure(
        &self,
        connection: &Connection,
        wanted: &Wanted,
        chunks: impl IntoIterator<Item = usize>,
    ) -> Result<bool, BuildError> {
        let mut made = self.made.borrow_mut();
        let new: Vec<usize> = chunks.into_iter().filter(|at| made.insert(*at)).collect();
        if new.is_empty() {
            return Ok(false);
        }
        if workers(&new) < 2 {
            let mut worker = self.worker.borrow_mut();
            for at in new {
                let worker = match &mut *worker {
                    Some(worker) => worker,
                    none => none.insert(self.worker(wanted)),
                };
                let state = self.state(connection, at)?;
                let chunk = &self.of.chunks[at];
                let runs = one_chunk(connection, chunk.first)?;
                let rows = worker.chunk(chunk, &state, runs, &self.of.functions)?;
                append(connection, rows)?;
            }
            return Ok(true);
        }
        let run = &self.of.run;
        let new_worker = |number| Worker::new(run, wanted, number);
        self.each(connection, &new, new_worker, |_, rows| append(connection, rows))?;
        Ok(true)
    }

    /// Places of the chunks in which a set of functions runs, or what it wrote is read. `stubs`: those that
    /// it may call, which count as it while it waits for them.
    ///
    /// # Errors
    /// Where a state is damaged.
    pub fn of_set(
        &self,
        connection: &Connection,
        set: &BTreeSet<FunctionId>,
        stubs: &BTreeSet<FunctionId>,
    ) -> Result<Vec<usize>, BuildError> {
        let has_end = |list: &[FunctionId]| has(list, set) || has(list, stubs);
        let (mut found, mut may_wait) = (Vec::new(), false);
        for (at, Chunk { meets, .. }) in self.of.chunks.iter().enumerate() {
            let mut wanted = has(&meets.runs, set) || has_end(&meets.reads);
            let mut waits = false;
            if may_wait && !wanted {
                let state = self.unpacked_state(connection, at)?;
                let is_stub = |frame: &FrameState| stubs.contains(&frame.function);
                waits = state.stacks().any(|frames| {
                    let last = frames.last();
                    last.is_some_and(|frame| set.contains(&frame.function))
                        || frames.iter().any(is_stub)
                });
                // A stub that it called goes on, or begins.
                wanted = waits && has(&meets.runs, stubs);
            }
            if wanted {
                found.push(at);
            }
            may_wait = wanted || waits;
        }
        Ok(found)
    }

    /// Places of the chunks in which a set of functions runs or waits for what it called, as ranges: at the
    /// ends of each none of the set is open.
    ///
    /// # Errors
    /// Where a state is damaged.
    pub fn around(
        &self,
        connection: &Connection,
        set: &BTreeSet<FunctionId>,
    ) -> Result<Vec<Range<usize>>, BuildError> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for (at, Chunk { meets, .. }) in self.of.chunks.iter().enumerate() {
            let (runs, before) = (has(&meets.runs, set), found.last_mut().filter(|r| r.end == at));
            match before {
                Some(before) => {
                    let waits = || -> Result<bool, BuildError> {
                        let state = self.unpacked_state(connection, at)?;
                        Ok(state.frames().any(|frame| set.contains(&frame.function)))
                    };
                    if runs || waits()? {
                        before.end += 1;
                    }
                }
                None if runs => found.push(at..at + 1),
                None => {}
            }
        }
        Ok(found)
    }

    /// Places of the chunks in which some functions may read what others wrote.
    pub fn of_ends(
        &self,
        writers: &BTreeSet<FunctionId>,
        readers: &BTreeSet<FunctionId>,
    ) -> Vec<usize> {
        of_ends(&self.of.chunks, &self.of.run.code, writers, readers)
    }

    /// Sees to it that there are the runs of some chunks in which a function that is wanted runs.
    ///
    /// # Errors
    /// Where a chunk is damaged.
    pub fn ensure_runs(
        &self,
        connection: &Connection,
        wanted: &Wanted,
        chunks: impl IntoIterator<Item = usize>,
    ) -> Result<(), BuildError> {
        let (mut with_runs, made) = (self.with_runs.borrow_mut(), self.made.borrow());
        let mut worker = self.worker.borrow_mut();
        for at in chunks {
            if made.contains(&at) || !with_runs.insert(at) {
                continue;
            }
            let worker = match &mut *worker {
                Some(worker) => worker,
                none => none.insert(self.worker(wanted)),
            };
            append(connection, worker.runs(connection, &self.of.chunks[at])?)?;
        }
        Ok(())
    }

    /// Adds what was allocated last before each of some steps and has the byte that it reads; gives the
    /// steps behind which that was.
    ///
    /// # Errors
    /// Where rows cannot be added.
    pub fn ensure_allocations(
        &self,
        connection: &Connection,
        reads: &[(u64, u64)],
    ) -> Result<BTreeSet<u64>, BuildError> {
        let addresses: BTreeSet<u64> = reads.iter().map(|(_, address)| *address).collect();
        let has_some = |&&(_, address, bytes): &&(u64, u64, u64)| {
            addresses.range(address..address.saturating_add(bytes)).next().is_some()
        };
        let all = self.of.chunks.iter().flat_map(|chunk| &chunk.meets.allocated);
        let all: Vec<(u64, u64, u64)> = all.filter(has_some).copied().collect();
        let mut found = BTreeSet::new();
        let processes = Processes::read(connection)?;
        for &(seq, at) in reads {
            let before = all.partition_point(|(allocated, ..)| *allocated < seq);
            let has = |(_, address, bytes): &&(u64, u64, u64)| at.wrapping_sub(*address) < *bytes;
            let of = |(allocated, ..): &&(u64, u64, u64)| processes.of(*allocated);
            let mut last = all[..before].iter().rev().filter(has);
            let own = processes.of(seq);
            let parents = |a: &&(u64, u64, u64)| processes.are_alike(of(a), own);
            let last_own = last.clone().find(|a| of(a) == own);
            found.extend(last_own.or_else(|| last.find(parents)));
        }
        let rows = found.iter().map(|&(seq, address, bytes)| Allocation {
            seq: Seq::new(seq),
            thread_id: ThreadId::FIRST,
            kind: "allocate",
            address,
            bytes: Some(bytes),
        });
        fill(Destination::temporary(connection), rows)?;
        Ok(found.into_iter().map(|(seq, ..)| seq).collect())
    }

    fn worker<'a>(&self, wanted: &Wanted) -> Worker<'a> {
        Worker::new(&self.of.run, wanted, self.workers.fetch_add(1, Ordering::Relaxed))
    }

    fn state(&self, connection: &Connection, at: usize) -> Result<Vec<u8>, BuildError> {
        Ok(Part::State.of(connection, self.of.chunks[at].first)?)
    }

    fn unpacked_state(&self, connection: &Connection, at: usize) -> Result<State, BuildError> {
        let state = unpack_state(&self.state(connection, at)?);
        state.map_err(|source| BuildError::Chunk { first: self.of.chunks[at].first, source })
    }

    /// Of each chunk, what ends in it and began before; of the last one with what is alive at the end of the
    /// run.
    pub fn ended(&self) -> &[Ended] {
        &self.of.ended
    }

    pub fn threads(&self) -> usize {
        self.of.run.threads
    }

    /// The chunks in which code of some functions runs.
    pub fn runs_of(&self, set: &BTreeSet<FunctionId>) -> impl Iterator<Item = &Chunk> {
        self.of.chunks.iter().filter(|chunk| has(&chunk.meets.runs, set))
    }

    /// Whether code of some functions runs in a chunk.
    pub fn runs(&self, at: usize, set: &BTreeSet<FunctionId>) -> bool {
        has(&self.of.chunks[at].meets.runs, set)
    }

    fn followers(&self) -> &BTreeMap<FunctionId, BTreeSet<FunctionId>> {
        self.followers.get_or_init(|| followers(&self.of.run.code.insns))
    }

    /// A set of functions with those whose code may run in calls of them.
    pub fn with_what_follows(&self, set: &BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
        let followers = self.followers();
        let (mut all, mut new) = (set.clone(), set.iter().copied().collect::<Vec<_>>());
        while let Some(function) = new.pop() {
            let next = followers.get(&function).into_iter().flatten();
            new.extend(next.filter(|next| all.insert(**next)));
        }
        all
    }

    /// What calls of some functions, and of `stubs` that these call, exchange in some chunks, which are given
    /// in their order.
    ///
    /// # Errors
    /// Where a chunk or its state is damaged, and those of `take`.
    pub fn crossings<E: From<BuildError>>(
        &self,
        connection: &Connection,
        (set, stubs): (&BTreeSet<FunctionId>, &BTreeSet<FunctionId>),
        chunks: &[usize],
        take: impl FnMut(usize, Crossings) -> Result<(), E>,
    ) -> Result<(), E> {
        let list = |is_in: &dyn Fn(&FunctionId) -> bool| -> Vec<bool> {
            (0..self.of.run.code.functions.len()).map(|i| is_in(&FunctionId::at(i))).collect()
        };
        let code = self.with_what_follows(set);
        let entered: BTreeSet<FunctionId> = self.followers().values().flatten().copied().collect();
        let whose = Whose {
            of: list(&|f| set.contains(f) || stubs.contains(f)),
            is_stub: list(&|f| stubs.contains(f)),
            with_what_follows: list(&|f| code.contains(f)),
            is_entered: list(&|f| entered.contains(f)),
        };
        let going_on = self.of.ended.iter().flat_map(|ended| &ended.intervals).copied();
        let mut going_on: Vec<Interval> = going_on.collect();
        going_on.sort_by_key(|interval| interval.start.seq);
        let (run, whose, going_on) = (&self.of.run, &whose, &going_on[..]);
        self.each(connection, chunks, |_| Crosser::new(run, whose, going_on), take)
    }

    /// What happened in some chunks, which are given in their order. `reads`: what was read while instances of
    /// these functions were alive is wanted; who wrote it is known if that was after the first of them began.
    ///
    /// # Errors
    /// Where a chunk or its state is damaged, and those of `take`.
    pub fn histories<E: From<BuildError>>(
        &self,
        connection: &Connection,
        reads: Option<&BTreeSet<FunctionId>>,
        chunks: &[usize],
        take: impl FnMut(usize, History) -> Result<(), E>,
    ) -> Result<(), E> {
        let Packed { chunks: all, run, ended, .. } = &self.of;
        let intervals = ended.iter().flat_map(|ended| &ended.intervals);
        let going_on = &GoingOn::new(all, intervals, ended.iter().flat_map(|ended| &ended.late));
        self.each(connection, chunks, |_| Historian::new((run, all), going_on, reads), take)
    }

    /// What becomes of registers beside the steps of some chunks, which are given in their order.
    ///
    /// # Errors
    /// Where a chunk or its state is damaged.
    pub fn handed(
        &self,
        connection: &Connection,
        chunks: &[usize],
        mut take: impl FnMut(usize, Vec<Handed>),
    ) -> Result<(), BuildError> {
        let run = &self.of.run;
        self.each(
            connection,
            chunks,
            |_| Finder::new(run),
            |at, made| {
                take(at, made);
                Ok(())
            },
        )
    }

    /// The calls that begin and end in some chunks.
    ///
    /// # Errors
    /// Where a chunk or its state is damaged.
    pub fn calls(
        &self,
        connection: &Connection,
        chunks: &[usize],
    ) -> Result<Vec<(usize, Calls)>, BuildError> {
        let (run, whose) = (&self.of.run, &Whose::nobody(self.of.run.code.functions.len()));
        let mut found = Vec::new();
        self.each(
            connection,
            chunks,
            |_| Crosser::new(run, whose, &[]),
            |at, made| {
                found.push((at, made.calls));
                Ok::<_, BuildError>(())
            },
        )?;
        Ok(found)
    }

    /// Goes through some chunks, each alone, on as many processors as there are, and gives what comes of
    /// each in their order. `new` makes what goes through them; each has a number of its own.
    fn each<W: Goes, E: From<BuildError>>(
        &self,
        connection: &Connection,
        chunks: &[usize],
        new: impl Fn(usize) -> W + Sync,
        mut take: impl FnMut(usize, W::Made) -> Result<(), E>,
    ) -> Result<(), E> {
        let workers = workers(chunks).max(1);
        let (next, groups) = (AtomicUsize::new(0), groups(chunks));
        let (sender, receiver) = mpsc::sync_channel(2 * workers);
        let all = (0..workers).map(|_| connection.try_clone().map(Mutex::new));
        let connections = all.collect::<duckdb::Result<Vec<_>>>().map_err(BuildError::from)?;
        let number = self.workers.fetch_add(workers, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for (i, connection) in connections.into_iter().enumerate() {
                let (sender, next, groups, new) = (sender.clone(), &next, &groups, &new);
                let (list, functions) = (&self.of.chunks, &self.of.functions);
                scope.spawn(move || {
                    let mut worker = new(number + i);
                    let Ok(connection) = connection.into_inner() else { return };
                    while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let of = firsts(list, &chunks[group.clone()]);
                        let data = pieces::chunks(&connection, &of);
                        let states = Part::State.of_chunks(&connection, &of);
                        let (data, states) = match data.and_then(|data| Ok((data, states?))) {
                            Ok(found) => found,
                            Err(error) => {
                                let _ = sender.send((group.start, Err(error.into())));
                                return;
                            }
                        };
                        let data = data.into_iter().zip(states);
                        for (at, ((first, data), state)) in group.clone().zip(data) {
                            let made = packed::unpacked(first, &data).and_then(|runs| {
                                worker.chunk(&list[chunks[at]], &state, runs, functions)
                            });
                            let failed = made.is_err();
                            if sender.send((at, made)).is_err() || failed {
                                return;
                            }
                        }
                    }
                });
            }
            drop(sender);
            // In the order of the chunks, whoever is done first.
            let (mut waiting, mut expected) = (BTreeMap::new(), 0);
            for (at, made) in receiver {
                waiting.insert(at, made?);
                while let Some(made) = waiting.remove(&expected) {
                    take(chunks[expected], made)?;
                    expected += 1;
                    packed::tell(expected as u64, chunks.len() as u64);
                }
            }
            Ok(())
        })
    }
}

/// Places of the chunks in which some functions may read what others wrote.
pub(super) fn of_ends(
    chunks: &[Chunk],
    code: &RunCode,
    writers: &BTreeSet<FunctionId>,
    readers: &BTreeSet<FunctionId>,
) -> Vec<usize> {
    let outside = writers.iter().any(|f| f.index() >= code.functions.len());
    let may = |meets: &Meets| {
        has(&meets.runs, readers)
            && (outside || has(&meets.runs, writers) || has(&meets.reads, writers))
    };
    let all = chunks.iter().enumerate();
    all.filter(|(_, chunk)| may(&chunk.meets)).map(|(at, _)| at).collect()
}

/// By function, those whose code a call of it may go on to without a transfer: the next address is of
/// another function.
fn followers(insns: &[Insn]) -> BTreeMap<FunctionId, BTreeSet<FunctionId>> {
    let begins: FxHashMap<u64, FunctionId> =
        insns.iter().map(|insn| (insn.def.address, insn.function)).collect();
    let mut followers: BTreeMap<FunctionId, BTreeSet<FunctionId>> = BTreeMap::new();
    for Insn { def, decoded, function, .. } in insns {
        let flow = &decoded.flow;
        let leaves = flow.kind == FlowKind::Call || flow.kind.returns();
        let next = def.address.wrapping_add(decoded.size.into());
        if let Some(next) = begins.get(&next).filter(|next| *next != function && !leaves) {
            followers.entry(*function).or_default().insert(*next);
        }
    }
    followers
}

/// Chunks that are fetched at once: what comes of them waits for those before.
const TOGETHER: usize = 4;

/// The first steps of some of these chunks.
fn firsts(all: &[Chunk], of: &[usize]) -> Vec<u64> {
    of.iter().map(|at| all[*at].first).collect()
}

/// Cuts chunks where others lie between: of those that are fetched at once, all between are looked for.
fn groups(chunks: &[usize]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (i, at) in chunks.iter().enumerate() {
        match groups.last_mut() {
            Some(last) if last.len() < TOGETHER && *at == chunks[i - 1] + 1 => last.end = i + 1,
            _ => groups.push(i..i + 1),
        }
    }
    groups
}

/// How many are worth their while for some chunks.
fn workers(chunks: &[usize]) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(chunks.len() / 2)
}

/// Tables of events but for those of the heap.
const OF_EVENTS: [&str; 6] = [
    "mapping_row",
    "thread_event_row",
    "system_call_row",
    "system_call_access_row",
    "signal_event_row",
    "marker_row",
];

/// Sees to it that there are the events of the run, but for those of the heap, if it is packed: chunks
/// are unpacked, and no pass goes over them.
///
/// # Errors
/// Where the database is damaged.
pub fn ensure_events(connection: &Connection) -> Result<(), BuildError> {
    // Rows of any kind that were made before have these.
    if packed::is_temporary(connection, OF_EVENTS[0])?
        || !packed::lacks(connection, &Wanted::all(Detail::Instance))?
    {
        return Ok(());
    }
    let tables = OF_EVENTS.map(|t| format!("CREATE TEMP TABLE {t} AS FROM {t} LIMIT 0;"));
    connection.execute_batch(&tables.concat())?;
    add_events(connection)
}

/// Whether a run tells of allocations. Of one with rows of its events these say it.
///
/// # Errors
/// Where the database is damaged.
pub fn may_allocate(connection: &Connection) -> Result<bool, BuildError> {
    if !packed::lacks(connection, &Wanted::calls())? {
        return Ok(true);
    }
    if states::are_made(connection)? {
        for (first, data) in Part::Meets.all(connection)? {
            let meets = Meets::unpack(&data);
            let meets = meets.map_err(|source| BuildError::Chunk { first, source })?;
            if !meets.allocated.is_empty() {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    // Mostly the first chunk says it.
    let mut statement = connection.prepare("SELECT first_seq FROM run_chunk ORDER BY first_seq")?;
    let firsts = statement.query_map([], |r| r.get(0))?.collect::<duckdb::Result<Vec<u64>>>()?;
    for first in firsts {
        let runs = packed::one_chunk(connection, first)?;
        if states::allocates(&runs) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the rows of all events, but for those of the heap.
fn add_events(connection: &Connection) -> Result<(), BuildError> {
    let batches = Rc::new(RefCell::new(Vec::new()));
    let mut rows = EventRows::new(sink(&batches), true);
    states::each_event(connection, |seq, event| rows.add(event, seq))?;
    rows.finish();
    append(connection, batches.take())
}

pub(super) fn has(list: &[FunctionId], set: &BTreeSet<FunctionId>) -> bool {
    list.iter().any(|function| set.contains(function))
}

type Sunk = Rc<RefCell<Vec<Batch>>>;

fn sink<'a>(batches: &Sunk) -> Send<'a> {
    let batches = batches.clone();
    Box::new(move |batch| batches.borrow_mut().push(batch))
}

fn append(connection: &Connection, batches: Vec<Batch>) -> Result<(), BuildError> {
    let mut tables = Tables::new(Destination::temporary(connection));
    for batch in batches {
        tables.append(batch)?;
    }
    Ok(())
}

/// Makes rows of tables.
pub(super) struct Worker<'a> {
    replayed: Replayed<PassRows<Send<'a>>>,
    rows: LowRows<'a>,
    sunk: Sunk,
    /// Whose steps of before a chunk have to be known, see [`EndFilter::before`]; None: nobody's.
    before: Option<Option<BTreeSet<FunctionId>>>,
}

impl Worker<'_> {
    pub fn new<'a>(run: &Run, wanted: &Wanted, number: usize) -> Worker<'a> {
        let code = run.code.clone();
        let sunk = Sunk::default();
        let ends = wanted.ends.clone().map(|ends| ends.of_code(&code));
        let before = ends.as_ref().map(|ends| ends.before().cloned());
        let output = PassRows::new(sink(&sunk), wanted.steps.clone())
            .only(ends)
            .number_kinds(1 + number as u32, APART);
        let options = packed::without_sums(run.literal, wanted.detail);
        let replayed = Replayed::new(code, run.threads, options, &wanted.inside, output, true);
        let rows = LowRows {
            events: EventRows::new(sink(&sunk), true),
            heap_only: true,
            runs: wanted.low.then(|| RunRows::new(sink(&sunk), wanted.steps.clone())),
        };
        Worker { replayed, rows, sunk, before }
    }

    /// Runs of a chunk, without what the pass finds in them.
    fn runs(&mut self, connection: &Connection, chunk: &Chunk) -> Result<Vec<Batch>, BuildError> {
        let first = chunk.first;
        let damaged = |source| BuildError::Chunk { first, source };
        let Worker { replayed, rows, sunk, .. } = self;
        let mut runs = one_chunk(connection, first)?;
        // Nobody is told of them here.
        runs.events.clear();
        replayed.pass.output().begin_part(None, Default::default());
        let mut at = first;
        let mut keep = |pass: &mut Pass<_, _>, batch: &RunBatch| at = rows.keep(pass, batch, at);
        replayed.chunk(runs, &mut keep).map_err(damaged)?;
        rows.runs.iter_mut().for_each(RunRows::hand_out);
        Ok(sunk.take())
    }
}

impl Goes for Worker<'_> {
    type Made = Vec<Batch>;

    fn chunk(
        &mut self,
        chunk: &Chunk,
        state: &[u8],
        runs: Runs,
        functions: &[FunctionId],
    ) -> Result<Vec<Batch>, BuildError> {
        let first = chunk.first;
        let damaged = |source| BuildError::Chunk { first, source };
        let Worker { replayed, rows, sunk, before } = self;
        let state = unpack_state(state).map_err(damaged)?;
        resume(replayed, chunk, &state).map_err(damaged)?;
        let before = before.as_ref().map(|of| steps_before(&state, functions, of.as_ref()));
        let begun = Begun { calls: state.calls, intervals: state.intervals, seq: first };
        replayed.pass.output().begin_part(Some(begun), before.unwrap_or_default());
        let mut push = |pass: &mut Pass<_, _>, batch: &RunBatch| rows.push(pass, batch);
        replayed.chunk(runs, &mut push).map_err(damaged)?;
        replayed.pass.output().finish();
        rows.events.hand_out();
        rows.runs.iter_mut().for_each(RunRows::hand_out);
        Ok(sunk.take())
    }
}
