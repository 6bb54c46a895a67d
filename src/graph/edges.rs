//! Rows added up to edges: one of each kind between two nodes.

use super::model::{Edge, EdgeKind, Flow, Graph, Node, NodeId, NodeKind};
use super::rows::{CallRow, DataRow, LevelRows, add};
use petgraph::graph::NodeIndex;
use std::collections::{BTreeMap, BTreeSet};

/// Writer and reader, caller and callee, or whatever an edge goes from and to.
pub type Ends = (NodeId, NodeId);

pub type DataEdges = BTreeMap<Ends, Vec<Flow>>;
/// Calls, and steps below them.
pub type CallEdges = BTreeMap<Ends, (i64, Option<i64>)>;
/// Edges with a count each.
pub type CountedEdges = BTreeMap<Ends, i64>;

/// The edges of a level.
pub struct LevelEdges {
    pub data: DataEdges,
    pub calls: CallEdges,
    /// Without counts: all 0.
    pub control: CountedEdges,
    pub jumps: CountedEdges,
    pub carried: CountedEdges,
    /// What one instance of the focus has of them.
    pub current: Option<(DataEdges, CallEdges)>,
}

impl LevelEdges {
    /// Of the rows of a level; what goes from a node to itself becomes the node's.
    pub fn take(rows: &mut LevelRows) -> LevelEdges {
        let mut data = data_edges(&rows.data);
        set_group_figures(rows, &mut data);
        let mut carried = CountedEdges::new();
        for &(a, b, bytes) in &rows.carried {
            *carried.entry((a, b)).or_default() += bytes;
        }
        let mut jumps = CountedEdges::new();
        for &(a, b, count) in &rows.jumps {
            *jumps.entry((a, b)).or_default() += count;
        }
        for (&id, node) in &mut rows.nodes {
            node.local = data.remove(&(id, id)).unwrap_or_default();
            node.carried = carried.get(&(id, id)).copied().unwrap_or(0);
        }
        let mut calls = call_edges(&rows.calls);
        // Recursion is worth an edge, what goes on among the others is not.
        calls.remove(&(NodeId::Others, NodeId::Others));
        let current = rows.current.take().map(|c| (data_edges(&c.data), call_edges(&c.calls)));
        let control = rows.control.iter().map(|&ends| (ends, 0)).collect();
        LevelEdges { data, calls, control, jumps, carried, current }
    }

    /// Nodes at the ends of edges.
    pub fn linked(&self) -> BTreeSet<NodeId> {
        let counted = self.control.keys().chain(self.jumps.keys());
        let all = self.data.keys().chain(self.calls.keys()).chain(counted);
        all.flat_map(|&(a, b)| [a, b]).collect()
    }

    /// Draws them between the nodes of a graph. `cycles`: which cycle of dataflow a node is in.
    pub fn add_to(
        self,
        graph: &mut Graph,
        index: &BTreeMap<NodeId, NodeIndex>,
        cycles: &BTreeMap<NodeId, usize>,
    ) {
        let LevelEdges { data, calls, control, jumps, carried, current } = self;
        let (current_data, current_calls) = current.unzip();
        let mut draw = |ends: Ends, edge: Edge| {
            if let (Some(&a), Some(&b)) = (index.get(&ends.0), index.get(&ends.1)) {
                graph.graph.add_edge(a, b, edge);
            }
        };
        for (ends, all) in calls {
            // Where one instance is drawn, its own figures; what it has not is potential.
            let now = current_calls.as_ref().map(|c| c.get(&ends).copied());
            let (calls, steps) = now.flatten().unwrap_or(all);
            let kind = EdgeKind::Call { calls, steps };
            draw(ends, Edge { potential: now == Some(None), ..Edge::new(kind) });
        }
        for (ends, flows) in data {
            let now = current_data.as_ref().map(|c| c.get(&ends).cloned());
            let potential = now == Some(None);
            let kind = EdgeKind::Data(now.flatten().unwrap_or(flows));
            let cycle = ends.0 != ends.1
                && cycles.get(&ends.0).is_some_and(|c| cycles.get(&ends.1) == Some(c));
            let carried = carried.get(&ends).copied().unwrap_or(0);
            draw(ends, Edge { potential, cycle, carried, ..Edge::new(kind) });
        }
        for ends in control.into_keys() {
            draw(ends, Edge::new(EdgeKind::Control));
        }
        for (ends, count) in jumps {
            draw(ends, Edge::new(EdgeKind::Jump { count }));
        }
    }
}

/// Sorts flows by via and adds up those of one via.
fn sum(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|f| f.via);
    flows.dedup_by(|b, a| {
        let same = a.via == b.via;
        if same {
            a.bytes = a.bytes.saturating_add(b.bytes);
            a.transfers = a.transfers.zip(b.transfers).map(|(a, b)| a.saturating_add(b));
            a.unique_bytes = a.unique_bytes.zip(b.unique_bytes).map(|(a, b)| a.saturating_add(b));
            // Distinct cells do not add up over writers or readers.
            a.addresses = None;
        }
        same
    });
    flows
}

/// Gives edges of groups what is no sum of their members' figures.
fn set_group_figures(rows: &LevelRows, data: &mut DataEdges) {
    let is_group =
        |id: &NodeId| rows.nodes.get(id).is_some_and(|n: &Node| n.kind == NodeKind::Group);
    for ((_, reader), flows) in data.iter_mut() {
        if is_group(reader) {
            flows.iter_mut().for_each(|f| f.unique_bytes = None);
        }
    }
    for found in rows.groups.iter().flatten() {
        let flows = data.get_mut(&(found.writer, found.reader)).into_iter().flatten();
        for flow in flows.filter(|f| f.via == found.via) {
            flow.addresses = Some(found.addresses);
            if is_group(&found.reader) {
                flow.unique_bytes = Some(found.unique_bytes);
            }
        }
    }
}

fn data_edges(rows: &[DataRow]) -> DataEdges {
    let mut edges = DataEdges::new();
    for row in rows {
        edges.entry((row.writer, row.reader)).or_default().push(row.flow);
    }
    edges.into_iter().map(|(ends, flows)| (ends, sum(flows))).collect()
}

fn call_edges(rows: &[CallRow]) -> CallEdges {
    let mut edges = CallEdges::new();
    for row in rows {
        let edge = edges.entry((row.caller, row.callee)).or_insert((0, None));
        *edge = (edge.0.saturating_add(row.calls), add(edge.1, row.steps));
    }
    edges
}
