//! speedscope's file format: a profile for each thread, of calls that begin and end. (speedscope,
//! `src/lib/file-format-spec.ts`.)

use super::calls::{self, Event};
use super::error::ExportError;
use super::options::Options;
use crate::graph::{FunctionNames, Stubs};
use crate::id::FunctionId;
use duckdb::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;

pub fn write(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    calls::prepare(connection, "a timeline", Stubs::Fold)?;
    let names = FunctionNames::read(connection)?;
    let frames: BTreeMap<FunctionId, usize> =
        names.iter().enumerate().map(|(i, (id, _))| (id, i)).collect();
    write!(
        out,
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":["#
    )?;
    for (i, (_, function)) in names.iter().enumerate() {
        let frame = match &function.file {
            Some(file) => json!({"name": function.name, "file": file}),
            None => json!({"name": function.name}),
        };
        write!(out, "{}\n{frame}", if i > 0 { "," } else { "" })?;
    }
    write!(out, "\n]}},\n\"profiles\":[")?;
    let (mut thread, mut end, mut events) = (None, 0, 0u64);
    calls::walk(connection, &mut |event| {
        let (kind, call, at) = match event {
            Event::Open(call) => ("O", call, call.first),
            Event::Close(call) => ("C", call, call.last),
        };
        if thread != Some(call.thread_id) {
            if thread.is_some() {
                write!(out, "\n],\"endValue\":{end}}},")?;
            }
            let name = json!(format!("thread {}", call.thread_id));
            write!(
                out,
                "\n{{\"type\":\"evented\",\"name\":{name},\"unit\":\"none\",\"startValue\":{at},\"events\":["
            )?;
            (thread, events) = (Some(call.thread_id), 0);
        }
        let frame = frames.get(&call.function_id).copied().unwrap_or(0);
        write!(
            out,
            "{}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}",
            if events > 0 { "," } else { "" }
        )?;
        end = at;
        events += 1;
        Ok(())
    })?;
    if thread.is_some() {
        write!(out, "\n],\"endValue\":{end}}}")?;
    }
    writeln!(out, "\n],\"exporter\":{}}}", json!(concat!("addfg@", env!("CARGO_PKG_VERSION"))))?;
    Ok(())
}
