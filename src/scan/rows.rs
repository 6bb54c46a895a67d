//! What a table function is: arguments, columns, and rows that are made in parts.

use crate::store::source::{Block, Cells, Kind, Source, one};
use std::sync::Arc;

/// What is read through, from any thread.
pub type Shared = Arc<dyn Source + Send + Sync>;

/// Where databases are read through.
pub trait Sources: Send + Sync {
    /// That of one database; None: the one that is in use.
    ///
    /// # Errors
    /// There is none, or it is not addfg's.
    fn source(&self, database: Option<&str>) -> Result<Shared, Error>;
    /// Makes what chunks need to be gone through alone.
    ///
    /// # Errors
    /// It cannot be made here.
    fn prepare(&self) -> Result<(), Error>;
}

/// What goes wrong is told by DuckDB, as text.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A column that a function gives.
pub(super) struct Given {
    pub name: &'static str,
    pub kind: Kind,
}

pub(super) const fn given(name: &'static str, kind: Kind) -> Given {
    Given { name, kind }
}

/// An argument of a function; None: NULL, no bound.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Step(Option<u64>),
    Function(Option<String>),
}

/// A table function.
pub(super) struct Function {
    pub name: &'static str,
    /// Of each argument, whether it is a step and not the name of a function.
    pub steps: [bool; 2],
    pub arguments: usize,
    /// Steps that may be given by a name; they stand behind the others.
    pub named: &'static [&'static str],
    pub columns: &'static [Given],
    /// Finds out what its rows are made of. None: of chunks that cannot be gone through alone yet.
    pub open: fn(&dyn Source, &[Argument]) -> Result<Option<Box<dyn Rows>>, Error>,
}

/// The rows of a function, in parts that can be made at once.
pub(super) trait Rows: Send + Sync {
    fn parts(&self) -> usize;
    /// Makes parts in one thread. `number`: no two have the same.
    fn worker(&self, number: usize) -> Box<dyn Worker + '_>;
}

/// Takes rows; false: nobody wants more.
pub(super) type Give<'a> = &'a mut dyn FnMut(Block) -> bool;

pub(super) trait Worker {
    /// The rows of a part, with some of the function's columns, by place.
    fn part(
        &mut self,
        source: &dyn Source,
        part: usize,
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error>;
}

/// Whether the run is packed.
pub(super) fn is_packed(source: &dyn Source) -> Result<bool, Error> {
    holds(source, "SELECT count(*) > 0 FROM run_code")
}

/// Whether rows of calls are to be made of chunks, or of communications: the database has none, or of a part only.
pub(super) fn lacks_rows(source: &dyn Source, communications: bool) -> Result<bool, Error> {
    let details = if communications { "'pairs', 'full'" } else { "'instance', 'pairs', 'full'" };
    let sql = format!(
        "SELECT count(*) FILTER (key = 'detail' AND value IN ({details})) = 0
                OR count(*) FILTER (key IN ('pairs_in', 'range') AND value IS NOT NULL) > 0 FROM meta"
    );
    let lacks = holds(source, &sql)?;
    if is_packed(source)? {
        return Ok(lacks);
    }
    if lacks && holds(source, "SELECT count(*) > 0 FROM meta WHERE key = 'longest_block'")? {
        return Err(ONLY_SUMS.into());
    }
    Ok(false)
}

/// What is said of a database that has sums, and neither rows nor a packed run.
const ONLY_SUMS: &str = "this database has sums only, as it was made with --no-steps or with --detail summary: record or build it again \
                         without";

/// Refuses a database that keeps no steps of a run that had some.
pub(super) fn keeps_steps(source: &dyn Source) -> Result<(), Error> {
    let sql = "SELECT count(*) > 0 AND NOT EXISTS (SELECT 1 FROM block_run) FROM meta WHERE key = 'longest_block'";
    if !is_packed(source)? && holds(source, sql)? { Err(ONLY_SUMS.into()) } else { Ok(()) }
}

fn holds(source: &dyn Source, sql: &str) -> Result<bool, Error> {
    Ok(one(source, sql, Kind::Boolean)?.cells == Cells::Boolean(vec![true]))
}
