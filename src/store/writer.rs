//! A new database: written under another name by a thread of its own, renamed when complete.

use super::table::{Batch, Tables};
use super::{EMPTY, SCHEMA, StoreError, open};
use crate::files::{self, Kind, Output, Rule};
use duckdb::{Config, Connection};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Parts of `dataflow_row` that are to be added up: a temporary table of every database that is
/// being built.
pub const FLOW_PART: &str = "flow_part";

/// Little memory: the pool fills up to its limit with what nobody reads again. A bulk load needs no
/// order but its own. Rows wait for as little as possible before they are compressed: several
/// tables at a time would each keep five groups of them. One thread of its own: the checkpoint of
/// small tables takes a second one twice the time. FSST would take half of the commit of a database
/// without rows of a trace, for names that come to a few blocks.
const SETTINGS: &str = "SET memory_limit = '40MB'; SET threads = 1; SET wal_autocheckpoint = '1TB'; \
    SET write_buffer_row_group_count = 1; SET disabled_compression_methods = 'fsst';";

/// A quarter of DuckDB's own size: each of the sixty small tables takes less of one (a database of
/// detail summary is a third as large), and the last block of each group of rows is fuller. With
/// half of it, columns of 64 bits no longer fit and are stored as they are.
const BLOCK_SIZE: &str = "65536";

/// Commits into the file itself: with the threshold at its least, nothing goes through the log
/// first.
const COMMIT: &str = "SET wal_autocheckpoint = '1KB'; COMMIT; CHECKPOINT;";

/// A database that is being built.
pub struct Writer {
    output: Option<Output>,
    sender: Option<mpsc::SyncSender<Batch>>,
    thread: Option<JoinHandle<Result<Connection, StoreError>>>,
}

impl Writer {
    /// Begins a database beside `path`. An existing database is replaced only with `force`, and only
    /// when the new one is complete.
    pub fn create(path: &Path, force: bool) -> Result<Writer, StoreError> {
        let output = Output::begin(path, Kind::File, rule(force))?;
        // Here, so that a place that cannot be written is known before the trace is read.
        let io = |source| StoreError::Io { path: path.display().to_string(), source };
        std::fs::write(output.part(), zstd::decode_all(EMPTY).map_err(io)?).map_err(io)?;
        let mut writer = Writer { output: Some(output), sender: None, thread: None };
        let (sender, receiver) = mpsc::sync_channel::<Batch>(4);
        writer.sender = Some(sender);
        let temporary = crate::files::part(path);
        let work = move || {
            // There, because it takes a while and the first rows come later.
            let connection = begin(&temporary)?;
            append(&connection, receiver)?;
            Ok(connection)
        };
        let thread = std::thread::Builder::new().name("writer".into()).spawn(work);
        writer.thread =
            Some(thread.map_err(|source| StoreError::Io { path: "a thread".into(), source })?);
        Ok(writer)
    }

    /// A sender of rows; sending fails when the writer has ended with an error.
    pub fn sender(&self) -> Option<mpsc::SyncSender<Batch>> {
        self.sender.clone()
    }

    /// Waits until everything sent is in; then the connection is the caller's. All senders must be
    /// gone.
    pub fn join(&mut self) -> Result<Connection, StoreError> {
        self.sender = None;
        let thread = self.thread.take().ok_or(StoreError::Stopped)?;
        thread.join().map_err(|_| StoreError::Stopped)?
    }

    /// Completes the file and gives it its name.
    pub fn commit(mut self, connection: Connection) -> Result<(), StoreError> {
        connection.execute_batch(COMMIT)?;
        connection.close().map_err(|(_, e)| e)?;
        Ok(self.output.take().ok_or(StoreError::Stopped)?.finish()?)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        // Before its file is removed.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Which files a build replaces.
pub fn rule(force: bool) -> Rule {
    if force { open::only_databases } else { files::nothing }
}

/// What a file is made with, and opened again.
fn config() -> duckdb::Result<Config> {
    // Before that version the statistics of each column take kilobytes, and a fifth of the time to
    // open the file.
    Config::default()
        .enable_autoload_extension(false)?
        .with("storage_compatibility_version", "v1.2.0")?
        .with("default_block_size", BLOCK_SIZE)
}

/// Makes an empty database of the schema, statement by statement: what [`EMPTY`] is a copy of.
pub fn make_empty(path: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, config()?)?;
    connection.execute_batch("SET threads = 1; BEGIN TRANSACTION;")?;
    for schema in SCHEMA {
        connection.execute_batch(schema)?;
    }
    connection.execute_batch("COMMIT; CHECKPOINT;")?;
    Ok(connection.close().map_err(|(_, e)| e)?)
}

/// Opens the empty file and begins the transaction in which it is filled.
fn begin(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, config()?)?;
    connection.execute_batch(SETTINGS)?;
    connection.execute_batch(&format!(
        "BEGIN TRANSACTION; CREATE TEMP TABLE {FLOW_PART} AS FROM dataflow_row LIMIT 0;",
    ))?;
    Ok(connection)
}

fn append(connection: &Connection, batches: mpsc::Receiver<Batch>) -> Result<(), StoreError> {
    let mut tables = Tables::new(connection);
    batches.into_iter().try_for_each(|batch| tables.append(batch))
}
