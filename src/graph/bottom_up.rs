//! The paper's first method: the graph of executed instructions, whole, then merged up the
//! hierarchy. It shows what top-down saves, and its `bytes` and `transfers` must be those of
//! top-down.

use super::load::report;
use super::select::DataRow;
use super::{Flow, GraphError, Via};
use crate::query::each;
use crate::replay::{self, Code};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An edge of the graph of steps: a communication.
struct StepEdge {
    /// Access (seq, ordinal), 0 if no step wrote.
    write: u64,
    read: u64,
    bytes: u32,
    write_thread: u16,
    read_thread: u16,
    via: u16,
    /// Pseudo-function, if no step wrote.
    nobody: i32,
}

/// Data edges between functions. The temporary table `merged` says what stubs belong to.
pub(super) fn rows(connection: &Connection) -> Result<Vec<DataRow>, GraphError> {
    let mut vias: Vec<String> = Vec::new();
    let mut pseudo: FxHashMap<String, i32> = FxHashMap::default();
    each(
        connection,
        "SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo'",
        &[],
        |r| {
            pseudo.insert(r.get(0)?, r.get(1)?);
            Ok(())
        },
    )?;
    // 1. Steps.
    let places = replay::places(connection)?;
    let code = Code::open(connection)?;
    let mut edges: Vec<StepEdge> = Vec::new();
    replay::dataflow::communications(&code, connection, |c| {
        let (via, unwritten) = places.at(c.is_register, c.address);
        let via = vias.iter().position(|v| v == via).unwrap_or_else(|| {
            vias.push(via.to_owned());
            vias.len() - 1
        });
        let access = |w: &replay::dataflow::Write| (w.seq as u64) << 16 | u64::from(w.ordinal);
        edges.push(StepEdge {
            write: c.write.as_ref().map_or(0, access),
            read: access(&c.read),
            bytes: c.bytes,
            write_thread: c.write.map_or(0, |w| w.thread),
            read_thread: c.read.thread,
            via: via as u16,
            nobody: if c.write.is_some() {
                0
            } else {
                pseudo.get(places.name(unwritten)).copied().unwrap_or(0)
            },
        });
    })?;
    // 2. Call instances: parts that one access read of one other are one transfer.
    let mut intervals: FxHashMap<u16, Vec<(u64, i32, i32)>> = FxHashMap::default();
    each(connection, report!("bottom_up_calls"), &[], |r| {
        let entry = (r.get::<_, i64>(1)? as u64, r.get(2)?, r.get(3)?);
        intervals.entry(r.get::<_, i32>(0)? as u16).or_default().push(entry);
        Ok(())
    })?;
    let call = |thread: u16, access: u64| {
        let list = intervals.get(&thread)?;
        let (_, call, function) =
            list.get(list.partition_point(|i| i.0 <= access >> 16).checked_sub(1)?)?;
        Some((*call, *function))
    };
    let mut instances: FxHashMap<(i32, i32, u16), (i64, i64, i32, i32)> = FxHashMap::default();
    for group in edges.chunk_by(|a, b| a.read == b.read) {
        for (i, edge) in group.iter().enumerate() {
            let Some((reader, reader_function)) = call(edge.read_thread, edge.read) else {
                continue;
            };
            let (writer, writer_function) = if edge.write == 0 {
                (-edge.nobody, edge.nobody)
            } else {
                call(edge.write_thread, edge.write).unwrap_or_default()
            };
            let sums = instances.entry((writer, reader, edge.via)).or_insert((
                0,
                0,
                writer_function,
                reader_function,
            ));
            sums.0 += i64::from(edge.bytes);
            sums.1 += i64::from(!group[..i].iter().any(|e| e.write == edge.write));
        }
    }
    drop(edges);
    // 3. Functions.
    let mut functions: BTreeMap<(i32, i32, u16), (i64, i64)> = BTreeMap::new();
    for ((_, _, via), (bytes, transfers, writer, reader)) in instances {
        let sums = functions.entry((writer, reader, via)).or_default();
        sums.0 += bytes;
        sums.1 += transfers;
    }
    let row =
        |((writer, reader, via), (bytes, transfers)): ((i32, i32, u16), (i64, i64))| DataRow {
            writer: writer.into(),
            reader: reader.into(),
            flow: Flow {
                via: Via::parse(&vias[usize::from(via)]),
                bytes,
                unique_bytes: None,
                addresses: None,
                transfers: Some(transfers),
            },
        };
    Ok(functions.into_iter().map(row).collect())
}
