//! `record --sums`: what the recorder itself has added up, written and compared.

use super::say::say;
use super::signals;
use crate::load::live::{FlowSums, FunctionSums, LiveSums};
use crate::query;
use crate::record::recorder::Recorder;
use crate::record::{self, Finished, Plan, Recording};
use crate::store::open;
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs a program of which only the sums are wanted.
pub fn only(recorder: &Recorder, plan: &Plan, to: &Path, quiet: bool) -> anyhow::Result<ExitCode> {
    let recording = Recording::start_sums(recorder, plan)?;
    signals::hand_on(recording.program());
    let Finished { status, said, sums } = recording.finish(quiet)?;
    said.iter().for_each(|line| say!("{line}"));
    let sums = sums.context("the recorder takes no sums")?.context("what the recorder adds up")?;
    write(to, &sums)?;
    let exact = say_inexact(&sums);
    let code = record::exit_code(status);
    Ok(ExitCode::from(if exact || code != 0 { code } else { 1 }))
}

/// Says what of the sums is not exact; gives whether all is.
pub fn say_inexact(sums: &LiveSums) -> bool {
    sums.problems.iter().for_each(|problem| say!("addfg: the sums are not exact: {problem}"));
    if !sums.is_whole {
        let why = "the program became another one, or was killed";
        say!("addfg: the recorder has not sent all of its sums: {why}");
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

/// Writes the sums as lines of words with tabs between.
pub fn write(path: &Path, sums: &LiveSums) -> anyhow::Result<()> {
    let mut text = String::new();
    for ((writer, reader, via), row) in &sums.flows {
        let FlowSums { bytes, transfers } = row;
        writeln!(text, "flow\t{writer}\t{reader}\t{via}\t{bytes}\t{transfers}")?;
    }
    for (name, row) in &sums.functions {
        let FunctionSums { calls, steps_self, steps_total, written_bytes } = row;
        let numbers = [calls, steps_self, steps_total, written_bytes].map(u64::to_string);
        writeln!(text, "function\t{name}\t{}", numbers.join("\t"))?;
    }
    for ((caller, callee, kind), row) in &sums.calls {
        writeln!(text, "call\t{caller}\t{callee}\t{kind}\t{}\t{}", row.calls, row.steps)?;
    }
    for (chain, row) in &sums.contexts {
        writeln!(text, "context\t{chain}\t{}\t{}", row.calls, row.steps_self)?;
    }
    for problem in &sums.problems {
        writeln!(text, "problem\t{problem}")?;
    }
    if !sums.is_whole {
        writeln!(text, "problem\tthe recorder has not sent all")?;
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
