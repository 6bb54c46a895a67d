use super::table::{self, Format};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs ad-hoc SQL (DuckDB's) on a database, read-only unless --write
#[derive(clap::Args)]
pub struct Args {
    /// Database that `addfg build` made
    db: PathBuf,
    /// The query [default: from -f, else from standard input]
    query: Option<String>,
    /// File with the query
    #[arg(short, long, conflicts_with = "query")]
    file: Option<PathBuf>,
    /// Allow changes to the database
    #[arg(long)]
    write: bool,
    #[arg(long, default_value = "table", value_parser = ["table", "csv", "json"])]
    format: String,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let sql = match (args.query, args.file) {
        (Some(query), _) => query,
        (None, Some(file)) => std::fs::read_to_string(&file).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?,
        (None, None) => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let connection = crate::store::open::open(&args.db, args.write)?;
    let format = match args.format.as_str() {
        "csv" => Format::Csv,
        "json" => Format::Json,
        _ => Format::Table,
    };
    table::query(&connection, &sql, &[], format, &mut std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
