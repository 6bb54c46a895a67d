//! Tasks that a handler of exceptions switches are as threads: what they hand to each other and to themselves is the
//! same as where each of them is a thread of its own. The handler keeps some of the registers, the processor the others.

use super::access::SaveRule;
use super::pass::{FrameSlot, Processor};
use super::place::PlaceCode;
use super::random::{
    Code, FUNCTIONS, REGISTERS, Random, Rows, Run, name, operand, options, plain, ran, same, seeds,
    sorted, ways_agree,
};
use super::summary::Summary;
use super::*;
use crate::event::{Event, ExceptionEntry, Keeps, KernelAccess, RunEnd, SystemCall};
use crate::isa::{Decoded, FlowKind, RegAccess};
use std::collections::{BTreeMap, HashMap};

/// Where the handler keeps registers of a task, and the processor the others.
const TASKS: u64 = 0x8000;
const FRAMES: u64 = 0x8200;
/// Registers that the handler keeps.
const TAKEN: [u16; 3] = [3, 5, 6];
/// Those that the processor keeps, with the link register.
const KEPT: [u16; 4] = [0, 1, 2, 15];
const FRAME: &str = super::origin::Sources::FRAME;

/// Blocks of the handlers: the first stores registers, loads those of a task and goes back; the other one writes
/// registers that the processor keeps.
struct Handlers {
    stores: u32,
    loads: u32,
    back: u32,
    ticks: u32,
    back_from_tick: u32,
}

fn add_handlers(code: &mut Code) -> Handlers {
    let whole = |r: u16| RegSpan { offset: 8 * r, size: 8 };
    let access = |r: u16| vec![RegAccess { span: whole(r), control: false }];
    let next = || plain(FlowKind::Next);
    let store = |r: &u16| Decoded {
        reads: access(*r),
        memory: vec![operand(true, 8, false, Some(whole(*r)))],
        ..next()
    };
    let load = |r: &u16| Decoded {
        writes: access(*r),
        memory: vec![operand(false, 8, false, Some(whole(*r)))],
        ..next()
    };
    let half = RegAccess { span: RegSpan { offset: 8, size: 2 }, control: false };
    let back = || vec![plain(FlowKind::ExceptionReturn)];
    let functions: [Vec<Vec<Decoded>>; 2] = [
        vec![TAKEN.iter().map(store).collect(), TAKEN.iter().map(load).collect(), back()],
        vec![
            vec![
                Decoded { reads: access(15), writes: access(0), ..next() },
                Decoded { reads: access(0), writes: vec![half], ..next() },
                Decoded { writes: access(15), ..next() },
            ],
            back(),
        ],
    ];
    let first = code.blocks.len() as u32;
    functions.into_iter().for_each(|blocks| code.add_function(blocks));
    Handlers {
        stores: first,
        loads: first + 1,
        back: first + 2,
        ticks: first + 3,
        back_from_tick: first + 4,
    }
}

/// A frame has a word for each of these.
fn processor() -> Processor {
    let words = KEPT.iter().flat_map(|r| [8 * r, 8 * r + 4]).chain((128..REGISTERS).step_by(4));
    let frame: Vec<(u64, RegSpan)> =
        (0..).zip(words.map(|offset| RegSpan { offset, size: 4 })).collect();
    Processor {
        fast: Vec::new(),
        given: Vec::new(),
        register_bytes: REGISTERS.into(),
        slot: FrameSlot::StackPointer,
        link: Some(RegSpan { offset: 120, size: 8 }),
        long: frame.clone(),
        frame,
    }
}

