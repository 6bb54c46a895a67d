//! What the pass finds as rows of tables, for the writer's thread a batch at a time.

use crate::analysis::{self, Call, Communication, Flow, Interval, Output, Writer};
use crate::id::{CallId, FunctionId, InstructionId, IntervalId, Seq, ThreadId};
use crate::store::table::{Batch, Stream};
use crate::store::tables::{
    CommunicationKind, CommunicationKinds, CommunicationRow, CommunicationRows, ControlFlow,
    ControlFlows, DataflowRow, DataflowRows, FunctionCall, FunctionCalls, SavedRegister,
    SavedRegisters,
};
use crate::store::writer::FLOW_PART;
use rustc_hash::FxHashMap;

/// A row of `communication_kind`.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    ordinals: (u16, u16),
    /// A step wrote the bytes; they are a register's.
    flags: (bool, bool),
    bytes: u32,
}

/// Takes what the pass finds and gives full batches of rows to `send`.
pub struct PassRows<F> {
    send: F,
    communications: Stream<CommunicationRows>,
    kinds: Stream<CommunicationKinds>,
    kind_ids: FxHashMap<Kind, u32>,
    calls: Stream<FunctionCalls>,
    intervals: Stream<ControlFlows>,
    saves: Stream<SavedRegisters>,
    flows: Stream<DataflowRows>,
    parts: Stream<DataflowRows>,
}

impl<F: FnMut(Batch)> PassRows<F> {
    pub fn new(send: F) -> Self {
        PassRows {
            send,
            communications: Stream::default(),
            kinds: Stream::default(),
            kind_ids: FxHashMap::default(),
            calls: Stream::default(),
            intervals: Stream::default(),
            saves: Stream::default(),
            flows: Stream::default(),
            parts: Stream::named(FLOW_PART),
        }
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
        ];
        rest.into_iter().flatten().for_each(&mut self.send);
    }
}

/// Pushes a row and sends the batch that it filled.
macro_rules! push {
    ($self:ident.$stream:ident, $row:expr) => {
        if let Some(batch) = $self.$stream.push($row) {
            ($self.send)(batch);
        }
    };
}

impl<F: FnMut(Batch)> Output for PassRows<F> {
    #[inline]
    fn communication(&mut self, row: Communication) {
        let (read_seq, write_seq) = (row.read >> 16, row.write >> 16);
        let written = row.write != 0;
        let kind = Kind {
            ordinals: (row.read as u16, row.write as u16),
            flags: (written, row.is_register),
            bytes: row.bytes,
        };
        let next = self.kind_ids.len() as u32 + 1;
        let kind_id = *self.kind_ids.entry(kind).or_insert(next);
        if kind_id == next {
            push!(
                self.kinds,
                CommunicationKind {
                    kind_id,
                    read_ordinal: row.read as u16,
                    write_ordinal: written.then_some(row.write as u16),
                    is_register: row.is_register,
                    bytes: row.bytes,
                }
            );
        }
        push!(
            self.communications,
            CommunicationRow {
                read_seq,
                write_back: written.then(|| read_seq.wrapping_sub(write_seq).cast_signed()),
                kind_id,
                address: row.address,
            }
        );
    }

    fn call(&mut self, row: Call) {
        push!(
            self.calls,
            FunctionCall {
                call_id: CallId::at(row.call as usize - 1),
                function_id: FunctionId::at(row.function as usize - 1),
                instance: row.instance,
                parent_call_id: CallId::new(row.parent),
                tail_of_call_id: CallId::new(row.tail_of),
                thread_id: ThreadId::at(row.thread as usize),
                depth: row.depth,
                kind: row.kind,
                ending: row.ending,
                call_seq: Seq::new(row.call_seq),
                return_seq: Seq::new(row.return_seq),
                call_time: row.call_time,
                return_time: row.return_time,
                call_instruction_id: row.call_insn.map(|i| InstructionId::at(i as usize)),
                steps_self: Some(row.steps_self),
                steps_total: Some(row.steps_total),
                bytes_in: row.bytes_in,
            }
        );
    }

    fn interval(&mut self, row: Interval) {
        push!(
            self.intervals,
            ControlFlow {
                interval_id: IntervalId::at(row.interval as usize - 1),
                thread_id: ThreadId::at(row.thread as usize),
                call_id: CallId::at(row.call as usize - 1),
                function_id: FunctionId::at(row.function as usize - 1),
                start_seq: Seq::new(row.start_seq),
                end_seq: Seq::new(row.end_seq),
                start_time: row.start_time,
                end_time: row.end_time,
            }
        );
    }

    fn saved_register(&mut self, row: analysis::SavedRegister) {
        let seq = |seq: u64| (seq != 0).then_some(seq);
        push!(
            self.saves,
            SavedRegister {
                call_id: CallId::at(row.call as usize - 1),
                save_seq: row.save >> 16,
                save_ordinal: row.save as u16,
                register_address: u32::from(row.register),
                bytes: u32::from(row.bytes),
                address: row.address,
                restore_seq: seq(row.restore_seq),
                restores: row.restores,
                exposed_seq: seq(row.exposed_seq),
            }
        );
    }

    fn flow(&mut self, row: Flow) {
        let (writer, function) = match row.writer {
            Writer::Call { call, function } => (CallId::new(call), FunctionId::new(function)),
            Writer::None { .. } => (None, None),
        };
        let flow = DataflowRow {
            writer_call_id: writer,
            reader_call_id: CallId::at(row.reader as usize - 1),
            writer_function_id: function,
            reader_function_id: FunctionId::at(row.reader_function as usize - 1),
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
}
