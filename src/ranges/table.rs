//! Ranges that do not overlap, made of such that do.

use crate::event::NamedRange;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By first address: the last, and the name.
#[derive(Default)]
struct Table(BTreeMap<u64, (u64, Arc<str>)>);

impl Table {
    /// Names a range; what was there before keeps the rest of its own.
    fn put(&mut self, range: &NamedRange) {
        let (first, last) = (range.address, range.last());
        let before = self.0.range(..first).next_back();
        if let Some((&start, (end, name))) = before.filter(|(_, (end, _))| *end >= first) {
            let (end, name) = (*end, name.clone());
            self.0.insert(start, (first - 1, name.clone()));
            if end > last {
                self.0.insert(last + 1, (end, name));
            }
        }
        let inside: Vec<u64> = self.0.range(first..=last).map(|(start, _)| *start).collect();
        for start in inside {
            if let Some((end, name)) = self.0.remove(&start)
                && end > last
            {
                self.0.insert(last + 1, (end, name));
            }
        }
        self.0.insert(first, (last, range.name.as_ref().into()));
    }

    /// In order of addresses; neighbours of one name are one.
    fn into_ranges(self) -> Vec<NamedRange> {
        let mut ranges: Vec<NamedRange> = Vec::new();
        for (address, (last, name)) in self.0 {
            let bytes = last - address + 1;
            match ranges.last_mut() {
                // All of 64 bits would have no size.
                Some(before)
                    if *before.name == *name
                        && before.last() + 1 == address
                        && before.bytes.checked_add(bytes).is_some() =>
                {
                    before.bytes += bytes;
                }
                _ => ranges.push(NamedRange { address, bytes, name: name.as_ref().into() }),
            }
        }
        ranges
    }
}

/// Makes ranges of one file disjoint. The smaller one has the addresses that two have: chips have
/// peripherals in windows, and maps have parts of memories beside the whole. Of two of one size the
/// first has them.
pub fn disjoint(ranges: Vec<NamedRange>) -> Vec<NamedRange> {
    let mut ranges: Vec<_> = ranges.into_iter().enumerate().collect();
    ranges.sort_by_key(|(place, range)| Reverse((range.bytes, *place)));
    let mut table = Table::default();
    ranges.iter().for_each(|(_, range)| table.put(range));
    table.into_ranges()
}

/// Ranges with others over them, which have the addresses of both.
pub fn over(above: &[NamedRange], below: &[NamedRange]) -> Vec<NamedRange> {
    let mut table = Table::default();
    below.iter().chain(above).for_each(|range| table.put(range));
    table.into_ranges()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(&str, u64, u64)]) -> Vec<NamedRange> {
        let one = |&(name, address, last): &(&str, u64, u64)| NamedRange {
            address,
            bytes: last - address + 1,
            name: name.into(),
        };
        list.iter().map(one).collect()
    }

    #[test]
    fn the_smaller_range_is_cut_out_of_the_larger_one() {
        let given =
            ranges(&[("window", 0, 99), ("uart", 10, 19), ("timer", 95, 104), ("uart", 20, 29)]);
        let expected =
            ranges(&[("window", 0, 9), ("uart", 10, 29), ("window", 30, 94), ("timer", 95, 104)]);
        assert_eq!(disjoint(given), expected);
        let top = ranges(&[("a", u64::MAX - 1, u64::MAX), ("b", u64::MAX, u64::MAX)]);
        assert_eq!(
            disjoint(top),
            ranges(&[("a", u64::MAX - 1, u64::MAX - 1), ("b", u64::MAX, u64::MAX)])
        );
        // Registers that two peripherals share are the first one's.
        assert_eq!(disjoint(ranges(&[("a", 0, 9), ("b", 0, 9)])), ranges(&[("a", 0, 9)]));
    }

    #[test]
    fn each_address_has_the_name_of_the_last_that_was_put() {
        // Against a name for each address of a small space.
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let mut plain = [None; 64];
            let mut given = Vec::new();
            for name in ["a", "b", "c", "d", "a"] {
                let first = random(64);
                let last = (first + random(20)).min(63);
                plain[first as usize..=last as usize].fill(Some(name));
                given.extend(ranges(&[(name, first, last)]));
            }
            let mut made: [Option<String>; 64] = std::array::from_fn(|_| None);
            let found = over(&given, &[]);
            for range in &found {
                for at in range.address..=range.last() {
                    assert_eq!(made[at as usize], None);
                    made[at as usize] = Some(range.name.to_string());
                }
            }
            assert_eq!(
                made.map(|n| n.unwrap_or_default()),
                plain.map(|n| n.unwrap_or("").to_owned())
            );
        }
    }
}
