//! Opening a database that was built before.

use super::SCHEMA_VERSION;
use duckdb::{AccessMode, Config, Connection};
use std::io::Read;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path}: no such database; `addfg build TRACE --elf PROGRAM -o {path}` makes one")]
    Missing { path: String },
    #[error("{path} is a folder, not a database")]
    Folder { path: String },
    #[error("{path} is not a DuckDB database; `addfg build` makes one of a trace")]
    NotDuckdb { path: String },
    #[error("{path} is a DuckDB database that cannot be opened: {message}")]
    Unreadable { path: String, message: String },
    #[error("{path} is a DuckDB database, but none of addfg: it has no table meta with a schema version")]
    NotAddfg { path: String },
    #[error("{path} has schema version {found}, this addfg reads version {SCHEMA_VERSION}: build it again with this addfg")]
    Older { path: String, found: String },
    #[error(
        "{path} has schema version {found}, this addfg reads version {SCHEMA_VERSION}: it was made by a newer addfg, use that one"
    )]
    Newer { path: String, found: String },
}

/// Whether a file is a DuckDB database, by its first bytes.
pub fn is_duckdb(path: &Path) -> bool {
    let mut head = [0; 12];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok() && head[8..] == *b"DUCK"
}

/// Opens for reading only, or for writing too.
pub fn open(path: &Path, write: bool) -> Result<Connection, OpenError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(OpenError::Folder { path: name });
    }
    if !path.exists() {
        return Err(OpenError::Missing { path: name });
    }
    if !is_duckdb(path) {
        return Err(OpenError::NotDuckdb { path: name });
    }
    let failed = |e: duckdb::Error| OpenError::Unreadable {
        path: name.clone(),
        message: e.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    let mode = if write { AccessMode::ReadWrite } else { AccessMode::ReadOnly };
    // Nothing is fetched from the network for a query.
    let config = Config::default().access_mode(mode).and_then(|c| c.threads(2)).and_then(|c| c.enable_autoload_extension(false));
    let connection = Connection::open_with_flags(path, config.map_err(failed)?).map_err(failed)?;
    let version: Result<String, _> =
        connection.query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |row| row.get(0));
    let Ok(found) = version else { return Err(OpenError::NotAddfg { path: name }) };
    match found.parse::<u32>() {
        Ok(SCHEMA_VERSION) => Ok(connection),
        Ok(n) if n > SCHEMA_VERSION => Err(OpenError::Newer { path: name, found }),
        _ => Err(OpenError::Older { path: name, found }),
    }
}
