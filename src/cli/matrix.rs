use super::Database;
use super::table::{self, Format};
use crate::views::matrix;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the communication matrix: bytes from each function (row) to each (column)
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Functions at most, those with the most traffic; the rest is (others)
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
    /// File to write; FILE.svg becomes a heat map [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    super::need(&db, "function_edge", "dataflow")?;
    let found = matrix::matrix(&db, args.top.max(1))?;
    let picture = args
        .output
        .as_ref()
        .is_some_and(|o| o.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")));
    if picture {
        return super::output(args.output.as_deref(), found.heat_map().as_bytes());
    }
    let mut text = Vec::new();
    let mut names = vec!["writer"];
    names.extend(found.names.iter().map(String::as_str));
    let mut report = table::Report::new(&names, args.format, &mut text)?;
    for (name, row) in found.names.iter().zip(&found.bytes) {
        let mut values = vec![Value::Text(name.clone())];
        values.extend(row.iter().map(|&n| if n == 0 { Value::Null } else { Value::BigInt(n) }));
        if args.format == Format::Table {
            // Nothing is nothing to see.
            values
                .iter_mut()
                .filter(|v| **v == Value::Null)
                .for_each(|v| *v = Value::Text(String::new()));
        } else {
            values.iter_mut().filter(|v| **v == Value::Null).for_each(|v| *v = Value::BigInt(0));
        }
        report.row(&values)?;
    }
    report.finish()?;
    super::output(args.output.as_deref(), &text)
}
