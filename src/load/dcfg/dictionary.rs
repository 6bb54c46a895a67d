//! What has a name or an address: `process`, `image`, `function_symbol`, `instruction`.

use super::code::{Code, FunctionKey, base_name, file_id};
use crate::id::{FileId, FunctionId, ImageId, InstructionId, ProcessId};
use crate::image::FunctionKind;
use crate::load::{BuildError, Files};
use crate::store::table::Table;
use crate::store::tables::{
    BlockStep, BlockSteps, FunctionName, FunctionNames, FunctionSymbol, FunctionSymbols, Image,
    Images, Instruction, Instructions, Process, Processes,
};
use duckdb::Connection;
use rustc_hash::FxHashSet;

/// A function as `function_symbol` has it, but for its name, which must be its own.
struct Described<'a> {
    name: String,
    symbol: Option<&'a str>,
    kind: &'static str,
    image: Option<ImageId>,
    file: Option<FileId>,
    address: Option<u64>,
    size: Option<u64>,
}

impl Code<'_> {
    fn image_name(&self, process: u32, image: u32) -> String {
        let image = &self.graph.processes[process as usize].images[image as usize];
        let name = image.path.as_deref().map(|p| base_name(p).to_owned());
        name.unwrap_or_else(|| format!("image {}", image.id))
    }

    fn describe(&self, key: FunctionKey, files: &mut Files) -> Described<'_> {
        match key {
            FunctionKey::Elf(at) => {
                let f = self.space.function(at);
                let stub = f.kind == FunctionKind::Stub;
                Described {
                    name: self.space.display_name(at).to_owned(),
                    symbol: f.names.first().map(String::as_str),
                    kind: if stub { "stub" } else { "function" },
                    image: Some(ImageId::at(at.image)),
                    file: f.file.as_deref().and_then(|f| file_id(files, f)),
                    address: Some(self.space.entry(at)),
                    size: Some(f.ranges.iter().map(|(a, b)| b - a).sum()),
                }
            }
            FunctionKey::Symbol(p, image, symbol) => {
                let images = &self.graph.processes[p as usize].images;
                let (address, size, name) = &images[image as usize].symbols[symbol as usize];
                Described {
                    name: name.clone(),
                    symbol: Some(name),
                    kind: "function",
                    image: Some(self.image_id(p as usize, image)),
                    file: self.line(p as usize, image, *address, files).0,
                    address: Some(*address),
                    size: Some(*size),
                }
            }
            FunctionKey::Outside(p, image) => Described {
                name: format!("<unknown {}>", self.image_name(p, image)),
                symbol: None,
                kind: "unknown",
                image: Some(self.image_id(p as usize, image)),
                file: None,
                address: None,
                size: None,
            },
        }
    }

    pub fn write_functions(
        &self,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<(), BuildError> {
        let mut table = Table::<FunctionSymbols>::new(connection);
        let mut names = Table::<FunctionNames>::new(connection);
        let mut used: FxHashSet<String> = FxHashSet::default();
        for (i, &key) in self.functions.iter().enumerate() {
            let function_id = FunctionId::at(i);
            let f = self.describe(key, files);
            match key {
                FunctionKey::Elf(at) => {
                    for name in &self.space.function(at).names {
                        names.push(FunctionName { function_id, name })?;
                    }
                }
                FunctionKey::Symbol(..) => {
                    names.push(FunctionName { function_id, name: &f.name })?;
                }
                FunctionKey::Outside(..) => {}
            }
            let mut shown = f.name.clone();
            if used.contains(&shown)
                && let FunctionKey::Symbol(p, image, _) | FunctionKey::Outside(p, image) = key
            {
                shown = format!("{} ({})", f.name, self.image_name(p, image));
            }
            if used.contains(&shown) {
                let place = f.address.unwrap_or(function_id.get().into());
                shown = format!("{} ({place:#x})", f.name);
            }
            while !used.insert(shown.clone()) {
                shown.push('\'');
            }
            table.push(FunctionSymbol {
                function_id,
                name: &shown,
                symbol: f.symbol,
                kind: f.kind,
                image_id: f.image,
                file_id: f.file,
                address: f.address,
                size: f.size,
            })?;
        }
        table.finish()?;
        Ok(names.finish()?)
    }

    /// `image` rows of images that are no ELF file given, and `process`.
    pub fn write_processes(&self, connection: &Connection) -> Result<(), BuildError> {
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
        Ok(table.finish()?)
    }

    pub fn write_instructions(
        &self,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<(), BuildError> {
        let mut table = Table::<Instructions>::new(connection);
        for (i, insn) in self.instructions.iter().enumerate() {
            let d = &insn.decoded;
            let line = self.space.line(insn.address);
            table.push(Instruction {
                instruction_id: InstructionId::at(i),
                process_id: Some(ProcessId::at(insn.process)),
                image_id: insn.image,
                address: insn.address,
                opcode: self
                    .space
                    .bytes(insn.address)
                    .map(|b| &b[..b.len().min(usize::from(d.size))]),
                text: Some(&d.text),
                size: Some(d.size),
                function_id: insn.function,
                file_id: line.as_ref().and_then(|(f, _)| file_id(files, f)),
                line: line.as_ref().map(|(_, l)| *l),
                class: d.flow.kind.name(),
                target: d.flow.target,
                conditional: Some(d.flow.conditional),
                repeats: Some(d.flow.repeats),
                executions: insn.executions,
            })?;
        }
        Ok(table.finish()?)
    }

    /// `block_step`; gives the steps of the longest block.
    pub fn write_steps(&self, connection: &Connection) -> Result<usize, BuildError> {
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
