//! The kernel's helpers for ARM programs (Linux `Documentation/arch/arm/kernel_user_helpers.rst`): code that the kernel maps at the
//! top of the address space. QEMU's user mode does their work itself, so a log shows one step with a meaningless opcode.

use super::{Decoded, Expr, Flow, FlowKind, MemOperand, RegAccess, registers};
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
        flow: Flow { kind: FlowKind::Return, target: None, conditional: false, repeats: false },
        ..Decoded::unknown(4)
    };
    let data = |span| RegAccess { span, control: false };
    let memory = |is_write, pointer: RegSpan, size| MemOperand {
        is_write,
        size,
        address: Expr::Reg(pointer),
        guard: None,
        stack_relative: false,
        control: false,
        data_register: None,
    };
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
            helper.memory = vec![memory(false, r0, 8), memory(false, r1, 8), memory(false, r2, 8), memory(true, r2, 8)];
        }
        // memory barrier, and what we do not know
        _ => {}
    }
    if matches!(address, 0xffff_0fc0 | 0xffff_0f60) {
        helper.writes = vec![data(r0)];
        // The flags, as the decoder's register file has them.
        let is_flag = |name: &str| matches!(name, "ng" | "zr" | "cy" | "ov" | "n" | "z" | "c" | "v");
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
