//! Many runs in one folder: their high level as Parquet files that DuckDB, Spark and others read,
//! and questions across them (docs/reach.md).

mod code;
mod error;
mod folder;
mod label;
mod manifest;
mod names;
mod newest;
mod packed;
mod rule;
mod tables;

pub mod check;
pub mod collect;
pub mod compare;
pub mod coverage;
pub mod each;
pub mod findings;
pub mod open;
pub mod pack;
pub mod plot;
pub mod points;
pub mod questions;
pub mod steps;

pub use error::LakeError;
pub use folder::{is_lake, spill};
pub use label::{Label, Labels, labels};
pub use manifest::Manifest;
pub use open::Lake;
pub use rule::Rule;
pub use tables::{collected, views};
