//! Rows of a run that a database keeps packed: the pass goes through the chunks again, and gives the
//! rows that a build of more detail would have stored.

use super::derived;
use super::error::BuildError;
use super::events::EventRows;
use super::finish;
use super::limit::Limit;
use super::options::Detail;
use super::pass::Send;
use super::places::Places;
use super::rows::{Ends, PassRows};
use super::runs::RunRows;
use super::unpacked::Replayed;
use crate::analysis::access::SaveRule;
use crate::analysis::pass::Pass;
use crate::analysis::{self, CodeMap, Details, Output, Summary, superblock};
use crate::event::{Event, RunBatch};
use crate::id::{FunctionId, InstructionId};
use crate::store::StoreError;
use crate::store::chunk::{ChunkError, Runs, Shape, unpack};
use crate::store::pieces;
use crate::store::run_code::RunCode;
use crate::store::source::{self, Cells, Kind, Source};
use crate::store::table::{Batch, Destination, Tables};
use crate::store::writer::FLOW_PART;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

/// Which rows are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// As of a build.
    pub detail: Detail,
    /// With steps and accesses, from detail `pairs` on.
    pub low: bool,
    /// Of the low level and communications, these only.
    pub ends: Option<Ends>,
    /// Communications that these steps read, and these steps.
    pub steps: RangeInclusive<u64>,
    /// Only while an instance of one of these runs; empty: always.
    pub inside: BTreeSet<FunctionId>,
}

impl Wanted {
    /// All rows of a detail.
    pub fn all(detail: Detail) -> Wanted {
        Wanted {
            detail,
            low: detail >= Detail::Pairs,
            ends: None,
            steps: 0..=u64::MAX,
            inside: BTreeSet::new(),
        }
    }

    /// Calls, intervals, saved registers and events, without the flows between instances.
    pub fn calls() -> Wanted {
        let (writers, readers) = (BTreeSet::new(), BTreeSet::new());
        let ends = Some(Ends { writers, readers, either: false });
        Wanted { ends, ..Wanted::all(Detail::Instance) }
    }

    /// What is left out of the detail, as a key; empty: nothing.
    fn less_than_all(&self) -> String {
        match (&self.ends, self.low || self.detail < Detail::Pairs) {
            (None, true) => String::new(),
            (ends, low) => format!("{ends:?} {low}"),
        }
    }
}

/// The temporary table that says what the temporary rows are.
pub(super) const MADE_OF: &str = "made_of";
/// What it says of rows of some chunks only.
pub(super) const PART: &str = "part";

/// Tables whose rows a build of detail `instance` adds to those of `summary`.
const OF_INSTANCES: [&str; 21] = [
    "thread_event_row",
    "system_call_row",
    "system_call_access_row",
    "mapping_row",
    "allocation_row",
    "signal_event_row",
    "marker_row",
    "function_call_row",
    "control_flow_row",
    "saved_register_row",
    "dataflow_row",
    "folded_call_row",
    "instruction_edge_row",
    "function_edge_folded",
    "call_edge_folded",
    "function_profile_folded",
    "place",
    "top_call_row",
    "top_dataflow_row",
    "top_call_edge_row",
    FLOW_PART,
];
/// And `pairs` to those.
const OF_PAIRS: [&str; 3] = ["communication_row", "communication_kind", "block_run"];

/// Tables with rows of steps and calls, and the least detail that fills them.
pub fn tables() -> impl Iterator<Item = (&'static str, Detail)> {
    let of = |detail| move |table: &&'static str| (*table, detail);
    OF_INSTANCES.iter().map(of(Detail::Instance)).chain(OF_PAIRS.iter().map(of(Detail::Pairs)))
}

/// Tables of which detail `summary` has some rows of its own.
const OF_SUMS: [&str; 6] = [
    "function_edge_folded",
    "call_edge_folded",
    "function_profile_folded",
    "system_call_row",
    "system_call_access_row",
    FLOW_PART,
];

/// Whether a database of detail `summary` has rows of a table.
pub fn has_sums(table: &str) -> bool {
    OF_SUMS.contains(&table)
}

