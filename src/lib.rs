//! Aggregated dynamic data flow graphs from execution traces: which function's data each function
//! consumed, how many bytes, through what, in which call.
//!
//! # The rooms
//!
//! They follow the data; each may use those before it, none those after it.
//!
//! | room | what it does |
//! |---|---|
//! | [`id`], [`diagnostics`], [`text`], [`files`], [`event`] | ids, problems met, text for people, files that are whole or not there, the words that readers speak |
//! | [`registers`] | the registers of each instruction set, and their names |
//! | [`trace`] | parses logs, one file a format: bytes to records, and nothing more |
//! | [`image`] | what ELF and DWARF know: functions, sections, variables, lines |
//! | [`isa`] | what an instruction touches: registers, memory, control |
//! | [`analysis`] | the streaming pass: calls, saved registers, last writers, sums |
//! | [`store`] | the database: tables, one row struct each; SQLite |
//! | [`load`] | `addfg build`: from records to rows |
//! | [`record`] | `addfg record`: runs a program under the recorder |
//! | [`query`] | the SQL that defines the derived tables, and `addfg verify` |
//! | [`replay`] | the run once more, from the database: slices, loops, memory, the critical path |
//! | [`graph`] | a level of the database as a graph, so small that a person can read it |
//! | [`render`] | graphs as DOT, JSON, GraphML; rows as tables; pictures |
//! | [`views`] | what is more than a level of the graph: listings, slices, timelines |
//! | [`export`], [`report`] | files of other programs; the HTML page |
//! | [`lake`] | many runs in one folder of Parquet files, and questions across them |
//! | [`cli`] | the commands: one file each, its arguments and what it runs |
//!
//! `docs/semantics.md` says what is computed, `ARCHITECTURE.md` why it is built like this.
//!
//! # Example
//!
//! A database of the recording in `examples/fir`, and who gives bytes to whom:
//!
//! ```
//! use addfg::internals::graph::{self, Selection};
//! use addfg::internals::load::{self, Detail, ElfInput, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("addfg-tour-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let output = folder.join("fir.duckdb");
//! let options = Options {
//!     traces: vec!["examples/fir/fir.log.xz".into()],
//!     elfs: vec![ElfInput { path: "examples/fir/fir".into(), bias: None }],
//!     detail: Detail::Instance,
//!     ..Options::new(output.clone())
//! };
//! let report = load::load(&options, &mut |_progressed| false)?;
//! assert_eq!(report.steps, 401);
//!
//! let connection = addfg::internals::store::open::open(&output, false)?;
//! let graph = graph::load(&connection, &Selection::default())?;
//! let flows: Vec<String> = graph
//!     .edges()
//!     .into_iter()
//!     .filter(|(_, _, edge)| edge.bytes() > 0)
//!     .map(|(from, to, edge)| {
//!         let name = |node: petgraph::graph::NodeIndex| &graph.graph[node].name;
//!         format!("{} -> {}: {} bytes", name(from), name(to), edge.bytes())
//!     })
//!     .collect();
//! assert!(flows.iter().any(|flow| flow.starts_with("produce -> fir: ")), "{flows:#?}");
//! # drop(connection);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```

mod analysis;
mod cli;
mod diagnostics;
mod event;
mod export;
mod files;
mod graph;
mod id;
mod image;
mod isa;
mod lake;
mod load;
mod paths;
mod query;
mod record;
mod registers;
mod render;
mod replay;
mod report;
mod store;
mod text;
mod trace;
mod views;

#[doc(hidden)]
pub mod internals;
