//! Where a figure changed over a history: which commit, of all that were run.

use super::compare::Wish;
use super::coverage;
use super::error::LakeError;
use super::label::number;
use super::open::Lake;
use std::collections::BTreeMap;

/// A place in a history where a figure went to another level.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub measure: String,
    pub one: String,
    pub two: String,
    pub via: String,
    pub labels: String,
    /// The last value of the old level, and the first one of the new.
    pub last: String,
    pub first: String,
    pub before: f64,
    pub after: f64,
    /// Values of the label on each level.
    pub values: (usize, usize),
}

/// A value of the label with the figure over its runs.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    runs: i64,
    sum: f64,
    least: f64,
    most: f64,
}

/// The values of a label in their order: by number, else by `date` where they have it, else as they
/// were collected.
fn order(lake: &Lake, label: &str) -> Vec<String> {
    let mut first: BTreeMap<&String, (Option<&String>, i64)> = BTreeMap::new();
    for run in lake.runs() {
        if let Some(value) = run.labels.get(label) {
            let date = ["date", "time"].iter().find_map(|name| run.labels.get(*name));
            let cell = first.entry(value).or_insert((date, run.collected));
            *cell = (cell.0.min(date), cell.1.min(run.collected));
        }
    }
    let mut values: Vec<(&String, (Option<&String>, i64))> = first.into_iter().collect();
    if values.iter().all(|(value, _)| number(value).is_some()) {
        values.sort_by(|a, b| number(a.0).unwrap_or(0.0).total_cmp(&number(b.0).unwrap_or(0.0)));
    } else if values.iter().all(|(_, (date, _))| date.is_some()) {
        values.sort_by(|a, b| (a.1.0, a.1.1).cmp(&(b.1.0, b.1.1)));
    } else {
        values.sort_by_key(|(_, (_, collected))| *collected);
    }
    values.into_iter().map(|(value, _)| value.clone()).collect()
}

const SQL: &str = "
    SELECT t.measure, t.one, t.two, t.via, t.thing_key, t.program, l.rest, l.value, count(*), CAST(sum(m.value) AS DOUBLE),
           CAST(min(m.value) AS DOUBLE), CAST(max(m.value) AS DOUBLE)
    FROM measure m JOIN thing t ON t.thing_key = m.thing_key JOIN label l ON l.run_id = m.run_id
    WHERE l.label = $1 AND (m.measure = $2 OR ($2 = 'all' AND m.measure IN ('steps', 'calls', 'bytes', 'buffer', 'iterations')))
      AND ($3 = 'all' OR t.start_up = 0)
    GROUP BY ALL ORDER BY t.measure, t.one, t.two, t.via, t.thing_key, l.rest";

/// Where figures changed by `wish.least` percent or more from one value of `wish.label` to the next, and
/// stayed there: between the levels is a gap that is wider than either of them.
pub fn points(lake: &Lake, wish: &Wish) -> Result<Vec<Point>, LakeError> {
    coverage::history(lake, &wish.label)?;
    let order = order(lake, &wish.label);
    let contexts = lake.contexts();
    // Runs of each context by the place of their value.
    let mut runs: BTreeMap<(String, String), BTreeMap<usize, i64>> = BTreeMap::new();
    let place = |value: &str| order.iter().position(|v| v == value).unwrap_or(0);
    for run in lake.runs() {
        if let Some(value) = run.labels.get(&wish.label) {
            let context = (run.program.clone(), contexts.rest(run, &wish.label));
            *runs.entry(context).or_default().entry(place(value)).or_default() += 1;
        }
    }
    let connection = lake.database(SQL)?;
    let whose = if wish.start_up { "all" } else { "program" };
    let mut statement = connection.prepare(SQL)?;
    let mut rows = statement.query([wish.label.as_str(), wish.measure.as_str(), whose])?;
    type Key = ([String; 4], i64, (String, String));
    let mut series: BTreeMap<Key, BTreeMap<usize, Cell>> = BTreeMap::new();
    while let Some(r) = rows.next()? {
        let key = ([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?], r.get(4)?, (r.get(5)?, r.get(6)?));
        let cell = Cell { runs: r.get(8)?, sum: r.get(9)?, least: r.get(10)?, most: r.get(11)? };
        series.entry(key).or_default().insert(place(&r.get::<_, String>(7)?), cell);
    }
    let mut found = Vec::new();
    for (([measure, one, two, via], _, context), known) in series {
        let Some(runs) = runs.get(&context) else { continue };
        let (places, cells): (Vec<usize>, Vec<Cell>) = runs
            .iter()
            .map(|(place, all)| {
                let mut cell = known.get(place).copied().unwrap_or_default();
                // A run without the figure has 0 of it.
                if cell.runs < *all {
                    cell = Cell { runs: *all, least: 0.0, ..cell };
                }
                (*place, cell)
            })
            .unzip();
        let mut cuts = Vec::new();
        split(&cells, 0, wish.least, &mut cuts);
        cuts.sort_unstable();
        let ends: Vec<usize> = [0].into_iter().chain(cuts).chain([cells.len()]).collect();
        for three in ends.windows(3) {
            let (before, after) = (&cells[three[0]..three[1]], &cells[three[1]..three[2]]);
            found.push(Point {
                measure: measure.clone(),
                one: one.clone(),
                two: two.clone(),
                via: via.clone(),
                labels: context.1.clone(),
                last: order[places[three[1] - 1]].clone(),
                first: order[places[three[1]]].clone(),
                before: level(before).0,
                after: level(after).0,
                values: (before.len(), after.len()),
            });
        }
    }
    found.sort_by(|a, b| (b.after - b.before).abs().total_cmp(&(a.after - a.before).abs()));
    Ok(found)
}

