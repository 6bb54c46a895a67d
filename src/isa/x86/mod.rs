//! x86 and x86-64 through iced-x86.
//!
//! What iced says of an instruction's registers and memory is taken over with these changes: flags,
//! stack pointer, program counter and control words are control; zeroing idioms read nothing;
//! scalar and half-register SSE operands count the bytes that they touch; a register that is
//! written conditionally is read as well, as its old bytes may survive. The x87 registers are named
//! from the top of the stack as the instruction sees them: reads before it, writes after its push
//! or pop; that a push or pop renames the others is not followed, and told (`Decoded::renames`).
//!
//! [`view`] is an instruction with what iced says of it; [`touched`] (with [`shape`] and
//! [`selection`]) finds its registers, [`memory`] its accesses.

use crate::event::{Isa, RegSpan};
use crate::isa::decoded::{ControlFlow, Decoded, Decoder, FlowKind, RegAccess};
use crate::isa::expr::Expr;
use iced_x86::{
    Decoder as IcedDecoder, DecoderOptions, FlowControl, Formatter, GasFormatter,
    InstructionInfoFactory, Mnemonic, OpKind,
};
use view::View;

mod masked;
mod memory;
mod selection;
mod shape;
#[cfg(test)]
mod tests;
mod touched;
mod view;

pub use crate::registers::x86::registers;
pub use masked::masked;

/// Decoder of x86-64 or 32-bit x86 code.
pub struct X86 {
    isa: Isa,
    factory: InstructionInfoFactory,
    formatter: GasFormatter,
}

impl X86 {
    pub fn new(isa: Isa) -> X86 {
        let mut formatter = GasFormatter::new();
        let options = formatter.options_mut();
        options.set_rip_relative_addresses(true);
        options.set_branch_leading_zeros(false);
        options.set_space_after_operand_separator(false);
        X86 { isa, factory: InstructionInfoFactory::new(), formatter }
    }
}

impl Decoder for X86 {
    fn isa(&self) -> Isa {
        self.isa
    }

    fn decode(&mut self, address: u64, bytes: &[u8], _thumb: bool) -> Option<Decoded> {
        let bits = if self.isa == Isa::X86 { 32 } else { 64 };
        let bytes = &bytes[..bytes.len().min(15)];
        let instruction = IcedDecoder::with_ip(bits, bytes, address, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return None;
        }
        let mut text = String::new();
        self.formatter.format(&instruction, &mut text);
        let info = self.factory.info(&instruction);
        let view = View::new(&instruction, info, self.isa == Isa::X86_64);
        let flow = view.flow();
        let (reads, writes) = view.registers(flow);
        let memory = view.memory(flow.kind, &reads, &writes);
        let moved = view.moved(&memory, &writes);
        let access = |spans: Vec<RegSpan>| -> Vec<RegAccess> {
            spans.into_iter().map(|span| registers(self.isa).access(span)).collect()
        };
        Some(Decoded {
            text,
            flow,
            reads: access(reads),
            writes: access(writes),
            memory,
            moved,
            // With a count of zero nothing is done.
            condition: view.repeat_count().map(Expr::Reg),
            renames: instruction.fpu_stack_increment_info().increment() != 0,
            ..Decoded::unknown(u8::try_from(instruction.len()).unwrap_or(u8::MAX))
        })
    }
}

impl View<'_> {
    fn flow(&self) -> ControlFlow {
        use Mnemonic::*;
        let direct = matches!(
            self.insn.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
        .then(|| self.insn.near_branch_target());
        let plain = ControlFlow::plain;
        match self.insn.mnemonic() {
            Syscall | Sysenter => return plain(FlowKind::Syscall),
            Hlt => return plain(FlowKind::Trap),
            Iret | Iretd | Iretq | Sysret | Sysretq | Sysexit | Sysexitq | Uiret | Rsm => {
                return plain(FlowKind::ExceptionReturn);
            }
            Xbegin => {
                let jump = plain(FlowKind::Jump);
                return ControlFlow { target: direct, conditional: true, ..jump };
            }
            Xabort | Xend => return plain(FlowKind::Next),
            _ => {}
        }
        match self.insn.flow_control() {
            FlowControl::Next | FlowControl::XbeginXabortXend => {
                ControlFlow { repeats: self.repeats(), ..plain(FlowKind::Next) }
            }
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                ControlFlow { target: direct, ..plain(FlowKind::Jump) }
            }
            FlowControl::ConditionalBranch => {
                ControlFlow { target: direct, conditional: true, ..plain(FlowKind::Jump) }
            }
            FlowControl::Return => plain(FlowKind::Return),
            // iced counts the hypervisor's entries among the calls.
            FlowControl::Call if !self.name.starts_with("Call") => plain(FlowKind::Next),
            FlowControl::Call | FlowControl::IndirectCall => {
                ControlFlow { target: direct, ..plain(FlowKind::Call) }
            }
            FlowControl::Interrupt
                if self.insn.mnemonic() == Int && self.insn.immediate8() == 0x80 =>
            {
                plain(FlowKind::Syscall)
            }
            FlowControl::Interrupt | FlowControl::Exception => plain(FlowKind::Trap),
        }
    }
}
