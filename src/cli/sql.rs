use crate::render::rows::RowFormat;
use crate::views::listing::Listing;
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
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let sql = match (args.query, args.file) {
        (Some(query), _) => query,
        (None, Some(file)) => std::fs::read_to_string(&file)
            .map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?,
        (None, None) => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let connection = crate::store::open::open(&args.db, args.write)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    Listing::new(&sql, []).write(&connection, args.format, &mut out)?;
    Ok(ExitCode::SUCCESS)
}
