//! Why there is no graph.

use crate::replay::ReplayError;

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("no function is named `{name}`; {hint}")]
    NoFunction { name: String, hint: String },
    #[error("`{text}` is not an address; write it in hexadecimal, as in @0x401136")]
    NoAddress { text: String },
    #[error(
        "`{name}` may be any of: {candidates}; name one of them in full, as FILE:NAME or as @ADDRESS"
    )]
    Ambiguous { name: String, candidates: String },
    #[error("`{name}` was called {calls} times: there is no instance {instance}")]
    NoInstance { name: String, instance: i32, calls: i64 },
    #[error("this is of all calls of `{name}`, not of its call {instance}: leave out #{instance}")]
    NotOfCall { name: String, instance: i32 },
    #[error(
        "the level {level} is of all calls of a function: leave out #N, or take the level function, instance or step"
    )]
    LevelOfAllCalls { level: &'static str },
    #[error("`{name}` is a stub and merged into its callers; --stubs show draws it")]
    MergedStub { name: String },
    #[error("`{name}` did not run, or nothing is known of it at this level")]
    NotInGraph { name: String },
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(
        "step level draws part of the run: name it with --range FIRST..LAST (step numbers), or a call with --focus FUNCTION#N"
    )]
    NoRange,
    #[error("{steps} steps are too many for a picture of steps; {limit} at most")]
    RangeTooLong { steps: i64, limit: i64 },
    #[error(
        "this database keeps no call instances: record, or build, without --no-steps or with --detail instance, from a trace that has steps or \
         calls (addfg record -- ./app, QEMU and simulators have steps)"
    )]
    NoInstances,
    #[error(
        "this database sums data and calls by function (detail summary) and keeps no steps: record, or build, without --no-steps"
    )]
    OnlyFunctions,
}
