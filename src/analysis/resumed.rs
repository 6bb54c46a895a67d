//! Parts of random runs gone through alone, from the state between two steps: rows are those of the whole run.

use super::access::SaveRule;
use super::levels::{Interrupted, Kept};
use super::live_in::LiveIn;
use super::origin::Packed;
use super::outlived::Left;
use super::pass::Pass;
use super::random::{
    Code, DATA, Insn, Place, REGISTERS, Random, Rows, Run, operand, options, pass_over,
    pass_without_blocks, plain, push_runs, same, seeds, sorted,
};
use super::shadow::Cell;
use super::stack::Point;
use super::state::{SaveState, State, ThreadState};
use super::wild::wild;
use super::*;
use crate::event::{BlockDef, Event, KernelAccess, SystemCall};
use crate::id::{ActorId, CallId, InstructionId, IntervalId, ThreadId};
use crate::isa::{Decoded, FlowKind, MemOperand};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What the runs from `at` on need, and the functions that run there.
fn look(code: &Code, run: &Run, defs: &[BlockDef], at: usize) -> (LiveIn, Vec<FunctionId>) {
    let (mut needed, mut functions) = (LiveIn::default(), BTreeSet::new());
    let mut events = run.events.iter().skip_while(|e| (e.0 as usize) < at).peekable();
    for i in at..run.block.len() {
        while let Some((_, event)) = events.next_if(|e| e.0 as usize <= i) {
            needed.event(event);
        }
        let def = &defs[run.block[i] as usize];
        needed.run(def, &run.addresses[i]);
        let addresses = def.steps.iter().map(|s| code.insns[s.insn as usize].address);
        functions.extend(addresses.map(|a| FunctionId::at((a >> 8) as usize - 1)));
    }
    events.for_each(|(_, event)| needed.event(event));
    (needed, functions.into_iter().collect())
}

/// Mappings before a run.
fn mapped(run: &Run, at: usize) -> usize {
    let before = run.events.iter().filter(|e| (e.0 as usize) < at);
    before.filter(|e| matches!(e.1, Event::ImageMap(_) | Event::Device(_))).count()
}

/// The state before run `at`, the number of its first step, and the instances and intervals there.
fn state_at(
    code: &Code,
    run: &Run,
    saves: SaveRule,
    at: usize,
    superblock_after: u32,
) -> Option<(State, u64)> {
    let options = options(saves, Details::Instances, superblock_after);
    let mut pass = pass_over(code, Options { sums: false, ..options });
    push_runs(&mut pass, code, run, 0..at, 1000);
    let (mut needed, functions) = look(code, run, &pass.defs, at);
    let state = pass.state(&mut needed, functions.into_iter())?;
    // Where an instance lives an interval is open.
    assert!(state.threads.iter().all(|t| t.frames.is_empty() != t.interval.is_some()));
    let (seq, steps) = (pass.next_seq(), |block: &u32| code.blocks[*block as usize].len() as u64);
    assert_eq!(seq, 1 + run.block[..at].iter().map(steps).sum::<u64>());
    let counts = |block: usize| run.block[..at].iter().filter(|b| **b as usize == block).count();
    let expected: Vec<u64> = (0..code.blocks.len()).map(|block| counts(block) as u64).collect();
    assert_eq!(pass.block_counts(), expected);
    assert_eq!(pass.first_stack_pointer(), state.first_sp);
    Some((state, seq))
}

/// A pass that is to go on after so many mappings.
fn pass_with_blocks_later(code: &Code, options: Options, mapped: usize) -> Pass<Code, Rows> {
    let options = Options { sums: false, ..options };
    let mut pass = pass_without_blocks(code, options, mapped);
    // As they are stored, with the operands of accesses.
    let (_, insns, defs) = pass_over(code, options).into_code();
    assert_eq!(insns.len(), code.insns.len());
    defs.into_iter().for_each(|def| pass.add_block_later(def));
    pass
}

