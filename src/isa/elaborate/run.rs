//! Straight runs while they are formed, and the dictionary of their blocks.

use crate::event::{BlockDef, Event, MemShape, RunBatch, RunEnd};
use crate::id::BlockId;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// Rows that a run may wait for the next record of its thread; then its last step stays without the
/// values after it.
const LONGEST_WAIT: u64 = 65_536;
/// Steps after which a run ends.
const LONGEST_RUN: usize = 4096;

/// A straight run that is being formed, or that waits for the values after its last step.
#[derive(Default)]
pub struct OpenRun {
    /// Place among the threads.
    pub thread: usize,
    /// Address of the step that would go on.
    pub next: u64,
    /// Row that closed it.
    closed: Option<u64>,
    pub waiting: bool,
    /// Of its first step, for messages.
    position: u64,
    pub def: BlockDef,
    pub addresses: Vec<u64>,
    pub values: Vec<Option<u64>>,
    pub register_values: Vec<Option<u64>>,
    pub time: Vec<u64>,
    /// After the last step that was completed.
    pub end: Option<RunEnd>,
}

impl OpenRun {
    /// Ends it; `row` is the current one.
    pub fn close(&mut self, row: u64) {
        self.closed.get_or_insert(row);
    }

    /// Stops waiting for the values after the last step.
    fn give_up(&mut self) {
        if self.waiting {
            (self.waiting, self.end) = (false, None);
        }
    }

    pub fn push_access(&mut self, shape: MemShape, address: u64) {
        self.def.mem.push(shape);
        self.addresses.push(address);
    }

    /// Takes the last step's stores back, which are its last accesses from `first` on.
    pub fn drop_stores(&mut self, first: usize) {
        while self.def.mem.len() > first && self.def.mem.last().is_some_and(|m| m.is_write) {
            self.def.mem.pop();
            self.addresses.pop();
            self.values.pop();
            if let Some(step) = self.def.steps.last_mut() {
                step.mem -= 1;
            }
        }
    }

    fn clear(&mut self) {
        let OpenRun { def, addresses, values, register_values, time, .. } = self;
        def.steps.clear();
        def.mem.clear();
        addresses.clear();
        values.clear();
        register_values.clear();
        time.clear();
        (self.closed, self.waiting, self.end) = (None, false, None);
    }
}

/// Number of a run, in order of their first steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RunNumber(u64);

/// Runs that are not written yet, in the order of the log; the last one may be open.
#[derive(Default)]
pub struct Runs {
    #[allow(clippy::vec_box)] // Both ends of the queue move runs: a pointer each.
    spare: Vec<Box<OpenRun>>,
    queue: VecDeque<Box<OpenRun>>,
    /// Number of the run at the front of the queue.
    first: u64,
    /// Events, each with the number of the run before which it stands.
    events: VecDeque<(u64, Event)>,
    blocks: Blocks,
}

/// Where a step stands.
pub struct Place {
    /// Of its thread among the threads.
    pub thread: usize,
    pub address: u64,
    pub row: u64,
    pub position: u64,
}

impl Runs {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The run that the step at `place` goes on with, else a new one; with its number.
    #[inline]
    pub fn of_step(&mut self, place: &Place) -> (RunNumber, &mut OpenRun) {
        let goes_on = self.queue.back().is_some_and(|run| {
            run.closed.is_none()
                && run.thread == place.thread
                && run.next == place.address
                && run.def.steps.len() < LONGEST_RUN
        });
        if !goes_on {
            self.part(place.row);
            let mut run = self.spare.pop().unwrap_or_default();
            (run.thread, run.position) = (place.thread, place.position);
            self.queue.push_back(run);
        }
        let last = self.queue.len() - 1;
        (RunNumber(self.first + last as u64), &mut self.queue[last])
    }

    /// An event comes behind all steps so far; `row` is the current one.
    pub fn event(&mut self, event: Event, row: u64) {
        self.part(row);
        self.events.push_back((self.first + self.queue.len() as u64, event));
    }

    /// Lets the next step begin a run, before which an event may come to stand; `row` is the current one.
    pub fn part(&mut self, row: u64) {
        if let Some(run) = self.queue.back_mut() {
            run.close(row);
        }
    }

    /// An event comes before a run that waits.
    pub fn event_before(&mut self, run: RunNumber, event: Event) {
        let place = self.events.partition_point(|(before, _)| *before <= run.0);
        self.events.insert(place, (run.0, event));
    }

    /// Writes the events that stand before the run at the front.
    fn emit_events(&mut self, out: &mut RunBatch) {
        let first = self.first;
        while self.events.front().is_some_and(|(run, _)| *run <= first) {
            let event = self.events.pop_front().map(|(_, event)| event);
            out.events.extend(event.map(|event| (out.block.len() as u32, event)));
        }
    }

    /// A run that was not written yet.
    #[inline]
    pub fn get_mut(&mut self, number: RunNumber) -> Option<&mut OpenRun> {
        let place = usize::try_from(number.0.checked_sub(self.first)?).ok()?;
        self.queue.get_mut(place).map(|run| &mut **run)
    }

    /// Closes all; none waits any longer.
    pub fn close(&mut self) {
        for run in &mut self.queue {
            run.give_up();
            run.close(0);
        }
    }

    /// Moves the runs at the front that are complete at `row` to `out`; `write` adds what the trace
    /// carries of each.
    #[inline]
    pub fn emit(&mut self, row: u64, out: &mut RunBatch, write: impl Fn(&OpenRun, &mut RunBatch)) {
        self.emit_events(out);
        while let Some(run) = self.queue.front() {
            let Some(closed) = run.closed else { return };
            if run.waiting && row - closed < LONGEST_WAIT {
                return;
            }
            let Some(mut run) = self.queue.pop_front() else { return };
            self.first += 1;
            run.give_up();
            if out.block.is_empty() {
                out.position = run.position;
            }
            let (block, new) = self.blocks.intern(&run.def);
            if new {
                out.new_blocks.push(run.def.clone());
            }
            out.block.push(block.get() - 1);
            out.addresses.extend_from_slice(&run.addresses);
            out.values.extend_from_slice(&run.values);
            out.register_values.extend_from_slice(&run.register_values);
            out.time.extend_from_slice(&run.time);
            write(&run, out);
            run.clear();
            self.spare.push(run);
            if !self.events.is_empty() {
                self.emit_events(out);
            }
        }
    }
}

/// Distinct blocks by content.
#[derive(Default)]
struct Blocks {
    defs: Vec<BlockDef>,
    /// Last block with a hash, and for each block the one before it with the same hash.
    heads: FxHashMap<u64, BlockId>,
    older: Vec<Option<BlockId>>,
}

impl Blocks {
    /// The id of `def`, and whether it is new.
    fn intern(&mut self, def: &BlockDef) -> (BlockId, bool) {
        let mut hasher = FxHasher::default();
        def.hash(&mut hasher);
        let hash = hasher.finish();
        let head = self.heads.get(&hash).copied();
        let mut at = head;
        while let Some(block) = at {
            if self.defs[block.index()] == *def {
                return (block, false);
            }
            at = self.older[block.index()];
        }
        let id = BlockId::at(self.defs.len());
        self.heads.insert(hash, id);
        self.older.push(head);
        self.defs.push(def.clone());
        (id, true)
    }
}
