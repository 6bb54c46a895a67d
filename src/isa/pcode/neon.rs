//! Floating-point and SIMD loads and stores of many registers on 32-bit ARM: structures (`vld1` to
//! `vst4`), which the specification has only in part, and lists (`vldm`, `vpush`), whose recursion
//! in the specification overruns fixed buffers of SLEIGH.

use crate::event::RegSpan;
use crate::isa::{Expr, MemOperand, Op, RegAccess, Registers};

use super::symbolic::{bin, truncate};

/// A load or store of a list of registers, flow `next` and no condition yet; None if `word` is no
/// such instruction. An unpredictable list is [`List::Invalid`].
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A8.8.332 "VLDM", A8.8.412 "VSTM".
pub fn list(file: &Registers, word: u32, thumb: bool) -> Option<List> {
    let (p, u, w) = (word >> 24 & 1, word >> 23 & 1, word >> 21 & 1);
    let many = p == 0 && u == 1 || p == 1 && u == 0 && w == 1;
    let condition = word >> 28;
    if word & 0x0e00_0e00 != 0x0c00_0a00 || !many || condition == 15 || thumb && condition != 14 {
        return None;
    }
    let (load, double) = (word >> 20 & 1 == 1, word >> 8 & 1 == 1);
    let (rn, d, vd, words) = (word >> 16 & 15, word >> 22 & 1, word >> 12 & 15, word & 0xff);
    let (first, size, count) =
        if double { (d << 4 | vd, 8, words >> 1) } else { (vd << 1 | d, 4, words) };
    let (base, registers) = match (file.lookup(&format!("r{rn}")), file.lookup("d0")) {
        (Some(base), Some(d0)) => (base, d0.offset),
        _ => return None,
    };
    if count == 0 || count > 32 || first + count > 32 || rn == 15 && w == 1 {
        return Some(List::Invalid);
    }
    let from = if u == 1 { 0 } else { (4 * words).wrapping_neg() };
    let access = |span: RegSpan| RegAccess {
        span,
        control: file.at(span.offset).is_some_and(|r| r.control),
    };
    let spans: Vec<RegSpan> = (first..first + count)
        .map(|n| RegSpan { offset: registers + (n * size) as u16, size: size as u16 })
        .collect();
    let memory = spans.iter().zip(0u32..).map(|(span, i)| MemOperand {
        is_write: !load,
        size,
        address: truncate(
            bin(Op::Add, Expr::Reg(base), Expr::Const(from.wrapping_add(i * size) as i32 as u64)),
            32,
        ),
        guard: None,
        stack_relative: rn == 13,
        control: false,
        data_register: Some(*span),
    });
    let memory = memory.collect();
    let mut reads = vec![access(base)];
    let mut writes: Vec<RegAccess> = if w == 1 { vec![access(base)] } else { Vec::new() };
    if load { &mut writes } else { &mut reads }.extend(spans.iter().map(|s| access(*s)));
    let name = |n: u32| format!("{}{n}", if double { 'd' } else { 's' });
    let text = format!(
        "v{}m{} {}{},{{{}{}}}",
        if load { "ld" } else { "st" },
        if u == 1 { "ia" } else { "db" },
        if rn == 13 { "sp".to_string() } else { format!("r{rn}") },
        if w == 1 { "!" } else { "" },
        name(first),
        if count > 1 { format!("-{}", name(first + count - 1)) } else { String::new() },
    );
    Some(List::Valid(text, LoadStore { reads, writes, memory }))
}

/// See [`list`].
pub enum List {
    Valid(String, LoadStore),
    Invalid,
}

