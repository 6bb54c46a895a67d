//! Functions that everybody calls, and whose calls are so short that nobody would send a message for each, are on
//! each core that needs them: what they do is done for whoever calls them, as calling contexts tell.

use super::cost::CostModel;
use super::run::{Flow, Run, count};
use crate::graph::Via;
use crate::id::FunctionId;
use crate::query::each;
use crate::views::ViewError;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// How many times as long as its messages a call must take to be worth them.
const SHORT: f64 = 10.0;
/// Steps of a call that is short where messages take no time.
const SMALL: f64 = 60.0;

impl Run {
    /// The run with short functions that several others call taken into these: steps, data and calls.
    /// `copies` has them then, each with those for whom it works. They call nothing but each other, and
    /// not themselves. A call of one takes less than ten times as long as the messages there and back.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn folded(mut self, connection: &Connection, model: &CostModel) -> Result<Run, ViewError> {
        let mut stubs = BTreeSet::new();
        let sql = "SELECT function_id FROM function_symbol WHERE kind = 'stub'";
        each(connection, sql, &[], |r| {
            stubs.extend(self.index(r.get(0)?));
            Ok(())
        })?;
        let most = (SHORT * 2.0 * model.link.latency * model.clock).max(SMALL);
        let (shared, done_for) = self.shared(&stubs, most);
        let is_shared = |at: usize| shared.contains(&at);
        self.give_steps(&shared, &done_for);
        let mut addresses: BTreeMap<(usize, usize, Via), u64> = BTreeMap::new();
        for flow in self.flows.iter().filter(|f| is_shared(f.writer) || is_shared(f.reader)) {
            addresses.insert((flow.writer, flow.reader, flow.via), flow.addresses);
        }
        self.flows.retain(|flow| !is_shared(flow.writer) && !is_shared(flow.reader));
        let mut found: BTreeMap<(usize, usize, Via), Flow> = BTreeMap::new();
        each(
            connection,
            include_str!("../../../queries/report/plan_context_flows.sql"),
            &[],
            |r| {
                let (writer, reader): (FunctionId, FunctionId) = (r.get(2)?, r.get(3)?);
                let (Some(writer), Some(reader)) = (self.index(writer), self.index(reader)) else {
                    return Ok(());
                };
                if !is_shared(writer) && !is_shared(reader) {
                    return Ok(());
                }
                let via = Via::of(r.get_ref(4)?.as_str().unwrap_or_default());
                let (bytes, unique) = (count(r.get(5)?), count(r.get(6)?));
                let known = addresses.get(&(writer, reader, via)).copied().filter(|n| *n > 0);
                let end = |stack: Option<i64>, function: usize| {
                    let context = stack.and_then(|id| self.context(id));
                    context.map_or_else(
                        || (!is_shared(function)).then_some(function),
                        |at| done_for[at],
                    )
                };
                let ends = (end(r.get(0)?, writer), end(r.get(1)?, reader));
                let (Some(writer), Some(reader)) = ends else { return Ok(()) };
                if writer != reader {
                    let none = Flow { writer, reader, via, bytes: 0, unique: 0, addresses: 0 };
                    let flow = found.entry((writer, reader, via)).or_insert(none);
                    flow.bytes += bytes;
                    flow.unique += unique;
                    flow.addresses += known.unwrap_or(unique).min(unique);
                }
                Ok(())
            },
        )?;
        self.flows.extend(found.into_values());
        self.calls.retain(|call| !is_shared(call.caller) && !is_shared(call.callee));
        Ok(self)
    }

    /// Functions that several others call, a call of `most` steps at most, and by context the function for
    /// which it is.
    fn shared(&self, stubs: &BTreeSet<usize>, most: f64) -> (BTreeSet<usize>, Vec<Option<usize>>) {
        let (mut callers, mut callees) = (BTreeMap::new(), BTreeMap::new());
        let mut calls: BTreeMap<usize, u64> = BTreeMap::new();
        for call in self.calls.iter().filter(|call| call.calls > 0) {
            *calls.entry(call.callee).or_default() += call.calls;
            callers.entry(call.callee).or_insert_with(BTreeSet::new).insert(call.caller);
            callees.entry(call.caller).or_insert_with(BTreeSet::new).insert(call.callee);
        }
        let known = self.steps_within(&BTreeSet::new());
        let main = self.main();
        let may_be = |at: &usize| {
            let function = &self.functions[*at];
            let calls_itself = callees.get(at).is_some_and(|to: &BTreeSet<usize>| to.contains(at));
            let is_known = known[*at].is_some() || function.steps == 0 || stubs.contains(at);
            let most = most * calls.get(at).copied().unwrap_or(0) as f64;
            callers.contains_key(at)
                && function.total as f64 <= most
                && is_known
                && !function.is_pseudo
                && !calls_itself
                && self.order[self.group[*at]].len() == 1
                && !self.roots.contains_key(at)
                && main != Some(*at)
        };
        let mut shared: BTreeSet<usize> = (0..self.functions.len()).filter(may_be).collect();
        loop {
            let before = shared.len();
            let stays = |at: &usize| {
                let calls_shared = callees.get(at).is_none_or(|to| to.is_subset(&shared));
                let by = &callers[at];
                calls_shared && (by.len() > 1 || by.is_subset(&shared))
            };
            let next: BTreeSet<usize> = shared.iter().copied().filter(stays).collect();
            shared = next;
            // Those that nobody outside of them called, in a chain that recursion has cut.
            let done_for = self.done_for(&shared);
            for (context, of) in self.contexts.iter().zip(&done_for) {
                if of.is_none() {
                    shared.remove(&context.function);
                }
            }
            if shared.len() == before {
                return (shared, done_for);
            }
        }
    }

    /// By context, the function for which it is: its own, or the nearest caller that is not shared.
    fn done_for(&self, shared: &BTreeSet<usize>) -> Vec<Option<usize>> {
        let mut found: Vec<Option<usize>> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let own = Some(context.function).filter(|at| !shared.contains(at));
            found.push(own.or_else(|| found[context.parent?]));
        }
        found
    }

    /// Gives the steps of shared functions to those for whom they are.
    fn give_steps(&mut self, shared: &BTreeSet<usize>, done_for: &[Option<usize>]) {
        let mut parts: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
        for (context, of) in self.contexts.iter().zip(done_for) {
            if let Some(of) = of.filter(|_| shared.contains(&context.function)) {
                *parts.entry(context.function).or_default().entry(of).or_default() += context.steps;
            }
        }
        // Stubs are in the contexts of what calls them.
        for call in &self.calls {
            if shared.contains(&call.callee) && !parts.contains_key(&call.callee) {
                let of = Some(call.caller).filter(|at| !shared.contains(at));
                let caller = of.or_else(|| parts.get(&call.caller)?.keys().next().copied());
                if let Some(caller) = caller {
                    *self.copies.entry(call.callee).or_default().entry(caller).or_default() +=
                        call.calls;
                }
            }
        }
        self.copies.extend(parts);
        for (&function, parts) in &self.copies {
            let (steps, all) = (self.functions[function].steps, parts.values().sum::<u64>());
            let mut left = steps;
            let last = parts.keys().next_back().copied();
            for (&of, &part) in parts {
                let share = u128::from(steps) * u128::from(part) / u128::from(all.max(1));
                let share = if Some(of) == last { left } else { (share as u64).min(left) };
                self.functions[of].steps += share;
                left -= share;
            }
            self.functions[function].steps = left;
        }
    }
}
