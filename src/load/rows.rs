//! What the pass finds as rows of tables, for the writer's thread a batch at a time.

use super::calls;
use crate::analysis::origin::Origin;
use crate::analysis::{self, Call, Communication, Flow, Interval, Output};
use crate::event::BlockDef;
use crate::id::{FunctionId, Seq};
use crate::store::run_code::RunCode;
use crate::store::table::{Batch, Stream};
use crate::store::tables::{
    CommunicationKind, CommunicationKinds, CommunicationRow, CommunicationRows, ControlFlows,
    DataflowRow, DataflowRows, FoldedCall, FoldedCalls, FunctionCall, FunctionCalls, SavedRegister,
    SavedRegisters,
};
use crate::store::writer::FLOW_PART;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Pushes a row and sends the batch that it filled.
macro_rules! push {
    ($self:ident.$stream:ident, $row:expr) => {
        if let Some(batch) = $self.$stream.push($row) {
            ($self.send)(batch);
        }
    };
}

/// A power of two.
const RECENT_KINDS: usize = 1024;

/// A row of `communication_kind`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Kind {
    /// Ordinals; None: no step wrote the bytes.
    read: u16,
    write: Option<u16>,
    is_register: bool,
    bytes: u32,
}

impl Kind {
    /// Where it stands among the recent ones.
    fn slot(&self) -> usize {
        let write = self.write.map_or(0, |w| usize::from(w) + 1);
        let place = usize::from(self.read) + 5 * write + 31 * self.bytes as usize;
        (2 * place + usize::from(self.is_register)) % RECENT_KINDS
    }
}

/// Ends of the communications that are wanted.
#[derive(Clone, Debug)]
pub struct Ends {
    pub writers: BTreeSet<FunctionId>,
    pub readers: BTreeSet<FunctionId>,
    /// With one end in its set; else with both, or read from what no step wrote. Stubs are in both sets:
    /// what calls them takes in what they do.
    pub either: bool,
}

/// Steps, in order.
#[derive(Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn push(&mut self, first: u64, last: u64) {
        match self.0.last_mut() {
            Some(before) if before.1 + 1 == first => before.1 = last,
            _ => self.0.push((first, last)),
        }
    }

    fn has(&self, seq: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= seq);
        after > 0 && seq <= self.0[after - 1].1
    }
}

/// The steps of a block that are of a set of functions: first and last.
type Inside = Vec<(u32, u32)>;

/// What of the rows is between the ends.
pub struct EndFilter {
    ends: Ends,
    /// By block: of the writers, of the readers.
    blocks: Vec<[Inside; 2]>,
    writes: Spans,
    reads: Spans,
    /// Steps before what is pushed that it may read of, with their functions.
    before: FxHashMap<u64, FunctionId>,
}

/// Numbers given out, and steps, before a part of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    pub calls: u32,
    pub intervals: u32,
    /// The first step of the part.
    pub seq: u64,
}

impl Ends {
    /// With the stubs of a run, where they count as what calls them.
    pub fn with_stubs(mut self, code: &RunCode) -> Ends {
        if self.either {
            let stubs = code.functions.iter().enumerate().filter(|(_, of)| of.stub);
            let stubs: Vec<FunctionId> = stubs.map(|(i, _)| FunctionId::at(i)).collect();
            self.writers.extend(&stubs);
            self.readers.extend(&stubs);
        }
        self
    }

    /// The ends in the code of a run.
    pub fn of_code(self, code: &RunCode) -> EndFilter {
        let ends = self.with_stubs(code);
        let inside = |block: &BlockDef, set: &BTreeSet<FunctionId>| {
            let mut found = Inside::new();
            for (step, of) in (0..).zip(&block.steps) {
                if !set.contains(&code.insns[of.insn as usize].function) {
                    continue;
                }
                match found.last_mut() {
                    Some((_, last)) if *last + 1 == step => *last = step,
                    _ => found.push((step, step)),
                }
            }
            found
        };
        let of = |block| [inside(block, &ends.writers), inside(block, &ends.readers)];
        let blocks = code.blocks.iter().map(of).collect();
        EndFilter {
            ends,
            blocks,
            writes: Spans::default(),
            reads: Spans::default(),
            before: FxHashMap::default(),
        }
    }
}

impl Ends {
    /// Whether a communication with these ends is wanted; a writer that is None is no step.
    pub fn have(&self, reader: FunctionId, writer: Option<FunctionId>) -> bool {
        let reads = self.readers.contains(&reader);
        let writes = writer.map_or(!self.either, |f| self.writers.contains(&f));
        if self.either { reads || writes } else { reads && writes }
    }
}

