//! P-code operations, as the evaluation sees them.

use libsla::OpCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Const,
    Register,
    /// Temporaries of one instruction.
    Unique,
    Memory,
    Other,
}

/// A piece of storage; `at` counts little end first also where the machine is big-endian (the space
/// is mirrored), except in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varnode {
    pub space: Space,
    pub at: u64,
    /// In bytes.
    pub size: u32,
}

impl Varnode {
    /// The places of its bytes.
    pub fn places(self) -> impl Iterator<Item = (Space, u64)> {
        (0..u64::from(self.size)).map(move |i| (self.space, self.at.wrapping_add(i)))
    }

    pub fn bits(self) -> u32 {
        self.size.saturating_mul(8)
    }

    /// Byte `index` of it.
    pub fn byte(self, index: u64) -> Varnode {
        Varnode { at: self.at.wrapping_add(index), size: 1, ..self }
    }
}

#[derive(Clone, Debug)]
pub struct PcodeOp {
    pub code: OpCode,
    pub out: Option<Varnode>,
    pub ins: Vec<Varnode>,
    /// Space that a LOAD or STORE goes to.
    pub space: Space,
}

/// Where a branch goes: an op of the instruction (one behind the last is its end), or an address.
pub enum BranchTarget {
    Op(usize),
    Address(u64),
}

impl PcodeOp {
    /// Where op number `index` of `count` branches to; `next` is the address after the instruction.
    pub fn target(&self, index: usize, count: usize, next: u64) -> Option<BranchTarget> {
        let v = self.ins.first()?;
        Some(match v.space {
            // Relative to this op, signed in its own size.
            Space::Const => {
                let shift = 64 - 8 * v.size.clamp(1, 8);
                let distance = (v.at << shift).cast_signed() >> shift;
                let magnitude = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
                let to = match distance < 0 {
                    true => index.saturating_sub(magnitude),
                    false => index.saturating_add(magnitude),
                };
                BranchTarget::Op(to.min(count))
            }
            _ if v.at == next => BranchTarget::Op(count),
            _ => BranchTarget::Address(v.at),
        })
    }

    /// The target where it is an op before this one: a loop.
    pub fn back(&self, index: usize, count: usize, next: u64) -> Option<usize> {
        match self.target(index, count, next) {
            Some(BranchTarget::Op(to)) if to <= index => Some(to),
            _ => None,
        }
    }
}
