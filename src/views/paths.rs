//! Acyclic paths of functions: what could run, what did, and the control flow with it.

use super::listing::{Listing, id};
use super::{ViewError, report};
use crate::graph::{Edge as GraphEdge, EdgeKind, Graph, Level, Node, NodeId, NodeKind};
use crate::id::FunctionId;
use crate::paths::{Block, BlockKind, Edge, End, Function, Numbering, Path};
use crate::text::human_count;
use duckdb::Connection;
use duckdb::types::Value;
use std::collections::BTreeMap;

/// Refuses a database without paths.
pub fn require(connection: &Connection) -> Result<(), ViewError> {
    let sql = "SELECT count(*) > 0 FROM path_function";
    if connection.query_row(sql, [], |r| r.get(0))? { Ok(()) } else { Err(ViewError::NoPaths) }
}

/// Functions with the number of their paths.
pub fn functions() -> Listing {
    Listing::new(report!("path_functions"), [])
}

/// The paths that frames of a function had run, oldest first, and the one under way.
pub fn executed(function: FunctionId, limit: i64) -> Listing {
    Listing::new(report!("path_executed"), [id(function), Value::BigInt(limit)])
}

/// A function as the database has it.
pub struct PathFunction {
    pub function: Function,
    /// None where its numbers are no numbering.
    pub numbering: Option<Numbering>,
    /// By block and by edge; None without frames.
    blocks_run: Vec<Option<i64>>,
    edges_run: Vec<Option<i64>>,
    /// Frames that stand in each block.
    stands: BTreeMap<usize, Vec<i32>>,
    /// How often frames hold each finished path.
    pub counts: BTreeMap<u64, i64>,
}

/// Reads a function; None if no description of it was loaded.
pub fn function(
    connection: &Connection,
    function_id: FunctionId,
) -> Result<Option<PathFunction>, ViewError> {
    let mut found = PathFunction {
        function: Function::default(),
        numbering: None,
        blocks_run: Vec::new(),
        edges_run: Vec::new(),
        stands: BTreeMap::new(),
        counts: BTreeMap::new(),
    };
    let mut index: BTreeMap<i32, usize> = BTreeMap::new();
    let mut statement = connection.prepare(report!("path_blocks"))?;
    let mut rows = statement.query([function_id])?;
    while let Some(r) = rows.next()? {
        let id: i32 = r.get(0)?;
        let blocks = &mut found.function.blocks;
        let at = *index.entry(id).or_insert(blocks.len());
        if at == blocks.len() {
            let kind = match r.get::<_, String>(2)?.as_str() {
                "entry" => BlockKind::Entry,
                "exit" => BlockKind::Exit,
                _ => BlockKind::Plain,
            };
            blocks.push(Block { number: r.get(1)?, kind, lines: Vec::new() });
            found.blocks_run.push(r.get(3)?);
        }
        if r.get::<_, Option<i32>>(4)?.is_some() {
            blocks[at].lines.push(r.get(5)?);
        }
    }
    if index.is_empty() {
        return Ok(None);
    }
    let mut statement = connection.prepare(report!("path_edges"))?;
    let mut rows = statement.query([function_id])?;
    while let Some(r) = rows.next()? {
        let (Some(&source), Some(&target)) = (index.get(&r.get(0)?), index.get(&r.get(1)?)) else {
            continue;
        };
        let edge =
            Edge { source, target, restarts: r.get(2)?, increment: r.get(3)?, weight: r.get(4)? };
        found.function.edges.push(edge);
        found.edges_run.push(r.get(5)?);
    }
    let mut statement = connection.prepare(report!("path_counts"))?;
    let mut rows = statement.query([function_id])?;
    while let Some(r) = rows.next()? {
        if let Ok(number) = u64::try_from(r.get::<_, i64>(0)?) {
            found.counts.insert(number, r.get(1)?);
        }
    }
    let mut statement = connection.prepare(report!("path_stands"))?;
    let mut rows = statement.query([function_id])?;
    while let Some(r) = rows.next()? {
        if let Some(&at) = index.get(&r.get(0)?) {
            found.stands.entry(at).or_default().push(r.get(1)?);
        }
    }
    found.numbering = Numbering::of(&found.function).ok();
    Ok(Some(found))
}

