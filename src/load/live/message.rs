//! What a recorder that sums and addfg say to each other, as bytes: numbers of 4 and 8 bytes with the little end first.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
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
    /// Answered with the number of what the kernel's accesses are named by.
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

/// The recorder's end of the socket. To fall asleep and to be woken costs more than most answers, so it looks for some
/// time whether something has come, as long as that is so mostly.
pub struct Wire {
    stream: UnixStream,
    /// The last message came soon.
    soon: bool,
    alone: bool,
}

impl Wire {
    pub fn new(stream: UnixStream) -> BufReader<Wire> {
        let alone = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
        BufReader::with_capacity(1 << 16, Wire { stream, soon: false, alone })
    }
}

/// What is there now: an error where nothing is.
pub fn look(stream: &UnixStream, into: &mut [u8]) -> io::Result<usize> {
    let to = into.as_mut_ptr().cast();
    // SAFETY: the memory is ours, and as long as is said.
    let n = unsafe { libc::recv(stream.as_raw_fd(), to, into.len(), libc::MSG_DONTWAIT) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let begun = Instant::now();
        while self.soon && !self.alone {
            match look(&self.stream, into) {
                // Who asks may have no processor.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::yield_now();
                }
                read => return read,
            }
            self.soon = begun.elapsed() < LOOKING;
        }
        let read = self.stream.read(into);
        self.soon = begun.elapsed() < LOOKING;
        read
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
