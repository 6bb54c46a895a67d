//! Sets of call instances.

use crate::id::CallId;

/// Call instances of a page.
const PAGE: usize = 1 << 15;

/// The instances of a page that are in the set.
#[derive(Default)]
struct Page {
    /// None: no instance, or all of them.
    words: Option<Box<[u64; PAGE / 64]>>,
    count: usize,
}

/// A set of call instances, most of which are in it in the end: a page of which all are takes no
/// room, so a set of those that have ended is as large as those that have not are many.
#[derive(Default)]
pub struct CallSet(Vec<Page>);

impl CallSet {
    /// The first so many instances but some of them.
    pub fn but(count: usize, some: impl Iterator<Item = CallId>) -> CallSet {
        let page = |at: usize| {
            let n = (count - at * PAGE).min(PAGE);
            let mut page = Page { words: None, count: n };
            if n < PAGE {
                let words = page.words.insert(Box::new([0; PAGE / 64]));
                (0..n).for_each(|i| words[i / 64] |= 1 << (i % 64));
            }
            page
        };
        let mut set = CallSet((0..count.div_ceil(PAGE)).map(page).collect());
        for call in some {
            let Some(page) = set.0.get_mut(call.index() / PAGE) else { continue };
            let at = call.index() % PAGE;
            let words = page.words.get_or_insert_with(|| Box::new([u64::MAX; PAGE / 64]));
            page.count -= (words[at / 64] >> (at % 64) & 1) as usize;
            words[at / 64] &= !(1 << (at % 64));
        }
        set
    }

    /// Adds an instance that is not in it.
    pub fn insert(&mut self, call: CallId) {
        let (page, at) = (call.index() / PAGE, call.index() % PAGE);
        if self.0.len() <= page {
            self.0.resize_with(page + 1, Page::default);
        }
        let page = &mut self.0[page];
        let words = page.words.get_or_insert_with(|| Box::new([0; PAGE / 64]));
        words[at / 64] |= 1 << (at % 64);
        page.count += 1;
        if page.count == PAGE {
            page.words = None;
        }
    }

    #[inline]
    pub fn contains(&self, call: CallId) -> bool {
        let (page, at) = (call.index() / PAGE, call.index() % PAGE);
        self.0.get(page).is_some_and(|page| match &page.words {
            Some(words) => words[at / 64] >> (at % 64) & 1 != 0,
            None => page.count == PAGE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_all_but_some() {
        let out = [0, 5, PAGE + 1, 2 * PAGE - 1, 2 * PAGE + 3];
        let set = CallSet::but(2 * PAGE + 10, out.iter().map(|&i| CallId::at(i)));
        let is_in = |i: usize| i < 2 * PAGE + 10 && !out.contains(&i);
        assert!((0..3 * PAGE).all(|i| set.contains(CallId::at(i)) == is_in(i)));
    }

    /// Two are left out, also in the same place of two words, and come one by one: a page of all takes no room.
    #[test]
    fn what_is_left_out_comes_one_by_one() {
        let places = [0, 1, 63, 64, 65, 128, 130, PAGE - 1];
        for (one, other) in places.iter().flat_map(|one| places.map(|other| (*one, other))) {
            let [a, b] = [one, other].map(CallId::at);
            let mut set = CallSet::but(PAGE, [a, b].into_iter());
            set.insert(a);
            assert_eq!((set.contains(a), set.contains(b)), (true, one == other));
            if one != other {
                set.insert(b);
            }
            assert!(set.contains(b) && set.0[0].words.is_none(), "{one} {other}");
        }
        let mut set = CallSet::but(PAGE - 1, std::iter::once(CallId::at(PAGE - 1)));
        set.insert(CallId::at(PAGE - 1));
        assert!(set.0[0].words.is_none());
    }

    /// Whatever is in it, and in which order it came: pages without any, with some, with all.
    #[test]
    fn has_what_was_put_in() {
        let mut set = CallSet::default();
        let all = 3 * PAGE;
        let is_in = |i: usize| i >= 2 * PAGE || (i >= PAGE && !i.is_multiple_of(7));
        (0..all).rev().filter(|&i| is_in(i)).for_each(|i| set.insert(CallId::at(i)));
        assert!((0..all).all(|i| set.contains(CallId::at(i)) == is_in(i)));
        assert!(!set.contains(CallId::at(all)));
        assert_eq!(set.0.iter().filter(|page| page.words.is_some()).count(), 1);
    }

    /// However many there are: none, a part of a page, whole pages.
    #[test]
    fn has_the_first_so_many() {
        for count in [0, 1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE] {
            for out in [None, Some(0), Some(64), Some(PAGE - 1), Some(PAGE)] {
                let mut set = CallSet::but(count, out.into_iter().map(CallId::at));
                let is_in = |i: usize| i < count && out != Some(i);
                let near = || (0..3 * PAGE).filter(|i| (i + 70) % PAGE < 140 || i % 97 == 0);
                assert!(near().all(|i| set.contains(CallId::at(i)) == is_in(i)));
                // What was left out may come later.
                if let Some(out) = out.filter(|out| *out < count) {
                    set.insert(CallId::at(out));
                    assert!(near().all(|i| set.contains(CallId::at(i)) == (i < count)));
                }
            }
        }
    }
}
