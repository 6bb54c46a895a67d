//! The memories that a linker placed a program in: by its map, or by its script.
//!
//! Dialects:
//! - GNU ld: the table `Memory Configuration` of `-Map=FILE`, which ends with `*default*`, in any language.
//! - TI's linkers: the table `MEMORY CONFIGURATION`, hexadecimal without 0x.
//! - armlink: the execution regions of `--map`, up to their `Max` where that is a bound.
//! - Linker scripts: the command `MEMORY`, with numbers. lld's maps have no memories, its scripts do.

use super::{RangeError, disjoint, number, text_of};
use crate::event::NamedRange;
use std::path::Path;

/// Reads the memories of a map or a script. Of memories that overlap the smaller one has the addresses of both.
///
/// # Errors
/// Where the file cannot be read, or names no memory.
pub fn read(path: &Path) -> Result<Vec<NamedRange>, RangeError> {
    let wrong = |what: String| RangeError::File { path: path.into(), what };
    memories(&text_of(path)?).map_err(wrong)
}

/// The memories of the text of a map or a script.
///
/// # Errors
/// Where it names none: what it is, and what to do.
pub fn memories(text: &str) -> Result<Vec<NamedRange>, String> {
    const GIVE: &str = "name memories with --memory NAME=FIRST+SIZE";
    for dialect in [gnu, ti, armlink] {
        let found = dialect(text);
        if !found.is_empty() {
            return Ok(disjoint(found));
        }
    }
    let found = script(text)?;
    if !found.is_empty() {
        return Ok(disjoint(found));
    }
    let is_lld = text.lines().next().is_some_and(|line| {
        ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"]
            .into_iter()
            .eq(line.split_whitespace())
    });
    if is_lld {
        return Err(format!(
            "a map of lld has no memories: give the linker script that has the command MEMORY, or {GIVE}"
        ));
    }
    if text.lines().any(|line| line.starts_with("*default*")) {
        return Err(format!(
            "the program was linked without the command MEMORY, so its map names no memory: {GIVE}"
        ));
    }
    Err(format!(
        "expected a map of GNU ld, TI's linker or armlink, or a linker script with the command MEMORY: {GIVE}"
    ))
}

fn range(name: &str, address: u64, bytes: u64) -> Option<NamedRange> {
    address.checked_add(bytes.checked_sub(1)?)?;
    Some(NamedRange { address, bytes, name: name.into() })
}

/// The lines before `*default*`: a name, where it begins and how long it is. The words above them are of the
/// linker's language.
fn gnu(text: &str) -> Vec<NamedRange> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(end) = lines.iter().position(|line| line.starts_with("*default*")) else {
        return Vec::new();
    };
    let row = |line: &&str| {
        let mut words = line.split_whitespace();
        let (name, address, bytes) = (words.next()?, words.next()?, words.next()?);
        let is_hex = address.starts_with("0x") && bytes.starts_with("0x");
        is_hex.then(|| Some((name.to_owned(), number(address)?, number(bytes)?)))?
    };
    let rows = lines[..end].iter().rev().map_while(row);
    let mut found: Vec<_> =
        rows.filter_map(|(name, address, bytes)| range(&name, address, bytes)).collect();
    found.reverse();
    found
}

/// Rows below the ruler of `MEMORY CONFIGURATION`; those of a page of memory have the page's line before them.
fn ti(text: &str) -> Vec<NamedRange> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, address, bytes) = (words.next()?, hex(words.next()?)?, hex(words.next()?)?);
        range(name, address, bytes)
    };
    let table = text.lines().skip_while(|line| line.trim() != "MEMORY CONFIGURATION").skip(1);
    let rows = table.skip_while(|line| !line.starts_with("-----")).skip(1);
    rows.take_while(|line| !line.contains("MAP")).filter_map(row).collect()
}

