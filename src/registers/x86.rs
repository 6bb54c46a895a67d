//! Our numbering of the register file of x86, and how iced's registers map to it.

use super::file::{Register, Registers};
use crate::event::{Isa, RegSpan};
use iced_x86::Register as Iced;
use std::sync::OnceLock;

pub const RAX: u16 = 0;
pub const RSP: u16 = 32;
pub const RIP: u16 = 128;
pub const FLAGS: u16 = 136;
pub const FS_BASE: u16 = 144;
pub const GS_BASE: u16 = 152;
pub const SELECTORS: u16 = 160;
pub const MXCSR: u16 = 172;
pub const FPU_CONTROL: u16 = 176;
pub const FPU_STATUS: u16 = 178;
pub const MASKS: u16 = 192;
pub const X87: u16 = 256;
pub const VECTORS: u16 = 384;
pub const CONTROL_REGISTERS: u16 = VECTORS + 32 * 64;
pub const END: u16 = CONTROL_REGISTERS + 16 * 8;

const GPR64: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];
const SELECTOR_NAMES: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];

pub const fn span(offset: u16, size: u16) -> RegSpan {
    RegSpan { offset, size }
}

/// The register file; `isa` is one of the two x86.
pub fn registers(isa: Isa) -> &'static Registers {
    static WIDE: OnceLock<Registers> = OnceLock::new();
    static NARROW: OnceLock<Registers> = OnceLock::new();
    if isa == Isa::X86 {
        NARROW.get_or_init(|| register_file(false))
    } else {
        WIDE.get_or_init(|| register_file(true))
    }
}

/// Both instruction sets use the same offsets; 32-bit code has 4-byte general registers and 8 of
/// each kind.
fn register_file(wide: bool) -> Registers {
    let (word, count) = if wide { (8, 16) } else { (4, 8) };
    let mut file = Builder { file: Registers { size: END.into(), ..Registers::default() } };
    for (i, name) in (0..count).zip(GPR64) {
        let name = if wide { name.to_owned() } else { name.replacen('r', "e", 1) };
        file.add(name, span(8 * i, word), 8 * i == RSP, &[]);
    }
    let (pc, flags) = if wide { ("rip", "rflags") } else { ("eip", "eflags") };
    file.add(pc, span(RIP, word), true, &["rip", "eip", "pc"]);
    file.add(flags, span(FLAGS, word), true, &["rflags", "eflags", "rfl", "efl"]);
    file.add("fs_base", span(FS_BASE, word), false, &["fsbase"]);
    file.add("gs_base", span(GS_BASE, word), false, &["gsbase"]);
    for (i, name) in (0..).zip(SELECTOR_NAMES) {
        file.add(name, span(SELECTORS + 2 * i, 2), true, &[]);
    }
    file.add("mxcsr", span(MXCSR, 4), true, &[]);
    file.add("fcw", span(FPU_CONTROL, 2), true, &["fctrl"]);
    file.add("fsw", span(FPU_STATUS, 2), true, &["fstat"]);
    for i in 0..8 {
        file.add(format!("k{i}"), span(MASKS + 8 * i, 8), false, &[]);
    }
    for i in 0..8 {
        file.add(format!("st{i}"), span(X87 + 16 * i, 10), false, &[&format!("st({i})")]);
    }
    for i in 0..if wide { 32 } else { 8 } {
        file.add(format!("zmm{i}"), span(VECTORS + 64 * i, 64), false, &[]);
    }
    for i in 0..16 {
        file.add(format!("cr{i}"), span(CONTROL_REGISTERS + 8 * i, word), true, &[]);
    }
    let mut file = file.file;
    for register in Iced::values() {
        if let Some(bytes) = bytes_of(register)
            && file.at(bytes.offset).is_some_and(|full| full.span.contains(bytes))
        {
            file.names.entry(format!("{register:?}").to_ascii_lowercase()).or_insert(bytes);
        }
    }
    for i in 8..count {
        file.names.insert(format!("r{i}b"), span(8 * i, 1));
    }
    file.sp = Some(span(RSP, word));
    file.pc = Some(span(RIP, word));
    file
}

struct Builder {
    file: Registers,
}

impl Builder {
    fn add(&mut self, name: impl Into<String>, span: RegSpan, control: bool, aliases: &[&str]) {
        let name = name.into();
        for alias in aliases.iter().copied().chain([name.as_str()]) {
            self.file.names.insert(alias.to_owned(), span);
        }
        self.file.all.push(Register { name, span, control });
    }
}

/// The bytes of a register as named by iced; None for those that we do not keep.
pub fn bytes_of(register: Iced) -> Option<RegSpan> {
    let number = u16::try_from(register.number()).ok()?;
    let size = u16::try_from(register.size()).ok()?;
    Some(match register {
        Iced::None => return None,
        Iced::AH | Iced::CH | Iced::DH | Iced::BH => span(8 * (number - 4) + 1, 1),
        // iced numbers the 8-bit registers al..bl, ah..bh, spl..dil, r8b..
        _ if register.is_gpr8() && number >= 8 => span(8 * (number - 4), 1),
        _ if register.is_gpr() => span(8 * number, size),
        _ if register.is_ip() => span(RIP, size),
        _ if register.is_segment_register() => span(SELECTORS + 2 * number, 2),
        _ if register.is_k() => span(MASKS + 8 * number, 8),
        _ if register.is_st() => span(X87 + 16 * number, 10),
        _ if register.is_mm() => span(X87 + 16 * number, 8),
        _ if register.is_vector_register() => span(VECTORS + 64 * number, size),
        _ if register.is_cr() => span(CONTROL_REGISTERS + 8 * number, 8),
        _ => return None,
    })
}
