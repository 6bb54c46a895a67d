//! Logs of Spike, the RISC-V simulator: `-l` (a line before each instruction), `--log-commits` (a line
//! of what it wrote), both, of one or several harts.
//!
//! Source: riscv-isa-sim, `riscv/execute.cc`, `riscv/processor.cc`.

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::{Line, Lines, each_line};
use super::number::{decimal_front, hex_digits, hex_front};
use super::open::OpenSteps;
use super::problems::{FOREIGN_LINES, Kind, Problems, TOO_MANY_ACCESSES, excerpt, good_lines};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::{self, LONGEST_OPCODE, Names, Opcode, Record, Steps, TOO_MANY_CPUS, pieces};
use crate::diagnostics::Severity;
use crate::event::{Carries, Event, ExceptionEntry, Isa, LoggedAccess, RegSpan, RegUse};
use crate::registers::registers;
use rustc_hash::FxHashMap;

const MALFORMED_PART: Kind = (
    Severity::Error,
    "malformed-part",
    "the part was left out, the step was not; record again if there are many",
);
const TOO_OFTEN: Kind = (
    Severity::Error,
    "repetitions-left-out",
    "the counts of that instruction and its function are too small; record with --log-commits",
);
const OTHER_REGISTERS: Kind = (
    Severity::Warning,
    "registers-passed-over",
    "nothing is to be done: addfg does not follow data through vector registers of RISC-V",
);

/// Steps at most that a log may have by being told that an instruction ran again and again.
const MOST_REPEATED: u64 = 1 << 28;

pub struct Spike;

impl Format for Spike {
    fn name(&self) -> &'static str {
        "spike"
    }
    fn about(&self) -> &'static str {
        "Spike's -l and --log-commits: instructions, registers written, accesses, traps"
    }
    fn record(&self) -> &'static str {
        "spike -l --log-commits --log=app.log app"
    }
    fn carries(&self) -> Carries {
        Carries { written_values: true, kernel: true, thumb: false, time: false, ..record::all() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        good_lines(head, |line| Said::parse(line).is_some())
            && Lines::of(head).any(|line| {
                matches!(Said::parse(line.text), Some((_, Said::Step(_) | Said::Commit(_))))
            })
    }
    fn help(&self) -> &'static str {
        "core N: 0xPC (0xCODE) TEXT                        -l: the instruction begins\n\
         core N: PRIVILEGE 0xPC (0xCODE) ITEMS             --log-commits: it is done; items are registers and `mem 0xADDRESS [0xVALUE]`\n\
         core N: exception NAME, epc 0xPC                  -l: a trap or an interrupt\n\
         core N: Executed K times                          -l: the instruction before ran so often in a row\n\
         Record both: `-l` alone has no registers and no accesses, `--log-commits` alone does not tell of traps; they are found from\n\
         where control goes. An access without a value is a load, whose size comes from the opcode. A step that trapped has no\n\
         effect. Control and status registers are passed over, vector registers are counted. Commits of before\n\
         2020 have no `core N:`: they are of the hart of the last line that has one."
    }
}

impl StepFormat for Spike {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let problems = Problems::new(input.locator());
        let Told { isa: told, commits, steps: announced } = Told::of(input.head());
        let given = context.isa.filter(|isa| matches!(isa, Isa::Riscv32 | Isa::Riscv64));
        let Some(isa) = given.or(told) else {
            let remedy = format!("record with `{}`", self.record());
            return Err(problems.malformed(1, "no instruction in it", remedy));
        };
        let carries = Carries {
            accesses: commits,
            registers: commits,
            values: commits,
            written_values: commits,
            ..self.carries()
        };
        sink.begin(carries, Some(isa))?;
        // A commit has all registers that were written: of instructions that the decoder does not know nothing else is known.
        let steps = Steps::new(isa, false, commits, false).with_all_values(true);
        let mut reader = Reader {
            isa,
            numbered: Numbered::new(isa),
            names: Names::new(isa),
            steps: OpenSteps::new(steps),
            problems,
            only_commits: !announced,
            commits,
            hart: 0,
            last: FxHashMap::default(),
            repeated: 0,
        };
        each_line(input, sink, |line, sink| reader.line(&line, sink))?;
        reader.finish(sink)
    }
}

