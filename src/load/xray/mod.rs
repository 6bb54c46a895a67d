//! From XRay logs to tables: [`calls`] makes call instances of their events.

mod calls;
mod functions;
mod rows;

use super::sums::Sums;
use super::tables::{Filled, Load, TableLoader};
use super::{BuildError, Detail};
use crate::analysis::CallKind;
use crate::analysis::contexts::Context;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::id::{ProcessId, ThreadId};
use crate::store::StoreError;
use crate::store::table::{self, Table, Tables};
use crate::store::tables::{CallStack, CallStacks, Process, Thread, Threads};
use crate::trace::input::Input;
use crate::trace::xray::{Index, Kind, Problems, Xray, merge};
use crate::trace::{Listener, TraceError};
use calls::{Calls, KINDS};
use functions::{Functions, warning};
use rows::{Message, Rows};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Bytes of a compressed log or of a pipe at most: it is kept in memory as a whole, a file is
/// mapped.
const MOST_IN_MEMORY: usize = 4 << 30;

/// Derived tables, in the order in which each has what it reads.
pub const TIMES: [(&str, &str); 2] = [
    ("stack_time", include_str!("../../../queries/derive/high/stack_time.sql")),
    ("function_time", include_str!("../../../queries/derive/high/function_time.sql")),
];

/// What the worker found.
struct Found<'a> {
    calls: Calls,
    functions: Functions<'a>,
    problems: Problems,
    /// There are more calls than ids.
    too_many: bool,
}

/// Decodes everything and sends the rows.
fn work<'a>(
    files: &[&[u8]],
    index: &mut Index,
    mut functions: Functions<'a>,
    detail: Detail,
    sender: mpsc::SyncSender<Message>,
    stop: &AtomicBool,
) -> Found<'a> {
    let mut calls = Calls::new(index.threads.len());
    let progress_to = sender.clone();
    let mut rows = Rows::new(sender, detail);
    let mut problems = std::mem::take(&mut index.problems);
    let mut too_many = false;
    let mut done = 0;
    let mut progress = |bytes: u64| {
        done += bytes;
        if done > 1 << 20 {
            let _ = progress_to.send(Message::Progress(std::mem::take(&mut done)));
        }
        !stop.load(Ordering::Relaxed)
    };
    merge(
        files,
        &index.blocks,
        &index.threads,
        &mut problems,
        &mut progress,
        |thread, block, event| {
            if too_many || rows.stopped() {
                return;
            }
            match event.kind {
                Kind::Enter | Kind::Exit | Kind::TailExit => {
                    let function = functions.id(event.function);
                    too_many = !calls.event(thread, event, function, &mut rows);
                }
                Kind::Data => {
                    rows.data_from(files[block.file as usize], block);
                    calls.data(thread, event, &mut rows);
                }
                Kind::Argument => calls.argument(thread, event.value, &mut rows),
            }
        },
    );
    calls.finish(&mut rows);
    rows.finish();
    Found { calls, functions, problems, too_many }
}

fn fill(inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError> {
    let file_names: Vec<String> = inputs.iter().map(|i| i.name().to_owned()).collect();
    let mut chunks = Vec::new();
    for input in inputs {
        let left = usize::try_from((load.memory() / 2).max(1 << 20)).unwrap_or(usize::MAX);
        let limit = if input.is_mapped() { usize::MAX } else { MOST_IN_MEMORY.min(left) };
        let (chunk, error) = input.whole(limit)?;
        if let Some(error) = error {
            load.problem(error.into_damage()?)?;
        }
        chunks.push(chunk);
    }
    let files: Vec<&[u8]> = chunks.iter().map(|c| &c[..]).collect();
    let mut index = Index::new(&files);
    for (file, name) in file_names.iter().enumerate() {
        if !index.headers.iter().any(|(f, _)| *f as usize == file) {
            return Err(TraceError::Malformed {
                name: name.clone(),
                position: "byte 0".into(),
                message: "no header of an XRay log of version 1 to 5".into(),
                remedy: "give the files that the XRay runtime wrote (xray-log.*)".into(),
            }
            .into());
        }
    }
    let frequency = frequency(&index, &file_names, load)?;
    let space = load.space.clone();
    let functions = Functions::new(&space);
    let detail = load.detail;
    let (sender, receiver) = mpsc::sync_channel(8);
    let stop = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let (files, index, stop) = (&files, &mut index, &stop);
        let worker = scope.spawn(move || work(files, index, functions, detail, sender, stop));
        let result = receive(load, receiver);
        stop.store(true, Ordering::Relaxed);
        let found = worker.join();
        result.and(found.map_err(|_| StoreError::Stopped.into()))
    })?;
    for (diagnostic, count) in found.problems.diagnostics(&file_names) {
        load.problems(diagnostic, count)?;
    }
    fits(&found, load)?;
    let functions = found.functions.write(load)?;
    let calls = &found.calls;
    machine(calls, &index, load)?;
    sums(calls, load)?;
    for (table, sql) in TIMES {
        load.connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
    }
    let kinds: BTreeSet<String> = index
        .headers
        .iter()
        .map(|(_, h)| format!("{} {}", if h.fdr { "fdr" } else { "basic" }, h.version))
        .collect();
    Ok(Filled {
        carries: Carries { calls: true, time: true, threads: true, ..Carries::default() },
        steps: 0,
        calls: u64::from(calls.len()),
        functions,
        meta: vec![
            ("xray", Some(kinds.into_iter().collect::<Vec<_>>().join(", "))),
            ("cycle_frequency", frequency.map(|f| f.to_string())),
            ("events", Some(calls.counts().events.to_string())),
        ],
    })
}

