//! Packed bytes as rows of pieces: DuckDB has 2,048 rows of a table in memory at once, however large
//! they are, so that long runs in large rows would need more than a build may take.

use crate::store::tables::RunPiece;
use duckdb::{Connection, params};

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
pub fn chunks(connection: &Connection, firsts: &[u64]) -> duckdb::Result<Vec<(u64, Vec<u8>)>> {
    let (Some(first), Some(last)) = (firsts.first(), firsts.last()) else { return Ok(Vec::new()) };
    let sql = "SELECT first_seq, data FROM run_piece WHERE first_seq BETWEEN ? AND ?
               ORDER BY first_seq, piece";
    let mut found = joined(connection, sql, params![first, last])?;
    found.retain(|(of, _)| firsts.binary_search(of).is_ok());
    if found.len() < firsts.len() { Err(duckdb::Error::QueryReturnedNoRows) } else { Ok(found) }
}

/// What one chunk holds.
///
/// # Errors
/// As [`chunks`].
pub fn chunk(connection: &Connection, first: u64) -> duckdb::Result<Vec<u8>> {
    let found = chunks(connection, &[first])?.pop();
    found.map(|(_, data)| data).ok_or(duckdb::Error::QueryReturnedNoRows)
}

/// Rows of pieces, each with what it is a piece of: those of one joined.
pub fn joined(
    connection: &Connection,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
) -> duckdb::Result<Vec<(u64, Vec<u8>)>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (first, piece): (u64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        match found.last_mut() {
            Some((of, data)) if *of == first => data.extend_from_slice(&piece),
            _ => found.push((first, piece)),
        }
    }
    Ok(found)
}
