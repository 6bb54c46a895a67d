//! Pages that have been filled at once and touched by nobody since: a range costs the same whatever
//! its length.

use super::shadow::Cell;
use std::collections::BTreeMap;

/// Adjacent pages whose bytes have one writer.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The number of its last page.
    pub last: u64,
    pub cell: Cell,
    /// The region that they belong to; None: sections have bytes of them.
    pub region: Option<u32>,
}

/// Stretches by the numbers of their first pages, disjoint.
#[derive(Default)]
pub struct Filled {
    stretches: BTreeMap<u64, Stretch>,
}

impl Filled {
    /// The stretch that has a page, with its first page.
    #[inline]
    pub fn at(&self, page: u64) -> Option<(u64, Stretch)> {
        let (&first, &stretch) = self.stretches.range(..=page).next_back()?;
        (page <= stretch.last).then_some((first, stretch))
    }

    /// Adds a stretch, of which no page is in another one.
    pub fn add(&mut self, first: u64, stretch: Stretch) {
        self.stretches.insert(first, stretch);
    }

    /// Takes pages out; gives what they were.
    pub fn take(&mut self, first: u64, last: u64) -> Vec<(u64, Stretch)> {
        let before = self.stretches.range(..first).next_back();
        let from = before.filter(|(_, s)| s.last >= first).map_or(first, |(&at, _)| at);
        let met: Vec<u64> = self.stretches.range(from..=last).map(|(&at, _)| at).collect();
        let mut taken = Vec::new();
        for at in met {
            let Some(stretch) = self.stretches.remove(&at) else { continue };
            if at < first {
                self.stretches.insert(at, Stretch { last: first - 1, ..stretch });
            }
            if stretch.last > last {
                self.stretches.insert(last + 1, stretch);
            }
            taken.push((at.max(first), Stretch { last: stretch.last.min(last), ..stretch }));
        }
        taken
    }

    /// The stretches that have pages in a range, cut to it.
    pub fn within(&self, first: u64, last: u64) -> Vec<(u64, Stretch)> {
        let before = self.stretches.range(..first).next_back();
        let from = before.filter(|(_, s)| s.last >= first).map_or(first, |(&at, _)| at);
        let met = self.stretches.range(from..=last);
        met.map(|(&at, s)| (at.max(first), Stretch { last: s.last.min(last), ..*s })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_the_middle_is_taken_out() {
        let mut filled = Filled::default();
        filled.add(10, Stretch { last: 20, cell: Cell::EMPTY, region: Some(3) });
        let taken = filled.take(15, 15);
        assert_eq!(taken.iter().map(|(at, s)| (*at, s.last)).collect::<Vec<_>>(), [(15, 15)]);
        let left: Vec<_> = filled.within(0, 100).iter().map(|(at, s)| (*at, s.last)).collect();
        assert_eq!(left, [(10, 14), (16, 20)]);
        assert!(filled.at(15).is_none() && filled.at(16).is_some_and(|(first, _)| first == 16));
        assert!(filled.take(0, u64::MAX).len() == 2 && filled.at(12).is_none());
    }

    /// Whatever is added and taken out: pages are those of a list of them.
    #[test]
    fn stretches_are_as_all_their_pages() {
        const PAGES: u64 = 40;
        let mut below = crate::analysis::random::below(1);
        let (mut filled, mut model) = (Filled::default(), [0u64; PAGES as usize]);
        let pages = |list: &[(u64, Stretch)]| -> Vec<(u64, u64)> {
            let each =
                |&(at, s): &(u64, Stretch)| (at..=s.last).map(move |page| (page, s.cell.write));
            list.iter().flat_map(each).collect()
        };
        for write in 1..3000 {
            let first = below(PAGES);
            let last = (first + below(8)).min(PAGES - 1);
            let known: Vec<(u64, u64)> = (first..=last)
                .map(|page| (page, model[page as usize]))
                .filter(|(_, write)| *write != 0)
                .collect();
            assert_eq!(pages(&filled.within(first, last)), known);
            assert_eq!(pages(&filled.take(first, last)), known);
            assert!(filled.within(first, last).is_empty());
            let add = below(3) > 0;
            if add {
                let cell = Cell { write, ..Cell::EMPTY };
                filled.add(first, Stretch { last, cell, region: None });
            }
            let new = if add { write } else { 0 };
            model[first as usize..=last as usize].fill(new);
            for page in 0..PAGES {
                let found = filled.at(page);
                assert!(found.is_none_or(|(first, s)| first <= page && page <= s.last));
                assert_eq!(found.map_or(0, |(_, s)| s.cell.write), model[page as usize]);
            }
        }
    }
}
