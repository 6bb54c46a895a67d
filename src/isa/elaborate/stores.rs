//! What a log's last stores have left in memory.

/// Stores that are remembered: what a call is given in memory was mostly written right before it.
pub const STORES: usize = 64;

/// The last stores of a thread whose values are known.
#[derive(Default)]
pub struct Stores {
    ring: Vec<(u64, u32, u64)>,
    next: usize,
}

impl Stores {
    #[inline]
    pub fn add(&mut self, address: u64, size: u32, value: u64) {
        let store = (address, size, value);
        if self.ring.len() < STORES {
            self.ring.push(store);
        } else {
            self.ring[self.next] = store;
        }
        self.next = (self.next + 1) % STORES;
    }

    /// Whether the store before the last one has the other word of eight aligned bytes.
    pub fn are_both_words(&self, address: u64) -> bool {
        let before =
            (self.next + self.ring.len()).checked_sub(2).map(|i| i % self.ring.len().max(1));
        before
            .and_then(|i| self.ring.get(i))
            .is_some_and(|&(at, size, _)| size == 4 && at == address ^ 4)
    }

    /// The bytes at an address as a number.
    pub fn load(&self, address: u64, bytes: u64) -> Option<u64> {
        (0..bytes).try_fold(0, |sum, i| {
            let byte = self.byte(address.wrapping_add(i))?;
            Some(sum | u64::from(byte) << (8 * i))
        })
    }

    fn byte(&self, address: u64) -> Option<u8> {
        let (old, new) = self.ring.split_at(self.next.min(self.ring.len()));
        let latest = new.iter().chain(old).rev();
        let mut holds =
            latest.filter(|(at, size, _)| address.wrapping_sub(*at) < (*size).min(8).into());
        let (at, _, value) = holds.next()?;
        Some((value >> (8 * (address - at))) as u8)
    }
}
