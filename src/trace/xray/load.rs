//! The tables of an XRay log.

use super::calls::{Call, Calls, Interval, NONE, Output};
use super::{Event, Index, Kind, Layout, Problems};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::load::{BuildError, Detail, Load};
use crate::store::StoreError;
use crate::store::columns::{self, BATCH};
use crate::trace::input::Input;
use crate::trace::{Loaded, TraceError};
use duckdb::arrow::array::{
    ArrayRef, BinaryArray, Int32Array, Int64Array, StringArray, UInt8Array, UInt16Array,
    UInt64Array,
};
use duckdb::params;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Bytes of a compressed log or of a pipe at most: it is kept in memory as a whole, a file is
/// mapped.
const MOST_IN_MEMORY: usize = 4 << 30;

/// Bytes of user data in a batch of rows.
const DATA_BATCH: usize = 8 << 20;

/// Derived tables, in the order in which each has what it reads.
pub const TIMES: [(&str, &str); 2] = [
    ("stack_time", include_str!("../../../queries/derive/high/stack_time.sql")),
    ("function_time", include_str!("../../../queries/derive/high/function_time.sql")),
];

/// Tables that the worker sends rows for, and those of their columns that an XRay log has.
const TABLES: [(&str, &[&str]); 7] = [
    ("call_event_row", &["event_no", "thread_id", "time", "cpu", "kind", "function_id"]),
    (
        "function_call",
        &[
            "call_id",
            "function_id",
            "instance",
            "parent_call_id",
            "tail_of_call_id",
            "thread_id",
            "depth",
            "kind",
            "ending",
            "call_time",
            "return_time",
        ],
    ),
    ("call_record", &["call_id", "call_event", "return_event", "stack_id", "ticks", "ticks_self"]),
    (
        "control_flow",
        &["interval_id", "thread_id", "call_id", "function_id", "start_time", "end_time"],
    ),
    ("call_argument", &["call_id", "ordinal", "value"]),
    (
        "trace_event",
        &["event_no", "thread_id", "time", "cpu", "kind", "type", "size", "data", "call_id"],
    ),
    ("stack_ticks", &["stack_id", "ticks", "calls", "ticks_self"]),
];

/// Different durations that are counted at a time.
const DURATIONS: usize = 1 << 21;

enum Message {
    /// Index into [`TABLES`].
    Rows(usize, Vec<ArrayRef>),
    /// Bytes decoded.
    Progress(u64),
}

/// What an entry in the instrumentation map is.
enum Target {
    Symbol(FunctionRef),
    /// Run-time address outside of every symbol.
    Address(usize, u64),
    /// Not in the map.
    Number(u32),
}

/// Functions by their numbers in the log, in order of first appearance.
struct Names<'a> {
    space: &'a AddressSpace,
    /// Images with an instrumentation map: run-time addresses of the functions, by number - 1.
    maps: Vec<(usize, Vec<u64>)>,
    /// Ids of small numbers, 0: not met yet.
    low: Vec<u32>,
    high: FxHashMap<u32, u32>,
    by_symbol: FxHashMap<FunctionRef, u32>,
    targets: Vec<Target>,
    /// (function id, number)
    numbers: Vec<(u32, u32)>,
}

/// Numbers below are looked up without hashing.
const LOW: u32 = 1 << 16;

