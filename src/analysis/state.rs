//! What the pass carries from one part of the run to the next, as far as the rows of that part depend
//! on it: from a state, a part of the run is gone through alone, and gives the rows that it gives in
//! the whole run. Sums do not: nobody knows there what has been read before.

use super::Output;
use super::access::mask;
use super::by_context::ByContext;
use super::calls::CallSet;
use super::data::{Calls, Data, Thread};
use super::forks::{Forked, ForkedThread, Forks};
use super::levels::{Interrupted, Kept, Levels, Task};
use super::live_in::{FRAME, LiveIn};
use super::memory::{Memory, Version};
use super::operations::Machine;
use super::outlived::{Left, Switches};
use super::pass::Pass;
use super::place::SectionRange;
use super::saves::{Piece, Save, Saves, Store};
use super::shadow::{AccessId, Cell, Registers, WORD};
use super::stack::{Numbers, Point, Stack};
use super::stacks::{Running, Waiting, Waits};
pub use super::thread_state::{FrameState, SaveState, TaskState, ThreadState, WaitingState};
use super::transfer::Previous;
use super::{Activation, CodeMap};
use crate::event::RegSpan;
use crate::id::{ActorId, FunctionId, IntervalId, ThreadId};
use std::collections::BTreeSet;

/// Live instances on stacks and in tasks that wait, at most: each state has them all.
const MOST_WAITING: usize = 1 << 12;
/// Saves that outlived their instances, at most.
const MOST_LEFT: usize = 1 << 14;

/// The state of a pass between two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Numbers given out so far.
    pub calls: u32,
    pub intervals: u32,
    /// Of the functions that run next.
    pub instances: Vec<(FunctionId, u32)>,
    pub kernel_writes: u64,
    pub first_sp: Option<u64>,
    /// What each section still has: first and last address, its number.
    pub owned: Vec<(u64, u64, u32)>,
    /// What is known of the memory that is read next.
    pub memory: Vec<Version>,
    pub threads: Vec<ThreadState>,
    /// In the order in which they were left.
    pub waits: Vec<WaitingState>,
    /// Exceptions so far.
    pub exceptions: u64,
    /// What handlers have saved for other instances of theirs, in the order of its addresses.
    pub left: Vec<Left>,
    /// What the processes that begin next begin with, as far as it is read next.
    pub forks: Vec<Forked>,
    /// What the thread of the next step begins with, of a process that was forked.
    pub begins: Option<ForkedThread>,
}

impl State {
    /// The live instances of each thread, and of each stack that waits, the outermost first.
    pub fn stacks(&self) -> impl Iterator<Item = &[FrameState]> {
        let running = self.threads.iter().map(|thread| &thread.frames[..]);
        let tasks = self.threads.iter().flat_map(|thread| &thread.levels.waiting);
        let tasks = tasks.map(|task| &task.frames[..]);
        running.chain(tasks).chain(self.waits.iter().map(|of| &of.frames[..]))
    }

    /// All live instances.
    pub fn frames(&self) -> impl Iterator<Item = &FrameState> {
        self.stacks().flatten()
    }

    /// What exceptions have interrupted.
    fn interrupted(&self) -> impl Iterator<Item = &Interrupted> {
        self.threads.iter().flat_map(|thread| {
            let Levels { open, resumed, waiting, taken_for, .. } = &thread.levels;
            let tasks = waiting.iter().flat_map(|task| task.open.iter().chain([&task.interrupted]));
            open.iter().chain(resumed).chain(taken_for).chain(tasks)
        })
    }

    /// Bytes of registers that somebody gets back.
    fn kept(&self) -> impl Iterator<Item = &Kept> {
        let interrupted = self.interrupted().flat_map(|interrupted| &interrupted.kept);
        let signals = self.threads.iter().flat_map(|thread| &thread.signals);
        let signals = signals.flat_map(|(_, kept)| kept);
        interrupted.chain(signals).chain(self.left.iter().flat_map(|left| &left.kept))
    }

    /// What threads had that made processes.
    fn forked(&self) -> impl Iterator<Item = &ThreadState> {
        let waiting = self.forks.iter().filter_map(|fork| fork.thread.as_ref());
        waiting.chain(&self.begins).map(|thread| &**thread)
    }

    /// All saves, those of processes that have not begun, too.
    fn saves(&self) -> impl Iterator<Item = &SaveState> {
        let forked = self.forked().flat_map(|thread| &thread.frames);
        self.frames().chain(forked).flat_map(|frame| &frame.saves)
    }

