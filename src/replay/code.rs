//! The dictionaries of a database: executed instructions and the straight pieces of code that runs
//! are made of.

use super::chunks::Chunks;
use super::error::{ReplayError, dense, size, slot};
use super::handed_source::{Fork, HandedSource};
use crate::analysis::Handed;
use crate::id::{BlockId, FunctionId, InstructionId, ProcessId, ThreadId};
use crate::load::Detail;
use crate::load::alone::Chunk;
use crate::load::packed::{self, Wanted};
use crate::load::parts::{self, Parts};
use duckdb::Connection;
use std::collections::BTreeSet;

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

impl BlockAccess {
    /// Its address among the run's, if it is of memory.
    pub fn address(&self, addresses: &[u64]) -> Option<u64> {
        match self.place {
            Place::Memory(index) => addresses.get(index as usize).copied(),
            Place::Register(_) => None,
        }
    }
}

/// A straight piece of code.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Of the steps.
    pub instructions: Vec<InstructionId>,
    /// Sorted by step, then ordinal.
    pub accesses: Vec<BlockAccess>,
    /// Where the accesses of each step begin, with one more at the end.
    first_access: Vec<usize>,
    /// By step: whether it stores or loads a register unchanged, as saves and restores do.
    moves: Vec<bool>,
}

impl Block {
    pub fn accesses_of(&self, step: usize) -> &[BlockAccess] {
        match (self.first_access.get(step), self.first_access.get(step + 1)) {
            (Some(&a), Some(&b)) => self.accesses.get(a..b).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether a step may be a save or a restore.
    pub fn moves_register(&self, step: usize) -> bool {
        self.moves.get(step).copied().unwrap_or(false)
    }

    /// What it writes to memory, by the place among the addresses of a run, and size.
    pub(super) fn memory_writes(&self) -> Vec<(usize, u32)> {
        let place = |access: &BlockAccess| match access.place {
            Place::Memory(at) if access.is_write => Some((at as usize, access.size)),
            _ => None,
        };
        self.accesses.iter().filter_map(place).collect()
    }

    /// Finds what of each step is asked for often.
    fn index(&mut self) {
        let steps = self.instructions.len();
        self.first_access = (0..=steps)
            .map(|step| self.accesses.partition_point(|a| (a.step as usize) < step))
            .collect();
        self.moves = vec![false; steps];
        for access in &self.accesses {
            if let (Place::Memory(_), Some(_)) = (access.place, access.data_register)
                && let Some(moves) = self.moves.get_mut(access.step as usize)
            {
                *moves = true;
            }
        }
    }
}

/// What of an executed instruction matters here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instruction {
    /// None: the database has no such instruction.
    pub function: Option<FunctionId>,
    pub address: u64,
    pub size: u8,
    /// It may go elsewhere than to the next instruction (jump, call, return).
    pub transfers: bool,
    pub conditional: bool,
}

/// What of the runs is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    /// Blocks only.
    Flow,
    Addresses,
    Values,
}

/// No step of a run is behind it: what adds to the number of a step stays a number.
const LAST: i64 = i64::MAX / 2;

/// The first and the last step of a chunk.
pub(super) fn steps_of(chunk: &Chunk) -> (i64, i64) {
    let step = |seq: u64| i64::try_from(seq).unwrap_or(LAST).min(LAST);
    (step(chunk.first), step(chunk.last))
}

/// Blocks and instructions of a database.
pub struct Code {
    blocks: Vec<Block>,
    instructions: Vec<Instruction>,
    pub first: i64,
    pub last: i64,
    /// Steps of the longest block.
    pub(super) longest: i64,
    /// In `run_chunk`; else in `block_run`.
    packed: bool,
    /// Control registers but the program counter and the stack pointer: first byte, size.
    flags: Vec<(u32, u32)>,
    /// By thread.
    processes: Vec<Option<ProcessId>>,
    pub(super) fetch: Fetch,
    pub(super) chunks: Chunks,
    /// Rows of calls are made of the chunks that are gone through; None: there are those of all that is
    /// asked for.
    parts: Option<Parts>,
    handed: HandedSource,
}

