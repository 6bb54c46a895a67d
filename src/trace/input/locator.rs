//! Byte offsets and lines as positions for messages.

use memmap2::Mmap;
use std::sync::{Arc, Mutex};

/// Where in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text, from 1.
    Line(u64),
    /// A byte offset; shown as a line where the input is mapped.
    Byte(u64),
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
    /// `map`: the input, if it is a file that can be read again.
    pub(super) fn new(name: String, map: Option<Arc<Mmap>>) -> Locator {
        Locator { name, map, last: Arc::new(Mutex::new((0, 1))) }
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn position(&self, place: Place) -> String {
        match place {
            Place::Line(line) => format!("{}:{line}", self.name),
            Place::Byte(offset) => self.at(offset),
        }
    }

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
