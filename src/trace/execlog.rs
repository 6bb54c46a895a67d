//! QEMU's execlog plugin: a line an executed instruction with the addresses that it accessed,
//! without their sizes: `vcpu, 0xPC, 0xOPCODE, "disassembly"{, load|store, 0xADDRESS[, device]}{,
//! register -> 0xVALUE}` (registers from QEMU 9 on, as they are after the instruction).

use super::error::TraceError;
use super::input::Input;
use super::lines::{Line, each_line};
use super::number::{decimal, hex_digits};
use super::problems::Problems;
use super::reader::{Context, Format, Sink, StepFormat};
use crate::event::{Carries, Condition, InsnDef, Isa, LoggedAccess, StepBatch};
use crate::isa::{self, Registers};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Steps of a batch.
const BATCH: usize = 1 << 15;

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
         The program must be given with --elf: it says which instruction set this is, which code is Thumb, and has the bytes that\n\
         the log cuts off (it shows four). Sizes of accesses come from the instruction. Up to QEMU 8 there are no register values, so\n\
         whether a conditional instruction was executed is known only where it accesses memory."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let last = memchr::memrchr(b'\n', head).unwrap_or(head.len());
        let mut lines = head[..last]
            .split(|&b| b == b'\n')
            .map(|l| l.trim_ascii())
            .filter(|l| !l.is_empty())
            .take(8)
            .peekable();
        lines.peek().is_some() && lines.all(|line| Parsed::parse(line).is_some())
    }
}

impl StepFormat for Execlog {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        let Some(isa) = context.isa else {
            let message = "the log does not tell its instruction set";
            return Err(problems.malformed(1, message, "give the program with --elf"));
        };
        let with_values = input.head().windows(6).any(|w| w == b" -> 0x");
        let carries = Carries { registers: with_values, values: with_values, ..self.carries() };
        sink.begin(carries, Some(isa))?;
        let mut reader = Reader::new(isa);
        each_line(input, sink, |line, sink| {
            let Some(parsed) = Parsed::parse(line.text) else {
                problems.line(sink, &line, "no execlog line");
                return Ok(());
            };
            reader.step(&line, &parsed);
            if reader.batch.len() == BATCH { sink.steps(&mut reader.batch) } else { Ok(()) }
        })?;
        if reader.steps == 0 {
            let remedy = format!("record with `{}`", self.record());
            return Err(problems.malformed(1, "no instruction in it", remedy));
        }
        sink.steps(&mut reader.batch)
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
            registers: isa::registers(isa),
            batch: StepBatch::default(),
            known: FxHashMap::default(),
            steps: 0,
        }
    }

    fn step(&mut self, line: &Line, parsed: &Parsed) {
        let insn = self.instruction(parsed);
        let batch = &mut self.batch;
        if batch.is_empty() {
            batch.position = line.number;
        }
        batch.insn.push(insn);
        batch.thread.push(parsed.vcpu);
        batch.condition.push(Condition::Unknown);
        let mut rest = parsed.rest;
        while let Some((item, after)) = next_item(rest) {
            rest = after;
            if item == b"load" || item == b"store" {
                let Some((address, after)) = next_item(rest) else { break };
                rest = after;
                if let Some(address) = prefixed(address) {
                    let is_write = item == b"store";
                    batch.accesses.push(LoggedAccess { address, size: 0, is_write, value: None });
                }
            } else if let Some(arrow) = memchr::memmem::find(item, b" -> ")
                && let Some(span) = std::str::from_utf8(&item[..arrow])
                    .ok()
                    .and_then(|n| self.registers.lookup(n.trim()))
                && let Some(value) = prefixed(&item[arrow + 4..])
                && span.size <= 8
            {
                batch.registers.push((span, value));
            }
        }
        batch.access_end.push(batch.accesses.len() as u32);
        batch.register_end.push(batch.registers.len() as u32);
        self.steps += 1;
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
