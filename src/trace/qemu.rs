//! QEMU, user or system mode, one instruction a block: `-d in_asm,cpu[,exec],nochain -singlestep`
//! (`-one-insn-per-tb` in newer ones).
//!
//! A block's disassembly (`IN:`) comes once, when it is translated; before each execution all
//! registers are dumped, in lines whose layout never changes within a log. So the first dump gives
//! a template - which bytes are whose digits - and later ones are compared with the one before, 16
//! bytes at a time: only what differs is parsed.

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::each_chunk;
use super::number::hex_digits;
use super::problems::{Kind, Problems, excerpt};
use super::reader::{Context, Format, Sink, StepFormat};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, InsnDef, Isa, RegSpan, StepBatch};
use crate::isa;
use rustc_hash::FxHashMap;

const CHUNK: usize = 1 << 20;
/// Steps of a batch.
const BATCH: usize = 1 << 15;
/// Beginnings of lines that say nothing of the program.
const QUIET: [&[u8]; 4] = [b"----", b"Trace ", b"Linking TBs ", b"Stopped execution of TB chain "];
const FOREIGN: Kind =
    (Severity::Warning, "foreign-lines", "write the log to a file of its own with -D");
const LOST: &str = "the step was left out; let the recorder finish, and write the log to a file of its own with -D";
/// Bytes of a register dump at most.
const LONGEST_DUMP: usize = 16 << 10;
/// Bytes of a dump that are compared at a time.
const WORD: usize = 16;
pub struct Qemu;

impl Format for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }
    fn about(&self) -> &'static str {
        "QEMU's -d in_asm,cpu log: opcode, disassembly and all registers before each instruction"
    }
    fn record(&self) -> &'static str {
        "qemu-arm -singlestep -d nochain,cpu,in_asm -D app.log ./app"
    }
    fn carries(&self) -> Carries {
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
    fn help(&self) -> &'static str {
        "One translated block an instruction: -singlestep, or -one-insn-per-tb in newer versions, with -d nochain. Without them\n\
         QEMU dumps registers once for several instructions, which is refused. ARM, AArch64, RISC-V, x86 and x86-64.\n\
         Memory accesses are computed from the operands and the register values. Values of vector and floating-point registers are\n\
         not in the log (integer registers are). Threads are not marked; what system calls stored is not in it. ARM's kernel helpers\n\
         (from 0xffff0f00) are one function, <kernel helper>, with their documented effects."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let mut dumps = 0;
        let mut listings = 0;
        for line in head.split(|&b| b == b'\n') {
            dumps += (dump_isa(line).is_some()) as u32;
            listings += (line.starts_with(b"IN: ") || line == b"IN:") as u32;
        }
        // A log with `-d cpu` alone has no listings: its first line is a dump's, with more than one
        // value.
        let first = head.split(|&b| b == b'\n').next().unwrap_or_default();
        let dumped = dump_isa(first).is_some() && first.trim_ascii().len() > 12;
        dumps > 0 && (listings > 0 || head.starts_with(b"Trace ") || dumped)
    }
}

impl StepFormat for Qemu {
    fn read(
        &self,
        input: Input,
        _context: &Context,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        read(input, CHUNK, sink)
    }
}

/// Reads a log in chunks of about that many bytes.
fn read(input: Input, chunk: usize, sink: &mut dyn Sink) -> Result<(), TraceError> {
    let mut reader = Reader::new(Problems::new(input.locator()));
    let mut rest: Vec<u8> = Vec::new();
    let mut offset = 0;
    each_chunk(input, chunk, sink, |chunk, sink| {
        // What the chunk before began is joined with as much of this one as ends it, so that little
        // is copied.
        let mut at = 0;
        while !rest.is_empty() && at < chunk.len() {
            let before = rest.len();
            let few = &chunk[at..(at + LONGEST_DUMP).min(chunk.len())];
            let lines = memchr::memrchr(b'\n', few).map_or(chunk.len(), |end| at + end + 1);
            let more = &chunk[at..lines];
            rest.extend_from_slice(more);
            let used = reader.parse(&rest, offset, false, sink)?;
            offset += used as u64;
            if used >= before {
                at += used - before;
                rest.clear();
            } else {
                at += more.len();
                rest.drain(..used);
            }
        }
        if rest.is_empty() {
            let used = reader.parse(&chunk[at..], offset, false, sink)?;
            offset += used as u64;
            rest.extend_from_slice(&chunk[at + used..]);
        }
        Ok::<_, TraceError>(())
    })?;
    reader.parse(&rest, offset, true, sink)?;
    reader.finish(sink)
}

