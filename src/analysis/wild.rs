//! Wild runs: random programs (see [`super::random`]) whose runs are cut, mixed and interrupted, with events of every
//! kind, of processors with and without a link register. No list says what is right here: every way that the pass has
//! gives the same, and what it gave when the SQL and the lists agreed with it (`wild.txt`).

use super::access::SaveRule;
use super::pass::{FrameSlot, Processor};
use super::place::{PlaceCode, SectionRange};
use super::random::{
    Code, DATA, Given, Insn, Place, REGISTERS, Random, Run, described, name, operand, options,
    plain, ran, same, seeds, span,
};
use super::summary::Summary;
use super::*;
use crate::event::{
    Event, ExceptionEntry, ImageMap, Keeps, KernelAccess, NamedRange, RegSpan, RunEnd, SystemCall,
};
use crate::isa::{Decoded, FlowKind, Moved, RegAccess};
use std::collections::HashMap;
use std::fmt::Write;

/// Pages that the kernel fills, moves, takes back.
const PAGES: u64 = 0x40_0000;
const PAGE: u64 = 0x1000;
/// Where handlers keep registers of tasks.
const TASKS: u64 = 0x8000;
const TAKEN: [u16; 3] = [3, 5, 6];

/// A function that is a handler of software: it stores registers, loads others, goes back.
struct Handler {
    stores: u32,
    loads: u32,
    back: u32,
}

fn add_handler(code: &mut Code) -> Handler {
    let register = |r: &u16| RegSpan { offset: 8 * r, size: 8 };
    let whole = |r: &u16| RegAccess { span: register(r), control: false };
    let store = |r: &u16| Decoded {
        reads: vec![whole(r)],
        memory: vec![operand(true, 8, false, Some(register(r)))],
        ..plain(FlowKind::Next)
    };
    let load = |r: &u16| Decoded {
        writes: vec![whole(r)],
        memory: vec![operand(false, 8, false, Some(register(r)))],
        ..plain(FlowKind::Next)
    };
    let at = code.blocks.len() as u32;
    code.add_function([
        TAKEN.iter().map(store).collect(),
        TAKEN.iter().map(load).collect(),
        vec![plain(FlowKind::ExceptionReturn)],
    ]);
    Handler { stores: at, loads: at + 1, back: at + 2 }
}

/// Copies as `--through` knows them, and jumps of which it is known where they go.
fn change_code(code: &mut Code, random: &mut Random) {
    for at in 0..code.insns.len() {
        let decoded = &mut code.insns[at].decoded;
        if decoded.memory.len() == 1 && !decoded.memory[0].is_write && random.chance(30) {
            let low = RegSpan { offset: span(random).offset & !7, size: 4 };
            let size = u16::try_from(decoded.memory[0].size).unwrap_or(4).min(8);
            decoded.memory[0].data_register = None;
            decoded.writes = vec![RegAccess { span: RegSpan { size: 8, ..low }, control: false }];
            decoded.moved = Some(Moved::ToRegister(RegSpan { size, ..low }));
        } else if decoded.memory.len() == 2 && random.chance(60) {
            decoded.memory[1].size = decoded.memory[0].size;
            decoded.moved = Some(Moved::ToMemory);
        }
        // A state of all registers, which is longer than a byte can say.
        if decoded.moved.is_none() && random.chance(3) {
            let plain = decoded.memory.iter_mut().filter(|m| m.data_register.is_none());
            plain.filter(|m| !m.stack_relative).for_each(|m| m.size = 320);
        }
        if decoded.flow.kind == FlowKind::Jump && random.chance(40) {
            decoded.flow.target = Some(0x100 + 0x10 * random.below(0x60));
        }
        if decoded.memory.is_empty() && random.chance(3) {
            decoded.flow.repeats = true;
        }
        if decoded.memory.is_empty() && random.chance(4) {
            code.setting.failed.push(at as u32);
        }
    }
}

