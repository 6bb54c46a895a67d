//! What a line of a Tarmac trace is. Lines are parsed without knowledge of those before.
//!
//! Source: the dialects that Arm's tarmac-trace-utilities reads (Tarmac Text Revisions 1 to 3).

use crate::event::Isa;
use crate::trace::number::{decimal_front, hex_digits, hex_front};

/// Units of time.
const UNITS: [&[u8]; 10] =
    [b"clk", b"ns", b"cs", b"cyc", b"tic", b"ps", b"us", b"ms", b"fs", b"\xc2\xb5s"];
/// First words of lines that say nothing of a program's data.
const QUIET: [&[u8]; 6] = [b"BR", b"CADI", b"P", b"CACHE", b"TTW", b"Tarmac"];
/// Bytes of a line of bytes.
pub const BYTES: usize = 16;

/// The instruction set of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    A32,
    T32,
    A64,
}

impl State {
    fn parse(word: &[u8]) -> Option<State> {
        Some(match word {
            b"A" | b"A32" => State::A32,
            b"T" | b"T16" | b"T32" => State::T32,
            b"O" | b"A64" => State::A64,
            _ => return None,
        })
    }

    pub fn isa(self) -> Isa {
        if self == State::A64 { Isa::Aarch64 } else { Isa::Arm }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub pc: u64,
    /// Digits; none where the fetch failed.
    pub opcode: &'a [u8],
    pub state: State,
    pub mode: &'a [u8],
    pub text: &'a [u8],
    pub failed: bool,
    /// Number by which lines name it.
    pub tag: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub is_write: bool,
    pub size: u32,
    pub address: u64,
    pub value: Option<u64>,
    pub aborted: bool,
    /// Address and number of the step that it names.
    pub of: Option<(u64, u64)>,
}

/// 16 bytes of which a step touched some.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// None: as the line before.
    pub is_write: Option<bool>,
    pub base: u64,
    /// By address: None if it was not touched, then None if its value is not known.
    pub bytes: [Option<Option<u8>>; BYTES],
}

#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    Step(Step<'a>),
    /// The name, and what is behind it.
    Register {
        name: &'a [u8],
        rest: &'a [u8],
    },
    Memory(Memory),
    Bytes(Bytes),
    Exception {
        number: Option<u32>,
        name: &'a [u8],
        /// It may say more of the line before.
        bare: bool,
    },
    /// A line that is known to say nothing of a program's data.
    Quiet,
}

#[derive(Clone, Copy, Debug)]
pub struct Parsed<'a> {
    pub time: Option<u64>,
    pub has_fraction: bool,
    pub cpu: Option<u32>,
    pub said: Said<'a>,
}

/// The words of a text.
#[derive(Clone, Copy)]
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_start();
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        self.0 = &text[end..];
        (end > 0).then(|| &text[..end])
    }
}

/// What stands between the digits of a time and the event of the last line: a unit, a CPU.
#[derive(Default)]
pub struct Prefix {
    bytes: Vec<u8>,
    cpu: Option<u32>,
}

impl Prefix {
    /// The prefix of what is behind a time's digits, if it says the unit: without one, what stands
    /// there depends on the event.
    fn of(text: &[u8]) -> Option<Prefix> {
        let mut words = Words(text);
        let blank = text.first().is_some_and(u8::is_ascii_whitespace);
        (blank && UNITS.contains(&words.next()?)).then_some(())?;
        let mut behind = words;
        let cpu = behind.next()?.strip_prefix(b"cpu");
        if let Some(number) = cpu {
            words = behind;
            let (value, _) = decimal_front(number);
            let cpu = Some(u32::try_from(value).ok()?);
            let bytes = Prefix::up_to(text, words);
            return Some(Prefix { bytes, cpu });
        }
        Some(Prefix { bytes: Prefix::up_to(text, words), cpu: None })
    }

    /// The text up to some of its words, and a blank.
    fn up_to(text: &[u8], rest: Words) -> Vec<u8> {
        let end = text.len() - rest.0.len();
        text[..text.len().min(end + 1)].to_vec()
    }
}

