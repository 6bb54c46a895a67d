//! The critical path by function and by call instance.

use super::needs::{Need, require};
use super::{ViewError, report};
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use crate::replay::Code;
use crate::replay::critical::{Weight, critical_path};
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

pub fn critical(connection: &Connection, weight: Weight) -> Result<Critical, ViewError> {
    let code = Code::open(connection)?;
    require(connection, Need::Accesses)?;
    let path = critical_path(&code, connection, weight)?;
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
    most.truncate(1000);
    let mut calls = Vec::new();
    let mut statement = connection.prepare(report!("call_self"))?;
    for (call, (function, n)) in most {
        let found = statement
            .query_map([call], |r| Ok((r.get::<_, i32>(0)?, r.get::<_, Option<i64>>(1)?)))?
            .next()
            .transpose()?;
        let (instance, steps) = found.unwrap_or((0, None));
        calls.push(PathRow {
            name: format!("{}#{instance}", name(function)),
            on_path: n,
            steps: steps.unwrap_or(0),
        });
    }
    Ok(Critical { steps: path.steps, length: path.length, functions, calls })
}
