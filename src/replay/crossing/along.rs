//! The same of a packed run, chunk by chunk of those that matter: each is gone through alone, and nothing
//! is kept of it but who was in the set.

use super::super::error::{ReplayError, dense};
use super::super::places::Places;
use super::calls::Exchanges;
use super::members::{Call, Ends, Place, Span};
use super::row::{Kind, Row, in_order};
use super::values::Values;
use super::{Callees, Crossing, Exchanged, Finder, Members, Rule};
use crate::analysis::origin::Origin;
use crate::analysis::stack::{self, Ending};
use crate::analysis::{Communication, Late};
use crate::id::{CallId, FunctionId, Seq};
use crate::load::Detail;
use crate::load::alone::Chunk;
use crate::load::crossings::add_calls;
use crate::load::glance::{Crossings, Stretch};
use crate::load::packed::Wanted;
use crate::load::parts::Parts;
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::rc::Rc;
use std::slice::Iter;

/// The part of a run that some sets of functions have to do with.
pub struct Along<'a> {
    parts: Parts,
    rules: &'a [Rule<'a>],
    /// Functions whose calls may be entries, or belong to one; stubs that belong to what calls them.
    of: (BTreeSet<FunctionId>, BTreeSet<FunctionId>),
    /// All stubs of the run.
    stubs: BTreeSet<FunctionId>,
    /// Places of the chunks, and of those of them that are gone through, not only looked at.
    chunks: Vec<usize>,
    run: BTreeSet<usize>,
    /// Calls that go on from one chunk into another, and those that they came from.
    going_on: BTreeMap<CallId, stack::Call>,
    /// In the order of their reads.
    late: Vec<Late>,
}

fn seq(seq: Option<Seq>) -> i64 {
    // A number of a step is less than a column holds.
    seq.map_or(0, |seq| seq.get().cast_signed())
}

/// What a call belongs to, or came from: a stub to its caller, as in `folded_call.sql`, also where it replaced another call (`plt0`).
fn from(call: &stack::Call, stubs: &BTreeSet<FunctionId>) -> Option<CallId> {
    call.tail_of.filter(|_| !stubs.contains(&call.function)).or(call.parent)
}

