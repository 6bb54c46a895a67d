//! What each call of a function exchanges with others.

use super::super::error::ReplayError;
use super::super::places::Places;
use super::exchange::Direction;
use super::members::{Ends, EntryNumber, Members, Span};
use super::row::{Kind, Row};
use super::{Finder, Partner};
use crate::id::{CallId, FunctionId};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::rc::Rc;

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

/// Adds up what the calls of a function exchange.
pub(super) struct Exchanges<'a> {
    finder: Finder<'a>,
    own: u32,
    sums: Sums,
}

impl<'a> Exchanges<'a> {
    pub fn new(
        connection: &Connection,
        function: FunctionId,
        places: &'a Places,
    ) -> Result<Exchanges<'a>, ReplayError> {
        let mut finder = Finder::new(connection, places, None)?;
        let own = finder.partner(Partner::Function(function));
        Ok(Exchanges { finder, own, sums: Sums::default() })
    }

    /// Communications of a part of the run, in the order of their reads; `before`: steps before it, with
    /// their functions.
    pub fn add(
        &mut self,
        members: &Members,
        rows: &[Row],
        ends: &Ends,
        before: Rc<FxHashMap<u64, FunctionId>>,
    ) {
        let Exchanges { finder, own, sums } = self;
        finder.before = before;
        members.crossing(rows, ends, |row, reader, writer| {
            finder.unwritten.go_to(row.read_seq);
            finder.exchanged(*row, reader, writer, *own, sums);
        });
    }

    /// What they exchanged, all of which are entries of `members`.
    pub fn found(self, members: &Members) -> Vec<Exchanged> {
        let row = |((entry, direction, partner), bytes)| {
            let call = members.entry(entry).call;
            Exchanged { call, direction, partner, bytes }
        };
        self.sums.into_iter().map(row).collect()
    }
}

impl Finder<'_> {
    /// Adds a communication to the calls that have an end of it; `own`: their function.
    fn exchanged(
        &mut self,
        row: Row,
        reader: &Span,
        (writing, writer): (EntryNumber, Option<FunctionId>),
        own: u32,
        sums: &mut Sums,
    ) {
        let (Kind { is_register, bytes }, reading) = (row.kind, reader.entry);
        if reading > 0 {
            let mut add = |partner, bytes| {
                *sums.entry((reading, Direction::In, partner)).or_default() += bytes;
            };
            match row.write_seq {
                Some(_) if writing > 0 => add(own, bytes),
                Some(seq) => add(self.writer(seq, writer), bytes),
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
