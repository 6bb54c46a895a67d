//! So few nodes and edges that a person can read the picture; what is left out is counted.

use super::edges::{CallEdges, CountedEdges, DataEdges, Ends, LevelEdges};
use super::level::Level;
use super::model::{Flow, Node, NodeId, NodeKind};
use super::rows::{LevelRows, add, others};
use super::selection::{Focus, Selection, Show};
use crate::text::{human_count, percent};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pseudo-functions that are drawn at most, beside the nodes that are asked for: a quarter of their number, but so many.
const SOURCES: usize = 6;

fn sources(top: usize) -> usize {
    SOURCES.max(top / 4)
}

/// What is drawn, and what is not, in words.
pub struct Choice<'a> {
    pub selection: &'a Selection,
    /// Of the whole run, and what they are.
    pub steps: i64,
    pub unit: &'static str,
    pub left_out: Vec<String>,
}

fn plural(count: usize, what: &str) -> String {
    let shown = human_count(i64::try_from(count).unwrap_or(i64::MAX));
    format!("{shown} {what}{}", if count == 1 { "" } else { "s" })
}

fn share(n: i64, of: i64) -> f64 {
    if of > 0 { n as f64 / of as f64 } else { 0.0 }
}

impl Choice<'_> {
    fn word(&self) -> &'static str {
        self.selection.level.word()
    }

    /// ` with 12.3 % of the steps`
    fn with_share(&self, steps: Option<i64>) -> String {
        steps
            .and_then(|s| percent(s, self.steps))
            .map_or(String::new(), |p| format!(" with {p} of the {}", self.unit))
    }

    /// Keeps the nodes within `depth` edges of the focus and of the edges those that touch a node
    /// nearer than that: at depth 1 its own.
    pub fn keep_around(&mut self, rows: &mut LevelRows, focus: Focus) {
        let distance = distances(rows, focus);
        let mut count = 0;
        rows.nodes.retain(|id, n| {
            let keep = distance.contains_key(id);
            count += if keep || n.kind == NodeKind::Pseudo { 0 } else { n.members };
            keep
        });
        if count > 0 {
            let edges = match focus.depth {
                1 => "one edge".to_owned(),
                depth => format!("{depth} edges"),
            };
            let what = plural(count, self.word());
            self.left_out.push(format!("{what} farther than {edges} from the focus"));
        }
        let d = |n: NodeId| distance.get(&n).copied().unwrap_or(u32::MAX);
        // A node's own traffic stays with it.
        let touches = |a, b| {
            if a == b {
                d(a) <= focus.depth
            } else {
                d(a).min(d(b)) < focus.depth && d(a).max(d(b)) <= focus.depth
            }
        };
        rows.data.retain(|r| touches(r.writer, r.reader));
        rows.control.retain(|c| touches(c.0, c.1));
        rows.jumps.retain(|j| touches(j.0, j.1));
        rows.calls.retain(|r| {
            r.caller != r.callee && touches(r.caller, r.callee)
                || r.caller == r.callee && d(r.caller) < focus.depth
        });
    }

    /// Keeps the nodes with the largest share of steps, inclusive steps or traffic; the rest
    /// becomes one node.
    pub fn keep_top(&mut self, rows: &mut LevelRows) {
        let (pseudo, drawn): (Vec<_>, Vec<_>) = rows
            .nodes
            .values()
            .filter(|n| n.id != NodeId::Others)
            .partition(|n| n.kind == NodeKind::Pseudo);
        let mut outside = 0;
        if drawn.len() > self.selection.top || pseudo.len() > sources(self.selection.top) {
            let rest = self.beyond_top(rows);
            let mut rest_of = rows.nodes.remove(&NodeId::Others).unwrap_or_else(others);
            for n in rest.iter().filter_map(|id| rows.nodes.remove(id)) {
                rest_of.calls += n.calls;
                rest_of.steps_self = add(rest_of.steps_self, n.steps_self);
                if n.kind == NodeKind::Pseudo { outside += 1 } else { rest_of.members += 1 }
            }
            rows.nodes.insert(NodeId::Others, rest_of);
            rows.rename(|id| if rest.contains(&id) { NodeId::Others } else { id });
        }
        let Some(others) = rows.nodes.get(&NodeId::Others) else { return };
        let mut parts = Vec::new();
        if others.members > 0 {
            let what = plural(others.members, self.word());
            parts.push(format!("{what}{}", self.with_share(others.steps_self)));
        }
        if outside > 0 {
            parts.push(plural(outside, "pseudo-function"));
        }
        if !parts.is_empty() {
            self.left_out.push(format!("{}, merged into (others)", parts.join(" and ")));
        }
    }

    /// Nodes beyond those that are asked for.
    fn beyond_top(&self, rows: &LevelRows) -> BTreeSet<NodeId> {
        let top = self.selection.top;
        let traffic = Traffic::of(rows);
        let forced: BTreeSet<NodeId> = rows.focus.iter().copied().take(top).collect();
        // Where data comes from stays in the picture, however few nodes are asked for.
        let beyond = |sources: bool, limit: usize| {
            let mut order: Vec<(bool, f64, NodeId)> = rows
                .nodes
                .iter()
                .filter(|&(&id, n)| id != NodeId::Others && (n.kind == NodeKind::Pseudo) == sources)
                .map(|(&id, n)| (forced.contains(&id), self.weight(id, n, &traffic), id))
                .collect();
            order.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
            order.into_iter().skip(limit).map(|o| o.2).collect::<Vec<_>>()
        };
        beyond(false, top).into_iter().chain(beyond(true, sources(top))).collect()
    }

    /// How much a node is worth in the picture.
    fn weight(&self, id: NodeId, n: &Node, traffic: &Traffic) -> f64 {
        if let NodeId::Step(seq) = id {
            // A part of the run, not a selection of steps.
            return -(seq.get() as f64);
        }
        let (data, calls) = traffic.of.get(&id).copied().unwrap_or_default();
        let calls = share(calls, traffic.all.1);
        let of_calls = if self.selection.shows(Show::Data) { 0.0 } else { calls };
        let own = share(data, traffic.all.0).max(of_calls);
        if self.selection.focus.is_some() {
            // A partner's own weight says nothing of what it has to do with the focus.
            return own.max(0.5 * calls);
        }
        // Callers of everything are the skeleton of the graph, though they may do little
        // themselves.
        own.max(share(n.steps_self.unwrap_or(0), self.steps))
            .max(0.1 * share(n.steps_total.unwrap_or(0), self.steps))
    }

    /// Leaves out edges that `nodes` nodes need not be drowned in.
    pub fn drop_edges(
        &mut self,
        edges: &mut LevelEdges,
        nodes: usize,
        amount: impl Fn(i64) -> String,
    ) {
        self.drop_small(&mut edges.data, nodes, amount);
        self.drop_rare(&mut edges.calls, nodes);
        self.drop_many(&mut edges.control, nodes, "control dependence");
        self.drop_many(&mut edges.jumps, nodes, "edge of control flow");
    }

    /// Leaves out the smallest data edges.
    fn drop_small(&mut self, data: &mut DataEdges, nodes: usize, amount: impl Fn(i64) -> String) {
        let bytes = |flows: &[Flow]| flows.iter().fold(0i64, |sum, f| sum.saturating_add(f.bytes));
        let total = data.values().fold(0i64, |sum, f| sum.saturating_add(bytes(f)));
        let mut order: Vec<(i64, Ends)> =
            data.iter().map(|(&ends, flows)| (bytes(flows), ends)).collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let keep = match self.selection.min_bytes {
            // A part of the run is drawn as it was, within reason.
            None if self.selection.level == Level::Step => (6 * nodes).min(order.len()),
            Some(limit) => order.partition_point(|o| o.0 >= limit),
            None => {
                // What carries 98 % of the traffic, but a few edges at least.
                let mut sum = 0i64;
                let enough = |o: &&(i64, Ends)| {
                    let keep = sum < total / 100 * 98;
                    sum = sum.saturating_add(o.0);
                    keep
                };
                let most = order.iter().take_while(enough).count();
                most.max(nodes.min(24)).min(2 * nodes).min(order.len())
            }
        };
        let gone = &order[keep..];
        let Some(largest) = gone.first() else { return };
        let sum = gone.iter().fold(0i64, |sum, g| sum.saturating_add(g.0));
        self.left_out.push(format!(
            "{} of {} or less, {} in all ({} of what goes between nodes)",
            plural(gone.len(), "data edge"),
            amount(largest.0),
            amount(sum),
            percent(sum, total).unwrap_or_default()
        ));
        for (_, ends) in gone {
            data.remove(ends);
        }
    }

    /// Leaves out the call edges with the fewest steps below them.
    fn drop_rare(&mut self, calls: &mut CallEdges, nodes: usize) {
        let limit = (2 * nodes).max(24);
        if calls.len() <= limit || self.selection.min_bytes == Some(0) {
            return;
        }
        let mut order: Vec<_> = calls
            .iter()
            .map(|(&ends, &(count, steps))| (steps.unwrap_or(0), count, ends))
            .collect();
        order.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then(a.2.cmp(&b.2)));
        let gone = &order[limit..];
        let count = gone.iter().fold(0i64, |sum, g| sum.saturating_add(g.1));
        self.left_out.push(format!(
            "{} with {} in all",
            plural(gone.len(), "call edge"),
            plural(usize::try_from(count).unwrap_or(0), "call")
        ));
        for (_, _, ends) in gone {
            calls.remove(ends);
        }
    }

    /// Leaves out the edges with the smallest counts.
    fn drop_many(&mut self, edges: &mut CountedEdges, nodes: usize, what: &str) {
        let limit = (3 * nodes).max(24);
        if edges.len() <= limit || self.selection.min_bytes == Some(0) {
            return;
        }
        let mut order: Vec<_> = edges.iter().map(|(&ends, &count)| (count, ends)).collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.left_out.push(plural(order.len() - limit, what));
        for (_, ends) in &order[limit..] {
            edges.remove(ends);
        }
    }

    /// Without an edge, a node says little but its share.
    pub fn drop_lonely(&mut self, rows: &mut LevelRows, linked: &BTreeSet<NodeId>) {
        let (mut count, mut sum, mut pseudo) = (0, None, 0);
        let (focus, steps) = (&rows.focus, self.steps);
        rows.nodes.retain(|id, n| {
            let large = (n.kind != NodeKind::Step
                && n.steps_self.unwrap_or(0).saturating_mul(200) > steps)
                || n.kind == NodeKind::Others;
            let keep = linked.contains(id)
                || (large && steps > 0 && n.kind != NodeKind::Pseudo)
                || focus.contains(id);
            if !keep && n.kind == NodeKind::Pseudo {
                pseudo += 1;
            } else if !keep {
                count += n.members;
                sum = add(sum, n.steps_self);
            }
            keep
        });
        if count > 0 {
            let (what, share) = (plural(count, self.word()), self.with_share(sum));
            self.left_out.push(format!("{what} without an edge that is drawn{share}"));
        }
        if pseudo > 0 {
            let what = plural(pseudo, "source");
            let line = format!("{what} of bytes that no step wrote, without an edge that is drawn");
            self.left_out.push(line);
        }
    }
}

