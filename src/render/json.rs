//! JSON: `{"level", "steps", "left_out": [..], "notes": [..], "nodes": [{"id", "name", "kind", ...}], "edges": [{"from", "to", "kind",
//! ...}]}`; `id` is the function's or call's id (negative: a pseudo-function at instance level; 0: the others), unknown figures are null.

use crate::graph::{EdgeKind, Flow, Graph, Level};
use serde_json::{Value, json};

fn flows(flows: &[Flow]) -> Value {
    flows
        .iter()
        .map(|f| {
            json!({"via": f.via.name(), "bytes": f.bytes, "unique_bytes": f.unique_bytes, "addresses": f.addresses,
                   "transfers": f.transfers})
        })
        .collect()
}

pub fn render(graph: &Graph) -> String {
    let level = match graph.level {
        Level::Function => "function",
        Level::File => "file",
        Level::Image => "image",
        Level::Instance => "instance",
    };
    let nodes: Vec<Value> = graph
        .graph
        .node_weights()
        .map(|n| {
            json!({"id": n.id, "name": n.name, "kind": n.kind.name(), "file": n.file, "image": n.image, "calls": n.calls,
                   "steps_self": n.steps_self, "steps_total": n.steps_total, "local_bytes": n.local_bytes(),
                   "local": flows(&n.local), "members": n.members})
        })
        .collect();
    let edges: Vec<Value> = graph
        .edges()
        .into_iter()
        .map(|(a, b, edge)| {
            let (from, to) = (graph.graph[a].id, graph.graph[b].id);
            match &edge.kind {
                EdgeKind::Call { calls, steps } => json!({"from": from, "to": to, "kind": "call", "calls": calls, "steps": steps,
                                                          "potential": edge.potential}),
                EdgeKind::Data(list) => json!({"from": from, "to": to, "kind": "data", "bytes": edge.bytes(), "via": flows(list),
                                               "potential": edge.potential}),
            }
        })
        .collect();
    let focus = graph.focus.map(|f| graph.graph[f].id);
    let value = json!({"level": level, "steps": graph.steps, "focus": focus, "instance": graph.instance, "left_out": graph.left_out,
                       "notes": graph.notes, "nodes": nodes, "edges": edges});
    format!("{value:#}\n")
}
