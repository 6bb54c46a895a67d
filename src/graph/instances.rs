//! Call instances as nodes: the largest ones, or those around a function; what is beside them is
//! one node.

use super::error::GraphError;
use super::merged::prepare_instances;
use super::model::NodeId;
use super::rows::{LevelRows, Numbers, Queries, report};
use super::selection::{Focus, Selection, Show, Stubs};
use crate::query::each;
use crate::store::{NEAR_FLOWS, TOP_CALLS};
use duckdb::Connection;

/// Of all instances.
const ALL: Queries = Queries {
    numbers: Numbers::Calls,
    nodes: report!("instance_nodes"),
    data: report!("instance_data"),
    calls: report!("instance_calls"),
};
/// Of what the build kept of the largest ones.
const KEPT: Queries = Queries { data: report!("top_data"), calls: report!("top_calls"), ..ALL };

pub fn read(connection: &Connection, selection: &Selection) -> Result<LevelRows, GraphError> {
    prepare_instances(connection, selection.stubs)?;
    connection
        .execute_batch("CREATE OR REPLACE TEMP TABLE near (node BIGINT, distance INTEGER)")?;
    let kept =
        selection.focus.is_none() && selection.stubs == Stubs::Fold && selection.top <= TOP_CALLS;
    let focus = match selection.focus {
        None => {
            largest(connection, selection.top, if kept { LARGEST_KEPT } else { LARGEST })?;
            Vec::new()
        }
        Some(focus) => around(connection, focus, selection)?,
    };
    let (calls, queries) = if kept {
        ("FROM top_call WHERE call_id IN (SELECT node FROM near)", KEPT)
    } else {
        connection.execute_batch(NEAR_FLOWS)?;
        (report!("instance_self"), ALL)
    };
    connection.execute_batch(&format!("CREATE OR REPLACE TEMP TABLE near_call AS {calls}"))?;
    let mut rows = queries.run(connection, selection)?;
    rows.focus = focus;
    Ok(rows)
}

const LARGEST_KEPT: &str = "FROM top_call ORDER BY share DESC, call_id LIMIT $1";
const LARGEST: &str = report!("instance_top");

/// Fills `near` with the largest instances and all pseudo-functions.
fn largest(connection: &Connection, top: usize, sql: &str) -> duckdb::Result<()> {
    // As a number in the text: for a parameter DuckDB sorts everything.
    let sql = sql.trim_end().trim_end_matches(';').replace("$1", &top.to_string());
    connection.execute_batch(&format!(
        "INSERT INTO near SELECT call_id, 0 FROM ({sql})
         UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo'"
    ))
}

/// Fills `near` with the instances of a function and what is near them; gives the former.
fn around(
    connection: &Connection,
    focus: Focus,
    selection: &Selection,
) -> duckdb::Result<Vec<NodeId>> {
    let sql = "INSERT INTO near SELECT c.call_id, 0 FROM function_call c ANTI JOIN merged m ON m.call_id = c.call_id
               WHERE c.function_id = ? AND (?::INTEGER IS NULL OR c.instance = ?)";
    let params = duckdb::params![focus.function_id, focus.instance, focus.instance];
    connection.execute(sql, params)?;
    let next = format!("INSERT INTO near {}", report!("instance_next"));
    let along = duckdb::params![selection.shows(Show::Data), selection.shows(Show::Calls)];
    for _ in 0..focus.depth {
        if connection.execute(&next, along)? == 0 {
            break;
        }
    }
    let mut nodes = Vec::new();
    each(connection, "SELECT node FROM near WHERE distance = 0", &[], |r| {
        nodes.push(Numbers::Calls.node(r, 0)?);
        Ok(())
    })?;
    Ok(nodes)
}