    /// All that is known of who wrote what.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        let forks = self.forks.iter().flat_map(|fork| &fork.memory);
        let memory = self.memory.iter().chain(forks).map(|(.., cell)| cell);
        let threads = self.threads.iter().chain(self.forked());
        let registers = threads.flat_map(|thread| &thread.registers);
        let pieces = self.saves().flat_map(|save| &save.pieces).map(|(_, cell, _)| cell);
        let registers = registers.map(|(_, cell)| cell);
        memory.chain(registers).chain(pieces).chain(self.kept().map(|kept| &kept.cell))
    }

    /// Whether the next step of a thread, or a return, may be of another task: not only calls tell where it goes on.
    pub fn may_switch(&self) -> bool {
        self.threads.iter().any(|thread| {
            let levels = &thread.levels;
            levels.is_changed() || levels.enters() || !levels.waiting.is_empty()
        })
    }
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// The state before the next step, as far as `needed` and `functions` matter. None where it would be too
    /// large: of many calls on stacks and in tasks that wait.
    pub fn state(
        &mut self,
        needed: &mut LiveIn,
        functions: impl Iterator<Item = FunctionId>,
    ) -> Option<State> {
        let functions: BTreeSet<FunctionId> = functions.chain(self.forked(needed)).collect();
        let machine = &mut self.machine;
        let tasks = machine.threads.iter().flat_map(|thread| &thread.levels.waiting);
        let waits = machine.waits.all.values().map(|of| &of.calls);
        let waiting = waits.chain(tasks.map(|task| &task.calls)).map(|calls| calls.frames().len());
        if waiting.sum::<usize>() > MOST_WAITING {
            return None;
        }
        for thread in &mut machine.threads {
            machine.data.settle(thread);
        }
        let data = &mut machine.data;
        let left = data.switches.state(&mut data.memory);
        if left.len() > MOST_LEFT {
            return None;
        }
        let threads = machine.threads.iter_mut().map(|thread| thread_state(thread, &data.saves));
        let threads = threads.collect();
        let mut waits: Vec<(&u64, &Waiting)> = machine.waits.all.iter().collect();
        waits.sort_unstable_by_key(|(_, of)| of.number);
        let waits = waits.into_iter().map(|(&left, of)| WaitingState {
            thread: of.calls.thread(),
            frames: frames(&of.calls, &data.saves),
            left,
            base: of.base,
            elsewhere: of.elsewhere,
        });
        let mut state = State {
            calls: data.numbers.calls(),
            intervals: data.numbers.intervals(),
            instances: functions.iter().map(|&f| (f, data.numbers.instances(f))).collect(),
            kernel_writes: data.kernel_writes,
            first_sp: data.first_sp,
            owned: data.memory.owned().to_vec(),
            memory: Vec::new(),
            threads,
            waits: waits.collect(),
            exceptions: data.switches.exceptions(),
            left,
            forks: Vec::new(),
            begins: data.forks.begins.clone(),
        };
        let forked = data.forks.saves(needed.inherited());
        let slots = forked.map(|save| (save.store.address, save.store.register.size));
        let slots: Vec<(u64, u16)> = slots.collect();
        slots.iter().for_each(|&(address, bytes)| needed.keep(address, bytes.into()));
        let saves = state.frames().flat_map(|frame| &frame.saves).map(|save| &save.store);
        for store in saves.chain(state.left.iter().map(|left| &left.store)) {
            needed.keep(store.address, store.register.size.into());
        }
        let taken_back = state.threads.iter().filter_map(|thread| thread.levels.frame);
        let frames = state.interrupted().filter_map(|interrupted| interrupted.frame);
        frames.chain(taken_back).for_each(|frame| needed.keep(frame, FRAME));
        let pages = needed.pages();
        state.forks = data.forks.known(needed.inherited(), pages.as_deref());
        state.memory = data.memory.known(pages);
        Some(state)
    }

    /// The functions of which forked processes that begin in a part of the run may have instances from their beginning.
    pub fn forked(&self, needed: &LiveIn) -> BTreeSet<FunctionId> {
        let Machine { threads, waits, data, .. } = &self.machine;
        let frames = data.forks.frames(needed.inherited()).map(|frame| frame.function);
        // They may be made there, too.
        let any = !needed.inherited().is_empty();
        let tasks = threads.iter().flat_map(|thread| &thread.levels.waiting);
        let live = threads.iter().map(|thread| &thread.calls);
        let live = live.chain(tasks.map(|task| &task.calls));
        let live = live.chain(waits.all.values().map(|of| &of.calls)).filter(move |_| any);
        let live = live.flat_map(|calls| calls.frames()).map(|frame| frame.function);
        frames.chain(live).collect()
    }

    /// Whether a state can be of this run.
    pub fn fits(&self, state: &State) -> bool {
        let insns = self.insns.len();
        let is_span = |span: &RegSpan| {
            let end = usize::from(span.offset) + usize::from(span.size);
            span.size > 0 && end <= self.register_bytes()
        };
        let is_cell = |cell: &Cell| {
            let actor = cell.actor(super::StackSide::Below).writer::<ActorId>();
            actor.is_none_or(|actor| actor.index() < insns)
        };
        let is_store =
            |Store { register, actor, .. }: &Store| is_span(register) && actor.index() < insns;
        let is_save = |save: &SaveState| {
            is_store(&save.store) && save.pieces.iter().all(|(span, ..)| is_span(span))
        };
        let is_step =
            |step: Option<Previous>| step.is_none_or(|step| step.last.insn.index() < insns);
        let is_thread = |thread: &ThreadState| {
            is_step(thread.previous)
                && thread.registers.iter().all(|(span, _)| is_span(span))
                && thread.pending.iter().all(|(span, _)| is_span(span))
        };
        let is_interrupted = |interrupted: &Interrupted| {
            is_step(interrupted.previous) && interrupted.saved.iter().all(|(span, _)| is_span(span))
        };
        let is_left = |Left { store, kept, .. }: &Left| {
            let whole = store.register;
            let is_part = |span: &RegSpan| {
                span.offset >= whole.offset && span.offset + span.size <= whole.offset + whole.size
            };
            is_store(store) && kept.iter().all(|kept| is_part(&kept.span))
        };
        state.cells().all(is_cell)
            && state.kept().all(|kept| is_span(&kept.span))
            && state.threads.iter().chain(state.forked()).all(is_thread)
            && state.saves().all(is_save)
            && state.interrupted().all(is_interrupted)
            && state.left.iter().all(is_left)
    }

    /// Goes on from a state; the next step is `seq`. `sections`: all of the mappings so far.
    pub fn resume(&mut self, seq: u64, state: &State, sections: Vec<SectionRange>) {
        let bytes = self.register_bytes();
        let data = &mut self.machine.data;
        data.numbers = Numbers::resumed(state.calls, state.intervals, &state.instances);
        data.kernel_writes = state.kernel_writes;
        data.first_sp = state.first_sp;
        data.memory = Memory::resumed(sections, &state.owned);
        for &(address, len, cell) in &state.memory {
            data.memory.put(address, len, cell);
        }
        data.saves = Saves::default();
        data.switches = Switches::resumed(state.exceptions, &state.left);
        data.forks = Forks::resumed(&state.forks, state.begins.as_ref());
        data.scratch = Default::default();
        let live = state.frames().map(|frame| frame.call);
        data.ended = CallSet::but(state.calls as usize, live);
        data.stubs.forget();
        data.by_context = ByContext::default();
        let mut threads = Vec::new();
        for (i, of) in state.threads.iter().enumerate() {
            let id = ThreadId::at(i);
            let mut thread = Thread::new(id, bytes);
            thread.calls = resumed(data, id, &of.frames, of.interval, of.last);
            thread.running = of.running.clone();
            of.registers.iter().for_each(|(span, cell)| thread.registers.write(*span, *cell));
            of.pending.iter().for_each(|(span, store)| thread.registers.set_pending(*span, *store));
            thread.previous = of.previous;
            let tasks = of.levels.waiting.iter().map(|task| Task {
                calls: resumed(data, id, &task.frames, None, Point::default()),
                contexts: Vec::new(),
                open: task.open.clone(),
                interrupted: task.interrupted.clone(),
            });
            thread.levels = of.levels.with(tasks.collect());
            thread.signals = of.signals.iter().cloned().collect();
            threads.push(thread);
        }
        let mut waits = Waits::default();
        for of in &state.waits {
            let calls = resumed(data, of.thread, &of.frames, None, Point::default());
            let (base, elsewhere) = (of.base, of.elsewhere);
            waits.insert(
                of.left,
                Waiting { calls, contexts: Vec::new(), base, elsewhere, number: 0 },
            );
        }
        self.machine.threads = threads;
        self.machine.waits = waits;
        self.set_next_seq(seq);
    }
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// Has calls and events only followed of what runs from here on while nothing is kept of any thread, see
    /// [`RecordedRange::calls_only_outside`](super::RecordedRange::calls_only_outside).
    pub fn follow_calls_only_outside(&mut self) {
        let Machine { threads, data, .. } = &mut self.machine;
        let is_inside = |thread: &Thread| data.kept.is_inside(|f| thread.calls.live(f));
        let inside = threads.iter().map(is_inside).collect();
        data.kept.calls_only_outside(inside);
        self.machine.note_kept_of_waiting();
    }
}

