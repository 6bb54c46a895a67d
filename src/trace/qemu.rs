//! QEMU, user or system mode, one instruction a block: `-d in_asm,cpu[,exec],nochain -singlestep` (`-one-insn-per-tb` in newer ones).
//!
//! A block's disassembly (`IN:`) comes once, when it is translated; before each execution all registers are dumped, in lines whose
//! layout never changes within a log. So the first dump gives a template - which bytes are whose digits - and later ones are compared
//! with the one before, word by word: only what differs is parsed.

use super::input::{Input, Locator};
use super::{Context, Format, Sink, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Condition, InsnDef, Isa, RegSpan, StepBatch};
use crate::isa;
use rustc_hash::FxHashMap;

const CHUNK: usize = 1 << 20;
/// Steps of a batch.
const BATCH: usize = 1 << 15;
/// Bytes of a register dump at most.
const LONGEST_DUMP: usize = 16 << 10;

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
        // A log with `-d cpu` alone has no listings.
        dumps > 0 && (listings > 0 || head.starts_with(b"Trace ") || dump_isa(head).is_some())
    }

    fn read(&self, input: Input, _context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut reader = Reader { name: input.name().to_owned(), locator: input.locator(), ..Reader::new() };
        let mut rest: Vec<u8> = Vec::new();
        let mut offset = 0;
        let mut consumed = 0;
        let mut damage = None;
        for chunk in input.chunks(CHUNK) {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(e) => {
                    damage = Some(e.into_damage()?);
                    break;
                }
            };
            let used = if rest.is_empty() {
                let used = reader.parse(&chunk, offset, false, sink)?;
                rest.extend_from_slice(&chunk[used..]);
                used
            } else {
                rest.extend_from_slice(&chunk);
                let used = reader.parse(&rest, offset, false, sink)?;
                rest.drain(..used);
                used
            };
            offset += used as u64;
            sink.progress(chunk.consumed - consumed);
            consumed = chunk.consumed;
        }
        reader.parse(&rest, offset, true, sink)?;
        if let Some(damage) = damage {
            sink.diagnostic(damage);
        }
        reader.finish(sink)
    }
}

/// Instruction set of a log by the line that begins a dump.
fn dump_isa(line: &[u8]) -> Option<Isa> {
    match line {
        [b'R', b'0', b'0', b'=', ..] => Some(Isa::Arm),
        [b' ', b'P', b'C', b'=', ..] => Some(Isa::Aarch64),
        [b'R', b'A', b'X', b'=', ..] => Some(Isa::X86_64),
        [b'E', b'A', b'X', b'=', ..] => Some(Isa::X86),
        [b' ', b'p', b'c', b' ', b' ', b' ', rest @ ..] => {
            let digits = rest.iter().filter(|b| b.is_ascii_hexdigit()).count();
            Some(if digits > 8 { Isa::Riscv64 } else { Isa::Riscv32 })
        }
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| Some(n << 4 | (b as char).to_digit(16)? as u64))
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
    /// Per byte: index + 1 of its field, 0 for what is no register.
    owner: Vec<u16>,
    /// Offsets of line ends.
    ends: Vec<usize>,
    pc: Option<Field>,
    psr: Option<Field>,
}

struct Reader {
    name: String,
    locator: Locator,
    isa: Option<Isa>,
    template: Template,
    /// (address, Thumb) of each known instruction.
    known: FxHashMap<(u64, bool), u32>,
    /// Listings by address that no step has used yet.
    listed: FxHashMap<u64, Listing>,
    insns: u32,
    batch: StepBatch,
    foreign: u64,
    steps: u64,
    /// The lines are those behind a dump's registers.
    in_dump: bool,
}

