//! A trace format of one's own.

use super::Error;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, LoggedAccess, RegSpan};
use crate::registers::registers;
use crate::trace::input::{Chunk, Chunks, Input};
use crate::trace::record::{LONGEST_OPCODE, Lists, Record, Steps as Rows};
use crate::trace::{self, Context, Sink, StepFormat, TraceError};
use std::io::{self, BufRead, Read};

pub use crate::event::Isa as InstructionSet;

/// A trace format of your own, whose records are executed instructions.
///
/// [`Trace::format`](super::Trace::format) takes it; `examples/format.rs` is one in 60 lines.
pub trait Format: Sync {
    /// Its name, a word: it stands in the table `input`, and in messages.
    fn name(&self) -> &'static str;

    /// Whether the first bytes of a file (64 KiB at most, decompressed) are of this format.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Reads the whole input, decompressed, and gives each executed instruction to `steps`.
    ///
    /// # Errors
    /// Where nothing can be made of the input. What is damaged in a line only is said with
    /// [`Steps::problem`], and the rest read on.
    fn read(&self, input: &mut dyn BufRead, steps: &mut Steps<'_>) -> Result<(), Error>;
}

/// What the records of a trace tell, beside the instructions' addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    carries: Carries,
    isa: Option<InstructionSet>,
}

impl Header {
    /// A trace of instructions without memory accesses or registers. Its instruction set is that of
    /// the ELF file, unless [`Header::instruction_set`] says it.
    pub fn new() -> Header {
        let carries = Carries { steps: true, opcodes: true, ..Carries::default() };
        Header { carries, isa: None }
    }

    /// The instruction set of the trace.
    pub fn instruction_set(mut self, isa: InstructionSet) -> Header {
        self.isa = Some(isa);
        self
    }

    /// Steps list all memory accesses. Where they do not, and registers are known, addresses are
    /// computed from these.
    pub fn accesses(mut self) -> Header {
        self.carries.accesses = true;
        self
    }

    /// Steps list registers as they are before the instruction.
    pub fn registers_before(mut self) -> Header {
        (self.carries.registers, self.carries.registers_before) = (true, true);
        self
    }

    /// Steps list registers as they are after the instruction.
    pub fn registers_after(mut self) -> Header {
        (self.carries.registers, self.carries.registers_before) = (true, false);
        self
    }

    /// Steps say which thread or processor executed them. Where they do not, threads are told apart
    /// by their stack pointers.
    pub fn threads(mut self) -> Header {
        self.carries.threads = true;
        self
    }

    /// Steps have a time, in the trace's own unit.
    pub fn times(mut self) -> Header {
        self.carries.time = true;
        self
    }
}

/// An executed instruction of a trace.
#[derive(Clone, Debug, Default)]
pub struct Step {
    line: u64,
    thread: u32,
    time: u64,
    address: u64,
    opcode: Vec<u8>,
    thumb: bool,
    text: String,
    accesses: Vec<LoggedAccess>,
    registers: Vec<(String, u64)>,
}

impl Step {
    /// The instruction at this address, at run time.
    pub fn new(address: u64) -> Step {
        Step { address, ..Step::default() }
    }

    /// The line, from 1, or byte of the input that tells of it, for messages.
    pub fn line(mut self, line: u64) -> Step {
        self.line = line;
        self
    }

    /// The thread or processor, by any number; see [`Header::threads`].
    pub fn thread(mut self, thread: u32) -> Step {
        self.thread = thread;
        self
    }

    /// When it ran; see [`Header::times`].
    pub fn time(mut self, time: u64) -> Step {
        self.time = time;
        self
    }

    /// Its bytes, as they lie in memory. Without them they are taken from the ELF file.
    pub fn opcode(mut self, bytes: &[u8]) -> Step {
        self.opcode = bytes.to_vec();
        self
    }

    /// It is Thumb code of 32-bit ARM.
    pub fn thumb(mut self) -> Step {
        self.thumb = true;
        self
    }

    /// Its disassembly, as the trace has it.
    pub fn text(mut self, text: impl Into<String>) -> Step {
        self.text = text.into();
        self
    }

    /// It loaded so many bytes; 0: as many as the instruction says.
    pub fn reads(self, address: u64, bytes: u32) -> Step {
        self.access(address, bytes, false)
    }

    /// It stored so many bytes; 0: as many as the instruction says.
    pub fn writes(self, address: u64, bytes: u32) -> Step {
        self.access(address, bytes, true)
    }

    fn access(mut self, address: u64, size: u32, is_write: bool) -> Step {
        self.accesses.push(LoggedAccess { address, size, is_write, value: None });
        self
    }

    /// A register has this value, before or after the instruction; see [`Header`]. Names as the
    /// architecture has them, in any case; of a wide register the lowest 8 bytes.
    pub fn register(mut self, name: impl Into<String>, value: u64) -> Step {
        self.registers.push((name.into(), value));
        self
    }
}

/// Where a [`Format`] gives what it reads.
pub struct Steps<'a> {
    sink: &'a mut dyn Sink,
    name: String,
    elf: Option<InstructionSet>,
    begun: Option<(Header, InstructionSet, Rows)>,
    lists: Lists,
    /// What the receiving side said, which is the reason for whatever follows.
    stopped: Option<TraceError>,
}

