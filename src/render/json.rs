//! JSON: `{"steps", "left_out": [..], "nodes": [{"id", "name", "kind", ...}], "edges": [{"from", "to", "kind", ...}]}`; `id` counts from 0
//! within the file, unknown figures are null.

use crate::graph::{Edge, Graph, NodeKind};
use serde_json::{Value, json};

pub fn render(graph: &Graph) -> String {
    let nodes: Vec<Value> = graph
        .graph
        .node_indices()
        .map(|i| {
            let n = &graph.graph[i];
            let kind = match n.kind {
                NodeKind::Function => "function",
                NodeKind::Pseudo => "pseudo",
                NodeKind::Others => "others",
            };
            json!({"id": i.index(), "function_id": (n.id != 0).then_some(n.id), "name": n.name, "kind": kind, "file": n.file,
                   "calls": n.calls, "steps_self": n.steps_self, "steps_total": n.steps_total, "local_bytes": n.local_bytes,
                   "functions": n.functions})
        })
        .collect();
    let edges: Vec<Value> = graph
        .edges()
        .into_iter()
        .map(|(a, b, edge)| match edge {
            Edge::Call { calls } => json!({"from": a.index(), "to": b.index(), "kind": "call", "calls": calls}),
            Edge::Data(flows) => {
                let via: Vec<Value> = flows
                    .iter()
                    .map(|f| {
                        json!({"via": f.via, "bytes": f.bytes, "unique_bytes": f.unique_bytes, "addresses": f.addresses,
                               "transfers": f.transfers})
                    })
                    .collect();
                json!({"from": a.index(), "to": b.index(), "kind": "data", "bytes": edge.bytes(), "via": via})
            }
        })
        .collect();
    let value = json!({"steps": graph.steps, "left_out": graph.left_out, "nodes": nodes, "edges": edges});
    format!("{value:#}\n")
}
