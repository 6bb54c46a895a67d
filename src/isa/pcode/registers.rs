//! Our numbering of the register files, and how SLEIGH's varnodes map to it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::event::{Isa, RegSpan};
use crate::isa::{Register, Registers};

/// The register file of `isa`. x86 has its own module; asked for it, this gives an empty file.
pub fn registers(isa: Isa) -> &'static Registers {
    static ARM: OnceLock<Registers> = OnceLock::new();
    static AARCH64: OnceLock<Registers> = OnceLock::new();
    static RISCV32: OnceLock<Registers> = OnceLock::new();
    static RISCV64: OnceLock<Registers> = OnceLock::new();
    static NONE: OnceLock<Registers> = OnceLock::new();
    match isa {
        Isa::Arm => ARM.get_or_init(arm),
        Isa::Aarch64 => AARCH64.get_or_init(aarch64),
        Isa::Riscv32 => RISCV32.get_or_init(|| riscv(4)),
        Isa::Riscv64 => RISCV64.get_or_init(|| riscv(8)),
        Isa::X86_64 | Isa::X86 => NONE.get_or_init(Registers::default),
    }
}

/// ABI names of RISC-V's integer registers, which are SLEIGH's names too.
pub const RISCV_X: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];
/// ABI names of RISC-V's floating-point registers.
pub const RISCV_F: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2",
    "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",
    "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

#[derive(Default)]
struct Builder {
    file: Registers,
    next: u16,
}

impl Builder {
    /// Adds a full register behind the last one, known by all of `names`; the first is the one
    /// shown.
    fn full(&mut self, names: &[&str], size: u16, control: bool) -> RegSpan {
        let span = RegSpan { offset: self.next, size };
        self.next += size;
        self.file.all.push(Register { name: names[0].to_string(), span, control });
        for name in names {
            self.file.names.insert((*name).to_string(), span);
        }
        span
    }
    fn alias(&mut self, name: String, offset: u16, size: u16) {
        self.file.names.entry(name).or_insert(RegSpan { offset, size });
    }
    fn finish(mut self) -> Registers {
        self.file.size = self.next as usize;
        self.file
    }
}

fn arm() -> Registers {
    let mut b = Builder::default();
    for i in 0..16u16 {
        let number = format!("r{i}");
        let alias = match i {
            0..=3 => format!("a{}", i + 1),
            4..=8 => format!("v{}", i - 3),
            9 => "sb".to_string(),
            10 => "sl".to_string(),
            11 => "fp".to_string(),
            12 => "ip".to_string(),
            13 => "sp".to_string(),
            14 => "lr".to_string(),
            _ => "pc".to_string(),
        };
        if i >= 13 {
            b.full(&[&alias, &number], 4, i != 14);
        } else {
            b.full(&[&number, &alias], 4, false);
        }
    }
    b.full(&["cpsr", "psr", "xpsr", "apsr", "pstate"], 4, true);
    b.full(&["fpscr"], 4, true);
    for i in 0..16u16 {
        let q = b.full(&[&format!("q{i}")], 16, false).offset;
        for h in 0..2 {
            b.alias(format!("d{}", 2 * i + h), q + 8 * h, 8);
        }
        for s in 0..4 {
            if i < 8 {
                b.alias(format!("s{}", 4 * i + s), q + 4 * s, 4);
            }
        }
    }
    let mut file = b.finish();
    file.sp = file.lookup("sp");
    file.pc = file.lookup("pc");
    file.link = file.lookup("lr");
    file
}

fn aarch64() -> Registers {
    let mut b = Builder::default();
    for i in 0..31u16 {
        let name = format!("x{i}");
        let x = match i {
            29 => b.full(&[&name, "fp"], 8, false),
            30 => b.full(&[&name, "lr"], 8, false),
            _ => b.full(&[&name], 8, false),
        };
        b.alias(format!("w{i}"), x.offset, 4);
    }
    let sp = b.full(&["sp", "x31"], 8, true).offset;
    b.alias("wsp".to_string(), sp, 4);
    b.full(&["pc"], 8, true);
    for i in 0..32u16 {
        let v = b.full(&[&format!("v{i}"), &format!("q{i}")], 16, false).offset;
        for (letter, size) in [("d", 8), ("s", 4), ("h", 2), ("b", 1)] {
            b.alias(format!("{letter}{i}"), v, size);
        }
    }
    b.full(&["nzcv", "pstate", "cpsr", "spsr"], 4, true);
    b.full(&["fpcr"], 4, true);
    b.full(&["fpsr"], 4, true);
    let mut file = b.finish();
    file.sp = file.lookup("sp");
    file.pc = file.lookup("pc");
    file.link = file.lookup("x30");
    file
}

