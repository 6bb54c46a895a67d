//! Instructions of 32-bit ARM that are decoded here, not by SLEIGH.

use super::conditions;
use super::describe::NEXT;
use crate::event::RegSpan;
use crate::isa::decoded::{ControlFlow, Decoded, FlowKind, RegAccess};
use crate::registers::Registers;

mod extension;
pub mod half;
pub mod lists;
mod opcode;
mod simd;
mod structures;

pub use extension::extension;
pub use simd::data;
pub use structures::structure;

const CONDITION_NAMES: [&str; 16] = [
    "eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv",
];

/// Instructions that SLEIGH must not see, because they change the decoding of other addresses for
/// ever: IT, and BLX to an address (also the undefined ones with the lowest bit set, which SLEIGH
/// takes).
pub fn mode_change(file: &Registers, address: u64, word: u32, thumb: bool) -> Option<Decoded> {
    let (cpsr, link) = (file.lookup("cpsr")?, file.lookup("lr")?);
    if thumb && word >> 8 == 0xbf && word & 15 != 0 {
        return Some(it(file, cpsr, word));
    }
    let (target, condition) = if thumb && word & 0xf800_d000 == 0xf000_c000 {
        (blx_t32(address, word), Some(conditions::it_holds(cpsr)))
    } else if !thumb && word >> 25 == 0x7d {
        (blx_a32(address, word), None)
    } else {
        return None;
    };
    let target = target & 0xffff_ffff;
    Some(Decoded {
        text: format!("blx 0x{target:x}"),
        flow: ControlFlow { target: Some(target), ..ControlFlow::plain(FlowKind::Call) },
        writes: vec![RegAccess { span: link, control: false }],
        condition,
        ..Decoded::unknown(4)
    })
}

fn it(file: &Registers, cpsr: RegSpan, word: u32) -> Decoded {
    let (condition, mask) = (word >> 4 & 15, word & 15);
    let mut text = String::from("it");
    for bit in (mask.trailing_zeros() + 1..4).rev() {
        text.push(if (mask >> bit & 1) == (condition & 1) { 't' } else { 'e' });
    }
    text.push(' ');
    text.push_str(CONDITION_NAMES[condition as usize]);
    Decoded { text, flow: NEXT, writes: vec![file.access(cpsr)], ..Decoded::unknown(2) }
}

fn blx_t32(address: u64, word: u32) -> u64 {
    let bit = |n: u32| u64::from(word >> n & 1);
    let s = bit(26);
    let (i1, i2) = (1 ^ bit(13) ^ s, 1 ^ bit(11) ^ s);
    let (high, low) = (u64::from(word >> 16 & 0x3ff), u64::from(word >> 1 & 0x3ff));
    let offset = s << 24 | i1 << 23 | i2 << 22 | high << 12 | low << 2;
    (address & !3).wrapping_add(4).wrapping_add(signed(offset, 25))
}

fn blx_a32(address: u64, word: u32) -> u64 {
    let offset = u64::from(word & 0xff_ffff) << 2 | u64::from(word >> 24 & 1) << 1;
    address.wrapping_add(8).wrapping_add(signed(offset, 26))
}

/// The low `bits` bits, sign extended.
fn signed(value: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((value << unused).cast_signed() >> unused).cast_unsigned()
}
