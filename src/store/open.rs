//! Opening a database that was built before.

use super::{SCHEMA_VERSION, sqlite};
use duckdb::{AccessMode, Config, Connection};
use std::io::Read;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path}: no such database; `addfg build TRACE --elf PROGRAM -o {path}` makes one")]
    Missing { path: String },
    #[error("{path} is a folder, not a database")]
    Folder { path: String },
    #[error("{path} is neither a DuckDB nor a SQLite database; `addfg build` makes one of a trace")]
    NotDuckdb { path: String },
    #[error("{path} is a database that cannot be opened: {message}")]
    Unreadable { path: String, message: String },
    #[error("{path} is a database, but none of addfg: it has no table meta with a schema version")]
    NotAddfg { path: String },
    #[error(
        "{path} is an export to SQLite, which addfg only reads: change the DuckDB file, or use sqlite3"
    )]
    SqliteWrite { path: String },
    #[error(
        "{path} has schema version {found}, this addfg reads version {SCHEMA_VERSION}: build it again with this addfg"
    )]
    Older { path: String, found: String },
    #[error(
        "{path} has schema version {found}, this addfg reads version {SCHEMA_VERSION}: it was made by a newer addfg, use that one"
    )]
    Newer { path: String, found: String },
}

/// Whether a file is a DuckDB database, by its first bytes. A pipe is none, and is not waited for.
pub fn is_duckdb(path: &Path) -> bool {
    let mut head = [0; 12];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok()
        && head[8..] == *b"DUCK"
}

/// What becomes of a DuckDB connection for reading, whatever the file is.
fn config(mode: AccessMode) -> duckdb::Result<Config> {
    // Nothing is fetched from the network for a query.
    Config::default().access_mode(mode)?.threads(2)?.enable_autoload_extension(false)
}

/// Whether a file has a schema version that this addfg reads.
fn check(name: &str, version: Option<String>) -> Result<(), OpenError> {
    let path = name.to_owned();
    let Some(found) = version else { return Err(OpenError::NotAddfg { path }) };
    match found.parse::<u32>() {
        Ok(SCHEMA_VERSION) => Ok(()),
        Ok(n) if n > SCHEMA_VERSION => Err(OpenError::Newer { path, found }),
        _ => Err(OpenError::Older { path, found }),
    }
}

/// Opens for reading only, or for writing too. An export to SQLite is read into memory.
pub fn open(path: &Path, write: bool) -> Result<Connection, OpenError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(OpenError::Folder { path: name });
    }
    if !path.exists() {
        return Err(OpenError::Missing { path: name });
    }
    let unreadable = |message: String| OpenError::Unreadable {
        path: name.clone(),
        message: message.lines().next().unwrap_or_default().to_owned(),
    };
    if sqlite::is_sqlite(path) {
        if write {
            return Err(OpenError::SqliteWrite { path: name });
        }
        check(&name, sqlite::version(path))?;
        let temporary = std::env::temp_dir()
            .join(format!("addfg-{}.tmp", std::process::id()))
            .display()
            .to_string();
        let connection = config(AccessMode::Automatic)
            .and_then(|c| {
                Connection::open_in_memory_with_flags(c.with("temp_directory", temporary)?)
            })
            .map_err(|e| unreadable(e.to_string()))?;
        sqlite::read(&connection, "memory", path).map_err(|e| unreadable(explained(&e)))?;
        return Ok(connection);
    }
    if !is_duckdb(path) {
        return Err(OpenError::NotDuckdb { path: name });
    }
    let mode = if write { AccessMode::ReadWrite } else { AccessMode::ReadOnly };
    let connection = config(mode)
        .and_then(|c| Connection::open_with_flags(path, c))
        .map_err(|e| unreadable(e.to_string()))?;
    check(
        &name,
        connection
            .query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |row| row.get(0))
            .ok(),
    )?;
    Ok(connection)
}

/// Opens a second database under the name `other`. It was opened and closed before: it is one of
/// ours.
pub fn attach(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let name = path.display().to_string();
    let unreadable = |message: String| OpenError::Unreadable { path: name.clone(), message };
    let sqlite = sqlite::is_sqlite(path);
    let sql = if sqlite {
        "ATTACH ':memory:' AS other (READ_WRITE)".to_owned()
    } else {
        format!("ATTACH IF NOT EXISTS '{}' AS other (READ_ONLY)", name.replace('\'', "''"))
    };
    connection.execute_batch(&sql).map_err(|e| unreadable(e.to_string()))?;
    if sqlite {
        sqlite::read(connection, "other", path).map_err(|e| unreadable(explained(&e)))
    } else {
        Ok(())
    }
}

/// An error with its causes.
fn explained(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |e| e.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Why a database keeps no steps, and what to do about it.
pub fn why_no_steps(connection: &Connection) -> duckdb::Result<String> {
    connection.query_row(include_str!("../../queries/report/no_steps.sql"), [], |r| r.get(0))
}
