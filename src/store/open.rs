//! Opening a database that was built before.

use super::{EMPTY, KNOWS_WHAT_IS_MISSING, SCHEMA_VERSION, catalog, sqlite};
use crate::files;
use duckdb::{AccessMode, Config, Connection};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        "{path} is not as addfg made it: {difference}. What it shows may be made up; --trust goes on (it cannot reach other files)"
    )]
    Catalog { path: String, difference: String },
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

/// The rule of what a build replaces: databases that an addfg made.
pub fn only_databases(path: &Path) -> Option<&'static str> {
    let ours = || {
        let connection = open_free(path, Opening::READ).ok()?;
        confine(&connection, Reach::Nothing).ok()?;
        duckdb_version(&connection)
    };
    let empty = path.metadata().is_ok_and(|found| found.len() == 0);
    (!empty && (!is_duckdb(path) || ours().is_none()))
        .then_some("is not a database of addfg that can be read; --force replaces only those")
}

/// The rule of what a picture, a page or an export replaces: all but databases.
pub fn no_databases(path: &Path) -> Option<&'static str> {
    (is_duckdb(path) || sqlite::is_sqlite(path)).then_some("is a database: -o names the output")
}

/// What a connection may do to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

/// Which databases are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those whose tables and views are the ones of `schema/`.
    Schema,
    /// Those that define others, too.
    Anything,
}

/// Which other files a connection may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    Nothing,
    /// Standard output by its name, /dev/stdout, for COPY.
    Output,
    /// Those in this folder, which need not be there yet.
    Folder(&'a Path),
    /// All that the user may.
    Everything,
}

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    pub mode: Mode,
    pub trust: Trust,
    pub reach: Reach<'a>,
    /// The folder that queries spill into; None: beside the database.
    pub spill: Option<&'a Path>,
}

impl Opening<'static> {
    /// Only read, only if it is as addfg makes it, and no other file with it.
    pub const READ: Opening<'static> =
        Opening { mode: Mode::Read, trust: Trust::Schema, reach: Reach::Nothing, spill: None };
}

/// Settings that a confined connection may change: those of addfg's own queries.
const OWN_SETTINGS: &str =
    "'threads', 'memory_limit', 'preserve_insertion_order', 'asof_loop_join_threshold'";

fn text(path: &Path) -> String {
    path.display().to_string().replace('\'', "''")
}

/// What becomes of a DuckDB connection, whatever the file is.
fn config(mode: AccessMode) -> duckdb::Result<Config> {
    // Nothing is fetched from the network for a query.
    Config::default().access_mode(mode)?.threads(2)?.enable_autoload_extension(false)
}

