//! `addfg diff` of many runs with many: those of a lake, or of a lake that is made for it.

use super::ci::Reports;
use super::options::label;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::lake::compare::{self, Changed, Wish, repeats_needed};
use crate::lake::coverage::coverage;
use crate::lake::findings::{Finding, Report};
use crate::lake::questions::Measure;
use crate::lake::{Label, Lake, labels};
use crate::render::Renderer;
use crate::render::rows::{RowFormat, RowWriter};
use crate::store::open::Trust;
use crate::views::diff;
use duckdb::types::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Many {
    /// Several runs: minimum change in a context [default: 1]
    #[arg(long, value_name = "PERCENT", hide_short_help = true)]
    least: Option<f64>,
    /// Several runs: the figures to compare [default: all]
    #[arg(long, value_name = "MEASURE", hide_short_help = true)]
    measure: Option<Measure>,
    /// Lake: only runs with these labels; program is also a label
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    /// Several runs: expected share of false rows among the listed rows [default: 5]
    #[arg(long, value_name = "PERCENT", conflicts_with = "exact", hide_short_help = true)]
    rate: Option<f64>,
    /// Several runs: figures do not vary from run to run, so every difference counts
    #[arg(long, hide_short_help = true)]
    exact: bool,
    /// Several runs: include start-up, end, the dynamic linker and stubs
    #[arg(long, hide_short_help = true)]
    start_up: bool,
    /// Lake: also compare runs with different recording options
    #[arg(long, hide_short_help = true)]
    across_recordings: bool,
    /// Several runs: exit code 1 if a listed figure grew by this share in a context
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Continuous integration")]
    fail_on: Option<f64>,
    #[command(flatten)]
    reports: Reports,
}

/// `5`, `5%` or `5 %`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=1e9).contains(&percent) => Ok(percent),
        _ => Err(format!("expected a percentage like 5, found `{text}`")),
    }
}

impl Many {
    /// Whether something is asked for that only a comparison of many runs has.
    pub fn is_given(&self) -> bool {
        self.exact
            || self.start_up
            || self.across_recordings
            || self.fail_on.is_some()
            || self.least.is_some()
            || self.measure.is_some()
            || self.rate.is_some()
            || self.reports.any()
            || !self.wanted.is_empty()
    }

    fn rate(&self) -> f64 {
        if self.exact { 100.0 } else { self.rate.unwrap_or(5.0) }
    }
}

