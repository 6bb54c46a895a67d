//! Loops of the executed control flow with what they carry from one iteration to a later one.

use super::ViewError;
use crate::graph::function_names;
use crate::replay::Code;
use crate::replay::control::{ControlFlow, carried};
use duckdb::Connection;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct LoopRow {
    pub function: String,
    /// `file:first-last`, else the address of the header.
    pub place: String,
    pub depth: u32,
    pub irreducible: bool,
    pub entries: u64,
    pub iterations: u64,
    /// In the loop and the loops in it, not in what they call.
    pub steps: u64,
    /// Bytes that go from one iteration to a later one, and how many pairs of instructions they connect.
    pub carried_memory: i64,
    pub carried_register: i64,
    pub carried_edges: usize,
}

/// All loops, those with the most steps first; None for the carried figures where they are not wanted.
pub fn loops(connection: &Connection, with_carried: bool) -> Result<Vec<LoopRow>, ViewError> {
    let code = Code::open(connection)?;
    let flow = ControlFlow::find(&code, connection)?;
    let names = function_names(connection)?;
    let mut texts: BTreeMap<i32, (String, Option<i32>)> = BTreeMap::new();
    let mut statement = connection.prepare(include_str!("../../queries/report/instruction_lines.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
    }
    let mut sums: BTreeMap<usize, (i64, i64, usize)> = BTreeMap::new();
    if with_carried {
        for ((_, _, number), (memory, register)) in carried(&code, connection, &flow)? {
            let sum = sums.entry(number).or_default();
            *sum = (sum.0 + memory, sum.1 + register, sum.2 + 1);
        }
    }
    let mut found: Vec<LoopRow> = Vec::new();
    for (number, l) in flow.loops.iter().enumerate() {
        let header = flow.blocks[l.header].instructions[0];
        let file = texts.get(&header).map_or("", |t| t.0.as_str());
        let lines =
            l.blocks.iter().flat_map(|&b| &flow.blocks[b].instructions).filter_map(|i| texts.get(i)).filter(|t| t.0 == file);
        let lines: Vec<i32> = lines.filter_map(|t| t.1).collect();
        let place = match (lines.iter().min(), lines.iter().max()) {
            (Some(a), Some(b)) if a == b => format!("{file}:{a}"),
            (Some(a), Some(b)) => format!("{file}:{a}-{b}"),
            _ => format!("{:#x}", code.instruction(header).address),
        };
        let (carried_memory, carried_register, carried_edges) = sums.get(&number).copied().unwrap_or_default();
        found.push(LoopRow {
            function: names.get(&l.function).map_or("?", |n| n.0.as_str()).to_owned(),
            place,
            depth: l.depth + 1,
            irreducible: l.irreducible,
            entries: l.entries,
            iterations: l.iterations,
            steps: flow.steps(number),
            carried_memory,
            carried_register,
            carried_edges,
        });
    }
    found.sort_by(|a, b| {
        b.steps.cmp(&a.steps).then_with(|| (&a.function, &a.place, a.depth).cmp(&(&b.function, &b.place, b.depth)))
    });
    Ok(found)
}
