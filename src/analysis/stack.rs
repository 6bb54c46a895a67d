//! The call stack of a thread: from transfers of control to call instances and intervals, by the
//! rules of `docs/semantics.md` ("Control transfers").
//!
//! It knows nothing of instructions, registers or memory. Who feeds it decides what a transfer is:
//! the pass from instructions, DCFG from the kinds of its edges, XRay from entries and exits. Each
//! has a [`Token`] by which the end of an instance is recognised, and a payload of its own for as
//! long as an instance lives.

use crate::id::{CallId, FunctionId, InstructionId, IntervalId, Seq, ThreadId};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// How a call instance began; the word in `function_call.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    Call,
    Tail,
    Signal,
    Root,
    Stub,
    Gap,
    /// It was alive in the process that this one was forked from.
    Fork,
}

impl CallKind {
    /// In the order of their numbers.
    pub const ALL: [CallKind; 7] = [
        CallKind::Call,
        CallKind::Tail,
        CallKind::Signal,
        CallKind::Root,
        CallKind::Stub,
        CallKind::Gap,
        CallKind::Fork,
    ];

    pub fn name(self) -> &'static str {
        ["call", "tail", "signal", "root", "stub", "gap", "fork"][self as usize]
    }
}

/// How a call instance ended; the word in `function_call.ending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    Return,
    Tail,
    Unwound,
    Open,
}

impl Ending {
    pub fn name(self) -> &'static str {
        ["return", "tail", "unwound", "open"][self as usize]
    }
}

/// A place in a thread's run, as far as the trace tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    pub seq: Option<Seq>,
    /// In the trace's own clock.
    pub time: Option<u64>,
}

/// A row of `function_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub call: CallId,
    pub function: FunctionId,
    /// Number among the instances of the function, from 1.
    pub instance: u32,
    pub parent: Option<CallId>,
    /// The instance that it replaced.
    pub tail_of: Option<CallId>,
    pub thread: ThreadId,
    pub depth: u32,
    pub kind: CallKind,
    pub ending: Ending,
    /// Its first step.
    pub begin: Point,
    /// Its last step.
    pub end: Point,
    /// The instruction that called.
    pub site: Option<InstructionId>,
    /// Steps; ticks of the clock where a trace has no steps.
    pub steps_self: u64,
    /// With those of all its descendants.
    pub steps_total: u64,
}

/// A row of `control_flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub interval: IntervalId,
    pub thread: ThreadId,
    pub call: CallId,
    pub function: FunctionId,
    pub start: Point,
    pub end: Point,
}

/// By what the end of an instance is recognised.
pub trait Token: Copy {
    /// What a transfer that ends an instance knows of it.
    type Key: Copy + Eq + Hash;

    /// The keys of this token: none if nothing that is in the trace ends the instance.
    fn keys(&self) -> [Option<Self::Key>; 3];
}

/// What control did between a step and the next one of the same thread (or between records that say
/// it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer<T> {
    /// It went on: in the same function, or into another function's range, which is a tail call. On
    /// an empty stack it begins the root.
    None,
    /// It entered a function from which it is to come back.
    Call { kind: CallKind, token: T, site: Option<InstructionId> },
    /// It left the instance at this depth, and those above it, which are unwound. If it did not
    /// come back to the function of the instance below, that is a tail call, too.
    Return { depth: usize },
    /// It went on in the instance at this depth, and left those above it, which are unwound.
    Unwind { depth: usize },
    /// It entered a function in the place of an instance that has ended.
    Tail { of: CallId, token: T },
    /// It was taken away from the current instance.
    Signal { token: T },
    /// Nothing is known of what it did: what was alive may be so still.
    Gap,
}

/// Where control arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub function: FunctionId,
    /// The first step there.
    pub at: Point,
}

/// Numbers of calls, intervals and instances, which go on over all threads of a trace.
#[derive(Debug, Default)]
pub struct Numbers {
    calls: u32,
    intervals: u32,
    /// By function.
    instances: Vec<u32>,
}