/// What the first lines say of the whole log.
#[derive(Default)]
struct Told {
    isa: Option<Isa>,
    /// Lines of `--log-commits`, and of `-l`.
    commits: bool,
    steps: bool,
}

impl Told {
    fn of(head: &[u8]) -> Told {
        let mut told = Told::default();
        for (_, said) in Lines::of(head).filter_map(|line| Said::parse(line.text)) {
            let (Said::Commit(step) | Said::Step(step)) = said else { continue };
            let is_commit = matches!(said, Said::Commit(_));
            // `-l` prints addresses with 16 digits on 32 bits, too.
            if told.isa.is_none() || is_commit && !told.commits {
                told.isa = Some(step.isa());
            }
            told.commits |= is_commit;
            told.steps |= !is_commit;
        }
        told
    }
}

/// An instruction: its address and code with their numbers of digits, and what is behind them.
#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    pc: u64,
    pc_digits: usize,
    code: u64,
    code_digits: usize,
    rest: &'a [u8],
}

impl<'a> Step<'a> {
    /// `0xPC (0xCODE) REST`.
    #[inline]
    fn parse(text: &'a [u8]) -> Option<Step<'a>> {
        let text = text.strip_prefix(b"0x")?;
        let (pc, pc_digits) = hex_front(text);
        matches!(pc_digits, 8 | 16).then_some(())?;
        let rest = text[pc_digits..].strip_prefix(b" ")?;
        let text = rest.trim_ascii_start().strip_prefix(b"(0x")?;
        let (code, code_digits) = hex_front(text);
        (1..=16).contains(&code_digits).then_some(())?;
        let rest = text[code_digits..].strip_prefix(b")")?.trim_ascii();
        Some(Step { pc, pc_digits, code, code_digits, rest })
    }

    fn isa(&self) -> Isa {
        if self.pc_digits == 8 { Isa::Riscv32 } else { Isa::Riscv64 }
    }

    /// The code in memory order: `-l` prints more digits of a short one than it has.
    fn opcode(&self) -> Option<Opcode> {
        let short = self.code & 3 != 3 && self.code_digits > 4;
        let size = if short { 2 } else { self.code_digits / 2 };
        (short || matches!(self.code_digits, 4 | 8)).then_some(())?;
        let mut bytes = [0; LONGEST_OPCODE];
        bytes[..size].copy_from_slice(&self.code.to_le_bytes()[..size]);
        Some((bytes, size))
    }
}

#[derive(Clone, Copy, Debug)]
enum Said<'a> {
    Step(Step<'a>),
    Commit(Step<'a>),
    Trap {
        name: &'a [u8],
        epc: u64,
    },
    /// The instruction before ran so often.
    Executed(u64),
    /// `tval`, a symbol, or what is said of interrupts.
    Quiet,
}

impl<'a> Said<'a> {
    /// What a line says, and of which hart, if that is said.
    fn parse(line: &'a [u8]) -> Option<(Option<u32>, Said<'a>)> {
        let (hart, rest) = match line.strip_prefix(b"core") {
            None => (None, line),
            Some(rest) => {
                let rest = rest.trim_ascii_start();
                let (hart, length) = decimal_front(rest);
                (1..=9).contains(&length).then_some(())?;
                (Some(u32::try_from(hart).ok()?), rest[length..].strip_prefix(b":")?)
            }
        };
        let plain = hart.is_none();
        let rest = rest.trim_ascii_start();
        let said = match rest {
            [b'0', b'x', ..] if !plain => Said::Step(Step::parse(rest)?),
            [b'0'..=b'3', b' ', more @ ..] => Said::Commit(Step::parse(more.trim_ascii_start())?),
            [b'>', b'>', b'>', b'>', ..] if !plain => Said::Quiet,
            _ if plain => return None,
            _ if [&b"tval "[..], b"badaddr ", b"trigger action "]
                .iter()
                .any(|q| rest.starts_with(q)) =>
            {
                Said::Quiet
            }
            [b'E', b'x', b'e', b'c', b'u', b't', b'e', b'd', b' ', more @ ..] => {
                let (times, length) = decimal_front(more);
                (1..=18).contains(&length).then_some(())?;
                (more[length..].trim_ascii() == b"times").then_some(Said::Executed(times))?
            }
            _ => {
                let rest = rest.strip_prefix(b"exception ")?;
                let comma = memchr::memchr(b',', rest)?;
                let epc = rest[comma + 1..].trim_ascii().strip_prefix(b"epc 0x")?;
                Said::Trap { name: &rest[..comma], epc: hex_digits(epc)? }
            }
        };
        Some((hart, said))
    }
}

/// A part of a commit line.
enum Item {
    Register(RegSpan, u64),
    Access(LoggedAccess),
}

/// Registers by the letter and the number that the log has for them.
struct Numbered {
    integer: [Option<RegSpan>; 32],
    float: [Option<RegSpan>; 32],
}

impl Numbered {
    fn new(isa: Isa) -> Numbered {
        let file = registers(isa);
        let span = |letter: char, number: usize| file.lookup(&format!("{letter}{number}"));
        Numbered {
            integer: std::array::from_fn(|n| span('x', n)),
            float: std::array::from_fn(|n| span('f', n)),
        }
    }

    /// The item at the front of a text and what is behind it, if it is as nearly all are: `x5 0xVALUE`,
    /// `mem 0xADDRESS`, `mem 0xADDRESS 0xVALUE`. `digits`: those of an address.
    #[inline]
    fn item<'a>(&self, text: &'a [u8], digits: usize) -> Option<(Item, &'a [u8])> {
        let value = |text: &'a [u8]| {
            let text = text.strip_prefix(b"0x")?;
            let (value, length) = hex_front(text);
            let rest = &text[length..];
            let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
            (ends && (1..=16).contains(&length)).then_some((value, length, rest))
        };
        let (letter, rest) = text.split_first()?;
        let spans = match letter {
            b'x' => &self.integer,
            b'f' => &self.float,
            _ => {
                let rest = text.strip_prefix(b"mem ")?.trim_ascii_start();
                let (address, length, rest) = value(rest)?;
                (length == digits).then_some(())?;
                let mut access = LoggedAccess { address, size: 0, is_write: false, value: None };
                let behind = rest.trim_ascii_start();
                if !behind.starts_with(b"0x") {
                    return Some((Item::Access(access), rest));
                }
                let (stored, length, rest) = value(behind)?;
                access.size = length as u32 / 2;
                (access.size > 0).then_some(())?;
                (access.is_write, access.value) = (true, Some(stored));
                return Some((Item::Access(access), rest));
            }
        };
        let (number, length) = decimal_front(rest);
        let usual = length == 1 || length == 2 && rest[0] != b'0';
        let span = usual.then(|| spans.get(number as usize).copied().flatten()).flatten();
        let span = span.filter(|span| (1..=8).contains(&span.size))?;
        let (value, _, rest) = value(rest[length..].strip_prefix(b" ")?.trim_ascii_start())?;
        let mask = u64::MAX >> (64 - 8 * u32::from(span.size));
        Some((Item::Register(span, value & mask), rest))
    }
}

