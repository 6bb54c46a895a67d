//! What a person who asks for the program does not ask for: start-up and end, and the dynamic linker.

use super::report;
use crate::id::FunctionId;
use crate::query::each;
use crate::text::percent;
use duckdb::Connection;
use std::collections::BTreeSet;

/// Functions that lists of a program leave out.
#[derive(Clone, Debug, Default)]
pub struct StartUp {
    functions: BTreeSet<FunctionId>,
    /// Of these functions.
    steps: i64,
    all: i64,
}

impl StartUp {
    pub fn read(connection: &Connection) -> duckdb::Result<StartUp> {
        let mut found = StartUp::default();
        each(connection, report!("start_up"), &[], |r| {
            found.functions.insert(r.get(0)?);
            found.steps = found.steps.saturating_add(r.get(1)?);
            Ok(())
        })?;
        let sql = "SELECT coalesce(sum(steps_self), 0)::BIGINT FROM function_profile";
        found.all = connection.query_row(sql, [], |r| r.get(0))?;
        Ok(found)
    }

    pub fn has(&self, function: FunctionId) -> bool {
        self.functions.contains(&function)
    }

    /// What is left out, in a line; `how`: what lists it. None if it is nothing.
    pub fn left_out(&self, how: &str) -> Option<String> {
        let share = percent(self.steps, self.all).filter(|_| self.steps > 0)?;
        Some(format!(
            "{share} of the steps are left out: start-up, end and dynamic linker; {how} has them, too"
        ))
    }
}
