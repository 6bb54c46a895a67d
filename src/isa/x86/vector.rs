//! The bytes of vector registers that an instruction reads and writes, where they are not the whole
//! register: scalars, half registers, lanes.

use super::view::View;
use crate::event::RegSpan;
use crate::registers::x86::{bytes_of, span};
use iced_x86::{EncodingKind, OpKind};

/// Bytes of a vector operand, should it be read and written.
pub struct Part {
    pub read: Vec<RegSpan>,
    pub write: Vec<RegSpan>,
}

impl Part {
    fn new(read: Option<RegSpan>, write: Option<RegSpan>) -> Part {
        Part { read: read.into_iter().collect(), write: write.into_iter().collect() }
    }
}

/// The vector register of an operand.
#[derive(Clone, Copy)]
pub struct Vector {
    pub full: RegSpan,
    /// Number of the operand.
    pub operand: u32,
    /// Not of the VEX or EVEX encodings, which write all of their destination.
    pub legacy: bool,
}

impl Vector {
    /// `size` bytes from byte `at` on, moved down where the register ends before.
    pub fn part(self, at: u16, size: u16) -> Option<RegSpan> {
        let size = size.min(self.full.size);
        Some(span(self.full.offset + at.min(self.full.size - size), size))
    }

    fn low(self, size: u16) -> Option<RegSpan> {
        self.part(0, size)
    }
}

/// Moves, conversions and the like of scalars, which take nothing of their destination.
const UNARY_SCALARS: [&str; 8] =
    ["Movss", "Movsd", "Sqrtss", "Sqrtsd", "Rcpss", "Rsqrtss", "Roundss", "Roundsd"];

/// These store a part of their register that is not the low one, or narrow it.
const STORES_OF_PARTS: [&str; 9] = [
    "Extract",
    "Pextr",
    "Insertps",
    "Cvtps2ph",
    "Pmov",
    "Pcompress",
    "Compress",
    "Maskmov",
    "Pmaskmov",
];

impl View<'_> {
    /// Bytes of operand `operand`, a vector register.
    pub fn vector_part(&self, operand: u32) -> Part {
        let Some(full) = bytes_of(self.insn.op_register(operand)) else {
            return Part::new(None, None);
        };
        let vector = Vector { full, operand, legacy: self.insn.encoding() == EncodingKind::Legacy };
        self.half(vector)
            .or_else(|| self.shuffle(vector))
            .or_else(|| self.lane(vector))
            .or_else(|| self.scalar(vector))
            .or_else(|| self.low_source(vector))
            .unwrap_or(Part::new(Some(full), Some(full)))
    }

    /// Moves of one half of a register.
    fn half(&self, vector: Vector) -> Option<Part> {
        let (low, high) = (vector.part(0, 8), vector.part(8, 8));
        let destination = vector.operand == 0;
        Some(match self.name.as_str() {
            "Movhps" | "Movhpd" if destination && vector.legacy => Part::new(None, high),
            "Movhps" | "Movhpd" if self.insn.op0_kind() == OpKind::Memory => {
                Part::new(high, Some(vector.full))
            }
            "Movlps" | "Movlpd" if destination && vector.legacy => Part::new(None, low),
            "Movhlps" if vector.legacy && destination => Part::new(None, low),
            "Movhlps" if vector.legacy => Part::new(high, None),
            "Movlhps" if vector.legacy && destination => Part::new(None, high),
            "Movlhps" if vector.legacy => Part::new(low, None),
            "Movhlps" if !destination => Part::new(high, None),
            "Movlhps" if !destination => Part::new(low, None),
            // The half of the first source that is not replaced.
            "Movhps" | "Movhpd" if vector.operand == 1 => Part::new(low, None),
            "Movlps" | "Movlpd" if vector.operand == 1 && self.insn.op_count() == 3 => {
                Part::new(high, None)
            }
            _ => return None,
        })
    }

    /// Insertions into and extractions from one lane.
    fn lane(&self, vector: Vector) -> Option<Part> {
        let insertion = self.name.starts_with("Pinsr") && vector.legacy && vector.operand == 0;
        let extraction = self.name.starts_with("Pextr");
        if !(insertion || extraction) || vector.full.size != 16 {
            return None;
        }
        let size = match self.name.chars().last() {
            Some('b') => 1,
            Some('w') => 2,
            Some('d') => 4,
            _ => 8,
        };
        let lane = vector.part(u16::from(self.insn.immediate8()) % (16 / size) * size, size);
        Some(if insertion { Part::new(None, lane) } else { Part::new(lane, Some(vector.full)) })
    }

    /// The destination of scalar operations, whose upper bytes stay, and scalar comparisons.
    fn scalar(&self, vector: Vector) -> Option<Part> {
        let (name, memory) = (self.name.as_str(), self.memory_bytes());
        let scalar = (name.ends_with("ss") || name.ends_with("sd")) && matches!(memory, 4 | 8);
        let from_memory = matches!(name, "Movss" | "Movsd") && !self.is_register(1);
        if vector.legacy && vector.operand == 0 && scalar && !from_memory {
            let size = match name {
                "Cvtsi2ss" | "Cvtsd2ss" => 4,
                "Cvtsi2sd" | "Cvtss2sd" => 8,
                _ => memory,
            };
            let unary = name.starts_with("Cvt") || UNARY_SCALARS.contains(&name);
            let low = vector.low(size);
            return Some(Part::new(if unary { None } else { low }, low));
        }
        let comparison = matches!(name, "Comiss" | "Comisd" | "Ucomiss" | "Ucomisd");
        comparison.then(|| Part::new(vector.low(memory), Some(vector.full)))
    }

    /// The operand that could be in memory is the last one: as much of it is read as would be
    /// loaded.
    fn low_source(&self, vector: Vector) -> Option<Part> {
        let (insn, memory) = (self.insn, self.memory_bytes());
        let of_part = STORES_OF_PARTS.iter().any(|s| self.name.starts_with(s))
            && !self.name.starts_with("Pmovzx")
            && !self.name.starts_with("Pmovsx");
        let immediate =
            |n: u32| matches!(insn.op_kind(n), OpKind::Immediate8 | OpKind::Immediate8_2nd);
        let last = (0..insn.op_count()).rev().find(|&n| !immediate(n));
        let narrower = memory > 0 && memory < vector.full.size;
        let source = vector.operand > 0 && last == Some(vector.operand);
        let stores = (1..insn.op_count()).any(|n| insn.op_kind(n) == OpKind::Memory);
        (source && narrower && !stores && !of_part && !insn.has_op_mask())
            .then(|| Part::new(vector.low(memory), Some(vector.full)))
    }

    /// Bytes that the instruction would access in memory, were that operand there.
    fn memory_bytes(&self) -> u16 {
        u16::try_from(self.insn.memory_size().size()).unwrap_or(0)
    }
}
