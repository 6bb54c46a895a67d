//! ARM, AArch64 and RISC-V through SLEIGH p-code: Ghidra's specifications, compiled in by
//! `sleigh-config`.
//!
//! An instruction is decoded once; its p-code is evaluated symbolically ([`symbolic`]) and the
//! result corrected where the specifications are known to differ from the machine (the `quirks`).
//! What is particular:
//! - Program counter: never an access here; transfers are in [`Flow`].
//! - Thumb: decoded without IT context, so each Thumb instruction that may stand in an IT block
//!   gets as `condition` an expression over ITSTATE and the flags in `cpsr`, which is 1 outside of
//!   IT blocks. Flag writes of 16-bit data instructions are declared although inside a block they
//!   do not happen (flags are control, so no dataflow depends on it), and the read of ITSTATE is
//!   not declared.
//! - System calls write the result register of the Linux conventions (r0, x0, a0).

use std::collections::{BTreeSet, HashMap};

use libsla::{
    Address, AddressSpace, GhidraSleigh, InstructionLoader, OpCode, PcodeDisassembly,
    PcodeInstruction, Sleigh, VarnodeData,
};

use super::{Decoded, Decoder, Expr, Flow, FlowKind, MemOperand, Op, RegAccess, Registers};
use crate::event::{Isa, RegSpan};

mod neon;
mod registers;
mod symbolic;
#[cfg(test)]
mod tests;

pub use registers::registers;
use registers::{RISCV_F, RISCV_X, RegisterMap, spans};
use symbolic::{ByteVal, Effects, POp, Space, Vn, bin, registers_in, truncate};

/// Decoder of one of the instruction sets. Specifications load when first used (see
/// [`Pcode::decode`]).
pub struct Pcode {
    isa: Isa,
    big_endian: bool,
    /// A32 and the others; T32.
    instances: [Slot; 2],
}

enum Slot {
    Unused,
    Ready(Box<Instance>),
    /// The specification did not load; says so once per decode by giving nothing.
    Failed,
}

struct Instance {
    sleigh: GhidraSleigh,
    code: AddressSpace,
    spaces: HashMap<u64, Space>,
    mirrored: bool,
    misplaced_singles: bool,
    map: RegisterMap,
    /// Addresses of the last decodes: SLEIGH caches by address, not by bytes.
    recent: [u64; 2],
}

/// Gives the bytes of one instruction and zeros around them.
struct Bytes<'a> {
    address: u64,
    bytes: &'a [u8],
}

impl InstructionLoader for Bytes<'_> {
    fn load_instruction_bytes(&self, v: &VarnodeData) -> Result<Vec<u8>, String> {
        let skip = v.address.offset.wrapping_sub(self.address);
        Ok((0..v.size)
            .map(|i| {
                usize::try_from(skip.wrapping_add(i as u64))
                    .ok()
                    .and_then(|at| self.bytes.get(at))
                    .copied()
                    .unwrap_or(0)
            })
            .collect())
    }
}

/// Mirror point of big-endian register and temporary spaces; above every offset that SLEIGH uses.
const MIRROR: u64 = 1 << 40;

impl Instance {
    fn new(isa: Isa, big_endian: bool, thumb: bool) -> Option<Instance> {
        use sleigh_config::{
            processor_aarch64 as a64, processor_arm as arm, processor_riscv as riscv,
        };
        let (pspec, sla): (&str, &[u8]) = match (isa, big_endian) {
            (Isa::Arm, false) => {
                (if thumb { arm::PSPEC_ARMTTHUMB } else { arm::PSPEC_ARMT }, arm::SLA_ARM8_LE)
            }
            (Isa::Arm, true) => {
                (if thumb { arm::PSPEC_ARMTTHUMB } else { arm::PSPEC_ARMT }, arm::SLA_ARM8_BE)
            }
            (Isa::Aarch64, false) => (a64::PSPEC_AARCH64, a64::SLA_AARCH64),
            (Isa::Aarch64, true) => (a64::PSPEC_AARCH64, a64::SLA_AARCH64BE),
            (Isa::Riscv32, _) => (riscv::PSPEC_RV32GC, riscv::SLA_RISCV_ILP32D),
            (Isa::Riscv64, _) => (riscv::PSPEC_RV64GC, riscv::SLA_RISCV_LP64D),
            (Isa::X86 | Isa::X86_64, _) => return None,
        };
        let sleigh = GhidraSleigh::builder().processor_spec(pspec).ok()?.build(sla).ok()?;
        let code = sleigh.default_code_space();
        let mut spaces = HashMap::new();
        let mut mirrored = false;
        for space in sleigh.address_spaces() {
            let kind = space_of(&space);
            if kind == Space::Register {
                mirrored = space.big_endian;
            }
            spaces.insert(space.id.raw_id() as u64, kind);
        }
        let map = RegisterMap::new(isa, |name| {
            let v = sleigh.register_from_name(name).ok()?;
            let size = v.size as u64;
            let start = if mirrored {
                MIRROR.checked_sub(v.address.offset + size)?
            } else {
                v.address.offset
            };
            Some((start, size))
        });
        let misplaced_singles = isa == Isa::Arm && mirrored;
        Some(Instance {
            sleigh,
            code,
            spaces,
            mirrored,
            misplaced_singles,
            map,
            recent: [u64::MAX; 2],
        })
    }