impl<'a> Names<'a> {
    fn new(space: &'a AddressSpace) -> Names<'a> {
        let images = space.images().iter().enumerate();
        let maps = images.map(|(i, l)| {
            (
                i,
                l.image
                    .xray_functions()
                    .iter()
                    .map(|a| a.wrapping_add(l.bias))
                    .collect::<Vec<u64>>(),
            )
        });
        Names {
            space,
            maps: maps.filter(|(_, functions)| !functions.is_empty()).collect(),
            low: Vec::new(),
            high: FxHashMap::default(),
            by_symbol: FxHashMap::default(),
            targets: Vec::new(),
            numbers: Vec::new(),
        }
    }

    #[inline]
    fn id(&mut self, number: u32) -> u32 {
        let known =
            if number < LOW { self.low.get(number as usize) } else { self.high.get(&number) };
        match known {
            Some(&id) if id != 0 => id,
            _ => self.meet(number),
        }
    }

    fn meet(&mut self, number: u32) -> u32 {
        let target = self.target(number);
        let next = self.targets.len() as u32 + 1;
        let id = match target {
            // The map may name a function more than once.
            Target::Symbol(at) => *self.by_symbol.entry(at).or_insert(next),
            _ => next,
        };
        if id == next {
            self.targets.push(target);
        }
        self.numbers.push((id, number));
        if number < LOW {
            if self.low.len() <= number as usize {
                self.low.resize(number as usize + 1, 0);
            }
            self.low[number as usize] = id;
        } else {
            self.high.insert(number, id);
        }
        id
    }

    fn target(&self, number: u32) -> Target {
        let of = |map: usize, number: u32| {
            let (image, functions) = self.maps.get(map)?;
            Some((*image, *functions.get(number.checked_sub(1)? as usize)?))
        };
        // Functions of shared libraries have the library's number in the bits from 24 on.
        match of(0, number).or_else(|| {
            of((number >> 24) as usize, number & 0xff_ffff).filter(|_| number >> 24 > 0)
        }) {
            Some((image, address)) => match self.space.function_at(address) {
                Some(at) => Target::Symbol(at),
                None => Target::Address(image, address),
            },
            None => Target::Number(number),
        }
    }

    /// Fills `function_symbol`, `function_name` and `trace_function`.
    fn write(&self, load: &mut Load) -> Result<usize, BuildError> {
        let space = self.space;
        let connection = load.connection;
        let mut table = connection.appender("function_symbol")?;
        let mut names = connection.appender("function_name")?;
        let rest =
            space.functions().filter(|at| !self.by_symbol.contains_key(at)).map(Target::Symbol);
        let rest: Vec<Target> = rest.collect();
        let mut unknown = 0;
        for (i, target) in self.targets.iter().chain(&rest).enumerate() {
            let id = i as i32 + 1;
            match *target {
                Target::Symbol(at) => {
                    let f = space.function(at);
                    let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
                    let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
                    let file = f.file.as_deref().map(|f| load.files.id(f));
                    let (name, image) = (space.display_name(at), at.image as i32 + 1);
                    table.append_row(params![
                        id,
                        name,
                        f.names.first(),
                        kind,
                        image,
                        file,
                        space.entry(at),
                        size
                    ])?;
                    for name in &f.names {
                        names.append_row(params![id, name])?;
                    }
                }
                Target::Address(image, address) => {
                    let path = &space.images()[image].image.path;
                    let base = path.file_name().map_or_else(
                        || path.display().to_string(),
                        |n| n.to_string_lossy().into_owned(),
                    );
                    let name = format!("<unknown {base} @{address:#x}>");
                    let none = None::<String>;
                    table.append_row(params![
                        id,
                        name,
                        none,
                        "unknown",
                        image as i32 + 1,
                        None::<i32>,
                        address,
                        None::<u64>
                    ])?;
                }
                Target::Number(number) => {
                    unknown += 1;
                    let name = format!("<function {number}>");
                    let none = None::<String>;
                    table.append_row(params![
                        id,
                        name,
                        none,
                        "unknown",
                        None::<i32>,
                        None::<i32>,
                        None::<u64>,
                        None::<u64>
                    ])?;
                }
            }
        }
        table.flush()?;
        names.flush()?;
        let mut table = connection.appender("trace_function")?;
        for &(id, number) in &self.numbers {
            table.append_row(params![id as i32, number])?;
        }
        table.flush()?;
        if self.maps.is_empty() && !self.targets.is_empty() {
            let (message, remedy) = if space.images().is_empty() {
                (
                    "functions have numbers only: no program was given",
                    "give the program that was recorded with --elf",
                )
            } else {
                (
                    "functions have numbers only: the program has no XRay instrumentation map",
                    "give the program as it was recorded, compiled with -fxray-instrument, not stripped of section xray_instr_map",
                )
            };
            load.problem(warning("xray-no-map", message.into(), remedy))?;
        } else if unknown > 0 {
            let message = format!(
                "{unknown} functions of the log are not in the program's instrumentation map"
            );
            load.problem(warning(
                "xray-unknown-function",
                message,
                "give the program and libraries that were recorded with --elf",
            ))?;
        }
        Ok(self.targets.len())
    }
}

fn warning(code: &'static str, message: String, remedy: &'static str) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, code, message, position: String::new(), remedy }
}

