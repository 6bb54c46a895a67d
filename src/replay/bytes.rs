//! What is known of each byte of a space, in pages that are made when first touched.

use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A value for each byte, `T::default()` for those that nobody has set. `PAGE` bytes share an
/// allocation.
pub struct ByteMap<T, const PAGE: usize> {
    index: FxHashMap<u64, usize>,
    pages: Vec<Page<T, PAGE>>,
    /// Pages that were given up.
    free: Vec<usize>,
    /// The page that was last asked for.
    recent: Option<(u64, usize)>,
}

/// Copies of a map share pages until they change there.
enum Page<T, const PAGE: usize> {
    Own(Box<[T; PAGE]>),
    Shared(Rc<[T; PAGE]>),
}

impl<T: Copy, const PAGE: usize> Page<T, PAGE> {
    fn values(&self) -> &[T; PAGE] {
        match self {
            Page::Own(own) => own,
            Page::Shared(shared) => shared,
        }
    }

    #[inline]
    fn own(&mut self) -> &mut [T; PAGE] {
        if let Page::Shared(shared) = self {
            *self = Page::Own(Box::new(**shared));
        }
        match self {
            Page::Own(own) => own,
            Page::Shared(_) => unreachable!("it has just been made its own"),
        }
    }

    fn share(&mut self) -> Self {
        let shared = match self {
            Page::Own(own) => Rc::new(**own),
            Page::Shared(shared) => shared.clone(),
        };
        *self = Page::Shared(shared.clone());
        Page::Shared(shared)
    }
}

impl<T, const PAGE: usize> Default for ByteMap<T, PAGE> {
    fn default() -> Self {
        ByteMap { index: FxHashMap::default(), pages: Vec::new(), free: Vec::new(), recent: None }
    }
}

impl<T: Copy + Default, const PAGE: usize> ByteMap<T, PAGE> {
    /// As it is now.
    pub fn copy(&mut self) -> Self {
        let pages = self.pages.iter_mut().map(Page::share).collect();
        ByteMap { index: self.index.clone(), pages, free: self.free.clone(), recent: None }
    }

    /// Number of the page of an address, and where in it.
    fn split(address: u64) -> (u64, usize) {
        let page = PAGE as u64;
        // Below PAGE, so it fits.
        (address / page, (address % page) as usize)
    }

    fn page(&mut self, number: u64) -> &mut [T; PAGE] {
        let at = match self.recent {
            Some((recent, at)) if recent == number => at,
            _ => {
                let (pages, free) = (&mut self.pages, &mut self.free);
                let at = *self.index.entry(number).or_insert_with(|| {
                    free.pop().unwrap_or_else(|| {
                        pages.push(Page::Own(Box::new([T::default(); PAGE])));
                        pages.len() - 1
                    })
                });
                self.recent = Some((number, at));
                at
            }
        };
        self.pages[at].own()
    }

