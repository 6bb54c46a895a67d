//! What a recorder that sums and addfg say to each other, as bytes: numbers of 4 and 8 bytes with the little end first.

use super::line::Line;
use std::io::{self, BufReader, Read, Write};
use std::time::{Duration, Instant};

/// A message is no longer than that.
const MOST: u32 = 1 << 26;

/// Bytes of the head of a message.
pub const HEAD: usize = 8;

/// What the recorder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or memory without one, is mapped; answered with whether it is a file, and its sections.
    Map,
    Unmap,
    /// Straight code that is translated; answered with what its instructions do.
    Code,
    /// Sums, at the end.
    Rows,
    /// Something that the recorder could not follow.
    Problem,
    /// All has been said.
    End,
    /// An event as a stream has it, with the steps before it.
    Event,
    /// Answered with the number of what the kernel's accesses are named by, and for which others that is so.
    Source,
    /// The sums as they are have been said; the program goes on.
    Snapshot,
    /// A process of a tree begins; answered with its number.
    Begin,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        use Kind::{Begin, Code, End, Event, Map, Problem, Rows, Snapshot, Source, Unmap};
        let all = [Map, Unmap, Code, Rows, Problem, End, Event, Source, Snapshot, Begin];
        all.get(number.checked_sub(1)? as usize).copied()
    }
}

/// The kind and the length of a message, from its head.
pub fn head(head: &[u8; HEAD]) -> io::Result<(Kind, usize)> {
    let [kind, length] =
        [0, 4].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let kind = Kind::of(kind).filter(|_| length <= MOST).ok_or_else(bad)?;
    Ok((kind, length as usize))
}

/// How long is looked for a message before it is waited for: a recorder that translates much asks again after less.
pub const LOOKING: Duration = Duration::from_micros(200);

/// Looks for a message without leaving the processor, in between two looks at the time. Who asks may have no other
/// one, so that this is less than most messages take.
pub const OWN_LOOKS: u32 = 100;

/// The recorder's end of the socket. To fall asleep and to be woken costs more than most answers, so it looks for some
/// time whether something has come, as long as that is so mostly.
pub struct Wire {
    line: Line,
    /// Bytes that were read.
    got: u32,
    /// The last message came soon.
    soon: bool,
    alone: bool,
}

impl Wire {
    pub fn new(line: Line) -> BufReader<Wire> {
        BufReader::with_capacity(1 << 16, Wire { line, got: 0, soon: false, alone: is_alone() })
    }

    fn took(&mut self, n: usize) -> usize {
        self.got = self.got.wrapping_add(n as u32);
        n
    }
}

/// There is no other processor.
pub fn is_alone() -> bool {
    std::thread::available_parallelism().is_ok_and(|n| n.get() == 1)
}

/// Waits in short until it is so.
pub fn soon(is_so: impl Fn() -> bool) -> bool {
    (0..OWN_LOOKS).any(|_| {
        std::hint::spin_loop();
        is_so()
    })
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let begun = Instant::now();
        while self.soon && !self.alone {
            if soon(|| !self.line.is_quiet(self.got)) {
                match self.line.read(into, false) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read.map(|n| self.took(n)),
                }
            }
            std::thread::yield_now();
            self.soon = begun.elapsed() < LOOKING;
        }
        let read = self.line.read(into, true);
        self.soon = begun.elapsed() < LOOKING;
        read.map(|n| self.took(n))
    }
}

/// Reads the next message into `payload`; None at the end of them.
pub fn read(from: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<Kind>> {
    let mut bytes = [0; HEAD];
    match from.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let (kind, length) = head(&bytes)?;
    payload.resize(length, 0);
    from.read_exact(payload)?;
    Ok(Some(kind))
}

/// A message that is not as it should be.
pub fn bad() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the recorder's message is damaged")
}

/// The numbers of a message, one after the other.
pub struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    pub fn four(&mut self) -> io::Result<u32> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(bad)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*first))
    }

    pub fn eight(&mut self) -> io::Result<u64> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(bad)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*first))
    }

    pub fn bytes(&mut self, n: usize) -> io::Result<&[u8]> {
        let (first, rest) = self.0.split_at_checked(n).ok_or_else(bad)?;
        self.0 = rest;
        Ok(first)
    }
}

/// An answer.
#[derive(Default)]
pub struct Answer(Vec<u8>);

impl Answer {
    pub fn four(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub fn eight(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// What it is up to here.
    pub fn said(&self) -> &[u8] {
        &self.0
    }

    pub fn send(&mut self, to: &mut impl Write) -> io::Result<()> {
        let length = (self.0.len() as u32).to_le_bytes();
        self.0.splice(0..0, length);
        let sent = to.write_all(&self.0);
        // What a process that was killed does not hear is for no other one.
        self.0.clear();
        sent
    }
}
