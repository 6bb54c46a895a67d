//! From steps to runs: computes the memory accesses that the log does not hold.
//!
//! A step is looked at twice: *begun* with the register values before it (conditions, addresses,
//! what a store stores) and *completed* with those after it (what a load loaded, what registers
//! got, whether a store-conditional stored). Where the log has the values before each instruction,
//! a step is completed by the next record of its thread, so the runs wait in a queue.
//!
//! [`dictionary`] has the instructions, [`register_values`] what is known of a thread's registers,
//! [`processors`] finds that there are several in a log that does not tell, [`step`] finds the accesses of a step, [`run`] cuts runs where steps do not follow one another.

use super::decoded::{Decoded, FlowKind};
use super::resolve::CodeBytes;
use super::{decoder, registers};
use crate::diagnostics::Counted;
use crate::event::{
    BlockStep, Carries, Condition, Dialect, Event, Isa, LoggedAccess, RegSpan, RunBatch, RunEnd,
    StepBatch, SystemCall,
};
use crate::id::InstructionId;
use crate::registers::Registers;
use calls::{Calls, Look, OpenCall, UNKNOWN_STORES};
use dictionary::{Dictionary, KnownInstruction};
use problems::{NOT_TOLD_APART, ProblemCounts, UNDEFINED, UNKNOWN_CONDITION};
use processors::Processors;
use register_values::RegisterValues;
use run::{OpenRun, Place, RunNumber, Runs};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use step::StepAccesses;
use stores::Stores;

mod call_rules;
mod calls;
mod dictionary;
mod problems;
mod processors;
mod register_values;
mod run;
mod step;
mod stores;
#[cfg(test)]
mod tests;

/// Turns [`StepBatch`]es into [`RunBatch`]es. What comes out does not depend on how the steps are
/// cut into batches.
pub struct Elaborator {
    machine: Machine,
    carries: Carries,
    dictionary: Dictionary,
    threads: Vec<ThreadState>,
    /// Places in `threads` by the log's numbers, and the one of the last step.
    thread_index: FxHashMap<u32, usize>,
    current: usize,
    /// Where the log does not say whose each step is.
    processors: Option<Processors>,
    /// Where the log has registers.
    calls: Option<Calls>,
    /// Where stores call the host.
    tohost: Option<u64>,
    runs: Runs,
    rows: u64,
    position: u64,
    problems: ProblemCounts,
}

/// What the instruction set says.
struct Machine {
    file: &'static Registers,
    /// The bits that addresses have.
    address_mask: u64,
    /// The bits of a link register that are an address.
    link_mask: u64,
    /// Bytes of a general register.
    natural_size: u32,
}

impl Machine {
    fn of(isa: Isa) -> Machine {
        let wide = matches!(isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64);
        Machine {
            file: registers(isa),
            address_mask: if wide { u64::MAX } else { u32::MAX.into() },
            link_mask: if isa == Isa::Arm { !1 } else { u64::MAX },
            natural_size: if wide { 8 } else { 4 },
        }
    }
}

struct ThreadState {
    /// The log's number.
    id: u32,
    registers: RegisterValues,
    pending: Option<Pending>,
    /// Its last step.
    last: Option<usize>,
    /// The call that its last step made, or the proxied one that nobody has answered.
    call: Option<Box<OpenCall>>,
    /// The proxied call whose result the last step reads.
    answered: Option<Box<OpenCall>>,
    stores: Stores,
}

/// The last step of a thread, which waits for the values after it.
#[derive(Clone, Copy)]
struct Pending {
    run: RunNumber,
    /// In the reader's dictionary.
    instruction: usize,
    /// First memory access and first register value of the step in its run.
    mem: usize,
    value: usize,
    executed: bool,
    /// Where it goes to, if it takes that from registers.
    destination: Option<u64>,
}

/// A step as the log has it.
struct Row<'a> {
    /// Place of its thread.
    thread: usize,
    /// In the reader's dictionary.
    instruction: usize,
    condition: Condition,
    time: Option<u64>,
    /// Register values that differ from those said of the thread before.
    changes: &'a [(RegSpan, u64)],
    logged: &'a [LoggedAccess],
}

