//! What has a name or an address: `process`, `image`, `function_symbol`, `instruction`.

use super::code::{Code, FunctionKey, base_name};
use crate::id::{FunctionId, InstructionId, ProcessId};
use crate::image::Owner;
use crate::load::Files;
use crate::load::inlined::InlinedSites;
use crate::load::instructions::{self, Listed};
use crate::load::symbols::{self, Symbol, SymbolKind};
use crate::store::StoreError;
use crate::store::table::Table;
use crate::store::tables::{BlockStep, BlockSteps, Image, Images, Process, Processes};
use duckdb::Connection;
use rustc_hash::FxHashSet;

impl Code<'_> {
    fn image_name(&self, process: usize, image: u32) -> String {
        let image = &self.graph.processes[process].images[image as usize];
        let name = image.path.as_deref().map(|p| base_name(p).to_owned());
        name.unwrap_or_else(|| format!("image {}", image.id))
    }

    fn owner(&self, process: usize, image: u32) -> Owner {
        let path = self.graph.processes[process].images[image as usize].path.as_deref();
        path.and_then(Owner::of_file).unwrap_or(Owner::Program)
    }

    fn symbol(&self, key: FunctionKey) -> Symbol<'_> {
        match key {
            FunctionKey::Elf(_, at) => Symbol::of(self.space, at),
            FunctionKey::Symbol(process, image, symbol) => {
                let said = &self.graph.processes[process].images[image as usize];
                let (address, size, name) = &said.symbols[symbol as usize];
                let line = said.line_at(*address);
                Symbol {
                    names: vec![name],
                    image: Some(self.image_id(process, image)),
                    owner: Some(self.owner(process, image)),
                    file: line.map(|(file, _)| self.graph.files[file as usize].as_str()),
                    address: Some(*address),
                    size: Some(*size),
                    ..Symbol::made_up(name.as_str(), SymbolKind::Function)
                }
            }
            FunctionKey::Outside(process, image) => {
                let name = format!("<unknown {}>", self.image_name(process, image));
                Symbol {
                    image: Some(self.image_id(process, image)),
                    owner: Some(self.owner(process, image)),
                    ..Symbol::made_up(name, SymbolKind::Unknown)
                }
            }
        }
    }

    /// The name under which a function is shown: with its process, its image, its address, or
    /// marks, if another one has its name.
    fn unique(&self, id: FunctionId, symbol: &Symbol, used: &mut FxHashSet<String>) -> String {
        let name = &symbol.shown;
        let (process, image) = match self.functions[id.index()] {
            FunctionKey::Elf(process, _) => (process, None),
            FunctionKey::Symbol(process, image, _) | FunctionKey::Outside(process, image) => {
                (process, Some(image))
            }
        };
        let pid = self.graph.processes[process].pid;
        let more = [
            (process > 0).then(|| format!("process {pid}")),
            image.map(|image| self.image_name(process, image)),
            Some(format!("{:#x}", symbol.address.unwrap_or(id.get().into()))),
        ];
        let more = more.into_iter().flatten().map(|more| format!("{name} ({more})"));
        let mut shown = name.to_string();
        for longer in more {
            if !used.contains(&shown) {
                break;
            }
            shown = longer;
        }
        while !used.insert(shown.clone()) {
            shown.push('\'');
        }
        shown
    }

    pub fn write_functions(
        &self,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<usize, StoreError> {
        let mut used: FxHashSet<String> = FxHashSet::default();
        let symbols = self.functions.iter().enumerate().map(|(i, &key)| {
            let mut symbol = self.symbol(key);
            symbol.shown = self.unique(FunctionId::at(i), &symbol, &mut used).into();
            symbol
        });
        Ok(symbols::write(connection, files, symbols)?.len())
    }

    /// `image` rows of images that are no ELF file given, and `process`.
    pub fn write_processes(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut processes = Table::<Processes>::new(connection);
        let mut table = Table::<Images>::new(connection);
        for (p, of) in self.graph.processes.iter().enumerate() {
            let process_id = ProcessId::at(p);
            processes.push(Process { process_id, pid: Some(of.pid), name: None })?;
            for (i, image) in
                of.images.iter().enumerate().filter(|(i, _)| self.elf[p][*i].is_none())
            {
                let path = image.path.clone().unwrap_or_else(|| format!("image {}", image.id));
                table.push(Image {
                    image_id: self.image_id(p, i as u32),
                    process_id: Some(process_id),
                    path: &path,
                    bias: Some(image.load_address),
                    stripped: None,
                    load_seq: None,
                    unload_seq: None,
                })?;
            }
        }
        processes.finish()?;
        table.finish()
    }

    pub fn write_instructions(
        &self,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<(), StoreError> {
        let mut inlined = InlinedSites::default();
        let listed = self.instructions.iter().enumerate().map(|(i, insn)| {
            let size = usize::from(insn.decoded.size);
            let opcode = self.space.bytes(insn.address).map(|b| &b[..b.len().min(size)]);
            let line = self.space.line(insn.address);
            let calls = self.space.inlined(insn.address);
            inlined.add(InstructionId::at(i), insn.function, calls);
            Listed {
                process: ProcessId::at(insn.process),
                image: insn.image,
                address: insn.address,
                opcode,
                text: Some(&insn.decoded.text),
                decoded: Some(&insn.decoded),
                function: insn.function,
                file: line.as_ref().map(|(f, _)| files.id(f)),
                line: line.as_ref().map(|(_, l)| *l),
                executions: insn.executions,
            }
        });
        instructions::write(connection, listed)?;
        inlined.write(connection, files)
    }

    /// `block_step`; gives the steps of the longest block.
    pub fn write_steps(&self, connection: &Connection) -> Result<usize, StoreError> {
        let mut longest = 0;
        let mut table = Table::<BlockSteps>::new(connection);
        for (p, nodes) in self.steps.iter().enumerate() {
            for (n, steps) in nodes.iter().enumerate() {
                longest = longest.max(steps.len());
                for (step, &instruction_id) in steps.iter().enumerate() {
                    table.push(BlockStep {
                        block_id: self.block_id(p, n as u32),
                        step: step as u32,
                        instruction_id,
                        executed: true,
                    })?;
                }
            }
        }
        table.finish()?;
        Ok(longest)
    }
}
