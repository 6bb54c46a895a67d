//! Queries of the database in which this is loaded.

use addfg::internals::scan::{Error, Shared, Sources};
use addfg::internals::source::{Block, Cells, Column, Kind, Source, all, failed};
use duckdb::ffi;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

/// A connection to the databases of DuckDB's process.
#[derive(Clone)]
pub struct Host {
    open: Arc<Mutex<Open>>,
    /// The database that was open first, in quotes.
    first: String,
}

struct Open {
    connection: ffi::duckdb_connection,
    /// What is in use, in quotes.
    database: String,
}

// SAFETY: a connection may be used from any thread, by one at a time.
unsafe impl Send for Open {}

impl Host {
    /// # Safety
    /// `database` is one of DuckDB's.
    pub unsafe fn new(database: ffi::duckdb_database) -> Result<Host, Error> {
        let mut connection = std::ptr::null_mut();
        // SAFETY: as above.
        if unsafe { ffi::duckdb_connect(database, &mut connection) } != ffi::DuckDBSuccess {
            return Err("DuckDB gives no connection".into());
        }
        let mut first = None;
        let mut take = |mut block: Block| first = block.columns.pop();
        query(connection, "SELECT current_database()", &[], &[Kind::Varchar], &mut take)?;
        let Some(Cells::Varchar(names)) = first.map(|column| column.cells) else {
            return Err("DuckDB has no database open".into());
        };
        let first = quoted(&names[0]);
        let open = Open { connection, database: first.clone() };
        Ok(Host { open: Arc::new(Mutex::new(open)), first })
    }

    /// Databases of addfg that are there.
    fn databases(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT t.database_name FROM duckdb_tables() t WHERE t.table_name = 'run_chunk' AND NOT t.temporary
                   ORDER BY t.database_oid";
        // The one that was asked last may be detached since: then DuckDB runs nothing there.
        let asked = Of { host: self.clone(), database: self.first.clone() };
        let found = all(&asked, sql, &[Kind::Varchar])?;
        let names = found.columns.into_iter().next().map(|column| column.cells);
        let Some(Cells::Varchar(names)) = names else { return Ok(Vec::new()) };
        Ok(names.into_iter().map(|name| name.into_owned()).collect())
    }
}

impl Sources for Host {
    fn source(&self, database: Option<&str>) -> Result<Shared, Error> {
        let known = self.databases()?;
        let name = match database {
            Some(name) if known.iter().any(|known| known == name) => name.to_owned(),
            Some(name) => {
                return Err(format!("database {name} is not attached, or not of addfg").into());
            }
            None if known.iter().any(|known| quoted(known) == self.first) => {
                return Ok(Arc::new(Of { host: self.clone(), database: self.first.clone() }));
            }
            None => match &known[..] {
                [] => return Err("no database of addfg is open here: open or ATTACH one".into()),
                [one] => one.clone(),
                several => {
                    let names = several.join("', database := '");
                    return Err(format!("which one? database := '{names}'").into());
                }
            },
        };
        Ok(Arc::new(Of { host: self.clone(), database: quoted(&name) }))
    }

