//! The disassembly behind `IN:`, and the instructions it defines.

use crate::event::{InsnDef, Isa};
use crate::trace::number::hex_digits;

/// ARM's kernel helpers are from here on: QEMU lists no code for them.
const KERNEL_HELPERS: u64 = 0xffff_0f00;

/// A listed instruction that no step has used yet.
pub struct Listing {
    /// Groups of digits, each with a blank behind it.
    pub digits: Vec<u8>,
    pub text: String,
}

/// `0x00010164:  e92d4010  push {r4, lr}`: address, digits of the opcode, text.
pub fn disassembly(line: &[u8]) -> Option<(u64, Vec<u8>, String)> {
    let line = line.strip_prefix(b"0x")?;
    let colon = line.iter().position(|&b| b == b':')?;
    let address = hex_digits(&line[..colon])?;
    let mut digits = Vec::new();
    let mut rest = line[colon + 1..].trim_ascii_start();
    // Groups of digits separated by one blank; the text is farther away.
    loop {
        let len = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let ends = rest.get(len).is_none_or(|b| *b == b' ' || *b == b'\r');
        if len == 0 || len % 2 != 0 || !ends {
            break;
        }
        digits.extend_from_slice(&rest[..len]);
        digits.push(b' ');
        rest = &rest[len..];
        if rest.starts_with(b"  ") || rest.len() < 2 {
            break;
        }
        rest = &rest[1..];
    }
    let text = String::from_utf8_lossy(rest).split_whitespace().collect::<Vec<_>>().join(" ");
    Some((address, digits, text))
}

/// An instruction's code as a number that tells codes of up to 15 bytes apart (no instruction has
/// more).
pub fn packed(bytes: &[u8]) -> u128 {
    bytes.iter().fold(bytes.len() as u128, |n, &b| n << 8 | u128::from(b))
}

/// Bytes in memory order: x86 prints them so, the others print numbers.
pub fn define(isa: Isa, address: u64, thumb: bool, listing: Option<Listing>) -> InsnDef {
    let helper = isa == Isa::Arm && address >= KERNEL_HELPERS;
    let Some(listing) = listing.filter(|_| !helper) else {
        let text = helper.then(|| "<kernel helper>".into());
        return InsnDef { address, thumb, text, ..InsnDef::default() };
    };
    let mut bytes = Vec::new();
    for group in listing.digits.split(|&b| b == b' ').filter(|g| !g.is_empty()) {
        let Some(value) = hex_digits(group) else { continue };
        let size = group.len() / 2;
        if matches!(isa, Isa::X86 | Isa::X86_64) {
            bytes.extend(value.to_be_bytes()[8 - size..].iter());
        } else {
            bytes.extend(value.to_le_bytes()[..size].iter());
        }
    }
    InsnDef { address, bytes, thumb, text: Some(listing.text.into()), ..InsnDef::default() }
}
