//! What is in a database: inputs, what they carry, counts, functions, problems.

use super::listing::Listing;
use super::report;
use crate::text::words;
use duckdb::Connection;
use duckdb::types::Value;

pub fn properties() -> Listing {
    Listing::new(report!("info_meta"), [])
}

pub fn inputs() -> Listing {
    Listing::new(report!("info_inputs"), [])
}

/// Rows of each table.
pub fn counts() -> Listing {
    Listing::new(report!("info_counts"), [])
}

/// Functions with the most steps, or ticks, of their own.
pub fn functions(unit: &'static str, top: u32) -> Listing {
    Listing::new(report!("info_functions"), [Value::UInt(top)]).counting(unit).short_names()
}

/// Problems met while building; None if there were none.
pub fn problems(connection: &Connection) -> duckdb::Result<Option<Listing>> {
    let any = connection.query_row("SELECT count(*) > 0 FROM diagnostic", [], |r| r.get(0))?;
    Ok(if any { Some(Listing::new(report!("info_diagnostics"), [])) } else { None })
}

words! {
    /// What a trace may carry, as columns of `input`.
    pub enum Carries {
        Accesses = "carries_accesses",
        Registers = "carries_registers",
        Values = "carries_values",
        Time = "carries_time",
        Threads = "carries_threads",
        KernelStores = "carries_kernel_stores",
        Calls = "carries_calls",
    }
}

impl Carries {
    fn word(self) -> &'static str {
        match self {
            Carries::Accesses => "accesses",
            Carries::Registers => "register accesses",
            Carries::Values => "register values",
            Carries::Time => "time",
            Carries::Threads => "threads",
            Carries::KernelStores => "what the kernel stored",
            Carries::Calls => "calls",
        }
    }

    /// What it means that a trace does not.
    fn without(self) -> Option<&'static str> {
        Some(match self {
            Carries::Accesses => "no dataflow; record with addfg record -- ./app, or QEMU",
            Carries::Registers => {
                "only dataflow through memory; give the program with --elf, or record with QEMU"
            }
            Carries::Values => {
                "restores of saved registers are not checked by value; record with QEMU -d in_asm,cpu"
            }
            Carries::Time => "order is by step; record with a simulator that has a clock",
            Carries::Threads => {
                "all steps count as one thread; record with a simulator or QEMU's execlog plugin"
            }
            Carries::KernelStores => {
                "bytes that a system call wrote keep the producer that they had before"
            }
            Carries::Calls => return None,
        })
    }

    /// Without accesses there is nothing that this could be of.
    fn needs_accesses(self) -> bool {
        matches!(self, Carries::Registers | Carries::Values | Carries::KernelStores)
    }

    /// A trace of dependences has other things in its place.
    fn is_of_steps(self) -> bool {
        self == Carries::Accesses || self == Carries::Time || self.needs_accesses()
    }
}

/// What the traces carry, in words, and what they do not, with what that means.
#[derive(Debug, Default)]
pub struct Carried {
    pub has: Vec<&'static str>,
    pub missing: Vec<[&'static str; 2]>,
}

pub fn carried(connection: &Connection) -> duckdb::Result<Carried> {
    let mut found = Carried::default();
    let any =
        |sql: &str| -> duckdb::Result<Option<bool>> { connection.query_row(sql, [], |r| r.get(0)) };
    let some = |column: &str| {
        any(&format!("SELECT bool_or({column}) FROM input WHERE role = 'trace'"))
            .map(|found| found == Some(true))
    };
    let dependences = some("carries_dependences")?;
    if dependences {
        found.has.push("dependences between instances of instructions");
        if any("SELECT count(*) > 0 FROM instruction_value")? == Some(true) {
            found.has.push("values");
        }
        found.missing.push([
            "the order of steps, and sizes",
            "data edges count dependences, and there are no calls and instances; record with addfg record -- ./app, or QEMU",
        ]);
    }
    if some("carries_paths")? {
        found.has.push("paths (addfg paths)");
    }
    let mut accesses = true;
    for &what in Carries::ALL {
        if (!accesses && what.needs_accesses()) || (dependences && what.is_of_steps()) {
            continue;
        }
        let sql = format!("SELECT bool_and({}) FROM input WHERE role = 'trace'", what.name());
        match (any(&sql)?, what.without()) {
            (Some(true), _) => found.has.push(what.word()),
            (Some(false), Some(so)) => {
                accesses &= what != Carries::Accesses;
                found.missing.push([what.word(), so]);
            }
            _ => {}
        }
    }
    Ok(found)
}
