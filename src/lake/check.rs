//! Rules that every run must keep, for `addfg check`.

use super::error::LakeError;
use super::label::described;
use super::open::Lake;
use super::rule::{Figure, Rule, Subject};
use duckdb::types::Value;
use duckdb::{Connection, ToSql};

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The value that is farthest to the wrong side; None where no run knows the figure.
    pub worst: Option<i64>,
    /// The run that has it, with its labels.
    pub run: String,
    pub labels: String,
    pub runs: usize,
    /// Runs that break the rule, or do not know the figure.
    pub broken: usize,
}

/// A condition that a name fits, with its words: a name is `name` or `file:name`.
fn fits(name: &str, function: &str, words: &mut Vec<Value>) -> String {
    let pattern =
        name.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_").replace('*', "%");
    words.push(Value::Text(pattern));
    let n = words.len();
    format!(
        "({function} LIKE ${n} ESCAPE '\\' OR {function}_file || ':' || {function} LIKE ${n} ESCAPE '\\')"
    )
}

/// The query that gives run and figure of each run that has it.
fn query(rule: &Rule) -> (String, Vec<Value>) {
    let mut words = Vec::new();
    let column = match rule.figure {
        Figure::Buffer => "addresses",
        Figure::Steps => "steps_self",
        other => other.name(),
    };
    let (table, condition) = match &rule.subject {
        Subject::Run => return ("SELECT run_id, steps FROM run".into(), words),
        Subject::Function(name) => ("one_function", fits(name, "name", &mut words)),
        Subject::Edge(one, two, via) => {
            let data = rule.figure != Figure::Calls;
            let (table, from, to) =
                if data { ("edge", "writer", "reader") } else { ("call", "caller", "callee") };
            let mut condition =
                format!("{} AND {}", fits(one, from, &mut words), fits(two, to, &mut words));
            if one.contains('*') || two.contains('*') {
                // What stays within one function is no edge between those that fit.
                condition.push_str(&format!(" AND ({from} <> {to} OR {from}_file <> {to}_file)"));
            }
            if let Some(via) = via {
                words.push(Value::Text(via.clone()));
                condition.push_str(&format!(" AND via = ${}", words.len()));
            }
            (table, condition)
        }
    };
    let from = match table {
        "one_function" => "(SELECT *, function AS name, file AS name_file FROM function)",
        table => table,
    };
    // A run that does not know a part of the sum does not know the sum.
    let sql = format!(
        "SELECT run_id, CASE WHEN count(*) = count({column}) THEN CAST(sum({column}) AS BIGINT) END
         FROM {from} WHERE {condition} GROUP BY run_id"
    );
    (sql, words)
}

/// Checks a rule on all runs of a lake. `path` is for messages.
pub fn check(lake: &Lake, rule: &Rule, path: &str) -> Result<Verdict, LakeError> {
    let (sql, words) = query(rule);
    let connection = lake.database(&format!("{sql} thing function"))?;
    know(&connection, rule, path)?;
    let sql = format!(
        "SELECT r.run_id, f.run_id IS NOT NULL, f.value FROM run r LEFT JOIN ({sql}) AS f(run_id, value) USING (run_id)"
    );
    let words: Vec<&dyn ToSql> = words.iter().map(|w| w as &dyn ToSql).collect();
    let mut verdict =
        Verdict { worst: None, run: String::new(), labels: String::new(), runs: 0, broken: 0 };
    // How far a value is beyond the limit; what is not known is farthest.
    let beyond = |value: Option<i64>| match value {
        None => i64::MAX,
        Some(value) if rule.comparison.holds(value, rule.limit) => {
            -value.abs_diff(rule.limit).min(i64::MAX.cast_unsigned()).cast_signed()
        }
        Some(value) => {
            value.abs_diff(rule.limit).min(i64::MAX.cast_unsigned() - 1).cast_signed() + 1
        }
    };
    let mut worst: Option<(i64, i64)> = None;
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(words.as_slice())?;
    while let Some(row) = rows.next()? {
        let (id, found, value): (i64, bool, Option<i64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let value = if found { value } else { Some(0) };
        verdict.runs += 1;
        verdict.broken += usize::from(!value.is_some_and(|v| rule.comparison.holds(v, rule.limit)));
        if worst.is_none_or(|w| (beyond(value), -id) > (w.0, -w.1)) {
            worst = Some((beyond(value), id));
            verdict.worst = value;
        }
    }
    if let Some(run) = lake.runs().find(|m| Some(m.run.id()) == worst.map(|w| w.1)) {
        let names: Vec<&str> = run.labels.keys().map(String::as_str).collect();
        verdict.run = run.run.text().to_owned();
        verdict.labels = described(&run.labels, &names);
    }
    Ok(verdict)
}

/// Refuses names that no run has: a rule about nothing would always hold.
fn know(connection: &Connection, rule: &Rule, path: &str) -> Result<(), LakeError> {
    let names: Vec<&String> = match &rule.subject {
        Subject::Run => Vec::new(),
        Subject::Function(name) => vec![name],
        Subject::Edge(one, two, _) => vec![one, two],
    };
    for name in names {
        let mut words = Vec::new();
        let one = fits(name, "one", &mut words);
        let two = one.replace("one", "two");
        let sql = format!("SELECT count(*) FROM thing WHERE {one} OR {two}");
        let count: i64 = connection.query_row(&sql, [&words[0]], |r| r.get(0))?;
        if count == 0 {
            let sql = "SELECT coalesce(string_agg(one, ', '), '') FROM (SELECT DISTINCT one FROM thing
                       WHERE measure = 'steps' ORDER BY jaro_winkler_similarity(one, ?) DESC, one LIMIT 3)";
            let near: String = connection.query_row(sql, [name], |r| r.get(0))?;
            let hint = if near.is_empty() { near } else { format!("; near it are {near}") };
            let (path, name) = (path.to_owned(), name.clone());
            return Err(LakeError::NoFunction { path, name, hint });
        }
    }
    Ok(())
}
