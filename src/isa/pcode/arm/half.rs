//! Floating point of half precision (`vadd.f16`, `vldr.16`), which the specification takes for
//! instructions of coprocessor 9, and the few that go between it and other types.
//!
//! Source: Arm Architecture Reference Manual for A-profile (DDI 0487), F4.1 "Advanced SIMD and
//! floating-point data-processing" and "Floating-point 32-bit move".

use super::super::describe::NEXT;
use super::super::register_map::spans;
use super::opcode::Opcode;
use super::simd::decoded;
use crate::event::RegSpan;
use crate::isa::decoded::{Decoded, MemOperand, Moved, RegAccess};
use crate::isa::expr::Expr;
use crate::registers::Registers;

/// The opcode of single precision that does the same with the same registers: only the bits of the
/// size differ. None for everything else.
pub fn as_single(word: u32) -> Option<u32> {
    let unconditional = word >> 28 == 15;
    let calculates = word & 0x0f00_0f10 == 0x0e00_0900 && !becomes_half(word);
    let moves = word & 0x0fe0_0f7f == 0x0e00_0910 && !unconditional;
    // From 9 to 10.
    (calculates || moves).then_some(word ^ 0x300)
}

/// VCVTB and VCVTT, whose size says another thing; between single and double precision.
fn becomes_half(word: u32) -> bool {
    let converts = word & 0x0fb0_0040 == 0x0eb0_0040 && word >> 28 != 15;
    converts && (matches!(word >> 16 & 15, 2 | 3) || word >> 16 & 15 == 7 && word >> 7 & 1 == 1)
}

/// Of what the opcode of single precision does: `word` reads two bytes, not four, of each register;
/// but what it writes has zeros above.
pub fn narrowed(file: &Registers, word: u32, mut decoded: Decoded) -> Decoded {
    // A conversion from an integer or fixed point, which have as many bits there.
    let from_integer = word & 0x0fb0_0040 == 0x0eb0_0040
        && word >> 28 != 15
        && matches!(word >> 16 & 15, 8 | 10 | 11);
    if !from_integer {
        let reads = std::mem::take(&mut decoded.reads);
        let (control, data): (Vec<RegAccess>, Vec<RegAccess>) =
            reads.into_iter().partition(|read| read.control);
        let halves = |span: RegSpan| {
            span.bytes().enumerate().filter(|(i, _)| i % 4 < 2).map(|(_, byte)| byte)
        };
        let bytes = data.into_iter().flat_map(|read| halves(read.span)).collect();
        decoded.reads = spans(file, &bytes).into_iter().map(|span| file.access(span)).collect();
        decoded.reads.extend(control);
        decoded.reads.sort_by_key(|read| read.span);
    }
    decoded.text = decoded.text.replace("f32", "f16");
    if decoded.text.starts_with("vmov") && !decoded.text.contains(".f16") {
        decoded.text = decoded.text.replacen(' ', ".f16 ", 1);
    }
    decoded
}

impl Opcode {
    /// Moves of halves, and conversions.
    fn of_halves(&self) -> Option<(String, Vec<RegSpan>, Vec<RegSpan>)> {
        let (to, d) = self.single(12, 22);
        let (from, m) = self.single(0, 5);
        let part = |span: RegSpan, skip| RegSpan { offset: span.offset + skip, size: 2 };
        let with = |name: &str| format!("{name} s{to},s{from}");
        Some(if self.is(0xffbf_0fd0, 0xfeb0_0a40) {
            (with("vmovx.f16"), vec![part(m, 2)], vec![d])
        } else if self.is(0xffbf_0fd0, 0xfeb0_0ac0) {
            (with("vins.f16"), vec![part(m, 0)], vec![part(d, 2)])
        } else if self.word >> 28 != 15 && self.is(0x0fbf_0c50, 0x0eb3_0840) {
            let (kind, top) = (self.field(8, 2), self.field(7, 1));
            let types = ["", "bf16.f32", "f16.f32", "f16.f64"][usize::from(kind)];
            let name = format!("vcvt{}.{types}", if top == 1 { 't' } else { 'b' });
            let (text, source) = match kind {
                0 => return None,
                3 => {
                    let (from, double) = self.double(0, 5);
                    (format!("{name} s{to},d{from}"), double)
                }
                _ => (with(&name), m),
            };
            (text, vec![source], vec![part(d, 2 * top)])
        } else {
            return None;
        })
    }
}

/// Such an instruction without one of single precision, no condition yet; None for everything else.
pub fn own(file: &Registers, address: u64, word: u32, thumb: bool) -> Option<Decoded> {
    let opcode = Opcode::new(file, word)?;
    if let Some((text, reads, writes)) = opcode.of_halves() {
        return Some(decoded(file, text, reads, writes));
    }
    if word >> 28 != 15 && opcode.is(0x0fbf_0fd0, 0x0eb9_0bc0) {
        return conversion_of_scripts(file, &opcode);
    }
    (word >> 28 != 15 && opcode.is(0x0f20_0f00, 0x0d00_0900))
        .then(|| access(file, &opcode, address, thumb))?
}

/// VJCVT: sets a flag as well.
fn conversion_of_scripts(file: &Registers, opcode: &Opcode) -> Option<Decoded> {
    let (to, d) = opcode.single(12, 22);
    let (from, source) = opcode.double(0, 5);
    let text = format!("vjcvt.s32.f64 s{to},d{from}");
    let mut decoded = decoded(file, text, vec![source], vec![d]);
    let status = file.access(file.lookup("fpscr")?);
    for all in [&mut decoded.reads, &mut decoded.writes] {
        all.push(status);
        all.sort_by_key(|access| access.span);
    }
    Some(decoded)
}

/// VLDR and VSTR of two bytes.
fn access(file: &Registers, opcode: &Opcode, address: u64, thumb: bool) -> Option<Decoded> {
    let (number, register) = opcode.single(12, 22);
    let (load, rn) = (opcode.field(20, 1) == 1, opcode.field(16, 4));
    let distance = 2 * u64::from(opcode.field(0, 8));
    let up = opcode.field(23, 1) == 1;
    let offset = if up { distance } else { distance.wrapping_neg() };
    let base = file.lookup(&format!("r{rn}"))?;
    let next = (address + if thumb { 4 } else { 8 }) & !3;
    let place = match rn {
        15 => Expr::Const(next.wrapping_add(offset) & 0xffff_ffff),
        _ => Expr::Reg(base).offset(offset).truncate(32),
    };
    let half = RegSpan { size: 2, ..register };
    let memory = vec![MemOperand {
        stack_relative: rn == 13,
        data_register: (!load).then_some(half),
        ..MemOperand::plain(!load, 2, place)
    }];
    let mut reads = Vec::new();
    reads.extend((rn != 15).then(|| file.access(base)));
    reads.extend((!load).then(|| file.access(half)));
    let writes = if load { vec![file.access(register)] } else { Vec::new() };
    let (name, sign) = (if load { "vldr" } else { "vstr" }, if up { "" } else { "-" });
    let shown = match rn {
        13 => "sp".to_string(),
        15 => "pc".to_string(),
        _ => format!("r{rn}"),
    };
    Some(Decoded {
        text: format!("{name}.16 s{number},[{shown},#{sign}{distance:#x}]"),
        flow: NEXT,
        reads,
        writes,
        memory,
        moved: load.then_some(Moved::ToRegister(half)),
        ..Decoded::unknown(4)
    })
}
