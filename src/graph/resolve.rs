//! The function that a person means.

use super::error::GraphError;
use super::overview::{is_called, short_name};
use crate::id::FunctionId;
use crate::text::visible;
use duckdb::{Connection, OptionalExt, params};

const RESOLVE: &str = include_str!("../../queries/report/resolve.sql");
const ADDRESS: &str = include_str!("../../queries/report/resolve_address.sql");
const NAMED: &str = include_str!("../../queries/report/resolve_last.sql");
const LIKE: &str = include_str!("../../queries/report/resolve_like.sql");
const INLINED: &str = include_str!("../../queries/report/resolve_inlined.sql");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub function_id: FunctionId,
    /// As shown.
    pub name: String,
    /// `name#3`: the third call instance.
    pub instance: Option<i32>,
}

struct Candidate {
    function_id: FunctionId,
    name: String,
    ran: bool,
    exact: bool,
}

/// As [`resolve_function`], of a function as a whole: a call of it is refused.
pub fn resolve_whole(connection: &Connection, text: &str) -> Result<Resolved, GraphError> {
    let found = resolve_function(connection, text)?;
    match found.instance {
        None => Ok(found),
        Some(instance) => {
            Err(GraphError::NotOfCall { name: visible(&found.name).into_owned(), instance })
        }
    }
}

/// The function that `name`, `file:name` or `@address` means, each with `#N` behind it for a call
/// instance. Of a C++ or Rust function the last of its names are enough. Of several with one name the only one that ran is meant; more are refused with their
/// list.
pub fn resolve_function(connection: &Connection, text: &str) -> Result<Resolved, GraphError> {
    let mut instance = None;
    let mut found = candidates(connection, text)?;
    if found.is_empty()
        && let Some((name, number)) = text.rsplit_once('#')
        && let Ok(number) = number.parse()
    {
        instance = Some(number);
        found = candidates(connection, name)?;
    }
    let name = if instance.is_some() { text.rsplit_once('#').map_or(text, |p| p.0) } else { text };
    for keep in [|c: &Candidate| c.exact, |c: &Candidate| c.ran] {
        if found.len() > 1 && found.iter().any(keep) {
            found.retain(keep);
        }
    }
    match &found[..] {
        [] => {
            let hint = hint(connection, name)?;
            Err(GraphError::NoFunction { name: visible(name).into_owned(), hint })
        }
        [one] => {
            if let Some(number) = instance {
                let calls: Option<i64> = connection
                    .query_row(
                        "SELECT calls FROM function_profile WHERE function_id = ?",
                        [one.function_id],
                        |r| r.get(0),
                    )
                    .optional()?;
                let calls = calls.unwrap_or(0);
                if number < 1 || i64::from(number) > calls {
                    return Err(GraphError::NoInstance {
                        name: visible(&one.name).into_owned(),
                        instance: number,
                        calls,
                    });
                }
            }
            Ok(Resolved { function_id: one.function_id, name: one.name.clone(), instance })
        }
        several => {
            let list: Vec<String> = several
                .iter()
                .take(12)
                .map(|c| describe(connection, c))
                .collect::<Result<_, _>>()?;
            let more = several.len().saturating_sub(12);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(GraphError::Ambiguous {
                name: visible(name).into_owned(),
                candidates: format!("{}{more}", list.join(", ")),
            })
        }
    }
}

/// What may be meant by a name that no function has.
fn hint(connection: &Connection, name: &str) -> Result<String, GraphError> {
    let quoted = |names: &[String]| {
        names
            .iter()
            .map(|n| format!("`{}`", visible(&short_name(n))))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let within = inlined_into(connection, name)?;
    if !within.is_empty() {
        let (few, more) = within.split_at(within.len().min(3));
        let more = if more.is_empty() { "" } else { ", ..." };
        return Ok(format!(
            "it was inlined into {}{more}: `addfg sql DB @inlined` lists such functions",
            quoted(few)
        ));
    }
    let mut statement = connection.prepare(LIKE)?;
    let like = statement.query_map([name], |r| r.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok(match &like[..] {
        [] => "`addfg info` lists those that ran".to_owned(),
        _ => format!("there is {}", quoted(&like)),
    })
}

/// The functions that an inlined one is part of.
fn inlined_into(connection: &Connection, name: &str) -> Result<Vec<String>, GraphError> {
    let last = name.rsplit("::").next().unwrap_or(name);
    let mut statement = connection.prepare(INLINED)?;
    let row = |r: &duckdb::Row| Ok((r.get(0)?, r.get(1)?));
    let found = statement.query_map([last], row)?.collect::<Result<Vec<(String, String)>, _>>()?;
    let mut within: Vec<String> = found
        .into_iter()
        .filter(|(inlined, _)| inlined == name || is_called(inlined, name))
        .map(|(_, function)| function)
        .collect();
    within.sort();
    within.dedup();
    Ok(within)
}

fn candidates(connection: &Connection, text: &str) -> Result<Vec<Candidate>, GraphError> {
    let row = |r: &duckdb::Row| {
        Ok(Candidate { function_id: r.get(0)?, name: r.get(1)?, ran: r.get(2)?, exact: r.get(3)? })
    };
    if let Some(digits) = text.strip_prefix('@') {
        let digits = digits.split('#').next().unwrap_or(digits);
        let address = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        let address = u64::from_str_radix(address, 16)
            .map_err(|_| GraphError::NoAddress { text: visible(text).into_owned() })?;
        // With #N behind it, the second look without it finds the function.
        if text.contains('#') {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare(ADDRESS)?;
        return Ok(statement.query_map([address], row)?.collect::<Result<_, _>>()?);
    }
    let mut statement = connection.prepare(RESOLVE)?;
    let found: Vec<Candidate> = statement.query_map([text], row)?.collect::<Result<_, _>>()?;
    if !found.is_empty() || text.is_empty() {
        return Ok(found);
    }
    // `count` for `words::count[abi:cxx11](std::istream&)`.
    let last = text.rsplit("::").next().unwrap_or(text);
    let mut statement = connection.prepare(NAMED)?;
    let mut found: Vec<Candidate> = statement.query_map([last], row)?.collect::<Result<_, _>>()?;
    found.retain(|candidate| is_called(&candidate.name, text));
    Ok(found)
}

fn describe(connection: &Connection, candidate: &Candidate) -> Result<String, GraphError> {
    let address: Option<u64> = connection.query_row(
        "SELECT address FROM function_symbol WHERE function_id = ?",
        params![candidate.function_id],
        |r| r.get(0),
    )?;
    let at = address.map_or(String::new(), |a| format!(" @{a:#x}"));
    Ok(format!("`{}`{at}", visible(&candidate.name)))
}
