//! Intel's dynamic control-flow graphs (DCFG 1.00 and before) and DCFG-traces.
//!
//! `graph` reads the graph, a JSON document, and checks it; `sequence` decodes edge sequences;
//! `trace` streams the DCFG-trace; `walk` goes along the edges with a call stack and the loops that
//! are being run; `tables` writes.

mod graph;
pub mod json;
mod sequence;
mod tables;
mod trace;
mod walk;

use super::input::Input;
use super::{Format, Loaded, TableFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::load::{BuildError, Detail, Load};
use crate::store::StoreError;
use crate::store::columns::{self, ColumnOutput, Table};
use duckdb::arrow::array::ArrayRef;
use duckdb::params;
use graph::{Graph, Notes};
use std::cell::RefCell;
use std::sync::{Arc, mpsc};
use tables::{Code, Rows};
use trace::Message;
use walk::{Counters, Walk};

pub use graph::EdgeKind;

/// Bytes of a graph at most; it is kept in memory.
const LARGEST: usize = 4 << 30;

pub struct Dcfg;

fn has(head: &[u8], key: &str) -> bool {
    memchr::memmem::find(head, format!("\"{key}\"").as_bytes()).is_some()
}

fn is_trace(head: &[u8]) -> bool {
    has(head, "STRING_DICTIONARY") || has(head, "TRANSITION_TABLE")
}

impl Format for Dcfg {
    fn name(&self) -> &'static str {
        "dcfg"
    }
    fn about(&self) -> &'static str {
        "Intel SDE or PinPlay: dynamic control-flow graph (DCFG), with its DCFG-trace if there is one"
    }
    fn record(&self) -> &'static str {
        "sde -dcfg 1 -dcfg:write_trace 1 -- app; addfg export DB --to dcfg"
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, calls: true, threads: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let begins = head.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        begins
            && (has(head, "MAJOR_VERSION")
                && (has(head, "PROCESSES")
                    || has(head, "FILE_NAMES")
                    || has(head, "MINOR_VERSION"))
                || has(head, "PROCESS_DATA")
                || has(head, "EDGE_TYPES")
                || is_trace(head))
    }
    fn help(&self) -> &'static str {
        include_str!("../../../docs/dcfg.md")
    }
}

impl TableFormat for Dcfg {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Loaded, BuildError> {
        let (traces, mut graphs): (Vec<_>, Vec<_>) =
            inputs.into_iter().partition(|i| is_trace(i.head()));
        let malformed = |name: &str, message: &str, remedy: &str| {
            let (name, position) = (name.to_owned(), "1".to_owned());
            BuildError::Trace(TraceError::Malformed {
                name,
                position,
                message: message.into(),
                remedy: remedy.into(),
            })
        };
        let Some(input) = graphs.pop() else {
            let name = traces.first().map_or("", |t| t.name());
            let message = "a DCFG-trace without its DCFG, which says what its edges are";
            return Err(malformed(
                name,
                message,
                "give both: addfg build app.dcfg.json app.trace.json",
            ));
        };
        if let Some(other) = graphs.first() {
            return Err(malformed(other.name(), "a second DCFG", "build a database of each run"));
        }
        let graph = read_graph(input, load)?;
        for trace in &traces {
            if trace.size() == Some(0) {
                return Err(TraceError::Empty { name: trace.name().into() }.into());
            }
        }
        let elf = tables::match_elfs(&graph, &load.space);
        let placed: Vec<(usize, u64)> = graph
            .processes
            .iter()
            .zip(&elf)
            .flat_map(|(p, of)| {
                p.images.iter().zip(of).filter_map(|(i, e)| Some(((*e)?, i.load_address)))
            })
            .collect();
        let paths: Vec<_> = load.space.images().iter().map(|l| l.image.path.clone()).collect();
        load.place(|image| {
            let number = paths.iter().position(|p| *p == image.path)?;
            let at = placed.iter().find(|p| p.0 == number)?.1;
            Some(at.wrapping_sub(image.load_range.0 & !0xfff))
        });
        if !load.space.images().is_empty() && elf.iter().flatten().all(Option::is_none) {
            load.problem(Diagnostic {
                severity: Severity::Warning,
                code: "dcfg-elf",
                message: "no image of the DCFG has the name of an ELF file given: functions come from its own symbols".into(),
                position: String::new(),
                remedy: "give the program that was recorded, under the name that it had",
            })?;
        }
        walk_and_write(Arc::new(graph), elf, traces, load)
    }
}

