//! From a stream's events to those that the pass knows. What a system call read and wrote is
//! gathered until it returns; its bytes are named by the call and by what its descriptor is open
//! on.

use super::bytes::{Bad, Bytes};
use super::descriptors::{self, Descriptors, Names, of_itself};
use super::owners::Owners;
use super::shared::{Placed, Shared};
use super::told;
use crate::diagnostics::Severity;
use crate::event::{
    Allocation, Event, ImageMap, Isa, KernelAccess, NamedRange, Process, SystemCall, ThreadStart,
};
use crate::trace::exception_log::ExceptionLog;
use crate::trace::qemu::exceptions::Frames;
use crate::trace::reader::{Claim, ProcessClaim};
use rustc_hash::{FxHashMap, FxHashSet};

/// Kinds of events by their numbers in docs/stream.md.
pub mod kind {
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
    pub const SHARE: u8 = 23;
    pub const FRESH: u8 = 24;
    pub const FILE_WRITE: u8 = 25;
    pub const FORK: u8 = 26;
    pub const INHERIT: u8 = 27;
    pub const EMULATOR: u8 = 28;
    pub const DEVICE: u8 = 29;
    // 30 to 33: `told`.
    pub const PROBLEM: u8 = 34;
    pub const VALUES: u8 = 35;
    pub const CONDITIONAL_EXITS: u8 = 36;
    pub const PROCESS_CLAIM: u8 = 37;
    pub const STACK_POINTER: u8 = 38;
}

/// Bits of a mapping's protection.
const EXECUTE: u64 = 1;
const WRITE: u64 = 2;

/// A device of the system that holds nothing is what memory without a file is mapped from.
const NO_DEVICES: [&str; 3] = ["/dev/zero", "/dev/shm/", "/dev/hugepages/"];

/// A system call that has not returned.
struct OpenCall {
    call: SystemCall,
    /// What its data is named by, and its structures.
    source: Box<str>,
    structure: Box<str>,
    /// The argument that is the descriptor which `source` has.
    descriptor: Option<usize>,
    /// It makes a process that has memory of its own.
    forks: bool,
    /// Which the parent was to share until it is another program (`vfork`).
    waits: bool,
    /// What it wrote to files that are memory, too.
    copies: Vec<Event>,
}

/// What is shared between all processes of a run.
#[derive(Default)]
pub struct Common {
    pub names: Names,
    pub shared: Shared,
    pub unknown: Unknown,
}

/// What the recorder cannot follow.
#[derive(Default)]
pub struct Unknown {
    /// Calls of io_uring, and of vfork.
    pub rings: u64,
    pub vforks: u64,
    /// QEMU tells nobody what `dc zva` clears, and the program has executed it.
    pub clears: bool,
    /// Memory that others may change: what it is, or whose it is.
    pub memory: Option<Box<str>>,
}

/// The state of a stream's events.
pub struct Events {
    isa: Isa,
    thread: u32,
    /// Threads that have begun.
    started: FxHashSet<u32>,
    open: FxHashMap<u32, OpenCall>,
    descriptors: Descriptors,
    /// The program that this one is going to be, if the system does it.
    exec: Option<Box<str>>,
    /// The process's number.
    pid: u64,
    /// What was mapped last: its address, whether it can be written to and its file.
    last_map: (u64, bool, Option<Box<str>>),
    /// What a process began with that it can write to: addresses and bytes.
    begun_with: Vec<(u64, u64)>,
    /// Some memory is shared and can be written to.
    shares: bool,
    /// What the emulator has said of exceptions since the last step.
    emulator: ExceptionLog,
    /// By thread.
    frames: FxHashMap<u32, Frames>,
    /// It has made a file without a name.
    makes_memory: bool,
    pub shared: Shared,
    /// Whose code lies where.
    pub owners: Owners,
    pub unknown: Unknown,
    /// What is for the listener.
    pub said: Vec<Said>,
    /// The stream was converted from a log, whose threads may have the number 0.
    pub converted: bool,
}

/// Something for the listener.
pub enum Said {
    Problem(Severity, Box<str>),
    Claim(Claim),
}

