//! From dumps and listings to steps.

use super::dump::{Template, begins, dump_isa};
use super::exceptions::{self, Exceptions, State};
use super::listing::{Listing, define, disassembly, packed};
use super::prevented::{self, Image, Prevented};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Event, Isa, Keeps, StepBatch};
use crate::registers::registers;
use crate::trace::error::TraceError;
use crate::trace::exception_log::{self, Cause, ExceptionLog, Said, Taken};
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
const QUIET: [&[u8]; 4] = [b"----", b"Linking TBs ", b" V      =", b"cpu_io_recompile: "];
/// Behind the dump of a block that did not run.
const STOPPED: &[u8] = b"Stopped execution of TB chain ";

const FOREIGN: Kind =
    (Severity::Warning, "foreign-lines", "write the log to a file of its own with -D");
const LOST: &str = "the step was left out; let the recorder finish, and write the log to a file of its own with -D";
const CUT_DUMP: Kind = (Severity::Error, "truncated", LOST);
const DAMAGED_DUMP: Kind = (Severity::Error, "damaged-dump", LOST);
const MAYBE_RUN: Kind = (
    Severity::Warning,
    "interrupted-steps",
    "record with -d exec,int,cpu,in_asm,nochain: then the log says which instructions an interrupt prevented",
);

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
    /// Where the table of 32-bit ARM's vectors is, once one was entered.
    vectors: Option<u64>,
    /// Lines about its exceptions since its last step.
    log: ExceptionLog,
    last: Option<LastStep>,
    prevented: Prevented,
}

/// The last step of a CPU.
#[derive(Clone, Copy)]
struct LastStep {
    insn: u32,
    /// In the batch, if it is still there.
    row: Option<usize>,
    pc: u64,
    psr: u64,
    image: Image,
}

/// What is known of an instruction by its code.
#[derive(Clone, Copy)]
struct Facts {
    system_call: bool,
    /// It may be followed by itself with nothing changed.
    repeats: bool,
    /// On ARM's M profile it may be the return from an exception.
    returns: bool,
    /// On ARM's other profiles and RISC-V it is one.
    leaves: bool,
}

impl Facts {
    fn of(isa: Isa, thumb: bool, code: &[u8]) -> Facts {
        let halves = |i: usize| code.get(i..i + 2).map_or(0, |h| u16::from_le_bytes([h[0], h[1]]));
        let (first, second) = (halves(0), halves(2));
        let returns = match code.len() {
            // BX, POP; LDM and LDR of the program counter.
            2 => first & 0xff87 == 0x4700 || first & 0xff00 == 0xbd00,
            4 => first & 0xffd0 == 0xe890 && second >> 15 == 1 || first & 0xfff0 == 0xf850,
            _ => true,
        };
        let repeats = code.is_empty() || prevented::is_self_branch(isa, thumb, code);
        let leaves = match isa {
            Isa::Arm => exceptions::is_return(code, thumb),
            // mret, sret
            Isa::Riscv32 | Isa::Riscv64 => {
                matches!(code, [0x73, 0, 0x20, 0x30 | 0x10])
            }
            _ => false,
        };
        Facts { system_call: is_system_call(isa, code), repeats, returns, leaves }
    }
}

impl Cpu {
    fn new(index: u32, thread: u32) -> Cpu {
        Cpu {
            index,
            thread,
            template: Template::default(),
            ended: false,
            exceptions: Exceptions::default(),
            vectors: None,
            log: ExceptionLog::default(),
            last: None,
            prevented: Prevented::default(),
        }
    }
}

/// `Trace N: 0xHOST [CS_BASE/PC/FLAGS/CFLAGS] symbol`: whose dump comes next. CPUs that run at the
/// same time may both have said so before the first dump.
#[derive(Clone, Copy)]
pub struct Announced {
    pub index: u32,
    pub pc: Option<u64>,
}

