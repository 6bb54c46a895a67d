//! Parts of functions as nodes: instructions, basic blocks, source lines, loops - of all functions,
//! or of some in a graph of functions.

use super::error::GraphError;
use super::facts::Facts;
use super::level::Inside;
use super::loops::{FileLine, loop_lines};
use super::model::{Node, NodeId, NodeKind, Via};
use super::rows::{self, LevelRows, Numbers, fill, recorded_control, report};
use super::selection::{Selection, Show};
use crate::id::{FunctionId, InstructionId};
use crate::query::each;
use crate::replay::Code;
use crate::replay::carried::carried;
use crate::replay::control::{ControlFlow, ExecutedLoop};
use crate::text::human_count;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// Instructions of a block that are shown.
const SHOWN: usize = 8;
/// Places that an inlined function is called at that are shown.
const PLACES: usize = 3;

/// One executed instruction, as the names of parts need it.
struct Executed {
    instruction: InstructionId,
    function_id: FunctionId,
    function: String,
    address: u64,
    text: String,
    /// Last part of the path.
    file: Option<String>,
    line: Option<i32>,
    executions: i64,
}

/// Parts by their first instructions, each with its instructions in the order of addresses.
type Parts = BTreeMap<InstructionId, Vec<Executed>>;

/// The run once more, as far as parts need it.
struct Run {
    code: Code,
    flow: ControlFlow,
}

/// Reads functions, those to expand as their parts.
pub fn read(
    connection: &Connection,
    facts: Facts,
    selection: &Selection,
) -> Result<LevelRows, GraphError> {
    let inside = selection.level.inside().unwrap_or(selection.inside);
    expand(connection, selection)?;
    let carries =
        selection.shows(Show::Data) && (selection.shows(Show::Carried) || inside == Inside::Loop);
    let recorded = selection.shows(Show::Control) && facts.control;
    let control = selection.shows(Show::Control) && !recorded;
    let wants_flow = matches!(inside, Inside::Block | Inside::Loop)
        || control
        || selection.shows(Show::Jumps)
        || carries;
    let run = if wants_flow {
        let code = Code::open(connection)?;
        let flow = ControlFlow::find(&code, connection)?;
        Some(Run { code, flow })
    } else {
        None
    };
    prepare(connection, inside, run.as_ref())?;
    let parts = parts(connection)?;
    let mut rows = LevelRows::default();
    add_nodes(connection, selection, inside, &parts, run.as_ref(), &mut rows)?;
    if selection.shows(Show::Data) {
        let sql = report!("part_data");
        rows.data = rows::data(connection, sql, &[], Numbers::Parts, selection)?;
    } else {
        rows.nodes.retain(|_, n| n.kind != NodeKind::Pseudo);
    }
    if selection.shows(Show::Calls) {
        let sql = if facts.instances { report!("part_calls") } else { report!("part_call_edges") };
        rows.calls = rows::calls(connection, sql, &[], Numbers::Parts)?;
    }
    if recorded {
        recorded_control(connection, &mut rows)?;
    }
    if let Some(run) = &run {
        let placed = Placed::new(run, &parts);
        if control {
            placed.add_control(&mut rows);
        }
        if selection.shows(Show::Jumps) {
            placed.add_jumps(inside, &mut rows);
        }
        if carries {
            placed.add_carried(connection, selection, &mut rows)?;
        }
    }
    Ok(rows)
}

/// The temporary table `expanded`: functions whose inside is shown.
fn expand(connection: &Connection, selection: &Selection) -> duckdb::Result<()> {
    connection.execute_batch(
        "CREATE OR REPLACE TEMP TABLE expanded (function_id INTEGER);
         CREATE OR REPLACE TEMP TABLE part (instruction_id INTEGER, node INTEGER)",
    )?;
    if selection.level.inside().is_some() {
        connection
            .execute("INSERT INTO expanded SELECT DISTINCT function_id FROM instruction", [])?;
    } else {
        for id in &selection.expand {
            connection.execute("INSERT INTO expanded VALUES (?)", [id])?;
        }
    }
    Ok(())
}

