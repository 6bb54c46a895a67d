//! The parts of a line.

use crate::event::{LoggedAccess, RegUse};
use crate::trace::number::{hex, number, without_prefix};

/// A step's line before its items are looked at.
pub struct Parsed<'a> {
    pub time: u64,
    pub cpu: Option<u32>,
    pub pc: u64,
    /// Digits, or `-` for none.
    pub opcode: &'a [u8],
    pub text: &'a [u8],
    /// The items.
    pub rest: &'a [u8],
}

/// The first word and what follows it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

impl<'a> Parsed<'a> {
    pub fn parse(line: &'a [u8]) -> Option<Parsed<'a>> {
        let (time, rest) = word(line);
        let time = number(time)?;
        let (mut pc, mut rest) = word(rest);
        let mut cpu = None;
        if let Some(digits) = pc.strip_prefix(b"cpu") {
            // `cpu0`, `cpu=0`, `cpu 0`
            let mut digits = digits.strip_prefix(b"=").unwrap_or(digits);
            if digits.is_empty() {
                (digits, rest) = word(rest);
            }
            cpu = Some(u32::try_from(number(digits)?).ok()?);
            (pc, rest) = word(rest);
        }
        let pc = hex(pc)?;
        let (opcode, rest) = word(rest);
        if opcode != b"-" {
            opcode.iter().all(u8::is_ascii_hexdigit).then_some(())?;
            (!opcode.is_empty() && opcode.len() <= 30).then_some(())?;
        }
        let quoted = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', quoted)?;
        let rest = &quoted[end + 1..];
        rest.first().is_none_or(u8::is_ascii_whitespace).then_some(())?;
        Some(Parsed { time, cpu, pc, opcode, text: &quoted[..end], rest })
    }
}

#[derive(Clone, Copy)]
pub enum Item<'a> {
    Register { name: &'a [u8], value: &'a [u8], usage: Option<RegUse> },
    Access(LoggedAccess),
    Skipped,
    Executed,
}

/// The items behind the disassembly; gives `None` for what is none and ends there.
pub struct Items<'a>(pub &'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Option<Item<'a>>;
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0 = self.0.trim_ascii_start();
        if self.0.is_empty() {
            return None;
        }
        let item = if self.0[0] == b'[' { self.bracket() } else { self.register() };
        if item.is_none() {
            self.0 = &[];
        }
        Some(item)
    }
}

impl<'a> Items<'a> {
    /// Takes a register if it begins with `text`, its name and value, and gives its flags.
    #[inline]
    pub fn again(&mut self, text: &[u8]) -> Option<Option<RegUse>> {
        let rest = self.0.trim_ascii_start().strip_prefix(text)?;
        let (flags, rest) = match rest.first() {
            None | Some(b' ') => (&rest[..0], rest),
            Some(b'[') => word(rest),
            Some(_) => return None,
        };
        let usage = usage(flags)?;
        self.0 = rest;
        Some(usage)
    }

    fn bracket(&mut self) -> Option<Item<'a>> {
        let end = memchr::memchr(b']', self.0)?;
        let (inner, rest) = (&self.0[1..end], &self.0[end + 1..]);
        self.0 = rest;
        rest.first().is_none_or(|b| b.is_ascii_whitespace() || *b == b'[').then_some(())?;
        if inner == b"skipped" {
            return Some(Item::Skipped);
        }
        if inner == b"executed" {
            return Some(Item::Executed);
        }
        let inner = inner.strip_prefix(b"M:")?;
        let (kind, rest) = word(inner);
        let is_write = match kind {
            b"R" => false,
            b"W" => true,
            _ => return None,
        };
        let (address, rest) = word(rest);
        let (size, rest) = word(rest);
        let (value, rest) = word(rest);
        rest.is_empty().then_some(())?;
        let size = u32::try_from(number(size)?).ok().filter(|s| (1..=4096).contains(s))?;
        // A value wider than 8 bytes is left out, one that is no number is an error.
        let digits = without_prefix(value);
        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        let value = if size <= 8 && !value.is_empty() { Some(hex(value)?) } else { None };
        Some(Item::Access(LoggedAccess { address: hex(address)?, size, is_write, value }))
    }

    fn register(&mut self) -> Option<Item<'a>> {
        let (text, rest) = word(self.0);
        self.0 = rest;
        let equals = memchr::memchr(b'=', text)?;
        let (name, value) = (&text[..equals], &text[equals + 1..]);
        let (value, usage) = match memchr::memchr(b'[', value) {
            None => (value, None),
            Some(open) => (&value[..open], usage(&value[open..])?),
        };
        let digits = without_prefix(value);
        let good = !name.is_empty() && name.len() <= 32 && (1..=128).contains(&digits.len());
        (good && digits.iter().all(u8::is_ascii_hexdigit)).then_some(Item::Register {
            name,
            value,
            usage,
        })
    }
}

/// What flags say; the outer `None`: they are none.
fn usage(flags: &[u8]) -> Option<Option<RegUse>> {
    Some(match flags {
        b"[R]" => Some(RegUse::Read),
        b"[W]" => Some(RegUse::Write),
        b"[RW]" => Some(RegUse::ReadWrite),
        b"" | b"[]" | b"[-]" => None,
        _ => return None,
    })
}
