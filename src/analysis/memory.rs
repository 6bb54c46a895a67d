//! Shadow memory of a process: pages of cells, made when first touched, and where each lies.

use super::filled::{Filled, Stretch};
use super::place::{Place, PlaceCode, Regions, SectionRange};
use super::prefetch::prefetch;
use super::shadow::{Cell, Pools, WORD};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Bytes of a page; also the page of DESIGN's stack rule.
pub const PAGE: u64 = 4096;
const WORDS: usize = (PAGE / WORD) as usize;
/// Places of the cache of pages.
const CACHED: usize = 4096;
/// How many accesses before they come cells are asked for.
const AHEAD: usize = 32;
/// Bytes from which on a range is not gone through page by page.
const LONG: u64 = 16 * PAGE;

/// What a page of memory is to `via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageKind {
    /// Wholly outside of image sections: region number.
    Region(u32),
    /// Touches image sections. `whole` is the section that covers all of it; `region` is given when
    /// a byte outside of sections is first touched.
    Image { whole: Option<u32>, region: Option<u32> },
}

impl PageKind {
    fn region(self) -> Option<u32> {
        match self {
            PageKind::Region(r) => Some(r),
            PageKind::Image { region, .. } => region,
        }
    }
}

/// Where bytes of a page lie, found once for many accesses.
#[derive(Clone, Copy)]
struct Known {
    /// Offsets in the page.
    from: u32,
    /// Exclusive.
    to: u32,
    place: PlaceCode,
    /// Of the regions.
    epoch: u32,
}

impl Known {
    const NOTHING: Known = Known { from: 0, to: 0, place: PlaceCode::REGISTER, epoch: 0 };

    #[inline(always)]
    fn has(&self, epoch: u32, offset: u32, size: u32) -> bool {
        // In 64 bits: what a damaged trace says of sizes may be anything.
        let end = u64::from(offset) + u64::from(size.max(1));
        self.epoch == epoch && offset >= self.from && end <= u64::from(self.to)
    }
}

struct Page {
    number: u64,
    cells: Box<[Cell; WORDS]>,
    known: Known,
    kind: PageKind,
    /// An access to it was stack relative, and its region knows.
    stack: bool,
}

impl Page {
    fn set_kind(&mut self, kind: PageKind) {
        self.kind = kind;
        self.known = Known::NOTHING;
    }
}

/// Index of a page that has been touched.
pub type PageIndex = u32;

/// A maximal range of touched pages outside of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub first: u64,
    /// Inclusive.
    pub last: u64,
    pub is_stack: bool,
}

/// Bytes of memory that lie in one page and place.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub page: PageIndex,
    pub address: u64,
    pub len: u64,
}

impl Piece {
    /// Its offset in the page.
    #[inline]
    pub fn start(&self) -> u64 {
        self.address % PAGE
    }

    /// Address of the page.
    #[inline]
    pub fn base(&self) -> u64 {
        self.address - self.start()
    }
}

/// Words of a page, a bit each.
pub type PageWords = [u64; WORDS / 64];

/// Adjacent bytes with one writer: address, length and cell.
pub type Version = (u64, u64, Cell);

/// Where an access lies: the cells of its page, its offset there and its place.
pub struct Here<'a> {
    pub pools: &'a mut Pools,
    pub words: &'a mut [Cell; WORDS],
    pub offset: u32,
    pub place: PlaceCode,
}

/// Shadow memory of one process.
pub struct Memory {
    index: FxHashMap<u64, PageIndex>,
    pages: Vec<Page>,
    pools: Pools,
    /// Direct-mapped cache of the index: (page number + 1, page).
    cache: Box<[(u64, PageIndex); CACHED]>,
    /// Of the same pages: (page number + 1, where its cells are).
    ahead: Box<[(u64, *const Cell); CACHED]>,
    /// By number.
    sections: Vec<SectionRange>,
    /// (First and last address, number) of what each still has, by address, disjoint.
    by_address: Vec<(u64, u64, u32)>,
    /// Pages that were filled at once, and are not in `pages`.
    filled: Filled,
    /// Pages with which a mapping begins, or what is behind one: a region does not go on there.
    begins: BTreeSet<u64>,
    pub regions: Regions,
}

impl Memory {
    /// `sections` are disjoint.
    pub fn new(sections: Vec<SectionRange>) -> Memory {
        let mut memory = Memory {
            index: FxHashMap::default(),
            pages: Vec::new(),
            pools: Pools::default(),
            cache: Box::new([(0, 0); CACHED]),
            ahead: Box::new([(0, std::ptr::null()); CACHED]),
            sections: Vec::new(),
            by_address: Vec::new(),
            filled: Filled::default(),
            begins: BTreeSet::new(),
            regions: Regions::default(),
        };
        memory.add_sections(sections);
        memory
    }

    /// Memory of sections that have some addresses left: first and last, number.
    pub fn resumed(sections: Vec<SectionRange>, owned: &[(u64, u64, u32)]) -> Memory {
        let mut memory = Memory::new(Vec::new());
        let known = owned.iter().filter(|(.., number)| (*number as usize) < sections.len());
        memory.by_address = known.copied().collect();
        memory.sections = sections;
        memory
    }

    /// What sections have, in order: first and last address, number.
    pub fn owned(&self) -> &[(u64, u64, u32)] {
        &self.by_address
    }

