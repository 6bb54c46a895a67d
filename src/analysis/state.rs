//! What the pass carries from one part of the run to the next, as far as the rows of that part depend
//! on it: from a state, a part of the run is gone through alone, and gives the rows that it gives in
//! the whole run. Sums do not: nobody knows there what has been read before.

use super::Output;
use super::access::mask;
use super::by_context::ByContext;
use super::calls::CallSet;
use super::data::{Calls, Data, Thread};
use super::forks::Forks;
use super::live_in::LiveIn;
use super::memory::{Memory, Version};
use super::operations::Machine;
use super::outlived::Switches;
use super::pass::Pass;
use super::place::SectionRange;
use super::saves::{Piece, Save, Saves, Store};
use super::shadow::{AccessId, Cell, Registers, WORD};
use super::stack::{Numbers, Point, Stack};
use super::stacks::{Running, Waiting, Waits};
use super::transfer::{End, Previous};
use super::{Activation, CodeMap};
use crate::event::RegSpan;
use crate::id::{ActorId, CallId, FunctionId, IntervalId, ThreadId};

/// Live instances on stacks that wait, at most: each state has them all.
const MOST_WAITING: usize = 1 << 12;

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
}

impl State {
    /// The live instances of each thread, and of each stack that waits, the outermost first.
    pub fn stacks(&self) -> impl Iterator<Item = &[FrameState]> {
        let running = self.threads.iter().map(|thread| &thread.frames[..]);
        running.chain(self.waits.iter().map(|of| &of.frames[..]))
    }

    /// All live instances.
    pub fn frames(&self) -> impl Iterator<Item = &FrameState> {
        self.stacks().flatten()
    }
}

/// The state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// Live instances, the outermost first.
    pub frames: Vec<FrameState>,
    /// The interval of the last one.
    pub interval: Option<IntervalId>,
    pub last: Point,
    pub previous: Option<Before>,
    pub registers: Vec<(RegSpan, Cell)>,
    /// Bytes whose version a live save has.
    pub pending: Vec<(RegSpan, AccessId)>,
    /// The stack on which it runs.
    pub running: Running,
}

/// A stack on which calls wait, as [`Waiting`] has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingState {
    /// The thread that left it.
    pub thread: ThreadId,
    /// Live instances, the outermost first.
    pub frames: Vec<FrameState>,
    /// The stack pointer that it left.
    pub left: u64,
    pub base: u64,
    pub elsewhere: Option<(u64, u64)>,
}

/// The step before, as [`Previous`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// The block that it ends.
    pub block: u32,
    pub slot: Option<u64>,
    pub linked: bool,
    pub links: bool,
    pub called: bool,
}

/// A live instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameState {
    pub call: CallId,
    pub function: FunctionId,
    pub token: End,
    pub saves: Vec<SaveState>,
}

/// A live save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveState {
    pub store: Store,
    /// Bytes of the register as they were, and the save that was pending before.
    pub pieces: Vec<(RegSpan, Cell, AccessId)>,
    pub left: u16,
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// The state before the next step, as far as `needed` and `functions` matter. `blocks`: that of
    /// each thread's last step. None where it has more than a state can say: open exceptions, tasks
    /// that wait, many calls on stacks that wait, processes that are to begin.
    pub fn state(
        &mut self,
        needed: &mut LiveIn,
        functions: impl Iterator<Item = FunctionId>,
        blocks: &[Option<u32>],
    ) -> Option<State> {
        let machine = &mut self.machine;
        let waiting = machine.waits.all.values().map(|of| of.calls.frames().len());
        let known = machine.threads.iter().all(|thread| thread.levels.is_plain())
            && waiting.sum::<usize>() <= MOST_WAITING
            && machine.data.switches.is_empty()
            && machine.data.forks.is_empty();
        if !known {
            return None;
        }
        for thread in &mut machine.threads {
            machine.data.settle(thread);
        }
        let data = &mut machine.data;
        let mut threads = Vec::new();
        for (i, thread) in machine.threads.iter_mut().enumerate() {
            let block = blocks.get(i).copied().flatten();
            threads.push(thread_state(thread, &data.saves, block)?);
        }
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
            instances: functions.map(|f| (f, data.numbers.instances(f))).collect(),
            kernel_writes: data.kernel_writes,
            first_sp: data.first_sp,
            owned: data.memory.owned().to_vec(),
            memory: Vec::new(),
            threads,
            waits: waits.collect(),
        };
        for save in state.frames().flat_map(|frame| &frame.saves) {
            needed.keep(save.store.address, save.store.register.size.into());
        }
        state.memory = data.memory.known(needed.pages());
        Some(state)
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
        let is_save = |save: &SaveState| {
            let Store { register, actor, .. } = &save.store;
            is_span(register)
                && actor.index() < insns
                && save.pieces.iter().all(|(span, cell, _)| is_span(span) && is_cell(cell))
        };
        let is_thread = |thread: &ThreadState| {
            thread.previous.is_none_or(|before| (before.block as usize) < self.defs.len())
                && thread.registers.iter().all(|(span, cell)| is_span(span) && is_cell(cell))
                && thread.pending.iter().all(|(span, _)| is_span(span))
        };
        state.memory.iter().all(|(.., cell)| is_cell(cell))
            && state.threads.iter().all(is_thread)
            && state.frames().flat_map(|frame| &frame.saves).all(is_save)
    }

    /// Goes on from a state; the next step is `seq`. `sections`: all of the mappings so far.
    pub fn resume(&mut self, seq: u64, state: &State, sections: Vec<SectionRange>) {
        let previous: Vec<Option<Previous>> = state
            .threads
            .iter()
            .map(|thread| {
                thread.previous.map(|before| {
                    let Before { block, slot, linked, links, called } = before;
                    self.need(block);
                    let last = self.blocks[block as usize].last;
                    Previous { last, slot, linked, links, called }
                })
            })
            .collect();
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
        // What handlers left and what processes were to begin with is of the part before.
        data.switches = Switches::default();
        data.forks = Forks::default();
        data.scratch = Default::default();
        let live = state.frames().map(|frame| frame.call);
        data.ended = CallSet::but(state.calls as usize, live);
        data.stubs.forget();
        data.by_context = ByContext::default();
        let mut threads = Vec::new();
        for (i, (of, previous)) in state.threads.iter().zip(previous).enumerate() {
            let id = ThreadId::at(i);
            let mut thread = Thread::new(id, bytes);
            thread.calls = resumed(data, id, &of.frames, of.interval, of.last);
            thread.running = of.running.clone();
            of.registers.iter().for_each(|(span, cell)| thread.registers.write(*span, *cell));
            of.pending.iter().for_each(|(span, store)| thread.registers.set_pending(*span, *store));
            thread.previous = previous;
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

fn live_save(save: &SaveState) -> Save {
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

fn thread_state(thread: &mut Thread, saves: &Saves, block: Option<u32>) -> Option<ThreadState> {
    let previous = match thread.previous {
        None => None,
        Some(Previous { slot, linked, links, called, .. }) => {
            Some(Before { block: block?, slot, linked, links, called })
        }
    };
    let (registers, pending) = registers(&mut thread.registers);
    Some(ThreadState {
        frames: frames(&thread.calls, saves),
        interval: thread.calls.open_interval(),
        last: thread.calls.last(),
        previous,
        registers,
        pending,
        running: Running { switches: 0, ..thread.running.clone() },
    })
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