struct Reader {
    isa: Isa,
    numbered: Numbered,
    names: Names,
    steps: OpenSteps,
    problems: Problems,
    /// Steps that trapped have no line.
    only_commits: bool,
    /// Each step that was done has a line.
    commits: bool,
    /// That of the last line which says it.
    hart: u32,
    /// By hart its last step, without its text, where it may be said that it ran again.
    last: FxHashMap<u32, Record<'static>>,
    /// Steps that are told by their number.
    repeated: u64,
}

impl Reader {
    fn line(&mut self, line: &Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let Some((hart, said)) = Said::parse(line.text).filter(|_| line.whole) else {
            if self.steps.count == 0 && line.whole {
                self.problems.add_once(sink, FOREIGN_LINES, Place::Line(line.number), || {
                    format!("lines before the first instruction: `{}`", excerpt(line.text))
                });
            } else {
                self.problems.line(sink, line, "no line of Spike's log");
            }
            return Ok(());
        };
        let hart = hart.unwrap_or(self.hart);
        self.hart = hart;
        if !self.steps.admits(hart) {
            self.problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("hart {hart} is one too many; its lines were left out")
            });
            return Ok(());
        }
        match said {
            Said::Step(step) => self.begin(hart, &step, step.rest, line, sink),
            Said::Commit(step) => self.commit(hart, &step, line, sink),
            Said::Trap { name, epc } => self.trap(hart, name, epc, sink),
            Said::Executed(times) => self.executed(hart, times, line, sink),
            Said::Quiet => Ok(()),
        }
    }

    /// The instruction before ran so often; its commits have lines of their own.
    fn executed(
        &mut self,
        hart: u32,
        times: u64,
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        if self.commits {
            return Ok(());
        }
        let more = times.saturating_sub(1);
        let fits = more.min(MOST_REPEATED - self.repeated);
        self.repeated += fits;
        if fits < more {
            self.problems.add(sink, TOO_OFTEN, Place::Line(line.number), || {
                format!("an instruction ran {times} times; {} of them were left out", more - fits)
            });
        }
        let isa = self.isa;
        if fits > 0
            && let Some(open) = self.steps.open(hart)
        {
            let again = open.record.pc;
            open.goes_on(again, isa);
        }
        match self.last.get(&hart) {
            Some(record) => self.steps.repeat(record, fits, sink),
            None => Ok(()),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps.count == 0 {
            return Err(self.problems.malformed(
                1,
                "no instruction in it",
                "record with -l --log-commits",
            ));
        }
        self.steps.finish(sink)
    }

    fn begin(
        &mut self,
        hart: u32,
        step: &Step,
        text: &[u8],
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let Some(opcode) = step.opcode() else {
            self.problems.line(sink, line, "an opcode with a wrong number of digits");
            return Ok(());
        };
        let pc = step.pc;
        let mut called = None;
        if let Some(open) = self.steps.open(hart) {
            open.goes_on(pc, self.isa);
            called = call_target(&open.record).filter(|target| self.only_commits && *target != pc);
        }
        if let Some(target) = called {
            // The first instruction of what was called trapped, or was interrupted.
            let record = Record { line: line.number, cpu: hart, pc: target, ..Record::default() };
            self.steps.begin(&record, sink)?.undo();
        }
        let record = Record { line: line.number, cpu: hart, pc, opcode, text, ..Record::default() };
        self.steps.begin(&record, sink)?;
        if !self.commits {
            self.last.insert(hart, Record { text: &[], ..record });
        }
        Ok(())
    }

    fn commit(
        &mut self,
        hart: u32,
        step: &Step,
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        self.commits = true;
        let pc = step.pc;
        let same = self.steps.open(hart).is_some_and(|s| !s.committed && s.record.pc == pc);
        if !same {
            self.begin(hart, step, &[], line, sink)?;
        }
        let size = load_size(step.code, step.rest);
        let Some(open) = self.steps.open(hart) else { return Ok(()) };
        open.committed = true;
        let mut rest = step.rest;
        while let Some((mut item, behind)) = self.numbered.item(rest, step.pc_digits) {
            if let Item::Access(access) = &mut item
                && !access.is_write
            {
                access.size = size;
            }
            match item {
                Item::Register(span, value) => {
                    open.lists.after.push((span, value));
                    open.lists.flags.push((span, RegUse::Write));
                }
                Item::Access(access) if open.access(access) => {}
                // Said below.
                Item::Access(_) => break,
            }
            rest = behind.trim_ascii_start();
        }
        let mut words = rest.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let mut place = 0;
        while let Some(word) = words.next() {
            let good = match word {
                b"mem" => {
                    let address = words.next().unwrap_or_default();
                    let mut after = words.clone();
                    // A value stands behind it, or the next item.
                    let value = after.next().filter(|word| word.starts_with(b"0x"));
                    if value.is_some() {
                        words = after;
                    }
                    let mut access = access(address, value, step.pc_digits);
                    if let Some(load) = access.as_mut().filter(|access| !access.is_write) {
                        load.size = size;
                    }
                    if let Some(access) = access
                        && !open.access(access)
                    {
                        let place = Place::Line(line.number);
                        self.problems.add(sink, TOO_MANY_ACCESSES, place, || {
                            "an instruction with more accesses than can be read".into()
                        });
                    }
                    access.is_some()
                }
                // `e64 m1 l2`: how vectors are cut.
                [b'e' | b'm' | b'l', digits @ ..] if is_shape(digits) => true,
                _ => {
                    // `x5` and in older versions `x 5`.
                    let mut name = [0; 3];
                    let (register, value) = match word {
                        [kind @ (b'x' | b'f' | b'v')] => {
                            let number = words.next().unwrap_or_default();
                            let length = 1 + number.len().min(2);
                            name[0] = *kind;
                            name[1..length].copy_from_slice(&number[..length - 1]);
                            (&name[..length], words.next())
                        }
                        _ => (word, words.next()),
                    };
                    let digits = value.and_then(|value| value.strip_prefix(b"0x"));
                    match (self.names.span(place, csr(register)), digits) {
                        (Ok(Some(span)), Some(digits)) => {
                            place += 1;
                            open.lists.flags.push((span, RegUse::Write));
                            pieces(span, digits, &mut open.lists.after)
                        }
                        (_, Some(digits))
                            if hex_digits(&digits[..digits.len().min(16)]).is_some() =>
                        {
                            if register.starts_with(b"v") {
                                let place = Place::Line(line.number);
                                self.problems.add(sink, OTHER_REGISTERS, place, || {
                                    format!("registers like `{}`", excerpt(register))
                                });
                            }
                            register.starts_with(b"v") || register.starts_with(b"c")
                        }
                        _ => false,
                    }
                }
            };
            if !good {
                self.problems.add(sink, MALFORMED_PART, Place::Line(line.number), || {
                    format!("`{}` is neither a register nor an access", excerpt(word))
                });
            }
        }
        Ok(())
    }

    /// A trap or an interrupt, which goes on at `epc` unless its handler says otherwise.
    fn trap(
        &mut self,
        hart: u32,
        name: &[u8],
        epc: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let interrupt = name.strip_prefix(b"interrupt #");
        if let Some(open) = self.steps.open(hart) {
            let of_it = open.record.pc == epc && interrupt.is_none();
            if of_it && !open.committed {
                open.undo();
            } else if !of_it {
                open.goes_on(epc, self.isa);
            }
        }
        let number = match interrupt {
            Some(digits) => u32::try_from(decimal_front(digits).0).ok(),
            None => cause(name),
        };
        let entry =
            ExceptionEntry { thread: hart, number, resume: Some(epc), ..Default::default() };
        self.steps.event(hart, Event::ExceptionEntry(entry), sink)
    }
}