/// `Execution Region NAME (Exec base: 0x0, Load base: 0x0, Size: 0x0, Max: 0x0, ABSOLUTE)`; older ones have `Base`.
fn armlink(text: &str) -> Vec<NamedRange> {
    const NO_BOUND: u64 = 0xffff_ffff;
    let region = |line: &str| {
        let (name, rest) = line.trim().strip_prefix("Execution Region ")?.split_once(" (")?;
        let field = |key: &str| {
            let (_, value) = rest.split([',', ')']).find_map(|part| {
                part.split_once(':').filter(|(word, _)| word.trim().eq_ignore_ascii_case(key))
            })?;
            number(value)
        };
        let address = field("Exec base").or_else(|| field("Base"))?;
        let bytes = field("Max").filter(|most| *most != NO_BOUND).or_else(|| field("Size"))?;
        range(name, address, bytes)
    };
    text.lines().filter_map(region).collect()
}

/// The text without comments.
fn uncommented(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + " " + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// The name in `... NAME (rwx) `.
fn name_before_colon(text: &str) -> &str {
    let text = text.trim_end();
    let text = text
        .strip_suffix(')')
        .and_then(|text| text.rfind('(').map(|at| &text[..at]))
        .unwrap_or(text);
    text.trim_end().rsplit([' ', '\t', '\n', '\r', ';', ',']).next().unwrap_or_default()
}

/// The number that a text begins with, if it is not a part of an expression.
fn first_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let goes_on = text[end..]
        .trim_start()
        .starts_with(['+', '-', '*', '/', '(', '<', '>', '&', '|', '%', '~', '_', '.']);
    number(&text[..end]).filter(|_| !goes_on)
}

