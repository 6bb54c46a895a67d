//! What system calls read and write, by the rules that the recorder for QEMU has (recorders/stream/system_calls.def), as far as
//! a log tells: its memory is what the last stores have left there.

use super::stores::Stores;
use crate::event::Isa;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../../recorders/stream/system_calls.def");

/// Buffers of a call at most.
const MOST_BUFFERS: u64 = 1 << 10;
/// Bytes of a text at most.
const MOST_TEXT: u64 = 1 << 12;
const EINTR: u64 = 4;

/// Instruction sets by the columns of the table; AArch64 and RISC-V of 64 bits have one.
fn column(isa: Isa) -> usize {
    match isa {
        Isa::X86_64 => 0,
        Isa::X86 => 1,
        Isa::Arm => 2,
        Isa::Aarch64 | Isa::Riscv64 => 3,
        Isa::Riscv32 => 4,
    }
}

/// A call by its numbers, if it has one in the column.
struct Call {
    numbers: [Option<u64>; 5],
    rule: &'static str,
}

/// What holds where an argument has a value.
struct Case {
    argument: usize,
    mask: u64,
    value: u64,
    rule: &'static str,
}

#[derive(Default)]
struct Table {
    calls: FxHashMap<&'static str, Vec<Call>>,
    cases: FxHashMap<&'static str, Vec<Case>>,
    types: FxHashMap<&'static str, [&'static str; 5]>,
}

static RULES: LazyLock<Table> = LazyLock::new(|| Table::new(TABLE));

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap_or_default(),
        None => text.parse().unwrap_or_default(),
    }
}

impl Table {
    fn new(text: &'static str) -> Table {
        let mut table = Table::default();
        for line in text.lines() {
            let Some((kind, fields)) = line.split_once('(') else { continue };
            let Some((fields, _)) = fields.rsplit_once("\")") else { continue };
            let of: Vec<&str> =
                fields.split(", ").map(|field| field.trim_matches('"').trim()).collect();
            match (kind, of.as_slice()) {
                ("CALL", [name, numbers @ .., rule]) => {
                    let numbers =
                        std::array::from_fn(|i| numbers.get(i).and_then(|n| n.parse().ok()));
                    table.calls.entry(name).or_default().push(Call { numbers, rule });
                }
                ("WHEN", [name, argument, mask, value, rule]) => {
                    let argument = number(argument) as usize;
                    let (mask, value) = (number(mask), number(value));
                    table.cases.entry(name).or_default().push(Case { argument, mask, value, rule });
                }
                ("TYPE", [name, bytes @ ..]) => {
                    let bytes = std::array::from_fn(|i| bytes.get(i).copied().unwrap_or("0"));
                    table.types.insert(name, bytes);
                }
                _ => (),
            }
        }
        table
    }
}

/// A range that the kernel read or wrote (true), and whether it is a structure.
pub type Range = (bool, u64, u64, bool);

/// A call that has returned.
pub struct Returned<'a> {
    pub isa: Isa,
    pub name: &'a str,
    pub arguments: [Option<u64>; 6],
    /// Else it has failed with the error.
    pub result: Result<u64, u64>,
    pub stores: &'a Stores,
    /// It was made by a proxy, which is told the length of each text behind it.
    pub proxied: bool,
}

/// When a word of a rule holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Read,
    Written,
}

