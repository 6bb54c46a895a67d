use super::database::Database;
use super::say::say;
use crate::store::open::{self, Mode, Opening};
use crate::views;
use std::path::Path;
use std::process::ExitCode;

/// Stores the answers of loops, memory, objects and critical in the database
///
/// They take the whole run: this goes through it once for all of them, on two processors, and
/// those commands then answer at once. Tables object_use, executed_loop, memory_traffic and the
/// like have them for SQL.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// The same for a database that was just built.
pub fn prepare(db: &Path) -> anyhow::Result<()> {
    Ok(views::prepare::prepare(&open::open(db, true)?)?)
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let trust = args.database.trust();
    let opening = Opening { mode: Mode::Write, trust, ..Opening::READ };
    views::prepare::prepare(&open::open_as(&args.database.db, opening)?)?;
    if !args.quiet {
        let db = args.database.db.display();
        say!("addfg: {db}: loops, memory, objects and critical are stored");
    }
    Ok(ExitCode::SUCCESS)
}
