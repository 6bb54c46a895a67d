//! Which data and which calls between boxes are drawn.

use super::facts::Outside;
use super::fold::{Edges, Place, weight_of};
use super::model::OverviewLine;
use crate::graph::model::Via;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The share of the bytes that is drawn, if it takes no more than so many edges a box.
const ENOUGH: f64 = 0.9;
const EDGES_A_BOX: f64 = 1.2;
/// Boxes at most that are drawn as callers of a function of several boxes, and their least share of its calls.
const USERS: usize = 3;
const FEW_CALLS: f64 = 0.1;

/// Bytes between two boxes, the upper one first, down and up, by via.
type Pairs = BTreeMap<(usize, usize), [BTreeMap<Via, f64>; 2]>;

/// The lines that are drawn of the data between boxes, and the share of its bytes that they have.
pub fn choose_lines(edges: &Edges, at: &BTreeMap<&Place, usize>) -> (Vec<OverviewLine>, f64) {
    let mut pairs = Pairs::new();
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
    wanted.extend(through_helpers(&pairs, &wanted, at));
    let mut lines = Vec::new();
    for &(a, b) in &wanted {
        let [down, up] = &pairs[&(a, b)];
        let sum = |m: &BTreeMap<Via, f64>| m.values().fold(0.0, |a, b| a + b);
        let (from, to, there, back) =
            if sum(down) >= sum(up) { (a, b, down, up) } else { (b, a, up, down) };
        let via = there.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|v| *v.0);
        let (there, back) = (sum(there), sum(back));
        lines.push(OverviewLine { from, to, there, back, via, calls: 0 });
    }
    let share = wanted.iter().map(|e| size(&pairs[e])).fold(0.0, |a, b| a + b) / f64::max(all, 1.0);
    (lines, share)
}

/// The pairs with which data that goes into a function of several boxes goes on, and what goes out came in: of
/// each such function that has lines in one direction only the largest in the other one.
fn through_helpers(
    pairs: &Pairs,
    wanted: &BTreeSet<(usize, usize)>,
    at: &BTreeMap<&Place, usize>,
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let helpers = at.iter().filter(|(place, _)| matches!(place, Place::Shared(_)));
    for (_, &helper) in helpers {
        for inwards in [true, false] {
            let mut of: Vec<(f64, (usize, usize))> = Vec::new();
            for (&(a, b), [down, up]) in
                pairs.iter().filter(|((a, b), _)| *a == helper || *b == helper)
            {
                let bytes = weight_of(if inwards == (b == helper) { down } else { up });
                if bytes > 0.0 {
                    of.push((bytes, (a, b)));
                }
            }
            of.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let has_one = of.iter().any(|(_, ends)| wanted.contains(ends));
            found.extend(of.first().filter(|_| !has_one).map(|(_, ends)| *ends));
        }
    }
    found
}

/// The pairs on the widest ways from each source to a sink: of the widest ones the shortest.
fn paths(pairs: &Pairs, at: &BTreeMap<&Place, usize>) -> Vec<(usize, usize)> {
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
pub fn add_calls(
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
                lines.push(of_calls(from, to, calls));
            }
        }
    }
    // And one that has no line at all, as `main` where others do the work, by what it calls most.
    for (place, &from) in at {
        let called = calls.iter().filter(|((a, b), _)| a == *place && at.contains_key(b));
        let most = called.max_by_key(|c| *c.1);
        if let Some(((_, callee), &calls)) = most
            && matches!(place, Place::Function(_))
            && !lines.iter().any(|l| l.from == from || l.to == from)
        {
            lines.push(of_calls(from, at[callee], calls));
        }
    }
}

/// A function of several boxes that no data goes into, as far as is known, hangs on those that call it most.
pub fn add_users(
    users: &BTreeMap<Place, BTreeMap<Place, i64>>,
    at: &BTreeMap<&Place, usize>,
    lines: &mut Vec<OverviewLine>,
) {
    for (helper, users) in users {
        let Some(&to) = at.get(helper) else { continue };
        if lines.iter().any(|l| l.to == to || l.back > 0.0 && l.from == to) {
            continue;
        }
        let all: i64 = users.values().sum();
        let drawn = users.iter().filter_map(|(user, &calls)| Some((calls, *at.get(user)?)));
        let mut list: Vec<(i64, usize)> = drawn.collect();
        list.sort_by_key(|&(calls, user)| (-calls, user));
        let many = |(i, (calls, _)): &(usize, (i64, usize))| {
            *i == 0 || *calls as f64 >= FEW_CALLS * all as f64
        };
        let most = list.into_iter().take(USERS).enumerate().filter(many);
        for (_, (calls, from)) in most {
            if !lines.iter().any(|l| (l.from, l.to) == (to, from)) {
                lines.push(of_calls(from, to, calls));
            }
        }
    }
}

fn of_calls(from: usize, to: usize, calls: i64) -> OverviewLine {
    OverviewLine { from, to, there: 0.0, back: 0.0, via: None, calls }
}
