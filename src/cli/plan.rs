use super::database::Database;
use super::pictures;
use super::say::say;
use crate::load::Detail;
use crate::render::rows::RowFormat;
use crate::store::open::Trust;
use crate::views::library::ensure_traffic;
use crate::views::needs::{Need, require};
use crate::views::plan::memories::{self, MemoryCost};
use crate::views::plan::{
    self, Candidate, CostModel, Count, Parts, Plan, Run, Told, Wish, cost, exact,
};
use crate::views::{ViewError, cut, rows};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Finds functions worth moving to another core, or cuts the program into parts
///
/// Sets are a function with all that is called through it only; what others call, too, goes along
/// as a copy. A set gains the time of its steps, less that of the same steps elsewhere and of
/// sending what it reads and writes, and its calls there and back. Those that gain most together,
/// with no more than --code of the program, are to be moved. What is sent is estimated from the sums
/// of functions; --exact counts it, as `addfg cut` does.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Databases of other runs of the program: least and most of each figure
    others: Vec<PathBuf>,
    /// Bytes per second of the link, and latency of each transfer
    #[arg(long, value_name = "RATE,LATENCY", default_value = "4GB/s,100ns", value_parser = cost::link)]
    link: cost::Link,
    /// Speed of the other core, as a multiple of this one
    #[arg(long, value_name = "N", default_value = "10", value_parser = cost::speedup)]
    speedup: f64,
    /// Steps per second of this core
    #[arg(long, value_name = "FREQUENCY", default_value = "1GHz", value_parser = cost::clock)]
    clock: f64,
    /// Cycles that each access to a memory takes beyond its step: DDR=20
    ///
    /// DDR=20,5: here, and on the other core in cycles of this one [default: as here]. `addfg sql DB @memories` lists
    /// memories.
    #[arg(long, value_name = "NAME=CYCLES", value_parser = memories::cost, conflicts_with = "parts")]
    memory_cost: Vec<MemoryCost>,
    /// Maximum share of the executed instructions to move [default: 25]
    #[arg(long, value_name = "PERCENT")]
    code: Option<u8>,
    /// Ignore sets below this share of steps [default: 1]
    #[arg(long, value_name = "PERCENT", hide_short_help = true)]
    least: Option<f64>,
    /// Functions that must not move
    #[arg(long, value_name = "FUNCTION,...")]
    keep: Vec<String>,
    /// Include start-up, end and the dynamic linker
    #[arg(long, hide_short_help = true)]
    start_up: bool,
    /// Price this set: functions as in `addfg cut`
    #[arg(long, value_name = "FUNCTION,...")]
    set: Option<Vec<String>>,
    /// Count what crosses instead of estimating it: goes through the run
    #[arg(long, conflicts_with = "parts")]
    exact: bool,
    /// Cut the whole program into N parts, for N cores or memories
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=64))]
    parts: Option<u8>,
    /// Maximum steps of a part above the mean [default: 20]
    #[arg(long, value_name = "PERCENT", hide_short_help = true)]
    slack: Option<u16>,
    /// Print only this part of the answer
    #[arg(long)]
    show: Option<Told>,
    /// Maximum sets; 0: all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Maximum functions drawn; each frame keeps at least one [default: 16]
    #[arg(long, value_name = "N", hide_short_help = true)]
    top: Option<usize>,
    /// Formats other than table print one part: by default sets, or parts with --parts
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Draw the plan into this file, in the format of its ending
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The sums of a run, or what it lacks.
fn read(db: &duckdb::Connection, costs: &[MemoryCost]) -> Result<Run, ViewError> {
    require(db, Need::Functions)?;
    require(db, Need::Dataflow)?;
    let mut run = Run::read(db)?;
    if !costs.is_empty() {
        ensure_traffic(db)?;
        run.price(db, costs)?;
    }
    Ok(run)
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let opened = |database: &Database| -> anyhow::Result<_> {
        let db = database.open()?;
        if args.exact { database.prepared(db, Detail::Pairs) } else { Ok(db) }
    };
    let loops = args.show == Some(Told::Loops);
    anyhow::ensure!(
        !loops || args.memory_cost.is_empty(),
        "--memory-cost prices functions: leave out --show loops"
    );
    anyhow::ensure!(
        !loops || !args.exact,
        "--exact counts what sets send: leave it or --show loops out"
    );
    let unused = |given: bool, option: &str, with: &str| {
        anyhow::ensure!(!given, "{option} changes nothing about {with}: leave one of them out");
        Ok(())
    };
    if args.parts.is_some() || loops {
        let with = if loops { "--show loops" } else { "--parts" };
        unused(args.set.is_some(), "--set", with)?;
        unused(!args.keep.is_empty(), "--keep", with)?;
        unused(args.code.is_some(), "--code", with)?;
        unused(args.least.is_some(), "--least", with)?;
        unused(!args.others.is_empty(), "another database", with)?;
    }
    unused(loops && args.output.is_some(), "-o", "--show loops, which is a table")?;
    unused(args.parts.is_some() && args.show == Some(Told::Sets), "--show sets", "--parts")?;
    unused(args.parts.is_some() && loops, "--show loops", "--parts")?;
    unused(args.parts.is_none() && args.slack.is_some(), "--slack", "a plan without --parts")?;
    unused(args.output.is_none() && args.top.is_some(), "--top", "a plan without -o")?;
    let db = opened(&args.database)?;
    if loops {
        rows::ensure(&db, Detail::Instance)?;
    }
    let run = read(&db, &args.memory_cost)?;
    let set = |words: &[String]| match words {
        [] => Ok(BTreeSet::new()),
        words => cut::choose(&db, words),
    };
    let wish = Wish {
        model: CostModel { link: args.link, speedup: args.speedup, clock: args.clock },
        code: f64::from(args.code.unwrap_or(25)) / 100.0,
        least: args.least.unwrap_or(1.0).max(0.0) / 100.0,
        kept: set(&args.keep)?,
        start_up: args.start_up,
        named: args.set.as_deref().map_or(Ok(BTreeSet::new()), |words| cut::choose(&db, words))?,
    };
    anyhow::ensure!(
        wish.kept.is_disjoint(&wish.named),
        "a function of --set is one of --keep, too: it cannot be moved and stay"
    );
    let model = wish.model;
    let counts = |run: &Run, sets: &mut [Candidate]| exact::count(&db, run, sets, &model);
    let mut plan = plan::plan(run, wish, args.exact.then_some(&counts as Count))?;
    for other in &args.others {
        let trust: Trust = args.database.trust();
        let other = Database { db: other.clone(), trust: trust == Trust::Anything };
        let db = opened(&other)?;
        let counts = |run: &Run, sets: &mut [Candidate]| exact::count(&db, run, sets, &model);
        plan.compare(&read(&db, &args.memory_cost)?, args.exact.then_some(&counts as Count))?;
    }
    let mut parts = None;
    if let Some(number) = args.parts {
        let run = read(&db, &args.memory_cost)?.folded(&db, &model)?;
        let cut = plan.parts(&run, number.into(), f64::from(args.slack.unwrap_or(20)) / 100.0);
        parts = Some((run, cut));
    }
    match args.output {
        Some(_) => draw(&plan, parts.as_ref(), &args, &db),
        None => tell(&plan, parts.as_ref(), &args, &db),
    }
}

