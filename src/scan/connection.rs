//! The functions in a connection of addfg.

use super::bounds;
use super::function::register;
use super::rows::{Error, Shared, Sources};
use crate::load::packed::{self, Wanted};
use crate::load::{Detail, states};
use crate::store::KNOWS_WHAT_IS_MISSING;
use crate::store::catalog::own_macros;
use crate::store::source::{Block, Kind, Source};
use crate::store::table::Destination;
use duckdb::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What the functions of a connection read through. They work as long as it is there.
#[must_use]
pub struct Beside {
    _open: Arc<Locked>,
}

/// Gives a connection of addfg the functions, and short names of those that the schema has no macros of.
///
/// # Errors
/// Where DuckDB does not take them.
pub fn functions(connection: &Connection) -> duckdb::Result<Beside> {
    let beside = Arc::new(Locked(Mutex::new(connection.try_clone()?)));
    beside.connection().execute_batch(KNOWS_WHAT_IS_MISSING)?;
    // DuckDB has the functions as long as the database is open, and it is open as long as there is a connection.
    register(connection, Arc::new(OneDatabase(Arc::downgrade(&beside))))?;
    connection.execute_batch(
        "CREATE OR REPLACE TEMP MACRO communications(writer, reader) AS TABLE
             FROM addfg_communications(writer, reader);
         CREATE OR REPLACE TEMP MACRO calls_of(name) AS TABLE FROM addfg_calls_of(name);",
    )?;
    Ok(Beside { _open: beside })
}

/// Whether a connection has them, and a run that is packed.
fn reads_chunks(connection: &Connection) -> duckdb::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM system.main.duckdb_functions() WHERE function_name = 'addfg_steps'";
    Ok(connection.query_row(sql, [], |r| r.get(0))? && packed::is_packed(connection)?)
}

/// Has `steps` and `accesses` read the packed run, where a statement that is one can be bound so. Else they are the
/// macros of the schema, which take what functions do not: the result of a query, a column of what stands before them.
/// Gives whether they read it.
///
/// # Errors
/// Where the connection fails.
pub fn with_short_names(connection: &Connection, statement: &str) -> duckdb::Result<bool> {
    let text = statement.to_lowercase();
    let is_named = ["steps", "accesses"].iter().any(|name| text.contains(name));
    let lacks = || packed::lacks(connection, &Wanted::all(Detail::Pairs));
    if !is_named || !reads_chunks(connection)? || !lacks()? {
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

/// A view that a function has all rows of.
pub struct View {
    pub name: &'static str,
    function: &'static str,
    /// Arguments for all rows, and with which those of some steps only: `{first}` and `{last}` stand for them.
    all: &'static str,
    some: Option<(&'static str, &'static str)>,
}

/// Views that the functions have all rows of.
pub const VIEWS: [View; 4] = [
    View {
        name: "opcode_line",
        function: "addfg_steps",
        all: "NULL, NULL",
        some: Some(("seq", "{first}, {last}")),
    },
    View {
        name: "data_access",
        function: "addfg_accesses",
        all: "NULL, NULL",
        some: Some(("seq", "{first}, {last}")),
    },
    View {
        name: "communication",
        function: "addfg_communications",
        all: "NULL, NULL",
        some: Some(("read_seq", "NULL, NULL, first := {first}, last := {last}")),
    },
    View { name: "function_call", function: "addfg_calls_of", all: "NULL", some: None },
];

impl View {
    fn make(&self, connection: &Connection, arguments: &str) -> duckdb::Result<()> {
        let View { name, function, .. } = self;
        let sql = format!("CREATE OR REPLACE TEMP VIEW {name} AS FROM {function}({arguments});");
        connection.execute_batch(&sql)
    }

    /// Whether it reads all of the packed run in this connection. A person may have made another one of this name.
    fn is_made(&self, connection: &Connection) -> duckdb::Result<bool> {
        let View { name, function, all, .. } = self;
        let made = format!("CREATE TEMP VIEW {name} AS SELECT * FROM {function}({all});");
        let sql = "SELECT count(*) > 0 FROM system.main.duckdb_views() WHERE temporary AND sql = ?";
        connection.query_row(sql, [made], |r| r.get(0))
    }
}

/// Runs a statement with this plan. Those of [`VIEWS`] that read the packed run read only the steps that the plan wants
/// of them.
///
/// # Errors
/// What the statement ends with; or the connection fails.
pub fn within<T, E: From<duckdb::Error>>(
    connection: &Connection,
    plan: Option<&serde_json::Value>,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut bounded = Vec::new();
    for view in &VIEWS {
        let Some((column, arguments)) = view.some else { continue };
        if let Some((first, last)) = plan.and_then(|p| bounds::of_plan(p, view.function, column))
            && view.is_made(connection)?
        {
            // As DuckDB's numbers are.
            let [first, last] = [first, last].map(|step| step.min(i64::MAX.cast_unsigned()));
            let arguments = arguments.replace("{first}", &first.to_string());
            view.make(connection, &arguments.replace("{last}", &last.to_string()))?;
            bounded.push(view);
        }
    }
    let done = run();
    let again = bounded.iter().try_for_each(|view| view.make(connection, view.all));
    // Where the statement failed, that is what is to be told.
    let done = done?;
    again?;
    Ok(done)
}

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
    let mut named = VIEWS.iter().filter(|view| is_named(view.name));
    named.try_for_each(|view| view.make(connection, view.all))?;
    Ok(true)
}

/// A connection of addfg with one database.
struct OneDatabase(Weak<Locked>);

impl OneDatabase {
    fn beside(&self) -> Result<Arc<Locked>, Error> {
        self.0.upgrade().ok_or_else(|| "the database is closed".into())
    }
}

impl Sources for OneDatabase {
    fn source(&self, database: Option<&str>) -> Result<Shared, Error> {
        match database {
            Some(name) => Err(format!("database {name}: addfg sql has one only").into()),
            None => Ok(self.beside()?),
        }
    }

    /// Once for the connection: the file is only read.
    fn prepare(&self) -> Result<(), Error> {
        let beside = self.beside()?;
        let connection = beside.connection();
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