impl Events {
    /// `common`: of the processes before.
    pub fn new(isa: Isa, common: Common) -> Events {
        Events {
            isa,
            thread: 0,
            started: FxHashSet::default(),
            open: FxHashMap::default(),
            descriptors: Descriptors::new(common.names),
            exec: None,
            pid: 0,
            last_map: (0, false, None),
            begun_with: Vec::new(),
            shares: false,
            emulator: ExceptionLog::default(),
            frames: FxHashMap::default(),
            makes_memory: false,
            shared: common.shared,
            owners: Owners::default(),
            unknown: common.unknown,
            said: Vec::new(),
            converted: false,
        }
    }

    /// What goes on in the next process.
    pub fn into_common(mut self) -> Common {
        self.shared.next_process();
        let names = self.descriptors.into_names();
        Common { names, shared: self.shared, unknown: self.unknown }
    }

    /// See [`Descriptors::names`].
    pub fn names(&mut self) -> &mut Names {
        self.descriptors.names()
    }

    /// The program that was to be next when the process was last seen.
    pub fn exec(&self) -> Option<&str> {
        self.exec.as_deref()
    }

    /// The thread of the runs that follow.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Takes an event; gives those that it is for the pass to `tell`.
    pub fn take(
        &mut self,
        kind: u8,
        mut payload: Bytes,
        tell: &mut impl FnMut(Event),
    ) -> Result<(), Bad> {
        let thread = self.thread;
        let event = match kind {
            kind::THREAD => {
                self.thread = match payload.number32()? {
                    0 if !self.converted => return Err(Bad::Thread(0)),
                    thread => thread,
                };
                return Ok(());
            }
            kind::THREAD_START => {
                let (thread, parent) = (payload.number32()?, payload.number32()?);
                if thread == 0 || !self.started.insert(thread) {
                    return Err(Bad::Thread(thread));
                }
                let parent = (parent > 0).then_some(parent);
                Event::ThreadStart(ThreadStart { thread, parent, name: None })
            }
            kind::THREAD_END => Event::ThreadEnd { thread: payload.number32()? },
            kind::MAP..=kind::UNMAP | kind::MOVE | kind::SHARE..=kind::INHERIT => {
                return self.memory(kind, &mut payload, tell);
            }
            kind::SYSTEM_CALL => {
                let call = self.call(&mut payload)?;
                self.open.insert(thread, call);
                return Ok(());
            }
            kind::KERNEL_READ | kind::KERNEL_WRITE => {
                let range = (payload.number()?, payload.number()?);
                let structure = !payload.0.is_empty() && payload.number()? != 0;
                if kind == kind::KERNEL_READ && range.1 > MOST_READ {
                    return Err(Bad::Access(range.1));
                }
                self.access(kind == kind::KERNEL_WRITE, range, structure, tell);
                return Ok(());
            }
            kind::SYSTEM_CALL_END => {
                let (failed, result) = (payload.number()? != 0, payload.number()?);
                self.call_end(failed, result, tell);
                return Ok(());
            }
            kind::DESCRIPTOR => {
                let (number, on) = (payload.number()?, payload.text()?);
                self.descriptors.open(number, of_itself(on, self.pid));
                return Ok(());
            }
            kind::SIGNAL => {
                // What the thread was in is begun again behind the handler, or is over.
                self.open.remove(&thread);
                Event::SignalDelivered { thread, number: payload.number32()? }
            }
            kind::SIGNAL_END => Event::SignalEnded { thread },
            kind::STACK_POINTER => {
                let (before, behind) = (payload.number()?, payload.number()?);
                let mut above = Vec::new();
                while !payload.0.is_empty() {
                    above.push((payload.number()?, payload.number()?));
                }
                Event::StackPointer { thread, before, behind, above: above.into() }
            }
            kind::MARKER => {
                let text = payload.number()?.to_string().into();
                Event::Marker { thread, text }
            }
            kind::PROCESS => {
                let (pid, name) = (payload.number()?, payload.text()?);
                let name = Some(name).filter(|name| !name.is_empty());
                if i64::try_from(pid).is_err() {
                    return Err(Bad::Process(pid));
                }
                self.pid = pid;
                Event::Process(Box::new(Process { pid: Some(pid), name }))
            }
            kind::EXEC => {
                self.exec = Some(payload.text()?);
                return Ok(());
            }
            kind::GAP => Event::Gap,
            kind::ALLOCATE => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                Event::Allocation(Allocation { thread, address, bytes })
            }
            kind::FREE => Event::Free { thread, address: payload.number()? },
            kind::EMULATOR => {
                let (of, line) = (payload.number32()?, payload.text()?);
                let log = &mut self.emulator;
                log.line(line.as_bytes());
                if line.is_empty() {
                    let registers = log.take_registers();
                    let events: Vec<Event> = log.take().map(|said| said.event(of)).collect();
                    let events = match registers {
                        Some(now) => self.frames.entry(of).or_default().fill(of, events, now),
                        None => events,
                    };
                    events.into_iter().for_each(&mut *tell);
                }
                return Ok(());
            }
            kind::DEVICE => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                let name = payload.text()?;
                let name = if is_nameless(&name) { format!("{address:#x}").into() } else { name };
                Event::Device(Box::new(NamedRange { address, bytes, name }))
            }
            kind::REALLOCATE => Event::Reallocation { thread, address: payload.number()? },
            kind::PROBLEM => {
                let severity = match payload.number()? {
                    0 => Severity::Info,
                    1 => Severity::Warning,
                    _ => Severity::Error,
                };
                self.said.push(Said::Problem(severity, payload.text()?));
                return Ok(());
            }
            kind::CONDITIONAL_EXITS => {
                self.said.push(Said::Claim(Claim::ConditionalExits(payload.number()?)));
                return Ok(());
            }
            kind::PROCESS_CLAIM => {
                let (pid, parent) = (payload.number()?, payload.number()?);
                let program = Some(payload.text()?).filter(|program| !program.is_empty());
                let claim = ProcessClaim {
                    pid: pid.checked_sub(1),
                    program,
                    parent: parent.checked_sub(1),
                };
                self.said.push(Said::Claim(Claim::Process(claim)));
                return Ok(());
            }
            _ => match told::read(kind, &mut payload)? {
                Some(event) => event,
                None => return Ok(()),
            },
        };
        tell(event);
        Ok(())
    }

    /// What happens to memory beside the steps and the data of system calls.
    fn memory(
        &mut self,
        kind: u8,
        payload: &mut Bytes,
        tell: &mut impl FnMut(Event),
    ) -> Result<(), Bad> {
        match kind {
            kind::MAP => {
                let (map, writable) = map(payload)?;
                self.shared.cut(map.address, map.bytes);
                self.owners.map(&map);
                self.last_map = (map.address, writable, map.path.clone());
                if writable && self.thread == 0 {
                    self.begun_with.push((map.address, map.bytes));
                }
                self.of_device(&map);
                tell(Event::ImageMap(Box::new(map)));
            }
            kind::UNMAP => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                self.shared.cut(address, bytes);
                self.owners.cut(address, bytes);
                tell(Event::ImageUnmap { address, bytes });
            }
            kind::MOVE => {
                let (from, to) = (payload.number()?, payload.number()?);
                let bytes = payload.number()?;
                for place in [from, to] {
                    self.shared.cut(place, bytes);
                    self.owners.cut(place, bytes);
                }
                tell(Event::MemoryMove { from, to, bytes });
            }
            kind::SHARE => self.share(payload, tell)?,
            kind::FRESH => {
                let (address, bytes) = (payload.number()?, payload.number()?);
                for (address, bytes) in self.shared.pieces(address, bytes) {
                    tell(Event::MemoryFresh { address, bytes });
                }
            }
            kind::FILE_WRITE => self.file_write(payload)?,
            kind::FORK => tell(Event::Fork { pid: payload.number()? }),
            _ => {
                payload.number()?;
                let ranges = std::mem::take(&mut self.begun_with).into();
                tell(Event::Inherit { pid: self.pid, ranges });
            }
        }
        Ok(())
    }

    /// A device may write where it is mapped.
    fn of_device(&mut self, map: &ImageMap) {
        let device = map.path.as_deref().filter(|path| {
            path.starts_with("/dev/") && !NO_DEVICES.iter().any(|start| path.starts_with(start))
        });
        if let Some(path) = device {
            self.unknown.memory.get_or_insert_with(|| path.into());
        }
    }

    /// What was mapped is shared: it lies where its file has its addresses.
    fn share(&mut self, payload: &mut Bytes, tell: &mut impl FnMut(Event)) -> Result<(), Bad> {
        let at = (payload.number()?, payload.number()?);
        let key = (payload.number()?, payload.number()?);
        let offset = payload.number()?;
        let (address, writable, path) = self.last_map.clone();
        let path = path.filter(|_| address == at.0);
        // What a forked process begins with is told behind all that it has mapped.
        let holds = |&(first, bytes): &(u64, u64)| at.0.wrapping_sub(first) < bytes;
        let inherited = || self.begun_with.iter().any(holds);
        let writable = if address == at.0 { writable } else { inherited() };
        self.shares |= writable;
        let others = path.as_deref().filter(|path| {
            let named = path.starts_with("/dev/shm/") || path.starts_with("/SYSV");
            named || (path.starts_with("/memfd:") && !self.makes_memory)
        });
        if let Some(path) = others {
            self.unknown.memory.get_or_insert_with(|| path.into());
        }
        let new = self.shared.map(key, at, offset, (path.as_deref(), writable)).unwrap_or_default();
        for Placed { address, bytes, offset, path } in new {
            let map = ImageMap { address, bytes, offset, executable: false, path };
            tell(Event::ImageMap(Box::new(map)));
        }
        Ok(())
    }

    /// The open system call wrote to a file that is mapped: its bytes are memory.
    fn file_write(&mut self, payload: &mut Bytes) -> Result<(), Bad> {
        let key = (payload.number()?, payload.number()?);
        let (offset, bytes, from) = (payload.number()?, payload.number()?, payload.number()?);
        let Some(to) = self.shared.of_file(key, offset) else { return Ok(()) };
        let Some(open) = self.open.get_mut(&self.thread) else { return Ok(()) };
        if from == 0 {
            let source = Some(open.source.clone());
            let access = KernelAccess { is_write: true, address: to, bytes, source };
            open.call.accesses.push(access);
            return Ok(());
        }
        let mut to = to;
        for (from, bytes) in self.shared.pieces(from, bytes) {
            open.copies.push(Event::MemoryCopy { from, to, bytes });
            to = to.saturating_add(bytes);
        }
        Ok(())
    }

    fn call_end(&mut self, failed: bool, result: u64, tell: &mut impl FnMut(Event)) {
        self.exec = None;
        let Some(open) = self.open.remove(&self.thread) else { return };
        let OpenCall { mut call, copies, forks, waits, .. } = open;
        self.unknown.vforks += u64::from(waits && !failed && result > 0);
        match call.name.as_deref() {
            Some("io_uring_enter" | "io_uring_setup") => self.unknown.rings += 1,
            Some("memfd_create") => self.makes_memory = true,
            // What `vfork` makes becomes another program, which has none of the memory.
            _ if forks && !waits && self.shares && !failed && result > 0 => {
                self.unknown.memory.get_or_insert_with(|| "a process that it began".into());
            }
            _ => {}
        }
        // As the program sees it: minus the error's number.
        call.result = Some(if failed { result.wrapping_neg() } else { result });
        tell(Event::SystemCall(Box::new(call)));
        copies.into_iter().for_each(tell);
    }

    /// What the thread's open system call names its data by, or its structures.
    pub fn source(&self, structure: bool) -> Option<Box<str>> {
        let open = self.open.get(&self.thread)?;
        Some(if structure { open.structure.clone() } else { open.source.clone() })
    }

    /// Whether the thread is in a system call, and the argument that what [`Events::source`] gives depends on.
    pub fn depends(&self, structure: bool) -> Option<Option<usize>> {
        let open = self.open.get(&self.thread)?;
        Some(open.descriptor.filter(|_| !structure))
    }

    /// What the kernel reads or writes: of the open system call, else (the frame of a signal) it
    /// stands alone.
    fn access(
        &mut self,
        is_write: bool,
        (address, bytes): (u64, u64),
        structure: bool,
        tell: &mut impl FnMut(Event),
    ) {
        let thread = self.thread;
        let source = self.source(structure);
        let open = self.open.get_mut(&thread);
        let pieces = self.shared.pieces(address, bytes).into_iter();
        let accesses = pieces.map(|(address, bytes)| {
            let source = source.clone();
            KernelAccess { is_write, address, bytes, source }
        });
        match open {
            Some(open) => open.call.accesses.extend(accesses),
            None => {
                let accesses = accesses.collect();
                let call = SystemCall { thread, accesses, ..SystemCall::default() };
                tell(Event::SystemCall(Box::new(call)));
            }
        }
    }

    fn call(&self, payload: &mut Bytes) -> Result<OpenCall, Bad> {
        let number = payload.number()?;
        let count = payload.number()?;
        let mut arguments = [None; 8];
        for argument in arguments.iter_mut().take(usize::try_from(count).unwrap_or(8)) {
            *argument = Some(payload.number()?);
        }
        let name = name(self.isa, number);
        let descriptor =
            name.and_then(of_descriptor).filter(|argument| arguments[*argument].is_some());
        // The kernel takes 32 bits.
        let open_on = |number| self.descriptors.name(number & u64::from(u32::MAX));
        let file = descriptor.and_then(|argument| arguments[argument]).map(open_on);
        let structure = match name {
            Some(name) => format!("<{name}>"),
            None => format!("<system call {number}>"),
        };
        let source = match (name, file) {
            (Some(name), Some(file)) => format!("<{}: {file}>", verb(name)),
            _ => structure.clone(),
        };
        let flags = arguments[0].unwrap_or(CLONE_VM);
        let waits = name == Some("vfork") || name == Some("clone") && flags & CLONE_VFORK != 0;
        let forks = match name {
            Some("fork" | "vfork") => true,
            Some("clone") => waits || flags & CLONE_VM == 0,
            _ => false,
        };
        let call = SystemCall {
            thread: self.thread,
            number: i64::try_from(number).ok(),
            name: name.map(Into::into),
            ..SystemCall::default()
        };
        let copies = Vec::new();
        Ok(OpenCall {
            call,
            source: source.into(),
            structure: structure.into(),
            descriptor,
            forks,
            waits,
            copies,
        })
    }
}

