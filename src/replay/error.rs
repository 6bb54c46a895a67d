use crate::store::chunk::ChunkError;

/// Why a run cannot be gone through again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error(transparent)]
    Rows(#[from] crate::load::BuildError),
    #[error("this database keeps no steps: {why}")]
    NoSteps { why: String },
    #[error("database: column {column} of {table} is not of the type that this addfg writes")]
    Type { table: &'static str, column: &'static str },
    #[error(
        "this database has no register values, which say what allocation functions were asked for and gave: {why}"
    )]
    NoValues { why: String },
    #[error("database: an access of {0} bytes, which is more than any instruction makes")]
    Access(u32),
    #[error("database: run_chunk at step {first}: {source}")]
    Chunk { first: i64, source: ChunkError },
    #[error("database: {what} {id} is not there")]
    Missing { what: &'static str, id: i64 },
    #[error("database: more files are mapped above each other than can be told apart")]
    Mappings,
}

/// No instruction accesses so many bytes at once; something is kept of each of them.
const MOST_BYTES: u32 = 1 << 16;

/// The bytes of an access.
pub(super) fn size(bytes: u32) -> Result<u32, ReplayError> {
    if bytes < MOST_BYTES { Ok(bytes) } else { Err(ReplayError::Access(bytes)) }
}

/// Ids are dense: one far beyond the `known` others is of a damaged database. Lists in order of ids
/// would grow by all between.
pub(super) fn dense(index: usize, known: usize, what: &'static str) -> Result<(), ReplayError> {
    if index <= 2 * known + (1 << 20) {
        return Ok(());
    }
    let id = i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1);
    Err(ReplayError::Missing { what, id })
}

/// A place for an id in a list in order of ids.
pub(crate) fn slot<'a, T: Default>(
    list: &'a mut Vec<T>,
    index: usize,
    what: &'static str,
) -> Result<&'a mut T, ReplayError> {
    dense(index, list.len(), what)?;
    if index >= list.len() {
        list.resize_with(index + 1, T::default);
    }
    Ok(&mut list[index])
}
