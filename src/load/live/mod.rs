//! The other side of a recorder that sums data flow while the program runs (docs/sums.md): tells it what the code does that
//! it translates, and takes the sums at the end.

mod message;
mod planner;
mod rows;

use crate::event::Isa;
use message::{Answer, Kind, Numbers};
use planner::Planner;
pub use rows::{CallSums, ContextSums, FlowSums, FunctionSums, LiveSums};
use std::io::{self, Read, Write};

/// Answers a recorder until it has said all, or is gone. Gives the sums, if it sent them.
///
/// # Errors
/// It is not understood, or cannot be answered.
pub fn serve(isa: Isa, stream: impl Read + Write) -> io::Result<LiveSums> {
    let (mut stream, mut payload) = (stream, Vec::new());
    let (mut planner, mut answer) = (Planner::new(isa), Answer::default());
    let mut rows = rows::Rows::default();
    while let Some(kind) = message::read(&mut stream, &mut payload)? {
        let numbers = Numbers(&payload);
        match kind {
            Kind::Map => planner.map(numbers, &mut answer)?,
            Kind::Code => planner.code(numbers, &mut answer)?,
            Kind::Unmap => planner.unmap(numbers)?,
            Kind::Event => planner.event(numbers)?,
            Kind::Source => planner.source(numbers, &mut answer)?,
            Kind::Rows => rows.add(numbers)?,
            Kind::Problem => rows.problems.push(String::from_utf8_lossy(&payload).into_owned()),
            Kind::End => rows.is_whole = true,
        }
        if matches!(kind, Kind::Map | Kind::Code | Kind::Source) {
            answer.send(&mut stream)?;
        }
        if kind == Kind::End {
            break;
        }
    }
    Ok(rows.named(&planner))
}
