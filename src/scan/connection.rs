//! The functions in a connection of addfg.

use super::function::register;
use super::rows::{Error, Shared, Sources};
use crate::load::{packed, states};
use crate::store::KNOWS_WHAT_IS_MISSING;
use crate::store::catalog::own_macros;
use crate::store::source::{Block, Kind, Source};
use crate::store::table::Destination;
use duckdb::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Gives a connection of addfg the functions, and short names of those that the schema has no macros of.
///
/// # Errors
/// Where DuckDB does not take them.
pub fn functions(connection: &Connection) -> duckdb::Result<()> {
    let beside = Locked(Mutex::new(connection.try_clone()?));
    beside.connection().execute_batch(KNOWS_WHAT_IS_MISSING)?;
    register(connection, Arc::new(OneDatabase(Arc::new(beside))))?;
    connection.execute_batch(
        "CREATE OR REPLACE TEMP MACRO communications(writer, reader) AS TABLE
             FROM addfg_communications(writer, reader);
         CREATE OR REPLACE TEMP MACRO calls_of(name) AS TABLE FROM addfg_calls_of(name);",
    )
}

/// Whether a connection has them, and a run that is packed.
fn reads_chunks(connection: &Connection) -> duckdb::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM duckdb_functions() WHERE function_name = 'addfg_steps'";
    Ok(connection.query_row(sql, [], |r| r.get(0))? && packed::is_packed(connection)?)
}

/// Has `steps` and `accesses` read the packed run, where a statement that is one can be bound so. Else they are the
/// macros of the schema, which take what functions do not: the result of a query, a column of what stands before them.
/// Gives whether they read it.
///
/// # Errors
/// Where the connection fails.
pub fn with_short_names(connection: &Connection, statement: &str) -> duckdb::Result<bool> {
    if !reads_chunks(connection)? {
        return Ok(false);
    }
    connection.execute_batch(
        "CREATE OR REPLACE TEMP MACRO steps(lo, hi) AS TABLE FROM addfg_steps(lo, hi);
         CREATE OR REPLACE TEMP MACRO accesses(lo, hi) AS TABLE FROM addfg_accesses(lo, hi);",
    )?;
    let one = !statement.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).contains(';');
    // To prepare several would run all but the last.
    let bound = one && connection.prepare(statement).is_ok();
    if !bound {
        own_macros(connection)?;
    }
    Ok(bound)
}

/// Views that the functions have all rows of.
pub const VIEWS: [(&str, &str); 4] = [
    ("opcode_line", "addfg_steps(NULL, NULL)"),
    ("data_access", "addfg_accesses(NULL, NULL)"),
    ("communication", "addfg_communications(NULL, NULL)"),
    ("function_call", "addfg_calls_of(NULL)"),
];

/// Has some of [`VIEWS`] read the packed run, for as long as the connection lasts. False: it cannot.
///
/// # Errors
/// Where the connection fails.
pub fn read_by_chunks(
    connection: &Connection,
    is_named: impl Fn(&str) -> bool,
) -> duckdb::Result<bool> {
    if !reads_chunks(connection)? {
        return Ok(false);
    }
    for (view, function) in VIEWS.into_iter().filter(|(view, _)| is_named(view)) {
        connection
            .execute_batch(&format!("CREATE OR REPLACE TEMP VIEW {view} AS FROM {function};"))?;
    }
    Ok(true)
}

/// A connection of addfg with one database.
struct OneDatabase(Arc<Locked>);

impl Sources for OneDatabase {
    fn source(&self, database: Option<&str>) -> Result<Shared, Error> {
        match database {
            Some(name) => Err(format!("database {name}: addfg sql has one only").into()),
            None => Ok(self.0.clone()),
        }
    }

    /// Once for the connection: the file is only read.
    fn prepare(&self) -> Result<(), Error> {
        let connection = self.0.connection();
        let states = states::find(&connection)?;
        connection.execute_batch("CREATE TEMP TABLE run_state AS FROM run_state LIMIT 0")?;
        // They would go on to read the table of the file.
        connection.flush_prepared_statement_cache();
        Ok(states.fill(Destination::temporary(&connection))?)
    }
}

struct Locked(Mutex<Connection>);

impl Locked {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Locked {
    fn read(
        &self,
        sql: &str,
        numbers: &[u64],
        kinds: &[Kind],
        take: &mut dyn FnMut(Block),
    ) -> duckdb::Result<()> {
        self.connection().read(sql, numbers, kinds, take)
    }
}