macro_rules! rows {
    ($name:ident { $($column:ident: $type:ty),+ $(,)? }) => {
        #[derive(Default)]
        struct $name { $($column: Vec<$type>),+ }
    };
}

rows!(Events { number: i64, thread: i32, time: u64, cpu: u16, kind: u8, function: i32 });
rows!(CallRows {
    call: i32, function: i32, instance: i32, parent: Option<i32>, tail_of: Option<i32>, thread: i32, depth: i32, kind: &'static str,
    ending: &'static str, call_time: Option<u64>, return_time: Option<u64>,
});
rows!(RecordRows {
    call: i32, call_event: Option<i64>, return_event: Option<i64>, stack: Option<i32>, ticks: Option<u64>, ticks_self: Option<u64>,
});
rows!(Intervals { interval: i32, thread: i32, call: i32, function: i32, start: u64, end: u64 });
rows!(Durations { stack: i32, ticks: Option<u64>, calls: i64, ticks_self: u64 });
rows!(Arguments { call: i32, ordinal: i32, value: u64 });
rows!(Data {
    number: i64, thread: i32, time: u64, cpu: u16, kind: &'static str, data_type: Option<i32>, size: i64, place: (usize, usize),
    call: Option<i32>,
});

fn some(id: u32) -> Option<i32> {
    (id != NONE).then_some(id as i32)
}

macro_rules! arrays {
    ($rows:expr, $($column:ident as $array:ty),+) => {
        vec![$(Arc::new(<$array>::from(std::mem::take(&mut $rows.$column))) as ArrayRef),+]
    };
}

/// Gathers rows and sends them.
struct Rows<'a> {
    sender: mpsc::SyncSender<Message>,
    detail: Detail,
    /// The writer is gone.
    stopped: bool,
    bytes: &'a [u8],
    layout: Layout,
    version: u16,
    events: Events,
    calls: CallRows,
    records: RecordRows,
    intervals: Intervals,
    arguments: Arguments,
    data: Data,
    data_bytes: Vec<u8>,
    /// Calls by context and duration, with their own ticks; sums beyond 2^64 are begun anew.
    durations: FxHashMap<(u32, Option<u64>), (i64, u64)>,
}

impl Rows<'_> {
    fn send(&mut self, table: usize) {
        let rows = match table {
            0 => arrays!(
                self.events,
                number as Int64Array,
                thread as Int32Array,
                time as UInt64Array,
                cpu as UInt16Array,
                kind as UInt8Array,
                function as Int32Array
            ),
            1 => arrays!(
                self.calls,
                call as Int32Array,
                function as Int32Array,
                instance as Int32Array,
                parent as Int32Array,
                tail_of as Int32Array,
                thread as Int32Array,
                depth as Int32Array,
                kind as StringArray,
                ending as StringArray,
                call_time as UInt64Array,
                return_time as UInt64Array
            ),
            2 => arrays!(
                self.records,
                call as Int32Array,
                call_event as Int64Array,
                return_event as Int64Array,
                stack as Int32Array,
                ticks as UInt64Array,
                ticks_self as UInt64Array
            ),
            3 => arrays!(
                self.intervals,
                interval as Int32Array,
                thread as Int32Array,
                call as Int32Array,
                function as Int32Array,
                start as UInt64Array,
                end as UInt64Array
            ),
            4 => arrays!(
                self.arguments,
                call as Int32Array,
                ordinal as Int32Array,
                value as UInt64Array
            ),
            6 => {
                let mut list: Vec<_> = self.durations.drain().collect();
                list.sort_unstable();
                let mut rows = Durations::default();
                for ((stack, ticks), (calls, ticks_self)) in list {
                    rows.stack.push(stack as i32);
                    rows.ticks.push(ticks);
                    rows.calls.push(calls);
                    rows.ticks_self.push(ticks_self);
                }
                arrays!(
                    rows,
                    stack as Int32Array,
                    ticks as UInt64Array,
                    calls as Int64Array,
                    ticks_self as UInt64Array
                )
            }
            _ => {
                let rows = &mut self.data;
                let bytes: BinaryArray =
                    rows.place.iter().map(|&(from, to)| Some(&self.data_bytes[from..to])).collect();
                rows.place.clear();
                let mut list = arrays!(
                    rows,
                    number as Int64Array,
                    thread as Int32Array,
                    time as UInt64Array,
                    cpu as UInt16Array,
                    kind as StringArray,
                    data_type as Int32Array,
                    size as Int64Array
                );
                list.push(Arc::new(bytes));
                list.extend(arrays!(rows, call as Int32Array));
                self.data_bytes.clear();
                list
            }
        };
        self.stopped |= self.sender.send(Message::Rows(table, rows)).is_err();
    }

    fn finish(&mut self) {
        let lengths = [
            self.events.number.len(),
            self.calls.call.len(),
            self.records.call.len(),
            self.intervals.call.len(),
            self.arguments.call.len(),
            self.data.number.len(),
            self.durations.len(),
        ];
        for (table, length) in lengths.into_iter().enumerate() {
            if length > 0 {
                self.send(table);
            }
        }
    }
}

