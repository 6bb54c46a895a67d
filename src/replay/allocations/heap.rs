//! Live allocations of a process by address.

use super::found::Allocation;
use crate::replay::usage::Usage;
use std::collections::BTreeMap;

/// Adjacent addresses in one allocation, or between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) slot: Option<usize>,
}

#[derive(Default)]
pub(super) struct Live {
    pub(super) allocation: Allocation,
    /// First step of the reallocation under way.
    pub(super) moving: Option<i64>,
}

#[derive(Default)]
pub(super) struct Heap {
    /// Slots of allocations by their first addresses.
    starts: BTreeMap<u64, usize>,
    live: Vec<Live>,
    spare: Vec<usize>,
    /// Of bytes of live allocations.
    pub(super) usage: Usage,
    /// Where accesses were last: in an allocation, between allocations.
    recent: [Option<Span>; 2],
}

/// Last address of bytes that begin at one; of none the first.
fn last_of(address: u64, bytes: u64) -> u64 {
    address.saturating_add(bytes.saturating_sub(1))
}

impl Heap {
    pub(super) fn find(&mut self, address: u64) -> Span {
        let holds = |s: &&Span| s.first <= address && address <= s.last;
        if let Some(span) = self.recent.iter().flatten().find(holds) {
            return *span;
        }
        let below = self.starts.range(..=address).next_back().map(|(&start, &slot)| {
            let bytes = self.live[slot].allocation.bytes;
            Span { first: start, last: last_of(start, bytes), slot: (bytes > 0).then_some(slot) }
        });
        let span = match below {
            Some(span) if span.slot.is_some() && address <= span.last => span,
            _ => {
                // What has no bytes begins no gap, but it may end in one.
                let first =
                    below.map_or(0, |b| if b.slot.is_some() { b.last + 1 } else { b.first });
                let next = address.checked_add(1).and_then(|a| self.starts.range(a..).next());
                Span { first, last: next.map_or(u64::MAX, |(&n, _)| n - 1), slot: None }
            }
        };
        self.recent[usize::from(span.slot.is_none())] = Some(span);
        span
    }

    /// The slot of the allocation that begins at an address.
    pub(super) fn at(&self, address: u64) -> Option<usize> {
        self.starts.get(&address).copied()
    }

    pub(super) fn live(&mut self, slot: usize) -> &mut Live {
        &mut self.live[slot]
    }

    /// An allocation and what has become of the bytes of all.
    pub(super) fn used(&mut self, slot: usize) -> (&mut Allocation, &mut Usage) {
        (&mut self.live[slot].allocation, &mut self.usage)
    }

    /// All live allocations, by address.
    pub(super) fn slots(&self) -> Vec<usize> {
        self.starts.values().copied().collect()
    }

    /// Slots of allocations that share bytes, or the beginning, with these.
    pub(super) fn overlapping(&self, address: u64, bytes: u64) -> Vec<usize> {
        let last = last_of(address, bytes);
        let mut found: Vec<usize> =
            self.starts.range(address..=last).map(|(_, &slot)| slot).collect();
        if let Some((&start, &slot)) = self.starts.range(..address).next_back() {
            let bytes = self.live[slot].allocation.bytes;
            if bytes > 0 && last_of(start, bytes) >= address {
                found.push(slot);
            }
        }
        found
    }

    pub(super) fn insert(&mut self, allocation: Allocation) -> usize {
        let address = allocation.address;
        let live = Live { allocation, moving: None };
        let slot = match self.spare.pop() {
            Some(slot) => {
                self.live[slot] = live;
                slot
            }
            None => {
                self.live.push(live);
                self.live.len() - 1
            }
        };
        self.starts.insert(address, slot);
        self.recent = [None; 2];
        slot
    }

    pub(super) fn remove(&mut self, slot: usize) -> Allocation {
        let allocation = std::mem::take(&mut self.live[slot]).allocation;
        self.starts.remove(&allocation.address);
        self.spare.push(slot);
        self.recent = [None; 2];
        allocation
    }

    /// Forgets the bytes of an allocation; gives those left unread, as offsets and lengths in
    /// order.
    pub(super) fn take_unread(&mut self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        if bytes == 0 {
            return Vec::new();
        }
        self.usage.forget(address, last_of(address, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::usage::{Traffic, Use};

    #[test]
    fn live_allocations_by_address() {
        let mut heap = Heap::default();
        let give = |heap: &mut Heap, address, bytes| {
            heap.insert(Allocation { address, bytes, ..Allocation::default() })
        };
        let (a, b) = (give(&mut heap, 100, 10), give(&mut heap, 120, 0));
        let at = |heap: &mut Heap, address| {
            let span = heap.find(address);
            (span.first, span.last, span.slot)
        };
        for _ in 0..2 {
            assert_eq!(at(&mut heap, 99), (0, 99, None));
            assert_eq!(at(&mut heap, 109), (100, 109, Some(a)));
            assert_eq!(at(&mut heap, 110), (110, 119, None));
            assert_eq!(at(&mut heap, 121), (120, u64::MAX, None));
        }
        let end = give(&mut heap, u64::MAX - 1, 2);
        assert_eq!(at(&mut heap, u64::MAX), (u64::MAX - 1, u64::MAX, Some(end)));
        assert_eq!(heap.overlapping(105, 100), [b, a]);
        assert!(heap.overlapping(110, 10).is_empty());
        assert_eq!(heap.overlapping(120, 0), [b]);
        // Huge and hardly touched.
        let huge = give(&mut heap, 1 << 20, 1 << 60);
        let mut touch = |offset: u64, bytes, how| {
            let mut traffic = Traffic::default();
            heap.usage.access(how, (1 << 20) + offset, bytes, &mut traffic);
            (traffic.unique_read_bytes, traffic.dead_bytes)
        };
        assert_eq!(touch(4090, 10, Use::Write), (0, 0));
        assert_eq!(touch(4092, 2, Use::Read), (2, 0));
        assert_eq!(touch(4090, 1, Use::Write), (0, 1));
        let found = heap.remove(huge);
        assert_eq!(heap.take_unread(found.address, found.bytes), [(4090, 2), (4094, 6)]);
        assert_eq!(at(&mut heap, 1 << 20), (120, u64::MAX - 2, None));
    }
}