    fn varnode(&self, v: &VarnodeData) -> Vn {
        let space = space_of(&v.address.address_space);
        let size = v.size.min(1 << 12) as u32;
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
        Vn { space, at, size }
    }

    fn op(&self, p: &PcodeInstruction) -> POp {
        let mut space = Space::Memory;
        if matches!(p.op_code, OpCode::Load | OpCode::Store)
            && let Some(first) = p.inputs.first()
        {
            space = self.spaces.get(&first.address.offset).copied().unwrap_or(Space::Other);
        }
        POp {
            code: p.op_code,
            out: p.output.as_ref().map(|o| self.varnode(o)),
            ins: p.inputs.iter().map(|i| self.varnode(i)).collect(),
            space,
        }
    }

    /// Size, text and p-code (None where the specification has none) of the instruction.
    fn disassemble(
        &mut self,
        address: u64,
        bytes: &[u8],
    ) -> Option<(u8, String, Option<PcodeDisassembly>)> {
        let at = |address| Address::new(self.code.clone(), address);
        if self.recent.contains(&address) {
            let other = address ^ 0x40;
            let _ = self
                .sleigh
                .disassemble_native(&Bytes { address: other, bytes: &[0; 4] }, at(other));
        }
        let loader = Bytes { address, bytes };
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
        Some((size as u8, text, pcode))
    }
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

impl Pcode {
    /// Cheap: specifications load at the first instruction.
    pub fn new(isa: Isa, big_endian: bool) -> Pcode {
        Pcode { isa, big_endian, instances: [Slot::Unused, Slot::Unused] }
    }

    fn instance(&mut self, thumb: bool) -> Option<&mut Instance> {
        let slot = &mut self.instances[usize::from(thumb)];
        if let Slot::Unused = slot {
            *slot = match Instance::new(self.isa, self.big_endian, thumb) {
                Some(instance) => Slot::Ready(Box::new(instance)),
                None => Slot::Failed,
            };
        }
        match slot {
            Slot::Ready(instance) => Some(instance),
            _ => None,
        }
    }

    /// The opcode as a number: 4 bytes, or 2 for a 16-bit Thumb or RISC-V instruction; T32's first
    /// half-word is the upper one.
    fn word(&self, bytes: &[u8], thumb: bool) -> Option<u32> {
        let half = |i: usize| {
            let pair = [*bytes.get(i)?, *bytes.get(i + 1)?];
            Some(u32::from(if self.big_endian {
                u16::from_be_bytes(pair)
            } else {
                u16::from_le_bytes(pair)
            }))
        };
        let first = half(0)?;
        match self.isa {
            Isa::Arm if thumb => Some(if first >= 0xe800 { first << 16 | half(2)? } else { first }),
            Isa::Riscv32 | Isa::Riscv64 if first & 3 != 3 => Some(first),
            _ if self.big_endian => Some(first << 16 | half(2)?),
            _ => Some(half(2)? << 16 | first),
        }
    }
}

/// Flags with which ARM's conditions 0, 2, 4, ... hold: bit n is set if it holds with N Z C V = n.
/// The odd ones are their opposites.
const CONDITIONS: [u16; 8] = {
    let mut table = [0u16; 8];
    let mut flags = 0;
    while flags < 16 {
        let (n, z, c, v) =
            (flags >> 3 & 1 == 1, flags >> 2 & 1 == 1, flags >> 1 & 1 == 1, flags & 1 == 1);
        let held = [z, c, n, v, c && !z, n == v, n == v && !z, true];
        let mut k = 0;
        while k < 8 {
            if held[k] {
                table[k] |= 1 << flags;
            }
            k += 1;
        }
        flags += 1;
    }
    table
};

fn flags_of(cpsr: RegSpan) -> Expr {
    bin(Op::Shr, Expr::Reg(cpsr), Expr::Const(28))
}

/// 1 if the ARM condition (0 to 13) holds.
fn condition_holds(cpsr: RegSpan, condition: u32) -> Expr {
    let table = u64::from(CONDITIONS[(condition >> 1 & 7) as usize]);
    let table = if condition & 1 == 1 { !table & 0xffff } else { table };
    bin(Op::And, bin(Op::Shr, Expr::Const(table), flags_of(cpsr)), Expr::Const(1))
}

/// 1 outside of an IT block, and inside one if the condition in ITSTATE holds: CPSR has IT[7:2] in
/// bits 15:10 and IT[1:0] in 26:25.
fn it_holds(cpsr: RegSpan) -> Expr {
    let c = Expr::Const;
    let op = |op: Op, a: Expr, b: Expr| Expr::Bin(op, Box::new(a), Box::new(b));
    let reg = || Expr::Reg(cpsr);
    let half =
        |k: usize| (0..4).fold(0u64, |all, i| all | u64::from(CONDITIONS[k + i]) << (16 * i));
    let outside = op(Op::Eq, op(Op::And, reg(), c(0x0600_0c00)), c(0));
    // Bits 15:13 (the condition without its lowest bit) and the flags index a table of 8 x 16 bits,
    // of which a word holds half.
    let index = op(Op::Or, op(Op::And, op(Op::Shr, reg(), c(9)), c(0x30)), flags_of(cpsr));
    let upper = op(Op::Sub, c(0), op(Op::And, op(Op::Shr, reg(), c(15)), c(1)));
    let table = op(Op::Xor, c(half(0)), op(Op::And, upper, c(half(0) ^ half(4))));
    // Bit 12 selects the opposite condition.
    let held = op(Op::Xor, op(Op::Shr, table, index), op(Op::Shr, reg(), c(12)));
    op(Op::Or, outside, op(Op::And, held, c(1)))
}

impl Decoder for Pcode {
    fn isa(&self) -> Isa {
        self.isa
    }

