//! The calls of a function, each with what it did, to compare.

use super::listing::{Listing, id};
use super::{ViewError, report};
use crate::graph::{Stubs, prepare_merged};
use crate::id::FunctionId;
use duckdb::Connection;
use duckdb::types::Value;

pub fn instances(
    connection: &Connection,
    function: FunctionId,
    limit: i64,
) -> Result<Listing, ViewError> {
    prepare_merged(connection, Stubs::Show)?;
    let unit = crate::query::unit(connection)?;
    let params = [id(function), Value::BigInt(limit)];
    Ok(Listing::new(report!("instances"), params).counting(unit))
}