fn read_graph(input: Input, load: &mut Load) -> Result<Graph, BuildError> {
    let name = input.name().to_owned();
    let (bytes, damage) = input.whole(LARGEST)?;
    load.progress(bytes.consumed)?;
    if let Some(damage) = damage {
        load.problem(damage.into_damage()?)?;
    }
    let mut notes = crate::diagnostics::Diagnostics::default();
    let document = match serde_json::from_slice(&bytes) {
        Ok(document) => document,
        Err(_) => {
            let mut text = bytes.to_vec();
            json::mend_numbers(&mut text);
            match serde_json::from_slice(&text) {
                Ok(document) => document,
                Err(error) => {
                    // Up to the damage, which is where the parser stopped.
                    let line = error.line().saturating_sub(1);
                    let start = if line == 0 {
                        0
                    } else {
                        memchr::memchr_iter(b'\n', &text).nth(line - 1).map_or(0, |n| n + 1)
                    };
                    let end =
                        start.saturating_add(error.column().saturating_sub(1)).min(text.len());
                    let mended =
                        json::mend_end(&text[..end]).and_then(|t| serde_json::from_slice(&t).ok());
                    let Some(document) = mended else {
                        let position = format!("{}:{}", error.line(), error.column());
                        let remedy = "write the file again".to_owned();
                        return Err(TraceError::Malformed {
                            name,
                            position,
                            message: format!("no JSON: {error}"),
                            remedy,
                        }
                        .into());
                    };
                    load.problem(Diagnostic {
                        severity: Severity::Error,
                        code: "damaged-input",
                        message: format!("{error}; what follows was lost"),
                        position: format!("{name}:{}:{}", error.line(), error.column()),
                        remedy: "copy or record the file again; what was read up to here is in the database",
                    })?;
                    document
                }
            }
        }
    };
    let graph = Graph::read(&document, &mut Notes { name: &name, all: &mut notes });
    load.all_problems(&notes)?;
    graph.map_err(|message| {
        let remedy = "give a DCFG as its document describes it".to_owned();
        TraceError::Malformed { name, position: "1".into(), message, remedy }.into()
    })
}

/// Whether and how a thread was seen in a trace.
#[derive(Clone, Copy, Default)]
struct Seen {
    steps: u64,
    seen: bool,
}