fn setting(code: &mut Code, random: &mut Random, seed: u64) {
    let word = |i: u64| (i, RegSpan { offset: 8 * [0, 1, 2, 3, 5, 15][i as usize], size: 4 });
    let long = |i: u64| (6 + i, RegSpan { offset: 128 + 4 * i as u16, size: 4 });
    let frame: Vec<(u64, RegSpan)> = (0..6).map(word).collect();
    let setting = &mut code.setting;
    if seed % 2 == 1 {
        setting.processor = Some(Processor {
            fast: Vec::new(),
            given: vec![RegSpan { offset: 16, size: 8 }, RegSpan { offset: 44, size: 12 }],
            register_bytes: REGISTERS.into(),
            slot: FrameSlot::StackPointer,
            link: Some(RegSpan { offset: 120, size: 8 }),
            long: frame.iter().copied().chain((0..4).map(long)).collect(),
            frame,
        });
    }
    let section =
        |first, last, name, via, of_file| SectionRange { first, last, name, via, of_file };
    if random.chance(60) {
        setting.sections = vec![
            section(DATA + 8, DATA + 0x2b, 0, 0, false),
            section(DATA + 0x34, DATA + 0x3d, 1, 1, true),
            section(PAGES + 0x1ff0, PAGES + 0x200f, 0, 0, false),
        ];
        let more = [(PAGES + 0x3004, PAGES + 0x3fff), (PAGES + 0x5000, PAGES + 0x6fff)];
        let more = more.map(|(first, last)| vec![section(first, last, 2, 2, true)]);
        setting.placed = more.into();
    }
    setting.through = random.chance(50).then(|| random.below(4) as usize);
    setting.kept = random.chance(30).then(|| 1 + random.below(3) as usize);
    setting.matched = random.chance(25);
    setting.first_sp = random.chance(60);
}

/// Addresses of the accesses of a block somewhere.
fn anywhere(code: &Code, block: u32, random: &mut Random) -> Vec<u64> {
    let count = |i: &u32| code.insns[*i as usize].decoded.memory.len();
    let accesses: usize = code.blocks[block as usize].iter().map(count).sum();
    let one = |_| match random.below(3) {
        0 => 0x7000_0f00 + 8 * random.below(10),
        1 => DATA + random.below(80),
        _ => PAGES + random.below(8 * PAGE),
    };
    (0..accesses).map(one).collect()
}

fn range(random: &mut Random) -> (u64, u64) {
    match random.below(4) {
        0 => (DATA + random.below(60), random.below(60)),
        1 => (PAGES + random.below(8 * PAGE), random.below(3 * PAGE)),
        _ => (PAGES + PAGE * random.below(8), PAGE * random.below(9)),
    }
}

fn system_call(thread: u32, accesses: Vec<KernelAccess>) -> Event {
    Event::SystemCall(Box::new(SystemCall { thread, accesses, ..SystemCall::default() }))
}

/// Something that happens to memory.
fn memory_event(random: &mut Random, thread: u32) -> Event {
    let (address, bytes) = range(random);
    let to = range(random).0 & !(PAGE - 1);
    match random.below(9) {
        0 => Event::MemoryFresh { address, bytes },
        1 => Event::MemoryCopy { from: address & !(PAGE - 1), to, bytes },
        2 => {
            // Not onto itself.
            let to = to + 16 * PAGE * random.below(2);
            let from = address & !(PAGE - 1);
            let bytes = bytes.min(from.abs_diff(to)).max(1);
            Event::MemoryMove { from, to, bytes }
        }
        3 => Event::ImageUnmap { address, bytes },
        4 => {
            let path = [None, Some("/lib/a"), Some("[heap]")][random.below(3) as usize];
            let path = path.map(Into::into);
            let executable = random.chance(50);
            Event::ImageMap(Box::new(ImageMap { address, bytes, offset: 0, executable, path }))
        }
        5 if random.chance(30) => {
            Event::Device(Box::new(NamedRange { address, bytes, name: "uart".into() }))
        }
        _ => {
            let one = |random: &mut Random| {
                let (address, bytes) = range(random);
                let source = [None, Some("<read: a>"), Some("<b>")][random.below(3) as usize];
                let source = source.map(Into::into);
                KernelAccess { is_write: random.chance(60), address, bytes, source }
            };
            system_call(thread, (0..1 + random.below(3)).map(|_| one(random)).collect())
        }
    }
}