impl Elaborator {
    /// `code` gives the code bytes of the loaded images; `carries` says which columns of the
    /// batches mean something.
    pub fn new(isa: Isa, dialect: Dialect, carries: Carries, code: Box<CodeBytes>) -> Elaborator {
        Elaborator {
            machine: Machine::of(isa),
            carries,
            dictionary: Dictionary::new(isa, decoder(isa, dialect), code, carries.kernel),
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            current: 0,
            processors: (carries.registers_before && !carries.threads)
                .then(|| Processors::new(isa)),
            calls: carries.registers.then(|| Calls::new(isa)),
            tohost: None,
            runs: Runs::default(),
            rows: 0,
            position: 0,
            problems: ProblemCounts::default(),
        }
    }

    /// With the address of Spike's `tohost`, if the program has one.
    pub fn with_tohost(self, tohost: Option<u64>) -> Elaborator {
        Elaborator { tohost, ..self }
    }

    /// Problems met so far, by code.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Counted> {
        self.problems.all()
    }

    /// Takes the rows of `batch`, which is left empty, and appends to `out` the runs that are
    /// complete.
    pub fn push(&mut self, batch: &mut StepBatch, out: &mut RunBatch) {
        self.position = batch.position;
        self.dictionary.extend(batch.new_insns.drain(..));
        let (mut access, mut register) = (0, 0);
        let mut events = std::mem::take(&mut batch.events).into_iter().peekable();
        for row in 0..batch.insn.len() {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= row) {
                self.runs.event(event, self.rows);
            }
            let logged = next_slice(&batch.accesses, &mut access, batch.access_end.get(row));
            let changes = next_slice(&batch.registers, &mut register, batch.register_end.get(row));
            let Some(instruction) = self.instruction(batch.insn[row]) else { continue };
            let thread = match batch.thread.get(row) {
                Some(thread) if self.carries.threads => *thread,
                _ => 0,
            };
            let time = batch.time.get(row).copied().unwrap_or(0);
            let row = Row {
                thread: self.thread(thread),
                instruction,
                condition: batch.condition.get(row).copied().unwrap_or_default(),
                time: self.carries.time.then_some(time),
                changes,
                logged,
            };
            self.row(row, out);
        }
        events.for_each(|(_, event)| self.runs.event(event, self.rows));
        self.emit(out);
        batch.clear();
    }

    /// Ends the last runs and appends them to `out`.
    pub fn finish(&mut self, out: &mut RunBatch) {
        for thread in 0..self.threads.len() {
            let ThreadState { pending, call, answered, .. } = &mut self.threads[thread];
            *pending = None;
            let open = answered.take().or(call.take().filter(|call| call.is_proxied()));
            if let Some(call) = open {
                self.returned(thread, &call, call.next());
            }
        }
        self.runs.close();
        self.emit(out);
    }

    /// The place of a row's instruction in the dictionary, if it is there.
    #[inline]
    fn instruction(&mut self, number: u32) -> Option<usize> {
        let place = number as usize;
        if place < self.dictionary.len() {
            return Some(place);
        }
        self.problems.add(UNDEFINED, format_args!("{}", self.position), || {
            format!("a row names instruction {number}, which was not defined")
        });
        None
    }

    #[inline]
    fn thread(&mut self, id: u32) -> usize {
        if self.threads.get(self.current).is_some_and(|t| t.id == id) {
            return self.current;
        }
        let next = self.threads.len();
        self.current = *self.thread_index.entry(id).or_insert(next);
        if self.current == next {
            let registers = RegisterValues::new(self.machine.file.size);
            self.threads.push(ThreadState {
                id,
                registers,
                pending: None,
                last: None,
                call: None,
                answered: None,
                stores: Stores::default(),
            });
        }
        self.current
    }

    #[inline]
    fn row(&mut self, row: Row, out: &mut RunBatch) {
        self.rows += 1;
        if self.carries.registers && self.carries.registers_before {
            self.change_as_one(&row);
            self.complete(row.thread);
            self.end_call(&row);
            self.begin(&row, out);
        } else {
            self.end_call(&row);
            self.begin(&row, out);
            self.change(&row);
            self.complete(row.thread);
        }
        self.emit(out);
    }

    /// Takes the values before a step, and looks whether they are those of another processor than
    /// the one of the step before.
    #[inline]
    fn change_as_one(&mut self, row: &Row) {
        let ThreadState { registers, pending, .. } = &self.threads[row.thread];
        let left = self.processors.as_ref().zip(*pending).and_then(|(processors, step)| {
            let known = self.dictionary.at(step.instruction);
            processors.leave(known, step.instruction, registers, row.changes)
        });
        self.change(row);
        let (Some(left), Some(processors)) = (left, &mut self.processors) else { return };
        let registers = &self.threads[row.thread].registers;
        if processors.go_on(&self.dictionary, left, row.instruction, registers) {
            self.another_processor();
        }
    }

    #[cold]
    fn another_processor(&mut self) {
        let returned = self.processors.as_ref().map_or(0, |processors| processors.returned);
        // The first time counts when it is known not to be the only one.
        let times = match returned.cmp(&processors::ENOUGH) {
            Ordering::Less => 0,
            Ordering::Equal => processors::ENOUGH,
            Ordering::Greater => 1,
        };
        for _ in 0..times {
            self.problems.add(NOT_TOLD_APART, format_args!("step {}", self.rows), || {
                "registers change that no step wrote, to what they were where a processor was \
                 left: the log is of several processors or threads as if they were one, whose \
                 calls and register dataflow are fiction"
                    .into()
            });
        }
    }

    #[inline]
    fn change(&mut self, row: &Row) {
        let ThreadState { registers, pending, .. } = &mut self.threads[row.thread];
        if self.carries.written_values
            && let Some(step) = pending.filter(|step| step.executed)
        {
            let written = &self.dictionary.at(step.instruction).decoded.writes;
            let listed = |w: RegSpan| row.changes.iter().any(|(span, _)| span.overlaps(w));
            written.iter().filter(|w| !listed(w.span)).for_each(|w| registers.forget(w.span));
        }
        for &(span, value) in row.changes {
            registers.set(span, value);
        }
    }

    /// Tells what the call was that the last step of the row's thread made, if the row is behind it.
    #[inline]
    fn end_call(&mut self, row: &Row) {
        if let Some(call) = self.threads[row.thread].call.take() {
            if call.is_proxied() && self.carries.accesses {
                self.wait(row, call);
            } else {
                let address = self.dictionary.at(row.instruction).def.address;
                self.returned(row.thread, &call, address);
            }
        }
    }

    /// A proxied call is told where the program reads the result, whose value is known behind that step.
    #[cold]
    fn wait(&mut self, row: &Row, call: Box<OpenCall>) {
        let stores_again = || {
            let is_tohost = |a: &LoggedAccess| Some(a.address & !7) == self.tohost;
            row.logged.iter().any(|access| access.is_write && is_tohost(access))
        };
        match call.looked_at(row.logged) {
            Look::Answer => {
                self.runs.part(self.rows - 1);
                self.threads[row.thread].answered = Some(call);
            }
            Look::Nothing if !stores_again() => self.threads[row.thread].call = Some(call),
            Look::Nothing | Look::Data => self.returned(row.thread, &call, call.next()),
        }
    }

    /// `address`: where the thread goes on.
    #[cold]
    fn returned(&mut self, thread: usize, call: &OpenCall, address: u64) {
        let Some(calls) = &mut self.calls else { return };
        let ThreadState { registers, stores, .. } = &self.threads[thread];
        if let Some((call, unknown)) = calls.end(call, address, registers, stores) {
            let event = self.system_call(thread, call, unknown, address);
            self.runs.event(event, self.rows.saturating_sub(1));
        }
    }

    /// Tells of a proxied call, whose result the thread's last step has read.
    #[cold]
    fn answer(&mut self, thread: usize, step: Pending, call: &OpenCall) {
        let (Some(calls), Some(run)) = (&mut self.calls, self.runs.get_mut(step.run)) else {
            return;
        };
        let read = (step.mem..run.def.mem.len())
            .find(|&i| !run.def.mem[i].is_write && call.is_answered_at(run.addresses[i]));
        let value = read.and_then(|i| Some((run.def.mem[i].size, run.values[i]?)));
        let value = value.map(|(size, value)| match size {
            4 => i64::from(value as u32 as i32).cast_unsigned(),
            _ => value,
        });
        let ThreadState { registers, stores, .. } = &self.threads[thread];
        let told = match value {
            Some(result) => calls.answered(call, result, stores),
            None => calls.end(call, call.next(), registers, stores),
        };
        if let Some((told, unknown)) = told {
            let event = self.system_call(thread, told, unknown, call.next());
            self.runs.event_before(step.run, event);
        }
    }

    fn system_call(
        &mut self,
        thread: usize,
        mut call: SystemCall,
        unknown: Option<String>,
        address: u64,
    ) -> Event {
        call.thread = self.threads[thread].id;
        if let Some(name) = unknown {
            self.problems.add(UNKNOWN_STORES, format_args!("address {address:#x}"), || {
                format!("what the system call {name} read and wrote is not known")
            });
        }
        Event::SystemCall(Box::new(call))
    }

    /// The output's id of the row's instruction.
    #[inline]
    fn define(&mut self, instruction: usize, out: &mut RunBatch) -> InstructionId {
        if let Some(id) = self.dictionary.at(instruction).id {
            return id;
        }
        let mask = self.machine.address_mask;
        let new = self.dictionary.define(instruction, mask, &mut self.problems);
        out.new_insns.extend(new);
        self.dictionary.at(instruction).id.unwrap_or(InstructionId::FIRST)
    }

    /// First look at a step, with the register values before it.
    #[inline]
    fn begin(&mut self, row: &Row, out: &mut RunBatch) {
        let id = self.define(row.instruction, out);
        let known = self.dictionary.at(row.instruction);
        let place = Place {
            thread: row.thread,
            address: known.def.address,
            row: self.rows,
            position: self.position,
        };
        let (number, run) = self.runs.of_step(&place);
        run.next = known.next;
        let mem = run.def.mem.len();
        let mut executed = row.condition != Condition::Failed;
        if !known.plain || !row.logged.is_empty() {
            let mut step = StepAccesses {
                known,
                registers: &self.threads[row.thread].registers,
                values: self.carries.values || self.carries.registers,
                natural_size: self.machine.natural_size,
                address_mask: self.machine.address_mask,
                run,
                problems: &mut self.problems,
            };
            executed = step.executed(row.condition, row.logged, self.carries.accesses);
            if executed && self.carries.accesses && !known.helper {
                step.take(row.logged);
            } else if executed {
                step.compute();
            }
            if executed {
                step.unmodelled(self.carries.accesses);
            }
        }
        if self.calls.is_some() {
            let thread = &mut self.threads[row.thread];
            for (i, shape) in run.def.mem.iter().enumerate().skip(mem).filter(|(_, s)| s.is_write) {
                if let (Some(&address), Some(&Some(value))) =
                    (run.addresses.get(i), run.values.get(i))
                {
                    thread.stores.add(address, shape.size, value);
                    let tohost = self.tohost.filter(|&tohost| address & !7 == tohost);
                    let call = tohost.and_then(|tohost| {
                        Calls::of_tohost(
                            tohost,
                            (address, shape.size),
                            known.next,
                            &mut thread.stores,
                        )
                    });
                    if let Some(call) = call {
                        thread.call = Some(Box::new(call));
                    }
                }
            }
            let leaves = matches!(known.decoded.flow.kind, FlowKind::Syscall | FlowKind::Trap);
            if let Some(calls) = self.calls.as_ref().filter(|_| leaves && executed) {
                let before = thread.last.map(|last| &self.dictionary.at(last).def.bytes[..]);
                let call = calls.begin(known, before.unwrap_or_default(), &thread.registers);
                thread.call = call.map(Box::new);
            }
            thread.last = Some(row.instruction);
        }
        // At most as many accesses as fit 16 bits are taken.
        let accesses = (run.def.mem.len() - mem) as u16;
        run.def.steps.push(BlockStep { insn: id.get() - 1, executed, mem: accesses });
        run.time.extend(row.time);
        let flow = known.decoded.flow;
        let leaves = matches!(
            flow.kind,
            FlowKind::Jump | FlowKind::Call | FlowKind::Return | FlowKind::ExceptionReturn
        );
        // What follows is not known, or may be something else that stands there: what a handler goes
        // back to.
        if known.decoded.size == 0 || executed && leaves && flow.target.is_none() {
            run.close(self.rows);
        }
        if self.carries.registers {
            let value = run.register_values.len();
            if executed {
                run.register_values.resize(value + known.values.len(), None);
            }
            run.waiting = true;
            let instruction = row.instruction;
            let thread = &mut self.threads[row.thread];
            let destination = known.decoded.destination.as_ref();
            let destination = destination.and_then(|d| d.eval(&|span| thread.registers.get(span)));
            thread.pending =
                Some(Pending { run: number, instruction, mem, value, executed, destination });
        }
    }

    /// Second look at the last step of a thread, with the register values after it.
    #[inline]
    fn complete(&mut self, thread: usize) {
        let Some(step) = self.threads[thread].pending.take() else { return };
        let answered = self.threads[thread].answered.take();
        self.take_values(thread, step);
        if let Some(call) = answered {
            self.answer(thread, step, &call);
        }
    }

    #[inline]
    fn take_values(&mut self, thread: usize, step: Pending) {
        let Some(run) = self.runs.get_mut(step.run) else { return };
        let registers = &self.threads[thread].registers;
        let known = self.dictionary.at(step.instruction);
        run.waiting = false;
        run.end = Some(RunEnd {
            destination: step.destination,
            ..self.machine.end(registers, known.next)
        });
        if !step.executed {
            return;
        }
        let slots = &mut run.register_values[step.value..];
        for (slot, span) in slots.iter_mut().zip(&known.values) {
            *slot = registers.get(*span);
        }
        if run.def.mem.len() == step.mem {
            return;
        }
        if !self.carries.accesses || known.helper {
            let problem = drop_failed_stores(known, registers, run, step.mem);
            if problem {
                let address = known.def.address;
                self.problems.add(UNKNOWN_CONDITION, format_args!("address {address:#x}"), || {
                    format!(
                        "cannot tell whether the store-conditional at {address:#x} stored; taken \
                         as if it did"
                    )
                });
            }
        }
        for (shape, value) in run.def.mem[step.mem..].iter().zip(&mut run.values[step.mem..]) {
            if !shape.is_write && value.is_none() {
                *value = known.loaded_register(shape).and_then(|span| registers.get(span));
            }
        }
    }

    /// Moves the runs at the front of the queue that are complete to `out`.
    #[inline]
    fn emit(&mut self, out: &mut RunBatch) {
        let (carries, threads) = (self.carries, &self.threads);
        self.runs.emit(self.rows, out, |run, out| {
            if carries.threads {
                out.thread.push(threads[run.thread].id);
            }
            if carries.registers {
                out.end.push(run.end.unwrap_or_default());
            }
        });
    }
}