impl Numbers {
    /// Call instances so far.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    pub fn intervals(&self) -> u32 {
        self.intervals
    }

    /// Numbers that so many were given of before; `instances` of some functions.
    pub fn resumed(calls: u32, intervals: u32, instances: &[(FunctionId, u32)]) -> Numbers {
        let most = instances.iter().map(|(f, _)| f.index() + 1).max().unwrap_or(0);
        let mut numbers = Numbers { calls, intervals, instances: vec![0; most] };
        instances.iter().for_each(|(f, n)| numbers.instances[f.index()] = *n);
        numbers
    }

    /// Instances of a function so far.
    pub fn instances(&self, function: FunctionId) -> u32 {
        self.instances.get(function.index()).copied().unwrap_or(0)
    }

    fn call(&mut self, function: FunctionId) -> (CallId, u32) {
        self.calls += 1;
        if self.instances.len() <= function.index() {
            self.instances.resize(function.index() + 1, 0);
        }
        let instance = &mut self.instances[function.index()];
        *instance += 1;
        (CallId::at(self.calls as usize - 1), *instance)
    }

    fn interval(&mut self) -> IntervalId {
        self.intervals += 1;
        IntervalId::at(self.intervals as usize - 1)
    }
}

/// An instance that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub row: Call,
    /// Function of its parent.
    pub caller: Option<FunctionId>,
    /// No ancestor was of the same function: its steps count for the function's total.
    pub outermost: bool,
}

/// Takes what a stack makes, and has the numbers that the stacks of all threads share.
pub trait Ledger<P> {
    fn numbers(&mut self) -> &mut Numbers;
    /// An instance begins; `parent` is what called it.
    fn begin(&mut self, _new: (CallId, FunctionId), _parent: Option<(CallId, FunctionId)>) {}
    fn interval(&mut self, row: Interval);
    /// An instance has ended; what it held is left as it is to begin the next one with.
    fn end(&mut self, ended: Ended, payload: &mut P);
}

/// A live call instance.
#[derive(Debug)]
pub struct Frame<T, P> {
    pub call: CallId,
    pub function: FunctionId,
    pub token: T,
    pub payload: P,
    instance: u32,
    tail_of: Option<CallId>,
    kind: CallKind,
    site: Option<InstructionId>,
    begin: Point,
    steps_self: u64,
    steps_below: u64,
    outermost: bool,
}

impl<T, P> Frame<T, P> {
    /// Its first step.
    pub fn begin(&self) -> Point {
        self.begin
    }
}

/// What an instance begins as.
struct New<T> {
    kind: CallKind,
    token: T,
    site: Option<InstructionId>,
    tail_of: Option<CallId>,
}

/// The live call instances of a thread.
pub struct Stack<T: Token, P> {
    thread: ThreadId,
    frames: Vec<Frame<T, P>>,
    /// Depths of the frames with a key, outermost first: of the first so many frames. Nearly every
    /// instance ends on top of the stack, and is never looked for.
    index: FxHashMap<T::Key, Vec<u32>>,
    indexed: usize,
    /// Live instances by function.
    live: Vec<u32>,
    /// The interval of the instance on top, if it has begun, and its start.
    interval: Option<(IntervalId, Point)>,
    /// The last step.
    last: Point,
    /// Payloads to use again.
    spare: Vec<P>,
}

impl<T: Token + Default, P: Default> Stack<T, P> {
    pub fn new(thread: ThreadId) -> Self {
        Stack {
            thread,
            frames: Vec::new(),
            index: FxHashMap::default(),
            indexed: 0,
            live: Vec::new(),
            interval: None,
            last: Point::default(),
            spare: Vec::new(),
        }
    }

    /// A stack that goes on: its live instances, the outermost first, the interval that is open, and
    /// the last step. Of where these began nothing is known any more.
    pub fn resumed(
        thread: ThreadId,
        frames: Vec<(CallId, FunctionId, T, P)>,
        interval: Option<IntervalId>,
        last: Point,
    ) -> Self {
        let mut stack = Stack::new(thread);
        for (call, function, token, payload) in frames {
            if stack.live.len() <= function.index() {
                stack.live.resize(function.index() + 1, 0);
            }
            let live = &mut stack.live[function.index()];
            *live += 1;
            let outermost = *live == 1;
            stack.frames.push(Frame {
                call,
                function,
                token,
                payload,
                instance: 0,
                tail_of: None,
                kind: CallKind::Call,
                site: None,
                begin: Point::default(),
                steps_self: 0,
                steps_below: 0,
                outermost,
            });
        }
        stack.interval = interval.map(|interval| (interval, Point::default()));
        stack.last = last;
        stack
    }