/// `MEMORY { NAME (rwx) : ORIGIN = 0x0, LENGTH = 64K ... }`
///
/// # Errors
/// Where an origin or a length is an expression: only the linker knows its value.
fn script(text: &str) -> Result<Vec<NamedRange>, String> {
    let text = uncommented(text);
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("MEMORY") {
        let before = rest[..at].chars().next_back();
        rest = &rest[at + "MEMORY".len()..];
        let is_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let Some(body) = rest.trim_start().strip_prefix('{').filter(|_| is_word) else { continue };
        let body = body.split('}').next().unwrap_or_default();
        let pieces: Vec<&str> = body.split(':').collect();
        for pair in pieces.windows(2) {
            let name = name_before_colon(pair[0]);
            let mut values = pair[1].split('=').skip(1);
            let address = values.next().and_then(|text| number(text.split(',').next()?));
            let bytes = values.next().and_then(first_number);
            let (Some(address), Some(bytes)) = (address, bytes) else {
                return Err(format!(
                    "memory {}: ORIGIN and LENGTH are not numbers: give the linker's map, or --memory NAME=FIRST+SIZE",
                    crate::text::visible(name)
                ));
            };
            found.extend(range(name, address, bytes));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<String> {
        let found = memories(text).expect("memories");
        found.iter().map(|of| format!("{} {:#x} {:#x}", of.name, of.address, of.last())).collect()
    }

    #[test]
    fn gnu_ld() {
        let rows = "ROM              0x0000000080000000 0x0000000000010000 xr\n\
                    A_NAME_OF_MORE_THAN_16 0x0000000080100000 0x0000000000004000 rw\n\
                    empty            0x0000000000000000 0x0000000000000000\n\
                    DDR              0x8000000000000000 0x8000000000000000 xrw\n\
                    *default*        0x0000000000000000 0xffffffffffffffff\n";
        let expected = [
            "ROM 0x80000000 0x8000ffff",
            "A_NAME_OF_MORE_THAN_16 0x80100000 0x80103fff",
            "DDR 0x8000000000000000 0xffffffffffffffff",
        ];
        for header in [
            "Memory Configuration\n\nName             Origin             Length             Attributes\n",
            "\nSpeicherkonfiguration\n\nName             Ursprung           Länge              Attribute\n",
        ] {
            let text = format!(
                "Discarded input sections\n .x 0x0 0x0 a.o\n{header}{rows}\nLinker script and memory map\n X 0x0 0x1\n"
            );
            assert_eq!(listed(&text), expected);
            assert_eq!(listed(&text.replace('\n', "\r\n")), expected);
        }
        // Windows into a memory.
        let parts = "RAM 0x20000000 0x00010000 xrw\nSTACK 0x2000f000 0x00001000 rw\n*default* 0x00000000 0xffffffff\n";
        assert_eq!(listed(parts), ["RAM 0x20000000 0x2000efff", "STACK 0x2000f000 0x2000ffff"]);
    }

    #[test]
    fn ti_and_armlink() {
        let ti = "MEMORY CONFIGURATION\n\n         name            origin    length      used     unused   attr    fill\n\
                  ----------------------  --------  ---------  --------  --------  ----  --------\nPAGE 0:\n\
                  \x20 FLASH                 00000000   00040000  00002b4e  0003d4b2  R  X\n\n\
                  \x20 SRAM                  20000000   00008000  00000a14  000075ec  RW X\n\n\nSEGMENT ALLOCATION MAP\n\
                  \x20 run 00000000 00000100\n";
        assert_eq!(listed(ti), ["FLASH 0x0 0x3ffff", "SRAM 0x20000000 0x20007fff"]);
        let arm = "Memory Map of the image\n\n  Image Entry point : 0x08000189\n\n\
                   \x20 Load Region LR_IROM1 (Base: 0x08000000, Size: 0x00001234, Max: 0x00080000, ABSOLUTE)\n\n\
                   \x20   Execution Region ER_IROM1 (Exec base: 0x08000000, Load base: 0x08000000, Size: 0x00001200, Max: 0x00080000, ABSOLUTE)\n\n\
                   \x20   Execution Region RW_IRAM1 (Exec base: 0x20000000, Load base: 0x08001200, Size: 0x00000660, Max: 0xffffffff, ABSOLUTE, COMPRESSED[0x10])\n\
                   \x20   Execution Region OLD (Base: 0x30000000, Size: 0x00000010, Max: 0x00000100, ABSOLUTE)\n";
        assert_eq!(
            listed(arm),
            [
                "ER_IROM1 0x8000000 0x807ffff",
                "RW_IRAM1 0x20000000 0x2000065f",
                "OLD 0x30000000 0x300000ff"
            ]
        );
    }

    #[test]
    fn a_linker_script() {
        let text = "/* MEMORY { no : ORIGIN = 0, LENGTH = 1 } */ ENTRY(entry)\nMEMORY\n{\n\
                    ROM  (rx)  : ORIGIN = 0x80000000, LENGTH = 64K\n  TCM(rw): ORIGIN = 0x80100000, LENGTH = 0x4000 /* fast */\n\
                    \x20 SRAM : org = 1M, len = 2M\n}\nSECTIONS { .text : { *(.text) } > ROM }\n";
        assert_eq!(
            listed(text),
            ["SRAM 0x100000 0x2fffff", "ROM 0x80000000 0x8000ffff", "TCM 0x80100000 0x80103fff"]
        );
        let error = memories(
            "MEMORY { A : ORIGIN = 0, LENGTH = 4K\nB (rw) : ORIGIN = ORIGIN(A) + 8, LENGTH = SIZE }",
        );
        assert!(error.expect_err("an expression").starts_with("memory B: "));
    }

    #[test]
    fn what_names_no_memory_says_what_to_do() {
        let lld = "             VMA              LMA     Size Align Out     In      Symbol\n        80000000 80000000 4 4 .text\n";
        for (text, part) in [
            (lld, "lld"),
            (
                "Memory Configuration\n\nName Origin Length\n*default* 0x0 0xffffffff\n",
                "without the command MEMORY",
            ),
            ("", "expected a map of GNU ld"),
            ("MEMORY of an elephant", "expected a map of GNU ld"),
        ] {
            let error = memories(text).expect_err(text);
            assert!(error.contains(part) && error.contains("--memory NAME=FIRST+SIZE"), "{error}");
        }
    }
}
