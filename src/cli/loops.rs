use super::database::Database;
use crate::render::rows::{RowFormat, RowWriter, number};
use crate::views::loops;
use duckdb::types::Value;
use std::process::ExitCode;

/// Lists the loops that ran, with what they carry from one iteration to a later one
///
/// Loops are those of the trace's own control-flow graph (DCFG), else found from the executed
/// control flow. A communication is carried by a loop if its write lies in an earlier iteration, of
/// the same run of the loop, than its read; what functions called in the loop write and read
/// counts. A loop that carries nothing but its counter can be split.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Leave out what is carried: the run need not be gone through byte by byte
    #[arg(long)]
    quick: bool,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let rows = loops::loops(&db, !args.quick)?;
    let names = [
        "function",
        "loop",
        "depth",
        "entries",
        "iterations",
        "steps",
        "carried_memory",
        "carried_register",
        "carried_edges",
        "irreducible",
    ];
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut report = RowWriter::new(&names, args.format, &mut out)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    for row in rows.into_iter().take(limit) {
        report.row(&[
            Value::Text(row.function),
            Value::Text(row.place),
            Value::BigInt(row.depth.into()),
            number(row.entries),
            number(row.iterations),
            number(row.steps),
            number(row.carried.map(|c| c.memory)),
            number(row.carried.map(|c| c.register)),
            number(row.carried.map(|c| c.edges as i64)),
            Value::Boolean(row.irreducible),
        ])?;
    }
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}
