//! Dominators, loops and control dependences of random graphs, against their definitions.

use addfg::internals::replay::structure::{control_dependences, immediate_dominators, loops};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Edges = Vec<(usize, usize)>;

/// What `root` reaches without going through `without`.
fn reach(count: usize, edges: &Edges, root: usize, without: Option<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut stack = vec![root];
    while let Some(n) = stack.pop() {
        if Some(n) != without && seen.insert(n) {
            stack.extend(edges.iter().filter(|e| e.0 == n && e.1 < count).map(|e| e.1));
        }
    }
    seen
}

fn random_graph() -> impl Strategy<Value = (usize, Edges)> {
    (3usize..10).prop_flat_map(|n| (Just(n), proptest::collection::vec((0..n, 0..n), 1..24)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A node dominates what cannot be reached without it.
    #[test]
    fn dominators_of_random_graphs((count, edges) in random_graph()) {
        let found = immediate_dominators(count, &edges, 0);
        let all = reach(count, &edges, 0, None);
        for n in 0..count {
            let mut chain = BTreeSet::new();
            let mut at = found[n];
            while let Some(d) = at {
                chain.insert(d);
                at = found[d];
            }
            let naive: BTreeSet<usize> = all.iter().copied()
                .filter(|&d| d != n && all.contains(&n) && !reach(count, &edges, 0, Some(d)).contains(&n)).collect();
            prop_assert_eq!(chain, naive, "dominators of {}", n);
        }
    }

    /// Natural loops of back edges, by dominators; where the graph is irreducible, those at least
    /// that are not marked so.
    #[test]
    fn loops_of_random_graphs((count, edges) in random_graph()) {
        let all = reach(count, &edges, 0, None);
        let dominates = |d: usize, n: usize| d == n || !reach(count, &edges, 0, Some(d)).contains(&n);
        let mut natural: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &(tail, header) in edges.iter().filter(|e| all.contains(&e.0) && dominates(e.1, e.0)) {
            let body = natural.entry(header).or_insert_with(|| BTreeSet::from([header]));
            let mut stack = vec![tail];
            while let Some(n) = stack.pop() {
                if all.contains(&n) && body.insert(n) {
                    stack.extend(edges.iter().filter(|e| e.1 == n).map(|e| e.0));
                }
            }
        }
        let found = loops(count, &edges, 0);
        // Reducible: without the back edges to dominators there is no cycle.
        let forward: Edges = edges.iter().copied().filter(|e| all.contains(&e.0) && !dominates(e.1, e.0)).collect();
        let reducible = !forward.iter().any(|e| reach(count, &forward, e.1, None).contains(&e.0));
        let mine: BTreeMap<usize, BTreeSet<usize>> = found.iter().map(|l| (l.header, l.body.clone())).collect();
        prop_assert_eq!(mine.len(), found.len(), "one loop a header");
        if reducible {
            prop_assert_eq!(mine, natural);
            prop_assert!(found.iter().all(|l| !l.irreducible));
        } else {
            prop_assert!(found.iter().any(|l| l.irreducible));
        }
        for l in &found {
            prop_assert!(l.parent.is_none_or(|p| found[p].body.is_superset(&l.body) && !l.body.contains(&found[p].header)));
        }
    }

    /// By the definition: b post-dominates a successor of a, and does not post-dominate a, or is a.
    #[test]
    fn control_dependences_of_random_graphs((count, edges) in random_graph()) {
        // Every node reaches the exit, as in what ran.
        let exit = count;
        let mut edges = edges;
        edges.push((count - 1, exit));
        let reversed: Edges = edges.iter().map(|e| (e.1, e.0)).collect();
        let to_exit = reach(count + 1, &reversed, exit, None);
        edges.extend((0..count).filter(|n| !to_exit.contains(n)).map(|n| (n, exit)));
        let reversed: Edges = edges.iter().map(|e| (e.1, e.0)).collect();
        let decides = |d: usize, n: usize| d == n || !reach(count + 1, &reversed, exit, Some(d)).contains(&n);
        let mut naive = BTreeSet::new();
        for &(a, s) in &edges {
            for b in 0..count {
                if decides(b, s) && (a == b || !decides(b, a)) {
                    naive.insert((a, b));
                }
            }
        }
        prop_assert_eq!(control_dependences(count + 1, &edges, exit), naive);
    }
}