    /// The interval of the instance on top.
    pub fn open_interval(&self) -> Option<IntervalId> {
        self.interval.map(|(interval, _)| interval)
    }

    /// The last step.
    pub fn last(&self) -> Point {
        self.last
    }

    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The live instances, outermost first.
    pub fn frames(&self) -> &[Frame<T, P>] {
        &self.frames
    }

    pub fn frame_mut(&mut self, depth: usize) -> &mut Frame<T, P> {
        &mut self.frames[depth]
    }

    #[inline]
    pub fn top(&self) -> Option<&Frame<T, P>> {
        self.frames.last()
    }

    #[inline]
    pub fn top_mut(&mut self) -> Option<&mut Frame<T, P>> {
        self.frames.last_mut()
    }

    /// Depth of a live instance.
    pub fn find(&self, call: CallId) -> Option<usize> {
        self.frames.binary_search_by_key(&call, |f| f.call).ok()
    }

    /// The newest live instance with a key of which `is` holds: its depth.
    pub fn newest(&mut self, key: T::Key, is: impl Fn(&Frame<T, P>) -> bool) -> Option<usize> {
        let has_key = |frame: &Frame<T, P>| frame.token.keys().contains(&Some(key));
        match self.frames.last() {
            Some(top) if has_key(top) && is(top) => return Some(self.frames.len() - 1),
            _ => self.index_all(),
        }
        let depths = self.index.get(&key)?.iter().rev().map(|&depth| depth as usize);
        let mut depths = depths.filter(|&depth| is(&self.frames[depth]));
        depths.next()
    }

    fn index_all(&mut self) {
        for (depth, frame) in self.frames.iter().enumerate().skip(self.indexed) {
            for key in frame.token.keys().into_iter().flatten() {
                self.index.entry(key).or_default().push(depth as u32);
            }
        }
        self.indexed = self.frames.len();
    }

    /// Live instances of a function.
    pub fn live(&self, function: FunctionId) -> u32 {
        self.live.get(function.index()).copied().unwrap_or(0)
    }

    /// The instance on top ran: so many steps, of which this is the last.
    #[inline]
    pub fn ran(&mut self, steps: u64, last: Point) {
        if let Some(top) = self.frames.last_mut() {
            top.steps_self += steps;
        }
        self.last = last;
    }

    /// Applies what control did before the next step.
    pub fn transfer(&mut self, transfer: Transfer<T>, here: Arrival, ledger: &mut impl Ledger<P>) {
        let new = |kind, token, site, tail_of| New { kind, token, site, tail_of };
        match transfer {
            Transfer::None => self.arrive(here, ledger),
            Transfer::Call { kind, token, site } => {
                self.begin(new(kind, token, site, None), here, ledger);
            }
            Transfer::Return { depth } => {
                self.end(depth, Ending::Return, here.at, ledger);
                self.arrive(here, ledger);
            }
            Transfer::Unwind { depth } => {
                self.end(depth + 1, Ending::Unwound, here.at, ledger);
                self.arrive(here, ledger);
            }
            Transfer::Tail { of, token } => {
                self.begin(new(CallKind::Tail, token, None, Some(of)), here, ledger);
            }
            Transfer::Signal { token } => {
                self.begin(new(CallKind::Signal, token, None, None), here, ledger);
            }
            Transfer::Gap => {
                self.end_all(ledger);
                self.begin(new(CallKind::Gap, T::default(), None, None), here, ledger);
            }
        }
    }

    /// Control is in `here.function`: if the current instance is of another one, that is a tail
    /// call.
    #[inline]
    pub fn arrive(&mut self, here: Arrival, ledger: &mut impl Ledger<P>) {
        match self.frames.last() {
            Some(top) if top.function == here.function => {}
            Some(top) => {
                let (token, replaced) = (top.token, top.call);
                self.pop(Ending::Tail, ledger);
                let new = New { kind: CallKind::Tail, token, site: None, tail_of: Some(replaced) };
                self.begin(new, here, ledger);
            }
            None => {
                let (kind, token) = (CallKind::Root, T::default());
                self.begin(New { kind, token, site: None, tail_of: None }, here, ledger);
            }
        }
    }

