//! A lake as a database: the runs that are asked for, under the names of its tables.

use super::error::LakeError;
use super::folder::{self, ROWS, RUNS};
use super::label::{self, Labels};
use super::manifest::Manifest;
use super::packed::{Pack, packs};
use super::tables::{OF_MANIFESTS, RUN_ID, Table, collected, views};
use crate::store::open::{Reach, confine, in_memory_at};
use duckdb::{Connection, params};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The runs of a lake that have the labels that were asked for.
pub struct Lake {
    root: PathBuf,
    /// Those that have no pack.
    loose: Vec<Manifest>,
    packs: Vec<Pack>,
    /// Of a pack only some runs were asked for.
    is_part: bool,
    /// Runs that were recorded in different ways are compared, too.
    across: bool,
}

impl Lake {
    /// Reads the lists of runs; `wanted` are labels that a run must have, `program` among them.
    pub fn open(root: &Path, wanted: &Labels) -> Result<Lake, LakeError> {
        folder::check(root)?;
        let mut packs = packs(root)?;
        let packed: HashSet<String> =
            packs.iter().flat_map(|p| p.runs.iter().map(Manifest::file_name)).collect();
        let mut loose = Vec::new();
        let runs = root.join(RUNS);
        for entry in fs::read_dir(&runs).map_err(folder::unread(&runs))? {
            let path = entry.map_err(folder::unread(&runs))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".json") && !packed.contains(&name) {
                loose.push(Manifest::from_json(&folder::json(&path)?, &path)?);
            }
        }
        loose.sort_by(|a, b| (&a.program, &a.run).cmp(&(&b.program, &b.run)));
        let has = |m: &Manifest| {
            wanted.iter().all(|(name, value)| {
                let found = if name == "program" { Some(&m.program) } else { m.labels.get(name) };
                found == Some(value)
            })
        };
        let known = known(loose.iter().chain(packs.iter().flat_map(|p| &p.runs)));
        loose.retain(has);
        let mut is_part = false;
        for pack in &mut packs {
            let all = pack.runs.len();
            pack.runs.retain(has);
            is_part |= pack.runs.len() < all;
        }
        packs.retain(|p| !p.runs.is_empty());
        let lake = Lake { root: root.to_owned(), loose, packs, is_part, across: false };
        if !wanted.is_empty() && lake.runs().next().is_none() {
            let wanted: Vec<_> = wanted.iter().map(|(n, v)| format!("{n}={v}")).collect();
            return Err(LakeError::NoRuns { wanted: wanted.join(", "), known });
        }
        Ok(lake)
    }

    /// The same, where runs that were recorded in different ways are compared, too.
    pub fn across_recordings(mut self, across: bool) -> Lake {
        self.across = across;
        self
    }

    pub fn runs(&self) -> impl Iterator<Item = &Manifest> {
        self.loose.iter().chain(self.packs.iter().flat_map(|p| &p.runs))
    }

    /// Runs that no pack has.
    pub fn loose(&self) -> impl Iterator<Item = &Manifest> {
        self.loose.iter()
    }

    pub fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// A database in memory with the tables and views that a query names, which reads no other file
    /// than the lake's.
    pub fn database(&self, query: &str) -> Result<Connection, LakeError> {
        let connection = connect(&self.root)?;
        self.fill(&connection)?;
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        let mut named: BTreeSet<&str> = query.split(word).collect();
        let asked: Vec<Table> = views().into_iter().filter(|v| named.contains(v.name)).collect();
        for view in &asked {
            named.extend(view.sql.split(word));
        }
        let tables: Vec<Table> =
            collected().into_iter().filter(|t| named.contains(t.name)).collect();
        for table in &tables {
            let source = self.source(table);
            connection.execute_batch(&format!("CREATE VIEW \"{}\" AS {source}", table.name))?;
        }
        for view in &asked {
            match view.name {
                "thing" => self.things(&connection, view)?,
                name => {
                    connection.execute_batch(&format!("CREATE VIEW {name} AS {}", view.sql))?;
                }
            }
        }
        confine(&connection, Reach::Folder(&self.root))?;
        Ok(connection)
    }

    /// `thing` as a table: that of each pack, and of the runs without one.
    fn things(&self, connection: &Connection, view: &Table) -> Result<(), LakeError> {
        let loose: Vec<&Manifest> = self.loose.iter().collect();
        connection.execute_batch("CREATE SCHEMA loose; SET schema = 'loose'")?;
        for table in collected().iter().filter(|t| view.sql.contains(&format!("FROM {}", t.name))) {
            let source = source(table, &run_files(&self.root, table, &loose), &[]);
            connection.execute_batch(&format!("CREATE VIEW \"{}\" AS {source}", table.name))?;
        }
        let mut files = Vec::new();
        for pack in &self.packs {
            let programs: BTreeSet<_> = pack.runs.iter().map(|m| m.program.as_str()).collect();
            files.extend(programs.iter().map(|program| pack.file(view.name, program)));
        }
        let columns: Vec<_> = view.columns.iter().map(|c| c.name).collect();
        let packed = if files.is_empty() {
            String::new()
        } else {
            format!(" UNION ALL SELECT {} FROM {}", columns.join(", "), read(&files))
        };
        connection.execute_batch(&format!(
            "CREATE TABLE main.{} AS SELECT * EXCLUDE (start_up), min(start_up) AS start_up FROM (SELECT * FROM ({}){packed}) GROUP BY ALL;
             SET schema = 'main'",
            view.name, view.sql
        ))?;
        Ok(())
    }

    /// `run` and `label`.
    fn fill(&self, connection: &Connection) -> Result<(), LakeError> {
        connection.execute_batch(OF_MANIFESTS)?;
        let contexts = self.contexts();
        let mut run_rows = connection.appender("run")?;
        let mut label_rows = connection.appender("label")?;
        for m in self.runs() {
            let (program, id) = (&m.program, m.run.id());
            run_rows.append_row(params![
                program,
                id,
                m.run.text(),
                m.database,
                m.schema_version,
                m.addfg_version,
                m.detail,
                m.steps,
                label::described(
                    &m.recording,
                    &m.recording.keys().map(String::as_str).collect::<Vec<_>>()
                ),
                m.collected
            ])?;
            for (name, value) in &m.labels {
                let rest = contexts.rest(m, name);
                label_rows.append_row(params![
                    program,
                    id,
                    name,
                    value,
                    label::number(value),
                    rest
                ])?;
            }
        }
        run_rows.flush()?;
        label_rows.flush()?;
        Ok(())
    }

    fn source(&self, table: &Table) -> String {
        let loose: Vec<&Manifest> = self.loose.iter().collect();
        let mut packed = Vec::new();
        for pack in &self.packs {
            let has = |m: &&Manifest| m.tables.get(table.name).is_some_and(|rows| *rows > 0);
            let programs: BTreeSet<_> =
                pack.runs.iter().filter(has).map(|m| m.program.as_str()).collect();
            packed.extend(programs.iter().map(|program| pack.file(table.name, program)));
        }
        let text = source(table, &run_files(&self.root, table, &loose), &packed);
        if self.is_part && !packed.is_empty() {
            return format!("SELECT * FROM ({text}) WHERE {RUN_ID} IN (SELECT {RUN_ID} FROM run)");
        }
        text
    }
}

