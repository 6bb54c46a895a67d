use super::database::Database;
use super::options::{self, OwnAllocator, allocators};
use super::say::say;
use crate::render::rows::RowFormat;
use crate::views::cut;
use crate::views::needs::{Need, require};
use crate::views::objects::{self, Rows};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Lists which functions use which variables, heap allocations and other memory
///
/// A row for each object and function: reads and writes, distinct bytes, first and last step, and
/// bytes that the function wrote and nobody read. Heap allocations are told by the line that asked
/// for them; where the recording tells of none, bytes that were touched and stand together are one
/// buffer. The run is gone through byte by byte, unless `addfg prepare` has stored
/// what comes of it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Only the rows of these: functions as in `addfg cut`
    #[arg(long, value_name = "FUNCTION,...")]
    functions: Vec<String>,
    /// Fields of structures, too: behind each variable a row for each field and function. A read of
    /// two fields is a read of each
    #[arg(long)]
    fields: bool,
    /// NAME is another malloc, free or the like (pool_get=malloc), beside those that `addfg record` or
    /// `build` was told of
    #[arg(long, value_name = "NAME=FUNCTION", value_parser = options::own_allocator)]
    allocator: Vec<OwnAllocator>,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    require(&db, Need::MemoryAccesses)?;
    let only = match &args.functions[..] {
        [] => BTreeSet::new(),
        words => cut::choose(&db, words)?,
    };
    let (list, unknown) = objects::objects(&db, &only, &allocators(&args.allocator))?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let kind = if args.fields { Rows::Fields } else { Rows::Objects };
    let rows = objects::write(&db, &list, (kind, limit), args.format, &mut out)?;
    if rows == limit as u64 {
        say!("addfg: the first {rows}; --limit 0 lists all");
    }
    options::say_unknown(unknown.unwrap_or(0));
    Ok(ExitCode::SUCCESS)
}
