//! From all nodes and edges of a level to those that are drawn.

use super::amount;
use super::load::{add, group};
use super::{
    Edge, EdgeKind, Flow, Focus, Graph, Level, Node, NodeId, NodeKind, OTHERS, Selection, Via,
};
use crate::text::{human_count, percent};
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One row of a dataflow query.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataRow {
    pub writer: NodeId,
    pub reader: NodeId,
    pub flow: Flow,
}

/// One row of a call query.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRow {
    pub caller: NodeId,
    pub callee: NodeId,
    pub calls: i64,
    pub steps: Option<i64>,
}

/// A level as read, rows in no order.
#[derive(Default)]
pub(super) struct Rows {
    pub nodes: BTreeMap<NodeId, Node>,
    pub data: Vec<DataRow>,
    pub calls: Vec<CallRow>,
    /// Control dependences.
    pub control: Vec<(NodeId, NodeId)>,
    /// Executed control flow, with counts.
    pub jumps: Vec<(NodeId, NodeId, i64)>,
    /// Bytes that loops carry from one iteration to a later one.
    pub carried: Vec<(NodeId, NodeId, i64)>,
    /// Distinct cells between nodes, where they were found for them.
    pub addresses: Vec<(NodeId, NodeId, Via, i64)>,
    pub focus: Vec<NodeId>,
    /// What data rows count is dependences, not bytes.
    pub dependences: bool,
    /// What one instance of the focus has of its edges.
    pub current: Option<(Vec<DataRow>, Vec<CallRow>)>,
}

