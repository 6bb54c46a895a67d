//! What whoever sees a picture of a database must know: what was not understood, or was lost.

use super::each;
use crate::text::visible;
use duckdb::Connection;

/// Kinds that are written out.
const SHOWN: usize = 4;

/// Errors and warnings met while building, a line each, the worst first; none of a clean database.
pub fn problems(connection: &Connection) -> duckdb::Result<Vec<String>> {
    let mut lines = Vec::new();
    each(connection, include_str!("../../queries/report/problems.sql"), &[], |r| {
        let (severity, message, count): (String, String, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
        lines.push(format!("{severity}: {}{times}", visible(&message)));
        Ok(())
    })?;
    let more = lines.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.truncate(SHOWN);
        lines.push(format!("and {more} more kinds of problems: addfg info lists them"));
    }
    Ok(lines)
}
