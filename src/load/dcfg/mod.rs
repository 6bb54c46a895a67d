//! From dynamic control-flow graphs and their traces to tables: `walk` goes along the edges with a
//! call stack and the loops that are being run.

mod code;
mod control;
mod dictionary;
mod loops;
mod replay;
mod rows;
mod sink;
mod sums;
mod walk;

use super::tables::{Filled, Load, TableLoader};
use super::{BuildError, Detail};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::id::ProcessId;
use crate::store::table::Table;
use crate::store::tables::{Thread, Threads};
use crate::trace::TraceError;
use crate::trace::dcfg::graph::{Graph, sum};
use crate::trace::dcfg::{self, Dcfg};
use crate::trace::input::Input;
use code::Code;
use replay::Seen;
use rows::Rows;
use sink::Counters;
use std::sync::Arc;

impl TableLoader for Dcfg {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError> {
        let (traces, mut graphs): (Vec<_>, Vec<_>) = inputs.into_iter().partition(dcfg::is_trace);
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
        let graph = dcfg::read_graph(input, load)?;
        load.check()?;
        for trace in &traces {
            if trace.size() == Some(0) {
                return Err(TraceError::Empty { name: trace.name().into() }.into());
            }
        }
        let elf = code::match_elfs(&graph, &load.space);
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

fn walk_and_write(
    graph: Arc<Graph>,
    elf: Vec<Vec<Option<usize>>>,
    traces: Vec<Input>,
    load: &mut Load,
) -> Result<Filled, BuildError> {
    let with_trace = !traces.is_empty();
    let low = load.detail >= Detail::Pairs && with_trace;
    let connection = load.connection;
    let space = load.space.clone();
    let mut code = Code::new(&graph, &space, elf);
    let mut counters = Counters::default();
    let mut seen = Seen::new(&graph);
    if with_trace {
        let mut rows = Rows::new(connection, &mut code, load.detail);
        for input in traces {
            let counters = &mut counters;
            replay::TraceFile { graph: &graph, rows: &mut rows, counters, seen: &mut seen }
                .walk(input, load)?;
        }
        rows.finish()?;
    }
    code.complete();
    say_what_differs(&code, with_trace, load)?;
    code.write_processes(connection)?;
    let mut threads = Table::<Threads>::new(connection);
    let mut steps = counters.steps;
    for (p, process) in graph.processes.iter().enumerate() {
        for t in 0..process.threads() {
            let counted = process.instructions_per_thread.get(t).copied();
            if !with_trace {
                steps = sum([steps, counted.unwrap_or(0)]);
            }
            threads.push(Thread {
                thread_id: code.thread_id(p, t),
                process_id: ProcessId::at(p),
                tid: i64::try_from(t).ok(),
                steps: seen.steps(p, t).or(counted),
            })?;
        }
    }
    threads.finish()?;
    let functions = code.write_functions(connection, &mut load.files)?;
    code.write_instructions(connection, &mut load.files)?;
    let longest = if low { code.write_steps(connection)? } else { 0 };
    code.write_graph(connection, &mut load.files, low)?;
    let calls = if with_trace {
        counters.sums().write(connection)?;
        u64::from(counters.numbers.calls())
    } else {
        let (sums, calls) = sums::of_graph(&code);
        sums.write(connection)?;
        calls
    };
    let isa = space.images().first().map(|l| format!("{:?}", l.image.isa).to_lowercase());
    let version = format!("{}.{:02}", graph.version.0, graph.version.1);
    Ok(Filled {
        carries: Carries {
            steps: with_trace && code.has_instructions(),
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

/// Says where the ELF files given are not what the graph is of.
fn say_what_differs(code: &Code, with_trace: bool, load: &mut Load) -> Result<(), BuildError> {
    if let Some(&(block, address)) = code.mismatches.first() {
        let (other, all) = (code.mismatches.len() as u64, code.compared);
        load.compare_elf(other, all, || {
            format!(
                "{other} of {all} blocks have other instructions in the ELF file, the first at {address:#x}"
            )
        })?;
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
    if with_trace && !code.has_instructions() {
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
    Ok(())
}
