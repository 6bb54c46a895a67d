//! A command on the database of each run of a lake that has its steps: some runs at a time, each in a process
//! of its own. Its rows are those that it prints as JSON.

use super::error::LakeError;
use super::manifest::Manifest;
use super::steps;
use crate::files;
use duckdb::types::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use struson::reader::{JsonReader, JsonStreamReader, ReaderError, ValueType};

/// What is asked of each run.
#[derive(Clone, Debug)]
pub struct Question {
    /// The program that answers.
    pub addfg: PathBuf,
    /// Its command.
    pub command: String,
    /// What stands behind the database.
    pub words: Vec<String>,
    /// Runs at a time.
    pub jobs: usize,
}

/// What a run answered.
pub struct Answer {
    /// None: nothing, and `said` has the reason.
    pub rows: Option<Rows>,
    /// On standard error.
    pub said: String,
    /// Exit code 0.
    pub clean: bool,
}

/// Puts it to the runs. Gives the answers in the order of the runs.
///
/// # Errors
/// Where an answer cannot be kept or taken.
pub fn ask(
    root: &Path,
    runs: &[&Manifest],
    question: &Question,
    mut take: impl FnMut(&Manifest, Answer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Signals remove it, too.
    let folder = &files::private()?;
    fs::create_dir(folder)?;
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let jobs = question.jobs.clamp(1, runs.len().max(1));
    let (sender, receiver) = mpsc::sync_channel(jobs);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next, over) = (sender.clone(), &next, &over);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed)
                    && let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(run) = runs.get(at)
                {
                    if sender.send((at, one(root, run, question, folder))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut waiting, mut expected) = (BTreeMap::new(), 0);
        let all = || -> anyhow::Result<()> {
            for (at, answer) in receiver {
                waiting.insert(at, answer?);
                while let Some(answer) = waiting.remove(&expected) {
                    take(runs[expected], opened(answer)?)?;
                    expected += 1;
                }
            }
            Ok(())
        };
        let done = all();
        over.store(true, Ordering::Relaxed);
        done
    })
}

/// An answer that waits until those of the runs before it are there: thousands may.
struct Waiting {
    rows: Option<PathBuf>,
    said: String,
    clean: bool,
}

fn opened(Waiting { rows, said, clean }: Waiting) -> Result<Answer, LakeError> {
    let open = |path: PathBuf| {
        let file = File::open(&path).map_err(super::folder::unread(&path))?;
        // It is read by the one who has it open.
        let _ = fs::remove_file(&path);
        Ok::<_, LakeError>(Rows::new(file))
    };
    Ok(Answer { rows: rows.map(open).transpose()?, said, clean })
}

/// Asks one run.
fn one(
    root: &Path,
    run: &Manifest,
    question: &Question,
    folder: &Path,
) -> Result<Waiting, LakeError> {
    let name = format!("{}.{}", run.program, run.run.text());
    let db = folder.join(format!("{name}.duckdb"));
    if let Err(error) = steps::take(root, run, &db) {
        let _ = fs::remove_file(&db);
        let said = crate::store::open::explained(&error);
        return Ok(Waiting { rows: None, said, clean: false });
    }
    let rows = folder.join(format!("{name}.json"));
    let failed = |path: &Path| super::folder::failed(path);
    let out = File::create_new(&rows).map_err(failed(&rows))?;
    let ended = Command::new(&question.addfg)
        .arg(&question.command)
        .arg(&db)
        .args(&question.words)
        .args(["--format", "json"])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::piped())
        .output()
        .map_err(failed(&question.addfg))?;
    let _ = fs::remove_file(&db);
    let said = String::from_utf8_lossy(&ended.stderr).replace(&db.display().to_string(), "");
    let said = said.lines().map(|line| line.trim_start_matches("addfg: ")).collect::<Vec<_>>();
    let said = said.join("\n").trim_start_matches(": ").to_owned();
    let has_answered = matches!(ended.status.code(), Some(0 | 1));
    if !has_answered {
        let _ = fs::remove_file(&rows);
    }
    let rows = has_answered.then_some(rows);
    Ok(Waiting { rows, said, clean: ended.status.success() })
}