/// The run of one thread, made out of that of several.
struct Builder<'a> {
    code: &'a Code,
    of: &'a Run,
    handlers: Handlers,
    random: &'a mut Random,
    made: Run,
    /// The trace tells of frames, and where what was interrupted goes on.
    frames: bool,
    resumes: bool,
    steps: u64,
    /// Steps of tasks: what they are where tasks are threads.
    is: HashMap<u64, u64>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event) {
        self.made.events.push((self.made.block.len() as u32, event));
    }

    fn push(&mut self, block: u32, addresses: Vec<u64>, values: Vec<Option<u64>>, sp: u64) {
        let made = &mut self.made;
        made.block.push(block);
        made.thread.push(0);
        if !self.of.values.is_empty() {
            made.values.push(values);
        }
        made.addresses.push(addresses);
        made.end.push(RunEnd { sp: Some(sp), linked: false, destination: None });
        self.steps += self.code.blocks[block as usize].len() as u64;
    }

    fn handler(&mut self, block: u32, addresses: Vec<u64>, sp: u64) {
        let values = addresses.iter().map(|_| Some(7)).collect();
        self.push(block, addresses, values, sp);
    }

    /// `next`: where what is interrupted goes on.
    fn entry(&mut self, frame: u64, next: Option<u64>) {
        let source = Some(FRAME.into());
        let write = KernelAccess { is_write: true, address: frame, bytes: 64, source };
        if self.frames {
            let accesses = vec![write];
            self.event(Event::SystemCall(Box::new(SystemCall {
                accesses,
                ..SystemCall::default()
            })));
        }
        let keeps = if self.random.chance(50) { Keeps::Frame } else { Keeps::LongFrame };
        self.event(Event::ExceptionEntry(ExceptionEntry {
            thread: 0,
            number: None,
            resume: next.filter(|_| self.resumes),
            frame: Some(frame).filter(|_| self.frames),
            keeps,
        }));
    }

    fn leave(&mut self, frame: u64) {
        let frame = Some(frame).filter(|_| self.frames);
        self.event(Event::ExceptionReturn { thread: 0, frame });
    }

    fn address(&self, block: u32) -> u64 {
        self.code.insns[self.code.blocks[block as usize][0] as usize].address
    }

    /// A handler that writes registers and goes back to what it interrupted.
    fn tick(&mut self, frame: u64, next: Option<u64>, sp: u64) {
        self.entry(frame, next);
        let Handlers { ticks, back_from_tick, .. } = self.handlers;
        if self.random.chance(80) {
            self.handler(ticks, Vec::new(), 0x7000_0e00);
        }
        self.handler(back_from_tick, Vec::new(), sp);
        self.leave(frame);
        if self.random.chance(20) {
            // The next one comes before anything has run.
            self.tick(frame, next, sp);
        }
    }

    /// The handler itself is interrupted.
    fn nested(&mut self, next: u32) {
        if self.random.chance(15) {
            let next = self.address(next);
            self.tick(FRAMES + 0x180, Some(next), 0x7000_0e00);
        }
    }

    fn switch(&mut self, from: u64, to: u64, next: Option<u64>, sp: u64) {
        let frame = |task: u64| FRAMES + 0x40 * task;
        let area = |task: u64| (0..3).map(|i| TASKS + 0x40 * task + 8 * i).collect();
        let Handlers { stores, loads, back, .. } = self.handlers;
        self.entry(frame(from), next);
        self.handler(stores, area(from), 0x7000_0e00);
        self.nested(loads);
        self.handler(loads, area(to), 0x7000_0e00);
        self.nested(back);
        self.handler(back, Vec::new(), sp);
        self.leave(frame(to));
    }

    /// A run of a task.
    fn run(&mut self, at: usize, step: u64) {
        let block = self.of.block[at];
        for i in 0..self.code.blocks[block as usize].len() as u64 {
            self.is.insert(self.steps + 1 + i, step + i);
        }
        let values = self.of.values.get(at).cloned().unwrap_or_default();
        self.push(block, self.of.addresses[at].clone(), values, self.of.sp[at]);
    }
}

/// The run where its threads are tasks of one, and what its steps are.
fn as_tasks(
    code: &Code,
    of: &Run,
    handlers: Handlers,
    random: &mut Random,
) -> (Run, HashMap<u64, u64>) {
    // Of a trace that tells neither, one place may be where several tasks go on.
    let frames = random.chance(60);
    let resumes = !frames || random.chance(50);
    let (made, is) = (Run::default(), HashMap::new());
    let mut builder = Builder { code, of, handlers, random, made, frames, resumes, steps: 0, is };
    let mut sp: [u64; 3] = [0, 1, 2].map(|t| 0x7000_0f40 + 0x10_0000 * t);
    let (mut events, mut before, mut step) = (of.events.iter().peekable(), None, 1);
    for at in 0..=of.block.len() {
        while let Some((_, event)) = events.next_if(|e| e.0 as usize <= at) {
            let mut event = event.clone();
            if let Event::SystemCall(call) = &mut event {
                call.thread = 0;
            }
            builder.event(event);
        }
        let Some(&task) = of.thread.get(at) else { break };
        let next_of = |task: u32| (at..of.block.len()).find(|i| of.thread[*i] == task);
        if let Some(from) = before {
            let next = next_of(from).map(|i| builder.address(of.block[i]));
            // The same task goes on now and then.
            if from != task || builder.random.chance(10) {
                builder.switch(from.into(), task.into(), next, sp[task as usize]);
            }
            if builder.random.chance(10) {
                let next = builder.address(of.block[at]);
                builder.tick(FRAMES + 0x40 * u64::from(task), Some(next), sp[task as usize]);
            }
        }
        builder.run(at, step);
        step += code.blocks[of.block[at] as usize].len() as u64;
        sp[task as usize] = of.sp[at];
        before = Some(task);
    }
    (builder.made, builder.is)
}

