//! A program cut into parts that run on a core or in a memory each.

use super::cost::CostModel;
use super::figures::tenths;
use super::partition::{Weighted, partition};
use super::run::{Flow, Run};
use crate::graph::short_name;
use crate::render::rows::{RowFormat, RowWriter, shown_names, word};
use crate::text::{human_bytes, human_count, visible};
use duckdb::types::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// A part.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Functions, those with the most steps first.
    pub functions: Vec<usize>,
    /// How many more it has a copy of.
    pub copies: usize,
    /// With those of copies that are for it.
    pub steps: u64,
    pub instructions: u64,
}

/// What goes from one part to another through one kind of storage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crossed {
    pub bytes: u64,
    /// Each byte of each write once for each reading call.
    pub unique: u64,
    /// Different bytes of storage; what several functions share counts for each pair.
    pub addresses: u64,
}

/// All parts.
#[derive(Clone, Debug)]
pub struct Parts {
    pub parts: Vec<Part>,
    /// By function; None for pseudo-functions, and what is left out.
    pub of: Vec<Option<usize>>,
    pub between: BTreeMap<(usize, usize, crate::graph::Via), Crossed>,
    /// Functions that each part which needs them has a copy of.
    pub copied: Vec<usize>,
    /// Calls from part to part.
    pub calls: BTreeMap<(usize, usize), u64>,
    /// No cut costs less.
    pub is_exact: bool,
    /// Seconds to send what crosses.
    pub sending: f64,
}

/// Whether data has to be sent where its ends are apart: what was there before the program began is
/// copied once.
fn is_sent(run: &Run, flow: &Flow) -> bool {
    !run.functions[flow.writer].is_pseudo && !run.functions[flow.reader].is_pseudo
}

/// Functions of `without` are in no part.
pub fn parts(
    run: &Run,
    without: &BTreeSet<usize>,
    (number, slack): (usize, f64),
    model: &CostModel,
) -> Parts {
    let is_cut = |at: &usize| {
        !run.functions[*at].is_pseudo && !without.contains(at) && !run.copies.contains_key(at)
    };
    let ran: Vec<usize> = (0..run.functions.len()).filter(is_cut).collect();
    let mut node = vec![None; run.functions.len()];
    ran.iter().enumerate().for_each(|(i, &at)| node[at] = Some(i));
    // Picoseconds: whole numbers that add up.
    let cost = |bytes: u64, messages: f64| (model.sending(bytes as f64, messages) * 1e12) as u64;
    let data = run.flows.iter().filter(|flow| is_sent(run, flow));
    let data = data.map(|flow| (flow.writer, flow.reader, cost(flow.unique, 0.0)));
    let calls = run.calls.iter().map(|c| (c.caller, c.callee, cost(0, 2.0 * c.calls as f64)));
    let edges = data.chain(calls).filter_map(|(a, b, cost)| Some((node[a]?, node[b]?, cost)));
    let weights: Vec<u64> = ran.iter().map(|&at| run.functions[at].steps).collect();
    let heaviest = weights.iter().copied().max().unwrap_or(0);
    // For a limit: a step more or less is nothing.
    let all: u64 = weights.iter().sum();
    let limit = heaviest.max((all as f64 / number as f64 * (1.0 + slack)) as u64);
    let found = partition(&Weighted::new(weights, edges), number, limit);
    let mut made = vec![Part::default(); number];
    for (i, &at) in ran.iter().enumerate() {
        let part = &mut made[found.part[i]];
        part.functions.push(at);
        part.steps += run.functions[at].steps;
        part.instructions += run.functions[at].instructions;
    }
    for part in &mut made {
        part.functions.sort_by_key(|&at| (Reverse(run.functions[at].steps), at));
    }
    let main = run.main();
    let has_main = |part: &Part| main.is_some_and(|main| part.functions.contains(&main));
    made.sort_by_key(|part| (!has_main(part), Reverse(part.steps)));
    made.retain(|part| !part.functions.is_empty());
    let mut all = Parts {
        of: vec![None; run.functions.len()],
        parts: made,
        between: BTreeMap::new(),
        copied: Vec::new(),
        calls: BTreeMap::new(),
        is_exact: found.is_exact,
        sending: found.cut as f64 / 1e12,
    };
    for (number, part) in all.parts.iter().enumerate() {
        part.functions.iter().for_each(|&at| all.of[at] = Some(number));
    }
    for (&copy, users) in &run.copies {
        let users: BTreeSet<usize> = users.keys().filter_map(|&of| all.of[of]).collect();
        all.copied.extend((!users.is_empty()).then_some(copy));
        for part in users {
            all.parts[part].copies += 1;
            all.parts[part].instructions += run.functions[copy].instructions;
        }
    }
    all.add_up(run);
    all
}

