//! What is written when the trace has ended: dictionaries and sums.

use super::dictionary::{self, Files, SectionRow, TraceFile};
use super::functions::{FunctionRow, Functions};
use super::{BuildError, Options};
use crate::analysis::CallKind;
use crate::analysis::block::{self, AccessPlace};
use crate::analysis::pass::{FunctionSums, PlaceCode, Side, Summary};
use crate::analysis::shadow::Place;
use crate::diagnostics::Diagnostics;
use crate::event::{Carries, Isa};
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::isa;
use crate::store::TOP_CALLS;
use crate::store::columns::{self, table};
use duckdb::arrow::array::{
    BinaryArray, BooleanArray, Int32Array, Int64Array, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use duckdb::{Connection, params};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// What is derived may have millions of rows to go through, and keeps a part of them. Of tables
/// that are not committed DuckDB takes the number of rows for 0 and would join the wrong way round:
/// all is written so that the right side is the small one.
const SETTINGS: &str = "SET memory_limit = '64MB'; SET threads = 2; SET disabled_optimizers = 'join_order,build_side_probe_side';";

/// Fills what is derived from the other tables for views.
pub fn derived(connection: &Connection) -> Result<(), BuildError> {
    derive(connection, "")
}

/// The same behind a statement that takes those settings, too.
fn derive(connection: &Connection, first: &str) -> Result<(), BuildError> {
    connection.execute_batch(&format!("{SETTINGS} {first}"))?;
    for (table, sql) in FOLDED {
        connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
    }
    largest(connection)?;
    Ok(connection.execute_batch("RESET disabled_optimizers; SET threads = 1;")?)
}

/// Fills `top_call`, `top_dataflow` and `top_call_edge` with what the view of instances asks of all
/// call instances.
fn largest(connection: &Connection) -> Result<(), BuildError> {
    macro_rules! report {
        ($name:literal) => {
            include_str!(concat!("../../queries/report/", $name, ".sql"))
                .trim_end()
                .trim_end_matches(';')
        };
    }
    if connection
        .query_row("SELECT count(*) = 0 FROM (FROM function_call LIMIT 1)", [], |r| r.get(0))?
    {
        return Ok(());
    }
    Ok(connection.execute_batch(&format!(
        "CREATE TEMP TABLE merged AS SELECT call_id, into_call_id, steps_self FROM folded_call WHERE into_call_id <> call_id;
         CREATE TEMP TABLE largest AS {top};
         CREATE TEMP TABLE near AS
             SELECT call_id::BIGINT AS node, 0 AS distance FROM largest
             UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
         CREATE TEMP VIEW instance_call AS {call};
         INSERT INTO top_call SELECT c.*, l.share FROM ({calls}) c JOIN largest l USING (call_id) ORDER BY l.share DESC, call_id;
         INSERT INTO top_dataflow
             SELECT writer, reader, via, bytes, unique_bytes, transfers FROM ({data}) ORDER BY writer, reader, via;
         INSERT INTO top_call_edge SELECT caller, callee, calls, steps FROM ({edges}) ORDER BY caller, callee;
         DROP VIEW instance_call; DROP TABLE near; DROP TABLE largest; DROP TABLE merged;",
        top = report!("instance_top").replace("$1", &TOP_CALLS.to_string()),
        call = report!("instance_call"),
        calls = report!("instance_self"),
        data = report!("instance_data"),
        edges = report!("instance_calls"),
    ))?)
}

/// Flows of which parts were given out that turned out to be of the same `via`.
const WHOLE_FLOWS: &str = "
    INSERT INTO dataflow_row
    SELECT f.writer_call_id, f.reader_call_id, f.writer_function_id, f.reader_function_id, min(f.place_id), sum(f.bytes),
           sum(f.unique_bytes), sum(f.transfers)
    FROM flow_part f JOIN place p USING (place_id)
    GROUP BY f.writer_call_id, f.reader_call_id, f.writer_function_id, f.reader_function_id, p.via, p.function_id
    ORDER BY ALL;
    DROP TABLE flow_part;";

/// Tables that have stubs merged into their callers, in the order in which each has what it reads.
const FOLDED: [(&str, &str); 4] = [
    ("folded_call", include_str!("../../queries/derive/middle/folded_call.sql")),
    (
        "function_profile_folded",
        include_str!("../../queries/derive/high/function_profile_folded.sql"),
    ),
    ("function_edge_folded", include_str!("../../queries/derive/high/function_edge_folded.sql")),
    ("call_edge_folded", include_str!("../../queries/derive/high/call_edge_folded.sql")),
];

table! { struct Instructions<'a> {
    id: i32 => Int32Array, process: i32 => Int32Array, image: Option<i32> => Int32Array, address: u64 => UInt64Array,
    opcode: Option<&'a [u8]> => BinaryArray, text: Option<&'a str> => StringArray, size: u8 => UInt8Array, function: i32 => Int32Array,
    file: Option<i32> => Int32Array, line: Option<i32> => Int32Array, class: &'static str => StringArray,
    target: Option<u64> => UInt64Array, conditional: bool => BooleanArray, repeats: bool => BooleanArray,
    executions: i64 => Int64Array,
} }
table! { struct BlockSteps {
    block: i32 => Int32Array, step: i32 => Int32Array, insn: i32 => Int32Array, executed: bool => BooleanArray,
} }
table! { struct BlockAccesses {
    block: i32 => Int32Array, step: i32 => Int32Array, ordinal: u16 => UInt16Array, is_write: bool => BooleanArray,
    space: &'static str => StringArray, register: Option<u32> => UInt32Array, memory: Option<i32> => Int32Array,
    value: Option<i32> => Int32Array, size: u32 => UInt32Array, is_control: bool => BooleanArray,
    is_stack_relative: bool => BooleanArray, data_register: Option<u32> => UInt32Array,
} }
table! { struct InstructionEdges {
    writer: Option<i32> => Int32Array, reader: i32 => Int32Array, function: i32 => Int32Array, via: &'static str => StringArray,
    bytes: i64 => Int64Array, transfers: i64 => Int64Array,
} }

