//! Which call instances a set of functions has, and how it is entered.

use super::super::chunks::Chunks;
use super::super::error::ReplayError;
use super::super::window::column;
use super::row::Row;
use crate::id::{CallId, FunctionId, ThreadId};
use crate::load::turns::{OfThread, Turns};
use duckdb::Connection;
use duckdb::arrow::array::{Array, BooleanArray, Int32Array, Int64Array};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Whether what the functions of a set call belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callees {
    Outside,
    /// To any depth.
    Inside,
}

/// From outside into the set, up to where control is back.
#[derive(Clone, Debug)]
pub struct Entry {
    pub call: CallId,
    pub function: FunctionId,
    /// None: nothing of the run called it.
    pub caller: Option<FunctionId>,
    /// First and last step, inclusive.
    pub first: i64,
    pub last: i64,
    /// Those in the set.
    pub steps: u64,
    /// It had not come back when the run ended.
    pub is_open: bool,
    /// It came from a call out of the set, while another entry was not back yet.
    pub is_nested: bool,
}

/// Number of an entry, from 1; 0 outside of the set.
pub type EntryNumber = u32;

/// A call instance, as far as it matters here.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) function: FunctionId,
    /// What called it, or what it replaced.
    pub(super) from: Option<CallId>,
    pub(super) is_stub: bool,
    pub(super) is_open: bool,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) steps: u64,
}

/// What a call instance is to a set.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) entry: EntryNumber,
    /// Something of the set is on its stack.
    below: bool,
}

/// Steps that follow one another, of one entry, or of one function outside of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: i64,
    pub entry: EntryNumber,
    /// None in the set.
    pub function: Option<FunctionId>,
    pub thread: ThreadId,
}

/// The run by entries into a set.
#[derive(Default)]
pub struct Members {
    pub entries: Vec<Entry>,
    /// Functions of the set that ran.
    pub functions: BTreeSet<FunctionId>,
    spans: Vec<Span>,
    /// By [`Members::bucket`]: the last span that begins at or before the first step of the bucket.
    buckets: Vec<usize>,
    /// By bucket: whether a step of it may be in the set.
    has_members: Vec<bool>,
    shift: u32,
    /// First and last steps of the part of the run that the spans are of.
    part: (i64, i64),
    /// Of parts before it: from which step on they are of an entry, or of none.
    before: Vec<(i64, EntryNumber)>,
}

/// Where the ends of communications of a part are, whoever is in a set.
pub(super) struct Ends {
    /// Reading step, place of the reader's span, and of the writer's, or of its step among those of before.
    list: Vec<(i64, u32, u32)>,
    /// Steps before the part.
    far: Vec<i64>,
}

impl Ends {
    const FAR: u32 = 1 << 31;
    const NONE: u32 = u32::MAX;
}

const CALL: &str = "function_call";
const FLOW: &str = "control_flow";

/// An id in a column.
fn id<T>(of: fn(i32) -> Option<T>, column: i32, what: &'static str) -> Result<T, ReplayError> {
    of(column).ok_or(ReplayError::Missing { what, id: column.into() })
}

/// Where the run goes on in another thread.
fn turns(connection: &Connection) -> Result<Turns<i64>, ReplayError> {
    const RUN: &str = "block_run";
    let mut turns = Turns::default();
    // The packed run, if it is there, is of all steps.
    let mut packed = false;
    Chunks::default().each(connection, (i64::MIN, i64::MAX), |runs| {
        packed = true;
        for (&start, &thread) in runs.start.iter().zip(&runs.thread) {
            turns.add(i64::try_from(start).unwrap_or(i64::MAX), ThreadId::at(thread as usize));
        }
        Ok(())
    })?;
    if packed {
        return Ok(turns);
    }
    let sql = include_str!("../../../queries/report/cut_switches.sql");
    let mut statement = connection.prepare(sql)?;
    for batch in statement.query_arrow([])? {
        let start = column::<Int64Array>(&batch, 0, RUN, "start_seq")?;
        let thread = column::<Int32Array>(&batch, 1, RUN, "thread_id")?;
        for i in 0..batch.num_rows() {
            turns.add(start.value(i), id(ThreadId::from_column, thread.value(i), "thread")?);
        }
    }
    turns.sort();
    Ok(turns)
}

impl OfThread for Span {
    type Step = i64;
    fn thread(&self) -> ThreadId {
        self.thread
    }
    fn first(&self) -> i64 {
        self.start
    }
    fn from(self, start: i64) -> Span {
        Span { start, ..self }
    }
}

/// Calls in order of their ids.
#[derive(Default)]
pub struct Calls {
    ids: Vec<CallId>,
    /// One for each id.
    list: Vec<Call>,
}