/// Instruction set of a log by the line that begins a dump.
fn dump_isa(line: &[u8]) -> Option<Isa> {
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

/// The bytes of a word as a number, for comparing.
#[inline]
fn number(word: &[u8]) -> u128 {
    word.try_into().map_or_else(
        |_| {
            let mut whole = [0; WORD];
            whole[..word.len()].copy_from_slice(word);
            u128::from_le_bytes(whole)
        },
        u128::from_le_bytes,
    )
}

#[derive(Clone, Copy)]
struct Field {
    start: usize,
    len: usize,
    span: RegSpan,
}

/// Layout of a dump.
#[derive(Default)]
struct Template {
    /// The dump before, the first time as it was.
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// What the fields say.
    values: Vec<u64>,
    /// Per byte: index + 1 of its field, 0 for what is no register.
    owner: Vec<u16>,
    /// Offsets of line ends.
    ends: Vec<usize>,
    /// Number of the field that holds it.
    pc: Option<usize>,
    psr: Option<usize>,
}

/// Where a dump ends, and whether it is laid out like the first one.
#[derive(Clone, Copy)]
struct Extent {
    length: usize,
    same: bool,
}

struct Reader {
    problems: Problems,
    isa: Option<Isa>,
    template: Template,
    /// (address, Thumb) of each known instruction: its id and its code as [`packed`] has it.
    known: FxHashMap<(u64, bool), (u32, u128)>,
    /// Listings by address that no step has used yet.
    listed: FxHashMap<u64, Listing>,
    insns: u32,
    batch: StepBatch,
    steps: u64,
    /// The lines are those behind a dump's registers.
    in_dump: bool,
}

struct Listing {
    digits: Vec<u8>,
    text: String,
}

impl Reader {
    fn new(problems: Problems) -> Reader {
        Reader {
            problems,
            isa: None,
            template: Template::default(),
            known: FxHashMap::default(),
            listed: FxHashMap::default(),
            insns: 0,
            batch: StepBatch::default(),
            steps: 0,
            in_dump: false,
        }
    }

    /// Parses what is complete in `bytes`; gives how many bytes that was.
    fn parse(
        &mut self,
        bytes: &[u8],
        offset: u64,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<usize, TraceError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            // A dump like the one before: what nearly every line is.
            if dump_isa(&rest[..rest.len().min(32)]).is_some() {
                let Some(extent) = self.extent(rest, last) else { break };
                let cut = last && extent.length == rest.len() && !rest.ends_with(b"\n");
                at +=
                    self.step(&rest[..extent.length], extent.same, offset + at as u64, cut, sink)?;
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
                match self.listing(&rest[end + 1..], offset + at as u64, last)? {
                    Some(len) => at += end + 1 + len,
                    None => break,
                }
                continue;
            }
            if line.starts_with(b"----") || line.starts_with(b"Trace ") {
                self.in_dump = false;
            }
            // Floating-point and system registers, in layouts of many kinds.
            let more = self.in_dump
                && (line.contains(&b'=') || line.starts_with(b" ") || line.starts_with(b"FPSCR"));
            if !more
                && line.trim_ascii_end() != b""
                && !QUIET.iter().any(|start| line.starts_with(start))
            {
                self.problems.add_once(sink, FOREIGN, Place::Byte(offset + at as u64), || {
                    let text = excerpt(line);
                    format!("lines that are none of QEMU's log were left out, the first: `{text}`")
                });
            }
            at += end + 1;
        }
        Ok(at)
    }

    /// The dump at the start of `rest`; None: its end is not there yet.
    #[inline]
    fn extent(&self, rest: &[u8], last: bool) -> Option<Extent> {
        let t = &self.template;
        let length = t.bytes.len();
        if length > 0 && rest.len() >= length && t.ends.iter().all(|&e| rest[e] == b'\n') {
            return Some(Extent { length, same: true });
        }
        self.other(rest, last).map(|length| Extent { length, same: false })
    }

    /// Length of the first dump, or of one of another layout: up to a line that begins something
    /// else.
    #[cold]
    fn other(&self, rest: &[u8], last: bool) -> Option<usize> {
        let mut at = 0;
        loop {
            let Some(end) = memchr::memchr(b'\n', &rest[at..]) else {
                return (last || at > LONGEST_DUMP).then_some(rest.len());
            };
            at += end + 1;
            let next = &rest[at..];
            let ends = next.starts_with(b"----")
                || next.starts_with(b"IN:")
                || next.starts_with(b"Trace ")
                || next.starts_with(b"\n");
            if ends || dump_isa(&next[..next.len().min(32)]).is_some() || at > LONGEST_DUMP {
                return Some(at);
            }
            if next.is_empty() && !last {
                return None;
            }
        }
    }

    /// Reads the first dump's layout.
    fn learn(&mut self, dump: &[u8], isa: Isa) {
        let file = isa::registers(isa);
        let mut t =
            Template { bytes: dump.to_vec(), owner: vec![0; dump.len()], ..Template::default() };
        let mut start = 0;
        for line in dump.split_inclusive(|&b| b == b'\n') {
            let mut add = |name: &[u8], from: usize, len: usize| {
                let name = String::from_utf8_lossy(name).trim().to_string();
                // What is behind x86's segments (control registers, lazy flags) varies in length
                // and is no data.
                let system = name.starts_with("CR") || name.starts_with("DR");
                // `R07`, `X07`, `s07`
                let short = match name.as_bytes() {
                    [letter, b'0', digit] => format!("{}{}", *letter as char, *digit as char),
                    _ => name.clone(),
                };
                if let Some(span) = file.lookup(&short).filter(|s| s.size <= 8 && !system) {
                    t.fields.push(Field { start: from, len, span });
                    t.owner[from..from + len].fill(t.fields.len() as u16);
                }
            };
            if matches!(isa, Isa::Riscv32 | Isa::Riscv64) {
                // ` x1/ra    0000` and ` pc       0000`: name, blanks, digits.
                let mut words = Vec::new();
                let mut from = None;
                for (i, b) in line.iter().enumerate() {
                    match (b.is_ascii_whitespace(), from) {
                        (false, None) => from = Some(i),
                        (true, Some(f)) => {
                            words.push((f, i));
                            from = None;
                        }
                        _ => {}
                    }
                }
                for pair in words.chunks_exact(2) {
                    let name = &line[pair[0].0..pair[0].1];
                    let name = name.split(|&b| b == b'/').next().unwrap_or(name);
                    let value = pair[1];
                    if hex_digits(&line[value.0..value.1]).is_some() {
                        add(name, start + value.0, value.1 - value.0);
                    }
                }
            } else {
                for (i, _) in line.iter().enumerate().filter(|(_, b)| **b == b'=') {
                    let mut name = i;
                    while name > 0 && line[name - 1] == b' ' {
                        name -= 1;
                    }
                    let name_end = name;
                    while name > 0
                        && (line[name - 1].is_ascii_alphanumeric() || line[name - 1] == b'_')
                    {
                        name -= 1;
                    }
                    let mut value = i + 1;
                    let segment = matches!(&line[name..name_end], b"FS" | b"GS");
                    if segment {
                        // `FS =0000 base limit flags`
                        while value < line.len() && line[value] != b' ' {
                            value += 1;
                        }
                        value += 1;
                    }
                    let len = line[value.min(line.len())..]
                        .iter()
                        .take_while(|b| b.is_ascii_hexdigit())
                        .count();
                    // Damaged digits would make a shorter field, and wrong values from then on.
                    let whole = line.get(value + len).is_none_or(u8::is_ascii_whitespace);
                    if whole && (8..=16).contains(&len) {
                        let name: &[u8] = match &line[name..name_end] {
                            b"FS" => b"fs_base",
                            b"GS" => b"gs_base",
                            other => other,
                        };
                        add(name, start + value, len);
                    }
                }
            }
            start += line.len();
            if line.ends_with(b"\n") {
                t.ends.push(start - 1);
            }
        }
        // Lines behind the last register are skipped, whatever they say.
        let used = t.fields.iter().map(|f| f.start + f.len).max().unwrap_or(0);
        let lines = t.ends.partition_point(|&e| e < used);
        if let Some(&end) = t.ends.get(lines) {
            t.bytes.truncate(end + 1);
            t.owner.truncate(end + 1);
            t.ends.truncate(lines + 1);
        }
        t.values = t
            .fields
            .iter()
            .map(|f| hex_digits(&dump[f.start..f.start + f.len]).unwrap_or(0))
            .collect();
        let number = |span: Option<RegSpan>| t.fields.iter().position(|f| Some(f.span) == span);
        t.pc = number(file.pc);
        t.psr = if isa == Isa::Arm { number(file.lookup("cpsr")) } else { None };
        self.template = t;
    }

    /// A register dump: one step. Gives its length: lines behind the last register are not its own.
    /// `same`: it is laid out like the first one.
    fn step(
        &mut self,
        dump: &[u8],
        same: bool,
        offset: u64,
        cut: bool,
        sink: &mut dyn Sink,
    ) -> Result<usize, TraceError> {
        if self.isa.is_none() {
            let isa = dump_isa(dump).ok_or_else(|| {
                self.problems.malformed_at(offset, "unknown registers", "see `addfg formats qemu`")
            })?;
            self.learn(dump, isa);
            if self.template.pc.is_none() {
                return Err(self.problems.malformed_at(
                    offset,
                    "no program counter among the registers",
                    "record with -d cpu",
                ));
            }
            self.isa = Some(isa);
            sink.begin(Qemu.carries(), Some(isa))?;
            let spans = self.template.fields.iter().map(|f| f.span);
            self.batch.registers.extend(spans.zip(self.template.values.iter().copied()));
        } else if !same {
            let (code, message) = if cut {
                ("truncated", "the log ends within a register dump")
            } else {
                ("damaged-dump", "a register dump of another layout than the first")
            };
            self.lost(code, message, offset, sink);
            return Ok(dump.len());
        } else if !self.changes(&dump[..self.template.bytes.len()]) {
            self.lost("damaged-dump", "a register's value is no number", offset, sink);
            return Ok(dump.len());
        }
        self.in_dump = true;
        let isa = self.isa.unwrap_or(Isa::X86_64);
        let value = |field: Option<usize>| field.and_then(|f| self.template.values.get(f).copied());
        let Some(pc) = value(self.template.pc) else { return Ok(dump.len()) };
        let thumb = value(self.template.psr).is_some_and(|psr| psr & 0x20 != 0);
        let insn = match self.known.get(&(pc, thumb)) {
            Some(&(id, _)) if self.listed.is_empty() || !self.listed.contains_key(&pc) => id,
            known => {
                let known = known.copied();
                let listing = self.listed.remove(&pc);
                let def = define(isa, pc, thumb, listing);
                let code = packed(&def.bytes);
                match known {
                    // Translated again: new only if the code is.
                    Some((id, before)) if def.bytes.is_empty() || before == code => id,
                    _ => {
                        let id = self.insns;
                        self.insns += 1;
                        self.batch.new_insns.push(def);
                        self.known.insert((pc, thumb), (id, code));
                        id
                    }
                }
            }
        };
        if self.batch.insn.is_empty() {
            self.batch.position = offset;
        }
        self.batch.insn.push(insn);
        self.batch.thread.push(0);
        self.batch.condition.push(Condition::Unknown);
        self.batch.access_end.push(0);
        self.batch.register_end.push(self.batch.registers.len() as u32);
        self.steps += 1;
        if self.batch.len() == BATCH {
            sink.steps(&mut self.batch)?;
        }
        Ok(self.template.bytes.len())
    }

    #[cold]
    fn lost(&mut self, code: &'static str, message: &str, offset: u64, sink: &mut dyn Sink) {
        self.in_dump = true;
        let kind = (Severity::Error, code, LOST);
        self.problems.add(sink, kind, Place::Byte(offset), || message.to_owned());
    }

    /// Parses the fields that differ from the dump before; false if one of them is no number, which
    /// keeps its value from before.
    #[inline]
    fn changes(&mut self, dump: &[u8]) -> bool {
        let mut good = true;
        let Template { bytes, fields, values, owner, .. } = &mut self.template;
        let mut done = 0;
        for (at, word) in (0..).step_by(WORD).zip(dump.chunks(WORD)) {
            let end = (at + word.len()).min(bytes.len());
            let mut differs = number(word) ^ number(&bytes[at..end]);
            while differs != 0 {
                let i = at + differs.trailing_zeros() as usize / 8;
                let after = match owner[i] {
                    0 => {
                        bytes[i] = dump[i];
                        i + 1
                    }
                    number => {
                        let field = fields[usize::from(number) - 1];
                        let after = field.start + field.len;
                        // A field that is no number is met again in the next word.
                        if number != done {
                            let digits = &dump[field.start..after];
                            match hex_digits(digits) {
                                Some(value) => {
                                    self.batch.registers.push((field.span, value));
                                    values[usize::from(number) - 1] = value;
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
                differs &= u128::MAX.checked_shl(8 * (after - at) as u32).unwrap_or(0);
            }
        }
        good
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
                    let remedy =
                        "record with -singlestep (newer versions: -one-insn-per-tb) and -d nochain";
                    return Err(self.problems.malformed_at(
                        offset,
                        "a block of several instructions has one register dump",
                        remedy,
                    ));
                }
            }
        }
        if let Some((address, listing)) = first {
            self.listed.insert(address, listing);
        }
        Ok(Some(at))
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps == 0 {
            return Err(self.problems.malformed_at(
                0,
                "no register dump in it",
                "record with `-d in_asm,cpu,nochain -singlestep`",
            ));
        }
        sink.steps(&mut self.batch)
    }
}

/// `0x00010164:  e92d4010  push {r4, lr}`: address, digits of the opcode, text.
fn disassembly(line: &[u8]) -> Option<(u64, Vec<u8>, String)> {
    let line = line.strip_prefix(b"0x")?;
    let colon = line.iter().position(|&b| b == b':')?;
    let address = hex_digits(&line[..colon])?;
    let mut digits = Vec::new();
    let mut rest = line[colon + 1..].trim_ascii_start();
    // Groups of digits separated by one blank; the text is farther away.
    loop {
        let len = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let ends = rest.get(len).is_none_or(|b| *b == b' ' || *b == b'\r');
        if len == 0 || len % 2 != 0 || !ends {
            break;
        }
        digits.extend_from_slice(&rest[..len]);
        digits.push(b' ');
        rest = &rest[len..];
        if rest.starts_with(b"  ") || rest.len() < 2 {
            break;
        }
        rest = &rest[1..];
    }
    let text = String::from_utf8_lossy(rest).split_whitespace().collect::<Vec<_>>().join(" ");
    Some((address, digits, text))
}

/// An instruction's code as a number that tells codes of up to 15 bytes apart (no instruction has
/// more).
fn packed(bytes: &[u8]) -> u128 {
    bytes.iter().fold(bytes.len() as u128, |n, &b| n << 8 | u128::from(b))
}

/// Bytes in memory order: x86 prints them so, the others print numbers.
fn define(isa: Isa, address: u64, thumb: bool, listing: Option<Listing>) -> InsnDef {
    let helper = isa == Isa::Arm && address >= 0xffff_0f00;
    let Some(listing) = listing.filter(|_| !helper) else {
        let text = helper.then(|| "<kernel helper>".into());
        return InsnDef { address, thumb, text, ..InsnDef::default() };
    };
    let mut bytes = Vec::new();
    for group in listing.digits.split(|&b| b == b' ').filter(|g| !g.is_empty()) {
        let Some(value) = hex_digits(group) else { continue };
        let size = group.len() / 2;
        if matches!(isa, Isa::X86 | Isa::X86_64) {
            bytes.extend(value.to_be_bytes()[8 - size..].iter());
        } else {
            bytes.extend(value.to_le_bytes()[..size].iter());
        }
    }
    InsnDef { address, bytes, thumb, text: Some(listing.text.into()), ..InsnDef::default() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnostics::Diagnostic;
    use crate::event::RunBatch;
    use crate::trace::reader::Listener;
    use crate::trace::{detect, formats};
    use proptest::prelude::*;

    /// Keeps all that a reader gives.
    #[derive(Default)]
    pub struct Collect {
        pub isa: Option<Isa>,
        pub carries: Carries,
        pub defs: Vec<InsnDef>,
        pub steps: Vec<Step>,
        pub diagnostics: Vec<Diagnostic>,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub struct Step {
        pub insn: usize,
        pub thread: u32,
        pub accesses: Vec<crate::event::LoggedAccess>,
        pub registers: Vec<(RegSpan, u64)>,
    }

    impl Sink for Collect {
        fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
            (self.carries, self.isa) = (carries, isa);
            Ok(())
        }
        fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
            self.defs.append(&mut batch.new_insns);
            let (mut access, mut register) = (0, 0);
            for i in 0..batch.len() {
                let (access_end, register_end) =
                    (batch.access_end[i] as usize, batch.register_end[i] as usize);
                assert!((batch.insn[i] as usize) < self.defs.len());
                self.steps.push(Step {
                    insn: batch.insn[i] as usize,
                    thread: batch.thread[i],
                    accesses: batch.accesses[access..access_end].to_vec(),
                    registers: batch.registers[register..register_end].to_vec(),
                });
                (access, register) = (access_end, register_end);
            }
            batch.clear();
            Ok(())
        }
        fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
            unreachable!("a reader of steps gives no runs")
        }
    }
    impl Listener for Collect {
        fn diagnostic(&mut self, diagnostic: Diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        fn progress(&mut self, _: u64) {}
    }

    impl Collect {
        pub fn read(
            format: &dyn StepFormat,
            bytes: &[u8],
            isa: Option<Isa>,
        ) -> Result<Collect, TraceError> {
            let context = Context { isa, layout: None, jobs: 1 };
            let mut collect = Collect::default();
            format.read(Input::from_bytes("log", bytes)?, &context, &mut collect)?;
            Ok(collect)
        }
        pub fn def(&self, step: usize) -> &InsnDef {
            &self.defs[self.steps[step].insn]
        }
        /// Registers of a step by name.
        pub fn registers(&self, step: usize) -> Vec<(String, u64)> {
            let file = isa::registers(self.isa.unwrap());
            self.steps[step]
                .registers
                .iter()
                .map(|(s, v)| (file.at(s.offset).unwrap().name.clone(), *v))
                .collect()
        }
        pub fn codes(&self) -> Vec<&str> {
            self.diagnostics.iter().map(|d| d.code).collect()
        }
    }

    /// The format that detection finds, which is the only one that says yes.
    pub fn only(bytes: &[u8]) -> &'static str {
        let found =
            detect(&Input::from_bytes("log", bytes).unwrap(), None).unwrap().format().name();
        assert_eq!(formats().filter(|f| f.sniff(bytes)).count(), 1);
        found
    }

    fn read(text: &str) -> Collect {
        Collect::read(&Qemu, text.as_bytes(), None).unwrap()
    }

    const THUMB: &str = "\
----------------
IN: main
0x0001012c:  b510       push     {r4, lr}

Trace 0: 0x7f09d40001c0 [00800480/0001012c/00000000/00000201] main
R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800960 R14=00010174 R15=0001012c
PSR=00000030 ---- T usr32
----------------
IN: main
0x0001012e:  f7ff ffd1  bl       #0x100dc

R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800958 R14=00010174 R15=0001012e
PSR=60000030 -ZC- T usr32
R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800958 R14=00010133 R15=ffff0fe0
PSR=60000010 -ZC- A usr32
";

    const RISCV32: &str = "\
----------------
IN: _start
0x000100f8:  1101              addi                    sp,sp,-32

 pc       000100f8
 x0/zero  00000000 x1/ra    00000000 x2/sp    40800980 x3/gp    00000000
 x4/tp    00000000 x5/t0    00000000 x6/t1    00000000 x7/t2    00000000
 x8/s0    00000000 x9/s1    00000000 x10/a0   00000000 x11/a1   0000000b
";

    fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
        list.iter().map(|(n, v)| (n.to_string(), *v)).collect()
    }

    #[test]
    fn arm_and_thumb_by_the_status_register() {
        let c = read(THUMB);
        assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::Arm), 3, vec![]));
        let def = |i: usize| {
            (c.def(i).address, c.def(i).bytes.clone(), c.def(i).thumb, c.def(i).text.as_deref())
        };
        assert_eq!(def(0), (0x1012c, vec![0x10, 0xb5], true, Some("push {r4, lr}")));
        assert_eq!(def(1), (0x1012e, vec![0xff, 0xf7, 0xd1, 0xff], true, Some("bl #0x100dc")));
        assert_eq!(def(2), (0xffff_0fe0, vec![], false, Some("<kernel helper>")));
        assert_eq!(c.steps[0].registers.len(), 17);
        assert_eq!(
            c.registers(1),
            named(&[("sp", 0x4080_0958), ("pc", 0x1012e), ("cpsr", 0x6000_0030)])
        );
        assert_eq!(
            c.registers(2),
            named(&[("lr", 0x10133), ("pc", 0xffff_0fe0), ("cpsr", 0x6000_0010)])
        );
        assert_eq!(only(THUMB.as_bytes()), "qemu");
    }

    #[test]
    fn riscv_width_by_the_digits_of_pc() {
        let c = read(RISCV32);
        assert_eq!((c.isa, c.def(0).bytes.as_slice()), (Some(Isa::Riscv32), &[0x01, 0x11][..]));
        assert!(
            c.registers(0).iter().any(|(_, v)| *v == 0x4080_0980)
                && c.registers(0).iter().any(|(_, v)| *v == 0xb)
        );
        let wide =
            RISCV32.replace(" 000", " 00000000000").replace(" 40800980", " 0000004040800980");
        let c = read(&wide);
        assert_eq!(c.isa, Some(Isa::Riscv64));
        assert!(c.registers(0).iter().any(|(_, v)| *v == 0x40_4080_0980));
        assert_eq!(only(wide.as_bytes()), "qemu");
    }

    #[test]
    fn x86_with_long_instructions() {
        let dump = |rax: &str, rip: &str, ccs: &str| {
            format!(
                "RAX={rax} RBX=0000000000000000 RCX=0000000000000000 RDX=0000000000000000\n\
                 R8 =0000000000000000 R9 =0000000000000009 R10=0000000000000000 R11=0000000000000000\n\
                 RIP={rip} RFL=00000246 [---Z-P-] CPL=3 II=0 A20=1 SMM=0 HLT=0\n\
                 FS =0000 0000000000405380 00000000 00000000\nCR0=80010001 CR2=0000000000000000\nCCS={ccs} CCO=EFLAGS\n"
            )
        };
        let text = format!(
            "----------------\nIN: \n0x00401000:  48 b8 88 77 66 55 44 33  movabsq  $0x1122334455667788, %rax\n\
             0x00401008:  22 11\n\n{}----------------\nIN: \n0x0040100a:  0f 05                    syscall  \n\n{}",
            dump("0000000000000000", "0000000000401000", "0"),
            dump("1122334455667788", "000000000040100a", "0000000000000000"),
        );
        let c = read(&text);
        assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::X86_64), 2, vec![]));
        assert_eq!(c.def(0).bytes, [0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(
            (c.def(1).bytes.as_slice(), c.def(1).text.as_deref()),
            (&[0x0f, 0x05][..], Some("syscall"))
        );
        assert!(
            c.registers(0).contains(&("fs_base".into(), 0x405380))
                && c.registers(0).contains(&("r9".into(), 9))
        );
        assert_eq!(c.registers(1), named(&[("rax", 0x1122_3344_5566_7788), ("rip", 0x40100a)]));
    }

    #[test]
    fn aarch64_with_stack_pointer_and_flags() {
        let dump = |pc: u32, sp: u32, flags: &str| {
            format!(
                " PC={pc:016x} X00=0000000000000000 X01={:016x}\nX30=0000000000000007  SP={sp:016x}\nPSTATE={flags}\n",
                1
            )
        };
        let c = read(
            &(dump(0x400580, 0x850, "40000000 -Z-- EL0t")
                + &dump(0x400584, 0x840, "80000000 N--- EL0t")),
        );
        assert_eq!(c.isa, Some(Isa::Aarch64));
        assert!(c.def(0).bytes.is_empty() && c.def(0).text.is_none());
        assert!(
            c.registers(0).contains(&("x1".into(), 1))
                && c.registers(0).contains(&("x30".into(), 7))
        );
        assert_eq!(
            c.registers(1),
            named(&[("pc", 0x400584), ("sp", 0x840), ("nzcv", 0x8000_0000)])
        );
    }

    #[test]
    fn code_that_is_translated_again_is_new_only_if_it_differs() {
        let again = |code: &str| RISCV32.replace("1101 ", code);
        let c = read(&[RISCV32, &again("1101 "), &again("1121 ")].concat());
        assert_eq!(c.steps.iter().map(|s| s.insn).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(c.defs[1].bytes, [0x21, 0x11]);
    }

    #[test]
    fn several_instructions_a_block_are_refused_with_the_remedy() {
        let text = THUMB
            .replace("{r4, lr}\n", "{r4, lr}\n0x0001012e:  4c0f       ldr      r4, [pc, #0x3c]\n");
        let error = Collect::read(&Qemu, text.as_bytes(), None).err().unwrap().to_string();
        assert!(error.contains("-one-insn-per-tb") && error.contains("byte 17"), "{error}");
    }

    #[test]
    fn damage_is_told_and_the_rest_is_read() {
        let codes = |text: &str| {
            let c = read(text);
            (c.steps.len(), c.codes().join(" "))
        };
        assert_eq!(
            codes(&THUMB.replace("R15=0001012e", "R15=000?012e")),
            (2, "damaged-dump".into())
        );
        assert_eq!(
            codes(&THUMB.replace("R14=00010133 ", "R14=00010133 hello\n")),
            (2, "damaged-dump".into())
        );
        assert_eq!(codes(&THUMB[..THUMB.len() - 50]), (2, "truncated".into()));
        assert_eq!(codes(&format!("hello\nhello\n{THUMB}hello\n")), (3, "foreign-lines".into()));
        assert_eq!(
            codes(
                &THUMB.replace("PSR=00000030 ---- T usr32\n", "PSR=00000030 ---- T usr32\nhello\n")
            )
            .1,
            "foreign-lines"
        );
        assert!(Collect::read(&Qemu, b"IN: main\n", None).is_err());
    }

    #[test]
    fn genuine_logs() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/qemu");
        for (file, isa) in [("dexec-7.2-arm", Isa::Arm), ("dexec-7.2-thumb", Isa::Arm)] {
            let packed = std::fs::File::open(folder.join(format!("{file}.log.xz"))).unwrap();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut liblzma::read::XzDecoder::new(packed), &mut bytes)
                .unwrap();
            let c = Collect::read(&Qemu, &bytes, None).unwrap();
            let dumps = bytes.windows(5).filter(|w| w == b"\nR00=").count();
            assert_eq!(
                (c.isa, c.steps.len(), c.codes(), only(&bytes)),
                (Some(isa), dumps, vec![], "qemu")
            );
            let pc = isa::registers(isa).pc.unwrap();
            for (i, step) in c.steps.iter().enumerate() {
                let logged = step.registers.iter().find(|r| r.0 == pc).map(|r| r.1);
                assert_eq!(logged.unwrap_or(c.def(i).address), c.def(i).address);
                assert!(!c.def(i).bytes.is_empty());
            }
        }
    }

    #[test]
    fn where_chunks_end_changes_nothing() {
        let damaged = THUMB.replace("R15=0001012e", "R15=000?012e") + "hello\n";
        for text in
            [THUMB.repeat(3), RISCV32.repeat(3), [THUMB, &damaged, THUMB, &THUMB[..150]].concat()]
        {
            let whole = Collect::read(&Qemu, text.as_bytes(), None).unwrap();
            for chunk in 1..text.len() {
                let mut parts = Collect::default();
                super::read(Input::from_bytes("log", text.as_bytes()).unwrap(), chunk, &mut parts)
                    .unwrap();
                assert_eq!(
                    (&parts.steps, &parts.defs, parts.codes()),
                    (&whole.steps, &whole.defs, whole.codes()),
                    "{chunk}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn damaged_logs_never_panic(
            which in 0..2usize,
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..20),
        ) {
            let mut bytes = [THUMB, RISCV32][which].repeat(3).into_bytes();
            for (at, byte, kind) in edits {
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"\n0=R "[byte as usize % 5]),
                }
            }
            let _ = Qemu.sniff(&bytes);
            let _ = Collect::read(&Qemu, &bytes, None);
        }
    }

    #[test]
    fn listings() {
        let line = |s: &str| {
            disassembly(s.as_bytes()).map(|(a, d, t)| (a, String::from_utf8(d).unwrap(), t))
        };
        assert_eq!(
            line("0x00010164:  e92d4010  push     {r4, lr}"),
            Some((0x10164, "e92d4010 ".into(), "push {r4, lr}".into()))
        );
        assert_eq!(
            line("0x00010572:  f7ff fff7  bl       #0x10564"),
            Some((0x10572, "f7ff fff7 ".into(), "bl #0x10564".into()))
        );
        assert_eq!(line("0x004028b6:  00 00 00"), Some((0x4028b6, "00 00 00 ".into(), "".into())));
        assert_eq!(
            line("0x0001020a:  1101              addi  sp,sp,-32"),
            Some((0x1020a, "1101 ".into(), "addi sp,sp,-32".into()))
        );
        assert_eq!(line("R00=00000000"), None);
    }
}
