//! Tarmac traces of ARM's processors: Fast Models, Cycle Models, gem5's Tarmac tracer, and the tracers
//! of RTL simulations and emulators. An instruction is a line, and each register and each access
//! that it writes is a line of its own.
//!
//! [`line`] says what a line is, [`digits`] reads registers' values, [`banks`] knows which of a
//! register's copies a mode has, [`reader`] makes steps.

mod banks;
mod digits;
mod line;
mod reader;
#[cfg(test)]
mod tests;

use super::error::TraceError;
use super::input::Input;
use super::lines::{Lines, each_line};
use super::problems::{Problems, good_lines};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record;
use crate::event::{Carries, Isa};
use line::{Parsed, Said};
use reader::Reader;

pub struct Tarmac;

impl Format for Tarmac {
    fn name(&self) -> &'static str {
        "tarmac"
    }
    fn about(&self) -> &'static str {
        "Tarmac of ARM's processors: instructions, registers and accesses on lines of their own"
    }
    fn record(&self) -> &'static str {
        "FVP_... --plugin TarmacTrace.so -C TRACE.TarmacTrace.trace-file=app.log; gem5: --debug-flags=ExecEnable with TarmacTracer"
    }
    fn carries(&self) -> Carries {
        Carries { registers_before: true, kernel: true, written_values: true, ..record::all() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let says = |line: &[u8]| Parsed::parse(line, false).is_some();
        let steps = |text: &[u8]| {
            matches!(Parsed::parse(text, false), Some(Parsed { said: Said::Step(_), .. }))
        };
        good_lines(head, says) && Lines::of(head).any(|line| steps(line.text))
    }
    fn help(&self) -> &'static str {
        "[TIME [UNIT]] [cpuN] EVENT, where EVENT is\n\
         \x20   IT|IS (INDEX) ADDRESS[:PHYSICAL] OPCODE A|T|O MODE : TEXT      a step; IS: its condition failed\n\
         \x20   ES (ADDRESS:OPCODE) A|T|O MODE: [CCFAIL] TEXT                  the same of Cycle Models and RTL\n\
         \x20   R NAME[_BANK][<HIGH:LOW>] VALUE                                a register; - x . are unknown digits\n\
         \x20   MR4|MW8|R08|W04 ADDRESS[:PHYSICAL] VALUE [(ABORTED)]           an access, value's highest byte first\n\
         \x20   LD|ST ADDRESS W3 W2 W1 W0                                      16 bytes, lowest on the right, .. not touched, ## unknown\n\
         \x20   E ADDRESS NUMBER CoreEvent_NAME, ES EXC [NUMBER] NAME          an exception is taken\n\
         Registers and accesses belong to the step before of their CPU. Instruction fetches, BR, CADI, P, SIGNAL, CACHE, TTW and\n\
         cache maintenance are passed over. Registers that no instruction of a program computes with (SCR, SPSR_EL3, ...) are too.\n\
         A is A32, T is T32, O is A64: of a log with both 32 and 64 bits the ELF, else the first step, says which is read;\n\
         the others are left out, and counted. Times with a fraction are multiplied by 1000. Secure and non-secure memory are one."
    }
}

impl StepFormat for Tarmac {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let problems = Problems::new(input.locator());
        let told = Told::of(input.head());
        let Some(isa) = context.isa.filter(|isa| is_arm(*isa)).or(told.isa) else {
            let message = "no instruction (IT, IS, ES) at the beginning of the log";
            return Err(problems.malformed(1, message, "switch the trace of instructions on"));
        };
        let carries = Carries {
            accesses: told.accesses,
            registers: told.registers,
            registers_before: told.registers,
            written_values: told.registers,
            threads: told.cpus,
            time: told.time,
            ..self.carries()
        };
        sink.begin(carries, Some(isa))?;
        let mut reader = Reader::new(isa, &carries, told.fractions, problems);
        each_line(input, sink, |line, sink| reader.line(&line, sink))?;
        reader.finish(sink)
    }
}

fn is_arm(isa: Isa) -> bool {
    matches!(isa, Isa::Arm | Isa::Aarch64)
}

/// What the first lines say of the whole log.
#[derive(Default)]
struct Told {
    isa: Option<Isa>,
    accesses: bool,
    registers: bool,
    cpus: bool,
    time: bool,
    /// Times have fractions.
    fractions: bool,
}

impl Told {
    fn of(head: &[u8]) -> Told {
        let mut told = Told::default();
        for parsed in Lines::of(head).filter_map(|line| Parsed::parse(line.text, false)) {
            told.cpus |= parsed.cpu.is_some();
            told.time |= parsed.time.is_some();
            told.fractions |= parsed.has_fraction;
            match parsed.said {
                Said::Step(step) => {
                    told.isa.get_or_insert(step.state.isa());
                }
                Said::Register { .. } => told.registers = true,
                Said::Memory(_) | Said::Bytes(_) => told.accesses = true,
                _ => {}
            }
        }
        told
    }
}
