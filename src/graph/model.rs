//! A graph that is ready to be drawn: nodes, edges, and what is not among them.

use super::level::Level;
use crate::id::{CallId, FunctionId, InstructionId, Seq, ThreadId};
use crate::text::{human_bytes, human_count, words};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;

words! {
    /// What a node stands for.
    #[derive(Default)]
    pub enum NodeKind {
        #[default]
        Function = "function",
        /// PLT stub, veneer, IFUNC resolver (drawn only where they are not merged into their
        /// callers).
        Stub = "stub",
        File = "file",
        Image = "image",
        Instance = "instance",
        Step = "step",
        Instruction = "instruction",
        Block = "block",
        Line = "line",
        Loop = "loop",
        Inlined = "inlined",
        Context = "context",
        Thread = "thread",
        /// Functions that were put together by name (`--group`).
        Group = "group",
        /// A memory or a device, where functions are drawn with what they access.
        Memory = "memory",
        /// Wrote bytes that no step wrote.
        Pseudo = "pseudo",
        /// The nodes that were left out.
        Others = "others",
    }
}

/// Which node of its graph a node is. The order is that of the nodes in every output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// A pseudo-function by its number in [`crate::replay::Places`], or a memory by its number in a list.
    Unwritten(Reverse<usize>),
    /// A pseudo-function beside nodes that are no functions.
    Pseudo(Reverse<FunctionId>),
    /// All that was left out.
    #[default]
    Others,
    /// Of a file, an image or a group its first function.
    Function(FunctionId),
    Call(CallId),
    Thread(ThreadId),
    /// Place, from 1, in a list that was made for this graph: of contexts, of names.
    Listed(u32),
    /// A part of a function by the first of its instructions.
    Part(InstructionId),
    Step(Seq),
}

impl NodeId {
    pub fn pseudo(id: FunctionId) -> NodeId {
        NodeId::Pseudo(Reverse(id))
    }

    pub fn unwritten(number: usize) -> NodeId {
        NodeId::Unwritten(Reverse(number))
    }

    /// The node at this place, from 0, of a list.
    pub fn listed(place: usize) -> NodeId {
        NodeId::Listed(u32::try_from(place).map_or(u32::MAX, |n| n.saturating_add(1)))
    }

    /// As the outputs have it: a number that differs from those of the other nodes of its graph.
    pub fn number(self) -> i64 {
        let behind_ids = |n: u64| i64::try_from(n).unwrap_or(i64::MAX).saturating_add(1 << 32);
        match self {
            NodeId::Unwritten(Reverse(number)) => {
                i64::try_from(number).map_or(i64::MIN, |n| -1 - n)
            }
            NodeId::Pseudo(Reverse(id)) => -i64::from(id.get()),
            NodeId::Others => 0,
            NodeId::Function(id) => id.get().into(),
            NodeId::Call(id) => id.get().into(),
            NodeId::Thread(id) => id.get().into(),
            NodeId::Listed(place) => place.into(),
            // They stand behind all ids of functions.
            NodeId::Part(id) => behind_ids(id.get().into()),
            NodeId::Step(seq) => behind_ids(seq.get()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub id: NodeId,
    /// As shown; hostile text.
    pub name: String,
    pub kind: NodeKind,
    /// More of it, a line each (instructions of a block); hostile text.
    pub text: Vec<String>,
    /// Function that it is a part of: then the picture draws a frame around that.
    pub function: Option<String>,
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
    /// Bytes of [`Node::local`] that go from one iteration of a loop to a later one.
    pub carried: i64,
    /// Compared with another run.
    pub change: Change,
    /// Whether it ran, in a picture of what could.
    pub ran: Option<bool>,
}

impl Node {
    pub fn local_bytes(&self) -> i64 {
        self.local.iter().map(|f| f.bytes).sum()
    }
}

words! {
    /// How something differs from the same thing in another run.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Change {
        /// As it was, or not compared.
        #[default]
        Same = "same",
        Added = "added",
        Gone = "gone",
        Grown = "grown",
        Shrunk = "shrunk",
    }
}

words! {
    /// What data goes through.
    #[derive(PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Via {
        /// Processor registers
        Register = "register",
        /// A thread's stack
        Stack = "stack",
        /// Memory that is of no section and no stack
        Heap = "heap",
        /// Sections that can be written
        Global = "global",
        /// Sections that can only be read
        Constant = "constant",
        /// Registers of devices
        Mmio = "mmio",
        /// What the trace does not tell more of
        Other = "other",
    }
}

impl Via {
    /// What a column says; [`Via::Other`] for a word that is none of the names.
    pub fn of(word: &str) -> Via {
        Via::parse(word).unwrap_or(Via::Other)
    }
}

/// Data from one node to another through one kind of place. A list of them is sorted by via, each
/// at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub via: Via,
    /// Bytes read, each read counted; dependences where the trace has no sizes
    /// ([`Graph::dependences`]).
    pub bytes: i64,
    pub unique_bytes: Option<i64>,
    /// Distinct cells; adds up over via, not over nodes.
    pub addresses: Option<i64>,
    pub transfers: Option<i64>,
}