    /// None if the bytes are no instruction (or too few), or the specification cannot be loaded.
    fn decode(&mut self, address: u64, bytes: &[u8], thumb: bool) -> Option<Decoded> {
        let isa = self.isa;
        let thumb = thumb && isa == Isa::Arm;
        let address =
            if matches!(isa, Isa::Arm | Isa::Riscv32) { address & 0xffff_ffff } else { address };
        let word = self.word(bytes, thumb)?;
        let file = registers(isa);
        if isa == Isa::Arm
            && let Some(decoded) = own_arm(file, address, word, thumb)
        {
            return Some(decoded);
        }
        // A32: the condition is taken from the opcode; the p-code's skip goes.
        let condition =
            if isa == Isa::Arm && !thumb && word >> 28 < 14 { Some(word >> 28) } else { None };
        if isa == Isa::Arm
            && let Some(list) = neon::list(file, word, thumb)
        {
            let neon::List::Valid(text, neon::LoadStore { reads, writes, memory }) = list else {
                return None;
            };
            let flow =
                Flow { kind: FlowKind::Next, target: None, conditional: false, repeats: false };
            let mut decoded = Decoded { text, flow, reads, writes, memory, ..Decoded::unknown(4) };
            arm_conditions(file, &mut decoded, condition, thumb);
            return Some(decoded);
        }
        let own = if isa == Isa::Arm { own_simd(file, word, thumb) } else { None };
        let instance = self.instance(thumb)?;
        let disassembled = instance.disassemble(address, bytes);
        if let Some(mut decoded) = own {
            decoded.text = disassembled.map_or(decoded.text, |d| d.1);
            arm_conditions(file, &mut decoded, None, thumb);
            return Some(decoded);
        }
        let (size, text, pcode) = disassembled?;
        let next = address.wrapping_add(u64::from(size));
        let mut ops: Vec<POp> =
            pcode.iter().flat_map(|p| &p.instructions).map(|p| instance.op(p)).collect();
        if condition.is_some()
            && let Some(skip) = ops.iter().position(|o| o.code == OpCode::BranchConditional)
            && ops[skip].ins.first().is_some_and(|t| t.space == Space::Memory && t.at == next)
            && ops[..skip].iter().all(|o| !matches!(o.code, OpCode::Store | OpCode::Load))
        {
            ops.remove(skip);
        }
        let bits = match isa {
            Isa::Arm | Isa::Riscv32 => 32,
            _ => 64,
        };
        let effects = symbolic::evaluate(ops, &instance.map, next, bits);
        let map = &instance.map;
        let job = Job { isa, file, next, word, thumb, text: &text, effects: &effects, map };
        let mut decoded = job.describe(size);
        if isa == Isa::Arm {
            arm_conditions(file, &mut decoded, condition, thumb);
        }
        Some(decoded)
    }
}

/// One instruction on its way to [`Decoded`].
struct Job<'a> {
    isa: Isa,
    file: &'static Registers,
    next: u64,
    word: u32,
    thumb: bool,
    text: &'a str,
    effects: &'a Effects,
    map: &'a RegisterMap,
}

fn overlaps(a: RegSpan, b: RegSpan) -> bool {
    a.offset < b.offset + b.size && b.offset < a.offset + a.size
}

fn bytes_of(span: RegSpan) -> std::ops::Range<u16> {
    span.offset..span.offset + span.size
}

