//! Stacks folded into lines `main;f;g COST` (the format of Brendan Gregg's FlameGraph tools), and
//! the flame graph that inferno draws of them. PLT stubs and the like are merged into their
//! callers.

use super::calls::{self, Event, Unit};
use super::error::ExportError;
use super::options::Options;
use crate::analysis::contexts;
use crate::graph::{Context, FunctionNames, Stubs, stored_contexts};
use crate::id::FunctionId;
use crate::text::visible;
use duckdb::Connection;
use std::collections::HashMap;
use std::io::Write;

/// Frames of a stack at most: what is called from deeper ones counts as theirs. A line repeats the
/// whole stack, so without a limit a deep recursion would give text in the square of its depth.
const DEPTH: usize = contexts::DEPTH as usize;

/// A chain of functions from a root.
pub struct Stack {
    /// The chain without its last function, as an index into the list; it comes before.
    pub parent: Option<usize>,
    pub function_id: FunctionId,
    pub depth: usize,
    /// Calls with this chain and what they cost themselves.
    pub calls: i64,
    pub own: i64,
}

impl From<Context> for Stack {
    fn from(context: Context) -> Stack {
        let Context { parent, function_id, depth, calls, steps_self, .. } = context;
        Stack { parent, function_id, depth, calls, own: steps_self }
    }
}

/// All chains that occur, in the order in which they first do.
pub fn stacks(
    connection: &Connection,
    format: &'static str,
) -> Result<(Vec<Stack>, Unit), ExportError> {
    if let Some(list) = stored_contexts(connection)? {
        return Ok((list.into_iter().map(Stack::from).collect(), Unit::Steps));
    }
    let unit = calls::prepare(connection, format, Stubs::Fold)?;
    let mut list: Vec<Stack> = Vec::new();
    let mut known: HashMap<(Option<usize>, FunctionId), usize> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    calls::walk(connection, &mut |event| {
        match event {
            Event::Open(call) => {
                let parent = open.last().copied();
                let depth = parent.map_or(0, |p| list[p].depth + 1);
                let at = match parent {
                    Some(parent) if depth >= DEPTH => parent,
                    _ => *known.entry((parent, call.function_id)).or_insert_with(|| {
                        list.push(Stack {
                            parent,
                            function_id: call.function_id,
                            depth,
                            calls: 0,
                            own: 0,
                        });
                        list.len() - 1
                    }),
                };
                list[at].calls += 1;
                list[at].own = list[at].own.saturating_add(call.own);
                open.push(at);
            }
            Event::Close(_) => {
                open.pop();
            }
        }
        Ok(())
    })?;
    Ok((list, unit))
}

pub fn write(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let (list, _) = stacks(connection, "folded stacks")?;
    let names = FunctionNames::read(connection)?;
    // A semicolon separates frames and a line end stacks.
    let frame = |id: FunctionId| visible(names.name(id)).replace(';', ":");
    let mut chain = Vec::new();
    for (i, stack) in list.iter().enumerate().filter(|(_, s)| s.own > 0) {
        chain.clear();
        let mut at = Some(i);
        while let Some(i) = at {
            chain.push(list[i].function_id);
            at = list[i].parent;
        }
        for (i, &function) in chain.iter().rev().enumerate() {
            write!(out, "{}{}", if i > 0 { ";" } else { "" }, frame(function))?;
        }
        writeln!(out, " {}", stack.own)?;
    }
    Ok(())
}

/// The flame graph as SVG.
pub fn flamegraph(
    connection: &Connection,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut text = Vec::new();
    write(connection, options, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    let mut style = inferno::flamegraph::Options::default();
    style.title = "Calling contexts by the cost of their calls".into();
    let sql = "SELECT count(steps_self) > 0 FROM function_profile";
    let steps: bool = connection.query_row(sql, [], |r| r.get(0))?;
    style.count_name = if steps { "steps" } else { "ticks" }.into();
    let problems = crate::query::problems(connection)?;
    style.subtitle = (!problems.is_empty()).then(|| problems.join("; "));
    style.deterministic = true;
    inferno::flamegraph::from_lines(&mut style, text.lines(), out).map_err(ExportError::Io)
}
