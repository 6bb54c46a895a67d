//! The memory that an instruction accesses.

use super::registers::{RSP, bytes_of};
use super::view::{View, is_read, is_written};
use crate::event::RegSpan;
use crate::isa::decoded::{FlowKind, MemOperand};
use crate::isa::expr::{Expr, Operator};
use iced_x86::{CodeSize, Mnemonic, OpAccess, OpKind, Register as Iced, UsedMemory};

/// Mnemonics of moves that change nothing, and beginnings of such.
const MOVES: [&str; 7] = ["Mov", "Movd", "Movq", "Movss", "Movsd", "Lddqu", "Movnti"];
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

    /// What iced lists as used memory, reads first.
    fn operands(&self) -> Vec<MemOperand> {
        let guard = self.repeat_count().map(Expr::Reg);
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
                if touches {
                    operands.push(MemOperand {
                        guard: guard.clone(),
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
    fn repeat_count(&self) -> Option<RegSpan> {
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
        let size = if masked || used.index().is_vector_register() {
            0
        } else if self.repeats() {
            self.insn.memory_size().size()
        } else {
            used.memory_size().size()
        };
        u32::try_from(size).unwrap_or(0)
    }

    fn address(&self, used: &UsedMemory) -> Expr {
        if used.index().is_vector_register() {
            return Expr::Unknown;
        }
        let bits = match used.address_size() {
            CodeSize::Code16 => 16,
            CodeSize::Code32 => 32,
            _ => 64,
        };
        let register = |r: Iced| bytes_of(r).map_or(Expr::Const(0), Expr::Reg);
        let index = register(used.index()).binary(Operator::Mul, scale(used));
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

fn scale(used: &UsedMemory) -> Expr {
    Expr::Const(used.scale().into())
}
