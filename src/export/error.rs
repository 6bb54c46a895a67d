//! Why there is no export.

use crate::graph::GraphError;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    View(#[from] crate::views::ViewError),
    #[error(transparent)]
    Sqlite(#[from] crate::store::sqlite::SqliteError),
    #[error("cannot write the export")]
    Io(#[from] std::io::Error),
    #[error("cannot write {path}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Made(#[from] crate::files::FileError),
    #[error("{format} makes {what}: name one with -o instead of -")]
    NoStream { format: &'static str, what: &'static str },
    #[error("{processes} processes: a graph without its program is written of one; give --elf")]
    Processes { processes: i64 },
    #[error("{name} cannot be exported: {why}")]
    Missing { name: String, why: duckdb::Error },
    #[error("there is no table or view `{name}`; there are {known}")]
    NoTable { name: String, known: String },
    #[error(
        "calls of this database have neither steps nor a clock: there is nothing to export as {format}"
    )]
    NoCost { format: &'static str },
}
