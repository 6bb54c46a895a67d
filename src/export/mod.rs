//! The database as files of other programs: one file a format, one word in [`EXPORTS`].
//!
//! Whatever grows with the run (calls, communications, steps) is read in windows or copied by
//! DuckDB itself, which spills to disk: no export needs memory in proportion to the trace. A file
//! gets its name when it is complete.

use crate::files::{self, Kind, Output};
use crate::store::open::{is_duckdb, no_databases};
use crate::store::sqlite;
use duckdb::Connection;
use std::io::Write;
use std::path::Path;

mod callgrind;
mod calls;
mod chrome;
mod dcfg;
mod error;
mod folded;
mod graphs;
mod options;
mod pprof;
mod rows;
mod speedscope;
mod tables;

pub use error::ExportError;
pub use options::Options;
pub use tables::unprepared;

/// What happens to a file or folder that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    Refuse,
    /// Of a folder, the files of the same names.
    Replace,
}

/// Writes one file's bytes as they come.
pub type Stream = fn(&Connection, &Options, &mut dyn Write) -> Result<(), ExportError>;
/// Makes a file, or fills a folder that is there and empty.
pub type Place = fn(&Connection, &Options, &Path) -> Result<(), ExportError>;

/// How an export is made.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    Stream(Stream),
    /// A file that is not written from its begin to its end, so that it cannot go to standard
    /// output.
    File(Place),
    Folder(Place),
}

/// A format that a database is exported to.
#[derive(Debug)]
pub struct Export {
    /// The word for `--to`.
    pub name: &'static str,
    /// What it is and who reads it.
    pub about: &'static str,
    /// Name of the output where none is given; `*` is the database's stem.
    pub file: &'static str,
    pub made: Made,
}

pub static EXPORTS: &[Export] = &[
    Export {
        name: "callgrind",
        about: "calls and steps by source line, for KCachegrind, callgrind_annotate, gprof2dot",
        file: "callgrind.out.*",
        made: Made::Stream(callgrind::write),
    },
    Export {
        name: "folded",
        about: "folded stacks, a line each with its steps, for flame graph tools",
        file: "*.folded",
        made: Made::Stream(folded::write),
    },
    Export {
        name: "flamegraph",
        about: "flame graph of the calling contexts, as SVG",
        file: "*.flame.svg",
        made: Made::Stream(folded::flamegraph),
    },
    Export {
        name: "dcfg",
        about: "a folder with the dynamic control-flow graph (run.dcfg.json) and its trace (run.trace.json), for SDE's and PinPlay's tools",
        file: "*-dcfg",
        made: Made::Folder(dcfg::write),
    },
    Export {
        name: "speedscope",
        about: "calls over the run, for speedscope.app",
        file: "*.speedscope.json",
        made: Made::Stream(speedscope::write),
    },
    Export {
        name: "chrome",
        about: "calls over the run with arrows for data, for ui.perfetto.dev and chrome://tracing",
        file: "*.trace.json",
        made: Made::Stream(chrome::write),
    },
    Export {
        name: "pprof",
        about: "stacks with steps and calls, for pprof",
        file: "*.pb.gz",
        made: Made::Stream(pprof::write),
    },
    Export {
        name: "json",
        about: "the whole graph of functions as JSON (docs/graph.schema.json)",
        file: "*.json",
        made: Made::Stream(graphs::json),
    },
    Export {
        name: "graphml",
        about: "the whole graph of functions, for networkx, Gephi, yEd",
        file: "*.graphml",
        made: Made::Stream(graphs::graphml),
    },
    Export {
        name: "dot",
        about: "the whole graph of functions, for Graphviz",
        file: "*.dot",
        made: Made::Stream(graphs::dot),
    },
    Export {
        name: "sqlite",
        about: "all but the steps as a SQLite database, which addfg's commands open, too",
        file: "*.sqlite",
        made: Made::File(|connection, _, path| Ok(crate::store::sqlite::write(connection, path)?)),
    },
    Export {
        name: "parquet",
        about: "a folder with a Parquet file for each table and view",
        file: "*-parquet",
        made: Made::Folder(tables::parquet),
    },
    Export {
        name: "csv",
        about: "a folder with a CSV file for each table and view",
        file: "*-csv",
        made: Made::Folder(tables::csv),
    },
    Export {
        name: "gnuplot",
        about: "a folder with the memory profile as tables and a script that draws them",
        file: "*-gnuplot",
        made: Made::Folder(|connection, _, folder| {
            Ok(crate::views::memory::gnuplot(connection, folder)?)
        }),
    },
];

/// The export of a name.
pub fn find(name: &str) -> Option<&'static Export> {
    EXPORTS.iter().find(|e| e.name == name)
}

/// Writes an export to a file or folder. What is there is replaced only where that is wanted, and
/// only when the new one is complete; of a folder the files of the same names are replaced.
pub fn write(
    connection: &Connection,
    export: &Export,
    options: &Options,
    path: &Path,
    overwrite: Overwrite,
) -> Result<(), ExportError> {
    let name = || path.display().to_string();
    let failed = |source| ExportError::File { path: name(), source };
    if path.exists() && !path.is_file() && !path.is_dir() {
        // A pipe or a device, such as /dev/stdout: nothing to replace, only to write to.
        let file = std::fs::File::options().write(true).open(path).map_err(failed)?;
        let mut out = std::io::BufWriter::with_capacity(1 << 16, file);
        stream(connection, export, options, &mut out)?;
        return out.flush().map_err(failed);
    }
    let kind = if matches!(export.made, Made::Folder(_)) { Kind::Folder } else { Kind::File };
    // An export of its own kind is replaced, a database with what is in it is not.
    let rule: files::Rule = match (overwrite, export.name) {
        (Overwrite::Refuse, "sqlite") => |path| only_exports(path).or(files::nothing(path)),
        (Overwrite::Refuse, _) => |path| no_databases(path).or(files::nothing(path)),
        (Overwrite::Replace, "sqlite") => only_exports,
        (Overwrite::Replace, _) => no_databases,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let output = Output::begin(path, kind, rule)?;
    prepare(connection)?;
    match export.made {
        Made::Stream(make) => {
            let file = std::fs::File::create(output.part()).map_err(failed)?;
            let mut out = std::io::BufWriter::with_capacity(1 << 16, file);
            make(connection, options, &mut out)?;
            out.flush().map_err(failed)?;
        }
        Made::File(make) => make(connection, options, output.part())?,
        Made::Folder(make) => {
            std::fs::create_dir(output.part()).map_err(failed)?;
            make(connection, options, output.part())?;
        }
    }
    Ok(output.finish()?)
}

/// An export to SQLite is replaced by another.
fn only_exports(path: &Path) -> Option<&'static str> {
    let other = || is_duckdb(path) || (sqlite::is_sqlite(path) && sqlite::version(path).is_none());
    (path.is_file() && other()).then_some("is a database: -o names the export")
}

/// Writes an export to standard output, say.
pub fn stream(
    connection: &Connection,
    export: &Export,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    match export.made {
        Made::Stream(make) => {
            prepare(connection)?;
            make(connection, options, out)
        }
        Made::File(_) => Err(ExportError::NoStream {
            format: export.name,
            what: "a file that is written here and there",
        }),
        Made::Folder(_) => Err(ExportError::NoStream { format: export.name, what: "a folder" }),
    }
}

/// Memory for DuckDB; what needs more goes to disk.
fn prepare(connection: &Connection) -> duckdb::Result<()> {
    connection.execute_batch(
        "SET memory_limit = '512MB'; SET threads = 2; SET preserve_insertion_order = true;",
    )
}
