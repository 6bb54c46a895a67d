//! Act the trace itself tells of allocations.

use crate::id::ThreadId;
use crate::replay::error::ReplayError;
use crate::replay::window::WINDOW;
use duckdb::{Connection, params};
use std::collections::VecDeque;

/// A row of `allocations_told.sql`.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    /// The step behind which it stands.
    pub(super) seq: i64,
    pub(super) thread: ThreadId,
    pub(super) act: Act,
}

#[derive(Clone, Copy)]
pub(super) enum Act {
    Allocate {
        address: u64,
        bytes: u64,
    },
    Free {
        address: u64,
    },
    /// The thread's next allocation is for it.
    Reallocate {
        address: u64,
    },
}

impl Telling {
    /// The step that it comes before or, of what was given, behind.
    pub(super) fn place(&self) -> i64 {
        self.seq + i64::from(!matches!(self.act, Act::Allocate { .. }))
    }
}

/// Rows, fetched for some steps at a time.
pub(super) struct Tellings<'a> {
    connection: &'a Connection,
    /// First step whose rows are not fetched.
    fetched: i64,
    waiting: VecDeque<Telling>,
}

impl<'a> Tellings<'a> {
    pub(super) fn new(connection: &'a Connection) -> Tellings<'a> {
        Tellings { connection, fetched: 0, waiting: VecDeque::new() }
    }

    /// The next one that stands before a step, which stays the next.
    pub(super) fn peek(&mut self, before: i64) -> Result<Option<Telling>, ReplayError> {
        while self.fetched < before && self.waiting.is_empty() {
            let next = self.fetched.saturating_add(WINDOW);
            self.fetch(next - 1)?;
            self.fetched = next;
        }
        Ok(self.waiting.front().filter(|told| told.seq < before).copied())
    }

    pub(super) fn pass(&mut self) {
        self.waiting.pop_front();
    }

    fn fetch(&mut self, last: i64) -> Result<(), ReplayError> {
        let sql = include_str!("../../../queries/report/allocations_told.sql");
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.fetched, last])?;
        while let Some(r) = rows.next()? {
            let (kind, address): (String, u64) = (r.get(2)?, r.get(3)?);
            let act = match &kind[..] {
                "allocate" => {
                    Act::Allocate { address, bytes: r.get::<_, Option<u64>>(4)?.unwrap_or(0) }
                }
                "reallocate" => Act::Reallocate { address },
                _ => Act::Free { address },
            };
            self.waiting.push_back(Telling { seq: r.get(0)?, thread: r.get(1)?, act });
        }
        Ok(())
    }
}
