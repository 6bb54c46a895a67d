//! `function_edge_folded`, `call_edge_folded` and `function_profile_folded` of a trace of steps: sums
//! with stubs merged into their callers, as the pass has them. `queries/derive/high` says the same in
//! SQL.

use crate::analysis::{CallEdge, CallKind, FunctionSums, MergedSteps};
use crate::id::FunctionId;
use crate::store::StoreError;
use crate::store::table::{Destination, fill, fill_named};
use crate::store::tables::{self, FunctionEdge, FunctionProfileFolded};
use rustc_hash::{FxHashMap, FxHashSet};

/// Writer, reader and via.
pub type EdgeKey = (FunctionId, FunctionId, &'static str);
/// Bytes, unique bytes, addresses and transfers of an edge.
pub type Edge = (EdgeKey, [u64; 4]);

/// Rows in the order of their keys, those of one key added up. There may be millions: a map would
/// take twice the memory.
pub fn added<K: Ord, const N: usize>(mut rows: Vec<(K, [u64; N])>) -> Vec<(K, [u64; N])> {
    rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    rows.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1.iter_mut().zip(next.1).for_each(|(sum, n)| *sum += n);
        }
        same
    });
    rows
}

/// Fills `function_edge_folded`: `all` are the edges of all functions, `merged` what has to do with
/// `stubs`, as that of what they are merged into. `unique`: unique bytes and addresses were counted.
pub fn function_edges(
    into: Destination,
    (stubs, unique): (&FxHashSet<FunctionId>, bool),
    all: Vec<Edge>,
    merged: Vec<Edge>,
) -> Result<(), StoreError> {
    let own = all.into_iter().filter(|(key, _)| !stubs.contains(&key.0) && !stubs.contains(&key.1));
    let mut edges: Vec<_> = own.map(|edge| (edge, true)).collect();
    edges.extend(merged.into_iter().map(|edge| (edge, false)));
    edges.sort_by_key(|((key, _), _)| *key);
    edges.dedup_by(|((next, more), _), ((key, sums), whole)| {
        let same = next == key;
        if same {
            sums[0] += more[0];
            sums[3] += more[3];
            *whole = false;
        }
        same
    });
    let rows = edges.into_iter().map(|(((writer, reader, via), sums), whole)| FunctionEdge {
        writer_function_id: writer,
        reader_function_id: reader,
        via: Some(via),
        bytes: Some(sums[0]),
        // No sums of what the parts had.
        unique_bytes: (whole && unique).then_some(sums[1]),
        addresses: (whole && unique).then_some(sums[2]),
        transfers: Some(sums[3]),
    });
    fill_named(into, "function_edge_folded", rows)
}

/// Fills `call_edge_folded`: `all` are the calls of all functions, `merged` those by `stubs` as
/// their callers', and of stubs that nothing called.
pub fn call_edges(
    into: Destination,
    stubs: &FxHashSet<FunctionId>,
    all: &[CallEdge],
    merged: &[CallEdge],
) -> Result<(), StoreError> {
    let is_own = |edge: &&CallEdge| {
        !stubs.contains(&edge.callee) && edge.caller.is_none_or(|caller| !stubs.contains(&caller))
    };
    let key = |edge: &CallEdge| -> (Option<FunctionId>, FunctionId, CallKind) {
        (edge.caller, edge.callee, edge.kind)
    };
    let mut edges: Vec<CallEdge> = all.iter().filter(is_own).chain(merged).copied().collect();
    edges.sort_unstable_by_key(key);
    edges.dedup_by(|next, edge| {
        let same = key(next) == key(edge);
        if same {
            edge.calls += next.calls;
            edge.steps += next.steps;
        }
        same
    });
    let rows = edges.into_iter().map(|edge| tables::CallEdge {
        caller_function_id: edge.caller,
        callee_function_id: edge.callee,
        kind: edge.kind,
        calls: edge.calls,
        steps: Some(edge.steps),
    });
    fill_named(into, "call_edge_folded", rows)
}

/// Fills `function_profile_folded`: `functions` are the sums of all, by id, `merged` says what merging stubs changed.
pub fn profiles(
    into: Destination,
    functions: &[FunctionSums],
    merged: &FxHashMap<FunctionId, MergedSteps>,
) -> Result<(), StoreError> {
    let ran = functions.iter().enumerate().filter(|(_, sums)| sums.calls > 0);
    let rows = ran.filter_map(|(f, sums)| {
        let function_id = FunctionId::at(f);
        let of = merged.get(&function_id).copied().unwrap_or_default();
        (sums.calls > of.calls).then(|| FunctionProfileFolded {
            function_id,
            calls: Some(sums.calls - of.calls),
            steps_self: Some(sums.steps_self - of.steps + of.come),
            steps_total: (of.calls == 0).then_some(sums.steps_total),
        })
    });
    fill(into, rows)
}