/// Where a call goes by its code: `jal` with a link register.
fn call_target(record: &Record) -> Option<u64> {
    let (bytes, size) = record.opcode;
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let links = matches!(word >> 7 & 31, 1 | 5);
    (size == 4 && word & 0x7f == 0x6f && links).then_some(())?;
    let offset = (word >> 21 & 0x3ff) << 1
        | (word >> 20 & 1) << 11
        | (word >> 12 & 0xff) << 12
        | (word >> 31) << 20;
    // The sign is the highest of 21 bits.
    let offset = ((offset << 11) as i32 >> 11) as i64;
    Some(record.pc.wrapping_add_signed(offset))
}

/// Bytes of each load of an instruction whose operands the decoder does not know; 0: it does, or they are not known. `items`: those
/// of its line, which say how wide elements are.
///
/// Source: The RISC-V Instruction Set Manual, Volume I: "V" 7.3, "Zcb", "Zfh", "Zabha", "Zacas".
fn load_size(code: u64, items: &[u8]) -> u32 {
    let width = code >> 12 & 7;
    match code & 0x7f {
        // Loads of floating-point registers, and of vectors.
        0x07 => match (width, code >> 26 & 3) {
            (1, _) => 2,
            (0 | 5..=7, 1 | 3) => element_size(items),
            (0, _) => 1,
            (5, _) => 2,
            (6, _) => 4,
            (7, _) => 8,
            _ => 0,
        },
        0x2f => match width {
            0 => 1,
            1 => 2,
            4 => 16,
            _ => 0,
        },
        // c.lbu, and c.lhu and c.lh.
        _ => match code & 0xfc03 {
            0x8000 => 1,
            0x8400 => 2,
            _ => 0,
        },
    }
}

