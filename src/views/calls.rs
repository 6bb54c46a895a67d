//! The call tree, and calls over time.

use super::ViewError;
use crate::graph::{Names, contexts, function_names};
use crate::render::svg::{Svg, shade};
use crate::text::{human_count, percent};
use duckdb::Connection;

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
pub fn tree(connection: &Connection, least: f64, stubs: bool) -> Result<Vec<TreeRow>, ViewError> {
    crate::query::unit(connection)?;
    crate::graph::prepare_merged(connection, stubs)?;
    let names = function_names(connection)?;
    let list = contexts(connection)?.list;
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
            function: names.get(&context.function_id).map_or("?", |n| n.0.as_str()).to_owned(),
            calls: context.calls,
            steps_self: context.steps_self,
            steps_total: context.steps_total,
            left_out: (gone.len(), gone.iter().map(|&c| list[c].steps_total).sum()),
        });
    }
    Ok(rows)
}

/// The tree as text.
pub fn tree_text(rows: &[TreeRow]) -> String {
    let whole: i64 = rows.iter().map(|r| r.steps_self).sum::<i64>()
        + rows.iter().map(|r| r.left_out.1).sum::<i64>();
    let mut text = format!("{:>9} {:>9} {:>9}\n", "with", "self", "calls");
    for row in rows {
        let share = |n| percent(n, whole).unwrap_or_default();
        let name = crate::text::visible(&row.function).into_owned();
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
const DRAWN: usize = 1200;

/// Calls over the steps of the run, or its ticks where the trace has times: a row for each depth,
/// the threads of the latter one below the other.
pub fn timeline(connection: &Connection) -> Result<String, ViewError> {
    let unit = crate::query::unit(connection)?;
    let names: Names = function_names(connection)?;
    let mut statement = connection.prepare(include_str!("../../queries/report/timeline.sql"))?;
    let mut rows = statement.query([DRAWN as i64])?;
    let mut svg = Svg::new();
    let (mut left, mut whole, mut shown) = (i64::MAX, 0i64, 0usize);
    let mut list: Vec<(i32, i32, i64, i64, i32, i64)> = Vec::new();
    let mut all = 0i64;
    while let Some(r) = rows.next()? {
        let row: (i32, i32, i64, i64, i32, i64) =
            (r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?);
        left = left.min(row.2);
        whole = whole.max(row.3);
        all = row.5;
        list.push(row);
    }
    const WIDTH: f64 = 1000.0;
    const ROW: f64 = 16.0;
    let scale = WIDTH / (whole.saturating_sub(left) + 1).max(1) as f64;
    let colours = [
        (240, 140, 60),
        (90, 150, 220),
        (110, 180, 100),
        (200, 110, 170),
        (160, 140, 200),
        (200, 180, 70),
    ];
    list.sort_by_key(|r| (r.4, r.2));
    for &(function, instance, first, last, depth, _) in &list {
        let (x, width) =
            (10.0 + (first - left) as f64 * scale, ((last - first + 1) as f64 * scale).max(0.3));
        let name = names.get(&function).map_or("?", |n| n.0.as_str());
        let y = 10.0 + f64::from(depth) * ROW;
        let colour = shade(0.6, colours[function.unsigned_abs() as usize % colours.len()]);
        svg.rect(
            x,
            y,
            width,
            ROW - 1.0,
            &colour,
            &format!("{name}#{instance}: {unit} {first} to {last}"),
        );
        let fits = (width / 6.2) as usize;
        if fits >= 4 {
            svg.text(x + 2.0, y + ROW - 4.5, "start", &crate::text::shorten(name, fits - 1));
        }
        shown += 1;
    }
    let depth = list.iter().map(|r| r.4).max().unwrap_or(0);
    let y = 10.0 + f64::from(depth + 1) * ROW + 14.0;
    let text = format!(
        "Calls over {} {unit}, callers above.",
        human_count(whole.saturating_sub(left).saturating_add(1))
    );
    let rest = all as usize - shown.min(all as usize);
    let more = if rest > 0 {
        format!(" Not drawn: the {} shortest calls.", human_count(rest as i64))
    } else {
        String::new()
    };
    svg.text(10.0, y, "start", &format!("{text}{more}"));
    Ok(svg.finish())
}
