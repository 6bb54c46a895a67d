//! The events of all threads in the order of their times.

use super::problem::Problems;
use super::record::{Block, Event, Kind};
use super::{fdr, naive};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events that a thread decodes ahead.
const AHEAD: usize = 4096;

/// One thread's buffers, in order, with the events decoded so far.
struct Stream {
    /// Indexes of its blocks.
    blocks: std::ops::Range<usize>,
    cursor: Option<fdr::Cursor>,
    /// Next record of a basic log's block.
    at: usize,
    events: Vec<Event>,
    taken: usize,
    /// Where the current events come from, for data between them.
    block: usize,
    /// Highest time met: a clock that goes back does not change the order of a thread's events.
    latest: u64,
}

impl Stream {
    /// Decodes more events; false at the end. `consumed` is told of the bytes.
    fn refill(
        &mut self,
        files: &[&[u8]],
        all: &[Block],
        problems: &mut Problems,
        consumed: &mut u64,
    ) -> bool {
        self.events.clear();
        self.taken = 0;
        while self.events.is_empty() && !self.blocks.is_empty() {
            self.block = self.blocks.start;
            let block = &all[self.block];
            let bytes = files[block.file as usize];
            let ended = if block.layout.naive {
                self.at = self.at.max(block.start);
                naive::fill(&mut self.at, bytes, block, &mut self.events, AHEAD)
            } else {
                let cursor = self.cursor.get_or_insert_with(|| fdr::Cursor::new(block));
                cursor.fill(bytes, block, &mut self.events, AHEAD, problems)
            };
            if ended {
                *consumed += (block.end - block.start) as u64;
                self.blocks.start += 1;
                self.cursor = None;
                self.at = 0;
            }
        }
        if self.events.is_empty() {
            self.events = Vec::new();
            return false;
        }
        // An argument has its entry's time.
        let mut time = self.latest;
        for event in &mut self.events {
            if event.kind == Kind::Argument {
                event.time = time;
            }
            time = event.time;
        }
        true
    }

    fn key(&self) -> u64 {
        self.latest.max(self.events[self.taken].time)
    }
}

/// Gives every event of `threads` (ranges of `blocks`, in order) to `each`, with its thread and
/// block: the earliest first, of equal times the first thread's, within a thread as recorded.
/// `progress` is told of bytes and may end it.
pub fn merge(
    files: &[&[u8]],
    blocks: &[Block],
    threads: &[std::ops::Range<usize>],
    problems: &mut Problems,
    progress: &mut dyn FnMut(u64) -> bool,
    mut each: impl FnMut(usize, &Block, &Event),
) {
    let mut streams: Vec<Stream> = Vec::with_capacity(threads.len());
    let mut heap = BinaryHeap::with_capacity(threads.len());
    let mut consumed = 0;
    for (number, range) in threads.iter().enumerate() {
        let mut stream = Stream {
            blocks: range.clone(),
            cursor: None,
            at: 0,
            events: Vec::new(),
            taken: 0,
            block: range.start,
            latest: 0,
        };
        if stream.refill(files, blocks, problems, &mut consumed) {
            heap.push(Reverse((stream.key(), number)));
        }
        streams.push(stream);
    }
    while let Some(Reverse((_, number))) = heap.pop() {
        let stream = &mut streams[number];
        let until = heap.peek().map_or((u64::MAX, usize::MAX), |Reverse(next)| *next);
        loop {
            // As long as no other thread has an earlier event.
            while let Some(event) = stream.events.get(stream.taken) {
                let time = stream.latest.max(event.time);
                if (time, number) > until {
                    break;
                }
                stream.latest = time;
                stream.taken += 1;
                each(number, &blocks[stream.block], event);
            }
            if stream.taken < stream.events.len() {
                heap.push(Reverse((stream.key(), number)));
                break;
            }
            if !stream.refill(files, blocks, problems, &mut consumed) {
                break;
            }
        }
        if !progress(std::mem::take(&mut consumed)) {
            return;
        }
    }
}
