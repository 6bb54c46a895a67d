//! Which lines of memory each window of the run writes, as `addfg prepare` stores it: a slice passes over
//! windows that wrote nothing that it wants.

use super::code::{Block, Code};
use super::error::ReplayError;
use super::outside::{Outside, outsides};
use crate::query::each;
use duckdb::Connection;
use rustc_hash::FxHashSet;

/// Steps of a window.
const WINDOW: i64 = 1 << 16;
/// Bytes of a line.
const LINE: u64 = 64;
/// In a window that has it, any line may have been written: no address is in it.
const ANY: u64 = u64::MAX;
/// What is written of more lines than that is any.
const MOST: u64 = 1 << 12;

/// Begins of windows and lines, in order.
pub type Written = Vec<(i64, u64)>;

/// Finds them while the run is gone through forwards.
pub struct WriteFinder {
    first: i64,
    window: i64,
    lines: FxHashSet<u64>,
    recent: u64,
    found: Written,
}

impl WriteFinder {
    pub fn new(first: i64) -> WriteFinder {
        let lines = FxHashSet::default();
        WriteFinder { first, window: first, lines, recent: ANY, found: Vec::new() }
    }

    /// Bytes that a step writes.
    pub fn write(&mut self, seq: i64, address: u64, bytes: u64) {
        let (line, last) = (address / LINE, address.saturating_add(bytes.max(1) - 1) / LINE);
        if line == self.recent && last == line && seq - self.window < WINDOW {
            return;
        }
        self.go_to(seq);
        self.recent = last;
        self.add(line, last);
    }

    fn add(&mut self, line: u64, last: u64) {
        if last - line > MOST {
            self.lines.insert(ANY);
        } else {
            self.lines.extend(line..=last);
        }
    }

    /// What happens to memory behind a step.
    pub fn outside(&mut self, seq: i64, outside: &Outside) {
        self.go_to(seq);
        if let Some((first, last)) = outside.overwritten() {
            self.add(first / LINE, last / LINE);
        }
    }

    fn go_to(&mut self, seq: i64) {
        if seq - self.window >= WINDOW {
            self.end();
            self.window = window(self.first, seq);
        }
    }

    fn end(&mut self) {
        let from = self.found.len();
        self.found.extend(self.lines.drain().map(|line| (self.window, line)));
        self.found[from..].sort_unstable();
        self.recent = ANY;
    }

    pub fn finish(mut self) -> Written {
        self.end();
        self.found
    }
}

/// Where the window of a step begins.
fn window(first: i64, seq: i64) -> i64 {
    seq - (seq - first).rem_euclid(WINDOW)
}

/// Which windows may have written something.
pub(super) struct WriteIndex(Written);

impl WriteIndex {
    /// None where it is not stored.
    pub(super) fn read(connection: &Connection) -> Result<Option<WriteIndex>, ReplayError> {
        let mut written = Written::new();
        each(connection, include_str!("../../queries/report/prepared_lines.sql"), &[], |r| {
            written.push((r.get(0)?, r.get(1)?));
            Ok(())
        })?;
        written.sort_unstable();
        Ok((!written.is_empty()).then_some(WriteIndex(written)))
    }

    /// The last step up to `to` that may have written one of these bytes of memory, as the end of its
    /// window; None: none did.
    pub(super) fn last(&self, to: i64, addresses: impl Iterator<Item = u64>) -> Option<i64> {
        let mut lines: Vec<u64> = addresses.map(|address| address / LINE).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut rest = &self.0[..self.0.partition_point(|(begin, _)| *begin <= to)];
        while let Some(&(begin, _)) = rest.last() {
            let at = rest.partition_point(|(other, _)| *other < begin);
            let own = &rest[at..];
            let has = |line: &u64| own.binary_search_by_key(line, |(_, line)| *line).is_ok();
            if has(&ANY) || lines.iter().any(has) {
                return Some(to.min(begin.saturating_add(WINDOW - 1)));
            }
            rest = &rest[..at];
        }
        None
    }
}

/// Finds in the packed run which step wrote some bytes last: where it is not stored which windows may have,
/// the chunks are looked through, and no pass goes over them.
pub(super) struct Writes<'a> {
    code: &'a Code,
    connection: &'a Connection,
    /// First and last steps.
    chunks: Vec<(i64, i64)>,
    /// By block: what it writes to memory, by the place among the addresses of its run and the size.
    of_blocks: Vec<Vec<(usize, u32)>>,
    /// What happens to bytes beside the steps: behind which step, first and last byte.
    outside: Vec<(i64, u64, u64)>,
}

