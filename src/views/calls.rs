//! The call graph, functions with what they cost, the call tree, durations, calls over time.

use super::listing::{Listing, id};
use super::{ViewError, report};
use crate::graph::{FunctionNames, GraphError, Stubs, context_list};
use crate::id::{FunctionId, ThreadId};
use crate::query::{each, problems};
use crate::render::svg::{Svg, shade};
use crate::text::{file_name, human_count, percent, shorten, visible};
use duckdb::Connection;
use duckdb::types::Value;
use std::collections::BTreeMap;

/// What durations are given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Seconds,
    /// Of the trace's clock.
    Ticks,
}

/// Whose durations are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Function,
    /// Calling context.
    Stack,
}

/// What durations can be given in; an error where calls have no times.
pub fn clock(connection: &Connection) -> Result<Clock, ViewError> {
    let sql = "SELECT EXISTS (FROM function_time), EXISTS (FROM meta WHERE key = 'cycle_frequency' AND value IS NOT NULL)";
    match connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))? {
        (false, _) => Err(ViewError::NoTimes),
        (true, true) => Ok(Clock::Seconds),
        (true, false) => Ok(Clock::Ticks),
    }
}

/// Durations, of one function or of all.
pub fn times(by: By, clock: Clock, function: Option<FunctionId>, limit: i64) -> Listing {
    let sql = match by {
        By::Function => report!("call_times"),
        By::Stack => report!("stack_times"),
    };
    let seconds = Value::Boolean(clock == Clock::Seconds);
    let unit = match clock {
        Clock::Seconds => "s",
        Clock::Ticks => "ticks",
    };
    Listing::new(sql, [seconds, id(function), Value::BigInt(limit)]).timed_in(unit).short_names()
}

/// Functions with exclusive and inclusive steps.
pub fn functions(unit: &'static str, limit: i64) -> Listing {
    Listing::new(report!("call_functions"), [Value::BigInt(limit)]).counting(unit).short_names()
}

/// Calls between functions, of and by one of them or all.
pub fn calls(unit: &'static str, function: Option<FunctionId>, limit: i64) -> Listing {
    Listing::new(report!("calls"), [id(function), Value::BigInt(limit)])
        .counting(unit)
        .short_names()
}

/// A calling context with what it costs.
#[derive(Clone, Debug)]
pub struct TreeRow {
    pub depth: usize,
    pub function: String,
    pub calls: i64,
    pub steps_self: i64,
    pub steps_total: i64,
    /// Contexts below it that were left out, and their inclusive steps.
    pub left_out: (usize, i64),
}

/// The calling contexts in the order of a walk, the most expensive child first; those with a
/// smaller share of the steps than `least` are left out and counted at their caller.
pub fn tree(connection: &Connection, least: f64, stubs: Stubs) -> Result<Vec<TreeRow>, ViewError> {
    crate::query::unit(connection)?;
    let names = FunctionNames::read(connection)?;
    let list = context_list(connection, stubs)?;
    let whole: i64 = list.iter().map(|c| c.steps_self).sum();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
    let mut stack = Vec::new();
    for (i, context) in list.iter().enumerate() {
        match context.parent {
            Some(parent) => children[parent].push(i),
            None => stack.push(i),
        }
    }
    stack.reverse();
    let mut rows = Vec::new();
    while let Some(i) = stack.pop() {
        let context = &list[i];
        let mut below = std::mem::take(&mut children[i]);
        below.sort_by_key(|&c| (list[c].steps_total, std::cmp::Reverse(c)));
        let small = |c: usize| (list[c].steps_total as f64) < least * whole as f64;
        let gone: Vec<usize> = below.iter().copied().filter(|&c| small(c)).collect();
        below.retain(|&c| !small(c));
        stack.extend(below);
        rows.push(TreeRow {
            depth: context.depth,
            function: names.name(context.function_id).to_owned(),
            calls: context.calls,
            steps_self: context.steps_self,
            steps_total: context.steps_total,
            left_out: (gone.len(), gone.iter().map(|&c| list[c].steps_total).sum()),
        });
    }
    Ok(rows)
}

/// The tree as text.
pub fn tree_text(rows: &[TreeRow], limit: usize) -> String {
    let whole: i64 = rows.iter().map(|r| r.steps_self).sum::<i64>()
        + rows.iter().map(|r| r.left_out.1).sum::<i64>();
    let mut text = format!("{:>9} {:>9} {:>9}\n", "with", "self", "calls");
    for row in rows.iter().take(limit) {
        let share = |n| percent(n, whole).unwrap_or_default();
        let name = visible(&row.function).into_owned();
        let (calls, indent) = (human_count(row.calls), "  ".repeat(row.depth.min(60)));
        text += &format!(
            "{:>9} {:>9} {calls:>9}  {indent}{name}\n",
            share(row.steps_total),
            share(row.steps_self)
        );
        if row.left_out.0 > 0 {
            let contexts = format!("({} smaller contexts)", row.left_out.0);
            text += &format!(
                "{:>9} {:>9} {:>9}  {indent}  {contexts}\n",
                share(row.left_out.1),
                "",
                ""
            );
        }
    }
    text
}