    /// Ends the instance at `depth` with `ending`, and those above it as unwound; what is below
    /// goes on at `at`.
    pub fn end(&mut self, depth: usize, ending: Ending, at: Point, ledger: &mut impl Ledger<P>) {
        while self.frames.len() > depth + 1 {
            self.pop(Ending::Unwound, ledger);
        }
        self.pop(ending, ledger);
        if !self.frames.is_empty() {
            self.interval = Some((ledger.numbers().interval(), at));
        }
    }

    /// From here on it is on this thread.
    pub fn run_in(&mut self, thread: ThreadId) {
        self.thread = thread;
    }

    /// Takes the outermost instances away, which have called the others from another stack.
    pub fn take_outermost(&mut self, count: usize) -> Self {
        let inner = self.frames.split_off(count);
        let mut outer = Stack::new(self.thread);
        outer.last = self.last;
        outer.frames = std::mem::replace(&mut self.frames, inner);
        for stack in [&mut *self, &mut outer] {
            stack.live.fill(0);
            for frame in &stack.frames {
                let function = frame.function.index();
                if stack.live.len() <= function {
                    stack.live.resize(function + 1, 0);
                }
                stack.live[function] += 1;
            }
            stack.index.clear();
            stack.indexed = 0;
        }
        outer
    }

    /// A forked process begins in instances as they were alive in its parent, of which this is the next one.
    pub fn fork(&mut self, kind: CallKind, token: T, here: Arrival, ledger: &mut impl Ledger<P>) {
        self.begin(New { kind, token, site: None, tail_of: None }, here, ledger);
    }

    /// Control is taken to another stack.
    pub fn park(&mut self, ledger: &mut impl Ledger<P>) {
        self.close_interval(ledger);
    }

    /// Control comes back from another stack; its next step is the one at `at`.
    pub fn unpark(&mut self, at: Point, ledger: &mut impl Ledger<P>) {
        if !self.frames.is_empty() {
            self.interval = Some((ledger.numbers().interval(), at));
        }
    }

    /// Ends what is alive: the trace ends, or tells no more of it.
    pub fn end_all(&mut self, ledger: &mut impl Ledger<P>) {
        while !self.frames.is_empty() {
            self.pop(Ending::Open, ledger);
        }
    }

    /// An instance ended whose beginning the trace does not have.
    pub fn end_unseen(
        &mut self,
        function: FunctionId,
        ending: Ending,
        ledger: &mut impl Ledger<P>,
    ) {
        let (call, instance) = ledger.numbers().call(function);
        let row = Call {
            call,
            function,
            instance,
            parent: None,
            tail_of: None,
            thread: self.thread,
            depth: 0,
            kind: CallKind::Gap,
            ending,
            begin: Point::default(),
            end: self.last,
            site: None,
            steps_self: 0,
            steps_total: 0,
        };
        let outermost = self.live(function) == 0;
        ledger.end(Ended { row, caller: None, outermost }, &mut P::default());
    }

    fn begin(&mut self, new: New<T>, here: Arrival, ledger: &mut impl Ledger<P>) {
        self.close_interval(ledger);
        let numbers = ledger.numbers();
        let (call, instance) = numbers.call(here.function);
        let interval = numbers.interval();
        let parent = self.frames.last().map(|f| (f.call, f.function));
        ledger.begin((call, here.function), parent);
        let function = here.function.index();
        if self.live.len() <= function {
            self.live.resize(function + 1, 0);
        }
        self.live[function] += 1;
        let outermost = self.live[function] == 1;
        self.frames.push(Frame {
            call,
            function: here.function,
            token: new.token,
            payload: self.spare.pop().unwrap_or_default(),
            instance,
            tail_of: new.tail_of,
            kind: new.kind,
            site: new.site,
            begin: here.at,
            steps_self: 0,
            steps_below: 0,
            outermost,
        });
        self.interval = Some((interval, here.at));
    }

