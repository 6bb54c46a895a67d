//! Storage by the byte.

use crate::id::{ProcessId, ThreadId};

/// Storage of its own: registers belong to a thread, memory to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Memory(ProcessId),
    Register(ThreadId),
}

impl Space {
    pub fn is_register(self) -> bool {
        matches!(self, Space::Register(_))
    }
}

/// One byte of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    pub space: Space,
    pub address: u64,
}

/// Adjacent bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    pub first: Cell,
    pub size: u32,
}

impl Bytes {
    pub fn contains(self, cell: Cell) -> bool {
        let Cell { space, address } = self.first;
        cell.space == space && cell.address.wrapping_sub(address) < self.size.into()
    }

    /// In order; they may go round the end of memory.
    pub fn cells(self) -> impl Iterator<Item = Cell> {
        let Cell { space, address } = self.first;
        (0..u64::from(self.size)).map(move |i| Cell { space, address: address.wrapping_add(i) })
    }
}
