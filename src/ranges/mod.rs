//! Named ranges of addresses, which a person gives: memories and devices, on the command line, by a
//! linker's map or by the description of a chip.

pub mod linker;
pub mod svd;
mod table;
mod xml;

use crate::event::NamedRange;
use std::path::{Path, PathBuf};
pub use table::{disjoint, over};
use thiserror::Error;

/// Why a range, or a file of ranges, is not taken.
#[derive(Debug, Error)]
pub enum RangeError {
    #[error("`{text}` has no name: write NAME=FIRST..LAST or NAME=FIRST+SIZE, as in {example}")]
    NoName { text: String, example: &'static str },
    #[error("`{text}` has no range: write NAME=FIRST..LAST or NAME=FIRST+SIZE, as in {example}")]
    NoRange { text: String, example: &'static str },
    #[error(
        "invalid number `{text}`: expected hexadecimal like 0x20000000, or decimal like 65536 or 64K"
    )]
    Number { text: String },
    #[error("`{text}` is empty: the last address is below the first, or the size is 0")]
    Empty { text: String },
    #[error("`{text}` ends behind the last address of 64 bits")]
    TooLong { text: String },
    #[error(
        "{option} {a} and {option} {b} overlap at {address:#x}: shorten one of them, or give both the same name in pieces"
    )]
    Overlap { option: &'static str, a: String, b: String, address: u64 },
    #[error("{path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path}: {what}")]
    File { path: PathBuf, what: String },
}

/// The text of a file of ranges.
///
/// # Errors
/// Where it cannot be read. Bytes that are not UTF-8 are replaced: names are all that they can be in.
fn text_of(path: &Path) -> Result<String, RangeError> {
    let bytes =
        std::fs::read(path).map_err(|error| RangeError::Read { path: path.into(), error })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number as in C, with K, M or G for its binary multiples.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    let is_plain = digits.bytes().all(|c| c.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(factor)
}

/// `NAME=FIRST..LAST` (both inclusive) or `NAME=FIRST+SIZE`.
///
/// # Errors
/// Says which part is wrong, and how it is written.
pub fn named(text: &str, example: &'static str) -> Result<NamedRange, RangeError> {
    let shown = || crate::text::visible(text).into_owned();
    let Some((name, place)) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(RangeError::NoName { text: shown(), example });
    };
    let number = |text: &str| {
        let wrong = || RangeError::Number { text: crate::text::visible(text).into_owned() };
        number(text).ok_or_else(wrong)
    };
    let (address, bytes) = if let Some((first, last)) = place.split_once("..") {
        let (first, last) = (number(first)?, number(last)?);
        let more = last.checked_sub(first).ok_or_else(|| RangeError::Empty { text: shown() })?;
        (first, more.checked_add(1).ok_or_else(|| RangeError::TooLong { text: shown() })?)
    } else if let Some((first, size)) = place.split_once('+') {
        (number(first)?, number(size)?)
    } else {
        return Err(RangeError::NoRange { text: shown(), example });
    };
    let Some(more) = bytes.checked_sub(1) else {
        return Err(RangeError::Empty { text: shown() });
    };
    if address.checked_add(more).is_none() {
        return Err(RangeError::TooLong { text: shown() });
    }
    Ok(NamedRange { address, bytes, name: name.into() })
}

/// A memory of the command line.
///
/// # Errors
/// Those of [`named`].
pub fn memory(text: &str) -> Result<NamedRange, RangeError> {
    named(text, "TCM=0x20000000+64K")
}

/// A device of the command line.
///
/// # Errors
/// Those of [`named`].
pub fn device(text: &str) -> Result<NamedRange, RangeError> {
    named(text, "uart=0x9000000+0x1000")
}

/// Refuses ranges of one option that overlap: which of them an address is in would be a guess.
///
/// # Errors
/// Names the first two that do.
pub fn refuse_overlap(option: &'static str, ranges: &[NamedRange]) -> Result<(), RangeError> {
    let mut sorted: Vec<&NamedRange> = ranges.iter().collect();
    sorted.sort_by_key(|range| range.address);
    for pair in sorted.windows(2) {
        if pair[1].address <= pair[0].last() {
            let shown = |range: &NamedRange| {
                let name = crate::text::visible(&range.name).into_owned();
                format!("{name}={:#x}+{:#x}", range.address, range.bytes)
            };
            let (a, b) = (shown(pair[0]), shown(pair[1]));
            return Err(RangeError::Overlap { option, a, b, address: pair[1].address });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Result<(String, u64, u64), String> {
        let found = memory(text).map_err(|error| error.to_string())?;
        Ok((found.name.to_string(), found.address, found.last()))
    }

    #[test]
    fn a_range_has_an_end_or_a_size() {
        let tcm = Ok(("TCM".to_owned(), 0x2000_0000, 0x2000_ffff));
        for text in [
            "TCM=0x20000000+64K",
            "TCM=0x20000000..0x2000ffff",
            "TCM=0X20000000+0x10000",
            "TCM=536870912+65536",
        ] {
            assert_eq!(range(text), tcm, "{text}");
        }
        let top = Ok(("DDR=1".to_owned(), 1 << 63, u64::MAX));
        assert_eq!(range("DDR=1=0x8000000000000000+0x8000000000000000"), top);
        assert_eq!(range("DDR=1=0x8000000000000000..0xffffffffffffffff"), top);
        assert_eq!(range("byte=7..7"), Ok(("byte".to_owned(), 7, 7)));
    }

    #[test]
    fn an_error_says_which_part_is_wrong() {
        for (text, part) in [
            ("TCM", "has no name"),
            ("=0x0+1", "has no name"),
            ("TCM=0x1000", "has no range"),
            ("TCM=20000000h+1", "invalid number `20000000h`"),
            ("TCM=0x20000000+64KB", "invalid number `64KB`"),
            ("TCM=0x+1", "invalid number `0x`"),
            ("TCM=0x0+-1", "invalid number `-1`"),
            ("TCM=0x1000+0", "is empty"),
            ("TCM=0x1001..0x1000", "is empty"),
            ("TCM=0xffffffffffffffff+2", "ends behind the last address"),
            ("all=0..0xffffffffffffffff", "ends behind the last address"),
            ("TCM=0+99999999999G", "invalid number"),
        ] {
            let error = range(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn ranges_of_one_option_do_not_overlap() {
        let ranges = |texts: &[&str]| -> Vec<NamedRange> {
            texts.iter().map(|text| memory(text).expect("a range")).collect()
        };
        let beside = ranges(&["B=0x10+0x10", "A=0x0+0x10", "A=0x20+0x10"]);
        assert!(refuse_overlap("--memory", &beside).is_ok());
        let error = refuse_overlap("--memory", &ranges(&["B=0x1f+1", "A=0x10..0x1f"]));
        let error = error.expect_err("they overlap").to_string();
        assert!(error.contains("A=0x10+0x10") && error.contains("at 0x1f"), "{error}");
    }
}
