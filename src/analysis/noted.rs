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
    /// Where it has nothing to note: an address, and how many follow it.
    from: u64,
    more: u64,
}

/// A place that no access has.
const NOWHERE: (u64, u64) = (u64::MAX, 0);

/// What was noted of a block.
#[derive(Default)]
pub(super) struct Noted {
    pub runs: u64,
    /// Of each run.
    pub steps: u32,
    pub addresses: u32,
    /// Its accesses to memory.
    touches: Vec<Touch>,
    /// As of how many events, and which epoch of the regions, they have nothing to note there.
    as_of: (u32, u32),
}

impl Noted {
    pub fn new(def: &BlockDef, insns: &[Insn]) -> Noted {
        let decoded = |insn: u32| &insns[insn as usize].decoded;
        let mut touches = Vec::new();
        access::accesses(def, decoded, |access| {
            if let AccessPlace::Memory(_) = access.place {
                let (size, stack_relative) = (access.size, access.stack_relative);
                let (reads, (from, more)) = (!access.is_write, NOWHERE);
                touches.push(Touch { size, stack_relative, reads, page: 0, from, more });
            }
        });
        let (steps, addresses) = (def.steps.len() as u32, def.mem.len() as u32);
        Noted { steps, addresses, touches, ..Noted::default() }
    }

    /// A run of the block, at these addresses, after so many events.
    #[inline]
    pub fn run(&mut self, memory: &mut Memory, addresses: &[u64], events: u32) {
        self.runs += 1;
        let now = (events, memory.epoch());
        if self.as_of != now {
            self.forget(now);
        }
        for (i, &address) in addresses.iter().enumerate() {
            let Some(touch) = self.touches.get_mut(i) else { return };
            if address.wrapping_sub(touch.from) > touch.more {
                touch.note(memory, address);
                let now = (events, memory.epoch());
                if self.as_of != now {
                    self.forget(now);
                }
            }
        }
    }

    /// Places may be others.
    #[cold]
    fn forget(&mut self, now: (u32, u32)) {
        self.as_of = now;
        self.touches.iter_mut().for_each(|touch| (touch.from, touch.more) = NOWHERE);
    }
}

impl Touch {
    #[inline(never)]
    fn note(&mut self, memory: &mut Memory, address: u64) {
        let Touch { size, stack_relative, reads, page, .. } = self;
        if memory.look(page, (address, *size), *stack_relative).is_none() {
            memory.mark(page, (address, *size), *stack_relative);
            // A read has its parts of each place.
            if *reads {
                memory.pieces(address, (*size).into(), |_, _| ());
            }
        }
        (self.from, self.more) = memory.plain(*page, *size, *stack_relative).unwrap_or(NOWHERE);
    }
}
