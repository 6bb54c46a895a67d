//! What is asked of a page, and why there is none.

use crate::graph::GraphError;
use crate::views::ViewError;
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
    /// Rows of the views Loops, Objects and Changes.
    pub rows: usize,
    /// Steps of a run that is gone through for what happens to memory, and for what loops carry.
    pub replayed: Replayed,
    /// What the page's run is compared with, in words, where a second database is attached
    /// ([`crate::store::open::open_both`]).
    pub against: Option<String>,
    /// Functions that are one node of the graph and the matrix, and whose cuts the page has: each group by
    /// its name and the words for its functions ([`crate::views::cut::choose`]).
    pub groups: Vec<(String, Vec<String>)>,
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
            rows: 2000,
            replayed: Replayed::default(),
            against: None,
            groups: Vec::new(),
            sources: Vec::new(),
        }
    }
}

/// Steps of the longest run that is gone through once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// For what happens to memory: a few million steps take a second.
    pub memory: i64,
    /// For what loops carry, which takes up to ten times as long.
    pub carried: i64,
}

impl Replayed {
    pub const ALL: Replayed = Replayed { memory: i64::MAX, carried: i64::MAX };
}

impl Default for Replayed {
    fn default() -> Replayed {
        Replayed { memory: 20_000_000, carried: 2_000_000 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("{0}")]
    Graph(#[from] GraphError),
    #[error("{0}")]
    View(#[from] ViewError),
}