fn walk_and_write(
    graph: Arc<Graph>,
    elf: Vec<Vec<Option<usize>>>,
    traces: Vec<Input>,
    load: &mut Load,
) -> Result<Loaded, BuildError> {
    let (middle, low) = (load.detail >= Detail::Instance, load.detail >= Detail::Pairs);
    let with_trace = !traces.is_empty();
    let connection = load.connection;
    let space = load.space.clone();
    let mut code = Code::new(&graph, &space, elf);
    let mut counters = Counters::default();
    let mut seen: Vec<Vec<Seen>> =
        graph.processes.iter().map(|p| vec![Seen::default(); p.threads()]).collect();
    if with_trace {
        let failed: RefCell<Option<StoreError>> = RefCell::new(None);
        let appender = |t: &Table| match t {
            Table::BlockRun => connection.appender_with_columns(t.name(), &tables::RUN_COLUMNS),
            t => connection.appender(t.name()),
        };
        let appenders: Result<Vec<_>, _> = Table::ALL.iter().map(appender).collect();
        let appenders = RefCell::new(appenders?);
        let send = |table: Table, rows: Vec<ArrayRef>| {
            let appended = || -> Result<(), StoreError> {
                Ok(appenders.borrow_mut()[table as usize]
                    .append_record_batch(columns::batch(rows)?)?)
            };
            if let Err(e) = appended() {
                failed.borrow_mut().get_or_insert(e);
            }
        };
        let mut rows = Rows::new(&mut code, ColumnOutput::new(&send), &send, middle, low);
        for input in traces {
            walk_trace(input, &graph, &mut rows, &mut counters, &mut seen, load)?;
        }
        rows.finish();
        drop(rows);
        if let Some(e) = failed.take() {
            return Err(e.into());
        }
        for appender in appenders.borrow_mut().iter_mut() {
            appender.flush()?;
        }
    }
    code.complete();
    if let Some(&(block, address)) = code.mismatches.first() {
        load.problem(Diagnostic {
            severity: Severity::Warning,
            code: "dcfg-code",
            message: format!(
                "{} blocks have other instructions in the ELF file, the first is node {block} at {address:#x}",
                code.mismatches.len()
            ),
            position: String::new(),
            remedy: "give the program that was recorded",
        })?;
    }
    code.write_processes(connection)?;
    let mut table = connection.appender("thread")?;
    let mut steps = counters.steps;
    for (p, process) in graph.processes.iter().enumerate() {
        for (t, seen) in seen[p].iter().enumerate() {
            let counted = process.instructions_per_thread.get(t).copied();
            let known = if seen.seen { Some(seen.steps) } else { counted };
            if !with_trace {
                steps = steps.saturating_add(counted.unwrap_or(0));
            }
            let id = code.thread_base[p] + t as i32 + 1;
            table.append_row(params![id, p as i32 + 1, t as i64, known.map(|s| s as i64)])?;
        }
    }
    table.flush()?;
    code.write_functions(connection, &mut load.files)?;
    let longest = code.write_instructions(connection, &mut load.files, low && with_trace)?;
    code.write_graph(connection, &mut load.files, low && with_trace)?;
    let calls = if with_trace {
        tables::write_counters(connection, &counters)?;
        u64::from(counters.calls())
    } else {
        let sums = code.static_sums();
        tables::write_static(connection, &sums)?;
        sums.calls.values().fold(0u64, |a, &b| a.saturating_add(b))
    };
    let (functions, has_instructions) = (code.function_count(), code.has_instructions());
    let isa = space.images().first().map(|l| format!("{:?}", l.image.isa).to_lowercase());
    if with_trace && !has_instructions {
        load.problem(Diagnostic {
            severity: Severity::Info,
            code: "dcfg-no-code",
            message:
                "steps are known by block only: opcode_line is empty, block_run has the blocks"
                    .into(),
            position: String::new(),
            remedy: "give the program: --elf FILE",
        })?;
    }
    let version = format!("{}.{:02}", graph.version.0, graph.version.1);
    Ok(Loaded {
        carries: Carries {
            steps: with_trace && has_instructions,
            calls: true,
            threads: true,
            ..Carries::default()
        },
        steps,
        calls,
        functions,
        meta: vec![
            ("isa", isa),
            ("steps", Some(steps.to_string())),
            ("longest_block", Some(longest.to_string())),
            ("dcfg_version", Some(version)),
            ("control_flow", Some(if with_trace { "trace" } else { "static" }.to_owned())),
        ],
    })
}

