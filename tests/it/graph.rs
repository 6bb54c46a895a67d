//! From a database to a picture.

use crate::common::fixture_db::HOSTILE;
use crate::common::*;
use addfg::internals::graph::{
    EdgeKind, Focus, Graph, Level, NodeId, Selection, Stubs, load, resolve_function,
};
use addfg::internals::id::FunctionId;
use addfg::internals::render::{dot, json};
use std::process::Command;

fn all() -> Selection {
    Selection::default()
}

/// Bytes on edges and within nodes.
fn bytes(graph: &Graph) -> i64 {
    graph.edges().iter().map(|e| e.2.bytes()).sum::<i64>()
        + graph.graph.node_weights().map(|n| n.local_bytes()).sum::<i64>()
}

/// Graphviz is given what it can draw in reasonable time.
#[test]
fn graphs_of_many_edges_are_not_given_to_graphviz() {
    let scratch = Scratch::new("graph-large");
    let (db, picture) = (large(), scratch.path("large.svg"));
    let whole = ["graph", utf8(&db), "--top", "100000", "--min-bytes", "0"];
    let before = std::time::Instant::now();
    let words = [&whole[..], &["-o", utf8(&picture)]].concat();
    refused(&words, &["edges are more than Graphviz draws", "--top", "graphml"]);
    assert!(before.elapsed().as_secs() < 30 && !picture.exists());
    let out = scratch.path("large.dot");
    let said = said(&addfg(&["export", utf8(&db), "--to", "dot", "-o", utf8(&out)]));
    assert!(said.contains("more than Graphviz draws"), "{said}");
}

/// SVG and DOT of one command are one graph; GraphML has the sources of data that JSON has.
#[test]
fn formats_of_one_command_are_one_graph() {
    if !have("dot") {
        return;
    }
    let db = example("jpeg", "pairs");
    let drawn =
        |format: &str| ok(&["graph", utf8(&db), "--all", "--top", "60", "--format", format]);
    let (svg, text) = (drawn("svg"), drawn("dot"));
    assert!(svg.matches("class=\"edge\"").count() > 50);
    assert_eq!(svg.matches("class=\"edge\"").count(), text.matches(" -> ").count());
    let json: serde_json::Value = serde_json::from_str(&drawn("json")).unwrap();
    let graphml = drawn("graphml");
    let nodes = json["nodes"].as_array().unwrap();
    assert_eq!(graphml.matches("<node ").count(), nodes.len());
    for node in nodes.iter().filter(|node| node["kind"] == "pseudo") {
        let name = node["name"].as_str().unwrap().replace('<', "&lt;").replace('>', "&gt;");
        assert!(graphml.contains(&format!(">{name}<")), "{name}");
    }
}

#[test]
fn the_paper_s_figures() {
    let db = open(&small());
    insta::assert_snapshot!("whole", dot::render(&load(&db, &all()).unwrap()));
    let b = resolve_function(&db, "B").unwrap().function_id;
    let focus =
        |instance| Selection { focus: Some(Focus { function_id: b, instance, depth: 1 }), ..all() };
    insta::assert_snapshot!("figure_9", dot::render(&load(&db, &focus(None)).unwrap()));
    // Instance 1 has data from C and D; what only instance 2 has is potential.
    insta::assert_snapshot!(
        "figure_10",
        dot::render_for_layout(&load(&db, &focus(Some(1))).unwrap())
    );
    insta::assert_snapshot!(
        "files",
        json::render(&load(&db, &Selection { level: Level::File, ..all() }).unwrap())
    );
    let instances = Selection { level: Level::Instance, ..focus(Some(2)) };
    insta::assert_snapshot!("instances", json::render(&load(&db, &instances).unwrap()));
}

/// However deep a recursion is, its calls are those of the contexts that it began in.
#[test]
fn a_recursion_is_in_the_contexts_that_it_began_in() {
    let scratch = Scratch::new("graph-recursion");
    let db = scratch.copy(&small(), "deep.duckdb");
    change(
        &db,
        "DELETE FROM function_call_row; DELETE FROM folded_call_row; DELETE FROM dataflow_row;
         INSERT INTO function_call_row (call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
             return_seq, call_time, return_time, call_instruction_id, steps_self, steps_total)
             SELECT i, 1 + (i > 1)::INT * (1 + i % 2), i, CASE WHEN i > 1 THEN i - 1 END, NULL, 1, i - 1, 'call', 'return', i, 60002 - i, NULL,
             NULL, NULL, 2, 2 * (30002 - i) FROM range(1, 30002) t(i)",
    );
    let graph = load(&open(&db), &Selection { level: Level::Context, ..all() }).unwrap();
    let nodes: Vec<_> = graph
        .graph
        .node_weights()
        .map(|n| (n.name.as_str(), n.calls, n.steps_self, n.steps_total))
        .collect();
    assert_eq!(
        nodes,
        [
            ("A", 1, Some(2), Some(60_002)),
            ("B < A", 15_000, Some(30_000), Some(60_000)),
            ("C < B < A", 15_000, Some(30_000), Some(30_000)),
        ]
    );
    let mut calls: Vec<_> = graph
        .edges()
        .iter()
        .filter_map(|(from, to, edge)| match edge.kind {
            EdgeKind::Call { calls: count, .. } => {
                Some((graph.graph[*from].id, graph.graph[*to].id, count))
            }
            _ => None,
        })
        .collect();
    calls.sort_unstable();
    let [a, b, c] = [0, 1, 2].map(NodeId::listed);
    assert_eq!(calls, [(a, b, 1), (b, c, 15_000), (c, b, 14_999)]);
}

