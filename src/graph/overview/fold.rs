//! Functions that are not kept, folded into their nearest kept callers by calling context.

use super::calls::{CallColumns, context_flows, flows};
use super::facts::{FileUse, Functions, Outside, bytes_of, sink_of, weight};
use crate::graph::contexts::{Context, all_stored};
use crate::graph::error::GraphError;
use crate::graph::facts::Facts;
use crate::graph::model::{NodeId, Via};
use crate::graph::rows::DataRow;
use crate::id::FunctionId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A chain of functions that may be boxes, each at most once: where it was called last. So whatever is
/// kept of them, the last that is kept is the nearest caller that has a box.
struct Chain {
    parent: Option<usize>,
    /// None: of start-up, before any function that may be a box.
    function: Option<usize>,
    steps: i64,
    calls: i64,
    /// Sum of steps times when they were, for the mean.
    when: f64,
}

/// An end of a flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Chain(usize),
    /// A function in all its contexts: sums by function do not tell in which.
    Shared(usize),
    Outside(Outside),
}

struct Passed {
    from: End,
    to: End,
    via: Via,
    bytes: f64,
}

/// What a box stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Before any function that is kept.
    StartUp,
    Function(usize),
    /// A function that several boxes call: its data is known, but not which of them it is for.
    Shared(usize),
    Outside(Outside),
}

/// A box's figures.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub steps: i64,
    pub calls: i64,
    /// Mean of when its steps were.
    pub when: f64,
    /// Functions that were folded into it, with their steps.
    pub helpers: BTreeMap<usize, i64>,
}

impl Sum {
    /// Takes in the figures of another place.
    pub fn add(&mut self, other: Sum) {
        let steps = self.steps + other.steps;
        let weighed = self.when * self.steps as f64 + other.when * other.steps as f64;
        self.when = if steps == 0 { self.when + other.when } else { weighed / steps as f64 };
        self.steps = steps;
        self.calls += other.calls;
        for (function, steps) in other.helpers {
            *self.helpers.entry(function).or_default() += steps;
        }
    }
}

/// Of calls or contexts, each with its function and its caller, which comes before it: those without a caller that are
/// no thread's begin, but start-up's. The first, the dynamic linker's, and what has led to `main`.
fn roots_of_start(
    functions: &Functions,
    list: impl Iterator<Item = (Option<usize>, Option<usize>)>,
) -> BTreeSet<usize> {
    let mut root: Vec<usize> = Vec::new();
    let mut found = BTreeSet::new();
    for (i, (function, caller)) in list.enumerate() {
        let of = caller.and_then(|caller| root.get(caller)).copied().unwrap_or(i);
        root.push(of);
        let linker = of == i && function.is_some_and(|f| functions.list[f].is_linker());
        if i == 0 || linker || function.is_some() && function == functions.main {
            found.insert(of);
        }
    }
    found
}

fn nowhere() -> Chain {
    Chain { parent: None, function: None, steps: 0, calls: 0, when: 0.0 }
}

/// What a function did in a context.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    steps: i64,
    calls: i64,
}

impl Ran {
    fn add(&mut self, steps: i64, calls: i64) {
        self.steps += steps;
        self.calls += calls;
    }
}

/// Bytes from one box to another, by via.
pub type Edges = BTreeMap<(Place, Place), BTreeMap<Via, f64>>;

/// Bytes as boxes are weighed by them.
pub fn weight_of(by_via: &BTreeMap<Via, f64>) -> f64 {
    by_via.iter().fold(0.0, |sum, (&via, &bytes)| sum + weight(via, bytes))
}

/// Call instances from which on they are not gone through one by one: that takes a second a million,
/// and the first picture of a run is not to wait for it.
const MANY_CALLS: i64 = 2_000_000;