fn draw(
    plan: &Plan,
    parts: Option<&(Run, Parts)>,
    args: &Args,
    db: &duckdb::Connection,
) -> anyhow::Result<ExitCode> {
    let renderer = pictures::renderer(None, args.output.as_deref())?;
    let top = args.top.unwrap_or(16);
    let mut graph = match parts {
        None => plan.picture(top),
        Some((run, parts)) => plan.picture_of_parts(run, parts, top),
    };
    graph.problems = crate::query::problems(db)?;
    pictures::draw(&graph, renderer, args.output.clone())
}

fn tell(
    plan: &Plan,
    parts: Option<&(Run, Parts)>,
    args: &Args,
    db: &duckdb::Connection,
) -> anyhow::Result<ExitCode> {
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let told = match (args.show, args.format, parts) {
        (Some(told), ..) => vec![told],
        (None, RowFormat::Table, Some(_)) => vec![Told::Parts, Told::Between],
        (None, _, Some(_)) => vec![Told::Parts],
        (None, _, None) => vec![Told::Sets],
    };
    let missing = || anyhow::anyhow!("into how many parts? --parts N says");
    for (i, told) in told.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match told {
            Told::Sets => {
                if args.format == RowFormat::Table {
                    writeln!(out, "{}\n", plan.headline())?;
                }
                plan.write(limit, args.format, &mut out)?;
                plan.notes.iter().for_each(|note| say!("addfg: {note}"));
            }
            Told::Loops => {
                let model = plan.model();
                let mut loops = plan::loops::loops(db, &model)?;
                if !args.start_up {
                    let left_out = &plan.run.start_up;
                    loops.retain(|l| l.function_id.is_none_or(|id| !left_out.has(id)));
                    left_out
                        .left_out("--start-up")
                        .into_iter()
                        .for_each(|text| say!("addfg: {text}"));
                }
                let run = (plan.run.steps, &model);
                plan::loops::write(&loops, run, limit, args.format, &mut out)?;
            }
            Told::Parts => {
                let (run, parts) = parts.ok_or_else(missing)?;
                if args.format == RowFormat::Table {
                    writeln!(out, "{}\n", parts.headline(run, &plan.model()))?;
                }
                parts.write(run, args.format, &mut out)?;
                parts.copies(run).into_iter().for_each(|text| say!("addfg: {text}"));
                if !args.start_up {
                    let left_out = plan.run.start_up.left_out("--start-up");
                    left_out.into_iter().for_each(|text| say!("addfg: {text}"));
                }
            }
            Told::Between => {
                parts.ok_or_else(missing)?.1.write_between(args.format, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
