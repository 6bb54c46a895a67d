use super::database::Database;
use super::say::say;
use crate::graph::resolve_function;
use crate::render::rows::RowFormat;
use crate::text::human_count;
use crate::views::flows::{self, Pair};
use crate::views::listing;
use crate::views::needs::{Need, require};
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
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    require(&db, Need::Dataflow)?;
    let from = resolve_function(&db, &args.from)?;
    let instance = args.instance.map_or(String::new(), |n| format!("#{n}"));
    let to = resolve_function(&db, &format!("{}{instance}", args.to))?;
    anyhow::ensure!(
        from.instance.is_none(),
        "a call of the writing function cannot be chosen, only one of the reading function"
    );
    let pair = Pair { writer: from.function_id, reader: to.function_id, instance: to.instance };
    let limit = listing::limit(args.limit);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let dependences = flows::has_dependences(&db)?;
    if args.group {
        anyhow::ensure!(
            dependences || pair.instance.is_none(),
            "--group sums over all calls; leave out the #N"
        );
        let rows = flows::grouped(&db, pair, limit)?.write(&db, args.format, &mut out)?;
        if dependences && rows == args.limit {
            say!("addfg: the first {rows}; --limit 0 lists all, --group sums them");
        }
    } else if dependences {
        let rows = flows::dependences(&db, pair, limit)?.write(&db, args.format, &mut out)?;
        if rows == args.limit {
            say!("addfg: the first {rows}; --limit 0 lists all, --group sums them");
        }
    } else {
        let found = flows::communications(&db, pair, limit)?;
        let rows = found.listing.write(&db, args.format, &mut out)?;
        if rows == args.limit && found.transfers > limit {
            let all = human_count(found.transfers);
            say!(
                "addfg: the first {rows} of {all} transfers; --limit 0 lists all, --group sums them"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
