//! Register dumps: where the registers stand in them, and what changed from one to the next.

use crate::event::{Isa, RegSpan};
use crate::registers::{Registers, registers};
use crate::trace::number::hex_digits;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Bytes of a dump that are compared at a time.
const WORD: usize = 16;
/// Bytes that are enough to know the line that begins a dump.
const BEGINNING: usize = 32;

/// Instruction set of a log by the line that begins a dump.
pub fn dump_isa(line: &[u8]) -> Option<Isa> {
    match line {
        [b'R', b'0', b'0', b'=', ..] => Some(Isa::Arm),
        [b' ', b'P', b'C', b'=', ..] => Some(Isa::Aarch64),
        [b'R', b'A', b'X', b'=', ..] => Some(Isa::X86_64),
        [b'E', b'A', b'X', b'=', ..] => Some(Isa::X86),
        [b' ', b'p', b'c', b' ', b' ', b' ', rest @ ..] => {
            // What follows the first value may be the next line.
            let digits =
                rest.trim_ascii_start().iter().take_while(|b| b.is_ascii_hexdigit()).count();
            Some(if digits > 8 { Isa::Riscv64 } else { Isa::Riscv32 })
        }
        _ => None,
    }
}

/// Whether a dump begins here.
#[inline]
pub fn begins(text: &[u8]) -> bool {
    dump_isa(&text[..text.len().min(BEGINNING)]).is_some()
}

/// A register's digits in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    /// Line of the dump, from 0.
    line: usize,
    start: usize,
    length: usize,
    span: RegSpan,
}

/// Layout of a dump, and what the last one with it said.
#[derive(Clone, Default)]
pub struct Template {
    /// The last dump.
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// What the fields say.
    values: Vec<u64>,
    /// Per byte: index + 1 of its field, 0 for what is no register.
    owner: Vec<u16>,
    /// Offsets of line ends.
    ends: Vec<usize>,
    /// The status register is an ARM M-profile processor's.
    m_profile: bool,
}

impl Template {
    /// The layout of a dump up to the line of its last register: lines behind it are skipped,
    /// whatever they say.
    pub fn learn(dump: &[u8], isa: Isa) -> Template {
        let file = registers(isa);
        let mut template = Template::default();
        let mut start = 0;
        for (number, line) in dump.split_inclusive(|&b| b == b'\n').enumerate() {
            let found = match isa {
                Isa::Riscv32 | Isa::Riscv64 => words(line),
                _ => equations(line),
            };
            for (name, at, length) in found {
                let Some(span) = register(file, name) else { continue };
                template.m_profile |= name == b"XPSR";
                template.fields.push(Field { line: number, start: start + at, length, span });
            }
            start += line.len();
            if line.ends_with(b"\n") {
                template.ends.push(start - 1);
            }
        }
        let used = template.fields.last().map_or(0, |f| f.start + f.length);
        template.ends.truncate(template.ends.partition_point(|&end| end < used) + 1);
        let length = template.ends.last().filter(|&&e| e >= used).map_or(dump.len(), |&e| e + 1);
        template.bytes = dump[..length].to_vec();
        template.owner = vec![0; length];
        for (number, field) in (1..).zip(&template.fields) {
            template.owner[field.start..field.start + field.length].fill(number);
        }
        let value = |f: &Field| hex_digits(&dump[f.start..f.start + f.length]).unwrap_or(0);
        template.values = template.fields.iter().map(value).collect();
        template
    }

    /// Whether both have the same registers in the same lines with as many digits: then only what
    /// is beside them differs.
    pub fn agrees(&self, other: &Template) -> bool {
        let shape = |f: &Field| (f.line, f.span, f.length);
        self.fields.iter().map(shape).eq(other.fields.iter().map(shape))
    }

    /// Bytes of a dump.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the lines of a dump of this layout begin and end at the start of `text`.
    #[inline]
    pub fn fits(&self, text: &[u8]) -> bool {
        let length = self.bytes.len();
        length > 0 && text.len() >= length && self.ends.iter().all(|&end| text[end] == b'\n')
    }

    /// Number of the field that holds a register.
    pub fn field(&self, span: Option<RegSpan>) -> Option<usize> {
        self.fields.iter().position(|field| Some(field.span) == span)
    }

    pub fn value(&self, field: Option<usize>) -> Option<u64> {
        self.values.get(field?).copied()
    }

    /// What a field says in another dump of this layout.
    pub fn peek(&self, field: Option<usize>, dump: &[u8]) -> Option<u64> {
        let field = self.fields.get(field?)?;
        hex_digits(dump.get(field.start..field.start + field.length)?)
    }

    /// What another line of the dump says, a word and a number: RISC-V's control registers, AArch64's status.
    pub fn beside(&self, name: &[u8]) -> Option<u64> {
        let at = memchr::memmem::find(&self.bytes, name)? + name.len();
        let rest = self.bytes[at..].trim_ascii_start();
        let end = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        hex_digits(&rest[..end])
    }

    /// Its registers have 64 bits.
    pub fn is_wide(&self) -> bool {
        self.fields.first().is_some_and(|field| field.length > 8)
    }

    /// What all fields say, as a hash.
    pub fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.values.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the status register is that of ARM's M profile.
    pub fn is_m_profile(&self) -> bool {
        self.m_profile
    }

