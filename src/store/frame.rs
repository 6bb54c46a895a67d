//! The zstd frames that the packed run is made of.

use std::cell::RefCell;
use std::io::{self, Read};
use zstd::bulk::{Compressor, Decompressor};

/// A higher one saves a tenth and takes several times as long.
const LEVEL: i32 = 3;
/// None unpacks to more. A chunk has some megabytes; with values and a clock some tens of them.
const MOST: u64 = 1 << 28;
/// So much room is made because a frame says so.
const BELIEVED: u64 = 1 << 26;

thread_local! {
    // Made once: a new one costs as much as to unpack a small frame.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// With a checksum.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => {
                let mut new = Compressor::new(LEVEL)?;
                new.include_checksum(true)?;
                kept.insert(new)
            }
        };
        compressor.compress(bytes)
    })
}

pub fn unpack(data: &[u8]) -> io::Result<Vec<u8>> {
    let said = zstd::zstd_safe::get_frame_content_size(data).ok().flatten();
    let Some(size) = said.filter(|size| *size <= BELIEVED) else {
        let mut bytes = Vec::new();
        zstd::stream::read::Decoder::new(data)?.take(MOST).read_to_end(&mut bytes)?;
        return Ok(bytes);
    };
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(data, size as usize)
    })
}
