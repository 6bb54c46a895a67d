//! Functions as nodes.

use super::bottom_up;
use super::error::GraphError;
use super::facts::Facts;
use super::level::Level;
use super::merged::prepare_instances;
use super::model::{NodeId, NodeKind};
use super::rows::{self, InstanceEdges, LevelRows, Numbers, Queries, recorded_control, report};
use super::selection::{Focus, Selection, Show, Strategy, Stubs};
use duckdb::{Connection, OptionalExt};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const PLAIN: Queries = Queries {
    numbers: Numbers::Functions,
    nodes: report!("graph_nodes"),
    data: report!("graph_data"),
    calls: report!("graph_calls"),
};
const FOLDED: Queries = Queries {
    numbers: Numbers::Functions,
    nodes: report!("graph_nodes_folded"),
    data: report!("graph_data_folded"),
    calls: report!("graph_calls_folded"),
};

pub fn read(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<LevelRows, GraphError> {
    let queries = if selection.stubs == Stubs::Show || !facts.stubs { PLAIN } else { FOLDED };
    let mut rows = if selection.strategy == Strategy::BottomUp && selection.shows(Show::Data) {
        let mut rows = LevelRows::default();
        rows.nodes = rows::nodes(connection, queries.nodes, queries.numbers)?;
        if selection.shows(Show::Calls) {
            rows.calls = rows::calls(connection, queries.calls, &[], queries.numbers)?;
        }
        prepare_instances(connection, selection.stubs)?;
        rows.data = bottom_up::data(connection)?;
        rows.data.retain(|r| selection.wants(r.flow.via));
        rows
    } else {
        queries.run(connection, selection)?
    };
    if selection.level == Level::Function {
        say_callees(&mut rows);
    }
    if selection.shows(Show::Control) && facts.control {
        connection.execute_batch(
            "CREATE OR REPLACE TEMP TABLE part (instruction_id INTEGER, node INTEGER)",
        )?;
        recorded_control(connection, &mut rows)?;
    }
    rows.focus.extend(selection.focus.map(|f| NodeId::Function(f.function_id)));
    Ok(rows)
}

/// Callees that a function without a name is described by.
const CALLEES: usize = 3;

/// A function without a name (`libz.so+0x1f1b0`) says what it calls most.
fn say_callees(rows: &mut LevelRows) {
    let nameless = |name: &str| {
        let offset = name.rsplit_once("+0x").map_or("", |(_, offset)| offset);
        !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut callees: BTreeMap<NodeId, Vec<(i64, NodeId)>> = BTreeMap::new();
    for row in &rows.calls {
        let is = |id| rows.nodes.get(&id).map(|node| nameless(&node.name));
        if is(row.caller) == Some(true) && is(row.callee) == Some(false) {
            callees.entry(row.caller).or_default().push((row.calls, row.callee));
        }
    }
    for (caller, mut list) in callees {
        list.sort_by_key(|&(calls, callee)| (Reverse(calls), callee));
        let named = list.iter().take(CALLEES).filter_map(|(_, id)| rows.nodes.get(id));
        let names: Vec<&str> = named.map(|node| node.name.as_str()).collect();
        let said = format!("calls {}", names.join(", "));
        if let Some(node) = rows.nodes.get_mut(&caller).filter(|n| n.kind == NodeKind::Function) {
            node.text.push(said);
        }
    }
}

/// What one call instance of the focus has of the edges of its function.
pub fn instance_edges(
    connection: &Connection,
    focus: Focus,
    selection: &Selection,
) -> Result<InstanceEdges, GraphError> {
    prepare_instances(connection, selection.stubs)?;
    let sql = "SELECT call_id FROM function_call WHERE function_id = ? AND instance = ?";
    let call: i64 = connection
        .query_row(sql, duckdb::params![focus.function_id, focus.instance], |r| r.get(0))
        .optional()?
        .ok_or(GraphError::NoInstances)?;
    let mut edges = InstanceEdges::default();
    if selection.shows(Show::Data) {
        let sql = report!("focus_data");
        edges.data = rows::data(connection, sql, &[&call], Numbers::Functions, selection)?;
    }
    if selection.shows(Show::Calls) {
        let sql = report!("focus_calls");
        edges.calls = rows::calls(connection, sql, &[&call], Numbers::Functions)?;
    }
    Ok(edges)
}
