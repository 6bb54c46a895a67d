//! The run in windows, forwards or backwards, cut into pieces that belong to one call instance.

use super::code::{Block, Code, Fetch};
use super::error::{ReplayError, dense, slot};
use crate::id::{BlockId, CallId, InstructionId, ThreadId};
use crate::load::history::History;
use crate::query::keeps_part;
use crate::store::chunk::Runs;
use duckdb::arrow::array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, UInt64Array};
use duckdb::{Connection, params};
use std::ops::Range;

/// Steps that are fetched at a time.
pub(super) const WINDOW: i64 = 1 << 20;
/// Intervals behind the one before that are looked at before all are.
const NEAR: usize = 4;
/// Steps that are fetched first where the run is gone through backwards: often they are enough.
const FIRST_WINDOW: i64 = 1 << 14;

/// Steps of one run of a block that belong to one call instance.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// Sequence number of the run's first step.
    pub start_seq: i64,
    pub thread: ThreadId,
    /// None: the steps are in no interval.
    pub call: Option<CallId>,
    pub block_id: BlockId,
    pub block: &'a Block,
    /// Steps of the block, from `first_step` up to and without `end_step`.
    pub first_step: usize,
    pub end_step: usize,
    /// Of the memory accesses of the whole block.
    pub address: &'a [u64],
    /// Of the accesses of the whole block; empty unless [`Code::with_values`] asks for them and the
    /// trace has them.
    pub value: &'a [Option<u64>],
}

impl<'a> Piece<'a> {
    pub fn seq(&self, step: usize) -> i64 {
        self.start_seq + steps(step)
    }

    pub fn steps(&self) -> Range<usize> {
        self.first_step..self.end_step
    }

    pub fn instructions(&self) -> &'a [InstructionId] {
        &self.block.instructions[self.first_step..self.end_step]
    }
}

/// Steps within a block: they are as few as memory can hold.
fn steps(count: usize) -> i64 {
    count as i64
}

/// Which way the run is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forwards,
    Backwards,
}

/// The part of the run that something is known of.
pub(super) struct Part {
    way: Way,
    /// First and last step.
    known: (i64, i64),
    /// Steps that are loaded at a time backwards.
    length: i64,
}

impl Part {
    pub(super) fn new(way: Way) -> Part {
        Part { way, known: (0, -1), length: FIRST_WINDOW }
    }

    /// The part to be loaded next, first and last step, if that which is known lacks a piece.
    pub(super) fn cover(&mut self, piece: &Piece) -> Option<(i64, i64)> {
        let (first, last) = (piece.seq(piece.first_step), piece.seq(piece.end_step));
        if self.known.0 <= first && last <= self.known.1 {
            return None;
        }
        self.known = match self.way {
            Way::Forwards => (first, last.saturating_add(WINDOW)),
            // Less at first, as a slice may pass over what is before.
            Way::Backwards => {
                let goes_on = self.known.0 <= self.known.1 && last >= self.known.0 - 1;
                self.length = if goes_on { (2 * self.length).min(WINDOW) } else { FIRST_WINDOW };
                (first.saturating_sub(self.length), last)
            }
        };
        Some(self.known)
    }
}

/// Steps of a call instance that follow one another in their thread.
struct Interval {
    start: i64,
    /// Inclusive.
    end: i64,
    call: CallId,
}

/// Columns of `block_run`.
#[derive(Default)]
struct Window {
    start: Vec<i64>,
    thread: Vec<ThreadId>,
    block: Vec<BlockId>,
    /// Where the addresses of each run end.
    offset: Vec<usize>,
    address: Vec<u64>,
    /// The same for values.
    value_offset: Vec<usize>,
    value: Vec<Option<u64>>,
    /// By thread.
    intervals: Vec<Vec<Interval>>,
}

/// Runs of blocks of a database that has them twice: packed, and as rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Twice {
    /// With the same step, thread, block, addresses and values.
    pub equal: u64,
    /// Rows without such a run in the chunks.
    pub only_rows: u64,
    /// Runs in the chunks without such a row.
    pub only_chunks: u64,
    /// The first step of one of these.
    pub first: Option<i64>,
}