/// Appends what the worker sends.
fn receive(load: &mut Load, receiver: mpsc::Receiver<Message>) -> Result<(), BuildError> {
    let mut tables = Tables::new(load.connection);
    for message in receiver {
        load.check()?;
        match message {
            Message::Rows(batch) => {
                tables.append(batch)?;
            }
            Message::Progress(bytes) => load.progress(bytes),
        }
    }
    Ok(())
}

/// Ticks a second, if the logs agree.
fn frequency(index: &Index, names: &[String], load: &mut Load) -> Result<Option<u64>, BuildError> {
    let Some((_, first)) = index.headers.first() else { return Ok(None) };
    if let Some((file, other)) = index.headers.iter().find(|(_, h)| h.frequency != first.frequency)
    {
        let message = format!(
            "clocks of {} and {} ticks a second: times in seconds are left out",
            first.frequency, other.frequency
        );
        let mut problem =
            warning("xray-frequencies", message, "build a database of the logs of each machine");
        problem.position = format!("{}: byte {}", names[*file as usize], other.at);
        load.problem(problem)?;
        return Ok(None);
    }
    if first.frequency == 0 {
        let message =
            "the log does not say how many ticks a second has: times in seconds are left out"
                .into();
        load.problem(warning("xray-no-frequency", message, ""))?;
        return Ok(None);
    }
    Ok(Some(first.frequency))
}

/// Says which entries and exits fit to nothing.
fn fits(found: &Found, load: &mut Load) -> Result<(), BuildError> {
    let c = found.calls.counts();
    if found.too_many {
        let message = format!("more than {} calls: the rest of the log is not loaded", calls::MOST);
        let remedy = "record a shorter run";
        load.problem(Diagnostic {
            severity: Severity::Error,
            code: "too-many-calls",
            message,
            position: String::new(),
            remedy,
        })?;
    }
    let short = "the runtime leaves out calls below func_duration_threshold_us and overwrites or drops buffers when they are full";
    let info = [
        (c.open, "xray-open", "calls without an exit: they have no duration", short),
        (
            c.gaps,
            "xray-gap",
            "exits without an entry: calls of kind gap, without caller and duration",
            short,
        ),
        (c.unwound, "xray-unwound", "calls whose exit is missing ended with their caller's", short),
        (
            c.chained,
            "xray-chained",
            "tail exits that name the first function of a chain of tail calls",
            "",
        ),
    ];
    for (count, code, message, remedy) in info {
        if count > 0 {
            let (severity, message, position) = (Severity::Info, message.to_owned(), String::new());
            load.problems(Diagnostic { severity, code, message, position, remedy }, count)?;
        }
    }
    if c.stray_arguments > 0 {
        let message = "arguments that follow no entry were skipped".into();
        load.problems(warning("xray-stray-argument", message, ""), c.stray_arguments)?;
    }
    if c.backwards > 0 {
        let message =
            "times of a thread that go back: durations across them are wrong or left out".into();
        load.problems(
            warning(
                "xray-clock-back",
                message,
                "the processors' counters differ: bind the program to one",
            ),
            c.backwards,
        )?;
    }
    Ok(())
}

/// `process` and `thread`.
fn machine(calls: &Calls, index: &Index, load: &Load) -> Result<(), BuildError> {
    let mut processes: Vec<(Option<i32>, u32)> = Vec::new();
    let mut table = Table::<Threads>::new(load.connection);
    let met: HashSet<usize> = calls.order.iter().copied().collect();
    let rest = (0..index.threads.len()).filter(|t| !met.contains(t));
    let mut by_pid: FxHashMap<(Option<i32>, u32), ProcessId> = FxHashMap::default();
    for (i, thread) in calls.order.iter().copied().chain(rest).enumerate() {
        let block = &index.blocks[index.threads[thread].start];
        let process = (block.pid, block.fork);
        let process_id = *by_pid.entry(process).or_insert_with(|| {
            processes.push(process);
            ProcessId::at(processes.len() - 1)
        });
        let (thread_id, tid) = (ThreadId::at(i), Some(i64::from(block.tid)));
        table.push(Thread { thread_id, process_id, tid, steps: None })?;
    }
    table.finish()?;
    if processes.is_empty() {
        processes.push((None, 0));
    }
    let process = |(i, &(pid, fork)): (usize, &(Option<i32>, u32))| Process {
        process_id: ProcessId::at(i),
        // The number of a child is not in its file.
        pid: pid.filter(|_| fork == 0).and_then(|pid| u64::try_from(pid).ok()),
        name: None,
    };
    Ok(table::fill(load.connection, processes.iter().enumerate().map(process))?)
}

/// `call_stack`, `call_edge`, `function_profile`.
fn sums(calls: &Calls, load: &Load) -> Result<(), BuildError> {
    let contexts = calls.contexts();
    let mut sums = Sums::default();
    let mut table = Table::<CallStacks>::new(load.connection);
    for (stack_id, context) in contexts.iter() {
        let &Context { parent, function, depth, figures, .. } = context;
        table.push(CallStack {
            stack_id,
            parent_stack_id: parent,
            function_id: function,
            depth,
            nested: figures.nested,
        })?;
        let caller = parent.map(|p| contexts.get(p).function);
        for (kind, n) in KINDS.into_iter().zip(figures.calls).filter(|(_, n)| *n > 0) {
            sums.call((caller, function, kind), n, None);
            sums.profile(function).calls += n;
        }
    }
    table.finish()?;
    for (function, n) in calls.gaps() {
        sums.call((None, function, CallKind::Gap), n, None);
        sums.profile(function).calls += n;
    }
    Ok(sums.write(load.connection)?)
}

impl TableLoader for Xray {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError> {
        fill(inputs, load)
    }
}