impl Job<'_> {
    fn mnemonic(&self) -> &str {
        self.text.split([' ', '.']).next().unwrap_or("")
    }

    fn describe(&self, size: u8) -> Decoded {
        let e = self.effects;
        let flow = self.flow();
        let mut reads = e.reads.clone();
        let mut writes = e.writes.clone();
        self.quirk_registers(&mut reads, &mut writes);
        if flow.kind == FlowKind::Syscall
            && let Some(result) = self.file.lookup(match self.isa {
                Isa::Arm => "r0",
                Isa::Aarch64 => "x0",
                _ => "a0",
            })
        {
            writes.extend(bytes_of(result));
        }
        if let Some(pc) = self.file.pc {
            for b in bytes_of(pc) {
                reads.remove(&b);
                writes.remove(&b);
            }
        }
        let returned: Vec<RegSpan> = match &e.transfer {
            Some(t) if flow.kind.returns() => t.registers.clone(),
            _ => Vec::new(),
        };
        let access = |span: RegSpan, is_read: bool| RegAccess {
            span,
            control: self.file.at(span.offset).is_some_and(|r| r.control)
                || is_read && returned.iter().any(|r| overlaps(*r, span)),
        };
        let mut memory = self.memory(&flow, &reads, &writes);
        // A register whose bytes go to or come from memory is an access of its own, so that a save
        // can be told by its span.
        let stored = memory
            .iter()
            .filter(|m| m.is_write)
            .filter_map(|m| m.data_register)
            .collect::<Vec<_>>();
        let loaded = memory
            .iter()
            .filter(|m| !m.is_write)
            .filter_map(|m| m.data_register)
            .collect::<Vec<_>>();
        let reads: Vec<RegAccess> =
            split(spans(self.file, &reads), &stored).into_iter().map(|s| access(s, true)).collect();
        let writes: Vec<RegAccess> = split(spans(self.file, &writes), &loaded)
            .into_iter()
            .map(|s| access(s, false))
            .collect();
        for m in &mut memory {
            let all: &[RegAccess] = if m.is_write { &reads } else { &writes };
            m.data_register = m
                .data_register
                .filter(|r| u32::from(r.size) == m.size && all.iter().any(|a| a.span == *r));
        }
        let mut decoded = Decoded {
            text: self.text.to_string(),
            size,
            flow,
            reads,
            writes,
            memory,
            condition: None,
            success: None,
        };
        self.store_conditional(&mut decoded);
        decoded
    }

    fn flow(&self) -> Flow {
        let next = |kind| Flow { kind, target: None, conditional: false, repeats: false };
        match self.mnemonic() {
            "swi" | "svc" | "hvc" | "smc" | "ecall" => return next(FlowKind::Syscall),
            "brk" | "bkpt" | "udf" | "hlt" | "ebreak" | "c.ebreak" | "unimp" | "c.unimp" => {
                return next(FlowKind::Trap);
            }
            "c" if self.text.starts_with("c.ebreak") => return next(FlowKind::Trap),
            _ => {}
        }
        if exception_return(self.isa, self.word, self.thumb) {
            return next(FlowKind::ExceptionReturn);
        }
        let Some(t) = &self.effects.transfer else { return next(FlowKind::Next) };
        let flow = |kind| Flow {
            kind,
            target: t.direct.map(|d| if self.isa == Isa::Arm { d & !1 } else { d }),
            conditional: t.conditional,
            repeats: false,
        };
        // A transfer that leaves the link register holding the next address is a call, whatever
        // else it looks like.
        let links: &[&str] = match self.isa {
            Isa::Riscv32 | Isa::Riscv64 => &["ra", "t0"],
            _ => &["lr"],
        };
        let linked = links.iter().filter_map(|l| self.file.lookup(l)).any(|l| {
            self.effects.writes.contains(&l.offset)
                && self.effects.constants.get(&l.offset).is_some_and(|v| v & !1 == self.next)
        });
        if linked {
            return flow(FlowKind::Call);
        }
        let through_link = |names: &[&str]| {
            !t.registers.is_empty()
                && t.loads.is_empty()
                && t.registers
                    .iter()
                    .all(|r| names.iter().filter_map(|l| self.file.lookup(l)).any(|l| l == *r))
        };
        let is_return = match self.isa {
            Isa::Arm => {
                let from_stack = t.loads.iter().any(|l| {
                    self.effects.memory.get(usize::from(*l)).is_some_and(|m| {
                        // Frame chains of the old ARM convention return by `ldm fp, {fp, sp, pc}`.
                        self.on_stack(&m.address) || self.text.starts_with("ldm")
                    })
                });
                from_stack || t.direct.is_none() && through_link(&["lr"])
            }
            Isa::Aarch64 => t.code == OpCode::Return,
            _ => t.direct.is_none() && through_link(&["ra", "t0"]),
        };
        flow(if is_return { FlowKind::Return } else { FlowKind::Jump })
    }

    fn on_stack(&self, address: &Expr) -> bool {
        self.file.sp.is_some_and(|sp| registers_in(address).iter().any(|r| overlaps(*r, sp)))
    }

    fn memory(
        &self,
        flow: &Flow,
        reads: &BTreeSet<u16>,
        writes: &BTreeSet<u16>,
    ) -> Vec<MemOperand> {
        let e = self.effects;
        let loads: &[u16] = match &e.transfer {
            Some(t) if flow.kind.returns() => &t.loads,
            _ => &[],
        };
        let written = spans(self.file, writes);
        let mut out = Vec::with_capacity(e.memory.len());
        for (k, m) in e.memory.iter().enumerate() {
            let data_register = if m.is_write {
                run(&m.data, m.size).filter(|r| {
                    // Unchanged and for nothing else: without this store nothing reads or writes
                    // the register.
                    !bytes_of(*r).any(|b| writes.contains(&b)) && {
                        let rest = symbolic::liveness(e, self.map, self.next, Some(m.op));
                        !bytes_of(*r).any(|b| rest.contains(&b))
                    }
                })
            } else {
                written.iter().flat_map(|s| parts(*s, m.size)).find(|r| {
                    bytes_of(*r).enumerate().all(|(i, b)| {
                        i < 256 && e.finals.get(&b) == Some(&ByteVal::Load(k as u16, i as u8))
                    }) && !bytes_of(*r).any(|b| reads.contains(&b))
                })
            };
            out.push(MemOperand {
                is_write: m.is_write,
                size: m.size,
                address: m.address.clone(),
                guard: m.guard.clone(),
                stack_relative: self.on_stack(&m.address),
                control: loads.contains(&(k as u16)),
                data_register,
            });
        }
        self.quirk_memory(&mut out);
        for m in out.iter_mut().filter(|m| !m.is_write) {
            m.data_register = m.data_register.filter(|r| self.whole_write(*r, writes));
        }
        out.sort_by_key(|m| m.is_write);
        out
    }

    /// Whether the instruction writes nothing else of the same full register (an extension). ARM's
    /// q registers are the exception: their parts are registers too.
    fn whole_write(&self, r: RegSpan, writes: &BTreeSet<u16>) -> bool {
        let Some(full) = self.file.at(r.offset) else { return false };
        self.isa == Isa::Arm && full.span.size == 16
            || bytes_of(full.span).filter(|b| writes.contains(b)).count() == r.size as usize
    }

    /// Where the specifications leave registers out.
    fn quirk_registers(&self, reads: &mut BTreeSet<u16>, writes: &mut BTreeSet<u16>) {
        match self.isa {
            Isa::Aarch64 => {
                // The specification writes the wrong register, or reads the destination instead of
                // the last operand.
                if matches!(self.mnemonic(), "srhadd" | "fmls")
                    && self.word >> 24 & 0x1f == 0x0e
                    && self.word >> 10 & 1 == 1
                {
                    let width = if self.word >> 30 & 1 == 1 { 16 } else { 8 };
                    let vector =
                        |low: u32| self.file.lookup(&format!("v{}", self.word >> low & 31));
                    reads.clear();
                    writes.clear();
                    for v in [5, 16].into_iter().filter_map(vector) {
                        reads.extend(v.offset..v.offset + width);
                    }
                    writes.extend(vector(0).into_iter().flat_map(bytes_of));
                }
                if self.is_ldapr() {
                    reads.extend(self.base().into_iter().flat_map(bytes_of));
                }
                // The flags as a system register.
                if let Some(flags) = self.file.lookup("nzcv").filter(|_| self.text.contains("nzcv"))
                {
                    if self.mnemonic() == "mrs" { &mut *reads } else { &mut *writes }
                        .extend(bytes_of(flags));
                }
                // `v0.d[1]` and `{v0.b}[3]` as the destination: a lane, the others stay.
                let destination = self
                    .text
                    .split_once(' ')
                    .map_or("", |(_, body)| body)
                    .split(',')
                    .next()
                    .unwrap_or("");
                let lane = destination.contains('[') && !destination.trim_start().starts_with('[');
                let v0 = self.file.lookup("v0").map_or(u16::MAX, |r| r.offset);
                let accumulates = self.accumulates();
                for register in &self.file.all {
                    let all = bytes_of(register.span);
                    if register.control || !all.clone().any(|b| writes.contains(&b)) {
                        continue;
                    }
                    if register.span.offset < v0 {
                        writes.extend(all);
                    } else {
                        // Scalars and 64-bit vectors zero the upper part.
                        if !lane && writes.contains(&register.span.offset) {
                            writes.extend(all.clone());
                        }
                        if accumulates && !self.zeroed(register.span) {
                            reads.extend(all.filter(|b| writes.contains(b)));
                        }
                    }
                }
            }
            // The fields of A32's USAD8 and USADA8 are mixed up: Rd 19:16, Ra 15:12 (15: none), Rm
            // 11:8, Rn 3:0.
            Isa::Arm
                if self.mnemonic().starts_with("usad")
                    && self.word & 0x0ff0_00f0 == 0x0780_0010 =>
            {
                reads.clear();
                writes.clear();
                let register = |low: u32| self.file.lookup(&format!("r{}", self.word >> low & 15));
                let sources =
                    [0, 8, 12].into_iter().filter(|low| *low != 12 || self.word >> 12 & 15 != 15);
                reads.extend(sources.filter_map(register).flat_map(bytes_of));
                writes.extend(register(16).into_iter().flat_map(bytes_of));
            }
            Isa::Arm if self.accumulates() => {
                let q0 = self.file.lookup("q0").map_or(u16::MAX, |r| r.offset);
                let destinations: Vec<u16> = writes.range(q0..).copied().collect();
                reads.extend(destinations);
            }
            Isa::Riscv32 | Isa::Riscv64 if self.word & 0x7f == 0x53 => {
                // Moves between the register files, which some specifications lose.
                let (rd, rs1) = ((self.word >> 7 & 31) as usize, (self.word >> 15 & 31) as usize);
                let width = if self.word >> 25 & 3 == 1 { 8 } else { 4 };
                let to_x = matches!(self.word >> 25, 0x70 | 0x71) && self.word >> 12 & 7 == 0;
                let to_f = matches!(self.word >> 25, 0x78 | 0x79) && self.word >> 12 & 7 == 0;
                if to_x || to_f {
                    reads.clear();
                    writes.clear();
                    let (from, to) = if to_x {
                        (RISCV_F[rs1], RISCV_X[rd])
                    } else {
                        (RISCV_X[rs1], RISCV_F[rd])
                    };
                    if from != "zero"
                        && let Some(r) = self.file.lookup(from)
                    {
                        reads.extend(r.offset..r.offset + width.min(r.size));
                    }
                    if to != "zero"
                        && let Some(r) = self.file.lookup(to)
                    {
                        writes.extend(bytes_of(r));
                    }
                }
            }
            _ => {}
        }
    }

    fn is_ldapr(&self) -> bool {
        self.word & 0x3fff_fc00 == 0x38bf_c000
    }

    /// The base register of an AArch64 load or store.
    fn base(&self) -> Option<RegSpan> {
        self.file.lookup(&format!("x{}", self.word >> 5 & 31))
    }

    fn zeroed(&self, span: RegSpan) -> bool {
        bytes_of(span).all(|b| self.effects.finals.get(&b) == Some(&ByteVal::Zero))
    }

    /// SIMD instructions whose destination is an operand too; the specifications' placeholders
    /// leave that out.
    fn accumulates(&self) -> bool {
        const ARM: &str = "vmla vmls vfma vfms vmlal vmlsl vqdmlal vqdmlsl vsra vrsra vsli vsri vaba vabal vpadal vbsl vbit \
            vbif vtbx vswp vtrn vzip vuzp vfmal vfmsl vqrdmlah aese aesd";
        const AARCH64: &str = "mla mls fmla fmls fcmla fmlal fmlal2 fmlsl smlal smlal2 umlal umlal2 smlsl smlsl2 umlsl umlsl2 \
            sqdmlal sqdmlal2 sqdmlsl sqdmlsl2 sqrdmlah sqrdmlsh saba uaba sabal sabal2 uabal uabal2 sadalp \
            uadalp ssra usra srsra ursra sli sri bsl bit bif tbx suqadd usqadd sdot udot aese aesd sha1c sha1m \
            sha1p sha1su0 sha1su1 sha256h sha256h2 sha256su0 sha256su1 sha512h sha512h2 sha512su0 sha512su1 \
            bfdot";
        let m = self.mnemonic();
        match self.isa {
            Isa::Arm => ARM.split(' ').any(|a| a == m),
            Isa::Aarch64 => AARCH64.split(' ').any(|a| a == m),
            _ => false,
        }
    }

    /// Where the specifications have a wrong size or order.
    fn quirk_memory(&self, memory: &mut Vec<MemOperand>) {
        let m = self.mnemonic();
        match self.isa {
            Isa::Aarch64 => {
                // Load-acquire and store-release: the size is in the opcode (`ldar w` is 8 bytes in
                // the specification).
                if self.word & 0x3fa0_0000 == 0x0880_0000 {
                    let size = 1 << (self.word >> 30);
                    for operand in memory.iter_mut().filter(|o| o.size > size) {
                        operand.size = size;
                        operand.data_register = None;
                    }
                }
                // LDAPR of 64 bits loads nothing in the specification (the read of the base is in
                // `quirk_registers`).
                if self.is_ldapr() && memory.is_empty() {
                    let base = self.base();
                    memory.push(MemOperand {
                        is_write: false,
                        size: 1 << (self.word >> 30),
                        address: base.map_or(Expr::Unknown, Expr::Reg),
                        guard: None,
                        stack_relative: base == self.file.sp,
                        control: false,
                        data_register: None,
                    });
                }
                // The second word of the pair is 4 bytes on, not 8.
                if m == "ldpsw"
                    && let [first, second] = memory.as_mut_slice()
                {
                    second.address = bin(Op::Add, first.address.clone(), Expr::Const(4));
                }
                if self.text.starts_with("dc zva") && memory.is_empty() {
                    let register =
                        self.effects.reads.iter().next().map(|b| RegSpan { offset: *b, size: 8 });
                    memory.push(MemOperand {
                        is_write: true,
                        // DCZID_EL0 says how many; 64 is what processors have and what C libraries
                        // test for.
                        size: 64,
                        address: register.map_or(Expr::Unknown, |r| {
                            bin(Op::And, Expr::Reg(r), Expr::Const(!63))
                        }),
                        guard: None,
                        stack_relative: false,
                        control: false,
                        data_register: None,
                    });
                }
                let structure = m.len() == 3
                    && (m.starts_with("ld") || m.starts_with("st"))
                    && matches!(m.as_bytes()[2], b'1'..=b'4');
                if structure {
                    *memory = merge(std::mem::take(memory), 16);
                }
            }
            Isa::Arm => {
                // The specification stores multiple registers from the top; the machine makes them
                // in ascending order.
                let descending = memory.len() > 1
                    && memory
                        .windows(2)
                        .all(|w| matches!((offset_of(&w[0].address), offset_of(&w[1].address)), (Some(a), Some(b)) if b < a));
                if descending {
                    memory.reverse();
                }
                // STMIA sp! in T32 is a push in the specification.
                if self.word >> 16 == 0xe8ad
                    && let Some(sp) = self.file.sp
                {
                    for (m, i) in memory.iter_mut().zip(0u64..) {
                        m.address = truncate(bin(Op::Add, Expr::Reg(sp), Expr::Const(4 * i)), 32);
                    }
                }
            }
            _ => {
                // Atomic minimum and maximum always store.
                if self.word & 0x7f == 0x2f {
                    memory.iter_mut().for_each(|o| o.guard = None);
                }
            }
        }
    }

    fn store_conditional(&self, decoded: &mut Decoded) {
        let m = self.mnemonic();
        let exclusive = match self.isa {
            Isa::Arm => m.starts_with("strex") || m.starts_with("stlex"),
            Isa::Aarch64 => m.starts_with("stx") || m.starts_with("stlx"),
            _ => m == "sc",
        };
        if !exclusive {
            return;
        }
        decoded.memory.iter_mut().for_each(|o| o.guard = None);
        if let [status] = decoded.writes.as_slice() {
            decoded.success = Some((status.span, 0));
        }
    }
}

