//! The parts of a packed run in which functions of a set are open, each gone through with rows of its own on
//! a connection of its own, on as many processors as there are.

use super::code::{Code, steps_of};
use super::error::ReplayError;
use crate::id::FunctionId;
use crate::load::packed::{self, Wanted};
use crate::load::parts::Parts;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Chunks that are gone through together at least, if there are so many: their rows are in memory.
const TOGETHER: usize = 32;

/// Where functions of a set are open.
pub struct Around<'a> {
    connection: &'a Connection,
    parts: Parts,
    wanted: Wanted,
    /// Of chunks, by place: at the ends of each none of the set is open.
    ranges: Vec<Range<usize>>,
}

impl<'a> Around<'a> {
    /// None: the run is not packed, has no states, or all rows are there.
    ///
    /// # Errors
    /// Where the database is damaged.
    pub fn open(connection: &'a Connection) -> Result<Option<Around<'a>>, ReplayError> {
        let wanted = Wanted::calls();
        let parts = Parts::without_rows(connection, &wanted)?;
        Ok(parts.map(|parts| Around { connection, parts, wanted, ranges: Vec::new() }))
    }

    /// Looks for where functions of a set are open.
    ///
    /// # Errors
    /// Where a state is damaged.
    pub fn find(&mut self, set: &BTreeSet<FunctionId>) -> Result<(), ReplayError> {
        self.ranges = self.parts.around(self.connection, set)?;
        Ok(())
    }

    /// Goes through the parts, which are [`Code::ranges`] of what `take` gets, and gives what it finds in
    /// their order.
    ///
    /// # Errors
    /// Where a chunk or a state is damaged, and those of `take`.
    pub fn each<T: Send>(
        &self,
        take: impl Fn(&Code, &Connection) -> Result<T, ReplayError> + Sync,
    ) -> Result<Vec<T>, ReplayError> {
        let groups = groups(&self.ranges);
        let chunks: Vec<usize> =
            groups.iter().map(|group| group.iter().map(ExactSizeIterator::len).sum()).collect();
        let all = chunks.iter().sum::<usize>() as u64;
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(groups.len());
        let connections = (0..workers).map(|_| self.connection.try_clone().map(Mutex::new));
        let connections = connections.collect::<duckdb::Result<Vec<_>>>()?;
        let (next, apart, wanted) = (AtomicUsize::new(0), self.parts.apart(), &self.wanted);
        let (sender, receiver) = mpsc::channel();
        let part = |connection: &Connection, group: &[Range<usize>]| -> Result<T, ReplayError> {
            // Rows of a connection end with it.
            let connection = connection.try_clone()?;
            let parts = apart.open(&connection, wanted)?;
            parts.ensure(&connection, wanted, group.iter().cloned().flatten())?;
            let mut code = Code::open_steps(&connection)?;
            let range = |chunks: &Range<usize>| {
                let chunks = parts.chunks().get(chunks.clone()).unwrap_or_default();
                Some((steps_of(chunks.first()?).0, steps_of(chunks.last()?).1))
            };
            code.ranges = group.iter().filter_map(range).collect();
            take(&code, &connection)
        };
        std::thread::scope(|scope| {
            for connection in connections {
                let (sender, groups, next, part) = (sender.clone(), &groups, &next, &part);
                scope.spawn(move || {
                    let Ok(connection) = connection.into_inner() else { return };
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(group) = groups.get(at) else { return };
                        let found = part(&connection, group);
                        let failed = found.is_err();
                        if sender.send((at, found)).is_err() || failed {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let (mut found, mut done) = (BTreeMap::new(), 0);
            for (at, of) in receiver {
                found.insert(at, of?);
                done += chunks[at] as u64;
                packed::tell(done, all);
            }
            Ok(found.into_values().collect())
        })
    }
}

/// Ranges that are gone through together, in order.
fn groups(ranges: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    let (mut groups, mut chunks) = (Vec::<Vec<Range<usize>>>::new(), TOGETHER);
    for range in ranges {
        if chunks >= TOGETHER {
            groups.push(Vec::new());
            chunks = 0;
        }
        groups.last_mut().into_iter().for_each(|group| group.push(range.clone()));
        chunks += range.len();
    }
    groups
}
