//! Databases are asked in this process; the one that a thread asked last stays open.

use addfg::render::rows::RowFormat;
use addfg::views::listing::Listing;
use duckdb::Connection;
use serde_json::Value;
use std::cell::RefCell;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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
    addfg::store::open::open(db, false).unwrap_or_else(|e| panic!("{}: {e}", db.display()))
}

/// The database that a thread asked last.
struct Kept {
    path: PathBuf,
    state: State,
    connection: Connection,
}

/// Device, number, length and time of change of a file.
type State = (u64, u64, u64, i64, i64);

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Closes what this thread has open, unless nobody writes it.
pub fn close() {
    let changes = |kept: &mut Kept| !kept.path.starts_with(shared_folder());
    KEPT.with_borrow_mut(|kept| drop(kept.take_if(changes)));
}

/// Asks a database; it stays open for the next question.
fn ask<T>(db: &Path, question: impl FnOnce(&Connection) -> T) -> T {
    let file = std::fs::metadata(db).unwrap_or_else(|e| panic!("{}: {e}", db.display()));
    let state = (file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec());
    KEPT.with_borrow_mut(|kept| {
        if !kept.as_ref().is_some_and(|k| k.path == db && k.state == state) {
            *kept = None;
        }
        let kept =
            kept.get_or_insert_with(|| Kept { path: db.to_owned(), state, connection: open(db) });
        question(&kept.connection)
    })
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