/// Builds the wild run out of a tame one.
struct Builder<'a> {
    code: &'a Code,
    handler: Handler,
    random: &'a mut Random,
    made: Run,
    /// What each byte's store was last, for values.
    stored: HashMap<u64, u64>,
    time: u64,
}

impl Builder<'_> {
    fn event(&mut self, event: Event) {
        self.made.events.push((self.made.block.len() as u32, event));
    }

    fn run(&mut self, block: u32, thread: u32, addresses: Vec<u64>, sp: u64) {
        let code = self.code;
        let insns = || code.blocks[block as usize].iter().map(|i| &code.insns[*i as usize]);
        let mut values = Vec::new();
        let shapes = insns().flat_map(|insn| &insn.decoded.memory);
        for (operand, address) in shapes.zip(&addresses) {
            let new = self.random.below(1 << 40);
            values.push(if operand.is_write {
                self.stored.insert(*address, new);
                Some(new)
            } else {
                let known = self.stored.get(address).copied();
                known.filter(|_| !self.random.chance(4)).or(Some(new))
            });
            if self.random.chance(10) {
                values.pop();
                values.push(None);
            }
        }
        let steps = code.blocks[block as usize].len();
        let times = (0..steps).map(|_| {
            self.time += self.random.below(5);
            self.time
        });
        let times = times.collect();
        let sp = self.random.chance(90).then_some(sp);
        let last = insns().next_back().expect("an instruction");
        let jump = last.decoded.flow.kind == FlowKind::Jump;
        let linked = jump && self.random.chance(15);
        let made = &mut self.made;
        made.block.push(block);
        made.thread.push(thread);
        made.addresses.push(addresses);
        made.values.push(values);
        made.time.push(times);
        made.end.push(RunEnd { sp, linked, destination: None });
    }

    fn any_frame(&mut self) -> Option<u64> {
        let task = self.random.below(3);
        self.random.chance(60).then_some(TASKS + 0x200 + 0x40 * task)
    }

    fn entry(&mut self, thread: u32, frame: Option<u64>, resume: Option<u64>) {
        let keeps = [Keeps::None, Keeps::Link, Keeps::Frame, Keeps::LongFrame];
        let keeps = keeps[self.random.below(4) as usize];
        if let Some(address) = frame
            && self.random.chance(70)
        {
            let source = Some("<exception frame>".into());
            let write = KernelAccess { is_write: true, address, bytes: 40, source };
            self.event(system_call(thread, vec![write]));
        }
        let number = Some(self.random.below(20) as u32);
        let entry = ExceptionEntry { thread, number, resume, frame, keeps };
        self.event(Event::ExceptionEntry(entry));
    }

    /// A handler hands the processor from one task to another.
    fn switch(&mut self, thread: u32, from: usize, to: usize, next: u64, frames: bool) {
        let place = |task: usize| {
            let area = TASKS + 0x40 * task as u64;
            vec![area, area + 8, area + 16]
        };
        let frame = |task: usize| frames.then_some(TASKS + 0x200 + 0x40 * task as u64);
        let resume = self.random.chance(50).then_some(next);
        self.entry(thread, frame(from), resume);
        let Handler { stores, loads, back } = self.handler;
        if self.random.chance(90) {
            self.run(stores, thread, place(from), 0x7000_0e00);
        }
        // What a task begins with may have been stored by others.
        if self.random.chance(90) {
            self.run(loads, thread, place(to), 0x7000_0e00);
        }
        self.run(back, thread, Vec::new(), 0x7000_0e00);
        self.event(Event::ExceptionReturn { thread, frame: frame(to) });
    }

    /// An exception with a handler of any blocks.
    fn interrupt(&mut self, thread: u32, next: u64) {
        let frame = self.any_frame();
        let resume = self.random.chance(50).then_some(next);
        self.entry(thread, frame, resume);
        for _ in 0..self.random.below(4) {
            let block = self.random.below(self.code.blocks.len() as u64) as u32;
            let addresses = anywhere(self.code, block, self.random);
            self.run(block, thread, addresses, 0x7000_0e00);
        }
        if self.random.chance(15) {
            // Tail-chaining.
            self.event(Event::ExceptionReturn { thread, frame });
            self.interrupt(thread, next);
        } else if self.random.chance(85) {
            let frame = if self.random.chance(80) { frame } else { self.any_frame() };
            self.event(Event::ExceptionReturn { thread, frame });
        }
    }

    /// What happens before a run of a thread.
    fn happens(&mut self, thread: u32, next: u64) {
        match self.random.below(200) {
            0 => self.event(Event::Gap),
            1 => {
                self.event(Event::Fork { pid: 7 });
                if self.random.chance(50) {
                    self.event(Event::Fork { pid: 8 });
                }
            }
            2 if self.random.chance(60) => {
                self.event(Event::ProcessStart);
                let ranges = Box::new([(DATA & !(PAGE - 1), 2 * PAGE), (PAGES, 5 * PAGE)]);
                let pid = 7 + self.random.below(2);
                self.event(Event::Inherit { pid, ranges });
            }
            3 => self.event(Event::SignalDelivered { thread, number: 10 }),
            4..20 => {
                let event = memory_event(self.random, thread);
                self.event(event);
            }
            20..26 => self.interrupt(thread, next),
            26..32 => {
                let block = self.random.below(self.code.blocks.len() as u64) as u32;
                let addresses = anywhere(self.code, block, self.random);
                self.run(block, thread, addresses, 0x7000_0f00);
            }
            32..40 => {
                let [before, behind] = [(); 2].map(|()| 0x7000_0c00 + 16 * self.random.below(64));
                self.event(Event::StackPointer { thread, before, behind, above: Box::default() });
            }
            _ => {}
        }
    }
}

