//! Which functions are worth moving to another core, accelerator or memory, and how a program is
//! cut into parts: from the sums of functions. What crosses is estimated, or counted (`exact.rs`) as [`super::cut`] does.

mod candidate;
pub mod cost;
pub mod exact;
mod figures;
mod fold;
pub mod loops;
pub mod memories;
mod partition;
mod parts;
mod picture;
mod run;
mod sets;

pub use candidate::{Candidate, Count};
pub use cost::CostModel;
pub use parts::Parts;
pub use run::Run;
pub use sets::{Plan, Told, Wish, plan};
