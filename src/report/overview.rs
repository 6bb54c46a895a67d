//! The overview, and what of it opens.

use super::functions::{Functions, place};
use super::options::ReportError;
use crate::graph::{BoxRole, Facts, Folding, Overview, OverviewBox, OverviewLine};
use crate::id::FunctionId;
use crate::text::visible;
use duckdb::Connection;
use serde_json::{Value, json};

/// The overview by functions and, where there are many, by files, with the one of each box that opens;
/// null for what has no steps.
pub fn overview(connection: &Connection, functions: &Functions) -> Result<Value, ReportError> {
    let facts = Facts::find(connection)?;
    let Some(folding) = Folding::read(connection, facts)? else { return Ok(Value::Null) };
    let whole = folding.overview();
    let by_file = folding
        .by_file()
        .map(|files| opening(&files, functions, |function| folding.opened_file(function)));
    let mut found = opening(&whole, functions, |function| folding.opened(function));
    found["byFile"] = by_file.into();
    found["program"] = visible(&whole.program).into();
    found["steps"] = whole.steps.into();
    found["functions"] = whole.functions.into();
    found["startUp"] = whole.start_up.into();
    found["unattributed"] = whole.unattributed.into();
    Ok(found)
}

/// A picture with what its boxes open to.
fn opening(
    whole: &Overview,
    functions: &Functions,
    open: impl Fn(FunctionId) -> Option<Overview>,
) -> Value {
    let inside = |part: &OverviewBox| part.function.and_then(&open);
    let inside = |part| inside(part).map_or(Value::Null, |inside| picture(&inside, functions));
    let opened: Vec<Value> = whole.parts.iter().map(inside).collect();
    let mut found = picture(whole, functions);
    found["opened"] = opened.into();
    found
}

fn picture(overview: &Overview, functions: &Functions) -> Value {
    json!({
        "parts": overview.parts.iter().map(|p| part(p, functions)).collect::<Vec<_>>(),
        "lines": overview.lines.iter().map(line).collect::<Vec<_>>(),
        "drawn": overview.drawn,
        "eachTime": overview.each_time,
    })
}

/// Role, name, whole name, function (place), steps, calls, functions counted with it, the largest (name,
/// steps).
fn part(part: &OverviewBox, functions: &Functions) -> Value {
    let largest: Vec<_> = part.largest.iter().map(|h| json!([visible(&h.0), h.1])).collect();
    let function =
        part.function.filter(|_| matches!(part.role, BoxRole::Function | BoxRole::Helper));
    let function = function.and_then(|id| functions.at(id));
    json!([
        part.role.name(),
        visible(&part.name),
        visible(&part.full),
        function,
        part.steps,
        part.calls,
        part.helpers,
        largest
    ])
}

/// From, to (places of parts), bytes there and back, via (place; null: calls), calls.
fn line(line: &OverviewLine) -> Value {
    let via = line.via.map(place);
    json!([line.from, line.to, line.there.round(), line.back.round(), via, line.calls])
}
