//! GraphML: nodes and edges with their figures as typed attributes; an edge for each call, and for
//! each kind of place that data goes through. What is not known is left out.
//! (graphml.graphdrawing.org.)

use crate::graph::{Change, EdgeKind, Graph};
use crate::text::visible;
use std::fmt::Write;

/// Name, type and owner of the attributes.
const KEYS: [(&str, &str, &str); 27] = [
    ("level", "string", "graph"),
    ("steps", "long", "graph"),
    ("unit", "string", "graph"),
    ("problems", "string", "graph"),
    ("name", "string", "node"),
    ("kind", "string", "node"),
    ("file", "string", "node"),
    ("image", "string", "node"),
    ("function", "string", "node"),
    ("calls", "long", "node"),
    ("steps_self", "long", "node"),
    ("steps_total", "long", "node"),
    ("local_bytes", "long", "node"),
    ("members", "long", "node"),
    ("change", "string", "node"),
    ("edge_kind", "string", "edge"),
    ("via", "string", "edge"),
    ("bytes", "long", "edge"),
    ("dependences", "long", "edge"),
    ("unique_bytes", "long", "edge"),
    ("addresses", "long", "edge"),
    ("transfers", "long", "edge"),
    ("edge_calls", "long", "edge"),
    ("edge_steps", "long", "edge"),
    ("count", "long", "edge"),
    ("carried_bytes", "long", "edge"),
    ("edge_change", "string", "edge"),
];

/// Text of an element or attribute.
pub fn escaped(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

struct Element<'a>(&'a mut String, &'static str);

impl Element<'_> {
    fn text(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{}<data key=\"{key}\">{}</data>", self.1, escaped(value));
    }
    fn number(&mut self, key: &str, value: impl Into<Option<i64>>) {
        if let Some(value) = value.into() {
            let _ = writeln!(self.0, "{}<data key=\"{key}\">{value}</data>", self.1);
        }
    }
}

pub fn render(graph: &Graph) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    );
    for (name, kind, owner) in KEYS {
        let shown = name.strip_prefix("edge_").unwrap_or(name);
        let _ = writeln!(
            out,
            "  <key id=\"{name}\" for=\"{owner}\" attr.name=\"{shown}\" attr.type=\"{kind}\"/>"
        );
    }
    out += "  <graph edgedefault=\"directed\">\n";
    let mut top = Element(&mut out, "    ");
    top.text("level", graph.level.name());
    top.number("steps", graph.steps);
    top.text("unit", graph.unit);
    if !graph.problems.is_empty() {
        top.text("problems", &graph.problems.join("; "));
    }
    for node in graph.graph.node_weights() {
        let _ = writeln!(out, "    <node id=\"n{}\">", node.id.number());
        let mut e = Element(&mut out, "      ");
        e.text("name", &node.name);
        e.text("kind", node.kind.name());
        for (key, value) in
            [("file", &node.file), ("image", &node.image), ("function", &node.function)]
        {
            if let Some(value) = value {
                e.text(key, value);
            }
        }
        e.number("calls", node.calls);
        e.number("steps_self", node.steps_self);
        e.number("steps_total", node.steps_total);
        e.number("local_bytes", (!graph.dependences).then(|| node.local_bytes()));
        e.number("members", i64::try_from(node.members).ok());
        if node.change != Change::Same {
            e.text("change", node.change.name());
        }
        out += "    </node>\n";
    }
    let mut id = 0;
    for (a, b, edge) in graph.edges() {
        let mut element = |fill: &dyn Fn(&mut Element)| {
            id += 1;
            let (from, to) = (graph.graph[a].id.number(), graph.graph[b].id.number());
            let _ = writeln!(out, "    <edge id=\"e{id}\" source=\"n{from}\" target=\"n{to}\">");
            let mut e = Element(&mut out, "      ");
            e.text("edge_kind", edge.kind.name());
            fill(&mut e);
            if edge.change != Change::Same {
                e.text("edge_change", edge.change.name());
            }
            out += "    </edge>\n";
        };
        match &edge.kind {
            EdgeKind::Call { calls, steps } => element(&|e| {
                e.number("edge_calls", *calls);
                e.number("edge_steps", *steps);
            }),
            EdgeKind::Jump { count } => element(&|e| e.number("count", *count)),
            EdgeKind::Control => element(&|_| {}),
            EdgeKind::Data(flows) => {
                for (i, flow) in flows.iter().enumerate() {
                    if graph.dependences {
                        element(&|e| e.number("dependences", flow.bytes));
                        continue;
                    }
                    element(&|e| {
                        e.text("via", flow.via.name());
                        e.number("bytes", flow.bytes);
                        e.number("unique_bytes", flow.unique_bytes);
                        e.number("addresses", flow.addresses);
                        e.number("transfers", flow.transfers);
                        // Known of the edge as a whole.
                        if i == 0 && edge.carried > 0 {
                            e.number("carried_bytes", edge.carried);
                        }
                    });
                }
            }
        }
    }
    out += "  </graph>\n</graphml>\n";
    out
}
