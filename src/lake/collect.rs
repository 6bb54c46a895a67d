//! A run into a lake: its high level as Parquet, under names that all runs share.
//!
//! A run's name is the hash of what it holds and how it is labelled. So the same run is in the lake
//! once, and two processes that collect it at the same time write the same.

use super::code;
use super::error::LakeError;
use super::folder::{self, ROWS, RUNS, Stage};
use super::label::{Label, Labels, labels};
use super::manifest::{LAKE_VERSION, Manifest, RunName, is_program};
use super::open::run_files;
use super::steps;
use super::tables::{NAMED, RUN_ID, collected};
use crate::load::packed;
use crate::store::open::{Opening, Reach, Trust, open_as};
use duckdb::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How runs are collected.
#[derive(Clone, Debug)]
pub struct Options {
    pub labels: Vec<Label>,
    /// Name of the program; None: that of its ELF file.
    pub program: Option<String>,
    pub trust: Trust,
    /// The run itself, too.
    pub steps: bool,
}

impl Options {
    /// Refuses names that cannot be, before anything is made.
    pub fn check(&self) -> Result<(), LakeError> {
        labels(&self.labels)?;
        match &self.program {
            Some(text) if !is_program(text) => Err(LakeError::Program { text: text.clone() }),
            _ => Ok(()),
        }
    }
}

/// A run that is in the lake now.
#[derive(Debug)]
pub struct Collected {
    pub manifest: Manifest,
    /// It was not there before, or its steps were not.
    pub is_new: bool,
}

/// Makes the lake where there is none, and removes what was left half done.
pub fn begin(lake: &Path) -> Result<(), LakeError> {
    folder::make(lake)?;
    folder::remove_leftovers(lake);
    Ok(())
}

/// What is wrong with files that are in a lake: lists that cannot be read, and tables that are not
/// there or do not begin and end as Parquet does. Its other runs are as good as before.
pub fn broken(lake: &Path) -> Result<Vec<LakeError>, LakeError> {
    let runs = lake.join(RUNS);
    let mut found = Vec::new();
    for entry in fs::read_dir(&runs).map_err(folder::unread(&runs))? {
        let list = entry.map_err(folder::unread(&runs))?.path();
        if list.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        match folder::json(&list).and_then(|value| Manifest::from_json(&value, &list)) {
            Err(error) => found.push(error),
            Ok(manifest) => {
                let names = collected().into_iter();
                let files = names.flat_map(|table| run_files(lake, &table, &[&manifest]));
                let steps = Some(steps::file(lake, &manifest)).filter(|file| file.exists());
                let files = files.chain(steps);
                found.extend(files.filter(|file| !folder::is_parquet(file)).map(|file| {
                    let [path, list] = [&file, &list].map(|path| path.display().to_string());
                    LakeError::Broken { path, list }
                }));
            }
        }
    }
    Ok(found)
}

/// Collects the run of a database. It is in the lake whole or not at all.
pub fn collect(db: &Path, lake: &Path, options: &Options) -> Result<Collected, LakeError> {
    options.check()?;
    let stage = Stage::begin(lake)?;
    let opening =
        Opening { trust: options.trust, reach: Reach::Folder(stage.path()), ..Opening::READ };
    let connection = open_as(db, opening)?;
    let program = program(&connection, db, options)?;
    let labels = labels(&options.labels)?;
    prepare(&connection, &program)?;
    let recording = recording(&connection)?;
    let run = run_name(&connection, &program, &labels, &recording)?;
    let mut manifest = manifest(&connection, program, run, labels)?;
    manifest.recording = recording;
    manifest.database = stem(db);
    let listed = lake.join(RUNS).join(manifest.file_name());
    let is_new = !listed.exists();
    if is_new {
        write(&connection, &manifest, &stage)?;
    }
    // DuckDB has a file open once in a process.
    drop(connection);
    let more = options.steps && !steps::are_there(lake, &manifest);
    if more {
        steps::put(db, lake, &manifest, &stage, options.trust)?;
    }
    if !is_new {
        return Ok(Collected { manifest, is_new: more });
    }
    for name in manifest.tables.iter().filter(|(_, rows)| **rows > 0).map(|(name, _)| name) {
        let place = lake
            .join(name)
            .join(format!("program={}", manifest.program))
            .join(format!("run={}", manifest.run.text()));
        stage.place(&stage.path().join(name), &place)?;
    }
    stage.put(manifest.to_json().to_string().as_bytes(), &listed)?;
    Ok(Collected { manifest, is_new: true })
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The program by its option, its first ELF file, or the name of the database.
fn program(connection: &Connection, db: &Path, options: &Options) -> Result<String, LakeError> {
    if let Some(text) = &options.program {
        return Ok(text.clone());
    }
    let sql =
        "SELECT path FROM input WHERE role = 'elf' AND path IS NOT NULL ORDER BY input_id LIMIT 1";
    let elf = connection.query_row(sql, [], |r| r.get::<_, String>(0));
    let name = match elf {
        Ok(path) => crate::text::file_name(&path).to_owned(),
        Err(duckdb::Error::QueryReturnedNoRows) => stem(db),
        Err(error) => return Err(error.into()),
    };
    let fitting = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let name: String = name.chars().map(|c| if fitting(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    Ok(if is_program(name) { name.to_owned() } else { "program".into() })
}

/// Makes each table of the run in memory.
fn prepare(connection: &Connection, program: &str) -> Result<(), LakeError> {
    // The program is a word of few characters, checked.
    connection.execute_batch(&format!(
        "CREATE TEMP MACRO lake_program() AS '{program}';
         CREATE TEMP MACRO lake_key(what, one, one_file, two, two_file, via) AS CAST(md5_number_lower(
             concat_ws(chr(31), '{program}', what, one, one_file, two, two_file, via)) >> 1 AS BIGINT)"
    ))?;
    connection.execute_batch(NAMED)?;
    code::prepare(connection)?;
    for table in collected() {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|c| format!("CAST(\"{0}\" AS {1}) AS \"{0}\"", c.name, c.type_name))
            .collect();
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE lake_{} AS SELECT {} FROM ({})",
            table.name,
            columns.join(", "),
            table.sql
        ))?;
    }
    Ok(())
}

