//! A level as the database gives it: nodes and edges, all of them, in no order.

use super::model::{Flow, Node, NodeId, NodeKind, Via};
use super::selection::{Selection, Show};
use crate::id::{FunctionId, InstructionId};
use crate::query::each;
use duckdb::types::{FromSqlError, ValueRef};
use duckdb::{Connection, Row, ToSql};
use std::collections::BTreeMap;

/// A query of `queries/report`.
macro_rules! report {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/queries/report/", $name, ".sql"))
    };
}
pub(super) use report;

/// Data from one node to another.
#[derive(Clone, Copy, Debug)]
pub struct DataRow {
    pub writer: NodeId,
    pub reader: NodeId,
    pub flow: Flow,
}

/// Calls of one node by another.
#[derive(Clone, Copy, Debug)]
pub struct CallRow {
    pub caller: NodeId,
    pub callee: NodeId,
    pub calls: i64,
    pub steps: Option<i64>,
}

/// What one call instance has of the edges of its function.
#[derive(Default)]
pub struct InstanceEdges {
    pub data: Vec<DataRow>,
    pub calls: Vec<CallRow>,
}

/// Figures between two nodes that are no sums.
#[derive(Clone, Copy, Debug)]
pub struct GroupFigures {
    pub writer: NodeId,
    pub reader: NodeId,
    pub via: Via,
    /// Distinct cells.
    pub addresses: i64,
    /// For each entry into the reader.
    pub unique_bytes: i64,
}

/// A level as read.
#[derive(Default)]
pub struct LevelRows {
    pub nodes: BTreeMap<NodeId, Node>,
    pub data: Vec<DataRow>,
    pub calls: Vec<CallRow>,
    /// Control dependences.
    pub control: Vec<(NodeId, NodeId)>,
    /// Executed control flow, with counts.
    pub jumps: Vec<(NodeId, NodeId, i64)>,
    /// Bytes that loops carry from one iteration to a later one.
    pub carried: Vec<(NodeId, NodeId, i64)>,
    /// Where there are groups: what was found for them, if it could be.
    pub groups: Option<Vec<GroupFigures>>,
    pub focus: Vec<NodeId>,
    /// What data rows count is dependences, not bytes.
    pub dependences: bool,
    /// Of one instance of the focus.
    pub current: Option<InstanceEdges>,
}

/// What the numbers of a query's nodes are. Beside them 0 is the node of the others, and a negative
/// number a pseudo-function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Functions,
    Calls,
    Threads,
    /// Places, from 1.
    List,
    /// Two columns: the first instruction of a part of a function, or NULL and a function.
    Parts,
}

impl Numbers {
    fn columns(self) -> usize {
        if self == Numbers::Parts { 2 } else { 1 }
    }

    /// The node that a row names from a column on.
    pub fn node(self, r: &Row, column: usize) -> duckdb::Result<NodeId> {
        if self == Numbers::Parts {
            return Ok(match r.get::<_, Option<InstructionId>>(column)? {
                Some(first) => NodeId::Part(first),
                None => NodeId::Function(r.get(column + 1)?),
            });
        }
        let number: i64 = r.get(column)?;
        let bad = || {
            let error = FromSqlError::OutOfRange(number.into());
            let of = duckdb::types::Type::BigInt;
            duckdb::Error::FromSqlConversionFailure(column, of, Box::new(error))
        };
        let id = i32::try_from(number.unsigned_abs()).map_err(|_| bad())?;
        let positive = |id| match self {
            Numbers::Functions => FunctionId::from_column(id).map(NodeId::Function),
            Numbers::Calls => crate::id::CallId::from_column(id).map(NodeId::Call),
            Numbers::Threads => crate::id::ThreadId::from_column(id).map(NodeId::Thread),
            Numbers::List | Numbers::Parts => u32::try_from(id).ok().map(NodeId::Listed),
        };
        match number {
            0 => Ok(NodeId::Others),
            ..0 => FunctionId::from_column(id).map(NodeId::pseudo).ok_or_else(bad),
            1.. => positive(id).ok_or_else(bad),
        }
    }
}

fn data_row(r: &Row, numbers: Numbers) -> duckdb::Result<DataRow> {
    let (reader, flow) = (numbers.columns(), 2 * numbers.columns());
    let via = match r.get_ref(flow)? {
        ValueRef::Text(text) => Via::of(std::str::from_utf8(text).unwrap_or_default()),
        _ => Via::Other,
    };
    // Dependences without sizes: how many there are takes the place of bytes, and the graph says
    // so.
    let transfers: Option<i64> = r.get(flow + 4)?;
    let bytes = match r.get::<_, Option<i64>>(flow + 1)? {
        Some(bytes) => bytes,
        None => transfers.unwrap_or(0),
    };
    Ok(DataRow {
        writer: numbers.node(r, 0)?,
        reader: numbers.node(r, reader)?,
        flow: Flow {
            via,
            bytes,
            unique_bytes: r.get(flow + 2)?,
            addresses: r.get(flow + 3)?,
            transfers,
        },
    })
}

