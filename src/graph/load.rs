//! From a database to a graph: reads a level, puts together, chooses, draws edges.

use super::choice::Choice;
use super::edges::LevelEdges;
use super::error::GraphError;
use super::facts::Facts;
use super::grouping;
use super::level::Level;
use super::model::{Graph, NodeId, NodeKind};
use super::rows::{DataRow, LevelRows};
use super::selection::{Focus, Selection, Show, Strategy, Stubs};
use super::{contexts, functions, groups, instances, parts, recorded, steps};
use crate::query::{problems, unit};
use crate::text::visible;
use duckdb::Connection;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeMap;

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
    let one_call = selection.focus.and_then(|f| f.instance);
    let of_one = matches!(selection.level, Level::Function | Level::Instance | Level::Step);
    if one_call.is_some() && !of_one {
        return Err(GraphError::LevelOfAllCalls { level: selection.level.name() });
    }
    let needs_calls = matches!(selection.level, Level::Instance | Level::Context | Level::Thread);
    if (needs_calls || one_call.is_some()) && !facts.instances {
        return Err(GraphError::NoInstances);
    }
    let of_instructions =
        matches!(selection.level, Level::Line | Level::Inlined | Level::Instruction);
    let of_parts = of_instructions || !selection.expand.is_empty();
    let asks = selection.shows(Show::Data) || selection.shows(Show::Calls);
    if of_parts && facts.only_functions && asks {
        return Err(GraphError::OnlyFunctions);
    }
    if !selection.has_functions() || selection.strategy == Strategy::BottomUp {
        // Order is ours: every list is sorted here.
        connection.execute_batch("SET preserve_insertion_order = false; SET threads = 1")?;
    }
    let mut rows = match selection.level {
        Level::Instance => instances::read(connection, selection)?,
        Level::Context | Level::Thread => contexts::read(connection, selection)?,
        Level::Step => steps::read(connection, selection)?,
        Level::Block if facts.only_blocks => recorded::read(connection, selection)?,
        _ if selection.has_parts() => parts::read(connection, facts, selection)?,
        _ => functions::read(connection, facts, selection)?,
    };
    rows.dependences = facts.dependences;
    if selection.has_functions() {
        if let Some(focus) = selection.focus.filter(|f| f.instance.is_some()) {
            rows.current = Some(functions::instance_edges(connection, focus, selection)?);
        }
        if !selection.groups.is_empty() && selection.shows(Show::Data) {
            rows.groups = groups::figures(connection, &rows, selection)?;
        }
    }
    drawn(connection, facts, selection, rows)
}

/// The graph of a level that was read.
pub(super) fn drawn(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
    rows: LevelRows,
) -> Result<Graph, GraphError> {
    let unit = if facts.ticks { unit(connection)? } else { "steps" };
    let notes = notes(connection, facts, selection, &rows)?;
    if let Some(focus) = selection.focus
        && selection.level != Level::Step
        && !rows.focus.iter().any(|id| rows.nodes.contains_key(id))
    {
        return Err(not_there(connection, focus, selection.stubs)?);
    }
    let mut graph = draw(rows, selection, unit, notes);
    graph.problems = problems(connection)?;
    Ok(graph)
}

/// What the reader should know of the data.
fn notes(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
    rows: &LevelRows,
) -> Result<Vec<String>, GraphError> {
    let mut notes = Vec::new();
    let mut say = |text: &str| notes.push(text.to_owned());
    let data = selection.shows(Show::Data);
    let stubs = || rows.nodes.values().any(|n| n.kind == NodeKind::Stub);
    if rows.dependences && data {
        say(
            "Data edges count dependences between instances: this trace has no sizes and no places of data.",
        );
    }
    if selection.has_functions() && selection.stubs == Stubs::Fold && stubs() {
        let sql = "SELECT EXISTS (FROM call_edge_folded e JOIN function_symbol s ON s.function_id = e.callee_function_id
                                  WHERE s.kind = 'stub' AND e.caller_function_id IS NOT NULL)";
        if connection.query_row(sql, [], |r| r.get(0))? {
            say("Stubs are drawn: this database does not tell which call they belong to.");
        }
    }
    if selection.has_parts() && stubs() {
        say("Stubs are drawn: parts of functions are not merged.");
    }
    if selection.has_inlined() && !rows.nodes.values().any(|n| n.kind == NodeKind::Inlined) {
        say(
            "No executed instruction is of an inlined function as far as the program's DWARF says (compile it with -g, give it with --elf).",
        );
    }
    if data && rows.data.is_empty() {
        say(&why_no_data(connection)?);
    }
    if facts.paths {
        say("What functions ran inside: addfg paths.");
    }
    Ok(notes)
}

