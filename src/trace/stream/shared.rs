//! Files that are mapped shared: the same bytes at several addresses, or at other ones later, are the
//! same cells. Each such file has addresses of its own, above all that programs have; what lies in a
//! shared mapping is taken there.

use rustc_hash::FxHashMap;

/// Addresses of shared files begin here.
const FIRST: u64 = 1 << 62;
/// Bytes of a file that have addresses.
const ROOM: u64 = 1 << 44;
/// Files that have addresses.
const MOST: u64 = (1 << 63) / ROOM - FIRST / ROOM;

/// A file by what the system knows it by: device and number.
pub type Key = (u64, u64);

/// Adjacent bytes: address and length.
pub type Range = (u64, u64);

/// A file that has addresses.
struct File {
    base: u64,
    path: Option<Box<str>>,
    /// The process that has mapped it last, and whether that is not the only one.
    process: u32,
    by_several: bool,
    /// One of them can write to it.
    writable: bool,
    /// Offsets of it that this process has mapped, disjoint: from, to.
    placed: Vec<Range>,
}

/// A piece of a file that is there for the first time in its process.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    pub address: u64,
    pub bytes: u64,
    pub offset: u64,
    pub path: Option<Box<str>>,
}

/// The shared files of all processes.
#[derive(Default)]
pub struct Files(FxHashMap<Key, File>);

/// The shared files, and where the running process has them.
#[derive(Default)]
pub struct Shared {
    /// Those of all processes.
    pub files: Files,
    process: u32,
    /// Start, end and the address of the first byte, by start, disjoint.
    mapped: Vec<(u64, u64, u64)>,
    /// What all of them lie in.
    low: u64,
    high: u64,
    /// A file that several processes have, one of which can write to it.
    pub by_several: Option<Box<str>>,
}

impl Shared {
    /// A process that is told of by itself.
    pub fn of_process(process: u32) -> Shared {
        Shared { process, ..Shared::default() }
    }

    /// Another process begins: nothing is mapped.
    pub fn next_process(&mut self) {
        self.process += 1;
        self.mapped.clear();
        self.bounds();
    }

    /// Whether anything is mapped shared.
    pub fn is_empty(&self) -> bool {
        self.mapped.is_empty()
    }

    fn bounds(&mut self) {
        self.low = self.mapped.first().map_or(0, |m| m.0);
        self.high = self.mapped.last().map_or(0, |m| m.1);
    }

    /// Something else lies there, or nothing.
    pub fn cut(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        if end <= self.low || address >= self.high {
            return;
        }
        let left = self.mapped.iter().flat_map(|&(from, to, at)| {
            let below = (from < address, (from, to.min(address), at));
            let above = (to > end, (from.max(end), to, at + (from.max(end) - from)));
            if to <= address || from >= end {
                [Some((from, to, at)), None]
            } else {
                [below, above].map(|(is, piece)| is.then_some(piece))
            }
        });
        self.mapped = left.flatten().collect();
        self.bounds();
    }

    /// Bytes of a file from `offset` on are mapped. Gives what is there of it for the first time; None:
    /// it gets no addresses of its own.
    pub fn map(
        &mut self,
        key: Key,
        at: Range,
        offset: u64,
        (path, writable): (Option<&str>, bool),
    ) -> Option<Vec<Placed>> {
        let (address, bytes) = at;
        let end = offset.checked_add(bytes).filter(|&end| end <= ROOM && bytes > 0)?;
        let number = self.files.0.len() as u64;
        if number >= MOST && !self.files.0.contains_key(&key) {
            return None;
        }
        self.cut(address, bytes);
        let process = self.process;
        let file = self.files.0.entry(key).or_insert_with(|| File {
            base: FIRST + number * ROOM,
            path: path.map(Into::into),
            process,
            by_several: false,
            writable,
            placed: Vec::new(),
        });
        file.writable |= writable;
        if file.process != process {
            file.process = process;
            file.by_several = true;
            file.placed.clear();
        }
        if file.by_several && file.writable {
            let name = file.path.as_deref().unwrap_or("memory without a file");
            self.by_several.get_or_insert_with(|| name.into());
        }
        let new = missing(&mut file.placed, offset, end);
        let base = file.base;
        let placed = new.into_iter().map(|(from, to)| Placed {
            address: base + from,
            bytes: to - from,
            offset: from,
            path: file.path.clone(),
        });
        let placed = placed.collect();
        self.mapped.push((address, address.saturating_add(bytes), base + offset));
        self.mapped.sort_unstable();
        self.bounds();
        Some(placed)
    }

    /// The address of a byte of a file, if it has one.
    pub fn of_file(&self, key: Key, offset: u64) -> Option<u64> {
        let file = self.files.0.get(&key)?;
        (offset < ROOM).then_some(file.base + offset)
    }

