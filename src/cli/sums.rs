//! `record --sums`: what the recorder itself has added up, written and compared.

use super::build::say_problems;
use super::say::say;
use super::screen::Screen;
use super::signals;
use crate::load::live::{
    Asked, Database, FlowSums, FunctionSums, Given, LiveSums, Purpose, Told, Wanted,
};
use crate::query;
use crate::record::recorder::Recorder;
use crate::record::{self, Finished, Plan, Recording};
use crate::store::open;
use crate::text::visible;
use anyhow::Context;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is wanted of sums without a recording.
pub struct Only<'a> {
    /// A database; None: text only.
    pub database: Database,
    /// The file for the sums as text.
    pub text: Option<&'a Path>,
    pub quiet: bool,
    /// The hottest functions and edges are shown every second.
    pub live: bool,
    pub asked: Arc<Asked>,
}

/// From now on SIGUSR1 asks for a snapshot; it does nothing while nothing runs. `several`: of several processes there
/// are none.
pub fn asked_by_signal(several: bool) -> Arc<Asked> {
    let asked = Arc::<Asked>::default();
    let for_signal = asked.clone();
    signals::on_user_signal(move || match several {
        true => say!("addfg: there are no snapshots of several processes (--follow)"),
        false => for_signal.ask(Purpose::Database),
    });
    asked
}

/// Runs a program of which only the sums are wanted.
pub fn only(recorder: &Recorder, plan: &Plan, only: Only) -> anyhow::Result<ExitCode> {
    let Only { database, text, quiet, live, asked } = only;
    let output = database.options.output.clone();
    let mut screen = Screen::default();
    let lost = Arc::new(AtomicBool::new(false));
    let lost_there = lost.clone();
    let told = move |told: Told| match told {
        Told::Look(sums) => screen.show(sums),
        Told::Snapshot(to, Ok(report)) => {
            say!("addfg: {}: a snapshot, {} steps", to.display(), report.steps);
        }
        Told::Snapshot(to, Err(error)) => {
            lost_there.store(true, Ordering::Relaxed);
            say!("addfg: {}: no snapshot: {error}", to.display());
        }
    };
    let wanted = Wanted {
        database: Some(database),
        asked: asked.clone(),
        given: if text.is_some() { Given::Named } else { Given::Nothing },
        told: Box::new(told),
    };
    let recording = Recording::start_sums(recorder, plan, wanted)?;
    signals::hand_on(recording.program());
    if live && std::io::stderr().is_terminal() {
        look_each_second(asked);
    }
    let Finished { status, said, sums, .. } = recording.finish(quiet, true)?;
    said.iter().for_each(|line| say!("{line}"));
    let sums = sums.context("the recorder takes no sums")?.context("what the recorder adds up")?;
    let sums = sums.sums;
    // As a shell and valgrind say that there is no such program.
    let not_run = !sums.is_whole && matches!(status.code(), Some(126 | 127));
    anyhow::ensure!(!not_run, "{}: it was not run ({status})", plan.name);
    if let Some(text) = text {
        write(text, &sums)?;
    }
    let exact = say_inexact(&sums);
    if let Some(report) = sums.report {
        let report = report?;
        say_problems(&report, quiet);
        if !quiet {
            say!(
                "addfg: {}: {} steps, {} calls of {} functions; see them: addfg graph {0} -o {}",
                output.display(),
                report.steps,
                report.calls,
                report.functions,
                output.with_extension("svg").display()
            );
        }
    }
    let code = record::exit_code(status);
    let whole = exact && !lost.load(Ordering::Relaxed);
    Ok(ExitCode::from(if whole || code != 0 { code } else { 1 }))
}

/// Asks for the sums each second, until the process ends.
fn look_each_second(asked: Arc<Asked>) {
    let look = move || {
        let mut pause = Duration::from_secs(1);
        loop {
            std::thread::sleep(pause);
            let begun = Instant::now();
            asked.ask(Purpose::Look);
            while asked.is_waiting(Purpose::Look) {
                std::thread::sleep(Duration::from_millis(10));
            }
            // The program waits meanwhile: for a fifth of the time at most.
            pause = Duration::from_secs(1).max(4 * begun.elapsed());
        }
    };
    // Without the thread nothing is shown.
    let _ = std::thread::Builder::new().spawn(look);
}

