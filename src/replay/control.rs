//! Executed control flow inside functions: basic blocks, loops, control dependences, and which
//! dataflow a loop carries from one iteration to a later one.

use super::dataflow::{Communication, Observer, replay};
use super::{Code, Piece, ReplayError};
use duckdb::Connection;
use petgraph::algo::{dominators, kosaraju_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A loop of a graph: a strongly connected part, what is left of it without the header, and so on
/// inwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub header: usize,
    /// The header included.
    pub body: BTreeSet<usize>,
    /// The smallest loop around it, as an index into the list.
    pub parent: Option<usize>,
    /// It can be entered beside its header.
    pub irreducible: bool,
}

fn graph(count: usize, edges: &[(usize, usize)]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::with_capacity(count, edges.len());
    (0..count).for_each(|_| {
        graph.add_node(());
    });
    for &(a, b) in edges {
        graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), ());
    }
    graph
}

/// Immediate dominators of nodes `0..count`; None for the root and for what it does not reach.
pub fn immediate_dominators(
    count: usize,
    edges: &[(usize, usize)],
    root: usize,
) -> Vec<Option<usize>> {
    let found = dominators::simple_fast(&graph(count, edges), NodeIndex::new(root));
    (0..count).map(|n| found.immediate_dominator(NodeIndex::new(n)).map(|d| d.index())).collect()
}

/// The loops of what `root` reaches, outer ones before inner ones. Where every loop is entered
/// through one node only these are the natural loops of back edges to dominators, those of one
/// header merged.
pub fn loops(count: usize, edges: &[(usize, usize)], root: usize) -> Vec<Loop> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(a, b) in edges {
        next[a].push(b);
        before[b].push(a);
    }
    // Numbers of a depth-first search decide which of several entries is the header.
    let mut number = vec![usize::MAX; count];
    let mut stack = vec![root];
    let mut reached = Vec::new();
    while let Some(n) = stack.pop() {
        if number[n] == usize::MAX {
            number[n] = reached.len();
            reached.push(n);
            stack.extend(next[n].iter().rev());
        }
    }
    let mut found: Vec<Loop> = Vec::new();
    let mut work = vec![(reached, None)];
    while let Some((nodes, parent)) = work.pop() {
        let inside: FxHashMap<usize, usize> =
            nodes.iter().enumerate().map(|(i, &n)| (n, i)).collect();
        let part: Vec<(usize, usize)> = nodes
            .iter()
            .flat_map(|&n| {
                next[n]
                    .iter()
                    .filter_map(|m| Some((inside[&n], *inside.get(m)?)))
                    .collect::<Vec<_>>()
            })
            .collect();
        for component in kosaraju_scc(&graph(nodes.len(), &part)) {
            let body: BTreeSet<usize> = component.iter().map(|i| nodes[i.index()]).collect();
            let Some(&first) = body.first() else { continue };
            if body.len() == 1 && !next[first].contains(&first) {
                continue;
            }
            let enters = |n: &usize| {
                *n == root
                    || before[*n].iter().any(|m| !body.contains(m) && number[*m] != usize::MAX)
            };
            let mut entries: Vec<usize> = body.iter().copied().filter(enters).collect();
            entries.sort_by_key(|&n| number[n]);
            let header = entries.first().copied().unwrap_or(first);
            let rest: Vec<usize> = body.iter().copied().filter(|&n| n != header).collect();
            found.push(Loop { header, body, parent, irreducible: entries.len() > 1 });
            if !rest.is_empty() {
                work.push((rest, Some(found.len() - 1)));
            }
        }
    }
    found
}

