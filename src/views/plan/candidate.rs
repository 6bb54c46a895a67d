//! What would be sent if a set of functions ran elsewhere, estimated from the sums of functions.
//!
//! A set is taken with what it calls. What others call, too, goes along as a copy. Calling contexts tell how many
//! of its steps are the set's; where a run has none, as many as its calls' steps that come from the set, which is an
//! estimate. Its data is divided alike. Data which one entry reads in several calls counts in each.

use super::cost::CostModel;
use super::run::Run;
use crate::graph::Via;
use crate::views::ViewError;
use std::collections::BTreeSet;

/// A set that could move.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The function that it is named after.
    pub root: usize,
    pub members: BTreeSet<usize>,
    /// Executed instructions, with what is copied.
    pub instructions: u64,
    /// From outside into it.
    pub entries: f64,
    pub steps: f64,
    /// Of these, steps of functions that others call, too.
    pub shared: f64,
    /// Cycles that it waits for memories, and that it would wait on the other core.
    pub waits: f64,
    pub waits_elsewhere: f64,
    pub bytes_in: f64,
    pub bytes_out: f64,
    /// Of `bytes_in` what was there before the program began: it is sent once.
    pub tables: f64,
    /// Bytes that it exchanges with the kernel, and those of them that the kernel takes.
    pub kernel: f64,
    pub to_kernel: f64,
    /// Share of the code of its functions that never ran, where their sizes are known.
    pub unexecuted: Option<f64>,
    /// Seconds that are won, below 0 if it is a loss.
    pub gain: f64,
}

/// By function, how much of it is done for a set: 1 in the set, 0 where the set does not call it.
fn shares(run: &Run, members: &BTreeSet<usize>, into: &[Vec<usize>]) -> Vec<f64> {
    let mut share = vec![0.0; run.functions.len()];
    members.iter().for_each(|&m| share[m] = 1.0);
    let known = run.steps_within(members);
    for (number, group) in run.order.iter().enumerate() {
        let (mut ours, mut all) = (0.0, 0.0);
        let outside = || group.iter().copied().filter(|at| !members.contains(at));
        for at in outside() {
            for call in into[at].iter().map(|&i| &run.calls[i]) {
                let is_within = run.group[call.caller] == number && !members.contains(&call.caller);
                if !is_within {
                    // A call has a step at least.
                    let weight = call.steps.max(call.calls) as f64;
                    ours += weight * share[call.caller];
                    all += weight;
                }
            }
            all += run.roots.get(&at).copied().unwrap_or(0) as f64;
        }
        let estimate = if ours > 0.0 { ours / all } else { 0.0 };
        outside().for_each(|at| share[at] = known[at].unwrap_or(estimate));
    }
    share
}

/// By function: its calls, as indices.
pub fn calls_into(run: &Run) -> Vec<Vec<usize>> {
    let mut into = vec![Vec::new(); run.functions.len()];
    for (i, call) in run.calls.iter().enumerate() {
        into[call.callee].push(i);
    }
    into
}

pub fn candidate(
    run: &Run,
    into: &[Vec<usize>],
    (root, members): (usize, BTreeSet<usize>),
    model: &CostModel,
) -> Candidate {
    let share = shares(run, &members, into);
    let mut found = Candidate {
        root,
        instructions: 0,
        entries: 0.0,
        steps: 0.0,
        waits: 0.0,
        waits_elsewhere: 0.0,
        shared: 0.0,
        bytes_in: 0.0,
        bytes_out: 0.0,
        tables: 0.0,
        kernel: 0.0,
        to_kernel: 0.0,
        unexecuted: None,
        gain: 0.0,
        members,
    };
    let (mut executed, mut size) = (0, 0);
    for (at, function) in run.functions.iter().enumerate().filter(|(at, _)| share[*at] > 0.0) {
        let steps = share[at] * function.steps as f64;
        found.steps += steps;
        found.waits += share[at] * function.waits;
        found.waits_elsewhere += share[at] * function.waits_elsewhere;
        found.instructions += function.instructions;
        if found.members.contains(&at) {
            executed += function.executed.min(function.size);
            size += function.size;
            found.entries += run.roots.get(&at).copied().unwrap_or(0) as f64;
        } else {
            found.shared += steps;
        }
    }
    found.unexecuted = (size > 0).then(|| 1.0 - executed as f64 / size as f64);
    for at in &found.members {
        let calls = into[*at].iter().map(|&i| &run.calls[i]);
        let entries: f64 = calls.map(|call| (1.0 - share[call.caller]) * call.calls as f64).sum();
        found.entries += entries;
    }
    exchange(run, &share, &mut found);
    found.price(model);
    found
}