/// Mean, least and most.
fn level(cells: &[Cell]) -> (f64, f64, f64) {
    let runs: i64 = cells.iter().map(|c| c.runs).sum();
    let sum: f64 = cells.iter().map(|c| c.sum).sum();
    let least = cells.iter().map(|c| c.least).fold(f64::INFINITY, f64::min);
    let most = cells.iter().map(|c| c.most).fold(0.0, f64::max);
    // Far below 2^53.
    (sum / runs.max(1) as f64, least, most)
}

/// Cuts a history where its two parts differ most, then each part again; `from` is where it begins.
fn split(cells: &[Cell], from: usize, least: f64, cuts: &mut Vec<usize>) {
    let means: Vec<f64> = cells.iter().map(|c| c.sum / c.runs.max(1) as f64).collect();
    let error = |means: &[f64]| {
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>()
    };
    let best = (1..cells.len()).min_by(|&a, &b| {
        let left = |at: usize| error(&means[..at]) + error(&means[at..]);
        left(a).total_cmp(&left(b))
    });
    let Some(at) = best else { return };
    let inner = {
        let mut inner = Vec::new();
        split(&cells[..at], from, least, &mut inner);
        split(&cells[at..], from + at, least, &mut inner);
        inner
    };
    // The levels beside the cut.
    let start = inner.iter().filter(|&&cut| cut < from + at).max().map_or(0, |cut| cut - from);
    let end = inner.iter().filter(|&&cut| cut > from + at).min().map_or(cells.len(), |c| c - from);
    let (one, two) = (level(&cells[start..at]), level(&cells[at..end]));
    let gap = if two.0 > one.0 { two.1 - one.2 } else { one.1 - two.2 };
    let is_apart = gap > 0.0 && gap > one.2 - one.1 && gap > two.2 - two.1;
    if is_apart && (two.0 - one.0).abs() * 100.0 >= least * one.0 {
        cuts.push(from + at);
        cuts.extend(inner);
    } else if !inner.is_empty() {
        cuts.extend(inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f64]) -> Vec<usize> {
        let cell = |&x: &f64| Cell { runs: 1, sum: x, least: x, most: x };
        let cells: Vec<Cell> = values.iter().map(cell).collect();
        let mut found = Vec::new();
        split(&cells, 0, 1.0, &mut found);
        found.sort_unstable();
        found
    }

    #[test]
    fn levels_are_cut_where_they_change() {
        assert_eq!(cuts(&[5.0, 5.0, 5.0, 9.0, 9.0]), [3]);
        assert_eq!(cuts(&[5.0, 9.0, 9.0, 5.0, 5.0, 1.0]), [1, 3, 5]);
        assert_eq!(cuts(&[5.0, 5.01, 5.0, 5.02]), Vec::<usize>::new());
        assert_eq!(cuts(&[5.0]), Vec::<usize>::new());
    }
}
