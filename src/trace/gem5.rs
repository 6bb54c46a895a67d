//! gem5's `--debug-flags=Exec` with any of its flags: a line an instruction, or one for each of its
//! micro-operations, with the value that was written and the address of the access.
//!
//! Source: gem5, `src/cpu/exetrace.cc`.

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::{Line, Lines, each_line};
use super::number::{decimal_front, hex_digits, hex_front};
use super::open::{Decides, OpenSteps};
use super::problems::{FOREIGN_LINES, Kind, Problems, TOO_MANY_ACCESSES, excerpt, good_lines};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::{self, Names, Record, Steps, TOO_MANY_CPUS, pieces};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Isa, LoggedAccess, RegSpan};
use std::ops::Range;

/// CPUs at most; what is more is one that is not admitted.
const MOST_CPUS: usize = 1 << 12;
const NO_ADDRESS: Kind = (
    Severity::Error,
    "symbol-instead-of-address",
    "the step was left out; record without ExecSymbol, or with a newer gem5, which prints both",
);
const NOT_ADDRESSED: Kind = (
    Severity::Error,
    "access-without-address",
    "such accesses were left out; record with --debug-flags=Exec, which prints A=",
);
const UNPLACED: Kind = (
    Severity::Info,
    "value-without-register",
    "nothing is to be done: its register is not known any more",
);

pub struct Gem5;

impl Format for Gem5 {
    fn name(&self) -> &'static str {
        "gem5"
    }
    fn about(&self) -> &'static str {
        "gem5's --debug-flags=Exec: instructions, values written, addresses of accesses"
    }
    fn record(&self) -> &'static str {
        "gem5.opt --debug-flags=Exec --debug-file=app.log config.py ./app"
    }
    fn carries(&self) -> Carries {
        Carries { opcodes: false, thumb: false, written_values: true, ..record::all() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        good_lines(head, |line| Parsed::parse(line).is_some())
            && Lines::of(head)
                .filter_map(|line| Parsed::parse(line.text))
                .any(|parsed| parsed.class.is_some())
    }
    fn help(&self) -> &'static str {
        "TICK: CPU: [A0 ][T0 : ]0xPC[ @SYMBOL[+N]][. MICRO] : TEXT : CLASS : [D=0xVALUE] [A=0xADDRESS] [FetchSeq=N] [CPSeq=N] [flags=(...)]\n\
         Give the program with --elf: the log has no opcodes and does not tell its instruction set. D= is the value of the first\n\
         register of the text, or of what is stored; sizes of accesses come from the opcode. Micro-operations are one step with\n\
         the instruction that they are of. The log has simulated loads and stores only, so what a system call stores is not in it.\n\
         Old versions print the symbol instead of the address: such steps are left out, and counted."
    }
}

impl StepFormat for Gem5 {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let problems = Problems::new(input.locator());
        let told = Lines::of(input.head()).filter_map(|line| Parsed::parse(line.text));
        let (mut steps, mut values, mut addresses, mut moves) = (0, false, false, false);
        for parsed in told {
            steps += 1;
            values |= parsed.value.is_some();
            addresses |= parsed.address.is_some();
            moves |= parsed.class.is_some_and(accesses);
        }
        if steps == 0 {
            let remedy = format!("record with `{}`", self.record());
            return Err(problems.malformed(1, "no instruction in it", remedy));
        }
        let Some(isa) = context.isa else {
            let message = "the log does not tell its instruction set";
            return Err(problems.malformed(1, message, "give the program with --elf"));
        };
        let carries = Carries {
            // A program may begin with much that accesses nothing.
            accesses: addresses || !moves,
            registers: values,
            values,
            written_values: values,
            ..self.carries()
        };
        sink.begin(carries, None)?;
        let rows = Steps::new(isa, false, false, true).with_all_values(true);
        let mut reader = Reader {
            isa,
            names: Names::new(isa),
            has_addresses: addresses || !moves,
            steps: OpenSteps::new(rows),
            problems,
            memory: Memory::new(),
            cpus: Vec::new(),
            last: 0,
        };
        each_line(input, sink, |line, sink| reader.line(&line, sink))?;
        reader.finish(sink)
    }
}

