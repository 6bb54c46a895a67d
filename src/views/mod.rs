//! Views that are more than a level of the graph: each a query or a pass over the run, and what
//! draws it.

pub mod calls;
pub mod critical;
pub mod diff;
pub mod loops;
pub mod matrix;
pub mod memory;
pub mod paths;
pub mod slice;

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error(transparent)]
    Open(#[from] crate::store::open::OpenError),
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
    #[error(transparent)]
    Replay(#[from] crate::replay::ReplayError),
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error("`{text}` is no step, address, FILE:LINE or variable of this run: {hint}")]
    NoCriterion { text: String, hint: String },
}