    /// What is known of some words, adjacent bytes of one write joined; nothing of their readers.
    /// `pages`: those that have some, with a bit for each; None: all.
    pub fn known(&self, pages: Option<Vec<(u64, PageWords)>>) -> Vec<Version> {
        let mut known: Vec<Version> = Vec::new();
        let mut add = |address: u64, n: u64, cell: &Cell| {
            let cell = cell.unread();
            match known.last_mut() {
                _ if !cell.is_written() => {}
                Some((from, len, of)) if *of == cell && *from + *len == address => *len += n,
                _ => known.push((address, n, cell)),
            }
        };
        let pages = pages.unwrap_or_else(|| {
            let mut all: Vec<u64> = self.pages.iter().map(|page| page.number).collect();
            for (at, stretch) in self.filled.within(0, u64::MAX / PAGE) {
                all.extend(at..=stretch.last);
            }
            all.sort_unstable();
            all.into_iter().map(|at| (at, [u64::MAX; WORDS / 64])).collect()
        });
        for (number, words) in pages {
            let page = self.index.get(&number).map(|&page| &self.pages[page as usize]);
            let filled = if page.is_none() { self.filled.at(number) } else { None };
            if page.is_none() && filled.is_none() {
                continue;
            }
            for word in (0..WORDS).filter(|word| words[word / 64] >> (word % 64) & 1 != 0) {
                let address = number * PAGE + word as u64 * WORD;
                let cell = match (page, &filled) {
                    (Some(page), _) => &page.cells[word],
                    (None, Some((_, stretch))) => &stretch.cell,
                    (None, None) => continue,
                };
                if cell.is_split() {
                    let bytes = 0..WORD;
                    bytes.for_each(|i| add(address + i, 1, &self.pools.byte(cell, i)));
                } else {
                    add(address, WORD, cell);
                }
            }
        }
        known
    }

    /// Bytes have a version, of whatever there was.
    pub fn put(&mut self, address: u64, len: u64, cell: Cell) {
        let (mut at, mut left) = (address, len);
        while left > 0 {
            let n = left.min(PAGE - at % PAGE);
            let page = self.page(at);
            let words = &mut self.pages[page as usize].cells[..];
            self.pools.write(words, at - at % PAGE, at % PAGE, n, cell, |_, _| {});
            at = at.wrapping_add(n);
            left -= n;
        }
    }

    /// More sections, disjoint, with the numbers that follow: their addresses are theirs from now
    /// on.
    pub fn add_sections(&mut self, sections: Vec<SectionRange>) {
        for section in sections {
            let (first, last) = (section.first, section.last);
            let number = self.sections.len() as u32;
            self.sections.push(section);
            self.take(first, last, |_| true);
            self.by_address.push((first, last, number));
            self.by_address.sort_unstable();
            self.renew(first, last, |_| true);
        }
    }

    /// Something is mapped: a region of its own. Memory without a file is not that of a file which
    /// was mapped there before; sections of images go on to be, as `.bss` does.
    pub fn map(&mut self, first: u64, last: u64, file: bool) {
        self.begins.extend([first / PAGE, (last / PAGE).saturating_add(1)]);
        if !file {
            self.take(first, last, |section| section.of_file);
        }
        self.renew(first, last, |_| true);
    }

    /// Nothing lies there any more: no section has these addresses.
    pub fn unmap(&mut self, first: u64, last: u64) {
        self.take(first, last, |_| true);
        self.renew(first, last, |kind| matches!(kind, PageKind::Image { .. }));
    }

    /// Takes addresses from those of the sections that are meant.
    fn take(&mut self, first: u64, last: u64, meant: impl Fn(&SectionRange) -> bool) {
        let sections = &self.sections;
        let left = self.by_address.iter().flat_map(|&(from, to, number)| {
            if from > last || to < first || !meant(&sections[number as usize]) {
                return [Some((from, to, number)), None];
            }
            let below = (from < first).then(|| (from, first - 1, number));
            let above = (to > last).then(|| (last + 1, to, number));
            [below, above]
        });
        self.by_address = left.flatten().collect();
    }

    /// Finds anew what touched pages are, of those that are meant.
    fn renew(&mut self, first: u64, last: u64, meant: impl Fn(PageKind) -> bool) {
        let mut pages = self.touched(first, last);
        pages.retain(|&page| meant(self.pages[page as usize].kind));
        // What they were is no region beside any of them.
        for &page in &pages {
            let page = &mut self.pages[page as usize];
            page.set_kind(PageKind::Image { whole: None, region: None });
            page.stack = false;
        }
        for page in pages {
            let kind = self.kind(self.pages[page as usize].number);
            self.pages[page as usize].set_kind(kind);
        }
        for (at, stretch) in self.filled.take(first / PAGE, last / PAGE) {
            self.add_filled(at, stretch.last, stretch.cell);
        }
    }

    /// All of a range gets one writer. Gives the parts of it that are left to do: those of pages that
    /// have been touched, and what is no whole page.
    pub fn fill(&mut self, address: u64, bytes: u64, cell: Cell) -> Vec<(u64, u64)> {
        let Some(last) = bytes.checked_sub(1).map(|more| address.saturating_add(more)) else {
            return Vec::new();
        };
        let whole = |(from, to): (u64, u64)| (from <= to).then_some((from, to));
        let pages = whole((
            address.div_ceil(PAGE),
            (last / PAGE).wrapping_sub(u64::from(last % PAGE + 1 < PAGE)),
        ));
        let Some((from, to)) = pages.filter(|_| bytes >= LONG) else {
            return vec![(address, last - address + 1)];
        };
        let mut left = Vec::new();
        let mut at = address;
        for (first, end) in self.untouched(from, to) {
            // What was filled before is of the region that it was of.
            for (at, stretch) in self.filled.take(first, end) {
                self.filled.add(at, Stretch { cell, ..stretch });
            }
            self.fill_gaps(first, end, cell);
            left.push((at, first * PAGE));
            at = (end * PAGE).saturating_add(PAGE);
        }
        left.push((at, last.saturating_add(1)));
        left.retain(|(from, to)| from < to);
        left.into_iter().map(|(from, to)| (from, to - from)).collect()
    }

    /// Pages of a long range of which nothing is known are as if nobody had filled them at once.
    pub fn touch_all(&mut self, address: u64, bytes: u64) {
        if bytes < LONG {
            return;
        }
        let last = address.saturating_add(bytes - 1);
        for (first, end) in self.untouched(address / PAGE, last / PAGE) {
            self.fill_gaps(first, end, Cell::EMPTY);
        }
    }

