//! What a database must have for a view.

use super::ViewError;
use crate::text::visible;
use duckdb::Connection;

/// What a view is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Calls,
    Functions,
    Dataflow,
    /// Of any kind, step by step.
    Accesses,
    MemoryAccesses,
    /// Steps and accesses as rows.
    Runs,
}

impl Need {
    /// Where its rows are, and what they are in words.
    fn rows(self) -> (&'static str, &'static str) {
        match self {
            Need::Calls => ("call_edge", "calls"),
            Need::Functions => ("function_profile", "calls"),
            Need::Dataflow => ("function_edge", "dataflow"),
            Need::Runs => ("block_run", "steps with addresses"),
            Need::Accesses => ("block_access", "accesses"),
            Need::MemoryAccesses => {
                ("(FROM function_profile WHERE written_bytes IS NOT NULL)", "memory accesses")
            }
        }
    }
}

/// Refuses a database that has none of it: what is missing, and what records it.
pub fn require(connection: &Connection, need: Need) -> Result<(), ViewError> {
    let (table, what) = need.rows();
    let sql = format!("SELECT count(*) > 0 FROM {table}");
    if connection.query_row(&sql, [], |r| r.get(0))? {
        return Ok(());
    }
    let sql = "SELECT coalesce(string_agg(DISTINCT format, ', '), 'unknown') FROM input WHERE role = 'trace'";
    let format: String = connection.query_row(sql, [], |r| r.get(0))?;
    Err(ViewError::NotRecorded { what, format: visible(&format).into_owned() })
}
