//! A run by functions: what plans are made of. Sums only, so that a plan costs the same for any
//! length of the run.

use crate::graph::Via;
use crate::id::FunctionId;
use crate::query::each;
use crate::replay::structure::{components, immediate_dominators};
use crate::views::ViewError;
use crate::views::start_up::StartUp;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// A function that ran, or a pseudo-function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// As shown; hostile text.
    pub name: String,
    pub is_pseudo: bool,
    /// Its own.
    pub steps: u64,
    /// With what it called, recursion counted once.
    pub total: u64,
    /// Bytes that it wrote to memory.
    pub written: u64,
    /// Different instructions that were executed, their bytes, and those of the whole function.
    pub instructions: u64,
    pub executed: u64,
    pub size: u64,
    /// Cycles beyond its steps that its accesses to memories take, and those on the other core.
    pub waits: f64,
    pub waits_elsewhere: f64,
}

impl Function {
    /// The pseudo-function of a source.
    pub fn source(name: &str) -> Function {
        Function { name: name.to_owned(), is_pseudo: true, ..Function::default() }
    }

    /// Whether bytes of it were there before the program began: what is copied once.
    pub fn is_image(&self) -> bool {
        // `<image .rodata>`, with several images `<app .rodata>`; files are behind a colon.
        let section = self.name.strip_suffix('>').and_then(|name| name.rsplit_once(' '));
        let is_section = |(image, section): (&str, &str)| {
            !image.contains(": ") && (section.starts_with('.') || section.starts_with("segment"))
        };
        self.is_pseudo && section.is_some_and(is_section)
    }

    /// Whether it stands for the kernel: files, pipes, system calls.
    pub fn is_kernel(&self) -> bool {
        const OTHERS: [&str; 4] =
            ["<stack start>", "<uninitialised>", "<initial registers>", "<input>"];
        self.is_pseudo && !self.is_image() && !OTHERS.contains(&&self.name[..])
    }
}

/// Data from one function to another; by index.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub writer: usize,
    pub reader: usize,
    pub via: Via,
    pub bytes: u64,
    /// Each byte of each write once for each reading call.
    pub unique: u64,
    pub addresses: u64,
}

/// Calls of one function by another; by index.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub caller: usize,
    pub callee: usize,
    pub calls: u64,
    /// Of these calls, with all below them.
    pub steps: u64,
}

/// A chain of calls; by index.
pub(super) struct Context {
    pub(super) parent: Option<usize>,
    pub(super) function: usize,
    /// Its own.
    pub(super) steps: u64,
}

/// The sums of a run.
pub struct Run {
    pub functions: Vec<Function>,
    ids: BTreeMap<FunctionId, usize>,
    pub flows: Vec<Flow>,
    pub calls: Vec<Call>,
    /// Callers come before what they call.
    pub(super) contexts: Vec<Context>,
    context_ids: BTreeMap<i64, usize>,
    /// Functions that are on each core that needs them, with those for whom they work, see [`Run::folded`].
    pub copies: BTreeMap<usize, BTreeMap<usize, u64>>,
    /// Functions that nothing of the run called, and how often they began.
    pub roots: BTreeMap<usize, u64>,
    /// Of the whole run.
    pub steps: u64,
    /// Executed instructions of the whole run.
    pub instructions: u64,
    /// Callers come before what they call, but for functions that call each other, which are
    /// together.
    pub order: Vec<Vec<usize>>,
    /// By function: its place in `order`.
    pub group: Vec<usize>,
    /// By function: the one that all ways to it go through.
    pub dominators: Vec<Option<usize>>,
    pub start_up: StartUp,
}

/// A count of the database; none is below 0.
pub(super) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

