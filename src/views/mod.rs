//! Views that are more than a level of the graph: each a query or a pass over the run, and what
//! draws it.

pub mod calls;
pub mod critical;
pub mod cut;
pub mod diff;
pub mod flows;
pub mod grouped;
pub mod info;
pub mod instances;
pub mod library;
pub mod listing;
pub mod loops;
pub mod matrix;
pub mod memory;
pub mod needs;
pub mod objects;
pub mod paths;
pub mod plan;
pub mod prepare;
pub mod rows;
pub mod sites;
pub mod slice;
pub mod start_up;

/// A query of `queries/report`.
macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../queries/report/", $name, ".sql"))
    };
}
use report;

use crate::id::FunctionId;
use duckdb::{Connection, OptionalExt};

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error(transparent)]
    Open(#[from] crate::store::open::OpenError),
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    #[error(transparent)]
    Replay(#[from] crate::replay::ReplayError),
    #[error(transparent)]
    Rows(#[from] crate::load::BuildError),
    #[error(
        "`{name}` has no rows here: the run of {steps} steps is packed, and too long to make them for one statement. \
         `addfg rows DB --range FIRST..LAST` or `--functions F,G` makes those of a part, `addfg rows DB` all; \
         commands like flows, cut and slice need none. In `addfg sql`, communications('F', 'G'), calls_of('F'), and \
         steps(FIRST, LAST) and accesses(FIRST, LAST) with numbers, read the packed run"
    )]
    NoRows { name: String, steps: i64 },
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error("`{text}` is not a step, address, FILE:LINE or variable of this run: {hint}")]
    NoCriterion { text: String, hint: String },
    #[error("`{text}` may be {all}: write FILE:LINE, FILE:VARIABLE or 0xADDRESS of one")]
    SeveralCriteria { text: String, all: String },
    #[error(
        "this database has no {what}: its trace ({format}) tells of none; addfg record -- ./app, or QEMU, records them"
    )]
    NotRecorded { what: &'static str, format: String },
    #[error(
        "this trace has no times of calls: record one with clang's XRay (`addfg formats xray`), or leave out --times for steps"
    )]
    NoTimes,
    #[error(
        "this database keeps no single dependences: --sum sums them, or build it with --detail pairs"
    )]
    NoDependences,
    #[error(
        "this database keeps no single communications (detail {detail}) and no steps to find them: --sum sums them, or build it without --no-steps"
    )]
    NoCommunications { detail: String },
    #[error(
        "this database sums data by function (detail summary), not by instruction, and keeps no steps: build it without --no-steps"
    )]
    OnlyFunctions,
    #[error(
        "this database keeps no communications inside a call (detail {detail}): --sum sums them, or build it with --detail full"
    )]
    NoneInside { detail: String },
    #[error(
        "single communications need the steps, which this database does not keep: {why}; --sum sums them"
    )]
    NoSteps { why: String },
    #[error(
        "this database has no paths: build it from a program that csi-cc --trace=pt compiled, with a dump of its frames (docs/csi.md); \
         `addfg graph --level block` draws the control flow of traces of steps"
    )]
    NoPaths,
    #[error("`{text}`: a set has functions, not single calls: leave out the #N")]
    NoSet { text: String },
    #[error("a call of the writing function cannot be chosen, only one of the reading function")]
    InstanceOfWriter,
    #[error(
        "`{text}` is a set of functions, and a call is chosen of one function only: leave out the #N or --instance"
    )]
    NoInstanceOfSet { text: String },
    #[error(
        "the set has no function: name one, or FILE:NAME, @ADDRESS, a pattern with * or ?, a source file"
    )]
    EmptySet,
    #[error("{names}: none of these ran; `addfg info` lists what did")]
    NeverEntered { names: String },
    #[error(
        "this database keeps no single communications (detail {detail}) and no steps to find them: build it without --no-steps; `addfg graph --group` sums what it keeps"
    )]
    CutDetail { detail: String },
    #[error(
        "what a set exchanges is counted over all steps, and this export has rows of a part of them: `addfg rows DB` makes all in the database that it was made of"
    )]
    CutPart,
    #[error(
        "this database has no {what}, by which a plan is priced: record steps and accesses, with `addfg record` or QEMU"
    )]
    PlanLacks { what: &'static str },
    #[error(
        "no memory is named {name}: this run accessed {known}; `addfg build --memory` and `--memory-map` name memories"
    )]
    NoMemory { name: String, known: String },
    #[error("none of these functions ran; `addfg info` lists what did")]
    PlanNeverRan,
    #[error("there is no query @{name}; {known}")]
    NoQuery { name: String, known: String },
    #[error("{text}: `addfg sql DB {usage}`")]
    Parameters { usage: String, text: String },
    #[error(
        "@{query} asks for calls: build the database with --detail {needs} (it has {detail}), or without --no-steps"
    )]
    QueryNeeds { query: &'static str, detail: String, needs: &'static str },
    #[error("@{query} needs the steps, which this database does not keep: {why}")]
    QuerySteps { query: &'static str, why: String },
}

/// Names of those of the functions that did not run.
pub fn never_ran(connection: &Connection, functions: &[FunctionId]) -> duckdb::Result<Vec<String>> {
    let mut statement = connection.prepare(report!("ran"))?;
    let mut names = Vec::new();
    for function in functions {
        let row = statement.query_row([function], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
        names.extend(row.and_then(|(name, ran): (String, bool)| (!ran).then_some(name)));
    }
    Ok(names)
}
