//! The run itself in a lake: its database, without the rows that are made of the packed run, and the packed
//! run, as rows of pieces in one file. So every question to a database can be put to a run of a lake.

use super::error::LakeError;
use super::folder::{self, ROWS, Stage};
use super::manifest::Manifest;
use super::open::quoted;
use super::tables::{RUN_ID, RUN_PART};
use crate::load::{packed, states};
use crate::store::open::{self, Mode, Opening, Reach, Trust, open_as};
use crate::store::table::Destination;
use duckdb::params;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of the database in a row, of which DuckDB has 2,048 in memory at once.
const PIECE: usize = 1 << 14;
/// Rows that are packed and unpacked at once.
const GROUP: usize = 1 << 15;

/// The file that has the steps of a run.
pub fn file(root: &Path, run: &Manifest) -> PathBuf {
    place(root, run).join(ROWS)
}

fn place(root: &Path, run: &Manifest) -> PathBuf {
    let program = format!("program={}", run.program);
    root.join(RUN_PART.name).join(program).join(format!("run={}", run.run.text()))
}

/// Whether the steps of a run are in the lake.
pub fn are_there(root: &Path, run: &Manifest) -> bool {
    folder::is_parquet(&file(root, run))
}

/// Puts the steps of a run into the lake.
pub fn put(
    db: &Path,
    root: &Path,
    run: &Manifest,
    stage: &Stage,
    trust: Trust,
) -> Result<(), LakeError> {
    let opening = Opening { trust, reach: Reach::Folder(stage.path()), ..Opening::READ };
    let states = {
        let connection = open_as(db, opening)?;
        if !packed::is_packed(&connection)? {
            let (path, why) = (db.display().to_string(), open::why_no_steps(&connection)?);
            return Err(LakeError::NoSteps { path, why });
        }
        // So that each question goes through the chunks only that it is about.
        let found = (!states::are_made(&connection)?).then(|| states::find(&connection));
        found.transpose()?
    };
    let bytes = without_steps(db, stage, trust)?;
    let connection = open_as(db, opening)?;
    connection.execute_batch("CREATE TEMP TABLE database_piece (piece INTEGER, data BLOB)")?;
    let mut rows = connection.appender_to_catalog_and_db("database_piece", "temp", "main")?;
    for (piece, data) in (0..).zip(bytes.chunks(PIECE)) {
        let piece: i32 = piece;
        rows.append_row(params![piece, data])?;
    }
    rows.flush()?;
    drop(rows);
    if let Some(states) = states {
        connection.execute_batch("CREATE TEMP TABLE run_state AS FROM run_state LIMIT 0")?;
        states.fill(Destination::temporary(&connection))?;
    }
    let staged = stage.path().join(RUN_PART.name);
    fs::create_dir(&staged).map_err(folder::failed(&staged))?;
    let file = staged.join(ROWS);
    connection.execute_batch(&format!(
        "COPY (SELECT CAST({} AS BIGINT) AS {RUN_ID}, part, first_seq, piece, data FROM (
             SELECT 'database' AS part, CAST(0 AS BIGINT) AS first_seq, piece, data FROM database_piece
             UNION ALL SELECT part, first_seq, piece, data FROM run_state
             UNION ALL SELECT 'chunk', first_seq, piece, data FROM run_piece))
         TO {} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP})",
        run.run.id(),
        quoted(&file)
    ))?;
    folder::sync(&file)?;
    stage.place(&staged, &place(root, run))
}

/// The database without its packed run and what is made of that, as a file has it.
fn without_steps(db: &Path, stage: &Stage, trust: Trust) -> Result<Vec<u8>, LakeError> {
    let path = stage.path().join("run.duckdb");
    let connection = open::begin_copy(&path, db, trust)?;
    let sql = "SELECT table_name FROM duckdb_tables()
               WHERE database_name = current_database() AND schema_name = 'main' AND NOT temporary";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |r| r.get(0))?.collect::<duckdb::Result<Vec<String>>>()?;
    drop(statement);
    let left_out: Vec<&str> = packed::made_of_steps().chain(["run_piece", "run_state"]).collect();
    let mut sql = String::from("BEGIN;");
    for name in names.iter().filter(|name| !left_out.contains(&name.as_str())) {
        sql.push_str(&format!(
            "DELETE FROM \"{name}\"; INSERT INTO \"{name}\" FROM other.main.\"{name}\";"
        ));
    }
    sql.push_str(
        "DELETE FROM meta WHERE key IN ('pairs_in', 'range');
         UPDATE meta SET value = 'summary' WHERE key = 'detail'; COMMIT; CHECKPOINT;",
    );
    connection.execute_batch(&sql)?;
    drop(connection);
    fs::read(&path).map_err(folder::unread(&path))
}

/// Makes the database of a run at a place where nothing is.
pub fn take(root: &Path, run: &Manifest, path: &Path) -> Result<(), LakeError> {
    let from = file(root, run);
    let parquet = format!("read_parquet({})", quoted(&from));
    let folder = from.parent().unwrap_or(root);
    write_database(&parquet, folder, path)?;
    let opening = Opening { mode: Mode::Write, reach: Reach::Folder(folder), ..Opening::READ };
    let connection = open_as(path, opening)?;
    connection.execute_batch(&format!(
        "BEGIN;
         INSERT INTO run_piece SELECT first_seq, piece, data FROM {parquet} WHERE part = 'chunk';
         INSERT INTO run_state SELECT first_seq, part, piece, data FROM {parquet} WHERE part NOT IN ('chunk', 'database');
         COMMIT; CHECKPOINT;"
    ))?;
    Ok(())
}

fn write_database(parquet: &str, folder: &Path, path: &Path) -> Result<(), LakeError> {
    let spill = crate::files::private().map_err(folder::failed(path))?;
    let connection = open::in_memory_at(&spill)?;
    open::confine(&connection, Reach::Folder(folder))?;
    let mut out = fs::File::create_new(path).map_err(folder::failed(path))?;
    let sql = format!("SELECT data FROM {parquet} WHERE part = 'database' ORDER BY piece");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let data: Vec<u8> = row.get(0)?;
        out.write_all(&data).map_err(folder::failed(path))?;
    }
    Ok(())
}