fn resumed(
    code: &Code,
    run: &Run,
    options: Options,
    (state, seq, at): (&State, u64, usize),
) -> (Rows, Vec<bool>) {
    let mapped = mapped(run, at);
    let mut pass = pass_with_blocks_later(code, options, mapped);
    assert!(pass.fits(state));
    let placed = code.setting.placed.iter().take(mapped).flatten();
    let sections = || code.setting.sections.iter().chain(placed.clone()).cloned().collect();
    // What the pass went through before is forgotten: some of the same part.
    pass.resume(seq, state, sections());
    run.block[at..].iter().for_each(|block| pass.need(*block));
    let some = (at + (run.block.len() - at) / 2).min(at + 40);
    push_runs(&mut pass, code, run, at..some, 11);
    pass.output().clear();
    pass.resume(seq, state, sections());
    pass.forget_placed();
    code.setting.placed.iter().skip(mapped).for_each(|s| pass.place_when_mapped(s.clone()));
    let kept = push_runs(&mut pass, code, run, at..run.block.len(), 333);
    pass.finish();
    (std::mem::take(pass.output()), kept)
}

/// Rows of a part that begins with step `first`, of instances and intervals that are not those before. Of those that
/// are: what the part can know.
fn rows_of(rows: &Rows, state: &State, first: u64) -> Vec<Vec<String>> {
    let seq = |seq: Option<Seq>| seq.map_or(0, Seq::get);
    let is_new = |call: CallId| call.index() >= state.calls as usize;
    let alive: BTreeSet<CallId> = state.frames().map(|f| f.call).collect();
    let calls = rows.calls.iter().filter_map(|c| match is_new(c.call) {
        true => Some(format!("{c:?}")),
        false if !alive.contains(&c.call) => None,
        false => Some(format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            c.call, c.function, c.parent, c.thread, c.depth, c.ending
        )),
    });
    let open: BTreeSet<IntervalId> = state.threads.iter().filter_map(|t| t.interval).collect();
    let intervals = rows.intervals.iter().filter_map(|i| match i.interval.index() {
        n if n >= state.intervals as usize => Some(format!("{i:?}")),
        _ if open.contains(&i.interval) => {
            Some(format!("{:?} {:?} {:?} {:?}", i.interval, i.call, i.function, i.end))
        }
        _ => None,
    });
    let communications = rows.communications.iter().filter(|c| c.read.seq.get() >= first);
    let saved = rows.saved.iter().filter_map(|s| {
        if s.save.seq.get() >= first {
            return Some(format!("{s:?}"));
        }
        (seq(s.exposed) >= first).then(|| {
            format!("{:?} {:?} {:?} {:x} {:?}", s.call, s.save, s.register, s.address, s.exposed)
        })
    });
    let folded = rows.folded.iter().filter(|f| is_new(f.call) || alive.contains(&f.call));
    // Steps before are not known.
    let folded = folded
        .map(|f| FoldedCall { steps_self: if is_new(f.call) { f.steps_self } else { 0 }, ..*f });
    vec![
        sorted(calls),
        sorted(intervals),
        sorted(communications.map(communication)),
        sorted(saved),
        sorted(folded.map(|f| format!("{f:?}"))),
    ]
}

/// A row, which is not told the name of a source.
fn communication(row: &Communication) -> String {
    let Communication { write, read, is_register, address, bytes } = row;
    let write = match write {
        Origin::Step(write) => format!("{write:?}"),
        Origin::Source(_) => "source".to_owned(),
    };
    format!("{write} -> {read:?} {is_register} {address:x} {bytes}")
}

/// Whether there was a state; if so, the rows agree.
fn agrees(case: &str, code: &Code, run: &Run, saves: SaveRule, at: usize) -> bool {
    let ways = [(Details::Instances, 1), (Details::Crossing, 3), (Details::Local, u32::MAX)];
    for (details, after) in ways {
        let Some((state, seq)) = state_at(code, run, saves, at, after) else { return false };
        let options = options(saves, details, u32::MAX);
        let mut whole = pass_over(code, options);
        let kept = push_runs(&mut whole, code, run, 0..run.block.len(), usize::MAX / 2);
        whole.finish();
        let expected = rows_of(whole.output(), &state, seq);
        let (rows, kept_here) = resumed(code, run, options, (&state, seq, at));
        let found = rows_of(&rows, &state, seq);
        let names = ["calls", "intervals", "rows", "saved", "folded"];
        for ((name, found), expected) in names.iter().zip(&found).zip(&expected) {
            same(&format!("{case} {details:?}"), name, found, expected);
        }
        assert_eq!(kept_here, kept[kept.len() - kept_here.len()..], "{case}: what is kept");
    }
    true
}

