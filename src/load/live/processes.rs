//! The sums of several processes as those of one run.

use super::super::finish::executions;
use super::planner::Planner;
use super::rows::{Actor, KERNEL, Rows};
use crate::analysis::access::Insn;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// What a process has of its own.
#[derive(Clone, Default)]
pub struct Part {
    /// The system's numbers of its threads, and their steps.
    pub threads: Vec<(u32, u64)>,
    /// As in [`Rows`].
    pub run: [u64; 4],
    /// Segments that ran, and how often.
    counts: Vec<(u32, u64)>,
}

impl Part {
    pub fn of(planner: &Planner, process: usize, rows: &Rows) -> Part {
        let segments = planner.segments_of(process).into_iter();
        let counts = segments.zip(rows.counts.iter().copied()).filter(|(_, n)| *n > 0).collect();
        Part { threads: rows.threads.clone(), run: rows.run, counts }
    }
}

/// Sums that are made of those of several processes.
#[derive(Default)]
pub struct Merge {
    parts: Vec<Part>,
    contexts: Numbered<[u32; 2]>,
    context_figures: Vec<[u64; 2]>,
    /// Chains of callers with each function once, where it was called last; that of each context, and its first context:
    /// the number of a process, and of the context.
    chains: Numbered<[u32; 2]>,
    chain_of: Vec<u32>,
    first_context: FxHashMap<u32, (usize, u32)>,
    /// By function, what it is merged into, and chain; of several contexts one of those.
    actors: Numbered<(u32, u32, Either)>,
    stubs: Vec<Option<[u64; 2]>>,
    flows: FxHashMap<[u32; 3], [u64; 4]>,
    functions: FxHashMap<u32, [u64; 4]>,
    calls: FxHashMap<[u32; 3], [u64; 2]>,
    stub_calls: FxHashMap<[u32; 3], [u64; 2]>,
    /// By text how often, for those that are counted.
    problems: BTreeMap<String, u64>,
    killed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Either {
    Chain(u32),
    Context(u32),
}

/// Things by number, from 1 on.
struct Numbered<K> {
    all: Vec<K>,
    numbers: FxHashMap<K, u32>,
}

impl<K> Default for Numbered<K> {
    fn default() -> Self {
        Numbered { all: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> Numbered<K> {
    fn number(&mut self, key: K) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(key);
            self.all.len() as u32
        })
    }
}

fn add<K: Eq + Hash, const N: usize>(to: &mut FxHashMap<K, [u64; N]>, key: K, figures: [u64; N]) {
    let sums = to.entry(key).or_insert([0; N]);
    sums.iter_mut().zip(figures).for_each(|(sum, n)| *sum += n);
}

/// What has a number from 1 on; 0 has none.
fn known(numbers: &[u32], n: u32) -> u32 {
    match n {
        0 => 0,
        _ => numbers.get(n as usize - 1).copied().unwrap_or(0),
    }
}

fn rows<K: Ord, V>(of: FxHashMap<K, V>) -> Vec<(K, V)> {
    let mut all: Vec<(K, V)> = of.into_iter().collect();
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    all
}

impl Merge {
    /// Adds what a process has sent when it ended; a process that was killed has not sent all.
    pub fn add(&mut self, planner: &Planner, process: usize, of: &Rows) {
        for problem in &of.problems {
            let counted =
                problem.split_once(' ').and_then(|(n, text)| Some((n.parse().ok()?, text)));
            let (n, text) = counted.unwrap_or((0, problem));
            *self.problems.entry(text.to_owned()).or_default() += n;
        }
        if !of.is_whole {
            self.killed += 1;
            return;
        }
        self.parts.resize(self.parts.len().max(process + 1), Part::default());
        self.parts[process] = Part::of(planner, process, of);
        let mut contexts = Vec::with_capacity(of.contexts.len());
        for &([parent, function], figures) in &of.contexts {
            let number = self.contexts.number([known(&contexts, parent), function]);
            contexts.push(number);
            if number as usize > self.chain_of.len() {
                let above = known(&self.chain_of, known(&contexts, parent));
                let chain = self.straight(above, function);
                self.chain_of.push(chain);
            }
            self.context_figures.resize(self.contexts.all.len(), [0; 2]);
            let sums = &mut self.context_figures[number as usize - 1];
            sums.iter_mut().zip(figures).for_each(|(sum, n)| *sum += n);
        }
        let mut actors = Vec::with_capacity(of.actors.len());
        for actor in &of.actors {
            let &Actor { function, into, context, several, stub } = actor;
            let context = known(&contexts, context);
            let which = match several {
                true => Either::Context(context),
                false => Either::Chain(known(&self.chain_of, context)),
            };
            if let Either::Chain(chain) = which {
                let first = self.first_context.entry(chain).or_insert((process, context));
                if process < first.0 {
                    *first = (process, context);
                }
            }
            let number = self.actors.number((function, into, which));
            actors.push(number);
            self.stubs.resize(self.actors.all.len(), None);
            if let Some(figures) = stub {
                let sums = self.stubs[number as usize - 1].get_or_insert([0; 2]);
                sums.iter_mut().zip(figures).for_each(|(sum, n)| *sum += n);
            }
        }
        // Others are sources and sinks. But for the kernel's they have the same numbers everywhere.
        let sources = &planner.processes[process].sources;
        let end = |n: u32| match n.checked_sub(KERNEL) {
            Some(at) => KERNEL + sources.get(at as usize).copied().unwrap_or(at),
            None => of.actor(n).map_or(n, |_| known(&actors, n)),
        };
        for &([writer, reader, place], figures) in &of.flows {
            add(&mut self.flows, [end(writer), end(reader), place], figures);
        }
        of.functions.iter().for_each(|&(key, figures)| add(&mut self.functions, key, figures));
        of.calls.iter().for_each(|&(key, figures)| add(&mut self.calls, key, figures));
        of.stub_calls.iter().for_each(|&(key, figures)| add(&mut self.stub_calls, key, figures));
    }

