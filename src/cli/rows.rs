use super::database::Database;
use super::options;
use super::say::say;
use crate::load::packed::{self, Wanted};
use crate::load::{Detail, Limit};
use crate::store::open::{self, Mode, Opening};
use crate::text::{human_count, words};
use crate::views::cut;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

words! {
    /// Which rows are made.
    #[derive(ValueEnum)]
    pub enum Level {
        /// Steps and accesses; calls, too
        Low = "low",
        /// Calls, communications and what else is between call instances
        Middle = "middle",
        /// Both
        All = "all",
    }
}

/// Makes rows of the packed run: steps, accesses, communications, calls
///
/// Commands read the packed run themselves. Rows are for SQL: tables and views such as `function_call`,
/// `communication`, `opcode_line` and `data_access` have them afterwards, as in a database that was built
/// with --detail pairs. Rows of before are replaced. A run of 100 M steps takes some 200 MB to 1 GB.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Only these steps, by number, and the communications that they read; calls are of the whole run
    #[arg(long, value_name = "FIRST..LAST", value_parser = options::range)]
    range: Option<(i64, i64)>,
    /// Steps and communications only while one of these functions, or what it calls, runs
    #[arg(long, value_name = "FUNCTION,...")]
    functions: Vec<String>,
    #[arg(long, default_value = "all")]
    level: Level,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let trust = args.database.trust();
    let opening = Opening { mode: Mode::Write, trust, ..Opening::READ };
    let db = open::open_as(&args.database.db, opening)?;
    let path = args.database.db.display();
    if !packed::is_packed(&db)? {
        anyhow::bail!("{path} has no packed run: {}", open::why_no_steps(&db)?);
    }
    let inside = match args.functions.as_slice() {
        [] => BTreeSet::new(),
        words => cut::choose(&db, words)?,
    };
    let steps = args.range.map_or(0..=u64::MAX, |(first, last)| {
        first.max(0).unsigned_abs()..=last.max(0).unsigned_abs()
    });
    let (detail, low) = match args.level {
        Level::Low => (Detail::Instance, true),
        Level::Middle => (Detail::Pairs, false),
        // What is there already stays.
        Level::All if !packed::lacks(&db, &Wanted::all(Detail::Full))? => (Detail::Full, true),
        Level::All => (Detail::Pairs, true),
    };
    packed::stored(&db, &Wanted { low, steps, inside, ..Wanted::all(detail) }, Limit::new(0))?;
    if !args.quiet {
        let count = |table| -> duckdb::Result<String> {
            let sql = format!("SELECT count(*) FROM {table}");
            Ok(human_count(db.query_row(&sql, [], |r| r.get(0))?))
        };
        say!(
            "addfg: {path}: {} calls, {} communications, {} runs of blocks",
            count("function_call")?,
            count("communication_row")?,
            count("block_run")?
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows on a terminal how far a pass over a packed run is, from one second on.
pub fn show_progress() {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let shown: Mutex<Option<(Instant, ProgressBar)>> = Mutex::new(None);
    packed::on_progress(move |done, steps| {
        let Ok(mut shown) = shown.lock() else { return };
        if done >= steps {
            if let Some((_, bar)) = shown.take() {
                bar.finish_and_clear();
            }
            return;
        }
        let (began, bar) = shown.get_or_insert_with(|| (Instant::now(), ProgressBar::hidden()));
        if bar.is_hidden() && began.elapsed() > Duration::from_secs(1) {
            let style = "{bar:30} {human_pos} of {human_len} steps, {eta} left";
            *bar = ProgressBar::new(steps).with_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
        }
        bar.set_position(done);
    });
}
