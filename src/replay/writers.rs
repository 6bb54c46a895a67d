//! Last writers again, by `docs/semantics.md`: every communication of the run or of its beginning,
//! those inside a call included. A test compares them with those of databases that keep them all.

use super::bytes::ByteMap;
use super::cell::{Bytes, Cell, Space};
use super::code::{Code, Fetch};
use super::error::ReplayError;
use super::handed::{Forked, Handed};
use super::outside::{Change, Outside};
use super::resolve::{Step, What};
use super::saves::StoreId;
use crate::id::{BlockId, CallId, InstructionId, ThreadId};
use crate::load::history::{History, Read};
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// An access of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub seq: i64,
    pub ordinal: u16,
    pub instruction: InstructionId,
    pub thread: ThreadId,
}

/// A write access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub access: Access,
    /// What the observer gave for it.
    pub tag: u32,
}

/// Adjacent bytes that one write access made and one read access read.
#[derive(Clone, Copy, Debug)]
pub struct Communication {
    /// None: no step wrote the bytes.
    pub write: Option<Write>,
    pub read: Access,
    /// Call instance of the read.
    pub call: Option<CallId>,
    pub bytes: Bytes,
}

/// What looks on. Order for each step: `begin`, the communications and writes in the order of their
/// ordinals, `end`.
pub trait Observer {
    fn begin(&mut self, _step: &Step) {}
    /// Whether the steps of a run of a block need not be shown.
    fn skips(&self, _block: BlockId) -> bool {
        false
    }
    /// A data read of adjacent bytes that one access wrote.
    fn communication(&mut self, communication: &Communication);
    /// Bytes that a step writes. Gives the tag that communications from it will have.
    fn write(&mut self, _bytes: Bytes) -> u32 {
        0
    }
    /// Whether to go on.
    fn end(&mut self, _step: &Step) -> bool {
        true
    }
}

/// Last writers of the bytes of one space: of 256 bytes together, as stacks and tables touch them.
type Writers = ByteMap<Option<Write>, 256>;

/// Last writers of all bytes.
#[derive(Default)]
struct Shadow {
    memory: Vec<Writers>,
    registers: Vec<Writers>,
    /// By save: the writers that its register had before.
    kept: FxHashMap<StoreId, Vec<Option<Write>>>,
    /// By number of an exception or signal: those of registers that are kept, in their order.
    at_exceptions: FxHashMap<u64, Vec<(Cell, Option<Write>)>>,
    /// By number of a process that has been made: of memory and registers, as it begins.
    at_forks: FxHashMap<u64, [Writers; 2]>,
    /// Of the access that is being looked at.
    writers: Vec<Option<Write>>,
}

impl Shadow {
    fn space(&mut self, space: Space) -> &mut Writers {
        let (list, at) = match space {
            Space::Memory(process) => (&mut self.memory, process.index()),
            Space::Register(thread) => (&mut self.registers, thread.index()),
        };
        if at >= list.len() {
            list.resize_with(at + 1, Writers::default);
        }
        &mut list[at]
    }

    /// Who wrote adjacent bytes.
    fn look(&mut self, bytes: Bytes) {
        let mut writers = std::mem::take(&mut self.writers);
        writers.clear();
        let space = self.space(bytes.first.space);
        space.visit(bytes.first.address, bytes.size.into(), |w| writers.push(*w));
        self.writers = writers;
    }

    fn save(&mut self, save: StoreId, bytes: Bytes) {
        self.look(bytes);
        self.kept.insert(save, self.writers.clone());
    }

    fn restore(&mut self, save: StoreId, is_last: bool, bytes: Bytes) {
        let kept = if is_last { self.kept.remove(&save) } else { self.kept.get(&save).cloned() };
        // Where the run is not gone through from its beginning the save may lie before.
        let mut kept = kept.unwrap_or_default().into_iter();
        let space = self.space(bytes.first.space);
        space.visit(bytes.first.address, bytes.size.into(), |w| *w = kept.next().flatten());
    }

