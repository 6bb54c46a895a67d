//! What the formats with a line an instruction share: opcodes, registers by their names, and rows
//! made of records.

use super::error::TraceError;
use super::number::{hex, hex_digits, without_prefix};
use super::problems::Kind;
use super::reader::Sink;
use crate::diagnostics::Severity;
use crate::event::{
    Carries, Condition, Event, InsnDef, Isa, LoggedAccess, RegSpan, RegUse, StepBatch,
};
use crate::registers::{Registers, registers};
use rustc_hash::FxHashMap;

/// Steps of a batch.
const BATCH: usize = 1 << 15;
/// CPUs of a log at most: each has a register file.
const CPUS: usize = 1 << 12;
pub const TOO_MANY_CPUS: Kind =
    (Severity::Error, "too-many-cpus", "up to 4096 are read; is that field the CPU or thread?");
/// Names of registers that are remembered at most; there are more only in a log of another kind.
const NAMES: usize = 1 << 12;
/// Instructions that are found without a hash.
const RECENT: usize = 1 << 14;
/// Bytes of an opcode at most.
pub const LONGEST_OPCODE: usize = 16;

/// What a line can say of an instruction.
pub fn all() -> Carries {
    Carries {
        steps: true,
        opcodes: true,
        accesses: true,
        registers: true,
        values: true,
        time: true,
        threads: true,
        thumb: true,
        ..Carries::default()
    }
}

/// An instruction set by one of its names.
pub fn isa_named(name: &str) -> Option<Isa> {
    Some(match name.to_ascii_lowercase().as_str() {
        "x86_64" | "x86-64" | "amd64" => Isa::X86_64,
        "x86" | "i386" | "i686" => Isa::X86,
        "arm" | "arm7" | "armv7" | "armv4t" | "thumb" => Isa::Arm,
        "aarch64" | "arm64" => Isa::Aarch64,
        "riscv32" | "rv32" => Isa::Riscv32,
        "riscv64" | "rv64" => Isa::Riscv64,
        _ => return None,
    })
}

/// The name by which [`isa_named`] knows it.
pub fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::X86_64 => "x86_64",
        Isa::X86 => "x86",
        Isa::Arm => "arm",
        Isa::Aarch64 => "aarch64",
        Isa::Riscv32 => "riscv32",
        Isa::Riscv64 => "riscv64",
    }
}

pub const ISA_NAMES: &str = "x86_64, x86, arm, aarch64, riscv32, riscv64";

/// Bytes of an instruction in memory order, and how many.
pub type Opcode = ([u8; LONGEST_OPCODE], usize);

/// An opcode as digits, in memory order.
///
/// Processors with instructions of two or four bytes print them as numbers, a Thumb instruction of
/// four bytes as its two halves one after the other; x86 prints bytes. None if it has no whole
/// number of bytes, or none that the instruction set has.
pub fn opcode(digits: &[u8], isa: Isa, thumb: bool) -> Option<Opcode> {
    let digits = without_prefix(digits);
    let size = digits.len() / 2;
    let fits = match isa {
        Isa::X86 | Isa::X86_64 => (1..=15).contains(&size),
        Isa::Arm | Isa::Riscv32 | Isa::Riscv64 => size == 2 || size == 4,
        Isa::Aarch64 => size == 4,
    };
    if !digits.len().is_multiple_of(2) || !fits {
        return None;
    }
    let mut bytes = [0; LONGEST_OPCODE];
    if size <= 8 {
        bytes[..size].copy_from_slice(&hex_digits(digits)?.to_be_bytes()[8 - size..]);
    } else {
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::try_from(hex_digits(pair)?).ok()?;
        }
    }
    if isa == Isa::Arm && thumb && size == 4 {
        bytes[..2].reverse();
        bytes[2..4].reverse();
    } else if !matches!(isa, Isa::X86 | Isa::X86_64) {
        bytes[..size].reverse();
    }
    Some((bytes, size))
}

/// Spans of registers by the names in a log.
pub struct Names {
    file: &'static Registers,
    known: FxHashMap<Vec<u8>, Option<RegSpan>>,
    /// (name, span) at each place of a line: nearly always that of the line before.
    places: Vec<(Vec<u8>, Option<RegSpan>)>,
}

