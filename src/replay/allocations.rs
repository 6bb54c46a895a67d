//! Heap allocations of a run, and the accesses to each: calls of allocation functions, with
//! arguments and results from the values of the registers that pass them.
//!
//! An allocation lives from the step after the call that gave it to the step before the call that
//! takes it back. Only the outermost call of an allocation function counts, and what runs within it
//! is the allocator's own work.

use super::{Code, Piece, Place, Places, ReplayError};
use crate::event::{Isa, RegSpan};
use crate::isa::registers;
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// What a call of an allocation function does, by the numbers of its arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocator {
    pub name: &'static str,
    /// How many bytes it is asked for, times what.
    bytes: Option<(u8, Option<u8>)>,
    /// The allocation that it takes back.
    released: Option<u8>,
    /// Where it stores the address, instead of returning it.
    through: Option<u8>,
}

const fn gives(
    name: &'static str,
    bytes: u8,
    times: Option<u8>,
    released: Option<u8>,
) -> Allocator {
    Allocator { name, bytes: Some((bytes, times)), released, through: None }
}

const fn takes(name: &'static str, released: u8) -> Allocator {
    Allocator { name, bytes: None, released: Some(released), through: None }
}

/// C's, and newlib's with the reentrancy structure as the first argument.
static C: [Allocator; 18] = [
    gives("malloc", 0, None, None),
    gives("calloc", 0, Some(1), None),
    gives("realloc", 1, None, Some(0)),
    gives("reallocarray", 1, Some(2), Some(0)),
    gives("memalign", 1, None, None),
    gives("aligned_alloc", 1, None, None),
    Allocator { name: "posix_memalign", bytes: Some((2, None)), released: None, through: Some(0) },
    gives("valloc", 0, None, None),
    gives("pvalloc", 0, None, None),
    takes("free", 0),
    takes("cfree", 0),
    takes("free_sized", 0),
    takes("free_aligned_sized", 0),
    gives("_malloc_r", 1, None, None),
    gives("_calloc_r", 1, Some(2), None),
    gives("_realloc_r", 2, None, Some(1)),
    gives("_memalign_r", 2, None, None),
    takes("_free_r", 1),
];

/// C++'s by the beginning of the mangled name, and what may follow it. Placement new (`_ZnwmPv`)
/// allocates nothing.
static CXX: [(&[&str], Allocator); 4] = [
    (&["_Znwm", "_Znwj"], gives("operator new", 0, None, None)),
    (&["_Znam", "_Znaj"], gives("operator new[]", 0, None, None)),
    (&["_ZdlPv"], takes("operator delete", 0)),
    (&["_ZdaPv"], takes("operator delete[]", 0)),
];
const CXX_MORE: [&str; 10] = [
    "",
    "m",
    "j",
    "RKSt9nothrow_t",
    "St11align_val_t",
    "St11align_val_tRKSt9nothrow_t",
    "mSt11align_val_t",
    "jSt11align_val_t",
    "mSt11align_val_tRKSt9nothrow_t",
    "jSt11align_val_tRKSt9nothrow_t",
];

/// The allocation function of a name in a symbol table: `malloc`, `__libc_malloc`,
/// `__GI___libc_malloc`, `malloc@plt`, `_Znwm`.
pub fn allocator(symbol: &str) -> Option<&'static Allocator> {
    let name = symbol.split('@').next().unwrap_or_default();
    for (begins, allocator) in &CXX {
        let rest = begins.iter().find_map(|b| name.strip_prefix(b));
        if rest.is_some_and(|r| CXX_MORE.contains(&r)) {
            return Some(allocator);
        }
    }
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    let plain = name.strip_prefix("__libc_").unwrap_or(name);
    let plain = plain.strip_prefix("__").unwrap_or(plain);
    C.iter().find(|a| a.name == name || a.name == plain)
}

/// Registers of the calling convention: arguments, and the result behind them.
fn convention(isa: Isa) -> Option<Vec<RegSpan>> {
    let names: &[&str] = match isa {
        Isa::X86_64 => &["rdi", "rsi", "rdx", "rax"],
        Isa::Arm => &["r0", "r1", "r2", "r0"],
        Isa::Aarch64 => &["x0", "x1", "x2", "x0"],
        Isa::Riscv32 | Isa::Riscv64 => &["a0", "a1", "a2", "a0"],
        Isa::X86 => return None,
    };
    names.iter().map(|n| registers(isa).lookup(n)).collect()
}

