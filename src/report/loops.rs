//! Loops, and what their iterations have to do with one another.

use super::functions::{Functions, text};
use super::missing::{or_say, steps};
use super::options::{Options, ReportError};
use crate::query::is_prepared;
use crate::text::human_count;
use crate::views::loops::{self, LoopRow};
use duckdb::Connection;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Whether what is carried was looked at, and rows: function (place), its name, place, depth, entries,
/// iterations, steps, carried bytes (memory, registers), pattern, distance, private storage,
/// irreducible, dependences (kind, storage, least and most iterations between, accesses, bytes).
pub(super) fn loops(
    connection: &Connection,
    functions: &Functions,
    options: &Options,
    missing: &mut Vec<Value>,
) -> Result<Value, ReportError> {
    let steps = steps(connection)?;
    let with_carried = steps <= options.replayed.carried || is_prepared(connection)?;
    let found = loops::loops(connection, &BTreeSet::new(), with_carried);
    let Some(list) = or_say(found, &["loops"], "No loops", missing)? else {
        return Ok(Value::Null);
    };
    let carried = list.iter().any(|row| row.carried.is_some());
    if !with_carried && !list.is_empty() {
        let why = format!(
            "What loops carry from one iteration to the next is not in this page: the run has {} steps. addfg prepare or report --all \
             goes through them, addfg loops lists it.",
            human_count(steps)
        );
        missing.push(json!([["loops"], why]));
    }
    let rows: Vec<Value> =
        list.iter().take(options.rows).map(|row| self::row(row, functions)).collect();
    Ok(json!({ "carried": carried, "all": list.len(), "rows": rows }))
}

fn row(row: &LoopRow, functions: &Functions) -> Value {
    let dependences: Vec<Value> = row
        .dependences
        .iter()
        .map(|(conflict, storage, found)| {
            let storage = text(Some(loops::name(storage)));
            json!([conflict.name(), storage, found.least, found.most, found.count, found.bytes])
        })
        .collect();
    let private: Vec<Value> = row.private().into_iter().map(|name| text(Some(name))).collect();
    json!([
        row.function_id.and_then(|id| functions.at(id)),
        text(Some(row.function.clone())),
        text(Some(row.place.clone())),
        row.depth,
        row.entries,
        row.iterations,
        row.steps,
        row.carried.map(|c| c.memory),
        row.carried.map(|c| c.register),
        text(row.pattern()),
        row.finding.as_ref().and_then(|finding| finding.distance),
        private,
        row.irreducible,
        dependences
    ])
}
