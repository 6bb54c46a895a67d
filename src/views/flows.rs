//! Every communication from a set of functions to another.
//!
//! What function a step is of takes a look-up by range, which DuckDB does by sorting (ASOF). So
//! that this stays small, `dataflow` says first which part of the run has what is wanted, and that
//! part is gone through in windows until there is enough.

use super::listing::Listing;
use super::{ViewError, cut, report};
use crate::graph::{Facts, GraphError, resolve_function};
use crate::id::FunctionId;
use crate::load::Detail;
use crate::text::{list, visible};
use duckdb::types::Value;
use duckdb::{Connection, params};
use search::Search;
use std::collections::BTreeSet;

mod chunks;
mod search;

/// One end of the communications that are wanted.
#[derive(Clone, Debug)]
pub struct End {
    pub functions: BTreeSet<FunctionId>,
    /// Of a single function: one call of it.
    pub instance: Option<i32>,
}

impl End {
    /// What a person means: one function as everywhere, also `f#N`, a group by its name, or a list
    /// of words as [`cut::choose`] takes them, in which groups may stand, too. `groups`: each by its
    /// name and the words for its functions; a group is meant before a function of its name.
    pub fn find(
        connection: &Connection,
        text: &str,
        groups: &[(String, Vec<String>)],
    ) -> Result<End, ViewError> {
        let is_group = |word: &str| groups.iter().any(|(name, _)| name == word);
        if !is_group(text.trim()) {
            // A name may have commas in it: f(int, int).
            match resolve_function(connection, text) {
                Ok(one) => {
                    let functions = BTreeSet::from([one.function_id]);
                    return Ok(End { functions, instance: one.instance });
                }
                Err(GraphError::NoFunction { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let choose = |text: &str| {
            let mut words = Vec::new();
            for word in list(text) {
                if is_group(&word) {
                    let named = groups.iter().filter(|(name, _)| *name == word);
                    words.extend(named.flat_map(|(_, functions)| functions.clone()));
                } else {
                    words.push(word);
                }
            }
            cut::choose(connection, &words)
        };
        if let Some((set, number)) = text.rsplit_once('#')
            && number.parse::<i32>().is_ok()
            && choose(set).is_ok()
        {
            return Err(ViewError::NoInstanceOfSet { text: visible(set).into_owned() });
        }
        Ok(End { functions: choose(text)?, instance: None })
    }
}

/// From which functions to which, and of which of the latter's instances (None: all).
#[derive(Clone, Debug)]
pub struct Ends {
    writers: BTreeSet<FunctionId>,
    readers: BTreeSet<FunctionId>,
    instance: Option<i32>,
    /// First and last step that reads.
    steps: (i64, i64),
}

/// Whether the trace has dependences between instances instead of communications.
pub fn has_dependences(connection: &Connection) -> duckdb::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM dependence_edge", [], |r| r.get(0))
}

/// Sums by pair of instructions, the largest first.
pub fn sums(connection: &Connection, ends: &Ends, limit: i64) -> Result<Listing, ViewError> {
    super::rows::ensure(connection, Detail::Instance)?;
    if Facts::find(connection)?.only_functions {
        return Err(ViewError::OnlyFunctions);
    }
    let sql = if has_dependences(connection)? {
        report!("flows_dependence_sum")
    } else {
        report!("flows_sum")
    };
    ends.store(connection)?;
    Ok(ends.listing(sql, [Value::BigInt(limit)]))
}

/// Single dependences.
pub fn dependences(connection: &Connection, ends: &Ends, limit: i64) -> Result<Listing, ViewError> {
    let any: bool =
        connection.query_row("SELECT count(*) > 0 FROM dependence", [], |r| r.get(0))?;
    if !any {
        return Err(ViewError::NoDependences);
    }
    ends.store(connection)?;
    Ok(ends.listing(report!("flows_dependence"), [Value::BigInt(limit)]))
}

/// Communications in the order of the reads.
pub struct Found {
    pub listing: Listing,
    /// How many transfers there are in all; None: of a call whose part of the run was not gone through to
    /// its end.
    pub transfers: Option<i64>,
    /// Functions that read what they wrote themselves, and the bytes of it, where that is not kept
    /// singly and so not listed.
    pub left_out: (i64, i64),
}

/// Single communications.
pub fn communications(
    connection: &Connection,
    ends: &Ends,
    limit: i64,
) -> Result<Found, ViewError> {
    let parts = super::rows::parts_between(connection, &ends.writers, &ends.readers)?;
    if parts.is_none() {
        super::rows::ensure_between(connection, &ends.writers, &ends.readers)?;
    }
    let detail: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Err(ViewError::NoCommunications { detail });
    }
    // Of what a function reads of its own, other details keep what crosses from call to call only.
    let inside = detail == "full";
    if !inside && ends.writers == ends.readers && ends.is_pair() {
        return Err(ViewError::NoneInside { detail });
    }
    let sql = "SELECT count(*) > 0 FROM (FROM block_run LIMIT 1)";
    if parts.is_none() && !connection.query_row(sql, [], |r| r.get::<_, bool>(0))? {
        let why = crate::store::open::why_no_steps(connection)?;
        return Err(ViewError::NoSteps { why });
    }
    ends.store(connection)?;
    let search = Search::begin(connection, ends.instance, inside)?;
    let transfers = match parts {
        Some(parts) => {
            chunks::find(&search, (&ends.writers, &ends.readers), ends.steps, limit, &parts)?
        }
        None => Some(find(&search, ends, limit)?),
    };
    search.place()?;
    let left_out = if inside {
        (0, 0)
    } else {
        connection.query_row(report!("flows_own"), [], |r| Ok((r.get(0)?, r.get(1)?)))?
    };
    Ok(Found { listing: ends.listing(report!("flows"), []), transfers, left_out })
}

/// Bytes that the kernel read of what is asked for last: what a function of its name reads (`<write: out>`) has no
/// instructions and is in no list.
pub fn read_by_kernel(connection: &Connection) -> duckdb::Result<i64> {
    let sql = "SELECT coalesce(sum(bytes), 0)::BIGINT FROM function_edge
               JOIN reader_function r ON r.function_id = reader_function_id
               JOIN function_symbol s ON s.function_id = reader_function_id AND s.kind = 'pseudo'
               WHERE writer_function_id IN (SELECT function_id FROM writer_function)";
    connection.query_row(sql, [], |r| r.get(0))
}

impl Ends {
    /// Of sets neither a call of the writers nor one of the readers can be chosen, of single
    /// functions one of the reader.
    pub fn new(from: End, to: End) -> Result<Ends, ViewError> {
        if from.instance.is_some() {
            return Err(ViewError::InstanceOfWriter);
        }
        let (writers, readers, instance) = (from.functions, to.functions, to.instance);
        Ok(Ends { writers, readers, instance, steps: (0, i64::MAX) })
    }

    /// What these steps read only.
    pub fn within(self, steps: Option<(i64, i64)>) -> Ends {
        Ends { steps: steps.unwrap_or(self.steps), ..self }
    }

    /// Whether it is of a part of the run only.
    pub fn is_part(&self) -> bool {
        self.steps != (0, i64::MAX)
    }

    /// One function to one.
    fn is_pair(&self) -> bool {
        self.writers.len() == 1 && self.readers.len() == 1
    }

    /// Whether it is one call of the reader only.
    pub fn is_of_call(&self) -> bool {
        self.instance.is_some()
    }

    /// Fills the temporary tables `writer_function` and `reader_function`.
    fn store(&self, connection: &Connection) -> duckdb::Result<()> {
        for (table, set) in [("writer_function", &self.writers), ("reader_function", &self.readers)]
        {
            let rows: Vec<String> = set.iter().map(|id| format!("({})", id.get())).collect();
            connection.execute_batch(&format!(
                "CREATE OR REPLACE TEMP TABLE {table} (function_id INTEGER);
                 INSERT INTO {table} VALUES {}",
                rows.join(", ")
            ))?;
        }
        Ok(())
    }

    /// Which functions it is between is said where it is more than one pair.
    fn listing<const N: usize>(&self, sql: &str, params: [Value; N]) -> Listing {
        let list = Listing::new(sql, params).short_names();
        if self.is_pair() { list.without(&["writer_function", "reader_function"]) } else { list }
    }
}

/// Fills the temporary table `found` with the first `limit` communications in the order of the
/// reads and gives how many transfers there are in all.
fn find(search: &Search, ends: &Ends, limit: i64) -> Result<i64, ViewError> {
    let Search { connection, inside, .. } = *search;
    let (first, last, transfers): (Option<i64>, Option<i64>, Option<i64>) = connection.query_row(
        report!("flows_bounds"),
        params![inside, ends.instance, limit],
        |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
    )?;
    if let (Some(first), Some(last)) = (first, last) {
        // Those before the part do not count towards the limit.
        let last = if ends.is_part() { ends.steps.1 } else { last };
        search.take_writers(last)?;
        search.windows((first.max(ends.steps.0), last), limit)?;
    }
    Ok(transfers.unwrap_or(0))
}
