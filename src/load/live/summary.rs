//! The sums as a pass gives them, from the rows of a recorder.

use super::rows::{KERNEL, REGION, Rows, STACK, STACK_START};
use crate::analysis::contexts::{StackSteps, StepContexts};
use crate::analysis::origin::{Origin, Source, Sources, StackSide};
use crate::analysis::place::{Place, PlaceCode};
use crate::analysis::summary::{FunctionFlow, ThreadSteps};
use crate::analysis::sums::{FunctionSums, PairSums};
use crate::analysis::{CallEdge, CallKind, ContextFlow, MergedSteps, Summary};
use crate::diagnostics::{Diagnostic, Severity};
use crate::id::{FunctionId, StackId, ThreadId};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Numbers of the regions that are no stacks, and of those that are.
const HEAP: u32 = 0;
const STACKS: u32 = 1;

/// What the recorder's numbers are in a database.
#[derive(Default)]
pub struct Known {
    /// By its numbers from 1 on.
    pub functions: Vec<Option<FunctionId>>,
    /// Functions of the database.
    pub function_count: usize,
    /// Sections by its numbers from 1 on.
    pub places: Vec<Option<PlaceCode>>,
    /// What the kernel's accesses are named by.
    pub sources: Vec<String>,
    /// A function or a section was asked for that the database does not have.
    pub lacks: Cell<bool>,
}

impl Known {
    /// None: no function has the number 0.
    fn function(&self, number: u32) -> Option<FunctionId> {
        let at = number.checked_sub(1)? as usize;
        let known = self.functions.get(at).copied().flatten();
        self.lacks.set(self.lacks.get() || known.is_none());
        known
    }

    fn place(&self, number: u32) -> Option<PlaceCode> {
        match number {
            0 => Some(PlaceCode::REGISTER),
            _ if number & STACK != 0 => Some(PlaceCode::of(Place::Region(STACKS))),
            _ if number & REGION != 0 => Some(PlaceCode::of(Place::Region(HEAP))),
            _ => {
                let known = self.places.get(number as usize - 1).copied().flatten();
                self.lacks.set(self.lacks.get() || known.is_none());
                known
            }
        }
    }
}

/// What is said where functions have several contexts that count as one.
pub fn merged(functions: usize) -> Option<Diagnostic> {
    let diagnostic = Diagnostic {
        severity: Severity::Info,
        code: "contexts-merged",
        message: format!(
            "calling contexts that are entered seldom count as another one of their function, in the data of {functions} functions"
        ),
        position: String::new(),
        remedy: "record with --detail summary to tell all of them apart",
    };
    (functions > 0).then_some(diagnostic)
}

/// A writer or reader: as what it counts, and in which context.
#[derive(Clone, Copy)]
struct Side {
    function: Origin<FunctionId>,
    /// What a stub is merged into.
    into: Origin<FunctionId>,
    context: Option<StackId>,
}

