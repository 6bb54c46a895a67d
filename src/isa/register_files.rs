//! The register files of all instruction sets.

use super::pcode::registers as of_pcode;
use super::register_file::Registers;
use super::x86::registers as of_x86;
use crate::event::Isa;

/// The register file of `isa`.
pub fn registers(isa: Isa) -> &'static Registers {
    match isa {
        Isa::X86_64 | Isa::X86 => of_x86(isa),
        _ => of_pcode(isa),
    }
}
