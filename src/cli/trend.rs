use super::options::label;
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::lake::compare::Wish;
use crate::lake::coverage::known_label;
use crate::lake::plot::{Series, log_log};
use crate::lake::questions::{self, Measure};
use crate::lake::{Label, Lake, labels, points};
use crate::render::rows::{RowFormat, RowWriter};
use duckdb::ToSql;
use duckdb::types::Value;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shows how figures grow over the runs of a lake: with the input, over commits
///
/// Without THING: the largest figures, each with the exponent of its growth and the function of n that
/// fits best (n, n log n, n^2 ...). With THING: its figures for each value of the label. With -o a picture on
/// two logarithmic scales. With --change-points: between which values of the label, such as commits, each
/// figure went to another level.
#[derive(clap::Args)]
pub struct Args {
    /// Folder that `addfg collect` made
    lake: PathBuf,
    /// A function, or an edge as 'writer->reader' or 'caller->callee'
    thing: Option<String>,
    /// The label to follow; for growth its values are numbers
    #[arg(long, value_name = "NAME", default_value = "size")]
    label: String,
    #[arg(long, value_name = "MEASURE", default_value = "all")]
    measure: Measure,
    /// Only runs with these labels; program is also a label
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    #[arg(long, default_value = "table", conflicts_with = "output")]
    format: RowFormat,
    /// With start-up, end, the dynamic linker and stubs
    #[arg(long)]
    start_up: bool,
    /// Of a lake whose runs were recorded in different ways: compare them, too
    #[arg(long)]
    across_recordings: bool,
    /// List where figures changed from one value of the label to the next, and stayed so
    #[arg(long, conflicts_with = "output")]
    change_points: bool,
    /// Change points: least change, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, requires = "change_points")]
    least: f64,
    /// Draw an SVG picture into this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Series in a picture at most, where all figures are asked for.
const DRAWN: u64 = 8;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let lake = Lake::open(&args.lake, &labels(&args.wanted)?)?;
    let lake = lake.across_recordings(args.across_recordings);
    if args.change_points {
        return change_points(&args, &lake);
    }
    if args.output.is_some() {
        pictures::no_other_than_svg(args.output.as_deref())?;
        let series = series(&args, &lake)?;
        anyhow::ensure!(
            !series.is_empty(),
            "no figures to draw: {}",
            questions::find("growth")?.none
        );
        let title = match &args.thing {
            Some(thing) => format!("{thing} over {}", args.label),
            None => format!("The largest figures over {}", args.label),
        };
        let picture = log_log(&title, &args.label, &series);
        return write_output(args.output.as_deref(), picture.as_bytes());
    }
    let (name, given) = question(&args, args.limit);
    let question = questions::find(name)?;
    let (connection, listing) = questions::ask(&lake, &question, &given)?;
    let mut out = BufWriter::new(super::output::stdout());
    let rows = listing.write(&connection, args.format, &mut out)?;
    if rows == 0 {
        say!("addfg: no rows: {}", question.none);
        return Ok(if args.thing.is_some() { ExitCode::from(1) } else { ExitCode::SUCCESS });
    }
    if args.thing.is_none() && rows == args.limit {
        say!("addfg: the first {rows}; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}

/// The one or two functions that are asked for.
fn ends(args: &Args) -> Option<(&str, &str)> {
    let thing = args.thing.as_ref()?;
    // `operator->` is a name, so an arrow has blanks around it, or stands behind no operator.
    let arrow = match thing.find(" -> ") {
        Some(at) => Some((&thing[..at], &thing[at + 4..])),
        None => thing.split_once("->").filter(|(one, _)| !one.ends_with("operator")),
    };
    let (one, two) = arrow.unwrap_or((thing.as_str(), "-"));
    Some((one.trim(), two.trim()))
}

/// Lists between which values of the label figures went to another level.
fn change_points(args: &Args, lake: &Lake) -> anyhow::Result<ExitCode> {
    known_label(lake, &args.label)?;
    let wish = Wish {
        label: args.label.clone(),
        before: String::new(),
        after: String::new(),
        measure: args.measure.name().to_owned(),
        least: args.least,
        start_up: args.start_up,
        rate: 100.0,
    };
    let mut found = points::points(lake, &wish)?;
    if ends(args).is_some() {
        let (_, given) = question(args, 0);
        let words = questions::meant(lake, &questions::find("history")?, &given)?;
        let name = |text: &str| text.split_once(':').map_or(text.to_owned(), |p| p.1.to_owned());
        let is = |word: &str, name_of: &str| word == name_of || name(word) == name_of;
        let two = if words[1] == "-" { "" } else { &words[1] };
        found.retain(|p| {
            is(&words[0], &p.one) && (is(two, &p.two) || (two.is_empty() && p.two.is_empty()))
        });
    }
    let limit = if args.limit == 0 { usize::MAX } else { usize::try_from(args.limit)? };
    let mut out = BufWriter::new(super::output::stdout());
    let columns = [
        "measure",
        "one",
        "two",
        "via",
        "labels",
        "last",
        "first",
        "before",
        "after",
        "percent",
        "values_before",
        "values_after",
    ];
    let mut rows = RowWriter::new(&columns, args.format, &mut out)?;
    let count = |n: usize| Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX));
    let round = |x: f64| Value::Double((x * 10.0).round() / 10.0);
    for p in found.iter().take(limit) {
        let word = |text: &String| Value::Text(text.clone());
        let percent = (p.before > 0.0).then(|| 100.0 * (p.after - p.before) / p.before);
        rows.row(&[
            word(&p.measure),
            word(&p.one),
            word(&p.two),
            word(&p.via),
            word(&p.labels),
            word(&p.last),
            word(&p.first),
            round(p.before),
            round(p.after),
            percent.map_or(Value::Null, round),
            count(p.values.0),
            count(p.values.1),
        ])?;
    }
    rows.finish()?;
    if found.is_empty() {
        say!("addfg: no rows: no figure went to another level");
    } else if found.len() > limit {
        say!("addfg: {} more are not listed; --limit 0 lists all", found.len() - limit);
    }
    Ok(ExitCode::SUCCESS)
}

/// The question that is asked, with its parameters.
fn question(args: &Args, rows: u64) -> (&'static str, Vec<String>) {
    let (label, measure) = (args.label.clone(), args.measure.name().to_owned());
    match ends(args) {
        Some((one, two)) => ("history", vec![one.to_owned(), two.to_owned(), label, measure]),
        None => ("growth", vec![label, measure, rows.to_string(), whose(args).to_owned()]),
    }
}

fn whose(args: &Args) -> &'static str {
    if args.start_up { "all" } else { "program" }
}