/// The temporary table `part`: the part of each instruction, by its first one.
fn prepare(connection: &Connection, inside: Inside, run: Option<&Run>) -> duckdb::Result<()> {
    let parts = match (inside, run) {
        (Inside::Instruction, _) => report!("part_instruction"),
        (Inside::Line, _) => report!("part_line"),
        (Inside::Inlined, _) => report!("part_inlined"),
        (Inside::Block | Inside::Loop, Some(run)) => {
            connection.execute_batch(
                "CREATE OR REPLACE TEMP TABLE all_parts (instruction_id INTEGER, node INTEGER)",
            )?;
            fill(connection, "all_parts", leaders(inside, &run.flow).into_iter())?;
            report!("part_of_flow")
        }
        (Inside::Block | Inside::Loop, None) => return Ok(()),
    };
    connection.execute(&format!("INSERT INTO part {parts}"), [])?;
    Ok(())
}

/// Instructions with the first instruction of their block or loop.
fn leaders(inside: Inside, flow: &ControlFlow) -> Vec<(i64, i64)> {
    // What of a function is in no loop is one part.
    let mut outside = BTreeMap::new();
    for (block, _) in flow.blocks.iter().zip(&flow.loop_of).filter(|(_, l)| l.is_none()) {
        let least = block.instructions.iter().copied().min();
        let at = outside.entry(block.function).or_insert(least);
        *at = least.min(*at);
    }
    let mut list = Vec::new();
    for (block, in_loop) in flow.blocks.iter().zip(&flow.loop_of) {
        let leader = match (inside, in_loop) {
            (Inside::Loop, Some(l)) => flow.blocks[flow.loops[*l].header].instructions.first(),
            (Inside::Loop, None) => outside.get(&block.function).and_then(Option::as_ref),
            _ => block.instructions.first(),
        };
        let column = |i: &InstructionId| i64::from(i.column());
        let leader = leader.map_or(0, column);
        list.extend(block.instructions.iter().map(|i| (column(i), leader)));
    }
    list
}

fn parts(connection: &Connection) -> duckdb::Result<Parts> {
    let mut parts = Parts::new();
    each(connection, report!("part_nodes"), &[], |r| {
        let row = Executed {
            instruction: r.get(0)?,
            function_id: r.get(2)?,
            function: r.get(3)?,
            address: r.get(4)?,
            text: r.get(5)?,
            file: r.get(6)?,
            line: r.get(7)?,
            executions: r.get(8)?,
        };
        parts.entry(r.get(1)?).or_default().push(row);
        Ok(())
    })?;
    Ok(parts)
}

fn add_nodes(
    connection: &Connection,
    selection: &Selection,
    inside: Inside,
    parts: &Parts,
    run: Option<&Run>,
    rows: &mut LevelRows,
) -> duckdb::Result<()> {
    rows.nodes = rows::nodes(connection, report!("graph_nodes"), Numbers::Functions)?;
    let focus = selection.focus.map(|f| f.function_id);
    let inlined = match inside {
        Inside::Inlined => inlined_calls(connection)?,
        _ => BTreeMap::new(),
    };
    let line_of: BTreeMap<InstructionId, FileLine> = parts
        .values()
        .flatten()
        .filter_map(|r| Some((r.instruction, (r.file.as_deref()?, r.line))))
        .collect();
    for (&first, list) in parts {
        let id = NodeId::Part(first);
        rows.nodes.remove(&NodeId::Function(list[0].function_id));
        if focus == Some(list[0].function_id) {
            rows.focus.push(id);
        }
        let (name, mut text) = match inside {
            Inside::Instruction => instruction_label(list),
            Inside::Inlined => inlined_label(list, &inlined),
            Inside::Line => (lines(list).unwrap_or_else(|| "(no line)".into()), Vec::new()),
            Inside::Block => block_label(list),
            Inside::Loop => {
                let found = run.and_then(|r| Some((&r.flow, loop_of(&r.flow, first)?)));
                let lines =
                    found.and_then(|(flow, l)| loop_lines(flow, l, |i| line_of.get(&i).copied()));
                loop_label(list[0].address, found.map(|f| f.1), lines)
            }
        };
        text.retain(|t| !t.is_empty());
        let node = Node {
            id,
            name,
            kind: match inside {
                // What of a function is its own.
                Inside::Inlined if !inlined.contains_key(&first) => NodeKind::Function,
                inside => kind(inside),
            },
            text,
            function: Some(list[0].function.clone()),
            steps_self: Some(list.iter().map(|r| r.executions).sum()),
            members: 1,
            ..Node::default()
        };
        rows.nodes.insert(id, node);
    }
    if rows.focus.is_empty() {
        rows.focus.extend(focus.map(NodeId::Function));
    }
    Ok(())
}