/// Whether the opcode goes back to what an exception interrupted.
///
/// Sources: Arm Architecture Reference Manual (DDI 0406), B9.3 "ERET", "LDM (exception return)",
/// "RFE", "SUBS PC, LR and related instructions"; (DDI 0487), C6.2 "ERET", "ERETAA"; RISC-V
/// Privileged Architecture, 3.3.2 "Trap-Return Instructions".
fn exception_return(isa: Isa, word: u32, thumb: bool) -> bool {
    match isa {
        // RFEDB, RFEIA; SUBS PC, LR, #n (ERET if n is 0).
        Isa::Arm if thumb => {
            matches!(word & 0xffd0_ffff, 0xe810_c000 | 0xe990_c000)
                || word & 0xffff_ff00 == 0xf3de_8f00
        }
        // RFE; the others have a condition.
        Isa::Arm if word >> 28 == 15 => word & 0xfe50_ffff == 0xf810_0a00,
        Isa::Arm => {
            let eret = word & 0x0fff_ffff == 0x0160_006e;
            let ldm = word & 0x0e50_8000 == 0x0850_8000;
            // Data processing with flags to the program counter, but for comparisons; bits 7 and 4
            // of the form with a register are multiplications and others.
            let data = word & 0x0c10_f000 == 0x0010_f000
                && word >> 23 & 3 != 2
                && !(word & 0x0200_0000 == 0 && word & 0x90 == 0x90);
            eret || ldm || data
        }
        // ERET, ERETAA, ERETAB, DRPS.
        Isa::Aarch64 => matches!(word, 0xd69f_03e0 | 0xd69f_0bff | 0xd69f_0fff | 0xd6bf_03e0),
        // URET, SRET, MRET, MNRET, DRET.
        Isa::Riscv32 | Isa::Riscv64 => {
            matches!(word, 0x0020_0073 | 0x1020_0073 | 0x3020_0073 | 0x7020_0073 | 0x7b20_0073)
        }
        Isa::X86 | Isa::X86_64 => false,
    }
}

