//! The registers of each instruction set: their bytes, our numbering of them, the names that logs
//! use.

mod file;
pub mod risc;
pub mod x86;

pub use file::{RegAccess, Registers};

use crate::event::Isa;

/// The register file of `isa`.
pub fn registers(isa: Isa) -> &'static Registers {
    match isa {
        Isa::X86_64 | Isa::X86 => x86::registers(isa),
        _ => risc::registers(isa),
    }
}