/// Goes through one trace file: a thread decodes, this one walks.
fn walk_trace<F: FnMut(Table, Vec<ArrayRef>)>(
    input: Input,
    graph: &Arc<Graph>,
    rows: &mut Rows<'_, '_, F>,
    counters: &mut Counters,
    seen: &mut [Vec<Seen>],
    load: &mut Load,
) -> Result<(), BuildError> {
    let name = input.name().to_owned();
    let (sender, messages) = mpsc::sync_channel(16);
    let shared = graph.clone();
    let reader = std::thread::Builder::new()
        .name("reader".into())
        .spawn(move || trace::read(input, shared, sender));
    let reader = reader.map_err(|source| StoreError::Io { path: "a thread".into(), source })?;
    let mut loop_instances: Vec<Vec<u32>> =
        graph.processes.iter().map(|p| vec![0; p.loops.len()]).collect();
    let mut notes = crate::diagnostics::Diagnostics::default();
    let mut thread = None;
    let mut messages = messages.into_iter();
    let mut result = Ok(());
    loop {
        let Some((p, t)) = thread.take() else {
            match messages.next() {
                Some(Message::Thread(p, t)) => thread = Some((p, t)),
                Some(Message::Progress(bytes)) => {
                    result = load.progress(bytes);
                    if result.is_err() {
                        break;
                    }
                }
                Some(Message::Done(found)) => {
                    for row in found.rows() {
                        notes.add_counted(row.first.clone(), row.count);
                    }
                }
                // What a chunk sends belongs to a thread.
                Some(_) => {}
                None => break,
            }
            continue;
        };
        let place = format!("process {}, thread {t}", graph.processes[p].pid);
        let mut note = Notes { name: &name, all: &mut notes };
        let known = usize::try_from(t).ok().and_then(|t| seen[p].get(t).copied());
        let remedy = "what is said here was left out: write the file again";
        match known {
            None => {
                let message = format!("the DCFG has no thread {t}: its trace was left out");
                note.add(Severity::Error, "dcfg-thread", &place, message, remedy);
                continue;
            }
            Some(Seen { seen: true, .. }) => {
                let message = "a second trace of this thread was left out".to_owned();
                note.add(Severity::Error, "dcfg-thread", &place, message, remedy);
                continue;
            }
            Some(_) => {}
        }
        rows.process = p;
        let process = &graph.processes[p];
        let bypass = tables::bypasses(process);
        let id = (rows.code.thread_base[p] + t as i32) as u32;
        let mut walk = Walk::new(process, id, counters, &mut loop_instances[p], &bypass, rows);
        let (mut skip, mut steps) = (false, 0);
        let (mut begin, mut wanted) = (0, 0);
        for message in messages.by_ref() {
            match message {
                Message::Thread(p, t) => {
                    thread = Some((p, t));
                    break;
                }
                Message::Chunk { preceding, instructions, edges } => {
                    skip = preceding < walk.steps();
                    if skip {
                        let message = format!(
                            "a chunk of {edges} edges begins at {preceding} instructions, behind {}: it was left out",
                            walk.steps()
                        );
                        note.add(Severity::Error, "dcfg-chunk-order", &place, message, remedy);
                    } else if preceding > walk.steps() {
                        let lost = preceding - walk.steps();
                        let message = format!(
                            "{lost} instructions before instruction {preceding} are not in the trace"
                        );
                        note.add(
                            Severity::Info,
                            "dcfg-gap",
                            &place,
                            message,
                            "calls that are open there begin anew, of kind gap",
                        );
                        walk.gap(preceding);
                    }
                    (begin, wanted) = (walk.steps(), instructions);
                }
                Message::Edges(edges) if !skip => edges.into_iter().for_each(|e| walk.edge(e)),
                Message::Edges(_) => {}
                Message::End(whole) if !skip => {
                    let counted = walk.steps() - begin;
                    steps += counted;
                    if whole && counted != wanted {
                        let message =
                            format!("a chunk of {wanted} instructions has blocks with {counted}");
                        note.warn("dcfg-chunk-count", &place, message);
                    }
                }
                Message::End(_) => {}
                Message::Progress(bytes) => {
                    result = load.progress(bytes);
                    if result.is_err() {
                        break;
                    }
                }
                Message::Done(found) => {
                    for row in found.rows() {
                        note.all.add_counted(row.first.clone(), row.count);
                    }
                }
            }
        }
        walk.finish();
        if walk.jumps > 0 {
            let message = format!("{} edges do not begin where the one before ends", walk.jumps);
            note.warn("dcfg-jump", &place, message);
        }
        if let Some(&all) = process.instructions_per_thread.get(t as usize)
            && steps < all
        {
            let message = format!("the trace has {steps} of the {all} instructions of this thread");
            note.add(
                Severity::Info,
                "dcfg-part",
                &place,
                message,
                "nothing, if only a part was recorded",
            );
        }
        seen[p][t as usize] = Seen { steps, seen: true };
        if result.is_err() {
            break;
        }
    }
    // A reader that still runs ends when nobody listens.
    drop(messages);
    let _ = reader.join();
    result?;
    load.all_problems(&notes)
}
