//! A register's value: hexadecimal digits, highest first, with separators and unknown digits.

use super::line::Words;
use crate::event::RegSpan;

/// A value's digits, highest first; None for one that is not known.
pub type Digits = Vec<Option<u8>>;

/// Digits of a register at most: SVE has 2048 bits.
const MOST: usize = 512;

/// Reads the digits at the front of a text; gives what is behind them, None if there are none.
pub fn read<'a>(text: &'a [u8], digits: &mut Digits) -> Option<&'a [u8]> {
    digits.clear();
    let mut words = Words(text);
    loop {
        let rest = words.0;
        let before = digits.len();
        // Behind the first word only whole words of the value stand: others are comments.
        let good = words.next().is_some_and(|word| {
            append(word, digits) && (before == 0 || matches!(digits.len() - before, 8 | 16))
        });
        if !good || digits.len() > MOST {
            digits.truncate(before);
            return (before > 0).then_some(rest);
        }
    }
}

/// Appends a word's digits; false if it is none of a value.
fn append(word: &[u8], digits: &mut Digits) -> bool {
    for &byte in word {
        match byte {
            b'_' | b':' => {}
            b'-' | b'x' | b'X' | b'.' => digits.push(None),
            _ => match (byte as char).to_digit(16) {
                Some(digit) => digits.push(Some(digit as u8)),
                None => return false,
            },
        }
    }
    true
}

/// Lists the known bytes of a value of a register's bytes; what has no digits above known ones is 0.
pub fn list(digits: &Digits, span: RegSpan, out: &mut Vec<(RegSpan, u64)>) {
    // From the lowest byte on.
    let byte = |i: usize| {
        let digit = |place: usize| match digits.len().checked_sub(place + 1) {
            Some(at) => digits[at],
            None => Some(0),
        };
        Some(digit(2 * i + 1)? << 4 | digit(2 * i)?)
    };
    if digits.iter().all(Option::is_none) {
        return;
    }
    let size = usize::from(span.size);
    let mut at = 0;
    while at < size {
        let (mut value, mut length) = (0u64, 0);
        while length < 8
            && at + length < size
            && let Some(byte) = byte(at + length)
        {
            value |= u64::from(byte) << (8 * length);
            length += 1;
        }
        if length > 0 {
            out.push((RegSpan { offset: span.offset + at as u16, size: length as u16 }, value));
        }
        at += length.max(1);
    }
}

/// Lists a number as the value of a register's bytes.
pub fn list_number(mut value: u64, span: RegSpan, out: &mut Vec<(RegSpan, u64)>) {
    let mut at = 0;
    while at < span.size {
        let size = (span.size - at).min(8);
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        out.push((RegSpan { offset: span.offset + at, size }, value & mask));
        (value, at) = (0, at + size);
    }
}