struct Listing {
    digits: Vec<u8>,
    text: String,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            name: String::new(),
            locator: Locator::default(),
            isa: None,
            template: Template::default(),
            known: FxHashMap::default(),
            listed: FxHashMap::default(),
            insns: 0,
            batch: StepBatch::default(),
            foreign: 0,
            steps: 0,
            in_dump: false,
        }
    }

    fn malformed(&self, offset: u64, message: &str, remedy: &str) -> TraceError {
        let position = self.locator.line(offset).map_or_else(|| format!("byte {offset}"), |l| l.to_string());
        TraceError::Malformed { name: self.name.clone(), position, message: message.into(), remedy: remedy.into() }
    }

    /// Parses what is complete in `bytes`; gives how many bytes that was.
    fn parse(&mut self, bytes: &[u8], offset: u64, last: bool, sink: &mut dyn Sink) -> Result<usize, TraceError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            // A dump like the one before: what nearly every line is.
            if dump_isa(&rest[..rest.len().min(32)]).is_some() {
                let Some(len) = self.dump_length(rest, last) else { break };
                self.step(&rest[..len], offset + at as u64, sink)?;
                at += len;
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
            let quiet =
                self.in_dump || line.is_empty() || line.starts_with(b"----") || line.starts_with(b"Trace ") || line == b"\r";
            if !quiet {
                if self.foreign == 0 {
                    let text = String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().to_string();
                    sink.diagnostic(Diagnostic {
                        severity: Severity::Warning,
                        code: "foreign-lines",
                        message: format!("lines that are none of QEMU's log were left out, the first: `{text}`"),
                        position: self.locator.at(offset + at as u64),
                        remedy: "write the log to a file of its own with -D",
                    });
                }
                self.foreign += 1;
            }
            at += end + 1;
        }
        Ok(at)
    }

    /// Length of the dump at the start of `rest`; None: its end is not there yet.
    fn dump_length(&self, rest: &[u8], last: bool) -> Option<usize> {
        let t = &self.template;
        let length = t.bytes.len();
        if length > 0 && rest.len() >= length && t.ends.iter().all(|&e| rest[e] == b'\n') {
            return Some(length);
        }
        // The first one, or one of another layout: up to a line that begins something else.
        let mut at = 0;
        loop {
            let Some(end) = memchr::memchr(b'\n', &rest[at..]) else {
                return (last || at > LONGEST_DUMP).then_some(rest.len());
            };
            at += end + 1;
            let next = &rest[at..];
            let ends =
                next.starts_with(b"----") || next.starts_with(b"IN:") || next.starts_with(b"Trace ") || next.starts_with(b"\n");
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
        let mut t = Template { bytes: dump.to_vec(), owner: vec![0; dump.len()], ..Template::default() };
        let mut start = 0;
        for line in dump.split_inclusive(|&b| b == b'\n') {
            let mut add = |name: &[u8], from: usize, len: usize| {
                let name = String::from_utf8_lossy(name).trim().to_string();
                // What is behind x86's segments (control registers, lazy flags) varies in length and is no data.
                let system = name.starts_with("CR") || name.starts_with("DR");
                // `R07`, `X07`
                let short = match name.as_bytes() {
                    [letter @ (b'R' | b'X'), b'0', digit] => format!("{}{}", *letter as char, *digit as char),
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
                    if hex(&line[value.0..value.1]).is_some() {
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
                    while name > 0 && (line[name - 1].is_ascii_alphanumeric() || line[name - 1] == b'_') {
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
                    let len = line[value.min(line.len())..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
                    if (8..=16).contains(&len) {
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
        t.pc = file.pc.and_then(|pc| t.fields.iter().find(|f| f.span == pc).copied());
        t.psr =
            if isa == Isa::Arm { file.lookup("cpsr").and_then(|s| t.fields.iter().find(|f| f.span == s).copied()) } else { None };
        self.template = t;
    }

    /// A register dump: one step.
    fn step(&mut self, dump: &[u8], offset: u64, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.isa.is_none() {
            let isa = dump_isa(dump).ok_or_else(|| self.malformed(offset, "unknown registers", "see `addfg formats qemu`"))?;
            self.learn(dump, isa);
            if self.template.pc.is_none() {
                return Err(self.malformed(offset, "no program counter among the registers", "record with -d cpu"));
            }
            self.isa = Some(isa);
            sink.begin(Qemu.carries(), Some(isa))?;
            for field in &self.template.fields {
                if let Some(value) = hex(&dump[field.start..field.start + field.len]) {
                    self.batch.registers.push((field.span, value));
                }
            }
        } else if dump.len() < self.template.bytes.len() || !self.template.ends.iter().all(|&e| dump[e] == b'\n') {
            sink.diagnostic(Diagnostic {
                severity: Severity::Error,
                code: "damaged-dump",
                message: "a register dump of another layout than the first, or cut short".into(),
                position: self.locator.at(offset),
                remedy: "the step was left out; record again",
            });
            return Ok(());
        } else {
            self.changes(&dump[..self.template.bytes.len()]);
        }
        self.in_dump = true;
        let isa = self.isa.unwrap_or(Isa::X86_64);
        let value = |f: Option<Field>| f.and_then(|f| hex(&self.template.bytes[f.start..f.start + f.len]));
        let Some(pc) = value(self.template.pc) else { return Ok(()) };
        let thumb = value(self.template.psr).is_some_and(|psr| psr & 0x20 != 0);
        let insn = match self.known.get(&(pc, thumb)) {
            Some(&id) if self.listed.is_empty() || !self.listed.contains_key(&pc) => id,
            known => {
                let known = known.copied();
                let listing = self.listed.remove(&pc);
                let def = define(isa, pc, thumb, listing);
                match known {
                    // Translated again: new only if the code is.
                    Some(id) if def.bytes.is_empty() => id,
                    _ => {
                        let id = self.insns;
                        self.insns += 1;
                        self.batch.new_insns.push(def);
                        self.known.insert((pc, thumb), id);
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
        Ok(())
    }

    /// Parses the fields that differ from the dump before.
    #[inline]
    fn changes(&mut self, dump: &[u8]) {
        let t = &mut self.template;
        let mut at = 0;
        let mut done = 0u16;
        while at < dump.len() {
            let end = (at + 8).min(dump.len());
            if dump[at..end] == t.bytes[at..end] {
                at = end;
                continue;
            }
            for i in at..end {
                if dump[i] == t.bytes[i] {
                    continue;
                }
                let owner = t.owner[i];
                if owner == 0 {
                    t.bytes[i] = dump[i];
                } else if owner != done {
                    done = owner;
                    let field = t.fields[owner as usize - 1];
                    let digits = &dump[field.start..field.start + field.len];
                    if let Some(value) = hex(digits) {
                        self.batch.registers.push((field.span, value));
                    }
                    t.bytes[field.start..field.start + field.len].copy_from_slice(digits);
                }
            }
            at = end;
        }
    }

    /// The lines behind `IN:`; gives their length, None if the end is not there yet.
    fn listing(&mut self, rest: &[u8], offset: u64, last: bool) -> Result<Option<usize>, TraceError> {
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
                    let remedy = "record with -singlestep (newer versions: -one-insn-per-tb) and -d nochain";
                    return Err(self.malformed(offset, "a block of several instructions has one register dump", remedy));
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
            return Err(self.malformed(0, "no register dump in it", "record with `-d in_asm,cpu,nochain -singlestep`"));
        }
        sink.steps(&mut self.batch)
    }
}

/// `0x00010164:  e92d4010  push {r4, lr}`: address, digits of the opcode, text.
fn disassembly(line: &[u8]) -> Option<(u64, Vec<u8>, String)> {
    let line = line.strip_prefix(b"0x")?;
    let colon = line.iter().position(|&b| b == b':')?;
    let address = hex(&line[..colon])?;
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

/// Bytes in memory order: x86 prints them so, the others print numbers.
fn define(isa: Isa, address: u64, thumb: bool, listing: Option<Listing>) -> InsnDef {
    let helper = isa == Isa::Arm && address >= 0xffff_0f00;
    let Some(listing) = listing.filter(|_| !helper) else {
        let text = helper.then(|| "<kernel helper>".into());
        return InsnDef { address, thumb, text, ..InsnDef::default() };
    };
    let mut bytes = Vec::new();
    for group in listing.digits.split(|&b| b == b' ').filter(|g| !g.is_empty()) {
        let Some(value) = hex(group) else { continue };
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
mod tests {
    use super::*;

    #[test]
    fn listings() {
        let line = |s: &str| disassembly(s.as_bytes()).map(|(a, d, t)| (a, String::from_utf8(d).unwrap(), t));
        assert_eq!(line("0x00010164:  e92d4010  push     {r4, lr}"), Some((0x10164, "e92d4010 ".into(), "push {r4, lr}".into())));
        assert_eq!(line("0x00010572:  f7ff fff7  bl       #0x10564"), Some((0x10572, "f7ff fff7 ".into(), "bl #0x10564".into())));
        assert_eq!(line("0x004028b6:  00 00 00"), Some((0x4028b6, "00 00 00 ".into(), "".into())));
        assert_eq!(
            line("0x0001020a:  1101              addi  sp,sp,-32"),
            Some((0x1020a, "1101 ".into(), "addi sp,sp,-32".into()))
        );
        assert_eq!(line("R00=00000000"), None);
    }
}
