//! The instructions of WET traces, with what ELF files know of them.

use crate::diagnostics::{Diagnostic, Severity};
use crate::id::{FileId, FunctionId, ImageId, InstructionId, ProcessId};
use crate::image::{AddressSpace, FunctionRef};
use crate::isa::{Decoded, Decoder, decoder};
use crate::load::inlined::InlinedSites;
use crate::load::instructions::{self, Listed};
use crate::load::{BuildError, Files, FunctionNames, Load};
use crate::store::table::Table;
use crate::store::tables::{InstructionNumber, InstructionNumbers};
use crate::trace::wet::{At, StaticInstruction};
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;

struct Instruction {
    address: u64,
    function: FunctionId,
    file: Option<FileId>,
    line: Option<u32>,
    executions: i64,
    decoded: Option<Decoded>,
    number: Option<u64>,
}

/// All instructions, in order of first mention.
pub struct Instructions<'s> {
    space: &'s AddressSpace,
    names: FunctionNames,
    list: Vec<Instruction>,
    /// The first instruction at each address.
    by_address: FxHashMap<u64, InstructionId>,
    /// Of a comprehensive trace, by its numbers.
    by_number: FxHashMap<u64, InstructionId>,
    decoder: Option<Box<dyn Decoder>>,
    /// Addresses in a function of an ELF file.
    known: u64,
    /// Instructions whose line the trace and the ELF files tell, and of them those where it is
    /// another one. Names are no proof: they can be written in several ways.
    compared: u64,
    other: u64,
}

impl<'s> Instructions<'s> {
    pub fn new(space: &'s AddressSpace) -> Self {
        let first = space.images().first();
        Instructions {
            space,
            names: FunctionNames::default(),
            list: Vec::new(),
            by_address: FxHashMap::default(),
            by_number: FxHashMap::default(),
            decoder: first.map(|l| decoder(l.image.isa, l.image.dialect)),
            known: 0,
            compared: 0,
            other: 0,
        }
    }

    /// The one described last.
    pub fn last(&self) -> Option<InstructionId> {
        Some(InstructionId::at(self.list.len().checked_sub(1)?))
    }

    /// By its number in a comprehensive trace.
    pub fn numbered(&self, number: u64) -> Option<InstructionId> {
        self.by_number.get(&number).copied()
    }

    /// Notes an execution.
    pub fn ran(&mut self, id: InstructionId, instance: i64) {
        let executions = &mut self.list[id.index()].executions;
        *executions = instance.saturating_add(1).max(*executions);
    }

    /// Executions of all.
    pub fn steps(&self) -> u64 {
        self.list.iter().map(|i| i.executions).fold(0, i64::saturating_add).unsigned_abs()
    }

    pub fn functions(&self) -> usize {
        self.names.len()
    }

    /// An error if there are ELF files, and nothing of the trace is in them, or not as it says.
    pub fn check_elf(&self, load: &Load) -> Result<(), BuildError> {
        let images = self.space.images();
        if images.is_empty() || self.known > 0 {
            let (other, all) = (self.other, self.compared);
            let what =
                || format!("{other} of {all} instructions are of other lines in the ELF file");
            return load.compare_elf(other, all, what);
        }
        let first = self.list.first().map_or(0, |i| i.address);
        let names: Vec<_> = images.iter().map(|l| l.image.path.display().to_string()).collect();
        Err(BuildError::WrongElf { first, elf: names.join(", ") })
    }

    /// An instruction that a comprehensive trace describes.
    pub fn described(
        &mut self,
        said: &StaticInstruction,
        at: At,
        load: &mut Load,
    ) -> Result<(), BuildError> {
        let id = self.add(said.address, Some(said), at, load)?;
        self.by_number.insert(said.number, id);
        Ok(())
    }

    /// The instruction at an address.
    pub fn at(
        &mut self,
        address: u64,
        at: At,
        load: &mut Load,
    ) -> Result<InstructionId, BuildError> {
        match self.by_address.get(&address) {
            Some(&id) => Ok(id),
            None => self.add(address, None, at, load),
        }
    }