impl Twice {
    /// Compares them; None: the database has them once, or rows of a part only.
    ///
    /// # Errors
    /// Where a chunk is damaged, or the database cannot be read.
    pub fn compare(connection: &Connection) -> Result<Option<Twice>, ReplayError> {
        let sql = "SELECT EXISTS (FROM run_chunk) AND EXISTS (FROM block_run)
                   AND NOT EXISTS (FROM duckdb_tables() WHERE temporary AND table_name = 'block_run')";
        if !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? || keeps_part(connection)? {
            return Ok(None);
        }
        let code = Code::open_steps(connection)?;
        let mut twice = Twice::default();
        let mut before = code.first - 1;
        while before < code.last {
            let last = before.saturating_add(WINDOW).min(code.last);
            let mut rows = Window::default();
            rows.read_rows(&code, connection, (before, last), Fetch::Values)?;
            let mut chunks = Window::default();
            chunks.read_chunks(&code, connection, (before, last), Fetch::Values)?;
            twice.add(&rows, &chunks);
            before = last;
        }
        Ok(Some(twice))
    }

    /// Both have their runs by first step.
    fn add(&mut self, rows: &Window, chunks: &Window) {
        let (mut i, mut j) = (0, 0);
        while i < rows.start.len() || j < chunks.start.len() {
            let [row, run] = [(rows, i), (chunks, j)].map(|(window, at)| window.start.get(at));
            let before = |a: Option<&i64>, b: Option<&i64>| a.is_some() && (b.is_none() || a < b);
            if before(row, run) || before(run, row) {
                self.first = self.first.or(row.min(run).or(row).or(run).copied());
                if before(row, run) {
                    (self.only_rows, i) = (self.only_rows + 1, i + 1);
                } else {
                    (self.only_chunks, j) = (self.only_chunks + 1, j + 1);
                }
                continue;
            }
            if rows.run(i) == chunks.run(j) {
                self.equal += 1;
            } else {
                self.first = self.first.or(row.copied());
                (self.only_rows, self.only_chunks) = (self.only_rows + 1, self.only_chunks + 1);
            }
            (i, j) = (i + 1, j + 1);
        }
    }
}

/// A column of a batch; an error where it has another type.
pub(crate) fn column<'a, T: 'static>(
    batch: &'a RecordBatch,
    index: usize,
    table: &'static str,
    name: &'static str,
) -> Result<&'a T, ReplayError> {
    let found = batch.columns().get(index).and_then(|c| c.as_any().downcast_ref::<T>());
    found.ok_or(ReplayError::Type { table, column: name })
}

/// An id in a column.
fn id<T>(of: fn(i32) -> Option<T>, column: i32, what: &'static str) -> Result<T, ReplayError> {
    of(column).ok_or(ReplayError::Missing { what, id: column.into() })
}

/// Lists of numbers with their items. These are taken by range: an array for each row would cost
/// more than all else.
struct Lists<'a> {
    lists: &'a ListArray,
    items: &'a UInt64Array,
}

impl<'a> Lists<'a> {
    fn of(batch: &'a RecordBatch, index: usize, name: &'static str) -> Result<Self, ReplayError> {
        let lists = column::<ListArray>(batch, index, RUN, name)?;
        let items = lists.values().as_any().downcast_ref::<UInt64Array>();
        let items = items.ok_or(ReplayError::Type { table: RUN, column: name })?;
        Ok(Lists { lists, items })
    }

    /// Where the items of a row stand; None for NULL.
    fn range(&self, row: usize) -> Option<Range<usize>> {
        let offsets = self.lists.value_offsets();
        // Arrow keeps offsets that are not negative in columns with a sign.
        self.lists.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }
}

const RUN: &str = "block_run";
const FLOW: &str = "control_flow";

impl Window {
    fn read(
        code: &Code,
        connection: &Connection,
        (first, last): (i64, i64),
        fetch: Fetch,
    ) -> Result<Window, ReplayError> {
        let mut window = Window::default();
        let before = first - code.longest;
        code.cover(connection, (before, last))?;
        if code.is_packed() {
            window.read_chunks(code, connection, (before, last), fetch)?;
        } else {
            window.read_rows(code, connection, (before, last), fetch)?;
        }
        let sql = include_str!("../../queries/report/replay_intervals.sql");
        let mut statement = connection.prepare(sql)?;
        for batch in statement.query_arrow(params![before, last + code.longest])? {
            window.add_intervals(&batch)?;
        }
        Ok(window)
    }