const RESULT: u8 = 3;

/// An allocation, ended or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// From 1, in the order in which they were given.
    pub number: u64,
    pub address: u64,
    /// Bytes asked for.
    pub bytes: u64,
    pub site: Site,
    /// Last step of the call that gave it.
    pub allocated: i64,
    /// First step of the call that took it back; None: never, or unseen.
    pub freed: Option<i64>,
    pub traffic: Traffic,
    pub first_use: Option<i64>,
    pub last_use: Option<i64>,
}

/// Where allocations are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// What stands for the instruction that calls, 0: not in the trace.
    pub instruction: i32,
    /// The allocation function.
    pub allocator: i32,
}

/// Accesses in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub read: u64,
    pub written: u64,
    /// Distinct bytes read.
    pub unique_read: u64,
    /// Written, and overwritten or left without being read. Bytes that a reallocation takes along
    /// die where they end.
    pub dead: u64,
}

/// All allocations of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub bytes: u64,
    pub live: u64,
    /// The most bytes that lived at a time.
    pub peak: u64,
    pub traffic: Traffic,
    /// Steps that they lived, all together; those that were never freed to the end of the run.
    pub steps: i64,
}

#[derive(Debug, Default)]
pub struct Allocations {
    pub sites: BTreeMap<Site, Sum>,
    /// The first ones, in the order in which they were given.
    pub each: Vec<Allocation>,
    pub count: u64,
    /// Accesses to the heap by what runs within calls of allocation functions.
    pub allocator: Traffic,
    /// Other accesses to the heap beside live allocations.
    pub elsewhere: Traffic,
    /// Allocation functions by their ids.
    pub functions: FxHashMap<i32, &'static Allocator>,
    /// Outermost calls of them.
    pub calls: u64,
    /// Calls whose arguments or results the trace does not tell.
    pub unknown: u64,
    /// Allocations that overlap a later one: nobody was seen to take them back.
    pub overlapped: u64,
}

const PAGE: u64 = 4096;
/// States of a byte of a live allocation.
const READ: u8 = 1;
const UNREAD: u8 = 2;

/// Adjacent addresses in one allocation, or between two.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
    slot: Option<u32>,
}

/// Live allocations of a process.
#[derive(Default)]
struct Heap {
    starts: BTreeMap<u64, u32>,
    live: Vec<Live>,
    spare: Vec<u32>,
    /// States of bytes, 0 outside of live allocations.
    pages: FxHashMap<u64, Box<[u8; PAGE as usize]>>,
    /// Where accesses were last: in an allocation, between allocations.
    recent: [Option<Span>; 2],
}

#[derive(Default)]
struct Live {
    allocation: Allocation,
    /// First step of the reallocation under way.
    moving: Option<i64>,
}

/// Last address of bytes that begin at one; of none the first.
fn last_of(address: u64, bytes: u64) -> u64 {
    address.saturating_add(bytes.saturating_sub(1))
}

impl Heap {
    fn find(&mut self, address: u64) -> Span {
        if let Some(span) =
            self.recent.iter().flatten().find(|s| s.first <= address && address <= s.last)
        {
            return *span;
        }
        let below = self.starts.range(..=address).next_back().map(|(&start, &slot)| {
            let bytes = self.live[slot as usize].allocation.bytes;
            Span { first: start, last: last_of(start, bytes), slot: (bytes > 0).then_some(slot) }
        });
        let span = match below {
            Some(span) if span.slot.is_some() && address <= span.last => span,
            _ => {
                // What has no bytes begins no gap, but it may end in one.
                let first =
                    below.map_or(0, |b| if b.slot.is_some() { b.last + 1 } else { b.first });
                let next = address.checked_add(1).and_then(|a| self.starts.range(a..).next());
                Span { first, last: next.map_or(u64::MAX, |(&n, _)| n - 1), slot: None }
            }
        };
        self.recent[usize::from(span.slot.is_none())] = Some(span);
        span
    }