/// Conditions of A32 opcodes and of IT blocks.
fn arm_conditions(file: &Registers, decoded: &mut Decoded, condition: Option<u32>, thumb: bool) {
    let Some(cpsr) = file.lookup("cpsr") else { return };
    let kind = decoded.flow.kind;
    if let Some(condition) = condition {
        decoded.flow.conditional |= kind != FlowKind::Next;
        if !decoded.reads.iter().any(|r| r.span == cpsr) {
            decoded.reads.push(RegAccess { span: cpsr, control: true });
            decoded.reads.sort_by_key(|r| r.span);
        }
        // A branch that does nothing but branch is told by the next address.
        let branches = kind == FlowKind::Jump || kind.returns();
        if !(branches && decoded.memory.is_empty() && decoded.writes.is_empty()) {
            decoded.condition = Some(condition_holds(cpsr, condition));
        }
    } else if thumb && !decoded.flow.conditional && !decoded.text.starts_with("bkpt") {
        decoded.condition = Some(it_holds(cpsr));
    }
}

/// Constant part of a sum, as a signed 32-bit number.
fn offset_of(address: &Expr) -> Option<i64> {
    match address {
        Expr::Const(c) => Some(i64::from(*c as u32 as i32)),
        Expr::Extend(false, _, inner) => offset_of(inner),
        Expr::Bin(Op::Add, _, c) => match **c {
            Expr::Const(c) => Some(i64::from(c as u32 as i32)),
            _ => None,
        },
        Expr::Reg(_) => Some(0),
        _ => None,
    }
}

