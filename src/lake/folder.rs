//! The folder of a lake: names in it, and how things get there whole.
//!
//! ```text
//! LAKE/_schema.json                                  tables, columns, units
//! LAKE/_runs/PROGRAM.RUN.json                        a run that is in the lake
//! LAKE/TABLE/program=PROGRAM/run=RUN/part-0.parquet  its rows
//! LAKE/_packed/HASH/...                              many runs in a file each, see pack.rs
//! LAKE/_tmp-HOST-PROCESS-NUMBER/                     under way
//! ```

use super::error::LakeError;
use super::manifest::LAKE_VERSION;
use super::tables::catalog;
use crate::files;
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub const RUNS: &str = "_runs";
/// The file in the folder of a run's table.
pub const ROWS: &str = "part-0.parquet";
pub const PACKED: &str = "_packed";
const SCHEMA: &str = "_schema.json";
const STAGED: &str = "_tmp-";

pub fn failed(path: &Path) -> impl FnOnce(io::Error) -> LakeError + use<> {
    let path = path.display().to_string();
    move |source| LakeError::Write { path, source }
}

pub fn unread(path: &Path) -> impl FnOnce(io::Error) -> LakeError + use<> {
    let path = path.display().to_string();
    move |source| LakeError::Read { path, source }
}

/// Whether a folder is a lake.
pub fn is_lake(path: &Path) -> bool {
    path.join(SCHEMA).is_file()
}

/// Reads a JSON file.
pub fn json(path: &Path) -> Result<Value, LakeError> {
    let text = fs::read(path).map_err(unread(path))?;
    serde_json::from_slice(&text)
        .map_err(|e| LakeError::Manifest { path: path.display().to_string(), what: e.to_string() })
}

/// Refuses what is no lake, or one of a newer addfg.
pub fn check(root: &Path) -> Result<(), LakeError> {
    let path = root.display().to_string();
    if !is_lake(root) {
        return Err(LakeError::NoLake { path });
    }
    let schema = root.join(SCHEMA);
    let wrong = |what: String| LakeError::Schema { path: schema.display().to_string(), what };
    // What is wrong with it is not to be mended as a list of a run is.
    let found = json(&schema).map_err(|error| match error {
        LakeError::Manifest { what, .. } => wrong(what),
        other => other,
    })?;
    match found["lake"].as_u64() {
        Some(LAKE_VERSION) => Ok(()),
        Some(found) if found > LAKE_VERSION => {
            Err(LakeError::Newer { path, found, known: LAKE_VERSION })
        }
        Some(found @ 1..) => Err(LakeError::Older { path, found, known: LAKE_VERSION }),
        _ => Err(wrong("it has no `lake`, a version of 1 or more".into())),
    }
}

/// Makes a lake where there is none: an empty folder, or a new one.
pub fn make(root: &Path) -> Result<(), LakeError> {
    if is_lake(root) {
        return check(root);
    }
    let ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('_');
    let mut found = fs::read_dir(root).into_iter().flatten().flatten();
    if root.is_file() || found.any(|entry| !ours(&entry.file_name())) {
        return Err(LakeError::Occupied { path: root.display().to_string() });
    }
    let runs = root.join(RUNS);
    fs::create_dir_all(&runs).map_err(failed(&runs))?;
    let stage = Stage::begin(root)?;
    let text = serde_json::to_vec_pretty(&catalog(LAKE_VERSION)).unwrap_or_default();
    stage.put(&text, &root.join(SCHEMA))
}

/// The name of this machine: a lake may be shared by several.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A folder in the lake for what is not yet in it.
pub struct Stage {
    path: PathBuf,
    /// Held as long as it is there.
    _lock: Option<fs::File>,
}

impl Stage {
    pub fn begin(root: &Path) -> Result<Stage, LakeError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{STAGED}{}-{}-{number}", host(), files::process_name()));
        // Who removes what others left may have taken it for that, until it was locked.
        for _ in 0..10 {
            fs::create_dir_all(&path).map_err(failed(&path))?;
            let lock = files::lock(&path);
            if path.is_dir() {
                return Ok(Stage { path, _lock: lock });
            }
        }
        let source = io::Error::other("another process removes it");
        Err(LakeError::Write { path: path.display().to_string(), source })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file under its name, whole or not at all.
    pub fn put(&self, bytes: &[u8], path: &Path) -> Result<(), LakeError> {
        let staged = self.path.join("file");
        let write = || {
            let mut file = fs::File::create(&staged)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&staged, path)
        };
        write().map_err(failed(path))
    }

    /// Moves a folder of it to its place. What is there already was made of the same content: it stays, unless
    /// it is damaged.
    pub fn place(&self, folder: &Path, path: &Path) -> Result<(), LakeError> {
        let parent = path.parent().unwrap_or(path);
        fs::create_dir_all(parent).map_err(failed(parent))?;
        match fs::rename(folder, path) {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => {
                if !is_damaged(&path.join(ROWS), &folder.join(ROWS)) {
                    return Ok(());
                }
                let damaged = folder.with_extension("damaged");
                fs::rename(path, &damaged).map_err(failed(path))?;
                fs::rename(folder, path).map_err(failed(path))
            }
            renamed => renamed.map_err(failed(path)),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Whether a file of rows is other than one of the same rows.
fn is_damaged(file: &Path, same: &Path) -> bool {
    let bytes = |file: &Path| fs::metadata(file).map_or(0, |found| found.len());
    same.exists() && (bytes(file) != bytes(same) || !is_parquet(file))
}

/// Whether a file begins and ends as Parquet does.
pub fn is_parquet(path: &Path) -> bool {
    const MARK: &[u8; 4] = b"PAR1";
    let read = || {
        let mut file = fs::File::open(path)?;
        let (mut first, mut last) = ([0; 4], [0; 4]);
        file.read_exact(&mut first)?;
        let end = file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut last)?;
        // Between them is at least what says how long the description is.
        Ok::<_, io::Error>(end >= 8 && first == *MARK && last == *MARK)
    };
    read().unwrap_or(false)
}

/// Makes sure that a file is on the disk before it gets its name.
pub fn sync(path: &Path) -> Result<(), LakeError> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(failed(path))
}

/// Where queries of a lake spill: a name that no other process has.
pub fn spill(root: &Path) -> PathBuf {
    root.join(format!("{STAGED}spill-{}", files::process_name()))
}

/// Removes what processes that were killed have left, of whatever machine: a lock tells that they are
/// no more. Spill folders, which DuckDB makes, have none.
pub fn remove_leftovers(root: &Path) {
    let spills = format!("{STAGED}spill-");
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(STAGED) || name.starts_with(&spills) {
            continue;
        }
        if let Ok(_lock) = files::abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
