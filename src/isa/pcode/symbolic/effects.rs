//! What the p-code of an instruction does.

use super::op::PcodeOp;
use crate::event::RegSpan;
use crate::isa::expr::Expr;
use libsla::OpCode;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What one byte of storage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteValue {
    /// What this byte of our register file held before the instruction.
    Initial(u16),
    /// Byte of a load: index into [`Effects::memory`], offset.
    Load(u16, u8),
    Zero,
    Other,
}

/// A memory access, in the order of the p-code.
#[derive(Clone, Debug)]
pub struct MemEffect {
    /// Index of the op.
    pub op: usize,
    pub is_write: bool,
    pub size: u32,
    pub address: Expr,
    pub guard: Option<Expr>,
    /// What a store stores.
    pub data: Vec<ByteValue>,
}

/// Where control goes, as the p-code says.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub code: OpCode,
    pub direct: Option<u64>,
    /// Indirect: what the target is computed from.
    pub registers: Vec<RegSpan>,
    /// Indirect: the loads (indexes into [`Effects::memory`]) that it comes from.
    pub loads: Vec<u16>,
    /// Indirect: the target, if it is computed from registers alone.
    pub target: Option<Expr>,
    pub conditional: bool,
}

#[derive(Debug, Default)]
pub struct Effects {
    pub memory: Vec<MemEffect>,
    /// Bytes of our register file.
    pub reads: BTreeSet<u16>,
    pub writes: BTreeSet<u16>,
    /// What each written byte holds at the end.
    pub finals: FxHashMap<u16, ByteValue>,
    /// Values that whole registers have at the end where they are constants, by offset in our file.
    pub constants: FxHashMap<u16, u64>,
    pub transfer: Option<Transfer>,
    /// The ops, with accesses to registers by address as plain ones.
    pub ops: Vec<PcodeOp>,
    /// Per op: it gives a register what it held before.
    pub dead: Vec<bool>,
    /// Per op: its result is a constant.
    pub constant: Vec<bool>,
}