/// A path as people read it.
pub struct PathText {
    /// `entry`, or the edge that it begins behind.
    pub begins: String,
    pub blocks: String,
    /// Without repetitions.
    pub lines: String,
    pub ends: String,
}

impl PathFunction {
    fn edge(&self, e: usize) -> String {
        let edge = self.function.edges[e];
        format!(
            "{}~>{}",
            self.function.blocks[edge.source].number, self.function.blocks[edge.target].number
        )
    }

    pub fn text(&self, path: &Path) -> PathText {
        let blocks = &self.function.blocks;
        let mut lines: Vec<u32> =
            path.blocks.iter().flat_map(|&b| blocks[b].lines.iter().copied().flatten()).collect();
        lines.dedup();
        let join = |list: Vec<String>| list.join(" ");
        PathText {
            begins: path.begin.map_or("entry".into(), |e| self.edge(e)),
            blocks: join(path.blocks.iter().map(|&b| blocks[b].number.to_string()).collect()),
            lines: join(lines.iter().map(u32::to_string).collect()),
            ends: match path.end {
                End::Exit => "exit".into(),
                End::Edge(e) => self.edge(e),
                End::Open => String::new(),
            },
        }
    }

    /// Its control flow; what is in an executed path is marked.
    pub fn graph(&self, name: &str) -> Graph {
        let mut graph = Graph::new(Level::Block);
        let mut nodes = Vec::new();
        for (i, block) in self.function.blocks.iter().enumerate() {
            let lines: Vec<u32> = block.lines.iter().copied().flatten().collect();
            let mut text = Vec::new();
            if let (Some(first), Some(last)) = (lines.iter().min(), lines.iter().max()) {
                text.push(if first == last {
                    format!("line {first}")
                } else {
                    format!("lines {first}-{last}")
                });
            }
            if block.store().is_some() {
                text.push("stores the path's number".into());
            }
            let run = self.blocks_run[i];
            text.extend(run.filter(|&n| n > 0).map(|n| format!("{}×", human_count(n))));
            text.extend(
                self.stands
                    .get(&i)
                    .into_iter()
                    .flatten()
                    .map(|frame| format!("frame {frame} stands here")),
            );
            let name = match block.kind {
                BlockKind::Entry => format!("{} entry", block.number),
                BlockKind::Exit => format!("{} exit", block.number),
                BlockKind::Plain => block.number.to_string(),
            };
            let node = Node {
                id: NodeId::listed(i),
                name,
                kind: NodeKind::Block,
                text,
                members: 1,
                ran: run.map(|n| n > 0),
                ..Node::default()
            };
            nodes.push(graph.graph.add_node(node));
        }
        for (i, edge) in self.function.edges.iter().enumerate() {
            let run = self.edges_run[i];
            let kind = EdgeKind::Jump { count: run.unwrap_or(0) };
            let (a, b) = (nodes[edge.source], nodes[edge.target]);
            graph.graph.add_edge(
                a,
                b,
                GraphEdge { ran: run.map(|n| n > 0), ..GraphEdge::new(kind) },
            );
        }
        let paths = self.numbering.as_ref().map_or("paths without numbers".to_owned(), |n| match n
            .paths()
        {
            1 => "one path".to_owned(),
            n => format!("{} paths", human_count(n.min(i64::MAX as u64) as i64)),
        });
        let run = match self.counts.len() {
            _ if self.blocks_run.iter().all(Option::is_none) => String::new(),
            n => format!(", {n} of them run"),
        };
        graph.title = Some(format!("Control flow of {name}: {paths}{run}"));
        graph
    }
}
