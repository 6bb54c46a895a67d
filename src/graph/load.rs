//! Reads a level of the database as plain rows and hands them to the selection.

use super::select::{CallRow, DataRow, Rows, select};
use super::{Flow, Graph, GraphError, Level, Node, NodeId, NodeKind, OTHERS, Selection, Via};
use crate::query::each;
use crate::store::TOP_CALLS;
use crate::text::visible;
use duckdb::{Connection, OptionalExt, Row};
use std::collections::BTreeMap;

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../queries/report/", $name, ".sql"))
    };
}
pub(super) use report;

/// What a database has of what graphs are made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Call instances; at detail summary there are none.
    pub instances: bool,
    /// Times of calls in the place of steps.
    pub ticks: bool,
    /// Recorded control dependences.
    pub control: bool,
    /// Data edges that count dependences, not bytes.
    pub dependences: bool,
    /// Paths inside functions.
    pub paths: bool,
    /// Functions that are stubs.
    pub stubs: bool,
}

impl Facts {
    /// Finds them with one query: each of its own took as long as all do.
    pub fn find(connection: &Connection) -> duckdb::Result<Facts> {
        let mut facts = Facts::default();
        each(connection, report!("graph_facts"), &[], |r| {
            match r.get_ref(0)?.as_str().unwrap_or_default() {
                "instances" => facts.instances = true,
                "ticks" => facts.ticks = true,
                "control" => facts.control = true,
                "dependences" => facts.dependences = true,
                "paths" => facts.paths = true,
                "stubs" => facts.stubs = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(facts)
    }
}

/// Reads what a selection needs and makes the graph of it.
pub fn load(connection: &Connection, selection: &Selection) -> Result<Graph, GraphError> {
    load_with(connection, Facts::find(connection)?, selection)
}

/// [`load`] for a caller that had to ask for the facts itself.
pub fn load_with(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<Graph, GraphError> {
    let unit = if facts.ticks { crate::query::unit(connection)? } else { "steps" };
    let instances = selection.level == Level::Instance;
    if (instances || selection.focus.is_some_and(|f| f.instance.is_some())) && !facts.instances {
        return Err(GraphError::NoInstances);
    }
    let mut notes = Vec::new();
    let apart = matches!(selection.level, Level::Function | Level::File | Level::Image)
        && selection.expand.is_empty();
    if !apart || selection.bottom_up {
        // Order is ours: every list is sorted here.
        connection.execute_batch("SET preserve_insertion_order = false; SET threads = 1")?;
    }
    let mut rows = match selection.level {
        Level::Instance => instance_rows(connection, selection)?,
        Level::Context | Level::Thread if !facts.instances => return Err(GraphError::NoInstances),
        Level::Context | Level::Thread => super::contexts::rows(connection, selection)?,
        Level::Step => super::steps::rows(connection, selection)?,
        _ if super::inside::applies(selection) => {
            super::inside::rows(connection, facts, selection)?
        }
        _ => function_rows(connection, facts, selection)?,
    };
    rows.dependences = facts.dependences;
    if rows.dependences && selection.data {
        notes.push("Data edges count dependences between instances: this trace has no sizes and no places of data.".to_owned());
    }
    if apart
        && !selection.stubs
        && rows.nodes.values().any(|n| n.kind == NodeKind::Stub)
        && !facts.instances
    {
        notes.push(
            "Stubs are drawn: at detail summary it is not known which call they belong to."
                .to_owned(),
        );
    }
    if !apart
        && super::inside::applies(selection)
        && rows.nodes.values().any(|n| n.kind == NodeKind::Stub)
    {
        notes.push("Stubs are drawn: parts of functions are not merged.".to_owned());
    }
    if selection.data && rows.data.is_empty() {
        notes.push(why_no_data(connection)?);
    }
    if facts.paths {
        notes.push("What functions ran inside: addfg paths.".to_owned());
    }
    if let Some(focus) = selection.focus
        && selection.level != Level::Step
        && !rows.focus.iter().any(|id| rows.nodes.contains_key(id))
    {
        return Err(not_there(connection, focus.function_id, selection.stubs)?);
    }
    if let (Some(focus), true) = (selection.focus, apart)
        && let Some(instance) = focus.instance
    {
        rows.current = Some(current(connection, focus.function_id, instance, selection)?);
    }
    if apart && !selection.groups.is_empty() && selection.data {
        rows.addresses = group_addresses(connection, &rows, selection)?;
    }
    let steps = rows.nodes.values().filter_map(|n| n.steps_self).fold(0, i64::saturating_add);
    Ok(select(rows, selection, (steps, unit), notes))
}

/// Recorded control dependences between nodes; the temporary table `part` says which instructions
/// are nodes, the others are of their functions.
pub(super) fn recorded_control(connection: &Connection, rows: &mut Rows) -> Result<(), GraphError> {
    each(connection, report!("recorded_control"), &[], |r| {
        let (a, b) = (r.get(0)?, r.get(1)?);
        if a != b {
            rows.control.push((a, b));
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn node(r: &Row, instances: bool) -> duckdb::Result<Node> {
    let kind: String = r.get(2)?;
    let kind = match kind.as_str() {
        "pseudo" => NodeKind::Pseudo,
        "others" => NodeKind::Others,
        _ if instances => NodeKind::Instance,
        "stub" => NodeKind::Stub,
        _ => NodeKind::Function,
    };
    let calls: i64 = r.get(5)?;
    Ok(Node {
        id: r.get(0)?,
        name: r.get(1)?,
        kind,
        file: r.get(3)?,
        image: r.get(4)?,
        calls,
        steps_self: r.get(6)?,
        steps_total: r.get(7)?,
        members: if kind == NodeKind::Others { calls.max(0) as usize } else { 1 },
        ..Node::default()
    })
}

pub(super) fn data_row(r: &Row) -> duckdb::Result<DataRow> {
    let via = match r.get_ref(2)? {
        duckdb::types::ValueRef::Text(text) => {
            Via::parse(std::str::from_utf8(text).unwrap_or_default())
        }
        _ => Via::Other,
    };
    // Dependences without sizes: how many there are takes the place of bytes, and the graph says
    // so.
    let bytes = match r.get::<_, Option<i64>>(3)? {
        Some(bytes) => bytes,
        None => r.get::<_, Option<i64>>(6)?.unwrap_or(0),
    };
    let flow =
        Flow { via, bytes, unique_bytes: r.get(4)?, addresses: r.get(5)?, transfers: r.get(6)? };
    Ok(DataRow { writer: r.get(0)?, reader: r.get(1)?, flow })
}

pub(super) fn call_row(r: &Row) -> duckdb::Result<CallRow> {
    Ok(CallRow { caller: r.get(0)?, callee: r.get(1)?, calls: r.get(2)?, steps: r.get(3)? })
}

fn read(
    connection: &Connection,
    selection: &Selection,
    [nodes, data, calls]: [&str; 3],
) -> Result<Rows, GraphError> {
    let mut rows = Rows::default();
    let instances = selection.level == Level::Instance;
    each(connection, nodes, &[], |r| {
        let node = node(r, instances)?;
        rows.nodes.insert(node.id, node);
        Ok(())
    })?;
    if selection.data {
        each(connection, data, &[], |r| {
            let row = data_row(r)?;
            if selection.via.is_empty() || selection.via.contains(&row.flow.via) {
                rows.data.push(row);
            }
            Ok(())
        })?;
    } else {
        rows.nodes.retain(|_, n| n.kind != NodeKind::Pseudo);
    }
    if selection.calls {
        each(connection, calls, &[], |r| {
            rows.calls.push(call_row(r)?);
            Ok(())
        })?;
    }
    Ok(rows)
}

fn function_rows(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<Rows, GraphError> {
    let queries = if selection.stubs || !facts.stubs {
        [report!("graph_nodes"), report!("graph_data"), report!("graph_calls")]
    } else {
        [report!("graph_nodes_folded"), report!("graph_data_folded"), report!("graph_calls_folded")]
    };
    let top_down = Selection { data: selection.data && !selection.bottom_up, ..selection.clone() };
    let mut rows =
        read(connection, if selection.bottom_up { &top_down } else { selection }, queries)?;
    if selection.data && selection.bottom_up {
        prepare_instances(connection, selection.stubs)?;
        rows.data = super::bottom_up::rows(connection)?;
        rows.data.retain(|r| selection.via.is_empty() || selection.via.contains(&r.flow.via));
        // The pseudo-functions were left out with the stored edges.
        let with_data = Selection { calls: false, ..selection.clone() };
        rows.nodes = read(connection, &with_data, [queries[0], "SELECT NULL LIMIT 0", ""])?.nodes;
    }
    if selection.control && facts.control {
        connection.execute_batch(
            "CREATE OR REPLACE TEMP TABLE part (instruction_id INTEGER, node BIGINT)",
        )?;
        recorded_control(connection, &mut rows)?;
    }
    rows.focus.extend(selection.focus.map(|f| NodeId::from(f.function_id)));
    Ok(rows)
}

/// The temporary table `merged`: stub instances and what they are merged into. An error where call
/// instances are not kept.
pub fn prepare_merged(connection: &Connection, stubs: bool) -> Result<(), GraphError> {
    let any = connection.query_row("SELECT EXISTS (FROM function_call)", [], |r| r.get(0))?;
    if any { Ok(prepare_instances(connection, stubs)?) } else { Err(GraphError::NoInstances) }
}

/// Temporary tables and views that the queries of the instance level read.
pub(super) fn prepare_instances(connection: &Connection, stubs: bool) -> duckdb::Result<()> {
    let limit = if stubs { "LIMIT 0" } else { "" };
    connection.execute_batch(&format!(
        "SET threads = 2;
         CREATE OR REPLACE TEMP TABLE merged AS SELECT call_id, into_call_id, steps_self FROM folded_call WHERE into_call_id <> call_id {limit}"
    ))?;
    let none: bool = connection.query_row("SELECT count(*) = 0 FROM merged", [], |r| r.get(0))?;
    let flow = if none { report!("instance_flow_plain") } else { report!("instance_flow") };
    connection.execute_batch(&format!(
        "CREATE OR REPLACE TEMP VIEW instance_flow AS {flow}
         CREATE OR REPLACE TEMP VIEW instance_call AS {}",
        report!("instance_call")
    ))
}

/// Fills a temporary table of two columns of numbers.
pub(super) fn fill(
    connection: &Connection,
    table: &str,
    rows: impl Iterator<Item = (i64, i64)>,
) -> Result<(), GraphError> {
    let mut appender = connection.appender_to_catalog_and_db(table, "temp", "main")?;
    for (a, b) in rows {
        appender.append_row([a, b])?;
    }
    Ok(appender.flush()?)
}

fn instance_rows(connection: &Connection, selection: &Selection) -> Result<Rows, GraphError> {
    prepare_instances(connection, selection.stubs)?;
    connection
        .execute_batch("CREATE OR REPLACE TEMP TABLE near (node BIGINT, distance INTEGER)")?;
    let mut focus: Vec<NodeId> = Vec::new();
    let kept = selection.focus.is_none() && !selection.stubs && selection.top <= TOP_CALLS;
    match selection.focus {
        None => {
            // As a number in the text: for a parameter DuckDB sorts everything.
            let top = selection.top.to_string();
            let largest = if kept {
                format!("SELECT call_id FROM top_call ORDER BY share DESC, call_id LIMIT {top}")
            } else {
                format!(
                    "SELECT call_id FROM ({})",
                    report!("instance_top").trim_end().trim_end_matches(';').replace("$1", &top)
                )
            };
            connection.execute_batch(&format!(
                "INSERT INTO near SELECT call_id, 0 FROM ({largest})
                 UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo'"
            ))?;
        }
        Some(f) => {
            let sql = "INSERT INTO near SELECT c.call_id, 0 FROM function_call c ANTI JOIN merged m ON m.call_id = c.call_id
                       WHERE c.function_id = ? AND (?::INTEGER IS NULL OR c.instance = ?)";
            connection.execute(sql, duckdb::params![f.function_id, f.instance, f.instance])?;
            let next = format!("INSERT INTO near {}", report!("instance_next"));
            for _ in 0..f.depth {
                if connection.execute(&next, duckdb::params![selection.data, selection.calls])? == 0
                {
                    break;
                }
            }
            each(connection, "SELECT node FROM near WHERE distance = 0", &[], |r| {
                focus.push(r.get(0)?);
                Ok(())
            })?;
        }
    }
    let (calls, data, edges) = if kept {
        (
            "FROM top_call WHERE call_id IN (SELECT node FROM near)",
            report!("top_data"),
            report!("top_calls"),
        )
    } else {
        (report!("instance_self"), report!("instance_data"), report!("instance_calls"))
    };
    connection.execute_batch(&format!("CREATE OR REPLACE TEMP TABLE near_call AS {calls}"))?;
    let mut rows = read(connection, selection, [report!("instance_nodes"), data, edges])?;
    rows.focus = focus;
    Ok(rows)
}

/// Distinct cells between groups of functions; none where the communications are not kept or
/// several threads ran.
fn group_addresses(
    connection: &Connection,
    rows: &Rows,
    selection: &Selection,
) -> Result<Vec<(NodeId, NodeId, Via, i64)>, GraphError> {
    let sql = "SELECT (SELECT count(*) FROM thread) = 1 AND EXISTS (FROM communication_row)";
    if !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? {
        return Ok(Vec::new());
    }
    let mut to: BTreeMap<NodeId, NodeId> = rows.nodes.keys().map(|&id| (id, id)).collect();
    for (_, ids) in &selection.groups {
        // As `group` does: a group has the id of its first function.
        let known = ids.iter().map(|&id| NodeId::from(id)).filter(|id| rows.nodes.contains_key(id));
        let Some(first) = known.clone().min() else { continue };
        to.extend(known.map(|id| (id, first)));
    }
    connection.execute_batch(&format!(
        "SET asof_loop_join_threshold = 0;
         CREATE OR REPLACE TEMP TABLE group_of_function (function_id BIGINT, node BIGINT);
         CREATE OR REPLACE TEMP TABLE place AS {}",
        report!("flows_places")
    ))?;
    fill(connection, "group_of_function", to.into_iter())?;
    let mut found = Vec::new();
    each(connection, report!("group_addresses"), &[], |r| {
        found.push((r.get(0)?, r.get(1)?, Via::parse(&r.get::<_, String>(2)?), r.get(3)?));
        Ok(())
    })?;
    Ok(found)
}

/// What one call instance of the focus has of the edges of its function.
fn current(
    connection: &Connection,
    function_id: i32,
    instance: i32,
    selection: &Selection,
) -> Result<(Vec<DataRow>, Vec<CallRow>), GraphError> {
    prepare_instances(connection, selection.stubs)?;
    let sql = "SELECT call_id FROM function_call WHERE function_id = ? AND instance = ?";
    let call: i64 = connection
        .query_row(sql, [function_id, instance], |r| r.get(0))
        .optional()?
        .ok_or(GraphError::NoInstances)?;
    let (mut data, mut calls) = (Vec::new(), Vec::new());
    if selection.data {
        each(connection, report!("focus_data"), &[&call], |r| {
            let row = data_row(r)?;
            if selection.via.is_empty() || selection.via.contains(&row.flow.via) {
                data.push(row);
            }
            Ok(())
        })?;
    }
    if selection.calls {
        each(connection, report!("focus_calls"), &[&call], |r| {
            calls.push(call_row(r)?);
            Ok(())
        })?;
    }
    Ok((data, calls))
}

fn not_there(
    connection: &Connection,
    function_id: i32,
    stubs: bool,
) -> Result<GraphError, GraphError> {
    let sql = "SELECT name, kind FROM function_symbol WHERE function_id = ?";
    let (name, kind): (String, String) =
        connection.query_row(sql, [function_id], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let name = visible(&name).into_owned();
    Ok(if kind == "stub" && !stubs {
        GraphError::MergedStub { name }
    } else {
        GraphError::NotInGraph { name }
    })
}

/// Why there is no dataflow, in words.
fn why_no_data(connection: &Connection) -> Result<String, GraphError> {
    let sql = "SELECT bool_or(carries_accesses), string_agg(DISTINCT format, ', ') FROM input WHERE role = 'trace'";
    let (accesses, format): (Option<bool>, Option<String>) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let format = format.map_or(String::new(), |f| format!(" ({})", visible(&f)));
    Ok(if accesses == Some(false) {
        format!(
            "No data: this trace{format} has no accesses. Record one that has them, with valgrind --tool=lackey --trace-mem=yes or QEMU."
        )
    } else {
        "No data goes from one node to another here.".to_owned()
    })
}

/// Groups nodes under the name that `name` gives; what it gives no name stays.
pub(super) fn group(rows: &mut Rows, kind: NodeKind, name: impl Fn(&Node) -> Option<String>) {
    let mut first: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut to: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut groups: BTreeMap<NodeId, Node> = BTreeMap::new();
    for (id, node) in std::mem::take(&mut rows.nodes) {
        let Some(label) = name(&node) else {
            groups.insert(id, node);
            continue;
        };
        let at = *first.entry(label.clone()).or_insert(id);
        to.insert(id, at);
        match groups.get_mut(&at) {
            Some(g) => {
                g.calls += node.calls;
                g.steps_self = add(g.steps_self, node.steps_self);
                g.members += 1;
            }
            None => {
                let file = if kind == NodeKind::File { node.image.clone() } else { None };
                groups.insert(at, Node { name: label, kind, file, steps_total: None, ..node });
            }
        }
    }
    rows.nodes = groups;
    rows.rename(|id| if id == OTHERS { id } else { to.get(&id).copied().unwrap_or(id) });
}

/// A sum in which unknown parts count nothing, unless all are unknown.
pub(super) fn add(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}