impl Run {
    pub fn read(connection: &Connection) -> Result<Run, ViewError> {
        let mut functions = Vec::new();
        let mut ids = BTreeMap::new();
        each(connection, include_str!("../../../queries/report/plan_functions.sql"), &[], |r| {
            ids.insert(r.get(0)?, functions.len());
            let number = |column| Ok::<_, duckdb::Error>(count(r.get(column)?));
            functions.push(Function {
                name: r.get(1)?,
                is_pseudo: r.get(2)?,
                steps: number(3)?,
                total: number(4)?,
                written: number(5)?,
                instructions: number(6)?,
                executed: number(7)?,
                size: number(8)?,
                ..Function::default()
            });
            Ok(())
        })?;
        let mut flows = Vec::new();
        each(connection, include_str!("../../../queries/report/plan_flows.sql"), &[], |r| {
            let (writer, reader) = (ids.get(&r.get(0)?), ids.get(&r.get(1)?));
            if let (Some(&writer), Some(&reader)) = (writer, reader) {
                let via = Via::of(r.get_ref(2)?.as_str().unwrap_or_default());
                let (bytes, unique) = (count(r.get(3)?), count(r.get(4)?));
                let addresses = count(r.get(5)?);
                flows.push(Flow { writer, reader, via, bytes, unique, addresses });
            }
            Ok(())
        })?;
        let mut calls = Vec::new();
        let mut roots = BTreeMap::new();
        each(connection, include_str!("../../../queries/report/plan_calls.sql"), &[], |r| {
            let caller: Option<FunctionId> = r.get(0)?;
            let Some(&callee) = ids.get(&r.get(1)?) else { return Ok(()) };
            let (times, steps) = (count(r.get(2)?), count(r.get(3)?));
            match caller.and_then(|id| ids.get(&id)) {
                Some(&caller) => calls.push(Call { caller, callee, calls: times, steps }),
                None => *roots.entry(callee).or_default() += times,
            }
            Ok(())
        })?;
        let (mut contexts, mut numbers) = (Vec::new(), BTreeMap::new());
        each(connection, include_str!("../../../queries/report/plan_contexts.sql"), &[], |r| {
            let parent: Option<i64> = r.get(1)?;
            let Some(&function) = ids.get(&r.get(2)?) else { return Ok(()) };
            let parent = parent.and_then(|id| numbers.get(&id).copied());
            numbers.insert(r.get::<_, i64>(0)?, contexts.len());
            contexts.push(Context { parent, function, steps: count(r.get(3)?) });
            Ok(())
        })?;
        let steps = functions.iter().map(|f| f.steps).sum();
        let instructions = functions.iter().map(|f| f.instructions).sum();
        let edges: Vec<_> = calls.iter().map(|call| (call.caller, call.callee)).collect();
        let order = components(functions.len(), &edges);
        let mut group = vec![0; functions.len()];
        for (i, members) in order.iter().enumerate() {
            members.iter().for_each(|&at| group[at] = i);
        }
        let root = functions.len();
        let from_root = roots.keys().map(|&first| (root, first));
        let edges: Vec<_> = edges.iter().copied().chain(from_root).collect();
        let mut dominators = immediate_dominators(functions.len() + 1, &edges, root);
        dominators.pop();
        for dominator in &mut dominators {
            *dominator = dominator.filter(|&at| at != root);
        }
        Ok(Run {
            functions,
            ids,
            flows,
            calls,
            contexts,
            context_ids: numbers,
            copies: BTreeMap::new(),
            roots,
            steps,
            instructions,
            order,
            group,
            dominators,
            start_up: StartUp::read(connection)?,
        })
    }

    /// Cycles of the whole run: its steps, and what it waits for memories.
    pub fn cycles(&self) -> f64 {
        self.steps as f64 + self.functions.iter().map(|function| function.waits).sum::<f64>()
    }

    /// By function, the share of its own steps that it makes for a set, or in it; None where contexts do not
    /// tell.
    pub fn steps_within(&self, set: &BTreeSet<usize>) -> Vec<Option<f64>> {
        let mut sums = vec![(0, 0); self.functions.len()];
        let mut within: Vec<bool> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let is_below = context.parent.is_some_and(|at| within[at]);
            let is_within = is_below || set.contains(&context.function);
            within.push(is_within);
            let (inside, all) = &mut sums[context.function];
            *inside += if is_within { context.steps } else { 0 };
            *all += context.steps;
        }
        let share = |(inside, all)| (all > 0).then(|| inside as f64 / all as f64);
        sums.into_iter().map(share).collect()
    }

    /// The index of a context.
    pub(super) fn context(&self, id: i64) -> Option<usize> {
        self.context_ids.get(&id).copied()
    }

    /// The functions in the order of their indices.
    pub fn function_ids(&self) -> Vec<FunctionId> {
        let mut ids: Vec<(usize, FunctionId)> =
            self.ids.iter().map(|(id, at)| (*at, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// A function by index, if it ran.
    pub fn index(&self, function: FunctionId) -> Option<usize> {
        self.ids.get(&function).copied()
    }

    /// Those of start-up, end and the dynamic linker, by index.
    pub fn start_up(&self) -> BTreeSet<usize> {
        self.ids.iter().filter(|(id, _)| self.start_up.has(**id)).map(|(_, at)| *at).collect()
    }

    /// Functions by index; those that never ran are left out.
    pub fn indices(&self, set: &BTreeSet<FunctionId>) -> BTreeSet<usize> {
        set.iter().filter_map(|id| self.ids.get(id).copied()).collect()
    }

    /// The function that the program is: a set that has it is all of it. None: it has several
    /// roots and no `main`.
    pub fn main(&self) -> Option<usize> {
        let named = self.functions.iter().position(|f| f.name == "main" && !f.is_pseudo);
        named.or_else(|| self.roots.keys().next().copied())
    }

    /// A function with all that is reached through it only.
    pub fn subtree(&self, below: &[Vec<usize>], root: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut work = vec![root];
        while let Some(at) = work.pop() {
            if found.insert(at) {
                work.extend(&below[at]);
            }
        }
        found
    }

    /// By function: those that it dominates immediately.
    pub fn dominated(&self) -> Vec<Vec<usize>> {
        let mut below = vec![Vec::new(); self.functions.len()];
        for (at, dominator) in self.dominators.iter().enumerate() {
            if let Some(above) = *dominator {
                below[above].push(at);
            }
        }
        below
    }
}
