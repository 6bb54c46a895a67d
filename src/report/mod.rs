//! The HTML report: one page that holds its data, its style and its script, and asks no network.
//!
//! Every text of the data is hostile. It goes into the page as JSON in which `<` is escaped, so
//! that it cannot end the element that holds it, and the script shows it as text nodes only. A
//! policy in the page forbids requests, whatever is in it.

use crate::graph::{Context, GraphError, Recursion, Stubs, Via};
use crate::load::packed;
use crate::query::each;
use crate::text::visible;
use duckdb::Connection;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

const PAGE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
const LAYOUT: &str = include_str!("layout.js");
/// What each view does, within one function that the page makes of them.
const SCRIPT: &str = concat!(
    include_str!("base.js"),
    include_str!("graph.js"),
    include_str!("groups.js"),
    include_str!("overview.js"),
    include_str!("calls.js"),
    include_str!("flame.js"),
    include_str!("rows.js"),
    include_str!("loops.js"),
    include_str!("memory.js"),
    include_str!("changes.js"),
    include_str!("tables.js")
);

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../queries/report/", $name, ".sql"))
    };
}

mod changes;
mod functions;
mod groups;
mod loops;
mod memory;
mod missing;
mod options;
mod overview;
mod plan;
mod source;

use functions::{Functions, SELF, TOTAL, place, sum, text};
pub use options::{Options, Replayed, ReportError};

/// Deeper calls are not on the timeline.
const DEEPEST: i32 = 63;
/// Arrows of data between threads on the timeline.
const ARROWS: i64 = 300;

/// The page of a database.
pub fn page(connection: &Connection, options: &Options) -> Result<String, ReportError> {
    let data = data(connection, options)?;
    // Within JSON `<` stands in strings only, where \u003c means the same; without it no text can
    // close or open an element.
    let data = data.to_string().replace('<', "\\u003c");
    let mut page =
        String::with_capacity(PAGE.len() + STYLE.len() + LAYOUT.len() + SCRIPT.len() + data.len());
    // Each part goes in once and is not looked through for the marks of the others.
    let mut rest = PAGE;
    for (mark, part) in [
        ("/*STYLE*/", STYLE),
        ("/*DATA*/", data.as_str()),
        ("/*LAYOUT*/", LAYOUT),
        ("/*SCRIPT*/", SCRIPT),
    ] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

/// What the page shows, as its script reads it; rows are arrays, see `base.js`.
pub fn data(connection: &Connection, options: &Options) -> Result<Value, ReportError> {
    let mut notes = Vec::new();
    // Before rows are made of a packed run, which says other things of itself.
    let meta = texts(connection, report!("info_meta"), 2)?;
    let inputs = texts(connection, report!("info_inputs"), 6)?;
    let problems = texts(connection, report!("info_diagnostics"), 6)?;
    let mut missing = missing(connection)?;
    let mut functions = Functions::read(connection, options.functions, &mut notes)?;
    let data = data_edges(connection, &functions, options.edges, &mut notes)?;
    let calls = call_edges(connection, &functions, options.edges, &mut notes)?;
    let sized = data.is_empty() || data.iter().any(|d| !d[3].is_null());
    let has_steps = functions.rows.iter().any(|f| f[SELF].as_i64().is_some());
    let tree = tree(connection, &mut functions, has_steps, options.contexts, &mut notes)?;
    let timeline = timeline(connection, &functions, options.bars, &mut notes)?;
    let source = source::source(connection, &functions, options, (&mut notes, &mut missing))?;
    let loops = loops::loops(connection, &functions, options, &mut missing)?;
    let (memory, objects) = memory::memory(connection, &functions, options, &mut missing)?;
    let changes = changes::changes(connection, options, &mut notes)?;
    let (plan, sets) = plan::sets(connection, &functions)?;
    let named = groups::read(connection, options)?;
    let groups = groups::groups(connection, &functions, &named)?;
    let sets = if named.is_empty() { sets } else { plan::of_groups(&functions, named) };
    let cuts = plan::cuts(connection, options, (&sets, &mut missing))?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "meta": meta,
        "inputs": inputs,
        "problems": problems,
        "unit": if has_steps { "steps" } else { "time" },
        "amount": if sized { "bytes" } else { "transfers" },
        "via": Via::ALL.iter().map(|v| v.name()).chain(["unknown"]).collect::<Vec<_>>(),
        "overview": overview::overview(connection, &functions)?,
        "functions": functions.rows,
        "data": data,
        "calls": calls,
        "tree": tree,
        "timeline": timeline,
        "loops": loops,
        "memory": memory,
        "objects": objects,
        "changes": changes,
        "source": source,
        "plan": plan,
        "groups": groups,
        "cuts": cuts,
        "missing": missing,
        "notes": notes,
    }))
}

