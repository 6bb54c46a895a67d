//! Where the processor took an exception and where it came back, as far as the trace does not say
//! so itself: from where control went, and where it was to go.
//!
//! What may follow a step is known of all but indirect transfers, and of these where the trace has
//! the registers that they go by. Control that is anywhere else was taken there. A handler ends with
//! an instruction that is made for it, or on ARM's M profile with a branch to EXC_RETURN.
//!
//! Sources: ARMv7-M Architecture Reference Manual (DDI 0403), B1.5; Arm Architecture Reference Manual
//! (DDI 0406), B1.8; (DDI 0487), D1.3; RISC-V Privileged Architecture, 3.1.15 and 3.3.2.

use super::pass::BuildPass;
use crate::analysis::block::Last;
use crate::analysis::transfer::resumes;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Event, ExceptionEntry, Isa, Keeps, RunBatch};
use crate::isa::FlowKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// Values from here on are no addresses on ARM's M profile but say how an exception returns.
const EXC_RETURN: u64 = 0xffff_ff00;

/// Exceptions that are open in a thread at most: what is nested deeper is not believed.
const DEEPEST: usize = 512;

/// What is known of the exceptions of a run.
pub struct Exceptions {
    isa: Isa,
    threads: Vec<State>,
    /// Where handlers have begun.
    entries: FxHashSet<u64>,
    /// Exceptions by their handlers, of the program's vector table; None: of several.
    vectors: FxHashMap<u64, Option<u32>>,
    /// A branch to EXC_RETURN was seen: the processor is of ARM's M profile.
    stacks: bool,
    /// The trace itself tells of exceptions.
    told: bool,
    /// A handler has ended with an instruction that is made for it: there are exceptions for sure, and
    /// no system's signals.
    ended: bool,
    /// Indirect transfers in a run with exceptions, of which the trace does not say where they go.
    unknown: u64,
}

/// A thread: its last step, and where the exceptions that are open interrupted it, the newest last.
#[derive(Default)]
struct State {
    last: Option<(Last, Option<u64>)>,
    open: Vec<[u64; 3]>,
    /// The end of the batch before told what happened before the next step; whether it enters a handler.
    told: Option<bool>,
}

/// What follows a step, as far as its instruction tells.
enum Follows {
    Expected,
    Unexpected,
    Unknown,
}

impl Exceptions {
    /// `vectors`: number and handler of each exception, as far as the program says.
    pub fn new(isa: Isa, vectors: &[(u32, u64)]) -> Exceptions {
        let mut by_handler = FxHashMap::default();
        for &(number, handler) in vectors {
            let one = by_handler.entry(handler).or_insert(Some(number));
            *one = one.filter(|first| *first == number);
        }
        Exceptions {
            isa,
            threads: Vec::new(),
            entries: by_handler.keys().copied().collect(),
            vectors: by_handler,
            stacks: false,
            told: false,
            ended: false,
            unknown: 0,
        }
    }

    /// What could not be known.
    pub fn diagnostic(&self) -> Option<(Diagnostic, u64)> {
        let problem = Diagnostic {
            severity: Severity::Error,
            code: "unsure-interrupts",
            message: format!(
                "of {} jumps, calls and returns by registers in a run with interrupts the trace does not say where they went: an interrupt at one of them may pass for what it went to",
                self.unknown
            ),
            position: String::new(),
            remedy: "record the registers, too, or what exceptions are taken (QEMU: -d nochain,cpu,in_asm,int,exec)",
        };
        (self.unknown > 0 && self.ended && !self.told).then_some((problem, self.unknown))
    }

    /// Nothing is known of what is next.
    pub fn forget(&mut self) {
        self.threads.clear();
    }

    /// Adds to a batch the events that it does not have; its definitions are the pass's.
    pub fn find(&mut self, batch: &mut RunBatch, pass: &BuildPass) {
        // Of x86 only programs under an operating system are recorded: its signals are the pass's.
        if matches!(self.isa, Isa::X86 | Isa::X86_64) {
            return;
        }
        let mut told = std::mem::take(&mut batch.events).into_iter().peekable();
        let mut events = Vec::with_capacity(told.len());
        for (run, &block) in batch.block.iter().enumerate() {
            let t = batch.thread.get(run).map_or(0, |t| *t as usize);
            if t >= self.threads.len() {
                self.threads.resize_with(t + 1, State::default);
            }
            let here = pass.blocks[block as usize].first_address;
            let from = events.len();
            let mut explicit = false;
            while let Some((at, event)) = told.next_if(|(at, _)| *at as usize <= run) {
                explicit |= is_of_exceptions(&event, t);
                events.push((at, event));
            }
            let before = self.threads[t].told.take();
            if before == Some(true) {
                self.entries.insert(here);
            }
            if explicit {
                self.complete(&mut events, from, (run as u32, t), before.is_none());
            }
            events[from..].iter().for_each(|(_, event)| self.tell(event, t, Some(here)));
            if !explicit && before.is_none() {
                let found = self.between(t, here);
                events.extend(found.into_iter().map(|event| (run as u32, event)));
            }
            let last = pass.blocks[block as usize].last;
            let destination = batch.end.get(run).and_then(|end| end.destination);
            self.threads[t].last = Some((last, destination));
        }
        let from = events.len();
        events.extend(told);
        self.told_at_the_end(&mut events, from, batch.block.len() as u32);
        batch.events = events;
    }

