use super::options::label;
use super::say::say;
use crate::lake::collect::{self, Collected, Options};
use crate::lake::{Label, pack};
use crate::store::open::{Trust, explained};
use std::path::PathBuf;
use std::process::ExitCode;

/// Collects runs in a lake: a folder of Parquet files, for questions across runs
///
/// What is collected is the high level: functions, calls, data flow, lines, loops, variables, problems,
/// by names that all builds share. A run is in the lake whole or not at all, and once: collecting it
/// again with the same labels changes nothing. `addfg trend`, `diff`, `check` and `sql` ask the lake,
/// and so do DuckDB and Spark (docs/reach.md).
#[derive(clap::Args)]
pub struct Args {
    /// Databases that `addfg build` or `addfg record` made
    #[arg(required_unless_present = "compact")]
    databases: Vec<PathBuf>,
    /// Folder of the lake; made where there is none
    #[arg(short, long, value_name = "LAKE", required_unless_present = "compact")]
    output: Option<PathBuf>,
    /// What to know these runs by: the input, its size, the commit. Runs are compared where their other
    /// labels are the same; `repeat` tells repetitions apart
    #[arg(long = "label", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    labels: Vec<Label>,
    /// Name of the program [default: that of its ELF file]
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Collect the runs themselves, too: `addfg each` asks them, and `addfg take` gives their databases back
    #[arg(long)]
    with_steps: bool,
    /// Pack the runs of a lake into few files, so that questions over thousands of runs are quick; the
    /// files of the runs stay
    #[arg(long, value_name = "LAKE", conflicts_with_all = ["databases", "output", "labels", "program", "with_steps"])]
    compact: Option<PathBuf>,
    /// Go on where a database defines views that addfg did not make
    #[arg(long)]
    trust: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(lake) = args.compact {
        let packed = pack::pack(&lake)?;
        if !args.quiet {
            say!(
                "addfg: packed {} runs; {} packs in {}",
                packed.runs,
                packed.packs,
                lake.display()
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(lake) = args.output else { anyhow::bail!("-o names the folder of the lake") };
    let trust = if args.trust { Trust::Anything } else { Trust::Schema };
    let options =
        Options { labels: args.labels, program: args.program, trust, steps: args.with_steps };
    // Wrong labels and names are said before anything is made.
    options.check()?;
    collect::begin(&lake)?;
    let (mut good, mut bad) = (0, 0);
    for db in &args.databases {
        match collect::collect(db, &lake, &options) {
            Ok(Collected { manifest, is_new }) => {
                good += 1;
                let run = manifest.run.text();
                let what = if is_new { "collected" } else { "was there" };
                if !args.quiet {
                    say!("addfg: {}: {what}: {} {run}", db.display(), manifest.program);
                }
            }
            // The others are collected; what is wrong with this one is said, and which it is.
            Err(error) => {
                bad += 1;
                let (name, said) = (db.display().to_string(), explained(&error));
                let named = if said.contains(&name) { said } else { format!("{name}: {said}") };
                say!("addfg: {named}");
            }
        }
    }
    if good == 0 {
        return Ok(ExitCode::from(2));
    }
    let broken = collect::broken(&lake)?;
    broken.iter().for_each(|error| say!("addfg: {}", explained(error)));
    Ok(if bad + broken.len() > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
