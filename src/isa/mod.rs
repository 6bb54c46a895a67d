//! From an instruction to the registers and memory it touches.
//!
//! - [`decoded`]: the words. A [`Decoded`] says of one distinct instruction what it does to
//!   control, which bytes of which [`registers`](crate::registers) it reads and writes, and the
//!   memory that it accesses, with addresses as [`expr`]essions over the registers before it.
//! - Disassembler libraries do the decoding, once per distinct instruction: [`x86`] asks
//!   iced-x86, [`pcode`] evaluates SLEIGH's p-code (ARM, AArch64, RISC-V); [`kernel_helper`] knows
//!   the code that the Linux kernel maps for ARM programs.
//! - `zcmp`: pushes and pops of RISC-V that have the codes of others.
//! - `system_call`: which registers a system call reads.
//! - [`resolve`]: which bytes an instruction of a log has, and what is decoded from them.
//! - [`elaborate`]: from the steps of a log to runs with the addresses of all accesses.

use crate::event::{Dialect, Isa};

pub mod decoded;
pub mod elaborate;
pub mod expr;
pub mod kernel_helper;
pub mod pcode;
pub mod resolve;
pub mod system_call;
pub mod x86;
mod zcmp;

#[cfg(test)]
pub use crate::registers::Registers;
pub use crate::registers::registers;
#[cfg(test)]
pub use decoded::RegAccess;
pub use decoded::{ControlFlow, Decoded, Decoder, FlowKind, MemOperand, Moved};
#[cfg(test)]
pub use expr::Expr;

/// The decoder of `isa`.
pub fn decoder(isa: Isa, dialect: Dialect) -> Box<dyn Decoder> {
    match isa {
        Isa::X86_64 | Isa::X86 => Box::new(x86::X86::new(isa)),
        _ => Box::new(pcode::Pcode::new(isa, dialect.big_endian).with_zcmp(dialect.zcmp)),
    }
}
