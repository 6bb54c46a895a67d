//! A loadable extension of DuckDB with addfg's table functions over packed runs. Only functions of
//! DuckDB's stable C interface are called, which all of its versions from 1.2 on have.

mod host;

use addfg::internals::scan::{Error, register};
use duckdb::{Connection, ffi};
use host::Host;
use std::ffi::CString;
use std::sync::Arc;

/// The version of DuckDB's C interface that is asked for.
const INTERFACE: &str = "v1.2.0";

/// What DuckDB calls when it loads `addfg.duckdb_extension`.
///
/// # Safety
/// As DuckDB's interface for extensions says: both pointers are of this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn addfg_init_c_api(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
) -> bool {
    // SAFETY: DuckDB gives both.
    match unsafe { load(info, access) } {
        Ok(loaded) => loaded,
        Err(error) => {
            let text = CString::new(error.to_string()).unwrap_or_default();
            // SAFETY: DuckDB copies the text.
            if let Some(set_error) = unsafe { (*access).set_error } {
                unsafe { set_error(info, text.as_ptr()) };
            }
            false
        }
    }
}

/// False: DuckDB does not have this interface, and says so.
unsafe fn load(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
) -> Result<bool, Error> {
    // SAFETY: the pointers are DuckDB's; the database is there as long as this call.
    unsafe {
        if !ffi::duckdb_rs_extension_api_init(info, access, INTERFACE)? {
            return Ok(false);
        }
        let database = (*access).get_database.ok_or("there is no database")?(info);
        if database.is_null() {
            return Ok(false);
        }
        let host = Host::new(*database)?;
        let connection = Connection::open_from_raw(*database)?;
        register(&connection, Arc::new(host))?;
    }
    Ok(true)
}
