//! The database that a command asks.

use std::path::PathBuf;
use std::rc::Rc;

/// The database argument of every command that asks one.
#[derive(clap::Args)]
pub struct Database {
    /// Database that `addfg build` made
    pub db: PathBuf,
}

impl Database {
    /// Says on standard error what was lost or not understood when it was built.
    pub fn open(&self) -> anyhow::Result<Reading> {
        let reading = self.open_silently()?;
        for problem in crate::query::problems(&reading)? {
            eprintln!("addfg: {}: {problem}", self.db.display());
        }
        Ok(reading)
    }

    /// For commands that say it themselves.
    pub fn open_silently(&self) -> anyhow::Result<Reading> {
        let connection = Rc::new(crate::store::open::open(&self.db, false)?);
        let mut spilled = self.db.clone().into_os_string();
        spilled.push(".tmp");
        Ok(Reading {
            connection,
            spilled: crate::store::open::is_duckdb(&self.db).then(|| spilled.into()),
        })
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