/// Data edges of a query with columns writer, reader, via, bytes, unique_bytes, addresses,
/// transfers; those that the selection wants.
pub fn data(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    numbers: Numbers,
    selection: &Selection,
) -> duckdb::Result<Vec<DataRow>> {
    let mut rows = Vec::new();
    each(connection, sql, params, |r| {
        let row = data_row(r, numbers)?;
        if selection.wants(row.flow.via) {
            rows.push(row);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Call edges of a query with columns caller, callee, calls, steps.
pub fn calls(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    numbers: Numbers,
) -> duckdb::Result<Vec<CallRow>> {
    let mut rows = Vec::new();
    let (callee, calls) = (numbers.columns(), 2 * numbers.columns());
    each(connection, sql, params, |r| {
        rows.push(CallRow {
            caller: numbers.node(r, 0)?,
            callee: numbers.node(r, callee)?,
            calls: r.get(calls)?,
            steps: r.get(calls + 1)?,
        });
        Ok(())
    })?;
    Ok(rows)
}

/// Nodes of a query with columns id, name, kind, file, image, calls, steps_self, steps_total.
/// `kind`: of those that are neither pseudo-functions nor the others, where it is not the query's.
pub fn nodes(
    connection: &Connection,
    sql: &str,
    numbers: Numbers,
) -> duckdb::Result<BTreeMap<NodeId, Node>> {
    let mut nodes = BTreeMap::new();
    each(connection, sql, &[], |r| {
        let kind = match r.get_ref(2)?.as_str().unwrap_or_default() {
            "pseudo" => NodeKind::Pseudo,
            "others" => NodeKind::Others,
            _ if numbers == Numbers::Calls => NodeKind::Instance,
            "stub" => NodeKind::Stub,
            _ => NodeKind::Function,
        };
        let calls: i64 = r.get(5)?;
        let members =
            if kind == NodeKind::Others { usize::try_from(calls).unwrap_or(0) } else { 1 };
        let id = numbers.node(r, 0)?;
        let node = Node {
            id,
            name: r.get(1)?,
            kind,
            file: r.get(3)?,
            image: r.get(4)?,
            calls,
            steps_self: r.get(6)?,
            steps_total: r.get(7)?,
            members,
            ..Node::default()
        };
        nodes.insert(id, node);
        Ok(())
    })?;
    Ok(nodes)
}

/// The queries of a level whose nodes, data and calls are a query each.
pub struct Queries {
    pub numbers: Numbers,
    pub nodes: &'static str,
    pub data: &'static str,
    pub calls: &'static str,
}

impl Queries {
    /// Runs those that the selection asks for.
    pub fn run(&self, connection: &Connection, selection: &Selection) -> duckdb::Result<LevelRows> {
        let nodes = nodes(connection, self.nodes, self.numbers)?;
        let mut rows = LevelRows { nodes, ..LevelRows::default() };
        if selection.shows(Show::Data) {
            rows.data = data(connection, self.data, &[], self.numbers, selection)?;
        } else {
            rows.nodes.retain(|_, n| n.kind != NodeKind::Pseudo);
        }
        if selection.shows(Show::Calls) {
            rows.calls = calls(connection, self.calls, &[], self.numbers)?;
        }
        Ok(rows)
    }
}

/// Recorded control dependences between nodes; the temporary table `part` says which instructions
/// are parts, the others are of their functions.
pub fn recorded_control(connection: &Connection, rows: &mut LevelRows) -> duckdb::Result<()> {
    each(connection, report!("recorded_control"), &[], |r| {
        let (a, b) = (Numbers::Parts.node(r, 0)?, Numbers::Parts.node(r, 2)?);
        if a != b {
            rows.control.push((a, b));
        }
        Ok(())
    })
}

/// Fills a temporary table of two columns of numbers.
pub fn fill(
    connection: &Connection,
    table: &str,
    rows: impl Iterator<Item = (i64, i64)>,
) -> duckdb::Result<()> {
    let mut appender = connection.appender_to_catalog_and_db(table, "temp", "main")?;
    for (a, b) in rows {
        appender.append_row([a, b])?;
    }
    appender.flush()
}

/// The node of all that is not drawn by itself.
pub fn others() -> Node {
    Node { name: "(others)".into(), kind: NodeKind::Others, ..Node::default() }
}

impl LevelRows {
    /// Adds the node of what has none of its own, where data comes from there.
    pub fn add_others(&mut self) {
        let is = |row: &DataRow| row.writer == NodeId::Others || row.reader == NodeId::Others;
        if self.data.iter().any(is) {
            self.nodes.entry(NodeId::Others).or_insert_with(others);
        }
    }

    /// Moves every end of an edge to another node.
    pub fn rename(&mut self, to: impl Fn(NodeId) -> NodeId) {
        let current = self.current.as_mut();
        let (data, calls) =
            current.map_or((None, None), |c| (Some(&mut c.data), Some(&mut c.calls)));
        for row in self.data.iter_mut().chain(data.into_iter().flatten()) {
            (row.writer, row.reader) = (to(row.writer), to(row.reader));
        }
        for row in self.calls.iter_mut().chain(calls.into_iter().flatten()) {
            // A call inside one node is recursion of a function, or inner life of a group.
            let (a, b) = (to(row.caller), to(row.callee));
            if a == b && row.caller != row.callee {
                row.calls = 0;
            }
            (row.caller, row.callee) = (a, b);
        }
        self.calls.retain(|c| c.calls > 0);
        // Neither control dependences nor control flow within one node that stands for several say
        // anything.
        let within = |a, b| a == NodeId::Others && b == NodeId::Others;
        self.control.iter_mut().for_each(|c| *c = (to(c.0), to(c.1)));
        self.control.retain(|c| !within(c.0, c.1));
        self.jumps.iter_mut().for_each(|j| *j = (to(j.0), to(j.1), j.2));
        self.jumps.retain(|j| !within(j.0, j.1));
        self.carried.iter_mut().for_each(|c| *c = (to(c.0), to(c.1), c.2));
    }
}

/// A sum in which unknown parts count nothing, unless all are unknown.
pub fn add(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}
