//! Intel's dynamic control-flow graphs (DCFG 1.00 and before) and DCFG-traces.
//!
//! `read` reads the graph, a JSON document, which `check` checks; `trace` streams the DCFG-trace,
//! whose edge sequences `sequence` decodes.

mod check;
pub mod graph;
pub mod json;
pub mod notes;
mod read;
mod routines;
mod sequence;
pub mod trace;

use super::Format;
use super::input::Input;
use crate::event::Carries;

pub use graph::EdgeKind;
pub use read::read_graph;

pub struct Dcfg;

fn has(head: &[u8], key: &str) -> bool {
    memchr::memmem::find(head, format!("\"{key}\"").as_bytes()).is_some()
}

fn is_trace_head(head: &[u8]) -> bool {
    has(head, "STRING_DICTIONARY") || has(head, "TRANSITION_TABLE")
}

/// Whether an input is a DCFG-trace, else it is a graph.
pub fn is_trace(input: &Input) -> bool {
    is_trace_head(input.head())
}

impl Format for Dcfg {
    fn name(&self) -> &'static str {
        "dcfg"
    }
    fn about(&self) -> &'static str {
        "Intel SDE or PinPlay: dynamic control-flow graph (DCFG), with its DCFG-trace if there is one"
    }
    fn record(&self) -> &'static str {
        "sde -dcfg 1 -dcfg:write_trace 1 -- app; addfg export DB --to dcfg"
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, calls: true, threads: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let begins = head.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        begins
            && (has(head, "MAJOR_VERSION")
                && (has(head, "PROCESSES")
                    || has(head, "FILE_NAMES")
                    || has(head, "MINOR_VERSION"))
                || has(head, "PROCESS_DATA")
                || has(head, "EDGE_TYPES")
                || is_trace_head(head))
    }
    fn help(&self) -> &'static str {
        include_str!("../../../docs/dcfg.md")
    }
}
