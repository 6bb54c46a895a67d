//! A segment: steps of a block in one function. For its registers, which reads are fed inside it
//! and which reach out of it. Register traffic inside a segment is the same each time, so it is
//! counted once here and multiplied.

use super::access::{Access, AccessPlace, Extent, Insn, SaveRule, mask};
use super::fast_path::FastPath;
use super::operation::{Copied, Operation, OperationKind};
use super::origin::Packed;
use super::place::PlaceCode;
use super::register_window::{ReadSet, RegisterRead, RegisterWrite, WriteSet};
use super::repeated_reads::{Hints, Met};
use super::sums::{Actors, Sums};
use crate::event::{BlockDef, RegSpan};
use crate::id::{ActorId, FunctionId, InstructionId};
use crate::isa::{FlowKind, Moved};

/// A communication inside a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    pub write_step: u32,
    pub write_ordinal: u16,
    pub read_step: u32,
    pub read_ordinal: u16,
    pub register: RegSpan,
    pub writer: ActorId,
    pub reader: ActorId,
    /// First communication of its (write access, read access).
    pub first: bool,
    /// Bytes of the version that nothing read before.
    pub unique: u16,
}

/// Steps of a block in one function, between points where registers must be looked at anew.
#[derive(Clone, Debug)]
pub struct Segment {
    pub first_step: u32,
    pub steps: u32,
    /// Of its code.
    pub function: FunctionId,
    /// Who runs it, where actors are functions.
    pub runs_as: FunctionId,
    /// Register reads that are not among the operations, and what they met last.
    pub reads: Vec<RegisterRead>,
    /// The first of them, or of those that are among the operations, so many, as a set.
    pub in_set: usize,
    pub read_set: ReadSet,
    pub met: Met,
    pub operations: Vec<Operation>,
    /// The first of them, so many, are register reads that may be gone through before all others.
    pub read_first: usize,
    /// What is needed of the others each time, if all are of memory.
    pub quick: Vec<FastPath>,
    /// Register writes that are not among the operations.
    pub writes: Vec<RegisterWrite>,
    /// The first of them, so many, as a set, if it may be used.
    pub write_set: Option<(usize, WriteSet)>,
    pub statics: Vec<Static>,
    pub static_bytes: u64,
    pub static_unique: u64,
    pub static_transfers: u64,
    /// Bytes that its stores write.
    pub stored_bytes: u64,
    /// How often it ran.
    pub count: u64,
    /// Of the pass: the threads in which it ran.
    pub threads: ThreadSet,
    /// Registers from which a store may be a save.
    pub save_mask: u64,
    /// Registers whose load feeds reads further on in the segment.
    pub hazard_mask: u64,
    /// A step of a copying function.
    pub copies: bool,
    /// Where actors are functions in their contexts: the same steps as other actors run them.
    others: Option<Box<Others>>,
}

/// A segment as it runs in other contexts than the first: each has sums of its own.
#[derive(Clone, Debug, Default)]
struct Others {
    list: Vec<Segment>,
    /// By index of the list: who runs it.
    actors: [Option<FunctionId>; Others::MOST],
    /// The one that ran last.
    last: usize,
    /// The one that gives way next.
    next: usize,
    /// Runs of those that have given way.
    gone: u64,
}

impl Others {
    /// Contexts beside the first for which a segment is kept: more need their places by turns.
    const MOST: usize = 3;

    #[inline]
    fn find(&self, actor: FunctionId) -> Option<usize> {
        let at = |at: &usize| self.actors[*at] == Some(actor);
        let list = 0..self.list.len();
        Some(self.last)
            .filter(|last| list.contains(last) && at(last))
            .or_else(|| list.clone().find(at))
    }
}

impl Segment {
    /// The same steps as this actor runs them: the first that comes runs the segment itself.
    #[inline]
    pub fn run_as(&mut self, actor: FunctionId, sums: &mut Sums) -> &mut Segment {
        if self.runs_as == actor { self } else { self.other(actor, sums) }
    }

    fn other(&mut self, actor: FunctionId, sums: &mut Sums) -> &mut Segment {
        if self.count == 0 {
            self.set_actor(actor);
            return self;
        }
        let known = self.others.as_ref().and_then(|others| others.find(actor));
        let at = known.unwrap_or_else(|| self.add_other(actor, sums));
        let others = self.others.as_mut().expect("one was found or added");
        others.last = at;
        &mut others.list[at]
    }