impl Output for Rows<'_> {
    fn event(&mut self, number: i64, thread: u32, event: &Event, function: u32) {
        let kind = match event.kind {
            Kind::Enter => 0,
            Kind::Exit => 1,
            Kind::TailExit => 2,
            Kind::Argument | Kind::Data => return,
        };
        if self.detail < Detail::Pairs {
            return;
        }
        let rows = &mut self.events;
        rows.number.push(number);
        rows.thread.push(thread as i32);
        rows.time.push(event.time);
        rows.cpu.push(event.cpu);
        rows.kind.push(kind);
        rows.function.push(function as i32);
        if rows.number.len() == BATCH {
            self.send(0);
        }
    }

    fn call(&mut self, call: Call) {
        let ticks =
            call.call_time.zip(call.return_time).and_then(|(from, to)| to.checked_sub(from));
        if call.stack != NONE {
            let own = call.ticks_self.unwrap_or(0);
            let sums = self.durations.entry((call.stack, ticks)).or_default();
            match sums.1.checked_add(own) {
                Some(sum) => *sums = (sums.0 + 1, sum),
                None => {
                    self.send(6);
                    self.durations.insert((call.stack, ticks), (1, own));
                }
            }
            if self.durations.len() >= DURATIONS {
                self.send(6);
            }
        }
        if self.detail > Detail::Summary {
            let rows = &mut self.calls;
            rows.call.push(call.call as i32);
            rows.function.push(call.function as i32);
            rows.instance.push(call.instance as i32);
            rows.parent.push(some(call.parent));
            rows.tail_of.push(some(call.tail_of));
            rows.thread.push(call.thread as i32);
            rows.depth.push(call.depth as i32);
            rows.kind.push(call.kind);
            rows.ending.push(call.ending);
            rows.call_time.push(call.call_time);
            rows.return_time.push(call.return_time);
            if rows.call.len() == BATCH {
                self.send(1);
            }
            let rows = &mut self.records;
            rows.call.push(call.call as i32);
            rows.call_event.push(call.call_event);
            rows.return_event.push(call.return_event);
            rows.stack.push(some(call.stack));
            rows.ticks.push(ticks);
            rows.ticks_self.push(call.ticks_self);
            if rows.call.len() == BATCH {
                self.send(2);
            }
        }
    }

    fn interval(&mut self, interval: Interval) {
        if self.detail == Detail::Summary {
            return;
        }
        let rows = &mut self.intervals;
        rows.interval.push(interval.interval as i32);
        rows.thread.push(interval.thread as i32);
        rows.call.push(interval.call as i32);
        rows.function.push(interval.function as i32);
        rows.start.push(interval.start);
        rows.end.push(interval.end);
        if rows.call.len() == BATCH {
            self.send(3);
        }
    }

    fn argument(&mut self, call: u32, ordinal: u32, value: u64) {
        if self.detail == Detail::Summary {
            return;
        }
        let rows = &mut self.arguments;
        rows.call.push(call as i32);
        rows.ordinal.push(ordinal as i32);
        rows.value.push(value);
        if rows.call.len() == BATCH {
            self.send(4);
        }
    }

    fn data(&mut self, number: i64, thread: u32, event: &Event, call: u32) {
        if self.detail == Detail::Summary {
            return;
        }
        let (data_type, bytes) = super::fdr::data(
            self.bytes,
            self.layout,
            self.version,
            event.value as usize,
            event.function as usize,
        );
        let rows = &mut self.data;
        rows.number.push(number);
        rows.thread.push(thread as i32);
        rows.time.push(event.time);
        rows.cpu.push(event.cpu);
        rows.kind.push(if data_type.is_some() { "typed" } else { "custom" });
        rows.data_type.push(data_type.map(i32::from));
        rows.size.push(bytes.len() as i64);
        let from = self.data_bytes.len();
        self.data_bytes.extend_from_slice(bytes);
        rows.place.push((from, self.data_bytes.len()));
        rows.call.push(some(call));
        if rows.number.len() == BATCH || self.data_bytes.len() > DATA_BATCH {
            self.send(5);
        }
    }
}

