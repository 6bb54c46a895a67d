//! Pictures: hostile text, every level, and a graph that is large.

use crate::common::*;
use addfg::internals::graph::{Graph, Level, NodeId};

#[test]
fn hostile_text_in_every_place_of_a_picture() {
    use addfg::internals::graph::{Change, Edge, EdgeKind, Flow, Node, NodeKind, Via};
    let long = "x".repeat(10_000);
    let hostile = [
        "\"quoted\"",
        "a\nb",
        "<b>bold</b>",
        "\\n\\N\\G\\",
        "]]>",
        "&lt;&#0;&",
        "-->",
        "\u{0}\u{1b}[31m",
        "}; x -> y [label=\"",
        &long,
        "",
        "<TABLE>",
        "\u{202e}",
        "--",
        "é\u{fffe}",
    ];
    let mut graph = Graph::new(Level::Line);
    graph.title = Some(hostile.join(" "));
    graph.left_out = hostile.iter().map(|h| (*h).to_owned()).collect();
    let mut before = None;
    for (i, text) in hostile.iter().enumerate() {
        let own = |n: usize| hostile[(i + n) % hostile.len()].to_owned();
        let kinds = [
            NodeKind::Line,
            NodeKind::Pseudo,
            NodeKind::Block,
            NodeKind::File,
            NodeKind::Context,
            NodeKind::Group,
        ];
        let node = Node {
            id: NodeId::listed(i),
            name: (*text).to_owned(),
            kind: kinds[i % kinds.len()],
            text: vec![own(1), own(2)],
            function: (i % 3 == 0).then(|| own(3)),
            file: Some(own(4)),
            image: Some(own(5)),
            change: if i % 2 == 0 { Change::Grown } else { Change::Same },
            steps_self: Some(1),
            members: 1,
            ..Node::default()
        };
        let at = graph.graph.add_node(node);
        let flow =
            Flow { via: Via::Heap, bytes: 9, unique_bytes: None, addresses: None, transfers: None };
        if let Some(before) = before.replace(at) {
            graph.graph.add_edge(before, at, Edge::new(EdgeKind::Data(vec![flow])));
            graph.graph.add_edge(at, before, Edge::new(EdgeKind::Control));
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&addfg::internals::render::json::render(&graph)).unwrap();
    assert_eq!(json["nodes"].as_array().unwrap().len(), hostile.len());
    for text in [
        addfg::internals::render::dot::render(&graph),
        addfg::internals::render::dot::render_for_layout(&graph),
    ] {
        match addfg::internals::render::layout::draw(&text, "svg") {
            Ok(svg) => {
                let svg = String::from_utf8(svg).unwrap();
                assert_eq!(svg.matches("class=\"node\"").count(), hostile.len());
                assert!(
                    !svg.contains("<b>bold")
                        && !svg.contains('\u{1b}')
                        && !svg.contains('\u{202e}')
                );
            }
            Err(addfg::internals::render::layout::LayoutError::Missing) => {
                assert!(!have("dot"));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Graphviz 2.43 gives up on the call instances of the JPEG example unless it ranks them without
/// regard to clusters.
#[test]
fn every_level_of_the_example_is_drawn() {
    if !have("dot") {
        return;
    }
    for name in ["fir", "jpeg"] {
        let db = example(name, "pairs");
        for level in
            ["instance", "context", "function", "file", "line", "loop", "block", "image", "thread"]
        {
            let svg = ok(&["graph", utf8(&db), "--level", level, "--format", "svg"]);
            assert!(svg.contains("class=\"node\""), "{name}, {level}");
        }
    }
}

#[test]
fn a_large_graph_is_laid_out_in_seconds() {
    if !have("dot") {
        return;
    }
    let scratch = Scratch::new("large");
    let db = large();
    let start = std::time::Instant::now();
    let picture = scratch.path("large.svg");
    ok(&["graph", utf8(&db), "-o", utf8(&picture)]);
    let seconds = start.elapsed().as_secs_f64();
    println!("5,000 functions, 100,000 edges: {seconds:.1} s");
    assert!(seconds < 20.0, "{seconds} s");
    assert!(std::fs::metadata(picture).unwrap().len() < 200_000);
}