pub struct Tree {
    contexts: Vec<Chain>,
    /// The context of each candidate called from each context.
    below: FxHashMap<(usize, usize), usize>,
    /// Each function in each context.
    within: BTreeMap<(usize, usize), Ran>,
    flows: Vec<Passed>,
    /// Calls from context to context.
    calls: BTreeMap<(usize, usize), i64>,
    /// Contexts that each function ran in, of which data is known by function only.
    of_function: BTreeMap<usize, BTreeSet<usize>>,
    /// Functions that ran in other contexts, too: in those that the build left out, because there were too many
    /// or they were too deep.
    elsewhere: BTreeSet<usize>,
    /// Of threads that the program began, before any function that may be a box.
    thread: Option<usize>,
    knows_contexts: bool,
}

impl Tree {
    /// By what every detail knows: stored contexts, and data by function.
    pub fn of_sums(connection: &Connection, functions: &Functions) -> Result<Tree, GraphError> {
        let mut tree = Tree::begin(functions);
        let of_context = tree.add_contexts(&all_stored(connection)?, functions);
        tree.knows_contexts = tree.add_data(connection, &of_context, functions)?;
        if !tree.knows_contexts {
            tree.add_data_of_functions(functions);
            tree.add_sinks(functions);
        }
        tree.sum_flows();
        Ok(tree)
    }

    /// Whether it says for whom functions of several boxes work.
    pub fn knows_contexts(&self) -> bool {
        self.knows_contexts
    }

    /// By call instances, where they are kept and not too many.
    pub fn of_calls(
        connection: &Connection,
        facts: Facts,
        functions: &Functions,
    ) -> Result<Option<Tree>, GraphError> {
        let calls = functions.list.iter().map(|f| f.calls).sum::<i64>();
        if !facts.instances || calls > MANY_CALLS {
            return Ok(None);
        }
        let mut tree = Tree::begin(functions);
        tree.add_calls(connection, functions)?;
        tree.add_sinks(functions);
        tree.sum_flows();
        Ok(Some(tree))
    }

    fn begin(functions: &Functions) -> Tree {
        let mut tree = Tree {
            contexts: vec![nowhere()],
            below: FxHashMap::default(),
            within: BTreeMap::new(),
            flows: Vec::new(),
            calls: BTreeMap::new(),
            of_function: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            thread: None,
            knows_contexts: false,
        };
        if let Some(main) = functions.main.filter(|&main| functions.list[main].candidate) {
            // Whoever began a thread is a helper of `main`, if it is no box.
            tree.contexts.push(Chain { function: Some(main), ..nowhere() });
            tree.thread = Some(tree.contexts.len() - 1);
        }
        tree
    }

    /// Whether it has no steps: contexts are stored of traces with steps.
    pub fn is_empty(&self) -> bool {
        self.within.is_empty()
    }

    fn add_calls(
        &mut self,
        connection: &Connection,
        functions: &Functions,
    ) -> Result<(), GraphError> {
        let calls = CallColumns::read(connection)?;
        let mut within: FxHashMap<(usize, usize), Ran> = FxHashMap::default();
        let at = |id: i32| functions.at.get(&i64::from(id)).copied();
        let functions_of = calls.function.iter().map(|&id| at(id));
        let above = calls.parent.iter().map(|&p| usize::try_from(p).ok().filter(|&p| p > 0));
        let starts = roots_of_start(functions, functions_of.zip(above));
        // The context of each call; none is of start-up. Who calls has a smaller id.
        let mut of_call: Vec<usize> = vec![0];
        for call in 1..calls.function.len() {
            let steps = calls.steps[call];
            let parent = usize::try_from(calls.parent[call]).ok().filter(|&p| p > 0);
            let parent = parent.and_then(|p| of_call.get(p)).copied();
            let root = if call == 1 || starts.contains(&call) { 0 } else { self.root_of_thread() };
            let parent = parent.unwrap_or(root);
            let function = at(calls.function[call]);
            // Whom a handler interrupts has not called it.
            let begins = calls.handler[call] && function.is_some_and(|f| functions.list[f].handler);
            let parent = if begins { 0 } else { parent };
            let at = match function {
                Some(f) if functions.list[f].candidate => self.below(parent, f, functions),
                _ => parent,
            };
            of_call.push(at);
            let context = &mut self.contexts[at];
            context.steps += steps;
            context.calls += i64::from(context.function == function);
            context.when += steps as f64 * calls.begin[call] as f64;
            if at != parent {
                *self.calls.entry((parent, at)).or_default() += 1;
            }
            if let Some(f) = function {
                within.entry((at, f)).or_default().add(steps, 1);
            }
        }
        self.within.extend(within);
        for row in &flows(connection, &of_call)? {
            self.add_flow(functions, row, |id| match id {
                NodeId::Listed(place) => usize::try_from(place).ok().map(|p| End::Chain(p - 1)),
                _ => None,
            });
        }
        Ok(())
    }

