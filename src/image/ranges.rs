//! From ranges that overlap to ranges that do not.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A half-open range of addresses and to what it belongs.
pub(super) type Range = (u64, u64, u32);

/// Cuts ranges so that every address belongs to the smallest range that holds it (of equal ones the
/// one that starts last, then the lowest owner). Sorted; touching ranges of one owner are one;
/// empty ones vanish.
pub(super) fn flatten(ranges: &[Range]) -> Vec<Range> {
    let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(ranges.len() * 2);
    for (index, &(start, end, _)) in ranges.iter().enumerate() {
        if start < end {
            events.push((start, true, index));
            events.push((end, false, index));
        }
    }
    events.sort_unstable();
    let mut active = BTreeSet::new();
    let mut flat: Vec<Range> = Vec::with_capacity(ranges.len());
    let mut from = 0;
    for (address, begins, index) in events {
        if let Some(&(_, _, owner, _)) = active.first()
            && from < address
        {
            match flat.last_mut() {
                Some(last) if last.1 == from && last.2 == owner => last.1 = address,
                _ => flat.push((from, address, owner)),
            }
        }
        from = address;
        let (start, end, owner) = ranges[index];
        let key = (end - start, Reverse(start), owner, index);
        if begins {
            active.insert(key);
        } else {
            active.remove(&key);
        }
    }
    flat
}

/// The range of sorted, disjoint `ranges` that holds the address.
pub(super) fn find(ranges: &[Range], address: u64) -> Option<&Range> {
    let after = ranges.partition_point(|r| r.0 <= address);
    ranges[..after].last().filter(|r| address < r.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Address by address, against the definition.
        #[test]
        fn smallest_range_wins(ranges in prop::collection::vec((0u64..40, 0u64..40), 0..12)) {
            let ranges: Vec<Range> = ranges.iter().enumerate().map(|(i, &(a, b))| (a, b, i as u32)).collect();
            let flat = flatten(&ranges);
            for address in 0..45 {
                let smallest = ranges
                    .iter()
                    .filter(|r| r.0 <= address && address < r.1)
                    .min_by_key(|r| (r.1 - r.0, Reverse(r.0), r.2))
                    .map(|r| r.2);
                prop_assert_eq!(find(&flat, address).map(|r| r.2), smallest);
            }
            prop_assert!(flat.windows(2).all(|w| w[0].1 <= w[1].0 && (w[0].1 < w[1].0 || w[0].2 != w[1].2)));
        }
    }
}
