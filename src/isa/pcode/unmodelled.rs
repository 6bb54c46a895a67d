//! Instructions whose effects the specifications do not say, and what can be said of them from the
//! opcode.

use super::evaluated::Evaluated;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::Unmodelled;
use libsla::{OpCode, PseudoOp};
use std::collections::BTreeSet;

const WITHOUT_SVE: &str = "record on a processor without SVE and SME: qemu-aarch64 -cpu cortex-a72";
const WITHOUT_VECTORS: &str = "record on a processor without V: qemu-riscv64 -cpu rv64,v=false";
const OTHER_PROCESSOR: &str = "compile or record for a processor without this extension";

/// Bytes of our register file.
type Bytes = BTreeSet<u16>;

/// Scalar instructions of SVE that touch general registers only, and constants of the processor.
///
/// Source: Arm Architecture Reference Manual (DDI 0487), C4.1 "SVE encodings".
#[derive(Clone, Copy, PartialEq, Eq)]
enum SveScalar {
    /// CNTB to CNTD, RDVL: writes Rd.
    Count,
    /// INCB to DECD: reads and writes Rd.
    Increment,
    /// ADDVL, ADDPL: reads Rn, writes Rd; 31 is the stack pointer.
    Add,
    /// WHILELO and the like: reads Rn and Rm, writes a predicate and the flags.
    While,
}

impl SveScalar {
    fn of(word: u32) -> Option<SveScalar> {
        if word & 0xff30_fc00 == 0x0420_e000 || word & 0xffff_f800 == 0x04bf_5000 {
            Some(SveScalar::Count)
        } else if word & 0xff30_f800 == 0x0430_e000 {
            Some(SveScalar::Increment)
        } else if word & 0xffa0_f800 == 0x0420_5000 {
            Some(SveScalar::Add)
        } else if word & 0xff20_e000 == 0x2520_0000 {
            Some(SveScalar::While)
        } else {
            None
        }
    }
}

impl Evaluated<'_> {
    fn is_sve(&self) -> bool {
        let (major, top) = (self.field(25, 4), self.word >> 31);
        self.isa == Isa::Aarch64 && (major == 2 || major == 0 && top == 1)
    }

    /// RISC-V's vector instructions: OP-V, and loads and stores of floating-point opcodes with the
    /// widths of vector elements.
    fn is_vector(&self) -> bool {
        let vector_width = matches!(self.field(12, 3), 0 | 5..=7);
        matches!(self.isa, Isa::Riscv32 | Isa::Riscv64)
            && match self.field(0, 7) {
                0x57 => true,
                0x07 | 0x27 => vector_width,
                _ => false,
            }
    }

    /// An instruction of ARM's coprocessors 8 to 11, which are floating point and SIMD, for which the
    /// specification has no better name. Whether registers of the core take part is not known.
    pub fn is_unknown_simd(&self) -> bool {
        let name = self.mnemonic();
        self.isa == Isa::Arm
            && (8..12).contains(&self.field(8, 4))
            && ["cdp", "mcr", "mrc", "mrrc", "ldc", "stc"].iter().any(|n| name.starts_with(n))
    }

    /// What the decoder does not know of the instruction; `specified`: it has p-code.
    pub fn unmodelled(&self, specified: bool) -> Option<Unmodelled> {
        if self.is_sve() {
            return match SveScalar::of(self.word) {
                Some(SveScalar::While) => Some(Unmodelled { memory: false, remedy: WITHOUT_SVE }),
                Some(_) => None,
                None => Some(Unmodelled { memory: self.accesses_as_sve(), remedy: WITHOUT_SVE }),
            };
        }
        if self.is_vector() {
            let configures = self.field(0, 7) == 0x57 && self.field(12, 3) == 7;
            let memory = self.field(0, 7) != 0x57;
            return (!configures).then_some(Unmodelled { memory, remedy: WITHOUT_VECTORS });
        }
        // What is none of the base instructions has its registers by its opcode.
        if !specified && self.computes() {
            return None;
        }
        if self.is_unknown_simd() {
            let memory = ["ld", "st"].iter().any(|start| self.mnemonic().starts_with(start));
            return Some(Unmodelled { memory, remedy: OTHER_PROCESSOR });
        }
        if !specified {
            return Some(Unmodelled { memory: true, remedy: OTHER_PROCESSOR });
        }
        // A load or store of which the specification only has the name.
        let opaque = |code: OpCode| code == OpCode::Pseudo(PseudoOp::CallOther);
        let name = self.mnemonic();
        let moves = ["ld", "st", "vld", "vst"].iter().any(|start| name.starts_with(start));
        (moves && self.effects.memory.is_empty() && self.effects.ops.iter().any(|o| opaque(o.code)))
            .then_some(Unmodelled { memory: true, remedy: OTHER_PROCESSOR })
    }

    /// Whether an SVE or SME instruction loads or stores: those with the top bit set, but for SME's
    /// outer products and moves, and prefetches.
    fn accesses_as_sve(&self) -> bool {
        let loads = self.word >> 31 == 1;
        let sme = self.field(25, 4) == 0;
        loads && !(sme && self.field(29, 2) != 3) && !self.mnemonic().starts_with("prf")
    }

    /// The registers of SVE instructions that the specification has wrong.
    pub fn mend_sve(&self, reads: &mut Bytes, writes: &mut Bytes) {
        if !self.is_sve() {
            return;
        }
        let register = |low: u32| self.register('x', low).filter(|_| self.field(low, 5) != 31);
        let all = |registers: &[Option<RegSpan>]| -> Vec<u16> {
            registers.iter().flatten().flat_map(|r| r.bytes()).collect()
        };
        let flags = self.file.lookup("nzcv");
        let (sources, targets) = match SveScalar::of(self.word) {
            Some(SveScalar::Count) => (vec![], vec![register(0)]),
            Some(SveScalar::Increment) => (vec![register(0)], vec![register(0)]),
            Some(SveScalar::Add) => (vec![self.register('x', 16)], vec![self.register('x', 0)]),
            Some(SveScalar::While) => (vec![register(5), register(16)], vec![flags]),
            // The base register; a load keeps nothing of its destination.
            None if self.accesses_as_sve() => {
                if self.field(29, 3) != 7 {
                    reads.clear();
                }
                reads.extend(all(&[self.register('x', 5)]));
                return;
            }
            None => return,
        };
        (*reads, *writes) =
            (all(&sources).into_iter().collect(), all(&targets).into_iter().collect());
    }
}
