//! Saved registers of the part of the run that is being gone through.
//!
//! A save is live from its store to the last of its restores, and in between every load by the same
//! call instance of the same bytes into the same register is a restore: the slot still held what
//! the save stored when the last of them came, and a load that were none would have exposed the
//! save.

use super::code::{BlockAccess, Code, Place};
use super::error::{ReplayError, size};
use super::window::{Part, Piece, Way};
use crate::id::CallId;
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The access that stored a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreId {
    pub seq: i64,
    pub ordinal: u16,
}

/// A register that was stored into the frame of a call instance.
#[derive(Clone, Copy, Debug)]
pub struct Save {
    pub store: StoreId,
    pub call: CallId,
    pub register: u32,
    pub bytes: u32,
    pub address: u64,
    /// Step of the last restore; None: nothing gives the register back from it.
    pub last_restore: Option<i64>,
    /// Something else read what was stored, so that the save's read of the register counts.
    pub exposed: bool,
    /// Of the instance that saved, not of that of a process that was forked since.
    pub is_own: bool,
    /// Step of the last restore by any of these.
    pub last_of_all: Option<i64>,
}

pub(super) struct Saves<'a> {
    code: &'a Code,
    connection: &'a Connection,
    part: Part,
    /// By store.
    list: Vec<Save>,
    /// By the step that saves, where in the list.
    by_step: FxHashMap<i64, Range<usize>>,
    /// Places in the list, by slot and store.
    order: Vec<usize>,
    /// By call instance and address of the slot, where in `order`.
    by_slot: FxHashMap<(CallId, u64), Range<usize>>,
}

impl<'a> Saves<'a> {
    pub(super) fn new(code: &'a Code, connection: &'a Connection, way: Way) -> Saves<'a> {
        Saves {
            code,
            connection,
            part: Part::new(way),
            list: Vec::new(),
            by_step: FxHashMap::default(),
            order: Vec::new(),
            by_slot: FxHashMap::default(),
        }
    }

    /// Loads what a piece needs, and what its neighbours will.
    pub(super) fn cover(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        self.part.cover(piece).map_or(Ok(()), |part| self.load(part))
    }

    fn load(&mut self, (first, last): (i64, i64)) -> Result<(), ReplayError> {
        self.list.clear();
        self.code.cover(self.connection, (first, last))?;
        let sql = include_str!("../../queries/report/replay_saves.sql");
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![first, last])?;
        while let Some(r) = rows.next()? {
            self.list.push(Save {
                call: r.get(0)?,
                store: StoreId { seq: r.get(1)?, ordinal: r.get(2)? },
                register: r.get(3)?,
                bytes: size(r.get(4)?)?,
                address: r.get(5)?,
                last_restore: r.get(6)?,
                exposed: r.get(7)?,
                is_own: true,
                last_of_all: None,
            });
        }
        // The instance that saved comes first; a forked process goes on with what it was saved.
        self.list.sort_by_key(|save| (save.store, save.call));
        for same in self.list.chunk_by_mut(|a, b| a.store == b.store) {
            let last = same.iter().map(|save| save.last_restore).max().flatten();
            for (i, save) in same.iter_mut().enumerate() {
                (save.is_own, save.last_of_all) = (i == 0, last);
            }
        }
        self.by_step.clear();
        ranges(&self.list, |s| s.store.seq, &mut self.by_step);
        let list = &self.list;
        self.order.clear();
        self.order.extend((0..list.len()).filter(|&i| list[i].last_restore.is_some()));
        self.order.sort_unstable_by_key(|&i| (list[i].call, list[i].address, list[i].store));
        self.by_slot.clear();
        ranges(&self.order, |&i| (list[i].call, list[i].address), &mut self.by_slot);
        Ok(())
    }

    /// The saves that a step makes.
    pub(super) fn of_step(&self, seq: i64) -> &[Save] {
        self.by_step.get(&seq).map_or(&[], |range| &self.list[range.clone()])
    }

    /// The save that a load restores.
    pub(super) fn restored(
        &self,
        call: CallId,
        seq: i64,
        access: &BlockAccess,
        address: u64,
    ) -> Option<&Save> {
        let register = access.data_register?;
        let slot = &self.order[self.by_slot.get(&(call, address))?.clone()];
        let before = slot.partition_point(|&i| self.list[i].store.seq < seq);
        let save = &self.list[*slot.get(before.checked_sub(1)?)?];
        let fits = save.register == register && save.bytes == access.size;
        (fits && save.last_restore.is_some_and(|last| seq <= last)).then_some(save)
    }
}

impl Save {
    /// Whether an access is of the whole register.
    pub(super) fn is_of(&self, access: &BlockAccess) -> bool {
        access.place == Place::Register(self.register) && access.size == self.bytes
    }
}

/// Where in a sorted list each key stands.
fn ranges<T, K: Eq + std::hash::Hash>(
    list: &[T],
    key: impl Fn(&T) -> K,
    found: &mut FxHashMap<K, Range<usize>>,
) {
    let mut at = 0;
    for group in list.chunk_by(|a, b| key(a) == key(b)) {
        found.insert(key(&group[0]), at..at + group.len());
        at += group.len();
    }
}
