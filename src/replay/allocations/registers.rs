//! Registers that pass arguments and results, with what of their values is known.

use crate::event::{Isa, RegSpan};
use crate::isa::registers;
use crate::replay::code::{Block, Place};

/// Arguments, and the result behind them.
pub(super) type Convention = [RegSpan; COUNT];

const COUNT: usize = 4;
/// Where the result is.
pub(super) const RESULT: u8 = 3;

/// Registers of the calling convention. None: arguments are passed on the stack.
pub(super) fn convention(isa: Isa) -> Option<Convention> {
    let names = match isa {
        Isa::X86_64 => ["rdi", "rsi", "rdx", "rax"],
        Isa::Arm => ["r0", "r1", "r2", "r0"],
        Isa::Aarch64 => ["x0", "x1", "x2", "x0"],
        Isa::Riscv32 | Isa::Riscv64 => ["a0", "a1", "a2", "a0"],
        Isa::X86 => return None,
    };
    let found: Option<Vec<RegSpan>> = names.iter().map(|n| registers(isa).lookup(n)).collect();
    found?.try_into().ok()
}

/// Bytes of a register: a value and which of its bytes are known, a bit for each.
#[derive(Clone, Copy, Default)]
pub(super) struct Register {
    value: u64,
    known: u8,
}

/// The registers of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Registers([Register; COUNT]);

/// The lowest bytes of a word.
fn mask(bytes: u32) -> u64 {
    u64::MAX.checked_shr(64 - 8 * bytes.min(8)).unwrap_or(0)
}

impl Register {
    /// Its lowest bytes, if all are known.
    fn value(self, size: u32) -> Option<u64> {
        (u32::from(self.known).trailing_ones() >= size).then_some(self.value & mask(size))
    }

    fn write(&mut self, write: &RegisterWrite, value: Option<u64>) {
        let known = mask(write.bytes) << (8 * write.to);
        // A bit for each byte; a register has eight at most.
        let bits = (((1u16 << write.bytes) - 1) << write.to) as u8;
        let Some(value) = value else {
            self.known &= !bits;
            return;
        };
        let moved = value.checked_shr(8 * write.from).unwrap_or(0) << (8 * write.to);
        self.value = self.value & !known | moved & known;
        self.known |= bits;
    }
}

/// A write to a register of the calling convention.
#[derive(Clone, Copy)]
pub(super) struct RegisterWrite {
    pub(super) step: usize,
    register: usize,
    /// First byte of the register, first byte of the value, bytes.
    to: u32,
    from: u32,
    bytes: u32,
    /// Index into the run's values.
    value: Option<usize>,
}

impl Registers {
    /// The value of an argument or of the result, if it is known.
    pub(super) fn value(&self, convention: &Convention, number: u8) -> Option<u64> {
        let number = usize::from(number);
        self.0.get(number)?.value(convention[number].size.into())
    }

    /// A write by a run with these values.
    pub(super) fn write(&mut self, write: &RegisterWrite, values: &[Option<u64>]) {
        let value = write.value.and_then(|v| values.get(v).copied().flatten());
        self.0[write.register].write(write, value);
    }
}

/// What of the convention's registers the accesses of a block write.
pub(super) fn register_writes(block: &Block, convention: &Convention) -> Box<[RegisterWrite]> {
    let mut writes = Vec::new();
    for access in block.accesses.iter().filter(|a| a.is_write) {
        let Place::Register(address) = access.place else { continue };
        for (register, span) in convention.iter().enumerate() {
            let first = u32::from(span.offset);
            let end = first + u32::from(span.size);
            let (from, to) = (address.max(first), address.saturating_add(access.size).min(end));
            if from < to {
                writes.push(RegisterWrite {
                    step: access.step as usize,
                    register,
                    to: from - first,
                    from: (from - address).min(8),
                    bytes: to - from,
                    value: access.value.filter(|_| access.size <= 8).map(|v| v as usize),
                });
            }
        }
    }
    writes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_convention_has_its_registers() {
        for isa in [Isa::X86_64, Isa::Arm, Isa::Aarch64, Isa::Riscv32, Isa::Riscv64] {
            let found = convention(isa).unwrap_or_else(|| panic!("{isa:?}"));
            assert_eq!(found.len(), 4);
            assert!(
                found.iter().all(|r| r.size == found[0].size && r.size >= 4),
                "{isa:?}: {found:?}"
            );
        }
    }

    #[test]
    fn bytes_of_a_register() {
        let mut register = Register::default();
        let write =
            |to, bytes| RegisterWrite { step: 0, register: 0, to, from: 0, bytes, value: None };
        assert_eq!(register.value(4), None);
        register.write(&write(0, 8), Some(0x1122_3344_5566_7788));
        assert_eq!(register.value(8), Some(0x1122_3344_5566_7788));
        register.write(&write(1, 1), Some(0xff));
        assert_eq!(register.value(4), Some(0x5566_ff88));
        register.write(&write(2, 1), None);
        assert_eq!((register.value(4), register.value(2)), (None, Some(0xff88)));
    }
}