impl EndFilter {
    /// Which functions' steps of before a part of the run have to be known; None: all.
    pub fn before(&self) -> Option<&BTreeSet<FunctionId>> {
        (!self.ends.either).then_some(&self.ends.writers)
    }

    /// Another part of the run begins.
    fn begin(&mut self, before: FxHashMap<u64, FunctionId>) {
        (self.writes, self.reads) = (Spans::default(), Spans::default());
        self.before = before;
    }

    /// Runs of blocks, each with its first step, are going to be pushed: gives which have an end.
    fn runs(&mut self, runs: &[(u64, u32)]) -> Vec<bool> {
        let EndFilter { blocks, writes, reads, .. } = self;
        let mut has = |&(start, block): &(u64, u32)| {
            let inside = &blocks[block as usize];
            for (spans, inside) in [&mut *writes, &mut *reads].into_iter().zip(inside) {
                for &(first, last) in inside {
                    spans.push(start + u64::from(first), start + u64::from(last));
                }
            }
            inside.iter().any(|inside| !inside.is_empty())
        };
        runs.iter().map(&mut has).collect()
    }

    fn communication(&mut self, read: u64, write: Option<u64>) -> bool {
        let reads = self.reads.has(read);
        let is_writer = |seq: u64| {
            let before = self.before.get(&seq);
            before.is_some_and(|of| self.ends.writers.contains(of)) || self.writes.has(seq)
        };
        let writes = || write.map_or(!self.ends.either, is_writer);
        if self.ends.either { reads || writes() } else { reads && writes() }
    }

    fn flow(&self, reader: FunctionId, writer: Option<FunctionId>) -> bool {
        self.ends.have(reader, writer)
    }
}

/// Takes what the pass finds and gives full batches of rows to `send`.
pub struct PassRows<F> {
    send: F,
    /// Communications whose read is none of these steps are left out.
    steps: RangeInclusive<u64>,
    only: Option<EndFilter>,
    /// What began before these is left out.
    begun: Option<Begun>,
    /// Kinds are numbered from this one on, so far apart.
    kinds_from: (u32, u32),
    communications: Stream<CommunicationRows>,
    kinds: Stream<CommunicationKinds>,
    kind_ids: FxHashMap<Kind, u32>,
    /// Of kinds met last, by a hash: most communications are of a few.
    recent_kinds: Box<[(Kind, u32); RECENT_KINDS]>,
    calls: Stream<FunctionCalls>,
    intervals: Stream<ControlFlows>,
    saves: Stream<SavedRegisters>,
    flows: Stream<DataflowRows>,
    parts: Stream<DataflowRows>,
    folded: Stream<FoldedCalls>,
}

impl<F: FnMut(Batch)> PassRows<F> {
    /// Keeps the communications that are read by one of these steps.
    pub fn new(send: F, steps: RangeInclusive<u64>) -> Self {
        PassRows {
            send,
            steps,
            only: None,
            begun: None,
            kinds_from: (1, 1),
            communications: Stream::default(),
            kinds: Stream::default(),
            kind_ids: FxHashMap::default(),
            recent_kinds: Box::new([(Kind::default(), 0); RECENT_KINDS]),
            calls: Stream::default(),
            intervals: Stream::default(),
            saves: Stream::default(),
            flows: Stream::default(),
            parts: Stream::named(FLOW_PART),
            folded: Stream::default(),
        }
    }

    /// Keeps what is between some ends only.
    pub fn only(self, only: Option<EndFilter>) -> Self {
        PassRows { only, ..self }
    }

    /// Kinds are numbered `first`, `first + apart` and so on.
    pub fn number_kinds(self, first: u32, apart: u32) -> Self {
        PassRows { kinds_from: (first, apart), ..self }
    }

    /// What is pushed from here on is another part of the run: what began before it is left out.
    /// `before`: steps before it, with their functions, see [`EndFilter::before`].
    pub fn begin_part(&mut self, begun: Option<Begun>, before: FxHashMap<u64, FunctionId>) {
        self.begun = begun;
        if let Some(only) = &mut self.only {
            only.begin(before);
        }
    }

    /// Runs of blocks, each with its first step, are going to be pushed. Gives which of them have
    /// an end that is wanted; None: all are.
    pub fn runs(&mut self, runs: &[(u64, u32)]) -> Option<Vec<bool>> {
        self.only.as_mut().map(|only| only.runs(runs))
    }

