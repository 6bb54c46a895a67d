//! Rows of a database by columns, read through whatever has it open: a connection of addfg, or DuckDB's
//! own program that addfg is a guest in (`extension/`).

use duckdb::Connection;
use duckdb::types::{ToSqlOutput, Value, ValueRef};
use std::borrow::Cow;

/// Types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    BigInt,
    Integer,
    UBigInt,
    UInteger,
    USmallInt,
    Boolean,
    Varchar,
    Blob,
}

/// Cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    BigInt(Vec<i64>),
    Integer(Vec<i32>),
    UBigInt(Vec<u64>),
    UInteger(Vec<u32>),
    USmallInt(Vec<u16>),
    Boolean(Vec<bool>),
    Varchar(Vec<Cow<'static, str>>),
    Blob(Vec<Vec<u8>>),
}

/// Does the same with the cells of a column, whatever they are.
macro_rules! with_cells {
    ($cells:expr, $list:ident => $what:expr) => {
        match $cells {
            Cells::BigInt($list) => $what,
            Cells::Integer($list) => $what,
            Cells::UBigInt($list) => $what,
            Cells::UInteger($list) => $what,
            Cells::USmallInt($list) => $what,
            Cells::Boolean($list) => $what,
            Cells::Varchar($list) => $what,
            Cells::Blob($list) => $what,
        }
    };
}

impl Cells {
    /// None of a type.
    pub fn new(kind: Kind) -> Cells {
        match kind {
            Kind::BigInt => Cells::BigInt(Vec::new()),
            Kind::Integer => Cells::Integer(Vec::new()),
            Kind::UBigInt => Cells::UBigInt(Vec::new()),
            Kind::UInteger => Cells::UInteger(Vec::new()),
            Kind::USmallInt => Cells::USmallInt(Vec::new()),
            Kind::Boolean => Cells::Boolean(Vec::new()),
            Kind::Varchar => Cells::Varchar(Vec::new()),
            Kind::Blob => Cells::Blob(Vec::new()),
        }
    }
}

/// A column: its cells, and which of them are NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub cells: Cells,
    /// One per cell; empty: none is NULL.
    pub null: Vec<bool>,
}

impl Column {
    /// An empty one of a type.
    pub fn new(kind: Kind) -> Column {
        Column { cells: Cells::new(kind), null: Vec::new() }
    }

    pub fn rows(&self) -> usize {
        with_cells!(&self.cells, list => list.len())
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.null.get(row).copied().unwrap_or(false)
    }

    /// Says of the cell that was pushed last whether it is NULL.
    fn note(&mut self, is_null: bool) {
        let rows = self.rows();
        if is_null && self.null.is_empty() {
            self.null.resize(rows - 1, false);
        }
        if is_null || !self.null.is_empty() {
            self.null.push(is_null);
        }
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// It is of another type.
    pub fn push(&mut self, value: ValueRef) -> Result<(), &'static str> {
        let is_null = value == ValueRef::Null;
        match (&mut self.cells, value) {
            (cells, ValueRef::Null) => with_cells!(cells, list => list.push(Default::default())),
            (Cells::BigInt(list), ValueRef::BigInt(n)) => list.push(n),
            (Cells::Integer(list), ValueRef::Int(n)) => list.push(n),
            (Cells::UBigInt(list), ValueRef::UBigInt(n)) => list.push(n),
            // Columns of steps.
            (Cells::UBigInt(list), ValueRef::BigInt(n)) => list.push(n.cast_unsigned()),
            (Cells::UInteger(list), ValueRef::UInt(n)) => list.push(n),
            (Cells::USmallInt(list), ValueRef::USmallInt(n)) => list.push(n),
            (Cells::Boolean(list), ValueRef::Boolean(flag)) => list.push(flag),
            (Cells::Varchar(list), ValueRef::Text(text)) => {
                list.push(Cow::Owned(String::from_utf8_lossy(text).into_owned()));
            }
            (Cells::Blob(list), ValueRef::Blob(data)) => list.push(data.to_vec()),
            _ => return Err("a column is of another type than addfg made it"),
        }
        self.note(is_null);
        Ok(())
    }

    /// The cells of some rows, in their order.
    pub fn of_rows(&self, rows: &[usize]) -> Column {
        let null = if self.null.is_empty() {
            Vec::new()
        } else {
            rows.iter().map(|row| self.null[*row]).collect()
        };
        let cells = match &self.cells {
            Cells::BigInt(list) => Cells::BigInt(of_rows(list, rows)),
            Cells::Integer(list) => Cells::Integer(of_rows(list, rows)),
            Cells::UBigInt(list) => Cells::UBigInt(of_rows(list, rows)),
            Cells::UInteger(list) => Cells::UInteger(of_rows(list, rows)),
            Cells::USmallInt(list) => Cells::USmallInt(of_rows(list, rows)),
            Cells::Boolean(list) => Cells::Boolean(of_rows(list, rows)),
            Cells::Varchar(list) => Cells::Varchar(of_rows(list, rows)),
            Cells::Blob(list) => Cells::Blob(of_rows(list, rows)),
        };
        Column { cells, null }
    }
}

