//! ARM, AArch64 and RISC-V through SLEIGH p-code: Ghidra's specifications, compiled in by
//! `sleigh-config`.
//!
//! An instruction is decoded once: a [`specification`] gives its p-code, which is evaluated
//! symbolically ([`symbolic`]), [`describe`]d in our words, and corrected where the specifications
//! are known to differ from the machine ([`fixes`], [`partial`],
//! [`simd64`], [`arm`]); what they do not
//! say at all is told ([`unmodelled`]). What is particular:
//! - Program counter: never an access here; transfers are in [`crate::isa::ControlFlow`].
//! - Thumb: decoded without IT context, so each Thumb instruction that may stand in an IT block
//!   gets as `condition` an expression over ITSTATE and the flags in `cpsr`, which is 1 outside of
//!   IT blocks ([`conditions`]). Flag writes of 16-bit data instructions are declared although
//!   inside a block they do not happen (flags are control, so no dataflow depends on it), and the
//!   read of ITSTATE is not declared.
//! - System calls read the registers of the number and of all arguments, and write that of the
//!   result ([`crate::isa::system_call`]).

use crate::event::Isa;
use crate::isa::decoded::{Decoded, Decoder};
use crate::isa::zcmp;
use crate::registers::Registers;
use arm::lists::RegisterList;
use evaluated::Evaluated;
use libsla::OpCode;
use specification::Specification;
use symbolic::op::{PcodeOp, Space};

mod arm;
mod conditions;
mod describe;
mod evaluated;
mod fixes;
mod flow;
mod partial;
mod register_map;
mod simd64;
mod specification;
mod symbolic;
#[cfg(test)]
mod tests;
mod unmodelled;

pub use crate::registers::risc::registers;

/// Decoder of one of the instruction sets. Specifications load when first used (see
/// [`Pcode::decode`]).
pub struct Pcode {
    isa: Isa,
    big_endian: bool,
    zcmp: bool,
    /// A32 and the others; T32.
    specifications: [Loaded; 2],
}

enum Loaded {
    Unused,
    Ready(Box<Specification>),
    /// The specification did not load; says so once per decode by giving nothing.
    Failed,
}

impl Pcode {
    /// Cheap: specifications load at the first instruction.
    pub fn new(isa: Isa, big_endian: bool) -> Pcode {
        let specifications = [Loaded::Unused, Loaded::Unused];
        Pcode { isa, big_endian, zcmp: false, specifications }
    }

    /// See [`crate::event::Dialect`].
    pub fn with_zcmp(self, zcmp: bool) -> Pcode {
        Pcode { zcmp, ..self }
    }

    fn specification(&mut self, thumb: bool) -> Option<&mut Specification> {
        let slot = &mut self.specifications[usize::from(thumb)];
        if let Loaded::Unused = slot {
            *slot = match Specification::load(self.isa, self.big_endian, thumb) {
                Some(specification) => Loaded::Ready(Box::new(specification)),
                None => Loaded::Failed,
            };
        }
        match slot {
            Loaded::Ready(specification) => Some(specification),
            _ => None,
        }
    }

    /// The opcode as a number: 4 bytes, or 2 for a 16-bit Thumb or RISC-V instruction; T32's first
    /// half-word is the upper one.
    fn word(&self, bytes: &[u8], thumb: bool) -> Option<u32> {
        let half = |i: usize| {
            let pair = [*bytes.get(i)?, *bytes.get(i + 1)?];
            let number =
                if self.big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            Some(u32::from(number))
        };
        let first = half(0)?;
        match self.isa {
            Isa::Arm if thumb => Some(if first >= 0xe800 { first << 16 | half(2)? } else { first }),
            Isa::Riscv32 | Isa::Riscv64 if first & 3 != 3 => Some(first),
            _ if self.big_endian => Some(first << 16 | half(2)?),
            _ => Some(half(2)? << 16 | first),
        }
    }

    /// The bytes of an opcode of 32 bits: the reverse of [`Pcode::word`].
    fn bytes(&self, word: u32, thumb: bool) -> [u8; 4] {
        match self.big_endian {
            true => word.to_be_bytes(),
            false if thumb => word.rotate_right(16).to_le_bytes(),
            false => word.to_le_bytes(),
        }
    }

