//! The run again, from the packed low level: pieces of straight runs with their call instances,
//! forwards or backwards.
//!
//! What no table keeps (communications inside a call, which iteration wrote what, chains of
//! dependences) is found by going through the run once more. The run is fetched in windows, so
//! memory is bounded by what an observer keeps.

use duckdb::arrow::array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, UInt64Array};
use duckdb::{Connection, params};

pub mod allocations;
pub mod control;
pub mod critical;
pub mod dataflow;
pub mod memory;
mod places;
pub mod slice;

pub use places::{Places, Variable, places};

/// Steps that are fetched at a time.
const WINDOW: i64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("this database keeps no steps: {why}")]
    NoSteps { why: String },
    #[error("database: column {column} of {table} is not of the type that this addfg writes")]
    Type { table: &'static str, column: &'static str },
    #[error(
        "this database has no register values, which say what allocation functions were asked for and gave: {why}"
    )]
    NoValues { why: String },
    #[error("database: {what} {id} is not there")]
    Missing { what: &'static str, id: i64 },
}

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../queries/report/", $name, ".sql"))
    };
}

/// An access of a block, the same at each of its runs.
#[derive(Clone, Copy, Debug)]
pub struct BlockAccess {
    /// Position of the step in the block, from 0.
    pub step: u32,
    pub ordinal: u16,
    pub is_write: bool,
    pub is_control: bool,
    /// Register space: the address in it; else an index into the run's addresses.
    pub place: Place,
    pub size: u32,
    /// Register that is stored or loaded unchanged.
    pub data_register: Option<u32>,
    /// Index into the run's values, where the database may have one.
    pub value: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Register(u32),
    Memory(u32),
}

/// A straight piece of code.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Instruction ids of the steps.
    pub instructions: Vec<i32>,
    /// Sorted by step, then ordinal.
    pub accesses: Vec<BlockAccess>,
    /// Where the accesses of each step begin, with one more at the end.
    first_access: Vec<u32>,
}

impl Block {
    pub fn accesses_of(&self, step: usize) -> &[BlockAccess] {
        match (self.first_access.get(step), self.first_access.get(step + 1)) {
            (Some(&a), Some(&b)) => self.accesses.get(a as usize..b as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// What of an executed instruction matters here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instruction {
    pub function: i32,
    pub address: u64,
    pub size: u8,
    /// It may go elsewhere than to the next instruction (jump, call, return).
    pub transfers: bool,
    pub conditional: bool,
}

/// Blocks and instructions of a database.
pub struct Code {
    /// By block id; ids are dense from 1.
    blocks: Vec<Block>,
    /// By instruction id; ids are dense from 1.
    instructions: Vec<Instruction>,
    pub first: i64,
    pub last: i64,
    longest: i64,
    calls: usize,
    /// Control registers but the program counter and the stack pointer: first byte, size.
    flags: Vec<(u32, u32)>,
    fetch: Fetch,
}

/// Steps of one run of a block that belong to one call instance.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// Sequence number of the run's first step.
    pub start_seq: i64,
    pub thread: i32,
    pub call: i32,
    pub block_id: i32,
    pub block: &'a Block,
    /// Steps of the block, from `first_step` up to and without `end_step`.
    pub first_step: usize,
    pub end_step: usize,
    /// Of the memory accesses of the whole block.
    pub address: &'a [u64],
    /// Of the accesses of the whole block; empty unless [`Code::with_values`] asks for them and the
    /// trace has them.
    pub value: &'a [Option<u64>],
}

impl Piece<'_> {
    pub fn seq(&self, step: usize) -> i64 {
        self.start_seq + step as i64
    }
}

struct Window {
    start: Vec<i64>,
    thread: Vec<i32>,
    block: Vec<i32>,
    /// Where the addresses of each run begin, with one more at the end.
    offset: Vec<usize>,
    address: Vec<u64>,
    /// The same for values.
    value_offset: Vec<usize>,
    value: Vec<Option<u64>>,
    /// Intervals by thread: start, end (inclusive), call.
    intervals: Vec<Vec<(i64, i64, i32)>>,
}

fn column<'a, T: 'static>(
    batch: &'a RecordBatch,
    index: usize,
    table: &'static str,
    name: &'static str,
) -> Result<&'a T, ReplayError> {
    let found = batch.columns().get(index).and_then(|c| c.as_any().downcast_ref::<T>());
    found.ok_or(ReplayError::Type { table, column: name })
}

