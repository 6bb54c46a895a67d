use super::each::{Chosen, one_run};
use super::say::say;
use crate::files::{Kind, Output};
use crate::lake::steps;
use crate::store::open::only_databases;
use std::path::PathBuf;
use std::process::ExitCode;

/// Takes a run out of a lake: makes the database that `addfg collect --with-steps` put there
///
/// It has the sums and the packed run. Rows of calls, steps and accesses, which a database of more detail has,
/// are made of the run, by commands themselves or by `addfg rows`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Database to make
    #[arg(short, long, value_name = "DB")]
    output: PathBuf,
    /// Replace a database that is there
    #[arg(long)]
    force: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let rule = if args.force { only_databases } else { crate::files::nothing };
    let output = Output::begin(&args.output, Kind::File, rule)?;
    let run = one_run(&args.chosen)?;
    steps::take(&args.chosen.lake, &run, output.part())?;
    output.finish()?;
    say!("addfg: {}: {} {}", args.output.display(), run.program, run.run.text());
    Ok(ExitCode::SUCCESS)
}