impl Machine {
    /// What the registers say at the end of a run, before the address `next`.
    #[inline]
    fn end(&self, registers: &RegisterValues, next: u64) -> RunEnd {
        let link = self.file.link.and_then(|span| registers.get(span));
        RunEnd {
            sp: self.file.sp.and_then(|span| registers.get(span)),
            linked: link.is_some_and(|l| l & self.link_mask == next),
            destination: None,
        }
    }
}

/// Takes back the stores of a store-conditional that did not store, the accesses of the run's last
/// step being those from `mem` on; `registers` are those after it. True if they do not tell.
fn drop_failed_stores(
    known: &KnownInstruction,
    registers: &RegisterValues,
    run: &mut OpenRun,
    mem: usize,
) -> bool {
    let Decoded { success: Some((span, stored)), .. } = &known.decoded else { return false };
    let status = registers.get(*span);
    if status.is_some_and(|status| status != *stored) {
        run.drop_stores(mem);
    }
    status.is_none()
}

/// The part of `all` from `from` to `end`, which is moved on; within bounds whatever a reader says.
#[inline]
fn next_slice<'a, T>(all: &'a [T], from: &mut usize, end: Option<&u32>) -> &'a [T] {
    let end = end.map_or(*from, |end| (*end as usize).clamp(*from, all.len()));
    let part = &all[*from..end];
    *from = end;
    part
}