impl Names {
    pub fn new(isa: Isa) -> Names {
        Names { file: registers(isa), known: FxHashMap::default(), places: Vec::new() }
    }

    /// The register that is the `place`th of its line; `Err` the first time that a name is met that
    /// is no register.
    pub fn span(&mut self, place: usize, name: &[u8]) -> Result<Option<RegSpan>, ()> {
        if let Some((before, span)) = self.places.get(place)
            && before == name
        {
            return Ok(*span);
        }
        let known = self.known.get(name).copied();
        let span = known
            .unwrap_or_else(|| std::str::from_utf8(name).ok().and_then(|n| self.file.lookup(n)));
        if known.is_none() && self.known.len() < NAMES {
            self.known.insert(name.to_vec(), span);
        }
        if place < self.places.len() {
            self.places[place].0.clear();
            self.places[place].0.extend_from_slice(name);
            self.places[place].1 = span;
        } else if place == self.places.len() && place < 256 {
            self.places.push((name.to_vec(), span));
        }
        if span.is_none() && known.is_none() { Err(()) } else { Ok(span) }
    }
}

/// Appends a register's value as pieces of 8 bytes or less; false if the digits are none or too
/// many for it.
pub fn pieces(span: RegSpan, text: &[u8], out: &mut Vec<(RegSpan, u64)>) -> bool {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    if text.len() > 128 {
        return false;
    }
    if span.size <= 8 {
        let mask = u64::MAX >> (64 - 8 * u32::from(span.size.clamp(1, 8)));
        // A log may print a narrow register in a wide field.
        let Some(value) = hex(text) else { return false };
        out.push((span, value & mask));
        return true;
    }
    let mut digits = text;
    let mut done = 0;
    while done < span.size && !digits.is_empty() {
        let from = digits.len().saturating_sub(16);
        let Some(value) = hex(&digits[from..]) else { return false };
        let size = (span.size - done).min(8);
        out.push((
            RegSpan { offset: span.offset + done, size },
            value & u64::MAX >> (64 - 8 * u32::from(size)),
        ));
        digits = &digits[..from];
        done += size;
    }
    // Fewer digits than the register has: the rest is zero.
    while done > 0 && done < span.size {
        let size = (span.size - done).min(8);
        out.push((RegSpan { offset: span.offset + done, size }, 0));
        done += size;
    }
    done > 0 && digits.is_empty()
}

/// What a line says of a step.
#[derive(Clone, Copy, Default)]
pub struct Record<'a> {
    pub line: u64,
    pub time: u64,
    pub cpu: u32,
    pub pc: u64,
    pub opcode: Opcode,
    pub thumb: bool,
    pub text: &'a [u8],
    pub condition: Condition,
}

/// Lists that belong to a record; kept by the reader so that no line allocates.
#[derive(Default)]
pub struct Lists {
    /// Register values before the instruction.
    pub before: Vec<(RegSpan, u64)>,
    /// Register values after it.
    pub after: Vec<(RegSpan, u64)>,
    pub accesses: Vec<LoggedAccess>,
    /// Registers that the log flags as read or written.
    pub flags: Vec<(RegSpan, RegUse)>,
}

impl Lists {
    /// The values before the instruction, or after it.
    pub fn values(&mut self, before: bool) -> &mut Vec<(RegSpan, u64)> {
        if before { &mut self.before } else { &mut self.after }
    }

    pub fn clear(&mut self) {
        self.before.clear();
        self.after.clear();
        self.accesses.clear();
        self.flags.clear();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    pc: u64,
    bytes: u128,
    size: usize,
    thumb: bool,
    flags: u32,
}

/// Turns records into rows: the dictionary of instructions, and register values as changes.
pub struct Steps {
    file: &'static Registers,
    /// Rows list register values before the instruction; values after it wait for the thread's next
    /// row.
    registers_before: bool,
    /// The log has flags, so a line without is an instruction that touches no register.
    flagged: bool,
    with_time: bool,
    /// Every value that a line gives is listed, also one that is as before.
    all_values: bool,
    known: FxHashMap<Key, u32>,
    /// Instructions that were met last, by their address: (key, id).
    recent: Vec<Option<(Key, u32)>>,
    flags: FxHashMap<Box<[(RegSpan, RegUse)]>, u32>,
    /// The list of no flags.
    no_flags: Option<u32>,
    threads: Vec<Thread>,
    thread_index: FxHashMap<u32, usize>,
    /// The CPU of the last row, and its place.
    last_thread: (u32, usize),
    batch: StepBatch,
    /// Address of the last row's instruction.
    last: u64,
    pub count: u64,
}

#[derive(Default)]
struct Thread {
    /// By register offset: size of the value that was listed last (0: none), and the value.
    values: Vec<(u16, u64)>,
    waiting: Vec<(RegSpan, u64)>,
}

impl Steps {
    pub fn new(isa: Isa, registers_before: bool, flagged: bool, with_time: bool) -> Steps {
        Steps {
            file: registers(isa),
            registers_before,
            flagged,
            with_time,
            all_values: false,
            known: FxHashMap::default(),
            recent: std::iter::repeat_with(|| None).take(RECENT).collect(),
            flags: FxHashMap::default(),
            no_flags: None,
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            last_thread: (0, usize::MAX),
            batch: StepBatch::default(),
            last: 0,
            count: 0,
        }
    }

