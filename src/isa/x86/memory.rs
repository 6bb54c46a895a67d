//! The memory that an instruction accesses.

use super::view::{View, is_read, is_written};
use crate::event::RegSpan;
use crate::isa::decoded::{FlowKind, MemOperand, Moved};
use crate::isa::expr::{Expr, Operator};
use crate::registers::x86::{RSP, bytes_of};
use iced_x86::{CodeSize, Mnemonic, OpAccess, OpKind, Register as Iced, UsedMemory};

/// Mnemonics of moves that change nothing, and beginnings of such.
const MOVES: [&str; 9] =
    ["Mov", "Movd", "Movq", "Movw", "Movss", "Movsd", "Movsh", "Lddqu", "Movnti"];
const MOVE_FAMILIES: [&str; 7] = ["Mova", "Movu", "Movl", "Movh", "Movdq", "Movnt", "Kmov"];

impl View<'_> {
    /// Accesses in the order in which they are made; `reads` and `writes` are the registers.
    pub fn memory(&self, flow: FlowKind, reads: &[RegSpan], writes: &[RegSpan]) -> Vec<MemOperand> {
        if ["Prefetch", "Gatherpf", "Scatterpf"].iter().any(|p| self.name.starts_with(p)) {
            return Vec::new();
        }
        let mut operands = self.operands();
        if matches!(self.name.as_str(), "Cmpsb" | "Cmpsw" | "Cmpsd" | "Cmpsq")
            && operands.len() == 2
        {
            // QEMU and valgrind read (rdi) first; the processor does not say.
            operands.swap(0, 1);
        }
        match flow {
            FlowKind::Return => operands.iter_mut().take(1).for_each(|o| o.control = true),
            // Program counter, selectors, flags and stack pointer: all of the frame.
            FlowKind::ExceptionReturn => operands.iter_mut().for_each(|o| o.control = true),
            _ => {}
        }
        if let [operand] = operands.as_mut_slice() {
            let registers = if operand.is_write { reads } else { writes };
            operand.data_register = self.data_register(operand, registers);
        }
        operands
    }

    /// What becomes of the bytes that it loads; `writes` are the registers.
    pub fn moved(&self, memory: &[MemOperand], writes: &[RegSpan]) -> Option<Moved> {
        use Mnemonic::*;
        let i = self.insn;
        let (load, register) = match (i.mnemonic(), memory) {
            (Movsb | Movsw | Movsd | Movsq, [load, store]) if i.is_string_instruction() => {
                return (!load.is_write && store.is_write).then_some(Moved::ToMemory);
            }
            (Movzx | Movsx | Movsxd, [load]) => (load, i.op0_register()),
            (Lodsb | Lodsw | Lodsd | Lodsq, [load]) if !self.repeats() => (load, i.op0_register()),
            (_, [load]) => (load, self.moved_register(false)?),
            _ => return None,
        };
        let offset = bytes_of(register)?.offset;
        let size = u16::try_from(load.size).ok().filter(|size| *size > 0 && !load.is_write)?;
        let written = |span: &RegSpan| span.offset == offset && span.size >= size;
        writes.iter().any(written).then_some(Moved::ToRegister(RegSpan { offset, size }))
    }

    /// What iced lists as used memory, reads first.
    fn operands(&self) -> Vec<MemOperand> {
        let implicit = matches!(self.insn.mnemonic(), Mnemonic::Leave | Mnemonic::Enter);
        let mut operands = Vec::new();
        for is_write in [false, true] {
            for used in self.info.used_memory() {
                let access = used.access();
                let touches = if is_write {
                    is_written(access)
                } else {
                    is_read(access) && access != OpAccess::CondWrite
                };
                if touches && used.index().is_vector_register() {
                    operands.extend(self.gathered(used, is_write));
                } else if touches {
                    operands.push(MemOperand {
                        stack_relative: implicit
                            || matches!(used.base(), Iced::RSP | Iced::ESP | Iced::SP),
                        ..MemOperand::plain(is_write, self.size(used), self.address(used))
                    });
                }
            }
        }
        operands
    }

    /// The counter of a repeated instruction.
    pub fn repeat_count(&self) -> Option<RegSpan> {
        let counter = self.info.used_registers().iter().find(|u| {
            matches!(u.register(), Iced::CX | Iced::ECX | Iced::RCX)
                && matches!(u.access(), OpAccess::ReadCondWrite | OpAccess::ReadWrite)
        });
        counter.filter(|_| self.repeats()).and_then(|u| bytes_of(u.register()))
    }

    /// Bytes of an access; 0 where a mask or an index decides.
    fn size(&self, used: &UsedMemory) -> u32 {
        let masked = self.insn.has_op_mask()
            || self.name.starts_with("Maskmov")
            || self.name.starts_with("Pmaskmov");
        let size = if masked {
            0
        } else if self.repeats() {
            self.insn.memory_size().size()
        } else {
            used.memory_size().size()
        };
        u32::try_from(size).unwrap_or(0)
    }

    fn address(&self, used: &UsedMemory) -> Expr {
        let index = bytes_of(used.index()).map_or(Expr::Const(0), Expr::Reg);
        self.address_with(used, index)
    }

    /// The address with `index` in the place of the index register.
    fn address_with(&self, used: &UsedMemory, index: Expr) -> Expr {
        let bits = match used.address_size() {
            CodeSize::Code16 => 16,
            CodeSize::Code32 => 32,
            _ => 64,
        };
        let register = |r: Iced| bytes_of(r).map_or(Expr::Const(0), Expr::Reg);
        let index = index.binary(Operator::Mul, Expr::Const(used.scale().into()));
        let offset = register(used.base())
            .plus(index)
            .offset(used.displacement())
            .plus(self.bit_string().unwrap_or(Expr::Const(0)))
            .truncate(bits);
        match self.segment_base(used.segment()) {
            Some(base) => offset.plus(Expr::Reg(base)).truncate(if self.wide { 64 } else { 32 }),
            None => offset,
        }
    }

    /// The elements of a gather or scatter: each if its bit of the mask says so.
    fn gathered(&self, used: &UsedMemory, is_write: bool) -> Vec<MemOperand> {
        let (Some(index), Ok(size)) =
            (bytes_of(used.index()), u16::try_from(self.insn.memory_size().element_size()))
        else {
            return Vec::new();
        };
        // `vpgatherdq`: indexes of 32 bits, elements of 64.
        let narrow = self.name.contains("herd") || self.name.contains("terd");
        let step = if narrow { 4 } else { 8 };
        let vector = (0..self.insn.op_count()).filter(|n| self.is_register(*n));
        let data = vector.filter_map(|n| bytes_of(self.insn.op_register(n))).next();
        let count = (index.size / step).min(data.map_or(0, |d| d.size / size.max(1)));
        (0..count)
            .map(|n| {
                let lane = RegSpan { offset: index.offset + step * n, size: step };
                let index = Expr::Reg(lane).sign_extend(8 * u32::from(step));
                MemOperand {
                    guard: self.lane_is_masked_in(n, size),
                    ..MemOperand::plain(is_write, size.into(), self.address_with(used, index))
                }
            })
            .collect()
    }

    /// What is not 0 if lane `n` of `size` bytes is gathered: a bit of the mask register, or the
    /// top bit of the lane in the third operand.
    fn lane_is_masked_in(&self, n: u16, size: u16) -> Option<Expr> {
        let (mask, bit) = match self.insn.has_op_mask() {
            true => (bytes_of(self.insn.op_mask())?, n),
            false => {
                let mask = bytes_of(self.insn.op2_register())?;
                (RegSpan { offset: mask.offset + size * n + size - 1, size: 1 }, 7)
            }
        };
        let shifted = Expr::Reg(mask).binary(Operator::Shr, Expr::Const(bit.into()));
        Some(shifted.binary(Operator::And, Expr::Const(1)))
    }

    /// For a bit test in memory with its bit number in a register: how many bytes on the word is
    /// that has the bit.
    fn bit_string(&self) -> Option<Expr> {
        let i = self.insn;
        let test =
            matches!(i.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
        if !test || i.op0_kind() != OpKind::Memory || i.op1_kind() != OpKind::Register {
            return None;
        }
        let bytes = u64::try_from(i.memory_size().size()).ok()?;
        let number = bytes_of(i.op1_register())?;
        let words = Expr::Reg(number)
            .sign_extend(8 * u32::from(number.size))
            .binary(Operator::Sar, Expr::Const((8 * bytes).trailing_zeros().into()));
        Some(words.binary(Operator::Mul, Expr::Const(bytes)))
    }

    /// The register that a plain move stores or loads; `touched` are the registers that it reads
    /// (a store) or writes (a load).
    fn data_register(&self, operand: &MemOperand, touched: &[RegSpan]) -> Option<RegSpan> {
        let register = self.moved_register(operand.is_write)?;
        let kept = !(register.is_segment_register() || register.is_cr() || register.is_dr())
            && (!register.is_mm() || operand.size == 8);
        let full = bytes_of(register.full_register()).filter(|_| kept)?;
        let mut touched = touched.iter().filter(|s| full.bytes().contains(&s.offset));
        let bytes = *touched.next()?;
        // It must move exactly the operand's bytes.
        let alone =
            touched.next().is_none() && u32::from(bytes.size) == operand.size && full.offset != RSP;
        let leave = self.insn.mnemonic() == Mnemonic::Leave;
        (alone && (leave || !operand.address.reads(full))).then_some(bytes)
    }

    /// The register operand of a move from or to memory, the pushed or popped one.
    fn moved_register(&self, stores: bool) -> Option<Iced> {
        let (i, name) = (self.insn, self.name.as_str());
        match i.mnemonic() {
            Mnemonic::Leave => Some(Iced::RBP),
            Mnemonic::Push | Mnemonic::Pop if self.is_register(0) => Some(i.op0_register()),
            Mnemonic::Movsd if i.is_string_instruction() => None,
            _ => {
                let plain = MOVES.contains(&name)
                    || MOVE_FAMILIES.iter().any(|family| name.starts_with(family));
                let operand = u32::from(stores);
                (plain && i.op_count() == 2 && !i.has_op_mask() && self.is_register(operand))
                    .then(|| i.op_register(operand))
            }
        }
    }
}
