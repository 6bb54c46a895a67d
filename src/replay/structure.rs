//! The structure of flow graphs: dominators, loops, control dependences. Nodes are numbers.

use petgraph::algo::{dominators, kosaraju_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A loop of a graph: a strongly connected part, what is left of it without the header, and so on
/// inwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub header: usize,
    /// The header included.
    pub body: BTreeSet<usize>,
    /// The smallest loop around it, as an index into the list.
    pub parent: Option<usize>,
    /// It can be entered beside its header.
    pub irreducible: bool,
}

fn graph(count: usize, edges: &[(usize, usize)]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::with_capacity(count, edges.len());
    (0..count).for_each(|_| {
        graph.add_node(());
    });
    for &(a, b) in edges {
        graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), ());
    }
    graph
}

/// Immediate dominators of nodes `0..count`; None for the root and for what it does not reach.
pub fn immediate_dominators(
    count: usize,
    edges: &[(usize, usize)],
    root: usize,
) -> Vec<Option<usize>> {
    let found = dominators::simple_fast(&graph(count, edges), NodeIndex::new(root));
    (0..count).map(|n| found.immediate_dominator(NodeIndex::new(n)).map(|d| d.index())).collect()
}

/// Nodes `0..count` by what reaches each other, such groups before those that they reach.
pub fn components(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut found = kosaraju_scc(&graph(count, edges));
    found.reverse();
    found.into_iter().map(|part| part.into_iter().map(NodeIndex::index).collect()).collect()
}

/// The loops of what `root` reaches, outer ones before inner ones. Where every loop is entered
/// through one node only these are the natural loops of back edges to dominators, those of one
/// header merged.
pub fn loops(count: usize, edges: &[(usize, usize)], root: usize) -> Vec<Loop> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(a, b) in edges {
        next[a].push(b);
        before[b].push(a);
    }
    // Numbers of a depth-first search decide which of several entries is the header.
    let mut number = vec![usize::MAX; count];
    let mut stack = vec![root];
    let mut reached = Vec::new();
    while let Some(n) = stack.pop() {
        if number[n] == usize::MAX {
            number[n] = reached.len();
            reached.push(n);
            stack.extend(next[n].iter().rev());
        }
    }
    let mut found: Vec<Loop> = Vec::new();
    let mut work = vec![(reached, None)];
    while let Some((nodes, parent)) = work.pop() {
        let inside: FxHashMap<usize, usize> =
            nodes.iter().enumerate().map(|(i, &n)| (n, i)).collect();
        let part: Vec<(usize, usize)> = nodes
            .iter()
            .flat_map(|&n| {
                next[n]
                    .iter()
                    .filter_map(|m| Some((inside[&n], *inside.get(m)?)))
                    .collect::<Vec<_>>()
            })
            .collect();
        for component in kosaraju_scc(&graph(nodes.len(), &part)) {
            let body: BTreeSet<usize> = component.iter().map(|i| nodes[i.index()]).collect();
            let Some(&first) = body.first() else { continue };
            if body.len() == 1 && !next[first].contains(&first) {
                continue;
            }
            let enters = |n: &usize| {
                *n == root
                    || before[*n].iter().any(|m| !body.contains(m) && number[*m] != usize::MAX)
            };
            let mut entries: Vec<usize> = body.iter().copied().filter(enters).collect();
            entries.sort_by_key(|&n| number[n]);
            let header = entries.first().copied().unwrap_or(first);
            let rest: Vec<usize> = body.iter().copied().filter(|&n| n != header).collect();
            found.push(Loop { header, body, parent, irreducible: entries.len() > 1 });
            if !rest.is_empty() {
                work.push((rest, Some(found.len() - 1)));
            }
        }
    }
    found
}

/// (a, b): whether b runs is decided at the end of a: b post-dominates a successor of a, but not
/// every path from a. After Ferrante, Ottenstein and Warren, from the post-dominator tree.
pub fn control_dependences(
    count: usize,
    edges: &[(usize, usize)],
    exit: usize,
) -> BTreeSet<(usize, usize)> {
    let graph = graph(count, edges);
    let found = dominators::simple_fast(Reversed(&graph), NodeIndex::new(exit));
    let above = |n: usize| found.immediate_dominator(NodeIndex::new(n)).map(|d| d.index());
    let mut pairs = BTreeSet::new();
    for &(a, b) in edges {
        let stop = above(a);
        let mut at = Some(b);
        while let Some(n) = at
            && at != stop
            && n != exit
        {
            if !pairs.insert((a, n)) {
                break;
            }
            at = above(n);
        }
    }
    pairs
}
