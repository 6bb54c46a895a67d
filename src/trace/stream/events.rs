//! From a stream's events to those that the pass knows. What a system call read and wrote is
//! gathered until it returns; its bytes are named by the call and by what its descriptor is open
//! on.

use super::bytes::{Bad, Bytes};
use super::descriptors::{Descriptors, Names};
use crate::event::{
    Allocation, Event, ImageMap, Isa, KernelAccess, Process, SystemCall, ThreadStart,
};
use rustc_hash::FxHashMap;

/// Kinds of events by their numbers in docs/stream.md.
mod kind {
    pub const THREAD: u8 = 1;
    pub const THREAD_START: u8 = 2;
    pub const THREAD_END: u8 = 3;
    pub const MAP: u8 = 4;
    pub const UNMAP: u8 = 5;
    pub const SYSTEM_CALL: u8 = 6;
    pub const KERNEL_READ: u8 = 7;
    pub const KERNEL_WRITE: u8 = 8;
    pub const SYSTEM_CALL_END: u8 = 9;
    pub const DESCRIPTOR: u8 = 10;
    pub const SIGNAL: u8 = 11;
    pub const SIGNAL_END: u8 = 12;
    pub const MARKER: u8 = 13;
    pub const PROCESS: u8 = 15;
    pub const MOVE: u8 = 17;
    pub const EXEC: u8 = 18;
    pub const GAP: u8 = 19;
    pub const ALLOCATE: u8 = 20;
    pub const FREE: u8 = 21;
    pub const REALLOCATE: u8 = 22;
}

/// Bit of a mapping's protection.
const EXECUTE: u64 = 1;

/// A system call that has not returned.
struct OpenCall {
    call: SystemCall,
    /// What its bytes are named by.
    source: Box<str>,
}

/// The state of a stream's events.
pub struct Events {
    isa: Isa,
    thread: u32,
    open: FxHashMap<u32, OpenCall>,
    descriptors: Descriptors,
    /// The program that this one is going to be, if the system does it.
    exec: Option<Box<str>>,
}

impl Events {
    /// `names`: those of the processes before.
    pub fn new(isa: Isa, names: Names) -> Events {
        let descriptors = Descriptors::new(names);
        Events { isa, thread: 0, open: FxHashMap::default(), descriptors, exec: None }
    }

    /// The names for the next process.
    pub fn into_names(self) -> Names {
        self.descriptors.into_names()
    }

    /// The program that was to be next when the process was last seen.
    pub fn exec(&self) -> Option<&str> {
        self.exec.as_deref()
    }

