//! QEMU's execlog plugin: a line an executed instruction with the addresses that it accessed,
//! without their sizes: `vcpu, 0xPC, 0xOPCODE, "disassembly"{, load|store, 0xADDRESS[, device]}{,
//! register -> 0xVALUE}` (registers from QEMU 9 on, as they are after the instruction).

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::{Line, Lines, each_line};
use super::number::{decimal, hex_digits};
use super::problems::{
    FOREIGN_LINES, Kind, MOST_ACCESSES, Problems, TOO_MANY_ACCESSES, excerpt, good_lines,
};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::pieces;
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, InsnDef, Isa, LoggedAccess, StepBatch};
use crate::registers::{Registers, registers};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Steps of a batch.
const BATCH: usize = 1 << 15;
/// Between the name of a register and its value.
const ARROW: &[u8] = b" -> ";
const MALFORMED_PART: Kind = (
    Severity::Error,
    "malformed-part",
    "the part was left out, the step was not; record again if there are many",
);

pub struct Execlog;

impl Format for Execlog {
    fn name(&self) -> &'static str {
        "execlog"
    }
    fn about(&self) -> &'static str {
        "QEMU's execlog plugin: instructions with opcode, disassembly and the addresses of their accesses"
    }
    fn record(&self) -> &'static str {
        "qemu-arm -plugin libexeclog.so -d plugin -D app.log ./app"
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, opcodes: true, accesses: true, threads: true, ..Carries::default() }
    }
    fn help(&self) -> &'static str {
        "vcpu, 0xPC, 0xOPCODE, \"disassembly\"{, load|store, 0xADDRESS[, device]}{, register -> 0xVALUE}\n\
         Give the program with --elf: it says which instruction set this is (without it the disassembly must), which code is Thumb,\n\
         and has the bytes that the log cuts off (it shows four). Sizes of accesses come from the instruction. Up to QEMU 8 there are no register values, so\n\
         whether a conditional instruction was executed is known only where it accesses memory."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        good_lines(head, |line| Parsed::parse(line).is_some())
    }
}

impl StepFormat for Execlog {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        let told = told_isa(input.head());
        let Some(isa) = context.isa.or(told) else {
            let message = "the log does not tell its instruction set";
            return Err(problems.malformed(1, message, "give the program with --elf"));
        };
        let with_values = memchr::memmem::find(input.head(), b" -> 0x").is_some();
        let carries = Carries { registers: with_values, values: with_values, ..self.carries() };
        sink.begin(carries, Some(isa))?;
        let mut reader = Reader::new(isa);
        each_line(input, sink, |line, sink| {
            // The last digits of a line without an end may be missing.
            let parsed = Parsed::parse(line.text).filter(|_| line.whole);
            match parsed {
                Some(parsed) => reader.step(&line, &parsed, &mut problems, sink),
                None if reader.steps == 0 && line.whole => {
                    problems.add_once(sink, FOREIGN_LINES, Place::Line(line.number), || {
                        format!("lines before the first instruction: `{}`", excerpt(line.text))
                    });
                }
                None => problems.line(sink, &line, "no execlog line"),
            }
            if reader.batch.len() == BATCH { sink.steps(&mut reader.batch) } else { Ok(()) }
        })?;
        if reader.steps == 0 {
            let remedy = format!("record with `{}`", self.record());
            return Err(problems.malformed(1, "no instruction in it", remedy));
        }
        sink.steps(&mut reader.batch)
    }
}

/// The instruction set, by the names of registers and instructions in the first lines' disassembly;
/// None if they could be of several.
fn told_isa(head: &[u8]) -> Option<Isa> {
    let (mut x86_64, mut x86, mut arm, mut aarch64, mut riscv, mut wide) = (0, 0, 0, 0, 0, 0);
    for parsed in Lines::of(head).filter_map(|line| Parsed::parse(line.text)) {
        let letters = |b: &u8| !(b.is_ascii_alphanumeric() || *b == b'%');
        for word in parsed.text.split(letters) {
            match word {
                [b'%', b'r', ..] => x86_64 += 1,
                [b'%', b'e', ..] => x86 += 1,
                b"x29" | b"x30" | b"w0" | b"w1" | b"w2" | b"w3" | b"xzr" | b"wzr" => aarch64 += 1,
                b"r0" | b"r1" | b"r2" | b"r3" | b"r4" | b"lr" | b"r7" => arm += 1,
                b"ra" | b"a0" | b"a1" | b"a5" | b"s0" | b"zero" => riscv += 1,
                b"ld" | b"sd" | b"addiw" | b"sext.w" | b"addw" => wide += 1,
                _ => {}
            }
        }
    }
    match (x86_64, x86, arm, aarch64, riscv) {
        (1.., _, 0, 0, 0) => Some(Isa::X86_64),
        (0, 1.., 0, 0, 0) => Some(Isa::X86),
        (0, 0, 1.., 0, 0) => Some(Isa::Arm),
        (0, 0, _, 1.., 0) => Some(Isa::Aarch64),
        (0, 0, 0, 0, 1..) if wide > 0 => Some(Isa::Riscv64),
        _ => None,
    }
}