    /// Takes the events from `from` on, behind which the next batch begins.
    fn told_at_the_end(&mut self, events: &mut Vec<(u32, Event)>, from: usize, run: u32) {
        let thread = |event: &Event| match event {
            Event::ExceptionEntry(entry) => Some(entry.thread as usize),
            Event::ExceptionReturn { thread, .. } => Some(*thread as usize),
            _ => None,
        };
        let mut threads: Vec<usize> = events[from..].iter().filter_map(|e| thread(&e.1)).collect();
        threads.sort_unstable();
        threads.dedup();
        if let Some(&last) = threads.last()
            && last >= self.threads.len()
        {
            self.threads.resize_with(last + 1, State::default);
        }
        for &t in &threads {
            let first = self.threads[t].told.is_none();
            self.complete(events, from, (run, t), first);
        }
        for (_, event) in &events[from..] {
            self.tell(event, thread(event).unwrap_or(0), None);
        }
        for t in threads {
            let enters = |event: &Event| matches!(event, Event::ExceptionEntry(entry) if entry.thread as usize == t);
            let enters = events[from..].iter().any(|(_, event)| enters(event));
            if let Some(state) = self.threads.get_mut(t) {
                state.told = Some(enters || state.told == Some(true));
            }
        }
    }

    /// Adds to the events of a thread from `from` on, which tell of exceptions before a run, what they leave
    /// out: that the handler has ended whose last instruction says so, and what the processor keeps.
    /// `first`: nothing was told since the last step.
    fn complete(
        &mut self,
        events: &mut Vec<(u32, Event)>,
        from: usize,
        (run, t): (u32, usize),
        first: bool,
    ) {
        self.told = true;
        let back = |event: &Event| matches!(event, Event::ExceptionReturn { thread, .. } if *thread as usize == t);
        let missing = first && !events[from..].iter().any(|(_, event)| back(event));
        if missing && self.has_returned(t) {
            events.insert(from, (run, self.back(t)));
        }
        for (_, event) in &mut events[from..] {
            if let Event::ExceptionEntry(entry) = event
                && self.isa == Isa::Arm
                && entry.keeps == Keeps::None
            {
                entry.keeps = Keeps::Link;
            }
        }
    }

    fn back(&self, t: usize) -> Event {
        Event::ExceptionReturn { thread: t as u32, frame: None }
    }

    /// The last instruction of a thread was the end of a handler that is open.
    fn has_returned(&self, t: usize) -> bool {
        let State { last, open, .. } = &self.threads[t];
        let returns = |last: &Last| last.executed && last.kind == FlowKind::ExceptionReturn;
        !open.is_empty() && last.as_ref().is_some_and(|(last, _)| returns(last))
    }

    /// What the trace itself tells before a run of a thread at `here`, if that is known.
    fn tell(&mut self, event: &Event, t: usize, here: Option<u64>) {
        match event {
            Event::ExceptionEntry(entry) if entry.thread as usize == t => {
                let State { last, open, .. } = &mut self.threads[t];
                let first = [here.unwrap_or(0); 3];
                let resumes = last.as_ref().map_or(first, |(last, _)| resumes(last));
                open.push(entry.resume.map_or(resumes, |address| [address; 3]));
                if open.len() > DEEPEST {
                    open.remove(0);
                }
                self.entries.extend(here);
            }
            Event::ExceptionReturn { thread, .. } if *thread as usize == t => {
                self.threads[t].open.pop();
            }
            Event::ProcessStart | Event::Gap => {
                self.forget();
                self.threads.resize_with(t + 1, State::default);
            }
            _ => {}
        }
    }

