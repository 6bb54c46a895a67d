//! The rows of an XRay log, gathered and sent.

use crate::analysis::stack::{Call, Interval};
use crate::id::{CallId, FunctionId, StackId, ThreadId};
use crate::load::{Detail, calls};
use crate::store::table::{Batch, Stream};
use crate::store::tables::{
    CallArgument, CallArguments, CallEventRow, CallEventRows, CallRecord, CallRecords,
    ControlFlows, FunctionCalls, StackTicks, StackTicksRows, TraceEvent, TraceEvents,
};
use crate::trace::xray::{self, Block, Event, Kind, Layout};
use rustc_hash::FxHashMap;
use std::sync::mpsc;

/// Bytes of user data in a batch of rows.
const DATA_BATCH: usize = 8 << 20;

/// Different durations that are counted at a time.
const DURATIONS: usize = 1 << 21;

pub enum Message {
    Rows(Batch),
    /// Bytes decoded.
    Progress(u64),
}

/// What the log says of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallEvents {
    /// Numbers of its entry and exit.
    pub call: Option<u64>,
    pub end: Option<u64>,
    pub context: Option<StackId>,
    pub ticks_self: Option<u64>,
}

/// Gathers rows and sends them.
pub struct Rows<'a> {
    sender: mpsc::SyncSender<Message>,
    detail: Detail,
    /// The writer is gone.
    stopped: bool,
    bytes: &'a [u8],
    layout: Layout,
    version: u16,
    events: Stream<CallEventRows>,
    calls: Stream<FunctionCalls>,
    records: Stream<CallRecords>,
    intervals: Stream<ControlFlows>,
    arguments: Stream<CallArguments>,
    data: Stream<TraceEvents>,
    /// Of the user data in `data`.
    data_bytes: usize,
    /// Calls by context and duration, with their own ticks; sums beyond 2^64 are begun anew.
    durations: FxHashMap<(StackId, Option<u64>), (u64, u64)>,
    ticks: Stream<StackTicksRows>,
}

impl<'a> Rows<'a> {
    pub fn new(sender: mpsc::SyncSender<Message>, detail: Detail) -> Rows<'a> {
        Rows {
            sender,
            detail,
            stopped: false,
            bytes: &[],
            layout: Layout::default(),
            version: 0,
            events: Stream::default(),
            calls: Stream::default(),
            records: Stream::default(),
            intervals: Stream::default(),
            arguments: Stream::default(),
            data: Stream::default(),
            data_bytes: 0,
            durations: FxHashMap::default(),
            ticks: Stream::default(),
        }
    }

    /// The user data that follow are in these bytes.
    pub fn data_from(&mut self, bytes: &'a [u8], block: &Block) {
        (self.bytes, self.layout, self.version) = (bytes, block.layout, block.version);
    }

    /// The writer is gone.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    #[inline]
    fn send(&mut self, batch: Option<Batch>) {
        if let Some(batch) = batch {
            self.stopped |= self.sender.send(Message::Rows(batch)).is_err();
        }
    }

    /// Sends what is left.
    pub fn finish(&mut self) {
        self.send_durations();
        for batch in [
            self.events.rest(),
            self.calls.rest(),
            self.records.rest(),
            self.intervals.rest(),
            self.arguments.rest(),
            self.data.rest(),
            self.ticks.rest(),
        ] {
            self.send(batch);
        }
    }

    fn send_durations(&mut self) {
        let mut list: Vec<_> = self.durations.drain().collect();
        list.sort_unstable();
        for ((stack_id, ticks), (calls, ticks_self)) in list {
            let full = self.ticks.push(StackTicks { stack_id, ticks, calls, ticks_self });
            self.send(full);
        }
    }

    #[inline]
    pub fn event(&mut self, number: u64, thread: ThreadId, event: &Event, function: FunctionId) {
        let kind = match event.kind {
            Kind::Enter => 0,
            Kind::Exit => 1,
            Kind::TailExit => 2,
            Kind::Argument | Kind::Data => return,
        };
        if self.detail < Detail::Pairs {
            return;
        }
        let full = self.events.push(CallEventRow {
            event_no: number,
            thread_id: thread,
            time: event.time,
            cpu: event.cpu,
            kind,
            function_id: function,
        });
        self.send(full);
    }

    /// A call that has ended, or is live at the end.
    pub fn call(&mut self, call: Call, events: CallEvents) {
        let (from, to) = (call.begin.time, call.end.time);
        let ticks = from.zip(to).and_then(|(from, to)| to.checked_sub(from));
        if let Some(context) = events.context.filter(|_| events.call.is_some()) {
            self.count(context, ticks, events.ticks_self.unwrap_or(0));
        }
        if self.detail == Detail::Summary {
            return;
        }
        let full = self.calls.push(calls::without_steps(&call));
        self.send(full);
        let full = self.records.push(CallRecord {
            call_id: call.call,
            call_event: events.call,
            return_event: events.end,
            stack_id: events.context,
            ticks,
            ticks_self: events.ticks_self,
        });
        self.send(full);
    }

    /// Counts a call of a context by its duration.
    fn count(&mut self, context: StackId, ticks: Option<u64>, own: u64) {
        let sums = self.durations.entry((context, ticks)).or_default();
        match sums.1.checked_add(own) {
            Some(sum) => *sums = (sums.0 + 1, sum),
            None => {
                self.send_durations();
                self.durations.insert((context, ticks), (1, own));
            }
        }
        if self.durations.len() >= DURATIONS {
            self.send_durations();
        }
    }

    pub fn interval(&mut self, interval: Interval) {
        if self.detail == Detail::Summary {
            return;
        }
        let full = self.intervals.push(calls::interval(&interval));
        self.send(full);
    }

    pub fn argument(&mut self, call: CallId, ordinal: u32, value: u64) {
        if self.detail == Detail::Summary {
            return;
        }
        let full = self.arguments.push(CallArgument { call_id: call, ordinal, value });
        self.send(full);
    }

    /// A custom or typed event, in an instance if one is live.
    pub fn data(&mut self, number: u64, thread: ThreadId, event: &Event, call: Option<CallId>) {
        if self.detail == Detail::Summary {
            return;
        }
        let (from, length) = (event.value as usize, event.function as usize);
        let (data_type, data) = xray::data(self.bytes, self.layout, self.version, from, length);
        let full = self.data.push(TraceEvent {
            event_no: number,
            thread_id: thread,
            time: event.time,
            cpu: event.cpu,
            kind: if data_type.is_some() { "typed" } else { "custom" },
            r#type: data_type.map(i32::from),
            size: data.len() as u64,
            data,
            call_id: call,
        });
        self.data_bytes += data.len();
        let full = match full {
            None if self.data_bytes > DATA_BATCH => self.data.rest(),
            full => full,
        };
        if full.is_some() {
            self.data_bytes = 0;
        }
        self.send(full);
    }
}
