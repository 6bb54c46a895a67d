use super::options::label;
use super::say::say;
use crate::lake::each::{self, Question, Row};
use crate::lake::{Label, Lake, Manifest, labels, steps};
use crate::render::rows::{RowFormat, RowWriter};
use anyhow::{Context, bail, ensure};
use duckdb::types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Asks each run of a lake: what another command says of its database
///
/// The command and its arguments follow --, without the database: `addfg each lake -- flows fill add_up`.
/// Each row has the program, run and labels before what the command says. Runs are asked that
/// `addfg collect --with-steps` put there.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Runs that are asked at a time [default: the processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// A command that gives rows, and its arguments but for the database and --format
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<String>,
}

/// Runs of a lake.
#[derive(clap::Args)]
pub struct Chosen {
    /// Folder that `addfg collect` made
    pub lake: PathBuf,
    /// Only runs with these labels; program is also a label
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    /// Only these runs, by the names that `addfg collect` says
    #[arg(long, value_name = "RUN,...", value_delimiter = ',')]
    run: Vec<String>,
}

/// Runs that have steps.
struct Found {
    /// In the order of their names.
    runs: Vec<Manifest>,
    /// How many more were chosen that have none.
    without: usize,
    /// Labels of runs that have the wanted ones, so that the columns are the same for each `--run`.
    labels: BTreeSet<String>,
}

/// Commands that give rows of one database.
const COMMANDS: [&str; 11] = [
    "calls",
    "critical",
    "cut",
    "flows",
    "instances",
    "loops",
    "matrix",
    "memory",
    "objects",
    "slice",
    "sql",
];

impl Chosen {
    fn find(&self) -> anyhow::Result<Found> {
        let lake = Lake::open(&self.lake, &labels(&self.wanted)?)?;
        for name in &self.run {
            let is_there = lake.runs().any(|run| run.run.text() == name);
            ensure!(is_there, "the lake has no run {name}; addfg sql LAKE \"FROM run\" lists them");
        }
        let is_asked = |run: &&Manifest| {
            self.run.is_empty() || self.run.iter().any(|name| name == run.run.text())
        };
        let mut runs: Vec<Manifest> = lake.runs().filter(is_asked).cloned().collect();
        runs.sort_by(|a, b| (&a.program, &a.run).cmp(&(&b.program, &b.run)));
        let all = runs.len();
        runs.retain(|run| steps::are_there(&self.lake, run));
        if runs.is_empty() {
            bail!(
                "{}: none of {all} runs has its steps; addfg collect --with-steps puts them there",
                self.lake.display()
            );
        }
        let labels = lake.runs().flat_map(|run| run.labels.keys().cloned()).collect();
        Ok(Found { without: all - runs.len(), runs, labels })
    }
}

/// The only run that is chosen.
pub fn one_run(chosen: &Chosen) -> anyhow::Result<Manifest> {
    let Found { mut runs, .. } = chosen.find()?;
    let names: Vec<&str> = runs.iter().map(|run| run.run.text()).take(4).collect();
    ensure!(
        runs.len() == 1,
        "{} runs are meant ({}{}): --run or --where chooses one",
        runs.len(),
        names.join(", "),
        if runs.len() > names.len() { ", ..." } else { "" }
    );
    Ok(runs.remove(0))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Some((command, words)) = args.command.split_first() else { bail!("-- names no command") };
    if !COMMANDS.contains(&command.as_str()) {
        bail!("`{command}` gives no rows of one database; these do: {}", COMMANDS.join(", "));
    }
    ensure!(
        !words.iter().any(|word| word == "--format" || word.starts_with("--format=")),
        "--format stands before --"
    );
    let Found { runs, without, labels } = args.chosen.find()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let question = Question {
        addfg: std::env::current_exe()?,
        command: command.clone(),
        words: words.to_vec(),
        jobs: args.jobs.map_or(processors, usize::from),
    };
    let mut out = BufWriter::new(super::output::stdout());
    let mut shown = Shown {
        labels: labels.iter().map(String::as_str).collect(),
        format: args.format,
        out: Some(&mut out),
        columns: Vec::new(),
        rows: None,
    };
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut answered, mut bad) = (0, false);
    let list: Vec<&Manifest> = runs.iter().collect();
    each::ask(&args.chosen.lake, &list, &question, |run, answer| {
        let name = format!("{} {}", run.program, run.run.text());
        bad |= !answer.clean;
        if let Some(mut rows) = answer.rows {
            answered += 1;
            let no_rows = || format!("{name}: what `addfg {command}` prints is no list of rows");
            while let Some(row) = rows.next().with_context(no_rows)? {
                shown.row(run, row)?;
            }
        }
        if !answer.said.is_empty() {
            said.entry(answer.said).or_default().push(name);
        }
        Ok(())
    })?;
    if answered > 0 {
        shown.finish()?;
    }
    for (text, runs) in &said {
        let more =
            if runs.len() > 1 { format!(" and {} more", runs.len() - 1) } else { String::new() };
        say!("addfg: {}{more}: {text}", runs[0]);
    }
    if without > 0 {
        say!("addfg: not asked: {without} runs without their steps (addfg collect --with-steps)");
    }
    Ok(match (answered, bad) {
        (0, _) => ExitCode::from(2),
        (_, true) => ExitCode::from(1),
        (_, false) => ExitCode::SUCCESS,
    })
}

/// Rows of all runs. The first one tells the columns.
struct Shown<'a> {
    labels: Vec<&'a str>,
    format: RowFormat,
    out: Option<&'a mut dyn Write>,
    /// Names of the columns of an answer.
    columns: Vec<String>,
    rows: Option<RowWriter<'a>>,
}

impl<'a> Shown<'a> {
    fn writer(&mut self) -> anyhow::Result<&mut RowWriter<'a>> {
        if let Some(out) = self.out.take() {
            let taken = |name: &str| {
                ["program", "run"].contains(&name) || self.columns.iter().any(|c| c == name)
            };
            let label = |name: &&str| {
                if taken(name) { format!("label_{name}") } else { (*name).to_owned() }
            };
            let own = ["program", "run"].map(|name| match self.columns.iter().any(|c| c == name) {
                true => format!("lake_{name}"),
                false => name.to_owned(),
            });
            let labels = self.labels.iter().map(label);
            let names: Vec<String> =
                own.into_iter().chain(labels).chain(self.columns.iter().cloned()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.rows = Some(RowWriter::new(&names, self.format, out)?.short_names());
        }
        self.rows.as_mut().ok_or_else(|| anyhow::anyhow!("rows are written once"))
    }

    fn row(&mut self, run: &Manifest, row: Row) -> anyhow::Result<()> {
        let (names, values): (Vec<String>, Vec<Value>) = row.into_iter().unzip();
        if self.rows.is_none() {
            self.columns = names;
        } else {
            ensure!(
                names == self.columns,
                "{} {} answers with other columns ({}) than the runs before it ({})",
                run.program,
                run.run.text(),
                names.join(", "),
                self.columns.join(", ")
            );
        }
        let text = |text: &str| Value::Text(text.to_owned());
        let label = |name: &&str| run.labels.get(*name).map_or(Value::Null, |value| text(value));
        let own = [text(&run.program), text(run.run.text())].into_iter();
        let labels: Vec<Value> = self.labels.iter().map(label).collect();
        let cells: Vec<Value> = own.chain(labels).chain(values).collect();
        Ok(self.writer()?.row(&cells)?)
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.writer()?;
        if let Some(rows) = self.rows {
            rows.finish()?;
        }
        Ok(())
    }
}
