//! Aggregated dynamic data flow graphs from execution traces: which function's data each function
//! consumed, how many bytes, through what, in which call.
//!
//! The program `addfg` is this crate's; as a library it does four things:
//!
//! - [`Trace`] reads a recorded run, in any format that addfg knows or in one of yours ([`Format`]);
//! - [`Trace::flows`] adds it up, without a database: [`Flows`];
//! - [`Trace::build`] makes a [`Database`], which answers SQL and the queries that have a name;
//! - [`Database::graph`] gives a level of it as a [`Graph`].
//!
//! What is computed is in `docs/semantics.md`, the tables in `docs/schema.md`, and how the crate is
//! made in `ARCHITECTURE.md`. The examples are programs that you can begin with:
//! `examples/flows.rs` (who gives bytes to whom), `examples/format.rs` (a format of your own),
//! `examples/question.rs` (a database and a query).
//!
//! No type of another crate is part of this interface. Structs and enums may get more fields and
//! variants, and say so (`#[non_exhaustive]`).
//!
//! # Example
//!
//! A database of the recording in `examples/fir`, and who gives bytes to whom:
//!
//! ```
//! use addfg::{Database, EdgeKind, Selection, Trace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("addfg-tour-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let file = folder.join("fir.duckdb");
//! let built = Trace::new("examples/fir/fir.log.xz").elf("examples/fir/fir").build(&file)?;
//! assert_eq!(built.steps, 401);
//!
//! let graph = Database::open(&file)?.graph(&Selection::default())?;
//! let names: Vec<&str> = graph.nodes().map(|node| node.name).collect();
//! let mut flows = Vec::new();
//! for edge in graph.edges() {
//!     if let EdgeKind::Data { via, bytes, .. } = edge.kind {
//!         flows.push(format!("{} -> {}: {bytes} bytes ({via:?})", names[edge.from], names[edge.to]));
//!     }
//! }
//! assert!(flows.iter().any(|flow| flow.starts_with("produce -> fir: ")), "{flows:#?}");
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```

// The rooms' own documentation is for who reads the source.
#![allow(rustdoc::private_intra_doc_links)]

mod analysis;
mod api;
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
mod ranges;
mod record;
mod registers;
mod render;
mod replay;
mod report;
mod scan;
mod store;
mod text;
mod trace;
mod views;

#[doc(hidden)]
pub mod internals;

pub use api::*;
