//! Tables and views as files of their own, written by DuckDB, which streams them.

use super::error::ExportError;
use super::options::Options;
use super::rows::each;
use duckdb::Connection;
use std::path::Path;

/// Views that unpack every step or access of the run: only on demand.
const LARGE: [&str; 2] = ["opcode_line", "data_access"];
/// How communications and dataflow are stored; the views `communication` and `dataflow` say the
/// same in plain columns.
const PACKED: [&str; 4] = ["communication_row", "communication_kind", "dataflow_row", "place"];

/// Tables and views to write.
fn names(connection: &Connection, options: &Options) -> Result<Vec<String>, ExportError> {
    let mut all = Vec::new();
    let sql = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary
               UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY 1";
    each::<ExportError>(connection, sql, &[], |r| {
        all.push(r.get::<_, String>(0)?);
        Ok(())
    })?;
    if options.tables.is_empty() {
        all.retain(|n| !LARGE.contains(&n.as_str()) && !PACKED.contains(&n.as_str()));
        return Ok(all);
    }
    for name in &options.tables {
        if !all.contains(name) {
            return Err(ExportError::NoTable { name: name.clone(), known: all.join(", ") });
        }
    }
    Ok(options.tables.clone())
}

fn copy(
    connection: &Connection,
    options: &Options,
    folder: &Path,
    ending: &str,
    how: &str,
) -> Result<(), ExportError> {
    for name in names(connection, options)? {
        let path = folder.join(format!("{}.{ending}", name.replace(['/', '\\'], "_")));
        let path = path.display().to_string().replace('\'', "''");
        connection.execute_batch(&format!(
            "COPY \"{}\" TO '{path}' ({how})",
            name.replace('"', "\"\"")
        ))?;
    }
    Ok(())
}

/// RFC 4180 with a header; NULL is an empty field, the empty string is `""`.
pub fn csv(connection: &Connection, options: &Options, folder: &Path) -> Result<(), ExportError> {
    copy(connection, options, folder, "csv", "FORMAT csv, HEADER true")
}

pub fn parquet(
    connection: &Connection,
    options: &Options,
    folder: &Path,
) -> Result<(), ExportError> {
    copy(connection, options, folder, "parquet", "FORMAT parquet, COMPRESSION zstd")
}
