//! Registers that the instance on top of a thread's stack has written itself since control came to
//! it. Nearly all that a program reads of registers is such, and it is alike: one instance handed it
//! to itself. Where that is no row of communication, a segment's reads and writes of them are a few
//! operations on sets of bytes, and cells are written when something else needs them. Where more is
//! asked than sums of functions, who wrote a byte is known beside: [`Writers`].

use super::access::Extent;
use super::shadow::{AccessId, Cell, RECENT_WRITE, Registers, WORD, Words, access_id};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId};

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
pub struct Recent {
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
    /// What was counted as shared addresses, in the registers of the thread that ran last.
    touched: Halves,
    thread: usize,
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
        self.each.len()
    }

    /// A read of it by itself.
    #[inline]
    pub fn get(&self, i: usize) -> OneRead {
        self.each[i]
    }

    /// Reads all of it, if all is recent and of one version each.
    #[inline]
    pub fn read_all(&mut self, recent: &mut Recent) -> bool {
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
        true
    }

    /// Reads a register, if it is recent and of one version.
    #[inline]
    pub fn read(&mut self, recent: &mut Recent, one: &OneRead) -> bool {
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
        true
    }

    /// Whether thread `t` is known to have shared these bytes with itself.
    #[inline]
    pub fn is_touched(&mut self, t: usize, one: Option<&OneRead>) -> bool {
        if t != self.thread {
            (self.thread, self.touched) = (t, [0; 2]);
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
        Some((count, set))
    }
}

impl Recent {
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
            let edges = 1 << span.offset | end(*span);
            (edges & begins) == 0 && edges & !written == 0
        };
        if set.narrow.iter().any(parts) {
            return false;
        }
        self.written = halves(written | set.all);
        self.read = halves(read & !set.all | set.seen);
        self.begins = halves(begins & !set.inner | set.begins);
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
        let Recent { written, read, begins } = std::mem::take(self);
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

    /// Accesses of several registers may lie on both sides of the last byte that can be recent.
    #[test]
    fn has_what_reaches_beyond() {
        let span = |offset, size| RegSpan { offset, size };
        let write = |offset, size| RegisterWrite {
            step: 0,
            actor: ActorId::FIRST,
            span: span(offset, size),
            ordinal: 0,
            loaded: false,
            seen: false,
        };
        let mut recent = Recent::default();
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
