//! The rules of the document that a graph must keep.

use super::graph::{NodeKind, Process, Routine, sum};
use super::notes::Notes;
use crate::diagnostics::Severity;
use petgraph::algo::dominators::simple_fast;
use petgraph::graphmap::DiGraphMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Images may lie over one another when one was unloaded before another came; worth knowing.
pub fn overlaps(process: &Process, place: &str, notes: &mut Notes) {
    let mut spans: Vec<_> = process
        .images
        .iter()
        .map(|i| (i.load_address, i.load_address.saturating_add(i.size), i.id))
        .collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[1].0 < pair[0].1 {
            let message = format!("images {} and {} lie over one another", pair[0].2, pair[1].2);
            let remedy =
                "nothing, if one was unloaded before the other came: blocks know their image";
            notes.add(Severity::Info, "dcfg-overlap", place, message, remedy);
        }
    }
}

/// Whether its nodes, exits and dominators fit together.
pub fn routine(process: &Process, routine: &Routine, place: &str, notes: &mut Notes) {
    let members: FxHashSet<u32> = routine.nodes.iter().map(|n| n.0).collect();
    let id = |node: u32| process.nodes[node as usize].id;
    if !members.contains(&routine.entry) {
        notes.warn("dcfg-routine-entry", place, "its entry is not among its nodes".into());
    }
    for &exit in routine.exits.iter().filter(|e| !members.contains(e)) {
        notes.warn(
            "dcfg-routine-exit",
            place,
            format!("its exit {} is not among its nodes", id(exit)),
        );
    }
    for &(node, dominator) in &routine.nodes {
        match dominator {
            Some(d) if !members.contains(&d) => {
                let message =
                    format!("the dominator {} of node {} is not among its nodes", id(d), id(node));
                notes.warn("dcfg-dominator", place, message);
            }
            Some(d) if (d == node) != (node == routine.entry) => {
                let message = format!(
                    "node {} has {} as its dominator: only the entry has itself",
                    id(node),
                    id(d)
                );
                notes.warn("dcfg-dominator", place, message);
            }
            _ => {}
        }
    }
}

/// Counts that must add up, and what a routine must reach.
pub fn rules(process: &mut Process, place: &str, notes: &mut Notes) {
    counts(process, place, notes);
    reach(process, place, notes);
    dominators(process, place, notes);
    back_edges(process, place, notes);
}

/// Counts that must add up; sets how often each node was entered.
fn counts(process: &mut Process, place: &str, notes: &mut Notes) {
    let total = sum(process.instructions_per_thread.iter().copied());
    if let Some(all) = process.instructions
        && !process.instructions_per_thread.is_empty()
        && all != total
    {
        let message = format!("INSTR_COUNT is {all}, the threads' sum {total}");
        notes.warn("dcfg-instruction-count", place, message);
    }
    let threads = process.edges.iter().map(|e| e.counts.len()).max().unwrap_or(0);
    let mut instructions = vec![0u64; threads.max(process.instructions_per_thread.len())];
    for e in &process.edges {
        let node = &mut process.nodes[e.target as usize];
        for (instructions, &count) in instructions.iter_mut().zip(&e.counts) {
            node.entered = sum([node.entered, count]);
            *instructions = sum([*instructions, count.saturating_mul(node.instructions)]);
        }
    }
    if !instructions.is_empty() {
        flow(process, place, notes);
    }
    if process.edges.is_empty() {
        return;
    }
    for (t, (&said, &counted)) in
        process.instructions_per_thread.iter().zip(&instructions).enumerate()
    {
        if said != counted {
            let message = format!("thread {t} has {said} instructions, its edges make {counted}");
            notes.warn("dcfg-instruction-count", place, message);
        }
    }
}