/// A stack that goes on.
fn resumed<O: Output>(
    data: &mut Data<O>,
    thread: ThreadId,
    frames: &[FrameState],
    interval: Option<IntervalId>,
    last: Point,
) -> Calls {
    let mut parent = None;
    let frames = frames.iter().map(|frame| {
        data.stubs.begin((frame.call, frame.function), parent);
        parent = Some((frame.call, frame.function));
        let mut payload = Activation::default();
        for save in &frame.saves {
            payload.save_mask |= mask(save.store.register);
            payload.saves.push(data.saves.add(live_save(save)));
        }
        (frame.call, frame.function, frame.token, payload)
    });
    let frames = frames.collect();
    Stack::resumed(thread, frames, interval, last)
}

fn frames(calls: &Calls, saves: &Saves) -> Vec<FrameState> {
    let frames = calls.frames().iter().map(|frame| FrameState {
        call: frame.call,
        function: frame.function,
        token: frame.token,
        saves: frame.payload.saves.iter().map(|&i| saves.list[i as usize].state()).collect(),
    });
    frames.collect()
}

pub(super) fn live_save(save: &SaveState) -> Save {
    let pieces = save.pieces.iter().map(|&(span, cell, pending)| Piece {
        span,
        cell,
        pending,
        readers: Vec::new(),
        seen: false,
    });
    Save {
        store: save.store,
        pieces: pieces.collect(),
        read_otherwise: 0,
        restores: 0,
        last_restore: None,
        exposed: None,
        left: save.left,
    }
}

