//! The reader's dictionary of instructions, decoded when first executed.

use super::problems::{ProblemCounts, UNDECODED};
use crate::event::{InsnDef, Isa, MemShape, RegSpan};
use crate::id::InstructionId;
use crate::isa::decoded::{Decoded, Decoder, Moved};
use crate::isa::kernel_helper;
use crate::isa::resolve::{CodeBytes, happened, resolve, undecoded};
use rustc_hash::FxHashMap;

/// An instruction of the reader's dictionary.
pub struct KnownInstruction {
    pub def: InsnDef,
    pub decoded: Decoded,
    /// Id in the output's dictionary, None until it is executed.
    pub id: Option<InstructionId>,
    /// The address after it.
    pub next: u64,
    /// Code of the kernel's, of which logs do not tell the accesses.
    pub helper: bool,
    /// Nothing but register accesses, and all of them known.
    pub plain: bool,
    /// Whether it was executed if it is conditional, where the log's flags of registers tell.
    pub happened: Option<bool>,
    /// Registers whose values a run lists.
    pub values: Vec<RegSpan>,
}

impl KnownInstruction {
    fn new(def: InsnDef) -> KnownInstruction {
        KnownInstruction {
            next: def.address,
            def,
            decoded: Decoded::unknown(0),
            id: None,
            helper: false,
            plain: false,
            happened: None,
            values: Vec::new(),
        }
    }

    /// The register whose bytes an access of this shape stores or loads unchanged.
    pub fn data_register(&self, shape: &MemShape) -> Option<RegSpan> {
        let operand = self.decoded.memory.get(usize::from(shape.operand))?;
        operand
            .data_register
            .filter(|r| u32::from(r.size) == shape.size && operand.is_write == shape.is_write)
    }

    /// The register, or the part of one, that has what a load of this shape loaded.
    pub fn loaded_register(&self, shape: &MemShape) -> Option<RegSpan> {
        self.data_register(shape).or(match self.decoded.moved {
            Some(Moved::ToRegister(span)) if u32::from(span.size) == shape.size => Some(span),
            _ => None,
        })
    }
}

pub struct Dictionary {
    isa: Isa,
    code: Box<CodeBytes>,
    decoder: Box<dyn Decoder>,
    kernel: bool,
    instructions: Vec<KnownInstruction>,
    /// Output id of each distinct instruction.
    ids: FxHashMap<InsnDef, InstructionId>,
}

impl Dictionary {
    /// `kernel`: the code that system calls enter is part of the trace.
    pub fn new(
        isa: Isa,
        decoder: Box<dyn Decoder>,
        code: Box<CodeBytes>,
        kernel: bool,
    ) -> Dictionary {
        Dictionary {
            isa,
            code,
            decoder,
            kernel,
            instructions: Vec::new(),
            ids: FxHashMap::default(),
        }
    }

    /// Adds the reader's definitions behind those it gave before.
    pub fn extend(&mut self, defs: impl Iterator<Item = InsnDef>) {
        self.instructions.extend(defs.map(KnownInstruction::new));
    }

    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    #[inline]
    pub fn at(&self, index: usize) -> &KnownInstruction {
        &self.instructions[index]
    }

    /// Decodes an instruction that is executed for the first time; gives its definition if it is
    /// new to the output. `mask` has the bits that addresses have.
    #[cold]
    pub fn define(
        &mut self,
        index: usize,
        mask: u64,
        problems: &mut ProblemCounts,
    ) -> Option<InsnDef> {
        let known = &mut self.instructions[index];
        let (def, decoded) =
            resolve(&known.def, self.isa, self.decoder.as_mut(), &self.code, self.kernel);
        known.helper = kernel_helper::is_helper(self.isa, def.address);
        known.decoded = decoded.unwrap_or_else(|| {
            let (address, bytes) = (def.address, &def.bytes);
            problems.add(UNDECODED, format_args!("address {address:#x}"), || {
                format!(
                    "cannot decode the instruction at {address:#x}, opcode bytes {bytes:02x?}: its \
                     registers and memory are not known"
                )
            });
            undecoded(&def, undecoded_size(&def, self.isa), self.isa)
        });
        let decoded = &known.decoded;
        let flags = known.def.log_registers.as_deref();
        known.happened = flags.and_then(|flags| happened(decoded, flags, self.isa));
        known.next = def.address.wrapping_add(decoded.size.into()) & mask;
        known.plain = decoded.memory.is_empty()
            && decoded.condition.is_none()
            && decoded.unmodelled.is_none();
        known.values = decoded.writes.iter().map(|w| w.span).filter(|s| s.size <= 8).collect();
        // Two definitions that differ only in stale bytes or in the log's text are one instruction.
        let key = InsnDef { text: None, ..def.clone() };
        let new = InstructionId::at(self.ids.len());
        let id = *self.ids.entry(key).or_insert(new);
        known.id = Some(id);
        known.def = def;
        (id == new).then(|| known.def.clone())
    }
}

/// Bytes of an instruction that could not be decoded; 0 if that is not known.
fn undecoded_size(def: &InsnDef, isa: Isa) -> u8 {
    let fixed = matches!(isa, Isa::Arm | Isa::Aarch64) && !def.thumb;
    match def.size {
        0 if fixed => 4,
        0 => u8::try_from(def.bytes.len().min(15)).unwrap_or(0),
        size => size,
    }
}
