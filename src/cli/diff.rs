use super::database::Database;
use super::options;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::render::Renderer;
use crate::render::rows::{RowFormat, RowWriter, number, word};
use crate::views::diff;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares two databases: two inputs, two builds, two algorithms
///
/// Functions (steps), calls and data (bytes) that were added, are gone, grew or shrank from the
/// first database to the second, matched by name (`f.part.0` and `f.isra.0` are `f`); with -o or --picture as a coloured graph.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Database to compare with it
    other: PathBuf,
    /// List what is the same, too
    #[arg(long)]
    all: bool,
    /// Rows of a kind at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    /// Functions in the graph at most
    #[arg(long, value_name = "N", default_value_t = 24)]
    top: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Draw a graph in this format instead of the table [default: by the ending of -o]
    #[arg(long, value_name = "FORMAT", value_parser = options::graph_renderers())]
    picture: Option<&'static Renderer>,
    /// File to write the graph to
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let second = Database { db: args.other, trust: args.database.trust };
    let db = args.database.open_with(&second)?;
    let other = crate::query::problems(&*second.open_silently()?)?;
    let list = diff::differences(&db)?;
    if args.picture.is_some() || args.output.is_some() {
        let renderer = pictures::renderer(args.picture, args.output.as_deref())?;
        let mut graph = diff::graph(&list, args.top.max(2));
        graph.problems = crate::query::problems(&db)?;
        graph.problems.extend(other.into_iter().map(|p| format!("second run: {p}")));
        return pictures::draw(&graph, renderer, args.output);
    }
    let mut text = Vec::new();
    let mut report = RowWriter::new(
        &["what", "one", "two", "via", "before", "after", "change", "percent"],
        args.format,
        &mut text,
    )?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let (mut shown, mut left) = (std::collections::BTreeMap::<String, usize>::new(), 0);
    for d in list {
        let change = d.change();
        if change == crate::graph::Change::Same && !args.all {
            continue;
        }
        let growth = d.growth();
        let count = shown.entry(d.what.clone()).or_default();
        *count += 1;
        if *count > limit {
            left += 1;
            continue;
        }
        let dash = |v: Value| {
            if args.format == RowFormat::Table && v == Value::Null {
                Value::Text(String::new())
            } else {
                v
            }
        };
        let row = [
            Value::Text(d.what),
            Value::Text(d.one),
            word(d.two),
            word(d.via),
            number(d.before),
            number(d.after),
            Value::Text(change.name().into()),
            growth.map_or(Value::Null, Value::Double),
        ];
        report.row(&row.map(dash))?;
    }
    report.finish()?;
    if left > 0 {
        say!("addfg: {left} smaller differences are not listed; --limit 0 lists all");
    }
    write_output(None, &text)
}
