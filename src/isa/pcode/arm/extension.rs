//! "Additional Advanced SIMD" of ARMv8: complex numbers, dot and matrix products, long products of
//! half precision. The specification takes some for coprocessors, and leaves the sums out of others.

use super::opcode::Opcode;
use super::simd::decoded;
use crate::event::RegSpan;
use crate::isa::decoded::Decoded;
use crate::registers::Registers;

/// What the operands are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Vectors of one width; the destination is an operand.
    Sum,
    /// The same, but the destination is only written.
    Plain,
    /// The same, of 16 bytes, of which each other half-word counts.
    Halves,
    /// Long products: the sources are half as long.
    Long,
}

/// The last operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Vector,
    /// An element of two bytes of one of d0 to d7, or of s0 to s15.
    Half,
    /// An element of four bytes of one of d0 to d15.
    Word,
    /// All of a double register.
    Double,
}

/// Where the rotation stands, in units of a right angle; of VCADD it is one or three.
#[derive(Clone, Copy)]
enum Rotation {
    None,
    At(u32),
    Odd,
}

/// Mask, value, name, form of the operands, the last one.
type Row = (u32, u32, &'static str, Form, Last);

const ROWS: &[Row] = &[
    (0xfeb0_0f10, 0xfc80_0800, "vcadd.f16", Form::Plain, Last::Vector),
    (0xfeb0_0f10, 0xfc90_0800, "vcadd.f32", Form::Plain, Last::Vector),
    (0xfe30_0f10, 0xfc20_0800, "vcmla.f16", Form::Sum, Last::Vector),
    (0xfe30_0f10, 0xfc30_0800, "vcmla.f32", Form::Sum, Last::Vector),
    (0xff80_0f10, 0xfe00_0800, "vcmla.f16", Form::Sum, Last::Word),
    (0xff80_0f10, 0xfe80_0800, "vcmla.f32", Form::Sum, Last::Double),
    (0xffb0_0f10, 0xfc20_0810, "vfmal.f16", Form::Long, Last::Vector),
    (0xffb0_0f10, 0xfca0_0810, "vfmsl.f16", Form::Long, Last::Vector),
    (0xffb0_0f10, 0xfe00_0810, "vfmal.f16", Form::Long, Last::Half),
    (0xffb0_0f10, 0xfe10_0810, "vfmsl.f16", Form::Long, Last::Half),
    (0xffb0_0f50, 0xfc30_0810, "vfmab.bf16", Form::Halves, Last::Vector),
    (0xffb0_0f50, 0xfc30_0850, "vfmat.bf16", Form::Halves, Last::Vector),
    (0xffb0_0f50, 0xfe30_0810, "vfmab.bf16", Form::Halves, Last::Half),
    (0xffb0_0f50, 0xfe30_0850, "vfmat.bf16", Form::Halves, Last::Half),
    (0xffb0_0f10, 0xfc20_0d00, "vsdot.s8", Form::Sum, Last::Vector),
    (0xffb0_0f10, 0xfc20_0d10, "vudot.u8", Form::Sum, Last::Vector),
    (0xffb0_0f10, 0xfca0_0d00, "vusdot.s8", Form::Sum, Last::Vector),
    (0xffb0_0f10, 0xfc00_0d00, "vdot.bf16", Form::Sum, Last::Vector),
    (0xffb0_0f10, 0xfe20_0d00, "vsdot.s8", Form::Sum, Last::Word),
    (0xffb0_0f10, 0xfe20_0d10, "vudot.u8", Form::Sum, Last::Word),
    (0xffb0_0f10, 0xfe80_0d00, "vusdot.s8", Form::Sum, Last::Word),
    (0xffb0_0f10, 0xfe80_0d10, "vsudot.u8", Form::Sum, Last::Word),
    (0xffb0_0f10, 0xfe00_0d00, "vdot.bf16", Form::Sum, Last::Word),
    (0xffb0_0f50, 0xfc20_0c40, "vsmmla.s8", Form::Sum, Last::Vector),
    (0xffb0_0f50, 0xfc20_0c50, "vummla.u8", Form::Sum, Last::Vector),
    (0xffb0_0f50, 0xfca0_0c40, "vusmmla.s8", Form::Sum, Last::Vector),
    (0xffb0_0f50, 0xfc00_0c40, "vmmla.bf16", Form::Sum, Last::Vector),
];

impl Rotation {
    fn of(name: &str, last: Last) -> Rotation {
        match last {
            _ if name.starts_with("vcadd") => Rotation::Odd,
            _ if !name.starts_with("vcmla") => Rotation::None,
            Last::Vector => Rotation::At(23),
            _ => Rotation::At(20),
        }
    }
}

impl Opcode {
    /// A register of `size` bytes, and how it is written.
    fn shown(&self, four: u32, one: u32, size: u16) -> (String, RegSpan) {
        let (letter, (number, span)) = match size {
            4 => ('s', self.single(four, one)),
            8 => ('d', self.double(four, one)),
            _ => {
                let number = self.double(four, one).0 >> 1;
                ('q', (number, RegSpan { offset: self.doubles + size * number, size }))
            }
        };
        (format!("{letter}{number}"), span)
    }

    /// The last operand and how it is written.
    fn last(&self, last: Last, size: u16) -> (String, RegSpan) {
        let element = |letter: char, number: u16, register: u16, index: u16, size: u16| {
            let offset = self.doubles + register * number + size * index;
            (format!("{letter}{number}[{index}]"), RegSpan { offset, size })
        };
        let (m, low, three) = (self.field(5, 1), self.field(0, 4), self.field(0, 3));
        match last {
            Last::Vector => self.shown(0, 5, size),
            Last::Double => self.shown(0, 5, 8),
            Last::Word => element('d', low, 8, m, 4),
            // Of a half of a double register where the vectors are of 8 bytes.
            Last::Half if size == 4 => element('s', three << 1 | m, 4, low >> 3, 2),
            Last::Half => element('d', three, 8, m << 1 | low >> 3, 2),
        }
    }
}

/// Such an instruction, no condition yet; None for everything else. A32 and T32 have equal opcodes.
///
/// Source: Arm Architecture Reference Manual for A-profile (DDI 0487), F4.1 "Additional Advanced
/// SIMD and floating-point instructions".
pub fn extension(file: &Registers, word: u32) -> Option<Decoded> {
    let row = ROWS.iter().find(|(mask, value, ..)| word & mask == *value)?;
    let (_, _, name, form, last) = *row;
    let opcode = Opcode::new(file, word)?;
    let quad = form == Form::Halves || opcode.field(6, 1) == 1;
    let width = if quad { 16 } else { 8 };
    let size = if form == Form::Long { width / 2 } else { width };
    let (d, to) = opcode.shown(12, 22, width);
    let (n, first) = opcode.shown(16, 7, size);
    let (m, second) = opcode.last(last, size);
    let mut reads: Vec<RegSpan> = vec![first, second];
    if form == Form::Halves {
        let skip = 2 * opcode.field(6, 1);
        let halves = |span: RegSpan| {
            let offsets = (span.offset + skip..span.end()).step_by(4);
            offsets.map(|offset| RegSpan { offset, size: 2 }).collect::<Vec<_>>()
        };
        reads = halves(first);
        reads.extend(if last == Last::Half { vec![second] } else { halves(second) });
    }
    if form != Form::Plain {
        reads.push(to);
    }
    let turned = match Rotation::of(name, last) {
        Rotation::None => String::new(),
        Rotation::At(low) => format!(",#{}", 90 * opcode.field(low, 2)),
        Rotation::Odd => format!(",#{}", 90 + 180 * opcode.field(24, 1)),
    };
    Some(decoded(file, format!("{name} {d},{n},{m}{turned}"), reads, vec![to]))
}
