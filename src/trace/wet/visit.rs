//! What a WET trace tells, and whom.

use super::line::Execution;
use crate::diagnostics::{Diagnostic, Severity};
use crate::trace::input::{Locator, Place};
use crate::trace::lines;
use crate::trace::{Listener, TraceError};
use std::borrow::Cow;
use std::fmt;

/// Use ports of one instruction that are kept; no instruction has so many.
pub const PORTS: u64 = 1 << 16;

/// Takes the records of a WET trace, in the order of its lines.
pub trait Visitor: Listener {
    /// What ends the reading; an input of which nothing can be read is a [`TraceError`].
    type Error: From<TraceError>;

    /// An instruction of a comprehensive trace. What comes after it is of this one.
    fn instruction(&mut self, instruction: &StaticInstruction, at: At) -> Result<(), Self::Error>;
    /// The instruction's execution `instance` depends through use port `port` on another one.
    fn dependence(
        &mut self,
        port: u64,
        instance: i64,
        on: NumberedExecution,
    ) -> Result<(), Self::Error>;
    /// A use port is over; it had so many dependences.
    fn port(&mut self, port: u64, dependences: u64) -> Result<(), Self::Error>;
    /// What the instruction's execution `instance` computed.
    fn value(&mut self, instance: i64, value: Value) -> Result<(), Self::Error>;
    /// At the end of a comprehensive trace, for each of its instructions that others depend on: the
    /// last execution of these.
    fn depended_on(&mut self, last: NumberedExecution) -> Result<(), Self::Error>;
    /// A line of a limited history.
    fn history(&mut self, reader: Execution, writer: Execution, at: At) -> Result<(), Self::Error>;
}

/// An instruction as a comprehensive trace describes it.
#[derive(Clone, Copy, Debug)]
pub struct StaticInstruction<'a> {
    pub number: u64,
    pub address: u64,
    pub file: Option<&'a str>,
    pub function: Option<&'a str>,
    pub line: Option<u32>,
}

/// An execution of an instruction that is known by the trace's number.
#[derive(Clone, Copy, Debug)]
pub struct NumberedExecution {
    pub number: u64,
    pub instance: i64,
}

#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Word(u64),
    /// Hexadecimal digits of one that is wider than 64 bits.
    Wide(&'a str),
}

/// Where a line stands, in words when it is asked for.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub(super) locator: &'a Locator,
    pub(super) line: u64,
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.locator.position(Place::Line(self.line)))
    }
}

pub(super) const DAMAGED: &str =
    "copy or record the trace again; what could be read is in the database";

fn damage(code: &'static str, message: String, at: At) -> Diagnostic {
    let position = at.to_string();
    Diagnostic { severity: Severity::Error, code, message, position, remedy: DAMAGED }
}

/// Something was lost.
pub(super) fn say(listener: &mut impl Listener, code: &'static str, message: String, at: At) {
    listener.diagnostic(damage(code, message, at));
}

/// A line that is none of the format.
pub(super) fn refuse(listener: &mut impl Listener, line: &str, at: At) {
    let shown: String = line.chars().take(60).collect();
    let message = format!("a line that is not of the format: `{}`", shown.escape_debug());
    say(listener, "malformed-line", message, at);
}

/// A line's text, without what pads it.
pub(super) fn text<'a>(line: &lines::Line<'a>) -> Cow<'a, str> {
    match String::from_utf8_lossy(line.text) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(padding)),
        Cow::Owned(text) => Cow::Owned(text.trim_matches(padding).to_owned()),
    }
}

fn padding(c: char) -> bool {
    c.is_whitespace() || c == '\0'
}

pub(super) fn nothing(name: String) -> TraceError {
    TraceError::Malformed {
        name,
        position: "1".into(),
        message: "no line of a WET trace".into(),
        remedy: "`addfg formats wet` describes them".into(),
    }
}
