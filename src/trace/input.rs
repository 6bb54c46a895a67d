//! Files, pipes and compressed files as chunks that end at line ends.
//!
//! A plain file is mapped into memory and its chunks are not copied; a pipe or a compressed file
//! (gzip, bzip2, xz, zstd, seen by content, several members one after the other included) becomes
//! chunks of its own memory, decompressed in a thread beside the reader's. A damaged or truncated
//! compressed file gives all that could be read of it, then an error with the position in the
//! decompressed data. A mapped file must not be shortened while it is read.

use super::TraceError;
use crate::diagnostics::{Diagnostic, Severity};
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Bytes of [`Input::head`] at most.
pub const HEAD: usize = 64 << 10;
/// Bytes of a line at most; a longer one ends the reading with an error.
pub const LONGEST_LINE: usize = 64 << 20;
/// Bytes of a mapped file that are given back to the system at a time, once reading is as many
/// bytes ahead.
const DROP: usize = 8 << 20;
/// Bytes at either end of a file that [`Input::fingerprint`] sees.
const FINGERPRINT: usize = 1 << 20;

/// A trace file before its format is known.
pub struct Input {
    name: String,
    size: Option<u64>,
    fingerprint: Option<u64>,
    source: Source,
}

enum Source {
    Mapped(Arc<Mmap>),
    Stream(Stream),
}

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
        Ok(Input { name, size, fingerprint, source })
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
            Source::Stream(stream) => &stream.head,
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

    /// Turns byte offsets of this input into positions for messages.
    pub fn locator(&self) -> Locator {
        let map = match &self.source {
            Source::Mapped(map) => Some(map.clone()),
            Source::Stream(_) => None,
        };
        Locator { name: self.name.clone(), map, last: Arc::new(Mutex::new((0, 1))) }
    }

    /// Cuts the input into chunks of about `target` bytes with lines left whole: every chunk but
    /// the last ends with a newline. A line longer than `target` makes a longer chunk, one longer
    /// than [`LONGEST_LINE`] an error.
    pub fn chunks(self, target: usize) -> Chunks {
        self.cut(target.max(1), true)
    }

    /// Cuts the input into blocks of exactly `size` bytes but the last, for binary formats.
    pub fn blocks(self, size: usize) -> Chunks {
        self.cut(size.max(1), false)
    }

    /// The whole input as one chunk and, behind a damaged compressed one, the error that ended it;
    /// Malformed if it is longer than `limit` bytes.
    pub fn whole(self, limit: usize) -> Result<(Chunk, Option<TraceError>), TraceError> {
        let too_long = |name: &str| TraceError::Malformed {
            name: name.to_string(),
            position: format!("byte {limit}"),
            message: format!("longer than {limit} bytes, the limit for this format"),
            remedy: "record a shorter run".into(),
        };
        match self.source {
            Source::Mapped(map) if map.len() > limit => Err(too_long(&self.name)),
            Source::Mapped(map) => {
                let range = 0..map.len();
                Ok((
                    Chunk {
                        offset: 0,
                        consumed: map.len() as u64,
                        bytes: Bytes::Mapped(map, range),
                    },
                    None,
                ))
            }
            Source::Stream(mut stream) => {
                let mut bytes = Vec::new();
                let error = stream
                    .fill(&mut bytes, limit.saturating_add(1))
                    .err()
                    .map(|e| stream.damage(&self.name, e));
                if bytes.len() > limit {
                    return Err(too_long(&self.name));
                }
                let consumed = stream.consumed.load(Ordering::Relaxed);
                Ok((Chunk { offset: 0, consumed, bytes: Bytes::Owned(bytes) }, error))
            }
        }
    }

    fn cut(self, target: usize, lines: bool) -> Chunks {
        match self.source {
            Source::Mapped(map) => {
                Box::new(MappedChunks { name: self.name, map, target, lines, at: 0, dropped: 0 })
            }
            Source::Stream(stream) => {
                let compressed = stream.compressed;
                let chunks = StreamChunks {
                    name: self.name,
                    stream,
                    target,
                    lines,
                    carry: Vec::new(),
                    offset: 0,
                    end: None,
                };
                if !compressed {
                    return Box::new(chunks);
                }
                // Decompressing takes about as long as parsing: let it run beside. Two chunks ahead
                // are enough.
                let (sender, receiver) = mpsc::sync_channel(2);
                std::thread::spawn(move || {
                    for chunk in chunks {
                        if sender.send(chunk).is_err() {
                            break;
                        }
                    }
                });
                Box::new(receiver.into_iter())
            }
        }
    }
}