    /// Adds the runs of the chunks that begin behind the step `before`, up to `last`.
    fn read_chunks(
        &mut self,
        code: &Code,
        connection: &Connection,
        (before, last): (i64, i64),
        fetch: Fetch,
    ) -> Result<(), ReplayError> {
        code.chunks.each(connection, (before, last), |runs| {
            self.add_chunk(runs, (before, last), code, fetch)
        })
    }

    /// The same of `block_run`.
    fn read_rows(
        &mut self,
        code: &Code,
        connection: &Connection,
        (before, last): (i64, i64),
        fetch: Fetch,
    ) -> Result<(), ReplayError> {
        let mut statement = connection.prepare(match fetch {
            Fetch::Flow => include_str!("../../queries/report/replay_flow.sql"),
            Fetch::Addresses => include_str!("../../queries/report/replay_runs.sql"),
            Fetch::Values => include_str!("../../queries/report/replay_values.sql"),
        })?;
        for batch in statement.query_arrow(params![before, last])? {
            self.add_runs(&batch, code, fetch)?;
        }
        Ok(())
    }

    /// A run: thread, block, addresses, values.
    fn run(&self, at: usize) -> (ThreadId, BlockId, &[u64], &[Option<u64>]) {
        let piece =
            |offset: &[usize]| (at.checked_sub(1).map_or(0, |before| offset[before]))..offset[at];
        (
            self.thread[at],
            self.block[at],
            &self.address[piece(&self.offset)],
            &self.value[piece(&self.value_offset)],
        )
    }

    fn add_runs(
        &mut self,
        batch: &RecordBatch,
        code: &Code,
        fetch: Fetch,
    ) -> Result<(), ReplayError> {
        let start = column::<Int64Array>(batch, 0, RUN, "start_seq")?;
        let thread = column::<Int32Array>(batch, 1, RUN, "thread_id")?;
        let block = column::<Int32Array>(batch, 2, RUN, "block_id")?;
        let lists = |wanted: bool, index, name| -> Result<Option<Lists>, ReplayError> {
            if wanted { Lists::of(batch, index, name).map(Some) } else { Ok(None) }
        };
        let address = lists(fetch != Fetch::Flow, 3, "address")?;
        let value = lists(fetch == Fetch::Values, 4, "value")?;
        for i in 0..batch.num_rows() {
            self.start.push(start.value(i));
            let thread = id(ThreadId::from_column, thread.value(i), "thread")?;
            dense(thread.index(), code.threads(), "thread")?;
            self.thread.push(thread);
            self.block.push(id(BlockId::from_column, block.value(i), "block")?);
            if let Some((lists, range)) = address.as_ref().and_then(|l| Some((l, l.range(i)?))) {
                self.address.extend_from_slice(&lists.items.values()[range]);
            }
            self.offset.push(self.address.len());
            if let Some((lists, range)) = value.as_ref().and_then(|l| Some((l, l.range(i)?))) {
                let items = lists.items;
                self.value.extend(range.map(|v| items.is_valid(v).then(|| items.value(v))));
            }
            self.value_offset.push(self.value.len());
        }
        Ok(())
    }

    /// The runs of a chunk that begin behind the step `before`, up to `last`.
    fn add_chunk(
        &mut self,
        runs: &Runs,
        (before, last): (i64, i64),
        code: &Code,
        fetch: Fetch,
    ) -> Result<(), ReplayError> {
        // Steps of a build are fewer than a column holds.
        let start = |&seq: &u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let from = runs.start.partition_point(|seq| start(seq) <= before);
        let to = runs.start.partition_point(|seq| start(seq) <= last);
        for run in from..to {
            self.start.push(start(&runs.start[run]));
            let thread = ThreadId::at(runs.thread[run] as usize);
            dense(thread.index(), code.threads(), "thread")?;
            self.thread.push(thread);
            self.block.push(BlockId::at(runs.block[run] as usize));
            if fetch != Fetch::Flow {
                self.address.extend_from_slice(runs.addresses(run));
            }
            self.offset.push(self.address.len());
            if fetch == Fetch::Values {
                self.value.extend_from_slice(runs.values(run));
            }
            self.value_offset.push(self.value.len());
        }
        Ok(())
    }

