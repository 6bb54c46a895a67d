//! Logs that say several lines of a step. A step is open until its CPU begins the next one, so that
//! registers and accesses that stand on lines of their own, in any order of CPUs, belong to it; a
//! few steps more are kept for lines that name a step by a number. Steps come out in the order of
//! the lines that began them, with the events between them.

use super::error::TraceError;
use super::problems::{Kind, MOST_ACCESSES};
use super::reader::Sink;
use super::record::{Lists, Record, Steps};
use crate::diagnostics::Severity;
use crate::event::{Condition, Event, Isa, LoggedAccess, RegSpan};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Steps that wait at most: a CPU that says nothing more must not hold up the others.
const WAITING: usize = 1 << 12;
/// CPUs at most.
const CPUS: usize = 1 << 12;
/// Events between two steps of a CPU at most.
const MOST_EVENTS: usize = 1 << 10;
/// Register values of a step at most.
const MOST_VALUES: usize = 1 << 12;

pub const NO_STEP: Kind = (
    Severity::Warning,
    "access-without-step",
    "the access was left out; is the trace of instructions switched on from the beginning?",
);

/// A step of which more may be said, or an event between two.
#[derive(Default)]
pub struct OpenStep {
    /// Its text is in `text`.
    pub record: Record<'static>,
    pub text: Vec<u8>,
    pub lists: Lists,
    /// The number by which late lines name it.
    pub tag: Option<u64>,
    /// What the log says of its effects has come.
    pub committed: bool,
    /// Nothing more is said of it.
    closed: bool,
    event: Option<Event>,
}

impl OpenStep {
    /// Adds an access; false if there are too many.
    pub fn access(&mut self, access: LoggedAccess) -> bool {
        let room = self.lists.accesses.len() < MOST_ACCESSES;
        if room {
            self.lists.accesses.push(access);
        }
        room
    }

    /// The instruction did nothing.
    pub fn undo(&mut self) {
        self.record.condition = Condition::Failed;
        self.lists.clear();
    }

    /// Its CPU goes on at `next`: that tells whether a conditional branch was taken.
    pub fn goes_on(&mut self, next: u64, isa: Isa) {
        let Record { opcode: (bytes, size), thumb, pc, .. } = self.record;
        if let Some(decides) = conditional_branch(isa, thumb, &bytes[..size]) {
            self.taken(next != pc.wrapping_add(size as u64), decides);
        }
    }

    /// Whether a conditional branch was taken. One that compares registers has read them in any case; of others nothing
    /// happened where the log says so, or where it was not taken.
    pub fn taken(&mut self, taken: bool, decides: Decides) {
        let condition = &mut self.record.condition;
        *condition = match decides {
            Decides::Registers => Condition::Held,
            Decides::Flags if taken && *condition != Condition::Failed => Condition::Held,
            Decides::Flags => Condition::Failed,
        };
    }
}

#[derive(Default)]
struct Cpu {
    /// Number of its open step.
    open: Option<u64>,
    /// Register values that the log gave between two steps.
    early: Vec<(RegSpan, u64)>,
    /// What happened since its last step: it is told before its next one, whatever other CPUs do.
    events: Vec<Event>,
}

pub struct OpenSteps {
    steps: Steps,
    #[allow(clippy::vec_box)] // Both ends of the queue move steps: a pointer each.
    slots: VecDeque<Box<OpenStep>>,
    /// Number of the slot at the front.
    first: u64,
    cpus: Vec<Cpu>,
    index: FxHashMap<u32, usize>,
    /// The CPU of the last line: its number and its place.
    last: (u32, usize),
    #[allow(clippy::vec_box)]
    spare: Vec<Box<OpenStep>>,
    /// Steps that are kept behind their end.
    keep: usize,
    /// Steps begun.
    pub count: u64,
}

impl OpenSteps {
    pub fn new(steps: Steps) -> OpenSteps {
        OpenSteps {
            steps,
            slots: VecDeque::new(),
            first: 0,
            cpus: Vec::new(),
            index: FxHashMap::default(),
            last: (0, usize::MAX),
            spare: Vec::new(),
            keep: 0,
            count: 0,
        }
    }

    /// Keeps so many steps behind their end, for lines that name them.
    pub fn keep(&mut self, steps: usize) {
        self.keep = steps.min(WAITING / 2);
    }

