//! JSON: `{"level", "steps", "unit", "left_out": [..], "notes": [..], "nodes": [{"id", "name",
//! "kind", ...}], "edges": [{"from", "to", "kind", ...}]}`; `id` is the function's or call's id
//! (negative: a pseudo-function at instance level; 0: the others), unknown figures are null. Where
//! the trace has no sizes, flows have `dependences` instead of bytes.

use crate::graph::{Change, EdgeKind, Flow, Graph};
use serde_json::{Value, json};

fn flows(flows: &[Flow], graph: &Graph) -> Value {
    flows
        .iter()
        .map(|f| {
            if graph.dependences {
                return json!({"dependences": f.bytes});
            }
            json!({"via": f.via.name(), "bytes": f.bytes, "unique_bytes": f.unique_bytes, "addresses": f.addresses,
                   "transfers": f.transfers})
        })
        .collect()
}

pub fn render(graph: &Graph) -> String {
    let level = graph.level.name();
    let nodes: Vec<Value> = graph
        .graph
        .node_weights()
        .map(|n| {
            let mut value = json!({"id": n.id.number(), "name": n.name, "kind": n.kind.name(), "file": n.file, "image": n.image, "calls": n.calls,
                   "steps_self": n.steps_self, "steps_total": n.steps_total, "local_bytes": (!graph.dependences).then(|| n.local_bytes()),
                   "local": flows(&n.local, graph), "members": n.members});
            if let Some(function) = &n.function {
                value["function"] = json!(function);
            }
            if !n.text.is_empty() {
                value["text"] = json!(n.text);
            }
            if n.carried > 0 {
                value["carried_bytes"] = json!(n.carried);
            }
            if n.change != Change::Same {
                value["change"] = json!(n.change.name());
            }
            value
        })
        .collect();
    let edges: Vec<Value> = graph
        .edges()
        .into_iter()
        .map(|(a, b, edge)| {
            let (from, to) = (graph.graph[a].id.number(), graph.graph[b].id.number());
            let mut value = match &edge.kind {
                EdgeKind::Control => json!({"from": from, "to": to, "kind": "control"}),
                EdgeKind::Jump { count } => json!({"from": from, "to": to, "kind": "jump", "count": count}),
                EdgeKind::Call { calls, steps } => json!({"from": from, "to": to, "kind": "call", "calls": calls, "steps": steps,
                                                          "potential": edge.potential}),
                EdgeKind::Data(list) => json!({"from": from, "to": to, "kind": "data", "bytes": (!graph.dependences).then(|| edge.bytes()), "via": flows(list, graph),
                                               "potential": edge.potential}),
            };
            // What most graphs do not have is there only where it says something.
            if edge.carried > 0 {
                value["carried_bytes"] = json!(edge.carried);
            }
            if edge.cycle {
                value["cycle"] = json!(true);
            }
            if edge.change != Change::Same {
                value["change"] = json!(edge.change.name());
                value["before"] = json!(edge.before);
            }
            value
        })
        .collect();
    let focus = graph.focus.map(|f| graph.graph[f].id.number());
    let mut value = json!({"level": level, "steps": graph.steps, "unit": graph.unit, "focus": focus, "instance": graph.instance, "left_out": graph.left_out,
                       "notes": graph.notes, "nodes": nodes, "edges": edges});
    if !graph.problems.is_empty() {
        value["problems"] = json!(graph.problems);
    }
    format!("{value:#}\n")
}
