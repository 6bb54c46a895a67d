//! Flight data recorder logs: where their buffers are.
//!
//! The header is 32 bytes; behind it stand buffers, each the work of one thread. Version 1 gives
//! every buffer the same size and says in the buffer where its records end; later versions begin a
//! buffer with the count of its bytes. Records of 8 bytes are entries and exits, those of 16 bytes
//! tell the rest, user data stands between them. Nothing is aligned.

use super::kind::{EXTENTS, METADATA, NEW_BUFFER, NEW_CPU, PID, TSC_WRAP, WALL_TIME};
use super::problem::{Problem, Problems};
use super::record::{Block, Header, Layout, u32_at, u64_at};
use std::ops::Range;

/// Where the buffers of a log are, from behind its header to the end of the bytes or the header of
/// a log behind it, whose position is given.
pub fn index(
    bytes: &[u8],
    header: &Header,
    file: u32,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) -> usize {
    let mut search = Search { bytes, header, file, blocks, problems };
    if header.version == 1 { search.slots() } else { search.counted() }
}

/// Whether the header of another log of the same recording begins here.
fn is_header(bytes: &[u8], at: usize, header: &Header) -> bool {
    let Some(other) = Header::parse(&bytes[at..]) else { return false };
    let alike = other.fdr && other.big == header.big && (1..=5).contains(&other.version);
    // The first bytes of a version 1 log could be those of a buffer of thread 256: it has more
    // after them that a header lacks.
    alike && other.frequency == header.frequency && !begins_buffer(bytes, at, header.layout)
}

/// Whether a thread's number and the time of day stand here, as at the begin of every buffer.
fn begins_buffer(bytes: &[u8], at: usize, layout: Layout) -> bool {
    bytes.get(at) == Some(&layout.byte(NEW_BUFFER))
        && bytes.get(at + METADATA) == Some(&layout.byte(WALL_TIME))
}

fn begins_counted(bytes: &[u8], at: usize, layout: Layout) -> bool {
    bytes.get(at) == Some(&layout.byte(EXTENTS)) && begins_buffer(bytes, at + METADATA, layout)
}

/// The next place from `from` on where a buffer or another log begins; the end of the bytes if
/// there is none.
fn resume(bytes: &[u8], from: usize, header: &Header) -> usize {
    let layout = header.layout;
    let first = layout.byte(if header.version == 1 { NEW_BUFFER } else { EXTENTS });
    let version = if header.big { 0 } else { header.version as u8 };
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(first, version, rest)) {
        at += found;
        let begins = match header.version {
            1 => {
                begins_buffer(bytes, at, layout)
                    && bytes.get(at + 2 * METADATA) == Some(&layout.byte(NEW_CPU))
            }
            _ => begins_counted(bytes, at, layout),
        };
        if begins || is_header(bytes, at, header) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// The first byte that is not zero.
fn behind_zeros(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|&b| b != 0).map_or(bytes.len(), |n| from + n)
}

/// Whether zeros stand here, up to the end of the bytes or as many as no record has.
fn is_padding(bytes: &[u8], at: usize) -> bool {
    bytes[at..bytes.len().min(at + METADATA)].iter().all(|&b| b == 0)
}

/// A search for the buffers of a log.
struct Search<'a> {
    bytes: &'a [u8],
    header: &'a Header,
    file: u32,
    blocks: &'a mut Vec<Block>,
    problems: &'a mut Problems,
}

