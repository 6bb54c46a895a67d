use super::Database;
use super::table::{Format, query};
use std::io::Write;
use std::process::ExitCode;

/// Says what is in a database: inputs, what they carry, counts, functions, problems
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Functions to list, those with the most steps first
    #[arg(long, default_value_t = 15)]
    top: i64,
}

/// What a trace does not carry, and what would.
const MISSING: [(&str, &str); 6] = [
    ("carries_accesses", "memory accesses: record with lackey or QEMU"),
    ("carries_registers", "register accesses: give the program with --elf"),
    ("carries_values", "register values: record with QEMU -d cpu"),
    ("carries_time", "time: record with a simulator that has a clock"),
    ("carries_threads", "threads: everything is one thread; record with a simulator or QEMU's execlog plugin"),
    ("carries_kernel_stores", "what the kernel stored: bytes that a system call wrote keep the producer they had before"),
];

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let mut out = std::io::stdout().lock();
    query(&db, "SELECT key, value FROM meta", &[], Format::Table, &mut out)?;
    writeln!(out, "\nInputs")?;
    query(&db, "SELECT input_id, role, path, format, size, options FROM input", &[], Format::Table, &mut out)?;
    for (column, what) in MISSING {
        let sql = format!("SELECT count(*) FROM input WHERE role = 'trace' AND NOT {column}");
        if db.query_row(&sql, [], |r| r.get::<_, i64>(0))? > 0 {
            writeln!(out, "not in the trace: {what}")?;
        }
    }
    writeln!(out, "\nRows")?;
    let counts: Vec<String> = [
        "thread",
        "image",
        "function_symbol",
        "variable",
        "instruction",
        "opcode_line",
        "data_access",
        "function_call",
        "communication",
        "saved_register",
        "control_flow",
        "dataflow",
        "function_dataflow",
        "call_graph",
        "diagnostic",
    ]
    .iter()
    .map(|t| format!("SELECT '{t}' AS \"table\", count(*) AS rows FROM {t}"))
    .collect();
    query(&db, &counts.join(" UNION ALL "), &[], Format::Table, &mut out)?;
    writeln!(out, "\nFunctions with the most steps of their own")?;
    let sql = "SELECT s.function_id AS id, s.name, s.kind, p.calls, p.steps_self, p.steps_total, p.written_bytes, p.dead_bytes
               FROM function_profile p JOIN function_symbol s USING (function_id) ORDER BY p.steps_self DESC, s.function_id LIMIT ?";
    query(&db, sql, &[&args.top], Format::Table, &mut out)?;
    let problems: i64 = db.query_row("SELECT count(*) FROM diagnostic", [], |r| r.get(0))?;
    if problems > 0 {
        writeln!(out, "\nProblems")?;
        query(&db, "SELECT * FROM diagnostic", &[], Format::Table, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
