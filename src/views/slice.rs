//! Slices by what a person names, and as a graph.

use super::listing::Listing;
use super::{ViewError, report};
use crate::graph::{
    Edge, EdgeKind, Flow, FunctionNames, Graph, Level, Node, NodeId, NodeKind, Via,
};
use crate::id::{InstructionId, ProcessId};
use crate::replay::control::ControlFlow;
use crate::replay::slice::{Bounds, Criterion, Slice, SliceEdge, Source, backward, forward};
use crate::replay::{Code, Places, Variable, When, places};
use crate::text::{human_count, visible};
use duckdb::types::Value;
use duckdb::{Connection, params};
use petgraph::graph::NodeIndex;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A slice with what it takes to show it.
pub struct Shown {
    pub slice: Slice,
    /// What the slice begins with, in words.
    pub criterion: String,
    pub direction: Direction,
    pub texts: BTreeMap<InstructionId, (String, String)>,
    pub functions: FunctionNames,
    /// What was not understood.
    problems: Vec<String>,
    code: Code,
    places: Places,
}

fn ids(
    connection: &Connection,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
) -> Result<BTreeSet<InstructionId>, ViewError> {
    let mut statement = connection.prepare(sql)?;
    Ok(statement.query_map(params, |r| r.get(0))?.collect::<Result<_, _>>()?)
}

/// Ids, each with a path.
fn rows<T: duckdb::types::FromSql>(
    connection: &Connection,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
) -> Result<Vec<(T, Option<String>)>, ViewError> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(params, |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The criterion may be any of these.
fn several(text: Cow<str>, all: impl Iterator<Item = String>) -> ViewError {
    let all: Vec<String> = all.take(12).map(|one| visible(&one).into_owned()).collect();
    ViewError::SeveralCriteria { text: text.into_owned(), all: all.join(", ") }
}

/// Which process, where there are several.
fn process_name(connection: &Connection, process: ProcessId) -> duckdb::Result<String> {
    let sql = "SELECT CASE WHEN count(*) > 1 THEN coalesce(' of process ' || ?1 || max(' (' || name || ')') FILTER (process_id = ?1),
                                                            ' of process ' || ?1) ELSE '' END FROM process";
    connection.query_row(sql, [process.column()], |r| r.get(0))
}

