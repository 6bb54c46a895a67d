//! The whole run in a dozen boxes: where data comes from, through which functions it goes, where it
//! ends, and where the steps are spent.
//!
//! `never` says by name what is never a box, `facts` which functions may be one; `fold` counts all
//! others with their nearest kept callers, by calling context, so steps stay exact. What has few steps
//! and few bytes is then dropped again and again; `order` puts the boxes from top to bottom.

mod facts;
mod fold;
mod never;
mod order;
mod short;

use super::error::GraphError;
use super::facts::Facts;
use super::model::Via;
use crate::id::FunctionId;
use crate::query::problems;
use crate::text::file_name;
use duckdb::Connection;
use facts::{Functions, Outside};
use fold::{Edges, Place, Sum, Tree, weight_of};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use short::short_name;

/// Boxes of functions at most, and of places that data comes from or goes to.
const FUNCTIONS: usize = 10;
const PLACES: usize = 2;
/// Of a box that is opened: boxes within it, and functions beside it, at most.
const MEMBERS: usize = 8;
const NEIGHBOURS: usize = 5;
/// Shares of the steps and of the bytes below both of which a box is dropped.
const FEW_STEPS: f64 = 0.02;
const FEW_BYTES: f64 = 0.04;
/// The share of the bytes that is drawn, if it takes no more than so many edges a box.
const ENOUGH: f64 = 0.9;
const EDGES_A_BOX: f64 = 1.2;

/// What a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxRole {
    Function,
    /// Where data comes from.
    Source,
    /// Where it goes to.
    Sink,
    /// Constants and initial data.
    Constants,
}

#[derive(Clone, Debug)]
pub struct OverviewBox {
    pub role: BoxRole,
    pub function: Option<FunctionId>,
    /// Short; hostile text.
    pub name: String,
    /// As the database has it; hostile text.
    pub full: String,
    pub steps: i64,
    pub calls: i64,
    /// Functions that are counted with it, and the two with the most steps; hostile text.
    pub helpers: usize,
    pub largest: Vec<String>,
}

/// What goes between two parts.
#[derive(Clone, Debug)]
pub struct OverviewLine {
    pub from: usize,
    pub to: usize,
    /// Bytes there and back by what they go through; none: calls.
    pub there: f64,
    pub back: f64,
    pub via: Option<Via>,
    /// Of a line of calls.
    pub calls: i64,
}

/// A picture of the whole run.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub program: String,
    /// From top to bottom.
    pub parts: Vec<OverviewBox>,
    pub lines: Vec<OverviewLine>,
    pub steps: i64,
    /// Of the run: functions that ran.
    pub functions: usize,
    /// Steps of start-up and of the dynamic linker, in no box.
    pub start_up: i64,
    /// Share of the bytes between boxes that is drawn.
    pub drawn: f64,
    pub problems: Vec<String>,
}

/// A run, ready to be folded into pictures.
pub struct Folding {
    functions: Functions,
    tree: Tree,
    /// Functions that are boxes of the picture of the whole.
    kept: BTreeSet<usize>,
    problems: Vec<String>,
}

impl Folding {
    /// None for what has no steps or no sizes of data.
    pub fn read(connection: &Connection, facts: Facts) -> Result<Option<Folding>, GraphError> {
        if facts.ticks || facts.dependences || facts.paths || facts.only_blocks {
            return Ok(None);
        }
        let mut functions = Functions::read(connection)?;
        if functions.steps == 0 {
            return Ok(None);
        }
        functions.choose();
        let tree = Tree::read(connection, facts, &functions)?;
        let plain = |i: &usize| functions.list[*i].is_plain_candidate();
        let candidates = (0..functions.list.len()).filter(plain).collect();
        let part = Part {
            steps: functions.steps,
            fixed: &functions.main.into_iter().collect(),
            most: FUNCTIONS,
        };
        let kept = select(&tree, &functions, candidates, &part);
        let problems = problems(connection)?;
        Ok(Some(Folding { functions, tree, kept, problems }))
    }

