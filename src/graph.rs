//! From the high level to a graph: functions, calls and dataflow, filtered so that a person can read it. Nothing is left out
//! without being counted.

use duckdb::Connection;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const NODES: &str = include_str!("../queries/report/nodes.sql");
const DATA_EDGES: &str = include_str!("../queries/report/data_edges.sql");
const CALL_EDGES: &str = include_str!("../queries/report/call_edges.sql");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Function,
    File,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Function,
    /// Wrote bytes that no step wrote.
    Pseudo,
    /// The nodes that were left out.
    Others,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Function id; 0 for a node that stands for several.
    pub id: i32,
    pub name: String,
    pub kind: NodeKind,
    pub file: Option<String>,
    pub calls: i64,
    pub steps_self: i64,
    /// Inclusive; NULL where it does not add up.
    pub steps_total: Option<i64>,
    /// Bytes from itself to itself.
    pub local_bytes: i64,
    /// How many functions it stands for.
    pub functions: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Edge {
    Call {
        calls: i64,
    },
    /// (via, bytes, unique bytes, addresses, transfers), sorted by via. Addresses add up over via, not over functions.
    Data(Vec<Flow>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub via: String,
    pub bytes: i64,
    pub unique_bytes: Option<i64>,
    pub addresses: Option<i64>,
    pub transfers: i64,
}

impl Edge {
    pub fn bytes(&self) -> i64 {
        match self {
            Edge::Call { .. } => 0,
            Edge::Data(flows) => flows.iter().map(|f| f.bytes).sum(),
        }
    }
}

/// A graph ready to be drawn.
#[derive(Clone, Debug)]
pub struct Graph {
    pub graph: DiGraph<Node, Edge>,
    /// Steps of the whole run.
    pub steps: i64,
    /// What is not in the picture, in words.
    pub left_out: Vec<String>,
    pub focus: Option<NodeIndex>,
}

/// What to show.
#[derive(Clone, Debug)]
pub struct Selection {
    pub level: Level,
    pub data: bool,
    pub calls: bool,
    /// A function id, and how far its neighbours reach.
    pub focus: Option<(i32, u32)>,
    /// Nodes at most; the rest becomes `(others)`.
    pub top: usize,
    /// Data edges with fewer bytes are left out; None: a thousandth of what is drawn.
    pub min_bytes: Option<i64>,
    /// Draw PLT stubs and the like instead of merging them into their callers.
    pub stubs: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("no function is named `{0}`; `addfg info` lists those that ran")]
    NoFunction(String),
    #[error("`{name}` is the name of several functions: {candidates}")]
    Ambiguous { name: String, candidates: String },
}