/// Tables that a database of detail `summary` has no rows in, and one of more detail those that are made of
/// the packed run.
pub fn made_of_steps() -> impl Iterator<Item = &'static str> {
    tables().map(|(table, _)| table).filter(|table| !OF_SUMS.contains(table))
}

/// What is told how far a pass over a packed run is: steps so far, and those of the run.
type Tell = Box<dyn Fn(u64, u64) + std::marker::Send + Sync>;
static TELL: OnceLock<Tell> = OnceLock::new();

/// Says whom to tell how far a pass over a packed run is. The first call holds.
pub fn on_progress(tell: impl Fn(u64, u64) + std::marker::Send + Sync + 'static) {
    let _ = TELL.set(Box::new(tell));
}

/// Says how far it is, and of what.
pub fn tell(done: u64, steps: u64) {
    if let Some(tell) = TELL.get() {
        tell(done, steps);
    }
}

/// Whether rows of calls, with events, were made for this connection only.
pub fn are_temporary(connection: &Connection) -> duckdb::Result<bool> {
    is_temporary(connection, "control_flow_row")
}

pub(super) fn is_temporary(connection: &Connection, table: &str) -> duckdb::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM duckdb_tables() WHERE temporary AND table_name = ?";
    connection.query_row(sql, [table], |r| r.get(0))
}

/// Whether they are of some chunks only.
pub(super) fn is_part(connection: &Connection) -> duckdb::Result<bool> {
    let sql = format!("SELECT count(*) > 0 FROM {MADE_OF} WHERE of = '{PART}'");
    connection.query_row(&sql, [], |r| r.get(0))
}

/// Removes them.
pub fn remove_temporary(connection: &Connection) -> duckdb::Result<()> {
    let names = OF_INSTANCES.iter().chain(&OF_PAIRS).chain(&["meta", MADE_OF]);
    let drops: String =
        names.map(|name| format!("DROP TABLE IF EXISTS temp.main.{name};")).collect();
    connection.execute_batch(&drops)
}

/// Whether a database keeps its run packed.
pub fn is_packed(connection: &Connection) -> duckdb::Result<bool> {
    // An export to SQLite has no such table.
    let sql = "SELECT count(*) > 0 FROM duckdb_tables() WHERE table_name = 'run_code'";
    let there: bool = connection.query_row(sql, [], |r| r.get(0))?;
    let sql = "SELECT count(*) > 0 FROM run_code";
    Ok(there && connection.query_row(sql, [], |r| r.get(0))?)
}

/// Whether there are sums of a run, and neither rows nor the run itself.
pub fn has_sums_only(connection: &Connection) -> duckdb::Result<bool> {
    let sql = "SELECT count(*) FILTER (key = 'detail' AND value = 'summary') > 0
                      AND count(*) FILTER (key = 'longest_block') > 0 FROM meta";
    let sums: bool = connection.query_row(sql, [], |r| r.get(0))?;
    Ok(sums && !is_packed(connection)?)
}

/// Whether the tables do not have the rows that are wanted, and the run is packed, so that they can
/// be made.
pub fn lacks(connection: &Connection, wanted: &Wanted) -> duckdb::Result<bool> {
    let sql = "SELECT max(value) FILTER (key = 'detail'),
                      count(*) FILTER (key IN ('pairs_in', 'range') AND value IS NOT NULL) > 0 FROM meta";
    let (kept, part): (Option<String>, bool) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let kept = kept.as_deref().and_then(Detail::parse);
    let mut has = kept >= Some(wanted.detail) && !(part && wanted.detail >= Detail::Pairs);
    if has && are_temporary(connection)? {
        let sql = format!("SELECT of FROM {MADE_OF}");
        let of: String = connection.query_row(&sql, [], |r| r.get(0))?;
        has = of.is_empty() || of == wanted.less_than_all();
    }
    Ok(!has && is_packed(connection)?)
}