/// What is drawn: of a thing each of its figures, else the largest that there are.
fn series(args: &Args, lake: &Lake) -> anyhow::Result<Vec<Series>> {
    let rows = if args.limit == 20 { DRAWN } else { args.limit };
    let question = questions::find("growth")?;
    let all = if args.thing.is_some() { 0 } else { rows };
    let whose = if args.thing.is_some() { "all" } else { whose(args) };
    let given = [args.label.clone(), args.measure.name().into(), all.to_string(), whose.into()];
    let values = question.values(&questions::meant(lake, &question, &given)?)?;
    let history = questions::find("history")?;
    let connection = lake.database(&format!("{} {}", question.sql, history.sql))?;
    let mut statement = connection.prepare(question.sql)?;
    let values: Vec<&dyn ToSql> = values.iter().map(|v| v as &dyn ToSql).collect();
    let found = statement.query_map(values.as_slice(), |r| {
        let growth = format!("{} (exponent {:.2})", r.get::<_, String>(10)?, r.get::<_, f64>(8)?);
        let words: [String; 5] = [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?];
        Ok((words, growth))
    })?;
    let wanted = match ends(args) {
        Some((one, two)) => {
            let given = [one, two, &args.label, "all"].map(str::to_owned);
            let words = questions::meant(lake, &history, &given)?;
            let name = |word: &String| match word.as_str() {
                "-" => String::new(),
                word => word
                    .split_once(':')
                    .filter(|(file, _)| !file.is_empty() && word.find("::") != Some(file.len()))
                    .map_or(word, |p| p.1)
                    .to_owned(),
            };
            Some((name(&words[0]), name(&words[1])))
        }
        None => None,
    };
    let mut series = Vec::new();
    for found in found {
        let ([measure, one, two, via, labels], growth) = found?;
        if wanted.as_ref().is_some_and(|w| *w != (one.clone(), two.clone())) {
            continue;
        }
        let other = if two.is_empty() { "-" } else { &two };
        let mut statement = connection.prepare(history.sql)?;
        let points = statement.query_map([&one, other, &args.label, &measure], |r| {
            let key: (String, String) = (r.get(3)?, r.get(4)?);
            Ok((key, r.get::<_, Option<f64>>(6)?, r.get::<_, f64>(9)?))
        })?;
        let mut line = Vec::new();
        for point in points {
            let (key, number, mean) = point?;
            if let Some(n) =
                number.filter(|n| *n > 0.0 && mean > 0.0 && key == (via.clone(), labels.clone()))
            {
                line.push((n, mean));
            }
        }
        let edge = if two.is_empty() { one } else { format!("{one} -> {two}") };
        let parts = [edge.as_str(), &via, &labels];
        let name: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        series.push(Series {
            name: format!("{measure} {}: {growth}", name.join(", ")),
            points: line,
        });
    }
    Ok(series)
}
