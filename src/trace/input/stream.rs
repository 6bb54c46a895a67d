//! Pipes and compressed files as a stream of bytes.

use crate::trace::error::TraceError;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of [`super::Input::head`] at most.
pub const HEAD: usize = 64 << 10;

/// Bytes that room is made for before they are read.
const LARGEST_PIECE: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compression {
    pub(super) fn of(magic: &[u8]) -> Option<Compression> {
        match magic {
            [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Compression::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // The second is a skippable frame, with which pzstd begins.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(Compression::Zstd)
            }
            _ => None,
        }
    }
}

pub(super) struct Stream {
    /// What was read ahead and not yet been taken: the head, until the first chunk.
    head: Vec<u8>,
    /// The error that came while the head was read.
    pending: Option<io::Error>,
    reader: Box<dyn Read + Send>,
    compressed: bool,
    consumed: Arc<AtomicU64>,
    /// Decompressed bytes given so far.
    given: u64,
}

/// Reads a pipe in few pieces.
///
/// A recorder may write a line at a time (valgrind does). A reader that waits for each is woken by
/// each, which costs the recorder more than the writing; so after a piece of a few lines the pipe
/// is given time to fill.
pub(super) struct Patient<R> {
    reader: R,
    /// The last piece was a small one.
    hasty: bool,
}

/// Bytes of a small piece at most: programs that write blocks write larger ones.
const SMALL: usize = 4095;
/// In this time a recorder writes less than the 64 KiB that a pipe holds, unless it is faster than
/// it could be with small pieces.
const PATIENCE: Duration = Duration::from_micros(500);

impl<R: Read> Patient<R> {
    pub(super) fn new(reader: R) -> Patient<R> {
        Patient { reader, hasty: false }
    }
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.hasty {
            std::thread::sleep(PATIENCE);
        }
        let read = self.reader.read(buffer)?;
        self.hasty = read <= SMALL && read < buffer.len();
        Ok(read)
    }
}

/// Standard input without the buffer that the library puts before it.
pub(super) fn standard_input() -> Box<dyn Read + Send> {
    #[cfg(unix)]
    if let Ok(descriptor) = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned() {
        return Box::new(File::from(descriptor));
    }
    Box::new(io::stdin())
}

struct Counting {
    reader: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Stream {
    pub(super) fn open(
        name: &str,
        reader: Box<dyn Read + Send>,
        compression: Option<Compression>,
    ) -> Result<Stream, TraceError> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counting = Counting { reader, count: consumed.clone() };
        let buffered = |counting| io::BufReader::with_capacity(256 << 10, counting);
        let reader: Box<dyn Read + Send> = match compression {
            None => Box::new(counting),
            Some(Compression::Gzip) => {
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered(counting)))
            }
            Some(Compression::Bzip2) => {
                Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(counting)))
            }
            Some(Compression::Xz) => {
                Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered(counting)))
            }
            Some(Compression::Zstd) => Box::new(
                zstd::stream::read::Decoder::with_buffer(buffered(counting))
                    .map_err(|source| TraceError::Io { name: name.to_string(), source })?,
            ),
        };
        let compressed = compression.is_some();
        let mut stream =
            Stream { head: Vec::new(), pending: None, reader, compressed, consumed, given: 0 };
        let mut head = Vec::new();
        stream.pending = stream.fill(&mut head, HEAD).err();
        if head.is_empty() {
            return Err(match stream.pending.take() {
                Some(error) => stream.damage(name, error),
                None => TraceError::Empty { name: name.to_string() },
            });
        }
        stream.given = 0;
        stream.head = head;
        Ok(stream)
    }

    /// Appends up to `count` bytes; fewer only at the end or with an error, before which all good
    /// bytes are in `buffer`.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, count: usize) -> io::Result<()> {
        let before = buffer.len();
        if !self.head.is_empty() {
            if count < self.head.len() {
                buffer.extend(self.head.drain(..count));
            } else {
                buffer.append(&mut self.head);
            }
        }
        let left = count - (buffer.len() - before);
        let result = match self.pending.take() {
            Some(error) if self.head.is_empty() => Err(error),
            Some(error) => {
                self.pending = Some(error);
                Ok(0)
            }
            None if left == 0 => Ok(0),
            None => {
                // What is asked for may be a limit, and not what is there.
                buffer.reserve(left.min(LARGEST_PIECE));
                (&mut self.reader).take(left as u64).read_to_end(buffer)
            }
        };
        self.given += (buffer.len() - before) as u64;
        result.map(|_| ())
    }

    pub(super) fn compressed(&self) -> bool {
        self.compressed
    }

    /// Bytes of the file that were read up to now.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The error for a read that failed after `given` bytes.
    pub(super) fn damage(&self, name: &str, error: io::Error) -> TraceError {
        if !self.compressed {
            return TraceError::Io { name: name.to_string(), source: error };
        }
        TraceError::Malformed {
            name: name.to_string(),
            position: format!("byte {} after decompression", self.given),
            message: format!("compressed data is truncated or damaged ({error})"),
            remedy: "copy or record the file again".into(),
        }
    }
}
