//! The tables of a lake: each a file of `queries/lake/collect`, which says what a row is and makes
//! it from the database of a run. Rows have names and keys that all runs share, no ids of a run.

use serde_json::{Map, Value, json};

macro_rules! texts {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../queries/lake/", $folder, "/", $name, ".sql")))),+]
    };
}

const COLLECTED: &[(&str, &str)] = texts!("collect":
    "function", "call", "edge", "line", "loop", "variable", "problem", "input");
const VIEWS: &[(&str, &str)] = texts!("views": "measure", "thing");
/// Functions of a run by the names that all runs share: a table for the others to join.
pub const NAMED: &str = include_str!("../../queries/lake/collect/named.sql");

/// The column by which a run's rows are those of the run, in each collected table.
pub const RUN_ID: &str = "run_id";

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub type_name: &'static str,
    /// Meaning and unit.
    pub comment: &'static str,
}

/// A table or view with what it says of itself.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: &'static str,
    pub comment: &'static str,
    pub columns: Vec<Column>,
    pub sql: &'static str,
}

fn column(line: &'static str) -> Option<Column> {
    let (head, comment) = line.strip_prefix("-- column ")?.split_once(": ")?;
    let (name, type_name) = head.split_once(' ')?;
    Some(Column { name, type_name, comment })
}

fn table(&(name, sql): &(&'static str, &'static str)) -> Table {
    let comment = sql.lines().next().and_then(|l| l.strip_prefix("-- ")).unwrap_or_default();
    Table { name, comment, columns: sql.lines().filter_map(column).collect(), sql }
}

/// A table that is not made by a query: the runs themselves (`steps.rs`).
pub struct Told {
    pub name: &'static str,
    comment: &'static str,
    columns: &'static [Column],
}

const fn told(name: &'static str, type_name: &'static str, comment: &'static str) -> Column {
    Column { name, type_name, comment }
}

pub const RUN_PART: Told = Told {
    name: "run_part",
    comment: "A piece of a run that was collected with its steps: addfg each and addfg take put it together",
    columns: &[
        told(
            "part",
            "VARCHAR",
            "database: its DuckDB file, without the following; chunk: the packed run; other words: what run_state has of a chunk",
        ),
        told("first_seq", "BIGINT", "First step of the chunk"),
        told("piece", "INTEGER", "Place among the pieces of the part, from 0"),
        told("data", "BLOB", "The piece"),
    ],
};

impl Told {
    fn table(&self) -> Table {
        let Told { name, comment, columns } = *self;
        Table { name, comment, columns: columns.to_vec(), sql: "" }
    }
}

/// The tables that have files.
pub fn collected() -> Vec<Table> {
    COLLECTED.iter().map(table).collect()
}

/// The views over them.
pub fn views() -> Vec<Table> {
    VIEWS.iter().map(table).collect()
}

/// What `_schema.json` says: tables and columns with their types and meanings.
pub fn catalog(version: u64) -> Value {
    let describe = |table: &Table, own: bool| {
        let mut columns = Map::new();
        if own {
            let comment = "Run; with `r` before its 15 hexadecimal digits the folder's name";
            columns.insert(RUN_ID.into(), json!({"type": "BIGINT", "comment": comment}));
        }
        for column in &table.columns {
            let told = json!({"type": column.type_name, "comment": column.comment});
            columns.insert(column.name.into(), told);
        }
        json!({"comment": table.comment, "columns": columns})
    };
    let mut tables = Map::new();
    for table in collected() {
        tables.insert(table.name.into(), describe(&table, true));
    }
    tables.insert(RUN_PART.name.into(), describe(&RUN_PART.table(), true));
    let mut seen = Map::new();
    for view in views() {
        let mut told = describe(&view, false);
        told["sql"] = json!(view.sql);
        seen.insert(view.name.into(), told);
    }
    json!({"lake": version, "partitions": {"program": "VARCHAR", "run": "VARCHAR"}, "tables": tables, "views": seen})
}

/// Columns of `run` and `label`, which are made of the manifests.
pub const OF_MANIFESTS: &str = "
    CREATE TABLE run (program VARCHAR, run_id BIGINT, run VARCHAR, database VARCHAR, schema_version VARCHAR,
                      addfg_version VARCHAR, detail VARCHAR, steps BIGINT, recording VARCHAR, collected BIGINT);
    CREATE TABLE label (program VARCHAR, run_id BIGINT, label VARCHAR, value VARCHAR, number DOUBLE, rest VARCHAR);
    COMMENT ON TABLE run IS 'Runs of the lake';
    COMMENT ON TABLE label IS 'Labels of runs';
    COMMENT ON COLUMN label.number IS 'The value, where it is a number';
    COMMENT ON COLUMN label.rest IS 'The other labels of the run that do not follow from this one, repeat left out, and of how the runs were recorded what differs: runs are compared where it is the same';";
