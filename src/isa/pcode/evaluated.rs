//! One instruction with what its p-code does, on its way to [`crate::isa::Decoded`].

use super::register_map::RegisterMap;
use super::symbolic::effects::Effects;
use crate::event::{Isa, RegSpan};
use crate::isa::expr::Expr;
use crate::registers::Registers;

pub struct Evaluated<'a> {
    pub isa: Isa,
    pub file: &'static Registers,
    /// The address after the instruction.
    pub next: u64,
    /// The opcode as a number.
    pub word: u32,
    pub thumb: bool,
    pub text: &'a str,
    pub effects: &'a Effects,
    pub map: &'a RegisterMap,
}

impl Evaluated<'_> {
    pub fn mnemonic(&self) -> &str {
        self.text.split([' ', '.']).next().unwrap_or("")
    }

    /// Whether an address is computed from the stack pointer.
    pub fn on_stack(&self, address: &Expr) -> bool {
        self.file.sp.is_some_and(|sp| address.reads(sp))
    }

    /// `bits` bits of the opcode from bit `low` on.
    pub fn field(&self, low: u32, bits: u32) -> u32 {
        self.word >> low & ((1 << bits) - 1)
    }

    /// The register whose number stands in the opcode from bit `low` on (5 bits; 4 on ARM), by the
    /// letter of its kind.
    pub fn register(&self, letter: char, low: u32) -> Option<RegSpan> {
        let bits = if self.isa == Isa::Arm { 4 } else { 5 };
        self.file.lookup(&format!("{letter}{}", self.field(low, bits)))
    }
}