impl<'a> Writes<'a> {
    /// None where the run is not packed.
    pub(super) fn open(
        code: &'a Code,
        connection: &'a Connection,
    ) -> Result<Option<Writes<'a>>, ReplayError> {
        if !code.is_packed() {
            return Ok(None);
        }
        let sql = "SELECT first_seq, last_seq FROM run_chunk ORDER BY first_seq";
        let mut statement = connection.prepare(sql)?;
        let chunks = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let chunks = chunks.collect::<duckdb::Result<_>>()?;
        let all = outsides(connection, (code.first, code.last))?;
        let overwritten =
            |of: &Outside| of.overwritten().map(|(first, last)| (of.seq, first, last));
        let outside = all.iter().filter_map(overwritten).collect();
        let of_blocks = code.blocks().iter().map(Block::memory_writes).collect();
        Ok(Some(Writes { code, connection, chunks, of_blocks, outside }))
    }

    /// The last step up to `to` that wrote one of these bytes of memory, or behind which one was, or a later one
    /// of the same run of a block; None: none did.
    pub(super) fn last(
        &self,
        to: i64,
        addresses: impl Iterator<Item = u64>,
    ) -> Result<Option<i64>, ReplayError> {
        let mut wanted: Vec<u64> = addresses.collect();
        wanted.sort_unstable();
        let (Some(&least), Some(&most)) = (wanted.first(), wanted.last()) else { return Ok(None) };
        let is_wanted = |first: u64, last: u64| {
            first <= most
                && last >= least
                && wanted
                    .get(wanted.partition_point(|at| *at < first))
                    .is_some_and(|at| *at <= last)
        };
        let before = self.chunks.partition_point(|(first, _)| *first <= to);
        for &(first, last) in self.chunks[..before].iter().rev() {
            let to = to.min(last);
            let from = self.outside.partition_point(|(seq, ..)| *seq < first);
            let end = self.outside.partition_point(|(seq, ..)| *seq <= to);
            let mut beside = self.outside[from..end.max(from)].iter().rev();
            let beside = beside.find(|(_, first, last)| is_wanted(*first, *last));
            let runs = self.code.chunks.chunk(self.connection, first)?;
            let start = |run: usize| i64::try_from(runs.start[run]).unwrap_or(i64::MAX);
            let writes = |run: &usize| {
                let (addresses, block) = (runs.addresses(*run), runs.block[*run] as usize);
                self.of_blocks.get(block).into_iter().flatten().any(|&(at, size)| {
                    let bytes = u64::from(size).max(1) - 1;
                    let first = addresses.get(at);
                    first.is_some_and(|first| is_wanted(*first, first.saturating_add(bytes)))
                })
            };
            let count =
                runs.start.partition_point(|seq| i64::try_from(*seq).is_ok_and(|s| s <= to));
            let step = (0..count).rev().find(writes).map(|run| {
                // The run ends before the next one.
                if run + 1 < runs.start.len() { (start(run + 1) - 1).min(to) } else { to }
            });
            if let Some(found) = step.max(beside.map(|(seq, ..)| *seq)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_wrote() {
        let mut finder = WriteFinder::new(10);
        for (seq, address, bytes) in [
            (10, 0, 4),
            (11, 60, 8),
            (WINDOW + 10, 640, 1),
            (WINDOW * 5, 0, 1),
            (WINDOW * 10, 6400, 512),
        ] {
            finder.write(seq, address, bytes);
        }
        let windows = [10, WINDOW + 10, WINDOW * 4 + 10];
        let mut found = finder.finish();
        // A state of the processor is saved in one access of many lines.
        let wide = found.split_off(4);
        assert_eq!(wide, (100..108).map(|line| (WINDOW * 9 + 10, line)).collect::<Written>());
        assert_eq!(found, [(windows[0], 0), (windows[0], 1), (windows[1], 10), (windows[2], 0)]);
        let index = WriteIndex(found);
        let last = |to, address| index.last(to, std::iter::once(address));
        assert_eq!(last(WINDOW * 5, 3), Some(WINDOW * 5));
        assert_eq!(last(WINDOW * 9, 3), Some(WINDOW * 5 + 9));
        assert_eq!(last(WINDOW * 4, 3), Some(WINDOW + 9));
        assert_eq!(last(WINDOW * 4, 64), Some(WINDOW + 9));
        assert_eq!(last(WINDOW * 4, 650), Some(WINDOW * 2 + 9));
        assert_eq!(last(WINDOW * 4, 128), None);
    }
}
