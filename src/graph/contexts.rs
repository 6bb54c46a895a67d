//! Groups of call instances as nodes: calling contexts and threads; and the tree of contexts.

use super::error::GraphError;
use super::level::Level;
use super::merged::{prepare_instances, prepare_merged};
use super::model::{Node, NodeId, NodeKind};
use super::names::FunctionNames;
use super::rows::{self, LevelRows, Numbers, fill, report};
use super::selection::{Selection, Show, Stubs};
use crate::id::{CallId, FunctionId, StackId, ThreadId};
use crate::query::each;
use crate::replay::{ReplayError, slot};
use crate::text::file_name;
use duckdb::Connection;
use std::collections::HashMap;

/// A chain of functions from a root. `steps_total` counts what is called below it, too.
#[derive(Clone, Debug)]
pub struct Context {
    /// The context that called it, as an index into the list; it comes before.
    pub parent: Option<usize>,
    pub function_id: FunctionId,
    pub depth: usize,
    pub calls: i64,
    pub steps_self: i64,
    pub steps_total: i64,
}

/// Contexts in the order of their first calls, and the context of each call instance.
pub struct Contexts {
    pub list: Vec<Context>,
    /// By instance; None: a stub, which has been merged.
    of_call: Vec<Option<StackId>>,
}

impl Contexts {
    /// The context of a call instance, as an index into the list.
    pub fn of(&self, call: CallId) -> Option<usize> {
        self.of_call.get(call.index()).copied().flatten().map(StackId::index)
    }

    fn calls(&self) -> impl Iterator<Item = (CallId, usize)> {
        let all = self.of_call.iter().enumerate();
        all.filter_map(|(call, at)| Some((CallId::at(call), (*at)?.index())))
    }
}

/// What a call of a function that is in the chain of its caller belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// A context of its own: there are as many as calls are deep.
    Unrolled,
    /// The context of the function in that chain, as in the calling context trees of Ammons, Ball and
    /// Larus (PLDI 1997): a chain has each function once.
    Folded,
}

/// Calling contexts with recursion unrolled, with their steps: as the build stored them, else of all
/// call instances.
pub fn context_list(connection: &Connection, stubs: Stubs) -> Result<Vec<Context>, GraphError> {
    if stubs == Stubs::Fold
        && let Some(list) = stored(connection)?
    {
        return Ok(list);
    }
    prepare_merged(connection, stubs)?;
    Ok(contexts(connection, Recursion::Unrolled)?.list)
}

/// The contexts that the build stored, stubs merged into their callers. None where it stored none
/// (traces without steps), or not all and call instances tell the others.
pub fn stored(connection: &Connection) -> Result<Option<Vec<Context>>, GraphError> {
    let sql = "SELECT EXISTS (FROM stack_profile) AND NOT (EXISTS (FROM function_call)
               AND EXISTS (FROM meta WHERE key = 'contexts_left_out' AND value IS NOT NULL))";
    if !connection.query_row(sql, [], |r| r.get(0))? {
        return Ok(None);
    }
    all_stored(connection).map(Some)
}