fn riscv(xlen: u16) -> Registers {
    let mut b = Builder::default();
    for (i, abi) in RISCV_X.iter().enumerate() {
        let number = format!("x{i}");
        if i == 8 {
            b.full(&[&number, abi, "fp"], xlen, false);
        } else {
            b.full(&[&number, abi], xlen, i == 2);
        }
    }
    for (i, abi) in RISCV_F.iter().enumerate() {
        b.full(&[&format!("f{i}"), abi], 8, false);
    }
    b.full(&["pc"], xlen, true);
    b.full(&["fcsr", "fflags", "frm"], 4, true);
    let mut file = b.finish();
    file.sp = file.lookup("sp");
    file.pc = file.lookup("pc");
    file.link = file.lookup("ra");
    file
}

/// How the bytes of a SLEIGH register are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Byte for byte at this offset of our file.
    Bytes(u16),
    /// A bit of the 4-byte flags register: any access is one of the whole register.
    Bit(RegSpan, u8),
    /// A part of a control register that we keep as a whole.
    Whole(RegSpan),
    /// RISC-V's x0.
    Zero,
}

/// A SLEIGH register, offsets little end first (see `super::symbolic`).
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    pub start: u64,
    pub size: u64,
    pub shown: Shown,
}

/// From SLEIGH's register space to ours.
pub struct RegisterMap {
    /// Sorted by start, disjoint.
    mapped: Vec<Mapped>,
}

impl RegisterMap {
    /// `find` gives (little-end-first start, size) of a SLEIGH register by name.
    pub fn new(isa: Isa, find: impl Fn(&str) -> Option<(u64, u64)>) -> RegisterMap {
        let file = registers(isa);
        let mut wanted: Vec<(String, Shown)> = Vec::new();
        let bytes =
            |name: &str| file.lookup(name).map(|s| Shown::Bytes(s.offset)).unwrap_or(Shown::Zero);
        match isa {
            Isa::Arm => {
                for i in 0..13 {
                    wanted.push((format!("r{i}"), bytes(&format!("r{i}"))));
                }
                for name in ["sp", "lr", "pc"] {
                    wanted.push((name.to_string(), bytes(name)));
                }
                for i in 0..16 {
                    wanted.push((format!("q{i}"), bytes(&format!("q{i}"))));
                }
            }
            Isa::Aarch64 => {
                for i in 0..31 {
                    wanted.push((format!("x{i}"), bytes(&format!("x{i}"))));
                }
                for name in ["sp", "pc"] {
                    wanted.push((name.to_string(), bytes(name)));
                }
                for i in 0..32 {
                    wanted.push((format!("q{i}"), bytes(&format!("q{i}"))));
                }
            }
            _ => {
                for name in RISCV_X.iter().skip(1).chain(&RISCV_F).chain(&["pc"]) {
                    wanted.push((name.to_string(), bytes(name)));
                }
                wanted.push(("zero".to_string(), Shown::Zero));
            }
        }
        let flags = file.lookup("cpsr");
        if let Some(flags) = flags {
            for (name, bit) in [("NG", 31), ("ZR", 30), ("CY", 29), ("OV", 28)] {
                wanted.push((name.to_string(), Shown::Bit(flags, bit)));
            }
            if isa == Isa::Arm {
                for (name, bit) in [("Q", 27), ("GE1", 16), ("GE2", 17), ("GE3", 18), ("GE4", 19)] {
                    wanted.push((name.to_string(), Shown::Bit(flags, bit)));
                }
                wanted.push(("cpsr".to_string(), Shown::Whole(flags)));
            }
        }
        for (name, ours) in [
            ("fpscr", "fpscr"),
            ("fpcr", "fpcr"),
            ("fpsr", "fpsr"),
            ("fcsr", "fcsr"),
            ("fflags", "fcsr"),
            ("frm", "fcsr"),
        ] {
            if let Some(span) = file.lookup(ours) {
                wanted.push((name.to_string(), Shown::Whole(span)));
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
}

/// Adjacent bytes of one full register as spans, sorted.
pub fn spans(file: &Registers, bytes: &BTreeSet<u16>) -> Vec<RegSpan> {
    let mut out: Vec<RegSpan> = Vec::new();
    for &b in bytes {
        if let Some(last) = out.last_mut()
            && last.offset + last.size == b
            && file.at(last.offset).map(|r| r.span) == file.at(b).map(|r| r.span)
        {
            last.size += 1;
            continue;
        }
        out.push(RegSpan { offset: b, size: 1 });
    }
    out
}
