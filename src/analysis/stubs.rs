//! Instances of stubs merged into their callers: an instance of a PLT stub, veneer or resolver
//! belongs to the nearest caller that is none. What has to do with them is added up while they are
//! at hand; everything else is in the sums of functions as it is. The tables whose names end in
//! `_folded` say the same in SQL (`queries/derive`).

use super::block::Prepared;
use super::flows::Flows;
use super::operation::OperationKind;
use super::origin::Packed;
use super::place::PlaceCode;
use super::segment::Segment;
use super::stack::Call;
use super::sums::{CallEdge, CallKey, PairSums};
use crate::id::{CallId, FunctionId};
use rustc_hash::FxHashMap;

/// A row of `folded_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedCall {
    /// An instance of a stub.
    pub call: CallId,
    pub function: FunctionId,
    /// What it is merged into: itself where nothing called it.
    pub into: CallId,
    pub into_function: FunctionId,
    pub steps_self: u64,
}

/// What merging stubs changed of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedSteps {
    /// Instances of the function that are of others now, and their steps.
    pub calls: u64,
    pub steps: u64,
    /// Steps of stubs that were merged into it.
    pub come: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    is_stub: bool,
    /// Steps that an instance has at least when it has written something that is data, which others
    /// may read when it has ended; None: it never does. A stub that is bound when it is first called
    /// writes then, and not in its millions of other instances, which are shorter.
    writes_from: Option<u64>,
    /// An instance of it was merged.
    is_merged: bool,
}

/// What is merged, and its sums.
#[derive(Default)]
pub struct Stubs {
    /// By function.
    kinds: Vec<Kind>,
    /// What instances of stubs are merged into: of those that are alive, and of those that may
    /// have written something.
    into: FxHashMap<CallId, (CallId, FunctionId)>,
    flows: FxHashMap<(Packed, Packed, PlaceCode), PairSums>,
    calls: FxHashMap<CallKey, (u64, u64)>,
    /// Instances of a stub and their steps, by what they are merged into.
    steps: FxHashMap<(FunctionId, FunctionId), (u64, u64)>,
    /// Instances that have been merged.
    pub merged_calls: u64,
}

impl Stubs {
    /// No instance is alive.
    pub fn forget(&mut self) {
        self.into.clear();
    }

    /// A function has an instruction.
    pub fn add(&mut self, function: FunctionId, is_stub: bool) {
        if self.kinds.len() <= function.index() {
            self.kinds.resize(function.index() + 1, Kind::default());
        }
        self.kinds[function.index()].is_stub |= is_stub;
    }

    /// A block may run.
    pub fn look(&mut self, block: &Prepared) {
        for segment in block.all_segments() {
            if let Some(kind) = self.kinds.get_mut(segment.function.index())
                && kind.is_stub
                && writes(segment)
            {
                let least = kind.writes_from.unwrap_or(u64::MAX);
                kind.writes_from = Some(least.min(segment.steps.into()));
            }
        }
    }

    #[inline]
    pub fn is_stub(&self, function: FunctionId) -> bool {
        self.kinds.get(function.index()).is_some_and(|kind| kind.is_stub)
    }

    /// An instance begins.
    #[inline]
    pub fn begin(
        &mut self,
        (call, function): (CallId, FunctionId),
        parent: Option<(CallId, FunctionId)>,
    ) {
        if self.is_stub(function) {
            let above = parent.map(|parent| self.into.get(&parent.0).copied().unwrap_or(parent));
            self.into.insert(call, above.unwrap_or((call, function)));
        }
    }

    /// The function that an instance is merged into: its own if that is no stub.
    #[inline]
    fn function(&self, call: CallId, function: FunctionId) -> FunctionId {
        if !self.is_stub(function) {
            return function;
        }
        self.into.get(&call).map_or(function, |into| into.1)
    }

    /// What an instance has read is handed out.
    #[inline]
    pub fn read(&mut self, (call, function): (CallId, FunctionId), flows: &Flows) {
        let by_stub = self.is_stub(function);
        for flow in flows.entries() {
            let writer = flow.step();
            let of_stub = writer.is_some_and(|(_, function)| self.is_stub(function));
            if by_stub || of_stub {
                let from = writer.map(|(call, function)| self.function(call, function));
                let reader = Packed::step(self.function(call, function));
                let writer = from.map_or(flow.function, Packed::step);
                let sums = self.flows.entry((writer, reader, flow.place)).or_default();
                sums.bytes += flow.bytes;
                sums.transfers += flow.transfers;
            }
        }
    }