fn of_rows<T: Clone>(list: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|row| list[*row].clone()).collect()
}

macro_rules! of_cells {
    ($($name:ident $kind:ident $type:ty;)*) => {
        impl Column {
            $(
                /// Cells without NULL.
                pub fn $name(list: Vec<$type>) -> Column {
                    Column { cells: Cells::$kind(list), null: Vec::new() }
                }
            )*
        }
    };
}
of_cells! {
    big_int BigInt i64;
    integer Integer i32;
    u_big_int UBigInt u64;
    u_integer UInteger u32;
    u_small_int USmallInt u16;
    boolean Boolean bool;
    varchar Varchar Cow<'static, str>;
}

/// Some rows, by columns.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub rows: usize,
    pub columns: Vec<Column>,
}

/// What rows are read through.
pub trait Source {
    /// Runs a query with some numbers as its parameters, and gives its rows in blocks, with columns of these types.
    ///
    /// # Errors
    /// Where it cannot be run, or gives other columns.
    fn read(
        &self,
        sql: &str,
        numbers: &[u64],
        kinds: &[Kind],
        take: &mut dyn FnMut(Block),
    ) -> duckdb::Result<()>;
}

/// An error of a source.
pub fn failed(text: &str) -> duckdb::Error {
    duckdb::Error::DuckDBFailure(duckdb::ffi::Error::new(1), Some(text.to_owned()))
}

/// Rows of a block that a connection gives.
const ROWS: usize = 2048;

struct Number(u64);

impl duckdb::ToSql for Number {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        // As the columns that it is compared with: DuckDB's zone maps leave rows out then.
        Ok(ToSqlOutput::Owned(Value::BigInt(self.0.cast_signed())))
    }
}

impl Source for Connection {
    fn read(
        &self,
        sql: &str,
        numbers: &[u64],
        kinds: &[Kind],
        take: &mut dyn FnMut(Block),
    ) -> duckdb::Result<()> {
        let mut statement = self.prepare_cached(sql)?;
        let numbers = numbers.iter().copied().map(Number);
        let mut rows = statement.query(duckdb::params_from_iter(numbers))?;
        let new = || Block { rows: 0, columns: kinds.iter().copied().map(Column::new).collect() };
        let mut block = new();
        while let Some(row) = rows.next()? {
            for (i, column) in block.columns.iter_mut().enumerate() {
                column.push(row.get_ref(i)?).map_err(failed)?;
            }
            block.rows += 1;
            if block.rows == ROWS {
                take(std::mem::replace(&mut block, new()));
            }
        }
        if block.rows > 0 {
            take(block);
        }
        Ok(())
    }
}

/// The first cell of a query that gives one row.
///
/// # Errors
/// As [`Source::read`], and where there is no row.
pub fn one(source: &dyn Source, sql: &str, kind: Kind) -> duckdb::Result<Column> {
    let mut found = None;
    source.read(sql, &[], &[kind], &mut |mut block| found = block.columns.pop())?;
    found.ok_or(duckdb::Error::QueryReturnedNoRows)
}

/// All rows of a query as one block.
///
/// # Errors
/// As [`Source::read`].
pub fn all(source: &dyn Source, sql: &str, kinds: &[Kind]) -> duckdb::Result<Block> {
    let mut found = Block { rows: 0, columns: kinds.iter().copied().map(Column::new).collect() };
    source.read(sql, &[], kinds, &mut |block| {
        for (into, from) in found.columns.iter_mut().zip(block.columns) {
            into.append(from);
        }
        found.rows += block.rows;
    })?;
    Ok(found)
}

impl Column {
    fn append(&mut self, other: Column) {
        let (before, more) = (self.rows(), other.rows());
        if !self.null.is_empty() || !other.null.is_empty() {
            self.null.resize(before, false);
            self.null.extend((0..more).map(|row| other.is_null(row)));
        }
        match (&mut self.cells, other.cells) {
            (Cells::BigInt(to), Cells::BigInt(from)) => to.extend(from),
            (Cells::Integer(to), Cells::Integer(from)) => to.extend(from),
            (Cells::UBigInt(to), Cells::UBigInt(from)) => to.extend(from),
            (Cells::UInteger(to), Cells::UInteger(from)) => to.extend(from),
            (Cells::USmallInt(to), Cells::USmallInt(from)) => to.extend(from),
            (Cells::Boolean(to), Cells::Boolean(from)) => to.extend(from),
            (Cells::Varchar(to), Cells::Varchar(from)) => to.extend(from),
            (Cells::Blob(to), Cells::Blob(from)) => to.extend(from),
            // Blocks of one query are of one type.
            (_, _) => {}
        }
    }
}
