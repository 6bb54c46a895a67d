//! The critical path by function and by call instance.

use super::needs::{Need, require};
use super::{ViewError, report};
use crate::graph::FunctionNames;
use crate::id::{CallId, FunctionId};
use crate::query::{each, is_prepared};
use crate::replay::Code;
use crate::replay::critical::{CriticalPath, Weight, critical_path};
use duckdb::Connection;
use std::collections::BTreeMap;

/// What a function or call has of the path.
#[derive(Clone, Debug)]
pub struct PathRow {
    pub name: String,
    /// Steps, or bytes.
    pub on_path: u64,
    /// All its steps.
    pub steps: i64,
}

#[derive(Clone, Debug)]
pub struct Critical {
    pub steps: i64,
    /// Steps, or bytes.
    pub length: u64,
    /// The most steps on the path first.
    pub functions: Vec<PathRow>,
    pub calls: Vec<PathRow>,
}

/// Call instances that are listed at most.
pub const CALLS: usize = 1000;

/// What `addfg prepare` has stored.
fn prepared(connection: &Connection, weight: Weight) -> Result<Option<CriticalPath>, ViewError> {
    if !is_prepared(connection)? {
        return Ok(None);
    }
    let weight = weight.name();
    let mut found = None;
    each(connection, report!("prepared_path"), &[&weight], |r| {
        let (steps, length) = (r.get(0)?, r.get(1)?);
        found = Some(CriticalPath { steps, length, ..CriticalPath::default() });
        Ok(())
    })?;
    let Some(mut path) = found else { return Ok(None) };
    each(connection, report!("prepared_path_functions"), &[&weight], |r| {
        path.by_function.insert(r.get(0)?, r.get(1)?);
        Ok(())
    })?;
    each(connection, report!("prepared_path_calls"), &[&weight], |r| {
        path.by_call.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
        Ok(())
    })?;
    Ok(Some(path))
}

pub fn critical(connection: &Connection, weight: Weight) -> Result<Critical, ViewError> {
    let path = match prepared(connection, weight)? {
        Some(path) => path,
        None => {
            let code = Code::open(connection)?;
            require(connection, Need::Accesses)?;
            critical_path(&code, connection, weight)?
        }
    };
    let names = FunctionNames::read(connection)?;
    let name = |id: Option<FunctionId>| names.name(id).to_owned();
    let mut own: BTreeMap<Option<FunctionId>, i64> = BTreeMap::new();
    let mut statement = connection.prepare(report!("function_self"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        own.insert(Some(r.get(0)?), r.get(1)?);
    }
    let mut functions: Vec<PathRow> = path
        .by_function
        .iter()
        .map(|(&id, &n)| PathRow {
            name: name(id),
            on_path: n,
            steps: own.get(&id).copied().unwrap_or(0),
        })
        .collect();
    functions.sort_by(|a, b| b.on_path.cmp(&a.on_path).then_with(|| a.name.cmp(&b.name)));
    let mut most: Vec<_> = path.by_call.into_iter().collect();
    most.sort_by(|a, b| b.1.1.cmp(&a.1.1).then(a.0.cmp(&b.0)));
    most.truncate(CALLS);
    let ids: Vec<String> = most.iter().map(|(call, _)| call.to_string()).collect();
    let mut known: BTreeMap<CallId, (i32, Option<i64>)> = BTreeMap::new();
    if !ids.is_empty() {
        each(connection, report!("call_self"), &[&ids.join(",")], |r| {
            known.insert(r.get(0)?, (r.get(1)?, r.get(2)?));
            Ok(())
        })?;
    }
    let row = |(call, (function, on_path)): (CallId, (Option<FunctionId>, u64))| {
        let (instance, steps) = known.get(&call).copied().unwrap_or((0, None));
        let name = format!("{}#{instance}", name(function));
        PathRow { name, on_path, steps: steps.unwrap_or(0) }
    };
    let calls = most.into_iter().map(row).collect();
    Ok(Critical { steps: path.steps, length: path.length, functions, calls })
}
