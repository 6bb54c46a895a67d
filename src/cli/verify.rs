use super::database::Database;
use crate::query;
use crate::replay::Twice;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Recomputes the derived levels with SQL and compares them with what the build stored
///
/// The SQL is in queries/derive. From the low level alone it derives call instances, last writers,
/// saved registers, communications, intervals, dataflow and their sums anew, in windows of the run.
/// Exit code 1 if anything differs, or if a function has more
/// inclusive steps than the run. Where the packed run has rows, too, both are compared.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Memory for tables, in MiB; what is more is spilled to disk
    #[arg(long, value_name = "MIB", default_value_t = 640)]
    memory_limit: u64,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    crate::views::rows::ensure(&db, crate::load::Detail::Pairs)?;
    let mut out = super::output::stdout();
    if let Some(reason) = query::not_applicable(&db)? {
        writeln!(out, "not applicable: {reason}")?;
        return Ok(ExitCode::SUCCESS);
    }
    // Less than this is not enough for the rows of one window.
    anyhow::ensure!(
        args.memory_limit >= 256,
        "--memory-limit {}: 256 MiB at least",
        args.memory_limit
    );
    db.execute_batch(&format!("SET memory_limit = '{}MiB'", args.memory_limit))?;
    let bar =
        if std::io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let style = "{bar:30} {percent} %, {eta} left";
    bar.set_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let verdicts = query::verify(&db, query::WINDOW, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let mut holds = true;
    for v in verdicts? {
        let word = if v.holds() { "equal" } else { "DIFFERENT" };
        writeln!(
            out,
            "{:20} {word:9} {} rows, {} only stored, {} only derived",
            v.table, v.equal, v.extra, v.missing
        )?;
        for example in &v.examples {
            writeln!(out, "    {}", crate::text::visible(example))?;
        }
        holds &= v.holds();
    }
    if let Some(twice) = Twice::compare(&db)? {
        let Twice { equal, only_rows, only_chunks, first } = twice;
        let word = if first.is_none() { "equal" } else { "DIFFERENT" };
        let at = first.map_or(String::new(), |step| format!(", first at step {step}"));
        writeln!(
            out,
            "{:20} {word:9} {equal} runs of blocks, {only_rows} only in block_run, {only_chunks} only in run_chunk{at}",
            "run_chunk"
        )?;
        holds &= first.is_none();
    }
    for (line, possible) in query::inclusive(&db)? {
        let word = if possible { "note" } else { "IMPOSSIBLE" };
        writeln!(out, "{:20} {word:9} {}", "inclusive steps", crate::text::visible(&line))?;
        holds &= possible;
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