impl Code {
    /// Reads the dictionaries.
    ///
    /// # Errors
    /// Where the database has no steps, or cannot be read.
    pub fn open(connection: &Connection) -> Result<Code, ReplayError> {
        // What the steps are of: calls, intervals, what the kernel did.
        packed::ensure_calls(connection)?;
        Code::read(connection, None)
    }

    /// The same for what goes through parts of the run, and asks no more than their steps are of.
    ///
    /// # Errors
    /// As [`Code::open`].
    pub fn open_parts(connection: &Connection) -> Result<Code, ReplayError> {
        let parts = Parts::open(connection, &Wanted::all(Detail::Instance))?;
        if parts.is_none() {
            packed::ensure_calls(connection)?;
        }
        Code::read(connection, parts)
    }

    /// The same for what asks for what happens beside the steps, and not for calls.
    ///
    /// # Errors
    /// As [`Code::open`].
    pub fn open_events(connection: &Connection) -> Result<Code, ReplayError> {
        parts::ensure_events(connection)?;
        Code::read(connection, None)
    }

    /// The same for what asks neither for calls nor for what the kernel did.
    ///
    /// # Errors
    /// As [`Code::open`].
    pub fn open_steps(connection: &Connection) -> Result<Code, ReplayError> {
        Code::read(connection, None)
    }

    /// Where some instructions may run: first and last steps, in order.
    pub(super) fn ranges_of(&self, which: &BTreeSet<InstructionId>) -> Vec<(i64, i64)> {
        let functions: Option<BTreeSet<FunctionId>> =
            which.iter().map(|id| self.instruction(*id).function).collect();
        match (&self.parts, functions) {
            (Some(parts), Some(functions)) => parts.runs_of(&functions).map(steps_of).collect(),
            _ => vec![(self.first, self.last)],
        }
    }

    /// Sees to it that there is what the steps from `first` to `last` are of.
    pub(super) fn cover(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
    ) -> Result<(), ReplayError> {
        let Some(parts) = &self.parts else { return Ok(()) };
        let seq = |seq: i64| u64::try_from(seq).unwrap_or(0);
        // What stands before the first step of a chunk is behind the last one of the chunk before.
        let chunks = parts.of_steps(seq(first), seq(last).saturating_add(1));
        parts.ensure(connection, &Wanted::all(Detail::Instance), chunks)?;
        Ok(())
    }

    /// Whether the run has exceptions or signals, see [`Code::handed`].
    pub(super) fn is_handed(&self) -> bool {
        self.handed.is_any()
    }

    /// What becomes of registers beside the steps, as far as the steps from `first` to `last` find it.
    pub(super) fn handed(
        &self,
        connection: &Connection,
        range: (i64, i64),
    ) -> Result<Vec<Handed>, ReplayError> {
        match self.packed {
            true => self.handed.between(connection, self.parts.as_ref(), range),
            false => Ok(Vec::new()),
        }
    }

    /// Where processes are made and begin, each with the step before, in order.
    pub(super) fn forks(&self, connection: &Connection) -> Result<&[(i64, Fork)], ReplayError> {
        match self.packed {
            true => self.handed.forks(connection),
            false => Ok(&[]),
        }
    }

    fn read(connection: &Connection, parts: Option<Parts>) -> Result<Code, ReplayError> {
        // Runs come in the order in which they were stored, which is that of the run.
        connection.execute_batch("SET preserve_insertion_order = true")?;
        type Bounds = (Option<i64>, Option<i64>, bool);
        let bounds = |r: &duckdb::Row| Ok((r.get(0)?, r.get(1)?, r.get(2)?));
        let sql = include_str!("../../queries/report/replay_bounds.sql");
        let (first, last, packed): Bounds = connection.query_row(sql, [], bounds)?;
        let (Some(first), Some(last)) = (first, last) else {
            let why = crate::store::open::why_no_steps(connection)?;
            return Err(ReplayError::NoSteps { why });
        };
        let (first, last) = (first.max(0), last.min(LAST));
        let mut code = Code {
            blocks: Vec::new(),
            instructions: Vec::new(),
            first,
            last,
            longest: 1,
            packed,
            flags: Vec::new(),
            processes: Vec::new(),
            fetch: Fetch::Addresses,
            chunks: Chunks::default(),
            parts,
            handed: HandedSource::default(),
        };
        code.read_registers(connection)?;
        code.read_threads(connection)?;
        code.read_instructions(connection)?;
        code.read_steps(connection)?;
        code.read_accesses(connection)?;
        code.blocks.iter_mut().for_each(Block::index);
        let longest = code.blocks.iter().map(|b| b.instructions.len()).max().unwrap_or(1);
        // They are as few as memory can hold.
        code.longest = longest as i64;
        Ok(code)
    }

