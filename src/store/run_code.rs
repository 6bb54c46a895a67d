//! The code of a packed run (`run_code`): what the pass has to know, beside the chunks of the run,
//! to go through it again.
//!
//! One zstd frame with a checksum; all numbers are LEB128.

use super::frame;
use super::numbers::{ChunkError, Section, put, put_list, put_option, put_text};
use crate::analysis::access::Insn;
use crate::analysis::place::SectionRange;
use crate::event::{BlockDef, BlockStep, InsnDef, Isa, MemShape, RegSpan};
use crate::id::FunctionId;
use crate::isa::expr::Expr;
use crate::isa::{ControlFlow, Decoded, FlowKind, MemOperand, Moved};
use crate::registers::RegAccess;

/// Changes whenever it reads differently.
const VERSION: u64 = 2;

/// What the pass asks of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionTraits {
    pub stub: bool,
    /// It copies: bytes keep their producers.
    pub through: bool,
    /// Where it is entered.
    pub entry: Option<u64>,
}

/// Where bytes lie that no step wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionName {
    /// Name of the pseudo-function that stands for it.
    pub pseudo: String,
    pub via: &'static str,
}

/// The code of a run.
#[derive(Clone, Debug)]
pub struct RunCode {
    pub isa: Isa,
    /// Sections that are there from the start.
    pub sections: Vec<SectionRange>,
    /// Sections of each mapping and device, in the order of their events.
    pub placed: Vec<Vec<SectionRange>>,
    /// Of all sections, in the order of their numbers.
    pub names: Vec<SectionName>,
    /// Of each process.
    pub first_stack_pointers: Vec<Option<u64>>,
    /// Threads before each process but the first.
    pub first_threads: Vec<u32>,
    /// By id.
    pub functions: Vec<FunctionTraits>,
    /// Without what only a reader of the trace asks.
    pub insns: Vec<Insn>,
    pub blocks: Vec<BlockDef>,
}

const ISAS: [Isa; 6] = [Isa::X86_64, Isa::X86, Isa::Arm, Isa::Aarch64, Isa::Riscv32, Isa::Riscv64];
const VIAS: [&str; 3] = ["global", "constant", "mmio"];
pub(super) const FLOWS: [FlowKind; 8] = [
    FlowKind::Next,
    FlowKind::Jump,
    FlowKind::Call,
    FlowKind::Return,
    FlowKind::ExceptionReturn,
    FlowKind::Syscall,
    FlowKind::Trap,
    FlowKind::Unknown,
];

/// The place of one of a few in their list.
pub(super) fn put_one<T: PartialEq>(out: &mut Vec<u8>, all: &[T], one: &T) {
    // Lists of a few.
    out.push(all.iter().position(|of| of == one).unwrap_or(0) as u8);
}

pub(super) fn one<T: Copy>(from: &mut Section, all: &[T]) -> Result<T, ChunkError> {
    let found = all.get(usize::from(from.byte()?)).copied();
    found.ok_or(ChunkError::Damaged("an unknown word of the code"))
}

fn put_span(out: &mut Vec<u8>, span: RegSpan) {
    put(out, span.offset.into());
    put(out, span.size.into());
}

fn short(from: &mut Section) -> Result<u16, ChunkError> {
    u16::try_from(from.number()?).map_err(|_| ChunkError::Damaged("a number is too large"))
}

fn span(from: &mut Section) -> Result<RegSpan, ChunkError> {
    Ok(RegSpan { offset: short(from)?, size: short(from)? })
}

fn put_section(out: &mut Vec<u8>, section: &SectionRange) {
    put(out, section.first);
    put(out, section.last);
    put(out, section.name.into());
    put(out, section.via.into());
    out.push(section.of_file.into());
}

fn section(from: &mut Section) -> Result<SectionRange, ChunkError> {
    Ok(SectionRange {
        first: from.number()?,
        last: from.number()?,
        name: from.id()?,
        via: from.id()?,
        of_file: from.flag()?,
    })
}

fn put_insn(out: &mut Vec<u8>, insn: &Insn) {
    let decoded = &insn.decoded;
    put(out, insn.def.address);
    put(out, insn.function.index() as u64);
    out.push(decoded.size);
    put_one(out, &FLOWS, &decoded.flow.kind);
    let flow = decoded.flow;
    out.push(u8::from(insn.copies) << 2 | u8::from(flow.conditional) << 1 | u8::from(flow.repeats));
    put_option(out, flow.target, put);
    for list in [&decoded.reads, &decoded.writes] {
        put_list(out, list, |out, access| {
            put_span(out, access.span);
            out.push(access.control.into());
        });
    }
    put_list(out, &decoded.memory, |out, operand| {
        put(out, operand.size.into());
        let [write, stack, control] = [operand.is_write, operand.stack_relative, operand.control];
        out.push(u8::from(write) << 2 | u8::from(stack) << 1 | u8::from(control));
        put_option(out, operand.data_register, put_span);
    });
    put_option(out, decoded.moved, |out, moved| match moved {
        Moved::ToMemory => out.push(0),
        Moved::ToRegister(span) => {
            out.push(1);
            put_span(out, span);
        }
    });
}