struct Reader {
    registers: &'static Registers,
    batch: StepBatch,
    /// By address and hash of the text: the opcode column has stale bytes behind a short
    /// instruction.
    known: FxHashMap<(u64, u64), u32>,
    steps: u64,
}

impl Reader {
    fn new(isa: Isa) -> Reader {
        Reader {
            registers: registers(isa),
            batch: StepBatch::default(),
            known: FxHashMap::default(),
            steps: 0,
        }
    }

    fn step(&mut self, line: &Line, parsed: &Parsed, problems: &mut Problems, sink: &mut dyn Sink) {
        let insn = self.instruction(parsed);
        let batch = &mut self.batch;
        if batch.is_empty() {
            batch.position = line.number;
        }
        batch.insn.push(insn);
        batch.thread.push(parsed.vcpu);
        batch.condition.push(Condition::Unknown);
        let accesses = batch.accesses.len();
        let mut rest = parsed.rest;
        while let Some((item, after)) = next_item(rest) {
            rest = match item {
                b"load" | b"store" => self.access(item == b"store", after),
                _ => self.register(item).then_some(after),
            }
            .unwrap_or_else(|| {
                problems.add(sink, MALFORMED_PART, Place::Line(line.number), || {
                    format!("`{}` is neither an access nor a register", excerpt(item))
                });
                after
            });
        }
        let batch = &mut self.batch;
        if batch.accesses.len() - accesses > MOST_ACCESSES {
            batch.accesses.truncate(accesses + MOST_ACCESSES);
            problems.add(sink, TOO_MANY_ACCESSES, Place::Line(line.number), || {
                format!("an instruction with more than {MOST_ACCESSES} accesses")
            });
        }
        batch.access_end.push(batch.accesses.len() as u32);
        batch.register_end.push(batch.registers.len() as u32);
        self.steps += 1;
    }

    /// Takes `, 0xADDRESS[, device]`; gives what follows.
    fn access<'a>(&mut self, is_write: bool, text: &'a [u8]) -> Option<&'a [u8]> {
        let (address, rest) = next_item(text)?;
        let address = prefixed(address)?;
        self.batch.accesses.push(LoggedAccess { address, size: 0, is_write, value: None });
        // What is behind it may be the name of a device.
        match next_item(rest) {
            Some((b"load" | b"store", _)) | None => Some(rest),
            Some((item, _)) if memchr::memmem::find(item, ARROW).is_some() => Some(rest),
            Some((item, _)) if item.starts_with(b"0x") => Some(rest),
            Some((_, behind)) => Some(behind),
        }
    }

    /// Takes `name -> 0xVALUE`; false if it is none.
    fn register(&mut self, item: &[u8]) -> bool {
        let Some(arrow) = memchr::memmem::find(item, ARROW) else { return false };
        let (name, value) = (item[..arrow].trim_ascii(), &item[arrow + ARROW.len()..]);
        let digits = value.strip_prefix(b"0x").filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return false };
        // Registers of the system that no instruction set of ours has are none of our business.
        let name = std::str::from_utf8(name).ok();
        match name.and_then(|name| self.registers.lookup(name)) {
            Some(span) => pieces(span, digits, &mut self.batch.registers),
            None => true,
        }
    }

    fn instruction(&mut self, parsed: &Parsed) -> u32 {
        let mut hash = FxHasher::default();
        hash.write(parsed.text);
        let next = self.known.len() as u32;
        let id = *self.known.entry((parsed.pc, hash.finish())).or_insert(next);
        if id == next {
            let text = String::from_utf8_lossy(parsed.text);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.batch.new_insns.push(InsnDef {
                address: parsed.pc,
                // Four bytes, the first one lowest.
                bytes: parsed.opcode.to_le_bytes()[..4].to_vec(),
                thumb: parsed.pc % 4 == 2,
                text: (!text.is_empty()).then(|| text.into()),
                ..InsnDef::default()
            });
        }
        id
    }
}

