//! Loads and stores of elements and structures (`vld1` to `vst4`), which the specification has only
//! in part.

use super::super::describe::NEXT;
use super::opcode::Opcode;
use crate::event::RegSpan;
use crate::isa::decoded::{Decoded, MemOperand};
use crate::isa::expr::Expr;
use crate::registers::Registers;

/// What is moved.
struct Elements {
    /// Of a structure.
    count: u16,
    /// Bytes of registers.
    pieces: Vec<RegSpan>,
    /// Accesses: bytes, and the register bytes where they are moved in their order (one structure
    /// element a register).
    chunks: Vec<(u32, Option<RegSpan>)>,
}

impl Opcode {
    /// The `n`th double register from the first of the opcode on.
    fn register(&self, n: u16) -> Option<RegSpan> {
        let number = self.double(12, 22).0 + n;
        (number < 32).then(|| RegSpan { offset: self.doubles + 8 * number, size: 8 })
    }

    /// Whole registers.
    fn multiple(&self) -> Option<Elements> {
        let (count, registers, step) = match self.field(8, 4) {
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
        let pieces =
            (0..registers).map(|i| self.register(i * step)).collect::<Option<Vec<RegSpan>>>()?;
        let chunks = pieces.iter().map(|r| (8, (count == 1).then_some(*r))).collect();
        Some(Elements { count, pieces, chunks })
    }

    /// One structure to all lanes.
    fn replicated(&self, count: u16) -> Option<Elements> {
        let bytes = if self.field(6, 2) == 3 { 4 } else { 1 << self.field(6, 2) };
        let wide = self.field(5, 1);
        let mut pieces = Vec::new();
        for i in 0..count {
            pieces.push(self.register(i * (1 + wide))?);
            // `vld1` to all lanes may fill two registers.
            if count == 1 && wide == 1 {
                pieces.push(self.register(1)?);
            }
        }
        Some(Elements { count, pieces, chunks: vec![(bytes, None); count.into()] })
    }

    /// One structure from or to a lane.
    fn lane(&self, count: u16) -> Option<Elements> {
        let (bytes, step, lane) = match self.field(10, 2) {
            0 => (1, 1, self.field(5, 3)),
            1 => (2, 1 + self.field(5, 1), self.field(6, 2)),
            _ => (4, 1 + self.field(6, 1), self.field(7, 1)),
        };
        let mut pieces = Vec::new();
        for i in 0..count {
            let offset = self.register(i * step)?.offset + lane * bytes;
            pieces.push(RegSpan { offset, size: bytes });
        }
        let chunks = pieces.iter().map(|piece| (bytes.into(), Some(*piece))).collect();
        Some(Elements { count, pieces, chunks })
    }

    fn elements(&self) -> Option<Elements> {
        let count = 1 + self.field(8, 2);
        match (self.field(23, 1), self.field(10, 2)) {
            (0, _) => self.multiple(),
            (_, 3) => self.replicated(count),
            _ => self.lane(count),
        }
    }
}

/// A structure load or store with a plain name, no condition yet; None if `word` is none.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A7.7 "Advanced SIMD element or structure
/// load/store instructions".
pub fn structure(file: &Registers, word: u32, thumb: bool) -> Option<Decoded> {
    let prefix = if thumb { 0xf900_0000 } else { 0xf400_0000 };
    if word & 0xff10_0000 != prefix {
        return None;
    }
    let opcode = Opcode::new(file, word)?;
    let Elements { count, mut pieces, chunks } = opcode.elements()?;
    let load = opcode.field(21, 1) == 1;
    let (rn, rm) = (opcode.field(16, 4), opcode.field(0, 4));
    let base = file.lookup(&format!("r{rn}"))?;
    let mut memory = Vec::new();
    let mut at = 0;
    for (bytes, data_register) in chunks {
        let address = Expr::Reg(base).offset(at).truncate(32);
        memory.push(MemOperand {
            stack_relative: rn == 13,
            data_register,
            ..MemOperand::plain(!load, bytes, address)
        });
        at += u64::from(bytes);
    }
    let mut reads = vec![file.access(base)];
    let mut writes = Vec::new();
    if rm != 15 {
        writes.push(file.access(base));
        if rm != 13 && rm != rn {
            reads.push(file.access(file.lookup(&format!("r{rm}"))?));
        }
    }
    pieces.sort_unstable();
    pieces.dedup();
    let data = pieces.into_iter().map(|span| file.access(span));
    if load { &mut writes } else { &mut reads }.extend(data);
    reads.sort_by_key(|r| r.span);
    writes.sort_by_key(|r| r.span);
    let text = format!(
        "v{}{count} [{}]",
        if load { "ld" } else { "st" },
        if rn == 13 { "sp".to_string() } else { format!("r{rn}") }
    );
    Some(Decoded { text, flow: NEXT, reads, writes, memory, ..Decoded::unknown(4) })
}
