//! Routines and loops.

use super::check;
use super::graph::{Id, Loop, NodeKind, Process, Routine};
use super::json::Table;
use super::read::{Reader, table};
use rustc_hash::FxHashSet;
use serde_json::Value;

impl Reader<'_, '_> {
    pub(super) fn routines(
        &mut self,
        process: &mut Process,
        image: u32,
        data: &Value,
        place: &str,
    ) {
        let names = ["ENTRY_NODE_ID", "EXIT_NODE_IDS", "NODES", "LOOPS"];
        let Some(t) = table(data, "ROUTINES", &names, 1, place, self.notes) else { return };
        for row in t.rows() {
            let Some(id) = self.id(row.integer(0), place, "a routine's entry") else { continue };
            let place = format!("{place}, routine {id}");
            let Some(&entry) = process.node_by_id.get(&id) else {
                self.notes.lost(
                    "dcfg-unknown-id",
                    &place,
                    format!("its entry, node {id}, is not a block"),
                );
                continue;
            };
            let number = process.routines.len() as u32;
            let mut known = |process: &Process, node: Id, what: &str| {
                let found = process.node_by_id.get(&node).copied();
                if found.is_none() {
                    self.notes.lost(
                        "dcfg-unknown-id",
                        &place,
                        format!("{what} {node} is not a block"),
                    );
                }
                found
            };
            let exits: Vec<u32> =
                row.integers(1).into_iter().filter_map(|n| known(process, n, "exit")).collect();
            let mut nodes = Vec::new();
            match Table::new(row.cell(2), &["NODE_ID", "IDOM_NODE_ID"], 1) {
                Err(wrong) => self.notes.lost("dcfg-table", &place, format!("NODES {wrong}")),
                Ok(None) => {}
                Ok(Some(t)) => {
                    for row in t.rows() {
                        let Some(node) = row.integer(0).and_then(|n| known(process, n, "node"))
                        else {
                            continue;
                        };
                        nodes.push((
                            node,
                            row.integer(1).and_then(|n| known(process, n, "dominator")),
                        ));
                    }
                }
            }
            for &(node, _) in &nodes {
                let node = &mut process.nodes[node as usize];
                match node.routine {
                    Some(_) => self.notes.warn(
                        "dcfg-two-routines",
                        &place,
                        format!("node {} is in another routine too", node.id),
                    ),
                    None => node.routine = Some(number),
                }
                if node.kind != NodeKind::Block || node.image != image {
                    self.notes.warn(
                        "dcfg-routine-node",
                        &place,
                        format!("node {} is not a block of this image", node.id),
                    );
                }
            }
            let routine = Routine { image, entry, exits, nodes };
            check::routine(process, &routine, &place, self.notes);
            process.routines.push(routine);
            self.loops(process, number, row.cell(3), &place);
        }
    }

    fn loops(&mut self, process: &mut Process, routine: u32, value: Option<&Value>, place: &str) {
        let names = [
            "LOOP_HEAD_NODE_ID",
            "LOOP_BACK_EDGE_SOURCE_NODE_IDS",
            "LOOP_NODE_IDS",
            "PARENT_LOOP_HEAD_NODE_ID",
        ];
        let t = match Table::new(value, &names, 1) {
            Ok(None) => return,
            Ok(Some(t)) => t,
            Err(wrong) => return self.notes.lost("dcfg-table", place, format!("LOOPS {wrong}")),
        };
        let members: FxHashSet<u32> =
            process.routines[routine as usize].nodes.iter().map(|n| n.0).collect();
        let mut found: Vec<(Loop, Option<Id>)> = Vec::new();
        for row in t.rows() {
            let Some(id) = self.id(row.integer(0), place, "a loop's head") else { continue };
            let Some(&header) = process.node_by_id.get(&id) else {
                self.notes.lost("dcfg-unknown-id", place, format!("loop head {id} is not a block"));
                continue;
            };
            if found.iter().any(|(l, _)| l.header == header) {
                self.notes.lost("dcfg-loop", place, format!("two loops have the head {id}"));
                continue;
            }
            let mut list = |column: usize, what: &str| {
                let mut nodes = Vec::new();
                for id in row.integers(column) {
                    match process.node_by_id.get(&id) {
                        Some(&node) if members.contains(&node) => nodes.push(node),
                        _ => self.notes.warn(
                            "dcfg-loop",
                            place,
                            format!("{what} {id} is not a node of the routine"),
                        ),
                    }
                }
                nodes
            };
            let (back_edge_sources, mut nodes) =
                (list(1, "back-edge source"), list(2, "loop node"));
            nodes.sort_unstable();
            nodes.dedup();
            if nodes.binary_search(&header).is_err() {
                self.notes.warn(
                    "dcfg-loop",
                    place,
                    format!("loop head {id} is not among the loop's nodes"),
                );
                nodes.insert(nodes.partition_point(|&n| n < header), header);
            }
            if let Some(&other) = back_edge_sources.iter().find(|n| nodes.binary_search(n).is_err())
            {
                let other = process.nodes[other as usize].id;
                self.notes.warn(
                    "dcfg-loop",
                    place,
                    format!("back-edge source {other} is not in the loop of head {id}"),
                );
            }
            let parent = row.integer(3).filter(|&p| p != 0);
            found.push((
                Loop { routine, header, back_edge_sources, nodes, parent: None, depth: 0 },
                parent,
            ));
        }
        // Outer ones first, whatever the order in the file: a loop has more nodes than those in it.
        found.sort_by_key(|(l, _)| std::cmp::Reverse(l.nodes.len()));
        let base = process.loops.len();
        for (mut l, parent) in found {
            if let Some(id) = parent {
                let header = process.node_by_id.get(&id).copied();
                let outer = process.loops[base..].iter().position(|o| Some(o.header) == header);
                match outer.filter(|&o| {
                    l.nodes.iter().all(|n| process.loops[base + o].nodes.binary_search(n).is_ok())
                }) {
                    Some(o) => {
                        l.parent = Some((base + o) as u32);
                        l.depth = process.loops[base + o].depth + 1;
                    }
                    None => {
                        let head = process.nodes[l.header as usize].id;
                        self.notes.warn(
                            "dcfg-loop",
                            place,
                            format!("no loop of head {id} lies around that of head {head}"),
                        );
                    }
                }
            }
            for &node in &l.nodes {
                process.nodes[node as usize].inner_loop = Some(process.loops.len() as u32);
            }
            process.loops.push(l);
        }
    }
}
