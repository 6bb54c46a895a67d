//! Reports that are the rows of one query.

use crate::render::rows::{RowFormat, RowWriter};
use duckdb::types::Value;
use duckdb::{Connection, ToSql};
use std::io::Write;

/// A query with its parameters.
pub struct Listing {
    sql: String,
    params: Vec<Value>,
    /// What stands for `steps` in the names of columns.
    unit: &'static str,
    /// Of the columns behind the first two, where these are durations.
    clock: Option<&'static str>,
    /// Columns that are not shown.
    without: &'static [&'static str],
    short_names: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    #[error(transparent)]
    Duckdb(#[from] duckdb::Error),
    // Not transparent: who reads the chain finds that nobody listens any more.
    #[error("the table cannot be written")]
    Io(#[from] std::io::Error),
}

impl Listing {
    pub fn new(sql: &str, params: impl Into<Vec<Value>>) -> Listing {
        Listing {
            sql: sql.to_owned(),
            params: params.into(),
            unit: "steps",
            clock: None,
            without: &[],
            short_names: false,
        }
    }

    /// With columns of steps named after what the trace has instead ([`crate::query::unit`]).
    pub fn counting(self, unit: &'static str) -> Listing {
        Listing { unit, ..self }
    }

    /// With the unit behind the names of the columns that follow the first two.
    pub fn timed_in(self, unit: &'static str) -> Listing {
        Listing { clock: Some(unit), ..self }
    }

    /// With fewer columns.
    pub fn without(self, names: &'static [&'static str]) -> Listing {
        Listing { without: names, ..self }
    }

    /// With short names of functions in a table.
    pub fn short_names(self) -> Listing {
        Listing { short_names: true, ..self }
    }

    /// Writes the rows; gives how many there were.
    pub fn write(
        &self,
        connection: &Connection,
        format: RowFormat,
        out: &mut dyn Write,
    ) -> Result<u64, ListingError> {
        let mut statement = connection.prepare(&self.sql)?;
        let params: Vec<&dyn ToSql> = self.params.iter().map(|p| p as &dyn ToSql).collect();
        let mut rows = statement.query(params.as_slice())?;
        let mut names = rows.as_ref().map(|s| s.column_names()).unwrap_or_default();
        let shown: Vec<usize> =
            (0..names.len()).filter(|&i| !self.without.contains(&names[i].as_str())).collect();
        if self.unit != "steps" {
            names.iter_mut().for_each(|name| *name = name.replace("steps", self.unit));
        }
        if let Some(unit) = self.clock {
            names.iter_mut().skip(2).for_each(|name| *name = format!("{name}_{unit}"));
        }
        let heads: Vec<&str> = shown.iter().map(|&i| names[i].as_str()).collect();
        let mut report = RowWriter::new(&heads, format, out)?;
        if self.short_names {
            report = report.short_names();
        }
        while let Some(row) = rows.next()? {
            let values = shown
                .iter()
                .map(|&i| Ok(row.get_ref(i)?.to_owned()))
                .collect::<duckdb::Result<Vec<_>>>()?;
            report.row(&values)?;
        }
        Ok(report.finish()?)
    }
}

/// Rows at most as people say it: 0 is all.
pub fn limit(rows: u64) -> i64 {
    match i64::try_from(rows) {
        Ok(0) | Err(_) => i64::MAX,
        Ok(n) => n,
    }
}

/// A parameter that is a number or NULL.
pub fn id<T: Into<Option<crate::id::FunctionId>>>(id: T) -> Value {
    id.into().map_or(Value::Null, |id| Value::Int(id.column()))
}