fn kind(inside: Inside) -> NodeKind {
    match inside {
        Inside::Instruction => NodeKind::Instruction,
        Inside::Block => NodeKind::Block,
        Inside::Line => NodeKind::Line,
        Inside::Loop => NodeKind::Loop,
        Inside::Inlined => NodeKind::Inlined,
    }
}

/// Of the instructions of inlined calls the function that was inlined, and where.
type InlinedAt = BTreeMap<InstructionId, (String, Option<String>)>;

fn inlined_calls(connection: &Connection) -> duckdb::Result<InlinedAt> {
    let mut found = InlinedAt::new();
    each(connection, report!("inlined_calls"), &[], |r| {
        let (file, line): (Option<String>, Option<i32>) = (r.get(2)?, r.get(3)?);
        let place = file.zip(line).map(|(file, line)| format!("{file}:{line}"));
        found.insert(r.get(0)?, (r.get(1)?, place));
        Ok(())
    })?;
    Ok(found)
}

fn inlined_label(list: &[Executed], inlined: &InlinedAt) -> Label {
    let calls: Vec<&(String, Option<String>)> =
        list.iter().filter_map(|r| inlined.get(&r.instruction)).collect();
    let Some((name, _)) = calls.first() else { return ("(its own code)".into(), Vec::new()) };
    let places: BTreeSet<&str> = calls.iter().filter_map(|c| c.1.as_deref()).collect();
    let mut text: Vec<String> =
        places.iter().take(PLACES).map(|place| format!("called at {place}")).collect();
    if places.len() > PLACES {
        text.push(format!("… {} more", places.len() - PLACES));
    }
    (name.clone(), text)
}

/// Source lines of a part: `file:first-last`.
fn lines(list: &[Executed]) -> Option<String> {
    let file = list.iter().find_map(|r| r.file.clone())?;
    let of = list.iter().filter(|r| r.file.as_ref() == Some(&file)).filter_map(|r| r.line);
    let (first, last) = (of.clone().min()?, of.max()?);
    Some(if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") })
}

/// Name, and lines below it.
type Label = (String, Vec<String>);

/// `0x401136, file:line`.
fn place(list: &[Executed]) -> String {
    let lines = lines(list).map_or(String::new(), |l| format!(", {l}"));
    format!("{:#x}{lines}", list[0].address)
}

fn instruction_label(list: &[Executed]) -> Label {
    let (text, place) = (&list[0].text, place(list));
    if text.is_empty() { (place, Vec::new()) } else { (text.clone(), vec![place]) }
}

fn block_label(list: &[Executed]) -> Label {
    let mut text: Vec<String> = list.iter().take(SHOWN).map(|r| r.text.clone()).collect();
    if list.len() > SHOWN {
        text.push(format!("… {} more", list.len() - SHOWN));
    }
    (place(list), text)
}

/// The innermost loop that the part with this first instruction is.
fn loop_of(flow: &ControlFlow, first: InstructionId) -> Option<&ExecutedLoop> {
    flow.loops.get((*flow.loop_of.get(flow.block_of(first)?)?)?)
}

fn loop_label(address: u64, found: Option<&ExecutedLoop>, lines: Option<String>) -> Label {
    let Some(l) = found else { return ("(outside loops)".into(), Vec::new()) };
    let times = |n: u64, what| {
        let count = human_count(i64::try_from(n).unwrap_or(i64::MAX));
        format!("{count} {what}{}", if n == 1 { "" } else { "s" })
    };
    let entries = match l.entries {
        1 => "entered once".to_owned(),
        n => format!("entered {}", times(n, "time")),
    };
    let shape = if l.irreducible { ", several entries" } else { "" };
    let depth = if l.depth > 0 { format!(", {} deep", l.depth + 1) } else { String::new() };
    let place = lines.unwrap_or_else(|| format!("{address:#x}"));
    let iterations = times(l.iterations, "iteration");
    (format!("loop {place}"), vec![format!("{entries}, {iterations}{depth}{shape}")])
}

/// The executed control flow with the nodes of its instructions.
struct Placed<'a> {
    run: &'a Run,
    node_of: BTreeMap<InstructionId, NodeId>,
}