    /// The number of a kind, which gets a row when it is new.
    fn kind_id(&mut self, kind: Kind, slot: usize) -> u32 {
        let (first, apart) = self.kinds_from;
        let next = first + apart * self.kind_ids.len() as u32;
        let kind_id = *self.kind_ids.entry(kind).or_insert(next);
        self.recent_kinds[slot] = (kind, kind_id);
        if kind_id == next {
            push!(
                self.kinds,
                CommunicationKind {
                    kind_id,
                    read_ordinal: kind.read,
                    write_ordinal: kind.write,
                    is_register: kind.is_register,
                    bytes: kind.bytes,
                }
            );
        }
        kind_id
    }

    /// Hands out what is left.
    pub fn finish(&mut self) {
        let rest = [
            self.communications.rest(),
            self.kinds.rest(),
            self.calls.rest(),
            self.intervals.rest(),
            self.saves.rest(),
            self.flows.rest(),
            self.parts.rest(),
            self.folded.rest(),
        ];
        rest.into_iter().flatten().for_each(&mut self.send);
    }
}

impl<F: FnMut(Batch)> Output for PassRows<F> {
    #[inline]
    fn communication(&mut self, row: Communication) {
        let read_seq = row.read.seq.get();
        let is_before = self.begun.is_some_and(|begun| read_seq < begun.seq);
        if is_before || !self.steps.contains(&read_seq) {
            return;
        }
        let write = match row.write {
            Origin::Step(write) => Some(write),
            Origin::Source(_) => None,
        };
        if let Some(only) = &mut self.only
            && !only.communication(read_seq, write.map(|w| w.seq.get()))
        {
            return;
        }
        let kind = Kind {
            read: row.read.ordinal,
            write: write.map(|w| w.ordinal),
            is_register: row.is_register,
            bytes: row.bytes,
        };
        let slot = kind.slot();
        let kind_id = match self.recent_kinds[slot] {
            (known, kind_id) if known == kind && kind_id > 0 => kind_id,
            _ => self.kind_id(kind, slot),
        };
        push!(
            self.communications,
            CommunicationRow {
                read_seq,
                write_back: write.map(|w| read_seq.wrapping_sub(w.seq.get()).cast_signed()),
                kind_id,
                address: row.address,
            }
        );
    }

    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        if self.begun.is_some_and(|begun| row.call.get() <= begun.calls) {
            return;
        }
        push!(self.calls, FunctionCall { bytes_in, ..calls::with_steps(&row) });
    }

    fn interval(&mut self, row: Interval) {
        if self.begun.is_some_and(|begun| row.interval.get() <= begun.intervals) {
            return;
        }
        push!(self.intervals, calls::interval(&row));
    }

    fn saved_register(&mut self, row: analysis::SavedRegister) {
        if self.begun.is_some_and(|begun| row.save.seq.get() < begun.seq) {
            return;
        }
        push!(
            self.saves,
            SavedRegister {
                call_id: row.call,
                save_seq: row.save.seq.get(),
                save_ordinal: row.save.ordinal,
                register_address: u32::from(row.register.offset),
                bytes: u32::from(row.register.size),
                address: row.address,
                restore_seq: row.last_restore.map(Seq::get),
                restores: row.restores,
                exposed_seq: row.exposed.map(Seq::get),
            }
        );
    }

    fn flow(&mut self, row: Flow) {
        let (writer, function) = match row.writer {
            Origin::Step((call, function)) => (Some(call), Some(function)),
            Origin::Source(_) => (None, None),
        };
        // Of a part nobody knows what was read before.
        if self.begun.is_some() {
            return;
        }
        // What the kernel reads is in the sums of functions only: the table is of instances.
        let (Some(reader), Origin::Step(reader_function)) = (row.reader, row.reader_function)
        else {
            return;
        };
        if self.only.as_ref().is_some_and(|only| !only.flow(reader_function, function)) {
            return;
        }
        let flow = DataflowRow {
            writer_call_id: writer,
            reader_call_id: reader,
            writer_function_id: function,
            reader_function_id: reader_function,
            place_id: row.place + 1,
            bytes: row.bytes,
            unique_bytes: Some(row.unique),
            transfers: Some(row.transfers),
        };
        if row.part {
            push!(self.parts, flow);
        } else {
            push!(self.flows, flow);
        }
    }

    fn folded_call(&mut self, row: analysis::FoldedCall) {
        if self.begun.is_some_and(|begun| row.call.get() <= begun.calls) {
            return;
        }
        push!(
            self.folded,
            FoldedCall {
                call_id: row.call,
                function_id: row.function,
                into_call_id: row.into,
                into_function_id: row.into_function,
                steps_self: Some(row.steps_self),
            }
        );
    }
}
