//! What a part of the run reads of memory that something before it wrote: words whose first access
//! there is not a write of all of them. It may be more than that, never less.

use super::memory::{PAGE, PageWords};
use super::shadow::WORD;
use crate::event::{BlockDef, Event};
use rustc_hash::FxHashMap;

/// Words of a page in groups of 64.
const GROUPS: usize = (PAGE / WORD) as usize / 64;
/// Bytes of a frame of registers that a processor keeps at exceptions, at most.
pub const FRAME: u64 = 256;
/// Bytes from which on a range stands for all memory.
const LONG: u64 = 1 << 26;

/// The words of a page, a bit each.
#[derive(Clone, Copy, Default)]
struct Words {
    met: [u64; GROUPS],
    read: [u64; GROUPS],
}

/// Words of memory.
#[derive(Default)]
pub struct LiveIn {
    pages: FxHashMap<u64, Box<Words>>,
    /// All that is known.
    all: bool,
    /// Processes that begin with what their parents left.
    inherited: Vec<u64>,
}

impl LiveIn {
    /// A run of a block.
    pub fn run(&mut self, block: &BlockDef, addresses: &[u64]) {
        let mut at = 0;
        for step in &block.steps {
            let here = at..(at + usize::from(step.mem)).min(addresses.len());
            at = here.end;
            let accesses = || block.mem[here.clone()].iter().zip(&addresses[here.clone()]);
            // What a step reads was there before it wrote.
            for (shape, &address) in accesses().filter(|(shape, _)| !shape.is_write) {
                self.read(address, shape.size.into());
            }
            for (shape, &address) in accesses().filter(|(shape, _)| shape.is_write) {
                self.write(address, shape.size.into());
            }
        }
    }

    /// An event between runs.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::SystemCall(call) => call.accesses.iter().for_each(|access| {
                if !access.is_write {
                    self.read(access.address, access.bytes);
                } else if access.bytes < LONG {
                    self.write(access.address, access.bytes);
                }
            }),
            Event::MemoryMove { from, bytes, .. } | Event::MemoryCopy { from, bytes, .. } => {
                self.read(*from, *bytes);
            }
            Event::ExceptionEntry(entry) => self.frame(entry.frame),
            Event::ExceptionReturn { frame, .. } => self.frame(*frame),
            // What it reads was written before the process was made, whatever its parent has written since.
            Event::Inherit { pid, .. } => {
                self.inherited.push(*pid);
                self.pages.values_mut().for_each(|words| words.met = [0; GROUPS]);
            }
            _ => {}
        }
    }

    /// The processor may take registers from a frame: a task begins with what somebody stored there.
    fn frame(&mut self, address: Option<u64>) {
        if let Some(address) = address {
            self.read(address, FRAME);
        }
    }

    /// Bytes are read.
    pub fn read(&mut self, address: u64, bytes: u64) {
        self.all |= bytes >= LONG;
        if !self.all {
            self.words(address, bytes, |words, group, bit, _| {
                words.read[group] |= bit & !words.met[group];
                words.met[group] |= bit;
            });
        }
    }

    fn write(&mut self, address: u64, bytes: u64) {
        self.words(address, bytes, |words, group, bit, whole| {
            // The rest of a word that is written in part stays.
            words.read[group] |= if whole { 0 } else { bit & !words.met[group] };
            words.met[group] |= bit;
        });
    }

    /// Bytes that matter, whatever was written before.
    pub fn keep(&mut self, address: u64, bytes: u64) {
        self.words(address, bytes, |words, group, bit, _| words.read[group] |= bit);
    }

    /// `f` gets the words of a range: their page, group, bit, and whether the range has all of it.
    fn words(&mut self, address: u64, bytes: u64, mut f: impl FnMut(&mut Words, usize, u64, bool)) {
        let Some(last) = bytes.checked_sub(1).map(|more| address.saturating_add(more)) else {
            return;
        };
        let (mut word, end) = (address / WORD, last / WORD);
        while word <= end {
            let number = word * WORD / PAGE;
            let page = self.pages.entry(number).or_default();
            while word <= end && word * WORD / PAGE == number {
                let whole = word * WORD >= address && word * WORD + (WORD - 1) <= last;
                let place = (word % (PAGE / WORD)) as usize;
                f(page, place / 64, 1 << (place % 64), whole);
                word += 1;
            }
        }
    }

    /// Processes that begin with what their parents left.
    pub fn inherited(&self) -> &[u64] {
        &self.inherited
    }

    /// Pages with their words, a bit each; None: all of memory.
    pub fn pages(&self) -> Option<Vec<(u64, PageWords)>> {
        if self.all {
            return None;
        }
        let mut pages: Vec<_> = self.pages.iter().map(|(at, words)| (*at, words.read)).collect();
        pages.retain(|(_, words)| words.iter().any(|group| *group != 0));
        pages.sort_unstable();
        Some(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_first_is_not_needed() {
        let mut needed = LiveIn::default();
        needed.write(0x1000, 8);
        needed.read(0x1000, 8);
        needed.write(0x1008, 2);
        needed.read(0x1ffc, 8);
        needed.write(0x2000, 4);
        needed.keep(0x1004, 4);
        // Nothing is needed of this page.
        needed.write(0x3000, 4);
        let pages = needed.pages().expect("not all");
        assert_eq!(pages.len(), 2);
        assert_eq!((pages[0].0, pages[0].1[0], pages[0].1[15]), (1, 0b110, 1 << 63));
        assert_eq!((pages[1].0, pages[1].1[0]), (2, 1));
        needed.read(0, LONG);
        assert!(needed.pages().is_none());
    }
}
