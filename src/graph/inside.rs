//! Parts of functions as nodes: instructions, basic blocks, source lines, loops - of all functions,
//! or of some in a graph of functions.

use super::load::{Facts, call_row, data_row, fill, node, recorded_control, report};
use super::select::Rows;
use super::{GraphError, Level, Node, NodeId, NodeKind, PART, Selection};
use crate::query::each;
use crate::replay::Code;
use crate::replay::control::{ControlFlow, carried};
use crate::text::human_count;
use duckdb::Connection;
use std::collections::BTreeMap;

/// What a part of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    Instruction,
    Block,
    Line,
    Loop,
}

impl Inside {
    pub const ALL: [Inside; 4] = [Inside::Instruction, Inside::Block, Inside::Line, Inside::Loop];

    pub fn name(self) -> &'static str {
        ["instruction", "block", "line", "loop"][self as usize]
    }

    pub fn parse(text: &str) -> Option<Inside> {
        Inside::ALL.into_iter().find(|i| i.name() == text)
    }

    fn kind(self) -> NodeKind {
        match self {
            Inside::Instruction => NodeKind::Instruction,
            Inside::Block => NodeKind::Block,
            Inside::Line => NodeKind::Line,
            Inside::Loop => NodeKind::Loop,
        }
    }
}

/// Instructions of a block that are shown.
const SHOWN: usize = 8;

/// One executed instruction, as the names of parts need it.
struct Row {
    instruction: i32,
    node: NodeId,
    function_id: i32,
    function: String,
    address: u64,
    text: String,
    /// Last part of the path.
    file: Option<String>,
    line: Option<i32>,
    executions: i64,
}

