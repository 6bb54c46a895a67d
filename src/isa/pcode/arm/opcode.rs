//! An opcode of 32 bits with SIMD registers. Each is numbered by four bits and one that stands apart.

use crate::event::RegSpan;
use crate::registers::Registers;

/// The opcode with the offset of d0.
pub struct Opcode {
    pub word: u32,
    pub doubles: u16,
}

impl Opcode {
    /// None: the processor has no such registers.
    pub fn new(file: &Registers, word: u32) -> Option<Opcode> {
        Some(Opcode { word, doubles: file.lookup("d0")?.offset })
    }

    pub fn is(&self, mask: u32, value: u32) -> bool {
        self.word & mask == value
    }

    /// Up to 8 bits.
    pub fn field(&self, low: u32, bits: u32) -> u16 {
        (self.word >> low & ((1 << bits) - 1)) as u16
    }

    /// A single register with its number, whose lowest bit stands apart.
    pub fn single(&self, four: u32, one: u32) -> (u16, RegSpan) {
        let number = self.field(four, 4) << 1 | self.field(one, 1);
        (number, RegSpan { offset: self.doubles + 4 * number, size: 4 })
    }

    /// A double register with its number, whose highest bit stands apart.
    pub fn double(&self, four: u32, one: u32) -> (u16, RegSpan) {
        let number = self.field(one, 1) << 4 | self.field(four, 4);
        (number, RegSpan { offset: self.doubles + 8 * number, size: 8 })
    }
}
