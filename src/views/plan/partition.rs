//! Cuts a weighted graph into parts: little weight of edges between them, no part too heavy.
//!
//! Small graphs are cut exactly, by branch and bound. Large ones are made smaller first by joining
//! the ends of heavy edges, cut then, and made larger again, while nodes move to where they are
//! better off (Karypis and Kumar's multilevel scheme with moves after Fiduccia and Mattheyses).

use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An undirected graph. No edge stands twice, none is from a node to itself.
#[derive(Clone, Debug, Default)]
pub struct Weighted {
    pub nodes: Vec<u64>,
    /// Ends, the smaller first, and weight.
    pub edges: Vec<(usize, usize, u64)>,
}

/// Which part each node is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    pub part: Vec<usize>,
    /// Weight of the edges between parts.
    pub cut: u64,
    /// Nothing is better.
    pub is_exact: bool,
}

/// Nodes that are cut exactly.
const SMALL: usize = 16;
/// Steps of the search before it ends with what it has.
const SEARCH: u64 = 4_000_000;

impl Weighted {
    /// Edges between the same ends are added up.
    pub fn new(nodes: Vec<u64>, edges: impl IntoIterator<Item = (usize, usize, u64)>) -> Weighted {
        let mut sums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (a, b, weight) in edges.into_iter().filter(|(a, b, _)| a != b) {
            *sums.entry((a.min(b), a.max(b))).or_default() += weight;
        }
        let edges = sums.into_iter().map(|((a, b), weight)| (a, b, weight)).collect();
        Weighted { nodes, edges }
    }

    fn neighbours(&self) -> Vec<Vec<(usize, u64)>> {
        let mut of = vec![Vec::new(); self.nodes.len()];
        for &(a, b, weight) in &self.edges {
            of[a].push((b, weight));
            of[b].push((a, weight));
        }
        of
    }

    fn cut(&self, part: &[usize]) -> u64 {
        self.edges.iter().filter(|(a, b, _)| part[*a] != part[*b]).map(|edge| edge.2).sum()
    }

    /// Joins nodes by their heaviest edges, none to more than `limit`; gives the smaller graph and
    /// the node of it that each node is in. None where nothing may be joined.
    fn coarser(&self, limit: u64) -> Option<(Weighted, Vec<usize>)> {
        let mut order = self.edges.clone();
        order.sort_by_key(|&(a, b, weight)| (Reverse(weight), a, b));
        // Edges of what is joined add up only in the next round: not all in one.
        let most = (self.nodes.len() / 8).max(2);
        let mut joined = UnionFind::<usize>::new(self.nodes.len());
        let mut sums: Vec<(u64, usize)> = self.nodes.iter().map(|&weight| (weight, 1)).collect();
        for (a, b, _) in order {
            let (a, b) = (joined.find(a), joined.find(b));
            let sum = (sums[a].0 + sums[b].0, sums[a].1 + sums[b].1);
            if a != b && sum.0 <= limit && sum.1 <= most {
                joined.union(a, b);
                sums[joined.find(a)] = sum;
            }
        }
        let mut numbers = BTreeMap::new();
        let mut nodes = Vec::new();
        let mut into = Vec::with_capacity(self.nodes.len());
        for at in 0..self.nodes.len() {
            let of = joined.find(at);
            into.push(*numbers.entry(of).or_insert_with(|| {
                nodes.push(sums[of].0);
                nodes.len() - 1
            }));
        }
        if nodes.len() == self.nodes.len() {
            return None;
        }
        let edges = self.edges.iter().map(|&(a, b, weight)| (into[a], into[b], weight));
        Some((Weighted::new(nodes, edges), into))
    }

    /// How far the heaviest part is over a limit.
    fn over(&self, part: &[usize], parts: usize, limit: u64) -> u64 {
        let mut load = vec![0; parts];
        self.nodes.iter().enumerate().for_each(|(at, weight)| load[part[at]] += weight);
        load.into_iter().map(|l: u64| l.saturating_sub(limit)).max().unwrap_or(0)
    }
}

