//! The whole run in a dozen boxes: where data comes from, through which functions it goes, where it
//! ends, and where the steps are spent.
//!
//! `hidden` says by name what is never a box, `facts` which functions may be one; `fold` counts all
//! others with their nearest kept callers, by calling context, so steps stay exact. What has few steps
//! and few bytes is then dropped again and again, by what every detail knows, so boxes are the same at
//! every detail; `order` puts the boxes from top to bottom.

mod calls;
mod display_name;
mod facts;
mod fold;
mod hidden;
mod lines;
mod model;
mod order;

use super::error::GraphError;
use super::facts::Facts;
use crate::id::FunctionId;
use crate::query::problems;
use crate::text::file_name;
use duckdb::Connection;
use facts::{Functions, Outside};
use fold::{Edges, Place, Sum, Tree, weight_of};
use lines::{add_calls, add_users, choose_lines};
use std::collections::{BTreeMap, BTreeSet};

pub use display_name::{distinct_name, is_called, short_name};
pub use model::{BoxRole, Overview, OverviewBox, OverviewLine};

/// Boxes of functions at most, and of places that data comes from or goes to.
const FUNCTIONS: usize = 10;
const PLACES: usize = 2;
/// Functions that several boxes call, where data is known by function only.
const HELPERS: usize = 2;
/// Of a box that is opened: boxes within it, and functions beside it, at most.
const MEMBERS: usize = 8;
const NEIGHBOURS: usize = 5;
/// From so many functions on files come first, where there are so many of them.
const MANY: usize = 300;
const FILES: usize = 4;
/// Functions that a box names of those that are counted with it.
const NAMED: usize = 12;
/// Shares of the steps and of the bytes below both of which a box is dropped.
const FEW_STEPS: f64 = 0.02;
const FEW_BYTES: f64 = 0.04;

/// Which functions are boxes of their own, and which stand for all of their file.
struct Lens {
    /// The box of each function: itself, or the first of its file.
    of: Vec<usize>,
    files: BTreeSet<usize>,
}

impl Lens {
    fn of_functions(functions: &Functions) -> Lens {
        Lens { of: (0..functions.list.len()).collect(), files: BTreeSet::new() }
    }

    /// Files, but for one that is open.
    fn of_files(functions: &Functions, open: Option<usize>) -> Lens {
        let open = open.and_then(|f| functions.list[f].file.as_deref());
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let mut of = Vec::with_capacity(functions.list.len());
        for (i, f) in functions.list.iter().enumerate() {
            let file = f.file.as_deref().filter(|file| Some(*file) != open);
            of.push(file.map_or(i, |file| *first.entry(file).or_insert(i)));
        }
        Lens { of, files: first.into_values().collect() }
    }

    fn place(&self, place: &Place) -> Place {
        match place {
            Place::Function(f) => Place::Function(self.of[*f]),
            place => place.clone(),
        }
    }

    fn boxes(&self, kept: &BTreeSet<usize>) -> BTreeSet<usize> {
        kept.iter().map(|&f| self.of[f]).collect()
    }
}

/// What a picture is of.
struct Part {
    steps: i64,
    /// Boxes that stay whatever they weigh.
    fixed: BTreeSet<usize>,
    most: usize,
}