/// (a, b): whether b runs is decided at the end of a: b post-dominates a successor of a, but not
/// every path from a. After Ferrante, Ottenstein and Warren, from the post-dominator tree.
pub fn control_dependences(
    count: usize,
    edges: &[(usize, usize)],
    exit: usize,
) -> BTreeSet<(usize, usize)> {
    let graph = graph(count, edges);
    let found = dominators::simple_fast(Reversed(&graph), NodeIndex::new(exit));
    let above = |n: usize| found.immediate_dominator(NodeIndex::new(n)).map(|d| d.index());
    let mut pairs = BTreeSet::new();
    for &(a, b) in edges {
        let stop = above(a);
        let mut at = Some(b);
        while let Some(n) = at
            && at != stop
            && n != exit
        {
            if !pairs.insert((a, n)) {
                break;
            }
            at = above(n);
        }
    }
    pairs
}

/// How often control went where, within call instances.
#[derive(Default)]
pub struct Transitions {
    /// From instruction to instruction of one instance, what was called in between left out.
    pub next: BTreeMap<(i32, i32), u64>,
    /// Instructions at which instances began.
    pub entries: BTreeMap<i32, u64>,
    /// And those at which they ended.
    pub exits: BTreeMap<i32, u64>,
}

/// Goes through the run once.
pub fn transitions(code: &Code, connection: &Connection) -> Result<Transitions, ReplayError> {
    let mut last: Vec<i32> = vec![0; code.call_ids()];
    let mut pieces: FxHashMap<(i32, u32, u32), u64> = FxHashMap::default();
    let mut between: FxHashMap<(i32, i32), u64> = FxHashMap::default();
    code.flow(connection, (code.first, code.last), |p| {
        let instructions = &p.block.instructions;
        if let Some(before) = last.get_mut(p.call.max(0) as usize).filter(|_| p.call > 0) {
            *pieces.entry((p.block_id, p.first_step as u32, p.end_step as u32)).or_default() += 1;
            *between.entry((*before, instructions[p.first_step])).or_default() += 1;
            *before = instructions[p.end_step - 1];
        }
        true
    })?;
    let mut found = Transitions::default();
    for ((a, b), count) in between {
        if a == 0 {
            *found.entries.entry(b).or_default() += count
        } else {
            *found.next.entry((a, b)).or_default() += count
        }
    }
    for ((block, first, end), count) in pieces {
        let steps = code
            .blocks
            .get(block.max(0) as usize)
            .and_then(|b| b.instructions.get(first as usize..end as usize));
        for pair in steps.unwrap_or_default().windows(2) {
            *found.next.entry((pair[0], pair[1])).or_default() += count;
        }
    }
    for &instruction in last.iter().filter(|&&l| l != 0) {
        *found.exits.entry(instruction).or_default() += 1;
    }
    Ok(found)
}

/// A basic block: instructions of one function that always run one after the other.
#[derive(Clone, Debug)]
pub struct BasicBlock {
    pub function: i32,
    pub instructions: Vec<i32>,
    pub executions: u64,
}

/// A loop of the executed control flow.
#[derive(Clone, Debug)]
pub struct ExecutedLoop {
    pub function: i32,
    /// Basic blocks, the inner loops' included.
    pub blocks: BTreeSet<usize>,
    pub header: usize,
    pub parent: Option<usize>,
    /// Loops around it.
    pub depth: u32,
    pub irreducible: bool,
    /// How often it was entered.
    pub entries: u64,
    /// How often its header ran.
    pub iterations: u64,
}

/// Basic blocks, loops and control dependences of all functions.
pub struct ControlFlow {
    pub blocks: Vec<BasicBlock>,
    /// By instruction id.
    pub block_of: Vec<Option<u32>>,
    pub next: BTreeMap<(usize, usize), u64>,
    /// Outer before inner.
    pub loops: Vec<ExecutedLoop>,
    /// Innermost loop by basic block.
    pub loop_of: Vec<Option<usize>>,
    pub control: BTreeSet<(usize, usize)>,
}

impl ControlFlow {
    pub fn find(code: &Code, connection: &Connection) -> Result<ControlFlow, ReplayError> {
        Ok(ControlFlow::of(code, &transitions(code, connection)?))
    }

