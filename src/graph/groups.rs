//! Figures of groups of functions that are no sums of those of their members.

use super::error::GraphError;
use super::grouping;
use super::model::{NodeId, Via};
use super::rows::{GroupFigures, LevelRows, Numbers, fill, report};
use super::selection::{Selection, Stubs};
use crate::id::{CallId, FunctionId};
use crate::query::{each, keeps_part};
use duckdb::Connection;
use std::collections::BTreeMap;

/// Distinct cells between groups, and unique bytes for each entry into the reading group; None
/// where the communications are not kept or several threads ran.
pub fn figures(
    connection: &Connection,
    rows: &LevelRows,
    selection: &Selection,
) -> Result<Option<Vec<GroupFigures>>, GraphError> {
    let sql = "SELECT (SELECT count(*) FROM thread) = 1 AND EXISTS (FROM communication_row)";
    if !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? || keeps_part(connection)? {
        return Ok(None);
    }
    connection.execute_batch(&format!(
        "SET asof_loop_join_threshold = 0;
         CREATE OR REPLACE TEMP TABLE group_of_call (call_id BIGINT, node BIGINT);
         CREATE OR REPLACE TEMP TABLE entry_of_call (call_id BIGINT, entry BIGINT);
         CREATE OR REPLACE TEMP TABLE place AS {}",
        report!("flows_places")
    ))?;
    let calls = calls(connection, &grouping::first_of_group(rows, selection), selection.stubs)?;
    let number = |call: &GroupedCall| i64::from(call.id.get());
    fill(connection, "group_of_call", calls.iter().map(|c| (number(c), c.node.number())))?;
    fill(connection, "entry_of_call", calls.iter().map(|c| (number(c), c.entry.get().into())))?;
    connection.execute_batch(
        "CREATE OR REPLACE TEMP TABLE group_of_call AS FROM group_of_call JOIN entry_of_call USING (call_id)",
    )?;
    let mut found = Vec::new();
    each(connection, report!("group_figures"), &[], |r| {
        found.push(GroupFigures {
            writer: Numbers::Functions.node(r, 0)?,
            reader: Numbers::Functions.node(r, 1)?,
            via: Via::of(&r.get::<_, String>(2)?),
            addresses: r.get(3)?,
            unique_bytes: r.get(4)?,
        });
        Ok(())
    })?;
    Ok(Some(found))
}

struct GroupedCall {
    id: CallId,
    node: NodeId,
    /// The call with which the node was entered from another one: itself, or a caller.
    entry: CallId,
}

/// The calls of nodes that are drawn, in the order of their numbers.
fn calls(
    connection: &Connection,
    to: &BTreeMap<NodeId, NodeId>,
    stubs: Stubs,
) -> Result<Vec<GroupedCall>, GraphError> {
    let mut list: Vec<GroupedCall> = Vec::new();
    each(connection, report!("group_calls"), &[], |r| {
        let (id, function, from): (CallId, FunctionId, Option<CallId>) =
            (r.get(0)?, r.get(1)?, r.get(2)?);
        let is_stub: bool = r.get(3)?;
        let caller = from.and_then(|from| {
            let at = list.binary_search_by_key(&from, |c| c.id).ok()?;
            Some((list[at].node, list[at].entry))
        });
        let (node, entry) = match (to.get(&NodeId::Function(function)), caller) {
            // A stub is part of what called it.
            (_, Some(caller)) if is_stub && stubs == Stubs::Fold => caller,
            (Some(&node), Some(caller)) if caller.0 == node => caller,
            (Some(&node), _) => (node, id),
            (None, _) => return Ok(()),
        };
        list.push(GroupedCall { id, node, entry });
        Ok(())
    })?;
    Ok(list)
}
