//! The sums that a recorder sends, with names.

use super::message::{Numbers, bad};
use super::planner::Planner;
use crate::analysis::stack::CallKind;
use crate::id::FunctionId;
use crate::load::{BuildError, Report};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;

/// Where bytes lie that no section has.
pub const REGION: u32 = 1 << 30;
/// A region that is a stack.
pub const STACK: u32 = 1 << 31;
/// A writer that is no function: what wrote bytes that no step wrote.
const SOURCE: u32 = 1 << 31;
const INITIAL: u32 = SOURCE;
const UNINITIALISED: u32 = SOURCE | 1;
pub const STACK_START: u32 = SOURCE | 2;
/// The section's own bytes.
const OF_PLACE: u32 = SOURCE | 4;
/// From here on those that the kernel's accesses are named by.
pub const KERNEL: u32 = SOURCE | 0x100;

/// Data flow between two functions at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSums {
    pub bytes: u64,
    pub unique_bytes: u64,
    pub transfers: u64,
    pub addresses: u64,
}

impl FlowSums {
    fn of([bytes, unique_bytes, transfers, addresses]: [u64; 4]) -> FlowSums {
        FlowSums { bytes, unique_bytes, transfers, addresses }
    }

    fn add(&mut self, other: FlowSums) {
        self.bytes += other.bytes;
        self.unique_bytes += other.unique_bytes;
        self.transfers += other.transfers;
        self.addresses += other.addresses;
    }
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSums {
    pub calls: u64,
    pub steps_self: u64,
    pub steps_total: u64,
    pub written_bytes: u64,
}

/// Calls between two functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSums {
    pub calls: u64,
    pub steps: u64,
}

/// A chain of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSums {
    pub calls: u64,
    pub steps_self: u64,
}

/// Who wrote or read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowEnd {
    /// By its place in the list of chains.
    Context(usize),
    Named(String),
}

/// What a recorder has added up, by names.
#[derive(Debug, Default)]
pub struct LiveSums {
    /// Writer, reader and `via`.
    pub flows: BTreeMap<(String, String, String), FlowSums>,
    pub functions: BTreeMap<String, FunctionSums>,
    /// The same between contexts, stubs as their callers, without addresses.
    pub context_flows: BTreeMap<(FlowEnd, FlowEnd, String), FlowSums>,
    /// By context its chain of functions, as in `contexts`.
    pub chains: Vec<String>,
    /// Caller (empty: none), callee and kind.
    pub calls: BTreeMap<(String, String, String), CallSums>,
    /// The functions of a chain, outermost first, with `;` between.
    pub contexts: BTreeMap<String, ContextSums>,
    /// Steps by the recording's number of the thread.
    pub threads: BTreeMap<u32, u64>,
    /// Functions of which several contexts count as one.
    pub several: usize,
    /// What the recorder could not follow.
    pub problems: Vec<String>,
    /// All rows have come.
    pub is_whole: bool,
    /// Unique bytes and addresses were left out.
    pub no_unique: bool,
    /// Processes that it is of. An address counts in each of them.
    pub processes: usize,
    /// The database that was made of them, if one was wanted.
    pub report: Option<Result<Report, BuildError>>,
}

/// A function in a context, or in several: who writes and reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    pub function: u32,
    /// What a stub is merged into; of others the function itself.
    pub into: u32,
    /// Of that, by its row from 1 on; 0: none.
    pub context: u32,
    /// It is of several contexts, of which this is the one with the most steps.
    pub several: bool,
    /// Of a stub its instances, and their own steps.
    pub stub: Option<[u64; 2]>,
}

/// Rows as they were sent.
#[derive(Default)]
pub struct Rows {
    /// Writer and reader (actors, sources or sinks) and place; bytes, unique bytes, transfers and addresses.
    pub flows: Vec<([u32; 3], [u64; 4])>,
    /// Calls, steps without and with callees, written bytes.
    pub functions: Vec<(u32, [u64; 4])>,
    /// Caller, callee and kind; calls and steps.
    pub calls: Vec<([u32; 3], [u64; 2])>,
    /// Calls by stubs as their callers', and of stubs that nothing called.
    pub stub_calls: Vec<([u32; 3], [u64; 2])>,
    /// Caller's context, 0: none, and function; calls and steps.
    pub contexts: Vec<([u32; 2], [u64; 2])>,
    /// By number, from 1 on.
    pub actors: Vec<Actor>,
    /// Runs of each segment.
    pub counts: Vec<u64>,
    /// The system's number of each thread, and its steps.
    pub threads: Vec<(u32, u64)>,
    /// Steps, calls, the first stack pointer (0: none), and calls that count as their callers' because there are too many
    /// contexts.
    pub run: [u64; 4],
    pub problems: Vec<String>,
    pub is_whole: bool,
}

fn numbers<const N: usize>(of: &mut Numbers) -> io::Result<[u64; N]> {
    let mut all = [0; N];
    for number in &mut all {
        *number = of.eight()?;
    }
    Ok(all)
}

fn keys<const N: usize>(of: &mut Numbers) -> io::Result<[u32; N]> {
    let mut all = [0; N];
    for number in &mut all {
        *number = of.four()?;
    }
    Ok(all)
}