/// What a pass gives of the tasks' steps, told by the steps where tasks are threads: rows, flows, calls and saves.
fn told(
    (summary, rows): (&Summary, &Rows),
    is: impl Fn(u64) -> Option<u64>,
) -> [(&'static str, Vec<String>); 5] {
    let names = &summary.sources;
    let step = |seq: Seq| is(seq.get());
    let source = |source: Source| match source {
        Source::Initial(_) => None,
        named => Some(name(&Origin::<()>::Source(named), names)).filter(|name| name != FRAME),
    };
    let access = |a: AccessRef| Some(format!("{} {}", step(a.seq)?, a.ordinal));
    let communication = |row: &Communication| {
        let write = match row.write {
            Origin::Step(write) => access(write)?,
            Origin::Source(s) => source(s)?,
        };
        let Communication { is_register, address, bytes, .. } = row;
        Some(format!("{write} -> {} {is_register} {address:x} {bytes}", access(row.read)?))
    };
    // An instance by its first step.
    let begins: HashMap<CallId, u64> =
        rows.calls.iter().filter_map(|c| Some((c.call, step(c.begin.seq?)?))).collect();
    let mut flows: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let flow = |row: &Flow| {
        let writer = match row.writer {
            Origin::Step((call, _)) => begins.get(&call)?.to_string(),
            Origin::Source(s) => source(s)?,
        };
        let reader = match row.reader {
            Some(call) => begins.get(&call)?.to_string(),
            None => name(&row.reader_function, names),
        };
        let is_register = summary.flow_places[row.place as usize].place == PlaceCode::REGISTER;
        Some(format!("{writer} -> {reader} {is_register}"))
    };
    for (key, row) in rows.flows.iter().filter_map(|row| Some((flow(row)?, row))) {
        let sum = flows.entry(key).or_default();
        *sum = [sum[0] + row.bytes, sum[1] + row.unique, sum[2] + row.transfers];
    }
    let call = |row: &Call| {
        let parent = row.parent.and_then(|parent| begins.get(&parent));
        let Call { function, kind, ending, depth, steps_self, .. } = row;
        let begin = begins.get(&row.call)?;
        Some(format!("{begin} {function:?} {kind:?} {ending:?} {parent:?} {depth} {steps_self}"))
    };
    let save = |row: &SavedRegister| {
        let (last, exposed) = (row.last_restore.map(step), row.exposed.map(step));
        let SavedRegister { register, address, restores, .. } = row;
        let save = access(row.save)?;
        let call = begins.get(&row.call)?;
        Some(format!("{call} {save} {register:?} {address:x} {restores} {last:?} {exposed:?}"))
    };
    [
        ("contexts", contexts(summary)),
        ("rows", sorted(rows.communications.iter().filter_map(communication))),
        ("flows", flows.iter().map(|(key, sums)| format!("{key} {sums:?}")).collect()),
        ("calls", sorted(rows.calls.iter().filter_map(call))),
        ("saves", sorted(rows.saved.iter().filter_map(save))),
    ]
}

/// Chains of functions with their calls and steps, without those of handlers.
fn contexts(summary: &Summary) -> Vec<String> {
    let contexts = summary.contexts.contexts();
    let chain = |id: crate::id::StackId| {
        let chain = std::iter::successors(Some(id), |id| contexts.get(*id).parent);
        chain.map(|id| contexts.get(id).function.index()).collect::<Vec<_>>()
    };
    let all = contexts.iter().map(|(id, c)| (chain(id), c.figures.calls, c.figures.steps_self));
    let of_tasks = all.filter(|(chain, ..)| chain.iter().all(|function| *function < FUNCTIONS));
    sorted(of_tasks.map(|row| format!("{row:?}")))
}

fn check(seed: u64) {
    let random = &mut Random(seed.wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1);
    let mut code = Code::new(random);
    let handlers = add_handlers(&mut code);
    code.setting.processor = Some(processor());
    let (tasks, runs) = (2 + (seed % 2) as usize, 100 + 100 * (seed % 3) as usize);
    let mut of = Run::with_values(&code, random, runs, tasks, seed % 2 == 1, seed % 3 == 1);
    let end = |sp: &u64| RunEnd { sp: Some(*sp), linked: false, destination: None };
    of.end = of.sp.iter().map(end).collect();
    let (run, is) = as_tasks(&code, &of, handlers, random);
    let case = format!("tasks {seed}");
    let options = options(SaveRule::Transparent, Details::Local, u32::MAX);
    let (summary, rows, _) = ran(&code, &of, options, usize::MAX / 2);
    let expected = told((&summary, &rows), Some);
    let (summary, rows, _) = ran(&code, &run, options, usize::MAX / 2);
    let found = told((&summary, &rows), |seq| is.get(&seq).copied());
    for ((what, found), (_, expected)) in found.iter().zip(&expected) {
        same(&case, what, found, expected);
    }
    ways_agree(&case, &code, &run, SaveRule::Transparent);
}

#[test]
fn tasks_are_as_threads() {
    seeds(12).for_each(check);
}
