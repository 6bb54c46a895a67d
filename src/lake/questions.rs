//! Questions across runs that have a name: a file of `queries/lake` each, in SQL that DuckDB and
//! Spark answer alike.

use super::error::LakeError;
use super::open::Lake;
use crate::text::{visible, words};
use crate::views::ViewError;
use crate::views::library::{Query, no_query, query};
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
        let text = format!("`{}` is no measure: {}", visible(wrong), known.join(", "));
        return Err(ViewError::Parameters { usage, text }.into());
    }
    let listing = question.with(question.values(given)?);
    Ok((lake.database(question.sql)?, listing))
}
