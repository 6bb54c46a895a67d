//! The parts of a read: the bytes that one write fed.

use super::Communication;
use super::origin::{Origin, Packed, Source, StackSide};
use super::place::PlaceCode;
use super::shadow::{AccessId, Cell, access};
use super::sums::EdgeIndex;
use crate::id::AccessRef;

/// The part of a read that one write fed.
pub struct Part {
    pub(super) cell: Cell,
    pub(super) side: StackSide,
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) unique: u64,
    pub(super) edge: EdgeIndex,
}

/// Scratch, so that nothing is allocated per record.
#[derive(Default)]
pub struct ReadScratch {
    pub(super) parts: Vec<Part>,
    /// What fed the current access so far: writes, or which nobody.
    pub(super) fed_by: Vec<(AccessId, PlaceCode, StackSide)>,
    /// Rows of an access to several pages or places.
    pub(super) held: Vec<(AccessId, Communication)>,
    pub(super) crossing: bool,
    /// Rows of the segment that runs, each with the access that made it known.
    pub(super) rows: Vec<(AccessRef, Communication)>,
}

impl Part {
    /// Call instance or source.
    #[inline]
    pub fn writer(&self) -> Packed {
        self.cell.writer(self.side)
    }

    #[inline]
    pub fn origin(&self) -> Origin<AccessRef> {
        match access(self.cell.write) {
            Some(write) => Origin::Step(write),
            None => {
                Origin::Source(self.writer().source().unwrap_or(Source::Initial(StackSide::Below)))
            }
        }
    }
}
