//! Steps of a part of the run as nodes: the paper's figure 1.

use super::error::GraphError;
use super::model::{Flow, Node, NodeId, NodeKind, Via};
use super::names::FunctionNames;
use super::rows::{DataRow, LevelRows, report};
use super::selection::Selection;
use crate::id::{CallId, InstructionId, Seq};
use crate::query::each;
use crate::replay::writers::{Communication, Observer, observe};
use crate::replay::{Code, Places, Step, places};
use duckdb::{Connection, OptionalExt};
use std::collections::BTreeMap;

/// Steps of the longest part.
const LIMIT: i64 = 100_000;

/// First and last step, inclusive.
type Range = (i64, i64);

/// What of the run is drawn, and what was seen of it.
struct Watch {
    range: Range,
    /// Only of this call instance.
    call: Option<CallId>,
    steps: Vec<(i64, InstructionId)>,
    found: Vec<Communication>,
}

impl Watch {
    fn shows(&self, seq: i64, call: Option<CallId>) -> bool {
        seq >= self.range.0 && (self.call.is_none() || self.call == call)
    }
}

impl Observer for Watch {
    fn communication(&mut self, c: &Communication) {
        if self.shows(c.read.seq, c.call) {
            self.found.push(*c);
        }
    }
    fn end(&mut self, step: &Step) -> bool {
        if self.shows(step.seq, step.call) {
            self.steps.push((step.seq, step.instruction));
        }
        true
    }
}

pub fn read(connection: &Connection, selection: &Selection) -> Result<LevelRows, GraphError> {
    let (range, call) = wanted(connection, selection)?;
    let code = Code::open(connection)?;
    let range = (range.0.max(code.first), range.1.min(code.last));
    let too_long = |steps| Err(GraphError::RangeTooLong { steps, limit: LIMIT });
    if call.is_none() && range.1 - range.0 >= LIMIT {
        return too_long(range.1 - range.0 + 1);
    }
    let mut watch = Watch { range, call, steps: Vec::new(), found: Vec::new() };
    observe(&code, connection, range.1, &mut watch)?;
    match i64::try_from(watch.steps.len()) {
        Ok(..=LIMIT) => {}
        count => return too_long(count.unwrap_or(i64::MAX)),
    }
    let names = FunctionNames::read(connection)?;
    let mut rows = LevelRows::default();
    add_steps(connection, &code, &names, &watch.steps, &mut rows)?;
    let beside = if selection.range.is_some() { "before" } else { "beside" };
    let sources = Sources { code: &code, names: &names, places: places(connection)?, beside };
    let mut sums: BTreeMap<(NodeId, NodeId, Via), (i64, i64)> = BTreeMap::new();
    for c in &watch.found {
        let first = c.bytes.first;
        let at = sources.places.of(first, c.read.seq);
        let via = Via::of(at.via);
        let writer = sources.node(c, at.unwritten, &mut rows);
        let sum = sums.entry((writer, step(c.read.seq), via)).or_default();
        *sum = (sum.0 + i64::from(c.bytes.size), sum.1 + 1);
    }
    for ((writer, reader, via), (bytes, transfers)) in sums {
        if selection.wants(via) {
            let flow = Flow { transfers: Some(transfers), ..Flow::of_bytes(via, bytes) };
            rows.data.push(DataRow { writer, reader, flow });
        }
    }
    Ok(rows)
}

/// The steps to draw, and the call instance that they are to be of.
fn wanted(
    connection: &Connection,
    selection: &Selection,
) -> Result<(Range, Option<CallId>), GraphError> {
    if let Some(range) = selection.range {
        return Ok((range, None));
    }
    let focus = selection.focus.ok_or(GraphError::NoRange)?;
    let sql = "SELECT call_id, call_seq, return_seq FROM function_call WHERE function_id = ? AND instance = ?";
    type Found = (CallId, Option<i64>, Option<i64>);
    let params = duckdb::params![focus.function_id, focus.instance.unwrap_or(1)];
    let found: Option<Found> =
        connection.query_row(sql, params, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).optional()?;
    match found {
        Some((call, Some(first), Some(last))) => Ok(((first, last), Some(call))),
        _ => Err(GraphError::NoRange),
    }
}

fn step(seq: i64) -> NodeId {
    NodeId::Step(u64::try_from(seq).ok().and_then(Seq::new).unwrap_or(Seq::FIRST))
}

fn add_steps(
    connection: &Connection,
    code: &Code,
    names: &FunctionNames,
    steps: &[(i64, InstructionId)],
    rows: &mut LevelRows,
) -> duckdb::Result<()> {
    let mut texts: BTreeMap<InstructionId, (String, String)> = BTreeMap::new();
    each(connection, report!("instruction_texts"), &[], |r| {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
        Ok(())
    })?;
    for &(seq, instruction) in steps {
        let (text, line) = texts.get(&instruction).cloned().unwrap_or_default();
        let node = Node {
            id: step(seq),
            name: text,
            kind: NodeKind::Step,
            text: vec![if line.is_empty() { seq.to_string() } else { format!("{seq}, {line}") }],
            function: Some(names.name(code.instruction(instruction).function).to_owned()),
            steps_self: Some(1),
            members: 1,
            ..Node::default()
        };
        rows.nodes.insert(node.id, node);
    }
    Ok(())
}

/// Where data comes from: steps that are drawn, functions of those that are not, pseudo-functions.
struct Sources<'a> {
    code: &'a Code,
    names: &'a FunctionNames,
    places: Places,
    /// Where the steps are that are not drawn.
    beside: &'static str,
}

impl Sources<'_> {
    /// The node that wrote what was read; makes it where it is no step.
    fn node(&self, c: &Communication, unwritten: usize, rows: &mut LevelRows) -> NodeId {
        let Some(write) = c.write else {
            let id = NodeId::unwritten(unwritten);
            let name = || self.places.name(unwritten).to_owned();
            let kind = NodeKind::Pseudo;
            let node = || Node { id, name: name(), kind, ..Node::default() };
            rows.nodes.entry(id).or_insert_with(node);
            return id;
        };
        let write = write.access;
        if rows.nodes.contains_key(&step(write.seq)) {
            return step(write.seq);
        }
        let function = self.code.instruction(write.instruction).function;
        let id = function.map_or(NodeId::Others, NodeId::Function);
        let name = || format!("{} ({})", self.names.name(function), self.beside);
        let node = || Node { id, name: name(), members: 1, ..Node::default() };
        rows.nodes.entry(id).or_insert_with(node);
        id
    }
}