    /// The runs of a chunk with the call instances that they are of.
    fn of_history(history: &History, code: &Code, fetch: Fetch) -> Result<Window, ReplayError> {
        let mut window = Window::default();
        window.add_chunk(&history.runs, (-1, i64::MAX), code, fetch)?;
        for interval in &history.intervals {
            let thread = interval.thread.index();
            dense(thread, code.threads(), "thread")?;
            // Steps of a build are fewer than a column holds.
            let [start, end] = [interval.start, interval.end]
                .map(|at| at.seq.map_or(0, |seq| seq.get().cast_signed()));
            let intervals = slot(&mut window.intervals, thread, "thread")?;
            intervals.push(Interval { start, end, call: interval.call });
        }
        Ok(window)
    }

    fn add_intervals(&mut self, batch: &RecordBatch) -> Result<(), ReplayError> {
        let thread = column::<Int32Array>(batch, 0, FLOW, "thread_id")?;
        let call = column::<Int32Array>(batch, 1, FLOW, "call_id")?;
        let start = column::<Int64Array>(batch, 2, FLOW, "start_seq")?;
        let end = column::<Int64Array>(batch, 3, FLOW, "end_seq")?;
        for i in 0..batch.num_rows() {
            let (start, end) = (start.value(i), end.value(i));
            let call = id(CallId::from_column, call.value(i), "call")?;
            let thread = id(ThreadId::from_column, thread.value(i), "thread")?;
            let intervals = slot(&mut self.intervals, thread.index(), "thread")?;
            intervals.push(Interval { start, end, call });
        }
        Ok(())
    }

    /// The pieces of one run that lie in a range of steps, in order. `near`: for each thread, an interval that is not
    /// behind the run.
    fn pieces<'a>(
        &'a self,
        code: &'a Code,
        run: usize,
        range: (i64, i64),
        near: &mut [usize],
        out: &mut Vec<Piece<'a>>,
    ) -> Result<(), ReplayError> {
        out.clear();
        let (start_seq, thread, block_id) = (self.start[run], self.thread[run], self.block[run]);
        let block = code.block(block_id)?;
        let (_, _, address, value) = self.run(run);
        let last = (start_seq + steps(block.instructions.len()) - 1).min(range.1);
        let mut seq = start_seq.max(range.0);
        let intervals = self.intervals.get(thread.index()).map_or(&[][..], Vec::as_slice);
        // Mostly the same one, or the next.
        let before = near.get(thread.index()).copied().unwrap_or(0).min(intervals.len());
        let later = &intervals[before..];
        let ended = later.iter().take(NEAR).take_while(|i| i.end < seq).count();
        let mut at = match ended {
            NEAR => before + later.partition_point(|i| i.end < seq),
            _ => before + ended,
        };
        near.iter_mut().skip(thread.index()).take(1).for_each(|near| *near = at);
        while seq <= last {
            let (end, call) = match intervals.get(at) {
                // Intervals of a thread that overlap are of no build.
                Some(i) if i.end < seq => {
                    at += 1;
                    continue;
                }
                Some(i) if i.start <= seq => (i.end.min(last), Some(i.call)),
                Some(i) => ((i.start - 1).min(last), None),
                None => (last, None),
            };
            // Both lie within the block.
            let step = |seq: i64| (seq - start_seq) as usize;
            let (first_step, end_step) = (step(seq), step(end + 1));
            out.push(Piece {
                start_seq,
                thread,
                call,
                block_id,
                block,
                first_step,
                end_step,
                address,
                value,
            });
            seq = end + 1;
            at += usize::from(call.is_some());
        }
        Ok(())
    }
}

/// What goes through the run backwards.
pub(super) trait Backwards {
    /// Says whether to go on.
    fn take(&mut self, piece: &Piece) -> Result<bool, ReplayError>;
    /// The last step up to this one that matters; one before the run: none does.
    fn next(&mut self, to: i64) -> Result<i64, ReplayError> {
        Ok(to)
    }
}

/// Where the run goes on behind a step, and where the last run before one begins. A window without
/// steps asks, so that the windows are no more than the runs, whatever numbers those claim.
const NEXT: &str = "SELECT least((SELECT min(start_seq) FROM block_run WHERE start_seq > $1),
                                 (SELECT min(first_seq) FROM run_chunk WHERE first_seq > $1))";
const BEFORE: &str = "SELECT greatest((SELECT max(start_seq) FROM block_run WHERE start_seq < $1),
                                      (SELECT max(last_seq) FROM run_chunk WHERE first_seq < $1))";

fn bound(connection: &Connection, sql: &str, seq: i64) -> duckdb::Result<Option<i64>> {
    connection.query_row(sql, [seq], |r| r.get(0))
}

