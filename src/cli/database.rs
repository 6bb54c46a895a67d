//! The database that a command asks.

use super::say::say;
use crate::store::open::{self, Opening, Reach, Trust};
use std::path::PathBuf;
use std::rc::Rc;

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
