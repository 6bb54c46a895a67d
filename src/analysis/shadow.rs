//! Shadow storage: for every byte of memory and of the registers, who wrote it last and who has
//! read that since.
//!
//! Bytes are kept in words of [`WORD`] bytes while all of a word's bytes agree, and split into one
//! cell a byte on demand; a write that covers a whole word joins it again. Pages of [`PAGE`] bytes
//! are made when first touched.

use rustc_hash::FxHashMap;

/// Bytes of a word: four, because 4-byte objects are as common as pointers and a pointer is but two
/// words.
pub const WORD: u64 = 4;
/// Bytes of a page; also the page of DESIGN's stack rule.
pub const PAGE: u64 = 4096;
const WORDS: usize = (PAGE / WORD) as usize;

/// Identity of an access: `seq << 16 | ordinal`; 0 is "no step".
pub type AccessId = u64;

/// State of one byte, or of a word whose bytes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The last write; 0 if no step wrote it.
    pub write: AccessId,
    /// Call instance of the last write.
    pub call: u32,
    /// Instruction of the last write, with [`Cell::SLOT`] and [`Cell::SAVE`]; [`Cell::SPLIT`] marks
    /// a split word.
    pub insn: u32,
    /// The call instance that read this version last, 0 if none, with [`Cell::MORE`] if live
    /// earlier ones stand in `Shadow::readers`.
    pub reader: u32,
    /// Function pair that counted this cell's address last (an index, 0 if none); outlives
    /// versions.
    pub pair: u32,
}

impl Cell {
    pub const EMPTY: Cell = Cell { write: 0, call: 0, insn: 0, reader: 0, pair: 0 };
    /// Written by a call (return address): not a dead write if unread.
    pub const SLOT: u32 = 1 << 31;
    /// Written by a save: look it up before reading.
    pub const SAVE: u32 = 1 << 30;
    /// In `insn`: this word is split, `write` is the index of its bytes.
    pub const SPLIT: u32 = u32::MAX;
    /// In `reader`: there are more readers.
    pub const MORE: u32 = 1 << 31;
    const INSN: u32 = !(Cell::SLOT | Cell::SAVE);

    /// Instruction of the last write.
    pub fn writer_insn(&self) -> u32 {
        self.insn & Cell::INSN
    }
}

/// What a page of memory is to `via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Wholly outside of image sections: region number.
    Region(u32),
    /// Touches image sections. `whole` is the section that covers all of it; `region` is given when
    /// a byte outside of sections is first touched.
    Image { whole: Option<u32>, region: Option<u32> },
}

pub struct Page {
    pub cells: Box<[Cell; WORDS]>,
    pub kind: PageKind,
    /// An access to it was stack relative, and its region knows.
    stack: bool,
}

/// Split words and readers, shared by all pages.
#[derive(Default)]
pub struct Pools {
    split: Vec<[Cell; WORD as usize]>,
    free: Vec<u32>,
    /// Readers of a version before the last one, by byte or word key.
    readers: FxHashMap<u64, Vec<u32>>,
    /// A write of some bytes of a word takes all of it: wrong, see `Mutation`.
    whole_words: bool,
}

impl Pools {
    pub fn new(whole_words: bool) -> Pools {
        Pools { whole_words, ..Pools::default() }
    }

    fn split(&mut self, cell: &mut Cell, key: u64) -> usize {
        if cell.insn == Cell::SPLIT {
            return cell.write as usize;
        }
        let bytes = [*cell; WORD as usize];
        if cell.reader & Cell::MORE != 0
            && let Some(list) = self.readers.remove(&key)
        {
            for i in 0..WORD {
                self.readers.insert(key + i, list.clone());
            }
        }
        let index = match self.free.pop() {
            Some(i) => {
                self.split[i as usize] = bytes;
                i as usize
            }
            None => {
                self.split.push(bytes);
                self.split.len() - 1
            }
        };
        *cell = Cell { write: index as u64, call: 0, insn: Cell::SPLIT, reader: 0, pair: 0 };
        index
    }

