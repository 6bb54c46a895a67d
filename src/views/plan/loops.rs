//! Loops that could move: their own instructions, from the dataflow between instructions.

use super::cost::CostModel;
use super::figures::{tenths, whole};
use crate::graph::{FunctionNames, loop_lines};
use crate::id::{FunctionId, InstructionId};
use crate::query::each;
use crate::render::rows::{RowFormat, RowWriter, word};
use crate::replay::Code;
use crate::replay::control::ControlFlow;
use crate::views::ViewError;
use duckdb::Connection;
use duckdb::types::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Write;

/// A loop with the loops in it, without what they call.
#[derive(Clone, Debug)]
pub struct LoopSet {
    /// None: code of no function.
    pub function_id: Option<FunctionId>,
    /// Hostile text.
    pub function: String,
    /// `file:first-last`, else the address of the header.
    pub place: String,
    pub depth: u32,
    pub entries: u64,
    pub iterations: u64,
    pub instructions: usize,
    pub steps: u64,
    /// Each read counted.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Seconds that are won.
    pub gain: f64,
}

/// Loops of the executed control flow, those that gain most first. Bytes are those of single reads,
/// so that what is read twice is sent twice: more than need be, and the gain is one at least.
pub fn loops(connection: &Connection, model: &CostModel) -> Result<Vec<LoopSet>, ViewError> {
    let edges: bool =
        connection.query_row("SELECT EXISTS (FROM instruction_edge)", [], |r| r.get(0))?;
    if !edges {
        return Err(ViewError::PlanLacks {
            what: "dataflow between instructions (--detail instance, or any without --no-steps)",
        });
    }
    let code = Code::open(connection)?;
    let flow = ControlFlow::find(&code, connection)?;
    let names = FunctionNames::read(connection)?;
    let mut texts: BTreeMap<InstructionId, (String, Option<i32>)> = BTreeMap::new();
    let sql = include_str!("../../../queries/report/instruction_lines.sql");
    each(connection, sql, &[], |r| {
        texts.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
        Ok(())
    })?;
    let line = |i| texts.get(&i).map(|t| (t.0.as_str(), t.1));
    let mut inside: BTreeMap<InstructionId, Vec<usize>> = BTreeMap::new();
    let mut found = Vec::new();
    for (number, l) in flow.loops.iter().enumerate() {
        let body = l.blocks.iter().flat_map(|&block| &flow.blocks[block].instructions);
        let mut instructions = 0;
        for &instruction in body {
            inside.entry(instruction).or_default().push(number);
            instructions += 1;
        }
        let header = flow.blocks[l.header].instructions[0];
        let place = loop_lines(&flow, l, line)
            .unwrap_or_else(|| format!("{:#x}", code.instruction(header).address));
        found.push(LoopSet {
            function_id: l.function,
            function: names.name(l.function).to_owned(),
            place,
            depth: l.depth + 1,
            entries: l.entries,
            iterations: l.iterations,
            instructions,
            steps: flow.steps(number),
            bytes_in: 0,
            bytes_out: 0,
            gain: 0.0,
        });
    }
    let none = Vec::new();
    each(connection, include_str!("../../../queries/report/plan_loop_edges.sql"), &[], |r| {
        let (writer, reader): (Option<InstructionId>, InstructionId) = (r.get(0)?, r.get(1)?);
        let bytes = u64::try_from(r.get::<_, i64>(2)?).unwrap_or(0);
        let wrote = writer.and_then(|writer| inside.get(&writer)).unwrap_or(&none);
        let read = inside.get(&reader).unwrap_or(&none);
        for &number in read.iter().filter(|number| !wrote.contains(number)) {
            found[number].bytes_in += bytes;
        }
        for &number in wrote.iter().filter(|number| !read.contains(number)) {
            found[number].bytes_out += bytes;
        }
        Ok(())
    })?;
    for of in &mut found {
        let sent = (of.bytes_in + of.bytes_out) as f64;
        of.gain = model.gain(of.steps as f64, of.entries as f64, sent);
    }
    found.sort_by(|a, b| {
        let by_gain = b.gain.partial_cmp(&a.gain).unwrap_or(Ordering::Equal);
        by_gain
            .then_with(|| (&a.function, &a.place, a.depth).cmp(&(&b.function, &b.place, b.depth)))
    });
    Ok(found)
}

/// Loops as a table; `steps`: of the whole run.
pub fn write(
    loops: &[LoopSet],
    (steps, model): (u64, &CostModel),
    limit: usize,
    format: RowFormat,
    out: &mut dyn Write,
) -> std::io::Result<u64> {
    let columns = [
        "function",
        "loop",
        "depth",
        "instructions",
        "entries",
        "iterations",
        "percent_steps",
        "bytes_in",
        "bytes_out",
        "percent_gain",
    ];
    let mut rows = RowWriter::new(&columns, format, out)?.short_names();
    let all = steps.max(1) as f64;
    for of in loops.iter().take(limit) {
        rows.row(&[
            word(of.function.clone()),
            word(of.place.clone()),
            Value::BigInt(of.depth.into()),
            Value::UBigInt(of.instructions as u64),
            whole(of.entries as f64),
            whole(of.iterations as f64),
            tenths(100.0 * of.steps as f64 / all),
            whole(of.bytes_in as f64),
            whole(of.bytes_out as f64),
            tenths(100.0 * of.gain / model.here(all)),
        ])?;
    }
    rows.finish()
}