/// Sees to it that the tables have the rows that are wanted, if the run is packed.
pub fn ensure(connection: &Connection, wanted: &Wanted) -> Result<(), BuildError> {
    if lacks(connection, wanted).map_err(StoreError::from)? {
        temporary(connection, wanted)?;
    }
    Ok(())
}

/// The same of calls, intervals, saved registers and events: rows of any kind that were made before
/// have these. Flows between instances, which are most of the rows of this detail, are left out.
pub fn ensure_calls(connection: &Connection) -> Result<(), BuildError> {
    if are_temporary(connection)? && !is_part(connection)? {
        return Ok(());
    }
    ensure(connection, &Wanted::calls())
}

/// Makes temporary tables with the rows that are wanted. To this connection they stand for the
/// tables of the database that have their names.
pub fn temporary(connection: &Connection, wanted: &Wanted) -> Result<(), BuildError> {
    begin_temporary(connection, wanted.detail, &wanted.less_than_all())?;
    fill(connection, Destination::temporary(connection), wanted, Limit::new(0))?;
    let sql = format!("DROP TABLE temp.main.{FLOW_PART};");
    Ok(connection.execute_batch(&sql).map_err(StoreError::from)?)
}

/// Empty temporary tables.
pub(super) fn begin_temporary(
    connection: &Connection,
    detail: Detail,
    of: &str,
) -> duckdb::Result<()> {
    let tables = OF_INSTANCES.iter().filter(|table| **table != FLOW_PART);
    let pairs = OF_PAIRS.iter().filter(|_| detail >= Detail::Pairs);
    let mut sql = String::new();
    for table in tables.chain(pairs) {
        sql.push_str(&format!("CREATE OR REPLACE TEMP TABLE {table} AS FROM {table} LIMIT 0;"));
    }
    sql.push_str(&format!(
        "CREATE OR REPLACE TEMP TABLE {FLOW_PART} AS FROM dataflow_row LIMIT 0;
         CREATE OR REPLACE TEMP TABLE meta AS
         SELECT key, CASE WHEN key = 'detail' THEN '{}' ELSE value END AS value FROM meta
         WHERE key NOT IN ('pairs_in', 'range');
         CREATE OR REPLACE TEMP TABLE {MADE_OF} AS SELECT '{of}' AS of;",
        detail.name(),
    ));
    connection.execute_batch(&sql)
}

/// The same rows in the tables of the database itself, which is open to be written; `limit` is that of the
/// pass.
pub fn stored(connection: &Connection, wanted: &Wanted, limit: Limit) -> Result<(), BuildError> {
    let quoted = |names: &BTreeSet<FunctionId>| {
        let list: Vec<String> = names.iter().map(|id| id.get().to_string()).collect();
        list.join(", ")
    };
    let mut sql = format!("BEGIN; CREATE TABLE {FLOW_PART} AS FROM dataflow_row LIMIT 0;");
    for table in OF_INSTANCES.iter().chain(&OF_PAIRS) {
        sql.push_str(&format!("DELETE FROM {table};"));
    }
    sql.push_str(&format!(
        "DELETE FROM meta WHERE key IN ('pairs_in', 'range');
         UPDATE meta SET value = '{}' WHERE key = 'detail';",
        // Of less than all levels, commands go on to read the packed run.
        if wanted.low { wanted.detail } else { wanted.detail.min(Detail::Instance) }.name()
    ));
    if !wanted.inside.is_empty() {
        sql.push_str(&format!(
            "INSERT INTO meta SELECT 'pairs_in', string_agg(name, ',' ORDER BY function_id)
             FROM function_symbol WHERE function_id IN ({});",
            quoted(&wanted.inside)
        ));
    }
    if wanted.steps != (0..=u64::MAX) {
        let (first, last) = (wanted.steps.start(), wanted.steps.end());
        sql.push_str(&format!("INSERT INTO meta VALUES ('range', '{first}..{last}');"));
    }
    let done = connection
        .execute_batch(&sql)
        .map_err(|e| StoreError::from(e).into())
        .and_then(|()| fill(connection, connection.into(), wanted, limit));
    let end = if done.is_ok() { "COMMIT; CHECKPOINT;" } else { "ROLLBACK;" };
    let ended = connection.execute_batch(&format!(
        "{} {end}",
        if done.is_ok() { format!("DROP TABLE {FLOW_PART};") } else { String::new() }
    ));
    done.and(ended.map_err(|e| StoreError::from(e).into()))
}

