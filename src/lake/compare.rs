//! Many runs against many: what changed beyond noise, as a list of differences that
//! [`crate::views::diff`] draws.

use super::collect::{self, Options};
use super::error::LakeError;
use super::folder::failed;
use super::label::{Label, REPEAT};
use super::open::Lake;
use super::questions;
use crate::store::open::Trust;
use crate::views::diff::Difference;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The label that says on which side a database is.
pub const SIDE: &str = "side";

/// Collects databases into a lake of their own, each with the label [`SIDE`] `before` or `after`.
pub fn sides(
    folder: &Path,
    before: &[PathBuf],
    after: &[PathBuf],
    trust: Trust,
) -> Result<(), LakeError> {
    collect::begin(folder)?;
    let mut repeat = 0;
    for (side, databases) in [("before", before), ("after", after)] {
        for db in databases {
            repeat += 1;
            let label = |name: &str, value: String| Label { name: name.to_owned(), value };
            let labels = vec![label(SIDE, side.to_owned()), label(REPEAT, repeat.to_string())];
            // Two builds of a program may have files of other names.
            let options = Options { labels, program: Some("program".into()), trust, steps: false };
            collect::collect(db, folder, &options)?;
        }
    }
    Ok(())
}

/// A folder that is there as long as the value.
pub fn scratch() -> Result<tempfile::TempDir, LakeError> {
    let path = std::env::temp_dir();
    crate::files::private_folder("addfg-lake-").map_err(failed(&path))
}

/// The repeats a side from which on a change can be told from chance at a rate (in percent): where all
/// of `rows` figures that vary have changed, and where only one of them has.
pub fn repeats_needed(contexts: usize, rows: usize, rate: f64) -> (usize, usize) {
    let needed = |share: f64| {
        let enough = |n: &usize| {
            let n = *n;
            // 1 in C(2n, n), in each context.
            let rarity: f64 = (1..=n).map(|i| ((n + i) as f64 / i as f64).ln()).sum();
            2.5 * (-rarity * contexts.max(1) as f64).exp() <= share
        };
        (1..200).find(enough).unwrap_or(200)
    };
    (needed(rate / 100.0), needed(rate / 100.0 / rows.max(1) as f64))
}

/// A figure that changed, as `changed` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    pub measure: String,
    pub one: String,
    pub two: String,
    pub via: String,
    pub contexts: i64,
    pub grown: i64,
    pub shrunk: i64,
    pub runs: i64,
    pub before: f64,
    pub after: f64,
    pub percent: Option<f64>,
    pub noise: Option<f64>,
    /// How likely chance alone does as much.
    pub p: f64,
    /// Beyond noise at the rate that was asked for; else there are too few runs to tell.
    pub is_certain: bool,
    /// The first of the contexts in which it changed.
    pub context: String,
    pub is_local: bool,
    pub one_file: String,
    pub two_file: String,
    /// The largest growth in a context, in percent; None: there was nothing before.
    pub most: Option<f64>,
}

impl Changed {
    /// `bytes f -> g, heap`.
    pub fn name(&self) -> String {
        let edge = if self.two.is_empty() {
            self.one.clone()
        } else {
            format!("{} -> {}", self.one, self.two)
        };
        let via = if self.via.is_empty() { String::new() } else { format!(", {}", self.via) };
        format!("{} {edge}{via}", self.measure)
    }

    /// Whether it grew by so much in a context.
    pub fn grew(&self, percent: f64) -> bool {
        self.grown > 0 && self.most.is_none_or(|most| most >= percent)
    }
}

/// What to compare.
#[derive(Clone, Debug)]
pub struct Wish {
    pub label: String,
    pub before: String,
    pub after: String,
    pub measure: String,
    /// Least change, in percent.
    pub least: f64,
    /// With start-up and the like.
    pub start_up: bool,
    /// Expected false rows, in percent; 100: every difference counts.
    pub rate: f64,
}

/// All figures that changed, the largest changes of each measure first.
pub fn changed(lake: &Lake, wish: &Wish) -> Result<Vec<Changed>, LakeError> {
    let whose = if wish.start_up { "all" } else { "program" };
    let (least, rate) = (wish.least.to_string(), wish.rate.to_string());
    let words =
        [wish.label.as_str(), &wish.before, &wish.after, &wish.measure, &least, "0", whose, &rate];
    let given = words.map(str::to_owned);
    let question = questions::find("changed")?;
    let connection = lake.database(question.sql)?;
    let values = question.values(&given)?;
    let values: Vec<&dyn duckdb::ToSql> = values.iter().map(|v| v as &dyn duckdb::ToSql).collect();
    let mut statement = connection.prepare(question.sql)?;
    let rows = statement.query_map(values.as_slice(), |r| {
        Ok(Changed {
            measure: r.get(0)?,
            one: r.get(1)?,
            two: r.get(2)?,
            via: r.get(3)?,
            contexts: r.get(4)?,
            grown: r.get(5)?,
            shrunk: r.get(6)?,
            runs: r.get(7)?,
            before: r.get(8)?,
            after: r.get(9)?,
            percent: r.get(10)?,
            noise: r.get(11)?,
            p: r.get(12)?,
            is_certain: r.get::<_, String>(13)? == "yes",
            context: r.get::<_, Option<String>>(14)?.unwrap_or_default(),
            is_local: r.get(15)?,
            one_file: r.get(16)?,
            two_file: r.get(17)?,
            most: r.get(18)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Where functions are: by name and file the path and the first line that ran, of the runs after.
pub fn places(
    lake: &Lake,
    wish: &Wish,
) -> Result<BTreeMap<(String, String), (String, i64)>, LakeError> {
    let connection = lake.database("function")?;
    let mut statement = connection.prepare(
        "SELECT function, file, min(path), min(line) FROM function JOIN label USING (run_id)
         WHERE label = $1 AND value = $2 AND path IS NOT NULL AND line IS NOT NULL GROUP BY ALL",
    )?;
    let rows = statement.query_map([&wish.label, &wish.after], |r| {
        Ok(((r.get(0)?, r.get(1)?), (r.get(2)?, r.get(3)?)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Changes of steps, calls and bytes for a picture: figures are means over the runs of a side, summed
/// over what runs were compared by.
pub fn differences(changed: &[Changed]) -> Vec<Difference> {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    // A mean, which is no larger than what it is of.
    let figure = |x: f64| (x > 0.0).then_some(x.round() as i64);
    let one = |row: &Changed| {
        let what = match row.measure.as_str() {
            "steps" => "function",
            "calls" => "call",
            "bytes" => "data",
            _ => return None,
        };
        Some(Difference {
            what: what.to_owned(),
            one: row.one.clone(),
            two: text(&row.two),
            via: text(&row.via),
            before: figure(row.before),
            after: figure(row.after),
        })
    };
    changed.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_told_by_counting_cases() {
        // 2.5 / C(8, 4) = 0.036; for one in 37 rows 2.5 / C(14, 7) = 0.0007.
        assert_eq!(repeats_needed(1, 37, 5.0), (4, 7));
        assert_eq!(repeats_needed(12, 37, 5.0), (1, 1));
        assert_eq!(repeats_needed(5, 1, 5.0), (2, 2));
    }
}