    /// What a thread's first function is below.
    fn root_of_thread(&self) -> usize {
        self.thread.unwrap_or(0)
    }

    /// The context of a candidate called from a context. All of one that reads or writes files is its own.
    fn below(&mut self, parent: usize, function: usize, functions: &Functions) -> usize {
        if let Some(&known) = self.below.get(&(parent, function)) {
            return known;
        }
        let is_plain = |f: usize| functions.list[f].role == FileUse::Plain;
        let at = match self.contexts[parent].function {
            Some(f) if !is_plain(f) => parent,
            _ => match self.called_since(parent, function) {
                None => self.add_below(parent, function),
                Some((first, since)) => match self.contexts[first].parent {
                    Some(above) if !since.is_empty() => {
                        let chain = since.into_iter().rev();
                        let at = chain.fold(above, |at, f| self.below(at, f, functions));
                        self.below(at, function, functions)
                    }
                    // It has called itself, or a thread began in `main`.
                    _ => first,
                },
            },
        };
        self.below.insert((parent, function), at);
        at
    }

    /// Of a function in a chain: its context, and the functions called since, the last first.
    fn called_since(&self, chain: usize, function: usize) -> Option<(usize, Vec<usize>)> {
        let mut since = Vec::new();
        let mut at = Some(chain);
        while let Some(i) = at {
            let context = &self.contexts[i];
            if context.function == Some(function) {
                return Some((i, since));
            }
            since.extend(context.function);
            at = context.parent;
        }
        None
    }

    fn add_below(&mut self, parent: usize, function: usize) -> usize {
        self.contexts.push(Chain { parent: Some(parent), function: Some(function), ..nowhere() });
        self.contexts.len() - 1
    }

    /// Steps and calls by the contexts that the build stored, which is exact. Gives the chain of each.
    fn add_contexts(&mut self, list: &[Context], functions: &Functions) -> Vec<usize> {
        let function =
            |context: &Context| functions.at.get(&i64::from(context.function_id.get())).copied();
        let starts = roots_of_start(
            functions,
            list.iter().map(|context| (function(context), context.parent)),
        );
        let mut of: Vec<usize> = Vec::with_capacity(list.len());
        let mut calls: FxHashMap<usize, i64> = FxHashMap::default();
        for (i, context) in list.iter().enumerate() {
            let root = if starts.contains(&i) { 0 } else { self.root_of_thread() };
            let parent = context.parent.map_or(root, |parent| of[parent]);
            let function = function(context);
            let begins = function.is_some_and(|f| functions.list[f].handler);
            let parent = if begins { 0 } else { parent };
            let at = match function {
                Some(f) if functions.list[f].candidate => self.below(parent, f, functions),
                _ => parent,
            };
            of.push(at);
            let chain = &mut self.contexts[at];
            chain.steps += context.steps_self;
            chain.calls += if chain.function == function { context.calls } else { 0 };
            chain.when += context.steps_self as f64 * i as f64;
            if at != parent {
                *self.calls.entry((parent, at)).or_default() += context.calls;
            }
            if let Some(f) = function {
                self.within.entry((at, f)).or_default().add(context.steps_self, context.calls);
                self.of_function.entry(f).or_default().insert(at);
                *calls.entry(f).or_default() += context.calls;
            }
        }
        self.elsewhere = calls
            .into_iter()
            .filter(|&(f, n)| n < functions.list[f].calls)
            .map(|(f, _)| f)
            .collect();
        of
    }