    fn step<O: Observer>(&mut self, step: &Step, observer: &mut O) -> bool {
        observer.begin(step);
        for &(save, bytes) in step.saves {
            self.save(save, bytes);
        }
        for effect in step.effects {
            let bytes = effect.bytes;
            let access = Access {
                seq: step.seq,
                ordinal: effect.ordinal,
                instruction: step.instruction,
                thread: step.thread,
            };
            match effect.what {
                What::Restore { save, is_last } => self.restore(save, is_last, bytes),
                What::Write => {
                    let write = Some(Write { access, tag: observer.write(bytes) });
                    self.space(bytes.first.space).set(
                        bytes.first.address,
                        bytes.size.into(),
                        write,
                    );
                }
                What::Read => {
                    self.look(bytes);
                    let (mut first, call) = (bytes.first, step.call);
                    for run in self.writers.chunk_by(|a, b| same(*a, *b)) {
                        // An access has at most 2^32 bytes.
                        let bytes = Bytes { first, size: run.len() as u32 };
                        let (write, read) = (run[0], access);
                        observer.communication(&Communication { write, read, call, bytes });
                        first.address = first.address.wrapping_add(bytes.size.into());
                    }
                }
            }
        }
        step.forked.iter().for_each(|forked| self.forked(forked));
        step.outside.iter().for_each(|outside| self.outside(outside));
        step.handed.iter().for_each(|handed| self.handed(handed));
        observer.end(step)
    }

    /// A process begins with what its parent has when it makes it.
    fn forked(&mut self, forked: &Forked) {
        if !forked.begins {
            let copies = forked.spaces().map(|space| self.space(space).copy());
            self.at_forks.insert(forked.number, copies);
        } else if let Some(copies) = self.at_forks.remove(&forked.number) {
            for (space, copy) in forked.spaces().into_iter().zip(copies) {
                *self.space(space) = copy;
            }
        }
    }

    fn handed(&mut self, handed: &Handed) {
        match handed {
            Handed::Kept { number, registers } => {
                let mut kept = Vec::new();
                for &bytes in registers {
                    self.look(bytes);
                    kept.extend(bytes.cells().zip(self.writers.iter().copied()));
                }
                kept.sort_unstable_by_key(|(cell, _)| *cell);
                self.at_exceptions.insert(*number, kept);
            }
            Handed::Back { number, registers } => {
                let kept = self.at_exceptions.get(number).map_or(&[][..], |kept| kept);
                let from = kept.partition_point(|(cell, _)| *cell < registers.first);
                let held = kept[from..].iter().take_while(|(cell, _)| registers.contains(*cell));
                let held: Vec<_> = held.copied().collect();
                for (Cell { space, address }, writer) in held {
                    self.space(space).visit(address, 1, |w| *w = writer);
                }
            }
            Handed::Done { number } => {
                self.at_exceptions.remove(number);
            }
            &Handed::Loaded { registers, from } => {
                self.look(Bytes { first: from, ..registers });
                let mut writers = std::mem::take(&mut self.writers).into_iter();
                let Cell { space, address } = registers.first;
                let of = self.space(space);
                of.visit(address, registers.size.into(), |w| *w = writers.next().flatten());
            }
            Handed::Left { save, memory, .. } => {
                let writers = self.kept.get(save).cloned().unwrap_or_default().into_iter();
                let Cell { space, address } = memory.first;
                for (at, writer) in (0..).zip(writers).filter(|(_, writer)| writer.is_some()) {
                    self.space(space).visit(address.wrapping_add(at), 1, |w| *w = writer);
                }
            }
            Handed::Given { registers } | Handed::Unwritten { registers } => {
                let Cell { space, address } = registers.first;
                self.space(space).visit(address, registers.size.into(), |w| *w = None);
            }
        }
    }

    /// No step writes what comes from outside; what is moved keeps its writers.
    fn outside(&mut self, outside: &Outside) {
        let &Outside { address, last, ref change, .. } = outside;
        let memory = self.space(outside.space());
        match *change {
            // What was before is known of processes that were made before.
            Change::Gap => {
                let at_forks = std::mem::take(&mut self.at_forks);
                *self = Shadow { at_forks, ..Shadow::default() };
            }
            Change::Read(_) => {}
            Change::Write(_) | Change::New => memory.take(address, last, |_, _| ()),
            Change::Move { to } | Change::Copy { to } => {
                let mut held = Vec::new();
                memory.take(address, last, |at, writer| held.extend(writer.map(|w| (at, w))));
                if matches!(change, Change::Copy { .. }) {
                    held.iter().for_each(|&(at, writer)| memory.set(at, 1, Some(writer)));
                }
                memory.take(to, to.saturating_add(last - address), |_, _| ());
                for (at, writer) in held {
                    memory.set(to.wrapping_add(at - address), 1, Some(writer));
                }
            }
        }
    }
}

/// Whether two bytes were made by one access.
fn same(a: Option<Write>, b: Option<Write>) -> bool {
    a.map(|w| w.access) == b.map(|w| w.access)
}