    /// Whether there is room for a CPU.
    pub fn admits(&self, cpu: u32) -> bool {
        self.cpus.len() < CPUS || self.index.contains_key(&cpu)
    }

    #[inline]
    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        if self.last.0 != cpu || self.last.1 >= self.cpus.len() {
            let next = self.cpus.len();
            let place = *self.index.entry(cpu).or_insert(next);
            if place == next {
                self.cpus.push(Cpu::default());
            }
            self.last = (cpu, place);
        }
        &mut self.cpus[self.last.1]
    }

    fn slot(&mut self, number: u64) -> Option<&mut OpenStep> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(place).map(|step| &mut **step)
    }

    /// The step that lines of a CPU belong to.
    #[inline]
    pub fn open(&mut self, cpu: u32) -> Option<&mut OpenStep> {
        let number = self.cpu(cpu).open?;
        self.slot(number)
    }

    /// The newest step that is still there and is the one wanted.
    pub fn find(&mut self, wanted: impl Fn(&OpenStep) -> bool) -> Option<&mut OpenStep> {
        let mut steps = self.slots.iter_mut().rev().map(|step| &mut **step);
        steps.find(|step| step.event.is_none() && wanted(step))
    }

    /// Where register values of a CPU go: those after its open step, else those before its next.
    #[inline]
    pub fn values(&mut self, cpu: u32) -> &mut Vec<(RegSpan, u64)> {
        let number = self.cpu(cpu).open;
        let place = number.and_then(|n| usize::try_from(n.checked_sub(self.first)?).ok());
        let place = place.filter(|place| *place < self.slots.len());
        let values = match place {
            Some(place) => &mut self.slots[place].lists.after,
            None => &mut self.cpus[self.last.1].early,
        };
        values.truncate(MOST_VALUES);
        values
    }

    /// Begins a step of a CPU, whose last one is done.
    pub fn begin(
        &mut self,
        record: &Record,
        sink: &mut dyn Sink,
    ) -> Result<&mut OpenStep, TraceError> {
        self.close(record.cpu);
        if !self.cpu(record.cpu).events.is_empty() {
            self.tell(record.cpu);
        }
        self.write(self.keep, sink)?;
        let mut step = self.spare.pop().unwrap_or_default();
        step.record = Record { text: &[], ..*record };
        step.text.clear();
        step.text.extend_from_slice(record.text);
        (step.tag, step.committed, step.closed) = (None, false, false);
        let number = self.first + self.slots.len() as u64;
        let cpu = self.cpu(record.cpu);
        cpu.open = Some(number);
        step.lists.before.append(&mut cpu.early);
        self.count += 1;
        self.slots.push_back(step);
        let last = self.slots.len() - 1;
        Ok(&mut self.slots[last])
    }

    /// The last step of a CPU, which is this one, ran so many times more, before what has happened since.
    pub fn repeat(
        &mut self,
        record: &Record,
        times: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        let events = std::mem::take(&mut self.cpu(record.cpu).events);
        for _ in 0..times {
            self.begin(record, sink)?;
        }
        self.cpu(record.cpu).events = events;
        Ok(())
    }

    /// Nothing more is said of the last step of a CPU.
    pub fn close(&mut self, cpu: u32) {
        let number = self.cpu(cpu).open.take();
        if let Some(step) = number.and_then(|number| self.slot(number)) {
            step.closed = true;
        }
    }

    /// Something happens between two steps of a CPU.
    pub fn event(&mut self, cpu: u32, event: Event, sink: &mut dyn Sink) -> Result<(), TraceError> {
        self.close(cpu);
        let events = &mut self.cpu(cpu).events;
        events.push(event);
        if events.len() >= MOST_EVENTS {
            self.tell(cpu);
        }
        self.write(self.keep, sink)
    }

    /// What happened since the last step of a CPU comes here.
    fn tell(&mut self, cpu: u32) {
        let mut events = std::mem::take(&mut self.cpu(cpu).events);
        for event in events.drain(..) {
            let mut step = self.spare.pop().unwrap_or_default();
            (step.closed, step.event) = (true, Some(event));
            self.slots.push_back(step);
        }
        self.cpu(cpu).events = events;
    }

    /// Writes the steps at the front that are done, but for so many.
    fn write(&mut self, keep: usize, sink: &mut dyn Sink) -> Result<(), TraceError> {
        while self.slots.len() > keep
            && self.slots.front().is_some_and(|step| step.closed || self.slots.len() > WAITING)
        {
            let Some(mut step) = self.slots.pop_front() else { break };
            self.first += 1;
            match step.event.take() {
                Some(event) => self.steps.event(event),
                None => {
                    let record = Record { text: &step.text, ..step.record };
                    self.steps.push(&record, &mut step.lists, sink)?;
                }
            }
            step.lists.clear();
            if self.spare.len() < 64 {
                self.spare.push(step);
            }
        }
        Ok(())
    }

    /// Gives the last steps.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        self.slots.iter_mut().for_each(|step| step.closed = true);
        let cpus: Vec<u32> = self.index.keys().copied().collect();
        cpus.into_iter().for_each(|cpu| self.tell(cpu));
        self.write(0, sink)?;
        self.steps.finish(sink)
    }
}

