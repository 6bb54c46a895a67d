//! What becomes of bytes of memory: read, read for the first time, overwritten unread.

use super::bytes::ByteMap;
use super::outside::{Change, Outside};

/// Bytes that share a page of what is known of them.
pub const PAGE: u64 = 4096;

/// Accesses and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
}

impl Volume {
    pub fn add(&mut self, is_write: bool, bytes: u64) {
        let (count, sum) = if is_write {
            (&mut self.writes, &mut self.written_bytes)
        } else {
            (&mut self.reads, &mut self.read_bytes)
        };
        *count += 1;
        *sum += bytes;
    }
}

/// Accesses to a part of memory and what became of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub volume: Volume,
    /// Written, and overwritten or left without being read.
    pub dead_bytes: u64,
    /// Distinct bytes.
    pub touched: u64,
    /// Distinct bytes that were read.
    pub unique_read_bytes: u64,
    /// Bytes read for the first time since they were written; the rest is read again.
    pub first_read_bytes: u64,
}

impl Traffic {
    pub fn add(&mut self, other: &Traffic) {
        self.volume.reads += other.volume.reads;
        self.volume.read_bytes += other.volume.read_bytes;
        self.volume.writes += other.volume.writes;
        self.volume.written_bytes += other.volume.written_bytes;
        self.dead_bytes += other.dead_bytes;
        self.touched += other.touched;
        self.unique_read_bytes += other.unique_read_bytes;
        self.first_read_bytes += other.first_read_bytes;
    }
}

/// What an access does with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Write,
    /// A read that uses them.
    Read,
    /// A return's read of where to go: it touches them, but it is no use.
    Control,
}

/// State of a byte.
const SEEN: u8 = 1;
const READ: u8 = 2;
const UNREAD: u8 = 4;

/// What has become of each byte.
#[derive(Default)]
pub struct Usage {
    states: ByteMap<u8, { PAGE as usize }>,
}

impl Usage {
    /// An access to adjacent bytes, added to `traffic`.
    pub fn access(&mut self, how: Use, address: u64, bytes: u64, traffic: &mut Traffic) {
        traffic.volume.add(how == Use::Write, bytes);
        self.states.visit(address, bytes, |state| {
            traffic.touched += u64::from(*state & SEEN == 0);
            match how {
                Use::Write => {
                    traffic.dead_bytes += u64::from(*state & UNREAD != 0);
                    *state |= SEEN | UNREAD;
                }
                Use::Read => {
                    traffic.first_read_bytes += u64::from(*state & UNREAD != 0);
                    traffic.unique_read_bytes += u64::from(*state & READ == 0);
                    *state = SEEN | READ;
                }
                Use::Control => *state |= SEEN,
            }
        });
    }

    /// What happens beside the steps: what the kernel reads is not dead any more, what it writes
    /// never is. Gives the addresses of bytes that are overwritten unread.
    pub fn outside(&mut self, outside: &Outside) -> Vec<u64> {
        let outside = &outside.overwriting();
        let (mut dead, mut moved) = (Vec::new(), Vec::new());
        self.states.change(outside.address, outside.last, |at, state| {
            if *state & UNREAD != 0 {
                match outside.change {
                    Change::Read(_) => {}
                    Change::Write(_) | Change::New | Change::Gap | Change::Copy { .. } => {
                        dead.push(at);
                    }
                    Change::Move { to } => {
                        moved.push(at.wrapping_sub(outside.address).wrapping_add(to));
                    }
                }
            }
            *state &= !UNREAD;
        });
        moved.into_iter().for_each(|at| self.leave_unread(at, 1));
        dead
    }

    /// Marks bytes as written and not read, as a copy of such bytes is.
    pub fn leave_unread(&mut self, address: u64, bytes: u64) {
        self.states.visit(address, bytes, |state| *state |= UNREAD);
    }

    /// Forgets adjacent bytes; gives those left unread, as offsets and lengths in order.
    pub fn forget(&mut self, address: u64, last: u64) -> Vec<(u64, u64)> {
        let mut unread: Vec<(u64, u64)> = Vec::new();
        self.states.take(address, last, |at, state| {
            if state & UNREAD == 0 {
                return;
            }
            let offset = at - address;
            match unread.last_mut() {
                Some((start, length)) if *start + *length == offset => *length += 1,
                _ => unread.push((offset, 1)),
            }
        });
        unread
    }

    /// Addresses of all bytes that are left unread.
    pub fn unread(&self) -> impl Iterator<Item = u64> {
        self.states.pages().flat_map(|(first, states)| {
            let left = (first..).zip(states).filter(|(_, state)| **state & UNREAD != 0);
            left.map(|(address, _)| address)
        })
    }
}