/// Counts what was estimated of sets.
pub type Count<'a> = &'a dyn Fn(&Run, &mut [Candidate]) -> Result<(), ViewError>;

impl Candidate {
    /// Finds what it gains.
    pub fn price(&mut self, model: &CostModel) {
        self.gain = model.gain(self.steps, self.entries, self.bytes_in + self.bytes_out)
            + model.here(self.waits - self.waits_elsewhere);
    }
}

/// Adds up what crosses.
fn exchange(run: &Run, share: &[f64], found: &mut Candidate) {
    // A byte is not sent out more often than it is written.
    let mut out = vec![0.0; share.len()];
    for flow in &run.flows {
        let (writer, reader) = (&run.functions[flow.writer], &run.functions[flow.reader]);
        let (wrote, read) = (share[flow.writer], share[flow.reader]);
        if wrote == 0.0 && read == 0.0 {
            continue;
        }
        let bytes = flow.unique as f64;
        if writer.is_kernel() || reader.is_kernel() {
            found.kernel += bytes * wrote.max(read);
        }
        if reader.is_kernel() {
            found.to_kernel += bytes * wrote;
        }
        // Arguments and results: what it gives to a copy that it calls stays with it.
        let is_local = matches!(flow.via, Via::Register | Via::Stack);
        if is_local && wrote > 0.0 && read > 0.0 {
            continue;
        }
        if writer.is_image() || flow.via == Via::Constant {
            found.tables += read * bytes.min(flow.addresses.max(1) as f64);
        } else if read > wrote {
            found.bytes_in += (read - wrote) * bytes;
        } else if flow.via == Via::Register {
            found.bytes_out += (wrote - read) * bytes;
        } else {
            out[flow.writer] += (wrote - read) * bytes;
        }
    }
    for (at, bytes) in out.into_iter().enumerate() {
        let written = run.functions[at].written as f64 * share[at];
        found.bytes_out += if written > 0.0 { bytes.min(written) } else { bytes };
    }
    found.bytes_in += found.tables;
}

/// Those of a tree of sets that gain most together, with no more than so much of the program's
/// code. Candidates are given so that a set stands before all that lie in it; the answer is exact
/// but for the size of code, which is counted in 400ths of the program.
pub fn choose(candidates: &[Candidate], instructions: u64, share: f64) -> BTreeSet<usize> {
    const UNITS: usize = 400;
    let budget = (share.clamp(0.0, 1.0) * UNITS as f64).round() as usize;
    let units = |c: &Candidate| {
        (c.instructions * UNITS as u64).div_ceil(instructions.max(1)).max(1) as usize
    };
    // Behind each set, the next one that does not lie in it.
    let next = |i: usize| {
        let inside = |c: &&Candidate| candidates[i].members.contains(&c.root);
        i + 1 + candidates[i + 1..].iter().take_while(inside).count()
    };
    let mut best = vec![vec![0.0f64; budget + 1]; candidates.len() + 1];
    for i in (0..candidates.len()).rev() {
        let (cost, after) = (units(&candidates[i]), next(i));
        for room in 0..=budget {
            let mut most = best[i + 1][room];
            if cost <= room && candidates[i].gain > 0.0 {
                most = most.max(best[after][room - cost] + candidates[i].gain);
            }
            best[i][room] = most;
        }
    }
    let (mut chosen, mut i, mut room) = (BTreeSet::new(), 0, budget);
    while i < candidates.len() {
        if best[i][room] > best[i + 1][room] {
            chosen.insert(i);
            room -= units(&candidates[i]);
            i = next(i);
        } else {
            i += 1;
        }
    }
    chosen
}
