//! The rows of a walk.

use super::code::Code;
use super::sink::Take;
use crate::analysis::stack::{Call, Interval};
use crate::id::{FunctionId, InstructionId, LoopId, ThreadId};
use crate::load::{Detail, calls};
use crate::store::StoreError;
use crate::store::row::{Columns, Row};
use crate::store::table::Table;
use crate::store::tables::{
    BlockRun, BlockRuns, ControlFlows, FunctionCalls, LoopInstance, LoopInstances, LoopIteration,
    LoopIterations,
};
use duckdb::Connection;

/// What takes the rows of a walk.
pub struct Rows<'c, 'a> {
    pub code: &'c mut Code<'a>,
    pub process: usize,
    detail: Detail,
    calls: Table<'c, FunctionCalls>,
    intervals: Table<'c, ControlFlows>,
    runs: Table<'c, BlockRuns>,
    loops: Table<'c, LoopInstances>,
    iterations: Table<'c, LoopIterations>,
    /// Of the database; no row behind it counts.
    failed: Option<StoreError>,
}

fn push<C: Columns>(
    table: &mut Table<C>,
    row: impl Row<Columns = C>,
    failed: &mut Option<StoreError>,
) {
    if let Err(error) = table.push(row) {
        failed.get_or_insert(error);
    }
}

impl<'c, 'a> Rows<'c, 'a> {
    pub fn new(connection: &'c Connection, code: &'c mut Code<'a>, detail: Detail) -> Self {
        Rows {
            code,
            process: 0,
            detail,
            calls: Table::new(connection),
            intervals: Table::new(connection),
            runs: Table::new(connection),
            loops: Table::new(connection),
            iterations: Table::new(connection),
            failed: None,
        }
    }

    /// An error if rows could not be written.
    pub fn check(&mut self) -> Result<(), StoreError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub fn finish(mut self) -> Result<(), StoreError> {
        self.check()?;
        self.calls.finish()?;
        self.intervals.finish()?;
        self.runs.finish()?;
        self.loops.finish()?;
        self.iterations.finish()
    }
}

impl Take for Rows<'_, '_> {
    #[inline]
    fn function(&mut self, node: u32) -> (FunctionId, bool) {
        self.code.function(self.process, node)
    }

    fn last_instruction(&mut self, node: u32) -> Option<InstructionId> {
        self.code.steps(self.process, node).last().copied()
    }

    fn loop_id(&self, index: u32) -> LoopId {
        self.code.loop_id(self.process, index)
    }

    fn call(&mut self, call: Call) {
        if self.detail < Detail::Instance {
            return;
        }
        push(&mut self.calls, calls::with_steps(&call), &mut self.failed);
    }

    fn interval(&mut self, interval: Interval) {
        if self.detail < Detail::Instance {
            return;
        }
        push(&mut self.intervals, calls::interval(&interval), &mut self.failed);
    }

    #[inline]
    fn run(&mut self, thread: ThreadId, seq: u64, node: u32) {
        if self.detail < Detail::Pairs {
            return;
        }
        let row = BlockRun {
            start_seq: seq,
            thread_id: thread,
            block_id: self.code.block_id(self.process, node),
            address: None,
            value: None,
            time: None,
            sp: None,
            linked: None,
        };
        push(&mut self.runs, row, &mut self.failed);
    }

    fn loop_instance(&mut self, row: LoopInstance) {
        if self.detail >= Detail::Instance {
            push(&mut self.loops, row, &mut self.failed);
        }
    }

    fn iteration(&mut self, loop_instance: u32, iteration: u64, seq: u64) {
        if self.detail >= Detail::Pairs {
            let row = LoopIteration { loop_instance_id: loop_instance, iteration, start_seq: seq };
            push(&mut self.iterations, row, &mut self.failed);
        }
    }
}
