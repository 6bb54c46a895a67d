//! The runs that the pass was given: rows of `block_run`, or at detail `instance` packed into
//! `run_chunk`.

use super::pass::Send;
use crate::event::RunBatch;
use crate::id::{BlockId, ThreadId};
use crate::store::StoreError;
use crate::store::chunk::{Packer, Run, Shape};
use crate::store::table::{Batch, Stream};
use crate::store::tables::{BlockRun, BlockRuns, RunChunk, RunChunks};
use std::ops::RangeInclusive;

/// Goes through the runs of a batch that begins with the step `seq`: `take` gets each with its first
/// step and its place in the batch.
fn each_run(
    batch: &RunBatch,
    mut seq: u64,
    shape: impl Fn(u32) -> Shape,
    mut take: impl FnMut(u64, usize, Run),
) {
    let mut addresses = &batch.addresses[..];
    let mut values = &batch.values[..];
    let mut registers = &batch.register_values[..];
    let mut times = &batch.time[..];
    let with_values = !values.is_empty() || !registers.is_empty();
    let mut value = Vec::new();
    for (i, &block) in batch.block.iter().enumerate() {
        let shape = shape(block);
        value.clear();
        if with_values {
            // Memory values first, then those of the register writes: `value_index` of
            // block_access counts so.
            value.extend_from_slice(split(&mut values, shape.accesses));
            value.resize(shape.accesses, None);
            value.extend_from_slice(split(&mut registers, shape.register_values));
            value.resize(shape.accesses + shape.register_values, None);
        }
        let end = batch.end.get(i);
        let run = Run {
            thread: batch.thread.get(i).copied().unwrap_or(0),
            block,
            shape,
            address: split(&mut addresses, shape.accesses),
            value: &value,
            time: split(&mut times, shape.steps),
            sp: end.and_then(|e| e.sp),
            linked: end.map(|e| e.linked),
        };
        take(seq, i, run);
        seq += shape.steps as u64;
    }
}

/// Rows of `block_run`, for the writer's thread.
pub struct RunRows<'a> {
    send: Send<'a>,
    stream: Stream<BlockRuns>,
    /// Runs without any of these steps are left out.
    wanted: RangeInclusive<u64>,
    /// Steps of the runs that are kept.
    steps: u64,
}

impl RunRows<'_> {
    fn push(&mut self, start_seq: u64, run: &Run) {
        let end = start_seq + run.shape.steps as u64;
        if start_seq > *self.wanted.end() || end <= *self.wanted.start() {
            return;
        }
        self.steps += run.shape.steps as u64;
        let row = BlockRun {
            start_seq,
            thread_id: ThreadId::at(run.thread as usize),
            block_id: BlockId::at(run.block as usize),
            address: some(run.address),
            value: some(run.value),
            time: some(run.time),
            sp: run.sp,
            linked: run.linked,
        };
        if let Some(batch) = self.stream.push(row) {
            (self.send)(batch);
        }
    }
}

/// Chunks that are sent together: DuckDB stores many at once in less room than one by one.
const TOGETHER: usize = 16;

/// Rows of `run_chunk`, for the writer's thread.
pub struct ChunkRows<'a> {
    send: Send<'a>,
    packer: Packer,
    stream: Stream<RunChunks>,
    waiting: usize,
    /// What stopped it.
    failed: Option<std::io::Error>,
}

impl ChunkRows<'_> {
    fn push(&mut self, run: &Run) {
        let full = self.packer.push(run);
        self.keep(full);
    }

    fn keep(&mut self, chunk: std::io::Result<Option<crate::store::chunk::Chunk>>) {
        match chunk {
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
            Ok(Some(chunk)) => {
                let row =
                    RunChunk { first_seq: chunk.first, last_seq: chunk.last, data: &chunk.data };
                let full = self.stream.push(row);
                self.waiting += 1;
                let whole = self.waiting == TOGETHER;
                self.send_rows(full, whole);
            }
        }
    }

    fn send_rows(&mut self, full: Option<Batch>, rest: bool) {
        full.into_iter().for_each(&mut self.send);
        if rest {
            self.waiting = 0;
            self.stream.rest().into_iter().for_each(&mut self.send);
        }
    }
}

/// What keeps the runs.
pub enum KeptRuns<'a> {
    Rows(RunRows<'a>),
    Chunks(Box<ChunkRows<'a>>),
}

impl<'a> KeptRuns<'a> {
    /// Keeps the runs that have some of the `wanted` steps, as rows.
    pub fn rows(send: Send<'a>, wanted: RangeInclusive<u64>) -> Self {
        KeptRuns::Rows(RunRows { send, stream: Stream::default(), wanted, steps: 0 })
    }

    /// Keeps all runs, packed.
    pub fn chunks(send: Send<'a>) -> Self {
        KeptRuns::Chunks(Box::new(ChunkRows {
            send,
            packer: Packer::new(1),
            stream: Stream::default(),
            waiting: 0,
            failed: None,
        }))
    }

    /// Adds the runs of a batch that begins with the step `seq`: those of which `kept` says so, all
    /// where it is empty.
    pub fn add(&mut self, batch: &RunBatch, seq: u64, kept: &[bool], shape: impl Fn(u32) -> Shape) {
        each_run(batch, seq, shape, |start_seq, i, run| match self {
            KeptRuns::Rows(rows) if kept.get(i) != Some(&false) => rows.push(start_seq, &run),
            KeptRuns::Rows(_) => {}
            KeptRuns::Chunks(chunks) => chunks.push(&run),
        });
    }

    /// Hands out what is left, and gives the steps that were kept as rows.
    ///
    /// # Errors
    /// Where a chunk could not be packed.
    pub fn finish(self) -> Result<u64, StoreError> {
        match self {
            KeptRuns::Rows(mut rows) => {
                rows.stream.rest().into_iter().for_each(&mut rows.send);
                Ok(rows.steps)
            }
            KeptRuns::Chunks(mut chunks) => {
                let last = chunks.packer.finish();
                chunks.keep(last);
                chunks.send_rows(None, true);
                let path = "run_chunk".to_owned();
                match chunks.failed {
                    Some(source) => Err(StoreError::Io { path, source }),
                    None => Ok(0),
                }
            }
        }
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