/// A query's rows with texts and numbers as they are.
fn texts(
    connection: &Connection,
    sql: &str,
    columns: usize,
) -> Result<Vec<Vec<Value>>, ReportError> {
    use duckdb::types::Value as Cell;
    let mut rows = Vec::new();
    each(connection, sql, &[], |r| {
        let cell = |i| {
            Ok(match r.get::<_, Cell>(i)? {
                Cell::Text(t) => text(Some(t)),
                Cell::TinyInt(n) => n.into(),
                Cell::SmallInt(n) => n.into(),
                Cell::Int(n) => n.into(),
                Cell::BigInt(n) => n.into(),
                Cell::UBigInt(n) => n.into(),
                Cell::Boolean(b) => b.into(),
                _ => Value::Null,
            })
        };
        rows.push((0..columns).map(cell).collect::<duckdb::Result<_>>()?);
        Ok(())
    })?;
    Ok(rows)
}

/// Writer, reader, via (places), bytes, unique bytes, addresses, transfers. What is beyond `most`
/// is a sum for each via, without writer and reader.
fn data_edges(
    connection: &Connection,
    functions: &Functions,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ReportError> {
    #[derive(Clone, Copy)]
    struct Sums {
        bytes: Option<i64>,
        unique_bytes: Option<i64>,
        addresses: Option<i64>,
        transfers: Option<i64>,
    }
    let mut edges: BTreeMap<(usize, usize, usize), Sums> = BTreeMap::new();
    each(connection, report!("graph_data_folded"), &[], |r| {
        let (Some(writer), Some(reader)) = (functions.at(r.get(0)?), functions.at(r.get(1)?))
        else {
            return Ok(());
        };
        // Behind the known ones: not known.
        let via = r.get::<_, Option<String>>(2)?.map_or(Via::ALL.len(), |v| place(Via::of(&v)));
        let new = Sums {
            bytes: r.get(3)?,
            unique_bytes: r.get(4)?,
            addresses: r.get(5)?,
            transfers: r.get(6)?,
        };
        edges
            .entry((writer, reader, via))
            .and_modify(|e| {
                e.bytes = sum(e.bytes, new.bytes);
                e.transfers = sum(e.transfers, new.transfers);
                e.unique_bytes =
                    e.unique_bytes.zip(new.unique_bytes).map(|(a, b)| a.saturating_add(b));
                // Cells that two pairs of functions share are known of each only.
                e.addresses = None;
            })
            .or_insert(new);
        Ok(())
    })?;
    let mut list: Vec<_> = edges.into_iter().collect();
    let mut rest: BTreeMap<usize, (Option<i64>, Option<i64>)> = BTreeMap::new();
    if list.len() > most {
        list.sort_by_key(|&(key, e)| (std::cmp::Reverse((e.bytes, e.transfers)), key));
        notes.push(format!(
            "Left out: the {} smallest data edges; what they carry is the last rows of the table Data.",
            list.len() - most
        ));
        for ((_, _, via), e) in list.drain(most..) {
            let all = rest.entry(via).or_default();
            *all = (sum(all.0, e.bytes), sum(all.1, e.transfers));
        }
        list.sort_by_key(|&(key, _)| key);
    }
    let row = |((w, r, via), e): ((usize, usize, usize), Sums)| {
        json!([w, r, via, e.bytes, e.unique_bytes, e.addresses, e.transfers])
    };
    let mut rows: Vec<Value> = list.into_iter().map(row).collect();
    rows.extend(
        rest.into_iter().map(|(via, (bytes, transfers))| {
            json!([null, null, via, bytes, null, null, transfers])
        }),
    );
    Ok(rows)
}

/// Caller, callee (places), calls, steps of the callee with all below it.
fn call_edges(
    connection: &Connection,
    functions: &Functions,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ReportError> {
    let mut edges: BTreeMap<(usize, usize), (i64, Option<i64>)> = BTreeMap::new();
    each(connection, report!("graph_calls_folded"), &[], |r| {
        let (Some(caller), Some(callee)) = (functions.at(r.get(0)?), functions.at(r.get(1)?))
        else {
            return Ok(());
        };
        let (calls, steps): (i64, Option<i64>) = (r.get(2)?, r.get(3)?);
        let edge = edges.entry((caller, callee)).or_insert((0, None));
        *edge = (edge.0.saturating_add(calls), sum(edge.1, steps));
        Ok(())
    })?;
    let mut list: Vec<_> = edges.into_iter().collect();
    if list.len() > most {
        list.sort_by_key(|&(key, e)| (std::cmp::Reverse(e.0), key));
        let calls = list[most..].iter().fold(0i64, |a, e| a.saturating_add(e.1.0));
        notes.push(format!(
            "Left out: the {} rarest call edges, {calls} calls together.",
            list.len() - most
        ));
        list.truncate(most);
        list.sort_by_key(|&(key, _)| key);
    }
    Ok(list.into_iter().map(|((a, b), (calls, steps))| json!([a, b, calls, steps])).collect())
}

/// For functions of a trace without steps, time stands for them. `function_call` has times that
/// include callees, so own time is what is left of a context, and inclusive time that of contexts
/// within no other of the same function.
impl Functions {
    fn set_time(&mut self, list: &[Context]) {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
        let mut sums = vec![(0i64, 0i64); self.rows.len()];
        let mut active = vec![0u32; self.rows.len()];
        let mut stack = Vec::new();
        for (i, context) in list.iter().enumerate() {
            match context.parent {
                Some(parent) => below[parent].push(i),
                None => stack.push((i, true)),
            }
        }
        while let Some((i, enter)) = stack.pop() {
            if enter {
                stack.push((i, false));
                stack.extend(below[i].drain(..).map(|c| (c, true)));
            }
            let Some(at) = self.at(list[i].function_id) else { continue };
            if !enter {
                active[at] -= 1;
                continue;
            }
            sums[at].0 = sums[at].0.saturating_add(list[i].steps_self);
            if active[at] == 0 {
                sums[at].1 = sums[at].1.saturating_add(list[i].steps_total);
            }
            active[at] += 1;
        }
        for (row, (own, total)) in
            self.rows.iter_mut().zip(sums).filter(|(row, _)| row[2] != "pseudo")
        {
            (row[SELF], row[TOTAL]) = (own.into(), total.into());
        }
    }
}

/// Calling contexts: parent (place in the list, before it), function (place), calls, own and
/// inclusive steps (or time), contexts below it that were left out and their inclusive figure.
fn tree(
    connection: &Connection,
    functions: &mut Functions,
    has_steps: bool,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<Value, ReportError> {
    let mut unit = "steps";
    let mut list;
    if has_steps {
        list = match crate::graph::context_list(connection, Stubs::Fold) {
            Err(GraphError::NoInstances) => return Ok(Value::Null),
            list => list?,
        };
    } else {
        match crate::graph::prepare_merged(connection, Stubs::Fold) {
            Err(GraphError::NoInstances) => return Ok(Value::Null),
            other => other?,
        }
        let mut found = crate::graph::contexts(connection, Recursion::Unrolled)?;
        list = std::mem::take(&mut found.list);
        let mut timed = false;
        let mut total = vec![0i64; list.len()];
        each(connection, report!("html_call_time"), &[], |r| {
            timed = true;
            if let Some(at) = found.of(r.get(0)?) {
                total[at] = total[at].saturating_add(r.get(1)?);
            }
            Ok(())
        })?;
        unit = if timed { "time" } else { "calls" };
        if timed {
            // From the leaves up: what is left of a context without those below it is its own.
            for (context, &time) in list.iter_mut().zip(&total) {
                (context.steps_total, context.steps_self) = (time, time);
            }
            for i in 0..list.len() {
                if let Some(parent) = list[i].parent {
                    list[parent].steps_self -= total[i];
                }
            }
            list.iter_mut().for_each(|c| c.steps_self = c.steps_self.max(0));
            functions.set_time(&list);
        } else {
            list.iter_mut().for_each(|c| (c.steps_total, c.steps_self) = (c.calls, c.calls));
        }
    }
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(list[i].steps_total), i));
    order.truncate(most);
    order.sort_unstable();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut rows: Vec<[i64; 7]> = Vec::new();
    for i in order {
        let context = &list[i];
        let parent = match context.parent {
            None => -1,
            Some(p) => match place.get(&p) {
                Some(&p) => p as i64,
                None => continue,
            },
        };
        place.insert(i, rows.len());
        let function = functions.at(context.function_id).map_or(-1, |f| f as i64);
        rows.push([parent, function, context.calls, context.steps_self, context.steps_total, 0, 0]);
    }
    for (i, context) in list.iter().enumerate().filter(|(i, _)| !place.contains_key(i)) {
        if let Some(&parent) = context.parent.and_then(|p| place.get(&p)) {
            rows[parent][5] += 1;
            rows[parent][6] = rows[parent][6].saturating_add(list[i].steps_total);
        }
    }
    if rows.len() < list.len() {
        notes.push(format!(
            "The call tree has the {} costliest of {} calling contexts.",
            rows.len(),
            list.len()
        ));
    }
    Ok(json!({ "unit": unit, "rows": rows }))
}

/// Bars: thread, depth, function (place), instance or NULL, first, last, calls, busy.
fn timeline(
    connection: &Connection,
    functions: &Functions,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<Value, ReportError> {
    let (by_step, by_time, deeper, calls): (i64, i64, i64, i64) =
        connection.query_row(report!("html_timeline_all"), [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })?;
    if by_step == 0 && by_time == 0 {
        return Ok(Value::Null);
    }
    let clock = by_step == 0;
    let mut bins = 4096i64;
    let rows = loop {
        let mut rows: Vec<Value> = Vec::new();
        each(connection, report!("html_timeline"), &[&clock, &bins, &DEEPEST], |r| {
            let function = functions.at(r.get(2)?).map_or(-1, |f| f as i64);
            let (thread, depth, instance): (i32, i32, Option<i32>) =
                (r.get(0)?, r.get(1)?, r.get(3)?);
            let (first, last, calls, busy): (i64, i64, i64, i64) =
                (r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?);
            rows.push(json!([thread, depth, function, instance, first, last, calls, busy]));
            Ok(())
        })?;
        if rows.len() <= most || bins <= 64 {
            break rows;
        }
        bins /= 2;
    };
    if deeper > 0 {
        notes
            .push(format!("The timeline leaves out {deeper} calls deeper than {DEEPEST} callers."));
    }
    let placed = if clock { by_time } else { by_step };
    if placed < calls {
        notes.push(format!("The timeline has {placed} of {calls} calls: the others have no beginning or end in the trace."));
    }
    // Many threads: the first of them.
    let kept = most.saturating_mul(4).min(rows.len());
    if kept < rows.len() {
        notes.push("The timeline leaves out the last threads: there are too many of them.".into());
    }
    let mut threads: Vec<Value> = Vec::new();
    each(connection, report!("thread_names"), &[], |r| {
        let (id, tid): (i32, Option<i64>) = (r.get(0)?, r.get(1)?);
        threads.push(json!([id, tid]));
        Ok(())
    })?;
    // Where the trace has steps: positions are steps.
    let arrows =
        if threads.len() > 1 && !clock { arrows(connection, functions)? } else { Vec::new() };
    Ok(json!({
        "unit": if clock { "time" } else { "steps" },
        "threads": threads,
        "rows": &rows[..kept],
        "arrows": arrows,
    }))
}

/// Data between threads: thread, depth, function (place), first and last step of the call that wrote,
/// the same of the one that read, bytes.
fn arrows(connection: &Connection, functions: &Functions) -> Result<Vec<Value>, ReportError> {
    let mut found = Vec::new();
    each(connection, report!("html_thread_data"), &[&ARROWS], |r| {
        let end = |i: usize| -> duckdb::Result<[i64; 5]> {
            let function = functions.at(r.get(i + 2)?).map_or(-1, |f| f as i64);
            let (thread, depth): (i32, i32) = (r.get(i)?, r.get(i + 1)?);
            Ok([thread.into(), depth.into(), function, r.get(i + 3)?, r.get(i + 4)?])
        };
        let numbers = end(0)?.into_iter().chain(end(5)?).chain([r.get::<_, i64>(10)?]);
        found.push(numbers.collect::<Vec<_>>().into());
        Ok(())
    })?;
    Ok(found)
}

/// What this database lacks: views that need it (`graph`, `tree`...), and why, in words.
fn missing(connection: &Connection) -> Result<Vec<Value>, ReportError> {
    type Counts = ([i64; 6], Option<bool>, Option<String>, Option<String>);
    let (counts, accesses, format, detail): Counts =
        connection.query_row(report!("html_counts"), [], |r| {
            Ok((
                [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?],
                r.get(6)?,
                r.get(7)?,
                r.get(8)?,
            ))
        })?;
    let [data, sized, calls, instances, lines, steps] = counts;
    let mut found = Vec::new();
    let mut say = |views: &[&str], why: String| found.push(json!([views, why]));
    let format = format.map_or(String::new(), |f| format!(" ({})", visible(&f)));
    if data == 0 {
        let why = if accesses == Some(false) {
            format!(
                "No data: this trace{format} has no accesses. Record one that has them, with addfg record -- ./app, or with QEMU."
            )
        } else {
            format!("No data: this trace{format} has no communication between functions.")
        };
        say(&["graph", "matrix"], why);
    }
    if data > 0 && sized == 0 {
        say(
            &["graph", "matrix"],
            format!("No sizes: this trace{format} has no bytes; transfers stand for them."),
        );
    }
    if calls == 0 {
        say(&["graph", "tree"], format!("No calls: this trace{format} has none."));
    }
    if instances == 0 {
        let why = match detail.as_deref() {
            Some("summary") if packed::is_packed(connection)? => {
                "No call instances: `addfg rows DB` makes them of the packed run.".to_owned()
            }
            Some("summary") => {
                "No call instances: this database keeps no steps. Record or build it with them."
                    .to_owned()
            }
            _ => format!("No call instances: this trace{format} has none."),
        };
        say(&["tree", "timeline"], why);
    }
    if lines == 0 {
        say(
            &["source"],
            format!(
                "No source lines: compile the program with -g and give it with --elf; this trace{format} or ELF has none."
            ),
        );
    }
    if steps == 0 {
        say(
            &["graph", "tree"],
            format!(
                "No steps: this trace{format} does not say which instructions ran; time stands for them where it has a clock."
            ),
        );
    }
    Ok(found)
}