/// A step number; a hexadecimal address of an instruction or else of a byte of memory; FILE:LINE; a
/// variable. Before an address of memory or a variable, a process with a colon.
fn criterion(
    connection: &Connection,
    code: &Code,
    places: &Places,
    text: &str,
) -> Result<(Criterion, String), ViewError> {
    let shown = visible(text);
    if let Ok(seq) = text.parse::<i64>() {
        if seq < code.first || seq > code.last {
            let hint = format!("steps go from {} to {}", code.first, code.last);
            return Err(ViewError::NoCriterion { text: shown.into_owned(), hint });
        }
        return Ok((Criterion::Step(seq), format!("step {seq}")));
    }
    // Memory is a process's.
    let (given, text) = match text.split_once(':') {
        Some((number, of)) if of.parse::<i32>().is_err() => match number.parse() {
            Ok(number) => (ProcessId::new(number), of),
            Err(_) => (None, text),
        },
        _ => (None, text),
    };
    let whose = |process: ProcessId| process_name(connection, process);
    let digits = text.strip_prefix('@').unwrap_or(text);
    if let Some(address) = digits.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok()) {
        let which = ids(connection, report!("slice_address"), &[&address])?;
        if !which.is_empty() && given.is_none() {
            return Ok((
                Criterion::Instructions(which),
                format!("the instruction at {address:#x}"),
            ));
        }
        let process = given.unwrap_or(ProcessId::FIRST);
        let name = places.describe(When { process, seq: i64::MAX }, address);
        return Ok((
            Criterion::Memory { process, address, bytes: 1 },
            format!("the byte at {name}{}", whose(process)?),
        ));
    }
    if let Some((file, line)) = text.rsplit_once(':')
        && let Ok(line) = line.parse::<i32>()
    {
        let found = rows::<InstructionId>(connection, report!("slice_line"), &[&file, &line])?;
        let paths: BTreeSet<_> = found.iter().filter_map(|(_, path)| path.clone()).collect();
        if paths.len() > 1 {
            return Err(several(shown, paths.iter().map(|path| format!("{path}:{line}"))));
        }
        let which: BTreeSet<_> = found.into_iter().map(|(id, _)| id).collect();
        if which.is_empty() {
            let hint = "no instruction of that line ran".to_owned();
            return Err(ViewError::NoCriterion { text: shown.into_owned(), hint });
        }
        return Ok((Criterion::Instructions(which), format!("line {shown}")));
    }
    let found = rows::<i32>(connection, report!("slice_variable"), &[&text])?;
    let of_process = |id: i32| {
        let variable = places.variables().iter().find(|v| v.id == id)?;
        let all = places.processes_of(variable);
        let there = given.is_none_or(|of| all.is_empty() || all.contains(&of));
        there.then_some((variable, all.first().copied()))
    };
    let mut found: Vec<_> =
        found.iter().filter_map(|(id, path)| Some((of_process(*id)?, path.as_deref()))).collect();
    // A name that the program has is not a library's.
    if let Some(&((first, _), _)) = found.first() {
        found.retain(|((v, _), _)| v.is_with(first));
    }
    if found.len() > 1 {
        let name = |&((v, _), path): &((&Variable, _), Option<&str>)| match path {
            Some(path) => format!("{path}:{} at {:#x}", v.name, v.address),
            None => format!("{} at {:#x}", v.name, v.address),
        };
        return Err(several(shown, found.iter().map(name)));
    }
    match found.first().map(|&(variable, _)| variable) {
        Some((v, first)) => {
            let process = given.or(first).unwrap_or(ProcessId::FIRST);
            Ok((
                Criterion::Memory { process, address: v.address, bytes: v.size },
                format!("{} ({} bytes at {:#x}{})", v.name, v.size, v.address, whose(process)?),
            ))
        }
        None => {
            let hint = "write a step number, 0xADDRESS, FILE:LINE or the name of a global variable"
                .to_owned();
            Err(ViewError::NoCriterion { text: shown.into_owned(), hint })
        }
    }
}

/// Where a slice goes from its criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To where the value came from.
    Backward,
    /// To where it goes.
    Forward,
}

/// What a slice goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    Data,
    /// Control dependences, too (backwards only).
    DataAndControl,
}

/// Whether the database has recorded dependences of instances instead of steps.
pub fn has_dependences(connection: &Connection) -> Result<bool, ViewError> {
    Ok(connection.query_row("SELECT count(*) > 0 FROM dependence", [], |r| r.get(0))?)
}

/// A slice along recorded dependences, so deep and so many rows at most. `at`: 0xADDRESS or
/// FILE:LINE, with `#N` behind it the instance, else the last one (of a forward slice the first).
pub fn dependences(
    connection: &Connection,
    at: &str,
    direction: Direction,
    along: Along,
    (depth, limit): (i64, i64),
) -> Result<Listing, ViewError> {
    let none = |hint: &str| ViewError::NoCriterion {
        text: visible(at).into_owned(),
        hint: hint.to_owned(),
    };
    let (place, instance) = match at.rsplit_once('#') {
        Some((place, n)) => (
            place,
            Some(n.parse::<i64>().map_err(|_| none("behind # comes the number of an instance"))?),
        ),
        None => (at, None),
    };
    let digits = place.strip_prefix('@').unwrap_or(place);
    let which = if let Some(address) =
        digits.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok())
    {
        ids(connection, report!("slice_address"), &[&address])?
    } else if let Some((file, Ok(line))) =
        place.rsplit_once(':').map(|(f, l)| (f, l.parse::<i32>()))
    {
        ids(connection, report!("slice_line"), &[&file, &line])?
    } else {
        return Err(none(
            "this trace has no steps and no memory: write 0xADDRESS or FILE:LINE, with #N for an instance",
        ));
    };
    if which.is_empty() {
        return Err(none("no instruction that ran is there"));
    }
    let back = direction == Direction::Backward;
    let (from, to) = if back { ("read", "write") } else { ("write", "read") };
    let kinds = match along {
        Along::Data => "kind IS DISTINCT FROM 'control'",
        Along::DataAndControl => "true",
    };
    connection.execute_batch(&format!(
        "CREATE OR REPLACE TEMP TABLE slice_start (instruction_id INTEGER, instance BIGINT);
         CREATE OR REPLACE TEMP VIEW slice_edge AS
         SELECT {from}_instruction_id AS from_id, {from}_instance AS from_instance, {to}_instruction_id AS to_id,
                {to}_instance AS to_instance, kind
         FROM dependence WHERE write_instruction_id IS NOT NULL AND {kinds}"
    ))?;
    let last =
        "INSERT INTO slice_start SELECT instruction_id, coalesce(?, CASE WHEN ? THEN greatest(executions - 1, 0) ELSE 0 END)
                FROM instruction WHERE instruction_id = ?";
    for id in which {
        connection.execute(last, params![instance, back, id])?;
    }
    let params = [Value::BigInt(depth), Value::BigInt(limit)];
    Ok(Listing::new(report!("slice_dependence"), params))
}