/// The function that a person means by `name`, `file:name` or `@address`.
pub fn resolve_function(connection: &Connection, text: &str) -> Result<i32, GraphError> {
    let mut rows: Vec<(i32, String, Option<String>)> = Vec::new();
    if let Some(address) = text.strip_prefix('@') {
        let address = address.trim_start_matches("0x");
        let Ok(address) = u64::from_str_radix(address, 16) else { return Err(GraphError::NoFunction(text.into())) };
        let sql = "SELECT function_id, name, symbol FROM function_symbol WHERE address <= ? AND ? - address < greatest(size, 1)";
        let mut statement = connection.prepare(sql)?;
        let found = statement.query_map([address, address], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        rows.extend(found.collect::<Result<Vec<_>, _>>()?);
    } else {
        let sql = "SELECT DISTINCT s.function_id, s.name, s.symbol FROM function_symbol s
                   LEFT JOIN function_name n ON n.function_id = s.function_id LEFT JOIN source_file f ON f.file_id = s.file_id
                   WHERE s.name = ?1 OR n.name = ?1 OR f.path || ':' || s.symbol = ?1
                      OR regexp_extract(f.path, '[^/]*$') || ':' || s.symbol = ?1
                   ORDER BY s.function_id";
        let mut statement = connection.prepare(sql)?;
        let found = statement.query_map([text], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        rows.extend(found.collect::<Result<Vec<_>, _>>()?);
        // An exact display name is never ambiguous.
        if let Some(exact) = rows.iter().find(|r| r.1 == text) {
            return Ok(exact.0);
        }
    }
    match &rows[..] {
        [] => Err(GraphError::NoFunction(text.into())),
        [(id, ..)] => Ok(*id),
        _ => {
            let candidates = rows.iter().map(|r| format!("`{}`", r.1)).collect::<Vec<_>>().join(", ");
            Err(GraphError::Ambiguous { name: text.into(), candidates })
        }
    }
}

type DataEdges = BTreeMap<(i32, i32), Vec<Flow>>;
type CallEdges = BTreeMap<(i32, i32), i64>;

/// Reads the function level of a database and selects what to draw.
pub fn load(connection: &Connection, selection: &Selection) -> Result<Graph, GraphError> {
    let mut nodes: BTreeMap<i32, (Node, bool)> = BTreeMap::new();
    let mut statement = connection.prepare(NODES)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let kind: String = r.get(2)?;
        let node = Node {
            id: r.get(0)?,
            name: r.get(1)?,
            kind: if kind == "pseudo" { NodeKind::Pseudo } else { NodeKind::Function },
            file: r.get(3)?,
            calls: r.get::<_, Option<i64>>(4)?.unwrap_or(0),
            steps_self: r.get::<_, Option<i64>>(5)?.unwrap_or(0),
            steps_total: r.get(6)?,
            local_bytes: r.get(7)?,
            functions: 1,
        };
        nodes.insert(node.id, (node, kind == "stub"));
    }
    let steps = nodes.values().map(|(n, _)| n.steps_self).sum();
    let mut data = DataEdges::new();
    let mut statement = connection.prepare(DATA_EDGES)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let flow = Flow {
            via: r.get(2)?,
            bytes: r.get(3)?,
            unique_bytes: r.get(4)?,
            addresses: r.get(5)?,
            transfers: r.get::<_, Option<i64>>(6)?.unwrap_or(0),
        };
        data.entry((r.get(0)?, r.get(1)?)).or_default().push(flow);
    }
    let mut calls = CallEdges::new();
    let mut into_stub: BTreeMap<i32, Vec<(i32, i64, i64)>> = BTreeMap::new();
    let mut statement = connection.prepare(CALL_EDGES)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (caller, callee, count, steps): (i32, i32, i64, i64) = (r.get(0)?, r.get(1)?, r.get(3)?, r.get(4)?);
        *calls.entry((caller, callee)).or_default() += count;
        if nodes.get(&callee).is_some_and(|n| n.1) {
            into_stub.entry(callee).or_default().push((caller, count, steps));
        }
    }
    if !selection.stubs {
        fold_stubs(&mut nodes, &mut data, &mut calls, &into_stub);
    }
    let mut left_out = Vec::new();
    let mut nodes: BTreeMap<i32, Node> = nodes.into_iter().map(|(id, (node, _))| (id, node)).collect();
    if !selection.data {
        data.clear();
        nodes.retain(|_, n| n.kind != NodeKind::Pseudo);
    }
    if !selection.calls {
        calls.clear();
    }
    if selection.level == Level::File {
        by_file(&mut nodes, &mut data, &mut calls);
    }
    if let Some((focus, depth)) = selection.focus {
        around(focus, depth, &mut nodes, &mut data, &mut calls, &mut left_out);
    }
    drop_small(&mut data, selection, &mut left_out);
    keep_top(&mut nodes, &mut data, &mut calls, selection, steps, &mut left_out);

    // Without an edge, a node says little but its share.
    let linked: BTreeSet<i32> = data.keys().chain(calls.keys()).flat_map(|&(a, b)| [a, b]).collect();
    let alone = nodes.len();
    nodes.retain(|id, n| linked.contains(id) || n.steps_self * 200 > steps || selection.focus.is_some_and(|f| f.0 == *id));
    if nodes.len() < alone {
        left_out.push(format!("{} functions without an edge", alone - nodes.len()));
    }
    let mut graph = DiGraph::new();
    let index: BTreeMap<i32, NodeIndex> = nodes.into_iter().map(|(id, node)| (id, graph.add_node(node))).collect();
    for ((a, b), count) in calls {
        if let (Some(&a), Some(&b)) = (index.get(&a), index.get(&b)) {
            graph.add_edge(a, b, Edge::Call { calls: count });
        }
    }
    for ((a, b), flows) in data {
        if let (Some(&a), Some(&b)) = (index.get(&a), index.get(&b)) {
            graph.add_edge(a, b, Edge::Data(flows));
        }
    }
    let focus = selection.focus.and_then(|(f, _)| index.get(&f).copied());
    Ok(Graph { graph, steps, left_out, focus })
}

fn add_flows(into: &mut Vec<Flow>, flows: &[Flow], same_cells: bool) {
    for flow in flows {
        match into.iter_mut().find(|f| f.via == flow.via) {
            Some(f) => {
                f.bytes += flow.bytes;
                f.transfers += flow.transfers;
                f.unique_bytes = f.unique_bytes.zip(flow.unique_bytes).map(|(a, b)| a + b);
                // Distinct cells do not add up over writers or readers.
                f.addresses = if same_cells { f.addresses } else { None };
            }
            None => into.push(flow.clone()),
        }
    }
    into.sort_by(|a, b| a.via.cmp(&b.via));
}

