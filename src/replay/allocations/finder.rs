//! Goes through the run with the calls of allocation functions and the heap that they make.

use super::calls::{Call, CallKind, Calls, Ending};
use super::found::{Allocation, Allocations, Site};
use super::functions::Allocator;
use super::heap::Heap;
use super::knowledge::{Knowledge, functions, knowledge};
use super::registers::{Convention, RESULT, RegisterWrite, Registers, register_writes};
use super::told::{Act, Telling};
use crate::id::{CallId, FunctionId, InstructionId, ProcessId, ThreadId};
use crate::replay::code::{BlockAccess, Code};
use crate::replay::error::{ReplayError, dense};
use crate::replay::outside::{Outside, Outsides};
use crate::replay::places::{ByPage, Places, When};
use crate::replay::usage::Use;
use crate::replay::window::{Piece, Way};
use duckdb::Connection;

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
    /// Where the trace tells: address and bytes that it gave.
    given: Option<(u64, u64)>,
}

/// A live call of an allocation function, or of a signal handler.
struct Frame {
    call: CallId,
    /// Last step; the largest number while a jump leads on.
    last: i64,
    ending: Ending,
    /// None: a signal handler, which is no work of what it interrupts.
    work: Option<Work>,
    /// Registers at its beginning: what a signal handler interrupts has them again.
    before: Registers,
}

#[derive(Default)]
struct ThreadState {
    registers: Registers,
    frames: Vec<Frame>,
    /// Last instruction.
    last: Option<InstructionId>,
}

/// What an access is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::replay) enum Holder {
    /// A live allocation, by its site and number.
    Allocation(Site, u64),
    /// The heap, by what runs within a call of an allocation function.
    Allocator,
    /// The heap beside live allocations.
    Unallocated,
    /// None of the heap.
    Other,
}

/// The beginning or end of an allocation.
#[derive(Clone, Copy, Debug)]
pub(in crate::replay) enum Lifetime {
    /// `moved`: with what the one before took along.
    Begins { address: u64, bytes: u64, moved: bool },
    /// `along`: how many of its first bytes a reallocation takes along.
    Ends { address: u64, bytes: u64, site: Site, along: u64 },
}

/// Follows the heap through the run.
pub(in crate::replay) struct Finder<'a> {
    code: &'a Code,
    places: &'a Places,
    pub(in crate::replay) found: Allocations,
    /// What has begun and ended since somebody looked, and in which process.
    pub(in crate::replay) lifetimes: Vec<(ProcessId, Lifetime)>,
    /// By instruction: the one that stands for its site.
    sites: &'a [InstructionId],
    /// Allocations to list.
    keep: u64,
    knowledge: Knowledge<'a>,
    /// By process.
    heaps: Vec<Heap>,
    /// By thread.
    threads: Vec<ThreadState>,
    /// By block.
    writes: Vec<Option<Box<[RegisterWrite]>>>,
    calls: Calls<'a>,
    is_heap: ByPage<bool>,
}