    /// The whole run.
    pub fn overview(&self) -> Overview {
        Overview {
            problems: self.problems.clone(),
            ..draw(&self.tree, &self.functions, &self.kept, None)
        }
    }

    /// The run with what is counted with a box as boxes of their own, and of the others what these
    /// exchange data with. None if nothing of weight is counted with it.
    pub fn opened(&self, function: FunctionId) -> Option<Overview> {
        let of = *self.functions.at.get(&i64::from(function.get()))?;
        let members = self.tree.members(&self.functions, &self.kept, of);
        let steps = self.tree.sums(&self.functions, &self.kept).get(&Place::Function(of))?.steps;
        let fixed = self.kept.clone();
        let most = fixed.len() + MEMBERS;
        let part = Part { steps, fixed: &fixed, most };
        let all = fixed.union(&members).copied().collect();
        let kept = select(&self.tree, &self.functions, all, &part);
        let mut inner: BTreeSet<Place> =
            kept.difference(&fixed).map(|&f| Place::Function(f)).collect();
        if inner.is_empty() {
            return None;
        }
        inner.insert(Place::Function(of));
        Some(draw(&self.tree, &self.functions, &kept, Some(&inner)))
    }
}

/// Bytes that go into and out of each box, and all that go between boxes.
fn traffic(edges: &Edges) -> (BTreeMap<&Place, f64>, f64) {
    let (mut of, mut all) = (BTreeMap::new(), 0.0);
    for ((from, to), by_via) in edges {
        let bytes = weight_of(by_via);
        all += bytes;
        for end in [from, to] {
            *of.entry(end).or_default() += bytes;
        }
    }
    (of, all)
}

/// What a picture is of.
struct Part<'a> {
    steps: i64,
    /// Functions that are boxes whatever they weigh.
    fixed: &'a BTreeSet<usize>,
    most: usize,
}

/// The functions that are kept: all of these less, again and again, the least.
fn select(
    tree: &Tree,
    functions: &Functions,
    mut kept: BTreeSet<usize>,
    part: &Part,
) -> BTreeSet<usize> {
    loop {
        let sums = tree.sums(functions, &kept);
        let edges = tree.edges(functions, &kept);
        let (of, all) = traffic(&edges);
        let score = |&f: &usize| {
            let place = Place::Function(f);
            let steps = sums.get(&place).map_or(0.0, |s| s.steps as f64);
            let bytes = of.get(&place).copied().unwrap_or(0.0);
            (steps / part.steps.max(1) as f64 / FEW_STEPS)
                .max(bytes / f64::max(all, 1.0) / FEW_BYTES)
        };
        let droppable = kept.iter().filter(|f| !part.fixed.contains(f));
        let least = droppable.map(|f| (score(f), *f)).min_by(|a, b| a.0.total_cmp(&b.0));
        match least {
            Some((least, f)) if least < 1.0 || kept.len() > part.most => kept.remove(&f),
            _ => return kept,
        };
    }
}

/// Many files as one place, named by the one that most bytes come from or go to: their edges, and
/// the figures of who reads and writes them.
fn join(edges: Edges, sums: BTreeMap<Place, Sum>) -> (Edges, BTreeMap<Place, Sum>) {
    let (of, _) = traffic(&edges);
    let name = |output: bool| -> Option<Outside> {
        let mut list: Vec<(f64, &String)> = of
            .iter()
            .filter_map(|(place, bytes)| match place {
                Place::Outside(Outside::Input(name)) if !output => Some((*bytes, name)),
                Place::Outside(Outside::Output(name)) if output => Some((*bytes, name)),
                _ => None,
            })
            .collect();
        list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let [(_, first), rest @ ..] = &list[..] else { return None };
        let name = format!("{first}, {} more", rest.len());
        let joined = if output { Outside::Output(name) } else { Outside::Input(name) };
        (list.len() > PLACES).then_some(joined)
    };
    let (input, output) = (name(false), name(true));
    let to = |place: &Place| match (place, &input, &output) {
        (Place::Outside(Outside::Input(_)), Some(joined), _)
        | (Place::Outside(Outside::Output(_)), _, Some(joined)) => Place::Outside(joined.clone()),
        _ => place.clone(),
    };
    let mut joined = Edges::new();
    for ((from, to_place), by_via) in &edges {
        let edge = joined.entry((to(from), to(to_place))).or_default();
        for (&via, &bytes) in by_via {
            *edge.entry(via).or_default() += bytes;
        }
    }
    let mut together: BTreeMap<Place, Sum> = BTreeMap::new();
    for (place, sum) in sums {
        together.entry(to(&place)).or_default().add(sum);
    }
    (joined, together)
}

