//! From lines to steps.

use super::banks::{self, Bank, Target};
use super::digits::{self, Digits};
use super::line::{BYTES, Bytes, Memory, Parsed, Prefix, Said, State, Step, Words};
use crate::diagnostics::Severity;
use crate::event::{
    Carries, Condition, Event, ExceptionEntry, Isa, Keeps, KernelAccess, LoggedAccess, RegSpan,
    SystemCall,
};
use crate::registers::{Registers, registers};
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::lines::Line;
use crate::trace::number::hex_digits;
use crate::trace::open::{NO_STEP, OpenStep, OpenSteps};
use crate::trace::problems::{FOREIGN_LINES, Kind, Problems, TOO_MANY_ACCESSES, excerpt};
use crate::trace::reader::Sink;
use crate::trace::record::{Opcode, Record, Steps, TOO_MANY_CPUS, opcode};
use rustc_hash::FxHashMap;

/// Steps that are kept for lines that name one.
const NAMED: usize = 256;
/// Names of registers that are remembered at most.
const NAMES: usize = 1 << 12;

const OTHER_STATE: Kind = (
    Severity::Warning,
    "other-instruction-set",
    "give an ELF file of the other instruction set with --elf to load those steps instead",
);
const LATE: Kind = (
    Severity::Warning,
    "late-access",
    "the access was left out: the step that it names was written, or is not in the log",
);
const SYSTEM_REGISTERS: Kind = (
    Severity::Info,
    "system-registers",
    "nothing is to be done: no instruction of a program computes with them",
);
const ABORTED: Kind = (Severity::Info, "aborted-access", "nothing is to be done: it had no effect");
const DIRECTION: Kind = (
    Severity::Warning,
    "wrong-direction",
    "taken as what the opcode does; newer versions of gem5 may write it right",
);

/// The state of a CPU between lines.
#[derive(Default)]
struct Cpu {
    mode: Vec<u8>,
    bank: Bank,
    /// The copies of registers.
    copies: Vec<((u16, Bank), Vec<(RegSpan, u64)>)>,
    /// Direction of the last line of bytes.
    is_write: bool,
    /// An exception was taken since the last step; it may be said twice.
    excepted: bool,
    /// The steps are of the instruction set that is not read.
    other: bool,
}

pub struct Reader {
    isa: Isa,
    file: &'static Registers,
    steps: OpenSteps,
    problems: Problems,
    scaled: bool,
    prefix: Prefix,
    time: u64,
    cpu: u32,
    cpus: FxHashMap<u32, Cpu>,
    names: FxHashMap<Vec<u8>, Option<Target>>,
    digits: Digits,
    /// The processor stores registers itself when it takes an exception.
    m_profile: bool,
}

impl Reader {
    pub fn new(isa: Isa, carries: &Carries, scaled: bool, problems: Problems) -> Reader {
        let steps = Steps::new(isa, carries.registers_before, false, carries.time)
            .with_all_values(carries.written_values);
        Reader {
            isa,
            file: registers(isa),
            steps: OpenSteps::new(steps),
            problems,
            scaled,
            prefix: Prefix::default(),
            time: 0,
            cpu: 0,
            cpus: FxHashMap::default(),
            names: FxHashMap::default(),
            digits: Digits::new(),
            m_profile: false,
        }
    }