    fn pop(&mut self, ending: Ending, ledger: &mut impl Ledger<P>) {
        self.close_interval(ledger);
        let Some(mut frame) = self.frames.pop() else { return };
        if self.indexed > self.frames.len() {
            self.indexed = self.frames.len();
            for key in frame.token.keys().into_iter().flatten() {
                self.index.entry(key).or_default().pop();
            }
        }
        if let Some(live) = self.live.get_mut(frame.function.index()) {
            *live -= 1;
        }
        let steps_total = frame.steps_self + frame.steps_below;
        let parent = self.frames.last_mut();
        let (parent, caller) = match parent {
            Some(parent) => {
                parent.steps_below += steps_total;
                (Some(parent.call), Some(parent.function))
            }
            None => (None, None),
        };
        let row = Call {
            call: frame.call,
            function: frame.function,
            instance: frame.instance,
            parent,
            tail_of: frame.tail_of,
            thread: self.thread,
            depth: self.frames.len() as u32,
            kind: frame.kind,
            ending,
            begin: frame.begin,
            // An instance in which nothing ran has the place where it began.
            end: if self.last.seq < frame.begin.seq { frame.begin } else { self.last },
            site: frame.site,
            steps_self: frame.steps_self,
            steps_total,
        };
        ledger.end(Ended { row, caller, outermost: frame.outermost }, &mut frame.payload);
        self.spare.push(frame.payload);
    }