/// Bytes and calls between nodes, both ends counted.
struct Traffic {
    of: BTreeMap<NodeId, (i64, i64)>,
    all: (i64, i64),
}

impl Traffic {
    fn of(rows: &LevelRows) -> Traffic {
        let mut found = Traffic { of: BTreeMap::new(), all: (0, 0) };
        for row in rows.data.iter().filter(|r| r.writer != r.reader) {
            found.all.0 = found.all.0.saturating_add(row.flow.bytes);
            for end in [row.writer, row.reader] {
                let t = &mut found.of.entry(end).or_default().0;
                *t = t.saturating_add(row.flow.bytes);
            }
        }
        for row in rows.calls.iter().filter(|r| r.caller != r.callee) {
            found.all.1 = found.all.1.saturating_add(row.calls);
            for end in [row.caller, row.callee] {
                let t = &mut found.of.entry(end).or_default().1;
                *t = t.saturating_add(row.calls);
            }
        }
        found
    }
}

/// Edges from the focus to each node within its depth.
fn distances(rows: &LevelRows, focus: Focus) -> BTreeMap<NodeId, u32> {
    let mut near: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    let data = rows.data.iter().map(|d| (d.writer, d.reader));
    let calls = rows.calls.iter().map(|c| (c.caller, c.callee));
    let flow = rows.control.iter().copied().chain(rows.jumps.iter().map(|j| (j.0, j.1)));
    for (a, b) in data.chain(calls).chain(flow) {
        if a != b && a != NodeId::Others && b != NodeId::Others {
            near.entry(a).or_default().push(b);
            near.entry(b).or_default().push(a);
        }
    }
    let mut distance: BTreeMap<NodeId, u32> = rows.focus.iter().map(|&f| (f, 0)).collect();
    let mut queue: VecDeque<NodeId> = rows.focus.iter().copied().collect();
    while let Some(n) = queue.pop_front() {
        let d = distance[&n];
        if d == focus.depth {
            continue;
        }
        for &m in near.get(&n).into_iter().flatten() {
            distance.entry(m).or_insert_with(|| {
                queue.push_back(m);
                d + 1
            });
        }
    }
    distance
}
