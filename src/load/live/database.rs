//! A database of detail `summary` from sums alone: what a build makes of the recording of the same run, but for bytes that
//! were written for nothing and regions, which the sums do not tell.

use super::super::dictionary::TraceFile;
use super::super::events::EventRows;
use super::super::finish::End;
use super::super::front::ProcessPart;
use super::super::{BuildError, Options, Report, suspicions};
use super::planner::Planner;
use super::rows::{KERNEL, REGION, Rows, STACK, STACK_START};
use crate::analysis::contexts::{StackSteps, StepContexts};
use crate::analysis::origin::{Origin, Source, Sources, StackSide};
use crate::analysis::place::{Place, PlaceCode};
use crate::analysis::summary::{FunctionFlow, ThreadSteps};
use crate::analysis::sums::{FunctionSums, PairSums};
use crate::analysis::{CallEdge, CallKind, ContextFlow, MergedSteps, Summary};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::Carries;
use crate::id::{FunctionId, StackId, ThreadId};
use crate::store::StoreError;
use crate::store::writer::Writer;
use crate::trace::Format;
use crate::trace::stream::Stream;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Numbers of the regions that are no stacks, and of those that are.
const HEAP: u32 = 0;
const STACKS: u32 = 1;

/// What a recorder of sums tells: what a stream does, and all stores.
fn carries() -> Carries {
    Carries { all_stores: true, ..Stream.carries() }
}

/// Writes the database. `name`: what the run is called there; `unique`: unique bytes and addresses were counted.
///
/// # Errors
/// It cannot be written.
pub fn write(
    options: &Options,
    name: &str,
    planner: &Planner,
    rows: &Rows,
    unique: bool,
) -> Result<Report, BuildError> {
    let mut writer = Writer::create(&options.output, options.force)?;
    system_calls(planner, rows, &writer)?;
    let connection = writer.join()?;
    let summary = summary(planner, rows);
    let mut diagnostics = Diagnostics::default();
    problems(planner, rows, &mut diagnostics);
    let space = planner.space.borrow();
    let named = planner.kernel.process().clone();
    let process = ProcessPart { named, first_thread: 0, first_instruction: 0 };
    let logged: Vec<u32> = rows.threads.iter().map(|(number, _)| *number).collect();
    let processes: Vec<Option<usize>> = space.images().iter().map(|_| Some(0)).collect();
    let mut counts = rows.counts.clone();
    counts.resize(planner.segments.len(), 0);
    let end = End {
        connection: &connection,
        options,
        space: &space,
        sections: &planner.sections,
        mapped: &FxHashMap::default(),
        processes: &[process],
        logged_threads: &logged,
        image_processes: &processes,
        insn_images: &planner.insn_images,
        insns: &planner.insns,
        defs: &planner.segments,
        counts: &counts,
        summary: &summary,
        isa: planner.isa,
        threads: true,
        low: false,
        packed: None,
        dead: false,
        unique,
    };
    let (path, format) = (name.to_owned(), "sums");
    let trace = TraceFile { path, format, size: None, hash: None, carries: carries() };
    let functions = end.write(planner.functions.names.clone(), &[trace], &diagnostics)?;
    writer.commit(connection)?;
    let (steps, calls) = (summary.steps, u64::from(summary.calls));
    Ok(Report { format, steps, calls, functions, diagnostics })
}

/// Writes what the program asked of the kernel.
fn system_calls(planner: &Planner, rows: &Rows, writer: &Writer) -> Result<(), BuildError> {
    let sender = writer.sender().ok_or(StoreError::Stopped)?;
    // A failed send means that the writer has ended: its error is taken when it is joined.
    let send = |batch| drop(sender.send(batch));
    let mut events = EventRows::new(send, false);
    for (steps, event) in &planner.system_calls {
        let mut event = event.clone();
        let index = |number: u32| rows.threads.iter().position(|(known, _)| *known == number);
        event.renumber(|number| index(number).unwrap_or(0) as u32);
        events.add(&event, *steps);
    }
    events.finish();
    Ok(())
}

/// What is not exact, and what the code shows of how it was recorded.
fn problems(planner: &Planner, rows: &Rows, to: &mut Diagnostics) {
    for problem in &rows.problems {
        to.add(Diagnostic {
            severity: Severity::Error,
            code: "sums-not-exact",
            message: format!("the sums are not exact: {problem}"),
            position: String::new(),
            remedy: "record without --no-steps",
        });
    }
    if planner.calls_left_out > 0 {
        let message = format!("{} system calls have no rows", planner.calls_left_out);
        to.add(Diagnostic {
            severity: Severity::Warning,
            code: "system-calls-left-out",
            message,
            position: String::new(),
            remedy: "record without --no-steps for all of them",
        });
    }
    if rows.several() > 0 {
        let message = format!(
            "calling contexts that are entered seldom count as another one of their function, in the data of {} functions",
            rows.several()
        );
        to.add(Diagnostic {
            severity: Severity::Info,
            code: "contexts-merged",
            message,
            position: String::new(),
            remedy: "record without --no-steps to tell all of them apart",
        });
    }
    let (insns, counts) = (&planner.insns, &rows.counts);
    suspicions::renamed(insns, &planner.segments, counts).into_iter().for_each(|d| to.add(d));
    let names = &planner.functions.names;
    let nameless = suspicions::nameless(insns, &planner.segments, counts, names);
    nameless.into_iter().for_each(|d| to.add(d));
}

