use super::database::Database;
use crate::render::rows::{RowFormat, new_table};
use crate::text::visible;
use crate::views::info;
use crate::views::listing::Listing;
use std::io::Write;
use std::process::ExitCode;

/// Shows a database's inputs, what they carry and lack, functions, problems
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Properties of the database and rows of its tables, too
    #[arg(long)]
    all: bool,
    /// Functions to list, those with the most steps first
    #[arg(long, alias = "top", value_name = "N", default_value_t = 5)]
    limit: u32,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open_silently()?;
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let list = |listing: Listing, out: &mut dyn Write| listing.write(&db, RowFormat::Table, out);
    writeln!(out, "Inputs")?;
    list(info::inputs(), &mut out)?;
    write_carried(&info::carried(&db)?, &mut out)?;
    if args.all {
        writeln!(out, "\nDatabase")?;
        list(info::properties(), &mut out)?;
        writeln!(out, "\nRows")?;
        list(info::counts(), &mut out)?;
    }
    let unit = crate::query::unit(&db)?;
    writeln!(out, "\nFunctions with the most {unit} of their own")?;
    list(info::functions(unit, args.limit), &mut out)?;
    writeln!(out, "\nProblems met while building")?;
    match info::problems(&db)? {
        Some(problems) => drop(list(problems, &mut out)?),
        None => writeln!(out, "none")?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What the traces carry and what they do not, with what would.
fn write_carried(carried: &info::Carried, out: &mut dyn Write) -> anyhow::Result<()> {
    let has = if carried.has.is_empty() { "steps only".into() } else { carried.has.join(", ") };
    writeln!(out, "the traces carry: {}", visible(&has))?;
    if !carried.missing.is_empty() {
        let mut table = new_table(&["not in the trace", "so"]);
        for row in &carried.missing {
            table.add_row(*row);
        }
        for line in table.to_string().lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}
