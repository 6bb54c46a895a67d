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
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub const RUNS: &str = "_runs";
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
    match json(&root.join(SCHEMA))?["lake"].as_u64() {
        Some(found) if found <= LAKE_VERSION => Ok(()),
        found => Err(LakeError::Newer { path, found: found.unwrap_or(0), known: LAKE_VERSION }),
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
pub struct Stage(PathBuf);

impl Stage {
    pub fn begin(root: &Path) -> Result<Stage, LakeError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{STAGED}{}-{}-{number}", host(), std::process::id()));
        fs::create_dir_all(&path).map_err(failed(&path))?;
        Ok(Stage(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file under its name, whole or not at all.
    pub fn put(&self, bytes: &[u8], path: &Path) -> Result<(), LakeError> {
        let staged = self.0.join("file");
        let write = || {
            let mut file = fs::File::create(&staged)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&staged, path)
        };
        write().map_err(failed(path))
    }

    /// Moves a folder of it to its place. What is there already was made of the same content, whole.
    pub fn place(&self, folder: &Path, path: &Path) -> Result<(), LakeError> {
        let parent = path.parent().unwrap_or(path);
        fs::create_dir_all(parent).map_err(failed(parent))?;
        match fs::rename(folder, path) {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            renamed => renamed.map_err(failed(path)),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes sure that a file is on the disk before it gets its name.
pub fn sync(path: &Path) -> Result<(), LakeError> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(failed(path))
}

/// Removes what processes of this machine that were killed have left.
pub fn remove_leftovers(root: &Path) {
    let begin = format!("{STAGED}{}-", host());
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(&begin)?.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
