//! The pass's rows as columns, handed to the database a batch at a time.

use super::StoreError;
use crate::analysis::origin::Origin;
use crate::analysis::{Call, Communication, Flow, Interval, LoopInstance, Output, SavedRegister};
use crate::id::{CallId, InstructionId, Seq};
use duckdb::Connection;
use duckdb::arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, UInt16Array, UInt32Array,
    UInt64Array,
};
use duckdb::arrow::datatypes::{Field, Schema};
use duckdb::arrow::error::ArrowError;
use duckdb::arrow::record_batch::RecordBatch;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Rows of a batch: a quarter of a DuckDB row group, so that the writer need not wait for them, nor
/// they in memory.
pub const BATCH: usize = 30_720;

/// A table that the pass fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    BlockRun,
    Communication,
    CommunicationKind,
    FunctionCall,
    ControlFlow,
    SavedRegister,
    Dataflow,
    /// Parts of `dataflow` that are to be added up, in a temporary table.
    FlowPart,
    LoopInstance,
    LoopIteration,
}

impl Table {
    pub const ALL: [Table; 10] = [
        Table::BlockRun,
        Table::Communication,
        Table::CommunicationKind,
        Table::FunctionCall,
        Table::ControlFlow,
        Table::SavedRegister,
        Table::Dataflow,
        Table::FlowPart,
        Table::LoopInstance,
        Table::LoopIteration,
    ];
    pub fn name(self) -> &'static str {
        [
            "block_run",
            "communication_row",
            "communication_kind",
            "function_call",
            "control_flow",
            "saved_register",
            "dataflow_row",
            "flow_part",
            "loop_instance",
            "loop_iteration",
        ][self as usize]
    }
}

/// Makes a record batch of unnamed columns.
pub fn batch(columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    let field = |(i, c): (usize, &ArrayRef)| Field::new(i.to_string(), c.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns)
}

/// Columns of one table that are being filled.
trait Columns: Default {
    fn table() -> Table;
    fn len(&self) -> usize;
    fn take(&mut self) -> Vec<ArrayRef>;
}

/// Columns of a table, to be filled by name: `struct Name { column: type => array, ... }`, in the
/// order of the schema.
macro_rules! table {
    (struct $name:ident $(<$life:lifetime>)? { $($column:ident: $type:ty => $array:ty),+ $(,)? }) => {
        #[derive(Default)]
        struct $name $(<$life>)? { $($column: Vec<$type>),+ }
        impl $(<$life>)? $name $(<$life>)? {
            /// What was filled; nothing is left.
            fn arrays(&mut self) -> Vec<duckdb::arrow::array::ArrayRef> {
                vec![$(std::sync::Arc::new(<$array>::from(std::mem::take(&mut self.$column)))),+]
            }
        }
    };
}

/// Appends all rows of a table; much faster than one by one.
pub fn append(
    connection: &Connection,
    table: &str,
    columns: Vec<ArrayRef>,
) -> Result<(), StoreError> {
    let mut appender = connection.appender(table)?;
    appender.append_record_batch(batch(columns)?)?;
    Ok(appender.flush()?)
}

macro_rules! columns {
    ($name:ident, $table:expr, $first:ident, $($column:ident: $type:ty => $array:ty),+ $(,)?) => {
        table! { struct $name { $($column: $type => $array),+ } }
        impl Columns for $name {
            fn table() -> Table { $table }
            fn len(&self) -> usize { self.$first.len() }
            fn take(&mut self) -> Vec<ArrayRef> { self.arrays() }
        }
    };
}

columns!(Communications, Table::Communication, read_seq,
    read_seq: i64 => Int64Array, write_back: Option<i64> => Int64Array, kind: i32 => Int32Array, address: u64 => UInt64Array);
columns!(CommunicationKinds, Table::CommunicationKind, kind,
    kind: i32 => Int32Array, read_ordinal: u16 => UInt16Array, write_ordinal: Option<u16> => UInt16Array,
    is_register: bool => BooleanArray, bytes: u32 => UInt32Array);
columns!(Calls, Table::FunctionCall, call,
    call: i32 => Int32Array, function: i32 => Int32Array, instance: i32 => Int32Array, parent: Option<i32> => Int32Array,
    tail_of: Option<i32> => Int32Array, thread: i32 => Int32Array, depth: i32 => Int32Array, kind: &'static str => StringArray,
    ending: &'static str => StringArray, call_seq: i64 => Int64Array, return_seq: i64 => Int64Array,
    call_time: Option<u64> => UInt64Array, return_time: Option<u64> => UInt64Array, call_insn: Option<i32> => Int32Array,
    steps_self: i64 => Int64Array, steps_total: i64 => Int64Array, bytes_in: Option<i64> => Int64Array);
