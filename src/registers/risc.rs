//! Our numbering of the register files of ARM, AArch64 and RISC-V.

use std::sync::OnceLock;

use super::file::{Register, Registers};
use crate::event::{Isa, RegSpan};

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
