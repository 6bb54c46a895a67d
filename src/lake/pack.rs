//! Many runs in one file a table: what makes questions over thousands of runs quick.
//!
//! A pack is a folder `_packed/HASH` with the files and the list of its runs, renamed when whole. It
//! stands beside the runs' own files, which stay as they are for every other reader: tools that know
//! of keys and folders only do not look into names that begin with `_`.

use super::error::LakeError;
use super::folder::{self, PACKED, Stage};
use super::label::Labels;
use super::manifest::Manifest;
use super::open::{Lake, quoted};
use super::packed::{LIST, file};
use super::tables::{RUN_ID, Table, collected, views};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Packs that a lake has at most before all are made one.
const PACKS: usize = 8;

/// What packing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Runs in the new pack; 0: there was nothing to pack.
    pub runs: usize,
    pub packs: usize,
}

/// Packs the runs that no pack has; when there are many packs, all of them.
pub fn pack(root: &Path) -> Result<Packed, LakeError> {
    folder::check(root)?;
    folder::remove_leftovers(root);
    let lake = Lake::open(root, &Labels::new())?;
    let all = lake.packs().len() >= PACKS;
    let runs: Vec<&Manifest> = if all { lake.runs().collect() } else { lake.loose().collect() };
    if runs.is_empty() {
        return Ok(Packed { runs: 0, packs: lake.packs().len() });
    }
    let stage = Stage::begin(root)?;
    let new = stage.path().join("pack");
    fs::create_dir(&new).map_err(folder::failed(&new))?;
    let name = write(root, &runs, &new)?;
    let list: Vec<_> = runs.iter().map(|m| m.to_json()).collect();
    stage.put(serde_json::json!(list).to_string().as_bytes(), &new.join(LIST))?;
    stage.place(&new, &root.join(PACKED).join(name))?;
    if all {
        for pack in lake.packs() {
            fs::remove_dir_all(&pack.folder).map_err(folder::failed(&pack.folder))?;
        }
    }
    Ok(Packed { runs: runs.len(), packs: if all { 1 } else { lake.packs().len() + 1 } })
}

/// Writes the files of a pack; gives its name.
fn write(root: &Path, runs: &[&Manifest], folder: &Path) -> Result<String, LakeError> {
    let connection = super::open::connect(root)?;
    let programs: BTreeSet<&str> = runs.iter().map(|m| m.program.as_str()).collect();
    for program in programs {
        let of_program: Vec<&Manifest> =
            runs.iter().copied().filter(|m| m.program == program).collect();
        for table in collected() {
            let files = super::open::run_files(root, &table, &of_program);
            let source = super::open::source(&table, &files, &[]);
            // `thing` is made of these.
            connection
                .execute_batch(&format!("CREATE OR REPLACE VIEW \"{}\" AS {source}", table.name))?;
            if !files.is_empty() {
                let list = list(&table);
                // By key: an edge of all runs lies together.
                let order = table.columns[0].name;
                let from =
                    format!("SELECT {list} FROM \"{}\" ORDER BY \"{order}\", {RUN_ID}", table.name);
                copy(&connection, &from, &file(folder, table.name, program))?;
            }
        }
        for view in views().iter().filter(|v| v.name == "thing") {
            let from = format!("SELECT * EXCLUDE (program) FROM ({}) ORDER BY thing_key", view.sql);
            copy(&connection, &from, &file(folder, view.name, program))?;
        }
    }
    let names: Vec<&str> = runs.iter().map(|m| m.run.text()).collect();
    let hash =
        connection.query_row("SELECT md5(?)", [names.join(" ")], |r| r.get::<_, String>(0))?;
    Ok(hash[..16].to_owned())
}

fn list(table: &Table) -> String {
    let names = table.columns.iter().map(|c| format!("\"{}\"", c.name));
    [RUN_ID.to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(", ")
}

fn copy(connection: &duckdb::Connection, from: &str, file: &Path) -> Result<(), LakeError> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(folder::failed(folder))?;
    connection.execute_batch(&format!(
        "COPY ({from}) TO {} (FORMAT parquet, COMPRESSION zstd)",
        quoted(file)
    ))?;
    folder::sync(file)
}