impl<'a> Along<'a> {
    /// None: not each chunk can be gone through alone, or there are rows of all.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn open(
        connection: &Connection,
        rules: &'a [Rule<'a>],
    ) -> Result<Option<Along<'a>>, ReplayError> {
        let wanted = Wanted { low: false, ..Wanted::all(Detail::Pairs) };
        let Some(parts) = Parts::without_rows(connection, &wanted)? else { return Ok(None) };
        let (mut of, mut stubs) = (BTreeSet::new(), BTreeSet::new());
        for rule in rules {
            match *rule {
                Rule::Set(set, Callees::Outside) => {
                    of.extend(set);
                    stubs.extend(stubs_of(connection, set)?);
                }
                Rule::Set(set, Callees::Inside) => of.extend(callees_of(connection, set)?),
                // Each call of it is one of its own: what a stub does is not of its caller.
                Rule::Calls(function) => _ = of.insert(function),
            }
        }
        let code = parts.with_what_follows(&of);
        let chunks = parts.of_set(connection, &code, &stubs)?;
        let may_be = |f: FunctionId| code.contains(&f) || stubs.contains(&f);
        let may_have = |late: &&Late| may_be(late.reader) || late.writer.is_some_and(may_be);
        let ended = parts.ended();
        let late = ended.iter().flat_map(|ended| &ended.late).filter(|late| !late.is_local);
        let mut late: Vec<Late> = late.filter(may_have).copied().collect();
        late.sort_by_key(|late| late.row.read.seq);
        let run = chunks.iter().copied().filter(|at| parts.runs(*at, &code)).collect();
        let (of, going_on) = ((of, stubs), BTreeMap::new());
        let edges = edges(connection)?;
        let stubs = edges.iter().filter(|edge| edge.is_stub).map(|edge| edge.callee).collect();
        let mut along = Along { parts, rules, of, stubs, chunks, run, going_on, late };
        along.find_going_on(connection)?;
        Ok(Some(along))
    }

    /// How many chunks matter.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Finds the calls that go on from one chunk into another, and all that those of the chunks which
    /// matter came from.
    fn find_going_on(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let is_met: BTreeSet<usize> = self.chunks.iter().copied().collect();
        let mut wanted: Vec<CallId> = Vec::new();
        let mut ends_late: Vec<(CallId, usize)> = Vec::new();
        for (at, ended) in self.parts.ended().iter().enumerate() {
            let first = self.parts.chunks().get(at).map_or(0, |chunk| chunk.first.cast_signed());
            for (call, _) in &ended.calls {
                let begun = self.parts.of_call(call.call).min(at);
                if is_met.range(begun..=at).next().is_some() {
                    wanted.push(call.call);
                }
                let is_over =
                    call.ending != Ending::Open && seq(call.end.seq).saturating_add(1) < first;
                let (of, stubs) = &self.of;
                if is_over && (of.contains(&call.function) || stubs.contains(&call.function)) {
                    ends_late.push((call.call, at));
                }
                self.going_on.insert(call.call, *call);
            }
        }
        // A call may have replaced one which was over in a chunk before.
        let mut seen: FxHashSet<CallId> = FxHashSet::default();
        loop {
            let mut missing: BTreeMap<usize, Vec<CallId>> = BTreeMap::new();
            while let Some(id) = wanted.pop() {
                if !seen.insert(id) {
                    continue;
                }
                let at = self.parts.of_call(id);
                match self.going_on.get(&id) {
                    Some(call) => wanted.extend(from(call, &self.stubs)),
                    None if self.run.contains(&at) => {}
                    None => missing.entry(at).or_default().push(id),
                }
            }
            if missing.is_empty() {
                break;
            }
            let chunks: Vec<usize> = missing.keys().copied().collect();
            for (at, calls) in self.parts.calls(connection, &chunks)? {
                let calls: FxHashMap<CallId, stack::Call> =
                    calls.into_iter().map(|(call, _)| (call.call, call)).collect();
                let mut of_chunk = missing.remove(&at).unwrap_or_default();
                while let Some(id) = of_chunk.pop() {
                    match calls.get(&id) {
                        Some(call) if self.going_on.insert(id, *call).is_none() => {
                            of_chunk.extend(from(call, &self.stubs));
                        }
                        Some(_) => {}
                        None => wanted.push(id),
                    }
                }
            }
        }
        self.go_on_late(connection, ends_late)
    }

    /// Where other threads ran between the last step of a call and what its thread did next, which is in
    /// another chunk, it may be that another one replaced it, and that its entry went on meanwhile.
    fn go_on_late(
        &mut self,
        connection: &Connection,
        ends_late: Vec<(CallId, usize)>,
    ) -> Result<(), ReplayError> {
        let has_sets = self.rules.iter().any(|rule| matches!(rule, Rule::Set(..)));
        if ends_late.is_empty() || !has_sets {
            return Ok(());
        }
        let chunks: BTreeSet<usize> = ends_late.iter().map(|(_, at)| *at).collect();
        let chunks: Vec<usize> = chunks.into_iter().collect();
        let in_chunks = self.parts.calls(connection, &chunks)?;
        let calls = in_chunks.iter().flat_map(|(_, calls)| calls).map(|(call, _)| call);
        let replaced: BTreeSet<CallId> = calls
            .chain(self.going_on.values())
            .filter(|call| !self.stubs.contains(&call.function))
            .filter(|call| self.rules.iter().any(|rule| follows(rule, call)))
            .filter_map(|call| call.tail_of)
            .collect();
        for (id, at) in ends_late.into_iter().filter(|(id, _)| replaced.contains(id)) {
            let before = self.parts.chunks().get(at).map(|chunk| chunk.first.saturating_sub(1));
            if let Some(call) = self.going_on.get_mut(&id) {
                call.end.seq = before.and_then(Seq::new);
            }
        }
        Ok(())
    }

    /// What crosses the border of each set; `values`: and whether that was sent before, where the trace has
    /// values.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn crossing(
        &self,
        connection: &Connection,
        places: &Places,
        values: bool,
    ) -> Result<Vec<(Members, Crossing)>, ReplayError> {
        let mut finders = Vec::new();
        for _ in self.rules {
            let values = if values { Values::read(connection)? } else { None };
            finders.push(Finder::new(connection, places, values)?);
        }
        let members = self.each(connection, |all, rows, ends, made| {
            let before = Rc::new(made.before);
            finders.iter_mut().zip(all).try_for_each(|(finder, members)| {
                finder.before = before.clone();
                finder.part(members, rows, ends)
            })
        })?;
        let found = members.into_iter().zip(finders);
        found.map(|(members, finder)| Ok((members, finder.finish()?))).collect()
    }

    /// What each call of a function exchanges, whose rule is the only one. Their rows of `function_call` are there
    /// then, and those of their callers.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn exchanged(
        &self,
        connection: &Connection,
        function: FunctionId,
        places: &Places,
    ) -> Result<Vec<Exchanged>, ReplayError> {
        let mut exchanges = Exchanges::new(connection, function, places)?;
        add_calls(connection, self.parts.ended().iter().flat_map(|ended| &ended.calls))?;
        let members = self.each(connection, |members, rows, ends, made| {
            let before = Rc::new(made.before);
            members.iter().for_each(|members| exchanges.add(members, rows, ends, before.clone()));
            let own = made.calls.iter().filter(|(call, _)| call.function == function);
            let callers: FxHashSet<CallId> = own.filter_map(|(call, _)| call.parent).collect();
            let is_wanted = |(call, _): &&(stack::Call, u64)| {
                call.function == function || callers.contains(&call.call)
            };
            Ok(add_calls(connection, made.calls.iter().filter(is_wanted))?)
        })?;
        Ok(members.first().map(|members| exchanges.found(members)).unwrap_or_default())
    }

    /// Gives what came of each chunk, with its communications in the order of their reads. Members are by
    /// rule.
    fn each(
        &self,
        connection: &Connection,
        mut take: impl FnMut(&[Members], &[Row], &Ends, Crossings) -> Result<(), ReplayError>,
    ) -> Result<Vec<Members>, ReplayError> {
        let mut all: Vec<Members> = self.rules.iter().map(|_| Members::default()).collect();
        let going_on: Vec<(CallId, Call)> =
            self.going_on.values().map(|call| (call.call, plain(call, &self.stubs))).collect();
        let known = |rule: &Rule<'a>| Known {
            rule: *rule,
            stubs: &self.stubs,
            going_on: going_on.iter().peekable(),
            placed: FxHashMap::default(),
        };
        let mut known: Vec<Known> = self.rules.iter().map(known).collect();
        let (mut late, mut rows) = (self.late.iter().peekable(), Vec::new());
        let of = (&self.of.0, &self.of.1);
        self.parts.crossings(connection, of, &self.chunks, |at, mut made| {
            let chunk = &self.parts.chunks()[at];
            let part = (chunk.first.cast_signed(), chunk.last.cast_signed());
            for (members, known) in all.iter_mut().zip(&mut known) {
                let own = known.chunk(members, &made.calls, self.calls_up_to(at))?;
                let span = |stretch: &Stretch| known.span(&own, stretch);
                members.go_on(part, made.stretches.iter().map(span));
            }
            rows.clear();
            rows.extend(made.communications.iter().map(row));
            late_of(&mut late, chunk, &mut rows, &mut made.before);
            in_order(&mut rows);
            let Some(ends) = all.first_mut().map(|members| members.ends(&rows)) else {
                return Ok(());
            };
            take(&all, &rows, &ends, made)
        })?;
        // Those behind the last chunk that matters.
        for (members, known) in all.iter_mut().zip(&mut known) {
            known.chunk(members, &[], u32::MAX)?;
        }
        Ok(all)
    }

    /// Number of the last call that begins in a chunk or before.
    fn calls_up_to(&self, at: usize) -> u32 {
        self.parts.chunks().get(at + 1).map_or(u32::MAX, |next| next.meets.calls)
    }
}

