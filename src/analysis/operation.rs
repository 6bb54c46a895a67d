//! What the pass does for one access of a segment.

use super::access::Extent;
use super::origin::Packed;
use super::register_window::Writers;
use super::repeated_reads::Hints;
use super::sums::Sums;
use crate::event::RegSpan;
use crate::id::ActorId;

/// What the pass does for one access, or part of one, of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub kind: OperationKind,
    pub stack_relative: bool,
    pub ordinal: u16,
    pub step: u32,
    pub actor: ActorId,
    /// Of memory: index among the run's addresses.
    pub mem: u32,
    pub size: u32,
    /// Read, Write: the bytes; Load, Store: the data register.
    pub register: Option<RegSpan>,
    /// A call stores where it is to go on: that is not dead, though no data either.
    pub is_return_address: bool,
    /// Of a copying function.
    pub copy: Copied,
    /// Of the pass.
    pub hints: Hints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Register read that the segment does not feed itself.
    Read { extent: Extent },
    /// Register write that is the last in the segment. `loaded`: its step loaded the bytes
    /// unchanged; `seen`: the version was read inside the segment.
    Write { loaded: bool, seen: bool },
    /// `control`: a return loads where it goes to.
    Load { control: bool },
    /// `read`: ordinal of the register read that is left to it, if it may be a save.
    Store { read: u16 },
}

impl Operation {
    /// It reads a register, or stores one, that the instance has written itself: one version.
    #[inline(always)]
    pub fn read_recent(&mut self, span: RegSpan, writers: &Writers, sums: &mut Sums) {
        let writer = writers.actor(span.offset.into());
        if !self.hints.again.read_register(writer.get()) {
            let actors = (Packed::step(writer), self.actor);
            self.hints.read_other_register(span.size.into(), writer.get(), actors, sums);
        }
    }
}

impl OperationKind {
    pub(super) fn turn(self) -> u8 {
        match self {
            OperationKind::Read { .. } => 0,
            OperationKind::Load { .. } | OperationKind::Store { .. } => 1,
            OperationKind::Write { .. } => 2,
        }
    }
}

/// What a load or a store of a copying function hands on beside whole registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copied {
    #[default]
    Nothing,
    /// A load that fills this part of a register; the rest is zeros or sign.
    Low(RegSpan),
    /// The load or the store of a move from memory to memory.
    Move,
}
