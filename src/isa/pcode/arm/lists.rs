//! Loads and stores of lists of floating-point registers (`vldm`, `vpush`), whose recursion in the
//! specification overruns fixed buffers of SLEIGH.

use super::super::describe::NEXT;
use crate::event::RegSpan;
use crate::isa::decoded::{Decoded, MemOperand};
use crate::isa::expr::Expr;
use crate::registers::Registers;

/// See [`list`].
pub enum RegisterList {
    /// No condition yet.
    Valid(Box<Decoded>),
    /// Unpredictable.
    Invalid,
}

/// Such an instruction, as its opcode says it.
struct Fields {
    load: bool,
    /// Bytes of a register: 4 or 8.
    size: u32,
    /// First register and how many.
    first: u32,
    count: u32,
    /// Of the base register.
    base: u32,
    /// Addresses grow from the base on, else down to it.
    increments: bool,
    writes_back: bool,
    /// Words that are moved.
    words: u32,
}

/// A load or store of a list of registers; None if `word` is no such instruction.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), A8.8.332 "VLDM", A8.8.412 "VSTM".
pub fn list(file: &Registers, word: u32, thumb: bool) -> Option<RegisterList> {
    let fields = Fields::of(word, thumb)?;
    let (base, doubles) = (file.lookup(&format!("r{}", fields.base))?, file.lookup("d0")?.offset);
    let end = fields.first + fields.count;
    if !(1..=32).contains(&fields.count) || end > 32 || fields.base == 15 && fields.writes_back {
        return Some(RegisterList::Invalid);
    }
    Some(RegisterList::Valid(Box::new(fields.decoded(file, base, doubles))))
}

impl Fields {
    fn of(word: u32, thumb: bool) -> Option<Fields> {
        let bit = |n: u32| word >> n & 1 == 1;
        let (before, increments, writes_back) = (bit(24), bit(23), bit(21));
        let many = if before { !increments && writes_back } else { increments };
        let condition = word >> 28;
        if word & 0x0e00_0e00 != 0x0c00_0a00 || !many || condition == 15 || thumb && condition != 14
        {
            return None;
        }
        let (high, low, words) = (word >> 22 & 1, word >> 12 & 15, word & 0xff);
        let (first, size, count) =
            if bit(8) { (high << 4 | low, 8, words >> 1) } else { (low << 1 | high, 4, words) };
        let (load, base) = (bit(20), word >> 16 & 15);
        Some(Fields { load, size, first, count, base, increments, writes_back, words })
    }

    fn decoded(&self, file: &Registers, base: RegSpan, doubles: u16) -> Decoded {
        // At most 32 registers of 8 bytes: everything fits.
        let size = if self.size == 8 { 8 } else { 4 };
        let numbers = (0u16..32).skip(self.first as usize).take(self.count as usize);
        let spans: Vec<RegSpan> =
            numbers.map(|n| RegSpan { offset: doubles + n * size, size }).collect();
        let from = if self.increments { 0 } else { (4 * u64::from(self.words)).wrapping_neg() };
        let memory = (0u64..).zip(&spans).map(|(i, span)| MemOperand {
            stack_relative: self.base == 13,
            data_register: Some(*span),
            ..MemOperand::plain(
                !self.load,
                self.size,
                Expr::Reg(base).offset(from.wrapping_add(i * u64::from(self.size))).truncate(32),
            )
        });
        let memory = memory.collect();
        let mut reads = vec![file.access(base)];
        let mut writes = if self.writes_back { reads.clone() } else { Vec::new() };
        let data = spans.iter().map(|s| file.access(*s));
        if self.load { &mut writes } else { &mut reads }.extend(data);
        Decoded { text: self.text(), flow: NEXT, reads, writes, memory, ..Decoded::unknown(4) }
    }

    fn text(&self) -> String {
        let name = |n: u32| format!("{}{n}", if self.size == 8 { 'd' } else { 's' });
        let last = match self.count {
            2.. => format!("-{}", name(self.first + self.count - 1)),
            _ => String::new(),
        };
        format!(
            "v{}m{} {}{},{{{}{last}}}",
            if self.load { "ld" } else { "st" },
            if self.increments { "ia" } else { "db" },
            if self.base == 13 { "sp".to_string() } else { format!("r{}", self.base) },
            if self.writes_back { "!" } else { "" },
            name(self.first),
        )
    }
}
