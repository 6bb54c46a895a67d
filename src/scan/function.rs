//! The functions as DuckDB calls them. Threads of their own make the rows; DuckDB's take them.

use super::rows::{Argument, Error, Function, Rows, Shared, Sources};
use super::{low, middle};
use crate::store::chunk;
use crate::store::source::{Block, Cells, Column, Kind};
use duckdb::Connection;
use duckdb::core::{DataChunkHandle, FlatVector, Inserter, LogicalTypeHandle, LogicalTypeId};
use duckdb::ffi::{
    duckdb_string_t, duckdb_string_t__bindgen_ty_1, duckdb_string_t__bindgen_ty_1__bindgen_ty_2,
};
use duckdb::vtab::{BindInfo, InitInfo, TableFunctionInfo, VTab};
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

const FUNCTIONS: [&Function; 4] =
    [&low::STEPS, &low::ACCESSES, &middle::COMMUNICATIONS, &middle::CALLS];

/// Gives a connection the functions; what they read is read through `sources`.
///
/// # Errors
/// DuckDB takes one of them not.
pub fn register(connection: &Connection, sources: Arc<dyn Sources>) -> duckdb::Result<()> {
    let all = [
        Connection::register_table_function_with_extra_info::<Of<0>, _>,
        Connection::register_table_function_with_extra_info::<Of<1>, _>,
        Connection::register_table_function_with_extra_info::<Of<2>, _>,
        Connection::register_table_function_with_extra_info::<Of<3>, _>,
    ];
    let names = FUNCTIONS.iter().map(|function| function.name);
    names.zip(all).try_for_each(|(name, register)| register(connection, name, &sources))
}

/// The function with a number.
struct Of<const N: usize>;

impl<const N: usize> Of<N> {
    const FUNCTION: &'static Function = FUNCTIONS[N];
}

/// What a statement asks for.
struct Asked {
    rows: Box<dyn Rows>,
    source: Shared,
}

/// Rows on their way.
struct Running {
    blocks: Mutex<mpsc::Receiver<Result<Block, Error>>>,
    /// Blocks of which some rows have been taken, and how many.
    begun: Mutex<Vec<(Block, usize)>>,
    /// Of each column that is wanted its place in the output; others are not there.
    columns: Vec<usize>,
}

fn type_of(kind: Kind) -> LogicalTypeHandle {
    LogicalTypeHandle::from(match kind {
        Kind::BigInt => LogicalTypeId::Bigint,
        Kind::Integer => LogicalTypeId::Integer,
        Kind::UBigInt => LogicalTypeId::UBigint,
        Kind::UInteger => LogicalTypeId::UInteger,
        Kind::USmallInt => LogicalTypeId::USmallint,
        Kind::Boolean => LogicalTypeId::Boolean,
        Kind::Varchar => LogicalTypeId::Varchar,
        Kind::Blob => LogicalTypeId::Blob,
    })
}

impl<const N: usize> VTab for Of<N> {
    type BindData = Arc<Asked>;
    type InitData = Running;

