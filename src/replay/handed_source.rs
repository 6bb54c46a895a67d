//! What the pass tells of registers beside the steps, of the whole run or of the chunks that are asked for; and where
//! processes are made and begin.

use super::error::ReplayError;
use crate::analysis::Handed;
use crate::id::ThreadId;
use crate::load::handed;
use crate::load::parts::Parts;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};

/// Where what is handed comes from.
#[derive(Default)]
pub(super) struct HandedSource {
    /// Whether there is any.
    any: OnceCell<bool>,
    /// Of the whole run.
    all: OnceCell<Vec<Handed>>,
    /// By chunk.
    of_chunks: RefCell<BTreeMap<usize, Vec<Handed>>>,
    /// By the step before.
    forks: OnceCell<Vec<(i64, Fork)>>,
}

/// A process is made by the step before, or begins in a thread. The number is its place among all that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    pub number: u64,
    pub begins_in: Option<ThreadId>,
}

impl HandedSource {
    /// Whether there is any, as far as that was asked.
    pub fn is_any(&self) -> bool {
        self.any.get() == Some(&true)
    }

    /// Where processes are made and begin, in order. Those that begin and have no parent in the run are left out.
    pub fn forks(&self, connection: &Connection) -> Result<&[(i64, Fork)], ReplayError> {
        if let Some(forks) = self.forks.get() {
            return Ok(forks);
        }
        // Processes come one behind the other.
        let sql = "SELECT min(thread_id), CAST(sum(steps) AS BIGINT) FROM thread GROUP BY process_id ORDER BY min(thread_id)";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let (mut firsts, mut behind) = (FxHashMap::default(), 0i64);
        while let Some(r) = rows.next()? {
            let (thread, steps): (ThreadId, Option<i64>) = (r.get(0)?, r.get(1)?);
            let steps = steps.unwrap_or(0);
            if steps > 0 {
                firsts.insert(behind, thread);
            }
            behind = behind.saturating_add(steps);
        }
        let mut forks: Vec<(i64, Fork)> = Vec::new();
        // A number may be used again.
        let mut made: FxHashMap<u64, VecDeque<u64>> = FxHashMap::default();
        if firsts.len() > 1 {
            for (number, (seq, fork)) in (0..).zip(handed::forks(connection)?) {
                let seq = seq.cast_signed();
                match fork {
                    handed::Fork::Made { pid } => {
                        made.entry(pid).or_default().push_back(number);
                        forks.push((seq, Fork { number, begins_in: None }));
                    }
                    handed::Fork::Begins { pid } => {
                        // Of those that begin at one place, one has steps: the last.
                        forks.pop_if(|(at, fork)| *at == seq && fork.begins_in.is_some());
                        let number = made.get_mut(&pid).and_then(VecDeque::pop_front);
                        if let Some((number, &thread)) = number.zip(firsts.get(&seq)) {
                            forks.push((seq, Fork { number, begins_in: Some(thread) }));
                        }
                    }
                }
            }
        }
        Ok(self.forks.get_or_init(|| forks))
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
