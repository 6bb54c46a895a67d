//! What a trace tells of beside steps, as rows of its tables.

use crate::event::{
    Allocation, Event, EventSink, ExceptionEntry, ImageMap, NamedRange, SystemCall, ThreadStart,
};
use crate::id::{ProcessId, Seq, ThreadId};
use crate::store::row::{Columns, Row};
use crate::store::table::{Batch, Stream};
use crate::store::tables::{
    self, Allocations, Mappings, Markers, SignalEvents, SystemCallAccesses, SystemCalls,
    ThreadEvents,
};

/// Rows of the tables of events, for the writer's thread.
pub struct EventRows<F> {
    send: F,
    /// Of every kind; else of system calls only, which are what a program does with its files.
    all: bool,
    /// The last step before the event.
    seq: Option<Seq>,
    calls: u32,
    process: ProcessId,
    threads: Stream<ThreadEvents>,
    system_calls: Stream<SystemCalls>,
    accesses: Stream<SystemCallAccesses>,
    mappings: Stream<Mappings>,
    allocations: Stream<Allocations>,
    signals: Stream<SignalEvents>,
    markers: Stream<Markers>,
}

impl<F: FnMut(Batch)> EventRows<F> {
    pub fn new(send: F, all: bool) -> Self {
        EventRows {
            send,
            all,
            seq: None,
            calls: 0,
            process: ProcessId::FIRST,
            threads: Stream::default(),
            system_calls: Stream::default(),
            accesses: Stream::default(),
            mappings: Stream::default(),
            allocations: Stream::default(),
            signals: Stream::default(),
            markers: Stream::default(),
        }
    }

    /// Adds an event that stands behind the step `seq`, 0: before the first.
    pub fn add(&mut self, event: &Event, seq: u64) {
        self.seq = Seq::new(seq);
        let called = |event: &Event| match event {
            Event::SystemCall(call) => !call.is_of_hardware(),
            _ => false,
        };
        if self.all || called(event) {
            event.tell(self);
        }
    }

    /// Hands out what is left.
    pub fn hand_out(&mut self) {
        let rest = [
            self.threads.rest(),
            self.system_calls.rest(),
            self.accesses.rest(),
            self.mappings.rest(),
            self.allocations.rest(),
            self.signals.rest(),
            self.markers.rest(),
        ];
        rest.into_iter().flatten().for_each(&mut self.send);
    }

    /// Hands out what is left.
    pub fn finish(mut self) {
        self.hand_out();
    }
}

impl<F: FnMut(Batch)> EventRows<F> {
    /// Memory is unmapped or moved, or all of it not known any more.
    fn change(&mut self, kind: &str, (address, bytes): (u64, u64), to_address: Option<u64>) {
        let row = tables::Mapping {
            seq: self.seq,
            process_id: self.process,
            kind,
            address,
            bytes,
            file_offset: None,
            to_address,
            path: None,
        };
        push(&mut self.mappings, row, &mut self.send);
    }

    /// Addresses have a name.
    fn named(&mut self, kind: &str, range: &NamedRange) {
        let row = tables::Mapping {
            seq: self.seq,
            process_id: self.process,
            kind,
            address: range.address,
            bytes: range.bytes,
            file_offset: None,
            to_address: None,
            path: Some(&range.name),
        };
        push(&mut self.mappings, row, &mut self.send);
    }

    fn taken_back(&mut self, kind: &str, index: u32, address: u64) {
        let (seq, thread_id) = (self.seq, thread(index));
        let row = tables::Allocation { seq, thread_id, kind, address, bytes: None };
        push(&mut self.allocations, row, &mut self.send);
    }
}

/// Pushes a row and sends the batch that it filled.
fn push<C: Columns>(
    stream: &mut Stream<C>,
    row: impl Row<Columns = C>,
    send: &mut impl FnMut(Batch),
) {
    stream.push(row).into_iter().for_each(send);
}

/// The id of a thread by its index.
fn thread(index: u32) -> ThreadId {
    ThreadId::at(index as usize)
}

impl<F: FnMut(Batch)> EventSink for EventRows<F> {
    fn process_start(&mut self) {
        self.process = ProcessId::at(self.process.index() + 1);
    }

    fn gap(&mut self) {
        self.change("gap", (0, u64::MAX), None);
    }

