//! Sets of functions that could move, and those that should.

use super::candidate::{Candidate, Count, calls_into, candidate, choose};
use super::cost::CostModel;
use super::figures::{tenths, whole};
use super::parts::{Parts, parts};
use super::run::Run;
use crate::graph::short_name;
use crate::id::FunctionId;
use crate::render::rows::{RowFormat, RowWriter, word};
use crate::text::{human_count, visible, words};
use crate::views::ViewError;
use duckdb::types::Value;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Write;

words! {
    /// What is told of a plan.
    pub enum Told {
        /// Sets of functions that could move, those that should first
        Sets = "sets",
        /// Loops that could move, by themselves
        Loops = "loops",
        /// The parts that the program is cut into
        Parts = "parts",
        /// What goes between these parts
        Between = "between",
    }
}

/// What to plan.
#[derive(Clone, Debug)]
pub struct Wish {
    pub model: CostModel,
    /// Share of the program's executed code that may move.
    pub code: f64,
    /// What a set must have of the steps to be looked at, a share.
    pub least: f64,
    /// Functions that stay.
    pub kept: BTreeSet<FunctionId>,
    /// Whether start-up, end and the dynamic linker may move, too.
    pub start_up: bool,
    /// A set to price beside those that are found.
    pub named: BTreeSet<FunctionId>,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish {
            model: CostModel::default(),
            code: 0.25,
            least: 0.01,
            kept: BTreeSet::new(),
            start_up: false,
            named: BTreeSet::new(),
        }
    }
}

/// Sets that could move.
pub struct Plan {
    pub run: Run,
    /// Those to move first, the ones that gain most before others.
    pub sets: Vec<Candidate>,
    /// How many of them to move.
    pub chosen: usize,
    /// These as one set: what two of them share is counted once. None: nothing is to move.
    pub together: Option<Candidate>,
    /// By set: what it is in other runs; None where it did not run.
    pub elsewhere: Vec<Vec<Option<Share>>>,
    pub notes: Vec<String>,
    wish: Wish,
}

/// What a set is of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub steps: f64,
    pub gain: f64,
}

/// Sets that are priced at most.
const SETS: usize = 100;

/// Finds the sets of a run that are worth moving. `count`: counts what crosses; None: it is estimated.
///
/// # Errors
/// Where the run lacks steps or data, and those of `count`.
pub fn plan(run: Run, wish: Wish, count: Option<Count>) -> Result<Plan, ViewError> {
    if run.steps == 0 {
        return Err(ViewError::PlanLacks { what: "steps" });
    }
    if run.flows.is_empty() {
        return Err(ViewError::PlanLacks { what: "bytes from one function to another" });
    }
    let into = calls_into(&run);
    let below = run.dominated();
    let kept = run.indices(&wish.kept);
    let left_out = if wish.start_up { BTreeSet::new() } else { run.start_up() };
    let main = run.main();
    let stays = |set: &BTreeSet<usize>| {
        main.is_some_and(|main| set.contains(&main)) || !set.is_disjoint(&kept)
    };
    let mut found = Vec::new();
    // What a set has of the steps is no more than its root has with what it calls. More than a
    // hundred sets nobody reads.
    let least = (wish.least * run.steps as f64) as u64;
    let mut heavy: Vec<u64> = run.functions.iter().map(|f| f.total).collect();
    heavy.sort_unstable_by_key(|&total| std::cmp::Reverse(total));
    let least = least.max(heavy.get(SETS).copied().unwrap_or(0));
    // From the root of the tree down, so that a set stands before those in it.
    let mut work: Vec<usize> =
        (0..run.functions.len()).filter(|&at| run.dominators[at].is_none()).rev().collect();
    while let Some(root) = work.pop() {
        work.extend(below[root].iter().rev());
        let function = &run.functions[root];
        if function.is_pseudo || function.total < least || left_out.contains(&root) {
            continue;
        }
        let set = run.subtree(&below, root);
        if stays(&set) {
            continue;
        }
        let candidate = candidate(&run, &into, (root, set), &wish.model);
        if candidate.steps >= wish.least * run.steps as f64 {
            found.push(candidate);
        }
    }
    if let Some(count) = count.filter(|_| wish.named.is_empty()) {
        count(&run, &mut found)?;
    }
    let chosen = choose(&found, run.instructions, wish.code);
    let (chosen, together) = gaining_together(&run, &into, (&found, &chosen), &wish.model, count)?;
    let mut sets: Vec<(bool, Candidate)> =
        found.into_iter().enumerate().map(|(i, c)| (chosen.contains(&i), c)).collect();
    sets.sort_by(|(a, x), (b, y)| {
        b.cmp(a).then(y.gain.partial_cmp(&x.gain).unwrap_or(Ordering::Equal))
    });
    let mut plan = Plan {
        chosen: chosen.len(),
        together,
        sets: sets.into_iter().map(|set| set.1).collect(),
        elsewhere: Vec::new(),
        notes: Vec::new(),
        run,
        wish,
    };
    plan.price(&into, count)?;
    plan.remark(count.is_some());
    Ok(plan)
}