/// The register whose bytes these are, in order.
fn run(data: &[ByteVal], size: u32) -> Option<RegSpan> {
    let Some(ByteVal::Initial(first)) = data.first().copied() else { return None };
    let whole = data.len() == size as usize
        && data.iter().enumerate().all(|(i, b)| *b == ByteVal::Initial(first + i as u16));
    whole.then_some(RegSpan { offset: first, size: size as u16 })
}

/// Cuts spans at the ends of `at`.
fn split(spans: Vec<RegSpan>, at: &[RegSpan]) -> Vec<RegSpan> {
    let cuts: BTreeSet<u16> = at.iter().flat_map(|r| [r.offset, r.offset + r.size]).collect();
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let end = span.offset + span.size;
        let mut from = span.offset;
        for &cut in cuts.range(span.offset + 1..).take_while(|c| **c < end) {
            out.push(RegSpan { offset: from, size: cut - from });
            from = cut;
        }
        out.push(RegSpan { offset: from, size: end - from });
    }
    out
}

/// The aligned pieces of a span that are `size` bytes long.
fn parts(span: RegSpan, size: u32) -> impl Iterator<Item = RegSpan> {
    let size = size.min(u32::from(u16::MAX)) as u16;
    let step = size.max(1);
    (0..span.size / step).map(move |i| RegSpan { offset: span.offset + i * step, size })
}

