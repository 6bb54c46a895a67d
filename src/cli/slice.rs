use super::Database;
use super::table::{self, Format};
use crate::render;
use crate::replay::slice::Bounds;
use crate::views::slice;
use clap::builder::PossibleValuesParser;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Finds where a value came from, or where it goes
///
/// From a step, an instruction, a source line or bytes of memory along every write and read through
/// memory and registers. Registers that functions save and restore keep their producer. The list
/// has the steps nearest to the criterion first.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Step number; 0xADDRESS of an instruction or of a byte; FILE:LINE; a global variable. Of an
    /// instruction or line the last execution (with --forward the first), of bytes what they hold
    /// in the end. Of a trace of dependences an address or line, with
    /// #N for its instance N
    #[arg(long, value_name = "SEQ|0xADDRESS|FILE:LINE|VARIABLE")]
    at: String,
    /// Where the value came from (the default)
    #[arg(long)]
    backward: bool,
    /// Where the value goes
    #[arg(long, conflicts_with = "backward")]
    forward: bool,
    /// Communications from the criterion at most
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Along control dependences, too: what decided that a step ran, and through the flags what
    /// that compared
    #[arg(long, conflicts_with = "forward")]
    control: bool,
    /// List instructions with how often they are in the slice, instead of steps
    #[arg(long)]
    group: bool,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
    /// Draw a graph in this format instead of the list [default: by the ending of -o]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(render::of_graphs()))]
    picture: Option<String>,
    /// Instructions in the graph at most
    #[arg(long, value_name = "N", default_value_t = 40)]
    top: usize,
    /// File to write the graph to
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    if slice::has_dependences(&db)? {
        anyhow::ensure!(
            args.picture.is_none() && args.output.is_none() && !args.group,
            "a slice along recorded dependences is a list: leave out --picture, -o and --group"
        );
        slice::dependences(&db, &args.at, !args.forward, args.control)?;
        let depth = args.depth.map_or(i64::MAX, i64::from);
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut text = Vec::new();
        let rows = table::query(&db, slice::DEPENDENCES, &[&depth, &most], args.format, &mut text)?;
        super::output(None, &text)?;
        if rows as i64 == most {
            eprintln!("addfg: the nearest {rows} of the slice; --limit 0 lists all");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let bounds = Bounds { depth: args.depth.unwrap_or(u32::MAX), limit };
    let found = slice::slice(&db, &args.at, !args.forward, args.control, bounds)?;
    if args.picture.is_some() || args.output.is_some() {
        let renderer = super::graph::renderer(args.picture.as_deref(), args.output.as_deref())?;
        return super::graph::draw(&found.graph(args.top.max(1)), renderer, args.output);
    }
    let mut text = Vec::new();
    let place = |instruction: i32| {
        let (what, line) = found.text(instruction);
        [
            Value::Text(found.function(instruction).to_owned()),
            Value::Text(format!("{:#x}", found.address(instruction))),
            Value::Text(what.to_owned()),
            Value::Text(line.to_owned()),
        ]
    };
    let all = if args.group {
        let names =
            ["depth", "steps", "first", "last", "function", "address", "instruction", "line"];
        let mut report = table::Report::new(&names, args.format, &mut text)?;
        let mut order: Vec<_> = found.slice.instructions.iter().collect();
        order.sort_by_key(|(i, s)| (s.depth, -s.last, **i));
        for &(&instruction, sum) in order.iter().take(limit) {
            let numbers =
                [i64::from(sum.depth), sum.steps as i64, sum.first, sum.last].map(Value::BigInt);
            report.row(&[&numbers[..], &place(instruction)].concat())?;
        }
        report.finish()?;
        order.len() as u64
    } else {
        let names = ["seq", "depth", "why", "function", "address", "instruction", "line"];
        let mut report = table::Report::new(&names, args.format, &mut text)?;
        for step in &found.slice.steps {
            let first = [
                Value::BigInt(step.seq),
                Value::BigInt(step.depth.into()),
                Value::Text(step.why.name().to_owned()),
            ];
            report.row(&[&first[..], &place(step.instruction)].concat())?;
        }
        report.finish()?;
        found.slice.count
    };
    super::output(None, &text)?;
    if all > limit as u64 {
        let what = if args.group { "instructions" } else { "steps" };
        eprintln!(
            "addfg: {limit} of {all} {what} of the slice; --limit 0 lists all, --group sums them by instruction"
        );
    }
    Ok(ExitCode::SUCCESS)
}
