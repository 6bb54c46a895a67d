//! The registers that an instruction reads and writes.

use super::view::{View, is_read, is_written};
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::{ControlFlow, FlowKind};
use crate::isa::system_call::argument_names;
use crate::registers::x86::*;
use iced_x86::{Mnemonic, OpAccess, Register as Iced, RflagsBits};

/// Bytes of registers; in no order, overlapping.
#[derive(Default)]
struct Touched {
    reads: Vec<RegSpan>,
    writes: Vec<RegSpan>,
}

/// iced counts the condition codes of the x87 among the flags.
const X87_CODES: u32 = RflagsBits::C0 | RflagsBits::C1 | RflagsBits::C2 | RflagsBits::C3;

impl View<'_> {
    /// Bytes of registers read and written, disjoint and sorted.
    pub fn registers(&self, flow: ControlFlow) -> (Vec<RegSpan>, Vec<RegSpan>) {
        let mut touched = Touched::default();
        let idle = matches!(
            self.insn.mnemonic(),
            Mnemonic::Nop | Mnemonic::Reservednop | Mnemonic::Endbr32 | Mnemonic::Endbr64
        );
        if let Mnemonic::Vzeroupper | Mnemonic::Vzeroall = self.insn.mnemonic() {
            touched.writes = self.zeroed_vectors();
        } else if !idle {
            let operands = self.vector_operands(&mut touched);
            self.other_registers(&operands, &mut touched);
            if self.constant() {
                touched.reads.clear();
            }
            self.control_registers(flow, &mut touched);
            self.x87_registers(&mut touched);
        }
        (merged(touched.reads), merged(touched.writes))
    }

    /// What `vzeroupper` and `vzeroall` write: the upper parts, or all, of the registers that the
    /// VEX encoding reaches.
    fn zeroed_vectors(&self) -> Vec<RegSpan> {
        let kept = if self.insn.mnemonic() == Mnemonic::Vzeroall { 0 } else { 16 };
        let count = if self.wide { 16 } else { 8 };
        (0..count).map(|n| span(VECTORS + 64 * n + kept, 64 - kept)).collect()
    }

    /// Vector registers that are operands; gives the full ones.
    fn vector_operands(&self, touched: &mut Touched) -> Vec<Iced> {
        let vectors = self.vectors();
        touched.reads.extend(vectors.reads);
        touched.writes.extend(vectors.writes);
        let operands = (0..self.insn.op_count()).filter(|n| self.vector(*n).is_some());
        operands.map(|n| self.insn.op_register(n).full_register()).collect()
    }

    /// What iced lists as used, but for vector operands.
    fn other_registers(&self, operands: &[Iced], touched: &mut Touched) {
        for used in self.info.used_registers() {
            let (register, access) = (used.register(), used.access());
            if register.is_vector_register() && operands.contains(&register.full_register()) {
                continue;
            }
            if register == Iced::XMM0 && is_read(access) {
                // The third operand of legacy encodings.
                let taken = self.taken(&[], 2, 16).into_iter();
                touched.reads.extend(taken.map(|(at, size)| span(VECTORS + at, size)));
            } else if is_read(access) || access == OpAccess::CondWrite {
                self.used_bytes(register, false, &mut touched.reads);
            }
            if is_written(access) {
                self.used_bytes(register, true, &mut touched.writes);
            }
        }
    }

    /// How many bytes of a register are read at most, where iced says more: an exchange compares
    /// with as many bytes of the accumulator as its operands have; elements, bit numbers, masks and
    /// the state of a checksum are narrower than their registers.
    fn widest(&self, register: Iced) -> Option<u16> {
        let i = self.insn;
        let is = |n: u32| self.is_register(n) && i.op_register(n) == register;
        let addresses = [i.memory_base(), i.memory_index()].contains(&register);
        if register.is_k() {
            return Some(self.mask_bytes());
        }
        if !register.is_gpr() || addresses {
            return None;
        }
        match (i.mnemonic(), self.name.as_str()) {
            (Mnemonic::Cmpxchg, _) if register.full_register() == Iced::RAX => {
                u16::try_from(i.op1_register().size()).ok()
            }
            (Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc, _) => {
                (is(1) && self.is_register(0) && !is(0)).then_some(1)
            }
            (Mnemonic::Crc32, _) => (is(0) && !is(1)).then_some(4),
            (_, "Pinsrb" | "Pbroadcastb" | "Kmovb") => Some(1),
            (_, "Pinsrw" | "Pbroadcastw" | "Kmovw") => Some(2),
            _ => None,
        }
    }

    /// Bytes of a register that iced lists as used.
    fn used_bytes(&self, register: Iced, is_write: bool, into: &mut Vec<RegSpan>) {
        let Some(mut bytes) = bytes_of(register) else { return };
        if let Some(widest) = self.widest(register).filter(|_| !is_write) {
            bytes.size = bytes.size.min(widest);
        }
        if register.is_segment_register() {
            // Flat segments: only FS and GS have a base, and the selectors matter only where the
            // instruction names them.
            let named = (0..self.insn.op_count())
                .any(|n| self.is_register(n) && self.insn.op_register(n) == register);
            if named {
                into.push(bytes);
            }
            if !named || is_write {
                into.extend(self.segment_base(register));
            }
            return;
        }
        if register.is_st() && is_write {
            // iced names it before the push or pop.
            let moved = self.insn.fpu_stack_increment_info().increment();
            match i32::try_from(register.number()).ok().and_then(|n| u16::try_from(n - moved).ok())
            {
                Some(after @ 0..8) => bytes.offset = X87 + 16 * after,
                _ => return,
            }
        }
        if register.is_cr() && !self.wide {
            bytes.size = 4;
        }
        into.push(bytes);
    }

    /// Flags, program counter, and what a system call takes and gives.
    fn control_registers(&self, flow: ControlFlow, touched: &mut Touched) {
        let word = self.word();
        if flow.kind == FlowKind::Syscall {
            touched.reads.push(span(RAX, word));
            touched.reads.extend(self.system_call_arguments());
            touched.writes.push(span(RAX, word));
        }
        let (read, written) = (self.insn.rflags_read(), self.insn.rflags_modified());
        for (bits, list) in [(read, &mut touched.reads), (written, &mut touched.writes)] {
            if bits & !X87_CODES != 0 {
                list.push(span(FLAGS, word));
            }
            if bits & X87_CODES != 0 {
                list.push(span(FPU_STATUS, 2));
            }
        }
        if self.insn.is_ip_rel_memory_operand() {
            touched.reads.push(span(RIP, word));
        }
        if flow.kind.returns() || matches!(flow.kind, FlowKind::Jump | FlowKind::Call) {
            touched.writes.push(span(RIP, word));
        }
        match self.insn.mnemonic() {
            Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr => touched.writes.push(span(MXCSR, 4)),
            Mnemonic::Stmxcsr | Mnemonic::Vstmxcsr => touched.reads.push(span(MXCSR, 4)),
            _ => {}
        }
    }

    /// All registers that can hold arguments of a system call.
    fn system_call_arguments(&self) -> Vec<RegSpan> {
        let file = registers(if self.wide { Isa::X86_64 } else { Isa::X86 });
        // `int $0x80` has the convention of 32-bit code anywhere.
        let isa = match self.insn.mnemonic() {
            Mnemonic::Syscall if self.wide => Isa::X86_64,
            _ => Isa::X86,
        };
        argument_names(isa).iter().filter_map(|name| file.lookup(name)).collect()
    }

    /// What iced leaves out of the x87.
    fn x87_registers(&self, touched: &mut Touched) {
        let pushes = self.insn.fpu_stack_increment_info().increment() < 0;
        if pushes && self.info.used_registers().iter().all(|u| !u.register().is_mm()) {
            touched.writes.push(span(X87, 10));
        }
        match self.insn.mnemonic() {
            Mnemonic::Fldcw => touched.writes.push(span(FPU_CONTROL, 2)),
            Mnemonic::Fnstcw | Mnemonic::Fstcw => touched.reads.push(span(FPU_CONTROL, 2)),
            Mnemonic::Fnstsw | Mnemonic::Fstsw => touched.reads.push(span(FPU_STATUS, 2)),
            _ => {}
        }
    }
}

/// Sorted, overlapping spans joined. Spans that only touch stay apart: they may belong to different
/// registers.
fn merged(mut spans: Vec<RegSpan>) -> Vec<RegSpan> {
    spans.sort_unstable();
    let mut out: Vec<RegSpan> = Vec::with_capacity(spans.len());
    for next in spans {
        match out.last_mut() {
            Some(last) if next.offset < last.end() => {
                last.size = last.size.max(next.end() - last.offset);
            }
            _ => out.push(next),
        }
    }
    out
}
