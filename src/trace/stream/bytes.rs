//! Numbers as a stream has them.

/// What is not as the format has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    #[error("a piece ends within a record")]
    Short,
    #[error("a number of more than 64 bits")]
    Long,
    #[error("{0}, where numbers have 32 bits")]
    Wide(u64),
    #[error("an unknown definition")]
    Definition,
    #[error("a definition that refers to none before it")]
    Reference,
    #[error("an instruction of {0} bytes")]
    Instruction(u64),
    #[error("an access of {0} bytes")]
    Access(u64),
    #[error("thread {0}: numbers of threads count from 1 and are never used again")]
    Thread(u32),
    #[error("process {0}: no system has such a number")]
    Process(u64),
    #[error("a run of path {0}, which is not defined")]
    Path(u64),
    #[error("values that are not those of the runs before them")]
    Values,
    #[error("an unknown word in an event")]
    Word,
    #[error("a run whose path is to be known from the one before, and is not")]
    Unpredicted,
}

/// Adds a number: LEB128.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A difference as a number whose lowest bit is the sign.
pub fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Adds 0 for nothing, else 1 and what there is.
pub fn put_option<T>(out: &mut Vec<u8>, value: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(value.is_some().into());
    if let Some(value) = value {
        put(out, value);
    }
}

/// Bytes that are read from the front.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Bad> {
        let (&first, rest) = self.0.split_first().ok_or(Bad::Short)?;
        self.0 = rest;
        Ok(first)
    }

    pub fn take(&mut self, length: u64) -> Result<&'a [u8], Bad> {
        let length = usize::try_from(length).map_err(|_| Bad::Short)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Bad::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// LEB128.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Bad> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.longer(first) }
    }

    pub fn longer(&mut self, first: u8) -> Result<u64, Bad> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Bad::Long)
    }

    /// A difference: the sign is the lowest bit.
    #[inline]
    pub fn difference(&mut self) -> Result<u64, Bad> {
        let n = self.number()?;
        Ok((n >> 1) ^ (n & 1).wrapping_neg())
    }

    pub fn up_to(&mut self, most: u64, bad: fn(u64) -> Bad) -> Result<u64, Bad> {
        let n = self.number()?;
        if n > most { Err(bad(n)) } else { Ok(n) }
    }

    pub fn number32(&mut self) -> Result<u32, Bad> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| Bad::Wide(number))
    }

    /// 0 for nothing, else 1 and what there is.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Bad>,
    ) -> Result<Option<T>, Bad> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Bad::Word),
        }
    }

    /// Its length, then its bytes; what is not UTF-8 is replaced.
    pub fn text(&mut self) -> Result<Box<str>, Bad> {
        let length = self.number()?;
        Ok(String::from_utf8_lossy(self.take(length)?).into())
    }
}