    /// A chain and what it calls.
    fn straight(&mut self, chain: u32, function: u32) -> u32 {
        let (mut behind, mut at) = (Vec::new(), chain);
        while at != 0 {
            let [above, called] = self.chains.all[at as usize - 1];
            if called == function {
                // It goes from where it was called before.
                let rest = behind
                    .into_iter()
                    .rev()
                    .fold(above, |chain, called| self.chains.number([chain, called]));
                return self.chains.number([rest, function]);
            }
            behind.push(called);
            at = above;
        }
        self.chains.number([chain, function])
    }

    /// The sums of all, and what each process has of its own, of so many.
    pub fn finish(mut self, processes: usize) -> (Rows, Vec<Part>) {
        self.parts.resize(processes, Part::default());
        let mut problems: Vec<String> =
            self.problems.into_iter().map(|(text, n)| counted(n, text)).collect();
        // Where all were, nothing is there at all, which is said otherwise.
        let killed = self.killed;
        if killed > 0 && killed < processes as u64 {
            problems
                .push(format!("{killed} of {processes} processes sent nothing: they were killed"));
        }
        let sum = |i: usize| self.parts.iter().map(|part| part.run[i]).sum();
        let first_sp = self.parts.iter().map(|part| part.run[2]).find(|sp| *sp != 0);
        let actor = |(&(function, into, which), &stub)| {
            let (context, several) = match which {
                Either::Context(context) => (context, true),
                Either::Chain(chain) => {
                    (self.first_context.get(&chain).map_or(0, |first| first.1), false)
                }
            };
            Actor { function, into, context, several, stub }
        };
        let merged = Rows {
            flows: rows(self.flows),
            functions: rows(self.functions),
            calls: rows(self.calls),
            stub_calls: rows(self.stub_calls),
            contexts: self.contexts.all.iter().copied().zip(self.context_figures).collect(),
            actors: self.actors.all.iter().zip(&self.stubs).map(actor).collect(),
            counts: Vec::new(),
            threads: self.parts.iter().flat_map(|part| &part.threads).copied().collect(),
            run: [sum(0), sum(1), first_sp.unwrap_or(0), sum(3)],
            problems,
            is_whole: self.killed < processes as u64,
        };
        (merged, self.parts)
    }
}

fn counted(n: u64, text: String) -> String {
    if n == 0 { text } else { format!("{n} {text}") }
}

/// The code of all processes, each one's behind that of the one before.
pub struct Code<'a> {
    pub insns: Vec<&'a Insn>,
    /// By instruction: the image that it is of.
    pub images: Vec<Option<usize>>,
    /// By instruction how often it was executed.
    pub executions: Vec<u64>,
    /// Executions of each segment of the planner, in all processes.
    pub counts: Vec<u64>,
    /// By process the number of its first instruction.
    pub first: Vec<usize>,
}

impl<'a> Code<'a> {
    pub fn new(planner: &'a Planner, parts: &[Part]) -> Code<'a> {
        let mut counts = vec![0; planner.segments.len()];
        for &(segment, n) in parts.iter().flat_map(|part| &part.counts) {
            counts[segment as usize] += n;
        }
        if parts.len() == 1 {
            return Code {
                insns: planner.insns.iter().collect(),
                images: planner.insn_images.clone(),
                executions: executions(planner.insns.len(), &planner.segments, &counts),
                counts,
                first: vec![0],
            };
        }
        let (mut insns, mut images) = (Vec::new(), Vec::new());
        let (mut executions, mut first) = (Vec::new(), Vec::new());
        for part in parts {
            first.push(insns.len());
            let mut numbers = FxHashMap::default();
            for &(segment, n) in &part.counts {
                for step in &planner.segments[segment as usize].steps {
                    let at = *numbers.entry(step.insn).or_insert_with(|| {
                        insns.push(&planner.insns[step.insn as usize]);
                        images.push(planner.insn_images[step.insn as usize]);
                        executions.push(0);
                        insns.len() - 1
                    });
                    executions[at] += n;
                }
            }
        }
        Code { insns, images, executions, counts, first }
    }
}