/// A run, ready to be folded into pictures.
pub struct Folding {
    functions: Functions,
    /// What every detail knows, which says what is a box: so boxes are the same at every detail.
    tree: Tree,
    /// What only call instances know, where data by context was not stored: it says for whom data is.
    exact: Option<Tree>,
    /// Functions that may be boxes.
    candidates: BTreeSet<usize>,
    /// Those that are, in the picture of the whole.
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
        let mut tree = Tree::of_sums(connection, &functions)?;
        let mut exact = match tree.knows_contexts() {
            true => None,
            false => Tree::of_calls(connection, facts, &functions)?,
        };
        if tree.is_empty() {
            tree = exact.take().unwrap_or(tree);
        }
        let plain = |i: &usize| functions.list[*i].is_plain_candidate();
        let candidates = (0..functions.list.len()).filter(plain).collect();
        let (kept, problems) = (BTreeSet::new(), problems(connection)?);
        let mut found = Folding { functions, tree, exact, candidates, kept, problems };
        let lens = Lens::of_functions(&found.functions);
        let list = &found.functions.list;
        let handlers = (0..list.len()).filter(|&f| list[f].handler);
        let fixed: BTreeSet<usize> = found.functions.main.into_iter().chain(handlers).collect();
        let most = FUNCTIONS.max(fixed.len());
        let part = Part { steps: found.functions.steps, fixed, most };
        found.kept = found.select(&lens, found.candidates.clone(), &part);
        Ok(Some(found))
    }

    /// The whole run.
    pub fn overview(&self) -> Overview {
        let lens = Lens::of_functions(&self.functions);
        Overview { problems: self.problems.clone(), ..self.draw(&lens, &self.kept, None) }
    }

    /// The run with what is counted with a box as boxes of their own, and of the others what these
    /// exchange data with. None if nothing of weight is counted with it.
    pub fn opened(&self, function: FunctionId) -> Option<Overview> {
        let of = *self.functions.at.get(&i64::from(function.get()))?;
        let members = self.tree.members(&self.functions, &self.kept, of);
        let steps = self.tree.sums(&self.functions, &self.kept).get(&Place::Function(of))?.steps;
        let fixed = self.kept.clone();
        let part = Part { steps, most: fixed.len() + MEMBERS, fixed };
        let lens = Lens::of_functions(&self.functions);
        let kept = self.select(&lens, self.kept.union(&members).copied().collect(), &part);
        let mut inner: BTreeSet<usize> = kept.difference(&self.kept).copied().collect();
        if inner.is_empty() {
            return None;
        }
        inner.insert(of);
        Some(self.draw(&lens, &kept, Some(&inner)))
    }

    /// The candidates of the files that are boxes of [`Folding::by_file`].
    fn of_files(&self, lens: &Lens) -> BTreeSet<usize> {
        let fixed = self.functions.main.iter().map(|&f| lens.of[f]).collect();
        let part = Part { steps: self.functions.steps, fixed, most: FUNCTIONS };
        self.select(lens, self.candidates.clone(), &part)
    }

    /// The whole run by source files, or images; None where there are few functions, or few files.
    pub fn by_file(&self) -> Option<Overview> {
        if self.functions.ran() < MANY {
            return None;
        }
        let lens = Lens::of_files(&self.functions, None);
        let kept = self.of_files(&lens);
        let enough = lens.boxes(&kept).len() >= FILES;
        enough.then(|| self.draw(&lens, &kept, None))
    }

    /// The functions of a file of [`Folding::by_file`], and of the other files what these exchange data
    /// with. `function`: one of it.
    pub fn opened_file(&self, function: FunctionId) -> Option<Overview> {
        let of = *self.functions.at.get(&i64::from(function.get()))?;
        let files = Lens::of_files(&self.functions, None);
        let kept = self.of_files(&files);
        let lens = Lens::of_files(&self.functions, Some(of));
        let (own, others): (BTreeSet<usize>, BTreeSet<usize>) =
            kept.iter().copied().partition(|&f| files.of[f] == files.of[of]);
        let fixed = lens.boxes(&others);
        let sums = self.tree.sums(&self.functions, &kept);
        let steps =
            own.iter().filter_map(|f| sums.get(&Place::Function(*f))).map(|s| s.steps).sum();
        let part = Part { steps, most: fixed.len() + MEMBERS, fixed };
        let kept = self.select(&lens, kept, &part);
        let inner: BTreeSet<usize> = kept.intersection(&own).copied().collect();
        (!inner.is_empty()).then(|| self.draw(&lens, &kept, Some(&inner)))
    }

    /// What tells most.
    fn finest(&self) -> &Tree {
        self.exact.as_ref().unwrap_or(&self.tree)
    }

    /// Data between boxes, and their figures, by one of the trees.
    fn seen(
        &self,
        tree: &Tree,
        lens: &Lens,
        kept: &BTreeSet<usize>,
    ) -> (Edges, BTreeMap<Place, Sum>) {
        let edges = tree.edges(&self.functions, kept);
        let sums = tree.sums(&self.functions, kept);
        if lens.files.is_empty() {
            return (edges, sums);
        }
        merge(edges, sums, |place| lens.place(place))
    }

    /// The functions that are kept: all of these less, again and again, those of the box with the least.
    fn select(&self, lens: &Lens, mut kept: BTreeSet<usize>, part: &Part) -> BTreeSet<usize> {
        loop {
            let (of, all) = self.tree.traffic(&self.functions, &kept, |place| lens.place(place));
            let sums = self.tree.sums(&self.functions, &kept);
            let (_, sums) = merge(Edges::new(), sums, |place| lens.place(place));
            let score = |&f: &usize| {
                let place = Place::Function(f);
                let steps = sums.get(&place).map_or(0.0, |s| s.steps as f64);
                // What functions of a run-time system keep of files and memory makes none of them a box.
                let own = !self.functions.list[f].is_system();
                let bytes = of.get(&place).copied().filter(|_| own).unwrap_or(0.0);
                (steps / part.steps.max(1) as f64 / FEW_STEPS)
                    .max(bytes / f64::max(all, 1.0) / FEW_BYTES)
            };
            let boxes = lens.boxes(&kept);
            let droppable = boxes.difference(&part.fixed);
            let least = droppable.map(|f| (score(f), *f)).min_by(|a, b| a.0.total_cmp(&b.0));
            match least {
                Some((least, f)) if least < 1.0 || boxes.len() > part.most => {
                    kept.retain(|g| lens.of[*g] != f);
                }
                _ => return kept,
            }
        }
    }

    /// Leaves out what goes to and from functions that several boxes call and that are not drawn; those
    /// that are, and the share of the bytes that is left out.
    fn leave_helpers(&self, edges: &mut Edges, boxes: &BTreeSet<Place>) -> (BTreeSet<Place>, f64) {
        let mut helpers = helpers(edges, boxes);
        // What the dynamic linker writes are addresses, which all read.
        helpers.retain(
            |place| !matches!(place, Place::Shared(at) if self.functions.list.get(*at).is_some_and(|f| f.is_linker())),
        );
        let (mut lost, mut all) = (0.0, 0.0);
        edges.retain(|(from, to), by_via| {
            let shared = [from, to].map(|place| matches!(place, Place::Shared(_)));
            let left = [from, to].map(|place| !helpers.contains(place));
            // What two of them exchange is mostly for one box.
            let between = if shared == [true; 2] { 0.0 } else { weight_of(by_via) };
            all += between;
            let is_left = shared[0] && left[0] || shared[1] && left[1];
            lost += if is_left { between } else { 0.0 };
            !is_left
        });
        (helpers, lost / f64::max(all, 1.0))
    }

    /// The boxes that the functions of several boxes at these ends work for, and how often each box calls them.
    fn users<'a>(
        &self,
        lens: &Lens,
        kept: &BTreeSet<usize>,
        ends: impl Iterator<Item = &'a (Place, Place)>,
    ) -> BTreeMap<Place, BTreeMap<Place, i64>> {
        let shared = |place: &Place| match place {
            Place::Shared(f) => Some(*f),
            _ => None,
        };
        let helpers = ends.flat_map(|(from, to)| [shared(from), shared(to)]).flatten().collect();
        let mut found: BTreeMap<Place, BTreeMap<Place, i64>> = BTreeMap::new();
        for (helper, users) in self.tree.users(&self.functions, kept, &helpers) {
            let of = found.entry(Place::Shared(helper)).or_default();
            for (user, calls) in users {
                *of.entry(lens.place(&user)).or_default() += calls;
            }
        }
        found
    }

    /// Boxes and lines. `inner`: draw these, and what exchanges most data with them; else all.
    fn draw(
        &self,
        lens: &Lens,
        kept: &BTreeSet<usize>,
        inner: Option<&BTreeSet<usize>>,
    ) -> Overview {
        let (mut edges, mut sums) = self.seen(self.finest(), lens, kept);
        let (mut known, readers) = self.seen(&self.tree, lens, kept);
        let boxes = lens.boxes(kept).into_iter().map(Place::Function).collect();
        let users = self.users(lens, kept, edges.keys().chain(known.keys()));
        let inner: Option<BTreeSet<Place>> =
            inner.map(|inner| inner.iter().map(|&f| Place::Function(f)).collect());
        if let Some(inner) = &inner {
            for edges in [&mut edges, &mut known] {
                edges.retain(|ends, _| is_of(ends, inner, &users));
            }
        }
        let (helpers, unattributed) = self.leave_helpers(&mut edges, &boxes);
        self.leave_helpers(&mut known, &boxes);
        // Below the boxes that call them.
        for (helper, users) in users.iter().filter(|(helper, _)| helpers.contains(helper)) {
            let when = users.keys().filter_map(|user| sums.get(user)).map(|sum| sum.when);
            let when = when.fold(0.0, f64::max);
            sums.entry(helper.clone()).or_default().when = when;
        }
        let moved = |output: bool| -> i64 {
            let ends = known.keys().flat_map(|(from, to)| [from, to]);
            let outside = |place: &Place| match place {
                Place::Outside(o @ Outside::Input(_)) if !output => Some(o.clone()),
                Place::Outside(o @ Outside::Output(_)) if output => Some(o.clone()),
                _ => None,
            };
            let all: BTreeSet<Outside> = ends.filter_map(outside).collect();
            all.iter().filter_map(|outside| self.functions.moved.get(outside)).sum()
        };
        let together = (moved(false), moved(true));
        let to = joined(&known, &self.functions.moved);
        let (mut edges, sums) = merge(edges, sums, &to);
        let (known, readers) = merge(known, readers, &to);
        let places = outsides(&known);
        edges.retain(|(a, b), _| {
            [a, b].iter().all(|p| !matches!(p, Place::Outside(_)) || places.contains(p))
        });
        let mut drawn: Vec<Place> = match inner {
            Some(inner) => {
                let beside = neighbours(&edges, &inner);
                inner.into_iter().chain(beside).collect()
            }
            None => {
                // A reader of files that hands on nothing still has its steps.
                let with_steps = |(p, s): (&Place, &Sum)| {
                    (matches!(p, Place::Outside(_)) && s.steps > 0).then(|| p.clone())
                };
                let functions = lens.boxes(kept).into_iter().map(Place::Function);
                functions.chain(readers.iter().filter_map(with_steps)).collect()
            }
        };
        drawn.extend(places.iter().cloned());
        drawn.extend(helpers);
        drawn.sort();
        drawn.dedup();
        order::sort(&mut drawn, &edges, &sums);
        let at: BTreeMap<&Place, usize> = drawn.iter().enumerate().map(|(i, p)| (p, i)).collect();
        let (mut lines, share) = choose_lines(&edges, &at);
        let mut calls = BTreeMap::new();
        for ((a, b), count) in self.tree.calls(&self.functions, kept) {
            let ends = (lens.place(&a), lens.place(&b));
            if ends.0 != ends.1 {
                *calls.entry(ends).or_default() += count;
            }
        }
        add_calls(&calls, &at, &mut lines);
        add_users(&users, &at, &mut lines);
        Overview {
            program: self.functions.program().map_or("program", file_name).to_owned(),
            parts: parts(&drawn, &sums, &self.functions, lens, together),
            lines,
            steps: self.functions.steps,
            functions: self.functions.ran(),
            start_up: sums.get(&Place::StartUp).map_or(0, |s| s.steps),
            unattributed,
            drawn: share,
            each_time: self.functions.data.iter().all(|row| row.flow.unique_bytes.is_none()),
            problems: Vec::new(),
        }
    }
}