/// What the database says of the run.
pub(super) struct Run {
    pub code: RunCode,
    pub literal: bool,
    unwritten: String,
    pub threads: usize,
    pub steps: u64,
}

impl Run {
    pub fn read(source: &dyn Source) -> Result<Run, BuildError> {
        let sql = "SELECT data, coalesce(max(value) FILTER (key = 'saves'), '') = 'literal',
                          coalesce(max(value) FILTER (key = 'unwritten'), '<input>'),
                          (SELECT count(*) FROM thread), (SELECT coalesce(max(last_seq), 0) FROM run_chunk)
                   FROM run_code, meta GROUP BY data";
        let kinds = [Kind::Blob, Kind::Boolean, Kind::Varchar, Kind::UBigInt, Kind::UBigInt];
        let found = source::all(source, sql, &kinds).map_err(StoreError::from)?;
        let missing = || StoreError::from(duckdb::Error::QueryReturnedNoRows);
        let columns = <[_; 5]>::try_from(found.columns).map_err(|_| missing())?;
        let (
            Cells::Blob(data),
            Cells::Boolean(literal),
            Cells::Varchar(unwritten),
            Cells::UBigInt(threads),
            Cells::UBigInt(steps),
        ) = columns.map(|column| column.cells).into()
        else {
            return Err(missing().into());
        };
        let data = data.first().ok_or_else(missing)?;
        let code = RunCode::unpack(data).map_err(|source| BuildError::Code { source })?;
        Ok(Run {
            code,
            literal: literal[0],
            unwritten: unwritten[0].to_string(),
            threads: threads[0] as usize,
            steps: steps[0],
        })
    }
}

fn fill(
    connection: &Connection,
    into: Destination,
    wanted: &Wanted,
    limit: Limit,
) -> Result<(), BuildError> {
    let Run { code, literal, unwritten, threads, steps } = Run::read(connection)?;
    let functions: Vec<FunctionId> = code.insns.iter().map(|insn| insn.function).collect();
    let (names, done) = (code.names.clone(), AtomicU64::new(0));
    let beside = connection.try_clone().map_err(StoreError::from)?;
    let (sender, receiver) = mpsc::sync_channel::<Batch>(4);
    let summary = std::thread::scope(|scope| -> Result<Summary, BuildError> {
        let done = &done;
        let pass = scope.spawn(move || {
            let of = Again { code, literal, threads, wanted, limit };
            of.run(&beside, &sender, done)
        });
        let appended = append(into, &receiver, &mut || tell(done.load(Ordering::Relaxed), steps));
        tell(steps, steps);
        // So that a pass that still sends ends.
        drop(receiver);
        let summary = pass.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        appended.and(summary)
    })?;
    let ids = pseudo_functions(connection)?;
    let mut missing = None;
    let places = Places::new(&names, &summary, &unwritten, |name| {
        ids.get(&name).copied().unwrap_or_else(|| {
            missing.get_or_insert(name);
            FunctionId::FIRST
        })
    });
    if let Some(name) = missing {
        return Err(BuildError::NoPseudo(name));
    }
    let function = |insn: InstructionId| functions[insn.index()];
    finish::instruction_edges(into, &summary, &places, function)?;
    let edges = finish::edges(&summary.function_flows, &places);
    finish::folded_edges(into, (&summary, true), edges, &places)?;
    finish::places_of(into, &summary, &places)?;
    Ok(derived::of_rows(connection)?)
}

fn pseudo_functions(connection: &Connection) -> Result<FxHashMap<String, FunctionId>, StoreError> {
    let sql = "SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo'";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<duckdb::Result<_>>()?)
}

