//! Steps of a part of the run as nodes: the paper's figure 1.

use super::load::report;
use super::select::{DataRow, Rows};
use super::{Flow, GraphError, Node, NodeId, NodeKind, PART, Selection, Via};
use crate::query::each;
use crate::replay::Code;
use crate::replay::dataflow::{Communication, Observer, replay};
use duckdb::{Connection, OptionalExt};
use std::collections::BTreeMap;

/// Steps of the longest part.
const LIMIT: i64 = 100_000;

struct Seen {
    range: (i64, i64),
    /// Only of this call instance.
    call: Option<i32>,
    steps: Vec<(i64, i32)>,
    found: Vec<Communication>,
}

impl Observer for Seen {
    fn communication(&mut self, c: &Communication) {
        if c.read.seq >= self.range.0 && self.call.is_none_or(|call| call == c.call) {
            self.found.push(*c);
        }
    }
    fn step(&mut self, seq: i64, instruction: i32, call: i32) -> bool {
        if seq >= self.range.0 && self.call.is_none_or(|c| c == call) {
            self.steps.push((seq, instruction));
        }
        true
    }
}

pub(super) fn rows(connection: &Connection, selection: &Selection) -> Result<Rows, GraphError> {
    let mut call = None;
    let range = match (selection.range, selection.focus) {
        (Some(range), _) => range,
        (None, Some(focus)) => {
            let sql = "SELECT call_id, call_seq, return_seq FROM function_call WHERE function_id = ? AND instance = ?";
            let found = connection
                .query_row(
                    sql,
                    duckdb::params![focus.function_id, focus.instance.unwrap_or(1)],
                    |r| {
                        Ok((
                            r.get::<_, i32>(0)?,
                            r.get::<_, Option<i64>>(1)?,
                            r.get::<_, Option<i64>>(2)?,
                        ))
                    },
                )
                .optional()?;
            let Some((id, Some(first), Some(last))) = found else {
                return Err(GraphError::NoRange);
            };
            call = Some(id);
            (first, last)
        }
        (None, None) => return Err(GraphError::NoRange),
    };
    let code = Code::open(connection)?;
    let range = (range.0.max(code.first), range.1.min(code.last));
    if call.is_none() && range.1 - range.0 >= LIMIT {
        return Err(GraphError::RangeTooLong { steps: range.1 - range.0 + 1, limit: LIMIT });
    }
    let mut seen = Seen { range, call, steps: Vec::new(), found: Vec::new() };
    replay(&code, connection, range.1, &mut seen)?;
    if seen.steps.len() as i64 > LIMIT {
        return Err(GraphError::RangeTooLong { steps: seen.steps.len() as i64, limit: LIMIT });
    }
    let mut texts: BTreeMap<i32, (String, String)> = BTreeMap::new();
    each(connection, report!("instruction_texts"), &[], |r| {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
        Ok(())
    })?;
    let names = super::contexts::function_names(connection)?;
    let name = |function: i32| names.get(&function).map_or("?", |n| n.0.as_str()).to_owned();
    let places = crate::replay::places(connection)?;
    let mut rows = Rows::default();
    for &(seq, instruction) in &seen.steps {
        let (text, line) = texts.get(&instruction).cloned().unwrap_or_default();
        let node = Node {
            id: PART + seq,
            name: text,
            kind: NodeKind::Step,
            text: vec![if line.is_empty() { seq.to_string() } else { format!("{seq}, {line}") }],
            function: Some(name(code.instruction(instruction).function)),
            steps_self: Some(1),
            members: 1,
            ..Node::default()
        };
        rows.nodes.insert(node.id, node);
    }
    let mut sums: BTreeMap<(NodeId, NodeId, Via), (i64, i64)> = BTreeMap::new();
    for c in &seen.found {
        let (via, unwritten) = places.at(c.is_register, c.address);
        let via = Via::parse(via);
        let writer = match c.write {
            Some(w) if rows.nodes.contains_key(&(PART + w.seq)) => PART + w.seq,
            Some(w) => {
                let function = code.instruction(w.instruction).function;
                let id = NodeId::from(function) + 1;
                let beside = if selection.range.is_some() { "before" } else { "beside" };
                rows.nodes.entry(id).or_insert_with(|| Node {
                    id,
                    name: format!("{} ({beside})", name(function)),
                    kind: NodeKind::Function,
                    members: 1,
                    ..Node::default()
                });
                id
            }
            None => {
                let id = -1 - unwritten as NodeId;
                rows.nodes.entry(id).or_insert_with(|| Node {
                    id,
                    name: places.name(unwritten).to_owned(),
                    kind: NodeKind::Pseudo,
                    ..Node::default()
                });
                id
            }
        };
        let sum = sums.entry((writer, PART + c.read.seq, via)).or_default();
        *sum = (sum.0 + i64::from(c.bytes), sum.1 + 1);
    }
    rows.data = sums
        .into_iter()
        .filter(|((_, _, via), _)| selection.via.is_empty() || selection.via.contains(via))
        .map(|((writer, reader, via), (bytes, transfers))| {
            let flow = Flow {
                via,
                bytes,
                unique_bytes: None,
                addresses: None,
                transfers: Some(transfers),
            };
            DataRow { writer, reader, flow }
        })
        .collect();
    Ok(rows)
}