    /// Data by the contexts that the build stored, where it did: gives whether there is any.
    fn add_data(
        &mut self,
        connection: &Connection,
        of_context: &[usize],
        functions: &Functions,
    ) -> Result<bool, GraphError> {
        let rows = context_flows(connection, |end| match end {
            0.. => {
                let at = usize::try_from(end).ok()?.checked_sub(1)?;
                of_context.get(at).map(|&chain| NodeId::listed(chain))
            }
            id => FunctionId::from_column(id.checked_neg()?).map(NodeId::Function),
        })?;
        for row in &rows {
            let end = |id: NodeId| match id {
                NodeId::Listed(place) => usize::try_from(place).ok().map(|p| End::Chain(p - 1)),
                _ => {
                    let at = functions.index(id)?;
                    (functions.list[at].kind != "pseudo").then_some(End::Shared(at))
                }
            };
            let sink = || sink_of(&functions.list[functions.index(row.reader)?].name);
            let to = end(row.reader).or_else(|| sink().map(End::Outside));
            if let Some(to) = to {
                self.add_flow_to(functions, row, end, to);
            }
        }
        Ok(!rows.is_empty())
    }

    /// Data by function. It is a context's where its function has but one, or all its contexts are counted with
    /// one box.
    fn add_data_of_functions(&mut self, functions: &Functions) {
        self.add_stubs(functions);
        for row in &functions.data {
            self.add_flow(functions, row, |id| {
                let function = functions.index(id)?;
                (functions.list[function].kind != "pseudo").then_some(End::Shared(function))
            });
        }
    }

    /// Stubs are in no context: they run where their callers do.
    fn add_stubs(&mut self, functions: &Functions) {
        let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for row in &functions.calls {
            if let (Some(caller), Some(stub)) =
                (functions.index(row.caller), functions.index(row.callee))
                && !self.of_function.contains_key(&stub)
                && let Some(contexts) = self.of_function.get(&caller)
            {
                found.entry(stub).or_default().extend(contexts);
                if self.elsewhere.contains(&caller) {
                    self.elsewhere.insert(stub);
                }
            }
        }
        self.of_function.extend(found);
    }

    fn add_flow(
        &mut self,
        functions: &Functions,
        row: &DataRow,
        context: impl Fn(NodeId) -> Option<End>,
    ) {
        if let Some(to) = context(row.reader) {
            self.add_flow_to(functions, row, context, to);
        }
    }

    fn add_flow_to(
        &mut self,
        functions: &Functions,
        row: &DataRow,
        context: impl Fn(NodeId) -> Option<End>,
        to: End,
    ) {
        let pseudo = |id: NodeId| match id {
            NodeId::Pseudo(id) => Some(i64::from(id.0.get())),
            NodeId::Function(id) => Some(i64::from(id.get())),
            _ => None,
        };
        let source = || {
            let f = &functions.list[*functions.at.get(&pseudo(row.writer)?)?];
            functions.source(&f.name).filter(|_| f.kind == "pseudo")
        };
        let from = context(row.writer).or_else(|| source().map(End::Outside));
        if let Some(from) = from {
            let bytes = bytes_of(row);
            self.flows.push(Passed { from, to, via: row.flow.via, bytes });
        }
    }

    /// What the kernel read, which is known by function at every detail.
    fn add_sinks(&mut self, functions: &Functions) {
        let mut ran: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &(context, f) in self.within.keys() {
            ran.entry(f).or_default().insert(context);
        }
        for row in &functions.data {
            let Some(reader) = functions.index(row.reader).map(|i| &functions.list[i]) else {
                continue;
            };
            let Some(to) = sink_of(&reader.name) else { continue };
            let Some(writer) = functions.index(row.writer) else { continue };
            let from = match functions.source(&functions.list[writer].name) {
                Some(source) => End::Outside(source),
                None => {
                    if let Some(contexts) = ran.remove(&writer) {
                        self.of_function.entry(writer).or_default().extend(contexts);
                    }
                    if !self.of_function.contains_key(&writer) {
                        continue;
                    }
                    End::Shared(writer)
                }
            };
            let (to, bytes) = (End::Outside(to), bytes_of(row));
            self.flows.push(Passed { from, to, via: row.flow.via, bytes });
        }
    }

