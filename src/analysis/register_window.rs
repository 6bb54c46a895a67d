//! Registers that the instance on top of a thread's stack has written itself since control came to
//! it. Nearly all that a program reads of registers is such, and it is alike: one instance handed it
//! to itself. Where that is no row of communication, a segment's reads and writes of them are a few
//! operations on sets of bytes, and cells are written when something else needs them. Where more is
//! asked than sums of functions, who wrote a byte is known beside: [`Writers`].

use super::access::Extent;
use super::shadow::{AccessId, Cell, RECENT_WRITE, Registers, WORD, Words, access_id};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId};
use rustc_hash::FxHashMap;

/// Register bytes, a bit each: the first of the register file, which are the general registers.
type Bytes = u128;

/// The same in halves: most operations are on one register.
type Halves = [u64; 2];

#[inline(always)]
fn join([low, high]: Halves) -> Bytes {
    Bytes::from(low) | Bytes::from(high) << 64
}

#[inline(always)]
fn halves(set: Bytes) -> Halves {
    [set as u64, (set >> 64) as u64]
}

/// The bytes of a register; None if it lies further on.
#[inline]
fn bytes(span: RegSpan) -> Option<Bytes> {
    let end = u32::from(span.offset) + u32::from(span.size);
    (end <= Bytes::BITS && span.size > 0)
        .then(|| (Bytes::MAX >> (Bytes::BITS - u32::from(span.size))) << span.offset)
}

/// The bytes of a register but for its first.
fn inner(span: RegSpan) -> Bytes {
    bytes(span).unwrap_or(0) & !(1 << span.offset)
}

/// A register read of one whole access, as sets of the bytes of one half.
#[derive(Clone, Copy, Debug)]
pub struct OneRead {
    span: RegSpan,
    half: u16,
    all: u64,
    inner: u64,
}

impl OneRead {
    /// None if it lies too far on, or in both halves.
    #[inline]
    pub fn new(span: RegSpan) -> Option<OneRead> {
        let half = span.offset / 64;
        let all = bytes(span)? >> (64 * half);
        let inner = inner(span) >> (64 * half);
        let one = OneRead { span, half, all: all as u64, inner: inner as u64 };
        (Bytes::from(one.all) == all).then_some(one)
    }

    #[inline]
    fn half(&self) -> usize {
        usize::from(self.half % 2)
    }

    #[inline]
    pub fn span(&self) -> RegSpan {
        self.span
    }

    /// Its first byte, in the register file.
    #[inline]
    pub fn first(&self) -> usize {
        self.span.offset.into()
    }
}

/// Bit of the byte behind a register.
fn end(span: RegSpan) -> Bytes {
    1u128.checked_shl((span.offset + span.size).into()).unwrap_or(0)
}

/// A read of a register that the segment does not feed, of which only the function's sums are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterRead {
    pub span: RegSpan,
    pub extent: Extent,
    pub words: Words,
}

impl RegisterRead {
    #[inline]
    pub fn new(span: RegSpan, extent: Extent) -> RegisterRead {
        RegisterRead { span, extent, words: Words::new(span) }
    }
}

/// The last write of register bytes in a segment. `loaded`: its step loaded them unchanged; `seen`:
/// the segment has read the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    pub step: u32,
    pub actor: ActorId,
    pub span: RegSpan,
    pub ordinal: u16,
    pub loaded: bool,
    pub seen: bool,
}

/// What the instance on top has written, and its cells do not say yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegisterWindow {
    written: Halves,
    /// Of these, what it has read since.
    read: Halves,
    /// Bytes with which a version begins.
    begins: Halves,
}

/// The instructions that wrote the recent bytes, and their accesses, where that is asked.
#[derive(Clone, Debug)]
pub struct Writers {
    actors: [ActorId; Bytes::BITS as usize],
    writes: [AccessId; Bytes::BITS as usize],
}

impl Default for Writers {
    fn default() -> Writers {
        Writers {
            actors: [ActorId::FIRST; Bytes::BITS as usize],
            writes: [0; Bytes::BITS as usize],
        }
    }
}

impl Writers {
    /// Who wrote a recent byte.
    #[inline]
    pub fn actor(&self, byte: usize) -> ActorId {
        self.actors[byte % Bytes::BITS as usize]
    }

    /// The access that wrote it.
    #[inline]
    fn write(&self, byte: usize) -> AccessId {
        self.writes[byte % Bytes::BITS as usize]
    }

