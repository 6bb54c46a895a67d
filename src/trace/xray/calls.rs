//! From entries and exits to call instances.
//!
//! An exit ends the newest live instance of its function in its thread: those above it, whose exits
//! are not in the log, end with it as `unwound`, as `llvm-xray account --deduce-sibling-calls` has
//! it. An exit of a function that is not live began before the log did, or its entry was lost: an
//! instance of kind `gap`. A tail exit names the function that is left; what is entered next in the
//! thread has the same caller. Where a chain of tail calls is left, LLVM's document has the name of
//! the chain's first function instead: read as well.

use super::{Event, Kind};
use rustc_hash::FxHashMap;

/// Call instances at most: they have at most twice as many intervals, and ids are 32-bit numbers
/// with a sign.
pub const MOST: u32 = 1 << 30;
/// No such id.
pub const NONE: u32 = 0;

/// A call instance that has ended, or is live at the end.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub call: u32,
    pub function: u32,
    pub instance: u32,
    /// 0: none.
    pub parent: u32,
    pub tail_of: u32,
    pub thread: u32,
    pub depth: u32,
    pub kind: &'static str,
    pub ending: &'static str,
    pub call_event: Option<i64>,
    pub return_event: Option<i64>,
    pub call_time: Option<u64>,
    pub return_time: Option<u64>,
    /// 0: not known.
    pub stack: u32,
    pub ticks_self: Option<u64>,
}

/// A longest time of a thread in one instance.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub interval: u32,
    pub thread: u32,
    pub call: u32,
    pub function: u32,
    pub start: u64,
    pub end: u64,
}

/// What the pass makes.
pub trait Output {
    fn event(&mut self, number: i64, thread: u32, event: &Event, function: u32);
    fn call(&mut self, call: Call);
    fn interval(&mut self, interval: Interval);
    fn argument(&mut self, call: u32, ordinal: u32, value: u64);
    /// A custom or typed event; 0: no instance is live.
    fn data(&mut self, number: i64, thread: u32, event: &Event, call: u32);
}

/// A calling context: the functions that are live, outermost first.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    pub parent: u32,
    pub function: u32,
    pub depth: u32,
    /// The function is live further out, too.
    pub nested: bool,
    /// Instances by kind: root, call, tail.
    pub calls: [u64; 3],
}

const KINDS: [&str; 3] = ["root", "call", "tail"];

#[derive(Clone, Copy)]
struct Frame {
    call: u32,
    function: u32,
    instance: u32,
    tail_of: u32,
    /// Function that the chain of tail calls began with.
    chain: u32,
    stack: u32,
    kind: u8,
    event: i64,
    time: u64,
    ticks_self: u64,
}

#[derive(Default)]
struct Thread {
    /// Dense from 1 in order of first events; 0: none yet.
    id: u32,
    frames: Vec<Frame>,
    /// Live instances by function.
    live: FxHashMap<u32, u32>,
    last: u64,
    /// The instance that a tail exit ended last, and the function its chain began with.
    left: Option<(u32, u32)>,
    /// The instance whose entry came last, and its arguments so far.
    entered: Option<(u32, u32)>,
    interval: u32,
    since: u64,
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

/// Makes call instances of the events of all threads, given in the order of their times.
#[derive(Default)]
pub struct Calls {
    threads: Vec<Thread>,
    /// Threads as given, in the order of their ids.
    pub order: Vec<usize>,
    /// By id - 1.
    pub stacks: Vec<Stack>,
    children: FxHashMap<(u32, u32), u32>,
    /// Instances and gaps so far by function id.
    instances: Vec<(u32, u64)>,
    calls: u32,
    intervals: u32,
    pub counts: Counts,
}

impl Calls {
    /// For `threads` threads, numbered from 0 where they are given.
    pub fn new(threads: usize) -> Calls {
        Calls { threads: (0..threads).map(|_| Thread::default()).collect(), ..Calls::default() }
    }

    /// Call instances so far.
    pub fn len(&self) -> u32 {
        self.calls
    }

    /// Instances of kind gap by function id.
    pub fn gaps(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.instances.iter().enumerate().filter(|(_, n)| n.1 > 0).map(|(f, n)| (f as u32, n.1))
    }