    /// Fills pages of a range that are in no stretch, and were not touched one by one.
    fn fill_gaps(&mut self, first: u64, last: u64, cell: Cell) {
        let mut at = first;
        for (from, stretch) in self.filled.within(first, last) {
            if at < from {
                self.add_filled(at, from - 1, cell);
            }
            at = stretch.last + 1;
        }
        if at <= last {
            self.add_filled(at, last, cell);
        }
    }

    /// Runs of pages in a range that have not been touched one by one.
    fn untouched(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let from = first.saturating_mul(PAGE);
        let pages = self.touched(from, last.saturating_mul(PAGE).saturating_add(PAGE - 1));
        let mut numbers: Vec<u64> = pages.iter().map(|&p| self.pages[p as usize].number).collect();
        numbers.sort_unstable();
        let mut runs = Vec::new();
        let mut at = first;
        for number in numbers {
            if at < number {
                runs.push((at, number - 1));
            }
            at = number + 1;
        }
        if at <= last {
            runs.push((at, last));
        }
        runs
    }

    /// Adds pages that are in no stretch: one for each region.
    fn add_filled(&mut self, first: u64, last: u64, cell: Cell) {
        let mut starts: BTreeSet<u64> = BTreeSet::from([first]);
        let inside = |page: &u64| (first..=last).contains(page);
        starts.extend(self.begins.range(first..=last));
        for &(from, to, _) in &self.by_address {
            starts.extend([from / PAGE, to / PAGE + 1].iter().filter(|page| inside(page)));
        }
        let starts: Vec<u64> = starts.into_iter().collect();
        for (i, &at) in starts.iter().enumerate() {
            let end = starts.get(i + 1).map_or(last, |next| next - 1);
            let region = match self.sectioned(at) {
                true => None,
                false => Some(self.joined_region(at, end)),
            };
            self.filled.add(at, Stretch { last: end, cell, region });
        }
    }

    /// What was filled and lies in a range is not known any more.
    pub fn unfill(&mut self, first: u64, last: u64) {
        // What is no whole page is left to who goes through the touched ones.
        if !first.is_multiple_of(PAGE) && self.filled.at(first / PAGE).is_some() {
            self.page(first);
        }
        if last % PAGE != PAGE - 1 && self.filled.at(last / PAGE).is_some() {
            self.page(last);
        }
        self.filled.take(first / PAGE, last / PAGE);
    }

    /// What was filled and lies in a range: address, bytes and cell.
    pub fn filled_within(&mut self, first: u64, last: u64) -> Vec<(u64, u64, Cell)> {
        let stretches = self.filled.within(first / PAGE, last / PAGE).into_iter();
        let cut = stretches.map(|(at, stretch)| {
            let from = (at * PAGE).max(first);
            let to = (stretch.last * PAGE).saturating_add(PAGE - 1).min(last);
            (from, to - from + 1, stretch.cell)
        });
        cut.collect()
    }

    /// Bytes from an address on that were filled at once, lie in one place and are in the stretch.
    pub fn stretch(&mut self, address: u64, most: u64) -> Option<(PlaceCode, u64, Cell)> {
        let (_, stretch) = self.filled.at(address / PAGE)?;
        let more = (stretch.last * PAGE).saturating_add(PAGE - 1) - address;
        let len = more.min(most - 1) + 1;
        if let Some(region) = stretch.region {
            let place = PlaceCode::of(Place::Region(self.regions.find(region)));
            return Some((place, len, stretch.cell));
        }
        let after = self.by_address.partition_point(|s| s.0 <= address);
        let (_, to, number) = self.by_address[after.checked_sub(1)?];
        let section = Place::Section(self.sections[number as usize].name);
        (address <= to).then(|| (PlaceCode::of(section), len.min(to - address + 1), stretch.cell))
    }

    /// Whether a section has bytes of a page.
    fn sectioned(&self, number: u64) -> bool {
        let (first, last) = (number * PAGE, number * PAGE + (PAGE - 1));
        let at = self.by_address.partition_point(|s| s.1 < first);
        self.by_address.get(at).is_some_and(|&(from, ..)| from <= last)
    }

    /// Pages that were touched and have bytes in [first, last].
    pub fn touched(&self, first: u64, last: u64) -> Vec<PageIndex> {
        let (from, to) = (first / PAGE, last / PAGE);
        if to - from < self.pages.len() as u64 {
            return (from..=to).filter_map(|number| self.index.get(&number).copied()).collect();
        }
        let numbers = (0..).zip(&self.pages);
        numbers.filter(|(_, p)| (from..=to).contains(&p.number)).map(|(i, _)| i).collect()
    }

    #[inline]
    pub fn page(&mut self, address: u64) -> PageIndex {
        let number = address / PAGE;
        let slot = &mut self.cache[number as usize % CACHED];
        if slot.0 == number + 1 {
            return slot.1;
        }
        let page = match self.index.get(&number) {
            Some(&p) => p,
            None => self.touch(number),
        };
        self.cache[number as usize % CACHED] = (number + 1, page);
        let cells = self.pages[page as usize].cells.as_ptr();
        self.ahead[number as usize % CACHED] = (number + 1, cells);
        page
    }

    /// The pieces of `[address, address + size)`, each of one page and place.
    pub fn pieces(&mut self, address: u64, size: u64, mut f: impl FnMut(&mut Memory, Piece)) {
        let (mut address, mut left) = (address, size);
        while left > 0 {
            let page = self.page(address);
            let (_, len) = self.reach(page, address, left);
            f(self, Piece { page, address, len });
            address = address.wrapping_add(len);
            left -= len;
        }
    }

