//! Functions that a person put together: nodes of the page's graph and matrix in place of their
//! functions, as `addfg graph --group` draws them.

use super::functions::{Functions, place};
use super::options::{Options, ReportError};
use crate::graph::{EdgeKind, Flow, NodeId, NodeKind, Selection, Show, Via, load};
use crate::id::FunctionId;
use crate::text::visible;
use crate::views::grouped;
use duckdb::Connection;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A group with its functions, in the order in which groups are named.
pub(super) struct Group {
    pub name: String,
    pub functions: BTreeSet<FunctionId>,
}

/// The groups that are asked for; those of which another one has all functions are left out.
pub(super) fn read(connection: &Connection, options: &Options) -> Result<Vec<Group>, ReportError> {
    let mut functions: BTreeMap<String, BTreeSet<FunctionId>> = BTreeMap::new();
    for (id, name) in grouped::by_function(connection, &options.groups)? {
        functions.entry(name).or_default().insert(id);
    }
    let named = options.groups.iter().filter_map(|(name, _)| {
        Some(Group { name: name.clone(), functions: functions.remove(name)? })
    });
    Ok(named.collect())
}

/// Nodes: name, functions (places; those that the page left out are missing). Behind the functions of the page they are the ends of data
/// (writer, reader, via, bytes, unique bytes, addresses, transfers) and calls (caller, callee, calls,
/// steps of the callee with all below it), of which those at groups are here.
pub(super) fn groups(
    connection: &Connection,
    functions: &Functions,
    groups: &[Group],
) -> Result<Value, ReportError> {
    if groups.is_empty() {
        return Ok(Value::Null);
    }
    let selection = Selection {
        groups: groups
            .iter()
            .map(|group| (group.name.clone(), group.functions.iter().copied().collect()))
            .collect(),
        top: usize::MAX / 8,
        min_bytes: Some(0),
        show: [Show::Data, Show::Calls].into(),
        ..Selection::default()
    };
    let graph = load(connection, &selection)?;
    let at = |node: &crate::graph::Node| match (node.kind, node.id) {
        (NodeKind::Group, _) => {
            let group = groups.iter().position(|group| group.name == node.name)?;
            Some(functions.rows.len() + group)
        }
        (_, NodeId::Function(id)) => functions.at(id),
        _ => None,
    };
    let is_group = |at: usize| at >= functions.rows.len();
    let (mut data, mut calls) = (Vec::new(), Vec::new());
    let row = |a: usize, b: usize, f: &Flow| {
        // As the functions' data: dependences have neither sizes nor places.
        let (via, bytes) = match graph.dependences {
            true => (Via::ALL.len(), None),
            false => (place(f.via), Some(f.bytes)),
        };
        json!([a, b, via, bytes, f.unique_bytes, f.addresses, f.transfers])
    };
    for node in graph.graph.node_weights() {
        if let Some(at) = at(node).filter(|&at| is_group(at)) {
            data.extend(node.local.iter().map(|flow| row(at, at, flow)));
        }
    }
    for (a, b, edge) in graph.edges() {
        let (Some(a), Some(b)) = (at(&graph.graph[a]), at(&graph.graph[b])) else { continue };
        if !is_group(a) && !is_group(b) {
            continue;
        }
        match &edge.kind {
            EdgeKind::Data(flows) => data.extend(flows.iter().map(|flow| row(a, b, flow))),
            EdgeKind::Call { calls: count, steps } => calls.push(json!([a, b, count, steps])),
            _ => {}
        }
    }
    let nodes = groups.iter().map(|group| {
        let members: Vec<usize> =
            group.functions.iter().filter_map(|&id| functions.listed(id)).collect();
        json!([visible(&group.name), members])
    });
    Ok(json!({ "nodes": nodes.collect::<Vec<_>>(), "data": data, "calls": calls }))
}
