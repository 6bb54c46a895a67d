//! QEMU, user or system mode, one instruction a block: `-d in_asm,cpu[,exec],nochain -singlestep`
//! (`-one-insn-per-tb` in newer ones).
//!
//! A block's disassembly (`IN:`) comes once, when it is translated; before each execution all
//! registers are dumped, in lines whose layout never changes within a log. So the first dump gives
//! a template - which bytes are whose digits - and later ones are compared with the one before, 16
//! bytes at a time: only what differs is parsed.

mod dump;
pub mod exceptions;
mod executed;
mod listing;
mod prevented;
mod reader;
#[cfg(test)]
pub mod tests;

use super::error::TraceError;
use super::input::Input;
use super::lines::each_chunk;
use super::problems::Problems;
use super::reader::{Context, Format, Sink, StepFormat};
use crate::event::Carries;
use dump::dump_isa;
use reader::{LONGEST_DUMP, Reader};

const CHUNK: usize = 1 << 20;

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
        reader::carries()
    }
    fn help(&self) -> &'static str {
        "One translated block an instruction: -singlestep, or -one-insn-per-tb in newer versions, with -d nochain. Without them\n\
         QEMU dumps registers once for several instructions, which is refused. ARM, AArch64, RISC-V, x86 and x86-64.\n\
         Memory accesses are computed from the operands and the register values. Values of vector and floating-point registers are\n\
         not in the log (integer registers are); nor is what system calls stored. With exec among the words of -d the log says which\n\
         CPU or thread each dump is of; without it several threads cannot be told apart, which is found and said. ARM's kernel\n\
         helpers (from 0xffff0f00) are one function, <kernel helper>, with their documented effects. A log of -d exec alone has only\n\
         the addresses of the instructions: calls, but no dataflow through memory that operands do not name."
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
        let with_registers = listings > 0 || head.starts_with(b"Trace ") || dumped;
        dumps > 0 && with_registers || dumps == 0 && listings == 0 && executed::sniff(head)
    }
}

impl StepFormat for Qemu {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if executed::sniff(input.head()) {
            return executed::read(input, context, sink);
        }
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
