//! The stored communications in windows of the run, fetched by a thread of their own while calls, and
//! then those of the window before, are looked at.

use super::super::error::{ReplayError, size};
use super::super::window::column;
use super::Members;
use super::row::{Kind, Row, in_order};
use crate::load::packed::are_temporary;
use duckdb::arrow::array::{Array, Int32Array, Int64Array, UInt64Array};
use duckdb::arrow::record_batch::RecordBatch;
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::sync::mpsc::sync_channel;

/// Steps whose communications are fetched at a time: so few that the memory for them is used again.
const WINDOW: i64 = 1 << 21;

/// The stored communications, as they are fetched.
pub struct Stored<'a> {
    kinds: FxHashMap<i32, Kind>,
    fetched: Box<dyn Iterator<Item = Fetched> + 'a>,
}

type Fetched = Result<Vec<RecordBatch>, ReplayError>;

/// Windows that wait to be looked at, at most.
const AHEAD: usize = 2;

/// Does `work` while a thread of its own fetches the stored communications for it.
///
/// # Errors
/// Those of `work`, and of reading the database.
pub fn beside<T, E: From<ReplayError>>(
    connection: &Connection,
    work: impl FnOnce(Stored) -> Result<T, E>,
) -> Result<T, E> {
    let kinds = kinds(connection)?;
    if are_temporary(connection).map_err(ReplayError::from)? {
        // Rows that no other connection sees.
        let fetched = Box::new(Windows { connection, next: Next::First });
        return work(Stored { kinds, fetched });
    }
    let beside = connection.try_clone().map_err(ReplayError::from)?;
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut windows = Windows { connection: &beside, next: Next::First };
            // Whoever looks at them has failed where they are not wanted.
            windows.try_for_each(|window| sender.send(window))
        });
        work(Stored { kinds, fetched: Box::new(receiver.into_iter()) })
    })
}

impl Stored<'_> {
    /// Gives `take` the communications that may cross the border of a set, by windows in the order of
    /// their reads.
    pub(super) fn windows(
        self,
        members: &Members,
        mut take: impl FnMut(&[Row]) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let mut rows = Vec::new();
        let Stored { kinds, fetched } = self;
        for batches in fetched {
            rows.clear();
            batches?.iter().try_for_each(|batch| add(batch, &kinds, members, &mut rows))?;
            in_order(&mut rows);
            take(&rows)?;
        }
        Ok(())
    }
}

/// The communications by windows, those without any left out.
struct Windows<'a> {
    connection: &'a Connection,
    next: Next,
}

/// Which window comes next.
enum Next {
    First,
    /// From this step on; the last step of all.
    From(i64, i64),
    /// None: that was all, or an error.
    None,
}

impl Windows<'_> {
    fn fetch(&mut self) -> Result<Option<Vec<RecordBatch>>, ReplayError> {
        let connection = self.connection;
        let (mut from, last) = match std::mem::replace(&mut self.next, Next::None) {
            Next::None => return Ok(None),
            Next::From(from, last) => (from, last),
            Next::First => {
                let bounds = "SELECT min(read_seq), max(read_seq) FROM communication_row";
                let (first, last): (Option<i64>, Option<i64>) =
                    connection.query_row(bounds, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
                (first.unwrap_or(0), last.unwrap_or(-1))
            }
        };
        while from <= last {
            let to = last.min(from.saturating_add(WINDOW - 1));
            let batches = window(connection, (from, to))?;
            if !batches.is_empty() {
                self.next = Next::From(to.saturating_add(1), last);
                return Ok(Some(batches));
            }
            // Reads are as far from each other as their numbers say, which may be very far.
            let sql = "SELECT min(read_seq) FROM communication_row WHERE read_seq > ?";
            let next: Option<i64> = connection.query_row(sql, [to], |r| r.get(0))?;
            let Some(next) = next else { break };
            from = next;
        }
        Ok(None)
    }
}

impl Iterator for Windows<'_> {
    type Item = Fetched;
    fn next(&mut self) -> Option<Fetched> {
        self.fetch().transpose()
    }
}

/// The kinds of communications by their numbers.
fn kinds(connection: &Connection) -> Result<FxHashMap<i32, Kind>, ReplayError> {
    let mut kinds = FxHashMap::default();
    let sql = "SELECT kind_id, is_register, bytes FROM communication_kind";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let bytes = size(r.get(2)?)?;
        kinds.insert(r.get(0)?, Kind { is_register: r.get(1)?, bytes: bytes.into() });
    }
    Ok(kinds)
}

/// The communications of a window; nothing if there are none.
fn window(
    connection: &Connection,
    (first, last): (i64, i64),
) -> Result<Vec<RecordBatch>, ReplayError> {
    let sql = include_str!("../../../queries/report/cut_rows.sql");
    let mut statement = connection.prepare_cached(sql)?;
    let batches = statement.query_arrow(params![first, last])?;
    Ok(batches.filter(|batch| batch.num_rows() > 0).collect())
}

/// Adds those that may cross.
fn add(
    batch: &RecordBatch,
    kinds: &FxHashMap<i32, Kind>,
    members: &Members,
    rows: &mut Vec<Row>,
) -> Result<(), ReplayError> {
    const ROW: &str = "communication_row";
    let read = column::<Int64Array>(batch, 0, ROW, "read_seq")?;
    let back = column::<Int64Array>(batch, 1, ROW, "write_back")?;
    let kind = column::<Int32Array>(batch, 2, ROW, "kind_id")?;
    let address = column::<UInt64Array>(batch, 3, ROW, "address")?;
    for i in 0..batch.num_rows() {
        let read_seq = read.value(i);
        let write_seq = back.is_valid(i).then(|| read_seq.saturating_sub(back.value(i)));
        let may_have = |seq| members.may_have(seq);
        if may_have(read_seq) || write_seq.is_some_and(may_have) {
            let Some(&kind) = kinds.get(&kind.value(i)) else { continue };
            rows.push(Row { read_seq, write_seq, kind, address: address.value(i) });
        }
    }
    Ok(())
}
