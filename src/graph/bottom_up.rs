//! The paper's first method: the graph of executed instructions, whole, then merged up the
//! hierarchy. It shows what top-down saves, and its `bytes` and `transfers` must be those of
//! top-down.

use super::error::GraphError;
use super::model::{Flow, NodeId, Via};
use super::rows::{DataRow, report};
use crate::id::{CallId, FunctionId, ThreadId};
use crate::query::each;
use crate::replay::writers::{Access, communications};
use crate::replay::{Code, places};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An edge of the graph of steps: a communication.
struct StepEdge {
    /// Access (seq, ordinal), 0 if no step wrote.
    write: u64,
    read: u64,
    bytes: u32,
    /// None: no step wrote.
    write_thread: Option<ThreadId>,
    read_thread: ThreadId,
    via: Via,
    /// Pseudo-function, if no step wrote.
    nobody: Option<FunctionId>,
}

/// Number of an access.
fn access(access: Access) -> u64 {
    u64::try_from(access.seq).unwrap_or(0) << 16 | u64::from(access.ordinal)
}

/// One end of an edge of the graph of call instances; None: a pseudo-function.
type End = (Option<CallId>, Option<FunctionId>);

/// Bytes and transfers.
type Sums = (i64, i64);

/// Data edges between functions. The temporary table `merged` says what stubs belong to.
pub fn data(connection: &Connection) -> Result<Vec<DataRow>, GraphError> {
    let edges = steps(connection)?;
    let mut functions: BTreeMap<(NodeId, NodeId, Via), Sums> = BTreeMap::new();
    for ((writer, reader, via), (bytes, transfers)) in instances(connection, &edges)? {
        let node = |end: End| end.1.map_or(NodeId::Others, NodeId::Function);
        let sums = functions.entry((node(writer), node(reader), via)).or_default();
        *sums = (sums.0 + bytes, sums.1 + transfers);
    }
    let row = |((writer, reader, via), (bytes, transfers)): (_, Sums)| {
        let flow = Flow { transfers: Some(transfers), ..Flow::of_bytes(via, bytes) };
        DataRow { writer, reader, flow }
    };
    Ok(functions.into_iter().map(row).collect())
}

/// The graph of steps, in the order of the reads.
fn steps(connection: &Connection) -> Result<Vec<StepEdge>, GraphError> {
    let mut pseudo: FxHashMap<String, FunctionId> = FxHashMap::default();
    each(connection, report!("pseudo_nodes"), &[], |r| {
        pseudo.insert(r.get(1)?, r.get(0)?);
        Ok(())
    })?;
    let places = places(connection)?;
    let code = Code::open(connection)?;
    let mut edges: Vec<StepEdge> = Vec::new();
    communications(&code, connection, |c| {
        let first = c.bytes.first;
        let at = places.of(first, c.read.seq);
        let nobody = || pseudo.get(places.name(at.unwritten)).copied();
        edges.push(StepEdge {
            write: c.write.map_or(0, |w| access(w.access)),
            read: access(c.read),
            bytes: c.bytes.size,
            write_thread: c.write.map(|w| w.access.thread),
            read_thread: c.read.thread,
            via: Via::of(at.via),
            nobody: if c.write.is_some() { None } else { nobody() },
        });
    })?;
    Ok(edges)
}

/// Its sums by pair of call instances: parts that one access read of one other are one transfer.
fn instances(
    connection: &Connection,
    edges: &[StepEdge],
) -> Result<FxHashMap<(End, End, Via), Sums>, GraphError> {
    // First step, call, function.
    let mut intervals: FxHashMap<ThreadId, Vec<(u64, CallId, FunctionId)>> = FxHashMap::default();
    each(connection, report!("bottom_up_calls"), &[], |r| {
        let entry = (r.get(1)?, r.get(2)?, r.get(3)?);
        intervals.entry(r.get(0)?).or_default().push(entry);
        Ok(())
    })?;
    let call = |thread: ThreadId, access: u64| -> Option<End> {
        let list = intervals.get(&thread)?;
        let at = list.partition_point(|i| i.0 <= access >> 16).checked_sub(1)?;
        list.get(at).map(|&(_, call, function)| (Some(call), Some(function)))
    };
    let mut instances: FxHashMap<(End, End, Via), Sums> = FxHashMap::default();
    for group in edges.chunk_by(|a, b| a.read == b.read) {
        for (i, edge) in group.iter().enumerate() {
            let Some(reader) = call(edge.read_thread, edge.read) else { continue };
            let writer = if edge.write == 0 {
                (None, edge.nobody)
            } else {
                edge.write_thread.and_then(|t| call(t, edge.write)).unwrap_or_default()
            };
            let sums = instances.entry((writer, reader, edge.via)).or_default();
            sums.0 += i64::from(edge.bytes);
            sums.1 += i64::from(!group[..i].iter().any(|e| e.write == edge.write));
        }
    }
    Ok(instances)
}