    fn thread_start(&mut self, start: &ThreadStart) {
        let row = tables::ThreadEvent {
            seq: self.seq,
            thread_id: thread(start.thread),
            kind: "start",
            parent_thread_id: start.parent.map(thread),
            name: start.name.as_deref(),
        };
        push(&mut self.threads, row, &mut self.send);
    }

    fn thread_end(&mut self, index: u32) {
        let row = tables::ThreadEvent {
            seq: self.seq,
            thread_id: thread(index),
            kind: "end",
            parent_thread_id: None,
            name: None,
        };
        push(&mut self.threads, row, &mut self.send);
    }

    fn system_call(&mut self, call: &SystemCall) {
        self.calls += 1;
        let system_call_id = self.calls;
        let row = tables::SystemCall {
            system_call_id,
            seq: self.seq,
            thread_id: thread(call.thread),
            number: call.number,
            name: call.name.as_deref(),
            result: call.result,
        };
        push(&mut self.system_calls, row, &mut self.send);
        for (ordinal, access) in (0..).zip(&call.accesses) {
            let row = tables::SystemCallAccess {
                system_call_id,
                ordinal,
                is_write: access.is_write,
                address: access.address,
                bytes: access.bytes,
                source: access.source.as_deref(),
            };
            push(&mut self.accesses, row, &mut self.send);
        }
    }

    fn image_map(&mut self, map: &ImageMap) {
        let row = tables::Mapping {
            seq: self.seq,
            process_id: self.process,
            kind: "map",
            address: map.address,
            bytes: map.bytes,
            file_offset: Some(map.offset),
            to_address: None,
            path: map.path.as_deref(),
        };
        push(&mut self.mappings, row, &mut self.send);
    }

    fn device(&mut self, device: &NamedRange) {
        self.named("device", device);
    }

    fn memory(&mut self, memory: &NamedRange) {
        self.named("memory", memory);
    }

    fn image_unmap(&mut self, address: u64, bytes: u64) {
        self.change("unmap", (address, bytes), None);
    }

    fn memory_move(&mut self, from: u64, to: u64, bytes: u64) {
        self.change("move", (from, bytes), Some(to));
    }

    fn memory_copy(&mut self, from: u64, to: u64, bytes: u64) {
        self.change("copy", (from, bytes), Some(to));
    }

    fn memory_fresh(&mut self, address: u64, bytes: u64) {
        self.change("fresh", (address, bytes), None);
    }

    fn signal_delivered(&mut self, index: u32, number: u32) {
        let (seq, thread_id) = (self.seq, thread(index));
        let row = tables::SignalEvent { seq, thread_id, kind: "delivered", number: Some(number) };
        push(&mut self.signals, row, &mut self.send);
    }

    fn signal_ended(&mut self, index: u32) {
        let (seq, thread_id) = (self.seq, thread(index));
        let row = tables::SignalEvent { seq, thread_id, kind: "ended", number: None };
        push(&mut self.signals, row, &mut self.send);
    }

    fn exception_entry(&mut self, entry: &ExceptionEntry) {
        let (seq, thread_id) = (self.seq, thread(entry.thread));
        let row = tables::SignalEvent { seq, thread_id, kind: "entry", number: entry.number };
        push(&mut self.signals, row, &mut self.send);
    }

    fn exception_return(&mut self, index: u32, _: Option<u64>) {
        let (seq, thread_id) = (self.seq, thread(index));
        let row = tables::SignalEvent { seq, thread_id, kind: "return", number: None };
        push(&mut self.signals, row, &mut self.send);
    }

    fn allocation(&mut self, of: &Allocation) {
        let row = tables::Allocation {
            seq: self.seq,
            thread_id: thread(of.thread),
            kind: "allocate",
            address: of.address,
            bytes: Some(of.bytes),
        };
        push(&mut self.allocations, row, &mut self.send);
    }

    fn free(&mut self, index: u32, address: u64) {
        self.taken_back("free", index, address);
    }

    fn reallocation(&mut self, index: u32, address: u64) {
        self.taken_back("reallocate", index, address);
    }

    fn marker(&mut self, index: u32, text: &str) {
        let row = tables::Marker { seq: self.seq, thread_id: thread(index), text };
        push(&mut self.markers, row, &mut self.send);
    }
}
