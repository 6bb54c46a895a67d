//! What becomes of registers beside what steps do, at exceptions and signals, for those that go along the steps
//! again: only the pass knows it.

use super::alone::{Chunk, Goes, resume};
use super::error::BuildError;
use super::options::Detail;
use super::packed::{self, Run, each_chunk};
use super::states;
use super::unpacked::Replayed;
use crate::analysis::pass::Pass;
use crate::analysis::{
    Call, Communication, Flow, FoldedCall, Handed, Interval, Output, SavedRegister,
};
use crate::event::{Event, RunBatch};
use crate::id::FunctionId;
use crate::store::chunk::Runs;
use crate::store::run_state::unpack_state;
use duckdb::Connection;
use std::collections::BTreeSet;

#[derive(Default)]
struct Found(Vec<Handed>);

impl Output for Found {
    fn communication(&mut self, _: Communication) {}
    fn call(&mut self, _: Call, _: Option<u64>) {}
    fn interval(&mut self, _: Interval) {}
    fn saved_register(&mut self, _: SavedRegister) {}
    fn flow(&mut self, _: Flow) {}
    fn folded_call(&mut self, _: FoldedCall) {}
    fn handed(&mut self, handed: Handed) {
        self.0.push(handed);
    }
}

/// Finds it in chunks.
pub(super) struct Finder {
    replayed: Replayed<Found>,
}

impl Finder {
    pub fn new(run: &Run) -> Finder {
        let options = packed::without_sums(run.literal, Detail::Instance);
        let (code, nobody) = (run.code.clone(), BTreeSet::new());
        let replayed = Replayed::new(code, run.threads, options, &nobody, Found::default(), true);
        Finder { replayed }
    }
}

impl Goes for Finder {
    type Made = Vec<Handed>;

    fn chunk(
        &mut self,
        chunk: &Chunk,
        state: &[u8],
        runs: Runs,
        _: &[FunctionId],
    ) -> Result<Vec<Handed>, BuildError> {
        let damaged = |source| BuildError::Chunk { first: chunk.first, source };
        let state = unpack_state(state).map_err(damaged)?;
        resume(&mut self.replayed, chunk, &state).map_err(damaged)?;
        self.replayed.pass.output().0.clear();
        let mut push = |pass: &mut Pass<_, Found>, batch: &RunBatch| pass.push(batch);
        self.replayed.chunk(runs, &mut push).map_err(damaged)?;
        Ok(std::mem::take(&mut self.replayed.pass.output().0))
    }
}

/// A process that is made or begins, and its number in the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    Made { pid: u64 },
    Begins { pid: u64 },
}

/// Those of a packed run, each with the last step before it.
///
/// # Errors
/// Where the database is damaged.
pub fn forks(connection: &Connection) -> Result<Vec<(u64, Fork)>, BuildError> {
    let mut found = Vec::new();
    states::each_event(connection, |seq, event| match event {
        Event::Fork { pid } => found.push((seq, Fork::Made { pid: *pid })),
        Event::Inherit { pid, .. } => found.push((seq, Fork::Begins { pid: *pid })),
        _ => {}
    })?;
    Ok(found)
}

/// All of a packed run, in its order.
///
/// # Errors
/// Where the database is damaged.
pub fn all(connection: &Connection) -> Result<Vec<Handed>, BuildError> {
    let mut replayed = Finder::new(&Run::read(connection)?).replayed;
    each_chunk(connection, |first, runs| {
        let damaged = |source| BuildError::Chunk { first, source };
        let mut push = |pass: &mut Pass<_, Found>, batch: &RunBatch| pass.push(batch);
        // Blocks are prepared when they run.
        replayed.chunk(runs, &mut push).map_err(damaged)
    })?;
    Ok(std::mem::take(&mut replayed.pass.output().0))
}
