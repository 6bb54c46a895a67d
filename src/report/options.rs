//! What is asked of a page, and why there is none.

use crate::graph::GraphError;
use std::path::PathBuf;

/// How much of each the page holds at most: what is beyond is summed up and said in the page.
#[derive(Clone, Debug)]
pub struct Options {
    /// Those with the most traffic.
    pub functions: usize,
    /// Data edges, and call edges.
    pub edges: usize,
    /// Calling contexts.
    pub contexts: usize,
    /// Bars of the timeline.
    pub bars: usize,
    /// Source lines, and flows between them.
    pub lines: usize,
    /// Folders in which source files are looked for; none: the page has no source text.
    pub sources: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            functions: 5000,
            edges: 100_000,
            contexts: 20_000,
            bars: 12_000,
            lines: 30_000,
            sources: Vec::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("{0}")]
    Graph(#[from] GraphError),
    #[error("{0}")]
    View(#[from] crate::views::ViewError),
}