impl Returned<'_> {
    /// What it read and wrote; and whether these are all that it did.
    pub fn accesses(&self) -> (Vec<Range>, bool) {
        let table = &*RULES;
        let column = column(self.isa);
        let of_isa = |call: &&Call| call.numbers[column].is_some();
        let Some(call) = table.calls.get(self.name).and_then(|calls| calls.iter().find(of_isa))
        else {
            return (Vec::new(), self.result.is_err());
        };
        let mut rules = vec![call.rule];
        for case in table.cases.get(self.name).into_iter().flatten() {
            match self.arguments[case.argument] {
                Some(argument) if argument & case.mask == case.value => rules.push(case.rule),
                _ => (),
            }
        }
        let is_open = call.rule.starts_with('~') && rules.len() == 1;
        let mut ranges = Vec::new();
        let mut known = match call.rule.as_bytes().first() {
            Some(b'~') if self.name == "ioctl" && is_open => self.request(&mut ranges),
            Some(b'~') => !is_open,
            // Arguments in memory; what `clone` writes.
            Some(b'D' | b'c') => self.name == "mmap",
            _ => self.name != "clone3",
        };
        for phase in [Phase::Read, Phase::Written] {
            for rule in &rules {
                for word in rule.split_ascii_whitespace() {
                    known &= self.word(word, phase, rule, &mut ranges).is_some();
                }
            }
        }
        (ranges, known || self.result.is_err())
    }

    fn word_size(&self) -> u64 {
        if matches!(self.isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64) { 8 } else { 4 }
    }

    fn load(&self, address: u64) -> Option<u64> {
        self.stores.load(address, self.word_size())
    }

    /// An argument; behind texts a proxy has their lengths.
    fn argument(&self, n: usize, rule: &str) -> Option<u64> {
        let texts = |at: usize| rule.contains(&format!("r{at}=s"));
        let before = if self.proxied { (0..n).filter(|&at| texts(at)).count() } else { 0 };
        self.arguments.get(n + before).copied().flatten()
    }

    /// Bytes of a number, words or a structure at the beginning of a text, what of them is written, and what is behind.
    fn unit<'t>(&self, text: &'t str) -> Option<(u64, Option<&'static str>, &'t str)> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let count = text[..digits].parse().unwrap_or(1);
        let rest = &text[digits..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = rest.len() - rest.trim_start_matches(is_name).len();
        match &rest[..name] {
            "p" => Some((count * self.word_size(), None, &rest[1..])),
            "" if digits > 0 => Some((count, None, rest)),
            name => {
                let bytes = RULES.types.get(name)?[column(self.isa)];
                let rest = &rest[name.len()..];
                if !bytes.contains('+') {
                    return Some((number(bytes), None, rest));
                }
                let (from, size) = bytes.rsplit(',').next()?.split_once('+')?;
                Some((number(from) + number(size), Some(bytes), rest))
            }
        }
    }

    /// A request of `ioctl` that says how much it moves; false: it does not.
    fn request(&self, ranges: &mut Vec<Range>) -> bool {
        let [_, Some(request), Some(address), ..] = self.arguments else { return false };
        let bytes = request >> 16 & 0x3fff;
        let moves = |bit: u64| bytes > 0 && address > 0 && request >> bit & 1 == 1;
        if moves(30) {
            ranges.push((false, address, bytes, false));
        }
        if moves(31) && self.result.is_ok() {
            ranges.push((true, address, bytes, false));
        }
        bytes > 0 && request >> 30 & 3 != 0
    }

    /// What a word of a rule says; None: the log does not tell it.
    fn word(&self, word: &str, phase: Phase, rule: &str, ranges: &mut Vec<Range>) -> Option<()> {
        let result = self.result.unwrap_or(0);
        let (only, word) = match word.strip_prefix('?') {
            Some(word) => (true, word),
            None => (false, word),
        };
        let Some((what, size)) = word.split_once('=') else { return Some(()) };
        let (what, at) = what.split_at_checked(1)?;
        let holds = match (what, self.result) {
            ("r", _) | ("R", Ok(_)) => phase == Phase::Read,
            ("w" | "W", Ok(_)) => phase == Phase::Written && !(only && result == 0),
            ("t", Ok(_)) => phase == Phase::Written,
            ("i", Err(error)) => phase == Phase::Written && error == EINTR,
            _ => false,
        };
        if !holds {
            return Some(());
        }
        let is_write = !matches!(what, "r" | "R");
        let structure = !matches!(what, "R" | "W") && self.name != "ioctl";
        let at: usize = at.parse().ok()?;
        let address = self.argument(at, rule)?;
        if address == 0 {
            return Some(());
        }
        let mut tell = |address: u64, bytes: u64| {
            if bytes > 0 {
                ranges.push((is_write, address, bytes, structure));
            }
        };
        let (kind, rest) = size.split_at_checked(1)?;
        let of = rest.get(..1).and_then(|digit| digit.parse::<usize>().ok());
        let of = of.map(|n| self.argument(n, rule));
        let narrow = |n: u64| if self.word_size() == 4 { n & 0xffff_ffff } else { n };
        // Structures have names that begin with these letters, too.
        let counted = of.is_some() && rest.len() == 1;
        match kind {
            "#" | "$" => {
                let count = match (kind, of) {
                    ("#", of) => narrow(of??),
                    (_, Some(of)) => result.min(of?),
                    _ => result,
                };
                let rest = if of.is_some() { &rest[1..] } else { rest };
                let (each, parts) = match rest.strip_prefix('*') {
                    Some(unit) => self.unit(unit).map(|(bytes, parts, _)| (bytes, parts))?,
                    None => (1, None),
                };
                let more = if rest == "+p" { self.word_size() } else { 0 };
                match parts.filter(|_| is_write) {
                    Some(parts) => (0..count.min(MOST_BUFFERS))
                        .for_each(|i| each_part(parts, address + i * each, &mut tell)),
                    None => tell(address, count.checked_mul(each)?.checked_add(more)?),
                }
            }
            "s" | "z" if rest.is_empty() => match self.arguments.get(at + 1).copied().flatten() {
                Some(bytes) if self.proxied => tell(address, bytes.min(MOST_TEXT)),
                // A text is mostly a constant that no store tells: its first byte is read for certain.
                _ => {
                    let known = |&i: &u64| {
                        i == 0 || self.stores.load(address + i - 1, 1).is_some_and(|byte| byte != 0)
                    };
                    tell(address, (0..MOST_TEXT).take_while(known).count() as u64);
                }
            },
            // What was there before and what is there now is not in a log.
            "@" => {
                tell(of??, 4);
                return (!is_write).then_some(());
            }
            "v" if counted => {
                let mut left = result;
                for i in 0..of??.min(MOST_BUFFERS) {
                    let entry = address + 2 * self.word_size() * i;
                    let to = self.load(entry);
                    let bytes = self.load(entry + self.word_size()).map(|bytes| bytes.min(left));
                    let Some((to, bytes)) = to.zip(bytes).filter(|_| left > 0) else { break };
                    left -= bytes;
                    tell(to, bytes);
                }
                return (left == 0).then_some(());
            }
            "f" if counted => {
                let bits = 8 * self.word_size();
                tell(address, (of?? & 0xffff_ffff).div_ceil(bits) * self.word_size());
            }
            "b" if counted => tell(address, of??.div_ceil(8 * self.word_size()) * self.word_size()),
            "g" if counted => tell(address, of??.div_ceil(4096)),
            "r" if counted => {
                (0..of??.min(MOST_BUFFERS)).for_each(|i| tell(address + 8 * i + 6, 2));
            }
            "k" if rest.is_empty() => {
                tell(address, 2 * self.word_size());
                tell(self.load(address)?, self.load(address + self.word_size())?);
            }
            // How long entries are is not told: all are one.
            "d" | "e" if rest.is_empty() => tell(address, result),
            "q" if rest.is_empty() => {
                let version = self.stores.load(self.argument(0, rule)?, 4)?;
                tell(address, if version == 0x1998_0330 { 12 } else { 24 });
            }
            _ => match self.unit(size)? {
                // Whether a time was given is told by the stores, mostly.
                (bytes, ..) if what == "t" => {
                    let given = (0..bytes / self.word_size())
                        .map(|i| self.load(address + i * self.word_size()));
                    if given.sum::<Option<u64>>() != Some(0) {
                        tell(address, bytes);
                    }
                }
                (_, Some(parts), _) if is_write => each_part(parts, address, &mut tell),
                (bytes, ..) => tell(address, bytes),
            },
        }
        Some(())
    }
}

