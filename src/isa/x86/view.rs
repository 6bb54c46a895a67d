//! One instruction with what iced says of it.

use crate::event::RegSpan;
use crate::registers::x86::{FS_BASE, GS_BASE, span};
use iced_x86::{
    EncodingKind, Instruction, InstructionInfo, InstructionInfoFactory, OpAccess, OpKind,
    Register as Iced,
};

pub struct View<'a> {
    pub insn: &'a Instruction,
    pub info: &'a InstructionInfo,
    /// 64-bit code.
    pub wide: bool,
    /// Mnemonic in iced's spelling, without the V of the VEX and EVEX forms.
    pub name: String,
    /// The first operand is a source, whatever a mask leaves of it.
    pub reads_first: bool,
}

impl View<'_> {
    pub fn new<'a>(insn: &'a Instruction, info: &'a InstructionInfo, wide: bool) -> View<'a> {
        View { insn, info, wide, name: name_of(insn), reads_first: reads_first(insn, info) }
    }

    /// Bytes of a general register.
    pub fn word(&self) -> u16 {
        if self.wide { 8 } else { 4 }
    }

    /// A string instruction with a repeat prefix.
    pub fn repeats(&self) -> bool {
        let i = self.insn;
        i.is_string_instruction() && (i.has_rep_prefix() || i.has_repne_prefix())
    }

    pub fn is_register(&self, operand: u32) -> bool {
        operand < self.insn.op_count() && self.insn.op_kind(operand) == OpKind::Register
    }

    /// The register with the base of a segment: only FS and GS have one that is not 0.
    pub fn segment_base(&self, segment: Iced) -> Option<RegSpan> {
        match segment {
            Iced::FS => Some(span(FS_BASE, self.word())),
            Iced::GS => Some(span(GS_BASE, self.word())),
            _ => None,
        }
    }

    /// Instructions whose result does not depend on the values of their registers: comparisons
    /// that always or never hold, and those that name the same register twice and give the same
    /// for all values (flags may count, as in `sbb`).
    pub fn constant(&self) -> bool {
        let (insn, name) = (self.insn, self.name.as_str());
        if insn.has_op_mask() {
            return false;
        }
        // The rest of a scalar comes from a register all the same.
        if self.decided() && !(self.is_scalar() && insn.op0_register().is_vector_register()) {
            return true;
        }
        let families = CONSTANT_FAMILIES.iter().any(|family| name.starts_with(family));
        let constant =
            CONSTANT.split(' ').any(|n| n == name) || families && !STRINGS.contains(&name);
        let [first, second] = if insn.op_count() >= 3 { [1, 2] } else { [0, 1] };
        // Comparisons into a mask have the mask as operand 0.
        constant
            && self.is_register(first)
            && self.is_register(second)
            && insn.op_register(first) == insn.op_register(second)
    }

    /// A comparison whose predicate is "false" or "true".
    pub fn decided(&self) -> bool {
        let predicate = self.insn.immediate8();
        match self.name.as_str() {
            "Cmpps" | "Cmppd" | "Cmpss" | "Cmpsd" => {
                self.insn.encoding() != EncodingKind::Legacy && matches!(predicate & 15, 11 | 15)
            }
            "Pcmpb" | "Pcmpw" | "Pcmpd" | "Pcmpq" | "Pcmpub" | "Pcmpuw" | "Pcmpud" | "Pcmpuq" => {
                predicate & 3 == 3
            }
            _ => false,
        }
    }
}

/// Operations that give the same for twice the same register.
const CONSTANT: &str = "Xor Sub Sbb Cmp Andn Xorps Xorpd Andnps Andnpd Psadbw Kxorb Kxorw Kxord Kxorq \
    Kxnorb Kxnorw Kxnord Kxnorq Kandnb Kandnw Kandnd Kandnq P2intersectd P2intersectq";
const CONSTANT_FAMILIES: [&str; 4] = ["Pxor", "Psub", "Pcmp", "Pandn"];
/// Comparisons of strings, which begin like those of elements.
const STRINGS: [&str; 8] = [
    "Pcmpestri",
    "Pcmpestrm",
    "Pcmpistri",
    "Pcmpistrm",
    "Pcmpestri64",
    "Pcmpestrm64",
    "Pcmpistri64",
    "Pcmpistrm64",
];

fn name_of(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic());
    match name.strip_prefix('V') {
        Some(rest) if instruction.encoding() != EncodingKind::Legacy => {
            let (first, others) = rest.split_at(rest.len().min(1));
            first.to_ascii_uppercase() + others
        }
        _ => name,
    }
}

/// Whether the first operand is read for more than what a mask leaves of it.
fn reads_first(insn: &Instruction, info: &InstructionInfo) -> bool {
    if !insn.has_op_mask() {
        return is_read(info.op0_access());
    }
    let mut plain = *insn;
    plain.set_op_mask(Iced::None);
    is_read(InstructionInfoFactory::new().info(&plain).op0_access())
}

pub fn is_read(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::NoMemAccess | OpAccess::Write)
}

pub fn is_written(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}