/// A writer or reader: as what it counts, and in which context.
#[derive(Clone, Copy)]
struct Side {
    function: Origin<FunctionId>,
    /// What a stub is merged into.
    into: Origin<FunctionId>,
    context: Option<StackId>,
}

fn summary(planner: &Planner, rows: &Rows) -> Summary {
    let mut sources = Sources::default();
    let numbers: Vec<_> = planner.sources.iter().map(|name| sources.number(Some(name))).collect();
    let source = |number: u32| match number.checked_sub(KERNEL) {
        Some(at) => numbers.get(at as usize).map(|source| Origin::Source(Source::Named(*source))),
        None if number == STACK_START => Some(Origin::Source(Source::Initial(StackSide::Above))),
        None => Some(Origin::Source(Source::Initial(StackSide::Below))),
    };
    let end = |number: u32| match rows.actor(number) {
        Some(actor) => {
            let [function, into] = [actor.function, actor.into].map(FunctionId::new);
            let context = StackId::new(actor.context);
            Some(Side { function: Origin::Step(function?), into: Origin::Step(into?), context })
        }
        None => source(number).map(|from| Side { function: from, into: from, context: None }),
    };
    let places = Places::new(planner);
    let flow = |&(ends, sums): &([u32; 3], [u64; 4])| {
        let ([writer, reader, place], [bytes, unique, transfers, addresses]) = (ends, sums);
        let sums = PairSums { bytes, unique, transfers, addresses };
        Some((end(writer)?, end(reader)?, places.code(place)?, sums))
    };
    let flows: Vec<_> = rows.flows.iter().filter_map(flow).collect();
    let mut functions = vec![FunctionSums::default(); planner.functions.names.len()];
    for &(number, [calls, steps_self, steps_total, written_bytes]) in &rows.functions {
        let id = FunctionId::new(number);
        if let Some(sums) = id.and_then(|id| functions.get_mut(id.index())) {
            *sums = FunctionSums { calls, steps_self, steps_total, written_bytes, dead_bytes: 0 };
        }
    }
    let [steps, calls, first_sp] = rows.run;
    let threads = rows.threads.iter().enumerate();
    let merged: BTreeSet<FunctionId> = stubs(rows).map(|(stub, ..)| stub).collect();
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
        call_edges: call_edges(&rows.calls),
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
        stub_calls: call_edges(&rows.stub_calls),
        merged_calls: stubs(rows).map(|(.., [calls, _])| calls).sum(),
        merged_steps: merged_steps(rows),
        stubs: merged.into_iter().collect(),
        contexts: contexts(rows),
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
fn stubs(rows: &Rows) -> impl Iterator<Item = (FunctionId, FunctionId, [u64; 2])> + '_ {
    rows.actors.iter().filter_map(|actor| {
        let [stub, into] = [actor.function, actor.into].map(FunctionId::new);
        Some((stub?, into?, actor.stub?))
    })
}

fn merged_steps(rows: &Rows) -> FxHashMap<FunctionId, MergedSteps> {
    let mut found: FxHashMap<FunctionId, MergedSteps> = FxHashMap::default();
    for (stub, into, [calls, steps]) in stubs(rows).filter(|(stub, into, _)| stub != into) {
        let gone = found.entry(stub).or_default();
        gone.calls += calls;
        gone.steps += steps;
        found.entry(into).or_default().come += steps;
    }
    found
}

fn call_edges(rows: &[([u32; 3], [u64; 2])]) -> Vec<CallEdge> {
    use CallKind::{Call, Gap, Root, Signal, Stub, Tail};
    let kinds = [Call, Tail, Signal, Root, Stub, Gap];
    let edge = |&([caller, callee, kind], [calls, steps]): &([u32; 3], [u64; 2])| {
        let (callee, kind) = (FunctionId::new(callee)?, *kinds.get(kind as usize)?);
        Some(((FunctionId::new(caller), callee, kind), calls, steps))
    };
    CallEdge::list(rows.iter().filter_map(edge))
}

fn contexts(rows: &Rows) -> StepContexts {
    StepContexts::of(rows.contexts.iter().filter_map(|&([parent, function], figures)| {
        let [calls, steps_self] = figures;
        let figures = StackSteps { calls, steps_self };
        Some((StackId::new(parent), FunctionId::new(function)?, figures))
    }))
}

/// Places by the numbers that the recorder has for them.
struct Places(Vec<Option<PlaceCode>>);

impl Places {
    fn new(planner: &Planner) -> Places {
        let first = |place: &super::planner::PlaceName| {
            let is = |row: &super::super::dictionary::SectionRow| {
                (row.via, &row.name, row.image) == (place.via, &place.name, place.image)
            };
            planner.sections.iter().position(is).map(|i| PlaceCode::of(Place::Section(i as u32)))
        };
        Places(planner.places.iter().map(first).collect())
    }

    fn code(&self, number: u32) -> Option<PlaceCode> {
        match number {
            0 => Some(PlaceCode::REGISTER),
            _ if number & STACK != 0 => Some(PlaceCode::of(Place::Region(STACKS))),
            _ if number & REGION != 0 => Some(PlaceCode::of(Place::Region(HEAP))),
            _ => self.0.get(number as usize - 1).copied().flatten(),
        }
    }
}