#[derive(Clone, Copy, Debug)]
struct Parsed<'a> {
    tick: u64,
    cpu: &'a [u8],
    thread: u64,
    /// None: only its symbol.
    pc: Option<u64>,
    micro: Option<u64>,
    text: &'a [u8],
    /// None: the line announces micro-operations.
    class: Option<&'a [u8]>,
    failed: bool,
    value: Option<&'a [u8]>,
    /// The value as a number, if it is one of 64 bits.
    number: Option<u64>,
    address: Option<u64>,
}

impl<'a> Parsed<'a> {
    fn parse(line: &'a [u8]) -> Option<Parsed<'a>> {
        let (tick, length) = decimal_front(line);
        (1..=19).contains(&length).then_some(())?;
        let rest = line[length..].strip_prefix(b": ")?;
        let colon = memchr::memchr(b':', rest)?;
        let (cpu, mut rest) = (&rest[..colon], rest[colon + 1..].trim_ascii_start());
        (!cpu.is_empty() && !cpu.contains(&b' ')).then_some(())?;
        // The address space.
        if let [b'A', b'0'..=b'9', ..] = rest {
            let (_, length) = decimal_front(&rest[1..]);
            rest = rest[1 + length..].strip_prefix(b" ")?.trim_ascii_start();
        }
        let mut thread = 0;
        if let [b'T', b'0'..=b'9', ..] = rest {
            let (number, length) = decimal_front(&rest[1..]);
            thread = number;
            rest = rest[1 + length..].strip_prefix(b" : ")?.trim_ascii_start();
        }
        let (place, rest) = cut(rest)?;
        let (pc, micro) = Self::place(place)?;
        let (text, rest) = match cut(rest) {
            Some((text, rest)) => (text, Some(rest)),
            None => (rest, None),
        };
        let text = text.strip_suffix(b" :").unwrap_or(text);
        let mut parsed = Parsed {
            tick,
            cpu,
            thread,
            pc,
            micro,
            text: text.trim_ascii(),
            class: None,
            failed: false,
            value: None,
            number: None,
            address: None,
        };
        if let Some(rest) = rest {
            parsed.behind(rest)?;
        }
        Some(parsed)
    }

    /// `0xPC[ @SYMBOL][. MICRO]` or `@SYMBOL[. MICRO]`.
    fn place(place: &'a [u8]) -> Option<(Option<u64>, Option<u64>)> {
        let place = place.trim_ascii_end();
        let (place, micro) = match memchr::memrchr(b'.', place) {
            Some(dot) if place.get(dot + 1) == Some(&b' ') => {
                let digits = place[dot + 1..].trim_ascii();
                let (micro, length) = decimal_front(digits);
                (length == digits.len() && length > 0).then_some(())?;
                (&place[..dot], Some(micro))
            }
            _ => (place, None),
        };
        if place.starts_with(b"@") && place.len() > 1 {
            return Some((None, micro));
        }
        let digits = place.strip_prefix(b"0x")?;
        let end = memchr::memchr(b' ', digits).unwrap_or(digits.len());
        let symbol = digits[end..].trim_ascii();
        (symbol.is_empty() || symbol.starts_with(b"@")).then_some(())?;
        Some((Some(hex_digits(&digits[..end])?), micro))
    }

    /// `CLASS : ITEMS`, `CLASS :` or only items.
    fn behind(&mut self, rest: &'a [u8]) -> Option<()> {
        let (class, items) = match memchr::memchr(b':', rest) {
            Some(colon) => (rest[..colon].trim_ascii(), &rest[colon + 1..]),
            None => (rest.trim_ascii(), &[][..]),
        };
        class.iter().all(u8::is_ascii_alphanumeric).then_some(())?;
        self.class = Some(class);
        self.items(items)
    }

    fn items(&mut self, mut items: &'a [u8]) -> Option<()> {
        // The value and the address, which are first.
        loop {
            items = items.trim_ascii_start();
            let Some(digits) = items.strip_prefix(b"D=0x").or(items.strip_prefix(b"A=0x")) else {
                break;
            };
            let (value, length) = hex_front(digits);
            let ends = digits.get(length).is_none_or(u8::is_ascii_whitespace);
            if !ends || !(1..=16).contains(&length) {
                break;
            }
            if items[0] == b'D' {
                (self.value, self.number) = (Some(&items[2..4 + length]), Some(value));
            } else {
                self.address = Some(value);
            }
            items = &digits[length..];
        }
        let mut words = items.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        while let Some(word) = words.next() {
            if let Some(value) = word.strip_prefix(b"D=") {
                let digits = value.strip_prefix(b"0x");
                (self.value, self.number) = (Some(value), digits.and_then(hex_digits));
            } else if let Some(address) = word.strip_prefix(b"A=0x") {
                self.address = Some(hex_digits(address)?);
            } else if word == b"Predicated" {
                self.failed = words.next() == Some(b"False");
            }
        }
        Some(())
    }

    /// What stands before the items of a line, if it has items: it is the same each time that the
    /// instruction is executed.
    fn fixed(&self, line: &'a [u8]) -> Option<Range<usize>> {
        let place = |part: &[u8]| (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize);
        let start = place(self.cpu)? + self.cpu.len();
        let class = self.class?;
        let behind = place(class)? + class.len();
        let colon = memchr::memchr(b':', line.get(behind..)?)?;
        Some(start..behind + colon + 1)
    }
}

/// What stands between the CPU and the items of lines that were met, by a hash of its beginning.
struct Memory(Vec<Option<Remembered>>);

/// What one instruction, or micro-operation, has in all its lines.
struct Remembered {
    /// From behind the CPU up to the class and its colon.
    fixed: Box<[u8]>,
    thread: u64,
    pc: Option<u64>,
    micro: Option<u64>,
    /// Places in `fixed`.
    text: Range<usize>,
    class: Range<usize>,
    known: Known,
}

/// What the text of an instruction says.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The register that it writes.
    written: Option<RegSpan>,
    /// Its bytes, and by what it decides, if it is a conditional branch.
    branch: Option<(u64, Decides)>,
}

