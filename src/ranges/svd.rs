//! The peripherals of a chip by its description: CMSIS-SVD, which vendors give for their
//! microcontrollers.
//!
//! Source: CMSIS-SVD, schema 1.3 (elements `peripheral`, `addressBlock`, `dimElementGroup`).

use super::xml::{self, Element};
use super::{RangeError, disjoint, text_of};
use crate::event::NamedRange;
use std::collections::BTreeMap;
use std::path::Path;

/// Ranges of a chip at most.
const MOST: usize = 1 << 16;
/// What says nothing of addresses and is most of a file.
const SKIPPED: [&str; 3] = ["registers", "cpu", "vendorExtensions"];

/// Devices of a description, and what of it could not be used, in words.
#[derive(Debug, Default)]
pub struct Described {
    pub devices: Vec<NamedRange>,
    pub left_out: Vec<String>,
}

/// Reads the devices that a file describes. Registers that two peripherals share are of the smaller one.
///
/// # Errors
/// Where the file cannot be read, is no description of a chip, or names no peripheral with addresses.
pub fn read(path: &Path) -> Result<Described, RangeError> {
    let wrong = |what: String| RangeError::File { path: path.into(), what };
    let found = described(&text_of(path)?).map_err(wrong)?;
    if found.devices.is_empty() {
        let why = found.left_out.first().map_or(String::new(), |first| format!(" ({first})"));
        return Err(wrong(format!(
            "no peripheral has addresses{why}: name devices with --device NAME=FIRST+SIZE"
        )));
    }
    Ok(found)
}

/// The devices of the text of a description.
///
/// # Errors
/// Where it is no description of a chip.
pub fn described(text: &str) -> Result<Described, String> {
    let root = xml::parse(text, &SKIPPED)?;
    if root.name != "device" {
        return Err(format!(
            "expected a CMSIS-SVD file, whose first element is <device>, found <{}>",
            crate::text::visible(&root.name)
        ));
    }
    let all: Vec<&Element> =
        root.all("peripherals").flat_map(|list| list.all("peripheral")).collect();
    let by_name = names(&all)?;
    let mut found = Described::default();
    let mut ranges = Vec::new();
    for peripheral in &all {
        match of_peripheral(peripheral, &all, &by_name) {
            Ok(more) => ranges.extend(more),
            Err(why) => {
                let name = peripheral.text_of("name").unwrap_or("without a name");
                found.left_out.push(format!("peripheral {}: {why}", crate::text::visible(name)));
            }
        }
        if ranges.len() > MOST {
            return Err(format!("more than {MOST} ranges of peripherals"));
        }
    }
    found.devices = disjoint(ranges);
    Ok(found)
}

/// A number of the format: `0x` or `#` (binary) before it, `k`, `m`, `g` or `t` behind it.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('+');
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'#', ..] => (&text[1..], 2),
        _ => (text, 10),
    };
    let (digits, shift) = match digits.char_indices().last()? {
        (at, 'k' | 'K') => (&digits[..at], 10),
        (at, 'm' | 'M') => (&digits[..at], 20),
        (at, 'g' | 'G') => (&digits[..at], 30),
        (at, 't' | 'T') => (&digits[..at], 40),
        _ => (digits, 0),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| is_plain)?.checked_mul(1 << shift)
}

/// The place in the list of each name, also of those that an array stands for.
fn names(all: &[&Element]) -> Result<BTreeMap<String, usize>, String> {
    let mut by_name = BTreeMap::new();
    for (place, peripheral) in all.iter().enumerate() {
        let Some(name) = peripheral.text_of("name") else { continue };
        by_name.entry(name.to_owned()).or_insert(place);
        for (element, _) in elements(peripheral, None).unwrap_or_default() {
            by_name.entry(element).or_insert(place);
        }
        if by_name.len() > 2 * MOST {
            return Err(format!("more than {MOST} peripherals"));
        }
    }
    Ok(by_name)
}

/// Names and distances from the first, in bytes, of the peripherals that an array has; one that is no array is
/// the only one. `like`: what it is derived from.
fn elements(peripheral: &Element, like: Option<&Element>) -> Option<Vec<(String, u64)>> {
    let name = peripheral.text_of("name")?;
    if !name.contains("%s") {
        return Some(vec![(name.to_owned(), 0)]);
    }
    let own = peripheral.child("dim").map(|_| peripheral).or(like)?;
    let count = number(own.text_of("dim")?).filter(|count| (1..=MOST as u64).contains(count))?;
    let step = number(own.text_of("dimIncrement")?)?;
    let words = own.text_of("dimIndex").filter(|_| !name.contains("[%s]"));
    let words = words.and_then(|words| indices(words, count)).unwrap_or_default();
    let word = |at: u64| {
        let given = usize::try_from(at).ok().and_then(|at| words.get(at)).cloned();
        given.unwrap_or_else(|| at.to_string())
    };
    (0..count).map(|at| Some((name.replace("%s", &word(at)), at.checked_mul(step)?))).collect()
}

