use super::database::Database;
use super::options;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::graph::resolve_whole;
use crate::render::Renderer;
use crate::render::rows::{RowFormat, RowWriter};
use crate::text::visible;
use crate::views::listing;
use crate::views::paths::{self, PathFunction};
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lists the paths that functions ran, or draws their control flow with them
///
/// From path tracing (docs/csi.md). Without FUNCTION: functions with the number of their paths.
/// With it: the paths that its frames had run, oldest first, and the one under way. A path ends at
/// the exit or where an edge goes back.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Name, file:name or @address
    function: Option<String>,
    /// List all paths of the function by number, with how often frames hold each
    #[arg(long, requires = "function")]
    all: bool,
    /// Only the path with this number
    #[arg(long, value_name = "N", requires = "function", conflicts_with = "all")]
    number: Option<u64>,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: u64,
    /// How to write the list
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Draw the control flow of the function, executed paths marked, in this format [default: by
    /// the ending of -o]
    #[arg(long, value_name = "FORMAT", requires = "function", value_parser = options::renderers())]
    picture: Option<&'static Renderer>,
    /// File to draw to
    #[arg(short, long, value_name = "FILE", requires = "function")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    paths::require(&db)?;
    let mut text = Vec::new();
    let Some(name) = &args.function else {
        paths::functions().write(&db, args.format, &mut text)?;
        return write_output(None, &text);
    };
    let found = resolve_whole(&db, name)?;
    let shown = visible(&found.name);
    let Some(function) = paths::function(&db, found.function_id)? else {
        anyhow::bail!(
            "{shown} was not instrumented: it has no description in .debug_PT (too many paths, or another compiler)"
        );
    };
    if args.picture.is_some() || args.output.is_some() {
        let renderer = pictures::renderer(args.picture, args.output.as_deref())?;
        let mut graph = function.graph(&found.name);
        graph.problems = crate::query::problems(&db)?;
        return pictures::draw(&graph, renderer, args.output);
    }
    if args.all || args.number.is_some() {
        return list_all(&args, &function, &shown);
    }
    let list = paths::executed(found.function_id, listing::limit(args.limit));
    let rows = list.write(&db, args.format, &mut text)?;
    if rows == 0 {
        say!("addfg: no frame of {shown} holds a path; --all lists those that it has");
    } else if rows == args.limit {
        say!("addfg: the first {rows} paths; --limit 0 lists all");
    }
    write_output(None, &text)
}

/// Lists the paths of a function by their numbers, or the one that is asked for.
fn list_all(args: &Args, function: &PathFunction, shown: &str) -> anyhow::Result<ExitCode> {
    let limit = if args.limit == 0 { u64::MAX } else { args.limit };
    let Some(numbering) = &function.numbering else {
        anyhow::bail!(
            "the numbers of {shown} do not number its paths: `addfg info` says what is wrong with them"
        );
    };
    let total = numbering.paths();
    let (first, last) = match args.number {
        Some(n) if n >= total => {
            anyhow::bail!("{shown} has no path {n}; its paths are 0 to {}", total - 1)
        }
        Some(n) => (n, n),
        None => (0, total.min(limit) - 1),
    };
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let names = ["number", "run", "begins", "blocks", "lines", "ends"];
    let mut report = RowWriter::new(&names, args.format, &mut out)?;
    for number in first..=last {
        let Some(path) = numbering.path(&function.function, number) else { continue };
        let text = function.text(&path);
        let run = function.counts.get(&number).copied().unwrap_or(0);
        let texts = [text.begins, text.blocks, text.lines, text.ends].map(Value::Text);
        report.row(&[&[Value::UBigInt(number), Value::BigInt(run)], &texts[..]].concat())?;
    }
    report.finish()?;
    if args.number.is_none() && total > limit {
        say!("addfg: the first {limit} of {total} paths; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}
