//! The run again, from the packed low level: pieces of straight runs with their call instances,
//! forwards or backwards.
//!
//! What no table keeps (communications inside a call, which iteration wrote what, chains of
//! dependences) is found by going through the run once more. The run is fetched in windows, so
//! memory is bounded by what an observer keeps.
//!
//! `code` has the dictionaries, `window` the pieces, `resolve` the steps with what their accesses
//! are to the dataflow, `writers` the communications. What asks for more stands on one of these.

pub mod allocations;
mod around;
mod bytes;
pub mod carried;
mod cell;
mod chunks;
pub mod code;
pub mod control;
pub mod critical;
pub mod crossing;
pub mod dependences;
mod error;
mod extreme;
mod handed;
mod handed_source;
mod mapped;
pub mod memory;
mod nest;
pub mod objects;
mod outside;
pub mod pattern;
mod places;
mod resolve;
mod reuse;
mod saves;
pub mod slice;
pub mod structure;
mod usage;
mod window;
pub mod writers;
pub mod written;

pub use around::Around;
pub use code::Code;
pub use error::ReplayError;
pub(crate) use error::slot;
pub use places::{ByPage, Places, Variable, When, places};
pub use resolve::Step;
pub use usage::{Traffic, Volume};
pub(crate) use window::column;
pub use window::{Piece, Twice};