impl Rows {
    /// A message of rows: the table, then the rows.
    pub fn add(&mut self, of: Numbers) -> io::Result<()> {
        let mut of = of;
        let table = of.four()?;
        while !of.0.is_empty() {
            match table {
                1 => self.flows.push((keys(&mut of)?, numbers(&mut of)?)),
                2 => self.functions.push((of.four()?, numbers(&mut of)?)),
                3 => self.calls.push((keys(&mut of)?, numbers(&mut of)?)),
                4 => self.contexts.push((keys(&mut of)?, numbers(&mut of)?)),
                5 => self.counts.push(of.eight()?),
                6 => self.threads.push((of.four()?, of.eight()?)),
                7 => self.run = numbers(&mut of)?,
                9 => self.stub_calls.push((keys(&mut of)?, numbers(&mut of)?)),
                8 => {
                    let [function, into, context, flags] = keys(&mut of)?;
                    let (several, figures) = (flags & 1 != 0, numbers(&mut of)?);
                    let stub = (flags & 2 != 0).then_some(figures);
                    self.actors.push(Actor { function, into, context, several, stub });
                }
                _ => return Err(bad()),
            }
        }
        Ok(())
    }

    /// What a writer or reader is; None: no function.
    pub fn actor(&self, number: u32) -> Option<Actor> {
        self.actors.get(number.checked_sub(1)? as usize).copied()
    }

    /// Functions of which several contexts count as one.
    pub fn several(&self) -> usize {
        self.actors.iter().filter(|actor| actor.several).count()
    }

    /// Functions and the data between them, with names: what a person looks at while the program runs. There may be a
    /// million of flows between contexts, so they are added up before they have names.
    pub fn looked_at(&self, planner: &Planner) -> LiveSums {
        let mut sums = LiveSums {
            several: self.several(),
            problems: self.problems.clone(),
            is_whole: self.is_whole,
            ..LiveSums::default()
        };
        let mut flows: FxHashMap<[u32; 3], FlowSums> = FxHashMap::default();
        for &([writer, reader, place], numbers) in &self.flows {
            let [writer, reader] =
                [writer, reader].map(|end| self.actor(end).map_or(end, |actor| actor.function));
            flows.entry([writer, reader, place]).or_default().add(FlowSums::of(numbers));
        }
        for ([writer, reader, place], row) in flows {
            let [writer, reader] = [writer, reader].map(|end| source(planner, end, place));
            sums.flows.entry((writer, reader, via(planner, place))).or_default().add(row);
        }
        for &(function, [calls, steps_self, steps_total, written_bytes]) in &self.functions {
            let row = sums.functions.entry(name(planner, function)).or_default();
            row.calls += calls;
            row.steps_self += steps_self;
            row.steps_total += steps_total;
            row.written_bytes += written_bytes;
        }
        sums
    }

    /// All rows with names, those of the same names added up; `by_context`: data between contexts, too.
    pub fn named(&self, planner: &Planner, by_context: bool) -> LiveSums {
        let mut sums = self.looked_at(planner);
        for &([caller, callee, kind], [calls, steps]) in &self.calls {
            let kind = CallKind::ALL.get(kind as usize).map_or("", |kind| kind.name()).to_owned();
            let key = (name(planner, caller), name(planner, callee), kind);
            let row = sums.calls.entry(key).or_default();
            row.calls += calls;
            row.steps += steps;
        }
        let mut chains: Vec<String> = Vec::new();
        for &([parent, function], [calls, steps_self]) in &self.contexts {
            let above = (parent as usize).checked_sub(1).and_then(|at| chains.get(at));
            let chain = match above {
                Some(above) => format!("{above};{}", name(planner, function)),
                None => name(planner, function),
            };
            let row = sums.contexts.entry(chain.clone()).or_default();
            row.calls += calls;
            row.steps_self += steps_self;
            chains.push(chain);
        }
        sums.chains = chains;
        for &(thread, steps) in &self.threads {
            *sums.threads.entry(thread).or_default() += steps;
        }
        for &([writer, reader, place], numbers) in self.flows.iter().filter(|_| by_context) {
            let end = |end: u32| match self.actor(end) {
                Some(Actor { context: 0, into, .. }) => FlowEnd::Named(name(planner, into)),
                Some(actor) => FlowEnd::Context(actor.context as usize - 1),
                None => FlowEnd::Named(source(planner, end, place)),
            };
            let key = (end(writer), end(reader), via(planner, place));
            let row = FlowSums { addresses: 0, ..FlowSums::of(numbers) };
            sums.context_flows.entry(key).or_default().add(row);
        }
        sums
    }
}

/// The name of a function, or of what the kernel's accesses are named by.
fn name(planner: &Planner, number: u32) -> String {
    match number.checked_sub(KERNEL) {
        Some(at) => planner.sources.get(at as usize).cloned().unwrap_or_default(),
        None => FunctionId::new(number).map_or_else(String::new, |id| planner.function(id).0),
    }
}

/// Who wrote or read the bytes.
fn source(planner: &Planner, end: u32, place: u32) -> String {
    match end {
        INITIAL => "<initial registers>".into(),
        UNINITIALISED => "<uninitialised>".into(),
        STACK_START => "<stack start>".into(),
        OF_PLACE => planner.place_source((place as usize).wrapping_sub(1)),
        other => name(planner, other),
    }
}

fn via(planner: &Planner, place: u32) -> String {
    let named = match place {
        0 => "register",
        _ if place & STACK != 0 => "stack",
        _ if place & REGION != 0 => "heap",
        _ => planner.places.get(place as usize - 1).map_or("", |place| place.via),
    };
    named.to_owned()
}