impl Parts {
    fn add_up(&mut self, run: &Run) {
        for flow in run.flows.iter().filter(|flow| is_sent(run, flow)) {
            if let (Some(from), Some(to)) = (self.of[flow.writer], self.of[flow.reader])
                && from != to
            {
                let sum = self.between.entry((from, to, flow.via)).or_default();
                sum.bytes += flow.bytes;
                sum.unique += flow.unique;
                sum.addresses += flow.addresses;
            }
        }
        for call in &run.calls {
            if let (Some(from), Some(to)) = (self.of[call.caller], self.of[call.callee])
                && from != to
            {
                *self.calls.entry((from, to)).or_default() += call.calls;
            }
        }
    }

    /// What is in several parts, in a sentence without its capital and its stop; None: nothing.
    pub fn copies(&self, run: &Run) -> Option<String> {
        let mut list = self.copied.clone();
        let users = |at: &usize| run.copies[at].values().sum::<u64>();
        list.sort_by_key(|at| (Reverse(users(at)), *at));
        let first = list.iter().take(4).map(|&at| short_name(&run.functions[at].name));
        let first: Vec<String> = first.map(|name| visible(&name).into_owned()).collect();
        let more = list.len().checked_sub(first.len()).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        let sentence = "each part has its own copy of short functions that several call";
        (!list.is_empty()).then(|| format!("{sentence}: {}{more}", first.join(", ")))
    }

    /// How it is cut, in a sentence.
    pub fn headline(&self, run: &Run, model: &CostModel) -> String {
        let all = run.steps.max(1) as f64;
        let shares: Vec<String> = self
            .parts
            .iter()
            .map(|part| format!("{:.0} %", 100.0 * part.steps as f64 / all))
            .collect();
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let unique: u64 = self.between.values().map(|sum| sum.unique).sum();
        format!(
            "{} parts with {} of the steps: {} cross, in {} calls, {:.1} % of the run's time to send{}.",
            self.parts.len(),
            shares.join(", "),
            human_bytes(signed(unique)),
            human_count(signed(self.calls.values().sum())),
            100.0 * self.sending / model.here(all),
            if self.is_exact {
                "; no cut costs less"
            } else {
                "; found by search, a better one may be"
            },
        )
    }

    pub fn write(&self, run: &Run, format: RowFormat, out: &mut dyn Write) -> std::io::Result<u64> {
        let columns = [
            "part",
            "functions",
            "copies",
            "steps",
            "percent_steps",
            "instructions",
            "with_most_steps",
        ];
        let mut rows = RowWriter::new(&columns, format, out)?;
        let most = |part: &Part| part.functions.iter().take(4).copied().collect::<Vec<usize>>();
        let named = self.parts.iter().flat_map(most).map(|at| run.functions[at].name.clone());
        let shown = match format {
            RowFormat::Table => shown_names(named.collect()),
            _ => BTreeMap::new(),
        };
        for (number, part) in self.parts.iter().enumerate() {
            let first = most(part).into_iter().map(|at| {
                let whole = &run.functions[at].name;
                shown.get(whole).unwrap_or(whole).clone()
            });
            rows.row(&[
                Value::UBigInt(number as u64 + 1),
                Value::UBigInt(part.functions.len() as u64),
                Value::UBigInt(part.copies as u64),
                Value::UBigInt(part.steps),
                tenths(100.0 * part.steps as f64 / run.steps.max(1) as f64),
                Value::UBigInt(part.instructions),
                word(first.collect::<Vec<_>>().join(", ")),
            ])?;
        }
        rows.finish()
    }

    /// What goes between parts, and how much of it for each call into the reading part or back to
    /// it: what a buffer must hold.
    pub fn write_between(&self, format: RowFormat, out: &mut dyn Write) -> std::io::Result<u64> {
        let columns = [
            "from",
            "to",
            "via",
            "bytes",
            "unique_bytes",
            "addresses_at_most",
            "entries",
            "unique_bytes_an_entry",
        ];
        let mut rows = RowWriter::new(&columns, format, out)?;
        for (&(from, to, via), sum) in &self.between {
            let calls = |a, b| self.calls.get(&(a, b)).copied().unwrap_or(0);
            let entries = calls(from, to) + calls(to, from);
            let each = (entries > 0).then(|| sum.unique as f64 / entries as f64);
            rows.row(&[
                Value::UBigInt(from as u64 + 1),
                Value::UBigInt(to as u64 + 1),
                word(via.name().to_owned()),
                Value::UBigInt(sum.bytes),
                Value::UBigInt(sum.unique),
                Value::UBigInt(sum.addresses),
                Value::UBigInt(entries),
                each.map_or(Value::Null, tenths),
            ])?;
        }
        rows.finish()
    }
}