/// Chooses what is drawn, and draws it.
fn draw(
    mut rows: LevelRows,
    selection: &Selection,
    unit: &'static str,
    notes: Vec<String>,
) -> Graph {
    let mut graph = Graph::new(selection.level);
    graph.steps = rows.nodes.values().filter_map(|n| n.steps_self).fold(0, i64::saturating_add);
    (graph.unit, graph.dependences, graph.notes) = (unit, rows.dependences, notes);
    let mut choice = Choice { selection, steps: graph.steps, unit, left_out: Vec::new() };
    grouping::apply(&mut rows, selection);
    rows.add_others();
    if !selection.via.is_empty() && selection.shows(Show::Data) {
        let names: Vec<_> = selection.via.iter().map(|v| v.name()).collect();
        choice.left_out.push(format!("data through anything but {}", names.join(", ")));
    }
    if let Some(focus) = selection.focus
        && selection.level != Level::Step
    {
        choice.keep_around(&mut rows, focus);
    }
    let parts = selection.has_parts() || selection.level == Level::Step;
    let cycles = if parts { cycles(&rows.data) } else { BTreeMap::new() };
    choice.keep_top(&mut rows);
    let mut edges = LevelEdges::take(&mut rows);
    choice.drop_edges(&mut edges, rows.nodes.len(), |n| graph.amount(n));
    choice.drop_lonely(&mut rows, &edges.linked());
    graph.left_out = choice.left_out;

    let index: BTreeMap<NodeId, NodeIndex> =
        rows.nodes.into_iter().map(|(id, node)| (id, graph.graph.add_node(node))).collect();
    edges.add_to(&mut graph, &index, &cycles);
    if let [one] = rows.focus[..] {
        graph.focus = index.get(&one).copied();
    }
    if selection.level != Level::Instance {
        graph.instance = selection.focus.and_then(|f| f.instance);
    }
    graph
}

/// Which strongly connected part of the dataflow each node is in, of those with several nodes.
fn cycles(data: &[DataRow]) -> BTreeMap<NodeId, usize> {
    let mut graph: DiGraph<NodeId, ()> = DiGraph::new();
    let mut index: BTreeMap<NodeId, NodeIndex> = BTreeMap::new();
    for row in data {
        let mut at = |id| *index.entry(id).or_insert_with(|| graph.add_node(id));
        let (a, b) = (at(row.writer), at(row.reader));
        graph.add_edge(a, b, ());
    }
    let components = petgraph::algo::kosaraju_scc(&graph);
    let several = components.iter().enumerate().filter(|(_, c)| c.len() > 1);
    several
        .flat_map(|(number, c)| c.iter().map(|&i| (graph[i], number)).collect::<Vec<_>>())
        .collect()
}

fn not_there(
    connection: &Connection,
    focus: Focus,
    stubs: Stubs,
) -> Result<GraphError, GraphError> {
    let sql = "SELECT name, kind FROM function_symbol WHERE function_id = ?";
    let (name, kind): (String, String) =
        connection.query_row(sql, [focus.function_id], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let name = visible(&name).into_owned();
    Ok(if kind == "stub" && stubs == Stubs::Fold {
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
            "No data: this trace{format} has no accesses. Record one that has them, with addfg record -- ./app, or with QEMU."
        )
    } else {
        "No data goes from one node to another here.".to_owned()
    })
}
