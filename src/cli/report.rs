use super::database::Database;
use super::options::{self, Group};
use super::output::write_output;
use crate::load::Detail;
use crate::report::{self, Replayed};
use crate::text::file_name;
use crate::views::rows;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes an HTML page of the run: overview, graph, calls, loops, memory, source
///
/// One file that needs no network: open it in a browser. Docs: docs/report.md.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Page to write [default: the database's stem with .html, in the working directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder with source files: the page shows the text of executed lines from files in it (may be
    /// given more than once)
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Functions that are one node of the graph and one row of the matrix, and whose cuts the tables have;
    /// names as in `addfg cut`
    #[arg(long, value_name = "NAME=FUNCTION,...", value_parser = options::group)]
    group: Vec<Group>,
    /// Compare with this database, of another input, build or algorithm: the view Changes has what
    /// differs from it
    #[arg(long, value_name = "DB")]
    against: Option<PathBuf>,
    /// Go through runs of any length for what loops carry and memory over time [default: of up to 2
    /// and 20 million steps]
    #[arg(long)]
    all: bool,
    /// Maximum functions, those with the most traffic; the rest is (others)
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    for folder in &args.source {
        anyhow::ensure!(folder.is_dir(), "{}: no such folder (--source)", folder.display());
    }
    let output = match args.output {
        Some(path) => path,
        None => {
            let mut name = args.database.db.file_stem().unwrap_or("report".as_ref()).to_owned();
            name.push(".html");
            PathBuf::from(name)
        }
    };
    anyhow::ensure!(
        !crate::store::open::is_duckdb(&output),
        "{} is a database: -o names the page",
        output.display()
    );
    let against = args.against.map(|db| Database { db, trust: args.database.trust });
    let db = match &against {
        Some(other) => args.database.open_with(other)?,
        None => args.database.open()?,
    };
    rows::ensure_short(&db, Detail::Pairs)?;
    let options = report::Options {
        functions: usize::try_from(args.top)?,
        replayed: if args.all { Replayed::ALL } else { Replayed::default() },
        against: against.map(|other| file_name(&other.db.to_string_lossy()).to_owned()),
        groups: options::words(&args.group),
        sources: args.source,
        ..report::Options::default()
    };
    let page = report::page(&db, &options)?;
    write_output(Some(&output), page.as_bytes())
}
