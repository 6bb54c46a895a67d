use super::Database;
use super::table::{self, Format};
use crate::graph::resolve_function;
use std::process::ExitCode;

/// Lists and compares the calls of a function
///
/// Each with its caller, its steps, what it read from other calls and handed to them, and from how
/// many of the functions that its function has dataflow with at all. `like` is the first call that
/// exchanged the same bytes with the same functions. `graph --focus FUNCTION#N` draws one call
/// against all.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Name, file:name or @address
    function: String,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(i64).range(0..))]
    limit: i64,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let found = resolve_function(&db, &args.function)?;
    let unit = crate::query::unit(&db)?;
    crate::graph::prepare_merged(&db, true)?;
    let limit = if args.limit == 0 { i64::MAX } else { args.limit };
    let sql = include_str!("../../queries/report/instances.sql");
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let rows =
        table::query_in(&db, unit, sql, &[&found.function_id, &limit], args.format, &mut out)?;
    if rows as i64 == limit {
        eprintln!("addfg: the first {rows} calls; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}
