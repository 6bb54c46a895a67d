//! The communication matrix: bytes from function to function.

use super::grouped::Grouped;
use super::{ViewError, report};
use crate::render::svg::{Svg, shade};
use crate::text::{human_bytes, shorten};
use duckdb::Connection;
use std::collections::BTreeMap;

/// Rows write, columns read. The last one is `(others)` where functions were left out.
pub struct Matrix {
    pub names: Vec<String>,
    pub bytes: Vec<Vec<i64>>,
    /// What was not understood.
    pub problems: Vec<String>,
}

/// The `top` functions or groups with the most traffic, their own included.
pub fn matrix(connection: &Connection, top: usize, groups: &Grouped) -> Result<Matrix, ViewError> {
    let mut pairs: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut traffic: BTreeMap<String, i64> = BTreeMap::new();
    let mut statement = connection.prepare(report!("matrix"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (writer, reader, bytes): (String, String, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let (writer, reader) = (groups.name(writer), groups.name(reader));
        *traffic.entry(writer.clone()).or_default() += bytes;
        if writer != reader {
            *traffic.entry(reader.clone()).or_default() += bytes;
        }
        *pairs.entry((writer, reader)).or_default() += bytes;
    }
    let mut order: Vec<(&String, i64)> = traffic.iter().map(|(n, &b)| (n, b)).collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut names: Vec<String> = order.iter().take(top).map(|o| o.0.clone()).collect();
    let at: BTreeMap<String, usize> =
        names.iter().cloned().enumerate().map(|(i, n)| (n, i)).collect();
    if order.len() > top {
        names.push("(others)".into());
    }
    let mut bytes = vec![vec![0; names.len()]; names.len()];
    for ((writer, reader), n) in &pairs {
        let place = |name| at.get(name).copied().unwrap_or(names.len() - 1);
        bytes[place(writer)][place(reader)] += n;
    }
    Ok(Matrix { names, bytes, problems: crate::query::problems(connection)? })
}

impl Matrix {
    /// Cells darker by the logarithm of their bytes.
    pub fn heat_map(&self) -> String {
        const CELL: f64 = 26.0;
        const NAME: usize = 28;
        let names: Vec<String> = self.names.iter().map(|n| shorten(n, NAME)).collect();
        let left = 12.0 + 6.3 * names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
        let top = 20.0 + 5.5 * names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
        let most = self.bytes.iter().flatten().copied().max().unwrap_or(1).max(2) as f64;
        let mut svg = Svg::new();
        for (i, name) in names.iter().enumerate() {
            svg.text(left - 4.0, top + CELL * (i as f64 + 0.65), "end", name);
            svg.upward(left + CELL * (i as f64 + 0.6), top - 4.0, name);
        }
        for (i, row) in self.bytes.iter().enumerate() {
            for (j, &bytes) in row.iter().enumerate() {
                let share =
                    if bytes > 0 { 0.08 + 0.92 * (bytes as f64).ln() / most.ln() } else { 0.0 };
                let colour = if i == j { (110, 110, 110) } else { (200, 85, 27) };
                let tip = format!("{} to {}: {bytes} bytes", self.names[i], self.names[j]);
                let (x, y) = (left + CELL * j as f64, top + CELL * i as f64);
                svg.rect(
                    x,
                    y,
                    CELL - 1.0,
                    CELL - 1.0,
                    &if bytes > 0 { shade(share, colour) } else { "#f6f6f6".into() },
                    &tip,
                );
            }
        }
        let y = top + CELL * names.len() as f64 + 16.0;
        let most = human_bytes(most as i64);
        let x = left
            + CELL * names.len() as f64
            + 3.2 * names.last().map_or(0, |n| n.chars().count()) as f64;
        svg.text(
            10.0,
            y,
            "start",
            &format!("Rows write, columns read; darker: more bytes (logarithmic, up to {most}); grey: a function's own."),
        );
        svg.text(x, top, "start", "");
        svg.problems(&self.problems);
        svg.finish()
    }
}
