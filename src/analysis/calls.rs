//! Sets of call instances.

use crate::id::CallId;

/// A set of call instances.
#[derive(Default)]
pub struct CallSet(Vec<u64>);

impl CallSet {
    pub fn insert(&mut self, call: CallId) {
        let (word, bit) = (call.index() / 64, call.index() % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    #[inline]
    pub fn contains(&self, call: CallId) -> bool {
        let (word, bit) = (call.index() / 64, call.index() % 64);
        self.0.get(word).is_some_and(|w| w >> bit & 1 != 0)
    }
}
