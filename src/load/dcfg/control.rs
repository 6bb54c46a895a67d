//! Static control flow: `basic_block`, `cfg_edge`, `routine`, `loop` and what belongs to them.

use super::code::Code;
use crate::id::ProcessId;
use crate::load::{BuildError, Files};
use crate::store::table::Table;
use crate::store::tables::{
    BasicBlock, BasicBlocks, CfgEdge, CfgEdgeThread, CfgEdgeThreads, CfgEdges, Loop, LoopBlock,
    LoopBlocks, Loops, Routine, RoutineBlock, RoutineBlocks, Routines,
};
use crate::trace::dcfg::graph::{self, Edge, EdgeKind, Node, NodeKind, Process, sum};
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

/// Threads of an edge that are counted.
const THREADS: usize = 1 << 16;

fn total(edge: &Edge) -> u64 {
    sum(edge.counts.iter().copied())
}

/// Edges by the node that they lead to.
struct Entering<'a> {
    process: &'a Process,
    by_target: FxHashMap<u32, Vec<usize>>,
}

impl<'a> Entering<'a> {
    fn new(process: &'a Process) -> Self {
        let mut by_target: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (i, e) in process.edges.iter().enumerate() {
            by_target.entry(e.target).or_default().push(i);
        }
        Entering { process, by_target }
    }

    fn into(&self, node: u32) -> impl Iterator<Item = &'a Edge> + '_ {
        self.by_target.get(&node).into_iter().flatten().map(|&i| &self.process.edges[i])
    }

    /// A count of edges, None if the graph has none.
    fn known(&self, count: u64) -> Option<u64> {
        (!self.process.edges.is_empty()).then_some(count)
    }

    /// How often a routine was entered from elsewhere.
    fn entries(&self, routine: &graph::Routine) -> u64 {
        let members: FxHashSet<u32> = routine.nodes.iter().map(|n| n.0).collect();
        let enters = self.into(routine.entry).filter(|e| {
            let comes_back =
                matches!(e.kind, EdgeKind::Return | EdgeKind::TrapReturn | EdgeKind::Bypass);
            !comes_back && (!members.contains(&e.source) || !e.kind.is_inside())
        });
        sum(enters.map(total))
    }

    /// How often control came back to a loop's header from within the loop.
    fn goes_back(&self, l: &graph::Loop) -> u64 {
        let inside = |node: u32| l.nodes.binary_search(&node).is_ok();
        // A return to the header comes from a call in the loop if only blocks of the loop are said
        // to call there.
        let mut over = self.into(l.header).filter(|e| e.kind == EdgeKind::Bypass).peekable();
        let called_inside = over.peek().is_some() && over.all(|e| inside(e.source));
        let goes_on = |e: &&Edge| match e.kind {
            EdgeKind::Return | EdgeKind::TrapReturn => called_inside,
            kind => kind.is_inside() && inside(e.source),
        };
        sum(self.into(l.header).filter(goes_on).map(total))
    }
}

