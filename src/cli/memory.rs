use super::Database;
use super::table::{self, Format};
use crate::replay::allocations::{Allocator, allocator};
use crate::views::memory;
use duckdb::types::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the memory profile: traffic and dead bytes by variable or allocation, footprint over the
/// run, reuse distance
///
/// `dead` bytes were overwritten or left without being read; of the bytes read, the `re-read` ones
/// had been read before since they were written. -o FILE.svg draws accesses over address and time.
///
/// `--show allocations` finds the heap allocations by the calls of malloc, free, operator new and
/// the like, where the recording has register values (QEMU), and sums accesses to them by the line
/// that asked for them.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// What to print
    #[arg(long, default_value = "traffic", value_parser = ["traffic", "functions", "allocations", "time", "reuse"])]
    show: String,
    /// With --show allocations: one row for each, in the order in which they were given
    #[arg(long)]
    each: bool,
    /// With --show allocations: NAME is another malloc, free or the like (pool_get=malloc)
    #[arg(long, value_name = "NAME=FUNCTION", value_parser = own)]
    allocator: Vec<(String, &'static Allocator)>,
    /// With --show allocations: rows at most; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[arg(long, default_value = "table", value_enum)]
    format: Format,
    /// File to write; FILE.svg becomes a picture [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// `NAME=FUNCTION`.
fn own(text: &str) -> Result<(String, &'static Allocator), String> {
    let (name, what) =
        text.rsplit_once('=').ok_or("write it as NAME=FUNCTION, as in pool_get=malloc")?;
    let what = allocator(what).ok_or_else(|| {
        format!("`{what}` is no allocation function such as malloc, calloc, realloc, free")
    })?;
    Ok((name.to_owned(), what))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let number = |n: u64| Value::BigInt(n as i64);
    let mut text = Vec::new();
    if args.show == "functions" {
        super::need(
            &db,
            "(FROM function_profile WHERE written_bytes IS NOT NULL)",
            "memory accesses",
        )?;
        let sql = include_str!("../../queries/report/unused.sql");
        table::query(&db, sql, &[], args.format, &mut text)?;
        return super::output(args.output.as_deref(), &text);
    }
    let listed = args.show == "allocations";
    anyhow::ensure!(
        listed || !args.each && args.allocator.is_empty(),
        "--each and --allocator go with --show allocations"
    );
    if listed {
        allocations(&db, &args, &mut text)?;
        return super::output(args.output.as_deref(), &text);
    }
    let profile = memory::memory(&db)?;
    if args
        .output
        .as_ref()
        .is_some_and(|o| o.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")))
    {
        return super::output(args.output.as_deref(), memory::picture(&profile).as_bytes());
    }
    match args.show.as_str() {
        "time" => {
            let mut report = table::Report::new(
                &["first_step", "reads", "writes", "touched", "footprint"],
                args.format,
                &mut text,
            )?;
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
            let mut report =
                table::Report::new(&["lines_between", "accesses"], args.format, &mut text)?;
            report.row(&[Value::Text("first access".into()), number(profile.cold)])?;
            for (class, &count) in profile.reuse.iter().enumerate() {
                report.row(&[Value::Text(memory::distance(class)), number(count)])?;
            }
            report.finish()?;
        }
        _ => {
            let names = [
                "variable",
                "reads",
                "read_bytes",
                "re_read_bytes",
                "writes",
                "written_bytes",
                "dead_bytes",
                "distinct_bytes",
            ];
            let mut report = table::Report::new(&names, args.format, &mut text)?;
            let mut list: Vec<_> = profile.traffic.iter().collect();
            list.sort_by_key(|(name, t)| {
                (std::cmp::Reverse(t.read_bytes + t.written_bytes), (*name).clone())
            });
            for (name, t) in list {
                report.row(&[
                    Value::Text(name.clone()),
                    number(t.reads),
                    number(t.read_bytes),
                    // Bytes that no step wrote are read for the first time, too; they are not told
                    // from re-read ones.
                    if t.written_bytes > 0 {
                        number(t.read_bytes.saturating_sub(t.first_read_bytes))
                    } else {
                        Value::Null
                    },
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

/// Not of any allocation: accesses of the allocator itself, of the program to the heap beside live
/// allocations.
const BESIDE: [&str; 2] = ["<allocator>", "<not allocated>"];

fn allocations(db: &duckdb::Connection, args: &Args, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let limit = if args.limit == 0 { usize::MAX } else { usize::try_from(args.limit)? };
    let more: Vec<_> = args.allocator.iter().map(|(name, what)| (name.as_str(), *what)).collect();
    let heap = memory::heap(db, &more, if args.each { limit as u64 } else { 0 })?;
    let found = &heap.found;
    let number = |n: u64| Value::UBigInt(n);
    let text = |t: &str| if t.is_empty() { Value::Null } else { Value::Text(t.to_owned()) };
    let place = |site| {
        heap.place(site)
            .map_or([Value::Null, Value::Null], |(function, line)| [text(function), text(line)])
    };
    let beside = BESIDE.into_iter().zip([found.allocator, found.elsewhere]);
    if args.each {
        let names = [
            "allocation",
            "address",
            "bytes",
            "allocator",
            "function",
            "line",
            "allocated",
            "freed",
            "read_bytes",
            "unique_read_bytes",
            "written_bytes",
            "dead_bytes",
            "first_use",
            "last_use",
        ];
        let mut report = table::Report::new(&names, args.format, out)?;
        for a in &found.each {
            let what = [
                number(a.number),
                Value::Text(format!("{:#x}", a.address)),
                number(a.bytes),
                text(heap.allocator(a.site)),
            ];
            let figures = [
                Value::BigInt(a.allocated),
                table::number(a.freed),
                number(a.traffic.read),
                number(a.traffic.unique_read),
                number(a.traffic.written),
                number(a.traffic.dead),
                table::number(a.first_use),
                table::number(a.last_use),
            ];
            report.row(&[&what[..], &place(a.site), &figures].concat())?;
        }
        for (name, traffic) in beside {
            let mut row = vec![Value::Null; names.len()];
            (row[4], row[8], row[10]) = (text(name), number(traffic.read), number(traffic.written));
            report.row(&row)?;
        }
        report.finish()?;
        if found.count > found.each.len() as u64 {
            eprintln!(
                "addfg: the first {} of {} allocations; --limit 0 lists all",
                found.each.len(),
                found.count
            );
        }
    } else {
        let names = [
            "function",
            "line",
            "allocator",
            "count",
            "bytes",
            "peak_bytes",
            "read_bytes",
            "written_bytes",
            "dead_bytes",
            "never_read",
            "mean_steps",
        ];
        let mut rows = Vec::new();
        for (site, sum) in &found.sites {
            let unread = sum.bytes.saturating_sub(sum.traffic.unique_read);
            let figures = [
                text(heap.allocator(*site)),
                number(sum.count),
                number(sum.bytes),
                number(sum.peak),
                number(sum.traffic.read),
                number(sum.traffic.written),
                number(sum.traffic.dead),
                // Of nothing there is no share.
                if sum.bytes > 0 {
                    text(&format!("{:.1} %", 100.0 * unread as f64 / sum.bytes as f64))
                } else {
                    Value::Null
                },
                Value::BigInt(sum.steps / sum.count.max(1) as i64),
            ];
            rows.push((
                sum.traffic.read + sum.traffic.written,
                [&place(*site)[..], &figures].concat(),
            ));
        }
        for (name, traffic) in beside {
            let mut row = vec![Value::Null; names.len()];
            (row[0], row[6], row[7]) = (text(name), number(traffic.read), number(traffic.written));
            rows.push((traffic.read + traffic.written, row));
        }
        rows.sort_by_key(|r| std::cmp::Reverse(r.0));
        let mut report = table::Report::new(&names, args.format, out)?;
        for (_, row) in rows.iter().take(limit) {
            report.row(row)?;
        }
        report.finish()?;
        if rows.len() > limit {
            eprintln!("addfg: {limit} of {} rows; --limit 0 lists all", rows.len());
        }
    }
    if found.calls == 0 {
        eprintln!(
            "addfg: no call of malloc, operator new or the like is in this run; names come from the symbols of --elf FILE, and --allocator \
             tells of others"
        );
    }
    if found.unknown > 0 {
        eprintln!(
            "addfg: {} calls of allocation functions left out: the trace does not tell their arguments or results",
            found.unknown
        );
    }
    if found.overlapped > 0 {
        eprintln!(
            "addfg: {} allocations end, unfreed, where a later one takes their place: calls that freed them are not in the run",
            found.overlapped
        );
    }
    Ok(())
}