    /// Takes an event; `function` is the id of its function, from 1, 0 where it has none. False if
    /// there are too many.
    pub fn event(
        &mut self,
        thread: usize,
        event: &Event,
        function: u32,
        out: &mut impl Output,
    ) -> bool {
        let t = &mut self.threads[thread];
        if event.kind == Kind::Argument {
            match &mut t.entered {
                Some((call, ordinal)) => {
                    out.argument(*call, *ordinal, event.value);
                    *ordinal += 1;
                }
                None => self.counts.stray_arguments += 1,
            }
            return true;
        }
        if t.id == NONE {
            self.order.push(thread);
            t.id = self.order.len() as u32;
            t.last = event.time;
        }
        self.counts.events += 1;
        let number = self.counts.events as i64;
        t.entered = None;
        let now = event.time;
        if now < t.last {
            self.counts.backwards += 1;
        } else if let Some(top) = t.frames.last_mut() {
            top.ticks_self += now - t.last;
        }
        t.last = now;
        out.event(number, t.id, event, function);
        match event.kind {
            Kind::Enter => {
                if self.calls >= MOST {
                    return false;
                }
                t.leave(now, out);
                self.calls += 1;
                let (parent, depth) =
                    t.frames.last().map_or((NONE, 0), |f| (f.stack, t.frames.len() as u32));
                let live = t.live.entry(function).or_default();
                let nested = *live > 0;
                *live += 1;
                let stacks = &mut self.stacks;
                let stack = *self.children.entry((parent, function)).or_insert_with(|| {
                    stacks.push(Stack { parent, function, depth, nested, calls: [0; 3] });
                    stacks.len() as u32
                });
                let (kind, tail_of, chain) = match t.left.take() {
                    Some((call, chain)) => (2, call, chain),
                    None => (u8::from(parent != NONE), NONE, function),
                };
                self.stacks[stack as usize - 1].calls[kind as usize] += 1;
                let call = self.calls;
                let instance = instance(&mut self.instances, function);
                t.frames.push(Frame {
                    call,
                    function,
                    instance,
                    tail_of,
                    chain,
                    stack,
                    kind,
                    event: number,
                    time: now,
                    ticks_self: 0,
                });
                t.entered = Some((call, 0));
                t.enter(now, &mut self.intervals);
            }
            Kind::Exit | Kind::TailExit => {
                let tail = event.kind == Kind::TailExit;
                let ending = if tail { "tail" } else { "return" };
                t.left = None;
                let mut ends = t.live.get(&function).is_some_and(|&n| n > 0);
                let mut by_chain = false;
                if !ends && tail && t.frames.last().is_some_and(|f| f.chain == function) {
                    self.counts.chained += 1;
                    (ends, by_chain) = (true, true);
                }
                if !ends {
                    if self.calls >= MOST {
                        return false;
                    }
                    self.calls += 1;
                    self.counts.gaps += 1;
                    let instance = instance(&mut self.instances, function);
                    self.instances[function as usize].1 += 1;
                    out.call(Call {
                        call: self.calls,
                        function,
                        instance,
                        parent: NONE,
                        tail_of: NONE,
                        thread: t.id,
                        depth: 0,
                        kind: "gap",
                        ending,
                        call_event: None,
                        return_event: Some(number),
                        call_time: None,
                        return_time: Some(now),
                        stack: NONE,
                        ticks_self: None,
                    });
                    return true;
                }
                t.leave(now, out);
                while let Some(frame) = t.frames.pop() {
                    let found = by_chain || frame.function == function;
                    if let Some(live) = t.live.get_mut(&frame.function) {
                        *live = live.saturating_sub(1);
                    }
                    self.counts.unwound += u64::from(!found);
                    let parent = t.frames.last().map_or(NONE, |f| f.call);
                    let ending = if found { ending } else { "unwound" };
                    out.call(frame.call(
                        t.id,
                        parent,
                        t.frames.len() as u32,
                        ending,
                        Some((number, now)),
                    ));
                    if found {
                        t.left = tail.then_some((frame.call, frame.chain));
                        break;
                    }
                }
                t.enter(now, &mut self.intervals);
            }
            Kind::Data => out.data(number, t.id, event, t.frames.last().map_or(NONE, |f| f.call)),
            Kind::Argument => {}
        }
        true
    }

    /// Gives what is live at the end.
    pub fn finish(&mut self, out: &mut impl Output) {
        for &thread in &self.order {
            let t = &mut self.threads[thread];
            let now = t.last;
            t.leave(now, out);
            while let Some(frame) = t.frames.pop() {
                self.counts.open += 1;
                let parent = t.frames.last().map_or(NONE, |f| f.call);
                out.call(frame.call(t.id, parent, t.frames.len() as u32, "open", None));
            }
        }
    }
}

/// The next instance of a function.
fn instance(instances: &mut Vec<(u32, u64)>, function: u32) -> u32 {
    let at = function as usize;
    if instances.len() <= at {
        instances.resize(at + 1, (0, 0));
    }
    instances[at].0 += 1;
    instances[at].0
}

impl Frame {
    fn call(
        &self,
        thread: u32,
        parent: u32,
        depth: u32,
        ending: &'static str,
        end: Option<(i64, u64)>,
    ) -> Call {
        Call {
            call: self.call,
            function: self.function,
            instance: self.instance,
            parent,
            tail_of: self.tail_of,
            thread,
            depth,
            kind: KINDS[self.kind as usize],
            ending,
            call_event: Some(self.event),
            return_event: end.map(|e| e.0),
            call_time: Some(self.time),
            return_time: end.map(|e| e.1),
            stack: self.stack,
            ticks_self: Some(self.ticks_self),
        }
    }
}

impl Thread {
    /// Ends the interval of the innermost instance.
    #[inline]
    fn leave(&mut self, now: u64, out: &mut impl Output) {
        if let Some(top) = self.frames.last() {
            let (interval, thread, start) = (self.interval, self.id, self.since);
            out.interval(Interval {
                interval,
                thread,
                call: top.call,
                function: top.function,
                start,
                end: now,
            });
        }
    }

    /// Begins an interval of the innermost instance.
    #[inline]
    fn enter(&mut self, now: u64, intervals: &mut u32) {
        if !self.frames.is_empty() {
            *intervals += 1;
            self.interval = *intervals;
            self.since = now;
        }
    }
}