/// The name by content: rows in any order, labels, and how both are written. What it was built from
/// and what was met then make no other run.
fn run_name(
    connection: &Connection,
    program: &str,
    labels: &Labels,
    recording: &Labels,
) -> Result<RunName, LakeError> {
    let mut text = format!("{LAKE_VERSION}\n{program}\n{labels:?}\n{recording:?}\n");
    for table in collected().iter().filter(|t| !["input", "problem"].contains(&t.name)) {
        let sql = format!(
            "SELECT md5(coalesce(string_agg(row, chr(10) ORDER BY row), ''))
             FROM (SELECT CAST(t AS VARCHAR) AS row FROM lake_{} t)",
            table.name
        );
        let hash: String = connection.query_row(&sql, [], |r| r.get(0))?;
        text.push_str(&format!("{} {hash}\n", table.name));
    }
    let hash: String = connection.query_row("SELECT md5(?)", [text], |r| r.get(0))?;
    let wrong = || LakeError::Manifest { path: program.to_owned(), what: format!("hash {hash}") };
    RunName::of_hash(&hash).ok_or_else(wrong)
}

/// How the run was recorded and built, as far as figures depend on it. Where the run is there, they do not
/// depend on what is kept as rows.
fn recording(connection: &Connection) -> Result<Labels, LakeError> {
    let detail = if packed::is_packed(connection)? { "" } else { ", 'detail'" };
    let sql = format!(
        "SELECT CASE key WHEN 'addfg_version' THEN 'addfg' ELSE key END, value FROM meta
         WHERE key IN ('addfg_version', 'saves', 'through', 'allocators'{detail}) AND value IS NOT NULL
         UNION ALL SELECT 'trace', string_agg(DISTINCT format, ' ' ORDER BY format) FROM input WHERE role = 'trace' HAVING count(*) > 0"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|time| i64::try_from(time.as_millis()).ok()).unwrap_or(0)
}

fn manifest(
    connection: &Connection,
    program: String,
    run: RunName,
    labels: Labels,
) -> Result<Manifest, LakeError> {
    let sql = "SELECT coalesce(max(value) FILTER (key = 'schema_version'), ''),
                      coalesce(max(value) FILTER (key = 'addfg_version'), ''),
                      coalesce(max(value) FILTER (key = 'detail'), ''),
                      (SELECT CAST(sum(steps) AS BIGINT) FROM thread) FROM meta";
    let (schema_version, addfg_version, detail, steps) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
    let mut tables = BTreeMap::new();
    for table in collected() {
        let sql = format!("SELECT count(*) FROM lake_{}", table.name);
        tables.insert(table.name.to_owned(), connection.query_row(&sql, [], |r| r.get(0))?);
    }
    let database = String::new();
    Ok(Manifest {
        program,
        run,
        database,
        schema_version,
        addfg_version,
        detail,
        steps,
        labels,
        recording: Labels::new(),
        collected: now(),
        tables,
    })
}

/// Writes the tables that have rows.
fn write(connection: &Connection, manifest: &Manifest, stage: &Stage) -> Result<(), LakeError> {
    for name in manifest.tables.iter().filter(|(_, rows)| **rows > 0).map(|(name, _)| name) {
        let folder = stage.path().join(name);
        fs::create_dir(&folder).map_err(folder::failed(&folder))?;
        let file = folder.join(ROWS);
        let path = file.display().to_string().replace('\'', "''");
        connection.execute_batch(&format!(
            "COPY (SELECT CAST({} AS BIGINT) AS {RUN_ID}, * FROM lake_{name}) TO '{path}'
             (FORMAT parquet, COMPRESSION zstd)",
            manifest.run.id()
        ))?;
        folder::sync(&file)?;
    }
    Ok(())
}