    /// Tells `take` of adjacent bytes by page, in order, and where each part begins; they may go round
    /// the end of memory.
    #[inline]
    pub fn parts(&mut self, address: u64, bytes: u64, mut take: impl FnMut(u64, &mut [T])) {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            let (number, at) = Self::split(address);
            let part = left.min((PAGE - at) as u64);
            take(address, &mut self.page(number)[at..at + part as usize]);
            address = address.wrapping_add(part);
            left -= part;
        }
    }

    /// The same, those of untouched pages left out.
    #[inline]
    pub fn touched_parts(&mut self, address: u64, bytes: u64, mut take: impl FnMut(u64, &mut [T])) {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            let (number, at) = Self::split(address);
            let part = left.min((PAGE - at) as u64);
            if !matches!(self.recent, Some((recent, _)) if recent == number) {
                self.recent = self.index.get(&number).map(|&page| (number, page)).or(self.recent);
            }
            if let Some((_, page)) = self.recent.filter(|(recent, _)| *recent == number) {
                take(address, &mut self.pages[page].own()[at..at + part as usize]);
            }
            address = address.wrapping_add(part);
            left -= part;
        }
    }

    /// Visits the values of adjacent bytes in order, which may go round the end of memory.
    pub fn visit(&mut self, address: u64, bytes: u64, mut take: impl FnMut(&mut T)) {
        self.parts(address, bytes, |_, part| part.iter_mut().for_each(&mut take));
    }

    /// The value of one byte.
    pub fn value(&mut self, address: u64) -> &mut T {
        let (number, at) = Self::split(address);
        &mut self.page(number)[at]
    }

    /// Sets the values of adjacent bytes.
    pub fn set(&mut self, address: u64, bytes: u64, value: T) {
        self.visit(address, bytes, |v| *v = value);
    }

    /// Takes the values from `address` to `last` away, those of untouched pages left out: `take` is
    /// told address and value, in order.
    pub fn take(&mut self, address: u64, last: u64, mut take: impl FnMut(u64, T)) {
        self.change(address, last, |at, value| take(at, std::mem::take(value)));
        let whole = |n: &u64| {
            let base = n * PAGE as u64;
            base >= address && base + (PAGE as u64 - 1) <= last
        };
        for number in self.touched(address, last).into_iter().filter(whole) {
            self.free.extend(self.index.remove(&number));
        }
        self.recent = None;
    }

    /// Tells `take` of the values from `address` to `last`, those of untouched pages left out, by
    /// address and in order.
    pub fn change(&mut self, address: u64, last: u64, mut take: impl FnMut(u64, &mut T)) {
        let ((low, from), (high, to)) = (Self::split(address), Self::split(last));
        for number in self.touched(address, last) {
            let first = if number == low { from } else { 0 };
            let end = if number == high { to + 1 } else { PAGE };
            let base = number * PAGE as u64;
            let values = self.page(number)[first..end].iter_mut();
            values.zip(base + first as u64..).for_each(|(value, at)| take(at, value));
        }
    }

    /// Numbers of the pages from `address` to `last` that were touched, in order.
    fn touched(&self, address: u64, last: u64) -> Vec<u64> {
        let (low, high) = (Self::split(address).0, Self::split(last).0);
        // The range may be much larger than what was touched of it.
        if high - low < self.index.len() as u64 {
            return (low..=high).filter(|n| self.index.contains_key(n)).collect();
        }
        let numbers = self.index.keys().copied();
        let mut list: Vec<u64> = numbers.filter(|n| (low..=high).contains(n)).collect();
        list.sort_unstable();
        list
    }

    /// The value of one byte as it is.
    pub fn get(&self, address: u64) -> T {
        let (number, at) = Self::split(address);
        self.index.get(&number).map_or_else(T::default, |&page| self.pages[page].values()[at])
    }

    /// All touched pages with their first addresses, in no order.
    pub fn pages(&self) -> impl Iterator<Item = (u64, &[T; PAGE])> {
        self.index.iter().map(|(&number, &at)| (number * PAGE as u64, self.pages[at].values()))
    }
}

#[cfg(test)]
mod tests {
    use super::ByteMap;

    /// A copy has what was there, whatever is set since, in the map or in the copy.
    #[test]
    fn a_copy_is_as_it_was() {
        let mut map: ByteMap<u8, 16> = ByteMap::default();
        map.set(10, 20, 1);
        let mut copy = map.copy();
        let again = map.copy();
        map.set(12, 1, 2);
        copy.set(20, 1, 3);
        copy.set(100, 1, 4);
        let found = |of: &ByteMap<u8, 16>| [10, 12, 20, 29, 30, 100].map(|at| of.get(at));
        assert_eq!(found(&map), [1, 2, 1, 1, 0, 0]);
        assert_eq!(found(&copy), [1, 1, 3, 1, 0, 4]);
        assert_eq!(found(&again), [1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn values_of_bytes() {
        let mut map: ByteMap<u8, 16> = ByteMap::default();
        map.set(14, 4, 7);
        map.set(u64::MAX, 2, 9);
        let get = |map: &mut ByteMap<u8, 16>, address, bytes| {
            let mut found = Vec::new();
            map.visit(address, bytes, |v| found.push(*v));
            found
        };
        assert_eq!(get(&mut map, 12, 8), [0, 0, 7, 7, 7, 7, 0, 0]);
        assert_eq!(get(&mut map, u64::MAX, 2), [9, 9]);
        assert_eq!([14, 17, 18, 1 << 40].map(|at| map.get(at)), [7, 7, 0, 0]);
        assert_eq!(map.pages().count(), 3);
        *map.value(17) += 1;
        assert_eq!((map.get(17), std::mem::replace(map.value(17), 7)), (8, 8));
        let mut seen = Vec::new();
        map.touched_parts(u64::MAX, 2, |address, part| seen.push((address, part.to_vec())));
        map.touched_parts(30, 4, |address, part| seen.push((address, part.to_vec())));
        map.touched_parts(1 << 40, 4, |_, _| unreachable!("nobody touched it"));
        assert_eq!(seen, [(u64::MAX, vec![9]), (0, vec![9]), (30, vec![0, 0])]);
        let mut taken = Vec::new();
        map.take(15, 16, |address, value| taken.push((address, value)));
        assert_eq!(taken, [(15, 7), (16, 7)]);
        taken.clear();
        // A range that is mostly untouched; a whole page is given up and is as new when used again.
        map.take(16, u64::MAX - 16, |address, value| taken.push((address, value)));
        assert_eq!(taken.iter().filter(|t| t.1 != 0).collect::<Vec<_>>(), [&(17, 7)]);
        assert_eq!(map.pages().count(), 2);
        assert_eq!(get(&mut map, 1 << 40, 1), [0]);
    }
}