/// Rectangles that are drawn at most.
const DRAWN: i64 = 1200;
/// Pixels.
const WIDTH: f64 = 1000.0;
const ROW: f64 = 16.0;
const COLOURS: [(u8, u8, u8); 6] = [
    (240, 140, 60),
    (90, 150, 220),
    (110, 180, 100),
    (200, 110, 170),
    (160, 140, 200),
    (200, 180, 70),
];

/// A call instance on the timeline.
struct Bar {
    function: FunctionId,
    instance: i32,
    /// Steps, or ticks; inclusive.
    first: i64,
    last: i64,
    /// From the top, over all threads.
    row: i32,
    thread: ThreadId,
}

/// Names of threads, where there are several.
fn thread_names(connection: &Connection) -> Result<BTreeMap<ThreadId, String>, ViewError> {
    let mut names = BTreeMap::new();
    each(connection, report!("thread_names"), &[], |r| {
        let (thread, tid): (ThreadId, Option<i64>) = (r.get(0)?, r.get(1)?);
        let process: Option<String> = r.get(3)?;
        let process = process.map_or(String::new(), |of| format!("process {}, ", file_name(&of)));
        let number = tid.map_or_else(|| thread.to_string(), |tid| tid.to_string());
        names.insert(thread, format!("{process}thread {number}"));
        Ok(())
    })?;
    if names.len() < 2 {
        names.clear();
    }
    Ok(names)
}

/// Ticks of the trace's clock as time, where the trace says how many a second has.
fn as_time(connection: &Connection, ticks: i64) -> Result<String, ViewError> {
    let sql = "SELECT max(CAST(value AS DOUBLE)) FROM meta WHERE key = 'cycle_frequency'";
    let frequency: Option<f64> = connection.query_row(sql, [], |r| r.get(0))?;
    let Some(seconds) = frequency.filter(|f| *f > 0.0).map(|f| ticks as f64 / f) else {
        return Ok(String::new());
    };
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds >= *size).unwrap_or(units[3]);
    Ok(format!(" ({:.2} {unit})", seconds / size))
}

/// Calls over the steps of the run, or its ticks where the trace has times: a row for each depth,
/// the threads of the latter one below the other.
pub fn timeline(connection: &Connection) -> Result<String, ViewError> {
    let unit = crate::query::unit(connection)?;
    let names = FunctionNames::read(connection)?;
    let (mut bars, mut all): (Vec<Bar>, i64) = (Vec::new(), 0);
    let threads = thread_names(connection)?;
    each(connection, report!("timeline"), &[&DRAWN], |r| {
        bars.push(Bar {
            function: r.get(0)?,
            instance: r.get(1)?,
            first: r.get(2)?,
            last: r.get(3)?,
            row: r.get(4)?,
            thread: r.get(6)?,
        });
        all = r.get(5)?;
        Ok(())
    })?;
    if bars.is_empty() {
        return Err(GraphError::NoInstances.into());
    }
    bars.sort_by_key(|b| (b.row, b.first));
    let left = bars.iter().map(|b| b.first).min().unwrap_or(i64::MAX);
    let whole = bars.iter().map(|b| b.last).fold(0, i64::max).saturating_sub(left);
    let scale = WIDTH / whole.saturating_add(1).max(1) as f64;
    let mut svg = Svg::new();
    for bar in &bars {
        let x = 10.0 + (bar.first - left) as f64 * scale;
        let width = ((bar.last - bar.first + 1) as f64 * scale).max(0.3);
        let y = 10.0 + f64::from(bar.row) * ROW;
        let name = names.name(bar.function);
        let colour = shade(0.6, COLOURS[(bar.function.index() + 1) % COLOURS.len()]);
        let thread = threads.get(&bar.thread).map_or(String::new(), |name| format!(", {name}"));
        let Bar { instance, first, last, .. } = bar;
        let tip = format!("{name}#{instance}: {unit} {first} to {last}{thread}");
        svg.rect(x, y, width, ROW - 1.0, &colour, &tip);
        let fits = (width / 6.2) as usize;
        if fits >= 4 {
            svg.text(x + 2.0, y + ROW - 4.5, "start", &shorten(name, fits - 1));
        }
    }
    let rows = bars.iter().map(|b| b.row).max().unwrap_or(0) + 1;
    let rest = all.saturating_sub(i64::try_from(bars.len()).unwrap_or(i64::MAX)).max(0);
    let more = if rest > 0 {
        format!(" Not drawn: the {} shortest calls.", human_count(rest))
    } else {
        String::new()
    };
    // Threads that overlap in time are one below the other, those that take turns are not.
    let mut lanes: BTreeMap<i32, ThreadId> = BTreeMap::new();
    for bar in bars.iter().rev() {
        lanes.insert(bar.row, bar.thread);
    }
    let mut before = None;
    for (row, thread) in lanes.into_iter().filter(|_| unit != "steps") {
        if before.replace(thread) != Some(thread)
            && let Some(name) = threads.get(&thread)
        {
            let y = 10.0 + f64::from(row) * ROW + ROW - 4.5;
            svg.text(10.0 + WIDTH + 6.0, y, "start", name);
        }
    }
    let over = human_count(whole.saturating_add(1));
    let time = if unit == "steps" { String::new() } else { as_time(connection, whole)? };
    let text = format!("Calls over {over} {unit}{time}, callers above.{more}");
    svg.text(10.0, 10.0 + f64::from(rows) * ROW + 14.0, "start", &text);
    svg.problems(&problems(connection)?);
    Ok(svg.finish())
}
