//! Aggregated dynamic data flow graphs from execution traces.
//!
//! The rooms follow the data: [`trace`] reads a log into [`event`]s, [`isa`] says what each
//! instruction touches, [`image`] what the ELF knows, [`analysis`] finds calls and last writers,
//! [`store`] keeps the levels in DuckDB, [`query`] asks them, [`graph`] and [`render`] draw. Each
//! may use the rooms before it, none the rooms after it.

pub mod analysis;
pub mod cli;
pub mod diagnostics;
pub mod event;
pub mod export;
pub mod graph;
pub mod id;
pub mod image;
pub mod isa;
pub mod load;
pub mod paths;
pub mod query;
pub mod render;
pub mod replay;
pub mod report;
pub mod store;
pub mod text;
pub mod trace;
pub mod views;
