//! Call instances and the dataflow between them, by columns: a run has millions.

use crate::graph::error::GraphError;
use crate::graph::model::{Flow, NodeId, Via};
use crate::graph::rows::{DataRow, report};
use crate::id::FunctionId;
use crate::query::each;
use crate::replay::column;
use duckdb::Connection;
use duckdb::arrow::array::{BooleanArray, Int32Array, Int64Array, StringArray, UInt32Array};
use rustc_hash::FxHashMap;

/// Rows of dataflow that are in memory at a time.
const WINDOW: i64 = 1 << 20;

/// Call instances by `call_id`, which are dense from 1; the first is none.
pub struct CallColumns {
    pub function: Vec<i32>,
    /// 0: none; of what a handler has become by a jump that handler.
    pub parent: Vec<i32>,
    /// Whether it is a handler of a signal or an exception, or what one has become.
    pub handler: Vec<bool>,
    pub steps: Vec<i64>,
    /// First step.
    pub begin: Vec<i64>,
}

impl CallColumns {
    pub fn read(connection: &Connection) -> Result<CallColumns, GraphError> {
        const TABLE: &str = "function_call";
        let sql = "SELECT count(*) FROM function_call";
        let count: i64 = connection.query_row(sql, [], |r| r.get(0))?;
        let len = usize::try_from(count).unwrap_or(0) + 1;
        let mut found = CallColumns {
            function: vec![0; len],
            parent: vec![0; len],
            handler: vec![false; len],
            steps: vec![0; len],
            begin: vec![0; len],
        };
        let mut jumped: Vec<(usize, i32)> = Vec::new();
        let mut statement = connection.prepare(report!("overview_calls"))?;
        for batch in statement.query_arrow([])? {
            let call = column::<Int32Array>(&batch, 0, TABLE, "call_id")?;
            let function = column::<Int32Array>(&batch, 1, TABLE, "function_id")?;
            let parent = column::<Int32Array>(&batch, 2, TABLE, "parent_call_id")?;
            let steps = column::<Int64Array>(&batch, 3, TABLE, "steps_self")?;
            let begin = column::<Int64Array>(&batch, 4, TABLE, "call_seq")?;
            let tail = column::<Int32Array>(&batch, 5, TABLE, "tail_of_call_id")?;
            let signal = column::<BooleanArray>(&batch, 6, TABLE, "is_signal")?;
            for i in 0..batch.num_rows() {
                let Some(at) = usize::try_from(call.value(i)).ok().filter(|&at| at < len) else {
                    continue;
                };
                found.function[at] = function.value(i);
                found.parent[at] = parent.value(i);
                found.steps[at] = steps.value(i);
                found.begin[at] = begin.value(i);
                found.handler[at] = signal.value(i);
                if tail.value(i) > 0 {
                    jumped.push((at, tail.value(i)));
                }
            }
        }
        // Who jumps has a smaller id; rows come in no order.
        jumped.sort_unstable();
        for (at, from) in jumped {
            let of = usize::try_from(from).ok().filter(|&of| found.handler.get(of) == Some(&true));
            if of.is_some() {
                (found.handler[at], found.parent[at]) = (true, from);
            }
        }
        Ok(found)
    }
}

/// What a place is: its via, and the pseudo-function that wrote what no step wrote.
fn places(connection: &Connection) -> duckdb::Result<FxHashMap<u32, (Via, i32)>> {
    let mut found = FxHashMap::default();
    each(connection, report!("overview_places"), &[], |r| {
        let via = Via::of(&r.get::<_, String>(1)?);
        found.insert(r.get(0)?, (via, r.get(2)?));
        Ok(())
    })?;
    Ok(found)
}

/// Dataflow between contexts, where `of_call` has the context of each call: nodes are their places in
/// a list, and pseudo-functions.
pub fn flows(connection: &Connection, of_call: &[usize]) -> Result<Vec<DataRow>, GraphError> {
    const TABLE: &str = "dataflow_row";
    let places = places(connection)?;
    let context = |call: i32| usize::try_from(call).ok().and_then(|c| of_call.get(c)).copied();
    let mut sums: FxHashMap<(NodeId, usize, Via), i64> = FxHashMap::default();
    let sql = "SELECT coalesce(max(rowid), -1) FROM dataflow_row";
    let last: i64 = connection.query_row(sql, [], |r| r.get(0))?;
    let mut statement = connection.prepare(report!("overview_data"))?;
    let mut first = 0;
    while first <= last {
        for batch in statement.query_arrow([first, first + WINDOW])? {
            let writer = column::<Int32Array>(&batch, 0, TABLE, "writer")?;
            let reader = column::<Int32Array>(&batch, 1, TABLE, "reader_call_id")?;
            let place = column::<UInt32Array>(&batch, 2, TABLE, "place_id")?;
            let bytes = column::<Int64Array>(&batch, 3, TABLE, "bytes")?;
            for i in 0..batch.num_rows() {
                let Some(&(via, source)) = places.get(&place.value(i)) else { continue };
                let from = match writer.value(i) {
                    call @ 1.. => context(call).map(NodeId::listed),
                    0 => FunctionId::from_column(source).map(NodeId::pseudo),
                    id => id.checked_neg().and_then(FunctionId::from_column).map(NodeId::pseudo),
                };
                if let Some((from, to)) = from.zip(context(reader.value(i))) {
                    let sum: &mut i64 = sums.entry((from, to, via)).or_default();
                    *sum = sum.saturating_add(bytes.value(i));
                }
            }
        }
        first += WINDOW;
    }
    let row = |((writer, to, via), bytes)| DataRow {
        writer,
        reader: NodeId::listed(to),
        flow: Flow::of_bytes(via, bytes),
    };
    Ok(sums.into_iter().map(row).collect())
}

/// Dataflow between calling contexts, as the build stored it. `node`: of a context, or of a function where
/// negative.
pub fn context_flows(
    connection: &Connection,
    node: impl Fn(i32) -> Option<NodeId>,
) -> Result<Vec<DataRow>, GraphError> {
    const TABLE: &str = "stack_edge";
    let mut sums: FxHashMap<(NodeId, NodeId, Via), i64> = FxHashMap::default();
    let mut statement = connection.prepare(report!("overview_contexts"))?;
    for batch in statement.query_arrow([])? {
        let writer = column::<Int32Array>(&batch, 0, TABLE, "writer")?;
        let reader = column::<Int32Array>(&batch, 1, TABLE, "reader")?;
        let via = column::<StringArray>(&batch, 2, TABLE, "via")?;
        let bytes = column::<Int64Array>(&batch, 3, TABLE, "bytes")?;
        for i in 0..batch.num_rows() {
            if let Some((from, to)) = node(writer.value(i)).zip(node(reader.value(i))) {
                let sum: &mut i64 = sums.entry((from, to, Via::of(via.value(i)))).or_default();
                *sum = sum.saturating_add(bytes.value(i));
            }
        }
    }
    let row = |((writer, reader, via), bytes)| DataRow {
        writer,
        reader,
        flow: Flow::of_bytes(via, bytes),
    };
    Ok(sums.into_iter().map(row).collect())
}
