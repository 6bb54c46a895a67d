//! Acyclic paths of a function, numbered after Ball and Larus ("Efficient Path Profiling", MICRO
//! 1996): path number to blocks and back, and the paths that may be under way at a block.
//!
//! An edge that goes back ends one path and begins another. In the numbering it stands for two
//! edges that are no control flow: one from the entry to its target, with which a path may begin,
//! and one from its source to the exit, with which a path may end. The numbers of the first are in
//! the program's description; the second's is not and is found as the gap that the other edges of
//! the block leave.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockKind {
    /// Where the function begins.
    Entry,
    /// Where it ends: no code.
    Exit,
    #[default]
    Plain,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// As the description has it.
    pub number: u64,
    pub kind: BlockKind,
    /// Source lines of its statements in their order; None where the number of a finished path is
    /// stored.
    pub lines: Vec<Option<u32>>,
}

impl Block {
    /// Where it stores the number of a finished path: an index into the lines.
    pub fn store(&self) -> Option<usize> {
        self.lines.iter().position(Option::is_none)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Indices of blocks.
    pub source: usize,
    pub target: usize,
    /// Ends a path and begins another; then the numbers are those with which the other begins.
    pub restarts: bool,
    /// What the program adds to the number of the path under way, or sets it to.
    pub increment: u64,
    /// What the edge adds to the number of a whole path.
    pub weight: u64,
}

/// A function's control flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub blocks: Vec<Block>,
    pub edges: Vec<Edge>,
}

/// Why the numbers of a description are not those of a numbering. Blocks by number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberingError {
    #[error("{count} blocks are the {what}, not one")]
    Ends { what: &'static str, count: usize },
    #[error("edges that do not go back form a cycle through block {block}")]
    Cycle { block: u64 },
    #[error("an edge goes back to the entry, block {block}")]
    ToEntry { block: u64 },
    #[error("no edge leaves block {block}")]
    DeadEnd { block: u64 },
    #[error("more paths than 2^64 from block {block}")]
    TooMany { block: u64 },
    #[error(
        "the paths from block {block} are numbered with gaps or twice: its edges leave {free} of {paths} numbers to {gaps} ends of paths"
    )]
    Weights { block: u64, paths: u64, free: u64, gaps: u64 },
}

/// What follows a block on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// An edge that does not go back.
    Edge(usize),
    /// The path begins behind this edge (only at the entry).
    Begin(usize),
    /// The path ends with this edge.
    End(usize),
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    first: u64,
    count: u64,
    next: Next,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the function's exit.
    Exit,
    /// With an edge that restarts; where several of one block do so together, the first of them.
    Edge(usize),
    /// It is under way.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The edge that it begins behind; None: at the entry.
    pub begin: Option<usize>,
    /// Blocks in order, the exit left out.
    pub blocks: Vec<usize>,
    /// Edges between them and, at the exit, to it.
    pub edges: Vec<usize>,
    pub end: End,
}

/// Where the number of the path under way fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// In this path, which ends with the block of the position.
    Open(Path),
    /// Behind the end of the last finished path, in the block at this index of its blocks.
    Finished(usize),
}

/// The numbering of a function, rebuilt from its edges and checked.
#[derive(Clone, Debug)]
pub struct Numbering {
    entry: usize,
    exit: usize,
    /// Of each block, sorted by first number; they cover 0 to the number of paths without gap.
    choices: Vec<Vec<Choice>>,
    /// Paths from each block to the end of a path.
    paths: Vec<u64>,
    /// What the program adds to the number of the path under way, up to the block, less what the
    /// edges up to there add to the number of the whole path: the same on every way to the block.
    /// None for blocks that nothing reaches.
    offset: Vec<Option<i128>>,
    /// Whether the increments come to the numbers of the paths; else paths under way cannot be
    /// told.
    pub increments: bool,
    /// Of each edge that restarts, its number among the ends of paths of its source.
    ends: BTreeMap<usize, u64>,
}