pub(super) fn wild(seed: u64) -> (Code, Run) {
    let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
    let random = &mut random;
    let mut code = Code::new(random);
    change_code(&mut code, random);
    let handler = add_handler(&mut code);
    setting(&mut code, random, seed);
    let tame = Run::new(&code, random, 150 + 100 * (seed % 5) as usize, 3, true);
    // Two of its threads are tasks of one.
    let (tasks, frames) = (seed % 4 > 1, random.chance(50));
    let made = Run::default();
    let mut builder =
        Builder { code: &code, handler, random, made, stored: HashMap::new(), time: 0 };
    let (mut events, mut before) = (tame.events.iter().peekable(), None);
    for (at, &block) in tame.block.iter().enumerate() {
        while let Some((_, event)) = events.next_if(|e| e.0 as usize <= at) {
            builder.event(event.clone());
        }
        let of = tame.thread[at] as usize;
        let thread = if tasks { of.saturating_sub(1) as u32 } else { of as u32 };
        let next = code.insns[code.blocks[block as usize][0] as usize].address;
        if tasks
            && of < 2
            && let Some(from) = before.filter(|from| *from != of)
        {
            builder.switch(0, from, of, next, frames);
        }
        before = Some(of).filter(|of| *of < 2).or(before);
        builder.happens(thread, next);
        let mut addresses = tame.addresses[at].clone();
        let places = || {
            let insns = code.blocks[block as usize].iter().map(|i| &code.insns[*i as usize]);
            insns.flat_map(|insn| {
                insn.places.iter().zip(insn.decoded.memory.iter().map(|m| m.is_write))
            })
        };
        for (address, (place, is_write)) in addresses.iter_mut().zip(places()) {
            match builder.random.below(10) {
                _ if *place != Place::Data => {}
                0 | 1 => *address = PAGES + builder.random.below(8 * PAGE),
                // What is read is what several have written.
                2..6 if is_write => *address = DATA + 4 * builder.random.below(20),
                2..6 => *address = DATA + 16 * builder.random.below(5),
                _ => {}
            }
        }
        // A loop, over an array now and then.
        let jumps = |i: &u32| {
            let flow = code.insns[*i as usize].decoded.flow;
            flow.kind == FlowKind::Jump && flow.target.is_none()
        };
        if code.blocks[block as usize].last().is_some_and(jumps) && builder.random.chance(40) {
            let (from, strides) = (builder.random.below(12), builder.random.chance(60));
            for i in 0..builder.random.below(7) {
                let mut addresses = addresses.clone();
                for (address, (place, is_write)) in addresses.iter_mut().zip(places()) {
                    match (*place, is_write) {
                        (Place::Data, true) if strides => *address = DATA + 4 * (from + i),
                        (Place::Data, false) if strides => *address = DATA + 8 * i,
                        _ => {}
                    }
                }
                builder.run(block, thread, addresses, tame.sp[at]);
            }
        }
        if builder.random.chance(97) {
            builder.run(block, thread, addresses, tame.sp[at]);
        }
    }
    let mut run = builder.made;
    match random.below(3) {
        0 => run.values.clear(),
        1 => run.time.clear(),
        _ => {}
    }
    if seed.is_multiple_of(2) {
        run.end.clear();
    }
    if !seed.is_multiple_of(3) {
        have_own_threads(&mut run);
    }
    (code, run)
}

