//! Heap allocations of a run, and the accesses to each: calls of allocation functions, with
//! arguments and results as the trace tells them, or from the values of the registers that pass them.
//!
//! An allocation lives from the step after the call that gave it to the step before the call that
//! takes it back. Only the outermost call of an allocation function counts, and what runs within it
//! is the allocator's own work.

mod calls;
mod finder;
mod found;
mod functions;
mod heap;
mod knowledge;
mod named;
mod registers;
mod told;

pub use finder::allocations;
pub(in crate::replay) use finder::{Finder, Holder, Lifetime};
pub use found::{Allocations, Site};
pub use functions::{Allocator, allocator};
pub(in crate::replay) use knowledge::{are_known, may_be_known};
pub use named::named;
