//! The runs that the pass was given: rows of `block_run`, or packed into `run_chunk` with the events
//! between them.

use super::pass::Send;
use crate::event::{Event, RunBatch};
use crate::id::{BlockId, ThreadId};
use crate::store::StoreError;
use crate::store::chunk::{Chunk, Packer, Run, STEPS, Shape};
use crate::store::pieces;
use crate::store::table::{Batch, Stream};
use crate::store::tables::{BlockRun, BlockRuns, RunChunk, RunChunks, RunPieces};
use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::thread::JoinHandle;

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
}

impl RunRows<'_> {
    fn push(&mut self, start_seq: u64, run: &Run) {
        let end = start_seq + run.shape.steps as u64;
        if start_seq > *self.wanted.end() || end <= *self.wanted.start() {
            return;
        }
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

/// Rows of `run_chunk` and `run_piece`, for the writer's thread.
struct ChunkRows {
    send: mpsc::SyncSender<Batch>,
    /// Of the blocks so far.
    shapes: Vec<Shape>,
    packer: Packer,
    chunks: Stream<RunChunks>,
    pieces: Stream<RunPieces>,
    waiting: usize,
    /// What stopped it.
    failed: Option<std::io::Error>,
}

impl ChunkRows {
    /// Adds the runs of a batch, and the events between them.
    fn add(&mut self, batch: &RunBatch) {
        let mut events = batch.events.iter().peekable();
        let shapes = std::mem::take(&mut self.shapes);
        let with_registers = !batch.register_values.is_empty() || !batch.values.is_empty();
        let shape = |block: u32| {
            let shape = shapes.get(block as usize).copied().unwrap_or_default();
            let register_values = if with_registers { shape.register_values } else { 0 };
            Shape { register_values, ..shape }
        };
        // The packer counts steps itself.
        each_run(batch, 1, shape, |_, i, run| {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= i) {
                self.packer.event(event);
            }
            let full = self.packer.push(&run);
            self.keep(full);
        });
        self.shapes = shapes;
        events.for_each(|(_, event): &(u32, Event)| self.packer.event(event));
    }

    fn keep(&mut self, chunk: std::io::Result<Option<Chunk>>) {
        match chunk {
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
            Ok(Some(chunk)) => {
                let row = RunChunk { first_seq: chunk.first, last_seq: chunk.last };
                let full = self.chunks.push(row);
                self.send(full);
                for row in pieces::rows(chunk.first, &chunk.data) {
                    let full = self.pieces.push(row);
                    self.send(full);
                }
                self.waiting += 1;
                if self.waiting == TOGETHER {
                    self.send_rest();
                }
            }
        }
    }

    fn send(&self, batch: Option<Batch>) {
        if let Some(batch) = batch {
            // The writer has ended if it takes no more: its error is taken when it is joined.
            let _ = self.send.send(batch);
        }
    }

    fn send_rest(&mut self) {
        self.waiting = 0;
        let rest = [self.chunks.rest(), self.pieces.rest()];
        rest.into_iter().for_each(|batch| self.send(batch));
    }

    fn finish(mut self) -> Result<(), StoreError> {
        let last = self.packer.finish();
        self.keep(last);
        self.send_rest();
        let path = "run_chunk".to_owned();
        self.failed.map_or(Ok(()), |source| Err(StoreError::Io { path, source }))
    }
}

/// Batches that wait to be packed, at most.
const AHEAD: usize = 2;

/// The thread that packs runs.
pub struct PackedRuns {
    sender: mpsc::SyncSender<(RunBatch, Vec<Shape>)>,
    thread: JoinHandle<Result<(), StoreError>>,
    /// Blocks whose shapes it has.
    known: usize,
}

impl PackedRuns {
    /// Packs all runs in a thread of its own.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn begin(
        send: mpsc::SyncSender<Batch>,
        chunk_steps: Option<u64>,
    ) -> Result<Self, StoreError> {
        let (sender, batches) = mpsc::sync_channel::<(RunBatch, Vec<Shape>)>(AHEAD);
        let work = move || {
            let mut rows = ChunkRows {
                send,
                shapes: Vec::new(),
                packer: Packer::new(1).of_steps(chunk_steps.unwrap_or(STEPS)),
                chunks: Stream::default(),
                pieces: Stream::default(),
                waiting: 0,
                failed: None,
            };
            for (batch, shapes) in batches {
                rows.shapes.extend(shapes);
                rows.add(&batch);
            }
            rows.finish()
        };
        let thread = std::thread::Builder::new().name("packer".into()).spawn(work);
        let thread = thread.map_err(|source| StoreError::Thread { source })?;
        Ok(PackedRuns { sender, thread, known: 0 })
    }

    /// Adds a batch; `shapes` gives those of all blocks from a number on.
    pub fn add(&mut self, batch: RunBatch, shapes: impl FnOnce(usize) -> Vec<Shape>) {
        let new = shapes(self.known);
        self.known += new.len();
        // It has failed if it takes no more, and tells so at the end.
        let _ = self.sender.send((batch, new));
    }

    /// Waits until all is packed and sent.
    ///
    /// # Errors
    /// Where a chunk could not be packed.
    pub fn finish(self) -> Result<(), StoreError> {
        drop(self.sender);
        self.thread.join().map_err(|_| StoreError::Stopped)?
    }
}

impl<'a> RunRows<'a> {
    /// Keeps the runs that have some of the `wanted` steps.
    pub fn new(send: Send<'a>, wanted: RangeInclusive<u64>) -> Self {
        RunRows { send, stream: Stream::default(), wanted }
    }

    /// Adds the runs of a batch that begins with the step `seq`: those of which `kept` says so, all
    /// where it is empty.
    pub fn add(&mut self, batch: &RunBatch, seq: u64, kept: &[bool], shape: impl Fn(u32) -> Shape) {
        each_run(batch, seq, shape, |start_seq, i, run| {
            if kept.get(i) != Some(&false) {
                self.push(start_seq, &run);
            }
        });
    }

    /// Hands out what is left.
    pub fn hand_out(&mut self) {
        self.stream.rest().into_iter().for_each(&mut self.send);
    }

    /// Ends with that.
    pub fn finish(mut self) {
        self.hand_out();
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
