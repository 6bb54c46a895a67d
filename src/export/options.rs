//! What is asked of an export.

/// What is asked of an export beside its format.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Tables and views to write, where each is a file; empty: all but those that unpack every
    /// step.
    pub tables: Vec<String>,
    /// Arrows from writing to reading calls at most, those with the most bytes first; None: all.
    pub arrows: Option<u64>,
}
