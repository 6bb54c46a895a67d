//! From typed rows to Arrow columns: the cells, the column types, and the macro that makes a row
//! and its columns from one declaration. The tables themselves are in [`super::tables`].

use super::StoreError;
use crate::analysis::{CallKind, Ending};
use crate::id;
use duckdb::arrow::array::{
    ArrayBuilder, ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanArray, ListArray,
    PrimitiveArray, StringBuilder, UInt64Array, new_null_array,
};
use duckdb::arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use duckdb::arrow::datatypes::{
    DataType, Field, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use std::fmt;
use std::mem::{replace, take};
use std::sync::Arc;

/// A column type of `schema/`, by its name there.
pub trait SqlType {
    type Cells: Cells;
    const NAME: &'static str;
}

/// The cells of a column that is being filled.
pub trait Cells: Default {
    fn rows(&self) -> usize;
    fn push_null(&mut self);
    /// What was filled; nothing is left.
    fn finish(&mut self) -> ArrayRef;
}

/// Cells of a fixed width. Vectors and not Arrow's builders, which take a call for each cell.
#[derive(Debug)]
pub struct Fixed<T> {
    values: Vec<T>,
    /// One per value; empty as long as no cell is NULL.
    valid: Vec<bool>,
}

impl<T> Default for Fixed<T> {
    fn default() -> Self {
        Fixed { values: Vec::new(), valid: Vec::new() }
    }
}

impl<T: Default> Fixed<T> {
    #[inline]
    fn push(&mut self, value: T) {
        self.values.push(value);
        if !self.valid.is_empty() {
            self.valid.push(true);
        }
    }

    #[inline]
    fn push_null(&mut self) {
        if self.valid.is_empty() {
            self.valid.resize(self.values.len(), true);
        }
        self.values.push(T::default());
        self.valid.push(false);
    }

    #[inline]
    fn extend(&mut self, values: &[T])
    where
        T: Copy,
    {
        self.values.extend_from_slice(values);
        if !self.valid.is_empty() {
            self.valid.resize(self.values.len(), true);
        }
    }

    /// Values and which are valid. There is room for as many again.
    fn take(&mut self) -> (Vec<T>, Option<NullBuffer>) {
        let valid = take(&mut self.valid);
        let room = Vec::with_capacity(self.values.len());
        (replace(&mut self.values, room), (!valid.is_empty()).then(|| NullBuffer::from(valid)))
    }
}

/// Cells of a number.
#[derive(Debug)]
pub struct Numbers<A: ArrowPrimitiveType>(Fixed<A::Native>);

impl<A: ArrowPrimitiveType> Default for Numbers<A> {
    fn default() -> Self {
        Numbers(Fixed::default())
    }
}

impl<A: ArrowPrimitiveType> Numbers<A> {
    #[inline]
    fn push(&mut self, value: A::Native) {
        self.0.push(value);
    }
}

impl<A: ArrowPrimitiveType> Cells for Numbers<A> {
    #[inline]
    fn rows(&self) -> usize {
        self.0.values.len()
    }

    #[inline]
    fn push_null(&mut self) {
        self.0.push_null();
    }

    fn finish(&mut self) -> ArrayRef {
        let (values, valid) = self.0.take();
        Arc::new(PrimitiveArray::<A>::new(values.into(), valid))
    }
}

impl Cells for Fixed<bool> {
    #[inline]
    fn rows(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn push_null(&mut self) {
        Fixed::push_null(self);
    }

    fn finish(&mut self) -> ArrayRef {
        let (values, valid) = self.take();
        Arc::new(BooleanArray::new(BooleanBuffer::from(values), valid))
    }
}

/// Cells of a list of numbers.
#[derive(Debug, Default)]
pub struct Lists {
    lengths: Fixed<usize>,
    /// Of all lists.
    numbers: Fixed<u64>,
}

impl Cells for Lists {
    #[inline]
    fn rows(&self) -> usize {
        self.lengths.values.len()
    }

    #[inline]
    fn push_null(&mut self) {
        self.lengths.push_null();
    }

    fn finish(&mut self) -> ArrayRef {
        let (lengths, valid) = self.lengths.take();
        let (numbers, known) = self.numbers.take();
        let numbers = Arc::new(UInt64Array::new(numbers.into(), known));
        let item = Arc::new(Field::new_list_field(DataType::UInt64, true));
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths), numbers, valid))
    }
}

macro_rules! built {
    ($($builder:ty),+) => {$(
        impl Cells for $builder {
            fn rows(&self) -> usize {
                ArrayBuilder::len(self)
            }

            fn push_null(&mut self) {
                self.append_null();
            }

            fn finish(&mut self) -> ArrayRef {
                ArrayBuilder::finish(self)
            }
        }
    )+};
}

built!(StringBuilder, BinaryBuilder);