/// The same run, where each process has threads of its own, as in traces.
fn with_own_threads(mut run: Run) -> Run {
    let begins = |e: &&(u32, Event)| e.1 == Event::ProcessStart;
    let starts: Vec<u32> = run.events.iter().filter(begins).map(|e| e.0).collect();
    let before = |at: usize| 3 * starts.iter().filter(|s| **s as usize <= at).count() as u32;
    (0..).zip(&mut run.thread).for_each(|(at, thread)| *thread += before(at));
    let mut processes = 0;
    for (_, event) in &mut run.events {
        match event {
            Event::ProcessStart => processes += 1,
            Event::SystemCall(call) => call.thread += 3 * processes,
            Event::ExceptionEntry(entry) => entry.thread += 3 * processes,
            Event::ExceptionReturn { thread, .. } => *thread += 3 * processes,
            Event::SignalDelivered { thread, .. } => *thread += 3 * processes,
            _ => {}
        }
    }
    run
}

fn is_exception((_, event): &(u32, Event)) -> bool {
    matches!(event, Event::ExceptionEntry(_) | Event::ExceptionReturn { .. })
}

/// The same run without exceptions, behind which not only calls tell where control goes on.
fn without_exceptions(mut run: Run) -> Run {
    run.events.retain(|event| !is_exception(event));
    run
}

/// Runs have a state everywhere, whatever is open there.
#[test]
fn a_part_alone_gives_the_rows_of_the_whole() {
    for seed in seeds(8) {
        let mut random = Random(seed.wrapping_mul(0xa076_1d64_78bd_642f) | 1);
        let code = Code::new(&mut random);
        let run = Run::new(&code, &mut random, 120, 1 + (seed % 3) as usize, seed % 2 == 1);
        for saves in [SaveRule::Literal, SaveRule::Transparent] {
            let at = 1 + random.below(run.block.len() as u64 - 1) as usize;
            assert!(agrees(&format!("tame {seed}, {saves:?}, {at}"), &code, &run, saves, at));
        }
        let (code, run) = wild(seed);
        let run = with_own_threads(run);
        for saves in [SaveRule::Literal, SaveRule::Transparent] {
            let at = 1 + random.below(run.block.len() as u64 - 1) as usize;
            // Early, where nothing may be open yet, and anywhere.
            for at in [1 + random.below(30) as usize, at, random.below(at as u64) as usize + 1] {
                let case = format!("wild {seed}, {saves:?}, {at}");
                assert!(agrees(&case, &code, &run, saves, at), "{case}: a state");
            }
        }
    }
}

