//! WET traces: dependences between instances of instructions, either all of them with the values
//! computed ("comprehensive"), or those of a limited history. There is no order of steps: an
//! instruction and the number of its execution take the place of time.

mod comprehensive;
mod history;
mod line;
mod visit;

use super::Format;
use crate::event::Carries;
use line::{Line, comprehensive_line, history_line};

pub use comprehensive::read_comprehensive;
pub use history::{is_history, read_history};
pub use line::Execution;
pub use visit::{At, NumberedExecution, PORTS, StaticInstruction, Value, Visitor};

pub struct Wet;

impl Format for Wet {
    fn name(&self) -> &'static str {
        "wet"
    }
    fn about(&self) -> &'static str {
        "WET traces: dependences between instances of instructions, with values; comprehensive or of a limited history"
    }
    fn record(&self) -> &'static str {
        "the WET tool's trace of PROGRAM; both of its formats, also together; --elf PROGRAM adds names and instructions (docs/wet.md)"
    }
    fn carries(&self) -> Carries {
        Carries { dependences: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(&head[..head.len().min(4096)]);
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let Some(mut first) = lines.next() else { return false };
        if history_line(first).is_some() {
            return true;
        }
        if first.bytes().all(|b| b.is_ascii_digit()) {
            match lines.next() {
                Some(next) => first = next,
                None => return false,
            }
        }
        matches!(comprehensive_line(first), Some(Line::Static { .. }))
            && lines.next().is_none_or(|l| {
                matches!(
                    comprehensive_line(l),
                    Some(Line::Size(_) | Line::Values(_) | Line::Dependence { .. })
                )
            })
            && text.lines().nth(1).is_some()
    }
    fn help(&self) -> &'static str {
        "Comprehensive: the number of instructions, then for each of them\n\
         \x20   id ports address [file] [function] [line]       id and ports decimal, address hexadecimal\n\
         \x20   SIZE n                                          once a use port; the first is the control dependence\n\
         \x20       x:id instance                               its xth instance depends on that instance of instruction id\n\
         \x20   VALUES n                                        or NO VALUES\n\
         \x20       x:value                                     hexadecimal\n\
         Limited history: lines `a#b --> x#y`, instance b of the instruction at a depends on instance y of the one at x.\n\
         Instances count from 0. Files of both kinds given together are one run: the history adds what the other lacks.\n\
         With --elf, functions have their symbols' names, instructions their text, and in a history a dependence on a jump or a return is\n\
         a control dependence and one on an instruction that goes on is one of data; without, the two kinds are not told apart."
    }
}