/// The parts of a structure that are written.
fn each_part(parts: &str, address: u64, tell: &mut impl FnMut(u64, u64)) {
    for (from, bytes) in parts.split(',').filter_map(|part| part.split_once('+')) {
        tell(address + number(from), number(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::stream::call_name;

    /// The numbers of the table are those of the instruction sets.
    #[test]
    fn numbers_are_those_of_the_instruction_sets() {
        let isas = [Isa::X86_64, Isa::X86, Isa::Arm, Isa::Aarch64, Isa::Riscv64, Isa::Riscv32];
        let mut seen = 0;
        for (&name, calls) in &RULES.calls {
            for (isa, call) in
                isas.iter().flat_map(|isa| calls.iter().map(move |call| (*isa, call)))
            {
                let Some(number) = call.numbers[column(isa)] else { continue };
                // Some names are of one of the two that share a column.
                match call_name(isa, number) {
                    None => assert!(matches!(isa, Isa::Aarch64 | Isa::Riscv64), "{name} {number}"),
                    // AArch64 and RISC-V have two names for this one.
                    Some(found) => {
                        assert_eq!(found.trim_start_matches("new"), name.trim_start_matches("new"));
                    }
                }
                seen += 1;
            }
        }
        assert!(seen > 1500, "{seen}");
    }

    /// Each word of each rule is one that is understood.
    #[test]
    fn rules_are_understood() {
        let rules =
            RULES.calls.iter().flat_map(|(name, calls)| calls.iter().map(|c| (*name, c.rule)));
        let cases =
            RULES.cases.iter().flat_map(|(name, cases)| cases.iter().map(|c| (*name, c.rule)));
        for (name, rule) in rules.chain(cases) {
            assert!(RULES.calls.contains_key(name), "{name} is no call");
            for word in rule.split_ascii_whitespace().filter(|word| word.contains('=')) {
                let (what, size) = word.trim_start_matches('?').split_once('=').expect("two parts");
                assert!("rRwWti".contains(&what[..1]) && what.len() == 2, "{name}: {word}");
                assert!(matches!(what.as_bytes()[1], b'0'..=b'5'), "{name}: {word}");
                let special = size.starts_with(['#', '$'])
                    || size.len() <= 2 && "szaomkdeqhnjxvnfrbgu@".contains(&size[..1]);
                for isa in [Isa::X86_64, Isa::X86, Isa::Arm, Isa::Riscv64, Isa::Riscv32] {
                    let call = Returned {
                        isa,
                        name,
                        arguments: [Some(0x1000); 6],
                        result: Ok(1),
                        stores: &Stores::default(),
                        proxied: false,
                    };
                    let unit = size.split_once('*').map_or(size, |(_, unit)| unit);
                    let rest = call.unit(unit).map(|(.., rest)| rest);
                    assert!(special && !size.contains('*') || rest == Some(""), "{name}: {word}");
                    // What no memory is needed for is told.
                    let mut ranges = Vec::new();
                    for phase in [Phase::Read, Phase::Written] {
                        let told = call.word(word, phase, rule, &mut ranges);
                        assert!(special || told.is_some(), "{name}: {word}");
                    }
                    assert!(
                        special || what.starts_with('i') || !ranges.is_empty(),
                        "{name}: {word}"
                    );
                }
            }
        }
    }
}