/// Bytes of an element, of `e32` among the items; 0 if it is not said.
fn element_size(items: &[u8]) -> u32 {
    let said = items.split(u8::is_ascii_whitespace).find_map(|word| {
        let digits = word.strip_prefix(b"e")?;
        let (bits, length) = decimal_front(digits);
        (length == digits.len() && matches!(bits, 8 | 16 | 32 | 64)).then_some(bits as u32 / 8)
    });
    said.unwrap_or(0)
}

/// `c3_fcsr` is the register `fcsr`.
fn csr(name: &[u8]) -> &[u8] {
    match name {
        [b'c', b'1'..=b'3', b'_', rest @ ..] => rest,
        _ => name,
    }
}

/// `64`, `f2`, `1`: bits of elements, a group of registers, elements.
fn is_shape(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"f").unwrap_or(digits);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// An access; its address has as many digits as the program counter.
fn access(address: &[u8], value: Option<&[u8]>, digits: usize) -> Option<LoggedAccess> {
    let address = address.strip_prefix(b"0x").filter(|address| address.len() == digits)?;
    let address = hex_digits(address)?;
    let Some(value) = value else {
        return Some(LoggedAccess { address, size: 0, is_write: false, value: None });
    };
    let digits = value.strip_prefix(b"0x")?;
    let size = u32::try_from(digits.len() / 2).ok().filter(|size| (1..=64).contains(size))?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    Some(LoggedAccess { address, size, is_write: true, value: hex_digits(digits) })
}