    /// A write of a run whose first step is `seq`.
    #[inline]
    pub fn set(&mut self, write: &RegisterWrite, seq: u64) {
        let (first, size) = (usize::from(write.span.offset), usize::from(write.span.size));
        let actors = self.actors.get_mut(first..first + size).unwrap_or_default();
        let writes = self.writes.get_mut(first..first + size).unwrap_or_default();
        let id = access_id(seq + u64::from(write.step), write.ordinal);
        // Mostly a whole general register: a few stores.
        if let (Ok(actors), Ok(writes)) =
            (<&mut [_; 8]>::try_from(&mut *actors), <&mut [_; 8]>::try_from(&mut *writes))
        {
            (*actors, *writes) = ([write.actor; 8], [id; 8]);
            return;
        }
        actors.fill(write.actor);
        writes.fill(id);
    }
}

/// What a segment reads of registers that is not its own, as sets: reads of one whole access each.
#[derive(Clone, Debug, Default)]
pub struct ReadSet {
    /// Each by itself.
    each: Vec<OneRead>,
    all: Bytes,
    inner: Bytes,
    bytes: u64,
    transfers: u64,
    /// Times that all of it was recent.
    hits: u64,
    /// Sums of those reads and of single ones that were recent.
    single_bytes: u64,
    single_transfers: u64,
    unique: u64,
    /// What was counted as shared addresses, in the registers of the thread that ran last, and of the
    /// others before.
    touched: Halves,
    thread: usize,
    others: FxHashMap<usize, Halves>,
}

/// What a segment leaves in registers, as sets.
#[derive(Clone, Debug, Default)]
pub struct WriteSet {
    all: Bytes,
    /// What was read inside the segment.
    seen: Bytes,
    begins: Bytes,
    inner: Bytes,
    /// Those that may lie within a version, which would have two parts then.
    narrow: Vec<RegSpan>,
}

impl ReadSet {
    /// Takes the reads that it stands for to the front, and gives their number. `read` tells what
    /// one reads.
    pub fn take<R>(&mut self, reads: &mut [R], read: impl Fn(&R) -> (RegSpan, Extent)) -> usize {
        let one = |r: &R| {
            let (span, extent) = read(r);
            OneRead::new(span).filter(|_| extent == Extent::Whole)
        };
        // Stable: the parts of an access stay together.
        reads.sort_by_key(|r| one(r).is_none());
        self.each = reads.iter().map_while(one).collect();
        for read in &self.each {
            self.all |= bytes(read.span).unwrap_or(0);
            self.inner |= inner(read.span);
            self.bytes += u64::from(read.span.size);
            self.transfers += 1;
        }
        debug_assert_eq!(self.transfers, self.each.len() as u64, "it is filled once");
        self.each.len()
    }

    /// What was counted is somewhere else now.
    pub fn forget_sums(&mut self) {
        (self.hits, self.unique) = (0, 0);
        (self.single_bytes, self.single_transfers) = (0, 0);
    }

    /// A read of it by itself.
    #[inline]
    pub fn get(&self, i: usize) -> OneRead {
        self.each[i]
    }

    /// Reads all of it, if all is recent and of one version each.
    #[inline]
    pub fn read_all(&mut self, recent: &mut RegisterWindow) -> bool {
        if self.all & !join(recent.written) | join(recent.begins) & self.inner != 0 {
            return false;
        }
        let read = join(recent.read);
        let new = self.all & !read;
        if new != 0 {
            self.unique += u64::from(new.count_ones());
            recent.read = halves(read | new);
        }
        self.hits += 1;
        debug_assert!(recent.is_sound());
        true
    }

    /// Reads a register, if it is recent and of one version.
    #[inline]
    pub fn read(&mut self, recent: &mut RegisterWindow, one: &OneRead) -> bool {
        let half = one.half();
        if one.all & !recent.written[half] | recent.begins[half] & one.inner != 0 {
            return false;
        }
        let new = one.all & !recent.read[half];
        if new != 0 {
            self.unique += u64::from(new.count_ones());
            recent.read[half] |= new;
        }
        self.single_bytes += u64::from(one.span.size);
        self.single_transfers += 1;
        debug_assert!(recent.is_sound());
        true
    }

