//! The paper's two strategies give the same graph.

use crate::common::program::{Program, Random};
use crate::common::*;
use addfg::internals::graph::{self, EdgeKind, Graph, Level, Selection, Strategy};
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
        assert!(top_down.len() >= 3, "{name}: {top_down:?}");
        // That strategy does not know what the kernel reads. As it has fewer pseudo-functions, others of them are `(others)`.
        let known = |sums: BTreeMap<String, (i64, Option<i64>)>| {
            let mut known: BTreeMap<String, (i64, Option<i64>)> = BTreeMap::new();
            for (key, (bytes, transfers)) in sums {
                let key = match key.split_once(" -> ") {
                    Some((_, to)) if to.starts_with(['<', '(']) => continue,
                    Some((from, to)) if from.starts_with('<') => format!("(others) -> {to}"),
                    // From one pseudo-function to another.
                    None if key.starts_with(['<', '(']) => continue,
                    _ => key,
                };
                let sum = known.entry(key).or_insert((0, Some(0)));
                sum.0 += bytes;
                sum.1 = sum.1.zip(transfers).map(|(a, b)| a + b);
            }
            known
        };
        assert_eq!(known(bottom_up), known(top_down), "{name}");
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

/// Registers that come back by `pop {..., pc}`, by pairs, and across exceptions.
#[test]
fn logs_of_other_instruction_sets() {
    let scratch = Scratch::new("bottom-up-logs");
    let db = scratch.path("db");
    for (log, elf) in [
        ("qemu/dexec-7.2-arm", "demo/demo-arm"),
        ("qemu/dexec-7.2-thumb", "demo/demo-thumb"),
        ("qemu/execlog-7.2-rv64", "demo/demo-rv64"),
        ("qemu-system/a", "qemu-system/a"),
        ("qemu-system/v", "qemu-system/v"),
        ("qemu-system/smp", "qemu-system/smp"),
    ] {
        let elf = repository(&format!("tests/data/{elf}.elf"));
        load(&repository(&format!("tests/data/{log}.log.xz")), &elf, &db, &[]);
        compare(log, &db);
    }
}

/// A program with its C library, where many registers are saved and restored.
#[test]
fn recordings_of_other_instruction_sets() {
    let scratch = Scratch::new("bottom-up-recorded");
    for (compiler, emulator) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ] {
        let [elf, log, db] = ["elf", "log", "db"].map(|name| scratch.path(name));
        if have(emulator) && compile(compiler, "recorded.c", &["-O2"], &elf) {
            qemu(emulator, &elf, &log);
            load(&log, &elf, &db, &[]);
            compare(emulator, &db);
        }
    }
}