impl<'a> Parsed<'a> {
    /// [`Parsed::parse`] with the memory of one log: most lines have the unit and the CPU of the line
    /// before.
    #[inline]
    pub fn next(line: &'a [u8], scaled: bool, prefix: &mut Prefix) -> Option<Parsed<'a>> {
        let (time, length) = decimal_front(line);
        let known = !scaled && (1..=19).contains(&length) && !prefix.bytes.is_empty();
        if known && let Some(rest) = line[length..].strip_prefix(&prefix.bytes[..]) {
            let mut words = Words(rest);
            let word = words.next()?;
            if prefix.cpu.is_some() || !word.starts_with(b"cpu") {
                let said = said(word, words.0)?;
                return Some(Parsed {
                    time: Some(time),
                    has_fraction: false,
                    cpu: prefix.cpu,
                    said,
                });
            }
        }
        let parsed = Parsed::parse(line, scaled)?;
        *prefix = Prefix::of(&line[length..]).unwrap_or_default();
        Some(parsed)
    }

    /// `scaled`: times are told in thousandths of their unit.
    pub fn parse(line: &'a [u8], scaled: bool) -> Option<Parsed<'a>> {
        let mut words = Words(line);
        let mut word = words.next()?;
        let (mut time, mut has_fraction, mut cpu) = (None, false, None);
        if let Some((value, fraction, unit)) = time_of(word, scaled) {
            let glued = !unit.is_empty();
            let mut after = words;
            let next = after.next()?;
            let separate = !glued && UNITS.contains(&next);
            if glued || separate || is_event(next) {
                (time, has_fraction) = (Some(value), fraction);
                word = if separate { after.next()? } else { next };
                words = after;
            }
        }
        if let Some(number) = word.strip_prefix(b"cpu") {
            let (value, length) = decimal_front(number);
            (1..=10).contains(&length).then_some(())?;
            cpu = Some(u32::try_from(value).ok()?);
            word = words.next()?;
        }
        let said = said(word, words.0)?;
        Some(Parsed { time, has_fraction, cpu, said })
    }
}

/// A time: its value, whether it has a fraction, and what is glued to it.
fn time_of(word: &[u8], scaled: bool) -> Option<(u64, bool, &[u8])> {
    let (whole, length) = decimal_front(word);
    (1..=19).contains(&length).then_some(())?;
    let mut rest = &word[length..];
    let (mut thousandths, mut fraction) = (0, false);
    if let Some(digits) = rest.strip_prefix(b".") {
        let (_, places) = decimal_front(digits);
        fraction = true;
        let shown = digits[..places].iter().map(|digit| u64::from(digit - b'0'));
        thousandths = shown.chain([0; 3]).take(3).fold(0, |sum, digit| sum * 10 + digit);
        rest = &digits[places..];
    }
    (rest.is_empty() || UNITS.contains(&rest)).then_some(())?;
    let value = if scaled { whole.wrapping_mul(1000).wrapping_add(thousandths) } else { whole };
    Some((value, fraction, rest))
}

/// Words that may stand behind a time without unit.
fn is_event(word: &[u8]) -> bool {
    matches!(word, b"IT" | b"IS" | b"IF" | b"ES" | b"R" | b"LD" | b"ST" | b"E" | b"EXC")
        || word.strip_prefix(b"cpu").is_some_and(|n| n.first().is_some_and(u8::is_ascii_digit))
        || QUIET.contains(&word)
        || access_word(word).is_some()
}

fn said<'a>(word: &'a [u8], rest: &'a [u8]) -> Option<Said<'a>> {
    match word {
        b"IT" | b"IS" | b"IF" => fetched(rest, word == b"IS"),
        b"ES" => executed(rest),
        b"EXC" => exception(rest, true),
        b"E" => Some(core_event(rest)),
        b"R" => register(rest),
        b"LD" | b"ST" => bytes(Words(rest), Some(word == b"ST")),
        _ => match access_word(word) {
            Some(access) => memory(access, rest),
            None if QUIET.contains(&word) || word.starts_with(b"SIGNAL") => Some(Said::Quiet),
            None => {
                let (base, length) = hex_front(word);
                (length == word.len() && matches!(length, 8 | 16)).then_some(())?;
                let Said::Bytes(bytes) = bytes(Words(rest), None)? else { return None };
                Some(Said::Bytes(Bytes { base, ..bytes }))
            }
        },
    }
}

/// `(INSIDE)` off the front.
fn parenthesis(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start().strip_prefix(b"(")?;
    let end = memchr::memchr(b')', text)?;
    Some((text[..end].trim_ascii(), &text[end + 1..]))
}

/// An address, of which a physical one and others may stand behind.
#[inline]
fn address(word: &[u8]) -> Option<u64> {
    let (value, length) = hex_front(word);
    let ends = word.get(length).is_none_or(|b| matches!(b, b':' | b',' | b'_'));
    (ends && (1..=16).contains(&length)).then_some(value)
}

/// The mode and the text behind it, which a colon separates; without one there is no mode.
fn mode(rest: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', rest) {
        Some(colon) => (rest[..colon].trim_ascii(), rest[colon + 1..].trim_ascii()),
        None => (&[], rest.trim_ascii()),
    }
}

/// Behind `IT` or `IS`.
fn fetched(rest: &[u8], failed: bool) -> Option<Said<'_>> {
    let Some((inside, rest)) = parenthesis(rest) else { return without_number(rest, failed) };
    let mut words = Words(rest);
    let (first, second) = (words.next()?, words.next()?);
    let tag = inside.iter().position(|b| *b == b':');
    let (pc, opcode, state) = match State::parse(second) {
        Some(state) => (address(inside)?, first, state),
        None => {
            let word = words.next()?;
            let state = State::parse(word.strip_suffix(b":").unwrap_or(word))?;
            (address(first)?, second, state)
        }
    };
    hex_digits(opcode)?;
    let (mode, text) = mode(words.0);
    let tag = tag.and_then(|colon| hex_digits(&inside[colon + 1..]));
    Some(Said::Step(Step { pc, opcode, state, mode, text, failed, tag }))
}

