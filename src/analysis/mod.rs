//! The streaming pass: shadow memory, call stacks and intervals over runs of blocks. It never sees
//! a file format.

pub mod block;
pub mod pass;
pub mod paths;
pub mod shadow;
pub mod stack;
pub mod superblock;

pub use stack::{CallKind, Ending};

/// What the pass must know of code.
pub trait CodeMap {
    /// Function (id from 1, in order of first call of this method) whose range holds `address`.
    fn function_at(&mut self, address: u64) -> u32;
    /// The function is a PLT stub, veneer or IFUNC resolver.
    fn is_stub(&self, function: u32) -> bool;
    /// Bytes that the function copies keep their producer (`--through`).
    fn is_through(&self, function: u32) -> bool;
}

/// A row of `communication`; `write` 0 if no step wrote the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Communication {
    pub write: shadow::AccessId,
    pub read: shadow::AccessId,
    pub is_register: bool,
    pub address: u64,
    pub bytes: u32,
}

/// A row of `function_call`; 0 is NULL for ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub call: u32,
    pub function: u32,
    pub instance: u32,
    pub parent: u32,
    pub tail_of: u32,
    pub thread: u32,
    pub depth: u32,
    pub kind: CallKind,
    pub ending: Ending,
    pub call_seq: u64,
    pub return_seq: u64,
    pub call_time: Option<u64>,
    pub return_time: Option<u64>,
    pub call_insn: Option<u32>,
    pub steps_self: u64,
    pub steps_total: u64,
    /// Bytes read that it did not write itself, where the trace has data.
    pub bytes_in: Option<u64>,
}

/// A row of `control_flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub interval: u32,
    pub thread: u32,
    pub call: u32,
    pub function: u32,
    pub start_seq: u64,
    pub end_seq: u64,
    pub start_time: Option<u64>,
    pub end_time: Option<u64>,
}

/// A row of `loop_instance`; 0 is NULL for ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopInstance {
    pub loop_instance: u32,
    /// Loop, from 0.
    pub number: u32,
    pub instance: u32,
    pub call: u32,
    pub parent: u32,
    pub thread: u32,
    pub start_seq: u64,
    pub end_seq: u64,
    pub iterations: u64,
}

/// A row of `saved_register`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedRegister {
    pub call: u32,
    pub save: shadow::AccessId,
    pub register: u16,
    pub bytes: u16,
    pub address: u64,
    /// Step of the last transparent restore, 0 if none.
    pub restore_seq: u64,
    pub restores: u32,
    /// Step of the read that exposed it, 0 if none.
    pub exposed_seq: u64,
}

/// A row of `dataflow`, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub writer: Writer,
    pub reader: u32,
    pub reader_function: u32,
    /// Number of [`pass::FlowPlace`].
    pub place: u32,
    /// Other parts may have the same key when `via` is known: they are to be added up.
    pub part: bool,
    pub bytes: u64,
    pub unique: u64,
    pub transfers: u64,
}

/// Who wrote: an instance, or nobody (see "writers of bytes that no step wrote" in
/// `docs/semantics.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Writer {
    Call {
        call: u32,
        function: u32,
    },
    /// No step; at or above the first stack pointer if true.
    None {
        above: bool,
    },
}

/// Takes the rows that the pass makes.
pub trait Output {
    fn communication(&mut self, row: Communication);
    fn call(&mut self, row: Call);
    fn interval(&mut self, row: Interval);
    fn saved_register(&mut self, row: SavedRegister);
    fn flow(&mut self, row: Flow);
}
