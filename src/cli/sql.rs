use super::database::Database;
use crate::render::rows::RowFormat;
use crate::store::catalog::own_macros;
use crate::store::open::{Mode, Opening, Reach, Trust, open_as};
use crate::views::listing::Listing;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs ad-hoc SQL (DuckDB's) on a database, read-only unless --write
///
/// Without --write and --files it changes nothing: not the database, and no other file.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// The query [default: from -f, else from standard input]
    query: Option<String>,
    /// File with the query
    #[arg(short, long, conflicts_with = "query")]
    file: Option<PathBuf>,
    /// Allow changes to the database
    #[arg(long)]
    write: bool,
    /// Let the query read and write other files (COPY, ATTACH, read_csv, ...)
    #[arg(long)]
    files: bool,
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
    let blank = |c: char| c == ';' || c.is_whitespace();
    anyhow::ensure!(
        !sql.chars().all(blank),
        "there is no query: give one, a file with -f, or a pipe"
    );
    let opening = Opening {
        mode: if args.write { Mode::Write } else { Mode::Read },
        trust: args.database.trust(),
        reach: if args.files { Reach::Everything } else { Reach::Nothing },
    };
    let connection = open_as(&args.database.db, opening)?;
    if opening.trust == Trust::Schema {
        own_macros(&connection)?;
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    Listing::new(&sql, []).write(&connection, args.format, &mut out)?;
    Ok(ExitCode::SUCCESS)
}