    /// One for a context that has none.
    #[inline(never)]
    fn add_other(&mut self, actor: FunctionId, sums: &mut Sums) -> usize {
        let mut others = self.others.take().unwrap_or_default();
        let mut at = others.list.len();
        if at < Others::MOST {
            others.list.push(self.clone());
        } else {
            at = others.next;
            others.next = (at + 1) % Others::MOST;
            others.list[at].add_to(sums);
            others.gone += others.list[at].count;
        }
        others.list[at].begin_as(actor);
        others.actors[at] = Some(actor);
        self.others = Some(others);
        at
    }

    /// Nothing of it is counted, and this actor runs it.
    fn begin_as(&mut self, actor: FunctionId) {
        self.count = 0;
        self.read_set.forget_sums();
        self.operations.iter_mut().for_each(|op| op.hints = Hints::default());
        let operations = &self.operations[self.read_first..];
        self.quick.iter_mut().zip(operations).for_each(|(quick, op)| *quick = FastPath::new(op));
        self.set_actor(actor);
    }

    /// Adds what was counted once for it, as often as it ran, where actors are functions.
    pub fn add_to(&self, sums: &mut Sums) {
        self.add_met(sums);
        let (function, place) = (Packed::step(self.runs_as), PlaceCode::REGISTER);
        let sums = sums.functions(function, function, place);
        sums.bytes += self.static_bytes * self.count;
        sums.unique += self.static_unique * self.count;
        sums.transfers += self.static_transfers * self.count;
        let (bytes, unique, transfers) = self.read_set.sums();
        sums.bytes += bytes;
        sums.unique += unique;
        sums.transfers += transfers;
    }

    /// Adds what its operations have counted.
    pub fn add_met(&self, sums: &mut Sums) {
        sums.functions[self.function.index()].written_bytes += self.stored_bytes * self.count;
        let mut met = self.met;
        met.flush(sums);
        for (i, op) in self.operations.iter().enumerate() {
            let mut op = *op;
            let quick = i.checked_sub(self.read_first).and_then(|i| self.quick.get(i));
            if let Some(quick) = quick {
                quick.give(&mut op);
            }
            op.hints.flush(op.size.into(), sums);
        }
    }

    fn set_actor(&mut self, actor: FunctionId) {
        self.runs_as = actor;
        let id = self.actor();
        self.met = Met::new(actor);
        self.operations.iter_mut().for_each(|op| op.actor = id);
        self.quick.iter_mut().for_each(|quick| quick.actor = id);
        self.writes.iter_mut().for_each(|write| write.actor = id);
        for inside in &mut self.statics {
            (inside.writer, inside.reader) = (id, id);
        }
    }

    /// It in each context that it ran in.
    pub fn each(&self) -> impl Iterator<Item = &Segment> {
        let others = self.others.iter().flat_map(|others| &others.list);
        std::iter::once(self).chain(others).filter(|segment| segment.count > 0)
    }

    /// How often it ran, whoever ran it.
    pub fn runs(&self) -> u64 {
        let gone = self.others.as_ref().map_or(0, |others| others.gone);
        self.each().map(|segment| segment.count).sum::<u64>() + gone
    }

    fn set_quick(&mut self) {
        self.quick = self.operations[self.read_first..].iter().map(FastPath::new).collect();
    }

    /// Takes from the operations what needs less: writes, and where actors are functions reads.
    /// Finds what of them may be gone through as sets, or quickly.
    fn part(&mut self, actors: Actors) {
        let mut operations = Vec::new();
        for op in std::mem::take(&mut self.operations) {
            match (op.kind, op.register) {
                (OperationKind::Write { loaded, seen }, Some(span)) => {
                    let Operation { step, actor, ordinal, .. } = op;
                    let write = RegisterWrite { step, actor, span, ordinal, loaded, seen };
                    self.writes.push(write);
                }
                (OperationKind::Read { extent }, Some(span)) if actors == Actors::Functions => {
                    self.reads.push(RegisterRead::new(span, extent));
                }
                _ => operations.push(op),
            }
        }
        operations.shrink_to_fit();
        self.operations = operations;
        let is_read = |op: &Operation| matches!(op.kind, OperationKind::Read { .. });
        self.read_first = self.operations.iter().take_while(|op| is_read(op)).count();
        self.set_quick();
        let reads = &mut self.operations[..self.read_first];
        self.in_set = match actors {
            Actors::Functions => self.read_set.take(&mut self.reads, |r| (r.span, r.extent)),
            Actors::Instructions => self.read_set.take(reads, |op| match (op.kind, op.register) {
                (OperationKind::Read { extent }, Some(span)) => (span, extent),
                _ => (RegSpan { offset: 0, size: 0 }, Extent::More),
            }),
        };
        self.write_set = WriteSet::of(&mut self.writes);
    }

