//! The lines of both kinds of WET traces.

use crate::trace::number::source_line;
use crate::trace::number::{decimal, hex, without_prefix};

/// No instruction runs so often; a larger instance number is damage.
pub const INSTANCES: i64 = 1 << 48;

/// An execution of an instruction: which one, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    pub address: u64,
    pub instance: i64,
}

/// A line of a comprehensive trace.
pub enum Line<'a> {
    Static { number: u64, ports: u64, address: u64, rest: &'a str },
    Size(u64),
    Dependence { entry: u64, number: u64, instance: i64 },
    Value { entry: u64, text: &'a str },
    Values(u64),
    Count(u64),
}

fn instance(text: &str) -> Option<i64> {
    decimal(text.as_bytes()).and_then(|n| i64::try_from(n).ok()).filter(|&n| n < INSTANCES)
}

/// A line of the comprehensive format, trimmed.
pub fn comprehensive_line(line: &str) -> Option<Line<'_>> {
    if let Some(n) = line.strip_prefix("SIZE ") {
        return Some(Line::Size(decimal(n.trim().as_bytes())?));
    }
    if let Some(n) = line.strip_prefix("VALUES ") {
        return Some(Line::Values(decimal(n.trim().as_bytes())?));
    }
    if line == "NO VALUES" {
        return Some(Line::Values(0));
    }
    let mut rest = line;
    let mut next = || {
        let (field, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        field
    };
    let first = next();
    if let Some((entry, value)) = first.split_once(':') {
        let entry = decimal(entry.as_bytes())?;
        // `0: 12 3`, with a blank behind the colon, is the same.
        let value = if value.is_empty() { next() } else { value };
        let second = next();
        return if second.is_empty() {
            let digits = &value[value.len() - without_prefix(value.as_bytes()).len()..];
            let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            hex.then_some(Line::Value { entry, text: digits })
        } else {
            let (number, instance) = (decimal(value.as_bytes())?, instance(second)?);
            next().is_empty().then_some(Line::Dependence { entry, number, instance })
        };
    }
    let number = decimal(first.as_bytes())?;
    let second = next();
    if second.is_empty() {
        return Some(Line::Count(number));
    }
    let ports = decimal(second.as_bytes())?;
    let address = next();
    let address = hex(address.as_bytes())?;
    Some(Line::Static { number, ports, address, rest })
}

/// The reader and the writer.
pub fn history_line(line: &str) -> Option<[Execution; 2]> {
    let (reader, writer) = line
        .split_once("-->")
        .or_else(|| line.split_once('→'))
        .or_else(|| line.split_once("->"))?;
    let end = |text: &str| {
        let (address, number) = text.trim().split_once('#')?;
        Some(Execution { address: hex(address.as_bytes())?, instance: instance(number)? })
    };
    Some([end(reader)?, end(writer)?])
}

/// File, function and line as the end of a static line has them. File and function may contain
/// blanks: the file ends with the first word that has an ending, else it is the first word.
pub fn source(rest: &str) -> (Option<&str>, Option<&str>, Option<u32>) {
    let some = |t: &'_ str| -> bool { !t.is_empty() && t != "?" && t != "??" };
    let rest = rest.trim();
    let (rest, line) = match rest.rsplit_once(char::is_whitespace) {
        Some((before, last)) if last.bytes().all(|b| b.is_ascii_digit()) => {
            (before.trim_end(), source_line(last))
        }
        _ if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => {
            ("", source_line(rest))
        }
        _ => (rest, None),
    };
    let ending = |word: &str| {
        word.rsplit_once('.')
            .is_some_and(|(name, e)| !name.is_empty() && (1..=4).contains(&e.len()))
    };
    let mut at = 0;
    let mut split = None;
    for word in rest.split_whitespace() {
        at = rest[at..].find(word).map_or(at, |p| p + at) + word.len();
        if ending(word) {
            split = Some(at);
            break;
        }
    }
    let (file, function) = match split {
        Some(at) => rest.split_at(at),
        None => rest.split_once(char::is_whitespace).unwrap_or(("", rest)),
    };
    let (file, function) = (file.trim(), function.trim());
    (Some(file).filter(|t| some(t)), Some(function).filter(|t| some(t)), line.filter(|&l| l > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_static_line_in_all_its_shapes() {
        let shapes = [
            ("foo1.c main 8", (Some("foo1.c"), Some("main"), Some(8))),
            ("", (None, None, None)),
            ("my file.c operator new 12", (Some("my file.c"), Some("operator new"), Some(12))),
            ("foo1.c main", (Some("foo1.c"), Some("main"), None)),
            ("main 8", (None, Some("main"), Some(8))),
            ("foo1.c 8", (Some("foo1.c"), None, Some(8))),
            ("main", (None, Some("main"), None)),
            ("Makefile main 3", (Some("Makefile"), Some("main"), Some(3))),
            ("? ? 0", (None, None, None)),
            ("a.c f(int, ns::x.y) 4", (Some("a.c"), Some("f(int, ns::x.y)"), Some(4))),
            ("8", (None, None, Some(8))),
        ];
        for (text, wanted) in shapes {
            assert_eq!(source(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn lines_of_a_history() {
        for text in ["0x10#3 --> 0x8#0", "10#3 → 8#0", " 0X10#3-->0x8#0", "0x10#3 -> 0x8#0"] {
            let wanted =
                [(16, 3), (8, 0)].map(|(address, instance)| Execution { address, instance });
            assert_eq!(history_line(text), Some(wanted), "{text:?}");
        }
        for text in [
            "0x10#3",
            "0x10 --> 0x8",
            "0x10# --> 0x8#0",
            "#3 --> 0x8#0",
            "0x10#-1 --> 0x8#0",
            "0x1g#1 --> 0x8#0",
        ] {
            assert_eq!(history_line(text), None, "{text:?}");
        }
    }
}
