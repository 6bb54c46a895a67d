//! From dumps and listings to steps.

use super::dump::{Template, begins, dump_isa};
use super::exceptions::{self, Exceptions, State};
use super::listing::{Listing, define, disassembly, packed};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Isa, StepBatch};
use crate::registers::registers;
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::number::{decimal_front, hex_digits};
use crate::trace::problems::{Kind, Problems, excerpt};
use crate::trace::reader::Sink;
use rustc_hash::FxHashMap;

/// Steps of a batch.
const BATCH: usize = 1 << 15;
/// Bytes of a register dump at most.
pub const LONGEST_DUMP: usize = 16 << 10;
/// Beginnings of lines that say nothing of the program.
const QUIET: [&[u8]; 3] = [b"----", b"Linking TBs ", b"Stopped execution of TB chain "];

const FOREIGN: Kind =
    (Severity::Warning, "foreign-lines", "write the log to a file of its own with -D");
const LOST: &str = "the step was left out; let the recorder finish, and write the log to a file of its own with -D";
const CUT_DUMP: Kind = (Severity::Error, "truncated", LOST);
const DAMAGED_DUMP: Kind = (Severity::Error, "damaged-dump", LOST);

/// What the number of the system call that ends a thread is in, and which it is.
fn exit_call(isa: Isa) -> (&'static str, u64) {
    match isa {
        Isa::X86_64 => ("rax", 60),
        Isa::X86 => ("eax", 1),
        Isa::Arm => ("r7", 1),
        Isa::Aarch64 => ("x8", 93),
        Isa::Riscv32 | Isa::Riscv64 => ("a7", 93),
    }
}

/// Whether the code is a system call's.
fn is_system_call(isa: Isa, code: &[u8]) -> bool {
    match isa {
        Isa::X86_64 => code == [0x0f, 0x05],
        Isa::X86 => code == [0xcd, 0x80],
        Isa::Arm => code == [0, 0, 0, 0xef] || code == [0, 0xdf],
        Isa::Aarch64 => code == [1, 0, 0, 0xd4],
        Isa::Riscv32 | Isa::Riscv64 => code == [0x73, 0, 0, 0],
    }
}

/// Whether a dump is of QEMU's user mode: its first instruction is not privileged.
fn is_user_mode(dump: &[u8], isa: Isa) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(dump, words).is_some();
    match isa {
        Isa::X86_64 | Isa::X86 => says(b" CPL=3 "),
        Isa::Arm => says(b" usr"),
        Isa::Aarch64 => says(b" EL0"),
        Isa::Riscv32 | Isa::Riscv64 => !says(b" mstatus"),
    }
}

/// A CPU of the emulator; in user mode, a thread of the program.
struct Cpu {
    /// As the log has it in `Trace N:`.
    index: u32,
    /// Number of the thread: the index, unless a thread that has ended had it.
    thread: u32,
    template: Template,
    /// Its last step was the system call that ends a thread: what follows is another thread's.
    ended: bool,
    exceptions: Exceptions,
}

impl Cpu {
    fn new(index: u32, thread: u32) -> Cpu {
        Cpu {
            index,
            thread,
            template: Template::default(),
            ended: false,
            exceptions: Exceptions::default(),
        }
    }
}

/// `Trace N: 0xHOST [CS_BASE/PC/FLAGS/CFLAGS] symbol`: whose dump comes next. CPUs that run at the
/// same time may both have said so before the first dump.
#[derive(Clone, Copy)]
struct Announced {
    index: u32,
    pc: Option<u64>,
}

impl Announced {
    fn parse(line: &[u8]) -> Option<Announced> {
        let rest = line.strip_prefix(b"Trace ")?;
        let (index, length) = decimal_front(rest);
        let index = u32::try_from(index).ok().filter(|_| (1..=10).contains(&length))?;
        let rest = rest[length..].strip_prefix(b":")?;
        let bracket = memchr::memchr(b'[', rest);
        let mut words = rest[bracket.map_or(rest.len(), |b| b + 1)..].split(|&b| b == b'/');
        Some(Announced { index, pc: words.nth(1).and_then(hex_digits) })
    }
}

/// Where a dump ends, and whether it is laid out like the one before.
#[derive(Clone, Copy)]
struct Extent {
    length: usize,
    same: bool,
}

