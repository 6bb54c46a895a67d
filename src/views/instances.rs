//! The calls of a function, each with what it did, to compare.

use super::listing::{Listing, id};
use super::rows::{self, Touched};
use super::{ViewError, report};
use crate::graph::{Stubs, prepare_merged};
use crate::id::FunctionId;
use crate::load::Detail;
use crate::replay::crossing::{Direction, Exchanged, Members, beside, exchanged};
use crate::replay::places;
use duckdb::types::Value;
use duckdb::{Connection, params};
use std::collections::BTreeSet;

pub fn instances(
    connection: &Connection,
    function: FunctionId,
    limit: i64,
) -> Result<Listing, ViewError> {
    match Touched::crossing(connection, &BTreeSet::from([function]))? {
        Some(touched) => of_touched(connection, function, &touched)?,
        None => {
            rows::ensure(connection, Detail::Instance)?;
            connection.execute_batch(EMPTY)?;
            let sql = format!("INSERT INTO call_partner {}", report!("instance_partners"));
            connection.execute(&sql, [function])?;
        }
    }
    prepare_merged(connection, Stubs::Show)?;
    let unit = crate::query::unit(connection)?;
    let params = [id(function), Value::BigInt(limit)];
    Ok(Listing::new(report!("instances"), params).counting(unit))
}

/// What the query reads of the calls.
const EMPTY: &str = "CREATE OR REPLACE TEMP TABLE call_partner (call_id INTEGER, reads BOOLEAN, other INTEGER, bytes BIGINT)";

/// The same from the communications of the chunks that they have to do with.
fn of_touched(
    connection: &Connection,
    function: FunctionId,
    touched: &Touched,
) -> Result<(), ViewError> {
    let calls = touched.calls(connection)?;
    let elsewhere = |seq: i64| touched.parts.read_before(u64::try_from(seq).ok()?);
    let exchanged = beside(connection, |stored| -> Result<Vec<Exchanged>, ViewError> {
        let members = Members::of_calls(connection, &calls, function, Some(&touched.steps))?;
        let of = (&members, function);
        Ok(exchanged(connection, of, &places(connection)?, stored, &elsewhere)?)
    })?;
    connection.execute_batch(EMPTY)?;
    let mut insert = connection.appender_to_catalog_and_db("call_partner", "temp", "main")?;
    for Exchanged { call, direction, partner, bytes } in exchanged {
        insert.append_row(params![call, direction == Direction::In, partner, bytes])?;
    }
    Ok(insert.flush()?)
}