    /// What the specification's p-code says of an instruction; `skip` says that the opcode has a
    /// condition, which is not taken from the p-code.
    fn evaluate(
        &mut self,
        address: u64,
        bytes: &[u8],
        (word, thumb): (u32, bool),
        skip: bool,
    ) -> Option<Decoded> {
        let isa = self.isa;
        let specification = self.specification(thumb)?;
        let (size, text, pcode) = specification.disassemble(address, bytes)?;
        let next = address.wrapping_add(size.into());
        let instructions = pcode.iter().flat_map(|p| &p.instructions);
        let mut ops: Vec<PcodeOp> = instructions.map(|p| specification.op(p)).collect();
        if skip {
            remove_skip(&mut ops, next);
        }
        let map = &specification.map;
        let bits = if matches!(isa, Isa::Arm | Isa::Riscv32) { 32 } else { 64 };
        let effects = &symbolic::evaluate(ops, map, next, bits);
        let file = registers(isa);
        let text = &text;
        let evaluated = Evaluated { isa, file, next, word, thumb, text, effects, map };
        let unmodelled = evaluated.unmodelled(pcode.is_some());
        Some(Decoded { unmodelled, ..evaluated.describe(size) })
    }

    /// 32-bit ARM: as [`Pcode::decode`].
    fn decode_arm(
        &mut self,
        address: u64,
        bytes: &[u8],
        (word, thumb): (u32, bool),
    ) -> Option<Decoded> {
        let file = registers(Isa::Arm);
        if thumb && is_low_overhead_loop(word) {
            return None;
        }
        if let Some(decoded) = arm::mode_change(file, address, word, thumb) {
            return Some(decoded);
        }
        let condition = (!thumb && word >> 28 < 14).then_some(word >> 28);
        let mut decoded = match arm::lists::list(file, word, thumb) {
            Some(RegisterList::Valid(decoded)) => *decoded,
            Some(RegisterList::Invalid) => return None,
            None => {
                let skip = condition.is_some();
                match own(file, address, word, thumb) {
                    // The specification writes the operands of those that have none here.
                    Some(mut decoded) => {
                        let specification = self.specification(thumb)?;
                        if !decoded.text.contains(',')
                            && let Some((_, text, _)) = specification.disassemble(address, bytes)
                        {
                            decoded.text = text;
                        }
                        decoded
                    }
                    None => match arm::half::as_single(word).filter(|_| bytes.len() > 3) {
                        Some(single) => {
                            let bytes = self.bytes(single, thumb);
                            let single = self.evaluate(address, &bytes, (single, thumb), skip)?;
                            arm::half::narrowed(file, word, single)
                        }
                        None => self.evaluate(address, bytes, (word, thumb), skip)?,
                    },
                }
            }
        };
        match condition {
            Some(condition) => conditions::apply(file, &mut decoded, condition),
            None if thumb => conditions::apply_it(file, &mut decoded),
            None => {}
        }
        Some(decoded)
    }
}

/// SIMD and floating point of ARM that is decoded here, whole.
fn own(file: &'static Registers, address: u64, word: u32, thumb: bool) -> Option<Decoded> {
    arm::structure(file, word, thumb)
        .or_else(|| arm::extension(file, word))
        .or_else(|| arm::half::own(file, address, word, thumb))
        .or_else(|| arm::data(file, word, thumb))
}

/// Loops of Armv8.1-M (`wls`, `dls`, `le`, `letp`, `lctp`), which the specification takes for `blx` to
/// an odd address: calls that there are none.
///
/// Source: Armv8-M Architecture Reference Manual (DDI 0553), "Branches and miscellaneous control".
fn is_low_overhead_loop(word: u32) -> bool {
    word >> 27 == 0x1e && word & 0xd001 == 0xc001
}

/// Takes the branch over the instruction out, with which the p-code of A32 begins where there is a
/// condition.
fn remove_skip(ops: &mut Vec<PcodeOp>, next: u64) {
    if let Some(skip) = ops.iter().position(|o| o.code == OpCode::BranchConditional)
        && ops[skip].ins.first().is_some_and(|t| t.space == Space::Memory && t.at == next)
        && ops[..skip].iter().all(|o| !matches!(o.code, OpCode::Store | OpCode::Load))
    {
        ops.remove(skip);
    }
}

impl Decoder for Pcode {
    fn isa(&self) -> Isa {
        self.isa
    }

    /// None if the bytes are no instruction (or too few), or the specification cannot be loaded.
    fn decode(&mut self, address: u64, bytes: &[u8], thumb: bool) -> Option<Decoded> {
        let thumb = thumb && self.isa == Isa::Arm;
        if self.zcmp
            && let Some(decoded) = zcmp::decode(self.isa, address, bytes)
        {
            return Some(decoded);
        }
        let word = self.word(bytes, thumb)?;
        match self.isa {
            Isa::Arm => self.decode_arm(address & 0xffff_ffff, bytes, (word, thumb)),
            Isa::Riscv32 => self.evaluate(address & 0xffff_ffff, bytes, (word, thumb), false),
            _ => self.evaluate(address, bytes, (word, thumb), false),
        }
    }
}
