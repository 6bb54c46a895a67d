//! The words that every reader speaks.
//!
//! A reader of instruction traces gives either *steps* ([`StepBatch`]: one row an instruction, with
//! what the log says of it) or, where the log already holds every memory access with its size,
//! *runs* ([`RunBatch`]: straight pieces of code, each an id of a block and the addresses that its
//! accesses touched). [`crate::isa::elaborate`] turns the first into the second, so that
//! [`crate::analysis`] knows runs only.

/// What a trace tells of beside steps. A recorder that tells none of it need not know of it: to add
/// a kind takes a variant here and a method with a default in [`EventSink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another process begins: it has threads and memory of its own, and so has what follows.
    ProcessStart,
    /// What the process is that has begun last, or with which the trace began.
    Process(Box<Process>),
    /// The program did something here that the trace does not have.
    Gap,
    ThreadStart(ThreadStart),
    ThreadEnd {
        thread: u32,
    },
    SystemCall(Box<SystemCall>),
    ImageMap(Box<ImageMap>),
    ImageUnmap {
        address: u64,
        bytes: u64,
    },
    /// A device lies there from here on: what is stored there goes to it, what is loaded there comes from it.
    Device(Box<NamedRange>),
    /// The memory there has a name. That changes nothing of what steps do to it.
    Memory(Box<NamedRange>),
    /// Memory is elsewhere from here on, with what it holds.
    MemoryMove {
        from: u64,
        to: u64,
        bytes: u64,
    },
    /// Bytes have two places from here on: what they hold, and who wrote it.
    MemoryCopy {
        from: u64,
        to: u64,
        bytes: u64,
    },
    /// Memory that the kernel has taken back: nobody has written what is there.
    MemoryFresh {
        address: u64,
        bytes: u64,
    },
    /// Another process begins with the memory that this one has now.
    Fork {
        pid: u64,
    },
    /// The process has the memory with which another one began it ([`Event::Fork`] of the same
    /// number).
    Inherit {
        pid: u64,
        /// Addresses and bytes of what it can write to.
        ranges: Box<[(u64, u64)]>,
    },
    /// The kernel begins a signal handler of the thread.
    SignalDelivered {
        thread: u32,
        number: u32,
    },
    /// The thread goes on where the signal interrupted it.
    SignalEnded {
        thread: u32,
    },
    /// The steps before have given the stack pointer another value than they get by adding and subtracting: maybe that of
    /// another stack, on which the thread goes on.
    StackPointer {
        thread: u32,
        before: u64,
        behind: u64,
        /// Return addresses that stand above the new one, each with where it stands: the next few, if the recorder looks.
        above: Box<[(u64, u64)]>,
    },
    /// The processor takes an exception (an interrupt, a trap): its handler begins with the thread's
    /// next step. What the step before was to do to control it does when the handler is done.
    ExceptionEntry(ExceptionEntry),
    /// The thread goes on where its innermost exception interrupted it, or elsewhere, if its handler
    /// has seen to that.
    ExceptionReturn {
        thread: u32,
        /// The frame that the processor has taken back.
        frame: Option<u64>,
    },
    /// Behind the steps of the call that gave it.
    Allocation(Allocation),
    /// Before the steps of the call that takes it back.
    Free {
        thread: u32,
        address: u64,
    },
    /// The same of a call that gives another one for it: the thread's next allocation.
    Reallocation {
        thread: u32,
        address: u64,
    },
    /// Something that the program or its user marked.
    Marker {
        thread: u32,
        text: Box<str>,
    },
}

/// A process by the system's number and its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: Option<u64>,
    pub name: Option<Box<str>>,
}

/// A thread begins; numbers are the log's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStart {
    pub thread: u32,
    pub parent: Option<u32>,
    pub name: Option<Box<str>>,
}

/// A system call that has returned. It stands behind the step that made it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemCall {
    pub thread: u32,
    pub number: Option<i64>,
    pub name: Option<Box<str>>,
    pub result: Option<u64>,
    /// Memory that the kernel read and wrote, in its order.
    pub accesses: Vec<KernelAccess>,
}

/// Adjacent bytes that the kernel read or wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelAccess {
    pub is_write: bool,
    pub address: u64,
    pub bytes: u64,
    /// Where they come from or go to (`<read: words.txt>`); None: `<kernel>`.
    pub source: Option<Box<str>>,
}

