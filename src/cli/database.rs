//! The database that a command asks.

use super::say::say;
use crate::load::states;
use crate::store::open::{self, Mode, Opening, Reach, Trust};
use std::path::PathBuf;
use std::rc::Rc;

/// Steps from which on a run is long: a question about a part of it is worth a pass over all.
const LONG: u64 = 1 << 25;

/// The database argument of every command that asks one.
#[derive(clap::Args)]
pub struct Database {
    /// Database that `addfg build` made
    pub db: PathBuf,
    /// Accept a database with views that addfg did not make
    #[arg(long, hide_short_help = true)]
    pub trust: bool,
}

impl Database {
    /// Says on standard error what was lost or not understood when it was built.
    pub fn open(&self) -> anyhow::Result<Reading> {
        let reading = self.open_silently()?;
        self.say_problems(&reading)?;
        Ok(reading)
    }

    /// For commands that say it themselves.
    pub fn open_silently(&self) -> anyhow::Result<Reading> {
        self.open_to_write(Reach::Nothing)
    }

    /// For commands that have DuckDB write files, silently, too.
    pub fn open_to_write(&self, reach: Reach) -> anyhow::Result<Reading> {
        let opening = Opening { trust: self.trust(), reach, ..Opening::READ };
        Ok(self.reading(open::open_as(&self.db, opening)?))
    }

    /// For a question about a part of the run: of a long one, what chunks need of the rest
    /// (`run_state`) is made first, once. It is stored where the file can be written.
    pub fn open_for_parts(&self) -> anyhow::Result<Reading> {
        let lacks = |connection: &duckdb::Connection| -> anyhow::Result<bool> {
            let steps = "SELECT coalesce(max(last_seq), 0) FROM run_chunk";
            let steps: u64 = connection.query_row(steps, [], |r| r.get(0))?;
            Ok(steps >= LONG && !states::are_made(connection)?)
        };
        let read = Opening { trust: self.trust(), ..Opening::READ };
        let connection = open::open_as(&self.db, read)?;
        // An export to SQLite has no such tables.
        if !open::is_duckdb(&self.db) || !lacks(&connection)? {
            return self.open_with_problems(connection);
        }
        let found = states::find(&connection)?;
        // Nobody else can ask while it is written.
        drop(connection);
        let stored = open::open_as(&self.db, Opening { mode: Mode::Write, ..read })
            .map_err(anyhow::Error::from)
            .and_then(|connection| Ok(states::store(&connection, &found)?));
        let connection = open::open_as(&self.db, read)?;
        if stored.is_err() {
            states::keep(&connection, &found)?;
        }
        self.open_with_problems(connection)
    }

    fn open_with_problems(&self, connection: duckdb::Connection) -> anyhow::Result<Reading> {
        let reading = self.reading(connection);
        self.say_problems(&reading)?;
        Ok(reading)
    }

    /// With another one in it, called `other`.
    pub fn open_with(&self, other: &Database) -> anyhow::Result<Reading> {
        let reading = self.reading(open::open_both(&self.db, &other.db, self.trust())?);
        self.say_problems(&reading)?;
        Ok(reading)
    }

    pub fn say_problems(&self, reading: &Reading) -> anyhow::Result<()> {
        for problem in crate::query::problems(reading)? {
            say!("addfg: {}: {problem}", self.db.display());
        }
        Ok(())
    }

    pub fn trust(&self) -> Trust {
        if self.trust { Trust::Anything } else { Trust::Schema }
    }

    fn reading(&self, connection: duckdb::Connection) -> Reading {
        let mut spilled = self.db.clone().into_os_string();
        spilled.push(".tmp");
        let spilled = open::is_duckdb(&self.db).then(|| spilled.into());
        Reading { connection: Rc::new(connection), spilled }
    }
}

/// A database that is only read. The end of the process leaves a file open: there is nothing to
/// write, and to take DuckDB's catalog down takes as long as to ask for a graph of functions.
pub struct Reading {
    connection: Rc<duckdb::Connection>,
    /// The folder into which queries spill, which closing removes; None for a database in memory.
    spilled: Option<PathBuf>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        if self.spilled.as_ref().is_some_and(|folder| !folder.exists()) {
            std::mem::forget(self.connection.clone());
        }
    }
}

impl std::ops::Deref for Reading {
    type Target = duckdb::Connection;
    fn deref(&self) -> &duckdb::Connection {
        &self.connection
    }
}
