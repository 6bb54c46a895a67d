//! Functions by their places in the page.

use super::options::ReportError;
use crate::graph::Via;
use crate::id::FunctionId;
use crate::query::each;
use crate::text::visible;
use duckdb::Connection;
use serde_json::Value;
use std::collections::HashMap;

/// A text that acts on nothing.
pub fn text(text: Option<String>) -> Value {
    text.map_or(Value::Null, |t| visible(&t).into_owned().into())
}

/// The place of a kind of place in the page's list.
pub fn place(via: Via) -> usize {
    Via::ALL.iter().position(|&v| v == via).unwrap_or(Via::ALL.len())
}

/// Columns of own and of inclusive steps (or time) in [`Functions::rows`].
pub const SELF: usize = 8;
pub const TOTAL: usize = 9;

/// Functions by their places in the page: the rows of `html_functions`, the last being what was
/// left out.
pub struct Functions {
    pub rows: Vec<Vec<Value>>,
    place: HashMap<FunctionId, usize>,
    others: Option<usize>,
}

impl Functions {
    pub fn read(
        connection: &Connection,
        most: usize,
        notes: &mut Vec<String>,
    ) -> Result<Functions, ReportError> {
        let mut found = Functions { rows: Vec::new(), place: HashMap::new(), others: None };
        let (mut left_out, mut calls, mut steps) = (0i64, 0i64, None::<i64>);
        each(connection, include_str!("../../queries/report/html_functions.sql"), &[], |r| {
            let id: FunctionId = r.get(0)?;
            let number = |i| r.get::<_, Option<i64>>(i);
            if found.rows.len() < most {
                found.place.insert(id, found.rows.len());
                let string = |i| Ok::<_, duckdb::Error>(text(r.get(i)?));
                let mut row = vec![
                    id.get().into(),
                    string(1)?,
                    string(2)?,
                    string(3)?,
                    string(4)?,
                    string(5)?,
                ];
                for i in 6..13 {
                    row.push(number(i)?.into());
                }
                found.rows.push(row);
            } else {
                left_out += 1;
                calls = calls.saturating_add(number(7)?.unwrap_or(0));
                steps = sum(steps, number(SELF)?);
            }
            Ok(())
        })?;
        if left_out > 0 {
            found.others = Some(found.rows.len());
            let none = Value::Null;
            found.rows.push(vec![
                0.into(),
                "(others)".into(),
                "others".into(),
                none.clone(),
                none.clone(),
                none.clone(),
                none.clone(),
                calls.into(),
                steps.into(),
                none.clone(),
                none.clone(),
                none,
                0.into(),
            ]);
            notes.push(format!("(others) stands for {left_out} functions with the least traffic."));
        }
        Ok(found)
    }

    /// Place of a function that was not left out.
    pub fn listed(&self, function_id: FunctionId) -> Option<usize> {
        self.place.get(&function_id).copied()
    }

    /// Place of a function, else of the others; None: a stub, or nothing that was left out.
    pub fn at(&self, function_id: FunctionId) -> Option<usize> {
        self.place.get(&function_id).copied().or(self.others)
    }
}

/// A sum in which what is unknown counts nothing, unless all is.
pub fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}