fn insn(from: &mut Section) -> Result<Insn, ChunkError> {
    let address = from.number()?;
    let function = FunctionId::at(from.id()? as usize);
    let size = from.byte()?;
    let kind = one(from, &FLOWS)?;
    let flags = from.byte()?;
    let flow = ControlFlow {
        kind,
        target: from.option(Section::number)?,
        conditional: flags & 2 != 0,
        repeats: flags & 1 != 0,
    };
    let access = |from: &mut Section| Ok(RegAccess { span: span(from)?, control: from.flag()? });
    let decoded = Decoded {
        flow,
        reads: from.list(access)?,
        writes: from.list(access)?,
        memory: from.list(operand)?,
        moved: from.option(|from| match from.byte()? {
            0 => Ok(Moved::ToMemory),
            1 => Ok(Moved::ToRegister(span(from)?)),
            _ => Err(ChunkError::Damaged("an unknown move")),
        })?,
        ..Decoded::unknown(size)
    };
    let def = InsnDef { address, size, ..InsnDef::default() };
    Ok(Insn { def, decoded, function, copies: flags & 4 != 0 })
}

/// An access of an instruction. How its address is computed is known of each run.
fn operand(from: &mut Section) -> Result<MemOperand, ChunkError> {
    let (size, flags) = (from.id()?, from.byte()?);
    Ok(MemOperand {
        stack_relative: flags & 2 != 0,
        control: flags & 1 != 0,
        data_register: from.option(span)?,
        ..MemOperand::plain(flags & 4 != 0, size, Expr::Unknown)
    })
}

fn put_block(out: &mut Vec<u8>, block: &BlockDef) {
    put_list(out, &block.steps, |out, step| {
        put(out, step.insn.into());
        put(out, u64::from(step.mem) << 1 | u64::from(step.executed));
    });
    put_list(out, &block.mem, |out, shape| {
        put(out, u64::from(shape.size) << 1 | u64::from(shape.is_write));
        out.push(shape.operand);
    });
}

fn block(from: &mut Section, insns: usize) -> Result<BlockDef, ChunkError> {
    let damaged = || ChunkError::Damaged("a block of the code");
    let steps = from.list(|from| {
        let (insn, packed) = (from.id()?, from.number()?);
        let mem = u16::try_from(packed >> 1).map_err(|_| damaged())?;
        Ok(BlockStep { insn, executed: packed & 1 != 0, mem })
    })?;
    let mem = from.list(|from| {
        let packed = from.number()?;
        let size = u32::try_from(packed >> 1).map_err(|_| damaged())?;
        Ok(MemShape { is_write: packed & 1 != 0, size, operand: from.byte()? })
    })?;
    let accesses: usize = steps.iter().map(|step| usize::from(step.mem)).sum();
    let known = steps.iter().all(|step| (step.insn as usize) < insns);
    let sized = mem.iter().all(|shape| shape.size > 0);
    if steps.is_empty() || accesses != mem.len() || !known || !sized {
        return Err(damaged());
    }
    Ok(BlockDef { steps, mem })
}

impl RunCode {
    /// Packs it.
    ///
    /// # Errors
    /// Where zstd fails.
    pub fn pack(&self) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        put(&mut out, VERSION);
        put_one(&mut out, &ISAS, &self.isa);
        put_list(&mut out, &self.sections, put_section);
        put_list(&mut out, &self.placed, |out, placed| put_list(out, placed, put_section));
        put_list(&mut out, &self.names, |out, name| {
            put_text(out, &name.pseudo);
            put_one(out, &VIAS, &name.via);
        });
        put_list(&mut out, &self.first_stack_pointers, |out, sp| put_option(out, *sp, put));
        put_list(&mut out, &self.first_threads, |out, thread| put(out, (*thread).into()));
        put_list(&mut out, &self.functions, |out, function| {
            out.push(u8::from(function.stub) << 1 | u8::from(function.through));
            put_option(out, function.entry, put);
        });
        put_list(&mut out, &self.insns, put_insn);
        put_list(&mut out, &self.blocks, put_block);
        frame::pack(&out)
    }

    /// Unpacks it.
    ///
    /// # Errors
    /// Where it is damaged or of a later addfg.
    pub fn unpack(data: &[u8]) -> Result<RunCode, ChunkError> {
        let bytes = frame::unpack(data)?;
        let mut from = Section(&bytes);
        match from.number()? {
            VERSION => {}
            other => return Err(ChunkError::Version(other)),
        }
        let isa = one(&mut from, &ISAS)?;
        let sections = from.list(section)?;
        let placed = from.list(|from| from.list(section))?;
        let names = from
            .list(|from| Ok(SectionName { pseudo: from.text()?.into(), via: one(from, &VIAS)? }))?;
        let first_stack_pointers = from.list(|from| from.option(Section::number))?;
        let first_threads = from.list(Section::id)?;
        let functions = from.list(|from| {
            let flags = from.byte()?;
            let entry = from.option(Section::number)?;
            Ok(FunctionTraits { stub: flags & 2 != 0, through: flags & 1 != 0, entry })
        })?;
        let insns = from.list(insn)?;
        let blocks = from.list(|from| block(from, insns.len()))?;
        // Functions are numbered in the order of their first instructions.
        let mut next = 0;
        let known = insns.iter().all(|insn| {
            let index = insn.function.index();
            next += usize::from(index == next);
            index < next
        });
        if !known || next != functions.len() {
            return Err(ChunkError::Damaged("a function of the code"));
        }
        let all = sections.iter().chain(placed.iter().flatten());
        if all.clone().any(|s| s.name.max(s.via) as usize >= names.len() || s.first > s.last) {
            return Err(ChunkError::Damaged("a section of the code"));
        }
        Ok(RunCode {
            isa,
            sections,
            placed,
            names,
            first_stack_pointers,
            first_threads,
            functions,
            insns,
            blocks,
        })
    }
}
