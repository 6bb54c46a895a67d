//! `instruction`: the one place that writes it.

use crate::id::{FileId, FunctionId, ImageId, InstructionId, ProcessId};
use crate::isa::{Decoded, FlowKind};
use crate::store::StoreError;
use crate::store::table::fill;
use crate::store::tables::Instruction;
use duckdb::Connection;

/// An instruction as the dictionary has it.
pub struct Listed<'a> {
    pub process: ProcessId,
    pub image: Option<ImageId>,
    /// Run-time address without the Thumb bit.
    pub address: u64,
    pub opcode: Option<&'a [u8]>,
    /// The disassembly.
    pub text: Option<&'a str>,
    /// What it does, if that is known.
    pub decoded: Option<&'a Decoded>,
    pub function: FunctionId,
    pub file: Option<FileId>,
    pub line: Option<u32>,
    pub executions: u64,
}

/// Fills `instruction`, with ids in this order, from 1.
pub fn write<'a>(
    connection: &Connection,
    instructions: impl IntoIterator<Item = Listed<'a>>,
) -> Result<(), StoreError> {
    let rows = instructions.into_iter().enumerate().map(|(i, listed)| {
        let decoded = listed.decoded;
        let flow = decoded.map(|d| &d.flow);
        Instruction {
            instruction_id: InstructionId::at(i),
            process_id: Some(listed.process),
            image_id: listed.image,
            address: listed.address,
            opcode: listed.opcode,
            text: listed.text,
            size: decoded.map(|d| d.size),
            function_id: listed.function,
            file_id: listed.file,
            line: listed.line,
            class: flow.map_or(FlowKind::Unknown, |f| f.kind).name(),
            target: flow.and_then(|f| f.target),
            conditional: flow.map(|f| f.conditional),
            repeats: flow.map(|f| f.repeats),
            executions: listed.executions,
        }
    });
    fill(connection, rows)
}
