//! Problems met on the way from steps to runs.

use crate::diagnostics::{Counted, Diagnostic, Severity};
use std::collections::BTreeMap;

/// Kinds of problems with their number; a message is made for the first of each only.
#[derive(Default)]
pub struct ProblemKinds(BTreeMap<&'static str, Counted>);

/// What would have told the register values that were not known.
pub const RECORD_REGISTERS: &str =
    "record with the registers that the instruction reads, the flags included";

impl ProblemKinds {
    pub fn add(
        &mut self,
        code: &'static str,
        position: u64,
        remedy: &'static str,
        message: impl FnOnce() -> String,
    ) {
        self.0.entry(code).and_modify(|row| row.count += 1).or_insert_with(|| {
            let (severity, position) = (Severity::Warning, position.to_string());
            let first = Diagnostic { severity, code, message: message(), position, remedy };
            Counted { first, count: 1 }
        });
    }

    /// By code.
    pub fn all(&self) -> impl Iterator<Item = &Counted> {
        self.0.values()
    }
}
