use super::Database;
use super::table::{self, Format};
use crate::views::memory;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the memory profile: traffic and dead bytes by variable, footprint over the run, reuse distance
///
/// `dead` bytes were overwritten or left without being read; of the bytes read, the `re-read` ones had been read before since they
/// were written. -o FILE.svg draws accesses over address and time.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// What to print
    #[arg(long, default_value = "traffic", value_parser = ["traffic", "functions", "time", "reuse"])]
    show: String,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
    /// File to write; FILE.svg becomes a picture [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let number = |n: u64| Value::BigInt(n as i64);
    let mut text = Vec::new();
    if args.show == "functions" {
        super::need(&db, "(FROM function_profile WHERE written_bytes IS NOT NULL)", "memory accesses")?;
        let sql = include_str!("../../queries/report/unused.sql");
        table::query(&db, sql, &[], args.format, &mut text)?;
        return super::output(args.output.as_deref(), &text);
    }
    let profile = memory::memory(&db)?;
    if args.output.as_ref().is_some_and(|o| o.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"))) {
        return super::output(args.output.as_deref(), memory::picture(&profile).as_bytes());
    }
    match args.show.as_str() {
        "time" => {
            let mut report =
                table::Report::new(&["first_step", "reads", "writes", "touched", "footprint"], args.format, &mut text)?;
            for m in profile.moments.iter().filter(|m| m.first_seq > 0) {
                report.row(&[
                    Value::BigInt(m.first_seq),
                    number(m.reads),
                    number(m.writes),
                    number(m.touched),
                    number(m.footprint),
                ])?;
            }
            report.finish()?;
        }
        "reuse" => {
            let mut report = table::Report::new(&["lines_between", "accesses"], args.format, &mut text)?;
            report.row(&[Value::Text("first access".into()), number(profile.cold)])?;
            for (class, &count) in profile.reuse.iter().enumerate() {
                report.row(&[Value::Text(memory::distance(class)), number(count)])?;
            }
            report.finish()?;
        }
        _ => {
            let names =
                ["variable", "reads", "read_bytes", "re_read_bytes", "writes", "written_bytes", "dead_bytes", "distinct_bytes"];
            let mut report = table::Report::new(&names, args.format, &mut text)?;
            let mut list: Vec<_> = profile.traffic.iter().collect();
            list.sort_by_key(|(name, t)| (std::cmp::Reverse(t.read_bytes + t.written_bytes), (*name).clone()));
            for (name, t) in list {
                report.row(&[
                    Value::Text(name.clone()),
                    number(t.reads),
                    number(t.read_bytes),
                    // Bytes that no step wrote are read for the first time, too; they are not told from re-read ones.
                    if t.written_bytes > 0 { number(t.read_bytes.saturating_sub(t.first_read_bytes)) } else { Value::Null },
                    number(t.writes),
                    number(t.written_bytes),
                    if name == "(stack)" { Value::Null } else { number(t.dead_bytes) },
                    number(t.touched),
                ])?;
            }
            report.finish()?;
        }
    }
    super::output(args.output.as_deref(), &text)
}
