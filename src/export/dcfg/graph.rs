//! The graph as it is found: blocks, edges with their counts, and what follows what.

use super::edge_type::EdgeType;
use crate::id::InstructionId;
use rustc_hash::FxHashMap;

pub const START: u32 = 0;
pub const END: u32 = 1;
/// Where control comes from and goes to at a gap of the trace.
pub const UNKNOWN: u32 = 2;
/// Ids of special nodes; blocks come behind them.
pub const SPECIALS: u32 = 3;

/// Source, target, type.
pub type Edge = (u32, u32, EdgeType);

/// A basic block: first and last instruction, instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    pub first: InstructionId,
    pub last: InstructionId,
    pub length: u32,
}

#[derive(Default)]
pub struct FlowGraph {
    pub blocks: Vec<Block>,
    pub block_ids: FxHashMap<Block, u32>,
    /// Ids from 1 are the places in here from 0.
    pub edges: Vec<Edge>,
    pub edge_ids: FxHashMap<Edge, u32>,
    /// By edge and thread.
    pub counts: Vec<Vec<u64>>,
    /// What followed an edge how often.
    pub next: FxHashMap<(u32, u32), u64>,
    /// Instructions by thread.
    pub instructions: Vec<u64>,
}

impl FlowGraph {
    pub fn block(&mut self, block: Block) -> u32 {
        let new = number(self.blocks.len()) + SPECIALS;
        let id = *self.block_ids.entry(block).or_insert(new);
        if id == new {
            self.blocks.push(block);
        }
        id
    }

    pub fn edge(&mut self, edge: Edge) -> u32 {
        let new = number(self.edges.len());
        let id = *self.edge_ids.entry(edge).or_insert(new);
        if id == new {
            self.edges.push(edge);
            self.counts.push(Vec::new());
        }
        id
    }

    /// Instructions of a node.
    pub fn length(&self, block: u32) -> u64 {
        self.block_of(block).map_or(0, |b| u64::from(b.length))
    }

    /// The block that a node is; None for special nodes.
    pub fn block_of(&self, node: u32) -> Option<&Block> {
        self.blocks.get(index(node.checked_sub(SPECIALS)?))
    }
}

/// A number of the format as a place in a list.
pub fn index(number: u32) -> usize {
    number as usize
}

/// A place in a list as a number of the format, which has 32 bits for it.
pub fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