impl Rows {
    /// Moves every end of an edge to another node.
    pub fn rename(&mut self, to: impl Fn(NodeId) -> NodeId) {
        let current = self.current.as_mut();
        let (data, calls) = current.map_or((None, None), |c| (Some(&mut c.0), Some(&mut c.1)));
        for row in self.data.iter_mut().chain(data.into_iter().flatten()) {
            (row.writer, row.reader) = (to(row.writer), to(row.reader));
        }
        for row in self.calls.iter_mut().chain(calls.into_iter().flatten()) {
            // A call inside one node is recursion of a function, or inner life of a group.
            let (a, b) = (to(row.caller), to(row.callee));
            if a == b && row.caller != row.callee {
                row.calls = 0;
            }
            (row.caller, row.callee) = (a, b);
        }
        self.calls.retain(|c| c.calls > 0);
        // Neither control dependences nor control flow within one node that stands for several say
        // anything.
        self.control.iter_mut().for_each(|c| *c = (to(c.0), to(c.1)));
        self.control.retain(|c| c.0 != OTHERS || c.1 != OTHERS);
        self.jumps.iter_mut().for_each(|j| *j = (to(j.0), to(j.1), j.2));
        self.jumps.retain(|j| j.0 != OTHERS || j.1 != OTHERS);
        self.carried.iter_mut().for_each(|c| *c = (to(c.0), to(c.1), c.2));
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

type DataEdges = BTreeMap<(NodeId, NodeId), Vec<Flow>>;
type CallEdges = BTreeMap<(NodeId, NodeId), (i64, Option<i64>)>;

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

fn bytes(flows: &[Flow]) -> i64 {
    flows.iter().fold(0i64, |sum, f| sum.saturating_add(f.bytes))
}

fn plural(count: usize, what: &str) -> String {
    format!("{} {what}{}", human_count(count as i64), if count == 1 { "" } else { "s" })
}

pub(super) fn select(
    mut rows: Rows,
    selection: &Selection,
    (steps, unit): (i64, &'static str),
    notes: Vec<String>,
) -> Graph {
    let mut left_out = Vec::new();
    let dependences = rows.dependences;
    let word = selection.level.word();
    match selection.level {
        Level::File => group(&mut rows, NodeKind::File, |n| match (&n.file, &n.image) {
            _ if n.kind == NodeKind::Pseudo => None,
            (Some(file), _) => Some(file.clone()),
            (None, Some(image)) => Some(format!("(no source file) {}", base(image))),
            (None, None) => Some("(no source file)".into()),
        }),
        Level::Image => group(&mut rows, NodeKind::Image, |n| match &n.image {
            _ if n.kind == NodeKind::Pseudo => None,
            Some(image) => Some(image.clone()),
            None => Some("(no image)".into()),
        }),
        Level::Function if !selection.groups.is_empty() => {
            let name_of: BTreeMap<NodeId, &str> = selection
                .groups
                .iter()
                .flat_map(|(name, ids)| ids.iter().map(|&id| (NodeId::from(id), name.as_str())))
                .collect();
            group(&mut rows, NodeKind::Group, |n| {
                name_of.get(&n.id).map(|name| (*name).to_owned())
            });
        }
        _ => {}
    }
    if !selection.via.is_empty() && selection.data {
        let names: Vec<_> = selection.via.iter().map(|v| v.name()).collect();
        left_out.push(format!("data through anything but {}", names.join(", ")));
    }
    if let Some(focus) = selection.focus
        && selection.level != Level::Step
    {
        around(&mut rows, focus, word, &mut left_out);
    }
    let parts = selection.level.inside().is_some()
        || !selection.expand.is_empty()
        || selection.level == Level::Step;
    let cycles = if parts { cycles(&rows.data) } else { BTreeMap::new() };
    keep_top(&mut rows, selection, (steps, unit), word, &mut left_out);

    let mut data = data_edges(&rows.data);
    for &(writer, reader, via, cells) in &rows.addresses {
        if let Some(flow) = data
            .get_mut(&(writer, reader))
            .and_then(|flows| flows.iter_mut().find(|f| f.via == via))
        {
            flow.addresses = Some(cells);
        }
    }
    let mut calls = call_edges(&rows.calls);
    let mut carried: BTreeMap<(NodeId, NodeId), i64> = BTreeMap::new();
    for &(a, b, bytes) in &rows.carried {
        *carried.entry((a, b)).or_default() += bytes;
    }
    let mut control: BTreeMap<(NodeId, NodeId), i64> =
        rows.control.iter().map(|&ends| (ends, 0)).collect();
    let mut jumps: BTreeMap<(NodeId, NodeId), i64> = BTreeMap::new();
    for &(a, b, count) in &rows.jumps {
        *jumps.entry((a, b)).or_default() += count;
    }
    for (&id, node) in &mut rows.nodes {
        node.local = data.remove(&(id, id)).unwrap_or_default();
        node.carried = carried.get(&(id, id)).copied().unwrap_or(0);
    }
    let current = rows.current.take().map(|(d, c)| (data_edges(&d), call_edges(&c)));
    // Recursion is worth an edge, what goes on among the others is not.
    calls.remove(&(OTHERS, OTHERS));
    drop_small(&mut data, selection, rows.nodes.len(), dependences, &mut left_out);
    drop_rare(&mut calls, selection, rows.nodes.len(), &mut left_out);
    drop_many(&mut control, selection, rows.nodes.len(), "control dependence", &mut left_out);
    drop_many(&mut jumps, selection, rows.nodes.len(), "edge of control flow", &mut left_out);
    let linked = data
        .keys()
        .chain(calls.keys())
        .chain(control.keys())
        .chain(jumps.keys())
        .flat_map(|&(a, b)| [a, b])
        .collect();
    drop_lonely(&mut rows, &linked, (steps, unit), word, &mut left_out);

    let mut graph = DiGraph::new();
    let index: BTreeMap<NodeId, NodeIndex> =
        rows.nodes.into_iter().map(|(id, node)| (id, graph.add_node(node))).collect();
    for (ends, (count, below)) in calls {
        if let (Some(&a), Some(&b)) = (index.get(&ends.0), index.get(&ends.1)) {
            let now = current.as_ref().map(|c| c.1.get(&ends).copied());
            let (calls, steps) = now.flatten().unwrap_or((count, below));
            graph.add_edge(
                a,
                b,
                Edge { potential: now == Some(None), ..Edge::new(EdgeKind::Call { calls, steps }) },
            );
        }
    }
    for (ends, flows) in data {
        if let (Some(&a), Some(&b)) = (index.get(&ends.0), index.get(&ends.1)) {
            let now = current.as_ref().map(|c| c.0.get(&ends).cloned());
            let potential = now == Some(None);
            let edge = Edge::new(EdgeKind::Data(now.flatten().unwrap_or(flows)));
            let cycle = ends.0 != ends.1
                && cycles.get(&ends.0).is_some_and(|c| cycles.get(&ends.1) == Some(c));
            let carried = carried.get(&ends).copied().unwrap_or(0);
            graph.add_edge(a, b, Edge { potential, cycle, carried, ..edge });
        }
    }
    for (kind, edges) in [(EdgeKind::Control, control), (EdgeKind::Jump { count: 0 }, jumps)] {
        for (ends, count) in edges {
            if let (Some(&a), Some(&b)) = (index.get(&ends.0), index.get(&ends.1)) {
                let kind = if kind == EdgeKind::Control {
                    EdgeKind::Control
                } else {
                    EdgeKind::Jump { count }
                };
                graph.add_edge(a, b, Edge::new(kind));
            }
        }
    }
    let focus = match rows.focus[..] {
        [one] => index.get(&one).copied(),
        _ => None,
    };
    let instance =
        selection.focus.and_then(|f| f.instance).filter(|_| selection.level != Level::Instance);
    Graph {
        graph,
        level: selection.level,
        title: None,
        steps,
        unit,
        dependences,
        focus,
        instance,
        left_out,
        notes,
    }
}

/// Which strongly connected part of the dataflow each node is in, of those with several nodes.
fn cycles(data: &[DataRow]) -> BTreeMap<NodeId, usize> {
    let mut graph: DiGraph<NodeId, ()> = DiGraph::new();
    let mut index: BTreeMap<NodeId, NodeIndex> = BTreeMap::new();
    for row in data {
        let mut at = |id| *index.entry(id).or_insert_with(|| graph.add_node(id));
        let (a, b) = (at(row.writer), at(row.reader));
        graph.add_edge(a, b, ());
    }
    let components = petgraph::algo::kosaraju_scc(&graph);
    let several = components.iter().enumerate().filter(|(_, c)| c.len() > 1);
    several
        .flat_map(|(number, c)| c.iter().map(|&i| (graph[i], number)).collect::<Vec<_>>())
        .collect()
}

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Keeps the nodes within `depth` edges of the focus and of the edges those that touch a node
/// nearer than that: at depth 1 its own.
fn around(rows: &mut Rows, focus: Focus, word: &str, left_out: &mut Vec<String>) {
    let mut near: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    let (data, calls) = (
        rows.data.iter().map(|d| (d.writer, d.reader)),
        rows.calls.iter().map(|c| (c.caller, c.callee)),
    );
    let flow = rows.control.iter().copied().chain(rows.jumps.iter().map(|j| (j.0, j.1)));
    for (a, b) in data.chain(calls).chain(flow) {
        if a != b && a != OTHERS && b != OTHERS {
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
    let mut count = 0;
    rows.nodes.retain(|id, n| {
        let keep = distance.contains_key(id);
        count += if keep || n.kind == NodeKind::Pseudo { 0 } else { n.members };
        keep
    });
    if count > 0 {
        let edges =
            if focus.depth == 1 { "one edge".to_owned() } else { format!("{} edges", focus.depth) };
        left_out.push(format!("{} farther than {edges} from the focus", plural(count, word)));
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

/// Pseudo-functions that are drawn at most, beside the nodes that are asked for.
const SOURCES: usize = 6;

/// Keeps the nodes with the largest share of steps, inclusive steps or traffic; the rest becomes
/// one node.
fn keep_top(
    rows: &mut Rows,
    selection: &Selection,
    (steps, unit): (i64, &str),
    word: &str,
    left_out: &mut Vec<String>,
) {
    let drawn =
        rows.nodes.values().filter(|n| n.id != OTHERS && n.kind != NodeKind::Pseudo).count();
    let pseudo = rows.nodes.values().filter(|n| n.kind == NodeKind::Pseudo).count();
    let mut sources = 0;
    if drawn > selection.top || pseudo > SOURCES {
        let mut traffic: BTreeMap<NodeId, (i64, i64)> = BTreeMap::new();
        let mut total = (0i64, 0i64);
        for row in rows.data.iter().filter(|r| r.writer != r.reader) {
            total.0 = total.0.saturating_add(row.flow.bytes);
            for end in [row.writer, row.reader] {
                let t = &mut traffic.entry(end).or_default().0;
                *t = t.saturating_add(row.flow.bytes);
            }
        }
        for row in rows.calls.iter().filter(|r| r.caller != r.callee) {
            total.1 = total.1.saturating_add(row.calls);
            for end in [row.caller, row.callee] {
                let t = &mut traffic.entry(end).or_default().1;
                *t = t.saturating_add(row.calls);
            }
        }
        let share = |n: i64, of: i64| if of > 0 { n as f64 / of as f64 } else { 0.0 };
        let weight = |id: NodeId, n: &Node| {
            if n.kind == NodeKind::Step {
                // A part of the run, not a selection of steps.
                return -(id as f64);
            }
            let (data, calls) = traffic.get(&id).copied().unwrap_or_default();
            let traffic =
                share(data, total.0).max(if selection.data { 0.0 } else { share(calls, total.1) });
            if selection.focus.is_some() {
                // A partner's own weight says nothing of what it has to do with the focus.
                return traffic.max(0.5 * share(calls, total.1));
            }
            // Callers of everything are the skeleton of the graph, though they may do little
            // themselves.
            traffic
                .max(share(n.steps_self.unwrap_or(0), steps))
                .max(0.1 * share(n.steps_total.unwrap_or(0), steps))
        };
        let forced: BTreeSet<NodeId> = rows.focus.iter().copied().take(selection.top).collect();
        // Where data comes from stays in the picture, however few nodes are asked for.
        let beyond = |sources: bool, limit: usize| {
            let mut order: Vec<(bool, f64, NodeId)> = rows
                .nodes
                .iter()
                .filter(|&(&id, n)| id != OTHERS && (n.kind == NodeKind::Pseudo) == sources)
                .map(|(&id, n)| (forced.contains(&id), weight(id, n), id))
                .collect();
            order.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
            order.into_iter().skip(limit).map(|o| o.2).collect::<Vec<_>>()
        };
        let rest: BTreeSet<NodeId> =
            beyond(false, selection.top).into_iter().chain(beyond(true, SOURCES)).collect();
        let mut others = rows.nodes.remove(&OTHERS).unwrap_or_else(|| Node {
            name: "(others)".into(),
            kind: NodeKind::Others,
            ..Node::default()
        });
        for id in &rest {
            if let Some(n) = rows.nodes.remove(id) {
                others.calls += n.calls;
                others.steps_self = add(others.steps_self, n.steps_self);
                if n.kind == NodeKind::Pseudo { sources += 1 } else { others.members += 1 }
            }
        }
        rows.nodes.insert(OTHERS, others);
        rows.rename(|id| if rest.contains(&id) { OTHERS } else { id });
    }
    if let Some(others) = rows.nodes.get(&OTHERS) {
        let share = others
            .steps_self
            .and_then(|s| percent(s, steps))
            .map_or(String::new(), |p| format!(" with {p} of the {unit}"));
        let mut parts = Vec::new();
        if others.members > 0 {
            parts.push(format!("{}{share}", plural(others.members, word)));
        }
        if sources > 0 {
            parts.push(format!("{} of bytes that no step wrote", plural(sources, "source")));
        }
        left_out.push(format!("{}, merged into (others)", parts.join(" and ")));
    }
}

/// Leaves out the smallest data edges.
fn drop_small(
    data: &mut DataEdges,
    selection: &Selection,
    nodes: usize,
    dependences: bool,
    left_out: &mut Vec<String>,
) {
    let total = data.values().fold(0i64, |sum, f| sum.saturating_add(bytes(f)));
    let mut order: Vec<(i64, (NodeId, NodeId))> =
        data.iter().map(|(&ends, flows)| (bytes(flows), ends)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let keep = match selection.min_bytes {
        // A part of the run is drawn as it was, within reason.
        None if selection.level == Level::Step => (6 * nodes).min(order.len()),
        Some(limit) => order.partition_point(|o| o.0 >= limit),
        None => {
            // What carries 98 % of the traffic, but a few edges at least.
            let mut sum = 0i64;
            let enough = |o: &&(i64, (NodeId, NodeId))| {
                let keep = sum < total / 100 * 98;
                sum = sum.saturating_add(o.0);
                keep
            };
            let most = order.iter().take_while(enough).count();
            most.max(nodes.min(24)).min(2 * nodes).min(order.len())
        }
    };
    let gone = &order[keep..];
    if let Some(largest) = gone.first() {
        let sum = gone.iter().fold(0i64, |sum, g| sum.saturating_add(g.0));
        let share = percent(sum, total).unwrap_or_default();
        left_out.push(format!(
            "{} of {} or less, {} in all ({share} of what goes between nodes)",
            plural(gone.len(), "data edge"),
            amount(dependences, largest.0),
            amount(dependences, sum)
        ));
        for (_, ends) in gone {
            data.remove(ends);
        }
    }
}

/// Leaves out the call edges with the fewest steps below them.
fn drop_rare(
    calls: &mut CallEdges,
    selection: &Selection,
    nodes: usize,
    left_out: &mut Vec<String>,
) {
    let limit = (2 * nodes).max(24);
    if calls.len() <= limit || selection.min_bytes == Some(0) {
        return;
    }
    let mut order: Vec<_> =
        calls.iter().map(|(&ends, &(count, steps))| (steps.unwrap_or(0), count, ends)).collect();
    order.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then(a.2.cmp(&b.2)));
    let gone = &order[limit..];
    let count = gone.iter().fold(0i64, |sum, g| sum.saturating_add(g.1));
    left_out.push(format!(
        "{} with {} in all",
        plural(gone.len(), "call edge"),
        plural(count.max(0) as usize, "call")
    ));
    for (_, _, ends) in gone {
        calls.remove(ends);
    }
}

/// Leaves out the edges with the smallest counts.
fn drop_many(
    edges: &mut BTreeMap<(NodeId, NodeId), i64>,
    selection: &Selection,
    nodes: usize,
    what: &str,
    left_out: &mut Vec<String>,
) {
    let limit = (3 * nodes).max(24);
    if edges.len() <= limit || selection.min_bytes == Some(0) {
        return;
    }
    let mut order: Vec<_> = edges.iter().map(|(&ends, &count)| (count, ends)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    left_out.push(plural(order.len() - limit, what));
    for (_, ends) in &order[limit..] {
        edges.remove(ends);
    }
}

/// Without an edge, a node says little but its share.
fn drop_lonely(
    rows: &mut Rows,
    linked: &BTreeSet<NodeId>,
    (steps, unit): (i64, &str),
    word: &str,
    left_out: &mut Vec<String>,
) {
    let (mut count, mut sum, mut pseudo) = (0, None, 0);
    let focus = &rows.focus;
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
        let share = sum
            .and_then(|s| percent(s, steps))
            .map_or(String::new(), |p| format!(" with {p} of the {unit}"));
        left_out.push(format!("{} without an edge that is drawn{share}", plural(count, word)));
    }
    if pseudo > 0 {
        left_out.push(format!(
            "{} of bytes that no step wrote, without an edge that is drawn",
            plural(pseudo, "source")
        ));
    }
}