/// What is read while a function is alive, of what was written since then, is known where of all else calls only
/// are followed.
fn inside_agrees(case: &str, (code, run): (&Code, &Run), function: usize, at: usize, after: u32) {
    let saves = SaveRule::Transparent;
    let mut code = code.clone();
    // What copies would hand on what is not known.
    (code.setting.kept, code.setting.through) = (None, None);
    let Some((state, first)) = state_at(&code, run, saves, at, after) else { return };
    let local = options(saves, Details::Local, u32::MAX);
    let mut whole = pass_over(&code, local);
    push_runs(&mut whole, &code, run, 0..run.block.len(), usize::MAX / 2);
    whole.finish();
    code.setting.kept = Some(function);
    let (of, seq) = (FunctionId::at(function), |point: Point| point.seq.map_or(0, Seq::get));
    let calls: FxHashMap<CallId, Call> =
        whole.output().calls.iter().map(|call| (call.call, *call)).collect();
    let intervals: BTreeMap<(ThreadId, u64), Interval> =
        whole.output().intervals.iter().map(|i| ((i.thread, seq(i.start)), *i)).collect();
    let threads = (0..run.block.len()).flat_map(|at| {
        let steps = code.blocks[run.block[at] as usize].len();
        std::iter::repeat_n(ThreadId::at(run.thread[at] as usize), steps)
    });
    let threads: Vec<ThreadId> = threads.collect();
    // Since when the function is alive on the stack of the one that reads.
    let since = |row: &Communication| {
        let read = row.read.seq.get();
        let thread = threads[read as usize - 1];
        let (_, interval) = intervals.range(..=(thread, read)).next_back()?;
        let mut call = Some(interval.call).filter(|_| interval.thread == thread);
        let mut found = None;
        while let Some(of_step) = call.and_then(|call| calls.get(&call)) {
            found = Some(seq(of_step.begin)).filter(|_| of_step.function == of).or(found);
            call = of_step.parent;
        }
        found
    };
    let is_known = |row: &&Communication| match (&row.write, since(row)) {
        (Origin::Step(write), Some(since)) => {
            write.seq.get() >= since && row.read.seq.get() >= first
        }
        _ => false,
    };
    let options = Options { any_order: true, superblock_after: after, ..local };
    let mapped = mapped(run, at);
    let mut part = pass_with_blocks_later(&code, options, mapped);
    let placed = code.setting.placed.iter().take(mapped).flatten();
    part.resume(first, &state, code.setting.sections.iter().chain(placed).cloned().collect());
    let exceptions =
        || run.events.iter().any(|event| event.0 as usize >= at && is_exception(event));
    match state.may_switch() || exceptions() {
        true => part.kept().follow_all(),
        false => part.follow_calls_only_outside(),
    }
    run.block[at..].iter().for_each(|block| part.need(*block));
    push_runs(&mut part, &code, run, at..run.block.len(), 77);
    part.finish();
    let [whole, part] = [whole.output(), part.output()];
    let [expected, found] = [&*whole, &*part].map(|rows| {
        let known = rows.communications.iter().filter(is_known);
        let mut all = rows_of(rows, &state, first);
        vec![all.remove(0), all.remove(0), sorted(known.map(communication))]
    });
    for ((name, found), expected) in
        ["calls", "intervals", "rows"].iter().zip(&found).zip(&expected)
    {
        same(case, name, found, expected);
    }
}

#[test]
fn what_a_function_reads_is_known_where_calls_only_are_followed() {
    for seed in seeds(12) {
        let mut random = Random(seed.wrapping_mul(0x9fb2_1c65_1e98_df25) | 1);
        let code = Code::new(&mut random);
        let run = Run::new(&code, &mut random, 150, 1 + (seed % 3) as usize, seed % 2 == 1);
        let (wild, exceptions) = wild(seed);
        let exceptions = with_own_threads(exceptions);
        let without = (wild.clone(), without_exceptions(exceptions.clone()));
        for (name, (code, run)) in
            [("tame", (code, run)), ("wild", without), ("exceptions", (wild, exceptions))]
        {
            for after in [1, 3, u32::MAX] {
                let at = 1 + random.below(run.block.len() as u64 / 2) as usize;
                let function = random.below(code.functions.len() as u64) as usize;
                let case = format!("{name} {seed}, function {function}, {at}, {after}");
                inside_agrees(&case, (&code, &run), function, at, after);
            }
        }
    }
}

