//! The streaming pass: shadow memory, call stacks and intervals over runs of blocks. It never sees
//! a file format.
//!
//! To read it: [`pass`] first, which goes along the runs; [`transfer`] and [`stack`] say what
//! control does, [`reads`] and [`restores`] what accesses do; [`shadow`] and [`memory`] keep last
//! writers, [`flows`] and [`sums`] what was read of them. [`block`], [`segment`] and [`superblock`]
//! prepare code so that what is the same at each run is counted once.

pub mod access;
mod activation;
pub mod block;
mod by_context;
mod call_end;
mod calls;
pub mod contexts;
mod copies;
mod data;
mod exceptions;
mod fast_path;
mod filled;
pub mod flows;
mod forking;
pub mod forks;
mod in_context;
pub mod interleaving;
mod kernel;
pub mod levels;
pub mod live_in;
pub mod memory;
mod moves;
#[cfg(test)]
mod nested;
mod noted;
pub mod operation;
mod operations;
pub mod origin;
pub mod outlived;
pub mod pass;
pub mod place;
mod prefetch;
#[cfg(test)]
mod random;
#[cfg(test)]
mod ranges;
mod read_part;
mod reads;
mod recorded_range;
mod register_window;
mod repeated_reads;
mod restores;
#[cfg(test)]
mod resumed;
pub mod saves;
pub mod segment;
pub mod shadow;
pub mod stack;
pub mod stacks;
pub mod state;
pub mod stubs;
pub mod summary;
pub mod sums;
pub mod superblock;
mod switches;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tests;
pub mod thread_state;
pub mod transfer;
#[cfg(test)]
mod wild;

use crate::event::RegSpan;
use crate::id::{AccessRef, CallId, FunctionId, Seq, ThreadId};
use access::SaveRule;
use origin::Origin;
use segment::{Order, Purpose};
use sums::Actors;

use activation::Activation;
pub use memory::Region;
pub use origin::{Source, StackSide};
pub use recorded_range::RecordedRange;
pub use stack::{Call, CallKind, Ending, Interval};
pub use stubs::{FoldedCall, MergedSteps};
pub use summary::{ContextFlow, Summary};
pub use sums::{CallEdge, FunctionSums};

/// What the pass must know of code.
pub trait CodeMap {
    /// Function (numbered in order of first call of this method) whose range holds `address`.
    fn function_at(&mut self, address: u64) -> FunctionId;
    /// Where the function is entered; none: not known, as of code outside of every function.
    fn entry(&self, function: FunctionId) -> Option<u64>;
    /// The function is a PLT stub, veneer or IFUNC resolver.
    fn is_stub(&self, function: FunctionId) -> bool;
    /// Bytes that the function copies keep their producer (`--through`).
    fn is_through(&self, function: FunctionId) -> bool;
    /// Where only a part of the run's steps is kept: what runs while an instance of the function is
    /// alive is of it.
    fn is_kept(&self, function: FunctionId) -> bool;
}

/// Which rows are asked for beside sums. Each has those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Details {
    /// None; sums by function only.
    Sums,
    /// Calls, intervals, saves, dataflow between instances; sums by instruction, too.
    Instances,
    /// Communications that cross call instances.
    Crossing,
    /// Also those inside one.
    Local,
}

/// What a pass is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub saves: SaveRule,
    pub details: Details,
    /// Times that a block must follow another before both are taken as one; no result depends on
    /// it.
    pub superblock_after: u32,
    /// Whether sums are wanted. Rows do not depend on it.
    pub sums: bool,
    /// Whether communications may come in any order. Else that of those inside an instance does not depend on
    /// where a batch ends.
    pub any_order: bool,
}

impl Options {
    #[inline]
    fn gives_instances(&self) -> bool {
        self.details >= Details::Instances
    }

    #[inline]
    fn gives_communications(&self) -> bool {
        self.details >= Details::Crossing
    }

    fn actors(&self) -> Actors {
        if self.gives_instances() { Actors::Instructions } else { Actors::Functions }
    }

    fn order(&self) -> Order {
        match self.details == Details::Local && !self.any_order {
            true => Order::AsMade,
            false => Order::ByKind,
        }
    }

    fn purpose(&self) -> Purpose {
        Purpose { saves: self.saves, actors: self.actors(), order: self.order() }
    }
}

/// A row of `communication`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Communication {
    pub write: Origin<AccessRef>,
    pub read: AccessRef,
    pub is_register: bool,
    pub address: u64,
    pub bytes: u32,
}

/// A row of `saved_register`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedRegister {
    pub call: CallId,
    /// The store.
    pub save: AccessRef,
    pub register: RegSpan,
    pub address: u64,
    pub restores: u32,
    /// Step of the last transparent restore.
    pub last_restore: Option<Seq>,
    /// Step of the read that exposed it.
    pub exposed: Option<Seq>,
}

/// A row of `dataflow`, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The writing instance and its function.
    pub writer: Origin<(CallId, FunctionId)>,
    /// The reading instance; None if the kernel read.
    pub reader: Option<CallId>,
    pub reader_function: Origin<FunctionId>,
    /// Number of a [`flows::FlowPlace`].
    pub place: u32,
    /// Other parts may have the same key when `via` is known: they are to be added up.
    pub part: bool,
    pub bytes: u64,
    pub unique: u64,
    pub transfers: u64,
}

/// A communication that is known late: its read is that of a save, which something exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    pub row: Communication,
    pub reader: FunctionId,
    /// None: no step wrote it.
    pub writer: Option<FunctionId>,
    /// It is inside one call instance.
    pub is_local: bool,
}

/// Takes the rows that the pass makes.
pub trait Output {
    fn communication(&mut self, row: Communication);
    /// One that is known late, whether communications are asked for or not.
    fn late(&mut self, _row: Late) {}
    /// `bytes_in`: bytes read that it did not write itself, where the trace has data.
    fn call(&mut self, row: Call, bytes_in: Option<u64>);
    fn interval(&mut self, row: Interval);
    fn saved_register(&mut self, row: SavedRegister);
    fn flow(&mut self, row: Flow);
    fn folded_call(&mut self, row: FoldedCall);
    /// What becomes of registers beside what steps do: at exceptions and signals.
    fn handed(&mut self, _handed: Handed) {}
}

/// Registers of a thread that somebody keeps for it, or gives it: see rules 5 and 7 of `docs/semantics.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    pub thread: ThreadId,
    /// The first step of the run that may find it done.
    pub seq: u64,
    pub what: Registers,
}

/// What becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registers {
    /// They are kept as they are, at the exception or signal of this number.
    Kept { number: u64, spans: Vec<RegSpan> },
    /// They have again what they had then.
    Back { number: u64, span: RegSpan },
    /// Nobody gets back any more what was kept then.
    Done { number: u64 },
    /// They have what is in memory at an address.
    Loaded { span: RegSpan, address: u64 },
    /// They have what a processor gives a handler.
    Given { span: RegSpan },
    /// They have what no step wrote, and nothing more is known of it.
    Unwritten { span: RegSpan },
    /// In memory, where a handler has saved them, is from now on what they had: the save's store.
    Left { span: RegSpan, store: AccessRef, address: u64 },
    /// The step itself loads what a handler has saved, and it is again its register's: the save's store.
    Restored { span: RegSpan, store: AccessRef },
}