/// How the answer is shown.
pub struct Shown {
    /// Rows of a measure at most; 0: all.
    pub limit: usize,
    pub format: RowFormat,
    /// As a picture: its format, file, and functions at most.
    pub drawn: Option<(&'static Renderer, Option<PathBuf>, usize)>,
}

pub fn run(
    first: Vec<PathBuf>,
    second: &[PathBuf],
    by: Option<[String; 3]>,
    trust: bool,
    many: &Many,
    shown: Shown,
) -> anyhow::Result<ExitCode> {
    let Shown { limit, format, drawn } = shown;
    let scratch = compare::scratch()?;
    let (lake, [label, before, after]) = match by {
        Some(by) => (Lake::open(&first[0], &labels(&many.wanted)?)?, by),
        None => {
            let trust = if trust { Trust::Anything } else { Trust::Schema };
            compare::sides(scratch.path(), &first, second, trust)?;
            let by = [compare::SIDE, "before", "after"].map(str::to_owned);
            (Lake::open(scratch.path(), &labels(&[])?)?, by)
        }
    };
    let lake = lake.across_recordings(many.across_recordings);
    let covered = coverage(&lake, &label, &before, &after)?;
    if !covered.left_out.is_empty() {
        let few: Vec<_> = covered.left_out.iter().take(3).cloned().collect();
        let more = if covered.left_out.len() > 3 { "; ..." } else { "" };
        let n = covered.left_out.len();
        say!(
            "addfg: {n} contexts have runs on one side only and are left out: {}{more}",
            few.join("; ")
        );
    }
    let wish = Wish {
        label,
        before,
        after,
        measure: many.measure.unwrap_or(Measure::All).name().to_owned(),
        least: many.least.unwrap_or(1.0),
        start_up: many.start_up,
        rate: many.rate(),
    };
    let found = compare::changed(&lake, &wish)?;
    if let Some((renderer, output, top)) = drawn {
        let list = compare::differences(&found);
        return pictures::draw(&diff::graph(&list, top.max(2)), renderer, output);
    }
    let failing = |row: &&Changed| many.fail_on.is_some_and(|percent| row.grew(percent));
    let failures = found.iter().filter(failing).count();
    // One report may go where the table would.
    if !many.reports.any() || format != RowFormat::Table {
        write(&found, limit, format)?;
    }
    let notes = notes(&found, &covered.runs, many);
    notes.iter().for_each(|note| say!("addfg: {note}"));
    if many.reports.any() {
        let report = report(&lake, &wish, &found, many, notes)?;
        many.reports.write(report)?;
    }
    if failures > 0 {
        say!("addfg: {failures} figures grew by {} % or more", many.fail_on.unwrap_or(0.0));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the list means.
fn notes(found: &[Changed], runs: &[(usize, usize)], many: &Many) -> Vec<String> {
    let least = runs.iter().map(|(a, b)| *a.min(b)).min().unwrap_or(0);
    if found.is_empty() {
        return vec!["no rows: nothing changed beyond noise".to_owned()];
    }
    if !many.exact && found.iter().any(|row| !row.is_certain) {
        let rows = found.len();
        let (all, one) = repeats_needed(runs.len(), rows, many.rate());
        return vec![format!(
            "{least} runs a side in {} contexts cannot tell these {rows} figures from noise; {all} runs a side show them where \
             nothing else varies, {one} a single one among {rows}. --exact takes figures as they are",
            runs.len()
        )];
    }
    Vec::new()
}

fn write(found: &[Changed], limit: usize, format: RowFormat) -> anyhow::Result<()> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut text = Vec::new();
    let columns = [
        "measure",
        "one",
        "two",
        "via",
        "contexts",
        "grown",
        "shrunk",
        "runs",
        "before",
        "after",
        "percent",
        "noise_percent",
        "p",
        "beyond_noise",
        "first_context",
        "is_local",
    ];
    let mut rows = RowWriter::new(&columns, format, &mut text)?;
    let (mut counts, mut left) = (BTreeMap::<&str, usize>::new(), 0);
    let float = |x: Option<f64>| x.map_or(Value::Null, Value::Double);
    for row in found {
        let count = counts.entry(&row.measure).or_default();
        *count += 1;
        if *count > limit {
            left += 1;
            continue;
        }
        let word = |text: &String| Value::Text(text.clone());
        rows.row(&[
            word(&row.measure),
            word(&row.one),
            word(&row.two),
            word(&row.via),
            Value::BigInt(row.contexts),
            Value::BigInt(row.grown),
            Value::BigInt(row.shrunk),
            Value::BigInt(row.runs),
            Value::Double(row.before),
            Value::Double(row.after),
            float(row.percent),
            float(row.noise),
            Value::Double(row.p),
            Value::Text(if row.is_certain { "yes" } else { "unknown" }.into()),
            word(&row.context),
            Value::Boolean(row.is_local),
        ])?;
    }
    rows.finish()?;
    write_output(None, &text)?;
    if left > 0 {
        say!("addfg: {left} smaller changes are not listed; --limit 0 lists all");
    }
    Ok(())
}

/// The changes as findings with the places of their functions.
fn report(
    lake: &Lake,
    wish: &Wish,
    found: &[Changed],
    many: &Many,
    mut notes: Vec<String>,
) -> anyhow::Result<Report> {
    let places = compare::places(lake, wish)?;
    let count = |x: f64| if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") };
    let finding = |row: &Changed| {
        let is_failure = many.fail_on.is_some_and(|percent| row.grew(percent));
        let change = match row.percent {
            Some(percent) => format!("{percent:+.1} %"),
            None => "new".into(),
        };
        let place =
            |name: &str, file: &str| places.get(&(name.to_owned(), file.to_owned())).cloned();
        let at = place(&row.two, &row.two_file).or_else(|| place(&row.one, &row.one_file));
        let n = row.grown + row.shrunk;
        let context =
            if row.context.is_empty() { String::new() } else { format!(", {}", row.context) };
        Finding {
            name: row.name(),
            kind: row.measure.clone(),
            holds: false,
            is_failure,
            message: format!(
                "{}: {} before, {} after ({change}) in {n} of {} contexts{context}",
                row.name(),
                count(row.before),
                count(row.after),
                row.contexts
            ),
            before: count(row.before),
            after: count(row.after),
            change,
            place: at,
        }
    };
    let mut findings: Vec<Finding> = found.iter().map(finding).collect();
    let failures = findings.iter().filter(|f| f.is_failure).count();
    let title = match (failures, findings.len()) {
        (0, 0) => format!("{}: nothing changed from {} to {}", wish.label, wish.before, wish.after),
        (0, n) => format!("{n} figures changed from {} to {}", wish.before, wish.after),
        (failures, _) => format!("{failures} figures grew from {} to {}", wish.before, wish.after),
    };
    if findings.is_empty() {
        notes.clear();
        findings.push(Finding {
            name: title.clone(),
            kind: wish.measure.clone(),
            holds: true,
            is_failure: false,
            message: title.clone(),
            before: String::new(),
            after: String::new(),
            change: String::new(),
            place: None,
        });
    }
    Ok(Report { title, notes, columns: ["before", "after", "change"], findings })
}
