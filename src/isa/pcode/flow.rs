//! What an instruction does to control.

use super::evaluated::Evaluated;
use super::symbolic::effects::Transfer;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::{ControlFlow, FlowKind};
use libsla::OpCode;

impl Evaluated<'_> {
    pub fn flow(&self) -> ControlFlow {
        if let Some(kind) = self.trap() {
            return ControlFlow::plain(kind);
        }
        if exception_return(self.isa, self.word, self.thumb) {
            return ControlFlow::plain(FlowKind::ExceptionReturn);
        }
        let Some(transfer) = &self.effects.transfer else {
            return ControlFlow::plain(FlowKind::Next);
        };
        // A transfer that leaves the link register holding the next address is a call, whatever
        // else it looks like.
        let kind = if self.links() {
            FlowKind::Call
        } else if self.is_return(transfer) {
            FlowKind::Return
        } else {
            FlowKind::Jump
        };
        let thumb_bit = u64::from(self.isa == Isa::Arm);
        ControlFlow {
            kind,
            target: transfer.direct.map(|d| d & !thumb_bit),
            conditional: transfer.conditional,
            repeats: false,
        }
    }

    /// System calls and traps, which have no p-code that says so.
    fn trap(&self) -> Option<FlowKind> {
        match self.mnemonic() {
            "swi" | "svc" | "hvc" | "smc" | "ecall" => Some(FlowKind::Syscall),
            "brk" | "bkpt" | "udf" | "hlt" | "ebreak" | "unimp" => Some(FlowKind::Trap),
            "c" if self.text.starts_with("c.ebreak") => Some(FlowKind::Trap),
            _ => None,
        }
    }

    /// Registers that calls leave the return address in.
    fn link_registers(&self) -> &'static [&'static str] {
        match self.isa {
            Isa::Riscv32 | Isa::Riscv64 => &["ra", "t0"],
            _ => &["lr"],
        }
    }

    /// Whether the instruction leaves a link register holding the next address.
    fn links(&self) -> bool {
        let mut links = self.link_registers().iter().filter_map(|name| self.file.lookup(name));
        links.any(|link| {
            let value = self.effects.constants.get(&link.offset);
            self.effects.writes.contains(&link.offset) && value.is_some_and(|v| v & !1 == self.next)
        })
    }

    /// What it leaves in the link register, if that is an address that is known.
    pub fn link(&self) -> Option<u64> {
        let link = self.file.link.filter(|link| self.effects.writes.contains(&link.offset))?;
        self.effects.constants.get(&link.offset).copied()
    }

    fn is_return(&self, transfer: &Transfer) -> bool {
        match self.isa {
            Isa::Arm => {
                let from_stack = transfer.loads.iter().any(|load| {
                    self.effects.memory.get(usize::from(*load)).is_some_and(|m| {
                        // Frame chains of the old ARM convention return by `ldm fp, {fp, sp, pc}`.
                        self.on_stack(&m.address) || self.text.starts_with("ldm")
                    })
                });
                from_stack || self.through_link(transfer)
            }
            Isa::Aarch64 => transfer.code == OpCode::Return,
            _ => self.through_link(transfer),
        }
    }

    /// Whether the target comes from a link register and nothing else.
    fn through_link(&self, transfer: &Transfer) -> bool {
        let is_link = |r: &RegSpan| {
            self.link_registers().iter().any(|name| self.file.lookup(name) == Some(*r))
        };
        transfer.direct.is_none()
            && transfer.loads.is_empty()
            && !transfer.registers.is_empty()
            && transfer.registers.iter().all(is_link)
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
