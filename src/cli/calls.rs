use super::database::Database;
use super::no_rows;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::graph::{Stubs, resolve_whole};
use crate::id::FunctionId;
use crate::load::Detail;
use crate::render::rows::{RowFormat, RowWriter};
use crate::views::calls::{self, Clock, TreeRow};
use crate::views::listing;
use crate::views::needs::{Need, require};
use crate::views::rows;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the call graph, functions by cost, the tree of calls, or calls over time
///
/// Steps are executed instructions; inclusive ones count recursion once. PLT stubs and the like
/// belong to their callers. Where the trace has times instead of steps (XRay), ticks of its clock
/// stand for steps, and --times gives durations.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Only calls of and by this function
    #[arg(conflicts_with_all = ["tree", "functions", "timeline"])]
    function: Option<String>,
    /// The tree of calling contexts
    #[arg(long, conflicts_with_all = ["functions", "timeline"])]
    tree: bool,
    /// Functions with exclusive and inclusive steps
    #[arg(long, conflicts_with = "timeline")]
    functions: bool,
    /// A picture (SVG) of the calls over the run
    #[arg(long)]
    timeline: bool,
    /// Durations by function: count, minimum, median, 90th and 99th percentile, maximum, sum, as
    /// `llvm-xray account` has them
    #[arg(long, value_name = "UNIT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "seconds",
        conflicts_with_all = ["tree", "functions", "timeline"])]
    times: Option<Unit>,
    /// Durations by calling context instead
    #[arg(long, requires = "times", conflicts_with_all = ["tree", "functions", "timeline"])]
    by_stack: bool,
    /// In the tree: leave out contexts with a smaller share of the steps, in percent [default: 0.5]
    #[arg(long, value_name = "PERCENT", requires = "tree", alias = "min", conflicts_with_all = ["functions", "timeline", "times"])]
    least: Option<f64>,
    /// Maximum rows; 0: all [default: 100; of the tree all]
    #[arg(long, value_name = "N", conflicts_with = "timeline")]
    limit: Option<u64>,
    /// How to write rows [default: by the ending of -o, else table]
    #[arg(long, conflicts_with = "timeline")]
    format: Option<RowFormat>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Unit {
    Seconds,
    /// Of the trace's clock
    Ticks,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = args.output.as_deref();
    let format = match args.timeline {
        true => pictures::no_other_than_svg(output).map(|()| RowFormat::Table)?,
        false => pictures::rows(args.format, output)?,
    };
    let db = args.database.open()?;
    if args.timeline {
        rows::ensure(&db, Detail::Instance)?;
    }
    require(&db, if args.functions { Need::Functions } else { Need::Calls })?;
    let limit = listing::limit(args.limit.unwrap_or(100));
    let function = || -> anyhow::Result<Option<FunctionId>> {
        let found = args.function.as_ref().map(|f| resolve_whole(&db, f)).transpose()?;
        Ok(found.map(|f| f.function_id))
    };
    let mut text = Vec::new();
    let list = if let Some(wanted) = args.times {
        let clock = calls::clock(&db)?;
        if wanted == Unit::Seconds && clock == Clock::Ticks {
            say!("addfg: the trace does not say how many ticks a second has: these are ticks");
        }
        let clock = if wanted == Unit::Ticks { Clock::Ticks } else { clock };
        let by = if args.by_stack { calls::By::Stack } else { calls::By::Function };
        calls::times(by, clock, function()?, limit)
    } else if args.timeline {
        text = calls::timeline(&db)?.into_bytes();
        return write_output(args.output.as_deref(), &text);
    } else if args.tree {
        let rows = calls::tree(&db, args.least.unwrap_or(0.5) / 100.0, Stubs::Fold)?;
        let limit = usize::try_from(listing::limit(args.limit.unwrap_or(0)))?.min(rows.len());
        match format {
            RowFormat::Table => text = calls::tree_text(&rows, limit).into_bytes(),
            _ => write_tree(&rows[..limit], crate::query::unit(&db)?, format, &mut text)?,
        }
        if limit < rows.len() {
            say!("addfg: the first {limit} of {} rows", rows.len());
        }
        return write_output(args.output.as_deref(), &text);
    } else if args.functions {
        calls::functions(crate::query::unit(&db)?, limit)
    } else {
        calls::calls(crate::query::unit(&db)?, function()?, limit)
    };
    let rows = list.write(&db, format, &mut text)?;
    if rows == 0
        && let Some(function) = function()?
    {
        no_rows::say_why(&db, [&[function][..]], "nothing calls it, and it calls nothing")?;
    }
    write_output(args.output.as_deref(), &text)
}

/// The tree as rows. `unit`: what its figures count.
fn write_tree(
    rows: &[TreeRow],
    unit: &str,
    format: RowFormat,
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let names =
        ["depth", "function", "calls", "steps_self", "steps_total", "left_out", "left_out_steps"];
    let names = names.map(|name| name.replace("steps", unit));
    let mut report =
        RowWriter::new(&names.each_ref().map(String::as_str), format, out)?.short_names();
    for row in rows {
        report.row(&[
            Value::BigInt(row.depth.try_into()?),
            Value::Text(row.function.clone()),
            Value::BigInt(row.calls),
            Value::BigInt(row.steps_self),
            Value::BigInt(row.steps_total),
            Value::BigInt(row.left_out.0.try_into()?),
            Value::BigInt(row.left_out.1),
        ])?;
    }
    report.finish()?;
    Ok(())
}