/// Takes away from a connection what its database or a query could do to other files: COPY, ATTACH,
/// extensions, logs, secrets. It cannot be taken back.
pub fn confine(connection: &Connection, reach: Reach) -> duckdb::Result<()> {
    let folders = match reach {
        Reach::Everything => return Ok(()),
        Reach::Folder(folder) => format!("SET allowed_directories = ['{}'];", text(folder)),
        Reach::Output => "SET allowed_paths = ['/dev/stdout'];".to_owned(),
        Reach::Nothing => String::new(),
    };
    connection.execute_batch(&format!(
        "{folders} SET allowed_configs = [{OWN_SETTINGS}]; SET allow_persistent_secrets = false;
         SET enable_external_access = false; SET lock_configuration = true;"
    ))
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

/// Opens for reading only, or for writing too, what addfg made.
pub fn open(path: &Path, write: bool) -> Result<Connection, OpenError> {
    let mode = if write { Mode::Write } else { Mode::Read };
    open_as(path, Opening { mode, ..Opening::READ })
}

/// Opens a database. An export to SQLite is read into memory.
pub fn open_as(path: &Path, opening: Opening) -> Result<Connection, OpenError> {
    let connection = open_free(path, opening)?;
    confine(&connection, opening.reach).map_err(|e| unreadable(path, &e))?;
    examine(&connection, path, opening.trust)?;
    connection.execute_batch(KNOWS_WHAT_IS_MISSING).map_err(|e| unreadable(path, &e))?;
    Ok(connection)
}

/// Opens a database for reading, and a second one in it under the name `other`.
pub fn open_both(path: &Path, other: &Path, trust: Trust) -> Result<Connection, OpenError> {
    let connection = with_other(path, other, Opening { trust, ..Opening::READ })?;
    examine(&connection, path, trust)?;
    connection.execute_batch(KNOWS_WHAT_IS_MISSING).map_err(|e| unreadable(path, &e))?;
    Ok(connection)
}

/// Makes an empty database, to be filled from one that is in it under the name `other`.
pub fn begin_copy(path: &Path, other: &Path, trust: Trust) -> Result<Connection, OpenError> {
    let made = zstd::decode_all(EMPTY).and_then(|empty| std::fs::write(path, empty));
    made.map_err(|e| unreadable(path, &e))?;
    with_other(path, other, Opening { mode: Mode::Write, trust, ..Opening::READ })
}

fn with_other(path: &Path, other: &Path, opening: Opening) -> Result<Connection, OpenError> {
    // Says what is wrong with it, if anything is.
    open_as(other, Opening { trust: opening.trust, ..Opening::READ })?;
    let connection = open_free(path, opening)?;
    attach(&connection, other)?;
    confine(&connection, opening.reach).map_err(|e| unreadable(path, &e))?;
    Ok(connection)
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> OpenError {
    let message = explained(error).lines().next().unwrap_or_default().to_owned();
    OpenError::Unreadable { path: path.display().to_string(), message }
}

/// Opens a database, which is asked nothing yet.
fn open_free(path: &Path, opening: Opening) -> Result<Connection, OpenError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(OpenError::Folder { path: name });
    }
    if !path.exists() {
        return Err(OpenError::Missing { path: name });
    }
    if sqlite::is_sqlite(path) {
        if opening.mode == Mode::Write {
            return Err(OpenError::SqliteWrite { path: name });
        }
        check(&name, sqlite::version(path))?;
        return in_memory(path);
    }
    if !is_duckdb(path) {
        return Err(OpenError::NotDuckdb { path: name });
    }
    let mode = || match opening.mode {
        Mode::Read => AccessMode::ReadOnly,
        Mode::Write => AccessMode::ReadWrite,
    };
    let spill = opening.spill.map_or_else(|| with_suffix(path, ".tmp"), Path::to_owned);
    // What is written has its log beside it, by its name.
    let alias = if opening.mode == Mode::Read { Alias::of(path) } else { None };
    let opened = alias.as_ref().map_or(path, |alias| &alias.link);
    let mut tries = 0;
    loop {
        let connection = config(mode())
            .and_then(|c| c.with("temp_directory", spill.display().to_string()))
            .and_then(|c| Connection::open_with_flags(opened, c));
        match connection {
            // Another question may be storing what it found.
            Err(error) if opening.mode == Mode::Read && tries < TRIES && is_locked(&error) => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            other => return other.map_err(|e| renamed(unreadable(path, &e), opened, path)),
        }
    }
}

/// How often, and after which time, a file is tried again that another process writes.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