/// The column types that rows are made of, written as in SQL.
#[allow(clippy::upper_case_acronyms, non_camel_case_types)]
pub mod sql {
    use super::*;

    macro_rules! types {
        ($($name:ident $text:literal $cells:ty;)+) => {$(
            #[derive(Debug)]
            pub enum $name {}
            impl SqlType for $name {
                type Cells = $cells;
                const NAME: &'static str = $text;
            }
        )+};
    }

    types! {
        BOOLEAN "BOOLEAN" Fixed<bool>;
        UTINYINT "UTINYINT" Numbers<UInt8Type>;
        USMALLINT "USMALLINT" Numbers<UInt16Type>;
        INTEGER "INTEGER" Numbers<Int32Type>;
        UINTEGER "UINTEGER" Numbers<UInt32Type>;
        BIGINT "BIGINT" Numbers<Int64Type>;
        UBIGINT "UBIGINT" Numbers<UInt64Type>;
        VARCHAR "VARCHAR" StringBuilder;
        BLOB "BLOB" BinaryBuilder;
        UBIGINTS "UBIGINT[]" Lists;
    }
}

/// A column that is being filled.
#[derive(Debug)]
pub struct Buffer<S: SqlType> {
    cells: S::Cells,
    /// NULLs before the first value, which are not in `cells` yet: many columns have no value.
    nulls: usize,
    /// A number that the column's type does not hold was given: no row of it may be kept.
    out_of_range: bool,
}

impl<S: SqlType> Default for Buffer<S> {
    fn default() -> Self {
        Buffer { cells: S::Cells::default(), nulls: 0, out_of_range: false }
    }
}

impl<S: SqlType> Buffer<S> {
    pub(super) fn rows(&self) -> usize {
        self.nulls + self.cells.rows()
    }

    #[inline(always)]
    fn push_null(&mut self) {
        if self.cells.rows() == 0 {
            self.nulls += 1;
        } else {
            self.cells.push_null();
        }
    }

    /// For a value.
    #[inline(always)]
    fn cells(&mut self) -> &mut S::Cells {
        if self.nulls > 0 {
            self.begin();
        }
        &mut self.cells
    }

    #[cold]
    fn begin(&mut self) {
        (0..take(&mut self.nulls)).for_each(|_| self.cells.push_null());
    }

    /// What was filled; nothing is left.
    pub(super) fn take(
        &mut self,
        table: &'static str,
        column: &'static str,
    ) -> Result<ArrayRef, StoreError> {
        if self.out_of_range {
            return Err(StoreError::Range { table, column, type_name: S::NAME });
        }
        let values = self.cells.finish();
        Ok(match take(&mut self.nulls) {
            0 => values,
            nulls => new_null_array(values.data_type(), nulls),
        })
    }
}

/// A value that fits a cell of a column of type `S`.
pub trait Cell<S: SqlType> {
    /// The column may hold NULL.
    const NULLABLE: bool = false;
    fn append(self, to: &mut Buffer<S>);
}

impl<S: SqlType, T: Cell<S>> Cell<S> for Option<T> {
    const NULLABLE: bool = true;
    #[inline(always)]
    fn append(self, to: &mut Buffer<S>) {
        match self {
            Some(value) => value.append(to),
            None => to.push_null(),
        }
    }
}

macro_rules! exact {
    ($($from:ty => $sql:ident),+ $(,)?) => {$(
        impl Cell<sql::$sql> for $from {
            #[inline(always)]
            fn append(self, to: &mut Buffer<sql::$sql>) {
                to.cells().push(self.into());
            }
        }
    )+};
}

macro_rules! checked {
    ($($from:ty => $sql:ident),+ $(,)?) => {$(
        impl Cell<sql::$sql> for $from {
            #[inline(always)]
            fn append(self, to: &mut Buffer<sql::$sql>) {
                match self.try_into() {
                    Ok(value) => to.cells().push(value),
                    Err(_) => {
                        to.push_null();
                        to.out_of_range = true;
                    }
                }
            }
        }
    )+};
}

exact! {
    u8 => UTINYINT, u8 => USMALLINT, u16 => USMALLINT, i32 => INTEGER, u16 => INTEGER, u16 => UINTEGER, u32 => UINTEGER,
    i64 => BIGINT, u32 => BIGINT, u32 => UBIGINT, u64 => UBIGINT,
}

checked! {
    u32 => USMALLINT, u32 => INTEGER, usize => INTEGER, usize => UINTEGER, u64 => BIGINT, usize => BIGINT, usize => UBIGINT,
}

macro_rules! ids {
    ($($id:ident),+ $(,)?) => {$(
        impl Cell<sql::INTEGER> for id::$id {
            #[inline(always)]
            fn append(self, to: &mut Buffer<sql::INTEGER>) {
                to.cells().push(self.column());
            }
        }
    )+};
}