/// Finds a slice.
pub fn slice(
    connection: &Connection,
    at: &str,
    direction: Direction,
    along: Along,
    bounds: Bounds,
) -> Result<Shown, ViewError> {
    let code = match along {
        Along::Data => Code::open_parts(connection)?,
        // Control dependences want all calls.
        Along::DataAndControl => Code::open(connection)?,
    };
    let places = places(connection)?;
    let (criterion, words) = criterion(connection, &code, &places, at)?;
    let found = match direction {
        Direction::Backward => {
            let flow = match along {
                Along::Data => None,
                Along::DataAndControl => Some(ControlFlow::find(&code, connection)?),
            };
            backward(&code, connection, &places, &criterion, flow.as_ref(), bounds)?
        }
        Direction::Forward => forward(&code, connection, &criterion, bounds)?,
    };
    let Some(slice) = found else {
        return Err(ViewError::NoCriterion {
            text: visible(at).into_owned(),
            hint: "it did not run".into(),
        });
    };
    let mut texts = BTreeMap::new();
    let mut statement = connection.prepare(report!("instruction_texts"))?;
    let mut rows = statement.query(params![])?;
    while let Some(r) = rows.next()? {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
    }
    let functions = FunctionNames::read(connection)?;
    let problems = crate::query::problems(connection)?;
    Ok(Shown { slice, criterion: words, direction, texts, functions, problems, code, places })
}

impl Shown {
    pub fn function(&self, instruction: InstructionId) -> &str {
        self.functions.name(self.code.instruction(instruction).function)
    }

    pub fn address(&self, instruction: InstructionId) -> u64 {
        self.code.instruction(instruction).address
    }

    pub fn text(&self, instruction: InstructionId) -> (&str, &str) {
        self.texts.get(&instruction).map_or(("", ""), |(t, l)| (t, l))
    }

    /// Where bytes come from that no step wrote, and what the kernel does with bytes, each with how
    /// many.
    pub fn outside(&self) -> [BTreeMap<&str, u64>; 2] {
        let mut found = [BTreeMap::new(), BTreeMap::new()];
        let data = self.slice.data.iter().map(|((from, _), edge)| (from, edge));
        for (from, edge) in data.chain(&self.slice.criterion_sources) {
            let name = match from {
                Source::Instruction(_) => continue,
                Source::Unwritten(number) => self.places.name(*number),
                Source::Kernel(name) => name,
            };
            *found[0].entry(name).or_default() += edge.memory + edge.register;
        }
        let sinks = self.slice.sinks.iter().map(|((_, to), edge)| (to, edge));
        for (to, edge) in sinks.chain(&self.slice.criterion_sinks) {
            *found[1].entry(&**to).or_default() += edge.memory;
        }
        found
    }

    fn add_data(&self, graph: &mut Graph, (from, to): (NodeIndex, NodeIndex), edge: &SliceEdge) {
        let flow = |via, bytes: u64| Flow::of_bytes(via, i64::try_from(bytes).unwrap_or(i64::MAX));
        let via =
            edge.place.map_or(Via::Other, |(at, address)| Via::of(self.places.at(at, address).via));
        let parts = [flow(Via::Register, edge.register), flow(via, edge.memory)];
        let parts: Vec<Flow> = parts.into_iter().filter(|f| f.bytes > 0).collect();
        graph.graph.add_edge(from, to, Edge::new(EdgeKind::Data(parts)));
    }