    /// Slots of allocations that share bytes, or the beginning, with these.
    fn overlapping(&self, address: u64, bytes: u64) -> Vec<u32> {
        let last = last_of(address, bytes);
        let mut found: Vec<u32> =
            self.starts.range(address..=last).map(|(_, &slot)| slot).collect();
        if let Some((&start, &slot)) = self.starts.range(..address).next_back() {
            let bytes = self.live[slot as usize].allocation.bytes;
            if bytes > 0 && last_of(start, bytes) >= address {
                found.push(slot);
            }
        }
        found
    }

    fn insert(&mut self, allocation: Allocation) -> u32 {
        let address = allocation.address;
        let live = Live { allocation, moving: None };
        let slot = match self.spare.pop() {
            Some(slot) => {
                self.live[slot as usize] = live;
                slot
            }
            None => {
                self.live.push(live);
                self.live.len() as u32 - 1
            }
        };
        self.starts.insert(address, slot);
        self.recent = [None; 2];
        slot
    }

    fn remove(&mut self, slot: u32) -> Allocation {
        let allocation = std::mem::take(&mut self.live[slot as usize]).allocation;
        self.starts.remove(&allocation.address);
        self.spare.push(slot);
        self.recent = [None; 2];
        allocation
    }

    /// Accesses to bytes of one live allocation: bytes read for the first time, bytes written over
    /// unread ones.
    fn touch(&mut self, address: u64, bytes: u64, is_write: bool) -> (u64, u64) {
        let (mut first_read, mut dead) = (0, 0);
        let (mut at, mut left) = (address, bytes);
        while left > 0 {
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
            let from = (at % PAGE) as usize;
            let part = left.min(PAGE - at % PAGE) as usize;
            for state in &mut page[from..from + part] {
                if is_write {
                    dead += u64::from(*state & UNREAD != 0);
                    *state |= UNREAD;
                } else {
                    first_read += u64::from(*state & READ == 0);
                    *state = READ;
                }
            }
            at = at.wrapping_add(part as u64);
            left -= part as u64;
        }
        (first_read, dead)
    }

    /// Takes the states of an allocation's bytes away; gives those left unread, as offsets and
    /// lengths in order.
    fn take_unread(&mut self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut unread: Vec<(u64, u64)> = Vec::new();
        if bytes == 0 {
            return unread;
        }
        let last = last_of(address, bytes);
        let numbers = address / PAGE..=last / PAGE;
        // An allocation may be much larger than what was touched of it.
        let touched: Vec<u64> = if last / PAGE - address / PAGE < self.pages.len() as u64 {
            numbers.collect()
        } else {
            let mut list: Vec<u64> =
                self.pages.keys().copied().filter(|n| numbers.contains(n)).collect();
            list.sort_unstable();
            list
        };
        for number in touched {
            let Some(page) = self.pages.get_mut(&number) else { continue };
            let (first, end) = (number * PAGE, number * PAGE + (PAGE - 1));
            let (from, to) = (address.max(first) - first, last.min(end) - first);
            for (i, state) in page[from as usize..=to as usize].iter_mut().enumerate() {
                if *state & UNREAD != 0 {
                    let offset = first + from + i as u64 - address;
                    match unread.last_mut() {
                        Some((start, length)) if *start + *length == offset => *length += 1,
                        _ => unread.push((offset, 1)),
                    }
                }
                *state = 0;
            }
            if from == 0 && to == PAGE - 1 {
                self.pages.remove(&number);
            }
        }
        unread
    }
}

/// A row of `allocation_calls.sql`.
struct Call {
    call: i32,
    function: i32,
    thread: i32,
    tail_of: Option<i32>,
    signal: bool,
    returns: bool,
    tail: bool,
    first: i64,
    last: i64,
}

/// An outermost call of an allocation function.
struct Work {
    allocator: &'static Allocator,
    site: Site,
    first: i64,
    /// Bytes asked for.
    bytes: Option<u64>,
    /// The allocation that is reallocated: address and number.
    moved: Option<(u64, u64)>,
    through: Option<u64>,
    /// What was stored there.
    stored: Option<u64>,
}

/// A live call of an allocation function, or of a signal handler.
struct Frame {
    call: i32,
    /// Last step; the largest number while a jump leads on.
    last: i64,
    returns: bool,
    /// None: a signal handler, which is no work of what it interrupts.
    work: Option<Work>,
    /// Registers at its beginning: what a signal handler interrupts has them again.
    before: [Register; 4],
}

