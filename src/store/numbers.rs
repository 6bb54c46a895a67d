//! Numbers and texts as few bytes, as chunks of the run and the code of the run have them.

/// Room is made for so many items because a list says so.
const BELIEVED: usize = 1 << 16;

/// Why a chunk cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    #[error("damaged chunk of the run: {0}")]
    Damaged(&'static str),
    #[error("chunk of the run: version {0} is not known; a later addfg made it")]
    Version(u64),
    #[error("chunk of the run: {0}")]
    Packed(#[from] std::io::Error),
}

pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Small numbers of either sign, and differences that wrap, are few bytes.
pub fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

pub fn unzigzag(packed: u64) -> u64 {
    (packed >> 1) ^ (packed & 1).wrapping_neg()
}

/// A text with its length before it.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Something that may be missing, with a flag before it.
pub fn put_option<T>(out: &mut Vec<u8>, of: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(u8::from(of.is_some()));
    if let Some(of) = of {
        write(out, of);
    }
}

/// A list with its length before it.
pub fn put_list<T>(out: &mut Vec<u8>, list: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    put(out, list.len() as u64);
    list.iter().for_each(|item| write(out, item));
}

/// Reads the numbers of a section.
pub struct Section<'a>(pub &'a [u8]);

impl<'a> Section<'a> {
    #[inline]
    pub fn byte(&mut self) -> Result<u8, ChunkError> {
        let (&first, rest) =
            self.0.split_first().ok_or(ChunkError::Damaged("a column ends early"))?;
        self.0 = rest;
        Ok(first)
    }

    #[inline]
    pub fn number(&mut self) -> Result<u64, ChunkError> {
        // Most are of one byte.
        let first = self.byte()?;
        if first < 0x80 { Ok(first.into()) } else { self.longer(first) }
    }

    #[inline(never)]
    fn longer(&mut self, first: u8) -> Result<u64, ChunkError> {
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(ChunkError::Damaged("a number is too long"))
    }

    pub fn count(&mut self) -> Result<usize, ChunkError> {
        usize::try_from(self.number()?).map_err(|_| ChunkError::Damaged("a count is too large"))
    }

    pub fn id(&mut self) -> Result<u32, ChunkError> {
        u32::try_from(self.number()?).map_err(|_| ChunkError::Damaged("an id is too large"))
    }

    /// As many bytes as the number before them says.
    pub fn bytes(&mut self) -> Result<&'a [u8], ChunkError> {
        let size = self.count()?;
        let (bytes, rest) =
            self.0.split_at_checked(size).ok_or(ChunkError::Damaged("a text is missing"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub fn text(&mut self) -> Result<Box<str>, ChunkError> {
        let text = std::str::from_utf8(self.bytes()?);
        text.map(Box::from).map_err(|_| ChunkError::Damaged("a text is not UTF-8"))
    }

    pub fn flag(&mut self) -> Result<bool, ChunkError> {
        Ok(self.byte()? != 0)
    }

    /// Something that may be missing, with a flag before it.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ChunkError>,
    ) -> Result<Option<T>, ChunkError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// A list with its length before it. Each item takes a byte at least.
    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, ChunkError>,
    ) -> Result<Vec<T>, ChunkError> {
        let count = self.count()?;
        if count > self.0.len() {
            return Err(ChunkError::Damaged("a list is longer than its bytes"));
        }
        // What a damaged list claims is not believed.
        let mut list = Vec::with_capacity(count.min(BELIEVED));
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }
}
