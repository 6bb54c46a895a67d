//! What was lost or not understood.

use crate::diagnostics::{Diagnostic, Diagnostics, Severity};

/// Something that was lost, assumed or not understood, the first of its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// A stable word for the kind: `truncated`, `unread-line`.
    pub code: &'static str,
    /// Data was lost.
    pub is_loss: bool,
    /// What it is.
    pub message: String,
    /// `file:line`, or empty.
    pub position: String,
    /// What to do about it.
    pub remedy: &'static str,
    /// How many there were.
    pub count: u64,
}

/// Those that a reader or a build has told of.
pub(super) fn problems(diagnostics: &Diagnostics) -> Vec<Problem> {
    let problem = |of: &Diagnostic, count| Problem {
        code: of.code,
        is_loss: of.severity == Severity::Error,
        message: of.message.clone(),
        position: of.position.clone(),
        remedy: of.remedy,
        count,
    };
    diagnostics.rows().map(|row| problem(&row.first, row.count)).collect()
}
