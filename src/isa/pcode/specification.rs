//! A specification of SLEIGH, and the p-code of one instruction from it.

use super::register_map::RegisterMap;
use super::symbolic::op::{PcodeOp, Space, Varnode};
use crate::event::Isa;
use libsla::{
    Address, AddressSpace, GhidraSleigh, InstructionLoader, OpCode, PcodeDisassembly,
    PcodeInstruction, Sleigh, VarnodeData,
};
use std::collections::HashMap;

/// A specification that has been loaded.
pub struct Specification {
    sleigh: GhidraSleigh,
    code: AddressSpace,
    spaces: HashMap<u64, Space>,
    mirrored: bool,
    misplaced_singles: bool,
    pub map: RegisterMap,
    /// Addresses of the last decodes: SLEIGH caches by address, not by bytes.
    recent: [u64; 2],
}

/// Gives the bytes of one instruction and zeros around them.
struct OneInstruction<'a> {
    address: u64,
    bytes: &'a [u8],
}

impl InstructionLoader for OneInstruction<'_> {
    fn load_instruction_bytes(&self, v: &VarnodeData) -> Result<Vec<u8>, String> {
        let skip = v.address.offset.wrapping_sub(self.address);
        let byte = |i: u64| {
            let at = usize::try_from(skip.wrapping_add(i)).ok()?;
            self.bytes.get(at).copied()
        };
        Ok((0..).take(v.size).map(|i| byte(i).unwrap_or(0)).collect())
    }
}

/// Longer varnodes are cut: no register is longer.
const MOST_BYTES: u32 = 1 << 12;
/// Mirror point of big-endian register and temporary spaces; above every offset that SLEIGH uses.
const MIRROR: u64 = 1 << 40;

impl Specification {
    /// Loads the specification of an instruction set, None if there is none.
    pub fn load(isa: Isa, big_endian: bool, thumb: bool) -> Option<Specification> {
        let (processor, compiled) = sources(isa, big_endian, thumb)?;
        let sleigh =
            GhidraSleigh::builder().processor_spec(processor).ok()?.build(compiled).ok()?;
        let code = sleigh.default_code_space();
        let mut spaces = HashMap::new();
        let mut mirrored = false;
        for space in sleigh.address_spaces() {
            let kind = space_of(&space);
            if kind == Space::Register {
                mirrored = space.big_endian;
            }
            spaces.insert(u64::try_from(space.id.raw_id()).ok()?, kind);
        }
        let map = RegisterMap::new(isa, |name| {
            let v = sleigh.register_from_name(name).ok()?;
            let size = u64::try_from(v.size).ok()?;
            let offset = v.address.offset;
            let start =
                if mirrored { MIRROR.checked_sub(offset.checked_add(size)?)? } else { offset };
            Some((start, size))
        });
        let misplaced_singles = isa == Isa::Arm && mirrored;
        let recent = [u64::MAX; 2];
        Some(Specification { sleigh, code, spaces, mirrored, misplaced_singles, map, recent })
    }

    fn varnode(&self, v: &VarnodeData) -> Varnode {
        let space = space_of(&v.address.address_space);
        let size = u32::try_from(v.size).unwrap_or(u32::MAX).min(MOST_BYTES);
        let mut offset = v.address.offset;
        // The big-endian ARM specification has s0-s31 over d16-d31; they are the halves of d0-d15,
        // 0x80 further on.
        if self.misplaced_singles
            && space == Space::Register
            && size == 4
            && (0x300..0x380).contains(&offset)
        {
            offset += 0x80;
        }
        let at = match space {
            Space::Register | Space::Unique if self.mirrored => {
                MIRROR.wrapping_sub(offset.wrapping_add(u64::from(size)))
            }
            _ => offset,
        };
        Varnode { space, at, size }
    }

    /// An op of the p-code that [`Specification::disassemble`] gave.
    pub fn op(&self, p: &PcodeInstruction) -> PcodeOp {
        let mut space = Space::Memory;
        if matches!(p.op_code, OpCode::Load | OpCode::Store)
            && let Some(first) = p.inputs.first()
        {
            space = self.spaces.get(&first.address.offset).copied().unwrap_or(Space::Other);
        }
        PcodeOp {
            code: p.op_code,
            out: p.output.as_ref().map(|o| self.varnode(o)),
            ins: p.inputs.iter().map(|i| self.varnode(i)).collect(),
            space,
        }
    }

    /// Size, text and p-code (None where the specification has none) of the instruction.
    pub fn disassemble(
        &mut self,
        address: u64,
        bytes: &[u8],
    ) -> Option<(u8, String, Option<PcodeDisassembly>)> {
        let at = |address| Address::new(self.code.clone(), address);
        if self.recent.contains(&address) {
            let other = address ^ 0x40;
            let _ = self
                .sleigh
                .disassemble_native(&OneInstruction { address: other, bytes: &[0; 4] }, at(other));
        }
        let loader = OneInstruction { address, bytes };
        let native = self.sleigh.disassemble_native(&loader, at(address));
        let pcode = self.sleigh.disassemble_pcode(&loader, at(address)).ok();
        self.recent = [self.recent[1], address];
        let native = native.ok()?;
        let size = native.origin.size;
        if size == 0 || size > bytes.len() {
            return None;
        }
        let (mnemonic, body) = (native.instruction.mnemonic.trim(), native.instruction.body.trim());
        let text = format!("{mnemonic} {body}").trim().to_ascii_lowercase();
        Some((u8::try_from(size).ok()?, text, pcode))
    }
}

/// Processor specification and compiled SLEIGH of an instruction set.
fn sources(isa: Isa, big_endian: bool, thumb: bool) -> Option<(&'static str, &'static [u8])> {
    use sleigh_config::processor_aarch64 as aarch64;
    use sleigh_config::processor_arm as arm;
    use sleigh_config::processor_riscv as riscv;
    Some(match isa {
        Isa::Arm => {
            let processor = if thumb { arm::PSPEC_ARMTTHUMB } else { arm::PSPEC_ARMT };
            (processor, if big_endian { arm::SLA_ARM8_BE } else { arm::SLA_ARM8_LE })
        }
        Isa::Aarch64 if big_endian => (aarch64::PSPEC_AARCH64, aarch64::SLA_AARCH64BE),
        Isa::Aarch64 => (aarch64::PSPEC_AARCH64, aarch64::SLA_AARCH64),
        Isa::Riscv32 => (riscv::PSPEC_RV32GC, riscv::SLA_RISCV_ILP32D),
        Isa::Riscv64 => (riscv::PSPEC_RV64GC, riscv::SLA_RISCV_LP64D),
        Isa::X86 | Isa::X86_64 => return None,
    })
}

fn space_of(space: &AddressSpace) -> Space {
    match space.name.as_ref() {
        "const" => Space::Const,
        "register" => Space::Register,
        "unique" => Space::Unique,
        "ram" => Space::Memory,
        _ => Space::Other,
    }
}