/// Bytes of a register: a value and which of its bytes are known.
#[derive(Clone, Copy, Default)]
struct Register {
    value: u64,
    known: u8,
}

#[derive(Default)]
struct Thread {
    registers: [Register; 4],
    frames: Vec<Frame>,
    /// Last instruction.
    last: i32,
    /// Of its process.
    heap: usize,
}

/// A write to a register of the calling convention.
#[derive(Clone, Copy)]
struct RegisterWrite {
    step: u32,
    register: u8,
    /// First byte of the register, first byte of the value, bytes.
    to: u8,
    from: u8,
    bytes: u8,
    value: Option<u32>,
}

struct Finder<'a> {
    code: &'a Code,
    places: &'a Places,
    found: Allocations,
    /// By instruction id: the one that stands for its site.
    sites: &'a [i32],
    /// Allocations to list.
    keep: u64,
    functions: FxHashMap<i32, &'static Allocator>,
    convention: Vec<RegSpan>,
    /// One for each process.
    heaps: Vec<Heap>,
    threads: Vec<Thread>,
    /// By block id.
    writes: Vec<Option<Box<[RegisterWrite]>>>,
    calls: VecDeque<Call>,
    /// Whether a page is heap, where all of it is or is not.
    is_heap: FxHashMap<u64, bool>,
}

/// What of registers `convention` the accesses of a block write.
fn register_writes(block: &super::Block, convention: &[RegSpan]) -> Box<[RegisterWrite]> {
    let mut writes = Vec::new();
    for access in block.accesses.iter().filter(|a| a.is_write) {
        let Place::Register(address) = access.place else { continue };
        for (i, register) in convention.iter().enumerate() {
            let (first, end) =
                (u32::from(register.offset), u32::from(register.offset + register.size));
            let (from, to) = (address.max(first), address.saturating_add(access.size).min(end));
            if from < to {
                writes.push(RegisterWrite {
                    step: access.step,
                    register: i as u8,
                    to: (from - first) as u8,
                    from: (from - address).min(8) as u8,
                    bytes: (to - from) as u8,
                    value: access.value.filter(|_| access.size <= 8),
                });
            }
        }
    }
    writes.into()
}

/// The lowest bytes of a word.
fn mask(bytes: u8) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

