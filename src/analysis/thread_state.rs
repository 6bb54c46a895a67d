//! What the pass carries of a thread from one part of the run to the next, and of what waits for it: see
//! [`super::state`]. A forked process begins with it, too.

use super::levels::{Interrupted, Kept, Levels};
use super::saves::Store;
use super::shadow::{AccessId, Cell};
use super::stack::Point;
use super::stacks::Running;
use super::transfer::{End, Previous};
use crate::event::RegSpan;
use crate::id::{CallId, FunctionId, IntervalId, ThreadId};

/// The state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// Live instances, the outermost first.
    pub frames: Vec<FrameState>,
    /// The interval of the last one.
    pub interval: Option<IntervalId>,
    pub last: Point,
    pub previous: Option<Previous>,
    pub registers: Vec<(RegSpan, Cell)>,
    /// Bytes whose version a live save has.
    pub pending: Vec<(RegSpan, AccessId)>,
    /// The stack on which it runs.
    pub running: Running,
    pub levels: Levels<TaskState>,
    /// Registers that handlers of signals give back, with the numbers of these, the oldest first.
    pub signals: Vec<(u64, Vec<Kept>)>,
}

/// A task that waits, as [`Task`](super::levels::Task) has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// Live instances, the outermost first.
    pub frames: Vec<FrameState>,
    pub open: Vec<Interrupted>,
    pub interrupted: Interrupted,
}

/// A stack on which calls wait, as [`Waiting`](super::stacks::Waiting) has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingState {
    /// The thread that left it.
    pub thread: ThreadId,
    /// Live instances, the outermost first.
    pub frames: Vec<FrameState>,
    /// The stack pointer that it left.
    pub left: u64,
    pub base: u64,
    pub elsewhere: Option<(u64, u64)>,
}

/// A live instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameState {
    pub call: CallId,
    pub function: FunctionId,
    pub token: End,
    pub saves: Vec<SaveState>,
}

/// A live save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveState {
    pub store: Store,
    /// Bytes of the register as they were, and the save that was pending before.
    pub pieces: Vec<(RegSpan, Cell, AccessId)>,
    pub left: u16,
}
