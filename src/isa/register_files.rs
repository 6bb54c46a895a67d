//! The register files of all instruction sets.

use super::register_file::Registers;
use super::{pcode, x86};
use crate::event::Isa;

/// The register file of `isa`.
pub fn registers(isa: Isa) -> &'static Registers {
    match isa {
        Isa::X86_64 | Isa::X86 => x86::registers(isa),
        _ => pcode::registers(isa),
    }
}
