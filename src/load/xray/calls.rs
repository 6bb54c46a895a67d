//! From entries and exits to call instances.
//!
//! An exit ends the newest live instance of its function in its thread: those above it, whose exits
//! are not in the log, end with it as `unwound`, as `llvm-xray account --deduce-sibling-calls` has
//! it. An exit of a function that is not live began before the log did, or its entry was lost: an
//! instance of kind `gap`. A tail exit names the function that is left; what is entered next in the
//! thread has the same caller. Where a chain of tail calls is left, LLVM's document has the name of
//! the chain's first function instead: read as well.

use super::rows::{CallEvents, Rows};
use crate::analysis::contexts::Contexts;
use crate::analysis::stack::{
    self, Arrival, CallKind, Ended, Ending, Interval, Ledger, Numbers, Point, Stack, Transfer,
};
use crate::id::{CallId, FunctionId, StackId, ThreadId};
use crate::trace::xray::{Event, Kind};
use rustc_hash::FxHashMap;

/// Call instances at most: they have at most twice as many intervals, and ids are 32-bit numbers
/// with a sign.
pub const MOST: u32 = 1 << 30;

/// How the instances of a context began, as [`StackCalls::calls`] counts them.
pub const KINDS: [CallKind; 3] = [CallKind::Root, CallKind::Call, CallKind::Tail];

/// Figures of a calling context.
#[derive(Clone, Copy, Debug)]
pub struct StackCalls {
    /// The function is live further out, too.
    pub nested: bool,
    /// Instances by kind, as in [`KINDS`].
    pub calls: [u64; 3],
}

/// An instance ends with an exit from its function.
#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    function: Option<FunctionId>,
    /// Function that the chain of tail calls began with.
    chain: Option<FunctionId>,
}

impl stack::Token for Entered {
    type Key = FunctionId;
    fn keys(&self) -> [Option<FunctionId>; 3] {
        [self.function, None, None]
    }
}

/// What a live instance has beside.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    context: Option<StackId>,
    /// Number of its entry.
    event: u64,
}

#[derive(Default)]
struct Thread {
    /// None before its first event.
    stack: Option<Stack<Entered, Live>>,
    last: u64,
    /// The instance that a tail exit ended last, and the function its chain began with.
    left: Option<(CallId, Option<FunctionId>)>,
    /// The instance whose entry came last, and its arguments so far.
    entered: Option<(CallId, u32)>,
}

/// Entries, exits and the like that fit to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub events: u64,
    pub open: u64,
    pub unwound: u64,
    pub gaps: u64,
    /// Tail exits that name the first function of their chain.
    pub chained: u64,
    pub stray_arguments: u64,
    pub backwards: u64,
}

/// What the threads have in common.
#[derive(Default)]
struct Common {
    numbers: Numbers,
    contexts: Contexts<StackCalls>,
    counts: Counts,
    /// Instances of kind gap by function.
    gaps: FxHashMap<FunctionId, u64>,
}

/// Takes what a stack makes at an event.
struct Clerk<'c, 'r> {
    common: &'c mut Common,
    rows: &'c mut Rows<'r>,
}

impl Ledger<Live> for Clerk<'_, '_> {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.common.numbers
    }

    fn interval(&mut self, row: Interval) {
        self.rows.interval(row);
    }

    fn end(&mut self, ended: Ended, live: &mut Live) {
        let counts = &mut self.common.counts;
        let mut row = ended.row;
        let here = counts.events;
        let mut events = CallEvents {
            call: Some(live.event),
            end: Some(here),
            context: live.context,
            ticks_self: Some(row.steps_self),
        };
        match (row.kind, row.ending) {
            (CallKind::Gap, _) => {
                counts.gaps += 1;
                *self.common.gaps.entry(row.function).or_default() += 1;
                (events.call, events.ticks_self) = (None, None);
            }
            (_, Ending::Unwound) => counts.unwound += 1,
            (_, Ending::Open) => {
                counts.open += 1;
                events.end = None;
                row.end = Point::default();
            }
            _ => {}
        }
        self.rows.call(row, events);
    }
}

/// Makes call instances of the events of all threads, given in the order of their times.
pub struct Calls {
    threads: Vec<Thread>,
    /// Threads as given, in the order of their ids.
    pub order: Vec<usize>,
    common: Common,
}

impl Calls {
    /// For `threads` threads, numbered from 0 where they are given.
    pub fn new(threads: usize) -> Calls {
        let threads = (0..threads).map(|_| Thread::default()).collect();
        Calls { threads, order: Vec::new(), common: Common::default() }
    }

    /// Call instances so far.
    pub fn len(&self) -> u32 {
        self.common.numbers.calls()
    }

    pub fn counts(&self) -> &Counts {
        &self.common.counts
    }

    pub fn contexts(&self) -> &Contexts<StackCalls> {
        &self.common.contexts
    }

