//! Which functions are worth moving to another core, accelerator or memory, and how a program is
//! cut into parts: from the sums of functions only. [`super::cut`] has the exact figures of a set.

mod candidate;
pub mod cost;
mod figures;
pub mod loops;
pub mod memories;
mod partition;
mod parts;
mod picture;
mod run;
mod sets;

pub use cost::CostModel;
pub use run::Run;
pub use sets::{Plan, Told, Wish, plan};
