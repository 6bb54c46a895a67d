//! SIMD instructions of AArch64 of which the specification has operands wrong, by their encodings: a
//! class whole, not only the instructions that were found.
//!
//! Its p-code for them calls operations without a body. Their arguments have the destination among
//! them where it is none, lack a source, or are another register or element.
//!
//! Source: Arm Architecture Reference Manual (DDI 0487), C4.1 "Data Processing -- Scalar
//! Floating-Point and Advanced SIMD".

use super::evaluated::Evaluated;
use crate::event::RegSpan;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of our register file.
type Bytes = BTreeSet<u16>;

/// Bytes of the vector register with this number.
type Part = (u32, Range<u16>);

/// The vector registers of an instruction.
struct Operands {
    reads: Vec<Part>,
    /// Of the destination.
    writes: Range<u16>,
}

/// All of a vector register: what is shorter zeroes the rest.
const WHOLE: Range<u16> = 0..16;

impl Operands {
    fn whole(reads: Vec<Part>) -> Option<Operands> {
        Some(Operands { reads, writes: WHOLE })
    }
}

impl Evaluated<'_> {
    /// Puts the vector registers that the encoding says in the place of those of the p-code.
    pub fn mend_simd(&self, reads: &mut Bytes, writes: &mut Bytes) {
        // Scalars have bit 30 set; without it, they are floating-point instructions.
        if self.is_scalar() && !self.is_wide() {
            return;
        }
        let operands = self.narrowing();
        let operands = operands.or_else(|| self.by_element()).or_else(|| self.three_more());
        let operands = operands.or_else(|| self.long_halves()).or_else(|| self.scalar_halves());
        let Some(operands) = operands.or_else(|| self.ciphers()) else { return };
        let vectors = self.file.lookup("v0").zip(self.file.lookup("v31"));
        let Some((first, last)) = vectors else { return };
        for bytes in [&mut *reads, &mut *writes] {
            bytes.retain(|b| !(first.offset..last.end()).contains(b));
        }
        let at = |(number, bytes): &Part| {
            let vector = self.file.lookup(&format!("v{number}"));
            let offset = vector.map(|RegSpan { offset, .. }| offset);
            let bytes = bytes.clone();
            offset.into_iter().flat_map(move |o| o + bytes.start..o + bytes.end)
        };
        reads.extend(operands.reads.iter().flat_map(at));
        writes.extend(at(&(self.rd(), operands.writes)));
    }

    fn is(&self, mask: u32, value: u32) -> bool {
        self.word & mask == value
    }

    fn rd(&self) -> u32 {
        self.field(0, 5)
    }

    fn rn(&self) -> u32 {
        self.field(5, 5)
    }

    fn rm(&self) -> u32 {
        self.field(16, 5)
    }

    /// Of one element, not of all: bit 28, where the encodings are equal.
    fn is_scalar(&self) -> bool {
        self.field(28, 1) == 1
    }

    /// A vector of 16 bytes, not 8; the upper half, where a half is taken or written.
    fn is_wide(&self) -> bool {
        self.field(30, 1) == 1
    }

    fn width(&self) -> u16 {
        if self.is_wide() { 16 } else { 8 }
    }

    /// The lower or upper half of the first `width` bytes.
    fn half(upper: bool, width: u16) -> Range<u16> {
        if upper { width / 2..width } else { 0..width / 2 }
    }

    /// Results with half the bits of their sources. Of the destination nothing is read, and `...2`
    /// writes its upper half only.
    fn narrowing(&self) -> Option<Operands> {
        let n = self.rn();
        let (two, opcode) = (self.is(0x8f3e_0c00, 0x0e20_0800), self.field(12, 5));
        let size = self.field(22, 2);
        let (scalar, reads) = if self.is(0x8f80_0400, 0x0f00_0400)
            && (0b10000..=0b10011).contains(&self.field(11, 5))
        {
            // Shifts: the size is the highest bit of bits 22:19.
            (2 << self.field(19, 4).checked_ilog2()?, vec![n])
        } else if two && (opcode == 0b10010 && self.field(29, 1) == 1 || opcode == 0b10100) {
            // XTN takes parts of its source, and its p-code says them.
            (2 << size, vec![n])
        } else if two && opcode == 0b10110 {
            (4 << (size & 1), vec![n])
        } else if self.is(0x9f20_0c00, 0x0e20_0000) && matches!(self.field(12, 4), 4 | 6) {
            (16, vec![n, self.rm()])
        } else {
            return None;
        };
        let taken = if self.is_scalar() { 0..scalar } else { WHOLE };
        let reads = reads.into_iter().map(|register| (register, taken.clone())).collect();
        let upper = !self.is_scalar() && self.is_wide();
        Some(Operands { reads, writes: if upper { 8..16 } else { WHOLE } })
    }

    /// Operations with one element of the last operand.
    fn by_element(&self) -> Option<Operands> {
        let (size, opcode, u) = (self.field(22, 2), self.field(12, 4), self.field(29, 1));
        if !self.is(0x8f00_0400, 0x0f00_0000) {
            return None;
        }
        let dot = opcode == 0b1110 || opcode == 0b1111 && u == 0 && size < 3;
        let of_halves = opcode == 0b1111 && u == 0 && size == 3;
        let long_halves = size == 2 && opcode & 0b1011 == u << 3;
        let complex = u == 1 && opcode & 0b1001 == 1;
        let float = !complex && matches!(opcode, 0b0001 | 0b0101 | 0b1001);
        let each = match size {
            _ if of_halves || long_halves => 2,
            _ if dot => 4,
            0 if float => 2,
            1 if float => return None,
            0 => return None,
            3 if float => 8,
            3 => return None,
            size => 1 << size,
        };
        let element = if complex { 2 * each } else { each };
        let (high, low, more) = (self.small(11, 1), self.small(21, 1), self.small(20, 1));
        let (index, m) = match element {
            2 => (high << 2 | low << 1 | more, self.field(16, 4)),
            4 => (high << 1 | low, self.rm()),
            _ => (high, self.rm()),
        };
        // Results with twice the bits: of one half of the first operand.
        let long = !dot && !complex && !float && opcode & 0b0010 == 2 && opcode < 12;
        let (width, upper) = (self.width(), self.is_wide());
        let (n, d) = match () {
            () if of_halves => (WHOLE, WHOLE),
            () if long_halves => (Self::half(u == 1, width), 0..width),
            () if self.is_scalar() => (0..each, 0..if long { 2 * each } else { each }),
            () if long => (Self::half(upper, 16), WHOLE),
            () => (0..width, 0..width),
        };
        let mut reads = vec![(m, index * element..(index + 1) * element)];
        if of_halves {
            reads.extend(Self::alternate(self.rn(), upper));
        } else {
            reads.push((self.rn(), n));
        }
        let accumulates = match opcode {
            _ if dot || of_halves || long_halves || complex => true,
            0b1101 | 0b1111 => u == 1,
            _ => opcode < 8,
        };
        reads.extend(accumulates.then(|| (self.rd(), d)));
        Operands::whole(reads)
    }

    /// The lower or upper half of each four bytes.
    fn alternate(register: u32, upper: bool) -> impl Iterator<Item = Part> {
        let first = if upper { 2 } else { 0 };
        (0..4).map(move |i| (register, first + 4 * i..first + 4 * i + 2))
    }

    /// "Three registers, extension": dot and matrix products, complex numbers, SQRDMLAH.
    fn three_more(&self) -> Option<Operands> {
        let opcode = self.field(11, 4);
        let (d, n, m) = (self.rd(), self.rn(), self.rm());
        let width = if self.is(0x9f20_8400, 0x0e00_8400) {
            self.width()
        } else if self.is(0xdf20_f400, 0x5e00_8400) {
            1 << self.field(22, 2)
        } else {
            return None;
        };
        if opcode == 0b1111 && self.field(22, 2) == 3 {
            let halves = |register| Self::alternate(register, self.is_wide());
            return Operands::whole(halves(n).chain(halves(m)).chain([(d, WHOLE)]).collect());
        }
        // FCADD only adds the two.
        let accumulates = opcode & 0b1101 != 0b1100;
        let mut reads = vec![(n, 0..width), (m, 0..width)];
        reads.extend(accumulates.then_some((d, 0..width)));
        Operands::whole(reads)
    }

    /// FMLAL and FMLSL of vectors: one half of both operands.
    fn long_halves(&self) -> Option<Operands> {
        let opcode = if self.field(29, 1) == 1 { 0b11001 } else { 0b11101 };
        if !self.is(0x9f60_0400, 0x0e20_0400) || self.field(11, 5) != opcode {
            return None;
        }
        let half = Self::half(self.field(29, 1) == 1, self.width());
        let sources = [(self.rn(), half.clone()), (self.rm(), half), (self.rd(), 0..self.width())];
        Operands::whole(sources.to_vec())
    }

    /// Three scalars of half precision.
    fn scalar_halves(&self) -> Option<Operands> {
        let operands = vec![(self.rn(), 0..2), (self.rm(), 0..2)];
        self.is(0xdf60_c400, 0x5e40_0400).then_some(operands).and_then(Operands::whole)
    }

    /// Of ciphers and hashes, what does not go on with its destination, or takes parts.
    fn ciphers(&self) -> Option<Operands> {
        let (d, n, m) = (self.rd(), self.rn(), self.rm());
        Operands::whole(if self.is(0xffff_ec00, 0x4e28_6800) {
            // AESMC, AESIMC.
            vec![(n, WHOLE)]
        } else if self.is(0xffe0_fc00, 0xce60_c800) {
            // SM4EKEY.
            vec![(n, WHOLE), (m, WHOLE)]
        } else if self.is(0xffe0_8000, 0xce40_0000) {
            // SM3SS1: the last element of three.
            vec![(n, 12..16), (m, 12..16), (self.field(10, 5), 12..16)]
        } else if self.is(0xffe0_c000, 0xce40_8000) {
            // SM3TT1A to SM3TT2B.
            let at = 4 * self.small(12, 2);
            vec![(n, 12..16), (m, at..at + 4), (d, WHOLE)]
        } else if self.is(0xffff_fc00, 0x5e28_2800) {
            // SHA256SU0.
            vec![(n, 0..4), (d, WHOLE)]
        } else if self.is(0xffe0_fc00, 0xce60_8400) {
            // SHA512H2.
            vec![(n, 0..8), (m, WHOLE), (d, WHOLE)]
        } else {
            return None;
        })
    }
}
