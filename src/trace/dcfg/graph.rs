//! The dynamic control-flow graph itself: what the document's section 2 describes.

use rustc_hash::FxHashMap;

/// Ids are 31 bits wide by the document; wider ones are met.
pub type Id = u64;

/// Counts at most: what a database holds. No run is so long.
pub const MOST: u64 = i64::MAX as u64;

/// A sum of counts, [`MOST`] at most.
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add).min(MOST)
}

/// What an edge does to the call stack, from the name of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Entry,
    Exit,
    Branch,
    FallThrough,
    Repeat,
    Call,
    Return,
    /// System call, interrupt, fault: into a handler.
    Trap,
    TrapReturn,
    /// Over what was called.
    Bypass,
    Unknown,
}

impl EdgeKind {
    /// Any string is a type (document, section 2.5, whose example has names that its table lacks).
    pub fn of(name: &str) -> EdgeKind {
        match name {
            "ENTRY" => EdgeKind::Entry,
            "EXIT" => EdgeKind::Exit,
            "REP" => EdgeKind::Repeat,
            "FALL_THROUGH" => EdgeKind::FallThrough,
            "RETURN" => EdgeKind::Return,
            "SYSTEM_RETURN" | "CONTEXT_CHANGE_RETURN" | "INTERRUPT_RETURN" => EdgeKind::TrapReturn,
            "SYSTEM_CALL" | "CONTEXT_CHANGE" | "INTERRUPT" => EdgeKind::Trap,
            n if n.ends_with("_BYPASS") => EdgeKind::Bypass,
            n if n == "CALL" || n.ends_with("_CALL") => EdgeKind::Call,
            n if n == "BRANCH" || n.ends_with("_BRANCH") => EdgeKind::Branch,
            _ => EdgeKind::Unknown,
        }
    }

    /// The word in `cfg_edge.kind`.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Entry => "entry",
            EdgeKind::Exit => "exit",
            EdgeKind::Branch => "branch",
            EdgeKind::FallThrough => "fall-through",
            EdgeKind::Repeat => "repeat",
            EdgeKind::Call => "call",
            EdgeKind::Return => "return",
            EdgeKind::Trap => "trap",
            EdgeKind::TrapReturn => "trap-return",
            EdgeKind::Bypass => "bypass",
            EdgeKind::Unknown => "unknown",
        }
    }

    /// Control stays in the routine (document, section 2.14).
    pub fn is_inside(self) -> bool {
        matches!(
            self,
            EdgeKind::Branch
                | EdgeKind::FallThrough
                | EdgeKind::Repeat
                | EdgeKind::Bypass
                | EdgeKind::Unknown
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Block,
    Start,
    End,
    /// No code is known for it.
    Unknown,
}

impl NodeKind {
    /// The word in `basic_block.kind`.
    pub fn name(self) -> &'static str {
        ["block", "start", "end", "unknown"][self as usize]
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub id: Id,
    pub kind: NodeKind,
    /// Index into the process's images; meaningless for nodes without code.
    pub image: u32,
    pub address: u64,
    /// Bytes; 0 where the writer does not know.
    pub size: u64,
    pub instructions: u64,
    pub last_address: u64,
    /// What the block table says.
    pub count: Option<u64>,
    /// Sum of the counts of the edges that enter it.
    pub entered: u64,
    /// Innermost loop and routine, as indices.
    pub inner_loop: Option<u32>,
    pub routine: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub id: Id,
    /// Indices into the nodes.
    pub source: u32,
    pub target: u32,
    pub kind: EdgeKind,
    /// Index into [`Graph::types`].
    pub type_name: u32,
    /// By thread; may be shorter than there are threads.
    pub counts: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Image {
    pub id: Id,
    pub path: Option<String>,
    pub load_address: u64,
    pub size: u64,
    /// Run-time address, bytes, name; by address.
    pub symbols: Vec<(u64, u64, String)>,
    /// Run-time address, bytes, file, line; by address.
    pub lines: Vec<(u64, u64, u32, u32)>,
}

impl Image {
    /// The innermost symbol that holds the address.
    pub fn symbol_at(&self, address: u64) -> Option<usize> {
        let after = self.symbols.partition_point(|s| s.0 <= address);
        (0..after).rev().take(16).find(|&i| address - self.symbols[i].0 < self.symbols[i].1.max(1))
    }
    /// File (index into [`Graph::files`]) and line.
    pub fn line_at(&self, address: u64) -> Option<(u32, u32)> {
        let after = self.lines.partition_point(|l| l.0 <= address);
        let &(start, size, file, line) = self.lines.get(after.checked_sub(1)?)?;
        (address - start < size.max(1)).then_some((file, line))
    }
}

#[derive(Clone, Debug)]
pub struct Routine {
    pub image: u32,
    pub entry: u32,
    pub exits: Vec<u32>,
    /// Node and immediate dominator.
    pub nodes: Vec<(u32, Option<u32>)>,
}

#[derive(Clone, Debug)]
pub struct Loop {
    pub routine: u32,
    pub header: u32,
    pub back_edge_sources: Vec<u32>,
    /// Sorted.
    pub nodes: Vec<u32>,
    pub parent: Option<u32>,
    pub depth: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Process {
    pub pid: u64,
    pub instructions: Option<u64>,
    pub instructions_per_thread: Vec<u64>,
    pub images: Vec<Image>,
    /// The special nodes first.
    pub nodes: Vec<Node>,
    pub node_by_id: FxHashMap<Id, u32>,
    pub edges: Vec<Edge>,
    pub edge_by_id: FxHashMap<Id, u32>,
    pub routines: Vec<Routine>,
    /// A loop comes after those around it.
    pub loops: Vec<Loop>,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub version: (u64, u64),
    pub files: Vec<String>,
    /// Names of edge types.
    pub types: Vec<String>,
    /// Special nodes: id, name.
    pub specials: Vec<(Id, String)>,
    pub processes: Vec<Process>,
}

impl Process {
    pub(super) fn node(&mut self, id: Id, kind: NodeKind) -> u32 {
        let number = self.nodes.len() as u32;
        self.node_by_id.insert(id, number);
        self.nodes.push(Node {
            id,
            kind,
            image: 0,
            address: 0,
            size: 0,
            instructions: 0,
            last_address: 0,
            count: None,
            entered: 0,
            inner_loop: None,
            routine: None,
        });
        number
    }

    pub fn threads(&self) -> usize {
        let counted = self.edges.iter().map(|e| e.counts.len()).max().unwrap_or(0);
        self.instructions_per_thread.len().max(counted.min(1 << 16))
    }
}
