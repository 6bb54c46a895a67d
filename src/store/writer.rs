//! A new database: written under another name by a thread of its own, renamed when complete.

use super::table::{Batch, Tables};
use super::{EMPTY, KNOWS_WHAT_IS_MISSING, SCHEMA, StoreError, open};
use crate::files::{self, Kind, Output, Rule};
use duckdb::{Config, Connection};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Parts of `dataflow_row` that are to be added up: a table of every database that is being built,
/// which goes before it is complete.
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

/// Values behind which the file is closed and opened again: of each row group that it has written,
/// DuckDB keeps some 3 KB a column until then, which a long run would feel.
const REOPEN: usize = 1 << 28;

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
            connection.execute_batch(&format!(
                "CREATE TABLE {FLOW_PART} AS FROM dataflow_row LIMIT 0;",
            ))?;
            append(connection, &temporary, receiver, REOPEN)
        };
        let thread = std::thread::Builder::new().name("writer".into()).spawn(work);
        writer.thread = Some(thread.map_err(|source| StoreError::Thread { source })?);
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
    pub fn commit(self, connection: Connection) -> Result<(), StoreError> {
        self.commit_with(connection, |_| Ok(()))
    }

    /// The same with rows that `more` makes of what is in the file: other connections to it may read that.
    pub fn commit_with<E: From<StoreError>>(
        mut self,
        connection: Connection,
        more: impl FnOnce(&Connection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("DROP TABLE IF EXISTS {FLOW_PART}; {COMMIT}");
        connection.execute_batch(&sql).map_err(StoreError::from)?;
        more(&connection)?;
        connection.close().map_err(|(_, e)| StoreError::from(e))?;
        let output = self.output.take().ok_or(StoreError::Stopped)?;
        Ok(output.finish().map_err(StoreError::from)?)
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

/// Opens the file and begins a transaction in which it is filled.
fn begin(path: &Path) -> duckdb::Result<Connection> {
    let connection = Connection::open_with_flags(path, config()?)?;
    connection.execute_batch(SETTINGS)?;
    connection.execute_batch(KNOWS_WHAT_IS_MISSING)?;
    connection.execute_batch("BEGIN TRANSACTION;")?;
    Ok(connection)
}

/// Ends the transaction and closes the file.
fn finish(connection: Connection) -> duckdb::Result<()> {
    connection.execute_batch(COMMIT)?;
    connection.close().map_err(|(_, e)| e)
}

/// Fills the tables as batches come, and opens the file anew each `reopen` values; gives the
/// connection that is then open.
fn append(
    mut connection: Connection,
    path: &Path,
    batches: mpsc::Receiver<Batch>,
    reopen: usize,
) -> Result<Connection, StoreError> {
    let mut batches = batches.into_iter();
    loop {
        let mut tables = Tables::new(&connection);
        let mut left = reopen;
        while left > 0 {
            let Some(batch) = batches.next() else {
                drop(tables);
                return Ok(connection);
            };
            left = left.saturating_sub(tables.append(batch)?);
        }
        drop(tables);
        finish(connection)?;
        connection = begin(path)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CallId, FunctionId};
    use crate::store::pieces;
    use crate::store::table::{BATCH, Stream};
    use crate::store::tables::{DataflowRow, DataflowRows, FoldedCall, FoldedCalls, RunPieces};

    #[test]
    fn a_file_opened_anew_has_the_rows_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reopened.duckdb");
        std::fs::write(&path, zstd::decode_all(EMPTY).unwrap()).unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut flows = Stream::<DataflowRows>::default();
        let mut calls = Stream::<FoldedCalls>::default();
        let rows = 5 * BATCH / 2;
        let (call, function) = (CallId::at, FunctionId::at(0));
        for i in 0..rows {
            let flow = DataflowRow {
                writer_call_id: None,
                reader_call_id: call(i),
                writer_function_id: None,
                reader_function_id: function,
                place_id: 1,
                bytes: 8,
                unique_bytes: Some(8),
                transfers: Some(1),
            };
            let folded = FoldedCall {
                call_id: call(i),
                function_id: function,
                into_call_id: call(i),
                into_function_id: function,
                steps_self: None,
            };
            flows.push(flow).into_iter().for_each(|b| sender.send(b).unwrap());
            calls.push(folded).into_iter().for_each(|b| sender.send(b).unwrap());
        }
        [flows.rest(), calls.rest()].into_iter().flatten().for_each(|b| sender.send(b).unwrap());
        drop(sender);
        let connection = append(begin(&path).unwrap(), &path, receiver, 1).unwrap();
        finish(connection).unwrap();
        let connection = Connection::open(&path).unwrap();
        let sum: usize = rows * (rows + 1) / 2;
        for (table, column) in [("dataflow_row", "reader_call_id"), ("folded_call_row", "call_id")]
        {
            let sql = format!("SELECT count(*), sum({column})::BIGINT FROM {table}");
            let found: (usize, usize) =
                connection.query_row(&sql, [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
            assert_eq!(found, (rows, sum), "{table}");
        }
    }

    /// A packed run of more bytes than the writer may take: DuckDB has 2,048 rows in memory at once.
    #[test]
    fn a_long_packed_run_is_stored_in_little_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.duckdb");
        std::fs::write(&path, zstd::decode_all(EMPTY).unwrap()).unwrap();
        let (sender, receiver) = mpsc::sync_channel(4);
        // No two bytes behind one another repeat, so that nothing is packed away.
        let chunk = |i: u64| -> Vec<u8> {
            let mut number = i | 1;
            let mut byte = || {
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (number >> 33) as u8
            };
            (0..40_000).map(|_| byte()).collect()
        };
        let chunks = 3000;
        let packer = std::thread::spawn(move || {
            let mut rows = Stream::<RunPieces>::default();
            for i in 0..chunks {
                for row in pieces::rows(i, &chunk(i)) {
                    rows.push(row).into_iter().for_each(|batch| sender.send(batch).unwrap());
                }
            }
            rows.rest().into_iter().for_each(|batch| sender.send(batch).unwrap());
        });
        let connection = append(begin(&path).unwrap(), &path, receiver, REOPEN).unwrap();
        packer.join().unwrap();
        finish(connection).unwrap();
        let connection = Connection::open(&path).unwrap();
        for i in [0, 1234, chunks - 1] {
            assert!(pieces::chunk(&connection, i).unwrap() == chunk(i), "{i}");
        }
        let several = pieces::chunks(&connection, &[7, 9]).unwrap();
        assert!(several == [(7, chunk(7)), (9, chunk(9))]);
        assert!(pieces::chunks(&connection, &[9, chunks]).is_err());
    }
}
