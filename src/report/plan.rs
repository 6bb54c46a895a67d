//! What is worth moving, as `addfg plan` finds it with its own figures for link, clock and speed.

use super::functions::Functions;
use super::options::ReportError;
use crate::query::each;
use crate::text::visible;
use crate::views::plan::{Run, Wish, plan};
use duckdb::Connection;
use serde_json::{Value, json};

/// Rows: whether to move it, function (place), its name, functions, instructions, entries, percent
/// of the steps, bytes in and out, percent of the time that it gains, percent shared and never
/// executed; null where the trace has no steps or no data.
pub fn sets(connection: &Connection, functions: &Functions) -> Result<Value, ReportError> {
    let mut ids = Vec::new();
    each(connection, include_str!("../../queries/report/plan_functions.sql"), &[], |r| {
        ids.push(r.get(0)?);
        Ok(())
    })?;
    let run = Run::read(connection)?;
    if run.steps == 0 || run.flows.is_empty() {
        return Ok(Value::Null);
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
    Ok(rows.collect::<Vec<_>>().into())
}
