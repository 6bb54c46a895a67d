//! From the high level to a graph: functions (or files, images, call instances), calls and dataflow, so few of them that a person can
//! read the picture. Nothing is left out without being counted ([`Graph::left_out`]).

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

mod load;
mod resolve;
mod select;

pub use load::load;
pub use resolve::{Resolved, resolve_function};

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Function,
    /// Source file; functions without one are grouped by image.
    File,
    Image,
    /// Call instance (`main#1`).
    Instance,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Function,
    /// PLT stub, veneer, IFUNC resolver (drawn only where they are not merged into their callers).
    Stub,
    File,
    Image,
    Instance,
    /// Wrote bytes that no step wrote.
    Pseudo,
    /// The nodes that were left out.
    Others,
}

impl NodeKind {
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Function => "function",
            NodeKind::Stub => "stub",
            NodeKind::File => "file",
            NodeKind::Image => "image",
            NodeKind::Instance => "instance",
            NodeKind::Pseudo => "pseudo",
            NodeKind::Others => "others",
        }
    }
}

/// Number of a node within its level: function id, call id; negative: a pseudo-function at instance level; 0: the others.
pub type NodeId = i64;

/// The node of what was left out.
pub const OTHERS: NodeId = 0;

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: NodeId,
    /// As shown; hostile text.
    pub name: String,
    pub kind: NodeKind,
    /// Source file, else image: what the picture draws a frame around.
    pub file: Option<String>,
    pub image: Option<String>,
    pub calls: i64,
    /// NULL where the trace has no steps.
    pub steps_self: Option<i64>,
    /// Inclusive; NULL where it does not add up.
    pub steps_total: Option<i64>,
    /// From itself to itself.
    pub local: Vec<Flow>,
    /// How many nodes of the lowest kind (functions, call instances) it stands for.
    pub members: usize,
}

impl Node {
    pub fn local_bytes(&self) -> i64 {
        self.local.iter().map(|f| f.bytes).sum()
    }
}

/// What data goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    Register,
    Stack,
    Heap,
    Global,
    Constant,
    Mmio,
    Other,
}

impl Via {
    pub const ALL: [Via; 7] = [Via::Register, Via::Stack, Via::Heap, Via::Global, Via::Constant, Via::Mmio, Via::Other];

    pub fn name(self) -> &'static str {
        ["register", "stack", "heap", "global", "constant", "mmio", "other"][self as usize]
    }

    /// [`Via::Other`] for a word that is none of the names.
    pub fn parse(text: &str) -> Via {
        Via::ALL.into_iter().find(|v| v.name() == text).unwrap_or(Via::Other)
    }
}

/// Data from one node to another through one kind of place. A list of them is sorted by via, each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub via: Via,
    /// Bytes read, each read counted.
    pub bytes: i64,
    pub unique_bytes: Option<i64>,
    /// Distinct cells; adds up over via, not over nodes.
    pub addresses: Option<i64>,
    pub transfers: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EdgeKind {
    /// `steps`: of the callee's instances, with all below them.
    Call {
        calls: i64,
        steps: Option<i64>,
    },
    Data(Vec<Flow>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub kind: EdgeKind,
    /// In a graph around one call instance: an edge that only other instances of its function have.
    pub potential: bool,
}

impl Edge {
    /// Bytes of a data edge, 0 of a call.
    pub fn bytes(&self) -> i64 {
        match &self.kind {
            EdgeKind::Call { .. } => 0,
            EdgeKind::Data(flows) => flows.iter().map(|f| f.bytes).sum(),
        }
    }
}

/// A graph ready to be drawn.
#[derive(Clone, Debug)]
pub struct Graph {
    pub graph: DiGraph<Node, Edge>,
    pub level: Level,
    /// Steps of the whole run; 0 where the trace has none.
    pub steps: i64,
    pub focus: Option<NodeIndex>,
    /// Where the focus is one call instance of its function: its number.
    pub instance: Option<i32>,
    /// What is not in the picture, in words.
    pub left_out: Vec<String>,
    /// What the reader should know of the data, in words.
    pub notes: Vec<String>,
}

impl Graph {
    /// Edges in a fixed order: by the ids of their ends, calls before data.
    pub fn edges(&self) -> Vec<(NodeIndex, NodeIndex, &Edge)> {
        let mut edges: Vec<_> = self.graph.edge_references().map(|e| (e.source(), e.target(), e.weight())).collect();
        edges.sort_by_key(|&(a, b, e)| (self.graph[a].id, self.graph[b].id, matches!(e.kind, EdgeKind::Data(_))));
        edges
    }
}

/// What a graph is drawn around.
#[derive(Clone, Copy, Debug)]
pub struct Focus {
    pub function_id: i32,
    /// One call instance of it; None: all.
    pub instance: Option<i32>,
    /// Edges from it to the farthest node.
    pub depth: u32,
}

/// What to show.
#[derive(Clone, Debug)]
pub struct Selection {
    pub level: Level,
    pub data: bool,
    pub calls: bool,
    /// Only data through these; empty: all.
    pub via: Vec<Via>,
    pub focus: Option<Focus>,
    /// Nodes at most, beside the node of the others.
    pub top: usize,
    /// Data edges with fewer bytes are left out; None: the smallest, so that no more than two a node remain.
    pub min_bytes: Option<i64>,
    /// Draw stubs instead of merging them into their callers.
    pub stubs: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("no function is named `{name}`; {hint}")]
    NoFunction { name: String, hint: String },
    #[error("`{text}` is no address; write it in hexadecimal, as in @0x401136")]
    NoAddress { text: String },
    #[error("`{name}` may be any of: {candidates}; name one of them in full, as FILE:NAME or as @ADDRESS")]
    Ambiguous { name: String, candidates: String },
    #[error("`{name}` was called {calls} times: there is no instance {instance}")]
    NoInstance { name: String, instance: i32, calls: i64 },
    #[error("`{name}` is a stub and merged into its callers; --stubs show draws it")]
    MergedStub { name: String },
    #[error("`{name}` did not run, or nothing is known of it at this level")]
    NotInGraph { name: String },
    #[error("this database keeps no call instances (detail summary): build it with --detail instance or more")]
    NoInstances,
}
