//! The paper's two strategies give the same graph.

use crate::common::program::{Program, Random};
use crate::common::*;
use addfg::graph::{self, EdgeKind, Graph, Level, Selection, Strategy};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes and transfers of all edges and of what stays within a node.
fn sums(graph: &Graph) -> BTreeMap<String, (i64, Option<i64>)> {
    let mut sums = BTreeMap::new();
    let mut add = |key: String, bytes, transfers: Option<i64>| {
        let sum: &mut (i64, Option<i64>) = sums.entry(key).or_insert((0, Some(0)));
        sum.0 += bytes;
        sum.1 = sum.1.zip(transfers).map(|(a, b)| a + b);
    };
    for (from, to, edge) in graph.edges() {
        if let EdgeKind::Data(flows) = &edge.kind {
            for f in flows {
                let name = |n: petgraph::graph::NodeIndex| graph.graph[n].name.clone();
                add(
                    format!("{} -> {} {}", name(from), name(to), f.via.name()),
                    f.bytes,
                    f.transfers,
                );
            }
        }
    }
    for node in graph.graph.node_weights() {
        for f in &node.local {
            add(format!("{} local {}", node.name, f.via.name()), f.bytes, f.transfers);
        }
    }
    sums
}

fn compare(name: &str, db: &Path) {
    let connection = open(db);
    for level in [Level::Function, Level::File] {
        let all = Selection { level, top: 1000, min_bytes: Some(0), ..Selection::default() };
        let top_down = sums(&graph::load(&connection, &all).unwrap());
        let bottom_up = sums(
            &graph::load(&connection, &Selection { strategy: Strategy::BottomUp, ..all }).unwrap(),
        );
        assert!(top_down.len() > 3, "{name}");
        assert_eq!(bottom_up, top_down, "{name}");
    }
}

#[test]
fn shipped_recordings() {
    for name in ["fir", "jpeg"] {
        compare(name, &example(name, "pairs"));
    }
}

#[test]
fn random_programs() {
    let scratch = Scratch::new("bottom-up-random");
    let (log, elf, db) = (scratch.path("log"), scratch.path("elf"), scratch.path("db"));
    for seed in 1..8 {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        std::fs::write(&log, program.run(&mut random, 4000, 2).0).unwrap();
        std::fs::write(&elf, program.elf()).unwrap();
        load(&log, &elf, &db, &[]);
        compare(&format!("seed {seed}"), &db);
    }
}