impl Search<'_> {
    /// Buffers of version 1: of one size, or, where the header has something else in that field,
    /// one behind the other.
    fn slots(&mut self) -> usize {
        let (bytes, header, file) = (self.bytes, self.header, self.file);
        let start = header.at + Header::SIZE;
        let mut at = start;
        let size = usize::try_from(header.buffer_size).unwrap_or(usize::MAX);
        let second = start.saturating_add(size);
        // The first version of the runtime wrote a time of day into the field.
        let fixed = size >= 3 * METADATA
            && (second == bytes.len()
                || second < bytes.len()
                    && (begins_buffer(bytes, second, header.layout)
                        || is_header(bytes, second, header)));
        while at < bytes.len() {
            if is_header(bytes, at, header) {
                return at;
            }
            if bytes[at] != header.layout.byte(NEW_BUFFER) {
                let next = resume(bytes, at, header);
                if behind_zeros(&bytes[..next], at) < next {
                    self.problems.push(Problem::Skipped { file, at, bytes: next - at });
                }
                at = next;
                continue;
            }
            let end = if fixed {
                at.saturating_add(size).min(bytes.len())
            } else {
                resume(bytes, at + METADATA, header)
            };
            self.buffer(at..end, end == bytes.len());
            at = end;
        }
        at
    }

    /// Buffers with the count of their bytes before them.
    fn counted(&mut self) -> usize {
        let (bytes, header, file) = (self.bytes, self.header, self.file);
        let layout = header.layout;
        let mut at = header.at + Header::SIZE;
        while at < bytes.len() {
            if bytes[at] == layout.byte(EXTENTS) && bytes.len() - at >= METADATA {
                let begin = at + METADATA;
                let count =
                    usize::try_from(u64_at(&bytes[at + 1..], header.big)).unwrap_or(usize::MAX);
                let mut end = begin.saturating_add(count);
                let mut cut = false;
                if end > bytes.len() {
                    // The file ends within the buffer, or the count is damaged and others stand
                    // behind.
                    end = resume(bytes, begin, header);
                    cut = true;
                    self.problems.push(Problem::BufferCut {
                        file,
                        at,
                        lost: (count - (end - begin)) as u64,
                        end: end == bytes.len(),
                    });
                } else if !(end == bytes.len()
                    || begins_counted(bytes, end, layout)
                    || is_padding(bytes, end)
                    || is_header(bytes, end, header))
                {
                    // Nothing that belongs there stands behind the buffer: its count may be too
                    // high or too low.
                    let inner = resume(&bytes[..end], begin, header);
                    if inner < end {
                        self.problems.push(Problem::BufferCut { file, at, lost: 0, end: false });
                        end = inner;
                    }
                }
                self.buffer(begin..end, cut);
                at = end;
            } else if is_header(bytes, at, header) {
                return at;
            } else if is_padding(bytes, at) {
                at = behind_zeros(bytes, at);
            } else if begins_buffer(bytes, at, layout) {
                // A buffer whose count is lost goes up to the next one.
                let end = resume(bytes, at + METADATA, header);
                self.problems.push(Problem::NoExtents { file, at });
                self.buffer(at..end, true);
                at = end;
            } else {
                let next = resume(bytes, at, header);
                self.problems.push(Problem::Skipped { file, at, bytes: next - at });
                at = next;
            }
        }
        at
    }

    /// Notes a buffer with what its first records say.
    fn buffer(&mut self, Range { start, end }: Range<usize>, cut: bool) {
        let (bytes, header, file) = (self.bytes, self.header, self.file);
        if start == end {
            return;
        }
        let layout = header.layout;
        let mut block = Block {
            file,
            start,
            end,
            own: start,
            fork: 0,
            cut,
            version: header.version,
            layout,
            pid: None,
            tid: 0,
            wall: (0, 0),
            tsc: 0,
        };
        let mut tid = None;
        let mut at = start;
        while end - at >= METADATA {
            let record = &bytes[at..at + METADATA];
            match layout.kind(record[0]) {
                Some(NEW_BUFFER) if tid.is_none() => {
                    tid = Some(u32_at(&record[1..], header.big) as i32);
                }
                Some(WALL_TIME) => {
                    block.wall =
                        (u64_at(&record[1..], header.big), u32_at(&record[9..], header.big));
                }
                Some(PID) => block.pid = Some(u32_at(&record[1..], header.big) as i32),
                Some(NEW_CPU) => block.tsc = u64_at(&record[3..], header.big),
                Some(TSC_WRAP) => block.tsc = u64_at(&record[1..], header.big),
                _ => break,
            }
            at += METADATA;
        }
        match tid {
            Some(tid) => {
                block.tid = tid;
                self.blocks.push(block);
            }
            None => self.problems.push(Problem::NoThread { file, at: start, bytes: end - start }),
        }
    }
}
