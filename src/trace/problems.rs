//! Problems of one input, with their position in it.

use super::error::TraceError;
use super::input::{HEAD, Locator, Place};
use super::lines::{Line, Lines};
use super::reader::Listener;
use crate::diagnostics::{Diagnostic, Severity};
use rustc_hash::FxHashSet;

/// Severity, code and remedy of a kind of problem.
pub type Kind = (Severity, &'static str, &'static str);

pub const MALFORMED_LINE: Kind =
    (Severity::Error, "malformed-line", "the line was left out; record again if there are many");
pub const TRUNCATED: Kind =
    (Severity::Error, "truncated", "the steps before it were loaded; let the recorder finish");

pub const FOREIGN_LINES: Kind =
    (Severity::Warning, "foreign-lines", "write the log to a file of its own");
pub const TOO_MANY_ACCESSES: Kind =
    (Severity::Error, "too-many-accesses", "the others were left out; is this one instruction?");
/// Accesses of a step at most: their number has 16 bits.
pub const MOST_ACCESSES: usize = 65_535;

/// Lines that must be of a format one after the other, for the input to be taken for it.
const GOOD_LINES: usize = 8;
/// As many are enough where the input ends with them.
const FEW_LINES: usize = 3;

/// Whether the first bytes of an input are of a format of which each line is `good` by itself. What
/// another program wrote before them is passed over, and then more of them must be there.
pub fn good_lines(head: &[u8], good: impl Fn(&[u8]) -> bool) -> bool {
    let end = memchr::memrchr(b'\n', head).map_or(head.len(), |end| end + 1);
    let mut lines = Lines::of(&head[..end]).map(|line| good(line.text)).peekable();
    let before = std::iter::from_fn(|| lines.next_if(|good| !good)).count();
    let first: Vec<bool> = lines.take(GOOD_LINES).collect();
    let all = !first.is_empty() && first.iter().all(|good| *good);
    all && (before == 0 || first.len() >= if head.len() < HEAD { FEW_LINES } else { GOOD_LINES })
}

/// Diagnostics of one input. Only the first of a kind is kept, so only that gets a message.
pub struct Problems {
    locator: Locator,
    seen: FxHashSet<&'static str>,
}

impl Problems {
    pub fn new(locator: Locator) -> Problems {
        Problems { locator, seen: FxHashSet::default() }
    }

    pub fn add<S: Listener + ?Sized>(
        &mut self,
        sink: &mut S,
        (severity, code, remedy): Kind,
        place: Place,
        message: impl FnOnce() -> String,
    ) {
        let (message, position) = if self.seen.insert(code) {
            (message(), self.locator.position(place))
        } else {
            Default::default()
        };
        sink.diagnostic(Diagnostic { severity, code, message, position, remedy });
    }

    /// Like [`Problems::add`], but tells of the first only: for what may be every other line.
    pub fn add_once<S: Listener + ?Sized>(
        &mut self,
        sink: &mut S,
        kind: Kind,
        place: Place,
        message: impl FnOnce() -> String,
    ) {
        if !self.seen.contains(kind.1) {
            self.add(sink, kind, place, message);
        }
    }

    /// A line that is none of the format, or that is cut off.
    pub fn line<S: Listener + ?Sized>(&mut self, sink: &mut S, line: &Line, what: &str) {
        let place = Place::Line(line.number);
        if line.whole {
            self.add(sink, MALFORMED_LINE, place, || format!("{what}: `{}`", excerpt(line.text)));
        } else {
            self.add(sink, TRUNCATED, place, || {
                format!("the log ends within a line: `{}`", excerpt(line.text))
            });
        }
    }

    /// The error for an input of which nothing can be read.
    pub fn malformed(
        &self,
        line: u64,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> TraceError {
        self.error(line.to_string(), message.into(), remedy.into())
    }

    /// The error for an input whose rest would be read wrong, by the offset where it begins.
    pub fn malformed_at(
        &self,
        offset: u64,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> TraceError {
        let line = self.locator.line(offset);
        let position = line.map_or_else(|| format!("byte {offset}"), |line| line.to_string());
        self.error(position, message.into(), remedy.into())
    }

    fn error(&self, position: String, message: String, remedy: String) -> TraceError {
        TraceError::Malformed { name: self.locator.name().to_owned(), position, message, remedy }
    }
}

/// The beginning of a line, for messages.
pub fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(60)]).escape_debug().to_string()
}