impl Announced {
    pub fn parse(line: &[u8]) -> Option<Announced> {
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
    /// The CPU that lines about exceptions are of.
    saying: usize,
    /// Those with the stack pointer and the link register.
    sp: Option<usize>,
    link: Option<usize>,
    /// The log says whose each dump is.
    with_cpus: bool,
    user_mode: bool,
    /// By instruction.
    facts: Vec<Facts>,
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
            saying: 0,
            with_cpus: false,
            user_mode: false,
            facts: Vec::new(),
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
        if line.starts_with(STOPPED) {
            self.in_dump = false;
            return self.stopped();
        }
        if exception_log::is_of_exceptions(line) {
            self.in_dump = false;
            let index = exception_log::cpu(line);
            let of = |i: u32| self.cpus.iter().position(|c| c.index == i && !c.ended);
            if let Some(cpu) = index.map(|i| of(i).unwrap_or(self.current)) {
                self.saying = cpu;
            } else if !line.starts_with(b"...") {
                self.saying = self.current;
            }
            self.cpus[self.saying].log.line(line);
            return;
        }
        // Floating-point and system registers, in layouts of many kinds.
        let more = self.in_dump
            && (line.contains(&b'=') || line.starts_with(b" ") || line.starts_with(b"FPSCR"));
        let quiet = line.trim_ascii_end().is_empty() || QUIET.iter().any(|q| line.starts_with(q));
        if !more && !quiet {
            self.problems.add_once(sink, FOREIGN, Place::Byte(offset), || {
                let text = excerpt(line);
                format!("lines that are not of QEMU's log were left out, the first: `{text}`")
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
                "a register's value is not a number".into()
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
        let kernel = !self.user_mode;
        sink.begin(Carries { threads: self.with_cpus, kernel, ..carries() }, Some(isa))
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
        let cpu = &self.cpus[self.current];
        if let Some(last) = cpu.last
            && last.insn == insn
            && cpu.log.is_empty()
            && self.batch.register_end.last() == Some(&(self.batch.registers.len() as u32))
            && !self.facts[insn as usize].repeats
        {
            // Nothing has changed: the block was kept from running.
            return Ok(());
        }
        if self.batch.len() >= BATCH {
            self.hand_on(sink)?;
        }
        if self.batch.insn.is_empty() {
            self.batch.position = offset;
        }
        let now = self.last_step(insn, pc);
        if !self.user_mode {
            self.exceptions(isa, now);
        }
        let cpu = &mut self.cpus[self.current];
        cpu.last = Some(LastStep { row: Some(self.batch.len()), ..now });
        self.batch.insn.push(insn);
        self.batch.thread.push(cpu.thread);
        self.batch.condition.push(Condition::Unknown);
        self.batch.access_end.push(0);
        self.batch.register_end.push(self.batch.registers.len() as u32);
        self.steps += 1;
        if self.facts[insn as usize].system_call {
            let ends = cpu.template.value(self.call) == Some(exit_call(isa).1);
            cpu.ended = ends && self.user_mode && self.with_cpus;
        }
        Ok(())
    }

    /// What the current dump says of the step that it is of.
    fn last_step(&self, insn: u32, pc: u64) -> LastStep {
        let template = &self.cpus[self.current].template;
        let pstate = || template.beside(b"PSTATE=").filter(|_| !self.user_mode);
        let psr = template.value(self.psr).or_else(pstate).unwrap_or(0);
        let hash = if self.user_mode { 0 } else { template.hash() };
        let level = if template.is_m_profile() { psr & exceptions::NUMBER } else { psr & I_MASK };
        let sp = template.value(self.sp).unwrap_or(0);
        LastStep { insn, row: None, pc, psr, image: Image { hash, pc, sp, level } }
    }

    /// What happened between the last step of the current CPU and the one that is to be added.
    fn exceptions(&mut self, isa: Isa, now: LastStep) {
        let cpu = &mut self.cpus[self.current];
        let said: Vec<Said> = cpu.log.take().collect();
        let thread = cpu.thread;
        let before = cpu.last;
        let mut events: Vec<Event> = said.iter().map(|said| said.event(thread)).collect();
        let mut taken = said.iter().find_map(|said| match said {
            Said::Taken(taken) => Some(*taken),
            Said::Returned => None,
        });
        if cpu.template.is_m_profile() {
            let value = |field| cpu.template.value(field).unwrap_or(0);
            let (sp, lr) = (now.image.sp, value(self.link));
            let state = State { number: now.psr & exceptions::NUMBER, pc: now.pc, sp, lr };
            let returns = before.is_some_and(|last| self.facts[last.insn as usize].returns);
            // Dumps do not show a handler of which no step ran.
            events = match said.as_slice() {
                [] => cpu.exceptions.step(thread, state, returns),
                said => cpu.exceptions.told(thread, state, said),
            };
            // Where one has ended first, the last step was its end, and ran.
            let first = events.iter().find(|event| !matches!(event, Event::SystemCall(_)));
            let entry = first.and_then(|event| match event {
                Event::ExceptionEntry(entry) => Some(entry.number.unwrap_or(0)),
                _ => None,
            });
            taken = entry.map(|number| {
                let cause = match number {
                    3..=7 => Cause::Fault,
                    11 | 12 => Cause::Asked,
                    _ => Cause::Interrupt,
                };
                Taken { cause, number, resume: None, keeps: Keeps::LongFrame }
            });
        } else if let Some(last) = before {
            taken = match isa {
                Isa::Arm => {
                    let lr = cpu.template.value(self.link).unwrap_or(0);
                    let seen = exceptions::vector((last.psr, last.pc), (now.psr, now.pc), lr);
                    let table = Some(now.pc & !0x1f);
                    let leaves = self.facts[last.insn as usize].leaves;
                    let seen = seen.filter(|_| !leaves || cpu.vectors == table);
                    if seen.is_some() {
                        self.cpus[self.current].vectors = table;
                    }
                    if let Some(seen) = seen.filter(|_| said.is_empty()) {
                        events.push(Said::Taken(seen).event(thread));
                    }
                    // The lines do not say where it goes on.
                    seen.filter(|seen| taken.is_none_or(|t| t.cause == seen.cause)).or(taken)
                }
                Isa::Aarch64 if taken.is_none() && aarch64_vector(&last, &now) => {
                    let (cause, keeps) = (Cause::Interrupt, Keeps::None);
                    Some(Taken { cause, number: 0, resume: None, keeps })
                }
                Isa::Riscv32 | Isa::Riscv64 if taken.is_none() => {
                    let seen = riscv_trap(cpu, &last, &now);
                    // The next one before anything of what goes on.
                    let chained = seen.filter(|_| self.facts[last.insn as usize].leaves);
                    events.extend(chained.map(|seen| Said::Taken(seen).event(thread)));
                    seen
                }
                _ => taken,
            };
        }
        let at = self.batch.len() as u32;
        let (mut stored, mut taken_back) = (None, None);
        for event in &events {
            match event {
                Event::ExceptionEntry(entry) => stored = stored.or(entry.frame),
                Event::ExceptionReturn { frame, .. } => taken_back = *frame,
                _ => {}
            }
        }
        self.batch.events.extend(events.into_iter().map(|event| (at, event)));
        if let (Some(taken), Some(last)) = (taken, before) {
            self.interrupted(taken, last, stored);
        }
        let cpu = &mut self.cpus[self.current];
        if !cpu.prevented.is_empty()
            && let Some(row) = cpu.prevented.look(now.image, taken_back)
        {
            self.remove(row);
        }
    }

    /// An exception was taken behind a step, which may not have run.
    fn interrupted(&mut self, taken: Taken, last: LastStep, frame: Option<u64>) {
        let Some(row) = last.row else { return };
        let same = taken.resume.is_none_or(|resume| resume == last.pc);
        match taken.cause {
            Cause::Interrupt if !same || self.facts[last.insn as usize].repeats => {}
            Cause::Interrupt if taken.resume.is_some() && !self.with_cpus => self.remove(row),
            // With exec the log says so.
            Cause::Interrupt if self.with_cpus => {}
            Cause::Interrupt => self.cpus[self.current].prevented.hold(row, last.image, frame),
            Cause::Fault if same => self.batch.condition[row] = Condition::Failed,
            Cause::Fault | Cause::Asked | Cause::Other => {}
        }
    }

    /// The block of the current CPU's last dump did not run.
    fn stopped(&mut self) {
        let last = self.cpus[self.current].last.take();
        if let Some(row) = last.and_then(|last| last.row) {
            self.remove(row);
        }
    }

    /// Takes a step back.
    fn remove(&mut self, row: usize) {
        prevented::remove(&mut self.batch, row);
        self.steps -= 1;
        for cpu in &mut self.cpus {
            cpu.prevented.removed(row);
            cpu.last = cpu.last.filter(|last| last.row != Some(row));
            let last = cpu.last.as_mut().and_then(|last| last.row.as_mut());
            last.into_iter().filter(|at| **at > row).for_each(|at| *at -= 1);
        }
    }

    /// Gives the steps of which it is known that they ran.
    fn hand_on(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let rows = self.batch.len();
        let held = self.cpus.iter_mut().filter_map(|cpu| cpu.prevented.first(rows));
        let keep = held.min().unwrap_or(rows - 1).min(rows - 1);
        if keep < rows / 2 {
            // There is time until so many again have come.
            let most = 2 * BATCH;
            if rows < most || !rows.is_multiple_of(BATCH) {
                return Ok(());
            }
        }
        let rest = self.batch.split_off(keep);
        sink.steps(&mut self.batch)?;
        self.batch = rest;
        for cpu in &mut self.cpus {
            cpu.prevented.shift(keep);
            if let Some(last) = &mut cpu.last {
                last.row = last.row.and_then(|row| row.checked_sub(keep));
            }
        }
        Ok(())
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
        let id = self.facts.len() as u32;
        self.facts.push(Facts::of(isa, thumb, &def.bytes));
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
            // RISC-V's privilege.
            if first.is_none() && line.starts_with(b"Priv: ") {
                at += end + 1;
                continue;
            }
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
        self.cpus.iter_mut().for_each(|cpu| cpu.prevented.forget());
        let unknown: u64 = self.cpus.iter().map(|cpu| cpu.prevented.unknown).sum();
        if unknown > 0 {
            self.problems.add(sink, MAYBE_RUN, Place::Byte(0), || {
                format!("of {unknown} instructions that an interrupt followed the log does not say whether they ran; taken as run")
            });
        }
        sink.steps(&mut self.batch)
    }
}

/// Masks of interrupts in AArch64's status register, of which exceptions set all.
const DAIF: u64 = 0x3c0;
const I_MASK: u64 = 0x80;

/// Whether an interrupt was taken between two steps: it goes to an entry of the table of vectors and
/// masks all others.
fn aarch64_vector(last: &LastStep, now: &LastStep) -> bool {
    now.pc & 0x7f == 0 && now.pc != last.pc + 4 && now.psr & DAIF == DAIF && last.psr & I_MASK == 0
}

/// The interrupt that was taken between two steps, by the control registers.
fn riscv_trap(cpu: &Cpu, last: &LastStep, now: &LastStep) -> Option<Taken> {
    if (2..=4).contains(&now.pc.wrapping_sub(last.pc)) {
        return None;
    }
    let beside = |name: &[u8]| cpu.template.beside(name);
    let (base, cause) = (beside(b" mtvec ")?, beside(b" mcause ")?);
    let vector = if base & 1 == 1 { (cause & 0xff) * 4 } else { 0 };
    let async_bit = if cpu.template.is_wide() { 1 << 63 } else { 1 << 31 };
    let there = now.pc == (base & !3).wrapping_add(vector) && cause & async_bit != 0;
    let number = (cause & 0xffff) as u32;
    let (cause, keeps) = (Cause::Interrupt, Keeps::None);
    there.then(|| Taken { cause, number, resume: beside(b" mepc "), keeps })
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
