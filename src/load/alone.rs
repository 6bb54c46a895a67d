//! A chunk of a packed run that is gone through alone.

use super::error::BuildError;
use super::states;
use super::unpacked::{Replayed, Used};
use crate::analysis::Output;
use crate::analysis::shadow::{Cell, access};
use crate::analysis::state::State;
use crate::id::FunctionId;
use crate::store::chunk::{ChunkError, Runs};
use crate::store::run_state::Meets;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A chunk, and what it has to do with.
pub struct Chunk {
    pub first: u64,
    pub last: u64,
    pub meets: Meets,
}

/// Goes through chunks one by one.
pub(super) trait Goes {
    /// What comes of a chunk.
    type Made: std::marker::Send;

    /// `functions`: of each instruction.
    fn chunk(
        &mut self,
        chunk: &Chunk,
        state: &[u8],
        runs: Runs,
        functions: &[FunctionId],
    ) -> Result<Self::Made, BuildError>;
}

/// Has a pass go on from a chunk's state.
pub(super) fn resume<O: Output>(
    replayed: &mut Replayed<O>,
    chunk: &Chunk,
    state: &State,
) -> Result<(), ChunkError> {
    if !replayed.pass.fits(state) {
        return Err(ChunkError::Damaged("a state that is of another run"));
    }
    let Meets { mapped, processes, .. } = chunk.meets;
    let used = Used { mapped: mapped as usize, processes: processes.max(1) as usize };
    let sections = replayed.sections(used);
    replayed.used = used;
    replayed.pass.resume(chunk.first, state, sections);
    Ok(())
}

/// Steps of which a state knows writes, with their functions: of these, or all.
pub(super) fn steps_before(
    state: &State,
    functions: &[FunctionId],
    of: Option<&BTreeSet<FunctionId>>,
) -> FxHashMap<u64, FunctionId> {
    let step = |cell: &Cell| {
        let function = states::function(cell, functions)?;
        let wanted = of.is_none_or(|of| of.contains(&function));
        Some((access(cell.write).filter(|_| wanted)?.seq.get(), function))
    };
    state.cells().filter_map(step).collect()
}
