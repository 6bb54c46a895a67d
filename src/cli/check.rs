use super::options::label;
use super::say::say;
use crate::lake::collect::{self, Options};
use crate::lake::{Label, Lake, Rule, check, compare, is_lake, labels};
use crate::render::rows::{RowFormat, RowWriter, number};
use crate::store::open::Trust;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks figures against limits, for CI: 'bytes(a -> b) <= 4 KiB'
///
/// A rule is FIGURE(WHAT) LIMIT. Figures of an edge: bytes, unique_bytes, buffer (distinct bytes of storage),
/// transfers, calls; of a function: calls, steps, steps_total, written_bytes, dead_bytes; steps() are those of the run.
/// WHAT is a function or `writer -> reader`, with `, heap` or another kind of storage behind it; `*` in a name
/// stands for any characters, and then the edges are summed. A limit is < <= = >= > and a whole number,
/// with a unit if you like: k, M, G, KiB, MiB, GiB. In a lake each run must keep each rule. Exit code: 0 all
/// rules hold, 1 one is broken, 2 refused (a wrong rule, a function that no run has).
#[derive(clap::Args)]
pub struct Args {
    /// Database that `addfg build` made, or folder that `addfg collect` made
    path: PathBuf,
    /// A rule; may be given several times
    #[arg(long = "max", value_name = "RULE")]
    rules: Vec<String>,
    /// File with a rule a line; # begins a comment
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only runs with these labels; program is one, too
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Go on where the database defines views that addfg did not make
    #[arg(long)]
    trust: bool,
}

/// The rules that were given, in this order.
fn rules(args: &Args) -> anyhow::Result<Vec<Rule>> {
    let mut lines = args.rules.clone();
    if let Some(file) = &args.file {
        let text = std::fs::read_to_string(file)
            .map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
        let rule = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
        lines.extend(text.lines().map(rule).filter(|line| !line.is_empty()));
    }
    anyhow::ensure!(!lines.is_empty(), "there is no rule: give one with --max, or a file with -f");
    Ok(lines.iter().map(|line| Rule::parse(line)).collect::<Result<_, _>>()?)
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let rules = rules(&args)?;
    let path = args.path.display().to_string();
    let scratch = compare::scratch()?;
    let lake = if is_lake(&args.path) {
        Lake::open(&args.path, &labels(&args.wanted)?)?
    } else {
        anyhow::ensure!(args.wanted.is_empty(), "--where chooses runs of a lake; {path} is none");
        let trust = if args.trust { Trust::Anything } else { Trust::Schema };
        collect::begin(scratch.path())?;
        let options = Options { labels: Vec::new(), program: None, trust };
        collect::collect(&args.path, scratch.path(), &options)?;
        Lake::open(scratch.path(), &labels(&[])?)?
    };
    anyhow::ensure!(lake.runs().next().is_some(), "{path} has no runs");
    let mut out = super::output::stdout();
    let columns = ["rule", "holds", "worst", "runs", "broken", "run", "labels"];
    let mut rows = RowWriter::new(&columns, args.format, &mut out)?;
    let mut broken = 0;
    for rule in &rules {
        let verdict = check::check(&lake, rule, &path)?;
        broken += usize::from(verdict.broken > 0);
        let word = if verdict.broken == 0 { "yes" } else { "no" };
        let count = |n: usize| Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX));
        rows.row(&[
            Value::Text(rule.text.clone()),
            Value::Text(word.into()),
            number(verdict.worst),
            count(verdict.runs),
            count(verdict.broken),
            Value::Text(verdict.run),
            Value::Text(verdict.labels),
        ])?;
    }
    rows.finish()?;
    if broken > 0 {
        say!("addfg: {path}: {broken} of {} rules are broken", rules.len());
    }
    Ok(if broken > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
