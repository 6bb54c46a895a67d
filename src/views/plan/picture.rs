//! A plan as a graph: a frame for what moves and for each part, with what goes between them.

use super::parts::Parts;
use super::run::Run;
use super::sets::Plan;
use crate::graph::{Edge, EdgeKind, Flow, Graph, Level, Node, NodeId, NodeKind, Via};
use crate::text::{human_count, shorten};
use petgraph::graph::NodeIndex;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A count for a picture.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Plan {
    /// What moves, each set in a frame, and what stays.
    pub fn picture(&self, top: usize) -> Graph {
        let mut frame: Vec<Option<usize>> =
            self.run.functions.iter().map(|f| (!f.is_pseudo).then_some(0)).collect();
        let mut names = vec!["stays".to_owned()];
        for set in &self.sets[..self.chosen] {
            set.members.iter().for_each(|&at| frame[at] = Some(names.len()));
            let name = shorten(&self.run.functions[set.root].name, 24);
            let gain = self.share(set).gain;
            names.push(format!("move {name}: {:.0} % less time", 100.0 * gain));
        }
        let mut graph = framed(&self.run, &frame, &names, top);
        graph.title = Some("What to move, with the bytes that each call reads once,".into());
        graph.notes.push(self.headline());
        graph
    }

    /// A frame for each part.
    pub fn picture_of_parts(&self, run: &Run, parts: &Parts, top: usize) -> Graph {
        let share = |steps: u64| 100.0 * steps as f64 / run.steps.max(1) as f64;
        let names: Vec<String> = parts
            .parts
            .iter()
            .enumerate()
            .map(|(i, part)| format!("part {}: {:.0} % of the steps", i + 1, share(part.steps)))
            .collect();
        let mut graph = framed(run, &parts.of, &names, top);
        graph.title = Some("Parts, with the bytes that each call reads once,".into());
        graph.notes.push(parts.headline(run, &self.model()));
        let copies = parts.copies(run);
        graph.notes.extend(copies.map(|text| format!("{}.", text.replacen('e', "E", 1))));
        graph
    }
}

/// The functions with the most steps in their frames, the others of each frame as one box.
fn framed(run: &Run, frame: &[Option<usize>], names: &[String], top: usize) -> Graph {
    let mut order: Vec<usize> = (0..frame.len()).filter(|&at| frame[at].is_some()).collect();
    order.sort_by_key(|&at| (Reverse(run.functions[at].steps), at));
    let mut graph = Graph::new(Level::Function);
    graph.steps = signed(run.steps);
    let mut place: Vec<Option<NodeIndex>> = vec![None; frame.len()];
    let mut rest: BTreeMap<usize, NodeIndex> = BTreeMap::new();
    let mut seen = vec![0usize; names.len()];
    for &at in &order {
        let Some(of) = frame[at] else { continue };
        seen[of] += 1;
        let function = &run.functions[at];
        let is_heavy = function.steps * 33 >= run.steps && seen.iter().sum::<usize>() <= top;
        if is_heavy || seen[of] == 1 {
            place[at] = Some(graph.graph.add_node(Node {
                id: NodeId::listed(at),
                name: function.name.clone(),
                kind: NodeKind::Function,
                function: Some(names[of].clone()),
                steps_self: Some(signed(function.steps)),
                members: 1,
                ..Node::default()
            }));
            continue;
        }
        let index = *rest.entry(of).or_insert_with(|| {
            graph.graph.add_node(Node {
                id: NodeId::listed(frame.len() + of),
                kind: NodeKind::Others,
                function: Some(names[of].clone()),
                steps_self: Some(0),
                ..Node::default()
            })
        });
        let node = &mut graph.graph[index];
        node.members += 1;
        node.steps_self = node.steps_self.map(|steps| steps + signed(function.steps));
        place[at] = Some(index);
    }
    for &index in rest.values() {
        let node = &mut graph.graph[index];
        node.name = if node.members == 1 {
            "1 other".to_owned()
        } else {
            format!("{} others", human_count(node.members as i64))
        };
    }
    connect(run, frame, &place, &mut graph);
    graph
}

/// Data between boxes: all that goes from frame to frame and is a hundredth of the largest, and
/// the largest within them.
fn connect(run: &Run, frame: &[Option<usize>], place: &[Option<NodeIndex>], graph: &mut Graph) {
    let mut sums: BTreeMap<(NodeIndex, NodeIndex), (bool, BTreeMap<Via, i64>)> = BTreeMap::new();
    for flow in &run.flows {
        let (Some(from), Some(to)) = (place[flow.writer], place[flow.reader]) else { continue };
        if from != to {
            let sum = sums.entry((from, to)).or_default();
            sum.0 |= frame[flow.writer] != frame[flow.reader];
            *sum.1.entry(flow.via).or_default() += signed(flow.unique);
        }
    }
    let of = |vias: &BTreeMap<Via, i64>| vias.values().sum::<i64>();
    let most = sums.values().map(|(_, vias)| of(vias)).max().unwrap_or(0);
    let (mut left, mut bytes) = (0, 0);
    for ((from, to), (crosses, vias)) in sums {
        let all = of(&vias);
        if all * (if crosses { 100 } else { 20 }) < most {
            left += 1;
            bytes += all;
            continue;
        }
        let flows = vias.into_iter().map(|(via, bytes)| Flow::of_bytes(via, bytes)).collect();
        graph.graph.add_edge(from, to, Edge::new(EdgeKind::Data(flows)));
    }
    if left > 0 {
        graph.left_out.push(format!("{left} edges with {}", graph.amount(bytes)));
    }
}