    /// The thread of the runs that follow.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Takes an event; gives those that it is for the pass.
    pub fn take(&mut self, kind: u8, mut payload: Bytes) -> Result<Option<Event>, Bad> {
        let thread = self.thread;
        let event = match kind {
            kind::THREAD => {
                self.thread = payload.number32()?;
                return Ok(None);
            }
            kind::THREAD_START => {
                let (thread, parent) = (payload.number32()?, payload.number32()?);
                let parent = (parent > 0).then_some(parent);
                Event::ThreadStart(ThreadStart { thread, parent, name: None })
            }
            kind::THREAD_END => Event::ThreadEnd { thread: payload.number32()? },
            kind::MAP => Event::ImageMap(Box::new(map(&mut payload)?)),
            kind::UNMAP => {
                Event::ImageUnmap { address: payload.number()?, bytes: payload.number()? }
            }
            kind::MOVE => {
                let (from, to) = (payload.number()?, payload.number()?);
                Event::MemoryMove { from, to, bytes: payload.number()? }
            }
            kind::SYSTEM_CALL => {
                let call = self.call(&mut payload)?;
                self.open.insert(thread, call);
                return Ok(None);
            }
            kind::KERNEL_READ | kind::KERNEL_WRITE => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                return Ok(self.access(kind == kind::KERNEL_WRITE, address, bytes));
            }
            kind::SYSTEM_CALL_END => {
                self.exec = None;
                let (failed, result) = (payload.number()? != 0, payload.number()?);
                let Some(OpenCall { mut call, .. }) = self.open.remove(&thread) else {
                    return Ok(None);
                };
                // As the program sees it: minus the error's number.
                call.result = Some(if failed { result.wrapping_neg() } else { result });
                Event::SystemCall(Box::new(call))
            }
            kind::DESCRIPTOR => {
                let (number, on) = (payload.number()?, payload.text()?);
                self.descriptors.open(number, on);
                return Ok(None);
            }
            kind::SIGNAL => Event::SignalDelivered { thread, number: payload.number32()? },
            kind::SIGNAL_END => Event::SignalEnded { thread },
            kind::MARKER => {
                let text = payload.number()?.to_string().into();
                Event::Marker { thread, text }
            }
            kind::PROCESS => {
                let (pid, name) = (payload.number()?, payload.text()?);
                let name = Some(name).filter(|name| !name.is_empty());
                Event::Process(Box::new(Process { pid: Some(pid), name }))
            }
            kind::EXEC => {
                self.exec = Some(payload.text()?);
                return Ok(None);
            }
            kind::GAP => Event::Gap,
            kind::ALLOCATE => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                Event::Allocation(Allocation { thread, address, bytes })
            }
            kind::FREE => Event::Free { thread, address: payload.number()? },
            kind::REALLOCATE => Event::Reallocation { thread, address: payload.number()? },
            _ => return Ok(None),
        };
        Ok(Some(event))
    }

    /// What the kernel reads or writes: of the open system call, else (the frame of a signal) it
    /// stands alone.
    fn access(&mut self, is_write: bool, address: u64, bytes: u64) -> Option<Event> {
        let thread = self.thread;
        if let Some(OpenCall { call, source }) = self.open.get_mut(&thread) {
            let source = Some(source.clone());
            call.accesses.push(KernelAccess { is_write, address, bytes, source });
            return None;
        }
        let accesses = vec![KernelAccess { is_write, address, bytes, source: None }];
        Some(Event::SystemCall(Box::new(SystemCall { thread, accesses, ..SystemCall::default() })))
    }

    fn call(&self, payload: &mut Bytes) -> Result<OpenCall, Bad> {
        let number = payload.number()?;
        let count = payload.number()?;
        let mut first = None;
        for i in 0..count.min(8) {
            let argument = payload.number()?;
            first = if i == 0 { Some(argument) } else { first };
        }
        let name = name(self.isa, number);
        let descriptor = first.filter(|_| name.is_some_and(of_descriptor));
        let file = descriptor.map(|d| self.descriptors.name(d));
        let source = match (name, file) {
            (Some(name), Some(file)) => format!("<{}: {file}>", verb(name)),
            (Some(name), None) => format!("<{name}>"),
            (None, _) => format!("<system call {number}>"),
        };
        let call = SystemCall {
            thread: self.thread,
            number: i64::try_from(number).ok(),
            name: name.map(Into::into),
            ..SystemCall::default()
        };
        Ok(OpenCall { call, source: source.into() })
    }
}

fn map(payload: &mut Bytes) -> Result<ImageMap, Bad> {
    let (address, bytes) = (payload.number()?, payload.number()?);
    let (protection, offset) = (payload.number()?, payload.number()?);
    let path = Some(payload.text()?).filter(|p| !p.is_empty());
    Ok(ImageMap { address, bytes, offset, executable: protection & EXECUTE != 0, path })
}

fn name(isa: Isa, number: u64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    match isa {
        Isa::X86_64 => syscalls::x86_64::Sysno::new(number).map(|n| n.name()),
        Isa::X86 => syscalls::x86::Sysno::new(number).map(|n| n.name()),
        Isa::Arm => syscalls::arm::Sysno::new(number).map(|n| n.name()),
        Isa::Aarch64 => syscalls::aarch64::Sysno::new(number).map(|n| n.name()),
        Isa::Riscv32 => syscalls::riscv32::Sysno::new(number).map(|n| n.name()),
        Isa::Riscv64 => syscalls::riscv64::Sysno::new(number).map(|n| n.name()),
    }
}

/// Whether a system call's first argument is the descriptor that its bytes come from or go to.
fn of_descriptor(name: &str) -> bool {
    verb(name) != name || matches!(name, "read" | "write" | "getdents" | "getdents64" | "ioctl")
}

/// The word for calls that do the same.
fn verb(name: &str) -> &str {
    match name {
        "pread64" | "readv" | "preadv" | "preadv2" => "read",
        "pwrite64" | "writev" | "pwritev" | "pwritev2" => "write",
        "recvfrom" | "recvmsg" | "recvmmsg" => "recv",
        "sendto" | "sendmsg" | "sendmmsg" => "send",
        other => other,
    }
}
