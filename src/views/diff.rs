//! Two runs compared: two inputs, two builds, two algorithms.

use super::grouped::Grouped;
use super::{ViewError, report};
use crate::graph::{Change, Edge, EdgeKind, Flow, Graph, Level, Node, NodeId, NodeKind, Via};
use crate::text::growth;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// function, call or data.
    pub what: String,
    /// The function; the caller; the writer.
    pub one: String,
    /// The callee; the reader.
    pub two: Option<String>,
    pub via: Option<String>,
    /// Steps, calls, bytes; None: not there.
    pub before: Option<i64>,
    pub after: Option<i64>,
}

impl Difference {
    pub fn change(&self) -> Change {
        change(self.before, self.after)
    }

    /// In percent.
    pub fn growth(&self) -> Option<f64> {
        self.before.zip(self.after).and_then(|(before, after)| growth(before, after))
    }
}

fn change(before: Option<i64>, after: Option<i64>) -> Change {
    match (before, after) {
        (None, _) => Change::Added,
        (_, None) => Change::Gone,
        (Some(a), Some(b)) if b > a => Change::Grown,
        (Some(a), Some(b)) if b < a => Change::Shrunk,
        _ => Change::Same,
    }
}

/// Everything that both or one of two databases have, by name: that of the connection and the one
/// in it that is called `other` ([`crate::store::open::open_both`]).
pub fn differences(connection: &Connection) -> Result<Vec<Difference>, ViewError> {
    let mut statement = connection.prepare(report!("diff"))?;
    let rows = statement.query_map([], |r| {
        Ok(Difference {
            what: r.get(0)?,
            one: r.get(1)?,
            two: r.get(2)?,
            via: r.get(3)?,
            before: r.get(4)?,
            after: r.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The same with groups in the place of their functions, whose figures are added up.
pub fn grouped(differences: Vec<Difference>, groups: &Grouped) -> Vec<Difference> {
    if groups.is_empty() {
        return differences;
    }
    let sum = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    let mut found: Vec<Difference> = Vec::new();
    let mut at = BTreeMap::new();
    for mut d in differences {
        d.one = groups.name(d.one);
        d.two = d.two.map(|two| groups.name(two));
        let key = (d.what.clone(), d.one.clone(), d.two.clone(), d.via.clone());
        let place = *at.entry(key).or_insert(found.len());
        match found.get_mut(place) {
            Some(known) => {
                known.before = sum(known.before, d.before);
                known.after = sum(known.after, d.after);
            }
            None => found.push(d),
        }
    }
    found
}

/// A function with its steps in both runs.
fn node(index: usize, name: &str, d: Option<&Difference>) -> Node {
    let kind = if d.is_none() { NodeKind::Pseudo } else { NodeKind::Function };
    let text = match d.map(|d| (d.change(), d.before, d.after)) {
        Some((Change::Grown | Change::Shrunk, Some(a), Some(b))) => {
            let by = growth(a, b).map_or(String::new(), |by| format!(", {by:+.0} %"));
            vec![format!("{b} steps (was {a}{by})")]
        }
        Some((Change::Added | Change::Gone, a, b)) => {
            vec![format!("{} steps", a.or(b).unwrap_or(0))]
        }
        _ => Vec::new(),
    };
    Node {
        id: NodeId::listed(index),
        name: name.to_owned(),
        kind,
        text,
        steps_self: d.and_then(|d| d.after.or(d.before)),
        members: 1,
        change: d.map_or(Change::Same, |d| d.change()),
        ..Node::default()
    }
}

/// The edges that differ the most with the functions at their ends, and `(others)` for nothing:
/// what is left out is counted.
pub fn graph(differences: &[Difference], top: usize) -> Graph {
    let mut flows: BTreeMap<(&str, &str), Vec<&Difference>> = BTreeMap::new();
    let mut calls: BTreeMap<(&str, &str), &Difference> = BTreeMap::new();
    let mut steps: BTreeMap<&str, &Difference> = BTreeMap::new();
    for d in differences {
        match (d.what.as_str(), d.two.as_deref()) {
            ("function", _) => {
                steps.insert(&d.one, d);
            }
            ("call", Some(two)) => {
                calls.insert((&d.one, two), d);
            }
            (_, Some(two)) if d.one != two => flows.entry((&d.one, two)).or_default().push(d),
            _ => {}
        }
    }
    let sum = |list: &[&Difference], of: fn(&Difference) -> Option<i64>| {
        list.iter().filter_map(|d| of(d)).reduce(|a, b| a.saturating_add(b))
    };
    // By difference, calls by the steps of what they call; unchanged ones only where room is left, beside changed ones.
    let whole = |of: fn(&Difference) -> Option<i64>| {
        (
            flows.values().filter_map(|l| sum(l, of)).sum::<i64>(),
            calls.values().filter_map(|d| of(d)).sum::<i64>(),
        )
    };
    let (before, after) = (whole(|d| d.before), whole(|d| d.after));
    let (data_total, call_total) =
        (before.0.max(after.0).max(1) as f64, before.1.max(after.1).max(1) as f64);
    let mut order: Vec<(f64, f64, bool, (&str, &str))> = Vec::new();
    for (&ends, list) in &flows {
        let (a, b) = (sum(list, |d| d.before).unwrap_or(0), sum(list, |d| d.after).unwrap_or(0));
        order.push((b.abs_diff(a) as f64 / data_total, a.max(b) as f64 / data_total, true, ends));
    }
    for (&ends, d) in &calls {
        let (a, b) = (d.before.unwrap_or(0), d.after.unwrap_or(0));
        order.push((b.abs_diff(a) as f64 / call_total, a.max(b) as f64 / call_total, false, ends));
    }
    order.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then((a.3, a.2).cmp(&(b.3, b.2)))
    });
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut drawn: BTreeSet<(bool, (&str, &str))> = BTreeSet::new();
    let (differing, same): (Vec<&_>, Vec<&_>) = order.iter().partition(|o| o.0 > 0.0);
    // What is the same is drawn beside what is not.
    for list in [differing, same] {
        let changed = names.clone();
        let near = |name: &str| changed.is_empty() || changed.contains(name);
        for &&(_, _, data, ends) in &list {
            let new = [ends.0, ends.1].iter().filter(|n| !names.contains(**n)).count();
            let near = near(ends.0) || near(ends.1);
            if near && names.len() + new <= top && drawn.len() < 3 * top {
                names.extend([ends.0, ends.1]);
                drawn.insert((data, ends));
            }
        }
    }
    let mut graph = Graph::new(Level::Function);
    graph.title = Some("Functions, the second run against the first".into());
    graph.steps = steps.values().filter_map(|d| d.after.or(d.before)).sum();
    let mut index = BTreeMap::new();
    for (i, &name) in names.iter().enumerate() {
        let node = node(i, name, steps.get(name).copied());
        index.insert(name, graph.graph.add_node(node));
    }
    for &(data, (one, two)) in &drawn {
        let (a, b) = (index[one], index[two]);
        if data {
            let list = &flows[&(one, two)];
            let (before, after) = (sum(list, |d| d.before), sum(list, |d| d.after));
            let shown =
                list.iter().filter(|d| if after.is_some() { d.after.is_some() } else { true });
            let mut parts: Vec<Flow> = shown
                .map(|d| Flow {
                    via: Via::of(d.via.as_deref().unwrap_or("other")),
                    bytes: d.after.or(d.before).unwrap_or(0),
                    unique_bytes: None,
                    addresses: None,
                    transfers: None,
                })
                .collect();
            parts.sort_by_key(|f| f.via);
            let edge = Edge::new(EdgeKind::Data(parts));
            graph.graph.add_edge(a, b, Edge { change: change(before, after), before, ..edge });
        } else {
            let d = calls[&(one, two)];
            let edge =
                Edge::new(EdgeKind::Call { calls: d.after.or(d.before).unwrap_or(0), steps: None });
            graph.graph.add_edge(a, b, Edge { change: d.change(), before: d.before, ..edge });
        }
    }
    let left = order.iter().filter(|o| !drawn.contains(&(o.2, o.3)));
    let (differ, same): (Vec<&_>, Vec<&_>) = left.partition(|o| o.0 > 0.0);
    if !differ.is_empty() {
        graph.left_out.push(format!("{} edges that differ less", differ.len()));
    }
    if !same.is_empty() {
        graph.left_out.push(format!("{} edges that are the same", same.len()));
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(one: &str, two: &str, before: Option<i64>, after: Option<i64>) -> Difference {
        let (what, via) = ("data".to_owned(), Some("heap".to_owned()));
        Difference { what, one: one.into(), two: Some(two.into()), via, before, after }
    }

    fn drawn(list: &[Difference]) -> Vec<String> {
        graph(list, 10).graph.node_weights().map(|node| node.name.clone()).collect()
    }

    #[test]
    fn what_is_the_same_is_drawn_beside_what_changed() {
        let mut list = vec![
            data("loader", "linker", Some(1_000_000), Some(1_000_000)),
            data("read", "parse", Some(500), Some(500)),
            data("parse", "sum", None, Some(100)),
        ];
        assert_eq!(drawn(&list), ["parse", "read", "sum"]);
        assert_eq!(graph(&list, 10).left_out, ["1 edges that are the same"]);
        // Of two runs that are the same, all are.
        list.pop();
        assert_eq!(drawn(&list), ["linker", "loader", "parse", "read"]);
    }
}