    fn read_registers(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_flags.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            self.flags.push((r.get(0)?, r.get(1)?));
        }
        Ok(())
    }

    fn read_threads(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_threads.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let thread: ThreadId = r.get(0)?;
            let process = slot(&mut self.processes, thread.index(), "thread")?;
            let id: ProcessId = r.get(1)?;
            dense(id.index(), 0, "process")?;
            *process = Some(id);
        }
        Ok(())
    }

    fn read_instructions(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_instructions.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let id: InstructionId = r.get(0)?;
            let instruction = Instruction {
                function: Some(r.get(1)?),
                address: r.get(2)?,
                size: r.get(3)?,
                transfers: r.get(4)?,
                conditional: r.get(5)?,
            };
            *slot(&mut self.instructions, id.index(), "instruction")? = instruction;
        }
        Ok(())
    }

    fn read_steps(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_steps.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (block, instruction): (BlockId, InstructionId) = (r.get(0)?, r.get(1)?);
            if instruction.index() >= self.instructions.len() {
                let id = instruction.column().into();
                return Err(ReplayError::Missing { what: "instruction", id });
            }
            let block = slot(&mut self.blocks, block.index(), "block")?;
            block.instructions.push(instruction);
        }
        Ok(())
    }

    fn read_accesses(&mut self, connection: &Connection) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_accesses.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let place = match (r.get(4)?, r.get(5)?) {
                (_, Some(index)) => Place::Memory(index),
                (Some(register), None) => Place::Register(register),
                (None, None) => continue,
            };
            let block: BlockId = r.get(0)?;
            slot(&mut self.blocks, block.index(), "block")?.accesses.push(BlockAccess {
                step: r.get(1)?,
                ordinal: r.get(2)?,
                is_write: r.get(3)?,
                place,
                size: size(r.get(6)?)?,
                is_control: r.get(7)?,
                data_register: r.get(8)?,
                value: r.get(9)?,
            });
        }
        Ok(())
    }

    /// The run is packed in chunks.
    pub(super) fn is_packed(&self) -> bool {
        self.packed
    }

    /// Whether the packed run has values. A trace that has some has them from the start.
    pub(super) fn chunks_have_values(&self, connection: &Connection) -> Result<bool, ReplayError> {
        let mut found = false;
        if self.packed {
            self.chunks.each(connection, (self.first - 1, self.first), |runs| {
                found |= runs.has_values();
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Fetches values with the run, too.
    pub fn with_values(self) -> Code {
        Code { fetch: Fetch::Values, ..self }
    }

    pub fn instruction(&self, id: InstructionId) -> Instruction {
        self.instructions.get(id.index()).copied().unwrap_or_default()
    }

    /// A block that has steps.
    pub fn block(&self, id: BlockId) -> Result<&Block, ReplayError> {
        let found = self.blocks.get(id.index()).filter(|b| !b.instructions.is_empty());
        found.ok_or(ReplayError::Missing { what: "block", id: id.column().into() })
    }

    /// By id.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether an access is of flags, which decide what runs.
    pub fn is_flags(&self, access: &BlockAccess) -> bool {
        let Place::Register(at) = access.place else { return false };
        let covers = |&(first, size): &(u32, u32)| at >= first && at - first < size;
        access.is_control && self.flags.iter().any(covers)
    }

    /// The process of a thread. A thread that is not in the table of threads, as no trace has, is
    /// of the first.
    pub fn process(&self, thread: ThreadId) -> ProcessId {
        self.processes.get(thread.index()).copied().flatten().unwrap_or(ProcessId::FIRST)
    }

    /// How many instructions there are, or the largest id.
    pub fn instructions(&self) -> usize {
        self.instructions.len()
    }

    /// The largest id of a thread.
    pub fn threads(&self) -> usize {
        self.processes.len()
    }
}