/// Turns byte offsets into positions for messages: `name:line` where the input can be read again,
/// else `name: byte N`.
#[derive(Clone, Default)]
pub struct Locator {
    name: String,
    map: Option<Arc<Mmap>>,
    /// An offset and its line, so that many ascending positions cost one pass in all.
    last: Arc<Mutex<(usize, u64)>>,
}

impl Locator {
    /// Line of the byte at `offset`, from 1; None where the input cannot be read again.
    pub fn line(&self, offset: u64) -> Option<u64> {
        let map = self.map.as_ref()?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(map.len());
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if offset < last.0 {
            *last = (0, 1);
        }
        last.1 += memchr::memchr_iter(b'\n', &map[last.0..offset]).count() as u64;
        last.0 = offset;
        Some(last.1)
    }

    pub fn at(&self, offset: u64) -> String {
        match self.line(offset) {
            Some(line) => format!("{}:{line}", self.name),
            None => format!("{}: byte {offset}", self.name),
        }
    }
}

impl TraceError {
    /// For an error that [`Input::chunks`] gave after good chunks: the diagnostic that says what
    /// was lost, so that the reader can keep what it has. Errors that are no damage of the input
    /// come back.
    pub fn into_damage(self) -> Result<Diagnostic, TraceError> {
        let (message, position) = match self {
            TraceError::Malformed { name, position, message, .. } => {
                (format!("{message}; what follows was lost"), format!("{name}: {position}"))
            }
            TraceError::Io { name, source } => (format!("{source}; what follows was lost"), name),
            other => return Err(other),
        };
        let remedy = "copy or record the file again; what was read up to here is in the database";
        Ok(Diagnostic {
            severity: Severity::Error,
            code: "damaged-input",
            message,
            position,
            remedy,
        })
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compression {
    fn of(magic: &[u8]) -> Option<Compression> {
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

struct Stream {
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
struct Patient<R> {
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
    fn new(reader: R) -> Patient<R> {
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
fn standard_input() -> Box<dyn Read + Send> {
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
    fn open(
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
    fn fill(&mut self, buffer: &mut Vec<u8>, count: usize) -> io::Result<()> {
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
                buffer.reserve(left);
                (&mut self.reader).take(left as u64).read_to_end(buffer)
            }
        };
        self.given += (buffer.len() - before) as u64;
        result.map(|_| ())
    }

    /// The error for a read that failed after `given` bytes.
    fn damage(&self, name: &str, error: io::Error) -> TraceError {
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

struct MappedChunks {
    name: String,
    map: Arc<Mmap>,
    target: usize,
    lines: bool,
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
        let length = if !self.lines || rest.len() <= self.target {
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
        let bytes = Bytes::Mapped(self.map.clone(), start..self.at);
        Some(Ok(Chunk { offset: start as u64, consumed: self.at as u64, bytes }))
    }
}

struct StreamChunks {
    name: String,
    stream: Stream,
    target: usize,
    lines: bool,
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
            if !self.lines {
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
        Chunk {
            offset,
            consumed: self.stream.consumed.load(Ordering::Relaxed),
            bytes: Bytes::Owned(bytes),
        }
    }
}

fn endless_line(name: &str, offset: u64) -> TraceError {
    TraceError::Malformed {
        name: name.to_string(),
        position: format!("byte {offset}"),
        message: format!("a line of more than {} MiB", LONGEST_LINE >> 20),
        remedy: "this is no text log; --format NAME forces a format".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(lines: usize) -> Vec<u8> {
        (0..lines).flat_map(|n| format!("line {n} {}\n", "x".repeat(n % 50)).into_bytes()).collect()
    }

    fn gather(chunks: Chunks) -> (Vec<Vec<u8>>, Option<TraceError>) {
        let mut good = Vec::new();
        let mut offset = 0;
        for chunk in chunks {
            match chunk {
                Ok(chunk) => {
                    assert_eq!(chunk.offset, offset);
                    offset += chunk.len() as u64;
                    good.push(chunk.to_vec());
                }
                Err(error) => return (good, Some(error)),
            }
        }
        (good, None)
    }

    fn compress(kind: Compression, bytes: &[u8]) -> Vec<u8> {
        match kind {
            Compression::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Bzip2 => {
                let mut encoder =
                    bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => zstd::stream::encode_all(bytes, 1).unwrap(),
        }
    }

    /// A file in the temporary folder that goes when dropped.
    struct Temporary(std::path::PathBuf);
    impl Temporary {
        fn new(name: &str, bytes: &[u8]) -> Temporary {
            let path =
                std::env::temp_dir().join(format!("addfg-input-{}-{name}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            Temporary(path)
        }
    }
    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    const ALL: [Compression; 4] =
        [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd];

    #[test]
    fn mapped_and_streamed_chunks_are_the_same_and_end_at_line_ends() {
        let bytes = text(3000);
        let file = Temporary::new("plain", &bytes);
        for target in [1, 10, 64, 1000, 65536, 1 << 22] {
            let mapped = gather(Input::open(&file.0).unwrap().chunks(target)).0;
            let streamed = gather(Input::from_bytes("s", &bytes).unwrap().chunks(target)).0;
            assert_eq!(mapped.concat(), bytes, "target {target}");
            assert_eq!(streamed.concat(), bytes, "target {target}");
            for chunk in mapped.iter().chain(&streamed) {
                assert_eq!(chunk.last(), Some(&b'\n'));
                assert!(chunk.len() <= target.max(60) * 2);
            }
        }
        let blocks = gather(Input::open(&file.0).unwrap().blocks(1000)).0;
        assert!(blocks[..blocks.len() - 1].iter().all(|block| block.len() == 1000));
        assert_eq!(gather(Input::from_bytes("s", &bytes).unwrap().blocks(1000)).0, blocks);
    }

    #[test]
    fn every_compression_is_seen_by_content_also_in_several_members() {
        let bytes = text(20_000);
        for kind in ALL {
            let mut packed = compress(kind, &bytes[..300_000]);
            packed.extend(compress(kind, &bytes[300_000..]));
            let file = Temporary::new(&format!("{kind:?}"), &packed);
            let input = Input::open(&file.0).unwrap();
            assert_eq!(input.size(), Some(packed.len() as u64));
            assert_eq!(input.head(), &bytes[..HEAD]);
            let (good, error) = gather(input.chunks(10_000));
            assert!(error.is_none(), "{kind:?} {error:?}");
            assert!(good.concat() == bytes, "{kind:?}");
            let (whole, error) = Input::from_bytes("s", &packed).unwrap().whole(1 << 24).unwrap();
            assert!(error.is_none() && whole[..] == bytes[..]);
        }
    }

    #[test]
    fn a_truncated_compressed_file_gives_what_it_has_then_the_place() {
        let bytes = text(200_000);
        for kind in ALL {
            let packed = compress(kind, &bytes);
            let (good, error) = gather(
                Input::from_bytes("s", &packed[..packed.len() * 3 / 4]).unwrap().chunks(10_000),
            );
            let good = good.concat();
            assert!(!good.is_empty() && bytes.starts_with(&good), "{kind:?}");
            match error {
                Some(TraceError::Malformed { position, .. }) => {
                    assert_eq!(
                        position,
                        format!("byte {} after decompression", good.len()),
                        "{kind:?}"
                    );
                }
                other => panic!("{kind:?}: {other:?}"),
            }
            // So little that even the head is not whole.
            let few = compress(kind, &bytes[..1000]);
            if let Ok(input) = Input::from_bytes("s", &few[..few.len() - 3]) {
                let (good, error) = gather(input.chunks(100));
                assert!(bytes.starts_with(&good.concat()) && error.is_some(), "{kind:?}");
            }
        }
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_name() {
        let empty = Temporary::new("empty", b"");
        assert!(matches!(Input::open(&empty.0), Err(TraceError::Empty { .. })));
        assert!(matches!(Input::from_bytes("s", b""), Err(TraceError::Empty { .. })));
        assert!(matches!(
            Input::from_bytes("s", &compress(Compression::Gzip, b"")),
            Err(TraceError::Empty { .. })
        ));
        // With its cause, as the command line prints it.
        let message =
            |path: &Path| format!("{:#}", anyhow::Error::new(Input::open(path).err().unwrap()));
        assert!(message(&std::env::temp_dir()).contains("is a directory"));
        assert!(message(Path::new("does/not/exist")).starts_with("cannot read does/not/exist: "));
    }

    #[test]
    fn a_line_without_end_is_an_error_and_not_memory() {
        struct Endless;
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'x');
                Ok(buffer.len())
            }
        }
        let input = Input::from_reader("s", Box::new(Endless)).unwrap();
        let (good, error) = gather(input.chunks(1 << 20));
        assert!(good.is_empty());
        assert!(matches!(error, Some(TraceError::Malformed { .. })));
    }

    #[test]
    fn positions_are_lines_where_the_file_can_be_read_again() {
        let file = Temporary::new("lines", b"a\nbb\nccc\n");
        let locator = Input::open(&file.0).unwrap().locator();
        assert_eq!(
            [0, 1, 2, 5, 3, 100].map(|offset| locator.line(offset).unwrap()),
            [1, 1, 2, 3, 2, 4]
        );
        assert!(locator.at(5).ends_with(":3"));
        assert_eq!(Input::from_bytes("s", b"a\nb").unwrap().locator().at(2), "s: byte 2");
    }
}