    /// What happened between the last step of a thread and the one at `here`.
    fn between(&mut self, t: usize, here: u64) -> Vec<Event> {
        let isa = self.isa;
        let plain = |(last, destination): &(Last, Option<u64>)| {
            let returns = last.kind == FlowKind::ExceptionReturn
                || destination.is_some_and(|d| d & 0xffff_ffff >= EXC_RETURN);
            !returns && last.falls_to(here)
        };
        if self.threads[t].last.as_ref().is_none_or(plain) {
            return Vec::new();
        }
        let thread = t as u32;
        let keeps = if self.stacks { Keeps::LongFrame } else { Keeps::None };
        let number = self.vectors.get(&here).copied().flatten();
        let entry = || {
            let of = ExceptionEntry { thread, number, keeps, ..Default::default() };
            Event::ExceptionEntry(of)
        };
        let back = self.back(t);
        let State { last, open, .. } = &mut self.threads[t];
        let Some((last, destination)) = *last else { return Vec::new() };
        let stacked = isa == Isa::Arm
            && destination.is_some_and(|d| d & 0xffff_ffff >= EXC_RETURN)
            && last.executed;
        self.stacks |= stacked;
        let returns = last.executed && last.kind == FlowKind::ExceptionReturn || stacked;
        // What a handler goes back to may stand behind it.
        if !returns && last.falls_to(here) {
            return Vec::new();
        }
        if returns && let Some(resumes) = open.pop() {
            self.ended = true;
            // The next one may begin where the last has ended, before any step of what it interrupted.
            let chained = !resumes.contains(&here) && is_entry(isa, &self.entries, here);
            if !chained {
                return vec![back];
            }
            open.push(resumes);
            return vec![back, entry()];
        }
        match follows(isa, &last, destination, here) {
            Follows::Expected => Vec::new(),
            Follows::Unexpected => {
                if let Some(depth) = open.iter().rposition(|resumes| resumes.contains(&here)) {
                    let ended = open.len() - depth;
                    open.truncate(depth);
                    return vec![back; ended];
                }
                self.enter(t, &last, here);
                vec![entry()]
            }
            Follows::Unknown if self.entries.contains(&here) => {
                self.unknown += 1;
                self.enter(t, &last, here);
                vec![entry()]
            }
            Follows::Unknown => {
                self.unknown += u64::from(!self.entries.is_empty());
                Vec::new()
            }
        }
    }

    fn enter(&mut self, t: usize, last: &Last, here: u64) {
        let open = &mut self.threads[t].open;
        open.push(resumes(last));
        if open.len() > DEEPEST {
            open.remove(0);
        }
        self.entries.insert(here);
    }
}

/// Whether a handler begins there: one has begun there before, or at another vector of the same
/// table.
fn is_entry(isa: Isa, entries: &FxHashSet<u64>, here: u64) -> bool {
    let table = |entry: u64| match isa {
        Isa::Arm => (entry ^ here) & !0x1f == 0,
        Isa::Aarch64 => (entry ^ here) & !0x7ff == 0 && (entry | here) & 0x7f == 0,
        _ => false,
    };
    entries.contains(&here) || entries.iter().any(|&entry| table(entry))
}

fn is_of_exceptions(event: &Event, t: usize) -> bool {
    match event {
        Event::ExceptionEntry(entry) => entry.thread as usize == t,
        Event::ExceptionReturn { thread, .. } => *thread as usize == t,
        _ => false,
    }
}

fn follows(isa: Isa, last: &Last, destination: Option<u64>, here: u64) -> Follows {
    let unexpected = |known: bool| if known { Follows::Unexpected } else { Follows::Expected };
    match last.kind {
        FlowKind::Unknown => Follows::Unknown,
        _ if !last.executed => Follows::Unexpected,
        FlowKind::Next | FlowKind::Syscall | FlowKind::Trap => Follows::Unexpected,
        FlowKind::Jump | FlowKind::Call | FlowKind::Return => match (last.target, destination) {
            (Some(target), _) => unexpected(target != here),
            (None, Some(value)) => unexpected(!same(isa, value, here)),
            (None, None) => Follows::Unknown,
        },
        FlowKind::ExceptionReturn => Follows::Expected,
    }
}

/// Whether a branch by this value goes there.
fn same(isa: Isa, value: u64, there: u64) -> bool {
    match isa {
        // The lowest bit says which instruction set is next; the second is ignored in A32.
        Isa::Arm => (value ^ there) & 0xffff_fffc == 0,
        // Upper bits may be a signature or a tag.
        Isa::Aarch64 => (value ^ there) & 0xffff_ffff == 0,
        _ => (value ^ there) & !1 == 0,
    }
}