    fn of(code: &Code, transitions: &Transitions) -> ControlFlow {
        let ids = code.instruction_ids();
        let mut ran: BTreeSet<i32> = transitions.entries.keys().copied().collect();
        let (mut successors, mut predecessors) = (vec![0u32; ids], vec![0u32; ids]);
        for &(a, b) in transitions.next.keys() {
            ran.extend([a, b]);
            successors[a as usize] += 1;
            predecessors[b as usize] += 1;
        }
        // Which one comes next within its block.
        let mut follow: Vec<i32> = vec![0; ids];
        let mut leads = vec![true; ids];
        for &(a, b) in transitions.next.keys() {
            let (first, ends) = (code.instruction(a), transitions.exits.contains_key(&a));
            let falls =
                first.address.wrapping_add(first.size.into()) == code.instruction(b).address;
            let single = successors[a as usize] == 1 && predecessors[b as usize] == 1 && a != b;
            if single && falls && !first.transfers && !ends && !transitions.entries.contains_key(&b)
            {
                follow[a as usize] = b;
                leads[b as usize] = false;
            }
        }
        let mut runs: BTreeMap<i32, u64> = transitions.entries.clone();
        for (&(_, b), &count) in &transitions.next {
            *runs.entry(b).or_default() += count;
        }
        let (mut blocks, mut block_of) = (Vec::new(), vec![None; ids]);
        for &leader in ran.iter().filter(|&&i| leads[i as usize]) {
            let mut instructions = Vec::new();
            let mut at = leader;
            while at != 0 {
                block_of[at as usize] = Some(blocks.len() as u32);
                instructions.push(at);
                at = follow[at as usize];
            }
            let executions = runs.get(&leader).copied().unwrap_or(0);
            blocks.push(BasicBlock {
                function: code.instruction(leader).function,
                instructions,
                executions,
            });
        }
        let place = |i: i32| block_of.get(i as usize).copied().flatten().map(|b| b as usize);
        let mut next = BTreeMap::new();
        for (&(a, b), &count) in &transitions.next {
            if let (Some(from), Some(to)) = (place(a), place(b))
                && follow[a as usize] != b
            {
                *next.entry((from, to)).or_default() += count;
            }
        }
        let mut flow = ControlFlow {
            loop_of: vec![None; blocks.len()],
            blocks,
            block_of,
            next,
            loops: Vec::new(),
            control: BTreeSet::new(),
        };
        flow.by_function(transitions);
        flow
    }

