//! Structure loads and stores of 32-bit ARM (`vld1` to `vst4`), which the specification has only in part.

use crate::event::RegSpan;
use crate::isa::{Expr, MemOperand, Op, RegAccess, Registers};

use super::symbolic::{bin, truncate};

/// Registers and memory of a structure load or store.
pub struct LoadStore {
    pub reads: Vec<RegAccess>,
    pub writes: Vec<RegAccess>,
    pub memory: Vec<MemOperand>,
}

/// None if `word` is no such instruction. Source: Arm Architecture Reference Manual (DDI 0406), A7.7 "Advanced SIMD element or
/// structure load/store instructions".
pub fn load_store(file: &Registers, word: u32, thumb: bool) -> Option<LoadStore> {
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
    // Register bytes in the order of memory, where that is their order (one structure element a register), else by register.
    let mut pieces: Vec<RegSpan> = Vec::new();
    let mut chunks: Vec<(u32, Option<RegSpan>)> = Vec::new();
    let register = |n: u16| (n < 32).then_some(RegSpan { offset: doubles + 8 * n, size: 8 });
    if field(23, 1) == 0 {
        let (elements, count, step) = match kind {
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
        for i in 0..count {
            let r = register(d + i * step)?;
            pieces.push(r);
            chunks.push((8, (elements == 1).then_some(r)));
        }
    } else {
        let count = (kind & 3) as u16 + 1;
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
    let total: u32 = chunks.iter().map(|c| c.0).sum();
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
    debug_assert_eq!(at, total);
    let access = |span: RegSpan| RegAccess { span, control: file.at(span.offset).is_some_and(|r| r.control) };
    let mut reads = vec![access(base)];
    let mut writes = Vec::new();
    if rm != 15 {
        writes.push(access(base));
        if rm != 13 && rm != rn {
            reads.push(access(full(rm)?));
        }
    }
    let bytes = pieces.iter().flat_map(|s| s.offset..s.offset + s.size).collect();
    let data = super::registers::spans(file, &bytes).into_iter().map(access);
    if load { writes.extend(data) } else { reads.extend(data) }
    reads.sort_by_key(|r| r.span);
    writes.sort_by_key(|r| r.span);
    Some(LoadStore { reads, writes, memory })
}