/// Joins accesses of adjacent addresses up to `limit` bytes (the specification lists structure
/// loads byte by byte).
fn merge(memory: Vec<MemOperand>, limit: u32) -> Vec<MemOperand> {
    let mut out: Vec<MemOperand> = Vec::new();
    for m in memory {
        if let Some(last) = out.last_mut()
            && last.is_write == m.is_write
            && last.guard == m.guard
            && last.size + m.size <= limit
            && truncate(bin(Op::Add, last.address.clone(), Expr::Const(u64::from(last.size))), 64)
                == m.address
        {
            last.data_register = match (last.data_register, m.data_register) {
                (Some(a), Some(b)) if a.offset + a.size == b.offset => {
                    Some(RegSpan { offset: a.offset, size: a.size + b.size })
                }
                _ => None,
            };
            last.size += m.size;
        } else {
            out.push(m);
        }
    }
    out
}

/// ARM SIMD instructions whose registers or accesses the specification has wrong or not at all; no
/// condition yet.
fn own_simd(file: &Registers, word: u32, thumb: bool) -> Option<Decoded> {
    let flow = Flow { kind: FlowKind::Next, target: None, conditional: false, repeats: false };
    if let Some((text, neon::LoadStore { reads, writes, memory })) =
        neon::structure(file, word, thumb)
    {
        return Some(Decoded { text, flow, reads, writes, memory, ..Decoded::unknown(4) });
    }
    let (name, reads, writes) = neon::data(file, word, thumb)?;
    let access = |all: Vec<RegSpan>| {
        let bytes = all.into_iter().flat_map(bytes_of).collect();
        spans(file, &bytes).into_iter().map(|span| RegAccess { span, control: false }).collect()
    };
    Some(Decoded {
        text: name.to_string(),
        flow,
        reads: access(reads),
        writes: access(writes),
        ..Decoded::unknown(4)
    })
}

/// ARM instructions that SLEIGH must not see, because they change the decoding of other addresses
/// for ever: IT, and BLX to an address (also the undefined ones with the lowest bit set, which
/// SLEIGH takes).
fn own_arm(file: &Registers, address: u64, word: u32, thumb: bool) -> Option<Decoded> {
    let (cpsr, lr) = (file.lookup("cpsr")?, file.lookup("lr")?);
    let next_flow = Flow { kind: FlowKind::Next, target: None, conditional: false, repeats: false };
    if thumb && word >> 8 == 0xbf && word & 15 != 0 {
        const NAMES: [&str; 16] = [
            "eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
            "al", "nv",
        ];
        let (condition, mask) = (word >> 4 & 15, word & 15);
        let mut text = String::from("it");
        for bit in (mask.trailing_zeros() + 1..4).rev() {
            text.push(if (mask >> bit & 1) == (condition & 1) { 't' } else { 'e' });
        }
        text.push(' ');
        text.push_str(NAMES[condition as usize]);
        let mut decoded = Decoded::unknown(2);
        decoded.text = text;
        decoded.flow = next_flow;
        decoded.writes = vec![RegAccess { span: cpsr, control: true }];
        return Some(decoded);
    }
    let (size, target, condition) = if thumb && word & 0xf800_d000 == 0xf000_c000 {
        let bit = |n: u32| u64::from(word >> n & 1);
        let s = bit(26);
        let (i1, i2) = (1 ^ bit(13) ^ s, 1 ^ bit(11) ^ s);
        let offset = s << 24
            | i1 << 23
            | i2 << 22
            | u64::from(word >> 16 & 0x3ff) << 12
            | u64::from(word >> 1 & 0x3ff) << 2;
        let offset = ((offset << 39) as i64 >> 39) as u64;
        (4, ((address & !3).wrapping_add(4)).wrapping_add(offset), Some(it_holds(cpsr)))
    } else if !thumb && word >> 25 == 0x7d {
        let offset = ((u64::from(word & 0xff_ffff) << 40) as i64 >> 38) as u64
            | u64::from(word >> 24 & 1) << 1;
        (4, address.wrapping_add(8).wrapping_add(offset), None)
    } else {
        return None;
    };
    let target = target & 0xffff_ffff;
    let mut decoded = Decoded::unknown(size);
    decoded.text = format!("blx 0x{target:x}");
    decoded.flow =
        Flow { kind: FlowKind::Call, target: Some(target), conditional: false, repeats: false };
    decoded.writes = vec![RegAccess { span: lr, control: false }];
    decoded.condition = condition;
    Some(decoded)
}