/// The words of `3-6`, `A-D` or `a,b,c`, if they are as many.
fn indices(text: &str, count: u64) -> Option<Vec<String>> {
    let words: Vec<String> = match text.split_once('-') {
        Some((first, last)) => match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
            (Ok(first), Ok(last)) => {
                last.checked_sub(first).filter(|more| *more < count)?;
                (first..=last).map(|at| at.to_string()).collect()
            }
            _ => {
                let letter =
                    |text: &str| text.trim().parse::<char>().ok().filter(char::is_ascii_alphabetic);
                (letter(first)?..=letter(last)?).map(String::from).collect()
            }
        },
        None => text.split(',').map(|word| word.trim().to_owned()).collect(),
    };
    (words.len() as u64 == count).then_some(words)
}

fn of_peripheral(
    peripheral: &Element,
    all: &[&Element],
    by_name: &BTreeMap<String, usize>,
) -> Result<Vec<NamedRange>, String> {
    // From itself to what it is derived from, and so on.
    let mut line = vec![peripheral];
    while let Some(from) = line.last().and_then(|last| last.attribute("derivedFrom")) {
        // A path names what is in a peripheral; peripherals are the outermost.
        let name = from.rsplit('.').next().unwrap_or(from);
        let place = by_name.get(from).or(by_name.get(name));
        let missing = || format!("derived from {}, which is not there", crate::text::visible(from));
        line.push(all[*place.ok_or_else(missing)?]);
        if line.len() > all.len() {
            return Err("derived from itself".to_owned());
        }
    }
    let own = |name: &str| line.iter().find(|of| of.child(name).is_some());
    let base = own("baseAddress").and_then(|of| of.text_of("baseAddress"));
    let base = base.and_then(number).ok_or("no baseAddress")?;
    let blocks: Vec<&Element> =
        own("addressBlock").map(|of| of.all("addressBlock").collect()).unwrap_or_default();
    if blocks.is_empty() {
        return Err(format!("no addressBlock: give --device NAME={base:#x}+SIZE"));
    }
    let array = own("dim").copied();
    let elements =
        elements(peripheral, array).ok_or("no name, or an array without dim and dimIncrement")?;
    let mut ranges = Vec::new();
    for (name, distance) in elements {
        for block in blocks.iter().filter(|block| block.text_of("usage") != Some("reserved")) {
            let field = |name| block.text_of(name).and_then(number);
            let (offset, bytes) = (field("offset").unwrap_or(0), field("size").unwrap_or(0));
            let more = bytes.checked_sub(1).ok_or("an addressBlock without size")?;
            let address = base.checked_add(distance).and_then(|first| first.checked_add(offset));
            let address = address.filter(|first| first.checked_add(more).is_some());
            let address = address.ok_or("addresses behind the last one of 64 bits")?;
            ranges.push(NamedRange { address, bytes, name: name.as_str().into() });
        }
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip(peripherals: &str) -> Described {
        let text = format!(
            "<?xml version='1.0'?><device><name>C</name><cpu><name>CM4</name></cpu><peripherals>{peripherals}</peripherals></device>"
        );
        described(&text).expect("a description")
    }

    fn listed(found: &Described) -> Vec<(String, u64, u64)> {
        found.devices.iter().map(|of| (of.name.to_string(), of.address, of.last())).collect()
    }

    fn range(name: &str, first: u64, last: u64) -> (String, u64, u64) {
        (name.to_owned(), first, last)
    }

    const BLOCK: &str = "<addressBlock><offset>0x0</offset><size>0x400</size><usage>registers</usage></addressBlock>";

    #[test]
    fn a_peripheral_has_its_blocks() {
        let found = chip(
            "<peripheral><name>USB</name><baseAddress>0x40005C00</baseAddress>
               <addressBlock><offset>0</offset><size>1k</size><usage>registers</usage></addressBlock>
               <addressBlock><offset>0x400</offset><size>0x200</size><usage>buffer</usage></addressBlock>
               <addressBlock><offset>0x600</offset><size>0x200</size><usage>reserved</usage></addressBlock>
               <addressBlock><offset>0x1000</offset><size>#100</size></addressBlock>
               <registers><register><name>addressBlock</name></register></registers></peripheral>",
        );
        assert_eq!(
            listed(&found),
            [range("USB", 0x4000_5c00, 0x4000_61ff), range("USB", 0x4000_6c00, 0x4000_6c03)]
        );
        assert!(found.left_out.is_empty());
    }

    #[test]
    fn a_derived_peripheral_has_what_it_does_not_say() {
        let found = chip(&format!(
            "<peripheral derivedFrom='UART1'><name>UART3</name><baseAddress>0x3000</baseAddress></peripheral>
             <peripheral derivedFrom='UART0'><name>UART1</name><baseAddress>0x1000</baseAddress></peripheral>
             <peripheral><name>UART0</name><baseAddress>0x0</baseAddress>{BLOCK}</peripheral>
             <peripheral derivedFrom='UART0'><name>UART2</name><baseAddress>8192</baseAddress>
               <addressBlock><offset>0</offset><size>16</size></addressBlock></peripheral>"
        ));
        let expected = [
            range("UART0", 0, 0x3ff),
            range("UART1", 0x1000, 0x13ff),
            range("UART2", 0x2000, 0x200f),
            range("UART3", 0x3000, 0x33ff),
        ];
        assert_eq!(listed(&found), expected);
    }

    #[test]
    fn an_array_has_its_elements() {
        let array = |name: &str, base: &str, index: &str| {
            format!(
                "<peripheral><dim>3</dim><dimIncrement>0x1000</dimIncrement>{index}<name>{name}</name>
                 <baseAddress>{base}</baseAddress>{BLOCK}</peripheral>"
            )
        };
        let parts = [
            array("T%s", "0x0", ""),
            array("P%s", "0x10000", "<dimIndex>A-C</dimIndex>"),
            array("Q%s", "0x20000", "<dimIndex>5-7</dimIndex>"),
            array("R%s_X", "0x30000", "<dimIndex>a, b,c9</dimIndex>"),
            array("S[%s]", "0x40000", "<dimIndex>5-7</dimIndex>"),
            // Not as many words as elements.
            array("U%s", "0x50000", "<dimIndex>1-9</dimIndex>"),
            // Derived from an element, and from the array.
            "<peripheral derivedFrom='PB'><name>PX</name><baseAddress>0x60000</baseAddress></peripheral>".to_owned(),
            "<peripheral derivedFrom='T%s'><name>V%s</name><baseAddress>0x70000</baseAddress></peripheral>".to_owned(),
        ];
        let found = chip(&parts.concat());
        let names: Vec<String> =
            found.devices.iter().map(|of| format!("{}@{:x}", of.name, of.address)).collect();
        let expected = "T0@0 T1@1000 T2@2000 PA@10000 PB@11000 PC@12000 Q5@20000 Q6@21000 Q7@22000 Ra_X@30000 Rb_X@31000 Rc9_X@32000 \
                        S[0]@40000 S[1]@41000 S[2]@42000 U0@50000 U1@51000 U2@52000 PX@60000 V0@70000 V1@71000 V2@72000";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn addresses_of_64_bits_and_overlaps() {
        let found = chip(&format!(
            "<peripheral><name>TOP</name><baseAddress>0xFFFFFFFFFFFFFC00</baseAddress>{BLOCK}</peripheral>
             <peripheral><name>ADC_Common</name><baseAddress>0x40012300</baseAddress>
               <addressBlock><offset>0</offset><size>0x100</size></addressBlock></peripheral>
             <peripheral><name>ADC1</name><baseAddress>0x40012000</baseAddress>{BLOCK}</peripheral>
             <peripheral><name>ADC2</name><alternatePeripheral>ADC1</alternatePeripheral><baseAddress>0x40012000</baseAddress>{BLOCK}</peripheral>"
        ));
        let expected = [
            range("ADC1", 0x4001_2000, 0x4001_22ff),
            range("ADC_Common", 0x4001_2300, 0x4001_23ff),
            range("TOP", 0xffff_ffff_ffff_fc00, u64::MAX),
        ];
        assert_eq!(listed(&found), expected);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let found = chip(&format!(
            "<peripheral derivedFrom='B'><name>A</name><baseAddress>0</baseAddress></peripheral>
             <peripheral derivedFrom='A'><name>B</name><baseAddress>0</baseAddress></peripheral>
             <peripheral derivedFrom='Z'><name>C</name><baseAddress>0</baseAddress></peripheral>
             <peripheral><name>D</name><baseAddress>0x10</baseAddress></peripheral>
             <peripheral><name>E</name>{BLOCK}</peripheral>
             <peripheral><name>F%s</name><baseAddress>0</baseAddress>{BLOCK}</peripheral>
             <peripheral><name>G</name><baseAddress>0xffffffffffffffff</baseAddress>{BLOCK}</peripheral>
             <peripheral><dim>99999999999</dim><dimIncrement>1</dimIncrement><name>H%s</name><baseAddress>0</baseAddress>{BLOCK}</peripheral>"
        ));
        assert!(found.devices.is_empty());
        let parts = [
            "itself",
            "itself",
            "Z, which",
            "--device NAME=0x10+SIZE",
            "no baseAddress",
            "array",
            "64 bits",
            "array",
        ];
        assert_eq!(found.left_out.len(), parts.len(), "{:?}", found.left_out);
        for (said, part) in found.left_out.iter().zip(parts) {
            assert!(said.contains(part), "{said}");
        }
        let error = described("<package><name>x</name></package>").expect_err("no chip");
        assert!(error.contains("<device>") && error.contains("<package>"), "{error}");
    }
}