/// Lists of numbers with their items. These are taken by range: an array for each row would cost
/// more than all else.
fn list<'a>(
    batch: &'a RecordBatch,
    index: usize,
    table: &'static str,
    name: &'static str,
) -> Result<(&'a ListArray, &'a UInt64Array), ReplayError> {
    let lists = column::<ListArray>(batch, index, table, name)?;
    let items = lists.values().as_any().downcast_ref::<UInt64Array>();
    Ok((lists, items.ok_or(ReplayError::Type { table, column: name })?))
}

fn range(lists: &ListArray, i: usize) -> std::ops::Range<usize> {
    lists.value_offsets()[i] as usize..lists.value_offsets()[i + 1] as usize
}

/// What of the runs is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetch {
    /// Blocks only.
    Flow,
    Addresses,
    Values,
}

impl Code {
    /// Reads the dictionary of blocks. An error where the database has no steps.
    pub fn open(connection: &Connection) -> Result<Code, ReplayError> {
        // Runs come in the order in which they were stored, which is that of the run.
        connection.execute_batch("SET preserve_insertion_order = true")?;
        let bounds = connection.query_row(report!("replay_bounds"), [], |r| {
            Ok((
                r.get::<_, Option<i64>>(0)?,
                r.get::<_, Option<i64>>(1)?,
                r.get(2)?,
                r.get::<_, i64>(3)?,
            ))
        })?;
        let (Some(first), Some(last), longest, calls) = bounds else {
            return Err(ReplayError::NoSteps {
                why: crate::store::open::why_no_steps(connection)?,
            });
        };
        let mut code = Code {
            blocks: Vec::new(),
            instructions: Vec::new(),
            first,
            last,
            longest,
            calls: calls.max(0) as usize,
            flags: Vec::new(),
            fetch: Fetch::Addresses,
        };
        let mut statement = connection.prepare(report!("replay_flags"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            code.flags.push((r.get(0)?, r.get(1)?));
        }
        let mut statement = connection.prepare(report!("replay_instructions"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let id: i32 = r.get(0)?;
            let instruction = Instruction {
                function: r.get(1)?,
                address: r.get(2)?,
                size: r.get(3)?,
                transfers: r.get(4)?,
                conditional: r.get(5)?,
            };
            *slot(&mut code.instructions, id, "instruction")? = instruction;
        }
        let mut statement = connection.prepare(report!("replay_steps"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (block, instruction): (i32, i32) = (r.get(0)?, r.get(1)?);
            if instruction < 0 || instruction as usize >= code.instructions.len() {
                return Err(ReplayError::Missing { what: "instruction", id: instruction.into() });
            }
            slot(&mut code.blocks, block, "block")?.instructions.push(instruction);
        }
        let mut statement = connection.prepare(report!("replay_accesses"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (register, memory): (Option<u32>, Option<u32>) = (r.get(4)?, r.get(5)?);
            let place = match (register, memory) {
                (_, Some(index)) => Place::Memory(index),
                (Some(register), None) => Place::Register(register),
                (None, None) => continue,
            };
            slot(&mut code.blocks, r.get(0)?, "block")?.accesses.push(BlockAccess {
                step: r.get(1)?,
                ordinal: r.get(2)?,
                is_write: r.get(3)?,
                place,
                size: r.get(6)?,
                is_control: r.get(7)?,
                data_register: r.get(8)?,
                value: r.get(9)?,
            });
        }
        for block in &mut code.blocks {
            block.first_access = (0..=block.instructions.len())
                .map(|step| block.accesses.partition_point(|a| (a.step as usize) < step) as u32)
                .collect();
        }
        Ok(code)
    }

    /// Fetches values with the run, too.
    pub fn with_values(self) -> Code {
        Code { fetch: Fetch::Values, ..self }
    }

    pub fn instruction(&self, id: i32) -> Instruction {
        self.instructions.get(id as usize).copied().unwrap_or_default()
    }

    /// Whether an access is of flags, which decide what runs.
    pub fn is_flags(&self, access: &BlockAccess) -> bool {
        match access.place {
            Place::Register(at) => {
                access.is_control
                    && self.flags.iter().any(|&(first, size)| at >= first && at - first < size)
            }
            Place::Memory(_) => false,
        }
    }

    /// Instruction ids, the largest plus one.
    pub fn instruction_ids(&self) -> usize {
        self.instructions.len()
    }

    /// Call ids, the largest plus one.
    pub fn call_ids(&self) -> usize {
        self.calls + 1
    }

    fn window(
        &self,
        connection: &Connection,
        first: i64,
        last: i64,
        fetch: Fetch,
    ) -> Result<Window, ReplayError> {
        let mut w = Window {
            start: Vec::new(),
            thread: Vec::new(),
            block: Vec::new(),
            offset: vec![0],
            address: Vec::new(),
            value_offset: vec![0],
            value: Vec::new(),
            intervals: Vec::new(),
        };
        let mut statement = connection.prepare(match fetch {
            Fetch::Flow => report!("replay_flow"),
            Fetch::Addresses => report!("replay_runs"),
            Fetch::Values => report!("replay_values"),
        })?;
        for batch in statement.query_arrow(params![first - self.longest, last])? {
            const T: &str = "block_run";
            let start = column::<Int64Array>(&batch, 0, T, "start_seq")?;
            let thread = column::<Int32Array>(&batch, 1, T, "thread_id")?;
            let block = column::<Int32Array>(&batch, 2, T, "block_id")?;
            let address =
                if fetch == Fetch::Flow { None } else { Some(list(&batch, 3, T, "address")?) };
            let value =
                if fetch == Fetch::Values { Some(list(&batch, 4, T, "value")?) } else { None };
            for i in 0..batch.num_rows() {
                w.start.push(start.value(i));
                w.thread.push(thread.value(i));
                w.block.push(block.value(i));
                if let Some((lists, items)) = address.filter(|(lists, _)| lists.is_valid(i)) {
                    w.address.extend_from_slice(&items.values()[range(lists, i)]);
                }
                w.offset.push(w.address.len());
                if let Some((lists, items)) = value.filter(|(lists, _)| lists.is_valid(i)) {
                    w.value
                        .extend(range(lists, i).map(|v| items.is_valid(v).then(|| items.value(v))));
                }
                w.value_offset.push(w.value.len());
            }
        }
        let mut statement = connection.prepare(report!("replay_intervals"))?;
        for batch in statement.query_arrow(params![first - self.longest, last + self.longest])? {
            const T: &str = "control_flow";
            let thread = column::<Int32Array>(&batch, 0, T, "thread_id")?;
            let call = column::<Int32Array>(&batch, 1, T, "call_id")?;
            let start = column::<Int64Array>(&batch, 2, T, "start_seq")?;
            let end = column::<Int64Array>(&batch, 3, T, "end_seq")?;
            for i in 0..batch.num_rows() {
                slot(&mut w.intervals, thread.value(i), "thread")?.push((
                    start.value(i),
                    end.value(i),
                    call.value(i),
                ));
            }
        }
        Ok(w)
    }

    /// The pieces of one run, in order.
    fn pieces<'a>(
        &'a self,
        w: &'a Window,
        run: usize,
        range: (i64, i64),
        out: &mut Vec<Piece<'a>>,
    ) -> Result<(), ReplayError> {
        out.clear();
        let (start_seq, thread, block_id) = (w.start[run], w.thread[run], w.block[run]);
        let missing = ReplayError::Missing { what: "block", id: block_id.into() };
        let block = self
            .blocks
            .get(block_id.max(0) as usize)
            .filter(|b| !b.instructions.is_empty())
            .ok_or(missing)?;
        let address = &w.address[w.offset[run]..w.offset[run + 1]];
        let value = &w.value[w.value_offset[run]..w.value_offset[run + 1]];
        let last = (start_seq + block.instructions.len() as i64 - 1).min(range.1);
        let mut seq = start_seq.max(range.0);
        let empty = Vec::new();
        let intervals = w.intervals.get(thread.max(0) as usize).unwrap_or(&empty);
        let mut at = intervals.partition_point(|i| i.1 < seq);
        while seq <= last {
            // Steps in no interval belong to call 0.
            let (end, call) = match intervals.get(at) {
                Some(&(start, end, call)) if start <= seq => (end.min(last), call),
                Some(&(start, _, _)) => ((start - 1).min(last), 0),
                None => (last, 0),
            };
            let (first_step, end_step) =
                ((seq - start_seq) as usize, (end - start_seq) as usize + 1);
            out.push(Piece {
                start_seq,
                thread,
                call,
                block_id,
                block,
                first_step,
                end_step,
                address,
                value,
            });
            seq = end + 1;
            at += usize::from(call != 0);
        }
        Ok(())
    }

    /// Goes through the steps from `first` to `last`, both inclusive; `take` says whether to go on.
    pub fn forwards(
        &self,
        connection: &Connection,
        range: (i64, i64),
        take: impl FnMut(&Piece) -> bool,
    ) -> Result<(), ReplayError> {
        self.go_through(connection, range, self.fetch, take)
    }

    /// The same by pieces without addresses and values, in half the time.
    pub fn flow(
        &self,
        connection: &Connection,
        range: (i64, i64),
        take: impl FnMut(&Piece) -> bool,
    ) -> Result<(), ReplayError> {
        self.go_through(connection, range, Fetch::Flow, take)
    }

    fn go_through(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
        fetch: Fetch,
        mut take: impl FnMut(&Piece) -> bool,
    ) -> Result<(), ReplayError> {
        let (first, last) = (first.max(self.first), last.min(self.last));
        let mut from = first;
        while from <= last {
            let to = last.min(from.saturating_add(WINDOW - 1));
            let w = self.window(connection, from, to, fetch)?;
            let mut pieces = Vec::new();
            for run in 0..w.start.len() {
                self.pieces(&w, run, (from, to), &mut pieces)?;
                for piece in &pieces {
                    if !take(piece) {
                        return Ok(());
                    }
                }
            }
            from = to + 1;
        }
        Ok(())
    }

    /// Goes through the steps from `last` back to `first`; `take` says whether to go on.
    pub fn backwards(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
        mut take: impl FnMut(&Piece) -> bool,
    ) -> Result<(), ReplayError> {
        let (first, last) = (first.max(self.first), last.min(self.last));
        let mut to = last;
        let mut length = 1 << 14;
        while to >= first {
            let from = first.max(to.saturating_sub(length - 1));
            let w = self.window(connection, from, to, self.fetch)?;
            let mut pieces = Vec::new();
            for run in (0..w.start.len()).rev() {
                self.pieces(&w, run, (from, to), &mut pieces)?;
                for piece in pieces.iter().rev() {
                    if !take(piece) {
                        return Ok(());
                    }
                }
            }
            to = from - 1;
            length = (2 * length).min(WINDOW);
        }
        Ok(())
    }
}

/// The place of an id in a list that is as long as the largest id.
fn slot<'a, T: Default>(
    list: &'a mut Vec<T>,
    id: i32,
    what: &'static str,
) -> Result<&'a mut T, ReplayError> {
    // Ids are dense: a list that would grow by much more than it has is a damaged database.
    let index = usize::try_from(id).ok().filter(|&i| i <= 2 * list.len() + (1 << 20));
    let index = index.ok_or(ReplayError::Missing { what, id: id.into() })?;
    if index >= list.len() {
        list.resize_with(index + 1, T::default);
    }
    Ok(&mut list[index])
}
