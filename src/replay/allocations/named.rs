//! Allocation functions of the program's own, as the recording or the build was told of them.

use super::functions::{Allocator, allocator};
use crate::id::FunctionId;
use crate::query::each;
use crate::replay::error::ReplayError;
use duckdb::Connection;

/// All functions with those names; `meta` has a line `NAME=FUNCTION` for each. A function that the run has not is left out.
pub fn named(
    connection: &Connection,
) -> Result<Vec<(FunctionId, &'static Allocator)>, ReplayError> {
    let mut lines = Vec::new();
    each(connection, "SELECT value FROM meta WHERE key = 'allocators'", &[], |r| {
        lines.extend(r.get::<_, Option<String>>(0)?);
        Ok(())
    })?;
    let mut found = Vec::new();
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        let Some((name, like)) = line.rsplit_once('=') else { continue };
        let Some(like) = allocator(like) else { continue };
        each(connection, include_str!("../../../queries/report/resolve.sql"), &[&name], |r| {
            found.push((r.get(0)?, like));
            Ok(())
        })?;
    }
    Ok(found)
}