/// Goes through the run up to step `last` and shows every communication.
pub fn observe<O: Observer>(
    code: &Code,
    connection: &Connection,
    last: i64,
    observer: &mut O,
) -> Result<(), ReplayError> {
    let mut shadow = Shadow::default();
    code.steps(connection, (code.first, last), |step| shadow.step(step, observer))
}

/// Shows what happened in chunks, one after the other. What lies before those that were shown has written
/// nothing.
#[derive(Default)]
pub struct Shown {
    /// Where the run went on in another thread.
    turns: Vec<(i64, ThreadId)>,
}

impl Shown {
    /// Shows a chunk with its reads; its writes have no tags.
    ///
    /// # Errors
    /// Where the code lacks a block.
    pub fn history<O: Observer>(
        &mut self,
        code: &Code,
        history: &History,
        observer: &mut O,
    ) -> Result<(), ReplayError> {
        let mut reads = &history.reads[..];
        let first = history.runs.start.first().map_or(0, |seq| seq.cast_signed());
        for (&start, &thread) in history.runs.start.iter().zip(&history.runs.thread) {
            let thread = ThreadId::at(thread as usize);
            if self.turns.last().is_none_or(|(_, last)| *last != thread) {
                self.turns.push((start.cast_signed(), thread));
            }
        }
        let of = (history, Fetch::Addresses);
        code.history(
            of,
            observer,
            |observer, block| observer.skips(block),
            |observer, piece| {
                // Those of what was not shown.
                let from = (piece.seq(piece.first_step) - first) as u32;
                let gone = reads.iter().take_while(|read| read.step < from).count();
                reads = &reads[gone..];
                for at in piece.steps() {
                    let step = Step {
                        seq: piece.seq(at),
                        instruction: piece.block.instructions[at],
                        thread: piece.thread,
                        call: piece.call,
                        effects: &[],
                        saves: &[],
                        outside: &[],
                        forked: &[],
                        handed: &[],
                    };
                    // A chunk has less steps than that.
                    let number = (step.seq - first) as u32;
                    let of_step = reads.iter().take_while(|read| read.step <= number).count();
                    let mut now;
                    (now, reads) = reads.split_at(of_step);
                    observer.begin(&step);
                    for access in
                        piece.block.accesses_of(at).iter().filter(|access| access.is_write)
                    {
                        let Some(address) = access.address(piece.address) else { continue };
                        let before = now.iter().take_while(|read| read.ordinal < access.ordinal);
                        let (before, behind) = now.split_at(before.count());
                        before.iter().for_each(|read| self.read(code, &step, read, observer));
                        now = behind;
                        let space = Space::Memory(code.process(step.thread));
                        let first = Cell { space, address };
                        observer.write(Bytes { first, size: access.size });
                    }
                    now.iter().for_each(|read| self.read(code, &step, read, observer));
                    observer.end(&step);
                }
                Ok(())
            },
        )
    }

    fn read<O: Observer>(&self, code: &Code, step: &Step, read: &Read, observer: &mut O) {
        let &Step { seq, instruction, thread, call, .. } = step;
        let space = match read.is_register {
            true => Space::Register(thread),
            false => Space::Memory(code.process(thread)),
        };
        let bytes = Bytes { first: Cell { space, address: read.address }, size: read.bytes };
        let write = read.write.zip(read.writer).and_then(|(seq, instruction)| {
            let seq = seq.get().cast_signed();
            let thread = self.thread(seq)?;
            Some(Write { access: Access { seq, ordinal: 0, instruction, thread }, tag: 0 })
        });
        let read = Access { seq, ordinal: read.ordinal, instruction, thread };
        observer.communication(&Communication { write, read, call, bytes });
    }

    /// Whose step one was; None: it is before all that was shown.
    fn thread(&self, seq: i64) -> Option<ThreadId> {
        let last = self.turns.last().filter(|(start, _)| *start <= seq);
        let before = || self.turns[..self.turns.partition_point(|(start, _)| *start <= seq)].last();
        Some(last.or_else(before)?.1)
    }
}

/// Shows every communication of the run.
pub fn communications(
    code: &Code,
    connection: &Connection,
    take: impl FnMut(&Communication),
) -> Result<(), ReplayError> {
    struct All<F>(F);
    impl<F: FnMut(&Communication)> Observer for All<F> {
        fn communication(&mut self, communication: &Communication) {
            (self.0)(communication);
        }
    }
    observe(code, connection, code.last, &mut All(take))
}
