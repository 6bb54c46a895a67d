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
}