/// Communications of a chunk that are known later.
fn late_of(
    late: &mut Peekable<Iter<Late>>,
    chunk: &Chunk,
    rows: &mut Vec<Row>,
    before: &mut FxHashMap<u64, FunctionId>,
) {
    while let Some(of) = late.next_if(|late| late.row.read.seq.get() <= chunk.last) {
        if of.row.read.seq.get() < chunk.first {
            continue;
        }
        if let (Origin::Step(write), Some(writer)) = (of.row.write, of.writer) {
            before.insert(write.seq.get(), writer);
        }
        rows.push(row(&of.row));
    }
}

fn row(row: &Communication) -> Row {
    let write_seq = match row.write {
        Origin::Step(write) => Some(seq(Some(write.seq))),
        Origin::Source(_) => None,
    };
    let kind = Kind { is_register: row.is_register, bytes: row.bytes.into() };
    Row { read_seq: seq(Some(row.read.seq)), write_seq, kind, address: row.address }
}

fn plain(call: &stack::Call, stubs: &BTreeSet<FunctionId>) -> Call {
    Call {
        function: call.function,
        from: from(call, stubs),
        is_stub: stubs.contains(&call.function),
        is_open: call.ending == Ending::Open,
        first: seq(call.begin.seq),
        last: seq(call.end.seq),
        steps: call.steps_self,
    }
}

