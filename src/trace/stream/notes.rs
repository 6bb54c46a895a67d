//! Definitions of version 2: what the log said of an instruction, and what of a block is known beside its
//! code and accesses.

use super::bytes::{Bad, Bytes, put, put_text};
use crate::event::{BlockDef, InsnDef, Isa, RegSpan, RegUse};
use crate::registers::registers;

/// What begins such a definition.
pub const OF_CODE: u8 = 3;
pub const OF_BLOCK: u8 = 4;

/// Its bytes are not known; and its size is not.
const NO_CODE: u64 = 1;
const NO_SIZE: u64 = 2;
/// The log has flags of registers.
const FLAGGED: u64 = 4;
/// Steps, accesses and registers of a list at most.
const MOST: u64 = 1 << 16;

const USES: [RegUse; 3] = [RegUse::Read, RegUse::Write, RegUse::ReadWrite];

/// What is said of instructions with this address and these bytes, from here on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeNote {
    pub no_code: bool,
    pub no_size: bool,
    pub text: Option<Box<str>>,
    pub registers: Option<Box<[(RegSpan, RegUse)]>>,
}

/// What is said of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockNote {
    pub register_values: u32,
    /// Steps whose condition failed.
    pub failed: Vec<u32>,
    /// The operand of each access.
    pub operands: Vec<u8>,
}

impl CodeNote {
    pub fn of(def: &InsnDef) -> CodeNote {
        CodeNote {
            no_code: def.bytes.is_empty(),
            no_size: def.size == 0,
            text: def.text.clone(),
            registers: def.log_registers.clone(),
        }
    }

    /// Adds a definition; `code` as blocks have it. Gives how many registers have no name.
    pub fn write(&self, out: &mut Vec<u8>, isa: Isa, address: u64, code: &[u8]) -> u64 {
        out.push(OF_CODE);
        put(out, address);
        put(out, code.len() as u64);
        out.extend_from_slice(code);
        let flags =
            [(self.no_code, NO_CODE), (self.no_size, NO_SIZE), (self.registers.is_some(), FLAGGED)];
        put(out, flags.iter().map(|(is, bit)| if *is { *bit } else { 0 }).sum());
        put_text(out, self.text.as_deref().unwrap_or_default());
        let Some(list) = &self.registers else { return 0 };
        let named: Vec<_> =
            list.iter().filter_map(|(span, kind)| Some((name(isa, *span)?, *kind))).collect();
        put(out, named.len() as u64);
        for (name, kind) in &named {
            put_text(out, name);
            out.push(USES.iter().position(|u| u == kind).unwrap_or(0) as u8);
        }
        (list.len() - named.len()) as u64
    }

    /// Address, code and what is said.
    pub fn read<'a>(from: &mut Bytes<'a>, isa: Isa) -> Result<(u64, &'a [u8], CodeNote), Bad> {
        let (address, length) = (from.number()?, from.number()?);
        if !(1..=16).contains(&length) {
            return Err(Bad::Instruction(length));
        }
        let code = from.take(length)?;
        let flags = from.number()?;
        let text = Some(from.text()?).filter(|text| !text.is_empty());
        let mut list = Vec::new();
        if flags & FLAGGED != 0 {
            for _ in 0..from.up_to(MOST, |_| Bad::Definition)? {
                let (name, kind) = (from.text()?, from.byte()?);
                let kind = *USES.get(usize::from(kind)).ok_or(Bad::Definition)?;
                let span = registers(isa).lookup(&name).ok_or(Bad::Definition)?;
                list.push((span, kind));
            }
        }
        let registers = (flags & FLAGGED != 0).then(|| list.into_boxed_slice());
        let (no_code, no_size) = (flags & NO_CODE != 0, flags & NO_SIZE != 0);
        Ok((address, code, CodeNote { no_code, no_size, text, registers }))
    }
}

/// A name of a register.
pub fn name(isa: Isa, span: RegSpan) -> Option<&'static str> {
    let file = registers(isa);
    if let Some(whole) = file.at(span.offset).filter(|whole| whole.span == span)
        && file.lookup(&whole.name) == Some(span)
    {
        return Some(&whole.name);
    }
    let names = file.names.iter().filter(|(_, of)| **of == span).map(|(name, _)| name.as_str());
    names.min_by_key(|name| (name.len(), *name))
}

impl BlockNote {
    pub fn of(def: &BlockDef, register_values: u32) -> BlockNote {
        let failed = (0..).zip(&def.steps).filter(|(_, step)| !step.executed).map(|(i, _)| i);
        BlockNote {
            register_values,
            failed: failed.collect(),
            operands: def.mem.iter().map(|shape| shape.operand).collect(),
        }
    }

    pub fn write(&self, out: &mut Vec<u8>, block: u64) {
        out.push(OF_BLOCK);
        put(out, block);
        put(out, self.register_values.into());
        put(out, self.failed.len() as u64);
        self.failed.iter().for_each(|step| put(out, (*step).into()));
        put(out, self.operands.len() as u64);
        out.extend_from_slice(&self.operands);
    }

    /// The block's number and what is said.
    pub fn read(from: &mut Bytes) -> Result<(u64, BlockNote), Bad> {
        let (block, register_values) =
            (from.number()?, from.up_to(1 << 24, |_| Bad::Definition)? as u32);
        let mut failed = Vec::new();
        for _ in 0..from.up_to(MOST, |_| Bad::Definition)? {
            failed.push(from.number32()?);
        }
        let length = from.up_to(1 << 24, |_| Bad::Definition)?;
        Ok((block, BlockNote { register_values, failed, operands: from.take(length)?.to_vec() }))
    }
}
