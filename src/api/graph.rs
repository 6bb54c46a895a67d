//! A level of a database as a graph.

use super::{Error, Level, Via};
use crate::graph::{self, EdgeKind as Kind, Facts, Flow, Focus, resolve_function};
use crate::load::Detail;
use crate::render::{dot, json};
use crate::views::rows;
use duckdb::Connection;

/// What of a database is to be a graph: its functions with their calls and data, unless said
/// otherwise.
#[derive(Clone, Debug)]
pub struct Selection {
    level: Level,
    top: usize,
    min_bytes: Option<i64>,
    via: Vec<Via>,
    focus: Option<(String, u32)>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection::new(Level::Function)
    }
}

impl Selection {
    /// The nodes of a level, 24 of them.
    pub fn new(level: Level) -> Selection {
        Selection { level, top: 24, min_bytes: None, via: Vec::new(), focus: None }
    }

    /// How many nodes there are, those with most steps or bytes: the rest is one node, `(others)`.
    pub fn top(mut self, nodes: usize) -> Selection {
        self.top = nodes.max(1);
        self
    }

    /// Only data edges of at least so many bytes; 0: all. Without this so many that about two a node
    /// remain.
    pub fn min_bytes(mut self, bytes: i64) -> Selection {
        self.min_bytes = Some(bytes);
        self
    }

    /// Only data through these.
    pub fn via(mut self, via: &[Via]) -> Selection {
        self.via = via.to_vec();
        self
    }

    /// Only what is so many edges or fewer from a function: name, `file:name`, `@address`, and with
    /// `#N` behind it only its Nth call.
    pub fn focus(mut self, function: impl Into<String>, depth: u32) -> Selection {
        self.focus = Some((function.into(), depth));
        self
    }
}

/// A graph of calls and data. What is not in it is said in [`Graph::left_out`].
#[derive(Clone, Debug)]
pub struct Graph {
    inner: graph::Graph,
}

/// A node of a graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node<'a> {
    /// The name, as the program or the trace has it: escape it where that matters.
    pub name: &'a str,
    /// What it is: `function`, `file`, `instance`, `pseudo` (who wrote outside of the program),
    /// `others` (what was left out).
    pub kind: &'static str,
    /// Source file.
    pub file: Option<&'a str>,
    /// Calls of it.
    pub calls: i64,
    /// Its own steps; None where the trace has none.
    pub steps_self: Option<i64>,
    /// Its steps with those of what it called; None where they do not add up.
    pub steps_total: Option<i64>,
    /// Bytes that it wrote and read itself.
    pub local_bytes: i64,
}

/// An edge of a graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edge {
    /// Place of the caller or writer in [`Graph::nodes`].
    pub from: usize,
    /// Place of the callee or reader in [`Graph::nodes`].
    pub to: usize,
    /// What it is.
    pub kind: EdgeKind,
}

/// What an edge is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EdgeKind {
    /// Calls.
    Calls {
        /// How many.
        calls: i64,
        /// Steps of these calls, with those of what they called; None where the trace has none.
        steps: Option<i64>,
    },
    /// Data, through one kind of place.
    #[non_exhaustive]
    Data {
        /// What it went through.
        via: Via,
        /// Bytes read, each read counted; dependences where the trace has no sizes.
        bytes: i64,
        /// Distinct pairs of a byte and its write, for each call that read.
        unique_bytes: Option<i64>,
        /// Distinct bytes of memory and registers.
        addresses: Option<i64>,
        /// Distinct pairs of a write and a read.
        transfers: Option<i64>,
    },
    /// Whether the target runs is decided at the end of the source.
    Control,
    /// Control went there so often.
    Jumps(i64),
}

impl Graph {
    pub(super) fn of(db: &Connection, selection: &Selection) -> Result<Graph, Error> {
        let of_functions = matches!(selection.level, Level::Function | Level::File | Level::Image);
        let of_call = selection.focus.as_ref().is_some_and(|(name, _)| name.contains('#'));
        if !of_functions || of_call {
            rows::ensure(db, Detail::Instance).map_err(Error::of)?;
        }
        let focus = match &selection.focus {
            None => None,
            Some((name, depth)) => {
                let found = resolve_function(db, name).map_err(Error::of)?;
                let (function_id, instance) = (found.function_id, found.instance);
                Some(Focus { function_id, instance, depth: *depth })
            }
        };
        let facts = Facts::find(db).map_err(Error::of)?;
        let selection = graph::Selection {
            level: selection.level,
            top: selection.top,
            min_bytes: selection.min_bytes,
            via: selection.via.clone(),
            focus,
            ..graph::Selection::default()
        };
        let inner = graph::load_with(db, facts, &selection).map_err(Error::of)?;
        Ok(Graph { inner })
    }

    /// The nodes, in a fixed order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.inner.graph.node_weights().map(|node| Node {
            name: &node.name,
            kind: node.kind.name(),
            file: node.file.as_deref(),
            calls: node.calls,
            steps_self: node.steps_self,
            steps_total: node.steps_total,
            local_bytes: node.local_bytes(),
        })
    }

    /// The edges, in a fixed order; data through several kinds of places is several edges.
    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        self.inner.edges().into_iter().flat_map(|(from, to, edge)| {
            let edge_of = move |kind| Edge { from: from.index(), to: to.index(), kind };
            kinds(&edge.kind).into_iter().map(edge_of)
        })
    }

    /// What is not in it, a sentence each.
    pub fn left_out(&self) -> &[String] {
        &self.inner.left_out
    }

    /// The graph in Graphviz's language.
    pub fn to_dot(&self) -> String {
        dot::render(&self.inner)
    }

    /// The graph as JSON, by `docs/graph.schema.json`.
    pub fn to_json(&self) -> String {
        json::render(&self.inner)
    }
}

fn kinds(kind: &Kind) -> Vec<EdgeKind> {
    let data = |flow: &Flow| EdgeKind::Data {
        via: flow.via,
        bytes: flow.bytes,
        unique_bytes: flow.unique_bytes,
        addresses: flow.addresses,
        transfers: flow.transfers,
    };
    match kind {
        Kind::Call { calls, steps } => vec![EdgeKind::Calls { calls: *calls, steps: *steps }],
        Kind::Data(flows) => flows.iter().map(data).collect(),
        Kind::Control => vec![EdgeKind::Control],
        Kind::Jump { count } => vec![EdgeKind::Jumps(*count)],
    }
}
