//! Saves that outlived the handlers that made them: what [`super::switches`] works with.

use super::access::mask;
use super::levels::Kept;
use super::memory::Memory;
use super::saves::{Save, Store};
use crate::event::RegSpan;
use crate::id::Seq;
use std::collections::BTreeMap;

/// A save whose instance has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub store: Store,
    pub kept: Vec<Kept>,
    /// For its row.
    pub restores: u32,
    pub last_restore: Option<Seq>,
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

    /// Whether nobody has written there since.
    pub fn is_intact(&self, memory: &mut Memory) -> bool {
        self.kept.iter().all(|kept| {
            let (at, version) = (self.place(kept.span), self.version(kept));
            let mut bytes = 0..u64::from(kept.span.size);
            bytes.all(|i| memory.byte(at.wrapping_add(i)).write == version)
        })
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

    /// Goes on behind so many exceptions.
    pub fn resumed(exceptions: u64, left: &[Left]) -> Switches {
        Switches {
            left: left.iter().map(|left| (left.store.address, left.clone())).collect(),
            mask: left.iter().fold(0, |all, left| all | mask(left.store.register)),
            numbers: exceptions,
            ..Switches::default()
        }
    }

    /// What may still be restored, without what is for rows.
    pub fn state(&self, memory: &mut Memory) -> Vec<Left> {
        let intact = self.left.values().filter(|left| left.is_intact(memory));
        let state = intact.map(|left| {
            let mut kept = left.kept.clone();
            kept.iter_mut().for_each(Kept::forget_readers);
            Left { store: left.store, kept, restores: 0, last_restore: None }
        });
        state.collect()
    }

    /// Exceptions so far.
    pub fn exceptions(&self) -> u64 {
        self.numbers
    }

    /// Number of an exception.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}
