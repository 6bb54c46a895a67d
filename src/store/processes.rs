//! Which process a step is of.

use duckdb::Connection;

/// The processes of a run. The steps of each follow those of the one before.
pub struct Processes(Vec<(u64, Option<String>)>);

impl Processes {
    /// # Errors
    /// Where the database cannot be read.
    pub fn read(connection: &Connection) -> duckdb::Result<Processes> {
        let sql = "SELECT p.name, coalesce(sum(t.steps), 0)::UBIGINT
                   FROM process p LEFT JOIN thread t USING (process_id) GROUP BY p.process_id, p.name ORDER BY p.process_id";
        let (mut list, mut last) = (Vec::new(), 0);
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            last += r.get::<_, u64>(1)?;
            list.push((last, r.get(0)?));
        }
        Ok(Processes(list))
    }

    /// The process of a step, counted from 0.
    pub fn of(&self, seq: u64) -> usize {
        self.0.partition_point(|(last, _)| *last < seq).min(self.0.len().saturating_sub(1))
    }

    /// Whether two have the same program: a process that was forked has its parent's, with its memory.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        one == other || self.0.get(one).map(|p| &p.1) == self.0.get(other).map(|p| &p.1)
    }
}
