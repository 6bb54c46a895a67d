//! Slices: where a value came from, and where it goes, step by step through memory, registers and
//! control dependences.
//!
//! Backwards the run is gone through from the criterion to its beginning with the cells that are
//! still wanted; forwards, to its end with the cells that are affected. Both take memory by the
//! cells, not by the run. Saved registers keep their producer.

mod backward;
mod forward;
mod found;
mod storage;

pub use backward::backward;
pub use forward::forward;
pub use found::{Bounds, Criterion, Slice, SliceEdge, Source};
