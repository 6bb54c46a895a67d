use super::Database;
use super::table::{self, Format};
use crate::flows;
use crate::graph::resolve_function;
use crate::text::human_count;
use std::process::ExitCode;

/// Lists every communication from one function to another
///
/// Each with the instructions and source lines at both ends, when (seq), what it went through, and
/// how many bytes; in the order of the reads. Bytes that no step wrote come from a pseudo-function
/// such as '<input>'.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Writing function: name, file:name or @address
    from: String,
    /// Reading function
    to: String,
    /// Only what this call of the reading function read, counted from 1 (as TO#N)
    #[arg(long, value_name = "N", conflicts_with = "group")]
    instance: Option<i32>,
    /// Sum by pair of instructions instead, the largest first
    #[arg(long)]
    group: bool,
    /// Rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(i64).range(0..))]
    limit: i64,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    super::need(&db, "function_edge", "dataflow")?;
    let from = resolve_function(&db, &args.from)?;
    let instance = args.instance.map_or(String::new(), |n| format!("#{n}"));
    let to = resolve_function(&db, &format!("{}{instance}", args.to))?;
    anyhow::ensure!(
        from.instance.is_none(),
        "a call of the writing function cannot be chosen, only one of the reading function"
    );
    let limit = if args.limit == 0 { i64::MAX } else { args.limit };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let dependences: bool =
        db.query_row("SELECT count(*) > 0 FROM dependence_edge", [], |r| r.get(0))?;
    if dependences {
        let single: bool = db.query_row("SELECT count(*) > 0 FROM dependence", [], |r| r.get(0))?;
        anyhow::ensure!(
            single || args.group,
            "this database keeps no single dependences: --group sums them, or build it with --detail pairs"
        );
        let sql = if args.group { flows::DEPENDENCES_GROUPED } else { flows::DEPENDENCES };
        let rows = table::query(
            &db,
            sql,
            &[&from.function_id, &to.function_id, &limit],
            args.format,
            &mut out,
        )?;
        if rows as i64 == limit {
            eprintln!("addfg: the first {rows}; --limit 0 lists all, --group sums them");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.group {
        anyhow::ensure!(to.instance.is_none(), "--group sums over all calls; leave out the #N");
        table::query(
            &db,
            flows::GROUPED,
            &[&from.function_id, &to.function_id, &limit],
            args.format,
            &mut out,
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let detail: String =
        db.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    anyhow::ensure!(
        matches!(detail.as_str(), "pairs" | "full"),
        "this database keeps no single communications (detail {detail}): --group sums them, or build it with --detail pairs"
    );
    anyhow::ensure!(
        from.function_id != to.function_id || detail == "full",
        "this database keeps no communications inside a call (detail {detail}): --group sums them, or build it with --detail full"
    );
    let steps: bool =
        db.query_row("SELECT count(*) > 0 FROM (FROM block_run LIMIT 1)", [], |r| r.get(0))?;
    anyhow::ensure!(
        steps,
        "single communications need the steps, which this database does not keep: {}; --group sums them",
        crate::store::open::why_no_steps(&db)?
    );
    let all = flows::find(&db, from.function_id, to.function_id, to.instance, limit)?;
    let rows = table::query(&db, flows::FOUND, &[], args.format, &mut out)?;
    if rows as i64 == limit && all > limit {
        eprintln!(
            "addfg: the first {} of {} transfers; --limit 0 lists all, --group sums them",
            rows,
            human_count(all)
        );
    }
    Ok(ExitCode::SUCCESS)
}
