//! Whether the steps of a log that knows no threads are those of several.
//!
//! Control that is taken away from code (a signal, an interrupt) comes back to it when what it was
//! taken for has ended, and what has ended is never gone on with. Threads that take turns do go on
//! with it: each where it was left.

use crate::id::Seq;
use rustc_hash::FxHashSet;

/// Places that are remembered at most.
const MOST: usize = 1 << 16;

/// Times that code which had ended was gone on with.
#[derive(Debug, Default)]
pub struct Interleaving {
    /// Successors of the steps at which control went back to what had been interrupted.
    left: FxHashSet<u64>,
    /// Addresses behind system calls: a signal's handler begins at none of them, but a new thread
    /// does, and one that had waited goes on there.
    behind_calls: FxHashSet<u64>,
    pub resumed: u64,
    /// Times that control was taken to behind a system call.
    pub woken: u64,
    /// Step that was the first to do either.
    pub first: Option<Seq>,
}

impl Interleaving {
    /// Control went from a step that is followed by one of these back to what was interrupted.
    pub fn leave(&mut self, successors: &[u64]) {
        if self.left.len() < MOST {
            self.left.extend(successors);
        }
    }

    /// An instruction that is a system call, by the address behind it.
    pub fn system_call(&mut self, behind: u64) {
        self.behind_calls.insert(behind);
    }

    /// Control was taken to this address.
    pub fn arrive(&mut self, address: u64, seq: Option<Seq>) {
        let (resumed, woken) = (self.left.contains(&address), self.behind_calls.contains(&address));
        self.resumed += u64::from(resumed);
        self.woken += u64::from(woken);
        if resumed || woken {
            self.first = self.first.or(seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each place that control is taken to tells, and which step is the first to tell anything.
    #[test]
    fn ended_code_that_goes_on_and_waiters_that_wake_are_counted() {
        let seq = Seq::new;
        let mut found = Interleaving::default();
        found.arrive(0x10, seq(1));
        assert_eq!((found.resumed, found.woken, found.first), (0, 0, None));
        found.leave(&[0x10, 0x14]);
        found.system_call(0x20);
        found.arrive(0x20, seq(2));
        assert_eq!((found.resumed, found.woken, found.first), (0, 1, seq(2)));
        found.arrive(0x14, seq(3));
        found.arrive(0x18, seq(4));
        assert_eq!((found.resumed, found.woken, found.first), (1, 1, seq(2)));
        let mut found = Interleaving::default();
        found.leave(&[0x10]);
        found.arrive(0x10, seq(7));
        assert_eq!((found.resumed, found.woken, found.first), (1, 0, seq(7)));
    }
}
