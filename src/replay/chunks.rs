//! The packed run: chunks as they are asked for, the last ones kept unpacked.

use super::error::ReplayError;
use crate::store::chunk::{Runs, unpack};
use crate::store::pieces;
use duckdb::{Connection, params};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Unpacked chunks that are kept: windows that go backwards, and those of a few thousand steps, ask
/// for the same ones again. A window has four, and begins and ends within one.
const KEPT: usize = 6;

/// Chunks of the run.
#[derive(Default)]
pub(super) struct Chunks {
    /// By first step, the last one that was unpacked behind.
    kept: RefCell<VecDeque<(i64, Rc<Runs>)>>,
}

impl Chunks {
    /// Gives the chunks that have steps behind `before` and up to `last`, in order.
    pub(super) fn each(
        &self,
        connection: &Connection,
        (before, last): (i64, i64),
        mut take: impl FnMut(&Runs) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let sql = include_str!("../../queries/report/replay_chunks.sql");
        let mut statement = connection.prepare(sql)?;
        let firsts = statement.query_map(params![before, last], |r| r.get(0))?;
        let firsts = firsts.collect::<duckdb::Result<Vec<i64>>>()?;
        firsts.into_iter().try_for_each(|first| take(&*self.chunk(connection, first)?))
    }

    /// The chunk that begins with a step.
    pub(super) fn chunk(
        &self,
        connection: &Connection,
        first: i64,
    ) -> Result<Rc<Runs>, ReplayError> {
        let mut kept = self.kept.borrow_mut();
        if let Some((_, runs)) = kept.iter().find(|(of, _)| *of == first) {
            return Ok(runs.clone());
        }
        // A number of a step is not negative.
        let data = pieces::chunk(connection, first.cast_unsigned())?;
        let runs = unpack(&data).map_err(|source| ReplayError::Chunk { first, source })?;
        let runs = Rc::new(runs);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((first, runs.clone()));
        Ok(runs)
    }
}