impl Finder<'_> {
    /// A thread that is not in the table of threads, as no trace has, is thread 0.
    fn thread(&mut self, thread: i32) -> &mut Thread {
        let at = usize::try_from(thread).ok().filter(|&t| t < self.threads.len()).unwrap_or(0);
        &mut self.threads[at]
    }

    fn heap(&mut self, thread: i32) -> &mut Heap {
        let heap = self.thread(thread).heap;
        &mut self.heaps[heap]
    }

    fn argument(&mut self, thread: i32, number: u8) -> Option<u64> {
        let size = self.convention[number as usize].size as u8;
        let register = self.thread(thread).registers[number as usize];
        let all = mask(size);
        (u32::from(register.known).trailing_ones() >= u32::from(size))
            .then_some(register.value & all)
    }

    /// Ends calls of a thread whose last step lies before one.
    fn settle(&mut self, thread: i32, before: i64) {
        while let Some(frame) = self.thread(thread).frames.pop_if(|f| f.last < before) {
            match frame.work {
                Some(work) => self.finish(thread, work, frame.last, frame.returns),
                None if frame.returns => self.thread(thread).registers = frame.before,
                None => {}
            }
        }
    }

    /// A call begins, or what goes on for one.
    fn begin(&mut self, call: &Call) {
        let allocator = self.functions.get(&call.function).copied();
        let last = if call.tail { i64::MAX } else { call.last };
        let thread = self.thread(call.thread);
        if let Some(frame) = thread.frames.last_mut().filter(|f| call.tail_of == Some(f.call)) {
            (frame.call, frame.last, frame.returns) = (call.call, last, call.returns);
            return;
        }
        let frame = Frame {
            call: call.call,
            last,
            returns: call.returns,
            work: None,
            before: thread.registers,
        };
        if call.signal {
            thread.frames.push(frame);
            return;
        }
        let caller = thread.last;
        let (Some(allocator), true) =
            (allocator, thread.frames.last().is_none_or(|f| f.work.is_none()))
        else {
            return;
        };
        let instruction = self.sites.get(caller.max(0) as usize).copied().unwrap_or(0);
        let site = Site { instruction, allocator: call.function };
        let work = Some(self.work(call, allocator, site));
        self.found.calls += 1;
        self.thread(call.thread).frames.push(Frame { work, ..frame });
    }

    fn work(&mut self, call: &Call, allocator: &'static Allocator, site: Site) -> Work {
        let mut argument = |number| self.argument(call.thread, number);
        let bytes = allocator.bytes.and_then(|(n, times)| {
            // A product that is too large gets nothing.
            Some(argument(n)?.saturating_mul(times.map_or(Some(1), &mut argument)?))
        });
        let (released, through) =
            (allocator.released.map(&mut argument), allocator.through.and_then(&mut argument));
        let mut work =
            Work { allocator, site, first: call.first, bytes, moved: None, through, stored: None };
        if allocator.bytes.is_some() && bytes.is_none() || released == Some(None) {
            self.found.unknown += 1;
        }
        if let Some(address) = released.flatten() {
            let heap = self.heap(call.thread);
            if let Some(&slot) = heap.starts.get(&address) {
                if allocator.bytes.is_some() {
                    let live = &mut heap.live[slot as usize];
                    live.moving = Some(call.first);
                    work.moved = Some((address, live.allocation.number));
                } else {
                    self.end(call.thread, slot, Some(call.first), 0);
                }
            }
        }
        work
    }

    /// The end of an outermost call.
    fn finish(&mut self, thread: i32, work: Work, last: i64, returns: bool) {
        if work.allocator.bytes.is_none() || !returns {
            return;
        }
        let mut address = self.argument(thread, RESULT);
        if work.allocator.through.is_some() && address == Some(0) {
            address = work.stored;
        } else if work.allocator.through.is_some() && address.is_some() {
            // An error number.
            address = Some(0);
        }
        // It may have been given to another thread in the meantime.
        let moved = work.moved.and_then(|(old, number)| {
            let heap = self.heap(thread);
            let slot = *heap.starts.get(&old)?;
            (heap.live[slot as usize].allocation.number == number).then_some(slot)
        });
        let unread = match (moved, address) {
            // It failed: the old one lives on.
            (Some(slot), Some(0)) if work.bytes != Some(0) => {
                self.heap(thread).live[slot as usize].moving = None;
                return;
            }
            (Some(slot), _) => {
                let taken_along = if address == Some(0) { 0 } else { work.bytes.unwrap_or(0) };
                self.end(thread, slot, Some(work.first), taken_along)
            }
            _ => Vec::new(),
        };
        let (Some(address), Some(bytes)) = (address, work.bytes) else {
            self.found.unknown += u64::from(address.is_none() && work.bytes.is_some());
            return;
        };
        if address == 0 {
            return;
        }
        // Bytes cannot go beyond the end of memory.
        let bytes = bytes.min((u64::MAX - address).saturating_add(1));
        for slot in self.heap(thread).overlapping(address, bytes) {
            let moving = self.heap(thread).live[slot as usize].moving;
            self.found.overlapped += u64::from(moving.is_none());
            self.end(thread, slot, moving, 0);
        }
        self.found.count += 1;
        let site = work.site;
        let sum = self.found.sites.entry(site).or_default();
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.live = sum.live.saturating_add(bytes);
        sum.peak = sum.peak.max(sum.live);
        let allocation = Allocation {
            number: self.found.count,
            address,
            bytes,
            site,
            allocated: last,
            ..Allocation::default()
        };
        let heap = self.heap(thread);
        heap.insert(allocation);
        for (offset, length) in unread {
            let kept = length.min(bytes.saturating_sub(offset));
            heap.touch(address.wrapping_add(offset), kept, true);
        }
    }

    /// Ends an allocation. Of its first `taken_along` bytes those that nobody read do not die yet:
    /// which these are, as offsets and lengths.
    fn end(
        &mut self,
        thread: i32,
        slot: u32,
        freed: Option<i64>,
        taken_along: u64,
    ) -> Vec<(u64, u64)> {
        let last = self.code.last;
        let heap = self.heap(thread);
        let mut allocation = heap.remove(slot);
        let mut unread = heap.take_unread(allocation.address, allocation.bytes);
        allocation.freed = freed;
        for (offset, length) in &mut unread {
            let along = taken_along.saturating_sub(*offset).min(*length);
            allocation.traffic.dead += *length - along;
            *length = along;
        }
        unread.retain(|u| u.1 > 0);
        let sum = self.found.sites.entry(allocation.site).or_default();
        sum.live = sum.live.saturating_sub(allocation.bytes);
        sum.steps =
            sum.steps.saturating_add(freed.unwrap_or(last).saturating_sub(allocation.allocated));
        sum.traffic.read += allocation.traffic.read;
        sum.traffic.written += allocation.traffic.written;
        sum.traffic.unique_read += allocation.traffic.unique_read;
        sum.traffic.dead += allocation.traffic.dead;
        if allocation.number <= self.keep {
            self.found.each.push(allocation);
        }
        unread
    }

    /// Whether the profile counts an address as heap.
    fn is_heap(&mut self, address: u64) -> bool {
        if let Some(&known) = self.is_heap.get(&(address / PAGE)) {
            return known;
        }
        let found = self.places.is_heap(address);
        if self.places.is_uniform(address / PAGE * PAGE, PAGE) {
            self.is_heap.insert(address / PAGE, found);
        }
        found
    }

    fn access(
        &mut self,
        thread: i32,
        seq: i64,
        working: bool,
        access: &super::BlockAccess,
        address: u64,
    ) {
        let mut heap_access = None;
        let (mut at, mut left) = (address, u64::from(access.size));
        while left > 0 {
            let heap = self.heap(thread);
            let span = heap.find(at);
            let part = left.min((span.last - at).saturating_add(1));
            if let (Some(slot), false) = (span.slot, working) {
                let (first_read, dead) = if access.is_write || !access.is_control {
                    heap.touch(at, part, access.is_write)
                } else {
                    (0, 0)
                };
                let allocation = &mut heap.live[slot as usize].allocation;
                *(if access.is_write {
                    &mut allocation.traffic.written
                } else {
                    &mut allocation.traffic.read
                }) += part;
                allocation.traffic.unique_read += first_read;
                allocation.traffic.dead += dead;
                allocation.first_use.get_or_insert(seq);
                allocation.last_use = Some(seq);
            } else if *heap_access.get_or_insert_with(|| self.is_heap(address)) {
                let traffic =
                    if working { &mut self.found.allocator } else { &mut self.found.elsewhere };
                *(if access.is_write { &mut traffic.written } else { &mut traffic.read }) += part;
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let (thread, first) = (piece.thread, piece.seq(piece.first_step));
        self.settle(thread, first);
        while let Some(call) = self.calls.pop_front_if(|c| c.first <= first) {
            self.begin(&call);
        }
        let working = self.thread(thread).frames.last().is_some_and(|f| f.work.is_some());
        // posix_memalign stores the address that it gives.
        let through = self.thread(thread).frames.last().and_then(|f| f.work.as_ref()?.through);
        for step in piece.first_step..piece.end_step {
            for access in piece.block.accesses_of(step) {
                if let Place::Memory(index) = access.place
                    && let Some(&address) = piece.address.get(index as usize)
                {
                    self.access(thread, piece.seq(step), working, access, address);
                    if through == Some(address) && access.is_write {
                        let word = u32::from(self.convention[usize::from(RESULT)].size);
                        let value = access
                            .value
                            .filter(|_| access.size == word)
                            .and_then(|v| *piece.value.get(v as usize)?);
                        if let Some(work) =
                            self.thread(thread).frames.last_mut().and_then(|f| f.work.as_mut())
                        {
                            work.stored = value;
                        }
                    }
                }
            }
        }
        let block = piece.block_id.max(0) as usize;
        if block >= self.writes.len() {
            self.writes.resize_with(block + 1, || None);
        }
        let writes = self.writes[block]
            .take()
            .unwrap_or_else(|| register_writes(piece.block, &self.convention));
        let registers = &mut self.thread(thread).registers;
        let from = writes.partition_point(|w| (w.step as usize) < piece.first_step);
        for write in writes[from..].iter().take_while(|w| (w.step as usize) < piece.end_step) {
            let register = &mut registers[usize::from(write.register)];
            let bits = ((1u16 << write.bytes) - 1) as u8;
            match write.value.and_then(|v| piece.value.get(v as usize).copied().flatten()) {
                Some(value) => {
                    let place = mask(write.bytes) << (8 * write.to);
                    let moved =
                        value.checked_shr(8 * u32::from(write.from)).unwrap_or(0) << (8 * write.to);
                    register.value = register.value & !place | moved & place;
                    register.known |= bits << write.to;
                }
                None => register.known &= !(bits << write.to),
            }
        }
        self.writes[block] = Some(writes);
        self.thread(thread).last = piece.block.instructions[piece.end_step - 1];
    }

    fn load(
        &mut self,
        connection: &Connection,
        functions: &str,
        (first, last): (i64, i64),
    ) -> Result<(), ReplayError> {
        let mut statement =
            connection.prepare(include_str!("../../queries/report/allocation_calls.sql"))?;
        let mut rows = statement.query(params![first, last, functions])?;
        while let Some(r) = rows.next()? {
            self.calls.push_back(Call {
                call: r.get(0)?,
                function: r.get(1)?,
                thread: r.get(2)?,
                tail_of: r.get(3)?,
                signal: r.get(4)?,
                returns: r.get(5)?,
                tail: r.get(6)?,
                first: r.get(7)?,
                last: r.get(8)?,
            });
        }
        Ok(())
    }
}

/// Calls are fetched for so many steps at a time.
const WINDOW: i64 = 1 << 20;

/// Goes through the run once. Lists the first `keep` allocations, and sums all by site; `sites` has
/// by instruction id the one that stands for its site. `more`: functions that do what allocation
/// functions do.
pub fn allocations(
    code: Code,
    connection: &Connection,
    places: &Places,
    more: &[(i32, &'static Allocator)],
    sites: &[i32],
    keep: u64,
) -> Result<Allocations, ReplayError> {
    let sql = include_str!("../../queries/report/replay_carries.sql");
    let (isa, valued, format): (Option<String>, Option<i64>, Option<String>) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
    if valued.unwrap_or(0) == 0 {
        let format = format.unwrap_or_else(|| "unknown".into());
        return Err(ReplayError::NoValues {
            why: format!(
                "its trace ({}) tells of none; QEMU records them: qemu-x86_64 -singlestep -d nochain,cpu,in_asm -D app.log ./app",
                crate::text::visible(&format)
            ),
        });
    }
    let isa = isa.as_deref().and_then(crate::trace::record::isa_named);
    let convention = isa.and_then(convention).ok_or_else(|| ReplayError::NoValues {
        why: match isa {
            Some(Isa::X86) => {
                "32-bit x86 passes arguments on the stack; record a 64-bit build".into()
            }
            _ => "its instruction set is not known".into(),
        },
    })?;
    let code = code.with_values();
    let mut finder = Finder {
        code: &code,
        places,
        found: Allocations::default(),
        sites,
        keep,
        functions: FxHashMap::default(),
        convention,
        heaps: vec![Heap::default()],
        threads: vec![Thread::default()],
        writes: Vec::new(),
        calls: VecDeque::new(),
        is_heap: FxHashMap::default(),
    };
    let mut statement =
        connection.prepare(include_str!("../../queries/report/function_aliases.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        if let Some(found) = allocator(&r.get::<_, String>(1)?) {
            finder.functions.insert(r.get(0)?, found);
        }
    }
    finder.functions.extend(more.iter().copied());
    let mut processes: FxHashMap<i32, usize> = FxHashMap::default();
    let mut statement =
        connection.prepare(include_str!("../../queries/report/replay_threads.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let next = finder.heaps.len();
        let heap = *processes.entry(r.get(1)?).or_insert(next);
        if heap == next {
            finder.heaps.push(Heap::default());
        }
        super::slot(&mut finder.threads, r.get(0)?, "thread")?.heap = heap;
    }
    let mut ids: Vec<String> = finder.functions.keys().map(|id| id.to_string()).collect();
    ids.push("0".into());
    let functions = ids.join(",");
    let (mut loaded, mut failed) = (code.first, None);
    code.forwards(connection, (code.first, code.last), |piece| {
        while loaded <= piece.seq(piece.first_step) {
            let next = loaded.saturating_add(WINDOW);
            if let Err(error) = finder.load(connection, &functions, (loaded, next - 1)) {
                failed = Some(error);
                return false;
            }
            loaded = next;
        }
        finder.piece(piece);
        true
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    for thread in 0..finder.threads.len() as i32 {
        finder.settle(thread, i64::MAX);
    }
    // Ended through any thread of the process.
    for thread in 0..finder.threads.len() as i32 {
        let slots: Vec<u32> = finder.heap(thread).starts.values().copied().collect();
        for slot in slots {
            finder.end(thread, slot, None, 0);
        }
    }
    let mut found = finder.found;
    found.functions = finder.functions;
    found.each.sort_unstable_by_key(|a| a.number);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_allocation_functions() {
        let name = |symbol| allocator(symbol).map(|a| a.name);
        for (symbol, expected) in [
            ("malloc", "malloc"),
            ("__libc_malloc", "malloc"),
            ("__GI___libc_malloc", "malloc"),
            ("__malloc", "malloc"),
            ("malloc@plt", "malloc"),
            ("__libc_free", "free"),
            ("__posix_memalign", "posix_memalign"),
            ("_malloc_r", "_malloc_r"),
            ("_Znwm", "operator new"),
            ("_Znwj", "operator new"),
            ("_ZnamRKSt9nothrow_t", "operator new[]"),
            ("_ZnwmSt11align_val_t@plt", "operator new"),
            ("_ZdlPv", "operator delete"),
            ("_ZdlPvm", "operator delete"),
            ("_ZdaPvmSt11align_val_t", "operator delete[]"),
        ] {
            assert_eq!(name(symbol), Some(expected), "{symbol}");
        }
        for symbol in [
            "_ZnwmPv",
            "_ZdlPvS_",
            "_int_malloc",
            "xmalloc",
            "mymalloc",
            "free_list",
            "",
            "malloc_consolidate",
            "malloc_r",
        ] {
            assert_eq!(name(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn every_convention_has_its_registers() {
        for isa in [Isa::X86_64, Isa::Arm, Isa::Aarch64, Isa::Riscv32, Isa::Riscv64] {
            let found = convention(isa).unwrap_or_else(|| panic!("{isa:?}"));
            assert_eq!(found.len(), 4);
            assert!(
                found.iter().all(|r| r.size == found[0].size && r.size >= 4),
                "{isa:?}: {found:?}"
            );
        }
    }

    #[test]
    fn live_allocations_by_address() {
        let mut heap = Heap::default();
        let give = |heap: &mut Heap, address, bytes| {
            heap.insert(Allocation { address, bytes, ..Allocation::default() })
        };
        let (a, b) = (give(&mut heap, 100, 10), give(&mut heap, 120, 0));
        let at = |heap: &mut Heap, address| {
            let span = heap.find(address);
            (span.first, span.last, span.slot)
        };
        for _ in 0..2 {
            assert_eq!(at(&mut heap, 99), (0, 99, None));
            assert_eq!(at(&mut heap, 109), (100, 109, Some(a)));
            assert_eq!(at(&mut heap, 110), (110, 119, None));
            assert_eq!(at(&mut heap, 121), (120, u64::MAX, None));
        }
        let end = give(&mut heap, u64::MAX - 1, 2);
        assert_eq!(at(&mut heap, u64::MAX), (u64::MAX - 1, u64::MAX, Some(end)));
        assert_eq!(heap.overlapping(105, 100), [b, a]);
        assert!(heap.overlapping(110, 10).is_empty());
        assert_eq!(heap.overlapping(120, 0), [b]);
        // Huge and hardly touched.
        let huge = give(&mut heap, 1 << 20, 1 << 60);
        assert_eq!(heap.touch((1 << 20) + 4090, 10, true), (0, 0));
        assert_eq!(heap.touch((1 << 20) + 4092, 2, false), (2, 0));
        assert_eq!(heap.touch((1 << 20) + 4090, 1, true), (0, 1));
        let found = heap.remove(huge);
        assert_eq!(heap.take_unread(found.address, found.bytes), [(4090, 2), (4094, 6)]);
        assert_eq!(at(&mut heap, 1 << 20), (120, u64::MAX - 2, None));
    }
}
