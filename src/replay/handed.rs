//! What becomes of registers beside the steps of the part of the run that is being gone through: what processors
//! and kernels keep at exceptions and signals, and what handlers save and others restore.

use super::cell::{Bytes, Cell, Space};
use super::code::{BlockAccess, Code, Place};
use super::error::ReplayError;
use super::handed_source::Fork;
use super::saves::StoreId;
use super::window::{Part, Piece, Way};
use crate::analysis::{self, Registers};
use crate::event::RegSpan;
use crate::id::{AccessRef, ProcessId, ThreadId};
use duckdb::Connection;

/// What becomes of registers behind a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handed {
    /// They are kept as they are, at the exception or signal of this number.
    Kept { number: u64, registers: Vec<Bytes> },
    /// They have again what they had then.
    Back { number: u64, registers: Bytes },
    /// Nobody gets back any more what was kept then.
    Done { number: u64 },
    /// They have what is in memory from an address on.
    Loaded { registers: Bytes, from: Cell },
    /// They have what a processor gives a handler.
    Given { registers: Bytes },
    /// They have what no step wrote, and nothing more is known of it.
    Unwritten { registers: Bytes },
    /// What a handler has saved is in memory as what the registers had.
    Left { save: StoreId, registers: Bytes, memory: Bytes },
}

/// A process that is made by a thread, by its place among all that are made, or begins in one: with the memory and the
/// registers that the other one has then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forked {
    pub number: u64,
    pub begins: bool,
    pub process: ProcessId,
    pub thread: ThreadId,
}

impl Forked {
    /// Its memory and its registers.
    pub fn spaces(&self) -> [Space; 2] {
        [Space::Memory(self.process), Space::Register(self.thread)]
    }
}

/// A load that gives a register what another instance of a handler has saved.
struct Restored {
    seq: u64,
    span: RegSpan,
    store: StoreId,
}

/// What is handed in the part of the run that is being gone through.
pub(super) struct Handing<'a> {
    code: &'a Code,
    connection: &'a Connection,
    part: Part,
    /// By the step that finds it.
    list: Vec<(u64, Handed)>,
    /// By step.
    restored: Vec<Restored>,
    /// Behind the step that was asked for last.
    now: Vec<Handed>,
    /// Processes that are made, or begin, behind it.
    forked: Vec<Forked>,
    /// Of the whole run, by the step before.
    forks: &'a [(i64, Fork)],
}

impl<'a> Handing<'a> {
    pub fn new(code: &'a Code, connection: &'a Connection, way: Way) -> Handing<'a> {
        let part = Part::new(way);
        let (list, restored, now, forked) = Default::default();
        Handing { code, connection, part, list, restored, now, forked, forks: &[] }
    }

    /// Loads what a piece needs, and what its neighbours will.
    pub fn cover(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        let Some((first, last)) = self.part.cover(piece) else { return Ok(()) };
        self.forks = self.code.forks(self.connection)?;
        self.list.clear();
        self.restored.clear();
        // What is found by the step behind the last one happens behind that.
        let found = self.code.handed(self.connection, (first, last.saturating_add(1)))?;
        for analysis::Handed { thread, seq, what } in found {
            let bytes = |span: RegSpan| Bytes {
                first: Cell { space: Space::Register(thread), address: span.offset.into() },
                size: span.size.into(),
            };
            let save = |store: AccessRef| {
                let (seq, ordinal) = (store.seq.get().cast_signed(), store.ordinal);
                StoreId { seq, ordinal }
            };
            let handed = match what {
                Registers::Kept { number, spans } => {
                    let registers = spans.into_iter().map(bytes).collect();
                    Handed::Kept { number, registers }
                }
                Registers::Back { number, span } => Handed::Back { number, registers: bytes(span) },
                Registers::Done { number } => Handed::Done { number },
                Registers::Loaded { span, address } => {
                    let space = Space::Memory(self.code.process(thread));
                    Handed::Loaded { registers: bytes(span), from: Cell { space, address } }
                }
                Registers::Given { span } => Handed::Given { registers: bytes(span) },
                Registers::Unwritten { span } => Handed::Unwritten { registers: bytes(span) },
                Registers::Left { span, store, address } => {
                    let space = Space::Memory(self.code.process(thread));
                    let (registers, first) = (bytes(span), Cell { space, address });
                    let memory = Bytes { first, ..registers };
                    Handed::Left { save: save(store), registers, memory }
                }
                Registers::Restored { span, store } => {
                    self.restored.push(Restored { seq, span, store: save(store) });
                    continue;
                }
            };
            self.list.push((seq, handed));
        }
        // The end of a handler is found where the next step is.
        self.list.sort_by_key(|(seq, _)| *seq);
        Ok(())
    }

    /// Whether anything is, in the run.
    pub fn is_any(&self) -> bool {
        self.code.is_handed()
    }

    /// Goes to a step of a piece: what is handed is so behind its last, if behind any.
    pub fn go_to(&mut self, piece: &Piece, step: usize) {
        self.now.clear();
        self.forked.clear();
        if step + 1 < piece.end_step {
            return;
        }
        let seq = piece.seq(step);
        if !self.list.is_empty() {
            let found = seq.cast_unsigned() + 1;
            let from = self.list.partition_point(|(seq, _)| *seq < found);
            let here = self.list[from..].iter().take_while(|(seq, _)| *seq == found);
            self.now.extend(here.map(|(_, handed)| handed.clone()));
        }
        let from = self.forks.partition_point(|(before, _)| *before < seq);
        for &(_, fork) in self.forks[from..].iter().take_while(|(before, _)| *before == seq) {
            let thread = fork.begins_in.unwrap_or(piece.thread);
            let (number, begins) = (fork.number, fork.begins_in.is_some());
            let process = self.code.process(thread);
            self.forked.push(Forked { number, begins, process, thread });
        }
    }

    /// What is handed behind the step that was gone to.
    pub fn behind(&self) -> &[Handed] {
        &self.now
    }

    /// Processes that are made, or begin, behind it.
    pub fn forked(&self) -> &[Forked] {
        &self.forked
    }

    /// The save that a load of a step restores, if another instance of the handler made it.
    pub fn restored(&self, seq: i64, access: &BlockAccess) -> Option<StoreId> {
        let is_it = |of: &&Restored| {
            let register = match access.place {
                Place::Register(at) => Some(at),
                Place::Memory(_) => access.data_register,
            };
            register == Some(of.span.offset.into()) && access.size == u32::from(of.span.size)
        };
        let seq = seq.cast_unsigned();
        let from = self.restored.partition_point(|of| of.seq < seq);
        let here = self.restored[from..].iter().take_while(|of| of.seq == seq);
        here.filter(is_it).map(|of| of.store).next()
    }
}