/// The contexts that the build stored; steps of those that it left out are those of their callers.
pub fn all_stored(connection: &Connection) -> Result<Vec<Context>, GraphError> {
    let mut list: Vec<Context> = Vec::new();
    let mut statement = connection.prepare(report!("contexts"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (stack, parent): (StackId, Option<StackId>) = (r.get(0)?, r.get(1)?);
        // Each has its place, behind that of its caller: who follows callers comes to an end.
        if stack.index() != list.len() || parent.is_some_and(|parent| parent >= stack) {
            let id = i64::try_from(list.len()).unwrap_or(i64::MAX).saturating_add(1);
            return Err(ReplayError::Missing { what: "call stack", id }.into());
        }
        list.push(Context {
            parent: parent.map(StackId::index),
            function_id: r.get(2)?,
            depth: r.get(3)?,
            calls: r.get(4)?,
            steps_self: r.get(5)?,
            steps_total: r.get(6)?,
        });
    }
    Ok(list)
}

/// Finds the contexts of call instances. Needs the temporary table `merged`.
pub fn contexts(connection: &Connection, recursion: Recursion) -> Result<Contexts, GraphError> {
    let mut found = Contexts { list: Vec::new(), of_call: Vec::new() };
    let mut known: HashMap<(Option<usize>, FunctionId), usize> = HashMap::new();
    let mut statement = connection.prepare(report!("call_rows"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (call, function_id, caller): (CallId, FunctionId, Option<CallId>) =
            (r.get(0)?, r.get(1)?, r.get(2)?);
        let parent = caller.and_then(|c| found.of(c));
        let at = *known.entry((parent, function_id)).or_insert_with(|| {
            if recursion == Recursion::Folded
                && let Some(again) = in_chain(&found.list, parent, function_id)
            {
                return again;
            }
            let depth = parent.map_or(0, |p| found.list[p].depth + 1);
            let none = (0, 0, 0);
            let (calls, steps_self, steps_total) = none;
            let context = Context { parent, function_id, depth, calls, steps_self, steps_total };
            found.list.push(context);
            found.list.len() - 1
        });
        *slot(&mut found.of_call, call.index(), "call")? = Some(StackId::at(at));
        found.list[at].calls += 1;
        found.list[at].steps_self += r.get::<_, Option<i64>>(4)?.unwrap_or(0);
    }
    // Children come behind their parents.
    for i in (0..found.list.len()).rev() {
        found.list[i].steps_total += found.list[i].steps_self;
        if let Some(parent) = found.list[i].parent {
            found.list[parent].steps_total += found.list[i].steps_total;
        }
    }
    Ok(found)
}

/// The context of a function in the chain that ends with another.
fn in_chain(list: &[Context], mut at: Option<usize>, function: FunctionId) -> Option<usize> {
    while let Some(i) = at.filter(|&i| list[i].function_id != function) {
        at = list[i].parent;
    }
    at
}

/// Functions of a chain that are written out, the innermost first.
const CHAIN: usize = 12;

fn chain(list: &[Context], names: &FunctionNames, mut at: usize) -> String {
    let mut parts = Vec::new();
    loop {
        parts.push(names.name(list[at].function_id));
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

pub fn read(connection: &Connection, selection: &Selection) -> Result<LevelRows, GraphError> {
    prepare_instances(connection, selection.stubs)?;
    connection
        .execute_batch("CREATE OR REPLACE TEMP TABLE group_of (call_id INTEGER, node BIGINT)")?;
    let mut rows = LevelRows::default();
    let numbers = if selection.level == Level::Context {
        context_nodes(connection, selection, &mut rows)?;
        Numbers::List
    } else {
        thread_nodes(connection, &mut rows)?;
        Numbers::Threads
    };
    if selection.shows(Show::Data) {
        each(connection, report!("pseudo_nodes"), &[], |r| {
            let id = NodeId::pseudo(r.get(0)?);
            let name = r.get(1)?;
            rows.nodes.insert(id, Node { id, name, kind: NodeKind::Pseudo, ..Node::default() });
            Ok(())
        })?;
        rows.data = rows::data(connection, report!("context_data"), &[], numbers, selection)?;
    }
    if selection.shows(Show::Calls) {
        rows.calls = rows::calls(connection, report!("context_calls"), &[], numbers)?;
        if selection.level == Level::Thread {
            rows.calls.retain(|c| c.caller != c.callee);
        }
    }
    Ok(rows)
}

fn context_nodes(
    connection: &Connection,
    selection: &Selection,
    rows: &mut LevelRows,
) -> Result<(), GraphError> {
    let names = FunctionNames::read(connection)?;
    let found = contexts(connection, Recursion::Folded)?;
    let groups =
        found.calls().map(|(call, at)| (call.column().into(), NodeId::listed(at).number()));
    fill(connection, "group_of", groups)?;
    for (i, c) in found.list.iter().enumerate() {
        let id = NodeId::listed(i);
        let function = names.get(c.function_id).cloned().unwrap_or_default();
        if selection.focus.is_some_and(|f| f.function_id == c.function_id) {
            rows.focus.push(id);
        }
        let node = Node {
            id,
            name: chain(&found.list, &names, i),
            kind: NodeKind::Context,
            file: function.file,
            image: function.image,
            calls: c.calls,
            steps_self: Some(c.steps_self),
            steps_total: Some(c.steps_total),
            members: 1,
            ..Node::default()
        };
        rows.nodes.insert(id, node);
    }
    Ok(())
}

fn thread_nodes(connection: &Connection, rows: &mut LevelRows) -> Result<(), GraphError> {
    connection
        .execute_batch("INSERT INTO group_of SELECT call_id, thread_id FROM function_call")?;
    each(connection, report!("thread_names"), &[], |r| {
        let (thread, tid): (ThreadId, Option<i64>) = (r.get(0)?, r.get(1)?);
        let id = NodeId::Thread(thread);
        let process: Option<String> = r.get(3)?;
        let process = process.map_or(String::new(), |of| format!("process {}, ", file_name(&of)));
        let tid = tid.map_or(String::new(), |t| format!(" ({t})"));
        let name = format!("{process}thread {thread}{tid}");
        let steps_self = r.get(2)?;
        let kind = NodeKind::Thread;
        rows.nodes.insert(id, Node { id, name, kind, steps_self, members: 1, ..Node::default() });
        Ok(())
    })?;
    Ok(())
}