columns!(Intervals, Table::ControlFlow, interval,
    interval: i32 => Int32Array, thread: i32 => Int32Array, call: i32 => Int32Array, function: i32 => Int32Array,
    start_seq: i64 => Int64Array, end_seq: i64 => Int64Array, start_time: Option<u64> => UInt64Array,
    end_time: Option<u64> => UInt64Array);
columns!(Saves, Table::SavedRegister, call,
    call: i32 => Int32Array, save_seq: i64 => Int64Array, save_ordinal: u16 => UInt16Array, register: u32 => UInt32Array,
    bytes: u32 => UInt32Array, address: u64 => UInt64Array, restore_seq: Option<i64> => Int64Array, restores: i32 => Int32Array,
    exposed_seq: Option<i64> => Int64Array);
columns!(Flows, Table::Dataflow, reader,
    writer: Option<i32> => Int32Array, reader: i32 => Int32Array, writer_function: Option<i32> => Int32Array,
    reader_function: i32 => Int32Array, place: u32 => UInt32Array, bytes: i64 => Int64Array, unique: i64 => Int64Array,
    transfers: i64 => Int64Array);
columns!(FlowParts, Table::FlowPart, reader,
    writer: Option<i32> => Int32Array, reader: i32 => Int32Array, writer_function: Option<i32> => Int32Array,
    reader_function: i32 => Int32Array, place: u32 => UInt32Array, bytes: i64 => Int64Array, unique: i64 => Int64Array,
    transfers: i64 => Int64Array);
columns!(LoopInstances, Table::LoopInstance, id,
    id: i32 => Int32Array, number: i32 => Int32Array, instance: i32 => Int32Array, call: i32 => Int32Array,
    parent: Option<i32> => Int32Array, thread: i32 => Int32Array, start_seq: i64 => Int64Array, end_seq: i64 => Int64Array,
    iterations: i64 => Int64Array);
columns!(LoopIterations, Table::LoopIteration, loop_instance,
    loop_instance: i32 => Int32Array, iteration: i64 => Int64Array, start_seq: i64 => Int64Array);

/// A row of `communication_kind`.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    read: u16,
    /// None: no step wrote the bytes.
    write: Option<u16>,
    is_register: bool,
    bytes: u32,
}

/// A sequence number as a column has it.
fn column(seq: Seq) -> i64 {
    seq.get() as i64
}

/// Takes rows and gives full batches to `send`.
pub struct ColumnOutput<F> {
    send: F,
    communications: Communications,
    kinds: CommunicationKinds,
    kind_ids: FxHashMap<Kind, i32>,
    calls: Calls,
    intervals: Intervals,
    saves: Saves,
    flows: Flows,
    parts: FlowParts,
    loop_instances: LoopInstances,
    loop_iterations: LoopIterations,
}

impl<F: FnMut(Table, Vec<ArrayRef>)> ColumnOutput<F> {
    pub fn new(send: F) -> Self {
        ColumnOutput {
            send,
            communications: Communications::default(),
            kinds: CommunicationKinds::default(),
            kind_ids: FxHashMap::default(),
            calls: Calls::default(),
            intervals: Intervals::default(),
            saves: Saves::default(),
            flows: Flows::default(),
            parts: FlowParts::default(),
            loop_instances: LoopInstances::default(),
            loop_iterations: LoopIterations::default(),
        }
    }

    /// Hands out what is left.
    pub fn finish(&mut self) {
        fn rest<C: Columns>(columns: &mut C, send: &mut impl FnMut(Table, Vec<ArrayRef>)) {
            if columns.len() > 0 {
                send(C::table(), columns.take());
            }
        }
        rest(&mut self.communications, &mut self.send);
        rest(&mut self.kinds, &mut self.send);
        rest(&mut self.calls, &mut self.send);
        rest(&mut self.intervals, &mut self.send);
        rest(&mut self.saves, &mut self.send);
        rest(&mut self.flows, &mut self.send);
        rest(&mut self.parts, &mut self.send);
        rest(&mut self.loop_instances, &mut self.send);
        rest(&mut self.loop_iterations, &mut self.send);
    }
}

macro_rules! full {
    ($self:ident, $columns:ident) => {
        if $self.$columns.len() == BATCH {
            ($self.send)(table_of(&$self.$columns), $self.$columns.take());
        }
    };
}

impl<F: FnMut(Table, Vec<ArrayRef>)> ColumnOutput<F> {
    pub fn loop_instance(&mut self, row: LoopInstance) {
        let c = &mut self.loop_instances;
        c.id.push(row.loop_instance as i32);
        c.number.push(row.number as i32 + 1);
        c.instance.push(row.instance as i32);
        c.call.push(row.call as i32);
        c.parent.push((row.parent != 0).then_some(row.parent as i32));
        c.thread.push(row.thread as i32 + 1);
        c.start_seq.push(row.start_seq as i64);
        c.end_seq.push(row.end_seq as i64);
        c.iterations.push(row.iterations as i64);
        full!(self, loop_instances);
    }

