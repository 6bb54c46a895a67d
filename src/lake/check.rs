//! Rules that runs must keep, for `addfg check`.

use super::error::LakeError;
use super::label::described;
use super::manifest::Manifest;
use super::names;
use super::newest::{by_context, labels_with, newest, over};
use super::open::Lake;
use super::rule::{Bound, Comparison, Figure, Rule, Subject, pattern};
use duckdb::{Connection, params};
use std::collections::BTreeMap;

/// Which runs are looked at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Labels that say which state of the program a run is of; empty: commit, version, ...
    pub over: Vec<String>,
    /// All runs, not only the newest of each context.
    pub all_runs: bool,
}

/// A run with its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// None where the run does not know the figure.
    pub value: Option<i64>,
    /// What it must keep to.
    pub limit: Option<(Comparison, i64)>,
    /// Mean of the runs that it is compared with.
    pub reference: Option<f64>,
    pub run: String,
    pub labels: String,
}

impl Looked {
    fn holds(&self) -> bool {
        let holds = |(comparison, limit): (Comparison, i64)| {
            self.value.is_some_and(|value| comparison.holds(value, limit))
        };
        self.limit.is_some_and(holds)
    }

    /// How far a value is beyond the limit; what is not known is farthest.
    fn beyond(&self) -> i128 {
        let Some(((comparison, limit), value)) = self.limit.zip(self.value) else {
            return i128::MAX;
        };
        let far = i128::from(value.abs_diff(limit));
        if comparison.holds(value, limit) { -far } else { far + 1 }
    }
}

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    pub line: i64,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub runs: usize,
    /// Runs that break the rule, or do not know the figure.
    pub broken: usize,
    /// Runs in whose context the reference has none.
    pub alone: usize,
    /// The three that are farthest to the wrong side.
    pub worst: Vec<Looked>,
    /// Where the function is, or the reader of the data.
    pub place: Option<Place>,
}

/// Makes the tables of functions that a rule names, and gives the query for its figure of each run.
fn query(
    connection: &Connection,
    rule: &Rule,
    path: &str,
) -> Result<(String, Option<Place>), LakeError> {
    const RUNS: &str = "run_id IN (SELECT run_id FROM checked)";
    let column = match rule.figure {
        Figure::Buffer => "addresses",
        Figure::Steps => "steps_self",
        other => other.name(),
    };
    let choose = |name: &str, number: usize| -> Result<String, LakeError> {
        let found = names::find(connection, name, RUNS, path)?;
        let table = format!("chosen_{number}");
        connection.execute_batch(&format!(
            "CREATE OR REPLACE TEMP TABLE {table} (name VARCHAR, file VARCHAR)"
        ))?;
        let mut rows = connection.appender_to_catalog_and_db(&table, "temp", "main")?;
        for (name, file) in &found {
            rows.append_row(params![name, file])?;
        }
        rows.flush()?;
        Ok(format!("(SELECT name, file FROM {table})"))
    };
    let (table, condition, last) = match &rule.subject {
        Subject::Run => return Ok(("SELECT run_id, steps FROM run".into(), None)),
        Subject::Function(name) => {
            ("function", format!("(function, file) IN {}", choose(name, 0)?), "chosen_0")
        }
        Subject::Edge(one, two, via) => {
            let data = rule.figure != Figure::Calls;
            let (table, from, to) =
                if data { ("edge", "writer", "reader") } else { ("call", "caller", "callee") };
            let (first, second) = (choose(one, 0)?, choose(two, 1)?);
            let mut condition =
                format!("({from}, {from}_file) IN {first} AND ({to}, {to}_file) IN {second}");
            if pattern(one).is_some() || pattern(two).is_some() {
                // What stays within one function is no edge between those that fit.
                condition.push_str(&format!(" AND ({from} <> {to} OR {from}_file <> {to}_file)"));
            }
            if let Some(via) = via {
                condition.push_str(&format!(" AND via = '{}'", via.replace('\'', "''")));
            }
            (table, condition, "chosen_1")
        }
    };
    let place = place(connection, last)?;
    // A run that does not know a part of the sum does not know the sum.
    let sql = format!(
        "SELECT run_id, CASE WHEN count(*) = count({column}) THEN CAST(sum({column}) AS BIGINT) END
         FROM \"{table}\" WHERE {condition} GROUP BY run_id"
    );
    Ok((sql, place))
}

/// Where the functions of a table are, if one place is known.
fn place(connection: &Connection, table: &str) -> Result<Option<Place>, LakeError> {
    let sql = format!(
        "SELECT path, line FROM function WHERE (function, file) IN (SELECT name, file FROM {table})
         AND path IS NOT NULL AND line IS NOT NULL AND run_id IN (SELECT run_id FROM checked) ORDER BY ALL LIMIT 1"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    Ok(match rows.next()? {
        Some(row) => Some(Place { path: row.get(0)?, line: row.get(1)? }),
        None => None,
    })
}

