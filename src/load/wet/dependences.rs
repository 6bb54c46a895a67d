//! Dependences on their way into a temporary table, from which SQL makes those of the database.

use crate::id::InstructionId;
use crate::load::BuildError;
use crate::store::StoreError;
use crate::store::table::{BATCH, record_batch};
use duckdb::Appender;
use duckdb::arrow::array::{ArrayRef, Int32Array, Int64Array, UInt64Array};
use std::sync::Arc;

/// An execution depends on one that wrote.
pub struct Dependence {
    pub port: Option<i32>,
    /// Number of the instruction in a comprehensive file, its id in a history.
    pub writer: u64,
    pub write_instance: i64,
    pub reader: InstructionId,
    pub read_instance: i64,
}

/// `comprehensive` or `history`.
pub struct Dependences<'c> {
    appender: Appender<'c>,
    port: Vec<Option<i32>>,
    writer: Vec<u64>,
    write_instance: Vec<i64>,
    reader: Vec<i32>,
    read_instance: Vec<i64>,
}

impl<'c> Dependences<'c> {
    pub fn new(appender: Appender<'c>) -> Self {
        Dependences {
            appender,
            port: Vec::new(),
            writer: Vec::new(),
            write_instance: Vec::new(),
            reader: Vec::new(),
            read_instance: Vec::new(),
        }
    }

    pub fn push(&mut self, row: Dependence) -> Result<(), BuildError> {
        self.port.push(row.port);
        self.writer.push(row.writer);
        self.write_instance.push(row.write_instance);
        self.reader.push(row.reader.column());
        self.read_instance.push(row.read_instance);
        if self.reader.len() == BATCH { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), BuildError> {
        use std::mem::take;
        if self.reader.is_empty() {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(take(&mut self.port))),
            Arc::new(UInt64Array::from(take(&mut self.writer))),
            Arc::new(Int64Array::from(take(&mut self.write_instance))),
            Arc::new(Int32Array::from(take(&mut self.reader))),
            Arc::new(Int64Array::from(take(&mut self.read_instance))),
        ];
        Ok(self.appender.append_record_batch(record_batch(columns).map_err(StoreError::from)?)?)
    }

    pub fn finish(&mut self) -> Result<(), BuildError> {
        self.send()?;
        Ok(self.appender.flush()?)
    }
}