/// A file, or memory without one, is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageMap {
    pub address: u64,
    pub bytes: u64,
    pub offset: u64,
    /// Instructions may be executed there.
    pub executable: bool,
    pub path: Option<Box<str>>,
}

/// Addresses that have a name: those of a device or of a memory. It ends within 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRange {
    pub address: u64,
    pub bytes: u64,
    pub name: Box<str>,
}

impl NamedRange {
    /// The last address; of an empty range the first.
    pub fn last(&self) -> u64 {
        self.address.saturating_add(self.bytes.saturating_sub(1))
    }
}

impl SystemCall {
    /// Name of what no program has called: a device gives what a step loads, or takes what one has
    /// stored.
    pub const DEVICE: &str = "device";
    /// The processor stores registers when it takes an exception.
    pub const EXCEPTION: &str = "exception entry";

    /// The hardware did it, no system.
    pub fn is_of_hardware(&self) -> bool {
        matches!(self.name.as_deref(), Some(SystemCall::DEVICE | SystemCall::EXCEPTION))
    }
}

impl ImageMap {
    /// The file that is mapped, unless the name is that of what the kernel or a device puts there.
    pub fn file(&self) -> Option<&str> {
        let other = ["/dev/", "/SYSV"];
        let path = self.path.as_deref().filter(|path| path.starts_with('/'))?;
        (!other.iter().any(|start| path.starts_with(start))).then_some(path)
    }
}

/// Memory that the program asked its allocator for; at address 0 it got none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub thread: u32,
    pub address: u64,
    pub bytes: u64,
}

/// An exception is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExceptionEntry {
    pub thread: u32,
    /// As the architecture counts, if the trace tells, or the program's vector table.
    pub number: Option<u32>,
    /// Address of the instruction that is to be next when the handler is done.
    pub resume: Option<u64>,
    /// Address of the frame that the processor has stored the interrupted registers in.
    pub frame: Option<u64>,
    pub keeps: Keeps,
}

/// Which registers the processor itself gives back when a handler is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    #[default]
    None,
    /// The link register, of which each mode has one of its own (32-bit ARM).
    Link,
    /// Those that a call may change, in a frame on the stack (ARM's M profile).
    Frame,
    /// The same with floating-point registers, or it is not known whether these are in it.
    LongFrame,
    /// The link register, and those that fast interrupts have of their own (32-bit ARM).
    Fast,
}

impl Keeps {
    /// Their names, those of a frame in its order: a word each.
    ///
    /// Sources: ARMv7-M Architecture Reference Manual (DDI 0403), B1.5.6; Arm Architecture Reference Manual (DDI 0406), B1.3.2.
    pub fn registers(self) -> &'static [&'static str] {
        const FRAME: [&str; 24] = [
            "r0", "r1", "r2", "r3", "r12", "lr", "pc", "cpsr", "s0", "s1", "s2", "s3", "s4", "s5",
            "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",
        ];
        match self {
            Keeps::None => &[],
            Keeps::Link => &["lr"],
            Keeps::Frame => &FRAME[..8],
            Keeps::LongFrame => &FRAME,
            Keeps::Fast => &["r8", "r9", "r10", "r11", "r12", "lr"],
        }
    }
}

/// Takes events; what a kind is not overridden for is not told.
pub trait EventSink {
    fn process_start(&mut self) {}
    fn process(&mut self, _: &Process) {}
    fn gap(&mut self) {}
    fn thread_start(&mut self, _: &ThreadStart) {}
    fn thread_end(&mut self, _thread: u32) {}
    fn system_call(&mut self, _: &SystemCall) {}
    fn image_map(&mut self, _: &ImageMap) {}
    fn device(&mut self, _: &NamedRange) {}
    fn memory(&mut self, _: &NamedRange) {}
    fn image_unmap(&mut self, _address: u64, _bytes: u64) {}
    fn memory_move(&mut self, _from: u64, _to: u64, _bytes: u64) {}
    fn memory_copy(&mut self, _from: u64, _to: u64, _bytes: u64) {}
    fn memory_fresh(&mut self, _address: u64, _bytes: u64) {}
    fn fork(&mut self, _pid: u64) {}
    fn inherit(&mut self, _pid: u64, _ranges: &[(u64, u64)]) {}
    fn signal_delivered(&mut self, _thread: u32, _number: u32) {}
    fn signal_ended(&mut self, _thread: u32) {}
    fn stack_pointer(&mut self, _thread: u32, _move: (u64, u64), _above: &[(u64, u64)]) {}
    fn exception_entry(&mut self, _: &ExceptionEntry) {}
    fn exception_return(&mut self, _thread: u32, _frame: Option<u64>) {}
    fn allocation(&mut self, _: &Allocation) {}
    fn free(&mut self, _thread: u32, _address: u64) {}
    fn reallocation(&mut self, _thread: u32, _address: u64) {}
    fn marker(&mut self, _thread: u32, _text: &str) {}
}

