//! Rows that are stored against rows that the SQL gives, as multisets.

use super::tables::Table;
use duckdb::Connection;

/// One table of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub table: &'static str,
    /// Rows that both have, rows that only the database has, rows that only the SQL gives.
    pub equal: i64,
    pub extra: i64,
    pub missing: i64,
    /// A few rows that differ.
    pub examples: Vec<String>,
}

/// Rows that differ and are shown, of each side.
const EXAMPLES: usize = 3;

impl Verdict {
    pub(super) fn new(table: &'static str) -> Verdict {
        Verdict { table, equal: 0, extra: 0, missing: 0, examples: Vec::new() }
    }

    pub fn holds(&self) -> bool {
        self.extra == 0 && self.missing == 0
    }

    /// Adds what another part of the same table gave.
    pub(super) fn add(&mut self, other: Verdict) {
        self.equal += other.equal;
        self.extra += other.extra;
        self.missing += other.missing;
        let room = (2 * EXAMPLES).saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }
}

/// Rows and the sum of their hashes: equal for equal multisets, and else for none that chance
/// makes.
pub type Digest = (i64, Option<String>);

/// The digest of a query's rows.
pub(super) fn digest(connection: &Connection, rows: &str) -> duckdb::Result<Digest> {
    let sql = format!("SELECT count(*), sum(hash(t)::HUGEINT)::VARCHAR FROM ({rows}) t");
    connection.query_row(&sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Compares a table. Rows are held against each other only where their digests differ.
pub(super) fn compare(connection: &Connection, table: &Table) -> duckdb::Result<Verdict> {
    let mut verdict = Verdict::new(table.name);
    let (stored, derived) = (table.stored, table.derived.as_str());
    let all = digest(connection, stored)?;
    verdict.equal = all.0;
    if all == digest(connection, derived)? {
        return Ok(verdict);
    }
    let count = |a: &str, b: &str| {
        let sql = format!("SELECT count(*) FROM (({a}) EXCEPT ALL ({b}))");
        connection.query_row(&sql, [], |r| r.get::<_, i64>(0))
    };
    verdict.extra = count(stored, derived)?;
    verdict.missing = count(derived, stored)?;
    verdict.equal = all.0 - verdict.extra;
    for (word, a, b) in [("only stored", stored, derived), ("only derived", derived, stored)] {
        let sql = format!(
            "SELECT t::VARCHAR FROM (({a}) EXCEPT ALL ({b}) ORDER BY ALL LIMIT {EXAMPLES}) t"
        );
        let mut statement = connection.prepare(&sql)?;
        for row in statement.query_map([], |r| r.get::<_, String>(0))? {
            verdict.examples.push(format!("{word}: {}", row?));
        }
    }
    Ok(verdict)
}