pub struct Reader {
    problems: Problems,
    isa: Option<Isa>,
    cpus: Vec<Cpu>,
    /// The one whose dumps are read, by its place in `cpus`.
    current: usize,
    announced: Vec<Announced>,
    /// Numbers of the fields with the program counter, ARM's status register, and the number of a
    /// system call.
    pc: Option<usize>,
    psr: Option<usize>,
    call: Option<usize>,
    /// Those with the stack pointer and the link register.
    sp: Option<usize>,
    link: Option<usize>,
    /// The log says whose each dump is.
    with_cpus: bool,
    user_mode: bool,
    /// By instruction: whether it is a system call.
    system_calls: Vec<bool>,
    /// (address, Thumb) of each known instruction: its id and its code as [`packed`] has it.
    known: FxHashMap<(u64, bool), (u32, u128)>,
    /// Listings by address that no step has used yet.
    listed: FxHashMap<u64, Listing>,
    batch: StepBatch,
    steps: u64,
    /// The lines are those behind a dump's registers.
    in_dump: bool,
}

impl Reader {
    pub fn new(problems: Problems) -> Reader {
        Reader {
            problems,
            isa: None,
            cpus: vec![Cpu::new(0, 0)],
            current: 0,
            announced: Vec::new(),
            pc: None,
            psr: None,
            call: None,
            sp: None,
            link: None,
            with_cpus: false,
            user_mode: false,
            system_calls: Vec::new(),
            known: FxHashMap::default(),
            listed: FxHashMap::default(),
            batch: StepBatch::default(),
            steps: 0,
            in_dump: false,
        }
    }

