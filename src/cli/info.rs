use super::Database;
use super::table::{self, Format, query};
use crate::text::visible;
use duckdb::Connection;
use std::io::Write;
use std::process::ExitCode;

/// Says what is in a database: inputs, what they carry, counts, functions, problems
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Functions to list, those with the most steps first
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: u32,
}

/// What a trace may carry, and what it means that it does not.
const CARRIES: [(&str, &str, &str); 7] = [
    (
        "carries_accesses",
        "accesses",
        "no dataflow; record with valgrind --tool=lackey --trace-mem=yes, or QEMU",
    ),
    (
        "carries_registers",
        "register accesses",
        "only dataflow through memory; give the program with --elf, or record with QEMU",
    ),
    (
        "carries_values",
        "register values",
        "restores of saved registers are not checked by value; record with QEMU -d in_asm,cpu",
    ),
    ("carries_time", "time", "order is by step; record with a simulator that has a clock"),
    (
        "carries_threads",
        "threads",
        "all steps count as one thread; record with a simulator or QEMU's execlog plugin",
    ),
    (
        "carries_kernel_stores",
        "what the kernel stored",
        "bytes that a system call wrote keep the producer that they had before",
    ),
    ("carries_calls", "calls", ""),
];

const META: &str = include_str!("../../queries/report/info_meta.sql");
const INPUTS: &str = include_str!("../../queries/report/info_inputs.sql");
const COUNTS: &str = include_str!("../../queries/report/info_counts.sql");
const FUNCTIONS: &str = include_str!("../../queries/report/info_functions.sql");
const DIAGNOSTICS: &str = include_str!("../../queries/report/info_diagnostics.sql");

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "Database")?;
    query(&db, META, &[], Format::Table, &mut out)?;
    writeln!(out, "\nInputs")?;
    query(&db, INPUTS, &[], Format::Table, &mut out)?;
    carries(&db, &mut out)?;
    writeln!(out, "\nRows")?;
    query(&db, COUNTS, &[], Format::Table, &mut out)?;
    let unit = crate::query::unit(&db)?;
    writeln!(out, "\nFunctions with the most {unit} of their own")?;
    table::query_in(&db, unit, FUNCTIONS, &[&args.top], Format::Table, &mut out)?;
    writeln!(out, "\nProblems met while building")?;
    let problems: i64 = db.query_row("SELECT count(*) FROM diagnostic", [], |r| r.get(0))?;
    if problems > 0 {
        query(&db, DIAGNOSTICS, &[], Format::Table, &mut out)?;
    } else {
        writeln!(out, "none")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What the traces carry and what they do not, with what would.
fn carries(db: &Connection, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut has = Vec::new();
    let mut missing = table::new_table(&["not in the trace", "so"]);
    let [dependences, paths] = ["carries_dependences", "carries_paths"].map(|column| {
        let sql = format!("SELECT bool_or({column}) FROM input WHERE role = 'trace'");
        db.query_row(&sql, [], |r| r.get::<_, Option<bool>>(0)).map(|found| found == Some(true))
    });
    let (dependences, paths) = (dependences?, paths?);
    if dependences {
        has.push("dependences between instances of instructions");
        let values: bool =
            db.query_row("SELECT count(*) > 0 FROM instruction_value", [], |r| r.get(0))?;
        if values {
            has.push("values");
        }
        missing.add_row([
            "the order of steps, and sizes",
            "data edges count dependences, and there are no calls and instances; record with valgrind --tool=lackey or QEMU",
        ]);
    }
    if paths {
        has.push("paths (addfg paths)");
    }
    let mut accesses = true;
    for (column, what, so) in CARRIES {
        // Without accesses there is nothing that their details could be of.
        if !accesses
            && matches!(column, "carries_registers" | "carries_values" | "carries_kernel_stores")
        {
            continue;
        }
        let sql = format!("SELECT bool_and({column}) FROM input WHERE role = 'trace'");
        if dependences
            && matches!(
                column,
                "carries_accesses"
                    | "carries_registers"
                    | "carries_values"
                    | "carries_kernel_stores"
                    | "carries_time"
            )
        {
            continue;
        }
        match db.query_row(&sql, [], |r| r.get::<_, Option<bool>>(0))? {
            Some(true) => has.push(what),
            Some(false) if !so.is_empty() => {
                accesses &= column != "carries_accesses";
                missing.add_row([what, so]);
            }
            _ => {}
        }
    }
    writeln!(
        out,
        "the traces carry: {}",
        if has.is_empty() { "steps only".into() } else { visible(&has.join(", ")).into_owned() }
    )?;
    if missing.row_count() > 0 {
        for line in missing.to_string().lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}