    /// Who reads and writes in it, where actors are functions.
    #[inline]
    pub fn actor(&self) -> ActorId {
        self.runs_as.into()
    }

    /// What is kept for it, roughly: places of all its lists.
    pub fn size(&self) -> usize {
        self.operations.len() + self.statics.len() + (self.reads.len() + self.writes.len()) / 4
    }
}

/// Where a block is cut into segments, beside where its function changes and around each step of a
/// copying function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    AtFunctions,
    /// Also behind each step whose load may be a restore.
    AtRestores,
}

/// In which order a segment's operations are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the steps make them: all of them give rows, which come in order of their reads.
    AsMade,
    /// Register reads, memory, register writes, each in lists of their own as far as nothing more is
    /// to be kept of them. No sum depends on it: what is read here the segment has not written, and
    /// only its last writes are left to it. Rows are put in order behind each segment.
    ByKind,
}

/// What segments are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    pub saves: SaveRule,
    pub actors: Actors,
    pub order: Order,
}

/// The segments of a block with these accesses.
pub fn cut(
    def: &BlockDef,
    insns: &[Insn],
    list: &[Access],
    cut: Cut,
    purpose: Purpose,
) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut rest = list;
    let mut first = 0;
    let insn = |step: usize| &insns[def.steps[step].insn as usize];
    for step in 0..def.steps.len() {
        let Insn { function, copies, decoded, .. } = insn(step);
        let ends = *copies || step + 1 == def.steps.len() || insn(step + 1).function != *function;
        let here = rest.partition_point(|a| a.step as usize <= step);
        let may_restore = cut == Cut::AtRestores
            && rest[..here].iter().any(|a| a.step as usize == step && may_restore(a));
        if !ends && !may_restore {
            continue;
        }
        let saves = if *copies { SaveRule::Transparent } else { purpose.saves };
        let purpose = Purpose { saves, ..purpose };
        let mut builder = Builder::new(def, &rest[..here], purpose, *function);
        builder.segment.first_step = first;
        builder.segment.steps = step as u32 + 1 - first;
        let mut segment = builder.build();
        for op in &mut segment.operations {
            op.is_return_address = matches!(op.kind, OperationKind::Store { .. })
                && insn(op.step as usize).decoded.flow.kind == FlowKind::Call;
        }
        if *copies {
            mark_copies(&mut segment, decoded.moved);
        } else if purpose.order == Order::ByKind {
            segment.part(purpose.actors);
        }
        segments.push(segment);
        rest = &rest[here..];
        first = step as u32 + 1;
    }
    segments
}

fn may_restore(a: &Access) -> bool {
    !a.is_write && a.data_register.is_some() && matches!(a.place, AccessPlace::Memory(_))
}

/// Threads by their index in the pass, of any number.
#[derive(Clone, Debug, Default)]
pub struct ThreadSet {
    /// Of the first 64, which most programs do not have.
    first: u64,
    more: Vec<u64>,
}

