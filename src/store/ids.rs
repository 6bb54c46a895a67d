//! Ids as DuckDB has them: columns of INTEGER, never 0, NULL for None.

use crate::id::*;
use duckdb::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

macro_rules! columns {
    ($($id:ident),+ $(,)?) => {$(
        impl FromSql for $id {
            fn column_result(value: ValueRef) -> FromSqlResult<$id> {
                let number = i32::column_result(value)?;
                $id::from_column(number).ok_or(FromSqlError::OutOfRange(number.into()))
            }
        }

        impl ToSql for $id {
            fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
                Ok(self.column().into())
            }
        }
    )+};
}

columns! {
    ProcessId, ThreadId, ImageId, SectionId, FileId, FunctionId, InstructionId, BlockId, CallId,
    IntervalId, LoopId, StackId, InlinedCallId,
}
