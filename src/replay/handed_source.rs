//! What the pass tells of registers beside the steps, of the whole run or of the chunks that are asked for.

use super::error::ReplayError;
use crate::analysis::Handed;
use crate::load::handed;
use crate::load::parts::Parts;
use duckdb::Connection;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// Where what is handed comes from.
#[derive(Default)]
pub(super) struct HandedSource {
    /// Whether there is any.
    any: OnceCell<bool>,
    /// Of the whole run.
    all: OnceCell<Vec<Handed>>,
    /// By chunk.
    of_chunks: RefCell<BTreeMap<usize, Vec<Handed>>>,
}

impl HandedSource {
    /// Whether there is any, as far as that was asked.
    pub fn is_any(&self) -> bool {
        self.any.get() == Some(&true)
    }

    /// What the steps from `first` to `last` find, in order.
    pub fn between(
        &self,
        connection: &Connection,
        parts: Option<&Parts>,
        (first, last): (i64, i64),
    ) -> Result<Vec<Handed>, ReplayError> {
        let any = match self.any.get() {
            Some(any) => *any,
            None => {
                let sql = "SELECT EXISTS (FROM signal_event_row)";
                let any = connection.query_row(sql, [], |r| r.get(0))?;
                *self.any.get_or_init(|| any)
            }
        };
        let [first, last] = [first, last].map(|seq| u64::try_from(seq).unwrap_or(0));
        let is_between = |of: &&Handed| (first..=last).contains(&of.seq);
        let Some(parts) = parts.filter(|_| any) else {
            let all = match self.all.get() {
                Some(all) => all,
                None => {
                    let all = if any { handed::all(connection)? } else { Vec::new() };
                    self.all.get_or_init(|| all)
                }
            };
            return Ok(all.iter().filter(is_between).cloned().collect());
        };
        let mut of_chunks = self.of_chunks.borrow_mut();
        let chunks = parts.of_steps(first, last);
        let new: Vec<usize> = chunks.clone().filter(|at| !of_chunks.contains_key(at)).collect();
        parts.handed(connection, &new, |at, found| {
            of_chunks.insert(at, found);
        })?;
        let found = of_chunks.range(chunks).flat_map(|(_, found)| found);
        Ok(found.filter(is_between).cloned().collect())
    }
}