    /// Whether thread `t` is known to have shared these bytes with itself.
    #[inline]
    pub fn is_touched(&mut self, t: usize, one: Option<&OneRead>) -> bool {
        if t != self.thread {
            self.other_thread(t);
        }
        if let Some(one) = one {
            let touched = &mut self.touched[one.half()];
            let new = one.all & !*touched;
            *touched |= new;
            return new == 0;
        }
        let known = self.all & !join(self.touched) == 0;
        self.touched = halves(join(self.touched) | self.all);
        known
    }

    #[inline(never)]
    fn other_thread(&mut self, t: usize) {
        self.others.insert(self.thread, self.touched);
        (self.thread, self.touched) = (t, self.others.remove(&t).unwrap_or_default());
    }

    /// Bytes that were read for the first time, so far.
    #[inline]
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Bytes and transfers of all of it, once.
    #[inline]
    pub fn once(&self) -> (u64, u64) {
        (self.bytes, self.transfers)
    }

    /// Bytes, unique bytes and transfers so far.
    pub fn sums(&self) -> (u64, u64, u64) {
        let bytes = self.bytes * self.hits + self.single_bytes;
        (bytes, self.unique, self.transfers * self.hits + self.single_transfers)
    }
}

impl WriteSet {
    /// Takes the writes that may be recent to the front, and gives their number and set; None if a
    /// version among them has several parts.
    pub fn of(writes: &mut [RegisterWrite]) -> Option<(usize, WriteSet)> {
        let mut set = WriteSet::default();
        writes.sort_by_key(|w| (bytes(w.span).is_none(), w.step, w.ordinal, w.span.offset));
        let count = writes.partition_point(|w| bytes(w.span).is_some());
        for (i, w) in writes[..count].iter().enumerate() {
            set.all |= bytes(w.span)?;
            set.inner |= inner(w.span);
            set.seen |= if w.seen { bytes(w.span)? } else { 0 };
            let same = |o: &&RegisterWrite| (o.step, o.ordinal) == (w.step, w.ordinal);
            let goes_on = |o: &&RegisterWrite| o.span.offset + o.span.size == w.span.offset;
            match writes[..i].last().filter(same) {
                Some(before) if goes_on(&before) => set.inner |= 1 << w.span.offset,
                Some(_) => return None,
                None => set.begins |= 1 << w.span.offset,
            }
            set.begins |= end(w.span);
            if w.span.offset % 8 != 0 {
                set.narrow.push(w.span);
            }
        }
        set.begins &= !set.inner;
        debug_assert!(set.seen & !set.all == 0, "what was read inside was written there");
        Some((count, set))
    }
}

impl RegisterWindow {
    /// What has been read of it was written, in each half.
    fn is_sound(&self) -> bool {
        (0..2).all(|half| self.read[half] & !self.written[half] == 0)
    }

    /// The instance on top has written some byte of it, which may reach beyond what is recent.
    #[inline]
    pub fn has(&self, span: RegSpan) -> bool {
        let start = u32::from(span.offset);
        let size = Bytes::BITS.saturating_sub(start).min(u32::from(span.size));
        let all = Bytes::MAX.checked_shr(Bytes::BITS - size).unwrap_or(0);
        all.checked_shl(start).unwrap_or(0) & join(self.written) != 0
    }

    /// The instance on top has written some byte of what is read.
    #[inline]
    pub fn has_some(&self, one: &OneRead) -> bool {
        one.all & self.written[one.half()] != 0
    }

    /// The instance on top has written all of what is read.
    #[inline]
    pub fn has_all(&self, one: &OneRead) -> bool {
        one.all & !self.written[one.half()] == 0
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.written == [0; 2]
    }

    /// Writes all of a set, unless a version would have two parts then.
    #[inline]
    pub fn write_all(&mut self, set: &WriteSet) -> bool {
        let [written, read, begins] = [self.written, self.read, self.begins].map(join);
        let parts = |span: &RegSpan| {
            // Behind the last byte nothing is recent.
            let behind = end(*span);
            let edges = 1 << span.offset | behind;
            behind != 0 && edges & begins == 0 && edges & !written == 0
        };
        if set.narrow.iter().any(parts) {
            return false;
        }
        self.written = halves(written | set.all);
        self.read = halves(read & !set.all | set.seen);
        self.begins = halves(begins & !set.inner | set.begins);
        debug_assert!(self.is_sound());
        true
    }

    /// What is recent becomes what cells say; it is of `call`, whose function is `actor`. `versions`
    /// numbers them.
    #[inline(never)]
    pub fn settle(
        &mut self,
        registers: &mut Registers,
        (call, actor): (CallId, ActorId),
        versions: &mut u64,
    ) {
        self.settle_as(registers, call, |_, begins| {
            *versions += u64::from(begins);
            (RECENT_WRITE | *versions, actor)
        });
    }