/// The label and the value that a rule compares with.
fn reference(rule: &Rule, runs: &[&Manifest]) -> Result<Option<(String, String)>, LakeError> {
    let Bound::Reference { reference, .. } = &rule.bound else { return Ok(None) };
    let wrong = |why: String| LakeError::Reference { rule: rule.text.clone(), why };
    if let Some((label, value)) = reference.split_once('=')
        && runs.iter().any(|run| run.labels.contains_key(label))
    {
        if runs.iter().any(|run| run.labels.get(label).is_some_and(|v| v == value)) {
            return Ok(Some((label.to_owned(), value.to_owned())));
        }
        return Err(wrong(format!("no run has {label}={value}")));
    }
    let labels: Vec<String> = labels_with(runs, reference).into_iter().collect();
    match &labels[..] {
        [label] => Ok(Some((label.clone(), reference.clone()))),
        [] => Err(wrong(format!("no label of a run is `{reference}`"))),
        several => {
            let list: Vec<_> = several.iter().map(|l| format!("{l}={reference}")).collect();
            Err(wrong(format!("`{reference}` can be {}: write one of them", list.join(" or "))))
        }
    }
}

/// A run that is looked at, and the runs of the reference.
type Compared<'a> = (&'a Manifest, Vec<&'a Manifest>);

/// The runs that a rule is about.
fn looked_at<'a>(
    rule: &Rule,
    runs: &[&'a Manifest],
    options: &Options,
) -> Result<Vec<Compared<'a>>, LakeError> {
    let Some((label, value)) = reference(rule, runs)? else {
        let chosen: Vec<&Manifest> = match options.all_runs {
            true => runs.to_vec(),
            false => newest(runs, &over(&options.over)).into_values().flatten().collect(),
        };
        return Ok(chosen.into_iter().map(|run| (run, Vec::new())).collect());
    };
    let mut over = over(&options.over);
    if !over.contains(&label.as_str()) {
        over.push(&label);
    }
    let is_reference = |run: &&&Manifest| run.labels.get(&label).is_some_and(|v| *v == value);
    let all = by_context(runs, &over);
    let mut found = Vec::new();
    for runs in all.into_values() {
        let side = |wanted: bool| -> Vec<&'a Manifest> {
            let side: Vec<_> = runs.iter().filter(|r| is_reference(r) == wanted).copied().collect();
            newest(&side, &over).into_values().flatten().collect()
        };
        let references = side(true);
        found.extend(side(false).into_iter().map(|run| (run, references.clone())));
    }
    Ok(found)
}

/// Checks a rule on a lake. `path` is for messages.
pub fn check(
    lake: &Lake,
    rule: &Rule,
    options: &Options,
    path: &str,
) -> Result<Verdict, LakeError> {
    let runs: Vec<&Manifest> = lake.runs().collect();
    let compared = looked_at(rule, &runs, options)?;
    let connection = lake.database("function call edge")?;
    connection.execute_batch("CREATE TEMP TABLE checked (run_id BIGINT)")?;
    let mut table = connection.appender_to_catalog_and_db("checked", "temp", "main")?;
    for (run, references) in &compared {
        table.append_row(params![run.run.id()])?;
        for run in references {
            table.append_row(params![run.run.id()])?;
        }
    }
    table.flush()?;
    drop(table);
    let (sql, place) = query(&connection, rule, path)?;
    let mut values: BTreeMap<i64, Option<i64>> = BTreeMap::new();
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        values.insert(row.get(0)?, row.get(1)?);
    }
    let value = |run: &Manifest| values.get(&run.run.id()).copied().unwrap_or(Some(0));
    let mut verdict = Verdict { runs: 0, broken: 0, alone: 0, worst: Vec::new(), place };
    for (run, references) in &compared {
        let known: Vec<f64> =
            references.iter().filter_map(|r| value(r)).map(|value| value as f64).collect();
        let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
        if mean.is_none() && matches!(rule.bound, Bound::Reference { .. }) {
            verdict.alone += 1;
            continue;
        }
        let names: Vec<&str> = run.labels.keys().map(String::as_str).collect();
        let looked = Looked {
            value: value(run),
            limit: rule.bound.limit(mean),
            reference: mean,
            run: run.run.text().to_owned(),
            labels: described(&run.labels, &names),
        };
        verdict.runs += 1;
        verdict.broken += usize::from(!looked.holds());
        verdict.worst.push(looked);
    }
    if verdict.runs == 0 {
        let why = "no run has the same other labels as a run of the reference".to_owned();
        return Err(LakeError::Reference { rule: rule.text.clone(), why });
    }
    verdict.worst.sort_by(|a, b| b.beyond().cmp(&a.beyond()).then(a.run.cmp(&b.run)));
    verdict.worst.truncate(3);
    Ok(verdict)
}