/// What the worker found.
struct Found<'a> {
    calls: Calls,
    names: Names<'a>,
    problems: Problems,
    /// There are more calls than ids.
    too_many: bool,
}

/// Decodes everything and sends the rows.
fn work<'a>(
    files: &[&[u8]],
    index: &mut Index,
    mut names: Names<'a>,
    detail: Detail,
    sender: mpsc::SyncSender<Message>,
    stop: &AtomicBool,
) -> Found<'a> {
    let mut calls = Calls::new(index.threads.len());
    let progress_to = sender.clone();
    let mut rows = Rows {
        sender,
        detail,
        stopped: false,
        bytes: &[],
        layout: Layout::default(),
        version: 0,
        events: Events::default(),
        calls: CallRows::default(),
        records: RecordRows::default(),
        intervals: Intervals::default(),
        arguments: Arguments::default(),
        data: Data::default(),
        data_bytes: Vec::new(),
        durations: FxHashMap::default(),
    };
    let mut problems = std::mem::take(&mut index.problems);
    let mut too_many = false;
    let mut done = 0;
    let mut progress = |bytes: u64| {
        done += bytes;
        if done > 1 << 20 {
            let _ = progress_to.send(Message::Progress(std::mem::take(&mut done)));
        }
        !stop.load(Ordering::Relaxed)
    };
    super::merge(
        files,
        &index.blocks,
        &index.threads,
        &mut problems,
        &mut progress,
        |thread, block, event| {
            if too_many || rows.stopped {
                return;
            }
            let function = match event.kind {
                Kind::Enter | Kind::Exit | Kind::TailExit => names.id(event.function),
                Kind::Data => {
                    (rows.bytes, rows.layout, rows.version) =
                        (files[block.file as usize], block.layout, block.version);
                    NONE
                }
                Kind::Argument => NONE,
            };
            too_many = !calls.event(thread, event, function, &mut rows);
        },
    );
    calls.finish(&mut rows);
    rows.finish();
    Found { calls, names, problems, too_many }
}