/// A state that names what the run does not have is of another one.
#[test]
fn a_state_of_another_run_does_not_fit() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let found = std::iter::repeat_with(|| {
        let code = Code::new(&mut random);
        let run = Run::new(&code, &mut random, 150, 2, true);
        let (state, _) =
            state_at(&code, &run, SaveRule::Transparent, 100, u32::MAX).expect("a state");
        (code, state)
    });
    let has =
        |state: &State, thread: &dyn Fn(&ThreadState) -> bool| state.threads.iter().all(thread);
    let is_rich = |state: &State| {
        !state.memory.is_empty()
            && has(state, &|t| !t.registers.is_empty() && t.previous.is_some())
            && has(state, &|t| {
                t.frames.iter().any(|f| !f.saves.is_empty()) && !t.pending.is_empty()
            })
    };
    let (code, state) = found.take(1000).find(|(_, state)| is_rich(state)).expect("one with saves");
    let pass = pass_over(&code, options(SaveRule::Transparent, Details::Local, u32::MAX));
    assert!(pass.fits(&state));
    let (insns, bytes) = (code.insns.len() as u32, REGISTERS);
    let other = |change: &dyn Fn(&mut State)| {
        let mut other = state.clone();
        change(&mut other);
        pass.fits(&other)
    };
    // What is just in the run, and what is just behind it.
    let spans = |offset, size| RegSpan { offset, size };
    let cell = |cell: &Cell, last: u32| Cell {
        call: Packed::step(CallId::FIRST),
        write: 1 << 16,
        actor: last,
        ..*cell
    };
    for (span, fits) in
        [(spans(bytes - 8, 8), true), (spans(bytes - 7, 8), false), (spans(8, 0), false)]
    {
        assert_eq!(other(&|s| s.threads[1].registers[0].0 = span), fits, "{span:?}");
        assert_eq!(other(&|s| s.threads[1].pending[0].0 = span), fits, "{span:?}");
        assert_eq!(other(&|s| save_of(s).store.register = span), fits, "{span:?}");
        assert_eq!(other(&|s| save_of(s).pieces[0].0 = span), fits, "{span:?}");
    }
    // Ids begin with 1.
    for (last, fits) in [(insns, true), (insns + 1, false)] {
        assert_eq!(other(&|s| s.memory[0].2 = cell(&s.memory[0].2, last)), fits, "{last}");
        assert_eq!(
            other(&|s| s.threads[1].registers[0].1 = cell(&s.threads[1].registers[0].1, last)),
            fits
        );
        let actor = ActorId::new(last).expect("not 0");
        assert_eq!(other(&|s| save_of(s).store.actor = actor), fits);
        assert_eq!(
            other(&|s| {
                let piece = &mut save_of(s).pieces[0];
                piece.1 = cell(&piece.1, last);
            }),
            fits
        );
    }
    for (last, fits) in [(insns, true), (insns + 1, false)] {
        let insn = InstructionId::new(last).expect("not 0");
        let step = |s: &mut State| {
            let mut step = s.threads[1].previous.expect("a step");
            step.last.insn = insn;
            step
        };
        assert_eq!(other(&|s| s.threads[1].previous = Some(step(s))), fits);
        let interrupted =
            |s: &mut State| Interrupted { previous: Some(step(s)), ..Interrupted::default() };
        assert_eq!(other(&|s| s.threads[0].levels.resumed = Some(interrupted(s))), fits);
    }
    // What handlers have saved lies in the register that they have saved.
    let register = save_of(&mut state.clone()).store.register;
    let kept =
        |span: RegSpan| Kept { word: 0, span, cell: Cell::EMPTY, readers: Vec::new(), pending: 0 };
    for (part, fits) in
        [(register, true), (RegSpan { offset: register.offset + 1, ..register }, false)]
    {
        let left = |s: &mut State| Left {
            store: save_of(s).store,
            kept: vec![kept(part)],
            restores: 0,
            last_restore: None,
        };
        assert_eq!(other(&|s| s.left = vec![left(s)]), fits, "{part:?}");
    }
}

/// A save of the second thread.
fn save_of(state: &mut State) -> &mut SaveState {
    let frames = state.threads[1].frames.iter_mut();
    frames.flat_map(|frame| &mut frame.saves).next().expect("a save")
}

/// What the kernel writes after a state are other writes than those before.
#[test]
fn writes_of_the_kernel_go_on_after_a_state() {
    let insn = |address, memory: Vec<MemOperand>| Insn {
        address,
        places: memory.iter().map(|_| Place::Data).collect(),
        decoded: Decoded { memory, ..plain(FlowKind::Next) },
    };
    let load = operand(false, 16, false, None);
    let insns = vec![insn(0x100, Vec::new()), insn(0x104, Vec::new()), insn(0x108, vec![load])];
    let blocks = vec![vec![0], vec![1], vec![2]];
    let functions = std::iter::once(0..3).collect();
    let mut random = Random(1);
    let code = Code { insns, blocks, functions, has_stub: false, ..Code::new(&mut random) };
    let write = |at: u32, address| {
        let access = KernelAccess { is_write: true, address, bytes: 8, source: None };
        let call = SystemCall { accesses: vec![access], ..SystemCall::default() };
        (at, Event::SystemCall(Box::new(call)))
    };
    let mut run = Run::default();
    run.block = vec![0, 1, 2];
    run.thread = vec![0; 3];
    run.addresses = vec![Vec::new(), Vec::new(), vec![DATA]];
    run.events = vec![write(1, DATA), write(2, DATA + 8)];
    assert!(agrees("kernel", &code, &run, SaveRule::Transparent, 2));
}