    pub fn loop_iteration(&mut self, loop_instance: u32, iteration: u64, seq: u64) {
        let c = &mut self.loop_iterations;
        c.loop_instance.push(loop_instance as i32);
        c.iteration.push(iteration as i64);
        c.start_seq.push(seq as i64);
        full!(self, loop_iterations);
    }
}

fn table_of<C: Columns>(_: &C) -> Table {
    C::table()
}

impl<F: FnMut(Table, Vec<ArrayRef>)> Output for ColumnOutput<F> {
    #[inline]
    fn communication(&mut self, row: Communication) {
        let c = &mut self.communications;
        let read_seq = row.read.seq.get() as i64;
        c.read_seq.push(read_seq);
        let write = match row.write {
            Origin::Step(write) => Some(write),
            Origin::Source(_) => None,
        };
        c.write_back.push(write.map(|w| read_seq - w.seq.get() as i64));
        let kind = Kind {
            read: row.read.ordinal,
            write: write.map(|w| w.ordinal),
            is_register: row.is_register,
            bytes: row.bytes,
        };
        let kinds = &mut self.kinds;
        let new = self.kind_ids.len() as i32 + 1;
        c.kind.push(*self.kind_ids.entry(kind).or_insert_with(|| {
            kinds.kind.push(new);
            kinds.read_ordinal.push(row.read.ordinal);
            kinds.write_ordinal.push(write.map(|w| w.ordinal));
            kinds.is_register.push(row.is_register);
            kinds.bytes.push(row.bytes);
            new
        }));
        c.address.push(row.address);
        full!(self, communications);
        full!(self, kinds);
    }

    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        let c = &mut self.calls;
        c.call.push(row.call.column());
        c.function.push(row.function.column());
        c.instance.push(row.instance as i32);
        c.parent.push(row.parent.map(CallId::column));
        c.tail_of.push(row.tail_of.map(CallId::column));
        c.thread.push(row.thread.column());
        c.depth.push(row.depth as i32);
        c.kind.push(row.kind.name());
        c.ending.push(row.ending.name());
        c.call_seq.push(row.begin.seq.map_or(0, column));
        c.return_seq.push(row.end.seq.map_or(0, column));
        c.call_time.push(row.begin.time);
        c.return_time.push(row.end.time);
        c.call_insn.push(row.site.map(InstructionId::column));
        c.steps_self.push(row.steps_self as i64);
        c.steps_total.push(row.steps_total as i64);
        c.bytes_in.push(bytes_in.map(|b| b as i64));
        full!(self, calls);
    }

    fn interval(&mut self, row: Interval) {
        let c = &mut self.intervals;
        c.interval.push(row.interval.column());
        c.thread.push(row.thread.column());
        c.call.push(row.call.column());
        c.function.push(row.function.column());
        c.start_seq.push(row.start.seq.map_or(0, column));
        c.end_seq.push(row.end.seq.map_or(0, column));
        c.start_time.push(row.start.time);
        c.end_time.push(row.end.time);
        full!(self, intervals);
    }

    fn saved_register(&mut self, row: SavedRegister) {
        let c = &mut self.saves;
        c.call.push(row.call.column());
        c.save_seq.push(column(row.save.seq));
        c.save_ordinal.push(row.save.ordinal);
        c.register.push(row.register.offset.into());
        c.bytes.push(row.register.size.into());
        c.address.push(row.address);
        c.restore_seq.push(row.last_restore.map(column));
        c.restores.push(row.restores as i32);
        c.exposed_seq.push(row.exposed.map(column));
        full!(self, saves);
    }

    fn flow(&mut self, row: Flow) {
        let (writer, function) = match row.writer {
            Origin::Step((call, function)) => (Some(call.column()), Some(function.column())),
            Origin::Source(_) => (None, None),
        };
        // What the kernel reads is in the sums by function only, until the table has a place for it.
        let (Some(reader), Origin::Step(reader_function)) = (row.reader, row.reader_function)
        else {
            return;
        };
        macro_rules! push {
            ($columns:ident) => {
                let c = &mut self.$columns;
                c.writer.push(writer);
                c.reader.push(reader.column());
                c.writer_function.push(function);
                c.reader_function.push(reader_function.column());
                c.place.push(row.place + 1);
                c.bytes.push(row.bytes as i64);
                c.unique.push(row.unique as i64);
                c.transfers.push(row.transfers as i64);
                full!(self, $columns);
            };
        }
        if row.part {
            push!(parts);
        } else {
            push!(flows);
        }
    }
}
