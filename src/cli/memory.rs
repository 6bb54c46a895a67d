use super::database::Database;
use super::options::{self, Group, OwnAllocator, allocators};
use super::output::write_output;
use super::pictures;
use super::say::say;
use crate::id::FunctionId;
use crate::render::rows::{RowFormat, RowWriter, number, word};
use crate::replay::Volume;
use crate::replay::allocations::Site;
use crate::replay::memory::Profile;
use crate::views::grouped;
use crate::views::listing;
use crate::views::memory::{self, Heap};
use crate::views::needs::{Need, require};
use clap::ValueEnum;
use duckdb::types::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints traffic and dead bytes of memory, footprint over the run, reuse distance
///
/// `dead` bytes were overwritten or left without being read; of the bytes read, the `re-read` ones
/// had been read before since they were written. -o FILE.svg draws accesses over address and time.
///
/// `--show allocations` finds the heap allocations by the calls of malloc, free, operator new and
/// the like, where the recording tells of them (`addfg record`) or has register values (QEMU), and
/// sums accesses to them by the line that asked for them.
///
/// With `--group` the functions of a group are one row. What they wrote, and wrote in vain, adds up; it is
/// read by themselves only (`only_own`) where no function outside reads it. The allocations that they
/// asked for are counted together, by allocator, so that `peak_bytes` is the most that lived at a time.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// What to print
    #[arg(long, default_value = "traffic")]
    show: Table,
    /// With --show allocations: one row for each, in the order in which they were given
    #[arg(long)]
    each: bool,
    /// With --show allocations: NAME is another malloc, free or the like (pool_get=malloc), beside
    /// those that `addfg record` or `build` was told of
    #[arg(long, value_name = "NAME=FUNCTION", value_parser = options::own_allocator)]
    allocator: Vec<OwnAllocator>,
    /// With --show functions or allocations: functions that are one; names as in `addfg cut`
    #[arg(long, value_name = "NAME=FUNCTION,...", value_parser = options::group)]
    group: Vec<Group>,
    /// Maximum rows; 0: all [default: 1000 of allocations, 40 of traffic and functions]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// How to write rows [default: by the ending of -o, else table]
    #[arg(long)]
    format: Option<RowFormat>,
    /// File to write; FILE.svg becomes a picture [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    Traffic,
    Functions,
    Allocations,
    Time,
    Reuse,
}

impl Table {
    /// What the picture of accesses over address and time is of.
    fn is_over_time(self) -> bool {
        !matches!(self, Table::Functions | Table::Allocations)
    }
}

/// A number that may be beyond 63 bits nowhere but in hostile databases.
fn count(n: u64) -> Value {
    Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX))
}

impl Args {
    /// Rows to print at most.
    fn rows(&self, default: u64) -> anyhow::Result<usize> {
        match self.limit.unwrap_or(default) {
            0 => Ok(usize::MAX),
            limit => Ok(usize::try_from(limit)?),
        }
    }
}

/// Rows of a table that is long by itself.
const SHORT: u64 = 40;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    anyhow::ensure!(
        args.show == Table::Allocations || !args.each && args.allocator.is_empty(),
        "--each and --allocator go with --show allocations"
    );
    anyhow::ensure!(
        args.group.is_empty()
            || matches!(args.show, Table::Functions | Table::Allocations) && !args.each,
        "--group goes with --show functions and, without --each, --show allocations: nothing else is by function"
    );
    let groups = grouped::by_function(&db, &options::words(&args.group))?;
    let drawn = pictures::is_svg(args.output.as_deref()) && args.show.is_over_time();
    let format = match drawn {
        true => RowFormat::Table,
        false => pictures::rows(args.format, args.output.as_deref())?,
    };
    anyhow::ensure!(
        !drawn || args.limit.unwrap_or(0) == 0 && args.format.is_none(),
        "--limit and --format are of rows: a picture has all"
    );
    anyhow::ensure!(
        args.limit.unwrap_or(0) == 0 || !matches!(args.show, Table::Time | Table::Reuse),
        "--limit changes nothing about --show time and reuse, which are of the whole run: leave it out"
    );
    let mut text = Vec::new();
    let out = &mut text;
    match args.show {
        Table::Functions => {
            require(&db, Need::MemoryAccesses)?;
            let limit = listing::limit(args.limit.unwrap_or(SHORT));
            let rows = memory::unused(&db, &groups, limit)?.write(&db, format, out)?;
            if i64::try_from(rows).is_ok_and(|rows| rows == limit) {
                say!("addfg: the first {rows} functions; --limit 0 lists all");
            }
        }
        Table::Allocations => allocations(&db, &args, &groups, format, out)?,
        _ => {
            let profile = memory::memory(&db)?;
            if drawn {
                text = memory::picture(&profile, &crate::query::problems(&db)?).into_bytes();
            } else {
                match args.show {
                    Table::Time => write_time(&profile, format, out)?,
                    Table::Reuse => write_reuse(&profile, format, out)?,
                    _ => write_traffic(&profile, args.rows(SHORT)?, format, out)?,
                }
            }
        }
    }
    write_output(args.output.as_deref(), &text)
}

