//! A dynamic control-flow graph and its trace, as `docs/dcfg.md` and Intel's document describe
//! them, of any database that has steps, and of a graph that was recorded.
//!
//! The run is gone through three times: for the basic blocks, for the edges and what follows what,
//! and for the sequences themselves. What is kept grows with the code, not with the run.

use super::error::ExportError;
use super::options::Options;
use crate::graph::Facts;
use crate::replay::Code;
use blocks::Leaders;
use duckdb::Connection;
use file::Described;
use graph::{Block, END, FlowGraph, index};
use output::Output;
use recorded::Recorded;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use walk::{Event, Run};

mod blocks;
mod codes;
mod edge_type;
mod file;
mod graph;
mod output;
mod recorded;
mod routines;
mod trace;
mod walk;

/// Writes `run.dcfg.json` and `run.trace.json` into the folder.
pub fn write(connection: &Connection, _: &Options, folder: &Path) -> Result<(), ExportError> {
    let sql = include_str!("../../../queries/report/dcfg_process.sql");
    let (pid, threads, by_thread): (i64, usize, bool) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
    let threads = threads.max(1);
    if Facts::find(connection)?.only_blocks {
        let mut found = Recorded::read(connection, threads)?;
        found.find_successors()?;
        let to = Output { folder, connection, threads, pid };
        let walk = |t: usize, take: &mut dyn FnMut(Event)| found.walk(t, take);
        return write_files(&to, &found.graph, &found.described, walk);
    }
    let code = Code::open(connection).map_err(crate::views::ViewError::from)?;
    let executed = blocks::executed(&code, connection)?;
    let leaders = Leaders::find(&code, connection)?;
    let run =
        Run { code: &code, executed: &executed, leaders: &leaders, connection, threads, by_thread };
    let graph = find(run)?;
    let to = Output { folder, connection, threads, pid };
    let block = |b: Block| graph.block_ids.get(&b).copied().unwrap_or(END);
    let walk = |_: usize, take: &mut dyn FnMut(Event)| run.walk(block, take, |_| {});
    write_files(&to, &graph, &Described::of_run(run, &graph), walk)
}

/// Writes the files. `walk` goes through the run for a thread; it may tell of others, too.
fn write_files(
    to: &Output,
    graph: &FlowGraph,
    described: &Described,
    walk: impl Fn(usize, &mut dyn FnMut(Event)) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let create = |name: &str| {
        let path = to.folder.join(name);
        let failed = |source| ExportError::File { path: path.display().to_string(), source };
        File::create(&path).map(BufWriter::new).map_err(failed)
    };
    let mut out = create("run.dcfg.json")?;
    file::write(&mut out, to, graph, described)?;
    out.flush()?;
    let mut out = create("run.trace.json")?;
    trace::write(&mut out, to, graph, walk)?;
    Ok(out.flush()?)
}

/// The graph of a run, with counts and what followed what.
fn find(run: Run) -> Result<FlowGraph, ExportError> {
    let graph =
        RefCell::new(FlowGraph { instructions: vec![0; run.threads], ..FlowGraph::default() });
    let mut before: Vec<Option<u32>> = vec![None; run.threads];
    let take = |event: Event| match event {
        Event::Begin { thread, .. } => before[thread] = None,
        Event::Edge { thread, edge } => {
            let mut g = graph.borrow_mut();
            let id = g.edge(edge);
            let counts = &mut g.counts[index(id)];
            if counts.len() <= thread {
                counts.resize(thread + 1, 0);
            }
            counts[thread] += 1;
            let length = g.length(edge.0);
            g.instructions[thread] += length;
            if let Some(before) = before[thread].replace(id) {
                *g.next.entry((before, id)).or_default() += 1;
            }
        }
    };
    let mut bypasses = BTreeSet::new();
    run.walk(
        |b| graph.borrow_mut().block(b),
        take,
        |bypass| {
            bypasses.insert(bypass);
        },
    )?;
    let mut graph = graph.into_inner();
    for bypass in bypasses {
        graph.edge(bypass);
    }
    Ok(graph)
}
