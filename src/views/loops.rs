//! Loops of the executed control flow with what they carry from one iteration to a later one.

use super::{ViewError, report};
use crate::graph::{FunctionNames, loop_lines};
use crate::id::InstructionId;
use crate::replay::Code;
use crate::replay::carried::carried;
use crate::replay::control::ControlFlow;
use duckdb::Connection;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct LoopRow {
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
}

/// What goes from one iteration to a later one: bytes, and pairs of instructions that they connect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub memory: i64,
    pub register: i64,
    pub edges: usize,
}

/// All loops, those with the most steps first: those of the trace's own control-flow graph (DCFG),
/// else those found in the executed instructions.
pub fn loops(connection: &Connection, with_carried: bool) -> Result<Vec<LoopRow>, ViewError> {
    if connection.query_row("SELECT EXISTS (FROM loop)", [], |r| r.get(0))? {
        return stored(connection);
    }
    let code = Code::open(connection)?;
    let flow = ControlFlow::find(&code, connection)?;
    let names = FunctionNames::read(connection)?;
    let mut texts: BTreeMap<InstructionId, (String, Option<i32>)> = BTreeMap::new();
    let mut statement = connection.prepare(report!("instruction_lines"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
    }
    let mut sums: BTreeMap<usize, (i64, i64, usize)> = BTreeMap::new();
    if with_carried {
        for ((_, _, number), bytes) in carried(&code, connection, &flow)? {
            let sum = sums.entry(number).or_default();
            *sum = (sum.0 + bytes.memory, sum.1 + bytes.register, sum.2 + 1);
        }
    }
    let mut found: Vec<LoopRow> = Vec::new();
    for (number, l) in flow.loops.iter().enumerate() {
        let header = flow.blocks[l.header].instructions[0];
        let line = |i| texts.get(&i).map(|t| (t.0.as_str(), t.1));
        let place = loop_lines(&flow, l, line)
            .unwrap_or_else(|| format!("{:#x}", code.instruction(header).address));
        let (memory, register, edges) = sums.get(&number).copied().unwrap_or_default();
        found.push(LoopRow {
            function: names.name(l.function).to_owned(),
            place,
            depth: l.depth + 1,
            irreducible: l.irreducible,
            entries: Some(l.entries as i64),
            iterations: Some(l.iterations as i64),
            steps: Some(flow.steps(number) as i64),
            carried: with_carried.then_some(Carried { memory, register, edges }),
        });
    }
    found.sort_by(|a, b| {
        b.steps
            .cmp(&a.steps)
            .then_with(|| (&a.function, &a.place, a.depth).cmp(&(&b.function, &b.place, b.depth)))
    });
    Ok(found)
}

fn stored(connection: &Connection) -> Result<Vec<LoopRow>, ViewError> {
    let mut statement = connection.prepare(report!("loops_stored"))?;
    let rows = statement.query_map([], |r| {
        Ok(LoopRow {
            function: r.get(0)?,
            place: r.get(1)?,
            depth: r.get::<_, u32>(2)? + 1,
            irreducible: false,
            entries: r.get(3)?,
            iterations: r.get(4)?,
            steps: r.get(5)?,
            carried: None,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
