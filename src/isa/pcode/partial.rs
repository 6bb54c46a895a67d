//! Instructions that take or replace a part of a register where the specifications take all of it:
//! their p-code masks, shifts, or calls an operation without a body.
//!
//! Sources: Arm Architecture Reference Manual (DDI 0406 for A32 and T32, DDI 0487 for A64).

use super::evaluated::Evaluated;
use crate::event::{Isa, RegSpan};
use std::collections::BTreeSet;

/// Bytes of our register file.
type Bytes = BTreeSet<u16>;

/// A register of the opcode and the bytes of it that count.
type Part = (RegSpan, Vec<u16>);

impl Evaluated<'_> {
    /// Takes out of `reads` and `writes` what does not count.
    pub fn mend_parts(&self, reads: &mut Bytes, writes: &mut Bytes) {
        if let Some((register, bytes)) = self.replaced() {
            keep(writes, register, &bytes);
            keep(reads, register, &[]);
        }
        let parts = self.taken();
        for (register, _) in &parts {
            keep(reads, *register, &[]);
        }
        for (register, bytes) in parts {
            reads.extend(
                bytes.into_iter().filter(|b| *b < register.size).map(|b| register.offset + b),
            );
        }
    }

    /// The bytes of the destination that are replaced; the others stay, and are not read.
    fn replaced(&self) -> Option<Part> {
        match (self.isa, self.mnemonic()) {
            (Isa::Aarch64, "movk") => {
                let at = 2 * self.small(21, 2);
                // Writes of 32 bits zero the upper half.
                let zeroed = if self.field(31, 1) == 1 { 8..8 } else { 4..8 };
                Some((self.register('x', 0)?, (at..at + 2).chain(zeroed).collect()))
            }
            (Isa::Arm, "movt") => {
                Some((self.register('r', if self.thumb { 8 } else { 12 })?, vec![2, 3]))
            }
            // VMOV of a core register to a scalar.
            (Isa::Arm, _) if self.wide() && self.word & 0x0f90_0f1f == 0x0e00_0b10 => self.scalar(),
            _ => None,
        }
    }

    /// What is taken of the sources that are not taken whole; all that is read of a register.
    fn taken(&self) -> Vec<Part> {
        match self.isa {
            Isa::Aarch64 => self.taken_a64(),
            Isa::Arm if self.wide() => {
                let parts = self.extended().or_else(|| self.packed()).or_else(|| self.checksum());
                let scalar = (self.word & 0x0f10_0f1f == 0x0e10_0b10).then(|| self.scalar());
                parts
                    .or_else(|| scalar.flatten().map(|part| vec![part]))
                    .or_else(|| self.shifted())
                    .unwrap_or_default()
            }
            Isa::Arm => self.shifted().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// An opcode of 32 bits.
    fn wide(&self) -> bool {
        !self.thumb || self.word > 0xffff
    }

    /// Up to 8 bits of the opcode.
    pub fn small(&self, low: u32, bits: u32) -> u16 {
        u16::try_from(self.field(low, bits)).unwrap_or(0)
    }

    fn taken_a64(&self) -> Vec<Part> {
        let vector = |low: u32| self.register('v', low);
        let (first, second) = (vector(5), vector(16));
        let both = |a: Vec<u16>, b: Vec<u16>| match (first, second) {
            (Some(n), Some(m)) => vec![(n, a), (m, b)],
            _ => Vec::new(),
        };
        match self.mnemonic() {
            "crc32b" | "crc32cb" | "crc32h" | "crc32ch" => self.checksum().unwrap_or_default(),
            "pmull2" => both((8..16).collect(), (8..16).collect()),
            "ext" if self.word & 0xbfe0_8400 == 0x2e00_0000 => {
                let (at, width) = (self.small(11, 4), if self.field(30, 1) == 1 { 16 } else { 8 });
                both((at..width).collect(), (0..at.min(width)).collect())
            }
            _ => Vec::new(),
        }
    }

    /// CRC32B and CRC32H: the low bytes of the last operand.
    fn checksum(&self) -> Option<Vec<Part>> {
        let size = match self.mnemonic() {
            "crc32b" | "crc32cb" => 1,
            "crc32h" | "crc32ch" => 2,
            _ => return None,
        };
        let (letter, second, first) = match (self.isa, self.thumb) {
            (Isa::Aarch64, _) => ('x', 16, 5),
            _ => ('r', 0, 16),
        };
        let state = self.register(letter, first).map(|r| (r, (0..4).collect()));
        let data = self.register(letter, second).map(|r| (r, (0..size).collect()));
        Some(state.into_iter().chain(data).collect())
    }

    /// The lane of a double register in a VMOV of a scalar.
    fn scalar(&self) -> Option<Part> {
        let (upper, lower) = (self.small(21, 2), self.small(5, 2));
        let (index, size) = match (upper >> 1, lower & 1) {
            (1, _) => ((upper & 1) << 2 | lower, 1),
            (_, 1) => ((upper & 1) << 1 | lower >> 1, 2),
            _ => (upper & 1, 4),
        };
        let number = self.small(7, 1) << 4 | self.small(16, 4);
        let register = self.file.lookup(&format!("d{number}"))?;
        Some((register, (index * size..(index + 1) * size).collect()))
    }

    /// SXTB to UXTAH: a rotated byte, two, or a half-word, added to another register or not.
    fn extended(&self) -> Option<Vec<Part>> {
        let (kind, rotated) = if self.thumb && self.word & 0xff80_f0c0 == 0xfa00_f080 {
            (
                ["h", "h", "b16", "b16", "b", "b", "", ""][self.field(20, 3) as usize],
                self.small(4, 2),
            )
        } else if !self.thumb && self.word & 0x0f80_03f0 == 0x0680_0070 {
            (
                ["b16", "", "b", "h", "b16", "", "b", "h"][self.field(20, 3) as usize],
                self.small(10, 2),
            )
        } else {
            return None;
        };
        let bytes = match kind {
            "b" => vec![rotated],
            "h" => vec![rotated, (rotated + 1) % 4],
            "b16" => vec![rotated, (rotated + 2) % 4],
            _ => return None,
        };
        Some(self.with_first(self.register('r', 0)?, bytes, (0..4).collect()))
    }

    /// Register `second` with the bytes taken of it, and the one in bits 19:16 if there is one.
    fn with_first(&self, second: RegSpan, bytes: Vec<u16>, first: Vec<u16>) -> Vec<Part> {
        let other = self.register('r', 16).filter(|_| self.field(16, 4) != 15);
        other.map(|r| (r, first)).into_iter().chain([(second, bytes)]).collect()
    }

    /// PKHBT and PKHTB: a half of each.
    fn packed(&self) -> Option<Vec<Part>> {
        let (top, shift) = if self.thumb && self.word & 0xfff0_8010 == 0xeac0_0000 {
            (self.field(5, 1) == 1, self.small(12, 3) << 2 | self.small(6, 2))
        } else if !self.thumb && self.word & 0x0ff0_0030 == 0x0680_0010 {
            (self.field(6, 1) == 1, self.small(7, 5))
        } else {
            return None;
        };
        let bytes = |from: u16, to: u16| (from / 8..to.min(32).div_ceil(8)).collect::<Vec<_>>();
        let (first, second) = match (top, shift) {
            (false, _) => (vec![0, 1], bytes(16u16.saturating_sub(shift), 32 - shift)),
            // 0 stands for 32: only the sign.
            (true, 0) => (vec![2, 3], vec![3]),
            (true, _) => (vec![2, 3], bytes(shift, shift + 16)),
        };
        Some(self.with_first(self.register('r', 0)?, second, first))
    }

    /// Shifts by a register: the amount is the low byte ("the bottom byte of a register").
    fn shifted(&self) -> Option<Vec<Part>> {
        let word = self.word;
        let (amount, others) = match (self.thumb, self.wide()) {
            (true, true) if word & 0xff80_f0f0 == 0xfa00_f000 => (0, [16, 16, 16]),
            (true, false) if matches!(word >> 6, 0x102 | 0x103 | 0x104 | 0x107) => {
                let register = |low: u32| self.file.lookup(&format!("r{}", self.field(low, 3)));
                let (amount, value) = (register(3)?, register(0)?);
                return (amount != value).then(|| vec![(amount, vec![0])]);
            }
            (false, _)
                if word & 0x0e00_0090 == 0x0000_0010 && word & 0x0190_0000 != 0x0100_0000 =>
            {
                (8, [0, 16, 16])
            }
            _ => return None,
        };
        // MOV and MVN have no first source.
        let moves = !self.thumb && word & 0x01a0_0000 == 0x01a0_0000;
        let used = if moves { &others[..1] } else { &others[..] };
        let register = self.register('r', amount)?;
        let twice = used.iter().any(|low| self.register('r', *low) == Some(register));
        (!twice).then(|| vec![(register, vec![0])])
    }
}

/// Keeps only `bytes` of those of a register.
fn keep(all: &mut Bytes, register: RegSpan, bytes: &[u16]) {
    all.retain(|b| !register.bytes().contains(b) || bytes.contains(&(b - register.offset)));
}
