//! The stored communications in windows of the run, fetched by a thread of their own while those of the
//! window before are looked at.

use super::super::error::ReplayError;
use super::super::window::column;
use super::Members;
use duckdb::arrow::array::{Array, Int32Array, Int64Array, UInt64Array};
use duckdb::{Connection, params};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Steps whose communications are fetched at a time: so few that the memory for them is used again.
const WINDOW: i64 = 1 << 21;

/// A row of `communication_row`.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) read_seq: i64,
    pub(super) write_seq: Option<i64>,
    pub(super) kind: i32,
    pub(super) address: u64,
}

/// Gives `take` the communications that may cross the border of a set, by windows in the order of
/// their reads.
pub(super) fn windows(
    connection: &Connection,
    members: &Members,
    mut take: impl FnMut(&[Row]),
) -> Result<(), ReplayError> {
    let beside = connection.try_clone()?;
    // One window waits while another is looked at; what was looked at is filled again.
    let (sender, receiver) = sync_channel(1);
    let (back, free) = sync_channel(3);
    std::thread::scope(|scope| {
        let fetching = scope.spawn(move || {
            let empty = || free.try_recv().unwrap_or_default();
            fetch(&beside, members, empty, &sender)
        });
        for mut rows in receiver {
            take(&rows);
            rows.clear();
            // Nobody wants it where all is fetched.
            let _ = back.try_send(rows);
        }
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn fetch(
    connection: &Connection,
    members: &Members,
    empty: impl Fn() -> Vec<Row>,
    sender: &SyncSender<Vec<Row>>,
) -> Result<(), ReplayError> {
    let bounds = "SELECT min(read_seq), max(read_seq) FROM communication_row";
    let (first, last): (Option<i64>, Option<i64>) =
        connection.query_row(bounds, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let (mut from, last) = (first.unwrap_or(0), last.unwrap_or(-1));
    while from <= last {
        let to = last.min(from.saturating_add(WINDOW - 1));
        let mut rows = empty();
        if window(connection, members, (from, to), &mut rows)? {
            // Whoever looks at them has panicked where they are not wanted.
            if sender.send(rows).is_err() {
                break;
            }
            from = to.saturating_add(1);
            continue;
        }
        // Reads are as far from each other as their numbers say, which may be very far.
        let sql = "SELECT min(read_seq) FROM communication_row WHERE read_seq > ?";
        let next: Option<i64> = connection.query_row(sql, [to], |r| r.get(0))?;
        let Some(next) = next else { break };
        from = next;
    }
    Ok(())
}

/// Adds those of a window that may cross; gives whether there were any communications.
fn window(
    connection: &Connection,
    members: &Members,
    (first, last): (i64, i64),
    rows: &mut Vec<Row>,
) -> Result<bool, ReplayError> {
    const ROW: &str = "communication_row";
    let sql = include_str!("../../../queries/report/cut_rows.sql");
    let mut statement = connection.prepare_cached(sql)?;
    let mut any = false;
    for batch in statement.query_arrow(params![first, last])? {
        any |= batch.num_rows() > 0;
        let read = column::<Int64Array>(&batch, 0, ROW, "read_seq")?;
        let back = column::<Int64Array>(&batch, 1, ROW, "write_back")?;
        let kind = column::<Int32Array>(&batch, 2, ROW, "kind_id")?;
        let address = column::<UInt64Array>(&batch, 3, ROW, "address")?;
        for i in 0..batch.num_rows() {
            let read_seq = read.value(i);
            let write_seq = back.is_valid(i).then(|| read_seq.saturating_sub(back.value(i)));
            let may_have = |seq| members.may_have(seq);
            if may_have(read_seq) || write_seq.is_some_and(may_have) {
                let (kind, address) = (kind.value(i), address.value(i));
                rows.push(Row { read_seq, write_seq, kind, address });
            }
        }
    }
    // Almost in order as they are stored.
    if !rows.is_sorted_by_key(|row| row.read_seq) {
        rows.sort_by_key(|row| row.read_seq);
    }
    Ok(any)
}
