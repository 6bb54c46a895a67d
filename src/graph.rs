//! From the high level to a graph: functions (or files, images, call instances), calls and
//! dataflow, so few of them that a person can read the picture. Nothing is left out without being
//! counted ([`Graph::left_out`]).

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

mod bottom_up;
mod contexts;
mod inside;
mod load;
mod resolve;
mod select;
mod steps;

pub use contexts::{Context, Contexts, Names, contexts, function_names};
pub use inside::Inside;
pub use load::{Facts, load, load_with, prepare_merged};
pub use resolve::{Resolved, resolve_function};

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Executed instruction, once for each time: part of the run.
    Step,
    Instruction,
    /// Basic block of the executed control flow.
    Block,
    /// Source line of one function.
    Line,
    /// Innermost loop, or what of a function is in none.
    Loop,
    /// Call instance (`main#1`).
    Instance,
    /// Chain of functions from the root.
    Context,
    Function,
    /// Source file; functions without one are grouped by image.
    File,
    Image,
    Thread,
}

impl Level {
    pub const ALL: [Level; 11] = [
        Level::Step,
        Level::Instruction,
        Level::Block,
        Level::Line,
        Level::Loop,
        Level::Instance,
        Level::Context,
        Level::Function,
        Level::File,
        Level::Image,
        Level::Thread,
    ];

    /// The word for `--level`.
    pub fn name(self) -> &'static str {
        [
            "step",
            "instruction",
            "block",
            "line",
            "loop",
            "instance",
            "context",
            "function",
            "file",
            "image",
            "thread",
        ][self as usize]
    }

    pub fn parse(text: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.name() == text)
    }

    /// What one node is, in words.
    pub fn word(self) -> &'static str {
        match self {
            Level::Line => "source line",
            Level::Instance => "call instance",
            Level::Context => "calling context",
            Level::File => "file",
            _ => self.name(),
        }
    }

    /// What a node of this level that stands for several is made of.
    pub fn member(self) -> &'static str {
        match self {
            Level::Instance | Level::Context => "call",
            Level::File | Level::Image | Level::Function => "function",
            _ => self.word(),
        }
    }

    /// The part of a function that [`Inside`] knows, if nodes are such parts.
    pub fn inside(self) -> Option<Inside> {
        Some(match self {
            Level::Instruction => Inside::Instruction,
            Level::Block => Inside::Block,
            Level::Line => Inside::Line,
            Level::Loop => Inside::Loop,
            _ => return None,
        })
    }
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    #[default]
    Function,
    /// PLT stub, veneer, IFUNC resolver (drawn only where they are not merged into their callers).
    Stub,
    File,
    Image,
    Instance,
    Step,
    Instruction,
    Block,
    Line,
    Loop,
    Context,
    Thread,
    /// Functions that were put together by name (`--group`).
    Group,
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
            NodeKind::Step => "step",
            NodeKind::Instruction => "instruction",
            NodeKind::Block => "block",
            NodeKind::Line => "line",
            NodeKind::Loop => "loop",
            NodeKind::Context => "context",
            NodeKind::Thread => "thread",
            NodeKind::Group => "group",
            NodeKind::Pseudo => "pseudo",
            NodeKind::Others => "others",
        }
    }
}

/// Number of a node within its level: function id, call id, [`PART`] + the first instruction of a
/// part of a function; negative: a pseudo-function where ids are of calls; 0: the others.
pub type NodeId = i64;

/// Parts of functions have ids from here on.
pub const PART: NodeId = 1 << 32;

/// The node of what was left out.
pub const OTHERS: NodeId = 0;

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

/// How something differs from the same thing in another run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// As it was, or not compared.
    #[default]
    Same,
    Added,
    Gone,
    Grown,
    Shrunk,
}

impl Change {
    pub fn name(self) -> &'static str {
        ["same", "added", "gone", "grown", "shrunk"][self as usize]
    }

    pub fn parse(text: &str) -> Change {
        [Change::Added, Change::Gone, Change::Grown, Change::Shrunk]
            .into_iter()
            .find(|c| c.name() == text)
            .unwrap_or_default()
    }
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
    pub const ALL: [Via; 7] =
        [Via::Register, Via::Stack, Via::Heap, Via::Global, Via::Constant, Via::Mmio, Via::Other];

    pub fn name(self) -> &'static str {
        ["register", "stack", "heap", "global", "constant", "mmio", "other"][self as usize]
    }

    /// [`Via::Other`] for a word that is none of the names.
    pub fn parse(text: &str) -> Via {
        Via::ALL.into_iter().find(|v| v.name() == text).unwrap_or(Via::Other)
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
    /// The word for `--show`, and the order in which edges of one pair of nodes come.
    pub fn name(&self) -> &'static str {
        match self {
            EdgeKind::Call { .. } => "call",
            EdgeKind::Jump { .. } => "jump",
            EdgeKind::Control => "control",
            EdgeKind::Data(_) => "data",
        }
    }

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
}