/// Of these sets those that gain more with the ones before than without, and all of them as one set. What
/// several of them call has its share in each, so that their own figures do not add up.
fn gaining_together(
    run: &Run,
    into: &[Vec<usize>],
    (found, chosen): (&[Candidate], &BTreeSet<usize>),
    model: &CostModel,
    count: Option<Count>,
) -> Result<(BTreeSet<usize>, Option<Candidate>), ViewError> {
    let mut by_gain: Vec<usize> = chosen.iter().copied().collect();
    by_gain.sort_by(|&a, &b| found[b].gain.total_cmp(&found[a].gain).then(a.cmp(&b)));
    let (mut kept, mut all): (BTreeSet<usize>, Option<Candidate>) = (BTreeSet::new(), None);
    let mut left = &by_gain[..];
    while let Some(first) = left.first() {
        let root = all.as_ref().map_or(found[*first].root, |all| all.root);
        let mut members = all.as_ref().map(|all| all.members.clone()).unwrap_or_default();
        // As long as each gains, they are counted in one pass.
        let union = |at: &usize| {
            members.extend(&found[*at].members);
            candidate(run, into, (root, members.clone()), model)
        };
        let mut unions: Vec<Candidate> = left.iter().map(union).collect();
        if let Some(count) = count {
            let known = usize::from(all.is_none());
            if known > 0 {
                unions[0] = found[*first].clone();
            }
            if unions.len() > known {
                count(run, &mut unions[known..])?;
            }
        }
        for union in unions {
            let (at, more) = (left[0], &left[1..]);
            left = more;
            if union.gain <= all.as_ref().map_or(0.0, |all| all.gain) {
                break;
            }
            kept.insert(at);
            all = Some(union);
        }
    }
    Ok((kept, all))
}

impl Plan {
    /// Puts the named set first, instead of what was found.
    fn price(&mut self, into: &[Vec<usize>], count: Option<Count>) -> Result<(), ViewError> {
        if self.wish.named.is_empty() {
            return Ok(());
        }
        let named = self.run.indices(&self.wish.named);
        let heaviest = named.iter().copied().max_by_key(|&at| self.run.functions[at].steps);
        let Some(root) = heaviest else { return Err(ViewError::PlanNeverRan) };
        if self.run.main().is_some_and(|main| named.contains(&main)) {
            let name = visible(&self.run.functions[root].name).into_owned();
            self.notes.push(format!(
                "the set of {name} has the program's first function: nothing is left that could \
                 call it, and what comes in is the program's input"
            ));
        }
        self.sets = vec![candidate(&self.run, into, (root, named), &self.wish.model)];
        if let Some(count) = count {
            count(&self.run, &mut self.sets)?;
        }
        self.chosen = usize::from(self.sets[0].gain > 0.0);
        self.together = self.sets.first().filter(|set| set.gain > 0.0).cloned();
        Ok(())
    }

    /// What is to be known of the figures.
    fn remark(&mut self, is_counted: bool) {
        if self.sets.is_empty() {
            self.notes.push(format!(
                "no function but the first one has {} % of the steps: nothing to move",
                100.0 * self.wish.least
            ));
        } else if self.chosen == 0 {
            self.notes.push(
                "nothing gains: what is sent costs more than the steps; see --link, --speedup, --code"
                    .to_owned(),
            );
        }
        let sets = &self.sets[..self.chosen];
        if !is_counted && !self.sets.is_empty() {
            self.notes.push(
                "bytes_in and bytes_out are estimated from sums, and too high where one entry reads the same \
                 in several calls; --exact counts them, and entries, by going through the run"
                    .to_owned(),
            );
        }
        if sets.iter().any(|set| set.kernel > 0.0) {
            self.notes.push(
                "kernel_bytes: the set reads or writes files; that has to go through the rest"
                    .to_owned(),
            );
        }
        let waits = self.run.cycles() - self.run.steps as f64;
        if waits > 0.0 {
            let model = &self.wish.model;
            self.notes.push(format!(
                "accesses to memories take {} cycles, {:.1} % of the run's {:.3} ms",
                human_count(waits.round() as i64),
                100.0 * waits / self.run.cycles(),
                1e3 * model.here(self.run.cycles())
            ));
        }
        if !self.wish.start_up && self.wish.named.is_empty() {
            self.notes.extend(self.run.start_up.left_out("--start-up"));
        }
        if self.elsewhere.is_empty() {
            self.notes.push(
                "this is one run: give the databases of others behind it for what depends on the input"
                    .to_owned(),
            );
        }
    }