impl Code {
    /// Goes through the steps from `first` to `last`, both inclusive; `take` says whether to go on.
    pub fn forwards(
        &self,
        connection: &Connection,
        range: (i64, i64),
        take: impl FnMut(&Piece) -> Result<bool, ReplayError>,
    ) -> Result<(), ReplayError> {
        self.go_through(connection, range, self.fetch, take)
    }

    /// The same by pieces without addresses and values, in half the time.
    pub fn flow(
        &self,
        connection: &Connection,
        range: (i64, i64),
        mut take: impl FnMut(&Piece) -> bool,
    ) -> Result<(), ReplayError> {
        self.go_through(connection, range, Fetch::Flow, |piece| Ok(take(piece)))
    }

    /// Goes through the steps of a chunk. `skips`: whether those of a run of a block need not be told of. `fetch`:
    /// what is needed of them.
    pub(super) fn history<T>(
        &self,
        (history, fetch): (&History, Fetch),
        taker: &mut T,
        skips: impl Fn(&T, BlockId) -> bool,
        mut take: impl FnMut(&mut T, &Piece) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let window = Window::of_history(history, self, fetch)?;
        let (mut pieces, mut near) = (Vec::new(), vec![0; window.intervals.len()]);
        for run in 0..window.start.len() {
            if skips(taker, window.block[run]) {
                continue;
            }
            window.pieces(self, run, (0, i64::MAX), &mut near, &mut pieces)?;
            pieces.iter().try_for_each(|piece| take(taker, piece))?;
        }
        Ok(())
    }

    fn go_through(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
        fetch: Fetch,
        mut take: impl FnMut(&Piece) -> Result<bool, ReplayError>,
    ) -> Result<(), ReplayError> {
        let (first, last) = (first.max(self.first), last.min(self.last));
        let mut from = first;
        while from <= last {
            let to = last.min(from.saturating_add(WINDOW - 1));
            let window = Window::read(self, connection, (from, to), fetch)?;
            let (mut pieces, mut found) = (Vec::new(), false);
            let mut near = vec![0; window.intervals.len()];
            for run in 0..window.start.len() {
                window.pieces(self, run, (from, to), &mut near, &mut pieces)?;
                found |= !pieces.is_empty();
                for piece in &pieces {
                    if !take(piece)? {
                        return Ok(());
                    }
                }
            }
            from = to + 1;
            if !found {
                let Some(next) = bound(connection, NEXT, to)? else { break };
                from = from.max(next);
            }
        }
        Ok(())
    }

    /// Goes through the steps from `last` back to `first`; `take` says whether to go on.
    pub fn backwards(
        &self,
        connection: &Connection,
        range: (i64, i64),
        take: impl FnMut(&Piece) -> Result<bool, ReplayError>,
    ) -> Result<(), ReplayError> {
        struct All<F>(F);
        impl<F: FnMut(&Piece) -> Result<bool, ReplayError>> Backwards for All<F> {
            fn take(&mut self, piece: &Piece) -> Result<bool, ReplayError> {
                (self.0)(piece)
            }
        }
        self.back(connection, range, &mut All(take))
    }

    /// The same for what passes over parts of the run.
    pub(super) fn back(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
        taker: &mut impl Backwards,
    ) -> Result<(), ReplayError> {
        let (first, last) = (first.max(self.first), last.min(self.last));
        let mut to = last;
        let mut length = FIRST_WINDOW;
        while to >= first {
            let next = taker.next(to)?.min(to);
            if next < to {
                (to, length) = (next, FIRST_WINDOW);
                continue;
            }
            let from = first.max(to.saturating_sub(length - 1));
            let window = Window::read(self, connection, (from, to), self.fetch)?;
            let (mut pieces, mut found) = (Vec::new(), false);
            for run in (0..window.start.len()).rev() {
                window.pieces(self, run, (from, to), &mut [], &mut pieces)?;
                found |= !pieces.is_empty();
                for piece in pieces.iter().rev() {
                    if !taker.take(piece)? {
                        return Ok(());
                    }
                }
            }
            to = from - 1;
            if !found {
                let Some(before) = bound(connection, BEFORE, from)? else { break };
                to = to.min(before.saturating_add(self.longest));
            }
            length = (2 * length).min(WINDOW);
        }
        Ok(())
    }
}