/// Each thread must leave a block as often as it enters it, and that often as the block table says.
fn flow(process: &Process, place: &str, notes: &mut Notes) {
    // How often a thread came to a node, less how often it went: of those only that an edge counts.
    let mut came: Vec<((u32, usize), u64)> = Vec::new();
    for e in &process.edges {
        for (t, &count) in e.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            came.push(((e.target, t), count));
            came.push(((e.source, t), count.wrapping_neg()));
        }
    }
    came.sort_unstable();
    let uneven = came
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|of| of.iter().fold(0u64, |balance, (_, count)| balance.wrapping_add(*count)) != 0);
    let uneven: FxHashSet<u32> = uneven.map(|of| of[0].0.0).collect();
    for (n, node) in (0..).zip(&process.nodes).filter(|(_, n)| n.kind == NodeKind::Block) {
        if uneven.contains(&n) {
            let message =
                format!("node {} is entered and left a different number of times", node.id);
            notes.warn("dcfg-flow", place, message);
        }
        if let Some(count) = node.count.filter(|&count| count != node.entered) {
            let message = format!(
                "node {} has COUNT {count}, but its edges enter it {} times",
                node.id, node.entered
            );
            notes.warn("dcfg-block-count", place, message);
        }
    }
}

/// Immediate dominators must be those that the edges within the routine make.
fn dominators(process: &Process, place: &str, notes: &mut Notes) {
    let mut inside: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for e in process.edges.iter().filter(|e| e.kind.is_inside()) {
        inside.entry(e.source).or_default().push(e.target);
    }
    for r in process.routines.iter().filter(|_| !process.edges.is_empty()) {
        let members: FxHashSet<u32> = r.nodes.iter().map(|n| n.0).collect();
        let mut graph: DiGraphMap<u32, ()> = DiGraphMap::new();
        graph.add_node(r.entry);
        for &(node, _) in &r.nodes {
            for &next in inside.get(&node).into_iter().flatten().filter(|n| members.contains(n)) {
                graph.add_edge(node, next, ());
            }
        }
        let found = simple_fast(&graph, r.entry);
        for &(node, said) in r.nodes.iter().filter(|n| n.0 != r.entry) {
            let (Some(said), Some(found)) = (said, found.immediate_dominator(node)) else {
                continue;
            };
            if said != found {
                let id = |node: u32| process.nodes[node as usize].id;
                let message = format!(
                    "node {} has {} as its dominator, by the edges of routine {} it is {}",
                    id(node),
                    id(said),
                    id(r.entry),
                    id(found)
                );
                notes.warn("dcfg-dominator", place, message);
            }
        }
    }
}

/// What a routine must reach.
fn reach(process: &Process, place: &str, notes: &mut Notes) {
    let mut next: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for e in process.edges.iter().filter(|e| e.kind.is_inside()) {
        next.entry(e.source).or_default().push(e.target);
    }
    for r in &process.routines {
        let mut missing: FxHashSet<u32> = r.nodes.iter().map(|n| n.0).collect();
        let mut stack = vec![r.entry];
        while let Some(n) = stack.pop() {
            if missing.remove(&n) {
                stack.extend(next.get(&n).into_iter().flatten().copied());
            }
        }
        if let Some(&node) = missing.iter().min() {
            let (node, entry) =
                (process.nodes[node as usize].id, process.nodes[r.entry as usize].id);
            let message =
                format!("node {node} of routine {entry} cannot be reached from its entry");
            notes.warn("dcfg-unreachable", place, message);
        }
    }
    let outside =
        process.nodes.iter().filter(|n| n.kind == NodeKind::Block && n.routine.is_none()).count();
    if !process.routines.is_empty() && outside > 0 {
        let message = format!("{outside} blocks are in no routine");
        notes.add(
            Severity::Info,
            "dcfg-no-routine",
            place,
            message,
            "nothing: loops are not known there",
        );
    }
}

/// Edges that loops must have.
fn back_edges(process: &Process, place: &str, notes: &mut Notes) {
    let pairs: FxHashSet<(u32, u32)> = process.edges.iter().map(|e| (e.source, e.target)).collect();
    for l in &process.loops {
        if let Some(&source) =
            l.back_edge_sources.iter().find(|&&s| !pairs.contains(&(s, l.header)))
        {
            let (source, head) =
                (process.nodes[source as usize].id, process.nodes[l.header as usize].id);
            notes.warn(
                "dcfg-loop",
                place,
                format!("no edge goes back from {source} to the loop head {head}"),
            );
        }
    }
}
