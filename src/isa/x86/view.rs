//! One instruction with what iced says of it.

use crate::event::RegSpan;
use crate::registers::x86::{FS_BASE, GS_BASE, span};
use iced_x86::{
    EncodingKind, Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register as Iced,
};

pub struct View<'a> {
    pub insn: &'a Instruction,
    pub info: &'a InstructionInfo,
    /// 64-bit code.
    pub wide: bool,
    /// Mnemonic in iced's spelling, without the V of the VEX and EVEX forms.
    pub name: String,
}

impl View<'_> {
    pub fn new<'a>(insn: &'a Instruction, info: &'a InstructionInfo, wide: bool) -> View<'a> {
        View { insn, info, wide, name: name_of(insn) }
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

    /// Instructions whose result does not depend on the registers that they name twice.
    pub fn zeroing(&self) -> bool {
        if self.insn.has_op_mask() {
            return false;
        }
        let name = self.name.as_str();
        if name.starts_with("Pternlog") {
            return matches!(self.insn.immediate8(), 0 | 0xff);
        }
        let vector = ZEROING.contains(&name)
            || ZEROING_FAMILIES.iter().any(|family| name.starts_with(family));
        let general = matches!(self.insn.mnemonic(), Mnemonic::Xor | Mnemonic::Sub);
        // Comparisons into a mask have the mask as operand 0.
        let [first, second] = if self.insn.op_count() == 3 { [1, 2] } else { [0, 1] };
        (vector || general)
            && self.is_register(first)
            && self.is_register(second)
            && self.insn.op_register(first) == self.insn.op_register(second)
    }
}

/// Vector operations that give 0 or all ones for twice the same register.
const ZEROING: [&str; 12] = [
    "Xorps", "Xorpd", "Andnps", "Andnpd", "Kxorb", "Kxorw", "Kxord", "Kxorq", "Kxnorb", "Kxnorw",
    "Kxnord", "Kxnorq",
];
const ZEROING_FAMILIES: [&str; 5] = ["Pxor", "Psub", "Pcmpgt", "Pcmpeq", "Pandn"];

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

pub fn is_read(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::NoMemAccess | OpAccess::Write)
}

pub fn is_written(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}
