//! Numbers as logs write them. All readers of text share these, so they are made for speed: most
//! bytes of a log are hexadecimal digits.

/// Values of hexadecimal digits; [`NONE`] for what is none.
const DIGIT: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut i = 0;
    while i < 16 {
        table[b"0123456789abcdef"[i] as usize] = i as u8;
        table[b"0123456789ABCDEF"[i] as usize] = i as u8;
        i += 1;
    }
    table
};
const NONE: u8 = 0x80;

/// The number that eight hexadecimal digits are, if all eight are digits: all at once, byte by byte
/// of a word.
#[inline]
pub fn hex_of_8(digits: [u8; 8]) -> Option<u32> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let text = u64::from_le_bytes(digits);
    // The high bit of each byte tells whether it is at least `least`; bytes are below 0x80.
    let least = |word: u64, least: u8| (word | HIGH) - u64::from(least) * ONES;
    let lower = text | (0x20 * ONES);
    let decimal = least(text, b'0') & !least(text, b'9' + 1);
    let letter = least(lower, b'a') & !least(lower, b'f' + 1);
    if text & HIGH != 0 || (decimal | letter) & HIGH != HIGH {
        return None;
    }
    // A letter has bit 6, and its low bits count from 1. The first digit is the highest: neighbours
    // change places as they are joined.
    let nibbles = (text & (0x0f * ONES)) + 9 * ((text >> 6) & ONES);
    let bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes << 8 | bytes >> 16) & 0x0000_ffff_0000_ffff;
    // The lower half is the number, whatever is above it.
    Some((halves << 16 | halves >> 32) as u32)
}

/// The hexadecimal digits at the front of a text: their value, and how many they are. Of more than
/// 16 the value is meaningless.
#[inline]
pub fn hex_front(text: &[u8]) -> (u64, usize) {
    let (mut value, mut length) = (0, 0);
    // Addresses of 64 bits have 16 digits.
    while length < 16
        && let Some(eight) = text[length..].first_chunk().and_then(|&digits| hex_of_8(digits))
    {
        value = value << 32 | u64::from(eight);
        length += 8;
    }
    while let Some(&byte) = text.get(length)
        && let digit = DIGIT[usize::from(byte)]
        && digit != NONE
    {
        value = value << 4 | u64::from(digit);
        length += 1;
    }
    (value, length)
}

/// A number of 1 to 16 hexadecimal digits and nothing else.
#[inline]
pub fn hex_digits(text: &[u8]) -> Option<u64> {
    let (value, length) = hex_front(text);
    (length == text.len() && (1..=16).contains(&length)).then_some(value)
}

/// A hexadecimal number of up to 64 bits, with or without `0x`, underscores and leading zeros.
pub fn hex(text: &[u8]) -> Option<u64> {
    let digits = without_prefix(text);
    if let Some(value) = hex_digits(digits) {
        return Some(value);
    }
    let mut value = 0u64;
    let mut any = false;
    for &byte in digits.iter().filter(|byte| **byte != b'_') {
        let digit = DIGIT[usize::from(byte)];
        if value >> 60 != 0 || digit == NONE {
            return None;
        }
        value = value << 4 | u64::from(digit);
        any = true;
    }
    any.then_some(value)
}

/// Number of hexadecimal digits of what [`hex`] accepts.
pub fn hex_length(text: &[u8]) -> usize {
    without_prefix(text).iter().filter(|byte| byte.is_ascii_hexdigit()).count()
}

/// The text behind `0x`, if it begins so.
pub fn without_prefix(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text)
}

/// The decimal digits at the front of a text: their value, and how many they are. Of more than 19
/// the value is meaningless.
#[inline]
pub fn decimal_front(text: &[u8]) -> (u64, usize) {
    let (mut value, mut length) = (0u64, 0);
    while let Some(&byte) = text.get(length)
        && byte.is_ascii_digit()
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        length += 1;
    }
    (value, length)
}

/// A decimal number of up to 64 bits without a sign, and nothing else.
pub fn decimal(text: &[u8]) -> Option<u64> {
    let (value, length) = decimal_front(text);
    match length {
        1..=19 if length == text.len() => Some(value),
        // Leading zeros, or 20 digits that may be too large.
        20.. if length == text.len() => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// A decimal number, or a hexadecimal one with `0x`.
pub fn number(text: &[u8]) -> Option<u64> {
    if without_prefix(text).len() < text.len() { hex(text) } else { decimal(text) }
}

/// The number of a source line; None beyond what its column holds: no file has so many.
pub fn source_line(text: &str) -> Option<u32> {
    text.parse().ok().filter(|line| i32::try_from(*line).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_what_the_standard_library_reads() {
        let mut digits = *b"0123cDeF";
        for place in 0..8 {
            let before = digits[place];
            for byte in 0..=255 {
                digits[place] = byte;
                let text = std::str::from_utf8(&digits).ok().filter(|t| !t.contains('+'));
                let value = text.and_then(|t| u32::from_str_radix(t, 16).ok());
                assert_eq!(hex_of_8(digits), value, "{digits:?}");
            }
            digits[place] = before;
        }
    }

    #[test]
    fn every_shape_of_a_number() {
        assert_eq!(hex(b"0xffff_0000_0000_0001"), Some(0xffff_0000_0000_0001));
        assert_eq!(hex(b"DEADbeef"), Some(0xdeadbeef));
        assert_eq!(hex(b"0000000000000000000000001"), Some(1));
        for bad in [&b""[..], b"0x", b"_", b"12345678123456781", b"+1", b"g"] {
            assert_eq!(hex(bad), None, "{}", bad.escape_ascii());
        }
        assert_eq!(hex_digits(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(hex_digits(b"123456789"), Some(0x1_2345_6789));
        for bad in [&b""[..], b"0x1", b"00000000000000001", b"1_0", b"12345678 "] {
            assert_eq!(hex_digits(bad), None, "{}", bad.escape_ascii());
        }
        assert_eq!(hex_front(b"1ffefffd50,8"), (0x1f_feff_fd50, 10));
        assert_eq!(hex_front(b"5f,"), (0x5f, 2));
        assert_eq!(hex_front(b"x"), (0, 0));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"00000000000000000000000012"), Some(12));
        assert_eq!(number(b"0x10"), Some(16));
        for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b"1a"] {
            assert_eq!(number(bad), None, "{}", bad.escape_ascii());
        }
        assert_eq!(hex_length(b"0x00_1f"), 4);
    }
}
