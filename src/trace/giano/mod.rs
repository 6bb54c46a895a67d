//! Logs in the manner of the paper's modified Giano simulator (section III): a line an executed
//! instruction with timestamp, opcode, disassembly, the values of all registers, and flags that say
//! which of them it read or wrote. The paper does not give its syntax; `docs/giano.md` defines
//! ours.

mod facts;
mod line;
mod reader;
#[cfg(test)]
mod tests;

use super::error::TraceError;
use super::input::Input;
use super::lines::each_line;
use super::problems::Problems;
use super::reader::{Context, Format, Sink, StepFormat};
use super::record;
use crate::event::Carries;
use facts::{Facts, version};
use line::{Items, Parsed};
use reader::Reader;

pub struct Giano;

/// Lines of the head that must be steps.
const SNIFFED: usize = 8;

impl Format for Giano {
    fn name(&self) -> &'static str {
        "giano"
    }
    fn about(&self) -> &'static str {
        "Giano-style simulator log: opcode, disassembly, all registers with read/write flags, optionally accesses"
    }
    fn record(&self) -> &'static str {
        "a simulator that writes the lines of docs/giano.md (the paper's modified Giano)"
    }
    fn carries(&self) -> Carries {
        record::all()
    }
    fn help(&self) -> &'static str {
        "# giano 1 isa=arm values=after\n\
         TIME [cpuN] PC OPCODE \"disassembly\" {NAME=HEX[FLAGS]} {[M:R|W ADDRESS SIZE [VALUE]]} [[skipped]]\n\
         e.g.  12 00008004 e5801000 \"str r1, [r0]\" r0=00009000[R] r1=00000005[R] pc=00008004 [M:W 00009000 4 00000005]\n\
         TIME and SIZE are decimal, the rest hexadecimal. FLAGS are [R], [W] or [RW]: they say whether an instruction was\n\
         executed, and what one touches that addfg does not know; of all others the opcode says it. [skipped] marks an instruction whose condition failed. OPCODE is - where there is none.\n\
         Lines that begin with # are comments; `# giano 1` may say isa (or give --elf), values=before or values=after the instruction\n\
         (else found from the flags), flags=yes and accesses=yes (else found in the first 64 KiB). Without accesses they are computed\n\
         from the operands and the register values. Four digits of OPCODE are Thumb code, or else the T bit of cpsr says which it is.\n\
         The last line must end with a newline."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let complete = memchr::memrchr(b'\n', head).map_or(&head[..0], |end| &head[..end]);
        let (mut steps, mut items) = (0, 0);
        for line in
            complete.split(|&b| b == b'\n').map(|l| l.trim_ascii()).filter(|l| !l.is_empty())
        {
            if line.starts_with(b"#") {
                if version(line).is_some() {
                    return true;
                }
                continue;
            }
            let Some(parsed) = Parsed::parse(line) else { return false };
            for item in Items(parsed.rest) {
                if item.is_none() {
                    return false;
                }
                items += 1;
            }
            steps += 1;
            if steps == SNIFFED {
                break;
            }
        }
        steps > 0 && items > 0
    }
}

impl StepFormat for Giano {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        let facts = Facts::of(input.head(), &problems)?;
        let Some(isa) = facts.isa.or(context.isa) else {
            let remedy = "add a line `# giano 1 isa=arm` at the top or give the program with --elf";
            return Err(problems.malformed(1, "the log does not tell its instruction set", remedy));
        };
        let before = facts.registers && facts.values(sink, &mut problems)?;
        let carries = Carries {
            accesses: facts.accesses,
            registers: facts.registers,
            registers_before: before,
            values: facts.registers || facts.accesses,
            threads: facts.cpus,
            thumb: facts.psr,
            ..self.carries()
        };
        sink.begin(carries, facts.isa)?;
        let mut reader = Reader::new(isa, carries, facts.flagged, problems);
        each_line(input, sink, |line, sink| reader.line(line, sink))?;
        reader.finish(sink)
    }
}