/// Bytes that a system call takes at most: half of this, in Linux.
const MOST_READ: u64 = 1 << 32;

/// Of `clone`: with the parent's memory; the parent waits until it is another program.
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;

/// Whether QEMU has no name for a device: then it gives a number that is another one in each run.
fn is_nameless(name: &str) -> bool {
    let digits = name.strip_prefix("anon");
    digits.is_some_and(|digits| digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A mapping, and whether it can be written to.
fn map(payload: &mut Bytes) -> Result<(ImageMap, bool), Bad> {
    let (address, bytes) = (payload.number()?, payload.number()?);
    let (protection, offset) = (payload.number()?, payload.number()?);
    let path = Some(payload.text()?).filter(|p| !p.is_empty());
    let path = path.map(|path| descriptors::without_state(&path).into());
    let executable = protection & EXECUTE != 0;
    let map = ImageMap { address, bytes, offset, executable, path };
    Ok((map, protection & WRITE != 0))
}

/// The name of a system call of Linux.
pub fn name(isa: Isa, number: u64) -> Option<&'static str> {
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

/// The number of the argument that is the descriptor which a system call's data comes from or goes
/// to.
fn of_descriptor(name: &str) -> Option<usize> {
    match name {
        "read" | "write" | "getdents" | "getdents64" | "ioctl" | "vmsplice" | "recv" | "send" => {
            Some(0)
        }
        // What it is copied from.
        "sendfile" | "sendfile64" => Some(1),
        "splice" | "tee" | "copy_file_range" => Some(0),
        "mq_timedreceive" | "mq_timedsend" | "mq_timedreceive_time64" | "mq_timedsend_time64" => {
            Some(0)
        }
        other => (verb(other) != other).then_some(0),
    }
}

/// The word for calls that do the same.
fn verb(name: &str) -> &str {
    match name {
        "pread64" | "readv" | "preadv" | "preadv2" => "read",
        "pwrite64" | "writev" | "pwritev" | "pwritev2" => "write",
        "recvfrom" | "recvmsg" | "recvmmsg" | "recvmmsg_time64" => "recv",
        "sendto" | "sendmsg" | "sendmmsg" => "send",
        other => other,
    }
}
