use super::database::Database;
use super::say::say;
use crate::render::rows::{RowFormat, RowWriter};
use crate::store::catalog::own_macros;
use crate::store::open::{Mode, Opening, Reach, Trust, open_as};
use crate::text::visible;
use crate::views::library;
use crate::views::listing::Listing;
use duckdb::types::Value;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs ad-hoc SQL (DuckDB's) on a database, read-only unless --write
///
/// Without --write and --files it changes nothing: not the database, and no other file. Queries that
/// are asked most often have names: `--list` shows them, `@NAME` runs one, with its parameters behind
/// it. The tables are described in docs/schema.md.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// The query, or @NAME of one of --list [default: from -f, else from standard input]
    query: Option<String>,
    /// Parameters of the query @NAME, as --list shows them
    parameters: Vec<String>,
    /// List the queries that have a name: by theme, with parameters and what they answer
    #[arg(long, conflicts_with_all = ["query", "parameters", "file", "write", "files"])]
    list: bool,
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
    if args.list {
        return list(args.format);
    }
    if let Some(name) = args.query.as_deref().and_then(|query| query.strip_prefix('@')) {
        anyhow::ensure!(
            !args.write && !args.files,
            "a query of the library reads only the database: leave out --write and --files"
        );
        return named(&args, name);
    }
    if let Some(word) = args.parameters.first() {
        anyhow::bail!("`{}`: only a query @NAME has parameters", visible(word));
    }
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

/// Runs a query of the library; without rows, says what that means.
fn named(args: &Args, name: &str) -> anyhow::Result<ExitCode> {
    let query = library::find(name)?;
    let db = args.database.open_silently()?;
    if args.database.trust() == Trust::Schema {
        own_macros(&db)?;
    }
    let listing = query.listing(&db, &args.parameters)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if listing.write(&db, args.format, &mut out)? == 0 {
        say!("addfg: no rows: {}", query.none);
    }
    Ok(ExitCode::SUCCESS)
}

/// The library: a line a query.
fn list(format: RowFormat) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let columns = ["theme", "query", "parameters", "detail", "answers"];
    let mut rows = RowWriter::new(&columns, format, &mut out)?;
    for query in library::all() {
        let name = format!("@{}", query.name);
        let cells = [query.theme, &name, &query.usage(), query.needs.name(), query.about];
        rows.row(&cells.map(|cell| Value::Text(cell.to_owned())))?;
    }
    rows.finish()?;
    Ok(ExitCode::SUCCESS)
}