    /// A new instruction; `said` is what the trace says of it.
    fn add(
        &mut self,
        address: u64,
        said: Option<&StaticInstruction>,
        at: At,
        load: &mut Load,
    ) -> Result<InstructionId, BuildError> {
        let space = self.space;
        let symbol = space.function_at(address);
        let found = space.line(address);
        self.known += u64::from(symbol.is_some());
        if let Some(said) = said {
            self.compare(said, symbol, found.as_ref(), at, load)?;
        }
        let (said_file, said_function) = said.map_or((None, None), |s| (s.file, s.function));
        let function = match (symbol, said_function) {
            (Some(symbol), _) => self.names.symbol(symbol),
            (None, Some(name)) => self.names.named(name, said_file),
            (None, None) => self.names.unknown(space.image_at(address)),
        };
        // The ELF file has the whole path.
        let path = match (&found, said_file) {
            (Some((path, _)), Some(file)) if path.ends_with(file) => Some(path.as_str()),
            (_, Some(file)) => Some(file),
            (Some((path, _)), None) => Some(path.as_str()),
            (None, None) => None,
        };
        let decoded = self.decoder.as_mut().zip(space.bytes(address));
        let thumb = space.thumb(address).unwrap_or(false);
        let id = InstructionId::at(self.list.len());
        self.list.push(Instruction {
            address,
            function,
            file: path.map(|p| load.files.id(p)),
            line: said.and_then(|s| s.line).or(found.as_ref().map(|f| f.1)),
            executions: 0,
            decoded: decoded.and_then(|(d, bytes)| d.decode(address, bytes, thumb)),
            number: said.map(|s| s.number),
        });
        self.by_address.entry(address).or_insert(id);
        Ok(id)
    }

    /// Notes where the trace and an ELF file differ.
    fn compare(
        &mut self,
        said: &StaticInstruction,
        symbol: Option<FunctionRef>,
        found: Option<&(String, u32)>,
        at: At,
        load: &mut Load,
    ) -> Result<(), BuildError> {
        let address = said.address;
        let line = found.zip(said.line).map(|((_, of_elf), line)| (*of_elf, line));
        let other_line = line.filter(|(of_elf, line)| of_elf != line);
        self.compared += u64::from(line.is_some());
        self.other += u64::from(other_line.is_some());
        let mut warn = |code, message, remedy| {
            let (severity, position) = (Severity::Warning, at.to_string());
            load.problem(Diagnostic { severity, code, message, position, remedy })
        };
        if let (Some(symbol), Some(function)) = (symbol, said.function) {
            let f = self.space.function(symbol);
            if f.name != function && f.names.iter().all(|n| n != function) {
                let message = format!(
                    "the trace says that {address:#x} is in {function}, the ELF file in {}",
                    f.name
                );
                let remedy =
                    "give the program that was recorded with --elf; its names are in the database";
                warn("elf-function", message, remedy)?;
            }
        }
        if let Some((of_elf, line)) = other_line {
            let message = format!(
                "the trace says that {address:#x} is of line {line}, the ELF file of line {of_elf}"
            );
            let remedy = "give the program that was recorded with --elf; the trace's lines are in the database";
            warn("elf-line", message, remedy)?;
        }
        Ok(())
    }

    /// Fills `function_symbol`, `function_name`, `instruction`, `instruction_number` and the
    /// temporary `numbered`.
    pub fn write(&self, connection: &Connection, files: &mut Files) -> Result<(), BuildError> {
        self.names.write(self.space, connection, files)?;
        let mut inlined = InlinedSites::default();
        let listed = self.list.iter().enumerate().map(|(i, insn)| {
            let calls = self.space.inlined(insn.address);
            inlined.add(InstructionId::at(i), insn.function, calls);
            let decoded = insn.decoded.as_ref();
            let opcode = || self.space.bytes(insn.address)?.get(..usize::from(decoded?.size));
            Listed {
                process: ProcessId::FIRST,
                image: self.space.image_at(insn.address).map(ImageId::at),
                address: insn.address,
                opcode: opcode(),
                text: decoded.map(|d| d.text.as_str()),
                decoded,
                function: insn.function,
                file: insn.file,
                line: insn.line,
                executions: insn.executions.unsigned_abs(),
            }
        });
        instructions::write(connection, listed)?;
        inlined.write(connection, files)?;
        let mut numbers = Table::<InstructionNumbers>::new(connection);
        let mut numbered = connection.appender_to_catalog_and_db("numbered", "temp", "main")?;
        for (i, insn) in self.list.iter().enumerate() {
            let instruction_id = InstructionId::at(i);
            if let Some(number) = insn.number {
                numbers.push(InstructionNumber { instruction_id, number })?;
                numbered.append_row(params![number, instruction_id.column()])?;
            }
        }
        numbers.finish()?;
        Ok(numbered.flush()?)
    }
}