impl Edge {
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
}

impl Graph {
    /// An amount of data as people read it: bytes, or a number of dependences.
    pub fn amount(&self, n: i64) -> String {
        amount(self.dependences, n)
    }

    /// A graph without edges yet.
    pub fn new(level: Level) -> Graph {
        let (left_out, notes) = (Vec::new(), Vec::new());
        Graph {
            graph: DiGraph::new(),
            level,
            title: None,
            steps: 0,
            unit: "steps",
            dependences: false,
            focus: None,
            instance: None,
            left_out,
            notes,
        }
    }

    /// Edges in a fixed order: by the ids of their ends, calls before data.
    pub fn edges(&self) -> Vec<(NodeIndex, NodeIndex, &Edge)> {
        let mut edges: Vec<_> =
            self.graph.edge_references().map(|e| (e.source(), e.target(), e.weight())).collect();
        edges.sort_by_key(|&(a, b, e)| (self.graph[a].id, self.graph[b].id, e.kind.rank()));
        edges
    }
}

/// Bytes, or a number of dependences.
fn amount(dependences: bool, n: i64) -> String {
    if dependences { crate::text::human_count(n) } else { crate::text::human_bytes(n) }
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
    /// Control dependences, in parts of functions.
    pub control: bool,
    /// Executed control flow, in parts of functions.
    pub jumps: bool,
    /// Mark what loops carry from one iteration to a later one, in parts of functions.
    pub carried: bool,
    /// Functions to show the inside of, and as what.
    pub expand: Vec<i32>,
    pub inside: Inside,
    /// Functions to put together, by name.
    pub groups: Vec<(String, Vec<i32>)>,
    /// At step level: first and last step, inclusive.
    pub range: Option<(i64, i64)>,
    /// Only data through these; empty: all.
    pub via: Vec<Via>,
    pub focus: Option<Focus>,
    /// Nodes at most, beside the node of the others and the largest pseudo-functions.
    pub top: usize,
    /// Data edges with fewer bytes are left out; None: the smallest, so that no more than two a
    /// node remain.
    pub min_bytes: Option<i64>,
    /// Draw stubs instead of merging them into their callers.
    pub stubs: bool,
    /// Make the data edges of functions from the graph of all steps, merged up, instead of from
    /// what is stored.
    pub bottom_up: bool,
}

impl Default for Selection {
    /// Functions with calls and data.
    fn default() -> Selection {
        Selection {
            level: Level::Function,
            data: true,
            calls: true,
            control: false,
            jumps: false,
            carried: false,
            expand: Vec::new(),
            inside: Inside::Line,
            groups: Vec::new(),
            range: None,
            via: Vec::new(),
            focus: None,
            top: 24,
            min_bytes: None,
            stubs: false,
            bottom_up: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("no function is named `{name}`; {hint}")]
    NoFunction { name: String, hint: String },
    #[error("`{text}` is no address; write it in hexadecimal, as in @0x401136")]
    NoAddress { text: String },
    #[error(
        "`{name}` may be any of: {candidates}; name one of them in full, as FILE:NAME or as @ADDRESS"
    )]
    Ambiguous { name: String, candidates: String },
    #[error("`{name}` was called {calls} times: there is no instance {instance}")]
    NoInstance { name: String, instance: i32, calls: i64 },
    #[error("`{name}` is a stub and merged into its callers; --stubs show draws it")]
    MergedStub { name: String },
    #[error("`{name}` did not run, or nothing is known of it at this level")]
    NotInGraph { name: String },
    #[error(transparent)]
    Replay(#[from] crate::replay::ReplayError),
    #[error(
        "step level draws part of the run: name it with --range FIRST..LAST (step numbers), or a call with --focus FUNCTION#N"
    )]
    NoRange,
    #[error("{steps} steps are too many for a picture of steps; {limit} at most")]
    RangeTooLong { steps: i64, limit: i64 },
    #[error(
        "this database keeps no call instances: build it with --detail instance or more, from a trace that has steps or calls \
         (valgrind --tool=lackey --trace-mem=yes or QEMU record steps)"
    )]
    NoInstances,
}