ids! {
    ProcessId, ThreadId, ImageId, SectionId, FileId, FunctionId, InstructionId, BlockId, CallId, IntervalId, LoopId, InlinedCallId, StackId,
}

impl Cell<sql::BIGINT> for id::Seq {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::BIGINT>) {
        Cell::<sql::BIGINT>::append(self.get(), to);
    }
}

impl Cell<sql::BOOLEAN> for bool {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::BOOLEAN>) {
        to.cells().push(self);
    }
}

impl Cell<sql::VARCHAR> for &str {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::VARCHAR>) {
        to.cells().append_value(self);
    }
}

impl Cell<sql::VARCHAR> for CallKind {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::VARCHAR>) {
        to.cells().append_value(self.name());
    }
}

impl Cell<sql::VARCHAR> for Ending {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::VARCHAR>) {
        to.cells().append_value(self.name());
    }
}

impl Cell<sql::BLOB> for &[u8] {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::BLOB>) {
        to.cells().append_value(self);
    }
}

impl Cell<sql::UBIGINTS> for &[u64] {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::UBIGINTS>) {
        let cells = to.cells();
        cells.lengths.push(self.len());
        cells.numbers.extend(self);
    }
}

impl Cell<sql::UBIGINTS> for &[Option<u64>] {
    #[inline(always)]
    fn append(self, to: &mut Buffer<sql::UBIGINTS>) {
        let cells = to.cells();
        cells.lengths.push(self.len());
        for number in self {
            match number {
                Some(number) => cells.numbers.push(*number),
                None => cells.numbers.push_null(),
            }
        }
    }
}

/// A column as the schema has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub type_name: &'static str,
    pub nullable: bool,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{} {}{}",
            self.name,
            self.type_name,
            if self.nullable { "" } else { " NOT NULL" }
        )
    }
}

/// A table's name and its columns in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    pub table: &'static str,
    pub columns: &'static [Column],
}

/// The columns of one table that are being filled; made by [`tables!`] in the order of the schema.
pub trait Columns: Default {
    const DESCRIPTION: Description;
    /// Rows in them.
    fn rows(&self) -> usize;
    /// What was filled; nothing is left. An error if a number did not fit its column.
    fn take(&mut self) -> Result<Vec<ArrayRef>, StoreError>;
}

/// A row of one table.
pub trait Row {
    type Columns: Columns;
    fn append(self, columns: &mut Self::Columns);
}

/// A field's name without the mark of a raw identifier.
pub(super) const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Declares tables: `Row, Columns = "table" { column: type of the value => type of the column, ...
/// }`, in the order of `schema/`. An `Option` is a column that may be NULL. Makes the row, its
/// columns, and `TABLES`, the list of all.
macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $row:ident $(<$life:lifetime>)?, $columns:ident = $table:literal {
            $($field:ident: $type:ty => $sql:ident),+ $(,)?
        }
    )+) => {
        $(
            #[doc = concat!("A row of `", $table, "`.")]
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $row $(<$life>)? { $(pub $field: $type),+ }

            #[doc = concat!("Columns of `", $table, "` that are being filled.")]
            #[derive(Debug, Default)]
            pub struct $columns { $($field: $crate::store::row::Buffer<$crate::store::row::sql::$sql>),+ }

            impl $crate::store::row::Columns for $columns {
                const DESCRIPTION: $crate::store::row::Description = {
                    use $crate::store::row::{Cell, Column, Description, SqlType, plain, sql};
                    const COUNT: usize = [$(stringify!($field)),+].len();
                    // The types of the fields name the lifetime.
                    #[allow(clippy::extra_unused_lifetimes)]
                    const fn columns $(<$life>)? () -> [Column; COUNT] {
                        [$(Column {
                            name: plain(stringify!($field)),
                            type_name: <sql::$sql as SqlType>::NAME,
                            nullable: <$type as Cell<sql::$sql>>::NULLABLE,
                        }),+]
                    }
                    Description { table: $table, columns: &columns() }
                };

                #[inline]
                fn rows(&self) -> usize {
                    [$(self.$field.rows()),+][0]
                }

                fn take(
                    &mut self,
                ) -> Result<Vec<duckdb::arrow::array::ArrayRef>, $crate::store::StoreError> {
                    Ok(vec![$(
                        self.$field.take($table, $crate::store::row::plain(stringify!($field)))?
                    ),+])
                }
            }

            impl $(<$life>)? $crate::store::row::Row for $row $(<$life>)? {
                type Columns = $columns;
                #[inline(always)]
                fn append(self, columns: &mut $columns) {
                    $($crate::store::row::Cell::append(self.$field, &mut columns.$field);)+
                }
            }
        )+

        /// The tables of this file.
        #[cfg(test)]
        pub(super) const TABLES: &[$crate::store::row::Description] =
            &[$(<$columns as $crate::store::row::Columns>::DESCRIPTION),+];
    };
}
pub(super) use tables;
