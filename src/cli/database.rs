//! The database that a command asks.

use super::say::say;
use crate::load::{Detail, states};
use crate::store::open::{self, Mode, Opening, Reach, Trust};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

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

    /// For a question about parts of the run: opened again where what each of them needs of before it was
    /// not stored yet. A database that cannot be written answers, too, by its whole run.
    ///
    /// # Errors
    /// Where it is damaged.
    pub fn prepared(&self, mut reading: Reading, detail: Detail) -> anyhow::Result<Reading> {
        if !states::are_wanted(&reading, detail)? {
            return Ok(reading);
        }
        let (db, begun) = (self.db.display(), Instant::now());
        let states = states::find(&reading)?;
        // Others may read meanwhile, and DuckDB has a file open once in a process.
        reading.spilled = None;
        drop(reading);
        let opening = Opening { mode: Mode::Write, trust: self.trust(), ..Opening::READ };
        let stored = open::open_as(&self.db, opening)
            .map_err(anyhow::Error::from)
            .and_then(|connection| Ok(states.store(&connection)?));
        match stored {
            Ok(()) => say!(
                "addfg: {db}: prepared for questions about parts of the run, once ({:.1} s)",
                begun.elapsed().as_secs_f64()
            ),
            Err(error) => say!("addfg: info: {db}: this question takes the whole run: {error:#}"),
        }
        self.open_silently()
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