/// Threads are those of their processes: what a process begins with a new one goes on with.
fn have_own_threads(run: &mut Run) {
    let (mut events, mut more) = (run.events.iter_mut().peekable(), 0);
    for at in 0..=run.block.len() {
        while let Some((_, event)) = events.next_if(|(before, _)| *before as usize <= at) {
            match event {
                Event::Inherit { .. } => more += 3,
                Event::SystemCall(call) => call.thread += more,
                Event::ExceptionEntry(entry) => entry.thread += more,
                Event::ExceptionReturn { thread, .. }
                | Event::SignalDelivered { thread, .. }
                | Event::StackPointer { thread, .. } => *thread += more,
                _ => {}
            }
        }
        if let Some(thread) = run.thread.get_mut(at) {
            *thread += more;
        }
    }
}

/// The rest of what a pass gives.
fn rest(summary: &Summary, kept: &[bool]) -> String {
    let names = &summary.sources;
    let mut flows: Vec<String> = Vec::new();
    for f in &summary.function_flows {
        let at = match f.place {
            PlaceCode::REGISTER => "register".to_owned(),
            place => match place.place() {
                super::place::Place::Section(s) => format!("section {s}"),
                _ => "region".to_owned(),
            },
        };
        flows.push(format!("{} {} {at}", name(&f.writer, names), name(&f.reader, names)));
    }
    flows.sort();
    flows.dedup();
    let regions: Vec<String> = summary.regions.iter().map(|r| format!("{r:?}")).collect();
    format!(
        "{flows:?} {regions:?} {:?} {} {} {} {kept:?}",
        summary.first_sp, summary.signals, summary.switches, summary.merged_calls
    )
}

/// All that every detail gives of a run.
fn outcome(case: &str, code: &Code, run: &Run, saves: SaveRule) -> String {
    let mut text = String::new();
    let mut first: Option<Given> = None;
    for (details, after, batch) in [
        (Details::Local, u32::MAX, usize::MAX / 2),
        (Details::Sums, 1, 77),
        (Details::Sums, u32::MAX, usize::MAX / 2),
        (Details::Instances, 1, usize::MAX / 2),
        (Details::Crossing, 2, 150),
    ] {
        let (summary, rows, kept) = ran(code, run, options(saves, details, after), batch);
        let given = described(&summary, &rows);
        let _ = writeln!(text, "{:?} {}", given.communications, rest(&summary, &kept));
        if details == Details::Local {
            let mut bytes: Vec<_> = rows.calls.iter().map(|c| c.call).zip(&rows.bytes_in).collect();
            bytes.sort();
            let _ = writeln!(text, "{given:?} {bytes:?}");
        }
        let Some(local) = &first else {
            first = Some(given);
            continue;
        };
        // What a copying function hands through the stack has forgotten its readers, a save has not: which of both a
        // read in the same block meets first depends on the order within it.
        if saves == SaveRule::Transparent && code.setting.through.is_some() {
            continue;
        }
        let case = format!("{case}, {details:?}, {after}, {batch}");
        same(&case, "functions", &given.functions, &local.functions);
        same(&case, "flows", &given.flows, &local.flows);
        same(&case, "call edges", &given.call_edges, &local.call_edges);
        same(&case, "stubs", &given.stubs, &local.stubs);
        same(&case, "in contexts", &given.in_contexts, &local.in_contexts);
        if details > Details::Sums {
            same(&case, "folded", &given.folded, &local.folded);
            same(&case, "instructions", &given.instruction_flows, &local.instruction_flows);
            same(&case, "calls", &given.calls, &local.calls);
            same(&case, "dataflow", &given.dataflow, &local.dataflow);
            same(&case, "saved", &given.saved, &local.saved);
            same(&case, "intervals", &given.intervals, &local.intervals);
        }
    }
    text
}

