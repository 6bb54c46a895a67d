//! Evaluates the p-code of one instruction: what the memory accesses' addresses are in terms of the
//! registers before it, and which register bytes are read and written.
//!
//! Two passes. [`forward`], a value is kept per byte of storage ([`values`]), which gives
//! addresses, copies between memory and registers, constants (a zeroing idiom is one) and writes
//! that change nothing. Backwards, [`liveness`] inside the instruction: only what reaches a
//! register, memory, a branch or the outside counts as read.

use super::register_map::RegisterMap;
use effects::Effects;
use op::PcodeOp;

mod compute;
pub mod effects;
mod forward;
pub mod liveness;
pub mod op;
mod values;

/// Runs both passes. `next` is the address after the instruction.
pub fn evaluate(ops: Vec<PcodeOp>, map: &RegisterMap, next: u64, address_bits: u32) -> Effects {
    let mut effects = forward::Forward::new(ops, map, next, address_bits).run();
    effects.reads = liveness::reads(&effects, map, next, None);
    effects
}