impl Event {
    /// Gives its threads other numbers.
    pub fn renumber(&mut self, mut number: impl FnMut(u32) -> u32) {
        let mut change = |thread: &mut u32| *thread = number(*thread);
        match self {
            Event::ThreadStart(start) => {
                // First the parent, which was first in the trace.
                start.parent.iter_mut().for_each(&mut change);
                change(&mut start.thread);
            }
            Event::SystemCall(call) => change(&mut call.thread),
            Event::Allocation(allocation) => change(&mut allocation.thread),
            Event::ExceptionEntry(entry) => change(&mut entry.thread),
            Event::ExceptionReturn { thread, .. }
            | Event::ThreadEnd { thread }
            | Event::SignalDelivered { thread, .. }
            | Event::SignalEnded { thread }
            | Event::StackPointer { thread, .. }
            | Event::Free { thread, .. }
            | Event::Reallocation { thread, .. }
            | Event::Marker { thread, .. } => change(thread),
            Event::ProcessStart | Event::Process(_) | Event::Gap => {}
            Event::ImageMap(_)
            | Event::ImageUnmap { .. }
            | Event::Device(_)
            | Event::Memory(_)
            | Event::MemoryMove { .. } => {}
            Event::MemoryCopy { .. } | Event::MemoryFresh { .. } => {}
            Event::Fork { .. } | Event::Inherit { .. } => {}
        }
    }

    /// Calls the method of its kind.
    pub fn tell(&self, sink: &mut (impl EventSink + ?Sized)) {
        match self {
            Event::ProcessStart => sink.process_start(),
            Event::Process(process) => sink.process(process),
            Event::Gap => sink.gap(),
            Event::ThreadStart(start) => sink.thread_start(start),
            Event::ThreadEnd { thread } => sink.thread_end(*thread),
            Event::SystemCall(call) => sink.system_call(call),
            Event::ImageMap(map) => sink.image_map(map),
            Event::Device(device) => sink.device(device),
            Event::Memory(memory) => sink.memory(memory),
            Event::ImageUnmap { address, bytes } => sink.image_unmap(*address, *bytes),
            Event::MemoryMove { from, to, bytes } => sink.memory_move(*from, *to, *bytes),
            Event::MemoryCopy { from, to, bytes } => sink.memory_copy(*from, *to, *bytes),
            Event::MemoryFresh { address, bytes } => sink.memory_fresh(*address, *bytes),
            Event::Fork { pid } => sink.fork(*pid),
            Event::Inherit { pid, ranges } => sink.inherit(*pid, ranges),
            Event::SignalDelivered { thread, number } => sink.signal_delivered(*thread, *number),
            Event::SignalEnded { thread } => sink.signal_ended(*thread),
            Event::StackPointer { thread, before, behind, above } => {
                sink.stack_pointer(*thread, (*before, *behind), above);
            }
            Event::ExceptionEntry(entry) => sink.exception_entry(entry),
            Event::ExceptionReturn { thread, frame } => sink.exception_return(*thread, *frame),
            Event::Allocation(allocation) => sink.allocation(allocation),
            Event::Free { thread, address } => sink.free(*thread, *address),
            Event::Reallocation { thread, address } => sink.reallocation(*thread, *address),
            Event::Marker { thread, text } => sink.marker(*thread, text),
        }
    }
}

/// What an ELF file says of its code beside the instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    pub big_endian: bool,
    /// RISC-V's Zcmp or Zcmt: their codes are not those of doubles.
    pub zcmp: bool,
}

/// Instruction sets that addfg decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// x86 in 64-bit mode
    X86_64,
    /// x86 in 32-bit mode
    X86,
    /// A32 and T32; which of the two is a property of the instruction.
    Arm,
    /// A64
    Aarch64,
    /// RV32
    Riscv32,
    /// RV64
    Riscv64,
}