    /// Takes the addresses of a run from the front of those to come, and asks the processor for the
    /// cells of some further on: they are mostly in no near cache, and to wait for each is what a
    /// pass over a large memory would do most.
    #[inline]
    pub fn take_addresses<'a>(&self, addresses: &mut &'a [u64], n: usize) -> &'a [u64] {
        let (here, rest) = addresses.split_at(n);
        let soon = addresses.get(AHEAD..AHEAD + n);
        soon.into_iter().flatten().for_each(|&address| {
            let number = address / PAGE;
            let (known, cells) = self.ahead[number as usize % CACHED];
            if known == number + 1 {
                prefetch(cells.wrapping_add((address % PAGE / WORD) as usize));
            }
        });
        *addresses = rest;
        here
    }

    /// Cells of a page, with what is split of them.
    #[inline]
    pub fn shadow(&mut self, page: PageIndex) -> (&mut Pools, &mut [Cell]) {
        (&mut self.pools, &mut self.pages[page as usize].cells[..])
    }

    /// The cells of whole words that lie in one page.
    #[inline]
    pub fn words(&mut self, address: u64, size: u64) -> Option<&[Cell]> {
        let (page, start) = (self.page(address), address % PAGE);
        let whole = start.is_multiple_of(WORD) && size.is_multiple_of(WORD);
        let words = (start / WORD) as usize..((start + size) / WORD) as usize;
        if whole { self.pages[page as usize].cells.get(words) } else { None }
    }

    /// The cell of one byte.
    #[inline]
    pub fn byte(&mut self, address: u64) -> Cell {
        let (page, offset) = (self.page(address), address % PAGE);
        let word = &self.pages[page as usize].cells[(offset / WORD) as usize];
        self.pools.byte(word, offset % WORD)
    }

    /// Address of a page's first byte.
    #[inline]
    pub fn base(&self, page: PageIndex) -> u64 {
        self.pages[page as usize].number * PAGE
    }

    /// Visits every written and unread cell, as (cell, length).
    pub fn unread(&self, mut f: impl FnMut(&Cell, u64)) {
        self.pages.iter().for_each(|p| self.pools.unread(&p.cells[..], &mut f));
    }

    /// Pages touched.
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The touched pages outside of sections, joined where adjacent.
    pub fn ranges(&mut self) -> Vec<Region> {
        let pages = self.pages.iter().filter_map(|p| Some((p.number, p.number, p.kind.region()?)));
        let filled = self.filled.within(0, u64::MAX / PAGE).into_iter();
        let filled = filled.filter_map(|(at, stretch)| Some((at, stretch.last, stretch.region?)));
        let mut runs: Vec<(u64, u64, u32)> = pages.chain(filled).collect();
        runs.sort_unstable();
        let mut ranges: Vec<Region> = Vec::new();
        for (number, end, region) in runs {
            let is_stack = self.regions.is_stack(region);
            let (first, last) = (number * PAGE, end * PAGE + (PAGE - 1));
            match ranges.last_mut() {
                Some(r) if r.last == first.wrapping_sub(1) && r.is_stack == is_stack => {
                    r.last = last;
                }
                _ => ranges.push(Region { first, last, is_stack }),
            }
        }
        ranges
    }

    /// The section that holds `address`, by the number of its name.
    fn section(&self, address: u64) -> Option<u32> {
        let after = self.by_address.partition_point(|s| s.0 <= address);
        let (_, last, number) = self.by_address[after.checked_sub(1)?];
        (address <= last).then(|| self.sections[number as usize].name)
    }

    /// A place that stands for all that surely have its `via`, as far as is known.
    pub fn canonical(&mut self, place: PlaceCode) -> PlaceCode {
        PlaceCode::of(match place.place() {
            Place::Section(s) => Place::Section(self.sections[s as usize].via),
            Place::Region(r) => Place::Region(self.regions.find(r)),
            Place::Register => Place::Register,
        })
    }

    #[cold]
    fn touch(&mut self, number: u64) -> PageIndex {
        let filled = self.filled.take(number, number).pop().map(|(_, stretch)| stretch);
        let kind = match filled.and_then(|stretch| stretch.region) {
            Some(region) => PageKind::Region(self.regions.find(region)),
            None => self.kind(number),
        };
        let cell = filled.map_or(Cell::EMPTY, |stretch| stretch.cell);
        let id = self.pages.len() as PageIndex;
        let cells: Box<[Cell; WORDS]> =
            vec![cell; WORDS].into_boxed_slice().try_into().expect("length is WORDS");
        self.pages.push(Page { number, cells, known: Known::NOTHING, kind, stack: false });
        self.index.insert(number, id);
        id
    }

    /// What a page that is new, or has new sections, is.
    fn kind(&mut self, number: u64) -> PageKind {
        let (first, last) = (number * PAGE, number * PAGE + (PAGE - 1));
        let at = self.by_address.partition_point(|s| s.1 < first);
        match self.by_address.get(at) {
            Some(&(from, to, number)) if from <= last => {
                let whole = from <= first && to >= last;
                let name = self.sections[number as usize].name;
                PageKind::Image { whole: whole.then_some(name), region: None }
            }
            _ => PageKind::Region(self.new_region(number)),
        }
    }

    /// A region for page `number`, joined with those of the pages beside it.
    fn new_region(&mut self, number: u64) -> u32 {
        self.joined_region(number, number)
    }

    /// A region for adjacent pages, joined with those of the pages beside them.
    fn joined_region(&mut self, first: u64, last: u64) -> u32 {
        let region = self.regions.add();
        let (below, above) = (first.wrapping_sub(1), last.wrapping_add(1));
        for (near, begins) in [(below, first), (above, above)] {
            if self.begins.contains(&begins) {
                continue;
            }
            let page = self.index.get(&near).map(|&p| &self.pages[p as usize]);
            let other = match page {
                Some(page) => page.kind.region(),
                None => self.filled.at(near).and_then(|(_, stretch)| stretch.region),
            };
            if let Some(other) = other {
                self.regions.join(region, other);
            }
        }
        self.regions.find(region)
    }

    /// Sets `hint` to the page of an access, which it mostly is already. Gives where its bytes lie,
    /// with the page's cells and its offset there, if they lie in one place and [`Memory::mark`] has
    /// nothing to note.
    #[inline(always)]
    pub fn look(
        &mut self,
        hint: &mut PageIndex,
        (address, size): (u64, u32),
        stack_relative: bool,
    ) -> Option<Here<'_>> {
        let number = address / PAGE;
        if self.pages.get(*hint as usize).is_none_or(|page| page.number != number) {
            *hint = self.page(address);
        }
        let (pools, epoch) = (&mut self.pools, self.regions.epoch());
        let page = &mut self.pages[*hint as usize];
        let offset = (address % PAGE) as u32;
        let plain = page.known.has(epoch, offset, size) && (page.stack || !stack_relative);
        plain.then_some(Here { pools, words: &mut page.cells, offset, place: page.known.place })
    }

    /// While it is the same, regions are.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.regions.epoch()
    }

    /// The addresses of a page at which [`Memory::look`] gives something for such an access, as far as one place of it
    /// is known: the first one, and how many follow it.
    pub fn plain(&self, page: PageIndex, size: u32, stack_relative: bool) -> Option<(u64, u64)> {
        let page = &self.pages[page as usize];
        let Known { from, to, epoch, .. } = page.known;
        let more = to.checked_sub(from)?.checked_sub(size.max(1))?;
        let plain = epoch == self.regions.epoch() && (page.stack || !stack_relative);
        plain.then(|| (page.number * PAGE + u64::from(from), more.into()))
    }

    /// Notes an access for `via`: the regions of its first and last byte get numbers, and know if
    /// it was stack relative. Gives the page of its first byte, which mostly is `hint` already.
    pub fn mark(
        &mut self,
        hint: &mut PageIndex,
        (address, size): (u64, u32),
        stack_relative: bool,
    ) -> PageIndex {
        if self.look(hint, (address, size), stack_relative).is_none() {
            self.mark_other(*hint, (address, size), stack_relative);
        }
        *hint
    }

    #[inline(never)]
    fn mark_other(&mut self, page: PageIndex, (address, size): (u64, u32), stack_relative: bool) {
        self.mark_page(page, address, stack_relative);
        // It may end in another page, or behind a section.
        let last = address.wrapping_add(u64::from(size.max(1)) - 1);
        let end = self.page(last);
        self.mark_page(end, last, stack_relative);
        self.know(page, address);
    }

    /// Finds where bytes of a page lie.
    fn know(&mut self, page: PageIndex, address: u64) {
        let place = PlaceCode::of(self.place(page, address));
        let base = address - address % PAGE;
        let (mut first, mut last) = (base, base + (PAGE - 1));
        if let PageKind::Image { whole: None, .. } = self.pages[page as usize].kind {
            // From the end of the section before, or the start of its own, to the next change.
            let after = self.by_address.partition_point(|s| s.0 <= address);
            if let Some(&(from, to, _)) = self.by_address[..after].last() {
                first = first.max(if to < address { to + 1 } else { from });
                last = if to < address { last } else { last.min(to) };
            }
            if let Some(&(from, ..)) = self.by_address.get(after) {
                last = last.min(from - 1);
            }
        }
        let (from, to) = ((first - base) as u32, (last - base) as u32 + 1);
        self.pages[page as usize].known = Known { from, to, place, epoch: self.regions.epoch() };
    }

    #[inline(never)]
    fn mark_page(&mut self, page: PageIndex, address: u64, stack_relative: bool) {
        let here = &self.pages[page as usize];
        if (stack_relative && !here.stack)
            || matches!(here.kind, PageKind::Image { whole: None, .. })
        {
            let place = self.place(page, address);
            if stack_relative && let Place::Region(r) = place {
                self.regions.mark_stack(r);
                let here = &mut self.pages[page as usize];
                here.stack = matches!(here.kind, PageKind::Region(_));
            }
        }
    }

    /// Where `address` in `page` lies, and how many of `size` bytes from it on lie there and in the
    /// page.
    #[inline]
    pub fn reach(&mut self, page: PageIndex, address: u64, size: u64) -> (PlaceCode, u64) {
        let (offset, epoch) = ((address % PAGE) as u32, self.regions.epoch());
        if !self.pages[page as usize].known.has(epoch, offset, 1) {
            self.know(page, address);
        }
        let known = &self.pages[page as usize].known;
        (known.place, size.min(u64::from(known.to - offset)))
    }

    /// Where `address` in `page` lies.
    pub fn place(&mut self, page: PageIndex, address: u64) -> Place {
        match self.pages[page as usize].kind {
            PageKind::Region(r) => Place::Region(self.regions.find(r)),
            PageKind::Image { whole: Some(s), .. } => Place::Section(s),
            PageKind::Image { whole: None, region } => match (self.section(address), region) {
                (Some(s), _) => Place::Section(s),
                (None, Some(r)) => Place::Region(self.regions.find(r)),
                (None, None) => {
                    let r = self.new_region(address / PAGE);
                    self.pages[page as usize].kind =
                        PageKind::Image { whole: None, region: Some(r) };
                    Place::Region(r)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(sections: &[(u64, u64, bool)]) -> Memory {
        let range = |(number, &(first, last, of_file)): (u32, &(u64, u64, bool))| SectionRange {
            first,
            last,
            name: number,
            via: number,
            of_file,
        };
        Memory::new((0..).zip(sections).map(range).collect())
    }

    fn place(memory: &mut Memory, address: u64) -> Place {
        let page = memory.mark(&mut 0, (address, 1), false);
        memory.place(page, address)
    }

    /// Two sections of a page, a gap between them, and the page's end.
    #[test]
    fn bytes_are_of_one_place_as_far_as_the_next_one() {
        let mut memory = memory(&[(0x1010, 0x101f, false), (0x1024, 0x1fff, false)]);
        let page = memory.page(0x1000);
        let mut reach = |address| {
            let (place, len) = memory.reach(page, address, 64);
            (place.place(), len)
        };
        let Place::Region(_) = reach(0x1000).0 else { panic!() };
        assert_eq!(reach(0x1000).1, 0x10);
        assert_eq!(reach(0x1018), (Place::Section(0), 8));
        assert_eq!(reach(0x1020).1, 4);
        assert_eq!(reach(0x1024), (Place::Section(1), 64));
        assert_eq!(reach(0x1ff8), (Place::Section(1), 8));
    }

    #[test]
    fn an_unmapping_takes_the_sections_and_memory_takes_those_of_files() {
        let mut memory = memory(&[(0x1000, 0x2fff, false), (0x3000, 0x4fff, true)]);
        assert_eq!(place(&mut memory, 0x1800), Place::Section(0));
        assert_eq!(place(&mut memory, 0x3800), Place::Section(1));
        memory.map(0x2000, 0x3fff, false);
        assert_eq!(place(&mut memory, 0x2800), Place::Section(0));
        assert!(matches!(place(&mut memory, 0x3800), Place::Region(_)));
        assert_eq!(place(&mut memory, 0x4800), Place::Section(1));
        memory.unmap(0x1000, 0x1fff);
        assert!(matches!(place(&mut memory, 0x1800), Place::Region(_)));
        assert_eq!(place(&mut memory, 0x2800), Place::Section(0));
    }

    /// Several touched pages of a stack, whose place other memory takes.
    #[test]
    fn what_is_mapped_over_a_stack_is_none() {
        let mut memory = memory(&[]);
        memory.map(0x4000, 0x7fff, false);
        for page in 4..8 {
            memory.mark(&mut 0, (page << 12, 8), true);
        }
        let Place::Region(stack) = place(&mut memory, 0x5000) else { panic!() };
        assert!(memory.regions.is_stack(stack));
        memory.map(0x4000, 0x7fff, false);
        let Place::Region(heap) = place(&mut memory, 0x5000) else { panic!() };
        assert!(!memory.regions.is_stack(heap) && memory.regions.is_stack(stack));
    }

    /// An access that crosses a page is one to the stack on both.
    #[test]
    fn both_pages_of_an_access_are_marked() {
        let mut memory = memory(&[]);
        memory.map(0x1000, 0x1fff, false);
        memory.map(0x2000, 0x2fff, false);
        memory.map(0x8000, 0x8fff, false);
        let mut is_stack = |address, size| {
            memory.mark(&mut 0, (address, size), true);
            [0x1000, 0x2000].map(|at| match place(&mut memory, at) {
                Place::Region(region) => memory.regions.is_stack(region),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(is_stack(0x8ff0, 16), [false, false]);
        assert_eq!(is_stack(0x1ff8, 8), [true, false]);
        assert_eq!(is_stack(0x1ff8, 9), [true, true]);
    }

    /// The last byte of a page is not of the next one, of however few bytes an access is.
    #[test]
    fn an_access_touches_its_own_pages() {
        for (size, pages) in [(0, 1), (1, 1), (2, 2)] {
            let mut memory = memory(&[]);
            memory.mark(&mut 0, (0x1fff, size), false);
            assert_eq!(memory.page_count(), pages, "{size}");
        }
    }

    /// An access to the stack that begins in a section is one to the stack behind it.
    #[test]
    fn both_ends_of_an_access_are_marked() {
        for (address, is_stack) in [(0x1010, false), (0x101c, true), (0x1020, true), (0x100c, true)]
        {
            let mut memory = memory(&[(0x1010, 0x101f, false)]);
            memory.mark(&mut 0, (address, 8), true);
            let Place::Region(region) = place(&mut memory, 0x1020) else { panic!() };
            assert_eq!(memory.regions.is_stack(region), is_stack, "{address:x}");
        }
    }

    /// What is taken out of what was filled is just that: pages that are partly meant are left, of the others none is.
    #[test]
    fn whole_pages_are_unfilled() {
        const FIRST: u64 = 0x10000;
        const PAGES: u64 = 20;
        let mut below = crate::analysis::random::below(1);
        let ends = |below: &mut dyn FnMut(u64) -> u64| {
            let page = FIRST + below(PAGES) * PAGE;
            page + [0, 1, PAGE - 2, PAGE - 1, 77][below(5) as usize]
        };
        for _ in 0..300 {
            let mut memory = memory(&[]);
            memory.fill(FIRST, PAGES * PAGE, Cell { write: 1, ..Cell::EMPTY });
            let (one, other) = (ends(&mut below), ends(&mut below));
            let (first, last) = (one.min(other), one.max(other));
            memory.unfill(first, last);
            let known = memory.known(None);
            for page in FIRST / PAGE..FIRST / PAGE + PAGES {
                let (from, to) = (page * PAGE, page * PAGE + (PAGE - 1));
                let is_known =
                    |at| known.iter().any(|(begin, n, _)| *begin <= at && at - *begin < *n);
                let is_left = first > from || last < to;
                assert_eq!(is_known(from), is_left, "{first:x} {last:x} {page:x}");
                assert_eq!(is_known(to), is_left, "{first:x} {last:x} {page:x}");
            }
        }
    }

    /// Cells of whole words of one page, and of nothing else.
    #[test]
    fn words_are_whole() {
        let mut memory = memory(&[]);
        let mut len = |address, size| memory.words(address, size).map(<[Cell]>::len);
        assert_eq!(len(0x1000, 8), Some(2));
        assert_eq!(len(0x1ffc, 4), Some(1));
        for (address, size) in [(0x1002, 8), (0x1000, 6), (0x1002, 6), (0x1ffc, 8)] {
            assert_eq!(len(address, size), None, "{address:x} {size}");
        }
    }

    /// Adjacent pages of one kind are one region; pages of the stack and others are not.
    #[test]
    fn touched_pages_are_joined() {
        let mut memory = memory(&[(0x5000, 0x5fff, false)]);
        for (address, stack) in [(0, false), (0x1000, false), (0x3000, false), (0x5000, false)] {
            memory.mark(&mut 0, (address, 8), stack);
        }
        memory.map(0x8000, 0x8fff, false);
        memory.map(0x9000, 0x9fff, false);
        memory.mark(&mut 0, (0x8000, 8), false);
        memory.mark(&mut 0, (0x9000, 8), true);
        // Filled at once.
        memory.fill(0x20000, 0x20000, Cell { write: 1, ..Cell::EMPTY });
        let region = |first, last, is_stack| Region { first, last, is_stack };
        let expected = [
            region(0, 0x1fff, false),
            region(0x3000, 0x3fff, false),
            region(0x8000, 0x8fff, false),
            region(0x9000, 0x9fff, true),
            region(0x20000, 0x3ffff, false),
        ];
        assert_eq!(memory.ranges(), expected);
    }

    /// Addresses are of the section that came last, until something takes them: byte by byte, on both sides of where
    /// two pages meet.
    #[test]
    fn sections_have_what_nobody_took() {
        const FIRST: u64 = 0x2000 - 24;
        let mut below = crate::analysis::random::below(1);
        for _ in 0..400 {
            let mut memory = memory(&[]);
            // By byte: a section, and whether it is of a file.
            let mut model: [Option<(u32, bool)>; 48] = [None; 48];
            for number in 0..6 {
                let from = below(48);
                let to = from + below((48 - from).min(16));
                let (first, last) = (FIRST + from, FIRST + to);
                let here = &mut model[from as usize..=to as usize];
                // What was touched is found anew.
                let at = FIRST + below(48);
                let page = memory.page(at);
                memory.reach(page, at, 8);
                match below(4) {
                    0 => {
                        memory.unmap(first, last);
                        here.fill(None);
                    }
                    1 => {
                        memory.map(first, last, false);
                        here.iter_mut().for_each(|b| *b = b.filter(|(_, of_file)| !of_file));
                    }
                    2 => memory.map(first, last, true),
                    _ => {
                        let of_file = below(2) == 0;
                        let (name, via) = (memory.sections.len() as u32, number);
                        memory.add_sections(vec![SectionRange { first, last, name, via, of_file }]);
                        here.fill(Some((name, of_file)));
                    }
                }
            }
            let owner = |at: u64| match at.checked_sub(FIRST) {
                Some(at) => model.get(at as usize).copied().flatten().map(|(name, _)| name),
                None => None,
            };
            let owned: Vec<(u64, u32)> = memory
                .owned()
                .iter()
                .flat_map(|&(from, to, n)| {
                    assert!(from <= to, "{from:x} {to:x}");
                    (from..=to).map(move |at| (at, n))
                })
                .collect();
            let expected: Vec<(u64, u32)> =
                (FIRST..FIRST + 48).filter_map(|at| Some((at, owner(at)?))).collect();
            assert_eq!(owned, expected);
            for number in 0..4 {
                let pages = || number * PAGE..(number + 1) * PAGE;
                assert_eq!(memory.sectioned(number), pages().any(|at| owner(at).is_some()));
            }
            for at in FIRST - 8..FIRST + 56 {
                let page = memory.page(at);
                let (place, len) = memory.reach(page, at, 64);
                let end = (at - at % PAGE) + PAGE;
                let same = (at..end.min(at + 64)).take_while(|next| owner(*next) == owner(at));
                assert_eq!(len, same.count() as u64, "{at:x}");
                match owner(at) {
                    Some(name) => assert_eq!(place.place(), Place::Section(name)),
                    None => assert!(place.is_region()),
                }
            }
        }
    }

    /// Sections that there are have the addresses that they are said to have; of others nothing is known.
    #[test]
    fn what_sections_have_is_resumed() {
        let section = SectionRange { first: 0, last: 0xfff, name: 0, via: 0, of_file: false };
        let owned = [(0x10, 0x1f, 0), (0x20, 0x2f, 1)];
        let mut memory = Memory::resumed(vec![section], &owned);
        assert_eq!(memory.owned(), &owned[..1]);
        assert_eq!(place(&mut memory, 0x1f), Place::Section(0));
        assert!(matches!(place(&mut memory, 0x20), Place::Region(_)));
        assert_eq!(memory.page_count(), 1);
        memory.page(0x5000);
        assert_eq!(memory.page_count(), 2);
    }

    /// Pages that are filled at once lie where they would if each had been touched: in the same sections, in regions that
    /// go as far, and are stack if any of these is.
    #[test]
    fn pages_that_are_filled_at_once_lie_where_each_of_them_would() {
        const PAGES: u64 = 64;
        let mut below = crate::analysis::random::below(3);
        let section = |below: &mut dyn FnMut(u64) -> u64, first: u64, number: u32| {
            let from = first + below(PAGES * PAGE - 1);
            let from = if below(2) == 0 { from - from % PAGE } else { from };
            let to = (from + below(6 * PAGE)).min(first + PAGES * PAGE - 1);
            let to = if below(2) == 0 { to | (PAGE - 1) } else { to };
            SectionRange { first: from, last: to, name: number, via: number, of_file: false }
        };
        for first in [0x40_0000, 0].into_iter().cycle().take(200) {
            let (mut at_once, mut each) = (memory(&[]), memory(&[]));
            let mut touched = BTreeSet::new();
            let mut number = 0;
            for _ in 0..below(4) {
                let section = section(&mut below, first, number);
                number += 1;
                at_once.add_sections(vec![section.clone()]);
                each.add_sections(vec![section]);
            }
            for _ in 0..below(4) {
                let from = first + below(PAGES) * PAGE;
                let to = from + (1 + below(4)) * PAGE - 1;
                at_once.map(from, to, true);
                each.map(from, to, true);
            }
            for write in 1..12 {
                let number_of = |page: u64| first / PAGE + page;
                match below(8) {
                    0..3 => {
                        let from = below(PAGES - 16);
                        let n = (16 + below(20)).min(PAGES - from);
                        let cell = Cell { write, ..Cell::EMPTY };
                        let (address, bytes) = (number_of(from) * PAGE, n * PAGE);
                        for (address, n) in at_once.fill(address, bytes, cell) {
                            at_once.pieces(address, n, |_, _| {});
                        }
                        for page in from..from + n {
                            each.page(number_of(page) * PAGE);
                            touched.insert(number_of(page));
                        }
                    }
                    // A device, or what is known of it later.
                    3 => {
                        let section = section(&mut below, first, number);
                        number += 1;
                        at_once.add_sections(vec![section.clone()]);
                        each.add_sections(vec![section]);
                    }
                    kind => {
                        let page = number_of(below(PAGES));
                        let access = (page * PAGE + below(PAGE - 8), 1);
                        at_once.mark(&mut 0, access, kind < 6);
                        each.mark(&mut 0, access, kind < 6);
                        touched.insert(page);
                    }
                }
            }
            // What lies in which region, and how far each goes.
            let mut pairs = BTreeSet::new();
            let mut regions: Vec<Region> = Vec::new();
            for &number in &touched {
                for address in
                    [number * PAGE, number * PAGE + below(PAGE), number * PAGE + (PAGE - 1)]
                {
                    let filled = at_once.stretch(address, 1).map(|(place, ..)| place.place());
                    let found = filled.unwrap_or_else(|| place(&mut at_once, address));
                    match (found, place(&mut each, address)) {
                        (Place::Region(one), Place::Region(other)) => {
                            let other = each.regions.find(other);
                            pairs.insert((at_once.regions.find(one), other));
                            let is_stack = each.regions.is_stack(other);
                            assert_eq!(at_once.regions.is_stack(one), is_stack, "{address:x}");
                        }
                        (found, expected) => assert_eq!(found, expected, "{address:x}"),
                    }
                }
                if let PageKind::Region(r) = each.pages[each.index[&number] as usize].kind {
                    let is_stack = each.regions.is_stack(r);
                    match regions.last_mut() {
                        Some(r) if r.last + 1 == number * PAGE && r.is_stack == is_stack => {
                            r.last += PAGE;
                        }
                        _ => {
                            let (first, last) = (number * PAGE, number * PAGE + (PAGE - 1));
                            regions.push(Region { first, last, is_stack });
                        }
                    }
                }
            }
            let ones: BTreeSet<u32> = pairs.iter().map(|pair| pair.0).collect();
            let others: BTreeSet<u32> = pairs.iter().map(|pair| pair.1).collect();
            assert_eq!((ones.len(), others.len()), (pairs.len(), pairs.len()), "{pairs:?}");
            // Pages with sections may have a region, too.
            let mixed = |memory: &Memory, r: &Region| {
                (r.first / PAGE..=r.last / PAGE).any(|number| memory.sectioned(number))
            };
            for (memory, name) in [(&mut at_once, "at once"), (&mut each, "each")] {
                let found = memory.ranges();
                if found.iter().all(|r| !mixed(memory, r)) {
                    assert_eq!(found, regions, "{name}");
                }
            }
        }
    }

    /// A mapping changes nothing of what was filled elsewhere.
    #[test]
    fn what_was_filled_stays_where_it_is() {
        let mut memory = memory(&[]);
        memory.fill(0x20000, 0x20000, Cell { write: 1, ..Cell::EMPTY });
        let before = memory.stretch(0x20000, 1).expect("it is filled").0;
        memory.map(0x1000, 0x1fff, false);
        memory.map(0x40000, 0x40fff, false);
        assert_eq!(memory.stretch(0x20000, 1).expect("it is filled").0, before);
        // Also from the first address on.
        memory.fill(0, 0x10000, Cell { write: 2, ..Cell::EMPTY });
        let known = memory.known(None);
        assert_eq!((known[0].0, known[0].1, known[0].2.write), (0, 0x10000, 2));
    }

    /// What is known of some words is what was filled and put there, byte by byte; and it is there again when it is put
    /// into another memory.
    #[test]
    fn what_is_known_is_what_was_written() {
        const PAGES: u64 = 40;
        let mut below = crate::analysis::random::below(1);
        let writes = |list: &[Version]| -> Vec<(u64, u64)> {
            let each = |v: &Version| (v.0..v.0 + v.1).map(|at| (at, v.2.write)).collect::<Vec<_>>();
            let mut all: Vec<_> = list.iter().flat_map(each).collect();
            all.sort_unstable();
            all
        };
        for first in [0x40_0000, 0].into_iter().cycle().take(10) {
            let mut memory = memory(&[]);
            let mut model = vec![0; (PAGES * PAGE) as usize];
            for write in 1..12 {
                let cell = Cell { write, reader: 3, pair: 4, ..Cell::EMPTY };
                let from = match below(4) {
                    0 => 0,
                    1 => below(PAGES) * PAGE,
                    _ => below(PAGES * PAGE),
                };
                let most = if below(3) == 0 { 40 * PAGE } else { 50 };
                let n = (1 + below(most)).min(PAGES * PAGE - from);
                for (address, n) in memory.fill(first + from, n, cell) {
                    memory.put(address, n, cell);
                }
                model[from as usize..(from + n) as usize].fill(write);
            }
            let expected: Vec<_> = (first..).zip(model).filter(|(_, write)| *write != 0).collect();
            let known = memory.known(None);
            assert_eq!(writes(&known), expected);
            assert!(known.iter().all(|(.., cell)| (cell.reader, cell.pair) == (0, 0)));
            // Adjacent bytes of one write are one, in a page at least.
            assert!(known.len() < 12 * (PAGES as usize + 4), "{}", known.len());
            let asked: Vec<_> = (0..PAGES + 2)
                .step_by(3)
                .map(|page| (first / PAGE + page, below(1 << 31) as usize))
                .collect();
            let words = |bits: usize| std::array::from_fn(|i| (bits as u64) << (i % 3) ^ i as u64);
            let pages = asked.iter().map(|&(page, bits)| (page, words(bits))).collect();
            let some: Vec<_> = expected
                .iter()
                .copied()
                .filter(|(at, _)| {
                    let page = asked.iter().find(|(page, _)| *page == at / PAGE);
                    let word = (at % PAGE / WORD) as usize;
                    page.is_some_and(|&(_, bits)| words(bits)[word / 64] >> (word % 64) & 1 != 0)
                })
                .collect();
            assert_eq!(writes(&memory.known(Some(pages))), some);
            let mut other = self::memory(&[]);
            known.iter().for_each(|&(address, n, cell)| other.put(address, n, cell));
            assert_eq!(writes(&other.known(None)), expected);
        }
    }
}
