//! Limited histories: a dependence a line.

use super::line::history_line;
use super::visit::{At, Visitor, nothing, refuse, text};
use crate::trace::input::Input;
use crate::trace::lines::each_line;

/// Whether an input is a limited history, else it is a comprehensive trace.
pub fn is_history(input: &Input) -> bool {
    let text = String::from_utf8_lossy(&input.head()[..input.head().len().min(4096)]);
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    lines.next().is_some_and(|l| history_line(l).is_some())
}

/// Reads a limited history.
pub fn read_history<V: Visitor>(input: Input, visitor: &mut V) -> Result<(), V::Error> {
    let name = input.name().to_owned();
    let locator = input.locator();
    let mut good = false;
    each_line(input, visitor, |line, visitor| {
        let text = text(&line);
        let at = At { locator: &locator, line: line.number };
        match history_line(&text) {
            Some([reader, writer]) => {
                good = true;
                visitor.history(reader, writer, at)?;
            }
            None if text.is_empty() => {}
            None => refuse(visitor, &text, at),
        }
        Ok::<(), V::Error>(())
    })?;
    if good { Ok(()) } else { Err(nothing(name).into()) }
}