/// What a trace carries, so that a view can say what is missing instead of drawing nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carries {
    pub steps: bool,
    pub opcodes: bool,
    /// Call entries and exits as records of their own (else they are found from instructions).
    pub calls: bool,
    /// Memory accesses as records of the log.
    pub accesses: bool,
    /// Register values per step.
    pub registers: bool,
    /// Register values are those before (true) or after (false) the instruction.
    pub registers_before: bool,
    /// Steps list the value of every register that they wrote: of one that is not listed it is not
    /// known any more.
    pub written_values: bool,
    /// Values of memory accesses.
    pub values: bool,
    pub time: bool,
    pub threads: bool,
    /// The code that system calls enter is part of the trace: a whole machine, not one program.
    pub kernel: bool,
    /// The log says which ARM code is Thumb (else the ELF's mapping symbols do).
    pub thumb: bool,
    /// What the kernel stored (system calls' results).
    pub kernel_stores: bool,
    /// All that anybody but an instruction stores, from the first step on: what nobody has stored is
    /// as it was when it was mapped.
    pub all_stores: bool,
    /// Which file is mapped where.
    pub mappings: bool,
    /// Dependences between instances of instructions as records of the log.
    pub dependences: bool,
    /// Paths that functions ran.
    pub paths: bool,
    /// Its runs say of each instruction whether it was executed, and have all its accesses: they were
    /// converted from a log that was elaborated.
    pub decided: bool,
}

/// Bytes of a thread's register file: `offset` is the register's address in the `register` space
/// (see [`crate::registers::Registers`]), both in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegSpan {
    pub offset: u16,
    pub size: u16,
}

impl RegSpan {
    /// Whether all bytes of `other` are bytes of this.
    pub fn contains(self, other: RegSpan) -> bool {
        self.offset <= other.offset && other.end() <= self.end()
    }

    /// Whether a byte belongs to both.
    pub fn overlaps(self, other: RegSpan) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }

    /// The offset after the last byte.
    pub fn end(self) -> u16 {
        self.offset + self.size
    }

    /// The offsets of its bytes.
    pub fn bytes(self) -> std::ops::Range<u16> {
        self.offset..self.end()
    }
}

/// One distinct instruction as a trace names it. Identity is (address, bytes, thumb,
/// log_registers).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct InsnDef {
    /// Virtual address, without the Thumb bit.
    pub address: u64,
    /// Opcode in memory order; empty where the log has none (then taken from the ELF).
    pub bytes: Vec<u8>,
    /// Bytes of the instruction if the log says so, else 0.
    pub size: u8,
    pub thumb: bool,
    /// Disassembly as the log has it.
    pub text: Option<Box<str>>,
    /// Registers that the log itself flags as read or written (Giano): what is known of an
    /// instruction that the decoder does not know ([`crate::isa::resolve`]).
    pub log_registers: Option<Box<[(RegSpan, RegUse)]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegUse {
    Read,
    Write,
    ReadWrite,
}

/// Whether the log says that the instruction's condition held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The log does not say.
    #[default]
    Unknown,
    Held,
    Failed,
}

/// A memory access as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedAccess {
    pub address: u64,
    /// In bytes; 0 where the log does not say.
    pub size: u32,
    pub is_write: bool,
    /// The value, little end first in the number, where the log has it and it fits.
    pub value: Option<u64>,
}

/// Rows of consecutive steps, in the order of the log. Columns of equal length unless said
/// otherwise.
#[derive(Clone, Debug, Default)]
pub struct StepBatch {
    /// Definitions that extend the reader's dictionary; the first has the id that follows the last
    /// one of the batch before.
    pub new_insns: Vec<InsnDef>,
    /// Index into the reader's dictionary.
    pub insn: Vec<u32>,
    /// Thread (or CPU) number as the log has it.
    pub thread: Vec<u32>,
    /// The trace's clock; empty if it has none.
    pub time: Vec<u64>,
    pub condition: Vec<Condition>,
    /// End of the step's accesses in `accesses`.
    pub access_end: Vec<u32>,
    pub accesses: Vec<LoggedAccess>,
    /// End of the step's register values in `registers`.
    pub register_end: Vec<u32>,
    /// Register values that differ from what the log said of the same thread before (a first record
    /// lists all). Registers wider than 8 bytes are given as several spans.
    pub registers: Vec<(RegSpan, u64)>,
    /// Events, each with the index of the step before which it stands (the number of steps if it
    /// stands behind all), in order.
    pub events: Vec<(u32, Event)>,
    /// Line (text) or byte offset (binary) of the first row, for messages.
    pub position: u64,
}