/// Sources and sinks that are drawn: the largest.
fn outsides(edges: &Edges) -> BTreeSet<Place> {
    let (of, all) = traffic(edges);
    let mut found = BTreeSet::new();
    let kind = |o: &Outside| match o {
        Outside::Input(_) => 0,
        Outside::Output(_) => 1,
        Outside::Constants => 2,
    };
    for wanted in 0..3 {
        let mut list: Vec<(f64, &Place)> = of
            .iter()
            .filter(|(p, _)| matches!(p, Place::Outside(o) if kind(o) == wanted))
            .map(|(p, b)| (*b, *p))
            .collect();
        list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        // The first input and output are the answer to the question, however small.
        let most = if wanted == 2 { 1 } else { PLACES };
        let large = |i: usize, bytes: f64| bytes >= FEW_BYTES * all || i == 0 && wanted < 2;
        let list = list.into_iter().enumerate().take(most);
        found.extend(list.filter(|(i, (b, _))| large(*i, *b)).map(|(_, (_, p))| p.clone()));
    }
    found
}

/// Boxes and lines. `inner`: draw these, and what exchanges most data with them; else all.
fn draw(
    tree: &Tree,
    functions: &Functions,
    kept: &BTreeSet<usize>,
    inner: Option<&BTreeSet<Place>>,
) -> Overview {
    let (mut edges, sums) = join(tree.edges(functions, kept), tree.sums(functions, kept));
    if let Some(inner) = inner {
        edges.retain(|(a, b), _| inner.contains(a) || inner.contains(b));
    }
    let places = outsides(&edges);
    edges.retain(|(a, b), _| {
        [a, b].iter().all(|p| !matches!(p, Place::Outside(_)) || places.contains(p))
    });
    let mut drawn: Vec<Place> = match inner {
        Some(inner) => inner.iter().cloned().chain(neighbours(&edges, inner)).collect(),
        None => {
            // A reader of files that hands on nothing still has its steps.
            let with_steps = |(p, s): (&Place, &Sum)| {
                (matches!(p, Place::Outside(_)) && s.steps > 0).then(|| p.clone())
            };
            let functions = kept.iter().map(|&f| Place::Function(f));
            functions.chain(sums.iter().filter_map(with_steps)).collect()
        }
    };
    drawn.extend(places.iter().cloned());
    drawn.sort();
    drawn.dedup();
    order::sort(&mut drawn, &edges, &sums);
    let at: BTreeMap<&Place, usize> = drawn.iter().enumerate().map(|(i, p)| (p, i)).collect();
    let (mut lines, share) = choose_lines(&edges, &at);
    add_calls(&tree.calls(functions, kept), &at, &mut lines);
    let ran = |f: &&facts::Weighed| f.kind != "pseudo" && f.kind != "stub" && f.calls > 0;
    Overview {
        program: functions.program().map_or("program", file_name).to_owned(),
        parts: parts(&drawn, &sums, functions),
        lines,
        steps: functions.steps,
        functions: functions.list.iter().filter(ran).count(),
        start_up: sums.get(&Place::StartUp).map_or(0, |s| s.steps),
        drawn: share,
        problems: Vec::new(),
    }
}