impl Code<'_> {
    /// Everything; `low`: blocks are known by their instructions, too.
    pub fn write_graph(
        &self,
        connection: &Connection,
        files: &mut Files,
        low: bool,
    ) -> Result<(), BuildError> {
        let mut table = Table::<BasicBlocks>::new(connection);
        for (p, process) in self.graph.processes.iter().enumerate() {
            for (i, n) in process.nodes.iter().enumerate() {
                let special = i < self.graph.specials.len();
                if special && p > 0 {
                    continue;
                }
                let mut row = self.node(p, i as u32, n);
                if !special {
                    row.process_id = Some(ProcessId::at(p));
                }
                if n.kind == NodeKind::Block {
                    (row.file_id, row.line) = self.line(p, n.image, n.address, files);
                    row.block_id = row.block_id.filter(|_| low);
                }
                table.push(row)?;
            }
        }
        table.finish()?;
        self.write_edges(connection)?;
        self.write_routines(connection)?;
        self.write_loops(connection)
    }

    /// A node, without process and line.
    fn node<'n>(&self, p: usize, number: u32, n: &'n Node) -> BasicBlock<'n> {
        let id = self.block_id(p, number);
        let block = n.kind == NodeKind::Block;
        let counted = !self.graph.processes[p].edges.is_empty();
        BasicBlock {
            basic_block_id: id.get(),
            kind: n.kind.name(),
            number: Some(n.id),
            process_id: None,
            image_id: block.then(|| self.image_id(p, n.image)),
            function_id: self.function_of(p, number),
            address: block.then_some(n.address),
            size: Some(n.size).filter(|&size| block && size > 0),
            instructions: block.then_some(n.instructions),
            last_address: block.then_some(n.last_address),
            file_id: None,
            line: None,
            executions: if counted { Some(n.entered) } else { n.count }.filter(|_| block),
            block_id: Some(id).filter(|_| !self.steps(p, number).is_empty()),
        }
    }

    fn write_edges(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = Table::<CfgEdges>::new(connection);
        let mut threads = Table::<CfgEdgeThreads>::new(connection);
        let mut cfg_edge_id = 0;
        for (p, process) in self.graph.processes.iter().enumerate() {
            for e in &process.edges {
                cfg_edge_id += 1;
                table.push(CfgEdge {
                    cfg_edge_id,
                    number: Some(e.id),
                    process_id: Some(ProcessId::at(p)),
                    source_block_id: self.block_id(p, e.source).get(),
                    target_block_id: self.block_id(p, e.target).get(),
                    kind: e.kind.name(),
                    r#type: Some(&self.graph.types[e.type_name as usize]),
                    count: (!e.counts.is_empty()).then(|| total(e)),
                })?;
                let counts = e.counts.iter().enumerate().take(THREADS).filter(|(_, c)| **c > 0);
                for (t, &count) in counts {
                    let thread_id = self.thread_id(p, t);
                    threads.push(CfgEdgeThread { cfg_edge_id, thread_id, count })?;
                }
            }
        }
        table.finish()?;
        Ok(threads.finish()?)
    }

    fn write_routines(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = Table::<Routines>::new(connection);
        let mut blocks = Table::<RoutineBlocks>::new(connection);
        for (p, process) in self.graph.processes.iter().enumerate() {
            let entering = Entering::new(process);
            for (i, r) in process.routines.iter().enumerate() {
                let routine_id = self.routine_id(p, i);
                table.push(Routine {
                    routine_id,
                    process_id: Some(ProcessId::at(p)),
                    image_id: Some(self.image_id(p, r.image)),
                    function_id: self.function_of(p, r.entry),
                    entry_block_id: self.block_id(p, r.entry).get(),
                    entries: entering.known(entering.entries(r)),
                })?;
                let exits: FxHashSet<u32> = r.exits.iter().copied().collect();
                for &(node, dominator) in &r.nodes {
                    blocks.push(RoutineBlock {
                        routine_id,
                        basic_block_id: self.block_id(p, node).get(),
                        dominator_block_id: dominator.map(|d| self.block_id(p, d).get()),
                        is_exit: exits.contains(&node),
                    })?;
                }
            }
        }
        table.finish()?;
        Ok(blocks.finish()?)
    }

    fn write_loops(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = Table::<Loops>::new(connection);
        let mut blocks = Table::<LoopBlocks>::new(connection);
        for (p, process) in self.graph.processes.iter().enumerate() {
            let entering = Entering::new(process);
            for (i, l) in process.loops.iter().enumerate() {
                let loop_id = self.loop_id(p, i as u32);
                let iterations = process.nodes[l.header as usize].entered;
                let entries = iterations.saturating_sub(entering.goes_back(l));
                let steps = |&n: &u32| {
                    let node = &process.nodes[n as usize];
                    node.entered.saturating_mul(node.instructions)
                };
                let steps = sum(l.nodes.iter().map(steps));
                table.push(Loop {
                    loop_id,
                    routine_id: Some(self.routine_id(p, l.routine as usize)),
                    function_id: self.function_of(p, l.header),
                    header_block_id: self.block_id(p, l.header).get(),
                    parent_loop_id: l.parent.map(|o| self.loop_id(p, o)),
                    depth: l.depth,
                    entries: entering.known(entries),
                    iterations: entering.known(iterations),
                    steps: entering.known(steps),
                })?;
                for &node in &l.nodes {
                    blocks.push(LoopBlock {
                        loop_id,
                        basic_block_id: self.block_id(p, node).get(),
                        is_back_edge_source: l.back_edge_sources.contains(&node),
                    })?;
                }
            }
        }
        table.finish()?;
        Ok(blocks.finish()?)
    }
}
