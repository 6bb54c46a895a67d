//! The kernel's helpers for ARM programs (Linux `Documentation/arch/arm/kernel_user_helpers.rst`):
//! code that the kernel maps at the top of the address space. QEMU's user mode does their work
//! itself, so a log shows one step with a meaningless opcode.

use super::decoded::{ControlFlow, Decoded, FlowKind, MemOperand, RegAccess};
use super::expr::Expr;
use super::registers;
use crate::event::{Isa, RegSpan};

/// First address of the helpers' page part.
const START: u64 = 0xffff_0f00;
const END: u64 = 0xffff_1000;

/// What shows as the instruction's text.
pub const TEXT: &str = "<kernel helper>";

pub fn is_helper(isa: Isa, address: u64) -> bool {
    isa == Isa::Arm && (START..END).contains(&address)
}

/// The effects of the helper at `address`, None if there is none.
pub fn decode(isa: Isa, address: u64) -> Option<Decoded> {
    if !is_helper(isa, address) {
        return None;
    }
    let file = registers(isa);
    let [r0, r1, r2] = ["r0", "r1", "r2"].map(|name| file.lookup(name));
    let (r0, r1, r2) = (r0?, r1?, r2?);
    let mut helper = Decoded {
        text: TEXT.to_owned(),
        flow: ControlFlow::plain(FlowKind::Return),
        ..Decoded::unknown(4)
    };
    let data = |span| RegAccess { span, control: false };
    let memory =
        |is_write, pointer: RegSpan, size| MemOperand::plain(is_write, size, Expr::Reg(pointer));
    match address {
        // get_tls
        0xffff_0fe0 => helper.writes = vec![data(r0)],
        // cmpxchg(r0 old, r1 new, r2 pointer)
        0xffff_0fc0 => {
            helper.reads = vec![data(r0), data(r1), data(r2)];
            helper.memory = vec![memory(false, r2, 4), memory(true, r2, 4)];
        }
        // cmpxchg64(r0 pointer to old, r1 pointer to new, r2 pointer)
        0xffff_0f60 => {
            helper.reads = vec![data(r0), data(r1), data(r2)];
            helper.memory = vec![
                memory(false, r0, 8),
                memory(false, r1, 8),
                memory(false, r2, 8),
                memory(true, r2, 8),
            ];
        }
        // memory barrier, and what we do not know
        _ => {}
    }
    if matches!(address, 0xffff_0fc0 | 0xffff_0f60) {
        helper.writes = vec![data(r0)];
        // The flags, as the decoder's register file has them.
        let is_flag =
            |name: &str| matches!(name, "ng" | "zr" | "cy" | "ov" | "n" | "z" | "c" | "v");
        let flags = file.all.iter().filter(|r| r.control && is_flag(&r.name.to_ascii_lowercase()));
        helper.writes.extend(flags.map(|r| RegAccess { span: r.span, control: true }));
        helper.success = Some((r0, 0));
    }
    if let Some(link) = file.link {
        helper.reads.push(RegAccess { span: link, control: true });
    }
    helper.reads.sort_unstable_by_key(|a| a.span);
    helper.writes.sort_unstable_by_key(|a| a.span);
    Some(helper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Carries, Condition, Dialect, InsnDef, RunBatch, StepBatch};
    use crate::isa::elaborate::Elaborator;

    /// A compare-and-exchange that succeeds, one that fails, and the thread pointer.
    #[test]
    fn helpers_access_memory_as_the_kernel_documents() {
        let file = registers(Isa::Arm);
        let carries = Carries { registers: true, registers_before: true, ..Carries::default() };
        let mut e = Elaborator::new(Isa::Arm, Dialect::default(), carries, Box::new(|_| None));
        let mut b = StepBatch::default();
        for address in [0xffff_0fc0, 0xffff_0f60, 0xffff_0fe0] {
            b.new_insns.push(InsnDef {
                address,
                bytes: vec![0; 4],
                text: Some("andeq r0, r0, r0".into()),
                ..InsnDef::default()
            });
        }
        for (insn, r0, r2) in [
            (0, 5, 0x100),
            (0, 0, 0x100),
            (1, 1, 0x200),
            (1, 0x40, 0x200),
            (2, 0, 0),
            (2, 0x7000, 0),
        ] {
            b.insn.push(insn);
            b.condition.push(Condition::Unknown);
            b.access_end.push(0);
            let values = [("r0", r0), ("r1", 0x50), ("r2", r2), ("lr", 0x8000)];
            b.registers
                .extend(values.iter().map(|(name, value)| (file.lookup(name).unwrap(), *value)));
            b.register_end.push(b.registers.len() as u32);
        }
        let mut out = RunBatch::default();
        e.push(&mut b, &mut out);
        e.finish(&mut out);
        // r0 after: 0 (stored), 1 (not stored), 0x40 (not stored), 0 (stored).
        let accesses: Vec<(bool, u32)> = out
            .block
            .iter()
            .flat_map(|&b| &out.new_blocks[b as usize].mem)
            .map(|m| (m.is_write, m.size))
            .collect();
        let (small, wide) =
            ([(false, 4), (true, 4)], [(false, 8), (false, 8), (false, 8), (true, 8)]);
        assert_eq!(accesses, [&small[..], &small[..1], &wide[..3], &wide[..]].concat());
        assert_eq!(out.addresses, [0x100, 0x100, 0x100, 1, 0x50, 0x200, 0x40, 0x50, 0x200, 0x200]);
        assert_eq!(e.diagnostics().count(), 0);
        let get_tls = decode(Isa::Arm, 0xffff_0fe0).unwrap();
        assert_eq!(
            (get_tls.flow.kind, get_tls.memory.len(), get_tls.writes[0].span),
            (FlowKind::Return, 0, file.lookup("r0").unwrap())
        );
        assert!(decode(Isa::Arm, 0xfffe_ffff).is_none() && decode(Isa::X86, 0xffff_0fe0).is_none());
    }
}