/// Moves every edge end from one node to another; what then lies inside a node is its local traffic.
fn rename(data: &mut DataEdges, calls: &mut CallEdges, nodes: &mut BTreeMap<i32, Node>, to: &dyn Fn(i32) -> i32) {
    let mut moved = DataEdges::new();
    for ((a, b), flows) in std::mem::take(data) {
        let (x, y) = (to(a), to(b));
        if x == y {
            if let Some(n) = nodes.get_mut(&x) {
                n.local_bytes += flows.iter().map(|f| f.bytes).sum::<i64>();
            }
        } else {
            add_flows(moved.entry((x, y)).or_default(), &flows, false);
        }
    }
    *data = moved;
    let mut moved = CallEdges::new();
    for ((a, b), count) in std::mem::take(calls) {
        let (x, y) = (to(a), to(b));
        // A call inside one node is recursion of the function, or inner life of a group.
        if x != y || a == b {
            *moved.entry((x, y)).or_default() += count;
        }
    }
    *calls = moved;
}

/// Merges stubs into their callers: into the one that calls it most, where there are several.
fn fold_stubs(
    nodes: &mut BTreeMap<i32, (Node, bool)>,
    data: &mut DataEdges,
    calls: &mut CallEdges,
    callers: &BTreeMap<i32, Vec<(i32, i64, i64)>>,
) {
    let mut target: BTreeMap<i32, i32> = BTreeMap::new();
    for (&stub, list) in callers {
        for &(caller, _, steps) in list {
            if let Some((node, _)) = nodes.get_mut(&caller) {
                node.steps_self += steps;
            }
        }
        if let Some(&(caller, ..)) = list.iter().max_by_key(|(caller, count, _)| (*count, -*caller)) {
            target.insert(stub, caller);
        }
    }
    let to = |mut id: i32| {
        for _ in 0..8 {
            match target.get(&id) {
                Some(&t) => id = t,
                None => break,
            }
        }
        id
    };
    calls.retain(|(_, callee), _| !target.contains_key(callee));
    let mut plain: BTreeMap<i32, Node> = nodes.iter().map(|(&id, (n, _))| (id, n.clone())).collect();
    rename(data, calls, &mut plain, &to);
    nodes.retain(|id, _| !target.contains_key(id));
    for (id, (node, _)) in nodes.iter_mut() {
        node.local_bytes = plain[id].local_bytes;
    }
}

fn by_file(nodes: &mut BTreeMap<i32, Node>, data: &mut DataEdges, calls: &mut CallEdges) {
    let mut groups: BTreeMap<String, i32> = BTreeMap::new();
    let mut group: BTreeMap<i32, i32> = BTreeMap::new();
    for (&id, node) in nodes.iter() {
        let name = match (&node.file, node.kind) {
            (Some(file), NodeKind::Function) => file.clone(),
            (None, NodeKind::Function) => "(no source file)".into(),
            _ => node.name.clone(),
        };
        group.insert(id, *groups.entry(name).or_insert(id));
    }
    let mut merged: BTreeMap<i32, Node> = BTreeMap::new();
    let names: BTreeMap<i32, String> = groups.into_iter().map(|(n, id)| (id, n)).collect();
    for (id, node) in nodes.iter() {
        let g = group[id];
        let m = merged.entry(g).or_insert_with(|| Node {
            id: 0,
            name: names[&g].clone(),
            kind: node.kind,
            file: None,
            calls: 0,
            steps_self: 0,
            steps_total: None,
            local_bytes: 0,
            functions: 0,
        });
        m.calls += node.calls;
        m.steps_self += node.steps_self;
        m.local_bytes += node.local_bytes;
        m.functions += 1;
    }
    *nodes = merged;
    rename(data, calls, nodes, &|id| group.get(&id).copied().unwrap_or(id));
    calls.retain(|(a, b), _| a != b);
}

