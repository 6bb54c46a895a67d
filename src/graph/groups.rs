//! Figures of groups of functions that are no sums of those of their members.

use super::error::GraphError;
use super::grouping;
use super::model::{NodeId, Via};
use super::rows::{GroupFigures, LevelRows};
use super::selection::{Selection, Stubs};
use crate::id::FunctionId;
use crate::query::{each, keeps_part};
use crate::replay::crossing::{NodeNumber, Nodes, beside, between};
use crate::replay::{Places, places};
use duckdb::Connection;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Distinct cells between groups, and unique bytes for each entry into the reading group; None
/// where the communications are not kept or several threads ran. Edges at no group are left out
/// where their rows say it.
pub fn figures(
    connection: &Connection,
    rows: &LevelRows,
    selection: &Selection,
) -> Result<Option<Vec<GroupFigures>>, GraphError> {
    let sql = "SELECT (SELECT count(*) FROM thread) = 1 AND EXISTS (FROM communication_row)";
    if !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? || keeps_part(connection)? {
        return Ok(None);
    }
    let to = grouping::first_of_group(rows, selection);
    let mut ids: Vec<NodeId> = to.values().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    // There are fewer functions than ids.
    let number = |id: &NodeId| ids.binary_search(id).map_or(NodeNumber::MAX, |at| at as NodeNumber);
    let of = |id: NodeId| to.get(&id).map(number);
    let places = places(connection)?;
    let nodes = Nodes {
        of_function: to
            .iter()
            .filter_map(|(id, to)| match id {
                NodeId::Function(function) => Some((*function, number(to))),
                _ => None,
            })
            .collect(),
        folds_stubs: selection.stubs == Stubs::Fold,
        places: &places,
        via: &|via| place(Via::of(via)),
        sources: sources(connection, &places, of)?,
        wanted: wanted(rows, selection, &to, number),
    };
    let found = beside(connection, |stored| between(connection, &nodes, stored))?;
    let figures = found.into_iter().filter_map(|((writer, reader, via), sum)| {
        Some(GroupFigures {
            writer: *ids.get(writer as usize)?,
            reader: *ids.get(reader as usize)?,
            via: *Via::ALL.get(via)?,
            addresses: i64::try_from(sum.addresses).unwrap_or(i64::MAX),
            unique_bytes: i64::try_from(sum.unique_bytes).unwrap_or(i64::MAX),
        })
    });
    Ok(Some(figures.collect()))
}

/// The number of a via.
fn place(via: Via) -> usize {
    Via::ALL.iter().position(|&known| known == via).unwrap_or(Via::ALL.len())
}

/// By name of the places: the node that bytes are of which no step wrote.
fn sources(
    connection: &Connection,
    places: &Places,
    of: impl Fn(NodeId) -> Option<NodeNumber>,
) -> Result<Vec<Option<NodeNumber>>, GraphError> {
    let mut pseudo: HashMap<String, FunctionId> = HashMap::new();
    // Where the trace has what the kernel wrote, a cell without a writing step may be the kernel's:
    // unknown.
    let sql = "SELECT name, function_id FROM function_symbol
               WHERE kind = 'pseudo' AND NOT EXISTS (FROM system_call_access WHERE is_write)";
    each(connection, sql, &[], |r| {
        pseudo.insert(r.get(0)?, r.get(1)?);
        Ok(())
    })?;
    let source = |name: &String| of(NodeId::Function(*pseudo.get(name)?));
    Ok(places.names().iter().map(source).collect())
}

/// From which node to which what the rows say is no figure of the edge: at a group, and where rows
/// were put together.
fn wanted(
    rows: &LevelRows,
    selection: &Selection,
    to: &BTreeMap<NodeId, NodeId>,
    number: impl Fn(&NodeId) -> NodeNumber,
) -> FxHashSet<(NodeNumber, NodeNumber)> {
    let members = selection.groups.iter().flat_map(|(_, ids)| ids);
    let groups: BTreeSet<NodeId> =
        members.filter_map(|&id| to.get(&NodeId::Function(id)).copied()).collect();
    let mut known: BTreeMap<(NodeId, NodeId, Via), bool> = BTreeMap::new();
    for row in &rows.data {
        let (Some(&writer), Some(&reader)) = (to.get(&row.writer), to.get(&row.reader)) else {
            continue;
        };
        let known = known.entry((writer, reader, row.flow.via));
        known.and_modify(|known| *known = false).or_insert(row.flow.addresses.is_some());
    }
    let at_group = |writer, reader| groups.contains(writer) || groups.contains(reader);
    let wanted = known
        .iter()
        .filter(|((writer, reader, _), known)| !**known || at_group(writer, reader))
        .map(|((writer, reader, _), _)| (number(writer), number(reader)));
    wanted.collect()
}