    fn by_function(&mut self, transitions: &Transitions) {
        let mut members: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (i, block) in self.blocks.iter().enumerate() {
            members.entry(block.function).or_default().push(i);
        }
        let mut edges: BTreeMap<i32, Vec<(usize, usize)>> = BTreeMap::new();
        for &(a, b) in self.next.keys() {
            edges.entry(self.blocks[a].function).or_default().push((a, b));
        }
        let mut before: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.blocks.len()];
        for (&(a, b), &count) in &self.next {
            before[b].push((a, count));
        }
        for (function, members) in members {
            // Nodes: the blocks, then one before all entries and one behind all exits.
            let (root, exit, count) = (members.len(), members.len() + 1, members.len() + 2);
            let local: BTreeMap<usize, usize> =
                members.iter().enumerate().map(|(i, &b)| (b, i)).collect();
            let mut own: Vec<(usize, usize)> = edges
                .get(&function)
                .into_iter()
                .flatten()
                .filter_map(|(a, b)| Some((*local.get(a)?, *local.get(b)?)))
                .collect();
            let at = |i: &i32| {
                self.block_of[*i as usize].and_then(|b| local.get(&(b as usize))).copied()
            };
            let entries: Vec<(usize, u64)> =
                transitions.entries.iter().filter_map(|(i, n)| Some((at(i)?, *n))).collect();
            own.extend(entries.iter().map(|e| (root, e.0)));
            own.extend(transitions.exits.keys().filter_map(at).map(|e| (e, exit)));
            let base = self.loops.len();
            for found in loops(count, &own, root) {
                let header = members[found.header];
                let blocks: BTreeSet<usize> = found.body.iter().map(|&n| members[n]).collect();
                let from_outside = before[header].iter().filter(|(a, _)| !blocks.contains(a));
                let entered = from_outside.map(|(_, n)| n).sum::<u64>()
                    + entries.iter().filter(|e| e.0 == found.header).map(|e| e.1).sum::<u64>();
                let parent = found.parent.map(|p| p + base);
                let depth = parent.map_or(0, |p| self.loops[p].depth + 1);
                for &block in &blocks {
                    self.loop_of[block] = Some(self.loops.len());
                }
                self.loops.push(ExecutedLoop {
                    function,
                    blocks,
                    header,
                    parent,
                    depth,
                    irreducible: found.irreducible,
                    entries: entered,
                    iterations: self.blocks[header].executions,
                });
            }
            let pairs = control_dependences(count, &own, exit);
            self.control.extend(
                pairs
                    .into_iter()
                    .filter(|&(a, b)| a < root && b < root)
                    .map(|(a, b)| (members[a], members[b])),
            );
        }
    }

    /// Steps in a loop, inner ones and not what they call.
    pub fn steps(&self, number: usize) -> u64 {
        self.loops[number]
            .blocks
            .iter()
            .map(|&b| self.blocks[b].executions * self.blocks[b].instructions.len() as u64)
            .sum()
    }
}

/// Dataflow that loops carry: by writing instruction, reading instruction and loop, the bytes in
/// memory and in registers.
pub type Carried = BTreeMap<(i32, i32, usize), (i64, i64)>;

struct LiveLoop {
    number: usize,
    /// Seq of the first step in it since it was entered.
    entered: i64,
    /// Seq of the header's step that began the iteration.
    iteration: i64,
}

#[derive(Default)]
struct LiveThread {
    /// Call instance, and how many of `loops` are of its callers.
    frames: Vec<(i32, usize)>,
    /// Loops that are being run, callers' before callees': each was entered after the iteration of
    /// the one before began.
    loops: Vec<LiveLoop>,
}

struct Carrier<'a> {
    flow: &'a ControlFlow,
    parents: Vec<i32>,
    /// By instruction id: the block that begins with it.
    leader: Vec<Option<u32>>,
    threads: Vec<LiveThread>,
    thread: usize,
    sums: FxHashMap<(i32, i32, usize), (i64, i64)>,
}

impl Observer for Carrier<'_> {
    fn piece(&mut self, piece: &Piece) {
        self.thread = piece.thread.max(0) as usize;
        if self.threads.len() <= self.thread {
            self.threads.resize_with(self.thread + 1, LiveThread::default);
        }
        let live = &mut self.threads[self.thread];
        if live.frames.last().is_some_and(|f| f.0 == piece.call) {
            return;
        }
        // Back to a caller, or from one into a new instance.
        let parent = self.parents.get(piece.call.max(0) as usize).copied().unwrap_or(0);
        let known = live.frames.iter().rposition(|f| f.0 == piece.call || f.0 == parent);
        let keep = known.map_or(0, |k| k + 1);
        if let Some(first_gone) = live.frames.get(keep) {
            live.loops.truncate(first_gone.1);
        }
        live.frames.truncate(keep);
        match live.frames.last() {
            Some(f) if f.0 == piece.call => {}
            _ => live.frames.push((piece.call, live.loops.len())),
        }
    }

    fn communication(&mut self, c: &Communication) {
        let Some(write) = c.write else { return };
        let Some(live) = self.threads.get(self.thread) else { return };
        let at = live.loops.partition_point(|l| l.entered <= write.seq);
        if let Some(found) = at.checked_sub(1).and_then(|i| live.loops.get(i))
            && write.seq < found.iteration
            && write.thread == c.read.thread
        {
            let sum =
                self.sums.entry((write.instruction, c.read.instruction, found.number)).or_default();
            *(if c.is_register { &mut sum.1 } else { &mut sum.0 }) += i64::from(c.bytes);
        }
    }
}

