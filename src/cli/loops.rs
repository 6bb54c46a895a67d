use super::database::Database;
use super::no_rows;
use super::say::say;
use crate::load::Detail;
use crate::render::rows::{RowFormat, RowWriter, number, word};
use crate::views::cut;
use crate::views::loops::{self, LoopRow};
use crate::views::start_up::StartUp;
use duckdb::types::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

/// Lists the loops that ran, with what they carry from one iteration to a later one
///
/// Loops are those of the trace's own control-flow graph (DCFG), else found from the executed
/// control flow. A communication is carried by a loop if its write lies in an earlier iteration, of
/// the same run of the loop, than its read; what functions called in the loop write and read
/// counts. `pattern` says what may be done with its iterations: they are independent, or but for a
/// reduction, or stages of a pipeline, or serial; `distance` of them can run at once at least;
/// `private` is storage that iterations only use again. What a branch decides is not looked at.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Leave out what is carried: the run need not be gone through byte by byte
    #[arg(long)]
    quick: bool,
    /// List what iterations do to what earlier ones did, by storage: read after write, write after
    /// read, write after write, with the least and most iterations between
    #[arg(long, conflicts_with = "quick")]
    dependences: bool,
    /// Only the loops of these: functions as in `addfg cut`
    #[arg(long, value_name = "FUNCTION,...", alias = "function")]
    functions: Vec<String>,
    /// With loops of start-up, end and the dynamic linker
    #[arg(long)]
    start_up: bool,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut db = args.database.open()?;
    let mut only = BTreeSet::new();
    if !args.functions.is_empty() {
        only = cut::choose(&db, &args.functions)?;
        if !loops::are_made(&db)? {
            db = args.database.prepared(db, Detail::Instance)?;
        }
    }
    let mut rows = loops::loops(&db, &only, !args.quick)?;
    let found = rows.len();
    if only.is_empty() && !args.start_up {
        let left_out = StartUp::read(&db)?;
        rows.retain(|row| row.function_id.is_none_or(|id| !left_out.has(id)));
        if rows.len() < found {
            left_out.left_out("--start-up").into_iter().for_each(|text| say!("addfg: {text}"));
        }
    }
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let (written, all) = if args.dependences {
        let all = rows.iter().map(|row| row.dependences.len()).sum();
        (write_dependences(&rows, limit, args.format, &mut out)?, all)
    } else {
        (write_loops(&rows, limit, args.format, &mut out)?, rows.len())
    };
    out.flush()?;
    // Loops that are left out have been told of.
    if all == 0 && rows.len() == found {
        let named: Vec<_> = only.into_iter().collect();
        let what =
            if args.dependences { "no loop that ran has any dependence" } else { "no loop ran" };
        no_rows::say_why(&db, [&named[..]].into_iter().filter(|named| !named.is_empty()), what)?;
    } else if usize::try_from(written).is_ok_and(|written| written < all) {
        say!("addfg: {written} of {all} rows; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}

const COLUMNS: [&str; 13] = [
    "function",
    "loop",
    "depth",
    "entries",
    "iterations",
    "steps",
    "carried_memory",
    "carried_register",
    "carried_edges",
    "irreducible",
    "pattern",
    "distance",
    "private",
];

fn write_loops(
    rows: &[LoopRow],
    limit: usize,
    format: RowFormat,
    out: &mut dyn Write,
) -> std::io::Result<u64> {
    let mut report = RowWriter::new(&COLUMNS, format, out)?.short_names();
    for row in rows.iter().take(limit) {
        let distance = row.finding.as_ref().and_then(|finding| finding.distance);
        let private = row.private();
        report.row(&[
            word(row.function.clone()),
            word(row.place.clone()),
            Value::BigInt(row.depth.into()),
            number(row.entries),
            number(row.iterations),
            number(row.steps),
            number(row.carried.map(|c| c.memory)),
            number(row.carried.map(|c| c.register)),
            number(row.carried.map(|c| c.edges as i64)),
            Value::Boolean(row.irreducible),
            word(row.pattern()),
            number(distance.map(|n| n as i64)),
            word((!private.is_empty()).then(|| private.join(", "))),
        ])?;
    }
    report.finish()
}

fn write_dependences(
    rows: &[LoopRow],
    limit: usize,
    format: RowFormat,
    out: &mut dyn Write,
) -> std::io::Result<u64> {
    let columns = ["function", "loop", "dependence", "storage", "least", "most", "count", "bytes"];
    let mut report = RowWriter::new(&columns, format, out)?.short_names();
    let all = rows.iter().flat_map(|row| row.dependences.iter().map(move |found| (row, found)));
    for (row, (conflict, storage, found)) in all.take(limit) {
        report.row(&[
            word(row.function.clone()),
            word(row.place.clone()),
            word(conflict.name().to_owned()),
            word(loops::name(storage)),
            Value::UBigInt(found.least as u64),
            Value::UBigInt(found.most as u64),
            Value::UBigInt(found.count),
            Value::UBigInt(found.bytes),
        ])?;
    }
    report.finish()
}
