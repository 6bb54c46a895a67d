//! Values of a thread's registers.

use crate::event::RegSpan;

/// Register values with a mask of the bytes that are known.
pub struct RegisterValues {
    bytes: Vec<u8>,
    known: Vec<u8>,
    size: usize,
}

/// Bytes of the values that are read and written at once.
const WORD: usize = 8;

impl RegisterValues {
    /// Nothing known of `size` bytes.
    pub fn new(size: usize) -> RegisterValues {
        // A word more, so that every span can be read as one.
        RegisterValues { bytes: vec![0; size + WORD], known: vec![0; size + WORD], size }
    }

    fn word(bytes: &[u8], offset: usize) -> u64 {
        bytes
            .get(offset..offset + WORD)
            .and_then(|b| b.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    }

    /// The value of at most 8 bytes, None if not all are known.
    #[inline]
    pub fn get(&self, span: RegSpan) -> Option<u64> {
        if span.size == 0 || span.size > 8 {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(span.size));
        let known = Self::word(&self.known, span.offset.into());
        (known & mask == mask).then(|| Self::word(&self.bytes, span.offset.into()) & mask)
    }

    /// The bytes are not known any more.
    pub fn forget(&mut self, span: RegSpan) {
        let end = (usize::from(span.offset) + usize::from(span.size)).min(self.size);
        if let Some(known) = self.known.get_mut(usize::from(span.offset)..end) {
            known.fill(0);
        }
    }

    /// Sets up to 8 bytes; spans outside of the file change nothing.
    #[inline]
    pub fn set(&mut self, span: RegSpan, value: u64) {
        let (offset, size) = (usize::from(span.offset), span.size.min(8));
        if size == 0 || offset + usize::from(size) > self.size {
            return;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        let bytes = Self::word(&self.bytes, offset) & !mask | value & mask;
        let known = Self::word(&self.known, offset) | mask;
        self.bytes[offset..offset + WORD].copy_from_slice(&bytes.to_le_bytes());
        self.known[offset..offset + WORD].copy_from_slice(&known.to_le_bytes());
    }
}