    /// The slice by instruction: the `top` that are nearest to the criterion.
    pub fn graph(&self, top: usize) -> Graph {
        let mut order: Vec<(u32, i64, InstructionId)> =
            self.slice.instructions.iter().map(|(&i, s)| (s.depth, -s.last, i)).collect();
        order.sort_unstable();
        let mut graph = Graph::new(Level::Instruction);
        graph.problems = self.problems.clone();
        let direction = match self.direction {
            Direction::Backward => "Where it came from",
            Direction::Forward => "Where it goes",
        };
        graph.title = Some(format!(
            "{direction}: {}; {} steps of {} instructions",
            self.criterion,
            human_count(self.slice.count as i64),
            order.len()
        ));
        let mut index = BTreeMap::new();
        for &(depth, _, id) in order.iter().take(top) {
            let sum = &self.slice.instructions[&id];
            let (text, line) = self.text(id);
            let times = if sum.steps == 1 {
                format!("step {}", sum.last)
            } else {
                format!("{} times, last at {}", human_count(sum.steps as i64), sum.last)
            };
            let node = Node {
                id: NodeId::Part(id),
                name: text.to_owned(),
                kind: NodeKind::Instruction,
                text: vec![if line.is_empty() {
                    times.clone()
                } else {
                    format!("{line}, {times}")
                }],
                function: Some(self.function(id).to_owned()),
                members: 1,
                ..Node::default()
            };
            let at = graph.graph.add_node(node);
            if depth == 0 && graph.focus.is_none() {
                graph.focus = Some(at);
            }
            index.insert(id, at);
        }
        let mut outside = BTreeMap::new();
        let mut pseudo = |graph: &mut Graph, number: usize| {
            *outside.entry(number).or_insert_with(|| {
                let id = NodeId::unwritten(number);
                let (kind, name) = (NodeKind::Pseudo, self.places.name(number).to_owned());
                graph.graph.add_node(Node { id, name, kind, ..Node::default() })
            })
        };
        let mut hidden = 0;
        for ((from, to), edge) in &self.slice.data {
            let to = index.get(to).copied();
            let from = match (from, to) {
                (Source::Instruction(id), _) => index.get(id).copied(),
                (_, None) => None,
                (Source::Unwritten(number), _) => Some(pseudo(&mut graph, *number)),
                (Source::Kernel(name), _) => Some(pseudo(&mut graph, self.places.number(name))),
            };
            match from.zip(to) {
                Some(ends) => self.add_data(&mut graph, ends, edge),
                None => hidden += 1,
            }
        }
        for ((from, to), edge) in &self.slice.sinks {
            match index.get(from) {
                Some(&from) => {
                    let to = pseudo(&mut graph, self.places.number(to));
                    self.add_data(&mut graph, (from, to), edge);
                }
                None => hidden += 1,
            }
        }
        // Bytes that the criterion names and no instruction made.
        let Slice { criterion_sources: sources, criterion_sinks: sinks, .. } = &self.slice;
        if !sources.is_empty() || !sinks.is_empty() {
            let named = graph.graph.add_node(Node {
                id: NodeId::Others,
                name: self.criterion.clone(),
                kind: NodeKind::Pseudo,
                ..Node::default()
            });
            graph.focus = graph.focus.or(Some(named));
            for (from, edge) in sources {
                let from = match from {
                    Source::Instruction(_) => continue,
                    Source::Unwritten(number) => pseudo(&mut graph, *number),
                    Source::Kernel(name) => pseudo(&mut graph, self.places.number(name)),
                };
                self.add_data(&mut graph, (from, named), edge);
            }
            for (to, edge) in sinks {
                let to = pseudo(&mut graph, self.places.number(to));
                self.add_data(&mut graph, (named, to), edge);
            }
        }
        for (from, to) in &self.slice.control {
            if let (Some(&a), Some(&b)) = (index.get(from), index.get(to)) {
                graph.graph.add_edge(a, b, Edge::new(EdgeKind::Control));
            }
        }
        if order.len() > top {
            graph.left_out.push(format!(
                "{} instructions farther from the criterion, {hidden} edges",
                order.len() - top
            ));
        }
        graph
    }
}
