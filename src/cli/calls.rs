use super::Database;
use super::table::{self, Format};
use crate::graph::resolve_function;
use crate::views::calls;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the dynamic call graph, functions with what they cost, the tree of calls, or calls over
/// time
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
    #[arg(long, requires = "times")]
    by_stack: bool,
    /// In the tree: leave out contexts with a smaller share of the steps, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5, requires = "tree")]
    min: f64,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(i64).range(0..))]
    limit: i64,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
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

/// Durations by function or by calling context.
fn times(
    db: &duckdb::Connection,
    args: &Args,
    unit: Unit,
    limit: i64,
    text: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let sql = "SELECT EXISTS (FROM function_time), EXISTS (FROM meta WHERE key = 'cycle_frequency' AND value IS NOT NULL)";
    let (timed, frequency): (bool, bool) = db.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    anyhow::ensure!(
        timed,
        "this trace has no times of calls: record one with clang's XRay (`addfg formats xray`), or leave out --times for steps"
    );
    let seconds = unit == Unit::Seconds && frequency;
    if unit == Unit::Seconds && !frequency {
        eprintln!("addfg: the trace does not say how many ticks a second has: these are ticks");
    }
    let function =
        args.function.as_ref().map(|f| resolve_function(db, f)).transpose()?.map(|f| f.function_id);
    let sql = if args.by_stack {
        include_str!("../../queries/report/stack_times.sql")
    } else {
        include_str!("../../queries/report/call_times.sql")
    };
    table::query(db, sql, &[&seconds, &function, &limit], args.format, text)?;
    Ok(())
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    super::need(&db, if args.functions { "function_profile" } else { "call_edge" }, "calls")?;
    let limit = if args.limit == 0 { i64::MAX } else { args.limit };
    let mut text = Vec::new();
    if let Some(unit) = args.times {
        times(&db, &args, unit, limit, &mut text)?;
        return super::output(args.output.as_deref(), &text);
    }
    let unit = crate::query::unit(&db)?;
    if args.timeline {
        text = calls::timeline(&db)?.into_bytes();
    } else if args.tree {
        let rows = calls::tree(&db, args.min / 100.0, false)?;
        if args.format == Format::Table {
            text = calls::tree_text(&rows).into_bytes();
        } else {
            let names = [
                "depth",
                "function",
                "calls",
                "steps_self",
                "steps_total",
                "left_out",
                "left_out_steps",
            ];
            let names = names.map(|name| name.replace("steps", unit));
            let names = names.each_ref().map(String::as_str);
            let mut report = table::Report::new(&names, args.format, &mut text)?;
            for row in rows {
                let number = |n: i64| Value::BigInt(n);
                report.row(&[
                    number(row.depth as i64),
                    Value::Text(row.function),
                    number(row.calls),
                    number(row.steps_self),
                    number(row.steps_total),
                    number(row.left_out.0 as i64),
                    number(row.left_out.1),
                ])?;
            }
            report.finish()?;
        }
    } else if args.functions {
        let sql = include_str!("../../queries/report/call_functions.sql");
        table::query_in(&db, unit, sql, &[&limit], args.format, &mut text)?;
    } else {
        let function =
            args.function.map(|f| resolve_function(&db, &f)).transpose()?.map(|f| f.function_id);
        let sql = include_str!("../../queries/report/calls.sql");
        table::query_in(&db, unit, sql, &[&function, &limit], args.format, &mut text)?;
    }
    super::output(args.output.as_deref(), &text)
}