impl Flow {
    /// Of which only the bytes are known.
    pub fn of_bytes(via: Via, bytes: i64) -> Flow {
        Flow { via, bytes, unique_bytes: None, addresses: None, transfers: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum EdgeKind {
    /// `steps`: of the callee's instances, with all below them.
    Call {
        calls: i64,
        steps: Option<i64>,
    },
    Data(Vec<Flow>),
    /// Whether the target runs is decided at the end of the source: control dependence, as the
    /// trace has it or from the post-dominators of the executed control flow.
    Control,
    /// Control went from the source to the target so often.
    Jump {
        count: i64,
    },
}

impl EdgeKind {
    /// The word for outputs.
    pub fn name(&self) -> &'static str {
        match self {
            EdgeKind::Call { .. } => "call",
            EdgeKind::Jump { .. } => "jump",
            EdgeKind::Control => "control",
            EdgeKind::Data(_) => "data",
        }
    }

    /// The order in which edges of one pair of nodes come.
    fn rank(&self) -> u8 {
        match self {
            EdgeKind::Call { .. } => 0,
            EdgeKind::Jump { .. } => 1,
            EdgeKind::Control => 2,
            EdgeKind::Data(_) => 3,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub kind: EdgeKind,
    /// In a graph around one call instance: an edge that only other instances of its function have.
    pub potential: bool,
    /// Bytes that go from one iteration of a loop to a later one.
    pub carried: i64,
    /// Part of a cycle of dataflow (of a strongly connected component of all data edges of the
    /// level).
    pub cycle: bool,
    pub change: Change,
    /// Where it was compared: bytes or calls that the other run has.
    pub before: Option<i64>,
    /// Whether it ran, in a picture of what could.
    pub ran: Option<bool>,
}

impl Edge {
    /// Whether the graph is of two runs.
    pub fn is_compared(&self) -> bool {
        self.before.is_some() || self.change != Change::Same
    }

    pub fn new(kind: EdgeKind) -> Edge {
        Edge {
            kind,
            potential: false,
            carried: 0,
            cycle: false,
            change: Change::Same,
            before: None,
            ran: None,
        }
    }

    /// Bytes of a data edge, 0 of any other.
    pub fn bytes(&self) -> i64 {
        match &self.kind {
            EdgeKind::Data(flows) => flows.iter().map(|f| f.bytes).sum(),
            _ => 0,
        }
    }
}

/// A graph ready to be drawn.
#[derive(Clone, Debug)]
pub struct Graph {
    pub graph: DiGraph<Node, Edge>,
    pub level: Level,
    /// What the picture shows, where it is not simply the level.
    pub title: Option<String>,
    /// Steps of the whole run; 0 where the trace has none.
    pub steps: i64,
    /// What [`Flow::bytes`] counts is dependences: the trace has no sizes.
    pub dependences: bool,
    /// What `steps` are: "steps", or "ticks" of a trace that has times instead.
    pub unit: &'static str,
    pub focus: Option<NodeIndex>,
    /// Where the focus is one call instance of its function: its number.
    pub instance: Option<i32>,
    /// What is not in the picture, in words.
    pub left_out: Vec<String>,
    /// What the reader should know of the data, in words.
    pub notes: Vec<String>,
    /// What was lost or not understood while the database was built ([`crate::query::problems`]).
    pub problems: Vec<String>,
}

impl Graph {
    /// A graph without nodes yet.
    pub fn new(level: Level) -> Graph {
        Graph {
            graph: DiGraph::new(),
            level,
            title: None,
            steps: 0,
            unit: "steps",
            dependences: false,
            focus: None,
            instance: None,
            left_out: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// An amount of data as people read it: bytes, or a number of dependences.
    pub fn amount(&self, n: i64) -> String {
        if self.dependences { human_count(n) } else { human_bytes(n) }
    }

    /// Edges in a fixed order: by the ids of their ends, calls before data.
    pub fn edges(&self) -> Vec<(NodeIndex, NodeIndex, &Edge)> {
        let mut edges: Vec<_> =
            self.graph.edge_references().map(|e| (e.source(), e.target(), e.weight())).collect();
        edges.sort_by_key(|&(a, b, e)| (self.graph[a].id, self.graph[b].id, e.kind.rank()));
        edges
    }
}
