//! Rows that the database has as rows.

use super::rows::{Error, Give, Given, Rows, Worker};
use crate::store::source::{Cells, Kind, Source, one};

/// What comes of a query.
pub(super) struct Stored {
    columns: &'static [Given],
    /// What stands behind the columns. With steps, `?` are the first and the last one of a part.
    from: String,
    steps: Option<(u64, u64)>,
}

/// Steps of a part.
const STEPS: u64 = 1 << 18;

impl Stored {
    /// All at once.
    pub fn whole(columns: &'static [Given], from: String) -> Stored {
        Stored { columns, from, steps: None }
    }

    /// By steps: those that are wanted and that there are.
    pub fn by_steps(
        source: &dyn Source,
        columns: &'static [Given],
        from: &str,
        first: u64,
        last: u64,
    ) -> Result<Stored, Error> {
        let sql = "SELECT coalesce(max(start_seq), 0)
                          + coalesce((SELECT max(value::BIGINT) FROM meta WHERE key = 'longest_block'), 0)
                   FROM block_run";
        let Cells::UBigInt(end) = one(source, sql, Kind::UBigInt)?.cells else {
            return Err("the steps of the run are not known".into());
        };
        let last = last.min(end.first().copied().unwrap_or(0));
        Ok(Stored { columns, from: from.to_owned(), steps: Some((first.max(1), last)) })
    }
}

impl Rows for Stored {
    fn parts(&self) -> usize {
        match self.steps {
            None => 1,
            Some((first, last)) if first > last => 0,
            Some((first, last)) => (last - first) as usize / STEPS as usize + 1,
        }
    }

    fn worker(&self, _: usize) -> Box<dyn Worker + '_> {
        Box::new(Query(self))
    }
}

struct Query<'a>(&'a Stored);

impl Worker for Query<'_> {
    fn part(
        &mut self,
        source: &dyn Source,
        part: usize,
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error> {
        let Stored { columns, from, steps } = self.0;
        // Of rows that are only counted, one column tells how many there are.
        let wanted = if wanted.is_empty() { &[0] } else { wanted };
        let names: Vec<&str> = wanted.iter().map(|at| columns[*at].name).collect();
        let kinds: Vec<Kind> = wanted.iter().map(|at| columns[*at].kind).collect();
        let sql = format!("SELECT {} {from}", names.join(", "));
        let bounds = steps.map(|(first, last)| {
            let from = first + part as u64 * STEPS;
            [from, last.min(from + STEPS - 1)]
        });
        let numbers = bounds.as_ref().map_or(&[][..], |bounds| &bounds[..]);
        let mut goes_on = true;
        source.read(&sql, numbers, &kinds, &mut |block| goes_on = goes_on && give(block))?;
        Ok(())
    }
}