pub(super) fn thread_state(thread: &mut Thread, saves: &Saves) -> ThreadState {
    let (registers, pending) = registers(&mut thread.registers);
    let tasks = thread.levels.waiting.iter().map(|task| TaskState {
        frames: frames(&task.calls, saves),
        open: task.open.clone(),
        interrupted: task.interrupted.clone(),
    });
    let mut levels = thread.levels.with(tasks.collect());
    let Levels { open, resumed, waiting, taken_for, .. } = &mut levels;
    let tasks =
        waiting.iter_mut().flat_map(|task| task.open.iter_mut().chain([&mut task.interrupted]));
    let interrupted = open.iter_mut().chain(resumed).chain(taken_for).chain(tasks);
    let mut signals: Vec<(u64, Vec<Kept>)> = thread.signals.iter().cloned().collect();
    let kept = interrupted.flat_map(|interrupted| &mut interrupted.kept);
    kept.chain(signals.iter_mut().flat_map(|(_, kept)| kept)).for_each(Kept::forget_readers);
    ThreadState {
        frames: frames(&thread.calls, saves),
        interval: thread.calls.open_interval(),
        last: thread.calls.last(),
        previous: thread.previous,
        registers,
        pending,
        running: Running { switches: 0, ..thread.running.clone() },
        levels,
        signals,
    }
}

type Pending = Vec<(RegSpan, AccessId)>;

fn registers(registers: &mut Registers) -> (Vec<(RegSpan, Cell)>, Pending) {
    let bytes = registers.bytes() as u16;
    let mut known: Vec<(RegSpan, Cell)> = Vec::new();
    for offset in (0..bytes).step_by(WORD as usize) {
        let word = RegSpan { offset, size: WORD as u16 };
        registers.visit(word, |_, offset, n, cell| {
            let (cell, offset, n) = (cell.unread(), offset as u16, n as u16);
            match known.last_mut() {
                Some((span, of)) if *of == cell && span.offset + span.size == offset => {
                    span.size += n;
                }
                _ => known.push((RegSpan { offset, size: n }, cell)),
            }
        });
    }
    known.retain(|(_, cell)| cell.is_written());
    let mut pending: Pending = Vec::new();
    let all = RegSpan { offset: 0, size: bytes };
    for (offset, &store) in (0..).zip(registers.pending(all)).filter(|(_, store)| **store != 0) {
        match pending.last_mut() {
            Some((span, of)) if *of == store && span.offset + span.size == offset => span.size += 1,
            _ => pending.push((RegSpan { offset, size: 1 }, store)),
        }
    }
    (known, pending)
}

impl Save {
    fn state(&self) -> SaveState {
        let pieces = self.pieces.iter().map(|p| (p.span, p.cell.unread(), p.pending));
        SaveState { store: self.store, pieces: pieces.collect(), left: self.left }
    }
}
