use super::database::Database;
use super::say::say;
use crate::load::Detail;
use crate::render::rows::RowFormat;
use crate::replay::crossing::Callees;
use crate::views::cut::{self, Shown};
use crate::views::needs::{Need, require};
use std::io::Write;
use std::process::ExitCode;

/// Shows what a set of functions exchanges with the rest of the program
///
/// What must be sent in and out if they move to another core, accelerator or memory: by entry into
/// the set and in all, how much would have to be sent if nothing or everything stayed there, with
/// whom, and through which variables and buffers.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Functions: name, file:name, @address, a source file for all in it, or a pattern: glob:stbi__*,
    /// re:^stbi__
    #[arg(required = true, value_name = "FUNCTION,...")]
    functions: Vec<String>,
    /// What they call belongs to them, to any depth
    #[arg(long)]
    callees: bool,
    /// Only this part
    #[arg(long)]
    show: Option<Shown>,
    /// Maximum rows per part; 0: all [default: 1000, or 10 where all parts are shown]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Other formats than a table have one part [default part: figures]
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    require(&db, Need::Dataflow)?;
    let figures = match args.show {
        Some(shown) => shown == Shown::Figures,
        None => args.format != RowFormat::Table,
    };
    anyhow::ensure!(
        !figures || args.limit.unwrap_or(0) == 0,
        "--limit changes nothing about figures, which are always the same: leave it out, or name another part by --show"
    );
    let set = cut::choose(&db, &args.functions)?;
    let callees = if args.callees { Callees::Inside } else { Callees::Outside };
    let db = args.database.prepared(db, Detail::Pairs)?;
    let found = cut::cut(&db, &set, callees)?;
    let limit = |default: usize| match args.limit.unwrap_or(default) {
        0 => usize::MAX,
        limit => limit,
    };
    let mut out = std::io::BufWriter::new(super::output::stdout());
    match (args.show, args.format) {
        (None, RowFormat::Table) => {
            writeln!(out, "{}\n", found.headline())?;
            for (i, shown) in [Shown::Figures, Shown::Flows, Shown::Objects].into_iter().enumerate()
            {
                if i > 0 {
                    writeln!(out)?;
                }
                found.write(shown, limit(10), args.format, &mut out)?;
            }
            out.flush()?;
        }
        (shown, format) => {
            let limit = limit(1000);
            let rows = found.write(shown.unwrap_or(Shown::Figures), limit, format, &mut out)?;
            if rows == limit as u64 {
                say!("addfg: the first {rows}; --limit 0 lists all");
            }
        }
    }
    for note in found.notes() {
        say!("addfg: {note}");
    }
    Ok(ExitCode::SUCCESS)
}
