//! The bytes of an instruction without what a linker or loader put into them, so that the same code at
//! another place has the same bytes.

use crate::event::Isa;
use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, Instruction, OpKind};
use std::ops::Range;

/// The bytes with zeros for displacements from the program counter, branches out of the function
/// (whose code is `inside`) and numbers that are addresses of an image. The bytes as they are where
/// they cannot be decoded.
pub fn masked(
    isa: Isa,
    address: u64,
    bytes: &[u8],
    inside: &Range<u64>,
    is_image: impl Fn(u64) -> bool,
) -> Vec<u8> {
    let bits = if isa == Isa::X86 { 32 } else { 64 };
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let mut found = bytes.to_vec();
    if instruction.is_invalid() {
        return found;
    }
    let offsets: ConstantOffsets = decoder.get_constant_offsets(&instruction);
    let mut clear = |at: usize, size: usize| {
        if let Some(part) = found.get_mut(at..at + size) {
            part.fill(0);
        }
    };
    if offsets.has_displacement() && offsets.displacement_size() >= 4 {
        let value = instruction.memory_displacement64();
        if instruction.is_ip_rel_memory_operand() || is_image(value) {
            clear(offsets.displacement_offset(), offsets.displacement_size());
        }
    }
    if offsets.has_immediate() && offsets.immediate_size() >= 4 {
        let is_out = match branch(&instruction) {
            Some(target) => !inside.contains(&target),
            None => is_image(immediate(&instruction)),
        };
        if is_out {
            clear(offsets.immediate_offset(), offsets.immediate_size());
        }
    }
    found
}

/// The target of a direct branch.
fn branch(instruction: &Instruction) -> Option<u64> {
    let near = [OpKind::NearBranch16, OpKind::NearBranch32, OpKind::NearBranch64];
    let is_near = instruction.op_kinds().any(|kind| near.contains(&kind));
    is_near.then(|| instruction.near_branch_target())
}

/// Its last operand that is a number.
fn immediate(instruction: &Instruction) -> u64 {
    let is_number = |&i: &u32| instruction.try_immediate(i).is_ok();
    let last = (0..instruction.op_count()).rev().find(is_number);
    last.map_or(0, |i| instruction.immediate(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: u64, bytes: &[u8]) -> Vec<u8> {
        masked(Isa::X86_64, address, bytes, &(0x1000..0x1100), |a| {
            (0x400000..0x500000).contains(&a)
        })
    }

    #[test]
    fn relocated_parts_are_zeros() {
        // lea 0x10(%rip),%rdi; call out of the function; jump within; mov $0x404010,%edi; mov $7,%edi.
        assert_eq!(of(0x1000, &[0x48, 0x8d, 0x3d, 0x10, 0, 0, 0]), [0x48, 0x8d, 0x3d, 0, 0, 0, 0]);
        assert_eq!(of(0x1000, &[0xe8, 0, 0x10, 0, 0]), [0xe8, 0, 0, 0, 0]);
        assert_eq!(of(0x1000, &[0x0f, 0x85, 0x20, 0, 0, 0]), [0x0f, 0x85, 0x20, 0, 0, 0]);
        assert_eq!(of(0x1000, &[0xbf, 0x10, 0x40, 0x40, 0]), [0xbf, 0, 0, 0, 0]);
        assert_eq!(of(0x1000, &[0xbf, 7, 0, 0, 0]), [0xbf, 7, 0, 0, 0]);
        // mov 0x404010(,%rax,4),%eax
        assert_eq!(of(0x1000, &[0x8b, 4, 0x85, 0x10, 0x40, 0x40, 0]), [0x8b, 4, 0x85, 0, 0, 0, 0]);
    }
}
