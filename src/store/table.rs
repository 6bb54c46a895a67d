//! Rows on their way into the database, full batches at a time. See [`super::tables`] for how to
//! use it.

use super::StoreError;
use super::row::{Columns, Description, Row};
use super::source::{self, Block, Cells, failed};
use duckdb::arrow::array::{Array, ArrayRef, AsArray};
use duckdb::arrow::datatypes::{
    DataType, Field, Int32Type, Int64Type, Schema, UInt16Type, UInt32Type, UInt64Type,
};
use duckdb::arrow::error::ArrowError;
use duckdb::arrow::record_batch::RecordBatch;
use duckdb::{Appender, Connection};
use std::sync::Arc;

/// Rows of a batch: a quarter of a DuckDB row group, so that the writer need not wait for them, nor
/// they in memory.
pub const BATCH: usize = 30_720;

/// Where rows go: the tables of the database, or temporary ones of the connection.
#[derive(Clone, Copy)]
pub struct Destination<'c> {
    connection: &'c Connection,
    catalog: Option<&'static str>,
}

impl<'c> Destination<'c> {
    /// Temporary tables of the connection.
    pub fn temporary(connection: &'c Connection) -> Self {
        Destination { connection, catalog: Some("temp") }
    }

    fn appender(self, table: &str, columns: &[&str]) -> duckdb::Result<Appender<'c>> {
        let Destination { connection, catalog } = self;
        match catalog {
            None => connection.appender_with_columns(table, columns),
            Some(catalog) => {
                connection.appender_with_columns_to_catalog_and_db(table, catalog, "main", columns)
            }
        }
    }
}

impl<'c> From<&'c Connection> for Destination<'c> {
    fn from(connection: &'c Connection) -> Self {
        Destination { connection, catalog: None }
    }
}

/// Appends batches of columns to one table. Columns that have been NULL throughout are not given to
/// DuckDB: it fills them itself at a fraction of the cost.
struct Sink<'c> {
    into: Destination<'c>,
    description: Description,
    given: Vec<bool>,
    appender: Option<Appender<'c>>,
}

impl<'c> Sink<'c> {
    fn new(into: Destination<'c>, description: Description) -> Self {
        let given = description.columns.iter().map(|c| !c.nullable).collect();
        Sink { into, description, given, appender: None }
    }

    /// Gives how many values DuckDB was given.
    fn append(&mut self, columns: Vec<ArrayRef>) -> Result<usize, StoreError> {
        let mut more = false;
        for (given, column) in self.given.iter_mut().zip(&columns) {
            if !*given && column.null_count() < column.len() {
                (*given, more) = (true, true);
            }
        }
        let appender = match &mut self.appender {
            Some(appender) if !more => appender,
            _ => {
                let names = self.description.columns.iter().zip(&self.given);
                let names: Vec<&str> =
                    names.filter_map(|(c, given)| given.then_some(c.name)).collect();
                self.appender.insert(self.into.appender(self.description.table, &names)?)
            }
        };
        let columns: Vec<ArrayRef> = columns
            .into_iter()
            .zip(&self.given)
            .filter_map(|(c, given)| given.then_some(c))
            .collect();
        let values = columns.iter().map(|c| c.len()).sum();
        appender.append_record_batch(record_batch(columns)?)?;
        // Into the table: an appender would gather seven times as many first, and loses its errors
        // when dropped.
        appender.flush()?;
        Ok(values)
    }
}

/// Makes a record batch of unnamed columns.
pub fn record_batch(columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    let field = |(i, c): (usize, &ArrayRef)| Field::new(i.to_string(), c.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns)
}

/// A table that is being filled by the thread that has the connection.
#[must_use = "rows are in the table when finished"]
pub struct Table<'c, C> {
    sink: Sink<'c>,
    columns: C,
}

impl<'c, C: Columns> Table<'c, C> {
    pub fn new(into: impl Into<Destination<'c>>) -> Self {
        Table { sink: Sink::new(into.into(), C::DESCRIPTION), columns: C::default() }
    }

    #[inline]
    pub fn push(&mut self, row: impl Row<Columns = C>) -> Result<(), StoreError> {
        row.append(&mut self.columns);
        if self.columns.rows() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.sink.append(self.columns.take()?).map(|_| ())
    }

    /// Appends what is left.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if self.columns.rows() > 0 { self.flush() } else { Ok(()) }
    }
}

/// Fills a table with these rows.
pub fn fill<'c, R: Row>(
    into: impl Into<Destination<'c>>,
    rows: impl IntoIterator<Item = R>,
) -> Result<(), StoreError> {
    fill_named(into, R::Columns::DESCRIPTION.table, rows)
}

