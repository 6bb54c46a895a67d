//! Table functions that read a packed run: `addfg_steps`, `addfg_accesses`, `addfg_communications`,
//! `addfg_calls_of`. `addfg sql` has them, and DuckDB where it has loaded `extension/`.

mod function;
mod low;
mod middle;
mod stored;

use crate::load::{packed, states};
use crate::store::KNOWS_WHAT_IS_MISSING;
use crate::store::source::{Block, Cells, Kind, Source, one};
use crate::store::table::Destination;
use duckdb::Connection;
pub use function::register;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is read through, from any thread.
pub type Shared = Arc<dyn Source + Send + Sync>;

/// Where databases are read through.
pub trait Sources: Send + Sync {
    /// That of one database; None: the one that is in use.
    ///
    /// # Errors
    /// There is none, or it is not addfg's.
    fn source(&self, database: Option<&str>) -> Result<Shared, Error>;
    /// Makes what chunks need to be gone through alone.
    ///
    /// # Errors
    /// It cannot be made here.
    fn prepare(&self) -> Result<(), Error>;
}

/// What goes wrong is told by DuckDB, as text.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Gives a connection of addfg the functions, under short names, too. `steps` and `accesses` are those of the schema
/// where the run is not packed.
///
/// # Errors
/// Where DuckDB does not take them.
pub fn functions(connection: &Connection) -> duckdb::Result<()> {
    let beside = Locked(Mutex::new(connection.try_clone()?));
    beside.connection().execute_batch(KNOWS_WHAT_IS_MISSING)?;
    register(connection, Arc::new(OneDatabase(Arc::new(beside))))?;
    let mut sql = "CREATE OR REPLACE TEMP MACRO communications(writer, reader) AS TABLE
                       FROM addfg_communications(writer, reader);
                   CREATE OR REPLACE TEMP MACRO calls_of(name) AS TABLE FROM addfg_calls_of(name);"
        .to_owned();
    if packed::is_packed(connection)? {
        sql.push_str(
            "CREATE OR REPLACE TEMP MACRO steps(lo, hi) AS TABLE FROM addfg_steps(lo, hi);
             CREATE OR REPLACE TEMP MACRO accesses(lo, hi) AS TABLE FROM addfg_accesses(lo, hi);",
        );
    }
    connection.execute_batch(&sql)
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

/// A column that a function gives.
struct Given {
    name: &'static str,
    kind: Kind,
}

const fn given(name: &'static str, kind: Kind) -> Given {
    Given { name, kind }
}

/// An argument of a function; None: NULL, no bound.
#[derive(Clone, Debug)]
enum Argument {
    Step(Option<u64>),
    Function(Option<String>),
}

/// A table function.
struct Function {
    name: &'static str,
    /// Of each argument, whether it is a step and not the name of a function.
    steps: [bool; 2],
    arguments: usize,
    columns: &'static [Given],
    /// Finds out what its rows are made of. None: of chunks that cannot be gone through alone yet.
    open: fn(&dyn Source, &[Argument]) -> Result<Option<Box<dyn Rows>>, Error>,
}

const FUNCTIONS: [&Function; 4] =
    [&low::STEPS, &low::ACCESSES, &middle::COMMUNICATIONS, &middle::CALLS];

/// The rows of a function, in parts that can be made at once.
trait Rows: Send + Sync {
    fn parts(&self) -> usize;
    /// Makes parts in one thread. `number`: no two have the same.
    fn worker(&self, number: usize) -> Box<dyn Worker + '_>;
}

/// Takes rows; false: nobody wants more.
type Give<'a> = &'a mut dyn FnMut(Block) -> bool;

trait Worker {
    /// The rows of a part, with some of the function's columns, by place.
    fn part(
        &mut self,
        source: &dyn Source,
        part: usize,
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error>;
}

/// Whether the run is packed, so that its rows are made of chunks.
fn is_packed(source: &dyn Source) -> Result<bool, Error> {
    let sql = "SELECT count(*) > 0 FROM run_code";
    Ok(one(source, sql, Kind::Boolean)?.cells == Cells::Boolean(vec![true]))
}