impl Memory {
    const SIZE: usize = 1 << 14;
    /// Bytes that tell nearly all instructions apart: the address is in them.
    const HASHED: usize = 24;

    fn new() -> Memory {
        Memory(std::iter::repeat_with(|| None).take(Memory::SIZE).collect())
    }

    #[inline]
    fn place(text: &[u8]) -> Option<usize> {
        let first: &[u8; Memory::HASHED] = text.first_chunk()?;
        let word = |at: usize| first[at..].first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
        let hash = [word(0), word(8), word(16)]
            .iter()
            .fold(0u64, |hash, w| (hash.rotate_left(5) ^ w).wrapping_mul(0x517c_c1b7_2722_0a95));
        Some((hash >> 40) as usize % Memory::SIZE)
    }

    /// The parts of a line whose instruction was met before.
    #[inline]
    fn parse<'a>(&self, line: &'a [u8]) -> Option<(Parsed<'a>, Known)> {
        let (tick, length) = decimal_front(line);
        (1..=19).contains(&length).then_some(())?;
        let rest = line[length..].strip_prefix(b": ")?;
        let (cpu, rest) = rest.split_at(memchr::memchr(b':', rest)?);
        let known = self.0[Memory::place(rest)?].as_ref()?;
        let items = rest.strip_prefix(&known.fixed[..])?;
        let mut parsed = Parsed {
            tick,
            cpu,
            thread: known.thread,
            pc: known.pc,
            micro: known.micro,
            text: &rest[known.text.clone()],
            class: Some(&rest[known.class.clone()]),
            failed: false,
            value: None,
            number: None,
            address: None,
        };
        parsed.items(items)?;
        let good = !cpu.is_empty() && !cpu.contains(&b' ');
        good.then_some((parsed, known.known))
    }

    /// Remembers what a line has.
    fn add(&mut self, line: &[u8], parsed: &Parsed, known: Known) -> Option<()> {
        let fixed = parsed.fixed(line)?;
        let text = line.get(fixed.start..)?;
        let within = |part: &[u8]| {
            let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            let end = start + part.len();
            (end <= fixed.len()).then_some(start..end)
        };
        let remembered = Remembered {
            thread: parsed.thread,
            pc: parsed.pc,
            micro: parsed.micro,
            text: within(parsed.text)?,
            class: within(parsed.class?)?,
            known,
            fixed: line[fixed].into(),
        };
        self.0[Memory::place(text)?] = Some(remembered);
        Some(())
    }
}