/// Keeps the nodes within `depth` edges of the focus and, at the outermost, only edges that touch nodes nearer to it.
fn around(
    focus: i32,
    depth: u32,
    nodes: &mut BTreeMap<i32, Node>,
    data: &mut DataEdges,
    calls: &mut CallEdges,
    left_out: &mut Vec<String>,
) {
    let mut near: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for &(a, b) in data.keys().chain(calls.keys()) {
        near.entry(a).or_default().push(b);
        near.entry(b).or_default().push(a);
    }
    let mut distance = BTreeMap::from([(focus, 0)]);
    let mut queue = VecDeque::from([focus]);
    while let Some(n) = queue.pop_front() {
        let d = distance[&n];
        if d == depth {
            continue;
        }
        for &m in near.get(&n).into_iter().flatten() {
            distance.entry(m).or_insert_with(|| {
                queue.push_back(m);
                d + 1
            });
        }
    }
    let before = nodes.len();
    nodes.retain(|id, _| distance.contains_key(id));
    if before > nodes.len() {
        left_out.push(format!("{} functions farther than {depth} from the focus", before - nodes.len()));
    }
    let touches = |a: &i32, b: &i32| {
        let d = |n| distance.get(n).copied().unwrap_or(u32::MAX);
        d(a).min(d(b)) < depth && d(a).max(d(b)) <= depth
    };
    data.retain(|(a, b), _| touches(a, b));
    calls.retain(|(a, b), _| touches(a, b));
}

fn drop_small(data: &mut DataEdges, selection: &Selection, left_out: &mut Vec<String>) {
    let bytes = |flows: &[Flow]| flows.iter().map(|f| f.bytes).sum::<i64>();
    let total: i64 = data.values().map(|f| bytes(f)).sum();
    let limit = selection.min_bytes.unwrap_or(if data.len() > 60 { total / 1000 } else { 0 });
    let (mut count, mut sum) = (0, 0);
    data.retain(|_, flows| {
        let b = bytes(flows);
        let keep = b >= limit;
        if !keep {
            count += 1;
            sum += b;
        }
        keep
    });
    if count > 0 {
        left_out.push(format!("{count} data edges below {}, {} in all", human_bytes(limit), human_bytes(sum)));
    }
}

fn keep_top(
    nodes: &mut BTreeMap<i32, Node>,
    data: &mut DataEdges,
    calls: &mut CallEdges,
    selection: &Selection,
    steps: i64,
    left_out: &mut Vec<String>,
) {
    if nodes.len() <= selection.top {
        return;
    }
    let mut traffic: BTreeMap<i32, i64> = BTreeMap::new();
    let mut total = 0;
    for (&(a, b), flows) in data.iter() {
        let bytes: i64 = flows.iter().map(|f| f.bytes).sum();
        total += bytes;
        *traffic.entry(a).or_default() += bytes;
        *traffic.entry(b).or_default() += bytes;
    }
    let share = |n: i64, of: i64| if of > 0 { n as f64 / of as f64 } else { 0.0 };
    let mut order: Vec<(f64, i32)> = nodes
        .iter()
        .map(|(&id, n)| {
            let focus = selection.focus.is_some_and(|f| f.0 == id) as i32 as f64;
            (focus * 10.0 + share(n.steps_self, steps).max(share(traffic.get(&id).copied().unwrap_or(0), total)), id)
        })
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let rest: BTreeSet<i32> = order[selection.top..].iter().map(|o| o.1).collect();
    let mut others = Node {
        id: 0,
        name: "(others)".into(),
        kind: NodeKind::Others,
        file: None,
        calls: 0,
        steps_self: 0,
        steps_total: None,
        local_bytes: 0,
        functions: 0,
    };
    for id in &rest {
        if let Some(n) = nodes.remove(id) {
            others.calls += n.calls;
            others.steps_self += n.steps_self;
            others.local_bytes += n.local_bytes;
            others.functions += n.functions;
        }
    }
    left_out.push(format!("{} functions are merged into (others)", others.functions));
    nodes.insert(0, others);
    rename(data, calls, nodes, &|id| if rest.contains(&id) { 0 } else { id });
    calls.remove(&(0, 0));
}

/// Bytes for people: `512 B`, `3.2 KiB`.
pub fn human_bytes(bytes: i64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Counts for people: `999`, `1.2 k`, `3.4 M`.
pub fn human_count(count: i64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{:.1} k", count as f64 / 1e3),
        _ => format!("{:.1} M", count as f64 / 1e6),
    }
}

impl Graph {
    /// Edges in a fixed order: by the names of their ends, calls before data.
    pub fn edges(&self) -> Vec<(NodeIndex, NodeIndex, &Edge)> {
        let mut edges: Vec<_> = self.graph.edge_references().map(|e| (e.source(), e.target(), e.weight())).collect();
        edges.sort_by_key(|&(a, b, e)| (self.graph[a].id, self.graph[b].id, matches!(e, Edge::Data(_))));
        edges
    }
}
