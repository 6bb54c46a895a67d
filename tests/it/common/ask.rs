//! Databases are asked in this process.

use addfg::internals::render::rows::RowFormat;
use addfg::internals::views::listing::Listing;
use duckdb::Connection;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// What tests only read: in a folder of this process, removed by a later one.
pub fn shared_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("databases");
        let ended = |process: &str| !Path::new("/proc").join(process).exists();
        for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(ended) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let own = all.join(std::process::id().to_string());
        std::fs::create_dir_all(&own).expect("a folder for databases");
        own
    })
}

pub fn open(db: &Path) -> Connection {
    addfg::internals::store::open::open(db, false)
        .unwrap_or_else(|e| panic!("{}: {e}", db.display()))
}

/// A database as it was when it was opened: path, inode, bytes, nanoseconds of its last change.
type Version = (PathBuf, u64, u64, i64);

fn version(db: &Path) -> Version {
    let found = db.metadata().unwrap_or_else(|e| panic!("{}: {e}", db.display()));
    (db.to_owned(), found.ino(), found.size(), found.mtime() * 1_000_000_000 + found.mtime_nsec())
}

thread_local! {
    /// What was asked last: a test asks one database many questions.
    static LAST: RefCell<Option<(Version, Connection)>> = const { RefCell::new(None) };
}

/// Closes what this thread keeps open: so that another process may write it, and before the thread
/// ends, for DuckDB's own data of a thread may end before ours.
pub fn close_last() {
    LAST.take();
}

/// Asks a database. Those that nobody writes stay open for all tests.
fn ask<T>(db: &Path, question: impl FnOnce(&Connection) -> T) -> T {
    static OPEN: Mutex<BTreeMap<PathBuf, Connection>> = Mutex::new(BTreeMap::new());
    if db.starts_with(shared_folder()) {
        let mut all = OPEN.lock().expect("no panic within");
        let kept = all.entry(db.to_owned()).or_insert_with(|| open(db));
        let connection = kept.try_clone().expect("another connection");
        drop(all);
        return question(&connection);
    }
    let version = version(db);
    let kept = LAST.take().filter(|last| last.0 == version);
    let (version, connection) = kept.unwrap_or_else(|| (version, open(db)));
    let answer = question(&connection);
    LAST.set(Some((version, connection)));
    answer
}

fn answer(db: &Path, sql: &str, format: RowFormat) -> String {
    let mut out = Vec::new();
    ask(db, |connection| Listing::new(sql, []).write(connection, format, &mut out))
        .unwrap_or_else(|e| panic!("{e:#}\n{sql}"));
    String::from_utf8(out).expect("UTF-8")
}

/// The rows of a query as CSV, with a header.
pub fn csv(db: &Path, sql: &str) -> String {
    answer(db, sql, RowFormat::Csv)
}

/// The rows of a query as CSV without the header.
pub fn rows(db: &Path, sql: &str) -> Vec<String> {
    csv(db, sql).lines().skip(1).map(str::to_owned).collect()
}

/// The rows of a query as JSON. Objects are sorted by their names: columns must be, too.
pub fn query(db: &Path, sql: &str) -> Vec<Vec<Value>> {
    let json: Value = serde_json::from_str(&answer(db, sql, RowFormat::Json)).expect("JSON");
    let row = |row: &Value| row.as_object().expect("a row").values().cloned().collect();
    json.as_array().expect("rows").iter().map(row).collect()
}