impl Finder<'_> {
    fn thread(&mut self, thread: ThreadId) -> &mut ThreadState {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, ThreadState::default);
        }
        &mut self.threads[thread.index()]
    }

    fn heap(&mut self, thread: ThreadId) -> &mut Heap {
        let process = self.code.process(thread);
        if process.index() >= self.heaps.len() {
            self.heaps.resize_with(process.index() + 1, Heap::default);
        }
        &mut self.heaps[process.index()]
    }

    /// The work that a thread is at.
    fn work(&mut self, thread: ThreadId) -> Option<&mut Work> {
        self.thread(thread).frames.last_mut()?.work.as_mut()
    }

    fn argument(&mut self, thread: ThreadId, number: u8) -> Option<u64> {
        let registers = self.thread(thread).registers;
        match &self.knowledge {
            Knowledge::Registers(convention) => registers.value(convention, number),
            Knowledge::Told(_) => None,
        }
    }

    /// Ends calls of a thread whose last step lies before one.
    fn settle(&mut self, thread: ThreadId, before: i64) {
        while let Some(frame) = self.thread(thread).frames.pop_if(|f| f.last < before) {
            let returns = frame.ending == Ending::Returns;
            match frame.work {
                Some(work) if returns => self.finish(thread, work, frame.last),
                None if returns => self.thread(thread).registers = frame.before,
                _ => {}
            }
        }
    }

    /// A call begins, or what goes on for one.
    fn begin(&mut self, call: &Call) {
        let Call { ending, .. } = *call;
        let last = if ending == Ending::Tail { i64::MAX } else { call.last };
        let thread = self.thread(call.thread);
        let goes_on = |f: &&mut Frame| call.tail_of == Some(f.call);
        if let Some(frame) = thread.frames.last_mut().filter(goes_on) {
            (frame.call, frame.last, frame.ending) = (call.call, last, ending);
            return;
        }
        // A jump is no call; of a part of the run the call may lie outside.
        let (before, caller) = (thread.registers, call.caller.or(thread.last));
        let frame = Frame { call: call.call, last, ending, work: None, before };
        if call.kind == CallKind::Signal {
            thread.frames.push(frame);
            return;
        }
        let outermost = thread.frames.last().is_none_or(|f| f.work.is_none());
        let allocator = self.found.functions.get(&call.function).copied();
        let (Some(allocator), true) = (allocator, outermost) else { return };
        let instruction = caller.and_then(|c| self.sites.get(c.index()).copied());
        let site = Site { instruction, allocator: Some(call.function) };
        let work = Some(self.start(call, allocator, site));
        self.found.calls += 1;
        self.thread(call.thread).frames.push(Frame { work, ..frame });
    }

    /// The beginning of an outermost call.
    fn start(&mut self, call: &Call, allocator: &'static Allocator, site: Site) -> Work {
        let mut argument = |number| self.argument(call.thread, number);
        let bytes = allocator.bytes.and_then(|(n, times)| {
            // A product that is too large gets nothing.
            Some(argument(n)?.saturating_mul(times.map_or(Some(1), &mut argument)?))
        });
        let (released, through) =
            (allocator.released.map(&mut argument), allocator.through.and_then(&mut argument));
        let first = call.first;
        let (moved, stored, given) = (None, None, None);
        let mut work = Work { allocator, site, first, bytes, moved, through, stored, given };
        if let Knowledge::Told(_) = self.knowledge {
            return work;
        }
        if allocator.bytes.is_some() && bytes.is_none() || released == Some(None) {
            self.found.unknown += 1;
        }
        let heap = self.heap(call.thread);
        if let Some((address, slot)) = released.flatten().and_then(|a| Some((a, heap.at(a)?))) {
            if allocator.bytes.is_some() {
                let live = heap.live(slot);
                live.moving = Some(first);
                work.moved = Some((address, live.allocation.number));
            } else {
                self.end(call.thread, slot, Some(first), 0);
            }
        }
        work
    }

    /// What the trace tells: of the call that the thread is at, if it is one of a known function.
    fn tell(&mut self, told: Telling) -> Result<(), ReplayError> {
        let Telling { seq, thread, act } = told;
        dense(thread.index(), self.code.threads(), "thread")?;
        self.settle(thread, told.place());
        let first = self.work(thread).map(|work| work.first);
        let freed = first.unwrap_or(told.place());
        match act {
            Act::Allocate { address, bytes } => match self.work(thread) {
                Some(work) => {
                    (work.given, work.bytes) = (Some((address, bytes)), Some(bytes));
                }
                None if address == 0 => {}
                None => {
                    let site = self.unseen(thread);
                    self.give(thread, site, (address, bytes), seq, Vec::new());
                }
            },
            Act::Free { address } => {
                if let Some(slot) = self.heap(thread).at(address) {
                    self.end(thread, slot, Some(freed), 0);
                }
            }
            Act::Reallocate { address } => {
                let Some(slot) = self.heap(thread).at(address) else { return Ok(()) };
                if first.is_none() {
                    self.end(thread, slot, Some(freed), 0);
                    return Ok(());
                }
                let live = self.heap(thread).live(slot);
                live.moving = Some(freed);
                let moved = Some((address, live.allocation.number));
                if let Some(work) = self.work(thread) {
                    work.moved = moved;
                }
            }
        }
        Ok(())
    }

    /// The site of what no known function gave: the instruction that returned with it.
    fn unseen(&mut self, thread: ThreadId) -> Site {
        let last = self.thread(thread).last;
        let instruction = last.and_then(|last| self.sites.get(last.index()).copied());
        Site { instruction, allocator: last.and_then(|last| self.code.instruction(last).function) }
    }

    /// The address that a call gave, if it is known.
    fn address_of(&mut self, thread: ThreadId, work: &Work) -> Option<u64> {
        if let Knowledge::Told(_) = self.knowledge {
            return work.given.map(|given| given.0);
        }
        let result = self.argument(thread, RESULT)?;
        match (work.allocator.through, result) {
            (Some(_), 0) => work.stored,
            // An error number.
            (Some(_), _) => Some(0),
            (None, address) => Some(address),
        }
    }

    /// The return of an outermost call. `last`: its last step.
    fn finish(&mut self, thread: ThreadId, work: Work, last: i64) {
        if work.allocator.bytes.is_none() {
            return;
        }
        let address = self.address_of(thread, &work);
        // It may have been given to another thread in the meantime.
        let moved = work.moved.and_then(|(old, number)| {
            let heap = self.heap(thread);
            let slot = heap.at(old)?;
            (heap.live(slot).allocation.number == number).then_some(slot)
        });
        let unread = match (moved, address) {
            // It failed: the old one lives on.
            (Some(slot), Some(0)) if work.bytes != Some(0) => {
                self.heap(thread).live(slot).moving = None;
                return;
            }
            (Some(slot), _) => {
                let taken_along = if address == Some(0) { 0 } else { work.bytes.unwrap_or(0) };
                self.end(thread, slot, Some(work.first), taken_along)
            }
            _ => Vec::new(),
        };
        let (Some(address), Some(bytes)) = (address, work.bytes) else {
            let told = matches!(self.knowledge, Knowledge::Told(_));
            self.found.unknown += u64::from(address.is_none() && (told || work.bytes.is_some()));
            return;
        };
        if address != 0 {
            self.give(thread, work.site, (address, bytes), last, unread);
        }
    }

    /// An allocation begins with bytes that are taken along unread, as offsets and lengths.
    fn give(
        &mut self,
        thread: ThreadId,
        site: Site,
        (address, bytes): (u64, u64),
        allocated: i64,
        unread: Vec<(u64, u64)>,
    ) {
        // Bytes cannot go beyond the end of memory.
        let bytes = bytes.min((u64::MAX - address).saturating_add(1));
        for slot in self.heap(thread).overlapping(address, bytes) {
            let moving = self.heap(thread).live(slot).moving;
            self.found.overlapped += u64::from(moving.is_none());
            self.end(thread, slot, moving, 0);
        }
        let begins = Lifetime::Begins { address, bytes, moved: !unread.is_empty() };
        self.lifetimes.push((self.code.process(thread), begins));
        self.found.count += 1;
        self.found.sites.entry(site).or_default().begin(bytes);
        let number = self.found.count;
        let heap = self.heap(thread);
        heap.insert(Allocation {
            number,
            address,
            bytes,
            site,
            allocated,
            ..Allocation::default()
        });
        for (offset, length) in unread {
            let kept = length.min(bytes.saturating_sub(offset));
            heap.usage.leave_unread(address.wrapping_add(offset), kept);
        }
    }

    /// Ends an allocation. Of its first `taken_along` bytes those that nobody read do not die yet:
    /// which these are, as offsets and lengths.
    fn end(
        &mut self,
        thread: ThreadId,
        slot: usize,
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
            allocation.traffic.dead_bytes += *length - along;
            *length = along;
        }
        unread.retain(|u| u.1 > 0);
        let Allocation { address, bytes, site, .. } = allocation;
        let ends = Lifetime::Ends { address, bytes, site, along: taken_along };
        self.lifetimes.push((self.code.process(thread), ends));
        self.found.sites.entry(allocation.site).or_default().end(&allocation, last);
        if allocation.number <= self.keep {
            self.found.each.push(allocation);
        }
        unread
    }

    /// An access; gives what its first byte is of.
    pub(in crate::replay) fn access(
        &mut self,
        thread: ThreadId,
        seq: i64,
        access: &BlockAccess,
        address: u64,
    ) -> Holder {
        let working = self.work(thread).is_some();
        let how = match (access.is_write, access.is_control) {
            (true, _) => Use::Write,
            (false, true) => Use::Control,
            (false, false) => Use::Read,
        };
        let (mut is_heap, mut owner) = (None, None);
        let (mut at, mut left) = (address, u64::from(access.size));
        while left > 0 {
            let heap = self.heap(thread);
            let span = heap.find(at);
            let part = left.min((span.last - at).saturating_add(1));
            if let (Some(slot), false) = (span.slot, working) {
                let (allocation, usage) = heap.used(slot);
                usage.access(how, at, part, &mut allocation.traffic);
                allocation.first_use.get_or_insert(seq);
                allocation.last_use = Some(seq);
                owner.get_or_insert(Holder::Allocation(allocation.site, allocation.number));
            } else if *is_heap.get_or_insert_with(|| {
                let moment = When { process: self.code.process(thread), seq };
                self.is_heap.find(self.places, moment, address, |at| at.is_heap())
            }) {
                let found = &mut self.found;
                let beside = if working { &mut found.allocator } else { &mut found.elsewhere };
                beside.add(access.is_write, part);
                owner.get_or_insert(if working { Holder::Allocator } else { Holder::Unallocated });
            } else {
                owner.get_or_insert(Holder::Other);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
        owner.unwrap_or(Holder::Other)
    }

    /// What posix_memalign stores: the address that it gives.
    fn stores(&mut self, piece: &Piece, convention: &Convention) {
        let word = u32::from(convention[usize::from(RESULT)].size);
        let Some(work) = self.work(piece.thread) else { return };
        for step in piece.steps() {
            for access in piece.block.accesses_of(step).iter().filter(|access| access.is_write) {
                if work.through.is_some() && access.address(piece.address) == work.through {
                    let value = access.value.filter(|_| access.size == word);
                    work.stored = value.and_then(|v| *piece.value.get(v as usize)?);
                }
            }
        }
    }

    /// What calls and allocations begin before a piece.
    pub(in crate::replay) fn before(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        let first = piece.seq(piece.first_step);
        self.advance(first)?;
        self.settle(piece.thread, first);
        Ok(())
    }

    /// Calls that begin up to a step, and what is told before it.
    fn advance(&mut self, seq: i64) -> Result<(), ReplayError> {
        loop {
            let first = self.calls.peek(seq)?;
            let told = match &mut self.knowledge {
                Knowledge::Told(tellings) => tellings.peek(seq)?,
                Knowledge::Registers(_) => None,
            };
            match (first, told) {
                (Some(first), told) if told.is_none_or(|told| first <= told.place()) => {
                    if let Some(call) = self.calls.next() {
                        self.settle(call.thread, first);
                        self.begin(&call);
                    }
                }
                (_, Some(told)) => {
                    if let Knowledge::Told(tellings) = &mut self.knowledge {
                        tellings.pass();
                    }
                    self.tell(told)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn piece(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        self.before(piece)?;
        for step in piece.steps() {
            for access in piece.block.accesses_of(step) {
                if let Some(address) = access.address(piece.address) {
                    self.access(piece.thread, piece.seq(step), access, address);
                }
            }
        }
        self.behind(piece);
        Ok(())
    }

    /// What a piece leaves in memory and in the registers of the convention.
    pub(in crate::replay) fn behind(&mut self, piece: &Piece) {
        self.thread(piece.thread).last = piece.instructions().last().copied();
        let Knowledge::Registers(convention) = self.knowledge else { return };
        if self.work(piece.thread).is_some_and(|work| work.through.is_some()) {
            self.stores(piece, &convention);
        }
        let block = piece.block_id.index();
        if block >= self.writes.len() {
            self.writes.resize_with(block + 1, || None);
        }
        let known = self.writes[block].take();
        let writes = known.unwrap_or_else(|| register_writes(piece.block, &convention));
        let registers = &mut self.thread(piece.thread).registers;
        let from = writes.partition_point(|w| w.step < piece.first_step);
        for write in writes[from..].iter().take_while(|w| w.step < piece.end_step) {
            registers.write(write, piece.value);
        }
        self.writes[block] = Some(writes);
    }

    /// The site of the allocation that a byte is of.
    pub(in crate::replay) fn site_at(&mut self, process: ProcessId, address: u64) -> Option<Site> {
        let heap = self.heaps.get_mut(process.index())?;
        let slot = heap.find(address).slot?;
        Some(heap.live(slot).allocation.site)
    }

    /// What the kernel reads and writes.
    fn outside(&mut self, outside: &Outside) {
        let process = outside.process.index();
        let Some(heap) = self.heaps.get_mut(process) else { return };
        for address in heap.usage.outside(outside) {
            if let Some(slot) = heap.find(address).slot {
                heap.live(slot).allocation.traffic.dead_bytes += 1;
            }
        }
    }

    /// The end of the run.
    pub(in crate::replay) fn finish_all(&mut self) -> Result<(), ReplayError> {
        self.advance(self.code.last.saturating_add(1))?;
        let threads: Vec<ThreadId> =
            (0..self.threads.len().max(self.code.threads())).map(ThreadId::at).collect();
        for &thread in &threads {
            self.settle(thread, i64::MAX);
        }
        // Ended through any thread of the process.
        for &thread in &threads {
            for slot in self.heap(thread).slots() {
                self.end(thread, slot, None, 0);
            }
        }
        self.found.each.sort_unstable_by_key(|a| a.number);
        Ok(())
    }
}

impl<'a> Finder<'a> {
    /// `more`: functions that do what allocation functions do.
    ///
    /// # Errors
    /// The trace tells neither of allocations nor of register values.
    pub(in crate::replay) fn new(
        code: &'a Code,
        connection: &'a Connection,
        places: &'a Places,
        more: &[(FunctionId, &'static Allocator)],
        sites: &'a [InstructionId],
    ) -> Result<Finder<'a>, ReplayError> {
        let mut functions = functions(connection)?;
        functions.extend(more.iter().copied());
        let mut ids: Vec<String> = functions.keys().map(FunctionId::to_string).collect();
        ids.push("0".into());
        let knowledge = knowledge(connection)?;
        let first = match knowledge {
            Knowledge::Registers(_) => code.first,
            // Also of what lives when a part of the run begins.
            Knowledge::Told(_) => 0,
        };
        Ok(Finder {
            code,
            places,
            found: Allocations { functions, ..Allocations::default() },
            lifetimes: Vec::new(),
            sites,
            keep: 0,
            knowledge,
            heaps: Vec::new(),
            threads: Vec::new(),
            writes: Vec::new(),
            calls: Calls::new(connection, ids.join(","), first),
            is_heap: ByPage::default(),
        })
    }
}

/// Goes through the run once. Lists the first `keep` allocations, and sums all by site; `sites` has
/// by instruction the one that stands for its site. `more`: functions that do what allocation
/// functions do.
pub fn allocations(
    code: Code,
    connection: &Connection,
    places: &Places,
    more: &[(FunctionId, &'static Allocator)],
    sites: &[InstructionId],
    keep: u64,
) -> Result<Allocations, ReplayError> {
    let code = code.with_values();
    let mut finder = Finder::new(&code, connection, places, more, sites)?;
    finder.keep = keep;
    let mut outsides = Outsides::new(&code, connection, Way::Forwards);
    code.forwards(connection, (code.first, code.last), |piece| {
        finder.piece(piece)?;
        finder.lifetimes.clear();
        outsides.cover(piece)?;
        let behind = outsides.behind(piece, piece.end_step - 1);
        behind.iter().for_each(|outside| finder.outside(outside));
        Ok(true)
    })?;
    finder.finish_all()?;
    Ok(finder.found)
}
