//! Problems of one file.

use crate::diagnostics::{Diagnostic, Severity};
use crate::trace::Listener;

/// Remedy where a file is not as the document wants it.
pub const RULE: &str = "the writer of the file breaks a rule of the DCFG document";
/// Remedy where something in a file could not be used.
pub const LEFT_OUT: &str = "what is said here was left out: write the file again";

/// Takes problems of one file.
pub struct Notes<'a> {
    pub name: &'a str,
    pub listener: &'a mut dyn Listener,
}

impl Notes<'_> {
    pub fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: &str,
        message: String,
        remedy: &'static str,
    ) {
        let position =
            if place.is_empty() { self.name.to_owned() } else { format!("{}: {place}", self.name) };
        self.listener.diagnostic(Diagnostic { severity, code, message, position, remedy });
    }
    /// Something in the file is not as the document wants it; nothing of it was lost.
    pub fn warn(&mut self, code: &'static str, place: &str, message: String) {
        self.add(Severity::Warning, code, place, message, RULE);
    }
    /// Something in the file could not be used.
    pub fn lost(&mut self, code: &'static str, place: &str, message: String) {
        self.add(Severity::Error, code, place, message, LEFT_OUT);
    }
}