/// What is written when the trace has ended.
pub struct End<'a> {
    pub connection: &'a Connection,
    pub options: &'a Options,
    pub space: &'a AddressSpace,
    pub sections: &'a [SectionRow],
    pub code: &'a Functions<'a>,
    pub insns: &'a [crate::analysis::pass::Insn],
    pub defs: &'a [crate::event::BlockDef],
    pub counts: &'a [u64],
    pub summary: &'a Summary,
    pub isa: Isa,
    pub low: bool,
}

fn id(n: u32) -> Option<i32> {
    (n != 0).then_some(n as i32)
}

impl End<'_> {
    pub fn write(
        &self,
        traces: &[TraceFile],
        carries: Carries,
        diagnostics: &Diagnostics,
    ) -> Result<(), BuildError> {
        let s = self.summary;
        let longest = self.defs.iter().map(|d| d.steps.len()).max().unwrap_or(0);
        let more = [
            ("isa", Some(format!("{:?}", self.isa).to_lowercase())),
            ("steps", Some(s.steps.to_string())),
            ("longest_block", Some(longest.to_string())),
            ("first_stack_pointer", s.first_sp.map(|a| a.to_string())),
        ];
        dictionary::meta(self.connection, self.options, &more)?;
        dictionary::inputs(self.connection, self.options, traces, carries, self.space)?;
        dictionary::diagnostics(self.connection, diagnostics)?;
        self.machine()?;
        let mut files = Files::default();
        self.instructions(&mut files)?;
        let pseudo = self.functions(&mut files)?;
        dictionary::images(self.connection, self.space, self.sections, &mut files)?;
        files.write(self.connection)?;
        if self.low {
            self.blocks()?;
        }
        self.high(&pseudo)
    }

    /// Processes, threads, registers, regions of memory.
    fn machine(&self) -> Result<(), BuildError> {
        let s = self.summary;
        let mut process = self.connection.appender("process")?;
        process.append_row(params![1, None::<i64>, None::<String>])?;
        process.flush()?;
        let mut thread = self.connection.appender("thread")?;
        for &(t, steps) in &s.threads {
            thread.append_row(params![t as i32 + 1, 1, None::<i64>, steps as i64])?;
        }
        thread.flush()?;
        let mut register = self.connection.appender("register")?;
        for r in &isa::registers(self.isa).all {
            register.append_row(params![
                r.span.offset as u32,
                r.name,
                r.span.size as u32,
                r.control
            ])?;
        }
        register.flush()?;
        let mut region = self.connection.appender("region")?;
        for &(first, last, stack) in &s.regions {
            region.append_row(params![first, last, if stack { "stack" } else { "heap" }])?;
        }
        Ok(region.flush()?)
    }

    fn instructions(&self, files: &mut Files) -> Result<(), BuildError> {
        let mut executions = vec![0u64; self.insns.len()];
        for (def, &count) in self.defs.iter().zip(self.counts) {
            for step in &def.steps {
                executions[step.insn as usize] += count;
            }
        }
        let mut c = Instructions::default();
        for (i, insn) in self.insns.iter().enumerate() {
            let (def, decoded) = (&insn.def, &insn.decoded);
            let image = self.space.image_at(def.address).map(|i| i as i32 + 1);
            let line = self.space.line(def.address);
            let file = line.as_ref().map(|(f, _)| files.id(f));
            let bytes: Option<&[u8]> = if def.bytes.is_empty() {
                self.space.bytes(def.address).map(|b| &b[..b.len().min(decoded.size as usize)])
            } else {
                Some(&def.bytes)
            };
            let text = if decoded.text.is_empty() {
                def.text.as_deref()
            } else {
                Some(decoded.text.as_str())
            };
            c.id.push(i as i32 + 1);
            c.process.push(1);
            c.image.push(image);
            c.address.push(def.address);
            c.opcode.push(bytes);
            c.text.push(text);
            c.size.push(decoded.size);
            c.function.push(insn.function as i32);
            c.file.push(file);
            c.line.push(line.map(|(_, l)| l as i32));
            c.class.push(decoded.flow.kind.name());
            c.target.push(decoded.flow.target);
            c.conditional.push(decoded.flow.conditional);
            c.repeats.push(decoded.flow.repeats);
            c.executions.push(executions[i] as i64);
        }
        Ok(columns::append(self.connection, "instruction", c.arrays())?)
    }

    /// Executed functions, then pseudo-functions, then the other symbols; gives the ids of the
    /// pseudo-functions.
    fn functions(&self, files: &mut Files) -> Result<BTreeMap<(PlaceCode, bool), i32>, BuildError> {
        let mut table = self.connection.appender("function_symbol")?;
        let mut names = self.connection.appender("function_name")?;
        let mut symbol =
            |number: i32, at: FunctionRef, files: &mut Files| -> Result<(), BuildError> {
                let f = self.space.function(at);
                let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
                let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
                let file = f.file.as_deref().map(|f| files.id(f));
                let entry = self.space.entry(at);
                table.append_row(params![
                    number,
                    self.space.display_name(at),
                    f.names.first(),
                    kind,
                    at.image as i32 + 1,
                    file,
                    entry,
                    size
                ])?;
                for name in &f.names {
                    names.append_row(params![number, name])?;
                }
                Ok(())
            };
        let mut rest: Vec<(i32, String, &str, Option<i32>)> = Vec::new();
        let mut number = 0;
        let single = self.space.images().len() == 1;
        let base = |image: usize| {
            let path = &self.space.images()[image].image.path;
            path.file_name()
                .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
        };
        for row in &self.code.rows {
            number += 1;
            match row {
                FunctionRow::Symbol(at) => symbol(number, *at, files)?,
                FunctionRow::Unknown(Some(image)) => {
                    rest.push((
                        number,
                        format!("<unknown {}>", base(*image)),
                        "unknown",
                        Some(*image as i32 + 1),
                    ));
                }
                FunctionRow::Unknown(None) => {
                    rest.push((number, "<unknown>".into(), "unknown", None))
                }
                FunctionRow::KernelHelper => {
                    rest.push((number, "<kernel helper>".into(), "kernel helper", None))
                }
            }
        }
        // Pseudo-functions: writers of bytes that no step wrote, those that were read.
        let mut pseudo = BTreeMap::new();
        let mut by_name: BTreeMap<String, i32> = BTreeMap::new();
        let wanted: BTreeSet<(PlaceCode, bool)> =
            self.summary
                .pairs
                .iter()
                .filter_map(|&(side, _, place, _)| {
                    if let Side::None { above } = side { Some((place, above)) } else { None }
                })
                .chain(
                    self.summary
                        .flow_places
                        .iter()
                        .filter_map(|p| p.nobody.map(|above| (p.place, above))),
                )
                .collect();
        for (place, above) in wanted {
            let name = match place.place() {
                None => "<initial registers>".to_string(),
                Some(Place::Section(s)) => {
                    let section = &self.sections[s as usize];
                    if single {
                        format!("<image {}>", section.name)
                    } else {
                        format!("<{} {}>", base(section.image), section.name)
                    }
                }
                Some(Place::Region(r)) => match (self.summary.region_is_stack[r as usize], above) {
                    (true, true) => "<stack start>".into(),
                    (true, false) => "<uninitialised>".into(),
                    _ => "<input>".into(),
                },
            };
            let id = *by_name.entry(name.clone()).or_insert_with(|| {
                number += 1;
                rest.push((number, name, "pseudo", None));
                number
            });
            pseudo.insert((place, above), id);
        }
        let executed: FxHashSet<FunctionRef> = self
            .code
            .rows
            .iter()
            .filter_map(|r| if let FunctionRow::Symbol(at) = r { Some(*at) } else { None })
            .collect();
        for at in self.space.functions().filter(|at| !executed.contains(at)) {
            number += 1;
            symbol(number, at, files)?;
        }
        table.flush()?;
        names.flush()?;
        for (number, name, kind, image) in rest {
            table.append_row(params![
                number,
                name,
                None::<String>,
                kind,
                image,
                None::<i32>,
                None::<u64>,
                None::<u64>
            ])?;
        }
        table.flush()?;
        Ok(pseudo)
    }

    fn blocks(&self) -> Result<(), BuildError> {
        let mut steps = BlockSteps::default();
        let mut accesses = BlockAccesses::default();
        for (b, def) in self.defs.iter().enumerate() {
            let b = b as i32 + 1;
            for (i, step) in def.steps.iter().enumerate() {
                steps.block.push(b);
                steps.step.push(i as i32);
                steps.insn.push(step.insn as i32 + 1);
                steps.executed.push(step.executed);
            }
            let mem = def.mem.len() as i32;
            block::accesses(
                def,
                |i| &self.insns[i as usize].decoded,
                |a| {
                    let c = &mut accesses;
                    let (space, register, memory, value) = match a.place {
                        AccessPlace::Register(offset) => {
                            ("register", Some(offset as u32), None, a.value.map(|v| mem + v as i32))
                        }
                        AccessPlace::Memory(m) => ("memory", None, Some(m as i32), Some(m as i32)),
                    };
                    c.block.push(b);
                    c.step.push(a.step as i32);
                    c.ordinal.push(a.ordinal);
                    c.is_write.push(a.is_write);
                    c.space.push(space);
                    c.register.push(register);
                    c.memory.push(memory);
                    c.value.push(value);
                    c.size.push(a.size);
                    c.is_control.push(a.is_control);
                    c.is_stack_relative.push(a.stack_relative);
                    c.data_register.push(a.data_register.map(|r| r.offset as u32));
                },
            );
        }
        columns::append(self.connection, "block_step", steps.arrays())?;
        Ok(columns::append(self.connection, "block_access", accesses.arrays())?)
    }

    fn via(&self, place: PlaceCode) -> &'static str {
        match place.place() {
            None => "register",
            Some(Place::Section(s)) if self.sections[s as usize].writable => "global",
            Some(Place::Section(_)) => "constant",
            Some(Place::Region(r)) if self.summary.region_is_stack[r as usize] => "stack",
            Some(Place::Region(_)) => "heap",
        }
    }

    fn high(&self, pseudo: &BTreeMap<(PlaceCode, bool), i32>) -> Result<(), BuildError> {
        let s = self.summary;
        let side = |side: Side, place: PlaceCode| match side {
            Side::Function(f) => f as i32,
            Side::None { above } => pseudo.get(&(place, above)).copied().unwrap_or(0),
        };
        let mut edges: BTreeMap<(i32, i32, &str), [u64; 4]> = BTreeMap::new();
        for &(writer, reader, place, sums) in &s.pairs {
            let edge =
                edges.entry((side(writer, place), reader as i32, self.via(place))).or_default();
            for (sum, n) in
                edge.iter_mut().zip([sums.bytes, sums.unique, sums.addresses, sums.transfers])
            {
                *sum += n;
            }
        }
        let mut table = self.connection.appender("function_edge")?;
        for ((w, r, via), [bytes, unique, addresses, transfers]) in edges {
            table.append_row(params![
                w,
                r,
                via,
                bytes as i64,
                unique as i64,
                addresses as i64,
                transfers as i64
            ])?;
        }
        table.flush()?;
        let mut edges: BTreeMap<(Option<i32>, i32, i32, &str), [u64; 2]> = BTreeMap::new();
        for &(writer, above, reader, place, bytes, transfers) in &s.insn_edges {
            let (insn, function) = if writer == crate::analysis::pass::NO_INSN {
                (None, side(Side::None { above }, place))
            } else {
                (Some(writer as i32 + 1), self.insns[writer as usize].function as i32)
            };
            let edge =
                edges.entry((insn, reader as i32 + 1, function, self.via(place))).or_default();
            edge[0] += bytes;
            edge[1] += transfers;
        }
        let mut c = InstructionEdges::default();
        for ((w, r, f, via), [bytes, transfers]) in edges {
            c.writer.push(w);
            c.reader.push(r);
            c.function.push(f);
            c.via.push(via);
            c.bytes.push(bytes as i64);
            c.transfers.push(transfers as i64);
        }
        columns::append(self.connection, "instruction_edge", c.arrays())?;
        let mut edges: Vec<(u32, u32, CallKind, u64, u64)> = s.call_edges.clone();
        edges.sort_unstable();
        let mut table = self.connection.appender("call_edge")?;
        for (caller, callee, kind, calls, steps) in edges {
            table.append_row(params![
                id(caller),
                callee as i32,
                kind.name(),
                calls as i64,
                steps as i64
            ])?;
        }
        table.flush()?;
        let mut table = self.connection.appender("function_profile")?;
        for (f, sums) in s.functions.iter().enumerate().filter(|(_, s)| s.calls > 0) {
            let FunctionSums { calls, steps_self, steps_total, written_bytes, dead_bytes } = *sums;
            let n = |x: u64| x as i64;
            table.append_row(params![
                f as i32,
                n(calls),
                n(steps_self),
                n(steps_total),
                n(dead_bytes),
                n(written_bytes)
            ])?;
        }
        table.flush()?;
        let mut table = self.connection.appender("place")?;
        for (i, at) in s.flow_places.iter().enumerate() {
            let function = at.nobody.and_then(|above| pseudo.get(&(at.place, above)));
            table.append_row(params![i as u32 + 1, self.via(at.place), function])?;
        }
        table.flush()?;
        derive(self.connection, WHOLE_FLOWS)
    }
}
