use super::Database;
use super::table::{Format, query};
use crate::graph::resolve_function;
use std::process::ExitCode;

/// Lists every communication from one function to another
///
/// By default summed by pair of instructions; --each gives every single one with its steps, its variable and its address (needs a
/// database of detail pairs or full).
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Writing function: name, file:name or @address
    from: String,
    /// Reading function
    to: String,
    /// One row a communication instead of sums
    #[arg(long)]
    each: bool,
    /// Rows of --each at most
    #[arg(long, default_value_t = 1000)]
    limit: i64,
    #[arg(long, default_value = "table", value_parser = ["table", "csv", "json"])]
    format: String,
}

const FLOWS: &str = include_str!("../../queries/report/flows.sql");
const EACH: &str = include_str!("../../queries/report/flows_each.sql");

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let from = resolve_function(&db, &args.from)?;
    let to = resolve_function(&db, &args.to)?;
    let format = match args.format.as_str() {
        "csv" => Format::Csv,
        "json" => Format::Json,
        _ => Format::Table,
    };
    let mut out = std::io::stdout().lock();
    if args.each {
        let detail: String = db.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
        anyhow::ensure!(
            matches!(detail.as_str(), "pairs" | "full"),
            "this database keeps no single communications (detail {detail}): build it with --detail pairs"
        );
        query(&db, EACH, &[&from, &to, &args.limit], format, &mut out)?;
    } else {
        query(&db, FLOWS, &[&from, &to], format, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