fn write_time(profile: &Profile, format: RowFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    let names = ["first_step", "reads", "writes", "touched", "footprint"];
    let mut report = RowWriter::new(&names, format, out)?.short_names();
    for m in profile.moments.iter().filter(|m| m.first_seq > 0) {
        let [reads, writes, touched, footprint] =
            [m.reads, m.writes, m.touched, m.footprint].map(count);
        report.row(&[Value::BigInt(m.first_seq), reads, writes, touched, footprint])?;
    }
    report.finish()?;
    Ok(())
}

fn write_reuse(profile: &Profile, format: RowFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut report = RowWriter::new(&["lines_between", "accesses"], format, out)?.short_names();
    report.row(&[Value::Text("first access".into()), count(profile.cold)])?;
    for (class, &n) in profile.reuse.iter().enumerate() {
        report.row(&[Value::Text(memory::distance(class)), count(n)])?;
    }
    report.finish()?;
    Ok(())
}

fn write_traffic(
    profile: &Profile,
    limit: usize,
    format: RowFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
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
    let mut report = RowWriter::new(&names, format, out)?.short_names();
    let mut list: Vec<_> = profile.traffic.iter().collect();
    list.sort_by_key(|(name, t)| {
        (std::cmp::Reverse(t.volume.read_bytes + t.volume.written_bytes), (*name).clone())
    });
    let left = list.len().saturating_sub(limit);
    for (name, t) in list.into_iter().take(limit) {
        // Bytes that no step wrote are read for the first time, too; they are not told from
        // re-read ones.
        let again = (t.volume.written_bytes > 0)
            .then(|| t.volume.read_bytes.saturating_sub(t.first_read_bytes));
        let dead = (name != "(stack)").then_some(t.dead_bytes);
        report.row(&[
            Value::Text(name.clone()),
            count(t.volume.reads),
            count(t.volume.read_bytes),
            again.map_or(Value::Null, count),
            count(t.volume.writes),
            count(t.volume.written_bytes),
            dead.map_or(Value::Null, count),
            count(t.touched),
        ])?;
    }
    report.finish()?;
    if left > 0 {
        say!("addfg: {left} variables with less traffic are not listed; --limit 0 lists all");
    }
    Ok(())
}

/// Not of any allocation: accesses of the allocator itself, of the program to the heap beside live
/// allocations.
const BESIDE: [&str; 2] = ["<allocator>", "<not allocated>"];

fn beside(heap: &Heap) -> impl Iterator<Item = (&'static str, Volume)> {
    BESIDE.into_iter().zip([heap.found.allocator, heap.found.elsewhere])
}

fn text(t: &str) -> Value {
    word((!t.is_empty()).then(|| t.to_owned()))
}

/// Function and line of the call that asked for an allocation.
fn place(heap: &Heap, site: Site) -> [Value; 2] {
    heap.sites.place(site).map_or([Value::Null, Value::Null], |(f, line)| [text(f), text(line)])
}