    /// Whether ARM's status register, in the field `psr`, says Thumb: its T bit, which processors
    /// of the M profile (`XPSR`) have in another place.
    pub fn thumb(&self, psr: Option<usize>) -> bool {
        let bit = if self.m_profile { 1 << 24 } else { 1 << 5 };
        self.value(psr).is_some_and(|psr| psr & bit != 0)
    }

    /// All registers and their values.
    pub fn registers(&self) -> impl Iterator<Item = (RegSpan, u64)> {
        self.fields.iter().map(|field| field.span).zip(self.values.iter().copied())
    }

    /// Parses the fields that differ from the dump before; false if one of them is no number, which
    /// keeps its value from before.
    #[inline]
    pub fn changes(&mut self, dump: &[u8], changed: &mut Vec<(RegSpan, u64)>) -> bool {
        let mut good = true;
        let Template { bytes, fields, values, owner, .. } = self;
        let mut done = 0;
        for (at, word) in (0..).step_by(WORD).zip(dump[..bytes.len()].chunks(WORD)) {
            let end = at + word.len();
            let mut differs = as_number(word) ^ as_number(&bytes[at..end]);
            while differs != 0 {
                let i = at + differs.trailing_zeros() as usize / 8;
                let after = match owner[i] {
                    0 => {
                        bytes[i] = dump[i];
                        i + 1
                    }
                    number => {
                        let index = usize::from(number) - 1;
                        let field = fields[index];
                        let after = field.start + field.length;
                        // A field that is no number is met again in the next word.
                        if number != done {
                            let digits = &dump[field.start..after];
                            match hex_digits(digits) {
                                Some(value) => {
                                    changed.push((field.span, value));
                                    values[index] = value;
                                    bytes[field.start..after].copy_from_slice(digits);
                                }
                                None => good = false,
                            }
                        }
                        done = number;
                        after
                    }
                };
                // What lies before `after` is dealt with.
                let dealt_with = u32::try_from(8 * (after - at)).unwrap_or(u32::MAX);
                differs &= u128::MAX.checked_shl(dealt_with).unwrap_or(0);
            }
        }
        good
    }

    /// Goes over to a dump of another layout, which [`Template::agrees`]; all registers have
    /// changed if there was none.
    pub fn replace(&mut self, other: Template, changed: &mut Vec<(RegSpan, u64)>) {
        let before = self.values.iter().copied().map(Some).chain(std::iter::repeat(None));
        let differ = other.registers().zip(before).filter(|(now, before)| Some(now.1) != *before);
        changed.extend(differ.map(|(now, _)| now));
        *self = other;
    }
}

/// The bytes of a word as a number, for comparing.
#[inline]
fn as_number(word: &[u8]) -> u128 {
    word.try_into().map_or_else(
        |_| {
            let mut whole = [0; WORD];
            whole[..word.len()].copy_from_slice(word);
            u128::from_le_bytes(whole)
        },
        u128::from_le_bytes,
    )
}

/// Register of up to 8 bytes by its name in a dump.
fn register(file: &Registers, name: &[u8]) -> Option<RegSpan> {
    let name = String::from_utf8_lossy(name);
    // What is behind x86's segments (control registers, lazy flags) varies in length and is no
    // data.
    if name.starts_with("CR") || name.starts_with("DR") {
        return None;
    }
    // `R07`, `X07`, `s07`
    let short = match name.as_bytes() {
        // Flags and IT bits stand where those of the other profiles do.
        b"XPSR" => "cpsr".to_owned(),
        [letter, b'0', digit] => format!("{}{}", *letter as char, *digit as char),
        _ => name.into_owned(),
    };
    file.lookup(&short).filter(|span| span.size <= 8)
}

/// (name, offset of the value, its length) of ` x1/ra    0000` and ` pc       0000`.
fn words(line: &[u8]) -> Vec<(&[u8], usize, usize)> {
    let offset = |word: &[u8]| word.as_ptr().addr() - line.as_ptr().addr();
    let words: Vec<&[u8]> =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let name = |word: &'_ [u8]| word.iter().position(|&b| b == b'/').unwrap_or(word.len());
    words
        .chunks_exact(2)
        .filter(|pair| hex_digits(pair[1]).is_some())
        .map(|pair| (&pair[0][..name(pair[0])], offset(pair[1]), pair[1].len()))
        .collect()
}

/// (name, offset of the value, its length) of `R00=00000000`, `FS =0000 base limit flags`.
fn equations(line: &[u8]) -> Vec<(&[u8], usize, usize)> {
    let mut found = Vec::new();
    for equals in memchr::memchr_iter(b'=', line) {
        let before = line[..equals].trim_ascii_end();
        let letters = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let name = &before[before.iter().rposition(|b| !letters(b)).map_or(0, |i| i + 1)..];
        let mut start = equals + 1;
        let name = match name {
            b"FS" | b"GS" => {
                // Behind the selector.
                let selector = line[start..].iter().position(|&b| b == b' ');
                start += selector.map_or(line.len() - start, |blank| blank + 1);
                if name == b"FS" { &b"fs_base"[..] } else { &b"gs_base"[..] }
            }
            other => other,
        };
        let length = line[start..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        // Damaged digits would make a shorter field, and wrong values from then on.
        let whole = line.get(start + length).is_none_or(u8::is_ascii_whitespace);
        if whole && (8..=16).contains(&length) {
            found.push((name, start, length));
        }
    }
    found
}
