//! What is known of allocation functions: which they are, what they are asked for and give.

use super::functions::{Allocator, allocator};
use super::named::named;
use super::registers::{Convention, convention};
use super::told::Tellings;
use crate::event::Isa;
use crate::id::FunctionId;
use crate::load::parts::may_allocate;
use crate::replay::error::ReplayError;
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// How it is known what allocation functions are asked for and give.
pub(super) enum Knowledge<'a> {
    /// Registers' values.
    Registers(Convention),
    /// The trace tells.
    Told(Tellings<'a>),
}

/// The registers that pass arguments, if the traces tell their values.
fn conventions(connection: &Connection) -> Result<Convention, ReplayError> {
    let sql = include_str!("../../../queries/report/replay_carries.sql");
    type Row = (Option<String>, Option<i64>, Option<String>);
    let (isa, valued, format): Row =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
    if valued.unwrap_or(0) == 0 {
        let format = format.unwrap_or_else(|| "unknown".into());
        return Err(ReplayError::NoValues {
            why: format!(
                "its trace ({}) tells of none; `addfg record` tells of allocations, QEMU of registers: qemu-x86_64 -singlestep -d nochain,cpu,in_asm -D app.log ./app",
                crate::text::visible(&format)
            ),
        });
    }
    let isa = isa.as_deref().and_then(crate::trace::record::isa_named);
    isa.and_then(convention).ok_or_else(|| ReplayError::NoValues {
        why: match isa {
            Some(Isa::X86) => {
                "32-bit x86 passes arguments on the stack; record a 64-bit build".into()
            }
            _ => "its instruction set is not known".into(),
        },
    })
}

/// Allocation functions by all names of the functions, and those that the recording or the build was told of.
pub(super) fn functions(
    connection: &Connection,
) -> Result<FxHashMap<FunctionId, &'static Allocator>, ReplayError> {
    let mut functions: FxHashMap<FunctionId, &'static Allocator> = FxHashMap::default();
    let sql = include_str!("../../../queries/report/function_aliases.sql");
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        if let Some(found) = allocator(&r.get::<_, String>(1)?) {
            functions.insert(r.get(0)?, found);
        }
    }
    functions.extend(named(connection)?);
    Ok(functions)
}

pub(super) fn knowledge(connection: &Connection) -> Result<Knowledge<'_>, ReplayError> {
    match conventions(connection) {
        Ok(convention) => Ok(Knowledge::Registers(convention)),
        Err(ReplayError::NoValues { .. }) if tells(connection)? => {
            Ok(Knowledge::Told(Tellings::new(connection)))
        }
        Err(error) => Err(error),
    }
}

/// Whether what allocation functions do is known for a run: the trace tells, or has the values of the
/// registers that pass arguments.
pub(in crate::replay) fn are_known(connection: &Connection) -> Result<bool, ReplayError> {
    match conventions(connection) {
        Ok(_) => Ok(true),
        Err(ReplayError::NoValues { .. }) => {
            Ok(connection.query_row(TOLD, [], |r| r.get::<_, i64>(0))? > 0)
        }
        Err(error) => Err(error),
    }
}

/// The same before there are rows of what is told.
pub(in crate::replay) fn may_be_known(connection: &Connection) -> Result<bool, ReplayError> {
    match conventions(connection) {
        Err(ReplayError::NoValues { .. }) => Ok(may_allocate(connection)?),
        found => found.map(|_| true),
    }
}

const TOLD: &str = "SELECT count(*) FROM allocation WHERE kind = 'allocate'";

/// A stream without allocations is of a program without them, or of an older recorder.
fn tells(connection: &Connection) -> Result<bool, ReplayError> {
    let sql = "SELECT count(*) FROM input WHERE role = 'trace' AND format = 'stream'";
    let streams: i64 = connection.query_row(sql, [], |r| r.get(0))?;
    Ok(streams > 0 || connection.query_row(TOLD, [], |r| r.get::<_, i64>(0))? > 0)
}
