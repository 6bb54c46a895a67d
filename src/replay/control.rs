//! Executed control flow inside functions: basic blocks, loops and control dependences.

use super::bytes::ByteMap;
use super::code::Code;
use super::error::ReplayError;
use super::structure::{Loop, control_dependences, loops};
use super::window::Piece;
use crate::id::{BlockId, CallId, FunctionId, InstructionId};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// How often control went where, within call instances.
#[derive(Default)]
pub struct Transitions {
    /// From instruction to instruction of one instance, what was called in between left out.
    pub next: BTreeMap<(InstructionId, InstructionId), u64>,
    /// Instructions at which instances began.
    pub entries: BTreeMap<InstructionId, u64>,
    /// And those at which they ended.
    pub exits: BTreeMap<InstructionId, u64>,
}

/// Follows control through the run, piece by piece.
#[derive(Default)]
pub struct Walk {
    /// By number of the call instance.
    last: ByteMap<Option<InstructionId>, 1024>,
    pieces: FxHashMap<(BlockId, usize, usize), u64>,
    between: FxHashMap<(Option<InstructionId>, InstructionId), u64>,
    exits: BTreeMap<InstructionId, u64>,
}

impl Walk {
    pub fn piece(&mut self, piece: &Piece) {
        let run = piece.instructions();
        if let (Some(call), &[first, ..], &[.., end]) = (piece.call, run, run) {
            let of_block = (piece.block_id, piece.first_step, piece.end_step);
            *self.pieces.entry(of_block).or_default() += 1;
            let before = self.last.value(call.index() as u64);
            *self.between.entry((before.replace(end), first)).or_default() += 1;
        }
    }

    /// Forgets the calls that do not go on.
    pub fn end_calls(&mut self, goes_on: impl Fn(CallId) -> bool) {
        let before = std::mem::take(&mut self.last);
        for (first, page) in before.pages() {
            for (number, last) in (first..).zip(page) {
                let Some(instruction) = *last else { continue };
                // It was the number of a call.
                if goes_on(CallId::at(number as usize)) {
                    *self.last.value(number) = *last;
                } else {
                    *self.exits.entry(instruction).or_default() += 1;
                }
            }
        }
    }

