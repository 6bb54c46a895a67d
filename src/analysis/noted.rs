//! Runs whose sums somebody else has: how often each block ran, and which memory it touched.

use super::access::{self, AccessPlace, Insn};
use super::memory::{Memory, PageIndex};
use crate::event::BlockDef;

/// An access of a block.
struct Touch {
    size: u32,
    stack_relative: bool,
    reads: bool,
    /// Where it was last.
    page: PageIndex,
}

/// What was noted of a block.
#[derive(Default)]
pub(super) struct Noted {
    pub runs: u64,
    /// Its accesses to memory, once it has run.
    touches: Vec<Touch>,
}

impl Noted {
    /// It runs for the first time.
    #[cold]
    fn begin(&mut self, def: &BlockDef, insns: &[Insn]) {
        let decoded = |insn: u32| &insns[insn as usize].decoded;
        access::accesses(def, decoded, |access| {
            if let AccessPlace::Memory(_) = access.place {
                let (size, stack_relative) = (access.size, access.stack_relative);
                let reads = !access.is_write;
                self.touches.push(Touch { size, stack_relative, reads, page: 0 });
            }
        });
    }

    /// A run of the block, at these addresses.
    #[inline]
    pub fn run(&mut self, memory: &mut Memory, addresses: &[u64], code: (&BlockDef, &[Insn])) {
        if self.runs == 0 {
            self.begin(code.0, code.1);
        }
        self.runs += 1;
        for (touch, &address) in self.touches.iter_mut().zip(addresses) {
            let Touch { size, stack_relative, reads, page } = touch;
            if memory.look(page, (address, *size), *stack_relative).is_some() {
                continue;
            }
            memory.mark(page, (address, *size), *stack_relative);
            // A read has its parts of each place.
            if *reads {
                memory.pieces(address, (*size).into(), |_, _| ());
            }
        }
    }
}
