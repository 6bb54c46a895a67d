//! The calls of a function, each with what it did, to compare.

use super::listing::{Listing, id};
use super::{ViewError, report, rows};
use crate::graph::{Stubs, prepare_merged};
use crate::id::FunctionId;
use crate::load::Detail;
use crate::replay::crossing::{Along, Direction, Exchanged, Rule};
use crate::replay::places;
use duckdb::types::Value;
use duckdb::{Connection, params};

pub fn instances(
    connection: &Connection,
    function: FunctionId,
    limit: i64,
) -> Result<Listing, ViewError> {
    match Along::open(connection, &[Rule::Calls(function)])? {
        Some(along) => {
            let exchanged = along.exchanged(connection, function, &places(connection)?)?;
            connection.execute_batch(EMPTY)?;
            let mut insert =
                connection.appender_to_catalog_and_db("call_partner", "temp", "main")?;
            for Exchanged { call, direction, partner, bytes } in exchanged {
                insert.append_row(params![call, direction == Direction::In, partner, bytes])?;
            }
            insert.flush()?;
        }
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