/// Fills a table of another name with the same columns.
pub fn fill_named<'c, R: Row>(
    into: impl Into<Destination<'c>>,
    table: &'static str,
    rows: impl IntoIterator<Item = R>,
) -> Result<(), StoreError> {
    let description = Description { table, ..R::Columns::DESCRIPTION };
    let mut table =
        Table { sink: Sink::new(into.into(), description), columns: R::Columns::default() };
    rows.into_iter().try_for_each(|row| table.push(row))?;
    table.finish()
}

/// Columns of some rows of a table, for the thread that writes.
#[derive(Debug)]
pub struct Batch {
    pub(super) description: Description,
    /// An error if a number did not fit its column: told when appended.
    pub(super) columns: Result<Vec<ArrayRef>, StoreError>,
}

impl Batch {
    /// Which table it is of.
    pub fn table(&self) -> &'static str {
        self.description.table
    }

    /// Its rows with the columns of some names.
    ///
    /// # Errors
    /// If a number did not fit its column.
    pub fn block(self, names: &[&str]) -> Result<Block, StoreError> {
        let arrays = self.columns?;
        let rows = arrays.first().map_or(0, |array| array.len());
        let of = |name: &&str| {
            let place = self.description.columns.iter().position(|column| column.name == *name);
            place.and_then(|at| column(&arrays[at]))
        };
        let columns: Option<Vec<_>> = names.iter().map(of).collect();
        let lacks = || StoreError::from(failed("a column that no row has"));
        Ok(Block { rows, columns: columns.ok_or_else(lacks)? })
    }
}

/// The cells of an array; None: there are none for its type.
fn column(array: &ArrayRef) -> Option<source::Column> {
    let cells = match array.data_type() {
        DataType::Int64 => Cells::BigInt(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::Int32 => Cells::Integer(array.as_primitive::<Int32Type>().values().to_vec()),
        DataType::UInt64 => Cells::UBigInt(array.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::UInt32 => Cells::UInteger(array.as_primitive::<UInt32Type>().values().to_vec()),
        DataType::UInt16 => Cells::USmallInt(array.as_primitive::<UInt16Type>().values().to_vec()),
        DataType::Boolean => Cells::Boolean(array.as_boolean().values().iter().collect()),
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter();
            Cells::Varchar(texts.map(|text| text.unwrap_or_default().to_owned().into()).collect())
        }
        _ => return None,
    };
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let null = nulls.map_or(Vec::new(), |nulls| nulls.iter().map(|valid| !valid).collect());
    Some(source::Column { cells, null })
}

/// A table that is being filled by another thread than the one that has the connection.
#[derive(Debug)]
pub struct Stream<C> {
    columns: C,
    description: Description,
}

impl<C: Columns> Default for Stream<C> {
    fn default() -> Self {
        Stream { columns: C::default(), description: C::DESCRIPTION }
    }
}

impl<C: Columns> Stream<C> {
    /// For a table of another name with the same columns.
    pub fn named(table: &'static str) -> Self {
        Stream { description: Description { table, ..C::DESCRIPTION }, ..Stream::default() }
    }

    /// Gives a batch when one is full.
    #[inline]
    #[must_use = "a full batch is to be sent"]
    pub fn push(&mut self, row: impl Row<Columns = C>) -> Option<Batch> {
        row.append(&mut self.columns);
        if self.columns.rows() >= BATCH { Some(self.batch()) } else { None }
    }

    #[cold]
    fn batch(&mut self) -> Batch {
        Batch { description: self.description, columns: self.columns.take() }
    }

    /// What is left.
    #[must_use = "the last batch is to be sent"]
    pub fn rest(&mut self) -> Option<Batch> {
        (self.columns.rows() > 0).then(|| self.batch())
    }
}

/// The tables of a database, as batches for them come.
pub struct Tables<'c> {
    into: Destination<'c>,
    sinks: Vec<Sink<'c>>,
}

impl<'c> Tables<'c> {
    pub fn new(into: impl Into<Destination<'c>>) -> Self {
        Tables { into: into.into(), sinks: Vec::new() }
    }

    /// Gives how many values were appended.
    pub fn append(&mut self, batch: Batch) -> Result<usize, StoreError> {
        let columns = batch.columns?;
        let known = self.sinks.iter().position(|s| s.description.table == batch.description.table);
        let at = known.unwrap_or_else(|| {
            self.sinks.push(Sink::new(self.into, batch.description));
            self.sinks.len() - 1
        });
        self.sinks[at].append(columns)
    }
}
