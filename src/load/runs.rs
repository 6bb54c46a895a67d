//! `block_run`: the runs that the pass was given.

use crate::event::RunBatch;
use crate::id::{BlockId, ThreadId};
use crate::store::table::{Batch, Stream};
use crate::store::tables::{BlockRun, BlockRuns};
use std::ops::RangeInclusive;

/// What a block's runs have of each column.
#[derive(Clone, Copy)]
pub struct Shape {
    pub steps: usize,
    /// Memory accesses.
    pub accesses: usize,
    /// Register writes whose values are kept.
    pub register_values: usize,
}

/// Rows of `block_run`, for the writer's thread.
pub struct RunRows<F> {
    send: F,
    stream: Stream<BlockRuns>,
    values: Vec<Option<u64>>,
    /// Runs without any of these steps are left out.
    wanted: RangeInclusive<u64>,
    /// Steps of the runs that are kept.
    steps: u64,
}

impl<F: FnMut(Batch)> RunRows<F> {
    /// Keeps the runs that have some of the `wanted` steps.
    pub fn new(send: F, wanted: RangeInclusive<u64>) -> Self {
        RunRows { send, stream: Stream::default(), values: Vec::new(), wanted, steps: 0 }
    }

    /// Adds the runs of a batch that begins with the step `seq`: those of which `kept` says so, all
    /// where it is empty.
    pub fn add(
        &mut self,
        batch: &RunBatch,
        mut seq: u64,
        kept: &[bool],
        shape: impl Fn(u32) -> Shape,
    ) {
        let mut addresses = &batch.addresses[..];
        let mut values = &batch.values[..];
        let mut registers = &batch.register_values[..];
        let mut times = &batch.time[..];
        let with_values = !values.is_empty() || !registers.is_empty();
        for (i, &block) in batch.block.iter().enumerate() {
            let shape = shape(block);
            let address = split(&mut addresses, shape.accesses);
            let time = split(&mut times, shape.steps);
            self.values.clear();
            if with_values {
                // Memory values first, then those of the register writes: `value_index` of
                // block_access counts so.
                self.values.extend_from_slice(split(&mut values, shape.accesses));
                self.values.resize(shape.accesses, None);
                self.values.extend_from_slice(split(&mut registers, shape.register_values));
                self.values.resize(shape.accesses + shape.register_values, None);
            }
            let start_seq = seq;
            seq += shape.steps as u64;
            let among = start_seq <= *self.wanted.end() && seq > *self.wanted.start();
            if !among || kept.get(i) == Some(&false) {
                continue;
            }
            self.steps += shape.steps as u64;
            let end = batch.end.get(i);
            let row = BlockRun {
                start_seq,
                thread_id: ThreadId::at(batch.thread.get(i).map_or(0, |t| *t as usize)),
                block_id: BlockId::at(block as usize),
                address: some(address),
                value: some(&self.values),
                time: some(time),
                sp: end.and_then(|e| e.sp),
                linked: end.map(|e| e.linked),
            };
            if let Some(batch) = self.stream.push(row) {
                (self.send)(batch);
            }
        }
    }

    /// Hands out what is left, and gives the steps that were kept.
    pub fn finish(mut self) -> u64 {
        self.stream.rest().into_iter().for_each(&mut self.send);
        self.steps
    }
}

/// The first `count`, or as many as there are; the rest stays.
fn split<'a, T>(rest: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, more) = rest.split_at(count.min(rest.len()));
    *rest = more;
    first
}

/// None if there is nothing.
fn some<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}
