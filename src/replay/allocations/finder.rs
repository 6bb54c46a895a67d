//! Goes through the run with the calls of allocation functions and the heap that they make.

use super::calls::{Call, CallKind, Calls, Ending};
use super::found::{Allocation, Allocations, Site};
use super::functions::{Allocator, allocator};
use super::heap::Heap;
use super::registers::{Convention, RESULT, RegisterWrite, Registers, convention, register_writes};
use crate::event::Isa;
use crate::id::{CallId, FunctionId, InstructionId, ThreadId};
use crate::replay::code::{BlockAccess, Code};
use crate::replay::error::ReplayError;
use crate::replay::places::{ByPage, Places};
use crate::replay::usage::Use;
use crate::replay::window::Piece;
use duckdb::Connection;
use rustc_hash::FxHashMap;

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

struct Finder<'a> {
    code: &'a Code,
    places: &'a Places,
    found: Allocations,
    /// By instruction: the one that stands for its site.
    sites: &'a [InstructionId],
    /// Allocations to list.
    keep: u64,
    convention: Convention,
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
        registers.value(&self.convention, number)
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
        let (before, caller) = (thread.registers, thread.last);
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
        let mut work =
            Work { allocator, site, first: call.first, bytes, moved: None, through, stored: None };
        if allocator.bytes.is_some() && bytes.is_none() || released == Some(None) {
            self.found.unknown += 1;
        }
        let heap = self.heap(call.thread);
        if let Some((address, slot)) = released.flatten().and_then(|a| Some((a, heap.at(a)?))) {
            if allocator.bytes.is_some() {
                let live = heap.live(slot);
                live.moving = Some(call.first);
                work.moved = Some((address, live.allocation.number));
            } else {
                self.end(call.thread, slot, Some(call.first), 0);
            }
        }
        work
    }

    /// The return of an outermost call. `last`: its last step.
    fn finish(&mut self, thread: ThreadId, work: Work, last: i64) {
        if work.allocator.bytes.is_none() {
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
            self.found.unknown += u64::from(address.is_none() && work.bytes.is_some());
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
        self.found.sites.entry(allocation.site).or_default().end(&allocation, last);
        if allocation.number <= self.keep {
            self.found.each.push(allocation);
        }
        unread
    }

    fn access(&mut self, thread: ThreadId, seq: i64, access: &BlockAccess, address: u64) {
        let working = self.work(thread).is_some();
        let how = match (access.is_write, access.is_control) {
            (true, _) => Use::Write,
            (false, true) => Use::Control,
            (false, false) => Use::Read,
        };
        let mut is_heap = None;
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
            } else if *is_heap.get_or_insert_with(|| {
                self.is_heap.find(self.places, address, || self.places.is_heap(address))
            }) {
                let found = &mut self.found;
                let beside = if working { &mut found.allocator } else { &mut found.elsewhere };
                beside.add(access.is_write, part);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    /// What posix_memalign stores: the address that it gives.
    fn store(&mut self, thread: ThreadId, piece: &Piece, access: &BlockAccess, address: u64) {
        let word = u32::from(self.convention[usize::from(RESULT)].size);
        let value = access.value.filter(|_| access.size == word);
        let value = value.and_then(|v| *piece.value.get(v as usize)?);
        if let Some(work) = self.work(thread).filter(|w| w.through == Some(address)) {
            work.stored = value;
        }
    }

    fn piece(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        let (thread, first) = (piece.thread, piece.seq(piece.first_step));
        self.settle(thread, first);
        while let Some(call) = self.calls.next(first)? {
            self.begin(&call);
        }
        for step in piece.steps() {
            for access in piece.block.accesses_of(step) {
                if let Some(address) = access.address(piece.address) {
                    self.access(thread, piece.seq(step), access, address);
                    if access.is_write {
                        self.store(thread, piece, access, address);
                    }
                }
            }
        }
        self.registers(piece);
        self.thread(thread).last = piece.instructions().last().copied();
        Ok(())
    }

    /// What a piece leaves in the registers of the convention.
    fn registers(&mut self, piece: &Piece) {
        let block = piece.block_id.index();
        if block >= self.writes.len() {
            self.writes.resize_with(block + 1, || None);
        }
        let known = self.writes[block].take();
        let writes = known.unwrap_or_else(|| register_writes(piece.block, &self.convention));
        let registers = &mut self.thread(piece.thread).registers;
        let from = writes.partition_point(|w| w.step < piece.first_step);
        for write in writes[from..].iter().take_while(|w| w.step < piece.end_step) {
            registers.write(write, piece.value);
        }
        self.writes[block] = Some(writes);
    }

    /// The end of the run.
    fn finish_all(mut self) -> Allocations {
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
        self.found
    }
}

/// The registers that pass arguments, if the traces tell their values.
fn conventions(connection: &Connection) -> Result<Convention, ReplayError> {
    let sql = include_str!("../../../queries/report/replay_carries.sql");
    type Row = (Option<String>, Option<i64>, Option<String>);
    let (isa, valued, format): Row =
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
    isa.and_then(convention).ok_or_else(|| ReplayError::NoValues {
        why: match isa {
            Some(Isa::X86) => {
                "32-bit x86 passes arguments on the stack; record a 64-bit build".into()
            }
            _ => "its instruction set is not known".into(),
        },
    })
}

/// Allocation functions by all names of the functions.
fn functions(
    connection: &Connection,
) -> Result<FxHashMap<FunctionId, &'static Allocator>, ReplayError> {
    let mut functions = FxHashMap::default();
    let sql = include_str!("../../../queries/report/function_aliases.sql");
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        if let Some(found) = allocator(&r.get::<_, String>(1)?) {
            functions.insert(r.get(0)?, found);
        }
    }
    Ok(functions)
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
    let convention = conventions(connection)?;
    let mut functions = functions(connection)?;
    functions.extend(more.iter().copied());
    let mut ids: Vec<String> = functions.keys().map(FunctionId::to_string).collect();
    ids.push("0".into());
    let code = code.with_values();
    let mut finder = Finder {
        code: &code,
        places,
        found: Allocations { functions, ..Allocations::default() },
        sites,
        keep,
        convention,
        heaps: Vec::new(),
        threads: Vec::new(),
        writes: Vec::new(),
        calls: Calls::new(connection, ids.join(","), code.first),
        is_heap: ByPage::default(),
    };
    code.forwards(connection, (code.first, code.last), |piece| {
        finder.piece(piece)?;
        Ok(true)
    })?;
    Ok(finder.finish_all())
}
