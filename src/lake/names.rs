//! Which functions of a lake a person means: a name is a name, a pattern is asked for.

use super::error::LakeError;
use super::rule::pattern;
use crate::graph::is_called;
use crate::text::visible;
use duckdb::Connection;
use duckdb::types::Value;

/// A function by the names that all runs share.
pub type Function = (String, String);

/// All functions, callers, writers and readers of the runs in a condition on `run_id`.
fn all(connection: &Connection, runs: &str) -> Result<Vec<Function>, LakeError> {
    let sql = format!(
        "SELECT DISTINCT * FROM (
             SELECT function AS name, file FROM function WHERE {runs}
             UNION ALL SELECT caller, caller_file FROM call WHERE {runs} UNION ALL SELECT callee, callee_file FROM call WHERE {runs}
             UNION ALL SELECT writer, writer_file FROM edge WHERE {runs} UNION ALL SELECT reader, reader_file FROM edge WHERE {runs})
         WHERE name <> '' ORDER BY ALL"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The functions that `text` means: all that fit `glob:PATTERN` or `re:PATTERN`; else the one of this
/// name, of FILE:NAME, or the only one that has this name without namespaces and parameters. `runs`:
/// a condition on `run_id`; `path` is for messages. The connection knows `function`, `call`, `edge`.
pub fn find(
    connection: &Connection,
    text: &str,
    runs: &str,
    path: &str,
) -> Result<Vec<Function>, LakeError> {
    let functions = all(connection, runs)?;
    if let Some((kind, wanted)) = pattern(text) {
        return matching(connection, text, kind, wanted, functions, path);
    }
    let whole = |(name, file): &&Function| name == text || is_of_file(name, file, text);
    let mut found: Vec<&Function> = functions.iter().filter(whole).collect();
    if found.is_empty() {
        let base = |(name, file): &&Function| {
            let last = |said: &str| is_called(name, said) || name.split(" (").next() == Some(said);
            let rest = text.strip_prefix(file.as_str()).and_then(|rest| rest.strip_prefix(':'));
            last(text) || rest.is_some_and(|rest| !file.is_empty() && last(rest))
        };
        found = functions.iter().filter(base).collect();
    }
    let names: std::collections::BTreeSet<&str> = found.iter().map(|f| f.0.as_str()).collect();
    match found.len() {
        0 => Err(unknown(connection, text, runs, path)?),
        1 => Ok(found.into_iter().cloned().collect()),
        // One function that moved from file to file over the runs.
        _ if names.len() == 1 && !together(connection, found[0], runs)? => {
            Ok(found.into_iter().cloned().collect())
        }
        _ => {
            let one = |(name, file): &&Function| match file.as_str() {
                "" => format!("`{}`", visible(name)),
                file => format!("`{}:{}`", visible(file), visible(name)),
            };
            let list: Vec<String> = found.iter().take(8).map(one).collect();
            let more = found.len().saturating_sub(8);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(LakeError::Ambiguous {
                path: path.to_owned(),
                name: visible(text).into_owned(),
                candidates: format!("{}{more}", list.join(", ")),
            })
        }
    }
}

fn is_of_file(name: &str, file: &str, text: &str) -> bool {
    let rest = text.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'));
    !file.is_empty() && rest == Some(name)
}

/// Whether one run has several functions of this name.
fn together(connection: &Connection, one: &Function, runs: &str) -> Result<bool, LakeError> {
    let sql = format!(
        "SELECT coalesce(max(files), 0) > 1 FROM (SELECT run_id, count(DISTINCT file) AS files FROM function
         WHERE function = ? AND {runs} GROUP BY run_id)"
    );
    Ok(connection.query_row(&sql, [&one.0], |r| r.get(0))?)
}

/// Those of the functions that fit a pattern.
fn matching(
    connection: &Connection,
    text: &str,
    kind: &str,
    wanted: &str,
    functions: Vec<Function>,
    path: &str,
) -> Result<Vec<Function>, LakeError> {
    let condition = if kind == "GLOB" {
        "CAST($1 AS VARCHAR) GLOB CAST($2 AS VARCHAR)"
    } else {
        "regexp_matches(CAST($1 AS VARCHAR), CAST($2 AS VARCHAR))"
    };
    let mut statement = connection.prepare(&format!("SELECT {condition}"))?;
    let mut fits = |name: &str| {
        let values = [Value::Text(name.to_owned()), Value::Text(wanted.to_owned())];
        let values: Vec<&dyn duckdb::ToSql> =
            values.iter().map(|v| v as &dyn duckdb::ToSql).collect();
        statement.query_row(values.as_slice(), |r| r.get::<_, bool>(0)).map_err(|e| {
            let why = e.to_string().lines().next().unwrap_or_default().to_owned();
            LakeError::Pattern { name: visible(text).into_owned(), why }
        })
    };
    let mut found = Vec::new();
    for (name, file) in functions {
        if fits(&name)? || (!file.is_empty() && fits(&format!("{file}:{name}"))?) {
            found.push((name, file));
        }
    }
    if found.is_empty() {
        let (path, name) = (path.to_owned(), visible(text).into_owned());
        return Err(LakeError::NoFunction { path, name, hint: String::new() });
    }
    Ok(found)
}

/// What is said of a name that no function has, with those that look like it, whole or without
/// namespaces and parameters.
fn unknown(
    connection: &Connection,
    text: &str,
    runs: &str,
    path: &str,
) -> Result<LakeError, LakeError> {
    let sql = format!(
        "SELECT coalesce(string_agg('`' || function || '`', ', '), '') FROM (SELECT DISTINCT function FROM function WHERE {runs}
         ORDER BY greatest(jaro_winkler_similarity(function, $1),
             jaro_winkler_similarity(regexp_replace(regexp_replace(function, '\\(.*', ''), '.*::', ''), $1)) DESC, function LIMIT 3)"
    );
    let near: String = connection.query_row(&sql, [text], |r| r.get(0))?;
    let mut hint = if near.is_empty() { near } else { format!("; near it are {near}") };
    if text.contains(['*', '?']) {
        hint.push_str("; a pattern is written as `glob:...` or `re:...`");
    }
    let (path, name) = (path.to_owned(), visible(text).into_owned());
    Ok(LakeError::NoFunction { path, name, hint })
}
