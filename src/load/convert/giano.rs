//! Writes runs as a Giano-style log (docs/giano.md): a line an instruction, with its registers and accesses.

use crate::event::{BlockDef, Carries, InsnDef, Isa, MemShape, RegSpan, RunBatch};
use crate::isa::{Decoded, registers};
use crate::trace::record::isa_name;
use crate::trace::stream::register_name;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::rc::Rc;

/// A register that a line names.
struct Named {
    name: Option<&'static str>,
    span: RegSpan,
    read: bool,
    written: bool,
}

struct Instruction {
    /// What stands between the time and the registers.
    text: String,
    registers: Vec<Named>,
    /// Register values that a run has of it, if it is executed.
    values: Vec<RegSpan>,
    writes: Vec<RegSpan>,
    conditional: bool,
}

/// The bytes of a thread's registers, as far as they are known.
struct Known(Vec<Option<u8>>);

impl Known {
    fn set(&mut self, span: RegSpan, value: Option<u64>) {
        let bytes = value.map(u64::to_le_bytes);
        for (i, at) in span.bytes().enumerate() {
            if let Some(byte) = self.0.get_mut(usize::from(at)) {
                *byte = bytes.and_then(|bytes| bytes.get(i).copied());
            }
        }
    }

    /// The digits of a register's value.
    fn digits(&self, span: RegSpan) -> Option<String> {
        let bytes = self.0.get(usize::from(span.offset)..usize::from(span.end()))?;
        let mut text = String::new();
        for byte in bytes.iter().rev() {
            let _ = write!(text, "{:02x}", (*byte)?);
        }
        Some(text)
    }
}

pub struct GianoWriter<W: Write> {
    out: W,
    isa: Isa,
    carries: Carries,
    instructions: Vec<Instruction>,
    blocks: Vec<Rc<BlockDef>>,
    threads: FxHashMap<u32, Known>,
    steps: u64,
    line: String,
    /// Events for which there is no place.
    pub lost: u64,
}

impl<W: Write> GianoWriter<W> {
    pub fn begin(mut out: W, isa: Isa, carries: Carries) -> io::Result<GianoWriter<W>> {
        writeln!(out, "# giano 1 isa={} values=after accesses=yes", isa_name(isa))?;
        Ok(GianoWriter {
            out,
            isa,
            carries,
            instructions: Vec::new(),
            blocks: Vec::new(),
            threads: FxHashMap::default(),
            steps: 0,
            line: String::new(),
            lost: 0,
        })
    }

    /// Defines an instruction behind those before.
    pub fn instruction(&mut self, def: InsnDef, decoded: Decoded) {
        let pc = registers(self.isa).pc;
        let mut list: Vec<Named> = Vec::new();
        let reads = decoded.reads.iter().map(|access| (access.span, false));
        for (span, written) in reads.chain(decoded.writes.iter().map(|access| (access.span, true)))
        {
            if pc.is_some_and(|pc| pc.overlaps(span)) {
                continue;
            }
            match list.iter_mut().find(|named| named.span == span) {
                Some(named) => named.written |= written,
                None => list.push(Named {
                    name: register_name(self.isa, span),
                    span,
                    read: !written,
                    written,
                }),
            }
        }
        let writes: Vec<RegSpan> = decoded.writes.iter().map(|write| write.span).collect();
        let text = def.text.as_deref().unwrap_or(&decoded.text).replace('"', "'");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let thumb = self.isa == Isa::Arm && def.thumb;
        let address = def.address | u64::from(thumb);
        self.instructions.push(Instruction {
            text: format!("{address:08x} {} \"{text}\"", digits(&def, self.isa)),
            registers: list,
            values: writes.iter().copied().filter(|span| span.size <= 8).collect(),
            writes,
            conditional: decoded.condition.is_some() || decoded.flow.conditional,
        });
    }

    /// Defines a block of instructions that are defined.
    pub fn block(&mut self, def: BlockDef) {
        self.blocks.push(def.into());
    }

    /// Writes the runs of a batch, whose definitions are made.
    pub fn runs(&mut self, batch: &RunBatch) -> io::Result<()> {
        self.lost += batch.events.len() as u64;
        let mut memory = batch
            .addresses
            .iter()
            .copied()
            .zip(batch.values.iter().copied().chain(std::iter::repeat(None)));
        let mut values = batch.register_values.iter().copied();
        let mut times = batch.time.iter().copied();
        for (i, &block) in batch.block.iter().enumerate() {
            let thread = batch.thread.get(i).copied().unwrap_or(0);
            let Some(def) = self.blocks.get(block as usize).cloned() else { continue };
            let mut shapes = def.mem.iter().copied();
            for step in &def.steps {
                self.steps += 1;
                let time = times.next().unwrap_or(self.steps);
                let accesses = shapes.by_ref().take(step.mem.into()).zip(&mut memory);
                let accesses: Vec<_> =
                    accesses.map(|(shape, (address, value))| (shape, address, value)).collect();
                let with = self
                    .carries
                    .registers
                    .then_some(&mut values as &mut dyn Iterator<Item = Option<u64>>);
                self.step((step.insn, step.executed), thread, time, &accesses, with)?;
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        (insn, executed): (u32, bool),
        thread: u32,
        time: u64,
        accesses: &[(MemShape, u64, Option<u64>)],
        values: Option<&mut dyn Iterator<Item = Option<u64>>>,
    ) -> io::Result<()> {
        let Some(instruction) = self.instructions.get(insn as usize) else { return Ok(()) };
        let line = &mut self.line;
        line.clear();
        let _ = write!(line, "{time} ");
        if self.carries.threads {
            let _ = write!(line, "cpu{thread} ");
        }
        line.push_str(&instruction.text);
        if let Some(values) = values.filter(|_| executed) {
            let bytes = registers(self.isa).size;
            let known = self.threads.entry(thread).or_insert_with(|| Known(vec![None; bytes]));
            instruction.writes.iter().for_each(|span| known.set(*span, None));
            for span in &instruction.values {
                known.set(*span, values.next().flatten());
            }
            for register in &instruction.registers {
                let (Some(name), Some(digits)) = (register.name, known.digits(register.span))
                else {
                    continue;
                };
                let flags = match (register.read, register.written) {
                    (true, true) => "RW",
                    (true, false) => "R",
                    _ => "W",
                };
                let _ = write!(line, " {name}={digits}[{flags}]");
            }
        }
        for (shape, address, value) in accesses {
            let direction = if shape.is_write { 'W' } else { 'R' };
            let _ = write!(line, " [M:{direction} {address:08x} {}", shape.size);
            if let Some(value) = value.filter(|_| shape.size <= 8) {
                let _ = write!(line, " {value:0width$x}", width = 2 * shape.size as usize);
            }
            line.push(']');
        }
        if !executed {
            line.push_str(" [skipped]");
        } else if instruction.conditional {
            line.push_str(" [executed]");
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    /// Ends the log; gives the number of steps.
    pub fn end(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.steps)
    }
}

/// An opcode as a Giano log has it.
fn digits(def: &InsnDef, isa: Isa) -> String {
    let mut bytes = def.bytes.clone();
    if bytes.is_empty() {
        return "-".to_owned();
    }
    if isa == Isa::Arm && def.thumb && bytes.len() == 4 {
        bytes[..2].reverse();
        bytes[2..].reverse();
    } else if !matches!(isa, Isa::X86 | Isa::X86_64) {
        bytes.reverse();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
