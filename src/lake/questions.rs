//! Questions across runs that have a name: a file of `queries/lake` each, in SQL that DuckDB and
//! Spark answer alike.

use super::error::LakeError;
use super::open::Lake;
use super::{coverage, names};
use crate::text::{visible, words};
use crate::views::ViewError;
use crate::views::library::{Kind, Query, no_query, query};
use crate::views::listing::Listing;
use duckdb::Connection;

macro_rules! questions {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of each, by theme.
        const TEXTS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../queries/lake/", $name, ".sql")))),+];
    };
}
questions!(
    "growth",
    "history",
    "range",
    "only_some",
    "changed",
    "regressed",
    "code_changed",
    "lines_changed",
    "variables_changed",
    "hot",
    "runs",
    "labels",
    "problems",
);

words! {
    /// Figures that runs are compared by, as the view `measure` has them.
    pub enum Measure {
        All = "all",
        /// Of a function itself
        Steps = "steps",
        Calls = "calls",
        /// Bytes read through a data edge
        Bytes = "bytes",
        /// Distinct bytes of storage of a data edge
        Buffer = "buffer",
        /// Of a loop
        Iterations = "iterations",
        /// Of a function and all below it
        StepsTotal = "steps_total",
        /// Bytes that a function wrote to memory
        Written = "written_bytes",
        /// Of these, those that nothing read
        Dead = "dead_bytes",
        /// Each byte of each write once for a reading instance
        Unique = "unique_bytes",
    }
}

/// All questions, by theme.
pub fn all() -> Vec<Query> {
    TEXTS.iter().filter_map(|(name, sql)| query(name, sql)).collect()
}

/// The one of this name.
pub fn find(name: &str) -> Result<Query, LakeError> {
    let missing = || {
        let names: Vec<_> = TEXTS.iter().map(|(name, _)| *name).collect();
        no_query(name, &names)
    };
    Ok(all().into_iter().find(|query| query.name == name).ok_or_else(missing)?)
}

/// A question with its parameters, and the database to ask.
pub fn ask(
    lake: &Lake,
    question: &Query,
    given: &[String],
) -> Result<(Connection, Listing), LakeError> {
    let place = question.parameters.iter().position(|p| p.name == "measure");
    let measure = place.and_then(|place| given.get(place)).filter(|m| Measure::parse(m).is_none());
    if let Some(wrong) = measure {
        let known: Vec<_> = Measure::ALL.iter().map(|m| m.name()).collect();
        let usage = format!("@{} {}", question.name, question.usage());
        let text = format!("`{}` is not a measure: {}", visible(wrong), known.join(", "));
        return Err(ViewError::Parameters { usage, text }.into());
    }
    let listing = question.with(question.values(&meant(lake, question, given)?)?);
    Ok((lake.database(question.sql)?, listing))
}

/// The words with the names of functions as the lake has them; refuses labels and values that no run
/// has.
pub fn meant(lake: &Lake, question: &Query, given: &[String]) -> Result<Vec<String>, LakeError> {
    question.values(given)?;
    let mut words: Vec<String> = Vec::new();
    let word = |i: usize| {
        let default = question.parameters[i].default.unwrap_or_default();
        given.get(i).map_or(default, String::as_str)
    };
    let place = |name: &str| question.parameters.iter().position(|p| p.name == name);
    let has_runs = lake.runs().next().is_some();
    if let Some(label) = place("label").map(word).filter(|_| has_runs) {
        match (place("before"), place("after")) {
            (Some(before), Some(after)) => {
                coverage::coverage(lake, label, word(before), word(after))?;
            }
            _ => coverage::known_label(lake, label)?,
        }
    }
    let mut connection = None;
    for (i, parameter) in question.parameters.iter().enumerate() {
        let text = word(i);
        let is_function = parameter.kind == Kind::Name && text != "-" && !text.starts_with("loop ");
        if !is_function || !has_runs {
            words.push(text.to_owned());
            continue;
        }
        let open = || lake.database("function call edge");
        let database = match connection.take() {
            Some(database) => database,
            None => open()?,
        };
        let found = names::find(&database, text, "true", "the lake")?;
        connection = Some(database);
        match &found[..] {
            [(name, file)] if !file.is_empty() => words.push(format!("{file}:{name}")),
            found if found.iter().all(|f| f.0 == found[0].0) => words.push(found[0].0.clone()),
            several => {
                let list: Vec<_> =
                    several.iter().take(8).map(|f| format!("`{}`", visible(&f.0))).collect();
                let (path, name) = ("the lake".to_owned(), visible(text).into_owned());
                return Err(LakeError::Ambiguous { path, name, candidates: list.join(", ") });
            }
        }
    }
    Ok(words)
}