    /// Forgets the readers of a version that ends.
    fn forget(&mut self, cell: &Cell, key: u64) {
        if cell.reader & Cell::MORE != 0 {
            self.readers.remove(&key);
        }
    }

    /// The cell of a byte of a word.
    pub fn byte(&self, word: &Cell, byte: u64) -> Cell {
        if word.insn == Cell::SPLIT {
            self.split[word.write as usize][byte as usize]
        } else {
            *word
        }
    }

    /// The cells of bytes of a word, if it is split and has them all.
    #[inline]
    pub fn split_bytes(&mut self, word: &Cell, byte: u64, len: u64) -> Option<&mut [Cell]> {
        if word.insn != Cell::SPLIT {
            return None;
        }
        self.split[word.write as usize].get_mut(byte as usize..(byte + len) as usize)
    }

    pub fn split_words(&self) -> usize {
        self.split.len() - self.free.len()
    }

    /// Visits the cells of `[start, start + len)` (offsets in `words`, `base` is the key of offset
    /// 0) as (key, length, cell). Words that are covered in part are split first, so that the
    /// visitor may change what it sees.
    #[inline]
    pub fn visit(
        &mut self,
        words: &mut [Cell],
        base: u64,
        start: u64,
        len: u64,
        mut f: impl FnMut(&mut Pools2<'_>, u64, u64, &mut Cell),
    ) {
        let mut at = start;
        let end = start + len;
        while at < end {
            let index = (at / WORD) as usize;
            let low = at % WORD;
            let high = (end - (at - low)).min(WORD);
            let cell = &mut words[index];
            let word_key = base + at - low;
            if low == 0 && high == WORD && cell.insn != Cell::SPLIT {
                f(&mut Pools2 { readers: &mut self.readers }, word_key, WORD, cell);
            } else {
                let slot = self.split(cell, word_key);
                let (split, readers) = (&mut self.split, &mut self.readers);
                for i in low..high {
                    f(&mut Pools2 { readers }, word_key + i, 1, &mut split[slot][i as usize]);
                }
            }
            at += high - low;
        }
    }

    /// Makes `[start, start + len)` a new version. `dead` is told of unread bytes that it replaces.
    #[inline]
    pub fn write(
        &mut self,
        words: &mut [Cell],
        base: u64,
        start: u64,
        len: u64,
        new: Cell,
        mut dead: impl FnMut(&Cell, u64),
    ) {
        let mut at = start;
        let end = start + len;
        while at < end {
            let index = (at / WORD) as usize;
            let low = at % WORD;
            let high = (end - (at - low)).min(WORD);
            let cell = &mut words[index];
            let word_key = base + at - low;
            if low == 0 && high == WORD {
                if cell.insn == Cell::SPLIT {
                    let slot = cell.write as usize;
                    for i in 0..WORD {
                        let byte = self.split[slot][i as usize];
                        if byte.reader == 0 && byte.write != 0 {
                            dead(&byte, 1);
                        }
                        self.forget(&byte, word_key + i);
                    }
                    // The pair is a cache; keep it only where the bytes agree.
                    let pair = self.split[slot][0].pair;
                    let agree = self.split[slot].iter().all(|b| b.pair == pair);
                    self.free.push(slot as u32);
                    *cell = Cell { pair: if agree { pair } else { 0 }, ..new };
                } else {
                    if cell.reader == 0 && cell.write != 0 {
                        dead(cell, WORD);
                    } else if cell.reader & Cell::MORE != 0 {
                        self.readers.remove(&word_key);
                    }
                    *cell = Cell { pair: cell.pair, ..new };
                }
            } else {
                let slot = self.split(cell, word_key);
                for i in if self.whole_words { 0..WORD } else { low..high } {
                    let byte = self.split[slot][i as usize];
                    if byte.reader == 0 && byte.write != 0 {
                        dead(&byte, 1);
                    }
                    self.forget(&byte, word_key + i);
                    self.split[slot][i as usize] = Cell { pair: byte.pair, ..new };
                }
            }
            at += high - low;
        }
    }

    /// Visits every written and unread cell of a page, for the dead bytes at the end.
    pub fn unread(&self, words: &[Cell], mut f: impl FnMut(&Cell, u64)) {
        for cell in words {
            if cell.insn == Cell::SPLIT {
                for byte in &self.split[cell.write as usize] {
                    if byte.reader == 0 && byte.write != 0 {
                        f(byte, 1);
                    }
                }
            } else if cell.reader == 0 && cell.write != 0 {
                f(cell, WORD);
            }
        }
    }
}

/// The readers' lists, lent to a visitor of cells.
pub struct Pools2<'a> {
    readers: &'a mut FxHashMap<u64, Vec<u32>>,
}

