use super::database::Database;
use super::output::write_output;
use super::say::say;
use crate::render::rows::{RowFormat, RowWriter};
use crate::replay::critical::Weight;
use crate::text::{human_bytes, human_count, percent};
use crate::views::critical;
use duckdb::types::Value;
use std::process::ExitCode;

/// Finds the longest chain of dependences through the run, and the parallelism it leaves
///
/// Each step of the chain reads what the one before wrote, through memory or registers. Steps
/// divided by its length is how many steps could run at a time if nothing but data decided. The
/// repetitions of a string instruction (`rep movs`) count as one step.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// By call instead of by function
    #[arg(long)]
    calls: bool,
    /// What the longest chain has most of
    #[arg(long, default_value = "steps")]
    weight: Weight,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let path = critical::critical(&db, args.weight)?;
    let mut text = Vec::new();
    if args.format == RowFormat::Table {
        let (steps, length) = (human_count(path.steps), path.length as i64);
        let line = match args.weight {
            Weight::Steps => format!(
                "Of {steps} steps {} are on the longest chain of dependences: at most {:.1} steps at a time.\n",
                human_count(length),
                path.steps as f64 / path.length.max(1) as f64
            ),
            Weight::Bytes => format!(
                "Of {steps} steps the chain that hands on the most bytes reads {}.\n",
                human_bytes(length)
            ),
        };
        text.extend_from_slice(line.as_bytes());
    }
    let what = if args.calls { "call" } else { "function" };
    let mut report = RowWriter::new(
        &[
            what,
            if args.weight == Weight::Bytes { "bytes_on_path" } else { "on_path" },
            "share_of_path",
            "steps",
            "share_of_steps",
        ],
        args.format,
        &mut text,
    )?
    .short_names();
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let share = |n: i64, of: i64| percent(n, of).map_or(Value::Null, Value::Text);
    let rows = if args.calls { path.calls } else { path.functions };
    let left = rows.len().saturating_sub(limit);
    // All are added up for the functions; of calls there may be millions.
    let more = args.calls && rows.len() == critical::CALLS;
    for row in rows.into_iter().take(limit) {
        let on_path = row.on_path as i64;
        report.row(&[
            Value::Text(row.name),
            Value::BigInt(on_path),
            share(on_path, path.length as i64),
            Value::BigInt(row.steps),
            share(row.steps, path.steps),
        ])?;
    }
    report.finish()?;
    if left > 0 {
        let all = if more { "more" } else { "all" };
        say!("addfg: {left} rows with less of the path are not listed; --limit 0 lists {all}");
    }
    if more {
        say!("addfg: of calls, the {} with the most of the path are known", critical::CALLS);
    }
    write_output(None, &text)
}
