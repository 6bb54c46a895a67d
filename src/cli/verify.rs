use super::database::Database;
use crate::query;
use std::io::Write;
use std::process::ExitCode;

/// Recomputes the derived levels with SQL and compares them with what the build stored
///
/// The SQL is in queries/derive. From the low level alone it derives call instances, last writers,
/// saved registers, communications, intervals, dataflow and their sums anew. Exit code 1 if
/// anything differs.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let mut out = std::io::stdout().lock();
    if let Some(reason) = query::not_applicable(&db)? {
        writeln!(out, "not applicable: {reason}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut holds = true;
    for v in query::verify(&db)? {
        let word = if v.holds() { "equal" } else { "DIFFERENT" };
        writeln!(
            out,
            "{:20} {word:9} {} rows, {} only stored, {} only derived",
            v.table, v.equal, v.extra, v.missing
        )?;
        for example in &v.examples {
            writeln!(out, "    {}", crate::text::visible(example))?;
        }
        holds &= v.holds();
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
