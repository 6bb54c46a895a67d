//! Trace events as Chrome and Perfetto read them: calls as slices, data between calls as flow
//! arrows. (Google, "Trace Event Format".)
//!
//! One step is one microsecond, so that `ts` is `seq`. Slices are complete events, callers before
//! callees: readers sort by time and keep this order where times are equal. The ends of arrows lie
//! in the middle of a step of the call that they belong to, where its slice is the innermost one.

use super::calls::{self, Event, Unit};
use super::error::ExportError;
use super::options::Options;
use super::rows::{each, rows};
use crate::graph::{FunctionNames, Stubs};
use crate::id::{ProcessId, ThreadId};
use duckdb::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;

/// Where an arrow begins and ends: the closest of the first and last steps of both calls, the write
/// before the read.
fn ends(writer: (i64, i64), reader: (i64, i64)) -> Option<(i64, i64)> {
    let pairs =
        [(writer.1, reader.0), (writer.0, reader.0), (writer.1, reader.1), (writer.0, reader.1)];
    pairs.into_iter().find(|(from, to)| from <= to)
}

pub fn write(
    connection: &Connection,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let unit = calls::prepare(connection, "a timeline", Stubs::Fold)?;
    let names = FunctionNames::read(connection)?;
    let mut processes: BTreeMap<ThreadId, ProcessId> = BTreeMap::new();
    writeln!(out, "{{\"traceEvents\":[")?;
    let sql = "SELECT t.thread_id, t.process_id, t.tid, coalesce(p.name, (SELECT path FROM input WHERE role = 'elf' ORDER BY input_id LIMIT 1)), p.pid
               FROM thread t LEFT JOIN process p USING (process_id) ORDER BY t.thread_id";
    each::<ExportError>(connection, sql, &[], |r| {
        let (thread, process): (ThreadId, ProcessId) = (r.get(0)?, r.get(1)?);
        let (tid, name, pid): (Option<i64>, Option<String>, Option<i64>) =
            (r.get(2)?, r.get(3)?, r.get(4)?);
        let name = name.map_or_else(
            || format!("process {process}"),
            |n| n.rsplit('/').next().unwrap_or_default().to_owned(),
        );
        let name = pid.map_or(name.clone(), |pid| format!("{name} (pid {pid})"));
        let said = processes.values().any(|&p| p == process);
        if processes.insert(thread, process).is_none() && !said {
            writeln!(
                out,
                "{},",
                json!({"ph": "M", "name": "process_name", "pid": process.get(), "args": {"name": name}})
            )?;
        }
        let name =
            tid.map_or(format!("thread {thread}"), |tid| format!("thread {thread} (tid {tid})"));
        let event = json!({"ph": "M", "name": "thread_name", "pid": process.get(), "tid": thread.get(), "args": {"name": name}});
        writeln!(out, "{event},")?;
        Ok(())
    })?;
    let process =
        |thread: ThreadId| processes.get(&thread).copied().unwrap_or(ProcessId::FIRST).get();
    let cost = if unit == Unit::Steps { "steps_self" } else { "ticks_self" };
    calls::walk(connection, &mut |event| {
        let Event::Open(call) = event else { return Ok(()) };
        let name = json!(names.name(call.function_id));
        let (ts, dur, pid, tid) =
            (call.first, call.last - call.first, process(call.thread_id), call.thread_id);
        write!(
            out,
            r#"{{"ph":"X","cat":"call","name":{name},"ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"#
        )?;
        let (id, instance, own) = (call.call_id, call.instance, call.own);
        writeln!(out, r#""args":{{"call_id":{id},"instance":{instance},"{cost}":{own}}}}},"#)?;
        Ok(())
    })?;
    if unit == Unit::Steps {
        let limit =
            options.arrows.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX)).to_string();
        let sql = include_str!("../../queries/report/export_arrows.sql").replace("$1", &limit);
        connection.execute_batch(&format!("CREATE OR REPLACE TEMP TABLE export_arrow AS {sql}"))?;
        let columns = "writer_thread, reader_thread, writer_first, writer_last, reader_first, reader_last, bytes, transfers, via";
        let mut id = 0u64;
        rows::<ExportError>(connection, "export_arrow", columns, |r| {
            let (from, to): (ThreadId, ThreadId) = (r.get(0)?, r.get(1)?);
            let Some((write, read)) = ends((r.get(2)?, r.get(3)?), (r.get(4)?, r.get(5)?)) else {
                return Ok(());
            };
            let (bytes, transfers, via): (Option<i64>, Option<i64>, Option<String>) =
                (r.get(6)?, r.get(7)?, r.get(8)?);
            id += 1;
            let (pid, args) =
                (process(from), json!({"bytes": bytes, "transfers": transfers, "via": via}));
            write!(
                out,
                r#"{{"ph":"s","cat":"data","name":"data","id":{id},"ts":{write}.5,"pid":{pid},"tid":{from},"#
            )?;
            writeln!(out, r#""bp":"e","args":{args}}},"#)?;
            let pid = process(to);
            write!(
                out,
                r#"{{"ph":"f","cat":"data","name":"data","id":{id},"ts":{read}.5,"pid":{pid},"tid":{to},"#
            )?;
            writeln!(out, r#""bp":"e"}},"#)?;
            Ok(())
        })?;
    }
    // JSON has no comma behind the last one.
    writeln!(
        out,
        "{}],",
        json!({"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "addfg"}})
    )?;
    let clock =
        if unit == Unit::Steps { "1 us = 1 step" } else { "1 us = 1 tick of the trace's clock" };
    writeln!(
        out,
        "\"otherData\":{}}}",
        json!({"creator": concat!("addfg ", env!("CARGO_PKG_VERSION")), "clock": clock})
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    /// An arrow leaves behind what it wrote and arrives where it is read, in that order, as short
    /// as can be.
    #[test]
    fn arrows_never_go_back() {
        assert_eq!(super::ends((1, 5), (8, 9)), Some((5, 8)), "one after the other");
        assert_eq!(super::ends((1, 9), (4, 5)), Some((1, 4)), "reader called by the writer");
        assert_eq!(super::ends((4, 5), (1, 9)), Some((5, 9)), "writer called by the reader");
        assert_eq!(super::ends((2, 9), (1, 8)), Some((2, 8)), "threads");
        assert_eq!(super::ends((8, 9), (1, 2)), None, "nothing is read before it is written");
    }
}
