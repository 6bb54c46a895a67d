//! Loops of the executed control flow with what they carry from one iteration to a later one.

use super::{ViewError, report};
use crate::graph::{FunctionNames, loop_lines};
use crate::id::{FunctionId, InstructionId};
use crate::query::{each, is_prepared};
use crate::replay::control::ControlFlow;
use crate::replay::dependences::{Conflict, Dependence, LoopDependences, Storage, dependences};
use crate::replay::pattern::{Finding, Pattern, pattern};
use crate::replay::{Around, Code, places};
use crate::text::file_name;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct LoopRow {
    /// None: code of no function.
    pub function_id: Option<FunctionId>,
    pub function: String,
    /// `file:first-last`, else the address of the header.
    pub place: String,
    pub depth: u32,
    pub irreducible: bool,
    /// None where a graph without counts has the loop.
    pub entries: Option<i64>,
    pub iterations: Option<i64>,
    /// In the loop and the loops in it, not in what they call.
    pub steps: Option<i64>,
    /// None where it is not wanted, or the trace has no data.
    pub carried: Option<Carried>,
    /// What may be done with it; None as above.
    pub finding: Option<Finding>,
    /// Between its iterations, by what the later one does and through which storage.
    pub dependences: Vec<(Conflict, Storage, Dependence)>,
}

/// What goes from one iteration to a later one: bytes, and pairs of instructions that they connect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub memory: i64,
    pub register: i64,
    pub edges: usize,
}

/// All loops, those with the most steps first: those of the trace's own control-flow graph (DCFG),
/// else those found in the executed instructions. `only`: those of these functions, if it has any.
pub fn loops(
    connection: &Connection,
    only: &BTreeSet<FunctionId>,
    with_carried: bool,
) -> Result<Vec<LoopRow>, ViewError> {
    let mut rows = match made(connection)? {
        Some(mut rows) => {
            if !with_carried {
                rows.iter_mut().for_each(LoopRow::forget_carried);
            }
            rows
        }
        None if only.is_empty() => find_all(connection, with_carried)?,
        None => find_around(connection, only, with_carried)?,
    };
    if !only.is_empty() {
        rows.retain(|row| row.function_id.is_some_and(|id| only.contains(&id)));
    }
    Ok(rows)
}

/// Whether the run need not be gone through.
pub fn are_made(connection: &Connection) -> Result<bool, ViewError> {
    Ok(are_of_trace(connection)? || is_prepared(connection)?)
}

fn are_of_trace(connection: &Connection) -> duckdb::Result<bool> {
    connection.query_row("SELECT EXISTS (FROM loop)", [], |r| r.get(0))
}

/// Those that the database has.
fn made(connection: &Connection) -> Result<Option<Vec<LoopRow>>, ViewError> {
    if !are_made(connection)? {
        return Ok(None);
    }
    let of_trace = are_of_trace(connection)?;
    if of_trace { stored(connection) } else { prepared(connection) }.map(Some)
}

/// Goes through the run: loops with all that is known of them.
pub fn find(connection: &Connection) -> Result<Vec<LoopRow>, ViewError> {
    find_all(connection, true)
}

fn find_all(connection: &Connection, with_carried: bool) -> Result<Vec<LoopRow>, ViewError> {
    let code = Code::open(connection)?;
    let flow = ControlFlow::find(&code, connection)?;
    let gathered = with_carried
        .then(|| dependences(&code, connection, &flow, &places(connection)?))
        .transpose()?;
    rows(connection, (&code, &flow), gathered)
}

/// Goes through the chunks of a packed run in which functions of a set are open.
fn find_around(
    connection: &Connection,
    only: &BTreeSet<FunctionId>,
    with_carried: bool,
) -> Result<Vec<LoopRow>, ViewError> {
    let Some(mut around) = Around::open(connection)? else {
        return find_all(connection, with_carried);
    };
    let transitions = around.transitions(only)?;
    let flow = ControlFlow::of(around.code(), &transitions);
    let is_of = |function: Option<FunctionId>| function.is_some_and(|of| only.contains(&of));
    let gathered = match with_carried {
        true => Some(around.dependences(&flow, &places(connection)?, is_of)?),
        false => None,
    };
    rows(connection, (around.code(), &flow), gathered)
}