    fn bind(bind: &BindInfo) -> Result<Arc<Asked>, Box<dyn std::error::Error>> {
        let function = Self::FUNCTION;
        for column in function.columns {
            bind.add_result_column(column.name, type_of(column.kind));
        }
        let argument = |at: usize| {
            let value = bind.get_parameter(at as u64);
            let is_null = value.is_null();
            if function.steps[at] {
                // Steps begin with 1: no bound is less.
                let step = || u64::try_from(value.to_int64()).unwrap_or(0);
                Argument::Step((!is_null).then(step))
            } else {
                Argument::Function((!is_null).then(|| value.to_string()))
            }
        };
        let named = |name: &&str| {
            let value = bind.get_named_parameter(name).filter(|value| !value.is_null());
            Argument::Step(value.map(|value| u64::try_from(value.to_int64()).unwrap_or(0)))
        };
        let given = (0..function.arguments).map(argument);
        let arguments: Vec<Argument> = given.chain(function.named.iter().map(named)).collect();
        let database = bind.get_named_parameter(DATABASE).filter(|value| !value.is_null());
        let database = database.map(|value| value.to_string());
        // SAFETY: `register` gave each of these functions such a one; it lives as long as they do.
        let sources = unsafe { &*bind.get_extra_info::<Arc<dyn Sources>>() };
        let source = sources.source(database.as_deref()).map_err(plain)?;
        let open = || (function.open)(&*source, &arguments).map_err(plain);
        let rows = match open()? {
            Some(rows) => rows,
            None => {
                sources.prepare().map_err(plain)?;
                open()?.ok_or("the chunks of this run cannot be gone through alone")?
            }
        };
        // Else DuckDB takes it for a row, and keeps the run to look others up in it.
        bind.set_cardinality(rows.parts() as u64 * chunk::STEPS, false);
        Ok(Arc::new(Asked { rows, source }))
    }

    fn init(init: &InitInfo) -> Result<Running, Box<dyn std::error::Error>> {
        // SAFETY: it is what `bind` gave.
        let asked = unsafe { &*init.get_bind_data::<Arc<Asked>>() };
        let all = Self::FUNCTION.columns.len();
        let columns = init.get_column_indices().into_iter().map(|at| at as usize);
        // A number that is none stands for "no column": rows are counted.
        let places: Vec<(usize, usize)> = columns.enumerate().filter(|(_, at)| *at < all).collect();
        let wanted = places.iter().map(|(_, at)| *at).collect();
        let threads = threads(asked.rows.parts());
        init.set_max_threads(threads as u64);
        let blocks = Mutex::new(begin(asked, threads, wanted));
        let columns = places.into_iter().map(|(place, _)| place).collect();
        Ok(Running { blocks, begun: Mutex::default(), columns })
    }

    fn func(
        info: &TableFunctionInfo<Self>,
        output: &mut DataChunkHandle,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let running = info.get_init_data();
        let mut begun = running.begun.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while begun.is_none() {
            let next = running.blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(next) = next else {
                output.set_len(0);
                return Ok(());
            };
            begun = Some((next.map_err(plain)?, 0)).filter(|(block, _)| block.rows > 0);
        }
        let Some((block, from)) = begun else { return Ok(()) };
        let rows = ROWS.min(block.rows - from);
        for (column, place) in block.columns.iter().zip(&running.columns) {
            copy(column, from, &mut output.flat_vector(*place), rows);
        }
        output.set_len(rows);
        if from + rows < block.rows {
            let mut all = running.begun.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((block, from + rows));
        }
        Ok(())
    }

    fn supports_pushdown() -> bool {
        true
    }

    fn parameters() -> Option<Vec<LogicalTypeHandle>> {
        let function = Self::FUNCTION;
        let kind = |at: usize| if function.steps[at] { Kind::BigInt } else { Kind::Varchar };
        Some((0..function.arguments).map(|at| type_of(kind(at))).collect())
    }

    fn named_parameters() -> Option<Vec<(String, LogicalTypeHandle)>> {
        let steps =
            Self::FUNCTION.named.iter().map(|name| ((*name).to_owned(), type_of(Kind::BigInt)));
        Some(steps.chain([(DATABASE.to_owned(), type_of(Kind::Varchar))]).collect())
    }
}

/// An error as DuckDB is to tell it: what it said itself, without what its crate adds.
fn plain(error: Error) -> Box<dyn std::error::Error> {
    match error.downcast_ref::<duckdb::Error>() {
        Some(duckdb::Error::DuckDBFailure(_, Some(text))) => text.as_str().into(),
        _ => error,
    }
}

/// Names an attached database.
const DATABASE: &str = "database";

/// Rows that DuckDB takes at once, at most: its standard vector.
const ROWS: usize = 2048;

/// Threads that are worth their while for some parts.
fn threads(parts: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(parts).max(1)
}

