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
use duckdb::Connection;
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
            let options = Options { labels, program: Some("program".into()), trust };
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

/// The rows of `changed` for steps, calls and bytes, for a picture: figures are means over the runs
/// of a side, summed over what runs were compared by.
pub fn differences(
    lake: &Lake,
    label: &str,
    before: &str,
    after: &str,
) -> Result<Vec<Difference>, LakeError> {
    let given: Vec<String> =
        [label, before, after, "all", "0", "0"].iter().map(|w| (*w).to_owned()).collect();
    let question = questions::find("changed")?;
    let connection: Connection = lake.database(question.sql)?;
    let values = question.values(&given)?;
    let values: Vec<&dyn duckdb::ToSql> = values.iter().map(|v| v as &dyn duckdb::ToSql).collect();
    let mut statement = connection.prepare(question.sql)?;
    let rows = statement.query_map(values.as_slice(), |r| {
        let text = |i: usize| r.get::<_, Option<String>>(i).map(|t| t.filter(|t| !t.is_empty()));
        // A mean, which is no larger than what it is of.
        let figure = |x: f64| (x > 0.0).then_some(x.round() as i64);
        Ok(Difference {
            what: r.get(0)?,
            one: r.get(1)?,
            two: text(2)?,
            via: text(3)?,
            before: figure(r.get(8)?),
            after: figure(r.get(9)?),
        })
    })?;
    let mut found = Vec::new();
    for row in rows {
        let mut row = row?;
        row.what = match row.what.as_str() {
            "steps" => "function",
            "calls" => "call",
            "bytes" => "data",
            _ => continue,
        }
        .into();
        found.push(row);
    }
    Ok(found)
}