impl Pools2<'_> {
    /// Notes that `call` read this version; true if it had not before. `alive` tells whether an
    /// instance is still live: only those can read again.
    #[inline]
    pub fn note_reader(
        &mut self,
        cell: &mut Cell,
        key: u64,
        call: u32,
        alive: &impl Fn(u32) -> bool,
    ) -> bool {
        let last = cell.reader & !Cell::MORE;
        if last == call {
            return false;
        }
        if last == 0 {
            cell.reader = call;
            return true;
        }
        self.note_other_reader(cell, key, call, alive)
    }

    #[cold]
    fn note_other_reader(
        &mut self,
        cell: &mut Cell,
        key: u64,
        call: u32,
        alive: &impl Fn(u32) -> bool,
    ) -> bool {
        let last = cell.reader & !Cell::MORE;
        let mut more = cell.reader & Cell::MORE;
        if more != 0 {
            let list = self.readers.entry(key).or_default();
            if list.contains(&call) {
                return false;
            }
            list.retain(|&c| alive(c));
            if alive(last) {
                list.push(last);
            }
            if list.is_empty() {
                self.readers.remove(&key);
                more = 0;
            }
        } else if alive(last) {
            self.readers.entry(key).or_default().push(last);
            more = Cell::MORE;
        }
        cell.reader = call | more;
        true
    }

    /// Whether `call` has read this version.
    pub fn has_read(&self, cell: &Cell, key: u64, call: u32) -> bool {
        cell.reader & !Cell::MORE == call
            || (cell.reader & Cell::MORE != 0
                && self.readers.get(&key).is_some_and(|l| l.contains(&call)))
    }

    pub fn readers_of(&self, cell: &Cell, key: u64) -> Vec<u32> {
        if cell.reader & Cell::MORE == 0 {
            Vec::new()
        } else {
            self.readers.get(&key).cloned().unwrap_or_default()
        }
    }

    pub fn set_readers(&mut self, key: u64, list: Vec<u32>) {
        if list.is_empty() {
            self.readers.remove(&key);
        } else {
            self.readers.insert(key, list);
        }
    }
}

/// Regions of adjacent touched pages, joined as they grow.
#[derive(Default)]
pub struct Regions {
    parent: Vec<u32>,
    /// Any access to it was stack relative; true of a root if true of any member.
    stack: Vec<bool>,
}

impl Regions {
    pub fn add(&mut self) -> u32 {
        self.parent.push(self.parent.len() as u32);
        self.stack.push(false);
        self.parent.len() as u32 - 1
    }
    pub fn find(&mut self, mut r: u32) -> u32 {
        while self.parent[r as usize] != r {
            let up = self.parent[self.parent[r as usize] as usize];
            self.parent[r as usize] = up;
            r = up;
        }
        r
    }
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return a;
        }
        let (keep, gone) = (a.min(b), a.max(b));
        self.parent[gone as usize] = keep;
        self.stack[keep as usize] |= self.stack[gone as usize];
        keep
    }
    pub fn mark_stack(&mut self, r: u32) {
        let r = self.find(r);
        self.stack[r as usize] = true;
    }
    pub fn is_stack(&mut self, r: u32) -> bool {
        let r = self.find(r);
        self.stack[r as usize]
    }
    pub fn len(&self) -> usize {
        self.parent.len()
    }
}