/// Appends what the pass sends until it ends.
fn append(
    into: Destination,
    batches: &mpsc::Receiver<Batch>,
    tell: &mut dyn FnMut(),
) -> Result<(), BuildError> {
    let mut tables = Tables::new(into);
    loop {
        match batches.recv_timeout(Duration::from_millis(200)) {
            Ok(batch) => {
                tables.append(batch)?;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
        tell();
    }
}

/// The pass over the chunks.
struct Again<'a> {
    code: RunCode,
    literal: bool,
    /// How many threads the run has.
    threads: usize,
    wanted: &'a Wanted,
    limit: Limit,
}

impl Again<'_> {
    fn run(
        self,
        connection: &Connection,
        rows: &mpsc::SyncSender<Batch>,
        done: &AtomicU64,
    ) -> Result<Summary, BuildError> {
        let Again { code, literal, threads, wanted, limit } = self;
        let send = || -> Send {
            Box::new(|batch| {
                // The writer has failed if it takes no more: it tells why.
                let _ = rows.send(batch);
            })
        };
        let ends = wanted.ends.clone().map(|ends| ends.of_code(&code));
        let output = PassRows::new(send(), wanted.steps.clone()).only(ends);
        let options = options(literal, wanted.detail);
        let mut replayed = Replayed::new(code, threads, options, &wanted.inside, output, false);
        let mut rows = LowRows {
            events: EventRows::new(send(), true),
            heap_only: false,
            runs: wanted.low.then(|| RunRows::new(send(), wanted.steps.clone())),
        };
        each_chunk(connection, |first, runs| {
            let chunk = |source| BuildError::Chunk { first, source };
            if replayed.pass.next_seq() != first {
                return Err(chunk(ChunkError::Damaged("the chunk before it is missing")));
            }
            let mut push = |pass: &mut Pass<_, _>, batch: &RunBatch| rows.push(pass, batch);
            replayed.chunk(runs, &mut push).map_err(chunk)?;
            done.store(first, Ordering::Relaxed);
            limit.check(|| format!("{} steps", replayed.pass.next_seq() - 1))
        })?;
        let summary = replayed.pass.finish();
        replayed.pass.output().finish();
        rows.runs.into_iter().for_each(RunRows::finish);
        rows.events.finish();
        Ok(summary)
    }
}

/// What a pass is to do for rows of a detail.
pub(super) fn options(literal: bool, detail: Detail) -> analysis::Options {
    analysis::Options {
        saves: if literal { SaveRule::Literal } else { SaveRule::Transparent },
        details: match detail {
            Detail::Summary => Details::Sums,
            Detail::Instance => Details::Instances,
            Detail::Pairs => Details::Crossing,
            Detail::Full => Details::Local,
        },
        superblock_after: superblock::HOT,
        sums: true,
        any_order: false,
    }
}

/// The same where only rows are wanted.
pub(super) fn without_sums(literal: bool, detail: Detail) -> analysis::Options {
    analysis::Options { sums: false, ..options(literal, detail) }
}

/// Goes through the chunks in order; each with its first step. A thread of its own unpacks them.
pub(super) fn each_chunk(
    connection: &Connection,
    mut take: impl FnMut(u64, Runs) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    each_seen(connection, |_| (), |first, runs, ()| take(first, runs))
}

/// The same with what `look` finds in a chunk, which that thread does, too.
pub(super) fn each_seen<T: std::marker::Send>(
    connection: &Connection,
    look: impl Fn(&Runs) -> T + Sync,
    mut take: impl FnMut(u64, Runs, T) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut statement = connection.prepare("SELECT first_seq FROM run_chunk ORDER BY first_seq")?;
    let firsts = statement.query_map([], |r| r.get(0))?.collect::<duckdb::Result<Vec<u64>>>()?;
    let beside = connection.try_clone()?;
    let look = &look;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        scope.spawn(move || {
            for firsts in firsts.chunks(TOGETHER) {
                let all = match pieces::chunks(&beside, firsts) {
                    Ok(all) => all,
                    Err(error) => {
                        let _ = sender.send((0, Err(error.into())));
                        return;
                    }
                };
                for (first, data) in all {
                    let seen = unpacked(first, &data).map(|runs| {
                        let found = look(&runs);
                        (runs, found)
                    });
                    // Nobody wants more where one could not be taken.
                    if sender.send((first, seen)).is_err() {
                        return;
                    }
                }
            }
        });
        receiver.into_iter().try_for_each(|(first, seen)| {
            let (runs, found) = seen?;
            take(first, runs, found)
        })
    })
}

