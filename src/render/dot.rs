//! DOT through graphviz-rust: calls solid, data dashed, as in the paper's figure 9.

use crate::graph::{Edge, Graph, Node, NodeKind, human_bytes, human_count};
use graphviz_rust::dot_structures::{
    Attribute, Edge as DotEdge, EdgeTy, Graph as DotGraph, GraphAttributes, Id, Node as DotNode, NodeId, Stmt, Subgraph, Vertex,
};
use graphviz_rust::printer::{DotPrinter, PrinterContext};
use std::collections::BTreeMap;

/// A quoted string: graphviz-rust prints ids as they are, and names are hostile text.
fn quoted(text: &str) -> Id {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('\u{fffd}'),
            // Graphviz decodes entities in strings.
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out.push('"');
    Id::Plain(out)
}

fn attribute(name: &str, value: &str) -> Attribute {
    Attribute(Id::Plain(name.into()), quoted(value))
}

fn label(node: &Node, steps: i64) -> String {
    let name: String = if node.name.chars().count() > 48 {
        node.name.chars().take(45).chain("...".chars()).collect()
    } else {
        node.name.clone()
    };
    match node.kind {
        NodeKind::Pseudo => name,
        _ => {
            let share = if steps > 0 { 100.0 * node.steps_self as f64 / steps as f64 } else { 0.0 };
            let share = if share >= 0.1 || share == 0.0 { format!("{share:.1} %") } else { "<0.1 %".into() };
            let mut text = format!("{name}\n{share} of steps");
            if node.functions > 1 {
                text += &format!("\n{} functions", node.functions);
            } else if node.calls > 0 {
                text += &format!(", {} call{}", human_count(node.calls), if node.calls == 1 { "" } else { "s" });
            }
            if node.local_bytes > 0 {
                text += &format!("\nlocal {}", human_bytes(node.local_bytes));
            }
            text
        }
    }
}

/// White to orange by share of the steps.
fn fill(node: &Node, steps: i64) -> String {
    let share = if steps > 0 { (node.steps_self as f64 / steps as f64).clamp(0.0, 1.0).sqrt() } else { 0.0 };
    let mix = |from: f64, to: f64| (from + (to - from) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 244.0), mix(255.0, 164.0), mix(255.0, 96.0))
}

fn node_statement(graph: &Graph, index: petgraph::graph::NodeIndex) -> Stmt {
    let node = &graph.graph[index];
    let mut attributes = vec![attribute("label", &label(node, graph.steps))];
    match node.kind {
        NodeKind::Function => attributes.push(attribute("fillcolor", &fill(node, graph.steps))),
        NodeKind::Pseudo => {
            attributes.push(attribute("shape", "cylinder"));
            attributes.push(attribute("fillcolor", "#eef3f8"));
        }
        NodeKind::Others => {
            attributes.push(attribute("fillcolor", "#eeeeee"));
            attributes.push(attribute("style", "filled,rounded,dashed"));
        }
    }
    if graph.focus == Some(index) {
        attributes.push(attribute("penwidth", "2.5"));
    }
    Stmt::Node(DotNode { id: NodeId(Id::Plain(format!("n{}", index.index())), None), attributes })
}

pub fn render(graph: &Graph) -> String {
    let mut note = vec![format!("{} steps. Solid: calls with counts. Dashed: data with bytes.", human_count(graph.steps))];
    note.extend(graph.left_out.iter().map(|l| format!("Not shown: {l}.")));
    let font = attribute("fontname", "Helvetica,Arial,sans-serif");
    let mut statements = vec![
        Stmt::GAttribute(GraphAttributes::Graph(vec![
            font.clone(),
            attribute("fontsize", "10"),
            attribute("label", &format!("{}\n", note.join("\n"))),
            attribute("labelloc", "b"),
            attribute("labeljust", "l"),
            attribute("rankdir", "TB"),
            attribute("nodesep", "0.35"),
            attribute("ranksep", "0.6"),
        ])),
        Stmt::GAttribute(GraphAttributes::Node(vec![
            font.clone(),
            attribute("fontsize", "11"),
            attribute("shape", "box"),
            attribute("style", "filled,rounded"),
            attribute("fillcolor", "#ffffff"),
            attribute("color", "#555555"),
        ])),
        Stmt::GAttribute(GraphAttributes::Edge(vec![font, attribute("fontsize", "9"), attribute("color", "#333333")])),
    ];
    let mut clusters: BTreeMap<Option<&str>, Vec<_>> = BTreeMap::new();
    for index in graph.graph.node_indices() {
        clusters.entry(graph.graph[index].file.as_deref()).or_default().push(index);
    }
    let several = clusters.keys().flatten().count() > 1;
    for (number, (file, members)) in clusters.into_iter().enumerate() {
        let nodes = members.into_iter().map(|i| node_statement(graph, i));
        match file {
            Some(file) if several => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                let mut inner = vec![Stmt::GAttribute(GraphAttributes::Graph(vec![
                    attribute("label", name),
                    attribute("style", "rounded"),
                    attribute("color", "#bbbbbb"),
                ]))];
                inner.extend(nodes);
                statements.push(Stmt::Subgraph(Subgraph { id: Id::Plain(format!("cluster_{number}")), stmts: inner }));
            }
            _ => statements.extend(nodes),
        }
    }
    for (a, b, edge) in graph.edges() {
        let attributes = match edge {
            Edge::Call { calls } => vec![attribute("label", &human_count(*calls))],
            Edge::Data(flows) => {
                let bytes = edge.bytes();
                let mut via: Vec<_> = flows.iter().collect();
                via.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.via.cmp(&b.via)));
                let text = match &via[..] {
                    [one] => format!("{} {}", human_bytes(bytes), one.via),
                    _ => {
                        let parts: Vec<_> = via.iter().map(|f| format!("{} {}", f.via, human_bytes(f.bytes))).collect();
                        format!("{}\n{}", human_bytes(bytes), parts.join("\n"))
                    }
                };
                let width = 0.8 + (bytes.max(1) as f64).log10() / 3.0;
                vec![
                    attribute("label", &text),
                    attribute("style", "dashed"),
                    attribute("color", "#1f6fb4"),
                    attribute("fontcolor", "#1f6fb4"),
                    attribute("penwidth", &format!("{width:.1}")),
                    // Calls rank the nodes; data follows where it can.
                    attribute("weight", "0"),
                ]
            }
        };
        let end = |i: petgraph::graph::NodeIndex| Vertex::N(NodeId(Id::Plain(format!("n{}", i.index())), None));
        statements.push(Stmt::Edge(DotEdge { ty: EdgeTy::Pair(end(a), end(b)), attributes }));
    }
    let dot = DotGraph::DiGraph { id: Id::Plain("addfg".into()), strict: false, stmts: statements };
    let mut text = dot.print(&mut PrinterContext::default());
    text.push('\n');
    text
}