fn allocations(
    db: &duckdb::Connection,
    args: &Args,
    groups: &BTreeMap<FunctionId, String>,
    format: RowFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let limit = args.rows(1000)?;
    let keep = if args.each { u64::try_from(limit)? } else { 0 };
    let heap = memory::heap(db, &allocators(&args.allocator), groups, keep)?;
    let mut report =
        RowWriter::new(if args.each { &EACH } else { &SITES }, format, out)?.short_names();
    let found = &heap.found;
    if args.each {
        write_each(&heap, &mut report)?;
        report.finish()?;
        if usize::try_from(found.count).is_ok_and(|all| all > found.each.len()) {
            say!(
                "addfg: the first {} of {} allocations; --limit 0 lists all",
                found.each.len(),
                found.count
            );
        }
    } else {
        let rows = write_sites(&heap, limit, &mut report)?;
        report.finish()?;
        if rows > limit {
            say!("addfg: {limit} of {rows} rows; --limit 0 lists all");
        }
    }
    if found.calls == 0 && found.count == 0 {
        say!(
            "addfg: no call of malloc, operator new or the like is in this run; names come from the symbols of --elf FILE, and --allocator \
             tells of others"
        );
    }
    options::say_unknown(found.unknown);
    if found.overlapped > 0 {
        say!(
            "addfg: {} allocations end, unfreed, where a later one takes their place: calls that freed them are not in the run",
            found.overlapped
        );
    }
    Ok(())
}

const EACH: [&str; 14] = [
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

/// A row for each allocation.
fn write_each(heap: &Heap, report: &mut RowWriter) -> anyhow::Result<()> {
    for a in &heap.found.each {
        let what = [
            Value::UBigInt(a.number),
            Value::Text(format!("{:#x}", a.address)),
            Value::UBigInt(a.bytes),
            text(heap.sites.allocator(&heap.found, a.site)),
        ];
        let figures = [
            Value::BigInt(a.allocated),
            number(a.freed),
            Value::UBigInt(a.traffic.volume.read_bytes),
            Value::UBigInt(a.traffic.unique_read_bytes),
            Value::UBigInt(a.traffic.volume.written_bytes),
            Value::UBigInt(a.traffic.dead_bytes),
            number(a.first_use),
            number(a.last_use),
        ];
        report.row(&[&what[..], &place(heap, a.site), &figures].concat())?;
    }
    for (name, traffic) in beside(heap) {
        let mut row = vec![Value::Null; EACH.len()];
        row[4] = text(name);
        (row[8], row[10]) =
            (Value::UBigInt(traffic.read_bytes), Value::UBigInt(traffic.written_bytes));
        report.row(&row)?;
    }
    Ok(())
}

const SITES: [&str; 11] = [
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

/// A row for each place that asks for allocations, those with the most traffic first; gives how
/// many there are.
fn write_sites(heap: &Heap, limit: usize, report: &mut RowWriter) -> anyhow::Result<usize> {
    let mut rows = Vec::new();
    for (site, sum) in &heap.found.sites {
        let unread = sum.bytes.saturating_sub(sum.traffic.unique_read_bytes);
        // Of nothing there is no share.
        let never_read =
            (sum.bytes > 0).then(|| format!("{:.1} %", 100.0 * unread as f64 / sum.bytes as f64));
        let steps = sum.steps / i64::try_from(sum.count.max(1))?;
        let figures = [
            text(heap.sites.allocator(&heap.found, *site)),
            Value::UBigInt(sum.count),
            Value::UBigInt(sum.bytes),
            Value::UBigInt(sum.peak),
            Value::UBigInt(sum.traffic.volume.read_bytes),
            Value::UBigInt(sum.traffic.volume.written_bytes),
            Value::UBigInt(sum.traffic.dead_bytes),
            word(never_read),
            Value::BigInt(steps),
        ];
        let traffic = sum.traffic.volume.read_bytes + sum.traffic.volume.written_bytes;
        rows.push((traffic, [&place(heap, *site)[..], &figures].concat()));
    }
    for (name, traffic) in beside(heap) {
        let mut row = vec![Value::Null; SITES.len()];
        row[0] = text(name);
        (row[6], row[7]) =
            (Value::UBigInt(traffic.read_bytes), Value::UBigInt(traffic.written_bytes));
        rows.push((traffic.read_bytes + traffic.written_bytes, row));
    }
    rows.sort_by_key(|r| std::cmp::Reverse(r.0));
    for (_, row) in rows.iter().take(limit) {
        report.row(row)?;
    }
    Ok(rows.len())
}
