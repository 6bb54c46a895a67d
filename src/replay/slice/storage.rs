//! What a slice knows of the bytes of storage, by the page: almost every step asks.

use crate::id::{ProcessId, ThreadId};
use crate::replay::bytes::ByteMap;
use crate::replay::cell::{Bytes, Cell, Space};

/// What is known of a byte; nothing is the default.
pub(super) trait Known: Copy + Default {
    fn is_known(self) -> bool;
}

#[derive(Default)]
pub(super) struct Storage<T> {
    /// Of each process; few.
    memory: Vec<(ProcessId, ByteMap<T, 256>)>,
    /// All registers of a thread are a page or two.
    registers: Vec<ByteMap<T, 1024>>,
    /// Bytes of memory and of registers that something is known of.
    count: [usize; 2],
}

/// What is known of memory and registers at a time; what does not change since is shared.
pub(super) struct Copied<T> {
    memory: ByteMap<T, 256>,
    registers: ByteMap<T, 1024>,
    count: [usize; 2],
}

impl<T> Copied<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.count == [0, 0]
    }
}

/// Shows a byte to `take` and keeps count.
#[inline]
fn show<T: Known>(count: &mut usize, at: u64, known: &mut T, mut take: impl FnMut(u64, &mut T)) {
    *count -= usize::from(known.is_known());
    take(at, known);
    *count += usize::from(known.is_known());
}

/// The memory of a process, whose number may be anything in a damaged database.
#[inline]
fn memory<T>(
    list: &mut Vec<(ProcessId, ByteMap<T, 256>)>,
    process: ProcessId,
) -> &mut ByteMap<T, 256> {
    let at = list.iter().position(|(known, _)| *known == process).unwrap_or(list.len());
    if at == list.len() {
        list.push((process, ByteMap::default()));
    }
    &mut list[at].1
}

