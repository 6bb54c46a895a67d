//! Rows of a packed run by chunks, for table functions (`scan`): each chunk is gone through alone, and
//! what began in one and ended in another is known beside.

use super::alone::Goes;
use super::error::BuildError;
use super::options::Detail;
use super::packed::{Wanted, one_chunk};
use super::parts::{self, Packed, Worker, begun, has};
use super::rows::Ends;
use crate::id::FunctionId;
use crate::store::run_state::Part;
use crate::store::source::Source;
use crate::store::table::Batch;
use std::collections::BTreeSet;

/// Rows of which each chunk has some.
pub struct ByChunk {
    packed: Packed,
    wanted: Wanted,
    /// Places of the chunks that may have some.
    chosen: Vec<usize>,
}

impl ByChunk {
    /// Communications from some functions to others, as detail `pairs` has them; without such, all. `reads`: the chunks of
    /// these steps only, and what is known beside them. None: the chunks of this run cannot be gone through alone.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn communications(
        source: &dyn Source,
        ends: Option<(BTreeSet<FunctionId>, BTreeSet<FunctionId>)>,
        reads: (u64, u64),
    ) -> Result<Option<ByChunk>, BuildError> {
        let Some(packed) = Packed::read(source)? else { return Ok(None) };
        let mut chosen: Vec<usize> = match &ends {
            Some((writers, readers)) => {
                parts::of_ends(&packed.chunks, &packed.run.code, writers, readers)
            }
            None => (0..packed.chunks.len()).collect(),
        };
        chosen.retain(|at| {
            let chunk = &packed.chunks[*at];
            chunk.first <= reads.1 && chunk.last >= reads.0
        });
        let ends = ends.map(|(writers, readers)| Ends { writers, readers, either: false });
        let wanted = Wanted { ends, low: false, ..Wanted::all(Detail::Pairs) };
        Ok(Some(ByChunk { packed, wanted, chosen }))
    }

    /// Calls of some functions, among others; without such, all. None: as above.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn calls(
        source: &dyn Source,
        of: Option<&BTreeSet<FunctionId>>,
    ) -> Result<Option<ByChunk>, BuildError> {
        let Some(packed) = Packed::read(source)? else { return Ok(None) };
        let runs = |at: &usize| of.is_none_or(|of| has(&packed.chunks[*at].meets.runs, of));
        let chosen = (0..packed.chunks.len()).filter(runs).collect();
        Ok(Some(ByChunk { packed, wanted: Wanted::calls(), chosen }))
    }

    /// Chunks that may have some.
    pub fn chunks(&self) -> usize {
        self.chosen.len()
    }

    /// What began in one chunk and ended in another one.
    pub fn begun(&self) -> Vec<Batch> {
        begun(&self.packed.ended, &self.packed.run.code, &self.wanted)
    }

    /// Goes through chunks, one after the other. `number`: no two have the same.
    pub fn worker(&self, number: usize) -> OfChunks<'_> {
        OfChunks { of: self, worker: Worker::new(&self.packed.run, &self.wanted, 1 + number) }
    }
}

/// Makes the rows of chunks.
pub struct OfChunks<'a> {
    of: &'a ByChunk,
    worker: Worker<'a>,
}

impl OfChunks<'_> {
    /// Those of one of [`ByChunk::chunks`].
    ///
    /// # Errors
    /// Where the chunk or its state is damaged.
    pub fn rows(&mut self, source: &dyn Source, place: usize) -> Result<Vec<Batch>, BuildError> {
        let ByChunk { packed, chosen, .. } = self.of;
        let chunk = &packed.chunks[chosen[place]];
        let state = Part::State.of(source, chunk.first)?;
        let runs = one_chunk(source, chunk.first)?;
        self.worker.chunk(chunk, &state, runs, &packed.functions)
    }
}
