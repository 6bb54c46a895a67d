//! An input in pieces: of a mapped file without a copy, of a stream in memory of their own.

use super::stream::Stream;
use crate::trace::error::TraceError;
use memmap2::Mmap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc;

/// Bytes of a line at most; a longer one ends the reading with an error.
pub const LONGEST_LINE: usize = 64 << 20;
/// Bytes of a mapped file that are given back to the system at a time, once reading is as many
/// bytes ahead.
const DROP: usize = 8 << 20;

/// A piece of the input; ends at a line end except the last. `Deref`s to its bytes.
pub struct Chunk {
    /// Byte offset in the (decompressed) input.
    pub offset: u64,
    /// Bytes of the file, compressed as it is, that were consumed up to the end of this chunk.
    pub consumed: u64,
    bytes: Bytes,
}

enum Bytes {
    Mapped(Arc<Mmap>, Range<usize>),
    Owned(Vec<u8>),
}

impl Chunk {
    /// Bytes of a mapped file.
    pub(super) fn of_map(map: &Arc<Mmap>, range: Range<usize>) -> Chunk {
        Chunk {
            offset: range.start as u64,
            consumed: range.end as u64,
            bytes: Bytes::Mapped(map.clone(), range),
        }
    }

    /// What was read of a stream up to now.
    pub(super) fn of_stream(stream: &Stream, offset: u64, bytes: Vec<u8>) -> Chunk {
        Chunk { offset, consumed: stream.consumed(), bytes: Bytes::Owned(bytes) }
    }
}

impl std::ops::Deref for Chunk {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map, range) => &map[range.clone()],
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// The chunks of an input, in order; ends after the first error.
pub type Chunks = Box<dyn Iterator<Item = Result<Chunk, TraceError>> + Send>;

/// Where an input may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// At line ends.
    Lines,
    /// After exactly so many bytes as are asked for.
    Bytes,
}

pub(super) fn of_map(name: String, map: Arc<Mmap>, target: usize, cut: Cut) -> Chunks {
    Box::new(MappedChunks { name, map, target, cut, at: 0, dropped: 0 })
}

pub(super) fn of_stream(name: String, stream: Stream, target: usize, cut: Cut) -> Chunks {
    let compressed = stream.compressed();
    let chunks =
        StreamChunks { name, stream, target, cut, carry: Vec::new(), offset: 0, end: None };
    if !compressed {
        return Box::new(chunks);
    }
    // Decompressing takes about as long as parsing: let it run beside. Two chunks ahead are enough.
    let (sender, receiver) = mpsc::sync_channel(2);
    let (unread, name) = (sender.clone(), chunks.name.clone());
    let beside = std::thread::Builder::new().spawn(move || {
        for chunk in chunks {
            if sender.send(chunk).is_err() {
                break;
            }
        }
    });
    if let Err(source) = beside {
        // There is room for it: nothing was sent.
        let _ = unread.send(Err(TraceError::Io { name, source }));
    }
    drop(unread);
    Box::new(receiver.into_iter())
}

struct MappedChunks {
    name: String,
    map: Arc<Mmap>,
    target: usize,
    cut: Cut,
    at: usize,
    /// Bytes whose pages were given back.
    dropped: usize,
}

impl Iterator for MappedChunks {
    type Item = Result<Chunk, TraceError>;
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let rest = &self.map[start..];
        if rest.is_empty() {
            return None;
        }
        let length = if self.cut == Cut::Bytes || rest.len() <= self.target {
            rest.len().min(self.target)
        } else if let Some(newline) = memchr::memrchr(b'\n', &rest[..self.target]) {
            newline + 1
        } else {
            let longest = rest.len().min(LONGEST_LINE.max(self.target));
            match memchr::memchr(b'\n', &rest[self.target..longest]) {
                Some(newline) => self.target + newline + 1,
                None if longest == rest.len() => longest,
                None => {
                    self.at = self.map.len();
                    return Some(Err(endless_line(&self.name, start as u64)));
                }
            }
        };
        self.at = start + length;
        // Pages far behind are read again from the file if somebody still wants them; until then
        // they need not be resident.
        #[cfg(unix)]
        if self.at >= self.dropped + 2 * DROP {
            // SAFETY: the mapping is of a file and only read, so dropped pages come back with the
            // same contents.
            let _ = unsafe {
                self.map.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    self.dropped,
                    DROP,
                )
            };
            self.dropped += DROP;
        }
        Some(Ok(Chunk::of_map(&self.map, start..self.at)))
    }
}

struct StreamChunks {
    name: String,
    stream: Stream,
    target: usize,
    cut: Cut,
    /// Bytes behind the last line end of the chunk before.
    carry: Vec<u8>,
    offset: u64,
    /// Nothing more can be read: the error to end with, if any.
    end: Option<Option<TraceError>>,
}

impl Iterator for StreamChunks {
    type Item = Result<Chunk, TraceError>;
    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = std::mem::take(&mut self.carry);
        // Where the search for a line end may begin: the bytes before have none.
        let mut searched = 0;
        while self.end.is_none() {
            // A line longer than the target: as much again.
            let missing =
                if bytes.len() < self.target { self.target - bytes.len() } else { bytes.len() };
            let before = bytes.len();
            if let Err(error) = self.stream.fill(&mut bytes, missing) {
                self.end = Some(Some(self.stream.damage(&self.name, error)));
            } else if bytes.len() - before < missing {
                self.end = Some(None);
            }
            if self.end.is_some() {
                break;
            }
            if self.cut == Cut::Bytes {
                return Some(Ok(self.chunk(bytes)));
            }
            if let Some(newline) = memchr::memrchr(b'\n', &bytes[searched..]) {
                let cut = searched + newline + 1;
                self.carry.extend_from_slice(&bytes[cut..]);
                bytes.truncate(cut);
                return Some(Ok(self.chunk(bytes)));
            }
            searched = bytes.len();
            if bytes.len() >= LONGEST_LINE.max(self.target) {
                self.end = Some(None);
                return Some(Err(endless_line(&self.name, self.offset)));
            }
        }
        if !bytes.is_empty() {
            return Some(Ok(self.chunk(bytes)));
        }
        self.end.as_mut()?.take().map(Err)
    }
}

impl StreamChunks {
    fn chunk(&mut self, bytes: Vec<u8>) -> Chunk {
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Chunk::of_stream(&self.stream, offset, bytes)
    }
}

fn endless_line(name: &str, offset: u64) -> TraceError {
    TraceError::Malformed {
        name: name.to_string(),
        position: format!("byte {offset}"),
        message: format!("a line of more than {} MiB", LONGEST_LINE >> 20),
        remedy: "this is not a text log; --format NAME forces a format".into(),
    }
}