fn digest(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// What was found of wild runs before, a line each: seed, then a digest for each rule of saves.
const KNOWN: &str = include_str!("wild.txt");

/// `ADDFG_WRITE_WILD=1 cargo test --release --lib wild` writes it again, where a rule was changed on purpose.
#[test]
fn wild_runs_give_what_they_gave() {
    let mut lines = Vec::new();
    let write = std::env::var_os("ADDFG_WRITE_WILD").is_some();
    for seed in seeds(40) {
        let (code, run) = wild(seed);
        let one = |saves| digest(&outcome(&format!("wild {seed}, {saves:?}"), &code, &run, saves));
        let line =
            format!("{seed} {:016x} {:016x}", one(SaveRule::Transparent), one(SaveRule::Literal));
        let known = KNOWN.lines().nth(seed as usize);
        assert!(write || known == Some(line.as_str()), "{line}: it was {known:?}");
        lines.push(line);
    }
    if write {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis/wild.txt");
        std::fs::write(path, lines.join("\n") + "\n").expect("writes");
    }
}

/// Events cut runs: without them, more blocks follow one another, at places where they did not, and what went out of a
/// handler goes anywhere.
#[test]
fn wild_runs_without_events_agree() {
    for seed in seeds(20) {
        let (mut code, mut run) = wild(seed);
        (code.setting.kept, code.setting.through) = (None, None);
        let own: fn(&Event) -> bool =
            |event| !matches!(event, Event::ExceptionEntry(_) | Event::ExceptionReturn { .. });
        for (name, stays) in [("exceptions", own), ("events", |_| false)] {
            run.events.retain(|(_, event)| stays(event));
            for saves in [SaveRule::Literal, SaveRule::Transparent] {
                outcome(&format!("wild {seed} without {name}, {saves:?}"), &code, &run, saves);
            }
        }
    }
}

/// Takes out what a failure does not need.
fn shrink(code: &Code, run: &mut Run, fails: impl Fn(&Run) -> bool) {
    let mut size = run.block.len();
    while size > 0 {
        let mut at = 0;
        while at < run.block.len() + run.events.len() {
            let mut less = run.clone();
            less.cut(at, size);
            if fails(&less) {
                *run = less;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for (at, event) in &run.events {
        eprintln!("before {at}: {event:?}");
    }
    for (i, &block) in run.block.iter().enumerate() {
        eprintln!("{i}: thread {} {:x?} {:?}", run.thread[i], run.addresses[i], run.end.get(i));
        for insn in &code.blocks[block as usize] {
            let Insn { address, decoded, .. } = &code.insns[*insn as usize];
            let Decoded { flow, reads, writes, memory, moved, .. } = decoded;
            let spans = |list: &[RegAccess]| {
                list.iter().map(|a| (a.span.offset, a.span.size)).collect::<Vec<_>>()
            };
            let memory: Vec<_> =
                memory.iter().map(|m| (m.is_write, m.size, m.data_register)).collect();
            eprintln!(
                "    {address:x} {:?} reads {:?} writes {:?} {memory:?} {moved:?}",
                flow.kind,
                spans(reads),
                spans(writes)
            );
        }
    }
}

/// `ADDFG_RANDOM=15..16 cargo test --release --lib wild -- --ignored --nocapture`
#[test]
#[ignore = "for looking at what failed"]
fn smallest_run_that_fails() {
    for seed in seeds(0) {
        let (code, mut run) = wild(seed);
        for saves in [SaveRule::Literal, SaveRule::Transparent] {
            let fails = |run: &Run| {
                let find = || outcome("", &code, run, saves);
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(find)).is_err()
            };
            if fails(&run) {
                std::panic::set_hook(Box::new(|_| ()));
                shrink(&code, &mut run, fails);
                let _ = std::panic::take_hook();
                outcome("smallest", &code, &run, saves);
            }
        }
    }
}