/// Whether a call, which is no stub, belongs to what it came from, or may be an entry.
fn follows(rule: &Rule, call: &stack::Call) -> bool {
    match rule {
        Rule::Set(_, Callees::Inside) => true,
        Rule::Set(set, Callees::Outside) => set.contains(&call.function),
        Rule::Calls(_) => false,
    }
}

/// What is known of calls, by one rule.
struct Known<'a> {
    rule: Rule<'a>,
    stubs: &'a BTreeSet<FunctionId>,
    /// Those that go on from one chunk into another, of which the first ones are placed.
    going_on: Peekable<Iter<'a, (CallId, Call)>>,
    placed: FxHashMap<CallId, (Place, FunctionId)>,
}

/// Calls that begin and end in a chunk: the first one's number, and each one's place by its number.
struct Own {
    first: u32,
    places: Vec<Option<(Place, FunctionId)>>,
}

impl Own {
    fn get(&self, id: CallId) -> Option<(Place, FunctionId)> {
        let at = id.get().checked_sub(self.first)?;
        self.places.get(at as usize).copied().flatten()
    }
}

impl Known<'_> {
    /// Places the calls of a chunk, and those up to a number that go on into another one.
    fn chunk(
        &mut self,
        members: &mut Members,
        calls: &[(stack::Call, u64)],
        up_to: u32,
    ) -> Result<Own, ReplayError> {
        let number = |call: Option<&(stack::Call, u64)>| call.map_or(0, |call| call.0.call.get());
        let (first, last) = (number(calls.first()), number(calls.last()));
        dense((last - first) as usize, calls.len(), "call")?;
        let mut own = Own { first, places: vec![None; (last - first) as usize + 1] };
        let mut calls = calls.iter().peekable();
        loop {
            let next = calls.peek().map(|(call, _)| call.call);
            let is_before = |id: CallId| id.get() <= up_to && next.is_none_or(|next| id <= next);
            if let Some((id, call)) = self.going_on.next_if(|(id, _)| is_before(*id)) {
                let place = self.place(members, &own, (*id, call));
                self.placed.insert(*id, (place, call.function));
            } else if let Some((call, _)) = calls.next() {
                // Some of those of before came from it.
                if !self.placed.contains_key(&call.call) {
                    let place = self.place(members, &own, (call.call, &plain(call, self.stubs)));
                    own.places[(call.call.get() - first) as usize] = Some((place, call.function));
                }
            } else {
                return Ok(own);
            }
        }
    }

    fn place(&self, members: &mut Members, own: &Own, (id, call): (CallId, &Call)) -> Place {
        members.add(self.rule, (id, call), call.from.and_then(|from| self.of(own, from)))
    }

    fn of(&self, own: &Own, id: CallId) -> Option<(Place, FunctionId)> {
        own.get(id).or_else(|| self.placed.get(&id).copied())
    }

    fn span(&self, own: &Own, stretch: &Stretch) -> Span {
        let place = stretch.call.and_then(|call| self.of(own, call));
        let entry = place.map_or(0, |(place, _)| place.entry);
        let function = (entry == 0).then_some(stretch.function);
        Span { start: stretch.first.cast_signed(), entry, function, thread: stretch.thread }
    }
}

