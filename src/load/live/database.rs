//! A database of detail `summary` from sums alone: what a build makes of the recording of the same run, but for bytes that
//! were written for nothing and regions, which the sums do not tell.

use super::super::dictionary::TraceFile;
use super::super::events::EventRows;
use super::super::finish::{End, longest};
use super::super::front::ProcessPart;
use super::super::{BuildError, Options, Report, suspicions};
use super::planner::Planner;
use super::processes::{Code, Part};
use super::rows::Rows;
use super::summary::{Known, merged, summary};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::Carries;
use crate::id::FunctionId;
use crate::store::StoreError;
use crate::store::writer::Writer;
use crate::trace::Format;
use crate::trace::stream::{KernelSources, Stream};
use rustc_hash::FxHashMap;

/// What a recorder of sums tells: what a stream does, and all stores.
fn carries() -> Carries {
    Carries { all_stores: true, ..Stream.carries() }
}

/// Writes the database. `parts`: what is of each process alone; `name`: what the run is called there; `unique`: unique
/// bytes and addresses were counted.
///
/// # Errors
/// It cannot be written.
pub fn write(
    options: &Options,
    name: &str,
    planner: &Planner,
    (rows, parts): (&Rows, &[Part]),
    unique: bool,
) -> Result<Report, BuildError> {
    let mut writer = Writer::create(&options.output, options.force)?;
    system_calls(planner, parts, &writer)?;
    let connection = writer.join()?;
    let summary = summary(&known(planner), rows);
    let mut diagnostics = Diagnostics::default();
    let code = Code::new(planner, parts);
    problems(planner, rows, &code, &mut diagnostics);
    let space = planner.space.borrow();
    let mut first_thread = 0;
    let mut processes = Vec::new();
    for ((process, part), first) in planner.processes.iter().zip(parts).zip(&code.first) {
        let named = process.kernel.process().clone();
        processes.push(ProcessPart { named, first_thread, first_instruction: *first });
        first_thread += part.threads.len();
    }
    let logged: Vec<u32> = rows.threads.iter().map(|(number, _)| *number).collect();
    let end = End {
        connection: &connection,
        options,
        space: &space,
        sections: &planner.sections,
        mapped: &FxHashMap::default(),
        processes: &processes,
        logged_threads: &logged,
        image_processes: &planner.image_processes,
        insn_images: &code.images,
        insns: &code.insns,
        executions: &code.executions,
        longest_block: longest(&planner.segments),
        defs: &[],
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
fn system_calls(planner: &Planner, parts: &[Part], writer: &Writer) -> Result<(), BuildError> {
    let sender = writer.sender().ok_or(StoreError::Stopped)?;
    // A failed send means that the writer has ended: its error is taken when it is joined.
    let send = |batch| drop(sender.send(batch));
    let mut events = EventRows::new(send, false);
    let (mut before, mut first_thread) = (0, 0);
    for (process, part) in planner.processes.iter().zip(parts) {
        for (steps, event) in &process.system_calls {
            let mut event = event.clone();
            let index = |number: u32| part.threads.iter().position(|(known, _)| *known == number);
            event.renumber(|number| (first_thread + index(number).unwrap_or(0)) as u32);
            events.add(&event, before + steps);
        }
        before += part.run[0];
        first_thread += part.threads.len();
    }
    events.finish();
    Ok(())
}

/// The code of a problem of the sums.
pub const NOT_EXACT: &str = "sums-not-exact";

/// What is not exact, and what the code shows of how it was recorded.
fn problems(planner: &Planner, rows: &Rows, code: &Code, to: &mut Diagnostics) {
    for problem in &rows.problems {
        to.add(Diagnostic {
            severity: Severity::Error,
            code: NOT_EXACT,
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
    let kernels = planner.processes.iter().map(|process| &process.kernel);
    KernelSources::said(kernels).into_iter().for_each(|d| to.add(d));
    planner.problems.iter().for_each(|problem| to.add(problem.clone()));
    if rows.run[3] > 0 {
        to.add(suspicions::contexts(rows.run[3]));
    }
    merged(rows.several()).into_iter().for_each(|d| to.add(d));
    let (insns, segments, counts) = (&planner.insns, &planner.segments, &code.counts);
    suspicions::renamed(insns, segments, counts).into_iter().for_each(|d| to.add(d));
    let names = &planner.functions.names;
    let nameless = suspicions::nameless(insns, segments, counts, names);
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
