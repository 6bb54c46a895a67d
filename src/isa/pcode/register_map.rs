//! How SLEIGH's registers map to ours.

use crate::event::{Isa, RegSpan};
use crate::registers::Registers;
use crate::registers::risc::{RISCV_F, RISCV_X, registers};
use std::collections::BTreeSet;

/// How the bytes of a SLEIGH register are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownAs {
    /// Byte for byte at this offset of our file.
    Bytes(u16),
    /// A bit of the 4-byte flags register: any access is one of the whole register.
    Bit(RegSpan, u8),
    /// A part of a control register that we keep as a whole.
    Whole(RegSpan),
    /// RISC-V's x0.
    Zero,
}

/// A SLEIGH register, offsets little end first (see `super::symbolic::op`).
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    pub start: u64,
    pub size: u64,
    pub shown: ShownAs,
}

impl Mapped {
    /// Our byte for the byte at SLEIGH offset `at`, where bytes map one to one.
    pub fn byte(&self, at: u64) -> Option<u16> {
        match self.shown {
            ShownAs::Bytes(offset) => Some(offset + u16::try_from(at - self.start).ok()?),
            _ => None,
        }
    }
}

/// From SLEIGH's register space to ours.
pub struct RegisterMap {
    /// Sorted by start, disjoint.
    mapped: Vec<Mapped>,
}

/// Flags that SLEIGH keeps as bytes of their own, and their bits.
const FLAGS: [(&str, u8); 4] = [("NG", 31), ("ZR", 30), ("CY", 29), ("OV", 28)];
const ARM_FLAGS: [(&str, u8); 5] = [("Q", 27), ("GE1", 16), ("GE2", 17), ("GE3", 18), ("GE4", 19)];

/// Registers of status and control, and ours that has them.
const STATUS: [(&str, &str); 6] = [
    ("fpscr", "fpscr"),
    ("fpcr", "fpcr"),
    ("fpsr", "fpsr"),
    ("fcsr", "fcsr"),
    ("fflags", "fcsr"),
    ("frm", "fcsr"),
];

impl RegisterMap {
    /// `find` gives (little-end-first start, size) of a SLEIGH register by name.
    pub fn new(isa: Isa, find: impl Fn(&str) -> Option<(u64, u64)>) -> RegisterMap {
        let file = registers(isa);
        let mut wanted: Vec<(String, ShownAs)> = Vec::new();
        for name in data_registers(isa) {
            let span = file.lookup(&name).filter(|_| name != "zero");
            let shown = span.map_or(ShownAs::Zero, |s| ShownAs::Bytes(s.offset));
            wanted.push((name, shown));
        }
        if let Some(flags) = file.lookup("cpsr") {
            let own: &[(&str, u8)] = if isa == Isa::Arm { &ARM_FLAGS } else { &[] };
            for (name, bit) in FLAGS.iter().chain(own) {
                wanted.push(((*name).to_string(), ShownAs::Bit(flags, *bit)));
            }
            if isa == Isa::Arm {
                wanted.push(("cpsr".to_string(), ShownAs::Whole(flags)));
            }
        }
        for (name, ours) in STATUS {
            if let Some(span) = file.lookup(ours) {
                wanted.push((name.to_string(), ShownAs::Whole(span)));
            }
        }
        let mut mapped: Vec<Mapped> = wanted
            .into_iter()
            .filter_map(|(name, shown)| {
                find(&name).map(|(start, size)| Mapped { start, size, shown })
            })
            .collect();
        mapped.sort_by_key(|m| m.start);
        RegisterMap { mapped }
    }

    /// The register that holds the byte at SLEIGH offset `at`.
    pub fn at(&self, at: u64) -> Option<&Mapped> {
        let after = self.mapped.partition_point(|m| m.start <= at);
        let m = &self.mapped[after.checked_sub(1)?];
        (at < m.start + m.size).then_some(m)
    }

    /// Adds our bytes for a byte of SLEIGH's register space to `into`.
    pub fn shown_bytes(&self, at: u64, into: &mut BTreeSet<u16>) {
        let Some(mapped) = self.at(at) else { return };
        match mapped.shown {
            ShownAs::Bytes(_) => into.extend(mapped.byte(at)),
            ShownAs::Bit(span, _) | ShownAs::Whole(span) => into.extend(span.bytes()),
            ShownAs::Zero => {}
        }
    }
}

/// Registers that SLEIGH and we keep byte for byte, by names that both know.
fn data_registers(isa: Isa) -> Vec<String> {
    let numbered = |letter: &str, count: usize| -> Vec<String> {
        (0..count).map(|i| format!("{letter}{i}")).collect()
    };
    let named = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    match isa {
        Isa::Arm => [numbered("r", 13), named(&["sp", "lr", "pc"]), numbered("q", 16)].concat(),
        Isa::Aarch64 => [numbered("x", 31), named(&["sp", "pc"]), numbered("q", 32)].concat(),
        _ => [named(&RISCV_X), named(&RISCV_F), named(&["pc"])].concat(),
    }
}

/// Adjacent bytes of one full register as spans, sorted.
pub fn spans(file: &Registers, bytes: &BTreeSet<u16>) -> Vec<RegSpan> {
    let mut out: Vec<RegSpan> = Vec::new();
    for &b in bytes {
        if let Some(last) = out.last_mut()
            && last.end() == b
            && file.at(last.offset).map(|r| r.span) == file.at(b).map(|r| r.span)
        {
            last.size += 1;
            continue;
        }
        out.push(RegSpan { offset: b, size: 1 });
    }
    out
}
