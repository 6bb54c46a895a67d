//! Rows that a view reads, where the database keeps the run packed: they are made of it for as long
//! as the connection lasts.

use super::ViewError;
use crate::id::FunctionId;
use crate::load::packed::{self, Wanted};
use crate::load::parts::Parts;
use crate::load::rows::Ends;
use crate::load::{Detail, ROWS_STEPS};
use crate::scan;
use crate::store::{KNOWS_WHAT_IS_MISSING, SAYS_WHAT_IS_MISSING, SCHEMA};
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// Sees to it that the tables have all rows of a detail, if the run is packed. Else they are as they
/// were: what reads them says what is missing.
pub fn ensure(connection: &Connection, detail: Detail) -> Result<(), ViewError> {
    Ok(packed::ensure(connection, &Wanted::all(detail))?)
}

/// The same of a short run: what is also drawn without the rows, but shows less then, goes on without those
/// of a long one.
pub fn ensure_short(connection: &Connection, detail: Detail) -> Result<(), ViewError> {
    if packed::lacks(connection, &Wanted::all(detail))?
        && steps(connection)? <= ROWS_STEPS.cast_signed()
    {
        ensure(connection, detail)?;
    }
    Ok(())
}

fn steps(connection: &Connection) -> duckdb::Result<i64> {
    let sql = "SELECT coalesce(max(last_seq), 0) FROM run_chunk";
    connection.query_row(sql, [], |r| r.get(0))
}

/// The same without steps and accesses.
pub fn ensure_communications(connection: &Connection) -> Result<(), ViewError> {
    let wanted = Wanted { low: false, ..Wanted::all(Detail::Pairs) };
    Ok(packed::ensure(connection, &wanted)?)
}

/// The same of communications from some functions to others, with the steps that they are of.
pub fn ensure_between(
    connection: &Connection,
    writers: &BTreeSet<FunctionId>,
    readers: &BTreeSet<FunctionId>,
) -> Result<(), ViewError> {
    Ok(packed::ensure(connection, &between(writers, readers))?)
}

fn between(writers: &BTreeSet<FunctionId>, readers: &BTreeSet<FunctionId>) -> Wanted {
    // Only what a function reads of its own stays inside a call.
    let detail = if writers.is_disjoint(readers) { Detail::Pairs } else { Detail::Full };
    let (writers, readers) = (writers.clone(), readers.clone());
    let ends = Some(Ends { writers, readers, either: false });
    Wanted { ends, ..Wanted::all(detail) }
}

/// The chunks of which [`ensure_between`] would make rows, and what it wants of them, if a chunk can be
/// gone through alone.
pub fn parts_between(
    connection: &Connection,
    writers: &BTreeSet<FunctionId>,
    readers: &BTreeSet<FunctionId>,
) -> Result<Option<(Parts, Wanted)>, ViewError> {
    let wanted = between(writers, readers);
    Ok(Parts::open(connection, &wanted)?.map(|parts| (parts, wanted)))
}

/// The same of communications that cross the border of a set of functions.
pub fn ensure_crossing(
    connection: &Connection,
    set: &BTreeSet<FunctionId>,
) -> Result<(), ViewError> {
    let ends = Some(Ends { writers: set.clone(), readers: set.clone(), either: true });
    let wanted = Wanted { ends, low: false, ..Wanted::all(Detail::Pairs) };
    Ok(packed::ensure(connection, &wanted)?)
}

/// Steps of a run up to which a statement that a person types has all rows that it names.
const MOST_STEPS: i64 = 20_000_000;
/// The same where it names no steps, accesses and communications.
const MOST_STEPS_OF_CALLS: i64 = 400_000_000;

/// Sees to it that the tables which a statement names have their rows, if the run is packed.
///
/// # Errors
/// Where the run is too long to make them for one statement: it names the ways to have them.
pub fn ensure_named(connection: &Connection, statement: &str) -> Result<(), ViewError> {
    let by_chunks = scan::with_short_names(connection, statement)?;
    let own: &[&str] = if by_chunks { &SHORT } else { &[] };
    let Some((Need { detail, sums }, name)) = named(statement, own) else { return Ok(()) };
    if !packed::lacks(connection, &Wanted::all(detail))? {
        return Ok(());
    }
    let steps = steps(connection)?;
    let most = if detail >= Detail::Pairs { MOST_STEPS } else { MOST_STEPS_OF_CALLS };
    if steps > most {
        if sums {
            return Ok(());
        }
        // What `addfg rows` made of a part is there to be asked.
        let table = if detail >= Detail::Pairs { "communication_row" } else { "function_call_row" };
        let made = format!("SELECT count(*) > 0 FROM (FROM {table} LIMIT 1)");
        if connection.query_row(&made, [], |r| r.get::<_, bool>(0))? {
            return Ok(());
        }
        // They are made as DuckDB wants them.
        let views = scan::VIEWS.map(|view| view.name);
        if named(statement, &[own, &views].concat()).is_none() {
            let all: BTreeSet<String> = words_of(statement).collect();
            if scan::read_by_chunks(connection, |view| all.contains(view))? {
                return Ok(());
            }
        }
        return Err(ViewError::NoRows { name, steps });
    }
    ensure(connection, detail)
}