/// Stubs that functions of a set may call, or go on to in their places: of these the caller's caller is
/// the parent.
fn stubs_of(
    connection: &Connection,
    set: &BTreeSet<FunctionId>,
) -> Result<BTreeSet<FunctionId>, ReplayError> {
    let mut edges = edges(connection)?;
    let called = edges.iter().filter(|edge| set.contains(&edge.callee));
    let callers: BTreeSet<Option<FunctionId>> = called.map(|edge| edge.caller).collect();
    edges.retain(|edge| edge.is_stub);
    let mut stubs = BTreeSet::new();
    loop {
        let is_one = |f: FunctionId| set.contains(&f) || stubs.contains(&f);
        let may_call = |f: Option<FunctionId>| callers.contains(&f) || f.is_some_and(is_one);
        let found = edges.iter().filter(|edge| may_call(edge.caller));
        let found: BTreeSet<FunctionId> = found.map(|edge| edge.callee).collect();
        if found.is_subset(&stubs) {
            return Ok(stubs);
        }
        stubs.extend(found);
    }
}

/// A set with all that its calls may lead to.
fn callees_of(
    connection: &Connection,
    set: &BTreeSet<FunctionId>,
) -> Result<BTreeSet<FunctionId>, ReplayError> {
    let edges = edges(connection)?;
    let mut all = set.clone();
    loop {
        let called = edges.iter().filter(|edge| all.contains(&edge.callee));
        let callers: BTreeSet<Option<FunctionId>> = called.map(|edge| edge.caller).collect();
        // Of what replaces a call, its caller is the parent.
        let leads = |edge: &&Edge| {
            edge.caller.is_some_and(|caller| all.contains(&caller))
                || edge.is_tail && callers.contains(&edge.caller)
        };
        let found: BTreeSet<FunctionId> =
            edges.iter().filter(leads).map(|edge| edge.callee).collect();
        if found.is_subset(&all) {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// Who calls whom.
struct Edge {
    caller: Option<FunctionId>,
    callee: FunctionId,
    is_stub: bool,
    is_tail: bool,
}

fn edges(connection: &Connection) -> Result<Vec<Edge>, ReplayError> {
    let sql = "SELECT caller_function_id, callee_function_id, s.kind = 'stub', e.kind = 'tail'
               FROM call_edge e JOIN function_symbol s ON function_id = callee_function_id";
    let mut statement = connection.prepare(sql)?;
    let edge = |r: &duckdb::Row| {
        let (caller, callee) = (r.get(0)?, r.get(1)?);
        Ok(Edge { caller, callee, is_stub: r.get(2)?, is_tail: r.get(3)? })
    };
    let edges = statement.query_map([], edge)?;
    Ok(edges.collect::<duckdb::Result<_>>()?)
}