impl Steps<'_> {
    /// Says what the trace tells, once and before the first step.
    ///
    /// # Errors
    /// Neither the header nor an ELF file says which instruction set it is.
    pub fn begin(&mut self, header: Header) -> Result<(), Error> {
        let Some(isa) = header.isa.or(self.elf) else {
            return Err(Error::new(format!(
                "{}: the trace does not tell its instruction set: give the program's ELF file",
                self.name
            )));
        };
        let Carries { registers_before, time, .. } = header.carries;
        let rows = Rows::new(isa, registers_before, false, time);
        self.begun = Some((header, isa, rows));
        let begun = self.sink.begin(header.carries, Some(isa));
        self.told(begun)
    }

    /// The next executed instruction.
    ///
    /// # Errors
    /// [`Steps::begin`] was not called; an opcode of more than 16 bytes; or nobody wants to know
    /// more: end the reading with this error.
    pub fn step(&mut self, step: &Step) -> Result<(), Error> {
        let Some((_, isa, rows)) = &mut self.begun else {
            return Err(Error::new(format!("{}: a step before Steps::begin", self.name)));
        };
        let mut opcode = [0; LONGEST_OPCODE];
        let Some(bytes) = opcode.get_mut(..step.opcode.len()) else {
            return Err(Error::new(format!(
                "{}:{}: an opcode of more than {LONGEST_OPCODE} bytes",
                self.name, step.line
            )));
        };
        bytes.copy_from_slice(&step.opcode);
        let file = registers(*isa);
        self.lists.clear();
        self.lists.accesses.extend_from_slice(&step.accesses);
        let mut unknown = None;
        for (name, value) in &step.registers {
            match file.lookup(name) {
                Some(span) => {
                    // What is above the lowest 8 bytes of a wide register is not known.
                    let low = RegSpan { size: span.size.min(8), ..span };
                    let value = value & u64::MAX >> (64 - 8 * u32::from(low.size));
                    self.lists.values(rows.registers_before()).push((low, value));
                }
                None => unknown = unknown.or(Some(name)),
            }
        }
        let record = Record {
            line: step.line,
            time: step.time,
            cpu: step.thread,
            pc: step.address,
            opcode: (opcode, step.opcode.len()),
            thumb: step.thumb,
            text: step.text.as_bytes(),
            ..Record::default()
        };
        if !rows.admits(step.thread) {
            return Err(Error::new(format!(
                "{}:{}: more than 4096 threads: is this their number?",
                self.name, step.line
            )));
        }
        let pushed = rows.push(&record, &mut self.lists, self.sink);
        if let Some(name) = unknown {
            self.problem(step.line, format!("no register is named `{name}`"));
        }
        self.told(pushed)
    }

    /// Says that a line, from 1, or byte of the input was not understood. The first of several is
    /// shown, with their number; a build with such a problem is done, but not clean.
    pub fn problem(&mut self, line: u64, message: impl Into<String>) {
        self.sink.diagnostic(Diagnostic {
            severity: Severity::Error,
            code: "unread-line",
            message: message.into(),
            position: format!("{}:{line}", self.name),
            remedy: "what the line tells was left out; record again if there are many",
        });
    }

    fn told(&mut self, told: Result<(), TraceError>) -> Result<(), Error> {
        told.map_err(|error| {
            let said = Error::new(error.to_string());
            self.stopped = Some(error);
            said
        })
    }
}

/// The format as the readers of this crate are.
pub(super) struct Own(pub &'static dyn Format);

impl trace::Format for Own {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn about(&self) -> &'static str {
        ""
    }
    fn record(&self) -> &'static str {
        ""
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        self.0.recognises(head)
    }
    fn help(&self) -> &'static str {
        ""
    }
}

impl StepFormat for Own {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let name = input.name().to_owned();
        let mut text = Text { chunks: input.chunks(1 << 20), chunk: None, at: 0, damage: None };
        let lists = Lists::default();
        let (elf, begun) = (context.isa, None);
        let mut steps = Steps { sink, name: name.clone(), elf, begun, lists, stopped: None };
        let read = self.0.read(&mut text, &mut steps);
        let Steps { sink, begun, stopped, .. } = steps;
        if let Some(error) = stopped {
            return Err(error);
        }
        if let Some(damage) = text.damage {
            sink.diagnostic(damage.into_damage()?);
        }
        let wrong = |message: String| TraceError::Own { name: name.clone(), message };
        read.map_err(|error| wrong(error.to_string()))?;
        let Some((.., mut rows)) = begun.filter(|(.., rows)| rows.count > 0) else {
            return Err(wrong("no instruction in it; record again".into()));
        };
        rows.finish(sink)
    }
}

/// An input as text. Where it is damaged it ends, and the damage is said.
struct Text {
    chunks: Chunks,
    chunk: Option<Chunk>,
    /// Bytes of the chunk that were taken.
    at: usize,
    damage: Option<TraceError>,
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.chunk.as_ref().is_none_or(|chunk| self.at == chunk.len()) {
            self.at = 0;
            match self.chunks.next() {
                Some(Ok(chunk)) => self.chunk = Some(chunk),
                Some(Err(error)) => self.damage = Some(error),
                None => {
                    self.chunk = None;
                    return Ok(&[]);
                }
            }
        }
        Ok(self.chunk.as_ref().map_or(&[], |chunk| &chunk[self.at..]))
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }
}

impl Read for Text {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let buffered = self.fill_buf()?;
        let bytes = buffered.len().min(out.len());
        out[..bytes].copy_from_slice(&buffered[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}
