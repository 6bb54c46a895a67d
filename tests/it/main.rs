//! The integration tests: one program, so that the crate is linked once; a module for each subject.

mod common;

mod allocations;
mod arm;
mod bottom_up;
mod csi;
mod cut;
mod dcfg;
mod export;
mod files;
mod fir;
mod foreign;
mod formats;
#[path = "../../fuzz/mod.rs"]
mod fuzz;
mod graph;
mod inputs;
mod installed;
mod library;
mod limits;
mod memory;
mod naive;
mod oracle;
mod overview;
mod plugin;
mod property;
mod qemu;
mod record;
mod recorder;
mod registers;
mod replay;
mod report;
mod reports;
mod rooms;
mod said;
mod schema;
mod schema_page;
mod sqlite;
mod stream;
mod symbols;
mod through;
mod verify;
mod views;
mod wet;
mod xray;