/// Name and registers (read, written) of SIMD data processing that the specification has wrong or
/// not at all; None for everything else.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A7.4 "Advanced SIMD data-processing
/// instructions".
pub fn data(
    file: &Registers,
    word: u32,
    thumb: bool,
) -> Option<(&'static str, Vec<RegSpan>, Vec<RegSpan>)> {
    // T32 has the U bit elsewhere, else the encodings are equal.
    let w = match thumb {
        true if word & 0xef00_0000 == 0xef00_0000 => {
            0xf200_0000 | word >> 4 & 0x0100_0000 | word & 0x00ff_ffff
        }
        true => return None,
        false => word,
    };
    let d0 = file.lookup("d0")?.offset;
    let field = |low: u32, bits: u32| (w >> low & ((1 << bits) - 1)) as u16;
    let (vd, vn, vm) = (
        field(22, 1) << 4 | field(12, 4),
        field(7, 1) << 4 | field(16, 4),
        field(5, 1) << 4 | field(0, 4),
    );
    let vector = |n: u16, quad: bool| match quad {
        true => RegSpan { offset: d0 + 16 * (n >> 1), size: 16 },
        false => RegSpan { offset: d0 + 8 * n, size: 8 },
    };
    let quad = field(6, 1) == 1;
    let (d, n, m) = (vector(vd, quad), vector(vn, quad), vector(vm, quad));
    Some(match w {
        _ if w & 0xfe80_0f10 == 0xf200_0510 => ("vqrshl", vec![n, m], vec![d]),
        _ if w & 0xff90_0f10 == 0xf200_0c10 => {
            (if field(21, 1) == 1 { "vfms" } else { "vfma" }, vec![d, n, m], vec![d])
        }
        _ if w & 0xffb3_0810 == 0xf3b2_0000 && field(7, 4) < 4 => {
            (["vswp", "vtrn", "vuzp", "vzip"][field(7, 4) as usize], vec![d, m], vec![d, m])
        }
        _ if w & 0xffb0_0c10 == 0xf3b0_0800 => {
            let list = vn..=(vn + field(8, 2)).min(31);
            let mut reads: Vec<RegSpan> = list.map(|r| vector(r, false)).collect();
            reads.push(vector(vm, false));
            if quad {
                reads.push(vector(vd, false));
            }
            (if quad { "vtbx" } else { "vtbl" }, reads, vec![vector(vd, false)])
        }
        _ if w & 0xfe80_0050 == 0xf280_0040 && field(20, 2) != 3 && field(20, 2) != 0 => {
            const NAMES: [&str; 16] = [
                "vmla", "vmla", "vmlal", "vqdmlal", "vmls", "vmls", "vmlsl", "vqdmlsl", "vmul",
                "vmul", "vmull", "vqdmull", "vqdmulh", "vqrdmulh", "vqrdmlah", "vqrdmlsh",
            ];
            let op = field(8, 4);
            let long = op < 12 && op & 2 == 2;
            let quad = field(24, 1) == 1;
            let scalar = match field(20, 2) {
                1 => RegSpan { offset: d0 + 8 * (vm & 7) + 2 * (vm >> 3), size: 2 },
                _ => RegSpan { offset: d0 + 8 * (vm & 15) + 4 * (vm >> 4), size: 4 },
            };
            let d = vector(vd, long || quad);
            let mut reads = vec![vector(vn, !long && quad), scalar];
            if !(8..14).contains(&op) {
                reads.push(d);
            }
            (NAMES[op as usize], reads, vec![d])
        }
        _ => return None,
    })
}

/// Registers and memory of such an instruction.
pub struct LoadStore {
    pub reads: Vec<RegAccess>,
    pub writes: Vec<RegAccess>,
    pub memory: Vec<MemOperand>,
}