/// By what a conditional branch decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    Flags,
    /// It compares registers, or looks at bits of one.
    Registers,
}

/// Of an instruction that is a conditional branch and nothing else: by what it decides. `code` is in memory order.
///
/// Sources: Arm Architecture Reference Manual (DDI 0487), C4.1; (DDI 0406), A6.2 and A8.8.18; The
/// RISC-V Instruction Set Manual, Volume I.
pub fn conditional_branch(isa: Isa, thumb: bool, code: &[u8]) -> Option<Decides> {
    let word = code.iter().rev().fold(0u32, |n, &b| n << 8 | u32::from(b));
    let (flags, registers) = match (isa, code.len()) {
        (Isa::Aarch64, 4) => (
            word & 0xff00_0000 == 0x5400_0000,
            word & 0x7e00_0000 == 0x3400_0000 || word & 0x7e00_0000 == 0x3600_0000,
        ),
        (Isa::Arm, 2) => (word & 0xf000 == 0xd000 && word >> 8 & 0xf < 14, word & 0xf500 == 0xb100),
        (Isa::Arm, 4) if !thumb => (word >> 28 < 14 && word & 0x0f00_0000 == 0x0a00_0000, false),
        (Isa::Riscv32 | Isa::Riscv64, 4) => (false, word & 0x7f == 0x63),
        (Isa::Riscv32 | Isa::Riscv64, 2) => (false, matches!(word & 0xe003, 0xc001 | 0xe001)),
        _ => (false, false),
    };
    match (flags, registers) {
        (true, _) => Some(Decides::Flags),
        (_, true) => Some(Decides::Registers),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditional_branches() {
        use Decides::{Flags, Registers};
        let yes: [(Isa, bool, &[u8], Decides); 8] = [
            (Isa::Aarch64, false, &[0xa1, 0xff, 0xff, 0x54], Flags),
            (Isa::Aarch64, false, &[0xab, 0xff, 0xff, 0x35], Registers),
            (Isa::Aarch64, false, &[0x40, 0, 0, 0x37], Registers),
            (Isa::Arm, false, &[6, 0, 0, 0x0a], Flags),
            (Isa::Arm, true, &[0xfe, 0xd1], Flags),
            (Isa::Arm, true, &[0x08, 0xb1], Registers),
            (Isa::Riscv64, false, &[0x63, 0x1e, 5, 0], Registers),
            (Isa::Riscv64, false, &[1, 0xc2], Registers),
        ];
        for (isa, thumb, code, decides) in yes {
            assert_eq!(conditional_branch(isa, thumb, code), Some(decides), "{isa:?} {code:x?}");
        }
        let no: [(Isa, bool, &[u8]); 6] = [
            (Isa::Aarch64, false, &[0, 0, 0, 0x14]),
            (Isa::Arm, false, &[6, 0, 0, 0xea]),
            (Isa::Arm, false, &[6, 0, 0, 0x0b]),
            (Isa::Arm, true, &[0xfe, 0xe7]),
            (Isa::Arm, true, &[0x00, 0xdf]),
            (Isa::Riscv64, false, &[1, 0xa0]),
        ];
        for (isa, thumb, code) in no {
            assert_eq!(conditional_branch(isa, thumb, code), None, "{isa:?} {code:x?}");
        }
    }
}
