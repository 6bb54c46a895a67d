//! A run of a lake, as the file beside the tables tells of it. A run is in the lake when this file
//! is.

use super::error::LakeError;
use super::label::Labels;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// How folders, tables and manifests are laid out; raised where an older addfg would read wrongly.
pub const LAKE_VERSION: u64 = 2;

/// Digits of a run's name behind the `r`: as many as a signed 64-bit number holds.
const DIGITS: usize = 15;

/// The name of a run: `r` and digits of the hash of what it holds, so that the same run has the same
/// name wherever it is collected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName(String);

impl RunName {
    /// Of a hash in hexadecimal digits.
    pub fn of_hash(digits: &str) -> Option<RunName> {
        RunName::parse(&format!("r{}", digits.get(..DIGITS)?))
    }

    pub fn parse(text: &str) -> Option<RunName> {
        let digits = text.strip_prefix('r')?;
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        (digits.len() == DIGITS && digits.chars().all(hex)).then(|| RunName(text.to_owned()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// The same as a number, which the rows of tables have.
    pub fn id(&self) -> i64 {
        // 15 digits, checked when it was made.
        i64::from_str_radix(&self.0[1..], 16).unwrap_or(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub program: String,
    pub run: RunName,
    /// Name of the database that was collected, without folders and ending.
    pub database: String,
    pub schema_version: String,
    pub addfg_version: String,
    /// Detail of the build.
    pub detail: String,
    /// Steps of the run; None: its trace has none.
    pub steps: Option<i64>,
    pub labels: Labels,
    /// How it was recorded and built, as far as figures depend on it: version of addfg, detail,
    /// `saves`, ... Runs that differ in it are not compared unless asked.
    pub recording: Labels,
    /// When it was collected, in milliseconds since 1970; no part of the run's name.
    pub collected: i64,
    /// Rows by table; a table without rows has no file.
    pub tables: BTreeMap<String, u64>,
}

impl Manifest {
    /// Its file name in `_runs`.
    pub fn file_name(&self) -> String {
        format!("{}.{}.json", self.program, self.run.text())
    }

    pub fn to_json(&self) -> Value {
        json!({
            "lake": LAKE_VERSION, "program": self.program, "run": self.run.text(),
            "database": self.database, "schema_version": self.schema_version,
            "addfg_version": self.addfg_version, "detail": self.detail, "steps": self.steps,
            "labels": self.labels, "recording": self.recording, "collected": self.collected,
            "tables": self.tables,
        })
    }

    /// Reads what [`Manifest::to_json`] gives; `path` is for messages.
    pub fn from_json(value: &Value, path: &Path) -> Result<Manifest, LakeError> {
        let path = path.display().to_string();
        let wrong = |what: &str| LakeError::Manifest { path: path.clone(), what: what.to_owned() };
        match value["lake"].as_u64() {
            Some(LAKE_VERSION) => {}
            Some(found) if found > LAKE_VERSION => {
                return Err(LakeError::Newer { path, found, known: LAKE_VERSION });
            }
            Some(found @ 1..) => {
                return Err(LakeError::Older { path, found, known: LAKE_VERSION });
            }
            _ => return Err(wrong("`lake` is not a version of 1 or more")),
        }
        let text = |key: &str| {
            let text = value[key].as_str().map(str::to_owned);
            text.ok_or_else(|| wrong(&format!("`{key}` is missing")))
        };
        let object =
            |key: &str| value[key].as_object().ok_or_else(|| wrong(&format!("`{key}` is missing")));
        let texts = |key: &str| {
            let mut found = Labels::new();
            for (name, value) in object(key)? {
                let value = value.as_str().ok_or_else(|| wrong("a label is not a text"))?;
                found.insert(name.clone(), value.to_owned());
            }
            Ok::<_, LakeError>(found)
        };
        let (labels, recording) = (texts("labels")?, texts("recording")?);
        let mut tables = BTreeMap::new();
        for (name, rows) in object("tables")? {
            tables.insert(name.clone(), rows.as_u64().ok_or_else(|| wrong("rows are no number"))?);
        }
        let program = text("program")?;
        if !is_program(&program) {
            return Err(wrong("`program` is not a name of a program"));
        }
        let run =
            RunName::parse(&text("run")?).ok_or_else(|| wrong("`run` is not a name of a run"))?;
        Ok(Manifest {
            program,
            run,
            database: text("database")?,
            schema_version: text("schema_version")?,
            addfg_version: text("addfg_version")?,
            detail: text("detail")?,
            steps: value["steps"].as_i64(),
            labels,
            recording,
            collected: value["collected"].as_i64().unwrap_or(0),
            tables,
        })
    }
}

/// Whether a text can be the name of a program: it is one of a folder.
pub fn is_program(text: &str) -> bool {
    let other = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() < 200
        && text.chars().all(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest {
            program: "a.out".into(),
            run: RunName::of_hash("7fffffffffffffff0123").unwrap(),
            database: "a".into(),
            schema_version: "6".into(),
            addfg_version: "0.1.0".into(),
            detail: "summary".into(),
            steps: None,
            labels: Labels::from([("a".into(), "b".into())]),
            recording: Labels::from([("detail".into(), "summary".into())]),
            collected: 7,
            tables: BTreeMap::from([("edge".into(), 3)]),
        };
        assert_eq!(manifest.run.id(), 0x7ff_ffff_ffff_ffff);
        let path = Path::new("m.json");
        let mut json = manifest.to_json();
        assert_eq!(Manifest::from_json(&json, path).unwrap(), manifest);
        for (key, value) in [("run", json!("r1")), ("program", json!("../x")), ("labels", json!(1))]
        {
            let mut damaged = json.clone();
            damaged[key] = value;
            assert!(matches!(Manifest::from_json(&damaged, path), Err(LakeError::Manifest { .. })));
        }
        json["lake"] = json!(LAKE_VERSION + 1);
        assert!(matches!(Manifest::from_json(&json, path), Err(LakeError::Newer { .. })));
    }
}