impl StepBatch {
    pub fn len(&self) -> usize {
        self.insn.len()
    }
    pub fn is_empty(&self) -> bool {
        self.insn.is_empty()
    }

    /// Takes the rows from `row` on out, with the events that stand before and behind them.
    pub fn split_off(&mut self, row: usize) -> StepBatch {
        let access = row.checked_sub(1).map_or(0, |last| self.access_end[last]);
        let register = row.checked_sub(1).map_or(0, |last| self.register_end[last]);
        let event = self.events.partition_point(|(at, _)| (*at as usize) < row);
        let mut rest = StepBatch {
            new_insns: Vec::new(),
            insn: self.insn.split_off(row),
            thread: self.thread.split_off(row.min(self.thread.len())),
            time: self.time.split_off(row.min(self.time.len())),
            condition: self.condition.split_off(row),
            access_end: self.access_end.split_off(row),
            accesses: self.accesses.split_off(access as usize),
            register_end: self.register_end.split_off(row),
            registers: self.registers.split_off(register as usize),
            events: self.events.split_off(event),
            position: self.position,
        };
        rest.access_end.iter_mut().for_each(|end| *end -= access);
        rest.register_end.iter_mut().for_each(|end| *end -= register);
        rest.events.iter_mut().for_each(|(at, _)| *at -= row as u32);
        rest
    }

    pub fn clear(&mut self) {
        let StepBatch {
            new_insns,
            insn,
            thread,
            time,
            condition,
            access_end,
            accesses,
            register_end,
            registers,
            events,
            position,
        } = self;
        new_insns.clear();
        insn.clear();
        thread.clear();
        time.clear();
        condition.clear();
        access_end.clear();
        accesses.clear();
        register_end.clear();
        registers.clear();
        events.clear();
        *position = 0;
    }
}

/// One step of a block's template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockStep {
    /// Index into the instruction dictionary.
    pub insn: u32,
    /// False if its condition failed.
    pub executed: bool,
    /// Number of this step's memory accesses in [`BlockDef::mem`].
    pub mem: u16,
}

/// Shape of a memory access of a block's template; its address is a value of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemShape {
    pub is_write: bool,
    /// In bytes, never 0.
    pub size: u32,
    /// Index of the memory operand in [`crate::isa::Decoded::memory`], [`MemShape::NO_OPERAND`] if
    /// it matches none.
    pub operand: u8,
}

impl MemShape {
    pub const NO_OPERAND: u8 = u8::MAX;
}

/// Template of a straight run: consecutive addresses, the same conditions, the same accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockDef {
    pub steps: Vec<BlockStep>,
    pub mem: Vec<MemShape>,
}

/// What is known of the registers at the end of a run, where the trace carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunEnd {
    /// Stack pointer after the last step of the run.
    pub sp: Option<u64>,
    /// The link register holds the address that follows the last step (so that a jump was a call).
    pub linked: bool,
    /// Where the last step goes to, if it takes that from registers.
    pub destination: Option<u64>,
}

/// Consecutive runs in the order of the log.
#[derive(Clone, Debug, Default)]
pub struct RunBatch {
    /// Definitions that extend the dictionaries of instructions and blocks.
    pub new_insns: Vec<InsnDef>,
    pub new_blocks: Vec<BlockDef>,
    pub block: Vec<u32>,
    /// Thread of each run; empty if the trace has one thread only.
    pub thread: Vec<u32>,
    /// Addresses of the memory accesses, run after run in template order.
    pub addresses: Vec<u64>,
    /// Values of the memory accesses (same index as `addresses`) and, per run behind them, nothing
    /// else; empty if the trace has no values.
    pub values: Vec<Option<u64>>,
    /// Values that the registers written by each step got: one entry for each register write of 8
    /// bytes or less in the order of (step, [`crate::isa::Decoded::writes`]); empty if the trace
    /// has no register values.
    pub register_values: Vec<Option<u64>>,
    /// One per step; empty if the trace has no clock.
    pub time: Vec<u64>,
    /// One per run; empty if the trace has no registers.
    pub end: Vec<RunEnd>,
    /// Events, each with the index of the run before which it stands (the number of runs if it
    /// stands behind all), in order.
    pub events: Vec<(u32, Event)>,
    /// Line or byte offset of the first run, for messages.
    pub position: u64,
}