    /// All that was found; calls that have not ended end.
    ///
    /// # Errors
    /// Where the database lacks a block.
    pub fn transitions(mut self, code: &Code) -> Result<Transitions, ReplayError> {
        self.end_calls(|_| false);
        let mut found = Transitions { exits: self.exits, ..Transitions::default() };
        for ((a, b), count) in self.between {
            *match a {
                None => found.entries.entry(b).or_default(),
                Some(a) => found.next.entry((a, b)).or_default(),
            } += count;
        }
        for ((block, first, end), count) in self.pieces {
            for pair in code.block(block)?.instructions[first..end].windows(2) {
                *found.next.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        // An instruction that repeats itself (`rep stos`) is one for who runs it: no block, and no loop.
        found.next.retain(|&(a, b), _| a != b || code.instruction(a).transfers);
        Ok(found)
    }
}

/// Goes through the run once.
fn transitions(code: &Code, connection: &Connection) -> Result<Transitions, ReplayError> {
    let mut walk = Walk::default();
    code.flow(connection, (code.first, code.last), |piece| {
        walk.piece(piece);
        true
    })?;
    walk.transitions(code)
}

/// A basic block: instructions of one function that always run one after the other.
#[derive(Clone, Debug)]
pub struct BasicBlock {
    pub function: Option<FunctionId>,
    pub instructions: Vec<InstructionId>,
    pub executions: u64,
}

/// A loop of the executed control flow.
#[derive(Clone, Debug)]
pub struct ExecutedLoop {
    pub function: Option<FunctionId>,
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
    /// By instruction.
    block_of: Vec<Option<usize>>,
    pub next: BTreeMap<(usize, usize), u64>,
    /// Outer before inner.
    pub loops: Vec<ExecutedLoop>,
    /// Innermost loop by basic block.
    pub loop_of: Vec<Option<usize>>,
    pub control: BTreeSet<(usize, usize)>,
}

/// Which instruction comes next within its block, and which ones come next to none.
struct Chains {
    follow: Vec<Option<InstructionId>>,
    leads: Vec<bool>,
}

impl Chains {
    fn of(code: &Code, transitions: &Transitions) -> Chains {
        let ids = code.instructions();
        let (mut successors, mut predecessors) = (vec![0u32; ids], vec![0u32; ids]);
        for (a, b) in transitions.next.keys() {
            successors[a.index()] += 1;
            predecessors[b.index()] += 1;
        }
        let mut chains = Chains { follow: vec![None; ids], leads: vec![true; ids] };
        for &(a, b) in transitions.next.keys() {
            let first = code.instruction(a);
            let behind = first.address.wrapping_add(first.size.into());
            let falls = behind == code.instruction(b).address && !first.transfers;
            let single = successors[a.index()] == 1 && predecessors[b.index()] == 1 && a != b;
            let cut = transitions.exits.contains_key(&a) || transitions.entries.contains_key(&b);
            if single && falls && !cut {
                chains.follow[a.index()] = Some(b);
                chains.leads[b.index()] = false;
            }
        }
        chains
    }
}

/// The blocks of one function as a graph: nodes are numbered in the order of `members`, then come
/// one before all entries and one behind all exits.
struct FunctionGraph {
    members: Vec<usize>,
    edges: Vec<(usize, usize)>,
    /// Nodes at which instances began, and how often.
    entries: Vec<(usize, u64)>,
}

impl FunctionGraph {
    fn root(&self) -> usize {
        self.members.len()
    }

    fn exit(&self) -> usize {
        self.members.len() + 1
    }

    fn count(&self) -> usize {
        self.members.len() + 2
    }
}

impl ControlFlow {
    pub fn find(code: &Code, connection: &Connection) -> Result<ControlFlow, ReplayError> {
        Ok(ControlFlow::of(code, &transitions(code, connection)?))
    }

    /// The block of an instruction, if it ran in a call instance.
    pub fn block_of(&self, instruction: InstructionId) -> Option<usize> {
        self.block_of.get(instruction.index()).copied().flatten()
    }

    pub fn of(code: &Code, transitions: &Transitions) -> ControlFlow {
        let chains = Chains::of(code, transitions);
        let mut runs: BTreeMap<InstructionId, u64> = transitions.entries.clone();
        for (&(_, b), &count) in &transitions.next {
            *runs.entry(b).or_default() += count;
        }
        let mut ran: BTreeSet<InstructionId> = transitions.entries.keys().copied().collect();
        ran.extend(transitions.next.keys().flat_map(|&(a, b)| [a, b]));
        let (mut blocks, mut block_of) = (Vec::new(), vec![None; code.instructions()]);
        for &leader in ran.iter().filter(|i| chains.leads[i.index()]) {
            let mut instructions = Vec::new();
            let mut at = Some(leader);
            while let Some(instruction) = at {
                block_of[instruction.index()] = Some(blocks.len());
                instructions.push(instruction);
                at = chains.follow[instruction.index()];
            }
            let executions = runs.get(&leader).copied().unwrap_or(0);
            let function = code.instruction(leader).function;
            blocks.push(BasicBlock { function, instructions, executions });
        }
        let mut flow = ControlFlow {
            loop_of: vec![None; blocks.len()],
            blocks,
            block_of,
            next: BTreeMap::new(),
            loops: Vec::new(),
            control: BTreeSet::new(),
        };
        for (&(a, b), &count) in &transitions.next {
            if let (Some(from), Some(to)) = (flow.block_of(a), flow.block_of(b))
                && chains.follow[a.index()] != Some(b)
            {
                *flow.next.entry((from, to)).or_default() += count;
            }
        }
        flow.by_function(transitions);
        flow
    }

    /// Finds loops and control dependences, function by function.
    fn by_function(&mut self, transitions: &Transitions) {
        let mut before: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.blocks.len()];
        for (&(a, b), &count) in &self.next {
            before[b].push((a, count));
        }
        for (function, graph) in self.graphs(transitions) {
            let base = self.loops.len();
            for found in loops(graph.count(), &graph.edges, graph.root()) {
                self.add_loop(function, &graph, &before, base, found);
            }
            let pairs = control_dependences(graph.count(), &graph.edges, graph.exit());
            let members = &graph.members;
            let inside = pairs.into_iter().filter(|&(a, b)| a < graph.root() && b < graph.root());
            self.control.extend(inside.map(|(a, b)| (members[a], members[b])));
        }
    }

    /// The graph of each function.
    fn graphs(&self, transitions: &Transitions) -> Vec<(Option<FunctionId>, FunctionGraph)> {
        let mut members: BTreeMap<Option<FunctionId>, Vec<usize>> = BTreeMap::new();
        for (i, block) in self.blocks.iter().enumerate() {
            members.entry(block.function).or_default().push(i);
        }
        let mut edges: BTreeMap<Option<FunctionId>, Vec<(usize, usize)>> = BTreeMap::new();
        for &(a, b) in self.next.keys() {
            edges.entry(self.blocks[a].function).or_default().push((a, b));
        }
        let graph = |(function, members): (Option<FunctionId>, Vec<usize>)| {
            let local: BTreeMap<usize, usize> =
                members.iter().enumerate().map(|(i, &b)| (b, i)).collect();
            let own = edges.get(&function).into_iter().flatten();
            let own = own.filter_map(|(a, b)| Some((*local.get(a)?, *local.get(b)?)));
            let at = |i: &InstructionId| local.get(&self.block_of(*i)?).copied();
            let entries = transitions.entries.iter().filter_map(|(i, n)| Some((at(i)?, *n)));
            let (edges, entries) = (own.collect(), entries.collect());
            let mut graph = FunctionGraph { members, edges, entries };
            let (root, exit) = (graph.root(), graph.exit());
            graph.edges.extend(graph.entries.iter().map(|e| (root, e.0)));
            graph.edges.extend(transitions.exits.keys().filter_map(at).map(|e| (e, exit)));
            (function, graph)
        };
        members.into_iter().map(graph).collect()
    }

    fn add_loop(
        &mut self,
        function: Option<FunctionId>,
        graph: &FunctionGraph,
        before: &[Vec<(usize, u64)>],
        base: usize,
        found: Loop,
    ) {
        let header = graph.members[found.header];
        let blocks: BTreeSet<usize> = found.body.iter().map(|&n| graph.members[n]).collect();
        let from_outside = before[header].iter().filter(|(a, _)| !blocks.contains(a));
        let entries = from_outside.map(|(_, n)| n).sum::<u64>()
            + graph.entries.iter().filter(|e| e.0 == found.header).map(|e| e.1).sum::<u64>();
        let parent = found.parent.map(|p| p + base);
        let depth = parent.map_or(0, |p| self.loops[p].depth + 1);
        for &block in &blocks {
            self.loop_of[block] = Some(self.loops.len());
        }
        let (irreducible, iterations) = (found.irreducible, self.blocks[header].executions);
        self.loops.push(ExecutedLoop {
            function,
            blocks,
            header,
            parent,
            depth,
            irreducible,
            entries,
            iterations,
        });
    }

    /// Steps in a loop, inner ones and not what they call.
    pub fn steps(&self, number: usize) -> u64 {
        let blocks = self.loops[number].blocks.iter().map(|&b| &self.blocks[b]);
        blocks.map(|b| b.executions * b.instructions.len() as u64).sum()
    }
}