/// Of the other functions those with the most traffic.
fn neighbours(edges: &Edges, inner: &BTreeSet<Place>) -> Vec<Place> {
    let (of, all) = traffic(edges);
    let other = |p: &&Place| matches!(p, Place::Function(_)) && !inner.contains(p);
    let mut list: Vec<(f64, &Place)> = of
        .iter()
        .filter(|(p, b)| other(p) && **b >= FEW_BYTES * all)
        .map(|(p, b)| (*b, *p))
        .collect();
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    list.into_iter().take(NEIGHBOURS).map(|(_, p)| p.clone()).collect()
}

fn parts(drawn: &[Place], sums: &BTreeMap<Place, Sum>, functions: &Functions) -> Vec<OverviewBox> {
    let none = Sum::default();
    let mut parts: Vec<OverviewBox> = Vec::new();
    for place in drawn {
        let sum = sums.get(place).unwrap_or(&none);
        let mut function = None;
        let (role, full) = match place {
            Place::Function(f) => {
                function = Some(functions.list[*f].id);
                (BoxRole::Function, functions.list[*f].name.clone())
            }
            Place::Outside(Outside::Input(name)) => (BoxRole::Source, name.clone()),
            Place::Outside(Outside::Output(name)) => (BoxRole::Sink, name.clone()),
            Place::Outside(Outside::Constants) => (BoxRole::Constants, "constants".to_owned()),
            Place::StartUp => continue,
        };
        let mut helpers: Vec<(i64, usize)> = sum.helpers.iter().map(|(&f, &s)| (s, f)).collect();
        helpers.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let largest = helpers.iter().take(2).map(|h| short_name(&functions.list[h.1].name));
        parts.push(OverviewBox {
            role,
            function,
            name: if role == BoxRole::Function { short_name(&full) } else { full.clone() },
            full,
            steps: sum.steps,
            calls: sum.calls,
            helpers: helpers.len(),
            largest: largest.collect(),
        });
    }
    let names: Vec<String> = parts.iter().map(|p| p.name.clone()).collect();
    for part in parts.iter_mut().filter(|p| p.role == BoxRole::Function) {
        // Where short names collide, what was left out tells them apart.
        if names.iter().filter(|n| **n == part.name).count() > 1 {
            part.name = short::distinct_name(&part.full);
        }
    }
    parts
}

/// The lines that are drawn of the data between boxes, and the share of its bytes that they have.
fn choose_lines(edges: &Edges, at: &BTreeMap<&Place, usize>) -> (Vec<OverviewLine>, f64) {
    let mut pairs: BTreeMap<(usize, usize), [BTreeMap<Via, f64>; 2]> = BTreeMap::new();
    for ((from, to), by_via) in edges {
        if let (Some(&a), Some(&b)) = (at.get(from), at.get(to)) {
            let pair = pairs.entry((a.min(b), a.max(b))).or_default();
            for (&via, &bytes) in by_via {
                *pair[usize::from(a > b)].entry(via).or_default() += bytes;
            }
        }
    }
    let size = |p: &[BTreeMap<Via, f64>; 2]| weight_of(&p[0]) + weight_of(&p[1]);
    let all: f64 = pairs.values().map(size).sum();
    let mut sorted: Vec<((usize, usize), f64)> = pairs.iter().map(|(&e, p)| (e, size(p))).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let most = (EDGES_A_BOX * at.len() as f64) as usize;
    let (mut wanted, mut sum) = (BTreeSet::new(), 0.0);
    for &(ends, bytes) in sorted.iter().take(most) {
        if sum >= ENOUGH * all {
            break;
        }
        sum += bytes;
        wanted.insert(ends);
    }
    // Each box's largest.
    for node in 0..at.len() {
        let of = |s: &&((usize, usize), f64)| s.0.0 == node || s.0.1 == node;
        if let Some(&(ends, bytes)) = sorted.iter().find(of)
            && bytes > 0.002 * all
            && !sorted.iter().filter(of).any(|s| wanted.contains(&s.0))
        {
            wanted.insert(ends);
        }
    }
    // Of what data comes from and goes to, however small it is.
    for place in at.iter().filter(|(p, _)| matches!(p, Place::Outside(_))).map(|(_, i)| *i) {
        if let Some(s) = sorted.iter().find(|s| s.0.0 == place || s.0.1 == place) {
            wanted.insert(s.0);
        }
    }
    wanted.extend(paths(&pairs, at));
    let mut lines = Vec::new();
    for &(a, b) in &wanted {
        let [down, up] = &pairs[&(a, b)];
        let sum = |m: &BTreeMap<Via, f64>| m.values().fold(0.0, |a, b| a + b);
        let (from, to, there, back) =
            if sum(down) >= sum(up) { (a, b, down, up) } else { (b, a, up, down) };
        let via = there.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|v| *v.0);
        lines.push(OverviewLine { from, to, there: sum(there), back: sum(back), via, calls: 0 });
    }
    let share = wanted.iter().map(|e| size(&pairs[e])).fold(0.0, |a, b| a + b) / f64::max(all, 1.0);
    (lines, share)
}

