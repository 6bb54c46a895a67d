//! What a database lacks for a view.

use super::options::ReportError;
use crate::replay::ReplayError;
use crate::views::ViewError;
use duckdb::Connection;
use serde_json::{Value, json};

/// What a view gives. None where the trace tells too little, which is no error of the page: `missing`
/// says it, for these views.
pub fn or_say<T>(
    found: Result<T, ViewError>,
    views: &[&str],
    what: &str,
    missing: &mut Vec<Value>,
) -> Result<Option<T>, ReportError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ViewError::Replay(why @ ReplayError::NoSteps { .. })) => {
            missing.push(json!([views, format!("{what}: {why}.")]));
            Ok(None)
        }
        Err(other) => Err(other.into()),
    }
}

/// Steps of the run; 0: not known.
pub fn steps(connection: &Connection) -> duckdb::Result<i64> {
    let sql = "SELECT coalesce(max(TRY_CAST(value AS BIGINT)), 0) FROM meta WHERE key = 'steps'";
    connection.query_row(sql, [], |r| r.get(0))
}