    /// Where the byte at an address lies.
    #[inline]
    pub fn place(&self, address: u64) -> u64 {
        if address.wrapping_sub(self.low) >= self.high - self.low {
            return address;
        }
        self.place_within(address)
    }

    #[cold]
    fn place_within(&self, address: u64) -> u64 {
        let after = self.mapped.partition_point(|m| m.0 <= address);
        match after.checked_sub(1).map(|i| self.mapped[i]) {
            Some((from, to, at)) if address < to => at + (address - from),
            _ => address,
        }
    }

    /// Where adjacent bytes lie, in pieces that are adjacent there.
    pub fn pieces(&self, address: u64, bytes: u64) -> Vec<Range> {
        let end = address.saturating_add(bytes);
        let mut pieces = Vec::new();
        let mut at = address;
        for &(from, to, place) in &self.mapped {
            if to <= at || from >= end {
                continue;
            }
            if from > at {
                pieces.push((at, from - at));
                at = from;
            }
            let stop = to.min(end);
            pieces.push((place + (at - from), stop - at));
            at = stop;
        }
        // A range that goes round the end of memory is left to those who take it.
        let left = bytes - (at - address);
        if left > 0 {
            pieces.push((at, left));
        }
        pieces
    }

    /// Whether an access at an address surely touches nothing that is shared.
    #[inline]
    pub fn is_far(&self, address: u64) -> bool {
        // The longest access of an instruction is far shorter.
        let low = self.low.saturating_sub(1 << 16);
        address < low || address >= self.high
    }

    /// How many bytes of an access lie together, if its others lie somewhere else.
    pub fn first_part(&self, address: u64, size: u32) -> Option<u32> {
        let more = u64::from(size) - 1;
        let together =
            self.place(address.wrapping_add(more)) == self.place(address).wrapping_add(more);
        let first = (!together).then(|| self.pieces(address, size.into()))?.first()?.1;
        u32::try_from(first).ok().filter(|&first| first < size)
    }
}

/// The parts of a range that are in none of the list; they are in it from then on.
fn missing(list: &mut Vec<Range>, from: u64, to: u64) -> Vec<Range> {
    let mut new = Vec::new();
    let mut at = from;
    list.sort_unstable();
    for &(a, b) in list.iter().filter(|(a, b)| *b > from && *a < to) {
        if a > at {
            new.push((at, a));
        }
        at = at.max(b);
    }
    if at < to {
        new.push((at, to));
    }
    list.extend(&new);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Key = (8, 15);

    #[test]
    fn two_mappings_of_a_page_are_one_place() {
        let mut shared = Shared::default();
        assert_eq!(shared.place(0x5000), 0x5000);
        let new = shared.map(FILE, (0x5000, 0x2000), 0x1000, (Some("/a/f"), true)).unwrap();
        assert_eq!(new.len(), 1);
        assert_eq!((new[0].address, new[0].bytes, new[0].offset), (FIRST + 0x1000, 0x2000, 0x1000));
        // The page before is new, the one behind is known.
        let new = shared.map(FILE, (0x9000, 0x2000), 0, (Some("/a/f"), true)).unwrap();
        assert_eq!((new.len(), new[0].offset, new[0].bytes), (1, 0, 0x1000));
        assert_eq!(shared.place(0x5008), shared.place(0xa008));
        assert_eq!([0x4fff, 0x7000, 0x8fff].map(|a| shared.place(a)), [0x4fff, 0x7000, 0x8fff]);
        assert_eq!(
            [0x5ffc, 0x6ffc, 0x8ffe].map(|a| shared.first_part(a, 8)),
            [None, Some(4), Some(2)]
        );
    }

    #[test]
    fn what_is_mapped_over_is_gone() {
        let mut shared = Shared::default();
        shared.map(FILE, (0x5000, 0x3000), 0, (None, true)).unwrap();
        shared.cut(0x6000, 0x1000);
        assert_eq!(shared.place(0x6000), 0x6000);
        assert_eq!([shared.place(0x5000), shared.place(0x7010)], [FIRST, FIRST + 0x2010]);
        assert_eq!(
            shared.pieces(0x4ff0, 0x3000),
            [(0x4ff0, 0x10), (FIRST, 0x1000), (0x6000, 0x1000), (FIRST + 0x2000, 0xff0)]
        );
    }

    #[test]
    fn an_offset_that_has_no_place_is_refused() {
        let mut shared = Shared::default();
        assert_eq!(shared.map(FILE, (0x5000, 0x1000), u64::MAX - 0xfff, (None, true)), None);
        assert_eq!(shared.map(FILE, (0x5000, 0), 0, (None, true)), None);
        assert!(shared.is_empty());
    }
}