impl Carrier<'_> {
    /// Before a step: which loops it is in.
    fn begin(&mut self, seq: i64, instruction: i32) {
        let Some(block) = self.leader.get(instruction as usize).copied().flatten() else { return };
        let block = block as usize;
        let live = &mut self.threads[self.thread];
        let base = live.frames.last().map_or(0, |f| f.1);
        while live.loops.len() > base
            && live.loops.last().is_some_and(|l| !self.flow.loops[l.number].blocks.contains(&block))
        {
            live.loops.pop();
        }
        let known =
            (live.loops.len() > base).then(|| live.loops.last().map(|l| l.number)).flatten();
        let inner = self.flow.loop_of[block];
        if inner == known {
            if let Some(l) = live.loops.last_mut()
                && known.is_some_and(|n| self.flow.loops[n].header == block)
            {
                l.iteration = seq;
            }
            return;
        }
        let mut new = Vec::new();
        let mut at = inner;
        while let Some(n) = at
            && at != known
        {
            new.push(n);
            at = self.flow.loops[n].parent;
        }
        live.loops.extend(new.into_iter().rev().map(|number| LiveLoop {
            number,
            entered: seq,
            iteration: seq,
        }));
    }
}

/// The order of a step's events is: its loops, its reads. [`Observer::step`] comes behind the
/// reads, so this looks one step ahead.
struct Ahead<'a> {
    carrier: Carrier<'a>,
    /// The piece's instructions that are to come.
    steps: Vec<(i64, i32)>,
}

impl Observer for Ahead<'_> {
    fn piece(&mut self, piece: &Piece) {
        self.carrier.piece(piece);
        self.steps.clear();
        self.steps.extend(
            (piece.first_step..piece.end_step)
                .rev()
                .map(|s| (piece.seq(s), piece.block.instructions[s])),
        );
        if let Some((seq, instruction)) = self.steps.pop() {
            self.carrier.begin(seq, instruction);
        }
    }

    fn communication(&mut self, c: &Communication) {
        self.carrier.communication(c);
    }

    fn step(&mut self, _: i64, _: i32, _: i32) -> bool {
        if let Some((seq, instruction)) = self.steps.pop() {
            self.carrier.begin(seq, instruction);
        }
        true
    }
}

/// Dataflow from one iteration of a loop to a later one: the write lies after the loop was entered
/// and before the iteration of the read began. At most one loop carries a communication; writes and
/// reads of functions called in the loop count.
pub fn carried(
    code: &Code,
    connection: &Connection,
    flow: &ControlFlow,
) -> Result<Carried, ReplayError> {
    let mut parents: Vec<i32> = vec![0; code.call_ids()];
    let mut statement =
        connection.prepare(include_str!("../../queries/report/replay_parents.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let call: i32 = r.get(0)?;
        if let Some(parent) = parents.get_mut(call.max(0) as usize) {
            *parent = r.get(1)?;
        }
    }
    let mut leader = vec![None; code.instruction_ids()];
    for (number, block) in flow.blocks.iter().enumerate() {
        leader[block.instructions[0] as usize] = Some(number as u32);
    }
    let (threads, sums) = (Vec::new(), FxHashMap::default());
    let mut ahead = Ahead {
        carrier: Carrier { flow, parents, leader, threads, thread: 0, sums },
        steps: Vec::new(),
    };
    replay(code, connection, code.last, &mut ahead)?;
    Ok(ahead.carrier.sums.into_iter().collect())
}
