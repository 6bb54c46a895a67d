//! The register file of an instruction set.

use crate::event::RegSpan;
use std::collections::HashMap;

/// A register access; static, because an instruction's registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegAccess {
    pub span: RegSpan,
    /// Not data: program counter, stack pointer, flags, link register read by a return.
    pub control: bool,
}

/// A full register of an instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    pub name: String,
    pub span: RegSpan,
    /// Program counter, stack pointer, flags.
    pub control: bool,
}

/// Register file of an instruction set: full registers at disjoint offsets, our own numbering, no
/// gaps that matter.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    /// Sorted by offset.
    pub all: Vec<Register>,
    pub sp: Option<RegSpan>,
    pub pc: Option<RegSpan>,
    /// Link register, where the instruction set has one.
    pub link: Option<RegSpan>,
    /// Bytes of the whole file.
    pub size: usize,
    /// Lower-case names that logs use (`r13`, `sp`, `x2`, `w8`, `eax`), sub-registers included.
    pub names: HashMap<String, RegSpan>,
}

impl Registers {
    /// The span of a register by one of its names, in any case.
    pub fn lookup(&self, name: &str) -> Option<RegSpan> {
        self.names.get(&name.to_ascii_lowercase()).copied()
    }

    /// Whether the byte is of a register that is not data.
    pub fn is_control(&self, offset: u16) -> bool {
        self.at(offset).is_some_and(|r| r.control)
    }

    /// An access to a span: control if its register is.
    pub fn access(&self, span: RegSpan) -> RegAccess {
        RegAccess { span, control: self.is_control(span.offset) }
    }

    /// The full register that holds the byte.
    pub fn at(&self, offset: u16) -> Option<&Register> {
        let after = self.all.partition_point(|r| r.span.offset <= offset);
        let register = &self.all[after.checked_sub(1)?];
        (offset < register.span.end()).then_some(register)
    }
}