/// Runs a statement that a person wrote. Of rows that are missing, and that no name in it told of
/// (`query_table('communication')`), it gets an error.
///
/// # Errors
/// What the statement ends with.
pub fn typed<T, E: From<duckdb::Error>>(
    connection: &Connection,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    connection.execute_batch(SAYS_WHAT_IS_MISSING)?;
    let done = run();
    connection.execute_batch(KNOWS_WHAT_IS_MISSING)?;
    done
}

/// The words of a text that may be names: of calls with `(` at the end, so that the column `steps` is not taken for the
/// table function.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_end);
        let (word, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
        rest = behind;
        let call = if behind.trim_start().starts_with('(') { "(" } else { "" };
        (!word.is_empty()).then(|| word.to_lowercase() + call)
    })
}

/// The words of a statement.
fn words_of(statement: &str) -> impl Iterator<Item = String> {
    // What stands in quotes is text: every other piece between them.
    let names: Vec<&str> = statement.split('\'').step_by(2).collect();
    words(&names.join(" ")).collect::<Vec<_>>().into_iter()
}

/// What a name needs to have all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Need {
    detail: Detail,
    /// There are rows of it without these, some with NULL.
    sums: bool,
}

impl Need {
    fn and(self, other: Need) -> Need {
        Need { detail: self.detail.max(other.detail), sums: self.sums && other.sums }
    }
}

/// Whether a connection answers a statement without rows of steps and calls: what it names is there, or reads the packed run.
///
/// # Errors
/// Where the connection fails.
pub fn needs_none(connection: &Connection, statement: &str) -> duckdb::Result<bool> {
    Ok(named(statement, &SHORT).is_none() && scan::with_short_names(connection, statement)?)
}

/// Macros that read the packed run where they can.
const SHORT: [&str; 2] = ["steps(", "accesses("];

/// What a statement needs for what it names, and the name that needs most. `own`: what reads the packed run itself.
fn named(statement: &str, own: &[&str]) -> Option<(Need, String)> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    needs.extend(
        packed::tables().map(|(table, detail)| {
            (table.to_owned(), Need { detail, sums: packed::has_sums(table) })
        }),
    );
    // Views and macros need what they read. Each reads only what stands before it.
    for text in SCHEMA {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
        for definition in lines.join("\n").split(';') {
            let definition = definition.trim();
            let made = ["CREATE VIEW ", "CREATE MACRO "];
            let Some(rest) = made.iter().find_map(|make| definition.strip_prefix(make)) else {
                continue;
            };
            let mut all = words(rest);
            let Some(name) = all.next() else { continue };
            let read = all.filter_map(|word| needs.get(&word).copied());
            if let Some(need) = read.reduce(Need::and) {
                needs.insert(name, need);
            }
        }
    }
    needs.retain(|name, _| !own.contains(&name.as_str()));
    let found: Vec<(Need, String)> = words_of(statement)
        .filter_map(|word| Some((*needs.get(&word)?, word.trim_end_matches('(').to_owned())))
        .collect();
    let need = found.iter().map(|(need, _)| *need).reduce(Need::and)?;
    let (_, name) = found.into_iter().max_by_key(|(need, _)| (!need.sums, need.detail))?;
    Some((need, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_need_what_their_views_read() {
        let detail = |sql: &str| named(sql, &[]).map(|(need, _)| need.detail);
        assert_eq!(detail("SELECT count(*) FROM communication"), Some(Detail::Pairs));
        assert_eq!(detail("FROM steps(1, 2)"), Some(Detail::Pairs));
        assert!(named("FROM steps(1, 2)", &SHORT).is_none());
        assert_eq!(detail("FROM Function_Call"), Some(Detail::Instance));
        assert_eq!(detail("FROM dataflow JOIN data_access USING (x)"), Some(Detail::Pairs));
        assert_eq!(detail("FROM function_dataflow"), None);
        assert_eq!(detail("FROM accesses (1, 2) a"), Some(Detail::Pairs));
        assert_eq!(detail("SELECT sum(steps), max(steps) AS accesses FROM call_edge"), None);
        assert_eq!(detail("SELECT count(*) FROM call_edge e (steps) WHERE steps > 2"), None);
        assert_eq!(
            detail("SELECT value FROM meta WHERE key = 'steps' OR key = 'it''s steps'"),
            None
        );
        assert_eq!(detail("SELECT 'a' FROM steps(1, 2) WHERE 'b' <> ''"), Some(Detail::Pairs));
        let sums = |sql: &str| named(sql, &[]).map(|(need, name)| (need.sums, name));
        assert_eq!(sums("FROM system_call"), Some((true, "system_call".into())));
        let both = "FROM function_call JOIN call_edge_folded USING (kind)";
        assert_eq!(sums(both), Some((false, "function_call".into())));
    }
}
