use super::database::Database;
use super::options;
use super::say::say;
use crate::export::{self, Export, Made, Options, Overwrite};
use crate::load::Detail;
use crate::load::packed::{self, Wanted};
use crate::render::layout;
use crate::store::open::Reach;
use crate::views::rows;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes files for other programs: profilers, viewers, data tools
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// What to make
    #[arg(long, value_name = "FORMAT", value_parser = options::exports())]
    to: &'static Export,
    /// File or folder to make; - is standard output [default: a name made of the database's, in the
    /// working directory]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// csv and parquet: only these tables and views [default: all but opcode_line and data_access,
    /// which unpack every step]
    #[arg(long, value_delimiter = ',', value_name = "TABLE,...")]
    tables: Vec<String>,
    /// chrome: arrows from writing to reading calls at most, those with the most bytes; 0: all
    /// [default: 100000]
    #[arg(long, value_name = "N")]
    arrows: Option<u64>,
    /// Replace an existing file; of a folder, the files of the same names
    #[arg(long)]
    force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let export = args.to;
    anyhow::ensure!(
        args.tables.is_empty() || matches!(export.name, "csv" | "parquet"),
        "--tables chooses tables of csv and parquet: leave it out of --to {}",
        export.name
    );
    anyhow::ensure!(
        args.arrows.is_none() || export.name == "chrome",
        "--arrows is of chrome: leave it out of --to {}",
        export.name
    );
    let arrows = args.arrows.unwrap_or(100_000);
    let folder = matches!(export.made, Made::Folder(_));
    let stem = args.database.db.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let output = args.output.unwrap_or_else(|| export.file.replace('*', &stem).into());
    let options = Options { tables: args.tables, arrows: (arrows > 0).then_some(arrows) };
    let part = crate::files::part(&output);
    let db = args.database.open_to_write(Reach::Folder(&part))?;
    match export.name {
        "speedscope" | "chrome" => rows::ensure(&db, Detail::Instance)?,
        "dcfg" => rows::ensure(&db, Detail::Pairs)?,
        "callgrind" => rows::ensure_short(&db, Detail::Instance)?,
        "csv" | "parquet" | "sqlite" if !args.quiet && options.tables.is_empty() => {
            let empty = "tables of steps, communications, calls and events are empty";
            let some = "or have a part (`addfg rows --range`)";
            if packed::lacks(&db, &Wanted::all(Detail::Pairs))? {
                say!(
                    "addfg: the run is packed, so that {empty}, {some}: `addfg rows {}` makes all first",
                    args.database.db.display()
                );
            } else if packed::has_sums_only(&db)? {
                say!("addfg: this database has sums only, so that {empty}");
            }
        }
        _ => {}
    }
    if !args.quiet {
        args.database.say_problems(&db)?;
        if matches!(export.name, "csv" | "parquet" | "sqlite") && options.tables.is_empty() {
            let missing: Vec<String> = export::unprepared(&db)?.into_iter().collect();
            if !missing.is_empty() {
                let how = if export.name == "sqlite" { "empty" } else { "left out" };
                let (missing, db_path) = (missing.join(", "), args.database.db.display());
                match packed::has_sums_only(&db)? {
                    true => say!("addfg: {how}, as they need steps: {missing}"),
                    false => say!(
                        "addfg: not found yet, and {how}: {missing}; `addfg prepare {db_path}` finds them first"
                    ),
                }
            }
        }
    }
    if output.as_os_str() == "-" {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, super::output::stdout());
        export::stream(&db, export, &options, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let overwrite = if args.force { Overwrite::Replace } else { Overwrite::Refuse };
    export::write(&db, export, &options, &output, overwrite)?;
    if !args.quiet && export.name == "dot" {
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        let edges = text.lines().filter(|line| line.contains(" -> ")).count();
        if edges > layout::MOST {
            say!(
                "addfg: {edges} edges are more than Graphviz draws: addfg graph draws the largest, --to graphml is for Gephi and yEd"
            );
        }
    }
    if !args.quiet {
        say!("addfg: wrote {}{}", output.display(), if folder { " (folder)" } else { "" });
    }
    Ok(ExitCode::SUCCESS)
}
