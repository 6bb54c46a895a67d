//! The sockets of several recorders, each with messages as they come.

use super::line::{Line, living};
use super::message::{self, HEAD, Kind, LOOKING};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// A recorder's end of a socket, and what has come of it and was not taken yet.
struct Wire {
    line: Line,
    /// Bytes that were read.
    got: u32,
    bytes: Vec<u8>,
    taken: usize,
    closed: bool,
}

/// Sockets that have a message or may get one.
pub struct Wires {
    listener: UnixListener,
    /// Closed when no process is left that could connect.
    alive: Option<UnixStream>,
    /// By number; None: it is closed.
    all: Vec<Option<Wire>>,
    /// The one that gave the last message: it may have another one.
    last: usize,
    /// The last message came soon.
    soon: bool,
    alone: bool,
    piece: Vec<u8>,
}

impl Wires {
    pub fn new(listener: UnixListener, alive: UnixStream) -> Wires {
        let alone = message::is_alone();
        let (alive, all) = (Some(alive), Vec::new());
        Wires { listener, alive, all, last: 0, soon: false, alone, piece: vec![0; PIECE] }
    }

    /// Where a recorder hears answers. It gave a message, and is not closed.
    pub fn line(&mut self, wire: usize) -> &mut Line {
        match &mut self.all[wire] {
            Some(wire) => &mut wire.line,
            None => unreachable!("a closed wire gives no message"),
        }
    }

    /// Waits for the next message of any of them. A wire that is closed gives None for a message, once, behind all of
    /// its own. None: all are closed, and no other comes.
    pub fn read(&mut self, payload: &mut Vec<u8>) -> io::Result<Option<(usize, Option<Kind>)>> {
        loop {
            // First that one: a message is mostly followed by others of its process.
            let order = std::iter::once(self.last).chain(0..self.all.len());
            for at in order {
                let Some(wire) = self.all.get_mut(at).and_then(Option::as_mut) else { continue };
                if let Some(kind) = wire.message(payload)? {
                    self.last = at;
                    return Ok(Some((at, Some(kind))));
                }
                if wire.closed {
                    self.all[at] = None;
                    return Ok(Some((at, None)));
                }
            }
            if self.alive.is_none() && self.all.iter().all(Option::is_none) {
                return Ok(None);
            }
            self.wait()?;
        }
    }

    /// Reads what has come, or waits until something has.
    fn wait(&mut self) -> io::Result<()> {
        let open = self.all.iter().enumerate();
        let open = open.filter_map(|(at, wire)| Some((at, wire.as_ref()?.line.as_raw_fd())));
        let (numbers, wires): (Vec<usize>, Vec<RawFd>) = open.unzip();
        let others =
            [self.alive.as_ref().map_or(-1, AsRawFd::as_raw_fd), self.listener.as_raw_fd()];
        let all = others.into_iter().chain(wires);
        let mut all: Vec<libc::pollfd> =
            all.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
        let begun = Instant::now();
        let is_noisy = || self.all.iter().flatten().any(|wire| !wire.line.is_quiet(wire.got));
        while self.soon && !self.alone {
            message::soon(is_noisy);
            if poll(&mut all, 0)? {
                break;
            }
            self.soon = begun.elapsed() < LOOKING;
            std::thread::yield_now();
        }
        if all.iter().all(|of| of.revents == 0) {
            while !poll(&mut all, -1)? {}
        }
        self.soon = begun.elapsed() < LOOKING;
        for (at, _) in numbers.iter().zip(&all[2..]).filter(|(_, of)| of.revents != 0) {
            if let Some(wire) = &mut self.all[*at] {
                wire.read(&mut self.piece);
            }
        }
        // Nobody can connect before its parent, which is alive.
        if all[1].revents != 0 {
            let (stream, _) = self.listener.accept()?;
            // It may have been killed since.
            if let Some(line) = living(Line::new(stream))? {
                let wire = Some(Wire { line, got: 0, bytes: Vec::new(), taken: 0, closed: false });
                match self.all.iter_mut().find(|wire| wire.is_none()) {
                    Some(free) => *free = wire,
                    None => self.all.push(wire),
                }
            }
        } else if all[0].revents != 0 {
            self.alive = None;
        }
        Ok(())
    }
}

/// Whether one of them has something.
fn poll(all: &mut [libc::pollfd], milliseconds: i32) -> io::Result<bool> {
    // SAFETY: they are as many as is said.
    match unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        ready => Ok(ready > 0),
    }
}

impl Wire {
    /// Takes a whole message, if there is one.
    fn message(&mut self, payload: &mut Vec<u8>) -> io::Result<Option<Kind>> {
        let Some((head, rest)) = self.bytes[self.taken..].split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let (kind, length) = message::head(head)?;
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        payload.clear();
        payload.extend_from_slice(bytes);
        self.taken += HEAD + length;
        Ok(Some(kind))
    }

    /// Reads what is there.
    fn read(&mut self, to: &mut [u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        match self.line.read(to, false) {
            Ok(0) => self.closed = true,
            Ok(n) => {
                self.got = self.got.wrapping_add(n as u32);
                self.bytes.extend_from_slice(&to[..n]);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // It was killed.
            Err(_) => self.closed = true,
        }
    }
}