/// Cuts a graph into `parts`, none of them heavier than `limit` if that can be.
pub fn partition(graph: &Weighted, parts: usize, limit: u64) -> Partition {
    // How heavy nodes are joined to decides what can be kept together: the best of some.
    let tries = [4, 3, 2, 1].map(|quarters| by_levels(graph, parts, limit, limit / 4 * quarters));
    let best = tries
        .into_iter()
        .min_by_key(|found| (graph.over(&found.part, parts, limit), found.cut, !found.is_exact));
    best.unwrap_or(Partition { part: vec![0; graph.nodes.len()], cut: 0, is_exact: false })
}

/// One try: nodes are joined up to a weight.
fn by_levels(graph: &Weighted, parts: usize, limit: u64, joined: u64) -> Partition {
    let mut levels: Vec<(Weighted, Vec<usize>)> = Vec::new();
    let mut smallest = graph.clone();
    while smallest.nodes.len() > SMALL
        && let Some((coarser, into)) = smallest.coarser(joined)
    {
        levels.push((std::mem::replace(&mut smallest, coarser), into));
    }
    let (mut part, mut is_exact) = (spread(&smallest, parts), false);
    refine(&smallest, &mut part, parts, limit);
    if smallest.nodes.len() <= SMALL {
        let mut search = Search::new(&smallest, parts, limit, part);
        let is_whole = search.run();
        is_exact = is_whole && levels.is_empty();
        part = search.best;
    }
    while let Some((finer, into)) = levels.pop() {
        part = into.into_iter().map(|at| part[at]).collect();
        refine(&finer, &mut part, parts, limit);
    }
    Partition { cut: graph.cut(&part), part, is_exact }
}

/// The heaviest node first, each to the part that has least.
fn spread(graph: &Weighted, parts: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|&at| (Reverse(graph.nodes[at]), at));
    let mut load = vec![0; parts];
    let mut part = vec![0; graph.nodes.len()];
    for at in order {
        let to = (0..parts).min_by_key(|&p| (load[p], p)).unwrap_or(0);
        part[at] = to;
        load[to] += graph.nodes[at];
    }
    part
}