/// What is before the first ` : `, and what is behind it.
fn cut(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colons = memchr::memchr_iter(b':', text);
    let at = colons
        .into_iter()
        .find(|&at| at > 0 && text[at - 1] == b' ' && text.get(at + 1) == Some(&b' '))?;
    Some((&text[..at - 1], text[at + 2..].trim_ascii_start()))
}

struct Cpu {
    name: Vec<u8>,
    thread: u64,
    /// Number of its last micro-operation.
    micro: Option<u64>,
    /// See [`Known::branch`], of its open step.
    branch: Option<(u64, Decides)>,
}

struct Reader {
    isa: Isa,
    names: Names,
    /// The log has addresses of accesses.
    has_addresses: bool,
    steps: OpenSteps,
    problems: Problems,
    memory: Memory,
    /// CPUs and their threads, numbered in the order in which they appear.
    cpus: Vec<Cpu>,
    /// The CPU of the last line.
    last: usize,
}

impl Reader {
    fn line(&mut self, line: &Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let parsed = self.memory.parse(line.text).or_else(|| {
            let parsed = Parsed::parse(line.text)?;
            let name = written(parsed.text, self.isa);
            let written = name.and_then(|name| self.names.span(0, name).ok().flatten());
            let branch = conditional_branch(self.isa, parsed.text);
            let known = Known { written, branch };
            self.memory.add(line.text, &parsed, known);
            Some((parsed, known))
        });
        let Some((parsed, known)) = parsed.filter(|_| line.whole) else {
            // Other debug flags write into the same file.
            let of_gem5 = line.whole && is_other(line.text);
            if self.steps.count == 0 && line.whole || of_gem5 {
                self.problems.add_once(sink, FOREIGN_LINES, Place::Line(line.number), || {
                    format!("a line of something else: `{}`", excerpt(line.text))
                });
            } else {
                self.problems.line(sink, line, "no line of gem5's Exec");
            }
            return Ok(());
        };
        let Some(pc) = parsed.pc else {
            self.problems.add(sink, NO_ADDRESS, Place::Line(line.number), || {
                format!("`{}` has only a symbol", excerpt(line.text))
            });
            return Ok(());
        };
        let cpu = self.cpu(&parsed);
        if !self.steps.admits(cpu) {
            self.problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("`{}` is one too many; its lines were left out", excerpt(parsed.cpu))
            });
            return Ok(());
        }
        let before = std::mem::replace(&mut self.cpus[self.last].micro, parsed.micro);
        let goes_on = self.goes_on(cpu, pc, before, parsed.micro);
        if !goes_on {
            self.begin(cpu, pc, (&parsed, known), line, sink)?;
        }
        self.effects(cpu, &parsed, known, line, sink);
        Ok(())
    }

    /// The number of a line's CPU, which is the last one then.
    fn cpu(&mut self, parsed: &Parsed) -> u32 {
        let is = |cpu: &Cpu| cpu.thread == parsed.thread && cpu.name == parsed.cpu;
        if !self.cpus.get(self.last).is_some_and(is) {
            self.last = self.cpus.iter().position(is).unwrap_or(self.cpus.len());
            if self.last == self.cpus.len() && self.last <= MOST_CPUS {
                let name = parsed.cpu.to_vec();
                let thread = parsed.thread;
                self.cpus.push(Cpu { name, thread, micro: None, branch: None });
            }
            self.last = self.last.min(MOST_CPUS);
        }
        self.last as u32
    }

    /// Whether a line is of a micro-operation of the step that is open.
    fn goes_on(&mut self, cpu: u32, pc: u64, before: Option<u64>, micro: Option<u64>) -> bool {
        let Some(step) = self.steps.open(cpu).filter(|step| step.record.pc == pc) else {
            return false;
        };
        match (before, micro) {
            // The first one behind the line that announces it.
            (None, Some(_)) => !step.committed,
            (Some(before), Some(micro)) => micro > before,
            _ => false,
        }
    }

    fn begin(
        &mut self,
        cpu: u32,
        pc: u64,
        (parsed, known): (&Parsed, Known),
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let isa = self.isa;
        let before = std::mem::replace(&mut self.cpus[self.last].branch, known.branch);
        if let (Some(open), Some((size, decides))) = (self.steps.open(cpu), before) {
            open.taken(pc != open.record.pc.wrapping_add(size), decides);
        }
        let thumb = isa == Isa::Arm && pc & 1 != 0;
        let record = Record {
            line: line.number,
            time: parsed.tick,
            cpu,
            pc: if thumb { pc & !1 } else { pc },
            text: parsed.text,
            thumb,
            condition: if parsed.failed { Condition::Failed } else { Condition::Unknown },
            ..Record::default()
        };
        self.steps.begin(&record, sink)?;
        Ok(())
    }

    /// What an operation wrote and accessed.
    fn effects(
        &mut self,
        cpu: u32,
        parsed: &Parsed,
        known: Known,
        line: &Line,
        sink: &mut dyn Sink,
    ) {
        let Some(step) = self.steps.open(cpu) else { return };
        let Some(class) = parsed.class else { return };
        step.committed = true;
        let is_write = stores(class);
        if let Some(address) = parsed.address {
            let value = parsed.number.filter(|_| is_write);
            let access = LoggedAccess { address, size: 0, is_write, value };
            if !step.access(access) {
                self.problems.add(sink, TOO_MANY_ACCESSES, Place::Line(line.number), || {
                    "an instruction with more accesses than can be read".into()
                });
            }
        }
        if parsed.address.is_none() && !parsed.failed && self.has_addresses && accesses(class) {
            self.problems.add(sink, NOT_ADDRESSED, Place::Line(line.number), || {
                format!("an access without its address: `{}`", excerpt(line.text))
            });
        }
        let span = known.written;
        if is_write {
            return;
        }
        if let (Some(number), Some(span)) = (parsed.number, span)
            && (1..=8).contains(&span.size)
        {
            let mask = u64::MAX >> (64 - 8 * u32::from(span.size));
            step.lists.after.push((span, number & mask));
            return;
        }
        let vector = parsed.value.and_then(vector);
        let digits = parsed.value.and_then(|value| value.strip_prefix(b"0x"));
        let Some(digits) = vector.as_deref().or(digits) else { return };
        // A container may have room for longer vectors than the register is.
        let longest = |span: RegSpan| digits.len().saturating_sub(2 * usize::from(span.size));
        let from = |span| if vector.is_some() { longest(span) } else { 0 };
        if !span.is_some_and(|span| pieces(span, &digits[from(span)..], &mut step.lists.after)) {
            self.problems.add(sink, UNPLACED, Place::Line(line.number), || {
                format!(
                    "a value was written to no register of the program: `{}`",
                    excerpt(line.text)
                )
            });
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps.count == 0 {
            let remedy = "record without ExecSymbol, or with a newer gem5";
            return Err(self.problems.malformed(1, "no instruction with an address in it", remedy));
        }
        self.steps.finish(sink)
    }
}