    pub fn line(&mut self, line: &Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let parsed = Parsed::next(line.text, self.scaled, &mut self.prefix);
        let parsed = parsed.filter(|_| line.whole);
        let Some(parsed) = parsed else {
            if self.steps.count == 0 && line.whole {
                self.problems.add_once(sink, FOREIGN_LINES, Place::Line(line.number), || {
                    format!("lines before the first instruction: `{}`", excerpt(line.text))
                });
            } else {
                self.problems.line(sink, line, "no line of a Tarmac trace");
            }
            return Ok(());
        };
        self.time = parsed.time.unwrap_or(self.time);
        self.cpu = parsed.cpu.unwrap_or(self.cpu);
        if !self.steps.admits(self.cpu) {
            self.problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("CPU {} is one too many; its lines were left out", self.cpu)
            });
            return Ok(());
        }
        match parsed.said {
            Said::Step(step) => self.step(&step, line, sink),
            Said::Register { name, rest } => {
                self.register(name, rest, line, sink);
                Ok(())
            }
            Said::Memory(memory) => self.memory(&memory, line, sink),
            Said::Bytes(bytes) => self.bytes(&bytes, line, sink),
            Said::Exception { number, name, bare } => self.exception(number, name, bare, sink),
            Said::Quiet => Ok(()),
        }
    }

    /// Gives the last steps.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps.count == 0 {
            let remedy = "switch the trace of instructions on, or give the ELF file of the program";
            return Err(self.problems.malformed(1, "no instruction in it", remedy));
        }
        self.steps.finish(sink)
    }

    fn step(&mut self, step: &Step, line: &Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let cpu = self.cpus.entry(self.cpu).or_default();
        let other = step.state.isa() != self.isa;
        if other || cpu.other {
            self.steps.close(self.cpu);
            let begins = other && !cpu.other;
            cpu.other = other;
            if begins {
                self.steps.event(self.cpu, Event::Gap, sink)?;
            }
            if other {
                self.problems.add(sink, OTHER_STATE, Place::Line(line.number), || {
                    format!("an instruction of {:?}; such were left out", step.state.isa())
                });
                return Ok(());
            }
        }
        cpu.excepted = false;
        let thumb = step.state == State::T32;
        let code: Opcode = match step.opcode {
            [] => Default::default(),
            digits => match opcode(digits, self.isa, thumb) {
                Some(code) => code,
                None => {
                    self.problems.line(sink, line, "an opcode with a wrong number of digits");
                    return Ok(());
                }
            },
        };
        let pc = if self.isa == Isa::Arm { step.pc & !1 } else { step.pc };
        if let Some(open) = self.steps.open(self.cpu) {
            open.goes_on(pc, self.isa);
        }
        if cpu.mode != step.mode {
            change_mode(cpu, step.mode, self.steps.values(self.cpu));
            self.m_profile |= step.mode.starts_with(b"thr") || step.mode.starts_with(b"hand");
        }
        // Of A64 only branches are conditional, and not all tracers mark those that were not taken.
        let condition = match step.failed {
            true => Condition::Failed,
            false if self.isa == Isa::Arm => Condition::Held,
            false => Condition::Unknown,
        };
        let record = Record {
            line: line.number,
            time: self.time,
            cpu: self.cpu,
            pc,
            opcode: code,
            thumb,
            text: step.text,
            condition,
        };
        if step.tag.is_some() && self.steps.count == 0 {
            self.steps.keep(NAMED);
        }
        self.steps.begin(&record, sink)?.tag = step.tag;
        Ok(())
    }

    fn register(&mut self, name: &[u8], rest: &[u8], line: &Line, sink: &mut dyn Sink) {
        let target = match self.names.get(name) {
            Some(target) => *target,
            None => {
                let target = Target::of(name, self.isa, self.file);
                if self.names.len() < NAMES {
                    self.names.insert(name.to_vec(), target);
                }
                target
            }
        };
        // `(USR)` stands before the value, `(MSP)` behind it.
        let trimmed = rest.trim_ascii_start();
        let bank =
            trimmed.strip_prefix(b"(").and_then(|r| Some(r.split_at(memchr::memchr(b')', r)?)));
        let text = bank.map_or(rest, |(_, behind)| &behind[1..]);
        let mut words = Words(text);
        let plain = words.next().and_then(hex_digits).filter(|_| words.0.trim_ascii().is_empty());
        if plain.is_none() && digits::read(text, &mut self.digits).is_none() {
            self.problems.line(sink, line, "a register without a value");
            return;
        }
        let Some(mut target) = target else {
            self.problems.add(sink, SYSTEM_REGISTERS, Place::Line(line.number), || {
                format!("registers like `{}` were passed over", excerpt(name))
            });
            return;
        };
        let cpu = self.cpus.entry(self.cpu).or_default();
        if cpu.other {
            return;
        }
        if let Some((name, _)) = bank
            && self.isa == Isa::Arm
            && !matches!(name, b"AARCH32")
        {
            target.bank = banks::of_mode(name);
        }
        target.keep_bank(self.file);
        let values = self.steps.values(self.cpu);
        let from = values.len();
        match plain {
            Some(value) => digits::list_number(value, target.span, values),
            None => digits::list(&self.digits, target.span, values),
        }
        if let Some(clears) = target.clears.filter(|_| values.len() > from) {
            digits::list_number(0, clears, values);
        }
        if target.bank != 0 {
            let copy = values[from..].to_vec();
            if cpu.bank != 0 && cpu.bank != target.bank {
                values.truncate(from);
            }
            let key = (target.span.offset, target.bank);
            match cpu.copies.iter_mut().find(|(of, _)| *of == key) {
                Some((_, values)) => *values = copy,
                None => cpu.copies.push((key, copy)),
            }
        }
    }

    fn memory(
        &mut self,
        memory: &Memory,
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let Memory { is_write, size, address, value, aborted, of } = *memory;
        if aborted {
            self.problems.add(sink, ABORTED, Place::Line(line.number), || {
                format!("an access of {address:#x} was aborted")
            });
            if let Some(step) = self.steps.open(self.cpu) {
                step.undo();
            }
            return Ok(());
        }
        let mut access = LoggedAccess { address, size, is_write, value };
        let cpu = self.cpu;
        let step = match of {
            None => self.steps.open(cpu),
            Some((pc, tag)) => self
                .steps
                .find(|s| s.record.cpu == cpu && s.tag == Some(tag) && s.record.pc == pc & !1),
        };
        if let Some(step) = step {
            let pc = step.record.pc;
            let wrong = is_write && is_load_pair(step, self.isa);
            access.is_write &= !wrong;
            if !step.access(access) {
                self.too_many(line, sink);
            }
            if wrong {
                self.problems.add(sink, DIRECTION, Place::Line(line.number), || {
                    format!("the log says that the load of a pair at {pc:#x} stores")
                });
            }
            return Ok(());
        }
        if of.is_some() {
            self.problems.add(sink, LATE, Place::Line(line.number), || {
                format!("an access of {address:#x} by a step that is not there any more")
            });
            return Ok(());
        }
        self.outside(access, line, sink)
    }

    fn too_many(&mut self, line: &Line, sink: &mut dyn Sink) {
        self.problems.add(sink, TOO_MANY_ACCESSES, Place::Line(line.number), || {
            "an instruction with more accesses than can be read".into()
        });
    }

    /// An access between two steps.
    fn outside(
        &mut self,
        access: LoggedAccess,
        line: &Line,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let cpu = self.cpus.entry(self.cpu).or_default();
        if cpu.other {
            return Ok(());
        }
        let LoggedAccess { address, size, is_write, .. } = access;
        if !(cpu.excepted && self.m_profile && is_write) {
            self.problems.add(sink, NO_STEP, Place::Line(line.number), || {
                format!("an access of {address:#x} that belongs to no instruction")
            });
            return Ok(());
        }
        let source = Some("<exception frame>".into());
        let accesses = vec![KernelAccess { is_write, address, bytes: size.into(), source }];
        let (thread, name) = (self.cpu, Some(SystemCall::EXCEPTION.into()));
        let call = SystemCall { thread, name, accesses, ..SystemCall::default() };
        self.steps.event(self.cpu, Event::SystemCall(Box::new(call)), sink)
    }

    fn bytes(&mut self, bytes: &Bytes, line: &Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let cpu = self.cpus.entry(self.cpu).or_default();
        let continues = bytes.is_write.is_none();
        let is_write = bytes.is_write.unwrap_or(cpu.is_write);
        cpu.is_write = is_write;
        let mut from = 0;
        let mut found = Vec::new();
        while from < BYTES {
            let end = (from..BYTES).find(|i| bytes.bytes[*i].is_none()).unwrap_or(BYTES);
            if end > from {
                let known: Option<Vec<u8>> =
                    bytes.bytes[from..end].iter().map(|b| b.flatten()).collect();
                let value = known
                    .filter(|bytes| bytes.len() <= 8)
                    .map(|bytes| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
                let address = bytes.base.wrapping_add(from as u64);
                let size = (end - from) as u32;
                found.push(LoggedAccess { address, size, is_write, value });
            }
            from = end + 1;
        }
        let Some(step) = self.steps.open(self.cpu) else {
            return match found.first() {
                Some(access) => self.outside(*access, line, sink),
                None => Ok(()),
            };
        };
        let all = found.into_iter().all(|access| step.access(access));
        if continues {
            // What follows may be written first: an access that crosses the end of a line is one.
            step.lists.accesses.sort_by_key(|access| (access.is_write, access.address));
        }
        if !all {
            self.too_many(line, sink);
        }
        Ok(())
    }

    fn exception(
        &mut self,
        number: Option<u32>,
        name: &[u8],
        bare: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let cpu = self.cpus.entry(self.cpu).or_default();
        if bare && std::mem::replace(&mut cpu.excepted, false) {
            return Ok(());
        }
        cpu.excepted = true;
        let says = |words: &[&str]| {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            words.iter().any(|word| name.contains(word))
        };
        if says(&["reset"]) {
            if self.steps.count > 0 {
                return self.steps.event(self.cpu, Event::Gap, sink);
            }
            return Ok(());
        }
        if says(&["exceptionreturn", "exception_return", "exc_return"]) {
            let event = Event::ExceptionReturn { thread: self.cpu, frame: None };
            return self.steps.event(self.cpu, event, sink);
        }
        if says(&["abort", "undef"])
            && let Some(step) = self.steps.open(self.cpu)
        {
            step.undo();
        }
        let keeps = match self.isa {
            Isa::Arm if self.m_profile => Keeps::LongFrame,
            Isa::Arm => Keeps::Link,
            _ => Keeps::None,
        };
        let entry = ExceptionEntry { thread: self.cpu, number, keeps, ..Default::default() };
        self.steps.event(self.cpu, Event::ExceptionEntry(entry), sink)
    }
}

/// A CPU has another mode: its registers are other ones, as far as their values are known.
#[cold]
fn change_mode(cpu: &mut Cpu, mode: &[u8], values: &mut Vec<(RegSpan, u64)>) {
    cpu.mode = mode.to_vec();
    let bank = banks::of_mode(mode);
    if bank == cpu.bank || bank == 0 {
        return;
    }
    cpu.bank = bank;
    for (_, copy) in cpu.copies.iter().filter(|((_, of), _)| *of == bank) {
        values.extend_from_slice(copy);
    }
}

/// Whether a step is an A64 instruction that loads a pair of registers.
///
/// Source: Arm Architecture Reference Manual (DDI 0487), C4.1, loads and stores of pairs.
fn is_load_pair(step: &OpenStep, isa: Isa) -> bool {
    let (bytes, size) = step.record.opcode;
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    isa == Isa::Aarch64 && size == 4 && word & 0x3a40_0000 == 0x2840_0000
}