/// By program, what runs are compared by.
pub struct Contexts<'a> {
    others: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a str>>>,
    differing: BTreeMap<&'a str, Vec<&'a str>>,
}

impl Contexts<'_> {
    /// What a run must have in common with another one to be compared by a label.
    pub fn rest(&self, run: &Manifest, label: &str) -> String {
        let program = run.program.as_str();
        let names = self.others.get(program).and_then(|others| others.get(label));
        let names = names.map(Vec::as_slice).unwrap_or_default();
        let differing = self.differing.get(program).map(Vec::as_slice).unwrap_or_default();
        label::context(&run.labels, names, &run.recording, differing)
    }
}

impl Lake {
    pub fn contexts(&self) -> Contexts<'_> {
        let mut by_program: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
        for run in self.runs() {
            by_program.entry(&run.program).or_default().push(run);
        }
        let mut found = Contexts { others: BTreeMap::new(), differing: BTreeMap::new() };
        for (program, runs) in by_program {
            let labels: Vec<&Labels> = runs.iter().map(|run| &run.labels).collect();
            let recordings: Vec<&Labels> = runs.iter().map(|run| &run.recording).collect();
            found.others.insert(program, label::others(&labels));
            let differing = if self.across { Vec::new() } else { label::differing(&recordings) };
            found.differing.insert(program, differing);
        }
        found
    }

    /// The labels with their values, for a message.
    pub fn known(&self) -> String {
        known(self.runs())
    }
}

/// The labels of runs with their number of values, for a message.
fn known<'a>(runs: impl Iterator<Item = &'a Manifest>) -> String {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        values.entry("program").or_default().insert(&run.program);
        for (name, value) in &run.labels {
            values.entry(name).or_default().insert(value);
        }
    }
    let one = |(name, values): (&&str, &BTreeSet<&str>)| {
        let few: Vec<_> = values.iter().take(4).copied().collect();
        format!("{name} ({}{})", few.join(", "), if values.len() > 4 { ", ..." } else { "" })
    };
    values.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A database in memory that spills into the lake's folder and reaches nothing else once confined.
pub(super) fn connect(root: &Path) -> Result<Connection, LakeError> {
    Ok(in_memory_at(&folder::spill(root))?)
}

pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "''"))
}

/// The files of a table of some runs.
pub(super) fn run_files(root: &Path, table: &Table, runs: &[&Manifest]) -> Vec<PathBuf> {
    let has = |m: &&&Manifest| m.tables.get(table.name).is_some_and(|rows| *rows > 0);
    let file = |m: &&Manifest| {
        let program = format!("program={}", m.program);
        let run = format!("run={}", m.run.text());
        root.join(table.name).join(program).join(run).join(ROWS)
    };
    runs.iter().filter(has).map(file).collect()
}

/// Files as a table with the keys of their folders.
fn read(files: &[PathBuf]) -> String {
    let list: Vec<_> = files.iter().map(|f| quoted(f)).collect();
    format!(
        "read_parquet([{}], hive_partitioning = true, hive_types = {{'program': VARCHAR}}, hive_types_autocast = false)",
        list.join(", ")
    )
}

/// A table of files of runs and of packs, without rows where there are none.
pub(super) fn source(table: &Table, runs: &[PathBuf], packs: &[PathBuf]) -> String {
    let names: Vec<_> = table.columns.iter().map(|c| format!("\"{}\"", c.name)).collect();
    let columns = format!("program, {RUN_ID}, {}", names.join(", "));
    let parts: Vec<_> = [runs, packs]
        .iter()
        .filter(|files| !files.is_empty())
        .map(|files| format!("SELECT {columns} FROM {}", read(files)))
        .collect();
    if parts.is_empty() {
        let typed: Vec<_> = table
            .columns
            .iter()
            .map(|c| format!("CAST(NULL AS {}) AS \"{}\"", c.type_name, c.name))
            .collect();
        return format!(
            "SELECT CAST(NULL AS VARCHAR) AS program, CAST(NULL AS BIGINT) AS {RUN_ID}, {} WHERE false",
            typed.join(", ")
        );
    }
    parts.join(" UNION ALL ")
}
