//! Problems met in the input: counted by kind, the first of each kept with its position and the
//! remedy.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the result is what it should be.
    Info,
    /// Something is missing or was assumed.
    Warning,
    /// Data was lost: exit code 1.
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable name of the kind, kebab-case.
    pub code: &'static str,
    pub message: String,
    /// `file:line` or `file: byte N`; empty if it has no place.
    pub position: String,
    pub remedy: &'static str,
}

/// One row of the table `diagnostic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub first: Diagnostic,
    pub count: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    rows: BTreeMap<&'static str, Counted>,
}

impl Diagnostics {
    pub fn add(&mut self, diagnostic: Diagnostic) {
        self.add_counted(diagnostic, 1);
    }
    /// Adds `count` problems of which this was the first.
    pub fn add_counted(&mut self, diagnostic: Diagnostic, count: u64) {
        self.rows
            .entry(diagnostic.code)
            .and_modify(|row| row.count += count)
            .or_insert(Counted { first: diagnostic, count });
    }
    pub fn rows(&self) -> impl Iterator<Item = &Counted> {
        self.rows.values()
    }
    /// The worst severity met.
    pub fn worst(&self) -> Option<Severity> {
        self.rows().map(|row| row.first.severity).max()
    }
}
