//! QEMU's execlog plugin: a line an executed instruction with the addresses that it accessed,
//! without their sizes: `vcpu, 0xPC, 0xOPCODE, "disassembly"{, load|store, 0xADDRESS[, device]}{,
//! register -> 0xVALUE}` (registers from QEMU 9 on, as they are after the instruction).

use super::input::Input;
use super::{Context, Format, Sink, StepFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Condition, InsnDef, LoggedAccess, StepBatch};
use crate::isa;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

const CHUNK: usize = 1 << 20;
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
        lines.peek().is_some() && lines.all(|line| Line::parse(line).is_some())
    }
}

impl StepFormat for Execlog {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let (name, locator) = (input.name().to_owned(), input.locator());
        let Some(isa) = context.isa else {
            return Err(TraceError::Malformed {
                name,
                position: "1".into(),
                message: "the log does not tell its instruction set".into(),
                remedy: "give the program with --elf".into(),
            });
        };
        let registers = isa::registers(isa);
        let with_values = input.head().windows(6).any(|w| w == b" -> 0x");
        sink.begin(
            Carries { registers: with_values, values: with_values, ..self.carries() },
            Some(isa),
        )?;
        let mut batch = StepBatch::default();
        // By address and text: the opcode column has stale bytes behind a short instruction.
        let mut known: FxHashMap<(u64, u64), u32> = FxHashMap::default();
        let (mut steps, mut consumed) = (0u64, 0);
        let mut damage = None;
        for chunk in input.chunks(CHUNK) {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(e) => {
                    damage = Some(e.into_damage()?);
                    break;
                }
            };
            let mut at = 0;
            while at < chunk.len() {
                let end = memchr::memchr(b'\n', &chunk[at..]);
                let line = chunk[at..end.map_or(chunk.len(), |e| at + e)].trim_ascii_end();
                let offset = chunk.offset + at as u64;
                at = end.map_or(chunk.len(), |e| at + e + 1);
                if line.is_empty() {
                    continue;
                }
                let Some(parsed) = Line::parse(line) else {
                    let (code, what, remedy) = if end.is_none() {
                        (
                            "truncated",
                            "the log ends within a line",
                            "the steps before it were loaded; let the recorder finish",
                        )
                    } else {
                        (
                            "malformed-line",
                            "no execlog line",
                            "the line was left out; record again if there are many",
                        )
                    };
                    let text = String::from_utf8_lossy(&line[..line.len().min(60)])
                        .escape_debug()
                        .to_string();
                    sink.diagnostic(Diagnostic {
                        severity: Severity::Error,
                        code,
                        message: format!("{what}: `{text}`"),
                        position: locator.at(offset),
                        remedy,
                    });
                    continue;
                };
                let mut hash = FxHasher::default();
                hash.write(parsed.text);
                let next = known.len() as u32;
                let insn = *known.entry((parsed.pc, hash.finish())).or_insert_with(|| {
                    let text = String::from_utf8_lossy(parsed.text)
                        .split_whitespace()
                        .collect::<Vec<_>>()
                        .join(" ");
                    batch.new_insns.push(InsnDef {
                        address: parsed.pc,
                        bytes: (parsed.opcode as u32).to_le_bytes().to_vec(),
                        thumb: parsed.pc % 4 == 2,
                        text: (!text.is_empty()).then(|| text.into()),
                        ..InsnDef::default()
                    });
                    next
                });
                if batch.is_empty() {
                    batch.position = offset;
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
                        if let Some(address) = hex(address) {
                            batch.accesses.push(LoggedAccess {
                                address,
                                size: 0,
                                is_write: item == b"store",
                                value: None,
                            });
                        }
                    } else if let Some(arrow) = item.windows(4).position(|w| w == b" -> ")
                        && let Some(span) = std::str::from_utf8(&item[..arrow])
                            .ok()
                            .and_then(|n| registers.lookup(n.trim()))
                        && let Some(value) = hex(&item[arrow + 4..])
                        && span.size <= 8
                    {
                        batch.registers.push((span, value));
                    }
                }
                batch.access_end.push(batch.accesses.len() as u32);
                batch.register_end.push(batch.registers.len() as u32);
                steps += 1;
                if batch.len() == BATCH {
                    sink.steps(&mut batch)?;
                }
            }
            sink.progress(chunk.consumed - consumed);
            consumed = chunk.consumed;
        }
        if let Some(damage) = damage {
            sink.diagnostic(damage);
        }
        if steps == 0 {
            return Err(TraceError::Malformed {
                name,
                position: "1".into(),
                message: "no instruction in it".into(),
                remedy: format!("record with `{}`", self.record()),
            });
        }
        sink.steps(&mut batch)
    }
}

/// `, item` off the front.
fn next_item(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = rest.strip_prefix(b",")?.trim_ascii_start();
    let end = memchr::memchr(b',', rest).unwrap_or(rest.len());
    Some((rest[..end].trim_ascii_end(), &rest[end..]))
}

fn hex(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text.strip_prefix(b"0x")?).ok()?;
    // Wider registers and stray signs are none.
    if digits.len() > 16 || digits.starts_with('+') {
        None
    } else {
        u64::from_str_radix(digits, 16).ok()
    }
}

struct Line<'a> {
    vcpu: u32,
    pc: u64,
    opcode: u64,
    text: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Line<'a>> {
        let comma = memchr::memchr(b',', line)?;
        let vcpu = std::str::from_utf8(&line[..comma]).ok()?;
        if !vcpu.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let (pc, rest) = next_item(&line[comma..])?;
        let (opcode, rest) = next_item(rest)?;
        let quoted = rest.strip_prefix(b",")?.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', quoted)?;
        let rest = &quoted[end + 1..];
        (rest.is_empty() || rest.starts_with(b",")).then_some(())?;
        Some(Line {
            vcpu: vcpu.parse().ok()?,
            pc: hex(pc)?,
            opcode: hex(opcode)?,
            text: &quoted[..end],
            rest,
        })
    }
}