/// `gathered`: None where it is not wanted.
fn rows(
    connection: &Connection,
    (code, flow): (&Code, &ControlFlow),
    gathered: Option<BTreeMap<usize, LoopDependences>>,
) -> Result<Vec<LoopRow>, ViewError> {
    let with_carried = gathered.is_some();
    let mut gathered = gathered.unwrap_or_default();
    let names = FunctionNames::read(connection)?;
    let mut texts: BTreeMap<InstructionId, (String, Option<i32>)> = BTreeMap::new();
    let mut statement = connection.prepare(report!("instruction_lines"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
    }
    let mut sites: BTreeMap<InstructionId, (String, Option<i32>)> = BTreeMap::new();
    let mut statement = connection.prepare(report!("instruction_call_sites"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        sites.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
    }
    let mut disassembled: BTreeMap<InstructionId, String> = BTreeMap::new();
    let mut statement = connection.prepare(report!("instruction_texts"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        disassembled.insert(r.get(0)?, r.get(1)?);
    }
    let text = |id: InstructionId| disassembled.get(&id).cloned().unwrap_or_default();
    let mut found: Vec<LoopRow> = Vec::new();
    for (number, l) in flow.loops.iter().enumerate() {
        let header = flow.blocks[l.header].instructions[0];
        let line = |i| texts.get(&i).map(|t| (t.0.as_str(), t.1));
        let site = |i| sites.get(&i).or_else(|| texts.get(&i)).map(|t| (t.0.as_str(), t.1));
        let place = named(loop_lines(flow, l, site), loop_lines(flow, l, line))
            .unwrap_or_else(|| format!("{:#x}", code.instruction(header).address));
        let of = gathered.remove(&number).unwrap_or_default();
        found.push(LoopRow {
            function_id: l.function,
            function: names.name(l.function).to_owned(),
            place,
            depth: l.depth + 1,
            irreducible: l.irreducible,
            entries: Some(l.entries as i64),
            iterations: Some(l.iterations as i64),
            steps: Some(flow.steps(number) as i64),
            carried: with_carried.then(|| carried(&of)),
            finding: with_carried.then(|| pattern(&of, &text)),
            dependences: of.by_storage.into_iter().map(|((c, s), d)| (c, s, d)).collect(),
        });
    }
    found.sort_by(|a, b| {
        b.steps
            .cmp(&a.steps)
            .then_with(|| (&a.function, &a.place, a.depth).cmp(&(&b.function, &b.place, b.depth)))
    });
    Ok(found)
}

/// A loop by the lines of its function, with those of the inlined code that it is in behind them:
/// `sort.cc:12 (stl_vector.h:1124)`.
fn named(own: Option<String>, inlined: Option<String>) -> Option<String> {
    let file = |place: &str| place.rsplit_once(':').map(|p| p.0.to_owned());
    match (own, inlined) {
        (Some(own), Some(inlined)) if file(&own) != file(&inlined) => {
            Some(format!("{own} ({})", file_name(&inlined)))
        }
        (_, inlined) => inlined,
    }
}

fn carried(of: &LoopDependences) -> Carried {
    let edges = of.edges.values().filter(|edge| edge.most > 0).count();
    let mut sum = Carried { edges, ..Carried::default() };
    for ((conflict, storage), dependence) in &of.by_storage {
        if *conflict == Conflict::ReadAfterWrite {
            let is_register = matches!(storage, Storage::Register(_));
            let to = if is_register { &mut sum.register } else { &mut sum.memory };
            *to += i64::try_from(dependence.bytes).unwrap_or(i64::MAX);
        }
    }
    sum
}

/// As `addfg prepare` has stored them. What is no word of ours is left out.
fn prepared(connection: &Connection) -> Result<Vec<LoopRow>, ViewError> {
    let names = FunctionNames::read(connection)?;
    let mut rows = Vec::new();
    each(connection, report!("prepared_loops"), &[], |r| {
        let function_id = r.get(0)?;
        let operations: Option<String> = r.get(11)?;
        let pattern = Pattern::parse(&r.get::<_, String>(10)?);
        let finding = Finding {
            pattern: pattern.unwrap_or(Pattern::Serial),
            operations: operations
                .map(|list| list.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
            distance: r.get(12)?,
            stages: r.get(13)?,
            recurrences: r.get(14)?,
        };
        rows.push(LoopRow {
            function_id,
            function: names.name(function_id).to_owned(),
            place: r.get(1)?,
            depth: r.get(2)?,
            irreducible: r.get(3)?,
            entries: r.get(4)?,
            iterations: r.get(5)?,
            steps: r.get(6)?,
            carried: Some(Carried { memory: r.get(7)?, register: r.get(8)?, edges: r.get(9)? }),
            finding: Some(finding),
            dependences: Vec::new(),
        });
        Ok(())
    })?;
    each(connection, report!("prepared_dependences"), &[], |r| {
        let number: usize = r.get(0)?;
        let storage = Storage::parse(&r.get::<_, String>(2)?, r.get(3)?);
        let conflict = Conflict::parse(&r.get::<_, String>(1)?);
        if let Some(row) = number.checked_sub(1).and_then(|at| rows.get_mut(at))
            && let Some((conflict, storage)) = conflict.zip(storage)
        {
            let (least, most, count, bytes) = (r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?);
            row.dependences.push((conflict, storage, Dependence { count, bytes, least, most }));
        }
        Ok(())
    })?;
    for row in &mut rows {
        row.dependences.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    }
    Ok(rows)
}

impl LoopRow {
    /// What it is without a look at what iterations do to one another.
    fn forget_carried(&mut self) {
        (self.carried, self.finding) = (None, None);
        self.dependences.clear();
    }

    /// Its pattern with the operations of a reduction.
    pub fn pattern(&self) -> Option<String> {
        let finding = self.finding.as_ref()?;
        let operations: Vec<_> = finding.operations.iter().map(String::as_str).collect();
        let name = finding.pattern.name();
        match &operations[..] {
            [] => Some(name.to_owned()),
            _ => Some(format!("{name} ({})", operations.join(", "))),
        }
    }

    /// Storage that iterations only use again: each can have its own. The stack is left out: who
    /// runs an iteration has one.
    pub fn private(&self) -> Vec<String> {
        let carried = |storage: &Storage| {
            let mut all = self.dependences.iter();
            all.any(|(conflict, s, _)| *conflict == Conflict::ReadAfterWrite && s == storage)
        };
        let used_again = self.dependences.iter().filter(|(conflict, storage, _)| {
            let is_stack = matches!(storage, Storage::Memory(via) if via == "stack");
            *conflict == Conflict::WriteAfterWrite && !carried(storage) && !is_stack
        });
        used_again.map(|(_, storage, _)| name(storage)).collect()
    }
}

/// As it is shown.
pub fn name(storage: &Storage) -> String {
    match storage {
        Storage::Register(name) | Storage::Variable(name) => name.clone(),
        Storage::Memory(via) => format!("({via})"),
    }
}

fn stored(connection: &Connection) -> Result<Vec<LoopRow>, ViewError> {
    let mut statement = connection.prepare(report!("loops_stored"))?;
    let rows = statement.query_map([], |r| {
        Ok(LoopRow {
            function_id: r.get(0)?,
            function: r.get(1)?,
            place: r.get(2)?,
            depth: r.get::<_, u32>(3)? + 1,
            irreducible: false,
            entries: r.get(4)?,
            iterations: r.get(5)?,
            steps: r.get(6)?,
            carried: None,
            finding: None,
            dependences: Vec::new(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