/// `ADDRESS OPCODE [STATE] TEXT`: processors that have Thumb only may leave out the state (Cortex-M0).
fn without_number(rest: &[u8], failed: bool) -> Option<Said<'_>> {
    let mut words = Words(rest);
    let (pc, opcode) = (address(words.next()?)?, words.next()?);
    (matches!(opcode.len(), 4 | 8) && hex_digits(opcode).is_some()).then_some(())?;
    let mut behind = Words(words.0);
    let word = behind.next()?;
    let state = State::parse(word.strip_suffix(b":").unwrap_or(word));
    let (mode, text) = match state {
        Some(_) => mode(behind.0),
        None => (&b""[..], words.0.trim_ascii()),
    };
    let state = state.or_else(|| State::parse(b"T"))?;
    Some(Said::Step(Step { pc, opcode, state, mode, text, failed, tag: None }))
}

/// Behind `ES`.
fn executed(rest: &[u8]) -> Option<Said<'_>> {
    let rest = rest.trim_ascii();
    if rest.starts_with(b"EXC") {
        return exception(&rest[3..], false);
    }
    if rest.starts_with(b"Reset") {
        return Some(Said::Exception { number: None, name: rest, bare: false });
    }
    let (inside, rest) = parenthesis(rest)?;
    let colon = memchr::memchr(b':', inside)?;
    let (pc, opcode) = (hex_digits(&inside[..colon])?, &inside[colon + 1..]);
    let fetched = hex_digits(opcode).is_some();
    (fetched || opcode.iter().all(|b| *b == b'-')).then_some(())?;
    let mut words = Words(rest);
    let word = words.next()?;
    let state = State::parse(word.strip_suffix(b":").unwrap_or(word))?;
    let (mode, text) = mode(words.0);
    let (failed, text) = match text.strip_prefix(b"CCFAIL") {
        Some(text) => (true, text.trim_ascii_start()),
        None => (!fetched, text),
    };
    let opcode = if fetched { opcode } else { &[] };
    Some(Said::Step(Step { pc, opcode, state, mode, text, failed, tag: None }))
}

/// `[[NUMBER]] NAME`.
fn exception(rest: &[u8], bare: bool) -> Option<Said<'_>> {
    let rest = rest.trim_ascii();
    let (number, name) = match rest.strip_prefix(b"[") {
        None => (None, rest),
        Some(rest) => {
            let end = memchr::memchr(b']', rest)?;
            let number = crate::trace::number::number(&rest[..end])?;
            (u32::try_from(number).ok(), rest[end + 1..].trim_ascii())
        }
    };
    (!name.is_empty()).then_some(Said::Exception { number, name, bare })
}

/// `ADDRESS NUMBER CoreEvent_NAME`; other events are of debuggers.
fn core_event(rest: &[u8]) -> Said<'_> {
    let mut words = Words(rest);
    let number = words.nth(1).and_then(hex_digits).and_then(|n| u32::try_from(n).ok());
    match words.next() {
        Some(name) if name.starts_with(b"CoreEvent_") && number.is_some() => {
            Said::Exception { number, name, bare: false }
        }
        _ => Said::Quiet,
    }
}

/// Behind `R`.
fn register(rest: &[u8]) -> Option<Said<'_>> {
    let mut words = Words(rest);
    let name = words.next()?;
    // Operations on caches and translations are written like registers.
    if matches!(name, b"DC" | b"IC" | b"TLBI" | b"AT" | b"CFP" | b"DVP" | b"CPP") {
        return Some(Said::Quiet);
    }
    let rest = words.0;
    words.next()?;
    Some(Said::Register { name, rest })
}

