//! Files, pipes and compressed files as chunks that end at line ends.
use super::TraceError;
use std::path::Path;

/// A trace file before its format is known.
pub struct Input {}

/// A piece of the input; ends at a line end except the last.
pub struct Chunk {
    /// Byte offset in the (decompressed) input.
    pub offset: u64,
}

impl std::ops::Deref for Chunk {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        todo!()
    }
}

impl Input {
    /// `-` is standard input; gzip, bzip2, xz and zstd are seen by content.
    pub fn open(_path: &Path) -> Result<Input, TraceError> {
        todo!()
    }
    /// The name for messages.
    pub fn name(&self) -> &str {
        todo!()
    }
    /// The first bytes after decompression, up to 64 KiB.
    pub fn head(&self) -> &[u8] {
        todo!()
    }
    /// Size of the file in bytes, compressed as it is; None for a pipe.
    pub fn size(&self) -> Option<u64> {
        todo!()
    }
    /// Cuts the input into chunks of about `target` bytes (binary: exactly `target` but the last), lines left whole.
    pub fn chunks(self, _target: usize) -> Box<dyn Iterator<Item = Result<Chunk, TraceError>> + Send> {
        todo!()
    }
}
