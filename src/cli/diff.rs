use super::database::Database;
use super::diff_runs::{self, Many};
use super::options::{self, Group};
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::render::Renderer;
use crate::render::rows::{RowFormat, RowWriter, number, word};
use crate::views::diff;
use crate::views::grouped::Grouped;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares two databases: two inputs, two builds, two algorithms
///
/// Functions (steps), calls and data (bytes) that were added, are gone, grew or shrank from the
/// first database to the second, matched by name (`f.part.0` and `f.isra.0` are `f`); with -o or --picture as a coloured graph.
///
/// Several runs on each side, as in `addfg diff old-*.duckdb --to new-*.duckdb`, or two values of a label of a
/// lake, as in `addfg diff lake --by commit=abc..def`: what changed beyond noise. A figure is listed where
/// all runs of one side are above all of the other one, in so many contexts that chance does as much in 5 % of the rows at
/// most (docs/reach.md). With too few runs to tell, all such figures are listed as `unknown`. Exit code: 0, 1 with --fail-on
/// where a figure grew, 2 refused.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Database to compare with; with --to, more of the first side
    #[arg(required_unless_present_any = ["to", "by"])]
    others: Vec<PathBuf>,
    /// Databases of the second side
    #[arg(long, value_name = "DB", num_args = 1.., conflicts_with = "by")]
    to: Vec<PathBuf>,
    /// Two values of a label of a lake: the two sides
    #[arg(long, value_name = "LABEL=BEFORE..AFTER", value_parser = by, conflicts_with = "others")]
    by: Option<By>,
    #[command(flatten)]
    many: Many,
    /// Functions that count as one; names as in `addfg cut`
    #[arg(long, value_name = "NAME=FUNCTION,...", value_parser = options::group, conflicts_with_all = ["to", "by"], hide_short_help = true)]
    group: Vec<Group>,
    /// List equal rows, too
    #[arg(long)]
    all: bool,
    /// Maximum rows of each kind; 0: all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    /// Maximum functions in the graph
    #[arg(long, value_name = "N", default_value_t = 24, hide_short_help = true)]
    top: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Draw a graph instead of the table [default: by the ending of -o]
    #[arg(long, value_name = "FORMAT", value_parser = options::graph_renderers(), hide_short_help = true)]
    picture: Option<&'static Renderer>,
    /// File to write the graph to
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Two values of a label.
#[derive(Clone, Debug)]
pub struct By {
    label: String,
    before: String,
    after: String,
}

/// The comparison of many runs with many.
fn run_many(args: Args) -> anyhow::Result<ExitCode> {
    let first: Vec<PathBuf> = [args.database.db].into_iter().chain(args.others).collect();
    let by = args.by.map(|by| [by.label, by.before, by.after]);
    let drawn = match args.picture.is_some() || args.output.is_some() {
        true => {
            let renderer = pictures::renderer(args.picture, args.output.as_deref())?;
            Some((renderer, args.output, args.top))
        }
        false => None,
    };
    let shown = diff_runs::Shown { limit: args.limit, format: args.format, drawn };
    diff_runs::run(first, &args.to, by, args.database.trust, &args.many, shown)
}

fn by(text: &str) -> Result<By, &'static str> {
    let wrong = "write LABEL=BEFORE..AFTER, as in commit=abc..def";
    let (label, values) = text.split_once('=').ok_or(wrong)?;
    let (before, after) = values.split_once("..").ok_or(wrong)?;
    Ok(By { label: label.to_owned(), before: before.to_owned(), after: after.to_owned() })
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.by.is_some() || !args.to.is_empty() {
        return run_many(args);
    }
    if args.many.is_given() {
        anyhow::bail!(
            "--measure, --least, --rate, --exact, --start-up, --across-recordings, --where, --fail-on and reports compare many runs: add --by or --to"
        );
    }
    let [other] = args.others.as_slice() else {
        anyhow::bail!(
            "there are more than two databases: --to stands before those of the second side"
        )
    };
    let second = Database { db: other.clone(), trust: args.database.trust };
    let db = args.database.open_with(&second)?;
    let other = crate::query::problems(&*second.open_silently()?)?;
    let groups = Grouped::read(&db, &options::words(&args.group))?;
    let list = diff::grouped(diff::differences(&db)?, &groups);
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
    )?
    .short_names();
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
