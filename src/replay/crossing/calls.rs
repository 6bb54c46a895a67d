//! What each call of a function exchanges with others.

use super::super::error::ReplayError;
use super::super::places::Places;
use super::exchange::Direction;
use super::members::{EntryNumber, Members};
use super::rows::{Row, Stored};
use super::{Elsewhere, Finder, Kind, Partner, Span};
use crate::id::{CallId, FunctionId};
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// Bytes that a call read of what others wrote, or that others read of what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    pub call: CallId,
    pub direction: Direction,
    /// The function on the other side; each has a number of its own.
    pub partner: u32,
    pub bytes: u64,
}

type Sums = FxHashMap<(EntryNumber, Direction, u32), u64>;

/// Goes through the communications of the calls of a function, which are the entries of `members`.
///
/// # Errors
/// Where the database is damaged.
pub fn exchanged(
    connection: &Connection,
    (members, function): (&Members, FunctionId),
    places: &Places,
    stored: Stored,
    elsewhere: Elsewhere,
) -> Result<Vec<Exchanged>, ReplayError> {
    let mut finder = Finder::new(connection, members, places, None, elsewhere)?;
    let own = finder.partner(Partner::Function(function));
    let mut sums = Sums::default();
    stored.windows(members, |rows| {
        for &row in rows {
            finder.unwritten.go_to(row.read_seq);
            let reader = members.span(row.read_seq);
            finder.exchanged(row, reader, own, &mut sums);
        }
        Ok(())
    })?;
    let row = |((entry, direction, partner), bytes)| {
        let call = members.entry(entry).call;
        Exchanged { call, direction, partner, bytes }
    };
    Ok(sums.into_iter().map(row).collect())
}

impl Finder<'_> {
    /// Adds a communication to the calls that have an end of it; `own`: their function.
    fn exchanged(&mut self, row: Row, reader: Option<&Span>, own: u32, sums: &mut Sums) {
        let Some(reader) = reader else { return };
        let Some(&Kind { is_register, bytes }) = self.kinds.get(&row.kind) else { return };
        let writer = row.write_seq.and_then(|seq| self.members.span(seq));
        let (reading, writing) = (reader.entry, writer.map_or(0, |span| span.entry));
        if reading == writing {
            return;
        }
        if reading > 0 {
            let mut add = |partner, bytes| {
                *sums.entry((reading, Direction::In, partner)).or_default() += bytes;
            };
            match row.write_seq {
                Some(_) if writing > 0 => add(own, bytes),
                Some(seq) => {
                    let function = writer.and_then(|span| span.function);
                    add(self.function(function.or_else(|| (self.elsewhere)(seq))), bytes);
                }
                None => {
                    let place = self.place(is_register, reader);
                    let parts = self.unwritten_parts(place, row, bytes);
                    parts.iter().for_each(|part| add(part.partner, part.bytes.1));
                }
            }
        }
        if writing > 0 {
            let partner = if reading > 0 { own } else { self.function(reader.function) };
            *sums.entry((writing, Direction::Out, partner)).or_default() += bytes;
        }
    }
}
