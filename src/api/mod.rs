//! What programs that use this crate see of it: traces, sums, databases, graphs.

#![warn(missing_docs)]

mod database;
mod error;
mod flows;
mod format;
mod graph;
mod problem;
mod trace;

pub use crate::graph::{Level, Via};
pub use crate::load::{Detail, Progressed as Progress};
pub use database::{Database, Rows, Value};
pub use error::Error;
pub use flows::{Call, Flow, Flows, Function};
pub use format::{Format, Header, InstructionSet, Step, Steps};
pub use graph::{Edge, EdgeKind, Graph, Node, Selection};
pub use problem::Problem;
pub use trace::{Access, Built, Executed, Trace};