    /// Instances of kind gap by function.
    pub fn gaps(&self) -> impl Iterator<Item = (FunctionId, u64)> + '_ {
        self.common.gaps.iter().map(|(&function, &n)| (function, n))
    }

    /// An entry or exit; false if there are too many calls.
    pub fn event(
        &mut self,
        thread: usize,
        event: &Event,
        function: FunctionId,
        rows: &mut Rows,
    ) -> bool {
        let (common, t) = (&mut self.common, &mut self.threads[thread]);
        let id = t.tick(event.time, common, || {
            self.order.push(thread);
            ThreadId::at(self.order.len() - 1)
        });
        rows.event(common.counts.events, id, event, function);
        let mut clerk = Clerk { common, rows };
        match event.kind {
            Kind::Enter => t.enter(function, event.time, &mut clerk),
            _ => t.exit(function, event, &mut clerk),
        }
    }

    /// A custom or typed event.
    pub fn data(&mut self, thread: usize, event: &Event, rows: &mut Rows) {
        let (common, t) = (&mut self.common, &mut self.threads[thread]);
        let id = t.tick(event.time, common, || {
            self.order.push(thread);
            ThreadId::at(self.order.len() - 1)
        });
        let call = t.stack.as_ref().and_then(|s| s.top()).map(|f| f.call);
        rows.data(common.counts.events, id, event, call);
    }

    /// An argument of the entry before.
    pub fn argument(&mut self, thread: usize, value: u64, rows: &mut Rows) {
        match &mut self.threads[thread].entered {
            Some((call, ordinal)) => {
                rows.argument(*call, *ordinal, value);
                *ordinal += 1;
            }
            None => self.common.counts.stray_arguments += 1,
        }
    }

    /// Gives what is live at the end.
    pub fn finish(&mut self, rows: &mut Rows) {
        for &thread in &self.order {
            if let Some(stack) = &mut self.threads[thread].stack {
                stack.end_all(&mut Clerk { common: &mut self.common, rows });
            }
        }
    }
}

impl Thread {
    /// An event at `now`; the first of a thread gives it an id.
    fn tick(&mut self, now: u64, common: &mut Common, id: impl FnOnce() -> ThreadId) -> ThreadId {
        common.counts.events += 1;
        self.entered = None;
        let stack = match &mut self.stack {
            Some(stack) => stack,
            none => {
                self.last = now;
                none.insert(Stack::new(id()))
            }
        };
        common.counts.backwards += u64::from(now < self.last);
        stack.ran(now.saturating_sub(self.last), Point { seq: None, time: Some(now) });
        self.last = now;
        stack.thread()
    }

    fn enter(&mut self, function: FunctionId, now: u64, clerk: &mut Clerk) -> bool {
        let Some(stack) = &mut self.stack else { return true };
        if clerk.common.numbers.calls() >= MOST {
            return false;
        }
        let parent = stack.top().and_then(|f| f.payload.context);
        let left = self.left.take();
        let kind = match (left, parent) {
            (Some(_), _) => CallKind::Tail,
            (None, Some(_)) => CallKind::Call,
            (None, None) => CallKind::Root,
        };
        let nested = stack.live(function) > 0;
        let contexts = &mut clerk.common.contexts;
        let context = contexts.enter(parent, function, || StackCalls { nested, calls: [0; 3] });
        if let Some(kind) = KINDS.iter().position(|k| *k == kind) {
            contexts.get_mut(context).figures.calls[kind] += 1;
        }
        let context = Some(context);
        let event = clerk.common.counts.events;
        let chain = left.and_then(|(_, chain)| chain).or(Some(function));
        let token = Entered { function: Some(function), chain };
        let transfer = match left {
            Some((of, _)) => Transfer::Tail { of, token },
            None => Transfer::Call { kind, token, site: None },
        };
        let at = Point { seq: None, time: Some(now) };
        stack.transfer(transfer, Arrival { function, at }, clerk);
        if let Some(top) = stack.top_mut() {
            top.payload = Live { context, event };
            self.entered = Some((top.call, 0));
        }
        true
    }

    fn exit(&mut self, function: FunctionId, event: &Event, clerk: &mut Clerk) -> bool {
        let Some(stack) = &mut self.stack else { return true };
        let tail = event.kind == Kind::TailExit;
        let ending = if tail { Ending::Tail } else { Ending::Return };
        self.left = None;
        let depth = stack.newest(function, |_| true).or_else(|| {
            let chained = tail && stack.top()?.token.chain == Some(function);
            clerk.common.counts.chained += u64::from(chained);
            chained.then(|| stack.frames().len() - 1)
        });
        let Some(depth) = depth else {
            if clerk.common.numbers.calls() >= MOST {
                return false;
            }
            stack.end_unseen(function, ending, clerk);
            return true;
        };
        let ended = &stack.frames()[depth];
        self.left = tail.then_some((ended.call, ended.token.chain));
        stack.end(depth, ending, Point { seq: None, time: Some(event.time) }, clerk);
        true
    }
}