    /// Prices the same sets in another run; functions are matched by name.
    ///
    /// # Errors
    /// Those of `count`.
    pub fn compare(&mut self, other: &Run, count: Option<Count>) -> Result<(), ViewError> {
        if self.elsewhere.is_empty() {
            self.notes.retain(|note| !note.starts_with("this is one run"));
        }
        let into = calls_into(other);
        let by_name: std::collections::BTreeMap<&str, usize> = other
            .functions
            .iter()
            .enumerate()
            .filter(|(_, f)| !f.is_pseudo)
            .map(|(i, f)| (&f.name[..], i))
            .collect();
        let share = |set: &Candidate| {
            let same = |at: &usize| by_name.get(&self.run.functions[*at].name[..]).copied();
            let members: BTreeSet<usize> = set.members.iter().filter_map(same).collect();
            let root = same(&set.root).or_else(|| members.first().copied())?;
            Some(candidate(other, &into, (root, members), &self.wish.model))
        };
        let (mut found, mut places) = (Vec::new(), Vec::new());
        for set in &self.sets {
            places.push(share(set).map(|candidate| {
                found.push(candidate);
                found.len() - 1
            }));
        }
        if let Some(count) = count {
            count(other, &mut found)?;
        }
        let of = |at: Option<usize>| Some(of_run(other, found.get(at?)?, &self.wish.model));
        self.elsewhere.push(places.into_iter().map(of).collect());
        Ok(())
    }

    /// What moves and what that brings, in a sentence.
    pub fn headline(&self) -> String {
        let model = &self.wish.model;
        let list: Vec<String> = self.sets[..self.chosen]
            .iter()
            .take(4)
            .map(|set| {
                let name = visible(&short_name(&self.run.functions[set.root].name)).into_owned();
                match set.members.len() - 1 {
                    0 => name,
                    1 => format!("{name} with 1 function"),
                    more => format!("{name} with {more} functions"),
                }
            })
            .collect();
        let more = self.chosen - list.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let here = model.here(self.run.cycles());
        let Some(Candidate { gain, steps, .. }) = self.together else {
            return "Nothing to move.".to_owned();
        };
        format!(
            "Move {}{more}: {:.1} % of {} steps, {:.1} % less time.",
            list.join(", "),
            100.0 * steps / self.run.steps.max(1) as f64,
            human_count(i64::try_from(self.run.steps).unwrap_or(i64::MAX)),
            100.0 * gain / here,
        )
    }

    /// The sets with their figures.
    pub fn write(
        &self,
        limit: usize,
        format: RowFormat,
        out: &mut dyn Write,
    ) -> std::io::Result<u64> {
        let mut columns = vec![
            "move",
            "set",
            "functions",
            "instructions",
            "entries",
            "percent_steps",
            "bytes_in",
            "bytes_out",
            "steps_a_byte",
            "percent_gain",
            "shared_percent",
            "unexecuted_percent",
            "kernel_bytes",
        ];
        let several = !self.elsewhere.is_empty();
        if several {
            columns.extend(["percent_steps_least", "percent_steps_most"]);
            columns.extend(["percent_gain_least", "percent_gain_most"]);
        }
        let mut rows = RowWriter::new(&columns, format, out)?.short_names();
        for (i, set) in self.sets.iter().enumerate().take(limit) {
            let own = self.share(set);
            let sent = set.bytes_in + set.bytes_out;
            let mut row = vec![
                word((if i < self.chosen { "yes" } else { "no" }).to_owned()),
                word(self.run.functions[set.root].name.clone()),
                Value::UBigInt(set.members.len() as u64),
                Value::UBigInt(set.instructions),
                whole(set.entries),
                tenths(100.0 * own.steps),
                whole(set.bytes_in),
                whole(set.bytes_out),
                if sent > 0.0 { tenths(set.steps / sent) } else { Value::Null },
                tenths(100.0 * own.gain),
                tenths(100.0 * set.shared / set.steps.max(1.0)),
                set.unexecuted.map_or(Value::Null, |share| tenths(100.0 * share)),
                whole(set.kernel),
            ];
            if several {
                let never = Share { steps: 0.0, gain: 0.0 };
                let others = self.elsewhere.iter().map(|run| run[i].unwrap_or(never));
                let all: Vec<Share> = std::iter::once(own).chain(others).collect();
                for figure in [|share: &Share| share.steps, |share: &Share| share.gain] {
                    let least = all.iter().map(figure).fold(f64::INFINITY, f64::min);
                    let most = all.iter().map(figure).fold(f64::NEG_INFINITY, f64::max);
                    row.extend([tenths(100.0 * least), tenths(100.0 * most)]);
                }
            }
            rows.row(&row)?;
        }
        rows.finish()
    }

    /// What a set is of the run.
    pub fn share(&self, set: &Candidate) -> Share {
        of_run(&self.run, set, &self.wish.model)
    }

    pub fn model(&self) -> CostModel {
        self.wish.model
    }

    /// Cuts the program into parts; `run`: [`Run::folded`]; `slack` is how much heavier than the mean one
    /// may be.
    pub fn parts(&self, run: &Run, number: usize, slack: f64) -> Parts {
        let without = if self.wish.start_up { BTreeSet::new() } else { run.start_up() };
        parts(run, &without, (number, slack), &self.wish.model)
    }
}

fn of_run(run: &Run, set: &Candidate, model: &CostModel) -> Share {
    let all = run.steps.max(1) as f64;
    Share { steps: set.steps / all, gain: set.gain / model.here(run.cycles().max(1.0)) }
}