pub fn load(inputs: Vec<Input>, load: &mut Load) -> Result<Loaded, BuildError> {
    let file_names: Vec<String> = inputs.iter().map(|i| i.name().to_owned()).collect();
    let mut chunks = Vec::new();
    for input in inputs {
        let limit = if input.is_mapped() { usize::MAX } else { MOST_IN_MEMORY };
        let (chunk, error) = input.whole(limit)?;
        if let Some(error) = error {
            load.problem(error.into_damage()?)?;
        }
        chunks.push(chunk);
    }
    let files: Vec<&[u8]> = chunks.iter().map(|c| &c[..]).collect();
    let mut index = Index::new(&files);
    for (file, name) in file_names.iter().enumerate() {
        if !index.headers.iter().any(|(f, _)| *f as usize == file) {
            return Err(TraceError::Malformed {
                name: name.clone(),
                position: "byte 0".into(),
                message: "no header of an XRay log of version 1 to 5".into(),
                remedy: "give the files that the XRay runtime wrote (xray-log.*)".into(),
            }
            .into());
        }
    }
    let frequency = frequency(&index, &file_names, load)?;
    let space = load.space.clone();
    let names = Names::new(&space);
    let detail = load.detail;
    let (sender, receiver) = mpsc::sync_channel(8);
    let stop = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let (files, index, stop) = (&files, &mut index, &stop);
        let worker = scope.spawn(move || work(files, index, names, detail, sender, stop));
        let result = receive(load, receiver);
        stop.store(true, Ordering::Relaxed);
        let found = worker.join();
        result.and(found.map_err(|_| StoreError::Stopped.into()))
    })?;
    for (diagnostic, count) in found.problems.diagnostics(&file_names) {
        load.problems(diagnostic, count)?;
    }
    fits(&found, load)?;
    let functions = found.names.write(load)?;
    let calls = &found.calls;
    machine(calls, &index, load)?;
    sums(calls, load)?;
    for (table, sql) in TIMES {
        load.connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
    }
    let kinds: std::collections::BTreeSet<String> = index
        .headers
        .iter()
        .map(|(_, h)| format!("{} {}", if h.fdr { "fdr" } else { "basic" }, h.version))
        .collect();
    Ok(Loaded {
        carries: Carries { calls: true, time: true, threads: true, ..Carries::default() },
        steps: 0,
        calls: u64::from(calls.len()),
        functions,
        meta: vec![
            ("xray", Some(kinds.into_iter().collect::<Vec<_>>().join(", "))),
            ("cycle_frequency", frequency.map(|f| f.to_string())),
            ("events", Some(calls.counts.events.to_string())),
        ],
    })
}

/// Appends what the worker sends.
fn receive(load: &mut Load, receiver: mpsc::Receiver<Message>) -> Result<(), BuildError> {
    let connection = load.connection;
    let mut appenders = Vec::new();
    for (table, columns) in TABLES {
        appenders.push(connection.appender_with_columns(table, columns)?);
    }
    for message in receiver {
        match message {
            Message::Rows(table, list) => {
                let batch = columns::batch(list).map_err(StoreError::from)?;
                appenders[table].append_record_batch(batch)?;
            }
            Message::Progress(bytes) => load.progress(bytes)?,
        }
    }
    // An appender loses its errors when dropped.
    for appender in &mut appenders {
        appender.flush()?;
    }
    Ok(())
}

/// Ticks a second, if the logs agree.
fn frequency(index: &Index, names: &[String], load: &mut Load) -> Result<Option<u64>, BuildError> {
    let Some((_, first)) = index.headers.first() else { return Ok(None) };
    if let Some((file, other)) = index.headers.iter().find(|(_, h)| h.frequency != first.frequency)
    {
        let message = format!(
            "clocks of {} and {} ticks a second: times in seconds are left out",
            first.frequency, other.frequency
        );
        let mut problem =
            warning("xray-frequencies", message, "build a database of the logs of each machine");
        problem.position = format!("{}: byte {}", names[*file as usize], other.at);
        load.problem(problem)?;
        return Ok(None);
    }
    if first.frequency == 0 {
        let message =
            "the log does not say how many ticks a second has: times in seconds are left out"
                .into();
        load.problem(warning("xray-no-frequency", message, ""))?;
        return Ok(None);
    }
    Ok(Some(first.frequency))
}

