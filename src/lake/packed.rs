//! The packs of a lake: runs that share files. [`super::pack`] makes them.

use super::error::LakeError;
use super::folder::{self, PACKED};
use super::manifest::Manifest;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The list of a pack's runs, in its folder.
pub const LIST: &str = "runs.json";

/// Runs that are packed together.
#[derive(Clone, Debug)]
pub struct Pack {
    pub folder: PathBuf,
    pub runs: Vec<Manifest>,
}

impl Pack {
    /// Its file of a table of a program.
    pub fn file(&self, table: &str, program: &str) -> PathBuf {
        file(&self.folder, table, program)
    }
}

/// The file of a table of a program in the folder of a pack.
pub fn file(folder: &Path, table: &str, program: &str) -> PathBuf {
    folder.join(table).join(format!("program={program}")).join("part-0.parquet")
}

/// The packs of a lake, the largest first; none that has a run of another one before it.
pub fn packs(root: &Path) -> Result<Vec<Pack>, LakeError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(PACKED)).into_iter().flatten().flatten() {
        let list = entry.path().join(LIST);
        let json = folder::json(&list)?;
        let runs = json.as_array().into_iter().flatten();
        let runs = runs.map(|m| Manifest::from_json(m, &list)).collect::<Result<Vec<_>, _>>()?;
        found.push(Pack { folder: entry.path(), runs });
    }
    found.sort_by(|a, b| b.runs.len().cmp(&a.runs.len()).then(a.folder.cmp(&b.folder)));
    let mut seen = HashSet::new();
    found.retain(|pack| {
        let names: Vec<_> = pack.runs.iter().map(Manifest::file_name).collect();
        let fresh = names.iter().all(|name| !seen.contains(name));
        if fresh {
            seen.extend(names);
        }
        fresh
    });
    Ok(found)
}