    fn prepare(&self) -> Result<(), Error> {
        Err("parts of this run cannot be gone through alone yet: `addfg prepare DB`, once, makes that so".into())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// One of the databases.
struct Of {
    host: Host,
    /// In quotes.
    database: String,
}

impl Source for Of {
    fn read(
        &self,
        sql: &str,
        numbers: &[u64],
        kinds: &[Kind],
        take: &mut dyn FnMut(Block),
    ) -> duckdb::Result<()> {
        let mut open = self.host.open.lock().unwrap_or_else(PoisonError::into_inner);
        if self.database != open.database {
            let mut none = |_: Block| ();
            query(open.connection, &format!("USE {}", self.database), &[], &[], &mut none)?;
            open.database.clone_from(&self.database);
        }
        query(open.connection, sql, numbers, kinds, take)
    }
}

/// What has to be given back to DuckDB.
struct Given<T>(T, fn(&mut T));

impl<T> Drop for Given<T> {
    fn drop(&mut self) {
        (self.1)(&mut self.0);
    }
}

fn query(
    connection: ffi::duckdb_connection,
    sql: &str,
    numbers: &[u64],
    kinds: &[Kind],
    take: &mut dyn FnMut(Block),
) -> duckdb::Result<()> {
    let text = CString::new(sql).map_err(|_| failed("a name with a zero byte"))?;
    // SAFETY: what DuckDB makes is destroyed once, by `Given`, and used before; texts of errors are copied.
    unsafe {
        let destroy = |it: &mut _| ffi::duckdb_destroy_prepare(it);
        let mut statement: Given<ffi::duckdb_prepared_statement> =
            Given(std::ptr::null_mut(), destroy);
        if ffi::duckdb_prepare(connection, text.as_ptr(), &mut statement.0) != ffi::DuckDBSuccess {
            return Err(told(ffi::duckdb_prepare_error(statement.0)));
        }
        for (at, number) in (1..).zip(numbers) {
            if ffi::duckdb_bind_int64(statement.0, at, number.cast_signed()) != ffi::DuckDBSuccess {
                return Err(failed("a parameter that the statement does not have"));
            }
        }
        let destroy = |it: &mut _| ffi::duckdb_destroy_result(it);
        let mut result: Given<ffi::duckdb_result> = Given(std::mem::zeroed(), destroy);
        if ffi::duckdb_execute_prepared(statement.0, &mut result.0) != ffi::DuckDBSuccess {
            return Err(told(ffi::duckdb_result_error(&mut result.0)));
        }
        if kinds.is_empty() {
            return Ok(());
        }
        let big = ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT;
        let mut fits = ffi::duckdb_column_count(&mut result.0) == kinds.len() as u64;
        for (at, kind) in (0..).zip(kinds) {
            let found = ffi::duckdb_column_type(&mut result.0, at);
            fits &= found == type_of(*kind) || (*kind == Kind::UBigInt && found == big);
        }
        if !fits {
            return Err(failed("a column is of another type than addfg made it"));
        }
        loop {
            let destroy = |it: &mut _| ffi::duckdb_destroy_data_chunk(it);
            let chunk: Given<ffi::duckdb_data_chunk> =
                Given(ffi::duckdb_fetch_chunk(result.0), destroy);
            if chunk.0.is_null() {
                return Ok(());
            }
            let rows = ffi::duckdb_data_chunk_get_size(chunk.0) as usize;
            let vectors =
                (0..kinds.len()).map(|at| ffi::duckdb_data_chunk_get_vector(chunk.0, at as u64));
            let columns =
                vectors.zip(kinds).map(|(vector, kind)| column(vector, *kind, rows)).collect();
            take(Block { rows, columns });
        }
    }
}

/// # Safety
/// `text` is one of DuckDB's, or NULL.
unsafe fn told(text: *const std::ffi::c_char) -> duckdb::Error {
    if text.is_null() {
        return failed("DuckDB does not say why");
    }
    // SAFETY: as above.
    failed(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

fn type_of(kind: Kind) -> ffi::duckdb_type {
    match kind {
        Kind::BigInt => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
        Kind::Integer => ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
        Kind::UBigInt => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
        Kind::UInteger => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER,
        Kind::USmallInt => ffi::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT,
        Kind::Boolean => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
        Kind::Varchar => ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
        Kind::Blob => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
    }
}

/// # Safety
/// The vector has cells of this type in so many rows.
unsafe fn column(vector: ffi::duckdb_vector, kind: Kind, rows: usize) -> Column {
    // SAFETY: as above; texts and bytes are copied.
    unsafe {
        let data = ffi::duckdb_vector_get_data(vector);
        let valid = ffi::duckdb_vector_get_validity(vector);
        let is_null =
            |row: usize| !valid.is_null() && !ffi::duckdb_validity_row_is_valid(valid, row as u64);
        let bytes = |row: usize| -> Vec<u8> {
            if is_null(row) {
                return Vec::new();
            }
            let text = data.cast::<ffi::duckdb_string_t>().add(row);
            let length = ffi::duckdb_string_t_length(*text) as usize;
            std::slice::from_raw_parts(ffi::duckdb_string_t_data(text).cast(), length).to_vec()
        };
        let text = |row| String::from_utf8_lossy(&bytes(row)).into_owned().into();
        fn list<T: Copy>(data: *mut std::ffi::c_void, rows: usize) -> Vec<T> {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(data.cast(), rows).to_vec() }
        }
        let cells = match kind {
            Kind::BigInt => Cells::BigInt(list(data, rows)),
            Kind::Integer => Cells::Integer(list(data, rows)),
            Kind::UBigInt => Cells::UBigInt(list(data, rows)),
            Kind::UInteger => Cells::UInteger(list(data, rows)),
            Kind::USmallInt => Cells::USmallInt(list(data, rows)),
            // A byte that is neither is no `bool`.
            Kind::Boolean => {
                Cells::Boolean(list::<u8>(data, rows).into_iter().map(|byte| byte != 0).collect())
            }
            Kind::Varchar => Cells::Varchar((0..rows).map(text).collect()),
            Kind::Blob => Cells::Blob((0..rows).map(bytes).collect()),
        };
        let null = if valid.is_null() { Vec::new() } else { (0..rows).map(is_null).collect() };
        Column { cells, null }
    }
}