/// Says which entries and exits fit to nothing.
fn fits(found: &Found, load: &mut Load) -> Result<(), BuildError> {
    let c = &found.calls.counts;
    if found.too_many {
        let message =
            format!("more than {} calls: the rest of the log is not loaded", super::calls::MOST);
        let remedy = "record a shorter run";
        load.problem(Diagnostic {
            severity: Severity::Error,
            code: "too-many-calls",
            message,
            position: String::new(),
            remedy,
        })?;
    }
    let short = "the runtime leaves out calls below func_duration_threshold_us and overwrites or drops buffers when they are full";
    let info = [
        (c.open, "xray-open", "calls without an exit: they have no duration", short),
        (
            c.gaps,
            "xray-gap",
            "exits without an entry: calls of kind gap, without caller and duration",
            short,
        ),
        (c.unwound, "xray-unwound", "calls whose exit is missing ended with their caller's", short),
        (
            c.chained,
            "xray-chained",
            "tail exits that name the first function of a chain of tail calls",
            "",
        ),
    ];
    for (count, code, message, remedy) in info {
        if count > 0 {
            let (severity, message, position) = (Severity::Info, message.to_owned(), String::new());
            load.problems(Diagnostic { severity, code, message, position, remedy }, count)?;
        }
    }
    if c.stray_arguments > 0 {
        let message = "arguments that follow no entry were skipped".into();
        load.problems(warning("xray-stray-argument", message, ""), c.stray_arguments)?;
    }
    if c.backwards > 0 {
        let message =
            "times of a thread that go back: durations across them are wrong or left out".into();
        load.problems(
            warning(
                "xray-clock-back",
                message,
                "the processors' counters differ: bind the program to one",
            ),
            c.backwards,
        )?;
    }
    Ok(())
}

/// `process` and `thread`.
fn machine(calls: &Calls, index: &Index, load: &Load) -> Result<(), BuildError> {
    let mut processes: Vec<Option<i32>> = Vec::new();
    let mut table = load.connection.appender("thread")?;
    let met: std::collections::HashSet<usize> = calls.order.iter().copied().collect();
    let rest = (0..index.threads.len()).filter(|t| !met.contains(t));
    let mut by_pid: FxHashMap<Option<i32>, i32> = FxHashMap::default();
    for (i, thread) in calls.order.iter().copied().chain(rest).enumerate() {
        let block = &index.blocks[index.threads[thread].start];
        let process = *by_pid.entry(block.pid).or_insert_with(|| {
            processes.push(block.pid);
            processes.len() as i32
        });
        table.append_row(params![i as i32 + 1, process, i64::from(block.tid), None::<i64>])?;
    }
    table.flush()?;
    if processes.is_empty() {
        processes.push(None);
    }
    let mut table = load.connection.appender("process")?;
    for (i, pid) in processes.iter().enumerate() {
        table.append_row(params![i as i32 + 1, pid.map(i64::from), None::<String>])?;
    }
    Ok(table.flush()?)
}

/// `call_stack`, `call_edge`, `function_profile`.
fn sums(calls: &Calls, load: &Load) -> Result<(), BuildError> {
    let connection = load.connection;
    let function_of = |stack: u32| {
        if stack == NONE { None } else { Some(calls.stacks[stack as usize - 1].function as i32) }
    };
    let mut table = connection.appender("call_stack")?;
    let mut edges: std::collections::BTreeMap<(Option<i32>, i32, &str), u64> =
        std::collections::BTreeMap::new();
    let mut profile: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
    for (i, stack) in calls.stacks.iter().enumerate() {
        let function = stack.function as i32;
        table.append_row(params![
            i as i32 + 1,
            some(stack.parent),
            function,
            stack.depth as i32,
            stack.nested
        ])?;
        for (kind, n) in ["root", "call", "tail"].into_iter().zip(stack.calls) {
            if n > 0 {
                *edges.entry((function_of(stack.parent), function, kind)).or_default() += n;
                *profile.entry(function).or_default() += n;
            }
        }
    }
    table.flush()?;
    for (function, n) in calls.gaps() {
        *edges.entry((None, function as i32, "gap")).or_default() += n;
        *profile.entry(function as i32).or_default() += n;
    }
    let nothing = None::<i64>;
    let mut table = connection.appender("call_edge")?;
    for ((caller, callee, kind), n) in edges {
        table.append_row(params![caller, callee, kind, n as i64, nothing])?;
    }
    table.flush()?;
    let mut table = connection.appender("function_profile")?;
    for (function, n) in profile {
        table.append_row(params![function, n as i64, nothing, nothing, nothing, nothing])?;
    }
    Ok(table.flush()?)
}