/// The pairs on the widest ways from each source to a sink: of the widest ones the shortest.
fn paths(
    pairs: &BTreeMap<(usize, usize), [BTreeMap<Via, f64>; 2]>,
    at: &BTreeMap<&Place, usize>,
) -> Vec<(usize, usize)> {
    let is_sink = |i: usize| {
        at.iter().any(|(p, n)| *n == i && matches!(p, Place::Outside(Outside::Output(_))))
    };
    let mut directed: Vec<(f64, usize, usize)> = Vec::new();
    for (&(a, b), [down, up]) in pairs {
        directed
            .extend([(weight_of(down), a, b), (weight_of(up), b, a)].iter().filter(|d| d.0 > 0.0));
    }
    directed.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut found = Vec::new();
    let sources = at.iter().filter(|(p, _)| matches!(p, Place::Outside(Outside::Input(_))));
    for (_, &source) in sources {
        // With more and more edges, the widest first, until there is a way.
        for count in 1..=directed.len() {
            let mut from: BTreeMap<usize, usize> = BTreeMap::from([(source, source)]);
            let mut queue = VecDeque::from([source]);
            let mut end = None;
            while let Some(here) = queue.pop_front().filter(|_| end.is_none()) {
                for &(_, _, next) in directed[..count].iter().filter(|d| d.1 == here) {
                    if let Entry::Vacant(new) = from.entry(next) {
                        new.insert(here);
                        queue.push_back(next);
                        end = end.or(is_sink(next).then_some(next));
                    }
                }
            }
            let Some(mut here) = end else { continue };
            while here != source {
                let before = from[&here];
                found.push((here.min(before), here.max(before)));
                here = before;
            }
            break;
        }
    }
    found
}

/// A box that no data of a caller reaches hangs on the one that calls it most.
fn add_calls(
    calls: &BTreeMap<(Place, Place), i64>,
    at: &BTreeMap<&Place, usize>,
    lines: &mut Vec<OverviewLine>,
) {
    for (place, &to) in at {
        let callers = calls.iter().filter(|((a, b), _)| b == *place && at.contains_key(a));
        let most = callers.max_by_key(|c| *c.1);
        if let Some(((caller, _), &calls)) = most
            && matches!(place, Place::Function(_))
            && !lines.iter().any(|l| l.to == to || l.back > 0.0 && l.from == to)
        {
            let from = at[caller];
            if !lines.iter().any(|l| (l.from, l.to) == (to, from) || (l.from, l.to) == (from, to)) {
                lines.push(OverviewLine { from, to, there: 0.0, back: 0.0, via: None, calls });
            }
        }
    }
}