/// A row: names of columns with their values, in order.
pub type Row = Vec<(String, Value)>;

/// Rows that a command printed as JSON.
pub struct Rows {
    json: JsonStreamReader<BufReader<Box<dyn Read + Send>>>,
    begun: bool,
}

impl Rows {
    fn new(from: impl Read + Send + 'static) -> Rows {
        Rows { json: JsonStreamReader::new(BufReader::new(Box::new(from))), begun: false }
    }

    /// The next row.
    ///
    /// # Errors
    /// Where what was printed is no list of rows.
    pub fn next(&mut self) -> Result<Option<Row>, ReaderError> {
        if !self.begun {
            self.json.begin_array()?;
            self.begun = true;
        }
        if !self.json.has_next()? {
            return Ok(None);
        }
        self.json.begin_object()?;
        let mut row = Row::new();
        while self.json.has_next()? {
            let name = self.json.next_name_owned()?;
            row.push((name, self.value()?));
        }
        self.json.end_object()?;
        Ok(Some(row))
    }

    fn value(&mut self) -> Result<Value, ReaderError> {
        Ok(match self.json.peek()? {
            ValueType::Null => {
                self.json.next_null()?;
                Value::Null
            }
            ValueType::Boolean => Value::Boolean(self.json.next_bool()?),
            ValueType::String => Value::Text(self.json.next_string()?),
            ValueType::Number => number(self.json.next_number_as_str()?),
            ValueType::Array => {
                let mut list = Vec::new();
                self.json.begin_array()?;
                while self.json.has_next()? {
                    list.push(self.value()?);
                }
                self.json.end_array()?;
                Value::List(list)
            }
            ValueType::Object => {
                let mut fields = Vec::new();
                self.json.begin_object()?;
                while self.json.has_next()? {
                    fields.push((self.json.next_name_owned()?, self.value()?));
                }
                self.json.end_object()?;
                Value::Struct(fields.into())
            }
        })
    }
}

/// A number as small as holds it.
fn number(text: &str) -> Value {
    text.parse()
        .map(Value::BigInt)
        .or_else(|_| text.parse().map(Value::HugeInt))
        .or_else(|_| text.parse().map(Value::Double))
        .unwrap_or_else(|_| Value::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str) -> Result<Vec<Row>, ReaderError> {
        let mut rows = Rows::new(text.as_bytes());
        std::iter::from_fn(|| rows.next().transpose()).collect()
    }

    #[test]
    fn rows_are_what_was_printed() {
        let found = rows("[\n{\"b\":1,\"a\":null},\n{\"b\":18446744073709551615,\"a\":\"x\"}\n]\n");
        let text = |text: &str| Value::Text(text.into());
        let row = |b, a| vec![("b".to_owned(), b), ("a".to_owned(), a)];
        let wanted = vec![
            row(Value::BigInt(1), Value::Null),
            row(Value::HugeInt(u64::MAX.into()), text("x")),
        ];
        assert_eq!(found.unwrap(), wanted);
        assert_eq!(rows("[]\n").unwrap(), Vec::<Row>::new());
        let nested = rows("[{\"l\":[1.5,true],\"s\":{\"x\":[]}}]").unwrap().remove(0);
        assert_eq!(nested[0].1, Value::List(vec![Value::Double(1.5), Value::Boolean(true)]));
        let field = vec![("x".to_owned(), Value::List(Vec::new()))];
        assert_eq!(nested[1].1, Value::Struct(field.into()));
    }

    #[test]
    fn what_is_no_list_of_rows_is_an_error() {
        for text in ["", "{\"a\":1}", "[1]", "[{\"a\":1}", "a,b\n1,2\n"] {
            assert!(rows(text).is_err(), "{text}");
        }
    }
}
