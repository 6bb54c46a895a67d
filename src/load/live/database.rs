//! A database of detail `summary` from sums alone: what a build makes of the recording of the same run, but for bytes that
//! were written for nothing and regions, which the sums do not tell.

use super::super::dictionary::TraceFile;
use super::super::events::EventRows;
use super::super::finish::End;
use super::super::front::ProcessPart;
use super::super::{BuildError, Options, Report, suspicions};
use super::planner::Planner;
use super::rows::Rows;
use super::summary::{Known, merged, summary};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::Carries;
use crate::id::FunctionId;
use crate::store::StoreError;
use crate::store::writer::Writer;
use crate::trace::Format;
use crate::trace::stream::Stream;
use rustc_hash::FxHashMap;

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
    let summary = summary(&known(planner), rows);
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
    merged(rows.several()).into_iter().for_each(|d| to.add(d));
    let (insns, counts) = (&planner.insns, &rows.counts);
    suspicions::renamed(insns, &planner.segments, counts).into_iter().for_each(|d| to.add(d));
    let names = &planner.functions.names;
    let nameless = suspicions::nameless(insns, &planner.segments, counts, names);
    nameless.into_iter().for_each(|d| to.add(d));
}

/// All that the planner has numbered, as it is.
fn known(planner: &Planner) -> Known {
    let functions = planner.functions.names.len();
    Known {
        functions: (0..functions).map(|at| Some(FunctionId::at(at))).collect(),
        function_count: functions,
        places: planner.places.iter().map(|place| place.code(&planner.sections)).collect(),
        sources: planner.sources.clone(),
        ..Known::default()
    }
}
