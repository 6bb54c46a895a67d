use super::database::Database;
use super::options;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::id::InstructionId;
use crate::load::Detail;
use crate::render::Renderer;
use crate::render::rows::{RowFormat, RowWriter};
use crate::replay::slice::Bounds;
use crate::text::visible;
use crate::views::slice::{self, Along, Direction, Shown};
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
    /// Where to start: step number, 0xADDRESS, FILE:LINE, or global variable
    ///
    /// An address is of an instruction or of a byte. For an instruction or line it is the last execution
    /// (with --forward the first), for bytes what they hold in the end. Bytes are those of the first process,
    /// or of the one that has the variable; 2:0xADDRESS and 2:VARIABLE are of process 2. For WET traces:
    /// address or line, with #N for its instance N.
    #[arg(long, value_name = "SEQ|0xADDRESS|FILE:LINE|VARIABLE")]
    at: String,
    /// Where the value came from (the default)
    #[arg(long)]
    backward: bool,
    /// Where the value goes
    #[arg(long, conflicts_with = "backward")]
    forward: bool,
    /// Maximum communications from the start
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Follow control dependences, too
    ///
    /// These are the branches that decided whether a step ran, and through the flags what they compared.
    #[arg(long, conflicts_with = "forward")]
    control: bool,
    /// List instructions with their counts instead of steps
    #[arg(long)]
    group: bool,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 200, conflicts_with_all = ["picture", "output"])]
    limit: usize,
    #[arg(long, default_value = "table", conflicts_with_all = ["picture", "output"])]
    format: RowFormat,
    /// Draw a graph instead of the list [default: by the ending of -o]
    #[arg(long, value_name = "FORMAT", value_parser = options::graph_renderers(), hide_short_help = true)]
    picture: Option<&'static Renderer>,
    /// Maximum instructions in the graph
    #[arg(long, value_name = "N", default_value_t = 40, hide_short_help = true)]
    top: usize,
    /// File to write the graph to
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Steps of the run that a list goes through at least: a second or two.
const FAR: i64 = 1 << 22;

impl Args {
    fn direction(&self) -> Direction {
        if self.forward { Direction::Forward } else { Direction::Backward }
    }

    fn along(&self) -> Along {
        if self.control { Along::DataAndControl } else { Along::Data }
    }

    fn draws(&self) -> bool {
        self.picture.is_some() || self.output.is_some()
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    if slice::has_dependences(&db)? {
        return dependences(&db, &args);
    }
    let by_parts = args.along() == Along::Data;
    let db = if by_parts { args.database.prepared(db, Detail::Instance)? } else { db };
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    // Sums and pictures are of all.
    let far = if args.group || args.draws() { i64::MAX } else { FAR };
    let bounds = Bounds { depth: args.depth.unwrap_or(u32::MAX), limit, far };
    let found = slice::slice(&db, &args.at, args.direction(), args.along(), bounds)?;
    if args.draws() {
        let renderer = pictures::renderer(args.picture, args.output.as_deref())?;
        return pictures::draw(&found.graph(args.top.max(1)), renderer, args.output);
    }
    let mut text = Vec::new();
    let (all, what) = if args.group {
        (list_instructions(&found, limit, args.format, &mut text)?, "instructions")
    } else {
        (list_steps(&found, args.format, &mut text)?, "steps")
    };
    write_output(None, &text)?;
    for (what, names) in ["comes from", "goes to"].into_iter().zip(found.outside()) {
        if !names.is_empty() {
            let names = names.iter().map(|(name, bytes)| format!("{} ({bytes} B)", visible(name)));
            say!("addfg: {what} {}", names.collect::<Vec<_>>().join(", "));
        }
    }
    if let Some(at) = found.slice.left_at {
        say!(
            "addfg: the {limit} steps nearest to the criterion; the slice was left at step {at}: --limit 0 lists all, --group sums them by instruction"
        );
    } else if all == 0 {
        let what = if args.forward { "no step reads" } else { "no step wrote" };
        say!("addfg: no rows: {what} what {} names", visible(&args.at));
    } else if usize::try_from(all).is_ok_and(|all| all > limit) {
        say!(
            "addfg: {limit} of {all} {what} of the slice; --limit 0 lists all, --group sums them by instruction"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A slice along recorded dependences.
fn dependences(db: &duckdb::Connection, args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !args.draws() && !args.group,
        "a slice along recorded dependences is a list: leave out --picture, -o and --group"
    );
    let most = if args.limit == 0 { i64::MAX } else { i64::try_from(args.limit)? };
    let depth = args.depth.map_or(i64::MAX, i64::from);
    let list = slice::dependences(db, &args.at, args.direction(), args.along(), (depth, most))?;
    let mut text = Vec::new();
    let rows = list.write(db, args.format, &mut text)?;
    write_output(None, &text)?;
    if rows == 0 {
        say!("addfg: no rows: no dependence of what {} names was recorded", visible(&args.at));
    } else if i64::try_from(rows) == Ok(most) {
        say!("addfg: the nearest {rows} of the slice; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}

/// Function, address, text and line of an instruction.
fn place(found: &Shown, instruction: InstructionId) -> [Value; 4] {
    let (what, line) = found.text(instruction);
    let address = format!("{:#x}", found.address(instruction));
    [found.function(instruction), &address, what, line].map(|t| Value::Text(t.to_owned()))
}

/// How often instructions are in the slice; gives how many there are.
fn list_instructions(
    found: &Shown,
    limit: usize,
    format: RowFormat,
    out: &mut Vec<u8>,
) -> anyhow::Result<u64> {
    let names = ["depth", "steps", "first", "last", "function", "address", "instruction", "line"];
    let mut report = RowWriter::new(&names, format, out)?.short_names();
    let mut order: Vec<_> = found.slice.instructions.iter().collect();
    order.sort_by_key(|(i, s)| (s.depth, -s.last, **i));
    for &(&instruction, sum) in order.iter().take(limit) {
        let numbers = [
            Value::BigInt(sum.depth.into()),
            Value::UBigInt(sum.steps),
            Value::BigInt(sum.first),
            Value::BigInt(sum.last),
        ];
        report.row(&[numbers, place(found, instruction)].concat())?;
    }
    report.finish()?;
    Ok(order.len().try_into()?)
}

/// Steps with why they are in the slice; gives how many there are.
fn list_steps(found: &Shown, format: RowFormat, out: &mut Vec<u8>) -> anyhow::Result<u64> {
    let names = ["seq", "depth", "why", "function", "address", "instruction", "line"];
    let mut report = RowWriter::new(&names, format, out)?.short_names();
    for step in &found.slice.steps {
        let first = [
            Value::BigInt(step.seq),
            Value::BigInt(step.depth.into()),
            Value::Text(step.why.name().to_owned()),
        ];
        report.row(&[&first[..], &place(found, step.instruction)].concat())?;
    }
    report.finish()?;
    Ok(found.slice.count)
}