/// Chunks that are fetched at once, and those that are unpacked ahead.
const TOGETHER: usize = 16;
const AHEAD: usize = 2;

/// What a chunk that begins with a step holds.
pub(super) fn unpacked(first: u64, data: &[u8]) -> Result<Runs, BuildError> {
    unpack(data).map_err(|source| BuildError::Chunk { first, source })
}

/// The chunk that begins with a step.
pub(super) fn one_chunk(source: &dyn Source, first: u64) -> Result<Runs, BuildError> {
    unpacked(first, &pieces::chunk(source, first)?)
}

/// Rows of runs and of the events between them.
pub(super) struct LowRows<'a> {
    pub events: EventRows<Send<'a>>,
    /// Those that `states.rs` does not keep beside the chunks.
    pub heap_only: bool,
    pub runs: Option<RunRows<'a>>,
}

impl LowRows<'_> {
    /// Pushes a batch.
    pub fn push<C: CodeMap, F: FnMut(Batch)>(
        &mut self,
        pass: &mut Pass<C, PassRows<F>>,
        batch: &RunBatch,
    ) {
        let seq = pass.next_seq();
        let starts = starts(pass, batch, seq);
        let wanted = pass.output().runs(&starts);
        pass.push(batch);
        self.keep_runs(pass, batch, seq, wanted);
        let end = pass.next_seq();
        for (run, event) in &batch.events {
            let before = starts.get(*run as usize).map_or(end, |(start, _)| *start);
            if !self.heap_only || is_of_heap(event) {
                self.events.add(event, before - 1);
            }
        }
    }

    /// Keeps the runs of a batch that is not pushed, whose first step is `seq`; gives that behind it.
    pub fn keep<C: CodeMap, F: FnMut(Batch)>(
        &mut self,
        pass: &mut Pass<C, PassRows<F>>,
        batch: &RunBatch,
        seq: u64,
    ) -> u64 {
        let starts = starts(pass, batch, seq);
        let wanted = pass.output().runs(&starts);
        self.keep_runs(pass, batch, seq, wanted);
        starts
            .last()
            .map_or(seq, |(start, block)| start + u64::from(pass.blocks[*block as usize].steps))
    }

    fn keep_runs<C: CodeMap, F: FnMut(Batch)>(
        &mut self,
        pass: &Pass<C, PassRows<F>>,
        batch: &RunBatch,
        seq: u64,
        wanted: Option<Vec<bool>>,
    ) {
        let Some(runs) = &mut self.runs else { return };
        let kept = wanted.unwrap_or_else(|| pass.kept_runs().to_vec());
        let with_registers = !batch.register_values.is_empty() || !batch.values.is_empty();
        runs.add(batch, seq, &kept, |block| {
            let prepared = &pass.blocks[block as usize];
            Shape {
                steps: prepared.steps as usize,
                accesses: prepared.mem as usize,
                register_values: if with_registers { prepared.register_values } else { 0 },
            }
        });
    }
}

/// Whether an event is told by its chunk only: there may be as many as calls.
pub(super) fn is_of_heap(event: &Event) -> bool {
    matches!(event, Event::Allocation(_) | Event::Free { .. } | Event::Reallocation { .. })
}

/// The first step of each run of a batch, with its block.
fn starts<C: CodeMap, O: Output>(pass: &Pass<C, O>, batch: &RunBatch, seq: u64) -> Vec<(u64, u32)> {
    let mut at = seq;
    let start = |&block: &u32| {
        let start = at;
        at += u64::from(pass.blocks[block as usize].steps);
        (start, block)
    };
    batch.block.iter().map(start).collect()
}
