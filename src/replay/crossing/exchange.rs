//! What is told of what crosses the border of a set.

use super::members::EntryNumber;
use crate::id::{FunctionId, ProcessId, ThreadId};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    In,
    Out,
}

/// Storage of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Memory(ProcessId),
    Register(ThreadId),
}

/// A communication that crosses.
pub(super) struct Crossed {
    pub(super) read_seq: i64,
    /// Number of the writing step; below 0 for what no step wrote.
    pub(super) version: i64,
    pub(super) entry: EntryNumber,
    pub(super) partner: u32,
    pub(super) place: Place,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// What one entry exchanges, or all together, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Read of what was written outside, each read counted.
    pub bytes_in: u64,
    /// Of it each byte of each write once per entry: what must be sent in if nothing stays there.
    pub unique_in: u64,
    /// Of that what no entry read before: what must be sent in if everything stays there.
    pub new_in: u64,
    /// Of that what has the value that was read last of the byte; None: the trace has no values.
    pub resent_in: Option<u64>,
    /// Of `bytes_in` what was written while the entry was inside.
    pub came_back: u64,
    /// Read outside of what the entry wrote.
    pub bytes_out: u64,
    /// Each byte of each write once: what must be sent out.
    pub unique_out: u64,
    /// Of that what has the value that was read last of the byte; None: the trace has no values.
    pub resent_out: Option<u64>,
    /// Of `bytes_out` what was read while the entry was inside.
    pub went_out: u64,
    /// Read of what entries before it wrote: state that the set keeps.
    pub kept: u64,
}

impl Exchange {
    pub(super) fn resent(&mut self, direction: Direction) -> &mut Option<u64> {
        match direction {
            Direction::In => &mut self.resent_in,
            Direction::Out => &mut self.resent_out,
        }
    }
}

/// Sums of what crosses one way: from or to a function, or through a piece of storage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    pub bytes: u64,
    /// As in [`Exchange`]; what several functions read is of the one that reads first.
    pub unique_bytes: u64,
    /// Different bytes of storage.
    pub addresses: u64,
}

/// Who is on the other side.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partner {
    Function(FunctionId),
    /// A pseudo-function, for bytes that no step wrote.
    Source(String),
}

/// Storage that data crosses through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    Registers,
    Variable(String),
    /// A range of bytes without a name: via, first and last byte.
    Buffer {
        via: String,
        first: u64,
        last: u64,
    },
}

/// What crosses the border.
#[derive(Default)]
pub struct Crossing {
    /// By entry, in their order.
    pub entries: Vec<Exchange>,
    /// Different bytes of storage, in and out.
    pub addresses_in: u64,
    pub addresses_out: u64,
    pub flows: BTreeMap<(Direction, Partner, String), Sum>,
    pub objects: BTreeMap<(Direction, Object), Sum>,
    /// Where the trace has values: bytes that crossed in a new version, and those of them whose values
    /// it does not tell.
    pub valued: Option<(u64, u64)>,
}

impl Sum {
    pub(super) fn add(&mut self, other: Sum) {
        self.bytes += other.bytes;
        self.unique_bytes += other.unique_bytes;
        self.addresses += other.addresses;
    }
}