/// Blocks in an order in which each comes before those that it leads to, and which edges that
/// restart go back to a block that was on the way to them. Those that do not were cut because there
/// were too many paths.
fn order(function: &Function, entry: usize) -> Result<(Vec<usize>, Vec<bool>), NumberingError> {
    let count = function.blocks.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (i, edge) in function.edges.iter().enumerate() {
        out[edge.source].push(i);
    }
    let mut back = vec![false; function.edges.len()];
    // 0: not met, 1: on the way, 2: done.
    let mut state = vec![0u8; count];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for root in std::iter::once(entry).chain(0..count) {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        stack.push((root, 0));
        while let Some(top) = stack.last_mut() {
            let block = top.0;
            let Some(&e) = out[block].get(top.1) else {
                state[block] = 2;
                stack.pop();
                continue;
            };
            top.1 += 1;
            let edge = function.edges[e];
            match state[edge.target] {
                0 => {
                    state[edge.target] = 1;
                    stack.push((edge.target, 0));
                }
                1 if edge.restarts => back[e] = true,
                _ => {}
            }
        }
    }
    // Over the edges that do not restart alone, which must have no cycle.
    let mut incoming = vec![0usize; count];
    for edge in function.edges.iter().filter(|e| !e.restarts) {
        incoming[edge.target] += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|&b| incoming[b] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(block) = ready.pop() {
        order.push(block);
        for &e in out[block].iter().filter(|&&e| !function.edges[e].restarts) {
            let target = function.edges[e].target;
            incoming[target] -= 1;
            if incoming[target] == 0 {
                ready.push(target);
            }
        }
    }
    match incoming.iter().position(|&n| n > 0) {
        Some(block) => Err(NumberingError::Cycle { block: function.blocks[block].number }),
        None => Ok((order, back)),
    }
}

fn only(function: &Function, kind: BlockKind, what: &'static str) -> Result<usize, NumberingError> {
    let mut found =
        function.blocks.iter().enumerate().filter(|(_, b)| b.kind == kind).map(|(i, _)| i);
    match (found.next(), found.count()) {
        (Some(one), 0) => Ok(one),
        (first, more) => {
            Err(NumberingError::Ends { what, count: more + usize::from(first.is_some()) })
        }
    }
}

/// Sorts the choices of a block and puts those whose number is not known into the gaps, in their
/// order. Gives the number of paths; if they do not fit: the numbers that are free, and paths that
/// want one.
fn place(known: &mut Vec<Choice>, unknown: &[Next]) -> Result<u64, (u64, u64, u64)> {
    let total =
        known.iter().try_fold(unknown.len() as u64, |sum, c| sum.checked_add(c.count)).unwrap_or(0);
    known.sort_by_key(|c| c.first);
    let mut free = Vec::new();
    let mut next = 0u64;
    let mut fits = true;
    for choice in known.iter() {
        fits &= choice.first >= next;
        if choice.first.saturating_sub(next) > unknown.len() as u64 {
            fits = false;
            break;
        }
        free.extend(next..choice.first.max(next));
        next = next.max(choice.first.saturating_add(choice.count));
    }
    if !fits || next > total {
        return Err((total, free.len() as u64, unknown.len() as u64));
    }
    free.extend(next..total);
    if free.len() != unknown.len() {
        return Err((total, free.len() as u64, unknown.len() as u64));
    }
    known.extend(free.iter().zip(unknown).map(|(&first, &next)| Choice { first, count: 1, next }));
    known.sort_by_key(|c| c.first);
    Ok(total)
}

impl Numbering {
    /// Rebuilds the numbering of a function; an error says where its numbers are none.
    pub fn of(function: &Function) -> Result<Numbering, NumberingError> {
        let (blocks, edges) = (&function.blocks, &function.edges);
        let entry = only(function, BlockKind::Entry, "entry")?;
        let exit = only(function, BlockKind::Exit, "exit")?;
        if let Some(edge) = edges.iter().find(|e| e.target == entry) {
            return Err(NumberingError::ToEntry { block: blocks[edge.target].number });
        }
        let (order, back) = order(function, entry)?;
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
        let mut incoming = vec![0usize; blocks.len()];
        for (i, edge) in edges.iter().enumerate() {
            out[edge.source].push(i);
            incoming[edge.target] += 1;
        }
        // A block that was put into an edge that goes back: the number of the edge to it was not
        // set.
        let inserted =
            |b: usize| incoming[b] == 1 && matches!(out[b][..], [e] if edges[e].restarts);
        let mut numbering = Numbering {
            entry,
            exit,
            choices: vec![Vec::new(); blocks.len()],
            paths: vec![0; blocks.len()],
            offset: vec![None; blocks.len()],
            increments: true,
            ends: BTreeMap::new(),
        };
        let order_back = order.iter().rev().copied().filter(|&b| b != entry);
        for block in order_back.chain([entry]) {
            if block == exit {
                numbering.paths[block] = 1;
                continue;
            }
            numbering.number(function, block, &out[block], &back, &inserted)?;
        }
        numbering.find_offsets(function, &order);
        Ok(numbering)
    }

    /// The choices of one block, those of the blocks that it leads to being known.
    fn number(
        &mut self,
        function: &Function,
        block: usize,
        out: &[usize],
        back: &[bool],
        inserted: &dyn Fn(usize) -> bool,
    ) -> Result<(), NumberingError> {
        let edges = &function.edges;
        let number = function.blocks[block].number;
        let (mut known, mut unknown, mut loose) = (Vec::new(), Vec::new(), Vec::new());
        let mut cut = false;
        for &e in out {
            if !edges[e].restarts {
                let choice = Choice {
                    first: edges[e].weight,
                    count: self.paths[edges[e].target],
                    next: Next::Edge(e),
                };
                if inserted(edges[e].target) { loose.push(choice) } else { known.push(choice) }
            } else if back[e] {
                unknown.push(Next::End(e));
            } else if !cut {
                // Edges that were cut at one block end paths together.
                cut = true;
                unknown.push(Next::End(e));
            }
        }
        if block == self.entry {
            known.extend(edges.iter().enumerate().filter(|(_, e)| e.restarts).map(|(e, edge)| {
                Choice { first: edge.weight, count: self.paths[edge.target], next: Next::Begin(e) }
            }));
        }
        if known.is_empty() && unknown.is_empty() && loose.is_empty() {
            return Err(NumberingError::DeadEnd { block: number });
        }
        let sum = known
            .iter()
            .chain(&loose)
            .try_fold(unknown.len() as u64, |sum, c| sum.checked_add(c.count));
        if sum.is_none() {
            return Err(NumberingError::TooMany { block: number });
        }
        // As printed, if that fits; else with the numbers of inserted blocks found, too.
        let mut all: Vec<Choice> = known.iter().chain(&loose).copied().collect();
        let mut placed = place(&mut all, &unknown);
        if placed.is_err() && !loose.is_empty() {
            all = known;
            let mut list: Vec<Next> =
                unknown.iter().copied().chain(loose.iter().map(|c| c.next)).collect();
            list.sort_by_key(|n| match n {
                Next::Edge(e) | Next::Begin(e) | Next::End(e) => *e,
            });
            placed = place(&mut all, &list);
        }
        let paths = placed.map_err(|(paths, free, gaps)| NumberingError::Weights {
            block: number,
            paths,
            free,
            gaps,
        })?;
        for choice in &all {
            if let Next::End(e) = choice.next {
                self.ends.insert(e, choice.first);
            }
        }
        if cut {
            // The others of those that were cut end with the same number.
            let shared = all.iter().find_map(|c| match c.next {
                Next::End(e) if !back[e] => Some(c.first),
                _ => None,
            });
            for &e in out.iter().filter(|&&e| edges[e].restarts && !back[e]) {
                self.ends.insert(e, shared.unwrap_or(0));
            }
        }
        self.choices[block] = all;
        self.paths[block] = paths;
        Ok(())
    }

    /// Whether the increments along each path come to its number: they do if, at every block, what
    /// they differ from the weights by is the same on all ways to it.
    fn find_offsets(&mut self, function: &Function, order: &[usize]) {
        let mut set = |offset: &mut Vec<Option<i128>>, block: usize, value: i128| {
            let known = *offset[block].get_or_insert(value);
            self.increments &= known == value;
        };
        let offset = &mut self.offset;
        offset[self.entry] = Some(0);
        let mut begins: Vec<(usize, i128)> = Vec::new();
        for choice in &self.choices[self.entry] {
            if let Next::Begin(e) = choice.next {
                let edge = function.edges[e];
                begins.push((edge.target, i128::from(edge.increment) - i128::from(choice.first)));
            }
        }
        for (target, value) in begins {
            set(offset, target, value);
        }
        for &block in order {
            let Some(here) = offset[block] else { continue };
            for choice in &self.choices[block] {
                if let Next::Edge(e) = choice.next {
                    let edge = function.edges[e];
                    set(
                        offset,
                        edge.target,
                        here + i128::from(edge.increment) - i128::from(choice.first),
                    );
                }
            }
        }
        // Ends of paths: what is added there is not printed, but never taken away.
        let ends = self
            .ends
            .iter()
            .filter_map(|(&e, &first)| Some(i128::from(first) - offset[function.edges[e].source]?));
        let taken = ends.min().is_some_and(|least| least < 0);
        self.increments &= offset[self.exit].unwrap_or(0) == 0 && !taken;
    }

    /// Number of paths of the function.
    pub fn paths(&self) -> u64 {
        self.paths[self.entry]
    }

    /// Number of the end of a path at this edge that restarts, among the paths of its source; what
    /// the program adds there.
    pub fn end(&self, function: &Function, edge: usize) -> Option<(u64, Option<u64>)> {
        let first = *self.ends.get(&edge)?;
        let offset = self.offset[function.edges[edge].source];
        Some((
            first,
            offset
                .and_then(|o| u64::try_from(i128::from(first) - o).ok())
                .filter(|_| self.increments),
        ))
    }

    /// What the edge adds to the number of a whole path. That of an edge to an inserted block is
    /// not the printed one.
    pub fn weight(&self, function: &Function, edge: usize) -> Option<u64> {
        let Edge { source, restarts, weight, .. } = function.edges[edge];
        if restarts {
            return Some(weight);
        }
        self.choices[source].iter().find(|c| c.next == Next::Edge(edge)).map(|c| c.first)
    }

    /// The path with this number; None if there is none.
    pub fn path(&self, function: &Function, number: u64) -> Option<Path> {
        let mut path =
            Path { begin: None, blocks: vec![self.entry], edges: Vec::new(), end: End::Open };
        let (mut block, mut rest) = (self.entry, number);
        loop {
            let choices = &self.choices[block];
            let choice = choices[choices.partition_point(|c| c.first <= rest).checked_sub(1)?];
            rest -= choice.first;
            if rest >= choice.count {
                return None;
            }
            match choice.next {
                Next::Begin(e) => {
                    path.begin = Some(e);
                    block = function.edges[e].target;
                    path.blocks[0] = block;
                    if block == self.exit {
                        path.end = End::Exit;
                        return Some(path);
                    }
                }
                Next::End(e) => {
                    path.end = End::Edge(e);
                    return Some(path);
                }
                Next::Edge(e) => {
                    block = function.edges[e].target;
                    path.edges.push(e);
                    if block == self.exit {
                        path.end = End::Exit;
                        return Some(path);
                    }
                    path.blocks.push(block);
                }
            }
        }
    }

    /// The number of a path from the weights of its edges, of one under way up to its last block.
    pub fn number_of(&self, function: &Function, path: &Path) -> Option<u64> {
        let begin = path.begin.map_or(0, |e| function.edges[e].weight);
        let end = match path.end {
            End::Edge(e) => *self.ends.get(&e)?,
            _ => 0,
        };
        let edges = path.edges.iter().map(|&e| self.weight(function, e));
        edges.chain([Some(end)]).try_fold(begin, |sum, w| sum.checked_add(w?))
    }

    /// What the program counts along a path from the increments of its edges: at its end the number
    /// of the path.
    pub fn counted(&self, function: &Function, path: &Path) -> Option<u64> {
        let begin = path.begin.map_or(0, |e| function.edges[e].increment);
        let end = match path.end {
            End::Edge(e) => self.end(function, e)?.1?,
            _ => 0,
        };
        path.edges
            .iter()
            .map(|&e| function.edges[e].increment)
            .chain([end])
            .try_fold(begin, u64::checked_add)
    }

    /// The way from the beginning of a path to `block` on which the program has counted to
    /// `counted`: there is at most one.
    fn way(&self, function: &Function, block: usize, counted: u64) -> Option<Path> {
        let number = u64::try_from(i128::from(counted) - self.offset[block]?).ok()?;
        // Behind the block the first choice adds nothing: the number of the way is that of a path.
        let mut path = self.path(function, number)?;
        let at = path.blocks.iter().position(|&b| b == block)?;
        path.blocks.truncate(at + 1);
        path.edges.truncate(at);
        path.end = End::Open;
        (self.number_of(function, &path)? == number).then_some(path)
    }

    /// Where a frame can be that stands at `line` with `counted` as the number of its path under
    /// way; `last` is the last path that it finished.
    pub fn positions(
        &self,
        function: &Function,
        line: u32,
        counted: u64,
        last: Option<&Path>,
    ) -> Vec<Position> {
        let mut found = Vec::new();
        if !self.increments {
            return found;
        }
        let lines = |block: usize| {
            function.blocks[block]
                .lines
                .iter()
                .enumerate()
                .filter(|l| *l.1 == Some(line))
                .map(|l| l.0)
        };
        for block in 0..function.blocks.len() {
            let store = function.blocks[block].store();
            if lines(block).any(|at| store.is_none_or(|s| at < s))
                && let Some(way) = self.way(function, block, counted)
                && way
                    .blocks
                    .iter()
                    .take(way.blocks.len() - 1)
                    .all(|&b| function.blocks[b].store().is_none())
            {
                found.push(Position::Open(way));
            }
        }
        if let (0, Some(last)) = (counted, last) {
            let stores = last.blocks.iter().position(|&b| function.blocks[b].store().is_some());
            for (at, &block) in last.blocks.iter().enumerate().skip(stores.unwrap_or(usize::MAX)) {
                let from = function.blocks[block].store().unwrap_or(0);
                if lines(block).any(|l| l >= from) && last.end == End::Exit {
                    found.push(Position::Finished(at));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(kinds: &[&str], edges: &[(usize, usize, bool, u64, u64)]) -> Function {
        let block = |(number, text): (usize, &&str)| Block {
            number: number as u64,
            kind: match text.chars().next() {
                Some('E') => BlockKind::Entry,
                Some('X') => BlockKind::Exit,
                _ => BlockKind::Plain,
            },
            lines: vec![Some(number as u32)],
        };
        let edge = |&(source, target, restarts, increment, weight)| Edge {
            source,
            target,
            restarts,
            increment,
            weight,
        };
        Function {
            blocks: kinds.iter().enumerate().map(block).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    /// Every path decodes to blocks of its own that count to its number.
    fn round_trip(function: &Function) -> Vec<Vec<usize>> {
        let numbering = Numbering::of(function).unwrap();
        assert!(numbering.increments);
        let all: Vec<Vec<usize>> = (0..numbering.paths())
            .map(|number| {
                let path = numbering.path(function, number).unwrap();
                assert_eq!(numbering.number_of(function, &path), Some(number));
                assert_eq!(numbering.counted(function, &path), Some(number));
                path.blocks
            })
            .collect();
        assert_eq!(numbering.path(function, numbering.paths()), None);
        all
    }

    #[test]
    fn a_loop_that_tests_at_its_end_has_a_block_in_its_back_edge() {
        // do ... while: the block 3 was put into the edge from 1 back to 1, whose number was left 0
        // as that of the edge to 2 is.
        for (to_exit, inserted) in [(0, 1), (1, 0)] {
            let f = function(
                &["E", "b", "c", "i", "X"],
                &[
                    (0, 1, false, 0, 0),
                    (1, 2, false, to_exit, to_exit),
                    (1, 3, false, 0, 0),
                    (3, 1, true, 2, 2),
                    (2, 4, false, 0, 0),
                ],
            );
            let all = round_trip(&f);
            assert_eq!(all.len(), 4);
            assert_eq!(all[to_exit as usize], [0, 1, 2]);
            assert_eq!(all[inserted], [0, 1, 3]);
            assert_eq!(all[2 + inserted], [1, 3]);
        }
    }

    #[test]
    fn edges_that_restart_without_going_back_end_paths_together() {
        // Both edges of block 1 were cut: one path ends there, two begin behind it.
        let f = function(
            &["E", "b", "c", "d", "X"],
            &[
                (0, 1, false, 0, 0),
                (1, 2, true, 1, 1),
                (1, 3, true, 2, 2),
                (2, 4, false, 0, 0),
                (3, 4, false, 0, 0),
            ],
        );
        assert_eq!(round_trip(&f), [vec![0, 1], vec![2], vec![3]]);
    }

    #[test]
    fn parallel_edges_are_paths_of_their_own() {
        let f = function(
            &["E", "b", "X"],
            &[(0, 1, false, 0, 0), (0, 1, false, 1, 1), (1, 2, false, 0, 0)],
        );
        assert_eq!(round_trip(&f), [vec![0, 1], vec![0, 1]]);
    }

    #[test]
    fn numbers_that_are_no_numbering_are_refused() {
        let is = |edges: &[(usize, usize, bool, u64, u64)]| {
            Numbering::of(&function(&["E", "b", "c", "X"], edges)).unwrap_err()
        };
        let good =
            [(0, 1, false, 0, 0), (0, 2, false, 1, 1), (1, 3, false, 0, 0), (2, 3, false, 0, 0)];
        assert!(Numbering::of(&function(&["E", "b", "c", "X"], &good)).is_ok());
        let with = |at: usize, edge| {
            let mut edges = good;
            edges[at] = edge;
            is(&edges)
        };
        assert_eq!(
            with(1, (0, 2, false, 2, 2)),
            NumberingError::Weights { block: 0, paths: 2, free: 0, gaps: 0 }
        );
        assert!(matches!(with(1, (0, 2, false, 0, 0)), NumberingError::Weights { .. }));
        assert!(matches!(
            with(2, (1, 2, true, 0, 7)),
            NumberingError::Weights { block: 0, paths: 3, .. }
        ));
        assert_eq!(with(3, (0, 1, false, 1, 1)), NumberingError::DeadEnd { block: 2 });
        assert_eq!(with(3, (2, 0, true, 1, 1)), NumberingError::ToEntry { block: 0 });
        assert!(matches!(
            is(&[(0, 1, false, 0, 0), (1, 2, false, 0, 0), (2, 1, false, 0, 1)]),
            NumberingError::Cycle { .. }
        ));
        // Increments that do not come to the numbers: whole paths are told, paths under way are
        // not.
        let f = function(&["E", "b", "c", "X"], &[good[0], (0, 2, false, 0, 1), good[2], good[3]]);
        assert!(!Numbering::of(&f).unwrap().increments);
    }

    #[test]
    fn more_paths_than_numbers() {
        // 64 times two ways: 2^64 paths.
        let (mut kinds, mut edges) = (vec!["E"], Vec::new());
        for i in 0..64usize {
            kinds.push("b");
            let weight = 1u64 << (63 - i);
            edges.extend([(i, i + 1, false, 0, 0), (i, i + 1, false, weight, weight)]);
        }
        kinds.push("X");
        edges.push((64, 65, false, 0, 0));
        assert!(matches!(
            Numbering::of(&function(&kinds, &edges)),
            Err(NumberingError::TooMany { .. })
        ));
        let half = edges.split_off(1);
        let f = function(
            &kinds,
            &half
                .iter()
                .copied()
                .filter(|e| e.0 != 0)
                .chain([(0, 1, false, 0, 0)])
                .collect::<Vec<_>>(),
        );
        let numbering = Numbering::of(&f).unwrap();
        assert_eq!(numbering.paths(), 1 << 63);
        let last = numbering.path(&f, (1 << 63) - 1).unwrap();
        assert_eq!(numbering.number_of(&f, &last), Some((1 << 63) - 1));
    }
}
