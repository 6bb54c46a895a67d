//! Steps with what their accesses are to the dataflow, by `docs/semantics.md`: the one source of
//! slices, last writers, loops' dataflow and the critical path.
//!
//! Which stores are saves comes from the database; [`Saves`] says which loads restore them.

use super::cell::{Bytes, Cell, Space};
use super::code::{BlockAccess, Code, Place};
use super::error::ReplayError;
use super::handed::{Forked, Handed, Handing};
use super::outside::{Outside, Outsides};
use super::saves::{Save, Saves, StoreId};
use super::window::{Backwards, Piece, Way};
use crate::id::{CallId, InstructionId, ThreadId};
use duckdb::Connection;

/// What an access is to the dataflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its bytes are used.
    Read,
    Write,
    /// The bytes of the register have again the writers that they had before the save.
    Restore {
        save: StoreId,
        /// No later step restores it.
        is_last: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub what: What,
    pub ordinal: u16,
    pub bytes: Bytes,
}

/// A step with its effects: accesses that are no data, reads of registers by saves and loads by
/// restores left out.
pub struct Step<'a> {
    pub seq: i64,
    pub instruction: InstructionId,
    pub thread: ThreadId,
    /// None: it is in no interval.
    pub call: Option<CallId>,
    /// By ordinal.
    pub effects: &'a [Effect],
    /// Registers that it saves and that are restored later, as they are before the step.
    pub saves: &'a [(StoreId, Bytes)],
    /// Processes that are made, or begin, behind it.
    pub forked: &'a [Forked],
    /// What happens to memory behind that.
    pub outside: &'a [Outside],
    /// What becomes of registers behind that.
    pub handed: &'a [Handed],
}

/// What is data beside what always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    Ignored,
    /// Flags, too, through which what a branch compares comes to it.
    Followed,
}

struct Resolver<'a> {
    code: &'a Code,
    flags: Flags,
    saves: Saves<'a>,
    outsides: Outsides<'a>,
    handing: Handing<'a>,
    effects: Vec<Effect>,
    saved: Vec<(StoreId, Bytes)>,
}

impl Resolver<'_> {
    /// The effects of one step of a piece.
    fn step(&mut self, piece: &Piece, step: usize) -> Step<'_> {
        let seq = piece.seq(step);
        self.effects.clear();
        self.saved.clear();
        let register = Space::Register(piece.thread);
        let memory = Space::Memory(self.code.process(piece.thread));
        let mut saves: &[Save] = &[];
        let mut restores = None;
        if piece.block.moves_register(step) {
            saves = self.saves.of_step(seq);
            restores = piece.call;
            // Where handlers save for one another, what they have saved may matter without that.
            let others = self.handing.is_any();
            let matters = |s: &&Save| s.last_restore.is_some() || others && !s.exposed;
            for save in saves.iter().filter(matters) {
                let first = Cell { space: register, address: save.register.into() };
                // In forked processes it is the same save.
                if self.saved.last().is_none_or(|(store, _)| *store != save.store) {
                    self.saved.push((save.store, Bytes { first, size: save.bytes }));
                }
            }
        }
        // Almost always empty: a step that restores registers is rare, and this does not allocate.
        let mut restored: Vec<&Save> = Vec::new();
        for access in piece.block.accesses_of(step) {
            let (space, address) = match access.place {
                Place::Register(address) => (register, address.into()),
                Place::Memory(_) => match access.address(piece.address) {
                    Some(address) => (memory, address),
                    None => continue,
                },
            };
            if !self.is_data(access) {
                continue;
            }
            let what = if access.is_write {
                match restored.iter().find(|save| save.is_of(access)) {
                    Some(save) => {
                        What::Restore { save: save.store, is_last: save.last_of_all == Some(seq) }
                    }
                    None => match self.handing.restored(seq, access) {
                        Some(save) if space.is_register() => What::Restore { save, is_last: true },
                        _ => What::Write,
                    },
                }
            } else {
                if saves.iter().any(|save| save.is_own && !save.exposed && save.is_of(access)) {
                    continue;
                }
                let found = restores
                    .filter(|_| !space.is_register())
                    .and_then(|call| self.saves.restored(call, seq, access, address));
                if let Some(save) = found {
                    restored.push(save);
                    continue;
                }
                if !space.is_register() && self.handing.restored(seq, access).is_some() {
                    continue;
                }
                What::Read
            };
            let bytes = Bytes { first: Cell { space, address }, size: access.size };
            self.effects.push(Effect { what, ordinal: access.ordinal, bytes });
        }
        self.handing.go_to(piece, step);
        Step {
            seq,
            instruction: piece.block.instructions[step],
            thread: piece.thread,
            call: piece.call,
            effects: &self.effects,
            saves: &self.saved,
            forked: self.handing.forked(),
            outside: self.outsides.behind(piece, step),
            handed: self.handing.behind(),
        }
    }

    fn cover(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        self.saves.cover(piece)?;
        self.outsides.cover(piece)?;
        self.handing.cover(piece)
    }

    /// Control accesses are no data, but what a call stores is.
    fn is_data(&self, access: &BlockAccess) -> bool {
        let stores = access.is_write && matches!(access.place, Place::Memory(_));
        let flags = || self.flags == Flags::Followed && self.code.is_flags(access);
        !access.is_control || stores || flags()
    }
}

/// What looks at steps backwards.
pub trait BackSteps {
    /// Says whether to go on.
    fn step(&mut self, step: &Step) -> bool;
    /// The last step up to this one that matters; one before the run: none does.
    fn next(&mut self, to: i64) -> Result<i64, ReplayError>;
}

struct Resolved<'a, 'b, T> {
    resolver: Resolver<'a>,
    taker: &'b mut T,
}

impl<T: BackSteps> Backwards for Resolved<'_, '_, T> {
    fn take(&mut self, piece: &Piece) -> Result<bool, ReplayError> {
        self.resolver.cover(piece)?;
        let mut steps = piece.steps().rev();
        Ok(steps.all(|step| self.taker.step(&self.resolver.step(piece, step))))
    }

    fn next(&mut self, to: i64) -> Result<i64, ReplayError> {
        self.taker.next(to)
    }
}

impl Code {
    /// Goes through the steps of a range, both ends inclusive; `take` says whether to go on.
    pub fn steps(
        &self,
        connection: &Connection,
        range: (i64, i64),
        mut take: impl FnMut(&Step) -> bool,
    ) -> Result<(), ReplayError> {
        let mut resolver = self.resolver(connection, Way::Forwards, Flags::Ignored);
        self.forwards(connection, range, |piece| {
            resolver.cover(piece)?;
            Ok(piece.steps().all(|step| take(&resolver.step(piece, step))))
        })
    }

    /// The same from the last step of the range to the first.
    pub fn steps_back(
        &self,
        connection: &Connection,
        range: (i64, i64),
        flags: Flags,
        taker: &mut impl BackSteps,
    ) -> Result<(), ReplayError> {
        let resolver = self.resolver(connection, Way::Backwards, flags);
        self.back(connection, range, &mut Resolved { resolver, taker })
    }

    fn resolver<'a>(&'a self, connection: &'a Connection, way: Way, flags: Flags) -> Resolver<'a> {
        Resolver {
            code: self,
            flags,
            saves: Saves::new(self, connection, way),
            outsides: Outsides::new(self, connection, way),
            handing: Handing::new(self, connection, way),
            effects: Vec::new(),
            saved: Vec::new(),
        }
    }
}
