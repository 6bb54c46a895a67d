use super::database::Database;
use super::options::{self, Group};
use super::output::write_output;
use super::pictures;
use crate::render::rows::{RowFormat, RowWriter};
use crate::views::grouped::Grouped;
use crate::views::matrix;
use crate::views::needs::{Need, require};
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the communication matrix: bytes from each function (row) to each (column)
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Maximum functions, those with the most traffic; the rest is (others); 0: all
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    /// Functions that are one row and column; names as in `addfg cut`
    #[arg(long, value_name = "NAME=FUNCTION,...", value_parser = options::group)]
    group: Vec<Group>,
    /// How to write rows [default: by the ending of -o, else table]
    #[arg(long)]
    format: Option<RowFormat>,
    /// File to write; FILE.svg becomes a heat map [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    require(&db, Need::Dataflow)?;
    let top = if args.top == 0 { usize::MAX } else { args.top };
    let found = matrix::matrix(&db, top, &Grouped::read(&db, &options::words(&args.group))?)?;
    if pictures::is_svg(args.output.as_deref()) {
        return write_output(args.output.as_deref(), found.heat_map().as_bytes());
    }
    let format = pictures::rows(args.format, args.output.as_deref())?;
    let mut text = Vec::new();
    let mut names = vec!["writer"];
    names.extend(found.names.iter().map(String::as_str));
    let mut report = RowWriter::new(&names, format, &mut text)?;
    for (name, row) in found.names.iter().zip(&found.bytes) {
        let mut values = vec![Value::Text(name.clone())];
        values.extend(row.iter().map(|&n| match format {
            // Nothing is nothing to see.
            RowFormat::Table if n == 0 => Value::Text(String::new()),
            _ => Value::BigInt(n),
        }));
        report.row(&values)?;
    }
    report.finish()?;
    write_output(args.output.as_deref(), &text)
}