#[inline]
fn place<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if at >= list.len() {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

impl<T: Known> Storage<T> {
    /// Tells `take` of adjacent bytes by page, in order: where each part begins, and how many bytes
    /// something is known of, which it keeps right.
    #[inline]
    pub(super) fn parts(&mut self, bytes: Bytes, mut take: impl FnMut(u64, &mut [T], &mut usize)) {
        let Cell { space, address } = bytes.first;
        let size = bytes.size.into();
        let count = &mut self.count[usize::from(space.is_register())];
        let each = |at: u64, part: &mut [T]| take(at, part, count);
        match space {
            Space::Memory(process) => {
                memory(&mut self.memory, process).parts(address, size, each);
            }
            Space::Register(thread) => {
                place(&mut self.registers, thread.index()).parts(address, size, each);
            }
        }
    }

    /// The same where what nothing is known of may be left out.
    #[inline]
    pub(super) fn known_parts(
        &mut self,
        bytes: Bytes,
        mut take: impl FnMut(u64, &mut [T], &mut usize),
    ) {
        let Cell { space, address } = bytes.first;
        let size = bytes.size.into();
        let count = &mut self.count[usize::from(space.is_register())];
        let each = |at: u64, part: &mut [T]| take(at, part, count);
        match space {
            Space::Memory(process) => {
                let known = self.memory.iter_mut().find(|(known, _)| *known == process);
                if let Some((_, memory)) = known {
                    memory.touched_parts(address, size, each);
                }
            }
            Space::Register(thread) => {
                if let Some(registers) = self.registers.get_mut(thread.index()) {
                    registers.touched_parts(address, size, each);
                }
            }
        }
    }

    /// Adjacent bytes with their addresses, in order.
    pub(super) fn visit(&mut self, bytes: Bytes, mut take: impl FnMut(u64, &mut T)) {
        self.parts(bytes, |at, part, count| {
            (at..).zip(part).for_each(|(at, known)| show(count, at, known, &mut take));
        });
    }

    /// The same where what nothing is known of may be left out.
    pub(super) fn look(&mut self, bytes: Bytes, mut take: impl FnMut(u64, &mut T)) {
        self.known_parts(bytes, |at, part, count| {
            (at..).zip(part).for_each(|(at, known)| show(count, at, known, &mut take));
        });
    }

    /// The bytes of a range of memory that may be much larger than what is known of it.
    pub(super) fn range(
        &mut self,
        process: ProcessId,
        (first, last): (u64, u64),
        mut take: impl FnMut(u64, &mut T),
    ) {
        let count = &mut self.count[0];
        let memory = memory(&mut self.memory, process);
        memory.change(first, last, |at, known| show(count, at, known, &mut take));
    }

    /// All bytes, in order.
    pub(super) fn all(&mut self, mut take: impl FnMut(Cell, &mut T)) {
        let [in_memory, in_registers] = &mut self.count;
        for (process, memory) in &mut self.memory {
            let space = Space::Memory(*process);
            memory.change(0, u64::MAX, |address, known| {
                show(in_memory, address, known, |address, known| {
                    take(Cell { space, address }, known);
                });
            });
        }
        for (i, registers) in self.registers.iter_mut().enumerate() {
            let space = Space::Register(ThreadId::at(i));
            registers.change(0, u64::MAX, |address, known| {
                show(in_registers, address, known, |address, known| {
                    take(Cell { space, address }, known);
                });
            });
        }
    }

    /// The bytes of a space that something is known of.
    pub(super) fn each_known(&mut self, space: Space, mut take: impl FnMut(u64, &mut T)) {
        let count = &mut self.count[usize::from(space.is_register())];
        let each = |at: u64, known: &mut T| {
            if known.is_known() {
                show(count, at, known, &mut take);
            }
        };
        match space {
            Space::Memory(process) => memory(&mut self.memory, process).change(0, u64::MAX, each),
            Space::Register(thread) => {
                place(&mut self.registers, thread.index()).change(0, u64::MAX, each);
            }
        }
    }

    /// What is known of the memory of a process and the registers of a thread, as it is now.
    pub(super) fn copy(&mut self, process: ProcessId, thread: ThreadId) -> Copied<T> {
        let memory = memory(&mut self.memory, process).copy();
        let registers = place(&mut self.registers, thread.index()).copy();
        let known = |part: &[T]| part.iter().filter(|known| known.is_known()).count();
        let in_memory = memory.pages().map(|(_, page)| known(page)).sum();
        let in_registers = registers.pages().map(|(_, page)| known(page)).sum();
        Copied { memory, registers, count: [in_memory, in_registers] }
    }

    /// It is so of others, of which nothing is known.
    pub(super) fn put(&mut self, process: ProcessId, thread: ThreadId, copied: Copied<T>) {
        *memory(&mut self.memory, process) = copied.memory;
        *place(&mut self.registers, thread.index()) = copied.registers;
        for (count, more) in self.count.iter_mut().zip(copied.count) {
            *count += more;
        }
    }

    /// Addresses of bytes of memory that something is known of.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        let pages = self.memory.iter().flat_map(|(_, memory)| memory.pages());
        pages.flat_map(|(first, page)| {
            (first..).zip(page).filter(|(_, known)| known.is_known()).map(|(at, _)| at)
        })
    }

    /// Bytes that something is known of.
    pub(super) fn len(&self) -> usize {
        self.count[0] + self.count[1]
    }

    /// Those of registers.
    pub(super) fn in_registers(&self) -> usize {
        self.count[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Default, PartialEq, Debug)]
    struct Number(u32);

    impl Known for Number {
        fn is_known(self) -> bool {
            self.0 > 0
        }
    }

    #[test]
    fn what_is_known_is_counted() {
        let mut storage: Storage<Number> = Storage::default();
        let bytes = |space, address, size| Bytes { first: Cell { space, address }, size };
        let (memory, other) = (Space::Memory(ProcessId::FIRST), Space::Memory(ProcessId::at(2)));
        let register = Space::Register(ThreadId::at(1));
        storage.visit(bytes(memory, 254, 4), |at, n| *n = Number(at as u32));
        storage.visit(bytes(other, 255, 2), |_, n| *n = Number(7));
        storage.visit(bytes(register, 16, 8), |_, n| *n = Number(9));
        assert_eq!((storage.len(), storage.in_registers()), (14, 8));
        storage.visit(bytes(register, 16, 4), |_, n| *n = Number(0));
        // A range far larger than what is known.
        let mut seen = Vec::new();
        storage.range(ProcessId::FIRST, (255, u64::MAX), |at, n| {
            if n.is_known() {
                seen.push((at, std::mem::take(n).0));
            }
        });
        assert_eq!(seen, [(255, 255), (256, 256), (257, 257)]);
        assert_eq!(storage.addresses().collect::<Vec<_>>(), [254, 255, 256]);
        let mut left = Vec::new();
        storage.all(|cell, n| left.extend(std::mem::take(n).is_known().then_some(cell)));
        let expected = [(memory, 254), (other, 255), (other, 256)];
        assert!(left[..3].iter().map(|cell| (cell.space, cell.address)).eq(expected));
        assert_eq!((left.len(), storage.len(), storage.in_registers()), (7, 0, 0));
    }
}