/// All that a pass sums, but for bytes that were written for nothing, and for regions.
pub fn summary(known: &Known, rows: &Rows) -> Summary {
    let mut sources = Sources::default();
    let numbers: Vec<_> = known.sources.iter().map(|name| sources.number(Some(name))).collect();
    let source = |number: u32| match number.checked_sub(KERNEL) {
        Some(at) => numbers.get(at as usize).map(|source| Origin::Source(Source::Named(*source))),
        None if number == STACK_START => Some(Origin::Source(Source::Initial(StackSide::Above))),
        None => Some(Origin::Source(Source::Initial(StackSide::Below))),
    };
    let end = |number: u32| match rows.actor(number) {
        Some(actor) => {
            let [function, into] = [actor.function, actor.into].map(|f| known.function(f));
            let context = StackId::new(actor.context);
            Some(Side { function: Origin::Step(function?), into: Origin::Step(into?), context })
        }
        None => source(number).map(|from| Side { function: from, into: from, context: None }),
    };
    let flow = |&(ends, sums): &([u32; 3], [u64; 4])| {
        let ([writer, reader, place], [bytes, unique, transfers, addresses]) = (ends, sums);
        let sums = PairSums { bytes, unique, transfers, addresses };
        Some((end(writer)?, end(reader)?, known.place(place)?, sums))
    };
    let flows: Vec<_> = rows.flows.iter().filter_map(flow).collect();
    let mut functions = vec![FunctionSums::default(); known.function_count];
    let ran = rows.functions.iter().filter(|(_, figures)| figures.iter().any(|n| *n > 0));
    for &(number, [calls, steps_self, steps_total, written_bytes]) in ran {
        let id = known.function(number);
        if let Some(sums) = id.and_then(|id| functions.get_mut(id.index())) {
            *sums = FunctionSums { calls, steps_self, steps_total, written_bytes, dead_bytes: 0 };
        }
    }
    let [steps, calls, first_sp, _] = rows.run;
    let threads = rows.threads.iter().enumerate();
    let merged: BTreeSet<FunctionId> = stubs(known, rows).map(|(stub, ..)| stub).collect();
    let is_stub = |end: Origin<FunctionId>| matches!(end, Origin::Step(f) if merged.contains(&f));
    Summary {
        functions,
        function_flows: flows
            .iter()
            .map(|&(writer, reader, place, sums)| {
                let (writer, reader) = (writer.function, reader.function);
                FunctionFlow { writer, reader, place, sums }
            })
            .collect(),
        instruction_flows: Vec::new(),
        call_edges: call_edges(known, &rows.calls),
        stub_flows: flows
            .iter()
            .filter(|(writer, reader, ..)| is_stub(writer.function) || is_stub(reader.function))
            .map(|&(writer, reader, place, sums)| FunctionFlow {
                writer: writer.into,
                reader: reader.into,
                place,
                sums,
            })
            .collect(),
        stub_calls: call_edges(known, &rows.stub_calls),
        merged_calls: stubs(known, rows).map(|(.., [calls, _])| calls).sum(),
        merged_steps: merged_steps(known, rows),
        stubs: merged.into_iter().collect(),
        contexts: contexts(known, rows),
        context_flows: flows
            .iter()
            .map(|&(writer, reader, place, sums)| {
                let [writer, reader] = [writer, reader].map(|end| (end.into, end.context));
                ContextFlow { writer, reader, place, sums: PairSums { addresses: 0, ..sums } }
            })
            .collect(),
        regions: Vec::new(),
        region_is_stack: vec![false, true],
        flow_places: Vec::new(),
        sources,
        first_sp: Some(first_sp).filter(|sp| *sp != 0),
        steps,
        threads: threads
            .map(|(i, (_, steps))| ThreadSteps { id: ThreadId::at(i), steps: *steps })
            .collect(),
        calls: u32::try_from(calls).unwrap_or(u32::MAX),
        intervals: 0,
        signals: 0,
        switches: 0,
        pages: 0,
    }
}

/// Stubs, what each is merged into, and its instances and steps there.
fn stubs<'a>(
    known: &'a Known,
    rows: &'a Rows,
) -> impl Iterator<Item = (FunctionId, FunctionId, [u64; 2])> + 'a {
    rows.actors.iter().filter_map(|actor| {
        let stub = actor.stub?;
        Some((known.function(actor.function)?, known.function(actor.into)?, stub))
    })
}

fn merged_steps(known: &Known, rows: &Rows) -> FxHashMap<FunctionId, MergedSteps> {
    let mut found: FxHashMap<FunctionId, MergedSteps> = FxHashMap::default();
    for (stub, into, [calls, steps]) in stubs(known, rows).filter(|(stub, into, _)| stub != into) {
        let gone = found.entry(stub).or_default();
        gone.calls += calls;
        gone.steps += steps;
        found.entry(into).or_default().come += steps;
    }
    found
}

fn call_edges(known: &Known, rows: &[([u32; 3], [u64; 2])]) -> Vec<CallEdge> {
    let edge = |&([caller, callee, kind], [calls, steps]): &([u32; 3], [u64; 2])| {
        let (callee, kind) = (known.function(callee)?, *CallKind::ALL.get(kind as usize)?);
        Some(((known.function(caller), callee, kind), calls, steps))
    };
    CallEdge::list(rows.iter().filter_map(edge))
}

fn contexts(known: &Known, rows: &Rows) -> StepContexts {
    StepContexts::of(rows.contexts.iter().filter_map(|&([parent, function], figures)| {
        let [calls, steps_self] = figures;
        let figures = StackSteps { calls, steps_self };
        Some((StackId::new(parent), known.function(function)?, figures))
    }))
    .without(rows.run[3])
}
