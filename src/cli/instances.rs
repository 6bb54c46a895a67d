use super::database::Database;
use super::no_rows;
use super::say::say;
use crate::graph::resolve_function;
use crate::load::Detail;
use crate::render::rows::RowFormat;
use crate::views::instances::instances;
use crate::views::listing;
use std::process::ExitCode;

/// Lists and compares the calls of a function
///
/// Each with its caller, its steps, what it read from other calls and handed to them, and from how
/// many of the functions that its function has dataflow with at all. `like` is the first call that
/// exchanged the same bytes with the same functions. `graph --focus FUNCTION#N` draws one call
/// against all.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Name, file:name or @address
    function: String,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let found = resolve_function(&db, &args.function)?;
    if found.instance.is_some() {
        anyhow::bail!(
            "instances compares all calls of a function; `addfg graph --focus {}` draws this one",
            args.function
        );
    }
    let db = args.database.prepared(db, Detail::Instance)?;
    let list = instances(&db, found.function_id, listing::limit(args.limit))?;
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let rows = list.write(&db, args.format, &mut out)?;
    if rows == 0 {
        no_rows::say_why(&db, [&[found.function_id][..]], "no call of it is known")?;
    } else if rows == args.limit {
        say!("addfg: the first {rows} calls; --limit 0 lists all");
    }
    Ok(ExitCode::SUCCESS)
}
