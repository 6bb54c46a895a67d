//! What is worth moving, as `addfg plan` finds it with its own figures for link, clock and speed; and of
//! the first of it what crosses its border, as `addfg cut FUNCTION --callees` tells it.

use super::functions::Functions;
use super::lack::{or_say, steps};
use super::options::{Options, ReportError};
use crate::id::FunctionId;
use crate::query::{each, keeps_part};
use crate::replay::crossing::Callees;
use crate::text::{human_count, visible};
use crate::views::cut::cut;
use crate::views::plan::{Run, Wish, plan};
use duckdb::Connection;
use duckdb::types::Value as Cell;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rows: whether to move it, function (place), its name, functions, instructions, entries, percent
/// of the steps, bytes in and out, percent of the time that it gains, percent shared and never
/// executed; null where the trace has no steps or no data.
///
/// Gives also the functions of which those to move are the sets.
pub(super) fn sets(
    connection: &Connection,
    functions: &Functions,
) -> Result<(Value, Vec<FunctionId>), ReportError> {
    let mut ids = Vec::new();
    each(connection, include_str!("../../queries/report/plan_functions.sql"), &[], |r| {
        ids.push(r.get(0)?);
        Ok(())
    })?;
    let run = Run::read(connection)?;
    if run.steps == 0 || run.flows.is_empty() {
        return Ok((Value::Null, Vec::new()));
    }
    let found = plan(run, Wish::default())?;
    let tenths = |n: f64| (n * 10.0).round() / 10.0;
    let rows = found.sets.iter().enumerate().map(|(i, set)| {
        let share = found.share(set);
        json!([
            i < found.chosen,
            ids.get(set.root).and_then(|&id| functions.at(id)),
            visible(&found.run.functions[set.root].name),
            set.members.len(),
            set.instructions,
            set.entries.round(),
            tenths(100.0 * share.steps),
            set.bytes_in.round(),
            set.bytes_out.round(),
            tenths(100.0 * share.gain),
            tenths(100.0 * set.shared / set.steps.max(1.0)),
            set.unexecuted.map(|share| tenths(100.0 * share)),
        ])
    });
    let rows: Vec<Value> = rows.collect();
    let moved = found.sets.iter().take(found.chosen).filter_map(|set| ids.get(set.root).copied());
    Ok((rows.into(), moved.collect()))
}

/// Sets of which the page tells what crosses their border, and functions on the other side of each.
const CUTS: usize = 3;
const PARTNERS: usize = 20;

/// By set (function: place) its figures, as `addfg cut --callees` has them, and the largest flows.
pub(super) fn cuts(
    connection: &Connection,
    functions: &Functions,
    options: &Options,
    (sets, missing): (&[FunctionId], &mut Vec<Value>),
) -> Result<Value, ReportError> {
    let (steps, views) = (steps(connection)?, ["tables"]);
    let stored: bool =
        connection.query_row("SELECT EXISTS (FROM communication_row)", [], |r| r.get(0))?;
    if !stored || sets.is_empty() || keeps_part(connection)? {
        return Ok(Value::Null);
    }
    if steps > options.replayed.memory {
        let why = format!(
            "What crosses the border of the plan's sets is not in this page: the run has {} steps. report --all goes through them, \
             addfg cut FUNCTION --callees prints it.",
            human_count(steps)
        );
        missing.push(json!([views, why]));
        return Ok(Value::Null);
    }
    let (mut figures, mut flows) = (Vec::new(), Vec::new());
    for &set in sets.iter().take(CUTS) {
        let found = cut(connection, &BTreeSet::from([set]), Callees::Inside);
        let Some(found) = or_say(found, &views, "No cuts", missing)? else {
            return Ok(Value::Null);
        };
        let at = functions.at(set);
        let rows = |rows: Vec<[Cell; 6]>, most: usize| -> Vec<Value> {
            let row = |row: [Cell; 6]| json!([at, row.map(|cell| cell_value(&cell))]);
            rows.into_iter().take(most).map(row).collect()
        };
        figures.extend(rows(found.figure_rows(), usize::MAX));
        flows.extend(rows(found.flow_rows(), PARTNERS));
    }
    Ok(json!({ "figures": figures, "flows": flows }))
}

fn cell_value(cell: &Cell) -> Value {
    match cell {
        Cell::UBigInt(n) => (*n).into(),
        Cell::Double(n) => (*n).into(),
        Cell::Text(text) => visible(text).into(),
        _ => Value::Null,
    }
}