    /// Ends the interval of the instance on top. If no step ran in it - control came back and left
    /// at once - there is none, and what follows has its number.
    fn close_interval(&mut self, ledger: &mut impl Ledger<P>) {
        let Some((interval, start)) = self.interval.take() else { return };
        let Some(top) = self.frames.last() else { return };
        if self.last.seq < start.seq {
            ledger.numbers().intervals -= 1;
            return;
        }
        ledger.interval(Interval {
            interval,
            thread: self.thread,
            call: top.call,
            function: top.function,
            start,
            end: self.last,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A return address, or nothing.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Address(Option<u64>);

    impl Token for Address {
        type Key = u64;
        fn keys(&self) -> [Option<u64>; 3] {
            [self.0, None, None]
        }
    }

    /// Writes down what it is given, a word each.
    #[derive(Default)]
    struct Notes {
        numbers: Numbers,
        calls: Vec<String>,
        intervals: Vec<String>,
    }

    impl Ledger<()> for Notes {
        fn numbers(&mut self) -> &mut Numbers {
            &mut self.numbers
        }
        fn interval(&mut self, row: Interval) {
            let seq = |p: Point| p.seq.map_or(0, Seq::get);
            let (from, to) = (seq(row.start), seq(row.end));
            self.intervals.push(format!("{}:{}@{from}-{to}", row.interval, row.call));
        }
        fn end(&mut self, ended: Ended, _: &mut ()) {
            let Call { call, function, kind, ending, depth, steps_self, steps_total, .. } =
                ended.row;
            let (kind, ending) = (kind.name(), ending.name());
            self.calls.push(format!(
                "{call} f{function} {kind} {ending} {depth} {steps_self}/{steps_total}"
            ));
        }
    }

    /// Each transfer is followed by one step in the function.
    fn run(transfers: &[(Transfer<Address>, u32)]) -> Notes {
        let (mut stack, mut notes) = (Stack::new(ThreadId::FIRST), Notes::default());
        for (i, &(transfer, function)) in transfers.iter().enumerate() {
            let at = Point { seq: Seq::new(i as u64 + 1), time: None };
            let function = FunctionId::new(function).expect("not 0");
            stack.transfer(transfer, Arrival { function, at }, &mut notes);
            stack.ran(1, at);
        }
        stack.end_all(&mut notes);
        notes
    }

    fn call(address: u64) -> Transfer<Address> {
        Transfer::Call { kind: CallKind::Call, token: Address(Some(address)), site: None }
    }

    #[test]
    fn calls_and_returns() {
        let notes = run(&[
            (Transfer::None, 1),
            (call(10), 2),
            (call(20), 3),
            (Transfer::Return { depth: 1 }, 1),
        ]);
        let calls = ["3 f3 call unwound 2 1/1", "2 f2 call return 1 1/2", "1 f1 root open 0 2/4"];
        assert_eq!(notes.calls, calls);
        assert_eq!(notes.intervals, ["1:1@1-1", "2:2@2-2", "3:3@3-3", "4:1@4-4"]);
    }

    #[test]
    fn another_function_is_a_tail_with_the_same_parent() {
        let notes =
            run(&[(Transfer::None, 1), (call(10), 2), (Transfer::None, 3), (Transfer::Gap, 4)]);
        let calls = [
            "2 f2 call tail 1 1/1",
            "3 f3 tail open 1 1/1",
            "1 f1 root open 0 1/3",
            "4 f4 gap open 0 1/1",
        ];
        assert_eq!(notes.calls, calls);
    }

    #[test]
    fn an_interval_without_steps_leaves_its_number() {
        let notes = run(&[(Transfer::None, 1), (call(10), 2), (Transfer::Return { depth: 1 }, 5)]);
        assert_eq!(notes.intervals, ["1:1@1-1", "2:2@2-2", "3:3@3-3"]);
        assert_eq!(notes.calls[1], "1 f1 root tail 0 1/2");
    }

    #[test]
    fn keys_are_of_live_frames() {
        let (mut stack, mut notes) = (Stack::new(ThreadId::FIRST), Notes::default());
        let here =
            |n| Arrival { function: FunctionId::FIRST, at: Point { seq: Seq::new(n), time: None } };
        stack.transfer(Transfer::None, here(1), &mut notes);
        stack.transfer(call(10), here(2), &mut notes);
        stack.transfer(call(10), here(3), &mut notes);
        assert_eq!(stack.newest(10, |_| true), Some(2));
        let third = stack.frames()[2].call;
        assert_eq!(stack.newest(10, |frame| frame.call != third), Some(1));
        stack.end(2, Ending::Return, here(4).at, &mut notes);
        assert_eq!(stack.newest(10, |_| true), Some(1));
        stack.end(1, Ending::Return, here(5).at, &mut notes);
        assert_eq!(stack.newest(10, |_| true), None);
        assert_eq!(stack.live(FunctionId::FIRST), 1);
    }

    /// An instance of which only the end is known is a row of its own, at the last step.
    #[test]
    fn an_unseen_instance_ends() {
        #[derive(Default)]
        struct Rows(Numbers, Vec<Ended>);
        impl Ledger<()> for Rows {
            fn numbers(&mut self) -> &mut Numbers {
                &mut self.0
            }
            fn interval(&mut self, _: Interval) {}
            fn end(&mut self, ended: Ended, _: &mut ()) {
                self.1.push(ended);
            }
        }
        let mut stack: Stack<Address, ()> = Stack::new(ThreadId::FIRST);
        let mut rows = Rows::default();
        let at = Point { seq: Seq::new(7), time: Some(3) };
        stack.transfer(Transfer::None, Arrival { function: FunctionId::at(4), at }, &mut rows);
        stack.ran(1, at);
        stack.end_unseen(FunctionId::at(2), Ending::Return, &mut rows);
        stack.end_unseen(FunctionId::at(4), Ending::Open, &mut rows);
        let [other, same] = &rows.1[..] else { panic!("two ended") };
        let row = |call: usize, function, ending| Call {
            call: CallId::at(call),
            function: FunctionId::at(function),
            instance: if function == 4 { 2 } else { 1 },
            parent: None,
            tail_of: None,
            thread: ThreadId::FIRST,
            depth: 0,
            kind: CallKind::Gap,
            ending,
            begin: Point::default(),
            end: at,
            site: None,
            steps_self: 0,
            steps_total: 0,
        };
        assert_eq!(other.row, row(1, 2, Ending::Return));
        assert_eq!(same.row, row(2, 4, Ending::Open));
        // One of the same function lives.
        assert_eq!((other.outermost, same.outermost), (true, false));
        assert_eq!((other.caller, same.caller), (None, None));
    }

    /// A call in the place of one that has ended.
    #[test]
    fn a_tail_begins_where_another_has_ended() {
        let of = CallId::FIRST;
        let tail = Transfer::Tail { of, token: Address(Some(10)) };
        let notes = run(&[(Transfer::None, 1), (tail, 2), (Transfer::Return { depth: 1 }, 1)]);
        assert_eq!(notes.calls, ["2 f2 tail return 1 1/1", "1 f1 root open 0 2/3"]);
    }
}