    /// For a log in which a register that was written is known by its value only
    /// ([`crate::event::Carries::written_values`]).
    pub fn with_all_values(self, all_values: bool) -> Steps {
        Steps { all_values, ..self }
    }

    /// Whether rows list register values as they are before the instruction.
    pub fn registers_before(&self) -> bool {
        self.registers_before
    }

    /// Whether there is room for a CPU.
    pub fn admits(&self, cpu: u32) -> bool {
        self.threads.len() < CPUS || self.thread_index.contains_key(&cpu)
    }

    /// The place of a CPU among the threads.
    #[inline]
    fn thread(&mut self, cpu: u32) -> usize {
        if self.last_thread.0 != cpu || self.last_thread.1 >= self.threads.len() {
            let next = self.threads.len();
            let place = *self.thread_index.entry(cpu).or_insert(next);
            if place == next {
                self.threads.push(Thread::default());
            }
            self.last_thread = (cpu, place);
        }
        self.last_thread.1
    }

    /// Appends a row. Values before the instruction are wanted only where rows list such.
    pub fn push(
        &mut self,
        record: &Record,
        lists: &mut Lists,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        if self.batch.len() == BATCH {
            sink.steps(&mut self.batch)?;
        }
        let insn = self.instruction(record, &lists.flags);
        if self.batch.is_empty() {
            self.batch.position = record.line;
        }
        let batch = &mut self.batch;
        batch.insn.push(insn);
        batch.thread.push(record.cpu);
        batch.condition.push(record.condition);
        if self.with_time {
            batch.time.push(record.time);
        }
        batch.accesses.append(&mut lists.accesses);
        batch.access_end.push(batch.accesses.len() as u32);
        let thread = self.thread(record.cpu);
        let Steps { batch, threads, file, .. } = self;
        let Thread { values, waiting } = &mut threads[thread];
        if !self.registers_before {
            lists.before.clear();
            lists.before.append(&mut lists.after);
        }
        let out = &mut batch.registers;
        if self.all_values {
            out.append(waiting);
            out.append(&mut lists.before);
        } else {
            let changes = waiting.drain(..).chain(lists.before.drain(..));
            changes.for_each(|(span, value)| change(values, file, span, value, out));
        }
        waiting.append(&mut lists.after);
        batch.register_end.push(batch.registers.len() as u32);
        self.last = record.pc;
        self.count += 1;
        Ok(())
    }

    fn instruction(&mut self, record: &Record, flags: &[(RegSpan, RegUse)]) -> u32 {
        let list = match self.no_flags.filter(|_| flags.is_empty()) {
            Some(list) => list,
            None => {
                let next = self.flags.len() as u32;
                let list = match self.flags.get(flags) {
                    Some(&list) => list,
                    None => {
                        self.flags.insert(flags.into(), next);
                        next
                    }
                };
                if flags.is_empty() {
                    self.no_flags = Some(list);
                }
                list
            }
        };
        let (bytes, size) = record.opcode;
        let key = Key {
            pc: record.pc,
            bytes: u128::from_le_bytes(bytes),
            size,
            thumb: record.thumb,
            flags: list,
        };
        let place = (record.pc >> 1) as usize % RECENT;
        if let Some((recent, id)) = &self.recent[place]
            && *recent == key
        {
            return *id;
        }
        let next = self.known.len() as u32;
        let id = *self.known.entry(key).or_insert(next);
        self.recent[place] = Some((key, id));
        if id == next {
            let text = String::from_utf8_lossy(record.text)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            self.batch.new_insns.push(InsnDef {
                address: record.pc,
                bytes: bytes[..size].to_vec(),
                size: size as u8,
                thumb: record.thumb,
                text: (!text.is_empty()).then(|| text.into()),
                log_registers: self.flagged.then(|| flags.into()),
            });
        }
        id
    }

