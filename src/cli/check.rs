use super::ci::Reports;
use super::options::label;
use super::say::say;
use crate::lake::check::{self, Looked, Verdict};
use crate::lake::collect::{self, Options};
use crate::lake::findings::{Finding, Report};
use crate::lake::{Label, Lake, LakeError, Rule, compare, is_lake, labels};
use crate::render::rows::{RowFormat, RowWriter, number, word};
use crate::store::open::Trust;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks figures against limits, for CI: 'bytes(a -> b) <= 4 KiB'
///
/// A rule is FIGURE(WHAT) LIMIT. Figures of an edge: bytes, unique_bytes, buffer (distinct bytes of storage),
/// transfers, calls; of a function: calls, steps, steps_total, written_bytes, dead_bytes; steps() are those of the run.
/// WHAT is a function or `writer -> reader`, with `, heap` or another kind of storage behind it. A name is a
/// name: `f`, `ns::f(int*, int)` or FILE:NAME; `glob:idct*` and `re:^idct` are patterns, whose edges are
/// summed. A limit is < <= = >= > and a whole number, with a unit if you like: k, M, G, KiB, MiB, GiB; or
/// `not above main + 5 %`, where `main` is a value of a label of other runs. In a lake the newest run of each
/// context must keep each rule. Exit code: 0 all rules hold, 1 one is broken, 2 refused (a wrong rule, a
/// function that no run has).
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
    /// Only runs with these labels; program is also a label
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    /// Labels that say which state of the program a run is of; the newest state of each combination of
    /// the others is looked at [default: commit,version,revision,date,time,build]
    #[arg(long, value_name = "LABEL,...", value_delimiter = ',')]
    over: Vec<String>,
    /// Look at all runs, not only at the newest of each context
    #[arg(long)]
    all_runs: bool,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    #[command(flatten)]
    reports: Reports,
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
        anyhow::ensure!(
            args.wanted.is_empty(),
            "--where chooses runs of a lake; {path} is not a lake"
        );
        let trust = if args.trust { Trust::Anything } else { Trust::Schema };
        collect::begin(scratch.path())?;
        let options = Options { labels: Vec::new(), program: None, trust, steps: false };
        collect::collect(&args.path, scratch.path(), &options)?;
        Lake::open(scratch.path(), &labels(&[])?)?
    };
    anyhow::ensure!(lake.runs().next().is_some(), "{path} has no runs");
    let options = check::Options { over: args.over.clone(), all_runs: args.all_runs };
    let checked: Vec<(Rule, Verdict)> = rules
        .into_iter()
        .map(|rule| {
            let verdict = check::check(&lake, &rule, &options, &path)?;
            Ok((rule, verdict))
        })
        .collect::<Result<_, LakeError>>()?;
    let broken = checked.iter().filter(|(_, verdict)| verdict.broken > 0).count();
    write(&checked, args.format)?;
    for (rule, verdict) in checked.iter().filter(|(_, verdict)| verdict.alone > 0) {
        say!(
            "addfg: {rule}: {} runs are left out: the reference has no run with their other labels",
            verdict.alone
        );
    }
    if args.reports.any() {
        let title = match broken {
            0 => format!("all {} rules hold", checked.len()),
            broken => format!("{broken} of {} rules are broken", checked.len()),
        };
        let findings = checked.iter().map(|(rule, verdict)| finding(rule, verdict)).collect();
        args.reports.write(Report {
            title,
            notes: Vec::new(),
            columns: ["limit", "worst", "runs broken"],
            findings,
        })?;
    }
    if broken > 0 {
        say!("addfg: {path}: {broken} of {} rules are broken", checked.len());
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// `4097 in r12 (size=4)`.
fn told(looked: &Looked) -> String {
    let value = looked.value.map_or("unknown".to_owned(), |value| value.to_string());
    let labels =
        if looked.labels.is_empty() { String::new() } else { format!(" ({})", looked.labels) };
    format!("{value} in {}{labels}", looked.run)
}

fn write(checked: &[(Rule, Verdict)], format: RowFormat) -> anyhow::Result<()> {
    let mut out = super::output::stdout();
    let columns =
        ["rule", "holds", "worst", "runs", "broken", "run", "labels", "limit", "next_worst"];
    let mut rows = RowWriter::new(&columns, format, &mut out)?;
    let count = |n: usize| Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX));
    for (rule, verdict) in checked {
        let holds = verdict.broken == 0;
        let holds = match format {
            RowFormat::Json => Value::Boolean(holds),
            _ => Value::Text(if holds { "yes" } else { "no" }.into()),
        };
        let worst = verdict.worst.first();
        let text = |of: fn(&Looked) -> &String| worst.map(|w| of(w).clone());
        let next: Vec<String> = verdict.worst.iter().skip(1).map(told).collect();
        rows.row(&[
            Value::Text(rule.text.clone()),
            holds,
            number(worst.and_then(|w| w.value)),
            count(verdict.runs),
            count(verdict.broken),
            word(text(|w| &w.run)),
            word(text(|w| &w.labels)),
            number(worst.and_then(|w| w.limit).map(|(_, limit)| limit)),
            Value::Text(next.join("; ")),
        ])?;
    }
    rows.finish()?;
    Ok(())
}

fn finding(rule: &Rule, verdict: &Verdict) -> Finding {
    let holds = verdict.broken == 0;
    let worst = verdict.worst.first();
    let limit = worst.and_then(|w| w.limit);
    let limit = limit.map_or(String::new(), |(sign, limit)| format!("{} {limit}", sign.name()));
    let value = worst.and_then(|w| w.value).map_or("unknown".into(), |value| value.to_string());
    let list: Vec<String> = verdict.worst.iter().map(told).collect();
    let broken = format!("{} of {}", verdict.broken, verdict.runs);
    Finding {
        name: rule.text.clone(),
        kind: "rule".into(),
        holds,
        is_failure: !holds,
        message: format!(
            "{}: {} in {broken} runs; expected {limit}; worst: {}",
            rule.text,
            if holds { "holds, broken" } else { "broken" },
            list.join("; ")
        ),
        before: limit.clone(),
        after: value,
        change: broken.clone(),
        place: verdict.place.as_ref().map(|p| (p.path.clone(), p.line)),
    }
}