impl Calls {
    /// All that the database has.
    ///
    /// # Errors
    /// Where it is damaged.
    pub fn read(connection: &Connection) -> Result<Calls, ReplayError> {
        let mut found: Vec<(CallId, Call)> = Vec::new();
        let sql = include_str!("../../../queries/report/cut_calls.sql");
        let mut statement = connection.prepare(sql)?;
        for batch in statement.query_arrow([])? {
            let ids = |index| column::<Int32Array>(&batch, index, CALL, "an id");
            let (call, function, from) = (ids(0)?, ids(1)?, ids(2)?);
            let flag = |index| column::<BooleanArray>(&batch, index, CALL, "kind or ending");
            let (is_stub, is_open) = (flag(3)?, flag(4)?);
            let seq = |index| column::<Int64Array>(&batch, index, CALL, "a number of steps");
            let (first, last, steps) = (seq(5)?, seq(6)?, seq(7)?);
            for i in 0..batch.num_rows() {
                let call = id(CallId::from_column, call.value(i), "call")?;
                let of = Call {
                    function: id(FunctionId::from_column, function.value(i), "function")?,
                    from: from.is_valid(i).then(|| CallId::from_column(from.value(i))).flatten(),
                    is_stub: is_stub.value(i),
                    is_open: is_open.value(i),
                    first: first.value(i),
                    last: last.value(i),
                    steps: u64::try_from(steps.value(i)).unwrap_or(0),
                };
                found.push((call, of));
            }
        }
        if !found.is_sorted_by_key(|(id, _)| *id) {
            found.sort_by_key(|(id, _)| *id);
        }
        found.dedup_by_key(|(id, _)| *id);
        let (ids, list) = found.into_iter().unzip();
        Ok(Calls { ids, list })
    }

    /// The place of a call in the list.
    fn place(&self, id: CallId) -> Option<usize> {
        // Of all calls each has its own.
        match self.ids.get(id.index()) {
            Some(&there) if there == id => Some(id.index()),
            _ => self.ids.binary_search(&id).ok(),
        }
    }

    /// Each with its id.
    fn each(&self) -> impl DoubleEndedIterator<Item = (CallId, &Call)> + ExactSizeIterator {
        self.ids.iter().copied().zip(&self.list)
    }
}

/// Which calls are entries.
#[derive(Clone, Copy)]
pub enum Rule<'a> {
    /// Those from outside into a set of functions.
    Set(&'a BTreeSet<FunctionId>, Callees),
    /// Each call of a function.
    Calls(FunctionId),
}

