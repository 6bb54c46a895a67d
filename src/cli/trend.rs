use super::options::label;
use super::output::write_output;
use super::say::say;
use crate::lake::plot::{Series, log_log};
use crate::lake::questions::{self, Measure};
use crate::lake::{Label, Lake, labels};
use crate::render::rows::RowFormat;
use duckdb::ToSql;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shows how figures grow over the runs of a lake: with an input's size, from commit to commit
///
/// Without THING: the largest figures, each with the exponent of its growth and the function of n that
/// fits best (n, n log n, n^2 ...). With THING: its figures for each value of the label. With -o a picture on
/// two logarithmic scales.
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
    /// Only runs with these labels; program is one, too
    #[arg(long = "where", value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = label)]
    wanted: Vec<Label>,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    #[arg(long, default_value = "table")]
    format: RowFormat,
    /// Draw an SVG picture into this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Series in a picture at most, where all figures are asked for.
const DRAWN: u64 = 8;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let lake = Lake::open(&args.lake, &labels(&args.wanted)?)?;
    if args.output.is_some() {
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
    if listing.write(&connection, args.format, &mut out)? == 0 {
        say!("addfg: no rows: {}", question.none);
    }
    Ok(ExitCode::SUCCESS)
}

/// The question that is asked, with its parameters.
fn question(args: &Args, rows: u64) -> (&'static str, Vec<String>) {
    let (label, measure) = (args.label.clone(), args.measure.name().to_owned());
    match &args.thing {
        Some(thing) => {
            let (one, two) = thing.split_once("->").unwrap_or((thing, "-"));
            ("history", vec![one.trim().to_owned(), two.trim().to_owned(), label, measure])
        }
        None => ("growth", vec![label, measure, rows.to_string()]),
    }
}

/// What is drawn: of a thing each of its figures, else the largest that there are.
fn series(args: &Args, lake: &Lake) -> anyhow::Result<Vec<Series>> {
    let rows = if args.limit == 20 { DRAWN } else { args.limit };
    let question = questions::find("growth")?;
    let all = if args.thing.is_some() { 0 } else { rows };
    let values =
        question.values(&[args.label.clone(), args.measure.name().into(), all.to_string()])?;
    let history = questions::find("history")?;
    let connection = lake.database(&format!("{} {}", question.sql, history.sql))?;
    let mut statement = connection.prepare(question.sql)?;
    let values: Vec<&dyn ToSql> = values.iter().map(|v| v as &dyn ToSql).collect();
    let found = statement.query_map(values.as_slice(), |r| {
        let growth = format!("{} (exponent {:.2})", r.get::<_, String>(10)?, r.get::<_, f64>(8)?);
        let words: [String; 5] = [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?];
        Ok((words, growth))
    })?;
    let wanted = args.thing.as_ref().map(|thing| {
        let (one, two) = thing.split_once("->").unwrap_or((thing, ""));
        (one.trim().to_owned(), two.trim().to_owned())
    });
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