/// Whether data is of one of these boxes: it has it, or a function of several boxes has it that works for
/// it and reads or writes files.
fn is_of(
    (from, to): &(Place, Place),
    boxes: &BTreeSet<Place>,
    users: &BTreeMap<Place, BTreeMap<Place, i64>>,
) -> bool {
    let works = |helper: &Place| {
        users.get(helper).is_some_and(|users| users.keys().any(|user| boxes.contains(user)))
    };
    match (from, to) {
        (Place::Outside(Outside::Input(_)), helper @ Place::Shared(_))
        | (helper @ Place::Shared(_), Place::Outside(Outside::Output(_))) => works(helper),
        _ => boxes.contains(from) || boxes.contains(to),
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

/// Many files as one place, named by the one of which most was read or written: by calls, where they are
/// known, for what is read of a small file again and again does not make it the run's input.
fn joined(edges: &Edges, moved: &BTreeMap<Outside, i64>) -> impl Fn(&Place) -> Place + use<> {
    let (mut of, _) = traffic(edges);
    for (place, bytes) in &mut of {
        if let Place::Outside(outside) = place
            && let Some(&moved) = moved.get(outside)
        {
            *bytes = moved as f64;
        }
    }
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
    move |place| match (place, &input, &output) {
        (Place::Outside(Outside::Input(_)), Some(joined), _)
        | (Place::Outside(Outside::Output(_)), _, Some(joined)) => Place::Outside(joined.clone()),
        _ => place.clone(),
    }
}

/// Several places as one.
fn merge(
    edges: Edges,
    sums: BTreeMap<Place, Sum>,
    to: impl Fn(&Place) -> Place,
) -> (Edges, BTreeMap<Place, Sum>) {
    let mut joined = Edges::new();
    for ((from, to_place), by_via) in &edges {
        let ends = (to(from), to(to_place));
        if ends.0 == ends.1 {
            continue;
        }
        let edge = joined.entry(ends).or_default();
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

/// The functions of several boxes that are drawn: those with the most data to and from the boxes, and what
/// reads the inputs and writes the outputs, where no box does.
fn helpers(edges: &Edges, boxes: &BTreeSet<Place>) -> BTreeSet<Place> {
    let is_shared = |place: &Place| matches!(place, Place::Shared(_));
    let (mut of, mut all): (BTreeMap<&Place, f64>, f64) = (BTreeMap::new(), 0.0);
    for ((from, to), by_via) in edges.iter().filter(|((a, b), _)| !(is_shared(a) && is_shared(b))) {
        let bytes = weight_of(by_via);
        all += bytes;
        for (end, other) in [(from, to), (to, from)] {
            if is_shared(end) && boxes.contains(other) {
                *of.entry(end).or_default() += bytes;
            }
        }
    }
    let mut list: Vec<(f64, &Place)> = of.iter().map(|(p, b)| (*b, *p)).collect();
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let large = list.iter().take(HELPERS).filter(|(bytes, _)| *bytes >= FEW_BYTES * all);
    let mut found: BTreeSet<Place> = large.map(|(_, place)| (*place).clone()).collect();
    for output in [false, true] {
        // What goes in or out, by who has it.
        let outside = edges.iter().filter_map(|((from, to), by_via)| match (from, to) {
            (Place::Outside(Outside::Input(_)), place) if !output => {
                Some((weight_of(by_via), place))
            }
            (place, Place::Outside(Outside::Output(_))) if output => {
                Some((weight_of(by_via), place))
            }
            _ => None,
        });
        let outside: Vec<(f64, &Place)> = outside.collect();
        let (shared, told): (Vec<_>, Vec<_>) = outside
            .into_iter()
            .filter(|(_, place)| is_shared(place) || boxes.contains(place))
            .partition(|(_, place)| is_shared(place) && !found.contains(place));
        // Whoever has more than all that is told is not left out.
        let told: f64 = told.into_iter().map(|(bytes, _)| bytes).sum();
        let most = shared.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        found.extend(most.filter(|(bytes, _)| *bytes > told).map(|(_, place)| place.clone()));
    }
    found
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

fn parts(
    drawn: &[Place],
    sums: &BTreeMap<Place, Sum>,
    functions: &Functions,
    lens: &Lens,
    (from_all, to_all): (i64, i64),
) -> Vec<OverviewBox> {
    let none = Sum::default();
    let mut parts: Vec<OverviewBox> = Vec::new();
    for place in drawn {
        let sum = sums.get(place).unwrap_or(&none);
        let mut function = None;
        let (role, full) = match place {
            Place::Function(f) => {
                let found = &functions.list[*f];
                function = Some(found.id);
                match found.file.as_ref().filter(|_| lens.files.contains(f)) {
                    Some(file) => (BoxRole::File, file.clone()),
                    None => (BoxRole::Function, found.name.clone()),
                }
            }
            Place::Shared(f) => {
                let found = &functions.list[*f];
                function = Some(found.id);
                (BoxRole::Helper, found.name.clone())
            }
            Place::Outside(Outside::Input(name)) => (BoxRole::Source, name.clone()),
            Place::Outside(Outside::Output(name)) => (BoxRole::Sink, name.clone()),
            Place::Outside(Outside::Constants) => (BoxRole::Constants, "constants".to_owned()),
            Place::StartUp => continue,
        };
        // Of several as one: of all of them.
        let moved = match place {
            Place::Outside(outside) => {
                let all = match outside {
                    Outside::Input(_) => from_all,
                    Outside::Output(_) => to_all,
                    Outside::Constants => 0,
                };
                let several = Some(all).filter(|&all| all > 0 && full.ends_with(" more"));
                functions.moved.get(outside).copied().or(several)
            }
            _ => None,
        };
        let mut helpers: Vec<(i64, usize)> = sum.helpers.iter().map(|(&f, &s)| (s, f)).collect();
        helpers.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let largest =
            helpers.iter().take(NAMED).map(|h| (short_name(&functions.list[h.1].name), h.0));
        parts.push(OverviewBox {
            role,
            function,
            name: match role {
                BoxRole::Function | BoxRole::Helper => short_name(&full),
                BoxRole::File => file_name(&full).to_owned(),
                _ => full.clone(),
            },
            full,
            moved,
            steps: sum.steps,
            calls: sum.calls,
            helpers: helpers.len(),
            largest: largest.collect(),
        });
    }
    let names: Vec<String> = parts.iter().map(|p| p.name.clone()).collect();
    // Where short names collide, what was left out tells them apart.
    for part in &mut parts {
        if names.iter().filter(|n| **n == part.name).count() > 1 {
            match part.role {
                BoxRole::Function | BoxRole::Helper => {
                    part.name = display_name::distinct_name(&part.full);
                }
                BoxRole::File => part.name = display_name::with_folder(&part.full),
                _ => {}
            }
        }
    }
    parts
}
