use super::database::Database;
use super::no_rows;
use super::options::{self, Group};
use super::say::say;
use crate::load::Detail;
use crate::render::rows::RowFormat;
use crate::text::{human_bytes, human_count, visible};
use crate::views::flows::{self, End, Ends};
use crate::views::listing;
use crate::views::needs::{Need, require};
use std::process::ExitCode;

/// Lists every communication from one function, or set of functions, to another
///
/// Each with the instructions and source lines at both ends, when (seq), what it went through, and
/// how many bytes; in the order of the reads. Bytes that no step wrote come from a pseudo-function
/// such as '<input>'. Of sets, each is listed that goes from a function of the one to a function of
/// the other, with both names; a function may be in both.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Writing functions: name, file:name (both also with * and ?), @address, a source file for all
    /// in it, or a group; several with commas
    from: String,
    /// Reading functions, likewise
    to: String,
    /// Only what this call of the reading function read, counted from 1 (as TO#N)
    #[arg(long, value_name = "N", conflicts_with = "sum")]
    instance: Option<i32>,
    /// Only what these steps read
    #[arg(long, value_name = "FIRST..LAST", value_parser = options::range, conflicts_with = "sum")]
    range: Option<(i64, i64)>,
    /// Sum by pair of instructions instead, the largest first
    #[arg(long)]
    sum: bool,
    /// A name that FROM and TO can use for functions; names as in `addfg cut`
    // Without a value it is what --sum was called.
    #[arg(long, value_name = "NAME=FUNCTION,...", num_args = 0..=1, default_missing_value = "", value_parser = named)]
    group: Vec<Named>,
    /// Maximum rows; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

/// What `--group` means.
#[derive(Clone, Debug)]
enum Named {
    Group(Group),
    Sum,
}

fn named(text: &str) -> Result<Named, String> {
    if text.is_empty() {
        return Ok(Named::Sum);
    }
    let group = options::group(text);
    group.map(Named::Group).map_err(|why| format!("{why}, or --sum to sum by pair of instructions"))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    require(&db, Need::Dataflow)?;
    let sum = args.sum || args.group.iter().any(|named| matches!(named, Named::Sum));
    let groups: Vec<Group> = args
        .group
        .into_iter()
        .filter_map(|named| match named {
            Named::Group(group) => Some(group),
            Named::Sum => None,
        })
        .collect();
    let groups = options::words(&groups);
    let instance = args.instance.map_or(String::new(), |n| format!("#{n}"));
    let from = End::find(&db, &args.from, &groups)?;
    let to = End::find(&db, &format!("{}{instance}", args.to), &groups)?;
    let sets = [&from, &to].map(|end| end.functions.iter().copied().collect::<Vec<_>>());
    let ends = Ends::new(from, to)?.within(args.range);
    let db = if sum { db } else { args.database.prepared(db, Detail::Pairs)? };
    let limit = listing::limit(args.limit);
    let mut out = std::io::BufWriter::new(super::output::stdout());
    let dependences = flows::has_dependences(&db)?;
    anyhow::ensure!(
        !(ends.is_part() && (sum || dependences)),
        "--range is of steps; sums and the dependences of this trace are of the whole run"
    );
    let listed = if sum {
        anyhow::ensure!(
            dependences || !ends.is_of_call(),
            "--sum is over all calls; leave out the #N"
        );
        let rows = flows::sums(&db, &ends, limit)?.write(&db, args.format, &mut out)?;
        if rows == args.limit {
            say!("addfg: the first {rows}; --limit 0 lists all");
        }
        rows
    } else if dependences {
        let rows = flows::dependences(&db, &ends, limit)?.write(&db, args.format, &mut out)?;
        if rows == args.limit {
            say!("addfg: the first {rows}; --limit 0 lists all, --sum sums them");
        }
        rows
    } else {
        let found = flows::communications(&db, &ends, limit)?;
        let rows = found.listing.write(&db, args.format, &mut out)?;
        if rows > 0 && rows == args.limit && found.transfers.is_none_or(|all| all > limit) {
            let all = found.transfers.filter(|_| !ends.is_part());
            let of = all.map_or(String::new(), |all| format!(" of {} transfers", human_count(all)));
            say!("addfg: the first {rows}{of}; --limit 0 lists all, --sum sums them");
        }
        let (functions, bytes) = found.left_out;
        if functions > 0 {
            say!(
                "addfg: not listed: {}{} that functions of both sets ({functions}) read of what they wrote themselves; --sum sums that, a \
                 database of --detail full has it singly",
                human_bytes(bytes),
                if ends.is_part() { " of the whole run" } else { "" }
            );
        }
        rows + u64::from(functions > 0)
    };
    if listed == 0 {
        let (from, to) = (visible(&args.from), visible(&args.to));
        let why = format!("no instruction of {to} read what {from} wrote");
        no_rows::say_why(&db, sets.iter().map(Vec::as_slice), why)?;
    }
    let by_kernel = flows::read_by_kernel(&db)?;
    if by_kernel > 0 {
        say!(
            "addfg: not listed: {} that the kernel read, which has no instructions; `addfg sql DB \"FROM function_dataflow\"` and `addfg \
             graph` have the sum",
            human_bytes(by_kernel)
        );
    }
    Ok(ExitCode::SUCCESS)
}
