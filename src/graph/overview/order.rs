//! Boxes from top to bottom: as few bytes upwards as possible, and what runs first above what runs
//! later.

use super::facts::Outside;
use super::fold::{Edges, Place, Sum, weight_of};
use std::collections::BTreeMap;

/// What an inversion of two boxes in time costs, as a share of all bytes.
const INVERSION: f64 = 0.2;
/// Rounds of the search.
const ROUNDS: usize = 40;

/// Sources first, sinks last, the others by a search that moves one box at a time.
pub fn sort(boxes: &mut Vec<Place>, edges: &Edges, sums: &BTreeMap<Place, Sum>) {
    let is = |p: &Place, source: bool| match p {
        Place::Outside(Outside::Output(_)) => !source,
        Place::Outside(_) => source,
        _ => false,
    };
    let sources: Vec<Place> = boxes.iter().filter(|p| is(p, true)).cloned().collect();
    let sinks: Vec<Place> = boxes.iter().filter(|p| is(p, false)).cloned().collect();
    boxes.retain(|p| !is(p, true) && !is(p, false));
    let when = |p: &Place| sums.get(p).map_or(0.0, |s| s.when);
    boxes.sort_by(|a, b| when(a).total_cmp(&when(b)).then(a.cmp(b)));
    let n = boxes.len();
    let mut up = vec![vec![0.0; n]; n];
    let bytes = |a: &Place, b: &Place| edges.get(&(a.clone(), b.clone())).map_or(0.0, weight_of);
    let mut all = 0.0;
    for a in 0..n {
        for b in 0..n {
            up[a][b] = bytes(&boxes[a], &boxes[b]);
            all += up[a][b];
        }
    }
    let pairs = (n * n.saturating_sub(1) / 2).max(1) as f64;
    // Of a above b, by their places in time: what goes from b to a, and whether b was first.
    let cost = |a: usize, b: usize| {
        let late = if a > b { INVERSION / pairs } else { 0.0 };
        late + up[b][a] / f64::max(all, 1.0)
    };
    let mut order: Vec<usize> = (0..n).collect();
    for _ in 0..ROUNDS {
        let mut better = false;
        for i in 0..n {
            let moved = order[i];
            let mut rest = order.clone();
            rest.remove(i);
            let at = |place: usize| -> f64 {
                let above = rest[..place].iter().map(|&o| cost(o, moved));
                above.chain(rest[place..].iter().map(|&o| cost(moved, o))).sum()
            };
            let best = (0..n).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap_or(i);
            if at(best) + 1e-9 < at(i) {
                rest.insert(best, moved);
                order = rest;
                better = true;
            }
        }
        if !better {
            break;
        }
    }
    let middle: Vec<Place> = order.into_iter().map(|i| boxes[i].clone()).collect();
    *boxes = sources.into_iter().chain(middle).chain(sinks).collect();
}