/// The number of an exception.
///
/// Source: The RISC-V Instruction Set Manual, Volume II, 3.1.15.
fn cause(name: &[u8]) -> Option<u32> {
    Some(match name.strip_prefix(b"trap_")? {
        b"instruction_address_misaligned" => 0,
        b"instruction_access_fault" => 1,
        b"illegal_instruction" => 2,
        b"breakpoint" => 3,
        b"load_address_misaligned" => 4,
        b"load_access_fault" => 5,
        b"store_address_misaligned" => 6,
        b"store_access_fault" => 7,
        b"user_ecall" => 8,
        b"supervisor_ecall" => 9,
        b"virtual_supervisor_ecall" => 10,
        b"machine_ecall" => 11,
        b"instruction_page_fault" => 12,
        b"load_page_fault" => 13,
        b"store_page_fault" => 15,
        b"instruction_guest_page_fault" => 20,
        b"load_guest_page_fault" => 21,
        b"virtual_instruction" => 22,
        b"store_guest_page_fault" => 23,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::qemu::tests::{Collect, only};

    fn read(text: &str) -> Collect {
        Collect::read(&Spike, text.as_bytes(), None).unwrap()
    }

    #[test]
    fn two_lines_of_one_step_are_one() {
        let both = "core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0\n\
                    core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000\n\
                    core   0: >>>>  $x\n\
                    core   0: 0x0000000080000004 (0x00004585) c.li    a1, 1\n\
                    core   0: 3 0x0000000080000004 (0x4585) x11 0x0000000000000001\n\
                    core   0: 3 0x0000000080000006 (0x0062b023) mem 0x0000000080001000 0x00000001\n\
                    core   0: 3 0x000000008000000a (0x0182b283) x5  0x0000000000000007 mem 0x0000000080001018\n";
        assert_eq!(only(both.as_bytes()), "spike");
        let c = read(both);
        assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::Riscv64), 4, vec![]));
        assert_eq!(c.defs[1].bytes, [0x85, 0x45]);
        let access = |i: usize| c.steps[i].accesses[0];
        assert_eq!((access(2).size, access(2).is_write, access(2).value), (4, true, Some(1)));
        assert_eq!((access(3).size, access(3).is_write), (0, false));
        assert_eq!(c.steps[0].registers.len(), 1);
    }

    /// What another hart does meanwhile does not come between a trap and its handler.
    #[test]
    fn a_trap_stands_before_the_next_step_of_its_hart() {
        let log = "core   0: 0x0000000080000270 (0x00000073) ecall\n\
                   core   0: exception trap_machine_ecall, epc 0x0000000080000270\n\
                   core   1: 0x0000000000001000 (0x00000297) auipc   t0, 0x0\n\
                   core   1: 0x0000000000001004 (0x02028593) addi    a1, t0, 32\n\
                   core   0: >>>>  trap_entry\n\
                   core   0: 0x0000000080000038 (0xf8010113) addi    sp, sp, -128\n\
                   core   0: exception interrupt #7, epc 0x000000008000003c\n";
        let c = read(log);
        let entry = |number, resume| {
            let (number, resume) = (Some(number), Some(resume));
            Event::ExceptionEntry(ExceptionEntry { number, resume, ..Default::default() })
        };
        assert_eq!(c.steps.iter().map(|s| s.thread).collect::<Vec<_>>(), [0, 1, 1, 0]);
        assert_eq!(c.events, [(3, entry(11, 0x8000_0270)), (4, entry(7, 0x8000_003c))]);
    }

    #[test]
    fn a_call_whose_first_step_trapped_is_one() {
        let log = "core   0: 3 0x0000000080000018 (0x260000ef) x1  0x000000008000001c\n\
                   core   0: 3 0x0000000080000038 (0xf8010113) x2  0x0000000080002240\n\
                   core   0: 3 0x000000008000013e (0xfe3ff0ef) x1  0x0000000080000142\n\
                   core   0: 3 0x0000000080000120 (0x4795) x15 0x0000000000000005\n";
        let c = read(log);
        let addresses: Vec<u64> = c.steps.iter().map(|s| c.defs[s.insn].address).collect();
        let low: Vec<u64> = addresses.iter().map(|a| a & 0xfff).collect();
        assert_eq!(low, [0x18, 0x278, 0x38, 0x13e, 0x120]);
    }

    #[test]
    fn older_lines_and_damaged_parts() {
        let old = "3 0x0000000080000000 (0x00000297) x 5  0x0000000080001000\n\
                   3 0x00000000800000f8 (0x30551573) x10 0x0000000080000004 c773_mtvec 0x00000000800001b8\n\
                   3 0x0000000080000100 (0x02056007) e64 m1 l2 v0 0x00ff00ff00ff00ff mem 0x0000000080002000\n\
                   3 0x0000000080000104 (0x00893683) x13 0x00007fc1bb000000 mem 0x000000008000297\n";
        let c = read(old);
        assert_eq!(c.steps.iter().map(|s| s.registers.len()).collect::<Vec<_>>(), [1, 1, 0, 1]);
        assert_eq!(c.codes(), ["registers-passed-over", "malformed-part"]);
    }

    /// Commits of before 2020 have no hart.
    #[test]
    fn commits_without_a_hart_are_of_the_one_that_began() {
        let log = "core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0\n\
                   3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
                   core   1: 0x0000000080000000 (0x00000297) auipc   t0, 0x0\n\
                   3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
                   core   1: 0x0000000080000004 (0x00004585) c.li    a1, 1\n\
                   3 0x0000000080000004 (0x4585) x11 0x0000000000000001\n\
                   core   0: 0x0000000080000004 (0x00004585) c.li    a1, 1\n\
                   3 0x0000000080000004 (0x4585) x11 0x0000000000000001\n";
        let c = read(log);
        let steps: Vec<_> = c.steps.iter().map(|s| (s.thread, s.registers.len())).collect();
        assert_eq!((steps, c.codes()), (vec![(0, 1), (1, 1), (1, 1), (0, 1)], vec![]));
    }

    /// `-l` has a line for an instruction that runs again and again, and says behind it how often: before what came then.
    #[test]
    fn an_instruction_runs_as_often_as_is_said() {
        let log = "core   0: 0x0000000080000000 (0x0000006f) j       pc + 0x0\n\
                   core   0: exception interrupt #7, epc 0x0000000080000000\n\
                   core   0: >>>>  trap\n\
                   core   0: Executed 5 times\n\
                   core   0: 0x0000000080000010 (0x30200073) mret\n\
                   core   0: 0x0000000080000000 (0x0000006f) j       pc + 0x0\n\
                   core   0: Executed 2 times\n\
                   core   0: 0x0000000080000010 (0x30200073) mret\n";
        let c = read(log);
        let addresses: Vec<u64> = c.steps.iter().map(|s| c.defs[s.insn].address & 0xff).collect();
        assert_eq!(addresses, [0, 0, 0, 0, 0, 0x10, 0, 0, 0x10]);
        assert_eq!((c.events.len(), c.events[0].0, c.codes()), (1, 5, vec![]));
        // Each commit has a line.
        let commits = log.replace(
            "core   0: exception",
            "core   0: 3 0x0000000080000000 (0x0000006f)\ncore   0: exception",
        );
        assert_eq!(read(&commits).steps.len(), 4);
        assert_eq!(read(&log.replace("Executed 5", "Executed 1")).steps.len(), 5);
        assert!(Said::parse(b"core   0: Executed 9999999999999999999 times").is_none());
        for quiet in ["badaddr 0x0000000000000000", "trigger action 0", "tval 0x0"] {
            let said = Said::parse(format!("core   0: {quiet}").as_bytes())
                .map(|(_, said)| matches!(said, Said::Quiet));
            assert_eq!(said, Some(true), "{quiet}");
        }
    }

    /// Loads of vectors, of small floating-point numbers, and of Zcb and Zabha have the sizes of their codes.
    #[test]
    fn loads_have_the_sizes_of_their_codes() {
        for (code, items, size) in [
            (0x02058087u64, "e8 m1 l16", 1), // vle8.v
            (0x0205e087, "e32 m1 l4", 4),    // vle32.v
            (0x0205f087, "e64 m1 l2", 8),    // vle64.v
            (0x0605d087, "e32 m1 l4", 4),    // vluxei16.v: elements of 32 bits
            (0x0605d087, "", 0),
            (0x02b58087, "e8 m1 l16", 1), // vlm.v
            (0x00059087, "", 2),          // flh
            (0x0005a087, "", 0),          // flw: the decoder knows
            (0x00b5052f, "", 1),          // amoadd.b
            (0x00b5152f, "", 2),          // amoadd.h
            (0x00b5252f, "", 0),
            (0x8000, "", 1), // c.lbu
            (0x8420, "", 2), // c.lhu
            (0x4000, "", 0), // c.lw
            (0x0005a503, "", 0),
        ] {
            assert_eq!(load_size(code, items.as_bytes()), size, "{code:#x} {items}");
        }
        let log = "core   0: 3 0x0000000080000000 (0x02058087) e8 m1 l16 v1 0x00 mem 0x0000000080001000 mem 0x0000000080001001\n";
        let c = read(log);
        let accesses: Vec<_> = c.steps[0].accesses.iter().map(|a| (a.size, a.is_write)).collect();
        assert_eq!(accesses, [(1, false), (1, false)]);
    }

    /// Items that are written as nearly all are, and the same ones written as some versions do.
    #[test]
    fn items_of_any_form_are_the_same() {
        let log = "core   0: 3 0x0000000080000000 (0x00000297) x5 0x0000000080001000\n\
                   core   0: 3 0x0000000080000004 (0x0182b283) x5 0x0000000000000007 mem 0x0000000080001018\n\
                   core   0: 3 0x0000000080000008 (0x00893687) f13 0x00007fc1bb000000 mem 0x0000000080002970\n\
                   core   0: 3 0x000000008000000c (0x0062b023) mem 0x0000000080001000 0x00000001\n\
                   core   0: 3 0x0000000080000010 (0x0062a12f) x2 0x0000000000000001 mem 0x0000000080001000 mem 0x0000000080001000 0x00000002\n";
        let plain = read(log);
        let values: Vec<_> = plain.steps.iter().map(|s| s.registers.len()).collect();
        let accesses: Vec<_> = plain.steps.iter().map(|s| s.accesses.len()).collect();
        assert_eq!(
            (values, accesses, plain.codes()),
            (vec![1, 1, 1, 0, 1], vec![0, 1, 1, 1, 2], vec![])
        );
        for (from, to) in [
            (" x5 0x", " x 5  0x"),
            (" f13 0x", " f13 0x0000000000000000"),
            (" x2 0x", "  x2   0x"),
            (" mem 0x", " e64 m1 l2 mem   0x"),
        ] {
            let other = log.replace(from, to);
            assert_ne!(other, log);
            let other = read(&other);
            assert_eq!((&other.steps, other.codes()), (&plain.steps, vec![]), "{from} {to}");
        }
        for (bad, codes) in [
            ("x32 0x0000000000000001", &["malformed-part"][..]),
            ("x05 0x0000000000000001", &["malformed-part"]),
            ("x5 0x", &["malformed-part"]),
            ("x5 0x12g", &["malformed-part"]),
            ("mem 0x80001018", &["malformed-part"]),
            ("mem 0x0000000080001018 0x1", &["malformed-part"]),
            ("mem 0x0000000080001018 0x0000000000000000000000000000000001", &[]),
        ] {
            let log = format!("core   0: 3 0x0000000080000000 (0x00000297) {bad}\n");
            let read = read(&log);
            assert_eq!(read.codes(), codes, "{bad}");
        }
    }
}