/// Moves nodes to where they have the heavier edges, as long as that makes the cut lighter, and
/// out of parts that are too heavy.
fn refine(graph: &Weighted, part: &mut [usize], parts: usize, limit: u64) {
    const PASSES: usize = 20;
    let neighbours = graph.neighbours();
    let mut load = vec![0; parts];
    for (at, weight) in graph.nodes.iter().enumerate() {
        load[part[at]] += weight;
    }
    for _ in 0..PASSES {
        let mut moved = false;
        for at in 0..graph.nodes.len() {
            let (from, weight) = (part[at], graph.nodes[at]);
            let mut pull = vec![0; parts];
            for &(other, heavy) in &neighbours[at] {
                pull[part[other]] += heavy;
            }
            let is_over = load[from] > limit;
            let fits = |to: &usize| *to != from && load[*to] + weight <= limit.max(load[from] - 1);
            let Some(to) = (0..parts)
                .filter(fits)
                .max_by_key(|&to| (pull[to], Reverse(load[to]), Reverse(to)))
            else {
                continue;
            };
            let lighter = pull[to] > pull[from] && (load[to] + weight <= limit);
            let evener = pull[to] == pull[from] && load[to] + weight < load[from];
            let must = is_over && weight > 0 && load[to] + weight < load[from];
            if lighter || evener || must {
                part[at] = to;
                load[from] -= weight;
                load[to] += weight;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
}

/// Branch and bound over the parts of nodes, the heaviest first.
struct Search<'a> {
    graph: &'a Weighted,
    parts: usize,
    limit: u64,
    order: Vec<usize>,
    neighbours: Vec<Vec<(usize, u64)>>,
    part: Vec<Option<usize>>,
    load: Vec<u64>,
    best: Vec<usize>,
    /// How far the best is over the limit, and its cut.
    least: (u64, u64),
    left: u64,
}

impl Search<'_> {
    fn new(graph: &Weighted, parts: usize, limit: u64, best: Vec<usize>) -> Search<'_> {
        let neighbours = graph.neighbours();
        let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
        let edges = |at: usize| neighbours[at].iter().map(|edge| edge.1).sum::<u64>();
        order.sort_by_key(|&at| (Reverse(edges(at)), Reverse(graph.nodes[at]), at));
        let least = (graph.over(&best, parts, limit), graph.cut(&best));
        Search {
            graph,
            parts,
            limit,
            order,
            neighbours,
            part: vec![None; graph.nodes.len()],
            load: vec![0; parts],
            best,
            least,
            left: SEARCH,
        }
    }

    /// Whether all was looked at.
    fn run(&mut self) -> bool {
        self.step(0, 0, 0);
        self.left > 0
    }

    fn step(&mut self, depth: usize, used: usize, cut: u64) {
        self.left = self.left.saturating_sub(1);
        let over = self.load.iter().map(|l| l.saturating_sub(self.limit)).max().unwrap_or(0);
        // The cut and the loads only grow.
        if self.left == 0 || (over, cut) >= self.least {
            return;
        }
        let Some(&at) = self.order.get(depth) else {
            self.least = (over, cut);
            self.best = self.part.iter().map(|part| part.unwrap_or(0)).collect();
            return;
        };
        // Parts are alike until something is in them.
        for to in 0..self.parts.min(used + 1) {
            let more: u64 = self.neighbours[at]
                .iter()
                .filter(|(other, _)| self.part[*other].is_some_and(|part| part != to))
                .map(|edge| edge.1)
                .sum();
            self.part[at] = Some(to);
            self.load[to] += self.graph.nodes[at];
            self.step(depth + 1, used.max(to + 1), cut + more);
            self.load[to] -= self.graph.nodes[at];
            self.part[at] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same everywhere.
    fn random(seed: &mut u64, below: u64) -> u64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    fn graph(seed: &mut u64, nodes: usize, edges: usize) -> Weighted {
        let weights = (0..nodes).map(|_| 1 + random(seed, 20)).collect();
        let end = |seed: &mut u64| random(seed, nodes as u64) as usize;
        let list: Vec<_> =
            (0..edges).map(|_| (end(seed), end(seed), 1 + random(seed, 50))).collect();
        Weighted::new(weights, list)
    }

    /// The least cut of all partitions that keep the limit.
    fn naive(graph: &Weighted, parts: usize, limit: u64) -> Option<u64> {
        let n = graph.nodes.len();
        let all = (0..(parts as u64).pow(n as u32)).map(|mut code| {
            let mut digit = || {
                let part = code % parts as u64;
                code /= parts as u64;
                part as usize
            };
            (0..n).map(|_| digit()).collect::<Vec<_>>()
        });
        let fits = |part: &Vec<usize>| {
            (0..parts).all(|p| {
                let of = part.iter().zip(&graph.nodes).filter(|(q, _)| **q == p);
                of.map(|(_, weight)| weight).sum::<u64>() <= limit
            })
        };
        all.filter(fits).map(|part| graph.cut(&part)).min()
    }

    #[test]
    fn small_graphs_are_cut_as_well_as_can_be() {
        let mut seed = 7;
        for parts in [2, 3] {
            for _ in 0..40 {
                let graph = graph(&mut seed, 8, 14);
                let limit = graph.nodes.iter().sum::<u64>() * 6 / (5 * parts as u64);
                let found = partition(&graph, parts, limit);
                assert!(found.is_exact);
                if let Some(least) = naive(&graph, parts, limit) {
                    assert_eq!(found.cut, least, "{graph:?} {limit}");
                }
            }
        }
    }

    #[test]
    fn what_belongs_together_stays_together() {
        // Four rings of 100 nodes, joined by light edges.
        let ring = |r: usize| (0..100).map(move |i| (r * 100 + i, r * 100 + (i + 1) % 100, 50));
        let joins = (0..4).map(|r| (r * 100, (r + 1) % 4 * 100, 1));
        let graph = Weighted::new(vec![1; 400], (0..4).flat_map(ring).chain(joins));
        let found = partition(&graph, 4, 120);
        assert!(found.cut <= 4 + 4 * 50, "{}", found.cut);
        let load = |p| found.part.iter().filter(|q| **q == p).count();
        assert!((0..4).all(|p| load(p) <= 120));
    }
}
