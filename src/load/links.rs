//! Jumps that are calls where a trace does not tell of registers: the code itself puts the address behind a jump into
//! the link register, and then jumps. ARM before version 5 has no other call by a register (`mov lr, pc; bx r3`,
//! `mov lr, pc; ldr pc, [r3]`).

use super::pass::BuildPass;
use crate::analysis::access::Insn;
use crate::event::{BlockDef, Isa, RegSpan, RunBatch, RunEnd};
use crate::isa::{self, FlowKind};

/// What is left in the link register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// What was there.
    Same,
    /// An address, if it is known.
    Other(Option<u64>),
}

impl Left {
    fn of(self, before: Option<u64>) -> Option<u64> {
        match self {
            Left::Same => before,
            Left::Other(address) => address,
        }
    }
}

/// What a block does to the link register.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Before its last step, and behind it.
    before: Left,
    behind: Left,
    /// The address behind the jump that it ends with.
    next: Option<u64>,
}

impl Block {
    fn new(def: &BlockDef, insns: &[Insn], link: RegSpan) -> Block {
        let mut block = Block { before: Left::Same, behind: Left::Same, next: None };
        for step in &def.steps {
            let Insn { def, decoded, .. } = &insns[step.insn as usize];
            block.before = block.behind;
            block.next = None;
            if !step.executed {
                continue;
            }
            if decoded.link.is_some() || decoded.writes.iter().any(|w| w.span.overlaps(link)) {
                block.behind = Left::Other(decoded.link);
            }
            if decoded.flow.kind == FlowKind::Jump {
                block.next = Some(def.address.wrapping_add(decoded.size.into()));
            }
        }
        block
    }
}

/// Finds them.
pub(super) struct Links {
    /// None: the instruction set has no link register.
    link: Option<RegSpan>,
    blocks: Vec<Block>,
    /// What each thread has in its link register, if that is known.
    threads: Vec<Option<u64>>,
}

impl Links {
    pub fn new(isa: Isa) -> Links {
        Links { link: isa::registers(isa).link, blocks: Vec::new(), threads: Vec::new() }
    }

    /// Nothing is known of what is next.
    pub fn forget(&mut self) {
        self.threads.clear();
    }

    /// Says of a batch, whose definitions are the pass's, which of its runs end with such a jump.
    pub fn find(&mut self, batch: &mut RunBatch, pass: &BuildPass) {
        let Some(link) = self.link else { return };
        let new = self.blocks.len()..pass.defs.len();
        self.blocks.extend(new.map(|block| Block::new(&pass.defs[block], &pass.insns, link)));
        for (run, &block) in batch.block.iter().enumerate() {
            let block = self.blocks[block as usize];
            let thread = batch.thread.get(run).map_or(0, |thread| *thread as usize);
            if thread >= self.threads.len() {
                self.threads.resize(thread + 1, None);
            }
            let held = &mut self.threads[thread];
            // The lowest bit says which instruction set it is.
            let address = block.before.of(*held).map(|address| address & !1);
            *held = block.behind.of(*held);
            if block.next.is_some() && block.next == address {
                batch.end.resize(batch.block.len(), RunEnd::default());
                batch.end[run].linked = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{BlockStep, InsnDef};
    use crate::id::FunctionId;
    use crate::isa::{Decoded, RegAccess};

    const LINK: RegSpan = RegSpan { offset: 56, size: 4 };

    fn insn(address: u64, kind: FlowKind, link: Option<u64>, writes: bool) -> Insn {
        let unknown = Decoded::unknown(4);
        let flow = isa::ControlFlow::plain(kind);
        let write = RegAccess { span: LINK, control: false };
        let writes = if writes { vec![write] } else { Vec::new() };
        let def = InsnDef { address, ..InsnDef::default() };
        let decoded = Decoded { link, flow, writes, ..unknown };
        Insn { def, decoded, function: FunctionId::FIRST, copies: false }
    }

    /// `mov lr, pc`, a jump, and what may lie between.
    #[test]
    fn what_a_block_leaves_in_the_link_register() {
        let insns = [
            insn(0x100, FlowKind::Next, Some(0x108), true),
            insn(0x104, FlowKind::Jump, None, false),
            insn(0x104, FlowKind::Next, None, true),
            insn(0x108, FlowKind::Jump, None, false),
        ];
        let block = |steps: &[(u32, bool)]| {
            let step = |&(insn, executed): &(u32, bool)| BlockStep { insn, executed, mem: 0 };
            let def = BlockDef { steps: steps.iter().map(step).collect(), mem: Vec::new() };
            let Block { before, behind, next } = Block::new(&def, &insns, LINK);
            (before.of(Some(7)), behind.of(Some(7)), next)
        };
        let there = Some(0x108);
        assert_eq!(block(&[(0, true), (1, true)]), (there, there, there));
        assert_eq!(block(&[(0, true)]), (Some(7), there, None));
        assert_eq!(block(&[(1, true)]), (Some(7), Some(7), there));
        assert_eq!(block(&[(0, false), (1, true)]), (Some(7), Some(7), there));
        assert_eq!(block(&[(0, true), (1, false)]), (there, there, None));
        assert_eq!(block(&[(0, true), (2, true), (3, true)]), (None, None, Some(0x10c)));
    }
}
