//! Memories and devices between functions: who stores there, and who loads from there.

use super::error::GraphError;
use super::facts::Facts;
use super::load::drawn;
use super::model::{Flow, Graph, Node, NodeId, NodeKind, Via};
use super::rows::{self, DataRow, LevelRows, Numbers, report};
use super::selection::{Selection, Show, Stubs};
use crate::query::each;
use duckdb::Connection;
use std::collections::BTreeMap;

/// Edges that are all drawn.
const FEW_EDGES: usize = 60;

/// Functions and the memories that they access, of a selection of functions. An edge is what a function stores to a
/// memory, or loads from there, each access counted.
pub fn by_memory(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<Graph, GraphError> {
    let mut selection = Selection { stubs: Stubs::Show, ..selection.clone() };
    selection.show.insert(Show::Data);
    let mut rows = LevelRows {
        nodes: rows::nodes(connection, report!("graph_nodes"), Numbers::Functions)?,
        ..LevelRows::default()
    };
    rows.nodes.retain(|_, node| node.kind != NodeKind::Pseudo);
    if selection.shows(Show::Calls) {
        rows.calls = rows::calls(connection, report!("graph_calls"), &[], Numbers::Functions)?;
    }
    let mut memories: BTreeMap<(String, String), NodeId> = BTreeMap::new();
    each(connection, report!("memory_traffic"), &[], |r| {
        let (name, kind): (String, String) = (r.get(0)?, r.get(1)?);
        let via = match kind.as_str() {
            "device" => Via::Mmio,
            "section" => Via::Global,
            _ => Via::Other,
        };
        let text = match kind.as_str() {
            "other" => kind.clone(),
            _ => format!("{kind}, {:#x} to {:#x}", r.get::<_, u64>(2)?, r.get::<_, u64>(3)?),
        };
        let next = NodeId::unwritten(memories.len());
        let memory = *memories.entry((kind, name.clone())).or_insert_with(|| {
            let node = Node {
                id: next,
                name,
                kind: NodeKind::Memory,
                text: vec![text],
                members: 1,
                ..Node::default()
            };
            rows.nodes.insert(next, node);
            next
        });
        let function = NodeId::Function(r.get(4)?);
        let stores: bool = r.get(5)?;
        let flow = Flow {
            transfers: Some(r.get(6)?),
            addresses: Some(r.get(8)?),
            ..Flow::of_bytes(via, r.get(7)?)
        };
        let (writer, reader) = if stores { (function, memory) } else { (memory, function) };
        rows.data.push(DataRow { writer, reader, flow });
        Ok(())
    })?;
    // Small traffic of a small memory or a device is what such a picture is for.
    if rows.data.len() <= FEW_EDGES {
        selection.min_bytes.get_or_insert(0);
    }
    rows.focus.extend(selection.focus.map(|focus| NodeId::Function(focus.function_id)));
    let mut graph = drawn(connection, facts, &selection, rows)?;
    graph.title = Some("Functions, and the memories that they load from and store to".to_owned());
    Ok(graph)
}