fn lines(rows: &[Row]) -> Option<String> {
    let file = rows.iter().find_map(|r| r.file.clone())?;
    let of = rows.iter().filter(|r| r.file.as_ref() == Some(&file)).filter_map(|r| r.line);
    let (first, last) = (of.clone().min()?, of.max()?);
    Some(if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") })
}

fn part(inside: Inside, rows: &[Row], flow: Option<&ControlFlow>) -> Option<Node> {
    let first = rows.first()?;
    let lines = lines(rows);
    let (name, mut text) = match inside {
        Inside::Instruction => {
            let at = format!("{:#x}", first.address);
            let place = lines.map_or(String::new(), |l| format!(", {l}"));
            if first.text.is_empty() {
                (at + &place, Vec::new())
            } else {
                (first.text.clone(), vec![at + &place])
            }
        }
        Inside::Line => (lines.unwrap_or_else(|| "(no line)".into()), Vec::new()),
        Inside::Block => {
            let mut text: Vec<String> = rows.iter().take(SHOWN).map(|r| r.text.clone()).collect();
            if rows.len() > SHOWN {
                text.push(format!("… {} more", rows.len() - SHOWN));
            }
            (
                format!(
                    "{:#x}{}",
                    first.address,
                    lines.map_or(String::new(), |l| format!(", {l}"))
                ),
                text,
            )
        }
        Inside::Loop => {
            let block =
                flow.and_then(|f| f.block_of.get((first.node - PART) as usize).copied().flatten());
            let found =
                flow.zip(block).and_then(|(f, b)| f.loops.get((*f.loop_of.get(b as usize)?)?));
            match found {
                None => ("(outside loops)".into(), Vec::new()),
                Some(l) => {
                    let times = |n: u64, what| {
                        format!("{} {what}{}", human_count(n as i64), if n == 1 { "" } else { "s" })
                    };
                    let entries = if l.entries == 1 {
                        "entered once".to_owned()
                    } else {
                        format!("entered {}", times(l.entries, "time"))
                    };
                    let shape = if l.irreducible { ", several entries" } else { "" };
                    let depth =
                        if l.depth > 0 { format!(", {} deep", l.depth + 1) } else { String::new() };
                    let name = format!(
                        "loop {}",
                        lines.unwrap_or_else(|| format!("{:#x}", first.address))
                    );
                    (
                        name,
                        vec![format!(
                            "{entries}, {}{depth}{shape}",
                            times(l.iterations, "iteration")
                        )],
                    )
                }
            }
        }
    };
    text.retain(|t| !t.is_empty());
    Some(Node {
        id: first.node,
        name,
        kind: inside.kind(),
        text,
        function: Some(first.function.clone()),
        file: None,
        image: None,
        calls: 0,
        steps_self: Some(rows.iter().map(|r| r.executions).sum()),
        members: 1,
        ..Node::default()
    })
}

/// Reads functions, those to expand as their parts.
pub(super) fn rows(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<Rows, GraphError> {
    let inside = selection.level.inside().unwrap_or(selection.inside);
    connection.execute_batch(
        "CREATE OR REPLACE TEMP TABLE expanded (function_id INTEGER);
         CREATE OR REPLACE TEMP TABLE part (instruction_id INTEGER, node BIGINT)",
    )?;
    if selection.level.inside().is_some() {
        connection
            .execute("INSERT INTO expanded SELECT DISTINCT function_id FROM instruction", [])?;
    } else {
        for id in &selection.expand {
            connection.execute("INSERT INTO expanded VALUES (?)", [id])?;
        }
    }
    let carries = selection.data && (selection.carried || inside == Inside::Loop);
    let recorded = selection.control && facts.control;
    let control = selection.control && !recorded;
    let wants_flow =
        matches!(inside, Inside::Block | Inside::Loop) || control || selection.jumps || carries;
    let code = if wants_flow { Some(Code::open(connection)?) } else { None };
    let flow = match &code {
        Some(code) => Some(ControlFlow::find(code, connection)?),
        None => None,
    };
    match (inside, &flow) {
        (Inside::Instruction, _) => {
            connection.execute(&format!("INSERT INTO part {}", report!("part_instruction")), [])?
        }
        (Inside::Line, _) => {
            connection.execute(&format!("INSERT INTO part {}", report!("part_line")), [])?
        }
        (_, flow) => {
            append_parts(connection, inside, flow.as_ref())?;
            0
        }
    };
    let mut rows = Rows::default();
    each(connection, report!("graph_nodes"), &[], |r| {
        let node = node(r, false)?;
        rows.nodes.insert(node.id, node);
        Ok(())
    })?;
    let mut parts: BTreeMap<NodeId, Vec<Row>> = BTreeMap::new();
    each(connection, report!("part_nodes"), &[], |r| {
        let row = Row {
            instruction: r.get(0)?,
            node: r.get(1)?,
            function_id: r.get(2)?,
            function: r.get(3)?,
            address: r.get(4)?,
            text: r.get(5)?,
            file: r.get(6)?,
            line: r.get(7)?,
            executions: r.get(8)?,
        };
        parts.entry(row.node).or_default().push(row);
        Ok(())
    })?;
    let mut node_of: BTreeMap<i32, NodeId> = BTreeMap::new();
    let focus = selection.focus.map(|f| f.function_id);
    for list in parts.values() {
        rows.nodes.remove(&NodeId::from(list[0].function_id));
        node_of.extend(list.iter().map(|r| (r.instruction, r.node)));
        if focus == Some(list[0].function_id) {
            rows.focus.push(list[0].node);
        }
        if let Some(node) = part(inside, list, flow.as_ref()) {
            rows.nodes.insert(node.id, node);
        }
    }
    if let (Some(focus), true) = (focus, rows.focus.is_empty()) {
        rows.focus.push(focus.into());
    }
    if selection.data {
        each(connection, report!("part_data"), &[], |r| {
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
        let sql = if facts.instances { report!("part_calls") } else { report!("part_call_edges") };
        each(connection, sql, &[], |r| {
            rows.calls.push(call_row(r)?);
            Ok(())
        })?;
    }
    if recorded {
        recorded_control(connection, &mut rows)?;
    }
    let Some((code, flow)) = code.as_ref().zip(flow.as_ref()) else { return Ok(rows) };
    let function = |i: i32| NodeId::from(code.instruction(i).function);
    let place = |i: i32| node_of.get(&i).copied();
    let ends = |a: usize, b: usize| {
        let (from, to) =
            (flow.blocks.get(a)?.instructions.last()?, flow.blocks.get(b)?.instructions.first()?);
        Some((place(*from)?, place(*to)?))
    };
    if control {
        rows.control
            .extend(flow.control.iter().filter_map(|&(a, b)| ends(a, b)).filter(|(a, b)| a != b));
    }
    if selection.jumps {
        if inside == Inside::Instruction {
            for block in &flow.blocks {
                let pairs = block
                    .instructions
                    .windows(2)
                    .filter_map(|p| Some((place(p[0])?, place(p[1])?)));
                rows.jumps.extend(pairs.map(|(a, b)| (a, b, block.executions as i64)));
            }
        }
        let jumps =
            flow.next.iter().filter_map(|(&(a, b), &n)| ends(a, b).map(|(a, b)| (a, b, n as i64)));
        let keep_own = matches!(inside, Inside::Instruction | Inside::Block);
        rows.jumps.extend(jumps.filter(|(a, b, _)| a != b || keep_own));
    }
    if carries {
        for ((writer, reader, _), (memory, register)) in carried(code, connection, flow)? {
            let at = |i: i32| place(i).unwrap_or(function(i));
            let through = |register: bool| {
                selection.via.is_empty()
                    || selection.via.iter().any(|&v| (v == super::Via::Register) == register)
            };
            let bytes =
                if through(false) { memory } else { 0 } + if through(true) { register } else { 0 };
            rows.carried.push((at(writer), at(reader), bytes));
        }
    }
    Ok(rows)
}

fn append_parts(
    connection: &Connection,
    inside: Inside,
    flow: Option<&ControlFlow>,
) -> Result<(), GraphError> {
    let Some(flow) = flow else { return Ok(()) };
    connection.execute_batch(
        "CREATE OR REPLACE TEMP TABLE all_parts (instruction_id INTEGER, node BIGINT)",
    )?;
    let mut outside: BTreeMap<i32, i32> = BTreeMap::new();
    for block in
        flow.blocks.iter().enumerate().filter(|(i, _)| flow.loop_of[*i].is_none()).map(|b| b.1)
    {
        let least = block.instructions.iter().copied().min().unwrap_or(0);
        let at = outside.entry(block.function).or_insert(least);
        *at = least.min(*at);
    }
    let mut list = Vec::new();
    for (number, block) in flow.blocks.iter().enumerate() {
        let leader = match (inside, flow.loop_of[number]) {
            (Inside::Loop, Some(l)) => flow.blocks[flow.loops[l].header].instructions[0],
            (Inside::Loop, None) => outside.get(&block.function).copied().unwrap_or(0),
            _ => block.instructions[0],
        };
        list.extend(
            block.instructions.iter().map(|&i| (i64::from(i), PART + NodeId::from(leader))),
        );
    }
    fill(connection, "all_parts", list.into_iter())?;
    connection.execute_batch(&format!("INSERT INTO part {}", report!("part_of_flow")))?;
    Ok(())
}

/// Whether nodes are parts of functions.
pub(super) fn applies(selection: &Selection) -> bool {
    selection.level.inside().is_some()
        || (selection.level == Level::Function && !selection.expand.is_empty())
}
