//! Numbers of things: dense from 1 in order of first appearance, the same in Rust and in the
//! tables.
//!
//! They are never 0, so that an `Option` of one is four bytes and NULL is `None`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU32);

        // Each kind of id has them all, used or not.
        #[allow(dead_code)]
        impl $name {
            pub const FIRST: $name = $name(NonZeroU32::MIN);

            /// The id with this number; None for 0, which stands for no id in packed data.
            #[inline]
            pub const fn new(number: u32) -> Option<$name> {
                match NonZeroU32::new(number) {
                    Some(n) => Some($name(n)),
                    None => None,
                }
            }

            /// The id of what stands at `index` (from 0) of a list in order of ids.
            #[inline]
            pub const fn at(index: usize) -> $name {
                match NonZeroU32::new(index as u32 + 1) {
                    Some(n) => $name(n),
                    None => $name(NonZeroU32::MAX),
                }
            }

            /// Its place, from 0, in a list in order of ids.
            #[inline]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }

            #[inline]
            pub const fn get(self) -> u32 {
                self.0.get()
            }

            /// As the tables have it.
            #[inline]
            pub const fn column(self) -> i32 {
                self.0.get() as i32
            }

            /// The id in a column of a table; None for what no table has: 0 and below.
            pub fn from_column(number: i32) -> Option<$name> {
                u32::try_from(number).ok().and_then($name::new)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "{}#{}", stringify!($name), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// `process.process_id`
    ProcessId,
    /// `thread.thread_id`: dense, whatever numbers the trace has.
    ThreadId,
    /// `image.image_id`
    ImageId,
    /// `section.section_id`
    SectionId,
    /// `source_file.file_id`
    FileId,
    /// `function_symbol.function_id`
    FunctionId,
    /// `instruction.instruction_id`
    InstructionId,
    /// A call that the compiler inlined: `inlined_call.inlined_call_id`
    InlinedCallId,
    /// Who wrote or read, as the pass tells them apart: an instruction, or no more than its function.
    ActorId,
    /// Block of the packed low level.
    BlockId,
    /// `function_call.call_id`
    CallId,
    /// `control_flow.interval_id`
    IntervalId,
    /// `loop.loop_id`
    LoopId,
    /// A calling context, where a format has them.
    StackId,
}

/// A step's place in the trace, from 1: `opcode_line.seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seq(NonZeroU64);

impl Seq {
    pub const FIRST: Seq = Seq(NonZeroU64::MIN);

    /// None for 0, which is before the first step.
    #[inline]
    pub const fn new(number: u64) -> Option<Seq> {
        match NonZeroU64::new(number) {
            Some(n) => Some(Seq(n)),
            None => None,
        }
    }

    #[inline]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

/// An access: a step and the ordinal within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessRef {
    pub seq: Seq,
    pub ordinal: u16,
}

macro_rules! actors {
    ($($id:ty),+) => {$(
        impl From<$id> for ActorId {
            #[inline]
            fn from(id: $id) -> ActorId {
                ActorId(id.0)
            }
        }
    )+};
}

actors!(FunctionId, InstructionId);