impl Members {
    /// The run by entries.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn find(
        connection: &Connection,
        calls: &Calls,
        rule: Rule,
    ) -> Result<Members, ReplayError> {
        let mut members = Members::default();
        let mut places: Vec<Place> = Vec::with_capacity(calls.list.len());
        for (id, call) in calls.each() {
            // Calls come before what they call.
            let at = call.from.and_then(|from| calls.place(from));
            let from = at.and_then(|at| Some((*places.get(at)?, calls.list.get(at)?.function)));
            places.push(members.add(rule, (id, call), from));
        }
        members.read_spans(connection, calls, &places)?;
        members.index();
        Ok(members)
    }

    /// The run by entries into nodes, each of which is a set of its own; gives by entry the node. The
    /// calls of functions that are in no node are in none, and so is what they call back from.
    pub fn of_nodes(
        connection: &Connection,
        nodes: &FxHashMap<FunctionId, u32>,
        folds_stubs: bool,
    ) -> Result<(Members, Vec<u32>), ReplayError> {
        let (mut members, mut of_entry) = (Members::default(), Vec::new());
        let calls = Calls::read(connection)?;
        let mut merged: FxHashMap<CallId, CallId> = FxHashMap::default();
        if folds_stubs {
            let sql = "SELECT call_id, into_call_id FROM folded_call WHERE into_call_id < call_id";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(r) = rows.next()? {
                merged.insert(r.get(0)?, r.get(1)?);
            }
        }
        let mut places: Vec<Place> = Vec::with_capacity(calls.list.len());
        for (id, call) in calls.each() {
            // Calls come before what they call.
            let place_of = |id: CallId| places.get(calls.place(id)?).copied();
            let entry_of = |id: CallId| place_of(id).map_or(0, |place| place.entry);
            let into = merged.get(&id).map(|&into| entry_of(into));
            let from = call.from.map_or(0, entry_of);
            let node = nodes.get(&call.function).copied();
            // There are fewer entries than calls.
            let around = from.checked_sub(1).and_then(|at| of_entry.get(at as usize)).copied();
            let entry = if let Some(into) = into {
                into
            } else if from > 0 && node == around {
                from
            } else if let Some(node) = node {
                of_entry.push(node);
                members.entries.push(Entry {
                    call: id,
                    function: call.function,
                    caller: None,
                    first: call.first,
                    last: call.last,
                    steps: 0,
                    is_open: call.is_open,
                    is_nested: false,
                });
                of_entry.len() as u32
            } else {
                0
            };
            if entry > 0 {
                let of = &mut members.entries[entry as usize - 1];
                of.steps += call.steps;
                of.last = of.last.max(call.last);
            }
            places.push(Place { entry, below: false });
        }
        members.read_spans(connection, &calls, &places)?;
        members.index();
        Ok((members, of_entry))
    }

    /// Finds whether a call is in the set, and by which entry. Calls come in the order of their ids; `from`:
    /// the one that it came from, with its function.
    pub(super) fn add(
        &mut self,
        rule: Rule,
        (id, call): (CallId, &Call),
        from: Option<(Place, FunctionId)>,
    ) -> Place {
        let entry = |caller, is_nested| Entry {
            call: id,
            function: call.function,
            caller,
            first: call.first,
            last: call.last,
            steps: 0,
            is_open: call.is_open,
            is_nested,
        };
        let (set, callees) = match rule {
            Rule::Set(set, callees) => (set, callees),
            Rule::Calls(function) if call.function == function => {
                self.entries.push(entry(None, false));
                // There are fewer entries than calls.
                return Place { entry: self.entries.len() as u32, below: false };
            }
            Rule::Calls(_) => return Place::default(),
        };
        let (caller, from) =
            (from.map(|from| from.1), from.map_or(Place::default(), |from| from.0));
        let follows = callees == Callees::Inside || call.is_stub;
        let is_member = set.contains(&call.function) || follows && from.entry > 0;
        if !is_member {
            return Place { entry: 0, below: from.below };
        }
        if from.entry == 0 {
            self.entries.push(entry(caller, from.below));
        }
        // There are fewer entries than calls.
        let entry = if from.entry > 0 { from.entry } else { self.entries.len() as u32 };
        self.functions.insert(call.function);
        let of = &mut self.entries[entry as usize - 1];
        of.steps += call.steps;
        // What a tail call becomes goes on behind the call that it replaced.
        of.last = of.last.max(call.last);
        Place { entry, below: true }
    }

    /// The steps of a part of the run, which comes behind those so far: of these, only the entries are
    /// known from now on.
    pub(super) fn go_on(&mut self, part: (i64, i64), spans: impl Iterator<Item = Span>) {
        let ended = self.spans.drain(..).map(|span| (span.start, span.entry));
        // Between parts, nobody looks.
        for (start, entry) in ended.chain([(self.part.1.saturating_add(1), 0)]) {
            if self.before.last().is_none_or(|last| last.1 != entry) {
                self.before.push((start, entry));
            }
        }
        self.part = part;
        self.spans.extend(spans);
    }

    /// The ends of communications of the part, for all that went on to it with the same spans.
    pub(super) fn ends(&mut self, rows: &[Row]) -> Ends {
        self.buckets.clear();
        self.has_members.clear();
        self.shift = 0;
        self.index();
        let mut ends = Ends { list: Vec::with_capacity(rows.len()), far: Vec::new() };
        let mut far: FxHashMap<i64, u32> = FxHashMap::default();
        // Of a part there are fewer spans than steps.
        let place = |at: Option<usize>| at.map_or(Ends::NONE, |at| at as u32);
        for row in rows {
            let writer = match row.write_seq {
                Some(seq) if seq < self.part.0 => {
                    let next = ends.far.len() as u32;
                    let at = *far.entry(seq).or_insert(next);
                    if at == next {
                        ends.far.push(seq);
                    }
                    Ends::FAR | at
                }
                Some(seq) => place(self.place_of(seq)),
                None => Ends::NONE,
            };
            let reader = match ends.list.last() {
                Some((last, ..)) if *last == row.read_seq => ends.list[ends.list.len() - 1].1,
                _ => place(self.place_of(row.read_seq)),
            };
            ends.list.push((row.read_seq, reader, writer));
        }
        ends
    }

    /// Gives the communications of which an end is in the set, and not both in the same entry: each with the
    /// span of the reader, the entry of the writer, and its function if that is known.
    pub(super) fn crossing<'r>(
        &self,
        rows: &'r [Row],
        ends: &Ends,
        mut take: impl FnMut(&'r Row, &Span, (EntryNumber, Option<FunctionId>)),
    ) {
        let far: Vec<EntryNumber> = ends.far.iter().map(|seq| self.writer(*seq).0).collect();
        for (row, &(_, reader, writer)) in rows.iter().zip(&ends.list) {
            let Some(reader) = self.spans.get(reader as usize) else { continue };
            let writer = match (writer, self.spans.get(writer as usize)) {
                (Ends::NONE, _) => (0, None),
                (_, Some(span)) => (span.entry, span.function),
                (writer, None) => {
                    (far.get((writer & !Ends::FAR) as usize).copied().unwrap_or(0), None)
                }
            };
            if reader.entry != writer.0 {
                take(row, reader, writer);
            }
        }
    }

    fn read_spans(
        &mut self,
        connection: &Connection,
        calls: &Calls,
        places: &[Place],
    ) -> Result<(), ReplayError> {
        let sql = include_str!("../../../queries/report/cut_intervals.sql");
        let mut statement = connection.prepare(sql)?;
        for batch in statement.query_arrow([])? {
            let start = column::<Int64Array>(&batch, 0, FLOW, "start_seq")?;
            let call = column::<Int32Array>(&batch, 1, FLOW, "call_id")?;
            let threads = column::<Int32Array>(&batch, 2, FLOW, "thread_id")?;
            for i in 0..batch.num_rows() {
                let at = CallId::from_column(call.value(i)).and_then(|id| calls.place(id));
                let found = at.and_then(|i| Some((calls.list.get(i)?, places.get(i)?)));
                let Some((call, place)) = found else { continue };
                let function = (place.entry == 0).then_some(call.function);
                let thread = id(ThreadId::from_column, threads.value(i), "thread")?;
                let entry = place.entry;
                self.spans.push(Span { start: start.value(i), entry, function, thread });
            }
        }
        // They are stored in this order.
        if !self.spans.is_sorted_by_key(|span| span.start) {
            self.spans.sort_by_key(|span| span.start);
        }
        let first = self.spans.first().map(|span| span.thread);
        if self.spans.iter().any(|span| Some(span.thread) != first) {
            self.spans = turns(connection)?.cut(&self.spans);
        }
        self.spans.dedup_by(|next, last| Span { start: next.start, ..*last } == *next);
        Ok(())
    }

    fn bucket(&self, seq: i64) -> usize {
        let first = self.spans.first().map_or(0, |span| span.start);
        usize::try_from(seq.saturating_sub(first) >> self.shift).unwrap_or(0)
    }

    /// Buckets of as many steps that there are four for each span at most.
    fn index(&mut self) {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return };
        let steps = last.start.abs_diff(first.start) + 1;
        while steps >> self.shift > 4 * self.spans.len() as u64 {
            self.shift += 1;
        }
        let count = self.bucket(last.start) + 1;
        let mut at = 0;
        for bucket in 0..count {
            // No more than the last step, which is one.
            let begin = first.start.saturating_add((bucket as i64) << self.shift);
            let end = begin.saturating_add(1 << self.shift);
            while self.spans.get(at + 1).is_some_and(|next| next.start <= begin) {
                at += 1;
            }
            self.buckets.push(at);
            let mut spans = self.spans[at..].iter().take_while(|span| span.start < end);
            self.has_members.push(spans.any(|span| span.entry > 0));
        }
    }

    /// Whether a step may be in the set: a quick look.
    #[inline]
    pub fn may_have(&self, seq: i64) -> bool {
        // What is behind the last bucket is in the span that begins last.
        let bucket = self.bucket(seq).min(self.has_members.len().saturating_sub(1));
        self.has_members.get(bucket).copied().unwrap_or(false)
    }

    /// The span of a step; None before the first.
    #[inline]
    pub fn span(&self, seq: i64) -> Option<&Span> {
        self.spans.get(self.place_of(seq)?)
    }

    #[inline]
    fn place_of(&self, seq: i64) -> Option<usize> {
        let bucket = self.bucket(seq);
        let low = *self.buckets.get(bucket.min(self.buckets.len().checked_sub(1)?))?;
        let high = self.buckets.get(bucket + 1).map_or(self.spans.len(), |at| at + 1);
        let behind = self.spans[low..high].partition_point(|span| span.start <= seq);
        let at = (low + behind).checked_sub(1)?;
        self.spans.get(at).filter(|span| span.start <= seq).map(|_| at)
    }

    /// The entry of a step, or the function outside of the set, if that is known.
    #[inline]
    pub(super) fn writer(&self, seq: i64) -> (EntryNumber, Option<FunctionId>) {
        if seq >= self.part.0 {
            return self.span(seq).map_or((0, None), |span| (span.entry, span.function));
        }
        let behind = self.before.partition_point(|(start, _)| *start <= seq);
        let before = behind.checked_sub(1).and_then(|at| self.before.get(at));
        (before.map_or(0, |(_, entry)| *entry), None)
    }

    pub fn entry(&self, number: EntryNumber) -> &Entry {
        &self.entries[number as usize - 1]
    }
}
