//! Call instances with the stubs among them merged into their callers, as temporary tables.

use super::error::GraphError;
use super::rows::report;
use super::selection::Stubs;
use duckdb::Connection;

/// The temporary table `merged`: stub instances and what they are merged into. An error where call
/// instances are not kept.
pub fn prepare_merged(connection: &Connection, stubs: Stubs) -> Result<(), GraphError> {
    let any = connection.query_row("SELECT EXISTS (FROM function_call)", [], |r| r.get(0))?;
    if any { Ok(prepare_instances(connection, stubs)?) } else { Err(GraphError::NoInstances) }
}

/// Temporary tables and views that the queries of the instance level read.
pub fn prepare_instances(connection: &Connection, stubs: Stubs) -> duckdb::Result<()> {
    let limit = match stubs {
        Stubs::Show => "LIMIT 0",
        Stubs::Fold => "",
    };
    connection.execute_batch(&format!(
        "SET threads = 2;
         CREATE OR REPLACE TEMP TABLE merged AS SELECT call_id, into_call_id, steps_self FROM folded_call WHERE into_call_id <> call_id {limit};
         CREATE OR REPLACE TEMP TABLE merged_function AS SELECT DISTINCT function_id FROM folded_call {limit}"
    ))?;
    let none: bool = connection.query_row("SELECT count(*) = 0 FROM merged", [], |r| r.get(0))?;
    let flow = if none { report!("instance_flow_plain") } else { report!("instance_flow") };
    connection.execute_batch(&format!(
        "CREATE OR REPLACE TEMP VIEW instance_flow AS {flow}
         CREATE OR REPLACE TEMP VIEW instance_call AS {}",
        report!("instance_call")
    ))
}