/// How the value of an access is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Number,
    /// Its bytes as they lie in memory, of a little-endian processor.
    Memory,
    Unknown,
}

/// What the first word of an access says.
#[derive(Clone, Copy, Debug)]
struct AccessWord {
    is_write: bool,
    size: u32,
    order: Order,
    /// It is no access of the program's.
    quiet: bool,
}

/// Source: Tarmac Trace Utilities, `lib/parser.cpp`: words of eight characters are of the Cortex-M4's trace, those of its
/// data bus (`D`) with the bytes in memory order, those of its peripheral bus (`A`) in none that is known.
fn access_word(word: &[u8]) -> Option<AccessWord> {
    let letter = |b: &u8| matches!(b, b'R' | b'W');
    let at = match word {
        [b'M', rest @ ..] => 1 + rest.iter().take(2).position(letter)?,
        [b'R' | b'W', b'0'..=b'9', b'0'..=b'9'] => 0,
        _ => return None,
    };
    let (size, length) = decimal_front(&word[at + 1..]);
    let size = u32::try_from(size).ok().filter(|size| (1..=256).contains(size))?;
    let flags = &word[at + 1 + length..];
    ((1..=3).contains(&length) && flags.iter().all(|b| b.is_ascii_uppercase() || *b == b'_'))
        .then_some(())?;
    let order = match word {
        [_, _, _, _, _, _, _, b'D'] => Order::Memory,
        [_, _, _, _, _, _, _, b'A'] => Order::Unknown,
        _ => Order::Number,
    };
    Some(AccessWord { is_write: word[at] == b'W', size, order, quiet: flags.ends_with(b"I") })
}

fn memory(access: AccessWord, rest: &[u8]) -> Option<Said<'_>> {
    let AccessWord { is_write, size, order, quiet } = access;
    let mut words = Words(rest);
    let mut of = None;
    let mut word = words.next()?;
    if word == b"X" {
        word = words.next()?;
    }
    if word.starts_with(b"(") {
        let inside = word.strip_prefix(b"(")?.strip_suffix(b")")?;
        let colon = memchr::memchr(b':', inside)?;
        of = Some((hex_digits(&inside[..colon])?, hex_digits(&inside[colon + 1..])?));
        word = words.next()?;
    }
    // Data of coprocessors, and instructions that are fetched.
    if quiet || word == b"TRANSFER" {
        return Some(Said::Quiet);
    }
    let address = address(word)?;
    let (mut value, mut digits, mut aborted) = (Some(0u64), 0, false);
    // Nearly always the value is one number.
    let text = words.0.trim_ascii();
    let (number, length) = hex_front(text);
    if length == text.len() && length <= 16 {
        (value, digits, words) = (Some(number), length, Words(&[]));
    }
    for word in words {
        if word == b"(ABORTED)" {
            aborted = true;
            continue;
        }
        for &byte in word {
            match (byte as char).to_digit(16) {
                Some(digit) => {
                    value = value.map(|v| v << 4 | u64::from(digit));
                    digits += 1;
                }
                None if byte == b'_' => {}
                None if matches!(byte, b'x' | b'X' | b'-' | b'.' | b'#') => {
                    (value, digits) = (None, digits + 1);
                }
                None => return None,
            }
        }
    }
    let bits = 8 * size.min(8);
    let value = value.filter(|_| digits > 0 && size <= 8 && order != Order::Unknown);
    let value = value.map(|v| match order {
        Order::Memory => v.swap_bytes() >> (64 - bits),
        _ => v & u64::MAX >> (64 - bits),
    });
    (digits > 0 || aborted).then_some(())?;
    Some(Said::Memory(Memory { is_write, size, address, value, aborted, of }))
}

/// `[BASE] W3 W2 W1 W0`; without the base where `is_write` is not known, as that is the first word.
fn bytes<'a>(mut words: Words<'a>, is_write: Option<bool>) -> Option<Said<'a>> {
    let base = match is_write {
        Some(_) => hex_digits(words.next()?)?,
        None => 0,
    };
    let mut bytes = [None; BYTES];
    for place in (0..4).rev() {
        let word: &[u8; 8] = words.next()?.try_into().ok()?;
        for (i, pair) in word.chunks_exact(2).rev().enumerate() {
            bytes[place * 4 + i] = match pair {
                b".." => None,
                b"##" => Some(None),
                _ => Some(Some(u8::try_from(hex_digits(pair)?).ok()?)),
            };
        }
    }
    Some(Said::Bytes(Bytes { is_write, base, bytes }))
}
