//! Groups of call instances as nodes: calling contexts and threads; and the tree of contexts.

use super::load::{call_row, data_row, fill, prepare_instances, report};
use super::select::Rows;
use super::{GraphError, Level, Node, NodeId, NodeKind, Selection};
use crate::query::each;
use duckdb::Connection;
use std::collections::{BTreeMap, HashMap};

/// A chain of functions from a root. `steps_total` counts what is called below it, too.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The context that called it, as an index into the list; it comes before.
    pub parent: Option<usize>,
    pub function_id: i32,
    pub depth: usize,
    pub calls: i64,
    pub steps_self: i64,
    pub steps_total: i64,
}

/// Contexts in the order of their first calls, and the context of each call instance (by call id).
pub struct Contexts {
    pub list: Vec<Context>,
    pub of_call: BTreeMap<i32, usize>,
}

/// Finds the contexts. Needs the temporary table `merged`.
pub fn contexts(connection: &Connection) -> Result<Contexts, GraphError> {
    let mut found = Contexts { list: Vec::new(), of_call: BTreeMap::new() };
    let mut known: HashMap<(Option<usize>, i32), usize> = HashMap::new();
    each(connection, report!("call_rows"), &[], |r| {
        let (call, function_id, caller): (i32, i32, Option<i32>) =
            (r.get(0)?, r.get(1)?, r.get(2)?);
        let parent = caller.and_then(|c| found.of_call.get(&c).copied());
        let at = *known.entry((parent, function_id)).or_insert_with(|| {
            let depth = parent.map_or(0, |p| found.list[p].depth + 1);
            found.list.push(Context { parent, function_id, depth, ..Context::default() });
            found.list.len() - 1
        });
        found.of_call.insert(call, at);
        found.list[at].calls += 1;
        found.list[at].steps_self += r.get::<_, Option<i64>>(4)?.unwrap_or(0);
        Ok(())
    })?;
    // Children come behind their parents.
    for i in (0..found.list.len()).rev() {
        found.list[i].steps_total += found.list[i].steps_self;
        if let Some(parent) = found.list[i].parent {
            found.list[parent].steps_total += found.list[i].steps_total;
        }
    }
    Ok(found)
}

/// Name, source file and image of a function.
pub type Names = BTreeMap<i32, (String, Option<String>, Option<String>)>;

pub fn function_names(connection: &Connection) -> Result<Names, GraphError> {
    let mut names = BTreeMap::new();
    each(connection, report!("function_names"), &[], |r| {
        names.insert(r.get(0)?, (r.get(1)?, r.get(2)?, r.get(3)?));
        Ok(())
    })?;
    Ok(names)
}

/// Functions of a chain that are written out, the innermost first.
const CHAIN: usize = 12;

fn chain(list: &[Context], names: &Names, mut at: usize) -> String {
    let mut parts = Vec::new();
    loop {
        parts.push(names.get(&list[at].function_id).map_or("?", |n| n.0.as_str()));
        match list[at].parent {
            Some(_) if parts.len() == CHAIN => {
                parts.push("…");
                break;
            }
            Some(parent) => at = parent,
            None => break,
        }
    }
    parts.join(" < ")
}

pub(super) fn rows(connection: &Connection, selection: &Selection) -> Result<Rows, GraphError> {
    prepare_instances(connection, selection.stubs)?;
    connection
        .execute_batch("CREATE OR REPLACE TEMP TABLE group_of (call_id INTEGER, node BIGINT)")?;
    let mut rows = Rows::default();
    let names = function_names(connection)?;
    if selection.level == Level::Context {
        let found = contexts(connection)?;
        fill(
            connection,
            "group_of",
            found.of_call.iter().map(|(&call, &context)| (call.into(), context as i64 + 1)),
        )?;
        for (i, c) in found.list.iter().enumerate() {
            let (_, file, image) = names.get(&c.function_id).cloned().unwrap_or_default();
            let id = i as NodeId + 1;
            if selection.focus.is_some_and(|f| f.function_id == c.function_id) {
                rows.focus.push(id);
            }
            let node = Node {
                id,
                name: chain(&found.list, &names, i),
                kind: NodeKind::Context,
                file,
                image,
                calls: c.calls,
                steps_self: Some(c.steps_self),
                steps_total: Some(c.steps_total),
                members: 1,
                ..Node::default()
            };
            rows.nodes.insert(id, node);
        }
    } else {
        connection
            .execute_batch("INSERT INTO group_of SELECT call_id, thread_id FROM function_call")?;
        each(connection, report!("thread_names"), &[], |r| {
            let (id, tid): (i32, Option<i64>) = (r.get(0)?, r.get(1)?);
            let name = format!("thread {id}{}", tid.map_or(String::new(), |t| format!(" ({t})")));
            let steps_self = r.get(2)?;
            let node = Node {
                id: id.into(),
                name,
                kind: NodeKind::Thread,
                steps_self,
                members: 1,
                ..Node::default()
            };
            rows.nodes.insert(node.id, node);
            Ok(())
        })?;
    }
    if selection.data {
        each(connection, report!("pseudo_nodes"), &[], |r| {
            let (id, name): (i32, String) = (r.get(0)?, r.get(1)?);
            let id = -NodeId::from(id);
            rows.nodes.insert(id, Node { id, name, kind: NodeKind::Pseudo, ..Node::default() });
            Ok(())
        })?;
        each(connection, report!("context_data"), &[], |r| {
            let row = data_row(r)?;
            if selection.via.is_empty() || selection.via.contains(&row.flow.via) {
                rows.data.push(row);
            }
            Ok(())
        })?;
    }
    if selection.calls {
        each(connection, report!("context_calls"), &[], |r| {
            rows.calls.push(call_row(r)?);
            Ok(())
        })?;
        if selection.level == Level::Thread {
            rows.calls.retain(|c| c.caller != c.callee);
        }
    }
    Ok(rows)
}