    /// Something happens behind the rows so far.
    pub fn event(&mut self, event: Event) {
        self.batch.events.push((self.batch.len() as u32, event));
    }

    /// Gives the last rows.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        sink.steps(&mut self.batch)
    }
}

/// Lists a value unless it is what was listed last of these bytes.
fn change(
    values: &mut Vec<(u16, u64)>,
    file: &Registers,
    span: RegSpan,
    value: u64,
    out: &mut Vec<(RegSpan, u64)>,
) {
    if values.is_empty() {
        values.resize(file.size + 1, (0, 0));
    }
    let offset = usize::from(span.offset);
    match values.get(offset) {
        Some(&(size, before)) if size == span.size && before == value => return,
        None => return,
        Some(_) => {}
    }
    // What was listed of other parts of the same register is not its value any more.
    if let Some(register) = file.at(span.offset) {
        let start = usize::from(register.span.offset);
        let end = (start + usize::from(register.span.size)).min(values.len());
        for (i, entry) in values[start..end].iter_mut().enumerate() {
            let other = start + i;
            if other < offset + usize::from(span.size) && offset < other + usize::from(entry.0) {
                *entry = (0, 0);
            }
        }
    }
    values[offset] = (span.size, value);
    out.push((span, value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_in_memory_order() {
        let bytes = |digits: &str, isa, thumb| {
            opcode(digits.as_bytes(), isa, thumb).map(|(b, n)| b[..n].to_vec())
        };
        assert_eq!(bytes("e92d4010", Isa::Arm, false), Some(vec![0x10, 0x40, 0x2d, 0xe9]));
        assert_eq!(bytes("b510", Isa::Arm, true), Some(vec![0x10, 0xb5]));
        assert_eq!(bytes("f8df1234", Isa::Arm, true), Some(vec![0xdf, 0xf8, 0x34, 0x12]));
        assert_eq!(bytes("0x00001197", Isa::Riscv64, false), Some(vec![0x97, 0x11, 0, 0]));
        assert_eq!(bytes("49 89", Isa::X86_64, false), None);
        assert_eq!(bytes("4989d1", Isa::X86_64, false), Some(vec![0x49, 0x89, 0xd1]));
        assert_eq!(bytes("d5", Isa::Aarch64, false), None);
        assert_eq!(bytes("d50_201f", Isa::Aarch64, false), None);
    }

    #[test]
    fn wide_registers_come_in_pieces() {
        let span = RegSpan { offset: 32, size: 16 };
        let mut out = Vec::new();
        assert!(pieces(span, b"00112233445566778899aabbccddeeff", &mut out));
        assert_eq!(
            out,
            [
                (RegSpan { offset: 32, size: 8 }, 0x8899aabbccddeeff),
                (RegSpan { offset: 40, size: 8 }, 0x0011223344556677)
            ]
        );
        out.clear();
        assert!(pieces(span, b"5", &mut out));
        assert_eq!(out[1], (RegSpan { offset: 40, size: 8 }, 0));
        assert!(!pieces(span, b"112233445566778899aabbccddeeff001122", &mut out));
        assert!(!pieces(span, b"", &mut out));
    }

    #[test]
    fn a_value_is_listed_when_its_bytes_changed() {
        let file = registers(Isa::X86_64);
        let span = |name| file.lookup(name).unwrap();
        let (mut values, mut out) = (Vec::new(), Vec::new());
        for (name, value, listed) in [
            ("rax", 1, true),
            ("rax", 1, false),
            ("ah", 7, true),
            ("rax", 1, true),
            ("eax", 1, true),
            ("ah", 7, true),
            ("ah", 7, false),
        ] {
            out.clear();
            change(&mut values, file, span(name), value, &mut out);
            assert_eq!(!out.is_empty(), listed, "{name}={value}");
        }
    }
}
