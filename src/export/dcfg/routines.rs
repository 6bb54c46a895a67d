//! Routines: parts of the graph with a single entry (document, section 2.14), their dominators and
//! loops.

use super::graph::{FlowGraph, SPECIALS, index, number};
use crate::id::FunctionId;
use crate::replay::structure::{immediate_dominators, loops};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

pub struct Routine {
    pub image: i32,
    entry: u32,
    exits: Vec<u32>,
    /// Node and immediate dominator.
    nodes: Vec<(u32, u32)>,
    loops: Vec<RoutineLoop>,
}

struct RoutineLoop {
    header: u32,
    /// Sources of back edges.
    back: Vec<u32>,
    nodes: Vec<u32>,
    /// Header of the loop around it.
    parent: Option<u32>,
}

impl Routine {
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let list = |nodes: &[u32]| {
            nodes.iter().map(|n| (n + 1).to_string()).collect::<Vec<_>>().join(", ")
        };
        let (entry, exits) = (self.entry + 1, list(&self.exits));
        write!(out, ",\n[{entry}, [{exits}], [[\"NODE_ID\", \"IDOM_NODE_ID\"]")?;
        for (node, dominator) in &self.nodes {
            write!(out, ", [{}, {}]", node + 1, dominator + 1)?;
        }
        write!(out, "]")?;
        if !self.loops.is_empty() {
            write!(
                out,
                ",\n[[\"LOOP_HEAD_NODE_ID\", \"LOOP_BACK_EDGE_SOURCE_NODE_IDS\", \"LOOP_NODE_IDS\", "
            )?;
            write!(out, "\"PARENT_LOOP_HEAD_NODE_ID\"]")?;
            for l in &self.loops {
                let (back, nodes) = (list(&l.back), list(&l.nodes));
                write!(out, ", [{}, [{back}], [{nodes}]", l.header + 1)?;
                match l.parent {
                    Some(parent) => write!(out, ", {}]", parent + 1)?,
                    None => write!(out, "]")?,
                }
            }
            write!(out, "]")?;
        }
        write!(out, "]")
    }
}

/// Image and function that a node lies in; None for special nodes. A routine lies in one of them.
type Home = (i32, Option<FunctionId>);

/// The graph as routines see it.
struct Inside {
    home: Vec<Option<Home>>,
    /// By node: where control goes within its function, and where it comes from.
    next: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    /// Nodes that control comes to from elsewhere, and those that it leaves from.
    entries: BTreeSet<u32>,
    leaves: Vec<bool>,
}

impl Inside {
    fn of(graph: &FlowGraph, home: Vec<Option<Home>>) -> Inside {
        let nodes = home.len();
        let (next, before) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        let leaves = vec![false; nodes];
        let mut found = Inside { home, next, before, entries: BTreeSet::new(), leaves };
        for &(source, target, kind) in &graph.edges {
            let (from, to) = (index(source), index(target));
            let home = found.home[from];
            if kind.is_inside() && home.is_some() && home == found.home[to] {
                found.next[from].push(target);
                found.before[to].push(source);
            } else if !kind.is_bypass() {
                if !kind.comes_back() && found.home[to].is_some() {
                    found.entries.insert(target);
                }
                found.leaves[from] |= !kind.is_call();
            }
        }
        found
    }

    fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        SPECIALS..number(self.home.len())
    }

    /// Gives an entry all nodes that it leads to and that have no owner yet.
    fn claim(&self, entry: u32, owner: &mut [Option<u32>]) {
        let mut stack = vec![entry];
        while let Some(n) = stack.pop() {
            for &m in &self.next[index(n)] {
                if owner[index(m)].is_none() {
                    owner[index(m)] = Some(entry);
                    stack.push(m);
                }
            }
        }
    }

    /// By node the entry of its routine.
    fn owners(&mut self) -> Vec<Option<u32>> {
        let mut owner: Vec<Option<u32>> = vec![None; self.home.len()];
        loop {
            owner.fill(None);
            for &entry in &self.entries {
                owner[index(entry)] = Some(entry);
            }
            self.entries.iter().for_each(|&entry| self.claim(entry, &mut owner));
            // Nodes that nothing leads to within their function, such as those behind an unwinding.
            for n in self.nodes() {
                if owner[index(n)].is_none() {
                    owner[index(n)] = Some(n);
                    self.entries.insert(n);
                    self.claim(n, &mut owner);
                }
            }
            // A node that another routine leads to is an entry of its own.
            let led_to = |n: u32| {
                let own = owner[index(n)];
                own != Some(n) && self.before[index(n)].iter().any(|&b| owner[index(b)] != own)
            };
            let new: Vec<u32> = self.nodes().filter(|&n| led_to(n)).collect();
            if new.is_empty() {
                return owner;
            }
            self.entries.extend(new);
        }
    }
}

/// The routines of a graph. `home`: by node, image and function.
pub fn routines(graph: &FlowGraph, home: Vec<Option<Home>>) -> Vec<Routine> {
    let mut inside = Inside::of(graph, home);
    let owner = inside.owners();
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for n in inside.nodes() {
        if let Some(entry) = owner[index(n)] {
            members.entry(entry).or_default().push(n);
        }
    }
    let list = members.into_iter();
    list.map(|(entry, members)| routine(entry, &members, &inside, &owner)).collect()
}

fn routine(entry: u32, members: &[u32], inside: &Inside, owner: &[Option<u32>]) -> Routine {
    let place: FxHashMap<u32, usize> = members.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut exits = Vec::new();
    for (i, &n) in members.iter().enumerate() {
        let next = &inside.next[index(n)];
        edges.extend(next.iter().filter_map(|m| Some((i, *place.get(m)?))));
        if inside.leaves[index(n)] || next.iter().any(|&m| owner[index(m)] != Some(entry)) {
            exits.push(n);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let root = place.get(&entry).copied().unwrap_or(0);
    let dominators = immediate_dominators(members.len(), &edges, root);
    let dominator = |i: usize| dominators[i].map_or(entry, |d| members[d]);
    let nodes = members.iter().enumerate().map(|(i, &n)| (n, dominator(i))).collect();
    let found = loops(members.len(), &edges, root);
    let mut rows = Vec::new();
    for l in found.iter().filter(|l| !l.irreducible) {
        let goes_back = |b: usize| edges.binary_search(&(b, l.header)).is_ok();
        let back = l.body.iter().filter(|&&b| goes_back(b)).map(|&b| members[b]).collect();
        let mut parent = l.parent;
        while let Some(p) = parent
            && found[p].irreducible
        {
            parent = found[p].parent;
        }
        rows.push(RoutineLoop {
            header: members[l.header],
            back,
            nodes: l.body.iter().map(|&b| members[b]).collect(),
            parent: parent.map(|p| members[found[p].header]),
        });
    }
    let image = inside.home[index(entry)].map_or(0, |h| h.0);
    Routine { image, entry, exits, nodes, loops: rows }
}