/// `, item` off the front.
fn next_item(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = rest.strip_prefix(b",")?.trim_ascii_start();
    let end = memchr::memchr(b',', rest).unwrap_or(rest.len());
    Some((rest[..end].trim_ascii_end(), &rest[end..]))
}

/// A number with `0x`.
fn prefixed(text: &[u8]) -> Option<u64> {
    hex_digits(text.strip_prefix(b"0x")?)
}

struct Parsed<'a> {
    vcpu: u32,
    pc: u64,
    opcode: u64,
    text: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Parsed<'a> {
    fn parse(line: &'a [u8]) -> Option<Parsed<'a>> {
        let comma = memchr::memchr(b',', line)?;
        let (pc, rest) = next_item(&line[comma..])?;
        let (opcode, rest) = next_item(rest)?;
        let quoted = rest.strip_prefix(b",")?.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', quoted)?;
        let rest = &quoted[end + 1..];
        (rest.is_empty() || rest.starts_with(b",")).then_some(())?;
        Some(Parsed {
            vcpu: u32::try_from(decimal(&line[..comma])?).ok()?,
            pc: prefixed(pc)?,
            opcode: prefixed(opcode)?,
            text: &quoted[..end],
            rest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::qemu::tests::{Collect, only};

    fn read(text: &str, isa: Option<Isa>) -> Collect {
        Collect::read(&Execlog, text.as_bytes(), isa).unwrap()
    }

    #[test]
    fn a_line_that_is_cut_is_no_step() {
        let whole = "0, 0x100d8, 0xe5801000, \"str r1, [r0]\", store, 0x00020f00\n";
        let c = read(&whole.repeat(2), Some(Isa::Arm));
        assert_eq!((c.steps.len(), c.codes()), (2, vec![]));
        for cut in 1..14 {
            let text = whole.repeat(2);
            let c = read(&text[..text.len() - cut], Some(Isa::Arm));
            assert_eq!((c.steps.len(), c.codes()), (1, vec!["truncated"]), "{cut}");
        }
    }

    #[test]
    fn parts_that_are_none_are_told() {
        let line = |parts: &str| format!("0, 0x100d8, 0xe5801000, \"str r1, [r0]\"{parts}\n");
        for (parts, accesses, codes) in [
            (", store, 0x20f00", 1, &[][..]),
            (", store, 0x09000000, pl011, load, 0x10", 2, &[]),
            (", store, 0x20f00, r1 -> 0x5", 1, &[]),
            (", r1 -> 0x5, q9 -> 0x00000000000000000000000000000001", 0, &[]),
            (", store, 0x20z00", 0, &["malformed-part", "malformed-part"]),
            (", stor, 0x20f00", 0, &["malformed-part", "malformed-part"]),
            (", r1 -> 5", 0, &["malformed-part"]),
        ] {
            let c = read(&line(parts), Some(Isa::Arm));
            assert_eq!((c.steps[0].accesses.len(), &c.codes()[..]), (accesses, codes), "{parts}");
        }
        let many = ", load, 0x10".repeat(MOST_ACCESSES + 1);
        let c = read(&line(&many), Some(Isa::Arm));
        assert_eq!(
            (c.steps[0].accesses.len(), c.codes()),
            (MOST_ACCESSES, vec!["too-many-accesses"])
        );
    }

    #[test]
    fn lines_of_another_program_before_the_first_step_are_passed_over() {
        let log = "hello, world\nwarning: x\n".to_owned()
            + &"0, 0x100d8, 0xe5801000, \"str r1, [r0]\"\n".repeat(9);
        assert_eq!(only(log.as_bytes()), "execlog");
        let c = read(&log, None);
        assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::Arm), 9, vec!["foreign-lines"]));
    }

    #[test]
    fn the_instruction_set_by_the_disassembly() {
        for (text, isa) in [
            ("movq %rsp, %rdi", Some(Isa::X86_64)),
            ("movl %esp, %eax", Some(Isa::X86)),
            ("stp x29, x30, [sp, #-0x10]!", Some(Isa::Aarch64)),
            ("push {r4, lr}", Some(Isa::Arm)),
            ("e406 sd s0,8(sp)", Some(Isa::Riscv64)),
            ("c406 sw s0,8(sp)", None),
            ("nop", None),
        ] {
            let head = format!("0, 0x100d8, 0xe5801000, \"{text}\"\n");
            assert_eq!(told_isa(head.as_bytes()), isa, "{text}");
        }
    }
}