    /// The kernel has read, as `sink`, what an instance or a source wrote.
    pub fn read_by_kernel(
        &mut self,
        (writer, function, sink): (Packed, Packed, Packed),
        place: PlaceCode,
        (bytes, transfers): (u64, u64),
    ) {
        let (Some(call), Some(function)) = (writer.writer(), function.writer()) else { return };
        if self.is_stub(function) {
            let writer = Packed::step(self.function(call, function));
            let sums = self.flows.entry((writer, sink, place)).or_default();
            sums.bytes += bytes;
            sums.transfers += transfers;
        }
    }

    /// An instance has ended; `caller` is the function of its parent.
    #[inline]
    pub fn end(&mut self, call: &Call, caller: Option<FunctionId>) -> Option<FoldedCall> {
        let Call { call: id, function, kind, steps_self, steps_total, .. } = *call;
        if !self.is_stub(function) {
            if let (Some(parent), Some(caller)) = (call.parent, caller)
                && self.is_stub(caller)
            {
                let caller = self.function(parent, caller);
                self.count((Some(caller), function, kind), steps_total);
            }
            return None;
        }
        self.kinds[function.index()].is_merged = true;
        self.merged_calls += 1;
        let known = match self.kinds[function.index()].writes_from {
            Some(least) if steps_self >= least => self.into.get(&id).copied(),
            _ => self.into.remove(&id),
        };
        let (into, into_function) = known.unwrap_or((id, function));
        if into == id {
            self.count((None, function, kind), steps_total);
        } else {
            let sums = self.steps.entry((function, into_function)).or_default();
            *sums = (sums.0 + 1, sums.1 + steps_self);
        }
        Some(FoldedCall { call: id, function, into, into_function, steps_self })
    }

    fn count(&mut self, call: CallKey, steps: u64) {
        let sums = self.calls.entry(call).or_default();
        *sums = (sums.0 + 1, sums.1 + steps);
    }

    /// Stubs of which instances were merged.
    pub fn merged(&self) -> Vec<FunctionId> {
        let kinds = self.kinds.iter().enumerate().filter(|(_, kind)| kind.is_merged);
        kinds.map(|(i, _)| FunctionId::at(i)).collect()
    }

    /// Dataflow of stubs, merged: writer, reader and place, with bytes and transfers.
    pub fn flows(&self) -> impl Iterator<Item = (Packed, Packed, PlaceCode, PairSums)> + '_ {
        self.flows.iter().map(|(&(writer, reader, place), &sums)| (writer, reader, place, sums))
    }

    /// By function, where instances of stubs were merged: instances and steps that it has less of its own, and
    /// steps that came to it.
    pub fn merged_steps(&self) -> FxHashMap<FunctionId, MergedSteps> {
        let mut found: FxHashMap<FunctionId, MergedSteps> = FxHashMap::default();
        for (&(stub, into), &(calls, steps)) in &self.steps {
            let gone = found.entry(stub).or_default();
            gone.calls += calls;
            gone.steps += steps;
            found.entry(into).or_default().come += steps;
        }
        found
    }

    /// Calls by stubs, as their callers', and those of stubs that nothing called.
    pub fn calls(&self) -> Vec<CallEdge> {
        CallEdge::list(self.calls.iter().map(|(&call, &(calls, steps))| (call, calls, steps)))
    }
}

/// Whether something that a segment writes may be read of it.
fn writes(segment: &Segment) -> bool {
    let is_write = |kind| matches!(kind, OperationKind::Write { .. } | OperationKind::Store { .. });
    !segment.writes.is_empty()
        || !segment.statics.is_empty()
        || segment.operations.iter().any(|op| is_write(op.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stack::{CallKind, Ending, Point};
    use crate::id::ThreadId;

    /// A stub writes where it is bound, by three steps, and is one step in every other instance.
    #[test]
    fn of_instances_too_short_to_have_written_nothing_is_kept() {
        let (main, stub) = (FunctionId::at(0), FunctionId::at(1));
        let mut stubs = Stubs::default();
        stubs.add(stub, true);
        stubs.kinds[stub.index()].writes_from = Some(2);
        let point = Point { seq: None, time: None };
        let caller = CallId::at(0);
        for (i, steps_self) in [3, 1, 1, 1].into_iter().enumerate() {
            let call = CallId::at(1 + i);
            stubs.begin((call, stub), Some((caller, main)));
            let ended = Call {
                call,
                function: stub,
                instance: 1,
                parent: Some(caller),
                tail_of: None,
                thread: ThreadId::at(0),
                depth: 1,
                kind: CallKind::Call,
                ending: Ending::Return,
                begin: point,
                end: point,
                site: None,
                steps_self,
                steps_total: steps_self,
            };
            let folded = stubs.end(&ended, Some(main)).unwrap();
            assert_eq!((folded.into, folded.into_function), (caller, main));
        }
        assert_eq!(stubs.into.keys().collect::<Vec<_>>(), [&CallId::at(1)]);
    }
}