impl<'a> Placed<'a> {
    fn new(run: &'a Run, parts: &Parts) -> Placed<'a> {
        let mut node_of = BTreeMap::new();
        for (&first, list) in parts {
            node_of.extend(list.iter().map(|r| (r.instruction, NodeId::Part(first))));
        }
        Placed { run, node_of }
    }

    /// The part of an instruction.
    fn part(&self, instruction: InstructionId) -> Option<NodeId> {
        self.node_of.get(&instruction).copied()
    }

    /// The part of an instruction, else its function.
    fn node(&self, instruction: InstructionId) -> Option<NodeId> {
        let function = || self.run.code.instruction(instruction).function;
        self.part(instruction).or_else(|| function().map(NodeId::Function))
    }

    /// The parts at the end of one block and at the begin of another.
    fn ends(&self, a: usize, b: usize) -> Option<(NodeId, NodeId)> {
        let blocks = &self.run.flow.blocks;
        let from = blocks.get(a)?.instructions.last()?;
        let to = blocks.get(b)?.instructions.first()?;
        Some((self.part(*from)?, self.part(*to)?))
    }

    fn add_control(&self, rows: &mut LevelRows) {
        let pairs = self.run.flow.control.iter().filter_map(|&(a, b)| self.ends(a, b));
        rows.control.extend(pairs.filter(|(a, b)| a != b));
    }

    fn add_jumps(&self, inside: Inside, rows: &mut LevelRows) {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        if inside == Inside::Instruction {
            for block in &self.run.flow.blocks {
                let pairs = block
                    .instructions
                    .windows(2)
                    .filter_map(|p| Some((self.part(p[0])?, self.part(p[1])?)));
                rows.jumps.extend(pairs.map(|(a, b)| (a, b, count(block.executions))));
            }
        }
        let keep_own = matches!(inside, Inside::Instruction | Inside::Block);
        for (&(a, b), &n) in &self.run.flow.next {
            if let Some((a, b)) = self.ends(a, b).filter(|(a, b)| a != b || keep_own) {
                rows.jumps.push((a, b, count(n)));
            }
        }
    }

    fn add_carried(
        &self,
        connection: &Connection,
        selection: &Selection,
        rows: &mut LevelRows,
    ) -> Result<(), GraphError> {
        let memory_wanted =
            selection.via.is_empty() || selection.via.iter().any(|&via| via != Via::Register);
        let register_wanted = selection.wants(Via::Register);
        let found = carried(&self.run.code, connection, &self.run.flow)?;
        for ((writer, reader, _), carried) in found {
            let bytes = if memory_wanted { carried.memory } else { 0 }
                + if register_wanted { carried.register } else { 0 };
            if let Some((writer, reader)) = self.node(writer).zip(self.node(reader)) {
                rows.carried.push((writer, reader, bytes));
            }
        }
        Ok(())
    }
}