    /// One flow for all of the same ends and place.
    fn sum_flows(&mut self) {
        let mut sums: BTreeMap<(End, End, Via), f64> = BTreeMap::new();
        for flow in self.flows.drain(..) {
            *sums.entry((flow.from, flow.to, flow.via)).or_default() += flow.bytes;
        }
        let flow = |((from, to, via), bytes)| Passed { from, to, via, bytes };
        self.flows = sums.into_iter().map(flow).collect();
    }

    /// The box of each context where these functions are kept.
    fn places(&self, functions: &Functions, kept: &BTreeSet<usize>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let above = || context.parent.map_or(Place::StartUp, |p| places[p].clone());
            let place = match context.function {
                Some(f) if kept.contains(&f) => Place::Function(f),
                Some(f) => match functions.list[f].role {
                    FileUse::Reads => Place::Outside(Outside::Input("input".into())),
                    FileUse::Writes => Place::Outside(Outside::Output("output".into())),
                    FileUse::Plain => above(),
                },
                None => above(),
            };
            places.push(place);
        }
        places
    }

    /// Functions that may be boxes and are counted with this one.
    pub fn members(
        &self,
        functions: &Functions,
        kept: &BTreeSet<usize>,
        of: usize,
    ) -> BTreeSet<usize> {
        let places = self.places(functions, kept);
        let ran = self.contexts.iter().zip(&places).filter(|c| c.0.steps > 0);
        let within = ran.filter(|c| *c.1 == Place::Function(of));
        let other = |f: &usize| !kept.contains(f) && functions.list[*f].is_plain_candidate();
        within.filter_map(|c| c.0.function).filter(other).collect()
    }

    /// Boxes with their figures.
    pub fn sums(&self, functions: &Functions, kept: &BTreeSet<usize>) -> BTreeMap<Place, Sum> {
        let places = self.places(functions, kept);
        let mut sums: BTreeMap<Place, Sum> = BTreeMap::new();
        for (context, place) in self.contexts.iter().zip(&places) {
            let sum = sums.entry(place.clone()).or_default();
            sum.steps += context.steps;
            sum.when += context.when;
            if matches!((place, context.function), (Place::Function(a), Some(b)) if *a == b) {
                sum.calls += context.calls;
            }
        }
        for (&(context, f), ran) in &self.within {
            let place = &places[context];
            if *place != Place::Function(f)
                && functions.list[f].kind != "stub"
                && let Some(sum) = sums.get_mut(place)
            {
                *sum.helpers.entry(f).or_default() += ran.steps;
            }
        }
        sums.values_mut().for_each(|s| s.when /= s.steps.max(1) as f64);
        sums
    }

    /// Data between boxes.
    pub fn edges(&self, functions: &Functions, kept: &BTreeSet<usize>) -> Edges {
        let places = self.places(functions, kept);
        let place = |end: &End| match end {
            End::Chain(i) => places[*i].clone(),
            End::Shared(f) => self.place_of(*f, &places),
            End::Outside(outside) => Place::Outside(outside.clone()),
        };
        let mut edges = Edges::new();
        for flow in &self.flows {
            let (from, to) = (place(&flow.from), place(&flow.to));
            if from != to && from != Place::StartUp && to != Place::StartUp {
                *edges.entry((from, to)).or_default().entry(flow.via).or_default() += flow.bytes;
            }
        }
        edges
    }

    /// Bytes that go into and out of each box, and all that go between boxes, as boxes are weighed: those of
    /// a function that several boxes call are shared among these by its steps there.
    pub fn traffic(
        &self,
        functions: &Functions,
        kept: &BTreeSet<usize>,
        lens: impl Fn(&Place) -> Place,
    ) -> (BTreeMap<Place, f64>, f64) {
        let mut known: BTreeMap<Place, usize> = BTreeMap::from([(Place::StartUp, 0)]);
        let mut number = |place: Place| {
            let next = known.len();
            *known.entry(place).or_insert(next)
        };
        let places = self.places(functions, kept);
        let places: Vec<usize> = places.iter().map(|place| number(lens(place))).collect();
        // A run-time system's functions are boxes only for what is known to be theirs.
        let system = kept.iter().filter(|&&f| functions.list[f].is_system());
        let system: BTreeSet<usize> = system.map(|&f| number(lens(&Place::Function(f)))).collect();
        // Each end's boxes with its shares of them.
        let mut ends: BTreeMap<&End, Vec<(usize, f64)>> = BTreeMap::new();
        for end in self.flows.iter().flat_map(|flow| [&flow.from, &flow.to]) {
            ends.entry(end).or_insert_with(|| match end {
                End::Chain(i) => vec![(places[*i], 1.0)],
                End::Outside(outside) => vec![(number(Place::Outside(outside.clone())), 1.0)],
                End::Shared(f) => self.shares(*f, &places),
            });
        }
        let (mut of, mut all) = (vec![0.0; known.len()], 0.0);
        for flow in &self.flows {
            let (from, to) = (&ends[&flow.from], &ends[&flow.to]);
            // What two of several boxes exchange is mostly for one box.
            if from.len() > 1 && to.len() > 1 {
                continue;
            }
            let bytes = weight(flow.via, flow.bytes);
            for (&(a, of_a), &(b, of_b)) in from.iter().flat_map(|a| to.iter().map(move |b| (a, b)))
            {
                if a != b && a > 0 && b > 0 {
                    let part = bytes * of_a * of_b;
                    all += part;
                    of[a] += if of_a < 1.0 && system.contains(&a) { 0.0 } else { part };
                    of[b] += if of_b < 1.0 && system.contains(&b) { 0.0 } else { part };
                }
            }
        }
        (known.into_iter().map(|(place, number)| (place, of[number])).collect(), all)
    }

    /// The boxes that a function is counted with, by its steps in each.
    fn shares(&self, function: usize, places: &[usize]) -> Vec<(usize, f64)> {
        let mut found: BTreeMap<usize, f64> = BTreeMap::new();
        for &at in self.of_function.get(&function).into_iter().flatten() {
            let steps = self.within.get(&(at, function)).map_or(0.0, |ran| ran.steps as f64);
            // Stubs have their steps in no context.
            *found.entry(places[at]).or_default() += f64::max(steps, 1.0);
        }
        let all: f64 = found.values().sum();
        found.into_iter().map(|(place, steps)| (place, steps / all)).collect()
    }

    /// The box that a function is counted with in all its contexts; where there are several, itself.
    fn place_of(&self, function: usize, places: &[Place]) -> Place {
        let mut found =
            self.of_function.get(&function).into_iter().flatten().map(|&at| &places[at]);
        match found.next() {
            Some(first)
                if found.all(|place| place == first)
                    && (*first == Place::Function(function)
                        || !self.elsewhere.contains(&function)) =>
            {
                first.clone()
            }
            _ => Place::Shared(function),
        }
    }

    /// The boxes that functions of several boxes are counted with, and how often each was called there.
    pub fn users(
        &self,
        functions: &Functions,
        kept: &BTreeSet<usize>,
        helpers: &BTreeSet<usize>,
    ) -> BTreeMap<usize, BTreeMap<Place, i64>> {
        let places = self.places(functions, kept);
        let mut found: BTreeMap<usize, BTreeMap<Place, i64>> = BTreeMap::new();
        for (&(context, f), ran) in self.within.iter().filter(|((_, f), _)| helpers.contains(f)) {
            if places[context] != Place::StartUp {
                *found.entry(f).or_default().entry(places[context].clone()).or_default() +=
                    ran.calls;
            }
        }
        found
    }

    /// Calls between boxes.
    pub fn calls(
        &self,
        functions: &Functions,
        kept: &BTreeSet<usize>,
    ) -> BTreeMap<(Place, Place), i64> {
        let places = self.places(functions, kept);
        let mut calls = BTreeMap::new();
        for (&(a, b), &count) in &self.calls {
            if places[a] != places[b] && places[a] != Place::StartUp {
                *calls.entry((places[a].clone(), places[b].clone())).or_default() += count;
            }
        }
        calls
    }
}
