//! What differs between two runs: the page's and the one that it is compared with.

use super::functions::text;
use super::options::{Options, ReportError};
use crate::graph::Change;
use crate::views::diff::{self, Difference};
use duckdb::Connection;
use serde_json::{Value, json};

/// The name of the other run; rows (function, call or data; name; callee or reader; via; before;
/// after); how many are the same. Null: there is no other run.
pub(super) fn changes(
    connection: &Connection,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Value, ReportError> {
    let Some(against) = &options.against else { return Ok(Value::Null) };
    // The attached database is the older one.
    let turned = |d: Difference| Difference { before: d.after, after: d.before, ..d };
    let list = diff::differences(connection)?.into_iter().map(turned);
    let (same, differ): (Vec<_>, Vec<_>) = list.partition(|d| d.change() == Change::Same);
    let mut left_out = 0;
    let mut rows = Vec::new();
    for kind in ["function", "call", "data"] {
        let all = differ.iter().filter(|d| d.what == kind);
        for (i, d) in all.enumerate() {
            if i >= options.rows {
                left_out += 1;
                continue;
            }
            let two = text(d.two.clone());
            rows.push(json!([d.what, text(Some(d.one.clone())), two, d.via, d.before, d.after]));
        }
    }
    if left_out > 0 {
        notes.push(format!("Left out: the {left_out} smallest changes."));
    }
    Ok(json!({ "against": text(Some(against.clone())), "same": same.len(), "rows": rows }))
}