impl ThreadSet {
    /// Puts one in; whether it was not there.
    #[inline]
    pub fn insert(&mut self, thread: usize) -> bool {
        let bit = 1 << (thread % 64);
        let word = match (thread / 64).checked_sub(1) {
            None => &mut self.first,
            Some(at) => {
                if self.more.len() <= at {
                    self.more.resize(at + 1, 0);
                }
                &mut self.more[at]
            }
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Notes what a step of a copying function hands on unchanged beside whole registers.
fn mark_copies(segment: &mut Segment, moved: Option<Moved>) {
    segment.copies = true;
    segment.hazard_mask = 0;
    let operations = &mut segment.operations;
    let of = |wanted: fn(&OperationKind) -> bool| {
        let mut found = (0..).zip(operations.iter()).filter(|(_, o)| wanted(&o.kind));
        found.next().map(|(i, _)| i).filter(|_| found.next().is_none())
    };
    let load = of(|kind| matches!(kind, OperationKind::Load { .. }));
    let store = of(|kind| matches!(kind, OperationKind::Store { .. }));
    match (moved, load, store) {
        (Some(Moved::ToMemory), Some(load), Some(store))
            if operations[load].size == operations[store].size =>
        {
            operations[load].copy = Copied::Move;
            operations[store].copy = Copied::Move;
        }
        (Some(Moved::ToRegister(low)), Some(load), None) => {
            let Operation { size, register, .. } = operations[load];
            if register.is_none() && size == u32::from(low.size) {
                operations[load].copy = Copied::Low(low);
            }
        }
        _ => {}
    }
}

struct Write {
    step: u32,
    ordinal: u16,
    actor: ActorId,
    span: RegSpan,
    loaded: bool,
}

/// Makes one segment: who wrote each register byte last.
struct Builder<'a> {
    def: &'a BlockDef,
    list: &'a [Access],
    purpose: Purpose,
    segment: Segment,
    writes: Vec<Write>,
    /// By register byte: index + 1 into `writes`, 0 for live-in.
    last: Vec<u32>,
    /// By register byte: the current version was read inside the segment.
    seen: Vec<bool>,
}

impl<'a> Builder<'a> {
    fn new(
        def: &'a BlockDef,
        list: &'a [Access],
        purpose: Purpose,
        function: FunctionId,
    ) -> Builder<'a> {
        let end = |a: &Access| match a.place {
            AccessPlace::Register(offset) => offset as usize + a.size as usize,
            AccessPlace::Memory(_) => 0,
        };
        let bytes = list.iter().map(end).max().unwrap_or(0);
        let segment = Segment {
            first_step: 0,
            steps: 0,
            function,
            runs_as: function,
            reads: Vec::new(),
            in_set: 0,
            read_set: ReadSet::default(),
            met: Met::new(function),
            operations: Vec::new(),
            read_first: 0,
            quick: Vec::new(),
            writes: Vec::new(),
            write_set: None,
            statics: Vec::new(),
            static_bytes: 0,
            static_unique: 0,
            static_transfers: 0,
            stored_bytes: 0,
            count: 0,
            threads: ThreadSet::default(),
            save_mask: 0,
            hazard_mask: 0,
            copies: false,
            others: None,
        };
        let (last, seen) = (vec![0; bytes], vec![false; bytes]);
        Builder { def, list, purpose, segment, writes: Vec::new(), last, seen }
    }

    fn build(mut self) -> Segment {
        for (i, a) in self.list.iter().enumerate() {
            match a.place {
                AccessPlace::Memory(mem) => self.memory(a, mem),
                AccessPlace::Register(_) if a.is_control => {}
                AccessPlace::Register(offset) => {
                    let span = RegSpan { offset, size: a.size as u16 };
                    if a.is_write { self.write(i, span) } else { self.read(a, span) }
                }
            }
        }
        self.leave();
        let stores = |o: &&Operation| matches!(o.kind, OperationKind::Store { .. });
        self.segment.stored_bytes =
            self.segment.operations.iter().filter(stores).map(|o| u64::from(o.size)).sum();
        match self.purpose.order {
            Order::AsMade => self.segment.operations.sort_by_key(|o| (o.step, o.ordinal)),
            Order::ByKind => {
                self.segment.operations.sort_by_key(|o| (o.kind.turn(), o.step, o.ordinal));
            }
        }
        self.segment
    }

    fn actor(&self, step: u32) -> ActorId {
        match self.purpose.actors {
            Actors::Functions => self.segment.function.into(),
            Actors::Instructions => {
                InstructionId::at(self.def.steps[step as usize].insn as usize).into()
            }
        }
    }

    fn operation(&self, a: &Access, kind: OperationKind) -> Operation {
        Operation {
            kind,
            stack_relative: a.stack_relative,
            ordinal: a.ordinal,
            step: a.step,
            actor: self.actor(a.step),
            mem: 0,
            size: a.size,
            register: None,
            is_return_address: false,
            copy: Copied::Nothing,
            hints: Hints::default(),
        }
    }

    fn memory(&mut self, a: &Access, mem: u32) {
        let transparent = self.purpose.saves == SaveRule::Transparent;
        let mut register = a.data_register.filter(|_| transparent);
        let mut kind = OperationKind::Load { control: a.is_control };
        if a.is_write {
            // The save's read of the register is left to this operation, if the segment does not
            // feed it.
            let (operations, wanted) = (&mut self.segment.operations, register);
            let read = operations.iter().rposition(|o| {
                o.step == a.step
                    && matches!(o.kind, OperationKind::Read { .. })
                    && o.register == wanted
            });
            let read = read.filter(|_| wanted.is_some()).map(|p| operations.remove(p).ordinal);
            match (read, register) {
                (Some(_), Some(r)) => self.segment.save_mask |= mask(r),
                _ => register = None,
            }
            kind = OperationKind::Store { read: read.unwrap_or(u16::MAX) };
        }
        let operation = Operation { mem, register, ..self.operation(a, kind) };
        self.segment.operations.push(operation);
    }

    /// Access `i` writes a register.
    fn write(&mut self, i: usize, span: RegSpan) {
        let a = &self.list[i];
        let loaded = self.list[..i]
            .iter()
            .any(|l| l.step == a.step && may_restore(l) && l.data_register == Some(span));
        let (step, ordinal, actor) = (a.step, a.ordinal, self.actor(a.step));
        self.writes.push(Write { step, ordinal, actor, span, loaded });
        let bytes = span.offset as usize..(span.offset + span.size) as usize;
        self.last[bytes.clone()].fill(self.writes.len() as u32);
        self.seen[bytes].fill(false);
    }

    fn read(&mut self, a: &Access, span: RegSpan) {
        let (mut at, end) = (span.offset, span.offset + span.size);
        let mut sources: Vec<u32> = Vec::new();
        let first_operation = self.segment.operations.len();
        while at < end {
            let writer = self.last[at as usize];
            let to = (at..end).find(|&b| self.last[b as usize] != writer).unwrap_or(end);
            let register = RegSpan { offset: at, size: to - at };
            if writer == 0 {
                let operation = self.operation(a, OperationKind::Read { extent: Extent::Whole });
                let size = u32::from(register.size);
                let register = Some(register);
                self.segment.operations.push(Operation { size, register, ..operation });
            } else {
                let first = !sources.contains(&writer);
                sources.push(writer);
                self.inside(a, register, writer as usize - 1, first);
            }
            at = to;
        }
        if let [first, more @ ..] = &mut self.segment.operations[first_operation..]
            && !more.is_empty()
        {
            first.kind = OperationKind::Read { extent: Extent::First };
            more.iter_mut().for_each(|o| o.kind = OperationKind::Read { extent: Extent::More });
        }
    }

    /// A read of what a write of the segment left in these bytes.
    fn inside(&mut self, a: &Access, register: RegSpan, writer: usize, first: bool) {
        let reader = self.actor(a.step);
        let write = &self.writes[writer];
        let seen =
            &mut self.seen[register.offset as usize..(register.offset + register.size) as usize];
        let unique = seen.iter().filter(|s| !**s).count() as u16;
        seen.fill(true);
        let segment = &mut self.segment;
        segment.static_bytes += u64::from(register.size);
        segment.static_unique += u64::from(unique);
        segment.static_transfers += u64::from(first);
        if write.loaded {
            segment.hazard_mask |= mask(write.span);
        }
        segment.statics.push(Static {
            write_step: write.step,
            write_ordinal: write.ordinal,
            read_step: a.step,
            read_ordinal: a.ordinal,
            register,
            writer: write.actor,
            reader,
            first,
            unique,
        });
    }

    /// What is left in the registers, at the place of the write.
    fn leave(&mut self) {
        for (w, write) in self.writes.iter().enumerate() {
            let mut at = write.span.offset;
            let end = write.span.offset + write.span.size;
            let is_left = |b: u16| self.last[b as usize] == w as u32 + 1;
            while at < end {
                if !is_left(at) {
                    at += 1;
                    continue;
                }
                let seen = self.seen[at as usize];
                let to = (at..end).find(|&b| !is_left(b) || self.seen[b as usize] != seen);
                let register = RegSpan { offset: at, size: to.unwrap_or(end) - at };
                self.segment.operations.push(Operation {
                    kind: OperationKind::Write { loaded: write.loaded, seen },
                    stack_relative: false,
                    ordinal: write.ordinal,
                    step: write.step,
                    actor: write.actor,
                    mem: 0,
                    size: u32::from(register.size),
                    register: Some(register),
                    is_return_address: false,
                    copy: Copied::Nothing,
                    hints: Hints::default(),
                });
                at += register.size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_any_number_are_remembered() {
        let mut threads = ThreadSet::default();
        for thread in [0, 63, 64, 65, 127, 128, 100_000] {
            assert!(threads.insert(thread), "{thread}");
            assert!(!threads.insert(thread), "{thread}");
        }
        assert!(threads.insert(1) && threads.insert(66));
    }
}