    /// Parses what is complete in `bytes`; gives how many bytes that was.
    pub fn parse(
        &mut self,
        bytes: &[u8],
        offset: u64,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<usize, TraceError> {
        let mut at = 0;
        while at < bytes.len() {
            let (rest, place) = (&bytes[at..], offset + at as u64);
            // A dump like the one before: what nearly every line is.
            if begins(rest) {
                let numbered = self.with_cpus || self.isa.is_none();
                if numbered && !self.announced.is_empty() {
                    self.choose(rest);
                }
                let Some(extent) = self.extent(rest, last) else { break };
                let cut = last && extent.length == rest.len() && !rest.ends_with(b"\n");
                let dump = &rest[..extent.length];
                let index = self.cpus[self.current].index;
                self.announced.retain(|announced| announced.index != index);
                at += if extent.same {
                    self.next(dump, place, sink)?
                } else {
                    self.other(dump, place, cut, sink)?
                };
                continue;
            }
            let Some(end) = memchr::memchr(b'\n', rest) else {
                if last {
                    at = bytes.len();
                }
                break;
            };
            let line = &rest[..end];
            if line.starts_with(b"IN:") {
                self.in_dump = false;
                match self.listing(&rest[end + 1..], place, last)? {
                    Some(len) => at += end + 1 + len,
                    None => break,
                }
                continue;
            }
            self.line(line, place, sink);
            at += end + 1;
        }
        Ok(at)
    }

    /// A line that is neither of a listing nor of a dump's registers.
    fn line(&mut self, line: &[u8], offset: u64, sink: &mut dyn Sink) {
        if line.starts_with(b"Trace ") {
            self.in_dump = false;
            if let Some(announced) = Announced::parse(line) {
                self.announced.retain(|known| known.index != announced.index);
                self.announced.push(announced);
            }
            return;
        }
        if line.starts_with(b"----") {
            self.in_dump = false;
        }
        // Floating-point and system registers, in layouts of many kinds.
        let more = self.in_dump
            && (line.contains(&b'=') || line.starts_with(b" ") || line.starts_with(b"FPSCR"));
        let quiet = line.trim_ascii_end().is_empty() || QUIET.iter().any(|q| line.starts_with(q));
        if !more && !quiet {
            self.problems.add_once(sink, FOREIGN, Place::Byte(offset), || {
                let text = excerpt(line);
                format!("lines that are none of QEMU's log were left out, the first: `{text}`")
            });
        }
    }

    /// Whose dump this is: the CPU that was announced, of several the one that is there.
    fn choose(&mut self, dump: &[u8]) {
        let pc = match &self.announced[..] {
            [_] => None,
            _ => self
                .cpus
                .iter()
                .find(|c| c.template.fits(dump))
                .and_then(|c| c.template.peek(self.pc, dump)),
        };
        let there = self.announced.iter().find(|a| pc.is_some() && a.pc == pc);
        let Some(&Announced { index, .. }) = there.or(self.announced.first()) else { return };
        self.with_cpus |= self.isa.is_none();
        if self.cpus[self.current].index == index && !self.cpus[self.current].ended {
            return;
        }
        let thread = |reader: &Reader| match reader.cpus.iter().map(|c| c.thread).max() {
            Some(most) if reader.cpus.iter().any(|c| c.thread == index) => most + 1,
            _ => index,
        };
        match self.cpus.iter().position(|cpu| cpu.index == index && !cpu.ended) {
            Some(known) => self.current = known,
            // Nobody has used the one that a log without announcements has.
            None if self.isa.is_none() => self.cpus[0] = Cpu::new(index, index),
            None => {
                self.cpus.push(Cpu::new(index, thread(self)));
                self.current = self.cpus.len() - 1;
            }
        }
    }

    fn template(&self) -> &Template {
        &self.cpus[self.current].template
    }

    /// The dump at the start of `rest`; None: its end is not there yet.
    #[inline]
    fn extent(&self, rest: &[u8], last: bool) -> Option<Extent> {
        let template = self.template();
        if template.fits(rest) {
            return Some(Extent { length: template.length(), same: true });
        }
        dump_end(rest, last).map(|length| Extent { length, same: false })
    }

    /// A dump that is laid out like the one before. Gives its length.
    fn next(&mut self, dump: &[u8], offset: u64, sink: &mut dyn Sink) -> Result<usize, TraceError> {
        self.in_dump = true;
        if self.cpus[self.current].template.changes(dump, &mut self.batch.registers) {
            self.step(offset, sink)?;
        } else {
            self.problems.add(sink, DAMAGED_DUMP, Place::Byte(offset), || {
                "a register's value is no number".into()
            });
        }
        Ok(dump.len())
    }

    /// The first dump, or one of another layout. Gives its length: lines behind the last register
    /// are not its own.
    #[cold]
    fn other(
        &mut self,
        dump: &[u8],
        offset: u64,
        cut: bool,
        sink: &mut dyn Sink,
    ) -> Result<usize, TraceError> {
        self.in_dump = true;
        let Some(isa) = self.isa else {
            self.begin(dump, offset, sink)?;
            self.step(offset, sink)?;
            return Ok(self.template().length());
        };
        // What stands beside the registers may be longer now: x86's segments, a mode's name. And
        // another CPU has not said anything yet.
        let learned = Template::learn(dump, isa);
        if !cut && learned.agrees(&self.cpus[0].template) {
            self.cpus[self.current].template.replace(learned, &mut self.batch.registers);
            self.step(offset, sink)?;
            return Ok(self.template().length());
        }
        let (kind, message) = if cut {
            (CUT_DUMP, "the log ends within a register dump")
        } else {
            (DAMAGED_DUMP, "a register dump of another layout than the first")
        };
        self.problems.add(sink, kind, Place::Byte(offset), || message.into());
        Ok(dump.len())
    }

    /// Learns what the first dump says of the whole log.
    fn begin(&mut self, dump: &[u8], offset: u64, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let isa = dump_isa(dump).ok_or_else(|| {
            self.problems.malformed_at(offset, "unknown registers", "see `addfg formats qemu`")
        })?;
        let file = registers(isa);
        let template = Template::learn(dump, isa);
        self.pc = template.field(file.pc);
        self.psr = template.field(file.lookup("cpsr")).filter(|_| isa == Isa::Arm);
        self.call = template.field(file.lookup(exit_call(isa).0));
        self.sp = template.field(file.sp);
        self.link = template.field(file.link);
        self.user_mode = is_user_mode(dump, isa);
        if self.pc.is_none() {
            let message = "no program counter among the registers";
            return Err(self.problems.malformed_at(offset, message, "record with -d cpu"));
        }
        self.isa = Some(isa);
        self.batch.registers.extend(template.registers());
        self.cpus[self.current].template = template;
        sink.begin(Carries { threads: self.with_cpus, ..carries() }, Some(isa))
    }

    /// The instruction that the registers of the current CPU were dumped before.
    fn step(&mut self, offset: u64, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let cpu = &self.cpus[self.current];
        let (Some(isa), Some(pc)) = (self.isa, cpu.template.value(self.pc)) else {
            return Ok(());
        };
        let thumb = cpu.template.thumb(self.psr);
        let insn = match self.known.get(&(pc, thumb)) {
            Some(&(id, _)) if self.listed.is_empty() || !self.listed.contains_key(&pc) => id,
            _ => self.instruction(isa, pc, thumb),
        };
        if self.batch.insn.is_empty() {
            self.batch.position = offset;
        }
        let cpu = &mut self.cpus[self.current];
        if cpu.template.is_m_profile() {
            let value = |field| cpu.template.value(field).unwrap_or(0);
            let number = value(self.psr) & exceptions::NUMBER;
            let state = State { number, sp: value(self.sp), lr: value(self.link) };
            let at = self.batch.insn.len() as u32;
            let events = cpu.exceptions.step(cpu.thread, state);
            self.batch.events.extend(events.into_iter().map(|event| (at, event)));
        }
        self.batch.insn.push(insn);
        self.batch.thread.push(cpu.thread);
        self.batch.condition.push(Condition::Unknown);
        self.batch.access_end.push(0);
        self.batch.register_end.push(self.batch.registers.len() as u32);
        self.steps += 1;
        if self.system_calls[insn as usize] {
            let ends = cpu.template.value(self.call) == Some(exit_call(isa).1);
            cpu.ended = ends && self.user_mode && self.with_cpus;
        }
        if self.batch.len() == BATCH { sink.steps(&mut self.batch) } else { Ok(()) }
    }

    /// Id of an instruction that is met for the first time, or was translated again: that is new
    /// only if its code is.
    fn instruction(&mut self, isa: Isa, pc: u64, thumb: bool) -> u32 {
        let def = define(isa, pc, thumb, self.listed.remove(&pc));
        let code = packed(&def.bytes);
        if let Some(&(id, before)) = self.known.get(&(pc, thumb))
            && (def.bytes.is_empty() || before == code)
        {
            return id;
        }
        let id = self.system_calls.len() as u32;
        self.system_calls.push(is_system_call(isa, &def.bytes));
        self.batch.new_insns.push(def);
        self.known.insert((pc, thumb), (id, code));
        id
    }

    /// The lines behind `IN:`; gives their length, None if the end is not there yet.
    fn listing(
        &mut self,
        rest: &[u8],
        offset: u64,
        last: bool,
    ) -> Result<Option<usize>, TraceError> {
        let mut at = 0;
        let mut first: Option<(u64, Listing)> = None;
        loop {
            let Some(end) = memchr::memchr(b'\n', &rest[at..]) else {
                if !last && rest.len() < LONGEST_DUMP {
                    return Ok(None);
                }
                break;
            };
            let line = &rest[at..at + end];
            let Some((address, digits, text)) = disassembly(line) else { break };
            at += end + 1;
            match &mut first {
                None => first = Some((address, Listing { digits, text })),
                // A long instruction's bytes go on in the next line.
                Some((_, listing)) if text.is_empty() => listing.digits.extend(digits),
                Some(_) => {
                    let message = "a block of several instructions has one register dump";
                    let remedy =
                        "record with -singlestep (newer versions: -one-insn-per-tb) and -d nochain";
                    return Err(self.problems.malformed_at(offset, message, remedy));
                }
            }
        }
        if let Some((address, listing)) = first {
            self.listed.insert(address, listing);
        }
        Ok(Some(at))
    }

    /// Gives the last steps.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps == 0 {
            let remedy = "record with `-d in_asm,cpu,nochain -singlestep`";
            return Err(self.problems.malformed_at(0, "no register dump in it", remedy));
        }
        sink.steps(&mut self.batch)
    }
}

/// What such a log carries at best.
pub fn carries() -> Carries {
    Carries {
        steps: true,
        opcodes: true,
        registers: true,
        registers_before: true,
        values: true,
        thumb: true,
        ..Carries::default()
    }
}

/// Length of the first dump, or of one of another layout: up to a line that begins something else;
/// None if its end is not there yet.
#[cold]
fn dump_end(rest: &[u8], last: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let Some(end) = memchr::memchr(b'\n', &rest[at..]) else {
            return (last || at > LONGEST_DUMP).then_some(rest.len());
        };
        at += end + 1;
        let next = &rest[at..];
        let ends = [&b"----"[..], b"IN:", b"Trace ", b"\n"].iter().any(|b| next.starts_with(b));
        if ends || begins(next) || at > LONGEST_DUMP {
            return Some(at);
        }
        if next.is_empty() && !last {
            return None;
        }
    }
}
