use super::Database;
use super::table::{self, Format};
use crate::graph::resolve_function;
use crate::views::calls;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the dynamic call graph, functions with what they cost, the tree of calls, or calls over time
///
/// Steps are executed instructions; inclusive ones count recursion once. PLT stubs and the like belong to their callers.
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    super::need(&db, if args.functions { "function_profile" } else { "call_edge" }, "calls")?;
    let limit = if args.limit == 0 { i64::MAX } else { args.limit };
    let mut text = Vec::new();
    if args.timeline {
        text = calls::timeline(&db)?.into_bytes();
    } else if args.tree {
        let rows = calls::tree(&db, args.min / 100.0, false)?;
        if args.format == Format::Table {
            text = calls::tree_text(&rows).into_bytes();
        } else {
            let names = ["depth", "function", "calls", "steps_self", "steps_total", "left_out", "left_out_steps"];
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
        table::query(&db, sql, &[&limit], args.format, &mut text)?;
    } else {
        let function = args.function.map(|f| resolve_function(&db, &f)).transpose()?.map(|f| f.function_id);
        let sql = include_str!("../../queries/report/calls.sql");
        table::query(&db, sql, &[&function, &limit], args.format, &mut text)?;
    }
    super::output(args.output.as_deref(), &text)
}
