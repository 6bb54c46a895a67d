//! A graph that was recorded without its program: written from its blocks and edges as the database
//! has them, its trace from the blocks that ran.

use super::super::error::ExportError;
use super::super::rows::each;
use super::edge_type::EdgeType;
use super::file::{Described, Place};
use super::graph::{Block, END, Edge, FlowGraph, START, UNKNOWN, index};
use super::walk::Event;
use crate::id::{FunctionId, InstructionId, ThreadId};
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// Steps of a thread of which the blocks are fetched at a time.
const STEPS: usize = 1 << 20;

/// The graph, with what goes through its trace.
pub struct Recorded<'a> {
    connection: &'a Connection,
    pub graph: FlowGraph,
    pub described: Described,
    /// Nodes by the database's numbers.
    nodes: FxHashMap<u32, u32>,
    /// Edges between two nodes that are no bypasses, the first of each pair.
    between: FxHashMap<(u32, u32), Edge>,
    threads: usize,
}

impl<'a> Recorded<'a> {
    /// Reads all but the trace.
    pub fn read(connection: &'a Connection, threads: usize) -> Result<Self, ExportError> {
        let processes: i64 =
            connection.query_row("SELECT count(*) FROM process", [], |r| r.get(0))?;
        if processes > 1 {
            return Err(ExportError::Processes { processes });
        }
        let mut found = Recorded {
            connection,
            graph: FlowGraph { instructions: vec![0; threads], ..FlowGraph::default() },
            described: Described::default(),
            nodes: FxHashMap::default(),
            between: FxHashMap::default(),
            threads,
        };
        let sql = include_str!("../../../queries/report/dcfg_blocks.sql");
        each::<ExportError>(connection, sql, &[], |r| {
            let kind: String = r.get(1)?;
            let node = match kind.as_str() {
                "start" => START,
                "end" => END,
                "block" => {
                    let (first, last): (u64, u64) = (r.get(4)?, r.get(6)?);
                    let (size, length): (u64, u32) = (r.get(5)?, r.get(7)?);
                    let function: Option<FunctionId> = r.get(3)?;
                    let end = first.wrapping_add(size);
                    found.described.places.push(Place {
                        image: r.get(2)?,
                        function,
                        first,
                        last,
                        end,
                    });
                    // Ids that tell blocks apart: there are no instructions.
                    let id = InstructionId::at(found.graph.blocks.len());
                    found.graph.block(Block { first: id, last: id, length })
                }
                _ => UNKNOWN,
            };
            found.nodes.insert(r.get(0)?, node);
            Ok(())
        })?;
        found.edges()?;
        Ok(found)
    }

    fn edges(&mut self) -> Result<(), ExportError> {
        let sql = include_str!("../../../queries/report/dcfg_edges.sql");
        let mut last = None;
        each::<ExportError>(self.connection, sql, &[], |r| {
            let name: String = r.get(3)?;
            let kind = EdgeType::ALL.iter().find(|t| t.name() == name);
            let node = |number: u32| self.nodes.get(&number).copied().unwrap_or(UNKNOWN);
            let edge =
                (node(r.get(1)?), node(r.get(2)?), kind.copied().unwrap_or(EdgeType::Unknown));
            let number: u32 = r.get(0)?;
            let id = self.graph.edge(edge);
            if last.replace(number) != Some(number) && !edge.2.is_bypass() {
                self.between.entry((edge.0, edge.1)).or_insert(edge);
            }
            if let (Some(thread), Some(count)) =
                (r.get::<_, Option<ThreadId>>(4)?, r.get::<_, Option<u64>>(5)?)
            {
                let steps = count.saturating_mul(self.graph.length(edge.0));
                let counts = &mut self.graph.counts[index(id)];
                counts.resize(self.threads, 0);
                // The database may be anybody's: its threads need not be dense.
                let of_thread = counts.get_mut(thread.index());
                if let Some((n, all)) =
                    of_thread.zip(self.graph.instructions.get_mut(thread.index()))
                {
                    *n = n.saturating_add(count);
                    *all = all.saturating_add(steps);
                }
            }
            Ok(())
        })
    }

    /// The edges that lead from one block to the next: one, or two by way of what was not recorded.
    fn steps(&self, from: u32, to: u32) -> Option<(Edge, Option<Edge>)> {
        let edge = |a, b| self.between.get(&(a, b)).copied();
        let around = || Some((edge(from, UNKNOWN)?, Some(edge(UNKNOWN, to)?)));
        edge(from, to).map(|e| (e, None)).or_else(around)
    }

    /// What a thread went along.
    pub fn walk(&self, t: usize, take: &mut dyn FnMut(Event)) -> Result<(), ExportError> {
        let mut statement =
            self.connection.prepare(include_str!("../../../queries/report/dcfg_runs.sql"))?;
        let bounds = "SELECT min(start_seq), max(start_seq) FROM block_run WHERE thread_id = ?";
        let thread = i64::from(ThreadId::at(t).column());
        let bounds: (Option<i64>, Option<i64>) =
            self.connection.query_row(bounds, [thread], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let (Some(first), Some(last)) = bounds else { return Ok(()) };
        // The block before, and the step behind it.
        let mut before: Option<(u32, i64)> = None;
        for from in (first..=last).step_by(STEPS) {
            let mut rows =
                statement.query([thread, from, from.saturating_add_unsigned(STEPS as u64)])?;
            while let Some(r) = rows.next()? {
                let (number, seq): (u32, i64) = (r.get(0)?, r.get(1)?);
                let node = self.nodes.get(&number).copied().unwrap_or(UNKNOWN);
                let here = before.filter(|b| b.1 == seq).and_then(|b| self.steps(b.0, node));
                if let Some((one, other)) = here {
                    take(Event::Edge { thread: t, edge: one });
                    if let Some(edge) = other {
                        take(Event::Edge { thread: t, edge });
                    }
                } else {
                    let preceding = u64::try_from(seq - 1).unwrap_or_default();
                    take(Event::Begin { thread: t, preceding });
                    let starts = [START, UNKNOWN].map(|from| self.between.get(&(from, node)));
                    if let Some(&edge) = starts.into_iter().flatten().next() {
                        take(Event::Edge { thread: t, edge });
                    }
                }
                let length = i64::try_from(self.graph.length(node)).unwrap_or_default();
                before = Some((node, seq.saturating_add(length)));
            }
        }
        if let Some(&edge) = before.and_then(|b| self.between.get(&(b.0, END))) {
            take(Event::Edge { thread: t, edge });
        }
        Ok(())
    }

    /// Goes through the trace for what follows what.
    pub fn find_successors(&mut self) -> Result<(), ExportError> {
        let mut next: FxHashMap<(u32, u32), u64> = FxHashMap::default();
        for t in 0..self.threads {
            let mut before = None;
            self.walk(t, &mut |event| match event {
                Event::Begin { .. } => before = None,
                Event::Edge { edge, .. } => {
                    let Some(&id) = self.graph.edge_ids.get(&edge) else { return };
                    if let Some(before) = before.replace(id) {
                        *next.entry((before, id)).or_default() += 1;
                    }
                }
            })?;
        }
        self.graph.next = next;
        Ok(())
    }
}