fn is_locked(error: &duckdb::Error) -> bool {
    error.to_string().contains("Could not set lock")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// An error with the name that the user knows.
fn renamed(error: OpenError, from: &Path, to: &Path) -> OpenError {
    let [from, to] = [from, to].map(|path| path.display().to_string());
    match error {
        OpenError::Unreadable { path, message } => {
            OpenError::Unreadable { path, message: message.replace(&from, &to) }
        }
        other => other,
    }
}

/// Another name of a database, in a folder that is this user's alone, which is gone when it is open.
/// DuckDB lets queries write a database that it was only given to read, by the name that it was opened
/// by, and a macro of a stranger may do so; of a name that is no more it makes nothing.
struct Alias {
    folder: PathBuf,
    link: PathBuf,
}

impl Alias {
    /// None where there is no place for it.
    fn of(path: &Path) -> Option<Alias> {
        let folder = files::private().ok()?;
        std::fs::create_dir(&folder).ok()?;
        // The same file name: it is that of the catalog.
        let alias = Alias { link: folder.join(path.file_name()?), folder };
        let own = std::path::absolute(path).ok()?;
        symlink(&own, &alias.link).ok()?;
        let log = with_suffix(&own, ".wal");
        if log.exists() {
            symlink(&log, with_suffix(&alias.link, ".wal")).ok()?;
        }
        Some(alias)
    }
}

impl Drop for Alias {
    fn drop(&mut self) {
        // Links, and not what they lead to.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a database is one that this addfg reads, and as addfg made it. The connection is
/// confined by now: what answers may be a macro of the file.
fn examine(connection: &Connection, path: &Path, trust: Trust) -> Result<(), OpenError> {
    if sqlite::is_sqlite(path) {
        return Ok(());
    }
    let name = path.display().to_string();
    check(&name, duckdb_version(connection))?;
    if trust == Trust::Schema {
        let sql = "SELECT system.main.current_database()";
        let difference = connection
            .query_row(sql, [], |r| r.get::<_, String>(0))
            .and_then(|database| catalog::difference(connection, &database));
        if let Some(difference) = difference.map_err(|e| unreadable(path, &e))? {
            return Err(OpenError::Catalog { path: name, difference });
        }
    }
    Ok(())
}

/// The schema version of a DuckDB file that has a table for it: a view is not asked.
fn duckdb_version(connection: &Connection) -> Option<String> {
    let table = "SELECT 1 FROM system.main.duckdb_tables() WHERE schema_name = 'main' AND table_name = 'meta' AND NOT temporary";
    connection.query_row(table, [], |_| Ok(())).ok()?;
    let sql = "SELECT value FROM main.meta WHERE key = 'schema_version'";
    connection.query_row(sql, [], |row| row.get(0)).ok()
}

/// An empty database in memory, which spills into a folder.
pub fn in_memory_at(spill: &Path) -> duckdb::Result<Connection> {
    let config = config(AccessMode::Automatic)?;
    Connection::open_in_memory_with_flags(
        config.with("temp_directory", spill.display().to_string())?,
    )
}

/// Reads an export to SQLite.
fn in_memory(path: &Path) -> Result<Connection, OpenError> {
    let spill = files::private().map_err(|e| unreadable(path, &e))?;
    let connection = in_memory_at(&spill).map_err(|e| unreadable(path, &e))?;
    sqlite::read(&connection, "memory", path).map_err(|e| unreadable(path, &e))?;
    Ok(connection)
}

/// Opens a second database under the name `other`.
fn attach(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let sqlite = sqlite::is_sqlite(path);
    let alias = if sqlite { None } else { Alias::of(path) };
    let opened = alias.as_ref().map_or(path, |alias| &alias.link);
    let sql = if sqlite {
        "ATTACH ':memory:' AS other (READ_WRITE)".to_owned()
    } else {
        format!("ATTACH IF NOT EXISTS '{}' AS other (READ_ONLY)", text(opened))
    };
    connection.execute_batch(&sql).map_err(|e| renamed(unreadable(path, &e), opened, path))?;
    if sqlite {
        sqlite::read(connection, "other", path).map_err(|e| unreadable(path, &e))?;
    }
    Ok(())
}

/// An error with its causes, and what to do where DuckDB found the file damaged. Each is said once:
/// some errors have the text of their cause, and behind a message of DuckDB's stands a number that
/// is always the same.
pub fn explained(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |e| e.source()).map(ToString::to_string);
    let mut text = String::new();
    for cause in causes.filter(|cause| !cause.starts_with("Error code ")) {
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(cause.trim_end());
        }
    }
    if text.is_empty() {
        text = "DuckDB refuses it without a reason".to_owned();
    }
    let damaged = ["Corrupt database file", "Could not read enough bytes"];
    if damaged.iter().any(|words| text.contains(words)) {
        text.push_str("; the database is damaged: copy it again, or build it again");
    }
    let said = text.contains("collect the run again");
    if let Some(list) = list_of_damaged(&text).filter(|_| !said) {
        text = text.lines().next().unwrap_or_default().to_owned();
        text.push_str(&format!(
            "; the lake's file is damaged or missing: remove {list}, and collect the run again"
        ));
    }
    text
}

/// The list of the run whose table in a lake DuckDB cannot read: the first line of its message names the table, and
/// `LAKE/TABLE/program=P/run=R/part-0.parquet` belongs to `LAKE/_runs/P.R.json`. What follows is the query.
fn list_of_damaged(text: &str) -> Option<String> {
    let (begin, _) = text.lines().next()?.rsplit_once("part-0.parquet")?;
    let (begin, run) = begin.strip_suffix('/')?.rsplit_once("/run=")?;
    let (begin, program) = begin.rsplit_once("/program=")?;
    let (lake, _) = begin.rsplit_once('/')?;
    let lake = lake.rsplit(['"', '\'']).next()?;
    Some(format!("{lake}/_runs/{program}.{run}.json"))
}

/// Why a database keeps no steps, and what to do about it.
pub fn why_no_steps(connection: &Connection) -> duckdb::Result<String> {
    connection.query_row(include_str!("../../queries/report/no_steps.sql"), [], |r| r.get(0))
}