/// A structure load or store with a plain name; None if `word` is none.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A7.7 "Advanced SIMD element or structure
/// load/store instructions".
pub fn structure(file: &Registers, word: u32, thumb: bool) -> Option<(String, LoadStore)> {
    let prefix = if thumb { 0xf900_0000 } else { 0xf400_0000 };
    if word & 0xff10_0000 != prefix {
        return None;
    }
    let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
    let load = field(21, 1) == 1;
    let d = (field(22, 1) << 4 | field(12, 4)) as u16;
    let (rn, rm) = (field(16, 4), field(0, 4));
    let (kind, size) = (field(8, 4), field(6, 2));
    let doubles = file.lookup("d0")?.offset;
    // Register bytes in the order of memory, where that is their order (one structure element a
    // register), else by register.
    let mut pieces: Vec<RegSpan> = Vec::new();
    let mut chunks: Vec<(u32, Option<RegSpan>)> = Vec::new();
    let register = |n: u16| (n < 32).then_some(RegSpan { offset: doubles + 8 * n, size: 8 });
    let elements;
    if field(23, 1) == 0 {
        let (n, count, step) = match kind {
            0b0111 => (1, 1, 1),
            0b1010 => (1, 2, 1),
            0b0110 => (1, 3, 1),
            0b0010 => (1, 4, 1),
            0b1000 => (2, 2, 1),
            0b1001 => (2, 2, 2),
            0b0011 => (2, 4, 1),
            0b0100 => (3, 3, 1),
            0b0101 => (3, 3, 2),
            0b0000 => (4, 4, 1),
            0b0001 => (4, 4, 2),
            _ => return None,
        };
        elements = n;
        for i in 0..count {
            let r = register(d + i * step)?;
            pieces.push(r);
            chunks.push((8, (elements == 1).then_some(r)));
        }
    } else {
        let count = (kind & 3) as u16 + 1;
        elements = count;
        let whole = field(10, 2) == 3;
        let (bytes, step, lane) = if whole {
            (if size == 3 { 4 } else { 1 << size }, 1 + field(5, 1) as u16, 0)
        } else {
            match field(10, 2) {
                0 => (1, 1, field(5, 3)),
                1 => (2, 1 + field(5, 1) as u16, field(6, 2)),
                _ => (4, 1 + field(6, 1) as u16, field(7, 1)),
            }
        };
        for i in 0..count {
            // `vld1` to all lanes may fill two registers.
            let r = register(if whole && count == 1 { d } else { d + i * step })?;
            if whole {
                pieces.push(r);
                if count == 1 && field(5, 1) == 1 {
                    pieces.push(register(d + 1)?);
                }
                chunks.push((bytes, None));
            } else {
                let lane = RegSpan { offset: r.offset + (lane * bytes) as u16, size: bytes as u16 };
                pieces.push(lane);
                chunks.push((bytes, Some(lane)));
            }
        }
    }
    let full = |n: u32| file.lookup(&format!("r{n}"));
    let base = full(rn)?;
    let stack = rn == 13;
    let mut memory = Vec::new();
    let mut at = 0;
    for (bytes, data_register) in chunks {
        let address = truncate(bin(Op::Add, Expr::Reg(base), Expr::Const(u64::from(at))), 32);
        memory.push(MemOperand {
            is_write: !load,
            size: bytes,
            address,
            guard: None,
            stack_relative: stack,
            control: false,
            data_register,
        });
        at += bytes;
    }
    let access = |span: RegSpan| RegAccess {
        span,
        control: file.at(span.offset).is_some_and(|r| r.control),
    };
    let mut reads = vec![access(base)];
    let mut writes = Vec::new();
    if rm != 15 {
        writes.push(access(base));
        if rm != 13 && rm != rn {
            reads.push(access(full(rm)?));
        }
    }
    pieces.sort_unstable();
    pieces.dedup();
    let data = pieces.into_iter().map(access);
    if load {
        writes.extend(data)
    } else {
        reads.extend(data)
    }
    reads.sort_by_key(|r| r.span);
    writes.sort_by_key(|r| r.span);
    let text = format!(
        "v{}{elements} [{}]",
        if load { "ld" } else { "st" },
        if stack { "sp".to_string() } else { format!("r{rn}") }
    );
    Some((text, LoadStore { reads, writes, memory }))
}