    /// The same where it is known which accesses wrote it.
    #[inline(never)]
    pub fn settle_by(&mut self, registers: &mut Registers, call: CallId, writers: &Writers) {
        self.settle_as(registers, call, |byte, _| (writers.write(byte), writers.actor(byte)));
    }

    /// `writer` tells the write of a byte, and who made it; in order, with whether a version begins
    /// there.
    #[inline(always)]
    fn settle_as(
        &mut self,
        registers: &mut Registers,
        call: CallId,
        mut writer: impl FnMut(usize, bool) -> (AccessId, ActorId),
    ) {
        debug_assert!(self.is_sound());
        let RegisterWindow { written, read, begins } = std::mem::take(self);
        let mut cell = |at: usize, is_read: bool, begins: bool| {
            let reader = if is_read { call.get() } else { 0 };
            let (write, actor) = writer(at, begins);
            Cell { reader, ..Cell::written(write, call, actor) }
        };
        for half in 0..2 {
            let (mut left, read, begins) = (written[half], read[half], begins[half]);
            while left != 0 {
                // A general register: mostly both halves are one version each, all of which the
                // instance has read, or nothing.
                let at = left.trailing_zeros() & !7;
                let (all, read, begins) =
                    ((left >> at) as u8, (read >> at) as u8, (begins >> at) as u8);
                left &= !(0xff << at);
                let offset = 64 * half + at as usize;
                if all == u8::MAX && begins & !0x11 == 0 && read == (read & 0x11) * 0x0f {
                    let low = cell(offset, read & 1 != 0, begins & 1 != 0);
                    let high = cell(offset + WORD as usize, read & 0x10 != 0, begins >> 4 != 0);
                    registers.write_words(offset, [low, high]);
                    continue;
                }
                let mut bytes = all;
                while bytes != 0 {
                    // To the end of what is written, of the version, or of what was read of it.
                    let start = bytes.trailing_zeros();
                    let is_read = read >> start & 1 != 0;
                    let same_read = if is_read { !(read >> start) } else { read >> start };
                    let ends = !(bytes >> start) | (begins >> start) & !1 | same_read;
                    let len = ends.trailing_zeros().min(u8::BITS - start);
                    let at = offset + start as usize;
                    let span = RegSpan { offset: at as u16, size: len as u16 };
                    registers.write(span, cell(at, is_read, begins >> start & 1 != 0));
                    bytes &= !((u8::MAX >> (u8::BITS - len)) << start);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAX: RegSpan = RegSpan { offset: 0, size: 8 };
    const LAST: RegSpan = RegSpan { offset: 120, size: 8 };

    #[test]
    fn registers_lie_in_the_window_or_further_on() {
        let span = |offset, size| RegSpan { offset, size };
        assert_eq!((bytes(RAX), bytes(LAST)), (Some(0xff), Some(0xff << 120)));
        assert_eq!([span(121, 8), span(128, 8), span(8, 0)].map(bytes), [None; 3]);
        assert_eq!((end(RAX), end(LAST)), (1 << 8, 0));
        let window = RegisterWindow { written: [1, 0], ..RegisterWindow::default() };
        assert!(window.has(RAX) && window.has(span(0, 200)));
        for offset in [1, 64, 120, 128, 200] {
            assert!(!window.has(span(offset, 8)), "{offset}");
        }
    }

    /// What threads shared of registers is counted once each, in whatever order they run and however
    /// many they are; and a read alone counts for the reads of all together.
    #[test]
    fn what_any_thread_shared_is_remembered() {
        let mut set = ReadSet::default();
        let mut reads = [(RAX, Extent::Whole), (LAST, Extent::Whole)];
        assert_eq!(set.take(&mut reads, |read| *read), 2);
        let [low, high] = [set.get(0), set.get(1)];
        for thread in (0..130).rev() {
            assert!(!set.is_touched(thread, Some(&low)), "{thread}");
            assert!(!set.is_touched(thread, Some(&high)), "{thread}");
        }
        for thread in 0..130 {
            assert!(set.is_touched(thread, Some(&low)), "{thread}");
            assert!(set.is_touched(thread, None), "{thread}");
            assert!(set.is_touched(thread, Some(&high)), "{thread}");
        }
        assert!(!set.is_touched(130, None));
        assert!(set.is_touched(130, Some(&high)) && set.is_touched(129, None));
    }

    /// Version and whether it was read, of each byte.
    type List = [Option<(u64, bool)>; 128];

    struct Checked {
        seed: u64,
        recent: RegisterWindow,
        registers: Registers,
        versions: u64,
        /// What is recent, and what cells are to say.
        list: List,
        settled: List,
    }

    impl Checked {
        fn below(&mut self, n: u64) -> u64 {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            (self.seed >> 11) % n
        }

        /// A part of a register of 8 bytes.
        fn span(&mut self) -> RegSpan {
            let size = [1, 1, 2, 4, 8, 8][self.below(6) as usize];
            let within = match size {
                1 => self.below(3),
                _ => self.below(8 / size) * size,
            };
            let offset = 8 * self.below(16) + within;
            RegSpan { offset: offset as u16, size: size as u16 }
        }

        fn bytes(span: RegSpan) -> std::ops::Range<usize> {
            span.offset.into()..usize::from(span.offset + span.size)
        }

        /// A version would lie on both sides of what is written.
        fn divides(&self, span: RegSpan) -> bool {
            let range = Checked::bytes(span);
            let version = |at: Option<usize>| Some(self.list.get(at?)?.as_ref()?.0);
            let before = version(range.start.checked_sub(1));
            before.is_some() && before == version(Some(range.end))
        }

        /// Each byte's cell is of its version and read if it was, and cells of two versions differ.
        fn settle(&mut self) {
            let (call, actor) = (CallId::at(4), ActorId::FIRST);
            self.recent.settle(&mut self.registers, (call, actor), &mut self.versions);
            assert!(self.recent.is_empty());
            let list = std::mem::replace(&mut self.list, [None; 128]);
            for (to, from) in self.settled.iter_mut().zip(list) {
                *to = from.or(*to);
            }
            let mut known = FxHashMap::default();
            for (at, expected) in self.settled.into_iter().enumerate() {
                let one = RegSpan { offset: at as u16, size: 1 };
                self.registers.visit(one, |_, _, _, cell| match expected {
                    None => assert_eq!(cell.write, 0, "{at}"),
                    Some((version, read)) => {
                        assert_eq!(*known.entry(version).or_insert(cell.write), cell.write, "{at}");
                        assert_eq!(
                            (cell.reader == call.get(), cell.reader == 0),
                            (read, !read),
                            "{at}"
                        );
                        assert_eq!(cell.actor, actor.get());
                    }
                });
            }
            let mut writes: Vec<_> = known.values().collect();
            writes.sort_unstable();
            writes.dedup();
            assert_eq!(writes.len(), known.len());
        }

        fn write(&mut self) -> bool {
            let mut writes = Vec::new();
            for step in 0..1 + self.below(2) as u32 {
                let (span, seen) = (self.span(), self.below(2) == 0);
                let write = RegisterWrite {
                    step,
                    actor: ActorId::FIRST,
                    span,
                    ordinal: 0,
                    loaded: false,
                    seen,
                };
                let apart = |w: &RegisterWrite| w.span.offset / 8 != span.offset / 8;
                if writes.iter().all(apart) {
                    writes.push(write);
                }
            }
            let (count, set) = WriteSet::of(&mut writes).expect("a part each");
            assert_eq!(count, writes.len());
            let divides = writes.iter().any(|w| self.divides(w.span));
            let before = self.recent.written;
            assert_eq!(self.recent.write_all(&set), !divides, "{writes:?}");
            if divides {
                assert_eq!(self.recent.written, before);
                self.settle();
                assert!(self.recent.write_all(&set));
            }
            for write in writes {
                self.versions += 1;
                let version = (self.versions, write.seen);
                self.list[Checked::bytes(write.span)].fill(Some(version));
                assert!(self.recent.has(write.span));
            }
            divides
        }

        fn read(&mut self) -> bool {
            let span = self.span();
            let found = &self.list[Checked::bytes(span)];
            let first = found[0];
            let whole =
                first.is_some() && found.iter().all(|b| b.map(|b| b.0) == first.map(|b| b.0));
            let some = found.iter().any(Option::is_some);
            let all = found.iter().all(Option::is_some);
            let unread = found.iter().filter(|b| b.is_some_and(|b| !b.1)).count() as u64;
            let mut set = ReadSet::default();
            assert_eq!(set.take(&mut [(span, Extent::Whole)], |read| *read), 1);
            let one = set.get(0);
            assert_eq!((one.span(), one.first()), (span, span.offset.into()));
            assert_eq!((self.recent.has_some(&one), self.recent.has(span)), (some, some));
            assert_eq!(self.recent.has_all(&one), all);
            let hit = match self.below(2) {
                0 => set.read(&mut self.recent, &one),
                _ => set.read_all(&mut self.recent),
            };
            assert_eq!(hit, whole, "{span:?}");
            let size = u64::from(span.size);
            assert_eq!(set.once(), (size, 1));
            assert_eq!(set.sums(), if hit { (size, unread, 1) } else { (0, 0, 0) });
            if hit {
                self.list[Checked::bytes(span)].iter_mut().flatten().for_each(|byte| byte.1 = true);
            }
            hit
        }
    }

    /// Random writes and reads of parts of registers, against a list of the bytes.
    #[test]
    fn recent_registers_are_what_a_list_of_bytes_says() {
        let mut checked = Checked {
            seed: 0x9e37_79b9_7f4a_7c15,
            recent: RegisterWindow::default(),
            registers: Registers::new(128),
            versions: 0,
            list: [None; 128],
            settled: [None; 128],
        };
        let (mut divided, mut hits) = (0, 0);
        for _ in 0..30_000 {
            match checked.below(16) {
                0 => checked.settle(),
                1..8 => divided += u32::from(checked.write()),
                _ => hits += u32::from(checked.read()),
            }
        }
        assert!(divided > 300 && hits > 1500, "{divided} {hits}");
    }

    /// Registers beyond the first 128 bytes, those across its halves, and parts of accesses are not among them.
    #[test]
    fn what_is_not_recent_is_read_otherwise() {
        let at = |offset, size| RegSpan { offset, size };
        assert!(OneRead::new(at(120, 8)).is_some() && OneRead::new(at(64, 1)).is_some());
        for span in [at(121, 8), at(128, 8), at(60, 8), at(63, 2), at(0, 0)] {
            assert!(OneRead::new(span).is_none(), "{span:?}");
        }
        let mut reads = [(at(128, 8), Extent::Whole), (RAX, Extent::More), (LAST, Extent::Whole)];
        let mut set = ReadSet::default();
        assert_eq!(set.take(&mut reads, |read| *read), 1);
        assert_eq!((reads[0].0, set.once()), (LAST, (8, 1)));
        let write = |span, step, ordinal| RegisterWrite {
            step,
            actor: ActorId::FIRST,
            span,
            ordinal,
            loaded: false,
            seen: false,
        };
        // One write of two adjacent parts is one version; of two that are apart it is none for a set.
        let mut adjacent = [write(at(4, 4), 0, 1), write(at(0, 4), 0, 1)];
        let (count, whole) = WriteSet::of(&mut adjacent).expect("one version");
        assert_eq!((count, whole.begins & 0xff, whole.inner & 0xff), (2, 1, 0xfe));
        let mut apart = [write(at(0, 2), 0, 1), write(at(4, 4), 0, 1)];
        assert!(WriteSet::of(&mut apart).is_none());
        let mut others = [write(at(0, 2), 0, 1), write(at(4, 4), 0, 2), write(at(128, 8), 0, 3)];
        let (count, set) = WriteSet::of(&mut others).expect("two versions");
        assert_eq!((count, set.all, set.begins & 0xff), (2, 0xf3, 0x15));
    }

    /// Accesses of several registers may lie on both sides of the last byte that can be recent.
    #[test]
    fn has_what_reaches_beyond() {
        let span = |offset, size| RegSpan { offset, size };
        let write = |offset, size| RegisterWrite {
            step: 0,
            actor: ActorId::FIRST,
            span: span(offset, size),
            // Writes of their own.
            ordinal: offset,
            loaded: false,
            seen: false,
        };
        let mut recent = RegisterWindow::default();
        let (_, set) = WriteSet::of(&mut [write(124, 4), write(8, 8)]).expect("a set");
        assert!(recent.write_all(&set));
        for (offset, size) in [(124, 4), (124, 12), (127, 1), (112, 64), (8, 8), (15, 1), (0, 128)]
        {
            assert!(recent.has(span(offset, size)), "{offset}+{size}");
        }
        for (offset, size) in [(128, 4), (128, 64), (200, 8), (120, 4), (16, 108), (0, 8), (124, 0)]
        {
            assert!(!recent.has(span(offset, size)), "{offset}+{size}");
        }
    }
}