/// `TICK: NAME: text`: a line of another debug flag.
fn is_other(line: &[u8]) -> bool {
    let (_, length) = decimal_front(line);
    length > 0
        && line[length..].strip_prefix(b": ").is_some_and(|rest| {
            let name = rest.iter().position(|b| *b == b':').unwrap_or(0);
            name > 0
                && !rest[..name].contains(&b' ')
                && memchr::memmem::find(rest, b" : ").is_none()
        })
}

/// The digits of `[04000000_05000000]`, whose bytes are in the order of memory, as a number.
fn vector(value: &[u8]) -> Option<Vec<u8>> {
    let inner = value.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let digits: Vec<u8> = inner.iter().copied().filter(|b| *b != b'_').collect();
    let good = digits.iter().all(u8::is_ascii_hexdigit) && digits.len().is_multiple_of(2);
    good.then(|| digits.rchunks(2).flatten().copied().collect())
}

/// The register that an instruction writes: the first one of its text, or the link register.
fn written(text: &[u8], isa: Isa) -> Option<&[u8]> {
    let mut words = text.split(|b| b.is_ascii_whitespace() || *b == b',').filter(|w| !w.is_empty());
    let mnemonic = words.next()?;
    if matches!(isa, Isa::Riscv32 | Isa::Riscv64) && matches!(mnemonic, b"c_jal" | b"c_jalr") {
        return Some(b"ra");
    }
    if matches!(isa, Isa::Arm | Isa::Aarch64) && matches!(mnemonic, b"bl" | b"blx" | b"blr") {
        return Some(b"lr");
    }
    let name = words.next()?;
    Some(name.strip_prefix(b"{").unwrap_or(name))
}

