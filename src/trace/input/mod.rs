//! Files, pipes and compressed files as chunks that end at line ends.
//!
//! A plain file is mapped into memory and its chunks are not copied; a pipe or a compressed file
//! (gzip, bzip2, xz, zstd, seen by content, several members one after the other included) becomes
//! chunks of its own memory, decompressed in a thread beside the reader's. A damaged or truncated
//! compressed file gives all that could be read of it, then an error with the position in the
//! decompressed data. A mapped file must not be shortened while it is read: the system then ends the
//! process by SIGBUS, of which the command line makes a message; [`Witness`] sees other changes.

mod chunks;
mod locator;
mod stream;
mod witness;

pub use chunks::{Chunk, Chunks};
pub use locator::{Locator, Place};
pub use stream::HEAD;
pub use witness::Witness;

use super::error::TraceError;
use chunks::Cut;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use stream::{Compression, Patient, Stream, standard_input};

/// Bytes at either end of a file that [`Input::fingerprint`] sees.
const FINGERPRINT: usize = 1 << 20;

/// A trace file before its format is known.
pub struct Input {
    name: String,
    size: Option<u64>,
    fingerprint: Option<u64>,
    witness: Option<Witness>,
    source: Source,
}

enum Source {
    Mapped(Arc<Mmap>),
    Stream(Stream),
}

impl Input {
    /// Opens a trace; `-` is standard input. Errors: what the system says, directories, empty
    /// files, and compressed files of which not one byte can be read.
    pub fn open(path: &Path) -> Result<Input, TraceError> {
        if path.as_os_str() == "-" {
            return Input::from_reader("<stdin>", Box::new(Patient::new(standard_input())));
        }
        let name = path.display().to_string();
        let failed = |source| TraceError::Io { name: name.clone(), source };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::new(
                io::ErrorKind::IsADirectory,
                "is a directory; give the trace files in it",
            )));
        }
        if !metadata.is_file() {
            return Input::from_reader(&name, Box::new(Patient::new(file)));
        }
        if metadata.len() == 0 {
            return Err(TraceError::Empty { name });
        }
        // SAFETY: the map is only read; that nobody shortens the file meanwhile is said in the
        // module's documentation.
        let map = match unsafe { Mmap::map(&file) } {
            Ok(map) => map,
            // Files that cannot be mapped (some of /proc and of network file systems) can be read.
            Err(_) => return Input::from_reader(&name, Box::new(file)),
        };
        let witness = file.try_clone().and_then(|file| Witness::new(&name, file)).ok();
        let size = Some(map.len() as u64);
        let fingerprint = Some(fingerprint(&map));
        let source = match Compression::of(&map) {
            None => {
                let _ = map.advise(memmap2::Advice::Sequential);
                Source::Mapped(Arc::new(map))
            }
            Some(compression) => {
                Source::Stream(Stream::open(&name, Box::new(file), Some(compression))?)
            }
        };
        Ok(Input { name, size, fingerprint, witness, source })
    }

    /// An input from any source of bytes, which may be compressed.
    pub fn from_reader(name: &str, mut reader: Box<dyn Read + Send>) -> Result<Input, TraceError> {
        let mut magic = Vec::new();
        let failed = |source| TraceError::Io { name: name.to_string(), source };
        (&mut reader).take(6).read_to_end(&mut magic).map_err(failed)?;
        if magic.is_empty() {
            return Err(TraceError::Empty { name: name.to_string() });
        }
        let compression = Compression::of(&magic);
        let stream =
            Stream::open(name, Box::new(io::Cursor::new(magic).chain(reader)), compression)?;
        Ok(Input {
            name: name.to_string(),
            size: None,
            fingerprint: None,
            witness: None,
            source: Source::Stream(stream),
        })
    }

    /// An input from memory, for tests and fuzzing.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Input, TraceError> {
        Input::from_reader(name, Box::new(io::Cursor::new(bytes.to_vec())))
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes after decompression, up to 64 KiB.
    pub fn head(&self) -> &[u8] {
        match &self.source {
            Source::Mapped(map) => &map[..map.len().min(HEAD)],
            Source::Stream(stream) => stream.head(),
        }
    }

    /// Whether [`Input::whole`] needs no memory for it: a plain file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.source, Source::Mapped(_))
    }

    /// Size of the file in bytes, compressed as it is; None for a pipe.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// 64-bit FNV-1a hash of the file's length (8 bytes, little end first), its first MiB and its
    /// last MiB (whole if it has no more than two), compressed as it is: tells files apart, proves
    /// nothing. None for a pipe.
    pub fn fingerprint(&self) -> Option<u64> {
        self.fingerprint
    }

    /// What tells afterwards whether the file changed; None for a pipe, and the second time.
    pub fn witness(&mut self) -> Option<Witness> {
        self.witness.take()
    }

    /// Turns byte offsets of this input into positions for messages.
    pub fn locator(&self) -> Locator {
        let map = match &self.source {
            Source::Mapped(map) => Some(map.clone()),
            Source::Stream(_) => None,
        };
        Locator::new(self.name.clone(), map)
    }

    /// Cuts the input into chunks of about `target` bytes with lines left whole: every chunk but
    /// the last ends with a newline. A line longer than `target` makes a longer chunk, one longer
    /// than [`LONGEST_LINE`] an error.
    pub fn chunks(self, target: usize) -> Chunks {
        self.cut(target.max(1), Cut::Lines)
    }

    /// Cuts the input into blocks of exactly `size` bytes but the last, for binary formats.
    pub fn blocks(self, size: usize) -> Chunks {
        self.cut(size.max(1), Cut::Bytes)
    }

    /// The whole input as one chunk and, behind a damaged compressed one, the error that ended it;
    /// Malformed if it is longer than `limit` bytes.
    pub fn whole(self, limit: usize) -> Result<(Chunk, Option<TraceError>), TraceError> {
        let too_long = |name: &str| {
            TraceError::Malformed {
            name: name.to_string(),
            position: format!("byte {limit}"),
            message: format!("longer than {limit} bytes, the limit for this format"),
            remedy: "record a shorter run; a plain file needs less memory than a compressed one or a pipe".into(),
        }
        };
        match self.source {
            Source::Mapped(map) if map.len() > limit => Err(too_long(&self.name)),
            Source::Mapped(map) => Ok((Chunk::of_map(&map, 0..map.len()), None)),
            Source::Stream(mut stream) => {
                let mut bytes = Vec::new();
                let error = stream
                    .fill(&mut bytes, limit.saturating_add(1))
                    .err()
                    .map(|e| stream.damage(&self.name, e));
                if bytes.len() > limit {
                    return Err(too_long(&self.name));
                }
                Ok((Chunk::of_stream(&stream, 0, bytes), error))
            }
        }
    }

    fn cut(self, target: usize, cut: Cut) -> Chunks {
        match self.source {
            Source::Mapped(map) => chunks::of_map(self.name, map, target, cut),
            Source::Stream(stream) => chunks::of_stream(self.name, stream, target, cut),
        }
    }
}

fn fingerprint(file: &[u8]) -> u64 {
    let first = &file[..file.len().min(FINGERPRINT)];
    let last = &file[file.len().saturating_sub(FINGERPRINT).max(first.len())..];
    let length = (file.len() as u64).to_le_bytes();
    length.iter().chain(first).chain(last).fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
