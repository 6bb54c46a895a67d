//! What can go wrong with a lake.

use crate::store::StoreError;
use crate::store::open::OpenError;

#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("cannot write {path}")]
    Write { path: String, source: std::io::Error },
    #[error("cannot read {path}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} is not a lake: `addfg collect DB -o {path}` makes one")]
    NoLake { path: String },
    #[error(
        "{path} exists but is not a lake: -o names a new folder, or one that `addfg collect` made"
    )]
    Occupied { path: String },
    #[error(
        "{path} does not say what the lake's tables are: {what}; put it back from a copy, or collect the databases into a new folder"
    )]
    Schema { path: String, what: String },
    #[error("{path} is damaged or missing: remove {list}, and collect the run again")]
    Broken { path: String, list: String },
    #[error("{path} has lake version {found}, this addfg knows version {known}: use a newer addfg")]
    Newer { path: String, found: u64, known: u64 },
    #[error(
        "{path} has lake version {found}, this addfg reads version {known}: collect the databases again into a new folder"
    )]
    Older { path: String, found: u64, known: u64 },
    #[error(
        "{path} is not a list of a run as addfg writes it: {what}; remove it, and collect the run again"
    )]
    Manifest { path: String, what: String },
    #[error("{path} holds no steps for --with-steps: {why}")]
    NoSteps { path: String, why: String },
    #[error(transparent)]
    Build(#[from] crate::load::BuildError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("`{text}` is not a label: write NAME=VALUE, the name in letters, digits and _ ")]
    Label { text: String },
    #[error("the label {name} is given twice")]
    LabelTwice { name: String },
    #[error("`{text}` is not a name of a program: letters, digits, and . _ + - behind the first")]
    Program { text: String },
    #[error("no run of the lake has {wanted}; its labels: {known}")]
    NoRuns { wanted: String, known: String },
    #[error(transparent)]
    Question(#[from] crate::views::ViewError),
    #[error(transparent)]
    Rule(#[from] super::rule::RuleError),
    #[error("{path} has no function `{name}`{hint}")]
    NoFunction { path: String, name: String, hint: String },
    #[error(
        "{path} has several functions `{name}`: {candidates}; name one of them in full, or all with `glob:`"
    )]
    Ambiguous { path: String, name: String, candidates: String },
    #[error("invalid pattern `{name}`: {why}")]
    Pattern { name: String, why: String },
    #[error("the lake has no label `{name}`; its labels: {known}")]
    NoLabel { name: String, known: String },
    #[error("no run has {label}={value}; values of {label}: {known}")]
    NoValue { label: String, value: String, known: String },
    #[error("runs of {label}={before} and of {label}={after} cannot be compared: {why}")]
    NoContext { label: String, before: String, after: String, why: String },
    #[error("all runs have {label}={value}: a change needs runs of two values")]
    OneValue { label: String, value: String },
    #[error("both sides are {label}={value}: name two values of {label}")]
    SameSide { label: String, value: String },
    #[error("rule `{rule}`: {why}")]
    Reference { rule: String, why: String },
}