/// An image section at its run-time address.
#[derive(Clone, Debug)]
pub struct SectionRange {
    pub first: u64,
    /// Inclusive, so that a section may end at the top of the address space.
    pub last: u64,
    /// Index of the first section of the same name, which stands for all of them: they are one
    /// pseudo-function.
    pub name: u32,
    /// Index of the first section of the same `via`.
    pub via: u32,
}

/// Shadow memory of one process.
pub struct Memory {
    index: FxHashMap<u64, u32>,
    pages: Vec<Page>,
    numbers: Vec<u64>,
    /// Direct-mapped cache of the index: (page number + 1, page).
    cache: Box<[(u64, u32); 1024]>,
    sections: Vec<SectionRange>,
    pub regions: Regions,
}

impl Memory {
    /// `sections` sorted by address, disjoint.
    pub fn new(sections: Vec<SectionRange>) -> Memory {
        Memory {
            index: FxHashMap::default(),
            pages: Vec::new(),
            numbers: Vec::new(),
            cache: Box::new([(0, 0); 1024]),
            sections,
            regions: Regions::default(),
        }
    }

    #[inline]
    pub fn page(&mut self, address: u64) -> u32 {
        let number = address / PAGE;
        let slot = &mut self.cache[number as usize & 1023];
        if slot.0 == number + 1 {
            return slot.1;
        }
        let page = match self.index.get(&number) {
            Some(&p) => p,
            None => self.touch(number),
        };
        self.cache[number as usize & 1023] = (number + 1, page);
        page
    }

    pub fn get(&self, page: u32) -> &Page {
        &self.pages[page as usize]
    }
    pub fn number(&self, page: u32) -> u64 {
        self.numbers[page as usize]
    }
    pub fn get_mut(&mut self, page: u32) -> &mut Page {
        &mut self.pages[page as usize]
    }
    pub fn pages(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.numbers.iter().copied().zip(&self.pages)
    }
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// Index of the section that holds `address`.
    fn section(&self, address: u64) -> Option<u32> {
        let after = self.sections.partition_point(|s| s.first <= address);
        let i = after.checked_sub(1)?;
        (address <= self.sections[i].last).then_some(self.sections[i].name)
    }

    /// Section that stands for all of the same `via`.
    pub fn via(&self, section: u32) -> u32 {
        self.sections[section as usize].via
    }

    #[cold]
    fn touch(&mut self, number: u64) -> u32 {
        let (first, last) = (number * PAGE, number * PAGE + (PAGE - 1));
        let touches = self.sections.iter().any(|s| s.first <= last && s.last >= first);
        let kind = if touches {
            let whole = self.sections.iter().find(|s| s.first <= first && s.last >= last);
            PageKind::Image { whole: whole.map(|s| s.name), region: None }
        } else {
            PageKind::Region(self.new_region(number))
        };
        let id = self.pages.len() as u32;
        let cells: Box<[Cell; WORDS]> =
            vec![Cell::EMPTY; WORDS].into_boxed_slice().try_into().expect("length is WORDS");
        self.pages.push(Page { cells, kind, stack: false });
        self.numbers.push(number);
        self.index.insert(number, id);
        id
    }

    /// A region for page `number`, joined with those of the pages beside it.
    fn new_region(&mut self, number: u64) -> u32 {
        let region = self.regions.add();
        for near in [number.wrapping_sub(1), number.wrapping_add(1)] {
            if let Some(&p) = self.index.get(&near)
                && let PageKind::Region(other) | PageKind::Image { region: Some(other), .. } =
                    self.pages[p as usize].kind
            {
                self.regions.join(region, other);
            }
        }
        self.regions.find(region)
    }

    /// Notes an access for `via`: the region of `address` gets a number, and knows if the access
    /// was stack relative.
    #[inline]
    pub fn mark(&mut self, page: u32, address: u64, stack_relative: bool) {
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

    /// Where `address` in `page` lies.
    #[inline]
    pub fn place(&mut self, page: u32, address: u64) -> Place {
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

/// Image section or region of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Section(u32),
    Region(u32),
}