#[test]
fn stubs_are_merged_without_loss() {
    let db = open(&small());
    let (merged, shown) = (
        load(&db, &all()).unwrap(),
        load(&db, &Selection { stubs: Stubs::Show, ..all() }).unwrap(),
    );
    assert_eq!(bytes(&merged), bytes(&shown));
    let steps = |g: &Graph| g.graph.node_weights().filter_map(|n| n.steps_self).sum::<i64>();
    assert_eq!((steps(&merged), merged.steps), (100, 100));
    assert_eq!(steps(&shown), 100);
    let names = |g: &Graph| g.graph.node_weights().any(|n| n.name == "puts@plt");
    assert!(names(&shown) && !names(&merged));
    let edge = |g: &Graph, from: &str, to: &str| {
        g.edges()
            .into_iter()
            .filter(|e| g.graph[e.0].name == from && g.graph[e.1].name == to)
            .map(|e| e.2.clone())
            .collect::<Vec<_>>()
    };
    // B called the stub that went on to puts, and the stub read its slot of the table for B.
    assert!(matches!(&edge(&merged, "B", "puts")[..], [call, data]
        if call.kind == (EdgeKind::Call { calls: 1, steps: Some(1) }) && data.bytes() == 4));
    assert_eq!(edge(&merged, "<input>", "B")[0].bytes(), 2_000_008);
    let focus = Some(Focus { function_id: FunctionId::at(5), instance: None, depth: 1 });
    let refused = load(&db, &Selection { focus, ..all() }).unwrap_err().to_string();
    assert!(refused.contains("merged into its callers"), "{refused}");
}

#[test]
fn a_large_graph_is_small_and_loses_nothing() {
    let db = open(&large());
    let whole: i64 =
        db.query_row("SELECT sum(bytes)::BIGINT FROM function_edge", [], |r| r.get(0)).unwrap();
    let graph = load(&db, &Selection { min_bytes: Some(0), ..all() }).unwrap();
    assert_eq!(graph.graph.node_count(), 25);
    assert_eq!(bytes(&graph), whole);
    let others = graph.graph.node_weights().find(|n| n.id == NodeId::Others).unwrap();
    assert_eq!(others.members, 4976);
    let graph = load(&db, &all()).unwrap();
    let calls = graph.edges().iter().filter(|e| matches!(e.2.kind, EdgeKind::Call { .. })).count();
    assert!(
        graph.graph.edge_count() - calls <= 50 && calls <= 50,
        "{} edges",
        graph.graph.edge_count()
    );
    assert_eq!(dot::render(&graph), dot::render(&load(&db, &all()).unwrap()));
    insta::assert_snapshot!("large_left_out", graph.left_out.join("\n"));
}

#[test]
fn hostile_names_stay_text() {
    let db = open(&small());
    let graph = load(&db, &all()).unwrap();
    assert!(graph.graph.node_weights().any(|n| n.name == HOSTILE));
    for text in [dot::render(&graph), dot::render_for_layout(&graph)] {
        assert!(!text.contains('\u{1b}'));
        if !have("dot") {
            continue;
        }
        let mut child = Command::new("dot")
            .arg("-Tsvg")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let (svg, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        assert!(!svg.contains("<img"));
        // As it is written, with the characters that act on a terminal escaped.
        assert!(
            svg.contains("E&quot;x\\\\n&lt;img src=a&gt;&#45;&gt;&amp;amp;\\\\u{1b}[31m\\\\N")
                || svg.contains("E&quot;x\\n&lt;img src=a&gt;"),
            "{svg}"
        );
    }
    let parsed: serde_json::Value = serde_json::from_str(&json::render(&graph)).unwrap();
    assert!(parsed["nodes"].as_array().unwrap().iter().any(|n| n["name"] == HOSTILE));
}

#[test]
fn a_function_by_name() {
    let db = open(&small());
    let id = |text| {
        resolve_function(&db, text)
            .map(|r| (r.function_id.get(), r.instance))
            .map_err(|e| e.to_string())
    };
    assert_eq!(id("B"), Ok((2, None)));
    assert_eq!(id("B#2"), Ok((2, Some(2))));
    assert_eq!(id("b.c:B"), Ok((2, None)));
    assert_eq!(id("/src/lib/b.c:B"), Ok((2, None)));
    assert_eq!(id("@0x1015"), Ok((2, None)));
    assert_eq!(id("@1015#1"), Ok((2, Some(1))));
    assert_eq!(id("<input>"), Ok((8, None)));
    assert_eq!(id("ns::f"), Ok((11, None)));
    assert_eq!(id("b.c:ns::f"), Ok((11, None)));
    assert_eq!(id("_ZN2ns1fEi"), Ok((11, None)));
    assert_eq!(id("twice (b.c)"), Ok((10, None)));
    assert_eq!(id("b.c:twice"), Ok((10, None)));
    let ambiguous = "`twice` may be any of: `twice (a.c)` @0x1070, `twice (b.c)` @0x1080; name one of them in full, as FILE:NAME or as \
                     @ADDRESS";
    assert_eq!(id("twice"), Err(ambiguous.into()));
    assert_eq!(id("put"), Err("no function is named `put`; there is `puts@plt`, `puts`".into()));
    assert_eq!(id("B#3"), Err("`B` was called 2 times: there is no instance 3".into()));
    assert_eq!(
        id("@main"),
        Err("`@main` is not an address; write it in hexadecimal, as in @0x401136".into())
    );
    assert!(id("' OR 1=1 --").is_err());
}