/// Begins to make the rows. Threads end when nobody takes what they give.
fn begin(
    asked: &Arc<Asked>,
    threads: usize,
    wanted: Vec<usize>,
) -> mpsc::Receiver<Result<Block, Error>> {
    let (sender, receiver) = mpsc::sync_channel(2 * threads);
    let (next, wanted) = (Arc::new(AtomicUsize::new(0)), Arc::new(wanted));
    for number in 0..threads {
        let (asked, sender) = (asked.clone(), sender.clone());
        let (next, wanted) = (next.clone(), wanted.clone());
        std::thread::spawn(move || {
            // A thread that stops halfway must not look like the end of the rows.
            let _told = Told(sender.clone());
            let mut worker = asked.rows.worker(number);
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= asked.rows.parts() {
                    return;
                }
                let mut taken = true;
                let mut give = |block| {
                    taken = sender.send(Ok(block)).is_ok();
                    taken
                };
                let made = worker.part(&*asked.source, part, &wanted, &mut give);
                match made {
                    Err(error) => return drop(sender.send(Err(error))),
                    Ok(()) if !taken => return,
                    Ok(()) => {}
                }
            }
        });
    }
    receiver
}

/// Tells of a panic.
struct Told(mpsc::SyncSender<Result<Block, Error>>);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Err("addfg stopped while it made rows".into()));
        }
    }
}

/// A text that has room in its cell.
fn short(text: &str) -> Option<duckdb_string_t> {
    let mut inlined = [0; 12];
    let cells = inlined.get_mut(..text.len())?;
    for (cell, byte) in cells.iter_mut().zip(text.bytes()) {
        *cell = c_char::from_ne_bytes([byte]);
    }
    let inlined =
        duckdb_string_t__bindgen_ty_1__bindgen_ty_2 { length: text.len() as u32, inlined };
    Some(duckdb_string_t { value: duckdb_string_t__bindgen_ty_1 { inlined } })
}

/// Copies some cells of a column.
fn copy(column: &Column, from: usize, to: &mut FlatVector, rows: usize) {
    let range = from..from + rows;
    // SAFETY: the vector has the type of the column (`bind`), and room for as many rows.
    unsafe {
        match &column.cells {
            Cells::BigInt(list) => to.copy(&list[range.clone()]),
            Cells::Integer(list) => to.copy(&list[range.clone()]),
            Cells::UBigInt(list) => to.copy(&list[range.clone()]),
            Cells::UInteger(list) => to.copy(&list[range.clone()]),
            Cells::USmallInt(list) => to.copy(&list[range.clone()]),
            Cells::Boolean(list) => to.copy(&list[range.clone()]),
            Cells::Varchar(list) => {
                // Mostly one text follows itself.
                let mut last = (std::ptr::null(), 0, None);
                for (row, text) in list[range.clone()].iter().enumerate() {
                    if (text.as_ptr(), text.len()) != (last.0, last.1) {
                        last = (text.as_ptr(), text.len(), short(text));
                    }
                    match last.2 {
                        Some(short) => to.as_mut_ptr::<duckdb_string_t>().add(row).write(short),
                        None => to.insert(row, text.as_ref()),
                    }
                }
            }
            Cells::Blob(list) => {
                for (row, data) in list[range.clone()].iter().enumerate() {
                    to.insert(row, data.as_slice());
                }
            }
        }
    }
    if !column.null.is_empty() {
        for row in range.clone().filter(|row| column.null[*row]) {
            to.set_null(row - range.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_duckdb_are_told_as_it_told_them() {
        let of_duckdb: Error = crate::store::source::failed("no such table").into();
        // DuckDB's crate tells an error with its causes: here, an unknown code.
        assert!(of_duckdb.source().is_some());
        let told = plain(of_duckdb);
        assert_eq!((told.to_string().as_str(), told.source().is_none()), ("no such table", true));
        assert_eq!(plain("others".into()).to_string(), "others");
    }
}