/// Whether operations of a class store: those of vectors have classes of their own (`SimdUnitStrideStore`).
fn stores(class: &[u8]) -> bool {
    class.ends_with(b"MemWrite") || class.windows(5).any(|word| word == b"Store")
}

/// Whether operations of a class load or store.
fn accesses(class: &[u8]) -> bool {
    stores(class) || class.ends_with(b"MemRead")
}

/// Bytes of an instruction, and by what it decides, if it is a conditional branch, by its text.
fn conditional_branch(isa: Isa, text: &[u8]) -> Option<(u64, Decides)> {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let mnemonic = &text[..end];
    let compares = |size| Some((size, Decides::Registers));
    match isa {
        Isa::Riscv32 | Isa::Riscv64 => match mnemonic {
            b"beq" | b"bne" | b"blt" | b"bge" | b"bltu" | b"bgeu" => compares(4),
            b"c_beqz" | b"c_bnez" => compares(2),
            _ => None,
        },
        Isa::Aarch64 => match mnemonic {
            b"cbz" | b"cbnz" | b"tbz" | b"tbnz" => compares(4),
            _ => mnemonic.starts_with(b"b.").then_some((4, Decides::Flags)),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::qemu::tests::{Collect, only};

    #[test]
    fn lines_with_any_flags() {
        for (line, pc, micro, class, address) in [
            (
                "1: system.cpu: T0 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :  D=0x7e90",
                Some(0x10434),
                None,
                Some("IntAlu"),
                None,
            ),
            (
                "1: system.cpu: A0 T0 : 0x10436 @main+2    : c_swsp ra, 60(sp)   : MemWrite :  D=0x05 A=0x7c  FetchSeq=3  CPSeq=3  flags=(IsInteger|IsStore)",
                Some(0x10436),
                None,
                Some("MemWrite"),
                Some(0x7c),
            ),
            (
                "1: system.cpu: T0 : @squeak.o+131364    : lwz r13 : MemRead :  D=0x1 A=0x1d",
                None,
                None,
                Some("MemRead"),
                Some(0x1d),
            ),
            (
                "9000: cpu1: 0x80000034. 1 : amo a6 : MemWrite :",
                Some(0x8000_0034),
                Some(1),
                Some("MemWrite"),
                None,
            ),
            (
                "9000: cpu1: T0 : 0x80000034 @f.part.0+10. 12 : amo a6 : IntAlu : Predicated False",
                Some(0x8000_0034),
                Some(12),
                Some("IntAlu"),
                None,
            ),
            (
                "167000: system.cpu: T0 : 0x80000060 @m : vdivu_vv v8, v0, v1",
                Some(0x8000_0060),
                None,
                None,
                None,
            ),
        ] {
            let p = Parsed::parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
            let got = (p.pc, p.micro, p.class, p.address);
            assert_eq!(got, (pc, micro, class.map(str::as_bytes), address), "{line}");
        }
        for bad in [
            "1: a b: 0x1 : nop : IntAlu :",
            "x: cpu: 0x1 : nop : IntAlu :",
            "1: cpu: 0xg : nop : IntAlu :",
        ] {
            assert!(Parsed::parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn vectors_are_in_the_order_of_memory() {
        assert_eq!(vector(b"[04000000_0500000a]").as_deref(), Some(&b"0a00000500000004"[..]));
        assert_eq!(vector(b"[0400000"), None);
        let log = "1: system.cpu: T0 : 0x10434 @main    : mov v3, v1.16b  : SimdMisc :  D=[01000000_02000000_03000000_04000000_00000000]\n\
                   2: system.cpu: T0 : 0x10438 @main+4  : nop   : IntAlu :\n";
        let c = Collect::read(&Gem5, log.as_bytes(), Some(Isa::Aarch64)).unwrap();
        let values: Vec<u64> = c.steps[0].registers.iter().map(|(_, value)| *value).collect();
        assert_eq!((values, c.codes()), (vec![0x2_0000_0001, 0x4_0000_0003], vec![]));
    }

    #[test]
    fn micro_operations_are_one_step() {
        let log = "1: system.cpu: T0 : 0x10434 @main    : amoadd_w a6, a7, (a6)\n\
                   1: system.cpu: T0 : 0x10434 @main. 0 : amoadd_w[l] a6, a7, (a6)  : MemRead :  D=0x0000000000000001 A=0x80040000\n\
                   2: system.cpu: T0 : 0x10434 @main. 1 : amoadd_w[s] a6, a7, (a6)  : MemWrite :  D=0x0000000000000003 A=0x80040000\n\
                   3: system.cpu: T0 : 0x10434 @main. 0 : amoadd_w[l] a6, a7, (a6)  : MemRead :  D=0x0000000000000003 A=0x80040000\n\
                   4: system.cpu: T0 : 0x10438 @main+4    : c_mv a5, a0                : IntAlu :  D=0x0000000000000eaf\n";
        assert_eq!(only(log.as_bytes()), "gem5");
        let c = Collect::read(&Gem5, log.as_bytes(), Some(Isa::Riscv64)).unwrap();
        let counts: Vec<_> =
            c.steps.iter().map(|s| (s.accesses.len(), s.registers.len())).collect();
        assert_eq!((counts, c.codes()), (vec![(2, 1), (1, 1), (0, 1)], vec![]));
    }

    /// A line is the same when its instruction was met before, whatever else is on it.
    #[test]
    fn remembered_lines_are_parsed_as_others() {
        let fixed = [
            "cpu: T0 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :",
            "cpu: T1 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :",
            "cpu: T0 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu",
            "cpu: T0 : 0x10434 @main    : c_addi16sp sp, -64",
            "cpu1: A0 T0 : 0x10436 @main+2    : c_swsp ra, 60(sp)   : MemWrite :",
            "cpu1: 0x80000034. 1 : amo a6 : MemWrite :",
            "cpu1: 0x80000034. 2 : amo a6 : MemWrite :",
            "cpu1: T0 : @squeak.o+131364    : lwz r13 : MemRead :",
            "cpu1: T0 : 0x7ffff7fd0100 @f : nop : No_OpClass :",
            "a b: T0 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :",
            "cpu: x",
        ];
        let items = [
            "",
            " ",
            "  D=0x7e90",
            " D=0x0000000000000001 A=0x80040000",
            " A=0x80040000  D=0x1  FetchSeq=3  CPSeq=3  flags=(IsInteger|IsStore)",
            " Predicated False",
            " D=0x1 Predicated False",
            " D=0x1x A=0x2",
            " D=0x00000000000000001 A=0x2",
            " A=0x",
            " A=0xg",
            " D=[04000000_05000000]",
            " D=0x1 D=0x2",
        ];
        let mut memory = Memory::new();
        for _ in 0..2 {
            for (fixed, items) in fixed.iter().flat_map(|f| items.iter().map(move |i| (f, i))) {
                let line = format!("12: {fixed}{items}");
                let line = line.as_bytes().trim_ascii();
                let alone = Parsed::parse(line);
                let known = memory.parse(line).map(|(parsed, _)| parsed);
                if known.is_some() {
                    assert_eq!(format!("{known:?}"), format!("{alone:?}"), "{fixed}{items}");
                } else if let Some(parsed) = &alone {
                    memory.add(line, parsed, Known::default());
                }
            }
        }
        let line = b"13: cpu: T0 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :  D=0x1";
        let other =
            b"14: cpu: T1 : 0x10434 @main    : c_addi16sp sp, -64         : IntAlu :  D=0x1";
        for line in [&line[..], other] {
            Parsed::parse(line)
                .and_then(|parsed| memory.add(line, &parsed, Known::default()))
                .expect("added");
            assert!(memory.parse(line).is_some());
        }
    }
}