/// Says what of the sums is not exact; gives whether all is.
pub fn say_inexact(sums: &LiveSums) -> bool {
    sums.problems.iter().for_each(|problem| say!("addfg: the sums are not exact: {problem}"));
    if !sums.is_whole {
        say!("addfg: the recorder has not sent all of its sums: the program was killed");
    }
    sums.is_whole && sums.problems.is_empty()
}

/// Rows of a table that are shown where it differs.
const SHOWN: usize = 8;

/// Says where the sums are other than what the database has; gives whether they are, or are not exact.
pub fn check(database: &Path, sums: &LiveSums) -> anyhow::Result<bool> {
    let connection = open::open(database, false)?;
    let mut differs = !sums.is_whole || !sums.problems.is_empty();
    let shown = |numbers: &[i64]| match numbers {
        [] => "none".to_owned(),
        _ => numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" "),
    };
    for table in query::live::compare(&connection, sums)? {
        let apart = table.columns.iter().zip(table.apart());
        let apart: Vec<String> = apart.map(|(column, off)| format!("{column} {off}")).collect();
        say!(
            "addfg: {}: {} rows equal, {} differ; apart by {}",
            table.table,
            table.equal,
            table.different.len(),
            apart.join(", ")
        );
        for row in table.different.iter().take(SHOWN) {
            let key = row.key.join(" -> ");
            say!("    {key}: summed {}, built {}", shown(&row.live), shown(&row.built));
        }
        differs |= !table.different.is_empty();
    }
    Ok(differs)
}

/// Writes the sums as lines of words with tabs between. Names have no tabs and no ends of lines of their own.
pub fn write(path: &Path, sums: &LiveSums) -> anyhow::Result<()> {
    let mut text = String::new();
    for ((writer, reader, via), row) in &sums.flows {
        let FlowSums { bytes, unique_bytes, transfers, addresses } = row;
        let unknown = |number: &u64| match sums.no_unique {
            true => String::new(),
            false => number.to_string(),
        };
        let numbers =
            [bytes.to_string(), unknown(unique_bytes), transfers.to_string(), unknown(addresses)];
        let [writer, reader, via] = [writer, reader, via].map(|name| visible(name));
        writeln!(text, "flow\t{writer}\t{reader}\t{via}\t{}", numbers.join("\t"))?;
    }
    for (name, row) in &sums.functions {
        let FunctionSums { calls, steps_self, steps_total, written_bytes } = row;
        let numbers = [calls, steps_self, steps_total, written_bytes].map(u64::to_string);
        writeln!(text, "function\t{}\t{}", visible(name), numbers.join("\t"))?;
    }
    for ((caller, callee, kind), row) in &sums.calls {
        let [caller, callee, kind] = [caller, callee, kind].map(|name| visible(name));
        writeln!(text, "call\t{caller}\t{callee}\t{kind}\t{}\t{}", row.calls, row.steps)?;
    }
    for (chain, row) in &sums.contexts {
        writeln!(text, "context\t{}\t{}\t{}", visible(chain), row.calls, row.steps_self)?;
    }
    for problem in &sums.problems {
        writeln!(text, "problem\t{problem}")?;
    }
    if !sums.is_whole {
        writeln!(text, "problem\tthe recorder has not sent all")?;
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_tabs_and_no_ends_of_lines() {
        let mut sums = LiveSums { is_whole: true, ..LiveSums::default() };
        let key = ["<read: a\tb>", "f\ng", "heap"].map(str::to_owned).into();
        sums.flows.insert(key, FlowSums { bytes: 4, ..FlowSums::default() });
        sums.functions.insert("a\tb".into(), FunctionSums::default());
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(file.path(), &sums).expect("it is written");
        let text = std::fs::read_to_string(file.path()).expect("it is read");
        let lines = ["flow\t<read: a\\tb>\tf\\ng\theap\t4\t0\t0\t0", "function\ta\\tb\t0\t0\t0\t0"];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}
