//! What is worth moving, as `addfg plan` finds it with its own figures for link, clock and speed; and of
//! the first of it, or of the groups that a person names, what crosses the border, as `addfg cut` tells it.

use super::functions::Functions;
use super::groups::Group;
use super::missing::{or_say, steps};
use super::options::{Options, ReportError};
use crate::id::FunctionId;
use crate::load::packed::is_packed;
use crate::query::{each, keeps_part};
use crate::replay::crossing::Callees;
use crate::text::{human_count, visible};
use crate::views::ViewError;
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
/// Gives also the first of the sets to move.
pub(super) fn sets(
    connection: &Connection,
    functions: &Functions,
) -> Result<(Value, Vec<Set>), ReportError> {
    let mut ids = Vec::new();
    each(connection, include_str!("../../queries/report/plan_functions.sql"), &[], |r| {
        ids.push(r.get(0)?);
        Ok(())
    })?;
    let run = Run::read(connection)?;
    if run.steps == 0 || run.flows.is_empty() {
        return Ok((Value::Null, Vec::new()));
    }
    let found = plan(run, Wish::default(), None)?;
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
    let moved = found.sets.iter().take(found.chosen).filter_map(|set| {
        let root: FunctionId = *ids.get(set.root)?;
        let callees = Callees::Inside;
        Some(Set { at: functions.at(root), functions: BTreeSet::from([root]), callees })
    });
    Ok((rows.into(), moved.take(CUTS).collect()))
}

/// A set of which the page tells what crosses its border.
pub(super) struct Set {
    /// Place of its function, or behind all functions of its group.
    at: Option<usize>,
    functions: BTreeSet<FunctionId>,
    callees: Callees,
}

/// The groups as sets: with the functions that are named, and no others.
pub(super) fn of_groups(functions: &Functions, groups: Vec<Group>) -> Vec<Set> {
    let set = |(i, group): (usize, Group)| Set {
        at: Some(functions.rows.len() + i),
        functions: group.functions,
        callees: Callees::Outside,
    };
    groups.into_iter().enumerate().map(set).collect()
}

/// Sets of the plan of which the page tells what crosses their border, and functions on the other side of
/// each set.
const CUTS: usize = 3;
const PARTNERS: usize = 20;

/// By set (place of its function or group) its figures, as `addfg cut` has them, with `--callees` of the
/// plan's sets, and the largest flows.
pub(super) fn cuts(
    connection: &Connection,
    options: &Options,
    (sets, missing): (&[Set], &mut Vec<Value>),
) -> Result<Value, ReportError> {
    let (steps, views) = (steps(connection)?, ["tables"]);
    let stored: bool =
        connection.query_row("SELECT EXISTS (FROM communication_row)", [], |r| r.get(0))?;
    if sets.is_empty() || keeps_part(connection)? {
        return Ok(Value::Null);
    }
    if !stored && !is_packed(connection)? {
        let why = "No cuts: the database has sums of data only.";
        missing.push(json!([views, why]));
        return Ok(Value::Null);
    }
    if steps > options.replayed.memory {
        let why = format!(
            "What crosses the border of the {} is not in this page: the run has {} steps. report --all goes through them, \
             addfg cut prints it.",
            if options.groups.is_empty() { "plan's sets" } else { "groups" },
            human_count(steps)
        );
        missing.push(json!([views, why]));
        return Ok(Value::Null);
    }
    let (mut figures, mut flows) = (Vec::new(), Vec::new());
    for set in sets {
        let found = cut(connection, &set.functions, set.callees);
        // Of a group that did not run on this input nothing crosses a border.
        if let Err(ViewError::NeverEntered { .. }) = &found {
            continue;
        }
        let Some(found) = or_say(found, &views, "No cuts", missing)? else {
            return Ok(Value::Null);
        };
        let at = set.at;
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
