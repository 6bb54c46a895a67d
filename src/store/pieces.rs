//! Packed bytes as rows of pieces: DuckDB has 2,048 rows of a table in memory at once, however large
//! they are, so that long runs in large rows would need more than a build may take.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::source::{Cells, Kind, Source, failed};
use crate::store::tables::RunPiece;

/// Chunks that this process has read, each as often as it was.
static READ: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a piece: larger ones make a chunk take longer to read, smaller ones take more room.
const PIECE: usize = 1024;

/// Bytes cut into pieces, with their numbers.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    (0..).zip(data.chunks(PIECE))
}

/// The rows of a chunk.
pub fn rows(first_seq: u64, data: &[u8]) -> impl Iterator<Item = RunPiece<'_>> {
    pieces(data).map(move |(piece, data)| RunPiece { first_seq, piece, data })
}

/// What the chunks with these first steps hold, each joined again, in order.
///
/// # Errors
/// Where the database cannot be read, or has none of one of the chunks.
pub fn chunks(source: &dyn Source, firsts: &[u64]) -> duckdb::Result<Vec<(u64, Vec<u8>)>> {
    let (Some(first), Some(last)) = (firsts.first(), firsts.last()) else { return Ok(Vec::new()) };
    let sql = "SELECT first_seq, data FROM run_piece WHERE first_seq BETWEEN ? AND ?
               ORDER BY first_seq, piece";
    let mut found = joined(source, sql, &[*first, *last])?;
    found.retain(|(of, _)| firsts.binary_search(of).is_ok());
    READ.fetch_add(found.len(), Ordering::Relaxed);
    if found.len() < firsts.len() { Err(duckdb::Error::QueryReturnedNoRows) } else { Ok(found) }
}

/// How many chunks this process has read, one that was read twice as two: what a question cost.
pub fn read() -> usize {
    READ.load(Ordering::Relaxed)
}

/// What one chunk holds.
///
/// # Errors
/// As [`chunks`].
pub fn chunk(source: &dyn Source, first: u64) -> duckdb::Result<Vec<u8>> {
    let found = chunks(source, &[first])?.pop();
    found.map(|(_, data)| data).ok_or(duckdb::Error::QueryReturnedNoRows)
}

/// Rows of pieces, each with what it is a piece of: those of one joined.
pub fn joined(
    source: &dyn Source,
    sql: &str,
    numbers: &[u64],
) -> duckdb::Result<Vec<(u64, Vec<u8>)>> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut other = false;
    source.read(sql, numbers, &[Kind::UBigInt, Kind::Blob], &mut |block| {
        let Ok([of, data]) = <[_; 2]>::try_from(block.columns) else { return other = true };
        let (Cells::UBigInt(of), Cells::Blob(data)) = (of.cells, data.cells) else {
            return other = true;
        };
        for (first, piece) in of.into_iter().zip(data) {
            match found.last_mut() {
                Some((of, data)) if *of == first => data.extend_from_slice(&piece),
                _ => found.push((first, piece)),
            }
        }
    })?;
    if other { Err(failed("pieces of a packed run are of another type")) } else { Ok(found) }
}
