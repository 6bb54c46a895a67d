//! Whether what a database defines is what `schema/` defines. A database is data; its views are
//! programs, and those of a stranger are not run.

use super::EMPTY;
use crate::text::visible;
use duckdb::Connection;
use std::collections::BTreeMap;

/// The tables and views of `schema/`, a line each: kind, name, and the statement as DuckDB prints
/// it. `tests/it/schema.rs` compares and writes it.
const CATALOG: &str = include_str!("catalog.txt");

/// All in a database that may run something when it is read, but for macros: to list those takes
/// DuckDB longer than to open the file, and where no file can be reached they can do no more than
/// the rows can, which is to be wrong. A macro of the file goes before a function of DuckDB that
/// has its name, and operators are functions: functions are called by their full names here, and
/// nothing is computed.
const DEFINED: &str = "
    SELECT 'table', schema_name, table_name, sql
    FROM system.main.duckdb_tables() WHERE NOT internal AND NOT temporary AND database_name = $1
    UNION ALL SELECT 'view', schema_name, view_name, sql
    FROM system.main.duckdb_views() WHERE NOT internal AND NOT temporary AND database_name = $1
    UNION ALL SELECT 'index', 'main', index_name, sql
    FROM system.main.duckdb_indexes() WHERE database_name = $1
    UNION ALL SELECT 'sequence', 'main', sequence_name, sql
    FROM system.main.duckdb_sequences() WHERE database_name = $1
    UNION ALL SELECT 'type', 'main', type_name, logical_type
    FROM system.main.duckdb_types() WHERE NOT internal AND database_name = $1";

type Defined = BTreeMap<String, String>;

fn defined(connection: &Connection, database: &str) -> duckdb::Result<Defined> {
    let mut statement = connection.prepare(DEFINED)?;
    let text = |r: &duckdb::Row, column| {
        Ok::<_, duckdb::Error>(r.get::<_, Option<String>>(column)?.unwrap_or_default())
    };
    let rows = statement.query_map([database], |r| {
        let (kind, schema, name) = (text(r, 0)?, text(r, 1)?, text(r, 2)?);
        let sql = text(r, 3)?.trim().replace('\n', "\\n");
        Ok(match schema.as_str() {
            "main" => (format!("{kind} {name}"), sql),
            _ => (format!("{kind} {schema}.{name}"), sql),
        })
    })?;
    rows.collect()
}

/// What a database defines, a line each, sorted: the contents of `catalog.txt`.
pub fn lines(connection: &Connection, database: &str) -> duckdb::Result<String> {
    let defined = defined(connection, database)?;
    Ok(defined.iter().map(|(name, sql)| format!("{name}\t{sql}\n")).collect())
}

/// The first thing that a database of the connection defines otherwise than addfg, and how many
/// more there are; None if it defines the same.
pub fn difference(connection: &Connection, database: &str) -> duckdb::Result<Option<String>> {
    let found = defined(connection, database)?;
    let same = |line: &str| {
        line.split_once('\t').is_some_and(|(name, sql)| found.get(name).is_some_and(|f| f == sql))
    };
    if found.len() == CATALOG.lines().count() && CATALOG.lines().all(same) {
        return Ok(None);
    }
    // Another DuckDB may print the same in other words.
    let all = differences(&empty()?, &found);
    Ok(all.first().map(|first| match all.len() - 1 {
        0 => first.clone(),
        more => format!("{first} (and {more} more)"),
    }))
}

/// What this DuckDB says of an empty database.
fn empty() -> duckdb::Result<Defined> {
    let failed = |e: std::io::Error| duckdb::Error::ToSqlConversionFailure(Box::new(e));
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    let bytes = zstd::decode_all(EMPTY).map_err(failed)?;
    std::io::Write::write_all(&mut file, &bytes).map_err(failed)?;
    let path = file.path().display().to_string().replace('\'', "''");
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!("ATTACH '{path}' AS empty (READ_ONLY)"))?;
    defined(&connection, "empty")
}

/// Puts the macros of `schema/` before those of the file, which may say something else. Only those
/// who write queries use macros. An export to SQLite, which has none, has them not here either.
pub fn own_macros(connection: &Connection) -> duckdb::Result<()> {
    let low = include_str!("../../schema/1_low.sql");
    let has_runs = "SELECT 1 FROM system.main.duckdb_tables() WHERE table_name = 'block_run'";
    if !connection.prepare(has_runs)?.exists([])? {
        return Ok(());
    }
    for macros in low.split_inclusive(";\n").filter_map(|s| Some(&s[s.find("CREATE MACRO ")?..])) {
        connection.execute_batch(&macros.replacen(
            "CREATE MACRO",
            "CREATE OR REPLACE TEMP MACRO",
            1,
        ))?;
    }
    Ok(())
}

/// Whether what is defined is a table that holds what was put into it: people may have their own.
fn only_rows(name: &str, sql: &str) -> bool {
    name.starts_with("table ") && !sql.contains("GENERATED ALWAYS")
}

fn differences(ours: &Defined, found: &Defined) -> Vec<String> {
    let changed = ours.iter().filter_map(|(name, sql)| match found.get(name) {
        None => Some(format!("it has no {name}")),
        Some(other) if other != sql => Some(format!("its {name} is another one")),
        Some(_) => None,
    });
    let added =
        found.iter().filter(|(name, sql)| !ours.contains_key(*name) && !only_rows(name, sql));
    let added = added.map(|(name, _)| format!("addfg makes no {}", visible(name)));
    changed.chain(added).collect()
}
