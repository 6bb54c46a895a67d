//! SIMD data processing that the specification has wrong or not at all.

use super::super::describe::NEXT;
use super::super::register_map::spans;
use super::opcode::Opcode;
use crate::event::RegSpan;
use crate::isa::decoded::{Decoded, RegAccess};
use crate::registers::Registers;

/// Multiplications by a scalar, by bits 11:8.
const BY_SCALAR: [&str; 16] = [
    "vmla", "vmla", "vmlal", "vqdmlal", "vmls", "vmls", "vmlsl", "vqdmlsl", "vmul", "vmul",
    "vmull", "vqdmull", "vqdmulh", "vqrdmulh", "vqrdmlah", "vqrdmlsh",
];
/// Permutations, by bits 10:7.
const PERMUTATIONS: [&str; 4] = ["vswp", "vtrn", "vuzp", "vzip"];

/// The A32 form of an opcode of SIMD data processing: T32 has the U bit elsewhere, else the
/// encodings are equal.
fn a32(word: u32, thumb: bool) -> Option<u32> {
    match thumb {
        false => Some(word),
        true if word & 0xef00_0000 == 0xef00_0000 => {
            Some(0xf200_0000 | word >> 4 & 0x0100_0000 | word & 0x00ff_ffff)
        }
        true => None,
    }
}

impl Opcode {
    /// Number of a double register.
    fn number(&self, upper: u32, lower: u32) -> u16 {
        self.double(lower, upper).0
    }

    fn vector(&self, number: u16, quad: bool) -> RegSpan {
        match quad {
            true => RegSpan { offset: self.doubles + 16 * (number >> 1), size: 16 },
            false => RegSpan { offset: self.doubles + 8 * number, size: 8 },
        }
    }
}

/// Name and registers of such an instruction, no condition yet; None for everything else.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A7.4 "Advanced SIMD data-processing
/// instructions".
pub fn data(file: &Registers, word: u32, thumb: bool) -> Option<Decoded> {
    let opcode = Opcode::new(file, a32(word, thumb)?)?;
    if let Some((text, from, to)) = opcode.of_one() {
        return Some(decoded(file, text, vec![from], vec![to]));
    }
    let (name, reads, write) = opcode.operands()?;
    Some(decoded(file, name.to_string(), reads, write))
}

/// An instruction that only reads and writes these parts of registers.
pub fn decoded(
    file: &Registers,
    text: String,
    reads: Vec<RegSpan>,
    writes: Vec<RegSpan>,
) -> Decoded {
    let access = |all: Vec<RegSpan>| {
        let bytes = all.into_iter().flat_map(RegSpan::bytes).collect();
        spans(file, &bytes).into_iter().map(|span| RegAccess { span, control: false }).collect()
    };
    let (reads, writes) = (access(reads), access(writes));
    Decoded { text, flow: NEXT, reads, writes, ..Decoded::unknown(4) }
}

impl Opcode {
    /// Name, registers read, registers written.
    fn operands(&self) -> Option<(&'static str, Vec<RegSpan>, Vec<RegSpan>)> {
        let quad = self.field(6, 1) == 1;
        let d = self.vector(self.number(22, 12), quad);
        let n = self.vector(self.number(7, 16), quad);
        let m = self.vector(self.number(5, 0), quad);
        Some(if self.is(0xfe80_0f10, 0xf200_0510) {
            ("vqrshl", vec![n, m], vec![d])
        } else if self.is(0xff90_0f10, 0xf200_0c10) {
            (if self.field(21, 1) == 1 { "vfms" } else { "vfma" }, vec![d, n, m], vec![d])
        } else if self.is(0xffb3_0810, 0xf3b2_0000) && self.field(7, 4) < 4 {
            (PERMUTATIONS[usize::from(self.field(7, 4))], vec![d, m], vec![d, m])
        } else if self.is(0xffb0_0c10, 0xf3b0_0800) {
            self.table_lookup(quad)
        } else if self.is(0xfe80_0050, 0xf280_0040) && matches!(self.field(20, 2), 1 | 2) {
            self.by_scalar()
        } else {
            return None;
        })
    }

    /// VQABS and VQNEG, for which the specification has a third operand, and conversions to and from
    /// half precision: whole text, register read, register written.
    fn of_one(&self) -> Option<(String, RegSpan, RegSpan)> {
        let size = self.field(18, 2);
        let quad = self.field(6, 1) == 1;
        let (name, from, to) = if self.is(0xffb3_0f10, 0xf3b0_0700) && size < 3 {
            let name = if self.field(7, 1) == 1 { "vqneg" } else { "vqabs" };
            (format!("{name}.s{}", 8 << size), quad, quad)
        } else if self.is(0xffbf_0fd0, 0xf3b6_0700) {
            ("vcvt.f32.f16".to_string(), false, true)
        } else if self.is(0xffbf_0f90, 0xf3b6_0600) {
            let name = if quad { "vcvt.bf16.f32" } else { "vcvt.f16.f32" };
            (name.to_string(), true, false)
        } else {
            return None;
        };
        let (d, m) = (self.number(22, 12), self.number(5, 0));
        let shown = |number: u16, quad| match quad {
            true => format!("q{}", number >> 1),
            false => format!("d{number}"),
        };
        let text = format!("{name} {},{}", shown(d, to), shown(m, from));
        Some((text, self.vector(m, from), self.vector(d, to)))
    }

    /// VTBL, and VTBX, which keeps bytes of the destination.
    fn table_lookup(&self, keeps: bool) -> (&'static str, Vec<RegSpan>, Vec<RegSpan>) {
        let (first, destination) = (self.number(7, 16), self.vector(self.number(22, 12), false));
        let list = first..=(first + self.field(8, 2)).min(31);
        let mut reads: Vec<RegSpan> = list.map(|r| self.vector(r, false)).collect();
        reads.push(self.vector(self.number(5, 0), false));
        if keeps {
            reads.push(destination);
        }
        (if keeps { "vtbx" } else { "vtbl" }, reads, vec![destination])
    }

    fn by_scalar(&self) -> (&'static str, Vec<RegSpan>, Vec<RegSpan>) {
        let (op, m) = (self.field(8, 4), self.number(5, 0));
        let (long, quad) = (op < 12 && op & 2 == 2, self.field(24, 1) == 1);
        let scalar = match self.field(20, 2) {
            1 => RegSpan { offset: self.doubles + 8 * (m & 7) + 2 * (m >> 3), size: 2 },
            _ => RegSpan { offset: self.doubles + 8 * (m & 15) + 4 * (m >> 4), size: 4 },
        };
        let destination = self.vector(self.number(22, 12), long || quad);
        let mut reads = vec![self.vector(self.number(7, 16), !long && quad), scalar];
        if !(8..14).contains(&op) {
            reads.push(destination);
        }
        (BY_SCALAR[usize::from(op)], reads, vec![destination])
    }
}
