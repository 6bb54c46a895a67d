//! Saves that outlived the handlers that made them: what [`super::switches`] works with.

use super::levels::Kept;
use super::saves::{Save, Store};
use crate::event::RegSpan;
use crate::id::Seq;
use std::collections::BTreeMap;

/// A save whose instance has ended.
pub struct Left {
    pub(super) store: Store,
    pub(super) kept: Vec<Kept>,
    pub(super) restores: u32,
    pub(super) last_restore: Option<Seq>,
}

impl Left {
    pub fn of(save: &Save) -> Left {
        let kept = save.pieces.iter().map(|piece| Kept {
            word: 0,
            span: piece.span,
            cell: piece.cell,
            readers: piece.readers.clone(),
            pending: piece.pending,
        });
        let (restores, last_restore) = (save.restores, save.last_restore);
        Left { store: save.store, kept: kept.collect(), restores, last_restore }
    }

    /// Where the bytes of a part of the register lie.
    pub(super) fn place(&self, span: RegSpan) -> u64 {
        self.store.address.wrapping_add(u64::from(span.offset - self.store.register.offset))
    }

    /// The last write of the bytes of a part in memory, if nobody wrote there since.
    pub(super) fn version(&self, kept: &Kept) -> u64 {
        if kept.cell.is_written() { kept.cell.write } else { self.store.access }
    }
}

/// What handlers have saved for other instances, by address.
#[derive(Default)]
pub struct Switches {
    pub(super) left: BTreeMap<u64, Left>,
    /// Registers of these.
    pub(super) mask: u64,
    /// Exceptions so far.
    numbers: u64,
    /// The handler that ends now goes back to another task.
    pub leaves: bool,
    /// Saves that outlived their instances, which only these rules know.
    pub outlived: u64,
}

impl Switches {
    /// Registers that may be restored.
    #[inline]
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Nothing outlived its handler.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Number of an exception.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}
