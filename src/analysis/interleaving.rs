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
    pub resumed: u64,
    /// Step that was the first to do so.
    pub first: Option<Seq>,
}

impl Interleaving {
    /// Control went from a step that is followed by one of these back to what was interrupted.
    pub fn leave(&mut self, successors: &[u64]) {
        if self.left.len() < MOST {
            self.left.extend(successors);
        }
    }

    /// Control was taken to this address.
    pub fn arrive(&mut self, address: u64, seq: Option<Seq>) {
        if self.left.contains(&address) {
            self.resumed += 1;
            self.first = self.first.or(seq);
        }
    }
}
